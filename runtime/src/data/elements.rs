//! The elements of an array as files have them: one beside the other, in row-major order.
//!
//! Numbers are in two's complement and IEEE 754's formats, of either byte order; a `bool` is a byte, 0 or 1.
//! `.npy`, raw and Futhark's files differ in what stands before the elements alone, so all are read and
//! written here. Nothing is allocated at a file's word: a caller that has not compared the claimed size with
//! the file's lets memory grow with what is there.

use half::f16;
use remc_base::BaseTy;
use remc_base::value::Data;
use std::fmt;
use std::io::{self, Read, Write};

/// How many bytes are read or written at a time; a multiple of every element's size.
const BUFFER: usize = 1 << 16;

/// Why there are no elements.
#[derive(Debug)]
pub enum ElementsError {
    /// The bytes end after this many.
    Ended(usize),
    /// A byte of a `bool` array is neither 0 nor 1.
    NotBool(u8),
    /// There is no memory for so many bytes.
    Memory(usize),
    Io(io::Error),
}

impl fmt::Display for ElementsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElementsError::Ended(n) => write!(f, "its data ends after {n} bytes"),
            ElementsError::NotBool(b) => {
                write!(f, "an element of its bool array is the byte {b}, which is neither 0 nor 1")
            }
            ElementsError::Memory(n) => write!(f, "there is no memory for its {n} bytes"),
            ElementsError::Io(e) => write!(f, "{}", reason(e)),
        }
    }
}

/// Why a file cannot be read, in a few words.
pub fn reason(e: &io::Error) -> String {
    match e.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "reading it is not permitted".into(),
        io::ErrorKind::IsADirectory => "it is a folder".into(),
        io::ErrorKind::UnexpectedEof => "the file ends too early".into(),
        _ => e.to_string(),
    }
}

/// How the elements lie.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    pub ty: BaseTy,
    pub big_endian: bool,
    /// Whether the bytes are known to be there, so that memory for all of them is taken at once.
    pub sure: bool,
}

/// How many bytes an array takes; `None` if no computer has so many.
pub fn bytes(ty: BaseTy, shape: &[usize]) -> Option<usize> {
    let size = |d: usize| i64::try_from(d).ok().map(|_| d);
    let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(size(*d)?))?;
    count.checked_mul(ty.bits() as usize / 8).filter(|n| isize::try_from(*n).is_ok())
}

/// Reads `count` elements.
pub fn read(layout: Layout, count: usize, from: &mut dyn Read) -> Result<Data, ElementsError> {
    let width = layout.ty.bits() as usize / 8;
    let expected = count.checked_mul(width).ok_or(ElementsError::Memory(usize::MAX))?;
    let mut out = Data::of_base(layout.ty, 0);
    if layout.sure {
        out.try_reserve(count).map_err(|_| ElementsError::Memory(expected))?;
    }
    let mut left = expected;
    let mut buffer = vec![0; left.min(BUFFER)];
    while left > 0 {
        let part = &mut buffer[..left.min(BUFFER)];
        from.read_exact(part).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => ElementsError::Ended(expected - left),
            _ => ElementsError::Io(e),
        })?;
        out.try_reserve(part.len() / width).map_err(|_| ElementsError::Memory(expected))?;
        decode(part, layout.big_endian, &mut out)?;
        left -= part.len();
    }
    Ok(out)
}

/// Appends the elements that the bytes are.
fn decode(bytes: &[u8], big_endian: bool, out: &mut Data) -> Result<(), ElementsError> {
    macro_rules! numbers {
        ($out:expr, $t:ty) => {{
            // All chunks are of this length.
            let elements = bytes.chunks_exact(size_of::<$t>()).map(|b| b.try_into().unwrap_or_default());
            if big_endian {
                $out.extend(elements.map(<$t>::from_be_bytes));
            } else {
                $out.extend(elements.map(<$t>::from_le_bytes));
            }
        }};
    }
    match out {
        Data::Bool(out) => {
            if let Some(b) = bytes.iter().find(|b| **b > 1) {
                return Err(ElementsError::NotBool(*b));
            }
            out.extend(bytes.iter().map(|b| *b == 1));
        }
        Data::I8(out) => numbers!(out, i8),
        Data::I16(out) => numbers!(out, i16),
        Data::I32(out) => numbers!(out, i32),
        Data::I64(out) => numbers!(out, i64),
        Data::U8(out) => numbers!(out, u8),
        Data::U16(out) => numbers!(out, u16),
        Data::U32(out) => numbers!(out, u32),
        Data::U64(out) => numbers!(out, u64),
        Data::F16(out) => numbers!(out, f16),
        Data::F32(out) => numbers!(out, f32),
        Data::F64(out) => numbers!(out, f64),
        Data::Char(_) | Data::Box(_) | Data::Tuple(_) | Data::Function(_) => {
            return Err(ElementsError::Io(io::ErrorKind::InvalidInput.into()));
        }
    }
    Ok(())
}

/// Writes all elements, little-endian. What is neither number nor `bool` is an error of kind `InvalidInput`.
pub fn write(data: &Data, out: &mut dyn Write) -> io::Result<()> {
    macro_rules! numbers {
        ($v:expr) => {{
            let mut bytes = Vec::with_capacity(BUFFER.min(size_of_val($v.as_slice())));
            for part in $v.chunks(BUFFER / 8) {
                bytes.clear();
                bytes.extend(part.iter().flat_map(|x| x.to_le_bytes()));
                out.write_all(&bytes)?;
            }
        }};
    }
    match data {
        Data::Bool(v) => {
            for part in v.chunks(BUFFER) {
                out.write_all(&part.iter().map(|b| *b as u8).collect::<Vec<_>>())?;
            }
        }
        Data::I8(v) => numbers!(v),
        Data::I16(v) => numbers!(v),
        Data::I32(v) => numbers!(v),
        Data::I64(v) => numbers!(v),
        Data::U8(v) => numbers!(v),
        Data::U16(v) => numbers!(v),
        Data::U32(v) => numbers!(v),
        Data::U64(v) => numbers!(v),
        Data::F16(v) => numbers!(v),
        Data::F32(v) => numbers!(v),
        Data::F64(v) => numbers!(v),
        Data::Char(_) | Data::Box(_) | Data::Tuple(_) | Data::Function(_) => {
            return Err(io::ErrorKind::InvalidInput.into());
        }
    }
    Ok(())
}
