//! Kernel: loops over buffers, each tagged with how it runs, and the host plan that launches them.
//!
//! ```text
//! program  ::= (kernel 1 (name "main") (provs …) (params x …) (inputs …) (channels …)? (output …)
//!                kernel … (plan stmt …))
//! kernel   ::= (kernel name (schedule "site" (field n) …)? (grid (b a) …) (worker w) (threads t n)? (rows (x x) …)?
//!                (distinct x …)? (params x …) stmt …)
//! stmt     ::= (let x exp) | (store buffer (a …) a) | (update o buffer (a …) a)
//!            | (for how i range ((x y a) …) stmt … (next a …))
//!            | (while ((x y a) …) (cond stmt … a) stmt … (next a …))
//!            | (if a (then stmt …) (else stmt …) ((x a a) …))
//!            | (check trap a a …)
//!            | (chain state (b …) ((x x a a kept own?) …) stmt … (next a …))
//!            | (points (x …) a (a …)) | (barrier)
//!            | (collective scan? a ((x x a x x?) …) stmt … (next a …))
//!            | (alloc buffer) | (free buffer) | (alias buffer buffer) | (slice buffer buffer a)
//!            | (launch kernel (a …)) | (grade (b …) b (a …)?) | (sort (b) b (a …)?)   each with its provenance
//!            | (pull c a take x (x …) (x …)) | (push c (x …))
//! exp      ::= a | (op o a …) | (cast t a) | (bits a) | (load buffer a …)
//!            | (workers) | (test compare a threshold n)             the plan's alone
//! how      ::= seq | (lanes w) | (scan w) | (jam k)
//! range    ::= (upto a a) | (tile b size limit) | (share t n b size limit)
//! ```
//!
//! That is the abstract grammar; the exact text form is in [`mod@crate::print`].
//!
//! Gone since Flat: arrays as values. New: buffers, in a memory space; loads and stores; loops with
//! values carried from one iteration to the next; grids; allocation, size arithmetic and versions in the
//! plan. Scalars are still single assignment.
//!
//! - `(pull c at take n (m …) (b …))` takes items of channel `c` from number `at` on, `n` of them: buffers `b` of the
//!   plan's own, of `n` items each, or of as many elements as one of the `m` says. `(push c (b …))` appends those of
//!   buffers. What a channel is of, [`Channel`] says.
//! - A buffer has dims and is addressed by as many indices: what an iteration owns stays visible. Its
//!   layout is row-major; only a backend makes offsets of it.
//! - A **kernel** runs its body once for each block, a point of its grid, in any order and at the same
//!   time. `worker` is the number of the thread that runs the block, below the plan's number of workers.
//! - `(tile b size limit)` runs from `b·size` up to `(b+1)·size` or `limit`, whichever is less: the
//!   part of `limit` iterations that belongs to `b`. `(upto from to)` runs from `from` up to `to`.
//! - `lanes w`: iterations are independent, and run `w` at a time in the lanes of vectors (what is left
//!   over in fewer). A carried value then needs `combine`, a commutative operator that makes the next
//!   value of the last one and of something that does not depend on it; lanes are combined at the end.
//!   The bounds and tests of inner loops and the conditions of inner `if`s depend on the lane only where what is inside may
//!   run for some lanes alone ([`crate::predicate`]), or lanes agree on it but at the edges of arrays ([`crate::uniformity`]).
//! - `scan w`: iterations are independent but for what they carry. A carried value needs `combine`, an
//!   associative operator with a neutral element that makes the next value of the last one and of an item;
//!   nothing that is carried may be in an item. So `w` iterations make their items in lanes, which are
//!   scanned in registers. The rest of the body may mention what is carried, unlike that of `lanes`: the
//!   last values (the exclusive prefixes) and the next ones (the inclusive ones), to store them for
//!   example. What is inside depends on the lane as little as in `lanes`. [`crate::scan`] takes the body apart.
//! - A loop that keeps some of its items ([`crate::keep`]) has a place for each iteration where it stores them, and
//!   what is in the places behind the last item kept is not read: iterations that keep nothing may write there.
//! - `jam k`: iterations are independent; `k` of them run at once, their inner loops fused, so that
//!   what they read in common is read once.
//! - `(chain state (b …) ((before x init item kept) …) stmt … (next a …))` hands values from each block
//!   to the next along the last axis of the grid. In the first block `before` is `init`; in any other it
//!   is what the block before it gave as its next value. The statements make that of `before` and of `x`,
//!   which stands for this block's own `item`, by an operator that is associative. What blocks give is in
//!   `kept`, and whether they have given it in `state`, which is 0 everywhere at the launch: memory of the
//!   chain's own, with a place for each block. So a scan reads its array once from memory: each block
//!   reduces its tile, takes its place in the chain, and goes through the tile again while a cache has it
//!   (Merrill and Garland, Single-pass parallel prefix scan with decoupled look-back, 2016; Yan et al.,
//!   StreamScan, PPoPP 2013). Whoever runs the blocks starts them in ascending order. Where there is memory
//!   for the items themselves, `own`, blocks need not wait for each other one by one: as many as a block has
//!   threads are a group, of which each block combines the items before its own, from what the last block of
//!   the group before has given. So the combination depends on the number of blocks alone.
//!
//! On a GPU a block has **threads**, `n` of them, which run its body at the same time; `t` is a thread's
//! number. What is not indexed by `t` all of them do alike, so a store for the block is in an `if` on
//! `(op = t 0)`. Buffers in `shared` memory belong to the block.
//!
//! - `(share t n b size limit)` are those of the iterations of `(tile b size limit)` that belong to `t`:
//!   every `n`-th, from number `t` of the tile on. Neighbours are at the same time, so that what they read
//!   side by side is read at once.
//! - `(points (x …) p (d …))` binds the indices of the point number `p` of a space of these dims, in
//!   row-major order.
//! - `(update o buffer (a …) x)` makes `(op o y x)` of the element `y`, at once: threads and blocks may do so to one element
//!   in any order, which does not matter, as `o` is exact and takes them in any ([`updates`]).
//! - `(barrier)`: no thread goes on before all threads of the block are there.
//! - `(collective a ((x y item total) …) stmt … (next b …))` combines the items of the first `a` threads,
//!   in the order of their numbers, by an associative operator, which the statements make of `x` and `y`;
//!   all threads get the `total`. `(collective scan a ((x y item before total) …) …)` gives each thread
//!   also the combination of the items of the threads before it; the first has none, and `before` is
//!   unspecified there, or 0 where the items are counts ([`crate::counts`]). Neither is anything specified of a `total` of no items. It is a barrier, too.
//!
//! ```text
//! (kernel "scale" (grid (%b nb)) (worker %w) (params %n %nb %xs %ys)
//!   (for (lanes 16) %i (tile %b 16384 %n) ()
//!     (let %x (load %xs %i)) (let %y (op * %x 2)) (store %ys (%i) %y) (next)))
//! ```
//!
//! Invariants, which [`crate::verify`] and [`crate::race`] check:
//! - scopes, types and numbers of operands; a kernel mentions its own parameters alone; kernels have no
//!   `alloc` but of `Private` buffers of constant dims, no `free`, `launch`, `grade` or `sort`;
//! - **race freedom**: for every buffer that a kernel writes and for every parallel variable (a grid
//!   variable, that of the threads, the variable of a `lanes`, `scan` or `jam` loop) around a write, there is
//!   one position at which every access of the kernel to this buffer is owned by that variable: indexed by the variable
//!   itself, or by the variable of a loop over its `tile` of one and the same size, or by either less what is the same
//!   for all of its values. So two iterations never touch the same place, unless both only read. After Syntactic Control of Interference
//!   (Reynolds; DPIA). A `Scratch` buffer is instead addressed by `worker` first, in every access;
//! - in the plan each buffer is allocated once, freed once, handed on once (as a carried value or a
//!   result) and never used after; parameters are borrowed: not freed, not written;
//! - a load or store is in bounds by construction or behind a `check`.

use crate::schedule::Schedule;
use remc_base::ops::ScalarOp;
pub use remc_base::ops::{is_transcendental, neutral};
use remc_base::{BaseTy, IdVec, Name, Prov, Provenance, Trap, define_id};
pub use remc_flat::ir::{Compare, Test};
pub use remc_mono::ir::{
    Atom, Channel, ChannelArray, Gives, Input, InputWitness, Output, Take, Var, Witness,
};

define_id! {
    /// A kernel of a program.
    KernelId, "k";
}

#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    pub name: Name,
    pub provs: Provenance,
    pub vars: IdVec<Var, VarInfo>,
    /// Sizes and scalars, then buffers, as in Mono.
    pub params: Vec<Var>,
    pub inputs: Vec<Input>,
    pub channels: Vec<Channel>,
    pub output: Output,
    pub kernels: IdVec<KernelId, Kernel>,
    pub plan: Vec<Stmt>,
    /// What the plan gives: scalars, and buffers that it owns.
    pub results: Vec<Atom>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct VarInfo {
    pub name: Name,
    pub ty: Ty,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Ty {
    Scalar(BaseTy),
    Buffer(BufferTy),
}

#[derive(Clone, PartialEq, Debug)]
pub struct BufferTy {
    pub base: BaseTy,
    /// Atoms of type `int`.
    pub dims: Vec<Atom>,
    pub space: Space,
}

/// Where a buffer lives.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Space {
    /// The device's memory, for every kernel.
    Global,
    /// Global memory with one part per worker: the first dim is the number of workers.
    Scratch,
    /// Registers, or a thread's stack: a few elements, of constant dims.
    Private,
    /// Memory that the threads of a block share, of constant dims.
    Shared,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Kernel {
    pub name: Name,
    /// The operator that it is of ([`remc_flat::sites`]), if of one alone; and the numbers that it is made by.
    pub site: Name,
    pub schedule: Schedule,
    /// Block indices and how many there are of each, atoms of the parameters or constants.
    pub grid: Vec<(Var, Atom)>,
    pub worker: Var,
    /// The threads of a block: their number's variable, and how many there are.
    pub threads: Option<(Var, u32)>,
    /// Vectors of which each iteration of a loop writes a part of its own, and vectors of ints that say where the parts
    /// begin: those of iteration `i` are the elements from item `i` on, and before item `i + 1`. [`crate::race`] takes that
    /// from the plan.
    pub rows: Vec<(Var, Var)>,
    /// Vectors of ints of which no two are alike. [`crate::race`] takes that from the plan, too.
    pub distinct: Vec<Var>,
    /// Bound here: scalars, and buffers whose dims mention scalars among them. Each is the kernel's own
    /// variable; a launch gives its value.
    pub params: Vec<Var>,
    pub body: Vec<Stmt>,
    /// Where it comes from: the statements fused into it.
    pub provs: Vec<Prov>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Stmt {
    pub kind: StmtKind,
    pub prov: Prov,
}

#[derive(Clone, PartialEq, Debug)]
pub enum StmtKind {
    Let {
        var: Var,
        exp: Exp,
    },
    Store {
        buffer: Var,
        at: Vec<Atom>,
        value: Atom,
    },
    /// Combines the element with a value, at once.
    Update {
        op: ScalarOp,
        buffer: Var,
        at: Vec<Atom>,
        value: Atom,
    },
    For {
        how: How,
        var: Var,
        range: Range,
        carried: Vec<Carried>,
        body: Vec<Stmt>,
        next: Vec<Atom>,
    },
    While {
        carried: Vec<Carried>,
        cond: Vec<Stmt>,
        test: Atom,
        body: Vec<Stmt>,
        next: Vec<Atom>,
    },
    If {
        cond: Atom,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
        results: Vec<Choice>,
    },
    /// Hands values from block to block along the last axis of the grid.
    Chain {
        /// An `int` for each block: not 0 once the block has given its values.
        state: Var,
        /// The grid's variables: where this block is in `state` and in what is kept.
        at: Vec<Atom>,
        links: Vec<Link>,
        body: Vec<Stmt>,
        next: Vec<Atom>,
    },
    /// The indices of a point of a space, by its number in row-major order.
    Points {
        vars: Vec<Var>,
        index: Atom,
        dims: Vec<Atom>,
    },
    /// The threads of a block wait for each other.
    Barrier,
    /// Combines values of the threads of a block.
    Collective {
        /// Whether each thread gets what comes before its own.
        scan: bool,
        /// How many threads have an item: the first ones.
        count: Atom,
        joined: Vec<Joined>,
        body: Vec<Stmt>,
        next: Vec<Atom>,
    },
    /// Stops the program with these values unless `cond` holds.
    Check {
        trap: Trap,
        cond: Atom,
        values: Vec<Atom>,
    },
    /// The elements are unspecified.
    Alloc {
        buffer: Var,
    },
    Free {
        buffer: Var,
    },
    /// `buffer` is a second name for the memory of `of`, under other dims of the same product. The memory
    /// still belongs to `of`: freeing that ends both; handing on `buffer` hands on `of`.
    Alias {
        buffer: Var,
        of: Var,
    },
    /// `buffer` is a name for the rows of `of` from number `first` on, as many as it has: memory that still
    /// belongs to `of`, under which name alone it is freed, handed on and sorted. It need not begin where a
    /// vector or pack of its elements would.
    Slice {
        buffer: Var,
        of: Var,
        first: Atom,
    },
    /// One argument for each parameter of the kernel.
    Launch {
        kernel: KernelId,
        args: Vec<Atom>,
    },
    /// Fills `out` with the stable permutation that sorts the items of `keys`, buffers of the same
    /// first dim, compared in turn; or with those items in order, of one key, a vector. Of that only the items at some places
    /// may be wanted, if any are given: the others are any numbers then. The plan's alone.
    Sort {
        keys: Vec<Var>,
        out: Var,
        gives: Gives,
        at: Vec<Atom>,
    },
    /// As in Mono: binds how many items of a channel there are; how many elements each of its arrays has that has any number
    /// for each item; and buffers of these, one for each of its arrays, which belong to the plan from then on. The plan's
    /// alone.
    Pull {
        channel: usize,
        at: Atom,
        take: Take,
        count: Var,
        elements: Vec<Var>,
        buffers: Vec<Var>,
    },
    /// Appends the items in buffers, one for each of the channel's arrays. The plan's alone.
    Push {
        channel: usize,
        buffers: Vec<Var>,
    },
}

/// A value that a loop hands from one iteration to the next: `param` inside, `result` afterwards. In the
/// plan it may be a buffer, which the loop then owns.
#[derive(Clone, PartialEq, Debug)]
pub struct Carried {
    pub param: Var,
    pub result: Var,
    pub init: Atom,
    /// The operator that makes the next value; required where iterations run in lanes or are scanned.
    pub combine: Option<ScalarOp>,
}

/// A value that blocks hand on: `before` from then on, `x` in the chain's statements alone.
#[derive(Clone, PartialEq, Debug)]
pub struct Link {
    pub before: Var,
    /// Stands for `item` in the operator.
    pub x: Var,
    /// What the first block starts from.
    pub init: Atom,
    pub item: Atom,
    /// What each block gave.
    pub kept: Var,
    /// The item of each block, where blocks look back at those of a group.
    pub own: Option<Var>,
}

/// A value of each thread that a collective combines: `x` and `y` in its statements alone.
#[derive(Clone, PartialEq, Debug)]
pub struct Joined {
    pub x: Var,
    pub y: Var,
    pub item: Atom,
    /// Of a scan: what the threads before have.
    pub before: Option<Var>,
    pub total: Var,
}

/// The value of an `if`, by branch.
#[derive(Clone, PartialEq, Debug)]
pub struct Choice {
    pub var: Var,
    pub then: Atom,
    pub otherwise: Atom,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Exp {
    Atom(Atom),
    /// As in Mono: never stops; unspecified where the table says it would.
    Op(ScalarOp, Vec<Atom>),
    Cast(BaseTy, Atom),
    /// The bits of a float as a signed integer of its width ([`bits_of`]).
    Bits(Atom),
    Load {
        buffer: Var,
        at: Vec<Atom>,
    },
    /// The number of workers: how many blocks run at the same time at most. The plan's alone.
    Workers,
    /// Chooses between versions, as in Flat. A run may be told another value of the threshold: what a program means does
    /// not depend on it. The plan's alone.
    Test(Test),
}

impl Program {
    /// The thresholds of its tests and their values, in the order of the plan.
    pub fn thresholds(&self) -> Vec<(Name, i64)> {
        fn of(stmts: &[Stmt], out: &mut Vec<(Name, i64)>) {
            for s in stmts {
                match &s.kind {
                    StmtKind::Let { exp: Exp::Test(t), .. } if out.iter().all(|(n, _)| *n != t.threshold) => {
                        out.push((t.threshold.clone(), t.value));
                    }
                    StmtKind::For { body, .. } => of(body, out),
                    StmtKind::While { cond, body, .. } => {
                        of(cond, out);
                        of(body, out);
                    }
                    StmtKind::If { then, otherwise, .. } => {
                        of(then, out);
                        of(otherwise, out);
                    }
                    _ => {}
                }
            }
        }
        let mut found = Vec::new();
        of(&self.plan, &mut found);
        found
    }
}

impl Program {
    /// The places where a channel is gone through from its first item on, one after the other; twice where that is done
    /// again and again.
    pub fn passes(&self, channel: usize) -> Vec<Prov> {
        fn of(stmts: &[Stmt], channel: usize, loops: usize, out: &mut Vec<Prov>) {
            for s in stmts {
                match &s.kind {
                    // The loop over the pieces is one itself.
                    StmtKind::Pull { channel: c, .. } if *c == channel => {
                        out.extend(std::iter::repeat_n(s.prov, if loops > 1 { 2 } else { 1 }));
                    }
                    StmtKind::For { .. } | StmtKind::While { .. } => {
                        s.kind.blocks().into_iter().for_each(|b| of(b, channel, loops + 1, out));
                    }
                    kind => kind.blocks().into_iter().for_each(|b| of(b, channel, loops, out)),
                }
            }
        }
        let mut found = Vec::new();
        of(&self.plan, channel, 0, &mut found);
        found
    }
}

/// How the iterations of a loop run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    Seq,
    Lanes(u32),
    /// In lanes, but for carried values, which are scanned.
    Scan(u32),
    Jam(u32),
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Range {
    Upto {
        from: Atom,
        to: Atom,
    },
    Tile {
        index: Atom,
        size: Atom,
        limit: Atom,
    },
    /// What belongs to `thread`, of so many, of a tile.
    Share {
        thread: Atom,
        threads: Atom,
        index: Atom,
        size: Atom,
        limit: Atom,
    },
}

impl Range {
    /// What it is made of, in the order of the text.
    pub fn atoms(&self) -> Vec<Atom> {
        match *self {
            Range::Upto { from, to } => vec![from, to],
            Range::Tile { index, size, limit } => vec![index, size, limit],
            Range::Share { thread, threads, index, size, limit } => {
                vec![thread, threads, index, size, limit]
            }
        }
    }
}

impl How {
    /// Whether iterations run at the same time.
    pub fn is_parallel(self) -> bool {
        matches!(self, How::Lanes(_) | How::Scan(_) | How::Jam(_))
    }
}

impl Program {
    pub fn scalar(&mut self, name: impl AsRef<str>, base: BaseTy) -> Var {
        self.vars.push(VarInfo { name: Name::new(name), ty: Ty::Scalar(base) })
    }

    pub fn buffer(&mut self, name: impl AsRef<str>, ty: BufferTy) -> Var {
        self.vars.push(VarInfo { name: Name::new(name), ty: Ty::Buffer(ty) })
    }

    pub fn ty(&self, v: Var) -> &Ty {
        &self.vars[v].ty
    }

    /// The base type of a scalar variable or constant.
    pub fn scalar_ty(&self, a: Atom) -> Option<BaseTy> {
        match a {
            Atom::Const(c) => Some(c.ty()),
            Atom::Var(v) => match self.vars[v].ty {
                Ty::Scalar(b) => Some(b),
                Ty::Buffer(_) => None,
            },
        }
    }

    pub fn buffer_ty(&self, v: Var) -> Option<&BufferTy> {
        match &self.vars[v].ty {
            Ty::Buffer(b) => Some(b),
            Ty::Scalar(_) => None,
        }
    }
}

/// The type of the bits of a value of this type, a float.
pub fn bits_of(base: BaseTy) -> Option<BaseTy> {
    match base {
        BaseTy::F16 => Some(BaseTy::I16),
        BaseTy::F32 => Some(BaseTy::I32),
        BaseTy::F64 => Some(BaseTy::I64),
        _ => None,
    }
}

/// Whether elements of this type may be updated by an operator: what comes of several updates does not depend on their
/// order, and GPUs have an instruction for it.
pub fn updates(op: ScalarOp, base: BaseTy) -> bool {
    use ScalarOp::{Add, BitAnd, BitOr, BitXor, Max2, Min2};
    base.is_integer() && base.bits() >= 32 && matches!(op, Add | Min2 | Max2 | BitAnd | BitOr | BitXor)
}

impl Link {
    /// The buffers that it has for itself.
    pub fn memory(&self) -> impl Iterator<Item = Var> + use<> {
        [Some(self.kept), self.own].into_iter().flatten()
    }
}

impl Kernel {
    /// Whether blocks wait for those before them.
    pub fn is_chained(&self) -> bool {
        self.body.iter().any(|s| matches!(s.kind, StmtKind::Chain { .. }))
    }
}

impl StmtKind {
    /// The blocks inside, in order of execution.
    pub fn blocks(&self) -> Vec<&Vec<Stmt>> {
        match self {
            StmtKind::For { body, .. } | StmtKind::Chain { body, .. } | StmtKind::Collective { body, .. } => {
                vec![body]
            }
            StmtKind::While { cond, body, .. } => vec![cond, body],
            StmtKind::If { then, otherwise, .. } => vec![then, otherwise],
            _ => Vec::new(),
        }
    }
}
