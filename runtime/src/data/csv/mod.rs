//! Tables as text: fields separated by commas (`.csv`), tabs (`.tsv`), or what is said after the file's name.
//!
//! | file | holds |
//! | --- | --- |
//! | [`options`] | what is said of a table after its name |
//! | [`fields`] | bytes to fields, one after the other |
//! | [`field`] | a field as a number, and what to say where it is none |
//! | [`wanted`] | what an entry wants of a table |
//! | [`collect`] | fields to values |
//! | [`lines`] | the lines of a table, all at once or some at a time |
//! | (here) | the first line and its columns; the writing |
//!
//! A field is read as the type that the entry wants, as a literal is: `7` is an `f32` where one is wanted, and
//! `1.5` is no `int`. Booleans are `true` and `false` in any case, `#t` and `#f`, 1 and 0. All lines have equally many
//! fields.
//!
//! **The first line** is a header where that is said. Where nothing is said it is data if its first field is, and a
//! header if each field can name a column ([`field::names`]) and no column of it is a value. All else is an error that
//! asks: no line is left out because it could not be read.

mod collect;
mod field;
mod fields;
pub mod lines;
pub mod options;
mod wanted;

use super::{DataError, Help, plain};
use crate::budget::Room;
use field::{Around, doubt, shown};
use fields::{At, Fields};
use lines::Lines;
use options::{Options, Separator};
use remc_base::{ArrTy, AtomTy, BaseTy, Value};
use std::io::{self, Write};
use wanted::{Kind, Wanted};

/// Whether an atom is a text of any length: a box of characters.
pub fn holds_text(atom: &AtomTy) -> bool {
    matches!(wanted::kind(&ArrTy::scalar(atom.clone())), Some(Kind::Boxed(_)))
}

/// Reads a table.
pub fn read(
    source: &mut super::source::Source<'_>,
    separator: u8,
    options: &Options,
    wanted: &ArrTy,
) -> Result<Value, DataError> {
    let budget = source.budget();
    let mut room = budget.room();
    let mut lines = Lines::open(source, budget, separator, options, wanted)?;
    let value = lines.read(source, budget, &mut room, &mut |_| false)?;
    room.keep();
    Ok(value)
}

/// A first line that names the columns.
struct Names {
    at: At,
    all: Vec<String>,
}

/// Whether the first line, of which one field has been read, is a header as far as that field tells.
fn is_header(
    plan: &Wanted,
    fields: &Fields<'_, '_>,
    at: At,
    options: &Options,
    separator: Separator,
) -> Result<bool, DataError> {
    if let Some(said) = options.header {
        return Ok(said);
    }
    let text = fields.text();
    match plan {
        Wanted::Array(Kind::Scalar(ty), _) => match field::scalar(text, *ty, options) {
            Ok(_) => Ok(false),
            Err(_) if field::names(text) => Ok(true),
            Err(what) => {
                let around = Around { options, separator, alone: at.last, first: true, headed: false };
                Err(wrong(at, what, field::help(text, *ty, around)))
            }
        },
        // A text may be a name, and a name a text.
        Wanted::Array(..) => match field::names(text) {
            true => Err(wrong(at, format!("`{}` is a text, or the name of a column", shown(text)), doubt())),
            false => Ok(false),
        },
        // Those have names, or another column decides.
        Wanted::Lines(parts, _) | Wanted::Columns(parts) => Ok(match parts.parts.first() {
            Some((None, _, Kind::Scalar(ty))) => field::scalar(text, *ty, options).is_err(),
            _ => true,
        }),
    }
}

/// All fields of a line, of which one has been read.
fn names(fields: &mut Fields<'_, '_>, mut at: At, room: &mut Room<'_>) -> Result<Names, DataError> {
    let start = at;
    let mut all = Vec::new();
    loop {
        let name = String::from_utf8_lossy(fields.text()).into_owned();
        room.take(name.len() as u64).map_err(DataError::TooMuch)?;
        room.grow(&mut all, 1).map_err(DataError::TooMuch)?;
        all.push(name);
        if at.last {
            return Ok(Names { at: start, all });
        }
        match fields.next()? {
            Some(next) => at = next,
            None => return Ok(Names { at: start, all }),
        }
    }
}

/// Whether a first line of which nobody has said it is a header, or data where a column of it is; an error asks.
fn sure(
    plan: &Wanted,
    names: &Names,
    more: bool,
    options: &Options,
    separator: Separator,
) -> Result<bool, DataError> {
    let line =
        |what: String, help| Err(DataError::Table { what: format!("line {}: {what}", names.at.line), help });
    if let Wanted::Lines(parts, _) | Wanted::Columns(parts) = plan
        && let Some(labels) = parts.labels()
    {
        let missing: Vec<&str> = labels.into_iter().filter(|l| find(l, &names.all).is_none()).collect();
        return match missing.first() {
            None => Ok(true),
            Some(first) if names.all.len() == 1 => {
                let what = format!(
                    "no column is called `{first}`; the first line is `{}`",
                    shown(names.all[0].as_bytes())
                );
                let ty = BaseTy::F64;
                line(what, field::separated(&names.all[0], ty, separator).into_iter().collect())
            }
            Some(first) => line(
                format!("no column is called `{first}`; the columns are {}", listed(&names.all)),
                vec![Help::option(
                    "noheader",
                    "where the first line is data, and the columns have the order of the fields",
                )],
            ),
        };
    }
    if let Wanted::Lines(parts, _) | Wanted::Columns(parts) = plan {
        let value = |((_, _, kind), text): (&(_, _, Kind), &String)| match kind {
            Kind::Scalar(ty) => field::scalar(text.as_bytes(), *ty, options).is_ok(),
            _ => false,
        };
        if options.columns.is_empty() && parts.parts.iter().zip(&names.all).any(value) {
            return Ok(false);
        }
    }
    let numbers: Vec<BaseTy> = match plan {
        Wanted::Array(Kind::Scalar(ty), _) => vec![*ty],
        Wanted::Lines(parts, _) | Wanted::Columns(parts) => parts
            .parts
            .iter()
            .filter_map(|(_, _, kind)| if let Kind::Scalar(ty) = kind { Some(*ty) } else { None })
            .collect(),
        Wanted::Array(..) => vec![],
    };
    let wrong_name = names.all.iter().position(|n| !field::names(n.as_bytes()));
    let what = match (wrong_name, numbers.first()) {
        (None, Some(_)) if more || names.all.len() > 1 => return Ok(true),
        // The only line, one word: more may be wrong than that there is no data.
        (None, Some(ty)) => {
            format!("`{}` is not of type {ty}, and nothing follows", shown(names.all[0].as_bytes()))
        }
        (None, None) => format!("`{}` is a text, or the name of a column", shown(names.all[0].as_bytes())),
        (Some(_), _) => {
            let of = |n: &String| {
                numbers.first().is_some_and(|ty| field::scalar(n.as_bytes(), *ty, options).is_err())
            };
            let first = names.all.iter().position(of).unwrap_or(0);
            let name = &names.all[first];
            let ty = numbers.first().copied().unwrap_or(BaseTy::F64);
            return Err(DataError::Table {
                what: format!(
                    "line {}, column {}: `{}` is not of type {ty}, and the line is no header: `{}` names no column",
                    names.at.line,
                    first + 1,
                    shown(name.as_bytes()),
                    shown(names.all[wrong_name.unwrap_or(0)].as_bytes())
                ),
                help: doubt(),
            });
        }
    };
    let mut help: Vec<Help> = names
        .all
        .first()
        .filter(|_| names.all.len() == 1)
        .and_then(|n| field::separated(n, numbers.first().copied().unwrap_or(BaseTy::F64), separator))
        .into_iter()
        .collect();
    if help.is_empty() {
        help = doubt();
    }
    line(what, help)
}

/// The column of a name: the only one that is called so, or that differs in case alone, and in blanks where the name
/// has hyphens.
pub(super) fn find(name: &str, columns: &[String]) -> Option<usize> {
    let like = |text: &str| text.trim().to_lowercase().replace([' ', '_'], "-");
    columns.iter().position(|c| c == name).or_else(|| {
        let mut found = columns.iter().enumerate().filter(|(_, c)| like(c) == like(name));
        found.next().filter(|_| found.next().is_none()).map(|(k, _)| k)
    })
}

pub(super) fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(10).map(|n| format!("`{}`", shown(n.as_bytes()))).collect();
    let more = if names.len() > 10 { format!(" and {} more", names.len() - 10) } else { String::new() };
    format!("{}{more}", shown.join(", "))
}

/// Which columns are taken, in which order; `None`, all of them.
fn chosen(
    plan: &Wanted,
    options: &Options,
    names: Option<&[String]>,
) -> Result<Option<Vec<usize>>, DataError> {
    let mut columns = None;
    if !options.columns.is_empty() {
        let mut all = Vec::new();
        for said in &options.columns {
            all.extend(column(said, names)?);
        }
        columns = Some(all);
    }
    let (Wanted::Lines(parts, _) | Wanted::Columns(parts)) = plan else { return Ok(columns) };
    match (parts.labels(), names) {
        (Some(labels), Some(names)) => {
            // Only among those that are named, if some are.
            let among: Vec<usize> = columns.unwrap_or_else(|| (0..names.len()).collect());
            let of: Vec<String> = among.iter().map(|k| names.get(*k).cloned().unwrap_or_default()).collect();
            let mut all = Vec::new();
            for label in labels {
                match find(label, &of) {
                    Some(k) => all.push(among[k]),
                    None => {
                        return Err(DataError::table(format!(
                            "no column is called `{label}`; the columns are {}",
                            listed(&of)
                        )));
                    }
                }
            }
            Ok(Some(all))
        }
        _ => match columns {
            Some(all) if all.len() != parts.parts.len() => Err(DataError::table(format!(
                "{} columns are named, and {} are wanted",
                all.len(),
                parts.parts.len()
            ))),
            Some(all) => Ok(Some(all)),
            None => match names.map(<[String]>::len).filter(|n| *n != parts.parts.len()) {
                Some(n) => Err(collect::too_many(n, parts.parts.len())),
                None => Ok(None),
            },
        },
    }
}

/// The columns that a word of `:columns=` stands for: one by its name, or by its number, or several by theirs.
fn column(said: &str, names: Option<&[String]>) -> Result<std::ops::RangeInclusive<usize>, DataError> {
    if let Some(k) = names.and_then(|names| find(said, names)) {
        return Ok(k..=k);
    }
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|n| *n > 0);
    let (from, to) = said.split_once('-').unwrap_or((said, said));
    let last = names.map_or(1 << 20, <[String]>::len);
    match (number(from), number(to), names) {
        (Some(from), Some(to), _) if from <= to && to <= last => Ok(from - 1..=to - 1),
        (Some(_), Some(_), Some(names)) => {
            Err(DataError::table(format!("there is no column {said}: there are {}", names.len())))
        }
        (_, _, Some(names)) => {
            Err(DataError::table(format!("no column is called `{said}`; the columns are {}", listed(names))))
        }
        (_, _, None) => Err(DataError::Table {
            what: format!("no column is called `{said}`, as no line names the columns"),
            help: doubt().into_iter().take(1).collect(),
        }),
    }
}

fn wrong(at: At, what: String, help: Vec<Help>) -> DataError {
    DataError::Table { what: format!("line {}, column {}: {what}", at.line, at.column), help }
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
    match value.shape.get(1).copied().unwrap_or(1) {
        0 => Ok(()),
        columns => plain::rows(value, columns, separator.encode_utf8(&mut [0; 4]), precision, out),
    }
}
