//! Searches on programs whose times are known, by a clock that may be noisy.

use remc_base::Name;
use remc_flat::ir::Compare;
use remc_tune::choices::{Choice, Choices};
use remc_tune::clock::{Care, Timed};
use remc_tune::kept::{Circumstances, Kept};
use remc_tune::search::{Asked, Found, Objective, Options, Ways, search};
use remc_tune::{Ended, Patience, Run, Subject};

/// A program: the sizes that each threshold is compared with on each data set, and the time of what was chosen.
struct Program {
    choices: Choices,
    sets: Vec<Vec<Vec<i64>>>,
    /// By the data set and, for each threshold, how many of its sizes reach it; `None`: it stops.
    seconds: fn(usize, &[usize]) -> Option<f64>,
    /// How far a time may be off, as a part of it, and by how much more each run takes than the one before.
    noise: (f64, f64),
    state: u64,
    runs: usize,
    most: usize,
    kept: Kept,
    /// How many seconds all runs took.
    spent: f64,
    excluded: Vec<String>,
}

impl Program {
    /// A number from -1 to 1: xorshift.
    fn chance(&mut self) -> f64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

impl Subject for Program {
    fn sets(&self) -> usize {
        self.sets.len()
    }

    fn run(&mut self, set: usize, setting: &[i64]) -> Result<Run, String> {
        self.runs += 1;
        let mut tested = Vec::new();
        let mut reached = vec![0; setting.len()];
        for choice in &self.choices.choices {
            let holds = |n: usize| self.sets[set][n].iter().any(|size| *size >= setting[n]);
            let here = choice.within.iter().all(|(around, first)| {
                self.choices.choices[*around].tests.iter().any(|(n, _)| holds(*n)) == *first
            });
            for (n, _) in choice.tests.iter().filter(|_| here) {
                tested.extend(self.sets[set][*n].iter().map(|size| (*n, *size)));
                reached[*n] = self.sets[set][*n].iter().filter(|size| **size >= setting[*n]).count();
            }
        }
        let seconds = (self.seconds)(set, &reached).ok_or("it stops")?;
        let off = 1.0 + self.noise.0 * self.chance() + self.noise.1 * self.runs as f64;
        self.spent += seconds * off;
        Ok(Run { seconds: seconds * off, tested })
    }

    fn probe(&mut self, set: usize, setting: &[i64], patience: Patience) -> Result<Run, Ended> {
        if self.is_over() && !patience.to_the_end {
            return Err(Ended::Over);
        }
        let (spent, run) = (self.spent, self.run(set, setting).map_err(Ended::Failed)?);
        match patience.seconds.filter(|s| *s < run.seconds) {
            None => Ok(run),
            Some(most) => {
                self.spent = spent + most;
                Err(Ended::Slow)
            }
        }
    }

    fn excluded(&mut self, what: &str, set: usize, why: &str) {
        self.excluded.push(format!("{what} on {set}: {why}"));
    }

    fn is_over(&self) -> bool {
        self.runs > self.most
    }

    fn recall(&mut self, asked: &Asked<'_>) -> Option<Ways> {
        self.kept.get(&asked.set.to_string(), asked)
    }

    fn keep(&mut self, asked: &Asked<'_>, ways: &Ways) {
        self.kept.put(&asked.set.to_string(), asked, ways);
    }
}

/// A choice by one threshold of 512 inside of others.
fn choices(within: &[&[(usize, bool)]]) -> Choices {
    let of = |(k, within): (usize, &&[(usize, bool)])| Choice {
        tests: vec![(k, Compare::AtLeast)],
        within: within.to_vec(),
    };
    Choices {
        thresholds: (0..within.len()).map(|k| (Name::new(format!("main/par.outer/f:{k}")), 512)).collect(),
        choices: within.iter().enumerate().map(of).collect(),
    }
}

fn program(
    within: &[&[(usize, bool)]],
    sets: &[&[&[i64]]],
    seconds: fn(usize, &[usize]) -> Option<f64>,
) -> Program {
    let sets = sets.iter().map(|s| s.iter().map(|sizes| sizes.to_vec()).collect()).collect();
    let state = 0x9e37_79b9_7f4a_7c15;
    Program {
        choices: choices(within),
        sets,
        seconds,
        noise: (0.0, 0.0),
        state,
        runs: 0,
        most: usize::MAX,
        kept: Kept::new(Circumstances::default()),
        spent: 0.0,
        excluded: Vec::new(),
    }
}

fn tuned(p: &mut Program) -> Found {
    let choices = p.choices.clone();
    search(p, &choices, Options { objective: Objective::Mean, care: Care::FULL })
}

const ONE: &[&[(usize, bool)]] = &[&[]];

#[test]
fn a_value_lies_between_the_sizes_that_want_different_versions() {
    // From 100 on the first version is the faster one.
    let seconds = |set: usize, reached: &[usize]| {
        let small = set < 2;
        Some(if small == (reached[0] > 0) { 2.0 } else { 1.0 })
    };
    let mut p = program(ONE, &[&[&[4]], &[&[25]], &[&[100]], &[&[9000]]], seconds);
    let found = tuned(&mut p);
    assert_eq!(found.setting, [50], "the middle of 25 and 100 by ratio");
    assert!(!found.given_up && !found.cut_short);
    let ratio = |t: &[Timed; 2]| t[1].ratio().median;
    let ratios: Vec<f64> = found.last.iter().map(ratio).collect();
    assert_eq!(ratios, [1.0, 1.0, 0.5, 1.0]);
}

#[test]
fn beyond_what_was_seen_the_default_is_as_close_as_it_can_be() {
    let first = |_: usize, reached: &[usize]| Some(if reached[0] > 0 { 1.0 } else { 3.0 });
    assert_eq!(tuned(&mut program(ONE, &[&[&[20]], &[&[70]]], first)).setting, [20]);
    let second = |_: usize, reached: &[usize]| Some(if reached[0] > 0 { 3.0 } else { 1.0 });
    assert_eq!(tuned(&mut program(ONE, &[&[&[2000]], &[&[7000]]], second)).setting, [14000]);
    // Nothing that matters: it stays.
    assert_eq!(tuned(&mut program(ONE, &[&[&[2000]], &[&[7]]], |_, _| Some(1.0))).setting, [512]);
    assert_eq!(tuned(&mut program(ONE, &[&[&[20]]], second)).setting, [512]);
}

#[test]
fn no_set_is_made_slower_for_the_others() {
    // Both have the same size, and want different versions.
    let seconds =
        |set: usize, reached: &[usize]| Some(if (reached[0] > 0) == (set == 0) { 1.0 } else { 1.5 });
    let found = tuned(&mut program(ONE, &[&[&[1000]], &[&[1000]], &[&[1000]]], seconds));
    assert_eq!(found.setting, [512]);
}

#[test]
fn inner_versions_are_at_their_best_before_they_are_compared() {
    // The second version is only the faster one with the first version of the choice in it, which its default is not.
    let seconds = |_: usize, reached: &[usize]| {
        Some(match (reached[0] > 0, reached[1] > 0) {
            (true, _) => 2.0,
            (false, true) => 1.0,
            (false, false) => 4.0,
        })
    };
    let within: &[&[(usize, bool)]] = &[&[], &[(0, false)]];
    let found = tuned(&mut program(within, &[&[&[1000], &[30]]], seconds));
    assert_eq!(found.setting, [2000, 30]);
    assert_eq!(found.evidence.len(), 2);
}

#[test]
fn a_loop_with_many_sizes_is_cut_where_it_is_best() {
    let sizes: Vec<i64> = (1..=400).collect();
    // Sizes from 151 on want the first version: 250 of them.
    let seconds = |_: usize, reached: &[usize]| Some(1.0 + (reached[0] as f64 - 250.0).abs() / 100.0);
    let mut p = program(ONE, &[&[&sizes]], seconds);
    let found = tuned(&mut p);
    assert!((140..=160).contains(&found.setting[0]), "{:?}", found.setting);
    assert!(p.runs < 500, "{} runs", p.runs);
}

#[test]
fn a_version_that_stops_is_not_taken() {
    let seconds = |_: usize, reached: &[usize]| (reached[0] > 0).then_some(9.0);
    assert_eq!(tuned(&mut program(ONE, &[&[&[1000]]], seconds)).setting, [512]);
    let found = tuned(&mut program(ONE, &[&[&[20]]], seconds));
    assert_eq!(found.setting, [20], "the default stops");
    assert!(matches!(found.last[0], [Timed::Failed(_), Timed::Time { .. }]), "{:?}", found.last);
}

#[test]
fn noise_and_drift_change_no_choice() {
    let seconds = |set: usize, reached: &[usize]| {
        let best = [true, false, false][set] == (reached[0] > 0);
        Some(if best { 1e-3 } else { 1.25e-3 })
    };
    for seed in 1..=40 {
        let mut p = program(ONE, &[&[&[3000]], &[&[700]], &[&[600]]], seconds);
        p.noise = (0.3, 1e-4);
        p.state = (seed as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let found = tuned(&mut p);
        assert_eq!(found.setting, [1450], "seed {seed}: {found:?}");
        assert!(!found.given_up, "seed {seed}");
    }
}

#[test]
fn what_is_over_keeps_what_was_found() {
    let within: &[&[(usize, bool)]] = &[&[], &[]];
    let seconds =
        |_: usize, reached: &[usize]| Some(2.0 - 0.5 * (reached[0].min(1) + reached[1].min(1)) as f64);
    let mut p = program(within, &[&[&[30], &[40]]], seconds);
    p.most = 12;
    let found = tuned(&mut p);
    assert!(found.cut_short);
    assert_eq!(found.setting, [30, 512]);
}

#[test]
fn what_was_kept_is_not_measured_again() {
    let within: &[&[(usize, bool)]] = &[&[], &[(0, false)], &[]];
    let seconds = |set: usize, reached: &[usize]| {
        let faster = [reached[0] > 0, reached[1] == 0, (reached[2] > 0) == (set == 1)];
        Some(3.0 - 0.5 * faster.iter().filter(|b| **b).count() as f64)
    };
    let sets: &[&[&[i64]]] = &[&[&[30], &[40], &[700]], &[&[900], &[8], &[2000]]];
    let mut whole = program(within, sets, seconds);
    let wanted = tuned(&mut whole);
    assert!(!wanted.cut_short);
    // It is broken off after ever more runs, and goes on each time with what it has.
    let mut runs = Vec::new();
    for most in (1..whole.runs).step_by(7) {
        let mut p = program(within, sets, seconds);
        p.most = most;
        assert!(tuned(&mut p).cut_short || most > 40);
        let mut again = program(within, sets, seconds);
        again.kept = Kept::read(&p.kept.text()).unwrap();
        assert_eq!(tuned(&mut again), wanted, "broken off after {most} runs");
        runs.push(again.runs);
    }
    assert!(runs.is_sorted_by(|a, b| a >= b), "{runs:?} runs");
    assert!(runs.first() == Some(&whole.runs) && runs.last() < Some(&whole.runs), "{runs:?}");
    // What is left in any case is the last run, in turn.
    let mut again = program(within, sets, seconds);
    again.kept = whole.kept.clone();
    assert_eq!(tuned(&mut again), wanted);
    let last = again.runs;
    assert!(last > 0 && last < whole.runs / 2 && runs.iter().all(|r| *r >= last), "{last} {runs:?}");
    // Of another data set nothing is known.
    let mut other = program(within, &[sets[0], sets[1], sets[0]], seconds);
    other.kept = whole.kept.clone();
    tuned(&mut other);
    assert!(other.runs > last && other.runs < whole.runs, "{}", other.runs);
}

/// A version that would take minutes costs a fraction of a second, also where it only has to run for another choice to be
/// come to; and that is said.
#[test]
fn what_takes_minutes_is_excluded_at_once() {
    // The second version of the outer choice takes minutes, whatever the choice inside of it.
    let seconds = |_: usize, reached: &[usize]| {
        Some(match (reached[0] > 0, reached[1] > 0) {
            (true, _) => 2e-3,
            (false, true) => 500.0,
            (false, false) => 400.0,
        })
    };
    let within: &[&[(usize, bool)]] = &[&[], &[(0, false)]];
    let mut p = program(within, &[&[&[1000], &[30]]], seconds);
    let found = tuned(&mut p);
    assert_eq!(found.setting, [512, 512]);
    assert!(p.spent < 3.0, "{} s", p.spent);
    let ways = &found.evidence[0].sets[0];
    assert_eq!(ways.failed[&1], "it had not ended after 100.00 ms, and the fastest takes 2.00 ms");
    assert_eq!(
        p.excluded,
        ["main/par.outer/f:1 on 0: it had not ended after 100.00 ms, and the fastest takes 2.00 ms"]
    );
    // The default is the one that takes minutes: that is known once another version has run.
    let mut p = program(ONE, &[&[&[1000]]], |_, reached| Some(if reached[0] > 0 { 90.0 } else { 1.0 }));
    let found = tuned(&mut p);
    assert_eq!(found.setting, [2000]);
    assert!(p.spent < 400.0, "{} s", p.spent);
    assert!(
        matches!(&found.last[0], [Timed::Failed(why), Timed::Time { .. }] if why.contains("not ended after 10.00 s")),
        "{found:?}"
    );
}
