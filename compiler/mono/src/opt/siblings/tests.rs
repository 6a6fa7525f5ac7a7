use super::super::fuse::fuse;
use super::super::shorthand::{after, program, shape};
use super::siblings;
use crate::ir::Exp;

fn sum(name: &str, n: &str, elem: &str) -> String {
    "(let ((%NAME float)) (reduce (%iNAME N) (let ((%eNAME float)) (index %xs %iNAME)) ELEM (give %yNAME)
       (assoc ((%aNAME float) (%bNAME float)) (start 0.0)
         (let ((%cNAME float)) (op + %aNAME %bNAME)) (give %cNAME))))"
        .replace("ELEM", elem)
        .replace("NAME", name)
        .replace('N', n)
}

fn square(name: &str) -> String {
    sum(name, "%n", "(let ((%yNAME float)) (op * %eNAME %eNAME))")
}

fn merged(params: &str, results: usize, body: &str) -> String {
    shape(&after(program(params, results, body), &[siblings]))
}

const PARAMS: &str = "(%n int) (%m int) (%xs float %n)";

#[test]
fn mean_and_variance_read_once() {
    let text = format!("{} {} (give %s %q)", sum("s", "%n", "(let ((%yNAME float)) %eNAME)"), square("q"));
    let p = after(program(PARAMS, 2, &text), &[siblings]);
    assert_eq!(shape(&p), "reduce:2");
    // The operator is one scalar operator for each component: it commutes.
    assert!(matches!(&p.body.stmts[0].exp, Exp::Reduce { op, .. } if op.is_commutative()));
    let three = format!("{} {} {} (give %s %q %r)", square("s"), square("q"), square("r"));
    assert_eq!(merged(PARAMS, 3, &three), "reduce:3");
}

#[test]
fn merged_iterations_have_an_end() {
    let many = |count: usize, elem: &str| {
        let sums: String = (0..count).map(|k| sum(&format!("s{k}"), "%n", elem)).collect();
        let results: String = (0..count).map(|k| format!(" %s{k}")).collect();
        merged(PARAMS, count, &format!("{sums} (give{results})"))
    };
    let square = "(let ((%yNAME float)) (op * %eNAME %eNAME))";
    assert_eq!(many(100, square), "reduce:64 reduce:36");
    // Heavy ones before that: each weighs 35, for two sines, a read and two sums.
    let sines: String = (0..2).map(|k| format!("(let ((%r{k}NAME float)) (op sin %eNAME))")).collect();
    let sines = format!("{sines} (let ((%yNAME float)) (op + %r0NAME %r1NAME))");
    assert_eq!(many(60, &sines), "reduce:58 reduce:2");
}

#[test]
fn what_depends_stays_apart() {
    let text = format!(
        "{} (let ((%mean float)) (op / %s 2.0)) {} (give %q)",
        square("s"),
        sum("q", "%n", "(let ((%yNAME float)) (op - %eNAME %mean))")
    );
    assert_eq!(merged(PARAMS, 1, &text), "reduce reduce");
    // But what stands between may be passed, either way.
    let text = format!("{} (let ((%mean float)) (op / %s 2.0)) {} (give %mean %q)", square("s"), square("q"));
    assert_eq!(merged(PARAMS, 2, &text), "reduce:2");
    let text = format!(
        "{} (let ((%w float)) (op sqrt %z)) {} (give %s %q)",
        square("s"),
        sum("q", "%n", "(let ((%yNAME float)) (op - %eNAME %w))")
    );
    assert_eq!(merged(&format!("{PARAMS} (%z float)"), 2, &text), "reduce:2");
}

#[test]
fn other_sizes_stay_apart() {
    let text = format!("{} {} (give %s %q)", square("s"), square("q").replace("%n", "%m"));
    assert_eq!(merged(PARAMS, 2, &text), "reduce reduce");
}

#[test]
fn nothing_moves_up_past_a_check() {
    let text = format!(
        "{} (let ((%ok bool)) (op > %s 0.0)) (let () (check (index 1 1) %ok 0 1)) {} (give %s %q)",
        square("s"),
        square("q")
    );
    assert_eq!(merged(PARAMS, 2, &text), "reduce check reduce");
}

fn map(name: &str, op: &str) -> String {
    "(let ((%NAME float %n)) (map ((%iNAME %n)) (let ((%eNAME float)) (index %xs %iNAME))
       (let ((%yNAME float)) (op OP %eNAME 2.0)) (give %yNAME)))"
        .replace("NAME", name)
        .replace("OP", op)
}

#[test]
fn maps_merge_and_then_what_they_hold() {
    let text = format!("{} {} (give %u %v)", map("u", "+"), map("v", "*"));
    assert_eq!(merged(PARAMS, 2, &text), "map1:2");
    assert_eq!(merged(PARAMS, 2, &format!("{} {} (give %u %s)", map("u", "+"), square("s"))), "map1 reduce");
    let rows = |name: &str, op: &str| {
        "(let ((%NAME float %n)) (map ((%iNAME %n))
           (let ((%tNAME float)) (reduce (%lNAME %m) (let ((%eNAME float)) (index %a %iNAME %lNAME))
             (give %eNAME) (assoc ((%pNAME float) (%qNAME float)) (start 0.0)
               (let ((%rNAME float)) (op OP %pNAME %qNAME)) (give %rNAME))))
           (give %tNAME)))"
            .replace("NAME", name)
            .replace("OP", op)
    };
    let text = format!("{} {} (give %u %v)", rows("u", "+"), rows("v", "max2"));
    assert_eq!(merged("(%n int) (%m int) (%a float %n %m)", 2, &text), "map1:2(reduce:2)");
}

#[test]
fn merged_maps_fuse_into_their_reader() {
    let text = format!(
        "{} {} (let ((%w float %n)) (map ((%j %n)) (let ((%d float)) (index %u %j))
           (let ((%e float)) (index %v %j)) (let ((%f float)) (op - %d %e)) (give %f))) (give %w)",
        map("u", "+"),
        map("v", "*")
    );
    assert_eq!(shape(&after(program(PARAMS, 1, &text), &[siblings, fuse])), "map1");
}

#[test]
fn rows_and_columns_stay_apart() {
    let sums = |name: &str, at: &str| {
        "(let ((%sNAME float %n)) (map ((%iNAME %n))
           (let ((%rNAME float)) (reduce (%jNAME %n)
             (let ((%eNAME float)) (index %a AT)) (give %eNAME)
             (assoc ((%pNAME float) (%qNAME float)) (start 0.0)
               (let ((%cNAME float)) (op + %pNAME %qNAME)) (give %cNAME))))
           (give %rNAME)))"
            .replace("AT", at)
            .replace("NAME", name)
    };
    let both = |x: &str, y: &str| {
        let body = format!("{} {} (give %sx %sy)", sums("x", x), sums("y", y));
        merged("(%n int) (%a float %n %n)", 2, &body)
    };
    assert_eq!(both("%ix %jx", "%iy %jy"), both("%jx %ix", "%jy %iy"));
    assert_eq!(both("%ix %jx", "%iy %jy").matches("map").count(), 1);
    assert_eq!(both("%ix %jx", "%jy %iy").matches("map").count(), 2);
}
