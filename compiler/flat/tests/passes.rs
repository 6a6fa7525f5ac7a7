//! Goldens of flattening: `testsuite/passes/flat/flatten/NAME.in.mono` is a program, `NAME.out.flat` what
//! becomes of it. The first line of the output, a comment, is its structure: how many of each operator
//! there are, which no renaming changes.
//!
//! Both programs are verified, the output is read back, and both are run on small arrays, whichever version
//! each branch chooses. `UPDATE_EXPECT=1` writes what the pass gives.

use remc_base::{BaseTy, Scalar};
use remc_flat::flatten::{ALWAYS, NEVER, Threshold, Thresholds, flatten_with};
use remc_flat::ir::{Exp, Guard, Test};
use remc_flat::meaning::to_mono;
use remc_flat::{parse, print, verify};
use remc_mono::eval::{self, Array, Fault};
use remc_mono::ir as mono;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::{env, fs};

#[test]
fn flattening_gives_what_is_expected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testsuite/passes/flat/flatten");
    let bless = env::var_os("UPDATE_EXPECT").is_some();
    let mut inputs: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|e| e.unwrap().path()).collect();
    inputs.sort();
    let (mut tests, mut failures) = (0, Vec::new());
    for input in inputs {
        let Some(stem) = input.to_str().unwrap().strip_suffix(".in.mono") else { continue };
        tests += 1;
        let output = format!("{stem}.out.flat");
        let found = one(&input);
        if bless {
            fs::write(&output, found).unwrap();
        } else if fs::read_to_string(&output).ok().as_ref() != Some(&found) {
            failures.push(format!("{stem}: flattening gives\n{found}"));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(tests > 0);
}

fn one(input: &Path) -> String {
    let text = fs::read_to_string(input).unwrap();
    let before =
        remc_mono::parse::parse_program(&text).unwrap_or_else(|e| panic!("{}: {e}", input.display()));
    remc_mono::verify::verify(&before).unwrap_or_else(|e| panic!("{}: {e}", input.display()));
    // For a processor, unless it is named otherwise.
    let gpu = input.to_str().is_some_and(|name| name.ends_with(".gpu.in.mono"));
    let after = flatten_with(&before, if gpu { &Thresholds::GPU } else { &Thresholds::CPU }).unwrap();
    let printed = print::print_program(&after);
    verify::verify(&after).unwrap_or_else(|e| panic!("{}: {e}\n{printed}", input.display()));
    assert_eq!(parse::parse_program(&printed).as_ref(), Ok(&after), "{}", input.display());
    let wanted = run(&before).unwrap();
    for choice in [None, Some(true), Some(false)] {
        let found = run(&to_mono(&after, &mut |_: &Guard| choice));
        assert_eq!(found.as_ref(), Ok(&wanted), "{} {choice:?}\n{printed}", input.display());
    }
    format!("; {}\n{printed}", after.structure())
}

/// The results for n = 8, m = 9, k = 3.
fn run(p: &mono::Program) -> Result<Vec<Array>, Fault> {
    let ints = |dims: &[usize], values: &[i64]| Array {
        base: BaseTy::I64,
        dims: dims.to_vec(),
        data: Rc::new(values.iter().map(|n| Scalar::I64(*n)).collect()),
    };
    let floats = |m: usize, n: usize| Array {
        base: BaseTy::F64,
        dims: vec![m, n],
        data: Rc::new((0..m * n).map(|k| Scalar::F64((k * k % 7) as f64 + 0.5)).collect()),
    };
    let sizes = [8, 9, 3].map(|n| ints(&[], &[n]));
    let arrays = [floats(8, 3), floats(3, 9), ints(&[8], &[3, 1, 4, 1, 2, 7, 1, 2]), ints(&[], &[2])];
    eval::run(p, &sizes.into_iter().chain(arrays).collect::<Vec<_>>())
}

/// The guards of a program, in order.
fn guards(text: &str, thresholds: &Thresholds) -> Vec<Guard> {
    let program = flatten_with(&remc_mono::parse::parse_program(text).unwrap(), thresholds).unwrap();
    let mut guards = Vec::new();
    program.body.for_each_stmt(&mut |s| {
        if let Exp::Branch { guard, .. } = &s.exp {
            guards.push(guard.clone());
        }
    });
    guards
}

/// Programs of `count` sums of rows, after one another.
fn row_sums(count: usize) -> String {
    let mut body = String::new();
    for k in 0..count {
        let id = |i: usize| 2 + k * 7 + i;
        body += &format!(
            "(let ((%r.{} int %n.0)) (map ((%i.{} %n.0))
               (let ((%s.{} int)) (reduce (%j.{} %n.0) (let ((%x.{x} int)) (index %xs.1 %j.{}) p0) (give %x.{x})
                 (assoc ((%a.{a} int) (%b.{b} int)) (give %a.{a}))) p0) (give %s.{})) p0)",
            id(0),
            id(1),
            id(2),
            id(3),
            id(3),
            id(2),
            x = id(4),
            a = id(5),
            b = id(6),
        );
    }
    format!(
        "(mono 1 (name \"f\") (provs (p0 \"f\" 0 1)) (types) (params (%n.0 int) (%xs.1 int %n.0))
           (inputs %xs.1) (output 0) (body {body} (give %r.2)))"
    )
}

#[test]
fn thresholds_are_named_and_versions_are_few() {
    let one = guards(&row_sums(1), &Thresholds { par_outer: 7, ..Thresholds::CPU });
    assert_eq!(one.len(), 1);
    assert_eq!((one[0].tests[0].threshold.as_str(), one[0].tests[0].value), ("f/par.outer/f:1", 7));
    assert_eq!(guards(&row_sums(12), &Thresholds::CPU).len(), 12);
    assert_eq!(guards(&row_sums(30), &Thresholds::CPU).len(), 16);
}

#[test]
fn a_threshold_that_is_always_or_never_reached_leaves_one_version() {
    let rows = row_sums(1);
    let loops = fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testsuite/passes/flat/flatten/loop-in-map.in.mono"),
    )
    .unwrap();
    let structure = |text: &str, pinned: &[(Threshold, i64)]| {
        let mut thresholds = Thresholds::CPU;
        pinned.iter().for_each(|(t, value)| thresholds.set(*t, *value));
        flatten_with(&remc_mono::parse::parse_program(text).unwrap(), &thresholds)
            .unwrap()
            .structure()
            .to_string()
    };
    use Threshold::*;
    assert_eq!(structure(&rows, &[(ParOuter, ALWAYS)]), "seg-map 1");
    assert_eq!(structure(&rows, &[(ParOuter, NEVER)]), "seg-red 1");
    // Whatever it is, a value of another threshold changes nothing.
    assert_eq!(structure(&rows, &[(ParLoop, NEVER)]), structure(&rows, &[]));
    assert_eq!(structure(&loops, &[(ParLoop, ALWAYS)]), "seg-map 1");
    assert_eq!(structure(&loops, &[(ParInner, NEVER)]), "seg-map 1");
    assert_eq!(structure(&loops, &[(ParLoop, NEVER)]), "for 1, seg-map 2, seg-red 1");
    assert_eq!(structure(&loops, &[(ParLoop, NEVER), (ParInner, NEVER)]), "for 1, seg-map 2, seg-red 1");
    assert!(structure(&loops, &[(ParInner, ALWAYS)]).contains("branch 1"));
}

/// What the guards of a program compare, in order.
fn tests_of(text: &str, thresholds: &Thresholds) -> Vec<String> {
    let kind = |t: &Test| Threshold::of_name(t.threshold.as_str()).unwrap().name();
    let shown = |t: &Test| format!("{:?} {} {}", t.compare, kind(t), t.value);
    let all = guards(text, thresholds);
    all.iter().map(|g| g.tests.iter().map(shown).collect::<Vec<_>>().join(", ")).collect()
}

/// Two products with the same matrices for each row, in a map over rows; of a matrix of the row's own, they are not
/// shared.
#[test]
fn products_of_shared_matrices_are_taken_apart() {
    let rows = |w: &str, at: &str| {
        format!(
            "(mono 1 (name \"main\") (provs (p0 \"main\" 0 1)) (types)
               (params (%n.0 int) (%d.1 int) (%h.2 int) (%x.3 float %n.0 %d.1) (%w.4 float {w}))
               (inputs %x.3 %w.4) (output 0)
               (body
                 (let ((%r.5 float %n.0))
                   (map ((%i.6 %n.0))
                     (let ((%a.7 float %h.2))
                       (map ((%j.8 %h.2))
                         (let ((%s.9 float))
                           (reduce (%l.10 %d.1)
                             (let ((%u.11 float)) (index %x.3 %i.6 %l.10) p0)
                             (let ((%v.12 float)) (index %w.4 {at}) p0)
                             (let ((%t.13 float)) (op * %u.11 %v.12) p0)
                             (give %t.13)
                             (assoc ((%p.14 float) (%q.15 float)) (start 0.0)
                               (let ((%z.16 float)) (op + %p.14 %q.15) p0)
                               (give %z.16))) p0)
                         (give %s.9)) p0)
                     (let ((%m.17 float))
                       (reduce (%k.18 %h.2)
                         (let ((%e.19 float)) (index %a.7 %k.18) p0)
                         (give %e.19)
                         (assoc ((%p.20 float) (%q.21 float)) (start 0.0)
                           (let ((%z.22 float)) (op max2 %p.20 %q.21) p0)
                           (give %z.22))) p0)
                     (give %m.17)) p0)
                 (give %r.5)))"
        )
    };
    let shared = rows("%d.1 %h.2", "%l.10 %j.8");
    assert_eq!(tests_of(&shared, &Thresholds::CPU)[0], "AtLeast par.stored 134217728");
    assert_eq!(tests_of(&shared, &Thresholds::GPU)[0], "AtLeast par.stored 134217728");
    let own = rows("%n.0 %d.1 %h.2", "%i.6 %l.10 %j.8");
    assert_eq!(tests_of(&own, &Thresholds::CPU)[0], "AtLeast par.outer 512");
    // Nor is what does not differ from column to column, which is no product.
    let vector = rows("%d.1", "%l.10");
    assert_eq!(tests_of(&vector, &Thresholds::CPU)[0], "AtLeast par.outer 512");
}

#[test]
fn a_loop_of_small_iterations_stays_in_its_map() {
    let path = "../../testsuite/passes/flat/flatten/loop-in-map.in.mono";
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap();
    let tests = |thresholds: &Thresholds| tests_of(&text, thresholds);
    let cpu = Thresholds::CPU;
    assert_eq!(tests(&cpu)[0], "AtLeast par.loop 16, Below par.inner 4096");
    assert_eq!(tests(&Thresholds { par_inner: ALWAYS, ..cpu })[0], "AtLeast par.loop 16");
}
