//! What is left of a stream at its end: state that goes from piece to piece.
//!
//! | operator | in the loop |
//! | --- | --- |
//! | a serial `reduce`, a `for` | the same, from the state |
//! | a `reduce` or `scatter` whose operator is exact | the same, from the state |
//! | a `scatter` whose operator rounds | one item after the other, from the state |
//! | a `reduce` whose operator rounds, along the axis of an input | tiles, from the state one after the other |
//! | one along another axis | serial, from the state |
//! | an item at a known place | that of the piece, if it has it ([`super::pick`]) |
//!
//! A piece's share of a sum of floats must not depend on where pieces end. So what rounds is combined within tiles of so
//! many items, of which an input's pieces have whole numbers, and then tile by tile, in order:
//!
//! ```text
//! (let (%k) (op / %c %tile))
//! (let (%t) (map ((%t %k)) (reduce (%j %tile) … item t·tile + j … +)))
//! (let (%s') (for (%t %k) ((%s %s)) … (give (+ %s (index %t …)))))
//! (let (%rest) …)                                                            the last piece's, if there is one
//! ```
//!
//! An operator without a start has no state before the first item; then the first item, or tile, is the state.
//!
//! A fold may be inside of a map over axes that are no stream's, such as the sums of columns: then the state has an element
//! for each point.

use super::emit::Emit;
use super::pick::{Pick, after};
use super::window::There;
use super::{Along, Streamer};
use crate::ir::*;
use crate::walk::Copier;
use remc_base::Scalar;
use remc_base::ops::{ScalarOp, zero};
use rustc_hash::FxHashMap;

/// A reduction, loop or scatter along a stream, by itself or at each point of a map.
#[derive(Clone)]
pub(super) struct Fold {
    /// The axis that it goes along.
    pub along: usize,
    pub outer: Vec<Axis>,
    /// What a point computes before.
    pub before: Vec<Stmt>,
    pub inner: Exp,
    /// What it leaves: arrays of the outer axes.
    pub pat: Vec<Var>,
    /// Whether parts may be combined in any grouping, to the bit.
    pub exact: bool,
    /// The item that it is, if it is a single one.
    pub pick: Option<Pick>,
}

/// A piece of a stream.
pub(super) struct Piece {
    /// What stands for what in it: arrays for those along the stream, sizes for theirs.
    pub with: FxHashMap<Var, Atom>,
    /// Of each axis how many items were before it, and how many it has.
    pub at: FxHashMap<usize, (Atom, Atom)>,
    pub along: FxHashMap<Var, Along>,
    /// The axis of the input, and how many items a tile of it has.
    pub root: usize,
    pub tile: Option<Atom>,
    /// Of each shorter axis those that it is shorter than, and how far its first item in the piece is from the first of
    /// those in `ahead`.
    pub windows: FxHashMap<usize, Vec<(usize, Atom)>>,
    /// The last items before the piece and those of it, of arrays that are looked ahead in.
    pub ahead: FxHashMap<Var, Atom>,
    /// The same, as the next piece wants them.
    pub there: FxHashMap<Var, There>,
}

impl Piece {
    /// A piece of which nothing is known yet.
    pub fn new(along: FxHashMap<Var, Along>, root: usize, tile: Option<Atom>) -> Piece {
        let (with, at) = (FxHashMap::default(), FxHashMap::default());
        let (windows, ahead, there) = (FxHashMap::default(), FxHashMap::default(), FxHashMap::default());
        Piece { with, at, along, root, tile, windows, ahead, there }
    }

    /// A body along an axis, and the variable that stands in it for the item's place in the piece where that reads an
    /// array: elsewhere its index is the place in the stream.
    pub fn local(&self, e: &mut Emit<'_>, body: &Body, index: Var, axis: usize) -> (Body, Var) {
        let place = e.p.fresh("at", Ty::int());
        let mut body = body.clone();
        self.places(&mut body, index, place, axis);
        for (of, off) in self.windows.get(&axis).into_iter().flatten() {
            let first = e.p.fresh("first", Ty::int());
            let mut sums = FxHashMap::default();
            body.for_each_stmt(&mut |s| {
                if let (Exp::Op(ScalarOp::Add, args), [v]) = (&s.exp, &s.pat[..])
                    && let Some(k) = args.iter().position(|a| *a == Atom::Var(index))
                {
                    sums.insert(*v, args[1 - k]);
                }
            });
            self.looks(e, &mut body, *of, (index, first), &sums);
            let sum = Exp::Op(ScalarOp::Add, vec![place.into(), *off]);
            body.stmts.insert(0, Stmt { pat: vec![first], exp: sum, prov: e.prov });
        }
        (body, place)
    }

    /// What a statement along an axis stands for what in.
    pub fn with(&self, axis: usize) -> FxHashMap<Var, Atom> {
        let mut with = self.with.clone();
        for (of, _) in self.windows.get(&axis).into_iter().flatten() {
            let own = self.ahead.iter().filter(|(v, _)| self.along.get(v).is_some_and(|a| a.axis == *of));
            with.extend(own.map(|(v, a)| (*v, *a)));
        }
        with
    }

    /// Reads of arrays along `of` are of what is there of them, from `first` on.
    fn looks(
        &self,
        e: &mut Emit<'_>,
        body: &mut Body,
        of: usize,
        (index, first): (Var, Var),
        sums: &FxHashMap<Var, Atom>,
    ) {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut s in std::mem::take(&mut body.stmts) {
            if let Exp::Index { array, at } = &mut s.exp
                && let Some(i) =
                    self.along.get(array).filter(|a| a.axis == of).and_then(|a| at.get_mut(a.dim))
            {
                if *i == Atom::Var(index) {
                    *i = first.into();
                } else if let Some(by) = i.as_var().and_then(|v| sums.get(&v)) {
                    let place = e.p.fresh("at", Ty::int());
                    let sum = Exp::Op(ScalarOp::Add, vec![first.into(), *by]);
                    stmts.push(Stmt { pat: vec![place], exp: sum, prov: s.prov });
                    *i = place.into();
                }
            }
            s.exp.bodies_mut().into_iter().for_each(|b| self.looks(e, b, of, (index, first), sums));
            stmts.push(s);
        }
        body.stmts = stmts;
    }

    fn places(&self, body: &mut Body, index: Var, place: Var, axis: usize) {
        for s in &mut body.stmts {
            if let Exp::Index { array, at } = &mut s.exp
                && let Some(a) = self.along.get(array)
                && let Some(i) = at.get_mut(a.dim).filter(|i| **i == Atom::Var(index))
                && !self.windows.get(&axis).into_iter().flatten().any(|(of, _)| a.axis == *of)
            {
                *i = place.into();
            }
            s.exp.bodies_mut().into_iter().for_each(|b| self.places(b, index, place, axis));
        }
    }
}

/// The items of a fold in a piece.
struct Items<'a> {
    with: FxHashMap<Var, Atom>,
    fold: &'a Fold,
    body: Body,
    index: Var,
    place: Var,
    /// How many items of the stream were before the piece.
    before: Atom,
}

impl Items<'_> {
    /// Item number `k` of the piece.
    fn item(&self, e: &mut Emit<'_>, with: &FxHashMap<Var, Atom>, k: Atom) -> Vec<Atom> {
        let mut with = with.clone();
        let place = e.op("i", ScalarOp::Add, &[self.before, k]);
        with.insert(self.index, place);
        with.insert(self.place, k);
        e.copy(&self.body, &with)
    }
}

impl Fold {
    /// The fold that a statement is.
    pub fn of(s: &Streamer<'_>, stmt: &Stmt) -> Option<Fold> {
        if let Some((along, pick)) = s.pick(&stmt.exp) {
            let (outer, before, inner, pat) = (Vec::new(), Vec::new(), stmt.exp.clone(), stmt.pat.clone());
            return Some(Fold { along, outer, before, inner, pat, exact: true, pick: Some(pick) });
        }
        let along = Self::axis(s, &stmt.exp)?;
        if along.0 {
            return Self::of_map(s, stmt);
        }
        let (outer, before) = (Vec::new(), Vec::new());
        let exact = is_exact(&stmt.exp, s.p);
        Some(Fold {
            along: along.1,
            outer,
            before,
            inner: stmt.exp.clone(),
            pat: stmt.pat.clone(),
            exact,
            pick: None,
        })
    }

    /// The axis of an expression that folds; whether it is a map, of which nothing is known.
    fn axis(s: &Streamer<'_>, exp: &Exp) -> Option<(bool, usize)> {
        match exp {
            Exp::Reduce { axis, .. } | Exp::For { axis, .. } | Exp::Scatter { axis, .. } => {
                Some((false, s.streamed(axis.size)?))
            }
            Exp::Map { .. } => Some((true, 0)),
            _ => None,
        }
    }

    /// The scan along a stream that a statement is, or that is all that a map over other axes gives.
    pub fn scan(s: &Streamer<'_>, stmt: &Stmt) -> Option<Fold> {
        let (outer, last, before) = match &stmt.exp {
            Exp::Map { axes, body } => {
                let last = body.gives_last()?;
                let before = &body.stmts[..body.stmts.len() - 1];
                let plain = axes.iter().all(|a| s.streamed(a.size).is_none());
                (axes.clone(), plain.then_some(last)?, before.to_vec())
            }
            _ => (Vec::new(), stmt, Vec::new()),
        };
        let Exp::Scan { axis, .. } = &last.exp else { return None };
        let (along, exact) = (s.streamed(axis.size)?, is_exact(&last.exp, s.p));
        Some(Fold { along, outer, before, inner: last.exp.clone(), pat: stmt.pat.clone(), exact, pick: None })
    }

    /// That of a map which gives nothing but what is folded at each of its points.
    pub fn of_map(s: &Streamer<'_>, stmt: &Stmt) -> Option<Fold> {
        let Exp::Map { axes, body } = &stmt.exp else { return None };
        let last = body.gives_last()?;
        let before = &body.stmts[..body.stmts.len() - 1];
        let (is_map, along) = Self::axis(s, &last.exp)?;
        let plain = axes.iter().all(|a| s.streamed(a.size).is_none());
        if is_map || !plain || matches!(last.exp, Exp::Scatter { .. }) {
            return None;
        }
        let (outer, before) = (axes.clone(), before.to_vec());
        let exact = is_exact(&last.exp, s.p);
        Some(Fold { along, outer, before, inner: last.exp.clone(), pat: stmt.pat.clone(), exact, pick: None })
    }

    /// Whether a piece has to have whole tiles.
    pub fn is_tiled(&self, root: usize) -> bool {
        matches!(&self.inner, Exp::Reduce { op, .. } if op.assoc) && self.along == root && !self.exact
    }

    /// What is the state before the first item.
    pub fn first(&self, e: &mut Emit<'_>) -> Vec<Atom> {
        let start: Option<Vec<Atom>> = match &self.inner {
            Exp::Reduce { op, .. } | Exp::Scan { op, .. } => op.start.clone(),
            Exp::For { state, .. } => Some(state.iter().map(|(_, a)| *a).collect()),
            Exp::Scatter { dests, .. } => Some(dests.iter().map(|v| Atom::Var(*v)).collect()),
            _ => None,
        };
        match start {
            Some(start) if self.outer.is_empty() => start,
            Some(start) => self.points(e, &FxHashMap::default(), |e, with, _| {
                e.copy(&Body { stmts: Vec::new(), results: start }, with)
            }),
            None => self.state(e).into_iter().map(|v| nothing(e, v)).collect(),
        }
    }

    /// Variables of the types of what goes from piece to piece.
    pub fn state(&self, e: &mut Emit<'_>) -> Vec<Var> {
        let Exp::Scan { op, .. } = &self.inner else { return e.fresh_like(&self.pat, &[]) };
        let dims: Vec<Atom> = self.outer.iter().map(|a| a.size).collect();
        let accs = op.lambda.params[..op.lambda.body.results.len()].to_vec();
        e.fresh_like(&accs, &dims)
    }

    /// What `f` gives at each point, which it is given; itself without points.
    fn points(
        &self,
        e: &mut Emit<'_>,
        with: &FxHashMap<Var, Atom>,
        f: impl FnOnce(&mut Emit<'_>, &FxHashMap<Var, Atom>, &[Atom]) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let like = self.state(e);
        self.points_over(e, with, (&[], &[]), &like, |e, with, at, _| f(e, with, at))
    }

    /// The same with more axes behind the points; `like` are arrays of the results' types without those.
    pub fn points_over(
        &self,
        e: &mut Emit<'_>,
        with: &FxHashMap<Var, Atom>,
        (names, dims): (&[&str], &[Atom]),
        like: &[Var],
        f: impl FnOnce(&mut Emit<'_>, &FxHashMap<Var, Atom>, &[Atom], &[Atom]) -> Vec<Atom>,
    ) -> Vec<Atom> {
        if self.outer.is_empty() && dims.is_empty() {
            return f(e, with, &[], &[]);
        }
        let mut with = with.clone();
        let mut axes = Vec::new();
        for a in &self.outer {
            let name = e.p.vars[a.var].name.clone();
            let var = e.p.fresh(name.as_str(), Ty::int());
            with.insert(a.var, var.into());
            axes.push(Axis { var, size: a.size });
        }
        for (name, size) in names.iter().zip(dims) {
            axes.push(Axis { var: e.p.fresh(*name, Ty::int()), size: *size });
        }
        let at: Vec<Atom> = axes.iter().map(|a| a.var.into()).collect();
        let (outer, more) = at.split_at(self.outer.len());
        let body = e.body(|e| {
            let mut c = Copier { program: e.p, with };
            let before = c.body(&Body { stmts: self.before.clone(), results: Vec::new() });
            let with = c.with;
            e.stmts.extend(before.stmts);
            f(e, &with, outer, more)
        });
        let rank = self.outer.len();
        let pat: Vec<Var> = like
            .iter()
            .map(|v| {
                let mut info = e.p.vars[*v].clone();
                info.ty.dims.splice(rank..rank, dims.iter().copied());
                e.p.fresh(info.name.as_str(), info.ty)
            })
            .collect();
        e.push(pat.clone(), Exp::Map { axes, body });
        pat.into_iter().map(Atom::Var).collect()
    }

    /// The state after a piece.
    pub fn piece(&self, e: &mut Emit<'_>, piece: &Piece, state: &[Atom]) -> Vec<Atom> {
        if self.pick.is_some() {
            return after(e, piece, self, state);
        }
        let Some((before, count)) = piece.at.get(&self.along).copied() else { return state.to_vec() };
        let (body, index) = match &self.inner {
            Exp::Reduce { body, axis, .. }
            | Exp::For { body, axis, .. }
            | Exp::Scatter { body, axis, .. } => (body, axis.var),
            _ => return state.to_vec(),
        };
        let (body, place) = piece.local(e, body, index, self.along);
        let with = piece.with(self.along);
        let items = Items { with, fold: self, body, index, place, before };
        match &self.inner {
            Exp::Scatter { dests, combine, .. } => match combine {
                Some(op) if !self.exact => items.scatter_in_order(e, dests, op, count, state),
                _ => items.scatter(e, dests, combine.as_ref(), (Atom::int(0), count), state),
            },
            Exp::For { state: own, .. } => items.loop_(e, own, count, state),
            Exp::Reduce { op, .. } => {
                let some = e.op("some", ScalarOp::Gt, &[before, Atom::int(0)]);
                let begun = op.start.is_none().then_some(some);
                match piece.tile.filter(|_| self.is_tiled(piece.root)) {
                    _ if !op.assoc => items.reduce(e, op, (Atom::int(0), count), Some(state)),
                    Some(tile) => items.tiles(e, op, (tile, count), state, begun),
                    None if self.exact => items.exact(e, op, count, state, begun),
                    None => items.serial(e, op, count, state, begun),
                }
            }
            _ => state.to_vec(),
        }
    }
}

/// Whether what a reduction, scan or scatter combines may be combined in any grouping, to the bit.
pub(super) fn is_exact(exp: &Exp, p: &Program) -> bool {
    if let Exp::Scatter { dests, combine, .. } = exp {
        let mut picks = true;
        combine.iter().for_each(|l| {
            l.body.for_each_stmt(&mut |s| {
                picks &= !matches!(&s.exp, Exp::Op(op, _) if !matches!(op, ScalarOp::Min2 | ScalarOp::Max2));
            });
        });
        return picks || dests.iter().all(|v| !p.vars[*v].ty.base.is_float());
    }
    let (Exp::Reduce { op, .. } | Exp::Scan { op, .. }) = exp else { return false };
    let Some(ops) = op.component_ops() else { return false };
    ops.iter()
        .zip(&op.lambda.params)
        .all(|(op, v)| !p.vars[*v].ty.base.is_float() || matches!(op, ScalarOp::Min2 | ScalarOp::Max2))
}

/// A value that is never read.
pub(super) fn nothing(e: &mut Emit<'_>, like: Var) -> Atom {
    let ty = e.p.vars[like].ty.clone();
    let none = Atom::Const(zero(ty.base));
    if ty.is_scalar() {
        return none;
    }
    let axes = ty.dims.iter().map(|d| Axis { var: e.p.fresh("i", Ty::int()), size: *d }).collect();
    let body = Body { stmts: Vec::new(), results: vec![none] };
    e.let_("nothing", ty, Exp::Map { axes, body })
}

impl Items<'_> {
    /// Items from number `first` on, as many as `count`.
    fn scatter(
        &self,
        e: &mut Emit<'_>,
        dests: &[Var],
        combine: Option<&Lambda>,
        (first, count): (Atom, Atom),
        state: &[Atom],
    ) -> Vec<Atom> {
        let i = e.p.fresh("i", Ty::int());
        let body = e.body(|e| {
            let k = match first.as_int() {
                Some(0) => i.into(),
                _ => e.op("k", ScalarOp::Add, &[first, i.into()]),
            };
            self.item(e, &self.with, k)
        });
        let combine = combine.map(|l| lambda(e, l, &self.with));
        let pat = e.fresh_like(dests, &[]);
        let dests = state.iter().filter_map(|a| a.as_var()).collect();
        e.push(pat.clone(), Exp::Scatter { dests, axis: Axis { var: i, size: count }, body, combine });
        pat.into_iter().map(Atom::Var).collect()
    }

    /// What rounds is combined one item after the other.
    fn scatter_in_order(
        &self,
        e: &mut Emit<'_>,
        dests: &[Var],
        combine: &Lambda,
        count: Atom,
        state: &[Atom],
    ) -> Vec<Atom> {
        let i = e.p.fresh("i", Ty::int());
        let carried = e.fresh_like(dests, &[]);
        let now: Vec<Atom> = carried.iter().map(|v| Atom::Var(*v)).collect();
        let one = (i.into(), Atom::int(1));
        let body = e.body(|e| self.scatter(e, dests, Some(combine), one, &now));
        for_(e, carried, state.to_vec(), (i, count), body)
    }

    fn loop_(&self, e: &mut Emit<'_>, own: &[(Var, Atom)], count: Atom, state: &[Atom]) -> Vec<Atom> {
        let like: Vec<Var> = own.iter().map(|(v, _)| *v).collect();
        self.fold.points(e, &self.with, |e, with, at| {
            let now: Vec<Atom> = state.iter().map(|s| e.at(*s, at)).collect();
            let i = e.p.fresh("i", Ty::int());
            let carried = e.fresh_like(&like, &[]);
            let mut with = with.clone();
            with.extend(like.iter().zip(&carried).map(|(v, c)| (*v, Atom::Var(*c))));
            let body = e.body(|e| self.item(e, &with, i.into()));
            for_(e, carried, now, (i, count), body)
        })
    }

    /// The reduction of items from number `first` on, as many as `count`, from a state or from the first of them.
    fn reduce(
        &self,
        e: &mut Emit<'_>,
        op: &Combine,
        (first, count): (Atom, Atom),
        state: Option<&[Atom]>,
    ) -> Vec<Atom> {
        self.fold.points(e, &self.with, |e, with, at| {
            let start = state.map(|s| s.iter().map(|a| e.at(*a, at)).collect());
            self.reduced(e, with, op, (first, count), start)
        })
    }

    /// The same at one point.
    fn reduced(
        &self,
        e: &mut Emit<'_>,
        with: &FxHashMap<Var, Atom>,
        op: &Combine,
        (first, count): (Atom, Atom),
        start: Option<Vec<Atom>>,
    ) -> Vec<Atom> {
        let j = e.p.fresh("j", Ty::int());
        let body = e.body(|e| {
            let k = match first.as_int() {
                Some(0) => j.into(),
                _ => e.op("k", ScalarOp::Add, &[first, j.into()]),
            };
            self.item(e, with, k)
        });
        let pat = accumulators(e, op, with);
        let lambda = lambda(e, &op.lambda, with);
        let combine = Combine { lambda, start, assoc: op.assoc, alone: op.alone };
        e.push(pat.clone(), Exp::Reduce { axis: Axis { var: j, size: count }, body, op: combine });
        pat.into_iter().map(Atom::Var).collect()
    }

    /// Of an exact operator; `begun` says whether there is a state, where that is not sure.
    fn exact(
        &self,
        e: &mut Emit<'_>,
        op: &Combine,
        count: Atom,
        state: &[Atom],
        begun: Option<Atom>,
    ) -> Vec<Atom> {
        let all = (Atom::int(0), count);
        let Some(begun) = begun else { return self.reduce(e, op, all, Some(state)) };
        let like = &self.fold.pat;
        let any = e.op("any", ScalarOp::Gt, &[count, Atom::int(0)]);
        e.branch(
            any,
            like,
            |e| {
                e.branch(
                    begun,
                    like,
                    |e| self.reduce(e, op, all, Some(state)),
                    |e| self.reduce(e, op, all, None),
                )
            },
            |_| state.to_vec(),
        )
    }

    /// Of an operator that rounds, one item after the other.
    fn serial(
        &self,
        e: &mut Emit<'_>,
        op: &Combine,
        count: Atom,
        state: &[Atom],
        begun: Option<Atom>,
    ) -> Vec<Atom> {
        let Some(begun) = begun else {
            let op = Combine { assoc: false, ..op.clone() };
            return self.reduce(e, &op, (Atom::int(0), count), Some(state));
        };
        self.in_order(e, op, count, (state, Some(begun)), |e, with, _, i| self.item(e, with, i))
    }

    /// Combines a state with what `part` gives, of so many parts, one after the other. At a point `part` is given what
    /// stands for what, the places of the point, and the number of the part.
    fn in_order(
        &self,
        e: &mut Emit<'_>,
        op: &Combine,
        count: Atom,
        (state, begun): (&[Atom], Option<Atom>),
        part: impl FnOnce(&mut Emit<'_>, &FxHashMap<Var, Atom>, &[Atom], Atom) -> Vec<Atom>,
    ) -> Vec<Atom> {
        self.fold.points(e, &self.with, |e, with, at| {
            let now: Vec<Atom> = state.iter().map(|s| e.at(*s, at)).collect();
            let i = e.p.fresh("i", Ty::int());
            let carried = accumulators(e, op, with);
            let body = e.body(|e| {
                let one = part(e, with, at, i.into());
                let before: Vec<Atom> = carried.iter().map(|v| Atom::Var(*v)).collect();
                let Some(begun) = begun else { return apply(e, op, with, &before, &one) };
                let later = e.op("later", ScalarOp::Gt, &[i.into(), Atom::int(0)]);
                let some = e.op("some", ScalarOp::Or, &[begun, later]);
                e.branch(some, &carried, |e| apply(e, op, with, &before, &one), |_| one.clone())
            });
            for_(e, carried, now, (i, count), body)
        })
    }

    /// Of an operator that rounds, tile by tile.
    fn tiles(
        &self,
        e: &mut Emit<'_>,
        op: &Combine,
        (tile, count): (Atom, Atom),
        state: &[Atom],
        begun: Option<Atom>,
    ) -> Vec<Atom> {
        let like = &self.fold.pat;
        let tiles = e.op("tiles", ScalarOp::Quotient, &[count, tile]);
        let full = e.op("full", ScalarOp::Mul, &[tiles, tile]);
        let rest = e.op("rest", ScalarOp::Sub, &[count, full]);
        let alone = Combine { alone: true, ..op.clone() };
        let each = self.fold.points_over(e, &self.with, (&["t"], &[tiles]), like, |e, with, _, t| {
            let first = e.op("first", ScalarOp::Mul, &[t[0], tile]);
            self.reduced(e, with, &alone, (first, tile), None)
        });
        let sum = self.in_order(e, op, tiles, (state, begun), |e, _, at, t| {
            let places: Vec<Atom> = at.iter().copied().chain([t]).collect();
            each.iter().map(|a| e.at(*a, &places)).collect()
        });
        let any = e.op("any", ScalarOp::Gt, &[rest, Atom::int(0)]);
        e.branch(
            any,
            like,
            |e| {
                let last = self.reduce(e, op, (full, rest), None);
                let with = &self.with;
                let both = |e: &mut Emit<'_>| {
                    self.fold.points(e, with, |e, with, at| {
                        let a: Vec<Atom> = sum.iter().map(|s| e.at(*s, at)).collect();
                        let b: Vec<Atom> = last.iter().map(|s| e.at(*s, at)).collect();
                        apply(e, op, with, &a, &b)
                    })
                };
                let Some(begun) = begun else { return both(e) };
                let earlier = e.op("earlier", ScalarOp::Gt, &[tiles, Atom::int(0)]);
                let some = e.op("some", ScalarOp::Or, &[begun, earlier]);
                e.branch(some, like, both, |_| last.clone())
            },
            |_| sum.clone(),
        )
    }
}

/// A loop that carries these variables, from these values on; what they are at its end.
fn for_(
    e: &mut Emit<'_>,
    carried: Vec<Var>,
    now: Vec<Atom>,
    (i, count): (Var, Atom),
    body: Body,
) -> Vec<Atom> {
    let pat = e.fresh_like(&carried, &[]);
    let state = carried.into_iter().zip(now).collect();
    e.push(pat.clone(), Exp::For { axis: Axis { var: i, size: count }, state, body });
    pat.into_iter().map(Atom::Var).collect()
}

/// Variables of the types of an operator's accumulators.
fn accumulators(e: &mut Emit<'_>, op: &Combine, with: &FxHashMap<Var, Atom>) -> Vec<Var> {
    fresh_in(e, &op.lambda.params[..op.lambda.body.results.len()], with)
}

/// Variables of these types, with sizes replaced.
pub(super) fn fresh_in(e: &mut Emit<'_>, vars: &[Var], with: &FxHashMap<Var, Atom>) -> Vec<Var> {
    let end = |a: &Atom| a.as_var().and_then(|v| with.get(&v)).copied().unwrap_or(*a);
    let infos: Vec<VarInfo> = vars.iter().map(|v| e.p.vars[*v].clone()).collect();
    let fresh = |i: VarInfo| {
        let ty = Ty { base: i.ty.base, dims: i.ty.dims.iter().map(end).collect() };
        e.p.fresh(i.name.as_str(), ty)
    };
    infos.into_iter().map(fresh).collect()
}

/// What an operator makes of accumulators and items.
pub(super) fn apply(
    e: &mut Emit<'_>,
    op: &Combine,
    with: &FxHashMap<Var, Atom>,
    before: &[Atom],
    item: &[Atom],
) -> Vec<Atom> {
    let mut with = with.clone();
    with.extend(op.lambda.params.iter().copied().zip(before.iter().chain(item).copied()));
    e.copy(&op.lambda.body, &with)
}

/// A copy of a function.
pub(super) fn lambda(e: &mut Emit<'_>, l: &Lambda, with: &FxHashMap<Var, Atom>) -> Lambda {
    let params: Vec<Var> = l
        .params
        .iter()
        .map(|v| {
            let mut info = e.p.vars[*v].clone();
            for d in &mut info.ty.dims {
                *d = d.as_var().and_then(|v| with.get(&v)).copied().unwrap_or(*d);
            }
            e.p.vars.push(info)
        })
        .collect();
    let mut with = with.clone();
    with.extend(l.params.iter().zip(&params).map(|(v, p)| (*v, Atom::Var(*p))));
    let body = e.body(|e| e.copy(&l.body, &with));
    Lambda { params, body }
}

pub(super) const TRUE: Atom = Atom::Const(Scalar::Bool(true));
