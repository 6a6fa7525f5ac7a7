//! Formulas: polynomials with whole coefficients over the sizes of a program.
//!
//! ```text
//! 4·n·m + 8·m        two terms: the factors n, m with the coefficient 4, the factor m with 8
//! 8·Σlen             a sum over rows: `len` is a size that each row has for itself
//! ```
//!
//! What a loop does is what its body does, times how often it runs; so products and sums are all that is
//! needed, and equal costs are equal formulas. Sizes are never negative, which is what makes
//! [`Formula::most`] a bound.

use remc_mono::ir::Var;
use std::collections::BTreeMap;
use std::ops::{Add, Mul, Sub};

/// What a formula is about. Binders are unique in a program, so that one variable names each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Symbol {
    /// The value of an integer: mostly a size.
    Value(Var),
    /// How often the loop of this index variable runs in all, where each row has a size of its own.
    Sum(Var),
    /// How often the body of a `while` runs in all, by the first variable of its state.
    Rounds(Var),
}

/// Factors in order, each once, with its exponent; none is the constant term.
type Monomial = Vec<(Symbol, u32)>;

/// A polynomial. No coefficient is zero.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Formula(BTreeMap<Monomial, i128>);

impl Formula {
    pub fn zero() -> Formula {
        Formula::default()
    }

    pub fn one() -> Formula {
        Formula::from(1)
    }

    pub fn symbol(s: Symbol) -> Formula {
        Formula(BTreeMap::from([(vec![(s, 1)], 1)]))
    }

    pub fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    /// The number, if the formula has no symbols.
    pub fn constant(&self) -> Option<i128> {
        match self.0.first_key_value() {
            None => Some(0),
            Some((m, c)) if self.0.len() == 1 && m.is_empty() => Some(*c),
            Some(_) => None,
        }
    }

    pub fn terms(&self) -> impl Iterator<Item = (&[(Symbol, u32)], i128)> {
        self.0.iter().map(|(m, c)| (m.as_slice(), *c))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn symbols(&self) -> impl Iterator<Item = Symbol> {
        self.0.keys().flatten().map(|(s, _)| *s)
    }

    fn put(&mut self, m: Monomial, c: i128) {
        let old = self.0.remove(&m).unwrap_or(0);
        let new = old.saturating_add(c);
        if new != 0 {
            self.0.insert(m, new);
        }
    }

    /// A bound of both, for symbols that are not negative: the larger of each term's coefficients.
    pub fn most(&self, other: &Formula) -> Formula {
        let mut out = Formula::zero();
        for m in self.0.keys().chain(other.0.keys().filter(|m| !self.0.contains_key(*m))) {
            let of = |f: &Formula| f.0.get(m).copied().unwrap_or(0);
            out.put(m.clone(), of(self).max(of(other)));
        }
        out
    }

    /// Whether no term says that this is more than `other`, for symbols that are not negative.
    pub fn is_at_most(&self, other: &Formula) -> bool {
        self.0.iter().all(|(m, c)| *c <= other.0.get(m).copied().unwrap_or(0))
            && other.0.iter().all(|(m, c)| *c >= 0 || self.0.contains_key(m))
    }

    /// What remains of a factor, if every term has the symbol once at most: the coefficient of the symbol, and
    /// the rest. `None` if some term has it squared.
    pub fn linear_in(&self, s: Symbol) -> Option<(Formula, Formula)> {
        let (mut slope, mut rest) = (Formula::zero(), Formula::zero());
        for (m, c) in &self.0 {
            match m.iter().find(|(t, _)| *t == s) {
                None => rest.put(m.clone(), *c),
                Some((_, 1)) => slope.put(m.iter().filter(|(t, _)| *t != s).copied().collect(), *c),
                Some(_) => return None,
            }
        }
        Some((slope, rest))
    }

    /// The number that this is; `None` if a symbol has no value.
    pub fn value(&self, of: &dyn Fn(Symbol) -> Option<f64>) -> Option<f64> {
        let mut sum = 0.0;
        for (m, c) in &self.0 {
            let mut term = *c as f64;
            for (s, e) in m {
                term *= of(*s)?.powi(*e as i32);
            }
            sum += term;
        }
        Some(sum)
    }

    /// In words: the terms of most factors first, factors in the order in which the program binds them.
    pub fn show(&self, name: &dyn Fn(Symbol) -> String) -> String {
        let degree = |m: &Monomial| m.iter().map(|(_, e)| *e).sum::<u32>();
        let mut terms: Vec<(u32, Vec<String>, i128)> = Vec::new();
        for (m, c) in &self.0 {
            let mut factors: Vec<String> = Vec::new();
            for (s, e) in m {
                factors.push(match e {
                    1 => name(*s),
                    2 => format!("{}²", name(*s)),
                    3 => format!("{}³", name(*s)),
                    _ => format!("{}^{e}", name(*s)),
                });
            }
            terms.push((degree(m), factors, *c));
        }
        terms.sort_by_key(|t| std::cmp::Reverse(t.0));
        let mut out = String::new();
        for (k, (_, factors, c)) in terms.iter().enumerate() {
            match (k, *c < 0) {
                (0, false) => {}
                (0, true) => out.push('-'),
                (_, false) => out.push_str(" + "),
                (_, true) => out.push_str(" - "),
            }
            let size = c.unsigned_abs();
            if factors.is_empty() {
                out.push_str(&size.to_string());
            } else {
                if size != 1 {
                    out.push_str(&format!("{size}·"));
                }
                out.push_str(&factors.join("·"));
            }
        }
        if out.is_empty() { "0".to_owned() } else { out }
    }
}

impl From<i128> for Formula {
    fn from(n: i128) -> Formula {
        let mut f = Formula::zero();
        f.put(Vec::new(), n);
        f
    }
}

impl Add for &Formula {
    type Output = Formula;
    fn add(self, other: &Formula) -> Formula {
        let mut out = self.clone();
        other.0.iter().for_each(|(m, c)| out.put(m.clone(), *c));
        out
    }
}

impl Sub for &Formula {
    type Output = Formula;
    fn sub(self, other: &Formula) -> Formula {
        let mut out = self.clone();
        other.0.iter().for_each(|(m, c)| out.put(m.clone(), c.saturating_neg()));
        out
    }
}

impl Mul for &Formula {
    type Output = Formula;
    fn mul(self, other: &Formula) -> Formula {
        let mut out = Formula::zero();
        for (a, x) in &self.0 {
            for (b, y) in &other.0 {
                let mut m: BTreeMap<Symbol, u32> = a.iter().copied().collect();
                b.iter().for_each(|(s, e)| *m.entry(*s).or_default() += e);
                out.put(m.into_iter().collect(), x.saturating_mul(*y));
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n() -> Formula {
        Formula::symbol(Symbol::Value(Var(0)))
    }

    fn m() -> Formula {
        Formula::symbol(Symbol::Value(Var(1)))
    }

    fn show(f: &Formula) -> String {
        f.show(&|s| match s {
            Symbol::Value(Var(0)) => "n".into(),
            Symbol::Value(_) => "m".into(),
            Symbol::Sum(_) => "Σm".into(),
            Symbol::Rounds(_) => "r".into(),
        })
    }

    #[test]
    fn formulas_are_in_normal_form() {
        let a = &(&n() + &m()) * &(&n() - &m());
        assert_eq!(a, &(&n() * &n()) - &(&m() * &m()));
        assert_eq!(show(&a), "n² - m²");
        assert_eq!(show(&(&a - &a)), "0");
        assert_eq!(show(&(&(&Formula::from(8) * &n()) - &Formula::one())), "8·n - 1");
    }

    #[test]
    fn bounds_and_values() {
        let a = &(&n() * &m()) - &n();
        let b = &Formula::from(3) * &n();
        assert_eq!(show(&a.most(&b)), "n·m + 3·n");
        assert!(n().is_at_most(&b) && !b.is_at_most(&n()) && !n().is_at_most(&a));
        let of = |s| Some(if s == Symbol::Value(Var(0)) { 4.0 } else { 5.0 });
        assert_eq!(a.value(&of), Some(16.0));
        assert_eq!(a.value(&|_| None), None);
        assert_eq!(Formula::from(7).value(&|_| None), Some(7.0));
    }

    #[test]
    fn slopes() {
        let s = Symbol::Value(Var(0));
        let (slope, rest) = (&(&n() * &m()) + &Formula::from(2)).linear_in(s).unwrap();
        assert_eq!((slope, rest), (m(), Formula::from(2)));
        assert_eq!((&n() * &n()).linear_in(s), None);
    }
}
