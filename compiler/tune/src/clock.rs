//! Settings compared by time.
//!
//! Settings are run in turn, forwards in one round and backwards in the next, so that what slows a machine down for a
//! while slows down all of them, and what drifts cancels. What counts is each round's ratio to the incumbent, the first
//! setting: its median over the rounds, and the confidence interval of that median, which order statistics give whatever
//! the distribution is. A setting that is surely slower than another one is not run any more; the rounds end when each
//! ratio is known as well as is asked, or when their number or the time is used up.
//!
//! The first run of a setting is not counted, and is ended where it takes many times as long as the fastest that is known: a
//! version that would take minutes is excluded after a fraction of a second, not after minutes.

use crate::words::time;
use crate::{Ended, Patience, Run, Subject};

/// How sure to be, and how long that may take.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Care {
    /// The half of a confidence interval's width that is enough, as a part of the ratio.
    pub precision: f64,
    /// The fewest and the most rounds.
    pub rounds: (usize, usize),
    /// Seconds for all rounds, beyond the fewest.
    pub seconds: f64,
}

impl Care {
    pub const QUICK: Care = Care { precision: 0.02, rounds: (3, 40), seconds: 0.6 };
    pub const FULL: Care = Care { precision: 0.01, rounds: (5, 200), seconds: 3.0 };
}

/// A setting's time in terms of the incumbent's.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ratio {
    /// The median, and the ends of its confidence interval of 95 %.
    pub median: f64,
    pub low: f64,
    pub high: f64,
}

/// What is known of a setting on one data set.
#[derive(Clone, PartialEq, Debug)]
pub enum Timed {
    /// In seconds, the median; and by the incumbent's.
    Time { seconds: f64, ratio: Ratio },
    /// It has no result there, and why.
    Failed(String),
}

impl Timed {
    /// Its time by the incumbent's; infinite where it has none.
    pub fn ratio(&self) -> Ratio {
        match self {
            Timed::Time { ratio, .. } => *ratio,
            Timed::Failed(_) => Ratio { median: f64::INFINITY, low: f64::INFINITY, high: f64::INFINITY },
        }
    }
}

/// What takes so many times as long as the fastest is out of the question; however short that is, so many seconds are not.
const SLOW: f64 = 10.0;
const NOT_SLOW: f64 = 0.1;

/// The seconds that a first run may take, where the fastest run takes so many.
pub fn patience(fastest: f64) -> f64 {
    (SLOW * fastest).max(NOT_SLOW)
}

/// What is said of a first run that was ended.
pub fn too_slow(fastest: f64) -> String {
    format!("it had not ended after {}, and the fastest takes {}", time(patience(fastest)), time(fastest))
}

/// What is known of a data set before settings are compared on it.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct Known {
    /// Of all runs so far the fastest, in seconds.
    pub fastest: Option<f64>,
    /// What is measured now is measured even if the search is over.
    pub to_the_end: bool,
}

impl Known {
    /// Runs a setting for the first time: no longer than is worth while. `None`: the search is over.
    pub fn probe(
        &mut self,
        subject: &mut dyn Subject,
        set: usize,
        setting: &[i64],
    ) -> Option<Result<Run, String>> {
        let seconds = self.fastest.map(patience);
        match subject.probe(set, setting, Patience { seconds, to_the_end: self.to_the_end }) {
            Ok(run) => {
                self.fastest = Some(self.fastest.map_or(run.seconds, |s| s.min(run.seconds)));
                Some(Ok(run))
            }
            Err(Ended::Failed(why)) => Some(Err(why)),
            Err(Ended::Slow) => Some(Err(too_slow(self.fastest.unwrap_or_default()))),
            Err(Ended::Over) => None,
        }
    }
}

/// Compares settings on a data set with the first of them. Those under which it takes the same versions are one. `None` if
/// the search is over before each has run.
pub fn compare(
    subject: &mut dyn Subject,
    set: usize,
    settings: &[Vec<i64>],
    care: Care,
    known: &mut Known,
) -> Option<Vec<Timed>> {
    let mut runners: Vec<Runner> = Vec::new();
    // The first run of each is its warm-up: its code is loaded, its memory there.
    for setting in settings {
        let mut runner = Runner::default();
        match known.probe(subject, set, setting)? {
            Ok(run) => {
                let way = run.tested.iter().map(|(n, size)| (*n, *size >= setting[*n])).collect();
                runner.like = runners.iter().position(|r| r.way.as_ref() == Some(&way));
                runner.way = Some(way);
                runner.first = run.seconds;
            }
            Err(why) => runner.failed = Some(why),
        }
        runners.push(runner);
    }
    // Those that ran before it was known what is fast.
    for runner in &mut runners {
        let (first, fast) = (runner.first, known.fastest.unwrap_or(runner.first));
        if runner.failed.is_none() && first > patience(fast) {
            runner.failed = Some(format!("it took {}, and the fastest takes {}", time(first), time(fast)));
        }
    }
    let mut spent = 0.0;
    for round in 0..care.rounds.1 {
        let over = round > 0 && subject.is_over() || round >= care.rounds.0 && spent > care.seconds;
        let mut order: Vec<usize> = (0..settings.len()).filter(|k| runners[*k].runs()).collect();
        if over || order.is_empty() || order.len() == 1 && round >= care.rounds.0 {
            break;
        }
        if round % 2 == 1 {
            order.reverse();
        }
        for k in order {
            match subject.run(set, &settings[k]) {
                Ok(run) => {
                    spent += run.seconds;
                    runners[k].seconds.push(run.seconds);
                }
                Err(why) => runners[k].failed = Some(why),
            }
        }
        let known = ratios(&runners);
        if round + 1 >= care.rounds.0.min(3) {
            drop_slow(&mut runners, &known);
        }
        let wide = |r: &Ratio| r.high - r.low > 2.0 * care.precision * r.median;
        let open = runners.iter().zip(&known).skip(1).any(|(r, k)| r.runs() && k.as_ref().is_none_or(wide));
        if round + 1 >= care.rounds.0 && !open {
            break;
        }
    }
    let known = ratios(&runners);
    let timed = |k: usize| match (&runners[k].failed, known[k]) {
        (None, Some(ratio)) => Timed::Time { seconds: median(&runners[k].seconds), ratio },
        (Some(why), _) => Timed::Failed(why.clone()),
        (None, None) => Timed::Failed("there was no time for it".into()),
    };
    Some((0..runners.len()).map(|k| timed(runners[k].like.unwrap_or(k))).collect())
}

#[derive(Default)]
struct Runner {
    /// The first run, in seconds.
    first: f64,
    /// By round.
    seconds: Vec<f64>,
    failed: Option<String>,
    slow: bool,
    /// What each comparison said.
    way: Option<Vec<(usize, bool)>>,
    /// An earlier one of which each said the same.
    like: Option<usize>,
}

impl Runner {
    fn runs(&self) -> bool {
        self.failed.is_none() && !self.slow && self.like.is_none()
    }
}

/// The incumbent is never dropped: all are compared with it.
fn drop_slow(runners: &mut [Runner], known: &[Option<Ratio>]) {
    let fast = known.iter().flatten().map(|r| r.high).fold(f64::INFINITY, f64::min);
    for (runner, ratio) in runners.iter_mut().zip(known).skip(1) {
        runner.slow |= ratio.as_ref().is_some_and(|r| r.low > 1.05 * fast);
    }
}

/// Each runner's time by that of the first in the same round. A first that fails leaves the others to be compared by
/// their own seconds.
fn ratios(runners: &[Runner]) -> Vec<Option<Ratio>> {
    let first = &runners[0];
    let by =
        |round: usize| if first.failed.is_none() { first.seconds.get(round).copied() } else { Some(1.0) };
    let ratio = |r: &Runner| {
        let all = r.seconds.iter().enumerate().filter_map(|(k, s)| Some(s / by(k)?.max(1e-12)));
        interval(all.collect())
    };
    runners.iter().map(ratio).collect()
}

/// The median of a sample and the interval that it is in, with 95 %, from order statistics. So few numbers that there is no
/// such interval have that of all of them.
pub(crate) fn interval(mut sample: Vec<f64>) -> Option<Ratio> {
    sample.sort_by(f64::total_cmp);
    let (low, high) = (*sample.first()?, *sample.last()?);
    let n = sample.len() as f64;
    let reach = 0.98 * n.sqrt();
    let at = |x: f64| sample[(x.max(0.0) as usize).min(sample.len() - 1)];
    let few = sample.len() < 6;
    let (low, high) =
        if few { (low, high) } else { (at((n / 2.0 - reach).floor()), at((n / 2.0 + reach).ceil())) };
    Some(Ratio { median: median(&sample), low, high })
}

pub(crate) fn median(sample: &[f64]) -> f64 {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}
