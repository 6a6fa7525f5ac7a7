//! What is asked of the lanes of a vector before its body runs.

use crate::corpus::{kernel, parse};
use remc_kernel::ir::{KernelId, Program, StmtKind, Var};
use remc_kernel::uniformity::{Uniformity, uniformity};

fn asked(body: &str) -> (Program, Uniformity) {
    let text = format!("(for (lanes 16) %i (upto 0 %n) () {body} (store %ys (%i) %y p0) (next) p0)");
    let p = parse(&kernel("", &text));
    let StmtKind::For { var, body, .. } = &p.kernels[KernelId(0)].body[0].kind else { panic!("no loop") };
    let found = uniformity(&p, *var, &[], body);
    (p, found)
}

/// The names of the comparisons, of what is held, and of the branches.
fn names(body: &str) -> [Vec<String>; 3] {
    let (p, found) = asked(body);
    let sorted = |vars: &mut dyn Iterator<Item = &Var>| {
        let mut names: Vec<String> = vars.map(|v| p.vars[*v].name.to_string()).collect();
        names.sort();
        names
    };
    [sorted(&mut found.conds.iter()), sorted(&mut found.clamps.keys()), sorted(&mut found.branches.iter())]
}

fn is(body: &str, conds: &[&str], clamps: &[&str], branches: &[&str]) {
    assert_eq!(
        names(body),
        [conds, clamps, branches].map(|n| n.iter().map(ToString::to_string).collect::<Vec<_>>()),
        "{body}"
    );
}

const WRAP: &str =
    "(let (%p int) (op + %i 1) p0) (let (%c bool) (op >= %p %n) p0) (let (%d int) (op - %p %n) p0)
    (let (%j int) (op select %c %d %p) p0) (let (%y float) (load %xs %j) p0)";
const HELD: &str =
    "(let (%p int) (op + %i 1) p0) (let (%u int) (op min2 %p 9) p0) (let (%j int) (op max2 0 %u) p0)
    (let (%y float) (load %xs %j) p0)";

#[test]
fn what_indices_are_made_of() {
    is(WRAP, &["c"], &[], &[]);
    is(HELD, &[], &["j", "u"], &[]);
    // Chosen by something else, or between other things: then lanes have their own.
    is(&WRAP.replace("(op >= %p %n)", "(op = %p %n)"), &[], &[], &[]);
    is(&WRAP.replace("(op - %p %n)", "(op * %p %n)"), &[], &[], &[]);
    is(&HELD.replace("(op min2 %p 9)", "(op min2 %p %i)"), &[], &[], &[]);
    // What is compared is held, or chosen, itself: that is asked too.
    let twice = HELD.replace("(load %xs %j)", "(load %xs %q)").replace(
        "(let (%y float)",
        "(let (%c bool) (op >= %j %n) p0) (let (%d int) (op - %i %n) p0) (let (%q int) (op select %c %d %i) p0) (let (%y float)",
    );
    is(&twice, &["c"], &["j", "u"], &[]);
    // Of a number, not of an index.
    is(&HELD.replace("(load %xs %j)", "(cast float %j)"), &[], &[], &[]);
    is(&WRAP.replace("(load %xs %j)", "(cast float %j)"), &[], &[], &[]);
}

#[test]
fn branches_at_an_edge() {
    let branch = "(let (%c bool) (op < %i 1) p0) (let (%e bool) (op not %c) p0)
        (if %e (then (let (%k int) (op - %i 1) p0) (let (%a float) (load %xs %k) p0)) (else) (((%y float) %a 0.0)) p0)";
    is(branch, &["c"], &[], &["e"]);
    is(&branch.replace("(op not %c)", "(op or %c true)"), &["c"], &[], &["e"]);
    is(&branch.replace("(op < %i 1)", "(op != %i 1)"), &[], &[], &[]);
}

/// What runs before all else must not be what only a check, or a branch, makes safe.
#[test]
fn what_may_run_first() {
    let shift =
        "(let (%k int) (load %is 0) p0) (let (%p int) (op + %i %k) p0) (let (%u int) (op min2 %p 9) p0)
        (let (%y float) (load %xs %u) p0)";
    is(shift, &[], &["u"], &[]);
    let checked = format!("(let (%o bool) (op > %n 0) p0) (check (index 1 1) %o 0 0 p0) {shift}");
    is(&checked, &[], &[], &[]);
    // A branch that depends on such an element is one that lanes cannot be asked about.
    let branch = |first: &str| {
        let text = "(let (%k int) (load %is 0) p0) (let (%c bool) (op < %i %k) p0)
            (if %c (then) (else) (((%y float) 1.0 2.0)) p0)";
        asked(&format!("(let (%o bool) (op > %n 0) p0) {first} {text}")).1.is_late
    };
    assert!(branch("(check (index 1 1) %o 0 0 p0)") && !branch(""));
    let (_, found) = asked(shift);
    assert_eq!(found.slice.len(), 3);
}
