//! Runs each program as it is and with each version alone, and times both compiling and running.
//!
//! One process compiles, without the cache of machine code, and runs: what it compiles only once the sizes have
//! chosen a version counts as compiling. A round has one process of each contender, in an order that turns from
//! round to round, so that a slow spell of the machine meets all of them; figures are compared within a round, and
//! what is shown is the median over the rounds. A version that the first round shows to be far behind is in no other.

use super::subjects;
use super::subjects::{Set, Subject};
use super::table::{self, Measured, Times, Whole};
use crate::args::Args;
use crate::{contender, places, process};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// Runs of a process where one is too short to be timed alone; the first ones warm up.
const REPEATED: usize = 9;
const WARM_UP: usize = 2;
/// Shorter runs are repeated.
const SHORT: Duration = Duration::from_millis(100);
/// How many times the best time a version may take and still be timed again.
const FAR_BEHIND: u32 = 2;

/// Measures and prints; whether all is within the limits, or none are asked for.
///
/// # Errors
/// There is no remc, or it fails.
pub fn run(args: &Args, cache: &Path) -> Result<bool, String> {
    let remc = process::remc(args.remc.clone())?;
    let subjects = subjects::chosen(args.small, &args.only)?;
    if args.list {
        for s in &subjects {
            let sets: Vec<&str> = s.sets.iter().map(|set| set.name).collect();
            println!("{:16} {} versions; {}", s.program, s.versions.len(), sets.join(", "));
        }
        return Ok(true);
    }
    let bench = Bench { remc, threads: args.threads, rounds: usize::from(args.rounds), cache };
    let (mut measured, mut whole) = (Vec::new(), Vec::new());
    for s in &subjects {
        for set in s.sets {
            eprint!("{}, {} … ", s.program, set.name);
            let row = bench.measure(s, set)?;
            eprintln!("{}", table::summary(&row));
            measured.push(row);
        }
        whole.push(bench.whole(s)?);
    }
    print!("{}", table::markdown(&measured, &whole));
    let over = table::over(&measured);
    over.iter().for_each(|line| eprintln!("remc-bench: {line}"));
    Ok(!args.limits || over.is_empty())
}

struct Bench<'a> {
    remc: PathBuf,
    threads: Option<u16>,
    rounds: usize,
    cache: &'a Path,
}

impl Bench<'_> {
    fn measure(&self, s: &Subject, set: &Set) -> Result<Measured, String> {
        let inputs = s.inputs(set, self.cache).map_err(|e| format!("data of {}: {e}", s.program))?;
        let contenders = contenders(s);
        let mut times = vec![Times::default(); contenders.len()];
        // What short runs are is known after the first round, which does not count then.
        let first: Vec<(Duration, Duration)> =
            contenders.iter().map(|c| self.once(s, &inputs, c, 1)).collect::<Result<_, _>>()?;
        let best = first.iter().map(|(_, run)| *run).min().unwrap_or_default();
        let short = best < SHORT;
        if !short {
            times.iter_mut().zip(&first).for_each(|(t, one)| t.push(*one));
        }
        let all = order(contenders.len(), &first);
        for round in usize::from(!short)..self.rounds.max(1) {
            for k in 0..all.len() {
                let k = all[(k + round) % all.len()];
                let repeat = if short { REPEATED } else { 1 };
                times[k].push(self.once(s, &inputs, &contenders[k], repeat)?);
            }
        }
        // A version that was left out has the times of the first round.
        times.iter_mut().zip(&first).filter(|(t, _)| t.run.is_empty()).for_each(|(t, one)| t.push(*one));
        let mut times = times.into_iter();
        let chosen = times.next().unwrap_or_default();
        let alone = s.versions.iter().copied().zip(times).collect();
        Ok(Measured { program: s.program, set: *set, chosen, alone })
    }

    /// How long compiling and running took in one process.
    fn once(
        &self,
        s: &Subject,
        inputs: &[String],
        thresholds: &[&str],
        repeat: usize,
    ) -> Result<(Duration, Duration), String> {
        let mut command = self.remc("run", s, thresholds);
        command.args(["--device", "cpu", "--timings=json", "--max-elements", "1"]);
        command.args(["--repeat", &repeat.to_string()]);
        if let Some(n) = self.threads {
            command.args(["--threads", &n.to_string()]);
        }
        inputs.iter().for_each(|input| {
            command.args(["--input", input]);
        });
        let mut times = process::timings(&process::said(&mut command)?)?;
        let mut runs = times.runs.split_off(if repeat > WARM_UP { WARM_UP } else { 0 });
        let run = contender::median(&mut runs).ok_or("remc gave no time")?;
        Ok((times.compile, run))
    }

    fn whole(&self, s: &Subject) -> Result<Whole, String> {
        let contenders = contenders(s);
        let mut times = vec![Vec::new(); contenders.len()];
        let object = self.cache.join(format!("versions-{}.o", std::process::id()));
        for round in 0..self.rounds.clamp(1, 5) {
            for k in 0..contenders.len() {
                let k = (k + round) % contenders.len();
                let mut command = self.remc("compile", s, &contenders[k]);
                command.args(["--emit", "object", "--output"]).arg(&object);
                let start = Instant::now();
                process::said(&mut command)?;
                times[k].push(start.elapsed());
            }
        }
        // Nobody wants it.
        let _ = std::fs::remove_file(object);
        let mut times = times.into_iter();
        let all = times.next().unwrap_or_default();
        Ok(Whole { program: s.program, all, alone: s.versions.iter().copied().zip(times).collect() })
    }

    fn remc(&self, what: &str, s: &Subject, thresholds: &[&str]) -> Command {
        let mut command = Command::new(&self.remc);
        command.env("REMC_CACHE", "off").arg(what).arg(places::program(s.program)).args(["--entry", "main"]);
        thresholds.iter().for_each(|t| {
            command.args(["--threshold", t]);
        });
        command
    }
}

impl Times {
    fn push(&mut self, (compile, run): (Duration, Duration)) {
        self.compile.push(compile);
        self.run.push(run);
    }
}

/// The thresholds of each contender: none first, which leaves the choice to the sizes.
fn contenders(s: &Subject) -> Vec<Vec<&'static str>> {
    std::iter::once(Vec::new()).chain(s.versions.iter().map(|v| v.thresholds.to_vec())).collect()
}

/// Who is timed again after the first round: who is to be judged, and the versions that are not far behind.
fn order(count: usize, first: &[(Duration, Duration)]) -> Vec<usize> {
    let best = first.iter().map(|(_, run)| *run).min().unwrap_or_default();
    (0..count).filter(|k| *k == 0 || first[*k].1 <= best * FAR_BEHIND).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_contender_stays_and_the_slow_leave() {
        let ms = |n| (Duration::ZERO, Duration::from_millis(n));
        assert_eq!(order(4, &[ms(900), ms(100), ms(200), ms(201)]), [0, 1, 2]);
        assert_eq!(order(2, &[ms(1), ms(1)]), [0, 1]);
    }
}
