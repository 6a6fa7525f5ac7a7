//! The s-expressions that the text form of every IR is written in, which `lexpr` reads and quotes.
//!
//! ```text
//! s ::= ( s … ) | integer | "string" | atom
//! ```
//!
//! Text is ASCII and of what R6RS can spell: a string escapes what is not (`\x3bb;`), the bits of a float
//! are a number in hexadecimal (`#x3ff0000000000000`), an atom is a symbol or a decimal with a point
//! (`1.0e-7`), `;` starts a comment that ends with the line. An integer past 64 bits is a string of its
//! digits. This is not the reader of the language, whose text is richer and whose mistakes deserve
//! recovery; an IR text stops at its first error.
//!
//! An IR text may come from anywhere, and `lexpr` tells no offsets, closes `(` by `]`, reads what means
//! nothing here (quotes, dotted pairs, vectors, keywords, characters) and rounds an integer that is too
//! wide. So a scan goes first: it finds where every part starts and ends, bounds the nesting
//! ([`MAX_DEPTH`]; an IR's printer keeps it small by writing trees as flat lists), and lets through what
//! is of the grammar above. The values that `lexpr` then reads are in the order of those parts.

use lexpr::print::{CharEscape, Formatter, Printer};
use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

/// How deep lists may nest.
pub const MAX_DEPTH: usize = 127;

/// One s-expression of a text, and the offset of its first byte.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sexp<'t> {
    pub offset: usize,
    pub kind: SexpKind<'t>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SexpKind<'t> {
    Int(i128),
    Str(String),
    Atom(&'t str),
    List(Vec<Sexp<'t>>),
}

/// What was wrong with an IR text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SexpError {
    pub offset: usize,
    pub message: String,
}

impl fmt::Display for SexpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at byte {}: {}", self.offset, self.message)
    }
}

impl std::error::Error for SexpError {}

/// Reads all of `text`.
///
/// # Errors
/// The first place that is not of the grammar.
pub fn read(text: &str) -> Result<Vec<Sexp<'_>>, SexpError> {
    let (parts, tops) = scan(text)?;
    let mut parts = parts.into_iter();
    tops.into_iter().map(|top| datum(text, top, &mut parts)).collect()
}

/// The datum at `place`, whose parts are the next of `parts`.
fn datum<'t>(
    text: &'t str,
    place: Range<usize>,
    parts: &mut impl Iterator<Item = Range<usize>>,
) -> Result<Sexp<'t>, SexpError> {
    let value = lexpr::from_str(&text[place.clone()]).map_err(|e| {
        // Lines and columns count from one; what is read before a datum is refused ends in it.
        let inside = e.location().map_or(0, |l| {
            let lines = text[place.clone()].split_inclusive('\n').take(l.line().saturating_sub(1));
            lines.map(str::len).sum::<usize>() + l.column().saturating_sub(1)
        });
        let offset = (place.start + inside).min(place.end.saturating_sub(1));
        SexpError { offset, message: e.to_string() }
    })?;
    convert(text, value, parts)
}

/// `value` with the places of its parts, as deep as [`MAX_DEPTH`].
fn convert<'t>(
    text: &'t str,
    value: lexpr::Value,
    parts: &mut impl Iterator<Item = Range<usize>>,
) -> Result<Sexp<'t>, SexpError> {
    let Some(place) = parts.next() else {
        return Err(SexpError { offset: text.len(), message: "more data than parts".to_owned() });
    };
    let kind = match value {
        lexpr::Value::Null => SexpKind::List(Vec::new()),
        // Taken apart from its head: a list of a million may not be dropped by recursion.
        lexpr::Value::Cons(list) => {
            let items = list.into_vec().0.into_iter();
            SexpKind::List(items.map(|item| convert(text, item, parts)).collect::<Result<_, _>>()?)
        }
        lexpr::Value::String(s) => SexpKind::Str(s.into()),
        lexpr::Value::Number(n) => match (n.as_i64(), n.as_u64()) {
            (Some(n), _) => SexpKind::Int(n.into()),
            (_, Some(n)) => SexpKind::Int(n.into()),
            _ => SexpKind::Atom(&text[place.clone()]),
        },
        _ => SexpKind::Atom(&text[place.clone()]),
    };
    Ok(Sexp { offset: place.start, kind })
}

/// Where parts of a text are: all, in the order in which they start, and those that are in no list.
type Places = (Vec<Range<usize>>, Vec<Range<usize>>);

/// Where the parts of `text` are.
fn scan(text: &str) -> Result<Places, SexpError> {
    let bytes = text.as_bytes();
    let error = |offset: usize, message: String| Err(SexpError { offset, message });
    let (mut parts, mut tops): Places = (Vec::new(), Vec::new());
    // The lists that are open, as places in `parts`, innermost last.
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => {
                at += 1;
                continue;
            }
            b';' => {
                at += bytes[at..].iter().position(|&b| b == b'\n').unwrap_or(bytes.len() - at);
                continue;
            }
            b'(' => {
                if open.len() == MAX_DEPTH {
                    return error(start, format!("lists nest deeper than {MAX_DEPTH}"));
                }
                at += 1;
                open.push(parts.len());
                parts.push(start..at);
                continue;
            }
            b')' => {
                at += 1;
                let Some(list) = open.pop() else {
                    return error(start, "`)` without a list to close".to_owned());
                };
                parts[list].end = at;
                if open.is_empty() {
                    tops.push(parts[list].clone());
                }
                continue;
            }
            b'"' => at = string_end(bytes, start)?,
            b if is_atom_byte(b) => {
                at += bytes[at..].iter().position(|&b| !is_atom_byte(b)).unwrap_or(bytes.len() - at);
                if let Some(message) = atom_fault(&text[start..at]) {
                    return error(start, message.to_owned());
                }
                // For `lexpr` the symbol would go on.
                if bytes.get(at).is_some_and(|b| b"\";".contains(b)) {
                    return error(at, "a string or comment follows an atom without a space".to_owned());
                }
            }
            b => return error(start, format!("byte {b:#04x} has no meaning here")),
        }
        parts.push(start..at);
        if open.is_empty() {
            tops.push(start..at);
        }
    }
    match open.last() {
        Some(&list) => error(parts[list].start, "this list is never closed".to_owned()),
        None => Ok((parts, tops)),
    }
}

/// Whether a byte may stand in an atom.
pub fn is_atom_byte(b: u8) -> bool {
    b.is_ascii_graphic() && !b"()[]{}\";'`,|\\".contains(&b)
}

/// Why a run of such bytes is no atom of the grammar.
fn atom_fault(word: &str) -> Option<&'static str> {
    if let Some(rest) = word.strip_prefix('#') {
        let bits = rest.strip_prefix('x').filter(|hex| hex.bytes().all(|b| b.is_ascii_hexdigit()));
        return match bits {
            Some(hex) if (1..=16).contains(&hex.len()) => None,
            Some(_) => Some("`#x` is followed by one to sixteen hexadecimal digits"),
            None => Some("`#` starts a number in hexadecimal, `#x…`, and nothing else"),
        };
    }
    // A sign or a point may start a symbol (`->`), or a number.
    let unsigned = word.strip_prefix(['-', '+']).unwrap_or(word);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') || word == "..." {
        return None;
    }
    if word == "." {
        return Some("a dotted pair has no meaning here");
    }
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let digits = word.strip_prefix('-').unwrap_or(word);
    match digits.split_once('.') {
        None if is_digits(digits) => {
            let narrow = word.parse::<i64>().is_ok() || word.parse::<u64>().is_ok();
            (!narrow).then_some("integer wider than 64 bits, which is written as a string of its digits")
        }
        Some((whole, rest)) => {
            let (fraction, exponent) = rest.split_once('e').unwrap_or((rest, "0"));
            let exponent = exponent.strip_prefix('-').unwrap_or(exponent);
            let decimal = is_digits(whole) && is_digits(fraction) && is_digits(exponent);
            (!decimal).then_some("neither a number nor a symbol")
        }
        None => Some("neither a number nor a symbol"),
    }
}

/// Where the string that starts at `start` ends.
fn string_end(bytes: &[u8], start: usize) -> Result<usize, SexpError> {
    let mut at = start + 1;
    while let Some(&b) = bytes.get(at) {
        match b {
            b'"' => return Ok(at + 1),
            b'\\' => {
                at += escape(&bytes[at..]).ok_or_else(|| SexpError {
                    offset: at,
                    message: "unknown escape in a string".to_owned(),
                })?
            }
            _ => at += 1,
        }
    }
    Err(SexpError { offset: start, message: "this string is never closed".to_owned() })
}

/// The length of the escape that `bytes` start with, of those that [`quoted`] writes.
fn escape(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'a' | b'b' | b't' | b'n' | b'v' | b'f' | b'r' => Some(2),
        b'x' => {
            let digits = bytes[2..].iter().take_while(|b| b.is_ascii_hexdigit()).count();
            let hex = std::str::from_utf8(&bytes[2..2 + digits.min(7)]).ok()?;
            let char = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
            (char.is_some() && digits == hex.len() && bytes.get(2 + digits) == Some(&b';'))
                .then_some(digits + 3)
        }
        _ => None,
    }
}

impl Sexp<'_> {
    /// The integer that this is, a string of digits if it is wider than 64 bits.
    pub fn integer(&self) -> Option<i128> {
        match &self.kind {
            SexpKind::Int(n) => Some(*n),
            SexpKind::Str(digits) => digits.parse().ok().filter(|n| is_wide(*n)),
            _ => None,
        }
    }
}

/// Whether an integer is outside of what `lexpr` reads exactly.
fn is_wide(n: i128) -> bool {
    i64::try_from(n).is_err() && u64::try_from(n).is_err()
}

/// `n` as text that [`Sexp::integer`] gives back.
pub fn integer(n: impl Into<i128>) -> String {
    let n = n.into();
    if is_wide(n) { format!("\"{n}\"") } else { n.to_string() }
}

/// The bits of a float of `digits` hexadecimal digits.
pub fn bits(bits: impl Into<u64>, digits: usize) -> String {
    format!("#x{:0digits$x}", bits.into())
}

/// `text` as a string that [`read`] reads back.
pub fn quoted(text: &str) -> String {
    let mut printer = Printer::with_formatter(Vec::new(), Ascii);
    let value = lexpr::Value::string(text);
    // Writing to memory does not fail, and what is written is ASCII.
    printer.print(&value).ok().and_then(|()| String::from_utf8(printer.into_inner()).ok()).unwrap_or_default()
}

/// Strings whose characters outside of ASCII are escaped.
struct Ascii;

impl Formatter for Ascii {
    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        fragment.chars().try_for_each(|c| match c {
            ' '..='~' => write!(writer, "{c}"),
            _ => write!(writer, "\\x{:x};", c as u32),
        })
    }

    fn write_char_escape<W: ?Sized + Write>(&mut self, writer: &mut W, escape: CharEscape) -> io::Result<()> {
        lexpr::print::DefaultFormatter.write_char_escape(writer, escape)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lists_atoms_integers_and_strings() {
        let text = "(a -12 (\"x\\\"\\x3bb;\") %x.1) ; comment\n()";
        let all = read(text).unwrap();
        assert_eq!(all.len(), 2);
        let SexpKind::List(items) = &all[0].kind else { panic!() };
        assert_eq!(items[0].kind, SexpKind::Atom("a"));
        assert_eq!(items[1].kind, SexpKind::Int(-12));
        let SexpKind::List(inner) = &items[2].kind else { panic!() };
        assert_eq!(inner[0].kind, SexpKind::Str("x\"λ".to_owned()));
        assert_eq!(items[3], Sexp { offset: 21, kind: SexpKind::Atom("%x.1") });
    }

    #[test]
    fn quoted_strings_read_back() {
        for s in ["", "plain", "a\"b\\c", "λ\n\t\u{10ffff}", "{}"] {
            let text = quoted(s);
            assert!(text.is_ascii());
            assert_eq!(read(&text).unwrap()[0].kind, SexpKind::Str(s.to_owned()));
        }
    }

    #[test]
    fn errors_point_at_the_place() {
        for (text, offset) in [
            ("(a (b)", 0),
            ("a )", 2),
            ("(\"abc", 1),
            ("\"\\x\"", 1),
            ("(a \"\\xd800;\")", 4),
            ("\"\\x+41;\"", 1),
            ("\"\\x41\"", 1),
            ("x [1]", 2),
            ("(a . b)", 3),
            ("(a #t)", 3),
            ("1e5", 0),
            ("+1.0", 0),
            ("7u8", 0),
            ("-.", 0),
            ("(a\"b\")", 2),
            ("#x", 0),
            ("#x10000000000000000", 0),
            ("λ", 0),
            ("18446744073709551616", 0),
            ("(a\n (b 1.5.2))", 7),
        ] {
            assert_eq!(read(text).unwrap_err().offset, offset, "{text}");
        }
    }

    #[test]
    fn integers_of_any_width_read_back() {
        let ends = [i128::MIN, i128::MAX, 0, -1, i64::MIN.into(), i64::MAX.into(), u64::MAX.into()];
        for n in ends.into_iter().chain([i128::from(i64::MIN) - 1, i128::from(u64::MAX) + 1]) {
            assert_eq!(read(&integer(n)).unwrap()[0].integer(), Some(n));
        }
        // A narrow one has one spelling.
        assert_eq!(read("\"7\"").unwrap()[0].integer(), None);
        assert_eq!(read("#xffffffffffffffff").unwrap()[0].integer(), Some(u64::MAX.into()));
    }

    #[test]
    fn decimals_and_symbols_are_atoms_as_they_are_written() {
        for word in ["1.0e-7", "-0.0", "1.7976931348623157e308", "+", "->", "f32:#x7f800000", "i8:-4", "..."]
        {
            assert_eq!(read(word).unwrap()[0].kind, SexpKind::Atom(word));
        }
    }

    /// What `lexpr` makes of a text has the parts that the scan has found, or is an error.
    #[test]
    fn the_scan_and_lexpr_agree() {
        let pieces = [
            "(",
            ")",
            " ",
            "\n",
            "a",
            "nil",
            "t",
            ":",
            "a:b",
            "-",
            "+",
            "->",
            "...",
            ".",
            ".5",
            "1",
            "-7",
            "007",
            "1.0e-7",
            "1.5.2",
            "+inf.0",
            "-nan.0",
            "inf",
            "#x1f",
            "#t",
            "@",
            "!@b.1",
            "?",
            "^t.0",
            "$",
            "&",
            "%x%2e.1",
            "~",
            "<=",
            "/",
            "; c )\"\n",
            "\"a\\x3bb;\n λ\"",
            "\"\\q\"",
            "\"",
            "=>",
            "_",
            "e5",
            "1e5",
            "f32:#x7f800000",
            "i8:-4",
        ];
        let mut state = 7u64;
        let mut draw = |n: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % n
        };
        fn places(all: &[Sexp<'_>], out: &mut Vec<usize>) {
            for s in all {
                out.push(s.offset);
                if let SexpKind::List(items) = &s.kind {
                    places(items, out);
                }
            }
        }
        let mut accepted = 0;
        for _ in 0..20_000 {
            let count = draw(9) + 1;
            let mut text: String = (0..count).map(|_| pieces[draw(pieces.len())]).collect();
            // Half of them in a list, which more of them close than not.
            if draw(2) == 0 {
                text = format!("({text})");
            }
            let Ok(all) = read(&text) else { continue };
            let mut found = Vec::new();
            places(&all, &mut found);
            let (parts, _) = scan(&text).unwrap();
            assert_eq!(found, parts.iter().map(|p| p.start).collect::<Vec<_>>(), "{text:?}");
            accepted += 1;
        }
        assert!(accepted > 2_000, "{accepted}");
    }

    #[test]
    fn depth_is_bounded_and_length_is_not() {
        assert!(read(&"(".repeat(1_000_000)).unwrap_err().message.contains("deeper"));
        let deepest = format!("{}{}", "(".repeat(MAX_DEPTH), ")".repeat(MAX_DEPTH));
        read(&deepest).unwrap();
        assert!(read(&format!("({deepest})")).unwrap_err().message.contains("deeper"));
        let long = format!("({})", "1 ".repeat(1_000_000));
        let SexpKind::List(items) = &read(&long).unwrap()[0].kind else { panic!() };
        assert_eq!(items.len(), 1_000_000);
    }
}
