//! Conversion between base types, and the order of `sort`.

use super::OpError;
use crate::scalar::{BaseTy, Scalar};
use std::cmp::Ordering;

/// Converts a scalar to a base type.
///
/// | from → to | meaning |
/// | --- | --- |
/// | integer → integer | modulo the width |
/// | integer → float | nearest, ties to even |
/// | float → integer | truncates; saturates at the type's limits; NaN gives 0 |
/// | float → float | nearest, ties to even; past the largest, an infinity |
/// | number → `bool` | whether it is not zero (NaN is not zero) |
/// | `bool` → number | 0 or 1 |
/// | `char` → other | through its code point |
/// | other → `char` | through an `int`, which must be a Unicode scalar value |
pub fn cast(x: Scalar, to: BaseTy) -> Result<Scalar, OpError> {
    if x.ty() == to {
        return Ok(x);
    }
    if let Some(f) = x.as_float() {
        return match to {
            BaseTy::Bool => Ok(Scalar::Bool(f != 0.0)),
            BaseTy::Char => to_char((f as i64) as i128),
            BaseTy::F16 | BaseTy::F32 | BaseTy::F64 => {
                Scalar::from_float(to, f).ok_or(OpError::WrongOperands)
            }
            BaseTy::I8 => Ok(Scalar::I8(f as i8)),
            BaseTy::I16 => Ok(Scalar::I16(f as i16)),
            BaseTy::I32 => Ok(Scalar::I32(f as i32)),
            BaseTy::I64 => Ok(Scalar::I64(f as i64)),
            BaseTy::U8 => Ok(Scalar::U8(f as u8)),
            BaseTy::U16 => Ok(Scalar::U16(f as u16)),
            BaseTy::U32 => Ok(Scalar::U32(f as u32)),
            BaseTy::U64 => Ok(Scalar::U64(f as u64)),
        };
    }
    let n = match x {
        Scalar::Bool(b) => b as i128,
        Scalar::Char(c) => c as u32 as i128,
        _ => x.as_integer().ok_or(OpError::WrongOperands)?,
    };
    match to {
        BaseTy::Bool => Ok(Scalar::Bool(n != 0)),
        BaseTy::Char => to_char(n),
        _ => Scalar::from_integer(to, n).ok_or(OpError::WrongOperands),
    }
}

pub(super) fn to_char(n: i128) -> Result<Scalar, OpError> {
    u32::try_from(n).ok().and_then(char::from_u32).map(Scalar::Char).ok_or(OpError::NotAChar(n))
}

/// The total order of `sort`, `grade` and `unique` over scalars of one base type: numbers by value with
/// `-0.0` equal to `0.0` and every NaN last and equal to every other; chars by code point; `#f` before
/// `#t`. Scalars of two different types compare as equal, which no checked program asks for.
pub fn total_cmp(a: Scalar, b: Scalar) -> Ordering {
    match (a, b) {
        (Scalar::Bool(x), Scalar::Bool(y)) => x.cmp(&y),
        (Scalar::Char(x), Scalar::Char(y)) => x.cmp(&y),
        _ => match (a.as_integer(), b.as_integer(), a.as_float(), b.as_float()) {
            (Some(x), Some(y), _, _) => x.cmp(&y),
            (_, _, Some(x), Some(y)) => x.partial_cmp(&y).unwrap_or_else(|| x.is_nan().cmp(&y.is_nan())),
            _ => Ordering::Equal,
        },
    }
}
