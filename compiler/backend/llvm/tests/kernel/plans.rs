//! Plans.

use crate::runtime::*;
use remc_base::{Scalar, Trap};

/// `ys = xs + k`
fn adder() -> String {
    kernel(
        0,
        "(%b %nb)",
        "%w",
        "(%n int) (%nb int) (%k int) (%xs global int %n) (%ys global int %n)",
        "(for (lanes 8) %i (tile %b 16 %n) () (let (%x int) (load %xs %i) p0) (let (%y int) (op + %x %k) p0)
           (store %ys (%i) %y p0) (next) p0)",
    )
}

#[test]
fn buffers_are_carried() {
    // A buffer is replaced in each of `t` iterations, and its memory freed; then one in a while loop.
    let p = program(
        "(%m int) (%t int) (%us global int %m)",
        &adder(),
        "(let (%r int) (op + %m 15) p0) (let (%q int) (op quotient %r 16) p0)
         (alloc (%as global int %m) p0) (launch k0 (%m %q 0 %us %as) p0)
         (for seq %j (upto 0 %t) (((%ps global int %m) (%rs global int %m) %as) ((%s int) (%z int) 0))
           (alloc (%ns global int %m) p0) (launch k0 (%m %q %j %ps %ns) p0) (free %ps p0)
           (let (%s2 int) (op + %s %j) p0) (next %ns %s2) p0)
         (while (((%cs global int %m) (%ds global int %m) %rs) ((%u int) (%v int) 0))
           (cond (let (%g bool) (op < %u 3) p0) (test %g))
           (do (alloc (%es global int %m) p0) (launch k0 (%m %q 1000 %cs %es) p0) (free %cs p0)
             (let (%u2 int) (op + %u 1) p0) (next %es %u2)) p0)
         (let (%w2 int) (workers) p0)
         (give %ds %z %v %w2 u8:7)",
    );
    let m = Machine::new(&p);
    for n in [0, 1, 16, 33] {
        for t in [0, 1, 5] {
            let r = m.run(&[int(n), int(t), ints(0..n)]).unwrap();
            let sum: i64 = (0..t).sum();
            let expected: Vec<Scalar> = (0..n).map(|i| Scalar::I64(i + sum + 3000)).collect();
            assert_eq!((&r[0].dims[..], &r[0].elements), (&[n as usize][..], &expected));
            let scalars: Vec<Scalar> = r[1..].iter().map(|o| o.elements[0]).collect();
            assert_eq!(scalars, [Scalar::I64(sum), Scalar::I64(3), Scalar::I64(2), Scalar::U8(7)]);
        }
    }
}

#[test]
fn branches_give_buffers_and_aliases_take_over() {
    let p = program(
        "(%c bool) (%us global int 6)",
        &adder(),
        "(if %c
           (then (alloc (%as global int 6) p0) (launch k0 (6 1 1 %us %as) p0))
           (else (alloc (%bs global int 6) p0) (launch k0 (6 1 2 %us %bs) p0))
           (((%cs global int 6) %as %bs) ((%h float) 1.5 -2.5)) p0)
         (alias (%ds global int 2 3) %cs p0)
         (let (%e int) (load %ds 1 0) p0)
         (give %ds %h %e)",
    );
    let m = Machine::new(&p);
    for c in [true, false] {
        let r = m.run(&[Arg::Scalar(Scalar::Bool(c)), ints(10..16)]).unwrap();
        let k = if c { 1 } else { 2 };
        assert_eq!(r[0].dims, [2, 3]);
        assert_eq!(r[0].elements, (10..16).map(|i| Scalar::I64(i + k)).collect::<Vec<_>>());
        assert_eq!(r[1].elements, [Scalar::F64(if c { 1.5 } else { -2.5 })]);
        assert_eq!(r[2].elements, [Scalar::I64(13 + k)]);
    }
}

#[test]
fn items_are_sorted() {
    let p = program(
        "(%n int) (%ks global f32 %n) (%ls global u8 %n 2)",
        "",
        "(alloc (%os global int %n) p0) (grade (%ks %ls) %os p0) (give %os)",
    );
    let ks = [2.0, 1.0, f32::NAN, 1.0, 2.0];
    let ls = [0u8, 0, 1, 9, 0, 0, 1, 8, 0, 0];
    let args = [int(5), floats(ks), Arg::Array(ls.map(Scalar::U8).to_vec())];
    let r = run(&p, &args).unwrap().remove(0);
    assert_eq!(r.elements, [3, 1, 0, 4, 2].map(Scalar::I64));
    // The items themselves.
    let p = program(
        "(%n int) (%ks global f32 %n)",
        "",
        "(alloc (%os global f32 %n) p0) (sort (%ks) %os p0) (give %os)",
    );
    let r = run(&p, &[int(4), floats([2.0, 0.0, -1.5, -0.0])]).unwrap().remove(0);
    assert_eq!(r.elements, [-1.5, 0.0, -0.0, 2.0].map(Scalar::F32));
}

#[test]
fn a_plan_stops() {
    let p = program(
        "(%n int) (%us global int %n)",
        &adder(),
        "(let (%c bool) (op > %n 2) p0) (check (too-small \"why\" \"(- n 3)\") %c %n p1)
         (alloc (%vs global int %n) p0) (launch k0 (%n 1 0 %us %vs) p0) (give %vs)",
    );
    let m = Machine::new(&p);
    let stopped = m.run(&[int(2), ints(0..2)]).unwrap_err().unwrap();
    assert_eq!((stopped.block, stopped.prov, &stopped.values[..]), (None, 1, &[2][..]));
    assert!(matches!(stopped.trap, Trap::TooSmall { .. }));
    assert!(m.run(&[int(3), ints(0..3)]).is_ok());
    // Memory that is refused.
    assert_eq!(m.run(&[int(1 << 40), ints(0..3)]), Err(None));
}

#[test]
fn grids_past_64_bits_stop() {
    let k = kernel(
        0,
        "(%a %n) (%b %n) (%c %m)",
        "%w",
        "(%n int) (%m int) (%xs global int 1)",
        "(let (%x int) (load %xs 0) p0)",
    );
    let p = program("(%n2 int) (%m2 int) (%us global int 1)", &k, "(launch k0 (%n2 %m2 %us) p0) (give)");
    let m = Machine::new(&p);
    assert_eq!(m.run(&[int(1 << 40), int(2), ints([1])]), Err(None));
    assert_eq!(m.run(&[int(1 << 40), int(0), ints([1])]), Ok(vec![]));
    assert_eq!(m.run(&[int(3), int(2), ints([1])]), Ok(vec![]));
}
