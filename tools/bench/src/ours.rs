//! Our side: a program of `programs/`, compiled and run by `remc`. All that the bench knows of `remc` is here.
//!
//! What is run is
//!
//! ```text
//! remc run PROGRAM --entry main --device cpu --threads N --input NAME=VALUE … --output RESULT.npy
//!     --repeat K --timings=json
//! ```
//!
//! which calls the entry K times on inputs that are loaded once, writes what the last call gave, and says how long
//! that took ([`process`]). The first runs of a process are not counted: they warm up. Processes of a few runs each
//! alternate with the rounds of the others.

use crate::cases::Case;
use crate::contender::{Contender, Outcome};
use crate::data::Given;
use crate::{places, process};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Runs of one process that are not counted, and that are.
const WARM_UP: usize = 2;
const BATCH: usize = 4;

pub struct Ours {
    /// Where it is, if it can do what the bench needs.
    remc: Result<PathBuf, String>,
    threads: u16,
    file: PathBuf,
    /// The arguments for the row that is prepared, and times that are not taken yet.
    arguments: Vec<String>,
    times: VecDeque<Duration>,
}

impl Ours {
    pub fn new(remc: Option<PathBuf>, threads: u16, cache: &Path) -> Ours {
        let remc = process::remc(remc).and_then(able);
        let file = cache.join(format!("result-remc-{}.npy", std::process::id()));
        Ours { remc, threads, file, arguments: Vec::new(), times: VecDeque::new() }
    }

    /// Runs the program of the row a few times; the time that compiling took.
    fn batch(&mut self) -> Result<Duration, String> {
        let remc = self.remc.as_ref().map_err(Clone::clone)?;
        let times = process::timings(&process::said(Command::new(remc).args(&self.arguments))?)?;
        self.times.extend(times.runs.into_iter().skip(WARM_UP));
        Ok(times.compile)
    }
}

/// Whether this `remc` has the options that are needed.
fn able(path: PathBuf) -> Result<PathBuf, String> {
    let help = Command::new(&path)
        .args(["run", "--help"])
        .output()
        .map_err(|e| format!("{}: {e}", path.display()))?;
    let help = String::from_utf8_lossy(&help.stdout);
    match ["--device", "--threads", "--repeat"].iter().find(|option| !help.contains(**option)) {
        None => Ok(path),
        Some(option) => Err(format!("this remc does not make machine code yet: its `run` has no {option}")),
    }
}

impl Contender for Ours {
    fn name(&self) -> &'static str {
        "remc"
    }

    fn prepare(&mut self, case: &Case, inputs: &[(&'static str, Given)]) -> Result<Option<Duration>, String> {
        let mut arguments = vec!["run".to_owned(), places::program(case.program).display().to_string()];
        arguments.extend(["--entry", "main", "--device", "cpu", "--timings=json"].map(str::to_owned));
        arguments.extend(["--threads".into(), self.threads.to_string()]);
        arguments.extend(["--repeat".into(), (WARM_UP + BATCH).to_string()]);
        arguments.extend(["--output".into(), self.file.display().to_string()]);
        for (name, given) in inputs {
            arguments.push("--input".into());
            arguments.push(match given {
                Given::File(path) => format!("{name}={}", path.display()),
                Given::Scalar(n) => format!("{name}={n}"),
            });
        }
        self.arguments = arguments;
        self.times.clear();
        self.batch().map(Some)
    }

    fn call(&mut self) -> Result<Duration, String> {
        if self.times.is_empty() {
            self.batch()?;
        }
        self.times.pop_front().ok_or_else(|| "remc gave too few times".into())
    }

    fn result(&mut self) -> Result<Outcome, String> {
        Ok(Outcome::File(self.file.clone()))
    }

    fn release(&mut self) {
        // It may never have been written.
        let _ = std::fs::remove_file(&self.file);
    }

    /// The runs of a process have warmed one another up.
    fn sample(&mut self) -> Result<Duration, String> {
        self.call()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remc_that_is_not_there_is_a_reason() {
        let mut ours = Ours::new(Some("/nowhere/remc".into()), 1, Path::new("/nowhere"));
        assert!(ours.batch().unwrap_err().contains("/nowhere/remc"));
    }
}
