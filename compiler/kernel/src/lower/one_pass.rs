//! Single-pass scans of ragged rows: their lengths are read from memory once.
//!
//! Where rows begin is checked before they are read: their lengths have to add up to the elements there are. So Flat adds
//! up the lengths of each tile of rows, then checks, then goes through the tiles again:
//!
//! ```text
//! (let %sums (seg-map grid ((%b %tiles)) … (reduce (%j %size) … (index %lengths %i) …)))
//! (let %before (seg-map grid () … (scan full (%b %tiles) (index %sums %b) …)))
//! (let %all (host (index %before %tiles))) (let %c (host (op = %all %n))) (check (split) %c …)
//! (let %ys (seg-scan grid exclusive … (epilogue (%i %start) …) (known 128 (%before))))
//! ```
//!
//! Lengths of short rows are as much memory as their elements, or more. But rows that begin and end among the elements can
//! be read before all is checked, and results that nobody is given do no harm. So one kernel does it all, for
//! a block of tiles that a cache holds until they are gone through again:
//!
//! ```text
//! (for seq %s (tile %b 64 %tiles) ((%sum 0)) … (store %sums (%s) …))          what the block's lengths add up to
//! (chain … %before …)                                                         what those of all before it do
//! (let %fits (0 ≤ %before ≤ %before + %sum ≤ %n))
//! (for seq %s (tile %b 64 %tiles) ((%start %before)) (store %befores (%s) %start)
//!   (if %fits (for seq %i (tile %s 128 %k) ((%at %start)) … (store %ys (%i) …))))
//! ```
//!
//! Lengths are not negative: each block checks its own before it hands anything on. So where rows do not fit, neither do
//! all together, and the check that comes afterwards stops the program. Nothing else may be checked in between, nor in a
//! row, since that would be told first.
//!
//! That is for processors. A GPU's blocks wait for one another longer than they read.

use super::build::Emit;
use super::grid::Tiles;
use super::leaf::Inner;
use super::plan::Plan;
use super::scan::{Before, Scan};
use super::{Bound, L, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_base::{Prov, Scalar, Trap};
use remc_flat::ir as flat;
use remc_mono::ir as mono;
use rustc_hash::FxHashSet;

/// The statements that are one kernel: a single-pass scan with look-back over the lengths of rows.
pub(super) struct OnePass<'b> {
    /// The positions of the other statements.
    done: [usize; 2],
    sums: (mono::Var, mono::Axis, &'b mono::Body),
    before: mono::Var,
    pat: &'b [mono::Var],
    size: mono::Atom,
    scan: Scan<'b>,
    every: mono::Atom,
    /// What the prefixes have to come to.
    total: mono::Atom,
    prov: Prov,
}

/// A map over one axis of the grid, or over none, that gives one array.
fn map(s: &flat::Stmt) -> Option<(mono::Var, &[mono::Axis], &mono::Body)> {
    match (&s.exp, s.pat.as_slice()) {
        (flat::Exp::Seg(flat::Seg { space, kind: flat::SegKind::Map, body, .. }), [v]) => {
            Some((*v, space, body))
        }
        _ => None,
    }
}

fn checks(b: &mono::Body) -> bool {
    b.stmts.iter().any(|s| matches!(s.exp, mono::Exp::Check { .. }) || s.exp.bodies().into_iter().any(checks))
}

fn checks_in(s: &flat::Stmt) -> bool {
    let host = matches!(s.exp, flat::Exp::Host(mono::Exp::Check { .. }));
    let inside = s.exp.bodies().into_iter().any(|b| b.stmts.iter().any(checks_in));
    host || inside || s.exp.leaves().into_iter().any(checks)
}

/// The number that a check between the statements asks for, if it is that on the sum of all lengths.
fn wanted(between: &[flat::Stmt], before: mono::Var, tiles: mono::Atom) -> Option<mono::Atom> {
    let host = |s: &flat::Stmt| match &s.exp {
        flat::Exp::Host(e) => Some(e.clone()),
        _ => None,
    };
    let made = |a: mono::Atom| {
        let s = between.iter().find(|s| s.pat.iter().any(|v| mono::Atom::Var(*v) == a))?;
        host(s)
    };
    let is_sum = |a: &mono::Atom| match made(*a) {
        Some(mono::Exp::Index { array, at }) => array == before && at == [tiles],
        _ => false,
    };
    let mut all = between.iter().filter(|s| checks_in(s));
    let (only, None) = (all.next()?, all.next()) else { return None };
    let mono::Exp::Check { trap: Trap::Split, cond, .. } = host(only)? else { return None };
    match made(cond)? {
        mono::Exp::Op(ScalarOp::Eq, args) => match args.as_slice() {
            [a, b] if is_sum(a) => Some(*b),
            [a, b] if is_sum(b) => Some(*a),
            _ => None,
        },
        _ => None,
    }
}

/// Whether an operator is the sum of integers, from zero.
fn is_sum(op: &mono::Combine) -> bool {
    let adds = op.component_ops().is_some_and(|ops| *ops == [ScalarOp::Add]);
    adds && op.start.as_deref() == Some(&[mono::Atom::Const(Scalar::I64(0))])
}

impl Plan {
    /// The statements from `k` on that are one kernel, if they are such.
    pub(super) fn one_pass<'b>(&self, b: &'b flat::Body, k: usize) -> Option<OnePass<'b>> {
        let (sums, [tile], leaf) = map(b.stmts.get(k)?)? else { return None };
        let (before, [], scanned) = map(b.stmts.get(k + 1)?)? else { return None };
        if self.threads || !scans(scanned, sums, tile.size) {
            return None;
        }
        let at = k + 2 + b.stmts[k + 2..].iter().position(|s| known(s).is_some_and(|v| v == [before]))?;
        let flat::Stmt { pat, exp: flat::Exp::Seg(seg), .. } = &b.stmts[at] else { return None };
        let flat::SegKind::Scan { axis, kind, op, epilogue: Some(l), known: Some(known) } = &seg.kind else {
            return None;
        };
        let total = wanted(&b.stmts[k + 2..at], before, tile.size)?;
        let scan = Scan { index: axis.var, kind: *kind, op, leaf: &seg.body, epilogue: Some(l) };
        let rows = OnePass {
            done: [k + 1, at],
            sums: (sums, *tile, leaf),
            before,
            pat,
            size: axis.size,
            scan,
            every: known.every,
            total,
            prov: b.stmts[at].prov,
        };
        let checked = checks(&seg.body) || checks(&l.body) || checks(&op.lambda.body);
        let fits = seg.space.is_empty() && is_sum(op) && !checked;
        (fits && self.is_here(&rows)).then_some(rows)
    }

    /// Whether all that the kernel takes is there before its first statement.
    fn is_here(&self, rows: &OnePass<'_>) -> bool {
        let mut inside: FxHashSet<mono::Var> = FxHashSet::from_iter([rows.scan.index, rows.sums.1.var]);
        let mut bodies = vec![rows.sums.2, rows.scan.leaf, &rows.scan.op.lambda.body];
        inside.extend(&rows.scan.op.lambda.params);
        if let Some(l) = rows.scan.epilogue {
            inside.extend(&l.params);
            bodies.push(&l.body);
        }
        bodies.iter().for_each(|b| inside.extend(b.binders()));
        let mut here = true;
        let mut there = |a: mono::Atom| {
            here &= a.as_var().is_none_or(|v| inside.contains(&v) || self.bound(v).is_ok());
        };
        bodies.iter().for_each(|b| b.for_each_use(&mut there));
        [rows.size, rows.every, rows.total, rows.sums.1.size].into_iter().for_each(&mut there);
        for v in rows.pat {
            self.flat.vars[*v].ty.dims.iter().for_each(|d| there(*d));
        }
        let made = rows.pat.iter().chain([&rows.before, &rows.sums.0]);
        here && !made.into_iter().any(|v| self.has_home(*v))
    }

    /// Emits the kernel; the positions of the statements that are done then.
    pub(super) fn one_pass_kernel(&mut self, rows: &OnePass<'_>) -> L<[usize; 2]> {
        self.prov = rows.prov;
        self.at_site(rows.pat.first(), |p| p.emit_one_pass(rows))
    }

    fn emit_one_pass(&mut self, rows: &OnePass<'_>) -> L<[usize; 2]> {
        let (sums, tile, leaf) = rows.sums;
        let (k, every, total) = (self.atom(rows.size)?, self.atom(rows.every)?, self.atom(rows.total)?);
        let tiles = self.atom(tile.size)?;
        let blocks = self.blocks_of_tiles(tiles, k, total)?;
        let (op, scan) = (rows.scan.op, rows.scan);
        let made = [self.alloc_for(sums)?, self.alloc_for(rows.before)?];
        let outs = rows.pat.iter().map(|v| self.alloc_for(*v)).collect::<L<Vec<_>>>()?;
        let handed = self.handed(&[], blocks, op)?;
        self.kernel("rows", |l| {
            l.inner = Inner::Lanes;
            let (made, outs) = (l.import_all(&made), l.import_all(&outs));
            let [sums, befores] = made.as_slice() else { return wrong("sums and what is before") };
            let index = l.grid_axis("b", blocks.count);
            let (size, limit) = (l.outer(blocks.size), l.outer(tiles));
            let range = Range::Tile { index, size, limit };
            let zero = Atom::int(0);
            let own = l.carry(How::Seq, range, &[(zero, None)], |l, s, accs| {
                l.set(tile.var, s);
                let sum = l.scalars(leaf)?;
                sum.iter().for_each(|x| l.store(sums, &[s], *x));
                l.combine(op, accs, sum.into_iter().map(Bound::Scalar).collect())
            })?;
            let before = l.chain(&handed, &[], range, &own, op)?.values;
            let ([first], [own]) = (before.as_slice(), own.as_slice()) else { return wrong("one prefix") };
            let (end, total) = (l.int(ScalarOp::Add, *first, *own)?, l.outer(total));
            let mut fits = l.int(ScalarOp::Ge, *first, zero)?;
            for (low, high) in [(*first, end), (end, total)] {
                let in_order = l.int(ScalarOp::Le, low, high)?;
                fits = l.op(ScalarOp::And, &[fits, in_order])?;
            }
            let (every, limit) = (l.outer(every), l.outer(k));
            l.carry(How::Seq, range, &[(*first, None)], |l, s, starts| {
                starts.iter().for_each(|x| l.store(befores, &[s], *x));
                let rows = Range::Tile { index: s, size: every, limit };
                let before = Before { some: None, values: starts.to_vec() };
                l.choose(fits, |l| l.scan_tile(scan, rows, before, &[], &outs), |_| Ok(starts.to_vec()))
            })?;
            Ok(())
        })?;
        self.total(&[], tiles, blocks, op, &made[1..], handed.kept())?;
        let arrays = [sums, rows.before].into_iter().chain(rows.pat.iter().copied());
        for (v, place) in arrays.zip(made.into_iter().chain(outs)) {
            self.set(v, Bound::Array(place));
        }
        Ok(rows.done)
    }

    /// How many tiles a block has, and how many blocks there are, of `k` rows with `n` elements.
    fn blocks_of_tiles(&mut self, tiles: Atom, k: Atom, n: Atom) -> L<Tiles> {
        let rows = self.int(ScalarOp::Mul, k, self.size(Field::RowOnce))?;
        let work = self.int(ScalarOp::Add, rows, n)?;
        let grain = Atom::int(self.grain().saturating_mul(self.number(Field::RoundsOnce)).max(1));
        let wanted = self.int(ScalarOp::Quotient, work, grain)?;
        let wanted = self.int(ScalarOp::Max2, wanted, Atom::int(1))?;
        let size = self.int(ScalarOp::Quotient, tiles, wanted)?;
        let size = self.int(ScalarOp::Max2, size, Atom::int(1))?;
        let size = self.int(ScalarOp::Min2, size, self.size(Field::TilesOnce))?;
        Ok(Tiles { size, count: self.tiles(tiles, size)? })
    }
}

/// Whether a leaf gives the sums of all before each of `sums`, and of all.
fn scans(leaf: &mono::Body, sums: mono::Var, tiles: mono::Atom) -> bool {
    let [s] = leaf.stmts.as_slice() else { return false };
    let mono::Exp::Scan { kind: mono::ScanKind::Full, axis, body, op } = &s.exp else { return false };
    let reads = match body.stmts.as_slice() {
        [mono::Stmt { pat, exp: mono::Exp::Index { array, at }, .. }] => {
            *array == sums && *at == [mono::Atom::Var(axis.var)] && body.results == [mono::Atom::Var(pat[0])]
        }
        _ => false,
    };
    reads && axis.size == tiles && is_sum(op) && leaf.results == [mono::Atom::Var(s.pat[0])]
}

/// What a scan knows of its prefixes.
fn known(s: &flat::Stmt) -> Option<&[mono::Var]> {
    match &s.exp {
        flat::Exp::Seg(flat::Seg { kind: flat::SegKind::Scan { known: Some(k), .. }, .. }) => Some(&k.before),
        _ => None,
    }
}
