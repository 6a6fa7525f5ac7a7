//! Loops that reduce a row in each iteration, several short rows at once.

use crate::lanes::{agree, args, program_of};
use crate::runtime::processors;
use remc_base::BaseTy;
use remc_kernel::ir::Program;
use remc_llvm::Host;

/// Rows of `is` elements, but no more than `most`, of `xs`: each begins where the one before ends, as long as there are
/// so many. Those of `long` elements or more are passed over.
fn rows(ty: BaseTy, op: &str, (most, long): (i64, i64)) -> String {
    let zero = match ty {
        BaseTy::F32 => "f32:0.0",
        BaseTy::F64 => "0.0",
        BaseTy::I32 => "i32:0",
        _ => "0",
    };
    format!(
        "(for seq %r (upto 0 %n) (((%at int) (%end int) 0))
           (let (%size int) (load %is %r) p0) (let (%l int) (op min2 %size {most}) p0)
           (let (%rest int) (op - %n %l) p0) (let (%s int) (op min2 %at %rest) p0)
           (let (%next int) (op + %at %l) p0) (let (%long bool) (op >= %l {long}) p0)
           (if %long (then)
             (else
               (let (%f TY) (load %xs %r) p0)
               (for (lanes 32) %j (upto 0 %l) (((%a TY) (%t TY) {zero} {op}))
                 (let (%k int) (op + %j %s) p0) (let (%x TY) (load %xs %k) p0) (let (%y TY) (op * %x %x) p0)
                 (let (%u TY) (op {op} %a %y) p0) (next %u) p0)
               (let (%v TY) (op + %t %f) p0) (let (%c TY) (cast TY %s) p0) (let (%z TY) (op + %v %c) p0))
             (((%res TY) {zero} %z)) p0)
           (store %ys (%r) %res p0) (next %next) p0)"
    )
}

/// For which widths of vectors rows are reduced at once somewhere: nothing else asks whether lanes agree.
fn at_once(p: &Program) -> Vec<u32> {
    let at_once = |host: &Host| {
        let text = remc_llvm::llvm_ir(p, host, None).unwrap();
        text.contains("@llvm.vector.reduce.and.v8i1")
    };
    processors().iter().filter(|h| at_once(h)).map(|h| h.vector_bits).collect()
}

/// The widths for which they can be.
const WIDE: [u32; 2] = [256, 512];

/// Rows that are short, that are not, and both; what comes after a row is of its own, of its place and of the rows before.
#[test]
fn short_rows_at_once() {
    for ty in [BaseTy::F32, BaseTy::F64, BaseTy::I64, BaseTy::I32] {
        for op in ["+", "max2", "min2"] {
            for shape in [(3, 99), (8, 99), (9, 99), (16, 99), (31, 99), (60, 99), (60, 8), (60, 12), (0, 99)]
            {
                let p = program_of(ty.name(), &rows(ty, op, shape));
                assert_eq!(at_once(&p), WIDE);
                agree(&p, [0, 1, 7, 8, 9, 16, 40, 101].map(|n| args(ty, 0, n)));
            }
        }
    }
}

/// Two results of a row, one of them from a start that is the row's own, and no condition.
#[test]
fn short_rows_of_two_results() {
    let p = program_of(
        "f32",
        "(for seq %r (upto 0 %n) ()
           (let (%size int) (load %is %r) p0) (let (%l int) (op min2 %size 9) p0) (let (%s int) (op - %n %l) p0)
           (let (%f f32) (load %xs %r) p0)
           (for (lanes 32) %j (upto 0 %l) (((%a f32) (%t f32) f32:0.0 +) ((%b f32) (%q f32) %f max2))
             (let (%k int) (op + %j %s) p0) (let (%x f32) (load %xs %k) p0)
             (let (%u f32) (op + %a %x) p0) (let (%v f32) (op max2 %b %x) p0) (next %u %v) p0)
           (let (%d f32) (cast f32 %size) p0) (let (%p f32) (op * %t %d) p0) (let (%z f32) (op + %p %q) p0)
           (store %ys (%r) %z p0) (next) p0)",
    );
    assert_eq!(at_once(&p), WIDE);
    agree(&p, [0, 1, 7, 8, 9, 16, 40, 101].map(|n| args(BaseTy::F32, 0, n)));
}

/// Rows that wait for one another, or read what others write, are reduced in their order.
#[test]
fn rows_that_wait() {
    let rows = rows(BaseTy::I64, "+", (8, 99));
    let waits = rows.replace("(next %next)", "(let (%o int) (op bit-and %res 1) p0) (next %o)");
    let reads = rows.replace("(load %xs %r)", "(load %ys 0)").replace("(store %ys (%r)", "(store %ys (0)");
    let twice = rows.replace("(store %ys (%r) %res p0)", "(store %ys (%r) %t p0) (store %ys (%r) %res p0)");
    let checks = rows.replace("(store %ys", "(check (subarray 1 1) %long %l %l %n p0) (store %ys");
    for text in [waits, reads, twice.replace("%t p0)", "%at p0)"), checks] {
        assert_ne!(text, rows);
        let p = program_of("int", &text);
        assert!(at_once(&p).is_empty(), "{text}");
        agree(&p, [1, 9, 40].map(|n| args(BaseTy::I64, 0, n)));
    }
}
