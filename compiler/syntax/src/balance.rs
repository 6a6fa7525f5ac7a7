//! Tokens to a balanced stream of pieces: the matching of brackets, with recovery.
//!
//! After this step every opening bracket has its closing one, so that the parser of s-expressions
//! cannot lose its place. Texts without a bracket error pass through unchanged. Otherwise:
//!
//! - A top-level form that is not balanced ends before the next bracket in column 0, so that one
//!   forgotten `)` costs one form, not the rest of the file.
//! - Within such a form, a closer of the wrong kind either was meant to be of the right kind (if enough
//!   closers follow for all that is open) or shows that a closer is missing before it.
//! - A closer that nothing opened is dropped.
//!
//! ```text
//! (define (f x) (+ x [1 2))        →  (define (f x) (+ x [1 2]))    E0103 at `[` and `)`
//! (define (f x) (+ x 1)            →  (define (f x) (+ x 1))        E0102
//! (define y 2)                     →  (define y 2)
//! ```
//!
//! Depth is checked here as well, before any tree exists.

use crate::codes;
use crate::report::Reports;
use crate::token::{Bracket, Token, TokenKind, Tokens};
use remc_base::{Diagnostic, ModuleId, Span};

/// Brackets may nest this deep; so may prefixes (`~(1)~(1)f`) and braces (`f{…|…}{…|…}`).
pub const MAX_NESTING: usize = 1000;

/// A token as the parser sees it.
#[derive(Clone, Debug)]
pub(crate) struct Piece<'a> {
    pub kind: PieceKind<'a>,
    pub start: u32,
    pub end: u32,
    /// Nothing stands between this piece and the one before.
    pub glued: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum PieceKind<'a> {
    Open(Bracket),
    /// Closes the innermost open bracket, whatever its own kind was.
    Close,
    Bar,
    Tilde,
    DatumComment,
    Atom(&'a TokenKind),
}

#[derive(Debug, Default)]
pub(crate) struct Balanced<'a> {
    pub pieces: Vec<Piece<'a>>,
    /// Byte ranges of the top-level text in which a closing bracket was missing: what the forms there
    /// are made of is a guess.
    pub guessed: Vec<std::ops::Range<u32>>,
}

/// Matches the brackets of `tokens`; `None` if they are nested too deeply.
pub(crate) fn balance<'a>(
    module: ModuleId,
    text: &str,
    tokens: &'a Tokens,
    reports: &mut Reports,
) -> Option<Balanced<'a>> {
    let tokens = tokens.tokens.as_slice();
    if let Some(token) = too_deep(tokens) {
        reports.push(
            Diagnostic::error(codes::TOO_DEEP, format!("brackets are nested more than {MAX_NESTING} deep"))
                .primary(
                    Span::new(module, token.start as usize, token.end as usize),
                    "this one is too many; reading stops here",
                )
                .help("give inner parts names with `define` or `let`"),
        );
        return None;
    }
    let mut balancer = Balancer { module, text, tokens, out: Balanced::default(), reports };
    balancer.run();
    Some(balancer.out)
}

/// The token at which nesting becomes too deep.
fn too_deep(tokens: &[Token]) -> Option<&Token> {
    // Per open bracket, the prefixes and braces that have been chained at that level.
    let mut chains: Vec<(usize, Bracket)> = vec![(0, Bracket::Round)];
    let mut chained = 0;
    let mut after_tilde = false;
    for token in tokens {
        let level = chains.len() - 1;
        let (chain, _) = &mut chains[level];
        match &token.kind {
            TokenKind::Open(bracket) => {
                if *bracket == Bracket::Curly {
                    *chain += 1;
                    chained += 1;
                }
                // The ranks after a tilde are no datum of their own; mark them like braces.
                chains.push((0, if after_tilde { Bracket::Curly } else { *bracket }));
            }
            TokenKind::Close(_) => {
                if level > 0
                    && let Some((inner, bracket)) = chains.pop()
                {
                    chained -= inner;
                    // A datum ends the chain of its prefixes, its braces do not.
                    if bracket != Bracket::Curly
                        && let Some((outer, _)) = chains.last_mut()
                    {
                        chained -= std::mem::take(outer);
                    }
                }
            }
            TokenKind::Tilde | TokenKind::DatumComment => {
                *chain += 1;
                chained += 1;
            }
            _ => chained -= std::mem::take(chain),
        }
        after_tilde = token.kind == TokenKind::Tilde;
        if chains.len() - 1 + chained > MAX_NESTING {
            return Some(token);
        }
    }
    None
}

/// What is known of an opening bracket.
#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Unknown,
    /// Closed properly, together with everything inside, by this token.
    ClosedBy(u32),
    Broken,
}

struct Balancer<'t, 'a> {
    module: ModuleId,
    text: &'t str,
    tokens: &'a [Token],
    out: Balanced<'a>,
    reports: &'t mut Reports,
}

impl<'a> Balancer<'_, 'a> {
    fn span(&self, token: &Token) -> Span {
        Span::new(self.module, token.start as usize, token.end as usize)
    }

    fn run(&mut self) {
        let mut fates = vec![Fate::Unknown; self.tokens.len()];
        let mut at = 0;
        while at < self.tokens.len() {
            if !matches!(self.tokens[at].kind, TokenKind::Open(_)) {
                let end = self.repair(at, at + 1);
                at = end;
                continue;
            }
            if fates[at] == Fate::Unknown {
                self.follow(at, &mut fates);
            }
            at = match fates[at] {
                Fate::ClosedBy(close) => {
                    let end = close as usize + 1;
                    for token in &self.tokens[at..end] {
                        self.keep(token);
                    }
                    end
                }
                _ => {
                    let next = (at + 1..self.tokens.len()).find(|i| self.begins_line(*i));
                    self.repair(at, next.unwrap_or(self.tokens.len()))
                }
            };
        }
    }

    /// Finds the fate of the bracket at `start`, and of those met on the way, by plain matching. No
    /// token is followed twice: a bracket that was open when matching failed is broken too.
    fn follow(&self, start: usize, fates: &mut [Fate]) {
        let mut open: Vec<(usize, Bracket)> = Vec::new();
        for (i, token) in self.tokens.iter().enumerate().skip(start) {
            match token.kind {
                TokenKind::Open(bracket) => open.push((i, bracket)),
                TokenKind::Close(bracket) => match open.last() {
                    Some((at, b)) if *b == bracket => {
                        fates[*at] = Fate::ClosedBy(i as u32);
                        open.pop();
                        if open.is_empty() {
                            return;
                        }
                    }
                    _ => break,
                },
                _ => {}
            }
        }
        for (at, _) in open {
            fates[at] = Fate::Broken;
        }
    }

    /// An opening bracket in column 0.
    fn begins_line(&self, at: usize) -> bool {
        let token = &self.tokens[at];
        matches!(token.kind, TokenKind::Open(Bracket::Round | Bracket::Square))
            && (token.start == 0 || self.text.as_bytes().get(token.start as usize - 1) == Some(&b'\n'))
    }

    fn keep(&mut self, token: &'a Token) {
        let kind = match &token.kind {
            TokenKind::Open(b) => PieceKind::Open(*b),
            TokenKind::Close(_) => PieceKind::Close,
            TokenKind::Bar => PieceKind::Bar,
            TokenKind::Tilde => PieceKind::Tilde,
            TokenKind::DatumComment => PieceKind::DatumComment,
            TokenKind::Unknown | TokenKind::End => return,
            atom => PieceKind::Atom(atom),
        };
        let (start, end, glued) = (token.start, token.end, token.is_glued());
        self.out.pieces.push(Piece { kind, start, end, glued });
    }

    /// A closing bracket that is not in the text, after all that is kept so far.
    fn supply_closer(&mut self) {
        let end = self.out.pieces.last().map_or(0, |p| p.end);
        self.out.pieces.push(Piece { kind: PieceKind::Close, start: end, end, glued: true });
    }

    /// Balances the tokens from `from` to `to` by supplying, changing and dropping closers. Gives the
    /// token after the last one treated.
    fn repair(&mut self, from: usize, to: usize) -> usize {
        let tokens = self.tokens;
        let mut open: Vec<(usize, Bracket)> = Vec::new();
        // Closers minus openers from here to the end.
        let mut surplus: isize = tokens[from..to]
            .iter()
            .map(|t| match t.kind {
                TokenKind::Open(_) => -1,
                TokenKind::Close(_) => 1,
                _ => 0,
            })
            .sum();
        let mut guessed = false;
        let mut i = from;
        while i < to {
            let token = &tokens[i];
            match token.kind {
                TokenKind::Open(bracket) => {
                    surplus += 1;
                    open.push((i, bracket));
                    self.keep(token);
                }
                TokenKind::Close(bracket) => match open.last() {
                    None => {
                        let first = i;
                        while tokens.get(i + 1).is_some_and(|t| matches!(t.kind, TokenKind::Close(_))) {
                            i += 1;
                        }
                        self.unexpected(&tokens[first..=i]);
                        surplus -= (i.min(to - 1) + 1 - first) as isize;
                    }
                    Some((at, b)) => {
                        let meant = *b == bracket
                            || surplus >= open.len() as isize
                            || !open.iter().any(|(_, b)| *b == bracket);
                        if meant {
                            if *b != bracket {
                                self.mismatched(&tokens[*at], *b, token, bracket);
                            }
                            open.pop();
                        } else {
                            guessed = true;
                            let keep = open.iter().rposition(|(_, b)| *b == bracket).unwrap_or(0);
                            let missing = open.split_off(keep + 1);
                            self.unclosed(&missing, Some(token));
                            missing.iter().for_each(|_| self.supply_closer());
                            open.pop();
                        }
                        surplus -= 1;
                        self.keep(token);
                    }
                },
                _ => self.keep(token),
            }
            i += 1;
        }
        if !open.is_empty() {
            guessed = true;
            self.unclosed(&open, tokens.get(to));
            open.iter().for_each(|_| self.supply_closer());
        }
        if guessed {
            let end = self.out.pieces.last().map_or(0, |p| p.end);
            self.out.guessed.push(tokens[from].start..end.max(tokens[from].end));
        }
        i
    }

    fn unexpected(&mut self, closers: &[Token]) {
        let (Some(first), Some(last)) = (closers.first(), closers.last()) else { return };
        let span = self.span(first).to(self.span(last));
        let (message, label) = match closers.len() {
            1 => {
                let c = &self.text[first.start as usize..first.end as usize];
                (format!("unexpected `{c}`"), "no open bracket before it".to_string())
            }
            n => (format!("{n} closing brackets too many"), "nothing is open here".to_string()),
        };
        self.reports.push(
            Diagnostic::error(codes::UNEXPECTED_CLOSER, message)
                .primary(span, label)
                .help("remove it, or add the opening bracket that it should close"),
        );
    }

    fn mismatched(&mut self, opener: &Token, open: Bracket, closer: &Token, close: Bracket) {
        let diagnostic = Diagnostic::error(
            codes::MISMATCHED,
            format!("`{}` is closed by `{}`", open.open(), close.close()),
        )
        .primary(self.span(closer), format!("expected `{}`", open.close()))
        .secondary(self.span(opener), format!("this `{}` is open", open.open()))
        .help(format!("write `{}` here, or `{}` there", open.close(), close.open()));
        self.reports.push(diagnostic);
    }

    /// The brackets `open` (outermost first) are not closed where `before` stands, or where the text ends.
    fn unclosed(&mut self, open: &[(usize, Bracket)], before: Option<&Token>) {
        let Some(((innermost, bracket), outer)) = open.split_last() else { return };
        let before = before.or(self.tokens.last());
        let message = match outer.len() {
            0 => format!("this `{}` is never closed", bracket.open()),
            n => format!("this `{}` and {n} more before it are never closed", bracket.open()),
        };
        let mut diagnostic = Diagnostic::error(codes::UNCLOSED, message).primary(
            self.span(&self.tokens[*innermost]),
            format!("no `{}` for this `{}`", bracket.close(), bracket.open()),
        );
        // More labels than this hide the text.
        for (at, _) in outer.iter().rev().take(3) {
            diagnostic = diagnostic.secondary(self.span(&self.tokens[*at]), "nor for this one");
        }
        if let Some(before) = before {
            let text = match before.kind {
                TokenKind::End => "the text ends here".to_string(),
                TokenKind::Close(b) => {
                    format!("`{}` closes a bracket further out", b.close())
                }
                _ => "a new form begins here".to_string(),
            };
            diagnostic = diagnostic.secondary(self.span(before), text);
        }
        let closers: String = open.iter().rev().take(8).map(|(_, b)| b.close()).collect();
        let dots = if open.len() > 8 { "…" } else { "" };
        self.reports.push(diagnostic.help(format!("add `{closers}{dots}`")));
    }
}
