//! Primitives that make and rearrange arrays.

use super::Call;
use crate::build::emit::TRUE;
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::*;
use std::rc::Rc;

pub(super) fn iota<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let dims = b.sizes(c.shape(0)?)?;
    let sizes = dims.clone();
    let a = b.tabulate("iota", BaseTy::I64, &dims, Vec::new(), |b, at| {
        at.iter().zip(&sizes).try_fold(Atom::int(0), |p, (i, n)| {
            let p = b.op(ScalarOp::Mul, &[p, *n])?;
            b.op(ScalarOp::Add, &[p, *i])
        })
    })?;
    Ok(Val::Base(a))
}

pub(super) fn replicate<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let axes = b.sizes(c.shape(0)?)?;
    b.replicate(c.arg(0)?, &axes)
}

fn elements<'a>(b: &mut Build<'a>, dims: &[Atom]) -> R<Atom> {
    let n = dims.iter().fold(Dim::constant(1), |n, d| n.mul(&b.dim_of(*d)));
    b.check_fits(&n, || "of the whole".into())?;
    b.size(&n)
}

pub(super) fn reshape<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let xs = c.arg(0)?;
    let from = b.dims_of(xs);
    let to = b.sizes(c.shape(1)?)?;
    if from == to {
        return Ok(xs.clone());
    }
    let (m, n) = (elements(b, &from)?, elements(b, &to)?);
    let cond = b.equal(m, n)?;
    let (was, is) = (b.shown(c.shape(0)?)?, b.shown(c.shape(1)?)?);
    b.check(Trap::Reshape { from: was.0, to: is.0 }, cond, &[&was.1, &[m], &is.1, &[n]])?;
    if cond != TRUE && cond.as_var().is_none() {
        return b.empty(&c.array(0, &[c.shape(1)?])?);
    }
    if from.is_empty() {
        // One element: the result is of dims 1.
        return b.replicate(xs, &to);
    }
    if to.is_empty() {
        let zeros = vec![Atom::int(0); from.len()];
        return b.cell(xs, &zeros);
    }
    if let Val::Boxes { ty, elems, .. } = xs
        && let Some(dims) = crate::build::array::static_sizes(&to)
    {
        return Ok(Val::Boxes { dims, ty: ty.clone(), elems: elems.clone() });
    }
    let k = from.len();
    b.rearrange(xs, k, &to, &mut |old| View::Reshape {
        dims: to.iter().chain(&old.dims[k..]).copied().collect(),
    })
}

pub(super) fn with_shape<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let xs = c.arg(1)?;
    let to = b.dims_of(c.arg(0)?);
    let from = b.dims_of(xs);
    if from == to {
        return Ok(xs.clone());
    }
    let (n, m) = (elements(b, &to)?, elements(b, &from)?);
    let some = b.less(Atom::int(0), m)?;
    let none = b.equal(n, Atom::int(0))?;
    let cond = b.op(ScalarOp::Or, &[none, some])?;
    let (rank, shape) = b.shown(c.shape(0)?)?;
    b.check(Trap::WithShape { rank }, cond, &[&shape])?;
    if from.is_empty() {
        return b.replicate(xs, &to);
    }
    if cond != TRUE && cond.as_var().is_none() {
        return b.empty(&c.array(1, &[c.shape(0)?])?);
    }
    if to.is_empty() {
        let zeros = vec![Atom::int(0); from.len()];
        return b.cell(xs, &zeros);
    }
    let k = from.len();
    b.rearrange(xs, k, &to, &mut |old| View::Cycle {
        dims: to.iter().chain(&old.dims[k..]).copied().collect(),
    })
}

pub(super) fn append<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let total = b.dim_of(c.count(b, 0)?).add(&b.dim_of(c.count(b, 1)?));
    b.check_fits_or(&total, || Trap::Append, &[])?;
    let total = b.size(&total)?;
    join(b, c.arg(0)?, c.arg(1)?, total)
}

/// The items of both arrays, `total` many.
pub(super) fn join<'a>(b: &mut Build<'a>, xs: &Val<'a>, ys: &Val<'a>, total: Atom) -> R<Val<'a>> {
    let over =
        |dims: &[Atom]| -> Vec<Atom> { std::iter::once(total).chain(dims.iter().skip(1).copied()).collect() };
    let leaf = |b: &mut Build<'a>, x: Atom, y: Atom| {
        let (Atom::Var(v), Atom::Var(with)) = (x, y) else { return bug("append of a scalar") };
        let old = b.program.ty(v).clone();
        b.view(View::Append { with }, x, Ty { base: old.base, dims: over(&old.dims) })
    };
    Ok(match (xs, ys) {
        (Val::Base(x), Val::Base(y)) => Val::Base(leaf(b, *x, *y)?),
        (Val::Tuple { frame, fields: x }, Val::Tuple { fields: y, .. }) if x.len() == y.len() => {
            let fields = x.iter().zip(y.iter()).map(|(x, y)| join(b, x, y, total)).collect::<R<Vec<_>>>()?;
            Val::Tuple { frame: over(frame), fields: fields.into() }
        }
        (Val::Fns { .. }, Val::Fns { .. }) => {
            let both = b.with_one_table(vec![xs.clone(), ys.clone()])?;
            let [Val::Fns { dims, table, fields: x }, Val::Fns { fields: y, .. }] = &both[..] else {
                return bug("append of functions that are none");
            };
            let fields = x.iter().zip(y.iter()).map(|(x, y)| join(b, x, y, total)).collect::<R<Vec<_>>>()?;
            Val::Fns { dims: over(dims), table: table.clone(), fields: fields.into() }
        }
        (Val::Boxes { dims, ty, elems: x }, Val::Boxes { dims: dims2, elems: y, .. }) => {
            let mut dims = dims.clone();
            dims[0] += dims2[0];
            Val::Boxes { dims, ty: ty.clone(), elems: x.iter().chain(y.iter()).cloned().collect() }
        }
        (Val::Boxes { ty, .. }, Val::Ragged(_)) | (Val::Ragged(_), Val::Boxes { ty, .. }) => {
            let (x, y) = (b.ragged(xs, ty)?, b.ragged(ys, ty)?);
            Val::Ragged(Rc::new(b.append_ragged(&x, &y, total)?))
        }
        (Val::Ragged(x), Val::Ragged(y)) => Val::Ragged(Rc::new(b.append_ragged(x, y, total)?)),
        _ => return bug("append of items of different types"),
    })
}

pub(super) fn reverse<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let n = c.count(b, 0)?;
    if let Val::Boxes { dims, ty, elems } = c.arg(0)? {
        let size: usize = dims[1..].iter().product();
        let items = elems.chunks(size.max(1)).rev().flatten().cloned().collect();
        return Ok(Val::Boxes { dims: dims.clone(), ty: ty.clone(), elems: items });
    }
    b.rearrange(c.arg(0)?, 1, &[n], &mut |_| View::Reverse)
}

/// Of what goes along a stream: what is pushed item by item is pulled as a whole, so that no pass puts the two together.
/// The array itself where there is no stream.
pub(super) fn collect<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let xs = c.arg(0)?.clone();
    if !b.has_streams() {
        return Ok(xs);
    }
    collected(b, &xs)
}

/// A size by another name: axes of that are gone along piece by piece. The number itself where iterations run beside others.
pub(super) fn streamed<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let n = c.base(0)?;
    Ok(Val::Base(if b.is_outermost() { b.streamed_size(n)? } else { n }))
}

pub(super) fn recursion_depth<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let (n, most) = (c.base(0)?, c.base(1)?);
    let fits = b.op(ScalarOp::Le, &[n, most])?;
    b.check(Trap::Deep, fits, &[&[most]])?;
    Ok(Val::Base(n))
}

fn collected<'a>(b: &mut Build<'a>, xs: &Val<'a>) -> R<Val<'a>> {
    Ok(match xs {
        Val::Base(Atom::Var(v)) => Val::Base(b.all_of(*v)?),
        Val::Tuple { frame, fields } => {
            let fields = fields.iter().map(|f| collected(b, f)).collect::<R<Vec<_>>>()?;
            Val::Tuple { frame: frame.clone(), fields: fields.into() }
        }
        _ => xs.clone(),
    })
}

pub(super) fn rotate<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    if !c.is_ranked(1) {
        return super::unranked::rotate(b, c);
    }
    let axes = c.shape(0)?.items().len();
    if axes == 0 {
        return Ok(c.arg(0)?.clone());
    }
    let amounts = b.elements(c.base(1)?, axes)?;
    let frame = b.dims_of(c.arg(0)?)[..axes].to_vec();
    b.rearrange(c.arg(0)?, axes, &frame, &mut |_| View::Rotate { amounts: amounts.clone() })
}

pub(super) fn transpose<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let m = c.arg(0)?;
    let dims = b.dims_of(m);
    let [n, k, ..] = dims[..] else { return bug("transpose of a vector") };
    b.rearrange(m, 2, &[k, n], &mut |old| View::Permute {
        perm: [1, 0].into_iter().chain(2..old.rank()).collect(),
    })
}

pub(super) fn indices_of<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    if !c.is_ranked(1) {
        return super::unranked::indices_of(b, c);
    }
    let dims = b.sizes(c.shape(0)?)?;
    let rank = Atom::int(dims.len() as i64);
    let a = b.tabulate("indices", BaseTy::I64, &dims, vec![rank], |b, at| {
        b.literal("at", BaseTy::I64, vec![rank], at.to_vec())
    })?;
    Ok(Val::Base(a))
}
