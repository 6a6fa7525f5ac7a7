//! The emulated device: the CUDA text of each program, run by one fiber for each thread of the GPU, with the
//! threads of a block and the blocks of a grid in ascending and in descending order. Some of the programs
//! run once more under the emulator's race check, which is slow.
//!
//! Without a C++ compiler nothing is tested, and a line says so.

use crate::compiled::{self, Way};
use crate::examples;
use crate::stem;
use libtest_mimic::Trial;
use std::path::Path;

const fn with(environment: &'static [(&'static str, &'static str)]) -> Way {
    Way { device: "emulated", arguments: &[], environment }
}

/// The last one is for a sample.
const WAYS: [Way; 3] = [
    with(&[("REMC_EMULATE_ORDER", "forward")]),
    with(&[("REMC_EMULATE_ORDER", "reverse")]),
    with(&[("REMC_EMULATE_ORDER", "random:1"), ("REMC_EMULATE_CHECK", "races")]),
];

/// One program of so many is checked for races.
const SAMPLED: u32 = 6;

pub fn trials() -> Vec<Trial> {
    if let Err(none) = remc_emulate::Emulator::new(std::env::temp_dir()) {
        eprintln!("the emulated device: left out: {none}");
        return Vec::new();
    }
    let programs = compiled::programs(|path, code| {
        let name = format!("emulated::{}", stem(&path));
        match code {
            None => Trial::test(name, move || compiled::gives_its_value(&path, ways(&path))),
            Some(code) => Trial::test(name, move || compiled::is_refused(&path, &code, &WAYS[0])),
        }
    });
    let stopping = compiled::stopping(|path, code| {
        let name = format!("emulated_stops::{}", stem(&path));
        match code {
            None => Trial::test(name, move || compiled::stops_alike(&path, ways(&path))),
            Some(code) => Trial::test(name, move || compiled::is_refused(&path, &code, &WAYS[0])),
        }
    });
    programs.into_iter().chain(stopping).chain(examples::trials("emulated", &WAYS[..2])).collect()
}

/// How a program is run; which ones are in the sample depends on names alone.
fn ways(path: &Path) -> &'static [Way] {
    let sum: u32 = stem(path).bytes().map(u32::from).sum();
    if sum.is_multiple_of(SAMPLED) { &WAYS } else { &WAYS[..2] }
}
