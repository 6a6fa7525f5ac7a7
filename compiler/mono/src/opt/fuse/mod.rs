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
//! come first; which of several failing checks is reported is open. Sizes of rows that are reduced then are not among
//! them: which rows are long is asked before any row is touched, and is to stop nothing (`flatten/balance` of Flat).
//!
//! A chain of maps takes time in proportion to its length: what an element costs is added up along the
//! chain, and a map of long elements keeps the reads in its body until a reader that stays is met, where
//! all of them are put in place once. Chains end where a body would weigh more than [`cost::HEAVIEST`].
//!
//! A read inside a branch evaluates fewer elements than the map did, which is no harm without checks.
//! That an element's body reads in bounds does not depend on where it stands: `%xs` has an element `j`
//! only if its map evaluated the body for `j`.

mod choice;
mod copies;
pub(in crate::opt) mod cost;
mod rows;
mod sites;
#[cfg(test)]
mod tests;
pub(in crate::opt) mod tidy;

use crate::ir::*;
use crate::walk::Copier;
use copies::Copies;
use cost::Cost;
use remc_base::pass::PassInfo;
use rows::{Made, Rows};
use rustc_hash::FxHashMap;
use sites::Uses;
use std::rc::Rc;

pub const PASS: PassInfo = PassInfo {
    name: "fuse",
    from: "mono",
    to: "mono",
    summary: "computes what a map makes where it is read, where that repeats no work",
};

/// A round fuses all links of a chain of maps, and one of a chain of cells; these are short.
const ROUNDS: usize = 16;
/// A map whose elements weigh more is put together in its last reader alone.
const LONG: usize = 64;

/// Fuses maps into what reads their elements.
pub fn fuse(p: &mut Program) {
    tidy::tidy(p);
    let streams = crate::stream::streams(p);
    for _ in 0..ROUNDS {
        let (uses, load) = sites::uses(p);
        let body = std::mem::take(&mut p.body);
        let mut f = Fuse {
            p,
            uses,
            chosen: FxHashMap::default(),
            load,
            copies: Copies::default(),
            rows: Rows::default(),
            streams,
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
    /// The weight of each body, by number, with that of what is to be put into it.
    load: Vec<usize>,
    copies: Copies,
    /// Arrays of rows, bound in the body at hand, that are not chosen as they are.
    rows: Rows,
    /// Whether the program goes along a stream, whose axis is to stay the first.
    streams: bool,
    changed: bool,
}

struct Chosen {
    axes: Vec<Axis>,
    body: Body,
    inside: Inside,
    /// What each result costs that is chosen.
    costs: Vec<Option<Cost>>,
}

/// What a body is like once the reads in it of chosen arrays are put in place.
#[derive(Clone, Copy, Default)]
struct Inside {
    /// There are such reads.
    reads: bool,
    /// Of the statements that there will be, or more: reads may share some.
    weight: usize,
    /// Evaluating it can stop the program.
    stops: bool,
}

impl Fuse<'_> {
    fn body(&mut self, body: Body) -> Body {
        let known = self.copies.mark();
        let outer_rows = std::mem::take(&mut self.rows);
        let mut stmts = Vec::with_capacity(body.stmts.len());
        // The last is the next. Whatever a read stands for is put here, in the read's place.
        let mut open = body.stmts;
        open.reverse();
        while let Some(mut s) = open.pop() {
            if !self.rows.is_empty() {
                if !self.streams {
                    open.extend(rows::turn(self.p, &mut s, &self.rows));
                }
                self.changed |= rows::read_rows(self.p, &mut s, &self.rows);
            }
            if let Some((map, k)) = self.chosen_read(&s.exp) {
                self.inline(&map, k, s, &mut stmts, &mut open);
                self.changed = true;
                continue;
            }
            let moved = if let Some(moved) = self.choose_long(&s) {
                moved
            } else {
                for b in s.exp.bodies_mut() {
                    *b = self.body(std::mem::take(b));
                }
                self.choose_short(&s)
            };
            if !moved {
                stmts.push(s);
            }
        }
        self.copies.forget(known);
        self.rows = outer_rows;
        Body { stmts, results: body.results }
    }

    /// Chooses a map of long elements, if each of its reads is one to put it in: the reads in its body
    /// stay as they are. Says whether the map moves (see [`Fuse::put`]); `None` if it is not chosen.
    fn choose_long(&mut self, s: &Stmt) -> Option<bool> {
        let Exp::Map { axes, body } = &s.exp else { return None };
        let inside = self.inside(body);
        // A map without results is there for its checks.
        let goes = inside.reads
            && !s.pat.is_empty()
            && inside.weight > LONG
            && s.pat.iter().all(|v| self.uses.get(v).is_some_and(|u| u.whole == 0));
        if !goes {
            return None;
        }
        let costs = self.choose(&s.pat, body, inside);
        costs.iter().all(Option::is_some).then(|| self.put(&s.pat, axes, body, costs, inside))
    }

    /// Chooses what can be of a map in whose body all is in place; says whether the map moves.
    fn choose_short(&mut self, s: &Stmt) -> bool {
        let Exp::Map { axes, body } = &s.exp else { return false };
        let inside = self.inside(body);
        let costs = self.choose(&s.pat, body, inside);
        if costs.iter().any(Option::is_some) {
            return self.put(&s.pat, axes, body, costs, inside);
        }
        if let [v] = s.pat.as_slice()
            && self.is_only_read(*v)
            && self.p.ty(*v).rank() > axes.len()
        {
            let sizes = axes.iter().map(|x| x.size).collect();
            self.rows.insert(*v, Made { sizes, stops: inside.stops });
        }
        false
    }

    /// From here on these results of a map are computed where they are read. Says whether the map moves:
    /// its checks run in that place, and no longer in its own.
    fn put(
        &mut self,
        pat: &[Var],
        axes: &[Axis],
        body: &Body,
        costs: Vec<Option<Cost>>,
        inside: Inside,
    ) -> bool {
        let map = Rc::new(Chosen { axes: axes.to_vec(), body: body.clone(), inside, costs });
        for (k, v) in pat.iter().enumerate().filter(|(k, _)| map.costs[*k].is_some()) {
            self.chosen.insert(*v, (Rc::clone(&map), k));
        }
        for body in choice::readers(pat.iter().filter_map(|v| self.uses.get(v))) {
            self.load[body] = self.load[body].saturating_add(inside.weight);
        }
        inside.stops
    }

    /// The chosen map, and which of its results, if this is a read to put it in.
    fn chosen_read(&self, e: &Exp) -> Option<(Rc<Chosen>, usize)> {
        let Exp::Index { array, at } = e else { return None };
        let (map, k) = self.chosen.get(array)?;
        (at.len() >= map.axes.len() || self.is_only_read(*array)).then(|| (Rc::clone(map), *k))
    }

    fn inside(&self, body: &Body) -> Inside {
        let mut inside = Inside { weight: cost::body_weight(self.p, body), ..Inside::default() };
        body.for_each_stmt(&mut |s| {
            inside.stops |= matches!(s.exp, Exp::Check { .. });
            if let Some((map, _)) = self.chosen_read(&s.exp) {
                inside.reads = true;
                inside.weight = inside.weight.saturating_add(map.inside.weight);
                inside.stops |= map.inside.stops;
            }
        });
        inside
    }

    /// Puts the element (or the cell) of a chosen map's `k`th result in the place of `read`. What is done
    /// goes to `stmts`; what has reads in it that are to be replaced, to `open`.
    fn inline(
        &mut self,
        map: &Rc<Chosen>,
        k: usize,
        mut read: Stmt,
        stmts: &mut Vec<Stmt>,
        open: &mut Vec<Stmt>,
    ) {
        let Exp::Index { at, .. } = &read.exp else { return };
        let (at, deeper) = at.split_at(at.len().min(map.axes.len()));
        let (given, rest) = map.axes.split_at(at.len());
        let with: Vec<(Var, Atom)> = given.iter().map(|x| x.var).zip(at.iter().copied()).collect();
        if !rest.is_empty() {
            let body = Body { stmts: map.body.stmts.clone(), results: vec![map.body.results[k]] };
            read.exp = Exp::Map { axes: rest.to_vec(), body };
            // Copied as a statement, so that the axes are renamed too. What it binds is bound as it was.
            let pat = std::mem::take(&mut read.pat);
            let cell = Body { stmts: vec![read], results: Vec::new() };
            for copy in Copier::instance(self.p, &cell, &with).stmts {
                let copy = Stmt { pat: pat.clone(), ..copy };
                if map.inside.reads { open.push(copy) } else { stmts.push(copy) }
            }
            return;
        }
        let (results, copied) = match self.copies.find(map, at) {
            Some(results) => (results.to_vec(), Vec::new()),
            None => {
                let copy = Copier::instance(self.p, &map.body, &with);
                self.copies.add(map, at.to_vec(), copy.results.clone());
                (copy.results, copy.stmts)
            }
        };
        read.exp = match results[k] {
            Atom::Var(array) if !deeper.is_empty() => Exp::Index { array, at: deeper.to_vec() },
            result => Exp::Atom(result),
        };
        if map.inside.reads {
            open.push(read);
            open.extend(copied.into_iter().rev());
        } else {
            stmts.extend(copied);
            stmts.push(read);
        }
    }

    /// Whether the array has one read and no other use: then even a read with fewer indices than there are
    /// axes is inlined (see [`Uses`]).
    fn is_only_read(&self, array: Var) -> bool {
        self.uses.get(&array).is_some_and(|u| u.whole == 0 && u.sites.len() == 1)
    }
}
