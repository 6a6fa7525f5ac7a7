use super::super::shorthand::{after, program, shape};
use super::super::{dce::dce, simplify::simplify};
use super::grow;

/// The loop with these states beside the array and these statements, which bind what is given.
fn looped(state: &str, stmts: &str) -> String {
    format!(
        "(let ((%first int 1)) (literal (1) %k))
         (let ((%last int) (%n int) (%path int %n))
           (while (((%x int) %k) ((%m int) 1) ((%p int %m) %first){state})
             (cond (let ((%c bool)) (op < %x 20)) (give %c))
             (do {stmts})))"
    )
}

const NEXT: &str = "(let ((%y int)) (op + %x 3)) (let ((%one int 1)) (literal (1) %y))";
const LONGER: &str = "(let ((%l int)) (op + %m 1))";
const BEHIND: &str = "(let ((%q int %l)) (view (append %one) %p)) (give %y %l %q)";

fn grown(results: usize, text: &str) -> String {
    shape(&after(program("(%k int) (%z int %k)", results, text), &[simplify, grow, simplify, dce]))
}

#[test]
fn what_is_added_behind_is_counted_first() {
    let text = looped("", &format!("{NEXT} {LONGER} {BEHIND}")) + "(give %path)";
    assert_eq!(grown(1, &text), "while:2 map1 scatter while:3(scatter)");
}

#[test]
fn what_is_added_in_front_fills_the_room_from_its_end() {
    let stmts = format!("{NEXT} {LONGER} (let ((%q int %l)) (view (append %p) %one)) (give %y %l %q)");
    assert_eq!(grown(1, &(looped("", &stmts) + "(give %path)")), "while:2 map1 scatter while:3(scatter)");
}

#[test]
fn at_both_ends_there_is_room_in_a_loop_that_doubles_it() {
    let stmts = format!(
        "{NEXT} {LONGER} (let ((%f int %l)) (view (append %p) %one)) (let ((%h int)) (op + %l 1))
         (let ((%q int %h)) (view (append %one) %f)) (give %y %h %q)"
    );
    assert_eq!(
        grown(1, &(looped("", &stmts) + "(give %path)")),
        "lit while:4(map1 scatter while:4(scatter scatter) view)"
    );
}

#[test]
fn on_a_condition_as_many_as_there_are() {
    let stmts = format!(
        "{NEXT} (let ((%t int)) (op % %y 2)) (let ((%odd bool)) (op = %t 1))
         (let ((%l int) (%q int %l)) (if %odd
           (then (let ((%h int)) (op + %m 1)) (let ((%w int %h)) (view (append %one) %p)) (give %h %w))
           (else (give %m %p))))
         (give %y %l %q)"
    );
    assert_eq!(
        grown(1, &(looped("", &stmts) + "(give %path)")),
        "while:2(if) map1 scatter while:3(if:2(scatter))"
    );
}

#[test]
fn a_loop_inside_the_loop_goes_on_with_it() {
    let stmts = format!(
        "{NEXT} (let ((%l int) (%q int %l)) (for (%i 3) (((%g int) %m) ((%r int %g) %p))
           (let ((%h int)) (op + %g 1)) (let ((%w int %h)) (view (append %one) %r)) (give %h %w)))
         (give %y %l %q)"
    );
    let shape = grown(1, &(looped("", &stmts) + "(give %path)"));
    assert_eq!(shape, "while:2(for) map1 scatter while:3(for:2(scatter))");
}

#[test]
fn as_many_in_each_of_so_many_rounds_need_no_counting() {
    let text = "(let ((%first int 0)) (literal (0)))
        (let ((%n int) (%path int %n)) (for (%i %k) (((%m int) 0) ((%p int %m) %first))
          (let ((%one int 2)) (literal (2) %i 7)) (let ((%l int)) (op + %m 2))
          (let ((%q int %l)) (view (append %one) %p)) (give %l %q)))
        (give %path)";
    assert_eq!(grown(1, text), "map1 for:2(lit scatter)");
}

#[test]
fn what_is_read_on_the_way_is_the_part_that_there_is() {
    let sum = "(let ((%s int)) (reduce (%i %m) (let ((%e int)) (index %p %i)) (give %e)
        (assoc ((%a int) (%b int)) (start 0) (let ((%d int)) (op + %a %b)) (give %d))))
        (let ((%one int 1)) (literal (1) %s))";
    let stmts = format!("(let ((%y int)) (op + %x 3)) {sum} {LONGER} {BEHIND}");
    let shape = grown(1, &(looped("", &stmts) + "(give %path)"));
    assert_eq!(shape, "while:2 map1 scatter while:3(view reduce scatter)");
}

#[test]
fn what_depends_on_items_cannot_be_counted() {
    let read = "(let ((%e int)) (index %p 0)) (let ((%d int)) (op max2 %e 1)) (let ((%y int)) (op + %x %d))
        (let ((%one int 1)) (literal (1) %y))";
    let text = looped("", &format!("{read} {LONGER} {BEHIND}")) + "(give %path)";
    assert_eq!(grown(1, &text), "lit while:4(map1 scatter while:3(view scatter) view)");
    // A check that reads one may stop the loop before it is done.
    let read =
        "(let ((%e int)) (index %p 0)) (let ((%d bool)) (op > %e -9)) (let () (check (index 1 0) %d %e))";
    let text = looped("", &format!("{read} {NEXT} {LONGER} {BEHIND}")) + "(give %path)";
    assert_eq!(grown(1, &text), "lit while:4(map1 scatter while:3(view check scatter) view)");
}

#[test]
fn checks_are_those_of_the_first_loop() {
    let check = "(let ((%d bool)) (op < %x 15)) (let () (check (index 1 0) %d %x))";
    let text = looped("", &format!("{check} {NEXT} {LONGER} {BEHIND}")) + "(give %path)";
    assert_eq!(grown(1, &text), "while:2(check) map1 scatter while:3(scatter)");
}

#[test]
fn arrays_are_counted_twice_in_rows_alone() {
    // How many rounds there are is asked of an array that each round makes.
    let stmts = |then: &str| {
        format!(
            "(let ((%w int %k)) (map ((%j %k)) (let ((%u int)) (index %v %j)) (let ((%o int)) (op + %u 1)) (give %o)))
             (let ((%y int)) (reduce (%i %k) (let ((%e int)) (index %w %i)) (give %e)
               (assoc ((%a int) (%b int)) (start 20) (let ((%d int)) (op + %a %b)) (give %d))))
             (let ((%one int 1)) (literal (1) %y)) {LONGER} (let ((%q int %l)) (view (append %one) %p)) {then}"
        )
    };
    let text = looped(" ((%v int %k) %z)", &stmts("(give %y %l %q %w)"));
    let text = text.replace("(%path int %n))", "(%path int %n) (%zz int %k))");
    assert_eq!(
        grown(1, &format!("{text} (give %path)")),
        "lit while:5(map1 scatter while:4(map1 reduce scatter) view)"
    );
    let row = format!(
        "(let ((%rs int %k)) (map ((%row %k)) {text} (let ((%r int)) (index %path 0)) (let ((%f int)) (op + %r %n))
         (give %f))) (give %rs)"
    );
    assert_eq!(grown(1, &row), "map1(while:3(map1 reduce) map1 scatter while:4(map1 reduce scatter))");
}

#[test]
fn a_few_items_of_another_array_are_changed_twice_but_in_no_round_around() {
    let stmts = |then: &str| {
        format!(
            "(let ((%w int %k)) (scatter (%j 1) (%v) (give %j %x))) (let ((%e int)) (index %w 0))
             (let ((%d int)) (op max2 %e 1)) (let ((%y int)) (op + %x %d)) (let ((%one int 1)) (literal (1) %y))
             {LONGER} (let ((%q int %l)) (view (append %one) %p)) {then}"
        )
    };
    let text = looped(" ((%v int %k) %z)", &stmts("(give %y %l %q %w)"));
    let text = text.replace("(%path int %n))", "(%path int %n) (%zz int %k))");
    // One item: there has to be one.
    let params = "(%kk int) (%k int) (%z int %k)";
    let shape_of = |results: &str| {
        let p = program(params, 1, &format!("{text} {results}"));
        shape(&after(p, &[simplify, grow, simplify, dce]))
    };
    assert_eq!(shape_of("(give %path)"), "while:3(scatter) map1 scatter while:4(scatter scatter)");
    let nested = format!(
        "(let ((%last2 int)) (for (%t %kk) (((%acc int) 0)) {text} (let ((%f int)) (op + %acc %n)) (give %f)))
         (give %last2)"
    );
    let nested = nested.replace(
        "(let ((%f int)) (op + %acc %n))",
        "(let ((%h int)) (index %path 0)) (let ((%f int)) (op + %acc %h))",
    );
    let p = program(params, 1, &nested);
    assert_eq!(
        shape(&after(p, &[simplify, grow, simplify, dce])),
        "for(lit while:5(map1 scatter while:4(scatter scatter) view))"
    );
}

/// A loop that goes on as long as the last item is below 20, with these statements.
fn asking(stmts: &str) -> String {
    format!(
        "(let ((%first int 1)) (literal (1) %k))
         (let ((%n int) (%path int %n)) (while (((%m int) 1) ((%p int %m) %first))
           (cond (let ((%h int)) (op - %m 1)) (let ((%x int)) (index %p %h)) (let ((%c bool)) (op < %x 20)) (give %c))
           (do (let ((%o int)) (op - %m 1)) (let ((%e int)) (index %p %o)) (let ((%y int)) (op + %e 3))
             (let ((%one int 1)) (literal (1) %y)) {stmts})))
         (give %path)"
    )
}

#[test]
fn a_condition_may_ask_for_the_array() {
    let stmts = "(let ((%l int)) (op + %m 1)) (let ((%q int %l)) (view (append %one) %p)) (give %l %q)";
    assert_eq!(grown(1, &asking(stmts)), "lit while:3(map1 scatter while:2(view view scatter) view)");
}

#[test]
fn a_queue_has_a_head_that_moves() {
    let stmts = "(let ((%two int 2)) (literal (2) %e %y)) (let ((%l int)) (op + %m 2))
        (let ((%q int %l)) (view (append %two) %p)) (let ((%s int)) (op + %m 1))
        (let ((%w int %s)) (view (slice (1) (%s)) %q)) (give %s %w)";
    assert_eq!(grown(1, &asking(stmts)), "lit while:3(map1 scatter while:3(view view lit scatter) view)");
}

#[test]
fn what_a_round_appends_is_asked_before_it_changes_anything() {
    // As many items as the last one says.
    let stmts = "(let ((%some int %y)) (map ((%j %y)) (give %y))) (let ((%l int)) (op + %m %y))
        (let ((%q int %l)) (view (append %some) %p)) (give %l %q)";
    assert_eq!(
        grown(1, &asking(stmts)),
        "lit while:4(map1 scatter while:4(view view if:4(map1 scatter)) view)"
    );
}

#[test]
fn what_a_loop_makes_of_nothing_grows_where_it_is_appended() {
    let stmts = "(let ((%none int 0)) (literal (0)))
        (let ((%g int) (%r int %g)) (for (%i 2) (((%b int) 0) ((%t int %b) %none))
          (let ((%u int)) (op + %y %i)) (let ((%item int 1)) (literal (1) %u)) (let ((%bb int)) (op + %b 1))
          (let ((%v int %bb)) (view (append %item) %t)) (give %bb %v)))
        (let ((%l int)) (op + %m %g)) (let ((%q int %l)) (view (append %r) %p)) (give %l %q)";
    assert_eq!(grown(1, &asking(stmts)), "lit while:3(map1 scatter while:2(view view for:2(scatter)) view)");
}

#[test]
fn an_array_may_begin_again() {
    let stmts = "(let ((%f bool)) (op = %y 7)) (let ((%l int)) (op + %m 1))
        (let ((%g int) (%q int %g)) (if %f (then (give 1 %one))
          (else (let ((%w int %l)) (view (append %one) %p)) (give %l %w))))
        (give %g %q)";
    assert_eq!(
        grown(1, &asking(stmts)),
        "lit while:3(map1 scatter while:2(view view if:2(scatter scatter)) view)"
    );
}
