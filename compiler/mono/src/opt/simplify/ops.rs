//! Scalar operators: constant folding, and identities that hold exactly.
//!
//! Integers wrap round, so `x + 1 - 1` is `x` whatever `x` is. Floats do not: `x + 0.0` is not `x` for
//! `x = -0.0`, and `x * 0.0` is not `0.0` for an infinity; `x * 1.0`, `x / 1.0` and `x - 0.0` are `x`.

use super::{Simplifier, identical};
use crate::ir::{Atom, Exp};
use remc_base::ops::{ScalarOp, apply};
use remc_base::{BaseTy, Scalar};

/// What becomes of an operator.
pub(super) enum Simple {
    Atom(Atom),
    Op(ScalarOp, Vec<Atom>),
}

use ScalarOp::*;

impl Simplifier<'_> {
    pub(super) fn op(&self, mut op: ScalarOp, mut args: Vec<Atom>) -> Simple {
        // Each step has fewer operators than the last, or brings a constant to the right.
        loop {
            let constants: Option<Vec<Scalar>> = args
                .iter()
                .map(|a| match a {
                    Atom::Const(c) => Some(*c),
                    Atom::Var(_) => None,
                })
                .collect();
            if let Some(constants) = constants
                && let Ok(c) = apply(op, &constants)
            {
                return Simple::Atom(Atom::Const(c));
            }
            let next = match args[..] {
                [a] => self.unary(op, a),
                [a, b] => self.binary(op, a, b),
                [c, a, b] if op == Select => self.select(c, a, b),
                _ => None,
            };
            match next {
                None => return Simple::Op(op, args),
                Some(Simple::Atom(a)) => return Simple::Atom(a),
                Some(Simple::Op(o, a)) => (op, args) = (o, a),
            }
        }
    }

    fn unary(&self, op: ScalarOp, a: Atom) -> Option<Simple> {
        let Some(Exp::Op(inner, args)) = self.def(a) else {
            return match op {
                Abs if self.base(a) == BaseTy::I64
                    && self.facts.compare(Le, Atom::int(0), a) == Some(true) =>
                {
                    Some(Simple::Atom(a))
                }
                Floor | Ceiling | Round | Truncate if self.base(a).is_integer() => Some(Simple::Atom(a)),
                _ => None,
            };
        };
        let compares_ints = || !self.base(args[0]).is_float();
        let opposite = match (op, inner) {
            (Not, Not) | (Negate, Negate) | (BitNot, BitNot) => return Some(Simple::Atom(args[0])),
            (Not, Eq) => Ne,
            (Not, Ne) => Eq,
            (Not, Lt) if compares_ints() => Ge,
            (Not, Le) if compares_ints() => Gt,
            (Not, Gt) if compares_ints() => Le,
            (Not, Ge) if compares_ints() => Lt,
            _ => return None,
        };
        Some(Simple::Op(opposite, args.clone()))
    }

    fn binary(&self, op: ScalarOp, a: Atom, b: Atom) -> Option<Simple> {
        let ty = self.base(a);
        let atom = |a| Some(Simple::Atom(a));
        let bool = |b| Some(Simple::Atom(Atom::Const(Scalar::Bool(b))));
        let is = |a: Atom, n: i64| is_number(a, n);
        if ty.is_integer() {
            let zero = || Scalar::from_integer(ty, 0).map(|z| Simple::Atom(Atom::Const(z)));
            match op {
                Add | BitOr | BitXor if is(a, 0) => return atom(b),
                Add | Sub | BitOr | BitXor | Shl | Shr if is(b, 0) => return atom(a),
                Mul if is(a, 1) => return atom(b),
                Mul | Quotient if is(b, 1) => return atom(a),
                Mul | BitAnd if is(a, 0) || is(b, 0) => return zero(),
                Modulo if is(b, 1) => return zero(),
                // Where the divisor is nothing a check has stopped before.
                Modulo | Quotient if is(a, 0) => return zero(),
                Sub | BitXor if a == b => return zero(),
                Min2 | Max2 | BitAnd | BitOr if a == b => return atom(a),
                Eq | Le | Ge if a == b => return bool(true),
                _ => {}
            }
        }
        if ty.is_float() {
            match op {
                Mul if is(a, 1) => return atom(b),
                Mul | Div if is(b, 1) => return atom(a),
                Sub if is(b, 0) && !is_negative_zero(b) => return atom(a),
                Add if is_negative_zero(b) => return atom(a),
                Add if is_negative_zero(a) => return atom(b),
                Min2 | Max2 if a == b => return atom(a),
                _ => {}
            }
        }
        if ty == BaseTy::Bool {
            let not = |a| Some(Simple::Op(Not, vec![a]));
            let constant = |a| match a {
                Atom::Const(Scalar::Bool(x)) => Some(x),
                _ => None,
            };
            let (x, c) = match (constant(a), constant(b)) {
                (Some(c), _) => (b, Some(c)),
                (_, c) => (a, c),
            };
            match (op, c) {
                (And | Eq, Some(true)) | (Or | Xor | Ne, Some(false)) => return atom(x),
                (And, Some(false)) => return bool(false),
                (Or, Some(true)) => return bool(true),
                (Xor | Ne, Some(true)) | (Eq, Some(false)) => return not(x),
                (And | Or, _) if a == b => return atom(a),
                (Xor | Ne, _) if a == b => return bool(false),
                (Eq, _) if a == b => return bool(true),
                _ => {}
            }
        }
        // No number is less than itself or greater, NaN too.
        if matches!(op, Lt | Gt) && a == b || op == Ne && a == b && !ty.is_float() {
            return bool(false);
        }
        if ty == BaseTy::I64
            && let Some(simple) = self.sizes(op, a, b)
        {
            return Some(simple);
        }
        if let Atom::Const(_) = a
            && let Atom::Var(_) = b
        {
            let swapped = match op {
                Add | Mul | Min2 | Max2 | Eq | Ne | And | Or | Xor | BitAnd | BitOr | BitXor | Gcd => op,
                Lt => Gt,
                Le => Ge,
                Gt => Lt,
                Ge => Le,
                _ => return None,
            };
            return Some(Simple::Op(swapped, vec![b, a]));
        }
        None
    }

    /// Arithmetic and comparisons of `int`s, by their polynomials.
    fn sizes(&self, op: ScalarOp, a: Atom, b: Atom) -> Option<Simple> {
        let known = |op, a, b| self.facts.compare(op, a, b);
        let atom = |a| Some(Simple::Atom(a));
        match op {
            Eq | Ne | Lt | Le | Gt | Ge => {
                known(op, a, b).map(|c| Simple::Atom(Atom::Const(Scalar::Bool(c))))
            }
            Min2 | Max2 => {
                let (less, more) = if op == Min2 { (a, b) } else { (b, a) };
                match (known(Le, a, b), known(Le, b, a)) {
                    (Some(true), _) => atom(less),
                    (_, Some(true)) => atom(more),
                    _ => None,
                }
            }
            Modulo | Quotient if known(Le, Atom::int(0), a)? && known(Lt, a, b)? => {
                atom(if op == Modulo { a } else { Atom::int(0) })
            }
            Add | Sub | Mul => {
                let (pa, pb) = (self.facts.modular(a), self.facts.modular(b));
                let value = match op {
                    Add => pa.plus(1, &pb),
                    Sub => pa.plus(-1, &pb),
                    _ => pa.times(&pb),
                }?;
                let value = self.facts.undivided(value);
                if let Some(c) = value.as_constant() {
                    return atom(Atom::int(c));
                }
                let (v, k, c) = value.as_linear()?;
                let v = Atom::Var(v);
                let next = match (k, c) {
                    (1, 0) => return atom(v),
                    (1, _) => (Add, vec![v, Atom::int(c)]),
                    (_, 0) => (Mul, vec![v, Atom::int(k)]),
                    _ => return None,
                };
                (next != (op, vec![a, b])).then_some(Simple::Op(next.0, next.1))
            }
            _ => None,
        }
    }

    fn select(&self, cond: Atom, a: Atom, b: Atom) -> Option<Simple> {
        let bool = |a| match a {
            Atom::Const(Scalar::Bool(x)) => Some(x),
            _ => None,
        };
        if identical(a, b) {
            return Some(Simple::Atom(a));
        }
        match (bool(cond), bool(a), bool(b)) {
            (Some(c), ..) => Some(Simple::Atom(if c { a } else { b })),
            (_, Some(true), Some(false)) => Some(Simple::Atom(cond)),
            (_, Some(false), Some(true)) => Some(Simple::Op(Not, vec![cond])),
            (_, Some(true), None) => Some(Simple::Op(Or, vec![cond, b])),
            (_, None, Some(false)) => Some(Simple::Op(And, vec![cond, a])),
            _ => match self.def(cond) {
                Some(Exp::Op(Not, args)) => Some(Simple::Op(Select, vec![args[0], b, a])),
                _ => None,
            },
        }
    }
}

fn is_number(a: Atom, n: i64) -> bool {
    match a {
        Atom::Const(c) => {
            c.as_integer() == Some(i128::from(n)) || c.as_float().is_some_and(|x| x == n as f64)
        }
        Atom::Var(_) => false,
    }
}

fn is_negative_zero(a: Atom) -> bool {
    matches!(a, Atom::Const(c) if c.as_float().is_some_and(|x| x == 0.0 && x.is_sign_negative()))
}
