//! Literals, written so that they have exactly their type.

use crate::ir::Lit;
use remc_base::{AtomTy, BaseTy, Scalar};

/// The text of a number, and whether its type must be written beside it.
pub struct Number {
    pub text: String,
    pub annotate: bool,
}

fn exact(text: String) -> Number {
    Number { text, annotate: false }
}

pub fn literal(lit: Lit, ty: &AtomTy) -> Number {
    match (lit, ty) {
        (Lit::Scalar(s), _) => scalar(s),
        (Lit::Int(n), AtomTy::Base(b)) if b.is_float() => integral_float(n, *b),
        (Lit::Int(n), AtomTy::Base(b)) => exact(format!("{n}{}", suffix(*b))),
        (Lit::Float(bits), AtomTy::Base(b)) => float(f64::from_bits(bits), *b),
        (Lit::Int(n), _) => Number { text: n.to_string(), annotate: true },
        (Lit::Float(bits), _) => Number { text: plain_float(f64::from_bits(bits)), annotate: true },
    }
}

/// `int` and `float` need none.
fn suffix(b: BaseTy) -> &'static str {
    match b {
        BaseTy::I64 | BaseTy::F64 => "",
        b => b.name(),
    }
}

fn scalar(s: Scalar) -> Number {
    match s {
        Scalar::Bool(b) => exact(if b { "#t" } else { "#f" }.to_owned()),
        Scalar::Char(c) => exact(character(c)),
        Scalar::F32(x) if x.is_finite() => exact(format!("{x:?}f32")),
        // The shortest decimal of the `f32` is close enough to give the `f16` back.
        Scalar::F16(x) if x.is_finite() => exact(format!("{:?}f16", x.to_f32())),
        s => match (s.as_integer(), s.as_float()) {
            (Some(n), _) => exact(format!("{n}{}", suffix(s.ty()))),
            (None, x) => float(x.unwrap_or(f64::NAN), s.ty()),
        },
    }
}

fn float(x: f64, b: BaseTy) -> Number {
    if !x.is_finite() {
        // `inf` and `nan` have no suffix.
        return Number { text: plain_float(x), annotate: b != BaseTy::F64 };
    }
    exact(format!("{x:?}{}", suffix(b)))
}

/// An integer where a float is wanted.
fn integral_float(n: i128, b: BaseTy) -> Number {
    match Scalar::from_integer(b, n).and_then(Scalar::as_float) {
        // Rounded by the reader as it is here; a point in thirty digits is hard to find.
        Some(x) if n.unsigned_abs() >= 1 << 53 => float(x, b),
        _ => exact(format!("{n}.0{}", suffix(b))),
    }
}

fn plain_float(x: f64) -> String {
    if x.is_nan() { "nan".to_owned() } else { format!("{x:?}") }
}

/// Whether a character stands for itself in text.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || c.is_ascii_graphic()
}

pub fn character(c: char) -> String {
    match c {
        ' ' => "#\\space".to_owned(),
        '\n' => "#\\newline".to_owned(),
        '\t' => "#\\tab".to_owned(),
        c if is_plain(c) => format!("#\\{c}"),
        c => format!("#\\x{:x}", u32::from(c)),
    }
}

pub fn string(chars: impl Iterator<Item = char>) -> String {
    let mut out = String::from("\"");
    for c in chars {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c == ' ' || is_plain(c) => out.push(c),
            c => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        }
    }
    out.push('"');
    out
}
