//! The reader: text → tokens → s-expressions → [`ast`].
//!
//! ```text
//! lexer    text to tokens with trivia                       token.rs, literal.rs
//! balance  brackets matched, errors repaired, depth checked
//! sexpr    s-expressions, by a chumsky parser
//! lower    s-expressions to the Ast, one form at a time     forms.rs: the grammar of each form
//! ```
//!
//! Every stage recovers: it reports what is wrong, at the bytes where it is wrong, and hands on
//! something well-formed in which the wrong part is an error node. [`parse`] gives all errors of a file
//! at once, and none that merely follows from another.

pub mod ast;
mod balance;
pub mod brief;
pub mod codes;
pub mod forms;
mod lexer;
mod literal;
mod lower;
mod report;
mod sexpr;
pub mod token;

pub use balance::MAX_NESTING;

use ast::{Item, SourceMap};
use remc_base::{Diagnostic, ModuleId, Span};
use report::Reports;
use std::sync::Arc;
use token::Tokens;

/// A file as it was read.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Parsed {
    pub items: Vec<ParsedItem>,
    /// In the order of the text.
    pub diagnostics: Vec<Diagnostic<Span>>,
}

/// A top-level form. The item holds no position, so that it is equal after edits of comments and
/// spacing; the map does.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedItem {
    pub item: Arc<Item>,
    pub map: Arc<SourceMap>,
    /// The comment directly above the form, without its marks.
    pub doc: Option<String>,
}

/// Reads a file of less than 4 GiB. `prelude` allows `primitive`.
///
/// Nesting is bounded by [`MAX_NESTING`]; a tree that deep needs some megabytes of stack.
pub fn parse(module: ModuleId, text: &str, prelude: bool) -> Parsed {
    let mut reports = Reports::default();
    let tokens = lexer::lex(module, text, &mut reports);
    let Some(balanced) = balance::balance(module, text, &tokens, &mut reports) else {
        return Parsed { items: Vec::new(), diagnostics: reports.finish() };
    };
    let forms = sexpr::read(module, &balanced.pieces, &mut reports);
    let mut items = Vec::with_capacity(forms.len());
    // Both are in the order of the text.
    let mut guessed = balanced.guessed.iter().peekable();
    for form in &forms {
        while guessed.next_if(|range| range.end <= form.span.start).is_some() {}
        let is_guessed = guessed.peek().is_some_and(|range| range.start <= form.span.start);
        let (item, map) = lower::item(form, prelude, is_guessed, &mut reports);
        let doc = lower::doc(text, &tokens, form.span.start);
        items.push(ParsedItem { item: Arc::new(item), map: Arc::new(map), doc });
    }
    Parsed { items, diagnostics: reports.finish() }
}

/// The tokens of a text with the trivia between them, for a formatter. What is wrong is in them as
/// [`token::TokenKind::Error`] and [`token::TokenKind::Unknown`].
pub fn tokens(text: &str) -> Tokens {
    lexer::lex(ModuleId(0), text, &mut Reports::default())
}

/// The text of a file; the offset of the first byte that is not UTF-8 otherwise.
/// A byte order mark stays in the text, as white space, so that offsets in the
/// text are offsets in the file.
pub fn decode(bytes: Vec<u8>) -> Result<String, usize> {
    String::from_utf8(bytes).map_err(|e| e.utf8_error().valid_up_to())
}
