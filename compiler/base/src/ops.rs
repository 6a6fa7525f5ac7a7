//! The one table of scalar operators: their names, types and meaning at the edges.
//!
//! The interpreter and constant folding call [`apply`] and [`cast`]; the printers of machine code read
//! [`TABLE`] and print what it says. Nothing else in the compiler knows what `+` is.
//!
//! `t` is the operator's type, `Quot t` is `float` for an integer `t` and `t` itself for a float `t`.
//!
//! | operators | edges |
//! | --- | --- |
//! | `+ - * negate abs` | integers wrap: `(abs MIN)` is `MIN`, `(negate 1u8)` is 255 |
//! | `/` | `Quot t`: integers are converted first, so `(/ 1 0)` is `inf`, `(/ 0 0)` is `nan`; no error |
//! | `quotient %` | round toward minus infinity, `%` has the divisor's sign; `MIN / -1` is `MIN`, `MIN % -1` is 0; an integer divisor 0 is an error. Floats as Python: `%` is `fmod` moved into the divisor's sign, `quotient` is `(x - fmod(x, y)) / y`, less 1 where the remainder was moved, rounded to the nearest integral value: `(quotient -1.0 inf)` is -1.0, `(% -1.0 inf)` is `inf`; divisor 0, which Python refuses, gives `x / 0` and `nan` |
//! | `expt` | integer base: repeated squaring, wrapping, `(expt 0 0)` is 1, a negative exponent is an error; a float exponent that is integral is that integer, any other is `pow` in `f64`, cast back. Float base: an integral exponent by repeated squaring (a negative one: 1 divided by the power of the opposite), any other is `pow` |
//! | `min2 max2` | a NaN operand gives NaN; `-0.0` is less than `0.0` (IEEE 754-2019 minimum and maximum) |
//! | `sign` | -1, 0 or 1; NaN gives NaN, both zeros give `0.0` |
//! | `gcd` | never negative but for wrapping (`(gcd MIN 0)` is `MIN`); `(gcd 0 0)` is 0 |
//! | `sqrt exp log … tanh erf` | `Quot t`; `nan` outside the domain, `(log 0)` is `-inf` |
//! | `floor ceiling round truncate` | integers unchanged; `round` is half to even; the sign of zero is kept |
//! | `= != < <= > >=` | IEEE: NaN equals nothing and is not ordered; `-0.0` = `0.0` |
//! | `shl shr` | the amount is read as unsigned, so a negative one is past the width. Past the width: `shl` gives 0, `shr` gives 0, or -1 for a negative signed value. `shr` of a signed type keeps the sign |
//! | `int->char` | what is no Unicode scalar value is an error |
//! | `float->int`, `cast` | see [`cast`] |
//!
//! `f16` operators compute in `f32`, `f32` operators in `f32`, and the functions into the reals compute
//! in `f64` by the portable `libm`: each result is rounded once to its type and is the same on every host.
//!
//! The order of `sort` and `grade` is [`total_cmp`].

mod apply;
mod cast;
mod kernels;
#[cfg(test)]
mod tests;

use crate::scalar::{BaseTy, Class, Scalar};
use std::fmt;

pub use apply::apply;
pub use cast::{cast, total_cmp};
pub use kernels::{BinaryKernel, binary_kernel};

/// The type of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    /// The operator's type `t`, of the class in [`OpInfo::class`].
    T,
    /// A second numeric type of its own.
    U,
    Base(BaseTy),
}

/// The type of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultTy {
    T,
    /// `float` if `t` is an integer type, else `t`.
    Quot,
    Base(BaseTy),
}

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpInfo {
    pub op: ScalarOp,
    /// The primitive's name in the prelude.
    pub name: &'static str,
    /// The class of `t`; `None` where the operator has no `t`, or takes any (`select`).
    pub class: Option<Class>,
    pub operands: &'static [Operand],
    pub result: ResultTy,
    /// Whether some operand values stop the program (for some `t`); such an operator may not be moved
    /// to a place where it would not have run.
    pub can_fail: bool,
}

/// Why an operator has no value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum OpError {
    DivisionByZero,
    NegativeExponent,
    /// The number is not a Unicode scalar value.
    NotAChar(i128),
    /// The operands are not of the operator's types: a mistake of the compiler, not of the program.
    WrongOperands,
}

macro_rules! table {
    ($($op:ident $name:literal $class:expr, [$($operand:expr),*] => $result:expr $(, $fail:ident)?;)*) => {
        /// A scalar operator.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum ScalarOp {
            $($op,)*
        }

        /// Every scalar operator, in the order of [`ScalarOp`].
        pub static TABLE: &[OpInfo] = &[
            $(OpInfo {
                op: ScalarOp::$op,
                name: $name,
                class: $class,
                operands: &[$($operand),*],
                result: $result,
                can_fail: false $(|| stringify!($fail).len() > 0)?,
            },)*
        ];
    };
}

const NUM: Option<Class> = Some(Class::Num);
const INT: Option<Class> = Some(Class::Int);
const EQ: Option<Class> = Some(Class::Eq);
const BOOL: ResultTy = ResultTy::Base(BaseTy::Bool);
const B: Operand = Operand::Base(BaseTy::Bool);
const C: Operand = Operand::Base(BaseTy::Char);
const I: Operand = Operand::Base(BaseTy::I64);
const F: Operand = Operand::Base(BaseTy::F64);
use Operand::{T, U};
use ResultTy::{Quot, T as SAME};

table! {
    Add "+" NUM, [T, T] => SAME;
    Sub "-" NUM, [T, T] => SAME;
    Mul "*" NUM, [T, T] => SAME;
    Div "/" NUM, [T, T] => Quot;
    Quotient "quotient" NUM, [T, T] => SAME, fails;
    Modulo "%" NUM, [T, T] => SAME, fails;
    Expt "expt" NUM, [T, U] => SAME, fails;
    Min2 "min2" NUM, [T, T] => SAME;
    Max2 "max2" NUM, [T, T] => SAME;
    Negate "negate" NUM, [T] => SAME;
    Abs "abs" NUM, [T] => SAME;
    Sign "sign" NUM, [T] => SAME;
    Gcd "gcd" INT, [T, T] => SAME;
    Sqrt "sqrt" NUM, [T] => Quot;
    Exp "exp" NUM, [T] => Quot;
    Log "log" NUM, [T] => Quot;
    Log2 "log2" NUM, [T] => Quot;
    Sin "sin" NUM, [T] => Quot;
    Cos "cos" NUM, [T] => Quot;
    Tan "tan" NUM, [T] => Quot;
    Asin "asin" NUM, [T] => Quot;
    Acos "acos" NUM, [T] => Quot;
    Atan "atan" NUM, [T] => Quot;
    Atan2 "atan2" NUM, [T, T] => Quot;
    Sinh "sinh" NUM, [T] => Quot;
    Cosh "cosh" NUM, [T] => Quot;
    Tanh "tanh" NUM, [T] => Quot;
    Erf "erf" NUM, [T] => Quot;
    Floor "floor" NUM, [T] => SAME;
    Ceiling "ceiling" NUM, [T] => SAME;
    Round "round" NUM, [T] => SAME;
    Truncate "truncate" NUM, [T] => SAME;
    Eq "=" EQ, [T, T] => BOOL;
    Ne "!=" EQ, [T, T] => BOOL;
    Lt "<" NUM, [T, T] => BOOL;
    Le "<=" NUM, [T, T] => BOOL;
    Gt ">" NUM, [T, T] => BOOL;
    Ge ">=" NUM, [T, T] => BOOL;
    CharEq "char=?" None, [C, C] => BOOL;
    CharLt "char<?" None, [C, C] => BOOL;
    And "and" None, [B, B] => BOOL;
    Or "or" None, [B, B] => BOOL;
    Xor "xor" None, [B, B] => BOOL;
    Not "not" None, [B] => BOOL;
    BitAnd "bit-and" INT, [T, T] => SAME;
    BitOr "bit-or" INT, [T, T] => SAME;
    BitXor "bit-xor" INT, [T, T] => SAME;
    BitNot "bit-not" INT, [T] => SAME;
    Shl "shl" INT, [T, T] => SAME;
    Shr "shr" INT, [T, T] => SAME;
    Popcount "popcount" INT, [T] => SAME;
    Select "select" None, [B, T, T] => SAME;
    CharToInt "char->int" None, [C] => ResultTy::Base(BaseTy::I64);
    IntToChar "int->char" None, [I] => ResultTy::Base(BaseTy::Char), fails;
    IntToFloat "int->float" None, [I] => ResultTy::Base(BaseTy::F64);
    FloatToInt "float->int" None, [F] => ResultTy::Base(BaseTy::I64);
    IntToBool "int->bool" None, [I] => BOOL;
    BoolToInt "bool->int" None, [B] => ResultTy::Base(BaseTy::I64);
}

impl ScalarOp {
    pub fn info(self) -> &'static OpInfo {
        &TABLE[self as usize]
    }

    /// The operator that a primitive's name stands for.
    pub fn from_name(name: &str) -> Option<ScalarOp> {
        TABLE.iter().find(|i| i.name == name).map(|i| i.op)
    }

    /// The base type of the result for operands of the given base types; `None` if they are not the
    /// operator's.
    pub fn result_ty(self, operands: &[BaseTy]) -> Option<BaseTy> {
        let info = self.info();
        if operands.len() != info.operands.len() {
            return None;
        }
        let mut t = None;
        for (want, &have) in info.operands.iter().zip(operands) {
            let fits = match want {
                Operand::Base(b) => *b == have,
                Operand::U => have.is_in(Class::Num),
                Operand::T => info.class.is_none_or(|c| have.is_in(c)) && *t.get_or_insert(have) == have,
            };
            if !fits {
                return None;
            }
        }
        match info.result {
            ResultTy::Base(b) => Some(b),
            ResultTy::T => t,
            ResultTy::Quot => t.map(|b| if b.is_integer() { BaseTy::F64 } else { b }),
        }
    }
}

impl fmt::Display for ScalarOp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.info().name)
    }
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpError::DivisionByZero => f.write_str("integer division by zero"),
            OpError::NegativeExponent => f.write_str("negative exponent of an integer"),
            OpError::NotAChar(n) => write!(f, "{n} is not the code point of a char"),
            OpError::WrongOperands => f.write_str("operands of the wrong type"),
        }
    }
}

/// Whether an operator is a transcendental function: a processor's code of it approximates it by some dozens of instructions,
/// the same for a vector as for a number. Not `expt`, which
/// multiplies where the exponent is an integer.
pub fn is_transcendental(op: ScalarOp) -> bool {
    use ScalarOp::*;
    matches!(op, Exp | Log | Log2 | Sin | Cos | Tan | Sinh | Cosh | Tanh | Asin | Acos | Atan | Atan2 | Erf)
}

/// The value that changes nothing when an operator of a reduction is given it: what the lanes of a
/// vectorised reduction start from. Of a float sum it is -0.0, which keeps the sign of a sum of -0.0.
pub fn neutral(op: ScalarOp, ty: BaseTy) -> Option<Scalar> {
    let int = |n: i64| cast(Scalar::I64(n), ty).ok();
    let limit = |least: bool| match ty {
        BaseTy::F16 | BaseTy::F32 | BaseTy::F64 => {
            cast(Scalar::F64(if least { f64::NEG_INFINITY } else { f64::INFINITY }), ty).ok()
        }
        _ => ty
            .integer_range()
            .and_then(|(lo, hi)| Scalar::from_bits64(ty, (if least { lo } else { hi }) as i64)),
    };
    match op {
        ScalarOp::Add if ty.is_float() => cast(Scalar::F64(-0.0), ty).ok(),
        ScalarOp::Add | ScalarOp::BitOr | ScalarOp::BitXor | ScalarOp::Gcd => {
            ty.is_integer().then(|| zero(ty))
        }
        ScalarOp::Mul => int(1),
        ScalarOp::BitAnd => int(-1),
        ScalarOp::Min2 => limit(false),
        ScalarOp::Max2 => limit(true),
        ScalarOp::And => Some(Scalar::Bool(true)),
        ScalarOp::Or | ScalarOp::Xor => Some(Scalar::Bool(false)),
        _ => None,
    }
}

/// The zero of a base type: what `scatter` leaves in untouched places.
pub fn zero(ty: BaseTy) -> Scalar {
    match ty {
        BaseTy::Bool => Scalar::Bool(false),
        BaseTy::Char => Scalar::Char('\0'),
        BaseTy::F16 => Scalar::F16(half::f16::ZERO),
        BaseTy::F32 => Scalar::F32(0.0),
        BaseTy::F64 => Scalar::F64(0.0),
        BaseTy::I8 => Scalar::I8(0),
        BaseTy::I16 => Scalar::I16(0),
        BaseTy::I32 => Scalar::I32(0),
        BaseTy::I64 => Scalar::I64(0),
        BaseTy::U8 => Scalar::U8(0),
        BaseTy::U16 => Scalar::U16(0),
        BaseTy::U32 => Scalar::U32(0),
        BaseTy::U64 => Scalar::U64(0),
    }
}
