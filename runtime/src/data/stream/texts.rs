//! Texts of any length as the items of a stream: the lines of a file.
//!
//! ```text
//! one\ntwo\n\nfour        lengths 3 3 0 4, starts 0 3 6 6, characters onetwofour
//! ```
//!
//! `\n` and `\r\n` end a line; the last one need not end. A mark of the byte order is no part of the first.

use crate::stream::Piece;
use crate::stream::items::{Items, Layout, go_back};
use remc_base::BaseTy;
use std::io::{ErrorKind, Read, Seek};

/// How many times a line's bytes are needed: as they are read, as characters of four bytes, and those once more in a piece.
pub const TIMES: u64 = 9;

/// How many bytes are read at a time.
const BUFFER: usize = 1 << 16;

/// Texts one after the other, as three arrays: how long each is, where it begins, and the characters of all.
#[derive(Default)]
pub struct Texts {
    lengths: Vec<u8>,
    starts: Vec<u8>,
    chars: Vec<u8>,
    count: usize,
}

impl Texts {
    pub fn layout() -> Vec<Layout> {
        let ints = Layout::items(BaseTy::I64, Vec::new());
        let chars = Layout { base: BaseTy::Char, item: Vec::new(), starts: Some(1) };
        vec![ints.clone(), ints, chars]
    }

    /// No texts yet, in the memory of a piece that nobody needs any more.
    fn in_place_of(spare: Piece) -> Texts {
        let mut arrays = spare.arrays.into_iter().map(|mut bytes| {
            bytes.clear();
            bytes
        });
        let mut next = || arrays.next().unwrap_or_default();
        Texts { lengths: next(), starts: next(), chars: next(), count: 0 }
    }

    pub fn push(&mut self, text: impl Iterator<Item = char>) {
        let start = self.chars.len() / 4;
        text.for_each(|c| self.chars.extend_from_slice(&u32::from(c).to_le_bytes()));
        self.end(start);
    }

    /// The same of a text of which most characters are single bytes.
    fn push_str(&mut self, text: &str) {
        if !text.is_ascii() {
            return self.push(text.chars());
        }
        let at = self.chars.len();
        self.chars.resize(at + 4 * text.len(), 0);
        let (codes, _) = self.chars[at..].as_chunks_mut::<4>();
        codes.iter_mut().zip(text.bytes()).for_each(|(code, b)| *code = u32::from(b).to_le_bytes());
        self.end(at / 4);
    }

    fn end(&mut self, start: usize) {
        let length = self.chars.len() / 4 - start;
        self.lengths.extend_from_slice(&(length as i64).to_le_bytes());
        self.starts.extend_from_slice(&(start as i64).to_le_bytes());
        self.count += 1;
    }

    pub fn piece(self) -> Piece {
        Piece { count: self.count, arrays: vec![self.lengths, self.starts, self.chars] }
    }
}

/// The lines of a text in UTF-8.
pub struct InLines<R> {
    from: R,
    name: String,
    layout: Vec<Layout>,
    /// The most bytes of a line.
    limit: u64,
    /// What has been read and not given, from `at` on; up to `seen` no line ends there.
    open: Vec<u8>,
    at: usize,
    seen: usize,
    lines: u64,
    ended: bool,
    start: Option<u64>,
}

impl<R: Read + Seek + Send> InLines<R> {
    /// Lines of at most so many bytes.
    pub fn new(mut from: R, name: String, limit: u64) -> InLines<R> {
        let (start, layout) = (from.stream_position().ok(), Texts::layout());
        InLines { from, name, layout, limit, open: Vec::new(), at: 0, seen: 0, lines: 0, ended: false, start }
    }

    /// The next line, if all of it is there.
    fn line(&mut self) -> Result<Option<&str>, String> {
        let end = self.open[self.seen..].iter().position(|b| *b == b'\n').map(|k| self.seen + k);
        let (to, next) = match end {
            Some(end) => (end, end + 1),
            None if self.ended && self.at < self.open.len() => (self.open.len(), self.open.len()),
            None => {
                self.seen = self.open.len();
                return Ok(None);
            }
        };
        let line = &self.open[self.at..to];
        (self.at, self.seen) = (next, next);
        self.lines += 1;
        let Ok(text) = std::str::from_utf8(line) else {
            return Err(format!("`{}` is no text in UTF-8, in line {}", self.name, self.lines));
        };
        let text = if self.lines == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        Ok(Some(if end.is_some() { text.strip_suffix('\r').unwrap_or(text) } else { text }))
    }

    /// Reads more, as much as is there.
    fn more(&mut self) -> Result<(), String> {
        self.open.drain(..self.at);
        self.seen -= self.at;
        self.at = 0;
        let there = self.open.len();
        if there as u64 > self.limit {
            return Err(format!(
                "there is no memory for line {} of `{}`: it has more than {there} bytes",
                self.lines + 1,
                self.name
            ));
        }
        self.open.resize(there + BUFFER, 0);
        loop {
            match self.from.read(&mut self.open[there..]) {
                Ok(n) => {
                    self.open.truncate(there + n);
                    self.ended = n == 0;
                    return Ok(());
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    return Err(format!("`{}` cannot be read on, after line {}: {e}", self.name, self.lines));
                }
            }
        }
    }
}

impl<R: Read + Seek + Send> Items for InLines<R> {
    fn layout(&self) -> &[Layout] {
        &self.layout
    }

    fn read(&mut self, most: usize, spare: Piece) -> Result<Piece, String> {
        let mut texts = Texts::in_place_of(spare);
        loop {
            while texts.count < most
                && let Some(line) = self.line()?
            {
                texts.push_str(line);
            }
            if texts.count > 0 || self.ended {
                return Ok(texts.piece());
            }
            self.more()?;
        }
    }

    fn rewind(&mut self) -> Result<(), String> {
        go_back(&mut self.from, self.start, &self.name)?;
        self.open.clear();
        (self.at, self.seen, self.lines, self.ended) = (0, 0, 0, false);
        Ok(())
    }

    fn rewinds(&self) -> bool {
        self.start.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// The lines that come with so many at a time, in brackets.
    fn lines(text: &[u8], most: usize) -> String {
        let mut from = InLines::new(Cursor::new(text.to_vec()), "t".into(), 1 << 20);
        let mut out = String::new();
        loop {
            let piece = match from.read(most, Piece::default()) {
                Ok(piece) => piece,
                Err(e) => return out + &e,
            };
            if piece.count == 0 {
                return out;
            }
            let ints =
                |k: usize| piece.arrays[k].as_chunks::<8>().0.iter().map(|b| i64::from_le_bytes(*b) as usize);
            let codes = piece.arrays[2].as_chunks::<4>().0.iter().map(|b| u32::from_le_bytes(*b));
            let chars: Vec<char> = codes.filter_map(char::from_u32).collect();
            for (n, at) in ints(0).zip(ints(1)) {
                out.push_str(&format!("[{}]", chars[at..at + n].iter().collect::<String>()));
            }
        }
    }

    #[test]
    fn lines_end_as_they_do() {
        for most in [1, 2, 1000] {
            assert_eq!(lines("\u{feff}one\r\ntwö\n\nfour".as_bytes(), most), "[one][twö][][four]");
            assert_eq!(lines(b"a\n", most), "[a]");
            assert_eq!(lines(b"\n\r\n\r", most), "[][][\r]");
            assert_eq!(lines(b"", most), "");
        }
        assert!(lines(b"ab\ncd\n\xff\n", 1).ends_with("[cd]`t` is no text in UTF-8, in line 3"));
        let long = [vec![b'x'; 100_000], b"\nyy".to_vec()].concat();
        assert_eq!(lines(&long, 7), format!("[{}][yy]", "x".repeat(100_000)));
        let endless =
            InLines::new(Cursor::new(vec![b'x'; 300_000]), "t".into(), 100_000).read(1, Piece::default());
        assert!(endless.unwrap_err().starts_with("there is no memory for line 1 of `t`"));
    }
}
