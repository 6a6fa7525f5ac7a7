//! The tuner: which version of a program runs from which size on, by measurement.
//!
//! | module | what it holds |
//! | --- | --- |
//! | [`choices`] | Flat → the choices between its versions, and inside which others each stands |
//! | [`clock`] | settings compared by time: in turn, until the difference or its absence is sure |
//! | [`search`] | the values of thresholds, choice by choice, from the inside out |
//! | [`schedules`] | the numbers of operators' schedules, operator by operator |
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

/// A program and its data sets, on a device.
pub trait Subject {
    /// How many data sets there are.
    fn sets(&self) -> usize;

    /// Runs the program on a data set, under a setting.
    ///
    /// # Errors
    /// Why it has no result: it has stopped, or there is not enough memory.
    fn run(&mut self, set: usize, setting: &[i64]) -> Result<Run, String>;

    /// Whether whoever waits has seen enough: the time is up, or it was interrupted.
    fn is_over(&self) -> bool;

    /// Is told what is tried, and on which data set.
    fn trying(&mut self, _what: &str, _set: usize) {}

    /// What an earlier search has measured.
    fn recall(&mut self, _asked: &Asked<'_>) -> Option<Ways> {
        None
    }

    /// Keeps what was measured, for another search.
    fn keep(&mut self, _asked: &Asked<'_>, _ways: &Ways) {}
}
