//! Goldens of flattening: `testsuite/passes/flat/flatten/NAME.in.mono` is a program, `NAME.out.flat` what
//! becomes of it. The first line of the output, a comment, is its structure: how many of each operator
//! there are, which no renaming changes.
//!
//! Both programs are verified, the output is read back. `UPDATE_EXPECT=1` writes what the pass gives.

use remc_flat::flatten::flatten;
use remc_flat::ir::{Exp, Program, SegKind};
use remc_flat::{parse, print, verify};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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
    let after = flatten(&before).unwrap();
    let printed = print::print_program(&after);
    verify::verify(&after).unwrap_or_else(|e| panic!("{}: {e}\n{printed}", input.display()));
    assert_eq!(parse::parse_program(&printed).as_ref(), Ok(&after), "{}", input.display());
    format!("; {}\n{printed}", structure(&after))
}

/// The number of each form of the host that is more than O(1).
fn structure(p: &Program) -> String {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    p.body.for_each_stmt(&mut |s| {
        let form = match &s.exp {
            Exp::Host(_) => return,
            Exp::If { .. } => "if",
            Exp::For { .. } => "for",
            Exp::While { .. } => "while",
            Exp::SerialMap { .. } => "serial-map",
            Exp::Scatter { .. } => "scatter",
            Exp::Filter { .. } => "filter",
            Exp::Grade { .. } => "grade",
            Exp::Branch { .. } => "branch",
            Exp::Seg(seg) => match (&seg.kind, seg.space.is_empty()) {
                (SegKind::Map, true) => "point",
                (SegKind::Map, false) => "seg-map",
                (SegKind::Red { .. }, _) => "seg-red",
                (SegKind::Scan { .. }, _) => "seg-scan",
            },
        };
        *counts.entry(form).or_default() += 1;
    });
    let counts: Vec<_> = counts.iter().map(|(form, n)| format!("{form} {n}")).collect();
    counts.join(", ")
}
