//! Where the items of a stream come from: a file, a pipe, an array.

use super::Piece;
use crate::bytes;
use remc_base::{BaseTy, Value};
use std::io::{ErrorKind, Read, Seek, SeekFrom};

/// An array of a stream: what its elements are, and the dims of an item.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    pub base: BaseTy,
    pub item: Vec<usize>,
    /// Of a vector with any number of elements for each item: which of the arrays says where those of each begin, as
    /// numbers of 64 bits. In a piece that is counted from its own first element.
    pub starts: Option<usize>,
}

impl Layout {
    /// An array of items of these dims.
    pub fn items(base: BaseTy, item: Vec<usize>) -> Layout {
        Layout { base, item, starts: None }
    }

    /// Bytes of an item, or of an element.
    pub fn bytes(&self) -> usize {
        self.item.iter().product::<usize>() * (self.base.bits() as usize / 8)
    }
}

/// The items `from..to` of arrays that hold `count` of them.
pub fn part(layout: &[Layout], arrays: &[&[u8]], count: usize, (from, to): (usize, usize)) -> Piece {
    let mut ranges: Vec<(usize, usize)> = Vec::with_capacity(layout.len());
    let mut out = Vec::with_capacity(layout.len());
    for (k, (l, all)) in layout.iter().zip(arrays).enumerate() {
        let (from, to) = match l.starts {
            None => (from, to),
            Some(s) => {
                let elements = all.len().checked_div(l.bytes()).unwrap_or(0);
                let begin = |i: usize| start(arrays[s], i).unwrap_or(elements);
                (begin(ranges[s].0), begin(ranges[s].1))
            }
        };
        let width = l.bytes();
        ranges.push((from, to));
        let mut bytes = match width * count {
            0 if l.starts.is_none() => Vec::new(),
            _ => all[from * width..to * width].to_vec(),
        };
        if layout.iter().any(|other| other.starts == Some(k)) {
            let first = start(&bytes, 0).unwrap_or(0);
            shift(&mut bytes, 0, -(first as i64));
        }
        out.push(bytes);
    }
    Piece { count: to - from, arrays: out }
}

/// Number `i` of a vector of places.
fn start(bytes: &[u8], i: usize) -> Option<usize> {
    let word = bytes.as_chunks::<8>().0.get(i)?;
    usize::try_from(i64::from_le_bytes(*word)).ok()
}

/// Adds to the places from number `from` on.
fn shift(bytes: &mut [u8], from: usize, by: i64) {
    for word in bytes.as_chunks_mut::<8>().0.iter_mut().skip(from) {
        *word = (i64::from_le_bytes(*word) + by).to_le_bytes();
    }
}

/// Puts more items behind those of a piece.
pub fn append(layout: &[Layout], to: &mut Piece, more: Piece) {
    if to.count == 0 {
        if more.count > 0 {
            *to = more;
        }
        return;
    }
    to.count += more.count;
    for (k, bytes) in more.arrays.into_iter().enumerate() {
        // Places are those of the elements that are there already, and then.
        let delimited = (0..layout.len()).find(|j| layout[*j].starts == Some(k));
        let elements = delimited.map(|j| to.arrays[j].len().checked_div(layout[j].bytes()).unwrap_or(0));
        let known = to.arrays[k].len() / 8;
        to.arrays[k].extend_from_slice(&bytes);
        if let Some(n) = elements {
            shift(&mut to.arrays[k], known, n as i64);
        }
    }
}

/// Items that are read from the first to the last.
pub trait Items: Send {
    fn layout(&self) -> &[Layout];

    /// Reads so many more; fewer at their end, or where more would have to be waited for, and more only if they are there
    /// already; none only at the end. Into the memory of the arrays of `used`, which nobody needs any more, where that is of
    /// use.
    ///
    /// # Errors
    /// Why there are none, for people.
    fn read(&mut self, most: usize, used: Piece) -> Result<Piece, String>;

    /// Begins again with the first.
    ///
    /// # Errors
    /// Why that cannot be, for people.
    fn rewind(&mut self) -> Result<(), String>;

    /// Whether that can be: not of a pipe.
    fn rewinds(&self) -> bool {
        true
    }

    /// How many there are in all, if that is known.
    fn length(&self) -> Option<u64> {
        None
    }
}

/// The items of arrays in memory.
pub struct InMemory {
    arrays: Vec<Value>,
    layout: Vec<Layout>,
    count: usize,
    at: usize,
}

impl InMemory {
    /// Arrays, and of each that has any number of elements for each item which of them says where those begin. `None` of
    /// arrays that are no items: scalars, or of anything but numbers, truth values and characters.
    pub fn new(arrays: Vec<Value>, starts: Vec<Option<usize>>) -> Option<InMemory> {
        let layout = |(v, starts): (&Value, Option<usize>)| {
            Some(Layout { base: v.data.base()?, item: v.shape.get(1..)?.to_vec(), starts })
        };
        let layout = arrays.iter().zip(starts).map(layout).collect::<Option<Vec<_>>>()?;
        let count = arrays.first().map_or(0, |v| v.shape[0]);
        Some(InMemory { arrays, layout, count, at: 0 })
    }
}

impl Items for InMemory {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize, _: Piece) -> Result<Piece, String> {
        let to = self.at + most.min(self.count - self.at);
        let arrays: Vec<_> = self.arrays.iter().map(|v| bytes::of(v).unwrap_or_default()).collect();
        let arrays: Vec<&[u8]> = arrays.iter().map(|b| &**b).collect();
        let piece = part(&self.layout, &arrays, self.count, (self.at, to));
        self.at = to;
        Ok(piece)
    }

    fn rewind(&mut self) -> Result<(), String> {
        self.at = 0;
        Ok(())
    }

    fn length(&self) -> Option<u64> {
        Some(self.count as u64)
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
        let layout = [Layout::items(BaseTy::Char, Vec::new())];
        InText { from, name, layout, open: Vec::new(), at: 0, start }
    }
}

impl<R: Read + Seek + Send> Items for InText<R> {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize, _: Piece) -> Result<Piece, String> {
        // A character has at least one byte, and at most four.
        let mut bytes = std::mem::take(&mut self.open);
        let read = (&mut self.from).take(most.saturating_add(4) as u64).read_to_end(&mut bytes);
        let n = read
            .map_err(|e| format!("`{}` cannot be read on, after {} characters: {e}", self.name, self.at))?;
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
                return Err(format!("`{}` is no text in UTF-8, after its first {at} characters", self.name));
            }
        };
        // A mark of the byte order is no character.
        let text = if self.at == 0 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        let mut all = Vec::with_capacity(4 * text.len());
        let mut count = 0;
        for c in text.chars() {
            all.extend_from_slice(&u32::from(c).to_le_bytes());
            count += 1;
        }
        self.open = rest.to_vec();
        self.at += count as u64;
        Ok(Piece { count, arrays: vec![all] })
    }

    fn rewind(&mut self) -> Result<(), String> {
        go_back(&mut self.from, self.start, &self.name)?;
        self.open.clear();
        self.at = 0;
        Ok(())
    }

    fn rewinds(&self) -> bool {
        self.start.is_some()
    }
}

/// Goes back to where the items begin.
///
/// # Errors
/// That there is no way back, for people.
pub fn go_back(from: &mut impl Seek, start: Option<u64>, name: &str) -> Result<(), String> {
    let Some(start) = start else {
        return Err(format!("`{name}` is a pipe, which is read once, and is gone through again"));
    };
    from.seek(SeekFrom::Start(start)).map_err(|e| format!("`{name}` cannot be read again: {e}"))?;
    Ok(())
}

/// The bytes of one array of numbers, one item after the other.
pub struct InFile<R> {
    from: R,
    /// For people.
    name: String,
    layout: [Layout; 1],
    /// Where the first item begins, of a file that can be read from there again.
    start: Option<u64>,
    /// How many items there have to be, and what says so.
    length: Option<(u64, &'static str)>,
    /// How many have been read.
    at: u64,
    /// Whether the bytes of a number are in the other order.
    swapped: bool,
    /// Whether it was seen before that there are neither more nor fewer.
    counted: bool,
}

impl<R: Read + Seek + Send> InFile<R> {
    /// The items behind the place that `from` is at. `length` is how many there are, and what says so, if anything does.
    pub fn new(
        mut from: R,
        name: String,
        layout: Layout,
        length: Option<(u64, &'static str)>,
        swapped: bool,
    ) -> InFile<R> {
        let start = from.stream_position().ok();
        InFile { from, name, layout: [layout], start, length, at: 0, swapped, counted: false }
    }

    /// The same items, of which it was seen before that there are neither more nor fewer, if so.
    pub fn counted(self, counted: bool) -> InFile<R> {
        InFile { counted, ..self }
    }
}

impl<R: Read + Seek + Send> Items for InFile<R> {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize, mut used: Piece) -> Result<Piece, String> {
        let left = self.length.map_or(u64::MAX, |(n, _)| n - self.at);
        let want = (most as u64).min(left) as usize;
        let item = self.layout[0].bytes();
        let bytes =
            want.checked_mul(item).ok_or_else(|| format!("{want} items of {item} bytes are too many"))?;
        let mut all = used.arrays.pop().unwrap_or_default();
        all.try_reserve_exact(bytes.saturating_sub(all.len()))
            .map_err(|_| format!("there is no memory for {want} items of `{}`", self.name))?;
        // What was there before is overwritten, and need not be zero.
        all.resize(bytes, 0);
        let mut filled = 0;
        while filled < bytes {
            match self.from.read(&mut all[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    return Err(format!("`{}` cannot be read on, after {} items: {e}", self.name, self.at));
                }
            }
        }
        all.truncate(filled);
        let count = all.len().checked_div(item).unwrap_or(want);
        if item > 0 && !all.len().is_multiple_of(item) {
            let (have, at) = (all.len() % item, self.at + count as u64);
            return Err(format!("`{}` ends within item {at}: it has {have} of its {item} bytes", self.name));
        }
        if count < want
            && let Some((length, said)) = self.length
        {
            let there = self.at + count as u64;
            return Err(format!(
                "`{}` is cut off: {said} says {length} items, and there are {there}",
                self.name
            ));
        }
        if self.swapped {
            let size = self.layout[0].base.bits() as usize / 8;
            all.chunks_exact_mut(size).for_each(<[u8]>::reverse);
        }
        if self.layout[0].base == BaseTy::Bool && all.iter().any(|b| *b > 1) {
            return Err(format!(
                "`{}` has a byte that is no truth value, among the items from {} on",
                self.name, self.at
            ));
        }
        self.at += count as u64;
        // Of a pipe one sees at its end whether more comes.
        if let (0, Some((length, said)), false) = (count, self.length, self.counted) {
            match self.from.read(&mut [0]) {
                Ok(0) => {}
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Ok(_) => {
                    return Err(format!(
                        "`{}` goes on: {said} says {length} items, and there are more",
                        self.name
                    ));
                }
                Err(e) => {
                    return Err(format!("`{}` cannot be read on, after {} items: {e}", self.name, self.at));
                }
            }
        }
        Ok(Piece { count, arrays: vec![all] })
    }

    fn rewind(&mut self) -> Result<(), String> {
        go_back(&mut self.from, self.start, &self.name)?;
        self.at = 0;
        Ok(())
    }

    fn rewinds(&self) -> bool {
        self.start.is_some()
    }

    fn length(&self) -> Option<u64> {
        self.length.map(|(n, _)| n)
    }
}
