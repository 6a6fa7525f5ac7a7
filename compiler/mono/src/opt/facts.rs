//! What is known of sizes and indices at a place of the program.
//!
//! Two forms of an `int` are kept, both [polynomials](Poly) over variables:
//!
//! - the *modular* form, equal to the value modulo 2⁶⁴: enough to see that two sizes are equal;
//! - the *exact* form, equal to it as a number. A variable unfolds into its definition only where that
//!   provably does not wrap round: `n - 1` does not, when `n` is a size; `n + 1` might.
//!
//! With the exact forms and bounds of variables (a size is at least 0, an index of an axis is below the
//! axis' size, what a `check` has checked holds after it) comparisons are decided:
//!
//! ```text
//! (map ((%i %n1)) (let (%j) (op + %i 1)) (let (%c) (op < %j %n)) …)      with n1 = n - 1: %c is true
//! ```
//!
//! A size that has been found equal to a sum of sizes is that sum ([`Facts::sum`]): what is at most `n + 5` elements long is
//! so for whoever knows of `n` alone.
//!
//! A remainder beside its quotient is what was divided ([`Facts::undivided`]), so that an index that was taken apart
//! and put together again is itself.
//!
//! Of an array of integers it is known what all of its elements are at least and at most, as those of an order that sorts
//! are places: from what makes it ([`elements`]).
//!
//! Facts are scoped as variables are: what is assumed after [`Facts::mark`] is forgotten by
//! [`Facts::rollback`].

mod elements;

use super::key;
use super::poly::Poly;
use crate::ir::*;
use elements::Elements;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use rustc_hash::FxHashMap;
use std::rc::Rc;

#[derive(Default)]
pub struct Facts {
    /// What a variable is known to be equal to, by a check or a condition.
    equal: FxHashMap<Var, Atom>,
    /// Sizes as sums of others.
    sums: FxHashMap<Var, Rc<Poly>>,
    least: FxHashMap<Var, i64>,
    most: FxHashMap<Var, Rc<Poly>>,
    /// Of the lesser of two what it is not above either.
    most_too: FxHashMap<Var, Rc<Poly>>,
    modular: FxHashMap<Var, Rc<Poly>>,
    exact: FxHashMap<Var, Rc<Poly>>,
    /// Definitions of the conditions that [`Facts::assume`] looks into.
    conditions: FxHashMap<Var, (ScalarOp, Vec<Atom>)>,
    /// Quotients, by [words](key::word) of what is divided by what; and remainders, of what divided by what.
    quotients: FxHashMap<[[u64; 2]; 2], Var>,
    remainders: FxHashMap<Var, [Atom; 2]>,
    elements: FxHashMap<Var, Elements>,
    undo: Vec<Undo>,
}

enum Undo {
    Equal(Var),
    Sum(Var),
    Least(Var, Option<i64>),
    Most(Var, Option<Rc<Poly>>),
    MostToo(Var),
    Elements(Var, Option<Elements>),
}

/// A place to go back to.
#[derive(Clone, Copy)]
pub struct Mark(usize);

/// Proofs replace at most so many variables by their bounds.
const MOST_STEPS: usize = 8;

impl Facts {
    /// What is known at the start of a program.
    pub fn new(p: &Program) -> Facts {
        let mut facts = Facts::default();
        let given: Vec<Var> = p.inputs.iter().flat_map(Input::vars).collect();
        for v in &p.params {
            facts.sizes_of(p.ty(*v));
            // What no input is says how large inputs are, if only as a part of a sum.
            if p.ty(*v) == &Ty::int() && !given.contains(v) {
                facts.at_least(*v, 0);
            }
        }
        facts
    }

    pub fn mark(&self) -> Mark {
        Mark(self.undo.len())
    }

    pub fn rollback(&mut self, to: Mark) {
        while self.undo.len() > to.0 {
            match self.undo.pop() {
                Some(Undo::Equal(v)) => {
                    self.equal.remove(&v);
                }
                Some(Undo::Sum(v)) => {
                    self.sums.remove(&v);
                }
                Some(Undo::Least(v, old)) => restore(&mut self.least, v, old),
                Some(Undo::Most(v, old)) => restore(&mut self.most, v, old),
                Some(Undo::MostToo(v)) => {
                    self.most_too.remove(&v);
                }
                Some(Undo::Elements(v, old)) => restore(&mut self.elements, v, old),
                None => {}
            }
        }
    }

    /// What an atom is known to be: a constant, or the one variable that stands for all equal ones.
    pub fn root(&self, mut a: Atom) -> Atom {
        while let Atom::Var(v) = a
            && let Some(b) = self.equal.get(&v)
        {
            a = *b;
        }
        a
    }

    /// What holds in the body of an iteration: it has begun, so it has something to do.
    pub fn axis(&mut self, axis: &Axis) {
        if let Atom::Var(v) = self.root(axis.size) {
            self.at_least(v, 1);
        }
        // Nor has any factor of its size none.
        if let Poly { constant: 0, terms } = self.modular(axis.size)
            && let [(factors, _)] = &terms[..]
        {
            let sizes: Vec<Var> = factors.iter().copied().filter(|v| self.is_size(*v)).collect();
            sizes.into_iter().for_each(|v| self.at_least(v, 1));
        }
        self.at_least(axis.var, 0);
        if let Some(most) = self.exact(axis.size).plus(-1, &Poly::constant(1)) {
            self.at_most(axis.var, most);
        }
    }

    /// What holds after a statement.
    pub fn bind(&mut self, p: &Program, s: &Stmt) {
        for v in &s.pat {
            self.sizes_of(p.ty(*v));
        }
        match (&s.exp, &s.pat[..]) {
            (Exp::Check { cond, .. }, _) => self.assume(*cond, true),
            (Exp::Filter { axis, .. }, [n, ..]) => {
                self.at_least(*n, 0);
                let most = self.exact(axis.size);
                self.at_most(*n, most);
            }
            (Exp::Join { regular, .. }, _) => {
                for part in s.pat[*regular..].chunks(3) {
                    self.at_least(part[0], 0);
                }
            }
            (Exp::Op(op, args), [x]) => match p.ty(*x).base {
                BaseTy::Bool => {
                    self.conditions.insert(*x, (*op, args.clone()));
                }
                BaseTy::I64 => self.arithmetic(*x, *op, args),
                _ => {}
            },
            (Exp::Index { array, .. }, [x]) if p.ty(*x).is_scalar() => self.element(*array, *x),
            _ => self.elements_of(p, s),
        }
    }

    fn sizes_of(&mut self, ty: &Ty) {
        for d in &ty.dims {
            self.size(*d);
        }
    }

    fn size(&mut self, a: Atom) {
        if let Atom::Var(v) = self.root(a) {
            self.at_least(v, 0);
        }
    }

    fn arithmetic(&mut self, x: Var, op: ScalarOp, args: &[Atom]) {
        let [a, b] = *args else {
            if let (ScalarOp::Negate, [a]) = (op, args) {
                self.arithmetic(x, ScalarOp::Sub, &[Atom::int(0), *a]);
            }
            return;
        };
        let (ma, mb) = (self.modular(a), self.modular(b));
        let (ea, eb) = (self.exact(a), self.exact(b));
        let (modular, exact) = match op {
            ScalarOp::Add => (ma.plus(1, &mb), ea.plus(1, &eb)),
            ScalarOp::Sub => (ma.plus(-1, &mb), ea.plus(-1, &eb)),
            ScalarOp::Mul if ea.terms.is_empty() || eb.terms.is_empty() => (ma.times(&mb), ea.times(&eb)),
            ScalarOp::Mul => (ma.times(&mb), None),
            _ => (None, None),
        };
        if let Some(m) = modular {
            self.modular.insert(x, Rc::new(self.undivided(m)));
        }
        if let Some(e) = exact
            && self.fits(&e)
        {
            self.exact.insert(x, Rc::new(e));
        }
        let positive = |a: &Poly| self.least_value(a) >= 1;
        match op {
            ScalarOp::Modulo if positive(&eb) => {
                self.remainders.insert(x, [a, b]);
                self.at_least(x, 0);
                if let Some(most) = eb.plus(-1, &Poly::constant(1)) {
                    self.at_most(x, most);
                }
            }
            ScalarOp::Quotient if positive(&eb) => {
                let is_size = self.least_value(&ea) >= 0;
                self.quotients.insert([a, b].map(key::word), x);
                if is_size {
                    self.at_least(x, 0);
                    self.at_most(x, ea);
                }
            }
            ScalarOp::Min2 => {
                self.at_least(x, clamp(self.least_value(&ea).min(self.least_value(&eb))));
                let (most, other) = if self.is_of_sizes(&ea) { (ea, eb) } else { (eb, ea) };
                self.at_most(x, most);
                if !other.mentions(x) && self.most_too.insert(x, Rc::new(other)).is_none() {
                    self.undo.push(Undo::MostToo(x));
                }
            }
            ScalarOp::Max2 => {
                self.at_least(x, clamp(self.least_value(&ea).max(self.least_value(&eb))));
                // A bound of one that the other is not above.
                let bounds = [(self.bound(a), eb), (self.bound(b), ea)];
                let most = bounds
                    .into_iter()
                    .find(|(most, other)| most.plus(-1, other).is_some_and(|d| self.least_value(&d) >= 0));
                if let Some((most, _)) = most {
                    self.at_most(x, most);
                }
            }
            _ => {}
        }
    }

    /// The same value, modulo 2⁶⁴, without remainders that stand beside their quotients: `b·(a / b) + a % b` is `a`.
    ///
    /// Remainders by what may be 0 are not known here.
    pub fn undivided(&self, mut p: Poly) -> Poly {
        let whole = |p: &Poly, m: Var, k: i64| {
            let [a, b] = *self.remainders.get(&m)?;
            let q = *self.quotients.get(&[a, b].map(key::word))?;
            let product = self.modular(b).times(&Poly::var(q))?;
            let rest = p.plus(-k, &Poly::var(m))?.plus(-k, &product)?;
            let gone = |v: Var| rest.terms.iter().all(|(vars, _)| !vars.contains(&v));
            (gone(m) && gone(q)).then(|| rest.plus(k, &self.modular(a))).flatten()
        };
        // What is divided may be a remainder itself, of an axis further out.
        for _ in 0..MOST_STEPS {
            let next = p.terms.iter().find_map(|(vars, k)| match &vars[..] {
                [m] => whole(&p, *m, *k),
                _ => None,
            });
            match next {
                Some(next) => p = next,
                None => break,
            }
        }
        p
    }

    /// Whether a polynomial is of sizes alone, not of what is below them.
    fn is_of_sizes(&self, p: &Poly) -> bool {
        p.terms.iter().flat_map(|(vars, _)| vars).all(|v| self.is_size(*v) && !self.most.contains_key(v))
    }

    /// What an atom of type `int` is not above.
    fn bound(&self, a: Atom) -> Poly {
        match self.root(a) {
            Atom::Var(v) if self.most.contains_key(&v) => (*self.most[&v]).clone(),
            a => self.exact(a),
        }
    }

    /// After a condition has been found true or false.
    pub fn assume(&mut self, cond: Atom, holds: bool) {
        let Atom::Var(c) = self.root(cond) else { return };
        self.equate(c, Atom::Const(Scalar::Bool(holds)));
        let Some((op, args)) = self.conditions.get(&c).cloned() else { return };
        match (op, &args[..], holds) {
            (ScalarOp::And, _, true) | (ScalarOp::Or, _, false) => {
                args.iter().for_each(|a| self.assume(*a, holds));
            }
            (ScalarOp::Not, [a], _) => self.assume(*a, !holds),
            (ScalarOp::Lt, [a, b], true) | (ScalarOp::Ge, [a, b], false) => self.less(*a, *b, 1),
            (ScalarOp::Gt, [a, b], true) | (ScalarOp::Le, [a, b], false) => self.less(*b, *a, 1),
            (ScalarOp::Le, [a, b], true) | (ScalarOp::Gt, [a, b], false) => self.less(*a, *b, 0),
            (ScalarOp::Ge, [a, b], true) | (ScalarOp::Lt, [a, b], false) => self.less(*b, *a, 0),
            (ScalarOp::Eq, [a, b], true) | (ScalarOp::Ne, [a, b], false) => {
                self.equal(*a, *b);
            }
            _ => {}
        }
    }

    /// Two sizes that are one number.
    pub fn same_size(&mut self, a: Atom, b: Atom) {
        [a, b].into_iter().filter_map(Atom::as_var).for_each(|v| self.at_least(v, 0));
        self.equal(a, b);
    }

    fn equal(&mut self, a: Atom, b: Atom) {
        match (self.root(a), self.root(b)) {
            // An operator of the table tells by an operand's type what equality is: that of
            // integers alone is identity, and sizes are all that it matters for.
            (Atom::Var(v), c @ Atom::Const(Scalar::I64(_)))
            | (c @ Atom::Const(Scalar::I64(_)), Atom::Var(v)) => {
                self.solve(v, c);
                self.equate(v, c);
            }
            (Atom::Var(v), Atom::Var(w)) if (self.is_size(v) || self.is_size(w)) && v != w => {
                let difference = self.modular(v.into()).plus(-1, &self.modular(w.into()));
                self.at_least(v, 0);
                self.at_least(w, 0);
                self.equate(v.max(w), Atom::Var(v.min(w)));
                if let Some(d) = difference {
                    self.sum(&d);
                }
            }
            _ => {}
        }
    }

    /// Notes the size that is a sum of others if this is nothing, as `n - k - 1` is.
    ///
    /// A sum that wraps round once is negative, and no size.
    fn sum(&mut self, nothing: &Poly) {
        let size = nothing.terms.iter().find_map(|(vars, k)| {
            let [v] = vars[..] else { return None };
            let rest = match k {
                1 => Poly::var(v).plus(-1, nothing)?,
                -1 => Poly::var(v).plus(1, nothing)?,
                _ => return None,
            };
            let is_sum = rest.constant >= 0
                && (rest.constant > 0 || rest.terms.len() > 1)
                && rest
                    .terms
                    .iter()
                    .all(|(vars, k)| *k > 0 && matches!(vars[..], [w] if w != v && self.is_size(w)));
            let negative = Poly::default().plus(-1, &rest)?;
            let once = self.least_value(&negative) > -(1 << 64);
            let new = !self.modular.contains_key(&v)
                && !self.sums.contains_key(&v)
                && !self.sums.values().any(|sum| sum.mentions(v));
            (is_sum && once && new && self.is_size(v)).then_some((v, rest))
        });
        let Some((v, sum)) = size else { return };
        // None of its parts is more than is left by the others.
        if let [(vars, 1)] = &sum.terms[..]
            && !self.most.contains_key(&vars[0])
        {
            self.at_most(vars[0], Poly::constant(i64::MAX - sum.constant));
        }
        self.sums.insert(v, Rc::new(sum));
        self.undo.push(Undo::Sum(v));
        self.part_at_least(v);
    }

    /// A variable in a polynomial: what it is equal to, or a sum of.
    fn known(&self, v: Var) -> Poly {
        match self.root(Atom::Var(v)) {
            Atom::Var(w) => match self.sums.get(&w) {
                Some(sum) => sum.map(|v| self.rooted(v)).unwrap_or_else(|| Poly::var(w)),
                None => Poly::var(w),
            },
            _ => self.rooted(v),
        }
    }

    fn rooted(&self, v: Var) -> Poly {
        match self.root(Atom::Var(v)) {
            Atom::Var(w) => Poly::var(w),
            c => c.as_int().map_or_else(|| Poly::var(v), Poly::constant),
        }
    }

    /// What `n` is if `n + 1`, or another sum or difference of it and a number, is a constant.
    ///
    /// So a later check that wants something else of `n` is seen to fail. A size that would be negative stays unknown:
    /// what has it is never made.
    fn solve(&mut self, sum: Var, c: Atom) {
        let (Some(c), Some((v, k, d))) = (c.as_int(), self.modular(sum.into()).as_linear()) else { return };
        let n = match k {
            1 => c.wrapping_sub(d),
            -1 => d.wrapping_sub(c),
            _ => return,
        };
        if v != sum && self.is_size(v) && n >= 0 {
            self.equate(v, Atom::int(n));
        }
    }

    /// Whether a variable is known to be an integer that is not negative: of type `int`, then.
    fn is_size(&self, v: Var) -> bool {
        self.least.get(&v).is_some_and(|n| *n >= 0)
    }

    /// `a + by <= b`.
    fn less(&mut self, a: Atom, b: Atom, by: i64) {
        let int = |a: Atom| !matches!(a, Atom::Const(c) if c.ty() != BaseTy::I64);
        if !int(a) || !int(b) {
            return;
        }
        match (self.root(a), self.root(b)) {
            (Atom::Var(v), Atom::Const(Scalar::I64(n))) => {
                if let Some(n) = n.checked_sub(by) {
                    self.at_most(v, Poly::constant(n));
                }
            }
            (Atom::Const(Scalar::I64(n)), Atom::Var(v)) => {
                if let Some(n) = n.checked_add(by) {
                    self.at_least(v, n);
                }
            }
            // Only of a size is it known that it is an `int`, and that its exact form means anything.
            (Atom::Var(v), Atom::Var(w)) if self.is_size(w) => {
                if !self.most.contains_key(&v)
                    && let Some(most) = self.exact(Atom::Var(w)).plus(-1, &Poly::constant(by))
                {
                    self.at_most(v, most);
                }
            }
            _ => {}
        }
    }

    fn equate(&mut self, v: Var, to: Atom) {
        if self.root(to) != Atom::Var(v) && !self.equal.contains_key(&v) {
            if let Atom::Var(w) = to
                && let Some(n) = self.least.get(&v).copied()
            {
                self.at_least(w, n);
            }
            self.equal.insert(v, to);
            self.undo.push(Undo::Equal(v));
        }
    }

    fn at_least(&mut self, v: Var, n: i64) {
        let old = self.least.get(&v).copied();
        if old.is_none_or(|o| o < n) {
            self.least.insert(v, n);
            self.undo.push(Undo::Least(v, old));
            self.part_at_least(v);
        }
    }

    /// What a size is at least its one part is, too, less the rest.
    fn part_at_least(&mut self, sum: Var) {
        if let Some(least) = self.least.get(&sum)
            && let Some((v, 1, rest)) = self.sums.get(&sum).and_then(|sum| sum.as_linear())
            && let Some(n) = least.checked_sub(rest)
        {
            self.at_least(v, n);
        }
    }

    fn at_most(&mut self, v: Var, most: Poly) {
        // A bound that mentions the variable itself says nothing that a proof could use.
        if most.mentions(v) {
            return;
        }
        let old = self.most.insert(v, Rc::new(most));
        self.undo.push(Undo::Most(v, old));
    }

    /// The value modulo 2⁶⁴, of an atom of type `int`.
    pub fn modular(&self, a: Atom) -> Poly {
        self.form(&self.modular, a)
    }

    /// The value as a number, of an atom of type `int`.
    pub fn exact(&self, a: Atom) -> Poly {
        self.form(&self.exact, a)
    }

    fn form(&self, forms: &FxHashMap<Var, Rc<Poly>>, a: Atom) -> Poly {
        match self.root(a) {
            c @ Atom::Const(_) => c.as_int().map(Poly::constant).unwrap_or_default(),
            Atom::Var(v) => match forms.get(&v) {
                None => self.known(v),
                Some(p) => self.with_known(p),
            },
        }
    }

    fn with_known(&self, p: &Poly) -> Poly {
        if self.equal.is_empty() && self.sums.is_empty() {
            return p.clone();
        }
        p.map(|v| self.known(v)).unwrap_or_else(|| p.clone())
    }

    /// A number that the polynomial is not below.
    fn least_value(&self, p: &Poly) -> i128 {
        self.least_value_by(p, false)
    }

    /// … of the lesser of two seen as what it is not above either, if `too`.
    fn least_value_by(&self, p: &Poly, too: bool) -> i128 {
        let most = |v: &Var| self.most_too.get(v).filter(|_| too).or_else(|| self.most.get(v));
        let mut p = if self.sums.is_empty() { p.clone() } else { self.with_known(p) };
        for _ in 0..MOST_STEPS {
            let step = p.terms.iter().find_map(|(vars, k)| match &vars[..] {
                [v] if *k < 0 => Some((*v, *k, most(v)?.clone())),
                _ => None,
            });
            let Some((v, k, most)) = step else { break };
            let most = if self.sums.is_empty() { (*most).clone() } else { self.with_known(&most) };
            let Some(q) = p.plus(-k, &Poly::var(v)).and_then(|q| q.plus(k, &most)) else { break };
            p = q;
        }
        let mut sum = i128::from(p.constant);
        for (vars, k) in &p.terms {
            let bound = match (&vars[..], *k > 0) {
                ([v], true) => self.least.get(v).copied().unwrap_or(i64::MIN),
                ([v], false) => self.most.get(v).and_then(|m| m.as_constant()).unwrap_or(i64::MAX),
                _ => return i128::MIN,
            };
            match sum.checked_add(i128::from(bound) * i128::from(*k)) {
                Some(s) => sum = s,
                None => return i128::MIN,
            }
        }
        sum
    }

    /// Whether the value of a polynomial is in 64 bits.
    fn fits(&self, p: &Poly) -> bool {
        let negative = Poly::default().plus(-1, p);
        self.least_value(p) >= i128::from(i64::MIN)
            && negative.is_some_and(|n| self.least_value(&n) >= -i128::from(i64::MAX))
    }

    /// The value of a comparison of two atoms of type `int`, if it is known.
    pub fn compare(&self, op: ScalarOp, a: Atom, b: Atom) -> Option<bool> {
        // a + by <= b
        let less = |a: Atom, b: Atom, by: i64| {
            let d = self.exact(b).plus(-1, &self.exact(a)).and_then(|d| d.plus(-1, &Poly::constant(by)));
            d.is_some_and(|d| {
                self.least_value(&d) >= 0 || !self.most_too.is_empty() && self.least_value_by(&d, true) >= 0
            })
        };
        match op {
            ScalarOp::Lt if less(a, b, 1) => Some(true),
            ScalarOp::Lt if less(b, a, 0) => Some(false),
            ScalarOp::Le if less(a, b, 0) => Some(true),
            ScalarOp::Le if less(b, a, 1) => Some(false),
            ScalarOp::Gt => self.compare(ScalarOp::Lt, b, a),
            ScalarOp::Ge => self.compare(ScalarOp::Le, b, a),
            ScalarOp::Eq => {
                let d = self.modular(a).plus(-1, &self.modular(b)).and_then(|d| d.as_constant());
                match d {
                    Some(n) => Some(n == 0),
                    None => (less(a, b, 1) || less(b, a, 1)).then_some(false),
                }
            }
            ScalarOp::Ne => self.compare(ScalarOp::Eq, a, b).map(|b| !b),
            _ => None,
        }
    }

    /// Whether two sizes are known to be equal.
    pub fn same(&self, a: Atom, b: Atom) -> bool {
        self.root(a) == self.root(b) || self.compare(ScalarOp::Eq, a, b) == Some(true)
    }

    pub fn same_dims(&self, a: &[Atom], b: &[Atom]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| self.same(*a, *b))
    }

    /// Whether an index is known to be within an axis.
    pub fn in_bounds(&self, at: Atom, size: Atom) -> bool {
        self.compare(ScalarOp::Le, Atom::int(0), at) == Some(true)
            && self.compare(ScalarOp::Lt, at, size) == Some(true)
    }
}

fn clamp(n: i128) -> i64 {
    n.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

fn restore<T>(map: &mut FxHashMap<Var, T>, v: Var, old: Option<T>) {
    match old {
        Some(x) => map.insert(v, x),
        None => map.remove(&v),
    };
}
