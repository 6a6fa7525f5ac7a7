//! The values of a program, computed on a device.
//!
//! A program has one value, or several: the expressions at its top, in the order of the text. Compiled code computes
//! these together, as one tuple: a definition that several of them use is compiled once and computed once, however many
//! they are. What is told is what would be if they ran one after the other. So where one of them stops, those before it
//! are run without it, and shown; and where there is no room for all of them, or one is not compiled, each runs by
//! itself. The interpreter has no need of that: it computes a definition once and keeps its value.

use crate::args::{Device, Run};
use crate::boundary::Streaming;
use crate::codes;
use crate::compile::{Dumps, interpreted, interpreted_whole, refuse};
#[cfg(feature = "llvm")]
use crate::cpu;
use crate::exhausted::{Doing, during};
use crate::inputs;
use crate::output::Output;
use crate::progress::Progress;
use crate::report::{Failure, Outcome, Reporter, fail, usage};
use crate::tune::pick::Pick;
use remc_base::trap::codes::TOO_LARGE;
use remc_base::value::Data;
use remc_base::{Diagnostic, GlobalId, IVar, IndexValue, Name, Span, Value};
use remc_driver::compile::{CompileError, Compiled, Options, Stop, Streams, Tuning};
use remc_driver::pipeline::Stage;
use remc_driver::program::together;
use remc_driver::{Db, Def, InternalBug, Session, SourceFile};
use remc_interp::{Interp, Mismatch, RuntimeError, solve_indices, solve_items};
use remc_mono::ir as mono;
use remc_runtime::budget::Budget;
use remc_runtime::stream::written::Shared;
use remc_typed::ir::EntrySignature;
use std::sync::Arc;
use std::time::Duration;

/// A program that is run, and how.
pub struct Evaluation<'a> {
    pub session: &'a Session,
    pub file: SourceFile,
    pub args: &'a Run,
    pub device: Device,
    /// The names of all that is run.
    pub expressions: Vec<Name>,
    pub reporter: &'a Reporter,
    /// Where the value goes, if that may be written as it comes.
    pub output: Option<&'a Output<'a>>,
    /// Definitions that what is run needs, and whose values are known already. Their types are closed.
    pub given: &'a [(GlobalId, Value)],
}

/// So many bytes of arguments may be there twice.
const SPARE: u64 = 16 << 20;

type Show<'s> = &'s mut dyn FnMut(&Value) -> Outcome;

impl Evaluation<'_> {
    /// Computes an entry, or definitions without parameters, and shows the values.
    pub fn run(&self, targets: &[Def<'_>], mut dumps: Dumps, show: Show<'_>) -> Outcome<Report> {
        match targets {
            [target] => self.one(*target, dumps, show),
            _ if self.args.measure_cost.is_some() => self.one_by_one(targets, show),
            _ if self.device == Device::Interp => {
                let program = self.session.link(self.file, targets);
                dumps.add(2, Stage::Check, &|| remc_typed::print::print_program(&program.order));
                let interp = Interp::new(&program, self.session.first_user_module());
                let budget = Budget::of(self.args.memory_limit);
                for target in targets {
                    let global = target.global(&self.session.db);
                    show(&self.interpret(&budget, || interp.eval_definition(&global))?)?;
                }
                Ok(Report::default())
            }
            _ => self.together(targets, dumps, show),
        }
    }

    /// Several definitions without parameters, on a device that compiles.
    fn together(&self, targets: &[Def<'_>], mut dumps: Dumps, show: Show<'_>) -> Outcome<Report> {
        // The name of a threshold begins with that of the expression that it is of.
        if !self.args.versions.named().is_empty() {
            return self.one_by_one(targets, show);
        }
        let budget = Budget::of(self.args.memory_limit);
        let stopped = match self.compile(targets, &[], self.streams(), &mut dumps)? {
            Ok(kernel) => {
                match self.execute(kernel, (&[], &[]), (Vec::new(), Streaming::default()), &budget)? {
                    Ok((value, report)) => {
                        let Some(Data::Tuple(tuples)) = value.as_ref().map(|v| &v.data) else {
                            return Err(bug("several values and no tuple of them".into()));
                        };
                        tuples.iter().flat_map(|parts| parts.iter()).try_for_each(show)?;
                        return Ok(report);
                    }
                    // One after the other they may have room.
                    Err(e) if e.code == TOO_LARGE => None,
                    Err(e) => Some(e),
                }
            }
            Err(CompileError::Limitation(_) | CompileError::TooLarge(_)) => None,
            Err(e) => return refuse(self.session, self.reporter, e),
        };
        let at = stopped.as_ref().and_then(|e| {
            let globals: Vec<&GlobalId> = e.at.iter().chain(e.trace.iter()).map(|(g, _)| g).collect();
            targets.iter().position(|t| globals.contains(&&t.global(&self.session.db)))
        });
        if let (Some(e), Some(at)) = (&stopped, at) {
            // Another may stop before it: that is what is told then.
            if at > 0 {
                self.run(&targets[..at], Dumps::default(), show)?;
            }
            return Err(self.stop(e));
        }
        self.one_by_one(targets, show)
    }

    fn one_by_one(&self, targets: &[Def<'_>], show: Show<'_>) -> Outcome<Report> {
        let mut report = Report::default();
        for target in targets {
            report = report.and(self.one(*target, Dumps::default(), show)?);
        }
        Ok(report)
    }

    /// An entry, or one definition without parameters.
    fn one(&self, target: Def<'_>, mut dumps: Dumps, show: Show<'_>) -> Outcome<Report> {
        let session = self.session;
        let program = session.link(self.file, &[target]);
        let global = target.global(&session.db);
        let Some(definition) = program.get(&global) else {
            return Err(bug(format!("`{global}` was checked and has no definition")));
        };
        let budget = Budget::of(self.args.memory_limit);
        let (indices, arguments, streams) = match &definition.entry {
            None => (Vec::new(), self.given.iter().map(|(_, value)| value.clone()).collect(), Vec::new()),
            Some(sig) if self.streams() == Streams::Whole => {
                let arguments = inputs::read_all(&global.name, sig, &self.args.inputs, &budget)?;
                (solve(sig, &arguments)?, arguments, Vec::new())
            }
            Some(sig) => {
                let (arguments, streams) = inputs::open_all(&global.name, sig, &self.args.inputs, &budget)?;
                (solve_with(solve_items, sig, &arguments)?, arguments, streams)
            }
        };
        if self.device == Device::Interp {
            dumps.add(2, Stage::Check, &|| remc_typed::print::print_program(&program.order));
        } else {
            let ranks = crate::boundary::ranks(&indices);
            match self.compile(&[target], &ranks, self.streams(), &mut dumps)? {
                Ok(kernel) => {
                    let signature = definition.entry.as_ref().map(|e| e.indices.as_slice());
                    let indices = (signature.unwrap_or_default(), indices.as_slice());
                    // What goes piece by piece already would do the same again.
                    let again = match kernel.program.channels.is_empty() {
                        true => self.spare(&arguments, &streams, &budget),
                        false => None,
                    };
                    let (mut written, mut ran) =
                        self.attempt(kernel, indices, (arguments, streams), &budget)?;
                    if let (Err(e), Some(arguments)) = (&ran, again)
                        && e.code == TOO_LARGE
                        && let Ok(kernel) = self.compile(&[target], &ranks, Streams::Strips, &mut dumps)?
                        && !kernel.program.channels.is_empty()
                    {
                        let more = self.attempt(kernel, indices, (arguments, Vec::new()), &budget)?;
                        // Where that does not fit either, what was too large first is told.
                        if !matches!(&more.1, Err(e) if e.code == TOO_LARGE) {
                            (written, ran) = more;
                        }
                    }
                    let (value, report) = match ran {
                        Err(_) if written.as_ref().is_some_and(Shared::is_over) => {
                            let ended = self.output.zip(written).map(|(to, w)| to.finish(&w));
                            return ended.unwrap_or(Ok(())).map(|()| Report::default());
                        }
                        ran => ran.map_err(|e| self.stop(&e))?,
                    };
                    match (&value, written, self.output) {
                        (None, Some(written), Some(output)) => output.finish(&written)?,
                        (Some(value), ..) => show(value)?,
                        _ => return Err(bug("a result that went nowhere".into())),
                    }
                    return Ok(report);
                }
                Err(e) if self.args.device.is_some() => return refuse(session, self.reporter, e),
                Err(CompileError::Limitation(l)) => self.reporter.show(session, &[interpreted(session, &l)]),
                Err(CompileError::TooLarge(t)) => {
                    self.reporter.show(session, &[interpreted_whole(session, &t)]);
                }
                Err(e) => return refuse(session, self.reporter, e),
            }
        }
        // What was opened to be read piece by piece is read as a whole.
        let (indices, arguments) = match &definition.entry {
            Some(sig) if !streams.is_empty() => {
                let all = inputs::collected(sig, (arguments, streams), &budget)?;
                (solve(sig, &all)?, all)
            }
            _ => (indices, arguments),
        };
        let interp = Interp::new(&program, session.first_user_module());
        let measured = self.args.measure_cost.map(|form| (form, indices.clone(), arguments.clone()));
        let value = self.interpret(&budget, || match &definition.entry {
            None => {
                self.given.iter().try_for_each(|(g, value)| interp.give(g, value))?;
                interp.eval_definition(&global)
            }
            Some(_) => interp.call_entry(definition, &indices, arguments),
        })?;
        show(&value)?;
        if let Some((form, indices, arguments)) = measured {
            crate::measure::tell(self, target, (&indices, &arguments), form)?;
        }
        Ok(Report::default())
    }

    /// Runs kernels; with where the result has gone, if that is written as it comes.
    #[expect(clippy::type_complexity, reason = "what a run gives, and where it goes")]
    fn attempt(
        &self,
        kernels: Arc<Compiled>,
        indices: (&[IVar], &[IndexValue]),
        (arguments, streams): (Vec<Value>, inputs::Streams),
        budget: &Budget,
    ) -> Outcome<(Option<Shared>, Result<(Option<Value>, Report), RuntimeError>)> {
        let written = self.written(&kernels.program)?;
        let (chunk, memory) = (self.args.chunk, Some(budget.limit()));
        let streaming = Streaming { inputs: streams, result: written.clone(), chunk, memory };
        let ran = self.execute(kernels, indices, (arguments, streaming), budget)?;
        Ok((written, ran))
    }

    /// The arguments once more, if they are small, for a program that turns out not to fit into memory: there it may be compiled to go along
    /// an axis piece by piece. `None` where it reads streams already, or its arguments are what memory is full of.
    fn spare(&self, arguments: &[Value], streams: &inputs::Streams, budget: &Budget) -> Option<Vec<Value>> {
        let bytes = arguments.iter().map(|v| (v.data.len() * v.data.atom_size()) as u64).sum::<u64>();
        let fits =
            self.device == Device::Cpu && streams.is_empty() && bytes <= SPARE.min(budget.limit() / 16);
        fits.then(|| arguments.to_vec())
    }

    /// A definition without parameters, by an interpreter that keeps what it has computed.
    pub fn again(&self, interp: &Interp<'_>, global: &GlobalId) -> Outcome<Value> {
        self.interpret(&Budget::of(self.args.memory_limit), || interp.eval_definition(global))
    }

    /// The kernels of a program, or why it has none.
    fn compile(
        &self,
        targets: &[Def<'_>],
        ranks: &[usize],
        streams: Streams,
        dumps: &mut Dumps,
    ) -> Outcome<Result<Arc<Compiled>, CompileError>> {
        let (session, args) = (self.session, self.args);
        let gpu = matches!(self.device, Device::Emulated | Device::Cuda);
        let tuning = if gpu { Tuning::gpu() } else { crate::machine::tuning() }.with(&args.versions.kinds());
        let size_limit = args.size.limit;
        let on = if gpu { "cuda" } else { "cpu" };
        let target = match targets {
            [one] => one.global(&session.db),
            _ => together(self.file.module(&session.db)),
        };
        let of = (target.name.as_str(), on, ranks);
        let pick = Pick::find(session, &args.versions, &args.source, of)?;
        let (mut named, tuned) = (args.versions.named(), |p: &_| pick.values(session, p));
        let tuned = Some(&tuned as &dyn Fn(&_) -> _);
        // What is of another expression is for that.
        let other = |name: &str| self.expressions.iter().any(|other| name.starts_with(&format!("{other}/")));
        named.retain(|name, _| name.starts_with(&format!("{}/", target.name)) || !other(name));
        let stop_after = args.stop_after_pass;
        let given = self.given.iter().map(|(g, _)| g.clone()).collect();
        let options =
            Options { stop_after, tuning, tuned, named, size_limit, given, streams, ..Options::default() };
        match dumps.compile(session, self.file, targets, ranks, options)? {
            Ok(Stop::Kernel(kernels)) => {
                pick.show(&kernels.program.thresholds(), &kernels.numbers);
                Ok(Ok(kernels))
            }
            Ok(_) => Err(bug("the pipeline ended early".into())),
            Err(e) => Ok(Err(e)),
        }
    }

    /// The result, if it is written piece by piece.
    fn written(&self, p: &remc_kernel::ir::Program) -> Outcome<Option<Shared>> {
        let mut pushed = p.channels.iter().filter(|c| c.output.is_some());
        let (Some(c), None, Some(output)) = (pushed.next(), pushed.next(), self.output) else {
            return Ok(None);
        };
        let of_result = |o: &mono::Output| matches!(o, mono::Output::Array(k) if c.output == Some(*k));
        let boxed = match &p.output {
            o if of_result(o) => false,
            mono::Output::Box { contents, .. } if of_result(contents) => true,
            _ => return Ok(None),
        };
        match c.arrays[..] {
            [a] if self.args.repeat == 1 => output.growing(a.base, a.rank, boxed),
            _ => Ok(None),
        }
    }

    /// Whether the device goes through streams piece by piece. For the others they are arrays.
    fn streams(&self) -> Streams {
        if self.device == Device::Cpu { Streams::Pieces } else { Streams::Whole }
    }

    /// Runs kernels on the device.
    fn execute(
        &self,
        kernels: Arc<Compiled>,
        indices: (&[IVar], &[IndexValue]),
        (arguments, streaming): (Vec<Value>, Streaming),
        budget: &Budget,
    ) -> Outcome<Result<(Option<Value>, Report), RuntimeError>> {
        let (session, args) = (self.session, self.args);
        match self.device {
            Device::Cuda => {
                let _shown = Progress::of_running("the cuda device");
                let limits = (args.repeat, args.memory_limit);
                let ran = crate::gpu::run(session, &kernels.program, indices, &arguments, limits)?;
                Ok(ran.map(|ran| {
                    let (text, peak) = (memory(&ran.stats), Some(ran.stats.peak_bytes));
                    (ran.value, Report { text, runs: ran.runs, peak })
                }))
            }
            Device::Emulated => {
                let _shown = Progress::of_running("the emulated device");
                let ran = crate::emulated::run(session, &kernels.program, indices, &arguments)?;
                Ok(ran.map(|value| (Some(value), Report::default())))
            }
            // The inputs are in the limit, and go from there into the device's memory.
            _ => on_cpu(session, &kernels, indices, (arguments, streaming), args, budget.limit()),
        }
    }

    /// Runs the interpreter.
    fn interpret(
        &self,
        budget: &Budget,
        run: impl FnOnce() -> Result<Value, RuntimeError>,
    ) -> Outcome<Value> {
        let _timed = self.session.db.timings().enter(Stage::Interp);
        let _shown = Progress::of_running("the interpreter");
        let _during = during(Doing::Interpreting, Some(budget.left()));
        run().map_err(|e| self.stop(&e))
    }

    /// Reports why a program stopped.
    fn stop(&self, e: &RuntimeError) -> Failure {
        if e.code == remc_interp::codes::INTERNAL {
            return bug(e.message.clone());
        }
        self.reporter.show(self.session, &[stopped(self.session, e)]);
        Failure::Stopped
    }
}

/// What the device says of a run.
#[derive(Default)]
pub struct Report {
    pub text: String,
    runs: Vec<Duration>,
    peak: Option<u64>,
}

impl Report {
    /// How long each run took, on a device that compiles.
    pub fn runs(&self) -> &[Duration] {
        &self.runs
    }

    /// Of values that are computed one after the other.
    fn and(mut self, next: Report) -> Report {
        self.text.push_str(&next.text);
        let both = |(a, b): (Duration, Duration)| a + b;
        let runs = std::mem::take(&mut self.runs);
        self.runs = match (runs.is_empty(), next.runs.is_empty()) {
            (true, _) => next.runs,
            (_, true) => runs,
            _ => runs.into_iter().zip(next.runs).map(both).collect(),
        };
        self.peak = self.peak.max(next.peak);
        self
    }

    /// Seconds of all stages before the first run, of each of them, and of each run.
    pub fn json(&self, session: &Session) -> String {
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

/// The entry's indices, from the shapes of its arguments.
fn solve(sig: &EntrySignature, arguments: &[Value]) -> Outcome<Vec<IndexValue>> {
    solve_with(solve_indices, sig, arguments)
}

fn solve_with(
    how: impl FnOnce(&EntrySignature, &[Value]) -> Result<Vec<IndexValue>, Mismatch>,
    sig: &EntrySignature,
    arguments: &[Value],
) -> Outcome<Vec<IndexValue>> {
    how(sig, arguments).or_else(|m| {
        let d = match &m.param {
            Some(name) => inputs::mismatch(name, &m.wanted, &m.found),
            None => usage(codes::INPUT_MISMATCH, format!("wanted {}, found {}", m.wanted, m.found)),
        };
        fail(d.note(m.reason))
    })
}

/// The cpu device, which is not there.
#[cfg(not(feature = "llvm"))]
fn on_cpu(
    _: &Session,
    _: &Compiled,
    _: (&[IVar], &[IndexValue]),
    _: (Vec<Value>, Streaming),
    _: &Run,
    _: u64,
) -> Outcome<Result<(Option<Value>, Report), RuntimeError>> {
    Err(crate::compile::without_llvm("it has no cpu device; `--device interp` interprets"))
}

/// Runs kernels on the cpu device.
#[cfg(feature = "llvm")]
fn on_cpu(
    session: &Session,
    kernels: &Compiled,
    indices: (&[IVar], &[IndexValue]),
    arguments: (Vec<Value>, Streaming),
    args: &Run,
    memory_limit: u64,
) -> Outcome<Result<(Option<Value>, Report), RuntimeError>> {
    let code = cpu::kept(session, kernels)?;
    let device = cpu::device(args.threads, Some(memory_limit));
    let ran = {
        let _shown = Progress::of_running("the cpu device");
        cpu::run(session, &code, &device, indices, arguments, args.repeat)?
    };
    let ran = match ran {
        Ok(ran) => ran,
        Err(e) => return Ok(Err(e)),
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
    Ok(Ok((ran.value, Report { text, runs: ran.runs, peak: Some(ran.stats.peak_bytes) })))
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

fn bug(message: String) -> Failure {
    Failure::Bug(InternalBug { stage: Stage::Interp.info().name, message })
}

/// A run-time error as a diagnostic: where it happened, and from where that was called.
pub fn stopped(session: &Session, e: &RuntimeError) -> Diagnostic<Span> {
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
    let own = |at: &Span| at.module >= session.first_user_module();
    let places = place.into_iter().chain(e.trace.iter().filter_map(span)).filter(own);
    let guard = places.into_iter().find_map(|at| {
        let (_, text) = session.source(at.module)?;
        crate::guards::help(text, at.start as usize)
    });
    e.help.iter().map(String::as_str).chain(guard).fold(d, |d, help| d.help(help))
}
