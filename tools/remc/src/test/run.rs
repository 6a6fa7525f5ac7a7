//! A program's expectations, computed.

use super::{Became, Check, Tested};
use crate::args::{Cli, Command, Device, Run, Test};
use crate::commands::choose;
use crate::compile::Dumps;
use crate::evaluate::Evaluation;
use crate::report::{Failure, Outcome, Reporter};
use clap::Parser;
use remc_base::{Diagnostic, Span};
use remc_driver::claims::{Claim, Found, Subject, Wanted, claims, uncommented};
use remc_driver::names::DefKind;
use remc_driver::render::{Style, render};
use remc_driver::{Def, Session, SourceFile};
use remc_interp::Interp;
use remc_runtime::data::Place;
use remc_runtime::text;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// A file's checks, each with its comment, and what its program prints if that is expected.
pub struct Ran {
    pub done: Tested,
    pub claims: Vec<Option<Claim>>,
    pub printed: Option<(PathBuf, String)>,
}

/// Runs what a file claims, and what a filter does not leave out.
pub fn file(
    session: &mut Session,
    path: &Path,
    text: &str,
    args: &Test,
    reporter: &Reporter,
) -> Outcome<Ran> {
    let shown = path.display().to_string();
    let folder = path.parent().unwrap_or(Path::new("")).to_owned();
    // Where the forms are is asked of the text as it is, what they mean of the one with the examples.
    let plain = session.load_text(&shown, &folder, text.to_owned());
    let places = places(session, plain);
    let is_definition = |k: usize| {
        let kind = session.defs(plain).get(k).map(|d| d.kind(&session.db));
        matches!(kind, Some(DefKind::Value | DefKind::Entry | DefKind::Type))
    };
    let all = claims(text, &places, is_definition);
    let file = match all.iter().any(|c| matches!(c.of, Subject::Example(_))) {
        true => session.load_text(&shown, &folder, uncommented(text, &all)),
        false => plain,
    };
    let session = &*session;
    let has = |part: &str| args.filter.as_deref().is_none_or(|filter| part.contains(filter));
    let named = has(&shown);
    let forms = Forms { session, file, places: self::places(session, file) };
    let mut claims = Vec::new();
    let mut subjects = Vec::new();
    for claim in all {
        let place = match &claim.of {
            Subject::Form(k) => places.get(*k).cloned(),
            Subject::Example(at) => Some(at.clone()),
            Subject::Nothing => None,
        };
        let source = place.clone().map_or("", |p| &text[p]);
        if named || has(source) || definition_below(&forms, &claim).is_some_and(|name| has(&name)) {
            subjects.push((line(text, place.as_ref().unwrap_or(&claim.comment).start), place));
            claims.push(Some(claim));
        }
    }
    let errors: Vec<Diagnostic<Span>> =
        session.diagnostics(file).into_iter().filter(Diagnostic::is_error).collect();
    let defs: Vec<Option<Def>> = subjects.iter().map(|(_, place)| forms.at(place.as_ref()?)).collect();
    let found = forms.found(&defs, &errors, args.device, reporter)?;
    let mut checks = Vec::new();
    for (((line, place), claim), found) in subjects.into_iter().zip(&claims).zip(found) {
        let wanted = claim.as_ref().map_or(Wanted::Open, |c| c.wanted.clone());
        let outcome = if wanted.holds(&found) { Became::Right } else { Became::Wrong };
        let source = place.map_or("", |p| &text[p]).split_whitespace().collect::<Vec<_>>().join(" ");
        checks.push(Check { line, source, wanted, found, outcome });
    }
    // Errors that no claim speaks of.
    let spoken: Vec<&Range<usize>> = claims
        .iter()
        .flatten()
        .filter(|c| matches!(c.wanted, Wanted::Error(_) | Wanted::Open))
        .filter_map(|c| match &c.of {
            Subject::Form(k) => places.get(*k),
            Subject::Example(at) => Some(at),
            Subject::Nothing => None,
        })
        .collect();
    let unspoken: Vec<Diagnostic<Span>> = errors
        .iter()
        .filter(|e| !spoken.iter().any(|place| forms.is_in(e, place)))
        // What a claim of a value runs into is told there.
        .filter(|e| !defs.iter().flatten().any(|d| forms.is_in(e, &forms.range(*d))))
        .cloned()
        .collect();
    let printed = printed(session, plain, path, text, args, reporter, named, &errors)?;
    let printed = printed.map(|(check, out, text)| {
        checks.push(check);
        claims.push(None);
        (out, text)
    });
    let errors = match args.filter.is_some() && !named {
        true => String::new(),
        false => render(session, &unspoken, reporter.style, reporter.color && reporter.style == Style::Rich),
    };
    Ok(Ran { done: Tested { path: shown, checks, errors }, claims, printed })
}

/// Where the forms of a file are, in the order of the text.
fn places(session: &Session, file: SourceFile) -> Vec<Range<usize>> {
    let span = |d: &Def<'_>| session.item_span(*d);
    session.defs(file).iter().map(span).map(|s| s.start as usize..s.end as usize).collect()
}

/// The line of a place, from 1.
fn line(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// The name of the definition that an example stands above, or a claim stands behind.
fn definition_below(forms: &Forms<'_>, claim: &Claim) -> Option<String> {
    let defs = forms.session.defs(forms.file);
    let named =
        |d: &&Def<'_>| matches!(d.kind(&forms.session.db), DefKind::Value | DefKind::Entry | DefKind::Type);
    let below = |d: &&Def<'_>| forms.range(**d).start >= claim.comment.end;
    match claim.of {
        Subject::Example(_) => {
            defs.iter().filter(named).find(below).map(|d| d.name(&forms.session.db).to_string())
        }
        _ => None,
    }
}

struct Forms<'a> {
    session: &'a Session,
    file: SourceFile,
    places: Vec<Range<usize>>,
}

impl<'a> Forms<'a> {
    fn range(&self, def: Def<'_>) -> Range<usize> {
        let span = self.session.item_span(def);
        span.start as usize..span.end as usize
    }

    /// The form at a place.
    fn at(&self, place: &Range<usize>) -> Option<Def<'a>> {
        let k = self.places.iter().position(|p| p.start == place.start)?;
        self.session.defs(self.file).get(k).copied()
    }

    /// Whether an error is about what is at a place.
    fn is_in(&self, e: &Diagnostic<Span>, place: &Range<usize>) -> bool {
        let module = self.file.module(&self.session.db);
        let end = place.end.max(place.start + 1);
        e.labels.iter().any(|l| {
            l.primary && l.loc.module == module && (place.start..end).contains(&(l.loc.start as usize))
        })
    }

    /// What each form gives. What several of them use is computed once by the interpreter, and each is run though others
    /// stop.
    fn found(
        &self,
        defs: &[Option<Def<'a>>],
        errors: &[Diagnostic<Span>],
        device: Device,
        reporter: &Reporter,
    ) -> Outcome<Vec<Found>> {
        let session = self.session;
        let is_value = |d: &Def<'_>| d.kind(&session.db) == DefKind::Expr;
        let runnable: Vec<Def> = defs.iter().flatten().copied().filter(is_value).collect();
        let program = session.link(self.file, &runnable);
        session.verify(&program, self.file)?;
        let interp = Interp::new(&program, session.first_user_module());
        let args = run_args(device, &[]);
        let keeping = reporter.keeping();
        let evaluation = Evaluation {
            session,
            file: self.file,
            args: &args,
            device,
            expressions: Vec::new(),
            reporter: &keeping,
            output: None,
            given: &[],
        };
        let one = |def: &Option<Def<'a>>| -> Outcome<Found> {
            let Some(def) = def else { return Ok(Found::Nothing) };
            let place = self.range(*def);
            let mine: Vec<_> = errors.iter().filter(|e| self.is_in(e, &place)).cloned().collect();
            if !mine.is_empty() {
                return Ok(Found::Error {
                    codes: mine.iter().map(|d| d.code.to_string()).collect(),
                    message: render(session, &mine, Style::Short, false),
                });
            }
            if !is_value(def) {
                return Ok(Found::Nothing);
            }
            let global = def.global(&session.db);
            if program.get(&global).is_none() {
                let message = "it uses a definition with errors\n".to_owned();
                return Ok(Found::Error { codes: Vec::new(), message });
            }
            let mut value = None;
            let ran = match device {
                Device::Interp => evaluation.again(&interp, &global).map(|v| value = Some(text::print(&v))),
                _ => {
                    let show = &mut |v: &_| {
                        value = Some(text::print(v));
                        Ok(())
                    };
                    evaluation.run(&[*def], Dumps::default(), show).map(|_| ())
                }
            };
            found_of(ran, value, &keeping)
        };
        defs.iter().map(one).collect()
    }
}

/// What a run gave: the value, or the messages that were kept.
fn found_of(ran: Outcome, value: Option<String>, keeping: &Reporter) -> Outcome<Found> {
    let kept = keeping.kept();
    match (ran, value) {
        (Ok(()), Some(value)) => Ok(Found::Value(value)),
        (Ok(()), None) => Ok(Found::Nothing),
        (Err(Failure::Bug(bug)), _) => Err(Failure::Bug(bug)),
        (Err(Failure::Usage(d)), _) => Ok(Found::Error {
            codes: vec![d.code.to_string()],
            message: render(&crate::report::NoSources, &[*d], Style::Short, false),
        }),
        (Err(_), _) => Ok(Found::Error { codes: kept.codes, message: kept.text }),
    }
}

/// What `remc run` would be given.
fn run_args(device: Device, more: &[String]) -> Run {
    let line = ["remc", "run", "-"].iter().map(ToString::to_string).chain(more.iter().cloned());
    match Cli::try_parse_from(line).map(|cli| cli.command) {
        Ok(Command::Run(run)) => Run { device: Some(device), ..run },
        // These words are right by construction.
        _ => unreachable!("the options of a run are no options"),
    }
}

/// What the program prints, where a file beside it says what that should be; the entry and inputs are in its first comments.
#[expect(clippy::too_many_arguments, reason = "each is one thing that is known of the file")]
fn printed(
    session: &Session,
    file: SourceFile,
    path: &Path,
    text: &str,
    args: &Test,
    reporter: &Reporter,
    named: bool,
    errors: &[Diagnostic<Span>],
) -> Outcome<Option<(Check, PathBuf, String)>> {
    let out = path.with_extension("out");
    let Ok(expected) = std::fs::read_to_string(&out) else { return Ok(None) };
    if !named {
        return Ok(None);
    }
    let mut entry = None;
    let mut inputs = Vec::new();
    for comment in text.lines().map_while(|l| l.strip_prefix(';')) {
        match comment.trim().split_once(": ") {
            Some(("entry", name)) => entry = Some(name.trim().to_owned()),
            Some(("input", input)) => {
                inputs.extend(
                    input.split_once('=').map(|(n, v)| (n.trim().to_owned(), beside(path, v.trim()))),
                );
            }
            _ => {}
        }
    }
    let run = Run { entry: entry.clone(), inputs, ..run_args(args.device, &[]) };
    let keeping = reporter.keeping();
    let mut lines = String::new();
    let found = if errors.is_empty() {
        let ran = choose(session, file, &entry, &run.inputs).and_then(|target| {
            let targets = match session.value(file) {
                Some(value) if value == target => session.expressions(file),
                _ => vec![target],
            };
            session.verify(&session.link(file, &targets), file)?;
            let expressions = targets.iter().map(|d| d.name(&session.db).clone()).collect();
            let evaluation = Evaluation {
                session,
                file,
                args: &run,
                device: args.device,
                expressions,
                reporter: &keeping,
                output: None,
                given: &[],
            };
            let show = &mut |v: &_| {
                lines.push_str(&text::print(v));
                lines.push('\n');
                Ok(())
            };
            evaluation.run(&targets, Dumps::default(), show).map(|_| ())
        });
        found_of(ran, Some(lines.trim_end().to_owned()), &keeping)?
    } else {
        Found::Error { codes: Vec::new(), message: "the program has errors\n".to_owned() }
    };
    let wanted = Wanted::Value(expected.trim_end().to_owned());
    let outcome = match &found {
        Found::Value(_) if lines.trim_end() == expected.trim_end() => Became::Right,
        _ => Became::Wrong,
    };
    let source = format!("prints what is in {}", out.display());
    Ok(Some((Check { line: 0, source, wanted, found, outcome }, out, lines)))
}

/// An input; a data file is beside its program.
fn beside(program: &Path, value: &str) -> String {
    let there = program.parent().unwrap_or(Path::new("")).join(value).display().to_string();
    if Place::of(&there).is_some() { there } else { value.to_owned() }
}
