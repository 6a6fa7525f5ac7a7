//! The s-expressions that the text form of every IR is written in.
//!
//! ```text
//! s ::= ( s … ) | integer | "string" | atom
//! ```
//!
//! Text is ASCII: a string escapes what is not (`\u{3bb}`), an atom is any other run of printable
//! characters without delimiters, `;` starts a comment that ends with the line. This is not the reader
//! of the language, whose text is richer and whose mistakes deserve recovery; an IR text stops at its
//! first error.
//!
//! A reader of our own rather than a general crate, because an IR text may come from anywhere: nesting
//! is bounded here ([`MAX_DEPTH`]; an IR's printer keeps it small by writing trees as flat lists), long
//! lists cost no stack, integers are 128 bits wide, every part knows its offset, and there is no quote,
//! dotted pair or number syntax to step on.

use std::fmt;

/// How deep lists may nest.
pub const MAX_DEPTH: usize = 128;

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
pub fn read(text: &str) -> Result<Vec<Sexp<'_>>, SexpError> {
    let bytes = text.as_bytes();
    let error = |offset: usize, message: String| Err(SexpError { offset, message });
    // The lists that are open, innermost last, each with what it holds so far.
    let mut open: Vec<(usize, Vec<Sexp<'_>>)> = Vec::new();
    let mut top = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        let kind = match byte {
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
                open.push((start, Vec::new()));
                at += 1;
                continue;
            }
            b')' => {
                at += 1;
                let Some((offset, items)) = open.pop() else {
                    return error(start, "`)` without a list to close".to_owned());
                };
                let list = Sexp { offset, kind: SexpKind::List(items) };
                open.last_mut().map_or(&mut top, |(_, items)| items).push(list);
                continue;
            }
            b'"' => SexpKind::Str(string(text, &mut at)?),
            b if is_atom_byte(b) => {
                at += bytes[at..].iter().position(|&b| !is_atom_byte(b)).unwrap_or(bytes.len() - at);
                let word = &text[start..at];
                let digits = word.strip_prefix('-').unwrap_or(word);
                if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) {
                    match word.parse() {
                        Ok(n) => SexpKind::Int(n),
                        Err(_) => return error(start, "integer wider than 128 bits".to_owned()),
                    }
                } else {
                    SexpKind::Atom(word)
                }
            }
            b => return error(start, format!("byte {b:#04x} has no meaning here")),
        };
        let sexp = Sexp { offset: start, kind };
        open.last_mut().map_or(&mut top, |(_, items)| items).push(sexp);
    }
    match open.last() {
        Some((offset, _)) => error(*offset, "this list is never closed".to_owned()),
        None => Ok(top),
    }
}

/// Whether a byte may stand in an atom.
pub fn is_atom_byte(b: u8) -> bool {
    b.is_ascii_graphic() && !b"()[]{}\";'`,|\\".contains(&b)
}

/// `text` as a string that [`read`] reads back.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            ' '..='~' => out.push(c),
            _ => out.push_str(&format!("\\u{{{:x}}}", c as u32)),
        }
    }
    out.push('"');
    out
}

/// The string that starts at `at`, which moves past it.
fn string(text: &str, at: &mut usize) -> Result<String, SexpError> {
    let start = *at;
    let mut out = String::new();
    let mut chars = text[start + 1..].char_indices();
    let wrong = |offset: usize| {
        Err(SexpError { offset: start + 1 + offset, message: "unknown escape in a string".to_owned() })
    };
    while let Some((i, c)) = chars.next() {
        match c {
            '"' => {
                *at = start + 1 + i + 1;
                return Ok(out);
            }
            '\\' => match chars.next() {
                Some((_, c @ ('"' | '\\'))) => out.push(c),
                Some((_, 'u')) => {
                    let rest = chars.as_str();
                    let hex: String =
                        rest.chars().skip(1).take_while(char::is_ascii_hexdigit).take(7).collect();
                    let code = u32::from_str_radix(&hex, 16).ok().and_then(char::from_u32);
                    let closed = rest.starts_with('{') && rest[1 + hex.len()..].starts_with('}');
                    match code {
                        Some(c) if closed => {
                            out.push(c);
                            chars.nth(hex.len() + 1);
                        }
                        _ => return wrong(i),
                    }
                }
                _ => return wrong(i),
            },
            c => out.push(c),
        }
    }
    Err(SexpError { offset: start, message: "this string is never closed".to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_lists_atoms_integers_and_strings() {
        let text = "(a -12 (\"x\\\"\\u{3bb}\") %x.1) ; comment\n()";
        let all = read(text).unwrap();
        assert_eq!(all.len(), 2);
        let SexpKind::List(items) = &all[0].kind else { panic!() };
        assert_eq!(items[0].kind, SexpKind::Atom("a"));
        assert_eq!(items[1].kind, SexpKind::Int(-12));
        let SexpKind::List(inner) = &items[2].kind else { panic!() };
        assert_eq!(inner[0].kind, SexpKind::Str("x\"λ".to_owned()));
        assert_eq!(items[3], Sexp { offset: 22, kind: SexpKind::Atom("%x.1") });
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
            ("\"\\u{d800}\"", 1),
            ("\"\\u{+41}\"", 1),
            ("x [1]", 2),
            ("λ", 0),
            ("340282366920938463463374607431768211456", 0),
        ] {
            assert_eq!(read(text).unwrap_err().offset, offset, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded_and_length_is_not() {
        assert!(read(&"(".repeat(1_000_000)).unwrap_err().message.contains("deeper"));
        let long = format!("({})", "1 ".repeat(1_000_000));
        let SexpKind::List(items) = &read(&long).unwrap()[0].kind else { panic!() };
        assert_eq!(items.len(), 1_000_000);
    }
}
