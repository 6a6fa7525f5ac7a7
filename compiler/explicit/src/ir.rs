//! Explicit: lifting and replication are written out; every function is applied to cells.
//!
//! ```text
//! e ::= x | global | literal | (frame [d …] e …) | (λ (x …) e) | (Tλ (a …) e) | (Iλ (i …) e)
//!     | (call e e …) | (map frame ((x e) …) e) | (replicate axes at e)
//!     | (t-app e τ …) | (i-app e i …) | (let x e e) | (if e e e)
//!     | (box (i …) Σ e) | (unbox e (i …) x e) | (lift kind (i …) e e) | (check fact e)
//!     | (reify-dim d) | (reify-shape s) | (tuple e …) | (field k e) | (cast t e)
//!     | (as-shape s e) | (loop ((x e) …) e e)
//! ```
//!
//! Gone since Typed: implicit lifting. `app` with its principal frame and the frames of its arguments is
//! no more, and neither is an array where one value is meant: `field`, `cast`, `unbox`, `t-app` and
//! `i-app` take one tuple, scalar, box or function. New:
//!
//! - `(call f a …)`: a scalar function and exactly the cells that its parameters want.
//! - `(map frame ((x e) …) body)`: each operand is an array of shape `frame ++` the shape of its `x`; the
//!   body is evaluated once for each position of the frame, in any order, with every `x` bound to the
//!   operand's cell there; the results are collected in the frame. It has at least one operand. An
//!   empty frame evaluates no body, and the node's type says what the empty result is. A frame may be or
//!   contain a shape variable; where that turns out to be the empty shape, `map` is `let`.
//! - `(replicate axes at e)`: `e` has the shape `at ++ cell`, the result `at ++ axes ++ cell`. `axes` is
//!   what the principal frame of an application has beyond the frame `at` of this argument: since `at`
//!   is a prefix of the principal frame, `at ++ axes` is that frame (given the `check`s around). It
//!   stands only as an operand of a `map`, of whose operands at least one is none: that one has the
//!   principal frame from elsewhere.
//!
//! Applications before and after, types and instances left out; the first adds a number to each row:
//!
//! ```text
//! (app (2 3) + (m (2 3)) (v (2)))               ; m : [int 2 3], v : [int 2]
//! (map (2 3) ((%m.7 m) (%v.8 (replicate (3) (2) v))) (call + %m.7 %v.8))
//!
//! (app (n) fs (xs (n)) (0 ()))                  ; fs : [(-> (int int) int) n], one function a number
//! (map (n) ((%fs.9 fs) (%xs.10 xs) (%x.11 (replicate (n) () 0))) (call %fs.9 %xs.10 %x.11))
//!
//! (app () reduce (+ ()) (xs ()))                ; the frame is scalar: nothing to map
//! (call reduce + xs)
//!
//! (app (n) (if c f g) (xs (n)))                 ; a function that is computed is so once, before all else
//! (let %f.12 (if c f g) (map (n) ((%xs.13 xs)) (call %f.12 %xs.13)))
//! ```
//!
//! Evaluation is strict and its order Typed's: a function before its arguments, operands and arguments
//! from left to right, each once, before any body. The function that an application is lifted with is,
//! inside its `map`, a variable, a λ, or a global or an instance of one. A global is evaluated at most
//! once, and so is each of its instances: where that computes anything (its definition is no λ under its
//! Tλ and Iλ), it counts as done before the `map`.
//!
//! Types and provenance are Typed's: an inserted node (`map`, `replicate`, the `let` of a function, the
//! `call` and its variables) has the origin of the node that it stands for.
//!
//! Invariants, which [`crate::verify`] re-checks: those of Typed, with the rules above for the new forms.

use remc_base::*;
pub use remc_typed::ir::{EntrySignature, Fact, LiftKind, Lit, Local};
use std::sync::Arc;

/// An expression. Its type's shape is the whole shape: every expression is an array.
#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub kind: Box<ExprKind>,
    pub ty: ArrTy,
    /// The syntax node it came from, for messages.
    pub node: NodeId,
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
    /// `func` is a scalar; each argument has the type of its parameter; the type is the function's result.
    Call {
        func: Expr,
        args: Vec<Expr>,
    },
    /// Each operand has the type `frame ++` its local's; the type is `frame ++` the body's.
    Map {
        frame: Shape,
        operands: Vec<(Local, Expr)>,
        body: Expr,
    },
    /// `arg` has the type `at ++ cell`; the type is `at ++ axes ++ cell`.
    Replicate {
        axes: Shape,
        at: Shape,
        arg: Expr,
    },
    /// `func` is a scalar.
    TApp {
        func: Expr,
        args: Vec<TyArg>,
    },
    /// `func` is a scalar.
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
    /// `boxed` is one box; the body is evaluated with `indices` and `local` opened, and its type, the
    /// node's, does not mention the indices. An array of boxes is opened by a `map` over it.
    Unbox {
        boxed: Expr,
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
    /// Component `position` of one tuple.
    Field {
        tuple: Expr,
        position: usize,
    },
    /// Converts one scalar to the node's type, a base type, as the table of scalar operators says.
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

/// One definition, still polymorphic.
#[derive(Clone, PartialEq, Debug)]
pub struct Definition {
    pub name: GlobalId,
    /// The generalised, closed type; equal to the body's.
    pub ty: ArrTy,
    pub body: Expr,
    /// For an `entry`: its parameters as the caller sees them.
    pub entry: Option<EntrySignature>,
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
            ExprKind::Call { func, args } => std::iter::once(func).chain(args).collect(),
            ExprKind::Map { operands, body, .. } => {
                operands.iter().map(|(_, e)| e).chain(std::iter::once(body)).collect()
            }
            ExprKind::Replicate { arg, .. } => vec![arg],
            ExprKind::TApp { func, .. } => vec![func],
            ExprKind::IApp { func, .. } => vec![func],
            ExprKind::Let { value, body, .. } => vec![value, body],
            ExprKind::If { cond, then, otherwise } => vec![cond, then, otherwise],
            ExprKind::Box { value, .. } => vec![value],
            ExprKind::Unbox { boxed, body, .. } => vec![boxed, body],
            ExprKind::Lift { value, body, .. } => vec![value, body],
            ExprKind::Tuple(es) => es.iter().collect(),
            ExprKind::Field { tuple, .. } => vec![tuple],
            ExprKind::Cast(e) | ExprKind::AsShape(e) => vec![e],
            ExprKind::Loop { locals, cond, body } => {
                locals.iter().map(|(_, e)| e).chain([cond, body]).collect()
            }
        }
    }

    /// The value variables that this node binds.
    pub fn binders(&self) -> Vec<&Local> {
        match &*self.kind {
            ExprKind::Lam { params, .. } => params.iter().collect(),
            ExprKind::Let { local, .. } | ExprKind::Unbox { local, .. } => vec![local],
            ExprKind::Map { operands: locals, .. } | ExprKind::Loop { locals, .. } => {
                locals.iter().map(|(l, _)| l).collect()
            }
            _ => vec![],
        }
    }
}
