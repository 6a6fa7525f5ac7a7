//! What a leaf becomes: told by its loops.

mod support;

use remc_kernel::lower::Target;

/// The kernels for a leaf that gives a float or, of type `ty`, an array, for each row of `%x.2`.
fn kernels(ty: &str, leaf: &str) -> String {
    kernels_of("%n.0", ty, leaf)
}

/// … whose rows have so many elements.
fn kernels_of(n: &str, ty: &str, leaf: &str) -> String {
    let text = format!(
        "(flat 1 (name \"main\") (provs (p0 \"main\" 0 1)) (types)
           (params (%n.0 int) (%m.1 int) (%x.2 float %m.1 {n}) (%few.3 float 5 {n})) (inputs %x.2 %few.3)
           (output 0)
           (body
             (let ((%a.4 float %m.1{ty})) (seg-map grid ((%i.5 %m.1)) (leaf {leaf})) p0)
             (give %a.4)))"
    );
    support::lowered(&text, Target::default())
}

fn count(text: &str, part: &str) -> usize {
    text.matches(part).count()
}

/// A sum along an axis of `n · n` elements, each of which asks for its row and its column, and for `more`.
fn pairs(more: &str) -> String {
    kernels(
        "",
        &format!(
            "(let ((%nn.10 int)) (op * %n.0 %n.0) p0)
             (let ((%s.11 float))
               (reduce (%p.12 %nn.10)
                 (let ((%r.13 int)) (op quotient %p.12 %n.0) p0)
                 (let ((%c.14 int)) (op % %p.12 %n.0) p0)
                 (let ((%y.15 float)) (index %x.2 %i.5 %r.13) p0)
                 (let ((%z.16 float)) (index %x.2 %i.5 %c.14) p0)
                 (let ((%d.17 float)) (op - %y.15 %z.16) p0)
                 {more}
                 (assoc ((%acc.20 float) (%e.21 float)) (start 0.0)
                   (let ((%t.22 float)) (op + %acc.20 %e.21) p0)
                   (give %t.22))) p0)
             (give %s.11)"
        ),
    )
}

#[test]
fn an_axis_that_was_two_is_two_loops() {
    let nested = pairs("(give %d.17)");
    // The only division left in either kernel is that of a row, by what is not positive.
    assert_eq!(count(&nested, "(op % "), count(&nested, "(grid ("), "{nested}");
    // The inner loop is in lanes.
    assert_eq!(count(&nested, "(for (lanes 32)"), 1, "{nested}");
    let asked = pairs(
        "(let ((%f.18 float)) (cast float %p.12) p0) (let ((%g.19 float)) (op * %d.17 %f.18) p0) (give %g.19)",
    );
    assert!(count(&asked, "(op % ") > 0, "{asked}");
}

/// A loop of `%v.10` with `next` for the next state, which the body makes.
fn rounds(next: &str) -> String {
    kernels(
        " %n.0",
        &format!(
            "(let ((%row.9 float %n.0)) (index %x.2 %i.5) p0)
             (let ((%s.10 float %n.0))
               (for (%k.11 %m.1) (((%v.12 float %n.0) %row.9))
                 (let ((%h.13 float)) (index %v.12 0) p0)
                 {next}) p0)
             (give %s.10)"
        ),
    )
}

#[test]
fn a_state_that_is_made_anew_has_two_halves() {
    let halves = rounds(
        "(let ((%w.14 float %n.0)) (map ((%j.15 %n.0))
           (let ((%y.16 float)) (index %v.12 %j.15) p0)
           (let ((%z.17 float)) (op + %y.16 %h.13) p0)
           (give %z.17)) p0)
         (give %w.14)",
    );
    assert!(count(&halves, "scratch float %workers") > 0 && halves.contains("(op - 1 "), "{halves}");
    let in_place = rounds(
        "(let ((%w.14 float %n.0)) (scatter (%u.15 1) (%v.12) (give 0 %h.13)) p0)
         (give %w.14)",
    );
    assert!(!in_place.contains("(op - 1 "), "{in_place}");
}

/// A scan that no lanes can do, one of that by `second`, and a map of what both give.
fn scans(second: &str) -> String {
    kernels(
        " %n.0",
        &format!(
            "(let ((%b.10 float %n.0)) (scan inclusive (%j.11 %n.0)
               (let ((%y.12 float)) (index %x.2 %i.5 %j.11) p0) (give %y.12)
               (assoc ((%acc.13 float) (%e.14 float)) (start 0.0)
                 (let ((%h.16 float)) (op * %acc.13 0.5) p0)
                 (let ((%t.15 float)) (op + %h.16 %e.14) p0) (give %t.15))) p0)
             (let ((%c.20 float %n.0)) (scan inclusive (%j.21 %n.0)
               (let ((%y.22 float)) (index %b.10 %j.21) p0) (give %y.22)
               (assoc ((%acc.23 float) (%e.24 float)) (start 0.0)
                 (let ((%t.25 float)) {second} p0) (give %t.25))) p0)
             (let ((%d.30 float %n.0)) (map ((%j.31 %n.0))
               (let ((%y.32 float)) (index %b.10 %j.31) p0) (let ((%z.33 float)) (index %c.20 %j.31) p0)
               (let ((%f.34 float)) (op - %z.33 %y.32) p0) (give %f.34)) p0)
             (give %d.30)"
        ),
    )
}

#[test]
fn scans_that_lanes_cannot_do_are_one_loop_with_what_follows() {
    let together = scans("(op + %acc.23 %e.24)");
    // Nothing is stored but what is given, in each way in which rows run.
    assert_eq!(count(&together, "scratch float"), 0, "{together}");
}

#[test]
fn a_scan_in_lanes_has_the_map_that_follows_as_its_epilogue() {
    let sum = |more: &str| {
        kernels(
            " %n.0",
            &format!(
                "(let ((%b.10 float %n.0)) (scan inclusive (%j.11 %n.0)
                   (let ((%y.12 float)) (index %x.2 %i.5 %j.11) p0) (give %y.12)
                   (assoc ((%acc.13 float) (%e.14 float)) (start 0.0)
                     (let ((%t.15 float)) (op + %acc.13 %e.14) p0) (give %t.15))) p0)
                 (let ((%d.30 float %n.0)) (map ((%j.31 %n.0))
                   (let ((%y.32 float)) (index %b.10 %j.31) p0) {more}
                   (let ((%f.34 float)) (op * %y.32 %z.33) p0) (give %f.34)) p0)
                 (give %d.30)"
            ),
        )
    };
    let one = sum("(let ((%z.33 float)) (index %x.2 %i.5 %j.31) p0)");
    assert!(count(&one, "(for (scan ") == 1 && count(&one, "scratch float") == 0, "{one}");
    // What is read elsewhere, too, is stored.
    let two = sum("(let ((%k.35 int)) (op - %n.0 %j.31) p0) (let ((%l.36 int)) (op - %k.35 1) p0)
                   (let ((%z.33 float)) (index %b.10 %l.36) p0)");
    assert!(count(&two, "scratch float") > 0, "{two}");
}

#[test]
fn a_row_that_is_read_for_each_of_a_few_is_copied_for_lanes() {
    let distances = |axis: &str, few: &str| {
        kernels_of(
            axis,
            "",
            &format!(
                "(let ((%s.10 float))
                   (reduce (%c.11 {few})
                     (let ((%d.12 float))
                       (reduce (%j.13 {axis})
                         (let ((%y.14 float)) (index %x.2 %i.5 %j.13) p0)
                         (let ((%z.15 float)) (index %few.3 %c.11 %j.13) p0)
                         (let ((%e.16 float)) (op - %y.14 %z.15) p0)
                         (give %e.16)
                         (assoc ((%a.17 float) (%b.18 float)) (start 0.0)
                           (let ((%t.19 float)) (op + %a.17 %b.18) p0) (give %t.19))) p0)
                     (give %d.12)
                     (assoc ((%a.20 float) (%b.21 float)) (start 0.0)
                       (let ((%t.22 float)) (op min2 %a.20 %b.21) p0) (give %t.22))) p0)
                 (give %s.10)"
            ),
        )
    };
    // However long it is: several of the few are added up at once.
    for axis in ["%n.0", "64", "1000"] {
        let copied = distances(axis, "5");
        assert!(copied.contains("%row.") && copied.contains("(for seq %strip"), "{copied}");
    }
    // Not where that is done for fewer than four, nor a row of which a strip fills the cache.
    for (axis, few) in [("%n.0", "3"), ("100000", "5")] {
        let text = distances(axis, few);
        assert!(!text.contains("%row."), "{text}");
    }
}

#[test]
fn an_order_of_which_little_is_read_is_a_selection() {
    let greatest = |places: &str| {
        let text = format!(
            "(flat 1 (name \"main\") (provs (p0 \"main\" 0 1)) (types)
               (params (%n.0 int) (%m.1 int) (%x.2 float %m.1 %n.0)) (inputs %x.2) (output 0)
               (body
                 (let ((%a.4 float %m.1)) (rows grid (%i.5 %m.1) 1 ()
                   (leaf
                     (let ((%few.6 int)) (op min2 {places} %n.0) p0)
                     (let ((%last.7 int)) (op + %n.0 -1) p0)
                     (let ((%order.8 int %n.0)) (grade (%j.9 %n.0)
                       (let ((%y.10 float)) (index %x.2 %i.5 %j.9) p0)
                       (give %y.10)) p0)
                     (let ((%s.11 float))
                       (reduce (%k.12 %few.6)
                         (let ((%p.13 int)) (op - %last.7 %k.12) p0)
                         (let ((%o.14 int)) (index %order.8 %p.13) p0)
                         (let ((%z.15 float)) (index %x.2 %i.5 %o.14) p0)
                         (give %z.15)
                         (assoc ((%acc.16 float) (%e.17 float)) (start 0.0)
                           (let ((%t.18 float)) (op + %acc.16 %e.17) p0)
                           (give %t.18))) p0)
                     (give %s.11))) p0)
                 (give %a.4)))"
        );
        let text = support::lowered(&text, Target::default());
        (text.contains("%digit"), text.contains("(store %order"))
    };
    // Of none nothing is kept; three are, in registers; twenty are more than are worth it.
    assert_eq!(greatest("0"), (false, false));
    assert_eq!(greatest("3"), (false, true));
    assert_eq!(greatest("20"), (true, true));
}

/// What is computed of an element by a function is worth more than what it costs to read elements that do not lie side by
/// side.
#[test]
fn functions_run_in_lanes_wherever_their_elements_are() {
    let lanes = |op: &str, row: usize| {
        let text = format!(
            "(flat 1 (name \"main\") (provs (p0 \"main\" 0 0)) (types)
               (params (%n.0 int) (%x.1 float %n.0 {row})) (inputs %x.1) (output 0)
               (body
                 (let ((%a.2 float %n.0)) (seg-map grid ((%i.3 %n.0)) (leaf
                   (let ((%y.4 float)) (index %x.1 %i.3 1) p0)
                   (let ((%z.5 float)) (index %x.1 %i.3 2) p0)
                   (let ((%s.6 float)) (op + %y.4 %z.5) p0)
                   (let ((%t.7 float)) (op {op} %s.6) p0)
                   (give %t.7))) p0)
                 (give %a.2)))"
        );
        support::lowered(&text, Target::default()).contains("(for (lanes")
    };
    assert!(lanes("log", 40) && lanes("cos", 40));
    assert!(!lanes("negate", 40));
    // Short rows are loaded together, whatever is done with them.
    assert!(lanes("negate", 8) && !lanes("negate", 9));
}
