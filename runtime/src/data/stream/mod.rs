//! A data file as a stream: its items are read as they are wanted, and what they are is known from how it begins.
//!
//! | file | items |
//! | --- | --- |
//! | NumPy's array, `.npy`, in row-major order | along its first axis |
//! | raw numbers, `f32[_,3]` | along its first axis |
//! | characters, `:text` | characters |
//! | a table, `.csv` or `.tsv` | its lines ([`table`]) |
//! | anything else | read as a whole, and gone through from there |
//!
//! A pipe is read once, from the first item to the last; whether there is a way back the items say themselves
//! ([`Items::rewind`]).

pub mod table;

use super::elements::reason;
use super::source::{Meter, Source};
use super::{DataError, Format, Place, fit, fit_numpy, of_npy, raw, read_source, said};
use crate::budget::Budget;
use crate::npy;
use crate::stream::items::{InFile, InText, Items, Layout};
use remc_base::value::Data;
use remc_base::{ArrTy, AtomTy, BaseTy, Value};
use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};

/// A stream that is open.
pub struct Opened {
    pub given: Given,
    /// A value of no items, of the shape that the stream has but for their number.
    pub none: Value,
}

/// Where the items of a stream are.
pub enum Given {
    Items(Box<dyn Items>),
    /// In memory.
    Value(Value),
}

/// A file, or a pipe of which the first bytes have been read.
struct Begun {
    start: Cursor<Vec<u8>>,
    rest: File,
    is_file: bool,
}

impl Read for Begun {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        match self.start.read(to)? {
            0 => self.rest.read(to),
            n => Ok(n),
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
        self.rest.seek(to)
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
        return Err(unreadable(io::ErrorKind::IsADirectory.into()));
    }
    let len = metadata.is_file().then_some(metadata.len());
    let shown = place.path.display().to_string();
    let selector = place.selector.as_deref();
    if let Some(raw) = selector.and_then(|s| raw::parse(s).ok()) {
        let (ty, item, length) = raw.items(len).map_err(DataError::Raw)?;
        let none = empty(ty, &item);
        let none = fit(none, ty.name(), wanted, || {
            format!("if these bytes are of the wanted type, say so after the file's name instead of `{raw}`")
        })?;
        let layout = Layout::items(ty, item);
        let is_file = len.is_some();
        let begun = Begun { start: Cursor::default(), rest: file, is_file };
        return Ok(Opened {
            given: Given::Items(Box::new(InFile::new(begun, shown, layout, length, false))),
            none,
        });
    }
    let mut start = Vec::new();
    (&mut file).take(npy::MAGIC.len() as u64).read_to_end(&mut start).map_err(unreadable)?;
    let begins = Format::of_start(&start);
    if len.is_some() {
        file.rewind().map_err(unreadable)?;
        start.clear();
    }
    let mut begun = Begun { start: Cursor::new(start), rest: file, is_file: len.is_some() };
    if begins == Some(Format::Npy) && matches!(selector, None | Some("npy")) {
        let header = npy::read_header(&mut begun).map_err(|e| of_npy(e, None))?;
        if let (Some((length, item)), false) =
            (header.shape.split_first(), header.fortran_order && header.shape.len() > 1)
        {
            let none = fit_numpy(empty(header.ty, item), name, wanted)?;
            let layout = Layout::items(header.ty, item.to_vec());
            let swapped = header.big_endian && header.ty.bits() > 8;
            let items = InFile::new(begun, shown, layout, Some(*length as u64), swapped);
            return Ok(Opened { given: Given::Items(Box::new(items)), none });
        }
        if len.is_some() {
            begun.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        }
    }
    let is_text = || selector == Some("text") || selector.is_none() && begins.is_none() && is_text(place);
    if is_text() {
        let none = Value { atom: AtomTy::CHAR, shape: vec![0], data: Data::Char(Vec::new()) };
        let none = fit(none, "char", wanted, || "`:text` reads a file's characters as a vector".into())?;
        return Ok(Opened { given: Given::Items(Box::new(InText::new(begun, shown))), none });
    }
    let mut begun = begun;
    if let Some(how) = table_of(place, selector, begins, wanted)? {
        match table::InTable::open(begun, shown, how)? {
            table::Opened::Lines(lines, none) => return Ok(Opened { given: Given::Items(lines), none }),
            table::Opened::Other(from, read) => {
                begun = from;
                match begun.is_file {
                    true => drop(begun.seek(SeekFrom::Start(0)).map_err(unreadable)?),
                    false => begun.start = Cursor::new(read),
                }
            }
        }
    }
    let Begun { start, rest, .. } = begun;
    let mut source = Source::begun(start.into_inner(), rest, meter, budget).map_err(unreadable)?;
    let value = read_source(&mut source, place, name, wanted)?;
    Ok(of_value(value))
}

/// How a table is written, if the file is one whose lines are items.
fn table_of(
    place: &Place,
    selector: Option<&str>,
    begins: Option<Format>,
    wanted: &ArrTy,
) -> Result<Option<table::How>, DataError> {
    let (format, options) = match selector {
        Some(s) => said(s, &place.path)?,
        None if begins.is_none() => match Format::of_name(&place.path) {
            Some(format) => (format, None),
            None => return Ok(None),
        },
        None => return Ok(None),
    };
    let separator = match format {
        Format::Csv => b',',
        Format::Tsv => b'\t',
        _ => return Ok(None),
    };
    // The first line of an open rank may be all there is.
    if wanted.shape.items().len() != wanted.shape.least_rank() {
        return Ok(None);
    }
    let options = options.unwrap_or_default();
    Ok(Some(table::How { separator, options, wanted: wanted.clone() }))
}

fn is_text(place: &Place) -> bool {
    Format::of_name(&place.path) == Some(Format::Text)
}

/// An array as a stream.
pub fn of_value(value: Value) -> Opened {
    let mut none =
        Value { atom: value.atom.clone(), shape: value.shape.clone(), data: value.data.gather(0..0) };
    if let Some(first) = none.shape.first_mut() {
        *first = 0;
    }
    Opened { given: Given::Value(value), none }
}

/// An array of no items.
fn empty(ty: BaseTy, item: &[usize]) -> Value {
    let shape = std::iter::once(0).chain(item.iter().copied()).collect();
    Value { atom: AtomTy::Base(ty), shape, data: Data::of_atom(&AtomTy::Base(ty)) }
}
