//! Sequential loops that change large arrays in place, item by item: there is nothing in them for more than one thread.
//!
//! ```text
//! (while (((%i int) 0) ((%v int %n) %xs))                 (seg-map grid ()
//!   (cond …)                                                (leaf
//!   (do (let (%c) …)                                          (while (((%i int) 0) ((%v int %n) %xs))
//!       (let (%w int %n) (if %c                                 (cond …)
//!         (then (scatter (%k 2) (%v) …) …)                      (do …))
//!         (else (give %v))))                                  (give %s.0 %s.1)))
//!       (give %j %w)))
//! ```
//!
//! As a loop of the host it would launch a kernel for each item. One kernel changes the array where it is, as long as no
//! round copies or makes a large one: so each array that a statement gives is to be the one that it had, which nothing
//! mentions afterwards. What is asked here is what the lowering of leaves will find (`kernel/src/lower/in_place.rs`).

use super::*;
use rustc_hash::FxHashSet;

impl Flattener {
    /// Whether a loop of the host does no more in a round than a few operations, its arrays changed where they are.
    pub(super) fn is_sequential_loop(&self, s: &mono::Stmt) -> bool {
        match &s.exp {
            mono::Exp::For { state, body, .. } => self.carries(&s.pat, state, body),
            mono::Exp::While { state, cond, body } => {
                self.carries(&s.pat, state, body) && self.is_sequential(cond, &FxHashSet::default(), false)
            }
            _ => false,
        }
    }

    /// The same of the operator of a reduction, whose accumulators are these; it may reduce long rows
    /// beside that.
    pub(super) fn is_sequential_fold(&self, accs: &[Var], op: &mono::Body) -> bool {
        self.is_sequential(op, &accs.iter().copied().collect(), true) && self.goes_back(accs, op)
    }

    fn is_large(&self, v: Var) -> bool {
        !self.is_few(&self.p.vars[v].ty.dims)
    }

    /// Whether a loop takes the large arrays that it gives from round to round.
    fn carries(&self, pat: &[Var], state: &[(Var, Atom)], body: &mono::Body) -> bool {
        let states: Vec<Var> = state.iter().map(|(v, _)| *v).collect();
        let large = pat
            .iter()
            .zip(&states)
            .all(|(v, s)| self.p.vars[*v].ty == self.p.vars[*s].ty || !self.is_large(*v));
        large
            && self.is_sequential(body, &states.iter().copied().collect(), false)
            && self.goes_back(&states, body)
    }

    /// Whether the large ones of these arrays are given by the body in their places.
    fn goes_back(&self, states: &[Var], body: &mono::Body) -> bool {
        states.iter().zip(&body.results).all(|(v, r)| !self.is_large(*v) || body.handed_on(*r) == Some(*v))
    }

    /// Whether a body that owns these arrays makes no large ones: those that it gives are these, changed where they are.
    /// Nor does it take more than a few iterations, but to reduce `long` rows.
    fn is_sequential(&self, b: &mono::Body, owned: &FxHashSet<Var>, long: bool) -> bool {
        let dying = b.dying(owned.iter().copied());
        b.stmts.iter().zip(dying).all(|(s, dying)| self.changes_alone(s, &dying, long))
    }

    /// Whether a statement makes no large arrays; it may take those that are not mentioned afterwards.
    fn changes_alone(&self, s: &mono::Stmt, dying: &FxHashSet<Var>, long: bool) -> bool {
        use mono::Exp as E;
        let large: Vec<usize> = (0..s.pat.len()).filter(|k| self.is_large(s.pat[*k])).collect();
        let taken = |a: Atom, inside: &[&mono::Body]| {
            a.as_var()
                .is_some_and(|v| dying.contains(&v) && inside.iter().all(|b| !b.free_vars().contains(&v)))
        };
        match &s.exp {
            E::Index { .. } | E::Atom(_) => true,
            E::If { then, otherwise, .. } => {
                let from = |b: &mono::Body, k: usize| b.results.get(k).and_then(|r| b.handed_on(*r));
                let same = |k: &usize| {
                    let from = from(then, *k).filter(|v| Some(*v) == from(otherwise, *k));
                    from.is_some_and(|v| dying.contains(&v) && self.p.vars[v].ty == self.p.vars[s.pat[*k]].ty)
                };
                large.iter().all(same)
                    && self.is_sequential(then, dying, long)
                    && self.is_sequential(otherwise, dying, long)
            }
            E::Scatter { dests, axis, body, combine } => {
                let bodies: Vec<&mono::Body> = s.exp.bodies();
                let cell =
                    |k: &usize| self.is_few(self.p.vars[s.pat[*k]].ty.dims.get(1..).unwrap_or_default());
                self.is_few(&[axis.size])
                    && large
                        .iter()
                        .all(|k| cell(k) && dests.get(*k).is_some_and(|d| taken(Atom::Var(*d), &bodies)))
                    && self.is_sequential(body, &FxHashSet::default(), false)
                    && combine
                        .as_ref()
                        .is_none_or(|c| self.is_sequential(&c.body, &FxHashSet::default(), false))
            }
            E::For { state, .. } | E::While { state, .. } => {
                let bodies = s.exp.bodies();
                large.iter().all(|k| state.get(*k).is_some_and(|(_, init)| taken(*init, &bodies)))
                    && self.is_sequential_loop(s)
            }
            exp => {
                let sizes: Vec<Atom> = exp.axes().iter().map(|a| a.size).collect();
                let none = FxHashSet::default();
                let long = long && matches!(exp, E::Reduce { .. });
                large.is_empty()
                    && (long || self.is_few(&sizes))
                    && exp.bodies().into_iter().all(|b| self.is_sequential(b, &none, long))
            }
        }
    }
}
