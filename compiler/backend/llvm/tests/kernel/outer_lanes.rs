//! Loops over rows of which the short ones run side by side.

use crate::lanes::program_of;
use crate::runtime::{Arg, Machine, Run, int, ints, processors};
use remc_base::{BaseTy, Scalar};
use remc_kernel::ir::Program;
use remc_kernel::schedule::Field;
use remc_llvm::{Host, Pipeline};

/// For which widths of vectors rows run side by side somewhere: nothing else asks for the longest of eight.
fn beside(p: &Program) -> Vec<u32> {
    let is =
        |host: &&Host| remc_llvm::llvm_ir(p, host, None).unwrap().contains("@llvm.vector.reduce.smax.v8i64");
    processors().iter().filter(is).map(|h| h.vector_bits).collect()
}

const WIDE: [u32; 2] = [256, 512];

/// The program gives what it gives with one row after the other, to the bit.
fn agrees(p: &Program, runs: impl IntoIterator<Item = Vec<Arg>>) {
    let mut alone = p.clone();
    for id in p.kernels.iter().map(|(id, _)| id) {
        alone.kernels[id].schedule.set(Field::BesideOps, 0);
    }
    assert!(beside(&alone).is_empty());
    let machines = [p, &alone].map(|p| Machine::with(p, Pipeline::default()));
    for args in runs {
        let bits = |r: Run| {
            let elements =
                |o: &crate::runtime::Out| o.elements.iter().map(|x| x.to_bits64()).collect::<Vec<_>>();
            r.map(|outs| outs.iter().map(elements).collect::<Vec<_>>())
        };
        let [together, apart] = [0, 1].map(|k| bits(machines[k].run(&args)));
        assert_eq!(together, apart, "{args:?}");
    }
}

/// Numbers whose sums depend on their order, or small ones that are nothing now and then; and sizes of rows.
fn args(ty: BaseTy, n: i64) -> Vec<Arg> {
    let x = |i: i64| match ty.is_float() {
        true => Scalar::from_float(ty, (i as f64 * 0.37).sin() * 9.0).unwrap(),
        false => Scalar::from_integer(ty, i128::from(i * 5 % 7)).unwrap(),
    };
    vec![
        int(0),
        int(n),
        Arg::Array((0..n).map(x).collect()),
        ints((0..n).map(|i| (i * 7 + 3) % n)),
        Arg::Array(Vec::new()),
    ]
}

/// Rows of `is`, `most` elements at most, whose elements are summed up and then compared with that: `inside` is done with
/// `%s`, the sum, and `%x`, an element, and gives `%y`, whose greatest is the row's.
fn rows(ty: BaseTy, most: i64, inside: &str) -> String {
    let (zero, least) = match ty {
        BaseTy::F32 => ("f32:0.0", "f32:-1000000.0"),
        BaseTy::F64 => ("0.0", "-1000000.0"),
        _ => ("0", "-1000000"),
    };
    format!(
        "(for seq %r (upto 0 %n) ()
           (let (%size int) (load %is %r) p0) (let (%l int) (op min2 %size {most}) p0)
           (let (%start int) (op - %n %l) p0)
           (for (lanes 32) %j (upto 0 %l) (((%a TY) (%s TY) {zero} +))
             (let (%k int) (op + %j %start) p0) (let (%e TY) (load %xs %k) p0) (let (%q TY) (op * %e %e) p0)
             (let (%u TY) (op + %a %q) p0) (next %u) p0)
           (for (lanes 32) %i (upto 0 %l) (((%b TY) (%top TY) {least} max2))
             (let (%g int) (op + %i %start) p0) (let (%x TY) (load %xs %g) p0) {inside}
             (let (%v TY) (op max2 %b %y) p0) (next %v) p0)
           (store %ys (%r) %top p0) (next) p0)"
    )
}

const SIZES: [i64; 8] = [0, 1, 7, 8, 9, 16, 40, 101];

#[test]
fn short_rows_with_two_passes() {
    for ty in [BaseTy::F32, BaseTy::F64, BaseTy::I64] {
        for most in [0, 1, 3, 7, 8, 60] {
            let p = program_of(ty.name(), &rows(ty, most, "(let (%y TY) (op - %x %s) p0)"));
            assert_eq!(beside(&p), WIDE);
            agrees(&p, SIZES.map(|n| args(ty, n)));
        }
    }
}

/// Branches that rows take each for itself, and a division that there is not in lanes that are off; of floats there always
/// is one.
#[test]
fn rows_under_masks() {
    for (ty, three, by) in
        [(BaseTy::I64, "3", "quotient"), (BaseTy::F64, "3.0", "%"), (BaseTy::F32, "f32:3.0", "/")]
    {
        let branch = format!(
            "(let (%c bool) (op > %x {three}) p0)
             (if %c (then (let (%d TY) (op {by} %s %x) p0)) (else (let (%d0 TY) (op - %s %x) p0)) (((%y TY) %d %d0)) p0)"
        );
        for most in [3, 7, 60] {
            let p = program_of(ty.name(), &rows(ty, most, &branch));
            assert_eq!(beside(&p), WIDE);
            agrees(&p, SIZES.map(|n| args(ty, n)));
        }
    }
}

/// A loop inside that is longer the further behind an element is: in a row of three it may be longer than any row that is
/// beside others, and then is in vectors of its own.
#[test]
fn loops_along_places() {
    let nested = "(let (%to int) (op * %i 5) p0)
        (for (lanes 32) %h (upto 0 %to) (((%o TY) (%p TY) 0.0 +))
          (let (%z TY) (cast float %h) p0) (let (%root TY) (op sqrt %z) p0) (let (%c TY) (op + %o %root) p0) (next %c) p0)
        (let (%y TY) (op + %p %x) p0)";
    for most in [2, 3, 7] {
        let p = program_of("float", &rows(BaseTy::F64, most, nested));
        assert_eq!(beside(&p), WIDE);
        agrees(&p, SIZES.map(|n| args(BaseTy::F64, n)));
    }
}

/// Of rows that stop the first is told, whichever of its checks it is.
#[test]
fn rows_that_stop() {
    let checked =
        "(let (%c bool) (op != %x 5) p0) (check (index 1 1) %c %x %r p0) (let (%y TY) (op - %s %x) p0)";
    let p = program_of("int", &rows(BaseTy::I64, 7, checked));
    assert_eq!(beside(&p), WIDE);
    agrees(&p, SIZES.map(|n| args(BaseTy::I64, n)));
}

/// What waits for another row, or reads what others write, runs in its order.
#[test]
fn rows_that_wait() {
    let rows = rows(BaseTy::I64, 7, "(let (%y TY) (op - %x %s) p0)");
    let reads = rows.replace("(let (%size", "(let (%before TY) (load %ys 0) p0) (let (%size");
    let one = rows.replace("(store %ys (%r)", "(store %ys (%l)");
    for text in [reads, one] {
        assert_ne!(text, rows);
        assert!(beside(&program_of("int", &text)).is_empty(), "{text}");
    }
}
