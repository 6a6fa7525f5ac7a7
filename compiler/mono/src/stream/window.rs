//! Axes that are a few items shorter than another one, where what is made of an item looks so many places ahead.
//!
//! ```text
//! (let (%m) (op - %n 1))                              in the loop
//! (let (%d) (map ((%i %m))                            (let (%all) (append %last %x))        %last: an item, or none
//!   (let (%a) (index %x %i))                   ⟶      (let (%m) (op - (+ %b %c) 1))         at least 0
//!   (let (%j) (op + %i 1))                            (let (%d) (map ((%i %m)) … (index %all %i) … (index %all (+ %i 1)) …))
//!   (let (%b) (index %x %j)) …))                      (let (%last') (view slice … %all))    for the next piece
//! ```
//!
//! The state is the last items of what has been there, as many as the widest look ahead needs, fewer at first.

use super::emit::Emit;
use super::fold::{Fold, Piece};
use super::*;
use remc_base::ops::ScalarOp;

/// The most places that are looked ahead: so many items stay from piece to piece.
const WIDEST: i64 = 1 << 16;

impl Streamer<'_> {
    /// Whether a statement computes the size of a shorter axis, which is one from then on.
    pub fn shorter(&mut self, s: &Stmt) {
        let ([v], Exp::Op(op @ (ScalarOp::Add | ScalarOp::Sub), args)) = (&s.pat[..], &s.exp) else { return };
        let by = match (op, args[0], args[1]) {
            (ScalarOp::Add, n, c) | (ScalarOp::Add, c, n) if c.as_int().is_some_and(|c| c < 0) => {
                c.as_int().map(|c| (n, -c))
            }
            (ScalarOp::Sub, n, c) => c.as_int().filter(|c| *c > 0).map(|c| (n, c)),
            _ => None,
        };
        let Some((n, width)) = by else { return };
        let Some(of) = self.streamed(n).filter(|_| width <= WIDEST) else { return };
        let axis = self.axis(*v, Some(self.t.axes[of].root), None);
        self.t.axes[axis].window = Some(Window { of, width });
    }

    /// The arrays of which the last items stay, for these definitions and folds, and how many.
    pub fn tails(&self, defs: &[&Stmt], folds: &[Fold]) -> Vec<(Var, i64)> {
        let mut wanted: std::collections::BTreeMap<Var, i64> = std::collections::BTreeMap::new();
        let mut look = |exp: &Exp, axis: usize| {
            let mut see = |a: Atom| {
                if let Some(v) = a.as_var()
                    && let Some(width) = self.t.along.get(&v).and_then(|a| self.t.shorter_by(axis, a.axis))
                {
                    let most = wanted.entry(v).or_insert(0);
                    *most = width.max(*most);
                }
            };
            exp.for_each_operand(&mut see);
            exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut see));
        };
        for s in defs {
            match &s.exp {
                Exp::View { .. } => {
                    s.pat.iter().filter_map(|v| self.t.along.get(v)).for_each(|a| look(&s.exp, a.axis));
                }
                exp => exp.axes().iter().filter_map(|a| self.streamed(a.size)).for_each(|a| look(exp, a)),
            }
            if let Some(scan) = Fold::scan(self, s) {
                look(&scan.inner, scan.along);
            }
        }
        for f in folds {
            look(&f.inner, f.along);
        }
        // Of all arrays along one axis as many stay.
        let axis = |v: &Var| self.t.along[v].axis;
        let most = |v: &Var| wanted.iter().filter(|(x, _)| axis(x) == axis(v)).map(|(_, n)| *n).max();
        wanted.keys().filter_map(|v| Some((*v, most(v)?))).collect()
    }
}

impl Tables {
    /// By how many items an axis is shorter than another one.
    pub fn shorter_by(&self, short: usize, of: usize) -> Option<i64> {
        let ((a, by), (b, than)) = (self.longest(short), self.longest(of));
        (a == b && by > than).then_some(by - than)
    }

    /// The axis that is shorter than no other one and that this one is part of, and by how much this one is shorter.
    fn longest(&self, mut axis: usize) -> (usize, i64) {
        let mut width = 0;
        while let Some(w) = self.axes[axis].window {
            width += w.width;
            axis = w.of;
        }
        (axis, width)
    }

    /// The axis of a slice of an array along `axis` that leaves out some first and last items, and how many first ones.
    pub fn window_slice(&self, axis: usize, start: &[Atom], dims: &[Atom]) -> Option<(usize, i64)> {
        let short = self.streamed(*dims.first()?)?;
        let width = self.shorter_by(short, axis)?;
        let first = start.first()?.as_int()?;
        let rest = start.len() == 1;
        (rest && (0..=width).contains(&first)).then_some((short, first))
    }

    /// Whether an array along `of` is read no further than it may be from the item `i` of a shorter axis.
    pub fn looks_ahead(
        &self,
        short: usize,
        of: usize,
        i: Var,
        at: Atom,
        found: &FxHashMap<Var, &Exp>,
        sizes: &FxHashMap<Var, i64>,
    ) -> bool {
        let Some(width) = self.shorter_by(short, of) else { return false };
        if at == Atom::Var(i) {
            return true;
        }
        let Some(Exp::Op(ScalarOp::Add, args)) = at.as_var().and_then(|v| found.get(&v)) else {
            return false;
        };
        let far = |a: Atom| match a {
            Atom::Const(_) => a.as_int().filter(|c| *c >= 0),
            Atom::Var(v) => sizes.get(&v).map(|n| n - 1),
        };
        let other = if args[0] == Atom::Var(i) { args[1] } else { args[0] };
        args.contains(&Atom::Var(i)) && far(other).is_some_and(|d| d <= width)
    }
}

/// The last items of an array from piece to piece. In the state the stream's axis is the first one.
pub(super) struct Tail {
    pub array: Var,
    /// Which axis of the array is the stream's.
    dim: usize,
    width: i64,
    /// How many there are, and what they are.
    pub count: Var,
    pub items: Var,
}

/// The last items before those of a piece, and these.
#[derive(Clone, Copy)]
pub(super) struct There {
    count: Atom,
    /// With the stream's axis as the first one.
    items: Var,
    /// As the array is.
    pub array: Var,
}

impl Tail {
    /// The state of a loop, whose variables are bound by it.
    pub fn new(e: &mut Emit<'_>, dim: usize, (array, width): (Var, i64)) -> Tail {
        let count = e.p.fresh("kept", Ty::int());
        let mut info = e.p.vars[array].clone();
        info.ty.dims.remove(dim);
        info.ty.dims.insert(0, count.into());
        let items = e.p.vars.push(info);
        Tail { array, dim, width, count, items }
    }

    /// No items.
    pub fn first(&self, e: &mut Emit<'_>) -> Atom {
        let mut ty = e.p.vars[self.items].ty.clone();
        ty.dims.first_mut().into_iter().for_each(|d| *d = Atom::int(0));
        let axes = ty.dims.iter().map(|d| Axis { var: e.p.fresh("i", Ty::int()), size: *d }).collect();
        let none = Atom::Const(remc_base::ops::zero(ty.base));
        e.let_("none", ty, Exp::Map { axes, body: Body { stmts: Vec::new(), results: vec![none] } })
    }

    /// The items before those of a piece, and these.
    pub fn there(&self, e: &mut Emit<'_>, piece: &Piece, axis: usize) -> Option<There> {
        let part = piece.with.get(&self.array)?.as_var()?;
        let (_, own) = piece.at.get(&axis).copied()?;
        let (rank, dim) = (e.p.vars[part].ty.rank(), self.dim);
        let first = (0..rank).map(|k| if k == 0 { dim } else { k - usize::from(k <= dim) }).collect();
        let part = permuted(e, part, first);
        let count = e.op("there", ScalarOp::Add, &[self.count.into(), own]);
        let items = e.resized(part, count);
        e.push(vec![items], Exp::View { view: View::Append { with: part }, array: self.items });
        let back = (0..rank).map(|k| if k == dim { 0 } else { k + usize::from(k < dim) }).collect();
        let array = permuted(e, items, back);
        Some(There { count, items, array })
    }

    /// The last items now: how many, and which.
    pub fn next(&self, e: &mut Emit<'_>, there: There) -> [Atom; 2] {
        let kept = e.op("kept", ScalarOp::Min2, &[there.count, Atom::int(self.width)]);
        let first = e.op("first", ScalarOp::Sub, &[there.count, kept]);
        let last = e.resized(there.items, kept);
        let view = View::Slice { start: vec![first], dims: vec![kept] };
        e.push(vec![last], Exp::View { view, array: there.items });
        [kept, last.into()]
    }
}

/// An array with its axes in another order.
fn permuted(e: &mut Emit<'_>, array: Var, perm: Vec<usize>) -> Var {
    if perm.is_sorted() {
        return array;
    }
    let mut info = e.p.vars[array].clone();
    info.ty.dims = perm.iter().map(|k| info.ty.dims[*k]).collect();
    let view = e.p.vars.push(info);
    e.push(vec![view], Exp::View { view: View::Permute { perm }, array });
    view
}

/// Of a shorter axis in a piece: how many items were before, and are in it.
pub(super) fn placed(e: &mut Emit<'_>, piece: &Piece, w: Window) -> Option<(Atom, Atom)> {
    let (before, count) = piece.at.get(&w.of).copied()?;
    let (width, zero) = (Atom::int(w.width), Atom::int(0));
    let short = e.op("before", ScalarOp::Sub, &[before, width]);
    let at = e.op("before", ScalarOp::Max2, &[short, zero]);
    let end = e.op("end", ScalarOp::Add, &[before, count]);
    let end = e.op("end", ScalarOp::Sub, &[end, width]);
    let end = e.op("end", ScalarOp::Max2, &[end, zero]);
    Some((at, e.op("items", ScalarOp::Sub, &[end, at])))
}
