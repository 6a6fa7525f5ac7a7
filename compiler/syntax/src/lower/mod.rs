//! S-expressions to the Ast, one top-level form at a time.
//!
//! Gone: the spellings that mean the same (`cond`, `let*`, function definitions, braces). New: node ids,
//! numbered in the order in which the tree is built, parents first. What does not fit a form's grammar is
//! reported with that grammar and becomes an error node.
//!
//! Where a form binds names, `( )` and `[ ]` are interchangeable (`(let ([x 1]) x)`); everywhere else
//! they differ.

mod bind;
mod expr;
mod index;
mod item;
mod types;

pub(crate) use item::{doc, item};

use crate::ast::*;
use crate::codes;
use crate::forms::{Form, Place, form};
use crate::report::Reports;
use crate::sexpr::{Sexpr, SexprKind};
use remc_base::{Code, Diagnostic, Name, NodeId, Span};
use std::collections::HashMap;

/// The depth that an Ast may have beyond the nesting of the text: `cond` has a level per clause.
const MAX_DEPTH: usize = 4000;

/// The state of lowering one item.
pub(crate) struct Lowering<'r> {
    /// The primitives' forms are accepted.
    prelude: bool,
    spans: Vec<Span>,
    depth: usize,
    reports: &'r mut Reports,
}

impl Lowering<'_> {
    /// A new node.
    fn node(&mut self, span: Span) -> NodeId {
        // Fewer nodes than bytes, and those fit.
        let id = NodeId(self.spans.len() as u32);
        self.spans.push(span);
        id
    }

    fn error(&mut self, code: Code, message: impl Into<String>, at: Span, label: &str, help: &str) {
        self.reports.push(Diagnostic::error(code, message).primary(at, label).help(help));
    }

    /// The parts at `at` are not those of `form`.
    fn malformed(&mut self, form: &Form, at: Span, label: impl Into<String>) {
        let message = format!("this `{}` is not complete or not in order", form.keyword);
        let diagnostic = Diagnostic::error(codes::MALFORMED, message)
            .primary(at, label)
            .help(format!("the form is `{}`", form.grammar));
        self.reports.push(diagnostic);
    }

    /// As `malformed`, unless the part is an error that has been reported.
    fn unexpected(&mut self, form: &Form, part: &Sexpr, expected: &str) {
        if !part.is_error() {
            self.malformed(form, part.span, format!("expected {expected}, found {}", part.describe()));
        }
    }

    /// The number of parts is wrong.
    fn wrong_count(&mut self, form: &Form, whole: Span, parts: &[Sexpr], least: usize, most: usize) {
        match parts.get(most) {
            Some(extra) if parts.len() > most => {
                let span = parts.last().map_or(extra.span, |last| extra.span.to(last.span));
                let label = match parts.len() - most {
                    1 => "one part too many".to_string(),
                    n => format!("{n} parts too many"),
                };
                self.malformed(form, span, label);
            }
            _ => {
                let missing = least.saturating_sub(parts.len());
                let label = match missing {
                    1 => "one part is missing".to_string(),
                    n => format!("{n} parts are missing"),
                };
                self.malformed(form, whole, label);
            }
        }
    }

    fn expr_node(&mut self, span: Span, kind: ExprKind) -> Expr {
        Expr { id: self.node(span), kind: Box::new(kind) }
    }

    fn error_expr(&mut self, span: Span) -> Expr {
        self.expr_node(span, ExprKind::Error)
    }

    fn ident(&mut self, span: Span, name: Name) -> Ident {
        Ident { id: self.node(span), name }
    }

    /// A name that is bound here. Keywords are reported and then bound all the same, so that their uses
    /// give no further errors.
    fn binder(&mut self, s: &Sexpr, what: &str) -> Option<Name> {
        let Some(name) = s.as_name() else {
            if !s.is_error() {
                self.error(
                    codes::MALFORMED,
                    format!("expected the name of {what}"),
                    s.span,
                    &format!("found {}", s.describe()),
                    "names are made of letters, digits and symbols, and are no numbers",
                );
            }
            return None;
        };
        if let Some(form) = form(name.as_str()) {
            let kind = if form.place == Place::Type { "a type form" } else { "a keyword" };
            self.error(
                codes::KEYWORD_BOUND,
                format!("`{name}` is {kind} and cannot name {what}"),
                s.span,
                "not a name",
                "use another name",
            );
        }
        Some(name.clone())
    }

    /// The name of a value: not an at-name.
    fn value_binder(&mut self, s: &Sexpr, what: &str) -> Option<Name> {
        let name = self.binder(s, what)?;
        if name.is_at() {
            self.error(
                codes::MALFORMED,
                format!("`{name}` cannot name {what}"),
                s.span,
                "at-names stand for shapes and array types",
                "leave out the `@`",
            );
        }
        Some(name)
    }

    /// The node of a name that is bound here; a placeholder where there is none.
    fn bound(&mut self, s: &Sexpr, what: &str) -> Ident {
        let name = self.value_binder(s, what).unwrap_or_else(missing_name);
        self.ident(s.span, name)
    }

    /// Reports names that one form binds twice. `_` may be repeated.
    fn distinct<'n>(&mut self, names: impl IntoIterator<Item = (&'n Name, NodeId)>) {
        let mut bound = HashMap::new();
        for (name, id) in names {
            if name.as_str() == "_" || *name == missing_name() {
                continue;
            }
            let Some(first) = bound.insert(name, id) else { continue };
            let span_of = |id: NodeId| self.spans.get(id.0 as usize).copied();
            if let (Some(first), Some(again)) = (span_of(first), span_of(id)) {
                let diagnostic =
                    Diagnostic::error(codes::BOUND_TWICE, format!("`{name}` is bound twice here"))
                        .primary(again, "bound again")
                        .secondary(first, "bound first")
                        .help("give one of them another name, or `_` if it is not used");
                self.reports.push(diagnostic);
            }
        }
    }
}

/// The name of what has none because of an error. No text has a name with spaces.
fn missing_name() -> Name {
    Name::new("missing name")
}

/// `42`: a natural number without suffix.
fn natural(s: &Sexpr) -> Option<u64> {
    match s.kind {
        SexprKind::Int { value, suffix: None } => u64::try_from(value).ok(),
        _ => None,
    }
}

fn join(parts: &[Sexpr], otherwise: Span) -> Span {
    match (parts.first(), parts.last()) {
        (Some(a), Some(b)) => a.span.to(b.span),
        _ => otherwise,
    }
}

fn lowering(prelude: bool, reports: &mut Reports) -> Lowering<'_> {
    Lowering { prelude, spans: Vec::new(), depth: 0, reports }
}
