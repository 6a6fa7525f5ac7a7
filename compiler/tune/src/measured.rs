//! What was measured for an entry, as data: the summary on the terminal, the file, what `remc tuning` says of it and the
//! report are all made from this.
//!
//! A *number* is what is tuned: a threshold that sizes are compared with, or a field of a schedule. Of each data set there
//! is the time under some of its values. For a threshold these are the sizes that were compared with it, each of which
//! tells apart what is below it, and one more than the largest, which none reaches:
//!
//! ```text
//! sizes = [100, 4000]    at 100: all reach it    at 4000: the larger one does    at 4001: none does
//! ```

use crate::choices::Choices;
use crate::clock::{Ratio, Timed};
use crate::search::{Found, NEAR, Ways};

/// Everything that was measured for an entry on a device.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Measured {
    /// On what, for people: the processor, or the GPU.
    pub machine: String,
    /// How many threads the cpu device had; 0 of another device.
    pub threads: usize,
    /// The day, as `2026-11-26`.
    pub date: String,
    pub data: Vec<Data>,
    pub numbers: Vec<Number>,
    /// What was found was slower on a data set in the last run, so that the defaults stay.
    pub given_up: bool,
    /// The search ended before everything was looked at.
    pub cut_short: bool,
}

/// Seconds, or why there is no result.
pub type Time = Result<f64, String>;

/// A data set.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Data {
    pub name: String,
    /// A hash of its arguments.
    pub contents: String,
    /// With the defaults and with what was found, measured in turn at the end; `None` if that was not come to.
    pub last: Option<Last>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Last {
    pub defaults: Time,
    pub tuned: Time,
    /// The second in terms of the first, where both are.
    pub ratio: Option<Ratio>,
}

/// A number that was looked at.
#[derive(Clone, PartialEq, Debug)]
pub struct Number {
    pub name: String,
    pub default: i64,
    pub chosen: i64,
    /// The least and the greatest value that it can have.
    pub range: (i64, i64),
    pub on: Vec<On>,
}

/// What was measured of a number on one data set.
#[derive(Clone, PartialEq, Debug)]
pub struct On {
    /// Which data set.
    pub data: usize,
    /// How many sizes were compared with it.
    pub count: usize,
    /// These, in order, or of many the least, those that were tried, those beside the chosen value, and the greatest. None of
    /// a field of a schedule.
    pub sizes: Vec<i64>,
    /// By the value, in order.
    pub tried: Vec<Tried>,
}

/// A value that was tried.
#[derive(Clone, PartialEq, Debug)]
pub struct Tried {
    pub at: i64,
    pub time: Time,
    /// The time in terms of the fastest; infinite without one.
    pub times: f64,
}

/// The values that a threshold can have.
pub const THRESHOLD: (i64, i64) = (0, i64::MAX);

/// How many sizes are listed.
const LISTED: usize = 8;

impl Measured {
    /// What a search found, on data sets that are called so and have these contents.
    pub fn of(choices: &Choices, found: &Found, data: &[(String, String)]) -> Measured {
        let number = |e: &crate::search::Evidence| {
            let (name, default) = &choices.thresholds[e.threshold];
            let chosen = found.setting[e.threshold];
            let on = e.sets.iter().map(|w| on(w, chosen)).collect();
            Number { name: name.to_string(), default: *default, chosen, range: THRESHOLD, on }
        };
        let last = |[defaults, tuned]: &[Timed; 2]| Last {
            defaults: time(defaults),
            tuned: time(tuned),
            ratio: match (defaults, tuned) {
                (Timed::Time { .. }, Timed::Time { ratio, .. }) => Some(*ratio),
                _ => None,
            },
        };
        let mut numbers: Vec<Number> = found.evidence.iter().map(number).collect();
        numbers.sort_by(|a, b| a.name.cmp(&b.name));
        let data = data.iter().enumerate().map(|(k, (name, contents))| Data {
            name: name.clone(),
            contents: contents.clone(),
            last: found.last.get(k).map(last),
        });
        Measured {
            data: data.collect(),
            numbers,
            given_up: found.given_up,
            cut_short: found.cut_short,
            ..Measured::default()
        }
    }

    /// With what a search for schedules found after it: its last run is the one that counts.
    #[must_use]
    pub fn with(mut self, found: crate::schedules::Found) -> Measured {
        self.numbers.extend(found.evidence);
        self.numbers.sort_by(|a, b| a.name.cmp(&b.name));
        for (data, last) in self.data.iter_mut().zip(found.last) {
            data.last = Some(last);
        }
        self.given_up |= found.given_up;
        self.cut_short |= found.cut_short;
        self
    }

    /// The machine and its threads.
    pub fn on(&self) -> String {
        match self.threads {
            0 => self.machine.clone(),
            1 => format!("{}, one thread", self.machine),
            n => format!("{}, {n} threads", self.machine),
        }
    }

    /// What a data set is called.
    pub fn label(&self, on: &On) -> &str {
        self.data.get(on.data).map_or("", |d| d.name.as_str())
    }
}

fn time(t: &Timed) -> Time {
    match t {
        Timed::Time { seconds, .. } => Ok(*seconds),
        Timed::Failed(why) => Err(why.clone()),
    }
}

fn on(w: &Ways, chosen: i64) -> On {
    let at = |way: usize| {
        let greatest = w.sizes.last().copied().unwrap_or_default();
        w.sizes.get(way).copied().unwrap_or(greatest.saturating_add(1))
    };
    let tried = w.timed.iter().map(|(way, times)| {
        let failed = || w.failed.get(way).cloned().unwrap_or_else(|| "there was no time for it".into());
        Tried { at: at(*way), time: w.seconds.get(way).copied().ok_or_else(failed), times: *times }
    });
    let tried: Vec<Tried> = tried.collect();
    let count = w.sizes.len();
    let cut = w.sizes.partition_point(|s| *s < chosen);
    let beside = [cut.checked_sub(1).and_then(|k| w.sizes.get(k)), w.sizes.get(cut)];
    let ends = [w.sizes.first(), w.sizes.last(), beside[0], beside[1]];
    let listed = |s: &i64| count <= LISTED || ends.contains(&Some(s)) || tried.iter().any(|t| t.at == *s);
    let sizes = w.sizes.iter().copied().filter(listed).collect();
    On { data: w.set, count, sizes, tried }
}

impl On {
    /// What was measured for a value, or for that which is nearest of those that were tried.
    pub fn under(&self, value: i64) -> Option<&Tried> {
        if self.sizes.is_empty() {
            return self.tried.iter().min_by_key(|t| t.at.abs_diff(value));
        }
        // Of a threshold all values up to the next size do the same.
        self.tried.iter().find(|t| t.at >= value).or(self.tried.last())
    }

    /// The time under a value in terms of the fastest.
    pub fn loss(&self, value: i64) -> f64 {
        self.under(value).map_or(1.0, |t| t.times)
    }

    pub fn fastest(&self) -> Option<&Tried> {
        self.tried.iter().min_by(|a, b| a.times.total_cmp(&b.times))
    }
}

impl Number {
    /// Whether it is a threshold, which sizes are compared with.
    pub fn is_threshold(&self) -> bool {
        self.range == THRESHOLD
    }

    /// Between which sizes the chosen value lies: the largest below it, and the smallest that reaches it.
    pub fn between(&self) -> (Option<i64>, Option<i64>) {
        let sizes = || self.on.iter().flat_map(|o| o.sizes.iter().copied());
        (sizes().filter(|s| *s < self.chosen).max(), sizes().filter(|s| *s >= self.chosen).min())
    }

    /// What no longer is as fast as it could be under a value, and by how much.
    pub fn losing(&self, value: i64) -> impl Iterator<Item = (&On, f64)> {
        self.on.iter().map(move |o| (o, o.loss(value))).filter(|(_, loss)| *loss > NEAR)
    }
}
