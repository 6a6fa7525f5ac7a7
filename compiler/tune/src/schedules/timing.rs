//! Two codes on one data set: how long each operator takes, by runs in turn.

use super::{Answer, NONE, SURE, Search, Spending};
use crate::clock::{Care, Ratio, interval, median};
use crate::measured::Last;
use crate::search::NEAR;
use remc_flat::by_size::apart;
use remc_flat::ir::Named;

/// Of what in a run the time is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Of<'s> {
    Operator(&'s str),
    /// An operator and all versions of it, by the name of the first.
    Versions(&'s str),
    Program,
}

impl Of<'_> {
    /// In seconds, if it was come to.
    pub fn time(&self, run: &Spending) -> Option<f64> {
        match self {
            Of::Operator(site) => run.of.get(*site).map(|of| of.seconds),
            Of::Versions(first) => {
                let is = |site: &str| site == *first || apart(site).is_some_and(|(of, _)| of == *first);
                let all: Vec<f64> = run.of.iter().filter(|(s, _)| is(s)).map(|(_, of)| of.seconds).collect();
                (!all.is_empty()).then(|| all.into_iter().sum())
            }
            Of::Program => Some(run.seconds),
        }
    }
}

/// Whether a data set surely lost.
pub(super) fn is_slower(last: &Last) -> bool {
    match (&last.defaults, &last.tuned, &last.ratio) {
        (Ok(_), Ok(_), Some(r)) => r.low > 1.03 || r.median > 1.05,
        (Ok(_), _, _) => true,
        (Err(_), ..) => false,
    }
}

impl Search<'_> {
    /// Runs each data set, so that it is known which operators take how long; whether any has a result.
    pub fn look(&mut self, code: usize) -> bool {
        self.known = (0..self.bench.sets()).map(|set| self.fastest(code, set).ok()).collect();
        self.known.iter().any(Option::is_some)
    }

    /// The fastest times of each operator in a few runs; the first, in which code is loaded, not among them.
    fn fastest(&mut self, code: usize, set: usize) -> Result<Spending, String> {
        self.bench.run(code, set)?;
        let mut best = self.bench.run(code, set)?;
        let more = if best.seconds < 0.02 { 4 } else { 1 };
        for _ in 0..more {
            best.least(self.bench.run(code, set)?);
        }
        Ok(best)
    }

    /// The fastest times of two codes, run in turn a few times.
    fn screened(&mut self, base: usize, code: usize, set: usize) -> Result<(Spending, Spending), String> {
        self.bench.run(code, set)?;
        let (mut before, mut after) = (self.bench.run(base, set)?, self.bench.run(code, set)?);
        let more = if before.seconds < 0.02 { 3 } else { 1 };
        for _ in 0..more {
            before.least(self.bench.run(base, set)?);
            after.least(self.bench.run(code, set)?);
        }
        Ok((before, after))
    }

    /// Measures the second code by the first on a data set.
    pub fn measure(&mut self, base: usize, code: usize, set: usize, here: &[Of<'_>]) -> Vec<Answer> {
        let (before, screened) = match self.screened(base, code, set) {
            Ok(both) => both,
            Err(why) => return vec![Answer { time: Err(why), ratio: NONE }; here.len()],
        };
        let quotient = |of: &Of<'_>| Some(of.time(&screened)? / of.time(&before)?.max(1e-12));
        let quotients: Vec<f64> = here.iter().map(|of| quotient(of).unwrap_or(1.0)).collect();
        let promising = quotients.iter().any(|q| *q < 1.0 / NEAR);
        let mut known = if promising { self.in_turn(base, code, set, here) } else { Vec::new() };
        // Of very many comparisons some look sure by chance: what gains has to do so twice.
        if known.iter().flatten().any(|r| r.high < SURE) {
            let again = self.in_turn(base, code, set, here);
            let worse = |(a, b): (Option<Ratio>, Option<Ratio>)| match (a, b) {
                (Some(a), Some(b)) => Some(if b.median > a.median { b } else { a }),
                _ => None,
            };
            known = known.into_iter().zip(again).map(worse).collect();
        }
        let answer = |(k, of): (usize, &Of<'_>)| {
            let alone = Ratio { median: quotients[k], low: quotients[k], high: quotients[k] };
            let ratio = known.get(k).copied().flatten().unwrap_or(alone);
            Answer { time: Ok(of.time(&screened).unwrap_or_default()), ratio }
        };
        here.iter().enumerate().map(answer).collect()
    }

    /// Measures two codes in turn on a data set: the ratio of the second's times to the first's.
    pub fn in_turn(&mut self, base: usize, code: usize, set: usize, of: &[Of<'_>]) -> Vec<Option<Ratio>> {
        let Care { precision, rounds: (least, most), seconds } = self.options.care;
        let mut samples: Vec<Vec<f64>> = vec![Vec::new(); of.len()];
        let (mut spent, mut round) = (0.0, 0);
        while round < most && !(round > 0 && self.bench.is_over()) && !(round >= least && spent > seconds) {
            let pair = match round % 2 {
                0 => self.bench.run(base, set).and_then(|a| Ok((a, self.bench.run(code, set)?))),
                _ => self.bench.run(code, set).and_then(|b| Ok((self.bench.run(base, set)?, b))),
            };
            let Ok((before, after)) = pair else { break };
            spent += before.seconds + after.seconds;
            for (sample, of) in samples.iter_mut().zip(of) {
                if let (Some(a), Some(b)) = (of.time(&before), of.time(&after)) {
                    sample.push(b / a.max(1e-12));
                }
            }
            round += 1;
            let narrow =
                |r: &Ratio| r.high - r.low <= 2.0 * precision * r.median || r.high < 0.9 || r.low > 1.0;
            let all = samples.iter().map(|s| interval(s.clone()));
            if round >= least.max(6) && all.flatten().all(|r| narrow(&r)) {
                break;
            }
        }
        samples.into_iter().map(interval).collect()
    }

    /// The defaults of everything against what was found, in turn; nothing, if there is no code of either.
    pub fn last(&mut self) -> Vec<Last> {
        let (Ok(before), Ok(after)) = (self.bench.compile(&Named::new()), self.compile(&Named::new())) else {
            return Vec::new();
        };
        (0..self.bench.sets()).map(|set| self.against(before, after, set)).collect()
    }

    fn against(&mut self, before: usize, after: usize, set: usize) -> Last {
        self.bench.trying("what was found, against the defaults");
        // What is the same takes the same time, whatever the clock says.
        if before == after {
            let time = self.fastest(before, set).map(|run| run.seconds);
            let ratio = time.is_ok().then_some(Ratio { median: 1.0, low: 1.0, high: 1.0 });
            return Last { defaults: time.clone(), tuned: time, ratio };
        }
        let warm = [self.bench.run(before, set), self.bench.run(after, set)];
        let [first, second] = warm.map(|run| run.map(|r| r.seconds));
        if first.is_err() || second.is_err() {
            return Last { defaults: first, tuned: second, ratio: None };
        }
        let Care { precision, rounds: (least, most), seconds } = self.options.care;
        let (mut a, mut b, mut ratios, mut spent) = (Vec::new(), Vec::new(), Vec::new(), 0.0);
        for round in 0..most {
            let slower = interval(ratios.clone()).is_some_and(|r| r.median > NEAR);
            if round >= least
                && (spent > if slower { 3.0 * seconds } else { seconds } || self.bench.is_over())
            {
                break;
            }
            let order = if round % 2 == 0 { [before, after] } else { [after, before] };
            let times = order.map(|code| self.bench.run(code, set).map(|r| r.seconds));
            let [Ok(x), Ok(y)] = times else { break };
            let (x, y) = if round % 2 == 0 { (x, y) } else { (y, x) };
            spent += x + y;
            a.push(x);
            b.push(y);
            ratios.push(y / x.max(1e-12));
            // What looks slower is looked at for longer.
            let known = interval(ratios.clone());
            let doubtful = known.is_some_and(|r| r.median > NEAR);
            let narrow = |r: Ratio| r.high - r.low <= 2.0 * precision * r.median;
            if round + 1 >= least.max(if doubtful { 20 } else { 6 }) && known.is_some_and(narrow) {
                break;
            }
        }
        let time =
            |all: &[f64]| if all.is_empty() { Err("it has stopped".to_owned()) } else { Ok(median(all)) };
        Last { defaults: time(&a), tuned: time(&b), ratio: interval(ratios) }
    }
}
