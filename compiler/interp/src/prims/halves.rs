//! Sums of `f16`: what `+` itself combines is added in `f32`, and rounded to `f16` once, where it is given.
//!
//! An `f16` has eleven bits: from 2048 on a sum of ones, rounded at each step, grows no more, and one of 500s is
//! infinite after 131 of them. So no device rounds in between; in which order the items are added is another matter.

use super::Call;
use crate::error::R;
use crate::value::{Array, Data, Func};
use half::f16;
use remc_base::ops::ScalarOp;

/// A reduction or scan of `op, [zero,] xs`: in `f32` if it is a sum of halves.
pub(super) fn combine(c: &Call, xs: usize, f: fn(&Call) -> R<Array>) -> R<Array> {
    let sum = matches!(c.arg(0)?.as_func()?, Func::Scalar(ScalarOp::Add));
    if !sum || !matches!(c.arg(xs)?.data, Data::F16(_)) {
        return f(c);
    }
    let wide = Call { apply: c.apply, p: c.p, args: c.args.iter().map(widened).collect() };
    f(&wide).map(narrowed)
}

/// Halves as `f32`; other arrays as they are.
pub(super) fn widened(a: &Array) -> Array {
    match &a.data {
        Data::F16(xs) => {
            let wide: Vec<f32> = xs.as_slice().iter().map(|x| x.to_f32()).collect();
            Array::new(a.shape.clone(), Data::F32(wide.into()))
        }
        _ => a.clone(),
    }
}

/// What was [`widened`], as halves again.
pub(super) fn narrowed(a: Array) -> Array {
    match &a.data {
        Data::F32(xs) => {
            let halves: Vec<f16> = xs.as_slice().iter().map(|x| f16::from_f32(*x)).collect();
            Array::new(a.shape, Data::F16(halves.into()))
        }
        _ => a,
    }
}
