//! Reductions, scans, folds and iteration: from left to right, exactly.

use super::{Call, halves, joined};
use crate::array::{Collector, size};
use crate::env::natural;
use crate::error::{Fault, R};
use crate::value::{Array, Data, Dims, Func};
use remc_base::ops::{self, BinaryKernel, ScalarOp};
use remc_base::{BaseTy, Scalar, Trap};
use smallvec::smallvec;

/// The parts of `op, [zero,] xs` where `xs` is `n` items of shape `pad ++ cell`.
struct Reduction<'a> {
    op: &'a Func,
    n: usize,
    xs: &'a Array,
    item: usize,
    pad: &'a [usize],
}

fn parts<'a>(c: &'a Call, xs: usize) -> R<Reduction<'a>> {
    let (n, xs, item) = c.items(xs)?;
    Ok(Reduction { op: c.arg(0)?.as_func()?, n, xs, item, pad: c.shape(1)? })
}

impl Reduction<'_> {
    fn get(&self, i: usize) -> Array {
        self.xs.cell(1, i, self.item)
    }

    /// `acc op item`, or for a fold, whose function takes the element first, `f item acc`.
    fn step(&self, c: &Call, acc: Array, i: usize, element_first: bool) -> R<Array> {
        let item = self.get(i);
        let like = acc.clone();
        let args = if element_first { smallvec![item, acc] } else { smallvec![acc, item] };
        c.apply.call_padded(self.op, args, self.pad, &like)
    }
}

/// The zero or initial accumulator at every position of the pad.
fn spread(a: &Array, pad: &[usize]) -> R<Array> {
    if pad.is_empty() {
        return Ok(a.clone());
    }
    let (count, cell) = (size(pad)?, size(&a.shape)?);
    let shape = joined(pad, &a.shape);
    size(&shape)?;
    Ok(Array::new(shape, a.data.gather(std::iter::repeat_n(0, count), cell)))
}

/// A fold of a vector of scalars by an operator that has a kernel: the same left to right order.
fn fold_vector(r: &Reduction, acc: &Array) -> Option<Array> {
    let Func::Scalar(op) = r.op else { return None };
    if r.xs.rank() != 1 || acc.rank() != 0 {
        return None;
    }
    let data = match (ops::binary_kernel(*op, r.xs.data.base()?)?, &r.xs.data, &acc.data) {
        (BinaryKernel::I64(f), Data::I64(xs), Data::I64(a)) => {
            Data::I64(vec![xs.as_slice().iter().fold(a.as_slice()[0], |a, x| f(a, *x))].into())
        }
        (BinaryKernel::F32(f), Data::F32(xs), Data::F32(a)) => {
            Data::F32(vec![xs.as_slice().iter().fold(a.as_slice()[0], |a, x| f(a, *x))].into())
        }
        (BinaryKernel::F64(f), Data::F64(xs), Data::F64(a)) => {
            Data::F64(vec![xs.as_slice().iter().fold(a.as_slice()[0], |a, x| f(a, *x))].into())
        }
        _ => return None,
    };
    Some(Array::new(Dims::new(), data))
}

/// An operator that cannot fail, of two scalars.
fn scalar(op: ScalarOp, a: Scalar, b: Scalar) -> R<Scalar> {
    ops::apply(op, &[a, b]).map_err(|e| Fault::internal(e.to_string()))
}

fn accumulate(c: &Call, r: &Reduction, from: Array, first: usize, element_first: bool) -> R<Array> {
    let mut acc = from;
    for i in first..r.n {
        acc = r.step(c, acc, i, element_first)?;
    }
    Ok(acc)
}

fn nothing_to_reduce(c: &Call) -> Box<Fault> {
    Fault::trap(Trap::Empty { prim: c.name().into() }, &[])
}

pub(super) fn reduce(c: &Call) -> R<Array> {
    halves::combine(c, 1, reduce_of)
}

fn reduce_of(c: &Call) -> R<Array> {
    let r = parts(c, 1)?;
    if r.n == 0 {
        return Err(nothing_to_reduce(c));
    }
    if r.xs.rank() == 1 {
        let rest = Array::new(smallvec![r.n - 1], r.xs.data.slice(1, r.n - 1));
        if let Some(a) = fold_vector(&Reduction { xs: &rest, n: r.n - 1, ..r }, &r.get(0)) {
            return Ok(a);
        }
    }
    accumulate(c, &r, r.get(0), 1, false)
}

pub(super) fn reduce_zero(c: &Call) -> R<Array> {
    halves::combine(c, 2, reduce_zero_of)
}

fn reduce_zero_of(c: &Call) -> R<Array> {
    let r = parts(c, 2)?;
    if let Some(a) = fold_vector(&r, c.arg(1)?) {
        return Ok(a);
    }
    accumulate(c, &r, spread(c.arg(1)?, r.pad)?, 0, false)
}

pub(super) fn fold(c: &Call) -> R<Array> {
    let r = parts(c, 2)?;
    accumulate(c, &r, spread(c.arg(1)?, r.pad)?, 0, true)
}

/// The accumulators from `from` on: itself if `with_first`, then one per item but the last `without`.
fn prefixes(
    c: &Call,
    r: &Reduction,
    from: Array,
    first: usize,
    with_first: bool,
    without: usize,
    element_first: bool,
) -> R<Array> {
    let last = r.n.saturating_sub(without);
    let count = last.saturating_sub(first) + usize::from(with_first);
    let mut all = Collector::new(count);
    let empty = joined(&[0], &from.shape);
    let mut acc = from;
    let like = acc.data.builder(0);
    if with_first && count > 0 {
        all.push(&acc)?;
    }
    for i in first..last {
        acc = r.step(c, acc, i, element_first)?;
        all.push(&acc)?;
    }
    Ok(all.finish(&[count]).unwrap_or_else(|| Array::new(empty, like.finish())))
}

pub(super) fn iscan(c: &Call) -> R<Array> {
    halves::combine(c, 1, iscan_of)
}

fn iscan_of(c: &Call) -> R<Array> {
    let r = parts(c, 1)?;
    if r.n == 0 {
        return Err(nothing_to_reduce(c));
    }
    prefixes(c, &r, r.get(0), 1, true, 0, false)
}

pub(super) fn iscan_zero(c: &Call) -> R<Array> {
    halves::combine(c, 2, iscan_zero_of)
}

fn iscan_zero_of(c: &Call) -> R<Array> {
    let r = parts(c, 2)?;
    prefixes(c, &r, spread(c.arg(1)?, r.pad)?, 0, false, 0, false)
}

pub(super) fn scan_zero(c: &Call) -> R<Array> {
    halves::combine(c, 2, scan_zero_of)
}

/// One more than there are items.
fn one_more(c: &Call, n: usize) -> R<()> {
    match n >= i64::MAX as usize {
        true => Err(Fault::trap(Trap::Overflow { dim: format!("of `{}`", c.name()).into() }, &[])),
        false => Ok(()),
    }
}

fn scan_zero_of(c: &Call) -> R<Array> {
    let r = parts(c, 2)?;
    one_more(c, r.n)?;
    prefixes(c, &r, spread(c.arg(1)?, r.pad)?, 0, true, 0, false)
}

pub(super) fn open_scan_zero(c: &Call) -> R<Array> {
    halves::combine(c, 2, open_scan_zero_of)
}

fn open_scan_zero_of(c: &Call) -> R<Array> {
    let r = parts(c, 2)?;
    let zero = spread(c.arg(1)?, r.pad)?;
    if r.n == 0 {
        let empty = joined(&[0], &zero.shape);
        return Ok(Array::new(empty, zero.data.builder(0).finish()));
    }
    prefixes(c, &r, zero, 0, true, 1, false)
}

pub(super) fn trace(c: &Call) -> R<Array> {
    let r = parts(c, 2)?;
    one_more(c, r.n)?;
    prefixes(c, &r, spread(c.arg(1)?, r.pad)?, 0, true, 0, true)
}

pub(super) fn iterate(c: &Call) -> R<Array> {
    let n = c.arg(0)?.as_int()?;
    let n = natural(n, || "that counts `iterate`".into())?;
    let f = c.arg(1)?.as_func()?;
    let mut x = c.arg(2)?.clone();
    for _ in 0..n {
        x = c.apply.call(f, smallvec![x])?;
    }
    Ok(x)
}

pub(super) fn while_(c: &Call) -> R<Array> {
    let (p, f) = (c.arg(0)?.as_func()?, c.arg(1)?.as_func()?);
    let mut x = c.arg(2)?.clone();
    while c.apply.call(p, smallvec![x.clone()])?.as_bool()? {
        x = c.apply.call(f, smallvec![x])?;
    }
    Ok(x)
}

/// The mean of a vector of floats: the sum, from 0 on, by the number of items; of halves it is rounded at the end.
pub(super) fn mean(c: &Call) -> R<Array> {
    let xs = halves::widened(c.arg(0)?);
    let n = xs.shape.first().copied().unwrap_or(0);
    let ty = xs.data.base().unwrap_or(BaseTy::F64);
    let number = |n: Scalar| ops::cast(n, ty).unwrap_or(ops::zero(ty));
    let mut total = ops::zero(ty);
    for k in 0..n {
        let x = xs.data.scalar_at(k).unwrap_or(total);
        total = scalar(ScalarOp::Add, total, x)?;
    }
    let mean = scalar(ScalarOp::Div, total, number(Scalar::I64(n as i64)))?;
    let mean = Array::new(Default::default(), Data::one(mean));
    Ok(if matches!(c.arg(0)?.data, Data::F16(_)) { halves::narrowed(mean) } else { mean })
}
