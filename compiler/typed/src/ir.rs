//! Typed: the elaborated program, every ∀/Π instance and every frame explicit.
//!
//! ```text
//! e ::= x | global | literal | (frame [d …] e …) | (λ (x …) e) | (Tλ (a …) e) | (Iλ (i …) e)
//!     | (app frame e (e frame) …) | (t-app e τ …) | (i-app e i …)
//!     | (let x e e) | (if e e e)
//!     | (box (i …) Σ e) | (unbox e (x i …) e) | (lift kind (i …) e e) | (check fact e)
//!     | (reify-dim d) | (reify-shape s) | (tuple e …) | (field k e) | (cast t e)
//! ```
//!
//! Gone since the Ast: names (variables are unique ids), sugar (`let` of several bindings, strings,
//! `rerank`, `boxes`, `let-values`, `with`), every missing annotation, index-valued (`Val`) parameters
//! and their arguments, boxes that open by themselves. New: a type on every node; the principal frame
//! of every application and the frame of each argument; `check`, which brings a run-time obligation
//! into the program where it is needed; the node each expression came from (its provenance, together
//! with the definition that holds it).
//!
//! Invariants, which [`crate::verify`] re-checks without inference: no existential is left; binders are
//! unique within a definition; each node's type follows from its children's by the typing rules.

use remc_base::*;
use std::sync::Arc;

/// An expression. Its type's frame is the whole shape: every expression is an array.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub kind: Box<ExprKind>,
    pub ty: ArrTy,
    /// The syntax node it came from, for messages.
    pub node: NodeId,
}

/// A value variable with its type.
#[derive(Clone, PartialEq, Debug)]
pub struct Local {
    pub var: VarId,
    pub name: Name,
    pub ty: ArrTy,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    Var(VarId),
    /// A top-level definition or primitive, at its generalised type.
    Global(GlobalId),
    /// A literal whose type is the node's atom type: a scalar of that type, or a number that takes
    /// the type of the variable it is given at.
    Lit(Lit),
    /// `dims` are concrete; the elements, in row-major order, are of one type `τ`; the type is
    /// `[τ dims]` with the dims in front. With no element (some dim is 0) the node's type is all there
    /// is, and `dims` are its leading dims.
    Frame {
        dims: Vec<Dim>,
        elems: Vec<Expr>,
    },
    /// A scalar function.
    Lam {
        params: Vec<Local>,
        body: Expr,
    },
    TLam {
        params: Vec<TParam>,
        body: Expr,
    },
    ILam {
        params: Vec<IVar>,
        body: Expr,
    },
    /// The function's and the arguments' shapes are `their frame ++ cell`; each frame is a prefix of
    /// the principal `frame`; the result is `frame ++` the function's result. The function's own frame
    /// is its shape.
    App {
        func: Expr,
        args: Vec<Arg>,
        frame: Shape,
    },
    TApp {
        func: Expr,
        args: Vec<TyArg>,
    },
    IApp {
        func: Expr,
        args: Vec<Index>,
    },
    Let {
        local: Local,
        value: Expr,
        body: Expr,
    },
    /// A scalar `bool` condition; branches of the node's type.
    If {
        cond: Expr,
        then: Expr,
        otherwise: Expr,
    },
    /// A scalar box: `value` has the Σ's body type at the witnesses.
    Box {
        witnesses: Vec<Index>,
        value: Expr,
    },
    /// `boxes` is any array of boxes; the body is evaluated for each with `indices` and `local` opened,
    /// and the results are collected in the shape of `boxes`. The body's type does not mention the
    /// indices.
    Unbox {
        boxes: Expr,
        indices: Vec<IVar>,
        local: Local,
        body: Expr,
    },
    /// Opens run-time integers as indices; the body's type does not mention them.
    Lift {
        kind: LiftKind,
        indices: Vec<IVar>,
        value: Expr,
        body: Expr,
    },
    /// Stops the program unless the fact holds; assumes it in the body.
    Check {
        fact: Fact,
        why: Arc<str>,
        body: Expr,
    },
    /// The value of a dim, as a scalar of the node's numeric type.
    ReifyDim(Dim),
    /// The dims of a shape, as a vector of the node's integer type.
    ReifyShape(Shape),
    Tuple(Vec<Expr>),
    /// Component `position` of each tuple of an array of tuples: `frame ++` the component's shape.
    Field {
        tuple: Expr,
        position: usize,
    },
    /// Converts each atom to the node's atom type, a base type or one of numbers, as the table of scalar operators says.
    Cast(Expr),
    /// `(as-shape [i …] e)`: the elements of `e`, whose shape is checked to be the node's.
    AsShape(Expr),
    /// `(loop ((x e) …) while c do body)`: with one variable the state is its value, else a tuple.
    Loop {
        locals: Vec<(Local, Expr)>,
        cond: Expr,
        body: Expr,
    },
}

/// How a `lift` reads its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LiftKind {
    /// One dim from a scalar `int`; a negative value stops the program.
    Natural,
    /// One integer index from a scalar `int`, of any sign.
    Integer,
    /// As many integer indices as the vector's static length.
    Dims,
    /// One shape from a vector of `int`; a negative element stops the program.
    Shape,
}

/// A run-time obligation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Fact {
    /// The dim is at least 0.
    NonNegative(Dim),
    /// The two dims are equal.
    Equal(Dim, Dim),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Arg {
    pub expr: Expr,
    pub frame: Shape,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Lit {
    /// A value of exactly the node's base type.
    Scalar(Scalar),
    /// An integer literal at a numeric type that may be a variable.
    Int(i128),
    /// A decimal literal (bits of an `f64`) at a fractional type that may be a variable.
    Float(u64),
}

/// One checked definition.
#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    pub name: GlobalId,
    /// The generalised, closed type; equal to the body's.
    pub ty: ArrTy,
    pub body: Expr,
    /// For an `entry`: its parameters as the caller sees them.
    pub entry: Option<EntrySignature>,
}

/// An entry's interface. The body is `Iλ` of `indices` over a λ of `params`; the indices are solved
/// from the shapes of the arguments.
#[derive(Clone, PartialEq, Debug)]
pub struct EntrySignature {
    pub indices: Vec<IVar>,
    pub params: Vec<(Name, ArrTy)>,
    /// Which of the parameters are streams: arrays that need not be there as wholes, whose first axis is an index of its own.
    pub streams: Vec<usize>,
    pub ret: ArrTy,
}

/// A primitive: an operation that every device implements, with its closed type.
#[derive(Clone, PartialEq, Debug)]
pub struct Primitive {
    pub name: GlobalId,
    pub ty: ArrTy,
}

impl Expr {
    pub fn new(kind: ExprKind, ty: ArrTy, node: NodeId) -> Expr {
        Expr { kind: Box::new(kind), ty, node }
    }

    pub fn var(local: &Local, node: NodeId) -> Expr {
        Expr::new(ExprKind::Var(local.var), local.ty.clone(), node)
    }

    /// The direct subexpressions, in evaluation order.
    pub fn children(&self) -> Vec<&Expr> {
        match &*self.kind {
            ExprKind::Var(_)
            | ExprKind::Global(_)
            | ExprKind::Lit(_)
            | ExprKind::ReifyDim(_)
            | ExprKind::ReifyShape(_) => vec![],
            ExprKind::Frame { elems, .. } => elems.iter().collect(),
            ExprKind::Lam { body, .. }
            | ExprKind::TLam { body, .. }
            | ExprKind::ILam { body, .. }
            | ExprKind::Check { body, .. } => vec![body],
            ExprKind::App { func, args, .. } => {
                std::iter::once(func).chain(args.iter().map(|a| &a.expr)).collect()
            }
            ExprKind::TApp { func, .. } => vec![func],
            ExprKind::IApp { func, .. } => vec![func],
            ExprKind::Let { value, body, .. } => vec![value, body],
            ExprKind::If { cond, then, otherwise } => vec![cond, then, otherwise],
            ExprKind::Box { value, .. } => vec![value],
            ExprKind::Unbox { boxes, body, .. } => vec![boxes, body],
            ExprKind::Lift { value, body, .. } => vec![value, body],
            ExprKind::Tuple(es) => es.iter().collect(),
            ExprKind::Field { tuple, .. } => vec![tuple],
            ExprKind::Cast(e) | ExprKind::AsShape(e) => vec![e],
            ExprKind::Loop { locals, cond, body } => {
                locals.iter().map(|(_, e)| e).chain([cond, body]).collect()
            }
        }
    }
}
