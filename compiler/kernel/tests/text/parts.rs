//! Which kernels are compiled together.

use super::corpus::{parse, program};
use remc_kernel::ir::KernelId;
use remc_kernel::parts::{Parts, parts};

/// The parts of a plan's kernels, which have so many statements each.
fn parts_of(sizes: &[usize], plan: &str) -> Parts {
    let kernel = |(k, n): (usize, &usize)| {
        let body: String = (0..*n).map(|i| format!("(let (%x{} int) (op + 1 2) p0)", 1000 * k + i)).collect();
        format!("(k{k} \"k\" (from p0) (grid (%b{k} 1)) (worker %w{k}) (params) (body {body}))")
    };
    let kernels: String = sizes.iter().enumerate().map(kernel).collect();
    let p = parse(&program("(%n int) (%c bool)", &kernels, plan));
    let parts = parts(&p);
    assert!(parts.is_plan_alone(0));
    assert_eq!(Parts::whole(&p).is_plan_alone(0), sizes.is_empty());
    parts
}

/// The groups of four small kernels that a plan launches, and how many groups there are.
fn groups(plan: &str) -> ([usize; 4], usize) {
    let parts = parts_of(&[1; 4], plan);
    ([0, 1, 2, 3].map(|k| parts.group(KernelId(k))), parts.groups())
}

#[test]
fn launches_that_always_come_are_the_plans_group() {
    let plan = "(launch k0 () p0) (for seq %i (upto 0 %n) () (launch k1 () p0) (next) p0)
        (launch k2 () p0) (launch k3 () p0) (give)";
    assert_eq!(groups(plan), ([0, 0, 0, 0], 1));
    assert_eq!(parts_of(&[], "(give)").in_group(0), 0..1);
}

#[test]
fn each_branch_is_a_group() {
    let plan = "(if %c (then (launch k1 () p0) (launch k2 () p0)) (else (launch k3 () p0)) () p0)
        (launch k0 () p0) (give)";
    assert_eq!(groups(plan), ([0, 1, 1, 2], 3));
    let nested = "(if %c (then) (else (launch k0 () p0)
          (if %c (then (launch k1 () p0)) (else (launch k2 () p0)) () p0)
          (launch k3 () p0)) () p0) (give)";
    assert_eq!(groups(nested), ([1, 2, 3, 1], 4));
}

#[test]
fn a_kernel_that_is_launched_twice_is_compiled_once() {
    let plan = "(if %c (then (launch k0 () p0)) (else (launch k0 () p0) (launch k1 () p0)) () p0) (give)";
    let parts = parts_of(&[1; 4], plan);
    assert_eq!([0, 1].map(|k| parts.of(KernelId(k))), [1, 2]);
    assert_eq!((0..3).map(|g| parts.in_group(g)).collect::<Vec<_>>(), [0..1, 1..2, 2..3]);
    // What is never launched is in no part that is compiled.
    assert!(parts.of(KernelId(2)) >= 3);
}

#[test]
fn a_group_is_as_many_parts_as_it_has_work_for() {
    let of = |sizes: &[usize]| {
        let launches: String = (0..sizes.len()).map(|k| format!("(launch k{k} () p0) ")).collect();
        parts_of(sizes, &format!("{launches} (give)"))
    };
    assert_eq!(of(&[1; 9]).in_group(0), 0..2);
    assert_eq!(of(&[1000]).in_group(0), 0..2, "a kernel is not taken apart");
    let uneven = of(&[10, 200, 10, 100, 80]);
    assert_eq!([0, 1, 2, 3, 4].map(|k| uneven.of(KernelId(k))), [4, 1, 4, 2, 3]);
    assert_eq!(of(&[100; 40]).in_group(0), 0..17, "no more than sixteen and the plan");
}

#[test]
fn what_is_written_several_times_weighs_as_often() {
    let loops = |how: &str| {
        let body: String = (0..30).map(|i| format!("(let (%y{i} int) (op + 1 2) p0)")).collect();
        let kernel = |k: usize| {
            format!(
                "(k{k} \"k\" (from p0) (grid (%b{k} 1)) (worker %w{k}) (params) (body
                   (for {how} %i{k} (upto 0 4) () {} (next) p0)))",
                body.replace("%y", &format!("%y{k}"))
            )
        };
        let kernels: String = (0..2).map(kernel).collect();
        let p = parse(&program("", &kernels, "(launch k0 () p0) (launch k1 () p0) (give)"));
        parts(&p).in_group(0).len() - 1
    };
    assert_eq!((loops("seq"), loops("(lanes 8)"), loops("(jam 2)")), (1, 2, 1));
}
