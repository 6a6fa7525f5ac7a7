//! `scatter`: items go to computed places, and are combined with what is there.
//!
//! | on | where | how |
//! | --- | --- | --- |
//! | both | places one after the other ([`Run`]) | a map |
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

mod sorted;
mod updates;

use super::build::{Emit, upto};
use super::leaf::{Inner, Leaf};
use super::plan::Plan;
use super::{Bound, L, Place, schedule, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_base::{IdVec, Scalar};
use remc_mono::ir as mono;
use remc_mono::run::Run;
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

    /// Its items as a run.
    pub fn run(&self, vars: &IdVec<mono::Var, mono::VarInfo>) -> Option<Run> {
        Run::of(vars, self.dests, self.axis, self.body).filter(|_| self.combine.is_none())
    }

    /// What the items are made of, but for what each element reads of its own place: of that nothing is changed before.
    pub fn read_elsewhere(&self, run: Option<&Run>) -> mono::Body {
        if !run.is_some_and(|run| run.reads_own_places(self.dests)) {
            return self.body.clone();
        }
        let read = self.body.free_vars().into_iter().filter(|v| !self.dests.contains(v));
        mono::Body { stmts: Vec::new(), results: read.map(mono::Atom::Var).collect() }
    }

    /// Whether an item is made without loops, so that it may be made again for each of its numbers.
    fn is_plain(&self) -> bool {
        self.body.stmts.iter().all(|s| s.exp.bodies().is_empty())
    }
}

impl Plan {
    pub fn scatter(&mut self, pat: &[mono::Var], s: Scatter<'_>) -> L<()> {
        // A destination that nothing else reads is written where it is. What the values are made from is read
        // while they are written, but for what each element reads of its own place.
        let run = s.run(&self.flat.vars);
        let mut kept = self.roots_of(&s.read_elsewhere(run.as_ref()));
        kept.extend(s.combine.iter().flat_map(|c| self.roots_of(&c.body)));
        let mut outs = Vec::new();
        for d in s.dests {
            match self.owned((*d).into(), &mut kept)? {
                Atom::Var(buffer) => outs.push(Place::whole(buffer)),
                Atom::Const(_) => return wrong("a constant is written to"),
            }
        }
        match run {
            None => self.scatter_any(&s, &outs)?,
            Some(Run { start, axes, values, .. }) => {
                let start = self.atom(start)?;
                let to: Vec<Place> = outs.iter().filter_map(|o| o.items_from(start)).collect();
                // Nothing is written to a negative place.
                let there = self.int(ScalarOp::Ge, start, Atom::int(0))?;
                self.either(there, |p| p.fill("write", &to, &axes, &values), |p| p.scatter_any(&s, &outs))?;
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
        let points = schedule::points(self, &cost)?;
        let filled = self.int(ScalarOp::Mul, all, self.size(Field::ScatterItems))?;
        let size = self.int(ScalarOp::Max2, points, filled)?;
        let parts = self.int(ScalarOp::Quotient, n, size)?;
        Ok(Some(self.int(ScalarOp::Min2, parts, self.size(Field::ScatterParts))?))
    }

    /// Each part of the items goes into copies of its own; then these are reduced, and combined with what is there.
    fn scatter_parts(&mut self, s: &Scatter<'_>, ops: &[ScalarOp], parts: Atom, outs: &[Place]) -> L<()> {
        let number = self.bind_size("parts", parts);
        let mut copies = Vec::new();
        for (d, op) in s.dests.iter().zip(ops) {
            let ty = self.flat.vars[*d].ty.clone();
            let Some(none) = neutral(*op, ty.base) else {
                return wrong("an operator without a neutral element");
            };
            let v = self.fresh("copies", ty.over(&[number]));
            let place = self.alloc_for(v)?;
            self.set(v, Bound::Array(place.clone()));
            copies.push(Copies { v, place, none });
        }
        match self.threads {
            true => self.parts_by_threads(s, ops, (parts, number), &copies)?,
            false => self.parts_of_tiles(s, parts, &copies)?,
        }
        for (((d, op), copies), out) in s.dests.iter().zip(ops).zip(&copies).zip(outs) {
            self.combine_copies(*d, *op, copies, number, out)?;
        }
        Ok(())
    }

    /// A block for each part, which clears its own copies.
    fn parts_of_tiles(&mut self, s: &Scatter<'_>, parts: Atom, copies: &[Copies]) -> L<()> {
        let n = self.atom(s.axis.size)?;
        let size = self.tiles(n, parts)?;
        self.kernel("parts", |l| {
            l.inner = Inner::Lanes;
            let part = l.grid_axis("p", parts);
            let (size, limit) = (l.outer(size), l.atom(s.axis.size)?);
            let mut own = Vec::new();
            for (c, d) in copies.iter().zip(s.dests) {
                let copy = l.import_place(&c.place).cell(&[part]);
                let (dims, base) = (l.dims(*d)?, l.plan.flat.vars[*d].ty.base);
                let how = How::Lanes(schedule::lanes(base.bits() / 8, 1));
                l.each_of_last(&dims, how, &mut |l, at| {
                    l.store(&copy, at, Atom::Const(c.none));
                    Ok(())
                })?;
                own.push(copy);
            }
            let range = Range::Tile { index: part, size, limit };
            l.scatter_loop(range, s.dests, s.axis.var, s.body, s.combine, &own)
        })
    }

    /// Combines what is there, which comes first, with what all copies come to.
    fn combine_copies(
        &mut self,
        dest: mono::Var,
        op: ScalarOp,
        copies: &Copies,
        parts: mono::Atom,
        out: &Place,
    ) -> L<()> {
        let prov = self.prov;
        let ty = self.flat.vars[dest].ty.clone();
        let space = self.axes_of(dest);
        let at: Vec<mono::Atom> = space.iter().map(|a| a.var.into()).collect();
        let [x, a, b, q, old, new, both] = ["x", "a", "b", "q", "old", "new", "both"]
            .map(|name| self.fresh(name, mono::Ty::scalar(ty.base)));
        let combined = |q: mono::Var, a: mono::Var, b: mono::Var| mono::Stmt {
            pat: vec![q],
            exp: mono::Exp::Op(op, vec![a.into(), b.into()]),
            prov,
        };
        let index = |x: mono::Var, array: mono::Var, at: Vec<mono::Atom>| mono::Stmt {
            pat: vec![x],
            exp: mono::Exp::Index { array, at },
            prov,
        };
        let part = mono::Axis { var: self.fresh("p", mono::Ty::int()), size: parts };
        let read = index(x, copies.v, [vec![part.var.into()], at.clone()].concat());
        let read = mono::Body { stmts: vec![read], results: vec![x.into()] };
        let body = mono::Body { stmts: vec![combined(q, a, b)], results: vec![q.into()] };
        let lambda = mono::Lambda { params: vec![a, b], body };
        let start = Some(vec![mono::Atom::Const(copies.none)]);
        let reduction = mono::Combine { lambda, start, assoc: true, alone: false };
        let there = self.fresh("there", ty.clone());
        self.set(there, Bound::Array(out.clone()));
        // A GPU has many parts, which all threads reduce; a processor has few.
        let reduced = match self.threads {
            true => {
                let all = self.fresh("all", ty);
                self.seg_red(&[all], &space, part, &reduction, &read)?;
                index(new, all, at.clone())
            }
            false => mono::Stmt {
                pat: vec![new],
                exp: mono::Exp::Reduce { axis: part, body: read, op: reduction },
                prov,
            },
        };
        let leaf = mono::Body {
            stmts: vec![index(old, there, at), reduced, combined(both, old, new)],
            results: vec![both.into()],
        };
        self.fill("combine", std::slice::from_ref(out), &space, &leaf)
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
        copies: &[Copies],
    ) -> L<()> {
        for c in copies {
            let axes = self.axes_of(c.v);
            let none = mono::Body { stmts: Vec::new(), results: vec![mono::Atom::Const(c.none)] };
            self.fill("clear", std::slice::from_ref(&c.place), &axes, &none)?;
        }
        let cells = self.cells_apart(s);
        let n = self.atom(s.axis.size)?;
        let rounds = self.tiles(n, parts)?;
        let part = mono::Axis { var: self.fresh("p", mono::Ty::int()), size: number };
        let space: Vec<mono::Axis> = std::iter::once(part).chain(cells.iter().copied()).collect();
        self.each_point("parts", &space, |l, at| {
            let places: Vec<Place> = copies.iter().map(|c| l.import_place(&c.place)).collect();
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
}

/// A copy of a destination for each part of the items, and what it begins with.
struct Copies {
    v: mono::Var,
    place: Place,
    none: Scalar,
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
}
