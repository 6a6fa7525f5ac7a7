//! Loops in lanes with loops inside that lanes leave one by one.

use crate::lanes::{agree, args, program_of, sizes};
use crate::runtime::processors;
use remc_base::BaseTy;

/// A loop over `is` in lanes: `inside` makes `%y` of the element `%x` and the number `%k`, which is below `%n`.
fn each(inside: &str) -> String {
    format!(
        "(for (lanes 16) %i (upto 0 %n) () (let (%k int) (load %is %i) p0) (let (%x TY) (load %xs %i) p0)
           {inside} (store %ys (%i) %y p0) (next) p0)
         (for seq %r (upto 0 %m) () (for seq %q (upto 0 %n) ()
           (let (%rest TY) (load %as %r %q) p0) (store %cs (%r %q) %rest p0) (next) p0) (next) p0)"
    )
}

/// Of what is carried all is wanted, or only one. Then places that a lane alone has, one that all share, and some that are
/// none for lanes that are done; loops inside of loops; branches; memory of a lane, at computed places; sums that are cut off.
const LOOPS: [&str; 8] = [
    "(while (((%c int) (%d int) 0) ((%a TY) (%b TY) %x))
       (cond (let (%t bool) (op < %c %k) p0) (test %t))
       (do (let (%c1 int) (op + %c 1) p0) (let (%a1 TY) (op + %a %x) p0) (next %c1 %a1)) p0)
     (let (%e TY) (cast TY %d) p0) (let (%y TY) (op + %b %e) p0)",
    "(while (((%c int) (%d int) %k) ((%a TY) (%y TY) %x))
       (cond (let (%t bool) (op > %c 0) p0) (test %t))
       (do (let (%c1 int) (op - %c 3) p0) (let (%p int) (op - %c 1) p0) (let (%v TY) (load %xs %p) p0)
           (let (%a1 TY) (op + %a %v) p0) (next %c1 %a1)) p0)",
    "(while (((%c int) (%d int) 0) ((%a TY) (%y TY) %x))
       (cond (let (%p int) (op min2 %c %k) p0) (let (%h int) (load %is %p) p0) (let (%l int) (op min2 %h 6) p0)
             (let (%t bool) (op < %c %l) p0) (test %t))
       (do (let (%c1 int) (op + %c 1) p0) (let (%v TY) (load %as 1 %c) p0) (let (%g TY) (load %as 0 %i) p0)
           (let (%z TY) (op - %v %g) p0) (let (%a1 TY) (op + %a %z) p0) (next %c1 %a1)) p0)",
    "(while (((%c int) (%d int) 0) ((%a TY) (%y TY) %x))
       (cond (let (%t bool) (op < %c %k) p0) (test %t))
       (do (while (((%e int) (%f int) %c) ((%g TY) (%h TY) %a))
             (cond (let (%u bool) (op < %e 5) p0) (test %u))
             (do (let (%e1 int) (op + %e 2) p0) (let (%g1 TY) (op + %g %x) p0) (next %e1 %g1)) p0)
           (let (%o bool) (op = %c 3) p0)
           (if %o (then (let (%v TY) (load %xs %c) p0)) (else) (((%a1 TY) %v %h)) p0)
           (let (%c1 int) (op + %c 1) p0) (next %c1 %a1)) p0)",
    "(for seq %j (upto 0 %k) (((%a TY) (%y TY) %x))
       (let (%v TY) (load %xs %j) p0) (let (%g TY) (load %as 1 %i) p0) (let (%z TY) (op max2 %v %g) p0)
       (let (%a1 TY) (op + %a %z) p0) (next %a1) p0)",
    "(let (%from int) (op - %k 4) p0) (let (%f0 int) (op max2 %from 0) p0)
     (for seq %j (upto %f0 %k) (((%a TY) (%y TY) %x) ((%b int) (%d int) 0))
       (let (%v TY) (load %xs %j) p0) (let (%a1 TY) (op + %a %v) p0) (let (%b1 int) (op + %b %j) p0)
       (next %a1 %b1) p0)",
    "(alloc (%o private TY 3) p0) (store %o (0) %x p0) (store %o (1) %x p0) (store %o (2) %x p0)
     (while (((%c int) (%d int) 0))
       (cond (let (%t bool) (op < %c %k) p0) (test %t))
       (do (let (%s int) (op quotient %c 2) p0) (let (%p int) (op min2 %s 2) p0) (let (%v TY) (load %o %p) p0)
           (let (%u TY) (op + %v %x) p0) (store %o (%p) %u p0) (store %o (1) %v p0)
           (let (%c1 int) (op + %c 1) p0) (next %c1)) p0)
     (let (%y0 TY) (load %o 0) p0) (let (%y1 TY) (load %o 1) p0) (let (%y2 TY) (load %o 2) p0)
     (let (%z TY) (op - %y0 %y1) p0) (let (%y TY) (op + %z %y2) p0)",
    "(alloc (%o private TY 5 4) p0)
     (for seq %j (upto 0 5) () (for seq %l (upto 0 4) () (store %o (%j %l) %x p0) (next) p0) (next) p0)
     (for seq %j (upto 0 %k) ()
       (let (%s int) (op + %j %k) p0) (let (%p int) (op min2 %s 4) p0) (let (%r0 int) (op min2 %j 3) p0)
       (let (%v TY) (load %o %p %r0) p0) (let (%u TY) (op + %v %x) p0) (store %o (%p %r0) %u p0) (next) p0)
     (let (%y0 TY) (load %o 4 3) p0) (let (%y1 TY) (load %o 2 1) p0) (let (%y TY) (op - %y0 %y1) p0)",
];

#[test]
fn each_lane_goes_round_as_often_as_it_wants() {
    for ty in [BaseTy::F32, BaseTy::F64, BaseTy::I64, BaseTy::U8] {
        for body in LOOPS {
            let p = program_of(ty.name(), &each(body));
            agree(&p, sizes(16).into_iter().filter(|n| *n > 6).map(|n| args(ty, 2, n)));
        }
    }
}

/// They go round together, and what is wanted of none of them afterwards is not kept.
#[test]
fn they_go_round_together() {
    let kept = |inside: &str| {
        let of = |h: &remc_llvm::Host| {
            let ir = remc_llvm::llvm_ir(&program_of("float", &each(inside)), h, None).unwrap();
            assert!(ir.contains("@llvm.vector.reduce.or."), "{ir}");
            ir.lines().filter(|l| l.contains("= select <") && l.contains("x double>")).count()
        };
        processors().iter().map(of).collect::<Vec<_>>()
    };
    let all = kept(LOOPS[0]);
    let some = kept(&LOOPS[0].replace("(op + %b %e)", "(op + %x %e)"));
    assert!(all.iter().zip(&some).all(|(a, s)| a > s), "{all:?} {some:?}");
}

/// A lane stops at a check in a round of its own, and at none when it is done.
#[test]
fn a_lane_that_is_done_stops_at_no_check() {
    for ok in ["(op < %c %m)", "(op < %c %k)", "(op < %c 1)"] {
        let body = format!(
            "(while (((%c int) (%d int) 0) ((%a TY) (%y TY) %x))
               (cond (let (%t bool) (op < %c %k) p0) (test %t))
               (do (let (%ok bool) {ok} p0) (check (index 1 1) %ok %c %i p0)
                   (let (%c1 int) (op + %c 1) p0) (let (%a1 TY) (op + %a %x) p0) (next %c1 %a1)) p0)"
        );
        let p = program_of("int", &each(&body));
        agree(&p, [0, 1, 2, 3, 17, 29, 40].map(|n| args(BaseTy::I64, 30, n)));
    }
}

/// Sums of what lanes make in loops of their own, and of loops whose bounds differ.
#[test]
fn sums_of_loops() {
    let body = "(for (lanes 16) %i (upto 0 %n) (((%s int) (%o int) 3 +)) (let (%k int) (load %is %i) p0)
           (while (((%c int) (%d int) %k) ((%a int) (%b int) 0))
             (cond (let (%t bool) (op > %c 1) p0) (test %t))
             (do (let (%h int) (op bit-and %c 1) p0) (let (%odd bool) (op = %h 1) p0) (let (%half int) (op quotient %c 2) p0)
                 (let (%less int) (op - %c 1) p0) (let (%c1 int) (op select %odd %less %half) p0)
                 (let (%a1 int) (op + %a 1) p0) (next %c1 %a1)) p0)
           (for seq %j (upto 0 %b) (((%e int) (%g int) 0)) (let (%e1 int) (op + %e %j) p0) (next %e1) p0)
           (let (%y int) (op + %b %g) p0) (let (%f int) (op + %s %y) p0) (next %f) p0)
         (for seq %r (upto 0 %m) () (for seq %q (upto 0 %n) () (store %cs (%r %q) %o p0) (next) p0) (next) p0)
         (for seq %q (upto 0 %n) () (store %ys (%q) 0 p0) (next) p0)";
    let p = program_of("int", body);
    agree(&p, sizes(16).map(|n| args(BaseTy::I64, 1, n)));
}
