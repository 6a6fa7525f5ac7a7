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
//! | (here) | characters in UTF-8, any name | where `:text` says so | no |
//! | [`json`] | JSON | no | yes |
//!
//! [`elements`] is what the binary formats have in common, [`source`] an open file, [`output`] the writing.
//!
//! **Which format** a file has is said after its name (`data.dat:csv`), else by its first bytes (NumPy's,
//! ZIP's and Futhark's begin with a mark of theirs), else by its name's ending. **Which value** of a file of
//! several is said after its name, too (`data.npz:xs`).
//!
//! **Types.** A text has no types, so its numbers are read as what is wanted and must fit it. A binary file
//! has types, and they must be the wanted ones: a conversion that nobody asked for could lose digits.
//!
//! A value is returned whole or not at all, and memory is taken for what a file holds, not for what it claims.

pub mod csv;
pub mod elements;
pub mod futhark;
pub mod json;
pub mod npz;
pub mod output;
pub mod raw;
pub mod source;
pub mod zip;

use crate::literal::{self, LiteralError, fits, show_shape};
use crate::npy::{self, NpyError};
use elements::reason;
use remc_base::value::Data;
use remc_base::{ArrTy, AtomTy, BaseTy, Shape, Value};
use source::{Meter, Source};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

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
            "in" | "data" => Format::Futhark,
            "bin" if stem.ends_with(".fut") => Format::Futhark,
            "raw" | "bin" => Format::Raw,
            _ => return None,
        })
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
            _ => return None,
        })
    }

    /// The format whose files begin so.
    fn of_start(start: &[u8]) -> Option<Format> {
        if start.starts_with(npy::MAGIC) {
            Some(Format::Npy)
        } else if zip::MAGICS.iter().any(|m| start.starts_with(m)) {
            Some(Format::Npz)
        } else if start.starts_with(futhark::MAGIC) {
            Some(Format::Futhark)
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
    /// A table's field or line is wrong: the place, and what is wrong.
    Table(String),
    /// It holds several values, or none, or not the one that was asked for.
    Choose { kind: &'static str, there: Vec<String>, asked: Option<String> },
    /// Remora text that is no literal; the text, and why.
    Literal(String, LiteralError),
    /// What it holds is not what is wanted.
    Mismatch { found: String, help: Option<String> },
}

/// A file, and what was said about it after its name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub path: PathBuf,
    pub selector: Option<String>,
}

impl Place {
    /// The file that an input's text names, if there is one: `data.npz:xs` is what the file `data.npz` has to
    /// say about `xs`, unless there is a file of that whole name.
    pub fn of(text: &str) -> Option<Place> {
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
        let ends = |t: &str| Format::of_name(Path::new(t)).is_some();
        let mut ends_at = text.match_indices(':').map(|(at, _)| at).chain([text.len()]);
        let named = ends_at.find(|at| ends(&text[..*at])).map(|at| &text[..at]);
        let stated =
            || text.rsplit_once(':').filter(|(_, s)| raw::parse(s).is_ok() || Format::named(s).is_some());
        let path = |t: &str| t.contains('/') && !t.contains(['(', '[', '"', '\n']);
        named.or_else(|| stated().map(|(file, _)| file)).or_else(|| path(text).then_some(text))
    }
}

/// Reads the value for the parameter `name`, which wants `wanted`.
pub fn read(place: &Place, name: &str, wanted: &ArrTy, meter: &Meter) -> Result<Value, DataError> {
    let mut source = Source::open(&place.path, meter).map_err(|e| DataError::Unreadable(reason(&e)))?;
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
        (Some(Format::Npy), Some("npy")) => Format::Npy,
        (Some(Format::Npy), _) => {
            none("an .npy file")?;
            Format::Npy
        }
        (_, Some(s)) => match Format::named(s) {
            Some(format) => format,
            None => return Err(selector_of_nothing(s, &place.path)),
        },
        (_, None) => Format::of_name(&place.path).ok_or(DataError::UnknownFormat)?,
    };
    match format {
        Format::Npy => {
            let len = source.len();
            let value = npy::read_from(source, len, true).map_err(|e| of_npy(e, None))?;
            fit_numpy(value, name, wanted)
        }
        Format::Csv => csv::read(source, b',', wanted),
        Format::Tsv => csv::read(source, b'\t', wanted),
        Format::Remora => {
            let text = utf8(source)?;
            literal::read(&text, wanted).map_err(|e| match e {
                LiteralError::Mismatch(found) => DataError::Mismatch { found, help: None },
                e => DataError::Literal(text, e),
            })
        }
        Format::Text => {
            let chars: Vec<char> = utf8(source)?.chars().collect();
            let shape = vec![chars.len()];
            fit(Value { atom: AtomTy::CHAR, shape, data: Data::Char(chars) }, "char", wanted, || {
                "`:text` reads a file's characters as a vector".into()
            })
        }
        Format::Npz => Err(DataError::Unreadable("it is not an .npz file (its first bytes are not those of a zip archive)".into())),
        Format::Futhark => Err(DataError::Unreadable(
            "it is not in Futhark's binary format (its first bytes are not `b` and 2; `futhark dataset -b` writes it)".into(),
        )),
        Format::Raw => Err(DataError::Raw("nothing says what its bytes are".into())),
        Format::Json => Err(DataError::Unreadable("JSON is written, not read".into())),
    }
}

/// What was said after a file's name is no format.
fn selector_of_nothing(selector: &str, path: &Path) -> DataError {
    let wrong = raw::parse(selector).err().filter(|_| selector.contains('['));
    match wrong {
        Some(why) => DataError::Raw(why),
        None if BaseTy::from_name(selector).is_some() => {
            DataError::Raw(format!("`{selector}` has no shape: write `{selector}[]` for a single number"))
        }
        None if Format::of_name(path) == Some(Format::Npz) => DataError::Unreadable(
            "it is not an .npz file (its first bytes are not those of a zip archive)".into(),
        ),
        None => DataError::Selector(format!("`:{selector}` is neither a format nor a type with a shape")),
    }
}

/// All of a file as text, without a mark of its byte order.
fn utf8(source: &mut Source<'_>) -> Result<String, DataError> {
    const MOST: u64 = u32::MAX as u64;
    if source.len() > MOST {
        return Err(DataError::Unreadable(format!(
            "its {} bytes are more than a text may have",
            source.len()
        )));
    }
    let mut bytes = Vec::new();
    source.take(MOST).read_to_end(&mut bytes).map_err(|e| DataError::Unreadable(reason(&e)))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let line = e.as_bytes()[..e.utf8_error().valid_up_to()].iter().filter(|b| **b == b'\n').count() + 1;
        DataError::Unreadable(format!("it is not UTF-8 (line {line})"))
    })?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
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
