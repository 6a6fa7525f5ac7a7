//! The primitives that look inside a shape, where the number of its axes is known only when the program runs.
//!
//! The array is taken with the axes of that shape as one. An index is then a position: the sum over the axes of
//! what it is on each, times how far it is from one place there to the next (`strides`).
//!
//! ```text
//! (index xs at)   xs [t @s], stored as one axis, of the dims ds
//!   ⟶  (for j rank ((p 0) (ok #t)) … (give (+ (* p ds[j]) at[j]) (and ok (<= 0 at[j]) (< at[j] ds[j]))))
//!      (check (index ? ?) ok …)
//!      (index xs p)
//! ```

use super::Call;
use crate::build::emit::TRUE;
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::{Atom, View};
use remc_base::ops::ScalarOp;
use remc_base::trap::Len;
use remc_base::*;

/// The array that is argument `i`, the axes of the shape in front of it as one.
fn flat<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>, shape: &Shape) -> R<Val<'a>> {
    let sizes = b.sizes(shape)?;
    let xs = c.arg(0)?;
    if sizes.len() == 1 {
        return Ok(xs.clone());
    }
    let n = b.product(&sizes)?;
    if sizes.is_empty() {
        return b.replicate(xs, &[n]);
    }
    let k = sizes.len();
    b.rearrange(xs, k, &[n], &mut |old| View::Reshape {
        dims: std::iter::once(n).chain(old.dims[k..].iter().copied()).collect(),
    })
}

/// An array with one axis in front, of the shape instead.
fn shaped<'a>(b: &mut Build<'a>, v: Val<'a>, shape: &Shape) -> R<Val<'a>> {
    let sizes = b.sizes(shape)?;
    if sizes.is_empty() {
        return b.cell(&v, &[Atom::int(0)]);
    }
    if b.dims_of(&v).first().copied() == Some(sizes[0]) && sizes.len() == 1 {
        return Ok(v);
    }
    b.rearrange(&v, 1, &sizes, &mut |old| View::Reshape {
        dims: sizes.iter().chain(&old.dims[1..]).copied().collect(),
    })
}

/// The index on axis `j` of a position in a shape.
fn on_axis<'a>(b: &mut Build<'a>, position: Atom, stride: Atom, dim: Atom) -> R<Atom> {
    let steps = b.op(ScalarOp::Quotient, &[position, stride])?;
    b.op(ScalarOp::Modulo, &[steps, dim])
}

pub(super) fn index<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let (s, cell) = (c.shape(0)?, c.shape(1)?);
    let (dims, at) = (b.dims_vector(s)?, c.base(1)?);
    let rank = b.rank(s)?;
    let [position, ok] = b.each(rank, [Atom::int(0), TRUE], |b, j, [p, ok]| {
        let (i, n) = (b.index(at, &[j])?, b.index(dims, &[j])?);
        let before = b.op(ScalarOp::Mul, &[p, n])?;
        let inside = b.in_range(i, n)?;
        Ok([b.op(ScalarOp::Add, &[before, i])?, b.op(ScalarOp::And, &[ok, inside])?])
    })?;
    let (axes, (rank, shape)) = (b.counted(at)?, b.shown(&s.concat(cell))?);
    b.check(Trap::Index { axes: Len::Unknown, rank }, ok, &[&axes, &shape])?;
    let xs = flat(b, c, s)?;
    b.cell(&xs, &[position])
}

pub(super) fn indices_of<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let s = c.shape(0)?;
    let dims = b.dims_vector(s)?;
    let strides = b.strides(dims)?;
    let (frame, rank) = (b.sizes(s)?, b.rank(s)?);
    let all: Vec<Atom> = frame.iter().copied().chain([rank]).collect();
    let a = b.tabulate("indices", BaseTy::I64, &all, Vec::new(), |b, at| {
        let Some((axis, at)) = at.split_last() else { return bug("an index of no axes") };
        let position = at.iter().zip(&frame).try_fold(Atom::int(0), |p, (i, n)| {
            let before = b.op(ScalarOp::Mul, &[p, *n])?;
            b.op(ScalarOp::Add, &[before, *i])
        })?;
        let (stride, n) = (b.index(strides, &[*axis])?, b.index(dims, &[*axis])?);
        on_axis(b, position, stride, n)
    })?;
    Ok(Val::Base(a))
}

pub(super) fn rotate<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let (s, amounts) = (c.shape(0)?, c.base(1)?);
    let dims = b.dims_vector(s)?;
    let strides = b.strides(dims)?;
    let rank = b.rank(s)?;
    let n = b.sizes(s)?;
    let n = b.product(&n)?;
    let xs = flat(b, c, s)?;
    let ty = c.array(0, &[c.shape(1)?])?;
    let turned = b.map("a", &[n], &ty, |b, position| {
        let [from] = b.each(rank, [Atom::int(0)], |b, j, [p]| {
            let (stride, n) = (b.index(strides, &[j])?, b.index(dims, &[j])?);
            let i = on_axis(b, position[0], stride, n)?;
            // Each is below the length of the axis before they are added.
            let by = b.index(amounts, &[j])?;
            let by = b.op(ScalarOp::Modulo, &[by, n])?;
            let i = b.op(ScalarOp::Add, &[i, by])?;
            let i = b.op(ScalarOp::Modulo, &[i, n])?;
            let step = b.op(ScalarOp::Mul, &[i, stride])?;
            Ok([b.op(ScalarOp::Add, &[p, step])?])
        })?;
        b.cell(&xs, &[from])
    })?;
    shaped(b, turned, s)
}

/// A part of an array: the leading shape of the array and that of the part, and the dims of both.
struct Window<'c> {
    s: &'c Shape,
    out: &'c Shape,
    dims: Atom,
    out_dims: Atom,
    start: Atom,
    /// The number of axes of both shapes, which a check before this has found equal.
    rank: Atom,
}

fn window<'c, 'a>(b: &mut Build<'a>, c: &'c Call<'_, 'a>) -> R<Window<'c>> {
    let (s, out) = (c.shape(0)?, c.shape(1)?);
    let (dims, out_dims) = (b.dims_vector(s)?, b.dims_vector(out)?);
    Ok(Window { s, out, dims, out_dims, start: c.base(1)?, rank: b.rank(s)? })
}

/// The cells of a part. `place` takes, for an axis, where the part starts, an index in the part and the length of
/// the axis, and gives the place on the axis, and whether it is inside; what is not inside is `fill`.
fn part<'a>(
    b: &mut Build<'a>,
    c: &Call<'_, 'a>,
    w: &Window<'_>,
    place: impl FnOnce(&mut Build<'a>, Atom, Atom, Atom) -> R<(Atom, Atom)>,
    fill: Option<&Val<'a>>,
) -> R<Val<'a>> {
    let (strides, out_strides) = (b.strides(w.dims)?, b.strides(w.out_dims)?);
    let n = b.sizes(w.out)?;
    let n = b.product(&n)?;
    let xs = flat(b, c, w.s)?;
    let ty = c.array(0, &[c.shape(2)?])?;
    let taken = b.map("a", &[n], &ty, |b, position| {
        let [from, inside] = b.each(w.rank, [Atom::int(0), TRUE], |b, j, [p, inside]| {
            let (stride, m) = (b.index(out_strides, &[j])?, b.index(w.out_dims, &[j])?);
            let i = on_axis(b, position[0], stride, m)?;
            let (start, n) = (b.index(w.start, &[j])?, b.index(w.dims, &[j])?);
            let (i, here) = place(b, start, i, n)?;
            let stride = b.index(strides, &[j])?;
            let step = b.op(ScalarOp::Mul, &[i, stride])?;
            Ok([b.op(ScalarOp::Add, &[p, step])?, b.op(ScalarOp::And, &[inside, here])?])
        })?;
        match fill {
            Some(fill) => b.choose(inside, &ty, |b| b.cell(&xs, &[from]), |_| Ok(fill.clone())),
            None => b.cell(&xs, &[from]),
        }
    })?;
    shaped(b, taken, w.out)
}

pub(super) fn subarray<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let w = window(b, c)?;
    let [ok] = b.each(w.rank, [TRUE], |b, j, [ok]| {
        let start = b.index(w.start, &[j])?;
        let (m, n) = (b.index(w.out_dims, &[j])?, b.index(w.dims, &[j])?);
        let low = b.op(ScalarOp::Ge, &[start, Atom::int(0)])?;
        let last = b.op(ScalarOp::Sub, &[n, m])?;
        let high = b.op(ScalarOp::Le, &[start, last])?;
        let fits = b.op(ScalarOp::And, &[low, high])?;
        Ok([b.op(ScalarOp::And, &[ok, fits])?])
    })?;
    let (out, start) = (b.counted(w.out_dims)?, b.counted(w.start)?);
    let (rank, shape) = b.shown(&w.s.concat(c.shape(2)?))?;
    b.check(Trap::Subarray { axes: Len::Unknown, rank }, ok, &[&out, &start, &shape])?;
    part(b, c, &w, |b, start, i, _| Ok((b.op(ScalarOp::Add, &[start, i])?, TRUE)), None)
}

pub(super) fn subarray_wrap<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let w = window(b, c)?;
    // A part without elements asks for none.
    let n = b.sizes(w.out)?;
    let n = b.product(&n)?;
    let none = b.equal(n, Atom::int(0))?;
    let [some] = b.each(w.rank, [TRUE], |b, j, [some]| {
        let n = b.index(w.dims, &[j])?;
        let one = b.op(ScalarOp::Lt, &[Atom::int(0), n])?;
        Ok([b.op(ScalarOp::And, &[some, one])?])
    })?;
    let ok = b.op(ScalarOp::Or, &[none, some])?;
    let (rank, shape) = b.shown(&w.s.concat(c.shape(2)?))?;
    b.check(Trap::Wrap { rank }, ok, &[&shape])?;
    let place = |b: &mut Build<'a>, start: Atom, i: Atom, n: Atom| {
        // Each is below the length of the axis before they are added.
        let (start, i) = (b.op(ScalarOp::Modulo, &[start, n])?, b.op(ScalarOp::Modulo, &[i, n])?);
        let i = b.op(ScalarOp::Add, &[start, i])?;
        Ok((b.op(ScalarOp::Modulo, &[i, n])?, TRUE))
    };
    part(b, c, &w, place, None)
}

pub(super) fn subarray_fill<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let w = window(b, c)?;
    let fill = c.arg(2)?.clone();
    let place = |b: &mut Build<'a>, start: Atom, i: Atom, n: Atom| {
        let i = b.op(ScalarOp::Add, &[start, i])?;
        Ok((i, b.in_range(i, n)?))
    };
    part(b, c, &w, place, Some(&fill))
}
