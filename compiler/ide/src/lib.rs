//! The editor's questions, as plain data: what stands here, where is it defined, what may follow, what would mend it.
//!
//! ```text
//! names     what each name of a definition means, by scope alone        there while a text is half written
//! types     the type and the frame of each node, from Typed             there once the definition checks
//! ─────────────────────────────────────────────────────────────────────────────────────────────────────
//! hover, hints, signature            what the checker knows
//! places, rename                     definitions, references, other names for them
//! complete, snippets                 what may be written here, best first
//! actions                            what mends an error; what is inferred, written down
//! outline, tokens                    symbols, folds, selections, lenses; colours
//! ```
//!
//! [`Ide`] asks a [`Session`]; it keeps nothing itself, and what it asks for again and again is memoised there.
//! Positions are bytes of a file's text; no type of an editor's protocol is known here.

mod actions;
mod common;
mod complete;
mod context;
mod hints;
mod hover;
pub mod names;
mod outline;
mod places;
mod rename;
mod signature;
mod snippets;
mod tokens;
pub mod types;

use remc_base::{Diagnostic, ModuleId, Name, NodeId, Span};
use remc_driver::names::{Namespace, lookup};
use remc_driver::{Def, Session, SourceFile};
use std::ops::Range;

pub use tokens::highlight;

/// Text in the place of other text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    pub span: Span,
    pub text: String,
}

/// What is known of a place, as Markdown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hover {
    /// What it is about.
    pub span: Span,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CompletionKind {
    /// A parameter, or what a `let` binds.
    Local,
    /// A dim or a shape.
    Size,
    Function,
    Value,
    Entry,
    Type,
    Field,
    /// A form of the language, with places to fill in.
    Form,
    /// A file that can be imported.
    File,
}

/// What may be written at a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Completion {
    pub label: String,
    pub kind: CompletionKind,
    /// The type, on one line.
    pub detail: String,
    /// Markdown.
    pub documentation: String,
    /// What is typed already is replaced by this.
    pub edit: Edit,
    /// Whether the text has places to fill in, `${1:x}`, as snippets of editors do.
    pub snippet: bool,
}

/// The function that is applied around a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// `(take1 xs count)`
    pub label: String,
    /// Bytes of the label.
    pub parameters: Vec<Range<usize>>,
    /// The types of the parameters, where they are known.
    pub types: Vec<String>,
    /// Which parameter the place is at.
    pub active: usize,
    /// Markdown.
    pub documentation: String,
}

/// What is inferred, shown in the text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hint {
    pub offset: u32,
    pub label: String,
    pub tooltip: String,
    /// Writes it into the text; none, where it cannot be written.
    pub edits: Vec<Edit>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolKind {
    Function,
    Value,
    Entry,
    Type,
    Import,
    Expression,
}

/// A top-level form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Symbol {
    pub name: String,
    /// The type, on one line; empty where there is none.
    pub detail: String,
    pub kind: SymbolKind,
    /// The whole form.
    pub span: Span,
    pub name_span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FoldKind {
    Comment,
    Imports,
    Form,
}

/// Lines that can be hidden behind the first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fold {
    pub span: Span,
    pub kind: FoldKind,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum TokenKind {
    Keyword,
    Function,
    Parameter,
    Variable,
    Type,
    /// A size, a shape or an atom type that a variable stands for.
    TypeParameter,
    /// A field of a record.
    Property,
    String,
    Number,
    /// `~`, `:` and the like.
    Operator,
    Comment,
}

/// A piece of the text with a colour.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Token {
    pub span: Span,
    pub kind: TokenKind,
    /// Whether the name is bound here.
    pub declaration: bool,
    /// Whether it is the prelude's.
    pub prelude: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActionKind {
    QuickFix,
    Rewrite,
}

/// A change that is offered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    pub title: String,
    pub kind: ActionKind,
    pub edits: Vec<Edit>,
    /// What it mends.
    pub fixes: Option<Diagnostic<Span>>,
    /// Whether it is what nearly everybody wants.
    pub preferred: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LensKind {
    Run,
    /// Why it is as fast as it is.
    Explain,
}

/// What can be done with a definition, shown above it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lens {
    pub span: Span,
    pub name: Name,
    pub kind: LensKind,
}

/// The editor's questions about what is loaded in a session.
#[derive(Clone, Copy)]
pub struct Ide<'s> {
    pub session: &'s Session,
}

impl<'s> Ide<'s> {
    pub fn new(session: &'s Session) -> Ide<'s> {
        Ide { session }
    }

    /// What is wrong with a file itself, in the order of the text.
    pub fn diagnostics(&self, file: SourceFile) -> Vec<Diagnostic<Span>> {
        let module = file.module(&self.session.db);
        let mut all = self.session.diagnostics(file);
        let here = |d: &Diagnostic<Span>| {
            let at = d.labels.iter().find(|l| l.primary).or(d.labels.first());
            at.is_none_or(|l| l.loc.module == module)
        };
        all.retain(here);
        all
    }

    /// What is known of the place: its type, the frame of an application, the documentation of a name.
    pub fn hover(&self, file: SourceFile, offset: u32) -> Option<Hover> {
        hover::hover(self, file, offset)
    }

    /// Where what stands at the place is defined.
    pub fn definition(&self, file: SourceFile, offset: u32) -> Vec<Span> {
        places::definition(self, file, offset)
    }

    /// Where else it is used, in all files of the session.
    pub fn references(&self, file: SourceFile, offset: u32, declaration: bool) -> Vec<Span> {
        places::references(self, file, offset, declaration)
    }

    /// Where it stands in this file, and whether it is bound there.
    pub fn highlights(&self, file: SourceFile, offset: u32) -> Vec<(Span, bool)> {
        places::highlights(self, file, offset)
    }

    /// The name at the place.
    ///
    /// # Errors
    /// Why it cannot have another.
    pub fn can_rename(&self, file: SourceFile, offset: u32) -> Result<Span, String> {
        rename::target(self, file, offset).map(|t| t.span)
    }

    /// Another name for what stands at the place, wherever it is used.
    ///
    /// # Errors
    /// Why it cannot be: what would mean something else then, or no name.
    pub fn rename(&self, file: SourceFile, offset: u32, name: &str) -> Result<Vec<Edit>, String> {
        rename::rename(self, file, offset, name)
    }

    /// What may be written at the place, best first.
    pub fn completions(&self, file: SourceFile, offset: u32) -> Vec<Completion> {
        complete::completions(self, file, offset)
    }

    /// The function that is applied around the place.
    pub fn signature(&self, file: SourceFile, offset: u32) -> Option<Signature> {
        signature::signature(self, file, offset)
    }

    /// What is inferred in a part of the text.
    pub fn hints(&self, file: SourceFile, range: Range<u32>) -> Vec<Hint> {
        hints::hints(self, file, range)
    }

    /// The forms of a file.
    pub fn symbols(&self, file: SourceFile) -> Vec<Symbol> {
        outline::symbols(self, file)
    }

    /// The definitions of all files whose names have the letters of `query` in their order.
    pub fn workspace_symbols(&self, query: &str) -> Vec<Symbol> {
        outline::workspace_symbols(self, query)
    }

    /// What can be folded.
    pub fn folds(&self, file: SourceFile) -> Vec<Fold> {
        outline::folds(self, file)
    }

    /// The forms around a place, innermost first.
    pub fn selection(&self, file: SourceFile, offset: u32) -> Vec<Span> {
        outline::selection(self, file, offset)
    }

    /// The colours of a text, or of a part of it.
    pub fn tokens(&self, file: SourceFile, range: Option<Range<u32>>) -> Vec<Token> {
        tokens::tokens(self, file, range)
    }

    /// The changes that are offered for a part of the text.
    pub fn actions(&self, file: SourceFile, range: Range<u32>) -> Vec<Action> {
        actions::actions(self, file, range)
    }

    /// What can be run and explained.
    pub fn lenses(&self, file: SourceFile) -> Vec<Lens> {
        outline::lenses(self, file)
    }

    fn text(&self, file: SourceFile) -> &'s str {
        file.text(&self.session.db)
    }

    fn module(&self, file: SourceFile) -> ModuleId {
        file.module(&self.session.db)
    }

    /// The form at a place; of two that meet there, the one that begins there.
    fn def_at(&self, file: SourceFile, offset: u32) -> Option<Def<'s>> {
        let defs = self.session.defs(file);
        let span = |d: &Def<'s>| self.session.item_span(*d);
        let before = defs.partition_point(|d| span(d).start <= offset);
        let found = *defs.get(before.checked_sub(1)?)?;
        (offset <= span(&found).end).then_some(found)
    }

    /// The nodes of a definition at a place, innermost first.
    fn nodes_at(&self, def: Def<'s>, offset: u32) -> Vec<NodeId> {
        let map = def.map(&self.session.db);
        let here = |s: &Span| s.start <= offset && offset <= s.end && s.start < s.end;
        let all = map.spans.iter().enumerate().filter(|(_, s)| here(s));
        let mut found: Vec<(u32, NodeId)> = all.map(|(k, s)| (s.end - s.start, NodeId(k as u32))).collect();
        // Of nodes with one span, the one made last is further inside.
        found.sort_by_key(|(len, node)| (*len, std::cmp::Reverse(node.0)));
        found.into_iter().map(|(_, node)| node).collect()
    }

    /// The name at a place, and where it is.
    fn occurrence_at(&self, file: SourceFile, offset: u32) -> Option<Found<'s>> {
        let def = self.def_at(file, offset)?;
        let db = &self.session.db;
        let names = names::names(db, def);
        let spans = &def.map(db).spans;
        let near =
            |node: NodeId| spans.get(node.0 as usize).is_some_and(|s| s.start <= offset && offset <= s.end);
        let mut found: Vec<Found<'s>> = Vec::new();
        for (nth, o) in names.occurrences.iter().enumerate().filter(|(_, o)| near(o.node)) {
            if let Some(span) = names::name_span(db, def, o.node, &o.name)
                && span.start <= offset
                && offset <= span.end
            {
                found.push(Found { def, nth, span });
            }
        }
        // Between two names that touch, as in `f{t}`, the one that begins there.
        found.into_iter().max_by_key(|f| f.span.start)
    }

    /// What an occurrence means.
    fn meaning(&self, def: Def<'s>, o: &names::Occurrence) -> Meaning<'s> {
        match o.target {
            names::Target::Item => Meaning::Global(def),
            names::Target::Local(binder) => Meaning::Local(def, binder),
            names::Target::Label => Meaning::Label,
            names::Target::Global => {
                let db = &self.session.db;
                let space = match o.sort {
                    names::Sort::Type => Namespace::Types,
                    _ => Namespace::Values,
                };
                // A type variable that is nowhere bound is one all over the definition.
                match lookup(db, def.file(db), space, o.name.clone()) {
                    Some(found) => Meaning::Global(found),
                    None if o.sort == names::Sort::Type && !types::is_base(&o.name) => Meaning::Implicit(def),
                    None => Meaning::Nothing,
                }
            }
        }
    }

    /// The documentation of a definition, as [`remc_driver::doc`] has it.
    fn documented(&self, def: Def<'s>) -> Option<remc_driver::doc::Entry> {
        remc_driver::doc::of_definition(self.session, def)
    }

    fn slice(&self, span: Span) -> &'s str {
        let text = self.session.source(span.module).map_or("", |(_, text)| text);
        text.get(span.start as usize..span.end as usize).unwrap_or_default()
    }
}

/// An occurrence by its place in the definition's [`names::Names`].
struct Found<'s> {
    def: Def<'s>,
    nth: usize,
    span: Span,
}

/// What a name means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meaning<'s> {
    Global(Def<'s>),
    /// A binder of the definition.
    Local(Def<'s>, usize),
    /// A variable that the types of parameters bind without saying so.
    Implicit(Def<'s>),
    /// A field of a record.
    Label,
    /// A base type, or no name that there is.
    Nothing,
}
