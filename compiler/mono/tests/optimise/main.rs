//! Optimised Mono means what the interpreter says: every program of the testsuite and every example of
//! the library, after the whole list of passes, and after each pass has run once. What each pass writes
//! is verified. A plain run takes a sample of them, in which each pass that goes wrong is found.

mod broken;
#[path = "../build_support/mod.rs"]
mod build_support;

use build_support::*;
use remc_mono::ir::Program;
use remc_mono::opt::{self, Rounds};
use remc_mono::print::print_program;
use remc_mono::verify::verify;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// How many programs beside the sample are taken for a pass that changes none of it.
const OTHERS: usize = 4;

/// Each pass of the list once, with the verifier after it; then the list until nothing changes.
fn each_pass(p: &mut Program) -> Result<(), String> {
    for pass in opt::PASSES {
        (pass.run)(p);
        verify(p).map_err(|e| format!("after {}: {e}\n{}", pass.info.name, print_program(p)))?;
    }
    opt::optimise(p);
    verify(p).map_err(|e| format!("after all passes: {e}\n{}", print_program(p)))
}

/// The programs of a plain run, a sample and for each pass that changes none of it [`OTHERS`] that it does change; and
/// which passes change each of them.
fn plain_run(sessions: &mut Sessions) -> (Vec<Case>, Vec<BTreeSet<usize>>) {
    let mut cases = plain_sample("optimise", testsuite());
    let mut changed: Vec<BTreeSet<usize>> = cases.iter().map(|c| changing(sessions, c)).collect();
    let is_there = |k: &usize| changed.iter().any(|passes| passes.contains(k));
    let mut missing: Vec<(usize, usize)> =
        (0..opt::PASSES.len()).filter(|k| !is_there(k)).map(|k| (k, OTHERS)).collect();
    let mut others = testsuite();
    others.retain(|o| cases.iter().all(|c| c.name != o.name));
    others.sort_by_key(|c| remc_sample::rank(&c.name));
    for case in others {
        missing.retain(|(_, left)| *left > 0);
        if missing.is_empty() {
            break;
        }
        let passes = changing(sessions, &case);
        let mut of_use = false;
        for (_, left) in missing.iter_mut().filter(|(k, _)| passes.contains(k)) {
            (*left, of_use) = (*left - 1, true);
        }
        if of_use {
            cases.push(case);
            changed.push(passes);
        }
    }
    (cases, changed)
}

/// The passes that change a program.
fn changing(sessions: &mut Sessions, case: &Case) -> BTreeSet<usize> {
    let passes = RefCell::new(BTreeSet::new());
    let run = |p: &mut Program| {
        each(p, &mut |k, before, p| {
            if before != print_program(p) {
                passes.borrow_mut().insert(k);
            }
            Ok(())
        })
    };
    // A program that is not compiled has no passes.
    let _ = sessions.run_after(case, &run);
    passes.into_inner()
}

/// Runs the list of passes; after each one `f` sees its place, the text before it and the program.
fn each(
    p: &mut Program,
    f: &mut dyn FnMut(usize, String, &mut Program) -> Result<(), String>,
) -> Result<(), String> {
    let mut rounds = Rounds::default();
    while let Some(k) = rounds.next(p) {
        let before = print_program(p);
        (opt::PASSES[k].run)(p);
        f(k, before, p)?;
    }
    Ok(())
}

/// The passes change no value, no stop and no trace.
fn compare(programs: Vec<Case>) {
    let mut sessions = Sessions::new();
    let (mut same, mut wrong) = (0, Vec::new());
    for case in programs {
        match sessions.run_after(&case, &each_pass) {
            Ok(Ran { expected, built: Ok(found), .. }) if expected == found => same += 1,
            Ok(Ran { expected, built: Ok(found), program, .. }) => {
                let text = program.as_ref().map(print_program).unwrap_or_default();
                wrong.push(format!("{}\n  interpreter: {expected:?}\n  mono: {found:?}\n{text}", case.name));
            }
            Ok(Ran { built: Err(_), .. }) | Err(_) => {}
        }
    }
    println!("{same} alike, {} wrong", wrong.len());
    assert!(wrong.is_empty(), "{} are wrong, {same} are not:\n{}", wrong.len(), wrong.join("\n"));
    assert!(same > 0);
}

#[test]
fn programs_of_the_testsuite() {
    let cases = || match remc_sample::everything() {
        true => testsuite(),
        false => plain_run(&mut Sessions::new()).0,
    };
    on_a_large_stack(move || compare(cases()));
}

#[test]
fn examples_of_the_library() {
    on_a_large_stack(|| compare(sample("optimise", library())));
}

#[test]
fn entries_of_unknown_sizes() {
    on_a_large_stack(|| compare(entries()));
}

#[test]
fn examples() {
    on_a_large_stack(|| compare(build_support::examples()));
}
