//! Spaces: all elements of an array that has a size of its own in each iteration.
//!
//! ```text
//! counts  [2 0 3]       starts  [0 2 2]       total 5       segment  [0 0 2 2 2]
//! ```
//!
//! The segment of a point says to which iteration it belongs: the number of each iteration with elements is
//! written where its elements start, and spread to the right by a running maximum. Where all iterations have as many
//! elements, it is computed.

use super::{Distributor, Level};
use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;

#[derive(Clone, Copy)]
pub(super) struct Space {
    pub points: Points,
    /// Of each element, the iteration that it belongs to.
    pub segment: Var,
    /// How many elements each iteration has, if that is the same for all.
    pub each: Option<Atom>,
}

/// Elements of all iterations, one iteration after the other.
#[derive(Clone, Copy)]
pub(super) struct Points {
    /// Where those of each iteration start.
    pub starts: Var,
    /// How many there are in all.
    pub total: Atom,
}

impl Distributor<'_> {
    /// The space of arrays that have these dims in the body.
    pub(super) fn space(&mut self, level: &mut Level, dims: &[Atom]) -> Space {
        if let Some((_, s)) = level.spaces.iter().find(|(d, _)| d == dims) {
            return *s;
        }
        if dims.iter().all(|d| d.as_var().is_none_or(|v| !level.lifted.contains_key(&v))) {
            let space = self.space_of_equal(level.count, dims);
            level.spaces.push((dims.to_vec(), space));
            return space;
        }
        let sizes = self.body_of(|this| vec![this.product(dims)]);
        let counts = self.over_points(level, &sizes)[0];
        let space = self.space_of(level.count, counts);
        level.spaces.push((dims.to_vec(), space));
        space
    }

    /// The space of as many elements in each of `n` iterations as in the others: where one begins is a product, and the
    /// iteration of an element a quotient.
    fn space_of_equal(&mut self, n: Atom, dims: &[Atom]) -> Space {
        let size = self.product(dims);
        let total = self.op(ScalarOp::Mul, n, size);
        let starts = self.ints("starts", n, |this, i| this.op(ScalarOp::Mul, i, size));
        let segment = self.ints("segment", total, |this, q| this.op(ScalarOp::Quotient, q, size));
        Space { points: Points { starts, total }, segment, each: Some(size) }
    }

    /// The space of so many elements in each of `n` iterations.
    pub(super) fn space_of(&mut self, n: Atom, counts: Var) -> Space {
        // In this form it is often there already: it is how arrays of boxes are made.
        let more = self.op(ScalarOp::Add, n, Atom::int(1));
        let ends = self.running(ScanKind::Full, ScalarOp::Add, n, more, counts, "starts");
        let total = self.read(ends, n);
        let starts = self.p.fresh("starts", Ty { base: BaseTy::I64, dims: vec![n] });
        let view = View::Slice { start: vec![Atom::int(0)], dims: vec![n] };
        self.push(vec![starts], Exp::View { view, array: ends });
        let marks = self.ints("marks", total, |_, _| Atom::int(0));
        let i = self.int("i");
        let body = self.body_of(|this| {
            let count = this.read(counts, i.into());
            let start = this.read(starts, i.into());
            let some = this.op(ScalarOp::Gt, count, Atom::int(0));
            let place = this.int("place");
            this.push(vec![place], Exp::Op(ScalarOp::Select, vec![some, start, Atom::int(-1)]));
            vec![place.into(), i.into()]
        });
        let marked = self.p.fresh("marks", Ty { base: BaseTy::I64, dims: vec![total] });
        let axis = Axis { var: i, size: n };
        self.push(vec![marked], Exp::Scatter { dests: vec![marks], axis, body, combine: None });
        let segment = self.running(ScanKind::Inclusive, ScalarOp::Max2, total, total, marked, "segment");
        Space { points: Points { starts, total }, segment, each: None }
    }

    /// An operator of ints that are not negative, from 0 on.
    pub(super) fn combine(&mut self, op: ScalarOp) -> Combine {
        let params = vec![self.int("acc"), self.int("x")];
        let body = self.body_of(|this| vec![this.op(op, params[0].into(), params[1].into())]);
        Combine {
            lambda: Lambda { params, body },
            start: Some(vec![Atom::int(0)]),
            assoc: true,
            alone: false,
        }
    }

    /// The running sums or maxima of a vector of `n` ints that are not negative, `size` of them.
    pub(super) fn running(
        &mut self,
        kind: ScanKind,
        op: ScalarOp,
        n: Atom,
        size: Atom,
        xs: Var,
        name: &str,
    ) -> Var {
        let i = self.int("i");
        let body = self.body_of(|this| vec![this.read(xs, i.into())]);
        let op = self.combine(op);
        let v = self.p.fresh(name, Ty { base: BaseTy::I64, dims: vec![size] });
        self.push(vec![v], Exp::Scan { kind, axis: Axis { var: i, size: n }, body, op });
        v
    }

    /// The iteration of a point of a space, and the point's place among the iteration's own.
    pub(super) fn place(&mut self, space: &Space, point: Atom) -> (Atom, Atom) {
        if let Some(size) = space.each {
            return (self.op(ScalarOp::Quotient, point, size), self.op(ScalarOp::Modulo, point, size));
        }
        let s = self.read(space.segment, point);
        let start = self.read(space.points.starts, s);
        (s, self.op(ScalarOp::Sub, point, start))
    }
}
