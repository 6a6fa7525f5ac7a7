//! What is printed reads back exactly, whatever the program.

use crate::corpus::{bodies, parse, text, text_with};
use remc_base::ops::ScalarOp;
use remc_base::sexp::{MAX_DEPTH, SexpKind, read};
use remc_base::*;
use remc_mono::ir::{Atom, Body, Exp, Input, InputWitness, Output, Program, Stmt, Ty, Witness};
use remc_mono::parse::{constant, parse_program};
use remc_mono::print;
use remc_mono::print::print_program;
use remc_mono::text::MAX_BODY_DEPTH;
use remc_mono::verify::verify;

fn round_trip(p: &Program) {
    let text = print_program(p);
    assert!(text.is_ascii());
    let back = parse(&text);
    assert_eq!(&back, p, "{text}");
    assert_eq!(print_program(&back), text);
}

#[test]
fn programs_print_and_read_back() {
    for text in bodies() {
        round_trip(&parse(&text));
    }
}

#[test]
fn inputs_and_results_read_back() {
    for output in [
        "0",
        "(tuple ())",
        "(functions () (-> (int) int))",
        "(tuple (0) (0) ((functions (0 1) (-> ((arr int 2)) float))))",
        "(tuple (0 1) (\"a\" 2) (\"b c\" (tuple () (0) (1))))",
        "(box (sigma ($n.1 @s.2) (arr (tuple int float) $n.1 @s.2)) ((dim 0) (shape 1 2)) (tuple (0 1 2) (3) (4)))",
    ] {
        round_trip(&parse(&text_with("(%n.0 int)", "(tuple) (tuple (\"a\" %n.0))", output, "(give %n.0)")));
    }
}

#[test]
fn the_text_is_as_documented() {
    let body = "(let ((%s.6 int)) (reduce (%i.7 %n.0) (let ((%x.8 int)) (index %xs.2 %i.7) p0) (give %x.8)
        (assoc ((%a.9 int) (%b.10 int)) (start 0) (let ((%c.11 int)) (op + %a.9 %b.10) p1) (give %c.11))) p0)
        (let ((%l.12 int) (%t.13 float)) (if %c.4 (then (give 1 1.0)) (else (give %s.6 -0.5))) p0)
        (give %t.13)";
    let expected = r#"(mono 1 (name "main")
  (provs
    (p0 "main" 2 4)
    (p1 "f" 0 2 p0))
  (types)
  (params (%n.0 int) (%m.1 int) (%xs.2 int %n.0) (%fs.3 float %n.0 %m.1) (%c.4 bool) (%k.5 int))
  (inputs %n.0 %m.1 %xs.2 (tuple ("re" %fs.3) (%c.4)) %k.5)
  (output 0)
  (body
    (let ((%s.6 int))
      (reduce (%i.7 %n.0)
        (let ((%x.8 int)) (index %xs.2 %i.7) p0)
        (give %x.8)
        (assoc ((%a.9 int) (%b.10 int)) (start 0)
          (let ((%c.11 int)) (op + %a.9 %b.10) p1)
          (give %c.11))) p0)
    (let ((%l.12 int) (%t.13 float))
      (if %c.4
        (then
          (give 1 1.0))
        (else
          (give %s.6 -0.5))) p0)
    (give %t.13)))
"#;
    let p = parse(&text(body));
    assert_eq!(print_program(&p), expected);
}

#[test]
fn constants_read_back() {
    let mut all = vec![
        Scalar::Bool(true),
        Scalar::Bool(false),
        Scalar::Char('λ'),
        Scalar::Char('\0'),
        Scalar::I8(-128),
        Scalar::I16(-1),
        Scalar::I32(i32::MIN),
        Scalar::I64(i64::MIN),
        Scalar::I64(7),
        Scalar::U8(255),
        Scalar::U16(1),
        Scalar::U32(u32::MAX),
        Scalar::U64(u64::MAX),
    ];
    for x in [0.0, -0.0, 1.0, 0.1, -1e300, 5e-324, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN] {
        all.push(Scalar::F64(x));
        all.push(Scalar::F32(x as f32));
        all.push(Scalar::F16(half::f16::from_f64(x)));
    }
    all.push(Scalar::F64(f64::from_bits(0x7ff8_0000_0000_0123)));
    all.extend((0..=u16::MAX).map(|bits| Scalar::F16(half::f16::from_bits(bits))));
    for c in all {
        let text = print::constant(c);
        let back = constant(&read(&text).unwrap()[0]).unwrap();
        assert_eq!((back.ty(), back.to_bits64()), (c.ty(), c.to_bits64()), "{text}");
    }
    for text in [
        "1.5.2",
        "inf",
        "nan",
        "u8:256",
        "bool:1",
        "f32:#x100000000",
        "i32:#x1",
        "U+d800",
        "float:#x+1",
        "()",
        "+1.0",
        "f32:inf",
        "u8:",
        "7u8",
    ] {
        assert!(!read(text).is_ok_and(|all| constant(&all[0]).is_ok()), "{text}");
    }
}

/// A program of nested conditionals.
fn deep(levels: usize) -> Program {
    let mut p = parse(&text("(give %k.5)"));
    let cond = Atom::Var(p.params[4]);
    for _ in 0..levels {
        let v = p.fresh("λ x.%", Ty::int());
        let then = std::mem::take(&mut p.body);
        let otherwise = Body { stmts: Vec::new(), results: vec![Atom::int(0)] };
        let exp = Exp::If { cond, then, otherwise };
        p.body = Body { stmts: vec![Stmt { pat: vec![v], exp, prov: Prov(0) }], results: vec![v.into()] };
    }
    p
}

#[test]
fn deep_programs_nest_little() {
    for levels in [31, 32, 33, 64, 65, 1000, MAX_BODY_DEPTH - 1] {
        let p = deep(levels);
        round_trip(&p);
        verify(&p).unwrap();
    }
    assert!(parse_program(&print_program(&deep(MAX_BODY_DEPTH))).is_err());
    let mut p = deep(40);
    let (mut input, mut output) = (Input::Part { starts: p.params[0], data: p.params[1] }, Output::Array(0));
    for i in 0..100 {
        let (k, boxes) = (p.params[0], Box::new(input));
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
    round_trip(&p);
}

/// Every operator's name is a word of the text.
#[test]
fn operators_are_words() {
    for info in ops::TABLE {
        assert_eq!(read(info.name).unwrap()[0].kind, SexpKind::Atom(info.name));
        assert_eq!(ScalarOp::from_name(info.name), Some(info.op));
    }
}

#[test]
fn wrong_texts_are_refused() {
    let good = text("(let ((%a.6 int)) (op + %k.5 1) p0) (give %a.6)");
    parse(&good);
    for (from, to) in [
        ("mono 1", "mono 2"),
        ("(name \"main\")", "(name main)"),
        ("(op + ", "(op ++ "),
        ("(op + ", "(opp + "),
        ("%a.6 int", "%a.6 integer"),
        ("%a.6 int", "%a.8 int"),
        ("%a.6 int", "%k.5 float"),
        ("(give %a.6)", "(give %a.7)"),
        ("(give %a.6)", ""),
        ("(give %a.6)", "b0"),
        ("(give %a.6)", "(give %a.6) 3"),
        ("(give %a.6))", "(give %a.6)) (body b0 (give))"),
        (" p0)", ")"),
        ("(output 0)", "(output -1)"),
    ] {
        let bad = good.replace(from, to);
        assert_ne!(bad, good, "{from}");
        assert!(parse_program(&bad).is_err(), "{bad}");
    }
    for end in 0..good.len() {
        assert!(parse_program(&good[..end]).is_err());
    }
    assert!(parse_program(&"(".repeat(MAX_DEPTH + 1)).is_err());
}
