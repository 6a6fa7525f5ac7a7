//! Base types, their classes, and scalar values.
//!
//! What the scalar operators mean is in the one table of [`crate::ops`].

use half::f16;
use std::fmt;

/// An atom type that the machine knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum BaseTy {
    Bool,
    Char,
    I8,
    I16,
    I32,
    /// `int`
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    /// `float`
    F64,
}

/// A class of atom types, as in `(∀ ((t num)) τ)`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Class {
    /// Every integer and float type.
    Num,
    /// The integer types.
    Int,
    /// The float types.
    Frac,
    /// What `=` and `!=` compare: `num`, `bool` and `char`.
    Eq,
    /// What can be ordered: `num` and `char`.
    Ord,
}

impl BaseTy {
    pub const ALL: [BaseTy; 13] = [
        BaseTy::Bool,
        BaseTy::Char,
        BaseTy::I8,
        BaseTy::I16,
        BaseTy::I32,
        BaseTy::I64,
        BaseTy::U8,
        BaseTy::U16,
        BaseTy::U32,
        BaseTy::U64,
        BaseTy::F16,
        BaseTy::F32,
        BaseTy::F64,
    ];

    /// The name a type prints with; `i64` and `f64` are the other spellings of `int` and `float`.
    pub fn name(self) -> &'static str {
        match self {
            BaseTy::Bool => "bool",
            BaseTy::Char => "char",
            BaseTy::I8 => "i8",
            BaseTy::I16 => "i16",
            BaseTy::I32 => "i32",
            BaseTy::I64 => "int",
            BaseTy::U8 => "u8",
            BaseTy::U16 => "u16",
            BaseTy::U32 => "u32",
            BaseTy::U64 => "u64",
            BaseTy::F16 => "f16",
            BaseTy::F32 => "f32",
            BaseTy::F64 => "float",
        }
    }

    /// The name that says how a type is stored, which printed programs use: `i64`, `f64`, and `u32` for the
    /// code point of a character.
    pub fn stored_name(self) -> &'static str {
        match self {
            BaseTy::Char => "u32",
            BaseTy::I64 => "i64",
            BaseTy::F64 => "f64",
            other => other.name(),
        }
    }

    pub fn from_name(name: &str) -> Option<BaseTy> {
        match name {
            "i64" => Some(BaseTy::I64),
            "f64" => Some(BaseTy::F64),
            _ => BaseTy::ALL.into_iter().find(|b| b.name() == name),
        }
    }

    pub fn is_integer(self) -> bool {
        (BaseTy::I8..=BaseTy::U64).contains(&self)
    }

    pub fn is_float(self) -> bool {
        (BaseTy::F16..=BaseTy::F64).contains(&self)
    }

    pub fn is_signed(self) -> bool {
        (BaseTy::I8..=BaseTy::I64).contains(&self)
    }

    /// Width in bits; `bool` is 8 in memory, `char` is a 32-bit code point.
    pub fn bits(self) -> u32 {
        match self {
            BaseTy::Bool | BaseTy::I8 | BaseTy::U8 => 8,
            BaseTy::I16 | BaseTy::U16 | BaseTy::F16 => 16,
            BaseTy::I32 | BaseTy::U32 | BaseTy::F32 | BaseTy::Char => 32,
            BaseTy::I64 | BaseTy::U64 | BaseTy::F64 => 64,
        }
    }

    /// The least and greatest value of an integer type.
    pub fn integer_range(self) -> Option<(i128, i128)> {
        if !self.is_integer() {
            return None;
        }
        let b = self.bits();
        Some(if self.is_signed() {
            (-(1i128 << (b - 1)), (1i128 << (b - 1)) - 1)
        } else {
            (0, (1i128 << b) - 1)
        })
    }

    pub fn is_in(self, class: Class) -> bool {
        match class {
            Class::Num => self.is_integer() || self.is_float(),
            Class::Int => self.is_integer(),
            Class::Frac => self.is_float(),
            Class::Eq | Class::Ord => true,
        }
    }
}

impl Class {
    pub fn name(self) -> &'static str {
        match self {
            Class::Num => "num",
            Class::Int => "int",
            Class::Frac => "frac",
            Class::Eq => "eq",
            Class::Ord => "ord",
        }
    }

    pub fn from_name(name: &str) -> Option<Class> {
        [Class::Num, Class::Int, Class::Frac, Class::Eq, Class::Ord].into_iter().find(|c| c.name() == name)
    }

    /// Whether every type of `self` is a type of `other`.
    pub fn implies(self, other: Class) -> bool {
        self == other
            || match self {
                Class::Int | Class::Frac => matches!(other, Class::Num | Class::Ord | Class::Eq),
                Class::Num => matches!(other, Class::Ord | Class::Eq),
                Class::Ord => other == Class::Eq,
                Class::Eq => false,
            }
    }

    /// The class of types that are in both, if there is any type in both.
    pub fn meet(self, other: Class) -> Option<Class> {
        if self.implies(other) {
            Some(self)
        } else if other.implies(self) {
            Some(other)
        } else {
            None
        }
    }
}

impl fmt::Display for BaseTy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A scalar value of a base type.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Scalar {
    Bool(bool),
    Char(char),
    I8(i8),
    I16(i16),
    I32(i32),
    I64(i64),
    U8(u8),
    U16(u16),
    U32(u32),
    U64(u64),
    F16(f16),
    F32(f32),
    F64(f64),
}

impl Scalar {
    pub fn ty(self) -> BaseTy {
        match self {
            Scalar::Bool(_) => BaseTy::Bool,
            Scalar::Char(_) => BaseTy::Char,
            Scalar::I8(_) => BaseTy::I8,
            Scalar::I16(_) => BaseTy::I16,
            Scalar::I32(_) => BaseTy::I32,
            Scalar::I64(_) => BaseTy::I64,
            Scalar::U8(_) => BaseTy::U8,
            Scalar::U16(_) => BaseTy::U16,
            Scalar::U32(_) => BaseTy::U32,
            Scalar::U64(_) => BaseTy::U64,
            Scalar::F16(_) => BaseTy::F16,
            Scalar::F32(_) => BaseTy::F32,
            Scalar::F64(_) => BaseTy::F64,
        }
    }

    /// The value as 64 bits: signed integers sign-extended, everything else (`bool`, code points, the bits
    /// of floats) zero-extended.
    pub fn to_bits64(self) -> i64 {
        match self {
            Scalar::Bool(x) => i64::from(x),
            Scalar::Char(x) => i64::from(u32::from(x)),
            Scalar::I8(x) => i64::from(x),
            Scalar::I16(x) => i64::from(x),
            Scalar::I32(x) => i64::from(x),
            Scalar::I64(x) => x,
            Scalar::U8(x) => i64::from(x),
            Scalar::U16(x) => i64::from(x),
            Scalar::U32(x) => i64::from(x),
            Scalar::U64(x) => x as i64,
            Scalar::F16(x) => i64::from(x.to_bits()),
            Scalar::F32(x) => i64::from(x.to_bits()),
            Scalar::F64(x) => x.to_bits() as i64,
        }
    }

    /// The value of type `ty` in the low bits of [`Scalar::to_bits64`]; `None` if they are no code point.
    pub fn from_bits64(ty: BaseTy, bits: i64) -> Option<Scalar> {
        Some(match ty {
            BaseTy::Bool => Scalar::Bool(bits as u8 != 0),
            BaseTy::Char => Scalar::Char(char::from_u32(bits as u32)?),
            BaseTy::I8 => Scalar::I8(bits as i8),
            BaseTy::I16 => Scalar::I16(bits as i16),
            BaseTy::I32 => Scalar::I32(bits as i32),
            BaseTy::I64 => Scalar::I64(bits),
            BaseTy::U8 => Scalar::U8(bits as u8),
            BaseTy::U16 => Scalar::U16(bits as u16),
            BaseTy::U32 => Scalar::U32(bits as u32),
            BaseTy::U64 => Scalar::U64(bits as u64),
            BaseTy::F16 => Scalar::F16(f16::from_bits(bits as u16)),
            BaseTy::F32 => Scalar::F32(f32::from_bits(bits as u32)),
            BaseTy::F64 => Scalar::F64(f64::from_bits(bits as u64)),
        })
    }

    /// The value of an integer type, exactly.
    pub fn as_integer(self) -> Option<i128> {
        Some(match self {
            Scalar::I8(x) => x as i128,
            Scalar::I16(x) => x as i128,
            Scalar::I32(x) => x as i128,
            Scalar::I64(x) => x as i128,
            Scalar::U8(x) => x as i128,
            Scalar::U16(x) => x as i128,
            Scalar::U32(x) => x as i128,
            Scalar::U64(x) => x as i128,
            _ => return None,
        })
    }

    /// The value of a float type, exactly (every `f16` and `f32` is an `f64`).
    pub fn as_float(self) -> Option<f64> {
        Some(match self {
            Scalar::F16(x) => x.to_f64(),
            Scalar::F32(x) => x as f64,
            Scalar::F64(x) => x,
            _ => return None,
        })
    }

    /// `n` modulo the width of `ty`, an integer type, or rounded to nearest even if `ty` is a float
    /// type. `None` for `bool` and `char`.
    pub fn from_integer(ty: BaseTy, n: i128) -> Option<Scalar> {
        Some(match ty {
            BaseTy::I8 => Scalar::I8(n as i8),
            BaseTy::I16 => Scalar::I16(n as i16),
            BaseTy::I32 => Scalar::I32(n as i32),
            BaseTy::I64 => Scalar::I64(n as i64),
            BaseTy::U8 => Scalar::U8(n as u8),
            BaseTy::U16 => Scalar::U16(n as u16),
            BaseTy::U32 => Scalar::U32(n as u32),
            BaseTy::U64 => Scalar::U64(n as u64),
            BaseTy::F16 => Scalar::F16(to_f16(n as f64)),
            BaseTy::F32 => Scalar::F32(n as f32),
            BaseTy::F64 => Scalar::F64(n as f64),
            BaseTy::Bool | BaseTy::Char => return None,
        })
    }

    /// `x` rounded to the float type `ty`. `None` if `ty` is not a float type.
    pub fn from_float(ty: BaseTy, x: f64) -> Option<Scalar> {
        Some(match ty {
            BaseTy::F16 => Scalar::F16(to_f16(x)),
            BaseTy::F32 => Scalar::F32(x as f32),
            BaseTy::F64 => Scalar::F64(x),
            _ => return None,
        })
    }
}

/// The nearest `f16`, ties to even. (`f16::from_f64` ignores the low half of the mantissa and so takes a
/// number just above a tie for the tie.) The step through `f32` rounds to odd: toward zero, with the last
/// bit set where anything was lost, which keeps the second rounding right.
fn to_f16(x: f64) -> f16 {
    let y = x as f32;
    if y.is_nan() || y as f64 == x {
        return f16::from_f32(y);
    }
    let away = (y as f64).abs() > x.abs();
    f16::from_f32(f32::from_bits((y.to_bits() - away as u32) | 1))
}
