//! Which loops run in lanes, which are jammed, and how large the tiles of a grid are.
//!
//! A schedule is data in the IR (`lanes`, `jam`, `tile`); this module chooses it, from what a leaf reads:
//!
//! - the innermost axis of a space runs in **lanes** when the leaf is straight-line code, with loops
//!   whose bounds do not depend on the lane, and most of its reads are contiguous along that axis (column
//!   sums, transposed products, every elementwise map);
//! - else a reduction inside the leaf does, when it is contiguous along its own axis (row sums);
//! - rows that wait for themselves, as scans do, run side by side in lanes, with arrays of their own ([`super::outer_lanes`]);
//! - the axis outside the lanes is **jammed** when the loop inside reads something that does not depend
//!   on it (a matrix product: a row of the right matrix serves several rows of the left).
//!
//! A **tile** has as many points as make a grain of operations, a multiple of a round of points, so that a
//! block is worth its launch and its edges fall on whole vectors.
//!
//! The numbers that this is decided by are those of a [`crate::schedule::Schedule`].

use super::build::Emit;
use crate::ir::{is_transcendental, neutral};
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_mono::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// Threads of a GPU that run in step.
pub(crate) const WARP: i64 = 32;

/// Bytes of the widest vectors that there are; a backend splits them where its own are narrower.
const VECTOR_BYTES: u32 = 64;

/// How a GPU's block scans a tile that is kept in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ScanBlock {
    pub threads: u32,
    /// Consecutive elements of a thread.
    pub run: i64,
}

impl ScanBlock {
    /// The largest that has room for elements of so many bytes; a warp of one element each where nothing has.
    pub fn of(bytes: u32, schedule: impl Fn(Field) -> i64) -> ScanBlock {
        let (all, shared) = (schedule(Field::Threads) as u32, schedule(Field::Shared));
        let runs =
            std::iter::successors(Some(schedule(Field::ScanItems)), |run| (*run > 1).then_some(run / 2));
        let fewer =
            std::iter::successors(Some(all / 2), |n| Some(n / 2)).take_while(|n| i64::from(*n) >= WARP);
        let full = runs.map(|run| ScanBlock { threads: all, run });
        let small = fewer.map(|threads| ScanBlock { threads, run: 1 });
        let room = |b: &ScanBlock| b.tile() * i64::from(bytes) <= shared;
        full.chain(small).find(room).unwrap_or(ScanBlock { threads: WARP as u32, run: 1 })
    }

    /// How many elements a block has.
    pub fn tile(self) -> i64 {
        i64::from(self.threads) * self.run
    }
}

/// For each accumulator its own commutative operator and what it starts from, if the operator of a
/// reduction is that: then its elements may be combined in lanes.
pub(crate) fn lane_ops(op: &Combine, tys: &[BaseTy]) -> Option<Vec<(ScalarOp, Scalar)>> {
    let ops = op.component_ops()?;
    let with_neutral = |(op, ty): (ScalarOp, &BaseTy)| {
        // There are no vectors of greatest common divisors.
        (op != ScalarOp::Gcd).then(|| Some((op, neutral(op, *ty)?))).flatten()
    };
    ops.into_iter().zip(tys).map(with_neutral).collect()
}

/// What a leaf does along one of its variables.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Reads {
    /// Reads whose last index grows by one with the variable, and no other index depends on it.
    pub contiguous: usize,
    /// Reads that depend on the variable in another way.
    pub strided: usize,
    /// Reads that do not depend on it.
    pub shared: usize,
}

/// The shape of a leaf, as far as its schedule depends on it.
#[derive(Debug)]
pub(crate) struct Shape {
    /// Straight-line, with counted loops: what may run in lanes of the variable.
    pub lanes: bool,
    /// The same of a body that makes arrays: its control flow is uniform, or may be masked, so it may run in lanes if each
    /// of them has memory of its own.
    pub uniform: bool,
    /// There is a loop inside.
    pub loops: bool,
    /// … of which each iteration waits for the one before.
    pub waits: bool,
    /// There are branches that lanes take apart from one another, if only at the edges of arrays.
    pub branches: bool,
    /// … and take other than by a mask.
    pub unmasked: bool,
    /// What it reads once for each point, and what inside its loops.
    pub reads: Reads,
    pub inner: Reads,
    /// The widest type that is computed with, in bytes.
    pub widest: u32,
    pub ops: i64,
    /// The operators among those that are dozens of instructions, of a vector as of a number.
    pub functions: u32,
}

/// Looks at a leaf from the point of view of one variable around it.
///
/// Rows of up to `interleaved` elements that lie side by side are loaded together.
pub(crate) fn shape(body: &Body, var: Var, interleaved: i64, tys: &dyn Fn(Var) -> Ty) -> Shape {
    // Elements that are stored one by one where the result is: no array of the leaf's own.
    let stored = body
        .stmts
        .iter()
        .filter(|s| matches!(s.exp, Exp::Literal { .. }))
        .flat_map(|s| s.pat.iter().copied())
        .filter(|v| body.results.contains(&Atom::Var(*v)))
        .collect();
    let mut s = Scan {
        tys,
        interleaved,
        stored,
        varying: FxHashSet::from_iter([var]),
        linear: FxHashSet::from_iter([var]),
        agreeing: FxHashSet::default(),
        own: FxHashSet::default(),
        shape: Shape {
            lanes: true,
            uniform: true,
            loops: false,
            waits: false,
            branches: false,
            unmasked: false,
            reads: Reads::default(),
            inner: Reads::default(),
            widest: 1,
            ops: 0,
            functions: 0,
        },
    };
    s.body(body, false);
    s.shape
}

struct Scan<'a> {
    tys: &'a dyn Fn(Var) -> Ty,
    interleaved: i64,
    stored: FxHashSet<Var>,
    varying: FxHashSet<Var>,
    /// Varies by one from lane to lane.
    linear: FxHashSet<Var>,
    /// Is the same in all lanes but at the edges of arrays.
    agreeing: FxHashSet<Var>,
    /// Arrays that are made here, and cells of them.
    own: FxHashSet<Var>,
    shape: Shape,
}

impl Scan<'_> {
    fn varies(&self, a: Atom) -> bool {
        a.as_var().is_some_and(|v| self.varying.contains(&v))
    }

    /// Whether powers of this exponent are computed in lanes: a float's, or such as are written out.
    fn is_power_of_lanes(&self, exponent: Atom) -> bool {
        is_written_out(exponent) || exponent.as_var().is_some_and(|v| (self.tys)(v).base.is_float())
    }

    fn note(&mut self, v: Var) {
        let ty = (self.tys)(v);
        if ty.base != BaseTy::Bool {
            self.shape.widest = self.shape.widest.max(ty.base.bits() / 8);
        }
        // An array that a leaf makes has memory of its own: not one per lane.
        if !ty.is_scalar() && !self.stored.contains(&v) {
            self.shape.lanes = false;
            self.shape.uniform &= !ty.dims.iter().any(|d| self.varies(*d));
            self.own.insert(v);
        }
    }

    /// What lanes cannot do together, with or without memory of their own.
    fn refuse(&mut self) {
        self.shape.lanes = false;
        self.shape.uniform = false;
    }

    fn size(&mut self, axis: &Axis) {
        if self.varies(axis.size) {
            self.refuse();
        }
    }

    fn body(&mut self, b: &Body, inner: bool) {
        for s in &b.stmts {
            self.stmt(s, inner);
        }
        // What grows by one is a vector once it is more than an index.
        for v in b.results.iter().filter_map(|r| r.as_var()) {
            if self.linear.contains(&v) {
                self.note(v);
            }
        }
        let array = |v: Var| !(self.tys)(v).is_scalar() && !self.stored.contains(&v);
        if b.results.iter().any(|r| r.as_var().is_some_and(array)) {
            self.shape.lanes = false;
        }
    }

    fn stmt(&mut self, s: &Stmt, inner: bool) {
        self.shape.ops += 1;
        let mut varies = false;
        s.exp.for_each_operand(&mut |a| varies |= self.varies(a));
        match &s.exp {
            Exp::Index { array, at } => {
                let cell = !(self.tys)(s.pat[0]).is_scalar();
                let own = self.own.contains(array);
                // A cell of an array in scope is no memory of its own.
                if cell {
                    if own {
                        self.own.insert(s.pat[0]);
                    }
                    let depends = at.iter().any(|a| self.varies(*a)) || self.varying.contains(array);
                    if depends || own {
                        self.varying.insert(s.pat[0]);
                    }
                    return;
                }
                let last = at.last().is_some_and(|a| a.as_var().is_some_and(|v| self.linear.contains(&v)));
                let others = at.iter().rev().skip(1).any(|a| self.varies(*a)) || self.varying.contains(array);
                let beside = own && !at.iter().any(|a| self.varies(*a)) || self.is_interleaved(*array, at);
                let reads = if inner { &mut self.shape.inner } else { &mut self.shape.reads };
                match (varies, last && !others || beside) {
                    (false, _) => reads.shared += 1,
                    (true, true) => reads.contiguous += 1,
                    (true, false) => reads.strided += 1,
                }
                // What is in memory that each lane has for itself is taken to differ, even if no lane made it so.
                varies |= own;
            }
            Exp::Op(op, args) => {
                self.shape.functions += u32::from(varies && is_transcendental(*op));
                // Vectors of these have no instruction worth the name.
                let power = *op == ScalarOp::Expt && args.get(1).is_some_and(|n| self.is_power_of_lanes(*n));
                self.shape.functions += u32::from(varies && power);
                if matches!(op, ScalarOp::Expt | ScalarOp::Gcd | ScalarOp::IntToChar) && !power {
                    self.refuse();
                }
                // Nor has a division of integers, which takes longer than what lanes save; but for one that shifts.
                let shifts = |a: &Atom| a.as_int().is_some_and(|n| n > 0 && n.count_ones() == 1);
                let divides = matches!(op, ScalarOp::Quotient | ScalarOp::Modulo);
                if varies && divides && !args.get(1).is_some_and(shifts) {
                    self.shape.uniform = false;
                }
                let shifted = match (op, args.as_slice()) {
                    (ScalarOp::Add, [a, b]) => {
                        self.is_linear(*a) && !self.varies(*b) || self.is_linear(*b) && !self.varies(*a)
                    }
                    (ScalarOp::Sub, [a, b]) => self.is_linear(*a) && !self.varies(*b),
                    // An index that wraps round, or is held at an edge, is consecutive but for that place.
                    (ScalarOp::Select, [c, a, b]) => {
                        self.is_linear(*a) && self.is_linear(*b) && self.agrees(*c)
                    }
                    (ScalarOp::Min2 | ScalarOp::Max2, [a, b]) => {
                        self.is_linear(*a) && !self.varies(*b) || self.is_linear(*b) && !self.varies(*a)
                    }
                    _ => false,
                };
                if shifted {
                    self.linear.insert(s.pat[0]);
                }
                if self.is_about_edges(*op, args) {
                    self.agreeing.insert(s.pat[0]);
                }
            }
            Exp::Atom(_) | Exp::Cast(..) | Exp::Check { .. } | Exp::Literal { .. } => {}
            Exp::Reduce { axis, body, op } => {
                self.shape.loops = true;
                self.size(axis);
                // Accumulators vary if what is added does.
                self.body(body, true);
                let any = varies || body.results.iter().any(|r| self.varies(*r));
                // What is combined with them is what the body gives.
                let (accs, elems) =
                    op.lambda.params.split_at(op.lambda.body.results.len().min(op.lambda.params.len()));
                let own = elems.iter().zip(&body.results).filter(|(_, r)| self.varies(**r));
                let own: Vec<Var> = own.map(|(v, _)| *v).collect();
                self.varying.extend(own);
                if any {
                    self.varying.extend(accs);
                    varies = true;
                }
                self.body(&op.lambda.body, true);
                // And if what they are combined with does, which only the operator mentions: from its first use on.
                if !varies && op.lambda.body.results.iter().any(|r| self.varies(*r)) {
                    self.varying.extend(accs);
                    let Shape { reads, inner, ops, functions, .. } = self.shape;
                    self.body(&op.lambda.body, true);
                    self.shape = Shape { reads, inner, ops, functions, ..self.shape };
                }
                // What a loop makes is taken to vary where lanes are asked whether they agree.
                varies = true;
            }
            Exp::For { axis, state, body } => {
                self.shape.loops = true;
                self.shape.waits = true;
                self.size(axis);
                // A state may vary from the second iteration on: taken to.
                self.varying.extend(state.iter().map(|(v, _)| *v));
                varies = true;
                self.body(body, true);
            }
            Exp::While { state, cond, body } => {
                self.shape.loops = true;
                self.shape.waits = true;
                // Lanes are done with it after rounds of their own, and stay as they are from then on.
                let masked =
                    |arrays| can_predicate(cond, self.tys, arrays) && can_predicate(body, self.tys, arrays);
                self.shape.lanes &= masked(false);
                self.shape.uniform &= masked(true);
                self.varying.extend(state.iter().map(|(v, _)| *v));
                varies = true;
                self.body(cond, true);
                self.body(body, true);
            }
            Exp::Scatter { axis, body, combine, .. } => {
                self.shape.loops = true;
                self.shape.lanes = false;
                self.size(axis);
                self.body(body, true);
                if let Some(op) = combine {
                    self.varying.extend(&op.params);
                    self.body(&op.body, true);
                }
                varies = true;
            }
            Exp::If { cond, then, otherwise } => {
                // An `if` that all lanes decide alike, or all but those at an edge; or one whose branches may run for some of
                // them.
                let masked =
                    can_predicate(then, self.tys, false) && can_predicate(otherwise, self.tys, false);
                // Inside of a loop each lane asks its own index where it is, and those are as wide as any number.
                if varies && inner && self.agrees(*cond) {
                    self.shape.widest = self.shape.widest.max(BaseTy::I64.bits() / 8);
                }
                if varies && !inner && self.agrees(*cond) {
                    self.shape.branches = true;
                    self.shape.unmasked |= !masked;
                } else if varies && !masked {
                    self.refuse();
                    self.shape.branches = true;
                    self.shape.unmasked = true;
                }
                self.body(then, inner);
                self.body(otherwise, inner);
                varies |= then.results.iter().chain(&otherwise.results).any(|r| self.varies(*r));
            }
            Exp::Map { axes, body } => {
                self.shape.loops = true;
                self.shape.lanes = false;
                axes.iter().for_each(|a| self.size(a));
                self.body(body, true);
                varies = true;
            }
            Exp::Scan { axis, body, op, .. } => {
                self.shape.loops = true;
                self.shape.lanes = false;
                self.size(axis);
                self.varying.extend(&op.lambda.params);
                self.body(body, true);
                self.body(&op.lambda.body, true);
                varies = true;
            }
            Exp::View { .. } => {
                self.shape.lanes = false;
                varies = true;
            }
            _ => {
                self.refuse();
                self.shape.loops = true;
                for b in s.exp.bodies() {
                    self.body(b, true);
                }
                varies = true;
            }
        }
        for v in &s.pat {
            // What grows by one from lane to lane is no vector, nor is a number that they share.
            if !self.linear.contains(v) && (varies || !(self.tys)(*v).is_scalar()) {
                self.note(*v);
            }
            if varies {
                self.varying.insert(*v);
            }
        }
    }

    /// Whether each lane reads one element of a short row of its own, and all lanes the same one of consecutive rows.
    fn is_interleaved(&self, array: Var, at: &[Atom]) -> bool {
        let [outer @ .., row, column] = at else { return false };
        let short =
            (self.tys)(array).dims.last().and_then(|n| n.as_int()).is_some_and(|n| n <= self.interleaved);
        short
            && column.as_int().is_some()
            && self.is_linear(*row)
            && !outer.iter().any(|a| self.varies(*a))
            && !self.varying.contains(&array)
            && (self.tys)(array).dims.len() == at.len()
    }

    fn agrees(&self, a: Atom) -> bool {
        a.as_var().is_none_or(|v| self.agreeing.contains(&v) || !self.varying.contains(&v))
    }

    /// Whether an operator compares an index that grows with what all lanes share, or joins such comparisons; see
    /// [`crate::uniformity`].
    fn is_about_edges(&self, op: ScalarOp, args: &[Atom]) -> bool {
        use ScalarOp::{And, Ge, Gt, Le, Lt, Not, Or};
        match (op, args) {
            (Lt | Le | Gt | Ge, [a, b]) => {
                self.is_linear(*a) && !self.varies(*b) || self.is_linear(*b) && !self.varies(*a)
            }
            (And | Or | Not, args) => args.iter().all(|a| self.agrees(*a)),
            _ => false,
        }
    }

    fn is_linear(&self, a: Atom) -> bool {
        a.as_var().is_some_and(|v| self.linear.contains(&v))
    }
}

/// Whether a branch, or the body of a loop that lanes leave one by one, may run for some lanes of a vector: it computes
/// scalars, and `arrays` too if these are the lane's own, and divides no integers by what may be nothing in the others.
fn can_predicate(b: &Body, tys: &dyn Fn(Var) -> Ty, arrays: bool) -> bool {
    let all = |bodies: &[&Body]| bodies.iter().all(|b| can_predicate(b, tys, arrays));
    let kept = |v: Var| arrays || tys(v).is_scalar();
    b.stmts.iter().all(|s| match &s.exp {
        Exp::Index { .. } => kept(s.pat[0]),
        Exp::Op(ScalarOp::Quotient | ScalarOp::Modulo, args) => args[1].as_int().is_some_and(|n| n > 0),
        Exp::Op(..) | Exp::Atom(_) | Exp::Cast(..) | Exp::Check { .. } => true,
        Exp::If { then, otherwise, .. } => all(&[then, otherwise]),
        Exp::For { body, .. } => all(&[body]),
        Exp::While { cond, body, .. } => all(&[cond, body]),
        Exp::Reduce { body, op, .. } => all(&[body, &op.lambda.body]),
        Exp::Map { .. } | Exp::Scan { .. } | Exp::Scatter { .. } | Exp::Literal { .. } => {
            arrays && all(&s.exp.bodies())
        }
        _ => false,
    }) && b.results.iter().all(|r| r.as_var().is_none_or(kept))
}

/// Whether a power of this exponent is multiplications, or functions, in the lanes of vectors.
fn is_written_out(exponent: Atom) -> bool {
    let Atom::Const(c) = exponent else { return false };
    match (c.as_integer(), c.as_float()) {
        (Some(n), _) => n.unsigned_abs() <= 64,
        (_, Some(x)) => x.is_finite() && (x.abs() <= 64.0 || x != x.trunc()),
        _ => false,
    }
}

impl Shape {
    /// In how many lanes points run: a short body with a loop reads several vectors of a row at once; a long one has work
    /// enough in one.
    pub fn lanes_of_points(&self, schedule: impl Fn(Field) -> i64) -> u32 {
        lanes(
            self.widest,
            if self.loops && self.ops <= schedule(Field::LongBody) { schedule(Field::Points) } else { 1 },
        )
    }

    /// Whether lanes of the variable pay: its reads are contiguous, or the same for all lanes; or what is done with them is
    /// more than their price.
    pub fn pays(&self) -> bool {
        self.lanes && if self.loops { self.inner.strided == 0 } else { self.reads_pay() }
    }

    fn reads_pay(&self) -> bool {
        // A function of a vector saves more than so many reads of single elements cost, and one such read costs no more than
        // so many operators save.
        let Reads { contiguous, strided, .. } = self.reads;
        contiguous.max(8 * self.functions as usize).max(self.ops as usize / 8) >= strided
    }

    /// In how many lanes straight-line code may run along the variable, if at all: where most of its reads are contiguous.
    /// Several vectors hide the latency of the combination.
    pub fn in_lanes(&self, schedule: impl Fn(Field) -> i64) -> Option<u32> {
        (self.lanes && !self.loops && !self.unmasked && self.reads_pay())
            .then(|| vectors(self, schedule(Field::Reduced), schedule(Field::LongBody)))
    }

    /// As [`Shape::in_lanes`], for a reduction, whose body may also have loops inside: where what these read is contiguous
    /// along its variable, as in sums of the sums of columns. Those loops are serial then, and of many lanes, each round of
    /// one reads a long run of a row. Loops that wait for what they carry, or for what they read, do so for several points at
    /// once.
    pub fn reduced_in_lanes(&self, schedule: impl Fn(Field) -> i64) -> Option<u32> {
        let across = self.inner.strided + self.reads.strided;
        let loops = self.lanes && self.loops;
        if loops && across == 0 && !self.branches && self.inner.contiguous > 0 {
            return Some(vectors(self, schedule(Field::Around), schedule(Field::LongBody)));
        }
        if loops && !self.unmasked && self.waits {
            return Some(if across > 0 { lanes(self.widest, 1) } else { self.lanes_of_points(schedule) });
        }
        self.in_lanes(schedule)
    }
}

/// In how many lanes values of this size run: one vector, or several where a loop inside waits for its
/// accumulators.
pub(crate) fn lanes(widest: u32, vectors: i64) -> u32 {
    VECTOR_BYTES / widest.clamp(1, 8) * vectors as u32
}

/// How many elements an array of these dims has, if they are few enough for the stack, for `most` there.
pub(crate) fn few_elements(dims: &[crate::ir::Atom], most: i64) -> Option<i64> {
    let all = dims.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_int()?))?;
    (all <= most).then_some(all)
}

/// Whether a loop over an axis of this size is worth lanes. One of few iterations, as many as are known and no more than
/// `most`, is unrolled instead: what it makes may then live in registers.
pub(crate) fn fills_lanes(n: crate::ir::Atom, most: i64) -> bool {
    n.as_int().is_none_or(|n| n > most)
}

/// So many lanes, or as few as the iterations of a range fill, where they are known.
pub(crate) fn at_most(lanes: u32, range: crate::ir::Range) -> u32 {
    match range {
        crate::ir::Range::Upto { from, to } => match (from.as_int(), to.as_int()) {
            (Some(from), Some(to)) => {
                let n = u32::try_from(to.saturating_sub(from)).unwrap_or(0).max(1);
                lanes.min(1 << n.ilog2())
            }
            _ => lanes,
        },
        _ => lanes,
    }
}

/// The lanes of so many vectors, or of one where a body has enough to do.
fn vectors(s: &Shape, count: i64, long: i64) -> u32 {
    lanes(s.widest, if s.ops > long { 1 } else { count })
}

/// An estimate of the operations of a body: a number, times the sizes of the loops inside that are known
/// before the launch.
pub(crate) fn cost(body: &Body, size_of: &mut dyn FnMut(Atom) -> Option<crate::ir::Atom>) -> Cost {
    let mut c = Cost { ops: 1, sizes: Vec::new() };
    // Of the size of the last tile, that of all others.
    let mut most: FxHashMap<Var, Atom> = FxHashMap::default();
    for s in &body.stmts {
        c.ops += 1;
        let axes: Vec<Atom> = match &s.exp {
            Exp::Map { axes, .. } => axes.iter().map(|a| a.size).collect(),
            Exp::Reduce { axis, .. }
            | Exp::Scan { axis, .. }
            | Exp::For { axis, .. }
            | Exp::Filter { axis, .. }
            | Exp::Grade { axis, .. }
            | Exp::Scatter { axis, .. } => vec![axis.size],
            _ => Vec::new(),
        };
        let mut inner = Cost { ops: 0, sizes: Vec::new() };
        for b in s.exp.bodies() {
            inner = inner.max(cost(b, size_of));
        }
        if let (Exp::Op(ScalarOp::Min2, args), [v]) = (&s.exp, s.pat.as_slice())
            && let Some(bound) = args.iter().find(|a| a.as_int().is_some() || size_of(**a).is_some())
        {
            most.insert(*v, *bound);
        }
        for a in axes {
            let a = a.as_var().and_then(|v| most.get(&v)).copied().unwrap_or(a);
            match a.as_int() {
                Some(n) => inner.ops = inner.ops.saturating_mul(n.max(1)),
                None => match size_of(a) {
                    Some(n) => inner.sizes.push(n),
                    None => inner.ops = inner.ops.saturating_mul(16),
                },
            }
        }
        c = c.max(inner);
    }
    c
}

/// `ops` times the product of `sizes`.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    pub ops: i64,
    pub sizes: Vec<crate::ir::Atom>,
}

impl Cost {
    /// The part with more loops counts; of two with as many, the sum of the operations.
    fn max(self, other: Cost) -> Cost {
        use std::cmp::Ordering::*;
        match self.sizes.len().cmp(&other.sizes.len()) {
            Less => other,
            Greater => self,
            Equal => Cost { ops: self.ops.saturating_add(other.ops), sizes: self.sizes },
        }
    }
}

/// How many points of this cost make a block: at least one. Emits size arithmetic of the plan.
pub(crate) fn points<E: Emit>(e: &mut E, cost: &Cost) -> super::L<crate::ir::Atom> {
    use crate::ir::Atom as A;
    let grain = e.grain();
    let mut all = A::int(cost.ops.clamp(1, grain));
    for s in &cost.sizes {
        // A size is cut off, so that the product stays far from overflow.
        let s = e.int(ScalarOp::Min2, *s, A::int(grain))?;
        let s = e.int(ScalarOp::Max2, s, A::int(1))?;
        all = e.int(ScalarOp::Mul, all, s)?;
        all = e.int(ScalarOp::Min2, all, A::int(grain))?;
    }
    let n = e.int(ScalarOp::Quotient, A::int(grain), all)?;
    e.int(ScalarOp::Max2, n, A::int(1))
}

/// The number rounded up to a multiple of a field.
pub(crate) fn round<E: Emit>(e: &mut E, n: crate::ir::Atom, of: Field) -> super::L<crate::ir::Atom> {
    let of = e.number(of);
    round_to(e, n, of)
}

/// … and of a number.
pub(crate) fn round_to<E: Emit>(e: &mut E, n: crate::ir::Atom, of: i64) -> super::L<crate::ir::Atom> {
    use crate::ir::Atom as A;
    let up = e.int(ScalarOp::Add, n, A::int(of - 1))?;
    let q = e.int(ScalarOp::Quotient, up, A::int(of))?;
    e.int(ScalarOp::Mul, q, A::int(of))
}

#[cfg(test)]
mod tests {
    use super::{ScanBlock, cost};
    use crate::schedule::{Field, Schedule};
    use remc_mono::parse::parse_program;

    /// The operations of the program's body, whose sizes nobody knows.
    fn operations(size: &str) -> i64 {
        let text = format!(
            "(mono 1 (name \"main\") (provs (p0 \"main\" 0 1)) (types) (params (%n.0 int)) (inputs) (output 0)
               (body
                 (let ((%size.1 int)) {size} p0)
                 (let ((%sum.2 int))
                   (reduce (%i.3 %size.1)
                     (give %i.3)
                     (assoc ((%l.4 int) (%r.5 int)) (start 0)
                       (let ((%t.6 int)) (op + %l.4 %r.5) p0)
                       (give %t.6))) p0)
                 (give %sum.2)))"
        );
        let p = parse_program(&text).unwrap_or_else(|e| panic!("{e}"));
        cost(&p.body, &mut |_| None).ops
    }

    #[test]
    fn the_last_tile_costs_what_others_do() {
        let tile = operations("(op min2 %n.0 128)");
        assert_eq!(tile, operations("(op min2 128 %n.0)"));
        assert!(tile > 128, "{tile}");
        let unknown = operations("(op max2 %n.0 128)");
        assert!(unknown < 128, "{unknown}");
    }

    #[test]
    fn a_scan_has_room_for_its_tile() {
        let of = |bytes| ScanBlock::of(bytes, |f| Schedule::default()[f]);
        assert_eq!(of(8), ScanBlock { threads: 256, run: 8 });
        assert_eq!(of(17), ScanBlock { threads: 256, run: 4 });
        assert_eq!(of(64), ScanBlock { threads: 256, run: 2 });
        assert_eq!(of(129), ScanBlock { threads: 128, run: 1 });
        let small = Schedule::default().with(Field::Threads, 32).with(Field::Shared, 1024);
        assert_eq!(ScanBlock::of(64, |f| small[f]), ScanBlock { threads: 32, run: 1 });
        for bytes in 1..1024 {
            assert!(of(bytes).tile() * i64::from(bytes) <= Schedule::default()[Field::Shared], "{bytes}");
        }
    }
}
