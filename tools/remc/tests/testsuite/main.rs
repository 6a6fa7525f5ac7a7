//! The tests that are files: one test for each program, each program that must fail, each page of an
//! error code, each page of the tour and of the book. `testsuite/README.md` says what is compared; `UPDATE_EXPECT=1` writes what was found in
//! place of what was expected, for a person to read and commit.
//!
//! A plain run takes a part of the tests that are alike, [`SAMPLED`]; a filter that names some asks for all of those.

mod arithmetic;
mod book;
mod by_size;
mod compiled;
mod cpu;
mod emulated;
mod examples;
mod futhark;
#[path = "../support/kernels.rs"]
mod kernels;
mod pages;
mod paths;
mod perf;
mod programs;
mod resources;
mod schedules;
mod tour;

use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The tests of which a plain run takes one of so many, by the beginnings of their names. Each program has a value by
/// the interpreter and each rejected one its message in every run; these repeat them in other ways, or do to each what
/// is done to the others.
const SAMPLED: [(&str, u64); 17] = [
    ("elaborated::", 5),
    ("show_types::", 5),
    ("show_types_examples::", 5),
    ("show_types_stops::", 5),
    ("cpu::", 5),
    ("cpu_stops::", 5),
    ("emulated::", 5),
    ("emulated_stops::", 5),
    ("emulated_examples::", 5),
    ("schedules::", 5),
    ("schedules_stops::", 5),
    ("emulated_schedules::", 20),
    ("by_size::", 10),
    ("by_size_stops::", 10),
    ("emulated_by_size::", 20),
    ("futhark::", 5),
    ("futhark_stops::", 5),
];

/// Whether a plain run takes a test.
pub fn is_taken(name: &str) -> bool {
    let part = SAMPLED.iter().find(|(kind, _)| name.starts_with(kind)).map_or(1, |(_, part)| *part);
    // What is about the list of programs is one of no many.
    part == 1 || name == "cpu::not_compiled_names_programs" || remc_sample::takes(part, name)
}

fn main() {
    let mut arguments = Arguments::from_args();
    // Each test runs processes of its own.
    arguments.test_threads.get_or_insert(4);
    let mut trials: Vec<Trial> = vec![];
    trials.extend(programs::trials());
    trials.extend(cpu::trials());
    trials.extend(emulated::trials());
    trials.extend(schedules::trials());
    trials.extend(by_size::trials());
    trials.extend(futhark::trials());
    trials.extend(resources::trials());
    trials.extend(pages::trials());
    trials.extend(perf::trials());
    trials.extend(tour::trials());
    trials.extend(book::trials());
    trials.extend(arithmetic::trials());
    trials.extend(paths::trials());
    let asked_for = arguments.filter.is_some();
    let sampled = |t: Trial| {
        let left_out = !asked_for && !is_taken(t.name());
        t.with_ignored_flag(left_out)
    };
    libtest_mimic::run(&arguments, trials.into_iter().map(sampled).collect()).exit();
}

/// The root of the repository, where the tests' processes run.
pub fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the root of the repository")
}

/// The files of a folder of `testsuite/` with the given ending, sorted.
pub fn files(folder: &str, ending: &str) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(root().join("testsuite").join(folder))
        .into_iter()
        .flatten()
        .filter_map(|f| Some(f.ok()?.path()))
        .filter(|p| p.extension().is_some_and(|e| e == ending))
        .collect();
    found.sort();
    found
}

pub fn stem(path: &Path) -> String {
    path.file_stem().expect("a file name").to_string_lossy().into_owned()
}

/// `remc`, in the root of the repository, as no terminal sees it. Its cache is the tests' own.
pub fn remc() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_remc"));
    command.current_dir(root()).env("NO_COLOR", "1").env("REMC_CACHE", cache()).stdin(Stdio::null());
    command
}

pub fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache")
}

pub fn stdout(o: &Output) -> String {
    String::from_utf8_lossy(&o.stdout).into_owned()
}

pub fn stderr(o: &Output) -> String {
    String::from_utf8_lossy(&o.stderr).into_owned()
}

pub fn updating() -> bool {
    std::env::var_os("UPDATE_EXPECT").is_some_and(|v| v == "1")
}

/// Compares with the content of a file, or replaces it.
pub fn expect_file(path: &Path, found: &str) -> Result<(), Failed> {
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    if expected == found {
        return Ok(());
    }
    if updating() {
        std::fs::write(path, found)?;
        return Ok(());
    }
    Err(differs(&format!("{}", path.display()), &expected, found))
}

pub fn differs(what: &str, expected: &str, found: &str) -> Failed {
    format!("{what} differs\n--- expected\n{expected}\n--- found\n{found}").into()
}

/// What the leading comments of a program say about how it is run.
#[derive(Default, Clone)]
pub struct Directives {
    pub arguments: Vec<String>,
    pub exit: Option<i32>,
}

pub fn directives(text: &str) -> Directives {
    let mut d = Directives::default();
    for line in text.lines().take_while(|l| l.starts_with(';')) {
        let line = line.trim_start_matches([';', ' ']);
        if let Some(name) = line.strip_prefix("entry:") {
            d.arguments.extend(["--entry".to_owned(), name.trim().to_owned()]);
        } else if let Some(input) = line.strip_prefix("input:") {
            d.arguments.extend(["--input".to_owned(), input.trim().to_owned()]);
        } else if let Some(code) = line.strip_prefix("exit:") {
            d.exit = code.trim().parse().ok();
        }
    }
    d
}
