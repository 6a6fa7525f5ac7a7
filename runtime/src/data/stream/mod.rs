//! A data file as a stream: its items are read as they are wanted, and what they are is known from how it begins.
//!
//! | file | items |
//! | --- | --- |
//! | NumPy's array, `.npy`, in row-major order | along its first axis |
//! | raw numbers, `f32[_,3]` | along its first axis |
//! | characters, `:text` | characters; or lines, [`texts`], where those are wanted |
//! | a table, `.csv` or `.tsv` | its lines ([`table`]) |
//! | a table of Arrow's, a file or stream | its rows ([`arrow`]) |
//! | a folder | those of its files, one after the other ([`folder`]) |
//! | anything else | read as a whole, and gone through from there |
//!
//! A pipe is read once, from the first item to the last; whether there is a way back the items say themselves
//! ([`Items::rewind`]).

pub mod arrow;
pub mod folder;
pub mod table;
pub mod texts;

use super::elements::{self, reason};
use super::gzip::{self, Gzip};
use super::source::{Meter, Source};
use super::{DataError, Format, Place, column, csv, fit, fit_numpy, of_npy, raw, read_source, said};
use crate::budget::Budget;
use crate::npy;
use crate::stream::items::{InFile, InText, Items, Layout};
use remc_base::value::Data;
use remc_base::{ArrTy, AtomTy, BaseTy, Value};
use std::cmp::Ordering;
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

/// A stream that is open.
pub enum Opened {
    /// Its items are read as they are wanted; and a value of none of them, whose items have the same shape.
    Items(Box<dyn Items>, Value),
    /// All of them are there.
    Value(Value),
}

/// A file, compressed or not, or a pipe of which the first bytes have been read.
struct Begun {
    start: Cursor<Vec<u8>>,
    rest: Rest,
    is_file: bool,
}

enum Rest {
    File(File),
    Gzip(Gzip),
}

impl Read for Begun {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match (self.start.read(to)?, &mut self.rest) {
            (0, Rest::File(f)) => f.read(to),
            (0, Rest::Gzip(z)) => z.read(to),
            (n, _) => Ok(n),
        }
    }
}

impl Seek for Begun {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        if !self.is_file {
            return Err(io::ErrorKind::NotSeekable.into());
        }
        // What had been read of a file is read again.
        self.start = Cursor::default();
        match &mut self.rest {
            Rest::File(f) => f.seek(to),
            Rest::Gzip(z) => z.seek(to),
        }
    }
}

impl Begun {
    /// Reads from the beginning once more, where these bytes were.
    fn again(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        if self.is_file {
            return self.seek(SeekFrom::Start(0)).map(|_| ());
        }
        let rest = self.start.get_ref()[self.start.position() as usize..].to_vec();
        self.start = Cursor::new([bytes, rest].concat());
        Ok(())
    }
}

/// Opens a file as a stream for the parameter `name`, of the array type `wanted`, whose first axis is the stream's.
///
/// # Errors
/// As [`super::read`].
pub fn open(
    place: &Place,
    name: &str,
    wanted: &ArrTy,
    meter: &Meter,
    budget: &Budget,
) -> Result<Opened, DataError> {
    let unreadable = |e: io::Error| DataError::Unreadable(reason(&e));
    let mut file = File::open(&place.path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return folder::InFolder::open(place, name, wanted, budget);
    }
    let is_file = metadata.is_file();
    let shown = place.path.display().to_string();
    let selector = place.selector.as_deref();
    let raw = selector.and_then(|s| raw::parse(s).ok());
    let marked = raw.is_none() || gzip::unzipped(&place.path).is_some();
    let more = |start: &[u8]| gzip::may_start(start) || raw.is_none() && Format::may_start(start);
    let mut start = Vec::new();
    if marked {
        start = gzip::first_bytes(&mut file, more).map_err(unreadable)?;
    }
    let zipped = start.starts_with(gzip::MAGIC);
    if is_file {
        file.rewind().map_err(unreadable)?;
    }
    let mut begun = match zipped {
        true => {
            let start = if is_file { Vec::new() } else { std::mem::take(&mut start) };
            Begun { start: Cursor::default(), rest: Rest::Gzip(Gzip::new(start, file, is_file)), is_file }
        }
        false => Begun { start: Cursor::default(), rest: Rest::File(file), is_file },
    };
    if zipped && raw.is_none() {
        start = gzip::first_bytes(&mut begun, Format::may_start).map_err(unreadable)?;
    }
    // How much is in a compressed file nobody knows before its end.
    let len = (is_file && !zipped).then_some(metadata.len());
    let begins = Format::of_start(&start);
    match is_file {
        true => drop(begun.seek(SeekFrom::Start(0)).map_err(unreadable)?),
        false => begun.start = Cursor::new(start),
    }
    if let Some(raw) = raw {
        let (ty, item, length) = raw.items(len).map_err(DataError::Raw)?;
        let none = none_of(ty, &item, length, |v| {
            fit(v, ty.name(), wanted, || {
                format!(
                    "if these bytes are of the wanted type, say so after the file's name instead of `{raw}`"
                )
            })
        })?;
        let layout = Layout::items(ty, item);
        let length = length.map(|n| (n, "its type"));
        let items = InFile::new(begun, shown, layout, length, false).counted(len.is_some());
        return Ok(Opened::Items(Box::new(items), none));
    }
    let format = match (begins, selector) {
        (Some(Format::Npy), None | Some("npy")) => Some((Format::Npy, None)),
        (Some(Format::Arrow | Format::ArrowStream), _) => Some((Format::Arrow, None)),
        (None, Some(s)) => Some(said(s, &place.path)?),
        (None, None) => Format::of_file(&place.path).map(|format| (format, None)),
        // What is chosen of an archive, or makes no sense.
        (Some(_), _) => None,
    };
    match format {
        Some((Format::Npy, _)) if begins.is_some() => {
            let mut kept = Kept { from: &mut begun, bytes: Vec::new() };
            let header = npy::read_header(&mut kept).map_err(|e| of_npy(e, None))?;
            let bytes = kept.bytes;
            if let (Some((length, item)), false) =
                (header.shape.split_first(), header.fortran_order && header.shape.len() > 1)
            {
                let length = *length as u64;
                if let Some(len) = len {
                    has_all(&header, len.saturating_sub(bytes.len() as u64)).map_err(|e| of_npy(e, None))?;
                }
                let none = none_of(header.ty, item, Some(length), |v| fit_numpy(v, name, wanted))?;
                let layout = Layout::items(header.ty, item.to_vec());
                let swapped = header.big_endian && header.ty.bits() > 8;
                let items = InFile::new(begun, shown, layout, Some((length, "its header")), swapped);
                let items = items.counted(len.is_some());
                return Ok(Opened::Items(Box::new(items), none));
            }
            begun.again(bytes).map_err(unreadable)?;
        }
        Some((Format::Text, _)) if csv::holds_text(&wanted.atom) => {
            let none = Value { atom: wanted.atom.clone(), shape: vec![0], data: Data::Box(Vec::new()) };
            let lines = texts::InLines::new(begun, shown, budget.left() / texts::TIMES);
            return Ok(Opened::Items(Box::new(lines), none));
        }
        Some((Format::Text, _)) => {
            let none = none_of(BaseTy::Char, &[], None, |v| {
                fit(v, "char", wanted, || "`:text` reads a file's characters as a vector".into())
            })?;
            return Ok(Opened::Items(Box::new(InText::new(begun, shown)), none));
        }
        Some((Format::Arrow | Format::ArrowStream, _)) if arrow::reads(wanted) => {
            let (asked, name, wanted) =
                (column(selector).map(str::to_owned), name.to_owned(), wanted.clone());
            let how = arrow::How { asked, name, wanted, len };
            return arrow::InRows::open(begun, shown, how, budget);
        }
        // The first line of an open rank may be all there is.
        Some((format @ (Format::Csv | Format::Tsv), options))
            if wanted.shape.items().len() == wanted.shape.least_rank() =>
        {
            let separator = if format == Format::Tsv { b'\t' } else { b',' };
            let options = options.unwrap_or_default();
            let how = table::How { separator, options, wanted: wanted.clone() };
            return Ok(match table::InTable::open(begun, shown, how, budget)? {
                table::Opened::Lines(lines, none) => Opened::Items(lines, none),
                table::Opened::Whole(value) => Opened::Value(value),
            });
        }
        _ => {}
    }
    let whole = match begun {
        Begun { rest: Rest::File(_), is_file: true, .. } => super::read(place, name, wanted, meter, budget)?,
        begun => read_source(&mut Source::begun(Vec::new(), begun, meter, budget), place, name, wanted)?,
    };
    Ok(Opened::Value(whole))
}

/// What is read, and kept.
struct Kept<'a> {
    from: &'a mut Begun,
    bytes: Vec<u8>,
}

impl Read for Kept<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = self.from.read(to)?;
        self.bytes.extend_from_slice(&to[..n]);
        Ok(n)
    }
}

/// That there are as many bytes behind a header as it says.
fn has_all(header: &npy::Header, found: u64) -> Result<(), npy::NpyError> {
    let found = usize::try_from(found).unwrap_or(usize::MAX);
    let Some(expected) = elements::bytes(header.ty, &header.shape) else {
        return Err(npy::NpyError::Header("the product of the shape is too large".into()));
    };
    match found.cmp(&expected) {
        Ordering::Less => Err(npy::NpyError::Truncated { expected, found }),
        Ordering::Greater => Err(npy::NpyError::TrailingBytes { expected, found }),
        Ordering::Equal => Ok(()),
    }
}

/// A value of no items, if `length` of them fit what is wanted.
fn none_of(
    ty: BaseTy,
    item: &[usize],
    length: Option<u64>,
    fits: impl FnOnce(Value) -> Result<Value, DataError>,
) -> Result<Value, DataError> {
    let shape = std::iter::once(length.unwrap_or(0) as usize).chain(item.iter().copied()).collect();
    let many = fits(Value { atom: AtomTy::Base(ty), shape, data: Data::of_atom(&AtomTy::Base(ty)) });
    let mut none = many.map_err(|e| match e {
        // How many there are nobody knows yet.
        DataError::Mismatch { found, help } if length.is_none() => {
            DataError::Mismatch { found: found.replacen("[0", "[_", 1), help }
        }
        e => e,
    })?;
    none.shape.first_mut().into_iter().for_each(|n| *n = 0);
    Ok(none)
}
