//! Programs in documentation, run by the interpreter: each form of a text and what it gives.
//!
//! A claim stands behind a form, or on the lines below it:
//!
//! ```text
//! (iota [2 3])    ; ⇒ [[0 1 2] [3 4 5]]
//! (+ 1 #t)        ; ⇒ error E0402
//! ```

use remc_base::ModuleId;
use remc_driver::names::DefKind;
use remc_driver::render::{Style, render};
use remc_driver::{Def, Session, SourceFile};
use remc_interp::Interp;
use remc_runtime::text;
use std::path::Path;

/// What a form gives.
#[derive(Debug)]
pub enum Found {
    /// A definition, which is right.
    Nothing,
    Value(String),
    Error {
        codes: Vec<String>,
        message: String,
    },
}

/// A form of a program, and what is claimed of it.
#[derive(Debug)]
pub struct Form {
    pub source: String,
    pub claim: Option<String>,
    pub found: Found,
}

impl Form {
    /// What is wrong, if the claim does not hold or there is an error that no claim mentions.
    pub fn mistake(&self) -> Option<String> {
        let said = match (&self.claim, &self.found) {
            (None, Found::Nothing | Found::Value(_)) => return None,
            (Some(claim), Found::Value(value)) if spaced(claim) == spaced(value) => return None,
            (Some(claim), Found::Error { codes, .. })
                if claim.strip_prefix("error ").is_some_and(|c| codes.iter().any(|d| d == c)) =>
            {
                return None;
            }
            (_, Found::Nothing) => "no value".to_owned(),
            (_, Found::Value(value)) => value.clone(),
            (_, Found::Error { message, .. }) => message.clone(),
        };
        let claim = self.claim.as_deref().unwrap_or("no error");
        Some(format!("{}\n  wanted {claim}\n  found  {said}", self.source))
    }
}

/// Line ends in values are as good as spaces.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs each form of a program. Its imports are relative to `folder`.
pub fn run(session: &mut Session, folder: &Path, program: &str) -> Vec<Form> {
    let file = session.load_text("example.remora", folder, program.to_owned());
    let session = &*session;
    let defs: Vec<Def> = session.defs(file).to_vec();
    let module = file.module(&session.db);
    let errors: Vec<_> = session.diagnostics(file).into_iter().filter(|d| d.is_error()).collect();
    let mut forms = vec![];
    for (i, def) in defs.iter().enumerate() {
        let span = session.item_span(*def);
        let (start, end) = (span.start as usize, span.end as usize);
        let next = defs.get(i + 1).map_or(program.len(), |d| session.item_span(*d).start as usize);
        let inside =
            |at: ModuleId, k: u32| at == module && start <= k as usize && (k as usize) < end.max(start + 1);
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
        forms.push(Form { source: program[start..end].to_owned(), claim: claim(&program[end..next]), found });
    }
    forms
}

/// `; ⇒ …`, up to the end of the comment.
fn claim(after: &str) -> Option<String> {
    let mut lines = after.lines().map(str::trim).skip_while(|l| !l.starts_with("; ⇒"));
    let mut claim = lines.next()?.trim_start_matches("; ⇒").trim().to_owned();
    for line in lines.take_while(|l| l.starts_with(';')) {
        claim.push(' ');
        claim.push_str(line.trim_start_matches(';').trim());
    }
    Some(claim)
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
