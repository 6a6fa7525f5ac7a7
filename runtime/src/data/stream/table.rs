//! A table as a stream of its lines: blocks of whole lines are read as tables are, one after the other.
//!
//! ```text
//! x,y            the first line, which names the columns, stands before each block
//! 1,2            a block ends at the end of a line that is in no quotes
//! 3,4
//! ```

use super::super::source::{Meter, Source};
use super::super::{DataError, csv};
use crate::budget::Budget;
use crate::stream::Piece;
use crate::stream::items::{Items, Layout};
use remc_base::value::Data;
use remc_base::{ArrTy, Value};
use std::io::{Read, Seek, SeekFrom};

/// The bytes of the first block; a later one has more, if lines are long.
const BLOCK: usize = 1 << 18;

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
    /// The first line, if it names the columns.
    header: Option<Vec<u8>>,
    layout: Vec<Layout>,
    /// What has been read and is no whole line yet, and lines before it.
    open: Vec<u8>,
    lines: u64,
    ended: bool,
    /// The first block.
    first: Option<Piece>,
    start: Option<u64>,
    items: u64,
}

/// A table that is open: its lines, and a value of none of them; or what has been read of one that is no stream.
pub enum Opened<R> {
    Lines(Box<InTable<R>>, Value),
    Other(R, Vec<u8>),
}

impl<R: Read + Seek + Send> InTable<R> {
    /// Reads the first block.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn open(mut from: R, name: String, how: How) -> Result<Opened<R>, DataError> {
        let start = from.stream_position().ok();
        let mut table = InTable {
            from,
            name,
            how,
            header: None,
            layout: Vec::new(),
            open: Vec::new(),
            lines: 0,
            ended: false,
            first: None,
            start,
            items: 0,
        };
        let block = table.block().map_err(DataError::Unreadable)?;
        let (value, header) = table.read_block(&block)?;
        // A line of several numbers is a vector by itself, and no stream of vectors.
        let rank = table.how.wanted.shape.least_rank();
        let options = &table.how.options;
        let separator = match options.separator {
            Some(csv::options::Separator::Byte(b)) => b,
            Some(csv::options::Separator::Blanks) => b' ',
            None => table.how.separator,
        };
        let is_vector = rank == 1 && !matches!(value.data, Data::Tuple(_));
        let several = is_vector && options.columns.is_empty() && columns(&block, separator) > 1;
        let (Some(parts), false) = (parts(&value), value.shape.is_empty() || several) else {
            let InTable { from, open, .. } = table;
            return Ok(Opened::Other(from, [block, open].concat()));
        };
        if header {
            let end = line_end(&block, 0).unwrap_or(block.len());
            table.header = Some(block[..end].to_vec());
        }
        let layout = |v: &Value| Some(Layout::items(v.data.base()?, v.shape.get(1..)?.to_vec()));
        let Some(layout) = parts.iter().map(layout).collect::<Option<Vec<_>>>() else {
            let InTable { from, open, .. } = table;
            return Ok(Opened::Other(from, [block, open].concat()));
        };
        table.layout = layout;
        table.lines = lines(&block);
        table.how.options.header = Some(header);
        table.how.options.skip = 0;
        table.first = Some(piece(&parts));
        let mut none = value;
        none.data = none.data.gather(0..0);
        none.shape.first_mut().into_iter().for_each(|n| *n = 0);
        Ok(Opened::Lines(Box::new(table), none))
    }

    /// So many bytes of whole lines; none at the end.
    fn block(&mut self) -> Result<Vec<u8>, String> {
        let mut all = std::mem::take(&mut self.open);
        loop {
            if let Some(end) = last_line(&all).filter(|_| all.len() >= BLOCK || self.ended) {
                self.open = all.split_off(end);
                return Ok(all);
            }
            if self.ended {
                return Ok(all);
            }
            let read = (&mut self.from).take(BLOCK as u64).read_to_end(&mut all);
            let n = read
                .map_err(|e| format!("`{}` cannot be read on, after line {}: {e}", self.name, self.lines))?;
            self.ended = n == 0;
        }
    }

    /// The lines of a block as a value; whether its first line names the columns.
    fn read_block(&self, block: &[u8]) -> Result<(Value, bool), DataError> {
        let mut options = self.how.options.clone();
        let mut bytes = Vec::with_capacity(block.len());
        options.before = self.lines;
        if let Some(header) = &self.header {
            bytes.extend_from_slice(header);
            options.before = self.lines.saturating_sub(1);
        }
        bytes.extend_from_slice(block);
        let (meter, budget) = (Meter::default(), Budget::of(None));
        let mut source = Source::of_bytes(bytes, &meter, &budget);
        csv::read_headed(&mut source, self.how.separator, &options, &self.how.wanted)
    }
}

impl<R: Read + Seek + Send> Items for InTable<R> {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, _: usize, _: Piece) -> Result<Piece, String> {
        if let Some(first) = self.first.take() {
            self.items = first.count as u64;
            return Ok(first);
        }
        loop {
            let block = self.block()?;
            if block.is_empty() {
                return Ok(Piece { count: 0, arrays: vec![Vec::new(); self.layout.len()] });
            }
            let said = |e: DataError| match e {
                DataError::Table { what, .. } | DataError::Unreadable(what) => {
                    format!("`{}`: {what}", self.name)
                }
                DataError::Mismatch { found, .. } => {
                    format!(
                        "`{}`: behind line {} it has {found}, and other lines before",
                        self.name, self.lines
                    )
                }
                e => format!("`{}`: {e:?}", self.name),
            };
            let (value, _) = self.read_block(&block).map_err(said)?;
            let parts = parts(&value).unwrap_or_default();
            let same = parts.iter().zip(&self.layout).all(|(v, l)| v.shape.get(1..) == Some(&l.item[..]));
            if !same {
                return Err(format!(
                    "`{}`: lines behind line {} have another number of fields",
                    self.name, self.lines
                ));
            }
            self.lines += lines(&block);
            let piece = piece(&parts);
            self.items += piece.count as u64;
            // Lines that hold nothing are left out.
            if piece.count > 0 {
                return Ok(piece);
            }
        }
    }

    fn rewind(&mut self) -> Result<(), String> {
        let Some(start) = self.start else {
            return Err(format!("`{}` is a pipe, which is read once, and is gone through again", self.name));
        };
        let moved = self.from.seek(SeekFrom::Start(start));
        moved.map_err(|e| format!("`{}` cannot be read again: {e}", self.name))?;
        self.open.clear();
        (self.lines, self.ended, self.items, self.first) = (0, false, 0, None);
        // The first line is there once more.
        if self.header.take().is_some() {
            let block = self.block()?;
            let end = line_end(&block, 0).unwrap_or(block.len());
            self.header = Some(block[..end].to_vec());
            self.lines = 1;
            let rest = block[end..].to_vec();
            self.open = [rest, std::mem::take(&mut self.open)].concat();
        }
        Ok(())
    }

    fn rewinds(&self) -> bool {
        self.start.is_some()
    }
}

/// The arrays of a value of items: those of the parts of tuples. `None` of anything else than numbers and the like.
fn parts(value: &Value) -> Option<Vec<Value>> {
    let Data::Tuple(all) = &value.data else {
        return value.data.base().map(|_| vec![value.clone()]);
    };
    let remc_base::AtomTy::Tuple(ty) = &value.atom else { return None };
    let mut columns: Vec<Value> = Vec::new();
    for (k, (_, part)) in ty.fields.iter().enumerate() {
        let mut data = Data::of_atom(&part.atom);
        for tuple in all {
            let one: &Value = tuple.get(k)?;
            if !one.shape.is_empty() || !data.append(one.data.clone()) {
                return None;
            }
        }
        data.base()?;
        columns.push(Value { atom: part.atom.clone(), shape: vec![all.len()], data });
    }
    Some(columns)
}

fn piece(parts: &[Value]) -> Piece {
    let count = parts.first().and_then(|v| v.shape.first()).copied().unwrap_or(0);
    let bytes = |v: &Value| crate::bytes::of(v).unwrap_or_default().to_vec();
    Piece { count, arrays: parts.iter().map(bytes).collect() }
}

/// Behind the last line that is whole.
fn last_line(bytes: &[u8]) -> Option<usize> {
    let (mut quoted, mut end) = (false, None);
    for (k, b) in bytes.iter().enumerate() {
        match b {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => end = Some(k + 1),
            _ => {}
        }
    }
    end
}

/// Behind the line that begins at a place.
fn line_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut quoted = false;
    for (k, b) in bytes.iter().enumerate().skip(from) {
        match b {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => return Some(k + 1),
            _ => {}
        }
    }
    None
}

fn lines(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|b| **b == b'\n').count() as u64
}

/// How many fields the first line has, about.
fn columns(bytes: &[u8], separator: u8) -> usize {
    let first = &bytes[..line_end(bytes, 0).unwrap_or(bytes.len())];
    first.iter().filter(|b| **b == separator).count() + 1
}
