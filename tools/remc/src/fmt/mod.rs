//! `remc fmt`: programs laid out anew, in place.
//!
//! Each file is read, formatted and replaced by itself, whole or not at all, and only if something changes: a file with a
//! mistake stays as it is and keeps no other from being formatted. What a command ends with is the worst that happened.

mod find;

use crate::args::Fmt;
use crate::codes;
use crate::commands::cannot_write;
use crate::report::{Failure, NoSources, Outcome, Reporter, fail, to_stderr, to_stdout, usage};
use remc_base::{Diagnostic, ModuleId, Span, visible};
use remc_driver::InternalBug;
use remc_driver::render::Sources;
use remc_driver::session::{self, LoadError};
use remc_runtime::files;
use similar::TextDiff;
use std::io::Read;
use std::path::Path;

/// How many lines of a file's changes `--check` shows.
const SHOWN: usize = 30;

pub fn fmt(args: &Fmt, reporter: &Reporter) -> Outcome {
    if args.stdin || args.paths == [Path::new("-")] {
        return standard_input(args, reporter);
    }
    let mut worst = Ok(());
    let mut changed = 0;
    let here = [Path::new(".").to_owned()];
    let named = if args.paths.is_empty() { &here } else { args.paths.as_slice() };
    let found = find::files(named);
    let count = found.iter().filter(|f| f.is_ok()).count();
    for file in found {
        let done = file.map_err(Box::new).map_err(Failure::Usage).and_then(|path| one(&path, args, reporter));
        match done {
            Ok(is_changed) => changed += usize::from(is_changed),
            Err(e) => keep_worst(&mut worst, tell(e, reporter)),
        }
    }
    if args.check && changed > 0 {
        let are = if changed == 1 { "is" } else { "are" };
        to_stderr(&format!("{changed} of {count} files {are} not formatted; `remc fmt` formats them\n"));
        keep_worst(&mut worst, Failure::Program);
    }
    worst
}

/// Reports a failure that does not end the command at once. What is left says how the command ends.
fn tell(failure: Failure, reporter: &Reporter) -> Failure {
    match failure {
        Failure::Usage(d) => {
            reporter.show(&NoSources, std::slice::from_ref(&d));
            Failure::Refused
        }
        other => other,
    }
}

fn keep_worst(worst: &mut Outcome, failure: Failure) {
    let code = |o: &Outcome| o.as_ref().err().map_or(0, Failure::exit_code);
    if failure.exit_code() > code(worst) {
        *worst = Err(failure);
    }
}

/// Formats one file; whether something in it changes.
fn one(path: &Path, args: &Fmt, reporter: &Reporter) -> Outcome<bool> {
    let shown = path.display().to_string();
    // What is read from a pipe has no place to be written to.
    if std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir()) {
        return unreadable(LoadError::Unreadable { path: shown, reason: "it is no ordinary file".into() });
    }
    let old = session::read(path).or_else(unreadable)?;
    let new = if is_page(path) { page(&shown, &old) } else { program(&shown, &old, reporter)? };
    if new == old {
        return Ok(false);
    }
    if args.check || args.diff {
        to_stdout(&changes(&shown, &old, &new, if args.diff { usize::MAX } else { SHOWN }))?;
    } else {
        files::write_atomically(path, |out| out.write_all(new.as_bytes()))
            .map_err(|e| cannot_write(path, &e))?;
        to_stderr(&format!("formatted {}\n", visible(&shown)));
    }
    Ok(true)
}

fn standard_input(args: &Fmt, reporter: &Reporter) -> Outcome {
    let mut bytes = vec![];
    let read = std::io::stdin().lock().read_to_end(&mut bytes);
    let name = "<stdin>";
    let unread = |e| LoadError::Unreadable { path: name.into(), reason: session::describe_read(&e) };
    let old = read.map_err(unread).and_then(|_| session::decode(name, bytes)).or_else(unreadable)?;
    let new = program(name, &old, reporter)?;
    if !args.check && !args.diff {
        return to_stdout(&new);
    }
    if new != old {
        to_stdout(&changes(name, &old, &new, if args.diff { usize::MAX } else { SHOWN }))?;
        if args.check {
            return Err(Failure::Program);
        }
    }
    Ok(())
}

/// A program, formatted. It is compared with what it was: nothing that a mistake of the formatter has changed is written.
fn program(name: &str, old: &str, reporter: &Reporter) -> Outcome<String> {
    let new = match remc_format::format(old) {
        Ok(new) => new,
        Err(diagnostics) => {
            reporter.show(&One { name, text: old }, &diagnostics);
            return Err(Failure::Program);
        }
    };
    if !remc_format::same_program(old, &new) {
        let message = format!("formatting `{name}` would change more than its layout; it is left as it is");
        return Err(InternalBug { stage: "format", message }.into());
    }
    Ok(new)
}

/// A page, its programs formatted. Pages show wrong programs, too, which stay.
fn page(name: &str, old: &str) -> String {
    let new = remc_format::format_markdown(old);
    for block in &new.left {
        let what = block.diagnostics.iter().find(|d| d.is_error()).map_or("", |d| d.message.as_str());
        to_stderr(&format!("{}:{}: left as it is: {}\n", visible(name), block.line, visible(what)));
    }
    new.text
}

fn is_page(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("md") || e.eq_ignore_ascii_case("markdown"))
}

/// What changes, as lines that go and lines that come, with those around them; at most so many.
fn changes(name: &str, old: &str, new: &str, most: usize) -> String {
    let diff = TextDiff::from_lines(old, new);
    let name = visible(name);
    let mut out = format!("--- {name}\n+++ {name}, formatted\n");
    let text = diff.unified_diff().context_radius(1).to_string();
    let lines: Vec<&str> = text.lines().collect();
    for line in lines.iter().take(most) {
        out.push_str(&visible(line));
        out.push('\n');
    }
    if lines.len() > most {
        out.push_str(&format!("… and {} lines more; `remc fmt --diff` shows all\n", lines.len() - most));
    }
    out
}

fn unreadable<T>(e: LoadError) -> Outcome<T> {
    let (LoadError::Unreadable { path, .. } | LoadError::NotUtf8 { path, .. }) = &e;
    fail(usage(codes::UNREADABLE, format!("cannot read `{path}`: {}", e.reason())))
}

/// The one text that messages are about.
struct One<'a> {
    name: &'a str,
    text: &'a str,
}

impl Sources for One<'_> {
    fn source(&self, _: ModuleId) -> Option<(&str, &str)> {
        Some((self.name, self.text))
    }
}

/// What is wrong with a name on the command line.
type Wrong = Diagnostic<Span>;
