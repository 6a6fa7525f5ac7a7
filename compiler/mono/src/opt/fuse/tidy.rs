//! What fusion and its sister passes do first and last: bring a program to the form they recognise, and
//! clear away what they leave.
//!
//! - A name for another value (`(let (%y) %x)`) is replaced by that value, in types too.
//! - A cell of a cell is one cell: `(index (index %m %i) %j)` is `(index %m %i %j)`. Not where `%m` is a
//!   map over just those axes whose elements are arrays: there the inner read is the element, which
//!   fusion can put in place.
//! - A map over no axes is its body.
//! - Perfect nests are one map, also where the outer body does a little index arithmetic of its own
//!   (but reads no row that a map makes, see [`super::rows`]):
//!
//! ```text
//! (map ((%i %n)) (let (%a) (index %xs %i)) (let (%r) (map ((%j %m)) … (give %e))) (give %r))
//! (map ((%i %n) (%j %m)) (let (%a) (index %xs %i)) … (give %e))
//! ```
//!
//! - What nothing reads and cannot stop is dropped, and so are the results of maps that nothing reads.

use super::cost;
use crate::ir::*;
use crate::walk::retype;
use rustc_hash::{FxHashMap, FxHashSet};

/// Brings `p` to the form above.
pub(in crate::opt) fn tidy(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    let mut t =
        Tidy { p, copies: FxHashMap::default(), cells: FxHashMap::default(), maps: FxHashMap::default() };
    t.body(&mut body);
    let copies = std::mem::take(&mut t.copies);
    p.body = body;
    if !copies.is_empty() {
        let all: Vec<Var> = p.vars.iter().map(|(v, _)| v).collect();
        retype(p, &all, &copies);
    }
    drop_dead(p);
}

struct Tidy<'p> {
    p: &'p Program,
    /// Names, and what they stand for, which is no such name itself.
    copies: FxHashMap<Var, Atom>,
    /// Variables bound to a cell of a variable.
    cells: FxHashMap<Var, (Var, Vec<Atom>)>,
    /// The number of axes of the map that binds a variable.
    maps: FxHashMap<Var, usize>,
}

impl Tidy<'_> {
    fn replace(&self, a: &mut Atom) {
        if let Atom::Var(v) = a
            && let Some(new) = self.copies.get(v)
        {
            *a = *new;
        }
    }

    fn body(&mut self, body: &mut Body) {
        let stmts = std::mem::take(&mut body.stmts);
        for mut s in stmts {
            s.exp.for_each_operand_mut(&mut |a| self.replace(a));
            for b in s.exp.bodies_mut() {
                self.body(b);
            }
            match (&mut s.exp, s.pat.as_slice()) {
                (Exp::Atom(a), [v]) => {
                    self.copies.insert(*v, *a);
                    continue;
                }
                (Exp::Index { array, at }, [v]) => {
                    if let Some((root, outer)) = self.cells.get(array) {
                        *at = outer.iter().chain(at.iter()).copied().collect();
                        *array = *root;
                    }
                    if at.is_empty() {
                        self.copies.insert(*v, Atom::Var(*array));
                        continue;
                    }
                    if self.maps.get(array) != Some(&at.len()) {
                        self.cells.insert(*v, (*array, at.clone()));
                    }
                }
                (Exp::Map { axes, body: inner }, pat) if axes.is_empty() => {
                    self.copies.extend(pat.iter().copied().zip(inner.results.iter().copied()));
                    body.stmts.append(&mut inner.stmts);
                    continue;
                }
                (Exp::Map { axes, body: inner }, pat) => {
                    while self.merge_nest(axes, inner) {}
                    self.maps.extend(pat.iter().map(|v| (*v, axes.len())));
                }
                _ => {}
            }
            body.stmts.push(s);
        }
        for a in &mut body.results {
            if let Atom::Var(v) = a
                && let Some(new) = self.copies.get(v)
            {
                *a = *new;
            }
        }
    }

    /// Makes the map inside, if it gives all results, a part of the map around it.
    fn merge_nest(&self, axes: &mut Vec<Axis>, body: &mut Body) -> bool {
        let Some((Stmt { pat, exp: Exp::Map { axes: inner_axes, body: inner }, .. }, rest)) =
            body.stmts.split_last()
        else {
            return false;
        };
        let own = |a: Atom| {
            a.as_var()
                .is_some_and(|v| axes.iter().any(|x| x.var == v) || rest.iter().any(|s| s.pat.contains(&v)))
        };
        let places: Option<Vec<usize>> =
            body.results.iter().map(|r| pat.iter().position(|v| Atom::Var(*v) == *r)).collect();
        let Some(places) = places else { return false };
        // A row that a map makes is to be read as one.
        let is_row = |s: &Stmt| match &s.exp {
            Exp::Index { array, at } => {
                self.maps.get(array) == Some(&at.len()) && s.pat.iter().any(|v| !self.p.ty(*v).is_scalar())
            }
            _ => false,
        };
        // What is done for each row would be done for each element.
        if places.is_empty()
            || inner_axes.iter().any(|x| own(x.size))
            || rest.iter().any(|s| s.exp.can_stop() || is_row(s))
            || !cost::stmts(self.p, body, |s| s.pat != *pat).is_trivial()
        {
            return false;
        }
        let results = places.iter().filter_map(|k| inner.results.get(*k).copied()).collect();
        axes.extend(inner_axes);
        let Some(Stmt { exp: Exp::Map { body: inner, .. }, .. }) = body.stmts.pop() else { return false };
        body.stmts.extend(inner.stmts);
        body.results = results;
        true
    }
}

/// Drops the statements that nothing needs: no result of theirs is used, in a type either, and they
/// cannot stop the program.
fn drop_dead(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    let mut live = FxHashSet::default();
    body_live(p, &mut body, &mut live);
    p.body = body;
}

fn body_live(p: &Program, body: &mut Body, live: &mut FxHashSet<Var>) {
    live.extend(body.results.iter().filter_map(|a| a.as_var()));
    let mut kept = Vec::with_capacity(body.stmts.len());
    while let Some(mut s) = body.stmts.pop() {
        if !s.pat.iter().any(|v| live.contains(v)) && !s.exp.can_stop() {
            continue;
        }
        if let Exp::Map { body: inner, .. } = &mut s.exp
            && s.pat.len() == inner.results.len()
        {
            let keep: Vec<bool> = s.pat.iter().map(|v| live.contains(v)).collect();
            let mut at = keep.iter();
            s.pat.retain(|_| at.next() == Some(&true));
            at = keep.iter();
            inner.results.retain(|_| at.next() == Some(&true));
        }
        for b in s.exp.bodies_mut().into_iter().rev() {
            body_live(p, b, live);
        }
        let mut used = |a: Atom| live.extend(a.as_var());
        s.exp.for_each_operand(&mut used);
        for v in s.pat.iter().copied().chain(s.exp.inner_binders()) {
            p.ty(v).dims.iter().copied().for_each(&mut used);
        }
        kept.push(s);
    }
    kept.reverse();
    body.stmts = kept;
}
