//! Reductions, scans, scatters and joins as loops of the host: the way out where what is inside does what
//! no leaf may do.
//!
//! ```text
//! (let (%r) (reduce i n body λ start))        (let (%r) (for i n ((acc start)) body λ[acc, elements]))
//!
//! (let (%ys) (scatter i n (xs) body λ))       (let (%ys) (for i n ((zs xs)) body
//!                                               (let (%z) (if (>= at 0) (… (scatter u 1 (zs) …)) zs))))
//! ```

use super::{F, Flattener, Fold, wrong};
use crate::ir::{Axis, Lambda};
use remc_base::ops::{ScalarOp, zero};
use remc_base::{BaseTy, Prov};
use remc_mono::ir::*;
use remc_mono::walk::Copier;
use rustc_hash::FxHashSet;

/// A reduction or scan as a loop.
pub(super) fn fold_as_loop(f: &mut Flattener, s: &Stmt, fold: &Fold<'_>) -> F<Vec<Stmt>> {
    let mut out = Stmts::new(f, s.prov);
    let k = s.pat.len();
    let lambda = &fold.op.lambda;
    if lambda.params.len() < k || lambda.params.len() != k + fold.body.results.len() {
        return wrong("an operator of another number of parameters");
    }
    let exclusive = fold.scan.is_some_and(|k| k != ScanKind::Inclusive);
    if fold.op.start.is_none() && exclusive {
        return wrong("an exclusive scan without a start");
    }
    // The arrays of a scan's results, to be filled.
    let mut filled: Vec<Atom> = Vec::new();
    if fold.scan.is_some() {
        for v in &s.pat {
            let v = out.zeros(*v);
            filled.push(Atom::Var(v));
        }
    }
    let (first, size) = match &fold.op.start {
        Some(start) => (start.clone(), fold.axis.size),
        None => {
            let first = Copier::instance(&mut out.f.p, fold.body, &[(fold.axis.var, Atom::int(0))]);
            let first = out.splice(first);
            if fold.scan.is_some() {
                filled = out.write_all(&s.pat, &filled, Atom::int(0), &first);
            }
            (first, out.op(ScalarOp::Sub, fold.axis.size, Atom::int(1)))
        }
    };

    let j = out.f.p.fresh("i", Ty::int());
    let acc_tys: Vec<Ty> = lambda.params[..k].iter().map(|v| out.f.p.ty(*v).clone()).collect();
    let accs: Vec<Var> = acc_tys.iter().map(|ty| out.f.p.fresh("acc", ty.clone())).collect();
    let arrays: Vec<Var> = filled.iter().zip(&s.pat).map(|(_, v)| out.like(*v)).collect();
    let before = std::mem::take(&mut out.stmts);
    let at = match fold.op.start {
        Some(_) => Atom::Var(j),
        None => out.op(ScalarOp::Add, Atom::Var(j), Atom::int(1)),
    };
    let elems = Copier::instance(&mut out.f.p, fold.body, &[(fold.axis.var, at)]);
    let elems = out.splice(elems);
    let old: Vec<Atom> = accs.iter().map(|v| Atom::Var(*v)).collect();
    let args: Vec<(Var, Atom)> =
        lambda.params.iter().copied().zip(old.iter().copied().chain(elems)).collect();
    let new = Copier::instance(&mut out.f.p, &lambda.body, &args);
    let new = out.splice(new);
    let mut results = new.clone();
    let arrays_now: Vec<Atom> = arrays.iter().map(|v| Atom::Var(*v)).collect();
    if fold.scan.is_some() {
        let values = if exclusive { &old } else { &new };
        results.extend(out.write_all(&s.pat, &arrays_now, at, values));
    }
    let body = Body { stmts: std::mem::replace(&mut out.stmts, before), results };
    let state: Vec<(Var, Atom)> =
        accs.iter().copied().zip(first).chain(arrays.into_iter().zip(filled)).collect();
    let axis = Axis { var: j, size };

    if fold.scan.is_none() {
        out.push(s.pat.clone(), Exp::For { axis, state, body });
        return Ok(out.stmts);
    }
    let last: Vec<Var> = acc_tys.into_iter().map(|ty| out.f.p.fresh("acc", ty)).collect();
    if fold.scan == Some(ScanKind::Full) {
        let made: Vec<Var> = s.pat.iter().map(|v| out.like(*v)).collect();
        out.push(last.iter().chain(&made).copied().collect(), Exp::For { axis, state, body });
        for ((v, made), last) in s.pat.iter().zip(made).zip(last) {
            let exp = out.write(made, fold.axis.size, Atom::Var(last));
            out.push(vec![*v], exp);
        }
    } else {
        out.push(last.iter().chain(&s.pat).copied().collect(), Exp::For { axis, state, body });
    }
    Ok(out.stmts)
}

/// A scatter as a loop.
pub(super) fn scatter_as_loop(
    f: &mut Flattener,
    s: &Stmt,
    dests: &[Var],
    axis: Axis,
    body: &Body,
    combine: Option<&Lambda>,
) -> F<Vec<Stmt>> {
    let mut out = Stmts::new(f, s.prov);
    let states: Vec<Var> = dests.iter().map(|d| out.like(*d)).collect();
    out.stmts.extend(body.stmts.iter().cloned());
    let [at, values @ ..] = body.results.as_slice() else { return wrong("a scatter without an index") };
    let cond = out.op_of("c", BaseTy::Bool, ScalarOp::Ge, &[*at, Atom::int(0)]);
    let outer = std::mem::take(&mut out.stmts);
    let new = match combine {
        None => values.to_vec(),
        Some(l) => {
            let mut args = Vec::new();
            for v in &states {
                let old = out.f.p.ty(*v).cell(1);
                let old = out.f.p.fresh("old", old);
                out.push(vec![old], Exp::Index { array: *v, at: vec![*at] });
                args.push(Atom::Var(old));
            }
            args.extend(values);
            let args: Vec<_> = l.params.iter().copied().zip(args).collect();
            let new = Copier::instance(&mut out.f.p, &l.body, &args);
            out.splice(new)
        }
    };
    let keep: Vec<Atom> = states.iter().map(|v| Atom::Var(*v)).collect();
    let results = out.write_all(&states, &keep, *at, &new);
    let then = Body { stmts: std::mem::replace(&mut out.stmts, outer), results };
    let next: Vec<Var> = states.iter().map(|v| out.like(*v)).collect();
    out.push(next.clone(), Exp::If { cond, then, otherwise: Body { stmts: Vec::new(), results: keep } });
    let body =
        Body { stmts: std::mem::take(&mut out.stmts), results: next.into_iter().map(Atom::Var).collect() };
    let state = states.into_iter().zip(dests.iter().map(|d| Atom::Var(*d))).collect();
    out.push(s.pat.clone(), Exp::For { axis, state, body });
    Ok(out.stmts)
}

/// A join as a loop that writes each iteration's arrays where they begin, after a map that says how large they are and
/// does what may stop the program.
pub(super) fn join_as_loop(
    f: &mut Flattener,
    s: &Stmt,
    axis: Axis,
    regular: usize,
    body: &Body,
) -> F<Vec<Stmt>> {
    let mut out = Stmts::new(f, s.prov);
    let Some((_, joined)) = body.results.split_at_checked(regular) else {
        return wrong("a join of fewer results than are regular");
    };
    if s.pat.len() != regular + 3 * joined.len() {
        return wrong("a join that binds another number of variables");
    }
    let (maps, parts) = s.pat.split_at(regular);
    if joined.is_empty() {
        let axes = vec![axis];
        out.push(maps.to_vec(), Exp::Map { axes, body: body.clone() });
        return Ok(out.stmts);
    }

    let i = out.f.p.fresh("i", Ty::int());
    let sized = Copier::instance(&mut out.f.p, body, &[(axis.var, i.into())]);
    let before = std::mem::take(&mut out.stmts);
    let mut results = out.splice(sized);
    for r in results.split_off(regular) {
        let count = out.count(r);
        results.push(count);
    }
    let made = Body { stmts: std::mem::replace(&mut out.stmts, before), results };
    let made = out.live(made);
    let counts: Vec<Var> =
        parts.chunks(3).map(|_| out.f.p.fresh("count", Ty::int().over(&[axis.size]))).collect();
    let axes = vec![Axis { var: i, size: axis.size }];
    out.push(maps.iter().chain(&counts).copied().collect(), Exp::Map { axes, body: made });

    let mut state = Vec::new();
    for (part, count) in parts.chunks(3).zip(counts) {
        let over = Axis { var: out.f.p.fresh("i", Ty::int()), size: axis.size };
        let (body, op) = out.sum_of(count, over.var);
        out.push(vec![part[1]], Exp::Scan { kind: ScanKind::Exclusive, axis: over, body, op });
        let over = Axis { var: out.f.p.fresh("i", Ty::int()), size: axis.size };
        let (body, op) = out.sum_of(count, over.var);
        out.push(vec![part[0]], Exp::Reduce { axis: over, body, op });
        let first = out.zeros(part[2]);
        state.push((out.like(part[2]), Atom::Var(first)));
    }

    let before = std::mem::take(&mut out.stmts);
    let results = out.splice(body.clone());
    let mut next = Vec::new();
    for ((part, (acc, _)), r) in parts.chunks(3).zip(&state).zip(&results[regular..]) {
        let Some(array) = r.as_var() else { return wrong("a join of what is no array") };
        let start = out.element(part[1], vec![axis.var.into()]);
        let written = out.written_from(array, start, *acc);
        let new = out.like(part[2]);
        out.push(vec![new], written);
        next.push(Atom::Var(new));
    }
    let body = Body { stmts: std::mem::replace(&mut out.stmts, before), results: next };
    out.push(parts.chunks(3).map(|p| p[2]).collect(), Exp::For { axis, state, body });
    Ok(out.stmts)
}

/// Statements under construction.
pub(super) struct Stmts<'f> {
    pub f: &'f mut Flattener,
    prov: Prov,
    stmts: Vec<Stmt>,
}

impl<'f> Stmts<'f> {
    pub fn new(f: &'f mut Flattener, prov: Prov) -> Stmts<'f> {
        Stmts { f, prov, stmts: Vec::new() }
    }

    /// What has been made so far.
    pub fn take(&mut self) -> Vec<Stmt> {
        std::mem::take(&mut self.stmts)
    }

    /// What `f` gives, for which nothing is under construction yet and of which nothing is left here.
    pub fn aside<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.take();
        let given = f(self);
        self.stmts = before;
        given
    }

    pub fn int(&mut self, name: &str) -> Var {
        self.f.p.fresh(name, Ty::int())
    }

    pub fn vector(&mut self, name: &str, size: Atom) -> Var {
        self.f.p.fresh(name, Ty::int().over(&[size]))
    }

    /// A fresh variable for an item of an array, `axes` axes deep.
    pub fn cell(&mut self, array: Var, axes: usize) -> Var {
        let ty = self.f.p.ty(array).cell(axes);
        self.f.p.fresh("r", ty)
    }

    /// A value of the type of `v`, which does not matter.
    pub fn zero(&mut self, v: Var) -> Atom {
        if self.f.p.ty(v).is_scalar() {
            return Atom::Const(zero(self.f.p.ty(v).base));
        }
        self.zeros(v).into()
    }

    /// A copy of a body with atoms for some of its variables.
    pub fn instance(&mut self, body: &Body, with: &[(Var, Atom)]) -> Body {
        Copier::instance(&mut self.f.p, body, with)
    }

    pub fn push(&mut self, pat: Vec<Var>, exp: Exp) {
        self.stmts.push(Stmt { pat, exp, prov: self.prov });
    }

    /// The statements of a body, and its results.
    pub fn splice(&mut self, body: Body) -> Vec<Atom> {
        self.stmts.extend(body.stmts);
        body.results
    }

    pub fn op(&mut self, op: ScalarOp, a: Atom, b: Atom) -> Atom {
        self.op_of("n", BaseTy::I64, op, &[a, b])
    }

    pub fn op_of(&mut self, name: &str, ty: BaseTy, op: ScalarOp, args: &[Atom]) -> Atom {
        let v = self.f.p.fresh(name, Ty::scalar(ty));
        self.push(vec![v], Exp::Op(op, args.to_vec()));
        Atom::Var(v)
    }

    /// A body with the statements alone that its results need, without checks.
    pub fn needed(&self, body: Body) -> Body {
        self.kept(body, |_| false)
    }

    /// A body without the statements that neither its results need nor may stop the program.
    pub fn live(&self, body: Body) -> Body {
        self.kept(body, |s| s.exp.can_stop())
    }

    /// A body with the statements alone that are such, or needed by those or by its results.
    fn kept(&self, mut body: Body, such: impl Fn(&Stmt) -> bool) -> Body {
        let mut wanted: FxHashSet<Var> = body.results.iter().filter_map(|a| a.as_var()).collect();
        let mut kept = Vec::new();
        for s in body.stmts.into_iter().rev() {
            if such(&s) || s.pat.iter().any(|v| wanted.contains(v)) {
                let own = Body { stmts: vec![s], results: Vec::new() };
                own.for_each_use(&mut |a| wanted.extend(a.as_var()));
                for v in own.binders() {
                    wanted.extend(self.f.p.ty(v).dims.iter().filter_map(|d| d.as_var()));
                }
                kept.extend(own.stmts);
            }
        }
        kept.reverse();
        body.stmts = kept;
        body
    }

    /// An element of an array.
    pub fn element(&mut self, array: Var, at: Vec<Atom>) -> Atom {
        let x = self.cell(array, at.len());
        self.push(vec![x], Exp::Index { array, at });
        x.into()
    }

    /// The number of elements of an array.
    fn count(&mut self, array: Atom) -> Atom {
        let dims = self.f.p.atom_ty(array).dims;
        dims.into_iter().reduce(|a, b| self.op(ScalarOp::Mul, a, b)).unwrap_or(Atom::int(1))
    }

    /// What a sum of the elements of a vector of ints is made of, and its axis's variable.
    fn sum_of(&mut self, xs: Var, at: Var) -> (Body, Combine) {
        let outer = std::mem::take(&mut self.stmts);
        let x = self.f.p.fresh("x", Ty::int());
        self.push(vec![x], Exp::Index { array: xs, at: vec![at.into()] });
        let body = Body { stmts: std::mem::take(&mut self.stmts), results: vec![x.into()] };
        let params = vec![self.f.p.fresh("acc", Ty::int()), self.f.p.fresh("x", Ty::int())];
        let sum = self.op(ScalarOp::Add, params[0].into(), params[1].into());
        let added = Body { stmts: std::mem::replace(&mut self.stmts, outer), results: vec![sum] };
        let lambda = Lambda { params, body: added };
        (body, Combine { lambda, start: Some(vec![Atom::int(0)]), assoc: true, alone: false })
    }

    /// A fresh variable like another.
    pub fn like(&mut self, v: Var) -> Var {
        let info = self.f.p.vars[v].clone();
        self.f.p.vars.push(info)
    }

    /// A fresh array of so many of what a variable is.
    pub fn over(&mut self, v: Var, size: Atom) -> Var {
        let (name, ty) = (self.f.name(v), self.f.p.ty(v).over(&[size]));
        self.f.p.fresh(&name, ty)
    }

    /// An array of the type of `v`, whose elements do not matter.
    pub fn zeros(&mut self, v: Var) -> Var {
        let array = self.like(v);
        let Ty { base, dims } = self.f.p.ty(v).clone();
        let axes = dims.iter().map(|d| Axis { var: self.f.p.fresh("i", Ty::int()), size: *d }).collect();
        let body = Body { stmts: Vec::new(), results: vec![Atom::Const(zero(base))] };
        self.push(vec![array], Exp::Map { axes, body });
        array
    }

    /// The vector `to` with the elements of `array` from `start` on.
    pub fn written_from(&mut self, array: Var, start: Atom, to: Var) -> Exp {
        let count = self.count(array.into());
        let flat = Ty { base: self.f.p.ty(array).base, dims: vec![count] };
        let flat = self.f.p.fresh("flat", flat);
        self.push(vec![flat], Exp::View { view: View::Reshape { dims: vec![count] }, array });
        let axis = Axis { var: self.int("j"), size: count };
        let body = self.aside(|made| {
            let at = made.op(ScalarOp::Add, start, axis.var.into());
            let x = made.element(flat, vec![axis.var.into()]);
            Body { stmts: made.take(), results: vec![at, x] }
        });
        Exp::Scatter { dests: vec![to], axis, body, combine: None }
    }

    /// The vector `to` with what a map along an axis gives, from `start` on.
    pub fn made_from(&mut self, axis: Axis, elements: Body, start: Atom, to: Var) -> Exp {
        let body = self.aside(|made| {
            let values = made.splice(elements);
            let at = made.op(ScalarOp::Add, start, axis.var.into());
            Body { stmts: made.take(), results: std::iter::once(at).chain(values).collect() }
        });
        Exp::Scatter { dests: vec![to], axis, body, combine: None }
    }

    /// `array` with `value` for its item `at`.
    fn write(&mut self, array: Var, at: Atom, value: Atom) -> Exp {
        let axis = Axis { var: self.f.p.fresh("i", Ty::int()), size: Atom::int(1) };
        let body = Body { stmts: Vec::new(), results: vec![at, value] };
        Exp::Scatter { dests: vec![array], axis, body, combine: None }
    }

    /// The arrays, of the types of `like`, with values for the item `at`.
    pub fn write_all(&mut self, like: &[Var], arrays: &[Atom], at: Atom, values: &[Atom]) -> Vec<Atom> {
        let mut results = Vec::new();
        for ((v, array), value) in like.iter().zip(arrays).zip(values) {
            let Some(array) = array.as_var() else { continue };
            let new = self.like(*v);
            let exp = self.write(array, at, *value);
            self.push(vec![new], exp);
            results.push(Atom::Var(new));
        }
        results
    }
}
