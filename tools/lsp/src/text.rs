//! A text by lines, as the protocol counts: edits applied to it, and offsets to positions and back.
//!
//! A position is a line and a column. A column counts bytes, 16-bit units or characters, whichever the client and the
//! server have agreed on. Positions that are nowhere are taken for the nearest place before: past the end of a line for
//! its end, past the last line for the end of the text, within a character for its start.

use gen_lsp_types::{Position, PositionEncodingKind, Range, TextDocumentContentChangeEvent};

/// What a column counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    Utf8,
    Utf16,
    Utf32,
}

impl Encoding {
    /// Bytes if the client counts them too, which are never converted; else what it counts.
    pub fn of_offered(offered: &[&str]) -> Encoding {
        match offered {
            all if all.contains(&"utf-8") => Encoding::Utf8,
            all if all.contains(&"utf-16") || all.is_empty() => Encoding::Utf16,
            all if all.contains(&"utf-32") => Encoding::Utf32,
            _ => Encoding::Utf16,
        }
    }

    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn width(self, c: char) -> u32 {
        match self {
            Encoding::Utf8 => c.len_utf8() as u32,
            Encoding::Utf16 => c.len_utf16() as u32,
            Encoding::Utf32 => 1,
        }
    }

    /// How many columns a text without line ends has.
    pub fn columns(self, text: &str) -> u32 {
        match self {
            Encoding::Utf8 => text.len() as u32,
            _ => text.chars().map(|c| self.width(c)).sum(),
        }
    }
}

/// A text and where its lines begin.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Text {
    text: String,
    lines: Vec<u32>,
}

/// A part of a text that an edit has replaced, in bytes of the text before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replaced {
    pub start: u32,
    pub end: u32,
    /// How long what stands there now is.
    pub length: u32,
}

impl Text {
    pub fn new(text: String) -> Text {
        let lines = lines(&text);
        Text { text, lines }
    }

    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Applies the changes of a notification, each to what the one before has left.
    pub fn apply(
        &mut self,
        changes: Vec<TextDocumentContentChangeEvent>,
        encoding: Encoding,
    ) -> Vec<Replaced> {
        let mut replaced = Vec::new();
        for change in changes {
            let (from, to, text) = match change {
                TextDocumentContentChangeEvent::TextDocumentContentChangePartial(part) => {
                    let range = self.offsets(part.range, encoding);
                    (range.start, range.end, part.text)
                }
                TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole) => {
                    (0, self.text.len() as u32, whole.text)
                }
            };
            // Clients replace more than has changed.
            let (start, end, text) = difference(&self.text[from as usize..to as usize], &text);
            let (start, end) = (from + start, from + end);
            self.text.replace_range(start as usize..end as usize, text);
            self.lines = lines(&self.text);
            replaced.push(Replaced { start, end, length: text.len() as u32 });
        }
        replaced
    }

    /// The byte of the text at a position.
    pub fn offset(&self, at: Position, encoding: Encoding) -> u32 {
        let Some(&start) = self.lines.get(at.line as usize) else { return self.text.len() as u32 };
        let line = self.line(at.line as usize);
        let mut column = 0;
        for (byte, c) in line.char_indices() {
            column += encoding.width(c);
            if column > at.character {
                return start + byte as u32;
            }
        }
        start + line.len() as u32
    }

    pub fn offsets(&self, range: Range, encoding: Encoding) -> std::ops::Range<u32> {
        let (start, end) = (self.offset(range.start, encoding), self.offset(range.end, encoding));
        start.min(end)..end.max(start)
    }

    /// The position of a byte of the text.
    pub fn position(&self, offset: u32, encoding: Encoding) -> Position {
        let line = self.lines.partition_point(|start| *start <= offset) - 1;
        let start = self.lines[line];
        let inside = self.line(line);
        let mut byte = ((offset - start) as usize).min(inside.len());
        while !inside.is_char_boundary(byte) {
            byte -= 1;
        }
        Position { line: line as u32, character: encoding.columns(&inside[..byte]) }
    }

    pub fn range(&self, start: u32, end: u32, encoding: Encoding) -> Range {
        Range { start: self.position(start, encoding), end: self.position(end.max(start), encoding) }
    }

    /// A line without its end.
    fn line(&self, line: usize) -> &str {
        let end = self.lines.get(line + 1).map_or(self.text.len(), |end| *end as usize);
        let line = &self.text[self.lines[line] as usize..end];
        line.strip_suffix("\r\n").or_else(|| line.strip_suffix(['\n', '\r'])).unwrap_or(line)
    }
}

/// Where lines begin: after each `\n`, `\r\n` and `\r`.
fn lines(text: &str) -> Vec<u32> {
    let bytes = text.as_bytes();
    let mut lines = vec![0];
    for (i, b) in bytes.iter().enumerate() {
        if *b == b'\n' || (*b == b'\r' && bytes.get(i + 1) != Some(&b'\n')) {
            lines.push(i as u32 + 1);
        }
    }
    lines
}

/// The part of a text in which it differs from another, and what the other has there.
pub fn difference<'b>(a: &str, b: &'b str) -> (u32, u32, &'b str) {
    let same = |(x, y): &(u8, u8)| x == y;
    let mut head = a.bytes().zip(b.bytes()).take_while(same).count();
    while !a.is_char_boundary(head) || !b.is_char_boundary(head) {
        head -= 1;
    }
    let (rest_a, rest_b) = (&a[head..], &b[head..]);
    let mut tail = rest_a.bytes().rev().zip(rest_b.bytes().rev()).take_while(same).count();
    while !rest_a.is_char_boundary(rest_a.len() - tail) || !rest_b.is_char_boundary(rest_b.len() - tail) {
        tail -= 1;
    }
    (head as u32, (a.len() - tail) as u32, &rest_b[..rest_b.len() - tail])
}

#[cfg(test)]
mod tests {
    use super::*;
    use gen_lsp_types::{TextDocumentContentChangePartial, TextDocumentContentChangeWholeDocument};
    use proptest::prelude::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_are_counted_as_agreed() {
        let text = Text::new("(λ\n𝄞 x)\r\n\rend".to_owned());
        for (offset, utf8, utf16, utf32) in [
            (0, at(0, 0), at(0, 0), at(0, 0)),
            (3, at(0, 3), at(0, 2), at(0, 2)),
            (4, at(1, 0), at(1, 0), at(1, 0)),
            (8, at(1, 4), at(1, 2), at(1, 1)),
            (11, at(1, 7), at(1, 5), at(1, 4)),
            (13, at(2, 0), at(2, 0), at(2, 0)),
            (14, at(3, 0), at(3, 0), at(3, 0)),
            (17, at(3, 3), at(3, 3), at(3, 3)),
        ] {
            for (encoding, at) in [(Encoding::Utf8, utf8), (Encoding::Utf16, utf16), (Encoding::Utf32, utf32)]
            {
                assert_eq!(text.position(offset, encoding), at, "{offset} {encoding:?}");
                assert_eq!(text.offset(at, encoding), offset, "{at:?} {encoding:?}");
            }
        }
    }

    #[test]
    fn positions_that_are_nowhere_are_the_nearest_before() {
        let text = Text::new("ab\r\n𝄞\n".to_owned());
        assert_eq!(text.offset(at(0, 99), Encoding::Utf16), 2);
        assert_eq!(text.offset(at(1, 1), Encoding::Utf16), 4, "within a pair");
        assert_eq!(text.offset(at(1, 3), Encoding::Utf8), 4, "within a character");
        assert_eq!(text.offset(at(99, 0), Encoding::Utf8), 9);
        assert_eq!(text.position(3, Encoding::Utf8), at(0, 2), "within the end of a line");
        assert_eq!(text.position(6, Encoding::Utf8), at(1, 0));
        assert_eq!(text.position(99, Encoding::Utf8), at(2, 0));
        assert_eq!(Text::new(String::new()).offset(at(0, 5), Encoding::Utf16), 0);
        // A range backwards is one all the same.
        assert_eq!(text.offsets(Range { start: at(1, 0), end: at(0, 1) }, Encoding::Utf8), 1..4);
    }

    #[test]
    fn bytes_are_preferred() {
        assert_eq!(Encoding::of_offered(&["utf-16", "utf-8"]), Encoding::Utf8);
        assert_eq!(Encoding::of_offered(&[]), Encoding::Utf16);
        assert_eq!(Encoding::of_offered(&["utf-32"]), Encoding::Utf32);
        assert_eq!(Encoding::of_offered(&["utf-7"]), Encoding::Utf16);
    }

    #[test]
    fn changes_come_one_after_the_other() {
        let part = |l0, c0, l1, c1, text: &str| {
            TextDocumentContentChangeEvent::TextDocumentContentChangePartial(
                TextDocumentContentChangePartial {
                    range: Range { start: at(l0, c0), end: at(l1, c1) },
                    text: text.to_owned(),
                    ..Default::default()
                },
            )
        };
        let mut text = Text::new("one\ntwo\n".to_owned());
        let replaced = text.apply(vec![part(0, 3, 1, 0, " "), part(0, 4, 0, 7, "λ\r\n")], Encoding::Utf16);
        assert_eq!(text, Text::new("one λ\r\n\n".to_owned()));
        assert_eq!(replaced[0], Replaced { start: 3, end: 4, length: 1 });
        assert_eq!(replaced[1], Replaced { start: 4, end: 7, length: 4 });
        let whole = TextDocumentContentChangeWholeDocument { text: "one λx\r\n\n".to_owned() };
        let whole = TextDocumentContentChangeEvent::TextDocumentContentChangeWholeDocument(whole);
        assert_eq!(text.apply(vec![whole], Encoding::Utf16), [Replaced { start: 6, end: 6, length: 1 }]);
        assert_eq!(text.as_str(), "one λx\r\n\n");
        let replaced = text.apply(vec![part(0, 1, 0, 6, "ne μxx")], Encoding::Utf16);
        assert_eq!((replaced[0], text.as_str()), (Replaced { start: 4, end: 6, length: 3 }, "one μxx\r\n\n"));
    }

    proptest! {
        #[test]
        fn positions_come_back(text in "[aλ𝄞\r\n]{0,20}", encoding in 0..3usize) {
            let encoding = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32][encoding];
            let t = Text::new(text.clone());
            for (offset, _) in text.char_indices().chain([(text.len(), ' ')]) {
                // Between `\r` and `\n` is no place.
                if !(text[..offset].ends_with('\r') && text[offset..].starts_with('\n')) {
                    prop_assert_eq!(t.offset(t.position(offset as u32, encoding), encoding), offset as u32);
                }
            }
        }

        #[test]
        fn a_difference_makes_one_text_the_other(a in "[aλ𝄞μ]{0,8}", b in "[aλ𝄞μ]{0,8}") {
            let (start, end, middle) = difference(&a, &b);
            let mut made = a.clone();
            made.replace_range(start as usize..end as usize, middle);
            prop_assert_eq!(made, b);
        }
    }
}
