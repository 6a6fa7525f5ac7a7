//! How far compiled operators may be from the interpreter's.

use remc_base::ops::ScalarOp;
use remc_base::scalar::BaseTy;

/// The greatest difference between the compiled operator and [`remc_base::ops::apply`], in units in the
/// last place of the result, for operands of type `ty` (the operator's `t`). 0 means the same bits, but
/// for the payload of a NaN.
///
/// The interpreter rounds the portable `libm`'s `f64` once; compiled code calls the host's library in the
/// operand's own precision, or uses its own polynomial in vectors. `expt` differs only where the exponent
/// is not integral, and then for an integer base only if the power lies next to an integer.
pub fn ulp_bound(op: ScalarOp, ty: BaseTy) -> u64 {
    use ScalarOp::*;
    let narrow = matches!(ty, BaseTy::F16 | BaseTy::F32);
    match op {
        Exp | Log => {
            if ty == BaseTy::F16 {
                1
            } else {
                2
            }
        }
        Log2 | Sin | Cos | Asin | Acos | Atan | Atan2 => {
            if narrow {
                1
            } else {
                2
            }
        }
        Tan | Sinh | Cosh | Tanh => match ty {
            BaseTy::F16 => 1,
            BaseTy::F32 => 2,
            _ => 4,
        },
        Expt if ty.is_float() => 1,
        _ => 0,
    }
}
