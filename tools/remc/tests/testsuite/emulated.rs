//! The emulated device: the CUDA text of each program, run by one fiber for each thread of the GPU, with the
//! threads of a block and the blocks of a grid in ascending and in descending order. A third of the programs
//! runs once more under the emulator's race check, which is slow.
//!
//! Without a C++ compiler nothing is tested, and a line says so.

use crate::compiled::{self, Way};
use crate::examples;
use crate::stem;
use libtest_mimic::{Failed, Trial};
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
const CHECKED: u64 = 3;

pub fn trials() -> Vec<Trial> {
    let programs = compiled::programs(|path, code| {
        let name = format!("emulated::{}", stem(&path));
        match code {
            None => trial(name, move || compiled::gives_its_value(&path, ways(&path))),
            Some(code) => trial(name, move || compiled::is_refused(&path, &code, &WAYS[0])),
        }
    });
    let stopping = compiled::stopping(|path, code| {
        let name = format!("emulated_stops::{}", stem(&path));
        match code {
            None => trial(name, move || compiled::stops_alike(&path, ways(&path))),
            Some(code) => trial(name, move || compiled::is_refused(&path, &code, &WAYS[0])),
        }
    });
    programs.into_iter().chain(stopping).chain(examples::trials("emulated", plain(), is_there)).collect()
}

/// A test that is left out where there is no C++ compiler.
fn trial(name: String, work: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    Trial::test(name, move || if is_there() { work() } else { Ok(()) })
}

pub fn is_there() -> bool {
    let found = remc_emulate::Emulator::new(std::env::temp_dir());
    found.inspect_err(|none| eprintln!("the emulated device: left out: {none}")).is_ok()
}

/// Both orders.
pub fn plain() -> &'static [Way] {
    &WAYS[..2]
}

/// How a program is run; which ones are checked for races depends on names alone.
fn ways(path: &Path) -> &'static [Way] {
    let is_checked = remc_sample::rank(&format!("races::{}", stem(path))).is_multiple_of(CHECKED);
    if is_checked { &WAYS } else { plain() }
}
