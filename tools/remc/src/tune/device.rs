//! A device, as the tuner drives it: data sets that stay in its memory, and a plan that asks for thresholds.
//!
//! | device | is |
//! | --- | --- |
//! | [`OnCpu`] | compiled code, on the threads of the cpu device |
//! | `super::plans` | kernels that a plan launches: on a GPU, or interpreted, with a count of their cost for a clock |

use super::kept::Store;
use super::outcome;
use super::sets::Set;
use crate::boundary;
use crate::codes;
use crate::cpu;
use crate::machine;
use crate::progress::Progress;
use crate::report::{Failure, Outcome, fail, on_terminal, to_stderr, usage};
use remc_base::{IndexValue, Name, Value};
use remc_driver::compile::Tuning;
use remc_driver::{InternalBug, Session};
use remc_interp::RuntimeError;
use remc_kernel::ir::Program;
use remc_runtime::cpu::{Cpu, Limit};
use remc_tune::choices::Choices;
use remc_tune::schedules::Spent;
use remc_tune::search::{Asked, Ways};
use remc_tune::{Ended, Patience, Run, Subject};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// What runs programs.
pub trait Runs {
    type Code;
    /// The arguments of a program, in the device's memory.
    type Bound;

    /// What it is called.
    fn machine(&self) -> String;

    /// How many threads, or multiprocessors, work at the same time.
    fn workers(&self) -> usize;

    /// The bytes a second that go through its memory, if that is known.
    fn bandwidth(&self) -> Option<f64>;

    /// What programs are compiled for.
    fn tuning(&self) -> Tuning;

    /// Compiles a program, for the cache too if it is `kept`.
    fn load(&self, session: &Session, program: Arc<Program>, kept: bool) -> Outcome<Self::Code>;

    fn bind(
        &self,
        session: &Session,
        code: &Self::Code,
        indices: &[IndexValue],
        arguments: Vec<Value>,
    ) -> Outcome<Result<Self::Bound, RuntimeError>>;

    /// Runs a program once, and no longer than a limit says.
    fn once(
        &self,
        session: &Session,
        code: &Self::Code,
        bound: &Self::Bound,
        how: How<'_>,
    ) -> Outcome<Result<Once, cpu::Ended>>;
}

/// What is wanted of a run.
#[derive(Clone, Copy)]
pub struct How<'a> {
    /// Values of thresholds in place of the program's own, if it is to say which sizes are compared with them; else what
    /// each operator takes is wanted.
    pub under: Option<&'a FxHashMap<Name, i64>>,
    pub limit: Option<Limit<'a>>,
}

/// A run.
#[derive(Default)]
pub struct Once {
    pub seconds: f64,
    /// Which thresholds were compared with which sizes, in this order.
    pub tested: Vec<(Name, i64)>,
    /// By operator.
    pub of: BTreeMap<String, Spent>,
}

impl Once {
    /// Adds what a kernel of an operator took.
    pub fn add(&mut self, site: &str, more: Spent) {
        if site.is_empty() || more.launches == 0 {
            return;
        }
        let of: &mut Spent = self.of.entry(site.to_owned()).or_default();
        of.seconds += more.seconds;
        of.launches += more.launches;
        of.blocks += more.blocks;
        of.bytes += more.bytes;
    }
}

/// The cpu device.
pub struct OnCpu(Cpu);

impl OnCpu {
    pub fn new(threads: Option<u16>, memory: Option<u64>) -> OnCpu {
        OnCpu(cpu::device(threads, memory))
    }
}

impl Runs for OnCpu {
    type Code = cpu::Code;
    type Bound = cpu::Bound;

    fn machine(&self) -> String {
        machine::processor()
    }

    fn workers(&self) -> usize {
        self.0.workers()
    }

    fn bandwidth(&self) -> Option<f64> {
        Some(machine::bandwidth(self.workers()))
    }

    fn tuning(&self) -> Tuning {
        machine::tuning()
    }

    fn load(&self, session: &Session, program: Arc<Program>, kept: bool) -> Outcome<cpu::Code> {
        if kept { cpu::load(session, program) } else { cpu::fresh(session, program) }
    }

    fn bind(
        &self,
        session: &Session,
        code: &cpu::Code,
        indices: &[IndexValue],
        arguments: Vec<Value>,
    ) -> Outcome<Result<cpu::Bound, RuntimeError>> {
        cpu::bind(session, code, &self.0, indices, arguments, boundary::Streaming::default())
    }

    fn once(
        &self,
        session: &Session,
        code: &cpu::Code,
        bound: &cpu::Bound,
        how: How<'_>,
    ) -> Outcome<Result<Once, cpu::Ended>> {
        let known = cpu::thresholds(code);
        let value = |given: &FxHashMap<Name, i64>| -> Vec<i64> {
            known.iter().map(|(name, value)| given.get(name).copied().unwrap_or(*value)).collect()
        };
        let values = how.under.map(value);
        let finished = match cpu::within(session, code, &self.0, bound, (values.as_deref(), how.limit))? {
            Ok(finished) => finished,
            Err(ended) => return Ok(Err(ended)),
        };
        let stats = &finished.stats;
        let name = |n: u32| known.get(n as usize).map(|(name, _)| name.clone());
        let tested = stats.tested.iter().filter_map(|(n, size)| Some((name(*n)?, *size)));
        let mut once =
            Once { seconds: stats.time.as_secs_f64(), tested: tested.collect(), ..Once::default() };
        for (site, k) in cpu::operators(code).zip(&stats.kernels) {
            let (launches, blocks, bytes) = (k.launches, k.blocks, k.bytes);
            once.add(site, Spent { seconds: k.time.as_secs_f64(), launches, blocks, bytes });
        }
        Ok(Ok(once))
    }
}

/// A program and its data sets on a device.
pub struct Device<'s, D: Runs> {
    session: &'s Session,
    device: &'s D,
    code: D::Code,
    bound: Vec<D::Bound>,
    labels: Vec<String>,
    /// The thresholds of the choices.
    thresholds: Vec<Name>,
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

/// Why a run has no result.
pub fn why<T>(outcome: Outcome<T>) -> Result<T, String> {
    outcome.map_err(|f| match f {
        Failure::Bug(InternalBug { message, .. }) => message,
        Failure::Usage(d) => d.message,
        _ => "it could not be run".into(),
    })
}

impl<'s, D: Runs> Device<'s, D> {
    pub fn new(
        session: &'s Session,
        device: &'s D,
        kernel: Arc<Program>,
        choices: &Choices,
        sets: Vec<Set>,
        until: Instant,
    ) -> Outcome<Device<'s, D>> {
        let code = device.load(session, kernel, true)?;
        let thresholds = choices.thresholds.iter().map(|(name, _)| name.clone()).collect();
        let (mut bound, mut labels) = (Vec::new(), Vec::new());
        for set in sets {
            match device.bind(session, &code, &set.indices, set.arguments)? {
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
        Ok(Device { session, device, code, bound, labels, thresholds, until, shown: None, kept: None })
    }

    /// The data sets in the device's memory, and what is measured, for another search.
    pub fn apart(self) -> (Vec<D::Bound>, Option<Store>) {
        (self.bound, self.kept)
    }
}

impl<D: Runs> Subject for Device<'_, D> {
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

impl<D: Runs> Device<'_, D> {
    /// Runs the program, and ends that by a limit; then it was slow.
    fn within(&self, set: usize, setting: &[i64], limit: Option<Limit<'_>>) -> Result<Run, Ended> {
        let given = self.thresholds.iter().cloned().zip(setting.iter().copied()).collect();
        let how = How { under: Some(&given), limit };
        let once = self.device.once(self.session, &self.code, &self.bound[set], how);
        let once = why(once).map_err(Ended::Failed)?.map_err(|ended| match ended {
            cpu::Ended::Over => Ended::Slow,
            cpu::Ended::Stopped(e) => Ended::Failed(e.message),
        })?;
        let number = |name: &Name| self.thresholds.iter().position(|t| t == name);
        let tested = once.tested.iter().filter_map(|(name, size)| Some((number(name)?, *size)));
        Ok(Run { seconds: once.seconds, tested: tested.collect() })
    }
}
