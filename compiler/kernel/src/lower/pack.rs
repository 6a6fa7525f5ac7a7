//! `scatter`, `filter` and `grade`: results whose places or number depend on the data.

use super::build::{Emit, upto};
use super::leaf::Leaf;
use super::plan::Plan;
use super::schedule;
use super::seg::Tiles;
use super::{Bound, L, Place, wrong};
use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;

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

    /// Each item of the result is read from the part of its tile: a tile of the result finds the first one by binary
    /// search in the offsets. A thread of a GPU then moves along with its items; a thread of a processor copies what
    /// its tile of the result has in common with each part, in lanes.
    fn compact(
        &mut self,
        total: Atom,
        tiles: Tiles,
        arrays: &[mono::Var],
        staging: &[Place],
        offsets: &Place,
        outs: &[Place],
    ) -> L<()> {
        // Of tiles of one item it could not be seen that they are tiles: the product is folded.
        let size = Atom::int((self.target.grain / 8).max(2));
        let count = self.tiles(total, size)?;
        let threads = self.target.threads;
        self.kernel("compact", |l| {
            let (staging, outs, offsets) =
                (l.import_all(staging), l.import_all(outs), l.import_place(offsets));
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
            let carried = l.carried(&[(first, None)])?;
            let t = Atom::Var(carried[0].param);
            l.blocks.open();
            let start = l.load(&offsets, &[t])?;
            let test = l.int(ScalarOp::Lt, start, limit)?;
            let cond = l.blocks.close();
            l.blocks.open();
            let start = l.load(&offsets, &[t])?;
            let next = l.int(ScalarOp::Add, t, Atom::int(1))?;
            let stop = l.load(&offsets, &[next])?;
            let lo = l.int(ScalarOp::Max2, start, from)?;
            let hi = l.int(ScalarOp::Min2, stop, end)?;
            l.each(how, "j", Range::Upto { from: lo, to: hi }, |l, j| item(l, t, start, j))?;
            let body = l.blocks.close();
            l.emit(StmtKind::While { carried, cond, test, body, next: vec![next] });
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
