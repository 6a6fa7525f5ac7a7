//! The cpu device, with any number of threads.

use crate::compiled::{self, Way};
use crate::examples;
use crate::stem;
use libtest_mimic::Trial;

const fn threads(arguments: &'static [&'static str]) -> Way {
    Way { device: "cpu", arguments, environment: &[] }
}

/// One thread, an even split, and more threads than most machines here have cores.
pub const WAYS: [Way; 3] =
    [threads(&["--threads", "1"]), threads(&["--threads", "2"]), threads(&["--threads", "5"])];

/// Pieces of a stream of any size.
const CHUNKS: [Way; 3] =
    [threads(&["--chunk", "1"]), threads(&["--chunk", "2"]), threads(&["--chunk", "1000"])];

pub fn trials() -> Vec<Trial> {
    let mut trials = compiled::programs(|path, code| {
        Trial::test(format!("cpu::{}", stem(&path)), move || match &code {
            None if std::fs::read_to_string(&path)?.contains("(Stream ") => {
                compiled::gives_its_value(&path, &WAYS)
                    .and_then(|()| compiled::gives_its_value(&path, &CHUNKS))
            }
            None => compiled::gives_its_value(&path, &WAYS),
            Some(code) => compiled::is_refused(&path, code, &WAYS[1]),
        })
    });
    trials.extend(compiled::stopping(|path, code| {
        Trial::test(format!("cpu_stops::{}", stem(&path)), move || match &code {
            None => compiled::stops_alike(&path, &WAYS),
            Some(code) => compiled::is_refused(&path, code, &WAYS[1]),
        })
    }));
    trials.extend(examples::trials("cpu", &WAYS, || true));
    trials.push(Trial::test("cpu::not_compiled_names_programs", compiled::not_compiled_names_programs));
    trials
}
