//! Each rule of the verifier, on programs that break it.

use crate::corpus::{all, kernel, parse, plan, program};
use remc_kernel::ir::{Gives, Kernel, KernelId, Stmt, StmtKind, Var};
use remc_kernel::parse::parse_program;
use remc_kernel::print::print_program;
use remc_kernel::verify::{Broken, Rule, verify};

#[test]
fn well_formed_programs_are_accepted() {
    for text in all() {
        assert_eq!(verify(&parse(&text)), Ok(()), "{text}");
    }
}

/// Bodies of a kernel with the grid `(%b %nb)`.
const KERNELS: &[(Rule, &str)] = &[
    (Rule::Provenance, "(let (%a int) 1 p9)"),
    (Rule::Binder, "(let (%a int) 1 p0) (let (%a int) 2 p0)"),
    (Rule::Binder, "(for seq %n (upto 0 1) () (next) p0)"),
    (Rule::Scope, "(let (%a int) %z p0) (let (%z int) 1 p0)"),
    (Rule::Scope, "(for seq %i (upto 0 1) () (next) p0) (let (%a int) %i p0)"),
    (Rule::Scope, "(if true (then (let (%a int) 1 p0)) (else (let (%c int) %a p0)) () p0)"),
    (Rule::Scope, "(while () (cond (let (%a bool) true p0) (test %a)) (do (let (%c bool) %a p0) (next)) p0)"),
    (Rule::Scope, "(for seq %i (upto 0 1) (((%s int) (%r int) 0)) (next %r) p0)"),
    (Rule::TypeScope, "(alloc (%a private int %z) p0) (let (%z int) 2 p0)"),
    (Rule::Dim, "(alloc (%a private int 2.0) p0)"),
    (Rule::Host, "(free %xs p0)"),
    (Rule::Host, "(alias (%zs global float %n) %xs p0)"),
    (Rule::Host, "(slice (%zs global float 1) %xs 0 p0)"),
    (Rule::Host, "(launch k0 () p0)"),
    (Rule::Host, "(grade (%xs) %is p0)"),
    (Rule::Host, "(let (%a int) (workers) p0)"),
    (Rule::Host, "(if true (then) (else) (((%zs global float %n) %xs %ys)) p0)"),
    (Rule::Host, "(for seq %i (upto 0 1) (((%zs global float %n) (%us global float %n) %xs)) (next %ys) p0)"),
    (Rule::KernelAlloc, "(alloc (%a global int 4) p0)"),
    (Rule::KernelAlloc, "(alloc (%a scratch int 4) p0)"),
    (Rule::KernelAlloc, "(alloc (%a private int %n) p0)"),
    (Rule::Alloc, "(alloc (%a int) p0)"),
    (Rule::Let, "(let (%a int) 1.0 p0)"),
    (Rule::Let, "(let (%a int) %xs p0)"),
    (Rule::Let, "(let (%a global float %n) 1 p0)"),
    (Rule::Op, "(let (%a int) (op + 1 2.0) p0)"),
    (Rule::Op, "(let (%a int) (op + 1) p0)"),
    (Rule::Op, "(let (%a int) (op < 1 2) p0)"),
    (Rule::Op, "(let (%a float) (op negate %xs) p0)"),
    (Rule::Cast, "(let (%a int) (cast float 1) p0)"),
    (Rule::Cast, "(let (%a float) (cast float %xs) p0)"),
    (Rule::Cast, "(let (%a int) (bits 1) p0)"),
    (Rule::Cast, "(let (%a int) (bits f32:1) p0)"),
    (Rule::Load, "(let (%a int) (load %xs 0) p0)"),
    (Rule::Load, "(let (%a int) (load %n 0) p0)"),
    (Rule::Store, "(store %ys (%b) 1 p0)"),
    (Rule::Store, "(store %n () 1 p0)"),
    (Rule::Store, "(store %ys (%b) %xs p0)"),
    (Rule::Indices, "(let (%a float) (load %as 0) p0)"),
    (Rule::Indices, "(store %ys (0 0) 1.0 p0)"),
    (Rule::Indices, "(let (%a float) (load %xs 0.0) p0)"),
    (Rule::Indices, "(store %ys (%xs) 1.0 p0)"),
    (Rule::Range, "(for seq %i (upto 0 1.0) () (next) p0)"),
    (Rule::Range, "(for seq %i (tile %b %xs 1) () (next) p0)"),
    (Rule::Range, "(for seq (%i u8) (upto 0 1) () (next) p0)"),
    (Rule::Carried, "(for seq %i (upto 0 1) (((%s float) (%r float) 0)) (next %s) p0)"),
    (Rule::Carried, "(for seq %i (upto 0 1) (((%s int) (%r float) 0)) (next %s) p0)"),
    (Rule::Carried, "(for seq %i (upto 0 1) (((%s int) (%r int) 0)) (next 1.0) p0)"),
    (Rule::Carried, "(for seq %i (upto 0 1) (((%s int) (%r int) 0)) (next) p0)"),
    (Rule::Carried, "(for seq %i (upto 0 1) () (next 0) p0)"),
    (Rule::Carried, "(while (((%s int) (%r int) 0)) (cond (test true)) (do (next)) p0)"),
    (Rule::Condition, "(if 1 (then) (else) () p0)"),
    (Rule::Condition, "(while () (cond (test %n)) (do (next)) p0)"),
    (Rule::Choice, "(if true (then) (else) (((%a int) 1 2.0)) p0)"),
    (Rule::Choice, "(if true (then) (else) (((%a int) %xs 1)) p0)"),
    (Rule::Check, "(check (index 1 1) %n 0 0 p0)"),
    (Rule::Check, "(check (index 1 1) true 0 p0)"),
    (Rule::Check, "(check (index 1 1) true 0 %xs p0)"),
    (Rule::Width, "(for (lanes 0) %i (upto 0 %n) () (next) p0)"),
    (Rule::Width, "(for (jam 0) %i (upto 0 %n) () (next) p0)"),
    (Rule::Jam, "(for (jam 2) %i (upto 0 %n) (((%s int) (%r int) 0)) (next %s) p0)"),
    // No operator; one that does not commute; not for this type.
    (Rule::Combine, "(for (lanes 4) %i (upto 0 %n) (((%s int) (%r int) 0)) (next %s) p0)"),
    (
        Rule::Combine,
        "(for (lanes 4) %i (upto 0 %n) (((%s int) (%r int) 0 -)) (let (%q int) (op - %s 1) p0) (next %q) p0)",
    ),
    (Rule::Combine, "(for (lanes 4) %i (upto 0 %n) (((%s bool) (%r bool) true gcd)) (next %s) p0)"),
    // Another operator; the last value twice; not of the last value; the last value seen elsewhere.
    (
        Rule::Combine,
        "(for (lanes 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%q int) (op * %s 2) p0) (next %q) p0)",
    ),
    (
        Rule::Combine,
        "(for (lanes 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%q int) (op + %s %s) p0) (next %q) p0)",
    ),
    (Rule::Combine, "(for (lanes 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (next %i) p0)"),
    (
        Rule::Combine,
        "(for (lanes 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%p int) (op * %s 2) p0)
           (let (%q int) (op + %s %p) p0) (next %q) p0)",
    ),
    (
        Rule::Combine,
        "(for (lanes 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%q int) (op + %s %i) p0)
           (store %is (%i) %q p0) (next %q) p0)",
    ),
    (
        Rule::Combine,
        "(for (lanes 4) %i (upto 0 %n) (((%s int) (%r int) 0 +) ((%g int) (%u int) 0 +))
           (let (%p int) (op + %s %i) p0) (let (%q int) (op + %g %p) p0) (next %p %q) p0)",
    ),
    (Rule::Width, "(for (scan 0) %i (upto 0 %n) () (next) p0)"),
    // A scan without an operator, with one that is not associative, one not for this type.
    (
        Rule::Scan,
        "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0)) (let (%q int) (op + %s 1) p0) (next %q) p0)",
    ),
    (
        Rule::Scan,
        "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0 -)) (let (%q int) (op - %s 1) p0) (next %q) p0)",
    ),
    (Rule::Scan, "(for (scan 4) %i (upto 0 %n) (((%s bool) (%r bool) true gcd)) (next %s) p0)"),
    // Another operator; the last value twice; no operator; none of the last value.
    (
        Rule::Scan,
        "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%q int) (op * %s 2) p0) (next %q) p0)",
    ),
    (
        Rule::Scan,
        "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%q int) (op + %s %s) p0) (next %q) p0)",
    ),
    (Rule::Scan, "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (next %s) p0)"),
    (Rule::Scan, "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (next %i) p0)"),
    // An item that depends on what is carried: through an operator, another value, memory, a loop.
    (
        Rule::Scan,
        "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%p int) (op * %s 2) p0)
           (let (%q int) (op + %s %p) p0) (next %q) p0)",
    ),
    (
        Rule::Scan,
        "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0 +) ((%g int) (%u int) 0 +))
           (let (%p int) (op + %s %i) p0) (let (%q int) (op + %g %p) p0) (next %p %q) p0)",
    ),
    (
        Rule::Scan,
        "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (store %is (%i) %s p0)
           (let (%x int) (load %is %i) p0) (let (%q int) (op + %s %x) p0) (next %q) p0)",
    ),
    (
        Rule::Scan,
        "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0 +))
           (for seq %k (upto 0 %m) (((%a int) (%x int) 0)) (let (%c int) (op + %a %s) p0) (next %c) p0)
           (let (%q int) (op + %s %x) p0) (next %q) p0)",
    ),
    (
        Rule::Invariant,
        "(for (scan 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%q int) (op + %s 1) p0)
           (for seq %j (upto 0 %s) () (let (%z int) (op gcd %i 2) p0) (next) p0) (next %q) p0)",
    ),
    // Other indices than the grid's; memory of another rank, type or space; values of other types.
    (Rule::Chain, "(chain %is (0) (((%p float) (%e float) 0.0 1.0 %ys)) (next %e) p0)"),
    (Rule::Chain, "(chain %is () (((%p float) (%e float) 0.0 1.0 %ys)) (next %e) p0)"),
    (Rule::Chain, "(chain %iis (%b) (((%p float) (%e float) 0.0 1.0 %ys)) (next %e) p0)"),
    (Rule::Chain, "(chain %xs (%b) (((%p float) (%e float) 0.0 1.0 %ys)) (next %e) p0)"),
    (Rule::Chain, "(chain %is (%b) (((%p float) (%e float) 0.0 1.0 %cs)) (next %e) p0)"),
    (Rule::Chain, "(chain %is (%b) (((%p int) (%e int) 0 1 %ys)) (next %e) p0)"),
    (Rule::Chain, "(chain %is (%b) (((%p float) (%e float) 0 1.0 %ys)) (next %e) p0)"),
    (Rule::Chain, "(chain %is (%b) (((%p float) (%e float) 0.0 1 %ys)) (next %e) p0)"),
    (Rule::Chain, "(chain %is (%b) (((%p float) (%e float) 0.0 1.0 %ys)) (next 1) p0)"),
    (Rule::Chain, "(chain %is (%b) (((%p float) (%e float) 0.0 1.0 %ys)) (next) p0)"),
    (Rule::Chain, "(chain %is (%b) (((%p float) (%e int) 0.0 1.0 %ys)) (next %p) p0)"),
    // Looking back without threads.
    (Rule::Chain, "(chain %is (%b) (((%p float) (%e float) 0.0 1.0 %ys %xs)) (next %e) p0)"),
    // Inside of another statement; an item outside of its chain.
    (
        Rule::Chain,
        "(for seq %i (upto 0 %n) () (chain %is (%b) (((%p float) (%e float) 0.0 1.0 %ys)) (next %e) p0) (next) p0)",
    ),
    (
        Rule::Scope,
        "(chain %is (%b) (((%p float) (%e float) 0.0 1.0 %ys)) (next %e) p0) (store %xs (%b) %e p0)",
    ),
    // What threads do, without any.
    (Rule::Threads, "(barrier p0)"),
    (Rule::Threads, "(collective 4 (((%x int) (%y int) 1 (%all int))) (next %x) p0)"),
    (Rule::Shared, "(alloc (%a shared float 4) p0)"),
    (Rule::Points, "(points (%i %j) %b (%n) p0)"),
    (Rule::Points, "(points (%i) %xs (%n) p0)"),
    (Rule::Points, "(points (%i) %b (1.0) p0)"),
    (Rule::Points, "(points ((%i u8)) %b (%n) p0)"),
    // A bound, a condition, a test, where lanes do what none does for some alone; through an operator, a load, a carried value, memory of a lane.
    (Rule::Invariant, "(for (lanes 4) %i (upto 0 %n) () (for seq %j (upto 0 %i) () (let (%z int) (op gcd %i 2) p0) (next) p0) (next) p0)"),
    (Rule::Invariant, "(for (lanes 4) %i (upto 0 %n) () (for seq %j (tile %i 4 %n) () (next) p0) (next) p0)"),
    (
        Rule::Invariant,
        "(for (lanes 4) %i (upto 0 %n) () (let (%k int) (load %is %i) p0) (let (%c bool) (op < %k 3) p0)
           (if %c (then (let (%z int) (op gcd %i 2) p0)) (else) () p0) (next) p0)",
    ),
    // A comparison of what does not grow by one; one of both indices; one where accumulators are in lanes.
    (
        Rule::Invariant,
        "(for (lanes 4) %i (upto 0 %n) () (let (%k int) (op * %i 2) p0) (let (%c bool) (op < %k 3) p0)
           (if %c (then (let (%z int) (op gcd %i 2) p0)) (else) () p0) (next) p0)",
    ),
    (
        Rule::Invariant,
        "(for (lanes 4) %i (upto 0 %n) () (let (%k int) (op + %i 2) p0) (let (%c bool) (op < %k %i) p0)
           (if %c (then (let (%z int) (op gcd %i 2) p0)) (else) () p0) (next) p0)",
    ),
    (
        Rule::Invariant,
        "(for (lanes 4) %i (upto 0 %n) () (let (%c bool) (op = %i 2) p0) (if %c (then (let (%z int) (op gcd %i 2) p0)) (else) () p0) (next) p0)",
    ),
    (
        Rule::Invariant,
        "(for (lanes 4) %i (upto 0 %n) (((%s int) (%r int) 0 +)) (let (%c bool) (op < %i 2) p0)
           (if %c (then (for seq %j (upto 0 3) () (let (%z int) (op gcd %i 2) p0) (next) p0)) (else) (((%k int) 1 2)) p0)
           (let (%v int) (op + %s %k) p0) (next %v) p0)",
    ),
    (
        Rule::Invariant,
        "(for (lanes 4) %i (upto 0 %n) () (while (((%s int) (%r int) %i))
           (cond (let (%c bool) (op > %s 0) p0) (test %c)) (do (let (%z int) (op gcd %i 2) p0) (next 0)) p0) (next) p0)",
    ),
    (
        Rule::Invariant,
        "(for (lanes 4) %i (upto 0 %n) ()
           (for seq %j (upto 0 %m) (((%s int) (%r int) 0) ((%g int) (%u int) 0))
             (for seq %k (upto 0 %s) () (let (%z int) (op gcd %i 2) p0) (next) p0) (let (%v int) (op + %g %i) p0) (next %g %v) p0)
           (next) p0)",
    ),
    (
        Rule::Invariant,
        "(for (lanes 4) %i (upto 0 %n) () (alloc (%a private int 1) p0) (store %a (0) %i p0)
           (let (%k int) (load %a 0) p0) (for seq %j (upto 0 %k) () (let (%z int) (op gcd %i 2) p0) (next) p0) (next) p0)",
    ),
    (
        Rule::Invariant,
        "(for (lanes 4) %i (upto 0 %n) () (if true (then) (else) (((%k int) 0 %i)) p0)
           (for seq %j (upto 0 %k) () (let (%z int) (op gcd %i 2) p0) (next) p0) (next) p0)",
    ),
];

/// Bodies of a kernel with the grid `(%b %nb)` and 256 threads, `%th`.
const THREADED: &[(Rule, &str)] = &[
    (Rule::Shared, "(for seq %i (upto 0 %n) () (alloc (%a shared float 4) p0) (next) p0)"),
    (Rule::KernelAlloc, "(alloc (%a shared float %n) p0)"),
    (Rule::Collective, "(collective 1.0 (((%x int) (%y int) 1 (%all int))) (next %x) p0)"),
    (Rule::Collective, "(collective 4 (((%x int) (%y float) 1 (%all int))) (next %x) p0)"),
    (Rule::Collective, "(collective 4 (((%x float) (%y int) 1 (%all int))) (next 1.0) p0)"),
    (Rule::Collective, "(collective 4 (((%x int) (%y int) 1 (%all float))) (next %x) p0)"),
    (Rule::Collective, "(collective scan 4 (((%x int) (%y int) 1 (%mine float) (%all int))) (next %x) p0)"),
    (Rule::Collective, "(collective 4 (((%x int) (%y int) 1 (%all int))) (next 1.0) p0)"),
    (Rule::Collective, "(collective 4 (((%x int) (%y int) 1 (%all int))) (next) p0)"),
    (Rule::Update, "(update + %is (%b) 1.0 p0)"),
    (Rule::Update, "(update - %is (%b) 1 p0)"),
    (Rule::Update, "(update + %xs (%b) 1.0 p0)"),
    (Rule::Scope, "(collective 4 (((%x int) (%y int) 1 (%all int))) (next %x) p0) (store %is (%b) %x p0)"),
    (
        Rule::Chain,
        "(chain %is (%b) (((%p float) (%e float) 0.0 1.0 %ys %xs) ((%q int) (%f int) 0 1 %is)) (next %e %f) p0)",
    ),
    // Where threads meet all must be: no condition or bound differs, itself or through what it is made of.
    (Rule::Uniform, "(let (%c bool) (op < %th 4) p0) (if %c (then (barrier p0)) (else) () p0)"),
    (Rule::Uniform, "(for seq %i (upto 0 %th) () (barrier p0) (next) p0)"),
    (Rule::Uniform, "(for seq %i (share %th 256 %b 1024 %n) () (barrier p0) (next) p0)"),
    (
        Rule::Uniform,
        "(for seq %i (upto 0 %th) (((%s int) (%r int) 0)) (next 1) p0)
         (for seq %j (upto 0 %r) () (collective 4 (((%x int) (%y int) 1 (%all int))) (next %x) p0) (next) p0)",
    ),
    (
        Rule::Uniform,
        "(collective scan 4 (((%x int) (%y int) 1 (%mine int) (%all int))) (next %x) p0)
         (for seq %j (upto 0 %mine) () (barrier p0) (next) p0)",
    ),
    (
        Rule::Uniform,
        "(let (%k int) (load %is %th) p0)
         (while (((%s int) (%r int) %k)) (cond (let (%c bool) (op > %s 0) p0) (test %c))
           (do (barrier p0) (let (%q int) (op - %s 1) p0) (next %q)) p0)",
    ),
    (
        Rule::Uniform,
        "(let (%x float) (load %xs %th) p0)
         (chain %is (%b) (((%p float) (%e float) 0.0 %x %ys)) (let (%q float) (op + %p %e) p0) (next %q) p0)",
    ),
];

/// Plans of a program with the parameters `%n`, `%c` and `%xs`.
const PLANS: &[(Rule, &str)] = &[
    (Rule::Scope, "(give %z) (unbound (%z int))"),
    (Rule::Scope, "(launch k0 (%kn 4 %xs %xs) p0) (give)"),
    (Rule::Alloc, "(alloc (%a private int 4) p0) (free %a p0) (give)"),
    (Rule::Scratch, "(alloc (%a scratch int) p0) (free %a p0) (give)"),
    (Rule::Chain, "(alloc (%s global int 1) p0) (chain %s () () (next) p0) (free %s p0) (give)"),
    (Rule::PlanLoop, "(for (lanes 4) %i (upto 0 %n) () (next) p0) (give)"),
    (Rule::PlanLoop, "(for (scan 4) %i (upto 0 %n) () (next) p0) (give)"),
    (Rule::PlanLoop, "(for (jam 4) %i (upto 0 %n) () (next) p0) (give)"),
    (Rule::Channel, "(pull 0 0 (all) (%m int) () () p0) (give)"),
    (Rule::Channel, "(push 0 (%xs) p0) (give)"),
    (Rule::Alias, "(alias (%ys global int %n) %xs p0) (give)"),
    (Rule::Alias, "(alias (%ys scratch float %n) %xs p0) (give)"),
    (Rule::Alias, "(alias (%ys global int %n) %n p0) (give)"),
    (Rule::Slice, "(slice (%ys global int %n) %xs 0 p0) (give)"),
    (Rule::Slice, "(slice (%ys scratch float %n) %xs 0 p0) (give)"),
    (Rule::Slice, "(slice (%ys global float) %xs 0 p0) (give)"),
    (Rule::Slice, "(slice (%ys global float 1 %n) %xs 0 p0) (give)"),
    (Rule::Slice, "(slice (%ys global float 1) %n 0 p0) (give)"),
    (Rule::Slice, "(slice (%ys global float 1) %xs 0.0 p0) (give)"),
    (Rule::Slice, "(slice (%ys global float 1) %xs %xs p0) (give)"),
    (
        Rule::Slice,
        "(alloc (%a global float %n 2) p0) (slice (%t global float 1 3) %a 0 p0) (free %a p0) (give)",
    ),
    (Rule::Slice, "(alloc (%a global float %n) p0) (slice (%t global float 1) %a 0 p0) (give %t)"),
    (
        Rule::Slice,
        "(alloc (%a global float %n) p0) (slice (%t global float 1) %a 0 p0) (alias (%u global float 1) %t p0)
         (give %u)",
    ),
    (
        Rule::Slice,
        "(alloc (%a global int %n) p0) (slice (%t global int 1) %a 0 p0) (grade (%t) %a p0) (give %a)",
    ),
    (
        Rule::Slice,
        "(alloc (%a global int %n) p0) (slice (%t global int %n) %a 0 p0) (grade (%xs) %t p0) (give %a)",
    ),
    (Rule::Launch, "(launch k7 () p0) (give)"),
    (Rule::Launch, "(launch k0 (%n 4 %xs) p0) (give)"),
    (Rule::Launch, "(launch k0 (%n 4.0 %xs %xs) p0) (give)"),
    (Rule::Launch, "(launch k0 (%n 4 %n %xs) p0) (give)"),
    (Rule::Launch, "(alloc (%a global int %n) p0) (launch k0 (%n 4 %xs %a) p0) (free %a p0) (give)"),
    (Rule::Launch, "(alloc (%a global float %n 1) p0) (launch k0 (%n 4 %xs %a) p0) (free %a p0) (give)"),
    (Rule::Launch, "(alloc (%a scratch float %n) p0) (launch k0 (%n 4 %xs %a) p0) (free %a p0) (give)"),
    (Rule::Sort, "(alloc (%a global float %n) p0) (grade (%xs) %a p0) (give %a)"),
    (Rule::Sort, "(alloc (%a global int %n) p0) (sort (%xs) %a p0) (give %a)"),
    (Rule::Sort, "(alloc (%a global int %n) p0) (grade (%xs) %a (0) p0) (give %a)"),
    (Rule::Sort, "(alloc (%a global float %n) p0) (sort (%xs) %a (0 0.5) p0) (give %a)"),
    (Rule::Sort, "(alloc (%a global float %n) p0) (sort (%xs %xs) %a p0) (give %a)"),
    (Rule::Sort, "(alloc (%a global float %n) p0) (alias (%bb global float %n 1) %a p0) (alloc (%cc global float %n) p0) (sort (%bb) %cc p0) (free %a p0) (give %cc)"),
    (Rule::Sort, "(alloc (%a global int %n 1) p0) (grade (%xs) %a p0) (give %a)"),
    (Rule::Sort, "(alloc (%a global int %n) p0) (grade (%xs %a) %a p0) (give %a)"),
    (Rule::Sort, "(alloc (%a global int %n) p0) (grade (%n) %a p0) (give %a)"),
    (
        Rule::Sort,
        "(alloc (%a global int 4) p0) (alloc (%k global u8 3) p0) (grade (%k) %a p0) (free %k p0) (give %a)",
    ),
    (Rule::Free, "(free %n p0) (give)"),
    (Rule::Free, "(alloc (%a global int %n) p0) (slice (%t global int 1) %a 0 p0) (free %t p0) (give)"),
    (Rule::Free, "(alloc (%a global int %n) p0) (alias (%t global int %n 1) %a p0) (free %t p0) (give)"),
    (Rule::Borrowed, "(free %xs p0) (give)"),
    (Rule::Borrowed, "(give %xs)"),
    (Rule::Borrowed, "(alias (%ys global float %n 1) %xs p0) (give %ys)"),
    (Rule::Borrowed, "(if %c (then) (else) (((%ys global float %n) %xs %xs)) p0) (free %ys p0) (give)"),
    (
        Rule::Borrowed,
        "(for seq %i (upto 0 1) (((%y global float %n) (%z global float %n) %xs)) (next %y) p0) (give %z)",
    ),
    (Rule::Written, "(launch k0 (%n 4 %xs %xs) p0) (give)"),
    (Rule::Written, "(alias (%ys global float %n) %xs p0) (launch k0 (%n 4 %xs %ys) p0) (give)"),
    (Rule::Written, "(slice (%ys global float %n) %xs 0 p0) (launch k0 (%n 4 %xs %ys) p0) (give)"),
    (
        Rule::OneName,
        "(alloc (%a global float %n) p0) (alias (%b global float %n) %a p0) (launch k0 (%n 4 %a %b) p0) (free %a p0) (give)",
    ),
    (Rule::OneName, "(alloc (%a global float %n) p0) (launch k0 (%n 4 %a %a) p0) (free %a p0) (give)"),
    (Rule::Written, "(store %xs (0) 1.0 p0) (give)"),
    (Rule::Written, "(alias (%ys global float %n) %xs p0) (store %ys (0) 1.0 p0) (give)"),
    (Rule::Gone, "(alloc (%a global float %n) p0) (free %a p0) (free %a p0) (give)"),
    (Rule::Gone, "(alloc (%a global float %n) p0) (free %a p0) (give %a)"),
    (Rule::Gone, "(alloc (%a global float %n) p0) (give %a %a)"),
    (Rule::Gone, "(alloc (%a global float %n) p0) (free %a p0) (launch k0 (%n 4 %a %a) p0) (give)"),
    (Rule::Gone, "(alloc (%a global float %n) p0) (free %a p0) (let (%x float) (load %a 0) p0) (give)"),
    (Rule::Gone, "(alloc (%a global float %n) p0) (free %a p0) (alias (%t global float %n) %a p0) (give)"),
    (
        Rule::Gone,
        "(alloc (%a global float %n) p0) (alias (%t global float %n) %a p0) (free %a p0)
         (let (%x float) (load %t 0) p0) (give)",
    ),
    (Rule::Gone, "(alloc (%a global float %n) p0) (alias (%t global float %n) %a p0) (give %a %t)"),
    (
        Rule::Gone,
        "(alloc (%a global float %n) p0) (slice (%t global float 1) %a 0 p0) (free %a p0)
         (let (%x float) (load %t 0) p0) (give)",
    ),
    (
        Rule::Gone,
        "(alloc (%a global float %n) p0)
         (for seq %i (upto 0 1) (((%y global float %n) (%z global float %n) %a)) (store %a (0) 1.0 p0)
           (next %y) p0) (give %z)",
    ),
    (
        Rule::Gone,
        "(alloc (%a global float %n) p0)
         (for seq %i (upto 0 1) (((%y global float %n) (%z global float %n) %a)
           ((%u global float %n) (%v global float %n) %a)) (next %y %u) p0) (give %z %v)",
    ),
    (
        Rule::Gone,
        "(alloc (%a global float %n) p0)
         (if %c (then) (else) (((%y global float %n) %a %a)) p0) (free %y p0) (give %a)",
    ),
    (Rule::Leak, "(alloc (%a global float %n) p0) (give)"),
    (Rule::Leak, "(if %c (then (alloc (%a global float %n) p0)) (else) () p0) (give)"),
    (Rule::Leak, "(for seq %i (upto 0 1) () (alloc (%a global float %n) p0) (next) p0) (give)"),
    (
        Rule::Leak,
        "(alloc (%a global float %n) p0)
         (for seq %i (upto 0 1) (((%y global float %n) (%z global float %n) %a))
           (alloc (%e global float %n) p0) (next %e) p0) (give %z)",
    ),
    (
        Rule::Leak,
        "(alloc (%a global float %n) p0)
         (if %c (then) (else) (((%y global float %n) %a %a)) p0) (give)",
    ),
    (Rule::Alike, "(alloc (%a global float %n) p0) (if %c (then (free %a p0)) (else) () p0) (give)"),
    (Rule::Alike, "(alloc (%a global float %n) p0) (if %c (then) (else (free %a p0)) () p0) (give)"),
    (
        Rule::Alike,
        "(alloc (%a global float %n) p0) (if %c (then) (else (alloc (%e global float %n) p0))
           (((%y global float %n) %a %e)) p0) (give %y)",
    ),
    (Rule::Loop, "(alloc (%a global float %n) p0) (for seq %i (upto 0 1) () (free %a p0) (next) p0) (give)"),
    (
        Rule::Loop,
        "(alloc (%a global float %n) p0) (while () (cond (test %c)) (do (free %a p0) (next)) p0) (give)",
    ),
    (
        Rule::Loop,
        "(alloc (%a global float %n) p0) (while () (cond (free %a p0) (test %c)) (do (next)) p0) (give)",
    ),
    (
        Rule::Loop,
        "(alloc (%a global float %n) p0) (while (((%y global float %n) (%z global float %n) %a))
           (cond (free %y p0) (test %c)) (do (next %y)) p0) (give %z)",
    ),
];

/// Replacements in a program that is well-formed.
const CHANGES: &[(Rule, &str, &str)] = &[
    (Rule::Provenance, "(from p0)", "(from p0 p2)"),
    (Rule::Params, "(params (%n int) (%c bool) (%xs global", "(params (%n int) (%c bool) (%xs scratch"),
    (Rule::Inputs, "(inputs)", "(inputs (tuple (%n) (%n)))"),
    (Rule::Inputs, "(inputs)", "(inputs %ky)"),
    (Rule::Output, "(output (tuple ()))", "(output 1)"),
    (Rule::Output, "(output (tuple ()))", "(output (tuple (0)))"),
    (Rule::Output, "(output (tuple ()))", "(output (box int ((dim 0)) 0))"),
    (Rule::Output, "(output (tuple ()))", "(output (box int ((shape 3)) 0))"),
    (Rule::KernelParams, "(%kx global", "(%kx private"),
    (Rule::Grid, "(%kb %knb)", "(%kb 1.0)"),
    (Rule::Grid, "(%kb %knb)", "((%kb u8) %knb)"),
    (Rule::Grid, "(grid (%kb %knb))", "(grid (%kb %knb) (%kc %kb))"),
    (Rule::Scope, "(%kb %knb)", "(%kb %n)"),
    (Rule::Scope, "(load %kx %ki)", "(load %xs %ki)"),
    (Rule::Worker, "(worker %kw)", "(worker (%kw u8))"),
    (Rule::Binder, "(worker %kw)", "(worker %kb)"),
    (Rule::TypeScope, "(%kn int)", "(%ko int)"),
];

fn refused(text: &str, rule: Rule) -> Broken {
    let broken = verify(&parse(text)).expect_err(text);
    assert_eq!(broken.rule, rule, "{broken}\n{text}");
    broken
}

#[test]
fn each_rule_refuses() {
    let mut seen = Vec::new();
    for (rule, body) in KERNELS {
        let broken = refused(&kernel("(%b %nb)", body), *rule);
        assert_eq!(broken.kernel, Some(KernelId(0)));
        // There are lanes for everything else that a branch, or a loop, of some of them does.
        if body.contains("(op gcd %i 2)") && !body.contains("(tile %i") {
            assert_eq!(verify(&parse(&kernel("(%b %nb)", &body.replace("gcd", "+")))), Ok(()), "{body}");
        }
        assert!(broken.prov.is_some() && broken.to_string().contains(" in kernel k0 at p"));
        seen.push(*rule);
    }
    for (rule, body) in THREADED {
        refused(&kernel("(%b %nb) threads", body), *rule);
        seen.push(*rule);
    }
    let none = kernel("(%b %nb) threads", "").replace("(threads %th 256)", "(threads %th 0)");
    refused(&none, Rule::Threads);
    let many = kernel("(%b %nb) threads", "").replace("(threads %th 256)", "(threads %th 1025)");
    refused(&many, Rule::Threads);
    let numbers = |numbers: &str| {
        let (head, rest) =
            kernel("(%b %nb)", "").split_once(" (from").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        format!("{head} (schedule \"f:1\"{numbers}) (from{rest}")
    };
    assert_eq!(verify(&parse(&numbers(" (grain 7) (ahead 64)"))), Ok(()));
    refused(&numbers(" (grain 0)"), Rule::Schedule);
    refused(&numbers(" (contract.side 65)"), Rule::Schedule);
    seen.push(Rule::Schedule);
    for (rule, stmts) in PLANS {
        // What is unbound stands after the plan.
        let text = match stmts.split_once(" (unbound") {
            Some((stmts, unbound)) => {
                let text = plan(stmts);
                format!("{} (unbound{unbound})", text.strip_suffix(')').unwrap_or_default())
            }
            None => plan(stmts),
        };
        assert_eq!(refused(&text, *rule).kernel, None);
        seen.push(*rule);
    }
    let good = plan("(alloc (%ys global float %n) p0) (launch k0 (%n 4 %xs %ys) p1) (give %ys)");
    assert_eq!(verify(&parse(&good)), Ok(()));
    for (rule, from, to) in CHANGES {
        let mut text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        if *rule == Rule::TypeScope {
            text = format!("{} (unbound (%kn int)))", text.strip_suffix(')').unwrap_or_default());
        }
        refused(&text, *rule);
        seen.push(*rule);
    }
    for rule in Rule::ALL {
        assert!(seen.contains(rule), "no program breaks {rule:?}");
    }
}

/// A plan that takes items from a channel and gives them to another, and what breaks the rule of both.
#[test]
fn items_are_of_their_channels() {
    let channels = "(channels (\"xs\" (input 0) (float 0)) (\"out\" (output 0) (float 0))) (output";
    let good = plan(
        "(pull 0 0 (multiple %n) (%m int) () ((%ps global float %m)) p0)
         (push 1 (%ps) p0) (free %ps p0) (give)",
    )
    .replacen("(output", channels, 1);
    let program = parse(&good);
    assert_eq!(verify(&program), Ok(()));
    assert_eq!(parse_program(&print_program(&program)), Ok(program));
    for (from, to) in [
        ("(pull 0", "(pull 2"),
        ("(push 1", "(push 2"),
        ("(pull 0 0", "(pull 0 1.5"),
        ("(multiple %n)", "(multiple %c)"),
        ("(%m int)", "(%m bool)"),
        ("((%ps global float %m))", "((%ps global float %n))"),
        ("((%ps global float %m))", "((%ps global int %m))"),
        ("((%ps global float %m))", "((%ps global float %m 1))"),
        ("() ((%ps global", "() ((%qs global float %m) (%ps global"),
        ("(push 1 (%ps)", "(push 1 ()"),
        ("(output 0) (float 0)", "(output 0) (float 1)"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        refused(&text, Rule::Channel);
    }
}

/// Ids that are in no table break a rule too, and nothing else.
#[test]
fn strange_ids_are_refused() {
    let good = parse(&program("(%n int)", "", "(let (%a int) %n p0) (give %a)"));
    let strange = Var(1000);
    let mut p = good.clone();
    p.params.push(strange);
    assert_eq!(verify(&p).unwrap_err().rule, Rule::Binder);
    let mut p = good.clone();
    p.results = vec![strange.into()];
    assert_eq!(verify(&p).unwrap_err().rule, Rule::Scope);
    let prov = p.plan[0].prov;
    for kind in [
        StmtKind::Free { buffer: strange },
        StmtKind::Alloc { buffer: strange },
        StmtKind::Sort { keys: vec![strange], out: strange, gives: Gives::Places, at: Vec::new() },
        StmtKind::Launch { kernel: KernelId(3), args: vec![strange.into()] },
    ] {
        let mut p = good.clone();
        p.plan.push(Stmt { kind, prov });
        assert!(verify(&p).is_err());
        assert_eq!(remc_kernel::race::check(&p), Ok(()));
    }
    let mut p = good;
    p.kernels.push(Kernel {
        name: remc_base::Name::new("k"),
        site: remc_base::Name::new(""),
        schedule: remc_kernel::schedule::Schedule::default(),
        grid: vec![(strange, strange.into())],
        worker: strange,
        threads: None,
        params: vec![strange],
        body: Vec::new(),
        provs: Vec::new(),
        rows: Vec::new(),
        distinct: Vec::new(),
    });
    assert_eq!(verify(&p).unwrap_err().rule, Rule::Binder);
}
