//! Values as JSON, for programs of other languages.
//!
//! | a value | as JSON |
//! | --- | --- |
//! | array | nested arrays; a scalar is no array |
//! | number | a number with all its digits, so an `i64` may have more than JavaScript keeps |
//! | `inf`, `-inf`, `nan` | the strings `"inf"`, `"-inf"`, `"nan"`: JSON has no such numbers |
//! | `bool` | `true`, `false` |
//! | `char` | a string of one character; a vector of them is one string |
//! | tuple | an array |
//! | record | an object, in the order of its fields |
//! | box | `{"indices": {"n": 3}, "value": [1,2,3]}`; the index of a shape is an array |

pub mod read;

use crate::text;
use remc_base::value::Data;
use remc_base::{Atom, AtomTy, IndexValue, Scalar, Value};
use std::fmt::{self, Write};

/// Whether JSON has a form for a value: whether it holds no function.
pub fn can_write(value: &Value) -> bool {
    let atom = |a: &Atom| match a {
        Atom::Scalar(_) => true,
        Atom::Box(b) => can_write(&b.value),
        Atom::Tuple(fields) => fields.iter().all(can_write),
        Atom::Function => false,
    };
    value.data.base().is_some() || value.data.iter().all(|a| atom(&a))
}

/// Writes a value that [`can_write`] allows, on one line.
pub fn write(value: &Value, precision: Option<usize>, out: &mut dyn Write) -> fmt::Result {
    nested(&value.atom, &value.shape, &value.data, 0, precision, out)
}

/// The array of the atoms from `at` on.
fn nested(
    ty: &AtomTy,
    shape: &[usize],
    atoms: &Data,
    at: usize,
    precision: Option<usize>,
    out: &mut dyn Write,
) -> fmt::Result {
    match (shape, atoms) {
        ([], _) => atoms.get(at).map_or(Ok(()), |a| atom(ty, &a, precision, out)),
        ([n], Data::Char(chars)) => string(chars.iter().skip(at).take(*n).copied(), out),
        ([n, rest @ ..], _) => {
            let size: usize = rest.iter().product();
            out.write_char('[')?;
            for i in 0..*n {
                if i > 0 {
                    out.write_char(',')?;
                }
                nested(ty, rest, atoms, at + i * size, precision, out)?;
            }
            out.write_char(']')
        }
    }
}

fn atom(ty: &AtomTy, atom: &Atom, precision: Option<usize>, out: &mut dyn Write) -> fmt::Result {
    match (atom, ty) {
        (Atom::Scalar(s), _) => scalar(*s, precision, out),
        (Atom::Box(b), AtomTy::Sigma(sigma)) => {
            let sigma = sigma.named_for_values(&mut 0);
            out.write_str("{\"indices\":{")?;
            for (i, (param, index)) in sigma.params.iter().zip(&b.indices).enumerate() {
                if i > 0 {
                    out.write_char(',')?;
                }
                string(param.name.as_str().chars(), out)?;
                match index {
                    IndexValue::Dim(n) => write!(out, ":{n}")?,
                    IndexValue::Shape(dims) => {
                        let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
                        write!(out, ":[{}]", dims.join(","))?;
                    }
                }
            }
            out.write_str("},\"value\":")?;
            write(&b.value, precision, out)?;
            out.write_char('}')
        }
        (Atom::Tuple(parts), AtomTy::Tuple(tuple)) => {
            let record = !tuple.fields.is_empty() && tuple.fields.iter().all(|(label, _)| label.is_some());
            out.write_char(if record { '{' } else { '[' })?;
            for (i, ((label, _), part)) in tuple.fields.iter().zip(parts.iter()).enumerate() {
                if i > 0 {
                    out.write_char(',')?;
                }
                if let Some(label) = label.as_ref().filter(|_| record) {
                    string(label.as_str().chars(), out)?;
                    out.write_char(':')?;
                }
                write(part, precision, out)?;
            }
            out.write_char(if record { '}' } else { ']' })
        }
        _ => Err(fmt::Error),
    }
}

fn scalar(s: Scalar, precision: Option<usize>, out: &mut dyn Write) -> fmt::Result {
    match s {
        Scalar::Bool(b) => out.write_str(if b { "true" } else { "false" }),
        Scalar::Char(c) => string(std::iter::once(c), out),
        s if s.as_float().is_some_and(|x| !x.is_finite()) => {
            out.write_char('"')?;
            text::scalar(s, precision, out)?;
            out.write_char('"')
        }
        s => text::scalar(s, precision, out),
    }
}

fn string(chars: impl Iterator<Item = char>, out: &mut dyn Write) -> fmt::Result {
    out.write_char('"')?;
    for c in chars {
        match c {
            '"' => out.write_str("\\\"")?,
            '\\' => out.write_str("\\\\")?,
            '\n' => out.write_str("\\n")?,
            '\r' => out.write_str("\\r")?,
            '\t' => out.write_str("\\t")?,
            // The control characters, which JSON wants escaped, and those that end a line in JavaScript.
            c if c < ' ' || matches!(c, '\u{7f}' | '\u{2028}' | '\u{2029}') => {
                write!(out, "\\u{:04x}", c as u32)?
            }
            c => out.write_char(c)?,
        }
    }
    out.write_char('"')
}
