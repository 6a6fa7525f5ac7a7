//! Programs in documentation, run by the interpreter: each form of a text, what it gives, and what the comment behind it
//! claims ([`remc_driver::claims`]).

use remc_base::ModuleId;
use remc_driver::claims::{Found, Subject, Wanted, claims};
use remc_driver::names::DefKind;
use remc_driver::render::{Style, render};
use remc_driver::{Def, Session, SourceFile};
use remc_interp::Interp;
use remc_runtime::text;
use std::ops::Range;
use std::path::Path;

/// A form of a program, and what is claimed of it.
#[derive(Debug)]
pub struct Form {
    pub source: String,
    pub claim: Option<Wanted>,
    pub found: Found,
}

impl Form {
    /// What is wrong, if the claim does not hold or there is an error that no claim mentions.
    pub fn mistake(&self) -> Option<String> {
        let holds = match (&self.claim, &self.found) {
            (None, found) => !matches!(found, Found::Error { .. }),
            (Some(claim), found) => claim.holds(found),
        };
        let said = match &self.found {
            _ if holds => return None,
            Found::Nothing => "no value",
            Found::Value(value) => value,
            Found::Error { message, .. } => message,
        };
        let claim = self.claim.as_ref().map_or("no error".to_owned(), Wanted::said);
        Some(format!("{}\n  wanted {claim}\n  found  {said}", self.source))
    }
}

/// Runs each form of a program. Its imports are relative to `folder`.
pub fn run(session: &mut Session, folder: &Path, program: &str) -> Vec<Form> {
    let file = session.load_text("example.remora", folder, program.to_owned());
    let session = &*session;
    let defs: Vec<Def> = session.defs(file).to_vec();
    let module = file.module(&session.db);
    let errors: Vec<_> = session.diagnostics(file).into_iter().filter(|d| d.is_error()).collect();
    let range = |def: &Def<'_>| {
        let span = session.item_span(*def);
        span.start as usize..span.end as usize
    };
    let places: Vec<Range<usize>> = defs.iter().map(range).collect();
    let claims = claims(program, &places, |_| false);
    let mut forms = vec![];
    for (i, (def, place)) in defs.iter().zip(&places).enumerate() {
        let end = place.end.max(place.start + 1);
        let inside = |at: ModuleId, k: u32| at == module && (place.start..end).contains(&(k as usize));
        let mine: Vec<_> = errors
            .iter()
            .filter(|d| d.labels.iter().any(|l| l.primary && inside(l.loc.module, l.loc.start)))
            .cloned()
            .collect();
        let found = if !mine.is_empty() {
            Found::Error {
                codes: mine.iter().map(|d| d.code.to_string()).collect(),
                message: render(session, &mine, Style::Short, false),
            }
        } else if def.kind(&session.db) == DefKind::Expr {
            value(session, file, *def)
        } else {
            Found::Nothing
        };
        let claim = claims.iter().find(|c| c.of == Subject::Form(i)).map(|c| c.wanted.clone());
        forms.push(Form { source: program[place.clone()].to_owned(), claim, found });
    }
    forms
}

fn value(session: &Session, file: SourceFile, def: Def<'_>) -> Found {
    let linked = session.link(file, &[def]);
    if let Err(bug) = session.verify(&linked, file) {
        return Found::Error { codes: vec![], message: bug.message };
    }
    let interp = Interp::new(&linked, session.first_user_module());
    match interp.eval_definition(&def.global(&session.db)) {
        Ok(value) => Found::Value(text::print(&value)),
        Err(e) => {
            Found::Error { codes: vec![e.code.to_string()], message: format!("{}: {}", e.code, e.message) }
        }
    }
}
