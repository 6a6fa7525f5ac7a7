//! The messages of traps: made once as text with slots for values, so that a device that knows nothing of
//! traps, such as a printed program, says the same as one that does.

use super::{Len, OF_ONE, OF_RESHAPE, OF_THREE, OF_TWO, Stop, Trap, codes};
use crate::diag::Code;
use crate::scalar::{BaseTy, Scalar};

/// A part of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Piece {
    Text(String),
    /// The value number `at`, a scalar of this type, as it is written.
    Value {
        at: usize,
        ty: BaseTy,
    },
    /// The same without its fraction.
    Whole {
        at: usize,
        ty: BaseTy,
    },
    /// A vector of ints, `[1 2 3]`, whose length is the value number `at`; the values behind that are its first
    /// `most` numbers.
    Vector {
        at: usize,
        most: usize,
    },
}

/// What a trap says, with slots for the values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Format {
    pub code: Code,
    pub message: Vec<Piece>,
    pub help: Vec<String>,
}

impl Format {
    /// The message with the values put in. A value that is missing counts as 0.
    pub fn fill(&self, values: &[i64]) -> Stop {
        let bits = |at: usize| values.get(at).copied().unwrap_or(0);
        let pieces = self.message.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Value { at, ty } => written(*ty, bits(*at)),
            Piece::Whole { at, ty } => whole(*ty, bits(*at)).to_string(),
            Piece::Vector { at, most } => {
                let len = usize::try_from(bits(*at)).unwrap_or(0);
                let shown: Vec<String> = (1..=len.min(*most)).map(|k| bits(at + k).to_string()).collect();
                format!("[{}{}]", shown.join(" "), if len > *most { " …" } else { "" })
            }
        });
        Stop { code: self.code, message: pieces.collect(), help: self.help.clone() }
    }
}

/// A scalar as it is written.
fn written(ty: BaseTy, bits: i64) -> String {
    let scalar = Scalar::from_bits64(ty, bits);
    match (scalar.and_then(Scalar::as_integer), scalar.and_then(Scalar::as_float), scalar) {
        (Some(n), ..) => n.to_string(),
        (_, Some(x), _) => format!("{x:?}").to_lowercase(),
        (.., Some(Scalar::Bool(b))) => if b { "#t" } else { "#f" }.to_owned(),
        _ => bits.to_string(),
    }
}

/// A number as the `int` that a cast makes of it.
fn whole(ty: BaseTy, bits: i64) -> i128 {
    let scalar = Scalar::from_bits64(ty, bits);
    let float = scalar.and_then(Scalar::as_float).map(|x| i128::from(x as i64));
    scalar.and_then(Scalar::as_integer).or(float).unwrap_or(0)
}

/// A message under construction, which takes the values in order.
#[derive(Default)]
struct Message {
    pieces: Vec<Piece>,
    next: usize,
}

impl Message {
    fn new(text: &str) -> Message {
        Message::default().say(text)
    }

    fn say(mut self, text: &str) -> Message {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
        self
    }

    fn scalar(mut self, ty: BaseTy) -> Message {
        self.pieces.push(Piece::Value { at: self.next, ty });
        self.next += 1;
        self
    }

    fn int(self) -> Message {
        self.scalar(BaseTy::I64)
    }

    /// `[1 2 3]`, of a vector of `len` numbers of which at most `most` are there.
    fn vector(mut self, len: impl Into<Len>, most: usize) -> Message {
        let Len::Known(len) = len.into() else {
            self.pieces.push(Piece::Vector { at: self.next, most });
            self.next += 1 + most;
            return self;
        };
        self = self.say("[");
        for i in 0..len.min(most) {
            self = if i > 0 { self.say(" ") } else { self }.int();
        }
        self.say(match (len > most, most) {
            (false, _) => "]",
            (true, 0) => "…]",
            (true, _) => " …]",
        })
    }

    /// A dim and its value; a dim that is a number says it itself.
    fn valued(self, dim: &str) -> Message {
        match dim.parse::<i128>() {
            Ok(_) => self.int(),
            Err(_) => self.say(dim).say(" is ").int(),
        }
    }
}

pub(super) fn format(trap: &Trap) -> Format {
    let m = Message::new;
    let (code, message) = match trap {
        Trap::Index { axes, rank } => {
            let at = m("the index ").vector(*axes, OF_TWO);
            (codes::INDEX, at.say(" is out of range for the shape ").vector(*rank, OF_TWO))
        }
        Trap::Negative { what } => {
            (codes::NEGATIVE, m("the dimension ").say(what).say(" is negative: ").int())
        }
        Trap::NegativeIn { rank } => {
            (codes::NEGATIVE, m("the dimension in ").vector(*rank, OF_ONE).say(" is negative: ").int())
        }
        Trap::NegativeCount => {
            let count = m("replicate: the count ").int();
            (codes::NEGATIVE, count.say(" at index ").int().say(" is negative"))
        }
        Trap::NegativeLength => {
            let length = m("split: the length ").int();
            (codes::NEGATIVE, length.say(" at index ").int().say(" is negative"))
        }
        Trap::Division { op, ty } => {
            let call = m("integer division by zero: (").say(&op.to_string()).say(" ");
            (codes::DIVISION, call.scalar(*ty).say(" ").scalar(*ty).say(")"))
        }
        Trap::Exponent { base, exponent } => {
            let call = m("negative exponent of an integer: (expt ").scalar(*base);
            (codes::EXPONENT, call.say(" ").scalar(*exponent).say(")"))
        }
        Trap::IntToChar => {
            (codes::CHAR, no_char(Piece::Value { at: 0, ty: BaseTy::I64 }, "int->char", BaseTy::I64))
        }
        // A cast from a float goes through an `int`.
        Trap::CastToChar { from } => (codes::CHAR, no_char(Piece::Whole { at: 0, ty: *from }, "cast", *from)),
        Trap::TooSmall { why, dim } => (codes::TOO_SMALL, m(why).say(": ").valued(dim)),
        Trap::Unequal { why, left, right } => {
            (codes::UNEQUAL, m(why).say(": ").valued(left).say(", ").valued(right))
        }
        Trap::Empty { prim } => (codes::TOO_SMALL, m(prim).say(" of an empty dimension")),
        Trap::Reshape { from, to } => {
            let from = m("reshape of shape ").vector(*from, OF_RESHAPE).say(" (").int().say(" elements) to ");
            (codes::RESHAPE, from.vector(*to, OF_RESHAPE).say(" (").int().say(" elements)"))
        }
        Trap::WithShape { rank } => {
            let what = m("with-shape: no elements to fill the shape ");
            (codes::RESHAPE, what.vector(*rank, OF_ONE).say(" with"))
        }
        Trap::Subvector => {
            let part = Message::default().int().say(" items from ").int();
            (codes::SUBARRAY, part.say(" on reach past the ").int().say(" items there are"))
        }
        Trap::Subarray { axes, rank } => {
            let part = m("a part of shape ").vector(*axes, OF_THREE).say(" at ").vector(*axes, OF_THREE);
            let message = part.say(" reaches past the array, whose shape is ").vector(*rank, OF_THREE);
            (codes::SUBARRAY, message)
        }
        Trap::Wrap { rank } => {
            let what = m("subarray/wrap of an array of shape ").vector(*rank, OF_ONE);
            (codes::SUBARRAY, what.say(", which has no elements"))
        }
        Trap::Split => {
            let total = m("split: the lengths add up to ").int();
            (codes::SPLIT, total.say(", but there are ").int().say(" items"))
        }
        Trap::Scatter { prim } => {
            let index = m(prim).say(": the index ").int();
            (codes::SCATTER, index.say(" is past the end of ").int().say(" places"))
        }
        Trap::TooLarge { rank, .. } => {
            (codes::TOO_LARGE, m("an array of shape ").vector(*rank, OF_ONE).say(" is too large"))
        }
        Trap::Overflow { dim } => (codes::TOO_LARGE, m("the size ").say(dim).say(" does not fit in 64 bits")),
        Trap::Append => (codes::TOO_LARGE, m("append: too many items")),
        Trap::AsShape { have, want } => {
            let have = m("as-shape: the value has shape ").vector(*have, OF_TWO);
            (codes::AS_SHAPE, have.say(", not ").vector(*want, OF_TWO))
        }
        Trap::Range { ty } => (codes::RANGE, out_of_range(Message::default().int(), *ty)),
        Trap::Literal { n, ty } => (codes::RANGE, out_of_range(m(&n.to_string()), *ty)),
        Trap::Deep => (codes::DEEP, m("this recursion waits for more than ").int().say(" calls of itself")),
        Trap::NoZero { ty } => {
            (codes::NO_ZERO, m("scatter leaves places untouched, and ").say(ty).say(" has no zero"))
        }
    };
    Format { code, message: message.pieces, help: help(trap).into_iter().collect() }
}

/// The one value is shown twice: as a code point, and as it was given to `function`.
fn no_char(code_point: Piece, function: &str, ty: BaseTy) -> Message {
    let mut message = Message::new("no char has the code point ");
    message.pieces.push(code_point);
    message.say(": (").say(function).say(" ").scalar(ty).say(")")
}

fn out_of_range(n: Message, ty: BaseTy) -> Message {
    let n = n.say(" does not fit in ").say(ty.name());
    match ty.integer_range() {
        Some((lo, hi)) => n.say(&format!(", which holds {lo} to {hi}")),
        None => n,
    }
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
            return Some(format!("the {by} has room for at most {most} elements of it"));
        }
        Trap::AsShape { .. } => "`reshape` changes the shape of a value; `as-shape` only states it",
        _ => return None,
    };
    Some(text.to_owned())
}
