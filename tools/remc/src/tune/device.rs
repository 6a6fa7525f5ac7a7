//! The cpu device, as the tuner drives it: data sets that stay in its memory, and a plan that asks for thresholds.

use super::kept::Store;
use super::outcome;
use super::sets::Set;
use crate::boundary;
use crate::codes;
use crate::cpu;
use crate::progress::Progress;
use crate::report::{Failure, Outcome, fail, on_terminal, to_stderr, usage};
use remc_driver::{InternalBug, Session};
use remc_kernel::ir::Program;
use remc_runtime::cpu::{Cpu, Limit};
use remc_tune::choices::Choices;
use remc_tune::search::{Asked, Ways};
use remc_tune::{Ended, Patience, Run, Subject};
use std::time::{Duration, Instant};

/// A program and its data sets on the cpu device.
pub struct Device<'s> {
    session: &'s Session,
    code: cpu::Code,
    cpu: Cpu,
    bound: Vec<cpu::Bound>,
    labels: Vec<String>,
    /// The number that the plan has for each threshold of the choices; `None` where it does not ask.
    numbers: Vec<Option<usize>>,
    until: Instant,
    shown: Option<Progress>,
    /// What is measured, for another search.
    pub kept: Option<Store>,
}

/// The ranks of an entry's shape variables, which all data sets have to agree on: there is one code for all.
pub fn ranks(sets: &[Set]) -> Outcome<Vec<usize>> {
    let ranks = |s: &Set| boundary::ranks(&s.indices);
    let first = sets.first().map(ranks).unwrap_or_default();
    match sets.iter().find(|s| ranks(s) != first) {
        None => Ok(first),
        Some(other) => {
            let labels = (&sets[0].label, &other.label);
            let d = usage(
                codes::TUNE,
                format!("the data sets `{}` and `{}` have different numbers of axes", labels.0, labels.1),
            );
            fail(d.help("tune each number of axes in a run of its own: the code is another one"))
        }
    }
}

impl<'s> Device<'s> {
    pub fn new(
        session: &'s Session,
        kernel: Program,
        choices: &Choices,
        sets: Vec<Set>,
        (threads, memory): (Option<u16>, Option<u64>),
        until: Instant,
    ) -> Outcome<Device<'s>> {
        let code = cpu::load(session, kernel)?;
        let cpu = cpu::device(threads, memory);
        let known = cpu::thresholds(&code);
        let numbers =
            choices.thresholds.iter().map(|(n, _)| known.iter().position(|(k, _)| k == n)).collect();
        let (mut bound, mut labels) = (Vec::new(), Vec::new());
        for set in sets {
            match cpu::bind(session, &code, &cpu, &set.indices, set.arguments)? {
                Ok(b) => bound.push(b),
                Err(e) => {
                    let d = usage(
                        codes::INPUT_TOO_LARGE,
                        format!("there is no memory for the data set `{}`: {}", set.label, e.message),
                    );
                    return fail(
                        d.help("all data sets are in memory at the same time: give fewer, or smaller ones"),
                    );
                }
            }
            labels.push(set.label);
        }
        Ok(Device { session, code, cpu, bound, labels, numbers, until, shown: None, kept: None })
    }

    /// The device, the data sets in its memory, and what is measured, for another search.
    pub fn apart(self) -> (Cpu, Vec<cpu::Bound>, Option<Store>) {
        (self.cpu, self.bound, self.kept)
    }

    /// How many threads the device has.
    pub fn threads(&self) -> usize {
        self.cpu.workers()
    }
}

impl Subject for Device<'_> {
    fn sets(&self) -> usize {
        self.bound.len()
    }

    fn run(&mut self, set: usize, setting: &[i64]) -> Result<Run, String> {
        match self.within(set, setting, None) {
            Ok(run) => Ok(run),
            Err(Ended::Failed(why)) => Err(why),
            Err(Ended::Slow | Ended::Over) => Err("it was ended".into()),
        }
    }

    fn probe(&mut self, set: usize, setting: &[i64], patience: Patience) -> Result<Run, Ended> {
        let Patience { seconds, to_the_end } = patience;
        let time = seconds.and_then(|s| Duration::try_from_secs_f64(s).ok()).unwrap_or(Duration::MAX);
        let left = self.until.saturating_duration_since(Instant::now());
        let limit = match to_the_end {
            true => Limit { time, ended: None },
            false => Limit { time: time.min(left), ended: Some(outcome::interruption()) },
        };
        match self.within(set, setting, Some(limit)) {
            Err(Ended::Slow) if !to_the_end && self.is_over() => Err(Ended::Over),
            other => other,
        }
    }

    fn excluded(&mut self, what: &str, set: usize, why: &str) {
        self.shown = None;
        let label = self.labels.get(set).map(String::as_str).unwrap_or_default();
        to_stderr(&format!("  {what} on `{label}` is not measured: no version has a result; {why}\n"));
    }

    fn is_over(&self) -> bool {
        Instant::now() >= self.until || outcome::is_interrupted()
    }

    fn recall(&mut self, asked: &Asked<'_>) -> Option<Ways> {
        self.kept.as_ref()?.get(asked)
    }

    fn keep(&mut self, asked: &Asked<'_>, ways: &Ways) {
        if let Some(kept) = &mut self.kept {
            kept.put(asked, ways);
        }
    }

    fn trying(&mut self, what: &str, set: usize) {
        let label = self.labels.get(set).map(String::as_str).unwrap_or_default();
        let what = format!("{what} on `{label}`");
        self.shown = None;
        if on_terminal() {
            self.shown = Some(Progress::of_tuning(what, self.until));
        } else {
            to_stderr(&format!("  {what}\n"));
        }
    }
}

impl Device<'_> {
    /// Runs the program, and ends that by a limit; then it was slow.
    fn within(&self, set: usize, setting: &[i64], limit: Option<Limit<'_>>) -> Result<Run, Ended> {
        let mut values: Vec<i64> = cpu::thresholds(&self.code).iter().map(|(_, value)| *value).collect();
        for (number, value) in self.numbers.iter().zip(setting) {
            if let Some(place) = number.and_then(|n| values.get_mut(n)) {
                *place = *value;
            }
        }
        let how = (Some(values.as_slice()), limit);
        let finished = cpu::within(self.session, &self.code, &self.cpu, &self.bound[set], how);
        match finished {
            Ok(Ok(finished)) => {
                let number = |n: u32| self.numbers.iter().position(|k| *k == Some(n as usize));
                let tested = finished.stats.tested.iter().filter_map(|(n, size)| Some((number(*n)?, *size)));
                Ok(Run { seconds: finished.stats.time.as_secs_f64(), tested: tested.collect() })
            }
            Ok(Err(cpu::Ended::Over)) => Err(Ended::Slow),
            Ok(Err(cpu::Ended::Stopped(e))) => Err(Ended::Failed(e.message)),
            Err(Failure::Bug(InternalBug { message, .. })) => Err(Ended::Failed(message)),
            Err(_) => Err(Ended::Failed("it could not be run".into())),
        }
    }
}
