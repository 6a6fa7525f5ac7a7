//! Diagnostics as plain data; rendering is the driver's.
//!
//! A diagnostic is a value that a stage returns, never something it prints. Its labels point at
//! locations of type `L`: a [`Loc`] inside the checker (positions stay out of query results), a
//! [`crate::Span`] once shown. A [`Code`] has one page under `testsuite/diagnostics/`, which
//! `remc explain` prints and the tests render.

use crate::ids::NodeId;
use crate::name::GlobalId;
use std::fmt;

/// An error, warning or limitation code, such as `E0301`. The page of the same name documents it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(pub &'static str);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Severity {
    Error,
    Warning,
    Note,
}

/// Where a label of the checker points.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Loc {
    /// A node of the item that is being checked.
    Node(NodeId),
    /// The name of another top-level definition.
    Global(GlobalId),
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Label<L> {
    pub loc: L,
    pub text: String,
    /// The primary label is where the mistake is; the others say where its parts come from.
    pub primary: bool,
}

/// Two shapes side by side, each with its title; `axis` is the first axis that disagrees.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct ShapeComparison {
    pub left: (String, Vec<String>),
    pub right: (String, Vec<String>),
    pub axis: Option<usize>,
}

/// A change of the text that mends what is reported, and has been checked to.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fix<L> {
    /// What it does, as an order: "use `mean`".
    pub title: String,
    /// What is replaced.
    pub at: L,
    pub by: Vec<Piece<L>>,
}

/// A part of the text that a fix writes.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Piece<L> {
    Text(String),
    /// What stands at a place now.
    Kept(L),
}

impl<L> Fix<L> {
    /// Another text in a place.
    pub fn replace(title: impl Into<String>, at: L, text: impl Into<String>) -> Fix<L> {
        Fix { title: title.into(), at, by: vec![Piece::Text(text.into())] }
    }

    fn map_locations<M>(self, f: &mut impl FnMut(L) -> M) -> Fix<M> {
        let mut piece = |p| match p {
            Piece::Text(text) => Piece::Text(text),
            Piece::Kept(loc) => Piece::Kept(f(loc)),
        };
        let by = self.by.into_iter().map(&mut piece).collect();
        Fix { title: self.title, at: f(self.at), by }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Diagnostic<L> {
    pub code: Code,
    pub severity: Severity,
    pub message: String,
    pub labels: Vec<Label<L>>,
    pub shapes: Option<ShapeComparison>,
    pub notes: Vec<String>,
    pub help: Vec<String>,
    /// What an editor can do about it; the best first.
    pub fixes: Vec<Fix<L>>,
}

impl<L> Diagnostic<L> {
    pub fn new(severity: Severity, code: Code, message: impl Into<String>) -> Self {
        Diagnostic {
            code,
            severity,
            message: message.into(),
            labels: Vec::new(),
            shapes: None,
            notes: Vec::new(),
            help: Vec::new(),
            fixes: Vec::new(),
        }
    }

    pub fn error(code: Code, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Error, code, message)
    }

    pub fn warning(code: Code, message: impl Into<String>) -> Self {
        Diagnostic::new(Severity::Warning, code, message)
    }

    pub fn primary(mut self, loc: L, text: impl Into<String>) -> Self {
        self.labels.push(Label { loc, text: text.into(), primary: true });
        self
    }

    pub fn secondary(mut self, loc: L, text: impl Into<String>) -> Self {
        self.labels.push(Label { loc, text: text.into(), primary: false });
        self
    }

    pub fn note(mut self, text: impl Into<String>) -> Self {
        self.notes.push(text.into());
        self
    }

    pub fn help(mut self, text: impl Into<String>) -> Self {
        self.help.push(text.into());
        self
    }

    pub fn fix(mut self, fix: Fix<L>) -> Self {
        self.fixes.push(fix);
        self
    }

    pub fn shapes(mut self, comparison: ShapeComparison) -> Self {
        self.shapes = Some(comparison);
        self
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// The same diagnostic with its locations resolved.
    pub fn map_locations<M>(self, mut f: impl FnMut(L) -> M) -> Diagnostic<M> {
        Diagnostic {
            code: self.code,
            severity: self.severity,
            message: self.message,
            labels: self
                .labels
                .into_iter()
                .map(|l| Label { loc: f(l.loc), text: l.text, primary: l.primary })
                .collect(),
            shapes: self.shapes,
            notes: self.notes,
            help: self.help,
            fixes: self.fixes.into_iter().map(|fix| fix.map_locations(&mut f)).collect(),
        }
    }
}
