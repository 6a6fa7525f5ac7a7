//! The race checker: no two iterations that may run at the same time touch one place, unless both only
//! read.
//!
//! The *parallel variables* of a kernel are those of its grid and of its `lanes`, `scan` and `jam` loops. Two
//! values of one of them stand for two iterations that may run at the same time; what each of them may
//! touch is found from the indices alone, by *ownership*. An index is owned
//!
//! - by a variable that it is;
//! - by what owns `a`, where it is `(op - a x)` and `x` the same for all values of the owner;
//! - by what owns `a`, where it is `(op + a x)` or `(op + x a)`, with the same `x` for all values of the owner;
//! - by what owns `i`, where it is `(op + s x)`, `s` is `(load %starts i)`, and the kernel says that `%starts` are where the
//!   rows of the buffer begin;
//! - by what owns `i`, where it is `(load %which i)`, and the kernel says that no two items of `%which` are alike;
//! - by what owns `b`, where it is the variable of a loop over `(tile b size limit)`: tiles of one size
//!   have no index in common. The size must be the same for all values of the owner.
//!
//! A buffer that is written somewhere in the extent of a parallel variable (the whole kernel for the
//! grid, the body of its loop for the others) needs one position at which every access in that extent is
//! owned by the variable, through tiles of the same sizes. What is before or after a loop in the same
//! block is ordered with it, and no part of this.
//!
//! ```text
//! (kernel … (grid (%b nb)) … (for (lanes 8) %i (tile %b 64 %n) ()
//!                               (let %x (load %xs %i)) (store %ys (%i) %x)))      owned by %i and by %b
//! … (store %ys (0) %x)                                                           by neither: a race
//! … (let %j (op * %i 2)) (store %ys (%j) %x)                                     by neither: refused
//! ```
//!
//! An index `x` and another one that is `(op - 1 x)` are never the same, so that accesses of which some have the one at a
//! position and the others the other one are of two halves, each of which is looked at alone.
//!
//! The last one has no race; the rule is about what can be seen in the indices. It follows Syntactic
//! Control of Interference (Reynolds, POPL 1978) and its use for data-parallel code, DPIA (Atkey,
//! Steuwer, Lindley and Dubach, 2017), where an iteration gets its part of an array as an acceptor of its
//! own.
//!
//! The threads of a block are a parallel variable as well, whose iterations may use what others have written
//! once they have met: accesses with a `barrier` between them on every way are ordered, so that ownership
//! is asked for of those that have none, a *phase*, alone. In an `if` on what they have in common ([`common`]) all threads
//! take the same branch, so that a barrier in it counts. What is in an `if` on `(op = t 0)` is done by one
//! thread. The indices of a point are owned together, by whoever owns the point's number; and so are indices
//! each of which is owned by one of them. `(op + (op * b c) k)`, with `k` from 0 up to `c`, is of tile `b`; and
//! so are the numbers from `(op max2 x (op * b c))` up to `(op min2 y (op + (op * b c) c))`.
//!
//! Where all accesses are an `update` by one operator, none has to be owned: their order does not matter.
//!
//! Three kinds of memory differ: a `Scratch` buffer has a part for each worker, so that every access
//! names `worker` first and blocks need not own it; a `Private` buffer allocated in the extent of a
//! variable is another one for each of its values, and so is a `Shared` one for each block; and two parameters that a launch gives the same
//! memory must both be only read, or be slices with no row in common: `(slice %a %c 0)`, which has `n` rows, and
//! `(slice %b %c n)`. The memory of a `chain` is touched by that statement alone. Values carried by a `lanes` loop are reductions, those
//! by a `scan` prefixes, which [`crate::verify`] checks.

mod common;
mod kept;
mod launches;
mod report;

use crate::ir::*;
use crate::print;
use remc_base::Prov;
use remc_base::ops::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};
use std::fmt;

/// What may go wrong when the program's kernels run.
#[derive(Clone, PartialEq, Debug)]
pub struct Race {
    pub kernel: KernelId,
    /// The buffer, as the kernel names it.
    pub buffer: Var,
    /// Where the second of the two accesses is; of a launch, where it is.
    pub prov: Prov,
    pub message: String,
}

impl fmt::Display for Race {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Race {}

/// Checks every kernel, and that no launch gives one of them the same memory twice to write in.
///
/// # Errors
/// The first two accesses that are not provably apart.
pub fn check(p: &Program) -> Result<(), Race> {
    for (id, kernel) in p.kernels.iter() {
        Checker::new(p, id, kernel).check()?;
    }
    launches::launches(p)
}

/// The buffers that each kernel writes, as it names them.
pub fn written(p: &Program) -> Vec<FxHashSet<Var>> {
    let kernels = p.kernels.iter();
    kernels
        .map(|(_, k)| {
            let mut out = FxHashSet::default();
            stores(&k.body, &mut out);
            out
        })
        .collect()
}

fn stores(block: &[Stmt], out: &mut FxHashSet<Var>) {
    for s in block {
        match &s.kind {
            StmtKind::Store { buffer, .. } | StmtKind::Update { buffer, .. } => {
                out.insert(*buffer);
            }
            StmtKind::Chain { state, links, .. } => out.extend(handed_on(*state, links)),
            _ => {}
        }
        s.kind.blocks().into_iter().for_each(|b| stores(b, out));
    }
}

/// The memory of a chain.
fn handed_on(state: Var, links: &[Link]) -> impl Iterator<Item = Var> + '_ {
    links.iter().flat_map(Link::memory).chain([state])
}

fn name_of(id: KernelId, kernel: &Kernel) -> String {
    format!("{id:?} {:?}", kernel.name.as_str())
}

/// One load or store.
struct Access<'p> {
    buffer: Var,
    at: &'p [Atom],
    write: bool,
    prov: Prov,
    /// The parallel loops around it, as positions in [`Checker::parallel`], outermost first.
    around: Vec<usize>,
    /// How many times the threads have met before.
    phase: usize,
    /// The thread that does it, where it is one.
    single: Option<i64>,
    /// The conditions that hold where it is.
    given: Vec<Var>,
    /// Of an update its operator.
    update: Option<ScalarOp>,
}

/// The indices of a point.
struct Point<'p> {
    vars: &'p [Var],
    index: Atom,
    dims: &'p [Atom],
}

/// A parallel variable, and what its iterations have of their own.
struct Parallel {
    var: Var,
    /// In words.
    what: String,
    /// The scalars that are known before its iterations differ; of the grid those of the whole kernel.
    fixed: FxHashSet<Var>,
    /// The buffers allocated in its extent.
    own: FxHashSet<Var>,
}

struct Checker<'p> {
    p: &'p Program,
    id: KernelId,
    kernel: &'p Kernel,
    /// The grid's variables come first.
    parallel: Vec<Parallel>,
    accesses: Vec<Access<'p>>,
    /// The memory of chains, and where they are.
    chained: Vec<(Var, Prov)>,
    /// What a loop over a tile belongs to: the tile's index and size.
    tiles: FxHashMap<Var, (Atom, Atom)>,
    /// Of a loop over a thread's share of a tile also the thread, and how many there are.
    shares: FxHashMap<Var, (Atom, Atom)>,
    points: Vec<Point<'p>>,
    /// Differences `a - x`.
    shifted: FxHashMap<Var, (Var, Atom)>,
    /// Differences `1 - x`.
    complements: FxHashMap<Var, Atom>,
    /// What operators compute of what; sums alone.
    operands: FxHashMap<Var, &'p [Atom]>,
    sums: FxHashMap<Var, (Atom, Atom)>,
    /// Starts of rows, of the vector that they are read from and the row; and sums of such with a place in the row.
    starts: FxHashMap<Var, (Var, Atom)>,
    in_rows: FxHashMap<Var, (Var, Atom)>,
    /// Items of vectors that are all different: the vector, and at which place.
    picked: FxHashMap<Var, (Var, Atom)>,
    /// Products `b · c`, and the variables of loops below a constant.
    products: FxHashMap<Var, (Atom, i64)>,
    below: FxHashMap<Var, i64>,
    /// The same of sizes that the kernel is given or reads.
    spans: FxHashMap<Var, (Atom, Var)>,
    within: FxHashMap<Var, Var>,
    /// The ends of tiles; and what is at least the first of a tile, at most the end of one.
    ends: FxHashMap<Var, (Atom, i64)>,
    at_least: FxHashMap<Var, (Atom, i64)>,
    at_most: FxHashMap<Var, (Atom, i64)>,
    /// Conditions that hold for one thread, by its number.
    one: FxHashMap<Var, i64>,
    single: Option<i64>,
    given: Vec<Var>,
    kept: kept::Kept,
    /// What the threads of a block have in common.
    common: FxHashSet<Var>,
    phase: usize,
    /// Phases between which there may be no barrier, as the lowest one of each group.
    phases: Vec<usize>,
    /// Variables that are another name of an atom.
    copies: FxHashMap<Var, Atom>,
    /// The scalars that are the same in all blocks, as far as can be seen, and those bound so far.
    uniform: FxHashSet<Var>,
    bound: FxHashSet<Var>,
}

impl<'p> Checker<'p> {
    fn new(p: &'p Program, id: KernelId, kernel: &'p Kernel) -> Self {
        Checker {
            p,
            id,
            kernel,
            parallel: Vec::new(),
            accesses: Vec::new(),
            chained: Vec::new(),
            tiles: FxHashMap::default(),
            shares: FxHashMap::default(),
            points: Vec::new(),
            shifted: FxHashMap::default(),
            complements: FxHashMap::default(),
            operands: FxHashMap::default(),
            sums: FxHashMap::default(),
            starts: FxHashMap::default(),
            in_rows: FxHashMap::default(),
            picked: FxHashMap::default(),
            products: FxHashMap::default(),
            below: FxHashMap::default(),
            spans: FxHashMap::default(),
            within: FxHashMap::default(),
            ends: FxHashMap::default(),
            at_least: FxHashMap::default(),
            at_most: FxHashMap::default(),
            one: FxHashMap::default(),
            single: None,
            given: Vec::new(),
            kept: kept::Kept::of(kernel),
            common: common::of_block(kernel),
            phase: 0,
            phases: vec![0],
            copies: FxHashMap::default(),
            uniform: kernel.params.iter().copied().collect(),
            bound: kernel.params.iter().copied().collect(),
        }
    }

    fn check(mut self) -> Result<(), Race> {
        for (var, _) in &self.kernel.grid {
            let what = "blocks".to_owned();
            let (fixed, own) = Default::default();
            self.parallel.push(Parallel { var: *var, what, fixed, own });
        }
        if let Some((var, _)) = self.kernel.threads {
            let (fixed, own) = Default::default();
            self.parallel.push(Parallel { var, what: "threads".to_owned(), fixed, own });
        }
        let kernel = self.kernel;
        self.block(&kernel.body, &mut Vec::new());
        for k in 0..self.outer() {
            self.parallel[k].fixed = self.uniform.clone();
        }
        if kernel.threads.is_some() {
            let common = self.common.iter().copied();
            self.parallel[kernel.grid.len()].fixed.extend(common);
        }
        self.scratch()?;
        self.chains()?;
        (0..self.parallel.len()).try_for_each(|k| self.variable(k))
    }

    /// Collects accesses and what is known of variables.
    fn block(&mut self, block: &'p [Stmt], around: &mut Vec<usize>) {
        for s in block {
            match &s.kind {
                StmtKind::Let { var, exp } => {
                    self.bound.insert(*var);
                    self.exp(*var, exp, s.prov, around);
                }
                StmtKind::Store { buffer, at, .. } => self.access(*buffer, at, true, s.prov, around),
                StmtKind::Update { op, buffer, at, .. } => {
                    self.access(*buffer, at, true, s.prov, around);
                    self.accesses.last_mut().into_iter().for_each(|a| a.update = Some(*op));
                }
                StmtKind::For { how, var, range, body, carried, .. } => {
                    let parallel = how.is_parallel().then(|| self.enter(*how, *var, around));
                    self.bound.insert(*var);
                    self.bound.extend(carried.iter().map(|c| c.param));
                    match range {
                        Range::Upto { from, to } => {
                            match (from.as_int(), to.as_int(), self.origin(*to)) {
                                (Some(0), Some(n), _) => _ = self.below.insert(*var, n),
                                (Some(0), None, Atom::Var(n)) => _ = self.within.insert(*var, n),
                                _ => {}
                            }
                            if let Some(tile) = self.tile_between(*from, *to) {
                                self.tiles.insert(*var, tile);
                            }
                        }
                        Range::Tile { index, size, .. } => {
                            self.tiles.insert(*var, (*index, *size));
                        }
                        Range::Share { thread, threads, index, size, .. } => {
                            self.tiles.insert(*var, (*index, *size));
                            self.shares.insert(*var, (*thread, *threads));
                        }
                    }
                    let before = self.phase;
                    self.block(body, around);
                    self.same_phase(before, self.phase);
                    self.bound.extend(carried.iter().map(|c| c.result));
                    if parallel.is_some() {
                        around.pop();
                    }
                }
                StmtKind::While { carried, cond, body, .. } => {
                    self.bound.extend(carried.iter().flat_map(|c| [c.param, c.result]));
                    let before = self.phase;
                    self.block(cond, around);
                    self.block(body, around);
                    self.same_phase(before, self.phase);
                }
                StmtKind::If { cond, then, otherwise, results } => {
                    let before = self.phase;
                    let outer = self.single;
                    self.single = cond.as_var().and_then(|v| self.one.get(&v).copied()).or(outer);
                    self.given.extend(cond.as_var());
                    self.block(then, around);
                    self.given.truncate(self.given.len() - usize::from(cond.as_var().is_some()));
                    self.single = outer;
                    if cond.as_var().is_none_or(|v| self.common.contains(&v)) {
                        // All threads are in one branch, where they meet. Each begins where the other one does, and what
                        // follows comes after either.
                        let end = self.phase;
                        self.meet();
                        self.same_phase(before, self.phase);
                        self.block(otherwise, around);
                        self.same_phase(end, self.phase);
                    } else {
                        self.block(otherwise, around);
                        (before..=self.phase).for_each(|k| self.same_phase(before, k));
                    }
                    self.bound.extend(results.iter().map(|c| c.var));
                }
                StmtKind::Chain { state, links, body, .. } => {
                    self.chained.extend(handed_on(*state, links).map(|v| (v, s.prov)));
                    self.bound.extend(links.iter().flat_map(|l| [l.before, l.x]));
                    self.meet();
                    self.block(body, around);
                    self.meet();
                }
                StmtKind::Points { vars, index, dims } => {
                    self.points.push(Point { vars, index: *index, dims });
                    self.bound.extend(vars);
                }
                StmtKind::Barrier => self.meet(),
                StmtKind::Collective { joined, body, .. } => {
                    self.bound.extend(joined.iter().flat_map(|j| [j.x, j.y, j.total]));
                    self.bound.extend(joined.iter().filter_map(|j| j.before));
                    self.meet();
                    self.block(body, around);
                    self.meet();
                }
                StmtKind::Alloc { buffer } => {
                    let shared = self.p.buffer_ty(*buffer).is_some_and(|t| t.space == Space::Shared);
                    let grid = 0..if shared { self.kernel.grid.len() } else { self.outer() };
                    for k in grid.chain(around.iter().copied()) {
                        self.parallel[k].own.insert(*buffer);
                    }
                }
                // What only the plan has is the verifier's to refuse.
                StmtKind::Check { .. }
                | StmtKind::Free { .. }
                | StmtKind::Alias { .. }
                | StmtKind::Slice { .. }
                | StmtKind::Launch { .. }
                | StmtKind::Sort { .. }
                | StmtKind::Pull { .. }
                | StmtKind::Push { .. } => {}
            }
        }
    }

    fn enter(&mut self, how: How, var: Var, around: &mut Vec<usize>) {
        let what = match how {
            How::Jam(_) => "jammed iterations",
            How::Scan(_) => "scanned iterations",
            _ => "lanes",
        };
        around.push(self.parallel.len());
        let (fixed, own) = (self.bound.clone(), FxHashSet::default());
        self.parallel.push(Parallel { var, what: what.to_owned(), fixed, own });
    }

    fn exp(&mut self, var: Var, exp: &'p Exp, prov: Prov, around: &[usize]) {
        if let Exp::Op(op, args) = exp {
            self.operands.insert(var, args);
            self.number_in_tile(var, *op, args);
        }
        let uniform = |a: &Atom| a.as_var().is_none_or(|v| self.uniform.contains(&v));
        match exp {
            Exp::Load { buffer, at } => {
                if let ([i], true) = (at.as_slice(), self.kernel.rows.iter().any(|(_, s)| s == buffer)) {
                    self.starts.insert(var, (*buffer, *i));
                }
                if let ([i], true) = (at.as_slice(), self.kernel.distinct.contains(buffer)) {
                    self.picked.insert(var, (*buffer, *i));
                }
                self.access(*buffer, at, false, prov, around);
            }
            Exp::Atom(a) => {
                self.copies.insert(var, *a);
                if uniform(a) {
                    self.uniform.insert(var);
                }
            }
            Exp::Op(op, args) => {
                if let (remc_base::ops::ScalarOp::Eq, [a, n @ Atom::Const(_)], Some((thread, _))) =
                    (op, args.as_slice(), self.kernel.threads)
                    && self.origin(*a) == Atom::Var(thread)
                    && let Some(n) = n.as_int()
                {
                    self.one.insert(var, n);
                }
                if args.iter().all(uniform) {
                    self.uniform.insert(var);
                }
            }
            Exp::Cast(_, a) | Exp::Bits(a) => {
                if uniform(a) {
                    self.uniform.insert(var);
                }
            }
            Exp::Workers | Exp::Test(_) => {}
        }
    }

    fn access(&mut self, buffer: Var, at: &'p [Atom], write: bool, prov: Prov, around: &[usize]) {
        let (phase, single) = (self.phase, self.single);
        let (around, given) = (around.to_vec(), self.given.clone());
        self.accesses.push(Access { buffer, at, write, prov, around, phase, single, given, update: None });
    }

    /// Notes products and differences, and sums that are a number of a tile.
    fn number_in_tile(&mut self, var: Var, op: remc_base::ops::ScalarOp, args: &[Atom]) {
        use remc_base::ops::ScalarOp;
        if let (ScalarOp::Add, [a, b]) = (op, args) {
            self.sums.insert(var, (*a, *b));
        }
        if op == ScalarOp::Add
            && let Some(row) = args.iter().find_map(|a| self.starts.get(&a.as_var()?))
        {
            self.in_rows.insert(var, *row);
        }
        match (op, args) {
            (ScalarOp::Mul, [b, size]) => {
                if let Some(size) = size.as_int().filter(|n| *n > 0) {
                    // It is the first of the tile.
                    self.products.insert(var, (*b, size));
                    self.tiles.insert(var, (*b, Atom::int(size)));
                }
                if let Atom::Var(size) = self.origin(*size) {
                    self.spans.insert(var, (*b, size));
                }
            }
            // Where there is a number below the size, it is not 0.
            (ScalarOp::Add, [Atom::Var(base), Atom::Var(k)])
                if let Some((b, size)) = self.spans.get(base).copied()
                    && self.within.get(k) == Some(&size) =>
            {
                self.tiles.insert(var, (b, size.into()));
            }
            (ScalarOp::Add, [Atom::Var(base), k]) => {
                let Some((b, size)) = self.products.get(base).copied() else { return };
                let below = match k {
                    Atom::Const(_) => k.as_int().is_some_and(|k| (0..size).contains(&k)),
                    Atom::Var(k) => self.below.get(k).is_some_and(|n| *n <= size),
                };
                if below {
                    self.tiles.insert(var, (b, Atom::int(size)));
                }
                if k.as_int() == Some(size) {
                    self.ends.insert(var, (b, size));
                }
            }
            (ScalarOp::Sub, [Atom::Var(a), x]) => {
                self.shifted.insert(var, (*a, *x));
            }
            (ScalarOp::Sub, [one, x]) if one.as_int() == Some(1) => {
                self.complements.insert(var, *x);
            }
            (ScalarOp::Max2, args) => {
                let first = args.iter().find_map(|a| self.products.get(&a.as_var()?));
                self.at_least.extend(first.map(|tile| (var, *tile)));
            }
            (ScalarOp::Min2, args) => {
                let end = args.iter().find_map(|a| self.ends.get(&a.as_var()?));
                self.at_most.extend(end.map(|tile| (var, *tile)));
            }
            _ => {}
        }
    }

    /// The tile that all numbers from one number to another are in.
    fn tile_between(&self, from: Atom, to: Atom) -> Option<(Atom, Atom)> {
        let (b, size) = self.at_least.get(&from.as_var()?)?;
        let same = self.at_most.get(&to.as_var()?) == Some(&(*b, *size));
        same.then_some((*b, Atom::int(*size)))
    }

    /// The parallel variables around the whole body: the grid's, and that of the threads.
    fn outer(&self) -> usize {
        self.kernel.grid.len() + usize::from(self.kernel.threads.is_some())
    }

    // ---- phases ----

    fn meet(&mut self) {
        self.phase = self.phases.len();
        self.phases.push(self.phase);
    }

    fn group(&self, phase: usize) -> usize {
        self.phases.get(phase).copied().unwrap_or(phase)
    }

    fn same_phase(&mut self, a: usize, b: usize) {
        let (a, b) = (self.group(a), self.group(b));
        let (low, high) = (a.min(b), a.max(b));
        self.phases.iter_mut().filter(|p| **p == high).for_each(|p| *p = low);
    }

    // ---- ownership ----

    /// What a variable is another name of.
    fn origin(&self, mut a: Atom) -> Atom {
        // A copy is bound after what it copies; the bound is for programs where that is not so.
        for _ in 0..=self.copies.len() {
            match a.as_var().and_then(|v| self.copies.get(&v)) {
                Some(b) => a = *b,
                None => break,
            }
        }
        a
    }

    /// How many values a variable has at most: that of the threads, or an index of a point.
    fn extent(&self, v: Var) -> Option<i64> {
        if let Some((thread, n)) = self.kernel.threads
            && thread == v
        {
            return Some(i64::from(n));
        }
        let dims = |p: &Point<'_>| p.vars.iter().position(|x| *x == v).and_then(|k| p.dims.get(k).copied());
        self.points.iter().find_map(dims).and_then(|d| self.origin(d).as_int())
    }

    /// Whether an atom is the same for all values of a parallel variable: known before, or computed of what is.
    fn is_fixed(&self, a: Atom, owner: &Parallel) -> bool {
        let mut todo = vec![self.origin(a)];
        for _ in 0..=self.operands.len() {
            match todo.pop() {
                None => return true,
                Some(Atom::Const(_)) => {}
                Some(Atom::Var(v)) if owner.fixed.contains(&v) => {}
                Some(Atom::Var(v)) => match self.operands.get(&v) {
                    Some(args) => todo.extend(args.iter().map(|a| self.origin(*a))),
                    None => return false,
                },
            }
        }
        false
    }

    /// The sizes of the tiles through which `owner` owns the index, the outermost last; `None` if it
    /// does not.
    fn owned(&self, a: Atom, owner: &Parallel) -> Option<Vec<Atom>> {
        self.owned_through(a, owner, self.tiles.len() + self.shifted.len() + self.sums.len())
    }

    /// … through as many tiles, differences and sums as `most`.
    fn owned_through(&self, a: Atom, owner: &Parallel, most: usize) -> Option<Vec<Atom>> {
        let Atom::Var(v) = self.origin(a) else { return None };
        if v == owner.var {
            return Some(Vec::new());
        }
        let most = most.checked_sub(1)?;
        let through = |how: &[Atom], a: Atom| {
            let outer = self.owned_through(a, owner, most)?;
            Some(how.iter().map(|a| self.origin(*a)).chain(outer).collect())
        };
        if let Some((a, x)) = self.shifted.get(&v) {
            if self.origin(*x).as_var().is_some_and(|x| !owner.fixed.contains(&x)) {
                return None;
            }
            // No size of a tile: that is how the two differ.
            return through(&[Atom::int(-1), *x], Atom::Var(*a));
        }
        if let Some((which, i)) = self.picked.get(&v) {
            let written = self.accesses.iter().any(|a| a.write && a.buffer == *which);
            return if written { None } else { through(&[Atom::int(-3), Atom::Var(*which)], *i) };
        }
        if let Some((thread, threads)) = self.shares.get(&v)
            && self.origin(*thread) == Atom::Var(owner.var)
        {
            // More threads than shares would have some of them twice.
            if self.extent(owner.var)? > self.origin(*threads).as_int()? {
                return None;
            }
            let (index, size) = self.tiles.get(&v)?;
            return Some([*threads, *index, *size].map(|a| self.origin(a)).to_vec());
        }
        if let Some((index, size)) = self.tiles.get(&v)
            && self.origin(*size).as_var().is_none_or(|s| owner.fixed.contains(&s))
            && let Some(sizes) = through(&[*size], *index)
        {
            return Some(sizes);
        }
        let (a, b) = self.sums.get(&v)?;
        match (self.is_fixed(*a, owner), self.is_fixed(*b, owner)) {
            (false, true) => through(&[Atom::int(-2), *b], *a),
            (true, false) => through(&[Atom::int(-2), *a], *b),
            _ => None,
        }
    }

    /// The positions at which `owner` owns all of these accesses alike.
    fn common(&self, accesses: &[&Access], owner: &Parallel) -> bool {
        let Some(first) = accesses.first() else { return true };
        self.common_point(accesses, owner)
            || self.common_row(accesses, owner)
            || self.common_count(accesses, owner)
            || (0..first.at.len()).any(|k| {
                let sizes = self.owned(first.at[k], owner);
                sizes.is_some()
                    && accesses.iter().all(|a| a.at.get(k).and_then(|i| self.owned(*i, owner)) == sizes)
            })
    }

    /// Whether the accesses are of two halves, by an index that is the same for all values of `owner`, and those of each half
    /// are all reads, or owned alike.
    fn halves(&self, accesses: &[&Access], owner: &Parallel) -> bool {
        let Some(first) = accesses.first() else { return true };
        let is_other = |a: Atom, b: Atom| {
            let operands = a.as_var().and_then(|v| self.complements.get(&v));
            operands.is_some_and(|x| self.origin(*x) == b)
        };
        (0..first.at.len()).any(|k| {
            let half = self.origin(first.at[k]);
            if !self.is_fixed(half, owner) {
                return false;
            }
            let place = |a: &&Access| a.at.get(k).map(|i| self.origin(*i));
            let (here, others): (Vec<&Access>, Vec<&Access>) =
                accesses.iter().copied().partition(|a| place(a) == Some(half));
            let apart = |a: &Access| place(&a).is_some_and(|i| is_other(i, half) || is_other(half, i));
            !others.is_empty()
                && others.iter().all(|a| apart(a))
                && [here, others].iter().all(|half| !half.iter().any(|a| a.write) || self.common(half, owner))
        })
    }

    /// Whether all are of rows that `owner` owns, or of places in one row that it owns.
    fn common_row(&self, accesses: &[&Access], owner: &Parallel) -> bool {
        let found = |a: &Access| {
            let v = self.origin(*a.at.first()?).as_var()?;
            let (starts, i) = self.in_rows.get(&v).or_else(|| self.starts.get(&v))?;
            let written = self.accesses.iter().any(|a| a.write && a.buffer == *starts);
            (self.kernel.rows.contains(&(a.buffer, *starts)) && !written)
                .then_some((*starts, self.owned(*i, owner)?))
        };
        let first = accesses.first().and_then(|a| found(a));
        first.is_some() && accesses.iter().all(|a| found(a) == first)
    }

    /// Whether all are of places that the threads share out by counting, at the same position.
    fn common_count(&self, accesses: &[&Access], owner: &Parallel) -> bool {
        let threads = self.kernel.threads.is_some_and(|(thread, _)| thread == owner.var);
        let found = |a: &Access| {
            let place = |(k, i): (usize, &Atom)| Some((k, self.kept.place(i.as_var()?, &a.given)?));
            a.at.iter().enumerate().find_map(place)
        };
        let first = accesses.first().filter(|_| threads).and_then(|a| found(a));
        first.is_some() && accesses.iter().all(|a| found(a) == first)
    }

    /// Whether all mention the indices of a point that `owner` owns, at the same positions.
    fn common_point(&self, accesses: &[&Access], owner: &Parallel) -> bool {
        // The positions of a point's indices in an access, which point it is, and how it is owned.
        let found = |a: &Access| {
            self.points.iter().find_map(|p| {
                // An index that one of the point's owns, and through tiles of which sizes.
                let position = |v: &Var| {
                    let (fixed, own) = (owner.fixed.clone(), FxHashSet::default());
                    let part = Parallel { var: *v, what: String::new(), fixed, own };
                    a.at.iter().enumerate().find_map(|(k, i)| Some((k, self.owned(*i, &part)?)))
                };
                let at: Vec<(usize, Vec<Atom>)> = p.vars.iter().map(position).collect::<Option<_>>()?;
                let dims: Vec<Atom> = p.dims.iter().map(|d| self.origin(*d)).collect();
                Some((at, dims, self.owned(p.index, owner)?))
            })
        };
        let first = accesses.first().and_then(|a| found(a));
        first.is_some() && accesses.iter().all(|a| found(a) == first)
    }

    fn variable(&self, k: usize) -> Result<(), Race> {
        // There is one block along this axis.
        if self.kernel.grid.get(k).is_some_and(|(_, n)| n.as_int() == Some(1)) {
            return Ok(());
        }
        let owner = &self.parallel[k];
        let threads = k == self.kernel.grid.len() && self.kernel.threads.is_some();
        let in_extent = |a: &&Access| k < self.outer() || a.around.contains(&k);
        // Of threads by phase, too.
        let mut by_buffer: FxHashMap<(Var, usize), Vec<&Access>> = FxHashMap::default();
        let mut written = Vec::new();
        for a in self.accesses.iter().filter(in_extent) {
            let key = (a.buffer, if threads { self.group(a.phase) } else { 0 });
            by_buffer.entry(key).or_default().push(a);
            if a.write && !written.contains(&key) {
                written.push(key);
            }
        }
        for key in written {
            let buffer = key.0;
            let space = self.p.buffer_ty(buffer).map(|t| t.space);
            let apart = k < self.outer() && space == Some(Space::Scratch);
            let accesses = &by_buffer[&key];
            // What one thread does it does in order.
            let one = accesses[0].single.filter(|_| threads);
            let op = accesses[0].update;
            let updated = op.is_some() && accesses.iter().all(|a| a.update == op);
            let apart = updated || apart || one.is_some() && accesses.iter().all(|a| a.single == one);
            if !apart
                && !owner.own.contains(&buffer)
                && !self.common(accesses, owner)
                && !self.halves(accesses, owner)
            {
                return Err(self.race(accesses, owner));
            }
        }
        Ok(())
    }

    /// What blocks hand on is seen by their chain alone, and by one.
    fn chains(&self) -> Result<(), Race> {
        for (k, (buffer, prov)) in self.chained.iter().enumerate() {
            let others = self.accesses.iter().filter(|a| a.buffer == *buffer).map(|a| (self.text(a), a.prov));
            let again = self.chained[k + 1..].iter().filter(|(b, _)| b == buffer);
            let name = print::var(self.p, *buffer);
            let again = again.map(|(_, prov)| (format!("`chain … {name}`"), *prov));
            if let Some((what, at)) = others.chain(again).next() {
                let message = format!(
                    "in kernel {}, {what} touches `{name}`, which blocks hand on by the chain at {prov:?}",
                    name_of(self.id, self.kernel),
                );
                return Err(Race { kernel: self.id, buffer: *buffer, prov: at, message });
            }
        }
        Ok(())
    }

    /// A scratch buffer has a part for each worker, and no other is there to be read.
    fn scratch(&self) -> Result<(), Race> {
        for a in &self.accesses {
            let is_scratch = self.p.buffer_ty(a.buffer).is_some_and(|t| t.space == Space::Scratch);
            let first = a.at.first().map(|a| self.origin(*a));
            if is_scratch && first != Some(Atom::Var(self.kernel.worker)) {
                let message = format!(
                    "in kernel {}, {} does not name the part of the worker, `{}`, first",
                    name_of(self.id, self.kernel),
                    self.text(a),
                    print::var(self.p, self.kernel.worker)
                );
                return Err(Race { kernel: self.id, buffer: a.buffer, prov: a.prov, message });
            }
        }
        Ok(())
    }
}
