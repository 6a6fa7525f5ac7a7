//! The tuner: which version of a program runs from which size on, by measurement.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`choices`] | Flat → the choices between its versions, and inside which others each stands |
//! | [`clock`] | settings compared by time: in turn, until the difference or its absence is sure |
//! | [`search`] | the values of thresholds, choice by choice, from the inside out |
//! | [`schedules`] | the numbers of operators' schedules, operator by operator, and up to four settings of one by a size |
//! | [`kept`] | measurements of a search that ended early, for the next |
//! | [`measured`] | what was measured, as data |
//! | [`summary`], [`explain`], [`report`] | … in short, in sentences, and as a page with charts |
//! | [`file`] | `PROGRAM.tuning`: what a search found, as text that a person reads |
//!
//! What runs a program is not known here: a [`Subject`] does, on one of its data sets, with some values of thresholds,
//! and says how long that took and which sizes were compared. So tests give one whose clock they know.
//!
//! A threshold is an `i64` that sizes are compared with; a *setting* is a value for each threshold of the program, in the
//! order of [`choices::Choices::thresholds`]. Times are in seconds.

pub mod choices;
pub mod clock;
pub mod explain;
pub mod file;
pub mod kept;
pub mod measured;
pub mod report;
pub mod schedules;
pub mod search;
pub mod summary;
pub mod words;

use search::{Asked, Ways};

/// One run of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Run {
    pub seconds: f64,
    /// Which thresholds, by their numbers, were compared with which sizes.
    pub tested: Vec<(usize, i64)>,
}

/// How long a first run may take. A version that has never run may take minutes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Patience {
    pub seconds: Option<f64>,
    /// Not ended, either, because the search is over: it is of what is measured last.
    pub to_the_end: bool,
}

/// Why a first run has no result.
#[derive(Clone, PartialEq, Debug)]
pub enum Ended {
    /// The program has stopped, or there is not enough memory.
    Failed(String),
    /// It took too long.
    Slow,
    /// The search is over.
    Over,
}

/// A program and its data sets, on a device.
pub trait Subject {
    /// How many data sets there are.
    fn sets(&self) -> usize;

    /// Runs the program on a data set, under a setting.
    ///
    /// # Errors
    /// Why it has no result: it has stopped, or there is not enough memory.
    fn run(&mut self, set: usize, setting: &[i64]) -> Result<Run, String>;

    /// Runs it for the first time, and ends that where patience does, as far as the device can.
    ///
    /// # Errors
    /// Why it has no result.
    fn probe(&mut self, set: usize, setting: &[i64], _patience: Patience) -> Result<Run, Ended> {
        self.run(set, setting).map_err(Ended::Failed)
    }

    /// Whether whoever waits has seen enough: the time is up, or it was interrupted.
    fn is_over(&self) -> bool;

    /// Is told what is tried, and on which data set.
    fn trying(&mut self, _what: &str, _set: usize) {}

    /// Is told what could not be measured on a data set, and why.
    fn excluded(&mut self, _what: &str, _set: usize, _why: &str) {}

    /// What an earlier search has measured.
    fn recall(&mut self, _asked: &Asked<'_>) -> Option<Ways> {
        None
    }

    /// Keeps what was measured, for another search.
    fn keep(&mut self, _asked: &Asked<'_>, _ways: &Ways) {}
}
