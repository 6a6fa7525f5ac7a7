//! What programs are lowered to keeps the rules of Kernel, has no race, and reads back: every program of
//! the testsuite, every example and every example of the library that Mono can express, as built and as
//! optimised, with several versions of what is parallel.

#[allow(dead_code)]
#[path = "../../mono/tests/build_support/mod.rs"]
mod build_support;

use build_support::*;
use remc_flat::flatten::{Thresholds, flatten_with};
use remc_kernel::lower::{Target, lower_with};
use remc_kernel::parse::parse_program;
use remc_kernel::print::print_program;
use remc_kernel::{race, verify};
use remc_mono::ir::Program;

#[test]
fn programs_of_the_testsuite() {
    on_a_large_stack(|| check(sample("lowering", testsuite()).into_iter().chain(examples())));
}

#[test]
fn examples_of_the_library() {
    on_a_large_stack(|| check(sample("lowering", library())));
}

fn check(cases: impl IntoIterator<Item = Case>) {
    let (mut right, mut wrong) = (0, Vec::new());
    let mut sessions = Sessions::new();
    for case in cases {
        let Ok(Ran { program: Some(built), .. }) = sessions.run(&case) else { continue };
        let mut optimised = built.clone();
        remc_mono::opt::optimise(&mut optimised);
        for (what, program) in [("built", built), ("optimised", optimised)] {
            match one(&program) {
                Ok(()) => right += 1,
                Err(e) => wrong.push(format!("{} ({what}): {e}", case.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), wrong.len() + right, wrong.join("\n"));
    assert!(right > 100);
}

fn one(program: &Program) -> Result<(), String> {
    let targets = [Target::default(), Target::gpu()];
    for (par_outer, target) in [1, 64].into_iter().flat_map(|n| targets.map(|t| (n, t))) {
        let tiny = Thresholds::tiny(par_outer);
        let tiny = if target.threads { tiny.for_threads() } else { tiny };
        let flat = flatten_with(program, &tiny).map_err(|e| format!("{e:?}"))?;
        let kernel = lower_with(&flat, target).map_err(|e| e.0)?;
        let text = print_program(&kernel);
        verify::verify(&kernel).map_err(|e| format!("{e}\n{text}"))?;
        race::check(&kernel).map_err(|e| format!("{e}\n{text}"))?;
        match parse_program(&text) {
            // What is no number is unlike itself, but not its text.
            Ok(read) if print_program(&read) == text => {}
            Ok(_) => return Err(format!("another program reads back\n{text}")),
            Err(e) => return Err(format!("the text does not read back: {e}\n{text}")),
        }
    }
    Ok(())
}
