//! The one list of stages, and how long each took.
//!
//! `--timings`, `--dump-dir`, `--stop-after-pass`, `remc opt` and the tests all read [`stages`]; a pass
//! that is not in the list does not exist. The passes from Mono to Mono are [`remc_mono::opt::PASSES`],
//! which may run in several rounds.

use remc_base::pass::PassInfo;
use remc_mono::opt::PASSES;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A stage of the pipeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    Parse,
    Check,
    Explicitize,
    Build,
    /// A pass from Mono to Mono, by its place in [`PASSES`].
    Optimise(usize),
    /// Of programs with streams alone; the passes before [`remc_mono::opt::segment`] run again behind it.
    Stream,
    Flatten,
    Lower,
    Codegen,
    /// After every pass: no pass is trusted.
    Verify,
    Interp,
    /// Compiled code runs.
    Execute,
}

// The reader recovers from errors, so checking runs on what could be read.
const PARSE: PassInfo =
    PassInfo { name: "parse", from: "text", to: "ast", summary: "reads text into syntax trees" };
const CHECK: PassInfo = PassInfo {
    name: "check",
    from: "ast",
    to: "typed",
    summary: "infers types, ranks and shapes; elaborates every instance and frame",
};
const VERIFY: PassInfo = PassInfo {
    name: "verify",
    from: "each",
    to: "each",
    summary: "re-checks what each pass makes, independently of the pass",
};
const INTERP: PassInfo = PassInfo {
    name: "interp",
    from: "typed",
    to: "value",
    summary: "evaluates the program with the reference interpreter",
};
const CODEGEN: PassInfo = PassInfo {
    name: "codegen",
    from: "kernel",
    to: "object",
    summary: "makes machine code for this processor, through LLVM",
};
const EXECUTE: PassInfo =
    PassInfo { name: "run", from: "object", to: "value", summary: "runs the compiled program" };

/// The stages in the order in which a program passes through them; then those beside it.
pub fn stages() -> Vec<Stage> {
    let mut all = vec![Stage::Parse, Stage::Check, Stage::Explicitize, Stage::Build];
    all.extend((0..PASSES.len()).map(Stage::Optimise));
    all.push(Stage::Stream);
    all.extend([Stage::Flatten, Stage::Lower, Stage::Codegen, Stage::Execute, Stage::Verify, Stage::Interp]);
    all
}

impl Stage {
    pub fn info(self) -> &'static PassInfo {
        match self {
            Stage::Parse => &PARSE,
            Stage::Check => &CHECK,
            Stage::Explicitize => &remc_explicit::lower::PASS,
            Stage::Build => &remc_mono::build::PASS,
            Stage::Optimise(k) => &PASSES[k].info,
            Stage::Stream => &remc_mono::stream::PASS,
            Stage::Flatten => &remc_flat::flatten::PASS,
            Stage::Lower => &remc_kernel::lower::PASS,
            Stage::Codegen => &CODEGEN,
            Stage::Verify => &VERIFY,
            Stage::Interp => &INTERP,
            Stage::Execute => &EXECUTE,
        }
    }

    /// Where its time is counted.
    fn slot(self) -> usize {
        match self {
            Stage::Parse => 0,
            Stage::Check => 1,
            Stage::Explicitize => 2,
            Stage::Build => 3,
            Stage::Flatten => 4,
            Stage::Lower => 5,
            Stage::Codegen => 6,
            Stage::Verify => 7,
            Stage::Interp => 8,
            Stage::Execute => 9,
            Stage::Stream => 10,
            Stage::Optimise(k) => 11 + k,
        }
    }
}

const SLOTS: usize = 11 + PASSES.len();

/// Time spent in each stage. Stages nest (checking a definition asks for the types of others, whose
/// files may not be parsed yet); time counts for the innermost alone.
#[derive(Clone, Default)]
pub struct Timings(Arc<Mutex<Clock>>);

struct Clock {
    total: [Duration; SLOTS],
    count: [usize; SLOTS],
    running: Vec<Stage>,
    since: Option<Instant>,
}

impl Default for Clock {
    fn default() -> Self {
        Clock { total: [Duration::ZERO; SLOTS], count: [0; SLOTS], running: Vec::new(), since: None }
    }
}

/// Counts towards its stage until it is dropped.
pub struct Running<'a>(&'a Timings);

impl Timings {
    pub fn enter(&self, stage: Stage) -> Running<'_> {
        let mut clock = lock(&self.0);
        clock.lap();
        clock.running.push(stage);
        clock.count[stage.slot()] += 1;
        Running(self)
    }

    /// The stage that was entered last and has not ended; after a panic, where it happened.
    pub fn current(&self) -> Option<Stage> {
        lock(&self.0).running.last().copied()
    }

    /// Nothing runs: what had been entered was cancelled, or ended in a panic that has been reported.
    pub fn abandon(&self) {
        let mut clock = lock(&self.0);
        clock.lap();
        clock.running.clear();
    }

    /// Per stage that ran: how often, and how long in all.
    pub fn report(&self) -> Vec<(Stage, usize, Duration)> {
        let clock = lock(&self.0);
        stages()
            .into_iter()
            .map(|s| (s, clock.count[s.slot()], clock.total[s.slot()]))
            .filter(|(_, count, _)| *count > 0)
            .collect()
    }
}

impl Clock {
    fn lap(&mut self) {
        let now = Instant::now();
        if let (Some(stage), Some(since)) = (self.running.last(), self.since) {
            self.total[stage.slot()] += now - since;
        }
        self.since = Some(now);
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // While unwinding the stage stays on the stack, so that the report can name it.
        if !std::thread::panicking() {
            let mut clock = lock(&self.0.0);
            clock.lap();
            clock.running.pop();
        }
    }
}

/// A lock whose holder cannot leave its data half changed, so poisoning does not matter.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|e| e.into_inner())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_stage_reads_what_the_one_before_writes() {
        let all: Vec<Stage> =
            stages().into_iter().filter(|s| !matches!(s, Stage::Verify | Stage::Interp)).collect();
        for pair in all.windows(2) {
            assert_eq!(pair[0].info().to, pair[1].info().from, "{:?}", pair);
        }
    }

    #[test]
    fn each_stage_has_a_slot_and_a_name_of_its_own() {
        let mut slots: Vec<usize> = stages().iter().map(|s| s.slot()).collect();
        slots.sort();
        assert_eq!(slots, (0..SLOTS).collect::<Vec<_>>());
        let mut names: Vec<&str> = stages().iter().map(|s| s.info().name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), SLOTS);
    }

    #[test]
    fn nested_time_counts_once() {
        let t = Timings::default();
        {
            let _check = t.enter(Stage::Check);
            let _parse = t.enter(Stage::Parse);
            std::thread::sleep(Duration::from_millis(20));
            assert_eq!(t.current(), Some(Stage::Parse));
        }
        assert_eq!(t.current(), None);
        let report = t.report();
        let of = |s| report.iter().find(|r| r.0 == s).unwrap().2;
        assert!(of(Stage::Parse) >= Duration::from_millis(20));
        assert!(of(Stage::Check) < Duration::from_millis(20));
    }
}
