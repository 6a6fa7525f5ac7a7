//! Versions by size, on an operator whose best numbers are known functions of its sizes.

use super::*;
use crate::clock::Care;
use crate::kept::{Circumstances, Kept};
use crate::schedules::{Found, Machine, Options, Spending, Spent, Workbench, search};
use crate::search::Objective;

/// A product of n rows and a sum over l. Up to 100 rows it is the faster the more of them are jammed, from 100 on the best
/// is four, and from 1000 on one.
struct Products {
    codes: Vec<Named>,
    /// n and l of each data set.
    sets: Vec<(i64, i64)>,
    noise: f64,
    state: u64,
    runs: usize,
    most_runs: usize,
    /// What a choice costs, in seconds: an array that is copied for it.
    choice: f64,
    /// Whether the sizes are known.
    known: bool,
    kept: Kept,
}

impl Products {
    fn new(sets: &[(i64, i64)]) -> Products {
        Products {
            codes: Vec::new(),
            sets: sets.to_vec(),
            noise: 0.0,
            state: 1,
            runs: 0,
            most_runs: 1_000_000,
            choice: 0.0,
            known: true,
            kept: Kept::new(Circumstances::default()),
        }
    }

    fn error(&mut self) -> f64 {
        self.state = self.state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        let part = (self.state >> 11) as f64 / (1u64 << 53) as f64;
        1.0 + self.noise * (2.0 * part - 1.0)
    }

    /// Which version of the operator runs.
    fn takes(&self, code: usize, (n, l): (i64, i64)) -> usize {
        let reached = |(name, from): (&String, &i64)| {
            let of = by_size::parse("main", name).filter(|of| of.site == "f:1")?;
            let size = match of.size {
                "axis.1" => n,
                "axis.2" => l,
                _ => n * l,
            };
            (size >= *from).then_some(of.version)
        };
        self.codes[code].iter().filter_map(reached).max().unwrap_or(1)
    }
}

impl Workbench for Products {
    fn sets(&self) -> usize {
        self.sets.len()
    }

    fn compile(&mut self, numbers: &Named) -> Result<usize, String> {
        // As a program would have it: numbers are of versions that there are.
        let versions: Vec<usize> =
            numbers.keys().filter_map(|n| Some(by_size::parse("main", n)?.version)).collect();
        for name in numbers.keys() {
            let version = name.rsplit_once('@').and_then(|(_, k)| k.parse().ok()).unwrap_or(1);
            assert!(version == 1 || versions.contains(&version), "{name} of {numbers:?}");
        }
        if let Some(known) = self.codes.iter().position(|of| of == numbers) {
            return Ok(known);
        }
        self.codes.push(numbers.clone());
        Ok(self.codes.len() - 1)
    }

    fn run(&mut self, code: usize, set: usize) -> Result<Spending, String> {
        self.runs += 1;
        let (n, l) = self.sets[set];
        let site = by_size::version("f:1", self.takes(code, (n, l)));
        let jam = self.codes[code].get(&format!("main/jam/{site}")).copied().unwrap_or(4) as f64;
        let factor = match n {
            ..100 => 4.0 / jam,
            100..1000 => 1.0 + 0.2 * (jam / 4.0).log2().abs(),
            _ => jam / 4.0,
        };
        let seconds = 1e-3 * factor * self.error();
        let chosen = self.codes[code].keys().any(|name| by_size::parse("main", name).is_some());
        let spent = Spent { seconds, launches: 1, blocks: 64, bytes: 0 };
        Ok(Spending { seconds: seconds + if chosen { self.choice } else { 0.0 }, of: [(site, spent)].into() })
    }

    fn extents(&mut self, site: &str, _numbers: &Named) -> Result<Vec<Extent>, String> {
        assert_eq!(site, "f:1");
        if !self.known {
            return Ok(Vec::new());
        }
        let of = |name: &str, axes, size: &dyn Fn(&(i64, i64)) -> i64| {
            let on = self.sets.iter().map(|set| Some((size(set), size(set)))).collect();
            Extent { name: name.into(), axes, on }
        };
        Ok(vec![of("axis.1", 1, &|s| s.0), of("axis.2", 1, &|s| s.1), of("all", 2, &|s| s.0 * s.1)])
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

fn found(bench: &mut Products) -> Found {
    let of =
        |field: Field, value| Tunable { name: format!("main/{field}/f:1"), site: "f:1".into(), field, value };
    let tunable = [of(Field::Jam, 4), of(Field::Reduced, 4)];
    let machine = Machine { workers: 2, bandwidth: None };
    let options = Options { objective: Objective::Mean, care: Care::QUICK, machine };
    search(bench, &tunable, &Named::new(), options)
}

fn named(all: &[(&str, i64)]) -> Named {
    all.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect()
}

#[test]
fn two_kinds_of_data_get_a_setting_each() {
    let mut bench = Products::new(&[(32, 4096), (512, 512), (10, 9999)]);
    let found = found(&mut bench);
    // Rows of up to 32 are jammed by eight; from 128 = √(32·512) on by four, as by default.
    let wanted = [("main/by.size/f:1@2/axis.1", 128), ("main/jam/f:1", 8)];
    assert_eq!(found.numbers, named(&wanted));
    let gains: Vec<f64> = found.last.iter().map(|l| l.ratio.unwrap().median).collect();
    assert!(gains[0] < 0.55 && gains[1] < 1.01 && gains[2] < 0.55, "{gains:?}");
    // What stands behind it: the times on both sides of the number, of each data set.
    let cut = found.evidence.iter().find(|n| n.name == "main/by.size/f:1@2/axis.1").unwrap();
    assert_eq!((cut.default, cut.chosen, cut.range), (0, 128, THRESHOLD));
    let of = |data: usize| cut.on.iter().find(|o| o.data == data).unwrap();
    assert_eq!((of(0).sizes.clone(), of(1).sizes.clone()), (vec![32], vec![512]));
    assert_eq!(of(0).fastest().unwrap().at, 33, "it does not reach the number");
    assert_eq!(of(1).fastest().unwrap().at, 512);
    let jam = |name: &str| found.evidence.iter().find(|n| n.name == name).unwrap();
    let on = |name: &str| jam(name).on.iter().map(|o| o.data).collect::<Vec<_>>();
    assert_eq!((on("main/jam/f:1"), on("main/jam/f:1@2")), (vec![0, 2], vec![1]));
    assert_eq!((jam("main/jam/f:1").chosen, jam("main/jam/f:1@2").chosen), (8, 4));
}

#[test]
fn three_kinds_of_data_get_three() {
    let mut bench = Products::new(&[(2000, 64), (32, 4096), (512, 512)]);
    let found = found(&mut bench);
    let of = |name: &str| found.numbers.get(name).copied();
    let cuts = [of("main/by.size/f:1@2/axis.1"), of("main/by.size/f:1@3/axis.1")];
    // √(32·512) = 128; √(512·2000) ≈ 1011.9.
    assert_eq!(cuts, [Some(128), Some(1012)], "{:?}", found.numbers);
    let jams = ["main/jam/f:1", "main/jam/f:1@2", "main/jam/f:1@3"].map(of);
    assert_eq!(jams, [Some(8), None, Some(1)], "{:?}", found.numbers);
    assert_eq!(found.numbers.len(), 4);
    assert!(found.last.iter().all(|l| l.ratio.unwrap().median < 1.01));
    for name in found.numbers.keys() {
        let number = found.evidence.iter().find(|n| n.name == *name);
        assert!(number.is_some_and(|n| Some(n.chosen) == of(name) && !n.on.is_empty()), "{name}");
    }
}

#[test]
fn what_no_size_tells_apart_has_one_setting() {
    // Both kinds have the same sizes on each side.
    let mut bench = Products::new(&[(32, 4096), (512, 512)]);
    bench.known = false;
    assert!(found(&mut bench).numbers.is_empty());
    // One kind alone needs no version.
    let mut bench = Products::new(&[(32, 4096), (16, 16)]);
    assert_eq!(found(&mut bench).numbers, named(&[("main/jam/f:1", 8)]));
}

#[test]
fn a_choice_that_costs_more_than_it_gains_is_none() {
    let mut bench = Products::new(&[(32, 4096), (512, 512)]);
    bench.choice = 1e-3;
    let found = found(&mut bench);
    assert!(found.numbers.is_empty() && !found.given_up, "{:?}", found.numbers);
}

#[test]
fn a_noisy_clock_finds_the_same_versions() {
    for seed in 1..20 {
        for noise in [0.1, 0.3] {
            let mut bench = Products::new(&[(32, 4096), (512, 512)]);
            (bench.noise, bench.state) = (noise, seed);
            let found = found(&mut bench);
            let wanted = [("main/by.size/f:1@2/axis.1", 128), ("main/jam/f:1", 8)];
            // What looks slower in the last run is not kept, though it be by the clock alone.
            let given_up = noise > 0.2 && found.given_up && found.numbers.is_empty();
            assert!(given_up || found.numbers == named(&wanted), "seed {seed}: {:?}", found.numbers);
        }
    }
}

#[test]
fn versions_that_were_kept_are_not_measured_again() {
    let bench = || Products::new(&[(2000, 64), (32, 4096), (512, 512)]);
    let mut whole = bench();
    let wanted = found(&mut whole);
    for part in [3, 2] {
        let mut first = bench();
        first.most_runs = whole.runs / part;
        assert!(found(&mut first).cut_short);
        let mut second = bench();
        second.kept = Kept::read(&first.kept.text()).unwrap();
        assert_eq!(found(&mut second).numbers, wanted.numbers);
        assert!(second.runs < whole.runs, "{} {}", second.runs, whole.runs);
    }
    let mut third = bench();
    third.kept = whole.kept.clone();
    assert_eq!(found(&mut third).numbers, wanted.numbers);
    assert!(third.runs < whole.runs / 2, "{} {}", third.runs, whole.runs);
}
