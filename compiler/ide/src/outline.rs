//! What a file consists of: symbols, folds, the forms around a place, lenses.

use crate::{Fold, FoldKind, Ide, Lens, LensKind, Symbol, SymbolKind};
use remc_base::Span;
use remc_driver::names::DefKind;
use remc_driver::queries::scheme;
use remc_driver::{Def, SourceFile};
use remc_syntax::ast::{ExprKind, ItemKind};
use remc_syntax::token::{TokenKind, Tokens, TriviaKind};

pub fn symbols(ide: &Ide<'_>, file: SourceFile) -> Vec<Symbol> {
    ide.session.defs(file).iter().filter_map(|def| symbol(ide, *def)).collect()
}

fn symbol(ide: &Ide<'_>, def: Def<'_>) -> Option<Symbol> {
    let db = &ide.session.db;
    let (span, name_span) = (ide.session.item_span(def), ide.session.name_span(def));
    let detail = scheme(db, def).as_ref().map(|s| s.ty.to_string()).unwrap_or_default();
    let (name, kind) = match def.kind(db) {
        DefKind::Entry => (def.name(db).to_string(), SymbolKind::Entry),
        DefKind::Type => (def.name(db).to_string(), SymbolKind::Type),
        DefKind::Import => (def.name(db).to_string(), SymbolKind::Import),
        DefKind::Value => {
            let kind = if is_function(def.item(db)) { SymbolKind::Function } else { SymbolKind::Value };
            (def.name(db).to_string(), kind)
        }
        DefKind::Expr => {
            let first = ide.slice(span).lines().next().unwrap_or_default();
            let short: String = first.chars().take(60).collect();
            (short, SymbolKind::Expression)
        }
        DefKind::Error => return None,
    };
    Some(Symbol { name, detail, kind, span, name_span })
}

/// Whether a definition is written as a function.
pub fn is_function(item: &remc_syntax::ast::Item) -> bool {
    let mut value = match &item.kind {
        ItemKind::Define { value, .. } | ItemKind::Entry { value, .. } => value,
        ItemKind::Primitive { params, .. } => return !params.is_empty(),
        _ => return false,
    };
    loop {
        match &*value.kind {
            ExprKind::Lam { .. } => return true,
            ExprKind::TLam { body, .. } | ExprKind::ILam { body, .. } => value = body,
            _ => return false,
        }
    }
}

pub fn workspace_symbols(ide: &Ide<'_>, query: &str) -> Vec<Symbol> {
    let mut all = Vec::new();
    for file in ide.session.user_files() {
        let named = symbols(ide, file);
        all.extend(named.into_iter().filter(|s| {
            !matches!(s.kind, SymbolKind::Import | SymbolKind::Expression) && has_letters(&s.name, query)
        }));
    }
    // The names that begin so come first.
    all.sort_by_key(|s| (!s.name.starts_with(query), s.name.len()));
    all
}

/// Whether the letters of a query stand in a name, in their order.
pub fn has_letters(name: &str, query: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    query.chars().flat_map(char::to_lowercase).all(|q| letters.any(|c| c == q))
}

pub fn folds(ide: &Ide<'_>, file: SourceFile) -> Vec<Fold> {
    let (text, module) = (ide.text(file), ide.module(file));
    let tokens = remc_syntax::tokens(text);
    let lines = Lines::of(text);
    let span = |start, end| Span { module, start, end };
    let mut found = Vec::new();
    // Brackets over several lines; of those that begin on one line, the outermost.
    let mut last = None;
    for (start, end) in brackets(&tokens) {
        if lines.of_byte(start) < lines.of_byte(end) && last != Some(lines.of_byte(start)) {
            last = Some(lines.of_byte(start));
            found.push(Fold { span: span(start, end), kind: FoldKind::Form });
        }
    }
    // Comments on lines of their own, one below the other.
    let mut run: Option<(u32, u32)> = None;
    let end_run = |run: &mut Option<(u32, u32)>, found: &mut Vec<Fold>| {
        if let Some((start, end)) = run.take()
            && lines.of_byte(start) < lines.of_byte(end)
        {
            found.push(Fold { span: span(start, end), kind: FoldKind::Comment });
        }
    };
    for t in tokens.trivia.iter().filter(|t| t.kind != TriviaKind::Space) {
        let own = lines.before(text, t.start).trim().is_empty();
        match run {
            Some((start, end)) if own && lines.of_byte(t.start) == lines.of_byte(end) + 1 => {
                run = Some((start, t.end));
            }
            _ => {
                end_run(&mut run, &mut found);
                run = own.then_some((t.start, t.end));
            }
        }
    }
    end_run(&mut run, &mut found);
    let imports: Vec<Span> = {
        let is_import = |d: &&Def<'_>| d.kind(&ide.session.db) == DefKind::Import;
        ide.session.defs(file).iter().filter(is_import).map(|d| ide.session.item_span(*d)).collect()
    };
    if let ([first, .., last], true) = (imports.as_slice(), imports.len() > 1) {
        found.push(Fold { span: span(first.start, last.end), kind: FoldKind::Imports });
    }
    found.sort_by_key(|f| (f.span.start, std::cmp::Reverse(f.span.end)));
    found
}

/// The brackets that match, by where they begin; a bracket without a partner has none.
pub fn brackets(tokens: &Tokens) -> Vec<(u32, u32)> {
    let (mut open, mut found) = (Vec::new(), Vec::new());
    for t in &tokens.tokens {
        match t.kind {
            TokenKind::Open(b) => open.push((b, t.start)),
            TokenKind::Close(b) => {
                if let Some(at) = open.iter().rposition(|(o, _)| *o == b) {
                    found.push((open[at].1, t.end));
                    open.truncate(at);
                }
            }
            _ => {}
        }
    }
    found.sort();
    found
}

pub fn selection(ide: &Ide<'_>, file: SourceFile, offset: u32) -> Vec<Span> {
    let (text, module) = (ide.text(file), ide.module(file));
    let tokens = remc_syntax::tokens(text);
    let span = |start, end| Span { module, start, end };
    let mut found: Vec<Span> = Vec::new();
    let is_word = |k: &TokenKind| !matches!(k, TokenKind::Open(_) | TokenKind::Close(_) | TokenKind::End);
    let word = tokens.tokens.iter().find(|t| t.start <= offset && offset <= t.end && is_word(&t.kind));
    found.extend(word.map(|t| span(t.start, t.end)));
    let comment =
        tokens.trivia.iter().find(|t| t.kind != TriviaKind::Space && t.start <= offset && offset <= t.end);
    found.extend(comment.map(|t| span(t.start, t.end)));
    for (start, end) in brackets(&tokens).into_iter().rev() {
        if start <= offset && offset <= end {
            // What is between the brackets, then with them.
            if start + 1 < end - 1 && start < offset && offset < end {
                found.push(span(start + 1, end - 1));
            }
            found.push(span(start, end));
        }
    }
    found.push(span(0, text.len() as u32));
    // Each contains the one before, and is more.
    let mut nested: Vec<Span> = Vec::new();
    found.sort_by_key(|s| s.end - s.start);
    for s in found {
        if nested.last().is_none_or(|l| s.start <= l.start && l.end <= s.end && s != *l) {
            nested.push(s);
        }
    }
    nested
}

pub fn lenses(ide: &Ide<'_>, file: SourceFile) -> Vec<Lens> {
    let db = &ide.session.db;
    let value = ide.session.value(file);
    let mut found = Vec::new();
    for def in ide.session.defs(file) {
        if def.kind(db) == DefKind::Entry || value == Some(*def) {
            let span = match def.kind(db) {
                DefKind::Entry => ide.session.name_span(*def),
                _ => ide.session.item_span(*def),
            };
            let lens = |kind| Lens { span, name: def.name(db).clone(), kind };
            found.extend([LensKind::Run, LensKind::Explain].map(lens));
        }
    }
    found
}

/// Where lines begin.
struct Lines(Vec<u32>);

impl Lines {
    fn of(text: &str) -> Lines {
        let ends = text.bytes().enumerate().filter(|(_, b)| *b == b'\n').map(|(k, _)| k as u32 + 1);
        Lines(std::iter::once(0).chain(ends).collect())
    }

    fn of_byte(&self, at: u32) -> usize {
        self.0.partition_point(|start| *start <= at) - 1
    }

    /// What stands on the line before a byte.
    fn before<'t>(&self, text: &'t str, at: u32) -> &'t str {
        text.get(self.0[self.of_byte(at)] as usize..at as usize).unwrap_or_default()
    }
}
