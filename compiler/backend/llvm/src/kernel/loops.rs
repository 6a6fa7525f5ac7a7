//! Loops that count, in each of the ways in which they run.
//!
//! | how | code |
//! | --- | --- |
//! | `seq` | one iteration after the other; in lanes what keeps some of its items (`super::keep`); inside of lanes several at once (`super::jam`), or a few written out |
//! | `lanes w` | a loop of `w` lanes, whose last vector overlaps the one before (`super::overlap`); or loops of fewer lanes for what is left, and at last one by one, or masked (`super::tail`) |
//! | `scan w` | a loop of `w` lanes, whose prefixes `super::scan` makes; then one by one |
//! | `jam k` | a loop of `k` iterations at once, which share the loops inside; then one by one (`super::jam`) |
//!
//! All loops of a `lanes`, `scan` or `jam` loop are the same body emitted again, on other pieces
//! (`super::pieces`). Where the body cannot run that way (`super::vary` says), the loop is a `seq`; and one whose iterations are
//! short rows runs several of them at once (`super::outer_lanes`).
//!
//! A value carried by a `lanes` loop is accumulated in vectors that start from the operator's neutral
//! element. A narrower loop takes over the halves of the wider one's accumulator, combined; at the end the
//! lanes are combined in a tree, with the loop's start, before the last iterations if those come one by one and
//! after them if they are masked. All of that depends on the number of iterations alone, so a result is the
//! same on every run.

use super::Fun;
use super::counted::{Loop, Sum, Sums, Values};
use super::pieces::Pieces;
use super::stmt::{close, values_of};
use super::vary::{self, Known};
use crate::error::EmitError;
use crate::values::{Value, lanes as width};
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, IntValue};
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_kernel::ir::{Atom, Carried, Exp, How, Range, Space, Stmt, StmtKind, Ty, Var, neutral};
use remc_kernel::schedule::Field;
use remc_kernel::{keep, rows, scan};
use rustc_hash::FxHashSet;

/// A body, given the index and what the loop carries; it gives the next values.
type Body<'f, 'a, 'ctx> = &'f mut dyn FnMut(
    &mut Fun<'a, 'ctx>,
    IntValue<'ctx>,
    &[Vec<Value<'ctx>>],
) -> Result<Vec<Vec<Value<'ctx>>>, EmitError>;

impl<'a, 'ctx> Fun<'a, 'ctx> {
    pub fn for_(
        &mut self,
        how: How,
        var: Var,
        range: &Range,
        carried: &[Carried],
        body: &[Stmt],
        next: &[Atom],
    ) -> Result<(), EmitError> {
        if self.outer_lanes.is_some() {
            return self.for_in_rows((var, range), carried, body, next);
        }
        if self.lanes.is_some() && range.atoms().into_iter().any(|a| self.varies(a)) {
            return self.for_apart((var, range), carried, body, next);
        }
        let (from, to) = self.bounds(range)?;
        let ragged = self.is_ragged(range);
        let l = Loop { var, from, to, ragged, asks: ragged, carried, body, next };
        match how {
            How::Seq if self.lanes.is_none() && self.jam == 1 => {
                let rows = self.kernel.map(|k| k.rows.as_slice()).unwrap_or_default();
                if let Some(parts) = keep::keep(carried, body, next, rows)
                    && self.keep(&l, &parts)?
                {
                    return Ok(());
                }
                if let Some(rows) = rows::rows(body, next)
                    && self.rows(&l, &rows)?
                {
                    return Ok(());
                }
            }
            How::Seq if self.jam_in_lanes(&l)? => return Ok(()),
            How::Seq if self.lanes.is_some() => {
                if let Some(range) = self.short(&l) {
                    return self.unrolled(var, range, carried, body, next);
                }
            }
            How::Lanes(w) if self.lanes.is_none() => {
                if let Some((set, sums)) = self.can_be_in_lanes(w, &l) {
                    self.lane_varying.extend(set);
                    return self.in_lanes(w, &l, &sums);
                }
            }
            How::Scan(w) if self.lanes.is_none() && w.is_power_of_two() && w > 1 => {
                let params = carried.iter().map(|c| c.param);
                let sums = self.sums(carried).filter(|s| Self::scannable(s));
                let phases = scan::phases(carried, body, next).ok();
                let uniformity = self.uniformity_of(&l);
                let known = Known {
                    branches: Some(&uniformity.branches),
                    predicate: self.jam == 1,
                    ..Known::default()
                };
                if let (Some(set), Some(sums), Some(phases)) =
                    (vary::varying(var, params, body, &known), sums, phases)
                {
                    self.lane_varying.extend(set);
                    return self.scan(w, &l, &sums, &phases);
                }
            }
            How::Jam(k) if self.lanes.is_none() && self.jam == 1 && k > 1 && carried.is_empty() => {
                if let Some(set) = vary::varying(var, [], body, &Known::default()) {
                    self.jam_varying.extend(set);
                    self.jam_linear.insert(var);
                    return self.jammed(k, &l);
                }
            }
            _ => {}
        }
        if let Some(known) = self.can_be_outer_lanes(&l) {
            return self.rows_in_lanes(&l, known);
        }
        let inits: Vec<Atom> = carried.iter().map(|c| c.init).collect();
        let init = self.carry(carried, &inits)?;
        // Points side by side write whole lines of one row after the other.
        let lines = self.writes_lines || self.lanes.is_some();
        let around = std::mem::replace(&mut self.writes_lines, lines);
        self.serial(&l, init)?;
        self.writes_lines = around;
        Ok(())
    }

    /// The iterations of a short loop that changes arrays of the lanes' own, where there are registers for these: written out,
    /// their elements are numbers.
    fn short(&self, l: &Loop<'_, 'ctx>) -> Option<std::ops::Range<i64>> {
        let range = l.from.get_sign_extended_constant()?..l.to.get_sign_extended_constant()?;
        let n = range.end.saturating_sub(range.start);
        let all = n.saturating_mul(weight(l.body));
        let few = n <= self.schedule[Field::OwnTrips] && all <= self.schedule[Field::OwnStatements];
        (few && self.own_elements(l.body).is_some_and(|n| n <= self.schedule[Field::OwnElements]))
            .then_some(range)
    }

    /// How many elements the largest of the lanes' own arrays has that a body changes, if it changes any.
    fn own_elements(&self, body: &[Stmt]) -> Option<i64> {
        let of = |s: &Stmt| {
            let here = match &s.kind {
                StmtKind::Store { buffer, .. } => {
                    let ty = self.buffer_ty(*buffer).filter(|t| t.space == Space::Private)?;
                    ty.dims.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_int()?))
                }
                _ => None,
            };
            s.kind.blocks().into_iter().filter_map(|b| self.own_elements(b)).chain(here).max()
        };
        body.iter().filter_map(of).max()
    }

    /// Whether each run of a loop has its own number of iterations.
    pub fn is_ragged(&self, range: &Range) -> bool {
        matches!(range, Range::Upto { to: Atom::Var(n), .. } if !self.params.contains(n))
    }

    fn bounds(&self, range: &Range) -> Result<(IntValue<'ctx>, IntValue<'ctx>), EmitError> {
        match *range {
            Range::Upto { from, to } => Ok((self.size(from)?, self.size(to)?)),
            Range::Tile { index, size, limit } => {
                let (index, size, limit) = (self.size(index)?, self.size(size)?, self.size(limit)?);
                let from = self.e.builder.build_int_nsw_mul(index, size, "")?;
                let end = self.e.builder.build_int_nsw_add(from, size, "")?;
                let to = self.e.intrinsic("llvm.smin", &[], &[end.into(), limit.into()])?;
                Ok((from, super::int(to)?))
            }
            Range::Share { .. } => Err(EmitError::Program("a share of the threads of a block".into())),
        }
    }

    /// The loop every other is made of: from `from`, by `step`, while less than `to`.
    pub fn counted(
        &mut self,
        from: IntValue<'ctx>,
        to: IntValue<'ctx>,
        step: u32,
        init: Vec<Vec<Value<'ctx>>>,
        body: Body<'_, 'a, 'ctx>,
    ) -> Result<Vec<Vec<Value<'ctx>>>, EmitError> {
        let (before, head, inside, after) = (self.here()?, self.append(), self.append(), self.append());
        self.jump(head)?;
        self.position(head);
        let index = self.phis(&[vec![from.into()]], before)?;
        let phis = self.phis(&init, before)?;
        let i = super::int(index[0][0].as_basic_value())?;
        let more = self.e.icmp(IntPredicate::SLT, i.into(), to.into())?;
        self.branch(more, inside, after)?;
        self.position(inside);
        let values = values_of(&phis);
        let next = body(self, i, &values)?;
        let after_step = self.e.builder.build_int_nsw_add(i, self.i64(i64::from(step)), "")?;
        let end = self.here()?;
        close(&index, &[vec![after_step.into()]], end)?;
        close(&phis, &next, end)?;
        self.jump(head)?;
        self.position(after);
        Ok(values)
    }

    /// One iteration after the other, from carried values that are there already.
    pub fn serial(&mut self, l: &Loop<'_, 'ctx>, init: Values<'ctx>) -> Result<(), EmitError> {
        let results = self.one_by_one(l, init)?;
        self.bind_carried(self.results(l.carried).into_iter(), &results);
        Ok(())
    }

    /// The same; what is carried in the end.
    pub fn one_by_one(&mut self, l: &Loop<'_, 'ctx>, init: Values<'ctx>) -> Result<Values<'ctx>, EmitError> {
        self.counted(l.from, l.to, 1, init, &mut |f, i, params| {
            f.bind(l.var, i.into());
            f.bind_carried(f.params(l.carried).into_iter(), params);
            f.block(l.body)?;
            f.carry(l.carried, l.next)
        })
    }

    pub fn unrolled(
        &mut self,
        var: Var,
        range: std::ops::Range<i64>,
        carried: &[Carried],
        body: &[Stmt],
        next: &[Atom],
    ) -> Result<(), EmitError> {
        let mut state =
            carried.iter().map(|c| self.atom(c.init)).collect::<Result<Vec<Pieces<'ctx>>, _>>()?;
        for i in range {
            self.bind(var, self.i64(i).into());
            for (c, v) in carried.iter().zip(state) {
                self.env.insert(c.param, v);
            }
            self.block(body)?;
            state = next.iter().map(|a| self.atom(*a)).collect::<Result<_, _>>()?;
        }
        for (c, v) in carried.iter().zip(state) {
            self.env.insert(c.result, v);
        }
        Ok(())
    }

    /// The number of iterations.
    pub fn count(&self, (from, to): (IntValue<'ctx>, IntValue<'ctx>)) -> Result<IntValue<'ctx>, EmitError> {
        let n = self.e.sub(to.into(), from.into())?;
        super::int(self.e.intrinsic("llvm.smax", &[], &[n, self.i64(0).into()])?)
    }

    /// The end of as many whole steps as fit, a power of two each or any number.
    pub fn whole_steps(
        &self,
        (from, to): (IntValue<'ctx>, IntValue<'ctx>),
        step: u32,
    ) -> Result<IntValue<'ctx>, EmitError> {
        let n: Value<'ctx> = self.count((from, to))?.into();
        let whole = if step.is_power_of_two() {
            self.e.and(n, self.i64(-i64::from(step)).into())?
        } else {
            self.e.sub(n, self.e.urem(n, self.i64(i64::from(step)).into())?)?
        };
        Ok(self.e.builder.build_int_nsw_add(from, super::int(whole)?, "")?)
    }

    // ---- lanes ----

    /// The operators of what a loop in lanes carries, with their neutral elements.
    pub fn sums(&self, carried: &[Carried]) -> Option<Vec<Sum>> {
        carried
            .iter()
            .map(|c| {
                let ty = self.ty(Atom::Var(c.param)).ok()?;
                let op = c.combine?;
                Some((op, ty, neutral(op, ty)?))
            })
            .collect()
    }

    /// What differs from lane to lane, and what is combined, if a loop that is to be in lanes can be.
    pub fn can_be_in_lanes(&self, w: u32, l: &Loop<'_, 'ctx>) -> Option<(FxHashSet<Var>, Vec<Sum>)> {
        if !w.is_power_of_two() || w < 2 {
            return None;
        }
        let params = l.carried.iter().flat_map(|c| [c.param, c.result]);
        let uniformity = self.uniformity_of(l);
        let known = Known {
            branches: Some(&uniformity.branches),
            private: vary::private(l.body),
            predicate: self.jam == 1,
        };
        Some((vary::varying(l.var, params, l.body, &known)?, self.sums(l.carried)?))
    }

    fn in_lanes(&mut self, w: u32, l: &Loop<'_, 'ctx>, sums: &Sums) -> Result<(), EmitError> {
        let widths = self.widths(w, l);
        let inits = l.carried.iter().map(|c| self.atom(c.init)).collect::<Result<Vec<_>, _>>()?;
        let mut shaped = Vec::new();
        for (init, c) in inits.iter().zip(l.carried) {
            shaped.push(self.shaped(init, self.form(c.param).0, false)?);
        }
        if self.can_mask(l.carried, l.body) {
            return self.lanes_to_the_end(&widths, l, &shaped, sums);
        }
        if self.can_mask_writes(l) {
            return self.lanes_that_write(&widths, l);
        }
        if self.can_overlap(l) {
            return self.lanes_that_overlap(&widths, l);
        }
        // A range that is shorter than a vector has nothing to fold.
        let ends = self.ends(l, &widths)?;
        let last = *ends.last().ok_or(EmitError::WrongValue("no lanes"))?;
        let scalars = self.if_any(l.from, last, shaped.clone(), &mut |f| {
            let all = f.whole_vectors(l, (&widths, &ends), sums)?;
            f.finished(&shaped, all, sums)
        })?;
        self.serial(&Loop { from: last, ..*l }, scalars)
    }

    /// Where the loops of these lanes end.
    pub fn ends(&self, l: &Loop<'_, 'ctx>, widths: &[u32]) -> Result<Vec<IntValue<'ctx>>, EmitError> {
        widths.iter().map(|w| self.whole_steps((l.from, l.to), *w)).collect()
    }

    /// All iterations that fill vectors: loops of these lanes, each up to its end; the accumulators of the last.
    pub fn whole_vectors(
        &mut self,
        l: &Loop<'_, 'ctx>,
        (widths, ends): (&[u32], &[IntValue<'ctx>]),
        sums: &Sums,
    ) -> Result<Values<'ctx>, EmitError> {
        let Loop { from, carried, body, next, .. } = *l;
        let uniformity = self.uniformity_of(l);
        let mut acc: Values<'ctx> = sums
            .iter()
            .zip(carried)
            .map(|((_, _, zero), c)| {
                vec![self.e.constant(*zero, widths.first().copied()); self.form(c.param).0]
            })
            .collect();
        let mut start = from;
        for (k, (w, end)) in widths.iter().zip(ends).enumerate() {
            let steps = |f: &mut Self| {
                f.lanes = Some(*w);
                f.prefetches = l.asks;
                let all = f.counted(start, *end, *w, acc.clone(), &mut |f, i, params| {
                    f.bind_carried(f.params(carried).into_iter(), params);
                    f.where_uniform(l, &uniformity, (i, *w), &mut |f| {
                        f.block(body)?;
                        f.carry(carried, next)
                    })
                })?;
                f.lanes = None;
                f.prefetches = false;
                Ok::<_, EmitError>(all)
            };
            acc = match widths.get(k + 1) {
                Some(fewer) => {
                    let without = self.folded(acc.clone(), sums, *fewer)?;
                    self.if_any(start, *end, without, &mut |f| {
                        let all = steps(f)?;
                        f.folded(all, sums, *fewer)
                    })?
                }
                None => steps(self)?,
            };
            start = *end;
        }
        Ok(acc)
    }

    /// The lanes of accumulators combined, after what the loop starts from.
    fn finished(
        &self,
        inits: &Values<'ctx>,
        acc: Values<'ctx>,
        sums: &Sums,
    ) -> Result<Values<'ctx>, EmitError> {
        self.combined(inits, &self.folded(acc, sums, 1)?, sums)
    }

    /// Accumulators of as many lanes, one with one.
    pub fn combined(
        &self,
        a: &Values<'ctx>,
        b: &Values<'ctx>,
        sums: &Sums,
    ) -> Result<Values<'ctx>, EmitError> {
        a.iter()
            .zip(b)
            .zip(sums)
            .map(|((a, b), (op, ty, _))| {
                a.iter().zip(b).map(|(a, b)| self.e.op(*op, &[*ty, *ty], &[*a, *b])).collect()
            })
            .collect()
    }

    /// What `f` gives if there is an iteration from `from` to `to`, else `without`.
    pub fn if_any(
        &mut self,
        from: IntValue<'ctx>,
        to: IntValue<'ctx>,
        without: Values<'ctx>,
        f: &mut dyn FnMut(&mut Self) -> Result<Values<'ctx>, EmitError>,
    ) -> Result<Values<'ctx>, EmitError> {
        if without.is_empty() {
            return f(self);
        }
        let any = self.e.icmp(IntPredicate::SLT, from.into(), to.into())?;
        self.if_holds(any, without, f)
    }

    /// What `f` gives if `cond` holds, else `without`.
    pub fn if_holds(
        &mut self,
        cond: Value<'ctx>,
        without: Values<'ctx>,
        f: &mut dyn FnMut(&mut Self) -> Result<Values<'ctx>, EmitError>,
    ) -> Result<Values<'ctx>, EmitError> {
        let (before, yes, join) = (self.here()?, self.append(), self.append());
        self.branch(cond, yes, join)?;
        self.position(yes);
        let values = f(self)?;
        let end = self.here()?;
        self.jump(join)?;
        self.position(join);
        let phis = self.phis(&without, before)?;
        close(&phis, &values, end)?;
        Ok(values_of(&phis))
    }

    /// The same, in code that is out of the way of what mostly runs: each jump around it would take as long as a short
    /// row.
    pub fn if_seldom(
        &mut self,
        cond: Value<'ctx>,
        without: Values<'ctx>,
        f: &mut dyn FnMut(&mut Self) -> Result<Values<'ctx>, EmitError>,
    ) -> Result<Values<'ctx>, EmitError> {
        let before = self.here()?;
        let values = self.if_holds(cond, without, f)?;
        let c = self.e.context;
        let weights = [c.metadata_string("branch_weights").into(), self.i32(1).into(), self.i32(12).into()];
        let branch = before.get_terminator().ok_or(EmitError::WrongValue("branch"))?;
        let set = branch.set_metadata(c.metadata_node(&weights), c.get_kind_id("prof"));
        set.map_err(|_| EmitError::WrongValue("branch"))?;
        Ok(values)
    }

    /// Accumulators of fewer lanes: halves are combined until `w` are left.
    pub fn folded(
        &self,
        acc: Vec<Vec<Value<'ctx>>>,
        sums: &Sums,
        w: u32,
    ) -> Result<Vec<Vec<Value<'ctx>>>, EmitError> {
        acc.into_iter()
            .zip(sums)
            .map(|(vs, (op, ty, _))| vs.into_iter().map(|v| self.fold(v, *op, *ty, w)).collect())
            .collect()
    }

    fn fold(&self, mut v: Value<'ctx>, op: ScalarOp, ty: BaseTy, w: u32) -> Result<Value<'ctx>, EmitError> {
        while let Some(n) = width(v)
            && n > w
            && n > 1
        {
            let BasicValueEnum::VectorValue(all) = v else { return Err(EmitError::WrongValue("fold")) };
            let half = n / 2;
            let part = |from: u32| {
                let mask: Vec<_> = (from..from + half).map(|k| self.i32(k)).collect();
                let mask = inkwell::types::VectorType::const_vector(&mask);
                let poison = all.get_type().get_poison();
                Ok::<Value<'ctx>, EmitError>(
                    self.e.builder.build_shuffle_vector(all, poison, mask, "")?.into(),
                )
            };
            v = self.e.op(op, &[ty, ty], &[part(0)?, part(half)?])?;
        }
        match v {
            BasicValueEnum::VectorValue(one) if w == 1 => {
                Ok(self.e.builder.build_extract_element(one, self.i32(0), "")?)
            }
            v => Ok(v),
        }
    }

    /// The numbers of lanes of the loops that a loop in lanes becomes.
    ///
    /// The first is what the program says, but no more than its accumulators leave registers for. A body
    /// with loops of its own is expensive to run, so there is a loop for each quarter of that; any other body
    /// is emitted once more at most, at the width of a register. (Each loop more takes longer to compile.)
    ///
    /// Which loops a ragged row enters no processor guesses, so it has one, and a vector with a mask after it
    /// (`super::tail`): of as many lanes as that vector may have where that is cheap, and of a register's where lanes
    /// are gathered, which takes longer than one accumulator does.
    pub fn widths(&self, w: u32, l: &Loop<'_, 'ctx>) -> Vec<u32> {
        let Loop { var, carried, body, .. } = *l;
        let native = self.native(carried, body);
        let (mut all, mut w) = (Vec::new(), w);
        let registers = if self.host.vector_bits == 512 { 24 } else { 12 };
        let accumulators = self.jam as u32 * inner_carried(body).max(carried.len() as u32).max(1);
        while w > native && w / native * accumulators > registers {
            w /= 2;
        }
        if l.ragged && self.is_cheap_masked(var, carried, body) {
            return vec![w.min(native * self.schedule[Field::RaggedParts] as u32)];
        }
        if l.ragged && self.can_mask(carried, body) && !self.loads_follow(var, body) {
            return vec![w.min(native)];
        }
        all.push(w);
        if self.can_mask_writes(l) {
            all.retain(|w| *w > native && !l.ragged);
            all.push(native.min(w));
        } else if vary::has_loop(body) {
            // A single lane is no vector.
            while i64::from(w / 4) >= self.schedule[Field::FewestLanes].max(2) {
                w /= 4;
                all.push(w);
            }
        } else if w > native {
            all.push(native);
        }
        all
    }

    /// How many of the widest elements that a loop carries, loads or stores fit a register.
    pub fn native(&self, carried: &[Carried], body: &[Stmt]) -> u32 {
        let carried = carried.iter().map(|c| self.bits(c.param)).max().unwrap_or(8);
        self.host.lanes(carried.max(self.widest(body))).max(2)
    }

    /// The bits of the widest elements that a body loads or stores.
    pub fn widest(&self, body: &[Stmt]) -> u32 {
        let buffer = |v: Var| self.buffer_ty(v).map_or(8, |t| t.base.bits());
        body.iter()
            .map(|s| {
                let own = match &s.kind {
                    StmtKind::Let { exp: Exp::Load { buffer: b, .. }, .. } => buffer(*b),
                    StmtKind::Store { buffer: b, .. } => buffer(*b),
                    StmtKind::For { carried, .. } | StmtKind::While { carried, .. } => {
                        carried.iter().map(|c| self.bits(c.param)).max().unwrap_or(8)
                    }
                    _ => 8,
                };
                s.kind.blocks().into_iter().map(|b| self.widest(b)).fold(own, u32::max)
            })
            .max()
            .unwrap_or(8)
    }

    fn bits(&self, v: Var) -> u32 {
        match self.p.vars.get(v).map(|i| &i.ty) {
            Some(Ty::Scalar(b)) => b.bits().max(8),
            _ => 64,
        }
    }
}

/// How many statements a block is with its loops written out.
fn weight(block: &[Stmt]) -> i64 {
    let of = |s: &Stmt| {
        let once = s.kind.blocks().into_iter().map(|b| weight(b)).fold(1i64, i64::saturating_add);
        let trips = match &s.kind {
            StmtKind::For { range: Range::Upto { from, to }, .. } => match (from.as_int(), to.as_int()) {
                (Some(from), Some(to)) => to.saturating_sub(from).max(1),
                _ => 1,
            },
            _ => 1,
        };
        once.saturating_mul(trips)
    };
    block.iter().map(of).fold(0, i64::saturating_add)
}

/// The most values that a loop inside carries.
pub(super) fn inner_carried(body: &[Stmt]) -> u32 {
    body.iter()
        .map(|s| {
            let own = match &s.kind {
                StmtKind::For { carried, .. } | StmtKind::While { carried, .. } => carried.len() as u32,
                _ => 0,
            };
            s.kind.blocks().into_iter().map(|b| inner_carried(b)).fold(own, u32::max)
        })
        .max()
        .unwrap_or(0)
}
