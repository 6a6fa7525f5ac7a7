//! What the checks in scope say about dims: equalities, and dims known not to be negative.
//!
//! Both questions are answered by simple rewriting, sound and not complete. An equation `p = q` becomes
//! a rule that removes one indeterminate (`n := m + 1`) where some indeterminate occurs alone with
//! coefficient ±1, else one that rewrites its leading term (`2·n·m ⟶ k`). A dim is natural if its
//! coefficients say so, or if adding known naturals, each times a natural monomial, makes it so:
//! from `0 ≤ n − 1` follows `0 ≤ n·m − m`.

use crate::ir::Fact;
use remc_base::dim::Monomial;
use remc_base::*;

/// The facts of the checks around a place, innermost last.
#[derive(Default)]
pub struct Facts {
    rules: Vec<Rule>,
    natural: Vec<Dim>,
}

enum Rule {
    /// The indeterminate equals the dim, which does not mention it.
    Eliminate(DimVar, Dim),
    /// `coefficient · monomial` equals the dim, whose monomials are all smaller.
    Lead(Monomial, i128, Dim),
}

/// Where to return to when a check's body ends.
pub struct Mark(usize, usize);

/// More rounds of rewriting than any sensible set of checks needs.
const ROUNDS: usize = 16;
/// How many known naturals are added up to show that a dim is natural.
const DEPTH: usize = 6;
/// How many attempts that may take.
const BUDGET: usize = 1_000;
/// Dims with more terms are left as they are.
const TERMS: usize = 500;

impl Facts {
    pub fn mark(&self) -> Mark {
        Mark(self.rules.len(), self.natural.len())
    }

    pub fn reset(&mut self, mark: Mark) {
        self.rules.truncate(mark.0);
        self.natural.truncate(mark.1);
    }

    pub fn assume(&mut self, fact: &Fact) {
        match fact {
            Fact::NonNegative(p) => self.natural.push(p.clone()),
            Fact::Equal(p, q) => self.equate(p, q),
        }
    }

    fn equate(&mut self, p: &Dim, q: &Dim) {
        let zero = self.reduce(&p.sub(q));
        // A contradiction: the check fails whenever it is reached. It teaches nothing.
        if zero.as_constant().is_some() {
            return;
        }
        for (m, c) in zero.terms() {
            if let ([v], 1 | -1) = (m.as_slice(), *c)
                && zero.vars().filter(|w| *w == v).count() == 1
            {
                // c·v + rest = 0, so v = −c·rest.
                let value = zero.sub(&Dim::var(v.clone()).scale(*c)).scale(-c);
                if v.is_natural() {
                    self.natural.push(value.clone());
                }
                self.rules.push(Rule::Eliminate(v.clone(), value));
                return;
            }
        }
        let lead = zero.terms().iter().max_by(|a, b| (a.0.len(), &a.0).cmp(&(b.0.len(), &b.0)));
        if let Some((m, c)) = lead {
            let sign = c.signum();
            let rest = Dim::from_terms([(m.clone(), *c)]).sub(&zero).scale(sign);
            self.rules.push(Rule::Lead(m.clone(), c.saturating_mul(sign), rest));
        }
    }

    /// The normal form of `d` under the equations in scope.
    pub fn reduce(&self, d: &Dim) -> Dim {
        let mut d = d.clone();
        if self.rules.is_empty() {
            return d;
        }
        for _ in 0..ROUNDS {
            let before = d.clone();
            for rule in &self.rules {
                if d.terms().len() > TERMS || d.terms().iter().any(|(m, _)| m.len() > DEPTH * 2) {
                    return d;
                }
                d = match rule {
                    Rule::Eliminate(v, value) => {
                        d.substitute(&mut |w| if w == v { Some(value.clone()) } else { None })
                    }
                    Rule::Lead(m, c, rest) => rewrite(&d, m, *c, rest),
                };
            }
            if d == before {
                break;
            }
        }
        d
    }

    pub fn equal(&self, p: &Dim, q: &Dim) -> bool {
        p == q || self.reduce(&p.sub(q)) == Dim::zero()
    }

    /// Whether `d` is at least 0 for all values of the variables that satisfy the facts.
    pub fn is_natural(&self, d: &Dim) -> bool {
        self.is_natural_given(d, &[])
    }

    /// The same, where the dims `more` are at least 0 too.
    pub fn is_natural_given(&self, d: &Dim, more: &[Dim]) -> bool {
        if d.is_never_negative() {
            return true;
        }
        if self.rules.is_empty() && self.natural.is_empty() && more.is_empty() {
            return false;
        }
        let written: Vec<Dim> = self.natural.iter().chain(more).cloned().collect();
        let known: Vec<Dim> = written.iter().map(|p| self.reduce(p)).collect();
        let mut budget = BUDGET;
        prove(d, &written, DEPTH, &mut budget) || prove(&self.reduce(d), &known, DEPTH, &mut budget)
    }
}

/// Divides every monomial of `d` by `m` as long as the coefficients allow.
fn rewrite(d: &Dim, m: &Monomial, c: i128, rest: &Dim) -> Dim {
    let mut out = Dim::zero();
    for (n, k) in d.terms() {
        let whole = Dim::from_terms([(n.clone(), *k)]);
        out = out.add(&match quotient(n, m) {
            Some(cofactor) if k.div_euclid(c) != 0 => {
                let times = k.div_euclid(c);
                let gone = Dim::from_terms([(n.clone(), times.saturating_mul(c))]);
                whole.sub(&gone).add(&rest.mul(&Dim::from_terms([(cofactor, times)])))
            }
            _ => whole,
        });
    }
    out
}

/// `n / m` as monomials (sorted, with repetition).
fn quotient(n: &Monomial, m: &Monomial) -> Option<Monomial> {
    let mut left = n.clone();
    for v in m {
        let at = left.iter().position(|w| w == v)?;
        left.remove(at);
    }
    Some(left)
}

/// Searches for naturals among `known` that cancel what may be negative in `d`: whatever is natural
/// after taking naturals away was natural before.
fn prove(d: &Dim, known: &[Dim], depth: usize, budget: &mut usize) -> bool {
    let natural = |v: &DimVar| v.is_natural() || known.contains(&Dim::var(v.clone()));
    let Some((m, c)) = d.terms().iter().find(|(m, c)| *c < 0 || !m.iter().all(natural)) else {
        return true;
    };
    if depth == 0 || *budget == 0 {
        return false;
    }
    *budget -= 1;
    for fact in known {
        for (n, k) in fact.terms().iter().filter(|(_, k)| (*k < 0) == (*c < 0)) {
            if let Some(cofactor) = quotient(m, n)
                && cofactor.iter().all(natural)
            {
                let (c, k) = (c.saturating_abs(), k.saturating_abs());
                // A negative term must go entirely; of a positive one, no more than there is.
                let times =
                    if d.terms().contains(&(m.clone(), c)) { (c / k).max(1) } else { 1 + (c - 1) / k };
                let rest = d.sub(&fact.mul(&Dim::from_terms([(cofactor, times)])));
                if prove(&rest, known, depth - 1, budget) {
                    return true;
                }
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(id: u32, natural: bool) -> Dim {
        Dim::rigid(IVar { id, sort: Sort::Dim, natural, name: Name::new("v") })
    }

    fn c(n: i128) -> Dim {
        Dim::constant(n)
    }

    fn with(facts: &[Fact]) -> Facts {
        let mut all = Facts::default();
        facts.iter().for_each(|f| all.assume(f));
        all
    }

    #[test]
    fn equations_eliminate_a_variable() {
        let (n, m) = (v(1, true), v(2, true));
        let facts = with(&[Fact::Equal(n.clone(), m.add(&c(1)))]);
        assert!(facts.equal(&n.mul(&n), &m.mul(&m).add(&m.scale(2)).add(&c(1))));
        assert!(!facts.equal(&n, &m));
        assert!(facts.is_natural(&n.sub(&c(1))) && facts.is_natural(&m));
    }

    #[test]
    fn equations_without_a_linear_variable_rewrite_their_leading_term() {
        let (n, m, k) = (v(1, true), v(2, true), v(3, true));
        let facts = with(&[Fact::Equal(n.mul(&m).scale(2), k.mul(&k))]);
        assert!(facts.equal(&n.mul(&m).mul(&n).scale(4), &k.mul(&k).mul(&n).scale(2)));
        assert!(!facts.equal(&n.mul(&m), &k.mul(&k)));
        assert!(with(&[Fact::Equal(n.scale(2), k.scale(4))]).equal(&n.scale(2), &k.scale(4)));
    }

    #[test]
    fn later_equations_see_earlier_ones() {
        let (n, m, k) = (v(1, true), v(2, true), v(3, true));
        let facts = with(&[Fact::Equal(n.clone(), m.clone()), Fact::Equal(m.clone(), k.clone())]);
        assert!(facts.equal(&n, &k));
        // A contradiction teaches nothing.
        assert!(!with(&[Fact::Equal(c(1), c(2))]).equal(&n, &m));
    }

    #[test]
    fn naturals_add_up() {
        let (n, m, k) = (v(1, true), v(2, true), v(3, false));
        let facts = with(&[Fact::NonNegative(n.sub(&c(1)))]);
        assert!(facts.is_natural(&n.sub(&c(1))));
        assert!(facts.is_natural(&n.add(&m).sub(&c(1))));
        assert!(facts.is_natural(&n.mul(&m).sub(&m)));
        assert!(facts.is_natural(&n.scale(3).sub(&c(2))));
        assert!(!facts.is_natural(&n.sub(&c(2))));
        assert!(!facts.is_natural(&k));
        let facts = with(&[Fact::NonNegative(k.clone())]);
        assert!(facts.is_natural(&k) && facts.is_natural(&k.mul(&n).add(&c(2))));
        assert!(!facts.is_natural(&k.scale(-1)));
        let facts = with(&[Fact::NonNegative(k.sub(&n))]);
        assert!(facts.is_natural(&k.sub(&n).scale(2)) && facts.is_natural(&k));
        let two = with(&[Fact::NonNegative(n.sub(&c(2))), Fact::NonNegative(m.sub(&n))]);
        assert!(two.is_natural(&m.sub(&c(2))));
        assert!(!two.is_natural(&m.sub(&c(3))));
    }
}
