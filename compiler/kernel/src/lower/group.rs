//! Rows that the threads of a group do together: a warp, or a block.
//!
//! ```text
//! (let (%r) (rows warp (%i %m) (of %which (%a)) 0 (%starts) (leaf
//!   (let (%n) (index %ns i)) (let (%s) (reduce (j %n) …)) (let (%row) (map ((j %n)) …)) (give %row %n))
//!   (scratch (%starts %total))))
//!
//! (kernel "warp-rows" (grid (%g %m)) (threads %t 32) (rows (%a %starts)) (distinct %which)
//!   (let %i (load %which %g)) (let %n (load %ns %i))
//!   (for seq %j (share %t 32 0 %n %n) …) (collective 32 …)                       the reduction
//!   (barrier) (for seq %j (share %t 32 0 %n %n) … (store %a (%start + %j) …)) (barrier))
//! ```
//!
//! It is the leaf that a thread has, with another way to run what is innermost in it ([`Inner::Group`]): maps and copies are
//! shared out, reductions and scans combine what each thread has; all else, loops and branches among it, all threads
//! compute alike. Nobody goes on to read what others write, or to write what others read, before all are there.
//!
//! An array that is made on the way has its row's part of a vector, as its result has, so that a row may be as long as it
//! is. What a group has just written it finds in a cache again.

use super::build::Emit;
use super::leaf::{Inner, Leaf};
use super::plan::Plan;
use super::scan::{Before, Scan};
use super::schedule::{ScanBlock, WARP};
use super::{Bound, L, Place, Row, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::{ScalarOp, zero};
use remc_base::{BaseTy, Scalar};
use remc_flat::ir as flat;
use remc_mono::ir as mono;
use remc_mono::legal::group_points;
use rustc_hash::FxHashSet;

/// Where a row has room for arrays of one of its sizes.
pub(crate) struct Room {
    size: mono::Var,
    /// How many elements those of all rows have, as the plan knows it.
    total: Atom,
    starts: Var,
    /// Where this row's begin.
    start: Atom,
}

impl Plan {
    /// Some rows, a group's each.
    pub fn rows_of_groups(&mut self, pat: &[mono::Var], rows: &flat::Rows, points: &flat::Points) -> L<()> {
        let mut kept: FxHashSet<Var> = self.roots_of(&rows.body);
        let mut outs = Vec::new();
        for v in &points.into {
            match self.owned((*v).into(), &mut kept)? {
                Atom::Var(buffer) => outs.push(Place::whole(buffer)),
                Atom::Const(_) => return wrong("rows that go into a constant"),
            }
        }
        let (name, threads) = match rows.level {
            flat::Level::Warp => ("warp-rows", WARP),
            _ => ("block-rows", self.number(Field::Threads)),
        };
        let count = self.atom(rows.axis.size)?;
        let totals = rows.scratch.iter().map(|s| self.atom(s.total)).collect::<L<Vec<_>>>()?;
        let body =
            mono::Body { stmts: rows.body.stmts.clone(), results: rows.body.results[..pat.len()].to_vec() };
        let sizes = &rows.body.results[pat.len()..];
        self.kernel(name, |l| {
            let to = l.import_all(&outs);
            let thread = l.threads(threads as u32);
            let g = l.grid_axis("g", count);
            let which = l.place(points.which)?;
            l.kernel.distinct.push(which.buffer);
            let i = l.load(&which, &[g])?;
            l.set(rows.axis.var, i);
            for ((size, s), total) in sizes.iter().zip(&rows.scratch).zip(totals) {
                let Some(size) = size.as_var() else { return wrong("rows of a constant size") };
                let starts = l.place(s.starts)?;
                let start = l.load(&starts, &[i])?;
                l.rooms.push(Room { size, total, starts: starts.buffer, start });
            }
            let (cells, vectors) = to.split_at(rows.regular.min(to.len()));
            let mut to: Vec<Place> = cells.iter().map(|o| o.cell(&[i])).collect();
            for ((vector, starts), r) in vectors.iter().zip(&rows.starts).zip(&body.results[rows.regular..]) {
                let starts = l.place(*starts)?;
                l.kernel.rows.push((vector.buffer, starts.buffer));
                let mut row = l.row(vector, &starts, i, *r)?;
                // Whoever begins where another array does is known to.
                if let (Some(row), Some(room)) =
                    (&mut row.row, l.rooms.iter().find(|room| room.starts == starts.buffer))
                {
                    row.start = room.start;
                }
                to.push(row);
            }
            l.inner = Inner::Group(thread);
            l.body_into(&body, &to)
        })?;
        for (v, out) in pat.iter().zip(outs) {
            self.set(*v, Bound::Array(out));
        }
        Ok(())
    }
}

impl Plan {
    /// A map whose points are a group's each: a block's or a warp's, or a thread's where what they do has so few elements.
    pub fn seg_of_groups(&mut self, pat: &[mono::Var], space: &[mono::Axis], leaf: &mono::Body) -> L<()> {
        let (outs, deferred) = self.alloc_results(pat, space.len(), &[], leaf, &[])?;
        let binders: Vec<mono::Var> = space.iter().map(|a| a.var).collect();
        let along = group_points(&self.flat.vars, &binders, leaf).unwrap_or_default();
        let mut most = Atom::int(0);
        for size in along {
            let size = self.atom(size)?;
            most = self.int(ScalarOp::Max2, most, size)?;
        }
        let mut classes =
            vec![(self.size(Field::Block), self.number(Field::Threads)), (self.size(Field::Warp), WARP)];
        // A size that is known decides now.
        if let Some(n) = most.as_int() {
            classes.retain(|(least, _)| least.as_int().is_some_and(|least| n >= least));
            classes.truncate(1);
        }
        let known = most.as_int().is_some();
        let mut open = Vec::new();
        for (least, threads) in classes {
            let cond = self.int(ScalarOp::Ge, most, least)?;
            self.blocks.open();
            self.points_of_groups(&outs, space, leaf, threads)?;
            let then = self.blocks.close();
            self.blocks.open();
            open.push((cond, then));
        }
        if !known || open.is_empty() {
            self.fill_points("map", &outs, space, leaf)?;
        }
        while let Some((cond, then)) = open.pop() {
            let otherwise = self.blocks.close();
            match known {
                true => then.into_iter().for_each(|s| self.blocks.push(s)),
                false => self.emit(StmtKind::If { cond, then, otherwise, results: Vec::new() }),
            }
        }
        self.bind_outs(pat, outs)?;
        self.check_deferred(&deferred, space)
    }

    fn points_of_groups(
        &mut self,
        outs: &[Place],
        space: &[mono::Axis],
        leaf: &mono::Body,
        threads: i64,
    ) -> L<()> {
        let sizes = space.iter().map(|a| self.atom(a.size)).collect::<L<Vec<_>>>()?;
        let count = self.product(&sizes)?;
        let name = if threads == WARP { "warp-rows" } else { "block-rows" };
        self.kernel(name, |l| {
            let outs = l.import_all(outs);
            let thread = l.threads(threads as u32);
            let g = l.grid_axis("g", count);
            let at = l.point(space, g)?;
            let cells: Vec<Place> = outs.iter().map(|o| o.cell(&at)).collect();
            l.points = Some((g, count));
            l.inner = Inner::Group(thread);
            l.body_into(leaf, &cells)
        })
    }
}

impl Leaf<'_> {
    /// The thread's number, where a group does what is innermost.
    pub fn of_group(&self) -> Option<Atom> {
        match self.inner {
            Inner::Group(thread) => Some(thread),
            _ => None,
        }
    }

    /// What the threads of a group do one by one meanwhile.
    fn each_thread<T>(&mut self, make: impl FnOnce(&mut Self) -> L<T>) -> L<T> {
        let outside = std::mem::replace(&mut self.inner, Inner::Serial);
        let done = make(self);
        self.inner = outside;
        done
    }

    /// Memory for an array that the group makes.
    pub fn room(&mut self, v: mono::Var) -> L<Place> {
        let mono::VarInfo { name, ty } = self.plan.flat.vars[v].clone();
        let room = self.rooms.iter().find(|r| ty.dims == [mono::Atom::Var(r.size)]);
        let Some(Room { total, starts, start, .. }) = room else {
            let Some((g, count)) = self.points else {
                return wrong(format!("no room for {name} in the memory of a group"));
            };
            let sizes = self.plan_dims(v)?;
            let dims = std::iter::once(count).chain(sizes).collect();
            let outer =
                self.plan.alloc(name.as_str(), BufferTy { base: ty.base, dims, space: Space::Global });
            return Ok(Place::whole(self.kernel.import(&mut self.plan.out, outer)).cell(&[g]));
        };
        let (total, starts, start) = (*total, *starts, *start);
        let ty = BufferTy { base: ty.base, dims: vec![total], space: Space::Global };
        let outer = self.plan.alloc(name.as_str(), ty);
        let buffer = self.kernel.import(&mut self.plan.out, outer);
        self.kernel.rows.push((buffer, starts));
        let row = Row { start, inner: Vec::new() };
        Ok(Place { row: Some(row), ..Place::whole(buffer) })
    }

    /// Lets the array of which a result is made, element by element, be where the result goes: what nothing else reads any
    /// more, and begins at the same place.
    ///
    /// ```text
    /// (let (%powers) (map ((j %n)) …))  (let (%sum) (reduce (j %n) …))
    /// (let (%shares) (map ((j %n)) (let (%p) (index %powers j)) (let (%q) (op / %p %sum)) (give %q)))  (give %shares)
    /// ```
    pub fn in_place(&mut self, b: &mono::Body, result: mono::Var, to: &Place) {
        let made = |v: mono::Var| b.stmts.iter().position(|s| s.pat.contains(&v));
        let Some(last) = made(result) else { return };
        let mono::Exp::Map { axes, body } = &b.stmts[last].exp else { return };
        let [axis] = axes.as_slice() else { return };
        let ty = &self.plan.flat.vars[result].ty;
        let mut reads = Vec::new();
        body.for_each_stmt(&mut |s| match &s.exp {
            mono::Exp::Index { array, at } if at[..] == [mono::Atom::Var(axis.var)] => reads.push(*array),
            _ => {}
        });
        let mut uses = Vec::new();
        let after = mono::Body { stmts: b.stmts[last..].to_vec(), results: b.results.clone() };
        after.for_each_use(&mut |a| uses.extend(a.as_var()));
        let count = |of: &[mono::Var], v: mono::Var| of.iter().filter(|x| **x == v).count();
        let fits = |v: &mono::Var| {
            let maker = made(*v).filter(|k| *k < last).map(|k| &b.stmts[k].exp);
            matches!(maker, Some(mono::Exp::Map { .. } | mono::Exp::Scan { .. }))
                && self.plan.flat.vars[*v].ty == *ty
                && count(&reads, *v) == count(&uses, *v)
        };
        let begins = self.rooms.iter().find(|r| ty.dims == [mono::Atom::Var(r.size)]).map(|r| r.start);
        if (begins.is_some() || self.points.is_some())
            && to.row.as_ref().map(|r| r.start) == begins
            && let Some(v) = reads.iter().copied().find(fits)
        {
            self.dests.insert(v, to.clone());
        }
    }

    /// The threads of a group, if one does this, wait for each other: at the end of a branch, so that what follows comes
    /// after either.
    pub fn meet(&mut self) {
        if self.of_group().is_some() {
            self.emit(StmtKind::Barrier);
        }
    }

    /// Stores a number that all threads have.
    pub fn put(&mut self, place: &Place, at: &[Atom], value: Atom) -> L<()> {
        match self.of_group() {
            None => {
                self.store(place, at, value);
                Ok(())
            }
            Some(thread) => self.by_one(thread, |l| {
                l.store(place, at, value);
                Ok(())
            }),
        }
    }

    /// A loop whose iterations write, shared out among the threads.
    pub fn shared_out(
        &mut self,
        name: &str,
        n: Atom,
        thread: Atom,
        body: impl FnOnce(&mut Self, Atom) -> L<()>,
    ) -> L<()> {
        let range = Range::Share { thread, threads: self.count(), index: Atom::int(0), size: n, limit: n };
        self.emit(StmtKind::Barrier);
        self.each_thread(|l| l.each(How::Seq, name, range, body))?;
        self.emit(StmtKind::Barrier);
        Ok(())
    }

    /// A reduction to numbers: what each thread has, and then all together.
    pub fn reduce_by_group(
        &mut self,
        thread: Atom,
        pat: &[mono::Var],
        axis: mono::Axis,
        body: &mono::Body,
        op: &mono::Combine,
    ) -> L<()> {
        let n = self.atom(axis.size)?;
        let tile = Range::Tile { index: Atom::int(0), size: n, limit: n };
        let totals = self.each_thread(|l| {
            let (count, items) = l.items_of_thread(thread, axis.var, tile, op, body)?;
            let (_, totals) = l.collective(false, count, &items, op)?;
            let Some(start) = &op.start else { return Ok(totals) };
            let start = l.atoms(start)?;
            let some = l.int(ScalarOp::Gt, n, Atom::int(0))?;
            let all = totals.into_iter().map(Bound::Scalar).collect();
            l.choose(some, |l| l.combine(op, &start, all), |_| Ok(start.clone()))
        })?;
        pat.iter().zip(totals).for_each(|(v, x)| self.set(*v, x));
        Ok(())
    }

    /// Shared memory for so many elements of each type, which the scans of a kernel, one after the other, have in common; if
    /// there is room.
    fn shared_by_scans(&mut self, tys: &[BaseTy], size: i64) -> Option<Vec<Place>> {
        let dims = vec![Atom::int(size)];
        let mut free = self.kernel.shared.clone();
        let mut places = Vec::new();
        for base in tys {
            let ty = BufferTy { base: *base, dims: dims.clone(), space: Space::Shared };
            let found = free.iter().position(|b| self.plan.out.buffer_ty(*b) == Some(&ty));
            let buffer = match found {
                Some(k) => free.remove(k),
                None => {
                    let buffer = self.plan.out.buffer("part", ty);
                    self.kernel.shared.push(buffer);
                    buffer
                }
            };
            places.push(Place::whole(buffer));
        }
        let bytes = |b: &Var| {
            let ty = self.plan.out.buffer_ty(*b);
            ty.map_or(0, |t| i64::from(t.base.bits().max(8) / 8) * t.dims[0].as_int().unwrap_or(0))
        };
        (self.kernel.shared.iter().map(bytes).sum::<i64>() <= self.number(Field::Shared)).then_some(places)
    }

    /// A scan of numbers, tile by tile: each as a block of a scan over an array does it, but that what comes before is
    /// handed on from one tile to the next. Says whether there is shared memory enough.
    pub fn scan_by_group(&mut self, thread: Atom, n: Atom, scan: Scan<'_>, outs: &[Place]) -> L<bool> {
        let op = scan.op;
        let params = &op.lambda.params[..op.lambda.body.results.len()];
        let tys: Vec<_> = params.iter().map(|v| self.plan.flat.vars[*v].ty.base).collect();
        let bytes: u32 = tys.iter().map(|ty| ty.bits() / 8).sum();
        let Some((_, threads)) = self.kernel.threads else { return wrong("a group without threads") };
        // Other scans of the kernel may need other memory.
        let block = ScanBlock { threads, run: ScanBlock::of(4 * bytes, |f| self.number(f)).run };
        let Some(shared) = self.shared_by_scans(&tys, block.tile()) else {
            return Ok(false);
        };
        let size = Atom::int(block.tile());
        let tiles = self.tiles(n, size)?;
        let never = Atom::Const(Scalar::Bool(false));
        let always = Atom::Const(Scalar::Bool(true));
        let (some, first) = match &op.start {
            Some(start) => (None, self.atoms(start)?),
            None => (Some(never), tys.iter().map(|ty| Atom::Const(zero(*ty))).collect()),
        };
        let init: Vec<_> = some.into_iter().chain(first).map(|a| (a, None)).collect();
        self.emit(StmtKind::Barrier);
        let last = self.each_thread(|l| {
            l.carry(How::Seq, Range::Upto { from: Atom::int(0), to: tiles }, &init, |l, b, accs| {
                let tile = Range::Tile { index: b, size, limit: n };
                let part = l.load_part(thread, scan, tile, block, shared.clone())?;
                let (count, items) = l.items_of_part(thread, &part, op)?;
                let (mine, totals) = l.collective(true, count, &items, op)?;
                let (flag, values) = accs.split_at(usize::from(some.is_some()));
                let before = Before { some: flag.first().copied(), values: values.to_vec() };
                let bound = |xs: &[Atom]| xs.iter().map(|x| Bound::Scalar(*x)).collect::<Vec<_>>();
                let next = match before.some {
                    None => l.combine(op, values, bound(&totals))?,
                    Some(some) => {
                        l.choose(some, |l| l.combine(op, values, bound(&totals)), |_| Ok(totals.clone()))?
                    }
                };
                let mine = l.before_thread((thread, count), op, before, &mine)?;
                l.scan_part(thread, &part, scan.kind, op, mine)?;
                l.emit(StmtKind::Barrier);
                l.store_part(thread, &part, &scan, tile, &[], outs)?;
                l.emit(StmtKind::Barrier);
                Ok(flag.iter().map(|_| always).chain(next).collect())
            })
        })?;
        if scan.kind == mono::ScanKind::Full {
            let totals = &last[usize::from(some.is_some())..];
            outs.iter().zip(totals).try_for_each(|(to, total)| self.put(to, &[n], *total))?;
            self.emit(StmtKind::Barrier);
        }
        Ok(true)
    }
}
