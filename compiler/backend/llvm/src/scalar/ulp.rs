//! How far compiled operators may be from the interpreter's, and how that is measured.

use remc_base::ops::ScalarOp;
use remc_base::scalar::{BaseTy, Scalar};

/// The greatest [`ulp_distance`] between the compiled operator and [`remc_base::ops::apply`], for operands
/// of the given types. 0 means the same bits, but for the payload of a NaN.
///
/// The interpreter rounds the portable `libm`'s `f64` once; compiled code has its own polynomials, and calls the host's
/// library for the sines of large numbers and for powers whose exponent is out of all proportion. `expt` differs only for exponents that
/// are not integral, whose power is a logarithm and an exponential.
pub fn ulp_bound(op: ScalarOp, tys: &[BaseTy]) -> u64 {
    use ScalarOp::*;
    let ty = tys.first().copied().unwrap_or(BaseTy::F64);
    let by_ty = |half: u64, single: u64, double: u64| match ty {
        BaseTy::F16 => half,
        BaseTy::F32 => single,
        _ => double,
    };
    match op {
        Exp | Log => by_ty(1, 2, 2),
        Log2 | Sin | Cos | Asin | Acos | Atan | Atan2 | Erf => by_ty(1, 1, 2),
        Tan | Sinh | Cosh | Tanh => by_ty(1, 2, 4),
        Expt if tys.get(1).is_some_and(|e| e.is_float()) => 1,
        _ => 0,
    }
}

/// The distance of two values of one type in units in the last place. Two NaN are equal; a zero is at no
/// distance from its opposite and one from the least positive number; an integer counts as the double
/// that it was truncated from. `None` if no number of units says it: one of two is NaN, zeros of different
/// sign, or values of another type that differ.
pub fn ulp_distance(a: Scalar, b: Scalar) -> Option<u64> {
    let place = |bits: u64, width: u32| {
        let magnitude = (bits & ((1 << (width - 1)) - 1)) as i64;
        if bits >> (width - 1) == 1 { -magnitude } else { magnitude }
    };
    let (x, y) = match (a, b) {
        (Scalar::F16(x), Scalar::F16(y)) => (place(x.to_bits() as u64, 16), place(y.to_bits() as u64, 16)),
        (Scalar::F32(x), Scalar::F32(y)) => (place(x.to_bits() as u64, 32), place(y.to_bits() as u64, 32)),
        (Scalar::F64(x), Scalar::F64(y)) => (place(x.to_bits(), 64), place(y.to_bits(), 64)),
        _ if a == b => return Some(0),
        _ if a.ty() != b.ty() => return None,
        _ => return integer_distance(a.as_integer()?, b.as_integer()?),
    };
    let (fx, fy) = (a.as_float()?, b.as_float()?);
    match (fx.is_nan(), fy.is_nan()) {
        (true, true) => Some(0),
        (false, false) if x == y && fx.is_sign_negative() != fy.is_sign_negative() => None,
        (false, false) => Some(x.abs_diff(y)),
        _ => None,
    }
}

fn integer_distance(x: i128, y: i128) -> Option<u64> {
    let greatest = x.unsigned_abs().max(y.unsigned_abs());
    // The unit of a double of that size, or 1 where that is a fraction.
    let unit = 1u128 << (128 - greatest.leading_zeros()).saturating_sub(53);
    u64::try_from(x.abs_diff(y).div_ceil(unit)).ok()
}
