//! Which loops over rows can run in lanes, one row in each, and what has to be known of them then.
//!
//! As [`super::super::vary`] for loops in lanes, but all of a body may be under a mask: loads, branches, loops whose bounds
//! depend on the row. A store goes to a place of the row's own (the loop's variable is its first index, or the plan says that
//! the buffer has a part for each row), to a buffer that nothing in the body reads. Scratch memory, which is a worker's,
//! becomes each row's, as much as a short one takes; a store further behind is noticed, and the rows run one after the other.

use super::super::Fun;
use super::super::counted::{Loop, Sum};
use super::super::vary;
use super::{MOST, ROWS};
use remc_base::ops::ScalarOp;
use remc_kernel::ir::{Atom, Carried, Exp, How, Range, Space, Stmt, StmtKind, Var};
use remc_kernel::memory::mentions;
use remc_kernel::schedule::Field;
use rustc_hash::{FxHashMap, FxHashSet};

/// The most elements of scratch memory that a row has, and of an axis of it that has nothing to do with how long rows are.
const ELEMENTS: u32 = 128;
const SHORT: u32 = 16;

/// What is known of a loop whose iterations can run side by side.
pub struct OuterLanes {
    /// The variables that differ from row to row.
    pub varying: FxHashSet<Var>,
    /// The scratch buffers, and how large a row's part is along each axis.
    pub scratch: FxHashMap<Var, Vec<u32>>,
    /// The loops whose sums are combined in a tree.
    pub trees: FxHashSet<Var>,
    /// Variables of loops that have to be short: they are below the number of rows, [`ROWS`].
    pub places: FxHashSet<Var>,
}

/// How much of an axis of scratch memory a short row has: all of a short one, and as much as it has elements
/// of one that is as long as rows may be.
pub fn extent(dim: &Atom) -> u32 {
    dim.as_int().and_then(|n| u32::try_from(n).ok()).filter(|n| *n <= SHORT).unwrap_or(ROWS)
}

/// In which order the elements of a short row are combined where it is alone.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// One after the other; or it makes no difference.
    Serial,
    /// As the lanes of a vector.
    Tree,
    /// Depending on the processor.
    Other,
}

impl<'ctx> Fun<'_, 'ctx> {
    /// What is to be known to run the iterations of a loop side by side where they are short rows; `None` if that cannot
    /// be.
    pub fn can_be_outer_lanes(&self, l: &Loop<'_, 'ctx>) -> Option<OuterLanes> {
        let apart = self.lanes.is_none() && self.mask.is_none() && l.carried.is_empty();
        if !apart
            || !self.masks()
            || self.kernel.is_none()
            || !vary::has_loop(l.body)
            || statements(l.body) as i64 > self.schedule[Field::BesideOps]
        {
            return None;
        }
        let mut can = Can {
            f: self,
            row: l.var,
            body: l.body,
            private: vary::private(l.body),
            loaded: FxHashSet::default(),
            from_memory: FxHashSet::default(),
            long: FxHashSet::default(),
            branches: 0,
            orders: FxHashMap::default(),
            ok: true,
            grew: true,
            ragged: false,
            found: OuterLanes {
                varying: FxHashSet::from_iter([l.var]),
                scratch: FxHashMap::default(),
                trees: FxHashSet::default(),
                places: FxHashSet::default(),
            },
        };
        can.loads(l.body);
        while can.grew && can.ok {
            can.grew = false;
            can.block(l.body, false);
        }
        (can.ok && can.ragged).then_some(can.found)
    }
}

fn mentions_of(block: &[Stmt], v: Var) -> usize {
    let mut n = 0;
    block.iter().for_each(|s| mentions(&s.kind, &mut |w| n += usize::from(w == v)));
    n
}

fn statements(block: &[Stmt]) -> usize {
    block.iter().map(|s| 1 + s.kind.blocks().into_iter().map(|b| statements(b)).sum::<usize>()).sum()
}

struct Can<'s, 'a, 'ctx> {
    f: &'s Fun<'a, 'ctx>,
    /// The loop's variable, and its body.
    row: Var,
    body: &'s [Stmt],
    /// The private buffers that the body makes.
    private: FxHashSet<Var>,
    /// The buffers that it reads.
    loaded: FxHashSet<Var>,
    /// What depends on what is loaded.
    from_memory: FxHashSet<Var>,
    /// The variables of loops that always run for longer than a short row.
    long: FxHashSet<Var>,
    /// How many branches are around that rows take each for itself.
    branches: usize,
    /// Of each loop, by its variable.
    orders: FxHashMap<Var, (bool, Order)>,
    ok: bool,
    grew: bool,
    /// Whether there is a loop along a row whose size is found in memory.
    ragged: bool,
    found: OuterLanes,
}

impl Can<'_, '_, '_> {
    fn loads(&mut self, block: &[Stmt]) {
        for s in block {
            if let StmtKind::Let { exp: Exp::Load { buffer, .. }, .. } = &s.kind {
                self.loaded.insert(*buffer);
            }
            s.kind.blocks().into_iter().for_each(|b| self.loads(b));
        }
    }

    fn varies(&self, a: &Atom) -> bool {
        matches!(a, Atom::Var(v) if self.found.varying.contains(v))
    }

    fn vary(&mut self, v: Var) {
        self.grew |= self.found.varying.insert(v);
    }

    fn space(&self, buffer: Var) -> Option<Space> {
        self.f.buffer_ty(buffer).map(|t| t.space)
    }

    /// Whether each row has the buffer, or a part of it, for itself.
    fn is_own(&mut self, buffer: Var, at: &[Atom]) -> bool {
        match self.space(buffer) {
            Some(Space::Private) => self.private.contains(&buffer),
            Some(Space::Scratch) => {
                let worker = self.f.kernel.map(|k| Atom::Var(k.worker));
                worker.is_some() && at.first().copied() == worker && self.has_part(buffer)
            }
            _ => false,
        }
    }

    /// Whether a row's part of a scratch buffer is small, and no other has to do with what is in it.
    fn has_part(&mut self, buffer: Var) -> bool {
        if self.found.scratch.contains_key(&buffer) {
            return true;
        }
        let (Some(ty), Some(kernel)) = (self.f.buffer_ty(buffer), self.f.kernel) else { return false };
        let extents: Vec<u32> = ty.dims.iter().skip(1).map(extent).collect();
        let elements = extents.iter().try_fold(1u32, |n, d| n.checked_mul(*d));
        let inside = mentions_of(self.body, buffer) == mentions_of(&kernel.body, buffer);
        let fits = inside && elements.is_some_and(|n| n <= ELEMENTS);
        if fits {
            self.found.scratch.insert(buffer, extents);
        }
        fits
    }

    /// `inside`: whether alone it were in a loop that runs in lanes.
    fn block(&mut self, block: &[Stmt], inside: bool) {
        block.iter().for_each(|s| self.stmt(&s.kind, inside));
    }

    fn stmt(&mut self, s: &StmtKind, inside: bool) {
        match s {
            StmtKind::Let { var, exp } => self.bound(*var, exp),
            StmtKind::Store { buffer, at, .. } => self.ok &= self.can_store(*buffer, at),
            StmtKind::Alloc { buffer } => self.ok &= self.space(*buffer) == Some(Space::Private),
            StmtKind::For { how, var, range, carried, body, next } => {
                self.loop_((*how, *var, range), (carried, body, next), inside);
            }
            StmtKind::If { cond, then, otherwise, results } => {
                let together = !self.varies(cond);
                self.branches += usize::from(!together);
                self.block(then, inside);
                self.block(otherwise, inside);
                self.branches -= usize::from(!together);
                for c in results {
                    if !together || self.varies(&c.then) || self.varies(&c.otherwise) {
                        self.vary(c.var);
                    }
                }
            }
            StmtKind::Check { .. } => {}
            _ => self.ok = false,
        }
    }

    fn bound(&mut self, var: Var, exp: &Exp) {
        let (atoms, own) = match exp {
            Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a) => (std::slice::from_ref(a), false),
            Exp::Op(_, args) => (&args[..], false),
            Exp::Load { buffer, at } => {
                let own = self.is_own(*buffer, at);
                self.ok &= own || self.space(*buffer) == Some(Space::Global);
                (&at[..], own)
            }
            Exp::Workers | Exp::Test(_) => {
                self.ok = false;
                return;
            }
        };
        let varies = own || atoms.iter().any(|a| self.varies(a));
        if varies {
            self.vary(var);
        }
        if matches!(exp, Exp::Load { .. })
            || atoms.iter().any(|a| a.as_var().is_some_and(|v| self.from_memory.contains(&v)))
        {
            self.from_memory.insert(var);
        }
        // Which have no value for every operand, and in lanes that are off there is any.
        if let Exp::Op(ScalarOp::Expt | ScalarOp::Gcd | ScalarOp::IntToChar, _) = exp {
            self.ok &= !varies;
        }
    }

    fn can_store(&mut self, buffer: Var, at: &[Atom]) -> bool {
        if self.space(buffer) == Some(Space::Global) {
            let own = at.first() == Some(&Atom::Var(self.row)) || self.has_rows_of(buffer);
            return own && !self.loaded.contains(&buffer);
        }
        let along = self.f.buffer_ty(buffer).map_or(&[][..], |t| t.dims.get(1..).unwrap_or_default());
        let behind = at
            .iter()
            .skip(1)
            .zip(along)
            .any(|(a, d)| extent(d) == ROWS && a.as_var().is_some_and(|v| self.long.contains(&v)));
        // All rows would always begin again.
        let fits = self.branches > 0 || self.space(buffer) != Some(Space::Scratch) || !behind;
        fits && self.is_own(buffer, at)
    }

    /// Whether the loop is the kernel's over rows, each of which has a part of the buffer for itself.
    fn has_rows_of(&self, buffer: Var) -> bool {
        self.f.kernel.is_some_and(|k| {
            let outermost = |s: &Stmt| matches!(s.kind, StmtKind::For { var, .. } if var == self.row);
            k.rows.iter().any(|(b, _)| *b == buffer) && k.body.iter().any(outermost)
        })
    }

    fn loop_(
        &mut self,
        (how, var, range): (How, Var, &Range),
        (carried, body, next): (&[Carried], &[Stmt], &[Atom]),
        inside: bool,
    ) {
        let Range::Upto { from, to } = *range else {
            self.ok = false;
            return;
        };
        let varies = self.varies(&from) || self.varies(&to);
        self.ragged |= varies && to.as_var().is_some_and(|v| self.from_memory.contains(&v));
        let few = from == Atom::int(0) && to.as_int().is_some_and(|n| n <= i64::from(MOST));
        let (lanes, order) = match self.orders.get(&var) {
            Some(found) => *found,
            None => {
                let found = self.alone((how, var, range), (carried, body, next), inside);
                self.orders.insert(var, found);
                found
            }
        };
        let tree = order == Order::Tree;
        self.ok &= !matches!(how, How::Jam(_)) && order != Order::Other;
        // Of more elements the order is another one.
        self.ok &= varies || few || !lanes || !self.rounds(carried);
        if tree {
            self.found.trees.insert(var);
        }
        if from == Atom::int(0) && (varies || tree || few) {
            self.found.places.insert(var);
        }
        if varies {
            self.vary(var);
        }
        if !varies && to.as_int().is_some_and(|n| n > i64::from(ROWS)) {
            self.long.insert(var);
        }
        for (c, next) in carried.iter().zip(next) {
            if varies || tree || self.varies(&c.init) || self.varies(next) {
                self.vary(c.param);
                self.vary(c.result);
            }
        }
        self.block(body, inside || lanes);
    }

    /// Whether it makes a difference in which order a loop's values are combined.
    fn rounds(&self, carried: &[Carried]) -> bool {
        let rounds = |(op, ty, _): &Sum| ty.is_float() && matches!(op, ScalarOp::Add | ScalarOp::Mul);
        self.f.sums(carried).is_none_or(|sums| sums.iter().any(rounds))
    }

    /// Whether a loop runs in lanes where its row is alone, and in which order it combines what it carries there.
    fn alone(
        &self,
        (how, var, range): (How, Var, &Range),
        (carried, body, next): (&[Carried], &[Stmt], &[Atom]),
        inside: bool,
    ) -> (bool, Order) {
        let (from, to) = (self.f.i64(0), self.f.i64(0));
        let ragged = self.f.is_ragged(range);
        let l = Loop { var, from, to, ragged, asks: ragged, carried, body, next };
        match how {
            How::Lanes(w) if !inside => {
                let in_lanes = self.f.can_be_in_lanes(w, &l).is_some();
                if !in_lanes || carried.is_empty() || !self.rounds(carried) {
                    return (in_lanes, Order::Serial);
                }
                let last = self.f.widths(w, &l).last().copied().unwrap_or(1);
                // Of vectors of four lanes two are combined first, which are the halves of one of eight.
                let order = match self.f.can_mask(carried, body) {
                    true if last >= ROWS / 2 => Order::Tree,
                    false if last >= ROWS => Order::Serial,
                    _ => Order::Other,
                };
                (true, order)
            }
            How::Scan(w) if !inside && w > 1 && self.rounds(carried) => {
                let w = self.f.sums(carried).map_or(w, |sums| self.f.scanned_at_once(w, &sums));
                (true, if w >= ROWS { Order::Serial } else { Order::Other })
            }
            _ => (false, Order::Serial),
        }
    }
}
