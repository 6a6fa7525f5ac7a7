//! `filter`: each tile keeps items in its part of a staging buffer; where those go is known once all tiles have.
//!
//! ```text
//! (kernel "keep" (grid (%b tiles)) … (for seq %i (tile %b size %n) ((%k %kept 0)) … (if %c (then (store %part (%b %k) %x)) …)))
//! (kernel "offsets" …)                       a full scan of the numbers kept
//! (kernel "compact" …)                       each tile's items to where they belong
//! ```
//!
//! A thread of a processor goes through its tile one by one, or in lanes where the loop has the form that [`crate::keep`]
//! takes apart; a tile of the result then finds the parts that it is made of by binary search.
//!
//! The threads of a GPU's block ask for neighbouring items, round by round; a collective counts those before each of them
//! that are kept, which says where in the block's part an item goes:
//!
//! ```text
//! (for seq %r (upto 0 rounds) ((%base %kept 0))
//!   … (let %one (op select %c 1 0))
//!   (collective scan 256 ((%x %y %one %before %all)) (let %q (op + %x %y)) (next %q))
//!   (let %at (op + %base %before)) (if %c (then (store %part (%b %at) %x)) …)
//!   (let %more (op + %base %all)) (next %more))
//! ```
//!
//! Then each block moves its part as one piece. The result of a filter depends on no number of threads in either way.

use super::build::{Emit, upto};
use super::grid::Tiles;
use super::leaf::Leaf;
use super::plan::Plan;
use super::scan::Scan;
use super::{Bound, L, Place, schedule, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::{ScalarOp, zero};
use remc_base::{BaseTy, Scalar};
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
    /// The filters of the same points, with the results of all: each tile is gone through for one after the other.
    pub fn filters(&mut self, pat: &[mono::Var], parts: &[flat::Filter]) -> L<()> {
        let Some(axis) = parts.first().map(|first| first.axis) else { return wrong("no filter") };
        let n = self.atom(axis.size)?;
        let all = parts.iter().flat_map(|part| part.body.stmts.iter().cloned()).collect();
        let tiles = match self.threads {
            true => self.tiles_of_rounds(n)?,
            false => self.tiles_of_lanes(n, &mono::Body { stmts: all, results: Vec::new() })?,
        };
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
            let thread = l.plan.threads.then(|| l.threads_of_block());
            let (_, tile) = l.segments(&[], axis, tiles)?;
            let Range::Tile { index, .. } = tile else { return wrong("no tile") };
            for (f, (kept, staging)) in filters.iter().zip(places) {
                let parts: Vec<Place> = staging.iter().map(|p| p.cell(&[index])).collect();
                let Some(thread) = thread else {
                    let number = l.keep(tile, f.filter.axis.var, &f.filter.body, &parts)?;
                    l.store(&kept, &[index], number);
                    continue;
                };
                let number = l.keep_by_threads(thread, tile, f.filter, &parts)?;
                l.by_one(thread, |l| {
                    l.store(&kept, &[index], number);
                    Ok(())
                })?;
            }
            Ok(())
        })?;
        let offsets = self.offsets(&filters, tiles)?;
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

    /// Where the items of each tile go, of each filter, and how many there are in all.
    fn offsets(&mut self, filters: &[Staged<'_>], tiles: Tiles) -> L<Vec<Place>> {
        if self.threads {
            return filters.iter().map(|f| self.sums_before(&f.kept, tiles.count)).collect();
        }
        let length = self.int(ScalarOp::Add, tiles.count, Atom::int(1))?;
        let mut all = Vec::new();
        for _ in filters {
            all.push(Place::whole(self.alloc("offsets", global(vec![length], BaseTy::I64))));
        }
        self.kernel("offsets", |l| {
            let nb = l.outer(tiles.count);
            for (f, offsets) in filters.iter().zip(&all) {
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
        Ok(all)
    }

    /// The sums of the first 0 to `n` of `n` ints, by all threads.
    pub fn sums_before(&mut self, counts: &Place, n: Atom) -> L<Place> {
        let size = self.bind_size("n", n);
        let length = self.int(ScalarOp::Add, n, Atom::int(1))?;
        let length = self.bind_size("n", length);
        let [from, to] = [("counts", size), ("offsets", length)]
            .map(|(name, size)| self.fresh(name, mono::Ty::int().over(&[size])));
        self.set(from, Bound::Array(counts.clone()));
        let [i, c, x, y, q] = ["i", "c", "x", "y", "q"].map(|name| self.fresh(name, mono::Ty::int()));
        let prov = self.prov;
        let body = |v: mono::Var, exp: mono::Exp| mono::Body {
            stmts: vec![mono::Stmt { pat: vec![v], exp, prov }],
            results: vec![v.into()],
        };
        let leaf = body(c, mono::Exp::Index { array: from, at: vec![i.into()] });
        let sum = body(q, mono::Exp::Op(ScalarOp::Add, vec![x.into(), y.into()]));
        let lambda = mono::Lambda { params: vec![x, y], body: sum };
        let op = mono::Combine {
            lambda,
            start: Some(vec![mono::Atom::Const(Scalar::I64(0))]),
            assoc: true,
            alone: false,
        };
        let scan = Scan { index: i, kind: mono::ScanKind::Full, op: &op, leaf: &leaf, epilogue: None };
        self.seg_scan(&[to], &[], size, scan, &[])?;
        self.place(to)
    }

    /// Tiles of an axis, whose items lanes ask several at a time.
    fn tiles_of_lanes(&mut self, n: Atom, body: &mono::Body) -> L<Tiles> {
        let size = self.axis_tile(body)?;
        let more = self.int(ScalarOp::Mul, size, Atom::int(schedule::lanes(8, 1).into()))?;
        let more = self.int(ScalarOp::Min2, more, Atom::int(self.moved_at_once()))?;
        let size = self.int(ScalarOp::Max2, size, more)?;
        Ok(Tiles { size, count: self.tiles(n, size)? })
    }

    /// How many items that are kept are moved at once.
    fn moved_at_once(&self) -> i64 {
        // Of tiles of one item it could not be seen that they are tiles: the product is folded.
        (self.grain() / self.number(Field::FilterParts)).max(2)
    }

    /// Tiles of an axis for blocks that go through them in rounds, of a few items for each thread.
    fn tiles_of_rounds(&mut self, n: Atom) -> L<Tiles> {
        let round = self.number(Field::Threads) * self.number(Field::Packed);
        let rounds = self.tiles(n, Atom::int(round * self.number(Field::Reducing)))?;
        let most = self.number(Field::FilterItems) / self.number(Field::Packed);
        let rounds = self.int(ScalarOp::Min2, rounds, Atom::int(most.max(1)))?;
        let rounds = self.int(ScalarOp::Max2, rounds, Atom::int(1))?;
        let size = self.int(ScalarOp::Mul, rounds, Atom::int(round))?;
        Ok(Tiles { size, count: self.tiles(n, size)? })
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
    /// search in the offsets, and copies what it has in common with each part, in lanes.
    fn compact(
        &mut self,
        total: Atom,
        tiles: Tiles,
        filter: &Staged<'_>,
        offsets: &Place,
        outs: &[Place],
    ) -> L<()> {
        if self.threads {
            return self.compact_by_threads(tiles, filter, offsets, outs);
        }
        let size = Atom::int(self.moved_at_once());
        let count = self.tiles(total, size)?;
        self.kernel("compact", |l| {
            let (staging, outs, offsets) =
                (l.import_all(&filter.staging), l.import_all(outs), l.import_place(offsets));
            let (total, nb) = (l.outer(total), l.outer(tiles.count));
            let index = l.grid_axis("b", count);
            let from = l.int(ScalarOp::Mul, index, size)?;
            let first = l.last_at_most(&offsets, nb, from)?;
            let how = l.copies_in(filter.arrays);
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
                    l.each(how, "j", Range::Upto { from: lo, to: hi }, |l, j| {
                        let k = l.int(ScalarOp::Sub, j, start)?;
                        l.move_item(filter.arrays, &staging, &outs, (t[0], k), j)
                    })?;
                    Ok(vec![next])
                },
            )?;
            Ok(())
        })
    }

    /// Each block moves the part of its tile.
    fn compact_by_threads(
        &mut self,
        tiles: Tiles,
        filter: &Staged<'_>,
        offsets: &Place,
        outs: &[Place],
    ) -> L<()> {
        self.kernel("compact", |l| {
            let (staging, outs, offsets) =
                (l.import_all(&filter.staging), l.import_all(outs), l.import_place(offsets));
            l.kernel.rows = outs.iter().map(|o| (o.buffer, offsets.buffer)).collect();
            let thread = l.threads_of_block();
            let tile = l.grid_axis("b", tiles.count);
            let next = l.int(ScalarOp::Add, tile, Atom::int(1))?;
            let [start, stop] = [tile, next].map(|t| l.load(&offsets, &[t]));
            let start = start?;
            let number = l.int(ScalarOp::Sub, stop?, start)?;
            let range = Range::Share {
                thread,
                threads: l.size(Field::Threads),
                index: Atom::int(0),
                size: number,
                limit: number,
            };
            l.each(How::Seq, "k", range, |l, k| {
                let j = l.int(ScalarOp::Add, start, k)?;
                l.move_item(filter.arrays, &staging, &outs, (tile, k), j)
            })
        })
    }
}

impl Leaf<'_> {
    /// Moves item `k` of a tile's part to place `j` of the result.
    fn move_item(
        &mut self,
        arrays: &[mono::Var],
        staging: &[Place],
        outs: &[Place],
        (tile, k): (Atom, Atom),
        j: Atom,
    ) -> L<()> {
        for ((from, to), v) in staging.iter().zip(outs).zip(arrays) {
            let dims = self.dims(*v)?;
            self.copy(&dims[1..], &from.cell(&[tile, k]), &to.cell(&[j]))?;
        }
        Ok(())
    }

    /// Moves what the threads of a block keep of a tile to the front of `outs`, in order; how many they are, which all
    /// threads know.
    fn keep_by_threads(
        &mut self,
        thread: Atom,
        tile: Range,
        filter: &flat::Filter,
        outs: &[Place],
    ) -> L<Atom> {
        let Range::Tile { index, size, limit } = tile else { return wrong("no tile") };
        let flat::Filter { axis, body, .. } = filter;
        let each = self.items_of_filter(body);
        let round = Atom::int(i64::from(self.kernel.threads.map_or(1, |(_, n)| n)) * each);
        let rounds = self.int(ScalarOp::Quotient, size, round)?;
        let base = self.int(ScalarOp::Mul, index, size)?;
        let first = self.int(ScalarOp::Mul, thread, Atom::int(each))?;
        let first = self.int(ScalarOp::Add, base, first)?;
        let [flag, values @ ..] = body.results.as_slice() else { return wrong("a filter without a flag") };
        // Numbers stay in registers from the question to the answer; arrays are asked for again.
        let numbers: Vec<mono::Atom> = values.iter().copied().filter(|a| self.is_number(*a)).collect();
        let asked: Vec<mono::Atom> = std::iter::once(*flag).chain(numbers.iter().copied()).collect();
        let nothing: Vec<Atom> =
            asked.iter().map(|a| self.base_of(*a).map(|ty| Atom::Const(zero(ty)))).collect::<L<_>>()?;
        let asked = mono::Body { stmts: body.stmts.clone(), results: asked };
        let kept = self.carry(How::Seq, upto(rounds), &[(Atom::int(0), None)], |l, r, sofar| {
            let ahead = l.int(ScalarOp::Mul, r, round)?;
            let first = l.int(ScalarOp::Add, first, ahead)?;
            let mut items = Vec::new();
            let mut kept = Atom::int(0);
            // All are asked for before the first answer is needed.
            for k in 0..each {
                let i = l.int(ScalarOp::Add, first, Atom::int(k))?;
                let inside = l.int(ScalarOp::Lt, i, limit)?;
                l.set(axis.var, i);
                let found = l.choose(inside, |l| l.scalars(&asked), |_| Ok(nothing.clone()))?;
                items.push((i, found));
            }
            let mut places = Vec::new();
            for (_, found) in &items {
                let one = l.op(ScalarOp::Select, &[found[0], Atom::int(1), Atom::int(0)])?;
                places.push(kept);
                kept = l.int(ScalarOp::Add, kept, one)?;
            }
            let (before, all) = l.count_before(kept)?;
            let start = l.int(ScalarOp::Add, sofar[0], before)?;
            for ((i, found), own) in items.iter().zip(places) {
                l.blocks.open();
                l.set(axis.var, *i);
                let to = l.int(ScalarOp::Add, start, own)?;
                let again = if numbers.len() < values.len() { l.body(body)? } else { Vec::new() };
                let mut numbers = found[1..].iter();
                for (k, (a, out)) in values.iter().zip(outs).enumerate() {
                    let to = out.cell(&[to]);
                    match (a, again.get(k + 1)) {
                        (mono::Atom::Var(v), Some(value)) if !l.is_number(*a) => {
                            l.copy_value(*v, value, &to)?
                        }
                        _ => {
                            let Some(x) = numbers.next() else {
                                return wrong("a value that was not asked for");
                            };
                            l.store(&to, &[], *x);
                        }
                    }
                }
                let then = l.blocks.close();
                l.emit(StmtKind::If { cond: found[0], then, otherwise: Vec::new(), results: Vec::new() });
            }
            Ok(vec![l.int(ScalarOp::Add, sofar[0], all)?])
        })?;
        Ok(kept[0])
    }

    /// How many neighbours a thread asks for at a time: one where that is work enough.
    fn items_of_filter(&self, body: &mono::Body) -> i64 {
        let short = body.stmts.len() as i64 <= self.number(Field::LongBody)
            && body.stmts.iter().all(|s| s.exp.bodies().is_empty());
        if short { self.number(Field::Packed) } else { 1 }
    }

    fn is_number(&self, a: mono::Atom) -> bool {
        a.as_var().is_none_or(|v| self.plan.flat.vars[v].ty.is_scalar())
    }

    fn base_of(&self, a: mono::Atom) -> L<BaseTy> {
        Ok(match a {
            mono::Atom::Var(v) => self.plan.flat.vars[v].ty.base,
            mono::Atom::Const(c) => c.ty(),
        })
    }

    /// The sum of the ints of the threads before this one, and of all.
    fn count_before(&mut self, item: Atom) -> L<(Atom, Atom)> {
        let p = self.program();
        let [x, y, before, total] = ["x", "y", "before", "total"].map(|name| p.scalar(name, BaseTy::I64));
        self.blocks.open();
        let sum = self.int(ScalarOp::Add, Atom::Var(x), Atom::Var(y))?;
        let body = self.blocks.close();
        let joined = vec![Joined { x, y, item, before: Some(before), total }];
        let count = self.count();
        self.emit(StmtKind::Collective { scan: true, count, joined, body, next: vec![sum] });
        Ok((Atom::Var(before), Atom::Var(total)))
    }

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
}
