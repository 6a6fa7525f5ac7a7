//! Dims: integer polynomials over dim variables, meant over the naturals.
//!
//! A dim is kept in normal form (terms sorted by monomial, no zero coefficient), so that two dims are
//! equal for all values of their variables exactly when they are equal as data:
//! `(+ n 1)` and `(+ 1 n)` are one value.
//!
//! Besides variables, a monomial may hold `(rank @s)` and `(size @s)` of a shape that is not yet known:
//! the number of its dims and their product. Both are homomorphisms of the free monoid of shapes, so
//! they evaluate as soon as the shape is known.

use crate::ids::MetaId;
use crate::name::IVar;
use crate::var::DimVar;
use smallvec::SmallVec;
use std::fmt;

/// A product of indeterminates, sorted, with repetition; the empty product is 1.
pub type Monomial = SmallVec<[DimVar; 2]>;

/// The most terms, and the highest degree, of a dim in a checked program.
const MOST_TERMS: usize = 256;
const MOST_DEGREE: usize = 32;

/// An integer polynomial in normal form. Coefficients saturate at the limits of `i128`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dim {
    terms: Vec<(Monomial, i128)>,
}

impl Dim {
    pub fn zero() -> Dim {
        Dim { terms: Vec::new() }
    }

    pub fn constant(c: i128) -> Dim {
        if c == 0 { Dim::zero() } else { Dim { terms: vec![(Monomial::new(), c)] } }
    }

    pub fn var(v: DimVar) -> Dim {
        Dim { terms: vec![(std::iter::once(v).collect(), 1)] }
    }

    pub fn rigid(v: IVar) -> Dim {
        Dim::var(DimVar::Rigid(v))
    }

    pub fn meta(m: MetaId) -> Dim {
        Dim::var(DimVar::Meta(m))
    }

    pub fn terms(&self) -> &[(Monomial, i128)] {
        &self.terms
    }

    pub fn from_terms(terms: impl IntoIterator<Item = (Monomial, i128)>) -> Dim {
        let mut terms: Vec<_> = terms.into_iter().collect();
        for (m, _) in &mut terms {
            m.sort();
        }
        terms.sort_by(|a, b| a.0.cmp(&b.0));
        let mut out: Vec<(Monomial, i128)> = Vec::with_capacity(terms.len());
        for (m, c) in terms {
            match out.last_mut() {
                Some((last, acc)) if *last == m => *acc = acc.saturating_add(c),
                _ => out.push((m, c)),
            }
        }
        out.retain(|(_, c)| *c != 0);
        Dim { terms: out }
    }

    /// The value, if the dim mentions no variable.
    pub fn as_constant(&self) -> Option<i128> {
        match self.terms.as_slice() {
            [] => Some(0),
            [(m, c)] if m.is_empty() => Some(*c),
            _ => None,
        }
    }

    /// The indeterminate, if the dim is exactly one.
    pub fn as_var(&self) -> Option<&DimVar> {
        match self.terms.as_slice() {
            [(m, 1)] if m.len() == 1 => Some(&m[0]),
            _ => None,
        }
    }

    pub fn constant_term(&self) -> i128 {
        self.terms.iter().find(|(m, _)| m.is_empty()).map_or(0, |(_, c)| *c)
    }

    pub fn add(&self, other: &Dim) -> Dim {
        Dim::from_terms(self.terms.iter().chain(&other.terms).cloned())
    }

    pub fn sub(&self, other: &Dim) -> Dim {
        self.add(&other.scale(-1))
    }

    pub fn scale(&self, k: i128) -> Dim {
        Dim::from_terms(self.terms.iter().map(|(m, c)| (m.clone(), c.saturating_mul(k))))
    }

    pub fn mul(&self, other: &Dim) -> Dim {
        // A product that nobody could read, let alone allocate: a constant that no size reaches, and
        // that [`Dim::is_small`] refuses.
        if self.terms.len() * other.terms.len() > 4 * MOST_TERMS
            || self.degree() + other.degree() > 4 * MOST_DEGREE
        {
            return Dim::constant(i128::MAX);
        }
        let mut terms = Vec::with_capacity(self.terms.len() * other.terms.len());
        for (m, c) in &self.terms {
            for (n, d) in &other.terms {
                terms.push((m.iter().chain(n).cloned().collect(), c.saturating_mul(*d)));
            }
        }
        Dim::from_terms(terms)
    }

    fn degree(&self) -> usize {
        self.terms.iter().map(|(m, _)| m.len()).max().unwrap_or(0)
    }

    /// Whether the polynomial is of a size that the checker works with.
    pub fn is_small(&self) -> bool {
        self.terms.len() <= MOST_TERMS
            && self.degree() <= MOST_DEGREE
            && self.terms.iter().all(|(_, c)| (-i128::MAX..i128::MAX).contains(c))
    }

    pub fn vars(&self) -> impl Iterator<Item = &DimVar> {
        self.terms.iter().flat_map(|(m, _)| m.iter())
    }

    /// Replaces every indeterminate by `f` of it.
    pub fn substitute(&self, f: &mut dyn FnMut(&DimVar) -> Option<Dim>) -> Dim {
        if let Some(v) = self.as_var() {
            return f(v).unwrap_or_else(|| self.clone());
        }
        let mut terms = Vec::with_capacity(self.terms.len());
        let mut changed = false;
        for (m, c) in &self.terms {
            let found: SmallVec<[Option<Dim>; 2]> = m.iter().map(&mut *f).collect();
            if found.iter().all(Option::is_none) {
                terms.push((m.clone(), *c));
                continue;
            }
            changed = true;
            let mut product = Dim::constant(*c);
            for (v, d) in m.iter().zip(found) {
                product = product.mul(&d.unwrap_or_else(|| Dim::var(v.clone())));
            }
            terms.extend(product.terms);
        }
        if changed { Dim::from_terms(terms) } else { self.clone() }
    }

    /// True if the value is at least zero whatever naturals the variables stand for, decided by the
    /// sign of the coefficients (sound, not complete).
    pub fn is_never_negative(&self) -> bool {
        self.terms.iter().all(|(m, c)| *c >= 0 && m.iter().all(DimVar::is_natural))
    }

    /// Evaluates with the given values of the indeterminates; `None` if one is missing or the value
    /// leaves `i64`.
    pub fn eval(&self, f: &mut dyn FnMut(&DimVar) -> Option<i64>) -> Option<i64> {
        let mut sum: i128 = 0;
        for (m, c) in &self.terms {
            let mut product = *c;
            for v in m {
                product = product.checked_mul(f(v)? as i128)?;
            }
            sum = sum.checked_add(product)?;
        }
        i64::try_from(sum).ok()
    }
}

impl From<i64> for Dim {
    fn from(n: i64) -> Dim {
        Dim::constant(n as i128)
    }
}

/// Prints as source: `3`, `n`, `(+ 1 n)`, `(* 2 n m)`, `(- n 1)`.
impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn term(f: &mut fmt::Formatter<'_>, m: &Monomial, c: i128) -> fmt::Result {
            match (m.len(), c) {
                (0, c) => write!(f, "{c}"),
                (1, 1) => write!(f, "{}", m[0]),
                _ => {
                    write!(f, "(*")?;
                    if c != 1 {
                        write!(f, " {c}")?;
                    }
                    for v in m {
                        write!(f, " {v}")?;
                    }
                    write!(f, ")")
                }
            }
        }
        fn sum(f: &mut fmt::Formatter<'_>, terms: &[&(Monomial, i128)], sign: i128) -> fmt::Result {
            match terms {
                [] => write!(f, "0"),
                [(m, c)] => term(f, m, sign * c),
                _ => {
                    write!(f, "(+")?;
                    // Variables before the constant, as people write them.
                    for (m, c) in terms
                        .iter()
                        .filter(|t| !t.0.is_empty())
                        .chain(terms.iter().filter(|t| t.0.is_empty()))
                    {
                        write!(f, " ")?;
                        term(f, m, sign * c)?;
                    }
                    write!(f, ")")
                }
            }
        }
        let plus: Vec<_> = self.terms.iter().filter(|t| t.1 > 0).collect();
        let minus: Vec<_> = self.terms.iter().filter(|t| t.1 < 0).collect();
        if minus.is_empty() {
            return sum(f, &plus, 1);
        }
        if plus.is_empty()
            && let Some(c) = self.as_constant()
        {
            return write!(f, "{c}");
        }
        write!(f, "(- ")?;
        sum(f, &plus, 1)?;
        for t in &minus {
            write!(f, " ")?;
            term(f, &t.0, t.1.saturating_neg())?;
        }
        write!(f, ")")
    }
}

impl fmt::Debug for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n() -> Dim {
        Dim::rigid(IVar::dim(0, "n"))
    }

    #[test]
    fn normal_form_identifies_equal_sums() {
        let one = Dim::constant(1);
        assert_eq!(n().add(&one), one.add(&n()));
        assert_eq!(n().add(&one).sub(&n()), one);
        assert_eq!(n().sub(&n()), Dim::zero());
    }

    #[test]
    fn products_distribute() {
        let m = Dim::rigid(IVar::dim(1, "m"));
        let lhs = n().add(&m).mul(&n().sub(&m));
        assert_eq!(lhs, n().mul(&n()).sub(&m.mul(&m)));
    }

    #[test]
    fn prints_as_source() {
        assert_eq!(n().add(&Dim::constant(1)).to_string(), "(+ n 1)");
        assert_eq!(n().sub(&Dim::constant(1)).to_string(), "(- n 1)");
        assert_eq!(n().mul(&Dim::constant(2)).to_string(), "(* 2 n)");
        assert_eq!(Dim::constant(-3).to_string(), "-3");
        assert_eq!(Dim::zero().to_string(), "0");
    }

    #[test]
    fn sign_is_decided_by_coefficients() {
        assert!(n().add(&Dim::constant(1)).is_never_negative());
        assert!(!n().sub(&Dim::constant(1)).is_never_negative());
        let mut w = IVar::dim(7, "k");
        w.natural = false;
        assert!(!Dim::rigid(w).is_never_negative());
    }
}
