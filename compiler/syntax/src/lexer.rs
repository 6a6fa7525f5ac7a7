//! Text to tokens.
//!
//! The lexer never gives up: what it cannot read is reported and becomes [`TokenKind::Error`] or
//! [`TokenKind::Unknown`]. It is linear in the length of the text, whatever the text is.

use crate::codes;
use crate::forms::SPELLINGS;
use crate::literal::{self, LiteralError, Number};
use crate::report::Reports;
use crate::token::*;
use remc_base::{Diagnostic, ModuleId, Name, Span, is_hidden};
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

/// Cuts `text` into tokens and trivia.
pub(crate) fn lex(module: ModuleId, text: &str, reports: &mut Reports) -> Tokens {
    let mut lexer = Lexer {
        module,
        text,
        pos: 0,
        out: Tokens::default(),
        first_trivia: 0,
        reports,
        strings_broken: false,
        last_comma: None,
    };
    lexer.run();
    lexer.out
}

/// Whether a name cannot contain `c`.
pub(crate) fn is_delimiter(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | '"' | ';' | ',' | '|') || is_space(c) || is_forbidden(c)
}

fn is_space(c: char) -> bool {
    c.is_whitespace()
}

/// Control characters, and invisible ones that make a text read otherwise than it is.
fn is_forbidden(c: char) -> bool {
    is_hidden(c) && !is_space(c)
}

/// The one spelling of a name that has several.
fn canonical(name: &str) -> &str {
    SPELLINGS.iter().find(|(other, _)| *other == name).map_or(name, |(_, keyword)| keyword)
}

struct Lexer<'a> {
    module: ModuleId,
    text: &'a str,
    pos: usize,
    out: Tokens,
    /// The first trivia that belongs to the next token.
    first_trivia: u32,
    reports: &'a mut Reports,
    /// A string ran to the end of the text: from then on strings end with their line, so that time
    /// stays linear.
    strings_broken: bool,
    /// The last comma: one report a line is enough.
    last_comma: Option<usize>,
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.pos..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn span(&self, start: usize, end: usize) -> Span {
        Span::new(self.module, start, end)
    }

    fn trivia(&mut self, kind: TriviaKind, start: usize) {
        self.out.trivia.push(Trivia { kind, start: start as u32, end: self.pos as u32 });
    }

    /// A token from `start` to the current position.
    fn token(&mut self, kind: TokenKind, start: usize) {
        let trivia = self.first_trivia..self.out.trivia.len() as u32;
        self.first_trivia = trivia.end;
        self.out.tokens.push(Token { kind, start: start as u32, end: self.pos as u32, trivia });
    }

    fn report(&mut self, diagnostic: Diagnostic<Span>) {
        self.reports.push(diagnostic);
    }

    fn literal_error(&mut self, e: LiteralError, start: usize, end: usize) {
        let span = self.span(start, end);
        self.report(Diagnostic::error(e.code, e.message).primary(span, e.label).help(e.help));
    }

    fn take_while(&mut self, mut f: impl FnMut(char) -> bool) {
        let rest = self.rest();
        let n = rest.find(|c| !f(c)).unwrap_or(rest.len());
        self.pos += n;
    }

    fn run(&mut self) {
        if self.text.starts_with('\u{feff}') {
            self.pos = '\u{feff}'.len_utf8();
            self.trivia(TriviaKind::Space, 0);
        }
        if self.rest().starts_with("#!") {
            let start = self.pos;
            self.take_while(|c| c != '\n');
            self.trivia(TriviaKind::LineComment, start);
        }
        while let Some(c) = self.peek() {
            let start = self.pos;
            match c {
                '(' => self.single(TokenKind::Open(Bracket::Round)),
                '[' => self.single(TokenKind::Open(Bracket::Square)),
                '{' => self.single(TokenKind::Open(Bracket::Curly)),
                ')' => self.single(TokenKind::Close(Bracket::Round)),
                ']' => self.single(TokenKind::Close(Bracket::Square)),
                '}' => self.single(TokenKind::Close(Bracket::Curly)),
                '|' => self.single(TokenKind::Bar),
                ';' => {
                    self.take_while(|c| c != '\n');
                    // The `\r` of a line end belongs to the line end.
                    if self.text[start..self.pos].ends_with('\r') {
                        self.pos -= 1;
                    }
                    self.trivia(TriviaKind::LineComment, start);
                }
                '"' => self.string(),
                '#' => self.hash(),
                ',' => self.comma(),
                '~' if self.rest()[1..].starts_with(['(', '[']) => self.single(TokenKind::Tilde),
                c if is_space(c) => {
                    self.take_while(is_space);
                    self.trivia(TriviaKind::Space, start);
                }
                c if is_forbidden(c) => self.forbidden(),
                _ => self.word(),
            }
        }
        self.token(TokenKind::End, self.pos);
    }

    fn single(&mut self, kind: TokenKind) {
        let start = self.pos;
        self.pos += 1;
        self.token(kind, start);
    }

    fn comma(&mut self) {
        let start = self.pos;
        self.take_while(|c| c == ',');
        let before = self.last_comma.replace(start);
        if before.is_none_or(|b| self.text[b..start].contains('\n')) {
            let span = self.span(start, self.pos);
            self.report(
                Diagnostic::error(codes::BAD_CHARACTER, "commas separate nothing in Remora")
                    .primary(span, "unexpected comma")
                    .help("separate elements by spaces: `[1 2 3]`, `(f x y)`"),
            );
        }
        self.token(TokenKind::Unknown, start);
    }

    fn forbidden(&mut self) {
        let start = self.pos;
        let first = self.peek().unwrap_or_default();
        self.take_while(is_forbidden);
        let span = self.span(start, self.pos);
        self.report(
            Diagnostic::error(
                codes::BAD_CHARACTER,
                format!("the invisible character U+{:04X} cannot be part of a program", u32::from(first)),
            )
            .primary(span, "here")
            .help("remove it; inside a string, write it as an escape such as `\\x200b;`"),
        );
        self.token(TokenKind::Unknown, start);
    }

    fn word(&mut self) {
        let start = self.pos;
        self.take_while(|c| !is_delimiter(c));
        let run = &self.text[start..self.pos];
        let kind = match literal::number(run) {
            Some(Ok(Number::Int { value, suffix })) => TokenKind::Int { value, suffix },
            Some(Ok(Number::Float { value, suffix })) => TokenKind::Float { value, suffix },
            Some(Err(e)) => {
                self.literal_error(e, start, self.pos);
                TokenKind::Error
            }
            None => match run {
                "true" => TokenKind::Bool(true),
                "false" => TokenKind::Bool(false),
                _ if is_nfc_quick(run.chars()) == IsNormalized::Yes => {
                    TokenKind::Name(Name::new(canonical(run)))
                }
                _ => TokenKind::Name(Name::new(canonical(&run.nfc().collect::<String>()))),
            },
        };
        self.token(kind, start);
    }

    fn hash(&mut self) {
        let start = self.pos;
        let rest = self.rest();
        if rest.starts_with("#|") {
            return self.block_comment();
        }
        if rest.starts_with("#;") {
            self.pos += 2;
            return self.token(TokenKind::DatumComment, start);
        }
        if rest.starts_with("#\\") {
            return self.character();
        }
        self.take_while(|c| !is_delimiter(c));
        let kind = match &self.text[start..self.pos] {
            "#t" | "#true" => TokenKind::Bool(true),
            "#f" | "#false" => TokenKind::Bool(false),
            _ => {
                let span = self.span(start, self.pos);
                self.report(
                    Diagnostic::error(codes::BAD_CHARACTER, "`#` begins nothing known here")
                        .primary(span, "not a literal")
                        .help(
                            "`#t` and `#f` are the booleans, `#\\a` a character, `#| … |#` a comment, and \
                             `#;` makes a comment of what follows",
                        ),
                );
                TokenKind::Error
            }
        };
        self.token(kind, start);
    }

    fn block_comment(&mut self) {
        let start = self.pos;
        let bytes = self.text.as_bytes();
        let mut depth = 0usize;
        let mut i = start;
        while i < bytes.len() {
            match &bytes[i..] {
                [b'#', b'|', ..] => {
                    depth += 1;
                    i += 2;
                }
                [b'|', b'#', ..] => {
                    depth -= 1;
                    i += 2;
                    if depth == 0 {
                        break;
                    }
                }
                _ => i += 1,
            }
        }
        self.pos = i;
        if depth > 0 {
            let span = self.span(start, start + 2);
            let end = self.span(i, i);
            self.report(
                Diagnostic::error(codes::UNTERMINATED_COMMENT, "this comment does not end")
                    .primary(span, "begins here")
                    .secondary(end, "the text ends here")
                    .help("close it with `|#`; comments nest, so each `#|` inside needs its own"),
            );
        }
        self.trivia(TriviaKind::BlockComment, start);
    }

    fn character(&mut self) {
        let start = self.pos;
        self.pos += 2;
        // The character itself may be a delimiter: `#\(`, `#\;`, `#\ `.
        match self.peek() {
            Some(c) if c != '\n' && c != '\r' && is_delimiter(c) => self.pos += c.len_utf8(),
            _ => self.take_while(|c| !is_delimiter(c)),
        }
        let kind = match literal::character(&self.text[start + 2..self.pos]) {
            Ok(c) => TokenKind::Char(c),
            Err(e) => {
                self.literal_error(e, start, self.pos);
                TokenKind::Error
            }
        };
        self.token(kind, start);
    }

    fn string(&mut self) {
        let start = self.pos;
        let Some(end) = self.string_end(start + 1) else {
            // Only the rest of the line is lost.
            self.strings_broken = true;
            self.take_while(|c| c != '\n');
            let (quote, end) = (self.span(start, start + 1), self.span(self.pos, self.pos));
            self.report(
                Diagnostic::error(codes::UNTERMINATED_STRING, "this string does not end")
                    .primary(quote, "begins here")
                    .secondary(end, "expected `\"` by here")
                    .help("close it with `\"`; write `\\\"` for a quote inside a string"),
            );
            return self.token(TokenKind::Error, start);
        };
        self.pos = end + 1;
        let kind = match self.unescape(start + 1, end) {
            Some(s) => TokenKind::Str(s),
            None => TokenKind::Error,
        };
        self.token(kind, start);
    }

    /// The position of the closing quote.
    fn string_end(&self, start: usize) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut i = start;
        while i < bytes.len() {
            match bytes[i] {
                b'"' => return Some(i),
                b'\\' if !(self.strings_broken && bytes.get(i + 1) == Some(&b'\n')) => i += 2,
                b'\n' | b'\\' if self.strings_broken => return None,
                _ => i += 1,
            }
        }
        None
    }

    /// The contents of a string; every wrong escape is reported.
    fn unescape(&mut self, start: usize, end: usize) -> Option<String> {
        let raw = &self.text[start..end];
        let mut out = String::with_capacity(raw.len());
        let mut fine = true;
        let mut chars = raw.char_indices().peekable();
        while let Some((at, c)) = chars.next() {
            match c {
                '\r' if chars.peek().is_some_and(|(_, c)| *c == '\n') => {}
                '\\' => match chars.next() {
                    Some((_, 'n')) => out.push('\n'),
                    Some((_, 't')) => out.push('\t'),
                    Some((_, 'r')) => out.push('\r'),
                    Some((_, '0')) => out.push('\0'),
                    Some((_, 'a')) => out.push('\u{7}'),
                    Some((_, 'b')) => out.push('\u{8}'),
                    Some((_, c @ ('"' | '\\' | '\''))) => out.push(c),
                    // A line end after a backslash, and the indentation of the next line, are no text.
                    Some((_, '\n' | '\r')) => while chars.next_if(|(_, c)| is_space(*c)).is_some() {},
                    Some((i, c @ ('x' | 'u'))) => {
                        let after = &raw[i + 1..];
                        let (open, close) = if c == 'x' { ("", b';') } else { ("{", b'}') };
                        let decoded = after.strip_prefix(open).and_then(|h| {
                            // No code point has more than 8 digits.
                            let n = h.bytes().take(9).position(|b| b == close)?;
                            Some((n + open.len(), literal::code_point(&h[..n])?))
                        });
                        match decoded {
                            Some((n, c)) => {
                                out.push(c);
                                let next = i + 1 + n + 1;
                                while chars.next_if(|(i, _)| *i < next).is_some() {}
                            }
                            None => {
                                fine = false;
                                self.bad_escape(start + at, start + i + 1);
                            }
                        }
                    }
                    Some((i, c)) => {
                        fine = false;
                        self.bad_escape(start + at, start + i + c.len_utf8());
                    }
                    None => {}
                },
                c => out.push(c),
            }
        }
        fine.then_some(out)
    }

    fn bad_escape(&mut self, start: usize, end: usize) {
        let text = &self.text[start..end];
        let span = self.span(start, end);
        self.report(
            Diagnostic::error(codes::BAD_ESCAPE, format!("`{text}` begins no known escape"))
                .primary(span, "in this string")
                .help(
                    "the escapes are `\\n`, `\\t`, `\\r`, `\\0`, `\\\"`, `\\\\`, `\\u{3bb}` and `\\x3bb;`; write \
                     `\\\\` for a backslash",
                ),
        );
    }
}
