//! Each rule of the verifier on a term that keeps it, and on that term with one thing broken.
//!
//! A case is a well-typed definition in the text form and a list of mutations of its text, each with the
//! rule that must reject it.

use remc_base::{ArrTy, GlobalId, ModuleId, Name};
use remc_explicit::ir::{Definition, Expr, ExprKind};
use remc_explicit::parse::parse_program;
use remc_explicit::print::print_program;
use remc_explicit::verify::{Globals, Rule, verify};
use std::collections::{BTreeSet, HashMap};

/// A well-typed definition, and ways to break it.
struct Case {
    name: &'static str,
    ty: &'static str,
    body: &'static str,
    entry: &'static str,
    mutations: &'static [Mutation],
}

/// Replaces the one place of `from` in the text.
struct Mutation {
    name: &'static str,
    from: &'static str,
    to: &'static str,
    rule: Rule,
}

const fn to(name: &'static str, from: &'static str, to: &'static str, rule: Rule) -> Mutation {
    Mutation { name, from, to, rule }
}

impl Case {
    fn text(&self) -> String {
        // `plus` at int, spelled once.
        let plus = "(90 (-> (int int) int) (t-app (91 (forall ((^a.9 num)) (-> (^a.9 ^a.9) ^a.9)) \
                    (global 0 \"+\")) (atom int)))";
        definition(self.ty, &self.body.replace("PLUS", plus), self.entry)
    }
}

fn definition(ty: &str, body: &str, entry: &str) -> String {
    format!("(explicit 1 (definition 3 \"it\" (type {ty}) (types) (nodes {body}) {entry}))")
}

fn program(what: &str, text: &str) -> Definition {
    parse_program(text).unwrap_or_else(|e| panic!("{what}: {e}\n{text}")).remove(0)
}

struct Primitives(HashMap<GlobalId, ArrTy>);

impl Globals for Primitives {
    fn ty(&self, g: &GlobalId) -> Option<ArrTy> {
        self.0.get(g).cloned()
    }
}

fn globals() -> Primitives {
    let types = [
        ("+", "(forall ((^t.0 num)) (-> (^t.0 ^t.0) ^t.0))"),
        ("head", "(pi ($d.0) (-> ((arr int (+ 1 $d.0))) int))"),
        ("iota", "(pi (@s.0) (arr int @s.0))"),
    ];
    let global = |(name, ty)| {
        let ty = program(name, &definition(ty, "(0 int (int 0))", "")).ty;
        (GlobalId { module: ModuleId(0), name: Name::new(name) }, ty)
    };
    Primitives(types.into_iter().map(global).collect())
}

const CASES: &[Case] = &[
    Case {
        name: "call",
        ty: "int",
        body: "(0 int (let (%x.1 int) (1 int (int 3)) (2 int (call PLUS (3 int (var %x.1)) (4 int (int 1))))))",
        entry: "",
        mutations: &[
            to("argument missing", "(4 int (int 1))", "", Rule::Call),
            to("one argument more", "(4 int (int 1))", "(4 int (int 1)) (4 int (int 1))", Rule::Call),
            to("argument of another type", "(4 int (int 1))", "(4 u8 (int 1))", Rule::Call),
            to("argument with a frame", "(4 int (int 1))", "(4 (arr int 1) (frame (1) (4 int (int 1))))", Rule::Call),
            to("result of another type", "(2 int (call", "(2 u8 (call", Rule::Call),
            to("no function", "(3 int (var %x.1)) (4 int (int 1))", "", Rule::Call),
            to("value of another type", "(1 int (int 3))", "(1 float (int 3))", Rule::Let),
            to("result unlike the body", "(0 int (let", "(0 float (let", Rule::Let),
            to("unbound variable", "(var %x.1)", "(var %x.2)", Rule::Var),
            to("variable used in its own value", "(1 int (int 3))", "(1 int (var %x.1))", Rule::Var),
            to("declared type differs", "(type int)", "(type float)", Rule::Definition),
            to("existential", "(%x.1 int)", "(%x.1 ?1)", Rule::Existential),
            to("integer out of range", "(int 3)", "(int \"170141183460469231731687303715884105727\")", Rule::Lit),
            to("argument not in the class", "(atom int)", "(atom bool)", Rule::Class),
            to("another instance", "(atom int)", "(atom u8)", Rule::TApp),
            to("unknown global", "\"+\"", "\"plus\"", Rule::Global),
            to("a call of an array of functions", "(90 (-> (int int) int) (t-app", "(90 (arr (-> (int int) int) 1) (t-app",
               Rule::TApp),
            to("a replicate for an argument", "(4 int (int 1))",
               "(4 (arr int 2) (replicate (2) () (4 int (int 1))))", Rule::Replicate),
        ],
    },
    Case {
        name: "a call of an array",
        ty: "(-> ((-> (int) int)) int)",
        body: "(0 (-> ((-> (int) int)) int) (lam ((%f.1 (-> (int) int)))
                 (1 int (call (2 (-> (int) int) (var %f.1)) (3 int (int 1))))))",
        entry: "",
        mutations: &[
            to("a number is called", "(2 (-> (int) int) (var %f.1))", "(2 int (int 1))", Rule::Call),
            to("an array is called", "(2 (-> (int) int) (var %f.1))",
               "(2 (arr (-> (int) int) 1) (frame (1) (2 (-> (int) int) (var %f.1))))", Rule::Call),
            to("a parameter more in the type", "(0 (-> ((-> (int) int)) int)", "(0 (-> ((-> (int) int) int) int)", Rule::Lam),
        ],
    },
    Case {
        name: "map with a replicate",
        ty: "(-> ((arr int 2 3) (arr int 2)) (arr int 2 3))",
        body: "(0 (-> ((arr int 2 3) (arr int 2)) (arr int 2 3))
                 (lam ((%m.1 (arr int 2 3)) (%v.2 (arr int 2)))
                   (1 (arr int 2 3) (map (2 3)
                     (((%x.3 int) (2 (arr int 2 3) (var %m.1)))
                      ((%y.4 int) (3 (arr int 2 3) (replicate (3) (2) (4 (arr int 2) (var %v.2))))))
                     (5 int (call PLUS (6 int (var %x.3)) (7 int (var %y.4))))))))",
        entry: "",
        mutations: &[
            to("axes before the frame", "(replicate (3) (2)", "(replicate (3) ()", Rule::Replicate),
            to("axes that are not the type's", "(replicate (3) (2)", "(replicate (4) (2)", Rule::Replicate),
            to("a frame that is not the argument's", "(replicate (3) (2)", "(replicate (3) (3)", Rule::Replicate),
            to("no axes", "(3 (arr int 2 3) (replicate (3) (2)", "(3 (arr int 2) (replicate () (2)", Rule::Replicate),
            to("replicate of another atom", "(3 (arr int 2 3) (replicate", "(3 (arr u8 2 3) (replicate", Rule::Replicate),
            to("another frame", "(map (2 3)", "(map (3 2)", Rule::Map),
            to("a short frame", "(map (2 3)", "(map (2)", Rule::Map),
            to("a scalar frame", "(map (2 3)", "(map ()", Rule::Map),
            to("result without the frame", "(1 (arr int 2 3) (map", "(1 (arr int 2) (map", Rule::Map),
            to("cell of another atom", "(%x.3 int)", "(%x.3 u8)", Rule::Var),
            to("cell of another shape", "(%x.3 int) (2 (arr int 2 3) (var %m.1))", "(%x.3 int) (2 (arr int 2) (var %v.2))", Rule::Map),
            to("nothing but replicates", "(2 (arr int 2 3) (var %m.1))",
               "(2 (arr int 2 3) (replicate (2 3) () (2 int (int 1))))", Rule::Map),
            to("no operand", "((%x.3 int) (2 (arr int 2 3) (var %m.1)))
                      ((%y.4 int) (3 (arr int 2 3) (replicate (3) (2) (4 (arr int 2) (var %v.2)))))", "", Rule::Var),
            to("bound twice", "(%y.4 int)", "(%x.3 int)", Rule::Binder),
            to("an operand sees another's cell", "(4 (arr int 2) (var %v.2))", "(4 (arr int 2) (var %x.3))", Rule::Var),
            to("frame out of scope", "(map (2 3)", "(map (2 $n.8)", Rule::Scope),
        ],
    },
    Case {
        name: "map without use",
        ty: "(-> ((arr bool 2)) (arr int 2))",
        body: "(0 (-> ((arr bool 2)) (arr int 2)) (lam ((%v.2 (arr bool 2)))
                 (1 (arr int 2) (map (2) (((%x.3 bool) (2 (arr bool 2) (var %v.2)))) (3 int (int 1))))))",
        entry: "",
        mutations: &[
            to("no operand", "((%x.3 bool) (2 (arr bool 2) (var %v.2)))", "", Rule::Map),
            to("cell of another atom", "(%x.3 bool)", "(%x.3 u8)", Rule::Map),
            to("cell with the frame", "(%x.3 bool)", "(%x.3 (arr bool 2))", Rule::Map),
            to("the body is a replicate", "(1 (arr int 2) (map (2) (((%x.3 bool) (2 (arr bool 2) (var %v.2)))) (3 int (int 1)))",
               "(1 (arr int 2 2) (map (2) (((%x.3 bool) (2 (arr bool 2) (var %v.2))))
                  (3 (arr int 2) (replicate (2) () (3 int (int 1)))))", Rule::Replicate),
            to("the λ's body is a replicate", "(1 (arr int 2) (map (2) (((%x.3 bool) (2 (arr bool 2) (var %v.2)))) (3 int (int 1))))",
               "(3 (arr int 2) (replicate (2) () (3 int (int 1))))", Rule::Replicate),
        ],
    },
    Case {
        name: "polymorphic function",
        ty: "(forall ((^t.1 num)) (-> (^t.1) ^t.1))",
        body: "(0 (forall ((^t.1 num)) (-> (^t.1) ^t.1)) (tlam ((^t.1 num))
                 (1 (-> (^t.1) ^t.1) (lam ((%x.2 ^t.1)) (5 ^t.1 (var %x.2))))))",
        entry: "",
        mutations: &[
            to("another class", "(tlam ((^t.1 num))", "(tlam ((^t.1 int))", Rule::TLam),
            to("result of another type", "(1 (-> (^t.1) ^t.1)", "(1 (-> (^t.1) int)", Rule::Lam),
            to("type variable out of scope", "(%x.2 ^t.1)", "(%x.2 ^t.7)", Rule::Scope),
        ],
    },
    Case {
        name: "frames",
        ty: "(tuple (arr int 2) (arr float 0 3))",
        body: "(0 (tuple (arr int 2) (arr float 0 3)) (tuple
                 (1 (arr int 2) (frame (2) (3 int (int 1)) (4 int (int 2)))) (8 (arr float 0 3) (frame (0)))))",
        entry: "",
        mutations: &[
            to("element of another type", "(4 int (int 2))", "(4 i32 (int 2))", Rule::Frame),
            to("element missing", "(4 int (int 2))", "", Rule::Frame),
            to("part missing", "(8 (arr float 0 3) (frame (0)))", "", Rule::Tuple),
            to("part of another type", "(0 (tuple (arr int 2)", "(0 (tuple (arr u8 2)", Rule::Tuple),
            to("negative dim", "(frame (0))", "(frame (0 -3))", Rule::Natural),
        ],
    },
    Case {
        name: "a check that a vector is not empty",
        ty: "(pi ($n.1) (-> ((arr int $n.1)) int))",
        body: "(0 (pi ($n.1) (-> ((arr int $n.1)) int)) (ilam ($n.1)
                 (1 (-> ((arr int $n.1)) int) (lam ((%x.2 (arr int $n.1)))
                   (2 int (check (non-negative (+ -1 $n.1)) \"head\" (3 int (call
                     (4 (-> ((arr int $n.1)) int) (i-app
                       (5 (pi ($d.5) (-> ((arr int (+ 1 $d.5))) int)) (global 0 \"head\"))
                       (dim (+ -1 $n.1))))
                     (6 (arr int $n.1) (var %x.2))))))))))",
        entry: "",
        mutations: &[
            to("a weaker fact", "(non-negative (+ -1 $n.1))", "(non-negative $n.1)", Rule::Natural),
            to("body of another type", "(2 int (check", "(2 bool (check", Rule::Check),
            to("another instance", "(dim (+ -1 $n.1))", "(dim $n.1)", Rule::IApp),
            to("index argument to an array", "(5 (pi ($d.5) (-> ((arr int (+ 1 $d.5))) int)) (global 0 \"head\"))",
               "(5 (arr (pi ($d.5) (-> ((arr int (+ 1 $d.5))) int)) 1) (frame (1)
                  (5 (pi ($d.5) (-> ((arr int (+ 1 $d.5))) int)) (global 0 \"head\"))))", Rule::IApp),
            to("dim of any sign", "(ilam ($n.1)", "(ilam (!$n.1)", Rule::WellFormed),
            to("another Π", "(0 (pi ($n.1) (->", "(0 (pi ($m.3 $n.1) (->", Rule::ILam),
        ],
    },
    Case {
        name: "frames that agree by a check",
        ty: "(pi ($n.1 $m.2) (-> ((arr int $n.1) (arr int $m.2 3)) (arr int $m.2 3)))",
        body: "(0 (pi ($n.1 $m.2) (-> ((arr int $n.1) (arr int $m.2 3)) (arr int $m.2 3))) (ilam ($n.1 $m.2)
                 (1 (-> ((arr int $n.1) (arr int $m.2 3)) (arr int $m.2 3))
                   (lam ((%x.3 (arr int $n.1)) (%y.4 (arr int $m.2 3)))
                     (2 (arr int $m.2 3) (check (equal $n.1 $m.2) \"lengths\"
                       (3 (arr int $m.2 3) (map ($m.2 3)
                         (((%a.5 int) (4 (arr int $n.1 3) (replicate (3) ($n.1) (5 (arr int $n.1) (var %x.3)))))
                          ((%b.6 int) (6 (arr int $m.2 3) (var %y.4))))
                         (7 int (call PLUS (8 int (var %a.5)) (9 int (var %b.6))))))))))))",
        entry: "",
        mutations: &[to("no equation", "(equal $n.1 $m.2)", "(equal $n.1 $n.1)", Rule::Map)],
    },
    Case {
        name: "branches and loops",
        ty: "int",
        body: "(0 int (loop (((%i.1 int) (1 int (int 3)))) (2 bool (scalar bool false))
                 (4 int (if (5 bool (scalar bool true)) (6 int (var %i.1)) (7 int (int 2))))))",
        entry: "",
        mutations: &[
            to("condition no bool", "(5 bool (scalar bool true))", "(5 int (int 1))", Rule::If),
            to("second branch", "(7 int (int 2))", "(7 u8 (int 2))", Rule::If),
            to("next state", "(0 int (loop", "(0 u8 (loop", Rule::Loop),
            to("first value", "(1 int (int 3))", "(1 u8 (int 3))", Rule::Loop),
            to("loop condition", "(2 bool (scalar bool false))", "(2 int (int 1))", Rule::Loop),
        ],
    },
    Case {
        name: "box",
        ty: "(sigma ($k.1) (arr int $k.1))",
        body: "(0 (sigma ($n.1) (arr int $n.1)) (box ((dim 2))
                 (1 (arr int 2) (frame (2) (2 int (int 1)) (3 int (int 2))))))",
        entry: "",
        mutations: &[
            to("wrong witness", "(box ((dim 2))", "(box ((dim 3))", Rule::Box),
            to("no witness", "(box ((dim 2))", "(box ()", Rule::Box),
        ],
    },
    Case {
        name: "boxes, one after the other",
        ty: "(-> ((arr (sigma ($k.1) (arr int $k.1)) 4)) (arr int 4))",
        body: "(0 (-> ((arr (sigma ($k.1) (arr int $k.1)) 4)) (arr int 4))
                 (lam ((%b.1 (arr (sigma ($k.1) (arr int $k.1)) 4)))
                   (1 (arr int 4) (map (4)
                     (((%c.3 (sigma ($k.1) (arr int $k.1))) (2 (arr (sigma ($k.1) (arr int $k.1)) 4) (var %b.1))))
                     (4 int (unbox (5 (sigma ($k.1) (arr int $k.1)) (var %c.3)) ($k.3) (%x.2 (arr int $k.3))
                       (6 int (reify-dim $k.3))))))))",
        entry: "",
        mutations: &[
            to("contents of another type", "(%x.2 (arr int $k.3))", "(%x.2 (arr u8 $k.3))", Rule::Unbox),
            to("body mentions an index", "(6 int (reify-dim $k.3))", "(6 (arr int $k.3) (var %x.2))", Rule::Unbox),
            to("an array of boxes", "(4 int (unbox (5 (sigma ($k.1) (arr int $k.1)) (var %c.3))",
               "(4 (arr int 4) (unbox (5 (arr (sigma ($k.1) (arr int $k.1)) 4) (var %b.1))", Rule::Unbox),
            to("an index bound twice", "($k.3) (%x.2", "($k.3 $k.3) (%x.2", Rule::Binder),
            to("dim as bool", "(6 int (reify", "(6 bool (reify", Rule::ReifyDim),
        ],
    },
    Case {
        name: "lift",
        ty: "int",
        body: "(0 int (lift natural ($n.2) (1 int (int 5)) (2 int (reify-dim $n.2))))",
        entry: "",
        mutations: &[
            to("of no integer", "(1 int (int 5))", "(1 float (int 5))", Rule::Lift),
            to("index of any sign", "(lift natural", "(lift integer", Rule::Lift),
            to("result unlike the body", "(0 int (lift", "(0 u8 (lift", Rule::Lift),
        ],
    },
    Case {
        name: "shapes",
        ty: "(pi (@s.2) (-> ((arr int @s.2)) (tuple (arr int (rank @s.2)) (arr int (size @s.2)))))",
        body: "(0 (pi (@s.2) (-> ((arr int @s.2)) (tuple (arr int (rank @s.2)) (arr int (size @s.2))))) (ilam (@s.2)
                 (1 (-> ((arr int @s.2)) (tuple (arr int (rank @s.2)) (arr int (size @s.2)))) (lam ((%x.1 (arr int @s.2)))
                   (2 (tuple (arr int (rank @s.2)) (arr int (size @s.2))) (tuple
                     (3 (arr int (rank @s.2)) (reify-shape (@s.2)))
                     (4 (arr int (size @s.2)) (as-shape (5 (arr int @s.2) (var %x.1))))))))))",
        entry: "",
        mutations: &[
            to("shape of another rank", "(reify-shape (@s.2))", "(reify-shape (2 @s.2))", Rule::ReifyShape),
            to("as-shape to another atom", "(4 (arr int (size @s.2)) (as", "(4 (arr u8 (size @s.2)) (as", Rule::AsShape),
        ],
    },
    Case {
        name: "fields and casts",
        ty: "(-> ((arr (tuple int bool) 3)) (arr float 3))",
        body: "(0 (-> ((arr (tuple int bool) 3)) (arr float 3)) (lam ((%r.1 (arr (tuple int bool) 3)))
                 (1 (arr float 3) (map (3) (((%p.2 (tuple int bool)) (2 (arr (tuple int bool) 3) (var %r.1))))
                   (3 float (cast (4 int (field 0 (5 (tuple int bool) (var %p.2))))))))))",
        entry: "",
        mutations: &[
            to("no such field", "(field 0", "(field 2", Rule::Field),
            to("another field", "(field 0", "(field 1", Rule::Field),
            to("field of an array", "(3 float (cast (4 int (field 0 (5 (tuple int bool) (var %p.2))))))",
               "(4 (arr int 3) (field 0 (5 (arr (tuple int bool) 3) (var %r.1))))", Rule::Field),
            to("cast of a tuple", "(4 int (field 0 (5 (tuple int bool) (var %p.2))))",
               "(5 (tuple int bool) (var %p.2))", Rule::Cast),
            to("cast of an array", "(3 float (cast (4 int (field 0 (5 (tuple int bool) (var %p.2))))))",
               "(3 (arr float 1) (cast (3 (arr int 1) (frame (1) (4 int (int 1))))))", Rule::Cast),
        ],
    },
    Case {
        name: "entry",
        ty: "(pi ($n.1) (-> ((arr int $n.1)) int))",
        body: "(0 (pi ($n.1) (-> ((arr int $n.1)) int)) (ilam ($n.1)
                 (1 (-> ((arr int $n.1)) int) (lam ((%x.1 (arr int $n.1))) (2 int (reify-dim $n.1))))))",
        entry: "(entry ($n.1) ((\"x\" (arr int $n.1))) int)",
        mutations: &[
            to("parameter missing", "(\"x\" (arr int $n.1))", "", Rule::Entry),
            to("result of another type", "(\"x\" (arr int $n.1))) int)", "(\"x\" (arr int $n.1))) u8)", Rule::Entry),
        ],
    },
];

#[test]
fn well_typed_terms_are_accepted() {
    let globals = globals();
    for case in CASES {
        if let Err(e) = verify(&program(case.name, &case.text()), &globals) {
            panic!("{}: {e}", case.name);
        }
    }
}

#[test]
fn broken_terms_are_rejected_by_the_rule_they_break() {
    let globals = globals();
    let mut rules = BTreeSet::new();
    for case in CASES {
        for m in case.mutations {
            let text = case.text();
            assert_eq!(text.matches(m.from).count(), 1, "{}: {}: not in one place", case.name, m.name);
            let what = format!("{}: {}", case.name, m.name);
            match verify(&program(&what, &text.replace(m.from, m.to)), &globals) {
                Err(e) => assert_eq!(e.rule, m.rule, "{what}: {e}"),
                Ok(()) => panic!("{what}: accepted"),
            }
            rules.insert(m.rule);
        }
    }
    let untested: Vec<_> = Rule::ALL.iter().filter(|r| !rules.contains(r)).collect();
    assert!(untested.is_empty(), "no mutation breaks {untested:?}");
}

#[test]
fn the_cases_round_trip() {
    for case in CASES {
        let texts = case.mutations.iter().map(|m| case.text().replace(m.from, m.to));
        for text in texts.chain([case.text()]) {
            let before = program(case.name, &text);
            let printed = print_program(&[&before]);
            let after = program(case.name, &printed);
            assert_eq!(format!("{before:?}"), format!("{after:?}"));
            assert!(before == after, "{printed}");
        }
    }
}

/// The kinds of expressions. A new one stops this from compiling: give it a rule, a text form and a case
/// above. Typed's `app` is not among them, and may not come back.
fn kind(e: &Expr) -> Rule {
    match &*e.kind {
        ExprKind::Var(_) => Rule::Var,
        ExprKind::Global(_) => Rule::Global,
        ExprKind::Lit(_) => Rule::Lit,
        ExprKind::Frame { .. } => Rule::Frame,
        ExprKind::Lam { .. } => Rule::Lam,
        ExprKind::TLam { .. } => Rule::TLam,
        ExprKind::ILam { .. } => Rule::ILam,
        ExprKind::Call { .. } => Rule::Call,
        ExprKind::Map { .. } => Rule::Map,
        ExprKind::Replicate { .. } => Rule::Replicate,
        ExprKind::TApp { .. } => Rule::TApp,
        ExprKind::IApp { .. } => Rule::IApp,
        ExprKind::Let { .. } => Rule::Let,
        ExprKind::If { .. } => Rule::If,
        ExprKind::Box { .. } => Rule::Box,
        ExprKind::Unbox { .. } => Rule::Unbox,
        ExprKind::Lift { .. } => Rule::Lift,
        ExprKind::Check { .. } => Rule::Check,
        ExprKind::ReifyDim(_) => Rule::ReifyDim,
        ExprKind::ReifyShape(_) => Rule::ReifyShape,
        ExprKind::Tuple(_) => Rule::Tuple,
        ExprKind::Field { .. } => Rule::Field,
        ExprKind::Cast(_) => Rule::Cast,
        ExprKind::AsShape(_) => Rule::AsShape,
        ExprKind::Loop { .. } => Rule::Loop,
    }
}

#[test]
fn every_kind_of_expression_has_a_case() {
    let mut kinds = BTreeSet::new();
    for case in CASES {
        let def = program(case.name, &case.text());
        let mut stack = vec![&def.body];
        while let Some(e) = stack.pop() {
            kinds.insert(kind(e));
            stack.extend(e.children());
        }
    }
    let missing: Vec<_> = Rule::ALL.iter().filter(|r| **r < Rule::Scope && !kinds.contains(r)).collect();
    assert!(missing.is_empty(), "no case has {missing:?}");
}
