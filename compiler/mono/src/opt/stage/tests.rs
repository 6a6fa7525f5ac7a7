use super::super::RowsAre;
use super::super::shorthand::{after, program};
use super::{stage, stage_for};
use crate::ir::{Atom, Body, Exp, Program};

/// The statements of the first loop, a letter each: scatters, those into `%b`, reads, choices, others.
fn order(text: &str) -> String {
    let p = after(program("(%k int) (%z int %k)", 1, text), &[stage]);
    let letter = |b: &Body| -> String {
        let of = |e: &Exp| match e {
            Exp::Scatter { dests, .. } if p.vars[dests[0]].name.as_str() == "b" => 'b',
            Exp::Scatter { .. } => 's',
            Exp::Index { .. } => 'r',
            Exp::If { .. } => 'i',
            _ => '.',
        };
        b.stmts.iter().map(|s| of(&s.exp)).collect()
    };
    let body = p.body.stmts.iter().find_map(|s| match &s.exp {
        Exp::For { body, .. } => Some(letter(body)),
        _ => None,
    });
    body.unwrap_or_default()
}

/// A loop over the items with `%a` for its array and `%s` for a number.
fn looped(stmts: &str) -> String {
    format!("(let ((%al int %k) (%sl int)) (for (%i %k) (((%a int %k) %z) ((%s int) 0)) {stmts})) (give %al)")
}

const WRITE: &str = "(let ((%w int %k)) (scatter (%q 1) (%a) (give %i %s)))";
const READ: &str = "(let ((%x int)) (index %a %i)) (let ((%t int)) (op + %s %x))";

#[test]
fn reads_come_before_a_write() {
    assert_eq!(order(&looped(&format!("{WRITE} {READ} (give %w %t)"))), "r.s");
    let write = format!("(let ((%w int %k)) (if %c (then {}) (else (give %a))))", {
        "(let ((%v int %k)) (scatter (%q 1) (%a) (give %i %s))) (give %v)"
    });
    assert_eq!(order(&looped(&format!("(let ((%c bool)) (op < %i 3)) {write} {READ} (give %w %t)"))), ".r.i");
}

#[test]
fn what_is_read_of_the_result_stays_behind() {
    let read = READ.replace("%a", "%w");
    assert_eq!(order(&looped(&format!("{WRITE} {read} (give %w %t)"))), "sr.");
    // And what nobody reads is where it was.
    let other = READ.replace("%a", "%z");
    assert_eq!(order(&looped(&format!("{WRITE} {other} (give %w %t)"))), "sr.");
}

#[test]
fn a_write_passes_no_other_of_what_it_reads() {
    let text = "(let ((%al int %k) (%bl int %k)) (for (%i %k) (((%a int %k) %z) ((%b int %k) %z))
        (let ((%w int %k)) (scatter (%q 1) (%a) (let ((%x int)) (index %b %i)) (give %i %x)))
        (let ((%v int %k)) (scatter (%r 1) (%b) (let ((%y int)) (index %a %i)) (give %i %y)))
        (give %w %v))) (give %al)";
    assert_eq!(order(text), "sb");
    let text = text.replace("(index %b %i)", "(index %z %i)");
    assert_eq!(order(&text), "bs");
}

/// Rounds of a loop over the rows of a square `%a`, whose next one is that map: what is in them where rows are tasks.
fn round_of(map: &str) -> Vec<String> {
    let text = format!(
        "(let ((%al int %k %k)) (for (%i %k) (((%a int %k %k) %z)) (let ((%b int %k %k)) {map}) (give %b))) (give %al)"
    );
    let p = after(program("(%k int) (%z int %k %k)", 1, &text), &[|p| stage_for(p, RowsAre::Tasks)]);
    let Some(Exp::For { body, .. }) = p.body.stmts.first().map(|s| &s.exp) else { return Vec::new() };
    let of = |e: &Exp| match e {
        Exp::Scatter { axis, .. } => {
            format!("scatter of {}", if axis.size == body_size(&p) { "all" } else { "some" })
        }
        Exp::Map { axes, .. } => format!("map of {}", axes.len()),
        _ => "op".to_owned(),
    };
    body.stmts.iter().map(|s| of(&s.exp)).filter(|s| s != "op").collect()
}

/// The number of rows.
fn body_size(p: &Program) -> Atom {
    match p.body.stmts.first().map(|s| &s.exp) {
        Some(Exp::For { axis, .. }) => axis.size,
        _ => Atom::int(0),
    }
}

#[test]
fn a_row_and_a_column_are_read_before_the_array_changes() {
    let map = "(map ((%r %k) (%c %k)) (let ((%x int)) (index %a %r %c)) (let ((%y int)) (index %a %i %c))
        (let ((%w int)) (index %a %r %i)) (let ((%s int)) (op + %x %y)) (let ((%t int)) (op + %s %w)) (give %t))";
    assert_eq!(round_of(map), ["map of 1", "map of 1", "scatter of all"]);
}

#[test]
fn conditions_on_the_row_are_bounds() {
    for (cond, some) in [
        ("(op > %r %i)", "scatter of some"),
        ("(op < %r %i)", "scatter of some"),
        ("(op = %r %i)", "scatter of some"),
        ("(op != %r %i)", "scatter of all"),
        ("(op > %c %i)", "scatter of all"),
    ] {
        let map = format!(
            "(map ((%r %k) (%c %k)) (let ((%x int)) (index %a %r %c)) (let ((%y int)) (index %a %i %c))
            (let ((%s int)) (op + %x %y)) (let ((%if bool)) {cond}) (let ((%t int)) (op select %if %s %x)) (give %t))"
        );
        assert_eq!(round_of(&map), ["map of 1", some], "{cond}");
    }
}

#[test]
fn what_reads_other_elements_makes_an_array_of_its_own() {
    let map = |read: &str| {
        format!(
            "(map ((%r %k) (%c %k)) (let ((%x int)) (index %a %r %c)) (let ((%y int)) (index %a {read}))
            (let ((%s int)) (op + %x %y)) (give %s))"
        )
    };
    assert_eq!(round_of(&map("%c %r")), ["map of 2"]);
    assert_eq!(round_of(&map("%r %i")), ["map of 1", "scatter of all"]);
    let stopping = map("%r %i").replace(
        "(let ((%y int))",
        "(let ((%o bool)) (op >= %r 0)) (let () (check (negative-count) %o %r %r)) (let ((%y int))",
    );
    assert_eq!(round_of(&stopping), ["map of 2"]);
}
