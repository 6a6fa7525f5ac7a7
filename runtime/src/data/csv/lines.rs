//! The lines of a table: all at once, or some at a time, as a stream wants them.

use super::super::{DataError, Help, fits_known};
use super::collect::Sink;
use super::field::Around;
use super::fields::{At, Fields, Lexer};
use super::options::{Options, Separator};
use super::wanted::{self, Kind, Wanted};
use super::{Names, chosen, is_header, names, sure};
use crate::budget::{Budget, Room};
use remc_base::value::Data;
use remc_base::{ArrTy, Value};
use std::io;

/// A line is followed no further than so many fields past the number that it should have.
const FOLLOWED: usize = 1000;

/// How far the reading of a part has come, at the end of a line.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Lines of this part.
    pub lines: usize,
    /// Columns that are taken.
    pub columns: usize,
    /// Whether the next byte may have to be waited for.
    pub waiting: bool,
}

/// A table whose first line has been read.
pub struct Lines {
    plan: Wanted,
    wanted: ArrTy,
    options: Options,
    separator: Separator,
    /// The columns that are wanted; all, if none are said.
    chosen: Option<Vec<usize>>,
    /// The first line, where it was read to decide whether it is a header, and is none.
    first: Option<Names>,
    headed: bool,
    /// How many fields each line has, once that is known.
    columns: Option<usize>,
    /// How many lines there were.
    lines: usize,
    /// How long texts are, where all are of one length.
    length: Option<usize>,
    /// Where it goes on, and the field there that has been read already. `None` at the end.
    rest: Option<(Lexer, Next)>,
}

/// The first field of the next line.
enum Next {
    /// It has been read; or there is none.
    Read(Option<At>),
    Unread,
}

impl Lines {
    /// Reads the first line, to see whether it names the columns.
    ///
    /// # Errors
    /// A table that cannot be what is wanted, as far as that line says.
    pub fn open(
        source: &mut dyn io::Read,
        budget: &Budget,
        separator: u8,
        options: &Options,
        wanted: &ArrTy,
    ) -> Result<Lines, DataError> {
        let Some(plan) = wanted::of(wanted) else {
            return Err(DataError::Mismatch {
                found: "a table, which holds numbers, booleans and texts".into(),
                help: Some(
                    "a table can be an array of them, of records of them, or a record of its columns; all else is \
                     read as a Remora literal, from a file .rd"
                        .into(),
                ),
            });
        };
        let separator = options.separator.unwrap_or(Separator::Byte(separator));
        let mut room = budget.room();
        let mut fields = Fields::new(source, budget, separator, options)?;
        let mut next = fields.next()?;
        let mut held = None;
        if let Some(at) = next
            && is_header(&plan, &fields, at, options, separator)?
        {
            held = Some(names(&mut fields, at, &mut room)?);
            next = fields.next()?;
        }
        // A line that was held to decide is a header, or the first line of data.
        let headed = match &held {
            None => false,
            Some(_) if options.header.is_some() => true,
            Some(first) => sure(&plan, first, next.is_some(), options, separator)?,
        };
        let (names, first) = if headed { (held, None) } else { (None, held) };
        let listed = names.as_ref().map(|n| n.all.as_slice());
        Ok(Lines {
            chosen: chosen(&plan, options, listed)?,
            plan,
            wanted: wanted.clone(),
            options: options.clone(),
            separator,
            first,
            headed,
            columns: names.map(|n| n.all.len()),
            lines: 0,
            length: None,
            rest: Some((fields.pause(), Next::Read(next))),
        })
    }

    /// Whether all lines have been read.
    pub fn is_over(&self) -> bool {
        self.rest.is_none()
    }

    /// The number of the line that was read last, counted without those that are left out.
    pub fn count(&self) -> usize {
        self.lines
    }

    /// The next lines as a value, until `enough` says so or there are no more. What it takes is in `room`.
    ///
    /// # Errors
    /// What is wrong with a line; nothing is read behind it.
    pub fn read(
        &mut self,
        source: &mut dyn io::Read,
        budget: &Budget,
        room: &mut Room<'_>,
        enough: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<Value, DataError> {
        let mut sink = Sink::new(&self.plan, self.chosen.clone(), &self.options, self.length, room);
        let before = self.lines;
        if let Some((lexer, next)) = self.rest.take() {
            let mut table = Table {
                fields: Fields::resume(source, budget, lexer),
                options: &self.options,
                separator: self.separator,
                columns: self.columns,
                headed: self.headed,
                lines: self.lines,
            };
            if let Some(first) = self.first.take() {
                table.held(&first, &mut sink)?;
            }
            let next = match next {
                Next::Read(at) => at,
                Next::Unread => table.fields.next()?,
            };
            let over = table.read(next, &mut sink, enough)?;
            (self.columns, self.lines) = (table.columns, table.lines);
            self.rest = (!over).then(|| (table.fields.pause(), Next::Unread));
        }
        self.length = sink.length();
        let (lines, columns) = (self.lines - before, sink.columns(self.columns.unwrap_or(0)));
        let found = || {
            let s = |n: usize| if n == 1 { "" } else { "s" };
            format!("a table of {lines} line{} and {columns} column{}", s(lines), s(columns))
        };
        let mismatch = || DataError::Mismatch { found: found(), help: None };
        let frame = match &self.plan {
            Wanted::Array(_, None | Some(2)) => vec![lines, columns],
            Wanted::Array(_, Some(1)) if columns == 1 || lines == 0 => vec![lines],
            Wanted::Array(_, Some(1)) if lines == 1 => vec![columns],
            Wanted::Array(_, Some(0)) if lines == 1 && columns == 1 => vec![],
            Wanted::Lines(_, true) => vec![lines],
            Wanted::Lines(_, false) if lines == 1 => vec![],
            Wanted::Columns(_) => vec![],
            _ => return Err(mismatch()),
        };
        let value = sink.finish(&self.plan, frame, lines);
        fits_known(&value.shape, &self.wanted.shape, found)?;
        if let (Wanted::Columns(parts), Data::Tuple(all)) = (&self.plan, &value.data) {
            for ((_, ty, _), part) in parts.parts.iter().zip(all.iter().flat_map(|t| t.iter())) {
                fits_known(&part.shape, &ty.shape, found)?;
            }
        }
        Ok(value)
    }

    /// Whether a vector is wanted, which may be a single line as well as a single column.
    pub fn wants_a_vector(&self) -> bool {
        matches!(self.plan, Wanted::Array(_, Some(1)))
    }

    /// What a line holds, where the same numbers and characters are in all of them, or one text of its own length.
    pub fn holds(&self) -> Holds {
        let regular = |kind: &Kind| matches!(kind, Kind::Scalar(_) | Kind::Char);
        match &self.plan {
            Wanted::Array(Kind::Boxed(_), Some(1)) => Holds::Text,
            Wanted::Array(Kind::Boxed(_), _) => Holds::Whole,
            Wanted::Array(..) => Holds::Array,
            Wanted::Lines(parts, true) if parts.parts.iter().all(|(_, _, kind)| regular(kind)) => {
                Holds::Parts
            }
            _ => Holds::Whole,
        }
    }
}

/// What a line of a table holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Holds {
    /// A scalar, or a row.
    Array,
    /// Scalars of a tuple.
    Parts,
    /// A box of characters.
    Text,
    /// What is read as a whole.
    Whole,
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

    /// The lines from a field on, the first of its line, until they are enough. Whether there are no more.
    fn read(
        &mut self,
        mut next: Option<At>,
        sink: &mut Sink<'_, '_>,
        enough: &mut dyn FnMut(Progress) -> bool,
    ) -> Result<bool, DataError> {
        let before = self.lines;
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
                let lines = self.lines - before;
                let columns = sink.columns(self.columns.unwrap_or(0));
                if enough(Progress { lines, columns, waiting: self.fields.is_waiting() }) {
                    return Ok(false);
                }
            }
            next = self.fields.next()?;
        }
        Ok(true)
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
