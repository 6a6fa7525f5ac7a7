//! Scans in lanes give the prefixes that the same loops give one iteration after the other.

use crate::lanes::{agree, args, program_of, sizes};
use crate::runtime::*;
use crate::stmts::sample;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_kernel::ir::neutral;

/// Elements of which floats have exact sums and products.
fn exact(ty: BaseTy, op: ScalarOp, i: i64) -> Scalar {
    match (ty.is_float(), op) {
        (true, ScalarOp::Mul) => Scalar::from_float(ty, if i % 5 == 0 { -1.0 } else { 1.0 }).unwrap(),
        (true, _) => Scalar::from_float(ty, (i * 7 % 13) as f64 - 6.0).unwrap(),
        _ => sample(ty, i),
    }
}

fn arrays(ty: BaseTy, op: ScalarOp, m: i64, n: i64) -> Vec<Arg> {
    let mut a = args(ty, m, n);
    a[2] = Arg::Array((0..n).map(|i| exact(ty, op, i)).collect());
    a[4] = Arg::Array((0..m * n).map(|i| exact(ty, op, i * 5 % 31)).collect());
    a
}

#[test]
fn prefixes_by_every_operator() {
    use ScalarOp::*;
    let mut all = Vec::new();
    for op in [Add, Mul, Min2, Max2, BitAnd, BitOr, BitXor, Gcd, And, Or, Xor] {
        all.extend(BaseTy::ALL.iter().map(|ty| (op, *ty)));
    }
    all.retain(|(op, ty)| op.result_ty(&[*ty, *ty]) == Some(*ty) && neutral(*op, *ty).is_some());
    assert!(all.len() > 60);
    for (op, ty) in all {
        // What is before each, what is up to each, and all.
        let text = format!(
            "(let (%o TY) (load %as 0 0) p0)
             (for (scan W) %i (upto 0 %n) (((%s TY) (%r TY) %o {op})) (let (%x TY) (load %xs %i) p0)
               (let (%q TY) (op {op} %s %x) p0) (store %ys (%i) %q p0) (store %cs (0 %i) %s p0) (next %q) p0)
             (for seq %j (upto 0 %n) () (store %cs (1 %j) %r p0) (next) p0)"
        );
        for w in [4, 64] {
            let p = program_of(ty.name(), &text.replace('W', &w.to_string()));
            agree(&p, sizes(w).map(|n| arrays(ty, op, 2, n)));
        }
    }
}

#[test]
fn every_width() {
    for w in [2, 8, 16, 32, 128] {
        let p = program_of(
            "i32",
            &"(for (scan W) %i (upto 0 %n) (((%s i32) (%r i32) i32:5 +)) (let (%x i32) (load %xs %i) p0)
                (let (%q i32) (op + %x %s) p0) (let (%z i32) (op bit-xor %q %s) p0) (store %ys (%i) %z p0)
                (next %q) p0)
              (for seq %k (upto 0 %m) () (for seq %j (upto 0 %n) () (store %cs (%k %j) %r p0) (next) p0) (next) p0)"
                .replace('W', &w.to_string()),
        );
        agree(&p, sizes(w).map(|n| args(BaseTy::I32, 1, n)));
    }
}

#[test]
fn several_values_and_their_uses() {
    // A sum of products, a count, a number of iterations; a loop over prefixes; loads at prefixes.
    let p = program_of(
        "float",
        "(for (scan 16) %i (upto 0 %n)
             (((%s float) (%r float) 1.0 +) ((%c int) (%d int) 0 +) ((%t i16) (%u i16) i16:3 +))
           (let (%x float) (load %xs %i) p0) (let (%p float) (op * %x %x) p0) (let (%q float) (op + %s %p) p0)
           (let (%b bool) (op > %x 0.0) p0) (let (%e int) (cast int %b) p0)
           (let (%f int) (op + %e %c) p0) (let (%g i16) (op + %t i16:1) p0)
           (for seq %k (upto 0 %m) (((%v float) (%y float) %s)) (let (%a float) (load %as %k %i) p0)
             (let (%h float) (op + %v %a) p0) (next %h) p0)
           (let (%l float) (load %xs %c) p0) (let (%o float) (cast float %g) p0)
           (let (%y1 float) (op + %y %l) p0) (let (%y2 float) (op + %y1 %o) p0)
           (store %ys (%i) %y2 p0) (next %q %f %g) p0)
         (for seq %k2 (upto 0 %m) () (for seq %j2 (upto 0 %n) ()
           (let (%z float) (cast float %d) p0) (let (%z1 float) (cast float %u) p0)
           (let (%z2 float) (op + %z %z1) p0) (let (%z3 float) (op + %z2 %r) p0)
           (store %cs (%k2 %j2) %z3 p0) (next) p0) (next) p0)",
    );
    agree(&p, sizes(16).map(|n| arrays(BaseTy::F64, ScalarOp::Add, 3, n)));
}

#[test]
fn memory_keeps_its_order() {
    // An item is loaded before its place is written with a prefix; what is written is read again.
    let p = program_of(
        "int",
        "(for (lanes 8) %k (upto 0 %n) () (let (%y int) (load %xs %k) p0) (store %ys (%k) %y p0) (next) p0)
         (for (scan 8) %i (upto 0 %n) (((%s int) (%r int) 0 +))
           (let (%x int) (load %ys %i) p0) (let (%q int) (op + %s %x) p0)
           (store %ys (%i) %q p0) (let (%z int) (load %ys %i) p0) (let (%v int) (op - %z %x) p0)
           (store %ys (%i) 7 p0) (store %cs (0 %i) %v p0) (next %q) p0)",
    );
    agree(&p, sizes(8).map(|n| args(BaseTy::I64, 1, n)));
}

#[test]
fn scans_of_jammed_rows_and_of_lanes() {
    for (outer, inner) in [("(jam 4)", "(scan 8)"), ("(jam 3)", "(scan 16)"), ("(lanes 8)", "(scan 4)")] {
        let p = program_of(
            "f32",
            &"(for OUTER %i (upto 0 %m) () (let (%o f32) (load %as %i 0) p0)
                (for INNER %j (upto 0 %n) (((%s f32) (%r f32) %o +) ((%t int) (%u int) 0 +))
                  (let (%x f32) (load %as %i %j) p0) (let (%y f32) (load %xs %j) p0)
                  (let (%q f32) (op + %s %x) p0) (let (%z f32) (op * %s %y) p0) (let (%v int) (op + %t %j) p0)
                  (let (%k f32) (cast f32 %t) p0) (let (%z1 f32) (op + %z %k) p0)
                  (store %cs (%i %j) %z1 p0) (next %q %v) p0) (next) p0)
              (for seq %l (upto 0 %n) () (store %ys (%l) f32:0.0 p0) (next) p0)"
                .replace("OUTER", outer)
                .replace("INNER", inner),
        );
        for m in [1, 4, 11] {
            agree(&p, sizes(8)[1..].iter().map(|n| arrays(BaseTy::F32, ScalarOp::Add, m, *n)));
        }
    }
}

#[test]
fn what_does_not_fit_is_scanned_in_turn() {
    // Memory of an iteration; one place for all.
    let p = program_of(
        "int",
        "(for (scan 8) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (alloc (%two private int 2) p0)
           (let (%x int) (load %xs %i) p0) (store %two (0) %x p0) (store %two (1) %s p0)
           (let (%k int) (op bit-and %x 1) p0) (let (%y int) (load %two %k) p0) (store %ys (%i) %y p0)
           (let (%q int) (op + %s %x) p0) (next %q) p0)
         (for seq %l (upto 0 %m) () (for seq %j (upto 0 %n) () (store %cs (%l %j) %r p0) (next) p0) (next) p0)",
    );
    agree(&p, sizes(8).map(|n| args(BaseTy::I64, 2, n)));
}

#[test]
fn the_first_failing_prefix_is_told() {
    let p = program_of(
        "int",
        "(for (scan 16) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%x int) (load %xs %i) p0)
           (let (%q int) (op + %s %x) p0) (let (%c bool) (op < %q 100) p0)
           (check (subarray 1 1) %c %q %i %m p0) (store %ys (%i) %q p0) (next %q) p0)",
    );
    let m = Machine::new(&p);
    for bad in [0, 5, 16, 31, 40] {
        let mut a = args(BaseTy::I64, 1, 42);
        a[2] = ints((0..42).map(|i| if i == bad { 1000 } else { 1 }));
        assert_eq!(m.run(&a).unwrap_err().unwrap().values, [1000 + bad, bad, 1]);
    }
}

#[test]
fn registers_are_scanned() {
    let p = program_of(
        "f32",
        "(for (scan 16) %i (upto 0 %n) (((%s f32) (%r f32) f32:-0.0 +)) (let (%x f32) (load %xs %i) p0)
           (let (%p f32) (op * %x %x) p0) (let (%q f32) (op + %s %p) p0) (store %ys (%i) %q p0) (next %q) p0)",
    );
    for host in processors() {
        let ir = remc_llvm::llvm_ir(&p, &host, None).unwrap();
        assert!(ir.contains("store <16 x float>") && ir.contains("shufflevector"), "{ir}");
        assert!(!ir.contains("fmuladd"), "{ir}");
    }
}

#[test]
fn long_results_go_past_the_caches() {
    let p = program_of(
        "i64",
        "(for (scan 8) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%x int) (load %xs %i) p0)
           (let (%q int) (op + %s %x) p0) (store %ys (%i) %q p0) (next %q) p0)
         (for seq %j (upto 0 %n) () (store %cs (0 %j) %r p0) (next) p0)",
    );
    // Just more than 8 MiB, and a remainder.
    let n = (1 << 20) + 11;
    agree(&p, [arrays(BaseTy::I64, ScalarOp::Add, 1, n)]);
    for host in processors() {
        let ir = remc_llvm::llvm_ir(&p, &host, None).unwrap();
        assert_eq!(ir.contains("!nontemporal"), host.vector_bits == 512 && cfg!(target_arch = "x86_64"));
        assert_eq!(ir.contains("!nontemporal"), ir.contains("sfence"));
    }
}

/// What is scanned, or reduced in lanes, is something else at an end of its array: vectors whose lanes agree choose once.
#[test]
fn branches_at_the_edges() {
    let edges = [
        ("(op < %i 1)", "(op - %i 1)"),
        ("(op >= %i %last)", "(op + %i 1)"),
        ("(op < %i %third)", "(op - %i %third)"),
    ];
    for ty in [BaseTy::I64, BaseTy::I32, BaseTy::F32] {
        for (cond, index) in edges {
            let item = format!(
                "(let (%c bool) {cond} p0)
                 (if %c (then (let (%e TY) (load %as 0 0) p0)) (else (let (%j int) {index} p0) (let (%x0 TY) (load %xs %j) p0)
                   (let (%y0 TY) (load %as 0 %j) p0) (let (%z TY) (op max2 %x0 %y0) p0)) (((%x TY) %e %z)) p0)"
            );
            let other =
                item.replace("%c", "%d").replace("%e ", "%f ").replace("%j", "%h").replace("%x0", "%x1");
            let other = other
                .replace("%y0", "%y1")
                .replace("%z", "%z1")
                .replace("(%x TY)", "(%v TY)")
                .replace("%i", "%k");
            let text = format!(
                "(let (%o TY) (load %as 0 0) p0) (let (%last int) (op - %n 1) p0) (let (%third int) (op quotient %n 3) p0)
                 (for (scan 8) %i (upto 0 %n) (((%s TY) (%r TY) %o max2)) {item}
                   (let (%q TY) (op max2 %s %x) p0) (store %ys (%i) %q p0) (next %q) p0)
                 (for (lanes 16) %k (upto 0 %n) (((%acc TY) (%all TY) %o max2)) {other}
                   (let (%next TY) (op max2 %acc %v) p0) (next %next) p0)
                 (for seq %w1 (upto 0 %n) () (store %cs (0 %w1) %all p0) (store %cs (1 %w1) %r p0) (next) p0)"
            );
            let p = program_of(ty.name(), &text);
            agree(&p, sizes(8).map(|n| arrays(ty, ScalarOp::Add, 2, n)));
        }
    }
}
