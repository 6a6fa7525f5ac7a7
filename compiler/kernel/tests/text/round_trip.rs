//! What is printed reads back exactly, whatever the program.

use crate::corpus::{all, numbered, parse, program};
use remc_base::sexp::MAX_DEPTH;
use remc_base::{AtomTy, BaseTy, Name, Prov};
use remc_kernel::ir::*;
use remc_kernel::parse::{MAX_BLOCK_DEPTH, parse_program};
use remc_kernel::print::{print_kernel, print_program, print_stmts};

fn round_trip(p: &Program) {
    let text = print_program(p);
    assert!(text.is_ascii());
    let back = parse_program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    assert_eq!(&back, p, "{text}");
    assert_eq!(print_program(&back), text);
}

#[test]
fn programs_print_and_read_back() {
    for text in all() {
        round_trip(&parse(&text));
    }
}

#[test]
fn inputs_and_results_read_back() {
    for output in [
        "0",
        "(tuple ())",
        "(tuple (0 1) (\"a\" 2) (\"b c\" (tuple () (0) (1))))",
        "(box (sigma ($n.1 @s.2) (arr (tuple int float) $n.1 @s.2)) ((dim 0) (shape 1 2)) (tuple (0 1 2) (3) (4)))",
    ] {
        let text = program("(%n int) (%xs global float %n)", "", "(give)");
        let text = text.replace("(inputs)", "(inputs %n (tuple (\"re\" %xs) ((tuple))))");
        round_trip(&parse(&text.replace("(output (tuple ()))", &format!("(output {output})"))));
    }
}

const DOCUMENTED: &str = r#"(kernel 1 (name "main")
  (provs
    (p0 "main" 2 4)
    (p1 "f" 0 2 p0))
  (types)
  (params (%n.0 int) (%c.1 bool) (%xs.2 global float %n.0))
  (inputs)
  (output (tuple ()))
  (k0 "scale" (from p0 p1) (grid (%b.3 %nb.4)) (worker %w.5)
    (params (%m.6 int) (%nb.4 int) (%us.7 global float %m.6) (%vs.8 global float %m.6))
    (body
      (for (lanes 16) %i.9 (tile %b.3 16384 %m.6) ()
        (let (%x.10 float) (load %us.7 %i.9) p0)
        (let (%y.11 float) (op * %x.10 2.0) p1)
        (store %vs.8 (%i.9) %y.11 p0)
        (next) p0)))
  (plan
    (alloc (%ys.12 global float %n.0) p0)
    (while (((%k.13 int) (%r.14 int) 0))
      (cond
        (let (%d.15 bool) (op < %k.13 2) p0)
        (test %d.15))
      (do
        (launch k0 (%n.0 4 %xs.2 %ys.12) p1)
        (let (%l.16 int) (op + %k.13 1) p0)
        (next %l.16)) p0)
    (if %c.1
      (then)
      (else
        (check (empty "reduce") %c.1 p0))
      (((%z.17 float) 1.0 -0.5)) p0)
    (give %ys.12 %z.17)))
"#;

#[test]
fn the_text_is_as_documented() {
    let p = parse_program(DOCUMENTED).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(print_program(&p), DOCUMENTED);
    let kernel = print_kernel(&p, KernelId(0));
    assert!(kernel.starts_with("(k0 \"scale\" ") && kernel.contains("\n      (store "), "{kernel}");
    assert_eq!(print_stmts(&p, &p.plan[..1]), "(alloc (%ys.12 global float %n.0) p0)\n");
    assert_eq!(print_kernel(&p, KernelId(7)), "\n");
}

/// A program of nested blocks of all kinds.
fn deep(levels: usize) -> Program {
    let mut p = parse(&program("(%n int) (%c bool)", "", "(give %n)"));
    let (n, cond) = (Atom::Var(p.params[0]), Atom::Var(p.params[1]));
    for k in 0..levels {
        let body = std::mem::take(&mut p.plan);
        let kind = match k % 3 {
            0 => StmtKind::If { cond, then: body, otherwise: Vec::new(), results: Vec::new() },
            1 => {
                let var = p.scalar("λ x.%", BaseTy::I64);
                let range = Range::Upto { from: Atom::int(0), to: n };
                StmtKind::For { how: How::Seq, var, range, carried: Vec::new(), body, next: Vec::new() }
            }
            _ => {
                StmtKind::While { carried: Vec::new(), cond: Vec::new(), test: cond, body, next: Vec::new() }
            }
        };
        p.plan = vec![Stmt { kind, prov: Prov(0) }];
    }
    p
}

#[test]
fn deep_programs_nest_little() {
    for levels in [1, 31, 32, 33, 64, 65, 1000, MAX_BLOCK_DEPTH - 2] {
        round_trip(&deep(levels));
    }
    assert!(parse_program(&print_program(&deep(MAX_BLOCK_DEPTH + 1))).is_err());
    let mut p = deep(40);
    let k = p.scalar("k", BaseTy::I64);
    let (mut input, mut output) = (Input::Part { starts: k, data: k }, Output::Array(0));
    for i in 0..100 {
        let boxes = Box::new(input);
        input = match i % 3 {
            0 => Input::Tuple(vec![(Some(Name::new("x")), *boxes)]),
            1 => {
                let shape = InputWitness::Shape { ranks: k, starts: k, dims: k };
                Input::Boxes { witnesses: vec![InputWitness::Dim(k), shape], contents: boxes }
            }
            _ => Input::Parts { starts: k, boxes },
        };
        let contents = Box::new(output);
        output = match i % 3 {
            0 => {
                let witnesses = vec![Witness::Dim(0), Witness::Shape(vec![0, 0]), Witness::Vector(0)];
                Output::Box { ty: AtomTy::INT, witnesses, contents }
            }
            1 => {
                let witnesses = vec![Witness::Vectors { ranks: 0, starts: 0, dims: 0 }];
                Output::Boxes { frame: vec![0], ty: AtomTy::INT, witnesses, contents }
            }
            _ => Output::Tuple { frame: Vec::new(), fields: vec![(None, *contents)] },
        };
    }
    p.inputs.push(input);
    p.output = output;
    p.scalar("unbound", BaseTy::Char);
    round_trip(&p);
}

#[test]
fn wrong_texts_are_refused() {
    for (from, to) in [
        ("kernel 1", "kernel 2"),
        ("(name \"main\")", "(name main)"),
        ("(k0 ", "(k1 "),
        ("(k0 ", "(k "),
        ("(k0 \"scale\"", "(k0 scale"),
        ("(lanes 16)", "(lanes -1)"),
        ("(lanes 16)", "lanes"),
        ("(lanes 16)", "(loop 16)"),
        ("(tile %b.3 16384 %m.6)", "(tile %b.3 16384)"),
        ("(tile %b.3 16384 %m.6)", "(upto %b.3 16384 %m.6)"),
        ("(op * ", "(op ** "),
        ("(op * ", "(opp * "),
        ("global float %m.6", "local float %m.6"),
        ("global float %m.6", "global reals %m.6"),
        ("%x.10 float", "%x.10 float 3"),
        ("%x.10 float", "%x.99 float"),
        ("(%k.13 int)", "%k.13"),
        (" (%r.14 int) 0", " (%r.14 int)"),
        (" (%r.14 int) 0", " (%r.14 int) 0 sum"),
        ("(test %d.15)", "(test %d.15 %d.15)"),
        ("(test %d.15)", ""),
        ("(next %l.16)", "(next %l.18)"),
        ("(next %l.16)", "b0"),
        ("(give %ys.12 %z.17)", ""),
        ("(give %ys.12 %z.17)))", "(give %ys.12 %z.17))) 3"),
        ("(give %ys.12 %z.17)))", "(give %ys.12 %z.17)) (block b0))"),
        ("%z.17 float) 1.0", "%z.17 float)"),
        ("(then)", ""),
        (" p1)\n        (let", ")\n        (let"),
        ("(store %vs.8 (%i.9) %y.11", "(store %vs.8 %i.9 %y.11"),
        ("(launch k0", "(launch 0"),
        ("(alloc ", "(allocate "),
    ] {
        let bad = DOCUMENTED.replace(from, to);
        assert_ne!(bad, DOCUMENTED, "{from}");
        assert!(parse_program(&bad).is_err(), "{bad}");
    }
    for end in 0..DOCUMENTED.len() - 2 {
        assert!(parse_program(&DOCUMENTED[..end]).is_err());
    }
    assert!(parse_program(&"(".repeat(MAX_DEPTH + 1)).is_err());
    assert_eq!(numbered("%x (op % %y %x)"), "%x.0 (op % %y.1 %x.0)");
}
