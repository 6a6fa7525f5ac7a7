//! Schedules with one thing wrong: who finds it. Each mutant of [`mutants::MUTANTS`] is looked at by
//!
//! | | |
//! | --- | --- |
//! | verifier, races | [`remc_kernel::verify`] and [`remc_kernel::race`], which see kernels and run nothing |
//! | interpreter | the interpreter of kernels, in both orders of threads: what it reports, or another value |
//! | values | the emulator, in three orders of threads: what it reports, or another value |
//! | accesses | the emulator's race check |
//!
//! and at least one of them finds it. Mutants of the printed text are for the last two alone. Who finds what is in
//! `testsuite/cuda/mutants.txt`. A plain run takes all subjects as they are, which everybody looks at, and a sample of
//! the mutants: by lot, and for all those that find the same mutants one more.
//!
//! Without a C++ compiler nothing is tested, and a line says so.

mod edit;
mod guards;
#[path = "../support/kernels.rs"]
mod kernels;
mod mutants;
mod subjects;

use guards::Ran;
use kernels::{Kernels, STACK};
use libtest_mimic::{Arguments, Failed, Trial};
use mutants::{How, MUTANTS, Mutant};
use remc_driver::Session;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use subjects::{SUBJECTS, subject};

/// Orders of threads and blocks, and whether a launch has so few blocks that each does several of the grid's.
const RUNS: [(&str, bool); 3] = [("forward", false), ("reverse", true), ("random:1", false)];
/// What the race check is told.
const CHECKED: (&str, bool) = ("reverse", true);
/// Threads that look at mutants.
const WORKERS: usize = 2;
/// The interpreter takes minutes for more elements than this.
const INTERPRETED: usize = 100_000;
/// One mutant of so many is in the sample.
const SAMPLED: u64 = 5;

fn main() {
    if let Some(code) = guards::child() {
        std::process::exit(code);
    }
    let arguments = Arguments::from_args();
    let trials = match remc_emulate::Emulator::new(std::env::temp_dir()) {
        Ok(_) => vec![Trial::test("mutants_are_found", mutants_are_found)],
        Err(none) => {
            eprintln!("mutants: left out: {none}");
            Vec::new()
        }
    };
    libtest_mimic::run(&arguments, trials).exit();
}

fn mutants_are_found() -> Result<(), Failed> {
    let folder = Folder::new()?;
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testsuite/cuda/mutants.txt");
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    let taken = taken(&expected);
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(Vec::new());
    let work = || -> Result<(), String> {
        let mut session = Session::default();
        loop {
            let Some(at) = taken.get(next.fetch_add(1, Ordering::Relaxed)).copied() else { return Ok(()) };
            let m = &MUTANTS[at];
            let row = look(&mut session, m, at, &folder.0)
                .map_err(|e| format!("{}: {}: {e}", m.subject, m.about))?;
            rows.lock().unwrap_or_else(PoisonError::into_inner).push((at, row));
        }
    };
    right_ones(&folder.0)?;
    std::thread::scope(|scope| -> Result<(), Failed> {
        let start = || std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let workers = (0..WORKERS).map(|_| start()).collect::<Result<Vec<_>, _>>()?;
        for w in workers {
            w.join().map_err(|_| "a panic")??;
        }
        Ok(())
    })?;
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort();
    let (mut out, mut missed) = (HEADER.to_owned(), Vec::new());
    for (at, found) in rows {
        let name = name(&MUTANTS[at]);
        if found.is_empty() {
            missed.push(name.clone());
        }
        out += &format!("{name}: {}\n", found.join(", "));
    }
    if !missed.is_empty() {
        return Err(format!("nobody finds\n{}\namong\n{out}", missed.join("\n")).into());
    }
    let of_those = |line: &&str| line.starts_with('#') || taken.iter().any(|at| is_of(line, &MUTANTS[*at]));
    if expected.split_inclusive('\n').filter(of_those).eq(out.split_inclusive('\n')) {
        return Ok(());
    }
    if std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1") {
        return match taken.len() == MUTANTS.len() {
            true => Ok(std::fs::write(&path, out)?),
            false => Err(format!("the file is written of all mutants: {}=1", remc_sample::ALL).into()),
        };
    }
    Err(format!("{} differs\n--- found\n{out}", path.display()).into())
}

/// The first line of the file.
const HEADER: &str =
    "# Schedules and texts with one thing wrong, and who finds it: see tools/remc/tests/mutations.\n";

fn name(m: &Mutant) -> String {
    format!("{}: {}", m.subject, m.about)
}

/// Whether a line of the file says who finds a mutant.
fn is_of(line: &str, m: &Mutant) -> bool {
    line.strip_prefix(&name(m)).is_some_and(|rest| rest.starts_with(": "))
}

/// The mutants that this run looks at, in their order. Those that the file does not have are among them.
fn taken(file: &str) -> Vec<usize> {
    let finders = |m: &Mutant| {
        let line = file.lines().find(|l| is_of(l, m))?;
        Some(line[name(m).len() + 2..].to_owned())
    };
    let mut first: BTreeMap<String, (u64, usize)> = BTreeMap::new();
    for (k, m) in MUTANTS.iter().enumerate() {
        let lot = (remc_sample::rank(&name(m)), k);
        if let Some(finders) = finders(m) {
            let least = first.entry(finders).or_insert(lot);
            *least = lot.min(*least);
        }
    }
    let is_first = |k: usize| first.values().any(|(_, first)| *first == k);
    let is_taken =
        |k: usize, m: &Mutant| remc_sample::takes(SAMPLED, &name(m)) || is_first(k) || finders(m).is_none();
    MUTANTS.iter().enumerate().filter(|(k, m)| is_taken(*k, m)).map(|(k, _)| k).collect()
}

/// Nobody finds anything in the programs themselves.
fn right_ones(folder: &Path) -> Result<(), Failed> {
    let work = || -> Result<(), String> {
        let mut session = Session::default();
        for s in &SUBJECTS {
            let k = s.kernels(&mut session, folder)?;
            let about = |e: String| format!("{}: {e}", s.name);
            if guards::verifier(&k.program) || guards::race_checker(&k.program) {
                return Err(about("the kernels are refused".into()));
            }
            let wanted = wanted(&k)?;
            if is_small(&k) && guards::interpreter(&k.program, &k, &wanted) {
                return Err(about("the interpreter gives another value".into()));
            }
            let text = remc_cuda::plan(&k.program, &|_| None).map_err(|e| about(e.to_string()))?;
            let texts = Texts::new(folder, s.name, &text)?;
            for (how, races) in RUNS.into_iter().map(|r| (r, false)).chain([(CHECKED, true)]) {
                match guards::emulate(s, texts.path(how), folder, how.0, races)? {
                    Ran::Value(found) if found == wanted => {}
                    Ran::Value(_) => return Err(about(format!("another value, {how:?}"))),
                    Ran::Refused => return Err(about("the text does not compile".into())),
                    Ran::Ended(why) => return Err(about(why)),
                }
            }
        }
        Ok(())
    };
    let done = std::thread::scope(|scope| -> std::io::Result<_> {
        Ok(std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)?.join())
    })?;
    Ok(done.map_err(|_| "a panic")??)
}

fn is_small(k: &Kernels) -> bool {
    k.arguments.iter().all(|a| a.shape.iter().product::<usize>() <= INTERPRETED)
}

/// The value that the text must give: what the interpreter makes of the kernels, or arithmetic.
fn wanted(k: &Kernels) -> Result<String, String> {
    if is_small(k) {
        return guards::interpreted(&k.program, k, false);
    }
    // Running sums are the one large subject.
    let mut sum = 0i64;
    let sums = k.arguments[0].data.iter().map(|a| match a {
        remc_base::Atom::Scalar(s) => {
            sum = sum.wrapping_add(s.to_bits64());
            Ok(remc_base::Scalar::I64(sum))
        }
        _ => Err("no number".to_owned()),
    });
    let sums = sums.collect::<Result<Vec<_>, _>>()?;
    let value = remc_base::Value::of_scalars(remc_base::BaseTy::I64, vec![sums.len()], sums);
    Ok(remc_runtime::text::print(&value).to_string())
}

/// Who finds a mutant.
fn look(session: &mut Session, m: &Mutant, at: usize, folder: &Path) -> Result<Vec<&'static str>, String> {
    let s = subject(m.subject);
    let k = s.kernels(session, folder)?;
    let wanted = wanted(&k)?;
    let mut found = Vec::new();
    let text = match &m.how {
        How::Kernels(change) => {
            let mut p = k.program.as_ref().clone();
            if !change(&mut p) || p == *k.program {
                return Err("there is nothing to change".into());
            }
            found.extend(guards::verifier(&p).then_some("verifier"));
            found.extend(guards::race_checker(&p).then_some("races"));
            found.extend((is_small(&k) && guards::interpreter(&p, &k, &wanted)).then_some("interpreter"));
            match remc_cuda::plan(&p, &|_| None) {
                Ok(text) => text,
                Err(_) => {
                    found.push("printer");
                    return Ok(found);
                }
            }
        }
        text => {
            let right = remc_cuda::plan(&k.program, &|_| None).map_err(|e| e.to_string())?;
            text.text(&right).ok_or("there is nothing to change")?
        }
    };
    let texts = Texts::new(folder, &format!("mutant-{at}"), &text)?;
    let differs = |ran: &Ran| match ran {
        Ran::Value(found) => *found != wanted,
        Ran::Refused | Ran::Ended(_) => true,
    };
    let mut values = false;
    for how in RUNS {
        let ran = guards::emulate(s, texts.path(how), folder, how.0, false)?;
        if matches!(ran, Ran::Refused) {
            found.push("compiler");
            return Ok(found);
        }
        values |= differs(&ran);
        if values {
            break;
        }
    }
    found.extend(values.then_some("values"));
    let ended = matches!(guards::emulate(s, texts.path(CHECKED), folder, CHECKED.0, true)?, Ran::Ended(_));
    found.extend(ended.then_some("accesses"));
    Ok(found)
}

/// A text in a file, and the same with fewer blocks of the device.
struct Texts {
    whole: PathBuf,
    few: PathBuf,
}

impl Texts {
    fn new(folder: &Path, name: &str, text: &str) -> Result<Texts, String> {
        const SIZE: &str = "if (workers != 0 && size > workers / threads) size = workers / threads;";
        if !text.contains(SIZE) {
            return Err("launches are made in another way".into());
        }
        let texts =
            Texts { whole: folder.join(format!("{name}.cu")), few: folder.join(format!("{name}-few.cu")) };
        std::fs::write(&texts.whole, text).map_err(|e| e.to_string())?;
        let few = text.replace(SIZE, "if (size > 2) size = 2;");
        std::fs::write(&texts.few, few).map_err(|e| e.to_string())?;
        Ok(texts)
    }

    fn path(&self, (_, few): (&str, bool)) -> &Path {
        if few { &self.few } else { &self.whole }
    }
}

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> std::io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("remc-mutants-{}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left behind does no harm in a folder for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
