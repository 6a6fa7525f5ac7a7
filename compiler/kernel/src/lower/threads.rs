//! Schedules for a GPU: blocks whose threads work side by side.
//!
//! | operator | what the threads of a block do |
//! | --- | --- |
//! | `seg-map` | each has points of a tile of the whole space, numbered in row-major order: neighbours are neighbours in memory, and along a vector several go as one word; of rows that are reduced each is a warp's or a block's |
//! | `seg-red` | they reduce a tile of the axis, each its share or, where the order matters, a run of it; then all of them together; a second kernel combines the tiles of a segment. Where segments are columns each reduces a run of one |
//! | `seg-scan` | they bring a tile into shared memory; each combines a run of it; a collective and a chain say what comes before each; each goes through its run again; they write the tile back |
//!
//! ```text
//! (kernel "reduce" (grid (%b tiles)) (threads %t 256)
//!   (for seq %i (share %t 256 %b size %n) ((%acc %mine 0 +)) …)
//!   (collective 256 ((%x %y %mine %all)) (let %q (op + %x %y)) (next %q))
//!   (if (= %t 0) (store %partial (%b) %all)))
//! ```
//!
//! How many tiles there are depends on sizes alone, so that results are the same from run to run.

use super::blocked::contraction;
use super::build::Emit;
use super::grid::Tiles;
use super::leaf::Leaf;
use super::plan::Plan;
use super::reduce::TilesAre;
use super::scan::{Before, Scan};
use super::schedule::{self, ScanBlock, WARP};
use super::{Bound, L, Place, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::BaseTy;
use remc_base::ops::{ScalarOp, zero};
use remc_mono::ir as mono;

/// The bytes of the widest load of a thread.
const WORD: u32 = 16;

impl Plan {
    /// Evaluates a leaf at every point of a space, into cells of `outs`.
    pub fn fill_by_threads(
        &mut self,
        name: &str,
        outs: &[Place],
        space: &[mono::Axis],
        leaf: &mono::Body,
    ) -> L<()> {
        let scalars = leaf.results.iter().filter_map(|a| a.as_var());
        let scalars = scalars.map(|v| &self.flat.vars[v].ty).all(mono::Ty::is_scalar);
        if let [row, column] = space
            && scalars
            && self.squares_fit(leaf)
            && self.is_transposition(leaf, &self.shape(leaf, column.var), std::slice::from_ref(row))
        {
            return self.transpose_by_threads(name, outs, [*row, *column], leaf);
        }
        let found = contraction(space, leaf, &self.tys()).filter(|c| self.contraction_fits(c));
        if let Some(c) = found {
            let cond = self.is_worth_squares(space)?;
            self.blocks.open();
            self.contract_by_threads(name, outs, space, &c, leaf)?;
            let then = self.blocks.close();
            self.blocks.open();
            self.fill_points(name, outs, space, leaf)?;
            let otherwise = self.blocks.close();
            self.emit(StmtKind::If { cond, then, otherwise, results: Vec::new() });
            return Ok(());
        }
        if self.fill_rows(name, outs, space, leaf)? {
            return Ok(());
        }
        if let [axis] = space
            && let Some(width) = self.pack(*axis, leaf)
            && outs.iter().all(|o| o.prefix.is_empty() && o.row.is_none() && !self.slices.contains(&o.buffer))
        {
            return self.fill_packs(name, outs, *axis, leaf, width);
        }
        self.fill_points(name, outs, space, leaf)
    }

    /// How many neighbours along a vector a thread has at a time, if what it reads and writes are those: they
    /// come and go as one word of 16 bytes.
    fn pack(&self, axis: mono::Axis, leaf: &mono::Body) -> Option<u32> {
        let mut widest = 0;
        let scalar =
            |v: mono::Var| Some(self.flat.vars[v].ty.base).filter(|_| self.flat.vars[v].ty.is_scalar());
        for s in &leaf.stmts {
            for v in &s.pat {
                scalar(*v)?;
            }
            match &s.exp {
                mono::Exp::Atom(_) | mono::Exp::Op(..) | mono::Exp::Cast(..) => {}
                mono::Exp::Index { array, at } if at.as_slice() == [mono::Atom::Var(axis.var)] => {
                    widest = widest.max(self.flat.vars[*array].ty.base.bits() / 8);
                }
                _ => return None,
            }
        }
        for r in &leaf.results {
            let base = r.as_var().map_or(r.constant().map(|c| c.ty()), scalar)?;
            widest = widest.max(base.bits() / 8);
        }
        // A long body has enough to do between its reads.
        (widest > 0 && leaf.stmts.len() as i64 <= self.number(Field::LongBody))
            .then(|| (WORD / widest).min(self.number(Field::Packed) as u32))
    }

    /// Neighbours by packs, along one axis.
    fn fill_packs(
        &mut self,
        name: &str,
        outs: &[Place],
        axis: mono::Axis,
        leaf: &mono::Body,
        width: u32,
    ) -> L<()> {
        let n = self.atom(axis.size)?;
        let packs = self.tiles(n, Atom::int(i64::from(width)))?;
        let size = self.size(Field::Threads);
        let count = self.tiles(packs, size)?;
        self.kernel(name, |l| {
            let outs = l.import_all(outs);
            let thread = l.threads_of_block();
            let index = l.grid_axis("b", count);
            let (limit, n) = (l.outer(packs), l.outer(n));
            let range = Range::Share { thread, threads: size, index, size, limit };
            l.each(How::Seq, "pack", range, |l, pack| {
                let range = Range::Tile { index: pack, size: Atom::int(i64::from(width)), limit: n };
                l.each(How::Lanes(width), "i", range, |l, i| {
                    l.set(axis.var, i);
                    let cells: Vec<Place> = outs.iter().map(|o| o.cell(&[i])).collect();
                    l.body_into(leaf, &cells)
                })
            })
        })
    }

    /// A thread for each point, or for a few.
    pub fn fill_points(
        &mut self,
        name: &str,
        outs: &[Place],
        space: &[mono::Axis],
        leaf: &mono::Body,
    ) -> L<()> {
        let sizes = space.iter().map(|a| self.atom(a.size)).collect::<L<Vec<_>>>()?;
        let total = self.product(&sizes)?;
        let cost = self.cost(leaf);
        let each = if cost.sizes.is_empty() && cost.ops < self.number(Field::ThreadGrain) {
            self.number(Field::Items)
        } else {
            1
        };
        let size = Atom::int(self.number(Field::Threads) * each);
        let count = self.tiles(total, size)?;
        self.kernel(name, |l| {
            let outs = l.import_all(outs);
            let thread = l.threads_of_block();
            let index = l.grid_axis("b", count);
            let limit = l.outer(total);
            let range = Range::Share { thread, threads: l.size(Field::Threads), index, size, limit };
            let single = match space {
                [axis] => l.plan.flat.vars[axis.var].name.to_string(),
                _ => "p".to_owned(),
            };
            l.each(How::Seq, &single, range, |l, p| {
                let at = l.point(space, p)?;
                let cells: Vec<Place> = outs.iter().map(|o| o.cell(&at)).collect();
                l.body_into(leaf, &cells)
            })
        })
    }

    pub fn seg_red_by_threads(
        &mut self,
        pat: &[mono::Var],
        space: &[mono::Axis],
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
    ) -> L<()> {
        let mut outs = Vec::new();
        for v in pat {
            let place = self.alloc_for(*v)?;
            outs.push(place);
        }
        match space.last().filter(|last| self.has_columns(last, leaf)) {
            None => self.reduce_rows(space, axis, op, leaf, &outs)?,
            Some(last) => {
                let n = self.atom(last.size)?;
                let cond = self.int(ScalarOp::Ge, n, self.size(Field::Warp))?;
                self.blocks.open();
                self.reduce_columns(space, axis, op, leaf, &outs)?;
                let then = self.blocks.close();
                self.blocks.open();
                self.reduce_rows(space, axis, op, leaf, &outs)?;
                let otherwise = self.blocks.close();
                self.emit(StmtKind::If { cond, then, otherwise, results: Vec::new() });
            }
        }
        self.bind_outs(pat, outs)
    }

    /// The threads of a block reduce a tile of one segment together.
    fn reduce_rows(
        &mut self,
        space: &[mono::Axis],
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
        outs: &[Place],
    ) -> L<()> {
        let n = self.atom(axis.size)?;
        let tiles = self.tiles_of_segments(space, n)?;
        let (partials, places) = self.partial_arrays(space, op, tiles, TilesAre::Last)?;
        self.reduce_by_threads(
            "reduce",
            self.number(Field::Threads) as u32,
            space,
            axis,
            op,
            leaf,
            tiles,
            Some(&places),
            &[],
        )?;
        self.combine_partials(space, &partials, tiles, op, outs)
    }

    /// A thread reduces a run of one segment: neighbours do so for neighbouring segments, whose elements lie
    /// side by side.
    fn reduce_columns(
        &mut self,
        space: &[mono::Axis],
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
        outs: &[Place],
    ) -> L<()> {
        let n = self.atom(axis.size)?;
        let sizes = space.iter().map(|a| self.atom(a.size)).collect::<L<Vec<_>>>()?;
        let columns = self.product(&sizes)?;
        let some = self.int(ScalarOp::Max2, columns, Atom::int(1))?;
        let wanted = self.int(ScalarOp::Quotient, Atom::int(self.number(Field::Reducing) * WARP), some)?;
        let wanted = self.int(ScalarOp::Max2, wanted, Atom::int(1))?;
        let size = self.tiles(n, wanted)?;
        let size = self.int(ScalarOp::Max2, size, self.size(Field::Run))?;
        let tiles = Tiles { size, count: self.tiles(n, size)? };
        let (partials, places) = self.partial_arrays(space, op, tiles, TilesAre::Last)?;
        let total = self.int(ScalarOp::Mul, columns, tiles.count)?;
        let number = self.bind_size("tiles", tiles.count);
        let run = mono::Axis { var: self.fresh("r", mono::Ty::int()), size: number };
        let points: Vec<mono::Axis> = std::iter::once(run).chain(space.iter().copied()).collect();
        let block = self.size(Field::Threads);
        let count = self.tiles(total, block)?;
        self.kernel("reduce", |l| {
            let places = l.import_all(&places);
            let thread = l.threads_of_block();
            let index = l.grid_axis("b", count);
            let limit = l.outer(total);
            let range = Range::Share { thread, threads: block, index, size: block, limit };
            l.each(How::Seq, "p", range, |l, p| {
                let at = l.point(&points, p)?;
                let Some((run, at)) = at.split_first() else { return wrong("no run") };
                let (size, limit) = (l.outer(tiles.size), l.atom(axis.size)?);
                // Every run has an element, so none needs the start.
                let range = Range::Tile { index: *run, size, limit };
                let results = l.reduce_scalars(axis.var, range, leaf, op, None)?;
                let there: Vec<Atom> = at.iter().copied().chain([*run]).collect();
                places.iter().zip(results).for_each(|(to, x)| l.store(to, &there, x));
                Ok(())
            })
        })?;
        self.combine_partials(space, &partials, tiles, op, outs)
    }

    /// What is left is a short reduction for each point of the space: one thread's, or a block's.
    fn combine_partials(
        &mut self,
        space: &[mono::Axis],
        partials: &[mono::Var],
        tiles: Tiles,
        op: &mono::Combine,
        outs: &[Place],
    ) -> L<()> {
        let many = self.int(ScalarOp::Gt, tiles.count, self.size(Field::Few))?;
        let one = Tiles { size: tiles.count, count: Atom::int(1) };
        let (index, size, elems) = self.partial_elements(space, partials, (tiles.count, TilesAre::Last));
        let rest = mono::Axis { var: index, size };
        self.blocks.open();
        self.reduce_by_threads(
            "combine",
            self.number(Field::Threads) as u32,
            space,
            rest,
            op,
            &elems,
            one,
            None,
            outs,
        )?;
        let then = self.blocks.close();
        self.blocks.open();
        let leaf = self.combination(space, partials, (tiles.count, TilesAre::Last), op);
        match space.is_empty() {
            true => self.fill("combine", outs, space, &leaf)?,
            false => self.fill_points("combine", outs, space, &leaf)?,
        }
        let otherwise = self.blocks.close();
        self.emit(StmtKind::If { cond: many, then, otherwise, results: Vec::new() });
        Ok(())
    }

    /// A space whose leaf is one reduction along memory: a warp, or a block, for each point of it.
    fn fill_rows(&mut self, name: &str, outs: &[Place], space: &[mono::Axis], leaf: &mono::Body) -> L<bool> {
        let (Some(last), [only]) = (space.last(), leaf.stmts.as_slice()) else { return Ok(false) };
        let shape = self.shape(leaf, last.var);
        let given = only.pat.iter().map(|v| mono::Atom::Var(*v)).eq(leaf.results.iter().copied());
        let mono::Exp::Reduce { axis, body, op } = &only.exp else { return Ok(false) };
        let scalars = only.pat.iter().all(|v| self.flat.vars[*v].ty.is_scalar());
        let same = op.lambda.params.len() == 2 * only.pat.len() && op.assoc;
        let Some(n) = self.strided_reduction(leaf, &shape).filter(|_| given && scalars && same) else {
            return Ok(false);
        };
        if shape.pays() {
            return Ok(false);
        }
        let one = Tiles { size: n, count: Atom::int(1) };
        let mut versions = vec![
            (self.size(Field::Block), self.number(Field::Threads) as u32),
            (self.size(Field::Warp), WARP as u32),
        ];
        // A static length decides now.
        if let Some(n) = n.as_int() {
            versions.retain(|(least, _)| least.as_int().is_some_and(|l| n >= l));
            versions.truncate(1);
        }
        let mut open = Vec::new();
        for (least, threads) in versions {
            let cond = self.int(ScalarOp::Ge, n, least)?;
            self.blocks.open();
            self.reduce_by_threads(name, threads, space, *axis, op, body, one, None, outs)?;
            let then = self.blocks.close();
            if cond == Atom::Const(remc_base::Scalar::Bool(true)) {
                then.into_iter().for_each(|s| self.blocks.push(s));
                return Ok(true);
            }
            self.blocks.open();
            open.push((cond, then));
        }
        self.fill_points(name, outs, space, leaf)?;
        while let Some((cond, then)) = open.pop() {
            let otherwise = self.blocks.close();
            self.emit(StmtKind::If { cond, then, otherwise, results: Vec::new() });
        }
        Ok(true)
    }

    /// Tiles of an axis of so many elements, as many for each segment as make enough blocks in all.
    pub fn tiles_of_segments(&mut self, space: &[mono::Axis], n: Atom) -> L<Tiles> {
        let sizes = space.iter().map(|a| self.atom(a.size)).collect::<L<Vec<_>>>()?;
        let segments = self.product(&sizes)?;
        let segments = self.int(ScalarOp::Max2, segments, Atom::int(1))?;
        let wanted = self.int(ScalarOp::Quotient, self.size(Field::Reducing), segments)?;
        let wanted = self.int(ScalarOp::Max2, wanted, Atom::int(1))?;
        let each = self.tiles(n, wanted)?;
        let rounds = self.tiles(each, self.size(Field::Threads))?;
        let rounds = self.int(ScalarOp::Max2, rounds, self.size(Field::Items))?;
        let size = self.int(ScalarOp::Mul, rounds, self.size(Field::Threads))?;
        Ok(Tiles { size, count: self.tiles(n, size)? })
    }

    /// What the elements of each tile combine to, into `partials` at the tile's number; or of the only
    /// tile, from the operator's start on, into `outs`.
    #[expect(clippy::too_many_arguments, reason = "the parts of a reduction")]
    fn reduce_by_threads(
        &mut self,
        name: &str,
        threads: u32,
        space: &[mono::Axis],
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
        tiles: Tiles,
        partials: Option<&[Place]>,
        outs: &[Place],
    ) -> L<()> {
        self.kernel(name, |l| {
            let to = l.import_all(partials.unwrap_or(outs));
            let thread = l.threads(threads);
            let (mut at, tile) = l.segments(space, axis, tiles)?;
            let Range::Tile { index, .. } = tile else { return wrong("no tile") };
            let (count, items) = l.items_of_thread(thread, axis.var, tile, op, leaf)?;
            let (_, mut totals) = l.collective(false, count, &items, op)?;
            match (partials, &op.start) {
                (Some(_), _) => at.push(index),
                (None, Some(start)) => {
                    let start = l.atoms(start)?;
                    totals = l.combine(op, &start, totals.into_iter().map(Bound::Scalar).collect())?;
                }
                (None, None) => {}
            }
            l.by_one(thread, |l| {
                to.iter().zip(&totals).for_each(|(to, x)| l.store(to, &at, *x));
                Ok(())
            })
        })
    }

    pub fn seg_scan_by_threads(
        &mut self,
        pat: &[mono::Var],
        space: &[mono::Axis],
        axis: mono::Axis,
        scan: Scan<'_>,
        orders: &[Vec<usize>],
    ) -> L<()> {
        let Scan { kind, op, .. } = scan;
        let n = self.atom(axis.size)?;
        let params = &op.lambda.params[..op.lambda.body.results.len()];
        let block = ScanBlock::of(params.iter().map(|v| self.flat.vars[*v].ty.base.bits() / 8).sum(), |f| {
            self.number(f)
        });
        let size = Atom::int(block.tile());
        let tiles = Tiles { size, count: self.tiles(n, size)? };
        let outs = self.alloc_in(pat, orders)?;
        let handed = self.handed(space, tiles, op)?;
        self.kernel("scan", |l| {
            let outs = l.import_all(&outs);
            let thread = l.threads(block.threads);
            let (at, tile) = l.segments(space, axis, tiles)?;
            let shared = l.shared_parts(op, size);
            let part = l.load_part(thread, scan, tile, block, shared)?;
            let (count, items) = l.items_of_part(thread, &part, op)?;
            let (mine, totals) = l.collective(true, count, &items, op)?;
            let before = l.chain(&handed, &at, tile, &totals, op)?;
            let before = l.before_thread((thread, count), op, before, &mine)?;
            l.scan_part(thread, &part, kind, op, before)?;
            l.emit(StmtKind::Barrier);
            l.store_part(thread, &part, &scan, tile, &at, &outs)
        })?;
        if kind == mono::ScanKind::Full {
            self.total(space, n, tiles, op, &outs, handed.kept())?;
        }
        self.bind_outs(pat, outs)
    }
}

/// A tile's elements in shared memory.
pub(crate) struct Part {
    block: ScanBlock,
    shared: Vec<Place>,
    /// The number of the tile's first element, and how many it has.
    base: Atom,
    valid: Atom,
}

impl Leaf<'_> {
    /// Gives the kernel's blocks so many threads; the number of one.
    pub fn threads(&mut self, count: u32) -> Atom {
        let thread = self.plan.out.scalar("thread", BaseTy::I64);
        self.kernel.threads = Some((thread, count));
        Atom::Var(thread)
    }

    /// … as many as the schedule says.
    pub fn threads_of_block(&mut self) -> Atom {
        let count = self.number(Field::Threads) as u32;
        self.threads(count)
    }

    /// How many threads a block has.
    pub fn count(&self) -> Atom {
        Atom::int(self.kernel.threads.map_or(1, |(_, n)| i64::from(n)))
    }

    /// The indices of the point of a space with this number; the axes' variables are bound to them.
    pub fn point(&mut self, space: &[mono::Axis], p: Atom) -> L<Vec<Atom>> {
        if let [axis] = space {
            self.set(axis.var, p);
            return Ok(vec![p]);
        }
        let mut vars = Vec::new();
        let mut dims = Vec::new();
        for a in space {
            dims.push(self.atom(a.size)?);
            let name = self.plan.flat.vars[a.var].name.clone();
            let v = self.program().scalar(name.as_str(), BaseTy::I64);
            vars.push(v);
        }
        if !space.is_empty() {
            self.emit(StmtKind::Points { vars: vars.clone(), index: p, dims });
        }
        let at: Vec<Atom> = vars.into_iter().map(Atom::Var).collect();
        space.iter().zip(&at).for_each(|(a, i)| self.set(a.var, *i));
        Ok(at)
    }

    /// Statements that one thread runs.
    pub fn by_one(&mut self, thread: Atom, make: impl FnOnce(&mut Self) -> L<()>) -> L<()> {
        let cond = self.int(ScalarOp::Eq, thread, Atom::int(0))?;
        self.blocks.open();
        make(self)?;
        let then = self.blocks.close();
        self.emit(StmtKind::If { cond, then, otherwise: Vec::new(), results: Vec::new() });
        Ok(())
    }

    /// A zero of each accumulator's type: the item of a thread that has none.
    fn no_items(&self, op: &mono::Combine) -> Vec<Atom> {
        let params = &op.lambda.params[..op.lambda.body.results.len()];
        params.iter().map(|v| Atom::Const(zero(self.plan.flat.vars[*v].ty.base))).collect()
    }

    /// What a thread combines of a tile, and how many threads have something.
    pub fn items_of_thread(
        &mut self,
        thread: Atom,
        index: mono::Var,
        tile: Range,
        op: &mono::Combine,
        leaf: &mono::Body,
    ) -> L<(Atom, Vec<Atom>)> {
        let Range::Tile { index: b, size, limit } = tile else { return wrong("no tile") };
        let params = &op.lambda.params[..op.lambda.body.results.len()];
        let tys: Vec<BaseTy> = params.iter().map(|v| self.plan.flat.vars[*v].ty.base).collect();
        if schedule::lane_ops(op, &tys).is_some() {
            // In any order, from what changes nothing: all threads have something.
            let range = Range::Share { thread, threads: self.count(), index: b, size, limit };
            return Ok((self.count(), self.reduce_scalars(index, range, leaf, op, None)?));
        }
        let base = self.int(ScalarOp::Mul, b, size)?;
        let end = self.int(ScalarOp::Add, base, size)?;
        let end = self.int(ScalarOp::Min2, end, limit)?;
        let length = self.int(ScalarOp::Sub, end, base)?;
        let run = self.tiles(size, self.count())?;
        let count = self.tiles(length, run)?;
        let from = self.int(ScalarOp::Mul, thread, run)?;
        let from = self.int(ScalarOp::Add, base, from)?;
        let to = self.int(ScalarOp::Add, from, run)?;
        let to = self.int(ScalarOp::Min2, to, end)?;
        let some = self.int(ScalarOp::Lt, from, end)?;
        let none = self.no_items(op);
        let range = Range::Upto { from, to };
        let items =
            self.choose(some, |l| l.reduce_scalars(index, range, leaf, op, None), |_| Ok(none.clone()))?;
        Ok((count, items))
    }

    /// Combines an item of each of the first `count` threads: what comes before this thread's, of a scan,
    /// and the total.
    pub fn collective(
        &mut self,
        scan: bool,
        count: Atom,
        items: &[Atom],
        op: &mono::Combine,
    ) -> L<(Vec<Atom>, Vec<Atom>)> {
        let mut joined = Vec::new();
        for item in items {
            let p = self.program();
            let Some(ty) = p.scalar_ty(*item) else { return wrong("an array that threads combine") };
            joined.push(Joined {
                x: p.scalar("x", ty),
                y: p.scalar("y", ty),
                item: *item,
                before: scan.then(|| p.scalar("mine", ty)),
                total: p.scalar("all", ty),
            });
        }
        let xs: Vec<Atom> = joined.iter().map(|j| Atom::Var(j.x)).collect();
        let ys = joined.iter().map(|j| Bound::Scalar(Atom::Var(j.y))).collect();
        self.blocks.open();
        let next = self.combine(op, &xs, ys)?;
        let body = self.blocks.close();
        let before = joined.iter().filter_map(|j| j.before).map(Atom::Var).collect();
        let totals = joined.iter().map(|j| Atom::Var(j.total)).collect();
        self.emit(StmtKind::Collective { scan, count, joined, body, next });
        Ok((before, totals))
    }

    // ---- scans ----

    /// Shared memory for so many elements of each accumulator.
    pub fn shared_parts(&mut self, op: &mono::Combine, size: Atom) -> Vec<Place> {
        let mut shared = Vec::new();
        for v in &op.lambda.params[..op.lambda.body.results.len()] {
            let base = self.plan.flat.vars[*v].ty.base;
            let ty = BufferTy { base, dims: vec![size], space: Space::Shared };
            let buffer = self.program().buffer("part", ty);
            self.emit(StmtKind::Alloc { buffer });
            shared.push(Place::whole(buffer));
        }
        shared
    }

    /// Brings the elements of a tile into shared memory, neighbours by neighbours.
    pub fn load_part(
        &mut self,
        thread: Atom,
        scan: Scan,
        tile: Range,
        block: ScanBlock,
        shared: Vec<Place>,
    ) -> L<Part> {
        let Range::Tile { index: b, size, limit } = tile else { return wrong("no tile") };
        let base = self.int(ScalarOp::Mul, b, size)?;
        let left = self.int(ScalarOp::Sub, limit, base)?;
        let valid = self.int(ScalarOp::Min2, left, size)?;
        let threads = self.count();
        let range = Range::Share { thread, threads, index: Atom::int(0), size, limit: valid };
        self.each(How::Seq, "k", range, |l, k| {
            let i = l.int(ScalarOp::Add, base, k)?;
            l.set(scan.index, i);
            let elems = l.scalars(scan.leaf)?;
            shared.iter().zip(elems).for_each(|(to, x)| l.store(to, &[k], x));
            Ok(())
        })?;
        self.emit(StmtKind::Barrier);
        Ok(Part { block, shared, base, valid })
    }

    /// What a thread's run of a part combines to, and how many threads have one.
    pub fn items_of_part(&mut self, thread: Atom, part: &Part, op: &mono::Combine) -> L<(Atom, Vec<Atom>)> {
        let run = Atom::int(part.block.run);
        let count = self.tiles(part.valid, run)?;
        let from = self.int(ScalarOp::Mul, thread, run)?;
        let to = self.int(ScalarOp::Add, from, run)?;
        let to = self.int(ScalarOp::Min2, to, part.valid)?;
        let some = self.int(ScalarOp::Lt, from, part.valid)?;
        let none = self.no_items(op);
        let items = self.choose(
            some,
            |l| {
                let first = part.shared.iter().map(|p| l.load(p, &[from])).collect::<L<Vec<_>>>()?;
                let init: Vec<_> = first.into_iter().map(|a| (a, None)).collect();
                let second = l.int(ScalarOp::Add, from, Atom::int(1))?;
                l.carry(How::Seq, Range::Upto { from: second, to }, &init, |l, k, accs| {
                    let xs =
                        part.shared.iter().map(|p| Ok(Bound::Scalar(l.load(p, &[k])?))).collect::<L<_>>()?;
                    l.combine(op, accs, xs)
                })
            },
            |_| Ok(none.clone()),
        )?;
        Ok((count, items))
    }

    /// What comes before a thread's run, from what comes before the block and what the threads before have.
    ///
    /// The first thread has none before it, and `mine` is any value there, as it is past the first `count`: an operator
    /// that could stop the program is not applied to that.
    pub fn before_thread(
        &mut self,
        (thread, count): (Atom, Atom),
        op: &mono::Combine,
        block: Before,
        mine: &[Atom],
    ) -> L<Before> {
        let first = self.int(ScalarOp::Eq, thread, Atom::int(0))?;
        let can_stop = op.lambda.body.can_stop();
        let idle = if can_stop {
            let past = self.int(ScalarOp::Ge, thread, count)?;
            self.op(ScalarOp::Or, &[first, past])?
        } else {
            first
        };
        let bound = |xs: &[Atom]| xs.iter().map(|x| Bound::Scalar(*x)).collect::<Vec<_>>();
        let Some(some) = block.some else {
            let values = self.choose(
                idle,
                |_| Ok(block.values.clone()),
                |l| l.combine(op, &block.values, bound(mine)),
            )?;
            return Ok(Before { some: None, values });
        };
        let both = if can_stop {
            let busy = self.op(ScalarOp::Not, &[idle])?;
            self.op(ScalarOp::And, &[some, busy])?
        } else {
            some
        };
        let with = self.choose(both, |l| l.combine(op, &block.values, bound(mine)), |_| Ok(mine.to_vec()))?;
        let mut values = Vec::new();
        for (a, b) in block.values.iter().zip(with) {
            values.push(self.op(ScalarOp::Select, &[first, *a, b])?);
        }
        let later = self.op(ScalarOp::Not, &[first])?;
        let some = self.op(ScalarOp::Or, &[some, later])?;
        Ok(Before { some: Some(some), values })
    }

    /// A thread goes through its run again, and leaves prefixes there.
    pub fn scan_part(
        &mut self,
        thread: Atom,
        part: &Part,
        kind: mono::ScanKind,
        op: &mono::Combine,
        before: Before,
    ) -> L<()> {
        let range = Range::Tile { index: thread, size: Atom::int(part.block.run), limit: part.valid };
        let flag = before.some.map(|a| (a, None));
        let init: Vec<_> = flag.into_iter().chain(before.values.iter().map(|a| (*a, None))).collect();
        self.carry(How::Seq, range, &init, |l, k, accs| {
            let xs = part.shared.iter().map(|p| l.load(p, &[k])).collect::<L<Vec<_>>>()?;
            let bound = |xs: &[Atom]| xs.iter().map(|x| Bound::Scalar(*x)).collect::<Vec<_>>();
            let (accs, next) = match before.some {
                None => (accs, l.combine(op, accs, bound(&xs))?),
                Some(_) => {
                    let (some, accs) = (accs[0], &accs[1..]);
                    (accs, l.choose(some, |l| l.combine(op, accs, bound(&xs)), |_| Ok(xs.clone()))?)
                }
            };
            let stored = if kind == mono::ScanKind::Inclusive { &next[..] } else { accs };
            part.shared.iter().zip(stored).for_each(|(to, x)| l.store(to, &[k], *x));
            let flag = before.some.map(|_| Atom::Const(remc_base::Scalar::Bool(true)));
            Ok(flag.into_iter().chain(next).collect())
        })?;
        Ok(())
    }

    /// Writes what a scan gives of a part where it belongs, neighbours by neighbours.
    pub fn store_part(
        &mut self,
        thread: Atom,
        part: &Part,
        scan: &Scan<'_>,
        tile: Range,
        at: &[Atom],
        outs: &[Place],
    ) -> L<()> {
        let Range::Tile { index, size, limit } = tile else { return wrong("no tile") };
        let threads = self.count();
        let range = Range::Share { thread, threads, index, size, limit };
        self.each(How::Seq, "i", range, |l, i| {
            let k = l.int(ScalarOp::Sub, i, part.base)?;
            let prefixes = part.shared.iter().map(|from| l.load(from, &[k])).collect::<L<Vec<_>>>()?;
            l.store_prefixes(scan, &prefixes, at, i, outs)
        })
    }
}
