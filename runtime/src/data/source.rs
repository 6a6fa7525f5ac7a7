//! A data file that is being read: its bytes, its size, and how far one has come.
//!
//! A regular file is read where it lies, so that no second copy of a large array is made. A pipe
//! (`/dev/stdin`, a shell's `<(…)`) has no size and no way back, which archives need, so all of it is taken
//! into memory first.

use std::fs::File;
use std::io::{self, Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// How many bytes of the files have been read, and how many there are; for whoever waits for it.
#[derive(Default, Debug)]
pub struct Meter {
    pub done: AtomicU64,
    /// 0 while it is not known.
    pub total: AtomicU64,
}

enum Bytes {
    File(File),
    Memory(Cursor<Vec<u8>>),
}

/// An open data file.
pub struct Source<'m> {
    bytes: Bytes,
    len: u64,
    meter: &'m Meter,
}

impl<'m> Source<'m> {
    pub fn open(path: &Path, meter: &'m Meter) -> io::Result<Source<'m>> {
        let mut file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        meter.done.store(0, Ordering::Relaxed);
        meter.total.store(0, Ordering::Relaxed);
        if metadata.is_file() {
            meter.total.store(metadata.len(), Ordering::Relaxed);
            return Ok(Source { bytes: Bytes::File(file), len: metadata.len(), meter });
        }
        let mut all = Vec::new();
        let mut part = vec![0; 1 << 16];
        loop {
            match file.read(&mut part) {
                Ok(0) => break,
                Ok(n) => all.extend_from_slice(&part[..n]),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
            meter.done.store(all.len() as u64, Ordering::Relaxed);
        }
        meter.done.store(0, Ordering::Relaxed);
        Ok(Source::of_bytes(all, meter))
    }

    pub fn of_bytes(bytes: Vec<u8>, meter: &'m Meter) -> Source<'m> {
        let len = bytes.len() as u64;
        meter.total.store(len, Ordering::Relaxed);
        Source { bytes: Bytes::Memory(Cursor::new(bytes)), len, meter }
    }

    /// The size of the whole file.
    #[expect(clippy::len_without_is_empty, reason = "a file's size, no collection's")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// The first bytes of the file, at most so many; reading goes on at the beginning.
    pub fn start(&mut self, most: u64) -> io::Result<Vec<u8>> {
        let mut start = Vec::new();
        self.rewind()?;
        self.take(most).read_to_end(&mut start)?;
        self.rewind()?;
        Ok(start)
    }
}

impl Read for Source<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let n = match &mut self.bytes {
            Bytes::File(f) => f.read(to)?,
            Bytes::Memory(m) => m.read(to)?,
        };
        self.meter.done.fetch_add(n as u64, Ordering::Relaxed);
        Ok(n)
    }
}

impl Seek for Source<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.bytes {
            Bytes::File(f) => f.seek(to),
            Bytes::Memory(m) => m.seek(to),
        }
    }
}
