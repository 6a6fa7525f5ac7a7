//! Small arrays inside iterations become scalars.
//!
//! Inside the body of an iteration, a map of at most [`ELEMENTS`] elements whose elements are read at
//! known indices is replaced by its elements, and a reduction or loop of at most [`TRIPS`] iterations by
//! its iterations, if it iterates over such an array or is short. The squared length of a difference, before and after:
//!
//! ```text
//! (let (%d) (map ((%k 2)) (let (%x) (index %p %j %k)) (let (%y) (op - %x 1.)) (give %y)))
//! (let (%s) (reduce %l 2 (let (%e) (index %d %l)) (let (%q) (op * %e %e)) (give %q)
//!             (λ (%a %b) (let (%c) (op + %a %b)) (give %c)) (0.)))
//!
//! (let (%x0) (index %p %j 0)) (let (%y0) (op - %x0 1.))
//! (let (%x1) (index %p %j 1)) (let (%y1) (op - %x1 1.))
//! (let (%q0) (op * %y0 %y0)) (let (%c0) (op + 0. %q0))
//! (let (%q1) (op * %y1 %y1)) (let (%s) (op + %c0 %q1))
//! ```
//!
//! A known index is a constant or the axis of an iteration that is unrolled itself; what is unrolled is
//! the largest set of iterations for which that holds. An element given as part of a body's result goes
//! there as one of a literal, and what branches give as scalars (`branches`). A few items are sorted by comparing neighbours (`network`). Outside of iterations nothing is unrolled: work is done there once, and a
//! small loop is smaller.

mod branches;
mod network;
#[cfg(test)]
mod tests;

use super::fuse::tidy;
use crate::ir::*;
use crate::sorted;
use crate::walk::Copier;
use remc_base::ops::is_transcendental;
use remc_base::pass::PassInfo;
use rustc_hash::{FxHashMap, FxHashSet};

pub const PASS: PassInfo = PassInfo {
    name: "unroll",
    from: "mono",
    to: "mono",
    summary: "makes scalars of the elements of small arrays inside iterations",
};

/// A map of more elements is not unrolled: a square of five is, as stencils have.
const ELEMENTS: i64 = 25;
/// A reduction or loop of more iterations is not unrolled: a disc of radius four has so many.
pub(super) const TRIPS: i64 = 64;
/// Elements of a literal, which take no room where they are read at known indices: so many iterations' places, in three
/// dimensions and with a weight.
const LITERALS: i64 = 4 * TRIPS;
/// Unrolling one iteration makes at most so many statements.
const STATEMENTS: i64 = 512;

/// And so many with all that is unrolled inside of it: a nest of short loops is as long as the product of their trips.
const IN_ALL: i64 = 4096;

/// What comes to at most so many iterations and statements is unrolled even if it iterates over no such array.
const SHORT: [i64; 2] = [8, 64];

/// So many iterations that compute functions, exponentials and the like, are no shorter written out, and run in lanes as
/// they are.
const LANES: i64 = 8;

/// Unrolls small maps, and what iterates over them.
pub fn unroll(p: &mut Program) {
    tidy::tidy(p);
    let mut body = std::mem::take(&mut p.body);
    sorts(p, &mut body);
    p.body = body;
    let mut plan = Plan::default();
    plan.body(p, &p.body, 0);
    plan.settle();
    let mut body = std::mem::take(&mut p.body);
    if !plan.alive.is_empty() {
        body = Unroll { p, plan: &plan }.body(body);
    }
    p.body = body;
    // The elements are names of others at first.
    tidy::tidy(p);
    let mut body = std::mem::take(&mut p.body);
    branches::as_scalars(p, &mut body, &mut FxHashMap::default(), false);
    read_literals(&mut body, &mut FxHashMap::default());
    p.body = body;
    tidy::tidy(p);
}

/// Has those iterations that sort a few items for the items' sake sort them.
fn sorts(p: &mut Program, body: &mut Body) {
    let few = |p: &Program, axis: &Axis, keys: &Body| network::is_sorted(p, axis, keys, Gives::Keys);
    for s in &mut body.stmts {
        let alone = matches!(s.exp, Exp::If { .. });
        for b in s.exp.bodies_mut() {
            if alone { sorts(p, b) } else { sorted::sorts(p, b, &few) }
        }
    }
}

/// The number of elements, if it is known and small.
pub(super) fn small(dims: impl IntoIterator<Item = Atom>, most: i64) -> Option<i64> {
    let product = dims.into_iter().try_fold(1i64, |n, d| n.checked_mul(d.as_int()?));
    product.filter(|n| (0..=most).contains(n))
}

/// The indices of an array of static dims in row-major order.
pub(super) fn indices(dims: &[Atom]) -> Vec<Vec<Atom>> {
    let mut all = vec![Vec::new()];
    for d in dims {
        let n = d.as_int().unwrap_or(0);
        all = all
            .into_iter()
            .flat_map(|at: Vec<Atom>| (0..n).map(move |i| at.iter().copied().chain([Atom::int(i)]).collect()))
            .collect();
    }
    all
}

/// What to unroll. An iteration is named by the first variable that it binds.
#[derive(Default)]
struct Plan {
    alive: FxHashSet<Var>,
    /// Those that are unrolled whoever reads what they make: as many statements are worth more than an array.
    always: FxHashSet<Var>,
    /// Those whose elements are only given on: they are unrolled for the sake of what they read.
    only_if_reading: FxHashSet<Var>,
    /// Those that run in lanes as they are, and so does what goes through an array that one of them makes.
    lanes: FxHashSet<Var>,
    /// The iteration of an axis.
    owner: FxHashMap<Var, Var>,
    /// The map of a result; a literal is its own.
    source: FxHashMap<Var, Var>,
    literals: FxHashSet<Var>,
    /// Of a source in other dims the source.
    views: FxHashMap<Var, Var>,
    /// Reads of sources, by the variables among their indices.
    reads: Vec<(Var, Vec<Var>)>,
    /// Sources used otherwise, or read in part.
    spoilt: FxHashSet<Var>,
    /// Sources given as a result of a body.
    given: FxHashSet<Var>,
}

impl Plan {
    fn body(&mut self, p: &Program, body: &Body, depth: usize) {
        for s in &body.stmts {
            match &s.exp {
                Exp::Index { array, at } => {
                    if let Some(source) = self.source.get(array).copied() {
                        if at.len() < p.ty(*array).rank() {
                            self.spoilt.insert(source);
                        }
                        self.reads.push((source, at.iter().filter_map(|a| a.as_var()).collect()));
                    }
                }
                // The elements in other dims: each is read where that one is.
                Exp::View { view: View::Reshape { .. }, array }
                    if depth > 0 && self.source.contains_key(array) =>
                {
                    let source = self.source[array];
                    self.reads.push((source, Vec::new()));
                }
                e => e.for_each_operand(&mut |a| {
                    let source = a.as_var().and_then(|v| self.source.get(&v).copied());
                    self.spoilt.extend(source);
                }),
            }
            self.candidate(p, s, depth);
            for b in s.exp.bodies() {
                // A branch alone is no iteration.
                let deeper = depth + usize::from(!matches!(s.exp, Exp::If { .. }));
                self.body(p, b, deeper);
            }
        }
        for a in &body.results {
            if let Some(source) = a.as_var().and_then(|v| self.source.get(&v)).copied() {
                if depth == 0 {
                    self.spoilt.insert(source)
                } else {
                    self.given.insert(source)
                };
            }
        }
    }

    fn candidate(&mut self, p: &Program, s: &Stmt, depth: usize) {
        let Some(name) = s.pat.first().copied() else { return };
        let size = |b: &Body| {
            let mut n = 0;
            b.for_each_stmt(&mut |_| n += 1);
            n
        };
        if trips(&s.exp).is_some_and(|n| n > 1) && statements(s) > IN_ALL {
            return;
        }
        if trips(&s.exp).is_some_and(|n| n >= LANES) && computes_functions(&s.exp) {
            self.lanes.insert(name);
        }
        match &s.exp {
            Exp::Literal { dims, .. } if small(dims.iter().copied(), LITERALS).is_some() => {
                self.source.insert(name, name);
                self.literals.insert(name);
            }
            Exp::Map { axes, body } if depth > 0 => {
                let n = small(axes.iter().map(|x| x.size), ELEMENTS);
                let scalars = body.results.iter().all(|a| p.atom_ty(*a).is_scalar());
                if n.is_some_and(|n| n * size(body) <= STATEMENTS) && scalars {
                    self.alive.insert(name);
                    self.owner.extend(axes.iter().map(|x| (x.var, name)));
                    self.source.extend(s.pat.iter().map(|v| (*v, name)));
                }
            }
            Exp::Reduce { axis, body, op } if depth > 0 => {
                let n = small([axis.size], TRIPS).filter(|n| *n > 0 || op.start.is_some());
                if n.is_some_and(|n| n * (size(body) + size(&op.lambda.body)) <= STATEMENTS) {
                    self.alive.insert(name);
                    if !is_short(n, [body, &op.lambda.body]) {
                        self.only_if_reading.insert(name);
                    }
                    self.owner.insert(axis.var, name);
                }
            }
            Exp::Grade { axis, body, gives } if depth > 0 && network::is_sorted(p, axis, body, *gives) => {
                self.alive.insert(name);
                self.always.insert(name);
                self.owner.insert(axis.var, name);
                self.source.insert(name, name);
            }
            Exp::View { view: View::Reshape { dims }, array }
                if depth > 0
                    && self.source.get(array).is_some_and(|source| {
                        let most = if self.literals.contains(source) { LITERALS } else { ELEMENTS };
                        let few = |dims: &[Atom]| small(dims.iter().copied(), most).is_some();
                        few(dims) && few(&p.ty(*array).dims)
                    }) =>
            {
                self.alive.insert(name);
                self.views.insert(name, self.source[array]);
                self.source.insert(name, name);
            }
            Exp::For { axis, body, .. } if depth > 0 => {
                let n = small([axis.size], TRIPS);
                if n.is_some_and(|n| n * size(body) <= STATEMENTS) {
                    self.alive.insert(name);
                    if !is_short(n, [body]) {
                        self.only_if_reading.insert(name);
                    }
                    self.owner.insert(axis.var, name);
                }
            }
            _ => {}
        }
    }

    /// Leaves the iterations that can be unrolled, and are worth it.
    fn settle(&mut self) {
        let read: FxHashSet<Var> = self.reads.iter().map(|r| r.0).collect();
        self.only_if_reading.extend(self.given.iter().filter(|v| !read.contains(v)));
        self.only_if_reading.extend(self.source.values().filter(|v| !read.contains(v)));
        self.alive.retain(|v| !self.spoilt.contains(v) || self.always.contains(v));
        // What a statement reads was made before it.
        for (source, at) in &self.reads {
            if self.lanes.contains(source) {
                self.lanes.extend(at.iter().filter_map(|v| self.owner.get(v)));
            }
        }
        self.alive.retain(|v| !self.lanes.contains(v));
        loop {
            let before = self.alive.len();
            let unrolled = |v: &Var| self.owner.get(v).is_some_and(|o| self.alive.contains(o));
            let mut blocked = FxHashSet::default();
            let mut useful = FxHashSet::default();
            for (source, at) in &self.reads {
                if !at.iter().all(unrolled) {
                    blocked.insert(*source);
                } else if self.alive.contains(source) || self.literals.contains(source) {
                    useful.extend(at.iter().filter_map(|v| self.owner.get(v)).copied());
                }
            }
            let needless = &self.only_if_reading;
            self.alive.retain(|v| {
                self.always.contains(v)
                    || !blocked.contains(v) && (useful.contains(v) || !needless.contains(v))
            });
            // A view goes with its source.
            for (view, of) in &self.views {
                let there = self.alive.contains(of) || self.literals.contains(of);
                if !(self.alive.contains(view) && there) {
                    self.alive.remove(view);
                    if !self.always.contains(of) {
                        self.alive.remove(of);
                    }
                }
            }
            if self.alive.len() == before {
                return;
            }
        }
    }
}

/// The iterations of what may be unrolled.
fn trips(e: &Exp) -> Option<i64> {
    match e {
        Exp::Map { axes, .. } => small(axes.iter().map(|x| x.size), ELEMENTS),
        Exp::Reduce { axis, .. } | Exp::For { axis, .. } => small([axis.size], TRIPS),
        Exp::Grade { axis, .. } => small([axis.size], network::ITEMS),
        _ => None,
    }
}

/// Whether what a map or a reduction iterates are straight lines with functions in them.
fn computes_functions(e: &Exp) -> bool {
    if !matches!(e, Exp::Map { .. } | Exp::Reduce { .. }) {
        return false;
    }
    let bodies = e.bodies();
    let mut stmts = bodies.iter().flat_map(|b| &b.stmts);
    bodies.iter().all(|b| b.stmts.iter().all(|s| s.exp.bodies().is_empty()))
        && stmts.any(|s| matches!(s.exp, Exp::Op(op, _) if is_transcendental(op)))
}

/// How many statements come of one if all is unrolled that may be.
fn statements(s: &Stmt) -> i64 {
    let inside = s.exp.bodies().into_iter().flat_map(|b| &b.stmts);
    let once = inside.fold(1i64, |n, s| n.saturating_add(statements(s)));
    once.saturating_mul(trips(&s.exp).unwrap_or(1).max(1))
}

/// Whether so many iterations are a few statements with no iteration among them that stays.
fn is_short<'a>(trips: Option<i64>, bodies: impl IntoIterator<Item = &'a Body>) -> bool {
    let mut statements = 0;
    let mut short = true;
    for b in bodies {
        b.for_each_stmt(&mut |s| {
            statements += 1;
            short &= match &s.exp {
                Exp::Map { axes, .. } => small(axes.iter().map(|x| x.size), ELEMENTS).is_some(),
                Exp::Reduce { axis, .. } | Exp::For { axis, .. } => small([axis.size], TRIPS).is_some(),
                e => matches!(e, Exp::If { .. }) || e.bodies().is_empty(),
            };
        });
    }
    short && trips.is_some_and(|n| n <= SHORT[0] && n * statements <= SHORT[1])
}

struct Unroll<'p> {
    p: &'p mut Program,
    plan: &'p Plan,
}

impl Unroll<'_> {
    fn body(&mut self, body: Body) -> Body {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut s in body.stmts {
            for b in s.exp.bodies_mut() {
                *b = self.body(std::mem::take(b));
            }
            match s.pat.first() {
                Some(v) if self.plan.alive.contains(v) => self.stmt(s, &mut stmts),
                _ => stmts.push(s),
            }
        }
        Body { stmts, results: body.results }
    }

    /// A copy of a body; its statements go to `stmts`.
    fn copy(&mut self, body: &Body, with: &[(Var, Atom)], stmts: &mut Vec<Stmt>) -> Vec<Atom> {
        let copy = Copier::instance(self.p, body, with);
        stmts.extend(copy.stmts);
        copy.results
    }

    fn stmt(&mut self, s: Stmt, stmts: &mut Vec<Stmt>) {
        let Stmt { pat, exp, prov } = s;
        match exp {
            Exp::Map { axes, body } => {
                let dims: Vec<Atom> = axes.iter().map(|x| x.size).collect();
                let mut elems = vec![Vec::new(); pat.len()];
                for at in indices(&dims) {
                    let with: Vec<(Var, Atom)> = axes.iter().map(|x| x.var).zip(at).collect();
                    let results = self.copy(&body, &with, stmts);
                    elems.iter_mut().zip(results).for_each(|(e, r)| e.push(r));
                }
                for (v, elems) in pat.into_iter().zip(elems) {
                    stmts.push(Stmt { pat: vec![v], exp: Exp::Literal { dims: dims.clone(), elems }, prov });
                }
            }
            Exp::Reduce { axis, body, op } => {
                let mut accs = op.start;
                for i in 0..axis.size.as_int().unwrap_or(0) {
                    let elems = self.copy(&body, &[(axis.var, Atom::int(i))], stmts);
                    accs = Some(match accs {
                        None => elems,
                        Some(accs) => {
                            let args = accs.into_iter().chain(elems);
                            let with: Vec<(Var, Atom)> = op.lambda.params.iter().copied().zip(args).collect();
                            self.copy(&op.lambda.body, &with, stmts)
                        }
                    });
                }
                names(pat, accs.unwrap_or_default(), prov, stmts);
            }
            Exp::For { axis, state, body } => {
                let (vars, mut now): (Vec<Var>, Vec<Atom>) = state.into_iter().unzip();
                for i in 0..axis.size.as_int().unwrap_or(0) {
                    let with: Vec<(Var, Atom)> =
                        vars.iter().copied().zip(now).chain([(axis.var, Atom::int(i))]).collect();
                    now = self.copy(&body, &with, stmts);
                }
                names(pat, now, prov, stmts);
            }
            Exp::View { view: View::Reshape { dims }, array } => {
                let (base, from) = (self.p.ty(array).base, self.p.ty(array).dims.clone());
                let mut elems = Vec::new();
                for at in indices(&from) {
                    let x = self.p.fresh("x", Ty::scalar(base));
                    stmts.push(Stmt { pat: vec![x], exp: Exp::Index { array, at }, prov });
                    elems.push(x.into());
                }
                stmts.push(Stmt { pat, exp: Exp::Literal { dims, elems }, prov });
            }
            Exp::Grade { axis, body, gives } => {
                let n = axis.size.as_int().unwrap_or(0);
                let mut items = Vec::new();
                for i in 0..n {
                    let keys = self.copy(&body, &[(axis.var, Atom::int(i))], stmts);
                    let place = (gives == Gives::Places).then_some(Atom::int(i));
                    items.extend(keys.first().map(|key| network::Item { key: *key, place }));
                }
                let items = network::sorted(self.p, items, prov, stmts);
                let elems = items.into_iter().map(|item| item.place.unwrap_or(item.key)).collect();
                stmts.push(Stmt { pat, exp: Exp::Literal { dims: vec![axis.size], elems }, prov });
            }
            exp => stmts.push(Stmt { pat, exp, prov }),
        }
    }
}

fn names(pat: Vec<Var>, values: Vec<Atom>, prov: remc_base::Prov, stmts: &mut Vec<Stmt>) {
    stmts.extend(pat.into_iter().zip(values).map(|(v, a)| Stmt { pat: vec![v], exp: Exp::Atom(a), prov }));
}

/// Replaces reads of literals at constant indices.
fn read_literals(body: &mut Body, known: &mut FxHashMap<Var, (Vec<i64>, Vec<Atom>)>) {
    for s in &mut body.stmts {
        match (&s.exp, s.pat.as_slice()) {
            (Exp::Literal { dims, elems }, [v]) => {
                if let Some(dims) = dims.iter().map(|d| d.as_int()).collect() {
                    known.insert(*v, (dims, elems.clone()));
                }
            }
            (Exp::Index { array, at }, _) => {
                let elem = known.get(array).and_then(|(dims, elems)| {
                    let at: Vec<i64> = at.iter().map(|a| a.as_int()).collect::<Option<_>>()?;
                    let in_bounds =
                        at.len() == dims.len() && at.iter().zip(dims).all(|(i, n)| (0..*n).contains(i));
                    let flat =
                        at.iter().zip(dims).try_fold(0i64, |k, (i, n)| k.checked_mul(*n)?.checked_add(*i))?;
                    elems.get(usize::try_from(flat).ok().filter(|_| in_bounds)?).copied()
                });
                if let Some(elem) = elem {
                    s.exp = Exp::Atom(elem);
                }
            }
            _ => {}
        }
        for b in s.exp.bodies_mut() {
            read_literals(b, known);
        }
    }
}
