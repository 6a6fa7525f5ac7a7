//! Which of two values goes before the other, for values of any type.

use super::{INT, choose, until};
use crate::build::emit::FALSE;
use crate::build::opaque::is_known;
use crate::build::val::{Boxed, Val};
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use remc_base::ops::ScalarOp;
use remc_base::*;

/// A value and its closed type.
type Of<'v, 'a> = (&'v Val<'a>, &'v ArrTy);

/// Whether a scalar goes before another: `nan` is last, and both zeros are one.
pub fn less(b: &mut Build<'_>, x: Atom, y: Atom) -> R<Atom> {
    match b.base_of(x) {
        BaseTy::Char => b.op(ScalarOp::CharLt, &[x, y]),
        BaseTy::Bool => {
            let not = b.op(ScalarOp::Not, &[x])?;
            b.op(ScalarOp::And, &[not, y])
        }
        base if base.is_float() => {
            let less = b.op(ScalarOp::Lt, &[x, y])?;
            let (last, number) = (b.op(ScalarOp::Ne, &[y, y])?, b.op(ScalarOp::Eq, &[x, x])?);
            let last = b.op(ScalarOp::And, &[last, number])?;
            b.op(ScalarOp::Or, &[less, last])
        }
        _ => b.op(ScalarOp::Lt, &[x, y]),
    }
}

/// -1, 0 or 1, as a scalar goes before another, is equal to it, or goes after it.
fn sign(b: &mut Build<'_>, x: Atom, y: Atom) -> R<Atom> {
    let (less, more) = (less(b, x, y)?, less(b, y, x)?);
    let rest = b.op(ScalarOp::Select, &[more, Atom::int(1), Atom::int(0)])?;
    b.op(ScalarOp::Select, &[less, Atom::int(-1), rest])
}

/// The same of all values, as the interpreter has it: arrays as lists of their items, tuples field by field, boxes by
/// their contents and then what they hide.
pub fn compare<'a>(b: &mut Build<'a>, (x, x_ty): Of<'_, 'a>, (y, y_ty): Of<'_, 'a>) -> R<Atom> {
    if !(x_ty.shape.is_scalar() && y_ty.shape.is_scalar()) {
        return arrays(b, (x, x_ty), (y, y_ty));
    }
    match (x, y, &x_ty.atom, &y_ty.atom) {
        (Val::Base(x), Val::Base(y), ..) => sign(b, *x, *y),
        (
            Val::Tuple { fields: xs, .. },
            Val::Tuple { fields: ys, .. },
            AtomTy::Tuple(p),
            AtomTy::Tuple(q),
        ) => {
            let types = p.fields.iter().zip(&q.fields);
            let all = xs.iter().zip(ys.iter()).zip(types);
            all.into_iter().try_fold(Atom::int(0), |order, ((x, y), ((_, t), (_, u)))| {
                then(b, order, |b| compare(b, (x, t), (y, u)))
            })
        }
        (Val::Box(x), Val::Box(y), ..) => boxes(b, x, y),
        (Val::Fns { .. }, Val::Fns { .. }, ..) => Ok(Atom::int(0)),
        _ => bug("values of two types are compared"),
    }
}

/// What was found, or where that is 0, what else is.
fn then<'a>(b: &mut Build<'a>, order: Atom, next: impl FnOnce(&mut Build<'a>) -> R<Atom>) -> R<Atom> {
    let equal = b.equal(order, Atom::int(0))?;
    choose(b, equal, &INT, next, |_| Ok(order))
}

fn boxes<'a>(b: &mut Build<'a>, x: &Boxed<'a>, y: &Boxed<'a>) -> R<Atom> {
    let (AtomTy::Sigma(p), AtomTy::Sigma(q)) = (&x.ty, &y.ty) else { return bug("boxes that are none") };
    let contents = |q: &SigmaTy, witnesses: &[Index]| {
        let mut subst = Subst::new();
        q.params.iter().zip(witnesses).for_each(|(p, w)| subst.bind_index(p, w.clone()));
        subst.arr(&q.body)
    };
    let (x_ty, y_ty) = (contents(p, &x.witnesses), contents(q, &y.witnesses));
    let mut order = compare(b, (&x.contents, &x_ty), (&y.contents, &y_ty))?;
    for (p, (v, w)) in p.params.iter().zip(x.witnesses.iter().zip(&y.witnesses)) {
        // Contents of other shapes differ already.
        let shown = match Index::from(p.clone()) {
            Index::Dim(d) => ShapeItem::Dim(d),
            Index::Shape(s) => s.items()[0].clone(),
        };
        if !q.body.shape.items().contains(&shown) {
            order = then(b, order, |b| indices(b, v, w))?;
        }
    }
    Ok(order)
}

/// What two boxes hide: the lesser dim; of shapes, the first different one, or the shorter.
fn indices<'a>(b: &mut Build<'a>, v: &Index, w: &Index) -> R<Atom> {
    match (v, w) {
        (Index::Dim(v), Index::Dim(w)) => {
            let (v, w) = (b.size(v)?, b.size(w)?);
            sign(b, v, w)
        }
        (Index::Shape(v), Index::Shape(w)) => {
            let (m, n) = (b.rank(v)?, b.rank(w)?);
            let (v, w) = (b.dims_vector(v)?, b.dims_vector(w)?);
            let count = b.op(ScalarOp::Min2, &[m, n])?;
            let order = first_difference(b, count, |b, i| {
                let (x, y) = (b.index(v, &[i])?, b.index(w, &[i])?);
                sign(b, x, y)
            })?;
            then(b, order, |b| sign(b, m, n))
        }
        _ => bug("a dim in the place of a shape"),
    }
}

fn arrays<'a>(b: &mut Build<'a>, (x, x_ty): Of<'_, 'a>, (y, y_ty): Of<'_, 'a>) -> R<Atom> {
    let (common, rest) = met(b, &x_ty.shape, &y_ty.shape)?;
    let (x_dims, y_dims) = (b.dims_of(x), b.dims_of(y));
    let (t, u) = (ArrTy::scalar(x_ty.atom.clone()), ArrTy::scalar(y_ty.atom.clone()));
    let order = first_difference(b, common, |b, p| {
        let (at_x, at_y) = (unravelled(b, p, &x_dims)?, unravelled(b, p, &y_dims)?);
        let (x, y) = (b.cell(x, &at_x)?, b.cell(y, &at_y)?);
        compare(b, (&x, &t), (&y, &u))
    })?;
    then(b, order, |_| Ok(rest))
}

/// The first of `count` comparisons that is not 0, or 0.
fn first_difference<'a>(
    b: &mut Build<'a>,
    count: Atom,
    compare: impl FnOnce(&mut Build<'a>, Atom) -> R<Atom>,
) -> R<Atom> {
    let goes_on = |b: &mut Build<'a>, [p, order]: [Atom; 2]| {
        let (more, equal) = (b.op(ScalarOp::Lt, &[p, count])?, b.op(ScalarOp::Eq, &[order, Atom::int(0)])?);
        b.op(ScalarOp::And, &[more, equal])
    };
    let [_, order] = until(b, [Atom::int(0), Atom::int(0)], goes_on, |b, [p, _]| {
        let order = compare(b, p)?;
        Ok([b.op(ScalarOp::Add, &[p, Atom::int(1)])?, order])
    })?;
    Ok(order)
}

/// The index vector of a position in row-major order.
fn unravelled(b: &mut Build<'_>, p: Atom, dims: &[Atom]) -> R<Vec<Atom>> {
    let mut at = vec![p; dims.len()];
    let mut rest = p;
    for k in (1..dims.len()).rev() {
        at[k] = b.op(ScalarOp::Modulo, &[rest, dims[k]])?;
        rest = b.op(ScalarOp::Quotient, &[rest, dims[k]])?;
    }
    if let Some(first) = at.first_mut() {
        *first = rest;
    }
    Ok(at)
}

/// How many elements two arrays of these shapes have at the same places before one of them is at the end of a row, and
/// how they compare if those are equal: see the interpreter's `arrays`.
fn met(b: &mut Build<'_>, s: &Shape, t: &Shape) -> R<(Atom, Atom)> {
    let (some, others) = (b.sizes(s)?, b.sizes(t)?);
    let (some, others) = (b.product(&some)?, b.product(&others)?);
    if s == t {
        return Ok((some, Atom::int(0)));
    }
    let (m, n) = (b.rank(s)?, b.rank(t)?);
    let start = [FALSE, Atom::int(1), some, Atom::int(0)];
    let [_, _, common, rest] = if is_known(s) && is_known(t) {
        let (s, t) = (b.sizes(s)?, b.sizes(t)?);
        s.iter().zip(&t).rev().try_fold(start, |state, (x, y)| axis(b, state, *x, *y))?
    } else {
        let (s, t) = (b.dims_vector(s)?, b.dims_vector(t)?);
        let least = b.op(ScalarOp::Min2, &[m, n])?;
        b.each(least, start, |b, j, state| {
            let k = b.op(ScalarOp::Sub, &[least, j])?;
            let k = b.op(ScalarOp::Sub, &[k, Atom::int(1)])?;
            let (x, y) = (b.index(s, &[k])?, b.index(t, &[k])?);
            axis(b, state, x, y)
        })?
    };
    // Nothing goes before something, and fewer axes before more.
    let (x, y) = (b.op(ScalarOp::Gt, &[some, Atom::int(0)])?, b.op(ScalarOp::Gt, &[others, Atom::int(0)])?);
    let (full, alike) = (b.op(ScalarOp::And, &[x, y])?, b.op(ScalarOp::Eq, &[x, y])?);
    let common = b.op(ScalarOp::Select, &[full, common, Atom::int(0)])?;
    let emptier = b.op(ScalarOp::Select, &[x, Atom::int(1), Atom::int(-1)])?;
    let rest = b.op(ScalarOp::Select, &[alike, rest, emptier])?;
    let same_rank = b.equal(m, n)?;
    let common = b.op(ScalarOp::Select, &[same_rank, common, Atom::int(0)])?;
    let ranks = sign(b, m, n)?;
    Ok((common, b.op(ScalarOp::Select, &[same_rank, rest, ranks])?))
}

/// One axis, from the last to the first: whether a different one was met, how many elements there are in each place
/// of the axes before, and the results so far.
fn axis(b: &mut Build<'_>, [met, inner, common, rest]: [Atom; 4], x: Atom, y: Atom) -> R<[Atom; 4]> {
    let same = b.equal(x, y)?;
    let settled = b.op(ScalarOp::Or, &[met, same])?;
    let shorter = b.op(ScalarOp::Min2, &[x, y])?;
    let shorter = b.op(ScalarOp::Mul, &[shorter, inner])?;
    let order = sign(b, x, y)?;
    let differs = b.op(ScalarOp::Not, &[same])?;
    Ok([
        b.op(ScalarOp::Or, &[met, differs])?,
        b.op(ScalarOp::Mul, &[inner, x])?,
        b.op(ScalarOp::Select, &[settled, common, shorter])?,
        b.op(ScalarOp::Select, &[settled, rest, order])?,
    ])
}
