//! A data file that is being read: its bytes, how many there are, and how far one has come.
//!
//! A regular file is read where it lies, and a pipe (`/dev/stdin`, a shell's `<(…)`) as its bytes come, so that no
//! second copy of a large array is made. A pipe has no size and no way back: an archive, whose list of members stands
//! at its end, is taken into memory first, see [`Source::whole`]. The budget that this takes from is the one that
//! arrays take from.

use super::DataError;
use super::elements::reason;
use super::gzip::{self, Gzip};
use crate::budget::{Budget, Room};
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes of the files have been read, and how many there are; for whoever waits for it.
#[derive(Default, Debug)]
pub struct Meter {
    pub done: AtomicU64,
    /// 0 while it is not known.
    pub total: AtomicU64,
}

enum Bytes<'m> {
    File(BufReader<File>),
    Memory(Cursor<Vec<u8>>),
    /// A pipe or a compressed file, and what was read of it to see how it begins.
    Stream {
        start: Cursor<Vec<u8>>,
        rest: Box<dyn Read + 'm>,
    },
}

/// An open data file.
pub struct Source<'m> {
    bytes: Bytes<'m>,
    /// `None` of a pipe.
    len: Option<u64>,
    meter: &'m Meter,
    budget: &'m Budget,
    /// What a pipe's bytes take.
    room: Room<'m>,
}

impl<'m> Source<'m> {
    /// Opens a file; one that is compressed for what is in it, if it is known by its first bytes (`marked`) or its name.
    pub fn open(path: &Path, marked: bool, meter: &'m Meter, budget: &'m Budget) -> io::Result<Source<'m>> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let is_file = metadata.is_file();
        let mut start = match marked || gzip::unzipped(path).is_some() {
            true => gzip::first_bytes(&mut file, gzip::may_start)?,
            false => Vec::new(),
        };
        let zipped = start == gzip::MAGIC;
        if is_file {
            file.rewind()?;
            start.clear();
        }
        meter.done.store(0, Ordering::Relaxed);
        let (bytes, len) = match (zipped, is_file) {
            (true, _) => {
                let rest = Box::new(BufReader::new(Gzip::new(start, file, is_file)));
                (Bytes::Stream { start: Cursor::default(), rest }, None)
            }
            (false, true) => (Bytes::File(BufReader::new(file)), Some(metadata.len())),
            (false, false) => {
                (Bytes::Stream { start: Cursor::new(start), rest: Box::new(BufReader::new(file)) }, None)
            }
        };
        meter.total.store(len.unwrap_or(0), Ordering::Relaxed);
        Ok(Source { bytes, len, meter, budget, room: budget.room() })
    }

    /// A pipe or compressed file of which these first bytes have been read, and which goes on with `rest`.
    pub fn begun(start: Vec<u8>, rest: impl Read + 'm, meter: &'m Meter, budget: &'m Budget) -> Source<'m> {
        let bytes = Bytes::Stream { start: Cursor::new(start), rest: Box::new(BufReader::new(rest)) };
        Source { bytes, len: None, meter, budget, room: budget.room() }
    }

    /// A file that is in memory, which somebody else accounts for.
    pub fn of_bytes(bytes: Vec<u8>, meter: &'m Meter, budget: &'m Budget) -> Source<'m> {
        let len = bytes.len() as u64;
        meter.total.store(len, Ordering::Relaxed);
        let bytes = Bytes::Memory(Cursor::new(bytes));
        Source { bytes, len: Some(len), meter, budget, room: budget.room() }
    }

    /// The size of the whole file; `None` of a pipe, which ends when it does.
    #[expect(clippy::len_without_is_empty, reason = "a file's size, no collection's")]
    pub fn len(&self) -> Option<u64> {
        self.len
    }

    /// What the memory for the file's content is taken from.
    pub fn budget(&self) -> &'m Budget {
        self.budget
    }

    /// The first bytes of the file, at most so many; reading goes on at the beginning.
    pub fn start(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let mut first = Vec::new();
        match &mut self.bytes {
            Bytes::Stream { start, rest } => {
                first.extend_from_slice(start.get_ref());
                let mut some = [0; 64];
                while (first.len() as u64) < most {
                    let wanted = (most as usize - first.len()).min(some.len());
                    match rest.read(&mut some[..wanted]) {
                        Ok(0) => break,
                        Ok(n) => first.extend_from_slice(&some[..n]),
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(e) => return Err(e),
                    }
                    // They are counted once, though they are read again.
                    self.meter.done.store(first.len() as u64, Ordering::Relaxed);
                }
                *start = Cursor::new(first.clone());
            }
            _ => {
                self.rewind()?;
                Read::take(&mut *self, most).read_to_end(&mut first)?;
                self.rewind()?;
                self.meter.done.store(0, Ordering::Relaxed);
            }
        }
        Ok(first)
    }

    /// Takes all of a pipe into memory, for what needs its size or a way back; the size.
    pub fn whole(&mut self) -> Result<u64, DataError> {
        if let Some(len) = self.len {
            return Ok(len);
        }
        let mut all = Vec::new();
        let mut part = vec![0; 1 << 16];
        loop {
            match self.read(&mut part) {
                Ok(0) => break,
                Ok(n) => {
                    self.room.grow(&mut all, n).map_err(DataError::TooMuch)?;
                    all.extend_from_slice(&part[..n]);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(DataError::Unreadable(reason(&e))),
            }
        }
        let len = all.len() as u64;
        self.meter.done.store(0, Ordering::Relaxed);
        self.meter.total.store(len, Ordering::Relaxed);
        (self.bytes, self.len) = (Bytes::Memory(Cursor::new(all)), Some(len));
        Ok(len)
    }

    /// Goes past so many bytes; `false` if the file ends before.
    pub fn skip(&mut self, bytes: u64) -> io::Result<bool> {
        match (&mut self.bytes, self.len) {
            (Bytes::Stream { .. }, _) | (_, None) => {
                Ok(io::copy(&mut self.take(bytes), &mut io::sink())? == bytes)
            }
            (_, Some(len)) => {
                let at = self.stream_position()?;
                let to = at.checked_add(bytes).filter(|to| *to <= len);
                Ok(match to {
                    Some(to) => self.seek(SeekFrom::Start(to)).is_ok(),
                    None => false,
                })
            }
        }
    }
}

impl Read for Source<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = match &mut self.bytes {
            Bytes::File(f) => f.read(to)?,
            Bytes::Memory(m) => m.read(to)?,
            Bytes::Stream { start, rest } => match start.read(to)? {
                0 => rest.read(to)?,
                n => return Ok(n),
            },
        };
        self.meter.done.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl Seek for Source<'_> {
    /// Of a file, or of a pipe that has been taken into memory.
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.bytes {
            Bytes::File(f) => f.seek(to),
            Bytes::Memory(m) => m.seek(to),
            Bytes::Stream { .. } => Err(io::ErrorKind::NotSeekable.into()),
        }
    }
}
