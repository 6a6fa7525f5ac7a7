//! The fields of a table, one after the other, as its bytes come.
//!
//! No line is held in memory, since a vector may be a single line, and a file may be a line without an end. A field in
//! quotes may hold separators, line ends, and quotes written twice. White space around a field does not count; empty
//! lines and lines of a comment alone are left out. `\n`, `\r\n` and `\r` end a line.
//!
//! The csv crate reads records of one separator each, whole, and has neither runs of blanks nor comments behind data.

use super::super::DataError;
use super::super::elements::reason;
use super::options::{Options, Separator};
use crate::budget::{Budget, Room};
use std::io::{self, Read};

/// How many bytes are read at a time.
const BUFFER: usize = 1 << 16;
/// More bytes than these without a field are no table, but a pipe that never ends.
const MOST_IDLE: u64 = 1 << 30;

/// Where a field stands, both from 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct At {
    pub line: u64,
    pub column: usize,
    /// Whether it is the last of its line.
    pub last: bool,
}

/// Fields as they come from a source.
pub struct Fields<'s, 'm> {
    source: &'s mut dyn Read,
    room: Room<'m>,
    /// How many bytes were read since the last field.
    idle: u64,
    lexer: Lexer,
}

/// How far a table has been read, and how it is written: what stays between two parts of it.
pub struct Lexer {
    separator: Separator,
    comment: Option<u8>,
    /// The bytes that end what is not in quotes.
    stops: [bool; 256],
    buffer: Vec<u8>,
    at: usize,
    end: usize,
    /// The field that was read last.
    text: Vec<u8>,
    line: u64,
    /// How many fields of this line have been read.
    column: usize,
}

impl<'s, 'm> Fields<'s, 'm> {
    /// The fields behind the lines that are left out.
    pub fn new(
        source: &'s mut dyn Read,
        budget: &'m Budget,
        separator: Separator,
        options: &Options,
    ) -> Result<Self, DataError> {
        let mut stops = [false; 256];
        let separators = match separator {
            Separator::Byte(b) => vec![b],
            Separator::Blanks => vec![b' ', b'\t'],
        };
        separators
            .iter()
            .chain(&options.comment)
            .chain(b"\n\r\0")
            .for_each(|b| stops[usize::from(*b)] = true);
        let room = budget.room();
        let lexer = Lexer {
            separator,
            comment: options.comment,
            stops,
            buffer: vec![0; BUFFER],
            at: 0,
            end: 0,
            text: Vec::new(),
            line: 1 + options.before,
            column: 0,
        };
        let mut fields = Fields { source, room, idle: 0, lexer };
        fields.mark()?;
        for _ in 0..options.skip {
            fields.skip_line()?;
        }
        Ok(fields)
    }

    /// Leaves the bytes where they are.
    pub fn pause(self) -> Lexer {
        self.lexer
    }

    /// Goes on.
    pub fn resume(source: &'s mut dyn Read, budget: &'m Budget, lexer: Lexer) -> Self {
        Fields { source, room: budget.room(), idle: 0, lexer }
    }

    /// Whether the next byte is still to be read, and may have to be waited for.
    pub fn is_waiting(&self) -> bool {
        self.lexer.at == self.lexer.end
    }

    /// The next field; its text is [`Self::text`].
    pub fn next(&mut self) -> Result<Option<At>, DataError> {
        if self.lexer.column == 0 && !self.find_line()? {
            return Ok(None);
        }
        self.lexer.text.clear();
        self.skip_blanks()?;
        if self.peek()? == Some(b'"') {
            self.quoted()?
        } else {
            self.plain()?
        }
        self.lexer.column += 1;
        self.idle = 0;
        let mut at = At { line: self.lexer.line, column: self.lexer.column, last: true };
        if self.lexer.separator == Separator::Blanks {
            self.skip_blanks()?;
        }
        match self.peek()? {
            None => {}
            Some(b'\n' | b'\r') => self.end_line()?,
            c if c == self.lexer.comment => self.skip_line()?,
            _ if self.lexer.separator == Separator::Blanks => at.last = false,
            _ => {
                self.lexer.at += 1;
                at.last = false;
            }
        }
        if at.last {
            self.lexer.column = 0;
        }
        Ok(Some(at))
    }

    pub fn text(&self) -> &[u8] {
        &self.lexer.text
    }

    /// Goes to the beginning of a line that holds something.
    fn find_line(&mut self) -> Result<bool, DataError> {
        loop {
            self.skip_blanks()?;
            match self.peek()? {
                None => return Ok(false),
                Some(b'\n' | b'\r') => self.end_line()?,
                c if c == self.lexer.comment => self.skip_line()?,
                _ => return Ok(true),
            }
        }
    }

    /// What is not in quotes, up to a separator or the end of the line, without the blanks around it.
    fn plain(&mut self) -> Result<(), DataError> {
        let start = self.lexer.text.len();
        while let Some(c) = self.peek()? {
            if self.lexer.stops[usize::from(c)] {
                break;
            }
            let there = &self.lexer.buffer[self.lexer.at..self.lexer.end];
            let n = there.iter().position(|b| self.lexer.stops[usize::from(*b)]).unwrap_or(there.len());
            self.room.grow(&mut self.lexer.text, n).map_err(DataError::TooMuch)?;
            self.lexer.text.extend_from_slice(&self.lexer.buffer[self.lexer.at..self.lexer.at + n]);
            self.lexer.at += n;
        }
        let kept = start + self.lexer.text[start..].trim_ascii_end().len();
        self.lexer.text.truncate(kept);
        Ok(())
    }

    fn quoted(&mut self) -> Result<(), DataError> {
        let opened = self.lexer.line;
        self.lexer.at += 1;
        loop {
            let c = match self.peek()? {
                None => {
                    return Err(DataError::table(format!(
                        "line {opened}: a quote is opened and never closed"
                    )));
                }
                Some(b'"') => {
                    self.lexer.at += 1;
                    if self.peek()? != Some(b'"') {
                        break;
                    }
                    b'"'
                }
                Some(c) => c,
            };
            self.lexer.line += u64::from(c == b'\n');
            self.lexer.at += 1;
            self.room.grow(&mut self.lexer.text, 1).map_err(DataError::TooMuch)?;
            self.lexer.text.push(c);
        }
        // What follows belongs to the field, though nobody should write it so.
        if self.lexer.separator != Separator::Blanks {
            self.skip_blanks()?;
        }
        self.plain()
    }

    fn skip_blanks(&mut self) -> Result<(), DataError> {
        let tabs = self.lexer.separator != Separator::Byte(b'\t');
        while let Some(c) = self.peek()? {
            if c != b' ' && !(c == b'\t' && tabs) {
                break;
            }
            self.lexer.at += 1;
        }
        Ok(())
    }

    /// Leaves out what is left of the line.
    fn skip_line(&mut self) -> Result<(), DataError> {
        while let Some(c) = self.peek()? {
            if c == b'\n' || c == b'\r' {
                return self.end_line();
            }
            self.lexer.at += 1;
        }
        Ok(())
    }

    /// Past the end of a line, at which one is.
    fn end_line(&mut self) -> Result<(), DataError> {
        let first = self.peek()?;
        self.lexer.at += 1;
        if first == Some(b'\r') && self.peek()? == Some(b'\n') {
            self.lexer.at += 1;
        }
        self.lexer.line += 1;
        Ok(())
    }

    /// The next byte, without going past it.
    fn peek(&mut self) -> Result<Option<u8>, DataError> {
        if self.lexer.at == self.lexer.end {
            (self.lexer.at, self.lexer.end) = (0, 0);
            self.fill()?;
        }
        match self.lexer.buffer[self.lexer.at..self.lexer.end].first() {
            Some(0) => Err(DataError::Unreadable(format!(
                "it is no table, which is text: line {} holds a byte 0",
                self.lexer.line
            ))),
            byte => Ok(byte.copied()),
        }
    }

    /// Reads more behind what is there.
    fn fill(&mut self) -> Result<bool, DataError> {
        loop {
            match self.source.read(&mut self.lexer.buffer[self.lexer.end..]) {
                Ok(n) => {
                    self.lexer.end += n;
                    self.idle += n as u64;
                    if self.idle > MOST_IDLE {
                        return Err(DataError::Unreadable(
                            "it goes on without data and without an end".into(),
                        ));
                    }
                    return Ok(n > 0);
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(DataError::Unreadable(reason(&e))),
            }
        }
    }

    /// Past a mark of UTF-8, or that the text is of another encoding.
    fn mark(&mut self) -> Result<(), DataError> {
        const MARKS: [&[u8]; 3] = [&[0xef, 0xbb, 0xbf], &[0xff, 0xfe], &[0xfe, 0xff]];
        // No more is waited for than what decides.
        let undecided = |b: &[u8]| MARKS.iter().any(|m| m.len() > b.len() && m.starts_with(b));
        while undecided(&self.lexer.buffer[..self.lexer.end]) && self.fill()? {}
        match self.lexer.buffer[..self.lexer.end] {
            [0xef, 0xbb, 0xbf, ..] => self.lexer.at = 3,
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => {
                return Err(DataError::Unreadable("it is UTF-16: write it as UTF-8".into()));
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::options;
    use super::*;
    use crate::budget::Budget;
    use crate::data::source::{Meter, Source};

    /// The fields, those of a line in brackets behind its number.
    fn fields(text: &str, said: &str) -> String {
        let (meter, budget) = (Meter::default(), Budget::new(1 << 20));
        let mut source = Source::of_bytes(text.into(), &meter, &budget);
        let options = if said.is_empty() { Options::default() } else { options::parse(said).unwrap() };
        let separator = options.separator.unwrap_or(Separator::Byte(b','));
        let mut out = String::new();
        let read = Fields::new(&mut source, &budget, separator, &options).and_then(|mut fields| {
            while let Some(at) = fields.next()? {
                if at.column == 1 {
                    out.push_str(&format!("{}", at.line));
                }
                out.push_str(&format!("[{}]", String::from_utf8_lossy(fields.text())));
                out.push_str(if at.last { " " } else { "" });
            }
            Ok(())
        });
        match read {
            Ok(()) => out.trim_end().to_owned(),
            Err(e) => format!("{out}{e:?}"),
        }
    }

    #[test]
    fn lines_and_fields() {
        assert_eq!(fields("1,2\n3,4", ""), "1[1][2] 2[3][4]");
        assert_eq!(fields("\u{feff}1 , \"2\"\r\n\r\n 3,4e0\r5,6\n\n", ""), "1[1][2] 3[3][4e0] 4[5][6]");
        assert_eq!(fields("1,\n,2\n,", ""), "1[1][] 2[][2] 3[][]");
        assert_eq!(
            fields("\"a,b\",\"say \"\"so\"\"\"\n\"two\nlines\",3\n4", ""),
            "1[a,b][say \"so\"] 3[two\nlines][3] 4[4]"
        );
        assert_eq!(fields("\"a\" b,5\" x\n", ""), "1[ab][5\" x]");
        assert_eq!(fields("  \n \t\n1\n", ""), "3[1]");
        assert_eq!(fields("", ""), "");
        assert!(fields("1\n\"2\n", "").contains("line 2: a quote is opened and never closed"));
        assert!(fields("1\n2\0", "").contains("line 2 holds a byte 0"));
    }

    #[test]
    fn separators_comments_and_lines_left_out() {
        assert_eq!(fields(" 1  2\t3 \n\"a b\" \"\"\n", "sep=space"), "1[1][2][3] 2[a b][]");
        assert_eq!(fields("1;2,5\n", "sep=;"), "1[1][2,5]");
        assert_eq!(fields("1\t\t2 3\n\t4\t\n", "sep=tab"), "1[1][][2 3] 2[][4][]");
        assert_eq!(fields("# x,y\n1,2 # so\n  # no\n\"#3\",4\n", "comment=#"), "2[1][2] 4[#3][4]");
        assert_eq!(fields("# x y\n1 2 # so\n3 4\n", "comment=#:sep=space"), "2[1][2] 3[3][4]");
        assert_eq!(fields("a \"title\n\nx\n1\n", "skip=2"), "3[x] 4[1]");
        assert_eq!(fields("1\n", "skip=7"), "");
    }

    #[test]
    fn a_field_without_an_end_stops_at_the_budget() {
        let (meter, budget) = (Meter::default(), Budget::new(100_000));
        for text in ["7".repeat(1 << 20), format!("\"{}", "x\n".repeat(1 << 20))] {
            let mut source = Source::of_bytes(text.into(), &meter, &budget);
            let mut fields =
                Fields::new(&mut source, &budget, Separator::Byte(b','), &Options::default()).unwrap();
            assert!(matches!(fields.next(), Err(DataError::TooMuch(_))));
        }
        assert_eq!(budget.left(), 100_000);
    }
}
