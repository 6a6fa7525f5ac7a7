//! What all elements of an array of integers are known to be.
//!
//! ```text
//! (let (%order %n) (grade (%i %n) …))                0 ≤ order[k] ≤ n - 1
//! (let (%back %n) (map ((%i %n))
//!   (let %o (index %order %i)) (op - %n %o)))        1 ≤ back[k] ≤ n
//! (let () (map ((%i %k))
//!   (let %l (index %lengths %i))
//!   (check (op >= %l 0)) (check (op <= %l 2^40))))   0 ≤ lengths[k] ≤ 2^40
//! ```
//!
//! Of checks only the last is taken, for the two limits of lengths alone. What a check says of places that arrays are read
//! at holds after the check, and a pass that moves the reading does not know of it; a length that is none makes no row.

use super::{Facts, Undo};
use crate::ir::*;
use crate::opt::poly::Poly;
use remc_base::{BaseTy, LONGEST};
use std::rc::Rc;

/// Bounds of all elements, both included.
#[derive(Clone, Default)]
pub(super) struct Elements {
    least: Option<i64>,
    most: Option<Rc<Poly>>,
}

/// So many bounds are put in the place of what they are of, to be rid of variables that are bound inside.
const MOST_STEPS: usize = 8;

impl Facts {
    /// `x` is an element of an array.
    pub(super) fn element(&mut self, array: Var, x: Var) {
        let Some(Elements { least, most }) = self.elements.get(&array).cloned() else { return };
        least.into_iter().for_each(|n| self.at_least(x, n));
        most.into_iter().for_each(|m| self.at_most(x, (*m).clone()));
    }

    /// What a statement says of the elements of the arrays that it makes or checks.
    pub(super) fn elements_of(&mut self, p: &Program, s: &Stmt) {
        match (&s.exp, &s.pat[..]) {
            (Exp::Grade { axis, gives: Gives::Places, .. }, [order]) => {
                let most = self.exact(axis.size).plus(-1, &Poly::constant(1)).map(Rc::new);
                self.all(*order, Elements { least: Some(0), most });
            }
            (Exp::View { view, array }, [v]) => {
                let same = matches!(
                    view,
                    View::Reshape { .. }
                        | View::Permute { .. }
                        | View::Reverse
                        | View::Rotate { .. }
                        | View::Slice { .. }
                        | View::Replicate { .. }
                );
                if same && let Some(all) = self.elements.get(array).cloned() {
                    self.all(*v, all);
                }
            }
            (Exp::Map { axes, body }, _) => self.inside(p, axes, body, &s.pat),
            (Exp::Scan { axis, body, .. }, _) => self.inside(p, std::slice::from_ref(axis), body, &[]),
            _ => {}
        }
    }

    fn all(&mut self, array: Var, all: Elements) {
        if all.least.is_some() || all.most.is_some() {
            let old = self.elements.insert(array, all);
            self.undo.push(Undo::Elements(array, old));
        }
    }

    /// What a body says of its results, which become the arrays of a pattern, and of the arrays that it checks.
    fn inside(&mut self, p: &Program, axes: &[Axis], body: &Body, pat: &[Var]) {
        let is_int = |v: Var| p.ty(v).base == BaseTy::I64;
        let is_check = |s: &Stmt| matches!(s.exp, Exp::Check { .. });
        let makes = pat.iter().any(|v| is_int(*v));
        if !makes && !body.stmts.iter().any(is_check) {
            return;
        }
        let mark = self.mark();
        axes.iter().for_each(|a| self.axis(a));
        for s in body.stmts.iter().filter(|s| matches!(s.exp, Exp::Op(..) | Exp::Index { .. })) {
            self.bind(p, s);
        }
        let own = |v: Var| axes.iter().any(|a| a.var == v) || body.stmts.iter().any(|s| s.pat.contains(&v));
        let mut found = Vec::new();
        for (v, r) in pat.iter().zip(&body.results) {
            if is_int(*v) && r.as_var().is_none_or(|r| p.ty(r).is_scalar()) {
                found.push((*v, self.range(*r, &own)));
            }
        }
        body.stmts.iter().filter(|s| is_check(s)).for_each(|s| self.bind(p, s));
        for s in &body.stmts {
            if let (Exp::Index { array, at }, [x]) = (&s.exp, &s.pat[..])
                && is_int(*x)
                && self.is_all_of(p, *array, at, axes)
            {
                let all = self.range((*x).into(), &own);
                let most = all.most.as_ref().and_then(|m| m.as_constant());
                if all.least == Some(0) && most == Some(LONGEST) {
                    found.push((*array, all));
                }
            }
        }
        self.rollback(mark);
        found.into_iter().for_each(|(v, all)| self.all(v, all));
    }

    /// Whether the places of an array that axes go through are all of it.
    fn is_all_of(&self, p: &Program, array: Var, at: &[Atom], axes: &[Axis]) -> bool {
        let sizes: Vec<Atom> = axes.iter().map(|a| a.size).collect();
        at.iter().copied().eq(axes.iter().map(|a| Atom::Var(a.var)))
            && self.same_dims(&p.ty(array).dims, &sizes)
    }

    /// The bounds of an integer that mention nothing of a scope.
    fn range(&self, a: Atom, own: &impl Fn(Var) -> bool) -> Elements {
        let least = self.least_value(&self.exact(a));
        let least = i64::try_from(least).ok().filter(|n| *n > i64::MIN);
        let mut most = self.bound(a);
        for _ in 0..MOST_STEPS {
            let step = most.terms.iter().find_map(|(vars, k)| match &vars[..] {
                [v] if own(*v) && *k > 0 => Some((*v, *k, (**self.most.get(v)?).clone())),
                [v] if own(*v) => Some((*v, *k, Poly::constant(*self.least.get(v)?))),
                _ => None,
            });
            let Some((v, k, bound)) = step else { break };
            let Some(next) = most.plus(-k, &Poly::var(v)).and_then(|m| m.plus(k, &bound)) else { break };
            most = next;
        }
        let is_outside = !most.terms.iter().flat_map(|(vars, _)| vars).any(|v| own(*v));
        Elements { least, most: is_outside.then(|| Rc::new(most)) }
    }
}
