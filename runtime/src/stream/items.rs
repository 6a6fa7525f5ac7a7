//! Where the items of a stream come from: a file, a pipe, an array.

use super::Piece;
use crate::bytes;
use remc_base::{BaseTy, Value};
use std::io::{Read, Seek, SeekFrom};

/// An array of a stream: what its elements are, and the dims of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    pub base: BaseTy,
    pub item: Vec<usize>,
}

impl Layout {
    /// Bytes of an item.
    pub fn bytes(&self) -> usize {
        self.item.iter().product::<usize>() * (self.base.bits() as usize / 8)
    }
}

/// Items that are read from the first to the last.
pub trait Items: Send {
    fn layout(&self) -> &[Layout];

    /// Reads at most so many more, fewer only at their end, or where more would have to be waited for.
    ///
    /// # Errors
    /// Why there are none, for people.
    fn read(&mut self, most: usize) -> Result<Piece, String>;

    /// Begins again with the first.
    ///
    /// # Errors
    /// Why that cannot be, for people.
    fn rewind(&mut self) -> Result<(), String>;

    /// How many there are in all, if that is known.
    fn length(&self) -> Option<u64> {
        None
    }
}

/// The items of arrays in memory.
pub struct InMemory {
    arrays: Vec<Value>,
    layout: Vec<Layout>,
    at: usize,
}

impl InMemory {
    /// `None` of arrays that are no items: scalars, or of anything but numbers, truth values and characters.
    pub fn new(arrays: Vec<Value>) -> Option<InMemory> {
        let layout = |v: &Value| Some(Layout { base: v.data.base()?, item: v.shape.get(1..)?.to_vec() });
        let layout = arrays.iter().map(layout).collect::<Option<_>>()?;
        Some(InMemory { arrays, layout, at: 0 })
    }

    fn count(&self) -> usize {
        self.arrays.first().map_or(0, |v| v.shape[0])
    }
}

impl Items for InMemory {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize) -> Result<Piece, String> {
        let n = most.min(self.count() - self.at);
        let part = |(v, l): (&Value, &Layout)| {
            let all = bytes::of(v).unwrap_or_default();
            all[self.at * l.bytes()..(self.at + n) * l.bytes()].to_vec()
        };
        let arrays = self.arrays.iter().zip(&self.layout).map(part).collect();
        self.at += n;
        Ok(Piece { count: n, arrays })
    }

    fn rewind(&mut self) -> Result<(), String> {
        self.at = 0;
        Ok(())
    }

    fn length(&self) -> Option<u64> {
        Some(self.count() as u64)
    }
}

/// The characters of a text in UTF-8.
pub struct InText<R> {
    from: R,
    name: String,
    layout: [Layout; 1],
    /// The first bytes of a character whose last ones have not come.
    open: Vec<u8>,
    at: u64,
    start: Option<u64>,
}

impl<R: Read + Seek + Send> InText<R> {
    pub fn new(mut from: R, name: String) -> InText<R> {
        let start = from.stream_position().ok();
        let layout = [Layout { base: BaseTy::Char, item: Vec::new() }];
        InText { from, name, layout, open: Vec::new(), at: 0, start }
    }
}

impl<R: Read + Seek + Send> Items for InText<R> {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize) -> Result<Piece, String> {
        // A character has at least one byte.
        let mut bytes = std::mem::take(&mut self.open);
        let read = (&mut self.from).take(most.max(4) as u64).read_to_end(&mut bytes);
        let n = read.map_err(|e| format!("`{}` cannot be read on, after {} characters: {e}", self.name, self.at))?;
        let (text, rest) = match std::str::from_utf8(&bytes) {
            Ok(text) => (text, &[][..]),
            // What is cut off within a character comes with the next piece.
            Err(e) if e.error_len().is_none() && n > 0 => {
                let (whole, rest) = bytes.split_at(e.valid_up_to());
                (std::str::from_utf8(whole).unwrap_or_default(), rest)
            }
            Err(e) => {
                let whole = std::str::from_utf8(&bytes[..e.valid_up_to()]).unwrap_or_default();
                let at = self.at + whole.chars().count() as u64;
                return Err(format!("`{}` is no text in UTF-8: behind character {at}", self.name));
            }
        };
        let mut all = Vec::with_capacity(4 * text.len());
        let mut count = 0;
        for c in text.chars() {
            all.extend_from_slice(&u32::from(c).to_le_bytes());
            count += 1;
        }
        self.open = rest.to_vec();
        self.at += count as u64;
        if count == 0 && n > 0 {
            return self.read(most);
        }
        Ok(Piece { count, arrays: vec![all] })
    }

    fn rewind(&mut self) -> Result<(), String> {
        let Some(start) = self.start else { return Err(read_once(&self.name)) };
        let moved = self.from.seek(SeekFrom::Start(start));
        moved.map_err(|e| format!("`{}` cannot be read again: {e}", self.name))?;
        self.open.clear();
        self.at = 0;
        Ok(())
    }
}

fn read_once(name: &str) -> String {
    format!("`{name}` is a pipe, which is read once, and the program goes through it again")
}

/// The bytes of one array of numbers, one item after the other.
pub struct InFile<R> {
    from: R,
    /// For people.
    name: String,
    layout: [Layout; 1],
    /// Where the first item begins, of a file that can be read from there again.
    start: Option<u64>,
    /// How many items there have to be, and how many have been read.
    length: Option<u64>,
    at: u64,
    /// Whether the bytes of a number are in the other order.
    swapped: bool,
}

impl<R: Read + Seek + Send> InFile<R> {
    /// The items behind the place that `from` is at. `length` is how many there are, if the file says so.
    pub fn new(mut from: R, name: String, layout: Layout, length: Option<u64>, swapped: bool) -> InFile<R> {
        let start = from.stream_position().ok();
        InFile { from, name, layout: [layout], start, length, at: 0, swapped }
    }

    fn rewind_to(&mut self, start: u64) -> std::io::Result<()> {
        self.from.seek(SeekFrom::Start(start)).map(|_| ())
    }
}

impl<R: Read + Seek + Send> Items for InFile<R> {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize) -> Result<Piece, String> {
        let left = self.length.map_or(u64::MAX, |n| n - self.at);
        let want = (most as u64).min(left) as usize;
        let item = self.layout[0].bytes();
        let bytes = want.checked_mul(item).ok_or_else(|| format!("{want} items of {item} bytes are too many"))?;
        let mut all = Vec::new();
        all.try_reserve_exact(bytes).map_err(|_| format!("there is no memory for {want} items of `{}`", self.name))?;
        let read = (&mut self.from).take(bytes as u64).read_to_end(&mut all);
        read.map_err(|e| format!("`{}` cannot be read on, after {} items: {e}", self.name, self.at))?;
        let count = if item == 0 { want } else { all.len() / item };
        if item > 0 && all.len() % item != 0 {
            let (have, at) = (all.len() % item, self.at + count as u64);
            return Err(format!("`{}` ends within item {at}: it has {have} of its {item} bytes", self.name));
        }
        if count < want
            && let Some(length) = self.length
        {
            let there = self.at + count as u64;
            return Err(format!("`{}` is cut off: its header says {length} items, and there are {there}", self.name));
        }
        if self.swapped {
            let size = self.layout[0].base.bits() as usize / 8;
            all.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        if self.layout[0].base == BaseTy::Bool && all.iter().any(|b| *b > 1) {
            return Err(format!("`{}` has a byte that is no truth value, among the items from {} on", self.name, self.at));
        }
        self.at += count as u64;
        Ok(Piece { count, arrays: vec![all] })
    }

    fn rewind(&mut self) -> Result<(), String> {
        let Some(start) = self.start else {
            return Err(read_once(&self.name));
        };
        self.rewind_to(start).map_err(|e| format!("`{}` cannot be read again: {e}", self.name))?;
        self.at = 0;
        Ok(())
    }

    fn length(&self) -> Option<u64> {
        self.length
    }
}
