//! Lowering keeps what programs mean: every program of the testsuite, every example and every example of the
//! library that Mono can express gives the values that it has as Mono, when its plan is executed and its
//! kernels are interpreted, for several targets, with blocks that run in either order. Where it stops, it
//! stops still; at which of several failing checks is free.
//!
//! The interpreter reports what a device would not: an index outside of a buffer, an element that is read
//! and was never written, two blocks at one place.

#[allow(dead_code)]
#[path = "../../mono/tests/build_support/mod.rs"]
mod build_support;

use build_support::*;
use remc_base::Value;
use remc_flat::flatten::{Thresholds, flatten_with};
use remc_kernel::ir::Ty;
use remc_kernel::lower::{Target, lower_with};
use remc_kernel::print::print_program;
use remc_kernel::traps::traps;
use remc_mono::eval::{self, Array, Fault};
use remc_mono::ir::Program;
use remc_mono::opt::{RowsAre, optimise_for};
use remc_runtime::plan::interpret::{Interpreter, Memory};
use remc_runtime::plan::{Argument, Given, run};
use remc_runtime::stop::Stopped;
use std::rc::Rc;

#[test]
fn programs_of_the_testsuite() {
    on_a_large_stack(|| compare(sample("kernel", testsuite()).into_iter().chain(examples())));
}

#[test]
fn examples_of_the_library() {
    on_a_large_stack(|| compare(sample("kernel", library())));
}

/// Rows whose lengths are read once: they begin and end where they should, and where the lengths are wrong nothing
/// outside of the elements is read.
#[test]
fn rows_whose_lengths_are_read_once() {
    let sums = "(unbox (split xs lengths) (row n) (reduce/zero + 0 (* row row)))";
    let more = "(unbox (split xs lengths) (row n) (+ (* n (reduce/zero max2 -9 row)) (reduce/zero + 1 row)))";
    // Each of its rows may stop the program itself; and two sums of lengths are asked for.
    let checked = "(unbox (split xs lengths) (row n) (reduce/zero + 0 ((λ ([x 0]) (index xs [x])) row)))";
    let twice = "(+ (unbox (split xs lengths) (row n) (reduce/zero + 0 row))
                    (unbox (split ys lengths) (row n) (reduce/zero + 0 row)))";
    let lengths = [
        // They add up.
        "[3 0 1 5 2 0 0 4 1]",
        "[16]",
        "[0 0 0 0 0 0 0 16]",
        "[1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1]",
        // Too many in the first tile, in the last one, and too few.
        "[3 100 1 5 2 0 0 4 1]",
        "[3 0 1 5 2 0 0 4 2]",
        "[3 0 1 5 2 0 0 4]",
        // Below zero, though the sum is right.
        "[3 0 -1 5 2 0 0 4 3]",
        "[99 0 1 5 2 0 0 4 1 -96]",
        "[-5 5 16]",
        "[4 4 4 4 1099511627776 -1099511627776]",
        "[]",
    ];
    on_a_large_stack(move || {
        let mut sessions = Sessions::new();
        for (body, once) in [(sums, true), (more, true), (checked, false), (twice, false)] {
            for given in lengths {
                let xs = "[5 3 11 2 7 1 13 9 8 6 4 12 10 14 15 0]";
                let text = format!(
                    "; entry: main\n; input: xs={xs}\n; input: ys={xs}\n; input: lengths={given}\n
                     (entry (main [xs [int n]] [ys [int m]] [lengths [int k]]) {body})"
                );
                let case = Case { name: format!("{body} {given}"), text };
                let ran = sessions.run(&case).unwrap_or_else(|e| panic!("{}: {e}", case.name));
                let Some(mut program) = ran.program else { panic!("{}: no program", case.name) };
                remc_mono::opt::optimise(&mut program);
                one(&program, &ran.params, None).unwrap_or_else(|e| panic!("{}: {e}", case.name));
                let lowered = |target| {
                    let flat = flatten_with(&program, &tiny(1, target)).unwrap();
                    print_program(&lower_with(&flat, target).unwrap())
                };
                let kernel = lowered(Target::default());
                assert_eq!(kernel.contains("\"rows\""), once, "{}: {kernel}", case.name);
                let gpu = lowered(Target::gpu());
                assert!(!gpu.contains("\"rows\""), "{}: {gpu}", case.name);
            }
        }
    });
}

/// What a program does: its results, or the message with which it stops.
#[derive(Debug)]
enum Meaning {
    Value(Vec<Array>),
    Stop(String),
}

fn compare(cases: impl IntoIterator<Item = Case>) {
    let (mut same, mut wrong) = (0, Vec::new());
    let mut sessions = Sessions::new();
    for case in cases {
        let Ok(Ran { program: Some(built), params, .. }) = sessions.run(&case) else { continue };
        let optimised = |rows| {
            let mut p = built.clone();
            optimise_for(&mut p, rows);
            p
        };
        let all = [
            ("optimised", None, optimised(RowsAre::Distributed)),
            ("for tasks", Some(false), optimised(RowsAre::Tasks)),
            ("for groups", Some(true), optimised(RowsAre::Groups)),
        ];
        let differs = |k: usize| (0..k).all(|j| all[j].2.body != all[k].2.body);
        let all =
            (0..all.len()).filter(|k| *k == 0 || differs(*k)).map(|k| all[k].clone()).collect::<Vec<_>>();
        for (what, threads, program) in std::iter::once(("built", None, built)).chain(all) {
            match one(&program, &params, threads) {
                Ok(()) => same += 1,
                Err(e) => wrong.push(format!("{} ({what}): {e}", case.name)),
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {} are wrong:\n{}", wrong.len(), wrong.len() + same, wrong.join("\n"));
    assert!(same > 100, "{same}");
}

/// Compares what a program means with what its kernels do, for both kinds of devices or one.
fn one(program: &Program, params: &[Array], threads: Option<bool>) -> Result<(), String> {
    let wanted = match eval::run(program, params) {
        Ok(results) => Meaning::Value(results),
        Err(Fault::Stop { trap, values, .. }) => Meaning::Stop(trap.report(&values).message),
        Err(Fault::Bug(m)) => return Err(m),
        Err(Fault::Long) => return Err("too many steps".into()),
    };
    // Whole arrays in a block, and as many blocks as there can be.
    let many = Target::default().grained(1);
    let gpu = Target::gpu().grained(1);
    for (par_outer, target, descending) in [
        (64, Target::default(), false),
        (1, many, false),
        (64, many, true),
        (1, Target::default(), true),
        (1, Target::gpu(), true),
        (1, gpu, false),
        (64, gpu, true),
    ]
    .into_iter()
    .filter(|(_, target, _)| threads.is_none_or(|t| t == target.threads))
    {
        let flat = flatten_with(program, &tiny(par_outer, target)).map_err(|e| format!("{e:?}"))?;
        let kernel = lower_with(&flat, target).map_err(|e| e.0)?;
        let about =
            |e: &str| format!("{par_outer}, {target:?}, {descending}: {e}\n{}", print_program(&kernel));
        let found = execute(&kernel, params, descending).map_err(|e| about(&e))?;
        if !alike(&wanted, &found) {
            return Err(about(&format!("{wanted:?} becomes {found:?}")));
        }
    }
    Ok(())
}

/// Thresholds that data of a few elements meets, for a device.
fn tiny(par_outer: i64, target: Target) -> Thresholds {
    let tiny = Thresholds::tiny(par_outer);
    if target.threads { tiny.for_threads() } else { tiny }
}

fn execute(p: &remc_kernel::ir::Program, params: &[Array], descending: bool) -> Result<Meaning, String> {
    let memory = |a: &Array| {
        let value = Value::of_scalars(a.base, a.dims.clone(), a.data.iter().copied());
        Memory::of(&value).map(Rc::new).ok_or("a parameter of no base type")
    };
    let buffers = params.iter().map(memory).collect::<Result<Vec<_>, _>>()?;
    let arguments: Vec<Argument<'_, Rc<Memory>>> = p
        .params
        .iter()
        .zip(params.iter().zip(&buffers))
        .map(|(v, (a, buffer))| match p.ty(*v) {
            Ty::Scalar(_) => Argument::Scalar(a.data[0]),
            Ty::Buffer(_) => Argument::Buffer(buffer),
        })
        .collect();
    let array = |given: Given<Rc<Memory>>| match given {
        Given::Scalar(s) => Ok(Array::scalar(s)),
        Given::Buffer { buffer, base, dims } => {
            let value = buffer.value(&dims).map_err(|e| format!("{e:?}"))?;
            let scalars = value.data.iter().map(|a| match a {
                remc_base::Atom::Scalar(s) => Ok(s),
                _ => Err("an element that is no scalar"),
            });
            Ok(Array { base, dims, data: Rc::new(scalars.collect::<Result<_, _>>()?) })
        }
    };
    match run(p, &mut Interpreter::new(p, descending), &arguments) {
        Ok(results) => Ok(Meaning::Value(results.into_iter().map(array).collect::<Result<_, String>>()?)),
        Err(Stopped::Trap { trap, values, .. }) => {
            Ok(Meaning::Stop(traps(p)[trap as usize].report(&values).message))
        }
        Err(Stopped::TooLarge { trap, values, .. }) => Ok(Meaning::Stop(trap.report(&values).message)),
        Err(other) => Err(format!("{other:?}")),
    }
}

/// Whether two runs mean the same; what is no number equals itself.
fn alike(a: &Meaning, b: &Meaning) -> bool {
    match (a, b) {
        (Meaning::Value(a), Meaning::Value(b)) => format!("{a:?}") == format!("{b:?}"),
        (Meaning::Stop(a), Meaning::Stop(b)) => a == b,
        _ => false,
    }
}
