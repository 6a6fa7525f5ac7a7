//! `remc tuning`: a tuning file in sentences, and what of it holds for the program beside it.

use super::pick;
use crate::args::{Source, TuningFile};
use crate::codes;
use crate::commands::{load, may_write, new_session, protected, write};
use crate::compile::{refuse, thresholds};
use crate::machine;
use crate::report::{Failure, Outcome, Reporter, fail, to_stdout, usage};
use remc_driver::compile::{NEVER, Named, Number, Options, Stop, Threshold, Tuning};
use remc_driver::{InternalBug, Session, SourceFile};
use remc_tune::explain::Beside;
use remc_tune::file::{Tuned, Wrong, read, structure};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

pub fn explain(args: &TuningFile, reporter: &Reporter) -> Outcome {
    let path = &args.file;
    let text = match std::fs::read(path).map(String::from_utf8) {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => {
            let d = usage(codes::TUNING, format!("the tuning file `{}` is no text", path.display()));
            return fail(d.help("`remc autotune` writes tuning files, which are TOML"));
        }
        Err(e) => {
            let why = remc_driver::session::describe_read(&e);
            let d = usage(codes::TUNING, format!("cannot read the tuning file `{}`: {why}", path.display()));
            return fail(d.help("`remc autotune FILE --inputs DIR` writes FILE.tuning"));
        }
    };
    let wrong = |w: &Wrong| usage(codes::TUNING, pick::sentence(path, w));
    let all = match read(&text) {
        Ok(all) if all.is_empty() => {
            let d = usage(codes::TUNING, format!("the tuning file `{}` has no table", path.display()));
            return fail(d.help("each entry and device has one, under `[[tuned]]`"));
        }
        Ok(all) => all,
        Err(w) => return fail(wrong(&w).help("mend it, or make it anew with `remc autotune`")),
    };
    let mut session = new_session();
    let program = program(args, path)?;
    if let Some(report) = &args.report {
        let source = Source { file: program.as_ref().ok().cloned(), expression: None };
        let mut protected = protected(&session, &source, &[]);
        protected.add(path, "the tuning file");
        may_write(report, &protected)?;
    }
    let file = match &program {
        Ok(path) => {
            let source = Source { file: Some(path.clone()), expression: None };
            let file = load(&mut session, &source)?;
            reporter.check(&session, &session.diagnostics(file))?;
            Some((file, path.file_name().unwrap_or_default().to_string_lossy().into_owned()))
        }
        Err(_) => None,
    };
    let mut said = Vec::new();
    for tuned in &all {
        let (beside, misfit) = match (&file, &program) {
            (Some((file, name)), _) => beside(&session, *file, name, tuned, args, reporter)?,
            (None, Err(why)) => (Beside::Nothing(why.clone()), None),
            (None, Ok(_)) => (Beside::Nothing("There is no program".into()), None),
        };
        if let Some((name, what)) = misfit {
            let line = text.lines().position(|l| l.trim_start_matches([' ', '"', '\'']).starts_with(&name));
            let d = wrong(&Wrong { line: line.map(|n| n + 1), what });
            return fail(d.help(
                "the code is what was measured, so the number was misspelt; `--show tuning` lists all",
            ));
        }
        said.push(remc_tune::explain::explain(tuned, &beside, &machine::processor()));
    }
    to_stdout(&said.join("\n"))?;
    match (&args.report, &program) {
        (None, _) => Ok(()),
        (Some(_), program) => {
            // The program's name, whether it is there or not.
            let of = program.clone().unwrap_or_else(|_| path.with_extension("remora"));
            let name = of.file_name().unwrap_or_default().to_string_lossy();
            write(&args.report, remc_tune::report::page(&name, &all).as_bytes())
        }
    }
}

/// The program that a file is of; or why there is none to compare it with.
fn program(args: &TuningFile, file: &Path) -> Outcome<Result<PathBuf, String>> {
    if let Some(path) = &args.program {
        return Ok(Ok(path.clone()));
    }
    let beside = file.with_extension("remora");
    Ok(match beside.is_file() {
        true => Ok(beside),
        false => Err(format!("There is no program `{}`", beside.display())),
    })
}

/// The entry of a table, in the program as it is now.
fn beside(
    session: &Session,
    file: SourceFile,
    name: &str,
    tuned: &Tuned,
    args: &TuningFile,
    reporter: &Reporter,
) -> Outcome<(Beside, Option<(String, String)>)> {
    let nothing = |why: String| Ok((Beside::Nothing(why), None));
    let entries = session.entries(file);
    let Some(target) = entries.iter().find(|d| d.name(&session.db).as_str() == tuned.entry) else {
        return nothing(format!("{name} has no entry `{}` any more", tuned.entry));
    };
    let global = target.global(&session.db);
    let program = session.link(file, &[*target]);
    session.verify(&program, file)?;
    let sig = program.get(&global).and_then(|d| d.entry.as_ref());
    let shapes = sig.iter().flat_map(|e| &e.indices).filter(|v| v.sort == remc_base::Sort::Shape).count();
    if shapes != tuned.ranks.len() {
        return nothing(format!(
            "`{}` of {name} has {shapes} shape variables, and the file says the ranks of {}",
            tuned.entry,
            tuned.ranks.len()
        ));
    }
    let tuning = if tuned.device == "cuda" { Tuning::gpu() } else { machine::tuning() };
    let flat = |named: Named| {
        let options = Options {
            to: Some("flat"),
            streams: tuning.streams(),
            tuning,
            named,
            size_limit: args.size.limit,
            ..Options::default()
        };
        match session.compile(file, &[*target], &tuned.ranks, options) {
            Ok(Stop::Flat(flat)) => Ok(flat),
            Ok(_) => Err(Failure::Bug(InternalBug { stage: "tune", message: "another language".into() })),
            Err(e) => refuse(session, reporter, e),
        }
    };
    let plain = flat(Named::new())?;
    let code = structure(&plain);
    let misfit = (code == tuned.code).then(|| pick::misfit(tuned, &plain)).flatten();
    // The versions of operators are there because the file says so.
    let fits = code == tuned.code && misfit.is_none();
    let made = |name: &str| fits && Threshold::of_name(name) == Some(Threshold::BySize);
    let versions: Named =
        tuned.thresholds.iter().filter(|(name, _)| made(name)).map(|(n, v)| (n.clone(), *v)).collect();
    // What the schedules have is known once there are kernels.
    let numbers = RefCell::new(Vec::new());
    let read = |all: &[Number]| {
        *numbers.borrow_mut() = all.iter().map(|n| (n.name(&tuned.entry), n.value)).collect::<Vec<_>>();
    };
    let (size_limit, named) = (args.size.limit, versions.clone());
    let options = Options {
        to: Some("kernel"),
        streams: tuning.streams(),
        tuning,
        named,
        read: Some(&read),
        size_limit,
        ..Options::default()
    };
    let compiled = session.compile(file, &[*target], &tuned.ranks, options);
    compiled.or_else(|e| refuse(session, reporter, e))?;
    let mut all: Vec<(String, i64)> =
        thresholds(&plain).into_iter().map(|(n, v)| (n.to_string(), v)).collect();
    all.extend(numbers.into_inner());
    // By default there are none, which is as if no size reached the second, or all.
    let measured = |name: &String| {
        let numbers = tuned.measured.iter().flat_map(|m| &m.numbers);
        numbers.filter(|n| n.name == *name).map(|n| n.default).next().unwrap_or(NEVER)
    };
    all.extend(versions.keys().map(|name| (name.clone(), measured(name))));
    Ok((Beside::Code { program: name.to_owned(), code, numbers: all }, misfit))
}
