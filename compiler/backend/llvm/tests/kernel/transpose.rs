//! Accesses that are transposed in registers.

use crate::lanes::agree;
use crate::runtime::*;
use remc_base::BaseTy;
use remc_kernel::ir::Program;

/// `ys`, of `n` rows of `m`, from `xs`, of `m` rows of `n`.
pub fn transposition(ty: &str, grid: &str, blocks: (u32, u32), body: &str) -> Program {
    let k = kernel(
        0,
        grid,
        "%w",
        &format!("(%m int) (%n int) (%mb int) (%nb int) (%xs global {ty} %m %n) (%ys global {ty} %n %m)"),
        &body.replace("TY", ty),
    );
    let (r, b) = blocks;
    program(
        &format!("(%pm int) (%pn int) (%pxs global {ty} %pm %pn)"),
        &k,
        &format!(
            "(let (%m1 int) (op + %pn {}) p0) (let (%nb0 int) (op quotient %m1 {r}) p0)
             (let (%m2 int) (op + %pm {}) p0) (let (%mb0 int) (op quotient %m2 {b}) p0)
             (alloc (%pys global {ty} %pn %pm) p0)
             (launch k0 (%pm %pn %mb0 %nb0 %pxs %pys) p0) (give %pys)",
            r - 1,
            b - 1
        ),
    )
}

fn check(ty: BaseTy, p: &Program) {
    let size = |k: i64| [1, 3, 8, 16, 17, 33, 70][k as usize];
    agree(
        p,
        (0..7).flat_map(|a| (0..7).map(move |b| (size(a), size(b)))).map(|(m, n)| {
            vec![int(m), int(n), Arg::Array((0..m * n).map(|i| crate::stmts::sample(ty, i % 701)).collect())]
        }),
    );
}

#[test]
fn loads_and_stores_of_every_type() {
    // The lanes run along the rows that are written, or along those that are read.
    let bodies = [
        "(for (jam K) %i (upto 0 %n) () (for (lanes W) %j (upto 0 %m) () (let (%x TY) (load %xs %j %i) p0)
           (store %ys (%i %j) %x p0) (next) p0) (next) p0)",
        "(for (jam K) %i (upto 0 %m) () (for (lanes W) %j (upto 0 %n) () (let (%x TY) (load %xs %i %j) p0)
           (store %ys (%j %i) %x p0) (next) p0) (next) p0)",
    ];
    for ty in BaseTy::ALL {
        for (k, w) in [(8, 8), (16, 16), (4, 16), (16, 4), (32, 32), (3, 8)] {
            for b in bodies {
                let body = b.replace('K', &k.to_string()).replace('W', &w.to_string());
                check(ty, &transposition(ty.name(), "", (1, 1), &body));
            }
        }
    }
}

#[test]
fn indices_that_are_computed() {
    // Sums and differences of the jammed variable stay contiguous; rows two apart, and backwards.
    let body = "(let (%h int) (op quotient %n 2) p0) (let (%g int) (op - %n %h) p0)
      (for (jam 8) %i (upto 0 %n) () (let (%c bool) (op < %h 0) p0) (let (%z int) (op select %c 1 0) p0)
        (let (%e int) (op + %i %h) p0) (let (%d int) (op - %e %h) p0) (let (%f int) (op + %z %d) p0)
        (for (lanes 8) %j (upto 0 %m) ()
          (let (%l int) (op - %m 1) p0) (let (%r int) (op - %l %j) p0) (let (%x TY) (load %xs %r %f) p0)
          (let (%y TY) (load %xs %j %i) p0) (let (%s TY) (op + %x %y) p0)
          (store %ys (%i %j) %s p0) (next) p0) (next) p0)";
    for ty in [BaseTy::F32, BaseTy::I64] {
        check(ty, &transposition(ty.name(), "", (1, 1), body));
    }
}

#[test]
fn blocks_of_a_grid() {
    let body = "(for (jam 16) %i (tile %r 32 %n) () (for (lanes 16) %j (tile %b 64 %m) ()
        (let (%x TY) (load %xs %j %i) p0) (store %ys (%i %j) %x p0) (next) p0) (next) p0)";
    let p = transposition("f32", "(%r %nb) (%b %mb)", (32, 64), body);
    check(BaseTy::F32, &p);
    let wide = remc_llvm::jit::Host::of_width(512);
    let ir = remc_llvm::llvm_ir(&p, &wide, None).unwrap();
    assert_eq!(ir.lines().filter(|l| l.contains("load <16 x float>")).count(), 16, "{ir}");
}

#[test]
fn large_arrays_go_past_the_caches() {
    let body = "(for (jam 16) %i (tile %r 32 %n) () (for (lanes 16) %j (tile %b 64 %m) ()
        (let (%x TY) (load %xs %j %i) p0) (store %ys (%i %j) %x p0) (next) p0) (next) p0)";
    let p = transposition("f32", "(%b %mb) (%r %nb)", (32, 64), body);
    // Rows of whole cache lines, and others.
    for (m, n) in [(1600, 1504), (1601, 1503)] {
        let xs = (0..m * n).map(|i| i as f32);
        let out = run(&p, &[int(m), int(n), floats(xs)]).unwrap().remove(0);
        assert_eq!(out.dims, [n as usize, m as usize]);
        for (k, x) in (0..).zip(out.elements) {
            assert_eq!(x, remc_base::Scalar::F32((k % m * n + k / m) as f32), "{k}");
        }
    }
    for host in processors() {
        let ir = remc_llvm::llvm_ir(&p, &host, None).unwrap();
        assert_eq!(ir.contains("!nontemporal"), host.vector_bits == 512 && cfg!(target_arch = "x86_64"));
        assert_eq!(ir.contains("!nontemporal"), ir.contains("sfence"));
    }
}
