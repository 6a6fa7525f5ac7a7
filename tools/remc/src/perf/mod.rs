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

use remc_driver::InternalBug;
use remc_driver::compile::{Options, Stop, Tuning};

pub fn explain(args: &ExplainPerf, reporter: &Reporter) -> Outcome {
    let mut session = new_session();
    let file = load(&mut session, &args.source)?;
    reporter.check(&session, &session.diagnostics(file))?;
    let target = choose(&session, file, &args.entry, &[])?;
    let program = session.link(file, &[target]);
    session.verify(&program, file)?;
    let ranks = ranks(&session, &program, target, &args.ranks)?;
    let tuning = match args.device {
        PerfDevice::Cpu => Tuning::default(),
        PerfDevice::Cuda => Tuning::gpu(),
    }
    .with(&args.versions.thresholds);
    let size_limit = args.size.limit;
    let options = Options { to: Some("flat"), tuning, size_limit, ..Options::default() };
    let global = target.global(&session.db);
    let stop = session
        .compile(&program, file, &global, &ranks, options)
        .or_else(|e| refuse(&session, reporter, e))?;
    let Stop::Flat(flat) = stop else {
        return Err(Failure::Bug(InternalBug { stage: "flatten", message: "another language".into() }));
    };
    let report = remc_cost::analyse(&flat);
    let device = match args.device {
        PerfDevice::Cpu => "cpu",
        PerfDevice::Cuda => "cuda",
    };
    let entry = program.get(&global).and_then(|d| d.entry.as_ref()).map(|_| global.name.to_string());
    let what = words::What { entry, device };
    let words = words::Words::new(&session, &flat, &report, args.device == PerfDevice::Cpu);
    to_stdout(&match args.format {
        PerfFormat::Text => text::text(&what, &words),
        PerfFormat::Json => json::json(&what, &words),
    })
}
