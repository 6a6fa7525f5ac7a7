//! Loops inside of lanes of which several iterations run at once.

use crate::lanes::{agree, args, program_of};
use crate::runtime::processors;
use remc_base::BaseTy;
use remc_kernel::ir::Program;

/// For each point in lanes a loop over `%m` rows, which carries `%best` and `%at`; what is done to them is `tail`, from `%s`,
/// the sum over a row, and `%j`, its number. `%l` says how long rows are.
fn program(ty: BaseTy, inside: &str, tail: &str) -> Program {
    let zero = match ty {
        BaseTy::F32 => "f32:0.0",
        BaseTy::F64 => "0.0",
        _ => "0",
    };
    let body = format!(
        "(for (lanes 16) %i (upto 0 %n) ()
           (let (%p TY) (load %xs %i) p0)
           (for seq %j (upto 0 %m) (((%best TY) (%top TY) {zero}) ((%at int) (%found int) -1))
             (for seq %k (upto 0 %n) (((%acc TY) (%s TY) {zero} +))
               (let (%x TY) (load %as %j %k) p0) (let (%d TY) (op - %x %p) p0) (let (%q TY) (op * %d %x) p0)
               (let (%sum TY) (op + %acc %q) p0) {inside} (next %sum) p0)
             {tail} (next %b %w0) p0)
           (let (%f TY) (cast TY %found) p0) (let (%y TY) (op + %top %f) p0)
           (store %ys (%i) %y p0) (next) p0)"
    );
    program_of(ty.name(), &body)
}

/// The nearest of the rows, told without a branch, a chain that every row adds to, and a branch.
const TAILS: [&str; 3] = [
    "(let (%c bool) (op < %s %best) p0) (let (%b TY) (op select %c %s %best) p0) (let (%w0 int) (op select %c %j %at) p0)",
    "(let (%b TY) (op max2 %s %best) p0) (let (%t int) (op * %at 3) p0) (let (%w0 int) (op + %t %j) p0)",
    "(let (%c bool) (op < %s %best) p0)
     (if %c (then (let (%t int) (op * %j 2) p0)) (else) (((%b TY) %s %best) ((%w0 int) %t %at)) p0)",
];

/// Vectors that are multiplied and added up, in all of a program's code.
fn sums(p: &Program) -> Vec<usize> {
    let of = |h: &remc_llvm::Host| {
        let text = remc_llvm::llvm_ir(p, h, None).unwrap();
        text.lines().filter(|l| l.contains("= call") && l.contains("@llvm.fmuladd.v")).count()
    };
    processors().iter().map(of).collect()
}

#[test]
fn several_rows_share_a_point() {
    for ty in [BaseTy::F32, BaseTy::F64, BaseTy::I64] {
        for tail in TAILS {
            let p = program(ty, "", tail);
            agree(&p, (0..7).flat_map(|m| [0, 1, 15, 16, 17, 33].map(|n| args(ty, m, n))));
        }
    }
    let jammed = sums(&program(BaseTy::F32, "", TAILS[0]));
    let alone = sums(&program(BaseTy::F32, "(check (index 1 1) true %j %k p0)", TAILS[0]));
    assert!(jammed.iter().zip(&alone).all(|(j, a)| j > a), "{jammed:?} {alone:?}");
}

/// What stops, what is as long as its row's number says, and what the next iteration asks for runs one by one.
#[test]
fn what_waits_runs_alone() {
    let stops =
        program(BaseTy::I64, "(let (%ok bool) (op < %x 90) p0) (check (index 1 1) %ok %j %k p0)", TAILS[0]);
    agree(&stops, [0, 1, 3, 4, 9].map(|m| args(BaseTy::I64, m, 17)));
    let body = |to: &str, init: &str| {
        format!(
            "(for (lanes 16) %i (upto 0 %n) ()
               (let (%p int) (load %xs %i) p0)
               (for seq %j (upto 0 %m) (((%best int) (%top int) 0))
                 (for seq %k {to} (((%acc int) (%s int) {init} +))
                   (let (%x int) (load %as %j %k) p0) (let (%d int) (op - %x %p) p0)
                   (let (%sum int) (op + %acc %d) p0) (next %sum) p0)
                 (let (%b int) (op max2 %s %best) p0) (next %b) p0)
               (store %ys (%i) %top p0) (next) p0)"
        )
    };
    for (to, init) in [("(upto 0 %j)", "0"), ("(upto 0 %n)", "%best"), ("(upto 0 %n)", "0")] {
        let p = program_of("int", &body(to, init));
        agree(&p, [0, 1, 3, 4, 9].map(|m| args(BaseTy::I64, m, 17)));
    }
}
