//! A table as a stream of its lines, which are read some at a time.
//!
//! | wanted | arrays of a piece |
//! | --- | --- |
//! | `(Stream float)`, `(Stream [float k])`, `(Stream [char k])` | one |
//! | `(Stream (Record (x float) (n int)))`, or a tuple | one for each field |
//! | `(Stream (Σ (k) [char k]))`, texts | how long they are, where they begin, and the characters of all |
//!
//! Fields, quotes, comments and the first line are those of any other table ([`csv::lines`]). Lines that are there already
//! are not kept waiting by those that are to come.

use super::super::csv::lines::{Holds, Lines};
use super::super::{DataError, csv};
use super::texts::Texts;
use crate::budget::Budget;
use crate::bytes;
use crate::stream::Piece;
use crate::stream::items::{Items, Layout, go_back};
use remc_base::value::Data;
use remc_base::{ArrTy, AtomTy, Value};
use std::io::{Read, Seek};

/// How a table is written.
#[derive(Clone)]
pub struct How {
    pub separator: u8,
    pub options: csv::options::Options,
    pub wanted: ArrTy,
}

/// The lines of a table.
pub struct InTable<R> {
    from: R,
    name: String,
    how: How,
    /// What a piece may take.
    budget: Budget,
    lines: Lines,
    layout: Vec<Layout>,
    /// The first lines, which said what the items are.
    first: Option<Piece>,
    start: Option<u64>,
}

/// A table that is open.
pub enum Opened<R> {
    /// Its lines, and a value of none of them.
    Lines(Box<InTable<R>>, Value),
    /// All of it: it is a single line, or of such values as are not read piece by piece.
    Whole(Value),
}

impl<R: Read + Seek + Send> InTable<R> {
    /// Reads the first lines, in memory of the budget.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn open(mut from: R, name: String, how: How, budget: &Budget) -> Result<Opened<R>, DataError> {
        let start = from.stream_position().ok();
        let mut lines = Lines::open(&mut from, budget, how.separator, &how.options, &how.wanted)?;
        let mut room = budget.room();
        let (vector, whole) = (lines.wants_a_vector(), lines.holds() == Holds::Whole);
        let mut is_line = false;
        let value = lines.read(&mut from, budget, &mut room, &mut |r| {
            is_line = vector && r.columns > 1;
            // A single line is a vector; of two nobody knows what to make.
            if is_line { r.lines > 1 } else { r.waiting && !whole }
        })?;
        let (false, Some((layout, first))) = (whole || is_line, piece(lines.holds(), &value)) else {
            room.keep();
            return Ok(Opened::Whole(value));
        };
        let mut none = value;
        none.data = none.data.gather(0..0);
        none.shape.first_mut().into_iter().for_each(|n| *n = 0);
        drop(room);
        let (budget, first) = (Budget::new(budget.left()), Some(first));
        let table = InTable { from, name, how, budget, lines, layout, first, start };
        Ok(Opened::Lines(Box::new(table), none))
    }

    /// What is wrong with a line, for people.
    fn says(&self, e: DataError) -> String {
        let what = match e {
            DataError::Mismatch { .. } | DataError::TooMuch(_) => {
                format!("behind line {}: {e}", self.lines.count())
            }
            e => e.to_string(),
        };
        format!("`{}` cannot be read on: {what}", self.name)
    }
}

impl<R: Read + Seek + Send> Items for InTable<R> {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize, _: Piece) -> Result<Piece, String> {
        if let Some(first) = self.first.take().filter(|p| p.count > 0) {
            return Ok(first);
        }
        if self.lines.is_over() {
            return Ok(Piece { count: 0, arrays: vec![Vec::new(); self.layout.len()] });
        }
        let mut room = self.budget.room();
        let enough = &mut |r: csv::lines::Progress| r.waiting || r.lines >= most;
        let read = self.lines.read(&mut self.from, &self.budget, &mut room, enough);
        drop(room);
        let value = read.map_err(|e| self.says(e))?;
        let Some((layout, piece)) = piece(self.lines.holds(), &value) else {
            return Err(format!("`{}` has lines of something else", self.name));
        };
        match piece.count > 0 && layout != self.layout {
            true => Err(format!("`{}` has lines of another number of columns", self.name)),
            false => Ok(piece),
        }
    }

    fn rewind(&mut self) -> Result<(), String> {
        go_back(&mut self.from, self.start, &self.name)?;
        let How { separator, options, wanted } = &self.how;
        let again = Lines::open(&mut self.from, &self.budget, *separator, options, wanted);
        self.lines = again.map_err(|e| self.says(e))?;
        self.first = None;
        Ok(())
    }

    fn rewinds(&self) -> bool {
        self.start.is_some()
    }
}

/// The arrays of a value of lines, and what their items are. `None` of what has no such arrays.
pub(super) fn piece(holds: Holds, value: &Value) -> Option<(Vec<Layout>, Piece)> {
    let count = *value.shape.first()?;
    if let (Holds::Text, Data::Box(boxes)) = (holds, &value.data) {
        let mut texts = Texts::default();
        for b in boxes {
            let Data::Char(text) = &b.value.data else { return None };
            texts.push(text.iter().copied());
        }
        return Some((Texts::layout(), texts.piece()));
    }
    let arrays: Vec<Value> = match (holds, &value.data) {
        (Holds::Array, _) => vec![value.clone()],
        (Holds::Parts, Data::Tuple(all)) => {
            let AtomTy::Tuple(ty) = &value.atom else { return None };
            let column = |(k, (_, part)): (usize, &(_, ArrTy))| {
                let mut data = Data::of_atom(&part.atom);
                let there = all.iter().all(|t| t.get(k).is_some_and(|v| data.append(v.data.clone())));
                there.then(|| Value { atom: part.atom.clone(), shape: vec![count], data })
            };
            ty.fields.iter().enumerate().map(column).collect::<Option<_>>()?
        }
        _ => return None,
    };
    let layout = |v: &Value| Some(Layout::items(v.data.base()?, v.shape.get(1..)?.to_vec()));
    let layouts = arrays.iter().map(layout).collect::<Option<Vec<_>>>()?;
    let arrays = arrays.iter().map(|v| Some(bytes::of(v)?.to_owned())).collect::<Option<_>>()?;
    Some((layouts, Piece { count, arrays }))
}
