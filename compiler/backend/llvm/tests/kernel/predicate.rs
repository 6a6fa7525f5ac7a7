//! Loops in lanes of which each takes its own branch.

use crate::lanes::{agree, args, program_of, sizes};
use crate::runtime::processors;
use remc_base::BaseTy;

/// A loop over `is` in lanes: `branch` says what `%y` is, of the element `%x` and the number `%k`, which is below `%n`.
fn picks(branch: &str) -> String {
    format!(
        "(for (lanes 16) %i (upto 0 %n) () (let (%k int) (load %is %i) p0) (let (%x TY) (load %xs %i) p0)
           {branch} (store %ys (%i) %y p0) (next) p0)
         (for seq %r (upto 0 %m) () (for seq %q (upto 0 %n) ()
           (let (%rest TY) (load %as %r %q) p0) (store %cs (%r %q) %rest p0) (next) p0) (next) p0)"
    )
}

/// Places that are none for the lanes that take the other branch; one that all share and that is none if no lane takes the
/// branch; consecutive ones; branches within branches; memory of a lane.
const BRANCHES: [&str; 6] = [
    "(let (%c bool) (op < %k 5) p0) (let (%f int) (op * %k 1000000000000) p0)
     (let (%h int) (op quotient %f 1000000000000) p0)
     (if %c (then (let (%a TY) (load %xs %k) p0))
            (else (let (%j int) (op - %k 5) p0) (let (%b TY) (load %xs %j) p0)) (((%y TY) %a %b)) p0)",
    "(let (%c bool) (op < %k 3) p0) (let (%far int) (op * %k 1000000000000) p0)
     (if %c (then (let (%z int) (op min2 %k 0) p0) (let (%a TY) (load %xs %z) p0))
            (else (let (%b TY) (load %as 0 %i) p0)) (((%y TY) %a %b)) p0)",
    "(let (%c bool) (op > %k %n) p0) (let (%p int) (op * %n 1000000000000) p0)
     (if %c (then (let (%a TY) (load %xs %p) p0)) (else) (((%y TY) %a %x)) p0)",
    "(let (%c bool) (op < %k 4) p0)
     (if %c (then (let (%d bool) (op = %k 2) p0)
                  (if %d (then (let (%e TY) (load %xs 2) p0))
                         (else (let (%g TY) (load %as 1 %k) p0) (let (%l TY) (op + %g %x) p0))
                      (((%a TY) %e %l)) p0))
            (else (let (%b TY) (op * %x %x) p0)) (((%y TY) %a %b)) p0)",
    "(alloc (%o private TY 3) p0) (store %o (0) %x p0) (store %o (1) %x p0) (let (%x2 TY) (op + %x %x) p0)
     (store %o (2) %x2 p0) (let (%c bool) (op < %k 3) p0)
     (if %c (then (let (%a TY) (load %o %k) p0)) (else) (((%y TY) %a %x)) p0)",
    "(let (%c bool) (op < %k 4) p0)
     (if %c (then (let (%t int) (op % %k 3) p0) (let (%a TY) (load %xs %t) p0) (let (%a2 TY) (op + %a %x) p0))
            (else (let (%j int) (op - %n 1) p0) (let (%b TY) (load %xs %j) p0))
        (((%u TY) %a2 %b) ((%v TY) %x %b)) p0) (let (%y TY) (op + %u %v) p0)",
];

#[test]
fn each_lane_takes_its_own() {
    for ty in [BaseTy::F32, BaseTy::I64, BaseTy::U8] {
        for branch in BRANCHES {
            let p = program_of(ty.name(), &picks(branch));
            agree(&p, sizes(16).into_iter().filter(|n| *n > 6).map(|n| args(ty, 2, n)));
        }
    }
}

/// They run in lanes, and do not come one after the other.
#[test]
fn they_run_together() {
    for host in processors() {
        let ir = remc_llvm::llvm_ir(&program_of("float", &picks(BRANCHES[0])), &host, None).unwrap();
        assert!(ir.contains("select <16 x i1>"), "{ir}");
    }
}

/// A check stops for the lanes that take its branch, and tells of one of them.
#[test]
fn a_lane_that_is_off_stops_at_no_check() {
    for (check, least) in [("(op < %k %m)", 0), ("(op < %k 1)", 0), ("(op > %n 1000)", 1)] {
        let branch = format!(
            "(let (%c bool) (op > %k 2) p0)
             (if %c (then (let (%ok bool) {check} p0) (check (index 1 1) %ok %k %i p0) (let (%a TY) (op + %x %x) p0))
                    (else) (((%y TY) %a %x)) p0)"
        );
        let p = program_of("int", &picks(&branch));
        // Of few items no number is greater than two.
        agree(&p, [least, 1, 2, 3, 17, 40].map(|n| args(BaseTy::I64, 30, n)));
    }
}

/// What is added up is each lane's own branch.
#[test]
fn sums_of_branches() {
    let body = "(for seq %r (upto 0 %m) ()
           (for (lanes 16) %i (upto 0 %n) (((%s int) (%o int) 3 +)) (let (%k int) (load %is %i) p0)
             (let (%c bool) (op < %k 6) p0)
             (if %c (then (let (%a int) (load %as %r %k) p0)) (else (let (%b int) (op * %i %k) p0)) (((%y int) %a %b)) p0)
             (let (%f int) (op + %s %y) p0) (next %f) p0)
           (for seq %q (upto 0 %n) () (store %cs (%r %q) %o p0) (next) p0) (next) p0)
         (for seq %q (upto 0 %n) () (store %ys (%q) 0 p0) (next) p0)";
    let p = program_of("int", body);
    agree(&p, sizes(16).into_iter().filter(|n| *n > 6).map(|n| args(BaseTy::I64, 5, n)));
}
