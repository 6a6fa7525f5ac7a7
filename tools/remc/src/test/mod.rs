//! `remc test`: what programs claim of themselves.
//!
//! ```text
//! FILE.remora      each `; ⇒ value` behind an expression, and each example in the comment above a definition
//! FILE.out         beside FILE.remora: what `remc run` prints, of the entry and inputs that its first comments name
//! (no claim)       the program checks
//! ```
//!
//! [`remc_driver::claims`] reads the comments, [`suite`] finds files, [`run`] computes, [`report`] says what came of it.

mod report;
mod run;
mod suite;

use crate::args::Test;
use crate::codes;
use crate::commands::cannot_write;
use crate::report::{Failure, Outcome, Reporter, fail, to_stdout, usage};
use remc_driver::claims::{Found, Subject, Wanted, rewritten};
use remc_driver::session;
use remc_runtime::files;
use std::time::Instant;

/// What became of one expectation.
pub struct Check {
    pub line: usize,
    /// What is spoken of, on one line.
    pub source: String,
    pub wanted: Wanted,
    pub found: Found,
    /// It holds, or holds from now on.
    pub outcome: Became,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Became {
    Right,
    Wrong,
    /// The comment has been rewritten.
    Updated,
}

/// What became of a file.
pub struct Tested {
    pub path: String,
    pub checks: Vec<Check>,
    /// Errors that no comment speaks of.
    pub errors: String,
}

pub fn test(args: &Test, reporter: &Reporter) -> Outcome {
    let start = Instant::now();
    let files = suite::find(&args.paths)?;
    let mut session = crate::commands::new_session();
    let mut all = Vec::new();
    for path in &files {
        let text = session::read(path).or_else(|e| {
            fail(usage(codes::UNREADABLE, format!("cannot read `{}`: {}", path.display(), e.reason())))
        })?;
        let mut tested = run::file(&mut session, path, &text, args, reporter)?;
        if args.update {
            update(path, &text, &mut tested)?;
        }
        let tested = tested.done;
        if tested.checks.is_empty() && args.filter.is_some() {
            continue;
        }
        to_stdout(&report::file(&tested))?;
        all.push(tested);
    }
    to_stdout(&report::summary(&all, args.filter.as_deref(), start.elapsed()))?;
    let right = |t: &Tested| t.errors.is_empty() && t.checks.iter().all(|c| c.outcome != Became::Wrong);
    if all.iter().all(right) { Ok(()) } else { Err(Failure::Program) }
}

/// Rewrites the comments that do not hold, and the file of what is printed.
fn update(path: &std::path::Path, text: &str, file: &mut run::Ran) -> Outcome {
    let mut new = Vec::new();
    for (check, claim) in file.done.checks.iter_mut().zip(&file.claims) {
        let Some(claim) = claim else { continue };
        if check.outcome != Became::Wrong {
            continue;
        }
        let value = match (&check.wanted, &check.found) {
            // A mistake is not what somebody wanted.
            (Wanted::Value(_), Found::Error { .. }) | (_, Found::Nothing) => continue,
            // What stands in a comment may be prose that has an arrow.
            (Wanted::Open, Found::Error { .. }) if matches!(claim.of, Subject::Example(_)) => continue,
            (_, Found::Value(value)) => value.clone(),
            (_, Found::Error { codes, .. }) => match codes.first() {
                Some(code) => format!("error {code}"),
                None => continue,
            },
        };
        new.push((claim, value));
        check.outcome = Became::Updated;
    }
    let write = |path: &std::path::Path, text: &str| {
        files::write_atomically(path, |out| out.write_all(text.as_bytes()))
            .map_err(|e| cannot_write(path, &e))
    };
    if !new.is_empty() {
        // Somebody may be at work on it.
        if session::read(path).ok().as_deref() != Some(text) {
            return fail(usage(
                codes::TEST,
                format!("`{}` has changed since it was read: it is not updated", path.display()),
            ));
        }
        write(path, &rewritten(text, &new))?;
    }
    if let Some((out, printed)) = &file.printed {
        for check in file.done.checks.iter_mut().filter(|c| c.line == 0 && c.outcome == Became::Wrong) {
            if matches!(check.found, Found::Value(_)) {
                write(out, printed)?;
                check.outcome = Became::Updated;
            }
        }
    }
    Ok(())
}
