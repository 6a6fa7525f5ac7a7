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

#[test]
fn rows_of_which_some_elements_change_are_written_where_they_are() {
    let map = |items: &str| {
        format!(
            "(map ((%r %k)) (let ((%row int %k)) (index %a %r)) (let ((%x int)) (index %a %r %i))
            (let ((%w int %k)) (scatter (%q 2) (%row) {items})) (give %w))"
        )
    };
    assert_eq!(round_of(&map("(give %q %x)")), ["scatter of all"]);
    // The row itself is read first, another row too.
    assert_eq!(
        round_of(&map("(let ((%y int)) (index %a %r %q)) (let ((%t int)) (op + %y %x)) (give %i %t)")),
        ["scatter of all"]
    );
    assert_eq!(
        round_of(&map("(let ((%y int)) (index %a %i %q)) (let ((%t int)) (op + %y %x)) (give %q %t)")),
        ["map of 1", "scatter of all"]
    );
    // What is read of all rows is read as it is.
    assert_eq!(round_of(&map("(let ((%y int)) (index %a %q %r)) (give %q %y)")), ["map of 1"]);
    assert_eq!(round_of(&map("(let ((%s int)) (index %a %x %q)) (give %q %s)")), ["map of 1"]);
}

#[test]
fn rows_that_stay_as_they_are_are_not_written() {
    let map = |then: &str, otherwise: &str| {
        format!(
            "(map ((%r %k)) (let ((%row int %k)) (index %a %r)) (let ((%c bool)) (op > %r %i))
            (let ((%w int %k)) (if %c (then {then}) (else {otherwise}))) (give %w))"
        )
    };
    let new = |read: &str| {
        format!(
            "(let ((%n int %k)) (map ((%j %k)) (let ((%x int)) (index %a {read})) (let ((%y int)) (op + %x 1)) (give %y)))
            (give %n)"
        )
    };
    assert_eq!(round_of(&map(&new("%r %j"), "(give %row)")), ["scatter of all"]);
    assert_eq!(round_of(&map(&new("%i %j"), "(give %row)")), ["map of 1", "scatter of all"]);
    // What is written first would be read then; and where all rows are made anew, nothing is gained.
    let turned = "(let ((%n int %k)) (view (reverse) %row)) (give %n)";
    assert_eq!(round_of(&map(turned, "(give %row)")), ["map of 1"]);
    let zeros = "(let ((%m int %k)) (map ((%l %k)) (give 0))) (give %m)";
    assert_eq!(round_of(&map(&new("%r %j"), zeros)), ["map of 1"]);
}

#[test]
fn columns_are_written_in_rows() {
    let between = |more: &str, items: &str| {
        format!(
            "(let ((%t int %k %k)) (view (permute 1 0) %a))
            (let ((%s int %k %k)) (scatter (%q 2) (%t) {items}))
            {more}
            (let ((%b int %k %k)) (view (permute 1 0) %s)) (give %b)"
        )
    };
    let looped = |stmts: &str| {
        let text = format!("(let ((%al int %k %k)) (for (%i %k) (((%a int %k %k) %z)) {stmts})) (give %al)");
        let p = after(program("(%k int) (%z int %k %k)", 1, &text), &[|p| stage_for(p, RowsAre::Tasks)]);
        let mut views = 0;
        p.body.for_each_stmt(&mut |s| views += usize::from(matches!(s.exp, Exp::View { .. })));
        views
    };
    let column =
        "(let ((%c int %k)) (map ((%j %k)) (let ((%x int)) (index %a %j %q)) (give %x))) (give %q %c)";
    assert_eq!(looped(&between("", column)), 0);
    // An element is read of the matrix that is turned back; all of it is not.
    let element = "(let ((%e int)) (index %s %i %i)) (let () (check (negative-count) true %e %e))";
    assert_eq!(looped(&between(element, column)), 0);
    let sum = "(let ((%f int %k)) (index %s %i)) (let ((%e int)) (index %f %i)) (let () (check (negative-count) true %e %e))";
    assert_eq!(looped(&between(sum, column)), 2);
}
