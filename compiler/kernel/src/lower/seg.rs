//! Parallel operators become kernels.
//!
//! | operator | kernels |
//! | --- | --- |
//! | `seg-map` | one: a grid of tiles of the first and the last axis of the space |
//! | `seg-red` | the partial results of tiles of the axis; a map of serial reductions over those |
//! | `seg-scan` | the partial results of tiles; a map of serial scans over those; the scan of each tile from what comes before it |
//! | `filter` | each tile moves what it keeps to the front of its part of a staging buffer; a scan of the numbers kept; a map over the result that finds its tile by binary search |
//! | `scatter` | a copy of the destination; the writes in order, in one block |
//! | `grade` | the keys; a sort by the runtime |
//!
//! Partial results are combined in the order of their tiles, and tiles depend on sizes alone: the result
//! is the same for any number of threads.

use super::build::{Emit, upto};
use super::leaf::{Inner, Leaf};
use super::plan::Plan;
use super::schedule::{self, Cost};
use super::{Bound, L, Place, wrong};
use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_flat::ir as flat;
use remc_mono::ir as mono;

/// What the tiles of a grid are.
#[derive(Clone, Copy)]
struct Tiles {
    size: Atom,
    count: Atom,
}

impl Plan {
    pub fn seg(&mut self, pat: &[mono::Var], seg: &flat::Seg) -> L<()> {
        match &seg.kind {
            flat::SegKind::Map => self.seg_map(pat, &seg.space, &seg.body),
            flat::SegKind::Red { axis, op } => self.seg_red(pat, &seg.space, *axis, op, &seg.body),
            flat::SegKind::Scan { axis, kind, op } => {
                self.seg_scan(pat, &seg.space, *axis, *kind, op, &seg.body)
            }
        }
    }

    // ---- maps ----

    pub fn seg_map(&mut self, pat: &[mono::Var], space: &[mono::Axis], leaf: &mono::Body) -> L<()> {
        let mut outs = Vec::new();
        for v in pat {
            let place = self.alloc_for(*v)?;
            outs.push(place);
        }
        self.fill("map", &outs, space, leaf)?;
        self.bind_outs(pat, outs)
    }

    /// What a kernel has made; a scalar is read by the host.
    fn bind_outs(&mut self, pat: &[mono::Var], outs: Vec<Place>) -> L<()> {
        for (v, out) in pat.iter().zip(outs) {
            let value = match self.flat.vars[*v].ty.is_scalar() {
                true => Bound::Scalar(self.load(&out, &[])?),
                false => Bound::Array(out),
            };
            self.set(*v, value);
        }
        Ok(())
    }

    fn cost(&self, leaf: &mono::Body) -> Cost {
        schedule::cost(leaf, &mut |a| self.atom(a).ok())
    }

    fn shape(&self, leaf: &mono::Body, var: mono::Var) -> schedule::Shape {
        schedule::shape(leaf, var, &|v| self.flat.vars[v].ty.clone())
    }

    /// Evaluates the leaf at every point of the space, into cells of `outs`.
    pub fn fill(&mut self, name: &str, outs: &[Place], space: &[mono::Axis], leaf: &mono::Body) -> L<()> {
        let Some((last, outer)) = space.split_last() else {
            return self.kernel(name, |l| {
                l.inner = Inner::Lanes;
                let outs = l.import_all(outs);
                l.body_into(leaf, &outs)
            });
        };
        let shape = self.shape(leaf, last.var);
        let lanes = shape.pays();
        let contraction = lanes && shape.loops;
        let jam = contraction
            && outer.last().is_some_and(|a| {
                let s = self.shape(leaf, a.var);
                s.lanes && s.inner.shared > 0
            });
        let cost = self.cost(leaf);
        let points = schedule::points(self, &cost)?;
        let n = self.atom(last.size)?;
        let wide = if lanes { schedule::round(self, points)? } else { points };
        let tile = Tiles { size: wide, count: self.tiles(n, wide)? };
        // Rows of a block: as many as make up its points.
        let rows = match outer {
            [] => None,
            [first, mid @ ..] => {
                let mut row = self.int(ScalarOp::Min2, n, wide)?;
                for a in mid {
                    let n = self.atom(a.size)?;
                    let n = self.int(ScalarOp::Min2, n, Atom::int(schedule::GRAIN))?;
                    row = self.int(ScalarOp::Mul, row, n)?;
                }
                row = self.int(ScalarOp::Max2, row, Atom::int(1))?;
                let mut size = self.int(ScalarOp::Quotient, points, row)?;
                let least = if jam && mid.is_empty() { i64::from(schedule::JAM) } else { 1 };
                size = self.int(ScalarOp::Max2, size, Atom::int(least))?;
                let n = self.atom(first.size)?;
                Some(Tiles { size, count: self.tiles(n, size)? })
            }
        };
        let how = match lanes {
            true => {
                // A jammed loop reads several vectors of a row at once; a long body has work enough in one.
                let vectors = match (jam, shape.loops && shape.ops <= 24) {
                    (true, _) => 4,
                    (_, true) => 2,
                    _ => 1,
                };
                How::Lanes(schedule::lanes(shape.widest, vectors))
            }
            false => How::Seq,
        };
        self.kernel(name, |l| {
            l.inner = if lanes { Inner::Serial } else { Inner::Lanes };
            let outs = l.import_all(outs);
            let last_tile = l.grid_axis("b", tile.count);
            let first_tile = rows.map(|r| l.grid_axis("r", r.count));
            // Blocks that follow one another share what they read: the columns of a product.
            if contraction && l.kernel.grid.len() == 2 {
            } else {
                l.kernel.grid.reverse();
            }
            let mut loops: Vec<(mono::Axis, How, Range)> = Vec::new();
            for (k, a) in outer.iter().enumerate() {
                let n = l.atom(a.size)?;
                let range = match (k, rows, first_tile) {
                    (0, Some(r), Some(index)) => {
                        let size = l.outer(r.size);
                        Range::Tile { index, size, limit: n }
                    }
                    _ => upto(n),
                };
                let how = if jam && k + 1 == outer.len() { How::Jam(schedule::JAM) } else { How::Seq };
                loops.push((*a, how, range));
            }
            let n = l.atom(last.size)?;
            let size = l.outer(tile.size);
            loops.push((*last, how, Range::Tile { index: last_tile, size, limit: n }));
            l.point_loops(&loops, leaf, &outs, &mut Vec::new())
        })
    }

    // ---- reductions ----

    /// The tiles of an axis that is reduced or scanned.
    fn axis_tiles(&mut self, n: Atom, leaf: &mono::Body) -> L<Tiles> {
        let cost = self.cost(leaf);
        let points = schedule::points(self, &cost)?;
        let points = schedule::round(self, points)?;
        Ok(Tiles { size: points, count: self.tiles(n, points)? })
    }

    /// For each point of the space and each tile of the axis, what the tile's elements combine to:
    /// arrays of the space's sizes, then the number of tiles.
    fn partials(
        &mut self,
        space: &[mono::Axis],
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
        tiles: Tiles,
    ) -> L<Vec<mono::Var>> {
        let count = op.lambda.params.len() / 2;
        let number = self.bind_size("tiles", tiles.count);
        let mut outs = Vec::new();
        let mut vars = Vec::new();
        for p in &op.lambda.params[..count] {
            let dims: Vec<mono::Atom> = space.iter().map(|a| a.size).chain([number]).collect();
            let ty = self.flat.vars[*p].ty.over(&dims);
            let v = self.fresh("partial", ty);
            let place = self.alloc_for(v)?;
            self.set(v, Bound::Array(place.clone()));
            outs.push(place);
            vars.push(v);
        }
        self.kernel("reduce", |l| {
            l.inner = Inner::Lanes;
            let outs = l.import_all(&outs);
            let (mut at, tile) = l.segments(space, axis, tiles)?;
            let Range::Tile { index, .. } = tile else { return wrong("no tile") };
            at.push(index);
            // Every tile has an element, so none needs the start.
            let results = l.reduce_scalars(axis.var, tile, leaf, op, None)?;
            for (to, r) in outs.iter().zip(results) {
                l.store(to, &at, r);
            }
            Ok(())
        })?;
        Ok(vars)
    }

    /// A size of the plan as an atom of Flat.
    fn bind_size(&mut self, name: &str, a: Atom) -> mono::Atom {
        if a.as_int().is_some() {
            return a;
        }
        let v = self.fresh(name, mono::Ty::int());
        self.set(v, Bound::Scalar(a));
        mono::Atom::Var(v)
    }

    fn seg_red(
        &mut self,
        pat: &[mono::Var],
        space: &[mono::Axis],
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
    ) -> L<()> {
        let n = self.atom(axis.size)?;
        let tiles = self.axis_tiles(n, leaf)?;
        let partials = self.partials(space, axis, op, leaf, tiles)?;
        // What is left is a short reduction for each point of the space.
        let (body, results) = self.over_partials(space, &partials, tiles.count, |p, index, size, elems| {
            let pat: Vec<mono::Var> =
                op.lambda.params[..partials.len()].iter().map(|v| p.copy_of(*v)).collect();
            let exp =
                mono::Exp::Reduce { axis: mono::Axis { var: index, size }, body: elems, op: op.clone() };
            (pat, exp)
        });
        let leaf = mono::Body { stmts: body, results };
        self.seg_map(pat, space, &leaf)
    }

    fn copy_of(&mut self, v: mono::Var) -> mono::Var {
        let info = self.flat.vars[v].clone();
        self.fresh(info.name.as_str(), info.ty)
    }

    /// A leaf with one loop over the tiles of partial results.
    fn over_partials(
        &mut self,
        space: &[mono::Axis],
        partials: &[mono::Var],
        tiles: Atom,
        make: impl FnOnce(&mut Plan, mono::Var, mono::Atom, mono::Body) -> (Vec<mono::Var>, mono::Exp),
    ) -> (Vec<mono::Stmt>, Vec<mono::Atom>) {
        let size = self.bind_size("tiles", tiles);
        let index = self.fresh("t", mono::Ty::int());
        let mut elems = mono::Body::default();
        for v in partials {
            let x = self.fresh("x", mono::Ty::scalar(self.flat.vars[*v].ty.base));
            let at = space.iter().map(|a| mono::Atom::Var(a.var)).chain([mono::Atom::Var(index)]).collect();
            let exp = mono::Exp::Index { array: *v, at };
            elems.stmts.push(mono::Stmt { pat: vec![x], exp, prov: self.prov });
            elems.results.push(mono::Atom::Var(x));
        }
        let (pat, exp) = make(self, index, size, elems);
        let results = pat.iter().map(|v| mono::Atom::Var(*v)).collect();
        (vec![mono::Stmt { pat, exp, prov: self.prov }], results)
    }

    // ---- scans ----

    fn seg_scan(
        &mut self,
        pat: &[mono::Var],
        space: &[mono::Axis],
        axis: mono::Axis,
        kind: mono::ScanKind,
        op: &mono::Combine,
        leaf: &mono::Body,
    ) -> L<()> {
        let n = self.atom(axis.size)?;
        let tiles = self.axis_tiles(n, leaf)?;
        let partials = self.partials(space, axis, op, leaf, tiles)?;
        // What comes before each tile; without a start, what comes up to its end.
        let before = match op.start {
            Some(_) => mono::ScanKind::Full,
            None => mono::ScanKind::Inclusive,
        };
        let (body, results) = self.over_partials(space, &partials, tiles.count, |p, index, size, elems| {
            let length = match (before, p.atom(size)) {
                (mono::ScanKind::Full, Ok(a)) => match p.int(ScalarOp::Add, a, Atom::int(1)) {
                    Ok(a) => p.bind_size("length", a),
                    Err(_) => size,
                },
                _ => size,
            };
            let pat = op.lambda.params[..partials.len()]
                .iter()
                .map(|v| {
                    let ty = p.flat.vars[*v].ty.over(&[length]);
                    p.fresh("before", ty)
                })
                .collect();
            let exp = mono::Exp::Scan {
                kind: before,
                axis: mono::Axis { var: index, size },
                body: elems,
                op: op.clone(),
            };
            (pat, exp)
        });
        let sizes: Vec<mono::Atom> = space.iter().map(|a| a.size).collect();
        let prefixes: Vec<mono::Var> = results
            .iter()
            .filter_map(|r| r.as_var())
            .map(|v| {
                let ty = self.flat.vars[v].ty.over(&sizes);
                self.fresh("before", ty)
            })
            .collect();
        self.seg_map(&prefixes, space, &mono::Body { stmts: body, results })?;

        let mut outs = Vec::new();
        for v in pat {
            let place = self.alloc_for(*v)?;
            outs.push(place);
        }
        let befores = prefixes.iter().map(|v| self.place(*v)).collect::<L<Vec<_>>>()?;
        self.kernel("scan", |l| {
            let (outs, befores) = (l.import_all(&outs), l.import_all(&befores));
            let (at, tile) = l.segments(space, axis, tiles)?;
            l.scan_tile(axis.var, tile, kind, op, leaf, &at, &outs, &befores)
        })?;
        if kind == mono::ScanKind::Full {
            self.last_of_scan(space, axis.size, tiles, &outs, &prefixes)?;
        }
        for (v, out) in pat.iter().zip(outs) {
            self.set(*v, Bound::Array(out));
        }
        Ok(())
    }

    /// The whole, at the end of a full scan: what comes after all tiles.
    fn last_of_scan(
        &mut self,
        space: &[mono::Axis],
        n: mono::Atom,
        tiles: Tiles,
        outs: &[Place],
        prefixes: &[mono::Var],
    ) -> L<()> {
        let n = self.atom(n)?;
        let befores = prefixes.iter().map(|v| self.place(*v)).collect::<L<Vec<_>>>()?;
        self.kernel("total", |l| {
            let (outs, befores) = (l.import_all(outs), l.import_all(&befores));
            let (n, count) = (l.outer(n), l.outer(tiles.count));
            let dims: Vec<Atom> = space.iter().map(|a| l.atom(a.size)).collect::<L<Vec<_>>>()?;
            l.each_of(&dims, &mut |l, at| {
                for (to, from) in outs.iter().zip(&befores) {
                    let x = l.load(&from.cell(at), &[count])?;
                    l.store(&to.cell(at), &[n], x);
                }
                Ok(())
            })
        })
    }

    // ---- writes to computed places ----

    pub fn scatter(
        &mut self,
        pat: &[mono::Var],
        dests: &[mono::Var],
        axis: mono::Axis,
        body: &mono::Body,
        combine: Option<&mono::Lambda>,
    ) -> L<()> {
        let mut outs = Vec::new();
        for (v, d) in pat.iter().zip(dests) {
            let out = self.alloc_for(*v)?;
            self.copy(*d, &out)?;
            outs.push(out);
        }
        self.kernel("scatter", |l| {
            let outs = l.import_all(&outs);
            let n = l.atom(axis.size)?;
            l.scatter_loop(upto(n), dests, axis.var, body, combine, &outs)
        })?;
        for (v, out) in pat.iter().zip(outs) {
            self.set(*v, Bound::Array(out));
        }
        Ok(())
    }

    pub fn filter(&mut self, pat: &[mono::Var], axis: mono::Axis, body: &mono::Body) -> L<()> {
        let [count, arrays @ ..] = pat else { return wrong("a filter without a count") };
        let n = self.atom(axis.size)?;
        let tiles = self.axis_tiles(n, body)?;
        let ty = |dims: Vec<Atom>, base: BaseTy| BufferTy { base, dims, space: Space::Global };
        let kept = Place::whole(self.alloc("kept", ty(vec![tiles.count], BaseTy::I64)));
        // One part of the staging buffers for each tile, as long as a tile.
        let mut staging = Vec::new();
        for v in arrays {
            let info = self.flat.vars[*v].clone();
            let cell = self.atoms(&info.ty.dims[1..])?;
            let dims = [tiles.count, tiles.size].into_iter().chain(cell).collect();
            staging.push(Place::whole(self.alloc("staging", ty(dims, info.ty.base))));
        }
        self.kernel("keep", |l| {
            let (kept, staging) = (l.import_all(std::slice::from_ref(&kept)), l.import_all(&staging));
            let (_, tile) = l.segments(&[], axis, tiles)?;
            let Range::Tile { index, .. } = tile else { return wrong("no tile") };
            let parts: Vec<Place> = staging.iter().map(|p| p.cell(&[index])).collect();
            let number = l.keep(tile, axis.var, body, &parts)?;
            l.store(&kept[0], &[index], number);
            Ok(())
        })?;
        // Where the items of each tile go.
        let length = self.int(ScalarOp::Add, tiles.count, Atom::int(1))?;
        let offsets = Place::whole(self.alloc("offsets", ty(vec![length], BaseTy::I64)));
        self.kernel("offsets", |l| {
            let (kept, offsets) = (l.import_place(&kept), l.import_place(&offsets));
            let nb = l.outer(tiles.count);
            let total = l.carry(How::Seq, upto(nb), &[(Atom::int(0), None)], |l, b, acc| {
                l.store(&offsets, &[b], acc[0]);
                let k = l.load(&kept, &[b])?;
                Ok(vec![l.int(ScalarOp::Add, acc[0], k)?])
            })?;
            l.store(&offsets, &[nb], total[0]);
            Ok(())
        })?;
        let total = self.load(&offsets, &[tiles.count])?;
        self.set(*count, Bound::Scalar(total));
        let mut outs = Vec::new();
        for v in arrays {
            let place = self.alloc_for(*v)?;
            outs.push(place);
        }
        self.compact(total, tiles, arrays, &staging, &offsets, &outs)?;
        for (v, out) in arrays.iter().zip(outs) {
            self.set(*v, Bound::Array(out));
        }
        Ok(())
    }

    /// Each item of the result is read from the part of its tile: a tile of the result finds the first
    /// one by binary search in the offsets, and then moves along.
    fn compact(
        &mut self,
        total: Atom,
        tiles: Tiles,
        arrays: &[mono::Var],
        staging: &[Place],
        offsets: &Place,
        outs: &[Place],
    ) -> L<()> {
        let size = Atom::int(schedule::GRAIN / 8);
        let count = self.tiles(total, size)?;
        self.kernel("compact", |l| {
            let (staging, outs, offsets) =
                (l.import_all(staging), l.import_all(outs), l.import_place(offsets));
            let (total, nb) = (l.outer(total), l.outer(tiles.count));
            let index = l.grid_axis("b", count);
            let from = l.int(ScalarOp::Mul, index, size)?;
            let first = l.last_at_most(&offsets, nb, from)?;
            let range = Range::Tile { index, size, limit: total };
            l.carry(How::Seq, range, &[(first, None)], |l, j, tile| {
                let t = l.advance(&offsets, tile[0], j)?;
                let start = l.load(&offsets, &[t])?;
                let k = l.int(ScalarOp::Sub, j, start)?;
                for ((from, to), v) in staging.iter().zip(&outs).zip(arrays) {
                    let dims = l.dims(*v)?;
                    l.copy(&dims[1..], &from.cell(&[t, k]), &to.cell(&[j]))?;
                }
                Ok(vec![t])
            })?;
            Ok(())
        })
    }

    pub fn grade(&mut self, pat: &[mono::Var], axis: mono::Axis, body: &mono::Body) -> L<()> {
        let [v] = pat else { return wrong("a sort with several results") };
        let keys: Vec<mono::Var> = body
            .results
            .iter()
            .map(|r| {
                let cell = match r {
                    mono::Atom::Var(k) => self.flat.vars[*k].ty.clone(),
                    mono::Atom::Const(c) => mono::Ty::scalar(c.ty()),
                };
                self.fresh("key", cell.over(&[axis.size]))
            })
            .collect();
        self.seg_map(&keys, &[axis], body)?;
        let keys = keys.iter().map(|k| Ok(self.place(*k)?.buffer)).collect::<L<Vec<_>>>()?;
        let out = self.alloc_for(*v)?;
        self.emit(StmtKind::Sort { keys, out: out.buffer });
        self.set(*v, Bound::Array(out));
        Ok(())
    }

    /// A copy of a view of an array that is wanted as a whole.
    pub fn view_copy(&mut self, v: mono::Var, view: &mono::View, array: mono::Var) -> L<()> {
        let out = self.alloc_for(v)?;
        let ty = self.flat.vars[v].ty.clone();
        let (source, dims) = (self.dims(array)?, self.dims(v)?);
        let from = self.place(array)?;
        let row = Cost { ops: 8, sizes: dims[1.min(dims.len())..].to_vec() };
        let points = schedule::points(self, &row)?;
        let tiles = match dims.first() {
            Some(n) => Some(Tiles { size: points, count: self.tiles(*n, points)? }),
            None => None,
        };
        let view = view.clone();
        self.kernel("view", |l| {
            let (from, to) = (l.import_place(&from), l.import_place(&out));
            let source: Vec<Atom> = source.iter().map(|a| l.outer(*a)).collect();
            let dims: Vec<Atom> = dims.iter().map(|a| l.outer(*a)).collect();
            match (tiles, dims.first()) {
                (Some(t), Some(n)) => {
                    let index = l.grid_axis("b", t.count);
                    let range = Range::Tile { index, size: l.outer(t.size), limit: *n };
                    l.view_tile(&view, &source, &dims, range, &from, &to)
                }
                _ => l.view(v, &view, array, &from, &to),
            }
        })?;
        debug_assert!(!ty.is_scalar());
        self.set(v, Bound::Array(out));
        Ok(())
    }
}

impl Leaf<'_> {
    /// The kernel's name for a size of the plan.
    pub fn outer(&mut self, a: Atom) -> Atom {
        self.kernel.import_atom(&mut self.plan.out, a)
    }

    fn import_place(&mut self, p: &Place) -> Place {
        self.kernel.import_place(&mut self.plan.out, p)
    }

    fn import_all(&mut self, places: &[Place]) -> Vec<Place> {
        places.iter().map(|p| self.import_place(p)).collect()
    }

    /// A new axis of the grid, of this many blocks.
    fn grid_axis(&mut self, name: &str, count: Atom) -> Atom {
        let count = self.outer(count);
        let var = self.plan.out.scalar(name, BaseTy::I64);
        self.kernel.grid.push((var, count));
        Atom::Var(var)
    }

    /// A grid over the points of a space and the tiles of an axis: where this block is, and its tile.
    fn segments(&mut self, space: &[mono::Axis], axis: mono::Axis, tiles: Tiles) -> L<(Vec<Atom>, Range)> {
        let mut at = Vec::new();
        for a in space {
            let n = self.plan.atom(a.size)?;
            let i = self.grid_axis("i", n);
            self.set(a.var, i);
            at.push(i);
        }
        let index = self.grid_axis("b", tiles.count);
        let limit = self.atom(axis.size)?;
        Ok((at, Range::Tile { index, size: self.outer(tiles.size), limit }))
    }

    fn point_loops(
        &mut self,
        loops: &[(mono::Axis, How, Range)],
        leaf: &mono::Body,
        outs: &[Place],
        at: &mut Vec<Atom>,
    ) -> L<()> {
        let [(axis, how, range), rest @ ..] = loops else {
            let cells: Vec<Place> = outs.iter().map(|o| o.cell(at)).collect();
            return self.body_into(leaf, &cells);
        };
        let name = self.plan.flat.vars[axis.var].name.clone();
        self.each(*how, name.as_str(), *range, |l, i| {
            l.set(axis.var, i);
            at.push(i);
            let done = l.point_loops(rest, leaf, outs, at);
            at.pop();
            done
        })
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a scan")]
    fn scan_tile(
        &mut self,
        index: mono::Var,
        tile: Range,
        kind: mono::ScanKind,
        op: &mono::Combine,
        leaf: &mono::Body,
        at: &[Atom],
        outs: &[Place],
        befores: &[Place],
    ) -> L<()> {
        let Range::Tile { index: b, .. } = tile else { return wrong("no tile") };
        let there = |i: Atom| -> Vec<Atom> { at.iter().copied().chain([i]).collect() };
        if op.start.is_some() {
            let init = befores.iter().map(|p| self.load(p, &there(b))).collect::<L<Vec<_>>>()?;
            let init: Vec<_> = init.into_iter().map(|a| (a, None)).collect();
            self.carry(How::Seq, tile, &init, |l, i, accs| {
                l.set(index, i);
                let elems = l.body(leaf)?;
                let next = l.combine(op, accs, elems)?;
                let stored = if kind == mono::ScanKind::Inclusive { &next } else { accs };
                for (to, x) in outs.iter().zip(stored) {
                    l.store(to, &there(i), *x);
                }
                Ok(next)
            })?;
            return Ok(());
        }
        // Without a start, the first element of a tile is combined with what the tiles before it gave,
        // unless there are none. It is an iteration of the tile's loop like any other: so the loop
        // carries whether there is something yet.
        let some = self.int(ScalarOp::Gt, b, Atom::int(0))?;
        let previous = self.int(ScalarOp::Sub, b, Atom::int(1))?;
        let previous = self.int(ScalarOp::Max2, previous, Atom::int(0))?;
        let mut init = vec![(some, None)];
        for p in befores {
            init.push((self.load(p, &there(previous))?, None));
        }
        self.carry(How::Seq, tile, &init, |l, i, accs| {
            l.set(index, i);
            let elems = l.scalars(leaf)?;
            let next = l.choose(
                accs[0],
                |l| l.combine(op, &accs[1..], elems.iter().map(|a| Bound::Scalar(*a)).collect()),
                |_| Ok(elems.clone()),
            )?;
            for (to, x) in outs.iter().zip(&next) {
                l.store(to, &there(i), *x);
            }
            Ok(std::iter::once(Atom::Const(remc_base::Scalar::Bool(true))).chain(next).collect())
        })?;
        Ok(())
    }

    /// The last of `n` tiles whose offset is at most `j`, which is below the last offset.
    fn last_at_most(&mut self, offsets: &Place, n: Atom, j: Atom) -> L<Atom> {
        let carried = self.carried(&[(Atom::int(0), None), (n, None)])?;
        let (lo, hi) = (Atom::Var(carried[0].param), Atom::Var(carried[1].param));
        self.blocks.open();
        let gap = self.int(ScalarOp::Sub, hi, lo)?;
        let test = self.int(ScalarOp::Gt, gap, Atom::int(1))?;
        let cond = self.blocks.close();
        self.blocks.open();
        let gap = self.int(ScalarOp::Sub, hi, lo)?;
        let half = self.int(ScalarOp::Quotient, gap, Atom::int(2))?;
        let mid = self.int(ScalarOp::Add, lo, half)?;
        let x = self.load(offsets, &[mid])?;
        let below = self.int(ScalarOp::Le, x, j)?;
        let lo = self.op(ScalarOp::Select, &[below, mid, lo])?;
        let hi = self.op(ScalarOp::Select, &[below, hi, mid])?;
        let body = self.blocks.close();
        let found = Atom::Var(carried[0].result);
        self.emit(StmtKind::While { carried, cond, test, body, next: vec![lo, hi] });
        Ok(found)
    }

    /// The first tile from `t` on that ends after `j`.
    fn advance(&mut self, offsets: &Place, t: Atom, j: Atom) -> L<Atom> {
        let carried = self.carried(&[(t, None)])?;
        let t = Atom::Var(carried[0].param);
        self.blocks.open();
        let next = self.int(ScalarOp::Add, t, Atom::int(1))?;
        let end = self.load(offsets, &[next])?;
        let test = self.int(ScalarOp::Le, end, j)?;
        let cond = self.blocks.close();
        self.blocks.open();
        let next = self.int(ScalarOp::Add, t, Atom::int(1))?;
        let body = self.blocks.close();
        let found = Atom::Var(carried[0].result);
        self.emit(StmtKind::While { carried, cond, test, body, next: vec![next] });
        Ok(found)
    }
}
