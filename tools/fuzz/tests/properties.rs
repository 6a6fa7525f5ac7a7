//! The properties of generated programs, on as many of them as a test run has time for.
//! `REMC_FUZZ_CASES=100000 cargo test --release -p remc-fuzz --test properties` tries more.

use remc_fuzz::campaign::STACK;
use remc_fuzz::generate::{self, Grain, Program, shrink};
use remc_fuzz::lab::{Fault, hush_panics};
use remc_fuzz::properties;
use std::time::{Duration, Instant};

/// Time for one test, unless a number of cases is wanted.
const BUDGET: Duration = Duration::from_secs(6);

fn wanted() -> Option<u64> {
    std::env::var("REMC_FUZZ_CASES").ok()?.parse().ok()
}

/// Runs the property on programs of the seeds from `first` on; the first that fails is made small.
fn for_all(first: u64, property: fn(&Program, u64) -> Result<(), Fault>) {
    let work = move || {
        hush_panics();
        let start = Instant::now();
        let mut done = 0;
        while wanted().map_or(start.elapsed() < BUDGET, |n| done < n) {
            let seed = first + done;
            // Small programs first.
            let program = generate::program(seed, 4 + (done / 8).min(30) as usize);
            if let Err(fault) = property(&program, seed) {
                let small = shrink::shrink(
                    &program,
                    Duration::from_secs(20),
                    |p| matches!(property(p, seed), Err(f) if f.signature() == fault.signature()),
                );
                let told = property(&small, seed).err().unwrap_or(fault);
                let told = properties::told(&small, seed, told);
                return Err(format!(
                    "seed {seed}\n{:?}: {}\n; as written explicitly\n{}",
                    told.kind,
                    told.message,
                    small.text(Grain::Explicit)
                ));
            }
            done += 1;
        }
        Ok(done)
    };
    let done = std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap();
    match done {
        Ok(done) => assert!(done >= 20, "only {done} programs in {BUDGET:?}"),
        Err(told) => {
            // Panics are hushed.
            eprintln!("{told}");
            panic!("a property fails")
        }
    }
}

#[test]
fn explicitly_typed_programs_check_and_evaluate() {
    for_all(1, |p, _| properties::check_grain(p, Grain::Explicit));
}

#[test]
fn programs_without_types_check_and_evaluate() {
    for_all(1_000_000, |p, _| properties::check_grain(p, Grain::Bare));
}

#[test]
fn erasing_annotations_keeps_the_term_and_broken_shapes_are_rejected() {
    for_all(2_000_000, properties::check);
}
