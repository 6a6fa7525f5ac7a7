use super::super::shorthand::{after, program, shape};
use super::super::{dce::dce, simplify::simplify};
use super::scanned;

const PARAMS: &str = "(%n int) (%z float) (%xs float %n) (%ws float %n)";

/// A moving average of `%xs`, as `KIND`.
fn averages(name: &str, kind: &str, dims: &str, elem: &str) -> String {
    format!(
        "(let ((%{name} float {dims})) (scan {kind} (%i{name} %n) {elem}
           (serial ((%a{name} float) (%y{name} float)) (start %z)
             (let ((%d{name} float)) (op - %y{name} %a{name})) (let ((%e{name} float)) (op * %d{name} 0.25))
             (let ((%f{name} float)) (op + %a{name} %e{name})) (give %f{name}))))"
    )
}

fn of_xs(name: &str, kind: &str, dims: &str) -> String {
    averages(name, kind, dims, &format!("(let ((%x{name} float)) (index %xs %i{name})) (give %x{name})"))
}

/// The sum of the products of `%ws` and what `READ` gives as `%v`, over as many as `SIZE`.
fn sum(read: &str, size: &str) -> String {
    format!(
        "(let ((%s float)) (reduce (%j {size}) {read} (let ((%g float)) (op * %v %v)) (give %g)
           (assoc ((%b float) (%h float)) (start 0.0) (let ((%c float)) (op + %b %h)) (give %c))))"
    )
}

const NEXT: &str =
    "(let ((%k int)) (op + %j 1)) (let ((%u float)) (index %m %k)) (let ((%w float)) (index %ws %j))
    (let ((%v float)) (op * %u %w))";

fn shaped(results: usize, text: &str) -> String {
    shape(&after(program(PARAMS, results, text), &[scanned, dce, simplify]))
}

#[test]
fn a_sum_of_averages_is_one_loop() {
    let inclusive = format!(
        "{} {} (give %s)",
        of_xs("m", "inclusive", "%n"),
        sum("(let ((%v float)) (index %m %j))", "%n")
    );
    assert_eq!(shaped(1, &inclusive), "reduce:2");
    let more = "(let ((%l int)) (op + %n 1))";
    let full = of_xs("m", "full", "%l");
    for read in [NEXT, "(let ((%v float)) (index %m %j))"] {
        assert_eq!(shaped(1, &format!("{more} {full} {} (give %s)", sum(read, "%n"))), "reduce:2", "{read}");
    }
    let all = sum("(let ((%v float)) (index %m %j))", "%l");
    assert_eq!(shaped(1, &format!("{more} {full} {all} (give %s)")), "reduce:2");
}

#[test]
fn an_average_of_averages_is_one_scan() {
    let more = "(let ((%l int)) (op + %n 1))";
    let second = averages(
        "q",
        "full",
        "%l",
        "(let ((%k int)) (op + %iq 1)) (let ((%v float)) (index %m %k)) (give %v)",
    );
    // The first ones are kept where somebody wants them.
    for results in ["(give %q %m)", "(give %m %q)"] {
        let text = format!("{more} {} {second} {results}", of_xs("m", "full", "%l"));
        assert_eq!(shaped(2, &text), "scan:2");
    }
    let inclusive = second.replace("full", "inclusive").replace("(%q float %l)", "(%q float %n)");
    let text = format!("{more} {} {inclusive} (give %q)", of_xs("m", "full", "%l"));
    assert_eq!(shaped(1, &text), "scan:2");
    let text = format!("{more} {} {inclusive} (give %q %m)", of_xs("m", "full", "%l"));
    assert_eq!(shaped(2, &text), "scan scan");
}

#[test]
fn the_first_value_is_the_start() {
    let text = format!(
        "(let ((%l int)) (op + %n 1)) {} {} (let ((%o float)) (index %m 0)) (let ((%r float)) (op + %s %o)) (give %r)",
        of_xs("m", "full", "%l"),
        sum(NEXT, "%n")
    );
    assert_eq!(shaped(1, &text), "reduce:2");
}

#[test]
fn the_last_value_is_the_accumulator() {
    let text = format!(
        "(let ((%l int)) (op + %n 1)) {} (let ((%o float)) (index %m %n)) {} (let ((%r float)) (op + %s %o)) (give %r %o)",
        of_xs("m", "full", "%l"),
        sum(NEXT, "%n")
    );
    assert_eq!(shaped(2, &text), "reduce:2");
    // Not where it takes part in the sum.
    let text = text.replace("(op * %u %w)", "(op * %u %o)");
    assert_eq!(shaped(2, &text), "scan reduce");
}

#[test]
fn what_stays_apart() {
    let more = "(let ((%l int)) (op + %n 1))";
    let full = of_xs("m", "full", "%l");
    // Wanted elsewhere, read out of order, or functions are computed of the values.
    let text = format!("{more} {full} {} (give %s %m)", sum(NEXT, "%n"));
    assert_eq!(shaped(2, &text), "scan reduce");
    let back = "(let ((%k int)) (op - %n %j)) (let ((%v float)) (index %m %k))";
    assert_eq!(shaped(1, &format!("{more} {full} {} (give %s)", sum(back, "%n"))), "scan reduce");
    let exp = "(let ((%u float)) (index %m %j)) (let ((%v float)) (op exp %u))";
    assert_eq!(shaped(1, &format!("{more} {full} {} (give %s)", sum(exp, "%n"))), "scan reduce");
}
