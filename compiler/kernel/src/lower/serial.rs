//! The serial body of one point: what a thread does.
//!
//! Scalars become `let`s, reductions loops with carried values; what a map inside gives is stored element by element.

use super::build::{Emit, upto};
use super::double_buffer::{Halves, StateMemory};
use super::in_place::Move;
use super::leaf::{Inner, Leaf};
use super::outer_lanes::OuterLanes;
use super::{Bound, L, Place, schedule, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;

impl Leaf<'_> {
    /// The statements of a body; its results.
    pub fn body(&mut self, b: &mono::Body) -> L<Vec<Bound>> {
        self.body_of(b, [])
    }

    /// A body that gives scalars.
    pub fn scalars(&mut self, b: &mono::Body) -> L<Vec<Atom>> {
        self.body(b)?
            .into_iter()
            .map(|r| match r {
                Bound::Scalar(a) => Ok(a),
                Bound::Array(_) => wrong("an array where a scalar is wanted"),
            })
            .collect()
    }

    /// A body whose results are stored in `to`, where possible by making them there.
    pub fn body_into(&mut self, b: &mono::Body, to: &[Place]) -> L<()> {
        if let Some((before, cond, branches)) = self.ends_in_branches(b) {
            self.body(&before)?;
            let cond = self.atom(cond)?;
            let [then, otherwise] = branches.map(|branch| {
                self.blocks.open();
                let done = self.body_into(branch, to);
                self.meet();
                done.map(|()| self.blocks.close())
            });
            self.emit(StmtKind::If { cond, then: then?, otherwise: otherwise?, results: Vec::new() });
            return Ok(());
        }
        let mut made = Vec::new();
        for (r, place) in b.results.iter().zip(to) {
            // An array that is bound here, and given once, is made in its place.
            let here = r.as_var().filter(|v| {
                !self.plan.flat.vars[*v].ty.is_scalar()
                    && b.stmts.iter().any(|s| s.pat.contains(v) && s.exp.makes_arrays())
                    && b.results.iter().filter(|x| *x == r).count() == 1
            });
            if let Some(v) = here {
                self.dests.insert(v, place.clone());
                if self.of_group().is_some() {
                    self.in_place(b, v, place);
                }
            }
            made.push(here);
        }
        let results = self.body(b)?;
        for ((result, place), (atom, made)) in results.iter().zip(to).zip(b.results.iter().zip(made)) {
            match (result, made) {
                (Bound::Array(at), Some(_)) if at == place => {}
                (_, _) => match atom {
                    mono::Atom::Var(v) => self.copy_value(*v, result, place)?,
                    mono::Atom::Const(_) => self.put(place, &[], *atom)?,
                },
            }
        }
        Ok(())
    }

    /// What a body computes first, where all that it gives, arrays among it, is what one of two branches does: each can
    /// store that where it belongs.
    fn ends_in_branches<'b>(
        &self,
        b: &'b mono::Body,
    ) -> Option<(mono::Body, mono::Atom, [&'b mono::Body; 2])> {
        let (last, before) = b.stmts.split_last()?;
        let mono::Exp::If { cond, then, otherwise } = &last.exp else { return None };
        let given = b.results.iter().map(|a| a.as_var()).eq(last.pat.iter().map(|v| Some(*v)));
        let arrays = last.pat.iter().any(|v| self.is_array(*v));
        // What the branches read of what is made first has to stay as it is.
        let made: Vec<mono::Var> = before.iter().flat_map(|s| s.pat.iter().copied()).collect();
        let read = then.free_vars().into_iter().chain(otherwise.free_vars());
        let read = read.filter(|v| made.contains(v) && self.is_array(*v));
        let results = read.map(mono::Atom::Var).collect();
        (given && arrays).then_some((
            mono::Body { stmts: before.to_vec(), results },
            *cond,
            [then, otherwise],
        ))
    }

    pub fn stmt(&mut self, s: &mono::Stmt) -> L<()> {
        let before = std::mem::replace(&mut self.prov, s.prov);
        let done = self.exp(&s.pat, &s.exp);
        self.prov = before;
        done
    }

    pub fn one(pat: &[mono::Var]) -> L<mono::Var> {
        match pat {
            [v] => Ok(*v),
            _ => wrong("a pattern of another length"),
        }
    }

    fn exp(&mut self, pat: &[mono::Var], exp: &mono::Exp) -> L<()> {
        use mono::Exp as E;
        self.bounds.extend(exp.axes().iter().map(|a| (a.var, a.size)));
        if let E::Reduce { body, op, .. } | E::Scan { body, op, .. } = exp
            && !op.assoc
        {
            self.sizes.extend(op.elements(body).map(|(v, a)| (v, mono::Exp::Atom(a))));
        }
        match exp {
            E::Atom(a) => {
                let v = Self::one(pat)?;
                let value = self.value(*a)?;
                self.sizes.insert(v, exp.clone());
                self.env.insert(v, value);
                Ok(())
            }
            E::Op(op, args) => {
                let v = Self::one(pat)?;
                self.sizes.insert(v, exp.clone());
                let args = self.atoms(args)?;
                let a = self.op(*op, &args)?;
                self.set(v, a);
                Ok(())
            }
            E::Cast(ty, a) => {
                let v = Self::one(pat)?;
                let a = self.atom(*a)?;
                let x = self.bind("x", *ty, Exp::Cast(*ty, a));
                self.set(v, x);
                Ok(())
            }
            E::Index { array, at } => {
                let v = Self::one(pat)?;
                let (p, at) = (self.place(*array)?, self.atoms(at)?);
                let value = if self.plan.flat.vars[v].ty.is_scalar() {
                    Bound::Scalar(self.load(&p, &at)?)
                } else {
                    Bound::Array(p.cell(&at))
                };
                self.env.insert(v, value);
                Ok(())
            }
            E::Literal { dims, elems } => {
                let v = Self::one(pat)?;
                let to = self.memory(v)?;
                let sizes: Vec<i64> = dims.iter().filter_map(|d| d.as_int()).collect();
                for (k, e) in elems.iter().enumerate() {
                    let value = self.atom(*e)?;
                    self.store(&to, &position(k, &sizes), value);
                }
                self.env.insert(v, Bound::Array(to));
                Ok(())
            }
            E::Check { trap, cond, values } => {
                let (cond, values) = (self.atom(*cond)?, self.atoms(values)?);
                self.check(trap, cond, &values);
                Ok(())
            }
            E::Pull { .. } | E::Push { .. } => wrong("a stream inside of a kernel"),
            E::If { cond, then, otherwise } => self.if_(pat, *cond, then, otherwise),
            E::For { axis, state, body } => self.for_(pat, *axis, state, body),
            E::While { state, cond, body } => self.while_(pat, state, cond, body),
            E::Map { axes, body } => self.map(pat, axes, body),
            E::Reduce { axis, body, op } => self.reduce(pat, *axis, body, op),
            E::Scan { kind, axis, body, op } => self.scan(pat, *kind, *axis, body, op),
            E::Scatter { dests, axis, body, combine } => {
                self.scatter(pat, dests, *axis, body, combine.as_ref())
            }
            E::Filter { axis, body } => self.filter(pat, *axis, body),
            E::View { view, array } => {
                let v = Self::one(pat)?;
                let to = self.memory(v)?;
                match self.bound(*array)? {
                    Bound::Array(from) => self.view(v, view, *array, &from, &to)?,
                    // Whatever the arrangement of one element, it is that element.
                    Bound::Scalar(x) => {
                        let dims = self.dims(v)?;
                        self.each_of(&dims, &mut |l, at| {
                            l.store(&to, at, x);
                            Ok(())
                        })?;
                    }
                }
                self.env.insert(v, Bound::Array(to));
                Ok(())
            }
            E::Grade { axis, body, gives } => self.grade(pat, *axis, body, *gives),
            E::Join { .. } => wrong("a join inside a kernel"),
        }
    }

    fn if_(
        &mut self,
        pat: &[mono::Var],
        cond: mono::Atom,
        then: &mono::Body,
        otherwise: &mono::Body,
    ) -> L<()> {
        let cond = self.atom(cond)?;
        let dying = self.dying();
        self.chosen_sizes(pat, [then, otherwise]);
        let places = self.taken_by_branches(pat, [then, otherwise])?;
        let branch = |l: &mut Self, b: &mono::Body| -> L<(Vec<Stmt>, Vec<Option<Atom>>)> {
            l.blocks.open();
            let results = l.body_of(b, dying.iter().copied())?;
            let (mut scalars, mut moves) = (Vec::new(), Vec::new());
            for (((v, place), r), given) in pat.iter().zip(&places).zip(results).zip(&b.results) {
                match (place, r) {
                    (None, Bound::Scalar(a)) => scalars.push(Some(a)),
                    (Some(to), from) => {
                        // Of a size of its own, if the branches give one.
                        let like = given.as_var().unwrap_or(*v);
                        moves.push(Move { like, from, to: to.clone() });
                        scalars.push(None);
                    }
                    (None, Bound::Array(_)) => return wrong("a branch that gives an array for a scalar"),
                }
            }
            l.settle(moves)?;
            l.meet();
            Ok((l.blocks.close(), scalars))
        };
        let (yes, a) = branch(self, then)?;
        let (no, b) = branch(self, otherwise)?;
        let mut results = Vec::new();
        for ((v, place), (a, b)) in pat.iter().zip(&places).zip(a.into_iter().zip(b)) {
            match (place, a, b) {
                (Some(to), _, _) => {
                    self.env.insert(*v, Bound::Array(to.clone()));
                }
                (None, Some(then), Some(otherwise)) => {
                    let var = self.scalar_like(*v);
                    self.set(*v, Atom::Var(var));
                    results.push(Choice { var, then, otherwise });
                }
                _ => return wrong("branches that give different things"),
            }
        }
        self.emit(StmtKind::If { cond, then: yes, otherwise: no, results });
        Ok(())
    }

    /// Bounds of the sizes that branches give, of arrays that they give and of others behind: known before either is entered.
    fn chosen_sizes(&mut self, pat: &[mono::Var], branches: [&mono::Body; 2]) {
        let is_size = |v: &mono::Var| {
            let ty = &self.plan.flat.vars[*v].ty;
            ty.is_scalar() && ty.base == BaseTy::I64
        };
        if !pat.iter().any(is_size) {
            return;
        }
        for b in branches {
            b.for_each_stmt(&mut |s| match &s.exp {
                mono::Exp::Filter { axis, .. } => _ = self.bounds.insert(s.pat[0], axis.size),
                exp @ (mono::Exp::Atom(_) | mono::Exp::Op(..)) => {
                    _ = self.sizes.insert(s.pat[0], exp.clone());
                }
                mono::Exp::If { then, otherwise, .. } => self.greater_sizes(&s.pat, [then, otherwise]),
                _ => {}
            });
        }
        self.greater_sizes(pat, branches);
    }

    fn greater_sizes(&mut self, pat: &[mono::Var], [a, b]: [&mono::Body; 2]) {
        for (v, (a, b)) in pat.iter().zip(a.results.iter().zip(&b.results)) {
            if !self.is_array(*v) {
                self.sizes.insert(*v, mono::Exp::Op(ScalarOp::Max2, vec![*a, *b]));
            }
        }
    }

    fn scalar_like(&mut self, v: mono::Var) -> Var {
        let info = &self.plan.flat.vars[v];
        let (name, base) = (info.name.clone(), info.ty.base);
        self.plan.out.scalar(name.as_str(), base)
    }

    /// The states of a loop: scalars are carried, arrays live in memory that each iteration overwrites.
    fn loop_state(
        &mut self,
        pat: &[mono::Var],
        state: &[(mono::Var, mono::Atom)],
        inside: &[&mono::Body],
        double: Option<&mono::Body>,
    ) -> L<State> {
        let mut s = State { carried: Vec::new(), homes: Vec::new() };
        let mut starts = Vec::new();
        for (k, (v, (param, init))) in pat.iter().zip(state).enumerate() {
            let from = self.value(*init)?;
            if self.plan.flat.vars[*v].ty.is_scalar() {
                let Bound::Scalar(init) = from else { return wrong("an array as a scalar state") };
                let (inner, result) = (self.scalar_like(*param), self.scalar_like(*v));
                self.set(*param, Atom::Var(inner));
                s.carried.push(Carried { param: inner, result, init, combine: None });
                s.homes.push(None);
            } else {
                let Bound::Array(from) = from else { return wrong("a scalar as an array state") };
                let two = match double {
                    Some(body) => self.double_buffer(*v, *param, body, k)?,
                    None => None,
                };
                let home = match (two, init.as_var()) {
                    (Some(two), _) => StateMemory::Double(two),
                    (None, Some(v0)) => match self.take(v0, *v, inside) {
                        Some(taken) => StateMemory::Single(taken),
                        None => StateMemory::Single(self.memory(*v)?),
                    },
                    (None, None) => StateMemory::Single(self.memory(*v)?),
                };
                let halves = Halves { from: Atom::int(0), into: Atom::int(1) };
                let first = home.from(halves);
                starts.push(Move { like: *v, from: Bound::Array(from), to: first.clone() });
                self.env.insert(*param, Bound::Array(first));
                s.homes.push(Some(home));
            }
        }
        self.settle(starts)?;
        Ok(s)
    }

    /// The next states that a body gives: arrays go to where the state lives.
    fn next_state(
        &mut self,
        pat: &[mono::Var],
        state: &[(mono::Var, mono::Atom)],
        s: &State,
        body: &mono::Body,
        halves: Halves,
    ) -> L<Vec<Atom>> {
        for ((param, _), home) in state.iter().zip(&s.homes) {
            if let Some(home) = home {
                self.env.insert(*param, Bound::Array(home.from(halves)));
            }
        }
        self.make_in_halves(body, s.homes.iter().map(Option::as_ref), halves);
        let results = self.body_of(body, state.iter().map(|(param, _)| *param))?;
        let (mut next, mut moves) = (Vec::new(), Vec::new());
        for ((r, v), home) in results.into_iter().zip(pat).zip(&s.homes) {
            match (r, home) {
                (Bound::Scalar(a), None) => next.push(a),
                (from @ Bound::Array(_), Some(home)) => {
                    moves.push(Move { like: *v, from, to: home.into(halves) });
                }
                _ => return wrong("a state of another kind"),
            }
        }
        self.settle(moves)?;
        Ok(next)
    }

    fn bind_state(&mut self, pat: &[mono::Var], s: &State, halves: Halves) -> L<()> {
        let mut carried = s.carried.iter();
        for (v, home) in pat.iter().zip(&s.homes) {
            match home {
                Some(home) => {
                    let last = self.last_of_state(*v, home, halves)?;
                    self.env.insert(*v, Bound::Array(last));
                }
                None => {
                    if let Some(c) = carried.next() {
                        self.set(*v, Atom::Var(c.result));
                    }
                }
            }
        }
        Ok(())
    }

    fn for_(
        &mut self,
        pat: &[mono::Var],
        axis: mono::Axis,
        state: &[(mono::Var, mono::Atom)],
        body: &mono::Body,
    ) -> L<()> {
        let to = self.atom(axis.size)?;
        let s = self.loop_state(pat, state, &[body], Some(body))?;
        let var = self.scalar_like(axis.var);
        self.set(axis.var, Atom::Var(var));
        self.blocks.open();
        let halves = self.halves_of(s.homes.iter().flatten(), Atom::Var(var))?;
        let next = self.next_state(pat, state, &s, body, halves)?;
        let body = self.blocks.close();
        let carried = s.carried.clone();
        self.emit(StmtKind::For { how: How::Seq, var, range: upto(to), carried, body, next });
        let last = self.halves_of(s.homes.iter().flatten(), to)?;
        self.bind_state(pat, &s, last)
    }

    fn while_(
        &mut self,
        pat: &[mono::Var],
        state: &[(mono::Var, mono::Atom)],
        cond: &mono::Body,
        body: &mono::Body,
    ) -> L<()> {
        let s = self.loop_state(pat, state, &[cond, body], None)?;
        // Each state has one place: nobody counts the rounds.
        let halves = Halves { from: Atom::int(0), into: Atom::int(0) };
        self.blocks.open();
        let tests = self.scalars(cond)?;
        let Some(test) = tests.first().copied() else { return wrong("a loop without a condition") };
        let cond = self.blocks.close();
        self.blocks.open();
        let next = self.next_state(pat, state, &s, body, halves)?;
        let body = self.blocks.close();
        let carried = s.carried.clone();
        self.emit(StmtKind::While { carried, cond, test, body, next });
        self.bind_state(pat, &s, halves)
    }

    fn map(&mut self, pat: &[mono::Var], axes: &[mono::Axis], body: &mono::Body) -> L<()> {
        let mut places = Vec::new();
        for v in pat {
            let to = self.memory(*v)?;
            places.push(to);
        }
        let mut at = Vec::new();
        self.map_loops(axes, body, &places, &mut at)?;
        for (v, to) in pat.iter().zip(places) {
            self.env.insert(*v, Bound::Array(to));
        }
        Ok(())
    }

    pub(super) fn map_loops(
        &mut self,
        axes: &[mono::Axis],
        body: &mono::Body,
        to: &[Place],
        at: &mut Vec<Atom>,
    ) -> L<()> {
        let [axis, rest @ ..] = axes else {
            let cells: Vec<Place> = to.iter().map(|p| p.cell(at)).collect();
            return self.body_into(body, &cells);
        };
        let n = self.atom(axis.size)?;
        let name = self.plan.flat.vars[axis.var].name.clone();
        if let Some(thread) = self.of_group() {
            return self.shared_out(name.as_str(), n, thread, |l, i| {
                l.set(axis.var, i);
                l.map_loops(rest, body, to, &mut vec![i])
            });
        }
        let outside = self.inner;
        let mut how = How::Seq;
        if rest.is_empty() && outside == Inner::Lanes && schedule::fills_lanes(n, self.number(Field::Private))
        {
            if let Some(w) = self.lanes_of_map(body, axis.var) {
                how = How::Lanes(w);
            } else if let Some(b) = self.plan.outer_lanes(body, axis.var, &self.sizes)? {
                match b {
                    // Long rows are better off in lanes themselves.
                    OuterLanes { short: true, cond: Some(_), .. } => {}
                    OuterLanes { arrays: false, cond: None, width, .. } => how = How::Lanes(width),
                    b => return self.map_in_strips(*axis, b, body, to, at),
                }
            }
        }
        if how != How::Seq {
            self.inner = Inner::Serial;
        }
        let done = self.each(how, name.as_str(), upto(n), |l, i| {
            l.set(axis.var, i);
            at.push(i);
            let done = l.map_loops(rest, body, to, at);
            at.pop();
            done
        });
        self.inner = outside;
        done
    }
}

impl Leaf<'_> {
    /// The points of an axis side by side, or one by one where the plan finds that better.
    fn map_in_strips(
        &mut self,
        axis: mono::Axis,
        outer: OuterLanes,
        body: &mono::Body,
        to: &[Place],
        at: &mut Vec<Atom>,
    ) -> L<()> {
        let n = self.atom(axis.size)?;
        let name = self.plan.flat.vars[axis.var].name.clone();
        let all = Atom::int(i64::from(outer.width));
        let width = match outer.cond {
            Some(c) => self.plan.op(ScalarOp::Select, &[c, all, Atom::int(1)])?,
            None => all,
        };
        let size = self.outer(width);
        let count = self.tiles(n, size)?;
        self.in_strips(name.as_str(), upto(count), (outer.width, width, n), &mut |l, i| {
            l.set(axis.var, i);
            at.push(i);
            let done = l.map_loops(&[], body, to, at);
            at.pop();
            done
        })
    }
}

/// The state of a loop under construction.
struct State {
    carried: Vec<Carried>,
    /// Where arrays live.
    homes: Vec<Option<StateMemory>>,
}

/// The indices of element number `k` in row-major order.
pub(crate) fn position(k: usize, sizes: &[i64]) -> Vec<Atom> {
    let mut rest = k as i64;
    let mut at = vec![Atom::int(0); sizes.len()];
    for (a, n) in at.iter_mut().zip(sizes).rev() {
        *a = Atom::int(rest.rem_euclid((*n).max(1)));
        rest /= (*n).max(1);
    }
    at
}
