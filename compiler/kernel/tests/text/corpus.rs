//! Programs written by hand, and how they are written: variables have names alone (`%x`), and are
//! numbered in the order of their first mention.

use remc_kernel::ir::Program;
use remc_kernel::parse::parse_program;
use std::collections::HashMap;

/// The text with an id for each variable.
pub fn numbered(text: &str) -> String {
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let end =
            rest[at + 1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |n| at + 1 + n);
        let name = &rest[at..end];
        out += &rest[..end];
        rest = &rest[end..];
        // `%` alone is the operator.
        if name.len() > 1 {
            let next = ids.len();
            out += &format!(".{}", ids.entry(name).or_insert(next));
        }
    }
    out + rest
}

pub fn parse(text: &str) -> Program {
    let text = numbered(text);
    parse_program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// A program of these kernels and this plan, `stmt … (give a …)`.
pub fn program(params: &str, kernels: &str, plan: &str) -> String {
    format!(
        "(kernel 1 (name \"main\") (provs (p0 \"main\" 2 4) (p1 \"f\" 0 2 p0)) (types)
           (params {params}) (inputs) (output (tuple ())) {kernels} (plan {plan}))"
    )
}

/// What the kernels of [`kernel`] are given.
const PARAMS: &str = "(%n int) (%m int) (%nb int) (%mb int) (%t int) (%xs global float %n)
    (%ys global float %n) (%as global float %n %m) (%bs global float %m %n) (%is global int %n)
    (%cs global float %n %m) (%ds global float %n %m) (%iis global int %n %m) (%fs global bool %n)
    (%tmp scratch float %n %m)";

/// A program of one kernel, which is not launched. A grid may end in `threads`: then its blocks have some, `%th`; or in
/// `rows`: then `%is` are where the rows of `%ys` begin.
pub fn kernel(grid: &str, body: &str) -> String {
    let (grid, threads) = match grid.strip_suffix("threads") {
        Some(grid) => (grid.trim_end(), "(threads %th 256)"),
        None => match grid.strip_suffix("rows") {
            Some(grid) => match grid.trim_end().strip_suffix("some") {
                Some(grid) => (grid.trim_end(), "(threads %th 32) (rows (%ys %is)) (distinct %is)"),
                None => (grid.trim_end(), "(rows (%ys %is))"),
            },
            None => (grid, ""),
        },
    };
    let kernel =
        format!("(k0 \"k\" (from p0) (grid {grid}) (worker %w) {threads} (params {PARAMS}) (body {body}))");
    program("", &kernel, "(give)")
}

/// Well-formed bodies of kernels, with their grids.
pub const KERNELS: &[(&str, &str)] = &[
    ("", ""),
    // A map.
    (
        "(%b %nb)",
        "(for (lanes 16) %i (tile %b 16384 %n) ()
           (let (%x float) (load %xs %i) p0) (let (%y float) (op * %x 2.0) p1) (store %ys (%i) %y p0)
           (next) p0)",
    ),
    // Some rows, a group of threads each.
    (
        "(%b %nb) some rows",
        "(let (%i int) (load %is %b) p0) (let (%s int) (load %is %i) p0) (let (%r int) (op quotient %i 32) p0)
         (for seq %j (share %th 32 0 %m %m) () (let (%k int) (op + %s %j) p0) (store %ys (%k) 1.0 p0) (next) p0)
         (barrier p0)
         (for seq %q (upto 0 %m) ()
           (for seq %h (tile %th %r %m) () (let (%l int) (op + %s %h) p0) (let (%x float) (load %ys %l) p0)
             (store %ys (%l) %x p0) (next) p0) (next) p0)",
    ),
    // Rows of sizes of their own.
    (
        "(%b %nb) rows",
        "(for seq %i (tile %b 64 %n) () (let (%s int) (load %is %i) p0)
           (for (lanes 8) %j (upto 0 %m) () (let (%k int) (op + %s %j) p0) (store %ys (%k) 1.0 p0) (next) p0)
           (for seq %h (upto 0 %m) () (let (%r int) (op * %h 3) p0)
             (for (lanes 8) %l (upto 0 3) () (let (%c int) (op + %r %l) p0) (let (%q int) (op + %s %c) p0)
               (store %ys (%q) 1.0 p0) (next) p0) (next) p0)
           (store %ys (%s) 1.0 p0) (next) p0)",
    ),
    // A transposition.
    (
        "(%b %nb) (%c %mb)",
        "(for seq %i (tile %b %t %n) () (for (lanes 8) %j (tile %c 64 %m) ()
           (let (%x float) (load %as %i %j) p0) (store %bs (%j %i) %x p0) (next) p0) (next) p0)",
    ),
    // Two dims in tiles, the outer one jammed; a product.
    (
        "(%b %nb) (%c %mb)",
        "(for (jam 4) %i (tile %b %t %n) () (for (lanes 8) %j (tile %c 64 %m) ()
           (for seq %k (upto 0 %m) (((%s float) (%r float) 0.0))
             (let (%x float) (load %as %i %k) p0) (let (%y float) (load %bs %k %j) p0)
             (let (%p float) (op * %x %y) p0) (let (%q float) (op + %s %p) p0) (next %q) p0)
           (store %cs (%i %j) %r p0) (next) p0) (next) p0)",
    ),
    // Partial sums.
    (
        "(%i %n) (%b %mb)",
        "(for (lanes 16) %j (tile %b 4096 %m) (((%s float) (%r float) -0.0 +))
           (let (%x float) (load %as %i %j) p0) (let (%q float) (op + %s %x) p0) (next %q) p0)
         (store %bs (%b %i) %r p0)",
    ),
    // Prefixes: of the items before each, of each with those, of how many are positive.
    (
        "(%i %n)",
        "(for (scan 16) %j (upto 0 %m) (((%s float) (%r float) -0.0 +) ((%g int) (%u int) 0 +))
           (let (%x float) (load %as %i %j) p0) (let (%c bool) (op > %x 0.0) p0)
           (let (%d int) (cast int %c) p0) (let (%q float) (op + %s %x) p0) (let (%h int) (op + %g %d) p0)
           (let (%y float) (cast float %g) p0) (let (%z float) (op + %q %y) p0)
           (store %cs (%i %j) %z p0) (next %q %h) p0)",
    ),
    // Scratch memory, written and read by other loops of the same block; sums by block.
    (
        "(%b %nb)",
        "(for seq %i (tile %b 64 %n) ()
           (for (lanes 4) %j (upto 0 %m) () (let (%x float) (load %as %i %j) p0)
             (store %tmp (%w %j) %x p0) (next) p0)
           (for seq %k (upto 1 %m) (((%s float) (%r float) 0.0))
             (let (%l int) (op - %k 1) p0) (let (%y float) (load %tmp %w %l) p0)
             (let (%q float) (op + %s %y) p0) (next %q) p0)
           (store %ys (%i) %r p0) (next) p0)",
    ),
    // Private memory, of each lane or each block.
    (
        "(%b %nb)",
        "(alloc (%two private float 2 2) p0)
         (for (jam 2) %i (tile %b 64 %n) ()
           (alloc (%one private int 4) p0)
           (for seq %k (upto 0 4) () (let (%u int) (op % %k 3) p0) (store %one (%k) %u p0) (next) p0)
           (let (%v int) (load %one 2) p0) (let (%x float) (cast float %v) p0) (store %ys (%i) %x p0)
           (next) p0)
         (store %two (0 1) 1.5 p0) (let (%z float) (load %two 1 0) p0)",
    ),
    // Conditions, checks, a while loop.
    (
        "(%b %nb)",
        "(for seq %i (tile %b 64 %n) ()
           (let (%k int) (load %is %i) p0) (let (%c bool) (op < %k %m) p0)
           (check (index 1 1) %c %k %m p0)
           (if %c (then (let (%x float) (load %as %i %k) p0)) (else) (((%y float) %x 0.5)) p0)
           (while (((%s int) (%r int) %k)) (cond (let (%d bool) (op > %s 10) p0) (test %d))
             (do (let (%e int) (op quotient %s 2) p0) (next %e)) p0)
           (let (%f float) (cast float %r) p0) (let (%g float) (op + %f %y) p0)
           (store %ys (%i) %g p0) (next) p0)",
    ),
    // Prefixes by a chain: of rows in tiles, from a start; and of an operator that has none.
    (
        "(%i %n) (%b %m)",
        "(for (lanes 8) %j (tile %b 512 %m) (((%s float) (%r float) -0.0 +))
           (let (%x float) (load %as %i %j) p0) (let (%q float) (op + %s %x) p0) (next %q) p0)
         (chain %iis (%i %b) (((%before float) (%e float) 0.0 %r %cs))
           (let (%g float) (op + %before %e) p0) (next %g) p0)
         (for (scan 8) %k (tile %b 512 %m) (((%t2 float) (%u float) %before +))
           (let (%y float) (load %as %i %k) p0) (let (%z float) (op + %t2 %y) p0)
           (store %ds (%i %k) %z p0) (next %z) p0)",
    ),
    (
        "(%b %nb)",
        "(let (%x float) (load %xs %b) p0)
         (chain %is (%b) (((%some bool) (%yes bool) false true %fs) ((%before float) (%e float) 0.0 %x %ys))
           (if %some (then (let (%q float) (op - %before %e) p0)) (else) (((%r float) %q %e)) p0)
           (next %yes %r) p0)",
    ),
    // A map by the threads of blocks; one over a space of two dims.
    (
        "(%b %nb) threads",
        "(for seq %i (share %th 256 %b 1024 %n) () (let (%x float) (load %xs %i) p0) (store %ys (%i) %x p0)
           (next) p0)",
    ),
    (
        "(%b %nb) threads",
        "(for seq %p (share %th 256 %b 1024 %t) () (points (%i %j) %p (%n %m) p0)
           (let (%x float) (load %bs %j %i) p0) (store %as (%i %j) %x p0) (next) p0)",
    ),
    // A reduction and a scan by threads; one of them stores.
    (
        "(%b %nb) threads",
        "(for seq %i (share %th 256 %b 1024 %n) (((%s float) (%r float) 0.0))
           (let (%x float) (load %xs %i) p0) (let (%q float) (op + %s %x) p0) (next %q) p0)
         (collective 256 (((%x1 float) (%y1 float) %r (%all float)))
           (let (%q1 float) (op + %x1 %y1) p0) (next %q1) p0)
         (collective scan %n (((%x2 float) (%y2 float) %r (%mine float) (%all2 float)))
           (let (%q2 float) (op + %x2 %y2) p0) (next %q2) p0)
         (let (%one bool) (op = %th 0) p0) (let (%sum float) (op + %mine %all2) p0)
         (if %one (then (store %ys (%b) %all p0)) (else) () p0)",
    ),
    // Blocks that look back at their group.
    (
        "(%b %nb) threads",
        "(chain %is (%b) (((%p float) (%e float) 0.0 1.0 %ys %xs)) (let (%q float) (op + %p %e) p0) (next %q) p0)",
    ),
    // What threads have written is read by others after a barrier, also in a loop.
    (
        "(%b %nb) threads",
        "(alloc (%part shared float 256) p0)
         (for seq %k (upto 0 %m) ()
           (for seq %i (share %th 256 0 256 256) () (store %part (%i) 1.0 p0) (next) p0)
           (barrier p0)
           (for seq %j (tile %th 4 256) () (let (%x float) (load %part 0) p0) (next) p0)
           (barrier p0)
           (next) p0)",
    ),
    // Constants of several types; a copy.
    (
        "(%b 4)",
        "(let (%a u8) (op + u8:7 u8:1) p0) (let (%c char) U+3bb p0) (let (%d f32) (cast f32 %a) p0) (let (%db i32) (bits %d) p0)
         (let (%e f32) (op max2 %d f32:#x7f800000) p0) (let (%f bool) (op or true false) p0)
         (let (%g int) %b p0) (store %is (%g) -1 p0)",
    ),
];

/// A program of this plan, which may launch `k0` to copy `%xs`.
pub fn plan(stmts: &str) -> String {
    let copy = "(k0 \"copy\" (from p0) (grid (%kb %knb)) (worker %kw)
       (params (%kn int) (%knb int) (%kx global float %kn) (%ky global float %kn))
       (body (for (lanes 8) %ki (tile %kb 4096 %kn) () (let (%kv float) (load %kx %ki) p0)
         (store %ky (%ki) %kv p0) (next) p0)))";
    program("(%n int) (%c bool) (%xs global float %n)", copy, stmts)
}

/// Well-formed programs with a plan that does something.
pub fn plans() -> Vec<String> {
    [
        "(give)",
        "(give %n 1.5)",
        "(alloc (%ys global float %n) p0) (launch k0 (%n 4 %xs %ys) p1) (give %ys)",
        "(let (%h int) (workers) p0) (alloc (%ys scratch float %h %n) p0) (free %ys p0) (give %h)",
        // Another shape of the same memory, handed on.
        "(alloc (%ys global float %n) p0) (launch k0 (%n 4 %xs %ys) p1)
         (alias (%zs global float %n 1) %ys p0) (let (%z float) (load %zs 0 0) p0) (give %zs %z)",
        "(alloc (%ps global int %n) p0) (grade (%xs) %ps p0) (give %ps)",
        "(alloc (%ps global float %n) p0) (sort (%xs) %ps p0) (give %ps)",
        // A branch hands on one buffer or another.
        "(alloc (%ys global float %n) p0)
         (if %c (then (launch k0 (%n 4 %xs %ys) p0))
                (else (alloc (%us global float %n) p0) (launch k0 (%n 4 %xs %us) p0)
                      (launch k0 (%n 4 %us %ys) p0) (free %us p0))
                (((%zs global float %n) %ys %ys) ((%k int) 1 %n)) p0)
         (give %zs %k)",
        // A loop carries two buffers, and changes them over.
        "(alloc (%ys global float %n) p0) (alloc (%zs global float %n) p0)
         (launch k0 (%n 4 %xs %ys) p0)
         (for seq %i (upto 0 10)
           (((%ya global float %n) (%yr global float %n) %ys) ((%za global float %n) (%zr global float %n) %zs))
           (launch k0 (%n 4 %ya %za) p0) (next %za %ya) p0)
         (free %zr p0) (give %yr)",
        // A loop whose buffer has another size each time.
        "(alloc (%ys global float %n) p0) (launch k0 (%n 4 %xs %ys) p0)
         (while (((%k int) (%kr int) %n) ((%ya global float %k) (%yr global float %kr) %ys))
           (cond (let (%x float) (load %ya 0) p0) (let (%d bool) (op > %x 0.0) p0) (test %d))
           (do (let (%l int) (op quotient %k 2) p0) (alloc (%za global float %l) p0)
               (launch k0 (%l 4 %ya %za) p0) (free %ya p0) (next %l %za)) p0)
         (give %kr %yr)",
    ]
    .iter()
    .map(|stmts| plan(stmts))
    .collect()
}

/// Every program of this file.
pub fn all() -> Vec<String> {
    let kernels = KERNELS.iter().map(|(grid, body)| kernel(grid, body));
    kernels.chain(plans()).collect()
}
