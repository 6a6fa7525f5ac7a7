//! A table of Arrow's as a stream of its rows, which are read a record batch at a time.
//!
//! The arrays of a piece are those of the lines of a table ([`super::table`]). A batch is in memory as its file has it; items
//! are made of as many of its rows as are wanted.

use super::super::DataError;
use super::super::arrow::frames::Frames;
use super::super::arrow::{Table, all};
use super::super::csv;
use super::super::csv::lines::Holds;
use super::Opened;
use super::table::piece;
use crate::budget::Budget;
use crate::stream::Piece;
use crate::stream::items::{Items, Layout, go_back};
use arrow_array::RecordBatch;
use remc_base::{ArrTy, AtomTy, ShapeItem, Value};
use std::io::{Read, Seek};

/// What is read of it.
#[derive(Clone)]
pub struct How {
    /// The column, and the name of the parameter.
    pub asked: Option<String>,
    pub name: String,
    pub wanted: ArrTy,
    /// The size of the file, if it is known.
    pub len: Option<u64>,
}

/// The rows of a table.
pub struct InRows<R> {
    from: R,
    name: String,
    how: How,
    /// What a piece may take.
    budget: Budget,
    frames: Frames,
    table: Table,
    layout: Vec<Layout>,
    /// The rows that have been read and not given.
    open: Option<RecordBatch>,
    start: Option<u64>,
}

/// What a row holds that is read piece by piece.
fn holds(wanted: &ArrTy) -> Holds {
    let scalar = |ty: &ArrTy| matches!(ty.atom, AtomTy::Base(_)) && ty.shape.items().is_empty();
    let items = wanted.shape.items();
    match &wanted.atom {
        _ if items.iter().any(|i| !matches!(i, ShapeItem::Dim(_))) => Holds::Whole,
        AtomTy::Base(_) => Holds::Array,
        atom if items.len() == 1 && csv::holds_text(atom) => Holds::Text,
        AtomTy::Tuple(ty) if items.len() == 1 && ty.fields.iter().all(|(_, ty)| scalar(ty)) => Holds::Parts,
        _ => Holds::Whole,
    }
}

/// Whether items of such an array are read piece by piece.
pub fn reads(wanted: &ArrTy) -> bool {
    holds(wanted) != Holds::Whole
}

fn open(from: &mut dyn Read, how: &How, budget: &Budget) -> Result<(Frames, Table), DataError> {
    let mut frames = Frames::open(from, how.len, budget)?;
    let table = Table::new(frames.schema(), how.asked.as_deref(), &how.name, &how.wanted)?;
    frames.only(table.columns());
    Ok((frames, table))
}

impl<R: Read + Seek + Send + 'static> InRows<R> {
    /// Reads as far as the first rows, in memory of the budget.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn open(mut from: R, name: String, how: How, budget: &Budget) -> Result<Opened, DataError> {
        let start = from.stream_position().ok();
        let (mut frames, mut table) = open(&mut from, &how, budget)?;
        if !table.is_of_rows() {
            let mut room = budget.room();
            let value = all(&mut from, &mut frames, &mut table, budget, &mut room)?;
            room.keep();
            return Ok(Opened::Value(value));
        }
        let mut room = budget.room();
        let mut open = None;
        while open.is_none()
            && let Some(batch) = frames.next(&mut from, budget)?
        {
            open = Some(batch.rows).filter(|b| b.num_rows() > 0);
        }
        // What the items are is seen in the first; what is wrong with others is told when they come.
        if let Some(batch) = &open {
            table.take(&batch.slice(0, 1), &mut room)?;
        }
        let mut none = table.finish()?;
        drop(room);
        none.data = none.data.gather(0..0);
        none.shape.first_mut().into_iter().for_each(|n| *n = 0);
        let Some((layout, _)) = piece(holds(&how.wanted), &none) else {
            return Err(DataError::Unreadable("its rows are no items of a stream".into()));
        };
        // Rows are counted from the first.
        let table = Table::new(frames.schema(), how.asked.as_deref(), &how.name, &how.wanted)?;
        let budget = Budget::new(budget.left());
        let rows = InRows { from, name, how, budget, frames, table, layout, open, start };
        Ok(Opened::Items(Box::new(rows), none))
    }
}

impl<R> InRows<R> {
    /// What is wrong with some rows, for people.
    fn says(&self, e: DataError) -> String {
        let help = match &e {
            DataError::Mismatch { help: Some(help), .. } => format!("; {help}"),
            _ => String::new(),
        };
        format!("`{}` cannot be read on: {e}{help}", self.name)
    }
}

impl<R: Read + Seek + Send> Items for InRows<R> {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize, _: Piece) -> Result<Piece, String> {
        while self.open.is_none() {
            let next = self.frames.next(&mut self.from, &self.budget).map(|b| b.map(|b| b.rows));
            match next.map_err(|e| self.says(e))? {
                Some(rows) => self.open = Some(rows).filter(|b| b.num_rows() > 0),
                None => return Ok(Piece { count: 0, arrays: vec![Vec::new(); self.layout.len()] }),
            }
        }
        let Some(rows) = self.open.take() else { return Ok(Piece::default()) };
        let count = most.clamp(1, rows.num_rows());
        let rest = rows.num_rows() - count;
        self.open = (rest > 0).then(|| rows.slice(count, rest));
        let value: Result<Value, DataError> = (|| {
            let mut room = self.budget.room();
            self.table.take(&rows.slice(0, count), &mut room)?;
            self.table.finish()
        })();
        let value = value.map_err(|e| self.says(e))?;
        match piece(holds(&self.how.wanted), &value) {
            Some((layout, piece)) if layout == self.layout => Ok(piece),
            _ => Err(format!("`{}` has rows of another shape than its first", self.name)),
        }
    }

    fn rewind(&mut self) -> Result<(), String> {
        go_back(&mut self.from, self.start, &self.name)?;
        let again = open(&mut self.from, &self.how, &self.budget);
        (self.frames, self.table) = again.map_err(|e| self.says(e))?;
        self.open = None;
        Ok(())
    }

    fn rewinds(&self) -> bool {
        self.start.is_some()
    }
}
