//! Flattening keeps what programs mean: every program of the testsuite and every example of the library
//! that Mono can express, as built and as optimised, gives the same values before and after, whichever
//! version each branch chooses. Where it stops, it stops still; at which of several failing checks is free.

#[allow(dead_code)]
#[path = "../../mono/tests/build_support/mod.rs"]
mod build_support;

use build_support::*;
use remc_flat::flatten::{Thresholds, flatten_with};
use remc_flat::ir::Guard;
use remc_flat::meaning::to_mono;
use remc_flat::{parse, print, verify};
use remc_mono::eval::{self, Array, Fault};
use remc_mono::ir::Program;
use remc_mono::opt::{RowsAre, optimise_for};

#[test]
fn programs_of_the_testsuite() {
    on_a_large_stack(|| compare(sample("flat", testsuite())));
}

#[test]
fn examples_of_the_library() {
    on_a_large_stack(|| compare(sample("flat", library())));
}

fn compare(cases: Vec<Case>) {
    let (mut same, mut wrong) = (0, Vec::new());
    let mut sessions = Sessions::new();
    for case in cases {
        let Ok(Ran { program: Some(built), params, .. }) = sessions.run(&case) else { continue };
        let mut optimised = built.clone();
        remc_mono::opt::optimise(&mut optimised);
        let but_rows = |rows| {
            let mut p = built.clone();
            optimise_for(&mut p, rows);
            p
        };
        let [tasks, groups] = [RowsAre::Tasks, RowsAre::Groups].map(but_rows);
        for (what, program, threads) in [
            ("built", built, false),
            ("optimised", optimised, false),
            ("for tasks", tasks, false),
            ("for groups", groups, true),
        ] {
            match one(&program, &params, threads) {
                Ok(()) => same += 1,
                Err(e) => wrong.push(format!("{} ({what}): {e}", case.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), wrong.len() + same, wrong.join("\n"));
    assert!(same > 100);
}

fn one(program: &Program, params: &[Array], threads: bool) -> Result<(), String> {
    let wanted = run(program, params)?;
    for par_outer in [1, 3, 64] {
        let tiny = Thresholds::tiny(par_outer);
        let tiny = if threads { tiny.for_threads() } else { tiny };
        let flat = flatten_with(program, &tiny).map_err(|e| format!("{e:?}"))?;
        let text = print::print_program(&flat);
        verify::verify(&flat).map_err(|e| format!("{e}\n{text}"))?;
        match parse::parse_program(&text) {
            // What is no number is unlike itself, but not its text.
            Ok(read) if print::print_program(&read) == text => {}
            Ok(_) => return Err(format!("the text reads back as another program\n{text}")),
            Err(e) => return Err(format!("the text does not read back: {e}\n{text}")),
        }
        for choice in [None, Some(true), Some(false)] {
            let found = run(&to_mono(&flat, &mut |_: &Guard| choice), params)
                .map_err(|e| format!("{choice:?}: {e}\n{text}"))?;
            if found != wanted {
                return Err(format!("{choice:?}: {wanted} becomes {found}\n{text}"));
            }
        }
    }
    Ok(())
}

/// The value of a program as text; what is no number equals itself.
fn run(program: &Program, params: &[Array]) -> Result<String, String> {
    match eval::run(program, params) {
        Ok(results) => Ok(format!("{results:?}")),
        Err(Fault::Stop { .. }) => Ok("a stop".to_owned()),
        Err(Fault::Bug(m)) => Err(m),
        Err(Fault::Long) => Err("too many steps".into()),
    }
}
