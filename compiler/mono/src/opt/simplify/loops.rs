//! Loops of no or one iteration, loops that count, and loop state that never changes.
//!
//! ```text
//! (let (%k %s) (while ((%i 0) (%a %x))                                     (let (%s) (for %j %n ((%a %x))
//!   (let (%c) (op < %i %n)) (give %c)                                        (let (%b) (op + %a %j)) (give %b)))
//!   (let (%b) (op + %a %i)) (let (%i2) (op + %i 1)) (give %i2 %b)))        %k = %n, which is not negative
//!
//! (let (%s) (for %i 1 ((%a %x)) (let (%b) (op + %a %i)) (give %b)))        (let (%s) (op + %x 0))
//!
//! (let (%s %t) (for %i %n ((%a %x) (%k %y))                                (let (%s) (for %i %n ((%a %x))
//!   (let (%b) (op + %a %k)) (give %b %k)))                                   (let (%b) (op + %a %y)) (give %b)))
//! ```

use super::{Outcome, Place, Simplifier, keep_slots};
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};

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
        match self.counter(&state, &cond, &body) {
            Some((k, to, plus)) => self.counted(k, (to, plus), (state, body), place),
            None => Outcome::Keep(Exp::While { state, cond, body }),
        }
    }

    /// The state that counts from what is not negative, one by one, while it is less than something that the loop leaves
    /// alone; that, and what to add to it.
    ///
    /// Sums wrap: where it is compared otherwise than by `<`, what it counts from is a constant, to which what is ahead can be
    /// added.
    fn counter(&self, state: &[(Var, Atom)], cond: &Body, body: &Body) -> Option<(usize, Atom, i64)> {
        let (before, Stmt { pat, exp: Exp::Op(op, args), .. }) =
            cond.stmts.split_last().map(|(s, b)| (b, s))?
        else {
            return None;
        };
        let (counted, to, mut plus) = match (op, &args[..]) {
            (ScalarOp::Lt, [k, n]) | (ScalarOp::Gt, [n, k]) => (k.as_var()?, *n, 0),
            (ScalarOp::Le, [k, n]) | (ScalarOp::Ge, [n, k]) => (k.as_var()?, *n, 1),
            _ => return None,
        };
        let counter = match before {
            [] => counted,
            [Stmt { pat, exp: Exp::Op(ScalarOp::Add, args), .. }] if pat[..] == [counted] => {
                plus -= args[1].as_int().filter(|n| (1..=1 << 31).contains(n))?;
                args[0].as_var()?
            }
            _ => return None,
        };
        let k = state.iter().position(|(v, _)| *v == counter)?;
        let (start, next) = (state[k].1, body.results[k]);
        let counts = body.stmts.iter().any(|s| {
            s.pat.iter().any(|v| Atom::Var(*v) == next)
                && matches!(&s.exp, Exp::Op(ScalarOp::Add, args) if args[..] == [Atom::Var(counter), Atom::int(1)])
        });
        let is_below = before.is_empty() && plus == 0;
        let fine = cond.results[..] == [Atom::Var(pat[0])]
            && counts
            && (is_below || start.as_int().is_some_and(|n| n <= 1 << 31))
            && self.base(start) == BaseTy::I64
            && state.iter().all(|(v, _)| Atom::Var(*v) != to)
            // A state that is as long as the counter needs it where it is bound.
            && state.iter().all(|(v, _)| !self.p.ty(*v).dims.contains(&Atom::Var(counter)))
            && self.is_natural(start)
            && (state.len() > 1 || !body.can_stop());
        fine.then_some((k, to, plus))
    }

    fn is_natural(&self, a: Atom) -> bool {
        self.facts.compare(ScalarOp::Ge, a, Atom::int(0)) == Some(true)
    }

    /// Whether one more than this is no less: it is a size, or a constant.
    fn is_below_all(&self, a: Atom) -> bool {
        match a {
            Atom::Var(v) => self.is_size(v) && self.is_natural(a),
            Atom::Const(_) => a.as_int().is_some_and(|n| n < i64::MAX),
        }
    }

    /// A loop over an axis for one whose state `k` counts up to `to + plus`.
    fn counted(
        &mut self,
        k: usize,
        (to, plus): (Atom, i64),
        (mut state, mut body): (Vec<(Var, Atom)>, Body),
        place: &mut Place<'_>,
    ) -> Outcome {
        let (counter, from) = state.remove(k);
        body.results.remove(k);
        let number = |s: &mut Self, op, args, out: &mut Vec<Stmt>| {
            let v = s.p.fresh("rounds", Ty::int());
            s.emit_op(v, op, args, place.prov, out);
            s.resolve(v.into())
        };
        let to = match plus {
            0 => to,
            // Up to the greatest number there is it would never end.
            1.. if !self.is_below_all(to) => {
                let to = number(self, ScalarOp::Min2, vec![to, Atom::int(i64::MAX - plus)], place.out);
                number(self, ScalarOp::Add, vec![to, Atom::int(plus)], place.out)
            }
            // The least number there is has nothing below it.
            ..0 if !self.is_natural(to) => {
                let to = number(self, ScalarOp::Max2, vec![to, Atom::int(0)], place.out);
                number(self, ScalarOp::Add, vec![to, Atom::int(plus)], place.out)
            }
            _ => number(self, ScalarOp::Add, vec![to, Atom::int(plus)], place.out),
        };
        // Where it ends, and how often it runs: a difference of two numbers that are not negative.
        let end = match self.facts.compare(ScalarOp::Ge, to, from) {
            Some(true) => to,
            _ => number(self, ScalarOp::Max2, vec![to, from], place.out),
        };
        let size = number(self, ScalarOp::Sub, vec![end, from], place.out);
        let last = place.pat.remove(k);
        self.bind(last, end, place.prov, place.out);
        if state.is_empty() {
            return Outcome::Gone;
        }
        let axis = Axis { var: self.p.fresh("i", Ty::int()), size };
        let count = Exp::Op(ScalarOp::Add, vec![axis.var.into(), from]);
        body.stmts.insert(0, Stmt { pat: vec![counter], exp: count, prov: place.prov });
        Outcome::Keep(Exp::For { axis, state, body })
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

#[cfg(test)]
mod tests {
    use super::super::super::shorthand::{after, program, shape};
    use super::super::simplify;

    /// A sum of what a counter was, from `from` on, while `cond` of `%i` and the sum `%a`; then what the counter is.
    fn sums(from: &str, cond: &str, step: &str) -> String {
        let cond = match cond.starts_with('(') {
            true => cond.to_owned(),
            false => format!("(let ((%c bool)) (op {cond}))"),
        };
        let body = format!(
            "(let ((%m int)) (op - %n 3))
             (let ((%k int) (%s int)) (while (((%i int) {from}) ((%a int) %one))
               (cond {cond} (give %c))
               (do (let ((%b int)) (op + %a %i)) (let ((%j int)) (op {step})) (give %j %b))))
             (give %k %s)"
        );
        let params = "(%one int) (%n int) (%xs float %n)";
        shape(&after(program(params, 2, &body), &[simplify, simplify]))
    }

    #[test]
    fn loops_that_count() {
        let ends = ["< %i %n", "> %n %i", "<= %i %n", ">= %n %i", "< %i %m", "<= %i %m", "<= %i 4"];
        let starts = [("2", "< %i %n"), ("2", "<= %i %n"), ("%n", "< %i %one")];
        for (from, cond) in ends.map(|end| ("0", end)).into_iter().chain(starts) {
            assert_eq!(sums(from, cond, "+ %i 1"), "for", "{from} {cond}");
        }
        // One round, and the counter as a sum.
        assert_eq!(sums("0", "< %i 1", "+ %i 1"), "");
        let ahead = |end: &str| {
            sums("1", &format!("(let ((%t int)) (op + %i 2)) (let ((%c bool)) (op {end}))"), "+ %i 1")
        };
        assert_eq!(ahead("< %t %n"), "for");
        assert_eq!(ahead("<= %t %n"), "for");
        assert_eq!(ahead("< %t %m"), "for");
    }

    #[test]
    fn loops_that_end_otherwise() {
        for (from, cond, step) in [
            // From where is not known, or before 0; another end or step; what ends it changes.
            ("%m", "< %i %n", "+ %i 1"),
            ("-1", "< %i %n", "+ %i 1"),
            ("%n", "<= %i %n", "+ %i 1"),
            ("0", "< %i %n", "+ %i 2"),
            ("0", "< %i %n", "+ %a 1"),
            ("2", "< %a %n", "+ %i 1"),
            ("%n", "> %i 0", "- %i 1"),
        ] {
            assert_eq!(sums(from, cond, step), "while:2", "{from} {cond} {step}");
        }
    }
}
