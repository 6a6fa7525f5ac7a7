use super::super::shorthand::{after, ops, program, shape};
use super::unroll;

const SUM: &str = "(assoc ((%acc float) (%elem float)) (start 0.0)
    (let ((%both float)) (op + %acc %elem)) (give %both))";

/// For each row of `%p`, the squared distance from the point (1, 1, …).
const DISTANCES: &str = "(let ((%rs float %n)) (map ((%j %n))
    (let ((%d float 3)) (map ((%k 3)) (let ((%x float)) (index %p %j %k)) (let ((%y float)) (op - %x 1.0))
      (give %y)))
    (let ((%s float)) (reduce (%l 3) (let ((%e float)) (index %d %l)) (let ((%q float)) (op * %e %e))
      (give %q) SUM))
    (give %s)))
  (give %rs)";

fn unrolled(params: &str, body: &str) -> (String, usize) {
    let p = after(program(params, 1, &body.replace("SUM", SUM)), &[unroll]);
    (shape(&p), ops(&p))
}

#[test]
fn small_vectors_are_scalars() {
    assert_eq!(unrolled("(%n int) (%p float %n 3)", DISTANCES), ("map1".into(), 9));
}

#[test]
fn large_and_unknown_ones_are_not() {
    let n = DISTANCES.replace(" 3)", " 26)").replace("3)) (map ((%k 3", "26)) (map ((%k 26");
    assert_eq!(unrolled("(%n int) (%p float %n 26)", &n).0, "map1(map1 reduce)");
    let n = DISTANCES.replace(" 3)", " %m)").replace("3)) (map ((%k 3", "%m)) (map ((%k %m");
    assert_eq!(unrolled("(%n int) (%m int) (%p float %n %m)", &n).0, "map1(map1 reduce)");
}

#[test]
fn an_element_at_an_unknown_index_keeps_the_array() {
    let text = DISTANCES.replace("(give %s)", "(let ((%z float)) (index %d %t)) (give %z)");
    assert_eq!(unrolled("(%n int) (%t int) (%p float %n 3)", &text).0, "map1(map1)");
}

#[test]
fn nothing_is_unrolled_outside_of_iterations() {
    let text = "(let ((%d float 3)) (map ((%k 3)) (let ((%x float)) (index %p %k))
      (let ((%y float)) (op - %x 1.0)) (give %y))) (let ((%z float)) (index %d 1)) (give %z)";
    assert_eq!(unrolled("(%p float 3)", text).0, "map1");
}

#[test]
fn weights_that_are_known_are_constants() {
    let text = "(let ((%w float 3)) (literal (3) 1.0 2.0 1.0))
      (let ((%rs float %n)) (map ((%j %n))
        (let ((%s float)) (reduce (%l 3) (let ((%e float)) (index %w %l)) (let ((%i int)) (op + %j %l))
          (let ((%x float)) (index %p %i)) (let ((%q float)) (op * %e %x)) (give %q) SUM))
        (give %s)))
      (give %rs)";
    assert_eq!(unrolled("(%n int) (%m int) (%p float %m)", text), ("map1".into(), 9));
}

#[test]
fn a_vector_that_is_given_is_a_literal_if_that_frees_another() {
    let text = "(let ((%rs float %n 3)) (map ((%j %n))
        (let ((%x float)) (index %p %j))
        (let ((%a float)) (op exp %x))
        (let ((%d float 3)) (literal (3) %a %x 1.0))
        (let ((%r float 3)) (map ((%k 3)) (let ((%e float)) (index %d %k)) (let ((%f float)) (op * %e %x))
          (give %f)))
        (give %r)))
      (give %rs)";
    assert_eq!(unrolled("(%n int) (%p float %n)", text), ("map1(lit)".into(), 4));
    let text = text.replace("(index %d %k)", "(index %q %k)");
    assert_eq!(unrolled("(%n int) (%p float %n) (%q float 3)", &text).0, "map2");
}

#[test]
fn loops_of_few_steps_over_them() {
    let text = DISTANCES.replace(
        "(reduce (%l 3) (let ((%e float)) (index %d %l)) (let ((%q float)) (op * %e %e))
      (give %q) SUM)",
        "(for (%l 3) (((%t float) 0.0)) (let ((%e float)) (index %d %l)) (let ((%q float)) (op - %e %t))
      (give %q))",
    );
    assert_eq!(unrolled("(%n int) (%p float %n 3)", &text), ("map1".into(), 6));
}

#[test]
fn short_reductions_of_scalars() {
    let text = "(let ((%rs float %n)) (map ((%j %n))
        (let ((%s float)) (reduce (%l 3) (let ((%x float)) (index %p %j %l)) (give %x) SUM))
        (give %s))) (give %rs)";
    assert_eq!(unrolled("(%n int) (%p float %n 3)", text), ("map1".into(), 3));
    let text = text.replace("%l 3", "%l 9");
    assert_eq!(unrolled("(%n int) (%p float %n 9)", &text).0, "map1(reduce)");
}

#[test]
fn empty_ones_vanish() {
    let text = DISTANCES.replace(" 3)", " 0)").replace("3)) (map ((%k 3", "0)) (map ((%k 0");
    assert_eq!(unrolled("(%n int) (%p float %n 0)", &text), ("map1".into(), 0));
}

/// The elements of a small array are the same in other dims.
#[test]
fn small_arrays_in_other_dims() {
    let text = |read: &str| {
        format!(
            "(let ((%rs float %n)) (map ((%j %n))
               (let ((%d float 2 3)) (map ((%h 2) (%k 3)) (let ((%x float)) (index %p %j %k)) (let ((%y float)) (op - %x 1.0)) (give %y)))
               (let ((%f float 6)) (view (reshape 6) %d))
               (let ((%s float)) (reduce (%l 6) (let ((%e float)) (index %f {read})) (let ((%q float)) (op * %e %e)) (give %q) SUM))
               (give %s)))
             (give %rs)"
        )
    };
    assert_eq!(unrolled("(%n int) (%t int) (%p float %n 3)", &text("%l")).0, "map1");
    assert_eq!(unrolled("(%n int) (%t int) (%p float %n 3)", &text("%t")).0, "map1(map2 view)");
}

/// A row of a few items is sorted by comparisons, for the items' sake or for their places; of more it stays.
#[test]
fn a_few_items_are_compared() {
    let rows = |n: &str, read: &str| {
        format!(
            "(let ((%rs float %n)) (map ((%j %n))
               (let ((%o int {n})) (grade (%i {n}) (let ((%k float)) (index %p %j %i)) (give %k)))
               (let ((%a int)) (index %o 1)) {read} (give %y)))
             (give %rs)"
        )
    };
    let item = "(let ((%y float)) (index %p %j %a))";
    let place = "(let ((%y float)) (cast float %a))";
    let (params, nine, ten) =
        ("(%n int) (%p float %n 3)", "(%n int) (%p float %n 9)", "(%n int) (%p float %n 10)");
    // Three items: an item of three comparisons of neighbours, of which the middle one needs five selections.
    assert_eq!(unrolled(params, &rows("3", item)).0, "map1");
    assert_eq!(unrolled(params, &rows("3", place)).0, "map1");
    assert!(unrolled(params, &rows("3", item)).1 < unrolled(params, &rows("3", place)).1);
    assert_eq!(unrolled(nine, &rows("9", item)).0, "map1");
    assert_eq!(unrolled(ten, &rows("10", item)).0, "map1(grade)");
    assert_eq!(unrolled("(%n int) (%p float %n 6)", &rows("6", place)).0, "map1(grade)");
}

/// What computes functions is left to lanes where it fills them, with what is made of it; and else written out.
#[test]
fn functions_of_a_vector_stay() {
    let rows = |n: usize, op: &str| {
        let text = DISTANCES.replace(" 3)", &format!(" {n})")).replace("(op - %x 1.0)", op);
        unrolled(&format!("(%n int) (%p float %n {n})"), &text).0
    };
    assert_eq!(rows(8, "(op - %x 1.0)"), "map1");
    assert_eq!(rows(7, "(op log %x)"), "map1");
    assert_eq!(rows(8, "(op log %x)"), "map1(map1 reduce)");
}
