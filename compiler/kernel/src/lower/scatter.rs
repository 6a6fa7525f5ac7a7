//! `scatter`: items go to computed places, and are combined with what is there.
//!
//! | on | where | how |
//! | --- | --- | --- |
//! | both | places one after the other | a map |
//! | both | operators that commute, and a destination that is small beside the items | parts of the items, each into a copy of its own that begins with what changes nothing; the copies are reduced |
//! | a processor | otherwise | one item after the other |
//! | a GPU | integers, by operators that are exact and commute | updates by any threads, of a copy in shared memory where the destination fits it |
//! | a GPU | otherwise | items sorted by their places; a scan says what those of one place combine to; a thread for each place takes the last |
//!
//! ```text
//! (kernel "parts" (grid (%p parts)) … (for seq %i (tile %p size %n) () … (store %copies (%p %at) %y)))
//! (kernel "reduce" …)                       of %copies, along the first axis
//! (kernel "combine" …)                      with what was there
//! ```
//!
//! How many parts there are depends on sizes alone, and so does the grouping of a scan, so that sums of floats are the same
//! from run to run. The last of several items that are written to one place stays, on every device.

use super::build::{Emit, upto};
use super::leaf::Leaf;
use super::plan::Plan;
use super::scan::Scan;
use super::{Bound, L, Place, Row, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

/// What a scatter does: for each point of the axis the body gives a place, and values for it in each destination.
#[derive(Clone, Copy)]
pub(crate) struct Scatter<'s> {
    pub dests: &'s [mono::Var],
    pub axis: mono::Axis,
    pub body: &'s mono::Body,
    pub combine: Option<&'s mono::Lambda>,
}

impl Scatter<'_> {
    /// The body for its place alone, and what has to be checked.
    fn places(&self) -> mono::Body {
        let at = self.body.results[..1].to_vec();
        let mut wanted: Vec<mono::Var> = at.iter().filter_map(|a| a.as_var()).collect();
        let mut stmts = Vec::new();
        for s in self.body.stmts.iter().rev() {
            if s.pat.is_empty() || s.pat.iter().any(|v| wanted.contains(v)) {
                s.exp.for_each_operand(&mut |a| wanted.extend(a.as_var()));
                s.exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut |a| wanted.extend(a.as_var())));
                stmts.push(s.clone());
            }
        }
        stmts.reverse();
        mono::Body { stmts, results: at }
    }

    /// Whether an item is made without loops, so that it may be made again for each of its numbers.
    fn is_plain(&self) -> bool {
        self.body.stmts.iter().all(|s| s.exp.bodies().is_empty())
    }
}

impl Plan {
    pub fn scatter(&mut self, pat: &[mono::Var], s: Scatter<'_>) -> L<()> {
        // A destination that nothing else reads is written where it is. What the values are made from is read
        // while they are written.
        let mut kept = self.roots_of(s.body);
        kept.extend(s.combine.iter().flat_map(|c| self.roots_of(&c.body)));
        let mut outs = Vec::new();
        for d in s.dests {
            match self.owned((*d).into(), &mut kept)? {
                Atom::Var(buffer) => outs.push(Place::whole(buffer)),
                Atom::Const(_) => return wrong("a constant is written to"),
            }
        }
        match self.run_of_items(&s)? {
            None => self.scatter_any(&s, &outs)?,
            Some((start, values)) => {
                let row = Row { start, inner: Vec::new() };
                let to: Vec<Place> =
                    outs.iter().map(|o| Place { row: Some(row.clone()), ..o.clone() }).collect();
                // Nothing is written to a negative place.
                let there = self.int(ScalarOp::Ge, start, Atom::int(0))?;
                self.either(
                    there,
                    |p| p.fill("write", &to, &[s.axis], &values),
                    |p| p.scatter_any(&s, &outs),
                )?;
            }
        }
        for (v, out) in pat.iter().zip(outs) {
            self.set(*v, Bound::Array(out));
        }
        Ok(())
    }

    /// Items that go to any places.
    fn scatter_any(&mut self, s: &Scatter<'_>, outs: &[Place]) -> L<()> {
        let ops = self.operators(s);
        if let Some(ops) = &ops
            && self.threads
            && s.dests.iter().zip(ops).all(|(d, op)| updates(*op, self.flat.vars[*d].ty.base))
        {
            return self.update_by_threads(s, ops, outs);
        }
        let parts = match &ops {
            Some(ops) => self.parts(s, ops)?,
            None => None,
        };
        let Some((parts, ops)) = parts.zip(ops) else { return self.scatter_in_order(s, outs) };
        let cond = self.int(ScalarOp::Ge, parts, self.size(Field::ScatterFewest))?;
        self.either(cond, |p| p.scatter_parts(s, &ops, parts, outs), |p| p.scatter_in_order(s, outs))
    }

    /// As if one item went after the other.
    fn scatter_in_order(&mut self, s: &Scatter<'_>, outs: &[Place]) -> L<()> {
        if self.threads {
            return self.scatter_sorted(s, outs);
        }
        self.kernel("scatter", |l| {
            let outs = l.import_all(outs);
            let n = l.atom(s.axis.size)?;
            l.scatter_loop(upto(n), s.dests, s.axis.var, s.body, s.combine, &outs)
        })
    }

    /// Where a scatter's items go, if that is one after the other from some place on, and what gives them: no two
    /// iterations write to one place then, and they may run in any order.
    fn run_of_items(&mut self, s: &Scatter<'_>) -> L<Option<(Atom, mono::Body)>> {
        let Scatter { dests, axis, body, combine } = *s;
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

    // ---- parts ----

    /// For each destination the operator, known to commute, that combines its numbers one by one, if that is all that
    /// combines them.
    fn operators(&self, s: &Scatter<'_>) -> Option<Vec<ScalarOp>> {
        let mono::Lambda { params, body } = s.combine?;
        let (olds, news) = params.split_at_checked(s.dests.len())?;
        let each = olds.iter().zip(news).zip(&body.results);
        let ops: Vec<ScalarOp> = each
            .map(|((old, new), result)| {
                let cells = FxHashMap::from_iter([(*old, (false, 0)), (*new, (true, 0))]);
                self.operator(body, *result, cells, &mut Vec::new())
            })
            .collect::<Option<_>>()?;
        // Nothing else is done that could stop the program.
        let quiet = |b: &mono::Body| {
            let mut quiet = true;
            b.for_each_stmt(&mut |s| quiet &= !s.pat.is_empty());
            quiet
        };
        quiet(body).then_some(ops)
    }

    /// The operator by which a result is made of an old and a new number, the cells of which are indexed by these axes so
    /// far.
    fn operator(
        &self,
        body: &mono::Body,
        result: mono::Atom,
        mut cells: FxHashMap<mono::Var, (bool, usize)>,
        axes: &mut Vec<mono::Atom>,
    ) -> Option<ScalarOp> {
        let result = result.as_var()?;
        for s in &body.stmts {
            let place = s.pat.iter().position(|v| *v == result);
            match (&s.exp, place) {
                (mono::Exp::Index { array, at }, _) => {
                    let Some((new, known)) = cells.get(array).copied() else { continue };
                    if axes.get(known..known + at.len()) == Some(&at[..]) {
                        cells.insert(*s.pat.first()?, (new, known + at.len()));
                    }
                }
                (mono::Exp::Op(op, args), Some(_)) => {
                    let sides: Vec<bool> = args
                        .iter()
                        .map(|a| {
                            cells.get(&a.as_var()?).filter(|(_, known)| *known == axes.len()).map(|c| c.0)
                        })
                        .collect::<Option<_>>()?;
                    let both = matches!(sides[..], [false, true] | [true, false]);
                    return (both && mono::commutes(*op)).then_some(*op);
                }
                (mono::Exp::Map { axes: more, body }, Some(k)) => {
                    axes.extend(more.iter().map(|a| mono::Atom::Var(a.var)));
                    return self.operator(body, *body.results.get(k)?, cells, axes);
                }
                (_, Some(_)) => return None,
                _ => {}
            }
        }
        None
    }

    /// How many elements a destination has, with those of the others of the same places; how many of a place.
    fn elements(&mut self, s: &Scatter<'_>) -> L<(Atom, Atom)> {
        let (mut all, mut each) = (Atom::int(0), Atom::int(0));
        for d in s.dests {
            let dims = self.flat.vars[*d].ty.dims.clone();
            let dims = self.atoms(&dims)?;
            let (whole, cell) = (self.product(&dims)?, self.product(&dims[1..])?);
            all = self.int(ScalarOp::Add, all, whole)?;
            each = self.int(ScalarOp::Add, each, cell)?;
        }
        Ok((all, each))
    }

    /// How many parts of the items are worth a copy of the destinations each, for operators that have a neutral element.
    fn parts(&mut self, s: &Scatter<'_>, ops: &[ScalarOp]) -> L<Option<Atom>> {
        let base = |p: &Plan, d: &mono::Var| p.flat.vars[*d].ty.base;
        if s.dests.iter().zip(ops).any(|(d, op)| neutral(*op, base(self, d)).is_none()) {
            return Ok(None);
        }
        let n = self.atom(s.axis.size)?;
        let (all, each) = self.elements(s)?;
        let all = self.int(ScalarOp::Max2, all, Atom::int(1))?;
        if self.threads {
            // As many as there is memory for, of some items each.
            let room = self.int(ScalarOp::Quotient, self.size(Field::ScatterCopied), all)?;
            let most = self.int(ScalarOp::Quotient, n, self.size(Field::ScatterItems))?;
            let parts = self.int(ScalarOp::Min2, room, most)?;
            // Each has a thread for each element of a place; of too few the items are sorted instead.
            let threads = self.int(ScalarOp::Mul, parts, each)?;
            let enough = self.int(ScalarOp::Ge, threads, self.size(Field::ScatterThreads))?;
            return Ok(Some(self.op(ScalarOp::Select, &[enough, parts, Atom::int(0)])?));
        }
        let cost = self.cost(s.body);
        let points = super::schedule::points(self, &cost)?;
        let filled = self.int(ScalarOp::Mul, all, self.size(Field::ScatterItems))?;
        let size = self.int(ScalarOp::Max2, points, filled)?;
        let parts = self.int(ScalarOp::Quotient, n, size)?;
        Ok(Some(self.int(ScalarOp::Min2, parts, self.size(Field::ScatterParts))?))
    }

    /// Each part of the items goes into copies of its own; then these are reduced, and combined with what is there.
    fn scatter_parts(&mut self, s: &Scatter<'_>, ops: &[ScalarOp], parts: Atom, outs: &[Place]) -> L<()> {
        let number = self.bind_size("parts", parts);
        let prov = self.prov;
        let mut copies = Vec::new();
        for (d, op) in s.dests.iter().zip(ops) {
            let ty = self.flat.vars[*d].ty.clone();
            let Some(none) = neutral(*op, ty.base) else {
                return wrong("an operator without a neutral element");
            };
            let v = self.fresh("copies", ty.over(&[number]));
            let place = self.alloc_for(v)?;
            let axes = self.axes_of(v);
            let leaf = mono::Body { stmts: Vec::new(), results: vec![mono::Atom::Const(none)] };
            self.fill("clear", std::slice::from_ref(&place), &axes, &leaf)?;
            self.set(v, Bound::Array(place.clone()));
            copies.push((v, place, none));
        }
        let places: Vec<Place> = copies.iter().map(|(_, p, _)| p.clone()).collect();
        match self.threads {
            true => self.parts_by_threads(s, ops, (parts, number), &places)?,
            false => {
                let n = self.atom(s.axis.size)?;
                let size = self.tiles(n, parts)?;
                self.kernel("parts", |l| {
                    let places = l.import_all(&places);
                    let part = l.grid_axis("p", parts);
                    let (size, limit) = (l.outer(size), l.atom(s.axis.size)?);
                    let range = Range::Tile { index: part, size, limit };
                    let own: Vec<Place> = places.iter().map(|p| p.cell(&[part])).collect();
                    l.scatter_loop(range, s.dests, s.axis.var, s.body, s.combine, &own)
                })?;
            }
        }
        for (((d, op), (copy, _, none)), out) in s.dests.iter().zip(ops).zip(copies).zip(outs) {
            let ty = self.flat.vars[*d].ty.clone();
            let space = self.axes_of(*d);
            let at: Vec<mono::Atom> = space.iter().map(|a| a.var.into()).collect();
            let scalar = |p: &mut Plan, name: &str| p.fresh(name, mono::Ty::scalar(ty.base));
            let [x, a, b, q] = ["x", "a", "b", "q"].map(|name| scalar(self, name));
            let k = self.fresh("p", mono::Ty::int());
            let read = mono::Exp::Index { array: copy, at: [vec![k.into()], at.clone()].concat() };
            let leaf = mono::Body {
                stmts: vec![mono::Stmt { pat: vec![x], exp: read, prov }],
                results: vec![x.into()],
            };
            let combined = |q: mono::Var, a: mono::Var, b: mono::Var| mono::Stmt {
                pat: vec![q],
                exp: mono::Exp::Op(*op, vec![a.into(), b.into()]),
                prov,
            };
            let body = mono::Body { stmts: vec![combined(q, a, b)], results: vec![q.into()] };
            let lambda = mono::Lambda { params: vec![a, b], body };
            let reduction = mono::Combine { lambda, start: Some(vec![mono::Atom::Const(none)]), assoc: true };
            let all = self.fresh("all", ty.clone());
            let axis = mono::Axis { var: k, size: number };
            self.seg_red(&[all], &space, axis, &reduction, &leaf)?;
            // What was there before comes first.
            let [old, new, both] = ["old", "new", "both"].map(|name| scalar(self, name));
            let there = self.fresh("there", ty.clone());
            self.set(there, Bound::Array(out.clone()));
            let index = |pat: mono::Var, array: mono::Var| mono::Stmt {
                pat: vec![pat],
                exp: mono::Exp::Index { array, at: at.clone() },
                prov,
            };
            let leaf = mono::Body {
                stmts: vec![index(old, there), index(new, all), combined(both, old, new)],
                results: vec![both.into()],
            };
            self.fill("combine", std::slice::from_ref(out), &space, &leaf)?;
        }
        Ok(())
    }

    /// An axis for each dim of an array.
    fn axes_of(&mut self, v: mono::Var) -> Vec<mono::Axis> {
        let dims = self.flat.vars[v].ty.dims.clone();
        dims.into_iter().map(|size| mono::Axis { var: self.fresh("i", mono::Ty::int()), size }).collect()
    }

    /// A thread for each part, and for each element of a place; it takes every so-manieth item, so that neighbours read
    /// neighbours.
    fn parts_by_threads(
        &mut self,
        s: &Scatter<'_>,
        ops: &[ScalarOp],
        (parts, number): (Atom, mono::Atom),
        places: &[Place],
    ) -> L<()> {
        let cells = self.cells_apart(s);
        let n = self.atom(s.axis.size)?;
        let rounds = self.tiles(n, parts)?;
        let part = mono::Axis { var: self.fresh("p", mono::Ty::int()), size: number };
        let space: Vec<mono::Axis> = std::iter::once(part).chain(cells.iter().copied()).collect();
        self.each_point("parts", &space, |l, at| {
            let places = l.import_all(places);
            let (parts, rounds, limit) = (l.outer(parts), l.outer(rounds), l.atom(s.axis.size)?);
            let [part, cell @ ..] = at else { return wrong("no part") };
            let own: Vec<Place> = places.iter().map(|p| p.cell(&[*part])).collect();
            l.each(How::Seq, "r", upto(rounds), |l, r| {
                let i = l.int(ScalarOp::Mul, r, parts)?;
                let i = l.int(ScalarOp::Add, i, *part)?;
                let cond = l.int(ScalarOp::Lt, i, limit)?;
                l.blocks.open();
                l.put_item(s, i, cell, |l, k, to, x| {
                    let old = l.load(&own[k], to)?;
                    let new = l.op(ops[k], &[old, x])?;
                    l.store(&own[k], to, new);
                    Ok(())
                })?;
                let then = l.blocks.close();
                l.emit(StmtKind::If { cond, then, otherwise: Vec::new(), results: Vec::new() });
                Ok(())
            })
        })
    }

    /// The axes of a place's elements, if a thread may have one of them each: of destinations alike, and items that are
    /// made without loops.
    fn cells_apart(&mut self, s: &Scatter<'_>) -> Vec<mono::Axis> {
        let cells: Vec<Vec<mono::Atom>> =
            s.dests.iter().map(|d| self.flat.vars[*d].ty.dims[1..].to_vec()).collect();
        if !s.is_plain() || cells.windows(2).any(|pair| pair[0] != pair[1]) {
            return Vec::new();
        }
        let cell = cells.into_iter().next().unwrap_or_default();
        cell.into_iter().map(|size| mono::Axis { var: self.fresh("c", mono::Ty::int()), size }).collect()
    }

    /// A kernel with a thread for each point of a space.
    fn each_point(
        &mut self,
        name: &str,
        space: &[mono::Axis],
        body: impl FnOnce(&mut Leaf<'_>, &[Atom]) -> L<()>,
    ) -> L<()> {
        let sizes = space.iter().map(|a| self.atom(a.size)).collect::<L<Vec<_>>>()?;
        let total = self.product(&sizes)?;
        self.each_thread(name, (total, None), |l, p| {
            let at = l.point(space, p)?;
            body(l, &at)
        })
    }

    // ---- updates ----

    /// Any threads update what is there.
    fn update_by_threads(&mut self, s: &Scatter<'_>, ops: &[ScalarOp], outs: &[Place]) -> L<()> {
        let cells = self.cells_apart(s);
        if let ([dest], [op], [out]) = (s.dests, ops, outs)
            && self.flat.vars[*dest].ty.rank() == 1
            && let Some(copy) = self.shared_copy(s, *dest, *op)
        {
            // As many items to a block as its copy has elements at least.
            let size = self.flat.vars[*dest].ty.dims[0];
            let size = self.atom(size)?;
            let fits = self.int(ScalarOp::Le, size, Atom::int(copy.room))?;
            return self.either(
                fits,
                |p| p.update_copies(s, *op, &copy, size, out),
                |p| p.update_items(s, ops, &cells, outs),
            );
        }
        self.update_items(s, ops, &cells, outs)
    }

    /// A thread for each item, and each of its numbers.
    fn update_items(
        &mut self,
        s: &Scatter<'_>,
        ops: &[ScalarOp],
        cells: &[mono::Axis],
        outs: &[Place],
    ) -> L<()> {
        let space: Vec<mono::Axis> = std::iter::once(s.axis).chain(cells.iter().copied()).collect();
        self.each_point("update", &space, |l, at| {
            let outs = l.import_all(outs);
            let [item, cell @ ..] = at else { return wrong("no item") };
            l.put_item(s, *item, cell, |l, k, to, value| {
                l.emit(StmtKind::Update { op: ops[k], buffer: outs[k].buffer, at: to.to_vec(), value });
                Ok(())
            })
        })
    }

    /// How a block may have a copy of the destination in shared memory.
    fn shared_copy(&self, s: &Scatter<'_>, dest: mono::Var, op: ScalarOp) -> Option<SharedCopy> {
        let base = self.flat.vars[dest].ty.base;
        // Ones are counted in words of the size that shared memory adds at once.
        let counted = match s.body.results.get(1)? {
            mono::Atom::Const(c) => (op == ScalarOp::Add && *c == one(base)?).then_some(BaseTy::U32),
            mono::Atom::Var(_) => None,
        };
        let base = counted.unwrap_or(base);
        let neutral = neutral(op, base)?;
        Some(SharedCopy { base, neutral, room: self.number(Field::Shared) / i64::from(base.bits() / 8) })
    }

    /// Each block updates a copy of its own in shared memory; then its threads update what is there by that.
    fn update_copies(
        &mut self,
        s: &Scatter<'_>,
        op: ScalarOp,
        copy: &SharedCopy,
        size: Atom,
        out: &Place,
    ) -> L<()> {
        let n = self.atom(s.axis.size)?;
        let mut tiles = self.tiles_of_segments(&[], n)?;
        let least = self.tiles(size, self.size(Field::Threads))?;
        let least = self.int(ScalarOp::Mul, least, self.size(Field::Threads))?;
        tiles.size = self.int(ScalarOp::Max2, tiles.size, least)?;
        tiles.count = self.tiles(n, tiles.size)?;
        self.kernel("update", |l| {
            let out = l.import_place(out);
            let size = l.outer(size);
            let thread = l.threads_of_block();
            let (_, tile) = l.segments(&[], s.axis, tiles)?;
            let Range::Tile { index, size: of_tile, limit } = tile else { return wrong("no tile") };
            let threads = l.count();
            let own = l.shared(copy.base, vec![Atom::int(copy.room)]);
            let all = Range::Share { thread, threads, index: Atom::int(0), size, limit: size };
            l.each(How::Seq, "k", all, |l, k| {
                l.store(&own, &[k], Atom::Const(copy.neutral));
                Ok(())
            })?;
            l.emit(StmtKind::Barrier);
            let range = Range::Share { thread, threads, index, size: of_tile, limit };
            l.each(How::Seq, "i", range, |l, i| {
                l.put_item(s, i, &[], |l, _, to, value| {
                    let value = match value {
                        Atom::Const(_) if copy.base == BaseTy::U32 => Atom::Const(Scalar::U32(1)),
                        _ => value,
                    };
                    l.emit(StmtKind::Update { op, buffer: own.buffer, at: to.to_vec(), value });
                    Ok(())
                })
            })?;
            l.emit(StmtKind::Barrier);
            let base = l.program().buffer_ty(out.buffer).map(|t| t.base);
            let Some(base) = base else { return wrong("an update of a scalar") };
            l.each(How::Seq, "k", all, |l, k| {
                let value = l.load(&own, &[k])?;
                let value = match base == copy.base {
                    true => value,
                    false => l.bind("count", base, Exp::Cast(base, value)),
                };
                l.emit(StmtKind::Update { op, buffer: out.buffer, at: vec![k], value });
                Ok(())
            })
        })
    }

    // ---- sorted ----

    /// Items by their places, in order; what those of one place combine to; and for each place what it becomes.
    fn scatter_sorted(&mut self, s: &Scatter<'_>, outs: &[Place]) -> L<()> {
        let n = self.atom(s.axis.size)?;
        let keys = self.fresh("places", mono::Ty::int().over(&[s.axis.size]));
        self.seg_map(&[keys], &[s.axis], &s.places())?;
        let keys = self.place(keys)?;
        let sorted = self.sorted_by_threads(std::slice::from_ref(&keys), n)?;
        let scanned = self.combined_by_threads(s, &sorted, n)?;
        let Some(first) = s.dests.first() else { return wrong("a scatter to nowhere") };
        let rows =
            mono::Axis { var: self.fresh("d", mono::Ty::int()), size: self.flat.vars[*first].ty.dims[0] };
        self.each_point("scatter", &[rows], |l, at| {
            let outs = l.import_all(outs);
            let [keys, order] = [&sorted.keys[0], &sorted.order].map(|p| l.import_place(p));
            let half = l.outer(sorted.half);
            let [keys, order] = [keys, order].map(|p| p.cell(&[half]));
            let n = l.outer(n);
            let to = at[0];
            let after = l.int(ScalarOp::Add, to, Atom::int(1))?;
            let end = l.first_at_least(&keys, n, after)?;
            let last = l.int(ScalarOp::Sub, end, Atom::int(1))?;
            let combine = match (s.combine, &scanned) {
                (None, _) => None,
                (Some(c), None) => {
                    let start = l.first_at_least(&keys, n, to)?;
                    return l.each(How::Seq, "j", Range::Upto { from: start, to: end }, |l, j| {
                        let i = l.load(&order, &[j])?;
                        l.set(s.axis.var, i);
                        let values = l.body(s.body)?;
                        l.write_item(to, &values[1..], s.dests, s.body, Some(c), &outs)
                    });
                }
                (Some(c), Some(scanned)) => Some((c, l.import_all(scanned))),
            };
            // Whether there is an item for this place.
            let some = l.int(ScalarOp::Ge, last, Atom::int(0))?;
            let no = Atom::Const(Scalar::Bool(false));
            let found = l.choose(
                some,
                |l| {
                    let key = l.load(&keys, &[last])?;
                    Ok(vec![l.int(ScalarOp::Eq, key, to)?])
                },
                |_| Ok(vec![no]),
            )?;
            l.blocks.open();
            match combine {
                None => {
                    let i = l.load(&order, &[last])?;
                    l.set(s.axis.var, i);
                    let values = l.body(s.body)?;
                    for ((value, a), out) in values.iter().zip(&s.body.results).skip(1).zip(&outs) {
                        match (value, a) {
                            (Bound::Scalar(x), _) => l.store(out, &[to], *x),
                            (_, mono::Atom::Var(v)) => l.copy_value(*v, value, &out.cell(&[to]))?,
                            _ => return wrong("a constant array"),
                        }
                    }
                }
                Some((c, scanned)) => {
                    let news = scanned.iter().map(|p| l.load(p, &[last])).collect::<L<Vec<_>>>()?;
                    let olds = outs.iter().map(|o| l.load(o, &[to])).collect::<L<Vec<_>>>()?;
                    for (v, x) in c.params.iter().zip(olds.into_iter().chain(news)) {
                        l.set(*v, x);
                    }
                    let values = l.scalars(&c.body)?;
                    outs.iter().zip(values).for_each(|(out, x)| l.store(out, &[to], x));
                }
            }
            let then = l.blocks.close();
            l.emit(StmtKind::If { cond: found[0], then, otherwise: Vec::new(), results: Vec::new() });
            Ok(())
        })
    }

    /// For each of the sorted items what it and those before it of the same place combine to, if that are numbers: a scan
    /// that begins anew with each place.
    fn combined_by_threads(
        &mut self,
        s: &Scatter<'_>,
        sorted: &super::merge::Sorted,
        n: Atom,
    ) -> L<Option<Vec<Place>>> {
        let Some(c) = s.combine.filter(|c| {
            let scalar = |v: &mono::Var| self.flat.vars[*v].ty.is_scalar();
            let bases = |v: &mono::Var| self.flat.vars[*v].ty.base;
            let (olds, news) = c.params.split_at(s.dests.len());
            c.params.iter().all(scalar) && olds.iter().zip(news).all(|(a, b)| bases(a) == bases(b))
        }) else {
            return Ok(None);
        };
        let prov = self.prov;
        let size = s.axis.size;
        // What goes along with an item, in the order of the places.
        let values: Vec<mono::Var> = s.body.results[1..]
            .iter()
            .map(|a| {
                let base = match a {
                    mono::Atom::Var(v) => self.flat.vars[*v].ty.base,
                    mono::Atom::Const(c) => c.ty(),
                };
                self.fresh("value", mono::Ty::scalar(base).over(&[size]))
            })
            .collect();
        let places = values.iter().map(|v| self.alloc_for(*v)).collect::<L<Vec<_>>>()?;
        let starts = self.fresh("starts", mono::Ty::scalar(BaseTy::Bool).over(&[size]));
        let start = self.alloc_for(starts)?;
        self.each_thread("values", (n, None), |l, j| {
            let (places, start) = (l.import_all(&places), l.import_place(&start));
            let [keys, order] = [&sorted.keys[0], &sorted.order].map(|p| l.import_place(p));
            let half = l.outer(sorted.half);
            let [keys, order] = [keys, order].map(|p| p.cell(&[half]));
            let i = l.load(&order, &[j])?;
            l.set(s.axis.var, i);
            let found = l.scalars(s.body)?;
            places.iter().zip(&found[1..]).for_each(|(to, x)| l.store(to, &[j], *x));
            let before = l.int(ScalarOp::Sub, j, Atom::int(1))?;
            let before = l.int(ScalarOp::Max2, before, Atom::int(0))?;
            let [mine, other] = [j, before].map(|j| l.load(&keys, &[j]));
            let differs = l.int(ScalarOp::Ne, mine?, other?)?;
            l.store(&start, &[j], differs);
            Ok(())
        })?;
        values.iter().zip(&places).for_each(|(v, p)| self.set(*v, Bound::Array(p.clone())));
        self.set(starts, Bound::Array(start));
        // The operator, with a flag that says where what is before does not count.
        let count = values.len();
        let mut params = vec![self.fresh("f", mono::Ty::scalar(BaseTy::Bool))];
        let copy = |p: &mut Plan, v: mono::Var| {
            let ty = p.flat.vars[v].ty.clone();
            p.fresh("x", ty)
        };
        let olds: Vec<mono::Var> = c.params[..count].iter().map(|v| copy(self, *v)).collect();
        params.extend(&olds);
        let anew = self.fresh("g", mono::Ty::scalar(BaseTy::Bool));
        params.push(anew);
        let news: Vec<mono::Var> = c.params[count..].iter().map(|v| copy(self, *v)).collect();
        params.extend(&news);
        let any = self.fresh("h", mono::Ty::scalar(BaseTy::Bool));
        let mut stmts = vec![mono::Stmt {
            pat: vec![any],
            exp: mono::Exp::Op(ScalarOp::Or, vec![params[0].into(), anew.into()]),
            prov,
        }];
        let mut inner = c.body.clone();
        let with: FxHashMap<mono::Var, mono::Atom> =
            c.params.iter().copied().zip(olds.iter().chain(&news).map(|v| (*v).into())).collect();
        inner.substitute(&with);
        let results: Vec<mono::Var> = news.iter().map(|v| copy(self, *v)).collect();
        let kept = mono::Body { stmts: Vec::new(), results: news.iter().map(|v| (*v).into()).collect() };
        stmts.push(mono::Stmt {
            pat: results.clone(),
            exp: mono::Exp::If { cond: anew.into(), then: kept, otherwise: inner },
            prov,
        });
        let body =
            mono::Body { stmts, results: std::iter::once(any).chain(results).map(mono::Atom::Var).collect() };
        let lambda = mono::Lambda { params, body };
        let op = mono::Combine { lambda, start: None, assoc: true };
        let index = self.fresh("j", mono::Ty::int());
        let mut leaf = mono::Body::default();
        for (v, base) in std::iter::once((starts, BaseTy::Bool))
            .chain(values.iter().map(|v| (*v, self.flat.vars[*v].ty.base)))
            .collect::<Vec<_>>()
        {
            let x = self.fresh("x", mono::Ty::scalar(base));
            let exp = mono::Exp::Index { array: v, at: vec![index.into()] };
            leaf.stmts.push(mono::Stmt { pat: vec![x], exp, prov });
            leaf.results.push(x.into());
        }
        let outs: Vec<mono::Var> = leaf
            .results
            .iter()
            .filter_map(|a| a.as_var())
            .collect::<Vec<_>>()
            .into_iter()
            .map(|v| {
                let ty = self.flat.vars[v].ty.over(&[size]);
                self.fresh("combined", ty)
            })
            .collect();
        let scan = Scan { index, kind: mono::ScanKind::Inclusive, op: &op, leaf: &leaf, epilogue: None };
        self.seg_scan(&outs, &[], size, scan)?;
        outs[1..].iter().map(|v| self.place(*v)).collect::<L<Vec<_>>>().map(Some)
    }
}

/// A copy of a destination in a block's shared memory.
struct SharedCopy {
    base: BaseTy,
    neutral: Scalar,
    /// The elements that there is room for.
    room: i64,
}

/// The one of an integer type.
fn one(base: BaseTy) -> Option<Scalar> {
    base.is_integer().then(|| remc_base::ops::cast(Scalar::I64(1), base).ok()).flatten()
}

impl Leaf<'_> {
    /// Hands each number of an item, at a cell of its place, to `put`: of which destination, where, and the number.
    /// Without a cell all of them, one after the other.
    fn put_item(
        &mut self,
        s: &Scatter<'_>,
        item: Atom,
        cell: &[Atom],
        mut put: impl FnMut(&mut Self, usize, &[Atom], Atom) -> L<()>,
    ) -> L<()> {
        self.set(s.axis.var, item);
        let results = self.body(s.body)?;
        let [Bound::Scalar(at), values @ ..] = results.as_slice() else {
            return wrong("a scatter without an index");
        };
        let cond = self.int(ScalarOp::Ge, *at, Atom::int(0))?;
        self.blocks.open();
        for (k, (value, d)) in values.iter().zip(s.dests).enumerate() {
            let dims = self.dims(*d)?;
            match value {
                Bound::Scalar(x) => put(self, k, &[*at], *x)?,
                Bound::Array(from) if cell.len() == dims.len() - 1 => {
                    let x = self.load(from, cell)?;
                    put(self, k, &[&[*at], cell].concat(), x)?;
                }
                Bound::Array(from) => self.each_of(&dims[1..], &mut |l, cell| {
                    let x = l.load(from, cell)?;
                    put(l, k, &[&[*at], cell].concat(), x)
                })?,
            }
        }
        let then = self.blocks.close();
        self.emit(StmtKind::If { cond, then, otherwise: Vec::new(), results: Vec::new() });
        Ok(())
    }

    /// The first of `n` ascending numbers that is at least `least`, or `n`.
    fn first_at_least(&mut self, keys: &Place, n: Atom, least: Atom) -> L<Atom> {
        let found = self.repeat(
            &[Atom::int(0), n],
            |l, s| l.int(ScalarOp::Lt, s[0], s[1]),
            |l, s| {
                let sum = l.int(ScalarOp::Add, s[0], s[1])?;
                let half = l.int(ScalarOp::Quotient, sum, Atom::int(2))?;
                let x = l.load(keys, &[half])?;
                let below = l.int(ScalarOp::Lt, x, least)?;
                let next = l.int(ScalarOp::Add, half, Atom::int(1))?;
                Ok(vec![
                    l.op(ScalarOp::Select, &[below, next, s[0]])?,
                    l.op(ScalarOp::Select, &[below, s[1], half])?,
                ])
            },
        )?;
        Ok(found[0])
    }
}
