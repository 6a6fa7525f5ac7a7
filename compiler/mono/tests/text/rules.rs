//! Each rule of the verifier, on programs that break it.

use crate::corpus::{bodies, fill, parse, text, text_with};
use remc_base::Prov;
use remc_mono::ir::{Exp, Var};
use remc_mono::print::print_program;
use remc_mono::verify::{Rule, verify};

/// Bodies and the rule that each breaks.
const BROKEN: &[(Rule, &str)] = &[
    (Rule::Provenance, "(let ((%a.6 int)) %k.5 p2) (give %a.6)"),
    (Rule::Binder, "(let ((%a.6 int)) %k.5 p0) (let ((%a.6 int)) %k.5 p0) (give %a.6)"),
    (Rule::Binder, "(let ((%k.5 int)) %n.0 p0) (give %k.5)"),
    (
        Rule::Binder,
        "(let ((%a.6 int %n.0)) (map ((%i.7 %n.0)) (give %i.7)) p0)
         (let ((%b.8 int %n.0)) (map ((%i.7 %n.0)) (give %i.7)) p0) (give %a.6)",
    ),
    (Rule::Scope, "(let ((%a.6 int)) %b.7 p0) (let ((%b.7 int)) 1 p0) (give %a.6)"),
    (Rule::Scope, "(let ((%a.6 int %n.0)) (map ((%i.7 %n.0)) (give %i.7)) p0) (give %i.7)"),
    (Rule::Scope, "(let ((%a.6 int %n.0)) (map ((%i.7 %i.7)) (give %i.7)) p0) (give 0)"),
    (Rule::Scope, "(let ((%a.6 int)) (if %c.4 (then (let ((%b.7 int)) 1 p0) (give %b.7)) (else (give %b.7))) p0) (give 0)"),
    (Rule::TypeScope, "(let ((%a.6 int %l.7)) %xs.2 p0) (let ((%l.7 int)) 1 p0) (give %a.6)"),
    // Only what gives sizes of its own may mention them.
    (Rule::TypeScope, "(let ((%l.6 int %a.7) (%a.7 int)) (map () (give %xs.2 1)) p0) (give %l.6)"),
    (
        Rule::TypeScope,
        "(let ((%a.6 int %n.0 %l.8)) (map ((%i.7 %n.0)) (let ((%l.8 int)) 3 p0) (let ((%b.9 int %l.8)) %xs.2 p0)
           (give %b.9)) p0) (give 0)",
    ),
    (Rule::Dim, "(let ((%a.6 int %c.4)) %xs.2 p0) (give %a.6)"),
    (Rule::Dim, "(let ((%a.6 int %xs.2)) %xs.2 p0) (give %a.6)"),
    (Rule::Dim, "(let ((%a.6 int -1)) %xs.2 p0) (give %a.6)"),
    (Rule::Dim, "(let ((%a.6 int u8:3)) %xs.2 p0) (give %a.6)"),
    (Rule::Atom, "(let ((%a.6 float)) %k.5 p0) (give %a.6)"),
    (Rule::Atom, "(let () %k.5 p0) (give %k.5)"),
    (Rule::Atom, "(let ((%a.6 int 3)) (literal (3) 1 2 3) p0) (let ((%b.7 int 4)) %a.6 p0) (give %b.7)"),
    (Rule::Op, "(let ((%a.6 int)) (op + %k.5 1.0) p0) (give %a.6)"),
    (Rule::Op, "(let ((%a.6 int)) (op + %k.5) p0) (give %a.6)"),
    (Rule::Op, "(let ((%a.6 int)) (op / %k.5 2) p0) (give %a.6)"),
    (Rule::Op, "(let ((%a.6 int %n.0)) (op negate %xs.2) p0) (give %a.6)"),
    (Rule::Cast, "(let ((%a.6 u8)) (cast u16 %k.5) p0) (give %a.6)"),
    (Rule::Cast, "(let ((%a.6 u8 %n.0)) (cast u8 %xs.2) p0) (give %a.6)"),
    (Rule::Literal, "(let ((%a.6 int 2)) (literal (2) 1 2 3) p0) (give %a.6)"),
    (Rule::Literal, "(let ((%a.6 int 2)) (literal (2) 1 2.0) p0) (give %a.6)"),
    (Rule::Literal, "(let ((%a.6 int 2 1)) (literal (2) 1 2) p0) (give %a.6)"),
    (Rule::Literal, "(let ((%a.6 int 2)) (literal (u8:2) 1 2) p0) (give %a.6)"),
    (Rule::Index, "(let ((%a.6 int)) (index %xs.2 0 0) p0) (give %a.6)"),
    (Rule::Index, "(let ((%a.6 int)) (index %xs.2 0.5) p0) (give %a.6)"),
    (Rule::Index, "(let ((%a.6 int)) (index %fs.3 0 0) p0) (give %a.6)"),
    (Rule::Index, "(let ((%a.6 float)) (index %fs.3 0) p0) (give %a.6)"),
    (Rule::If, "(let ((%a.6 int)) (if %k.5 (then (give 1)) (else (give 2))) p0) (give %a.6)"),
    (Rule::If, "(let ((%a.6 int)) (if %c.4 (then (give 1)) (else (give 2.0))) p0) (give %a.6)"),
    (Rule::If, "(let ((%a.6 int)) (if %c.4 (then (give 1 2)) (else (give 1 2))) p0) (give %a.6)"),
    // Only the branch that is never taken may contradict the type, and only inside it.
    (
        Rule::If,
        "(let ((%a.6 int 1)) (if true (then (let ((%b.7 int 2)) (literal (2) 1 2) p0) (give %b.7))
           (else (let ((%b.8 int 1)) (literal (1) 1) p0) (give %b.8))) p0) (give %a.6)",
    ),
    (
        Rule::Atom,
        "(let ((%a.6 int 1)) (if true (then (let ((%b.7 int 1)) (literal (1) 1) p0) (give %b.7))
           (else (let ((%b.8 int 2)) (literal (2) 1 2) p0) (give %b.8))) p0)
         (let ((%d.9 int 4)) %a.6 p0) (give %d.9)",
    ),
    (Rule::For, "(let ((%a.6 int)) (for (%i.7 %n.0) (((%s.8 int) 0.0)) (give %s.8)) p0) (give %a.6)"),
    (Rule::For, "(let ((%a.6 int)) (for (%i.7 %n.0) (((%s.8 int) 0)) (give 0.0)) p0) (give %a.6)"),
    (Rule::For, "(let ((%a.6 float)) (for (%i.7 %n.0) (((%s.8 int) 0)) (give %s.8)) p0) (give %a.6)"),
    (Rule::While, "(let ((%a.6 int)) (while (((%s.7 int) 0)) (cond (give 1)) (do (give 1))) p0) (give %a.6)"),
    (Rule::While, "(let ((%a.6 int)) (while (((%s.7 int) 0)) (cond (give true)) (do (give))) p0) (give %a.6)"),
    (Rule::While, "(let () (while (((%s.6 int) %c.4)) (cond (give true)) (do (give 1))) p0) (give 0)"),
    (Rule::Map, "(let ((%a.6 int)) (map ((%i.7 %n.0)) (give %i.7)) p0) (give %a.6)"),
    (Rule::Map, "(let ((%a.6 int 3 2)) (map ((%i.7 2) (%j.8 3)) (give %i.7)) p0) (give %a.6)"),
    (Rule::Map, "(let ((%a.6 int 3) (%b.7 int 3)) (map ((%i.8 3)) (give %i.8)) p0) (give %a.6)"),
    (
        Rule::Reduce,
        "(let ((%r.6 float)) (reduce (%i.7 %n.0) (give %i.7)
           (assoc ((%a.8 int) (%b.9 int)) (give %a.8))) p0) (give %r.6)",
    ),
    (
        Rule::Scan,
        "(let ((%r.6 int 3)) (scan full (%i.7 3) (give %i.7)
           (assoc ((%a.8 int) (%b.9 int)) (start 0) (give %a.8))) p0) (give %r.6)",
    ),
    (
        Rule::Scan,
        "(let ((%r.6 int)) (scan inclusive (%i.7 3) (give %i.7)
           (assoc ((%a.8 int) (%b.9 int)) (give %a.8))) p0) (give %r.6)",
    ),
    (Rule::Scatter, "(let ((%a.6 int %n.0)) (scatter (%i.7 %n.0) (%xs.2) (give 0.5 1)) p0) (give %a.6)"),
    (Rule::Scatter, "(let ((%a.6 int %n.0)) (scatter (%i.7 %n.0) (%xs.2) (give)) p0) (give %a.6)"),
    (Rule::Scatter, "(let ((%a.6 int %n.0)) (scatter (%i.7 %n.0) (%xs.2) (give 0 1.0)) p0) (give %a.6)"),
    (Rule::Scatter, "(let ((%a.6 int)) (scatter (%i.7 %n.0) (%k.5) (give 0 1)) p0) (give %a.6)"),
    (Rule::Scatter, "(let ((%a.6 int)) (scatter (%i.7 %n.0) (%xs.2) (give 0 1)) p0) (give %a.6)"),
    (Rule::Filter, "(let ((%l.6 int) (%a.7 int %l.6)) (filter (%i.8 %n.0) (give 1 %i.8)) p0) (give %a.7)"),
    (Rule::Filter, "(let ((%l.6 int) (%a.7 int %n.0)) (filter (%i.8 %n.0) (give true %i.8)) p0) (give %a.7)"),
    (Rule::Filter, "(let ((%l.6 float)) (filter (%i.8 %n.0) (give true)) p0) (give %l.6)"),
    (Rule::Filter, "(let () (filter (%i.8 %n.0) (give true)) p0) (give 0)"),
    (Rule::Grade, "(let ((%a.6 int %n.0)) (grade (%i.7 %n.0) (give)) p0) (give %a.6)"),
    (Rule::Grade, "(let ((%a.6 int 4)) (grade (%i.7 3) (give %i.7)) p0) (give %a.6)"),
    (Rule::Join, "(let ((%a.6 int %n.0)) (join (%i.7 %n.0) 2 (give %i.7)) p0) (give %a.6)"),
    (
        Rule::Join,
        "(let ((%l.6 int) (%s.7 int %n.0) (%d.8 int %l.6)) (join (%i.9 %n.0) 0 (give %i.9)) p0) (give %d.8)",
    ),
    (
        Rule::Join,
        "(let ((%l.6 int) (%s.7 int %n.0) (%d.8 int %n.0)) (join (%i.9 %n.0) 0 (give %xs.2)) p0) (give %d.8)",
    ),
    (
        Rule::Join,
        "(let ((%l.6 int) (%d.7 int %l.6)) (join (%i.9 %n.0) 0 (give %xs.2)) p0) (give %d.7)",
    ),
    (Rule::Reshape, "(let ((%a.6 int 2)) (view (reshape 3) %xs.2) p0) (give %a.6)"),
    (Rule::Reshape, "(let ((%a.6 int 3)) (view (reshape %c.4) %xs.2) p0) (give %a.6)"),
    (
        Rule::Reshape,
        "(let ((%a.6 int 3)) (literal (3) 1 2 3) p0) (let ((%b.7 int 2 2)) (view (reshape 2 2) %a.6) p0) (give %b.7)",
    ),
    (Rule::Permute, "(let ((%a.6 float %n.0 %m.1)) (view (permute 0 0) %fs.3) p0) (give %a.6)"),
    (Rule::Permute, "(let ((%a.6 float %n.0)) (view (permute 0) %fs.3) p0) (give %a.6)"),
    (Rule::Permute, "(let ((%a.6 int %m.1 %n.0)) (view (permute 1 0) %fs.3) p0) (give %a.6)"),
    (Rule::Reverse, "(let ((%a.6 int)) (view (reverse) %k.5) p0) (give %a.6)"),
    (Rule::Rotate, "(let ((%a.6 int %n.0)) (view (rotate 1 1) %xs.2) p0) (give %a.6)"),
    (Rule::Rotate, "(let ((%a.6 int %n.0)) (view (rotate %c.4) %xs.2) p0) (give %a.6)"),
    (Rule::Append, "(let ((%a.6 int 3)) (view (append %fs.3) %xs.2) p0) (give %a.6)"),
    (Rule::Append, "(let ((%a.6 int 3)) (view (append %k.5) %k.5) p0) (give %a.6)"),
    (
        Rule::Append,
        "(let ((%a.6 int 1)) (literal (1) 7) p0) (let ((%b.7 int 3)) (view (append %a.6) %a.6) p0) (give %b.7)",
    ),
    (Rule::Slice, "(let ((%a.6 int 2)) (view (slice (0 0) (2)) %xs.2) p0) (give %a.6)"),
    (Rule::Slice, "(let ((%a.6 int 2 2)) (view (slice (0 0) (2 2)) %xs.2) p0) (give %a.6)"),
    (Rule::Slice, "(let ((%a.6 int 2)) (view (slice (0.5) (2)) %xs.2) p0) (give %a.6)"),
    (Rule::Slice, "(let ((%a.6 int 2)) (view (slice (0) (3)) %xs.2) p0) (give %a.6)"),
    (Rule::Wrap, "(let ((%a.6 int 2)) (view (wrap (0) (3)) %xs.2) p0) (give %a.6)"),
    (Rule::Wrap, "(let ((%a.6 int 2)) (view (wrap (0) (-2)) %xs.2) p0) (give %a.6)"),
    (Rule::Cycle, "(let ((%a.6 int 2)) (view (cycle 3) %xs.2) p0) (give %a.6)"),
    (Rule::Cycle, "(let ((%a.6 int 2)) (view (cycle 2.0) %xs.2) p0) (give %a.6)"),
    (Rule::Replicate, "(let ((%a.6 int 2)) (view (replicate 2) %xs.2) p0) (give %a.6)"),
    (Rule::Replicate, "(let ((%a.6 int 2 %n.0)) (view (replicate %c.4) %xs.2) p0) (give %a.6)"),
    (Rule::Check, "(let () (check (split) %k.5 1 2) p0) (give 0)"),
    (Rule::Check, "(let () (check (split) %c.4 1) p0) (give 0)"),
    (Rule::Check, "(let () (check (split) %c.4 1 %xs.2) p0) (give 0)"),
    (Rule::Check, "(let ((%a.6 int)) (check (split) %c.4 1 2) p0) (give 0)"),
    (Rule::Axis, "(let ((%a.6 int %n.0)) (map (((%i.7 i32) %n.0)) (give 1)) p0) (give %a.6)"),
    (Rule::Axis, "(let ((%a.6 int %n.0)) (map ((%i.7 %c.4)) (give 1)) p0) (give %a.6)"),
    (Rule::Axis, "(let ((%a.6 int %n.0)) (map ((%i.7 -1)) (give 1)) p0) (give %a.6)"),
    (
        Rule::Lambda,
        "(let ((%r.6 int)) (reduce (%i.7 %n.0) (give %i.7) (assoc () (give))) p0) (give %r.6)",
    ),
    (
        Rule::Lambda,
        "(let ((%r.6 int)) (reduce (%i.7 %n.0) (give %i.7)
           (serial ((%a.8 int) (%b.9 float)) (start 0) (give %a.8))) p0) (give %r.6)",
    ),
    (
        Rule::Lambda,
        "(let ((%r.6 int)) (reduce (%i.7 %n.0) (give %i.7)
           (assoc ((%a.8 int) (%b.9 int)) (give 1.0))) p0) (give %r.6)",
    ),
    (
        Rule::Lambda,
        "(let ((%a.6 int %n.0)) (scatter (%i.7 %n.0) (%xs.2) (give 0 1)
           (combine ((%a.8 int)) (give %a.8))) p0) (give %a.6)",
    ),
    (
        Rule::Start,
        "(let ((%r.6 int)) (reduce (%i.7 %n.0) (give %i.7)
           (serial ((%a.8 int) (%b.9 int)) (give %a.8))) p0) (give %r.6)",
    ),
    (
        Rule::Start,
        "(let ((%r.6 int %n.0)) (scan exclusive (%i.7 %n.0) (give %i.7)
           (assoc ((%a.8 int) (%b.9 int)) (give %a.8))) p0) (give %r.6)",
    ),
    (
        Rule::Start,
        "(let ((%r.6 int)) (reduce (%i.7 %n.0) (give %i.7)
           (assoc ((%a.8 int) (%b.9 int)) (start 0.0) (give %a.8))) p0) (give %r.6)",
    ),
    (Rule::Pull, "(let ((%m.6 int)) (pull 0 0 (all)) p0) (give %m.6)"),
    (Rule::Push, "(let () (push 0 %xs.2) p0) (give 0)"),
    (
        Rule::Accumulator,
        "(let ((%r.6 float)) (reduce (%i.7 %n.0) (give %i.7)
           (assoc ((%a.8 float) (%b.9 int)) (start 0.0) (give %a.8))) p0) (give %r.6)",
    ),
];

/// Parameters, inputs, output and body of programs that are wrong themselves.
const BROKEN_PROGRAMS: &[(Rule, [&str; 4])] = &[
    (Rule::TypeScope, ["(%xs.0 int %n.1) (%n.1 int)", "%xs.0", "0", "(give %n.1)"]),
    (Rule::Binder, ["(%n.0 int) (%n.0 int)", "%n.0", "0", "(give %n.0)"]),
    (Rule::Params, ["(%n.0 int) (%x.1 float)", "%n.0", "0", "(give %n.0)"]),
    (Rule::Inputs, ["(%n.0 int)", "%n.0 (tuple (%n.0))", "0", "(give %n.0)"]),
    (Rule::Inputs, ["(%n.0 int)", "%a.1", "0", "(let ((%a.1 int)) 1 p0) (give %n.0)"]),
    // Starts that are no ints, elements that are no vector, contents without boxes, an array in boxes.
    (Rule::Inputs, ["(%x.0 float) (%y.1 float 1)", "(boxes () (part %x.0 %y.1))", "0", "(give 1)"]),
    (Rule::Inputs, ["(%x.0 int) (%y.1 float)", "(boxes () (part %x.0 %y.1))", "0", "(give 1)"]),
    (Rule::Inputs, ["(%x.0 int) (%y.1 float 1)", "(part %x.0 %y.1)", "0", "(give 1)"]),
    (Rule::Inputs, ["(%x.0 int) (%y.1 float 1)", "(boxes (%x.0) %y.1)", "0", "(give 1)"]),
    (Rule::Output, ["(%n.0 int)", "%n.0", "1", "(give %n.0)"]),
    (Rule::Output, ["(%n.0 int)", "%n.0", "(tuple (0) (0))", "(give %n.0)"]),
    (Rule::Output, ["(%c.0 bool 1)", "%c.0", "(tuple (0) (0))", "(give %c.0)"]),
    (Rule::Output, ["(%n.0 int 1)", "%n.0", "(box int ((dim 0)) 0)", "(give %n.0)"]),
    (
        Rule::Output,
        ["(%n.0 int) (%x.1 int %n.0)", "%x.1", "(tuple (0) ((box int () 1)))", "(give %n.0 %x.1)"],
    ),
];

#[test]
fn the_corpus_is_well_formed() {
    for text in bodies() {
        verify(&parse(&text)).unwrap_or_else(|e| panic!("{e}\n{text}"));
    }
}

#[test]
fn each_rule_refuses() {
    let mut all: Vec<_> = BROKEN.iter().map(|(rule, body)| (*rule, text(&fill(body)))).collect();
    all.extend(BROKEN_PROGRAMS.iter().map(|(rule, [a, b, c, d])| (*rule, text_with(a, b, c, d))));
    for (rule, text) in &all {
        let broken = verify(&parse(text)).expect_err(text);
        assert_eq!(broken.rule, *rule, "{broken}\n{text}");
        assert!(!broken.message.is_empty());
    }
    for rule in Rule::ALL {
        assert!(all.iter().any(|(r, _)| r == rule), "{rule:?} has no test");
    }
}

/// A program that takes items from a channel and gives them to another, and what breaks the rules of both.
#[test]
fn items_are_of_their_channels() {
    let body = "(let ((%m.6 int) (%ps.7 float %m.6)) (pull 0 0 (multiple %k.5)) p0) (let () (push 1 %ps.7) p0) (give 0)";
    let channels = "(channels (\"xs\" (input 0) (float 0)) (\"out\" (output 0) (float 0))) (output";
    let good = text(&fill(body)).replacen("(output", channels, 1);
    let program = parse(&good);
    assert_eq!(verify(&program), Ok(()));
    assert_eq!(parse(&print_program(&program)), program);
    for (rule, from, to) in [
        (Rule::Pull, "(pull 0", "(pull 2"),
        (Rule::Pull, "(pull 0 0", "(pull 0 1.5"),
        (Rule::Pull, "(multiple %k.5)", "(multiple %c.4)"),
        (Rule::Pull, "(%m.6 int)", "(%m.6 bool)"),
        (Rule::Pull, "(%ps.7 float %m.6)", "(%ps.7 float %n.0)"),
        (Rule::Pull, "(%ps.7 float %m.6)", "(%ps.7 int %m.6)"),
        (Rule::Pull, "(%ps.7 float %m.6)", "(%ps.7 float %m.6 1)"),
        (Rule::Pull, "(%ps.7 float %m.6)", "(%ps.7 float %m.6) (%qs.8 float %m.6)"),
        (Rule::Push, "(push 1", "(push 2"),
        (Rule::Push, "(push 1 %ps.7)", "(push 1)"),
        (Rule::Push, "(push 1 %ps.7)", "(push 1 %xs.2)"),
        (Rule::Push, "(output 0) (float 0)", "(output 0) (float 1)"),
    ] {
        let text = good.replacen(from, to, 1);
        assert_ne!(text, good, "{from}");
        let broken = verify(&parse(&text)).expect_err(&text);
        assert_eq!(broken.rule, rule, "{broken}\n{text}");
    }
}

#[test]
fn a_statement_is_named() {
    let text = text("(let ((%a.6 int)) 1 p0) (let ((%b.7 float)) %a.6 p1) (give %b.7)");
    let broken = verify(&parse(&text)).unwrap_err();
    assert_eq!(broken.prov, Some(Prov(1)));
    assert_eq!(
        broken.to_string(),
        "the rule Atom of Mono is broken at p1: what is bound is of type float, and not int"
    );
}

/// What text cannot say: a variable outside the table.
#[test]
fn strange_variables_are_refused() {
    let good = parse(&text("(let ((%a.6 int)) (op + %k.5 1) p0) (give %a.6)"));
    verify(&good).unwrap();
    let mut p = good.clone();
    p.body.stmts[0].pat = vec![Var(1000)];
    assert_eq!(verify(&p).unwrap_err().rule, Rule::Binder);
    let mut p = good.clone();
    p.body.stmts[0].exp = Exp::Atom(Var(1000).into());
    assert_eq!(verify(&p).unwrap_err().rule, Rule::Scope);
    let mut p = good.clone();
    p.vars[Var(6)].ty.dims.push(Var(1000).into());
    p.body.stmts[0].exp = Exp::Atom(Var(2).into());
    assert_eq!(verify(&p).unwrap_err().rule, Rule::TypeScope);
    let mut p = good;
    p.params.push(Var(1000));
    assert_eq!(verify(&p).unwrap_err().rule, Rule::Binder);
}
