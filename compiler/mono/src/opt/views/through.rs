//! A reshape of what a map makes is that map over reshaped arrays.
//!
//! ```text
//! (let (%ys) (map ((%i %n) (%j %m))                (let (%x1 float %nm) (view (reshape %nm) %xss))
//!   (let (%x) (index %xss %i %j))                  (let (%v) (map ((%p %nm))
//!   (let (%y) (op * %x %x)) (give %y)))       ⟶      (let (%x) (index %x1 %p))
//! (let (%v) (view (reshape %nm) %ys))                (let (%y) (op * %x %x)) (give %y)))
//! ```
//!
//! Elements keep their order, so that an array that is in memory need not move to be reshaped, and an index of it
//! needs no division. The axes that the two shapes have in common, in front and behind, stay as they are; the others
//! may be nothing but places, all of them side by side and in their order, in arrays from outside the map.
//!
//! The map is copied to where the view is: so only where fusion would bring it there anyway, and if it cannot stop.
//!
//! A reshape of a cell is a cell of the array reshaped, which goes outside of what loops there are:
//!
//! ```text
//! (let (%c) (index %xsss %i))                      (let (%x1 float %l %nm) (view (reshape %l %nm) %xsss))
//! (let (%v) (view (reshape %nm) %c))         ⟶     (let (%v) (index %x1 %i))
//! ```

use super::super::poly::Poly;
use super::{Views, common};
use crate::ir::*;
use crate::walk::Copier;
use remc_base::Prov;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The result of a map, one of several perhaps, without the others.
pub(super) struct Made {
    axes: Vec<Axis>,
    body: Body,
}

impl Made {
    /// What the statement makes of those arrays that are wanted.
    pub fn of(s: &Stmt, wanted: &FxHashSet<Var>) -> Vec<(Var, Rc<Made>)> {
        let Exp::Map { axes, body } = &s.exp else { return Vec::new() };
        if !s.pat.iter().any(|v| wanted.contains(v)) || body.can_stop() {
            return Vec::new();
        }
        let made = |(v, r): (&Var, &Atom)| {
            let body = Body { stmts: body.stmts.clone(), results: vec![*r] };
            wanted.contains(v).then(|| (*v, Rc::new(Made { axes: axes.clone(), body })))
        };
        s.pat.iter().zip(&body.results).filter_map(made).collect()
    }
}

impl Views<'_> {
    /// What is to stand for `v`, the reshape of a map's result to `to`: views of what the map reads, and the map.
    pub(super) fn through(&mut self, v: Var, source: Var, to: &[Atom], prov: Prov) -> Option<Vec<Stmt>> {
        let made = self.made.get(&source)?.clone();
        if !self.is_fusible(source, v) {
            return None;
        }
        let from = self.p.ty(source).dims.clone();
        if !self.may_reshape(&from, to) {
            return None;
        }
        let (front, back) = common(&self.facts, &from, to);
        let joined = made.axes.get(front..from.len() - back)?;
        if joined.len() < 2 {
            return None;
        }
        let mut reads =
            Reads { v: self, joined, own: made.body.binders().into_iter().collect(), found: Vec::new() };
        if !reads.fit(&made.body) {
            return None;
        }
        let found = reads.found;
        let between = &to[front..to.len() - back];
        let mut out = Vec::new();
        let mut views: FxHashMap<(Var, usize), Var> = FxHashMap::default();
        for (array, first) in found {
            let dims = &self.p.ty(array).dims;
            let dims = [&dims[..first], between, &dims[first + joined.len()..]].concat();
            let view = self.reshape(array, dims, prov);
            views.extend(view.pat.iter().map(|v| ((array, first), *v)));
            out.push(view);
        }
        let axis = |this: &mut Self, size: Atom| Axis { var: this.p.fresh("i", Ty::int()), size };
        let first: Vec<Axis> = made.axes[..front].iter().map(|a| axis(self, a.size)).collect();
        let middle: Vec<Axis> = between.iter().map(|size| axis(self, *size)).collect();
        let last: Vec<Axis> = made.axes[front + joined.len()..].iter().map(|a| axis(self, a.size)).collect();
        let places: Vec<Atom> = middle.iter().map(|a| Atom::Var(a.var)).collect();
        let mut body = made.body.clone();
        replace(&mut body, joined, &views, &places);
        let kept = made.axes[..front].iter().chain(&made.axes[front + joined.len()..]);
        let renamed: Vec<(Var, Atom)> =
            kept.zip(first.iter().chain(&last)).map(|(old, new)| (old.var, Atom::Var(new.var))).collect();
        let body = Copier::instance(self.p, &body, &renamed);
        let axes = [first, middle, last].concat();
        out.push(Stmt { pat: vec![v], exp: Exp::Map { axes, body }, prov });
        Some(out)
    }

    /// What is to stand for `v`, the reshape of a cell to `to`.
    pub(super) fn of_whole(&mut self, v: Var, cell: Var, to: &[Atom], prov: Prov) -> Option<Vec<Stmt>> {
        let (array, at) = self.cells.get(&cell)?.clone();
        if self.computed.contains_key(&array) || !self.may_reshape(&self.p.ty(cell).dims, to) {
            return None;
        }
        let dims = [&self.p.ty(array).dims[..at.len()], to].concat();
        let whole = self.reshape(array, dims, prov);
        let [array] = whole.pat[..] else { return None };
        Some(vec![whole, Stmt { pat: vec![v], exp: Exp::Index { array, at }, prov }])
    }

    /// Whether arrays from outside may be reshaped here. Inside of a loop it has to be sure that the number of elements
    /// is the same: else the check of that holds the views where they are, and each iteration would copy the arrays.
    fn may_reshape(&self, from: &[Atom], to: &[Atom]) -> bool {
        let elements = |dims: &[Atom]| {
            dims.iter().try_fold(Poly::constant(1), |all, d| all.times(&self.facts.modular(*d)))
        };
        self.depth <= 1 || elements(from).is_some_and(|n| elements(to) == Some(n))
    }

    fn reshape(&mut self, array: Var, dims: Vec<Atom>, prov: Prov) -> Stmt {
        let (name, base) = (self.p.vars[array].name.clone(), self.p.ty(array).base);
        let v = self.p.fresh(name.as_str(), Ty { base, dims: dims.clone() });
        Stmt { pat: vec![v], exp: Exp::View { view: View::Reshape { dims }, array }, prov }
    }
}

/// The arrays that a body reads at the places that axes are, and where among their indices these stand.
struct Reads<'a, 'p> {
    v: &'a Views<'p>,
    joined: &'a [Axis],
    /// What the body binds itself.
    own: FxHashSet<Var>,
    found: Vec<(Var, usize)>,
}

impl Reads<'_, '_> {
    /// Whether the axes are for nothing but such places.
    fn fit(&mut self, body: &Body) -> bool {
        let inside = body.stmts.iter().all(|s| {
            let here = match &s.exp {
                Exp::Index { array, at } => self.place(*array, at),
                exp => {
                    let mut free = true;
                    exp.for_each_operand(&mut |a| free &= !is_joined(self.joined, a));
                    free
                }
            };
            here && s.exp.bodies().into_iter().all(|b| self.fit(b))
        });
        inside && !body.results.iter().any(|a| is_joined(self.joined, *a))
    }

    fn place(&mut self, array: Var, at: &[Atom]) -> bool {
        let Some(first) = at.iter().position(|a| is_joined(self.joined, *a)) else { return true };
        let dims = &self.v.p.ty(array).dims;
        let fits = is_run(self.joined, at, first)
            && !self.own.contains(&array)
            && dims
                .get(first..first + self.joined.len())
                .is_some_and(|d| d.iter().zip(self.joined).all(|(d, a)| self.v.facts.same(*d, a.size)));
        if fits && !self.found.contains(&(array, first)) {
            self.found.push((array, first));
        }
        fits
    }
}

fn is_joined(joined: &[Axis], a: Atom) -> bool {
    joined.iter().any(|j| a == Atom::Var(j.var))
}

/// Whether all of the axes stand among the indices from `first` on, in their order, and nowhere else.
fn is_run(joined: &[Axis], at: &[Atom], first: usize) -> bool {
    let run = at.get(first..first + joined.len());
    let after = at.get(first + joined.len()..).unwrap_or_default();
    run.is_some_and(|run| run.iter().zip(joined).all(|(a, j)| *a == Atom::Var(j.var)))
        && !after.iter().any(|a| is_joined(joined, *a))
}

/// Reads the views instead.
fn replace(body: &mut Body, joined: &[Axis], views: &FxHashMap<(Var, usize), Var>, places: &[Atom]) {
    for s in &mut body.stmts {
        if let Exp::Index { array, at } = &mut s.exp
            && let Some(first) = at.iter().position(|a| is_joined(joined, *a))
            && let Some(view) = views.get(&(*array, first))
        {
            *array = *view;
            at.splice(first..first + joined.len(), places.iter().copied());
        }
        s.exp.bodies_mut().into_iter().for_each(|b| replace(b, joined, views, places));
    }
}
