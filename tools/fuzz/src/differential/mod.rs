//! The differential test: generated programs mean the same on every device.
//!
//! ```text
//! make ── a well-typed program with an entry of run-time sizes, and its inputs, from a seed
//! run ─── interpreter and compiled code with 1, 2 and 5 threads, in this process; the emulated device if asked
//! compare integers, truth values, characters, shapes and stops exactly; floats as Tolerance says
//! shrink  a failing program made small
//! ```
//!
//! The generator knows of each array of floats whether it holds small whole numbers: sums of these are
//! the same in any order, so nearly all comparisons are exact. Sums of other floats, and functions that
//! the host's library computes, are results only, compared within bounds.

mod compare;
mod inputs;
mod make;
pub mod program;
mod run;
pub mod shrink;
pub mod term;

use crate::lab::{Fault, FaultKind, guarded};
pub use make::program as program_of;
use program::Program;
pub use run::Devices;
use run::{Ran, run};

/// What came of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Both devices gave a value.
    Value,
    /// They did, and a kernel had several blocks.
    Parallel,
    /// Both devices stopped in the same way.
    Stop,
    /// It holds what is not compiled.
    Limited,
    /// The generator wrote what the checker refuses.
    Refused,
}

/// Runs a program everywhere and compares. `all` runs it with every number of threads.
pub fn check(program: &Program, devices: &Devices, all: bool) -> Result<Verdict, Fault> {
    guarded(|| match run(program, devices, all) {
        Ran::Limited(_) => Ok(Verdict::Limited),
        Ran::Refused(_) => Ok(Verdict::Refused),
        Ran::Bug(message) => Err(Fault::new(FaultKind::Compiler, message)),
        Ran::Both { expected, found, tuned, emulated, parallel } => {
            for (threads, made) in &found {
                if let Some(told) = compare::differ(program, &expected, made) {
                    let message =
                        format!("{told}\n; with {threads} threads\n{made:?}\n; and not\n{expected:?}");
                    return Err(Fault::new(FaultKind::Differs, shortened(&message)));
                }
            }
            for (setting, all) in &tuned {
                if let Some((made, told)) =
                    all.iter().find_map(|made| Some((made, compare::differ(program, &expected, made)?)))
                {
                    let message =
                        format!("{told}\n; with thresholds {setting:?}\n{made:?}\n; and not\n{expected:?}");
                    return Err(Fault::new(FaultKind::Differs, shortened(&message)));
                }
                if all.iter().any(|made| !compare::same(&all[0], made)) {
                    let message = format!("the number of threads tells with thresholds {setting:?}");
                    return Err(Fault::new(FaultKind::Threads, message));
                }
            }
            if let Some(made) = &emulated
                && let Some(told) = compare::differ(program, &expected, made)
            {
                let message = format!("{told}\n; emulated\n{made:?}\n; and not\n{expected:?}");
                return Err(Fault::new(FaultKind::Differs, shortened(&message)));
            }
            if let Some(((_, first), rest)) = found.split_first()
                && let Some((threads, _)) = rest.iter().find(|(_, made)| !compare::same(first, made))
            {
                let message = format!("another value with {threads} threads than with 1");
                return Err(Fault::new(FaultKind::Threads, message));
            }
            Ok(match *expected {
                Ok(_) if parallel => Verdict::Parallel,
                Ok(_) => Verdict::Value,
                Err(_) => Verdict::Stop,
            })
        }
    })
}

/// Why the checker refuses a program, or the compiler, if they do.
pub fn refused(program: &Program, devices: &Devices) -> Option<String> {
    match run(program, devices, false) {
        Ran::Refused(why) | Ran::Limited(why) => Some(why),
        _ => None,
    }
}

fn shortened(text: &str) -> String {
    text.chars().take(1600).collect()
}
