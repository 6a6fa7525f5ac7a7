//! Documentation: what the comments above definitions say, beside what the checker knows of them.
//!
//! ```text
//! ; ---- parts: of vectors ----         a heading: what follows is in the group `parts`
//!
//! ; The first k items.                  sentences of Markdown; an empty comment line parts paragraphs
//! ; (take1 [5 6 7] 2) ⇒ [5 6]           examples, an expression and its value, or `error` and a code
//! (define (take1{t | k m @c} …) …)      the definition directly below
//! ```
//!
//! The prelude and a user's file are documented alike.

use crate::database::SourceFile;
use crate::names::{Def, DefKind};
use crate::queries::{alias, scheme};
use crate::session::Session;
use remc_syntax::ast::{Expr, ExprKind, ItemKind};
use remc_typed::source::{instance, scheme_type};

/// An expression, and what stands behind its arrow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    pub source: String,
    pub value: String,
}

/// What is known of one definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub name: String,
    /// As it is applied, `(take1 xs count)`; the name alone of a value or type.
    pub usage: String,
    /// The type, as the checker prints it; several lines if it is long.
    pub ty: String,
    /// `f{t | i}`, of what takes types or indices.
    pub instance: Option<String>,
    /// Paragraphs of Markdown, without line ends.
    pub paragraphs: Vec<String>,
    pub examples: Vec<Example>,
    pub kind: DefKind,
    pub heading: Heading,
}

/// `; ---- group: remark ----`
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Heading {
    /// Empty before the first heading of a file.
    pub group: String,
    pub remark: String,
}

/// The definitions of a file, in the order of the text. Those with errors, which are reported elsewhere,
/// are left out.
pub fn entries(session: &Session, file: SourceFile) -> Vec<Entry> {
    let headings = headings(file.text(&session.db));
    session.defs(file).iter().filter_map(|def| entry(session, *def, &headings)).collect()
}

/// What is known of one definition.
pub fn of_definition(session: &Session, def: Def<'_>) -> Option<Entry> {
    entry(session, def, &[])
}

fn entry(session: &Session, def: Def<'_>, headings: &[(usize, Heading)]) -> Option<Entry> {
    let db = &session.db;
    let name = def.name(db).to_string();
    let (usage, ty, instance) = match (def.kind(db), &def.item(db).kind) {
        (DefKind::Type, _) => {
            let alias = alias(db, def).as_ref()?;
            (name.clone(), alias.ty.to_string(), None)
        }
        (DefKind::Value | DefKind::Entry, item) => {
            let scheme = scheme(db, def).as_ref()?;
            (usage(&name, item), scheme_type(scheme), instance(&name, scheme))
        }
        _ => return None,
    };
    let (paragraphs, examples) = comment(def.doc(db).as_deref().unwrap_or_default());
    let at = session.item_span(def).start as usize;
    let heading = headings.iter().rev().find(|(start, _)| *start < at).map(|(_, h)| h.clone());
    Some(Entry {
        name,
        usage,
        ty,
        instance,
        paragraphs,
        examples,
        kind: def.kind(db),
        heading: heading.unwrap_or_default(),
    })
}

/// `(f x y)` with the names of the parameters as written; of a value its name.
fn usage(name: &str, item: &ItemKind) -> String {
    let params = match item {
        ItemKind::Primitive { params, .. } => params.as_slice(),
        ItemKind::Define { value, .. } | ItemKind::Entry { value, .. } => parameters(value),
        _ => &[],
    };
    match params {
        [] => name.to_owned(),
        params => {
            let names: Vec<&str> = params.iter().map(|p| p.name.as_str()).collect();
            format!("({name} {})", names.join(" "))
        }
    }
}

/// The parameters of a function, under the binders that it writes.
fn parameters(value: &Expr) -> &[remc_syntax::ast::Param] {
    match &*value.kind {
        ExprKind::Lam { params, .. } => params,
        ExprKind::TLam { body, .. } | ExprKind::ILam { body, .. } => parameters(body),
        _ => &[],
    }
}

/// The headings of a file, by where they are.
fn headings(text: &str) -> Vec<(usize, Heading)> {
    let mut found = vec![];
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if let Some(inside) = line.trim_end().strip_prefix("; ----") {
            let inside = inside.trim_matches(['-', ' ']);
            let (group, remark) = inside.split_once(": ").unwrap_or((inside, ""));
            if !group.is_empty() {
                found
                    .push((at, Heading { group: group.trim().to_owned(), remark: remark.trim().to_owned() }));
            }
        }
        at += line.len();
    }
    found
}

/// The paragraphs and examples of a comment.
fn comment(text: &str) -> (Vec<String>, Vec<Example>) {
    let mut paragraphs: Vec<String> = vec![String::new()];
    let mut examples = vec![];
    for line in text.lines().map(str::trim) {
        if line.starts_with("----") {
            // A heading with no line between it and the comment.
        } else if let Some((source, value)) = line.split_once(" ⇒ ").or_else(|| line.split_once(" => ")) {
            examples.push(Example { source: source.trim().to_owned(), value: value.trim().to_owned() });
        } else if line.is_empty() {
            paragraphs.push(String::new());
        } else if let Some(last) = paragraphs.last_mut() {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(line);
        }
    }
    paragraphs.retain(|p| !p.is_empty());
    (paragraphs, examples)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn documented(text: &str) -> Vec<Entry> {
        let mut session = Session::default();
        let file = session.load_text("f.remora", Path::new(""), text.to_owned());
        entries(&session, file)
    }

    #[test]
    fn comments_become_paragraphs_and_examples() {
        let found = documented(
            "; A file.\n\n; ---- maths: of vectors -----\n\n; Adds\n; one.\n;\n; Lifts.\n; (inc 1) ⇒ 2\n\
             (define (inc x) (+ x 1))\n(define two 2)\n(define-type Pair [int 2]) (inc 3)",
        );
        let [inc, two, pair] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!(inc.paragraphs, ["Adds one.", "Lifts."]);
        assert_eq!(inc.examples, [Example { source: "(inc 1)".into(), value: "2".into() }]);
        assert_eq!((inc.usage.as_str(), inc.ty.as_str()), ("(inc x)", "(∀ ((t num)) (→ (t) t))"));
        assert_eq!(inc.heading, Heading { group: "maths".into(), remark: "of vectors".into() });
        assert_eq!((two.usage.as_str(), two.ty.as_str(), two.paragraphs.len()), ("two", "int", 0));
        assert_eq!((pair.ty.as_str(), pair.kind), ("[int 2]", DefKind::Type));
    }

    #[test]
    fn known_numbers_are_in_the_type() {
        let found = documented("(define (f{t | n} [x [t n]] [k (Val n)]) : (Val n) k)");
        assert_eq!(found[0].ty, "(Π (n) (∀ (t) (→ ([t n] (Val n)) (Val n))))");
        assert_eq!(found[0].instance.as_deref(), Some("f{t | n}"));
    }

    #[test]
    fn what_is_wrong_is_left_out() {
        assert_eq!(
            documented("(define (f [x 0]) (+ x undefined)) (define (g x) (g x)) (define y 1)").len(),
            1
        );
    }
}
