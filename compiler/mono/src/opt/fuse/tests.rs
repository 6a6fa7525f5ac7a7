use super::super::shorthand::{after, ops, program, shape};
use super::fuse;
use crate::ir::Program;

const SUM: &str = "(assoc ((%acc float) (%elem float)) (start 0.0)
    (let ((%both float)) (op + %acc %elem)) (give %both))";

fn fused(params: &str, results: usize, body: &str) -> String {
    shape(&after(program(params, results, &body.replace("SUM", SUM)), &[fuse]))
}

/// `%ys` is `%xs`, each element added to itself.
const DOUBLED: &str = "(let ((%ys float %n)) (map ((%i %n))
    (let ((%x float)) (index %xs %i)) (let ((%y float)) (op + %x %x)) (give %y)))";

const EXPENSIVE: &str = "(let ((%ys float %n)) (map ((%i %n))
    (let ((%y float)) (reduce (%l %m) (let ((%x float)) (index %a %i %l)) (give %x)
      (assoc ((%p float) (%q float)) (start 0.0) (let ((%r float)) (op + %p %q)) (give %r))))
    (give %y)))";

const CHECKED: &str = "(let ((%ys float %n)) (map ((%i %n))
    (let ((%x float)) (index %xs %i)) (let ((%ok bool)) (op >= %x 0.0))
    (let () (check (index 1 1) %ok 0 1)) (give %x)))";

#[test]
fn sum_of_a_map() {
    let sum = "(let ((%s float)) (reduce (%j %n) (let ((%e float)) (index %ys %j)) (give %e) SUM)) (give %s)";
    assert_eq!(fused("(%n int) (%xs float %n)", 1, &format!("{DOUBLED} {sum}")), "reduce");
    assert_eq!(
        fused("(%n int) (%m int) (%a float %n %m)", 1, &format!("{EXPENSIVE} {sum}")),
        "reduce(reduce)"
    );
    assert_eq!(fused("(%n int) (%xs float %n)", 1, &format!("{CHECKED} {sum}")), "reduce(check)");
}

#[test]
fn a_chain_is_one_map() {
    let text = format!(
        "{DOUBLED}
         (let ((%zs float %n)) (map ((%j %n)) (let ((%e float)) (index %ys %j))
           (let ((%z float)) (op * %e 3.0)) (give %z)))
         (let ((%ws float %n)) (map ((%k %n)) (let ((%f float)) (index %zs %k))
           (let ((%w float)) (op - %f 1.0)) (give %w)))
         (give %ws)"
    );
    let p = after(program("(%n int) (%xs float %n)", 1, &text), &[fuse]);
    assert_eq!((shape(&p).as_str(), ops(&p)), ("map1", 3));
}

#[test]
fn cheap_work_is_repeated_a_few_times_and_no_more() {
    let reads = |n: usize| {
        let sites: String = (0..n)
            .map(|k| {
                format!(
                    "(let ((%z{k} float %n)) (map ((%j{k} %n)) (let ((%e{k} float)) (index %ys %j{k}))
                       (let ((%d{k} float)) (op - %e{k} {k}.5)) (give %d{k})))"
                )
            })
            .collect();
        let gives: String = (0..n).map(|k| format!(" %z{k}")).collect();
        fused("(%n int) (%xs float %n)", n, &format!("{DOUBLED} {sites} (give{gives})"))
    };
    assert_eq!(reads(4), "map1 map1 map1 map1");
    assert_eq!(reads(5), "map1 map1 map1 map1 map1 map1");
}

/// Reads at different constants are of different elements: each is computed once. One column twice is twice the work.
#[test]
fn columns_of_a_row_are_elements_of_their_own() {
    let doubled = "(let ((%ys float %n 8)) (map ((%i %n) (%j 8))
        (let ((%x float)) (index %xs %i %j)) (let ((%y float)) (op + %x %x)) (give %y)))";
    let reads = |at: &[&str]| {
        let reads: String =
            (0..at.len()).map(|k| format!("(let ((%e{k} float)) (index %ys %r {}))", at[k])).collect();
        let gives: String = (0..at.len()).map(|k| format!(" %e{k}")).collect();
        let zs: String = (0..at.len()).map(|k| format!("(%z{k} float %n) ")).collect();
        let results: String = (0..at.len()).map(|k| format!(" %z{k}")).collect();
        let map = format!("(let ({}) (map ((%r %n)) {reads} (give{gives})))", zs.trim_end());
        fused("(%n int) (%xs float %n 8)", at.len(), &format!("{doubled} {map} (give{results})"))
    };
    assert_eq!(reads(&["0", "1", "2", "3", "4", "5", "6", "7"]), "map1:8");
    // Which columns these are is known when the program runs: they may be one.
    let five: Vec<String> = (0..5).map(|k| format!("(let ((%v{k} int)) (op % %r {}))", k + 2)).collect();
    let sites: String = (0..5)
        .map(|k| format!("(let ((%z{k} float %n)) (map ((%r{k} %n)) {} (let ((%e{k} float)) (index %ys %r{k} %v{k})) (give %e{k})))", five[k].replace("%r", &format!("%r{k}"))))
        .collect();
    let apart =
        fused("(%n int) (%xs float %n 8)", 5, &format!("{doubled} {sites} (give %z0 %z1 %z2 %z3 %z4)"));
    assert_eq!(apart, "map2 map1 map1 map1 map1 map1");
}

#[test]
fn work_is_not_repeated_in_an_iteration_that_the_index_leaves_out() {
    let table = "(let ((%zs float %m %n)) (map ((%k %m) (%j %n)) (let ((%e float)) (index %ys %j))
      (let ((%b float)) (index %bs %k)) (let ((%z float)) (op * %e %b)) (give %z))) (give %zs)";
    let params = "(%n int) (%m int) (%xs float %n) (%bs float %m)";
    assert_eq!(fused(params, 1, &format!("{DOUBLED} {table}")), "map1 map2");
    // But for a few, known in number.
    let few = format!("{DOUBLED} {table}").replace("%m", "3");
    assert_eq!(fused("(%n int) (%xs float %n) (%bs float 3)", 1, &few), "map2");
}

#[test]
fn trivial_elements_are_inlined_everywhere() {
    let transposed = "(let ((%ys float %m %n)) (map ((%j %m) (%i %n))
        (let ((%x float)) (index %xs %i %j)) (give %x)))
      (let ((%zs float %k %m %n)) (map ((%l %k) (%o %m) (%p %n)) (let ((%e float)) (index %ys %o %p))
        (let ((%z float)) (op * %e %e)) (give %z)))";
    let params = "(%n int) (%m int) (%k int) (%xs float %n %m)";
    assert_eq!(fused(params, 1, &format!("{transposed} (give %zs)")), "map3");
    // The program's result is made besides.
    assert_eq!(fused(params, 2, &format!("{transposed} (give %zs %ys)")), "map2 map3");
}

#[test]
fn a_result_is_not_computed_again() {
    let rest = "(let ((%s float)) (reduce (%j %n) (let ((%e float)) (index %ys %j)) (give %e) SUM))
      (give %s %ys)";
    assert_eq!(fused("(%n int) (%xs float %n)", 2, &format!("{DOUBLED} {rest}")), "map1 reduce");
}

#[test]
fn nested_work_is_done_once() {
    let params = "(%n int) (%m int) (%a float %n %m)";
    let site = |k: usize, at: &str| {
        format!(
            "(let ((%z{k} float %n)) (map ((%j{k} %n)) {at} (let ((%e{k} float)) (index %ys %v{k}))
               (let ((%d{k} float)) (op * %e{k} 2.0)) (give %d{k})))"
        )
    };
    let backwards = "(let ((%w int)) (op - %n 1)) (let ((%v1 int)) (op - %w %j1))";
    let clamped = "(let ((%v1 int)) (op max2 %j1 3))";
    let one = |at| fused(params, 1, &format!("{EXPENSIVE} {} (give %z1)", site(1, at)));
    assert_eq!(one(backwards), "map1(reduce)");
    assert_eq!(one(clamped), "map1(reduce) map1");
    let two =
        format!("{EXPENSIVE} {} {} (give %z1 %z2)", site(1, backwards), site(2, "(let ((%v2 int)) %j2)"));
    assert_eq!(fused(params, 2, &two), "map1(reduce) map1 map1");
}

#[test]
fn a_stencil_reads_each_element_a_few_times() {
    let text = format!(
        "{DOUBLED}
         (let ((%w int)) (op - %n 2))
         (let ((%zs float %w)) (map ((%j %w))
           (let ((%a float)) (index %ys %j))
           (let ((%j1 int)) (op + %j 1)) (let ((%b float)) (index %ys %j1))
           (let ((%j2 int)) (op + %j 2)) (let ((%c float)) (index %ys %j2))
           (let ((%d float)) (op + %a %b)) (let ((%e float)) (op + %c %d)) (give %e)))
         (give %zs)"
    );
    assert_eq!(fused("(%n int) (%xs float %n)", 1, &text), "map1");
    let text = text.replace(DOUBLED, &EXPENSIVE.replace("%a ", "%rows "));
    assert_eq!(fused("(%n int) (%m int) (%rows float %n %m)", 1, &text), "map1(reduce) map1");
}

#[test]
fn rotated_and_reshaped_reads_are_of_each_element_once() {
    let params = "(%n int) (%m int) (%a float %n %m)";
    let rotated = "(let ((%zs float %n)) (map ((%j %n)) (let ((%t int)) (op + %j 2))
        (let ((%v int)) (op % %t %n)) (let ((%e float)) (index %ys %v)) (give %e))) (give %zs)";
    assert_eq!(fused(params, 1, &format!("{EXPENSIVE} {rotated}")), "map1(reduce)");
    let cycled = rotated.replace("((%j %n))", "((%j %m))").replace("%zs float %n", "%zs float %m");
    assert_eq!(fused(params, 1, &format!("{EXPENSIVE} {cycled}")), "map1(reduce) map1");
    // A vector as a matrix of rows of %k, which is %n long.
    let reshaped = "(let ((%zs float %h %k)) (map ((%u %h) (%v %k)) (let ((%t int)) (op * %u %k))
        (let ((%w int)) (op + %t %v)) (let ((%e float)) (index %ys %w)) (give %e))) (give %zs)";
    let params = "(%n int) (%m int) (%h int) (%k int) (%a float %n %m)";
    assert_eq!(fused(params, 1, &format!("{EXPENSIVE} {reshaped}")), "map2(reduce)");
}

#[test]
fn rows_are_fused_into_their_readers() {
    // Each row less its sum, then squared: the row's sum is computed once a row.
    let text = "(let ((%ys float %n %m)) (map ((%i %n)) (let ((%r float %m)) (index %a %i))
        (let ((%s float)) (reduce (%l %m) (let ((%x float)) (index %r %l)) (give %x) SUM))
        (let ((%d float %m)) (map ((%k %m)) (let ((%x2 float)) (index %r %k))
          (let ((%e float)) (op - %x2 %s)) (give %e)))
        (give %d)))
      (let ((%zs float %n %m)) (map ((%j %n)) (let ((%row float %m)) (index %ys %j))
        (let ((%q float %m)) (map ((%o %m)) (let ((%f float)) (index %row %o))
          (let ((%g float)) (op * %f %f)) (give %g)))
        (give %q)))
      (give %zs)";
    assert_eq!(fused("(%n int) (%m int) (%a float %n %m)", 1, text), "map1(reduce map1)");
}

#[test]
fn perfect_nests_are_one_map() {
    let text = "(let ((%ys float %n %m)) (map ((%i %n)) (let ((%r float %m)) (index %a %i))
        (let ((%b float)) (index %bs %i))
        (let ((%d float %m)) (map ((%k %m)) (let ((%x float)) (index %r %k))
          (let ((%e float)) (op - %x %b)) (give %e)))
        (give %d)))
      (give %ys)";
    assert_eq!(fused("(%n int) (%m int) (%a float %n %m) (%bs float %n)", 1, text), "map2");
}

#[test]
fn maps_without_axes_are_their_bodies() {
    let text = "(let ((%y float)) (map () (let ((%z float)) (op * %x 2.0)) (give %z)))
      (let ((%w float)) (index %y)) (let ((%v float)) (op + %w %y)) (give %v)";
    assert_eq!(fused("(%x float)", 1, text), "");
}

#[test]
fn two_results_share_their_work() {
    let text = "(let ((%us float %n) (%vs float %n)) (map ((%i %n)) (let ((%x float)) (index %xs %i))
        (let ((%e float)) (op exp %x)) (let ((%u float)) (op + %e 1.0)) (let ((%v float)) (op - %e 1.0))
        (give %u %v)))
      (let ((%zs float %n)) (map ((%j %n)) (let ((%a float)) (index %us %j)) (let ((%b float)) (index %vs %j))
        (let ((%c float)) (op * %a %b)) (give %c)))
      (give %zs)";
    let p = after(program("(%n int) (%xs float %n)", 1, text), &[fuse]);
    assert_eq!((shape(&p).as_str(), ops(&p)), ("map1", 4));
}

#[test]
fn checks_stay_where_they_run() {
    let params = "(%n int) (%xs float %n) (%k int) (%c bool) (%m int)";
    let kept = |rest: &str| {
        assert_eq!(
            fused(params, 1, &format!("{CHECKED} {rest}")).split(' ').next(),
            Some("map1(check)"),
            "{rest}"
        );
    };
    // One element, a part of them, twice, under a condition, in no iteration of another's.
    kept("(let ((%e float)) (index %ys %k)) (give %e)");
    kept("(let ((%s float)) (reduce (%j %m) (let ((%e float)) (index %ys %j)) (give %e) SUM)) (give %s)");
    kept(
        "(let ((%s float)) (reduce (%j %n) (let ((%e float)) (index %ys %j)) (let ((%f float)) (index %ys %k))
           (let ((%g float)) (op * %e %f)) (give %g) SUM)) (give %s)",
    );
    kept(
        "(let ((%s float)) (if %c (then (let ((%t float)) (reduce (%j %n) (let ((%e float)) (index %ys %j))
           (give %e) SUM)) (give %t)) (else (give 0.0)))) (give %s)",
    );
    kept(
        "(let ((%zs float %m %n)) (map ((%l %m) (%j %n)) (let ((%e float)) (index %ys %j)) (give %e)))
         (give %zs)",
    );
    kept("(let ((%zs float %n)) (view (reverse) %ys)) (give %zs)");
}

/// Maps `%x1`, `%x2`, … of `%x0`, each the sine of the one before, and its use.
fn sines(links: usize) -> Program {
    let maps: String = (1..=links)
        .map(|k| {
            let before = k - 1;
            format!(
                "(let ((%x{k} float %n)) (map ((%i{k} %n)) (let ((%e{k} float)) (index %x{before} %i{k}))
                   (let ((%s{k} float)) (op sin %e{k})) (give %s{k})))"
            )
        })
        .collect();
    program("(%n int) (%x0 float %n)", 1, &format!("{maps} (give %x{links})"))
}

#[test]
fn a_long_chain_takes_time_in_proportion_to_its_length() {
    let made = |links: usize| {
        let before = sines(links).vars.len();
        after(sines(links), &[fuse]).vars.len() - before
    };
    // Each link is copied into the next body once; a chain that is put together from its end copies each link into all
    // that a body has room for.
    assert!(made(1600) <= 3 * 1600, "{}", made(1600));
}

#[test]
fn a_chain_ends_where_a_body_would_weigh_too_much() {
    let p = after(sines(300), &[fuse]);
    // Sines weigh 16 and their reads 1: 120 of them weigh 2,040.
    assert_eq!((shape(&p).as_str(), ops(&p)), ("map1 map1 map1", 300));
}

#[test]
fn a_map_for_its_checks_alone_stays() {
    let checks: String = (0..6)
        .map(|k| format!("(let ((%ok{k} bool)) (op >= %e {k}.0)) (let () (check (index 1 1) %ok{k} {k} 1))"))
        .collect();
    let text = format!(
        "{DOUBLED} (let () (map ((%j %n)) (let ((%e float)) (index %ys %j)) {checks} (give)))
         (let ((%zs float %n)) (map ((%k %n)) (let ((%x1 float)) (index %xs %k)) (give %x1))) (give %zs)"
    );
    let left = fused("(%n int) (%xs float %n)", 1, &text);
    assert_eq!(left.matches("check").count(), 6, "{left}");
}

/// `%ys` is `%xs` between zeros.
const PADDED: &str = "(let ((%ys float 8)) (map ((%i 8))
    (let ((%at int)) (op - %i 3)) (let ((%a bool)) (op >= %at 0)) (let ((%b bool)) (op < %at %n))
    (let ((%in bool)) (op and %a %b))
    (let ((%y float)) (if %in (then (let ((%x float)) (index %xs %at)) (give %x)) (else (give 0.0)))) (give %y)))";

#[test]
fn what_is_read_on_a_condition_is_made_where_it_is_read_often() {
    let sums = |window: &str| {
        format!(
            "{PADDED} (let ((%few int)) (op min2 %n 5))
             (let ((%zs float 3)) (map ((%o 3)) (let ((%s float)) (reduce (%j {window})
               (let ((%p int)) (op + %o %j)) (let ((%e float)) (index %ys %p)) (give %e) SUM)) (give %s)))
             (give %zs)"
        )
    };
    let params = "(%n int) (%xs float %n)";
    assert_eq!(fused(params, 1, &sums("3")), "map1(reduce(if))");
    assert_eq!(fused(params, 1, &sums("%few")), "map1(if) map1(reduce)");
}

#[test]
fn elements_of_several_are_made_before_every_other_one_is_read() {
    let text = |reads: usize, step: &str| {
        let sum: String = (1..reads)
            .map(|k| {
                let before = k - 1;
                format!(
                    "(let ((%q{k} int)) (op + %i {k})) (let ((%x{k} float)) (index %xs %q{k}))
                     (let ((%y{k} float)) (op + %y{before} %x{k}))"
                )
            })
            .collect();
        let last = reads - 1;
        format!(
            "(let ((%xs float 24)) (map ((%o 24)) (let ((%r float)) (reduce (%l %n) (let ((%e float)) (index %as %l))
               (give %e) SUM)) (give %r)))
             (let ((%ys float 18)) (map ((%i 18)) (let ((%y0 float)) (index %xs %i)) {sum} (give %y{last})))
             (let ((%zs float 9)) (map ((%j 9)) (let ((%a int)) {step}) (let ((%f float)) (index %ys %a))
               (let ((%z float)) (op * %f 2.0)) (give %z)))
             (give %zs)"
        )
    };
    let params = "(%n int) (%as float %n)";
    assert_eq!(fused(params, 1, &text(4, "(op * %j 2)")), "map1(reduce) map1 map1");
    assert_eq!(fused(params, 1, &text(4, "(op + %j 2)")), "map1(reduce) map1");
    assert_eq!(fused(params, 1, &text(2, "(op * %j 2)")), "map1(reduce) map1");
}
