//! `remc explain-perf`: what a program costs, step by step.
//!
//! The analysis is `remc_cost`'s, on the program's Flat form; here it gets the program's own names
//! ([`words`]) and a form: text for people ([`text`]), or JSON.

mod json;
mod text;
mod words;

use crate::args::{ExplainPerf, PerfDevice, PerfFormat};
use crate::commands::{choose, load, new_session};
use crate::compile::{ranks, refuse};
use crate::report::{Failure, Outcome, Reporter, to_stdout};

use crate::tune::pick::Pick;
use remc_driver::compile::{CompileError, Number, Options, Stop, Streams, Tuning};
use remc_driver::{Def, InternalBug, Session, SourceFile};
use std::cell::RefCell;

/// What a definition costs on the cpu device, for people.
pub fn of(session: &Session, file: SourceFile, target: Def<'_>) -> Outcome<Result<String, CompileError>> {
    let program = session.link(file, &[target]);
    session.verify(&program, file)?;
    let ranks = ranks(session, &program, &[target], &[])?.remove(0);
    let options = Options { to: Some("flat"), streams: Streams::Pieces, ..Options::default() };
    let flat = match session.compile(file, &[target], &ranks, options) {
        Ok(Stop::Flat(flat)) => flat,
        Ok(_) => {
            return Err(Failure::Bug(InternalBug { stage: "flatten", message: "another language".into() }));
        }
        Err(e) => return Ok(Err(e)),
    };
    let report = remc_cost::analyse(&flat);
    let global = target.global(&session.db);
    let entry = program.get(&global).and_then(|d| d.entry.as_ref()).map(|_| global.name.to_string());
    let words = words::Words::new(session, &flat, &report, true);
    Ok(Ok(text::text(&words::What { entry, device: "cpu" }, &words)))
}

pub fn explain(args: &ExplainPerf, reporter: &Reporter) -> Outcome {
    let mut session = new_session();
    let file = load(&mut session, &args.source)?;
    reporter.check(&session, &session.diagnostics(file))?;
    loaded(&session, file, args, reporter)
}

/// Explains what is loaded.
pub fn loaded(session: &Session, file: SourceFile, args: &ExplainPerf, reporter: &Reporter) -> Outcome {
    let target = choose(session, file, &args.entry, &[])?;
    let program = session.link(file, &[target]);
    session.verify(&program, file)?;
    let ranks = ranks(session, &program, &[target], &args.ranks)?.remove(0);
    let tuning = match args.device {
        PerfDevice::Cpu => crate::machine::tuning(),
        PerfDevice::Cuda => Tuning::gpu(),
    }
    .with(&args.versions.kinds());
    let global = target.global(&session.db);
    let on = match args.device {
        PerfDevice::Cpu => "cpu",
        PerfDevice::Cuda => "cuda",
    };
    let pick = Pick::find(session, &args.versions, &args.source, (global.name.as_str(), on, &ranks))?;
    let tuned = |p: &_| pick.values(session, p);
    let tuned = Some(&tuned as &dyn Fn(&_) -> _);
    let (named, size_limit) = (args.versions.named(), args.size.limit);
    let numbers = RefCell::new(Vec::new());
    let compiled = |to| {
        let read = |all: &[Number]| *numbers.borrow_mut() = all.to_vec();
        let read = Some(&read as &dyn Fn(&[Number]));
        let named = named.clone();
        let streams = tuning.streams();
        let options =
            Options { to: Some(to), tuning, tuned, named, read, size_limit, streams, ..Options::default() };
        session.compile(file, &[target], &ranks, options).or_else(|e| refuse(session, reporter, e))
    };
    let stop = compiled("flat")?;
    // Which numbers its schedules have is known where it has kernels.
    if args.versions.shown.is_some() {
        compiled("kernel")?;
    }
    reporter.show(session, &session.notices());
    let Stop::Flat(flat) = stop else {
        return Err(Failure::Bug(InternalBug { stage: "flatten", message: "another language".into() }));
    };
    pick.show(&crate::compile::thresholds(&flat), &numbers.borrow());
    let report = remc_cost::analyse(&flat);
    let entry = program.get(&global).and_then(|d| d.entry.as_ref()).map(|_| global.name.to_string());
    let what = words::What { entry, device: on };
    let words = words::Words::new(session, &flat, &report, args.device == PerfDevice::Cpu);
    let words = words.placed(reporter.places());
    to_stdout(&match args.format {
        PerfFormat::Text => text::text(&what, &words),
        PerfFormat::Json => json::json(&what, &words),
    })
}
