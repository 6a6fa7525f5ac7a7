//! Reductions and scans inside a leaf: loops that carry what is combined.
//!
//! Accumulators that are scalars are carried from iteration to iteration, in lanes where the operator
//! allows it. Those that are arrays live in memory, and each combination overwrites them.

use super::build::{Emit, upto};
use super::double_buffer::{Halves, StateMemory};
use super::in_place::Move;
use super::leaf::{Inner, Leaf};
use super::nest::{InRow, Nested};
use super::scan::Scan;
use super::{Bound, L, Place, schedule};
use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;

impl Leaf<'_> {
    pub fn reduce(
        &mut self,
        pat: &[mono::Var],
        axis: mono::Axis,
        body: &mono::Body,
        op: &mono::Combine,
    ) -> L<()> {
        let n = self.atom(axis.size)?;
        let accs = &op.lambda.params[..pat.len().min(op.lambda.params.len())];
        if accs.iter().all(|v| self.plan.flat.vars[*v].ty.is_scalar()) {
            if let Some(thread) = self.of_group().filter(|_| op.assoc) {
                return self.reduce_by_group(thread, pat, axis, body, op);
            }
            let range = upto(n);
            let results = self.reduce_scalars(axis.var, range, body, op, op.start.as_deref())?;
            for (v, a) in pat.iter().zip(results) {
                self.set(*v, a);
            }
            return Ok(());
        }
        let accs = self.array_start(pat, axis, body, op, true)?;
        let from = Atom::int(i64::from(op.start.is_none()));
        self.each(How::Seq, "i", Range::Upto { from, to: n }, |l, i| {
            l.set(axis.var, i);
            let halves = l.halves_of(&accs, i)?;
            l.array_step(pat, body, op, &accs, halves)
        })?;
        let last = self.halves_of(&accs, n)?;
        for (v, home) in pat.iter().zip(accs) {
            let value = match self.plan.flat.vars[*v].ty.is_scalar() {
                true => Bound::Scalar(self.load(&home.from(last), &[])?),
                false => Bound::Array(self.last_of_state(*v, &home, last)?),
            };
            self.env.insert(*v, value);
        }
        Ok(())
    }

    /// Memory for the accumulators of a reduction of which some is an array, holding what it starts with.
    fn array_start(
        &mut self,
        pat: &[mono::Var],
        axis: mono::Axis,
        body: &mono::Body,
        op: &mono::Combine,
        double: bool,
    ) -> L<Vec<StateMemory>> {
        let mut accs = Vec::new();
        for (k, (v, param)) in pat.iter().zip(&op.lambda.params).enumerate() {
            if double && let Some(two) = self.double_buffer(*v, *param, &op.lambda.body, k)? {
                accs.push(StateMemory::Double(two));
                continue;
            }
            // The result of a scan is longer than its accumulator.
            let same = self.plan.flat.vars[*v].ty.rank() == self.plan.flat.vars[*param].ty.rank();
            let first = op.start.as_ref().and_then(|s| s.get(k)?.as_var());
            let taken =
                first.and_then(|a| self.take(a, if same { *v } else { *param }, &[body, &op.lambda.body]));
            let place = match taken {
                Some(place) => place,
                None if same => self.memory(*v)?,
                None => self.scratch(*param)?,
            };
            accs.push(StateMemory::Single(place));
        }
        let first = self.halves_of(&accs, Atom::int(i64::from(op.start.is_none())))?;
        match &op.start {
            Some(start) => {
                let mut moves = Vec::new();
                for ((a, param), home) in start.iter().zip(&op.lambda.params).zip(&accs) {
                    moves.push(Move { like: *param, from: self.value(*a)?, to: home.from(first) });
                }
                self.settle(moves)?;
            }
            None => {
                self.set(axis.var, Atom::int(0));
                let values = self.body(body)?;
                for ((r, param), home) in values.iter().zip(&op.lambda.params).zip(&accs) {
                    self.copy_value(*param, r, &home.from(first))?;
                }
            }
        }
        Ok(accs)
    }

    /// One combination into accumulators that live in memory.
    fn array_step(
        &mut self,
        pat: &[mono::Var],
        body: &mono::Body,
        op: &mono::Combine,
        accs: &[StateMemory],
        halves: Halves,
    ) -> L<()> {
        let elems = self.body(body)?;
        let (acc_params, elem_params) = op.lambda.params.split_at(pat.len());
        for (param, home) in acc_params.iter().zip(accs) {
            let from = home.from(halves);
            let value = match self.plan.flat.vars[*param].ty.is_scalar() {
                true => Bound::Scalar(self.load(&from, &[])?),
                false => Bound::Array(from),
            };
            self.env.insert(*param, value);
        }
        for (param, e) in elem_params.iter().zip(elems) {
            self.env.insert(*param, e);
        }
        self.make_in_halves(&op.lambda.body, accs.iter().map(Some), halves);
        let next = self.body_of(&op.lambda.body, acc_params.iter().copied())?;
        let moves = next.into_iter().zip(acc_params).zip(accs);
        self.settle(
            moves.map(|((from, param), home)| Move { like: *param, from, to: home.into(halves) }).collect(),
        )
    }

    /// A reduction with scalar accumulators over a range of `index`; without a start the range is not
    /// empty and its first element starts.
    pub fn reduce_scalars(
        &mut self,
        index: mono::Var,
        range: Range,
        body: &mono::Body,
        op: &mono::Combine,
        start: Option<&[mono::Atom]>,
    ) -> L<Vec<Atom>> {
        let count = op.lambda.body.results.len();
        let tys: Vec<BaseTy> =
            op.lambda.params[..count].iter().map(|v| self.plan.flat.vars[*v].ty.base).collect();
        let ops = super::schedule::lane_ops(op, &tys);
        let init: Option<Vec<Atom>> = match (start, &ops) {
            (Some(s), _) => Some(self.atoms(s)?),
            (None, Some(ops)) => Some(ops.iter().map(|(_, neutral)| Atom::Const(*neutral)).collect()),
            (None, None) => None,
        };
        let (init, range) = match init {
            Some(init) => (init, range),
            None => {
                let (first, rest) = self.split_first(range)?;
                self.set(index, first);
                (self.scalars(body)?, rest)
            }
        };
        // A serial loop says its operator too: its sums may be contracted.
        let combine = match &ops {
            Some(ops) => ops.iter().map(|(o, _)| Some(*o)).collect(),
            None => vec![None; init.len()],
        };
        let init: Vec<_> = init.into_iter().zip(combine).collect();
        self.fold_scalars(index, range, body, op, &init)
    }

    /// The loop, or the loops, of such a reduction, from what it starts with, each with its own operator if it has one.
    fn fold_scalars(
        &mut self,
        index: mono::Var,
        range: Range,
        body: &mono::Body,
        op: &mono::Combine,
        init: &[(Atom, Option<ScalarOp>)],
    ) -> L<Vec<Atom>> {
        if let Some(nested) = Nested::of(body, index)
            && let Some((rows, numbers)) = self.rows_of(&nested, range)?
        {
            return self.carry(How::Seq, numbers, init, |l, row, accs| {
                let InRow { outer, inner } = l.row_of(&rows, row)?;
                if let Some(v) = nested.outer {
                    l.sizes.insert(v, nested.number(index));
                    l.set(v, outer);
                }
                let init: Vec<_> = accs.iter().zip(init).map(|(acc, (_, op))| (*acc, *op)).collect();
                l.fold_scalars(nested.inner.unwrap_or(index), inner, &nested.rest, op, &init)
            });
        }
        let widest = self.lanes_of_reduction(body, index);
        let outside = self.inner;
        let how = match (widest, outside) {
            (Some(w), Inner::Lanes) if init.iter().all(|(_, op)| op.is_some()) => {
                How::Lanes(schedule::at_most(w, range))
            }
            _ => How::Seq,
        };
        if how != How::Seq {
            self.inner = Inner::Serial;
        }
        let results = self.carry(how, range, init, |l, i, accs| {
            l.set(index, i);
            // The elements of a fold may be arrays though what it carries is not.
            let elems = l.body(body)?;
            l.combine(op, accs, elems)
        });
        self.inner = outside;
        results
    }

    /// The first index of a range, and the range of the others.
    pub fn split_first(&mut self, range: Range) -> L<(Atom, Range)> {
        match range {
            Range::Upto { from, to } => {
                let second = self.int(ScalarOp::Add, from, Atom::int(1))?;
                Ok((from, Range::Upto { from: second, to }))
            }
            Range::Tile { index, size, limit } => {
                let from = self.int(ScalarOp::Mul, index, size)?;
                let end = self.int(ScalarOp::Add, from, size)?;
                let to = self.int(ScalarOp::Min2, end, limit)?;
                let second = self.int(ScalarOp::Add, from, Atom::int(1))?;
                Ok((from, Range::Upto { from: second, to }))
            }
            Range::Share { .. } => super::wrong("the first of a thread's share"),
        }
    }

    /// `op` of scalar accumulators and of elements.
    pub fn combine(&mut self, op: &mono::Combine, accs: &[Atom], elems: Vec<Bound>) -> L<Vec<Atom>> {
        let accs = accs.iter().map(|a| Bound::Scalar(*a));
        for (param, value) in op.lambda.params.iter().zip(accs.chain(elems)) {
            self.env.insert(*param, value);
        }
        self.scalars(&op.lambda.body)
    }

    pub fn scan(
        &mut self,
        pat: &[mono::Var],
        kind: mono::ScanKind,
        axis: mono::Axis,
        body: &mono::Body,
        op: &mono::Combine,
    ) -> L<()> {
        let n = self.atom(axis.size)?;
        let mut outs = Vec::new();
        for v in pat {
            let to = self.memory(*v)?;
            outs.push(to);
        }
        let scalar = op.lambda.params[..pat.len()].iter().all(|v| self.plan.flat.vars[*v].ty.is_scalar());
        if scalar {
            self.scan_scalars(kind, axis.var, n, body, op, &outs)?;
        } else {
            self.scan_arrays(pat, kind, axis, n, body, op, &outs)?;
        }
        for (v, to) in pat.iter().zip(outs) {
            self.env.insert(*v, Bound::Array(to));
        }
        Ok(())
    }

    fn scan_scalars(
        &mut self,
        kind: mono::ScanKind,
        index: mono::Var,
        n: Atom,
        body: &mono::Body,
        op: &mono::Combine,
        outs: &[Place],
    ) -> L<()> {
        let scan = Scan { index, kind, op, leaf: body, epilogue: None };
        let group = self.of_group();
        if let Some(thread) = group {
            if self.scan_by_group(thread, n, scan, outs)? {
                return Ok(());
            }
            self.emit(StmtKind::Barrier);
        }
        if self.inner == Inner::Lanes
            && let Some((width, ops)) = self.scan_lanes(&scan)
        {
            let start = match &op.start {
                Some(s) => self.atoms(s)?,
                None => ops.iter().map(|(_, neutral)| Atom::Const(*neutral)).collect(),
            };
            let init: Vec<_> = start.into_iter().zip(ops).map(|(a, (o, _))| (a, Some(o))).collect();
            let how = How::Scan(width);
            let last = self.scan_loop(how, upto(n), &init, scan, &[], outs)?;
            if kind == mono::ScanKind::Full {
                outs.iter().zip(last).for_each(|(to, x)| self.store(to, &[n], x));
            }
            return Ok(());
        }
        let store = |l: &mut Self, at: Atom, values: &[Atom]| {
            outs.iter().zip(values).try_for_each(|(to, v)| l.put(to, &[at], *v))
        };
        let (init, range) = match &op.start {
            Some(s) => (self.atoms(s)?, upto(n)),
            None => {
                self.set(index, Atom::int(0));
                let first = self.scalars(body)?;
                store(self, Atom::int(0), &first)?;
                (first, Range::Upto { from: Atom::int(1), to: n })
            }
        };
        let init: Vec<_> = init.into_iter().map(|a| (a, None)).collect();
        let last = self.carry(How::Seq, range, &init, |l, i, accs| {
            l.set(index, i);
            if kind != mono::ScanKind::Inclusive {
                store(l, i, accs)?;
            }
            let elems = l.body(body)?;
            let next = l.combine(op, accs, elems)?;
            if kind == mono::ScanKind::Inclusive {
                store(l, i, &next)?;
            }
            Ok(next)
        })?;
        if kind == mono::ScanKind::Full {
            store(self, n, &last)?;
        }
        if group.is_some() {
            self.emit(StmtKind::Barrier);
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of a scan")]
    fn scan_arrays(
        &mut self,
        pat: &[mono::Var],
        kind: mono::ScanKind,
        axis: mono::Axis,
        n: Atom,
        body: &mono::Body,
        op: &mono::Combine,
        outs: &[Place],
    ) -> L<()> {
        let accs = self.array_start(pat, axis, body, op, false)?;
        let params = op.lambda.params.clone();
        let halves = Halves { from: Atom::int(0), into: Atom::int(0) };
        let store = |l: &mut Self, at: Atom| -> L<()> {
            for ((param, acc), to) in params.iter().zip(&accs).zip(outs) {
                let dims = l.dims(*param)?;
                l.copy(&dims, &acc.from(halves), &to.cell(&[at]))?;
            }
            Ok(())
        };
        let inclusive = kind == mono::ScanKind::Inclusive;
        let from = Atom::int(i64::from(op.start.is_none()));
        if op.start.is_none() {
            store(self, Atom::int(0))?;
        }
        self.each(How::Seq, "i", Range::Upto { from, to: n }, |l, i| {
            l.set(axis.var, i);
            if !inclusive {
                store(l, i)?;
            }
            l.array_step(pat, body, op, &accs, halves)?;
            if inclusive { store(l, i) } else { Ok(()) }
        })?;
        if kind == mono::ScanKind::Full { store(self, n) } else { Ok(()) }
    }
}
