//! The properties of generated programs, on the same ones at each run: what a run finds is not to depend on how fast
//! its machine is. `REMC_FUZZ_CASES=100000 cargo test --release -p remc-fuzz --test properties` tries more.

use remc_fuzz::campaign::STACK;
use remc_fuzz::generate::{self, Grain, Program, shrink};
use remc_fuzz::lab::{Fault, hush_panics};
use remc_fuzz::properties;
use std::time::Duration;

/// One of so many programs is tried in a plain run.
const PART: u64 = 5;

/// Runs the property on `cases` programs, of the seeds from `first` on, or on as many as the environment says; the
/// first that fails is made small.
fn for_all(first: u64, cases: u64, property: fn(&Program, u64) -> Result<(), Fault>) {
    let cases = if remc_sample::everything() { cases } else { cases / PART };
    let cases = std::env::var("REMC_FUZZ_CASES")
        .map_or(cases, |n| n.parse().unwrap_or_else(|_| panic!("REMC_FUZZ_CASES={n} is no number")));
    let work = move || {
        hush_panics();
        for done in 0..cases {
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
        }
        Ok(())
    };
    let done = std::thread::Builder::new().stack_size(STACK).spawn(work).unwrap().join().unwrap();
    if let Err(told) = done {
        // Panics are hushed.
        eprintln!("{told}");
        panic!("a property fails")
    }
}

#[test]
fn explicitly_typed_programs_check_and_evaluate() {
    for_all(1, 2000, |p, _| properties::check_grain(p, Grain::Explicit));
}

#[test]
fn programs_without_types_check_and_evaluate() {
    for_all(1_000_000, 2000, |p, _| properties::check_grain(p, Grain::Bare));
}

#[test]
fn erasing_annotations_keeps_the_term_and_broken_shapes_are_rejected() {
    for_all(2_000_000, 300, properties::check);
}
