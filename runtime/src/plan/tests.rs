//! Plans and kernels written by hand, right ones and wrong ones.

use super::interpret::{Interpreter, Memory};
use super::{Argument, Given, run};
use crate::stop::Stopped;
use remc_base::{BaseTy, Prov, Scalar, Value};
use remc_kernel::ir::{Atom, Program, Stmt, StmtKind};
use remc_kernel::parse::parse_program;
use remc_kernel::verify::verify;
use std::rc::Rc;

/// A program of these kernels and this plan, `stmt … (give a …)`; a variable is `%name`, and gets its number
/// here.
fn program(params: &str, kernels: &str, plan: &str) -> Program {
    let text = format!(
        "(kernel 1 (name \"main\") (provs (p0 \"main\" 0 1) (p1 \"main\" 0 2)) (types) (params {params}) \
         (inputs) (output (tuple ())) {kernels} (plan {plan}))"
    );
    let mut names: Vec<String> = Vec::new();
    let mut out = String::new();
    for (i, piece) in text.split('%').enumerate() {
        let end = piece.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(piece.len());
        let (name, rest) = piece.split_at(end);
        if i == 0 || name.is_empty() {
            out += &format!("{}{piece}", if i == 0 { "" } else { "%" });
            continue;
        }
        let known = names.iter().position(|n| n == name);
        let id = known.unwrap_or_else(|| {
            names.push(name.to_owned());
            names.len() - 1
        });
        out += &format!("%{name}.{id}{rest}");
    }
    parse_program(&out).unwrap_or_else(|e| panic!("{e}\n{out}"))
}

fn ints(values: &[i64]) -> Value {
    Value::of_scalars(BaseTy::I64, vec![values.len()], values.iter().map(|n| Scalar::I64(*n)))
}

/// The results of a program on numbers and vectors of numbers, as text.
fn execute(p: &Program, scalars: &[i64], vectors: &[&[i64]]) -> Result<String, Stopped> {
    let mut shown: Vec<String> = Vec::new();
    for descending in [false, true] {
        let buffers: Vec<Rc<Memory>> =
            vectors.iter().map(|v| Rc::new(Memory::of(&ints(v)).expect("numbers"))).collect();
        let scalars = scalars.iter().map(|n| Argument::Scalar(Scalar::I64(*n)));
        let arguments: Vec<Argument<'_, Rc<Memory>>> =
            scalars.chain(buffers.iter().map(Argument::Buffer)).collect();
        let results = run(p, &mut Interpreter::new(p, descending), &arguments)?;
        let show = |g: &Given<Rc<Memory>>| match g {
            Given::Scalar(s) => Ok(crate::text::print(&Value::scalar(*s)).to_string()),
            Given::Buffer { buffer, dims, .. } => {
                buffer.value(dims).map(|v| crate::text::print(&v).to_string())
            }
        };
        shown.push(results.iter().map(show).collect::<Result<Vec<_>, _>>()?.join(" "));
    }
    assert_eq!(shown[0], shown[1], "in both orders");
    Ok(shown.swap_remove(0))
}

/// What the program says that it does wrong; `scalars` are its parameters.
#[track_caller]
fn is_broken(p: &Program, scalars: &[i64], says: &str) {
    match execute(p, scalars, &[]) {
        Err(Stopped::Broken(message)) => assert!(message.contains(says), "{message}"),
        other => panic!("{other:?}"),
    }
}

/// Fills a vector with the numbers of its elements, a block for each.
const COUNT: &str = "(k0 \"count\" (from p0) (grid (%b %n)) (worker %w) (params (%n int) (%ys global int %n))
    (body (store %ys (%b) %b p0)))";

#[test]
fn plans() {
    let double = "(let (%x int) (op * %m 2) p0) (alloc (%a global int %x) p0) (launch k0 (%x %a) p0)
        (let (%last int) (op - %x 1) p0) (let (%l int) (load %a %last) p0) (store %a (0) 7 p0)
        (alias (%c global int 2 %m) %a p0) (let (%k int) (load %c 1 0) p0) (give %l %k %a)";
    let p = program("(%m int)", COUNT, double);
    verify(&p).unwrap();
    assert_eq!(execute(&p, &[3], &[]).unwrap(), "5 3 [7 1 2 3 4 5]");
    // A loop that owns a buffer, and gives it back longer.
    let longer = "(alloc (%a global int 1) p0) (launch k0 (1 %a) p0)
        (for seq %i (upto 0 %m) (((%n1 int) (%n2 int) 1) ((%c global int %n1) (%d global int %n2) %a))
          (let (%n3 int) (op + %n1 2) p0) (free %c p0) (alloc (%e global int %n3) p0) (launch k0 (%n3 %e) p0)
          (next %n3 %e) p0)
        (give %d)";
    let p = program("(%m int)", COUNT, longer);
    verify(&p).unwrap();
    assert_eq!(execute(&p, &[2], &[]).unwrap(), "[0 1 2 3 4]");
    assert_eq!(execute(&p, &[-2], &[]).unwrap(), "[0]");
    // A loop that looks first, and a choice.
    let collatz = "(while (((%x int) (%y int) %m) ((%s int) (%t int) 0))
          (cond (let (%go bool) (op > %x 1) p0) (test %go))
          (do (let (%r int) (op % %x 2) p0) (let (%odd bool) (op = %r 1) p0)
          (if %odd (then (let (%u int) (op * %x 3) p0) (let (%v int) (op + %u 1) p0))
            (else (let (%h int) (op quotient %x 2) p0)) (((%z int) %v %h)) p0)
          (let (%s1 int) (op + %s 1) p0) (next %z %s1)) p0)
        (give %t)";
    let p = program("(%m int)", "", collatz);
    verify(&p).unwrap();
    assert_eq!(execute(&p, &[6], &[]).unwrap(), "8");
}

#[test]
fn grids_without_blocks_and_with_too_many() {
    let kernel = "(k0 \"never\" (from p0) (grid (%b %n) (%c %m)) (worker %w)
        (params (%n int) (%m int) (%ys global int 1)) (body (store %ys (5) %b p0)))";
    let plan = "(alloc (%a global int 1) p0) (store %a (0) 1 p0) (launch k0 (%x %y %a) p1) (give %a)";
    let p = program("(%x int) (%y int)", kernel, plan);
    for sizes in [[0, 1], [1, 0], [-1, 1], [-1, -1], [0, i64::MAX], [i64::MAX, -5]] {
        assert_eq!(execute(&p, &sizes, &[]).unwrap(), "[1]", "{sizes:?}");
    }
    match execute(&p, &[1 << 62, 2], &[]) {
        Err(Stopped::TooLarge { prov, values, .. }) => {
            assert_eq!((prov, values), (Some(1), vec![1 << 62, 2]))
        }
        other => panic!("{other:?}"),
    }
    is_broken(&p, &[1, 1], "of shape [1], has no element at [5]");
}

#[test]
fn shapes_that_no_machine_has() {
    let p = program("(%x int) (%y int)", "", "(alloc (%a global float %x %y) p1) (give %a)");
    assert_eq!(execute(&p, &[0, i64::MAX], &[]).unwrap().split(' ').next(), Some("(array"));
    for shape in [[1 << 40, 1 << 40], [-1, 1], [i64::MAX, 1]] {
        let stopped = execute(&p, &shape, &[]);
        assert!(matches!(stopped, Err(Stopped::TooLarge { prov: Some(1), .. })), "{stopped:?}");
    }
}

#[test]
fn operators_that_would_stop_give_zero() {
    let plan = "(let (%a int) (op quotient %x %y) p0) (let (%b int) (op % %x %y) p0)
        (let (%c char) (cast char %x) p0) (let (%d int) (cast int %c) p0) (give %a %b %d)";
    let p = program("(%x int) (%y int)", "", plan);
    assert_eq!(execute(&p, &[-7, 0], &[]).unwrap(), "0 0 0");
}

#[test]
fn checks() {
    let kernel = "(k0 \"check\" (from p0) (grid (%b 9)) (worker %w) (params (%n int))
        (body (let (%c bool) (op < %b %n) p0) (check (index 1 1) %c %b %n p1)))";
    let plan = "(let (%z bool) (op >= %x 0) p0) (check (negative \"x\") %z %x p0) (launch k0 (%x) p0) (give)";
    let p = program("(%x int)", kernel, plan);
    assert_eq!(execute(&p, &[9], &[]).unwrap(), "");
    let traps = remc_kernel::traps::traps(&p);
    assert_eq!(traps.len(), 2);
    // The lowest block's, whatever runs first.
    assert_eq!(execute(&p, &[4], &[]), Err(Stopped::Trap { trap: 0, prov: 1, values: vec![4, 4] }));
    assert_eq!(execute(&p, &[-4], &[]), Err(Stopped::Trap { trap: 1, prov: 0, values: vec![-4] }));
}

#[test]
fn sorts() {
    let plan = "(alloc (%out global int %n) p0) (grade (%a %b) %out p0) (give %out)";
    let p = program("(%n int) (%a global int %n) (%b global int %n)", "", plan);
    verify(&p).unwrap();
    assert_eq!(execute(&p, &[4], &[&[2, 1, 2, 1], &[5, 9, 4, 9]]).unwrap(), "[1 3 2 0]");
    let keys = "(alloc (%out global int %n) p0) (sort (%b) %out p0) (give %out)";
    let k = program("(%n int) (%a global int %n) (%b global int %n)", "", keys);
    verify(&k).unwrap();
    assert_eq!(execute(&k, &[4], &[&[2, 1, 2, 1], &[5, 9, 4, 9]]).unwrap(), "[4 5 9 9]");
    assert_eq!(execute(&p, &[0], &[&[], &[]]).unwrap().split(' ').next(), Some("(array"));
}

#[test]
fn buffers_have_one_owner() {
    let gone = "(alloc (%a global int 2) p0) (store %a (0) 1 p0) (free %a p0) (let (%x int) (load %a 0) p0) (give %x)";
    is_broken(&program("", "", gone), &[], "used after it is freed");
    // Its place in the table is another one's by then.
    let again = "(alloc (%a global int 2) p0) (free %a p0) (alloc (%b global int 2) p0) (store %b (0) 1 p0)
        (let (%x int) (load %a 0) p0) (give %x)";
    is_broken(&program("", "", again), &[], "used after it is freed");
    is_broken(
        &program("", "", "(alloc (%a global int 2) p0) (free %a p0) (free %a p0) (give)"),
        &[],
        "freed",
    );
    is_broken(&program("", "", "(alloc (%a global int 2) p0) (give)"), &[], "neither freed nor given");
    is_broken(&program("", "", "(alloc (%a global int 2) p0) (give %a %a)"), &[], "freed or given away");
    let p = program("(%n int) (%a global int %n)", "", "(store %a (0) 1 p0) (give)");
    assert_eq!(execute(&p, &[1], &[&[5]]), Err(Stopped::Broken("a parameter is written".into())));
    let p = program("(%n int) (%a global int %n)", "", "(give %a)");
    assert!(matches!(execute(&p, &[1], &[&[5]]), Err(Stopped::Broken(_))));
    let unwritten = "(alloc (%a global int 2) p0) (let (%x int) (load %a 0) p0) (free %a p0) (give %x)";
    is_broken(&program("", "", unwritten), &[], "never written");
    let outside = "(alloc (%a global int 2 3) p0) (let (%x int) (load %a 1 3) p0) (free %a p0) (give %x)";
    is_broken(&program("", "", outside), &[], "is loaded at [1, 3] of [2, 3]");
}

#[test]
fn nesting_is_bounded() {
    let mut p = program("(%m int)", COUNT, "(let (%a int) (op + %m 1) p0) (give)");
    let nest = |p: &mut Program, times: usize| {
        for _ in 0..times {
            let (then, cond) = (std::mem::take(&mut p.plan), Atom::Const(Scalar::Bool(true)));
            let kind = StmtKind::If { cond, then, otherwise: Vec::new(), results: Vec::new() };
            p.plan.push(Stmt { kind, prov: Prov(0) });
        }
    };
    nest(&mut p, 300);
    assert_eq!(execute(&p, &[1], &[]).unwrap(), "");
    nest(&mut p, 200);
    is_broken(&p, &[1], "too deeply");
}

/// A kernel of one block of four threads, on a vector of eight.
fn threads(body: &str) -> Program {
    let kernel = format!(
        "(k0 \"k\" (from p0) (grid (%b %n)) (worker %w) (threads %t 4) (params (%n int) (%ys global int 8))
         (body {body}))"
    );
    program("(%m int)", &kernel, "(alloc (%a global int 8) p0) (launch k0 (%m %a) p0) (give %a)")
}

#[test]
fn threads_of_a_block() {
    let p = threads(
        "(alloc (%s shared int 8) p0)
         (for seq %i (share %t 4 0 8 8) () (store %s (%i) %i p0) (next) p0)
         (barrier p0)
         (let (%k int) (op - 7 %t) p0) (let (%x int) (load %s %k) p0)
         (collective scan 3 (((%p int) (%q int) %x (%before int) (%all int)))
           (let (%r int) (op + %p %q) p0) (next %r) p0)
         (let (%first bool) (op = %t 0) p0) (let (%c int) (op select %first 100 %before) p0)
         (points (%u %v) %t (2 2) p0)
         (let (%h int) (op * %u 10) p0) (let (%d int) (op + %h %v) p0)
         (store %ys (%t) %c p0) (let (%l int) (op + %t 4) p0)
         (let (%e int) (op + %d %all) p0) (store %ys (%l) %e p0)",
    );
    verify(&p).unwrap();
    // 7, 6 and 5 are combined; of the fourth thread is only asked what comes before it.
    assert_eq!(execute(&p, &[1], &[]).unwrap(), "[100 7 13 18 18 19 28 29]");
}

#[test]
fn what_threads_do_wrong() {
    let written = "(for seq %z (share %t 4 0 8 8) () (store %ys (%z) 0 p0) (next) p0)";
    // Without a barrier between, a thread reads what another one writes.
    let missing = "(alloc (%s shared int 4) p0) (store %s (%t) %t p0) (let (%k int) (op - 3 %t) p0)
        (let (%x int) (load %s %k) p0)";
    is_broken(&threads(&format!("{missing}{written}")), &[1], "nothing was written");
    let one = "(alloc (%s shared int 4) p0) (store %s (0) %t p0)";
    is_broken(&threads(&format!("{one}{written}")), &[1], "a race: %");
    let before =
        "(let (%x int) (op + %t 1) p0) (let (%y int) (op % %x 4) p0) (store %ys (%t) 1 p0) (barrier p0)
        (let (%z int) (load %ys %y) p0) (store %ys (%t) %z p0)";
    is_broken(&threads(before), &[1], "a race: %");
    // Two blocks at the same place.
    is_broken(&threads(written), &[2], "a race: %");
    assert_eq!(execute(&threads(written), &[1], &[]).unwrap(), "[0 0 0 0 0 0 0 0]");
    let some = "(let (%c bool) (op < %t 2) p0) (if %c (then (barrier p0)) (else) () p0)";
    is_broken(&threads(&format!("{some}{written}")), &[1], "threads meet with another condition");
    let loops = "(for seq %i (upto 0 %t) () (barrier p0) (next) p0)";
    is_broken(&threads(&format!("{loops}{written}")), &[1], "threads meet with another range");
    // The first thread has nothing before it, and may not depend on that.
    let scan = "(collective scan 4 (((%p int) (%q int) %t (%before int) (%all int)))
           (let (%r int) (op + %p %q) p0) (next %r) p0)";
    let depends = "(let (%c bool) (op > %before 0) p0) (if %c (then) (else) () p0)";
    is_broken(&threads(&format!("{scan}{depends}{written}")), &[1], "which nothing specifies");
    is_broken(&threads(&scan.replace(" 4 ", " 5 ")), &[1], "5 items of 4 threads");
    is_broken(&threads("(points (%u) 3 (3) p0)"), &[1], "there is no point 3 of [3]");
    is_broken(&threads("(store %ys (8) 1 p0)"), &[1], "has no element at [8]");
    is_broken(&threads("(let (%x int) (load %ys %t) p0)"), &[1], "nothing was written");
}

#[test]
fn chains() {
    let kernel = |body: &str| {
        format!(
            "(k0 \"scan\" (from p0) (grid (%b %n)) (worker %w)
               (params (%n int) (%ys global int %n) (%st global int %n) (%ke global int %n)) (body {body}))"
        )
    };
    let plan = "(alloc (%a global int %m) p0) (alloc (%s global int %m) p0) (alloc (%k global int %m) p0)
        (for seq %i (upto 0 %m) () (store %s (%i) 0 p0) (next) p0)
        (launch k0 (%m %a %s %k) p0) (free %s p0) (free %k p0) (give %a)";
    let chain =
        "(chain %st (%b) (((%be int) (%x int) 100 %b %ke)) (let (%c int) (op + %be %x) p0) (next %c) p0)
        (store %ys (%b) %be p0)";
    let p = program("(%m int)", &kernel(chain), plan);
    verify(&p).unwrap();
    assert_eq!(execute(&p, &[5], &[]).unwrap(), "[100 100 101 103 106]");
    let dirty = plan.replace("(store %s (%i) 0 p0)", "(store %s (%i) 1 p0)");
    is_broken(&program("(%m int)", &kernel(chain), &dirty), &[5], "not cleared");
}
