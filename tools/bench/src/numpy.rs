//! The NumPy side: a child process, `peers/numpy_peer.py`, which holds the inputs, takes the time itself and
//! checks results. It runs in an environment of the bench's own, which [`install`] makes.

use crate::cases::Case;
use crate::contender::{Contender, Outcome};
use crate::data::Given;
use crate::places;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// What is installed: one major version, so that figures of different days are of the same library.
const REQUIREMENT: &str = "numpy>=2,<3";

fn python(cache: &Path) -> PathBuf {
    cache.join("venv/bin/python")
}

/// Makes the environment and installs NumPy there; does nothing that is done already.
pub fn install(cache: &Path) -> Result<(), String> {
    let run = |what: &str, command: &mut Command, help: &str| match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{what} failed ({status}){help}")),
        Err(e) => Err(format!("{what} failed: {e}{help}")),
    };
    if !python(cache).is_file() {
        eprintln!("making an environment in {}", cache.join("venv").display());
        run(
            "python3 -m venv",
            Command::new("python3").args(["-m", "venv"]).arg(cache.join("venv")),
            "; on Debian, `apt-get install python3-venv` brings it",
        )?;
    }
    let there = Command::new(python(cache))
        .args(["-c", "import numpy, sys; sys.exit(numpy.__version__.split('.')[0] != '2')"])
        .stderr(Stdio::null())
        .status();
    if there.is_ok_and(|s| s.success()) {
        eprintln!("NumPy is there");
        return Ok(());
    }
    eprintln!("installing {REQUIREMENT}");
    let pip = ["-m", "pip", "install", "--quiet", "--only-binary", ":all:", REQUIREMENT];
    run("pip install", Command::new(python(cache)).args(pip), "")
}

/// The child and the two ends of its protocol.
struct Process {
    child: Child,
    requests: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Process {
    fn start(cache: &Path, threads: u16) -> Result<Process, String> {
        if !python(cache).is_file() {
            return Err("NumPy is not installed: `remc-bench --setup` does that".into());
        }
        let count = threads.to_string();
        let mut child = Command::new(python(cache))
            .arg(places::sources().join("peers/numpy_peer.py"))
            // Whichever of them the library was built with obeys.
            .envs(["OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"].map(|name| (name, &count)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("python: {e}"))?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(requests), Some(answers)) => {
                Ok(Process { child, requests, answers: BufReader::new(answers) })
            }
            _ => Err("the child process has no pipes".into()),
        }
    }

    fn ask(&mut self, request: &Value) -> Result<Value, String> {
        let lost = |e: std::io::Error| format!("the NumPy process is gone: {e}");
        writeln!(self.requests, "{request}").map_err(lost)?;
        let mut line = String::new();
        if self.answers.read_line(&mut line).map_err(lost)? == 0 {
            let status = self.child.wait().map(|s| s.to_string()).unwrap_or_default();
            return Err(format!("the NumPy process ended ({status})"));
        }
        let answer: Value = serde_json::from_str(&line).map_err(|e| format!("NumPy answered {line}: {e}"))?;
        match answer["failed"].as_str() {
            Some(why) => Err(why.to_owned()),
            None => Ok(answer),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It only computes: nothing of it is worth waiting for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// NumPy as a contender, and as the judge of all.
pub struct NumPy {
    process: Result<Process, String>,
    pub version: Option<String>,
}

/// How wrong a result is, on the scale of the row, and how wrong it may be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Verdict {
    pub error: f64,
    pub tolerance: f64,
}

impl Verdict {
    pub fn is_right(self) -> bool {
        self.error <= self.tolerance
    }
}

impl NumPy {
    pub fn start(cache: &Path, threads: u16) -> NumPy {
        let mut process = Process::start(cache, threads);
        let hello = process.as_mut().map_err(|why| why.clone()).and_then(|p| p.ask(&json!({"do": "hello"})));
        match hello {
            Ok(answer) => {
                let version = answer["numpy"].as_str().map(str::to_owned);
                NumPy { process, version }
            }
            Err(why) => NumPy { process: Err(why), version: None },
        }
    }

    fn ask(&mut self, request: &Value) -> Result<Value, String> {
        self.process.as_mut().map_err(|why| why.clone())?.ask(request)
    }

    /// Compares a result with the one in float64.
    pub fn check(&mut self, outcome: &Outcome) -> Result<Verdict, String> {
        let request = match outcome {
            Outcome::Own => json!({"do": "check"}),
            Outcome::File(path) => json!({"do": "check", "file": path}),
        };
        let answer = self.ask(&request)?;
        match (answer["error"].as_f64(), answer["tolerance"].as_f64()) {
            (Some(error), Some(tolerance)) => Ok(Verdict { error, tolerance }),
            _ => Err(format!("no verdict: {answer}")),
        }
    }
}

impl Contender for NumPy {
    fn name(&self) -> &'static str {
        "NumPy"
    }

    fn prepare(&mut self, case: &Case, inputs: &[(&'static str, Given)]) -> Result<Option<Duration>, String> {
        let inputs: Vec<Value> = inputs
            .iter()
            .map(|(_, given)| match given {
                Given::File(path) => json!(path),
                Given::Scalar(n) => json!(n),
            })
            .collect();
        let kernel = case.numpy.ok_or("NumPy has no kernel for this row")?;
        self.ask(&json!({"do": "prepare", "kernel": kernel, "inputs": inputs})).map(|_| None)
    }

    fn call(&mut self) -> Result<Duration, String> {
        let answer = self.ask(&json!({"do": "call"}))?;
        let seconds = answer["seconds"].as_f64().ok_or_else(|| format!("no time: {answer}"))?;
        Duration::try_from_secs_f64(seconds).map_err(|e| e.to_string())
    }

    fn result(&mut self) -> Result<Outcome, String> {
        Ok(Outcome::Own)
    }

    fn release(&mut self) {
        // A process that is gone holds nothing.
        let _ = self.ask(&json!({"do": "release"}));
    }
}
