//! Arrow's IPC format, which pandas, Polars, R, awkward-array and databases read and write: files (`.arrow`, and `.feather`,
//! which is Feather's version 2) and streams (`.arrows`, pipes).
//!
//! ```text
//! stream      schema  dictionaries  batch  batch  …  end
//! file        ARROW1  the same  footer  ARROW1
//! ```
//!
//! A file is a stream between marks, with a footer for those who want to begin in the middle. Nobody here does: both are
//! read from the first byte to the last, so that a pipe and what gzip has compressed are read like any other file, and a
//! footer is compared with what has been read.
//!
//! | file | holds |
//! | --- | --- |
//! | [`frames`] | bytes to record batches |
//! | [`buffers`] | what a message claims of its buffers, looked at before memory is taken |
//! | [`zstd`] | what is compressed so |
//! | [`columns`] | which columns make which part of what is wanted |
//! | [`cells`] | the rows of a column as items of a type |
//! | [`write`](mod@write) | values to a table |
//!
//! | Arrow | here |
//! | --- | --- |
//! | booleans, integers, floats | atoms of the same type |
//! | dates, times, durations | the integers that they are |
//! | strings | `(Σ (k) [char k])`; `[char k]` where all have one length |
//! | lists, binaries | boxes; an axis where all have one length |
//! | lists of a fixed size | an axis |
//! | structs | records, by the names of their fields |
//! | dictionaries | what they stand for |
//!
//! There are no missing values, so a null is an error, which says where it is. A type must be the wanted one, as in any
//! binary file.

mod buffers;
mod cells;
mod columns;
pub mod frames;
pub mod write;
mod zstd;

use super::DataError;
use super::source::Source;
use crate::budget::{Budget, Room};
pub use columns::Table;
use remc_base::{ArrTy, Value};
use std::io::Read;

/// How a file begins and ends.
pub const MAGIC: &[u8] = b"ARROW1";
/// How each part of a stream begins.
pub const CONTINUATION: &[u8] = &[0xff; 4];

/// Reads the column `asked`, or what of the table can only be meant for the parameter `name`.
///
/// # Errors
/// What is wrong with the file, or why it is not what is wanted.
pub fn read(
    source: &mut Source<'_>,
    asked: Option<&str>,
    name: &str,
    wanted: &ArrTy,
) -> Result<Value, DataError> {
    let (budget, len) = (source.budget(), source.len());
    let mut room = budget.room();
    let mut frames = frames::Frames::open(source, len, budget)?;
    let mut table = Table::new(frames.schema(), asked, name, wanted)?;
    frames.only(table.columns());
    let value = all(source, &mut frames, &mut table, budget, &mut room)?;
    room.keep();
    Ok(value)
}

/// The value of all rows that are still to come.
///
/// # Errors
/// As [`read`].
pub fn all(
    from: &mut dyn Read,
    frames: &mut frames::Frames,
    table: &mut Table,
    budget: &Budget,
    room: &mut Room<'_>,
) -> Result<Value, DataError> {
    while let Some(batch) = frames.next(from, budget)? {
        table.take(&batch.rows, room)?;
    }
    table.finish()
}

#[cfg(test)]
mod tests;
