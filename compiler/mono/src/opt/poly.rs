//! Integer polynomials over variables: what sizes and indices are when their definitions are unfolded.
//!
//! `(+ (* n m) (- i 1))` is `i + m·n - 1`: monomials in a fixed order, so that equal ones are equal as data.
//! A polynomial has at most [`MOST_TERMS`] terms; an operation whose result would have more, or a
//! coefficient past 64 bits, gives `None`, and its operand stays opaque.

use crate::ir::Var;

/// More terms than a size has that people write.
const MOST_TERMS: usize = 8;
const MOST_DEGREE: usize = 6;

/// `constant + Σ coefficient · product of variables`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Poly {
    pub constant: i64,
    /// Sorted by their variables, which are sorted; no coefficient is 0.
    pub terms: Vec<(Vec<Var>, i64)>,
}

impl Poly {
    pub fn constant(constant: i64) -> Poly {
        Poly { constant, terms: Vec::new() }
    }

    pub fn var(v: Var) -> Poly {
        Poly { constant: 0, terms: vec![(vec![v], 1)] }
    }

    /// `self + k·other`.
    pub fn plus(&self, k: i64, other: &Poly) -> Option<Poly> {
        let constant = self.constant.checked_add(other.constant.checked_mul(k)?)?;
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut a, mut b) = (self.terms.iter().peekable(), other.terms.iter().peekable());
        loop {
            let order = match (a.peek(), b.peek()) {
                (None, None) => break,
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (Some(x), Some(y)) => x.0.cmp(&y.0),
            };
            let mut c = 0i64;
            let mut vars = None;
            if order.is_le()
                && let Some((m, n)) = a.next()
            {
                c = *n;
                vars = Some(m);
            }
            if order.is_ge()
                && let Some((m, n)) = b.next()
            {
                c = c.checked_add(n.checked_mul(k)?)?;
                vars = Some(m);
            }
            if let Some(m) = vars
                && c != 0
            {
                terms.push((m.clone(), c));
            }
        }
        (terms.len() <= MOST_TERMS).then_some(Poly { constant, terms })
    }

    pub fn times(&self, other: &Poly) -> Option<Poly> {
        let mut sum = Poly::constant(0);
        let one = (Vec::new(), other.constant);
        for (m, k) in other.terms.iter().chain((other.constant != 0).then_some(&one)) {
            let mut part = Poly::constant(0);
            for (n, l) in
                self.terms.iter().chain((self.constant != 0).then_some(&(Vec::new(), self.constant)))
            {
                let mut vars: Vec<Var> = m.iter().chain(n).copied().collect();
                vars.sort_unstable();
                if vars.len() > MOST_DEGREE {
                    return None;
                }
                let k = k.checked_mul(*l)?;
                let term = match vars.is_empty() {
                    true => Poly::constant(k),
                    false => Poly { constant: 0, terms: vec![(vars, k)] },
                };
                part = part.plus(1, &term)?;
            }
            sum = sum.plus(1, &part)?;
        }
        Some(sum)
    }

    /// With every variable replaced by a polynomial; `None` if that has too many terms.
    pub fn map(&self, mut f: impl FnMut(Var) -> Poly) -> Option<Poly> {
        let mut sum = Poly::constant(self.constant);
        for (vars, k) in &self.terms {
            let mut product = Poly::constant(*k);
            for v in vars {
                product = product.times(&f(*v))?;
            }
            sum = sum.plus(1, &product)?;
        }
        Some(sum)
    }

    pub fn mentions(&self, v: Var) -> bool {
        self.terms.iter().any(|(vars, _)| vars.contains(&v))
    }

    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// `(v, k, c)` if this is `k·v + c`.
    pub fn as_linear(&self) -> Option<(Var, i64, i64)> {
        match &self.terms[..] {
            [(vars, k)] if vars.len() == 1 => Some((vars[0], *k, self.constant)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_is_that_of_polynomials() {
        let (n, m) = (Poly::var(Var(1)), Poly::var(Var(0)));
        let sum = n.plus(1, &m).unwrap();
        assert_eq!(sum, m.plus(1, &n).unwrap());
        assert_eq!(sum.plus(-1, &m).unwrap(), n);
        let square = sum.times(&sum).unwrap();
        let difference = n.plus(-1, &m).unwrap();
        assert_eq!(
            square.plus(-1, &difference.times(&difference).unwrap()).unwrap(),
            Poly::constant(4).times(&n).unwrap().times(&m).unwrap()
        );
        assert_eq!(n.times(&Poly::constant(0)).unwrap(), Poly::constant(0));
    }

    #[test]
    fn what_is_too_large_has_no_polynomial() {
        let all = (0..8).map(|i| Poly::var(Var(i))).reduce(|a, b| a.plus(1, &b).unwrap()).unwrap();
        assert_eq!(all.plus(1, &Poly::var(Var(8))), None);
        assert_eq!(Poly::constant(i64::MAX).plus(1, &Poly::constant(1)), None);
    }
}
