use super::super::fuse::fuse;
use super::super::shorthand::{after, ops, program, shape};
use super::super::unroll::unroll;
use super::interchange;

/// λ adds arrays of these sizes element by element.
fn added(sizes: &[&str], start: &str) -> String {
    let dims = sizes.join(" ");
    let vars = ["%la", "%lb", "%lc"];
    let axes: String =
        sizes.iter().zip(vars).map(|(n, v)| format!("({v} {n})")).collect::<Vec<_>>().join(" ");
    let at = vars[..sizes.len()].join(" ");
    format!(
        "(assoc ((%acc float {dims}) (%elem float {dims})) {start}
           (let ((%both float {dims})) (map ({axes}) (let ((%va float)) (index %acc {at}))
             (let ((%ve float)) (index %elem {at})) (let ((%vs float)) (op + %va %ve)) (give %vs)))
           (give %both))"
    )
}

fn swapped(params: &str, body: &str) -> String {
    shape(&after(program(params, 1, body), &[interchange, fuse]))
}

#[test]
fn column_sums() {
    let text = format!(
        "(let ((%s float %d)) (reduce (%i %n) (let ((%r float %d)) (index %m %i)) (give %r) {})) (give %s)",
        added(&["%d"], "(start %z)")
    );
    assert_eq!(swapped("(%n int) (%d int) (%m float %n %d) (%z float %d)", &text), "map1(reduce)");
    let text = text.replace("(start %z)", "");
    assert_eq!(swapped("(%n int) (%d int) (%m float %n %d)", &text), "map1(reduce)");
}

/// Items that the operator does not read may be fewer than the elements of its state.
#[test]
fn items_of_another_size_are_not_read() {
    let folded = |size: &str, read: &str| {
        let factor = if read.is_empty() { "%x" } else { "%e" };
        let text = format!(
            "(let ((%s float %d))
               (reduce (%i %n) (let ((%r float {size})) (index %m %i)) (give %r)
                 (serial ((%acc float %d) (%elem float {size})) (start %z)
                   (let ((%both float %d)) (map ((%q %d)) (let ((%x float)) (index %acc %q)) {read}
                     (let ((%y float)) (op * %x {factor})) (give %y)))
                   (give %both)))) (give %s)"
        );
        swapped(&format!("(%n int) (%d int) (%k int) (%m float %n {size}) (%z float %d)"), &text)
    };
    assert_eq!(folded("%d", ""), "map1(reduce)");
    assert_eq!(folded("%k", ""), "reduce(map1)");
    assert_eq!(folded("%k", "(let ((%e float)) (index %elem %q))"), "map1(reduce)");
    let sometimes =
        "(let ((%c bool)) (op < %q %n)) (let ((%e float)) (if %c (then (let ((%f float)) (index %elem %q))
        (give %f)) (else (give 0.0))))";
    assert_eq!(folded("%k", sometimes), "reduce(map1(if))");
}

#[test]
fn products_of_matrices() {
    let text = format!(
        "(let ((%s float %n %d)) (reduce (%l %k)
           (let ((%o float %n %d)) (map ((%i %n) (%j %d)) (let ((%x float)) (index %a %i %l))
             (let ((%y float)) (index %b %l %j)) (let ((%xy float)) (op * %x %y)) (give %xy)))
           (give %o) {})) (give %s)",
        added(&["%n", "%d"], "(start %z)")
    );
    let params = "(%n int) (%k int) (%d int) (%a float %n %k) (%b float %k %d) (%z float %n %d)";
    let p = after(program(params, 1, &text), &[interchange, fuse]);
    assert_eq!((shape(&p).as_str(), ops(&p)), ("map2(reduce)", 2));
}

#[test]
fn work_besides_the_elements_is_not_repeated() {
    let text = format!(
        "(let ((%s float %d)) (reduce (%i %n) (let ((%t float)) (index %ts %i)) (let ((%u float)) (op exp %t))
           (let ((%o float %d)) (map ((%j %d)) (let ((%x float)) (index %m %i %j))
             (let ((%y float)) (op * %x %u)) (give %y)))
           (give %o) {})) (give %s)",
        added(&["%d"], "(start %z)")
    );
    let params = "(%n int) (%d int) (%m float %n %d) (%ts float %n) (%z float %d)";
    assert_eq!(swapped(params, &text), "reduce(map1 map1)");
}

#[test]
fn a_few_components_are_scalars_that_share_their_work() {
    let text = format!(
        "(let ((%s float 3)) (reduce (%i %n) (let ((%t float)) (index %ts %i)) (let ((%u float)) (op exp %t))
           (let ((%o float 3)) (map ((%j 3)) (let ((%x float)) (index %m %i %j))
             (let ((%y float)) (op * %x %u)) (give %y)))
           (give %o) {})) (give %s)",
        added(&["3"], "(start %z)")
    );
    let params = "(%n int) (%m float %n 3) (%ts float %n) (%z float 3)";
    let p = after(program(params, 1, &text), &[interchange, unroll]);
    assert_eq!((shape(&p).as_str(), ops(&p)), ("reduce:3 lit", 7));
}

#[test]
fn scans_are_turned_back() {
    let text = |n: &str| {
        format!(
            "(let ((%s float %n {n})) (scan inclusive (%i %n) (let ((%r float {n})) (index %m %i)) (give %r) {}))
             (give %s)",
            added(&[n], "")
        )
    };
    assert_eq!(swapped("(%n int) (%d int) (%m float %n %d)", &text("%d")), "map1(scan) map2");
    let p = after(program("(%n int) (%m float %n 2)", 1, &text("2")), &[interchange, unroll]);
    assert_eq!((shape(&p).as_str(), ops(&p)), ("scan:2 map1(lit)", 2));
}

#[test]
fn loops_over_elements_each_for_itself() {
    let text = |n: &str, at: &str| {
        format!(
            "(let ((%s float {n})) (for (%t %k) (((%v float {n}) %z))
               (let ((%w float {n})) (map ((%j {n})) (let ((%o int)) (op - 2 %j)) (let ((%x float)) (index %v {at}))
                 (let ((%y float)) (op * %x 0.5)) (give %y)))
               (give %w))) (give %s)"
        )
    };
    assert_eq!(swapped("(%n int) (%k int) (%z float %n)", &text("%n", "%j")), "map1(for)");
    assert_eq!(swapped("(%n int) (%k int) (%z float %n)", &text("%n", "%o")), "for(map1)");
    // A few elements that depend on each other.
    let p = after(program("(%k int) (%z float 3)", 1, &text("3", "%j")), &[interchange, unroll]);
    assert_eq!((shape(&p).as_str(), ops(&p)), ("for:3 lit", 3));
    assert_eq!(swapped("(%k int) (%z float 3)", &text("3", "%o")), "for(map1)");
}

#[test]
fn a_step_of_n_bodies() {
    // The force on each body: a sum over the others of the difference times a function of the distance.
    let text = format!(
        "(let ((%fs float %n 3)) (map ((%i %n))
           (let ((%f float 3)) (reduce (%j %n)
             (let ((%d float 3)) (map ((%k 3)) (let ((%x float)) (index %p %j %k)) (let ((%y float)) (index %p %i %k))
               (let ((%xy float)) (op - %x %y)) (give %xy)))
             (let ((%q float)) (reduce (%l 3) (let ((%e float)) (index %d %l)) (let ((%ee float)) (op * %e %e)) (give %ee)
               (assoc ((%g float) (%h float)) (start 0.0) (let ((%gh float)) (op + %g %h)) (give %gh))))
             (let ((%r float)) (op sqrt %q))
             (let ((%o float 3)) (map ((%c 3)) (let ((%u float)) (index %d %c)) (let ((%w float)) (op / %u %r)) (give %w)))
             (give %o) {}))
           (give %f)))
         (give %fs)",
        added(&["3"], "(start %z)")
    );
    let params = "(%n int) (%p float %n 3) (%z float 3)";
    let p = after(program(params, 1, &text), &[interchange, unroll]);
    assert_eq!((shape(&p).as_str(), ops(&p)), ("map1(reduce:3 lit)", 3 + 6 + 1 + 3 + 3));
    // Fused first, the differences are computed twice, until equal statements are found.
    let p = after(program(params, 1, &text), &[fuse, interchange, unroll]);
    assert_eq!((shape(&p).as_str(), ops(&p)), ("map1(reduce:3 lit)", 2 * 3 + 6 + 1 + 3 + 3));
}
