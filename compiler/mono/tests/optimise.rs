//! Optimised Mono means what the interpreter says: every program of the testsuite and every example of
//! the library, after the whole list of passes, and after each pass has run once. What each pass writes
//! is verified.

mod build_support;

use build_support::*;
use remc_mono::ir::Program;
use remc_mono::opt;
use remc_mono::print::print_program;
use remc_mono::verify::verify;

/// Each pass of the list once, with the verifier after it; then the list until nothing changes.
fn each_pass(p: &mut Program) -> Result<(), String> {
    for pass in opt::PASSES {
        (pass.run)(p);
        verify(p).map_err(|e| format!("after {}: {e}\n{}", pass.info.name, print_program(p)))?;
    }
    opt::optimise(p);
    verify(p).map_err(|e| format!("after all passes: {e}\n{}", print_program(p)))
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
    on_a_large_stack(|| compare(testsuite()));
}

#[test]
fn examples_of_the_library() {
    on_a_large_stack(|| compare(library()));
}

#[test]
fn entries_of_unknown_sizes() {
    on_a_large_stack(|| compare(entries()));
}

#[test]
fn examples() {
    on_a_large_stack(|| compare(build_support::examples()));
}
