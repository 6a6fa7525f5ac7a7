//! What stops a program when it runs: one table for every device.
//!
//! A [`Trap`] is a run-time check as the compiler knows it. It holds what is known when the program is
//! compiled: operators, types, names, the number of axes. What is known only when the check fails, the
//! *values*, are at most [`MOST_VALUES`] numbers of 64 bits, so that a compiled kernel records a trap's
//! number, its [`Prov`](crate::Prov) and those numbers, and nothing else. [`Trap::report`] makes the
//! message from them on the host. The interpreter makes its messages here too: all devices say the same
//! by construction.
//!
//! # Values
//!
//! Every variant documents its *operands*, each a number or a vector of numbers: `index: at[axes],
//! shape[rank]`. The values are the operands laid end to end. A message shows only the leading numbers of
//! a long vector, then `…`; only those are recorded. [`Trap::recorded`] says how many of each operand,
//! [`Trap::pack`] lays operands out.
//!
//! The length of a vector is known when the program is compiled, but for the shape of an array whose number of
//! axes is not ([`Len::Unknown`]). Such a vector is recorded as its length, then as many numbers as a message
//! shows, zeros where it is shorter: `[2 3]` as `2, 2 3 0 0 0 0 0`.
//!
//! A scalar travels as [`Scalar::to_bits64`] of its own base type. Sizes, indices and counts are `i64`.
//!
//! # Text
//!
//! In the text form of an IR a trap is an s-expression of its name and its parts: `(index 2 2)`,
//! `(division "quotient" int)`, `(too-small "why" "(- n 1)")`; a length that is not known is `?`. See [`Trap::print`] and [`Trap::parse`].

mod report;
mod text;

#[cfg(test)]
mod tests;

use crate::diag::Code;
use crate::ops::ScalarOp;
use crate::scalar::BaseTy;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

pub use report::{Format, Piece};

/// The codes of run-time errors; each has a page.
pub mod codes {
    use crate::diag::Code;

    /// An index outside its axis.
    pub const INDEX: Code = Code("R0001");
    /// A negative dimension, size or count.
    pub const NEGATIVE: Code = Code("R0002");
    /// Integer division by zero.
    pub const DIVISION: Code = Code("R0003");
    /// A negative exponent of an integer base.
    pub const EXPONENT: Code = Code("R0004");
    /// A size that the program needs to be at least something is less, as in `reduce` of nothing.
    pub const TOO_SMALL: Code = Code("R0005");
    /// Two sizes that the program needs to be equal are not.
    pub const UNEQUAL: Code = Code("R0006");
    /// `reshape` or `with-shape` with another number of elements.
    pub const RESHAPE: Code = Code("R0007");
    /// A part that reaches past the array.
    pub const SUBARRAY: Code = Code("R0008");
    /// The lengths given to `split` do not add up.
    pub const SPLIT: Code = Code("R0009");
    /// A number that is no char.
    pub const CHAR: Code = Code("R0010");
    /// A `scatter` index past the end.
    pub const SCATTER: Code = Code("R0011");
    /// An array larger than the device allocates.
    pub const TOO_LARGE: Code = Code("R0012");
    /// `as-shape` with a shape that the value has not.
    pub const AS_SHAPE: Code = Code("R0013");
    /// A number that its type cannot hold.
    pub const RANGE: Code = Code("R0014");
    /// A value that has no zero, where `scatter` needs one.
    pub const NO_ZERO: Code = Code("R0015");
    /// More calls of itself than a definition may wait for.
    pub const DEEP: Code = Code("R0017");
    /// A term that does not type-check: a mistake of the compiler.
    pub const INTERNAL: Code = Code("R0999");
}

/// The most values that any trap takes.
pub const MOST_VALUES: usize = 16;

/// How many numbers a vector among the operands has.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Len {
    Known(usize),
    /// It is recorded in front of the vector.
    Unknown,
}

impl From<usize> for Len {
    fn from(n: usize) -> Len {
        Len::Known(n)
    }
}

impl Len {
    /// How many values are recorded for a vector of which a message shows at most `most` numbers.
    fn recorded(self, most: usize) -> usize {
        match self {
            Len::Known(n) => n.min(most),
            Len::Unknown => 1 + most,
        }
    }
}

/// The most elements that each of several rows of sizes of their own may have. No memory holds more, and it takes
/// 2^23 such rows for a sum of their sizes to be past 63 bits.
pub const LONGEST: i64 = 1 << 40;

/// So many calls of itself a definition with several on its way may wait for at a time.
pub const DEEPEST: i64 = 1000;
/// So many may wait of a definition that calls itself once on each way.
pub const LONGEST_WAY: i64 = 1_000_000;

/// A run-time check: what it says when it fails, but for the values.
///
/// `dim` texts are dims as printed (`n`, `(- n 1)`); a number says itself.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Trap {
    /// An index outside the shape. `at[axes], shape[rank]`
    Index { axes: Len, rank: Len },
    /// A dimension that would be negative; `what` says which, as in `the dimension {what} is negative`.
    /// `n`
    Negative { what: Arc<str> },
    /// A shape from a vector of integers, one of which is negative. `ints[rank], n`
    NegativeIn { rank: Len },
    /// A negative count given to `replicate`. `count, position`
    NegativeCount,
    /// A negative length given to `split`. `length, position`
    NegativeLength,
    /// `quotient` or `%` by an integer 0. `x, y`, both of type `ty`
    Division { op: ScalarOp, ty: BaseTy },
    /// An integer to a negative power. `x, y`, of types `base` and `exponent`
    Exponent { base: BaseTy, exponent: BaseTy },
    /// `int->char` of what is no Unicode scalar value. `x`
    IntToChar,
    /// A cast to `char` of what is no Unicode scalar value. `x`, of type `from`
    CastToChar { from: BaseTy },
    /// A size that the program needs to be at least 0 is less. `n`, the value of `dim`
    TooSmall { why: Arc<str>, dim: Arc<str> },
    /// Two sizes that have to agree do not. `m, n`, the values of `left` and `right`
    Unequal { why: Arc<str>, left: Arc<str>, right: Arc<str> },
    /// `prim`, a reduction without a zero, of nothing. No operands.
    Empty { prim: Arc<str> },
    /// `reshape` to another number of elements. `from[from], elements, to[to], elements`
    Reshape { from: Len, to: Len },
    /// `with-shape` of an array without elements. `shape[rank]`, the shape to fill
    WithShape { rank: Len },
    /// A `subvector` that reaches past the vector. `items, start, length`
    Subvector,
    /// A `subarray` that reaches past the array. `part[axes], start[axes], shape[rank]`
    Subarray { axes: Len, rank: Len },
    /// `subarray/wrap` of an array without elements. `shape[rank]`
    Wrap { rank: Len },
    /// The lengths given to `split` do not add up to the number of items. `total, items`
    Split,
    /// An index past the end, in `prim`, one of the scatters. `index, length`
    Scatter { prim: Arc<str> },
    /// An array of more elements than the device, named `by`, allocates. `shape[rank]`
    TooLarge { rank: usize, by: Arc<str>, most: u64 },
    /// A size past 64 bits. No operands.
    Overflow { dim: Arc<str> },
    /// `append` of more items than 64 bits count. No operands.
    Append,
    /// `as-shape` of a value of another shape. `have[have], want[want]`
    AsShape { have: Len, want: Len },
    /// A number that its type cannot hold. `n`, an `i64`
    Range { ty: BaseTy },
    /// A number known to the compiler that its type cannot hold. No operands.
    Literal { n: i128, ty: BaseTy },
    /// `scatter` of values that have no zero, where a place stays untouched. No operands.
    NoZero { ty: Arc<str> },
    /// A definition waits for more calls of itself than it may. `most`
    Deep,
}

/// A program that stopped: what to tell the reader.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stop {
    pub code: Code,
    /// With the values involved.
    pub message: String,
    pub help: Vec<String>,
}

/// How many numbers of a vector a message shows, by how many vectors it shows.
const OF_ONE: usize = 12;
const OF_TWO: usize = 7;
const OF_THREE: usize = 4;
/// The same for `reshape`, which shows two numbers more.
const OF_RESHAPE: usize = 6;

impl Trap {
    /// A row of so many axes is larger than [`LONGEST`]; its shape is the operand.
    pub fn of_row(rank: usize) -> Trap {
        Trap::TooLarge { rank, by: "device".into(), most: LONGEST as u64 }
    }

    /// What an operator on operands of these types says where it has no value; `None` if it always has
    /// one (or they are not its operand types).
    pub fn of_operator(op: ScalarOp, operands: &[BaseTy]) -> Option<Trap> {
        match (op, operands) {
            (ScalarOp::Quotient | ScalarOp::Modulo, [ty, _]) if ty.is_integer() => {
                Some(Trap::Division { op, ty: *ty })
            }
            (ScalarOp::Expt, [base, exponent])
                if base.is_integer() && (exponent.is_signed() || exponent.is_float()) =>
            {
                Some(Trap::Exponent { base: *base, exponent: *exponent })
            }
            (ScalarOp::IntToChar, [_]) => Some(Trap::IntToChar),
            _ => None,
        }
    }

    /// What a cast says where it has no value; `None` if it always has one.
    pub fn of_cast(from: BaseTy, to: BaseTy) -> Option<Trap> {
        let fails = to == BaseTy::Char && (from.is_integer() || from.is_float());
        fails.then_some(Trap::CastToChar { from })
    }

    /// How many values of each operand are recorded: all, or the leading ones of a long vector.
    pub fn recorded(&self) -> SmallVec<[usize; 4]> {
        match *self {
            Trap::Index { axes, rank } => smallvec![axes.recorded(OF_TWO), rank.recorded(OF_TWO)],
            Trap::NegativeIn { rank } => smallvec![rank.recorded(OF_ONE), 1],
            Trap::Reshape { from, to } => {
                smallvec![from.recorded(OF_RESHAPE), 1, to.recorded(OF_RESHAPE), 1]
            }
            Trap::AsShape { have, want } => smallvec![have.recorded(OF_TWO), want.recorded(OF_TWO)],
            Trap::Subarray { axes, rank } => {
                smallvec![axes.recorded(OF_THREE), axes.recorded(OF_THREE), rank.recorded(OF_THREE)]
            }
            Trap::WithShape { rank } | Trap::Wrap { rank } => smallvec![rank.recorded(OF_ONE)],
            Trap::TooLarge { rank, .. } => smallvec![rank.min(OF_ONE)],
            Trap::Subvector => smallvec![1, 1, 1],
            Trap::Division { .. }
            | Trap::Exponent { .. }
            | Trap::Unequal { .. }
            | Trap::NegativeCount
            | Trap::NegativeLength
            | Trap::Split
            | Trap::Scatter { .. } => smallvec![1, 1],
            Trap::Negative { .. }
            | Trap::IntToChar
            | Trap::CastToChar { .. }
            | Trap::TooSmall { .. }
            | Trap::Range { .. }
            | Trap::Deep => smallvec![1],
            Trap::Empty { .. }
            | Trap::Overflow { .. }
            | Trap::Append
            | Trap::Literal { .. }
            | Trap::NoZero { .. } => smallvec![],
        }
    }

    /// How many values the trap takes, at most [`MOST_VALUES`].
    pub fn values(&self) -> usize {
        self.recorded().iter().sum()
    }

    /// The values for whole operands, a vector of unknown length with its length in front. A number that an
    /// operand lacks counts as 0.
    pub fn pack(&self, operands: &[&[i64]]) -> SmallVec<[i64; MOST_VALUES]> {
        let mut out = SmallVec::new();
        for (i, n) in self.recorded().into_iter().enumerate() {
            let operand = operands.get(i).copied().unwrap_or_default();
            out.extend((0..n).map(|k| operand.get(k).copied().unwrap_or(0)));
        }
        out
    }

    /// The message, with the values put in. A value that is missing counts as 0.
    pub fn report(&self, values: &[i64]) -> Stop {
        self.format().fill(values)
    }

    /// What the trap says, with slots for the values: for devices that make the message themselves.
    pub fn format(&self) -> Format {
        report::format(self)
    }
}
