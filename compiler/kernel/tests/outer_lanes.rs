//! Which points run side by side though each has loops and arrays of its own.

mod support;

use remc_kernel::lower::Target;

/// A scan that no lanes combine, into an array, and the sum of that.
const WAITS: &str = "
    (let ((%s.10 float M))
      (scan inclusive (%j.11 M)
        (let ((%x.12 float)) (index %x.3 %i.5 %j.11) p0)
        (give %x.12)
        (assoc ((%acc.13 float) (%y.14 float)) (start 0.0)
          (let ((%t.15 float)) (op * %acc.13 0.5) p0)
          (let ((%u.16 float)) (op + %t.15 %y.14) p0)
          (give %u.16))) p0)";

/// Elements that need nothing of each other.
const WAITS_NOT: &str = "
    (let ((%s.10 float M))
      (map ((%j.11 M))
        (let ((%x.12 float)) (index %x.3 %i.5 %j.11) p0)
        (let ((%y.13 float)) (op * %x.12 %x.12) p0)
        (give %y.13)) p0)";

const SUM: &str = "
    (let ((%a.20 float))
      (reduce (%j.21 N)
        (let ((%y.24 float)) (index %s.10 %j.21) p0)
        (give %y.24)
        (assoc ((%acc.22 float) (%y.23 float)) (start 0.0)
          (let ((%t.25 float)) (op + %acc.22 %y.23) p0)
          (give %t.25))) p0)
    (give %a.20)";

/// A map over rows of `m`, or of so many as a number says.
fn lowered(leaf: &str, m: &str, target: Target) -> String {
    let text = format!(
        "(flat 1 (name \"main\") (provs (p0 \"main\" 0 1)) (types)
           (params (%n.0 int) (%m.1 int) (%is.2 int %n.0) (%x.3 float %n.0 M)) (inputs %is.2 %x.3) (output 0)
           (body
             (let ((%a.4 float %n.0)) (seg-map grid ((%i.5 %n.0)) (leaf {leaf})) p0)
             (give %a.4)))"
    );
    let text = text.replace(['M', 'N'], m);
    support::lowered(&text, target)
}

/// How many kernels there are, and how many of them have strips.
fn kernels(leaf: &str, m: &str) -> (usize, usize) {
    let text = lowered(leaf, m, Target::default());
    (text.matches("(grid (").count(), text.matches("(for seq %strip").count())
}

#[test]
fn rows_that_wait_run_side_by_side_if_a_cache_has_room() {
    let leaf = format!("{WAITS}{SUM}");
    assert_eq!(kernels(&leaf, "300"), (1, 1));
    assert_eq!(kernels(&leaf, "100000"), (1, 1));
    assert_eq!(kernels(&leaf, "1000000"), (1, 0));
    assert_eq!(kernels(&leaf, "%m.1"), (2, 1));
    // Each lane has a part of the memory for itself.
    let text = lowered(&leaf, "300", Target::default());
    assert!(text.contains("300 8)"), "{text}");
}

#[test]
fn rows_that_do_not_wait_run_side_by_side_if_they_are_short() {
    let leaf = format!("{WAITS_NOT}{SUM}");
    assert_eq!(kernels(&leaf, "7"), (1, 1));
    assert_eq!(kernels(&leaf, "300"), (1, 0));
    assert_eq!(kernels(&leaf, "%m.1"), (2, 1));
}

/// What a round has stored the next one waits for: such rows run side by side though they are longer than a vector.
#[test]
fn rows_in_rounds_run_side_by_side_if_they_are_not_long() {
    let rounds = |m: &str| {
        let leaf = format!(
            "(let ((%row.30 float M)) (index %x.3 %i.5) p0)
             (let ((%s.10 float M))
               (for (%k.31 20) (((%v.32 float M) %row.30))
                 (let ((%w.33 float M)) (map ((%j.11 M))
                   (let ((%x.12 float)) (index %v.32 %j.11) p0)
                   (let ((%y.13 float)) (op * %x.12 0.5) p0)
                   (give %y.13)) p0)
                 (give %w.33)) p0)
             {SUM}"
        );
        kernels(&leaf, m)
    };
    assert_eq!(rounds("200"), (1, 1));
    assert_eq!(rounds("300"), (1, 0));
    assert_eq!(rounds("%m.1"), (2, 1));
}

#[test]
fn rows_of_different_sizes_run_one_by_one() {
    // How much of the row is added up is the row's own matter.
    let sum = SUM.replace('N', "%k.26");
    let leaf = format!("(let ((%k.26 int)) (index %is.2 %i.5) p0) {WAITS}{sum}");
    assert_eq!(kernels(&leaf, "300"), (1, 0));
}

/// Of rows inside rows the inner ones: they need less memory.
#[test]
fn rows_inside_rows() {
    let leaf = format!(
        "(let ((%b.30 float 100))
           (map ((%k.31 100)) {WAITS}
             (let ((%e.32 float)) (index %s.10 %k.31) p0) (give %e.32)) p0)
         (let ((%a.33 float)) (index %b.30 3) p0) (give %a.33)"
    );
    let text = lowered(&leaf, "300", Target::default());
    let strips = text.find("(for seq %strip").unwrap_or_else(|| panic!("{text}"));
    assert!(text.find("(for seq %i").is_some_and(|points| points < strips), "{text}");
    assert_eq!(text.matches("(for seq %strip").count(), 1);
}

#[test]
fn threads_have_no_lanes() {
    let leaf = format!("{WAITS}{SUM}");
    for m in ["300", "%m.1"] {
        assert!(!lowered(&leaf, m, Target::gpu()).contains("strip"));
    }
}
