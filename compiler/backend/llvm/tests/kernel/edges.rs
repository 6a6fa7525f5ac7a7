//! Loops in lanes that do something else at the edges of their arrays.

use crate::lanes::{agree, args, program_of, sizes};
use crate::runtime::processors;
use remc_base::BaseTy;

/// Rows of `as` through an index made of the last axis by `index`, which says what `%j` is.
fn rows(index: &str) -> String {
    format!(
        "(for seq %r (upto 0 %m) () (for (lanes 16) %i (upto 0 %n) ()
           (let (%x TY) (load %as %r %i) p0) {index}
           (let (%z TY) (op + %x %y) p0) (store %cs (%r %i) %z p0) (next) p0) (next) p0)"
    )
}

/// Wrapped round by the number of the row, forward and backward; twice; one side and the other held.
const INDICES: [&str; 7] = [
    "(let (%t int) (op + %i %r) p0) (let (%c bool) (op >= %t %n) p0) (let (%d int) (op - %t %n) p0)
     (let (%j int) (op select %c %d %t) p0) (let (%y TY) (load %as %r %j) p0)",
    "(let (%t int) (op - %i %r) p0) (let (%c bool) (op < %t 0) p0) (let (%d int) (op + %n %t) p0)
     (let (%j int) (op select %c %d %t) p0) (let (%y TY) (load %as %r %j) p0)",
    "(let (%t int) (op + %i %r) p0) (let (%c bool) (op >= %t %n) p0) (let (%d int) (op - %t %n) p0)
     (let (%j int) (op select %c %d %t) p0)
     (let (%v int) (op + 1 %j) p0) (let (%g bool) (op <= %n %v) p0) (let (%h int) (op - %v %n) p0)
     (let (%k int) (op select %g %h %v) p0) (let (%y TY) (load %as %r %k) p0)",
    "(let (%q int) (op - %n 1) p0) (let (%t int) (op + %i %r) p0) (let (%u int) (op min2 %q %t) p0)
     (let (%j int) (op max2 %u 1) p0) (let (%k int) (op min2 %j %q) p0) (let (%y TY) (load %as %r %k) p0)",
    // Both sides of the choice are indices, and the condition is made of two.
    "(let (%t int) (op - %i 2) p0) (let (%c bool) (op > %i %r) p0) (let (%q int) (op - %n 3) p0)
     (let (%g bool) (op <= %i %q) p0) (let (%b bool) (op and %c %g) p0) (let (%h bool) (op >= %t 0) p0)
     (let (%l bool) (op and %b %h) p0) (let (%j int) (op select %l %t %i) p0) (let (%y TY) (load %as %r %j) p0)",
    // What grows starts again from the least integer.
    "(let (%t int) (op + %i 9223372036854775797) p0) (let (%c bool) (op > 0 %t) p0) (let (%u int) (op - %i 1) p0)
     (let (%j int) (op select %c %u %i) p0) (let (%y TY) (load %as %r %j) p0)",
    // … and a comparison holds of two lanes in the middle of a vector.
    "(let (%t int) (op + %i 9223372036854775797) p0) (let (%c bool) (op < %t -9223372036854775806) p0)
     (let (%u int) (op - %i 1) p0) (let (%j int) (op select %c %u %i) p0) (let (%y TY) (load %as %r %j) p0)",
];

#[test]
fn indices_that_wrap_or_are_held() {
    for ty in [BaseTy::F32, BaseTy::U8, BaseTy::F64] {
        for index in INDICES {
            let p = program_of(ty.name(), &rows(index));
            agree(&p, sizes(16).into_iter().filter(|n| *n > 6).map(|n| args(ty, 5, n)));
        }
    }
}

/// All vectors load consecutive elements; edges run one by one.
#[test]
fn most_vectors_load_consecutive_elements() {
    for index in INDICES {
        for host in processors() {
            let ir = remc_llvm::llvm_ir(&program_of("float", &rows(index)), &host, None).unwrap();
            // What each lane reads of its own, and what its neighbour has.
            assert_eq!(ir.matches("load <16 x double>").count(), 2, "{index}: {ir}");
            assert!(!ir.contains("masked.gather"), "{index}: {ir}");
        }
    }
}

/// Branches at the edges, with loads that only one side may do, and one inside the other.
const BRANCHES: [&str; 3] = [
    "(let (%c bool) (op < %i 1) p0)
     (if %c (then (let (%a TY) (load %xs 0) p0))
            (else (let (%t int) (op - %i 1) p0) (let (%b TY) (load %as %r %t) p0)) (((%y TY) %a %b)) p0)",
    "(let (%c bool) (op < %i %r) p0) (let (%t int) (op + %i 1) p0) (let (%d bool) (op >= %t %n) p0)
     (let (%e bool) (op or %c %d) p0) (let (%f bool) (op not %e) p0)
     (if %f (then (let (%a TY) (load %as %r %t) p0)) (else) (((%y TY) %a %x)) p0)",
    "(let (%c bool) (op < %i 3) p0)
     (if %c (then (let (%a TY) (load %xs %r) p0))
            (else (let (%t int) (op - %i 3) p0) (let (%q int) (op - %n 8) p0) (let (%d bool) (op < %t %q) p0)
                  (if %d (then (let (%b TY) (load %as %r %t) p0)) (else (let (%e TY) (load %xs %i) p0))
                      (((%g TY) %b %e)) p0))
        (((%y TY) %a %g)) p0)",
];

#[test]
fn branches_at_the_edges() {
    for ty in [BaseTy::F32, BaseTy::I64, BaseTy::U8] {
        for branch in BRANCHES {
            let p = program_of(ty.name(), &rows(branch));
            agree(&p, sizes(16).map(|n| args(ty, 5.min(n), n)));
        }
    }
}

#[test]
fn most_vectors_branch_once() {
    for branch in BRANCHES {
        for host in processors() {
            let ir = remc_llvm::llvm_ir(&program_of("float", &rows(branch)), &host, None).unwrap();
            assert!(ir.contains("load <16 x double>"), "{branch}: {ir}");
        }
    }
}

/// Sums of what is next to what: accumulators in lanes go through both ways.
#[test]
fn sums_over_neighbours() {
    for (wrap, op) in [(INDICES[0], "+"), (INDICES[3], "max2"), (INDICES[5], "+"), (INDICES[6], "max2")] {
        let body = format!(
            "(for seq %r (upto 0 %m) ()
               (for (lanes 16) %i (upto 0 %n) (((%s int) (%o int) 3 {op}) ((%s2 int) (%o2 int) 0 +)) {wrap}
                 (let (%z int) (op * %y %i) p0) (let (%f int) (op {op} %s %z) p0)
                 (let (%f2 int) (op + %s2 %m) p0) (next %f %f2) p0)
               (for (lanes 16) %k2 (upto 0 %n) () 
                 (let (%o3 int) (op + %o %o2) p0) (store %cs (%r %k2) %o3 p0) (next) p0) (next) p0)"
        );
        let p = program_of("int", &body);
        agree(&p, sizes(16).into_iter().filter(|n| *n > 6).map(|n| args(BaseTy::I64, 5, n)));
    }
}
