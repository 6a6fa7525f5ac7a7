//! Horizontal fusion: neighbours that iterate over the same axes become one iteration.
//!
//! Independent reductions over an axis read their data in one pass. The sums of `%xs` and of its squares,
//! before and after:
//!
//! ```text
//! (let (%s) (reduce %i %n (let (%x) (index %xs %i)) (give %x)
//!             (λ (%a %b) (let (%c) (op + %a %b)) (give %c)) (0)))
//! (let (%q) (reduce %j %n (let (%y) (index %xs %j)) (let (%z) (op * %y %y)) (give %z)
//!             (λ (%d %e) (let (%f) (op + %d %e)) (give %f)) (0)))
//!
//! (let (%s %q) (reduce %i %n (let (%x) (index %xs %i)) (let (%y) (index %xs %i)) (let (%z) (op * %y %y))
//!                (give %x %z)
//!                (λ (%a %d %b %e) (let (%c) (op + %a %b)) (let (%f) (op + %d %e)) (give %c %f)) (0 0)))
//! ```
//!
//! Maps merge in the same way, and scans of one kind. The sizes must be equal atoms; reductions must be
//! both associative or both not, and both have a start or both none. Maps and reductions stay apart.
//!
//! The merged statement stands where the second did, if nothing between the two needs what the first
//! binds; otherwise where the first did, if all that the second needs is bound there already. A check
//! between the two forbids the latter: it may be what makes the second's reads safe.
//!
//! What stays apart, besides: an iteration that can stop the program and what follows it, whose reads its
//! checks may make safe; two iterations that hold iterations of their own and share no array, or take one's rows and the
//! other's columns, as there is nothing to gain; contractions, such as products of matrices, which a backend tiles one by one; and what
//! would be too much for one function ([`cost::HEAVIEST`]); what goes along a stream and what goes over all of it, collected, which
//! is there later.

#[cfg(test)]
mod tests;

use super::fuse::{cost, tidy};
use crate::ir::*;
use crate::walk::retype;
use remc_base::pass::PassInfo;
use rustc_hash::{FxHashMap, FxHashSet};

pub const PASS: PassInfo = PassInfo {
    name: "siblings",
    from: "mono",
    to: "mono",
    summary: "makes one iteration of neighbours over the same axes",
};

/// Merges maps, reductions and scans with their neighbours.
pub fn siblings(p: &mut Program) {
    tidy::tidy(p);
    let mut body = std::mem::take(&mut p.body);
    let collected = if crate::stream::streams(p) { collected(p, &body) } else { FxHashSet::default() };
    let mut m = Merge { p, renamed: FxHashMap::default(), collected };
    m.body(&mut body);
    let renamed = std::mem::take(&mut m.renamed);
    // An axis merged with another may be merged again with a third.
    let end = |mut a: Atom| {
        while let Some(b) = a.as_var().and_then(|v| renamed.get(&v)) {
            a = *b;
        }
        a
    };
    let renamed: FxHashMap<Var, Atom> = renamed.iter().map(|(v, a)| (*v, end(*a))).collect();
    body.substitute(&renamed);
    p.body = body;
    let all: Vec<Var> = p.vars.iter().map(|(v, _)| v).collect();
    retype(p, &all, &renamed);
}

/// A body with more statements is not searched for pairs that are further apart.
const REACH: usize = 64;

/// The most results of a merged iteration: more are more than a processor has registers for.
const RESULTS: usize = 64;

struct Merge<'p> {
    p: &'p Program,
    /// The axis variables of merged iterations, and those that stay.
    renamed: FxHashMap<Var, Atom>,
    /// Of a program whose streams have no pieces yet, the arrays of all items that were collected, and what is made of them:
    /// they are there after what goes along the stream.
    collected: FxHashSet<Var>,
}

impl Merge<'_> {
    fn body(&mut self, body: &mut Body) {
        let mut first = 0;
        while first < body.stmts.len() {
            let mut second = first + 1;
            while second < body.stmts.len().min(first + REACH) {
                if !self.fits(&body.stmts[first], &body.stmts[second]) {
                    second += 1;
                    continue;
                }
                match place(self.p, &body.stmts[first..=second]) {
                    Some(Place::Second) => {
                        let a = body.stmts.remove(first);
                        self.merge(a, &mut body.stmts[second - 1], false);
                        // The statement at `first` is another now.
                        second = first + 1;
                    }
                    Some(Place::First) => {
                        let b = body.stmts.remove(second);
                        self.merge(b, &mut body.stmts[first], true);
                    }
                    None => second += 1,
                }
            }
            first += 1;
        }
        for s in &mut body.stmts {
            for b in s.exp.bodies_mut() {
                self.body(b);
            }
        }
    }

    /// Whether the two may be one, wherever they stand.
    fn fits(&self, a: &Stmt, b: &Stmt) -> bool {
        let same = match (&a.exp, &b.exp) {
            (Exp::Map { axes: x, .. }, Exp::Map { axes: y, .. }) => {
                x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.size == y.size)
            }
            (Exp::Reduce { axis: x, op: f, .. }, Exp::Reduce { axis: y, op: g, .. }) => {
                x.size == y.size && compatible(f, g)
            }
            (Exp::Scan { kind: j, axis: x, op: f, .. }, Exp::Scan { kind: k, axis: y, op: g, .. }) => {
                j == k && x.size == y.size && compatible(f, g)
            }
            _ => false,
        };
        let scalars = !matches!(a.exp, Exp::Reduce { .. } | Exp::Scan { .. })
            || [&a.exp, &b.exp].into_iter().all(|e| combines_scalars(self.p, e));
        let both = |f: fn(&Exp) -> bool| f(&a.exp) && f(&b.exp);
        let kept = |s: &Stmt| !self.collected.is_empty() && s.exp.mentions(|v| self.collected.contains(&v));
        same && scalars
            && kept(a) == kept(b)
            && !a.exp.can_stop()
            && (both(is_flat)
                || !is_contraction(&a.exp) && self.shares(&a.exp, &b.exp) && alike(&a.exp, &b.exp))
            && a.pat.len() + b.pat.len() <= RESULTS
            && self.weight(&a.exp).saturating_add(self.weight(&b.exp)) <= cost::HEAVIEST
    }

    fn weight(&self, e: &Exp) -> usize {
        e.bodies().into_iter().map(|b| cost::body_weight(self.p, b)).sum()
    }

    /// Whether both read an array that is bound outside of them.
    fn shares(&self, a: &Exp, b: &Exp) -> bool {
        let arrays = |e: &Exp| -> FxHashSet<Var> {
            let free = e.bodies().into_iter().flat_map(Body::free_vars);
            free.filter(|v| !self.p.ty(*v).is_scalar()).collect()
        };
        !arrays(a).is_disjoint(&arrays(b))
    }

    /// Makes `from` a part of `into`; its results come first or last.
    fn merge(&mut self, from: Stmt, into: &mut Stmt, last: bool) {
        let joined = |into: &mut Vec<_>, from: Vec<_>| {
            let at = if last { into.len() } else { 0 };
            into.splice(at..at, from);
        };
        let joined_body = |into: &mut Body, from: Body| {
            let at = if last { into.stmts.len() } else { 0 };
            into.stmts.splice(at..at, from.stmts);
            let at = if last { into.results.len() } else { 0 };
            into.results.splice(at..at, from.results);
        };
        match (&mut into.exp, from.exp) {
            (Exp::Map { axes: x, body: into }, Exp::Map { axes: y, body: from }) => {
                self.renamed.extend(y.iter().zip(x).map(|(y, x)| (y.var, Atom::Var(x.var))));
                joined_body(into, from);
            }
            (Exp::Reduce { axis: x, body: into, op: f }, Exp::Reduce { axis: y, body: from, op: g })
            | (Exp::Scan { axis: x, body: into, op: f, .. }, Exp::Scan { axis: y, body: from, op: g, .. }) => {
                self.renamed.insert(y.var, Atom::Var(x.var));
                let (accs_f, accs_g) = (f.lambda.body.results.len(), g.lambda.body.results.len());
                let mut elems_f = f.lambda.params.split_off(accs_f.min(f.lambda.params.len()));
                let mut params_g = g.lambda.params;
                let elems_g = params_g.split_off(accs_g.min(params_g.len()));
                joined(&mut f.lambda.params, params_g);
                joined(&mut elems_f, elems_g);
                f.lambda.params.extend(elems_f);
                if let (Some(into), Some(from)) = (&mut f.start, g.start) {
                    let at = if last { into.len() } else { 0 };
                    into.splice(at..at, from);
                }
                joined_body(into, from);
                joined_body(&mut f.lambda.body, g.lambda.body);
            }
            _ => return,
        }
        joined(&mut into.pat, from.pat);
    }
}

/// The arrays that are pulled as a whole, and those that are made of them.
fn collected(p: &Program, body: &Body) -> FxHashSet<Var> {
    let mut all = FxHashSet::default();
    for s in &body.stmts {
        if matches!(s.exp, Exp::Pull { .. }) || s.exp.mentions(|v| all.contains(&v)) {
            all.extend(s.pat.iter().copied().filter(|v| !p.ty(*v).is_scalar()));
        }
    }
    all
}

/// Whether the two take the same of each array that both read: not the rows of a square matrix and its columns.
fn alike(a: &Exp, b: &Exp) -> bool {
    let (x, y) = (taken(a), taken(b));
    x.iter().all(|(array, of_a)| y.get(array).is_none_or(|of_b| !of_a.is_disjoint(of_b)))
}

/// For each array that is read, which axes of the iteration its indices are.
fn taken(e: &Exp) -> FxHashMap<Var, FxHashSet<Vec<Option<usize>>>> {
    let axes: Vec<Var> = match e {
        Exp::Map { axes, .. } => axes.iter().map(|a| a.var).collect(),
        Exp::Reduce { axis, .. } | Exp::Scan { axis, .. } => vec![axis.var],
        _ => Vec::new(),
    };
    let mut taken: FxHashMap<Var, FxHashSet<_>> = FxHashMap::default();
    for b in e.bodies() {
        b.for_each_stmt(&mut |s| {
            if let Exp::Index { array, at } = &s.exp {
                let of = |a: &Atom| a.as_var().and_then(|v| axes.iter().position(|x| *x == v));
                taken.entry(*array).or_default().insert(at.iter().map(of).collect());
            }
        });
    }
    taken
}

/// Whether every accumulator is a scalar: others are for interchange.
fn combines_scalars(p: &Program, e: &Exp) -> bool {
    match e {
        Exp::Reduce { op, .. } | Exp::Scan { op, .. } => {
            op.lambda.params.iter().all(|v| p.ty(*v).is_scalar())
        }
        _ => true,
    }
}

/// Whether long iterations stand inside several axes, as in a product of matrices.
fn is_contraction(e: &Exp) -> bool {
    let Exp::Map { axes, body } = e else { return false };
    let mut long = false;
    body.for_each_stmt(&mut |s| match &s.exp {
        Exp::Reduce { axis, .. } | Exp::For { axis, .. } => long |= axis.size.as_int().is_none_or(|n| n > 16),
        _ => {}
    });
    axes.len() > 1 && long
}

fn compatible(f: &Combine, g: &Combine) -> bool {
    f.assoc == g.assoc && f.start.is_some() == g.start.is_some()
}

/// Whether there is no iteration inside.
fn is_flat(e: &Exp) -> bool {
    let mut flat = true;
    for b in e.bodies() {
        b.for_each_stmt(&mut |s| flat &= matches!(s.exp, Exp::If { .. }) || s.exp.bodies().is_empty());
    }
    flat
}

enum Place {
    First,
    Second,
}

/// Where the merger of the first and the last of these statements may stand.
fn place(p: &Program, stmts: &[Stmt]) -> Option<Place> {
    let [a, between @ .., b] = stmts else { return None };
    let uses = |s: &Stmt, bound: &FxHashSet<Var>| {
        let mut any = false;
        let mut see = |x: Atom| any |= x.as_var().is_some_and(|v| bound.contains(&v));
        s.exp.for_each_operand(&mut see);
        s.exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut see));
        let inner = s.exp.bodies().into_iter().flat_map(Body::binders);
        for v in s.pat.iter().copied().chain(s.exp.inner_binders()).chain(inner) {
            p.ty(v).dims.iter().copied().for_each(&mut see);
        }
        any
    };
    let of_a: FxHashSet<Var> = a.pat.iter().copied().collect();
    if uses(b, &of_a) {
        return None;
    }
    if !between.iter().any(|s| uses(s, &of_a)) {
        return Some(Place::Second);
    }
    let bound: FxHashSet<Var> = between.iter().flat_map(|s| s.pat.iter().copied()).collect();
    (!uses(b, &bound) && !between.iter().any(|s| s.exp.can_stop())).then_some(Place::First)
}
