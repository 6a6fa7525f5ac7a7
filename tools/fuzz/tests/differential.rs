//! The differential test: generated programs, 600 of them or a third of that in a plain run, mean the same to the
//! interpreter and to compiled code.
//! `REMC_FUZZ_CASES=20000 cargo test --release -p remc-fuzz --test differential` tries more; so does
//! `remc-fuzz --only differential --count 20000 --seed N`, which also says what program was running when
//! compiled code took the process down with it.

use remc_fuzz::campaign::STACK;
use remc_fuzz::differential::{self, Devices, Verdict, shrink};
use remc_fuzz::lab::hush_panics;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const PROGRAMS: u64 = 600;

/// One of so many is tried in a plain run.
const PART: u64 = 3;

/// Threads that make and run programs.
const WORKERS: usize = 2;

/// Where the sequence starts.
const FIRST: u64 = 1;

#[derive(Default)]
struct Counts {
    next: AtomicU64,
    values: AtomicU64,
    parallel: AtomicU64,
    stops: AtomicU64,
    limited: AtomicU64,
    refused: AtomicU64,
    /// Those that ran and open boxes.
    boxes: AtomicU64,
    /// Those that ran and hide shapes.
    shapes: AtomicU64,
}

/// Runs programs until there are no more, or one fails, which is then made small.
fn work(counts: &Counts, wanted: u64) -> Result<(), String> {
    hush_panics();
    let devices = Devices::default();
    loop {
        let case = counts.next.fetch_add(1, Ordering::Relaxed);
        if case >= wanted {
            return Ok(());
        }
        let seed = FIRST + case;
        // Several numbers of threads take longer than one.
        let all = case.is_multiple_of(8);
        let program = differential::program_of(seed);
        match differential::check(&program, &devices, all) {
            Ok(verdict) => {
                let count = match verdict {
                    Verdict::Value => &counts.values,
                    Verdict::Parallel => &counts.parallel,
                    Verdict::Stop => &counts.stops,
                    Verdict::Limited => &counts.limited,
                    Verdict::Refused => &counts.refused,
                };
                count.fetch_add(1, Ordering::Relaxed);
                let ran = !matches!(verdict, Verdict::Limited | Verdict::Refused);
                if ran && program.text().contains("(unbox ") {
                    counts.boxes.fetch_add(1, Ordering::Relaxed);
                }
                if ran && program.text().contains("@w") {
                    counts.shapes.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(fault) => {
                counts.next.store(wanted, Ordering::Relaxed);
                let small = shrink::shrink(
                    &program,
                    Duration::from_secs(30),
                    |p| matches!(differential::check(p, &devices, all), Err(f) if f.cause() == fault.cause()),
                );
                let told = differential::check(&small, &devices, all).err().unwrap_or(fault);
                return Err(format!(
                    "seed {seed}\n{:?}: {}\n{}",
                    told.kind,
                    told.message,
                    small.with_inputs()
                ));
            }
        }
    }
}

#[test]
fn compiled_code_agrees_with_the_interpreter() {
    let usual = if remc_sample::everything() { PROGRAMS } else { PROGRAMS / PART };
    let wanted = std::env::var("REMC_FUZZ_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(usual);
    let counts = Counts::default();
    let told: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                let thread = std::thread::Builder::new().stack_size(STACK);
                thread.spawn_scoped(scope, || work(&counts, wanted)).unwrap()
            })
            .collect();
        workers.into_iter().filter_map(|w| w.join().unwrap().err()).collect()
    });
    // Panics are kept for reports, so this one would say nothing.
    told.iter().for_each(|t| eprintln!("{t}\n"));
    assert!(told.is_empty(), "programs differ");
    let count = |c: &AtomicU64| c.load(Ordering::Relaxed);
    let (parallel, stops) = (count(&counts.parallel), count(&counts.stops));
    let values = count(&counts.values) + parallel;
    // What is not compiled, or not well-typed, tests nothing.
    assert!(values + stops >= wanted * 9 / 10, "{} of {wanted} programs ran", values + stops);
    let (limited, boxes) = (count(&counts.limited), count(&counts.boxes));
    assert!(limited <= wanted / 20, "{limited} programs are not compiled");
    assert!(boxes >= wanted / 3, "only {boxes} programs open boxes");
    let shapes = count(&counts.shapes);
    assert!(shapes >= wanted / 20, "only {shapes} programs hide shapes");
    assert!(parallel >= wanted / 10, "only {parallel} programs ran in parallel");
    assert!(stops >= wanted / 100, "only {stops} programs stopped");
}
