//! The command: from a program and a folder to a tuning file.

use super::device::Runs;
use super::{device, generated, kept, operators, outcome, pick, plans, sets};
use crate::args::{Autotune, Device, Effort, Source, Target};
use crate::codes;
use crate::commands::{choose, load, may_write, new_session, protected, write};
use crate::compile::refuse;
use crate::report::{Failure, Outcome, Reporter, fail, to_stderr, to_stdout, usage};
use clap::ValueEnum;
use remc_driver::InternalBug;
use remc_driver::compile::{Named, Number, Options, Stop, Threshold};
use remc_flat::by_size;
use remc_tune::choices::Choices;
use remc_tune::clock::Care;
use remc_tune::file::{Tuned, structure, with};
use remc_tune::kept::Circumstances;
use remc_tune::measured::Measured;
use remc_tune::schedules::{self, Machine};
use remc_tune::search::{Objective, search};
use remc_tune::summary::{notes, summary};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The least time to tune in: less is over before anything is measured.
const LEAST_BUDGET: f64 = 1.0;

pub fn autotune(args: &Autotune, reporter: &Reporter) -> Outcome {
    let began = Instant::now();
    // No number is no budget, either.
    if args.budget.is_nan() || args.budget < LEAST_BUDGET {
        let d = usage(codes::TUNE, format!("a budget of {} s is too small to measure anything", args.budget));
        return fail(d.help(format!("give at least {LEAST_BUDGET} s; most programs take 10 to 30 s")));
    }
    if args.device != Device::Cpu && args.threads.is_some() {
        return fail(
            usage(codes::DEVICE, "--threads is of the cpu device").help("leave it out, or `--device`"),
        );
    }
    let path = match &args.file {
        Some(path) => path.clone(),
        None => the_program()?,
    };
    let source = Source { file: Some(path.clone()), expression: None };
    let output = args.output.clone().unwrap_or_else(|| pick::beside(&path));
    let until = Instant::now() + Duration::from_secs_f64(args.budget.min(1e6));
    let entries = match args.entry.as_slice() {
        [] => vec![None],
        named => named.iter().cloned().map(Some).collect(),
    };
    let mut tuned = Vec::new();
    for (k, entry) in entries.iter().enumerate() {
        // What one does not need is for the others.
        let left = until.saturating_duration_since(Instant::now()) / (entries.len() - k) as u32;
        tuned.push(one(args, &source, entry, &output, Instant::now() + left, reporter)?);
    }
    if let Some(report) = &args.report {
        let program = path.file_name().unwrap_or_default().to_string_lossy();
        write(&args.report, remc_tune::report::page(&program, &tuned).as_bytes())?;
        to_stdout(&format!("the report is {}\n", report.display()))?;
    }
    to_stderr(&format!("{:.1} s in all\n", began.elapsed().as_secs_f64()));
    Ok(())
}

/// The day, as `2026-11-26`.
fn today() -> String {
    jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()
}

/// The one program of the current folder.
fn the_program() -> Outcome<PathBuf> {
    let here = std::fs::read_dir(".").into_iter().flatten().flatten().map(|e| PathBuf::from(e.file_name()));
    let mut all: Vec<PathBuf> = here.filter(|p| p.extension().is_some_and(|e| e == "remora")).collect();
    all.sort();
    match <[PathBuf; 1]>::try_from(all) {
        Ok([one]) => Ok(one),
        Err(all) => {
            let names: Vec<String> = all.iter().map(|p| format!("`{}`", p.display())).collect();
            let d = usage(
                codes::TUNE,
                match names.as_slice() {
                    [] => {
                        "the current folder has no program: no file whose name ends in `.remora`".to_owned()
                    }
                    names => format!("the current folder has several programs: {}", names.join(", ")),
                },
            );
            fail(d.help("name the one to tune: remc autotune FILE --inputs DIR"))
        }
    }
}

/// What is tuned for, as a tuning file calls it.
fn called(device: Device) -> &'static str {
    if device == Device::Cpu { "cpu" } else { "cuda" }
}

/// What reads the tuning.
fn picks(device: Device) -> &'static str {
    if device == Device::Cpu { "`remc run`" } else { "`remc run --device cuda`, and `remc compile`," }
}

/// Tunes one entry, on the device that is asked for.
fn one(
    args: &Autotune,
    source: &Source,
    entry: &Option<String>,
    output: &Path,
    until: Instant,
    reporter: &Reporter,
) -> Outcome<Tuned> {
    let (memory, of) = (args.memory_limit, (source, entry, output));
    match args.device {
        Device::Cuda => on(&plans::OnGpu::new(memory)?, args, of, until, reporter),
        Device::Emulated => on(&plans::Interpreted, args, of, until, reporter),
        _ => on(&device::OnCpu::new(args.threads, memory), args, of, until, reporter),
    }
}

fn on<D: Runs>(
    device: &D,
    args: &Autotune,
    (source, entry, output): (&Source, &Option<String>, &Path),
    until: Instant,
    reporter: &Reporter,
) -> Outcome<Tuned> {
    let mut session = new_session();
    let file = load(&mut session, source)?;
    reporter.check(&session, &session.diagnostics(file))?;
    // An expression at the end is no entry: what takes inputs is.
    let entries = session.entries(file);
    let named = match (entry, entries.as_slice()) {
        (None, [one]) => Some(one.name(&session.db).to_string()),
        _ => entry.clone(),
    };
    if entries.is_empty() {
        let d = usage(codes::NOTHING_TO_RUN, "the program has no entry, so no data could be given to it");
        return fail(d.help("an entry is written (entry (name [p type] …) body)"));
    }
    if named.is_none() {
        let names: Vec<String> = entries.iter().map(|d| format!("`{}`", d.name(&session.db))).collect();
        let d = usage(codes::CHOOSE_ENTRY, "the program has several entries");
        return fail(d.help(format!("choose with --entry, once for each: {}", names.join(", "))));
    }
    let target = choose(&session, file, &named, &[])?;
    let global = target.global(&session.db);
    let program = session.link(file, &[target]);
    session.verify(&program, file)?;
    let Some(sig) = program.get(&global).and_then(|d| d.entry.as_ref()) else {
        return Err(Failure::Bug(InternalBug { stage: "tune", message: format!("{global} is no entry") }));
    };
    let sets = sets::find(&args.inputs, &global.name, sig)?;
    let mut protected = protected(&session, source, &sets::inputs(&sets));
    protected.add(&args.inputs.join(generated::FILE), "the description of the data sets");
    may_write(output, &protected)?;
    if let Some(report) = &args.report {
        protected.add(output, "the tuning file");
        may_write(report, &protected)?;
    }
    let there = std::fs::read_to_string(output).ok();
    if let Some(Err(wrong)) = there.as_deref().map(remc_tune::file::read) {
        let d = usage(codes::TUNING, pick::sentence(output, &wrong));
        return fail(d.help("mend it, or remove it: it is made anew"));
    }
    let sets = sets::read(&sets, &global.name, sig, args.memory_limit)?;
    let ranks = device::ranks(&sets)?;
    let options = |to: &'static str| Options {
        to: Some(to),
        tuning: device.tuning(),
        size_limit: args.size.limit,
        streams: device.tuning().streams(),
        ..Options::default()
    };
    let compiled = |to| -> Outcome<Stop> {
        session.compile(file, &[target], &ranks, options(to)).or_else(|e| refuse(&session, reporter, e))
    };
    let (Stop::Flat(flat), Stop::Kernel(kernels)) = (compiled("flat")?, compiled("kernel")?) else {
        return Err(Failure::Bug(InternalBug { stage: "tune", message: "another language".into() }));
    };
    let choices = Choices::of(&flat);
    let name = global.name.as_str();
    let data: Vec<(String, String)> = sets.iter().map(|s| (s.label.clone(), s.contents.clone())).collect();
    let mut subject = device::Device::new(&session, device, kernels.program.clone(), &choices, sets, until)?;
    outcome::interruption();
    let (count, plural) = (data.len(), if data.len() == 1 { "" } else { "s" });
    to_stderr(&format!(
        "tuning `{name}` on {count} data set{plural}, for {:.0} s at most; Ctrl-C keeps what is found\n",
        until.saturating_duration_since(Instant::now()).as_secs_f64()
    ));
    let care = match args.effort {
        Effort::Quick => Care::QUICK,
        Effort::Full => Care::FULL,
    };
    let code = structure(&flat);
    let threads = device.workers();
    let now = Circumstances {
        code: code.clone(),
        compiler: crate::cache::compiler(),
        machine: device.machine(),
        threads,
        effort: args.effort.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default(),
    };
    let of = kept::Of {
        program: source.file.as_deref().unwrap_or(output),
        entry: name,
        device: called(args.device),
        ranks: &ranks,
    };
    let contents = data.iter().map(|(_, contents)| contents.clone()).collect();
    subject.kept = Some(kept::Store::open(&of, now, contents, args.resume));
    let objective = match args.objective {
        Target::Mean => Objective::Mean,
        Target::Worst => Objective::Worst,
    };
    let found = search(&mut subject, &choices, remc_tune::search::Options { objective, care });
    let versions = outcome::changed(&choices, &found);
    let numbers = RefCell::new(Vec::new());
    let read = |all: &[Number]| *numbers.borrow_mut() = all.to_vec();
    let lowered = |named: &Named| -> Outcome<Arc<remc_kernel::ir::Program>> {
        let options = Options { named: named.clone(), read: Some(&read), ..options("kernel") };
        let stop = session.compile(file, &[target], &ranks, options);
        match stop.or_else(|e| refuse(&session, reporter, e))? {
            Stop::Kernel(kernels) => Ok(kernels.program.clone()),
            _ => Err(Failure::Bug(InternalBug { stage: "tune", message: "another language".into() })),
        }
    };
    lowered(&versions)?;
    let tunable = operators::tunable(name, &numbers.borrow());
    let machine = Machine { workers: threads, bandwidth: device.bandwidth() };
    let sizes = by_size::sizes(&flat);
    let mut bench =
        operators::Operators::new(&session, (&lowered, name, &sizes), device, subject.apart(), until);
    let options = remc_tune::schedules::Options { objective, care, machine };
    let of_operators = schedules::search(&mut bench, &tunable, &versions, options);
    drop(bench);
    let by_size = |name: &str| Threshold::of_name(name) == Some(Threshold::BySize);
    let (by_size, schedule): (Named, Named) =
        of_operators.numbers.clone().into_iter().partition(|(name, _)| by_size(name));
    let measured = Measured {
        machine: device.machine(),
        threads,
        date: today(),
        ..Measured::of(&choices, &found, &data).with(of_operators)
    };
    let tuned = Tuned {
        entry: name.to_owned(),
        device: called(args.device).to_owned(),
        code,
        ranks,
        thresholds: versions.into_iter().chain(by_size).collect(),
        schedule,
        ..Tuned::default()
    };
    to_stdout(&summary(name, &measured))?;
    let notes = notes(&measured);
    let tuned = Tuned { measured: Some(measured), ..tuned };
    if tuned.thresholds.is_empty() && tuned.schedule.is_empty() && there.is_none() {
        let cut_short = tuned.measured.as_ref().is_some_and(|m| m.cut_short);
        to_stdout(match cut_short {
            true => "nothing better than the defaults was found by then: no file is written\n",
            false => "the defaults are as good as anything that was tried: no file is written\n",
        })?;
        return Ok(tuned);
    }
    let program = source.file.as_deref().and_then(Path::file_name).unwrap_or_default().to_string_lossy();
    let written = with(there.as_deref(), &program, &tuned, &notes);
    let written =
        written.map_err(|w| Failure::Usage(Box::new(usage(codes::TUNING, pick::sentence(output, &w)))))?;
    write(&Some(output.to_owned()), written.as_bytes())?;
    to_stdout(&format!("written to {}; {} picks it up there\n", output.display(), picks(args.device)))?;
    Ok(tuned)
}
