//! `seg-red` and `seg-scan`: partial results of tiles, and what is made of them.

use super::build::Emit;
use super::leaf::{Inner, Leaf};
use super::plan::Plan;
use super::seg::Tiles;
use super::{Bound, L, Place, schedule, wrong};
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;

impl Plan {
    /// The tiles of an axis that is reduced or scanned.
    pub fn axis_tiles(&mut self, n: Atom, leaf: &mono::Body) -> L<Tiles> {
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
        let count = op.lambda.body.results.len();
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
        let columns = space.split_last().filter(|(last, _)| {
            let s = self.shape(leaf, last.var);
            s.lanes && s.reads.contiguous > 0 && s.reads.strided == 0
        });
        let Some((last, outer)) = columns else {
            self.partial_rows(space, axis, op, leaf, tiles, &outs)?;
            return Ok(vars);
        };
        // Columns side by side run in lanes, if they are enough for a vector.
        let n = self.atom(last.size)?;
        let cond = self.int(ScalarOp::Ge, n, Atom::int(schedule::SHORT))?;
        self.blocks.open();
        self.partial_columns((outer, *last), axis, op, leaf, tiles, &outs)?;
        let then = self.blocks.close();
        self.blocks.open();
        self.partial_rows(space, axis, op, leaf, tiles, &outs)?;
        let otherwise = self.blocks.close();
        self.emit(StmtKind::If { cond, then, otherwise, results: Vec::new() });
        Ok(vars)
    }

    /// The partial results of each point by itself, in lanes along the axis where that pays.
    fn partial_rows(
        &mut self,
        space: &[mono::Axis],
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
        tiles: Tiles,
        outs: &[Place],
    ) -> L<()> {
        self.kernel("reduce", |l| {
            l.inner = Inner::Lanes;
            let outs = l.import_all(outs);
            let (mut at, tile) = l.segments(space, axis, tiles)?;
            let Range::Tile { index, .. } = tile else { return wrong("no tile") };
            at.push(index);
            // Every tile has an element, so none needs the start.
            let results = l.reduce_scalars(axis.var, tile, leaf, op, None)?;
            for (to, r) in outs.iter().zip(results) {
                l.store(to, &at, r);
            }
            Ok(())
        })
    }

    /// The partial results of neighbouring columns, in lanes.
    fn partial_columns(
        &mut self,
        (outer, last): (&[mono::Axis], mono::Axis),
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
        tiles: Tiles,
        outs: &[Place],
    ) -> L<()> {
        let n = self.atom(last.size)?;
        let width = schedule::lanes(self.shape(leaf, last.var).widest, 2);
        let size = Atom::int(schedule::ROUND.max(i64::from(width)));
        let columns = Tiles { size, count: self.tiles(n, size)? };
        self.kernel("reduce", |l| {
            l.inner = Inner::Serial;
            let outs = l.import_all(outs);
            let (mut at, tile) = l.segments(outer, axis, tiles)?;
            let Range::Tile { index, .. } = tile else { return wrong("no tile") };
            let column = l.grid_axis("c", columns.count);
            let limit = l.atom(last.size)?;
            let range = Range::Tile { index: column, size: columns.size, limit };
            l.each(How::Lanes(width), "j", range, |l, j| {
                l.set(last.var, j);
                at.extend([j, index]);
                let results = l.reduce_scalars(axis.var, tile, leaf, op, None)?;
                for (to, r) in outs.iter().zip(results) {
                    l.store(to, &at, r);
                }
                Ok(())
            })
        })
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

    pub fn seg_red(
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

    pub fn seg_scan(
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
    pub fn last_of_scan(
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
}

impl Leaf<'_> {
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
        if let Some((width, ops)) = self.scan_lanes(op, leaf, index) {
            let some = self.int(ScalarOp::Gt, b, Atom::int(0))?;
            let previous = self.int(ScalarOp::Sub, b, Atom::int(1))?;
            let previous = self.int(ScalarOp::Max2, previous, Atom::int(0))?;
            let mut init = Vec::new();
            for (p, (combine, neutral)) in befores.iter().zip(ops) {
                let before = if op.start.is_some() {
                    self.load(p, &there(b))?
                } else {
                    let x = self.load(p, &there(previous))?;
                    self.op(ScalarOp::Select, &[some, x, Atom::Const(neutral)])?
                };
                init.push((before, Some(combine)));
            }
            self.scan_loop(How::Scan(width), tile, &init, index, kind, op, leaf, at, outs)?;
            return Ok(());
        }
        if op.start.is_some() {
            let init = befores.iter().map(|p| self.load(p, &there(b))).collect::<L<Vec<_>>>()?;
            let init: Vec<_> = init.into_iter().map(|a| (a, None)).collect();
            self.scan_loop(How::Seq, tile, &init, index, kind, op, leaf, at, outs)?;
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

    /// Stores the combinations of the prefixes of a range; what it begins with is `init`.
    #[expect(clippy::too_many_arguments, reason = "the parts of a scan")]
    pub fn scan_loop(
        &mut self,
        how: How,
        range: Range,
        init: &[(Atom, Option<ScalarOp>)],
        index: mono::Var,
        kind: mono::ScanKind,
        op: &mono::Combine,
        leaf: &mono::Body,
        at: &[Atom],
        outs: &[Place],
    ) -> L<Vec<Atom>> {
        self.carry(how, range, init, |l, i, accs| {
            l.set(index, i);
            let elems = l.body(leaf)?;
            let next = l.combine(op, accs, elems)?;
            let stored = if kind == mono::ScanKind::Inclusive { &next } else { accs };
            let there: Vec<Atom> = at.iter().copied().chain([i]).collect();
            for (to, x) in outs.iter().zip(stored) {
                l.store(to, &there, *x);
            }
            Ok(next)
        })
    }

    /// In how many lanes a scan may run, with the operators of its accumulators and what they start from.
    pub fn scan_lanes(
        &self,
        op: &mono::Combine,
        leaf: &mono::Body,
        index: mono::Var,
    ) -> Option<(u32, Vec<(ScalarOp, remc_base::Scalar)>)> {
        let vars = &self.plan.flat.vars;
        let count = op.lambda.body.results.len();
        let tys: Vec<_> = op.lambda.params.iter().take(count).map(|v| vars[*v].ty.base).collect();
        let ops = schedule::lane_ops(op, &tys)?;
        schedule::lanes_of_body(self, leaf, index)?;
        let widest = tys.iter().map(|t| t.bits() / 8).max()?;
        Some((schedule::lanes(widest, 1), ops))
    }
}
