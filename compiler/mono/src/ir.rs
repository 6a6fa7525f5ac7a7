//! Mono: one entry as a first-order program over arrays of base type.
//!
//! ```text
//! program  ::= (mono 1 (provs …) (name "main") (params x …) (inputs …) (channels channel …)? (output …) body)
//! channel  ::= ("name" (input k)? (output k)? (t rank starts?) …)   of each array of an item: the type, and its axes
//! body     ::= stmt … (give a …)
//! stmt     ::= (let (x …) exp @prov)
//! a        ::= x | constant                                  an atom; a size is an atom of type int
//! exp      ::= a | (op o a …) | (cast t a)                   scalar operators of the one table
//!            | (literal (n …) a …)                           the elements in row-major order
//!            | (index x a …)                                 an element, or with fewer indices a cell
//!            | (if a body body)
//!            | (for i a ((x a) …) body) | (while ((x a) …) body body)
//!            | (map ((i a) …) body)                          element (i …) is what body gives
//!            | (reduce i a body λ start) | (scan kind i a body λ start)
//!            | (scatter i a (x …) body λ?)                   body gives the index, then the values
//!            | (filter i a body)                             body gives whether to keep, then the values
//!            | (grade i a body)                              the stable permutation that sorts
//!            | (sort i a body)                               the one key of each, a scalar, in that order
//!            | (join i a k body)                             arrays of sizes of their own, one after the other
//!            | (view v x a …)                                another arrangement of x
//!            | (check trap a a …)
//!            | (pull c a take) | (push c x …)              items of a channel, read and written; on the host alone
//! take     ::= (multiple a) | (exactly a) | all
//! λ        ::= (λ (x …) body)
//! ```
//!
//! Gone since Explicit: functions as values (data that say which function it is, and what it mentions), ∀ and Π, polymorphic instances, every application but that
//! of an operator, tuples (several arrays), scalar boxes (their hidden dims are scalars, their contents
//! arrays). New: ANF; a dim is an atom; an iteration names its index variables.
//!
//! The array is a function of its index: `map` says what element (i …) is, and `index` applies it. So
//! fusion is β-reduction (`(index (map ((i n)) b) j)` is `b[i := j]`), a transposition is a `map` whose
//! body is one `index`, and no operator needs a fused variant of its own: `reduce`, `scan`, `scatter`,
//! `filter` have the body that makes their elements built in.
//!
//! ```text
//! (sum (* xs 2))       (let (%ys) (map ((%i %n)) (let (%x) (index %xs %i)) (let (%y) (op * %x 2)) (give %y)))
//!                      (let (%s) (reduce %i %n (let (%y) (index %ys %i)) (give %y) (λ (a b) …) (0)))
//! after fusion         (let (%s) (reduce %i %n (let (%x) (index %xs %i)) (let (%y) (op * %x 2)) (give %y) …))
//! ```
//!
//! Invariants, which [`crate::verify`] checks: binders are unique in the program and in scope at each
//! use; operands and results have the types the grammar wants; the dims of a result are in scope where
//! it is bound; two dims that are both constants agree where they must. An index is in bounds: where
//! that is not so by construction, a `check` stands before. `op` never stops the program (a `check`
//! stands before a division); a `check` is an effect, and a pass neither drops it, nor moves it to
//! where it would not have run. So are `pull` and `push`, which a pass leaves in their order.

use remc_base::ops::ScalarOp;
use remc_base::{AtomTy, BaseTy, IdVec, Name, Prov, Provenance, Scalar, Trap, define_id};

define_id! {
    /// A variable of a program.
    Var, "%";
}

/// The type of a variable: an array of base type; a scalar has no dims.
#[derive(Clone, PartialEq, Debug)]
pub struct Ty {
    pub base: BaseTy,
    /// Atoms of type `int`, never negative.
    pub dims: Vec<Atom>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct VarInfo {
    /// For people; need not be unique.
    pub name: Name,
    pub ty: Ty,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Atom {
    Var(Var),
    Const(Scalar),
}

/// One entry, or one top-level expression.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    pub name: Name,
    pub provs: Provenance,
    pub vars: IdVec<Var, VarInfo>,
    /// The sizes first, then the arrays whose dims mention them.
    pub params: Vec<Var>,
    /// What the caller is told of the parameters: for each parameter of the entry, in order.
    pub inputs: Vec<Input>,
    /// Of a program that streams, from [`mod@crate::stream`] on.
    pub channels: Vec<Channel>,
    pub body: Body,
    /// How the values that the body gives make up the entry's result.
    pub output: Output,
}

/// A parameter of an entry.
#[derive(Clone, PartialEq, Debug)]
pub enum Input {
    /// An array of base type.
    Array(Var),
    /// An array of tuples or records, one input per field.
    Tuple(Vec<(Option<Name>, Input)>),
    /// An array of boxes, stored flat as [`Output::Boxes`] is, or one box, whose frame has no axes. The contents are made of `Part`, `Parts`, tuples, and `Boxes` for one
    /// box in each.
    Boxes { witnesses: Vec<InputWitness>, contents: Box<Input> },
    /// In boxes: the elements of each begin at its start, an array of the boxes' frame, in a vector.
    Part { starts: Var, data: Var },
    /// In boxes: an array of boxes in each, those from its start on in `boxes`, which have one axis.
    Parts { starts: Var, boxes: Box<Input> },
    /// A stream as a whole: `size` items, along the first axis of each array of `items`. It is there until
    /// [`mod@crate::stream`] has made pieces of it.
    Stream { size: Var, items: Box<Input> },
    /// A stream that is pulled piece by piece. No array of it is a parameter, and `size` is unspecified; it stands for all
    /// variables in `items`, which say of what an item consists.
    Channel { channel: usize, size: Var, items: Box<Input> },
}

impl Input {
    /// Its variables, in the order of the parameters.
    pub fn vars_mut(&mut self) -> Vec<&mut Var> {
        let (mut out, mut open) = (Vec::new(), vec![self]);
        while let Some(input) = open.pop() {
            match input {
                Input::Array(v) => out.push(v),
                Input::Tuple(fields) => open.extend(fields.iter_mut().rev().map(|(_, f)| f)),
                Input::Boxes { witnesses, contents } => {
                    for w in witnesses {
                        match w {
                            InputWitness::Dim(v) => out.push(v),
                            InputWitness::Shape { ranks, starts, dims } => out.extend([ranks, starts, dims]),
                        }
                    }
                    open.push(contents);
                }
                Input::Part { starts, data } => out.extend([starts, data]),
                Input::Parts { starts, boxes } => {
                    out.push(starts);
                    open.push(boxes);
                }
                Input::Stream { items, .. } => open.push(items),
                Input::Channel { .. } => {}
            }
        }
        out
    }

    /// As [`Input::vars_mut`].
    pub fn vars(&self) -> Vec<Var> {
        let (mut out, mut open) = (Vec::new(), vec![self]);
        while let Some(input) = open.pop() {
            match input {
                Input::Array(v) => out.push(*v),
                Input::Tuple(fields) => open.extend(fields.iter().rev().map(|(_, f)| f)),
                Input::Boxes { witnesses, contents } => {
                    witnesses.iter().for_each(|w| out.extend(w.vars()));
                    open.push(contents);
                }
                Input::Part { starts, data } => out.extend([*starts, *data]),
                Input::Parts { starts, boxes } => {
                    out.push(*starts);
                    open.push(boxes);
                }
                Input::Stream { items, .. } => open.push(items),
                Input::Channel { .. } => {}
            }
        }
        out
    }

    /// The size of a stream, a parameter of its own.
    pub fn stream_size(&self) -> Option<Var> {
        match self {
            Input::Stream { size, .. } | Input::Channel { size, .. } => Some(*size),
            _ => None,
        }
    }

    /// The structure of items, without their variables.
    #[must_use]
    pub fn anonymous(&self, size: Var) -> Input {
        let mut all = self.clone();
        all.vars_mut().into_iter().for_each(|v| *v = size);
        all
    }

    pub fn stream_size_mut(&mut self) -> Option<&mut Var> {
        match self {
            Input::Stream { size, .. } | Input::Channel { size, .. } => Some(size),
            _ => None,
        }
    }
}

/// What the boxes of an input hide of one index: arrays of ints of the boxes' frame, but for `dims`.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum InputWitness {
    Dim(Var),
    /// Shapes, which may be of different ranks: the dims of each begin at its start in the vector `dims`.
    Shape {
        ranks: Var,
        starts: Var,
        dims: Var,
    },
}

impl InputWitness {
    pub fn vars(&self) -> Vec<Var> {
        match *self {
            InputWitness::Dim(v) => vec![v],
            InputWitness::Shape { ranks, starts, dims } => vec![ranks, starts, dims],
        }
    }
}

/// A part of an entry's result; positions are those of the results of the program's body.
#[derive(Clone, PartialEq, Debug)]
pub enum Output {
    Array(usize),
    /// An array, of shape `frame`, of tuples: each field's arrays have the frame in front.
    Tuple {
        frame: Vec<usize>,
        fields: Vec<(Option<Name>, Output)>,
    },
    /// A scalar box: where its witnesses are, and its contents.
    Box {
        ty: AtomTy,
        witnesses: Vec<Witness>,
        contents: Box<Output>,
    },
    /// An array, of shape `frame`, of boxes, stored flat. The witnesses are arrays of that shape; the
    /// contents are made of `Part`, `Parts`, tuples without a frame, and `Boxes` for one box in each.
    Boxes {
        frame: Vec<usize>,
        ty: AtomTy,
        witnesses: Vec<Witness>,
        contents: Box<Output>,
    },
    /// An array, of shape `frame`, of functions of this type: there is nothing to say of each. In boxes their number
    /// is what the type of the boxes says, and there is no frame.
    Functions {
        frame: Vec<usize>,
        ty: AtomTy,
    },
    /// In boxes: the elements of each begin at its start, an array of the boxes' frame, in a vector.
    Part {
        starts: usize,
        data: usize,
    },
    /// In boxes: an array of boxes in each, those from its start on in `boxes`, which have one axis.
    Parts {
        starts: usize,
        boxes: Box<Output>,
    },
}

/// A witness of a box, by the positions of its sizes, or of the arrays of them.
#[derive(Clone, PartialEq, Debug)]
pub enum Witness {
    Dim(usize),
    Shape(Vec<usize>),
    /// Of one box: the dims of a shape whose rank is known only when the program runs, as a vector. The contents
    /// are stored with the axes of that shape as one.
    Vector(usize),
    /// Of an array of boxes: such shapes. The dims of each begin at its start in the vector `dims`, as many as its
    /// rank; ranks and starts are arrays of the boxes' frame.
    Vectors {
        ranks: usize,
        starts: usize,
        dims: usize,
    },
}

impl Witness {
    /// The positions.
    pub fn results(&self) -> Vec<usize> {
        match self {
            Witness::Dim(k) | Witness::Vector(k) => vec![*k],
            Witness::Shape(all) => all.clone(),
            Witness::Vectors { ranks, starts, dims } => vec![*ranks, *starts, *dims],
        }
    }
}

#[derive(Clone, PartialEq, Debug, Default)]
pub struct Body {
    pub stmts: Vec<Stmt>,
    pub results: Vec<Atom>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    pub pat: Vec<Var>,
    pub exp: Exp,
    pub prov: Prov,
}

/// A first-order function; it may mention variables in scope.
#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    pub params: Vec<Var>,
    pub body: Body,
}

/// An iteration from 0 up to a size.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Axis {
    pub var: Var,
    pub size: Atom,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Exp {
    Atom(Atom),
    /// A scalar operator; where the table says that it can stop the program, it gives an unspecified
    /// value instead.
    Op(ScalarOp, Vec<Atom>),
    Cast(BaseTy, Atom),
    /// An array of scalars, given one by one.
    Literal {
        dims: Vec<Atom>,
        elems: Vec<Atom>,
    },
    /// An element; with fewer indices than dims, a cell. In bounds.
    Index {
        array: Var,
        at: Vec<Atom>,
    },
    /// Binds what the branch gives.
    If {
        cond: Atom,
        then: Body,
        otherwise: Body,
    },
    /// `body` gives the next state; the pattern binds the last.
    For {
        axis: Axis,
        state: Vec<(Var, Atom)>,
        body: Body,
    },
    /// `cond` gives one bool of the state.
    While {
        state: Vec<(Var, Atom)>,
        cond: Body,
        body: Body,
    },
    /// One array for each result of the body, of the axes' sizes and then the result's dims. Iterations
    /// are independent.
    Map {
        axes: Vec<Axis>,
        body: Body,
    },
    /// The combination of the elements that `body` gives, from the left.
    Reduce {
        axis: Axis,
        body: Body,
        op: Combine,
    },
    /// The combinations of the prefixes; the results have the axis in front.
    Scan {
        kind: ScanKind,
        axis: Axis,
        body: Body,
        op: Combine,
    },
    /// Copies of the arrays `dests` with values written into their items: `body` gives an index below
    /// the first dim, or a negative one to write nothing, and a value (an item) for each array. Without
    /// `combine` the last write wins; with it an item becomes `combine old new`.
    Scatter {
        dests: Vec<Var>,
        axis: Axis,
        body: Body,
        combine: Option<Lambda>,
    },
    /// `body` gives a bool and values; binds the number of items kept, then for each value the array of
    /// those kept, in order, whose first dim is that number.
    Filter {
        axis: Axis,
        body: Body,
    },
    /// `body` gives the keys of an item, compared from the first on, each by the total order of its base
    /// type and an array key by its first different element; binds the stable permutation that sorts, or what that
    /// makes of the keys.
    Grade {
        axis: Axis,
        body: Body,
        gives: Gives,
    },
    /// What the iterations give, of which arrays need not be of one size: the first `regular` results are
    /// collected as by a map. Of each other, an array, it binds the number of elements in all; where those
    /// of each iteration begin; and the elements of all, in the order of the iterations, each in row-major
    /// order.
    Join {
        axis: Axis,
        regular: usize,
        body: Body,
    },
    /// Another arrangement of the elements of an array.
    View {
        view: View,
        array: Var,
    },
    /// Stops the program with these values unless `cond` holds. Binds nothing.
    Check {
        trap: Trap,
        cond: Atom,
        values: Vec<Atom>,
    },
    /// The items of a channel from `at` on: binds how many they are, none at its end alone, then for each array of the
    /// channel these of its items, and before one that has any number for each how many elements that are. What has been pulled before may be pulled again, from the first item on.
    Pull {
        channel: usize,
        at: Atom,
        take: Take,
    },
    /// Appends items to a channel, as many of each array. Binds nothing.
    Push {
        channel: usize,
        arrays: Vec<Var>,
    },
}

/// How many items are pulled, where there are as many; the last ones of a channel may be fewer.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Take {
    /// Some multiple of this positive number: which one is chosen when the program runs.
    Multiple(Atom),
    Exactly(Atom),
    All,
}

/// An array of a channel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChannelArray {
    pub base: BaseTy,
    /// How many axes an item has.
    pub rank: usize,
    /// Of an array that has any number of elements for each item, a vector: which array of the channel says where those of
    /// each begin. Of a piece that is counted from its own first element.
    pub starts: Option<usize>,
}

impl ChannelArray {
    pub fn items(base: BaseTy, rank: usize) -> ChannelArray {
        ChannelArray { base, rank, starts: None }
    }
}

/// What moves items: from an input, to a result, or from one part of the program to a later one.
#[derive(Clone, PartialEq, Debug)]
pub struct Channel {
    /// For people.
    pub name: Name,
    pub arrays: Vec<ChannelArray>,
    /// The parameter of the entry that it reads.
    pub input: Option<usize>,
    /// The result of the body that stands for its array: there it is how many items were pushed.
    pub output: Option<usize>,
}

impl Channel {
    /// Whether it has any number of items, of which there is nothing but how many are pulled: those of a stream that the
    /// program makes.
    pub fn is_endless(&self) -> bool {
        self.arrays.is_empty() && self.input.is_none() && self.output.is_none()
    }
}

/// The operator of a reduction or scan: `λ` of the accumulators, then of the elements.
#[derive(Clone, PartialEq, Debug)]
pub struct Combine {
    pub lambda: Lambda,
    /// What the first element is combined with, once; without it the first element starts, and the axis
    /// is not empty.
    pub start: Option<Vec<Atom>>,
    /// Associative, so that parts may be combined in any grouping (never in another order, unless
    /// [`Combine::is_commutative`]). Otherwise the accumulators may be of other types than the elements,
    /// `start` is present, and the combination is serial.
    pub assoc: bool,
    /// Associative, and yet one thread's: in which grouping parts are combined does not depend on how many reductions there
    /// are beside this one.
    pub alone: bool,
}

/// What a sort binds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Gives {
    /// The numbers of the items in their order: a stable permutation.
    Places,
    /// The keys of the items in that order, where there is one, a scalar: the permutation's effect on them, to the bit.
    /// Those who ask for no more than that need not move numbers about.
    Keys,
}

impl Gives {
    /// Its word in the text of the intermediate languages.
    pub fn word(self) -> &'static str {
        match self {
            Gives::Places => "grade",
            Gives::Keys => "sort",
        }
    }
}

/// The results of a scan of `n` elements.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScanKind {
    /// `n`: each with its own element.
    Inclusive,
    /// `n`: each without its own element, the start first.
    Exclusive,
    /// `n + 1`: from the start to the whole.
    Full,
}

/// How the elements of a view are found; the result's dims are those of the variable it is bound to.
#[derive(Clone, PartialEq, Debug)]
pub enum View {
    /// The same elements in row-major order.
    Reshape { dims: Vec<Atom> },
    /// Axis `k` of the result is axis `perm[k]` of the array.
    Permute { perm: Vec<usize> },
    /// The first axis backwards.
    Reverse,
    /// Element `(i + amount) mod n` on each of the leading axes.
    Rotate { amounts: Vec<Atom> },
    /// The items of the array, then those of `with`.
    Append { with: Var },
    /// `dims` many from `start` on, on each leading axis; in bounds.
    Slice { start: Vec<Atom>, dims: Vec<Atom> },
    /// The same, indices wrapping round each axis, which is not empty.
    Wrap { start: Vec<Atom>, dims: Vec<Atom> },
    /// The elements in row-major order, again and again; there is one, unless the result has none.
    Cycle { dims: Vec<Atom> },
    /// The array at every position of leading axes.
    Replicate { dims: Vec<Atom> },
}

impl Combine {
    /// For each accumulator the one operator, known to commute, that combines it with its own element; if
    /// the combination is associative and nothing but that. Then elements may be combined in any order.
    pub fn component_ops(&self) -> Option<Vec<ScalarOp>> {
        let Lambda { params, body } = &self.lambda;
        let (accs, elems) = params.split_at_checked(body.results.len())?;
        let component = |((acc, elem), result): ((&Var, &Var), &Atom)| {
            let (a, b) = (Atom::Var(*acc), Atom::Var(*elem));
            body.stmts.iter().find_map(|s| match (&s.exp, s.pat.as_slice()) {
                (Exp::Op(op, args), [v]) if Atom::Var(*v) == *result && commutes(*op) => {
                    (*args == [a, b] || *args == [b, a]).then_some(*op)
                }
                _ => None,
            })
        };
        let alone = self.assoc && body.stmts.len() == accs.len() && accs.len() == elems.len();
        let ops = accs.iter().zip(elems).zip(&body.results).map(component).collect::<Option<Vec<_>>>();
        ops.filter(|_| alone)
    }

    /// The parameters that stand for an element, each with what `body` gives for it.
    pub fn elements<'b>(&self, body: &'b Body) -> impl Iterator<Item = (Var, Atom)> + use<'_, 'b> {
        let params = self.lambda.params.iter().rev().zip(body.results.iter().rev());
        params.map(|(v, a)| (*v, *a))
    }

    /// Whether elements may be combined in any order.
    pub fn is_commutative(&self) -> bool {
        self.component_ops().is_some()
    }
}

/// Whether the operator is associative and commutative, up to the rounding that a reduction allows.
pub fn commutes(op: ScalarOp) -> bool {
    use ScalarOp::*;
    matches!(op, Add | Mul | Min2 | Max2 | And | Or | Xor | BitAnd | BitOr | BitXor | Gcd)
}

impl Atom {
    pub fn int(n: i64) -> Atom {
        Atom::Const(Scalar::I64(n))
    }

    pub fn as_int(self) -> Option<i64> {
        match self {
            Atom::Const(Scalar::I64(n)) => Some(n),
            _ => None,
        }
    }

    pub fn constant(self) -> Option<Scalar> {
        match self {
            Atom::Const(c) => Some(c),
            Atom::Var(_) => None,
        }
    }

    pub fn as_var(self) -> Option<Var> {
        match self {
            Atom::Var(v) => Some(v),
            Atom::Const(_) => None,
        }
    }
}

impl From<Var> for Atom {
    fn from(v: Var) -> Atom {
        Atom::Var(v)
    }
}

impl Ty {
    pub fn scalar(base: BaseTy) -> Ty {
        Ty { base, dims: Vec::new() }
    }

    pub fn int() -> Ty {
        Ty::scalar(BaseTy::I64)
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    pub fn is_scalar(&self) -> bool {
        self.dims.is_empty()
    }

    /// The type of an array of these.
    pub fn over(&self, axes: &[Atom]) -> Ty {
        Ty { base: self.base, dims: axes.iter().chain(&self.dims).copied().collect() }
    }

    /// The type of a cell at `n` indices.
    pub fn cell(&self, n: usize) -> Ty {
        Ty { base: self.base, dims: self.dims[n.min(self.dims.len())..].to_vec() }
    }
}

/// The number of elements, where all dims are constants.
pub fn elements(dims: &[Atom]) -> Option<usize> {
    let sizes = dims.iter().map(|d| usize::try_from(d.as_int()?).ok()).collect::<Option<Vec<_>>>()?;
    if sizes.contains(&0) {
        return Some(0);
    }
    sizes.into_iter().try_fold(1usize, usize::checked_mul)
}

impl Program {
    pub fn fresh(&mut self, name: impl AsRef<str>, ty: Ty) -> Var {
        self.vars.push(VarInfo { name: Name::new(name), ty })
    }

    pub fn ty(&self, v: Var) -> &Ty {
        &self.vars[v].ty
    }

    pub fn atom_ty(&self, a: Atom) -> Ty {
        match a {
            Atom::Var(v) => self.vars[v].ty.clone(),
            Atom::Const(c) => Ty::scalar(c.ty()),
        }
    }
}
