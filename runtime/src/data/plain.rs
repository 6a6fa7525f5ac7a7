//! Plain text, as people and other programs of the command line read it: no quotes, brackets or types.
//!
//! | value | text |
//! | --- | --- |
//! | a text, a vector of characters | itself, and a line end where it has none |
//! | texts: a matrix of characters, an array of boxes of texts | a line each |
//! | numbers and truth values: a scalar, a vector, a matrix | one a line; of a matrix a row a line, spaces between them |
//! | a tuple or record | its parts, one below the other |
//!
//! What is in one box is written as if it were not.

use super::elements::opened;
use crate::text;
use remc_base::value::{Atom, BoxValue, Data};
use remc_base::{AtomTy, BaseTy, Scalar, Value};
use std::io::{self, Write};
use std::sync::Arc;

/// Whether a value can be written so.
pub fn can_write(value: &Value) -> bool {
    match (&value.atom, &opened(value).data) {
        (_, Data::Tuple(tuples)) => {
            opened(value).shape.is_empty() && tuples.iter().flat_map(|parts| parts.iter()).all(can_write)
        }
        (_, Data::Box(boxes)) => opened(value).shape.len() == 1 && boxes.iter().all(is_text),
        _ => matches!(opened(value).atom, AtomTy::Base(_)) && opened(value).shape.len() <= 2,
    }
}

fn is_text(b: &Arc<BoxValue>) -> bool {
    let inside = opened(&b.value);
    inside.shape.len() == 1 && inside.atom == AtomTy::Base(BaseTy::Char)
}

/// Writes a value for which [`can_write`] holds; others are an error of kind `InvalidInput`.
pub fn write(value: &Value, precision: Option<usize>, out: &mut dyn Write) -> io::Result<()> {
    let value = opened(value);
    match &value.data {
        Data::Tuple(tuples) => {
            tuples.iter().flat_map(|parts| parts.iter()).try_for_each(|part| write(part, precision, out))
        }
        Data::Box(boxes) => boxes.iter().try_for_each(|b| {
            characters(opened(&b.value).atoms(), out)?;
            writeln!(out)
        }),
        _ if value.atom == AtomTy::Base(BaseTy::Char) => match value.shape[..] {
            [n] => {
                characters(value.atoms(), out)?;
                let ends = value.atoms().last() == Some(Atom::Scalar(Scalar::Char('\n')));
                if n > 0 && !ends { writeln!(out) } else { Ok(()) }
            }
            [_, columns] => rows(value, columns, "", precision, out),
            _ => rows(value, 1, "", precision, out),
        },
        _ => rows(value, value.shape.get(1).copied().unwrap_or(1), " ", precision, out),
    }
}

pub(crate) fn characters(atoms: impl Iterator<Item = Atom>, out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::new();
    for atom in atoms {
        let Atom::Scalar(Scalar::Char(c)) = atom else { return Err(io::ErrorKind::InvalidInput.into()) };
        text.push(c);
    }
    out.write_all(text.as_bytes())
}

/// A line for each row of so many elements, which may be a table's.
pub fn rows(
    value: &Value,
    columns: usize,
    between: &str,
    precision: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if columns == 0 {
        return (0..value.shape[0]).try_for_each(|_| writeln!(out));
    }
    let mut line = String::new();
    for (k, atom) in value.atoms().enumerate() {
        match atom {
            Atom::Scalar(Scalar::Bool(b)) => line.push_str(if b { "true" } else { "false" }),
            Atom::Scalar(Scalar::Char(c)) => line.push(c),
            // Writing to a string does not fail.
            Atom::Scalar(s) => drop(text::scalar(s, precision, &mut line)),
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        }
        if (k + 1) % columns == 0 {
            line.push('\n');
            out.write_all(line.as_bytes())?;
            line.clear();
        } else {
            line.push_str(between);
        }
    }
    Ok(())
}
