//! An item at a place that is known before: state that the piece with that item sets.
//!
//! ```text
//! (let (%x) (index %xs 3))            in the loop    (let (%x') (if (<= 0 (- 3 %at) < %c) (index %part (- 3 %at)) %x))
//! (let (%l) (index %xs (- %n 1)))     the last one   (let (%l') (if (> %c 0) (index %part (- %c 1)) %l))
//! (map … (index %xs 0 %j) …)          inside         is such an item, and then a read of it
//! (let (%t) (view (slice 2 %k) %xs))  several        (let (%t) (scatter (%i %n) (%none) … (- %i 2), or nowhere … %xs …))
//! ```
//!
//! Whether there is such an item the program checks where it is written, when the stream has ended.

use super::append::reads;
use super::emit::Emit;
use super::fold::{Fold, Piece, nothing};
use super::*;
use crate::walk::Copier;
use remc_base::ops::ScalarOp;

/// Which item.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Pick {
    At(Atom),
    Last,
}

impl Streamer<'_> {
    /// The item that a statement reads, and the axis along which it is one.
    pub fn pick(&self, exp: &Exp) -> Option<(usize, Pick)> {
        let Exp::Index { array, at } = exp else { return None };
        let a = self.t.along.get(array).filter(|a| a.dim == 0)?;
        let place = *at.first()?;
        let is_last = self.streamed(place).and_then(|short| self.t.shorter_by(short, a.axis)) == Some(1);
        // The last prefix of a full scan is another one, and an array's own axes have other places than its numbers.
        let plain = !self.full.contains_key(array) && !self.t.places.contains_key(array);
        plain.then_some((a.axis, if is_last { Pick::Last } else { Pick::At(place) }))
    }

    /// So many items from a place on, whose number is no stream's, as counts of places are: each goes where it belongs.
    pub fn taken(&mut self, s: &Stmt) -> Option<Vec<Stmt>> {
        let Exp::View { view: View::Slice { start, dims }, array } = &s.exp else { return None };
        let a = self.t.along.get(array).copied().filter(|a| a.dim == 0)?;
        let ([start], [count]) = (&start[..], &dims[..]) else { return None };
        let kept = self.full.contains_key(array) || self.t.places.contains_key(array);
        if kept || self.streamed(*count).is_some() {
            return None;
        }
        let (size, cell) = (Atom::Var(self.t.axes[a.axis].size), self.p.vars[*array].ty.cell(1));
        let mut e = self.emit();
        let none = nothing(&mut e, s.pat[0]).as_var()?;
        let i = e.p.fresh("i", Ty::int());
        let body = e.body(|e| {
            let place = e.op("place", ScalarOp::Sub, &[i.into(), *start]);
            let there = e.op("there", ScalarOp::Lt, &[place, *count]);
            let place = e.op("place", ScalarOp::Select, &[there, place, Atom::int(-1)]);
            let item = e.let_("item", cell, Exp::Index { array: *array, at: vec![i.into()] });
            vec![place, item]
        });
        let axis = Axis { var: i, size };
        e.push(s.pat.clone(), Exp::Scatter { dests: vec![none], axis, body, combine: None });
        Some(e.stmts)
    }

    /// A statement along an axis that is no stream's, at each place of which an item is read that is so many behind: those
    /// items, and the statement.
    pub fn first_ones(&mut self, s: &Stmt) -> Option<Vec<Stmt>> {
        let mut own: FxHashSet<Var> = s.exp.inner_binders().into_iter().collect();
        let (mut axes, mut sums) = (FxHashMap::default(), FxHashMap::default());
        axes.extend(s.exp.axes().iter().map(|a| (a.var, a.size)));
        for b in s.exp.bodies() {
            own.extend(b.binders());
            b.for_each_stmt(&mut |s| {
                axes.extend(s.exp.axes().iter().map(|a| (a.var, a.size)));
                if let (Exp::Op(ScalarOp::Add, args), [v]) = (&s.exp, &s.pat[..]) {
                    sums.insert(*v, [args[0], args[1]]);
                }
            });
        }
        let known = |a: Atom| a.as_var().is_none_or(|v| !own.contains(&v));
        axes.retain(|_, size: &mut Atom| known(*size) && self.streamed(*size).is_none());
        // The place of the axis, how many there are, and how many are before the first.
        let place = |at: Atom| {
            let along = |i: Atom| Some((i, *axes.get(&i.as_var()?)?));
            let (i, size, from) = match (along(at), at.as_var().and_then(|v| sums.get(&v))) {
                (Some((i, size)), _) => (i, size, Atom::int(0)),
                (None, Some([a, b])) => match (along(*a), along(*b)) {
                    (Some((i, size)), None) if known(*b) => (i, size, *b),
                    (None, Some((i, size))) if known(*a) => (i, size, *a),
                    _ => return None,
                },
                _ => return None,
            };
            Some((i, size, from))
        };
        let is_it = |array: Var| {
            let along = self.t.along.get(&array).is_some_and(|a| a.dim == 0);
            along && !self.full.contains_key(&array) && !self.t.places.contains_key(&array)
        };
        let mut found: Vec<(Var, Atom, Atom)> = Vec::new();
        for b in s.exp.bodies() {
            b.for_each_stmt(&mut |s| {
                if let Exp::Index { array, at } = &s.exp
                    && is_it(*array)
                    && let Some((_, size, from)) = place(at[0])
                    && !found.contains(&(*array, size, from))
                {
                    found.push((*array, size, from));
                }
            });
        }
        let (first, ..) = *found.first()?;
        found.retain(|(array, ..)| *array == first);
        let mut rest = s.clone();
        let (mut parts, mut items) = (Vec::new(), Vec::new());
        for (_, size, from) in found {
            let mut info = self.p.vars[first].clone();
            info.ty.dims[0] = size;
            let item = self.p.vars.push(info);
            items.push((size, from, item));
            let view = View::Slice { start: vec![from], dims: vec![size] };
            parts.push(Stmt { pat: vec![item], exp: Exp::View { view, array: first }, prov: s.prov });
        }
        for b in rest.exp.bodies_mut() {
            reads(b, &mut |array, at| {
                if *array == first
                    && let Some((i, size, from)) = place(at[0])
                    && let Some((.., item)) = items.iter().find(|(n, k, _)| (*n, *k) == (size, from))
                {
                    (*array, at[0]) = (*item, i);
                }
            });
        }
        parts.push(rest);
        Some(parts)
    }

    /// A statement in whose bodies items at known places are read: those items, and the statement.
    pub fn picked(&mut self, s: &Stmt) -> Option<Vec<Stmt>> {
        let mut own: FxHashSet<Var> = s.exp.inner_binders().into_iter().collect();
        s.exp.bodies().into_iter().for_each(|b| own.extend(b.binders()));
        let known = |a: &Atom| a.as_var().is_none_or(|v| !own.contains(&v));
        let mut items: Vec<(Var, Atom, Var)> = Vec::new();
        let mut found: Vec<(Var, Atom)> = Vec::new();
        for b in s.exp.bodies() {
            b.for_each_stmt(&mut |s| {
                if let (Exp::Index { array, at }, Some(_)) = (&s.exp, self.pick(&s.exp))
                    && known(&(*array).into())
                    && known(&at[0])
                    && !found.contains(&(*array, at[0]))
                {
                    found.push((*array, at[0]));
                }
            });
        }
        let mut parts = Vec::new();
        for (array, place) in found {
            let info = self.p.vars[array].clone();
            let item = self.p.fresh(info.name.as_str(), info.ty.cell(1));
            let exp = Exp::Index { array, at: vec![place] };
            parts.push(Stmt { pat: vec![item], exp, prov: s.prov });
            items.push((array, place, item));
        }
        if parts.is_empty() {
            return None;
        }
        let mut rest = s.clone();
        rest.exp.bodies_mut().into_iter().for_each(|b| read(b, &items));
        parts.push(rest);
        Some(parts)
    }
}

/// Reads of the items in the place of those of the arrays.
fn read(b: &mut Body, items: &[(Var, Atom, Var)]) {
    for s in &mut b.stmts {
        if let Exp::Index { array, at } = &mut s.exp
            && let Some((.., item)) =
                items.iter().find(|(of, place, _)| of == array && at.first() == Some(place))
        {
            at.remove(0);
            *array = *item;
            if at.is_empty() {
                s.exp = Exp::Atom((*item).into());
            }
        }
        s.exp.bodies_mut().into_iter().for_each(|b| read(b, items));
    }
}

/// The item after a piece, if it is in it, or what it was before.
pub(super) fn after(e: &mut Emit<'_>, piece: &Piece, fold: &Fold, state: &[Atom]) -> Vec<Atom> {
    let Exp::Index { array, at } = &fold.inner else { return state.to_vec() };
    let (Some((before, count)), Some(part)) =
        (piece.at.get(&fold.along).copied(), piece.with.get(array).and_then(|a| a.as_var()))
    else {
        return state.to_vec();
    };
    let (place, there) = match fold.pick {
        Some(Pick::At(place)) => {
            let place = e.op("place", ScalarOp::Sub, &[place, before]);
            let from = e.op("from", ScalarOp::Ge, &[place, Atom::int(0)]);
            let to = e.op("to", ScalarOp::Lt, &[place, count]);
            (place, e.op("there", ScalarOp::And, &[from, to]))
        }
        _ => {
            let place = e.op("last", ScalarOp::Sub, &[count, Atom::int(1)]);
            (place, e.op("there", ScalarOp::Gt, &[count, Atom::int(0)]))
        }
    };
    let inner = Copier { program: e.p, with: piece.with.clone() };
    let places: Vec<Atom> = std::iter::once(place).chain(at[1..].iter().map(|a| inner.atom(*a))).collect();
    e.branch(there, &fold.pat, |e| vec![e.at(part.into(), &places)], |_| state.to_vec())
}
