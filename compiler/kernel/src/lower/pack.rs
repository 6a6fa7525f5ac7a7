//! `scatter`, `filter` and `grade`: results whose places or number depend on the data.

use super::build::{Emit, upto};
use super::grid::Tiles;
use super::leaf::Leaf;
use super::plan::Plan;
use super::schedule;
use super::{Bound, L, Place, Row, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_flat::ir as flat;
use remc_mono::ir as mono;

/// A filter, and what its tiles keep.
struct Staged<'b> {
    count: mono::Var,
    arrays: &'b [mono::Var],
    filter: &'b flat::Filter,
    /// How many items each tile keeps.
    kept: Place,
    /// For each array, what each tile keeps.
    staging: Vec<Place>,
}

fn global(dims: Vec<Atom>, base: BaseTy) -> BufferTy {
    BufferTy { base, dims, space: Space::Global }
}

impl Plan {
    pub fn scatter(
        &mut self,
        pat: &[mono::Var],
        dests: &[mono::Var],
        axis: mono::Axis,
        body: &mono::Body,
        combine: Option<&mono::Lambda>,
    ) -> L<()> {
        // A destination that nothing else reads is written where it is. What the values are made from is read
        // while they are written.
        let mut kept = self.roots_of(body);
        kept.extend(combine.iter().flat_map(|c| self.roots_of(&c.body)));
        let mut outs = Vec::new();
        for d in dests {
            match self.owned((*d).into(), &mut kept)? {
                Atom::Var(buffer) => outs.push(Place::whole(buffer)),
                Atom::Const(_) => return wrong("a constant is written to"),
            }
        }
        let scatter = |p: &mut Self| {
            p.kernel("scatter", |l| {
                let outs = l.import_all(&outs);
                let n = l.atom(axis.size)?;
                l.scatter_loop(upto(n), dests, axis.var, body, combine, &outs)
            })
        };
        match self.run_of_items(dests, axis, body, combine)? {
            None => scatter(self)?,
            Some((start, values)) => {
                let row = Row { start, inner: Vec::new() };
                let to: Vec<Place> =
                    outs.iter().map(|o| Place { row: Some(row.clone()), ..o.clone() }).collect();
                // Nothing is written to a negative place.
                let there = self.int(ScalarOp::Ge, start, Atom::int(0))?;
                self.either(there, |p| p.fill("write", &to, &[axis], &values), scatter)?;
            }
        }
        for (v, out) in pat.iter().zip(outs) {
            self.set(*v, Bound::Array(out));
        }
        Ok(())
    }

    /// Where a scatter's items go, if that is one after the other from some place on, and what gives them: no two
    /// iterations write to one place then, and they may run in any order.
    fn run_of_items(
        &mut self,
        dests: &[mono::Var],
        axis: mono::Axis,
        body: &mono::Body,
        combine: Option<&mono::Lambda>,
    ) -> L<Option<(Atom, mono::Body)>> {
        let vectors = dests.iter().all(|d| self.flat.vars[*d].ty.rank() == 1);
        let Some((at, values)) = body.results.split_first().filter(|_| vectors && combine.is_none()) else {
            return Ok(None);
        };
        let made = |s: &&mono::Stmt| s.pat.iter().any(|v| mono::Atom::Var(*v) == *at);
        let Some(mono::Stmt { exp: mono::Exp::Op(ScalarOp::Add, args), .. }) = body.stmts.iter().find(made)
        else {
            return Ok(None);
        };
        let place = mono::Atom::Var(axis.var);
        let start = match args[..] {
            [a, b] if b == place && a != place => a,
            [a, b] if a == place && b != place => b,
            _ => return Ok(None),
        };
        let inside = body.binders();
        if start.as_var().is_some_and(|v| inside.contains(&v)) {
            return Ok(None);
        }
        let values = mono::Body { stmts: body.stmts.clone(), results: values.to_vec() };
        Ok(Some((self.atom(start)?, values)))
    }

    /// The filters of the same points, with the results of all: each tile is gone through for one after the other.
    pub fn filters(&mut self, pat: &[mono::Var], parts: &[flat::Filter]) -> L<()> {
        let Some(axis) = parts.first().map(|first| first.axis) else { return wrong("no filter") };
        let n = self.atom(axis.size)?;
        let all = parts.iter().flat_map(|part| part.body.stmts.iter().cloned()).collect();
        let tiles = self.axis_tiles(n, &mono::Body { stmts: all, results: Vec::new() })?;
        let mut filters = Vec::new();
        let mut rest = pat;
        for part in parts {
            self.prov = part.prov;
            let own;
            (own, rest) = rest.split_at(part.body.results.len().min(rest.len()));
            let [count, arrays @ ..] = own else { return wrong("a filter without a count") };
            filters.push(self.staged(*count, arrays, part, tiles)?);
        }
        self.prov = parts.first().map_or(self.prov, |part| part.prov);
        self.kernel("keep", |l| {
            let places: Vec<_> =
                filters.iter().map(|f| (l.import_place(&f.kept), l.import_all(&f.staging))).collect();
            let (_, tile) = l.segments(&[], axis, tiles)?;
            let Range::Tile { index, .. } = tile else { return wrong("no tile") };
            for (f, (kept, staging)) in filters.iter().zip(places) {
                let parts: Vec<Place> = staging.iter().map(|p| p.cell(&[index])).collect();
                let number = l.keep(tile, f.filter.axis.var, &f.filter.body, &parts)?;
                l.store(&kept, &[index], number);
            }
            Ok(())
        })?;
        // Where the items of each tile go.
        let length = self.int(ScalarOp::Add, tiles.count, Atom::int(1))?;
        let mut offsets = Vec::new();
        for _ in &filters {
            offsets.push(Place::whole(self.alloc("offsets", global(vec![length], BaseTy::I64))));
        }
        self.kernel("offsets", |l| {
            let nb = l.outer(tiles.count);
            for (f, offsets) in filters.iter().zip(&offsets) {
                let (kept, offsets) = (l.import_place(&f.kept), l.import_place(offsets));
                let total = l.carry(How::Seq, upto(nb), &[(Atom::int(0), None)], |l, b, acc| {
                    l.store(&offsets, &[b], acc[0]);
                    let k = l.load(&kept, &[b])?;
                    Ok(vec![l.int(ScalarOp::Add, acc[0], k)?])
                })?;
                l.store(&offsets, &[nb], total[0]);
            }
            Ok(())
        })?;
        // All numbers are known before anything is written: there may be one memory for what several keep.
        let mut totals = Vec::new();
        for (f, offsets) in filters.iter().zip(&offsets) {
            let total = self.load(offsets, &[tiles.count])?;
            self.set(f.count, Bound::Scalar(total));
            totals.push(total);
        }
        for ((f, offsets), total) in filters.iter().zip(&offsets).zip(totals) {
            self.prov = f.filter.prov;
            let outs = f.arrays.iter().map(|v| self.alloc_for(*v)).collect::<L<Vec<_>>>()?;
            self.compact(total, tiles, f, offsets, &outs)?;
            for (v, out) in f.arrays.iter().zip(outs) {
                self.set(*v, Bound::Array(out));
            }
        }
        Ok(())
    }

    /// Memory for what the tiles keep, one part for each tile, as long as a tile.
    fn staged<'b>(
        &mut self,
        count: mono::Var,
        arrays: &'b [mono::Var],
        filter: &'b flat::Filter,
        tiles: Tiles,
    ) -> L<Staged<'b>> {
        let kept = Place::whole(self.alloc("kept", global(vec![tiles.count], BaseTy::I64)));
        let mut staging = Vec::new();
        for v in arrays {
            let info = self.flat.vars[*v].clone();
            let cell = self.atoms(&info.ty.dims[1..])?;
            let dims = [tiles.count, tiles.size].into_iter().chain(cell).collect();
            staging.push(Place::whole(self.alloc("staging", global(dims, info.ty.base))));
        }
        Ok(Staged { count, arrays, filter, kept, staging })
    }

    /// Each item of the result is read from the part of its tile: a tile of the result finds the first one by binary
    /// search in the offsets. A thread of a GPU then moves along with its items; a thread of a processor copies what
    /// its tile of the result has in common with each part, in lanes.
    fn compact(
        &mut self,
        total: Atom,
        tiles: Tiles,
        filter: &Staged<'_>,
        offsets: &Place,
        outs: &[Place],
    ) -> L<()> {
        let arrays = filter.arrays;
        // Of tiles of one item it could not be seen that they are tiles: the product is folded.
        let size = Atom::int((self.grain() / self.number(Field::FilterParts)).max(2));
        let count = self.tiles(total, size)?;
        let threads = self.threads;
        self.kernel("compact", |l| {
            let (staging, outs, offsets) =
                (l.import_all(&filter.staging), l.import_all(outs), l.import_place(offsets));
            let (total, nb) = (l.outer(total), l.outer(tiles.count));
            let index = l.grid_axis("b", count);
            let from = l.int(ScalarOp::Mul, index, size)?;
            let first = l.last_at_most(&offsets, nb, from)?;
            let item = |l: &mut Leaf<'_>, t: Atom, start: Atom, j: Atom| {
                let k = l.int(ScalarOp::Sub, j, start)?;
                for ((from, to), v) in staging.iter().zip(&outs).zip(arrays) {
                    let dims = l.dims(*v)?;
                    l.copy(&dims[1..], &from.cell(&[t, k]), &to.cell(&[j]))?;
                }
                L::Ok(())
            };
            if threads {
                let range = Range::Tile { index, size, limit: total };
                l.carry(How::Seq, range, &[(first, None)], |l, j, tile| {
                    let t = l.advance(&offsets, tile[0], j)?;
                    let start = l.load(&offsets, &[t])?;
                    item(l, t, start, j)?;
                    Ok(vec![t])
                })?;
                return Ok(());
            }
            let how = l.copies_in(arrays);
            let end = l.int(ScalarOp::Add, from, size)?;
            let limit = l.int(ScalarOp::Min2, end, total)?;
            l.repeat(
                &[first],
                |l, t| {
                    let start = l.load(&offsets, t)?;
                    l.int(ScalarOp::Lt, start, limit)
                },
                |l, t| {
                    let start = l.load(&offsets, t)?;
                    let next = l.int(ScalarOp::Add, t[0], Atom::int(1))?;
                    let stop = l.load(&offsets, &[next])?;
                    let lo = l.int(ScalarOp::Max2, start, from)?;
                    let hi = l.int(ScalarOp::Min2, stop, end)?;
                    l.each(how, "j", Range::Upto { from: lo, to: hi }, |l, j| item(l, t[0], start, j))?;
                    Ok(vec![next])
                },
            )?;
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
}

impl Leaf<'_> {
    /// How items of these arrays are copied one beside the other.
    fn copies_in(&self, arrays: &[mono::Var]) -> How {
        let vars = &self.plan.flat.vars;
        let widest = arrays.iter().map(|v| vars[*v].ty.base.bits() / 8).max();
        match widest {
            Some(bytes) if arrays.iter().all(|v| vars[*v].ty.rank() == 1) => {
                How::Lanes(schedule::lanes(bytes, 1))
            }
            _ => How::Seq,
        }
    }

    /// The last of `n` tiles whose offset is at most `j`, which is below the last offset.
    fn last_at_most(&mut self, offsets: &Place, n: Atom, j: Atom) -> L<Atom> {
        let found = self.repeat(
            &[Atom::int(0), n],
            |l, s| {
                let gap = l.int(ScalarOp::Sub, s[1], s[0])?;
                l.int(ScalarOp::Gt, gap, Atom::int(1))
            },
            |l, s| {
                let (lo, hi) = (s[0], s[1]);
                let gap = l.int(ScalarOp::Sub, hi, lo)?;
                let half = l.int(ScalarOp::Quotient, gap, Atom::int(2))?;
                let mid = l.int(ScalarOp::Add, lo, half)?;
                let x = l.load(offsets, &[mid])?;
                let below = l.int(ScalarOp::Le, x, j)?;
                let lo = l.op(ScalarOp::Select, &[below, mid, lo])?;
                Ok(vec![lo, l.op(ScalarOp::Select, &[below, hi, mid])?])
            },
        )?;
        Ok(found[0])
    }

    /// The first tile from `t` on that ends after `j`.
    fn advance(&mut self, offsets: &Place, t: Atom, j: Atom) -> L<Atom> {
        let found = self.repeat(
            &[t],
            |l, t| {
                let next = l.int(ScalarOp::Add, t[0], Atom::int(1))?;
                let end = l.load(offsets, &[next])?;
                l.int(ScalarOp::Le, end, j)
            },
            |l, t| Ok(vec![l.int(ScalarOp::Add, t[0], Atom::int(1))?]),
        )?;
        Ok(found[0])
    }
}
