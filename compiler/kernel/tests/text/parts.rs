//! Which kernels are compiled together.

use super::corpus::{parse, program};
use remc_kernel::ir::KernelId;
use remc_kernel::parts::{Parts, parts};

/// The parts of four kernels that a plan launches, and how many there are.
fn of(plan: &str) -> ([usize; 4], usize) {
    let kernel = |k: usize| format!("(k{k} \"k\" (from p0) (grid (%b{k} 1)) (worker %w{k}) (params) (body))");
    let kernels: String = (0..4).map(kernel).collect();
    let p = parse(&program("(%n int) (%c bool)", &kernels, plan));
    let parts = parts(&p);
    assert!(parts.is_plan_alone(0) && !parts.is_plan_alone(1) && !Parts::whole(&p).is_plan_alone(0));
    ([0, 1, 2, 3].map(|k| parts.of(KernelId(k))), parts.count())
}

#[test]
fn launches_that_always_come_are_one_part() {
    let plan = "(launch k0 () p0) (for seq %i (upto 0 %n) () (launch k1 () p0) (next) p0)
        (launch k2 () p0) (launch k3 () p0) (give)";
    assert_eq!(of(plan), ([1, 1, 1, 1], 2));
}

#[test]
fn each_branch_is_a_part() {
    let plan = "(if %c (then (launch k1 () p0) (launch k2 () p0)) (else (launch k3 () p0)) () p0)
        (launch k0 () p0) (give)";
    assert_eq!(of(plan), ([3, 1, 1, 2], 4));
    let nested = "(if %c (then) (else (launch k0 () p0)
          (if %c (then (launch k1 () p0)) (else (launch k2 () p0)) () p0)
          (launch k3 () p0)) () p0) (give)";
    assert_eq!(of(nested), ([1, 2, 3, 1], 4));
}

#[test]
fn a_kernel_that_is_launched_twice_is_compiled_once() {
    let plan = "(if %c (then (launch k0 () p0)) (else (launch k0 () p0) (launch k1 () p0)) () p0) (give)";
    let ([first, second, unused, _], count) = of(plan);
    assert_eq!((first, second, count), (1, 2, 3));
    // What is never launched is in no part that is compiled.
    assert_eq!(unused, count);
}
