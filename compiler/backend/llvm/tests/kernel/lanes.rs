//! Loops in lanes and jammed loops give what the same loops give one iteration after the other, which
//! [`crate::stmts`] compares with plain Rust.

use crate::runtime::*;
use crate::stmts::sample;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_kernel::ir::{How, Program, Stmt, StmtKind, neutral};

/// The program with every loop one iteration after the other.
pub fn serial(p: &Program) -> Program {
    fn block(b: &mut [Stmt]) {
        for s in b {
            match &mut s.kind {
                StmtKind::For { how, body, .. } => {
                    *how = How::Seq;
                    block(body);
                }
                StmtKind::While { cond, body, .. } => {
                    block(cond);
                    block(body);
                }
                StmtKind::If { then, otherwise, .. } => {
                    block(then);
                    block(otherwise);
                }
                _ => {}
            }
        }
    }
    let mut p = p.clone();
    for k in 0..p.kernels.len() {
        block(&mut p.kernels[remc_kernel::ir::KernelId(k as u32)].body);
    }
    p
}

/// Both programs give the same.
pub fn agree(p: &Program, runs: impl IntoIterator<Item = Vec<Arg>>) {
    let (fast, slow) = (Machine::new(p), Machine::new(&serial(p)));
    for args in runs {
        let (a, b) = (fast.run(&args), slow.run(&args));
        // Bits, so that NaN is itself.
        let bits = |r: &Run| match r {
            Ok(outs) => Ok(outs
                .iter()
                .map(|o| (o.dims.clone(), o.elements.iter().map(|x| x.to_bits64()).collect::<Vec<_>>()))
                .collect::<Vec<_>>()),
            Err(e) => Err(e.clone()),
        };
        assert_eq!(bits(&a), bits(&b), "{args:?}");
    }
}

/// One kernel over arrays of `n` and of `m` rows of `n`; its one block fills `ys` and `cs`.
pub fn program_of(ty: &str, body: &str) -> Program {
    let k = kernel(
        0,
        "",
        "%w",
        &format!(
            "(%m int) (%n int) (%xs global {ty} %n) (%is global int %n) (%as global {ty} %m %n)
             (%ys global {ty} %n) (%cs global {ty} %m %n)"
        ),
        &body.replace("TY", ty),
    );
    program(
        &format!(
            "(%pm int) (%pn int) (%pxs global {ty} %pn) (%pis global int %pn) (%pas global {ty} %pm %pn)"
        ),
        &k,
        &format!(
            "(alloc (%pys global {ty} %pn) p0) (alloc (%pcs global {ty} %pm %pn) p0)
             (launch k0 (%pm %pn %pxs %pis %pas %pys %pcs) p0) (give %pys %pcs)"
        ),
    )
}

pub fn args(ty: BaseTy, m: i64, n: i64) -> Vec<Arg> {
    vec![
        int(m),
        int(n),
        Arg::Array((0..n).map(|i| sample(ty, i)).collect()),
        ints((0..n).map(|i| i * 7 % n.max(1))),
        Arg::Array((0..m * n).map(|i| sample(ty, i * 5 % 31)).collect()),
    ]
}

pub fn sizes(w: i64) -> [i64; 9] {
    [0, 1, 2, w - 1, w, w + 1, 2 * w - 1, 3 * w + 5, 5 * w]
}

#[test]
fn elements_of_every_type() {
    for ty in BaseTy::ALL {
        let text = "(for (lanes W) %i (upto 0 %n) () (let (%x TY) (load %xs %i) p0)
            (let (%k int) (load %is %i) p0) (let (%g TY) (load %xs %k) p0) (let (%c bool) (op > %k 3) p0)
            (let (%y TY) (op select %c %x %g) p0) (store %ys (%i) %y p0) (next) p0)
          (for seq %r (upto 0 %m) () (for (lanes W) %j (upto 0 %n) ()
            (let (%z TY) (load %as %r %j) p0) (store %cs (%r %j) %z p0) (next) p0) (next) p0)";
        for w in [2, 16, 64] {
            let p = program_of(ty.name(), &text.replace('W', &w.to_string()));
            agree(&p, sizes(w).map(|n| args(ty, 2, n)));
        }
    }
}

#[test]
fn indices_are_linear_or_computed() {
    // Reversed, transposed, of stride two, of the lane's number in several types.
    let p = program_of(
        "f32",
        "(for (lanes 16) %i (upto 0 %n) ()
           (let (%l int) (op - %n 1) p0) (let (%j int) (op - %l %i) p0) (let (%x f32) (load %xs %j) p0)
           (let (%a i16) (cast i16 %i) p0) (let (%b i16) (op * %a i16:3) p0) (let (%c f32) (cast f32 %b) p0)
           (let (%d int) (op * %i %n) p0) (let (%e f32) (cast f32 %d) p0)
           (let (%h int) (op quotient %i 2) p0) (let (%s f32) (load %xs %h) p0)
           (let (%o f32) (load %xs 0) p0)
           (let (%t f32) (op + %x %c) p0) (let (%u f32) (op + %t %e) p0) (let (%v f32) (op * %u %s) p0)
           (let (%z f32) (op - %v %o) p0)
           (store %ys (%i) %z p0) (next) p0)
         (for (lanes 8) %r (upto 0 %m) () (for seq %q (upto 0 %n) ()
           (let (%f f32) (load %as %r %q) p0) (store %cs (%r %q) %f p0) (next) p0) (next) p0)",
    );
    agree(&p, sizes(16).map(|n| args(BaseTy::F32, 19, n)));
}

#[test]
fn loops_and_conditions_inside_lanes() {
    let p = program_of(
        "float",
        "(for (lanes 16) %i (upto 0 %n) ()
           (let (%x float) (load %xs %i) p0)
           (for seq %k (upto 0 %m) (((%s float) (%r float) 0.0) ((%d int) (%e int) 0) ((%h float) (%g float) %x))
             (let (%a float) (load %as %k %i) p0) (let (%q float) (op + %s %a) p0)
             (let (%f int) (op + %d 2) p0) (let (%o float) (op * %h 0.5) p0) (next %q %f %o) p0)
           (let (%c bool) (op > %m 2) p0)
           (if %c (then (let (%t float) (cast float %i) p0)) (else (let (%u float) (op * %x 3.0) p0))
             (((%v float) %t %u) ((%z float) 1.0 2.0)) p0)
           (while (((%l int) (%b int) %m) ((%j float) (%aa float) %v))
             (cond (let (%dd bool) (op > %l 0) p0) (test %dd))
             (do (let (%ee int) (op - %l 1) p0) (let (%ff float) (op + %j %z) p0) (next %ee %ff)) p0)
           (for seq %un (upto 0 3) (((%us float) (%ur float) %r)) (let (%ut float) (op + %us %x) p0)
             (next %ut) p0)
           (let (%gg float) (cast float %e) p0) (let (%y float) (op + %ur %gg) p0)
           (let (%y1 float) (op + %y %g) p0) (let (%y2 float) (op + %y1 %aa) p0)
           (store %ys (%i) %y2 p0) (next) p0)
         (for (lanes 4) %i2 (upto 0 %n) () (for seq %k2 (upto 0 %m) () (store %cs (%k2 %i2) 1.0 p0) (next) p0)
           (next) p0)",
    );
    for m in [0, 1, 5] {
        agree(&p, sizes(16).map(|n| args(BaseTy::F64, m, n)));
    }
}

#[test]
fn jammed_loops_share_what_is_inside() {
    let body = "(for (jam 4) %i (upto 0 %m) ()
         (let (%o TY) (load %as %i 0) p0)
         (for (lanes 8) %j (upto 0 %n) ()
           (for seq %l (upto 0 %n) (((%s TY) (%r TY) %o))
             (let (%a TY) (load %as %i %l) p0) (let (%b TY) (load %xs %l) p0) (let (%c TY) (load %xs %j) p0)
             (let (%d TY) (op * %a %b) p0) (let (%e TY) (op * %d %c) p0) (let (%q TY) (op + %s %e) p0)
             (next %q) p0)
           (store %cs (%i %j) %r p0) (next) p0) (next) p0)
       (for (jam 3) %i2 (upto 0 %n) ()
         (let (%x2 TY) (load %xs %i2) p0) (let (%k2 int) (load %is %i2) p0) (let (%c2 bool) (op < %k2 4) p0)
         (if %c2 (then (let (%y2 TY) (op + %x2 %x2) p0)) (else) (((%z2 TY) %y2 %x2)) p0)
         (store %ys (%i2) %z2 p0) (next) p0)";
    for ty in [BaseTy::I32, BaseTy::F32] {
        let p = program_of(ty.name(), body);
        for m in [1, 3, 4, 5, 11] {
            agree(&p, sizes(8)[1..].iter().map(|n| args(ty, m, *n)));
        }
    }
}

/// The value that a reduction of `0 … n` gives, in `ys`, which has one element.
fn reduction(ty: BaseTy, op: ScalarOp, w: u32) -> Program {
    let zero = remc_kernel::print::print_program(&{
        let mut p = program("", "", "(give)");
        p.results.push(remc_kernel::ir::Atom::Const(neutral(op, ty).unwrap()));
        p
    });
    let zero = zero[zero.rfind("(give ").unwrap() + 6..].trim_end().trim_end_matches(')').to_string();
    let body = format!(
        "(let (%a0 TY) (load %as 0 0) p0)
         (for (lanes {w}) %i (upto 0 %n) (((%s TY) (%r TY) {zero} {op}) ((%t TY) (%u TY) %a0 {op}))
           (let (%x TY) (load %xs %i) p0) (let (%q TY) (op {op} %s %x) p0) (let (%o TY) (op {op} %t %x) p0)
           (next %q %o) p0)
         (store %ys (0) %r p0) (store %cs (0 0) %u p0)"
    );
    let ty = ty.name();
    let k = kernel(
        0,
        "",
        "%w",
        &format!(
            "(%m int) (%n int) (%xs global {ty} %n) (%as global {ty} 1 1) (%ys global {ty} 1) (%cs global {ty} 1 1)"
        ),
        &body.replace("TY", ty),
    );
    program(
        &format!("(%pn int) (%pxs global {ty} %pn) (%pas global {ty} 1 1)"),
        &k,
        &format!(
            "(alloc (%pys global {ty} 1) p0) (alloc (%pcs global {ty} 1 1) p0)
             (launch k0 (1 %pn %pxs %pas %pys %pcs) p0) (give %pys %pcs)"
        ),
    )
}

#[test]
fn reductions_in_lanes() {
    use ScalarOp::*;
    let mut all = Vec::new();
    for op in [Add, Mul, Min2, Max2, BitAnd, BitOr, BitXor] {
        for ty in [BaseTy::I8, BaseTy::U16, BaseTy::I64, BaseTy::F16, BaseTy::F32, BaseTy::F64] {
            if op.result_ty(&[ty, ty]).is_some() {
                all.push((op, ty));
            }
        }
    }
    all.extend([And, Or, Xor].map(|op| (op, BaseTy::Bool)));
    for (op, ty) in all {
        for w in [4, 64] {
            let p = reduction(ty, op, w);
            agree(
                &p,
                sizes(i64::from(w)).map(|n| {
                    // Floats whose sums and products are exact.
                    let x = |i: i64| match (ty.is_float(), op) {
                        (true, Mul) => Scalar::from_float(ty, if i % 5 == 0 { -1.0 } else { 1.0 }).unwrap(),
                        (true, _) => Scalar::from_float(ty, (i * 7 % 13) as f64 - 6.0).unwrap(),
                        _ => sample(ty, i),
                    };
                    vec![int(n), Arg::Array((0..n).map(x).collect()), Arg::Array(vec![x(3)])]
                }),
            );
        }
    }
}

/// Rows of 0, 1, … elements, whose last iterations are a vector with a mask: elements of consecutive places, of
/// places that are read, of one place for all, and backwards; the last row ends where memory does.
#[test]
fn short_rows_in_lanes() {
    for (ty, zero) in [(BaseTy::I32, "i32:0"), (BaseTy::I64, "0"), (BaseTy::U8, "u8:0")] {
        for (w, load) in [
            (8, "(let (%e TY) (load %as %r %i) p0)"),
            (8, "(let (%k int) (load %is %i) p0) (let (%e TY) (load %xs %k) p0)"),
            (
                32,
                "(let (%x TY) (load %as %r %i) p0) (let (%o TY) (load %xs 0) p0) (let (%e TY) (op * %x %o) p0)",
            ),
            (
                4,
                "(let (%d int) (op - %l %i) p0) (let (%j int) (op - %d 1) p0) (let (%e TY) (load %xs %j) p0)",
            ),
            (16, "(let (%j int) (op + %i %f) p0) (let (%e TY) (load %xs %j) p0)"),
        ] {
            let p = program_of(
                ty.name(),
                &format!(
                    "(for seq %r (upto 0 %m) ()
                       (let (%l int) (op min2 %r %n) p0) (let (%f int) (op - %n %l) p0)
                       (for (lanes {w}) %i (upto 0 %l) (((%s TY) (%t TY) {zero} +)) {load}
                         (let (%u TY) (op + %s %e) p0) (next %u) p0)
                       (let (%c bool) (op > %n 0) p0)
                       (if %c (then (store %cs (%r 0) %t p0)) (else) () p0) (next) p0)"
                ),
            );
            agree(&p, [0, 1, 3, 8, 21, 40].map(|n| args(ty, n + 2, n)));
        }
    }
}

/// The same for floats, whose neutral elements are infinite or signed, from starts that are constant and that are not.
#[test]
fn short_rows_of_floats() {
    for ty in [BaseTy::F32, BaseTy::F64] {
        for op in ["+", "min2", "max2"] {
            let zero = if ty == BaseTy::F32 { "f32:0.0" } else { "0.0" };
            let p = program_of(
                ty.name(),
                &format!(
                    "(for seq %r (upto 0 %m) ()
                       (let (%l int) (op min2 %r %n) p0) (let (%from TY) (load %as %r 0) p0)
                       (for (lanes 32) %i (upto 0 %l)
                           (((%s TY) (%t TY) {zero} {op}) ((%q TY) (%o TY) %from {op}))
                         (let (%e TY) (load %as %r %i) p0) (let (%u TY) (op {op} %s %e) p0)
                         (let (%v TY) (op {op} %q %e) p0) (next %u %v) p0)
                       (store %cs (%r 0) %t p0)
                       (let (%wide bool) (op > %n 1) p0)
                       (if %wide (then (store %cs (%r 1) %o p0)) (else) () p0) (next) p0)"
                ),
            );
            agree(&p, [1, 3, 8, 17, 40].map(|n| args(ty, n + 2, n)));
        }
    }
}

/// Elements through a polynomial, which no row without elements comes to.
#[test]
fn short_rows_of_functions() {
    for ty in [BaseTy::F32, BaseTy::F64] {
        for function in ["exp", "log"] {
            let zero = if ty == BaseTy::F32 { "f32:0.0" } else { "0.0" };
            let p = program_of(
                ty.name(),
                &format!(
                    "(for seq %r (upto 0 %m) ()
                       (let (%l int) (op min2 %r %n) p0)
                       (for (lanes 32) %i (upto 0 %l) (((%s TY) (%t TY) {zero} max2))
                         (let (%e TY) (load %as %r %i) p0) (let (%a TY) (op abs %e) p0)
                         (let (%f TY) (op {function} %a) p0) (let (%u TY) (op max2 %s %f) p0) (next %u) p0)
                       (store %cs (%r 0) %t p0) (next) p0)"
                ),
            );
            agree(&p, [0, 1, 3, 8, 17, 40].map(|n| args(ty, n + 2, n.max(1))));
            for host in processors() {
                let text = remc_llvm::llvm_ir(&p, &host, None).unwrap();
                assert_eq!(text.contains("@llvm.masked.load"), host.vector_bits >= 256, "{text}");
            }
        }
    }
}

/// A loop in lanes around another one, which writes: what is left of it is one vector with a mask, of consecutive elements
/// or not. Nothing is written behind its end.
#[test]
fn few_columns() {
    for ty in [BaseTy::F32, BaseTy::F64, BaseTy::I64, BaseTy::I32] {
        for at in ["%r %j", "%j %r"] {
            let zero = match ty {
                BaseTy::F32 => "f32:0.0",
                BaseTy::F64 => "0.0",
                BaseTy::I32 => "i32:0",
                _ => "0",
            };
            let p = program_of(
                ty.name(),
                &format!(
                    "(for seq %r (upto 0 %n) ()
                       (let (%k int) (op - %n %r) p0)
                       (for (lanes 16) %j (upto 0 %k) ()
                         (for seq %i (upto 0 %n) (((%s TY) (%t TY) {zero}))
                           (let (%e TY) (load %as %i %j) p0) (let (%u TY) (op max2 %s %e) p0) (next %u) p0)
                         (store %cs ({at}) %t p0) (next) p0) (next) p0)"
                ),
            );
            agree(&p, [0, 1, 3, 8, 17, 40].map(|n| args(ty, n, n)));
            for host in processors() {
                let text = remc_llvm::llvm_ir(&p, &host, None).unwrap();
                let masked = text.contains("@llvm.masked.store") == (at == "%r %j");
                assert_eq!(masked && text.contains("@llvm.masked.load"), host.vector_bits >= 256, "{text}");
            }
        }
    }
}

/// Checks in rows that end in a vector with a mask: each element's own, and one of all the row, which an empty row does
/// not come to. Of a row's elements that fail the first one is told, and none after the row's end.
#[test]
fn short_rows_that_check() {
    let p = program_of(
        "int",
        "(for seq %r (upto 0 %m) ()
           (let (%l int) (op min2 %r %n) p0) (let (%some bool) (op > %l 0) p0)
           (for (lanes 8) %i (upto 0 %l) (((%s int) (%t int) 0 +))
             (check (subarray 1 1) %some %l %i %n p0)
             (let (%e int) (load %as %r %i) p0) (let (%c bool) (op > %e 0) p0)
             (check (subarray 1 1) %c %e %r %i p0)
             (let (%k int) (load %is %i) p0) (let (%x int) (load %xs %k) p0)
             (let (%p int) (op * %e %x) p0) (let (%u int) (op + %s %p) p0) (next %u) p0)
           (let (%d bool) (op > %n 0) p0)
           (if %d (then (store %cs (%r 0) %t p0)) (else) () p0) (next) p0)",
    );
    let given = |n: i64, failing: &[(i64, i64)]| {
        let m = n + 2;
        let element =
            |k: i64| failing.iter().position(|(r, i)| r * n + i == k).map_or(k % 90 + 1, |f| -(f as i64));
        vec![
            int(m),
            int(n),
            ints((0..n).map(|i| i * i)),
            ints((0..n).map(|i| n - 1 - i)),
            ints((0..m * n).map(element)),
        ]
    };
    agree(&p, [0, 1, 5, 8, 13, 30].map(|n| given(n, &[])));
    for n in [1, 9, 30] {
        // In the last row, of which all is read; behind the end of others.
        agree(&p, (0..n).map(|i| given(n, &[(n, n - 1), (n, i), (i, i), (0, 0)])));
        agree(&p, (1..n).map(|r| given(n, &[(r, r - 1), (r, r / 2), (r + 1, 0)])));
    }
    for host in processors() {
        let text = remc_llvm::llvm_ir(&p, &host, None).unwrap();
        assert_eq!(text.contains("@llvm.masked.load"), host.vector_bits >= 256, "{text}");
    }
}

/// A row whose size is its own ends in eight lanes and a vector of several registers, and asks for what comes after it,
/// also where it is long: for each line of memory once. One whose size all share ends in one register.
#[test]
fn ragged_rows_end_in_a_longer_vector() {
    for (size, ragged) in [("%l", true), ("%n", false)] {
        let p = program_of(
            "int",
            &format!(
                "(for seq %r (upto 0 %m) () (let (%l int) (load %is 0) p0)
                   (for (lanes 32) %i (upto 0 {size}) (((%s int) (%t int) 0 +)) (let (%e int) (load %as %r %i) p0)
                     (let (%u int) (op + %s %e) p0) (next %u) p0)
                   (store %cs (%r 0) %t p0) (next) p0)"
            ),
        );
        for host in processors() {
            let text = remc_llvm::llvm_ir(&p, &host, None).unwrap();
            let register = host.lanes(64);
            let loads = |w: u32| text.contains(&format!("@llvm.masked.load.v{w}i64"));
            let masks = host.vector_bits >= 256;
            assert_eq!(loads(if ragged { register.max(8) } else { register }), masks, "{text}");
            assert_eq!(loads(4 * register), ragged && masks, "{text}");
            // What is summed up in vectors asks for each of its lines, what is left for two. Eight rows at once, which
            // only processors with masks reduce, ask for a line for each vector: they are one each, or two where a row
            // may have more than sixteen lanes.
            let (lines, ends) = (4 * host.vector_bits as usize / 512, 2);
            let at_once = match (masks, 4 * register > 16) {
                (false, _) => 0,
                (true, false) => 8,
                (true, true) => 8 + 2 * 8,
            };
            let asked = if ragged { lines + ends + at_once } else { 0 };
            assert_eq!(text.matches("call void @llvm.prefetch").count(), asked, "{host:?} {text}");
        }
    }
}

/// Rows that an index from memory picks ask for nothing.
#[test]
fn picked_rows_do_not_ask_for_what_comes_after_them() {
    for (start, asks) in [("(load %is %r)", true), ("(op + %r 1)", true), ("(load %xs %p)", false)] {
        let p = program_of(
            "int",
            &format!(
                "(for seq %r (upto 0 %m) () (let (%l int) (load %is 0) p0) (let (%p int) (load %is %r) p0)
                   (let (%q int) {start} p0)
                   (for (lanes 32) %i (upto 0 %l) (((%s int) (%t int) 0 +)) (let (%at int) (op + %i %q) p0)
                     (let (%e int) (load %xs %at) p0) (let (%u int) (op + %s %e) p0) (next %u) p0)
                   (store %cs (%r 0) %t p0) (next) p0)"
            ),
        );
        for host in processors() {
            let text = remc_llvm::llvm_ir(&p, &host, None).unwrap();
            assert_eq!(text.contains("call void @llvm.prefetch"), asks, "{start}: {text}");
        }
    }
}

#[test]
fn the_sign_of_a_sum_of_zeros_is_kept() {
    let p = reduction(BaseTy::F32, ScalarOp::Add, 16);
    let mut from_zero = p.clone();
    for s in &mut from_zero.kernels[remc_kernel::ir::KernelId(0)].body {
        if let StmtKind::For { carried, .. } = &mut s.kind {
            carried[0].init = remc_kernel::ir::Atom::Const(Scalar::F32(0.0));
        }
    }
    for n in [0, 1, 16, 40] {
        let r = run(&p, &[int(n), floats(vec![-0.0; n as usize]), floats([-0.0])]).unwrap();
        assert_eq!(r[0].elements[0].to_bits64(), i64::from((-0.0f32).to_bits()), "{n}");
        // A sum from 0.0 is 0.0 then, for which lanes without an element may hold that.
        let r = run(&from_zero, &[int(n), floats(vec![-0.0; n as usize]), floats([-0.0])]).unwrap();
        assert_eq!(r[0].elements[0].to_bits64(), 0, "{n}");
    }
}

#[test]
fn the_first_failing_lane_is_told() {
    for w in ["2", "16", "64", "128"] {
        let p = program_of(
            "int",
            &"(for (lanes W) %i (upto 0 %n) () (let (%x int) (load %xs %i) p0) (let (%c bool) (op < %x 100) p0)
               (let (%j int) (op + %i 1000) p0)
               (check (subarray 1 1) %c %x %j %m p0) (store %ys (%i) %x p0) (next) p0)
             (for seq %r (upto 0 %m) () (for (lanes 4) %q (upto 0 %n) () (store %cs (%r %q) 0 p0) (next) p0)
               (next) p0)"
                .replace('W', w),
        );
        let m = Machine::new(&p);
        for bad in [0, 1, 15, 63, 64, 130, 199] {
            let mut a = args(BaseTy::I64, 3, 200);
            a[2] = ints((0..200).map(|i| if i == bad || i == 199 { i + 500 } else { i % 100 }));
            let stopped = m.run(&a).unwrap_err().unwrap();
            assert_eq!(stopped.values, [bad + 500, bad + 1000, 3], "{w}");
        }
    }
}

#[test]
fn the_first_failing_iteration_of_a_jammed_loop_is_told() {
    let p = program_of(
        "int",
        "(for (jam 4) %r (upto 0 %m) () (for (lanes 8) %i (upto 0 %n) ()
           (let (%x int) (load %as %r %i) p0) (let (%c bool) (op < %x 100) p0)
           (check (subarray 1 1) %c %x %r %i p0) (store %cs (%r %i) %x p0) (next) p0) (next) p0)
         (for (lanes 4) %q (upto 0 %n) () (store %ys (%q) 0 p0) (next) p0)",
    );
    let m = Machine::new(&p);
    for (r, i) in [(0, 0), (3, 7), (5, 19), (4, 3)] {
        let mut a = args(BaseTy::I64, 6, 20);
        a[4] = ints((0..120).map(|k| if k == r * 20 + i { 777 } else { 5 }));
        assert_eq!(m.run(&a).unwrap_err().unwrap().values, [777, r, i]);
    }
}

#[test]
fn what_cannot_run_at_once_runs_in_turn() {
    // Inner bounds, conditions and memory that depend on the lane.
    let p = program_of(
        "int",
        "(for (lanes 8) %i (upto 0 %n) ()
           (let (%x int) (load %xs %i) p0) (alloc (%two private int 2) p0)
           (store %two (0) %x p0) (store %two (1) %i p0)
           (let (%q int) (op % %x 2) p0) (let (%c bool) (op = %q 0) p0)
           (for seq %k (upto 0 %i) (((%s int) (%r int) 0)) (let (%t int) (op + %s %k) p0) (next %t) p0)
           (if %c (then (let (%u int) (op + %r %x) p0)) (else) (((%v int) %u %r)) p0)
           (let (%z int) (load %two %q) p0) (let (%y int) (op + %z %v) p0)
           (store %ys (%i) %y p0) (next) p0)
         (for (jam 4) %a (upto 0 %m) () (for seq %b (upto 0 %n) ()
           (for seq %d (upto 0 %a) (((%e int) (%f int) 0)) (let (%g int) (op + %e 1) p0) (next %g) p0)
           (store %cs (%a %b) %f p0) (next) p0) (next) p0)",
    );
    agree(&p, sizes(8).map(|n| args(BaseTy::I64, 6, n)));
}

#[test]
fn only_sums_of_reductions_are_contracted() {
    let texts = |combine: &str, more: &str| {
        let p = program_of(
            "f32",
            &format!(
                "(for (lanes 16) %i (upto 0 %n) ()
                   (for seq %k (upto 0 %m) (((%s f32) (%r f32) f32:-0.0{combine}))
                     (let (%a f32) (load %as %k %i) p0) (let (%x f32) (load %xs %k) p0)
                     (let (%p f32) (op * %a %x) p0) {more} (let (%q f32) (op + %s %p) p0) (next %q) p0)
                   (store %ys (%i) %r p0) (next) p0)"
            ),
        );
        processors().map(|host| remc_llvm::llvm_ir(&p, &host, None).unwrap())
    };
    assert!(texts(" +", "").iter().all(|t| t.contains("@llvm.fmuladd.v16f32")));
    assert!(!texts("", "").iter().any(|t| t.contains("fmuladd")));
    // The product is wanted on its own too.
    assert!(!texts(" +", "(store %cs (%k %i) %p p0)").iter().any(|t| t.contains("fmuladd")));
}

#[test]
fn buffers_of_a_kernel_are_told_apart() {
    let p = program_of(
        "float",
        "(for (lanes 8) %i (upto 0 %n) () (let (%x float) (load %xs %i) p0) (store %ys (%i) %x p0) (next) p0)",
    );
    for host in processors() {
        let ir = remc_llvm::llvm_ir(&p, &host, None).unwrap();
        assert!(ir.contains("load <8 x double>") && ir.contains("store <8 x double>"), "{ir}");
        for line in ir.lines().filter(|l| l.contains("load <8 x double>") || l.contains("store <8 x double>"))
        {
            assert!(line.contains("!alias.scope") && line.contains("!noalias"), "{line}");
        }
    }
}

#[test]
fn programs_that_break_invariants_are_errors() {
    use remc_kernel::ir::{Atom, Var};
    let good = reduction(BaseTy::F32, ScalarOp::Add, 8);
    let host = remc_llvm::jit::host();
    let broken = |f: &dyn Fn(&mut Program)| {
        let mut p = good.clone();
        f(&mut p);
        remc_llvm::compile(&p, &host, remc_llvm::Pipeline::default()).unwrap_err()
    };
    broken(&|p| p.results.push(Atom::Var(Var(9999))));
    broken(&|p| p.params.push(Var(9999)));
    broken(&|p| p.results.push(Atom::Var(p.kernels[remc_kernel::ir::KernelId(0)].params[0])));
    broken(&|p| {
        for s in &mut p.plan {
            if let StmtKind::Launch { args, .. } = &mut s.kind {
                args.pop();
            }
        }
    });
    broken(&|p| p.kernels[remc_kernel::ir::KernelId(0)].body.extend(p.plan.clone()));
}
