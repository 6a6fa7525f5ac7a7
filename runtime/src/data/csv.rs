//! Tables of numbers or booleans as text: fields separated by commas (`.csv`) or tabs (`.tsv`).
//!
//! A field is read as the type that the entry wants, as a literal is: `7` is an `f32` where one is wanted, and
//! `1.5` is no `int`. White space around a field does not count, fields may stand in quotes, empty lines are
//! skipped, and `\r\n` ends a line as `\n` does. A first line without any number is a header and is skipped.
//! All lines have equally many fields. Booleans are `true` and `false` in any case, `#t` and `#f`, 1 and 0.
//!
//! A table has rank 2; one column or one line is a vector where a vector is wanted, one field a scalar.

use super::elements::reason;
use super::source::Source;
use super::{DataError, fits_known};
use crate::text;
use ::csv::{ByteRecord, ReaderBuilder};
use half::f16;
use remc_base::value::Data;
use remc_base::{ArrTy, Atom, AtomTy, BaseTy, Scalar, ShapeItem, Value};
use std::io::{self, Read, Seek, SeekFrom, Write};

/// A place in the table, and what is wrong there.
struct Wrong {
    /// Where its line begins; empty lines may come first.
    byte: u64,
    column: Option<usize>,
    what: String,
}

/// Reads a table.
pub fn read(source: &mut Source<'_>, separator: u8, wanted: &ArrTy) -> Result<Value, DataError> {
    let ty = match wanted.atom {
        AtomTy::Base(ty) if ty != BaseTy::Char => ty,
        _ => {
            return Err(DataError::Mismatch {
                found: "a table, which holds numbers or booleans".into(),
                help: Some(
                    "text, boxes, tuples and records are read as Remora literals, from a file .rd".into(),
                ),
            });
        }
    };
    let (data, lines, columns) = match table(source, separator, ty)? {
        Ok(table) => table,
        Err(wrong) => {
            let line = line_of(source, wrong.byte).map_err(|e| DataError::Unreadable(reason(&e)))?;
            let column = wrong.column.map(|c| format!(", column {c}")).unwrap_or_default();
            return Err(DataError::Table(format!("line {line}{column}: {}", wrong.what)));
        }
    };
    let found = || {
        let s = |n: usize| if n == 1 { "" } else { "s" };
        format!("a table of {lines} line{} and {columns} column{}", s(lines), s(columns))
    };
    let open = wanted.shape.items().iter().any(|i| !matches!(i, ShapeItem::Dim(_)));
    let shape = match wanted.shape.least_rank() {
        _ if open => vec![lines, columns],
        2 => vec![lines, columns],
        1 if columns == 1 || lines == 0 => vec![lines],
        1 if lines == 1 => vec![columns],
        0 if lines == 1 && columns == 1 => vec![],
        _ => return Err(DataError::Mismatch { found: found(), help: None }),
    };
    fits_known(&shape, &wanted.shape, found)?;
    Ok(Value { atom: AtomTy::Base(ty), shape, data })
}

/// The fields of all lines but a header, with the numbers of lines and columns.
fn table(
    source: &mut Source<'_>,
    separator: u8,
    ty: BaseTy,
) -> Result<Result<(Data, usize, usize), Wrong>, DataError> {
    let mut reader =
        ReaderBuilder::new().delimiter(separator).has_headers(false).flexible(true).from_reader(source);
    let mut data = Data::of_base(ty, 0);
    let mut record = ByteRecord::new();
    let (mut lines, mut columns) = (0, None);
    loop {
        let more = reader.read_byte_record(&mut record).map_err(|e| match e.into_kind() {
            ::csv::ErrorKind::Io(e) => DataError::Unreadable(reason(&e)),
            _ => DataError::Unreadable("it is no table".into()),
        })?;
        if !more {
            return Ok(Ok((data, lines, columns.unwrap_or(0))));
        }
        let byte = record.position().map_or(0, |p| p.byte());
        let wrong = |column, what| Ok(Err(Wrong { byte, column, what }));
        let is_header = columns.is_none() && is_header(&record);
        let expected = *columns.get_or_insert(record.len());
        if record.len() != expected {
            let s = |n: usize| if n == 1 { "" } else { "s" };
            return wrong(
                None,
                format!("{} field{}, where the first line has {expected}", record.len(), s(record.len())),
            );
        }
        if is_header {
            continue;
        }
        for (k, field) in record.iter().enumerate() {
            match scalar(bare(field), ty) {
                Ok(s) => {
                    if !data.push(Atom::Scalar(s)) {
                        return wrong(Some(k + 1), format!("it is not of type {ty}"));
                    }
                }
                Err(what) if record.len() == 1 && field.iter().any(|b| b";\t ,".contains(b)) => {
                    let separator = if separator == b'\t' { "a tab" } else { "a comma" };
                    return wrong(Some(k + 1), format!("{what} ({separator} separates fields here)"));
                }
                Err(what) => return wrong(Some(k + 1), what),
            }
        }
        lines += 1;
    }
}

/// Whether a first line only names the columns: some field says something, and none is a number or boolean.
fn is_header(record: &ByteRecord) -> bool {
    let says = |f: &[u8]| !bare(f).is_empty();
    let value = |f: &[u8]| {
        let f = bare(f);
        boolean(f).is_some() || std::str::from_utf8(f).is_ok_and(|t| t.parse::<f64>().is_ok())
    };
    record.iter().any(says) && !record.iter().any(value)
}

/// A field without the space around it, and without quotes that stand behind such space.
fn bare(field: &[u8]) -> &[u8] {
    let field = field.trim_ascii();
    let quoted = field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\""));
    quoted.map_or(field, <[u8]>::trim_ascii)
}

fn boolean(field: &[u8]) -> Option<bool> {
    match field.to_ascii_lowercase().as_slice() {
        b"true" | b"#t" | b"1" => Some(true),
        b"false" | b"#f" | b"0" => Some(false),
        _ => None,
    }
}

/// A field as a scalar of this type; the error says what it is instead.
fn scalar(field: &[u8], ty: BaseTy) -> Result<Scalar, String> {
    let is_no = |remedy: &str| Err(format!("`{}` is not of type {ty}{remedy}", shown(field)));
    if field.is_empty() {
        return Err(format!("the field is empty, and each has to hold a value of type {ty}"));
    }
    let Ok(text) = std::str::from_utf8(field) else { return is_no("") };
    if ty == BaseTy::Bool {
        return boolean(field).map_or_else(|| is_no(": write true or false"), |b| Ok(Scalar::Bool(b)));
    }
    if let Some((least, greatest)) = ty.integer_range() {
        return match text.parse::<i128>() {
            Ok(n) if (least..=greatest).contains(&n) => {
                Scalar::from_integer(ty, n).map_or_else(|| is_no(""), Ok)
            }
            Ok(_) => Err(format!("`{text}` does not fit {ty}, which holds {least} to {greatest}")),
            Err(_) => is_no(""),
        };
    }
    let parsed = match ty {
        BaseTy::F16 => text.parse().map(|x: f64| Scalar::F16(f16::from_f64(x))),
        BaseTy::F32 => text.parse().map(Scalar::F32),
        _ => text.parse().map(Scalar::F64),
    };
    match parsed {
        // `inf` and `infinity` are numbers; what only becomes infinite is past all of them.
        Ok(s) if s.as_float().is_some_and(f64::is_infinite) && !text.to_ascii_lowercase().contains('n') => {
            Err(format!("`{text}` is past the largest {ty}"))
        }
        Ok(s) => Ok(s),
        Err(_) => is_no(""),
    }
}

/// A field for a message: short, and without what a terminal would act on.
fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(field);
    let mut out: String = text.chars().take(30).flat_map(char::escape_debug).collect();
    if text.chars().count() > 30 {
        out.push('…');
    }
    out
}

/// The number of the line that begins at a byte, or after the empty lines there.
fn line_of(source: &mut Source<'_>, byte: u64) -> io::Result<u64> {
    source.seek(SeekFrom::Start(0))?;
    let (mut line, mut at, mut before) = (1, 0, 0);
    let mut buffer = [0; 1 << 16];
    loop {
        let n = source.read(&mut buffer)?;
        for b in &buffer[..n] {
            let ends = matches!(b, b'\n' | b'\r');
            if at >= byte && !ends {
                return Ok(line);
            }
            // `\r\n` is one end.
            line += u64::from(ends && !(*b == b'\n' && before == b'\r'));
            (at, before) = (at + 1, *b);
        }
        if n == 0 {
            return Ok(line);
        }
    }
}

/// Whether a value can be a table: at most two axes of numbers or booleans.
pub fn can_write(value: &Value) -> bool {
    matches!(value.atom, AtomTy::Base(ty) if ty != BaseTy::Char) && value.shape.len() <= 2
}

/// Writes a table, a vector as one column; other values are an error of kind `InvalidInput`.
pub fn write(
    value: &Value,
    separator: char,
    precision: Option<usize>,
    out: &mut dyn Write,
) -> io::Result<()> {
    if !can_write(value) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let columns = value.shape.get(1).copied().unwrap_or(1);
    let mut line = String::new();
    for (i, atom) in value.atoms().enumerate() {
        match atom {
            Atom::Scalar(Scalar::Bool(b)) => line.push_str(if b { "true" } else { "false" }),
            // Writing to a string does not fail.
            Atom::Scalar(s) => drop(text::scalar(s, precision, &mut line)),
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        }
        if (i + 1) % columns.max(1) == 0 {
            line.push('\n');
            out.write_all(line.as_bytes())?;
            line.clear();
        } else {
            line.push(separator);
        }
    }
    Ok(())
}
