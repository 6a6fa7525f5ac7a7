//! Streams while a program runs: what it pulls from and pushes to, the same for every device.
//!
//! A program has channels ([`remc_kernel::ir::Channel`], by their numbers). One that reads an input has [`Items`], read
//! ahead on a thread of its own ([`ahead`]) while the program computes; one that is a result has a [`Sink`], or keeps what
//! it is given; any other hands what one part of the program pushes to a later one. Nothing here knows where a device's
//! memory is: pieces come and go as bytes, laid out as [`crate::bytes`] says.
//!
//! **How many items a piece has** is chosen while the program runs ([`chunk`]), unless the program says how many.

pub mod ahead;
pub mod chunk;
pub mod items;
pub mod written;

#[cfg(test)]
mod tests;

use ahead::Ahead;
use chunk::Chunk;
use items::{Items, Layout};
use remc_base::{BaseTy, Value};
use std::convert::Infallible;

/// How many items are pulled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Take {
    /// Some multiple of this.
    Multiple(u64),
    Exactly(u64),
    All,
}

impl Take {
    /// From the two words by which compiled code says it.
    pub fn of_words(kind: u32, n: i64) -> Take {
        let n = u64::try_from(n).unwrap_or(0);
        match kind {
            0 => Take::Multiple(n.max(1)),
            1 => Take::Exactly(n),
            _ => Take::All,
        }
    }
}

/// More items than any array has.
const MOST_ITEMS: u64 = 1 << 62;

/// Items of a channel: of each array the bytes, which a device copies to where it wants them.
#[derive(Default, Debug)]
pub struct Piece {
    pub count: usize,
    pub arrays: Vec<Vec<u8>>,
}

/// Items that a program pushes: the base type, the dims and the bytes of each array.
#[derive(Clone, Copy, Debug)]
pub struct Pushed<'a> {
    pub base: BaseTy,
    pub dims: &'a [usize],
    pub bytes: &'a [u8],
}

/// Where the items of a result go as they come.
pub trait Sink {
    /// Takes more items.
    ///
    /// # Errors
    /// What went wrong, for people.
    fn write(&mut self, items: &Pushed<'_>) -> Result<(), String>;
}

enum Channel {
    Input(Ahead),
    Result(Box<dyn Sink>),
    Kept(Vec<Kept>),
    /// Any number of items, of which there is nothing else.
    Endless,
}

/// What was pushed so far of one array.
struct Kept {
    base: BaseTy,
    dims: Vec<usize>,
    bytes: Vec<u8>,
}

/// The channels of a run.
pub struct Channels {
    all: Vec<Channel>,
    chunk: Chunk,
}

/// What each channel of a program begins with, in order.
pub enum Begin {
    Input(Box<dyn Items>),
    Result(Box<dyn Sink>),
    /// Its arrays: the base types of their elements, and how many axes an item has. Without arrays it has as many items as
    /// are pulled.
    Kept(Vec<(BaseTy, usize)>),
}

impl Channels {
    pub fn new(all: Vec<Begin>, chunk: Chunk) -> Channels {
        let begun = all.into_iter().map(|b| match b {
            Begin::Input(items) => Channel::Input(Ahead::new(items)),
            Begin::Result(sink) => Channel::Result(sink),
            Begin::Kept(arrays) if arrays.is_empty() => Channel::Endless,
            Begin::Kept(arrays) => {
                let none =
                    |(base, rank): (BaseTy, usize)| Kept { base, dims: vec![0; rank + 1], bytes: Vec::new() };
                Channel::Kept(arrays.into_iter().map(none).collect())
            }
        });
        Channels { all: begun.collect(), chunk }
    }

    /// The arrays of a channel: the base type of each, and the dims of an item.
    pub fn layout(&self, channel: usize) -> Vec<Layout> {
        match self.all.get(channel) {
            Some(Channel::Input(a)) => a.layout().to_vec(),
            Some(Channel::Kept(all)) => {
                all.iter().map(|k| Layout::items(k.base, k.dims[1..].to_vec())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Begins another run: what was kept goes.
    pub fn restart(&mut self) {
        for c in &mut self.all {
            if let Channel::Kept(all) = c {
                for k in all {
                    k.bytes.clear();
                    k.dims.first_mut().into_iter().for_each(|n| *n = 0);
                }
            }
        }
    }

    /// How many arrays a channel has.
    pub fn arrays(&self, channel: usize) -> usize {
        match self.all.get(channel) {
            Some(Channel::Input(a)) => a.layout().len(),
            Some(Channel::Kept(all)) => all.len(),
            Some(Channel::Result(_)) => 1,
            Some(Channel::Endless) | None => 0,
        }
    }

    /// The items of a channel from number `at` on.
    ///
    /// # Errors
    /// A stream that cannot be read on, or that would have to be read again and cannot; for people.
    pub fn pull(&mut self, channel: usize, at: u64, take: Take) -> Result<Piece, String> {
        match self.all.get_mut(channel) {
            Some(Channel::Input(ahead)) => {
                let (wanted, enough) = match take {
                    Take::Multiple(n) => {
                        let wanted = self.chunk.next(ahead.item_bytes(), n, at == 0);
                        (wanted, self.chunk.bytes().map(|bytes| (n, bytes)))
                    }
                    Take::Exactly(n) => (n, None),
                    Take::All => (u64::MAX, None),
                };
                let piece = ahead.pull(at, wanted, enough)?;
                self.chunk.came(piece.count);
                Ok(piece)
            }
            Some(Channel::Kept(all)) => {
                let there = all.first().map_or(0, |k| k.dims[0] as u64);
                let n = match take {
                    Take::Exactly(n) => n.min(there.saturating_sub(at)),
                    _ => there.saturating_sub(at),
                };
                let part = |k: &Kept| {
                    let item = k.bytes.len().checked_div(k.dims[0]).unwrap_or(0);
                    k.bytes[at as usize * item..(at + n) as usize * item].to_vec()
                };
                Ok(Piece { count: n as usize, arrays: all.iter().map(part).collect() })
            }
            // Their elements are of any type: as if each had 8 bytes.
            Some(Channel::Endless) => {
                let count = match take {
                    Take::Multiple(n) => self.chunk.next(n.saturating_mul(8), 1, at == 0).saturating_mul(n),
                    Take::Exactly(n) => n,
                    Take::All => 0,
                };
                let count = usize::try_from(count.min(MOST_ITEMS)).unwrap_or(usize::MAX);
                Ok(Piece { count, arrays: Vec::new() })
            }
            Some(Channel::Result(_)) => Err("a result is not read".into()),
            None => Err(format!("there is no channel {channel}")),
        }
    }

    /// Whether a channel reads an input: then memory of a piece may be given back, to read another one into.
    pub fn reads(&self, channel: usize) -> bool {
        matches!(self.all.get(channel), Some(Channel::Input(_)))
    }

    /// Takes back memory of a piece that nobody needs any more.
    pub fn take_back(&mut self, channel: usize, bytes: Vec<u8>) {
        if let Some(Channel::Input(ahead)) = self.all.get_mut(channel) {
            ahead.take_back(bytes);
        }
    }

    /// Appends items to a channel.
    ///
    /// # Errors
    /// What went wrong where they go, for people.
    pub fn push(&mut self, channel: usize, arrays: &[Pushed<'_>]) -> Result<(), String> {
        match self.all.get_mut(channel) {
            Some(Channel::Result(sink)) => arrays.iter().try_for_each(|a| sink.write(a)),
            Some(Channel::Kept(all)) => {
                for (k, a) in all.iter_mut().zip(arrays) {
                    let n = k.dims.first().copied().unwrap_or(0) + a.dims.first().copied().unwrap_or(0);
                    k.dims = std::iter::once(n).chain(a.dims.iter().skip(1).copied()).collect();
                    let room = k.bytes.try_reserve(a.bytes.len());
                    room.map_err(|_| format!("there is no memory to keep {n} items of a stream"))?;
                    k.bytes.extend_from_slice(a.bytes);
                }
                Ok(())
            }
            Some(Channel::Input(_) | Channel::Endless) => Err("an input is not written to".into()),
            None => Err(format!("there is no channel {channel}")),
        }
    }

    /// Whether a result is written as it comes.
    pub fn writes(&self) -> bool {
        self.all.iter().any(|c| matches!(c, Channel::Result(_)))
    }

    /// What a channel of one array has kept; `None` of any other.
    pub fn kept(&mut self, channel: usize) -> Option<Value> {
        let Some(Channel::Kept(all)) = self.all.get_mut(channel) else { return None };
        let [k] = all.as_mut_slice() else { return None };
        let bytes = std::mem::take(&mut k.bytes);
        value(k.base, &k.dims, &bytes)
    }
}

/// The array of these bytes; `None` if they are another number.
pub fn value(base: BaseTy, shape: &[usize], bytes: &[u8]) -> Option<Value> {
    let n = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
    (n.checked_mul(base.bits() as usize / 8)? == bytes.len()).then_some(())?;
    let fill = |to: &mut [u8]| {
        to.copy_from_slice(bytes);
        Ok::<(), Infallible>(())
    };
    crate::bytes::array(base, shape, fill).ok()
}
