//! `remc run`.

use crate::args::{Device, Run, Timings};
use crate::codes;
use crate::commands::{choose, load, new_session, protected, show_timings};
use crate::compile::{Dumps, interpreted, interpreted_whole, refuse};
#[cfg(feature = "llvm")]
use crate::cpu;
use crate::exhausted::{Doing, during};
use crate::inputs;
use crate::output::Output;
use crate::progress::Progress;
use crate::report::{Failure, Outcome, Reporter, fail, to_stderr, usage};
use crate::tune::pick::Pick;
use remc_base::{Diagnostic, IVar, IndexValue, Span, Value};
use remc_driver::compile::{CompileError, Options, Stop, Tuning};
use remc_driver::pipeline::Stage;
use remc_driver::{Db, Def, InternalBug, LinkedProgram, Session, SourceFile};
use remc_interp::{Interp, RuntimeError, solve_indices};
use remc_runtime::budget::Budget;
use remc_typed::ir::EntrySignature;
use std::time::Duration;

pub fn run(args: &Run, reporter: &Reporter) -> Outcome {
    let mut session = new_session();
    let file = load(&mut session, &args.source)?;
    reporter.check(&session, &session.diagnostics(file))?;
    let target = choose(&session, file, &args.entry, &args.inputs)?;
    let program = session.link(file, &[target]);
    session.verify(&program, file)?;
    if device(args) == Device::Emulated && args.memory_limit.is_some() {
        return fail(usage(
            codes::DEVICE,
            "--memory-limit is of the cpu and cuda devices and of the interpreter",
        ));
    }
    if args.device == Some(Device::Interp) && (args.threads.is_some() || args.repeat > 1) {
        return fail(
            usage(codes::DEVICE, "--threads and --repeat are of the cpu device")
                .help("the interpreter runs once, on one thread; leave out `--device interp`"),
        );
    }
    if device(args) == Device::Interp && !args.versions.thresholds.is_empty() {
        return fail(usage(codes::DEVICE, "--threshold is of devices that compile").help(
            "the interpreter has one version of everything; leave out --threshold, or name `--device cpu`",
        ));
    }
    let protected = protected(&session, &args.source, &args.inputs);
    let output = Output::new(args, &protected)?;
    let dumps = Dumps::new(args.dump_dir.as_deref(), protected)?;
    let evaluated = evaluate(&session, &program, (file, target), args, dumps, reporter);
    reporter.show(&session, &session.notices());
    let (value, report) = evaluated?;
    output.write(&value)?;
    match args.timings {
        None => {}
        Some(Timings::Text) => {
            show_timings(&session);
            to_stderr(&report.text);
        }
        Some(Timings::Json) => to_stderr(&report.json(&session)),
    }
    Ok(())
}

/// The device that is named, or else the cpu device; that one needs LLVM, and without it programs are interpreted.
fn device(args: &Run) -> Device {
    args.device.unwrap_or(if cfg!(feature = "llvm") { Device::Cpu } else { Device::Interp })
}

/// What the device says of a run.
#[derive(Default)]
struct Report {
    text: String,
    runs: Vec<Duration>,
    peak: Option<u64>,
}

impl Report {
    /// Seconds of all stages before the first run, of each of them, and of each run.
    fn json(&self, session: &Session) -> String {
        let report = session.db.timings().report();
        let ran = |s: &Stage| matches!(s, Stage::Execute | Stage::Interp);
        let compile: f64 = report.iter().filter(|(s, ..)| !ran(s)).map(|(_, _, t)| t.as_secs_f64()).sum();
        let stages = report.iter().filter(|(s, ..)| !ran(s));
        let stages = stages.map(|(s, _, t)| format!("\"{}\": {:.9}", s.info().name, t.as_secs_f64()));
        let stages = stages.collect::<Vec<_>>().join(", ");
        let interp = report.iter().find(|(s, ..)| *s == Stage::Interp).map(|(_, _, t)| *t);
        let runs: Vec<String> =
            self.runs.iter().chain(&interp).map(|t| format!("{:.9}", t.as_secs_f64())).collect();
        let peak = self.peak.map(|p| format!(", \"peak_bytes\": {p}")).unwrap_or_default();
        let runs = runs.join(", ");
        format!("{{\"compile\": {compile:.9}, \"stages\": {{{stages}}}, \"runs\": [{runs}]{peak}}}\n")
    }
}

fn evaluate(
    session: &Session,
    program: &LinkedProgram,
    (file, target): (SourceFile, Def<'_>),
    args: &Run,
    mut dumps: Dumps,
    reporter: &Reporter,
) -> Outcome<(Value, Report)> {
    let global = target.global(&session.db);
    let Some(definition) = program.get(&global) else {
        return Err(bug(format!("`{global}` was checked and has no definition")));
    };
    let budget = Budget::of(args.memory_limit);
    let (indices, arguments) = match &definition.entry {
        None => (Vec::new(), Vec::new()),
        Some(sig) => {
            let arguments = inputs::read_all(&global.name, sig, &args.inputs, &budget)?;
            (solve(sig, &arguments)?, arguments)
        }
    };
    if device(args) != Device::Interp {
        let ranks = crate::boundary::ranks(&indices);
        let gpu = matches!(args.device, Some(Device::Emulated | Device::Cuda));
        let tuning = if gpu { Tuning::gpu() } else { Tuning::default() }.with(&args.versions.kinds());
        let size_limit = args.size.limit;
        let on = if gpu { "cuda" } else { "cpu" };
        let pick = Pick::find(session, &args.versions, &args.source, global.name.as_str(), on)?;
        let (named, tuned) = (args.versions.named(), |p: &_| pick.values(session, p));
        let tuned = Some(&tuned as &dyn Fn(&_) -> _);
        let options = Options {
            stop_after: args.stop_after_pass,
            tuning,
            tuned,
            named,
            size_limit,
            ..Options::default()
        };
        let stop = dumps.compile(session, program, file, target, &ranks, options)?;
        match stop {
            Ok(Stop::Kernel(kernel)) => {
                let signature = definition.entry.as_ref().map(|e| e.indices.as_slice()).unwrap_or_default();
                if args.device == Some(Device::Cuda) {
                    let shown = Progress::of_running("the cuda device");
                    let limits = (args.repeat, args.memory_limit);
                    let ran = crate::gpu::run(session, &kernel, (signature, &indices), &arguments, limits)?;
                    drop(shown);
                    let ran = ran.map_err(|e| self::stop(session, reporter, &e))?;
                    let text = memory(&ran.stats);
                    let peak = Some(ran.stats.peak_bytes);
                    return Ok((ran.value, Report { text, runs: ran.runs, peak }));
                }
                if args.device == Some(Device::Emulated) {
                    let shown = Progress::of_running("the emulated device");
                    let ran = crate::emulated::run(session, &kernel, (signature, &indices), &arguments)?;
                    drop(shown);
                    let value = ran.map_err(|e| self::stop(session, reporter, &e))?;
                    return Ok((value, Report::default()));
                }
                // The inputs are in it, and go from there into the device's memory.
                let limit = budget.limit();
                return compiled(session, kernel, (signature, &indices), arguments, args, limit, reporter);
            }
            Ok(_) => return Err(bug("the pipeline ended early".into())),
            Err(e) if args.device.is_some() => {
                return refuse(session, reporter, e);
            }
            Err(e @ CompileError::NoThreshold(..)) => return refuse(session, reporter, e),
            Err(CompileError::Bug(bug)) => return Err(Failure::Bug(bug)),
            Err(CompileError::Limitation(l)) => reporter.show(session, &[interpreted(session, &l)]),
            Err(CompileError::TooLarge(t)) => reporter.show(session, &[interpreted_whole(session, &t)]),
        }
    } else {
        dumps.add(2, Stage::Check, &|| remc_typed::print::print_program(&program.order));
    }
    let interp = Interp::new(program, session.first_user_module());
    let result = {
        let _timed = session.db.timings().enter(Stage::Interp);
        let _shown = Progress::of_running("the interpreter");
        let _during = during(Doing::Interpreting, Some(budget.left()));
        match &definition.entry {
            None => interp.eval_definition(&global),
            Some(_) => interp.call_entry(definition, &indices, arguments),
        }
    };
    match result {
        Ok(value) => Ok((value, Report::default())),
        Err(e) => Err(stop(session, reporter, &e)),
    }
}

/// The entry's indices, from the shapes of its arguments.
fn solve(sig: &EntrySignature, arguments: &[Value]) -> Outcome<Vec<IndexValue>> {
    solve_indices(sig, arguments).or_else(|m| {
        let d = match &m.param {
            Some(name) => inputs::mismatch(name, &m.wanted, &m.found),
            None => usage(codes::INPUT_MISMATCH, format!("wanted {}, found {}", m.wanted, m.found)),
        };
        fail(d.note(m.reason))
    })
}

/// The cpu device, which is not there.
#[cfg(not(feature = "llvm"))]
fn compiled(
    _: &Session,
    _: remc_kernel::ir::Program,
    _: (&[IVar], &[IndexValue]),
    _: Vec<Value>,
    _: &Run,
    _: u64,
    _: &Reporter,
) -> Outcome<(Value, Report)> {
    Err(crate::compile::without_llvm("it has no cpu device; `--device interp` interprets"))
}

/// Runs kernels on the cpu device.
#[cfg(feature = "llvm")]
fn compiled(
    session: &Session,
    kernel: remc_kernel::ir::Program,
    (signature, indices): (&[IVar], &[IndexValue]),
    arguments: Vec<Value>,
    args: &Run,
    memory_limit: u64,
    reporter: &Reporter,
) -> Outcome<(Value, Report)> {
    let code = cpu::load(session, kernel)?;
    let device = cpu::device(args.threads, Some(memory_limit));
    let ran = {
        let _shown = Progress::of_running("the cpu device");
        cpu::run(session, &code, &device, signature, indices, arguments, args.repeat)?
    };
    let ran = match ran {
        Ok(ran) => ran,
        Err(e) => return Err(stop(session, reporter, &e)),
    };
    let mut text = String::new();
    for (name, k) in cpu::kernels(&code).zip(&ran.stats.kernels).filter(|(_, k)| k.launches > 0) {
        let (launches, blocks, ms) = (k.launches, k.blocks, k.time.as_secs_f64() * 1e3);
        let (moved, rate) = (mebibytes(k.bytes), k.bytes as f64 / k.time.as_secs_f64().max(1e-9) * 1e-9);
        text.push_str(&format!(
            "  {name:<10} {launches:>6}×  {ms:>10.3} ms  {blocks:>8} blocks  {moved:>9.1} MiB  {rate:>6.1} GB/s\n"
        ));
    }
    text.push_str(&memory(&ran.stats));
    Ok((ran.value, Report { text, runs: ran.runs, peak: Some(ran.stats.peak_bytes) }))
}

/// The arrays of a run.
fn memory(stats: &remc_runtime::cpu::Stats) -> String {
    format!(
        "  memory     {} arrays, {:.1} MiB at most; {:.1} MiB moved\n",
        stats.allocations,
        mebibytes(stats.peak_bytes),
        mebibytes(stats.bytes())
    )
}

fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Reports why a program stopped.
fn stop(session: &Session, reporter: &Reporter, e: &RuntimeError) -> Failure {
    if e.code == remc_interp::codes::INTERNAL {
        return bug(e.message.clone());
    }
    reporter.show(session, &[stopped(session, e)]);
    Failure::Stopped
}

fn bug(message: String) -> Failure {
    Failure::Bug(InternalBug { stage: Stage::Interp.info().name, message })
}

/// A run-time error as a diagnostic: where it happened, and from where that was called.
fn stopped(session: &Session, e: &RuntimeError) -> Diagnostic<Span> {
    let mut d = Diagnostic::error(e.code, &e.message);
    let span = |at: &(remc_base::GlobalId, remc_base::NodeId)| session.node_span(&at.0, at.1);
    let place = e.at.as_ref().and_then(span);
    if let Some(span) = place {
        d = d.primary(span, "the program stopped here");
    }
    // The calls that led there, in the program itself; those that enclose the place add nothing.
    let mut shown = place;
    let mut calls = 0;
    for call in e.trace.iter().filter(|(g, _)| g.module >= session.first_user_module()) {
        let Some(at) = span(call) else { continue };
        let encloses =
            |inner: Span| at.module == inner.module && at.start <= inner.start && inner.end <= at.end;
        if calls < 4 && !shown.is_some_and(encloses) {
            d = d.secondary(at, format!("called from here, in `{}`", call.0));
            calls += 1;
        }
        shown = Some(at);
    }
    e.help.iter().fold(d, |d, help| d.help(help))
}
