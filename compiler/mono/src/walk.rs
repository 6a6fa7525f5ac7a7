//! Walking, renaming and copying of Mono: what every pass needs.
//!
//! Binders are unique in a program, so substitution never captures; what is copied gets binders of its
//! own ([`Copier`]).

use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

impl Exp {
    /// The operands of this expression itself, not of the bodies inside.
    pub fn for_each_operand(&self, f: &mut impl FnMut(Atom)) {
        match self {
            Exp::Atom(a) | Exp::Cast(_, a) => f(*a),
            Exp::Op(_, args) => args.iter().for_each(|a| f(*a)),
            Exp::Literal { dims, elems } => dims.iter().chain(elems).for_each(|a| f(*a)),
            Exp::Index { array, at } => {
                f(Atom::Var(*array));
                at.iter().for_each(|a| f(*a));
            }
            Exp::If { cond, .. } => f(*cond),
            Exp::For { axis, state, .. } => {
                f(axis.size);
                state.iter().for_each(|(_, a)| f(*a));
            }
            Exp::While { state, .. } => state.iter().for_each(|(_, a)| f(*a)),
            Exp::Map { axes, .. } => axes.iter().for_each(|x| f(x.size)),
            Exp::Reduce { axis, op, .. } | Exp::Scan { axis, op, .. } => {
                f(axis.size);
                op.start.iter().flatten().for_each(|a| f(*a));
            }
            Exp::Scatter { dests, axis, .. } => {
                dests.iter().for_each(|d| f(Atom::Var(*d)));
                f(axis.size);
            }
            Exp::Filter { axis, .. } | Exp::Grade { axis, .. } | Exp::Join { axis, .. } => f(axis.size),
            Exp::View { view, array } => {
                f(Atom::Var(*array));
                view.operands().into_iter().for_each(f);
            }
            Exp::Check { cond, values, .. } => {
                f(*cond);
                values.iter().for_each(|a| f(*a));
            }
            Exp::Pull { at, take, .. } => {
                f(*at);
                take.operand().into_iter().for_each(f);
            }
            Exp::Push { arrays, .. } => arrays.iter().for_each(|v| f(Atom::Var(*v))),
        }
    }

    /// The axes that the expression itself runs along.
    pub fn axes(&self) -> &[Axis] {
        match self {
            Exp::Map { axes, .. } => axes,
            Exp::For { axis, .. }
            | Exp::Reduce { axis, .. }
            | Exp::Scan { axis, .. }
            | Exp::Scatter { axis, .. }
            | Exp::Filter { axis, .. }
            | Exp::Grade { axis, .. }
            | Exp::Join { axis, .. } => std::slice::from_ref(axis),
            _ => &[],
        }
    }

    /// The same operands, to be replaced. An array operand may only become another variable.
    pub fn for_each_operand_mut(&mut self, f: &mut impl FnMut(&mut Atom)) {
        let mut var = |v: &mut Var| {
            let mut a = Atom::Var(*v);
            f(&mut a);
            if let Atom::Var(new) = a {
                *v = new;
            }
        };
        match self {
            Exp::Index { array, .. } => var(array),
            Exp::Scatter { dests, .. } => dests.iter_mut().for_each(&mut var),
            Exp::Push { arrays, .. } => arrays.iter_mut().for_each(&mut var),
            Exp::View { view, array } => {
                var(array);
                if let View::Append { with } = view {
                    var(with);
                }
            }
            _ => {}
        }
        match self {
            Exp::Atom(a) | Exp::Cast(_, a) => f(a),
            Exp::Op(_, args) => args.iter_mut().for_each(f),
            Exp::Literal { dims, elems } => dims.iter_mut().chain(elems).for_each(f),
            Exp::Index { at, .. } => at.iter_mut().for_each(f),
            Exp::If { cond, .. } => f(cond),
            Exp::For { axis, state, .. } => {
                f(&mut axis.size);
                state.iter_mut().for_each(|(_, a)| f(a));
            }
            Exp::While { state, .. } => state.iter_mut().for_each(|(_, a)| f(a)),
            Exp::Map { axes, .. } => axes.iter_mut().for_each(|x| f(&mut x.size)),
            Exp::Reduce { axis, op, .. } | Exp::Scan { axis, op, .. } => {
                f(&mut axis.size);
                op.start.iter_mut().flatten().for_each(f);
            }
            Exp::Scatter { axis, .. }
            | Exp::Filter { axis, .. }
            | Exp::Grade { axis, .. }
            | Exp::Join { axis, .. } => f(&mut axis.size),
            Exp::View { view, .. } => view.atoms_mut().into_iter().for_each(f),
            Exp::Check { cond, values, .. } => {
                f(cond);
                values.iter_mut().for_each(f);
            }
            Exp::Pull { at, take, .. } => {
                f(at);
                if let Take::Multiple(n) | Take::Exactly(n) = take {
                    f(n);
                }
            }
            Exp::Push { .. } => {}
        }
    }

    /// The bodies inside, in order of evaluation.
    pub fn bodies(&self) -> Vec<&Body> {
        match self {
            Exp::If { then, otherwise, .. } => vec![then, otherwise],
            Exp::For { body, .. }
            | Exp::Map { body, .. }
            | Exp::Filter { body, .. }
            | Exp::Grade { body, .. }
            | Exp::Join { body, .. } => vec![body],
            Exp::While { cond, body, .. } => vec![cond, body],
            Exp::Reduce { body, op, .. } | Exp::Scan { body, op, .. } => vec![body, &op.lambda.body],
            Exp::Scatter { body, combine, .. } => {
                std::iter::once(body).chain(combine.iter().map(|l| &l.body)).collect()
            }
            _ => Vec::new(),
        }
    }

    pub fn bodies_mut(&mut self) -> Vec<&mut Body> {
        match self {
            Exp::If { then, otherwise, .. } => vec![then, otherwise],
            Exp::For { body, .. }
            | Exp::Map { body, .. }
            | Exp::Filter { body, .. }
            | Exp::Grade { body, .. }
            | Exp::Join { body, .. } => vec![body],
            Exp::While { cond, body, .. } => vec![cond, body],
            Exp::Reduce { body, op, .. } | Exp::Scan { body, op, .. } => vec![body, &mut op.lambda.body],
            Exp::Scatter { body, combine, .. } => {
                std::iter::once(body).chain(combine.iter_mut().map(|l| &mut l.body)).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The variables that this expression binds for the bodies inside: index variables, states and
    /// parameters.
    pub fn inner_binders(&self) -> Vec<Var> {
        match self {
            Exp::For { axis, state, .. } => {
                std::iter::once(axis.var).chain(state.iter().map(|s| s.0)).collect()
            }
            Exp::While { state, .. } => state.iter().map(|s| s.0).collect(),
            Exp::Map { axes, .. } => axes.iter().map(|a| a.var).collect(),
            Exp::Reduce { axis, op, .. } | Exp::Scan { axis, op, .. } => {
                std::iter::once(axis.var).chain(op.lambda.params.iter().copied()).collect()
            }
            Exp::Scatter { axis, combine, .. } => std::iter::once(axis.var)
                .chain(combine.iter().flat_map(|l| l.params.iter().copied()))
                .collect(),
            Exp::Filter { axis, .. } | Exp::Grade { axis, .. } | Exp::Join { axis, .. } => vec![axis.var],
            _ => Vec::new(),
        }
    }

    pub fn inner_binders_mut(&mut self) -> Vec<&mut Var> {
        match self {
            Exp::For { axis, state, .. } => {
                std::iter::once(&mut axis.var).chain(state.iter_mut().map(|s| &mut s.0)).collect()
            }
            Exp::While { state, .. } => state.iter_mut().map(|s| &mut s.0).collect(),
            Exp::Map { axes, .. } => axes.iter_mut().map(|a| &mut a.var).collect(),
            Exp::Reduce { axis, op, .. } | Exp::Scan { axis, op, .. } => {
                std::iter::once(&mut axis.var).chain(&mut op.lambda.params).collect()
            }
            Exp::Scatter { axis, combine, .. } => {
                std::iter::once(&mut axis.var).chain(combine.iter_mut().flat_map(|l| &mut l.params)).collect()
            }
            Exp::Filter { axis, .. } | Exp::Grade { axis, .. } | Exp::Join { axis, .. } => {
                vec![&mut axis.var]
            }
            _ => Vec::new(),
        }
    }

    /// Whether the arrays that this binds, if any, are made by it: a cell of an array is in memory already.
    pub fn makes_arrays(&self) -> bool {
        !matches!(self, Exp::Atom(_) | Exp::Index { .. })
    }

    /// The atoms that it, or what is in its bodies, mentions.
    pub fn for_each_mention(&self, f: &mut impl FnMut(Atom)) {
        self.for_each_operand(f);
        self.bodies().into_iter().for_each(|b| b.for_each_use(f));
    }

    /// Whether it, or what is in its bodies, mentions a variable of which that holds.
    pub fn mentions(&self, is_it: impl Fn(Var) -> bool) -> bool {
        let mut any = false;
        self.for_each_mention(&mut |a| any |= a.as_var().is_some_and(&is_it));
        any
    }

    /// Whether evaluating this can stop the program, or is seen from outside of it: it is to be done where it stands.
    pub fn can_stop(&self) -> bool {
        matches!(self, Exp::Check { .. } | Exp::Push { .. } | Exp::Pull { .. })
            || self.bodies().into_iter().any(Body::can_stop)
    }
}

impl Take {
    pub fn operand(self) -> Option<Atom> {
        match self {
            Take::Multiple(n) | Take::Exactly(n) => Some(n),
            Take::All => None,
        }
    }
}

impl View {
    pub fn operands(&self) -> Vec<Atom> {
        match self {
            View::Permute { .. } | View::Reverse => Vec::new(),
            View::Append { with } => vec![Atom::Var(*with)],
            View::Reshape { dims } | View::Cycle { dims } | View::Replicate { dims } => dims.clone(),
            View::Rotate { amounts } => amounts.clone(),
            View::Slice { start, dims } | View::Wrap { start, dims } => {
                start.iter().chain(dims).copied().collect()
            }
        }
    }

    fn atoms_mut(&mut self) -> Vec<&mut Atom> {
        match self {
            View::Permute { .. } | View::Reverse | View::Append { .. } => Vec::new(),
            View::Reshape { dims } | View::Cycle { dims } | View::Replicate { dims } => {
                dims.iter_mut().collect()
            }
            View::Rotate { amounts } => amounts.iter_mut().collect(),
            View::Slice { start, dims } | View::Wrap { start, dims } => {
                start.iter_mut().chain(dims).collect()
            }
        }
    }
}

impl Body {
    /// Whether there is a check in it that fails wherever it is done. That may be never: in a branch that is not taken, or a
    /// loop of no iterations.
    pub fn contains_failing_check(&self) -> bool {
        let mut found = false;
        self.for_each_stmt(&mut |s| {
            let cond = if let Exp::Check { cond, .. } = s.exp { Some(cond) } else { None };
            found |= cond == Some(Atom::Const(remc_base::Scalar::Bool(false)));
        });
        found
    }

    pub fn can_stop(&self) -> bool {
        self.stmts.iter().any(|s| s.exp.can_stop())
    }

    /// Leaves out the checks among statements, and in their bodies: all of them hold.
    pub fn drop_checks(stmts: &mut Vec<Stmt>) {
        stmts.retain(|s| !matches!(s.exp, Exp::Check { .. }));
        for s in stmts {
            s.exp.bodies_mut().into_iter().for_each(|b| Body::drop_checks(&mut b.stmts));
        }
    }

    /// How many statements there are, those inside others counted.
    pub fn count(&self) -> usize {
        let mut n = 0;
        self.for_each_stmt(&mut |_| n += 1);
        n
    }

    /// Every statement, the outer before those inside it.
    pub fn for_each_stmt<'a>(&'a self, f: &mut impl FnMut(&'a Stmt)) {
        for s in &self.stmts {
            f(s);
            for b in s.exp.bodies() {
                b.for_each_stmt(f);
            }
        }
    }

    /// Every operand, those of statements inside and the results of bodies among them.
    pub fn for_each_use(&self, f: &mut impl FnMut(Atom)) {
        for s in &self.stmts {
            s.exp.for_each_operand(f);
            for b in s.exp.bodies() {
                b.for_each_use(f);
            }
        }
        self.results.iter().for_each(|a| f(*a));
    }

    /// The last statement, if what that binds is all that the body gives.
    pub fn gives_last(&self) -> Option<&Stmt> {
        let last = self.stmts.last()?;
        last.pat.iter().map(|v| Atom::Var(*v)).eq(self.results.iter().copied()).then_some(last)
    }

    /// Replaces variables everywhere in the body (not in the types of its binders: see [`retype`]).
    pub fn substitute(&mut self, with: &FxHashMap<Var, Atom>) {
        if with.is_empty() {
            return;
        }
        let mut replace = |a: &mut Atom| {
            if let Atom::Var(v) = a
                && let Some(new) = with.get(v)
            {
                *a = *new;
            }
        };
        self.replace_atoms(&mut replace);
    }

    pub fn replace_atoms(&mut self, f: &mut impl FnMut(&mut Atom)) {
        for s in &mut self.stmts {
            s.exp.for_each_operand_mut(f);
            for b in s.exp.bodies_mut() {
                b.replace_atoms(f);
            }
        }
        self.results.iter_mut().for_each(f);
    }

    /// The statement that mentions a variable last, inside it too; the body's results count as one more.
    pub fn last_uses(&self) -> FxHashMap<Var, usize> {
        let mut last = FxHashMap::default();
        for (k, s) in self.stmts.iter().enumerate() {
            let mut at = |a: Atom| {
                last.extend(a.as_var().map(|v| (v, k)));
            };
            s.exp.for_each_operand(&mut at);
            s.exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut at));
        }
        last.extend(self.results.iter().filter_map(|a| a.as_var()).map(|v| (v, self.stmts.len())));
        last
    }

    /// For each statement, what nothing mentions after it of these variables and of what the body itself makes.
    pub fn dying(&self, owned: impl IntoIterator<Item = Var>) -> Vec<FxHashSet<Var>> {
        let last = self.last_uses();
        let made = self.stmts.iter().filter(|s| s.exp.makes_arrays()).flat_map(|s| s.pat.iter().copied());
        let mut dying = vec![FxHashSet::default(); self.stmts.len()];
        for v in owned.into_iter().chain(made) {
            if let Some(at) = last.get(&v).and_then(|k| dying.get_mut(*k)) {
                at.insert(v);
            }
        }
        dying
    }

    /// The array from outside of the body that this result of it is, or may be made of where that is.
    pub fn handed_on(&self, result: Atom) -> Option<Var> {
        let v = result.as_var()?;
        let place = |s: &Stmt| s.pat.iter().position(|x| *x == v);
        let Some((k, s)) = self.stmts.iter().find_map(|s| place(s).map(|k| (k, s))) else {
            return Some(v);
        };
        let from = match &s.exp {
            Exp::Scatter { dests, .. } => Atom::Var(*dests.get(k)?),
            Exp::For { state, .. } | Exp::While { state, .. } => state.get(k)?.1,
            Exp::Reduce { op, .. } => *op.start.as_ref()?.get(k)?,
            Exp::If { then, otherwise, .. } => {
                let branches = [then, otherwise].into_iter();
                Atom::Var(branches.filter_map(|b| b.handed_on(*b.results.get(k)?)).next()?)
            }
            _ => return None,
        };
        self.handed_on(from)
    }

    /// The variables bound anywhere in the body.
    pub fn binders(&self) -> Vec<Var> {
        let mut all = Vec::new();
        self.for_each_stmt(&mut |s| {
            all.extend(&s.pat);
            all.extend(s.exp.inner_binders());
        });
        all
    }

    /// The variables used in the body and bound outside of it, in the order of their first use.
    pub fn free_vars(&self) -> Vec<Var> {
        let bound: FxHashSet<Var> = self.binders().into_iter().collect();
        let mut seen = FxHashSet::default();
        let mut free = Vec::new();
        self.for_each_use(&mut |a| {
            if let Atom::Var(v) = a
                && !bound.contains(&v)
                && seen.insert(v)
            {
                free.push(v);
            }
        });
        free
    }
}

/// Replaces variables in the types of `vars`: what [`Body::substitute`] leaves.
pub fn retype(p: &mut Program, vars: &[Var], with: &FxHashMap<Var, Atom>) {
    for v in vars {
        for d in &mut p.vars[*v].ty.dims {
            if let Atom::Var(x) = d
                && let Some(new) = with.get(x)
            {
                *d = *new;
            }
        }
    }
}

/// Copies bodies with binders of their own, and with some variables replaced.
pub struct Copier<'p> {
    pub program: &'p mut Program,
    pub with: FxHashMap<Var, Atom>,
}

impl<'p> Copier<'p> {
    pub fn new(program: &'p mut Program) -> Copier<'p> {
        Copier { program, with: FxHashMap::default() }
    }

    pub fn atom(&self, a: Atom) -> Atom {
        match a {
            Atom::Var(v) => self.with.get(&v).copied().unwrap_or(a),
            Atom::Const(_) => a,
        }
    }

    fn binder(&mut self, v: &mut Var) {
        let mut info = self.program.vars[*v].clone();
        for d in &mut info.ty.dims {
            *d = self.atom(*d);
        }
        let new = self.program.vars.push(info);
        self.with.insert(*v, Atom::Var(new));
        *v = new;
    }

    pub fn body(&mut self, body: &Body) -> Body {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for s in &body.stmts {
            let mut s = s.clone();
            let with = &self.with;
            s.exp.for_each_operand_mut(&mut |a| {
                if let Atom::Var(v) = a
                    && let Some(new) = with.get(v)
                {
                    *a = *new;
                }
            });
            for v in s.exp.inner_binders_mut() {
                self.binder(v);
            }
            for b in s.exp.bodies_mut() {
                *b = self.body(b);
            }
            for v in &mut s.pat {
                self.binder(v);
            }
            stmts.push(s);
        }
        Body { stmts, results: body.results.iter().map(|a| self.atom(*a)).collect() }
    }

    /// The body with these atoms in the place of variables.
    pub fn instance(program: &'p mut Program, body: &Body, with: &[(Var, Atom)]) -> Body {
        let mut c = Copier { program, with: with.iter().copied().collect() };
        c.body(body)
    }
}
