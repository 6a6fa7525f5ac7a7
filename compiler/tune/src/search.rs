//! The search: for each threshold the value with which every data set takes its best version.
//!
//! Choices are looked at from the inside out, so that the versions that an outer one chooses between are each at their
//! best already. For one threshold and one data set, only values matter by which the sizes that are compared with it
//! there are told apart differently:
//!
//! ```text
//! sizes   100     4000    90000        three sizes, four ways: all reach the threshold, the larger two, the largest, none
//! value ≤ 100  ≤ 4000  ≤ 90000   ∞
//! ```
//!
//! Each way is timed ([`crate::clock`]). Of many sizes, as a loop has them, some ways are timed and then those beside the
//! best. Over all data sets, a value costs the mean (or the worst) of what each set loses by it, and the cheapest is
//! taken under which no set is slower than with the default; where the default is as good, it stays. Between the sizes
//! that were seen nothing is known, so the value lies in the middle of them, by ratio, or as close to the default as the
//! measurements allow where they end.
//!
//! There is no chance in it: on one machine, two searches differ by what the clock says alone.
//!
//! Source: Munksgaard, Breddam, Henriksen, Gieseke, Oancea, *Dataset Sensitive Autotuning of Multi-Versioned Code Based
//! on Monotonic Properties*, TFP 2021.

use crate::Subject;
use crate::choices::Choices;
use crate::clock::{Care, Known, Ratio, Timed, compare};
use std::collections::BTreeMap;

/// What to make small.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Objective {
    Mean,
    Worst,
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    pub objective: Objective,
    pub care: Care,
}

/// What a search found.
#[derive(Clone, PartialEq, Debug)]
pub struct Found {
    pub setting: Vec<i64>,
    /// What was measured for each threshold that was looked at.
    pub evidence: Vec<Evidence>,
    /// For each data set the time with the defaults and with the setting, measured in turn at the end. Empty if the search
    /// was cut short before it found anything.
    pub last: Vec<[Timed; 2]>,
    /// Whether a data set was slower with what was found, so that the defaults stay.
    pub given_up: bool,
    /// Whether it ended before all was looked at.
    pub cut_short: bool,
}

/// Why a threshold has its value.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    pub threshold: usize,
    pub sets: Vec<Ways>,
}

/// The ways to tell the sizes of one data set apart that were timed.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Ways {
    pub set: usize,
    /// The sizes that were compared with the threshold, in order, each once.
    pub sizes: Vec<i64>,
    /// By how many sizes are below the threshold: the time in terms of the fastest.
    pub timed: BTreeMap<usize, f64>,
    /// … and in seconds.
    pub seconds: BTreeMap<usize, f64>,
    /// Why those that have no result have none.
    pub failed: BTreeMap<usize, String>,
}

/// A measurement: of a threshold, on a data set, with the other thresholds at these values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Asked<'a> {
    pub threshold: usize,
    pub set: usize,
    pub reached: &'a [i64],
}

/// A size at which nothing is compared: what no size reaches.
const NEVER: i64 = i64::MAX;
/// A difference that is none.
pub const NEAR: f64 = 1.02;
/// The most ways that are timed at first, and beside the best then.
const MOST_WAYS: usize = 6;

/// Finds a setting.
pub fn search(subject: &mut dyn Subject, choices: &Choices, options: Options) -> Found {
    let defaults = choices.defaults();
    let known = vec![Known::default(); subject.sets()];
    let mut s = Search { subject, choices, options, setting: defaults.clone(), evidence: Vec::new(), known };
    let mut order: Vec<usize> = (0..choices.choices.len()).collect();
    order.sort_by_key(|k| std::cmp::Reverse(choices.choices[*k].within.len()));
    let mut cut_short = false;
    for choice in order {
        let tests = &choices.choices[choice].tests;
        // Of several tests each may leave the others nothing to decide: so each is looked at again.
        let sweeps = if tests.len() > 1 { 2 } else { 1 };
        for _ in 0..sweeps {
            for (threshold, _) in tests {
                cut_short |= s.subject.is_over() || !s.threshold(choice, *threshold);
            }
        }
    }
    s.last(defaults, cut_short)
}

struct Search<'s> {
    subject: &'s mut dyn Subject,
    choices: &'s Choices,
    options: Options,
    setting: Vec<i64>,
    evidence: Vec<Evidence>,
    /// By data set.
    known: Vec<Known>,
}

/// The search is over, and something was not measured.
struct Over;

impl Search<'_> {
    /// Finds the value of one threshold; whether there was time for all data sets.
    fn threshold(&mut self, choice: usize, threshold: usize) -> bool {
        let mut reached = self.setting.clone();
        self.choices.reach(choice, &mut reached);
        let mut sets = Vec::new();
        for set in 0..self.subject.sets() {
            match self.ways(set, threshold, &reached) {
                Ok(ways) => sets.extend(ways),
                Err(Over) => return false,
            }
            // What some of the sets want says nothing of the others.
            if self.subject.is_over() && set + 1 < self.subject.sets() {
                return false;
            }
        }
        let value = best(&sets, self.choices.thresholds[threshold].1, self.options.objective);
        self.setting[threshold] = value.unwrap_or(self.choices.thresholds[threshold].1);
        if !sets.is_empty() {
            self.evidence.retain(|e| e.threshold != threshold);
            self.evidence.push(Evidence { threshold, sets });
        }
        true
    }

    /// The times of the ways of one data set; `None` if the threshold makes no difference there.
    fn ways(&mut self, set: usize, threshold: usize, reached: &[i64]) -> Result<Option<Ways>, Over> {
        let asked = Asked { threshold, set, reached };
        let known = self.subject.recall(&asked);
        let ways = match known {
            Some(ways) => Some(ways),
            None => {
                let ways = self.measure(set, threshold, reached)?;
                // One that was broken off is no measurement.
                if let (Some(ways), false) = (&ways, self.subject.is_over()) {
                    self.subject.keep(&asked, ways);
                }
                ways
            }
        };
        Ok(ways.filter(|w| !w.sizes.is_empty()))
    }

    /// Measures them; of a threshold that makes no difference there are no sizes. `None`: no version has a result.
    fn measure(&mut self, set: usize, threshold: usize, reached: &[i64]) -> Result<Option<Ways>, Over> {
        let name = self.choices.thresholds[threshold].0.clone();
        self.subject.trying(name.as_str(), set);
        // What the defaults take says what is slow: to come to a choice, a version may have to run that is never taken.
        if self.known[set].fastest.is_none() {
            let defaults = self.choices.defaults();
            let _ = self.known[set].probe(self.subject, set, &defaults).ok_or(Over)?;
        }
        // One of the versions may have no result; the sizes are the same.
        let values = [reached[threshold], 0, NEVER];
        let (mut found, mut failed) = (None, String::new());
        for value in values {
            let mut setting = reached.to_vec();
            setting[threshold] = value;
            match self.known[set].probe(self.subject, set, &setting).ok_or(Over)? {
                Ok(run) => {
                    found = Some(run);
                    break;
                }
                Err(why) => failed = why,
            }
        }
        let Some(run) = found else {
            self.subject.excluded(name.as_str(), set, &failed);
            return Ok(None);
        };
        let mut sizes: Vec<i64> =
            run.tested.iter().filter(|(n, _)| *n == threshold).map(|(_, size)| *size).collect();
        sizes.sort_unstable();
        sizes.dedup();
        let mut ways = Ways { set, sizes, ..Ways::default() };
        if ways.sizes.is_empty() {
            return Ok(Some(ways));
        }
        let all = ways.sizes.len() + 1;
        let default = below(&ways.sizes, self.choices.thresholds[threshold].1);
        let step = all.div_ceil(MOST_WAYS);
        let mut next: Vec<usize> = (0..all).step_by(step).chain([all - 1]).collect();
        let mut from = default;
        let mut step = step;
        loop {
            next.retain(|w| *w != from && !ways.timed.contains_key(w));
            next.sort_unstable();
            next.dedup();
            if next.is_empty() || !ways.timed.is_empty() && self.subject.is_over() {
                break;
            }
            self.time(&mut ways, threshold, reached, &[&[from], &next[..]].concat())?;
            let fastest = ways.timed.iter().min_by(|a, b| a.1.total_cmp(b.1)).map_or(default, |(w, _)| *w);
            from = fastest;
            if step == 1 {
                break;
            }
            step = (step / 3).max(1);
            next =
                [1, 2].iter().flat_map(|k| [fastest.saturating_sub(k * step), fastest + k * step]).collect();
            next.retain(|w| *w < all);
        }
        let fast = ways.timed.values().copied().fold(f64::INFINITY, f64::min);
        if fast.is_finite() {
            ways.timed.values_mut().for_each(|r| *r /= fast);
        }
        Ok(Some(ways))
    }

    /// Times some ways in turn; all are known in terms of the default's then, by that of the first, which is known already
    /// if any is.
    fn time(
        &mut self,
        ways: &mut Ways,
        threshold: usize,
        reached: &[i64],
        which: &[usize],
    ) -> Result<(), Over> {
        let setting = |way: &usize| {
            let mut setting = reached.to_vec();
            setting[threshold] = ways.sizes.get(*way).copied().unwrap_or(NEVER);
            setting
        };
        let settings: Vec<Vec<i64>> = which.iter().map(setting).collect();
        let known = &mut self.known[ways.set];
        let timed = compare(self.subject, ways.set, &settings, self.options.care, known).ok_or(Over)?;
        let scale = ways.timed.get(&which[0]).copied().unwrap_or(1.0);
        for (way, t) in which.iter().zip(timed) {
            let ratio = match &t {
                // What is near is the same: the default stays.
                Timed::Time { ratio: Ratio { low, high, .. }, .. } if *low <= 1.0 && 1.0 <= *high => 1.0,
                t => t.ratio().median,
            };
            ways.timed.entry(*way).or_insert(ratio * scale);
            match t {
                Timed::Time { seconds, .. } => drop(ways.seconds.entry(*way).or_insert(seconds)),
                Timed::Failed(why) => drop(ways.failed.entry(*way).or_insert(why)),
            }
        }
        Ok(())
    }

    /// Measures what was found against the defaults, in turn; where a data set is slower, they stay.
    fn last(mut self, defaults: Vec<i64>, cut_short: bool) -> Found {
        let mut last = Vec::new();
        let nothing = cut_short && self.setting == defaults;
        for set in (0..self.subject.sets()).filter(|_| !nothing) {
            self.subject.trying("what was found, against the defaults", set);
            let settings = [defaults.clone(), self.setting.clone()];
            let care = if self.setting == defaults {
                Care { rounds: (1, 1), ..self.options.care }
            } else {
                self.options.care
            };
            let mut known = Known { to_the_end: true, ..self.known[set] };
            let timed = compare(self.subject, set, &settings, care, &mut known);
            if let Some(Ok([before, after])) = timed.map(<[Timed; 2]>::try_from) {
                last.push([before, after]);
            }
        }
        let slower = |[before, after]: &[Timed; 2]| match before {
            Timed::Failed(_) => false,
            Timed::Time { .. } => after.ratio().low > 1.03,
        };
        let given_up = self.setting != defaults && last.iter().any(slower);
        if given_up {
            self.setting = defaults;
        }
        Found { setting: self.setting, evidence: self.evidence, last, given_up, cut_short }
    }
}

/// How many of some sizes are below a value.
fn below(sizes: &[i64], value: i64) -> usize {
    sizes.partition_point(|n| *n < value)
}

/// What a data set loses by a value, in terms of its fastest way; of a way that was not timed, what the nearest that was does.
fn loss(ways: &Ways, value: i64) -> f64 {
    let way = below(&ways.sizes, value);
    let near = |(k, _): &(&usize, &f64)| k.abs_diff(way);
    ways.timed.iter().min_by_key(near).map_or(1.0, |(_, r)| *r)
}

/// The value under which no data set loses more than by the default, and all lose the least; `None` if the default does
/// as well.
fn best(sets: &[Ways], default: i64, objective: Objective) -> Option<i64> {
    let mut values: Vec<i64> = sets.iter().flat_map(|w| w.sizes.iter().copied()).chain([NEVER]).collect();
    values.sort_unstable();
    values.dedup();
    let cost = |value: i64| {
        let losses = sets.iter().map(|w| loss(w, value));
        match objective {
            Objective::Mean => losses.sum::<f64>() / sets.len() as f64,
            Objective::Worst => losses.fold(0.0, f64::max),
        }
    };
    let no_slower = |value: &i64| sets.iter().all(|w| loss(w, *value) <= NEAR * loss(w, default));
    let candidates: Vec<i64> = values.iter().copied().filter(no_slower).collect();
    let least = candidates.iter().map(|v| cost(*v)).min_by(f64::total_cmp)?;
    if cost(default) <= NEAR * least {
        return None;
    }
    let far = |value: &i64| below(&values, *value).abs_diff(below(&values, default));
    let found = candidates.into_iter().filter(|v| cost(*v) <= NEAR * least).min_by_key(far)?;
    // All values behind the size before it do the same.
    let before = values.iter().copied().filter(|v| *v < found).max();
    Some(match before {
        None => found,
        Some(before) if found == NEVER => before.saturating_mul(2).max(before + 1),
        Some(before) => (((before as f64) * (found as f64)).sqrt().ceil() as i64).clamp(before + 1, found),
    })
}
