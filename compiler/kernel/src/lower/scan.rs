//! `seg-scan`: each tile of an axis is reduced, waits for what comes before it, and is scanned.
//!
//! ```text
//! (kernel "scan" (grid (%b tiles)) …
//!   (for (lanes 32) %i (tile %b size %n) ((%acc %sum 0 +)) …)               the tile's sum
//!   (chain %state (%b) ((%before %x 0 %sum %kept)) (let %q (op + %before %x)) (next %q))
//!   (for (scan 8) %i (tile %b size %n) ((%acc.1 %all %before +)) … (store %ys (%i) …)))
//! ```
//!
//! A tile is small enough for a cache to have it when it is gone through again, so that the array is read
//! from memory once. The chain adds tile after tile, so that the result depends on the sizes alone.
//!
//! On a processor a scan of which the prefixes before each tile are known needs neither the first loop nor the chain:
//! its tiles are those of what is known, and each is the last loop alone, from the prefix that it loads.

use super::build::Emit;
use super::grid::Tiles;
use super::leaf::{Inner, Leaf};
use super::plan::Plan;
use super::{Bound, L, Place, schedule, wrong};
use crate::ir::*;
use remc_base::ops::{ScalarOp, zero};
use remc_base::{BaseTy, Scalar};
use remc_flat::ir as flat;
use remc_mono::ir as mono;

/// What the blocks of a scan hand on, and whether they have.
pub(crate) struct Handed {
    state: Place,
    kept: Vec<Place>,
    /// What each block has itself, for a GPU's blocks to look back at.
    own: Vec<Place>,
    /// Whether there is anything before, kept where the operator has no start.
    some: Option<Place>,
    some_own: Option<Place>,
}

impl Handed {
    pub fn kept(&self) -> &[Place] {
        &self.kept
    }
}

/// What comes before a tile.
pub(crate) struct Before {
    /// Whether there is anything; where the operator has a start there always is.
    pub some: Option<Atom>,
    pub values: Vec<Atom>,
}

/// A scan.
#[derive(Clone, Copy)]
pub(crate) struct Scan<'s> {
    pub index: mono::Var,
    pub kind: mono::ScanKind,
    pub op: &'s mono::Combine,
    pub leaf: &'s mono::Body,
    /// What is stored of the prefixes at a point; without one these themselves.
    pub epilogue: Option<&'s mono::Lambda>,
}

impl Plan {
    pub fn seg_scan(
        &mut self,
        pat: &[mono::Var],
        space: &[mono::Axis],
        size: mono::Atom,
        scan: Scan<'_>,
        orders: &[Vec<usize>],
    ) -> L<()> {
        let Scan { index, kind, op, leaf, .. } = scan;
        let axis = mono::Axis { var: index, size };
        if self.threads {
            return self.seg_scan_by_threads(pat, space, axis, scan, orders);
        }
        let n = self.atom(size)?;
        let tiles = self.axis_tiles(n, leaf)?;
        let outs = self.alloc_in(pat, orders)?;
        let handed = self.handed(space, tiles, op)?;
        self.kernel("scan", |l| {
            l.inner = Inner::Lanes;
            let outs = l.import_all(&outs);
            let (at, tile) = l.segments(space, axis, tiles)?;
            // Every tile has an element, so none needs the start.
            let items = l.reduce_scalars(index, tile, leaf, op, None)?;
            let before = l.chain(&handed, &at, tile, &items, op)?;
            l.scan_tile(scan, tile, before, &at, &outs).map(drop)
        })?;
        if kind == mono::ScanKind::Full {
            self.total(space, n, tiles, op, &outs, &handed.kept)?;
        }
        self.bind_outs(pat, outs)
    }

    /// Memory for results whose axes are in these orders.
    pub fn alloc_in(&mut self, pat: &[mono::Var], orders: &[Vec<usize>]) -> L<Vec<Place>> {
        let orders = orders.iter().cloned().chain(std::iter::repeat_with(Vec::new));
        let one = |(v, order): (&mono::Var, Vec<usize>)| Ok(Place { order, ..self.alloc_for(*v)? });
        pat.iter().zip(orders).map(one).collect()
    }

    /// A scan of which the prefixes before each tile are known: so the tiles need not wait for one another.
    pub fn seg_scan_of_tiles(
        &mut self,
        pat: &[mono::Var],
        size: mono::Atom,
        scan: Scan<'_>,
        known: &flat::Known,
    ) -> L<()> {
        let axis = mono::Axis { var: scan.index, size };
        let (n, every) = (self.atom(size)?, self.atom(known.every)?);
        let tiles = Tiles { size: every, count: self.tiles(n, every)? };
        let before = known.before.iter().map(|v| self.place(*v)).collect::<L<Vec<_>>>()?;
        let outs = pat.iter().map(|v| self.alloc_for(*v)).collect::<L<Vec<_>>>()?;
        self.kernel("map", |l| {
            l.inner = Inner::Lanes;
            let (outs, before) = (l.import_all(&outs), l.import_all(&before));
            let (at, tile) = l.segments(&[], axis, tiles)?;
            let Range::Tile { index, .. } = tile else { return wrong("no tile") };
            let values = before.iter().map(|b| l.load(b, &[index])).collect::<L<Vec<_>>>()?;
            l.scan_tile(scan, tile, Before { some: None, values }, &at, &outs).map(drop)
        })?;
        for (v, out) in pat.iter().zip(outs) {
            self.set(*v, Bound::Array(out));
        }
        Ok(())
    }

    /// Memory for what blocks hand on, in which nobody has handed on anything yet.
    pub fn handed(&mut self, space: &[mono::Axis], tiles: Tiles, op: &mono::Combine) -> L<Handed> {
        let tiles = self.bind_size("tiles", tiles.count);
        let sizes: Vec<mono::Atom> = space.iter().map(|a| a.size).chain([tiles]).collect();
        let alloc = |p: &mut Plan, name: &str, base: BaseTy| {
            let v = p.fresh(name, mono::Ty::scalar(base).over(&sizes));
            p.alloc_for(v)
        };
        let state = alloc(self, "state", BaseTy::I64)?;
        let (mut kept, mut own) = (Vec::new(), Vec::new());
        for v in &op.lambda.params[..op.lambda.body.results.len()] {
            let base = self.flat.vars[*v].ty.base;
            kept.push(alloc(self, "kept", base)?);
            if self.threads {
                own.push(alloc(self, "own", base)?);
            }
        }
        let some = match op.start {
            Some(_) => None,
            None => Some(alloc(self, "some", BaseTy::Bool)?),
        };
        let some_own = match (op.start.is_none(), self.threads) {
            (true, true) => Some(alloc(self, "own", BaseTy::Bool)?),
            _ => None,
        };
        let nothing = mono::Body { stmts: Vec::new(), results: vec![mono::Atom::Const(Scalar::I64(0))] };
        let axes: Vec<mono::Axis> = sizes
            .iter()
            .map(|size| mono::Axis { var: self.fresh("i", mono::Ty::int()), size: *size })
            .collect();
        self.fill("clear", std::slice::from_ref(&state), &axes, &nothing)?;
        Ok(Handed { state, kept, own, some, some_own })
    }

    /// The whole, at the end of a full scan: what the last tile has handed on.
    pub fn total(
        &mut self,
        space: &[mono::Axis],
        n: Atom,
        tiles: Tiles,
        op: &mono::Combine,
        outs: &[Place],
        kept: &[Place],
    ) -> L<()> {
        let Some(start) = &op.start else { return wrong("a full scan without a start") };
        self.kernel("total", |l| {
            let (outs, kept) = (l.import_all(outs), l.import_all(kept));
            let (n, count) = (l.outer(n), l.outer(tiles.count));
            let start = l.atoms(start)?;
            let dims: Vec<Atom> = space.iter().map(|a| l.atom(a.size)).collect::<L<Vec<_>>>()?;
            let last = l.int(ScalarOp::Sub, count, Atom::int(1))?;
            let some = l.int(ScalarOp::Gt, count, Atom::int(0))?;
            l.each_of(&dims, &mut |l, at| {
                let whole = l.choose(
                    some,
                    |l| kept.iter().map(|k| l.load(&k.cell(at), &[last])).collect(),
                    |_| Ok(start.clone()),
                )?;
                outs.iter().zip(whole).for_each(|(to, x)| l.store(&to.cell(at), &[n], x));
                Ok(())
            })
        })
    }
}

impl Leaf<'_> {
    /// Hands on what a tile's elements combine to; what comes before them.
    pub fn chain(
        &mut self,
        handed: &Handed,
        at: &[Atom],
        tile: Range,
        items: &[Atom],
        op: &mono::Combine,
    ) -> L<Before> {
        let Range::Tile { index, .. } = tile else { return wrong("no tile") };
        let state = self.import_place(&handed.state).buffer;
        let kept = self.import_all(&handed.kept);
        let own: Vec<Var> = self.import_all(&handed.own).into_iter().map(|p| p.buffer).collect();
        let mut links = Vec::new();
        if let Some(some) = &handed.some {
            let kept = self.import_place(some);
            let own = handed.some_own.as_ref().map(|p| self.import_place(p).buffer);
            let (no, yes) = (Scalar::Bool(false), Scalar::Bool(true));
            links.push(self.link("some", Atom::Const(no), Atom::Const(yes), &kept, own)?);
        }
        for (k, (item, kept)) in items.iter().zip(&kept).enumerate() {
            let init = match &op.start {
                Some(start) => self.atom(start[k])?,
                None => match self.program().scalar_ty(*item) {
                    Some(ty) => Atom::Const(zero(ty)),
                    None => return wrong("an array that is scanned"),
                },
            };
            links.push(self.link("before", init, *item, kept, own.get(k).copied())?);
        }
        let values: Vec<Atom> = links.iter().map(|l| Atom::Var(l.before)).collect();
        let xs: Vec<Atom> = links.iter().map(|l| Atom::Var(l.x)).collect();
        let scalars = |xs: &[Atom]| xs.iter().map(|x| Bound::Scalar(*x)).collect();
        self.blocks.open();
        let (before, next) = match handed.some {
            None => {
                let next = self.combine(op, &values, scalars(&xs))?;
                (Before { some: None, values }, next)
            }
            Some(_) => {
                let (some, values) = (values[0], values[1..].to_vec());
                let mut next = self.choose(
                    some,
                    |l| l.combine(op, &values, scalars(&xs[1..])),
                    |_| Ok(xs[1..].to_vec()),
                )?;
                next.insert(0, xs[0]);
                (Before { some: Some(some), values }, next)
            }
        };
        let body = self.blocks.close();
        let at = at.iter().copied().chain([index]).collect();
        self.emit(StmtKind::Chain { state, at, links, body, next });
        Ok(before)
    }

    fn link(&mut self, name: &str, init: Atom, item: Atom, kept: &Place, own: Option<Var>) -> L<Link> {
        let p = self.program();
        let Some(ty) = p.scalar_ty(item) else { return wrong("an array that is handed on") };
        let (before, x) = (p.scalar(name, ty), p.scalar("x", ty));
        Ok(Link { before, x, init, item, kept: kept.buffer, own })
    }

    /// Stores what a scan gives in a tile; what is carried at its end.
    pub fn scan_tile(
        &mut self,
        scan: Scan,
        tile: Range,
        before: Before,
        at: &[Atom],
        outs: &[Place],
    ) -> L<Vec<Atom>> {
        let Scan { index, op, leaf, .. } = scan;
        if let Some((width, ops)) = self.scan_lanes(&scan) {
            let mut init = Vec::new();
            for (x, (combine, neutral)) in before.values.iter().zip(ops) {
                let x = match before.some {
                    Some(some) => self.op(ScalarOp::Select, &[some, *x, Atom::Const(neutral)])?,
                    None => *x,
                };
                init.push((x, Some(combine)));
            }
            return self.scan_loop(How::Scan(width), tile, &init, scan, at, outs);
        }
        let init = before.values.iter().map(|a| (*a, None));
        let Some(some) = before.some else {
            let init: Vec<_> = init.collect();
            return self.scan_loop(How::Seq, tile, &init, scan, at, outs);
        };
        // Without a start, the first element of a tile is combined with what the tiles before it gave,
        // unless there are none. It is an iteration of the tile's loop like any other: so the loop
        // carries whether there is something yet.
        let init: Vec<_> = std::iter::once((some, None)).chain(init).collect();
        self.carry(How::Seq, tile, &init, |l, i, accs| {
            l.set(index, i);
            let elems = l.scalars(leaf)?;
            let next = l.choose(
                accs[0],
                |l| l.combine(op, &accs[1..], elems.iter().map(|a| Bound::Scalar(*a)).collect()),
                |_| Ok(elems.clone()),
            )?;
            l.store_prefixes(&scan, &next, at, i, outs)?;
            Ok(std::iter::once(Atom::Const(Scalar::Bool(true))).chain(next).collect())
        })
    }

    /// Stores the combinations of the prefixes of a range; what it begins with is `init`.
    pub fn scan_loop(
        &mut self,
        how: How,
        range: Range,
        init: &[(Atom, Option<ScalarOp>)],
        scan: Scan,
        at: &[Atom],
        outs: &[Place],
    ) -> L<Vec<Atom>> {
        self.carry(how, range, init, |l, i, accs| {
            l.set(scan.index, i);
            let elems = l.body(scan.leaf)?;
            let next = l.combine(scan.op, accs, elems)?;
            let stored = if scan.kind == mono::ScanKind::Inclusive { &next } else { accs };
            l.store_prefixes(&scan, stored, at, i, outs)?;
            Ok(next)
        })
    }

    /// Stores what a scan gives at element `i` of its axis; the variables of the point are bound.
    pub fn store_prefixes(
        &mut self,
        scan: &Scan<'_>,
        prefixes: &[Atom],
        at: &[Atom],
        i: Atom,
        outs: &[Place],
    ) -> L<()> {
        let made = match scan.epilogue {
            None => prefixes.to_vec(),
            Some(l) => {
                l.params.iter().zip([i].iter().chain(prefixes)).for_each(|(v, x)| self.set(*v, *x));
                self.scalars(&l.body)?
            }
        };
        let there: Vec<Atom> = at.iter().copied().chain([i]).collect();
        outs.iter().zip(made).for_each(|(to, x)| self.store(to, &there, x));
        Ok(())
    }

    /// In how many lanes a scan may run, with the operators of its accumulators and what they start from.
    pub fn scan_lanes(&self, scan: &Scan<'_>) -> Option<(u32, Vec<(ScalarOp, remc_base::Scalar)>)> {
        let Scan { op, leaf, index, .. } = *scan;
        let vars = &self.plan.flat.vars;
        let count = op.lambda.body.results.len();
        let tys: Vec<_> = op.lambda.params.iter().take(count).map(|v| vars[*v].ty.base).collect();
        let ops = schedule::lane_ops(op, &tys)?;
        self.lanes_of_body(leaf, index)?;
        if let Some(l) = scan.epilogue {
            // Prefixes differ between lanes, and so may what a branch or a loop depends on.
            if l.body.stmts.iter().any(|s| !s.exp.bodies().is_empty()) {
                return None;
            }
            self.lanes_of_body(&l.body, *l.params.first()?)?;
        }
        let widest = tys.iter().map(|t| t.bits() / 8).max()?;
        Some((schedule::lanes(widest, 1), ops))
    }
}
