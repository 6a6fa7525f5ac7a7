//! Every number of a schedule at its least and at its greatest value, and at random ones: a program gives the same.
//!
//! Integers, booleans, texts and shapes to the digit, and so stops and their messages; floats within what another order of
//! combination makes of them. Under one setting any number of threads gives the same text. A plain run has all numbers at
//! their least and at their greatest at once, and a draw; `--all` each by itself as well.

use crate::compiled;
use crate::programs::run;
use crate::{differs, directives, files, stderr, stdout, stem};
use libtest_mimic::{Failed, Trial};
use remc_driver::Session;
use remc_driver::compile::{Options, Stop, Tuning};
use remc_kernel::lower::{Lowered, lower_scheduled};
use remc_kernel::schedule::{Field, Place, Schedule, Schedules};
use std::collections::BTreeSet;
use std::path::Path;

/// How far floats of another order of combination may lie apart, by their size.
const NEAR: f64 = 1e-5;

pub fn trials() -> Vec<Trial> {
    let mut trials = compiled::programs(|path, code| {
        Trial::test(format!("schedules::{}", stem(&path)), move || match &code {
            None => gives_its_value(&path, "cpu", &settings(&path, false)),
            Some(_) => Ok(()),
        })
    });
    trials.extend(compiled::stopping(|path, code| {
        Trial::test(format!("schedules_stops::{}", stem(&path)), move || match &code {
            None => stops_alike(&path, &settings(&path, false)),
            Some(_) => Ok(()),
        })
    }));
    trials.extend(compiled::programs(|path, code| {
        Trial::test(format!("emulated_schedules::{}", stem(&path)), move || match &code {
            None if crate::emulated::is_there() => {
                let all = settings(&path, true);
                let one = remc_sample::rank(&stem(&path)) as usize % all.len();
                gives_its_value(&path, "emulated", &all[one..=one])
            }
            _ => Ok(()),
        })
    }));
    trials.push(Trial::test("floats_of_other_schedules_are_near", only_floats_may_be_near));
    trials.push(Trial::test("each_field_of_a_schedule_decides_something", each_decides));
    trials
}

/// Each field makes another code of some program: one that nothing reads would pass all of the above.
fn each_decides() -> Result<(), Failed> {
    for threads in [false, true] {
        // Only processors with vectors of a whole cache line write past the caches.
        let read = |f: &Field| f.matters(threads) && *f != Field::Stream;
        let mut open: BTreeSet<Field> = Field::ALL.iter().copied().filter(read).collect();
        // Entries do not know their sizes: these come first.
        let folders = ["../tools/bench/programs", "../tools/bench/tuning", "../examples", "programs"];
        for path in folders.into_iter().flat_map(|folder| files(folder, "remora")) {
            if open.is_empty() {
                break;
            }
            let Some(flat) = flat(&path, threads)? else { continue };
            let lowered = |schedule| -> Result<Lowered, Failed> {
                let all = Schedules { all: schedule, ..Schedules::default() };
                let mut l = lower_scheduled(&flat, threads, all).map_err(|e| e.0)?;
                let kernels: Vec<_> = l.program.kernels.iter().map(|(id, _)| id).collect();
                kernels.into_iter().for_each(|id| l.program.kernels[id].schedule = Schedule::default());
                Ok(l)
            };
            let plain = lowered(Schedule::default())?;
            let read: Vec<Field> =
                plain.used.values().flat_map(|f| f.iter()).filter(|f| open.contains(f)).collect();
            for f in read {
                for schedule in [false, true].map(|greatest| Schedule::extreme(f, greatest)) {
                    let differs = match f.about().place {
                        Place::CpuCode => texts_differ(&path, "llvm", schedule)?,
                        Place::GpuCode => texts_differ(&path, "cuda", schedule)?,
                        _ => lowered(schedule)?.program != plain.program,
                    };
                    if differs {
                        open.remove(&f);
                        break;
                    }
                }
            }
        }
        if !open.is_empty() {
            return Err(format!("no program is another with these at their extremes: {open:?}").into());
        }
    }
    Ok(())
}

/// What a program is before it is lowered, if it is compiled: all that a run of it computes.
pub fn flat(path: &Path, threads: bool) -> Result<Option<remc_flat::ir::Program>, Failed> {
    let mut session = Session::default();
    let file = session.load_text("program.remora", path, std::fs::read_to_string(path)?);
    let entries = session.entries(file);
    let targets = match session.expressions(file) {
        all if all.is_empty() => entries.into_iter().take(1).collect(),
        all => all,
    };
    if targets.is_empty() {
        return Ok(None);
    }
    let tuning = if threads { Tuning::gpu() } else { Tuning::default() };
    let options = Options { to: Some("flat"), tuning, streams: tuning.streams(), ..Options::default() };
    match session.compile(file, &targets, &[], options) {
        Ok(Stop::Flat(flat)) => Ok(Some(flat.as_ref().clone())),
        _ => Ok(None),
    }
}

/// Whether the code of a program is another by a schedule.
fn texts_differ(path: &Path, emit: &str, schedule: Schedule) -> Result<bool, Failed> {
    let text = |numbers: &[(Field, i64)]| -> Result<String, Failed> {
        let mut command = crate::remc();
        command.args(["compile", "--emit", emit]).arg(path);
        numbers.iter().for_each(|(f, n)| _ = command.args(["--threshold", &format!("{f}={n}")]));
        let out = stdout(&command.output()?);
        // What the text says of its numbers is none of its code.
        Ok(out.lines().filter(|l| !l.trim_start().starts_with("//") && !l.contains("fixed")).collect())
    };
    Ok(text(&schedule.changed().collect::<Vec<_>>())? != text(&[])?)
}

/// The arguments of settings: of the numbers that the device reads, all at their least, all at their greatest, a draw, and
/// in a run of everything each by itself.
fn settings(path: &Path, threads: bool) -> Vec<Vec<String>> {
    let read = || Field::ALL.iter().copied().filter(|f| f.matters(threads));
    let argument = |f: Field, value: i64| ["--threshold".to_owned(), format!("{f}={value}")];
    let mut state = remc_sample::rank(&stem(path));
    let mut random = |n: u64| {
        state = remc_sample::rank(&state.to_string());
        state % n
    };
    let drawn = Schedule::drawn(&mut random);
    let mut all: Vec<Vec<String>> = vec![
        read().flat_map(|f| argument(f, f.about().range.0)).collect(),
        read().flat_map(|f| argument(f, f.about().range.1)).collect(),
        read().flat_map(|f| argument(f, drawn[f])).collect(),
    ];
    if remc_sample::everything() {
        let alone = |f: Field, greatest| {
            let schedule = Schedule::extreme(f, greatest);
            schedule.changed().flat_map(|(f, value)| argument(f, value)).collect::<Vec<_>>()
        };
        all.extend(read().flat_map(|f| [alone(f, false), alone(f, true)]));
    }
    all
}

pub fn gives_its_value(path: &Path, device: &str, settings: &[Vec<String>]) -> Result<(), Failed> {
    let d = directives(&std::fs::read_to_string(path)?);
    let expected = std::fs::read_to_string(path.with_extension("out"))?;
    let threads: &[&[&str]] =
        if device == "cpu" { &[&["--threads", "1"], &["--threads", "5"]] } else { &[&[]] };
    for setting in settings {
        let mut first = None;
        for threads in threads {
            let o = run(path, &d, device).args(setting).args(*threads).output()?;
            if o.status.code() != Some(0) || !o.stderr.is_empty() {
                let said = stderr(&o);
                return Err(
                    format!("exit code {:?}, {setting:?} {threads:?}\n{said}", o.status.code()).into()
                );
            }
            let found = stdout(&o);
            if !alike(&expected, &found) {
                return Err(differs(&format!("the value, {setting:?} {threads:?}"), &expected, &found));
            }
            let first = first.get_or_insert_with(|| found.clone());
            if *first != found {
                return Err(differs(&format!("the value with more threads, {setting:?}"), first, &found));
            }
        }
    }
    Ok(())
}

pub fn stops_alike(path: &Path, settings: &[Vec<String>]) -> Result<(), Failed> {
    let d = directives(&std::fs::read_to_string(path)?);
    let expected = std::fs::read_to_string(path.with_extension("err"))?;
    for setting in settings {
        let o = run(path, &d, "cpu").args(setting).args(["--threads", "5"]).output()?;
        if o.status.code() != Some(3) || stderr(&o) != expected {
            return Err(differs(&format!("the message, {setting:?}"), &expected, &stderr(&o)));
        }
    }
    Ok(())
}

/// Whether two texts say the same: word for word, and floats near one another.
fn alike(expected: &str, found: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        let apart = text.replace(['[', ']', '(', ')', ','], " ");
        apart.split_whitespace().map(str::to_owned).collect()
    };
    let shape = |text: &str| text.chars().filter(|c| "[](),".contains(*c)).collect::<String>();
    let float = |word: &str| word.contains(['.', 'e']).then(|| word.parse::<f64>().ok()).flatten();
    let same = |(a, b): (&String, &String)| match (float(a), float(b)) {
        (Some(x), Some(y)) => (x - y).abs() <= NEAR * (1.0 + x.abs().max(y.abs())) || a == b,
        _ => a == b,
    };
    let (a, b) = (words(expected), words(found));
    shape(expected) == shape(found) && a.len() == b.len() && a.iter().zip(&b).all(same)
}

fn only_floats_may_be_near() -> Result<(), Failed> {
    let near = [("[1.0 2.5]", "[1.0000001 2.5]"), ("nan", "nan"), ("#t 3", "#t 3")];
    let far = [("[1.0 2.5]", "[1.1 2.5]"), ("[1 2]", "[1 3]"), ("[[1.0] 2.0]", "[1.0 2.0]"), ("1e9", "2e9")];
    let wrong = near.iter().find(|(a, b)| !alike(a, b)).or(far.iter().find(|(a, b)| alike(a, b)));
    wrong.map_or(Ok(()), |pair| Err(format!("{pair:?}").into()))
}
