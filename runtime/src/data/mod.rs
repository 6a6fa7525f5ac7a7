//! Data in and out of programs: files of several formats, read against the type that an entry wants.
//!
//! | file | format | read | written |
//! | --- | --- | --- | --- |
//! | [`crate::npy`] | NumPy's array, `.npy` | yes | yes |
//! | [`npz`], over [`zip`] | NumPy's archive of arrays, `.npz` | yes | yes |
//! | [`csv`] | tables as text, `.csv` and `.tsv` | yes | yes |
//! | [`futhark`] | Futhark's binary data, `.fut.bin`, `.in`, `.data` | yes | yes |
//! | [`raw`] | numbers and nothing else, `.raw` and `.bin` | with its type and shape stated | yes |
//! | [`crate::literal`], [`crate::text`] | a Remora literal, `.rd` | yes | yes |
//! | (here) | characters in UTF-8, or their lines, any name | where `:text` says so | no |
//! | [`plain`] | plain text, for people and other programs | no | yes |
//! | [`json`] | JSON | yes | yes |
//! | [`arrow`] | Arrow's IPC files and streams, `.arrow`, `.feather` and `.arrows` | yes | yes |
//! | [`gzip`] | any of them, compressed, `.csv.gz` | yes | no |
//!
//! [`elements`] is what the binary formats have in common, [`source`] an open file, [`output`] the writing; [`ragged`] has
//! vectors of boxes as plain arrays, [`stream`] a file as a stream of items.
//!
//! **Which format** a file has is said after its name (`data.dat:csv`), else by its first bytes (NumPy's,
//! ZIP's, Arrow's and Futhark's begin with a mark of theirs), else by its name's ending. **Which value** of a file of
//! several is said after its name, too (`data.npz:xs`), and **how a table is written** ([`csv::options`]).
//!
//! **Types.** A text has no types, so its numbers are read as what is wanted and must fit it. A binary file
//! has types, and they must be the wanted ones: a conversion that nobody asked for could lose digits.
//!
//! A value is returned whole or not at all, and memory is taken for what a file holds, not for what it claims, and
//! from a [`Budget`]: reading takes what the array takes, and a buffer of a fixed size.

pub mod arrow;
pub mod csv;
pub mod elements;
pub mod futhark;
pub mod gzip;
pub mod json;
pub mod npz;
pub mod output;
pub(crate) mod plain;
pub mod ragged;
pub mod raw;
pub mod source;
pub mod stream;
pub mod zip;

use crate::budget::{Budget, Room, TooMuch};
use crate::literal::{self, LiteralError, fits, show_shape};
use crate::npy::{self, NpyError};
use crate::numbers;
use elements::reason;
use remc_base::value::{BoxValue, Data};
use remc_base::{ArrTy, AtomTy, BaseTy, IndexValue, Shape, Value};
use source::{Meter, Source};
use std::fmt;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A format of files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Remora,
    Json,
    Npy,
    Npz,
    Csv,
    Tsv,
    Futhark,
    Raw,
    Text,
    /// Arrow's IPC format, as a file.
    Arrow,
    /// … as a stream.
    ArrowStream,
}

impl Format {
    /// The format that a file's name stands for.
    pub fn of_name(path: &Path) -> Option<Format> {
        let name = path.file_name()?.to_string_lossy().to_ascii_lowercase();
        let (stem, ending) = name.rsplit_once('.')?;
        Some(match ending {
            "rd" => Format::Remora,
            "json" => Format::Json,
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            "csv" => Format::Csv,
            "tsv" => Format::Tsv,
            "txt" => Format::Text,
            "in" | "data" => Format::Futhark,
            "bin" if stem.ends_with(".fut") => Format::Futhark,
            "raw" | "bin" => Format::Raw,
            "arrow" | "feather" => Format::Arrow,
            "arrows" => Format::ArrowStream,
            _ => return None,
        })
    }

    /// The format that the name of a file stands for that may be compressed.
    pub fn of_file(path: &Path) -> Option<Format> {
        Format::of_name(gzip::unzipped(path).unwrap_or(path))
    }

    /// The format of that name, as it is said after the name of a file.
    fn named(name: &str) -> Option<Format> {
        Some(match name {
            "rd" | "remora" => Format::Remora,
            "json" => Format::Json,
            "npy" => Format::Npy,
            "npz" => Format::Npz,
            "csv" => Format::Csv,
            "tsv" => Format::Tsv,
            "futhark" => Format::Futhark,
            "raw" => Format::Raw,
            "text" => Format::Text,
            "arrow" | "feather" => Format::Arrow,
            "arrows" => Format::ArrowStream,
            _ => return None,
        })
    }

    /// Whether more bytes may say that a file which begins so is of such a format.
    fn may_start(start: &[u8]) -> bool {
        let own = [npy::MAGIC, futhark::MAGIC, arrow::MAGIC, arrow::CONTINUATION];
        let mut marks = zip::MAGICS.iter().map(|m| &m[..]).chain(own);
        marks.any(|m| m.len() > start.len() && m.starts_with(start))
    }

    /// The format whose files begin so.
    fn of_start(start: &[u8]) -> Option<Format> {
        if start.starts_with(npy::MAGIC) {
            Some(Format::Npy)
        } else if zip::MAGICS.iter().any(|m| start.starts_with(m)) {
            Some(Format::Npz)
        } else if start.starts_with(futhark::MAGIC) {
            Some(Format::Futhark)
        } else if start.starts_with(arrow::MAGIC) {
            Some(Format::Arrow)
        } else if start.starts_with(arrow::CONTINUATION) {
            Some(Format::ArrowStream)
        } else {
            None
        }
    }
}

/// Why there is no value. Texts are clauses about the file, such as "its header is damaged: …".
#[derive(Clone, PartialEq, Debug)]
pub enum DataError {
    /// It cannot be read, or is damaged.
    Unreadable(String),
    /// Neither its name nor its first bytes say what it is.
    UnknownFormat,
    /// What was said after its name says nothing about such a file.
    Selector(String),
    /// Raw bytes without a type, with one that does not read, or of another size than it says.
    Raw(String),
    /// A table's field or line is wrong: the place, and what is wrong; what may help.
    Table { what: String, help: Vec<Help> },
    /// There is no memory for it.
    TooMuch(TooMuch),
    /// It holds several values, or none, or not the one that was asked for.
    Choose { kind: &'static str, there: Vec<String>, asked: Option<String> },
    /// Remora text that is no literal; the text, and why.
    Literal(String, LiteralError),
    /// What it holds is not what is wanted.
    Mismatch { found: String, help: Option<String> },
}

/// What may help with a table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Help {
    /// An option after the file's name, and when it is right: "where tabs separate the fields".
    Option { option: String, when: String },
    /// A sentence.
    Say(String),
}

impl Help {
    fn option(option: impl Into<String>, when: impl Into<String>) -> Help {
        Help::Option { option: option.into(), when: when.into() }
    }
}

impl fmt::Display for DataError {
    /// The clause about the file; without what may help.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DataError::Unreadable(what) | DataError::Selector(what) | DataError::Raw(what) => {
                f.write_str(what)
            }
            DataError::Table { what, .. } => f.write_str(what),
            DataError::UnknownFormat => f.write_str("it is of no known format"),
            DataError::TooMuch(e) => write!(f, "there is no memory for it: {e}"),
            DataError::Choose { kind, there, .. } => {
                write!(f, "it holds {} {kind}s, one of which is to be said", there.len())
            }
            DataError::Literal(..) => f.write_str("it does not read as a literal"),
            DataError::Mismatch { found, .. } => write!(f, "it has {found}"),
        }
    }
}

impl DataError {
    /// What is wrong with a table, where nothing is known to help.
    fn table(what: String) -> DataError {
        DataError::Table { what, help: Vec::new() }
    }
}

/// A file, and what was said about it after its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub path: PathBuf,
    pub selector: Option<String>,
}

impl Place {
    /// The file that an input's text names, if there is one: `data.npz:xs` is what the file `data.npz` has to
    /// say about `xs`, unless there is a file of that whole name. `-` is standard input.
    pub fn of(text: &str) -> Option<Place> {
        if text == "-" || text.starts_with("-:") {
            let selector = text.strip_prefix("-:").map(str::to_owned);
            return Some(Place { path: "/dev/stdin".into(), selector });
        }
        let there = |path: &str| Path::new(path).exists();
        if there(text) {
            return Some(Place { path: text.into(), selector: None });
        }
        let mut colons = text.rmatch_indices(':').map(|(at, _)| at);
        let at = colons.find(|at| *at > 0 && there(&text[..*at]))?;
        Some(Place { path: text[..at].into(), selector: Some(text[at + 1..].into()) })
    }

    /// The name of a file that is not there, if the text is meant as one: it has the ending of a data file,
    /// is a path through folders, or something is said after its name.
    pub fn missing(text: &str) -> Option<&str> {
        let ends = |t: &str| Format::of_file(Path::new(t)).is_some();
        let mut ends_at = text.match_indices(':').map(|(at, _)| at).chain([text.len()]);
        let named = ends_at.find(|at| ends(&text[..*at])).map(|at| &text[..at]);
        let about = |s: &str| {
            raw::parse(s).is_ok()
                || Format::named(s.split(':').next().unwrap_or_default()).is_some()
                || csv::options::are_meant(s)
        };
        let stated = || {
            let mut colons = text.match_indices(':').map(|(at, _)| (&text[..at], &text[at + 1..]));
            colons.find(|(_, s)| about(s))
        };
        let path = |t: &str| t.contains('/') && !t.contains(['(', '[', '"', '\n']);
        named.or_else(|| stated().map(|(file, _)| file)).or_else(|| path(text).then_some(text))
    }
}

/// Reads the value for the parameter `name`, which wants `wanted`, into memory of the budget.
pub fn read(
    place: &Place,
    name: &str,
    wanted: &ArrTy,
    meter: &Meter,
    budget: &Budget,
) -> Result<Value, DataError> {
    let is_raw = place.selector.as_deref().is_some_and(|s| raw::parse(s).is_ok());
    let mut source =
        Source::open(&place.path, !is_raw, meter, budget).map_err(|e| DataError::Unreadable(reason(&e)))?;
    read_source(&mut source, place, name, wanted)
}

/// … from a file that is open.
pub fn read_source(
    source: &mut Source<'_>,
    place: &Place,
    name: &str,
    wanted: &ArrTy,
) -> Result<Value, DataError> {
    let unreadable = |e: io::Error| DataError::Unreadable(reason(&e));
    let start = Format::of_start(&source.start(npy::MAGIC.len() as u64).map_err(unreadable)?);
    let selector = place.selector.as_deref();
    // Raw bytes may begin as they like.
    if let Some(raw) = selector.and_then(|s| raw::parse(s).ok()) {
        return raw::read(source, &raw, wanted);
    }
    let none = |format: &str| match selector {
        None => Ok(()),
        Some(s) => Err(DataError::Selector(format!("{format} holds one value, and `:{s}` names none of it"))),
    };
    let format = match (start, selector) {
        (Some(Format::Npz), _) => return npz::read(source, selector, name, wanted),
        (Some(Format::Futhark), _) => return futhark::read(source, selector, wanted),
        (Some(Format::Arrow | Format::ArrowStream), _) => {
            return arrow::read(source, column(selector), name, wanted);
        }
        (Some(Format::Npy), Some("npy")) => Format::Npy,
        (Some(Format::Npy), _) => {
            none("an .npy file")?;
            Format::Npy
        }
        (_, Some(s)) => match said(s, &place.path)? {
            (format, None) => format,
            (format, Some(options)) => {
                return csv::read(source, if format == Format::Tsv { b'\t' } else { b',' }, &options, wanted);
            }
        },
        (_, None) => Format::of_file(&place.path).ok_or(DataError::UnknownFormat)?,
    };
    match format {
        Format::Npy => {
            let (len, mut room) = (source.len(), source.budget().room());
            let value = npy::read_from(source, len, len.is_some(), &mut room).map_err(|e| of_npy(e, None))?;
            room.keep();
            fit_numpy(value, name, wanted)
        }
        Format::Csv => csv::read(source, b',', &csv::options::Options::default(), wanted),
        Format::Tsv => csv::read(source, b'\t', &csv::options::Options::default(), wanted),
        Format::Remora => {
            if let Some(value) = numbers_of(source, wanted)? {
                return Ok(value);
            }
            let (text, _room) = utf8(source)?;
            literal::read(&text, wanted).map_err(|e| match e {
                LiteralError::Mismatch(found) => DataError::Mismatch { found, help: None },
                e => DataError::Literal(text, e),
            })
        }
        Format::Text if csv::holds_text(&wanted.atom) => {
            let (text, mut room) = utf8(source)?;
            let mut boxes = Vec::new();
            for line in text.lines() {
                let chars: Vec<char> = line.chars().collect();
                let bytes = 4 * chars.len() + size_of::<BoxValue>() + 48;
                room.take(bytes as u64).and_then(|()| room.grow(&mut boxes, 1)).map_err(DataError::TooMuch)?;
                let n = chars.len();
                let value = Value { atom: AtomTy::CHAR, shape: vec![n], data: Data::Char(chars) };
                boxes.push(Arc::new(BoxValue { indices: vec![IndexValue::Dim(n as i64)], value }));
            }
            room.keep();
            let value = Value { atom: wanted.atom.clone(), shape: vec![boxes.len()], data: Data::Box(boxes) };
            fit(value, "lines", wanted, || "`:text` reads a file's lines as a vector of texts".into())
        }
        Format::Text => {
            let chars = characters(source)?;
            let shape = vec![chars.len()];
            fit(Value { atom: AtomTy::CHAR, shape, data: Data::Char(chars) }, "char", wanted, || {
                "`:text` reads a file's characters as a vector, `:csv` numbers in columns".into()
            })
        }
        Format::Npz => Err(DataError::Unreadable("it is not an .npz file (its first bytes are not those of a zip archive)".into())),
        Format::Futhark => Err(DataError::Unreadable(
            "it is not in Futhark's binary format (its first bytes are not `b` and 2; `futhark dataset -b` writes it)".into(),
        )),
        Format::Raw => Err(DataError::Raw("nothing says what its bytes are".into())),
        Format::Arrow | Format::ArrowStream => arrow::read(source, None, name, wanted),
        Format::Json => {
            let (json, _room) = utf8(source)?;
            of_json(&json, wanted)
        }
    }
}

/// What is said after the name of a file of Arrow's: a column, unless it is the format.
fn column(selector: Option<&str>) -> Option<&str> {
    selector.filter(|s| !matches!(Format::named(s), Some(Format::Arrow | Format::ArrowStream)))
}

/// The value that a text in JSON is.
///
/// # Errors
/// It is no JSON, or none of that type.
pub fn of_json(json: &str, wanted: &ArrTy) -> Result<Value, DataError> {
    let text = json::read::literal(json, wanted)?;
    literal::read(&text, wanted).map_err(|e| match e {
        LiteralError::Mismatch(found) => DataError::Mismatch { found, help: None },
        e => DataError::Literal(text, e),
    })
}

/// What was said after a file's name is no format.
fn selector_of_nothing(selector: &str, path: &Path) -> DataError {
    let wrong = raw::parse(selector).err().filter(|_| selector.contains('['));
    match wrong {
        Some(why) => DataError::Raw(why),
        None if BaseTy::from_name(selector).is_some() => {
            DataError::Raw(format!("`{selector}` has no shape: write `{selector}[]` for a single number"))
        }
        None if Format::of_file(path) == Some(Format::Npz) => DataError::Unreadable(
            "it is not an .npz file (its first bytes are not those of a zip archive)".into(),
        ),
        None if matches!(Format::of_file(path), Some(Format::Arrow | Format::ArrowStream)) => {
            arrow::frames::not_arrow()
        }
        None => DataError::Selector(format!("`:{selector}` is neither a format nor a type with a shape")),
    }
}

/// The format that is said after a file's name, and what else is of a table: `csv:sep=;`, or `sep=;` alone, of what is
/// a table by its name or by that.
fn said(selector: &str, path: &Path) -> Result<(Format, Option<csv::options::Options>), DataError> {
    if let Some(format) = Format::named(selector) {
        return Ok((format, None));
    }
    let (format, options) = match selector.split_once(':') {
        Some((name, options)) if Format::named(name).is_some() => (Format::named(name), options),
        _ if csv::options::are_meant(selector) => (Format::of_file(path), selector),
        _ => return Err(selector_of_nothing(selector, path)),
    };
    match format.unwrap_or(Format::Csv) {
        format @ (Format::Csv | Format::Tsv) => {
            let options = csv::options::parse(options);
            options.map(|o| (format, Some(o))).map_err(DataError::Selector)
        }
        _ => Err(DataError::Selector(format!("`:{options}` is of tables, csv and tsv"))),
    }
}

/// The value of a literal of numbers alone, read as its bytes come; `None` of other literals, and of pipes, of which
/// nothing can be read a second time.
fn numbers_of(source: &mut Source<'_>, wanted: &ArrTy) -> Result<Option<Value>, DataError> {
    if source.len().is_none() {
        return Ok(None);
    }
    let mut room = source.budget().room();
    let mut failed = None;
    let read = {
        let mut bytes = BufReader::with_capacity(1 << 16, &mut *source).bytes();
        let next = || match bytes.next()? {
            Ok(byte) => Some(byte),
            Err(e) => {
                failed = Some(e);
                None
            }
        };
        numbers::read(next, &wanted.atom, &mut room)
    };
    if let Some(e) = failed {
        return Err(DataError::Unreadable(reason(&e)));
    }
    match read {
        Some(Ok(value)) => {
            fits(&value.shape, &wanted.shape).map_err(|found| DataError::Mismatch { found, help: None })?;
            room.keep();
            Ok(Some(value))
        }
        Some(Err(e)) => Err(DataError::TooMuch(e)),
        None => {
            source.rewind().map_err(|e| DataError::Unreadable(reason(&e)))?;
            Ok(None)
        }
    }
}

/// All of a file as text, without a mark of its byte order, and the room that it takes.
fn utf8<'m>(source: &mut Source<'m>) -> Result<(String, Room<'m>), DataError> {
    const MOST: usize = u32::MAX as usize;
    let mut room = source.budget().room();
    let mut bytes = Vec::new();
    let mut part = vec![0; 1 << 16];
    loop {
        match source.read(&mut part) {
            Ok(0) => break,
            Ok(n) if bytes.len() + n > MOST => {
                return Err(DataError::Unreadable("it has more than the 4 GiB that a text may have".into()));
            }
            Ok(n) => {
                room.grow(&mut bytes, n).map_err(DataError::TooMuch)?;
                bytes.extend_from_slice(&part[..n]);
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(DataError::Unreadable(reason(&e))),
        }
    }
    if bytes.starts_with(BYTE_ORDER) {
        bytes.drain(..BYTE_ORDER.len());
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let before = &e.as_bytes()[..e.utf8_error().valid_up_to()];
        not_utf8(before.iter().filter(|b| **b == b'\n').count())
    })?;
    Ok((text, room))
}

/// How a text may begin in UTF-8, to say that it is.
const BYTE_ORDER: &[u8] = "\u{feff}".as_bytes();

fn not_utf8(lines_before: usize) -> DataError {
    DataError::Unreadable(format!("it is not UTF-8 (line {})", lines_before + 1))
}

/// All characters of a file, without a mark of its byte order.
fn characters(source: &mut Source<'_>) -> Result<Vec<char>, DataError> {
    let mut room = source.budget().room();
    let mut chars = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    // Of a character whose last bytes are still to come.
    let mut held = 0;
    let lines = |chars: &[char]| chars.iter().filter(|c| **c == '\n').count();
    loop {
        let n = match source.read(&mut buffer[held..]) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(DataError::Unreadable(reason(&e))),
        };
        let end = held + n;
        let (text, rest) = match std::str::from_utf8(&buffer[..end]) {
            Ok(text) => (text, end),
            Err(e) => {
                let valid = e.valid_up_to();
                let text = std::str::from_utf8(&buffer[..valid]).unwrap_or_default();
                if e.error_len().is_some() || n == 0 {
                    return Err(not_utf8(lines(&chars) + text.matches('\n').count()));
                }
                (text, valid)
            }
        };
        let text = if chars.is_empty() { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        room.grow(&mut chars, text.chars().count()).map_err(DataError::TooMuch)?;
        chars.extend(text.chars());
        if n == 0 {
            room.keep();
            return Ok(chars);
        }
        buffer.copy_within(rest..end, 0);
        held = end - rest;
    }
}

/// A value of its own type, if it is what is wanted. `dtype` is what its file calls its type.
fn fit(value: Value, dtype: &str, wanted: &ArrTy, help: impl FnOnce() -> String) -> Result<Value, DataError> {
    if value.atom != wanted.atom {
        let found = match value.shape.as_slice() {
            [] => format!("a scalar of type {dtype}"),
            shape => format!("{dtype} of shape {}", show_shape(shape)),
        };
        return Err(DataError::Mismatch { found, help: Some(help()) });
    }
    match fits(&value.shape, &wanted.shape) {
        Ok(()) => Ok(value),
        Err(found) => Err(DataError::Mismatch { found: format!("{dtype}: {found}"), help: None }),
    }
}

/// What is wrong with an `.npy` file, or with a member of an archive.
fn of_npy(e: NpyError, member: Option<&str>) -> DataError {
    match (e, member) {
        (NpyError::TooMuch(e), _) => DataError::TooMuch(e),
        (NpyError::Dtype(dtype), _) => DataError::Mismatch {
            found: format!("an array of dtype {dtype}, which no type of Remora is"),
            help: Some(
                "bool, int8 to int64, uint8 to uint64, float16, float32 and float64 have types here".into(),
            ),
        },
        (e, None) => DataError::Unreadable(e.to_string()),
        (NpyError::NotNpy, Some(m)) => {
            DataError::Unreadable(format!("its array `{m}` is not in the .npy format"))
        }
        (e, Some(m)) => DataError::Unreadable(format!("its array `{m}`: {e}")),
    }
}

/// … of NumPy, which has names of its own and can convert it.
fn fit_numpy(value: Value, name: &str, wanted: &ArrTy) -> Result<Value, DataError> {
    let dtype = match value.atom {
        AtomTy::Base(BaseTy::Bool) => "bool".to_owned(),
        AtomTy::Base(b) => npy::numpy_name(b).unwrap_or(b.name()).to_owned(),
        _ => value.atom.to_string(),
    };
    fit(value, &dtype, wanted, || match &wanted.atom {
        AtomTy::Base(b) => match npy::numpy_name(*b) {
            Some(to) => format!("convert it in NumPy: `{name}.astype(np.{to})`"),
            None => "NumPy's files hold no characters: give a string literal".into(),
        },
        _ => "NumPy's files hold numbers and booleans alone: give a literal".into(),
    })
}

/// Whether a shape is the wanted one where that is known.
fn fits_known(shape: &[usize], wanted: &Shape, found: impl Fn() -> String) -> Result<(), DataError> {
    fits(shape, wanted)
        .map_err(|why| DataError::Mismatch { found: format!("{}: {why}", found()), help: None })
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
