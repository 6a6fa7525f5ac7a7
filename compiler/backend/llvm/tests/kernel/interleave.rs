//! Short rows of which each lane wants an element, or makes all.

use crate::lanes::{agree, sizes};
use crate::runtime::{Arg, int, kernel, processors, program};
use crate::stmts::sample;
use remc_base::BaseTy;
use remc_kernel::ir::Program;

/// One kernel over `%n` rows of `row` elements each: `body` reads `%ps` and fills `%qs`, whose rows are as long.
fn rows(ty: BaseTy, row: i64, body: &str) -> Program {
    let t = ty.name();
    let k = kernel(
        0,
        "",
        "%w",
        &format!("(%n int) (%ps global {t} %n {row}) (%qs global {t} %n {row})"),
        &body.replace("TY", t),
    );
    program(
        &format!("(%pn int) (%pps global {t} %pn {row})"),
        &k,
        &format!("(alloc (%pqs global {t} %pn {row}) p0) (launch k0 (%pn %pps %pqs) p0) (give %pqs)"),
    )
}

fn args(ty: BaseTy, row: i64, n: i64) -> Vec<Arg> {
    vec![int(n), Arg::Array((0..n * row).map(|i| sample(ty, i * 3 % 29)).collect())]
}

/// Each row is stored with its elements the other way round, but for the first, which is something else.
fn turned(row: i64, more: &str) -> String {
    let loads: String = (0..row).map(|c| format!("(let (%x{c} TY) (load %ps %i {c}) p0) ")).collect();
    let stores: String = (0..row).map(|c| format!("(store %qs (%i {c}) %x{} p0) ", row - 1 - c)).collect();
    let stores = stores.replacen(&format!("%x{}", row - 1), "%y", 1);
    format!(
        "(for (lanes 16) %i (upto 0 %n) () {loads} (let (%y TY) (op max2 %x0 %x{}) p0) {more} {stores} (next) p0)",
        row - 1
    )
}

#[test]
fn rows_are_loaded_and_stored_together() {
    for ty in [BaseTy::F32, BaseTy::F64, BaseTy::I64, BaseTy::U8] {
        for row in [2, 3, 4, 5, 8, 9] {
            let p = rows(ty, row, &turned(row, ""));
            agree(&p, sizes(16).map(|n| args(ty, row, n)));
        }
    }
}

/// Vectors of all elements of the lanes' rows, up to eight for each.
#[test]
fn few_elements_are_a_vector() {
    for host in processors() {
        let wide = |row: i64| {
            let ir = remc_llvm::llvm_ir(&rows(BaseTy::F32, row, &turned(row, "")), &host, None).unwrap();
            let of = |l: &&str| l.contains("shufflevector");
            ir.lines().filter(of).count()
        };
        assert!(wide(3) > 0 && wide(8) > 0, "{}", host.vector_bits);
        assert_eq!(wide(9), 0, "{}", host.vector_bits);
    }
}

/// What is stored in another order, in part, or where it was read, is stored one by one.
#[test]
fn rows_in_parts() {
    let apart = turned(3, "")
        .replace("(store %qs (%i 2) %x0 p0) ", "")
        .replace("(next)", "(store %qs (%i 2) %x0 p0) (next)");
    let apart = apart.replacen("(store %qs (%i 1)", "(let (%z TY) (op + %x1 %x1) p0) (store %qs (%i 1)", 1);
    let before = turned(3, "(store %qs (%i 2) %x0 p0)");
    let mixed = "(for (lanes 16) %i (upto 0 %n) ()
        (let (%a TY) (load %ps %i 1) p0) (store %qs (%i 0) %a p0) (store %qs (%i 1) %a p0)
        (let (%b TY) (load %qs %i 0) p0) (let (%c TY) (op + %a %b) p0) (store %qs (%i 2) %c p0) (next) p0)";
    for body in [apart, before, mixed.to_owned()] {
        let p = rows(BaseTy::I64, 3, &body);
        agree(&p, sizes(16).map(|n| args(BaseTy::I64, 3, n)));
    }
}
