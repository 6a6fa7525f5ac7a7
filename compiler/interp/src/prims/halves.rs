//! Sums of `f16`: what `+` itself combines is added in `f32`, and rounded to `f16` once, where it is given.
//!
//! An `f16` has eleven bits: from 2048 on a sum of ones, rounded at each step, grows no more, and one of 500s is
//! infinite after 131 of them. So no device rounds in between; in which order the items are added is another matter.

use super::{Call, fold};
use crate::array::{Array, Data, Func};
use crate::error::R;
use half::f16;
use remc_base::ops::{self, ScalarOp};
use remc_base::{BaseTy, Scalar};

/// A reduction or scan of `op, [zero,] xs`: in `f32` if it is a sum of halves.
pub(super) fn combine(c: &Call, xs: usize, f: fn(&Call) -> R<Array>) -> R<Array> {
    let sum = matches!(c.arg(0)?.as_func()?, Func::Scalar(ScalarOp::Add));
    if !sum || !matches!(c.arg(xs)?.data, Data::F16(_)) {
        return f(c);
    }
    let wide = Call { interp: c.interp, p: c.p, args: c.args.iter().map(widened).collect() };
    f(&wide).map(narrowed)
}

fn widened(a: &Array) -> Array {
    match &a.data {
        Data::F16(xs) => {
            let wide: Vec<f32> = xs.as_slice().iter().map(|x| x.to_f32()).collect();
            Array::new(a.shape.clone(), Data::F32(wide.into()))
        }
        _ => a.clone(),
    }
}

fn narrowed(a: Array) -> Array {
    match &a.data {
        Data::F32(xs) => {
            let halves: Vec<f16> = xs.as_slice().iter().map(|x| f16::from_f32(*x)).collect();
            Array::new(a.shape, Data::F16(halves.into()))
        }
        _ => a,
    }
}

/// The mean of a vector of floats: the sum, from 0 on, by the number of items; of halves it is rounded at the end.
pub(super) fn mean(c: &Call) -> R<Array> {
    let xs = widened(c.arg(0)?);
    let n = xs.shape.first().copied().unwrap_or(0);
    let ty = xs.data.base().unwrap_or(BaseTy::F64);
    let number = |n: Scalar| ops::cast(n, ty).unwrap_or(ops::zero(ty));
    let mut total = ops::zero(ty);
    for k in 0..n {
        let x = xs.data.scalar_at(k).unwrap_or(total);
        total = fold::scalar(ScalarOp::Add, total, x)?;
    }
    let mean = fold::scalar(ScalarOp::Div, total, number(Scalar::I64(n as i64)))?;
    let mean = Array::new(Default::default(), Data::one(mean));
    Ok(if matches!(c.arg(0)?.data, Data::F16(_)) { narrowed(mean) } else { mean })
}
