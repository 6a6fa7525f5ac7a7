//! Each rule of the verifier on a term that keeps it, and on that term with one thing broken.
//!
//! A case is a well-typed definition in the text form and a list of mutations of its text, each with
//! the rule that must reject it.

mod common;

use common::{definition, globals, program};
use remc_typed::ir::{Expr, ExprKind};
use remc_typed::parse::parse_program;
use remc_typed::print::print_program;
use remc_typed::verify::{Rule, verify};
use std::collections::BTreeSet;
use std::sync::Arc;

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

impl Case {
    fn text(&self) -> String {
        definition(self.ty, self.body, self.entry)
    }

    fn mutated(&self) -> impl Iterator<Item = String> {
        self.mutations.iter().map(|m| self.text().replace(m.from, m.to))
    }
}

const fn to(name: &'static str, from: &'static str, to: &'static str, rule: Rule) -> Mutation {
    Mutation { name, from, to, rule }
}

const CASES: &[Case] = &[
    Case {
        name: "let",
        ty: "int",
        body: "(0 int (let (%x.1 int) (1 int (int 3)) (2 int (var %x.1))))",
        entry: "",
        mutations: &[
            to("value of another type", "(1 int (int 3))", "(1 float (int 3))", Rule::Let),
            to("result of another type", "(0 int (let", "(0 float (let", Rule::Let),
            to("unbound variable", "(var %x.1)", "(var %x.2)", Rule::Var),
            to("variable at another type", "(2 int (var", "(2 bool (var", Rule::Var),
            to("declared type differs", "(type int)", "(type float)", Rule::Definition),
            to("existential type", "(%x.1 int)", "(%x.1 ?1)", Rule::Existential),
            to("existential shape", "(%x.1 int)", "(%x.1 (arr int ?@1))", Rule::Existential),
            to("existential dim", "(%x.1 int)", "(%x.1 (arr int ?1))", Rule::Existential),
            to("variable used in its own value", "(1 int (int 3))", "(1 int (var %x.1))", Rule::Var),
        ],
    },
    Case {
        name: "literals",
        ty: "(tuple int u8 float f16 bool char)",
        body: "(0 (tuple int u8 float f16 bool char) (tuple (1 int (scalar int -3)) (2 u8 (int 200))
                 (3 float (float #x3ff8000000000000)) (4 f16 (int 7)) (5 bool (scalar bool true))
                 (6 char (scalar char 955))))",
        entry: "",
        mutations: &[
            to("integer out of range", "(int 200)", "(int 256)", Rule::Lit),
            to("negative at an unsigned type", "(int 200)", "(int -1)", Rule::Lit),
            to("too large for a float type", "(int 7)", "(int 70000)", Rule::Lit),
            to("decimal at an integer type", "(int 200)", "(float #x3ff8000000000000)", Rule::Lit),
            to("scalar of another type", "(scalar int -3)", "(scalar i32 -3)", Rule::Lit),
            to("integer as bool", "(scalar bool true)", "(int 1)", Rule::Lit),
            to("literal with a shape", "(6 char (scalar", "(6 (arr char 1) (scalar", Rule::Lit),
            to("part of another type", "(0 (tuple int u8", "(0 (tuple int i8", Rule::Tuple),
            to("missing part", "(6 char (scalar char 955))", "", Rule::Tuple),
            to("not a tuple type", "(0 (tuple int u8 float f16 bool char) (", "(0 int (", Rule::Tuple),
        ],
    },
    Case {
        name: "polymorphic function",
        ty: "(forall ((^t.1 num)) (-> (^t.1) ^t.1))",
        body: "(0 (forall ((^t.1 num)) (-> (^t.1) ^t.1)) (tlam ((^t.1 num))
                 (1 (-> (^t.1) ^t.1) (lam ((%x.2 ^t.1))
                   (2 ^t.1 (app ()
                     (3 (-> (^t.1 ^t.1) ^t.1) (t-app
                       (4 (forall ((^a.9 num)) (-> (^a.9 ^a.9) ^a.9)) (global 0 \"+\"))
                       (atom ^t.1)))
                     ((5 ^t.1 (var %x.2)) ()) ((6 ^t.1 (int 1)) ())))))))",
        entry: "",
        mutations: &[
            to("argument not in the class", "(tlam ((^t.1 num))", "(tlam ((^t.1 eq))", Rule::Class),
            to("another class in the type", "(tlam ((^t.1 num))", "(tlam ((^t.1 int))", Rule::TLam),
            to("another kind in the type", "(tlam ((^t.1 num))", "(tlam ((^t.1 @s.7 num))", Rule::TLam),
            to("decimal at a numeric type", "(int 1)", "(float #x3ff8000000000000)", Rule::Lit),
            to("unknown global", "(global 0 \"+\")", "(global 0 \"plus\")", Rule::Global),
            to("global at another type", "((^a.9 num))", "((^a.9 int))", Rule::Global),
            to("too many type arguments", "(atom ^t.1)", "(atom ^t.1) (atom ^t.1)", Rule::TApp),
            to("no type argument", "(atom ^t.1)", "", Rule::TApp),
            to("type argument of another kind", "(atom ^t.1)", "(array ^t.1)", Rule::TApp),
            to("another instance", "(3 (-> (^t.1 ^t.1)", "(3 (-> (^t.1 int)", Rule::TApp),
            to("type variable out of scope", "(atom ^t.1)", "(atom ^t.7)", Rule::Scope),
            to("type argument to a value", "(4 (forall ((^a.9 num)) (-> (^a.9 ^a.9) ^a.9)) (global 0 \"+\"))",
               "(4 ^t.1 (var %x.2))", Rule::TApp),
            to("result of another type", "(1 (-> (^t.1) ^t.1)", "(1 (-> (^t.1) int)", Rule::Lam),
            to("a parameter more", "(1 (-> (^t.1) ^t.1)", "(1 (-> (^t.1 int) ^t.1)", Rule::Lam),
            to("λ with a shape", "(1 (-> (^t.1) ^t.1)", "(1 (arr (-> (^t.1) ^t.1) 2)", Rule::Lam),
            to("reserved id", "(tlam ((^t.1 num))", "(tlam ((^t.536870912 num))", Rule::Binder),
        ],
    },
    Case {
        name: "array-kinded parameter",
        ty: "(arr int 2)",
        body: "(0 (arr int 2) (app ()
                 (1 (-> ((arr int 2)) (arr int 2)) (t-app
                   (2 (forall ((^@t.1 @t.2)) (-> ((arr ^@t.1 @t.2)) (arr ^@t.1 @t.2))) (global 0 \"same\"))
                   (array (arr int 2))))
                 ((3 (arr int 2) (frame (2) (4 int (int 1)) (5 int (int 2)))) ())))",
        entry: "",
        mutations: &[
            to("atom for an array kind", "(array (arr int 2))", "(atom int)", Rule::TApp),
            to("array of another shape", "(array (arr int 2))", "(array (arr int 3))", Rule::TApp),
        ],
    },
    Case {
        name: "implicit lifting",
        ty: "(-> ((arr int 2 3) (arr int 2)) (arr int 2 3))",
        body: "(0 (-> ((arr int 2 3) (arr int 2)) (arr int 2 3))
                 (lam ((%m.1 (arr int 2 3)) (%v.2 (arr int 2)))
                   (1 (arr int 2 3) (app (2 3)
                     (2 (-> (int int) int) (t-app
                       (3 (forall ((^a.9 num)) (-> (^a.9 ^a.9) ^a.9)) (global 0 \"+\")) (atom int)))
                     ((4 (arr int 2 3) (var %m.1)) (2 3)) ((5 (arr int 2) (var %v.2)) (2))))))",
        entry: "",
        mutations: &[
            to("frame that is no prefix", "(var %v.2)) (2))", "(var %v.2)) (3))", Rule::App),
            to("frame without the cell", "(var %v.2)) (2))", "(var %v.2)) ())", Rule::App),
            to("principal frame of nobody", "(app (2 3)", "(app (2 3 4)", Rule::App),
            to("principal frame too short", "(app (2 3)", "(app (2)", Rule::App),
            to("result without the frame", "(1 (arr int 2 3) (app", "(1 (arr int 2) (app", Rule::App),
            to("argument of another type", "(atom int)", "(atom float)", Rule::TApp),
            to("argument missing", "((5 (arr int 2) (var %v.2)) (2))", "", Rule::App),
            to("no function", "(2 (-> (int int) int) (t-app
                       (3 (forall ((^a.9 num)) (-> (^a.9 ^a.9) ^a.9)) (global 0 \"+\")) (atom int)))",
               "(2 int (int 1))", Rule::App),
            to("class of a base type", "(atom int)", "(atom bool)", Rule::Class),
            to("frame out of scope", "(app (2 3)", "(app (2 $n.8)", Rule::Scope),
        ],
    },
    Case {
        name: "array of functions",
        ty: "(-> ((arr (-> (int) int) 2)) (arr int 2))",
        body: "(0 (-> ((arr (-> (int) int) 2)) (arr int 2)) (lam ((%f.1 (arr (-> (int) int) 2)))
                 (1 (arr int 2) (app (2) (2 (arr (-> (int) int) 2) (var %f.1)) ((3 int (int 5)) ())))))",
        entry: "",
        mutations: &[
            to("function's frame forgotten", "(1 (arr int 2) (app (2)", "(1 int (app ()", Rule::App),
            to("function's frame no prefix", "(1 (arr int 2) (app (2)", "(1 (arr int 3) (app (3)", Rule::App),
        ],
    },
    Case {
        name: "frames",
        ty: "(tuple (arr int 2 2) (arr float 0 3))",
        body: "(0 (tuple (arr int 2 2) (arr float 0 3)) (tuple
                 (1 (arr int 2 2) (frame (2)
                   (2 (arr int 2) (frame (2) (3 int (int 1)) (4 int (int 2))))
                   (5 (arr int 2) (frame (2) (6 int (int 3)) (7 int (int 4))))))
                 (8 (arr float 0 3) (frame (0)))))",
        entry: "",
        mutations: &[
            to("element of another type", "(7 int (int 4))", "(7 i32 (int 4))", Rule::Frame),
            to("element missing", "(7 int (int 4))", "", Rule::Frame),
            to("one dim too many", "(frame (2) (6", "(frame (2 2) (6", Rule::Frame),
            to("another shape", "(5 (arr int 2) (frame", "(5 (arr int 3) (frame", Rule::Frame),
            to("no element", "(frame (0))", "(frame (1))", Rule::Frame),
            to("dims that are not its type's", "(frame (0))", "(frame (3 0))", Rule::Frame),
            to("negative dim", "(frame (0))", "(frame (0 -3))", Rule::Natural),
        ],
    },
    Case {
        name: "reduce of a non-empty vector",
        ty: "(pi ($n.1) (-> ((arr int (+ 1 $n.1))) int))",
        body: "(0 (pi ($n.1) (-> ((arr int (+ 1 $n.1))) int)) (ilam ($n.1)
                 (1 (-> ((arr int (+ 1 $n.1))) int) (lam ((%x.2 (arr int (+ 1 $n.1))))
                   (2 int (app ()
                     (3 (-> ((-> (int int) int) (arr int (+ 1 $n.1))) int) (t-app
                       (4 (forall ((^a.8)) (-> ((-> (^a.8 ^a.8) ^a.8) (arr ^a.8 (+ 1 $n.1))) ^a.8)) (i-app
                         (5 (pi ($d-1.5 @item-pad.6 @cell.7) (forall ((^a.8)) (->
                              ((-> ((arr ^a.8 @cell.7) (arr ^a.8 @cell.7)) (arr ^a.8 @cell.7))
                               (arr ^a.8 (+ 1 $d-1.5) @item-pad.6 @cell.7))
                              (arr ^a.8 @item-pad.6 @cell.7)))) (global 0 \"reduce\"))
                         (dim $n.1) (shape) (shape)))
                       (atom int)))
                     ((6 (-> (int int) int) (t-app
                        (7 (forall ((^a.9 num)) (-> (^a.9 ^a.9) ^a.9)) (global 0 \"+\")) (atom int))) ())
                     ((8 (arr int (+ 1 $n.1)) (var %x.2)) ())))))))",
        entry: "",
        mutations: &[
            to("index of another sort", "(dim $n.1) (shape)", "(shape $n.1) (shape)", Rule::IApp),
            to("index missing", "(dim $n.1) (shape)", "(dim $n.1)", Rule::IApp),
            to("negative index", "(dim $n.1) (shape)", "(dim (+ -1 $n.1)) (shape)", Rule::Natural),
            to("negative dim in a shape", "(shape) (shape)", "(shape (+ -1 $n.1)) (shape)", Rule::Natural),
            to("another instance", "(dim $n.1) (shape)", "(dim (+ 1 $n.1)) (shape)", Rule::IApp),
            to("index out of scope", "(dim $n.1) (shape)", "(dim $n.3) (shape)", Rule::Scope),
            to("existential index", "(dim $n.1) (shape)", "(dim ?7) (shape)", Rule::Existential),
            to("index argument to a value", "(5 (pi ($d-1.5 @item-pad.6 @cell.7) (forall ((^a.8)) (->
                              ((-> ((arr ^a.8 @cell.7) (arr ^a.8 @cell.7)) (arr ^a.8 @cell.7))
                               (arr ^a.8 (+ 1 $d-1.5) @item-pad.6 @cell.7))
                              (arr ^a.8 @item-pad.6 @cell.7)))) (global 0 \"reduce\"))",
               "(5 int (int 1))", Rule::IApp),
            to("dim of any sign", "(ilam ($n.1)", "(ilam (!$n.1)", Rule::WellFormed),
            to("shape bound, dim used", "(ilam ($n.1)", "(ilam (@n.1)", Rule::WellFormed),
            to("type hides a variable", "(pi ($d-1.5", "(pi ($n.1", Rule::Binder),
            to("Π over another sort", "(0 (pi ($n.1) (->", "(0 (pi ($m.3 $n.1) (->", Rule::ILam),
        ],
    },
    Case {
        name: "a check that a vector is not empty",
        ty: "(pi ($n.1) (-> ((arr int $n.1)) int))",
        body: "(0 (pi ($n.1) (-> ((arr int $n.1)) int)) (ilam ($n.1)
                 (1 (-> ((arr int $n.1)) int) (lam ((%x.2 (arr int $n.1)))
                   (2 int (check (non-negative (+ -1 $n.1)) \"head\" (3 int (app ()
                     (4 (-> ((arr int $n.1)) int) (i-app
                       (5 (pi ($d.5) (-> ((arr int (+ 1 $d.5))) int)) (global 0 \"head\"))
                       (dim (+ -1 $n.1))))
                     ((6 (arr int $n.1) (var %x.2)) ())))))))))",
        entry: "",
        mutations: &[
            to("a weaker fact", "(non-negative (+ -1 $n.1))", "(non-negative $n.1)", Rule::Natural),
            to("another fact", "(non-negative (+ -1 $n.1))", "(equal $n.1 $n.1)", Rule::Natural),
            to("fact out of scope", "(non-negative (+ -1 $n.1))", "(non-negative $m.9)", Rule::Scope),
            to("body of another type", "(2 int (check", "(2 bool (check", Rule::Check),
        ],
    },
    Case {
        name: "a value in scope has natural dims",
        ty: "(pi ($n.1) (-> ((arr int (+ -1 $n.1))) (arr int (+ -1 $n.1))))",
        body: "(0 (pi ($n.1) (-> ((arr int (+ -1 $n.1))) (arr int (+ -1 $n.1)))) (ilam ($n.1)
                 (1 (-> ((arr int (+ -1 $n.1))) (arr int (+ -1 $n.1))) (lam ((%x.2 (arr int (+ -1 $n.1))))
                   (2 (arr int (+ -1 $n.1)) (i-app (3 (pi (@s.9) (arr int @s.9)) (global 0 \"iota\"))
                     (shape (+ -1 $n.1))))))))",
        entry: "",
        mutations: &[to("no such value", "(%x.2 (arr int (+ -1 $n.1)))", "(%x.2 int)", Rule::Natural)],
    },
    Case {
        name: "a check that lengths agree",
        ty: "(pi ($n.1 $m.2) (-> ((arr int $n.1) (arr int $m.2 2)) (arr int $n.1)))",
        body: "(0 (pi ($n.1 $m.2) (-> ((arr int $n.1) (arr int $m.2 2)) (arr int $n.1))) (ilam ($n.1 $m.2)
                 (1 (-> ((arr int $n.1) (arr int $m.2 2)) (arr int $n.1))
                   (lam ((%x.3 (arr int $n.1)) (%y.4 (arr int $m.2 2)))
                     (2 (arr int $n.1) (check (equal $n.1 (* 2 $m.2)) \"lengths\"
                       (3 (arr int (* 2 $m.2)) (app ((* 2 $m.2))
                         (4 (-> (int int) int) (t-app
                           (5 (forall ((^a.9 num)) (-> (^a.9 ^a.9) ^a.9)) (global 0 \"+\")) (atom int)))
                         ((6 (arr int $n.1) (var %x.3)) ($n.1))
                         ((7 (arr int (* 2 $m.2)) (as-shape (8 (arr int $m.2 2) (var %y.4)))) ((* 2 $m.2)))
                       ))))))))",
        entry: "",
        mutations: &[
            to("no equation", "(equal $n.1 (* 2 $m.2))", "(equal $n.1 $n.1)", Rule::App),
            to("another equation", "(equal $n.1 (* 2 $m.2))", "(equal $n.1 (* 3 $m.2))", Rule::App),
            to("result unlike the body", "(2 (arr int $n.1) (check", "(2 (arr int $m.2) (check", Rule::Check),
            to("as-shape to another type", "(7 (arr int (* 2", "(7 (arr bool (* 2", Rule::AsShape),
        ],
    },
    Case {
        name: "if",
        ty: "int",
        body: "(0 int (if (1 bool (scalar bool true)) (2 int (int 1)) (3 int (int 2))))",
        entry: "",
        mutations: &[
            to("condition no bool", "(1 bool (scalar bool true))", "(1 int (int 1))", Rule::If),
            to("condition no scalar", "(1 bool (scalar bool true))",
               "(1 (arr bool 1) (frame (1) (1 bool (scalar bool true))))", Rule::If),
            to("first branch", "(2 int (int 1))", "(2 u8 (int 1))", Rule::If),
            to("second branch", "(3 int (int 2))", "(3 u8 (int 2))", Rule::If),
            to("result", "(0 int (if", "(0 u8 (if", Rule::If),
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
            to("witness of another sort", "(box ((dim 2))", "(box ((shape 2))", Rule::Box),
            to("no witness", "(box ((dim 2))", "(box ()", Rule::Box),
            to("negative witness", "(box ((dim 2))", "(box ((dim -2))", Rule::Natural),
            to("no box type", "(0 (sigma ($n.1) (arr int $n.1)) (box", "(0 int (box", Rule::Box),
            to("array of boxes", "(0 (sigma ($n.1) (arr int $n.1)) (box",
               "(0 (arr (sigma ($n.1) (arr int $n.1)) 1) (box", Rule::Box),
            to("contents of another type", "(0 (sigma ($n.1) (arr int $n.1))",
               "(0 (sigma ($n.1) (arr bool $n.1))", Rule::Box),
        ],
    },
    Case {
        name: "unbox",
        ty: "(-> ((arr (sigma ($k.1 @s.2) (arr int $k.1 @s.2)) 4)) (arr int 4))",
        body: "(0 (-> ((arr (sigma ($k.1 @s.2) (arr int $k.1 @s.2)) 4)) (arr int 4))
                 (lam ((%b.1 (arr (sigma ($k.1 @s.2) (arr int $k.1 @s.2)) 4)))
                   (1 (arr int 4) (unbox (2 (arr (sigma ($k.1 @s.2) (arr int $k.1 @s.2)) 4) (var %b.1))
                     ($k.3 @s.4) (%x.2 (arr int $k.3 @s.4)) (3 int (reify-dim $k.3))))))",
        entry: "",
        mutations: &[
            to("contents of another type", "(%x.2 (arr int $k.3 @s.4))", "(%x.2 (arr int $k.3))", Rule::Unbox),
            to("index missing", "($k.3 @s.4)", "($k.3)", Rule::Scope),
            to("one index more", "($k.3 @s.4)", "($k.3 @s.4 $k.5)", Rule::Unbox),
            to("indices of other sorts", "($k.3 @s.4) (%x.2 (arr int $k.3 @s.4))",
               "(@s.4 $k.3) (%x.2 (arr int @s.4 $k.3))", Rule::Unbox),
            to("index of any sign", "($k.3 @s.4) (%x.2 (arr int $k.3 @s.4)) (3 int (reify-dim $k.3))",
               "(!$k.3 @s.4) (%x.2 (arr int !$k.3 @s.4)) (3 int (reify-dim !$k.3))", Rule::Unbox),
            to("body mentions an index", "(3 int (reify-dim $k.3))", "(3 (arr int $k.3 @s.4) (var %x.2))",
               Rule::Unbox),
            to("result without the frame", "(1 (arr int 4) (unbox", "(1 int (unbox", Rule::Unbox),
            to("index bound in the type too", "($k.3 @s.4) (%x.2 (arr int $k.3 @s.4)) (3 int (reify-dim $k.3))",
               "($k.1 @s.2) (%x.2 (arr int $k.1 @s.2))
                (3 int (let (%c.5 (arr (sigma ($k.1 @s.2) (arr int $k.1 @s.2)) 4))
                  (2 (arr (sigma ($k.1 @s.2) (arr int $k.1 @s.2)) 4) (var %b.1)) (4 int (int 1))))", Rule::Binder),
            to("no box", "(2 (arr (sigma ($k.1 @s.2) (arr int $k.1 @s.2)) 4) (var %b.1))",
               "(2 (arr int 1) (frame (1) (2 int (int 1))))", Rule::Unbox),
        ],
    },
    Case {
        name: "lift of a natural",
        ty: "(sigma ($k.1) (arr int $k.1))",
        body: "(0 (sigma ($k.1) (arr int $k.1)) (lift natural ($n.2) (1 int (int 5))
                 (2 (sigma ($k.1) (arr int $k.1)) (box ((dim $n.2))
                   (3 (arr int $n.2) (i-app (4 (pi (@s.9) (arr int @s.9)) (global 0 \"iota\"))
                     (shape $n.2)))))))",
        entry: "",
        mutations: &[
            to("of no integer", "(1 int (int 5))", "(1 float (int 5))", Rule::Lift),
            to("of an array", "(1 int (int 5))", "(1 (arr int 1) (frame (1) (1 int (int 5))))", Rule::Lift),
            to("as a shape", "(lift natural", "(lift shape", Rule::Lift),
            to("index of any sign", "(lift natural", "(lift integer", Rule::Lift),
            to("as dims", "(lift natural", "(lift dims", Rule::Lift),
            to("two indices", "($n.2)", "($n.2 $m.3)", Rule::Lift),
            to("result unlike the body", "(0 (sigma ($k.1) (arr int $k.1)) (lift",
               "(0 (sigma (@k.1) (arr int @k.1)) (lift", Rule::Lift),
            to("body mentions the index", "(2 (sigma ($k.1) (arr int $k.1)) (box ((dim $n.2))
                   (3 (arr int $n.2) (i-app (4 (pi (@s.9) (arr int @s.9)) (global 0 \"iota\"))
                     (shape $n.2)))))",
               "(3 (arr int $n.2) (i-app (4 (pi (@s.9) (arr int @s.9)) (global 0 \"iota\")) (shape $n.2)))",
               Rule::Lift),
        ],
    },
    Case {
        name: "lift of integers",
        ty: "(sigma ($a.7 $b.8) (arr int $a.7 $b.8))",
        body: "(0 (sigma ($a.7 $b.8) (arr int $a.7 $b.8)) (lift dims (!$n.2 !$m.3)
                 (1 (arr int 2) (frame (2) (1 int (int 5)) (1 int (int 6))))
                 (2 (sigma ($a.7 $b.8) (arr int $a.7 $b.8)) (check (non-negative (+ -1 !$n.2)) \"n\"
                   (3 (sigma ($a.7 $b.8) (arr int $a.7 $b.8)) (check (non-negative !$m.3) \"m\"
                     (4 (sigma ($a.7 $b.8) (arr int $a.7 $b.8)) (box ((dim (+ -1 !$n.2)) (dim !$m.3))
                       (5 (arr int (+ -1 !$n.2) !$m.3) (i-app
                         (6 (pi (@s.9) (arr int @s.9)) (global 0 \"iota\"))
                         (shape (+ -1 !$n.2) !$m.3)))))))))))",
        entry: "",
        mutations: &[
            to("no check of the first", "(non-negative (+ -1 !$n.2))", "(non-negative 0)", Rule::Natural),
            to("a weaker check", "(non-negative (+ -1 !$n.2))", "(non-negative !$n.2)", Rule::Natural),
            to("no check of the second", "(non-negative !$m.3)", "(non-negative 0)", Rule::Natural),
            to("another length", "(1 (arr int 2) (frame (2) (1 int (int 5)) (1 int (int 6))))",
               "(1 (arr int 1) (frame (1) (1 int (int 5))))", Rule::Lift),
            to("bound twice", "(!$n.2 !$m.3)", "(!$n.2 !$n.2 !$m.3)", Rule::Binder),
        ],
    },
    Case {
        name: "lift of a shape",
        ty: "(pi ($r.1) (-> ((arr int $r.1)) (sigma (@s.2) (arr int @s.2))))",
        body: "(0 (pi ($r.1) (-> ((arr int $r.1)) (sigma (@s.2) (arr int @s.2)))) (ilam ($r.1)
                 (1 (-> ((arr int $r.1)) (sigma (@s.2) (arr int @s.2))) (lam ((%v.1 (arr int $r.1)))
                   (2 (sigma (@s.2) (arr int @s.2)) (lift shape (@z.4) (3 (arr int $r.1) (var %v.1))
                     (4 (sigma (@s.2) (arr int @s.2)) (box ((shape @z.4))
                       (5 (arr int @z.4) (i-app (6 (pi (@s.9) (arr int @s.9)) (global 0 \"iota\"))
                         (shape @z.4)))))))))))",
        entry: "",
        mutations: &[to("of a scalar", "(3 (arr int $r.1) (var %v.1))", "(3 int (int 2))", Rule::Lift)],
    },
    Case {
        name: "reified indices",
        ty: "(pi ($n.1 @s.2) (tuple f32 (arr u8 (+ 1 (rank @s.2)))))",
        body: "(0 (pi ($n.1 @s.2) (tuple f32 (arr u8 (+ 1 (rank @s.2))))) (ilam ($n.1 @s.2)
                 (1 (tuple f32 (arr u8 (+ 1 (rank @s.2)))) (tuple
                   (2 f32 (reify-dim (* 2 $n.1 (size @s.2))))
                   (3 (arr u8 (+ 1 (rank @s.2))) (reify-shape ($n.1 @s.2)))))))",
        entry: "",
        mutations: &[
            to("dim as bool", "(2 f32 (reify", "(2 bool (reify", Rule::ReifyDim),
            to("dim as vector", "(2 f32 (reify", "(2 (arr f32 1) (reify", Rule::ReifyDim),
            to("dim out of scope", "(* 2 $n.1 (size @s.2))", "(* 2 $n.3)", Rule::Scope),
            to("size of no shape", "(size @s.2)", "(size $n.1)", Rule::WellFormed),
            to("size of a shape out of scope", "(size @s.2)", "(size @s.3)", Rule::Scope),
            to("size of an existential", "(size @s.2)", "(size ?@3)", Rule::Existential),
            to("shape of another rank", "(reify-shape ($n.1 @s.2))", "(reify-shape (@s.2))", Rule::ReifyShape),
            to("shape as floats", "(3 (arr u8", "(3 (arr f32", Rule::ReifyShape),
        ],
    },
    Case {
        name: "fields",
        ty: "(-> ((arr (record (\"a\" int) (\"b\" (arr bool 2))) 3)) (arr bool 3 2))",
        body: "(0 (-> ((arr (record (\"a\" int) (\"b\" (arr bool 2))) 3)) (arr bool 3 2))
                 (lam ((%r.1 (arr (record (\"a\" int) (\"b\" (arr bool 2))) 3)))
                   (1 (arr bool 3 2) (field 1
                     (2 (arr (record (\"a\" int) (\"b\" (arr bool 2))) 3) (var %r.1))))))",
        entry: "",
        mutations: &[
            to("no such field", "(field 1", "(field 2", Rule::Field),
            to("another field", "(field 1", "(field 0", Rule::Field),
            to("field without the frame", "(1 (arr bool 3 2)", "(1 (arr bool 2)", Rule::Field),
            to("no tuple", "(2 (arr (record (\"a\" int) (\"b\" (arr bool 2))) 3) (var %r.1))", "(2 int (int 1))",
               Rule::Field),
            to("another label", "(2 (arr (record (\"a\" int)", "(2 (arr (record (\"c\" int)", Rule::Var),
        ],
    },
    Case {
        name: "cast",
        ty: "(arr f32 2)",
        body: "(0 (arr f32 2) (cast (1 (arr int 2) (frame (2) (2 int (int 1)) (3 int (int 2))))))",
        entry: "",
        mutations: &[
            to("another shape", "(0 (arr f32 2) (cast", "(0 (arr f32 3) (cast", Rule::Cast),
            to("no base type", "(0 (arr f32 2) (cast", "(0 (arr (tuple) 2) (cast", Rule::Cast),
            to("of tuples", "(1 (arr int 2) (frame (2) (2 int (int 1)) (3 int (int 2))))", "(1 (tuple) (tuple))",
               Rule::Cast),
        ],
    },
    Case {
        name: "as-shape",
        ty: "(arr int 2 1)",
        body: "(0 (arr int 2 1) (as-shape (1 (arr int 2) (frame (2) (2 int (int 1)) (3 int (int 2))))))",
        entry: "",
        mutations: &[to("another type", "(0 (arr int 2 1)", "(0 (arr bool 2 1)", Rule::AsShape)],
    },
    Case {
        name: "loop",
        ty: "(tuple int bool)",
        body: "(0 (tuple int bool) (loop (((%i.1 int) (1 int (int 0))) ((%b.2 bool) (2 bool (scalar bool true))))
                 (3 bool (var %b.2))
                 (4 (tuple int bool) (tuple (5 int (var %i.1)) (6 bool (scalar bool false))))))",
        entry: "",
        mutations: &[
            to("first value", "(1 int (int 0))", "(1 u8 (int 0))", Rule::Loop),
            to("condition", "(3 bool (var %b.2))", "(3 int (var %i.1))", Rule::Loop),
            to("next state", "(4 (tuple int bool) (tuple (5 int (var %i.1)) (6 bool (scalar bool false))))",
               "(4 int (var %i.1))", Rule::Loop),
            to("result", "(0 (tuple int bool) (loop", "(0 int (loop", Rule::Loop),
            to("state used in a first value", "(2 bool (scalar bool true))", "(2 bool (var %b.2))", Rule::Var),
        ],
    },
    Case {
        name: "loop over one variable",
        ty: "int",
        body: "(0 int (loop (((%i.1 int) (1 int (int 0)))) (2 bool (scalar bool false)) (3 int (var %i.1))))",
        entry: "",
        mutations: &[to("a tuple of one", "(0 int (loop", "(0 (tuple int) (loop", Rule::Loop)],
    },
    Case {
        name: "binders",
        ty: "int",
        body: "(0 int (let (%x.1 int) (1 int (int 3)) (2 int (let (%x.2 int) (3 int (int 4))
                 (4 int (let (%f.3 (pi ($n.1) (forall ((^t.1)) (-> ((arr ^t.1 $n.1)) int))))
                   (5 (pi ($n.1) (forall ((^t.1)) (-> ((arr ^t.1 $n.1)) int))) (ilam ($n.1)
                     (6 (forall ((^t.1)) (-> ((arr ^t.1 $n.1)) int)) (tlam ((^t.1))
                       (7 (-> ((arr ^t.1 $n.1)) int) (lam ((%y.4 (arr ^t.1 $n.1))) (8 int (int 1))))))))
                   (9 int (var %x.2))))))))",
        entry: "",
        mutations: &[
            to("value bound twice", "(let (%x.2 int)", "(let (%x.1 int)", Rule::Binder),
            to("λ binds it again", "(lam ((%y.4", "(lam ((%y.1", Rule::Binder),
            to("type variable hidden in a type", "(8 int (int 1))",
               "(8 int (let (%z.7 (forall ((^t.1)) ^t.1)) (8 int (int 1)) (8 int (int 1))))", Rule::Binder),
            to("a type hides its own variable", "(%x.2 int)", "(%x.2 (pi ($n.1) (pi ($n.1) int)))", Rule::Binder),
            to("type variable out of scope", "(9 int", "(9 ^t.1", Rule::Scope),
            to("index variable out of scope", "(9 int", "(9 (arr int $n.1)", Rule::Scope),
        ],
    },
    Case {
        name: "quotients",
        ty: "(forall ((^t.1 num)) (-> (^t.1) (quot ^t.1)))",
        body: "(0 (forall ((^t.1 num)) (-> (^t.1) (quot ^t.1))) (tlam ((^t.1 num))
                 (1 (-> (^t.1) (quot ^t.1)) (lam ((%x.2 ^t.1))
                   (2 (quot ^t.1) (app () (3 (-> (^t.1) (quot ^t.1)) (t-app
                     (4 (forall ((^a.9 num)) (-> (^a.9) (quot ^a.9))) (global 0 \"sqrt\")) (atom ^t.1)))
                     ((5 ^t.1 (var %x.2)) ())))))))",
        entry: "",
        mutations: &[
            to("of a base type", "(2 (quot ^t.1)", "(2 (quot int)", Rule::WellFormed),
            to("of a quotient", "(2 (quot ^t.1)", "(2 (quot (quot ^t.1))", Rule::WellFormed),
            to("of a type in no class", "(tlam ((^t.1 num))", "(tlam ((^t.1))", Rule::WellFormed),
            to("an existential inside", "(2 (quot ^t.1)", "(2 (quot ?1)", Rule::WellFormed),
        ],
    },
    Case {
        name: "instance of a quotient",
        ty: "(-> (u8) float)",
        body: "(3 (-> (u8) float) (t-app
                 (4 (forall ((^a.9 num)) (-> (^a.9) (quot ^a.9))) (global 0 \"sqrt\")) (atom u8)))",
        entry: "",
        mutations: &[
            to("computed wrongly", "(3 (-> (u8) float)", "(3 (-> (u8) u8)", Rule::TApp),
            to("at a type without one", "(atom u8)", "(atom bool)", Rule::Class),
        ],
    },
    Case {
        name: "entry",
        ty: "(pi ($n.1) (-> ((arr f32 $n.1) int) (arr f32 $n.1)))",
        body: "(0 (pi ($n.1) (-> ((arr f32 $n.1) int) (arr f32 $n.1))) (ilam ($n.1)
                 (1 (-> ((arr f32 $n.1) int) (arr f32 $n.1)) (lam ((%xs.1 (arr f32 $n.1)) (%k.2 int))
                   (2 (arr f32 $n.1) (var %xs.1))))))",
        entry: "(entry ($n.1) ((\"xs\" (arr f32 $n.1)) (\"k\" int)) (arr f32 $n.1))",
        mutations: &[
            to("parameter of another type", "(\"k\" int)", "(\"k\" float)", Rule::Entry),
            to("parameter missing", "(\"k\" int)", "", Rule::Entry),
            to("result of another type", "(\"k\" int)) (arr f32 $n.1)", "(\"k\" int)) f32", Rule::Entry),
            to("index missing", "(entry ($n.1)", "(entry ()", Rule::Scope),
            to("index of another sort", "(entry ($n.1)", "(entry ($n.1 $m.2)", Rule::Entry),
        ],
    },
    Case {
        name: "entry without indices",
        ty: "(-> () int)",
        body: "(0 (-> () int) (lam () (1 int (int 1))))",
        entry: "(entry () () int)",
        mutations: &[
            to("no function", "(0 (-> () int) (lam () (1 int (int 1))))",
               "(0 (-> () int) (let (%f.1 (-> () int)) (0 (-> () int) (lam () (1 int (int 1))))
                  (0 (-> () int) (var %f.1))))", Rule::Entry),
        ],
    },
];

#[test]
fn well_typed_terms_are_accepted() {
    let globals = globals();
    for case in CASES {
        for def in program(case.name, &case.text()) {
            if let Err(e) = verify(&def, &globals) {
                panic!("{}: {e}", case.name);
            }
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
            let text = text.replace(m.from, m.to);
            let what = format!("{}: {}", case.name, m.name);
            let rejected: Vec<_> =
                program(&what, &text).iter().filter_map(|d| verify(d, &globals).err()).collect();
            match rejected.as_slice() {
                [e] => assert_eq!(e.rule, m.rule, "{what}: {e}"),
                _ => panic!("{what}: accepted"),
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
        for text in std::iter::once(case.text()).chain(case.mutated()) {
            let before: Vec<_> = program(case.name, &text).into_iter().map(Arc::new).collect();
            let printed = print_program(&before);
            let after = parse_program(&printed).unwrap_or_else(|e| panic!("{}: {e}\n{printed}", case.name));
            assert_eq!(format!("{before:?}"), format!("{after:?}"));
            assert!(before.iter().map(|d| &**d).eq(&after), "{printed}");
        }
    }
}

/// The kinds of expressions. A new one stops this from compiling: give it a rule, a text form and a
/// case above.
fn kind(e: &Expr) -> Rule {
    match &*e.kind {
        ExprKind::Var(_) => Rule::Var,
        ExprKind::Global(_) => Rule::Global,
        ExprKind::Lit(_) => Rule::Lit,
        ExprKind::Frame { .. } => Rule::Frame,
        ExprKind::Lam { .. } => Rule::Lam,
        ExprKind::TLam { .. } => Rule::TLam,
        ExprKind::ILam { .. } => Rule::ILam,
        ExprKind::App { .. } => Rule::App,
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
        for def in program(case.name, &case.text()) {
            let mut stack = vec![&def.body];
            while let Some(e) = stack.pop() {
                kinds.insert(kind(e));
                stack.extend(e.children());
            }
        }
    }
    let missing: Vec<_> = Rule::ALL.iter().filter(|r| **r < Rule::Scope && !kinds.contains(r)).collect();
    assert!(missing.is_empty(), "no case has {missing:?}");
}
