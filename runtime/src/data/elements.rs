//! The elements of an array as files have them: one beside the other, in row-major order.
//!
//! Numbers are in two's complement and IEEE 754's formats, of either byte order; a `bool` is a byte, 0 or 1.
//! `.npy`, raw and Futhark's files differ in what stands before the elements alone, so all are read and
//! written here. Nothing is allocated at a file's word: a caller that has not compared the claimed size with
//! the file's lets memory grow with what is there.

use crate::budget::{Room, TooMuch};
use half::f16;
use remc_base::value::Data;
use remc_base::{BaseTy, Value};
use std::fmt;
use std::io::{self, Read, Write};

/// How many bytes are read or written at a time; a multiple of every element's size.
const BUFFER: usize = 1 << 16;
/// How many are read where they are to be.
const AT_ONCE: usize = 1 << 23;

/// Why there are no elements.
#[derive(Debug)]
pub enum ElementsError {
    /// The bytes end after this many.
    Ended(usize),
    /// A byte of a `bool` array is neither 0 nor 1.
    NotBool(u8),
    /// There is no memory for them.
    TooMuch(TooMuch),
    Io(io::Error),
}

impl From<TooMuch> for ElementsError {
    fn from(e: TooMuch) -> ElementsError {
        ElementsError::TooMuch(e)
    }
}

impl fmt::Display for ElementsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ElementsError::Ended(n) => write!(f, "its data ends after {n} bytes"),
            ElementsError::NotBool(b) => {
                write!(f, "an element of its bool array is the byte {b}, which is neither 0 nor 1")
            }
            ElementsError::TooMuch(e) => e.fmt(f),
            ElementsError::Io(e) => write!(f, "{}", reason(e)),
        }
    }
}

/// What a single box holds, and in it; other values as they are. A box hides sizes, which an array of a file has.
pub fn opened(value: &Value) -> &Value {
    match (&value.data, value.shape.is_empty()) {
        (Data::Box(boxes), true) => boxes.first().map_or(value, |b| opened(&b.value)),
        _ => value,
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

impl Layout {
    /// The bytes of an element.
    fn width(&self) -> usize {
        self.ty.bits() as usize / 8
    }
}

/// How many bytes an array takes; `None` if no computer has so many.
pub fn bytes(ty: BaseTy, shape: &[usize]) -> Option<usize> {
    let size = |d: usize| i64::try_from(d).ok().map(|_| d);
    let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(size(*d)?))?;
    count.checked_mul(ty.bits() as usize / 8).filter(|n| isize::try_from(*n).is_ok())
}

/// Reads `count` elements, into memory that is taken from `room`.
pub fn read(
    layout: Layout,
    count: usize,
    from: &mut dyn Read,
    room: &mut Room<'_>,
) -> Result<Data, ElementsError> {
    let whole = span(layout, count, room)?;
    // Any bytes are numbers: they are read where they are to be.
    let plain = !layout.big_endian && !matches!(layout.ty, BaseTy::Bool | BaseTy::Char);
    if layout.sure && plain && whole > BUFFER {
        room.take(whole as u64)?;
        let at_once = |bytes: &mut [u8]| read_in_place(bytes, from);
        return Ok(crate::bytes::array(layout.ty, &[count], at_once)?.data);
    }
    let mut out = Data::of_base(layout.ty, 0);
    if layout.sure {
        room.grow_data(&mut out, count)?;
    }
    in_parts(whole, from, |part| {
        room.grow_data(&mut out, part.len() / layout.width())?;
        decode(part, layout.big_endian, &mut out)
    })?;
    Ok(out)
}

/// Reads elements as long as there are any; with how many bytes are left over that make none.
pub fn read_all(
    layout: Layout,
    from: &mut dyn Read,
    room: &mut Room<'_>,
) -> Result<(Data, usize), ElementsError> {
    let width = layout.width();
    let mut out = Data::of_base(layout.ty, 0);
    let mut buffer = vec![0; BUFFER];
    let mut held = 0;
    loop {
        match from.read(&mut buffer[held..]) {
            Ok(0) => return Ok((out, held)),
            Ok(n) => held += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(ElementsError::Io(e)),
        }
        let whole = held - held % width;
        room.grow_data(&mut out, whole / width)?;
        decode(&buffer[..whole], layout.big_endian, &mut out)?;
        buffer.copy_within(whole..held, 0);
        held -= whole;
    }
}

/// Reads as many elements as there are positions, each to its place: those of an array whose axes lie in another order.
pub fn read_to(
    layout: Layout,
    count: usize,
    mut positions: impl Iterator<Item = usize>,
    from: &mut dyn Read,
    room: &mut Room<'_>,
) -> Result<Data, ElementsError> {
    let mut out = Data::of_base(layout.ty, 0);
    let whole = span(layout, count, room)?;
    room.grow_data(&mut out, count)?;
    let mut decoded = Data::of_base(layout.ty, 0);
    macro_rules! placed {
        ($($v:ident = $zero:expr),*) => {
            match (&mut out, &mut decoded) {
                $((Data::$v(out), Data::$v(decoded)) => {
                    out.resize(count, $zero);
                    for x in decoded.drain(..) {
                        if let Some(place) = positions.next().and_then(|at| out.get_mut(at)) {
                            *place = x;
                        }
                    }
                })*
                // Both are of the type of the layout, and no file has characters.
                _ => return Err(ElementsError::Io(io::ErrorKind::InvalidInput.into())),
            }
        };
    }
    in_parts(whole, from, |part| {
        decode(part, layout.big_endian, &mut decoded)?;
        placed!(
            Bool = false,
            I8 = 0,
            I16 = 0,
            I32 = 0,
            I64 = 0,
            U8 = 0,
            U16 = 0,
            U32 = 0,
            U64 = 0,
            F16 = f16::ZERO,
            F32 = 0.0,
            F64 = 0.0
        );
        Ok(())
    })?;
    Ok(out)
}

/// How many bytes so many elements are.
fn span(layout: Layout, count: usize, room: &Room<'_>) -> Result<usize, ElementsError> {
    Ok(count.checked_mul(layout.width()).ok_or_else(|| room.never(u64::MAX))?)
}

/// Fills memory, some at a time, so that whoever waits sees how far it has come.
fn read_in_place(bytes: &mut [u8], from: &mut dyn Read) -> Result<(), ElementsError> {
    crate::bytes::in_huge_pages(bytes);
    let (all, mut there) = (bytes.len(), 0);
    while there < all {
        match from.read(&mut bytes[there..all.min(there + AT_ONCE)]) {
            Ok(0) => return Err(ElementsError::Ended(there)),
            Ok(n) => there += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(ElementsError::Io(e)),
        }
    }
    Ok(())
}

/// Reads so many bytes and hands them on, a buffer at a time.
fn in_parts(
    whole: usize,
    from: &mut dyn Read,
    mut take: impl FnMut(&[u8]) -> Result<(), ElementsError>,
) -> Result<(), ElementsError> {
    let mut left = whole;
    let mut buffer = vec![0; left.min(BUFFER)];
    while left > 0 {
        let part = &mut buffer[..left.min(BUFFER)];
        from.read_exact(part).map_err(|e| match e.kind() {
            io::ErrorKind::UnexpectedEof => ElementsError::Ended(whole - left),
            _ => ElementsError::Io(e),
        })?;
        left -= part.len();
        take(part)?;
    }
    Ok(())
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
