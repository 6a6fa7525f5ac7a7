//! What each operator computes.

use super::cast::to_char;
use super::{OpError, Operand, ScalarOp};
use crate::scalar::{BaseTy, Scalar};
use half::f16;

/// Applies an operator to operands of its types.
///
/// # Errors
/// As the table says; [`OpError::WrongOperands`] if the operands are not of the operator's types.
#[inline]
pub fn apply(op: ScalarOp, args: &[Scalar]) -> Result<Scalar, OpError> {
    match *args {
        [x] => unary(op, x),
        [x, y] => binary(op, x, y),
        [Scalar::Bool(c), x, y] if op == ScalarOp::Select && x.ty() == y.ty() => Ok(if c { x } else { y }),
        _ => Err(OpError::WrongOperands),
    }
}

/// Integers of one type by one expression, floats by another (`f16` through `f32`).
macro_rules! both {
    ($a:expr, $b:expr, |$x:ident, $y:ident| $int:expr, $float:expr) => {
        match ($a, $b) {
            (Scalar::I8($x), Scalar::I8($y)) => Scalar::I8($int),
            (Scalar::I16($x), Scalar::I16($y)) => Scalar::I16($int),
            (Scalar::I32($x), Scalar::I32($y)) => Scalar::I32($int),
            (Scalar::I64($x), Scalar::I64($y)) => Scalar::I64($int),
            (Scalar::U8($x), Scalar::U8($y)) => Scalar::U8($int),
            (Scalar::U16($x), Scalar::U16($y)) => Scalar::U16($int),
            (Scalar::U32($x), Scalar::U32($y)) => Scalar::U32($int),
            (Scalar::U64($x), Scalar::U64($y)) => Scalar::U64($int),
            (Scalar::F16($x), Scalar::F16($y)) => {
                let ($x, $y) = ($x.to_f32(), $y.to_f32());
                Scalar::F16(f16::from_f32($float))
            }
            (Scalar::F32($x), Scalar::F32($y)) => Scalar::F32($float),
            (Scalar::F64($x), Scalar::F64($y)) => Scalar::F64($float),
            _ => return Err(OpError::WrongOperands),
        }
    };
}

macro_rules! integers {
    ($a:expr, $b:expr, |$x:ident, $y:ident| $int:expr) => {
        match ($a, $b) {
            (Scalar::I8($x), Scalar::I8($y)) => Scalar::I8($int),
            (Scalar::I16($x), Scalar::I16($y)) => Scalar::I16($int),
            (Scalar::I32($x), Scalar::I32($y)) => Scalar::I32($int),
            (Scalar::I64($x), Scalar::I64($y)) => Scalar::I64($int),
            (Scalar::U8($x), Scalar::U8($y)) => Scalar::U8($int),
            (Scalar::U16($x), Scalar::U16($y)) => Scalar::U16($int),
            (Scalar::U32($x), Scalar::U32($y)) => Scalar::U32($int),
            (Scalar::U64($x), Scalar::U64($y)) => Scalar::U64($int),
            _ => return Err(OpError::WrongOperands),
        }
    };
}

macro_rules! compare {
    ($a:expr, $b:expr, $op:tt) => {
        Scalar::Bool(match ($a, $b) {
            (Scalar::I8(x), Scalar::I8(y)) => x $op y,
            (Scalar::I16(x), Scalar::I16(y)) => x $op y,
            (Scalar::I32(x), Scalar::I32(y)) => x $op y,
            (Scalar::I64(x), Scalar::I64(y)) => x $op y,
            (Scalar::U8(x), Scalar::U8(y)) => x $op y,
            (Scalar::U16(x), Scalar::U16(y)) => x $op y,
            (Scalar::U32(x), Scalar::U32(y)) => x $op y,
            (Scalar::U64(x), Scalar::U64(y)) => x $op y,
            (Scalar::F16(x), Scalar::F16(y)) => x $op y,
            (Scalar::F32(x), Scalar::F32(y)) => x $op y,
            (Scalar::F64(x), Scalar::F64(y)) => x $op y,
            _ => return Err(OpError::WrongOperands),
        })
    };
}

/// The methods that the integer types share by name only, and those of floats.
trait Integer: Copy {
    fn floor_div(self, d: Self) -> Self;
    fn floor_mod(self, d: Self) -> Self;
    fn absolute(self) -> Self;
    fn signum_(self) -> Self;
    fn gcd(self, other: Self) -> Self;
    fn power(self, exponent: u128) -> Self;
    fn shift_left(self, amount: Self) -> Self;
    fn shift_right(self, amount: Self) -> Self;
}

macro_rules! integer {
    ($($t:ty, $u:ty, $signed:literal;)*) => {$(
        #[allow(unused_comparisons)]
        impl Integer for $t {
            fn floor_div(self, d: Self) -> Self {
                let q = self.wrapping_div(d);
                if self.wrapping_rem(d) != 0 && (self < 0) != (d < 0) { q.wrapping_sub(1) } else { q }
            }
            fn floor_mod(self, d: Self) -> Self {
                let r = self.wrapping_rem(d);
                if r != 0 && (r < 0) != (d < 0) { r.wrapping_add(d) } else { r }
            }
            fn absolute(self) -> Self {
                if self < 0 { self.wrapping_neg() } else { self }
            }
            fn signum_(self) -> Self {
                if self < 0 { (0 as $t).wrapping_sub(1) } else { (self > 0) as $t }
            }
            fn gcd(self, other: Self) -> Self {
                let (mut a, mut b) = (self.absolute() as $u, other.absolute() as $u);
                while b != 0 {
                    (a, b) = (b, a % b);
                }
                a as $t
            }
            fn power(self, mut exponent: u128) -> Self {
                let (mut result, mut base): ($t, $t) = (1, self);
                while exponent > 0 {
                    if exponent & 1 == 1 {
                        result = result.wrapping_mul(base);
                    }
                    base = base.wrapping_mul(base);
                    exponent >>= 1;
                }
                result
            }
            fn shift_left(self, amount: Self) -> Self {
                u32::try_from(amount as $u).ok().and_then(|a| self.checked_shl(a)).unwrap_or(0)
            }
            fn shift_right(self, amount: Self) -> Self {
                let past = if $signed && self < 0 { (0 as $t).wrapping_sub(1) } else { 0 };
                u32::try_from(amount as $u).ok().and_then(|a| self.checked_shr(a)).unwrap_or(past)
            }
        }
    )*};
}
integer! {
    i8, u8, true; i16, u16, true; i32, u32, true; i64, u64, true;
    u8, u8, false; u16, u16, false; u32, u32, false; u64, u64, false;
}

pub(super) trait Float: Copy + PartialOrd {
    fn least(self, other: Self) -> Self;
    fn greatest(self, other: Self) -> Self;
    fn floor_mod(self, d: Self) -> Self;
    fn floor_div(self, d: Self) -> Self;
    fn sign(self) -> Self;
}

macro_rules! float {
    ($($t:ty, $fmod:path, $floor:path, $copysign:path;)*) => {$(
        impl Float for $t {
            fn least(self, other: Self) -> Self {
                if self.is_nan() || other.is_nan() {
                    <$t>::NAN
                } else if self < other || (self == other && self.is_sign_negative()) {
                    self
                } else {
                    other
                }
            }
            fn greatest(self, other: Self) -> Self {
                if self.is_nan() || other.is_nan() {
                    <$t>::NAN
                } else if self > other || (self == other && self.is_sign_positive()) {
                    self
                } else {
                    other
                }
            }
            fn floor_mod(self, d: Self) -> Self {
                let r = $fmod(self, d);
                if r == 0.0 {
                    $copysign(0.0, d)
                } else if (r < 0.0) != (d < 0.0) {
                    r + d
                } else {
                    r
                }
            }
            fn floor_div(self, d: Self) -> Self {
                if d == 0.0 {
                    return self / d;
                }
                let r = $fmod(self, d);
                let q = (self - r) / d;
                // The remainder is moved into the divisor's sign: the quotient goes down.
                let q = if r != 0.0 && (r < 0.0) != (d < 0.0) { q - 1.0 } else { q };
                if q == 0.0 {
                    return $copysign(0.0, self / d);
                }
                let f = $floor(q);
                if q - f > 0.5 { f + 1.0 } else { f }
            }
            fn sign(self) -> Self {
                if self.is_nan() {
                    self
                } else if self > 0.0 {
                    1.0
                } else if self < 0.0 {
                    -1.0
                } else {
                    0.0
                }
            }
        }
    )*};
}
float! {
    f32, libm::fmodf, libm::floorf, libm::copysignf;
    f64, libm::fmod, libm::floor, libm::copysign;
}

fn binary(op: ScalarOp, a: Scalar, b: Scalar) -> Result<Scalar, OpError> {
    Ok(match op {
        ScalarOp::Add => both!(a, b, |x, y| x.wrapping_add(y), x + y),
        ScalarOp::Sub => both!(a, b, |x, y| x.wrapping_sub(y), x - y),
        ScalarOp::Mul => both!(a, b, |x, y| x.wrapping_mul(y), x * y),
        ScalarOp::Div => match (a, b) {
            (Scalar::F64(x), Scalar::F64(y)) => Scalar::F64(x / y),
            (Scalar::F32(x), Scalar::F32(y)) => Scalar::F32(x / y),
            (Scalar::F16(x), Scalar::F16(y)) => Scalar::F16(f16::from_f32(x.to_f32() / y.to_f32())),
            _ => {
                let (x, y) = integer_pair(a, b)?;
                Scalar::F64(x as f64 / y as f64)
            }
        },
        ScalarOp::Quotient => {
            divisor(b)?;
            both!(a, b, |x, y| Integer::floor_div(x, y), Float::floor_div(x, y))
        }
        ScalarOp::Modulo => {
            divisor(b)?;
            both!(a, b, |x, y| Integer::floor_mod(x, y), Float::floor_mod(x, y))
        }
        ScalarOp::Expt => expt(a, b)?,
        ScalarOp::Min2 => both!(a, b, |x, y| x.min(y), x.least(y)),
        ScalarOp::Max2 => both!(a, b, |x, y| x.max(y), x.greatest(y)),
        ScalarOp::Gcd => integers!(a, b, |x, y| Integer::gcd(x, y)),
        ScalarOp::Atan2 => real(a, b, libm::atan2)?,
        ScalarOp::Eq => match (a, b) {
            (Scalar::Bool(x), Scalar::Bool(y)) => Scalar::Bool(x == y),
            (Scalar::Char(x), Scalar::Char(y)) => Scalar::Bool(x == y),
            _ => compare!(a, b, ==),
        },
        ScalarOp::Ne => match (a, b) {
            (Scalar::Bool(x), Scalar::Bool(y)) => Scalar::Bool(x != y),
            (Scalar::Char(x), Scalar::Char(y)) => Scalar::Bool(x != y),
            _ => compare!(a, b, !=),
        },
        ScalarOp::Lt => compare!(a, b, <),
        ScalarOp::Le => compare!(a, b, <=),
        ScalarOp::Gt => compare!(a, b, >),
        ScalarOp::Ge => compare!(a, b, >=),
        ScalarOp::CharEq | ScalarOp::CharLt => match (a, b) {
            (Scalar::Char(x), Scalar::Char(y)) => {
                Scalar::Bool(if op == ScalarOp::CharEq { x == y } else { x < y })
            }
            _ => return Err(OpError::WrongOperands),
        },
        ScalarOp::And | ScalarOp::Or | ScalarOp::Xor => match (a, b) {
            (Scalar::Bool(x), Scalar::Bool(y)) => Scalar::Bool(match op {
                ScalarOp::And => x && y,
                ScalarOp::Or => x || y,
                _ => x != y,
            }),
            _ => return Err(OpError::WrongOperands),
        },
        ScalarOp::BitAnd => integers!(a, b, |x, y| x & y),
        ScalarOp::BitOr => integers!(a, b, |x, y| x | y),
        ScalarOp::BitXor => integers!(a, b, |x, y| x ^ y),
        ScalarOp::Shl => integers!(a, b, |x, y| x.shift_left(y)),
        ScalarOp::Shr => integers!(a, b, |x, y| x.shift_right(y)),
        _ => return Err(OpError::WrongOperands),
    })
}

fn unary(op: ScalarOp, a: Scalar) -> Result<Scalar, OpError> {
    debug_assert!(op.info().operands.len() != 1 || op.info().operands[0] != Operand::U);
    Ok(match op {
        ScalarOp::Negate => both!(a, a, |x, _y| x.wrapping_neg(), {
            let _ = _y;
            -x
        }),
        ScalarOp::Abs => both!(a, a, |x, _y| x.absolute(), {
            let _ = _y;
            x.abs()
        }),
        ScalarOp::Sign => both!(a, a, |x, _y| x.signum_(), {
            let _ = _y;
            Float::sign(x)
        }),
        ScalarOp::Sqrt => real1(a, libm::sqrt)?,
        ScalarOp::Exp => real1(a, libm::exp)?,
        ScalarOp::Log => real1(a, libm::log)?,
        ScalarOp::Log2 => real1(a, libm::log2)?,
        ScalarOp::Sin => real1(a, libm::sin)?,
        ScalarOp::Cos => real1(a, libm::cos)?,
        ScalarOp::Tan => real1(a, libm::tan)?,
        ScalarOp::Asin => real1(a, libm::asin)?,
        ScalarOp::Acos => real1(a, libm::acos)?,
        ScalarOp::Atan => real1(a, libm::atan)?,
        ScalarOp::Sinh => real1(a, libm::sinh)?,
        ScalarOp::Cosh => real1(a, libm::cosh)?,
        ScalarOp::Tanh => real1(a, libm::tanh)?,
        ScalarOp::Erf => real1(a, libm::erf)?,
        ScalarOp::Floor => rounded(a, libm::floor)?,
        ScalarOp::Ceiling => rounded(a, libm::ceil)?,
        ScalarOp::Round => rounded(a, f64::round_ties_even)?,
        ScalarOp::Truncate => rounded(a, libm::trunc)?,
        ScalarOp::BitNot => integers!(a, a, |x, _y| !x),
        ScalarOp::Popcount => {
            let ty = a.ty();
            let n = a.as_integer().ok_or(OpError::WrongOperands)?;
            let mask = u128::MAX >> (128 - ty.bits());
            let ones = (n as u128 & mask).count_ones();
            Scalar::from_integer(ty, ones as i128).ok_or(OpError::WrongOperands)?
        }
        ScalarOp::Not => match a {
            Scalar::Bool(x) => Scalar::Bool(!x),
            _ => return Err(OpError::WrongOperands),
        },
        ScalarOp::CharToInt => match a {
            Scalar::Char(c) => Scalar::I64(c as u32 as i64),
            _ => return Err(OpError::WrongOperands),
        },
        ScalarOp::IntToChar => match a {
            Scalar::I64(n) => to_char(n as i128)?,
            _ => return Err(OpError::WrongOperands),
        },
        ScalarOp::IntToFloat => match a {
            Scalar::I64(n) => Scalar::F64(n as f64),
            _ => return Err(OpError::WrongOperands),
        },
        ScalarOp::FloatToInt => match a {
            Scalar::F64(x) => Scalar::I64(x as i64),
            _ => return Err(OpError::WrongOperands),
        },
        ScalarOp::IntToBool => match a {
            Scalar::I64(n) => Scalar::Bool(n != 0),
            _ => return Err(OpError::WrongOperands),
        },
        ScalarOp::BoolToInt => match a {
            Scalar::Bool(b) => Scalar::I64(b as i64),
            _ => return Err(OpError::WrongOperands),
        },
        _ => return Err(OpError::WrongOperands),
    })
}

fn integer_pair(a: Scalar, b: Scalar) -> Result<(i128, i128), OpError> {
    match (a.as_integer(), b.as_integer()) {
        (Some(x), Some(y)) if a.ty() == b.ty() => Ok((x, y)),
        _ => Err(OpError::WrongOperands),
    }
}

fn divisor(d: Scalar) -> Result<(), OpError> {
    if d.as_integer() == Some(0) { Err(OpError::DivisionByZero) } else { Ok(()) }
}

/// The operand as an `f64` and the float type of the result (`Quot t`).
fn as_real(a: Scalar) -> Result<(f64, BaseTy), OpError> {
    match (a.as_integer(), a.as_float()) {
        (Some(n), _) => Ok((n as f64, BaseTy::F64)),
        (_, Some(x)) => Ok((x, a.ty())),
        _ => Err(OpError::WrongOperands),
    }
}

fn real1(a: Scalar, f: fn(f64) -> f64) -> Result<Scalar, OpError> {
    let (x, ty) = as_real(a)?;
    Scalar::from_float(ty, f(x)).ok_or(OpError::WrongOperands)
}

fn real(a: Scalar, b: Scalar, f: fn(f64, f64) -> f64) -> Result<Scalar, OpError> {
    if a.ty() != b.ty() {
        return Err(OpError::WrongOperands);
    }
    let ((x, ty), (y, _)) = (as_real(a)?, as_real(b)?);
    Scalar::from_float(ty, f(x, y)).ok_or(OpError::WrongOperands)
}

fn rounded(a: Scalar, f: fn(f64) -> f64) -> Result<Scalar, OpError> {
    match a.as_float() {
        // Integral values near an f16 or f32 are of that type, so this rounds once.
        Some(x) => Scalar::from_float(a.ty(), f(x)).ok_or(OpError::WrongOperands),
        None if a.ty().is_integer() => Ok(a),
        None => Err(OpError::WrongOperands),
    }
}

fn expt(base: Scalar, exponent: Scalar) -> Result<Scalar, OpError> {
    let integral = match exponent.as_float() {
        // Any integral float is an i128 but for the huge, whose power is the same as `pow`'s.
        Some(e) if e == libm::trunc(e) && e.abs() < 1e30 => Some(e as i128),
        Some(_) => None,
        None => Some(exponent.as_integer().ok_or(OpError::WrongOperands)?),
    };
    if base.ty().is_integer() {
        if integral.is_some_and(|e| e < 0) || exponent.as_float().is_some_and(|e| e < 0.0) {
            return Err(OpError::NegativeExponent);
        }
        return match (integral, base.as_integer(), exponent.as_float()) {
            (Some(e), _, _) => {
                let e = e.unsigned_abs();
                Ok(integers!(base, base, |x, _y| x.power(e)))
            }
            (None, Some(b), Some(e)) => super::cast(Scalar::F64(libm::pow(b as f64, e)), base.ty()),
            _ => Err(OpError::WrongOperands),
        };
    }
    let b = base.as_float().ok_or(OpError::WrongOperands)?;
    let power = match (integral, exponent.as_float()) {
        (Some(e), _) => powi(b, e),
        (None, Some(e)) => libm::pow(b, e),
        (None, None) => return Err(OpError::WrongOperands),
    };
    Scalar::from_float(base.ty(), power).ok_or(OpError::WrongOperands)
}

/// Repeated squaring in `f64`: multiplications only, so every device has the same bits.
fn powi(b: f64, e: i128) -> f64 {
    let (mut result, mut base, mut n) = (1.0, b, e.unsigned_abs());
    while n > 0 {
        if n & 1 == 1 {
            result *= base;
        }
        base *= base;
        n >>= 1;
    }
    if e < 0 { 1.0 / result } else { result }
}
