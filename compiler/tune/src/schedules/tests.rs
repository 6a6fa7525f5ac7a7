//! The search for schedules, on operators whose times are known.

use super::*;
use crate::kept::{Circumstances, Kept};

/// Two operators, whose times are known functions of their numbers, by a clock that errs.
struct Bench {
    codes: Vec<Named>,
    /// Elements of each data set.
    sizes: Vec<f64>,
    noise: f64,
    state: u64,
    runs: usize,
    most_runs: usize,
    /// Numbers that no code can be compiled with.
    refused: Option<(String, i64)>,
    compiled: usize,
    kept: Kept,
}

impl Bench {
    fn new(sizes: &[f64], noise: f64, seed: u64) -> Bench {
        let sizes = sizes.to_vec();
        let codes = Vec::new();
        Bench {
            codes,
            sizes,
            noise,
            state: seed,
            runs: 0,
            most_runs: 100_000,
            refused: None,
            compiled: 0,
            kept: Kept::new(Circumstances::default()),
        }
    }

    /// Within ± `noise`, and slower from run to run.
    fn error(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let part = (self.state >> 11) as f64 / (1u64 << 53) as f64;
        (1.0 + self.noise * (2.0 * part - 1.0)) * (1.0 + self.noise * self.runs as f64 / 4000.0)
    }
}

impl Workbench for Bench {
    fn sets(&self) -> usize {
        self.sizes.len()
    }

    fn compile(&mut self, numbers: &Named) -> Result<usize, String> {
        self.compiled += 1;
        if self.refused.as_ref().is_some_and(|(name, value)| numbers.get(name) == Some(value)) {
            return Err("they cannot be together".into());
        }
        if let Some(known) = self.codes.iter().position(|of| of == numbers) {
            return Ok(known);
        }
        self.codes.push(numbers.clone());
        Ok(self.codes.len() - 1)
    }

    fn run(&mut self, code: usize, set: usize) -> Result<Spending, String> {
        self.runs += 1;
        let number = |name: &str, default: i64| self.codes[code].get(name).copied().unwrap_or(default) as f64;
        let n = self.sizes[set];
        // Blocks cost 2 µs each, and the last of them leaves the other thread idle.
        let grain = number("main/grain/f:1", 1 << 15);
        let blocks = (n / grain).ceil().max(1.0);
        let f = n * 1e-10 * (1.0 + 1.0 / blocks) + blocks * 2e-6;
        // The more vectors, the better, up to eight.
        let g = n * 4e-10 / number("main/lanes.reduced/g:1", 4).min(8.0);
        let mut of = BTreeMap::new();
        let spent = |seconds| Spent { seconds, launches: 1, blocks: blocks as u64, bytes: 0 };
        of.insert("f:1".to_owned(), spent(f * self.error()));
        of.insert("g:1".to_owned(), spent(g * self.error()));
        Ok(Spending { seconds: of.values().map(|s| s.seconds).sum(), of })
    }

    fn is_over(&self) -> bool {
        self.runs > self.most_runs
    }

    fn recall(&mut self, asked: &Asked<'_>) -> Option<Vec<Answer>> {
        self.kept.step(&asked.set.to_string(), asked)
    }

    fn keep(&mut self, asked: &Asked<'_>, answers: &[Answer]) {
        self.kept.put_step(&asked.set.to_string(), asked, answers);
    }
}

fn tunable() -> Vec<Tunable> {
    let of = |site: &str, field: Field, value| Tunable {
        name: format!("main/{field}/{site}"),
        site: site.into(),
        field,
        value,
    };
    let mut all = vec![of("f:1", Field::Grain, 1 << 15), of("g:1", Field::Reduced, 4)];
    // Numbers that decide nothing.
    all.extend([of("f:1", Field::Short, 32), of("g:1", Field::Ahead, 4096), of("f:1", Field::Blocks, 1)]);
    all
}

fn options() -> Options {
    let machine = Machine { workers: 2, bandwidth: None };
    Options { objective: Objective::Mean, care: Care::QUICK, machine }
}

fn found(bench: &mut Bench) -> Found {
    search(bench, &tunable(), &Named::new(), options())
}

#[test]
fn each_operator_gets_what_is_best_for_it() {
    let mut bench = Bench::new(&[1e7, 4e7], 0.0, 1);
    let found = found(&mut bench);
    assert_eq!(found.numbers.get("main/lanes.reduced/g:1"), Some(&8));
    let grain = found.numbers["main/grain/f:1"];
    assert!((1 << 17..=1 << 21).contains(&grain), "{grain}");
    assert_eq!(found.numbers.len(), 2, "{:?}", found.numbers);
    assert!(found.last.iter().all(|l| l.ratio.is_some_and(|r| r.high < 0.95)), "{:?}", found.last);
    let shown = found.evidence.iter().find(|n| n.name == "main/grain/f:1").unwrap();
    assert_eq!((shown.default, shown.chosen, shown.on.len()), (1 << 15, grain, 2));
    assert!(bench.compiled < 40, "{}", bench.compiled);
}

#[test]
fn a_noisy_clock_that_drifts_chooses_nothing_that_loses() {
    for seed in 0..30 {
        let mut bench = Bench::new(&[1e7, 4e7], 0.3, seed);
        let found = found(&mut bench);
        for name in found.numbers.keys() {
            let of = ["main/lanes.reduced/g:1", "main/grain/f:1"];
            assert!(of.contains(&name.as_str()), "seed {seed}: {name}");
        }
        // Eight vectors are half of the time: no noise hides that.
        assert_eq!(found.numbers.get("main/lanes.reduced/g:1"), Some(&8), "seed {seed}");
    }
}

#[test]
fn what_takes_no_time_is_not_looked_at() {
    let mut bench = Bench::new(&[1000.0], 0.0, 1);
    let found = found(&mut bench);
    assert!(found.numbers.is_empty() && found.evidence.is_empty(), "{:?}", found.numbers);
    assert!(bench.compiled <= 3, "{}", bench.compiled);
}

#[test]
fn what_cannot_be_compiled_is_left_and_said() {
    let mut bench = Bench::new(&[1e7], 0.0, 1);
    bench.refused = Some(("main/lanes.reduced/g:1".into(), 8));
    let found = found(&mut bench);
    assert_eq!(found.numbers.get("main/lanes.reduced/g:1"), None);
    let shown = found.evidence.iter().find(|n| n.name == "main/lanes.reduced/g:1").unwrap();
    let failed = shown.on[0].tried.iter().find(|t| t.at == 8).unwrap();
    assert_eq!(failed.time, Err("they cannot be together".into()));
}

#[test]
fn time_that_runs_out_keeps_what_is_sure() {
    let mut bench = Bench::new(&[1e7], 0.0, 1);
    bench.most_runs = 40;
    let found = found(&mut bench);
    assert!(found.cut_short);
    assert!(found.last.len() == 1 && !found.given_up);
}

#[test]
fn what_stays_as_it_is_gains_nothing() {
    // One run differs from the next by far more than a number does.
    let mut bench = Bench::new(&[3e5], 0.3, 5);
    let found = search(&mut bench, &[], &Named::new(), options());
    assert!(found.numbers.is_empty());
    let [Last { defaults: Ok(before), tuned: Ok(after), ratio: Some(ratio) }] = &found.last[..] else {
        panic!("{:?}", found.last);
    };
    assert_eq!((before, ratio.median, ratio.high), (after, 1.0, 1.0));
}

#[test]
fn what_was_kept_is_not_measured_again() {
    let bench = || Bench::new(&[1e7, 4e7], 0.0, 1);
    let mut whole = bench();
    let wanted = found(&mut whole);
    // Broken off half way, and gone on with.
    let mut first = bench();
    first.most_runs = whole.runs / 2;
    assert!(found(&mut first).cut_short);
    let mut second = bench();
    second.kept = Kept::read(&first.kept.text()).unwrap();
    let resumed = found(&mut second);
    assert_eq!((&resumed.numbers, &resumed.evidence), (&wanted.numbers, &wanted.evidence));
    let runs = |bench: &Bench| (bench.runs, bench.compiled);
    assert!(
        second.runs < whole.runs && second.compiled < whole.compiled,
        "{:?} {:?} {:?}",
        runs(&whole),
        runs(&first),
        runs(&second)
    );
    // All of it is known: what was found is measured, and nothing else.
    let mut third = bench();
    third.kept = whole.kept.clone();
    assert_eq!(found(&mut third).numbers, wanted.numbers);
    assert!(third.runs < second.runs, "{} {} {}", whole.runs, second.runs, third.runs);
}
