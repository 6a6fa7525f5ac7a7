//! What has been defined at the prompt: one text, made of pieces that come and go.
//!
//! ```text
//! > (define (f x) (+ x 1))        ┐   a piece each, with its comments;        ┌ one file of the session:
//! > :load stats.remora            ┘   a new one replaces that of its name     └ pieces, one below the other
//! ```
//!
//! A piece knows where it was written: an error in the file is shown at its line of `stats.remora`, or of what was typed
//! ([`Workspace::places`]).

use crate::report::Places;
use remc_base::{ModuleId, Name};
use remc_syntax::ast::ItemKind;
use remc_syntax::parse;
use remc_syntax::token::TriviaKind;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A text that pieces come from, and what it is called in messages.
#[derive(PartialEq, Eq, Debug)]
pub struct Origin {
    pub shown: String,
    pub text: String,
    /// The folder that its imports are relative to.
    pub folder: PathBuf,
}

/// What a form is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A value, a function or an entry.
    Value(Name),
    Type(Name),
    /// By the path from the folder that the prompt was started in.
    Import(PathBuf),
    Expression,
    /// It does not read.
    Wrong,
}

impl Kind {
    /// The name that it defines.
    pub fn name(&self) -> Option<&Name> {
        match self {
            Kind::Value(name) | Kind::Type(name) => Some(name),
            Kind::Import(_) | Kind::Expression | Kind::Wrong => None,
        }
    }
}

/// A top-level form with its comments.
#[derive(Clone, PartialEq, Debug)]
pub struct Piece {
    pub kind: Kind,
    pub text: String,
    pub origin: Arc<Origin>,
    /// Where the text is in its origin.
    pub at: Range<usize>,
}

/// The pieces that there are.
#[derive(Clone, Default, Debug)]
pub struct Workspace {
    pub pieces: Vec<Piece>,
}

impl Workspace {
    /// The same, where `new` takes the place of what has its names.
    pub fn with(&self, new: Vec<Piece>) -> Workspace {
        let replaced = |old: &Piece| {
            new.iter().any(|p| p.kind == old.kind && !matches!(p.kind, Kind::Expression | Kind::Wrong))
        };
        let mut pieces: Vec<Piece> = self.pieces.iter().filter(|old| !replaced(old)).cloned().collect();
        pieces.extend(new);
        Workspace { pieces }
    }

    /// The same without what has a name.
    pub fn without(&self, name: &str) -> Workspace {
        let is_it = |p: &&Piece| match &p.kind {
            Kind::Import(path) => path.as_os_str() == name,
            kind => kind.name().is_some_and(|n| n.as_str() == name),
        };
        Workspace { pieces: self.pieces.iter().filter(|p| !is_it(p)).cloned().collect() }
    }

    /// The same without expressions: what stays.
    pub fn definitions(&self) -> Workspace {
        let stays = |p: &&Piece| !matches!(p.kind, Kind::Expression | Kind::Wrong);
        Workspace { pieces: self.pieces.iter().filter(stays).cloned().collect() }
    }

    pub fn defines(&self, name: &str) -> bool {
        self.pieces.iter().any(|p| p.kind.name().is_some_and(|n| n.as_str() == name))
    }

    /// One program.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            text.push_str(&piece.text);
            text.push('\n');
        }
        text
    }

    /// Where the pieces are in that text.
    pub fn ranges(&self) -> Vec<Range<usize>> {
        let mut at = 0;
        let range = |piece: &Piece| {
            let start = at;
            at += piece.text.len() + 1;
            start..at
        };
        self.pieces.iter().map(range).collect()
    }

    /// What messages about that text, the module's, are shown at.
    pub fn places(&self, module: ModuleId) -> Places {
        let mut places = Places::new(module);
        for (piece, range) in self.pieces.iter().zip(self.ranges()) {
            places.add(range, &piece.origin.shown, &piece.origin.text, piece.at.clone());
        }
        places
    }

    /// As a program that is to be in a folder: imports are relative to that.
    pub fn program(&self, folder: &Path) -> String {
        let mut out = String::new();
        let mut before = None;
        for piece in &self.pieces {
            let import = matches!(piece.kind, Kind::Import(_));
            // Imports stand together.
            if before.is_some_and(|before| !(before && import)) {
                out.push('\n');
            }
            before = Some(import);
            match &piece.kind {
                Kind::Import(path) => out.push_str(&import_of(&relative(path, folder))),
                _ => out.push_str(&piece.text),
            }
            out.push('\n');
        }
        out
    }
}

/// The forms of a text, each with the comments above it and behind it.
pub fn pieces(origin: &Arc<Origin>) -> Vec<Piece> {
    let text = &origin.text;
    let parsed = parse(ModuleId(0), text, false);
    let mut found = Vec::new();
    let mut from = 0;
    let spans: Vec<Option<Range<usize>>> =
        parsed.items.iter().map(|p| p.map.item.map(|s| s.start as usize..s.end as usize)).collect();
    for (k, (item, span)) in parsed.items.iter().zip(&spans).enumerate() {
        let Some(span) = span else { continue };
        let next = spans.get(k + 1).cloned().flatten().map_or(text.len(), |s| s.start);
        let end = behind(text, span.end, next);
        let start = from.min(span.start);
        let kind = match &item.item.kind {
            ItemKind::Define { name, .. } | ItemKind::Entry { name, .. } => Kind::Value(name.name.clone()),
            ItemKind::DefineType { name, .. } => Kind::Type(name.name.clone()),
            ItemKind::Import { path } => Kind::Import(origin.folder.join(path)),
            ItemKind::Expr(_) => Kind::Expression,
            ItemKind::Primitive { .. } | ItemKind::Error => Kind::Wrong,
        };
        let (at, piece) = match &kind {
            Kind::Import(path) if !origin.folder.as_os_str().is_empty() => (span.clone(), import_of(path)),
            _ => {
                let lead = text[start..].len() - text[start..].trim_start().len();
                let start = (start + lead).min(span.start);
                (start..end, text[start..end].to_owned())
            }
        };
        found.push(Piece { kind, text: piece, origin: origin.clone(), at });
        from = end;
    }
    found
}

/// Where what belongs to a form ends: behind a comment on its last line.
fn behind(text: &str, end: usize, next: usize) -> usize {
    let line = text[end..].find('\n').map_or(text.len(), |at| end + at);
    if next < line {
        return end;
    }
    let tokens = remc_syntax::tokens(&text[end..line]);
    let comment = tokens.trivia.iter().rev().find(|t| t.kind == TriviaKind::LineComment);
    comment.map_or(end, |t| end + t.end as usize)
}

fn import_of(path: &Path) -> String {
    let path = path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\"");
    format!("(import \"{path}\")")
}

/// A path from a folder, both from the current one. An absolute path stays one unless it is in the folder.
fn relative(path: &Path, folder: &Path) -> PathBuf {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let (whole, from) = (absolute(path), absolute(folder));
    if let Ok(inside) = whole.strip_prefix(&from) {
        return inside.to_owned();
    }
    if path.is_absolute() {
        return path.to_owned();
    }
    let same = whole.components().zip(from.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(same).map(|_| PathBuf::from(".."));
    up.chain(whole.components().skip(same).map(|c| PathBuf::from(c.as_os_str()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, folder: &str) -> Vec<Piece> {
        pieces(&Arc::new(Origin { shown: "<prompt>".into(), text: text.into(), folder: folder.into() }))
    }

    fn texts(pieces: &[Piece]) -> Vec<&str> {
        pieces.iter().map(|p| p.text.as_str()).collect()
    }

    #[test]
    fn forms_keep_their_comments() {
        let text = "; One more.\n(define (f x) (+ x 1)) ; behind\n; of the type\n(define-type T int)\n1 2 ; two\n; end\n";
        let all = of(text, "");
        assert_eq!(
            texts(&all),
            [
                "; One more.\n(define (f x) (+ x 1)) ; behind",
                "; of the type\n(define-type T int)",
                "1",
                "2 ; two"
            ]
        );
        assert_eq!(all[0].kind, Kind::Value("f".into()));
        assert_eq!((&all[1].kind, &all[2].kind), (&Kind::Type("T".into()), &Kind::Expression));
        assert!(all.iter().all(|p| text[p.at.clone()] == p.text));
    }

    #[test]
    fn a_name_has_one_definition() {
        let old = Workspace { pieces: of("(define x 1) (define y x) (define-type x int)", "") };
        let new = old.with(of("(define x 2) 5", ""));
        assert_eq!(texts(&new.pieces), ["(define y x)", "(define-type x int)", "(define x 2)", "5"]);
        assert_eq!(texts(&new.definitions().pieces).len(), 3);
        assert_eq!(texts(&new.without("x").pieces), ["(define y x)", "5"]);
        let range = new.ranges()[2].clone();
        assert_eq!(&new.text()[range], "(define x 2)\n");
    }

    #[test]
    fn imports_are_relative_to_where_they_are() {
        let all =
            Workspace { pieces: of("(import \"lib.remora\")\n(import \"../b.remora\")\n(f 1)", "dir/sub") };
        assert_eq!(
            texts(&all.pieces),
            ["(import \"dir/sub/lib.remora\")", "(import \"dir/sub/../b.remora\")", "(f 1)"]
        );
        let all = all.definitions();
        let inside = std::path::absolute("dir").unwrap();
        assert_eq!(relative(&inside.join("a/b.remora"), &inside), Path::new("a/b.remora"));
        assert_eq!(relative(Path::new("/lib/b.remora"), &inside), Path::new("/lib/b.remora"));
        assert_eq!(
            all.program(Path::new("dir")),
            "(import \"sub/lib.remora\")\n(import \"sub/../b.remora\")\n"
        );
        assert_eq!(
            all.program(Path::new("other")).lines().next(),
            Some("(import \"../dir/sub/lib.remora\")")
        );
    }
}
