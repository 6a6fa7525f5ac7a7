//! Tables as text: fields separated by commas (`.csv`), tabs (`.tsv`), or what is said after the file's name.
//!
//! | file | holds |
//! | --- | --- |
//! | [`options`] | what is said of a table after its name |
//! | [`fields`] | bytes to fields, one after the other |
//! | [`field`] | a field as a number, and what to say where it is none |
//! | [`wanted`] | what an entry wants of a table |
//! | [`collect`] | fields to values |
//! | (here) | the first line, columns, the shape; the writing |
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
pub mod options;
mod wanted;

use super::{DataError, Help, fits_known};
use crate::budget::Room;
use crate::text;
use collect::Sink;
use field::{Around, doubt, shown};
use fields::{At, Fields};
use options::{Options, Separator};
use remc_base::{ArrTy, Atom, AtomTy, BaseTy, Scalar, Value};
use std::io::{self, Write};
use wanted::{Kind, Wanted};

/// A line is followed no further than so many fields past the number that it should have.
const FOLLOWED: usize = 1000;

/// Reads a table.
pub fn read(
    source: &mut super::source::Source<'_>,
    separator: u8,
    options: &Options,
    wanted: &ArrTy,
) -> Result<Value, DataError> {
    Ok(read_headed(source, separator, options, wanted)?.0)
}

/// The same, and whether its first line names the columns.
pub fn read_headed(
    source: &mut super::source::Source<'_>,
    separator: u8,
    options: &Options,
    wanted: &ArrTy,
) -> Result<(Value, bool), DataError> {
    let Some(plan) = wanted::of(wanted) else {
        return Err(DataError::Mismatch {
            found: "a table, which holds numbers, booleans and texts".into(),
            help: Some(
                "a table can be an array of them, of records of them, or a record of its columns; all else is read as \
                 a Remora literal, from a file .rd"
                    .into(),
            ),
        });
    };
    let separator = options.separator.unwrap_or(Separator::Byte(separator));
    let mut room = source.budget().room();
    let mut sink_room = source.budget().room();
    let mut fields = Fields::new(source, separator, options)?;
    let mut next = fields.next()?;
    let mut held = None;
    if let Some(at) = next
        && is_header(&plan, &fields, at, options, separator)?
    {
        held = Some(names(&mut fields, at, &mut room)?);
        next = fields.next()?;
    }
    // A line that was held to decide is a header, or the first line of data.
    let header = match &held {
        None => false,
        Some(_) if options.header.is_some() => true,
        Some(first) => sure(&plan, first, next.is_some(), options, separator)?,
    };
    let (names, first) = if header { (held, None) } else { (None, held) };
    let listed = names.as_ref().map(|n| n.all.as_slice());
    let chosen = chosen(&plan, options, listed)?;
    let mut table = Table {
        fields,
        options,
        separator,
        columns: names.as_ref().map(|n| n.all.len()),
        headed: names.is_some(),
        lines: 0,
    };
    let mut sink = Sink::new(&plan, chosen, options, &mut sink_room);
    if let Some(first) = first {
        table.held(&first, &mut sink)?;
    }
    table.read(next, &mut sink)?;
    let (lines, columns) = (table.lines, sink.columns(table.columns.unwrap_or(0)));
    let found = || {
        let s = |n: usize| if n == 1 { "" } else { "s" };
        format!("a table of {lines} line{} and {columns} column{}", s(lines), s(columns))
    };
    let mismatch = || DataError::Mismatch { found: found(), help: None };
    let frame = match &plan {
        Wanted::Array(_, None | Some(2)) => vec![lines, columns],
        Wanted::Array(_, Some(1)) if columns == 1 || lines == 0 => vec![lines],
        Wanted::Array(_, Some(1)) if lines == 1 => vec![columns],
        Wanted::Array(_, Some(0)) if lines == 1 && columns == 1 => vec![],
        Wanted::Lines(_, true) => vec![lines],
        Wanted::Lines(_, false) if lines == 1 => vec![],
        Wanted::Columns(_) => vec![],
        _ => return Err(mismatch()),
    };
    let value = sink.finish(&plan, frame, lines);
    drop(table);
    fits_known(&value.shape, &wanted.shape, found)?;
    if let (Wanted::Columns(parts), remc_base::value::Data::Tuple(all)) = (&plan, &value.data) {
        for ((_, ty, _), part) in parts.parts.iter().zip(all.iter().flat_map(|t| t.iter())) {
            fits_known(&part.shape, &ty.shape, found)?;
        }
    }
    sink_room.keep();
    Ok((value, header))
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
fn find(name: &str, columns: &[String]) -> Option<usize> {
    let like = |text: &str| text.trim().to_lowercase().replace([' ', '_'], "-");
    columns.iter().position(|c| c == name).or_else(|| {
        let mut found = columns.iter().enumerate().filter(|(_, c)| like(c) == like(name));
        found.next().filter(|_| found.next().is_none()).map(|(k, _)| k)
    })
}

fn listed(names: &[String]) -> String {
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

/// The lines of a table that hold data.
struct Table<'s, 'm, 'o> {
    fields: Fields<'s, 'm>,
    options: &'o Options,
    separator: Separator,
    /// How many fields each line has, once that is known.
    columns: Option<usize>,
    headed: bool,
    lines: usize,
}

impl Table<'_, '_, '_> {
    /// The first line, where it was held.
    fn held(&mut self, first: &Names, sink: &mut Sink<'_, '_>) -> Result<(), DataError> {
        sink.fits(first.all.len())?;
        self.columns = Some(first.all.len());
        for (k, text) in first.all.iter().enumerate() {
            let at = At { column: k + 1, last: k + 1 == first.all.len(), ..first.at };
            sink.field(k, text.as_bytes()).map_err(|r| r.into_error(at, text.as_bytes(), self.around(at)))?;
        }
        self.end(first.at, sink)
    }

    /// A line ends, of which a field was there.
    fn end(&mut self, at: At, sink: &mut Sink<'_, '_>) -> Result<(), DataError> {
        if let Err((k, text, refused)) = sink.line() {
            let at = At { column: k + 1, ..at };
            return Err(refused.into_error(at, &text, self.around(at)));
        }
        self.lines += 1;
        Ok(())
    }

    /// All lines from a field on, the first of its line.
    fn read(&mut self, mut next: Option<At>, sink: &mut Sink<'_, '_>) -> Result<(), DataError> {
        while let Some(at) = next {
            if self.columns.is_some_and(|n| at.column > n) {
                self.even(at)?;
            }
            if let Err(refused) = sink.field(at.column - 1, self.fields.text()) {
                let text = self.fields.text().to_vec();
                let error = refused.into_error(at, &text, self.around(at));
                // A line of another number of fields is wrong as a whole.
                if matches!(error, DataError::Table { .. }) {
                    self.even(at)?;
                }
                return Err(error);
            }
            if at.last {
                match self.columns {
                    Some(n) if at.column < n => self.even(at)?,
                    Some(_) => {}
                    None => {
                        sink.fits(at.column)?;
                        self.columns = Some(at.column);
                    }
                }
                self.end(at, sink)?;
            }
            next = self.fields.next()?;
        }
        Ok(())
    }

    fn around(&self, at: At) -> Around<'_> {
        Around {
            options: self.options,
            separator: self.separator,
            alone: at.last && at.column == 1,
            first: self.lines == 0,
            headed: self.headed,
        }
    }

    /// That a line, of which a field has been read, has as many fields as the first.
    fn even(&mut self, mut at: At) -> Result<(), DataError> {
        let Some(expected) = self.columns else { return Ok(()) };
        let line = at.line;
        while !at.last && at.column < expected.saturating_add(FOLLOWED) {
            match self.fields.next()? {
                Some(next) => at = next,
                None => break,
            }
        }
        if at.column == expected {
            return Ok(());
        }
        let n = at.column;
        let more = if at.last { "" } else { "more than " };
        let mut help = Vec::new();
        if expected == 1 && self.lines <= 1 && self.options.skip == 0 {
            help.push(Help::option("skip=1", "where the first line is a title"));
        }
        Err(DataError::Table {
            what: format!(
                "line {line}: {more}{n} field{}, where the first line has {expected}",
                if n == 1 { "" } else { "s" }
            ),
            help,
        })
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
