//! Futhark's binary data format, version 2: what `futhark dataset -b` writes and Futhark's programs read.
//!
//! ```text
//! 'b'  2  rank  type, 4 characters such as " f32" or "bool"  rank × i64, the shape  elements, row-major
//! ```
//!
//! All numbers are little-endian. A file may hold several values, one after the other, with white space
//! between them: the arguments of a program. Which one is meant is said by its number, from 0.

use super::elements::{self, ElementsError, Layout, reason};
use super::source::Source;
use super::{DataError, fit};
use remc_base::{ArrTy, AtomTy, BaseTy, Value};
use std::io::{self, Read, Seek, Write};

/// How a file begins.
pub const MAGIC: &[u8] = b"b\x02";

/// How many bytes of white space may stand between two values; a pipe may have no end.
const MOST_BLANKS: u64 = 1 << 24;
/// How many values of a file are counted for a message.
const MOST_LISTED: usize = 10_000;

/// A type as the format writes it, in four characters.
fn name(ty: BaseTy) -> Option<&'static [u8; 4]> {
    Some(match ty {
        BaseTy::Bool => b"bool",
        BaseTy::Char => return None,
        BaseTy::I8 => b"  i8",
        BaseTy::I16 => b" i16",
        BaseTy::I32 => b" i32",
        BaseTy::I64 => b" i64",
        BaseTy::U8 => b"  u8",
        BaseTy::U16 => b" u16",
        BaseTy::U32 => b" u32",
        BaseTy::U64 => b" u64",
        BaseTy::F16 => b" f16",
        BaseTy::F32 => b" f32",
        BaseTy::F64 => b" f64",
    })
}

/// A value of a file: what it is, and how many bytes its elements take.
struct Header {
    ty: BaseTy,
    shape: Vec<usize>,
    bytes: u64,
}

fn damaged<T>(what: impl Into<String>) -> Result<T, DataError> {
    Err(DataError::Unreadable(what.into()))
}

fn io_error(e: io::Error) -> DataError {
    match e.kind() {
        io::ErrorKind::UnexpectedEof => DataError::Unreadable("it is truncated: it ends in a header".into()),
        _ => DataError::Unreadable(reason(&e)),
    }
}

/// The header of the next value; `None` at the end of the file.
fn header(source: &mut Source<'_>) -> Result<Option<Header>, DataError> {
    let mut byte = [b' '];
    let mut blanks = 0;
    while byte[0].is_ascii_whitespace() {
        blanks += 1;
        if blanks > MOST_BLANKS {
            return damaged("it holds more white space than anybody writes between two values");
        }
        if source.read(&mut byte).map_err(io_error)? == 0 {
            return Ok(None);
        }
    }
    let mut fixed = [0; 6];
    if byte != MAGIC[..1] {
        return damaged(format!("a value does not begin with `b`, but with the byte {}", byte[0]));
    }
    source.read_exact(&mut fixed).map_err(io_error)?;
    let [version, rank, kind @ ..] = fixed;
    if version != MAGIC[1] {
        return damaged(format!("a value is of version {version} of Futhark's format; version 2 is read"));
    }
    let Some(ty) = BaseTy::ALL.into_iter().find(|ty| name(*ty) == Some(&kind)) else {
        return damaged(format!("its type `{}` is none of Futhark's", kind.escape_ascii()));
    };
    let mut shape = Vec::new();
    for _ in 0..rank {
        let mut size = [0; 8];
        source.read_exact(&mut size).map_err(io_error)?;
        let size = i64::from_le_bytes(size);
        match usize::try_from(size) {
            Ok(n) => shape.push(n),
            Err(_) => return damaged(format!("its header is damaged: a size of {size}")),
        }
    }
    let Some(bytes) = elements::bytes(ty, &shape) else {
        return damaged("its header is damaged: the product of the shape is too large");
    };
    if let Some(len) = source.len() {
        let at = source.stream_position().map_err(io_error)?;
        let found = len.saturating_sub(at);
        if found < bytes as u64 {
            return damaged(format!(
                "it is truncated: the shape needs {bytes} bytes of data and there are {found}"
            ));
        }
    }
    Ok(Some(Header { ty, shape, bytes: bytes as u64 }))
}

/// The value of that number, or the only one.
pub fn read(source: &mut Source<'_>, asked: Option<&str>, wanted: &ArrTy) -> Result<Value, DataError> {
    let mut room = source.budget().room();
    let number = asked.map(|n| n.parse::<usize>().ok());
    let mut chosen = None;
    let mut count = 0;
    while let Some(Header { ty, shape, bytes }) = header(source)? {
        if number.unwrap_or(Some(0)) == Some(count) {
            // A pipe may end before it has given what its header claims.
            let layout = Layout { ty, big_endian: false, sure: source.len().is_some() };
            room.could(bytes).map_err(DataError::TooMuch)?;
            let data =
                elements::read(layout, shape.iter().product(), source, &mut room).map_err(|e| match e {
                    ElementsError::Ended(n) => {
                        DataError::Unreadable(format!("it is truncated after {n} bytes of data"))
                    }
                    ElementsError::TooMuch(e) => DataError::TooMuch(e),
                    e => DataError::Unreadable(e.to_string()),
                })?;
            chosen = Some(Value { atom: AtomTy::Base(ty), shape, data });
        } else if !source.skip(bytes).map_err(io_error)? {
            return damaged(format!(
                "it is truncated: the shape of value {count} needs {bytes} bytes of data"
            ));
        }
        count += 1;
    }
    let Some(value) = chosen.filter(|_| asked.is_some() || count == 1) else {
        return Err(DataError::Choose {
            kind: "value",
            // No message lists more.
            there: (0..count.min(MOST_LISTED)).map(|n| n.to_string()).collect(),
            asked: asked.map(str::to_owned),
        });
    };
    room.keep();
    let name = match value.atom {
        AtomTy::Base(ty) => ty.name(),
        _ => "",
    };
    fit(value, name, wanted, || {
        format!("a file's numbers are taken as they are: write it as the wanted type, or declare {name}")
    })
}

/// Whether the format has a type for the array's atoms.
pub fn can_write(value: &Value) -> bool {
    matches!(value.atom, AtomTy::Base(ty) if name(ty).is_some()) && value.shape.len() <= u8::MAX.into()
}

/// Writes an array that [`can_write`] allows; others are an error of kind `InvalidInput`.
pub fn write(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let name = match value.atom {
        AtomTy::Base(ty) => name(ty),
        _ => None,
    }
    .ok_or(io::ErrorKind::InvalidInput)?;
    let rank = u8::try_from(value.shape.len()).map_err(|_| io::ErrorKind::InvalidInput)?;
    out.write_all(MAGIC)?;
    out.write_all(&[rank])?;
    out.write_all(name)?;
    for n in &value.shape {
        out.write_all(&(*n as u64).to_le_bytes())?;
    }
    elements::write(&value.data, out)
}
