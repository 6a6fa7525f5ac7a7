//! The one list of stages, and how long each took.
//!
//! `--timings`, `--dump-dir`, `remc opt --list` and the tests all read [`STAGES`]; a pass that is not
//! in the list does not exist.

use crate::database::lock;
use remc_base::pass::PassInfo;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A stage of the pipeline, as an index into [`STAGES`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    Parse,
    Check,
    Verify,
    Run,
}

/// The stages in the order in which a program passes through them.
pub const STAGES: &[(Stage, PassInfo)] = &[
    // The reader recovers from errors, so checking runs on what could be read.
    (
        Stage::Parse,
        PassInfo { name: "parse", from: "text", to: "ast", summary: "reads text into syntax trees" },
    ),
    (
        Stage::Check,
        PassInfo {
            name: "check",
            from: "ast",
            to: "typed",
            summary: "infers types, ranks and shapes; elaborates every instance and frame",
        },
    ),
    // After every pass that writes Typed: inference is not trusted.
    (
        Stage::Verify,
        PassInfo {
            name: "verify",
            from: "typed",
            to: "typed",
            summary: "re-checks the elaborated program, independently of inference",
        },
    ),
    (
        Stage::Run,
        PassInfo {
            name: "interp",
            from: "typed",
            to: "value",
            summary: "evaluates the program with the reference interpreter",
        },
    ),
];

impl Stage {
    pub fn info(self) -> &'static PassInfo {
        &STAGES[self as usize].1
    }
}

/// Time spent in each stage. Stages nest (checking a definition asks for the types of others, whose
/// files may not be parsed yet); time counts for the innermost alone.
#[derive(Clone, Default)]
pub struct Timings(Arc<Mutex<Clock>>);

#[derive(Default)]
struct Clock {
    total: [Duration; STAGES.len()],
    count: [usize; STAGES.len()],
    running: Vec<Stage>,
    since: Option<Instant>,
}

/// Counts towards its stage until it is dropped.
pub struct Running<'a>(&'a Timings);

impl Timings {
    pub fn enter(&self, stage: Stage) -> Running<'_> {
        let mut clock = lock(&self.0);
        clock.lap();
        clock.running.push(stage);
        clock.count[stage as usize] += 1;
        Running(self)
    }

    /// The stage that was entered last and has not ended; after a panic, where it happened.
    pub fn current(&self) -> Option<Stage> {
        lock(&self.0).running.last().copied()
    }

    /// Per stage that ran: how often, and how long in all.
    pub fn report(&self) -> Vec<(Stage, usize, Duration)> {
        let clock = lock(&self.0);
        STAGES
            .iter()
            .map(|(s, _)| (*s, clock.count[*s as usize], clock.total[*s as usize]))
            .filter(|(_, count, _)| *count > 0)
            .collect()
    }
}

impl Clock {
    fn lap(&mut self) {
        let now = Instant::now();
        if let (Some(stage), Some(since)) = (self.running.last(), self.since) {
            self.total[*stage as usize] += now - since;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_the_order_of_the_enumeration() {
        for (i, (stage, _)) in STAGES.iter().enumerate() {
            assert_eq!(*stage as usize, i);
        }
        for pair in STAGES.windows(2) {
            assert_eq!(pair[0].1.to, pair[1].1.from, "each stage reads what the one before writes");
        }
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
