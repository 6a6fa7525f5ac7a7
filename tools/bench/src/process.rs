//! Processes of `remc`: where it is, what it says, and the times among that.
//!
//! With `--timings=json` one line of standard error is, in seconds,
//!
//! ```text
//! {"compile": 0.081, "stages": {"parse": 0.0012, …}, "runs": [0.0121, 0.0119, …]}
//! ```
//!
//! where `compile` is all stages from text to machine code.

use crate::places;
use serde_json::Value;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// The times of one process.
#[derive(Clone, PartialEq, Debug)]
pub struct Timings {
    pub compile: Duration,
    /// By their names.
    pub stages: Vec<(String, Duration)>,
    pub runs: Vec<Duration>,
}

/// The `remc` that is named, or the one beside this program.
pub fn remc(named: Option<PathBuf>) -> Result<PathBuf, String> {
    named
        .or_else(|| places::beside("remc"))
        .ok_or_else(|| "no remc beside remc-bench: `cargo build --release -p remc` makes one".into())
}

/// What a process says on standard error, if it succeeds. It has the defaults of this machine, whatever this one was told,
/// unless it is given others.
pub fn said(command: &mut Command) -> Result<String, String> {
    if command.get_envs().all(|(name, _)| name != "REMC_MACHINE") {
        command.env_remove("REMC_MACHINE");
    }
    let output = command.output().map_err(|e| format!("{}: {e}", command.get_program().to_string_lossy()))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(said.into_owned()),
        false => Err(format!("remc: {}", said.lines().next().unwrap_or("failed without a word"))),
    }
}

/// The line with the times, among whatever else is said.
pub fn timings(said: &str) -> Result<Timings, String> {
    let seconds = |v: &Value| v.as_f64().and_then(|s| Duration::try_from_secs_f64(s).ok());
    let read = |v: Value| {
        let stages = v["stages"].as_object()?.iter().map(|(name, t)| Some((name.clone(), seconds(t)?)));
        Some(Timings {
            compile: seconds(&v["compile"])?,
            stages: stages.collect::<Option<_>>()?,
            runs: v["runs"].as_array()?.iter().map(seconds).collect::<Option<_>>()?,
        })
    };
    said.lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .find_map(read)
        .ok_or_else(|| "remc gave no times".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_among_messages() {
        let said = "warning: something\n{\"other\": 1}\n\
            {\"compile\": 0.5, \"stages\": {\"parse\": 0.25}, \"runs\": [0.25, 0.125]}\n";
        let ms = Duration::from_millis;
        let stages = vec![("parse".to_owned(), ms(250))];
        assert_eq!(timings(said), Ok(Timings { compile: ms(500), stages, runs: vec![ms(250), ms(125)] }));
        assert!(timings("nothing").is_err());
        assert!(timings("{\"compile\": -1, \"stages\": {}, \"runs\": []}").is_err());
        assert!(timings("{\"compile\": 1, \"runs\": []}").is_err());
    }

    #[test]
    fn a_process_that_fails_is_a_reason() {
        assert!(said(&mut Command::new("/nowhere/remc")).unwrap_err().contains("/nowhere/remc"));
        assert_eq!(remc(Some("/nowhere/remc".into())), Ok("/nowhere/remc".into()));
    }
}
