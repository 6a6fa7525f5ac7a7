//! The abstract syntax: what a person wrote, without parentheses and positions.
//!
//! Gone: tokens, trivia, the two spellings of a form (`fn`/`λ`, `Arr`/`A`, `~[…]`/`~(…)`), `cond`, `let*`
//! and the function form of `define`. New: a [`NodeId`] on every node, numbered from 0 within its
//! top-level [`Item`]; error nodes where the text was wrong (the error has been reported). An item
//! holds no position: the byte span of each node is in the item's [`SourceMap`], so that two texts
//! that differ in comments and spacing alone give equal items.

use remc_base::{BaseTy, Class, Name, NodeId, Span};

/// Spans by node: entry `i` is the span of `NodeId(i)` of the item.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SourceMap {
    pub spans: Vec<Span>,
    /// The whole item.
    pub item: Option<Span>,
}

impl SourceMap {
    /// The node's span, or the item's when the node is unknown.
    pub fn span(&self, node: NodeId) -> Option<Span> {
        self.spans.get(node.0 as usize).copied().or(self.item)
    }
}

/// A name where it is bound or used, with its node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ident {
    pub id: NodeId,
    pub name: Name,
}

/// A top-level form.
#[derive(Clone, PartialEq, Debug)]
pub struct Item {
    pub id: NodeId,
    pub kind: ItemKind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum ItemKind {
    /// `(define x e)`, `(define x : τ e)`; a function definition has a [`ExprKind::Lam`] as its value,
    /// inside [`ExprKind::ILam`]/[`ExprKind::TLam`] if it writes its own binders.
    Define {
        name: Ident,
        ty: Option<TypeExpr>,
        value: Expr,
    },
    /// `(entry (name p …) [: τ] e …)`; `value` as in `Define`.
    Entry {
        name: Ident,
        value: Expr,
    },
    /// `(define-type T τ)`
    DefineType {
        name: Ident,
        ty: TypeExpr,
    },
    /// `(import "file.remora")`
    Import {
        path: String,
    },
    /// `(primitive (name{t … | i …} p …) : τ)`, in the prelude alone: the signature of an operation
    /// that every device implements. Among the index binders, `(= p q)` is a constraint that an
    /// application must satisfy: equal statically, or checked when the program runs. Where `p` is a
    /// plain name that nothing else binds, it names an index that explicit applications give although
    /// the others decide it (`index`'s `l`).
    Primitive {
        name: Ident,
        tparams: Vec<TypeParam>,
        iparams: Vec<PrimitiveIndex>,
        params: Vec<Param>,
        ret: TypeExpr,
    },
    Expr(Expr),
    /// Reported already.
    Error,
}

/// `n` or `@s`.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexParam {
    pub id: NodeId,
    pub name: Name,
}

/// An index binder of a primitive.
#[derive(Clone, PartialEq, Debug)]
pub enum PrimitiveIndex {
    Param(IndexParam),
    /// `(= p q)`
    Equal(IndexExpr, IndexExpr),
}

/// `t`, `@t` or `(t num)`.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeParam {
    pub id: NodeId,
    pub name: Name,
    pub class: Option<Class>,
}

/// A parameter and its annotation.
#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    pub id: NodeId,
    pub name: Name,
    pub ann: Annotation,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Annotation {
    /// `x`
    None,
    /// `[x 2]`
    Rank(u32),
    /// `[x all]`
    All,
    /// `[x τ]`
    Type(TypeExpr),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub id: NodeId,
    pub kind: Box<ExprKind>,
}

impl Expr {
    /// What gives this expression its value: the last body of the bindings that it consists of.
    pub fn end(&self) -> &Expr {
        match &*self.kind {
            ExprKind::Let { body, .. }
            | ExprKind::LetValues { body, .. }
            | ExprKind::Unbox { body, .. }
            | ExprKind::Lift { body, .. } => body.end(),
            _ => self,
        }
    }
}

/// `e (x i …)` of an `unbox`: boxes, a name for the contents of one, and names for what it hides. An index that was
/// named by one before it has to be the same in both.
#[derive(Clone, PartialEq, Debug)]
pub struct Opened {
    pub boxes: Expr,
    pub value: Ident,
    pub indices: Vec<Ident>,
}

/// One binding of a `let`, or a `define` inside a body.
#[derive(Clone, PartialEq, Debug)]
pub struct Binding {
    pub param: Param,
    pub value: Expr,
    /// A `define` of a body.
    pub defines: bool,
}

impl Binding {
    /// Whether the name means the binding in its value, too: that of a function that a body defines.
    pub fn is_seen_in_value(&self) -> bool {
        fn is_function(e: &Expr) -> bool {
            match &*e.kind {
                ExprKind::TLam { body, .. } | ExprKind::ILam { body, .. } => is_function(body),
                kind => matches!(kind, ExprKind::Lam { .. }),
            }
        }
        self.defines && is_function(&self.value)
    }
}

/// The suffix of a typed literal, absent in `42`.
pub type Suffix = Option<BaseTy>;

#[derive(Clone, PartialEq, Debug)]
pub enum ExprKind {
    Var(Name),
    /// `42`, `-7`, `0x1f`, `42i32`; the reader has checked the range of a typed literal, and that an
    /// untyped one is in −2^63 … 2^64 − 1.
    Int {
        value: i128,
        suffix: Suffix,
    },
    /// `1.5`, `inf`, `nan`, `1.5f32` (also `1f32`).
    Float {
        value: FloatBits,
        suffix: Suffix,
    },
    Bool(bool),
    Char(char),
    /// A vector of `char`.
    Str(String),
    /// `[e …]`, at least one element (`[]` alone is an error that names `(array [0] t)`), but for one inside of another, which
    /// may be an empty row of an array of boxes.
    Bracket(Vec<Expr>),
    /// `(array [d …] a …)` and `(frame [d …] e …)` with at least one element; as many as the dims say.
    Array {
        dims: Vec<u64>,
        elems: Vec<Expr>,
    },
    /// `(array [d …] t)` and `(frame [d …] τ)`: no elements, some dim is 0. The type is an element's.
    EmptyArray {
        dims: Vec<IndexExpr>,
        ty: TypeExpr,
    },
    App {
        func: Expr,
        args: Vec<Expr>,
    },
    /// `(t-app e τ …)`, `(i-app e i …)`, `e{τ … | i …}`: the index application inside, as written.
    TApp {
        func: Expr,
        args: Vec<TypeExpr>,
    },
    IApp {
        func: Expr,
        args: Vec<IndexExpr>,
    },
    /// `~(r …)e`
    Rerank {
        ranks: Vec<Rank>,
        func: Expr,
    },
    /// `(λ (p …) [: τ] e)`
    Lam {
        params: Vec<Param>,
        ret: Option<TypeExpr>,
        body: Expr,
    },
    TLam {
        params: Vec<TypeParam>,
        body: Expr,
    },
    ILam {
        params: Vec<IndexParam>,
        body: Expr,
    },
    /// `(let (b …) e)`, and the `define`s of a body: each binding's scope is the later bindings and the
    /// body if `sequential`, else the body alone.
    Let {
        bindings: Vec<Binding>,
        sequential: bool,
        body: Expr,
    },
    /// `(: e τ)`
    Annot {
        expr: Expr,
        ty: TypeExpr,
    },
    /// `(if c e e)`; `cond` is nested `if`s.
    If {
        cond: Expr,
        then: Expr,
        otherwise: Expr,
    },
    /// `(box ((i idx) …) τ e)`
    Box {
        witnesses: Vec<(Ident, IndexExpr)>,
        ty: TypeExpr,
        value: Expr,
    },
    /// `(box e)`: the witnesses and the Σ come from the context.
    BoxInfer(Expr),
    /// `(boxes (i …) τ [d …] ((idx …) e) …)`
    Boxes {
        params: Vec<Ident>,
        ty: TypeExpr,
        dims: Vec<IndexExpr>,
        rows: Vec<(Vec<IndexExpr>, Expr)>,
    },
    /// `(unbox e (x i …) … body)`: one box at a time, of several arrays of them side by side.
    Unbox {
        opened: Vec<Opened>,
        body: Expr,
    },
    /// `(lift [d e] body)`; `(lift-int [d e] body)` (`natural: false`) lets `d` be negative until it
    /// is used as a size.
    Lift {
        index: Ident,
        value: Expr,
        natural: bool,
        body: Expr,
    },
    Values(Vec<Expr>),
    /// `(let-values (((p …) e) …) e)`, whose values are all outside of the names.
    LetValues {
        bindings: Vec<(Vec<Param>, Expr)>,
        body: Expr,
    },
    Proj {
        position: u64,
        tuple: Expr,
    },
    Record(Vec<(Ident, Expr)>),
    Field {
        record: Expr,
        label: Ident,
    },
    /// `(with r (l e) …)`
    With {
        record: Expr,
        fields: Vec<(Ident, Expr)>,
    },
    ReifyDim(IndexExpr),
    ReifyShape(IndexExpr),
    /// `(as-shape [i …] e)`
    AsShape {
        shape: Vec<IndexExpr>,
        value: Expr,
    },
    /// `(cast τ e)`
    Cast {
        ty: TypeExpr,
        value: Expr,
    },
    /// `(loop ((x e) …) while c do e)`
    Loop {
        bindings: Vec<Binding>,
        cond: Expr,
        body: Expr,
    },
    Error,
}

/// The bits of an `f64`: literals compare as data, `nan` included.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct FloatBits(pub u64);

impl FloatBits {
    pub fn new(x: f64) -> FloatBits {
        FloatBits(x.to_bits())
    }
    pub fn value(self) -> f64 {
        f64::from_bits(self.0)
    }
}

/// A rank in a rerank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rank {
    Of(u32),
    All,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TypeExpr {
    pub id: NodeId,
    pub kind: Box<TypeKind>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum TypeKind {
    /// A base type, a type variable `t`, an array-type variable `@t`, or a `define-type` name.
    Name(Name),
    /// `[t i …]`, `(A t s)`, `(Arr t s)`
    Arr {
        atom: TypeExpr,
        shape: Vec<IndexExpr>,
    },
    Fn {
        params: Vec<TypeExpr>,
        ret: TypeExpr,
    },
    Forall {
        params: Vec<TypeParam>,
        body: TypeExpr,
    },
    Pi {
        params: Vec<IndexParam>,
        body: TypeExpr,
    },
    Sigma {
        params: Vec<IndexParam>,
        body: TypeExpr,
    },
    Tuple(Vec<TypeExpr>),
    Record(Vec<(Ident, TypeExpr)>),
    Quot(TypeExpr),
    /// `(Val i)`, as the type of a parameter alone: an `int` (a vector of `int`s) whose value is the
    /// dim (the shape) `i`, known when the function is applied. The argument itself is not passed.
    Val(IndexExpr),
    /// `(Stream τ)`, `(Stream τ n)`, as the type of a parameter alone: items that are gone through once, from the first to
    /// the last, as many as `n` if that is written.
    Stream {
        item: TypeExpr,
        length: Option<IndexExpr>,
    },
    Error,
}

/// An index where it is written. In a list that makes a shape, a dim is one axis and a shape is
/// spliced.
#[derive(Clone, PartialEq, Debug)]
pub struct IndexExpr {
    pub id: NodeId,
    pub kind: Box<IndexKind>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum IndexKind {
    Nat(u64),
    /// `n` or `@s`
    Name(Name),
    Add(Vec<IndexExpr>),
    Mul(Vec<IndexExpr>),
    /// `(- d d …)`
    Sub(Vec<IndexExpr>),
    /// `[d @s …]`, `(shape d …)`, `(++ s …)`: the splice of its parts
    Shape(Vec<IndexExpr>),
    /// `(rank @s)`, `(size @s)`, in the prelude
    Rank(IndexExpr),
    Size(IndexExpr),
    /// An expression whose value is a dim or a shape, in `as-shape` alone
    Value(Expr),
    Error,
}
