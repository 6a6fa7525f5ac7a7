//! Which loops keep some of their items.

use crate::corpus::{kernel, parse};
use remc_kernel::ir::{KernelId, StmtKind};
use remc_kernel::keep::keep;

const KEEPS: &str = "(for seq %i (upto 0 %n) (((%k int) (%r int) 0))
   (let (%x float) (load %xs %i) p0) (let (%c bool) (op > %x 0.0) p0) (let (%more int) (op + %k 1) p0)
   (if %c (then (store %ys (%k) %x p0)) (else) (((%next int) %more %k)) p0) (next %next) p0)";

/// The same in the part of a row, which begins at `%w`.
const IN_A_ROW: &str = "(for seq %i (upto 0 %n) (((%k int) (%r int) 0))
   (let (%x float) (load %xs %i) p0) (let (%c bool) (op > %x 0.0) p0) (let (%more int) (op + %k 1) p0)
   (if %c (then (let (%p int) (op + %w %k) p0) (store %ys (%p) %x p0)) (else) (((%next int) %more %k)) p0)
   (next %next) p0)";

fn is_kept(body: &str) -> bool {
    is_kept_in(body, false)
}

/// Whether it is one where `%ys` is a vector of rows.
fn is_kept_in(body: &str, rows: bool) -> bool {
    let p = parse(&kernel(if rows { "rows" } else { "" }, body));
    let kernel = &p.kernels[KernelId(0)];
    let StmtKind::For { carried, body, next, .. } = &kernel.body[0].kind else { panic!("no loop") };
    keep(carried, body, next, &kernel.rows).is_some()
}

/// What is behind the last item of a row is nobody's; behind that of other places something may be.
#[test]
fn items_are_kept_in_the_part_of_a_row() {
    assert!(is_kept_in(IN_A_ROW, true));
    assert!(!is_kept_in(IN_A_ROW, false));
    for (from, to) in [
        // The row begins elsewhere for each item.
        ("(op + %w %k)", "(op + %k %k)"),
        ("(op + %w %k)", "(op + %more %k)"),
        // It leaves out places.
        ("(op + %w %k)", "(op * %w %k)"),
        // It stores behind the part.
        ("(store %ys (%p) %x p0)", "(let (%q int) (op + %p %k) p0) (store %ys (%q) %x p0)"),
    ] {
        assert!(IN_A_ROW.contains(from), "{from}");
        assert!(!is_kept_in(&IN_A_ROW.replace(from, to), true), "{to}");
    }
}

/// Each with what makes it another loop.
#[test]
fn loops_that_differ_by_little_are_no_such_loops() {
    assert!(is_kept(KEEPS));
    for (from, to) in [
        // Its first place is not the first there is.
        ("(%r int) 0)", "(%r int) 1)"),
        // It leaves out places.
        ("(op + %k 1)", "(op + %k 2)"),
        // What it computes depends on how many it has kept.
        ("(load %xs %i)", "(load %xs %k)"),
        // It reads what it has stored.
        ("(load %xs %i)", "(load %ys %i)"),
        // It stores elsewhere.
        ("(store %ys (%k) %x p0)", "(store %ys (%i) %x p0)"),
        // Two items are kept in one array.
        ("(store %ys (%k) %x p0)", "(store %ys (%k) %x p0) (store %ys (%k) 1.0 p0)"),
        // It counts what it does not keep.
        ("%more %k)", "%k %more)"),
        // It does something where it keeps nothing.
        ("(else)", "(else (store %tmp (%w 0) %x p0))"),
    ] {
        assert!(KEEPS.contains(from), "{from}");
        assert!(!is_kept(&KEEPS.replace(from, to)), "{to}");
    }
}
