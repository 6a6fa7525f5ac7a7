//! NumPy's `.npy` format, versions 1 to 3.
//!
//! A file is a magic string, a version, a header (a Python dictionary with the dtype, the order and the
//! shape) and the elements. Every base type but `char` has a dtype: `bool` is `?`, `f16` is `f2`. Either
//! byte order and either axis order are read; files are written little-endian in C order, as NumPy does
//! on most machines. Sizes in a file are checked against what the file holds before anything is
//! allocated, so a damaged header cannot ask for memory.

use crate::budget::{Budget, Room, TooMuch};
use crate::data::elements::{self, ElementsError, Layout, reason};
use remc_base::{AtomTy, BaseTy, Value};
use std::fmt;
use std::io::{self, Read, Write};

pub const MAGIC: &[u8] = b"\x93NUMPY";
/// NumPy refuses longer headers too, unless asked.
const LONGEST_HEADER: usize = 1 << 20;

/// Why bytes are no array.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NpyError {
    Unreadable(String),
    /// The file does not begin as an `.npy` file does.
    NotNpy,
    Version(u8, u8),
    Header(String),
    /// The dtype as written.
    Dtype(String),
    Truncated {
        expected: usize,
        found: usize,
    },
    TrailingBytes {
        expected: usize,
        found: usize,
    },
    /// A byte of a `bool` array is neither 0 nor 1.
    NotBool(u8),
    /// There is no memory for the array.
    TooMuch(TooMuch),
}

impl fmt::Display for NpyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NpyError::Unreadable(reason) => f.write_str(reason),
            NpyError::NotNpy => f.write_str("it is not an .npy file (its first bytes are not \\x93NUMPY)"),
            NpyError::Version(a, b) => write!(f, "its format version {a}.{b} is none of 1.0, 2.0 and 3.0"),
            NpyError::Header(reason) => write!(f, "its header is damaged: {reason}"),
            NpyError::Dtype(d) => write!(
                f,
                "its dtype {d} has no Remora type (bool, int8 … int64, uint8 … uint64, float16, float32 and float64 have)"
            ),
            NpyError::Truncated { expected, found } => {
                write!(f, "it is truncated: the shape needs {expected} bytes of data and there are {found}")
            }
            NpyError::TrailingBytes { expected, found } => {
                write!(f, "the shape needs {expected} bytes of data and there are {found}")
            }
            NpyError::NotBool(b) => write!(f, "{}", ElementsError::NotBool(*b)),
            NpyError::TooMuch(e) => e.fmt(f),
        }
    }
}

/// What a header says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    pub ty: BaseTy,
    pub big_endian: bool,
    pub fortran_order: bool,
    pub shape: Vec<usize>,
}

/// The array in the bytes of a file.
pub fn read(bytes: &[u8]) -> Result<Value, NpyError> {
    let mut rest = bytes;
    let budget = Budget::of(None);
    read_from(&mut rest, Some(bytes.len() as u64), true, &mut budget.room())
}

/// Reads a file of `len` bytes, if that is known. `sure` says that they are there, and not what an archive claims. The
/// memory is taken from `room`.
pub fn read_from(
    from: &mut dyn Read,
    len: Option<u64>,
    sure: bool,
    room: &mut Room<'_>,
) -> Result<Value, NpyError> {
    // As much as the longest header, and what stands before it.
    let mut start = Vec::new();
    let io = |e: io::Error| NpyError::Unreadable(reason(&e));
    (&mut *from).take(LONGEST_HEADER as u64 + 12).read_to_end(&mut start).map_err(io)?;
    let (header, data) = split(&start)?;
    let before = start.len() - data.len();
    let found = len.map(|n| usize::try_from(n).unwrap_or(usize::MAX).saturating_sub(before));
    let Header { ty, big_endian, fortran_order, shape } = header;
    let expected = elements::bytes(ty, &shape)
        .ok_or_else(|| NpyError::Header("the product of the shape is too large".into()))?;
    if let Some(found) = found {
        if found < expected {
            return Err(NpyError::Truncated { expected, found });
        }
        if found > expected {
            return Err(NpyError::TrailingBytes { expected, found });
        }
    }
    // What the bytes will take is known before the first of them.
    room.could(expected as u64).map_err(NpyError::TooMuch)?;
    let count = shape.iter().product();
    let mut rest = data.chain(from);
    let layout = Layout { ty, big_endian, sure };
    let read = match fortran_order && shape.len() > 1 {
        true => elements::read_to(layout, count, to_row_major(&shape), &mut rest, room),
        false => elements::read(layout, count, &mut rest, room),
    };
    let data = read.map_err(|e| match e {
        ElementsError::Ended(found) => NpyError::Truncated { expected, found },
        ElementsError::NotBool(b) => NpyError::NotBool(b),
        ElementsError::TooMuch(e) => NpyError::TooMuch(e),
        e => NpyError::Unreadable(e.to_string()),
    })?;
    // Whoever checks a file's bytes does so when they end.
    let more = rest.read(&mut [0]).map_err(io)?;
    if more > 0 {
        return Err(NpyError::TrailingBytes { expected, found: expected + more });
    }
    Ok(Value { atom: AtomTy::Base(ty), shape, data })
}

/// Where each element belongs of an array that is read with its first axis varying fastest: its place where the last
/// axis does.
fn to_row_major(shape: &[usize]) -> impl Iterator<Item = usize> {
    let mut strides = vec![1usize; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i].saturating_mul(shape[i]);
    }
    let mut at = vec![0; shape.len()];
    let mut next = 0;
    (0..shape.iter().product()).map(move |_| {
        let place = next;
        for axis in 0..shape.len() {
            at[axis] += 1;
            next += strides[axis];
            if at[axis] < shape[axis] {
                break;
            }
            next -= strides[axis] * shape[axis];
            at[axis] = 0;
        }
        place
    })
}

/// Reads a header, and no byte behind it.
pub fn read_header(from: &mut dyn Read) -> Result<Header, NpyError> {
    let mut start = Vec::new();
    let io = |e: io::Error| NpyError::Unreadable(reason(&e));
    let mut more = |start: &mut Vec<u8>, n: usize| {
        (&mut *from).take(n as u64).read_to_end(start).map_err(io).map(|_| ())
    };
    more(&mut start, MAGIC.len() + 2)?;
    let width = if start.get(MAGIC.len()) == Some(&1) { 2 } else { 4 };
    more(&mut start, width)?;
    let length = start.get(MAGIC.len() + 2..).unwrap_or_default();
    let length = length.iter().rev().fold(0usize, |n, b| n << 8 | *b as usize);
    more(&mut start, length.min(LONGEST_HEADER))?;
    split(&start).map(|(header, _)| header)
}

/// The header, and the bytes after it.
fn split(bytes: &[u8]) -> Result<(Header, &[u8]), NpyError> {
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(NpyError::NotNpy);
    };
    let short = || NpyError::Header("the file ends in it".into());
    let (version, rest) = rest.split_at_checked(2).ok_or_else(short)?;
    let width = match version {
        [1, 0] => 2,
        [2 | 3, 0] => 4,
        _ => return Err(NpyError::Version(version[0], version[1])),
    };
    let (length, rest) = rest.split_at_checked(width).ok_or_else(short)?;
    let length = length.iter().rev().fold(0usize, |n, b| n << 8 | *b as usize);
    if length > LONGEST_HEADER {
        return Err(NpyError::Header(format!("its length is given as {length}")));
    }
    let (header, data) = rest.split_at_checked(length).ok_or_else(short)?;
    // Latin 1 before version 3; what matters in it is ASCII.
    Ok((parse_header(&String::from_utf8_lossy(header))?, data))
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
fn parse_header(text: &str) -> Result<Header, NpyError> {
    let bad = |what: &str| NpyError::Header(what.to_owned());
    let mut r = Reader(text.trim());
    let (mut descr, mut fortran, mut shape) = (None, None, None);
    if !r.eat("{") {
        return Err(bad("it is no dictionary"));
    }
    while !r.eat("}") {
        let key = r.string().ok_or_else(|| bad("a key is missing"))?.to_owned();
        if !r.eat(":") {
            return Err(bad("a colon is missing"));
        }
        match key.as_str() {
            "descr" => {
                // A structured dtype is a list.
                if r.0.trim_start().starts_with(['[', '(']) {
                    return Err(NpyError::Dtype("with fields".into()));
                }
                descr = Some(r.string().ok_or_else(|| bad("the dtype is no string"))?.to_owned());
            }
            "fortran_order" => {
                fortran = Some(if r.eat("True") {
                    true
                } else if r.eat("False") {
                    false
                } else {
                    return Err(bad("fortran_order is neither True nor False"));
                });
            }
            "shape" => shape = Some(r.tuple().ok_or_else(|| bad("the shape is no tuple of sizes"))?),
            _ => return Err(bad(&format!("the key '{key}' is unknown"))),
        }
        if !r.eat(",") && !r.0.trim_start().starts_with('}') {
            return Err(bad("a comma is missing"));
        }
    }
    if !r.0.trim().is_empty() {
        return Err(bad("something follows the dictionary"));
    }
    let descr = descr.ok_or_else(|| bad("it has no 'descr'"))?;
    let (ty, big_endian) = dtype(&descr).ok_or_else(|| NpyError::Dtype(descr.clone()))?;
    Ok(Header {
        ty,
        big_endian,
        fortran_order: fortran.ok_or_else(|| bad("it has no 'fortran_order'"))?,
        shape: shape.ok_or_else(|| bad("it has no 'shape'"))?,
    })
}

/// A header's text, from where it has been read on.
struct Reader<'a>(&'a str);

impl<'a> Reader<'a> {
    fn eat(&mut self, token: &str) -> bool {
        match self.0.trim_start().strip_prefix(token) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn string(&mut self) -> Option<&'a str> {
        let text = self.0.trim_start();
        let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (content, rest) = text[1..].split_once(quote)?;
        self.0 = rest;
        Some(content)
    }

    fn tuple(&mut self) -> Option<Vec<usize>> {
        if !self.eat("(") {
            return None;
        }
        let mut sizes = vec![];
        loop {
            if self.eat(")") {
                return Some(sizes);
            }
            let text = self.0.trim_start();
            let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
            sizes.push(text[..end].parse().ok()?);
            // Python 2 wrote longs as `3L`.
            self.0 = text[end..].strip_prefix('L').unwrap_or(&text[end..]);
            if !self.eat(",") && !self.0.trim_start().starts_with(')') {
                return None;
            }
        }
    }
}

/// The type of a dtype such as `<f4`, and whether it is big-endian.
fn dtype(descr: &str) -> Option<(BaseTy, bool)> {
    let (order, kind) = match descr.chars().next()? {
        c @ ('<' | '>' | '|' | '=') => (c, &descr[1..]),
        _ => ('=', descr),
    };
    let ty = match kind {
        "b1" | "?" => BaseTy::Bool,
        "i1" => BaseTy::I8,
        "i2" => BaseTy::I16,
        "i4" => BaseTy::I32,
        "i8" => BaseTy::I64,
        "u1" => BaseTy::U8,
        "u2" => BaseTy::U16,
        "u4" => BaseTy::U32,
        "u8" => BaseTy::U64,
        "f2" => BaseTy::F16,
        "f4" => BaseTy::F32,
        "f8" => BaseTy::F64,
        _ => return None,
    };
    let big = order == '>' || (order == '=' && cfg!(target_endian = "big"));
    Some((ty, big))
}

/// The dtype that an array of a base type is written with.
fn descr(ty: BaseTy) -> Option<&'static str> {
    Some(match ty {
        BaseTy::Bool => "|b1",
        BaseTy::Char => return None,
        BaseTy::I8 => "|i1",
        BaseTy::I16 => "<i2",
        BaseTy::I32 => "<i4",
        BaseTy::I64 => "<i8",
        BaseTy::U8 => "|u1",
        BaseTy::U16 => "<u2",
        BaseTy::U32 => "<u4",
        BaseTy::U64 => "<u8",
        BaseTy::F16 => "<f2",
        BaseTy::F32 => "<f4",
        BaseTy::F64 => "<f8",
    })
}

/// NumPy's name for a base type, as in `np.float32`.
pub fn numpy_name(ty: BaseTy) -> Option<&'static str> {
    Some(match ty {
        BaseTy::Bool => "bool_",
        BaseTy::Char => return None,
        BaseTy::I8 => "int8",
        BaseTy::I16 => "int16",
        BaseTy::I32 => "int32",
        BaseTy::I64 => "int64",
        BaseTy::U8 => "uint8",
        BaseTy::U16 => "uint16",
        BaseTy::U32 => "uint32",
        BaseTy::U64 => "uint64",
        BaseTy::F16 => "float16",
        BaseTy::F32 => "float32",
        BaseTy::F64 => "float64",
    })
}

/// Whether `.npy` has a dtype for the array's atoms.
pub fn can_write(value: &Value) -> bool {
    matches!(value.atom, AtomTy::Base(ty) if descr(ty).is_some())
}

/// Writes an array of a base type that [`can_write`] allows; other values are an error of kind
/// `InvalidInput`.
pub fn write(value: &Value, out: &mut dyn Write) -> io::Result<()> {
    let AtomTy::Base(ty) = value.atom else { return Err(io::ErrorKind::InvalidInput.into()) };
    write_header(ty, &value.shape, false, out)?;
    elements::write(&value.data, out)
}

/// Writes a header; if `grows`, one that is as long whatever the first size is.
pub fn write_header(ty: BaseTy, sizes: &[usize], grows: bool, out: &mut dyn Write) -> io::Result<()> {
    let descr = descr(ty).ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut shape: String = sizes.iter().map(|n| format!("{n}, ")).collect();
    // `(3,)` for one axis, `(3, 4)` for more, `()` for none.
    shape.truncate(shape.len().saturating_sub(if sizes.len() == 1 { 1 } else { 2 }));
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // The data begins at a multiple of 64, and the header ends in a line end.
    let (version, width) = if header.len() + 1 + 10 + 63 < 1 << 16 { (1, 2) } else { (2, 4) };
    let preamble = MAGIC.len() + 2 + width;
    let digits = |n: usize| n.checked_ilog10().unwrap_or(0) as usize + 1;
    let more = if grows { digits(usize::MAX) - digits(sizes.first().copied().unwrap_or(0)) } else { 0 };
    let total = (preamble + header.len() + more + 1).next_multiple_of(64);
    header.push_str(&" ".repeat(total - preamble - header.len() - 1));
    header.push('\n');
    out.write_all(MAGIC)?;
    out.write_all(&[version, 0])?;
    out.write_all(&(header.len() as u32).to_le_bytes()[..width])?;
    out.write_all(header.as_bytes())?;
    Ok(())
}

#[cfg(test)]
#[path = "npy_tests.rs"]
mod tests;
