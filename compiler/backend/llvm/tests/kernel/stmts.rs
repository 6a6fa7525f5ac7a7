//! Statements of kernels, one iteration after the other.

use crate::runtime::*;
use remc_base::{BaseTy, Scalar, Trap};

/// A program that gives an array of `n`, made from the array `xs` by a kernel of tiles of 8.
fn map(ty: &str, body: &str) -> remc_kernel::ir::Program {
    let k = kernel(
        0,
        "(%b %nb)",
        "%w",
        &format!("(%n int) (%nb int) (%xs global {ty} %n) (%ys global {ty} %n)"),
        body,
    );
    program(
        &format!("(%m int) (%us global {ty} %m)"),
        &k,
        &format!(
            "(let (%mr int) (op + %m 7) p0) (let (%mt int) (op quotient %mr 8) p0) (alloc (%vs global {ty} %m) p0)
             (launch k0 (%m %mt %us %vs) p0) (give %vs)"
        ),
    )
}

fn out(r: Run) -> Vec<Scalar> {
    r.unwrap().remove(0).elements
}

#[test]
fn a_map_of_every_type() {
    for ty in BaseTy::ALL {
        let p = map(
            ty.name(),
            "(for seq %i (tile %b 8 %n) () (let (%x TY) (load %xs %i) p0) (store %ys (%i) %x p0) (next) p0)"
                .replace("TY", ty.name())
                .as_str(),
        );
        let m = Machine::new(&p);
        for n in [0, 1, 7, 8, 9, 100] {
            let xs: Vec<Scalar> = (0..n).map(|i| sample(ty, i)).collect();
            assert_eq!(out(m.run(&[int(n), Arg::Array(xs.clone())])), xs, "{ty}");
        }
    }
}

pub fn sample(ty: BaseTy, i: i64) -> Scalar {
    match ty {
        BaseTy::Bool => Scalar::Bool(i % 3 == 0),
        BaseTy::Char => Scalar::Char(char::from_u32(0x3b0 + i as u32).unwrap()),
        t if t.is_float() => Scalar::from_float(t, i as f64 * 0.5 - 3.0).unwrap(),
        t => Scalar::from_integer(t, i128::from(i) * 37 - 50).unwrap(),
    }
}

#[test]
fn conditions_and_while() {
    // The number of halvings of each element until it is at most 10; odd elements count 100 more.
    let p = map(
        "int",
        "(for seq %i (tile %b 8 %n) ()
           (let (%x int) (load %xs %i) p0) (let (%q int) (op % %x 2) p0) (let (%c bool) (op = %q 1) p0)
           (if %c (then (let (%y int) (op + 99 %q) p0)) (else) (((%z int) %y 0)) p0)
           (while (((%s int) (%r int) %x) ((%k int) (%l int) %z))
             (cond (let (%d bool) (op > %s 10) p0) (test %d))
             (do (let (%e int) (op quotient %s 2) p0) (let (%f int) (op + %k 1) p0) (next %e %f)) p0)
           (store %ys (%i) %l p0) (next) p0)",
    );
    let expected: Vec<Scalar> = (0..50)
        .map(|x: i64| {
            let (mut s, mut k) = (x, if x % 2 == 1 { 100 } else { 0 });
            while s > 10 {
                (s, k) = (s / 2, k + 1);
            }
            Scalar::I64(k)
        })
        .collect();
    assert_eq!(out(run(&p, &[int(50), ints(0..50)])), expected);
}

/// A long kernel that runs once is not optimised, and does what it does; one with a loop is, however long.
#[test]
fn long_kernels_that_run_once_are_compiled_plainly() {
    let stores = |n: usize| {
        (0..n)
            .map(|i| format!("(let (%t{i} int) (op + %n {i}) p0) (store %ys (0) %t{i} p0)"))
            .collect::<String>()
    };
    let looped = "(for seq %i (upto 0 %n) () (let (%u int) (op * %i 3) p0) (store %ys (%i) %u p0) (next) p0)";
    for (body, plain) in [(stores(10), false), (stores(300), true), (stores(300) + looped, false)] {
        let p = super::lanes::program_of("int", &body);
        let text = remc_llvm::llvm_ir(&p, &remc_llvm::jit::host(), None).unwrap();
        let head = text.lines().find(|l| l.starts_with("define void @k0(")).unwrap();
        let group = head.split(' ').find(|w| w.starts_with('#')).unwrap();
        let attributes = text.lines().find(|l| l.starts_with(&format!("attributes {group} = "))).unwrap();
        assert_eq!(attributes.contains("optnone"), plain, "{attributes}");
        let given = [int(1), int(2), ints([7, 8]), ints([0, 1]), ints([3, 4])];
        let found = run(&p, &given).unwrap();
        let last = if body.contains("for seq") { 0 } else { 2 + body.matches("store").count() as i64 - 1 };
        assert_eq!(found[0].elements[0], remc_base::Scalar::I64(last));
    }
}

#[test]
fn checks_tell_their_values() {
    let p = map(
        "i16",
        "(for seq %i (tile %b 8 %n) () (let (%x i16) (load %xs %i) p0) (let (%c bool) (op != %x i16:0) p0)
           (let (%z i16) (op - %x i16:5) p0) (check (division \"quotient\" i16) %c %z %x p1)
           (store %ys (%i) %x p0) (next) p0)",
    );
    let xs = |zero: usize| Arg::Array((0..40).map(|i| Scalar::I16(if i == zero { 0 } else { 7 })).collect());
    let stopped = run(&p, &[int(40), xs(19)]).unwrap_err().unwrap();
    assert_eq!((stopped.block, stopped.prov, &stopped.values[..]), (Some(2), 1, &[-5, 0][..]));
    assert!(matches!(stopped.trap, Trap::Division { .. }));
    assert!(run(&p, &[int(40), xs(40)]).is_ok());
}

#[test]
fn private_memory_of_points() {
    // Reverses groups of four.
    let p = map(
        "float",
        "(for seq %i (tile %b 8 %n) ()
           (alloc (%four private float 2 2) p0)
           (let (%q int) (op quotient %i 4) p0) (let (%g int) (op * %q 4) p0)
           (for seq %k (upto 0 4) () (let (%j int) (op + %g %k) p0) (let (%x float) (load %xs %j) p0)
             (let (%r int) (op quotient %k 2) p0) (let (%c int) (op % %k 2) p0)
             (store %four (%r %c) %x p0) (next) p0)
           (let (%o int) (op - %i %g) p0) (let (%p int) (op - 3 %o) p0)
           (let (%r2 int) (op quotient %p 2) p0) (let (%c2 int) (op % %p 2) p0)
           (let (%y float) (load %four %r2 %c2) p0)
           (for seq %h (upto 0 3) (((%s float) (%t float) %y)) (let (%u float) (op + %s 1.0) p0) (next %u) p0)
           (store %ys (%i) %t p0) (next) p0)",
    );
    let xs: Vec<Scalar> = (0..20).map(|i| Scalar::F64(f64::from(i))).collect();
    let expected: Vec<Scalar> =
        (0..20).map(|i| Scalar::F64(f64::from(i / 4 * 4 + 3 - i % 4) + 3.0)).collect();
    assert_eq!(out(run(&p, &[int(20), Arg::Array(xs)])), expected);
}

#[test]
fn grids_count_their_last_axis_fastest() {
    let k = kernel(
        0,
        "(%a %l) (%b %m) (%c %n)",
        "%w",
        "(%l int) (%m int) (%n int) (%ys global int %l %m %n)",
        "(let (%p int) (op * %a 100) p0) (let (%q int) (op * %b 10) p0) (let (%r int) (op + %p %q) p0)
         (let (%s int) (op + %r %c) p0) (let (%e bool) (op < %s 0) p0) (let (%f bool) (op not %e) p0)
         (check (negative \"x\") %f %s p0) (store %ys (%a %b %c) %s p0)",
    );
    let p = program(
        "(%l2 int) (%m2 int) (%n2 int)",
        &k,
        "(alloc (%ys2 global int %l2 %m2 %n2) p0) (launch k0 (%l2 %m2 %n2 %ys2) p0) (give %ys2)",
    );
    let m = Machine::new(&p);
    for (a, b, c) in [(2, 3, 4), (1, 1, 1), (0, 3, 4), (3, 0, 2), (5, 1, 3)] {
        let r = m.run(&[int(a), int(b), int(c)]).unwrap().remove(0);
        let expected: Vec<Scalar> = (0..a)
            .flat_map(|i| (0..b).flat_map(move |j| (0..c).map(move |k| Scalar::I64(i * 100 + j * 10 + k))))
            .collect();
        assert_eq!((r.dims, r.elements), (vec![a as usize, b as usize, c as usize], expected));
    }
}
