//! Tokens, each with the comments before it and its place in the text.

use crate::tree::{Comment, Kind, Tok, Tree};
use remc_syntax::token::{Bracket, Token, TokenKind, TriviaKind};
use std::ops::Range;

/// The tokens with the comments before them, and the names among them.
pub(crate) fn flat<'t>(text: &'t str, kept: &[Range<u32>]) -> (Tree<'t>, Vec<Option<remc_base::Name>>) {
    let all = remc_syntax::tokens(text);
    let mut tree = Tree { text, ..Tree::default() };
    let mut names = vec![];
    let mut at = Position::default();
    let mut line_end = None;
    let mut kept = kept.iter().peekable();
    let mut tokens = all.tokens.iter().peekable();
    while let Some(token) = tokens.next() {
        let first_comment = tree.comments.len() as u32;
        let mut breaks = 0;
        for trivia in all.trivia_of(token) {
            let piece = &text[trivia.start as usize..trivia.end as usize];
            if trivia.kind == TriviaKind::Space {
                if let (None, Some(end)) = (line_end, piece.find('\n')) {
                    line_end = Some(piece[..end].ends_with('\r'));
                }
                breaks += piece.bytes().filter(|b| *b == b'\n').count();
                // A byte order mark is in no column.
                at.pass(piece.trim_start_matches('\u{feff}'));
                continue;
            }
            let (line, column) = (at.line, at.column);
            at.pass(piece);
            let shown = piece.trim_end();
            tree.comments.push(Comment {
                start: trivia.start,
                end: trivia.start + shown.len() as u32,
                width: shown.chars().count() as u32,
                line_comment: trivia.kind == TriviaKind::LineComment,
                breaks: breaks.min(2) as u8,
                line,
                column,
                lines: piece.contains('\n'),
                continues: false,
            });
            breaks = 0;
        }
        let mut end = token.end;
        if let Some(whole) = kept.next_if(|k| k.start == token.start) {
            while let Some(inside) = tokens.next_if(|t| t.start < whole.end) {
                end = inside.end;
            }
        }
        if !tree.toks.is_empty() {
            continue_comments(&mut tree.comments[first_comment as usize..], at.column);
        }
        let piece = &text[token.start as usize..end as usize];
        let merged = end > token.end;
        tree.toks.push(Tok {
            kind: if merged { Kind::Atom } else { kind(token) },
            start: token.start,
            end,
            width: piece.chars().count() as u32,
            comments: first_comment..tree.comments.len() as u32,
            breaks: breaks.min(2) as u8,
            line: at.line,
            column: at.column,
            elem: None,
            list: 0,
            number: !merged && matches!(token.kind, TokenKind::Int { .. } | TokenKind::Float { .. }),
            lines: piece.contains('\n'),
        });
        names.push(match &token.kind {
            TokenKind::Name(name) if !merged => Some(name.clone()),
            _ => None,
        });
        at.pass(piece);
    }
    tree.crlf = line_end == Some(true);
    (tree, names)
}

/// Which of the comments between two tokens go on with one at the end of a line: they are below it, and not, as what is
/// said of the token behind them would be, above that.
fn continue_comments(comments: &mut [Comment], next: u32) {
    let mut trails = comments.first().is_some_and(|c| c.line_comment && c.breaks == 0);
    for i in 1..comments.len() {
        let (above, c) = (comments[i - 1].column, &mut comments[i]);
        trails &= c.line_comment && c.breaks == 1 && c.column == above && c.column != next;
        c.continues = trails;
    }
}

fn kind(token: &Token) -> Kind {
    match token.kind {
        TokenKind::Open(b) => Kind::Open(b),
        TokenKind::Close(_) => Kind::Close,
        TokenKind::Bar => Kind::Bar,
        TokenKind::Tilde | TokenKind::DatumComment => Kind::Prefix,
        TokenKind::End => Kind::End,
        _ => Kind::Atom,
    }
}

#[derive(Default)]
struct Position {
    line: u32,
    column: u32,
}

impl Position {
    fn pass(&mut self, piece: &str) {
        match piece.rfind('\n') {
            None => self.column += piece.chars().count() as u32,
            Some(last) => {
                self.line += piece.bytes().filter(|b| *b == b'\n').count() as u32;
                self.column = piece[last + 1..].chars().count() as u32;
            }
        }
    }
}

/// A comment that ends a line before closing brackets goes behind them, with those that go on below it, if nothing else is
/// there.
pub(crate) fn move_comments(tree: &mut Tree<'_>) {
    let toks = &mut tree.toks;
    let ends_line = |c: &Comment| c.line_comment && c.breaks == 0;
    let mut t = 1;
    while t < toks.len() {
        let range = toks[t].comments.start as usize..toks[t].comments.end as usize;
        let only = tree.comments[range]
            .split_first()
            .is_some_and(|(c, others)| ends_line(c) && others.iter().all(|c| c.continues));
        if toks[t].kind != Kind::Close || !only {
            t += 1;
            continue;
        }
        let from = t;
        t += 1;
        while toks[t].kind == Kind::Close && toks[t].comments.is_empty() {
            t += 1;
        }
        // The brackets between have no comments: the ranges meet.
        let there = toks[t].comments.clone();
        // What has arguments in braces is beside them.
        let glued = toks[t].kind == Kind::Open(Bracket::Curly) && toks[t].start == toks[t - 1].end;
        let free = toks[t].kind != Kind::Close
            && !glued
            && tree.comments.get(there.start as usize).is_none_or(|c| there.is_empty() || c.breaks > 0);
        if free {
            let (moved, end) = (toks[from].comments.start, toks[from].comments.end);
            for tok in &mut toks[from..t] {
                tok.comments = moved..moved;
                tok.breaks = 0;
            }
            toks[t].comments = moved..there.end.max(end);
            toks[t].breaks = toks[t].breaks.max(u8::from(there.is_empty()));
        }
    }
}
