use super::super::shorthand::{after, program};
use super::stage;
use crate::ir::{Body, Exp};

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
