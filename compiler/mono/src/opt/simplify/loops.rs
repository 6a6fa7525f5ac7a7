//! Loops of no or one iteration, and loop state that never changes.
//!
//! ```text
//! (let (%s) (for %i 1 ((%a %x)) (let (%b) (op + %a %i)) (give %b)))        (let (%s) (op + %x 0))
//!
//! (let (%s %t) (for %i %n ((%a %x) (%k %y))                                (let (%s) (for %i %n ((%a %x))
//!   (let (%b) (op + %a %k)) (give %b %k)))                                   (let (%b) (op + %a %y)) (give %b)))
//! ```

use super::{Outcome, Place, Simplifier, keep_slots};
use crate::ir::*;
use remc_base::Scalar;

impl Simplifier<'_> {
    pub(super) fn for_loop(
        &mut self,
        axis: Axis,
        mut state: Vec<(Var, Atom)>,
        mut body: Body,
        place: &mut Place<'_>,
    ) -> Outcome {
        match axis.size.as_int() {
            Some(..=0) => return Outcome::Atoms(state.into_iter().map(|s| s.1).collect()),
            Some(1) => {
                self.replace(axis.var, Atom::int(0));
                state.iter().for_each(|(v, a)| self.replace(*v, *a));
                return Outcome::Atoms(self.inline(body, place.out));
            }
            _ => {}
        }
        self.drop_constant_state(&mut state, &mut body, place.pat);
        let body = self.scope(body, |f| f.axis(&axis));
        Outcome::Keep(Exp::For { axis, state, body })
    }

    pub(super) fn while_loop(
        &mut self,
        mut state: Vec<(Var, Atom)>,
        cond: Body,
        mut body: Body,
        place: &mut Place<'_>,
    ) -> Outcome {
        self.drop_constant_state(&mut state, &mut body, place.pat);
        let cond = self.scope(cond, |_| {});
        if matches!(cond.results[..], [Atom::Const(Scalar::Bool(false))]) && !cond.can_stop() {
            return Outcome::Atoms(state.into_iter().map(|s| s.1).collect());
        }
        let body = self.scope(body, |_| {});
        Outcome::Keep(Exp::While { state, cond, body })
    }

    /// State whose next value is itself, or what it starts with.
    fn drop_constant_state(&mut self, state: &mut Vec<(Var, Atom)>, body: &mut Body, pat: &mut Vec<Var>) {
        let mut kept = Vec::new();
        for (k, (v, start)) in state.iter().enumerate() {
            let next = self.resolve(body.results[k]);
            if next == Atom::Var(*v) || identical(next, *start) {
                self.replace(*v, *start);
                self.replace(pat[k], *start);
            } else {
                kept.push(k);
            }
        }
        keep_slots(pat, &kept);
        keep_slots(state, &kept);
        state.iter().for_each(|s| self.retype(s.0));
        keep_slots(&mut body.results, &kept);
    }

    pub(super) fn reduce(&mut self, axis: Axis, body: Body, op: Combine, place: &mut Place<'_>) -> Outcome {
        match (axis.size.as_int(), &op.start) {
            (Some(..=0), Some(start)) => return Outcome::Atoms(start.clone()),
            (Some(1), _) => {
                self.replace(axis.var, Atom::int(0));
                let element = self.inline(body, place.out);
                return Outcome::Atoms(self.combine_once(op, element, place.out));
            }
            _ => {}
        }
        let body = self.scope(body, |f| f.axis(&axis));
        let op = self.combine(op);
        Outcome::Keep(Exp::Reduce { axis, body, op })
    }

    pub(super) fn scan(&mut self, kind: ScanKind, axis: Axis, body: Body, op: Combine) -> Outcome {
        if axis.size.as_int() == Some(1) && kind == ScanKind::Inclusive {
            self.replace(axis.var, Atom::int(0));
            let mut stmts = Vec::new();
            let mark = self.facts.mark();
            let element = self.inline(body, &mut stmts);
            let results = self.combine_once(op, element, &mut stmts);
            self.facts.rollback(mark);
            return Outcome::Keep(Exp::Map { axes: vec![axis], body: Body { stmts, results } });
        }
        let body = self.scope(body, |f| f.axis(&axis));
        let op = self.combine(op);
        Outcome::Keep(Exp::Scan { kind, axis, body, op })
    }

    /// The combination of the start, if there is one, and one element.
    fn combine_once(&mut self, op: Combine, element: Vec<Atom>, out: &mut Vec<Stmt>) -> Vec<Atom> {
        let Some(start) = op.start else { return element };
        for (v, a) in op.lambda.params.iter().zip(start.into_iter().chain(element)) {
            self.replace(*v, a);
        }
        self.inline(op.lambda.body, out)
    }

    fn combine(&mut self, op: Combine) -> Combine {
        Combine { lambda: self.lambda(op.lambda), start: op.start, assoc: op.assoc, alone: op.alone }
    }
}

/// Whether two atoms are the same to the bit: `0.0` and `-0.0` are not, a NaN is itself.
pub(in crate::opt) fn identical(a: Atom, b: Atom) -> bool {
    match (a, b) {
        (Atom::Const(a), Atom::Const(b)) => a.ty() == b.ty() && a.to_bits64() == b.to_bits64(),
        _ => a == b,
    }
}
