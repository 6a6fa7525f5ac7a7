//! The workspace, checked: what a new input would make of it, and what an editor wants to know while it is typed.

use super::workspace::{Kind, Origin, Piece, Workspace, pieces};
use crate::report::Places;
use remc_base::{Diagnostic, ModuleId, Span};
use remc_driver::cycles::edges;
use remc_driver::doc::{self, Entry};
use remc_driver::names::DefKind;
use remc_driver::queries::{alias, scheme};
use remc_driver::{Def, Session, SourceFile};
use remc_ide::{Completion, Ide, Token};
use remc_syntax::parse;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// What messages call the text that is typed.
pub const SHOWN: &str = "<prompt>";

pub struct Desk {
    pub session: Session,
    /// The workspace, with the input that is looked at.
    pub program: SourceFile,
    /// The same with what is being typed.
    draft: SourceFile,
    pub workspace: Workspace,
    /// The names in the workspace whose definitions have errors.
    broken: Vec<String>,
}

/// What the workspace would be with an input, and what is wrong with that.
pub struct Candidate {
    pub workspace: Workspace,
    pub places: Places,
    /// Which of the pieces are new.
    new: usize,
    /// What is said of the input.
    pub found: Vec<Diagnostic<Span>>,
    /// The errors of what was there before.
    pub others: Vec<Diagnostic<Span>>,
    broken: Vec<String>,
}

impl Candidate {
    pub fn is_right(&self) -> bool {
        !self.found.iter().any(Diagnostic::is_error)
    }

    pub fn new_pieces(&self) -> &[Piece] {
        &self.workspace.pieces[self.new..]
    }
}

impl Desk {
    pub fn new(mut session: Session) -> Desk {
        let program = session.load_text(SHOWN, Path::new(""), String::new());
        let draft = session.load_text(SHOWN, Path::new(""), String::new());
        Desk { session, program, draft, workspace: Workspace::default(), broken: Vec::new() }
    }

    /// Checks the workspace with an input. Whatever comes of it, the workspace stays as it is until it is
    /// [accepted](Desk::accept).
    pub fn check(&mut self, input: &Arc<Origin>) -> Candidate {
        self.checked(read(input))
    }

    /// Checks the workspace with more pieces.
    pub fn checked(&mut self, new: Vec<Piece>) -> Candidate {
        let count = new.len();
        let workspace = self.workspace.with(new);
        self.look_at(workspace, count)
    }

    /// Checks another workspace, of which the last pieces are new.
    pub fn look_at(&mut self, workspace: Workspace, new: usize) -> Candidate {
        self.session.refresh();
        self.session.set_text(self.program, workspace.text());
        let module = self.module();
        let new = workspace.pieces.len() - new;
        let ranges = workspace.ranges();
        let first = ranges.get(new).map_or(usize::MAX, |r| r.start);
        let imports = workspace.pieces[new..].iter().any(|p| matches!(p.kind, Kind::Import(_)));
        let is_twice = |d: &Diagnostic<Span>| d.code == remc_driver::codes::DUPLICATE_DEFINITION;
        let is_new = |d: &Diagnostic<Span>| {
            let here = |s: Span| s.module == module && s.start as usize >= first;
            match d.labels.iter().find(|l| l.primary).or(d.labels.first()) {
                // What an import brings in, too, is so because of the input.
                Some(_) if is_twice(d) => d.labels.iter().any(|l| here(l.loc)),
                Some(l) if l.loc.module != module => imports,
                Some(l) => here(l.loc),
                None => true,
            }
        };
        let (found, others): (Vec<_>, Vec<_>) =
            self.session.diagnostics(self.program).into_iter().partition(is_new);
        let others: Vec<_> = others.into_iter().filter(Diagnostic::is_error).collect();
        let at = |d: &Diagnostic<Span>| {
            let place = d.labels.iter().find(|l| l.primary)?.loc;
            let k =
                ranges.iter().position(|r| place.module == module && r.contains(&(place.start as usize)))?;
            workspace.pieces[k].kind.name().map(ToString::to_string)
        };
        let mut broken: Vec<String> = others.iter().filter_map(at).collect();
        broken.dedup();
        let places = workspace.places(module);
        Candidate { workspace, places, new, found, others, broken }
    }

    /// What is defined from now on; the names of what had no errors before and has some now.
    pub fn accept(&mut self, candidate: &Candidate) -> Vec<String> {
        self.workspace = candidate.workspace.definitions();
        let worse = candidate.broken.iter().filter(|name| !self.broken.contains(name)).cloned().collect();
        self.broken = candidate.broken.clone();
        worse
    }

    pub fn module(&self) -> ModuleId {
        self.program.module(&self.session.db)
    }

    /// The forms of the text that was checked last and are in its new pieces.
    pub fn new_defs(&self, candidate: &Candidate) -> Vec<Def<'_>> {
        let first = candidate.workspace.ranges().get(candidate.new).map_or(usize::MAX, |r| r.start);
        let is_new = |d: &&Def<'_>| self.session.item_span(**d).start as usize >= first;
        self.session.defs(self.program).iter().filter(is_new).copied().collect()
    }

    /// The errors of what a definition needs, of what was there before.
    pub fn errors_under(&self, def: Def<'_>, candidate: &Candidate) -> Vec<Diagnostic<Span>> {
        let db = &self.session.db;
        let (mut seen, mut todo) = (vec![def], vec![def]);
        while let Some(def) = todo.pop() {
            for next in edges(db, def) {
                if !next.file(db).prelude(db) && !seen.contains(&next) {
                    seen.push(next);
                    todo.push(next);
                }
            }
        }
        let is_under = |d: &&Diagnostic<Span>| {
            let Some(label) = d.labels.iter().find(|l| l.primary) else { return false };
            let holds = |span: Span| {
                span.module == label.loc.module
                    && span.start <= label.loc.start
                    && label.loc.start <= span.end
            };
            seen.iter().any(|d| holds(self.session.item_span(*d)))
        };
        candidate.others.iter().filter(is_under).cloned().collect()
    }

    /// `mean : (→ ([float n]) float)`, of a definition; the type alone of an expression.
    pub fn described(&self, def: Def<'_>) -> Option<String> {
        let db = &self.session.db;
        let ty = match def.kind(db) {
            DefKind::Type => return Some(format!("{} = {}", def.name(db), alias(db, def).as_ref()?.ty)),
            _ => scheme(db, def).as_ref()?.ty.to_string(),
        };
        Some(match def.kind(db) {
            DefKind::Expr => ty,
            _ => format!("{} : {ty}", def.name(db)),
        })
    }

    /// What the comments in the workspace say of its definitions.
    pub fn documented(&mut self) -> Vec<Entry> {
        self.session.set_text(self.program, self.workspace.text());
        doc::entries(&self.session, self.program)
    }

    /// What may be written at a place of an expression or definition that is being typed.
    pub fn completions(&mut self, text: &str, at: usize) -> Vec<(Range<usize>, Completion)> {
        let before = self.type_in(text);
        let place = u32::try_from(before + at).unwrap_or(u32::MAX);
        let here = |c: Completion| {
            let start = (c.edit.span.start as usize).checked_sub(before)?;
            Some((start..(c.edit.span.end as usize).checked_sub(before)?, c))
        };
        Ide::new(&self.session).completions(self.draft, place).into_iter().filter_map(here).collect()
    }

    /// The colours of what is being typed.
    pub fn tokens(&mut self, text: &str) -> Vec<(Range<usize>, Token)> {
        let before = self.type_in(text);
        let end = before + text.len();
        let of = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        let here = |t: Token| {
            let start = (t.span.start as usize).checked_sub(before)?;
            Some((start..(t.span.end as usize).checked_sub(before)?.min(text.len()), t))
        };
        let all = Ide::new(&self.session).tokens(self.draft, Some(of(before)..of(end)));
        all.into_iter().filter_map(here).filter(|(range, _)| range.start < range.end).collect()
    }

    /// Puts a text behind the workspace; where it begins there.
    fn type_in(&mut self, text: &str) -> usize {
        let mut all = self.workspace.text();
        let before = all.len();
        all.push_str(text);
        self.session.set_text(self.draft, all);
        before
    }
}

/// The forms of an input. One that does not read is one piece, so that all that is wrong with it is said.
fn read(input: &Arc<Origin>) -> Vec<Piece> {
    let parsed = parse(ModuleId(0), &input.text, false);
    if parsed.diagnostics.iter().any(Diagnostic::is_error) {
        let at = 0..input.text.len();
        return vec![Piece { kind: Kind::Wrong, text: input.text.clone(), origin: input.clone(), at }];
    }
    pieces(input)
}
