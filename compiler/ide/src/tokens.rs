//! The colours of a text: from its tokens, and for names from what they mean.

use crate::names::{Sort, name_span, names};
use crate::{Ide, Meaning, Token, TokenKind, types};
use remc_base::Span;
use remc_driver::SourceFile;
use remc_driver::names::DefKind;
use remc_syntax::forms::{FORMS, SPELLINGS, TYPE_HEADS};
use remc_syntax::token::{TokenKind as T, Tokens, TriviaKind};
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Words inside of forms.
const WORDS: [&str; 4] = ["else", "while", "do", "all"];

pub fn tokens(ide: &Ide<'_>, file: SourceFile, range: Option<Range<u32>>) -> Vec<Token> {
    let (text, module) = (ide.text(file), ide.module(file));
    let range = range.unwrap_or(0..text.len() as u32);
    let meanings = meanings(ide, file, &range);
    let lexed = remc_syntax::tokens(text);
    let mut found = Vec::new();
    for (piece, kind) in lexical(&lexed, text) {
        if piece.end < range.start || range.end < piece.start {
            continue;
        }
        let span = Span { module, start: piece.start, end: piece.end };
        let token = match (kind, meanings.get(&piece.start)) {
            (Some(kind), _) => Token { span, kind, declaration: false, prelude: false },
            (None, Some((kind, declaration, prelude))) => {
                Token { span, kind: *kind, declaration: *declaration, prelude: *prelude }
            }
            (None, None) => continue,
        };
        found.push(token);
    }
    found
}

/// The colours of a text that belongs to no file: names that are applied are functions, and others variables.
pub fn highlight(text: &str) -> Vec<(Range<u32>, TokenKind)> {
    let lexed = remc_syntax::tokens(text);
    let applied: Vec<u32> = applied(&lexed);
    let name = |start: u32| match applied.binary_search(&start) {
        Ok(_) => TokenKind::Function,
        Err(_) => TokenKind::Variable,
    };
    lexical(&lexed, text)
        .into_iter()
        .map(|(r, kind)| {
            let kind = kind.unwrap_or_else(|| name(r.start));
            (r, kind)
        })
        .collect()
}

/// Where names stand that are the first in parentheses.
fn applied(lexed: &Tokens) -> Vec<u32> {
    let pairs = lexed.tokens.windows(2);
    let heads = pairs.filter(|p| matches!(p[0].kind, T::Open(remc_syntax::token::Bracket::Round)));
    heads.map(|p| p[1].start).collect()
}

/// The pieces of a text in their order, with their kinds; of names that are no keywords the kind is open.
fn lexical(lexed: &Tokens, text: &str) -> Vec<(Range<u32>, Option<TokenKind>)> {
    let heads = applied(lexed);
    let mut found: Vec<(Range<u32>, Option<TokenKind>)> = Vec::new();
    let comments = lexed.trivia.iter().filter(|t| t.kind != TriviaKind::Space);
    for t in comments {
        lines(text, t.start..t.end, |r| found.push((r, Some(TokenKind::Comment))));
    }
    for t in &lexed.tokens {
        let kind = match &t.kind {
            T::Name(name) => {
                let name = name.as_str();
                let is_head = heads.binary_search(&t.start).is_ok();
                let is_form =
                    FORMS.iter().any(|f| f.keyword == name) || SPELLINGS.iter().any(|(s, _)| *s == name);
                match name {
                    ":" => Some(TokenKind::Operator),
                    _ if is_head && (is_form || TYPE_HEADS.contains(&name)) => Some(TokenKind::Keyword),
                    _ if WORDS.contains(&name) => Some(TokenKind::Keyword),
                    _ => None,
                }
            }
            T::Int { .. } | T::Float { .. } => Some(TokenKind::Number),
            T::Bool(_) => Some(TokenKind::Keyword),
            T::Char(_) | T::Str(_) => Some(TokenKind::String),
            T::Tilde | T::Bar | T::DatumComment => Some(TokenKind::Operator),
            T::Open(_) | T::Close(_) | T::Error | T::Unknown | T::End => continue,
        };
        lines(text, t.start..t.end, |r| found.push((r, kind)));
    }
    found.sort_by_key(|(r, _)| r.start);
    found
}

/// The lines of a piece of text: editors colour no piece of several.
fn lines(text: &str, piece: Range<u32>, mut add: impl FnMut(Range<u32>)) {
    let mut at = piece.start;
    for line in text.get(piece.start as usize..piece.end as usize).unwrap_or_default().split_inclusive('\n') {
        let shown = line.trim_end_matches(['\n', '\r']).len() as u32;
        if shown > 0 {
            add(at..at + shown);
        }
        at += line.len() as u32;
    }
}

/// What the names of a range mean, by where they stand.
fn meanings(ide: &Ide<'_>, file: SourceFile, range: &Range<u32>) -> FxHashMap<u32, (TokenKind, bool, bool)> {
    let db = &ide.session.db;
    let mut found = FxHashMap::default();
    for def in ide.session.defs(file) {
        let item = ide.session.item_span(*def);
        if item.end < range.start || range.end < item.start {
            continue;
        }
        let names = names(db, *def);
        let known = types::types(db, *def);
        let is_function = |node| {
            let ty = known.as_ref().and_then(|t| t.nodes.get(&node));
            ty.is_some_and(|ty| types::parameters(ty).is_some())
        };
        for o in &names.occurrences {
            let Some(span) = name_span(db, *def, o.node, &o.name) else { continue };
            let (kind, prelude) = match (o.sort, ide.meaning(*def, o)) {
                (Sort::Label, _) => (TokenKind::Property, false),
                (Sort::Type, Meaning::Local(..) | Meaning::Implicit(_)) => (TokenKind::TypeParameter, false),
                (Sort::Type, Meaning::Global(d)) => (TokenKind::Type, d.file(db).prelude(db)),
                (Sort::Type, _) => (TokenKind::Type, true),
                (Sort::Index, Meaning::Local(..)) => (TokenKind::TypeParameter, false),
                (_, Meaning::Global(d)) => {
                    let function = crate::outline::is_function(d.item(db))
                        || d.kind(db) == DefKind::Entry
                        || is_function(o.node);
                    let kind = if function { TokenKind::Function } else { TokenKind::Variable };
                    (kind, d.file(db).prelude(db))
                }
                (_, Meaning::Local(_, binder)) => match names.binders.get(binder) {
                    Some(b) if b.sort != Sort::Value => (TokenKind::TypeParameter, false),
                    Some(b) if b.parameter => (TokenKind::Parameter, false),
                    _ if is_function(o.node) => (TokenKind::Function, false),
                    _ => (TokenKind::Variable, false),
                },
                _ => (TokenKind::Variable, false),
            };
            found.insert(span.start, (kind, o.binds, prelude));
        }
    }
    found
}
