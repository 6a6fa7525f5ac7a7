//! The messages of traps.

use super::{OF_ONE, OF_THREE, OF_TWO, Stop, Trap, codes};
use crate::scalar::{BaseTy, Scalar};

/// Reads a trap's values in order.
struct Values<'a>(std::slice::Iter<'a, i64>);

impl Values<'_> {
    fn one(&mut self) -> i64 {
        self.0.next().copied().unwrap_or(0)
    }

    /// A scalar as it is written.
    fn scalar(&mut self, ty: BaseTy) -> String {
        let bits = self.one();
        let scalar = Scalar::from_bits64(ty, bits);
        match (scalar.and_then(Scalar::as_integer), scalar.and_then(Scalar::as_float), scalar) {
            (Some(n), ..) => n.to_string(),
            (_, Some(x), _) => format!("{x:?}").to_lowercase(),
            (.., Some(Scalar::Bool(b))) => if b { "#t" } else { "#f" }.to_owned(),
            _ => bits.to_string(),
        }
    }

    /// `[1 2 3]`, of a vector of `len` numbers of which at most `most` are there.
    fn vector(&mut self, len: usize, most: usize) -> String {
        let mut words: Vec<String> = (0..len.min(most)).map(|_| self.one().to_string()).collect();
        if len > most {
            words.push("…".to_owned());
        }
        format!("[{}]", words.join(" "))
    }
}

/// A dim and its value; a dim that is a number says it itself.
fn valued(dim: &str, n: i64) -> String {
    if dim.parse::<i128>().is_ok() { n.to_string() } else { format!("{dim} is {n}") }
}

pub(super) fn report(trap: &Trap, values: &[i64]) -> Stop {
    let mut v = Values(values.iter());
    let (code, message) = match trap {
        Trap::Index { axes, rank } => {
            let (at, shape) = (v.vector(*axes, OF_TWO), v.vector(*rank, OF_TWO));
            (codes::INDEX, format!("the index {at} is out of range for the shape {shape}"))
        }
        Trap::Negative { what } => {
            (codes::NEGATIVE, format!("the dimension {what} is negative: {}", v.one()))
        }
        Trap::NegativeIn { rank } => {
            let ints = v.vector(*rank, OF_ONE);
            (codes::NEGATIVE, format!("the dimension in {ints} is negative: {}", v.one()))
        }
        Trap::NegativeCount => {
            let (n, at) = (v.one(), v.one());
            (codes::NEGATIVE, format!("replicate: the count {n} at index {at} is negative"))
        }
        Trap::NegativeLength => {
            let (n, at) = (v.one(), v.one());
            (codes::NEGATIVE, format!("split: the length {n} at index {at} is negative"))
        }
        Trap::Division { op, ty } => {
            let (x, y) = (v.scalar(*ty), v.scalar(*ty));
            (codes::DIVISION, format!("integer division by zero: ({op} {x} {y})"))
        }
        Trap::Exponent { base, exponent } => {
            let (x, y) = (v.scalar(*base), v.scalar(*exponent));
            (codes::EXPONENT, format!("negative exponent of an integer: (expt {x} {y})"))
        }
        Trap::IntToChar => {
            let n = v.one();
            (codes::CHAR, format!("no char has the code point {n}: (int->char {n})"))
        }
        Trap::CastToChar { from } => {
            let scalar = values.first().and_then(|bits| Scalar::from_bits64(*from, *bits));
            // A cast from a float goes through an `int`.
            let float = scalar.and_then(Scalar::as_float).map(|x| i128::from(x as i64));
            let n = scalar.and_then(Scalar::as_integer).or(float).unwrap_or(0);
            (codes::CHAR, format!("no char has the code point {n}: (cast {})", v.scalar(*from)))
        }
        Trap::TooSmall { why, dim } => (codes::TOO_SMALL, format!("{why}: {}", valued(dim, v.one()))),
        Trap::Unequal { why, left, right } => {
            let (m, n) = (valued(left, v.one()), valued(right, v.one()));
            (codes::UNEQUAL, format!("{why}: {m}, {n}"))
        }
        Trap::Empty { prim } => (codes::TOO_SMALL, format!("{prim} of an empty dimension")),
        Trap::Reshape { from, to } => {
            let (from, m) = (v.vector(*from, OF_TWO), v.one());
            let (to, n) = (v.vector(*to, OF_TWO), v.one());
            (codes::RESHAPE, format!("reshape of shape {from} ({m} elements) to {to} ({n} elements)"))
        }
        Trap::WithShape { rank } => {
            let shape = v.vector(*rank, OF_ONE);
            (codes::RESHAPE, format!("with-shape: no elements to fill the shape {shape} with"))
        }
        Trap::Subvector => {
            let (out, start, n) = (v.one(), v.one(), v.one());
            (codes::SUBARRAY, format!("{out} items from {start} on reach past the {n} items there are"))
        }
        Trap::Subarray { axes, rank } => {
            let (part, start) = (v.vector(*axes, OF_THREE), v.vector(*axes, OF_THREE));
            let shape = v.vector(*rank, OF_THREE);
            let message =
                format!("a part of shape {part} at {start} reaches past the array, whose shape is {shape}");
            (codes::SUBARRAY, message)
        }
        Trap::Wrap { rank } => {
            let shape = v.vector(*rank, OF_ONE);
            (codes::SUBARRAY, format!("subarray/wrap of an array of shape {shape}, which has no elements"))
        }
        Trap::Split => {
            let (total, n) = (v.one(), v.one());
            (codes::SPLIT, format!("split: the lengths add up to {total}, but there are {n} items"))
        }
        Trap::Scatter { prim } => {
            let (i, n) = (v.one(), v.one());
            (codes::SCATTER, format!("{prim}: the index {i} is past the end of {n} places"))
        }
        Trap::TooLarge { rank, .. } => {
            (codes::TOO_LARGE, format!("an array of shape {} is too large", v.vector(*rank, OF_ONE)))
        }
        Trap::Overflow { dim } => (codes::TOO_LARGE, format!("the size {dim} does not fit in 64 bits")),
        Trap::Append => (codes::TOO_LARGE, "append: too many items".to_owned()),
        Trap::AsShape { have, want } => {
            let (have, want) = (v.vector(*have, OF_TWO), v.vector(*want, OF_TWO));
            (codes::AS_SHAPE, format!("as-shape: the value has shape {have}, not {want}"))
        }
        Trap::Range { ty } => out_of_range(i128::from(v.one()), *ty),
        Trap::Literal { n, ty } => out_of_range(*n, *ty),
        Trap::NoZero { ty } => {
            (codes::NO_ZERO, format!("scatter leaves places untouched, and {ty} has no zero"))
        }
    };
    Stop { code, message, help: help(trap).into_iter().collect() }
}

fn out_of_range(n: i128, ty: BaseTy) -> (crate::diag::Code, String) {
    let message = match ty.integer_range() {
        Some((lo, hi)) => format!("{n} does not fit in {ty}, which holds {lo} to {hi}"),
        None => format!("{n} does not fit in {ty}"),
    };
    (codes::RANGE, message)
}

fn help(trap: &Trap) -> Option<String> {
    let text = match trap {
        Trap::Index { .. } => "indices count from 0, and each must be less than its axis is long",
        Trap::Division { .. } => "`/` is true division: it gives a float and does not stop the program",
        Trap::Exponent { .. } => "a float base has negative powers: write `2.0` for `2`, or `(cast float x)`",
        Trap::Empty { .. } => "`reduce/zero` takes what an empty reduction gives",
        Trap::Reshape { .. } => "`with-shape` repeats elements or leaves some out",
        Trap::Subarray { .. } => {
            "`subarray/wrap` goes round the edges, `subarray/fill` fills what lies outside"
        }
        Trap::Scatter { .. } => "a negative index drops the value",
        Trap::TooLarge { by, most, .. } => {
            return Some(format!("the {by} allocates at most {most} elements for one array"));
        }
        Trap::AsShape { .. } => "`reshape` changes the shape of a value; `as-shape` only states it",
        _ => return None,
    };
    Some(text.to_owned())
}
