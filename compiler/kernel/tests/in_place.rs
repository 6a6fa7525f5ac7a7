//! Which arrays of a leaf are changed where they are, told by the loops that copy.

mod support;

use remc_kernel::lower::Target;

/// How many loops there are for a row of `%x` that is made in memory of its own, `%row.5`, and for what a leaf does with
/// that: the loops over rows, of the row, and of the leaf itself are counted too.
fn loops(leaf: &str) -> usize {
    let text = format!(
        "(flat 1 (name \"main\") (provs (p0 \"main\" 0 1)) (types)
           (params (%n.0 int) (%m.1 int) (%x.2 float %m.1 %n.0)) (inputs %x.2) (output 0)
           (body
             (let ((%a.3 float %m.1 %n.0)) (seg-map grid ((%i.4 %m.1))
               (leaf
                 (let ((%row.5 float %n.0)) (map ((%j.6 %n.0))
                   (let ((%y.7 float)) (index %x.2 %i.4 %j.6) p0)
                   (let ((%z.8 float)) (op + %y.7 1.0) p0)
                   (give %z.8)) p0)
                 {leaf})) p0)
             (give %a.3)))"
    );
    support::lowered(&text, Target::gpu()).matches("(for ").count()
}

/// A loop from `start`, whose body makes the next state, `next`, of its state `%v.20`; then `after`.
fn looped(start: &str, body: &str, next: &str, after: &str) -> usize {
    loops(&format!(
        "(let ((%s.10 float %n.0))
           (for (%k.11 %n.0) (((%v.20 float %n.0) {start})) {body} (give {next})) p0)
         {after}"
    ))
}

/// Of rows, of the row, and the loop; and the copy of what a loop leaves to where it belongs.
const LOOPS: usize = 4;
/// `%w.21` is `%v.20` with an item changed.
const WRITE: &str = "(let ((%w.21 float %n.0)) (scatter (%u.22 1) (%v.20) (give %k.11 2.0)) p0)";
/// `%z.31` is an item of `%v.20`.
const READ: &str = "(let ((%z.31 float)) (index %v.20 0) p0)";
/// `%c.32` depends on the iteration.
const COND: &str = "(let ((%c.32 bool)) (op > %k.11 3) p0)";
const GIVE: &str = "(give %s.10)";

#[test]
fn a_state_is_changed_where_it_is() {
    assert_eq!(looped("%row.5", WRITE, "%w.21", GIVE), LOOPS + 1);
    assert_eq!(looped("%row.5", &format!("{READ}{WRITE}"), "%w.21", GIVE), LOOPS + 1);
}

#[test]
fn a_state_that_is_read_later_is_copied_before_and_after() {
    let next = "(let ((%e.33 float %n.0)) (scatter (%u.34 1) (%w.21) (give 1 %z.31)) p0)";
    assert_eq!(looped("%row.5", &format!("{WRITE}{READ}{next}"), "%e.33", GIVE), LOOPS + 2 + 2);
    // The write itself reads it.
    let itself = "(let ((%w.21 float %n.0)) (scatter (%u.22 2) (%v.20)
                    (let ((%z.31 float)) (index %v.20 %u.22) p0) (give %k.11 %z.31)) p0)";
    assert_eq!(looped("%row.5", itself, "%w.21", GIVE), LOOPS + 1 + 2);
}

#[test]
fn a_branch_changes_what_its_if_needs_no_more() {
    let one = format!(
        "{COND} (let ((%b.40 float %n.0)) (if %c.32 (then {WRITE} (give %w.21)) (else (give %v.20))) p0)"
    );
    assert_eq!(looped("%row.5", &one, "%b.40", GIVE), LOOPS + 1);
    // What another branch makes is copied to where the state is.
    let other = "(let ((%o.41 float %n.0)) (map ((%j.42 %n.0)) (give 0.0)) p0)";
    let two = format!(
        "{COND} (let ((%b.40 float %n.0)) (if %c.32 (then {WRITE} (give %w.21)) (else {other} (give %o.41))) p0)"
    );
    assert_eq!(looped("%row.5", &two, "%b.40", GIVE), LOOPS + 1 + 2);
    // The state is read after the branches: they give memory of their own, and the next state is copied back.
    let again =
        format!("{one} {READ} (let ((%e.33 float %n.0)) (scatter (%u.34 1) (%b.40) (give 1 %z.31)) p0)");
    assert_eq!(looped("%row.5", &again, "%e.33", GIVE), LOOPS + 1 + 1 + 1 + 2 + 1);
}

/// What is made of what a loop leaves: it is not made where the result belongs.
const AFTER: &str = "(let ((%e.33 float %n.0)) (scatter (%u.34 1) (%s.10) (give 1 3.0)) p0) (give %e.33)";

#[test]
fn a_loop_goes_on_with_what_it_starts_from() {
    assert_eq!(looped("%row.5", WRITE, "%w.21", AFTER), LOOPS + 2);
    // Not if the loop, or what comes after it, reads that.
    let reads = "(let ((%z.31 float)) (index %row.5 0) p0)
                 (let ((%w.21 float %n.0)) (scatter (%u.22 1) (%v.20) (give %k.11 %z.31)) p0)";
    assert_eq!(looped("%row.5", reads, "%w.21", AFTER), LOOPS + 3);
    let after = AFTER.replace("3.0", "%z.31");
    let after = format!("(let ((%z.31 float)) (index %row.5 0) p0) {after}");
    assert_eq!(looped("%row.5", WRITE, "%w.21", &after), LOOPS + 3);
}

#[test]
fn a_reduction_goes_on_with_what_it_starts_from() {
    let fold = |from: &str| {
        loops(&format!(
            "(let ((%s.10 float %n.0)) (reduce (%k.11 %n.0)
               (let ((%q.44 float)) (index {from} %k.11) p0) (give %q.44)
               (serial ((%v.20 float %n.0) (%p.43 float)) (start %row.5)
                 (let ((%w.21 float %n.0)) (scatter (%u.22 1) (%v.20) (give 0 %p.43)) p0)
                 (give %w.21))) p0)
             {AFTER}"
        ))
    };
    assert_eq!(fold("%x.2 0"), LOOPS + 2);
    assert_eq!(fold("%row.5"), LOOPS + 3);
}
