//! Which arrays are transposed for the points of many rows.

mod support;

use remc_kernel::lower::Target;

/// A product over `rows` rows and as many columns as `m` says, with what it reads of the right matrix.
fn lowered(rows: &str, m: &str, right: &str, target: Target) -> String {
    let text = format!(
        "(flat 1 (name \"main\") (provs (p0 \"main\" 0 1)) (types)
           (params (%n.0 int) (%m.1 int) (%l.2 int) (%a.3 float ROWS %l.2) (%b.4 float COLUMNS %l.2))
           (inputs %a.3 %b.4) (output 0)
           (body
             (let ((%c.5 float ROWS COLUMNS))
               (seg-map grid ((%i.6 ROWS) (%j.7 COLUMNS))
                 (leaf
                   (let ((%r.8 float))
                     (reduce (%k.9 %l.2)
                       (let ((%x.10 float)) (index %a.3 %i.6 %k.9) p0)
                       {right}
                       (let ((%p.12 float)) (op * %x.10 %y.11) p0)
                       (give %p.12)
                       (assoc ((%acc.13 float) (%z.14 float)) (start 0.0)
                         (let ((%t.15 float)) (op + %acc.13 %z.14) p0)
                         (give %t.15))) p0)
                   (give %r.8))) p0)
             (give %c.5)))"
    )
    .replace("ROWS", rows)
    .replace("COLUMNS", m);
    support::lowered(&text, target)
}

const ACROSS: &str = "(let ((%y.11 float)) (index %b.4 %j.7 %k.9) p0)";
const ALONG: &str = "(let ((%y.11 float)) (index %a.3 %i.6 %k.9) p0)";

/// How many arrays are transposed, in how many cases.
fn transposed(rows: &str, m: &str, right: &str, target: Target) -> (usize, usize) {
    let text = lowered(rows, m, right, target);
    (text.matches("(alloc (%transposed").count(), text.matches("(if ").count())
}

#[test]
fn what_many_rows_read_across_is_transposed() {
    let text = lowered("100", "40", ACROSS, Target::default());
    let (before, after) = text.split_once("(launch k0").unwrap_or_else(|| panic!("{text}"));
    assert!(before.contains("(alloc (%transposed") && after.contains("(launch k1"), "{text}");
    // Then rows share what they load.
    assert!(text.contains("(for (jam 4)") && text.contains("(for (lanes 32)"), "{text}");
    assert_eq!(transposed("100", "40", ACROSS, Target::default()), (1, 0));
}

#[test]
fn a_few_rows_reduce_along_what_they_read() {
    assert_eq!(transposed("63", "40", ACROSS, Target::default()).0, 0);
    assert_eq!(transposed("64", "40", ACROSS, Target::default()).0, 1);
    assert_eq!(transposed("64", "15", ACROSS, Target::default()).0, 0);
    assert_eq!(transposed("64", "16", ACROSS, Target::default()).0, 1);
}

#[test]
fn the_plan_decides_where_the_number_of_rows_is_not_known() {
    let text = lowered("%n.0", "%m.1", ACROSS, Target::default());
    assert!(text.contains("(op >= %n.0 64)") && text.contains("(op >= %m.1 16)"), "{text}");
    let (cases, others) = (text.matches("(alloc (%transposed").count(), text.matches("(for (jam 4)").count());
    assert!(cases == 1 && others >= 1, "{text}");
}

#[test]
fn a_number_that_is_known_is_not_asked_for() {
    let text = lowered("100", "%m.1", ACROSS, Target::default());
    assert!(text.contains("(op >= %m.1 16)") && !text.contains("(op and "), "{text}");
    assert_eq!(transposed("100", "%m.1", ACROSS, Target::default()).0, 1);
    assert_eq!(transposed("63", "%m.1", ACROSS, Target::default()).0, 0);
}

#[test]
fn what_is_read_along_rows_stays() {
    assert_eq!(transposed("100", "40", ALONG, Target::default()).0, 0);
}

#[test]
fn threads_stage_their_tiles_and_turn_nothing() {
    assert_eq!(transposed("100", "40", ACROSS, Target::gpu()).0, 0);
}
