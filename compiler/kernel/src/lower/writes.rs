//! Writes to computed places inside a leaf: `scatter` and `filter`, one iteration after the other.

use super::build::{Emit, upto};
use super::in_place::Move;
use super::leaf::Leaf;
use super::nest::{InRow, Nested};
use super::scatter::Scatter;
use super::schedule::few_elements;
use super::{Bound, L, Place, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;
use remc_mono::run::Run;

impl Leaf<'_> {
    pub fn scatter(
        &mut self,
        pat: &[mono::Var],
        dests: &[mono::Var],
        axis: mono::Axis,
        body: &mono::Body,
        combine: Option<&mono::Lambda>,
    ) -> L<()> {
        let s = Scatter { dests, axis, body, combine };
        let run = s.run(&self.plan.flat.vars);
        let read = s.read_elsewhere(run.as_ref());
        let inside: Vec<&mono::Body> = std::iter::once(&read).chain(combine.map(|c| &c.body)).collect();
        let (mut outs, mut copies) = (Vec::new(), Vec::new());
        for (v, d) in pat.iter().zip(dests) {
            let from = self.place(*d)?;
            let to = match self.take(*d, *v, &inside) {
                Some(taken) => taken,
                None => self.memory(*v)?,
            };
            copies.push(Move { like: *d, from: Bound::Array(from), to: to.clone() });
            outs.push(to);
        }
        self.settle(copies)?;
        for (v, to) in pat.iter().zip(&outs) {
            self.env.insert(*v, Bound::Array(to.clone()));
        }
        if let Some(run) = run
            && self.written_as_a_map(&s, &run, &outs)?
        {
            return Ok(());
        }
        let n = self.atom(axis.size)?;
        let from = match self.tally(dests, body, combine) {
            Some(op) => self.in_copies(n, (axis.var, body), (op, dests[0]), &outs[0])?,
            None => Atom::int(0),
        };
        self.scatter_loop(Range::Upto { from, to: n }, dests, axis.var, body, combine, &outs)
    }

    /// Writes rows that go to one place after the other by the loops of a map; says whether it did.
    fn written_as_a_map(&mut self, s: &Scatter<'_>, run: &Run, outs: &[Place]) -> L<bool> {
        let start = self.atom(run.start)?;
        let to: Option<Vec<Place>> = outs.iter().map(|o| o.items_from(start)).collect();
        let Some(to) = to.filter(|_| !run.is_of_items()) else { return Ok(false) };
        let n = self.atom(s.axis.size)?;
        // Nothing is written to a negative place.
        let there = self.int(ScalarOp::Ge, start, Atom::int(0))?;
        self.blocks.open();
        self.map_loops(&run.axes, &run.values, &to, &mut Vec::new())?;
        let then = self.blocks.close();
        self.blocks.open();
        self.scatter_loop(upto(n), s.dests, s.axis.var, s.body, None, outs)?;
        let otherwise = self.blocks.close();
        self.emit(StmtKind::If { cond: there, then, otherwise, results: Vec::new() });
        Ok(true)
    }

    /// The operator of a scatter that counts, or combines integers by an operator that takes them in any order, in a small
    /// array of the thread's own.
    fn tally(
        &self,
        dests: &[mono::Var],
        body: &mono::Body,
        combine: Option<&mono::Lambda>,
    ) -> Option<ScalarOp> {
        let ([dest], Some(mono::Lambda { params, body: combined })) = (dests, combine) else { return None };
        let ty = &self.plan.flat.vars[*dest].ty;
        let ([mono::Stmt { exp: mono::Exp::Op(op, args), pat, .. }], [r]) =
            (&combined.stmts[..], &combined.results[..])
        else {
            return None;
        };
        let both = params.len() == 2 && params.iter().all(|v| args.contains(&(*v).into()));
        let sizes: Option<Vec<Atom>> = ty.dims.iter().map(|d| d.as_int().map(Atom::int)).collect();
        let few = few_elements(&sizes?, self.number(Field::Private)).is_some();
        let plain = body.stmts.iter().all(|s| s.exp.bodies().is_empty())
            && body.stmts.len() as i64 <= self.number(Field::LongBody);
        let exact = ty.base.is_integer() && matches!(op, ScalarOp::Add | ScalarOp::Max2 | ScalarOp::Min2);
        let made = pat.first().is_some_and(|v| *r == (*v).into());
        (!self.plan.threads && ty.rank() == 1 && both && few && plain && exact && made).then_some(*op)
    }

    /// Counts the items of a long row in several copies of the array, in turn: where neighbours go to one place, the one
    /// waits for the other's copy no more. Then the copies are combined in `out`. How many items are done.
    fn in_copies(
        &mut self,
        n: Atom,
        (index, body): (mono::Var, &mono::Body),
        (op, like): (ScalarOp, mono::Var),
        out: &Place,
    ) -> L<Atom> {
        let (copies, least) = (self.number(Field::Copies), self.number(Field::ScatterLeast));
        let base = self.plan.flat.vars[like].ty.base;
        let Some(neutral) = neutral(op, base).filter(|_| copies > 1) else { return Ok(Atom::int(0)) };
        let dims = self.dims(like)?;
        let many = self.int(ScalarOp::Ge, n, Atom::int(least))?;
        let whole = self.int(ScalarOp::Quotient, n, Atom::int(copies))?;
        let whole = self.op(ScalarOp::Select, &[many, whole, Atom::int(0)])?;
        self.blocks.open();
        let mut all = vec![out.clone()];
        for _ in 1..copies {
            let copy = self.scratch(like)?;
            self.each_of(&dims, &mut |l, at| {
                l.store(&copy, at, Atom::Const(neutral));
                Ok(())
            })?;
            all.push(copy);
        }
        self.each(How::Seq, "i", upto(whole), |l, i| {
            let first = l.int(ScalarOp::Mul, i, Atom::int(copies))?;
            for (k, copy) in all.iter().enumerate() {
                let i = l.int(ScalarOp::Add, first, Atom::int(k as i64))?;
                l.set(index, i);
                let results = l.scalars(body)?;
                let [at, value] = results[..] else { return wrong("a scatter of several values") };
                let there = l.int(ScalarOp::Ge, at, Atom::int(0))?;
                l.blocks.open();
                let old = l.load(copy, &[at])?;
                let new = l.int(op, old, value)?;
                l.store(copy, &[at], new);
                let then = l.blocks.close();
                l.emit(StmtKind::If { cond: there, then, otherwise: Vec::new(), results: Vec::new() });
            }
            Ok(())
        })?;
        self.each_of(&dims, &mut |l, at| {
            let mut sum = l.load(out, at)?;
            for copy in &all[1..] {
                let x = l.load(copy, at)?;
                sum = l.int(op, sum, x)?;
            }
            l.store(out, at, sum);
            Ok(())
        })?;
        let then = self.blocks.close();
        self.emit(StmtKind::If { cond: many, then, otherwise: Vec::new(), results: Vec::new() });
        self.int(ScalarOp::Mul, whole, Atom::int(copies))
    }

    /// Writes the values of a range of iterations, one after the other.
    pub fn scatter_loop(
        &mut self,
        range: Range,
        dests: &[mono::Var],
        index: mono::Var,
        body: &mono::Body,
        combine: Option<&mono::Lambda>,
        outs: &[Place],
    ) -> L<()> {
        self.each(How::Seq, "i", range, |l, i| {
            l.set(index, i);
            let results = l.body(body)?;
            let [Bound::Scalar(at), values @ ..] = results.as_slice() else {
                return wrong("a scatter without an index");
            };
            let cond = l.int(ScalarOp::Ge, *at, Atom::int(0))?;
            l.blocks.open();
            l.write_item(*at, values, dests, body, combine, outs)?;
            let then = l.blocks.close();
            l.emit(StmtKind::If { cond, then, otherwise: Vec::new(), results: Vec::new() });
            Ok(())
        })
    }

    /// Writes the values that a body gives of an item to a place of the destinations.
    pub fn write_item(
        &mut self,
        at: Atom,
        values: &[Bound],
        dests: &[mono::Var],
        body: &mono::Body,
        combine: Option<&mono::Lambda>,
        outs: &[Place],
    ) -> L<()> {
        let mut pending = Vec::new();
        if let Some(c) = combine {
            let olds = outs.iter().zip(dests).map(|(o, d)| {
                let cell = self.plan.flat.vars[*d].ty.rank() > 1;
                if cell { Ok(Bound::Array(o.cell(&[at]))) } else { self.load(o, &[at]).map(Bound::Scalar) }
            });
            let olds = olds.collect::<L<Vec<_>>>()?;
            for (param, value) in c.params.iter().zip(olds.into_iter().chain(values.iter().cloned())) {
                self.env.insert(*param, value);
            }
            let new = self.body(&c.body)?;
            for ((r, param), o) in new.into_iter().zip(&c.params).zip(outs) {
                pending.push((r, *param, o.cell(&[at])));
            }
            for (r, param, to) in &mut pending {
                if let Bound::Array(from) = r
                    && outs.iter().any(|o| o.buffer == from.buffer)
                    && from != to
                {
                    let tmp = self.scratch(*param)?;
                    let dims = self.dims(*param)?;
                    self.copy(&dims, from, &tmp)?;
                    *r = Bound::Array(tmp);
                }
            }
        } else {
            for ((r, a), o) in values.iter().zip(&body.results[1..]).zip(outs) {
                match (r, a) {
                    (Bound::Scalar(x), _) => self.store(o, &[at], *x),
                    (_, mono::Atom::Var(v)) => pending.push((r.clone(), *v, o.cell(&[at]))),
                    _ => return wrong("a constant array"),
                }
            }
        }
        for (r, v, to) in &pending {
            self.copy_value(*v, r, to)?;
        }
        Ok(())
    }

    pub fn filter(&mut self, pat: &[mono::Var], axis: mono::Axis, body: &mono::Body) -> L<()> {
        let [count, arrays @ ..] = pat else { return wrong("a filter without a count") };
        self.bounds.insert(*count, axis.size);
        let mut outs = Vec::new();
        for v in arrays {
            let to = self.memory(*v)?;
            outs.push(to);
        }
        let n = self.atom(axis.size)?;
        let kept = self.keep(upto(n), axis.var, body, &outs)?;
        self.set(*count, kept);
        for (v, to) in arrays.iter().zip(outs) {
            self.env.insert(*v, Bound::Array(to));
        }
        Ok(())
    }

    /// Moves what a range keeps to the front of `outs`; how many.
    pub fn keep(&mut self, range: Range, index: mono::Var, body: &mono::Body, outs: &[Place]) -> L<Atom> {
        if let Some(nested) = Nested::of(body, index)
            && let Some((rows, numbers)) = self.rows_of(&nested, range)?
        {
            let kept = self.carry(How::Seq, numbers, &[(Atom::int(0), None)], |l, row, count| {
                let InRow { outer, inner } = l.row_of(&rows, row)?;
                if let Some(v) = nested.outer {
                    l.sizes.insert(v, nested.number(index));
                    l.set(v, outer);
                }
                let index = nested.inner.unwrap_or(index);
                Ok(vec![l.keep_behind(count[0], inner, index, &nested.rest, outs)?])
            })?;
            return Ok(kept[0]);
        }
        self.keep_behind(Atom::int(0), range, index, body, outs)
    }

    /// The same behind so many that are kept.
    fn keep_behind(
        &mut self,
        before: Atom,
        range: Range,
        index: mono::Var,
        body: &mono::Body,
        outs: &[Place],
    ) -> L<Atom> {
        let kept = self.carry(How::Seq, range, &[(before, None)], |l, i, count| {
            l.set(index, i);
            let results = l.body(body)?;
            let [Bound::Scalar(keep), values @ ..] = results.as_slice() else {
                return wrong("a filter without a flag");
            };
            l.blocks.open();
            for ((r, a), o) in values.iter().zip(&body.results[1..]).zip(outs) {
                let to = o.cell(count);
                match a {
                    mono::Atom::Var(v) => l.copy_value(*v, r, &to)?,
                    mono::Atom::Const(_) => l.store(&to, &[], *a),
                }
            }
            let then = l.blocks.close();
            let more = l.int(ScalarOp::Add, count[0], Atom::int(1))?;
            let next = l.plan.out.scalar("kept", BaseTy::I64);
            let results = vec![Choice { var: next, then: more, otherwise: count[0] }];
            l.emit(StmtKind::If { cond: *keep, then, otherwise: Vec::new(), results });
            Ok(vec![Atom::Var(next)])
        })?;
        Ok(kept[0])
    }
}
