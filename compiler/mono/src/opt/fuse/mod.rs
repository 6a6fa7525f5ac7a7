//! Vertical fusion: what a map makes is computed where it is read.
//!
//! An array that a map binds is a function of its index, so a read is an application and fusion is
//! β-reduction. Before and after, for the sum of the squares of `%xs`:
//!
//! ```text
//! (let (%ys) (map ((%i %n)) (let (%x) (index %xs %i)) (let (%y) (op * %x %x)) (give %y)))
//! (let (%s) (reduce %j %n (let (%e) (index %ys %j)) (give %e)
//!             (λ (%a %b) (let (%c) (op + %a %b)) (give %c)) (0)))
//!
//! (let (%s) (reduce %j %n (let (%x) (index %xs %j)) (let (%y) (op * %x %x)) (give %y)
//!             (λ (%a %b) (let (%c) (op + %a %b)) (give %c)) (0)))
//! ```
//!
//! A read of fewer indices than the map has axes becomes a map over the other axes. The map itself is
//! dropped once nothing reads it.
//!
//! Work is never repeated if that could show ([`cost`] weighs it, [`sites`] counts the reads):
//!
//! - *trivial* elements are inlined at every read, even if the array has to exist besides, as a result
//!   of the program for instance;
//! - *cheap* elements, if each is read a few times in all, and the array is not needed as a whole;
//! - *heavy* and *nested* ones, if each is read at most once.
//!
//! An element with a check is inlined only where the reads are exactly the evaluations that the map would
//! have made: the same number, on no condition. A check may thereby fail before another that used to
//! come first; which of several failing checks is reported is open.
//!
//! A read inside a branch evaluates fewer elements than the map did, which is no harm without checks.
//! That an element's body reads in bounds does not depend on where it stands: `%xs` has an element `j`
//! only if its map evaluated the body for `j`.

pub(in crate::opt) mod cost;
mod rows;
mod sites;
#[cfg(test)]
mod tests;
pub(in crate::opt) mod tidy;

use crate::ir::*;
use crate::walk::Copier;
use cost::Cost;
use remc_base::pass::PassInfo;
use rows::Rows;
use rustc_hash::FxHashMap;
use sites::{Site, Uses};
use std::rc::Rc;

pub const PASS: PassInfo = PassInfo {
    name: "fuse",
    from: "mono",
    to: "mono",
    summary: "computes what a map makes where it is read, where that repeats no work",
};

/// A round fuses one link of a chain of cells; chains are short.
const ROUNDS: usize = 16;
/// Cheap work may be done so often.
const REPEATS: u64 = 4;

/// Fuses maps into what reads their elements.
pub fn fuse(p: &mut Program) {
    tidy::tidy(p);
    for _ in 0..ROUNDS {
        let uses = sites::uses(p);
        let body = std::mem::take(&mut p.body);
        let mut f = Fuse {
            p,
            uses,
            chosen: FxHashMap::default(),
            copies: Vec::new(),
            rows: Rows::default(),
            changed: false,
        };
        let body = f.body(body);
        let changed = f.changed;
        p.body = body;
        if !changed {
            break;
        }
        tidy::tidy(p);
    }
}

struct Fuse<'p> {
    p: &'p mut Program,
    uses: FxHashMap<Var, Uses>,
    /// The arrays to compute where they are read: the map, and which of its results.
    chosen: FxHashMap<Var, (Rc<Chosen>, usize)>,
    /// The elements computed so far in the body at hand and those around it.
    copies: Vec<Copy>,
    /// Arrays of rows, bound in the body at hand, that are not chosen as they are.
    rows: Rows,
    changed: bool,
}

struct Chosen {
    axes: Vec<Axis>,
    body: Body,
}

struct Copy {
    map: Rc<Chosen>,
    at: Vec<Atom>,
    results: Vec<Atom>,
}

impl Fuse<'_> {
    fn body(&mut self, body: Body) -> Body {
        let known = self.copies.len();
        let mut stmts = Vec::with_capacity(body.stmts.len());
        let outer_rows = std::mem::take(&mut self.rows);
        for mut s in body.stmts {
            self.changed |= !self.rows.is_empty() && rows::read_rows(self.p, &mut s, &self.rows);
            for b in s.exp.bodies_mut() {
                *b = self.body(std::mem::take(b));
            }
            let mut moved = false;
            match &s.exp {
                Exp::Index { array, at } => {
                    if let Some((map, k)) = self.chosen.get(array)
                        && let Some(to) = s.pat.first().copied()
                    {
                        let (map, k) = (Rc::clone(map), *k);
                        if at.len() >= map.axes.len() || self.is_only_read(*array) {
                            s.exp = self.inline(&map, k, &at.clone(), to, &mut stmts);
                            self.changed = true;
                        }
                    }
                }
                Exp::Map { axes, body } => {
                    let choice = self.choose(&s.pat, body);
                    if choice.iter().any(|c| *c) {
                        // Its checks run where its elements are read now.
                        moved = body.can_stop();
                        let map = Rc::new(Chosen { axes: axes.clone(), body: body.clone() });
                        for (k, v) in s.pat.iter().enumerate().filter(|(k, _)| choice[*k]) {
                            self.chosen.insert(*v, (Rc::clone(&map), k));
                        }
                    } else if let [v] = s.pat.as_slice()
                        && self.is_only_read(*v)
                        && !body.can_stop()
                        && self.p.ty(*v).rank() > axes.len()
                    {
                        self.rows.insert(*v, axes.len());
                    }
                }
                _ => {}
            }
            if !moved {
                stmts.push(s);
            }
        }
        self.copies.truncate(known);
        self.rows = outer_rows;
        Body { stmts, results: body.results }
    }

    /// The element (or the cell) of a chosen map's `k`th result at `at`; its statements go before.
    fn inline(&mut self, map: &Rc<Chosen>, k: usize, at: &[Atom], to: Var, stmts: &mut Vec<Stmt>) -> Exp {
        let (at, deeper) = at.split_at(at.len().min(map.axes.len()));
        let (given, open) = map.axes.split_at(at.len());
        let with: Vec<(Var, Atom)> = given.iter().map(|x| x.var).zip(at.iter().copied()).collect();
        if !open.is_empty() {
            let body = Body { stmts: map.body.stmts.clone(), results: vec![map.body.results[k]] };
            // Copied as a statement, so that the axes are renamed too.
            let exp = Exp::Map { axes: open.to_vec(), body };
            let prov = remc_base::Prov(0);
            let cell = Body { stmts: vec![Stmt { pat: vec![to], exp, prov }], results: Vec::new() };
            let copy = Copier::instance(self.p, &cell, &with);
            return copy.stmts.into_iter().next().map_or(Exp::Atom(Atom::Var(to)), |s| s.exp);
        }
        let known = self.copies.iter().find(|c| Rc::ptr_eq(&c.map, map) && c.at == at);
        let results = match known {
            Some(c) => c.results.clone(),
            None => {
                let copy = Copier::instance(self.p, &map.body, &with);
                stmts.extend(copy.stmts);
                let (map, results) = (Rc::clone(map), copy.results.clone());
                self.copies.push(Copy { map, at: at.to_vec(), results });
                copy.results
            }
        };
        match results[k] {
            Atom::Var(array) if !deeper.is_empty() => Exp::Index { array, at: deeper.to_vec() },
            result => Exp::Atom(result),
        }
    }

    /// Whether the array has one read and no other use: then even a read with fewer indices than there are
    /// axes is inlined (see [`Uses`]).
    fn is_only_read(&self, array: Var) -> bool {
        self.uses.get(&array).is_some_and(|u| u.whole == 0 && u.sites.len() == 1)
    }

    /// Which results of a map are computed where they are read.
    fn choose(&self, pat: &[Var], body: &Body) -> Vec<bool> {
        let none = vec![false; pat.len()];
        let uses: Option<Vec<&Uses>> = pat.iter().map(|v| self.uses.get(v)).collect();
        let Some(uses) = uses else { return none };
        if body.results.len() != pat.len() || uses.iter().all(|u| u.sites.is_empty()) {
            return none;
        }
        let mut sites = uses.iter().flat_map(|u| &u.sites);
        if body.can_stop() {
            let Some(first) = sites.next() else { return none };
            let fits = first.exact
                && sites.all(|s| s.body == first.body && s.at == first.at)
                && uses.iter().all(|u| u.whole == 0);
            return vec![fits; pat.len()];
        }
        let slices: Vec<Vec<usize>> = (0..pat.len()).map(|k| cost::slice(body, k)).collect();
        let of = |slice: &[usize]| cost::stmts(self.p, slice.iter().filter_map(|n| body.stmts.get(*n)));
        let trivial: Vec<bool> = slices.iter().map(|s| of(s).is_trivial()).collect();

        // All those not needed as a whole, if no statement is then evaluated too often; else the trivial.
        let all: Vec<bool> = uses.iter().zip(&trivial).map(|(u, t)| *t || u.whole == 0).collect();
        let groups = groups(&uses);
        let mut needed = slices.concat();
        needed.sort_unstable();
        needed.dedup();
        let whole = of(&needed);
        let fits = (0..body.stmts.len()).all(|n| {
            let needs = |k: usize| slices[k].contains(&n);
            let stays = (0..pat.len()).any(|k| needs(k) && uses[k].whole > 0);
            if (0..pat.len()).all(|k| !needs(k) || trivial[k]) {
                return true;
            }
            let reads = || groups.iter().filter(|g| g.results.iter().any(|k| needs(*k)));
            let repeats = reads()
                .map(|g| g.times)
                .chain(stays.then_some(Some(1)))
                .try_fold(0, |sum: u64, times| sum.checked_add(times?));
            let one = cost::stmts(self.p, body.stmts.get(n));
            allowed(one, whole, repeats, reads().all(|g| g.strict))
        });
        if fits { all } else { trivial }
    }
}

/// Whether a statement of cost `one`, in a body of cost `all`, may be evaluated so often.
fn allowed(one: Cost, all: Cost, repeats: Option<u64>, strict: bool) -> bool {
    match repeats {
        None => false,
        Some(0) => true,
        Some(1) => one.is_scalar() || strict,
        Some(n) => n <= REPEATS && one.is_scalar() && all.units <= cost::REPEATED_UNITS,
    }
}

/// Reads at the same place and index: the element is computed once for all of them.
struct Group {
    body: usize,
    at: Vec<Atom>,
    results: Vec<usize>,
    times: Option<u64>,
    strict: bool,
}

fn groups(uses: &[&Uses]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (k, u) in uses.iter().enumerate() {
        for Site { body, at, times, strict, .. } in &u.sites {
            match groups.iter_mut().find(|g| g.body == *body && g.at == *at) {
                Some(g) => g.results.push(k),
                None => groups.push(Group {
                    body: *body,
                    at: at.clone(),
                    results: vec![k],
                    times: *times,
                    strict: *strict,
                }),
            }
        }
    }
    groups
}
