//! Forty places in programs that are being written, and what is meant there: it has to be the first that is offered.

use remc_driver::Session;
use remc_ide::{Completion, CompletionKind, Ide};
use std::path::Path;

/// Programs with `¦` where somebody types, and what comes first.
const PLACES: [(&str, &str); 44] = [
    // Names by their beginning.
    ("(define scale-factor 2.0)\n(* 3.0 sc¦)", "scale-factor"),
    ("(define (normalise xs) xs)\n(nor¦ [1 2])", "normalise"),
    ("(tra¦ [[1 2] [3 4]])", "transpose"),
    ("(io¦ [3])", "iota"),
    ("(su¦ [1 2])", "sum"),
    ("(mea¦ [1.0 2.0])", "mean"),
    ("(red¦ + 0 [1 2])", "reduce"),
    ("(len¦ [1 2])", "length"),
    ("(app¦ [1] [2])", "append"),
    ("(sqr¦ 2.0)", "sqrt"),
    ("(rev¦ [1 2])", "reverse"),
    ("(ind¦ [1 2 3] [0])", "index"),
    // What is near goes before what is far.
    ("(define (f sums) (+ su¦ 1))", "sums"),
    ("(define total 3)\n(define (f to) (+ tot¦ 1))", "total"),
    ("(define (f values) (let ((value 1)) (+ val¦ 1)))", "value"),
    ("(define (f [xs 1]) (sum x¦))", "xs"),
    ("(let* ((height 1.0) (heights [1.0 2.0])) (+ hei¦ 1.0))", "height"),
    ("(λ (row) (* ro¦ 2))", "row"),
    // Nothing typed yet: what fits.
    ("(define (f [xs [float n]] k) (sum ¦))", "xs"),
    ("(define (f [k int] [xs [int n]]) (take1 ¦ k))", "xs"),
    ("(define (f [xs [float n]] [k int]) (take1 xs ¦))", "k"),
    ("(define (f [name [char n]] [m [float a b]]) (transpose ¦))", "m"),
    ("(define (f [flag bool] [x float]) (sqrt ¦))", "x"),
    ("(define (f [x float] [flag bool]) (if flag ¦ 0.0))", "x"),
    ("(define (f [a 2] [v 1]) (transpose ¦))", "a"),
    ("(define (f [op (→ (int int) int)] [xs [int n]]) (reduce ¦ 0 xs))", "op"),
    // Types, sizes, fields.
    ("(define (f [x fl¦]) x)", "float"),
    ("(define (f [x [in¦ n]]) x)", "int"),
    ("(define (f [x ¦]) x)", "float"),
    ("(define (f x) : fl¦ x)", "float"),
    ("(define-type Point [float 3])\n(define (f [p Po¦]) p)", "Point"),
    ("(define (f [xs [float rows cols]] [ys [float ro¦]]) xs)", "rows"),
    ("(define (f [xs [float rows]]) (reify-dimension ¦))", "rows"),
    ("(define p (record (left 1) (right 2)))\n(field p le¦)", "left"),
    ("(define (f [x [b¦ n]]) x)", "bool"),
    ("(: 1.5 flo¦)", "float"),
    // Forms.
    ("(def¦", "define"),
    ("(ent¦", "entry"),
    ("(define (f x) (le¦", "let"),
    ("(define (f x) (if¦", "if"),
    ("(define (f x) (lam¦", "λ"),
    ("(imp¦", "import"),
    ("(define (f x) (con¦", "cond"),
    ("(define (f x) (unb¦", "unbox"),
];

fn completions(marked: &str) -> Vec<Completion> {
    let at = marked.find('¦').expect("a place") as u32;
    let mut session = Session::default();
    let file = session.load_text("test.remora", Path::new(""), marked.replacen('¦', "", 1));
    Ide::new(&session).completions(file, at)
}

#[test]
fn the_first_of_five_is_meant() {
    let mut wrong = Vec::new();
    for (text, meant) in PLACES {
        let five: Vec<String> = completions(text).into_iter().take(5).map(|c| c.label).collect();
        if five.first().map(String::as_str) != Some(meant) {
            wrong.push(format!("{text}\n    wanted {meant}, found {five:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), PLACES.len(), wrong.join("\n"));
}

#[test]
fn nothing_is_offered_where_a_name_is_made() {
    let none = [
        "(define (f na¦) 1)",
        "(define na¦ 1)",
        "(define (f [na¦ int]) 1)",
        "(let ((na¦ 1)) na)",
        "; a comm¦ent\n",
        "(f \"a str¦ing\")",
        "(λ (xs ¦) 1)",
        "#| a ¦ b |#",
    ];
    for text in none {
        let found = completions(text);
        assert_eq!(found.iter().map(|c| c.label.as_str()).collect::<Vec<_>>(), [""; 0], "{text}");
    }
}

#[test]
fn a_completion_has_a_type_and_documentation_and_replaces_what_is_typed() {
    let text = "(transp¦ose [[1 2]])";
    let found = completions(text);
    let first = &found[0];
    assert_eq!((first.label.as_str(), first.kind), ("transpose", CompletionKind::Function));
    assert!(first.detail.contains('→'), "{first:?}");
    assert!(first.documentation.contains("```remora"), "{first:?}");
    assert_eq!((first.edit.span.start, first.edit.span.end), (1, 10));
    let form = completions("(le¦").into_iter().find(|c| c.label == "let").unwrap();
    assert!(form.snippet && form.edit.text.contains("${1:x}"), "{form:?}");
    let text = completions("(reduce/z¦ + 0 [1])");
    assert_eq!(text[0].label, "reduce/zero");
}

#[test]
fn imports_are_the_programs_beside() {
    let folder = std::env::temp_dir().join(format!("remc-ide-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("more")).unwrap();
    for name in ["main.remora", "library.remora", "more/other.remora", "data.csv"] {
        std::fs::write(folder.join(name), "(define a 1)\n").unwrap();
    }
    let mut session = Session::default();
    let path = folder.join("main.remora");
    let of = |session: &mut Session, text: &str| -> Vec<(String, u32)> {
        let file = session.open(&path, text.to_owned());
        let at = text.find("\")").unwrap() as u32;
        let all = Ide::new(session).completions(file, at);
        all.into_iter().map(|c| (c.label, c.edit.span.start)).collect()
    };
    let named = |name: &str, at| (name.to_owned(), at);
    assert_eq!(of(&mut session, "(import \"\")"), [named("library.remora", 9), named("more/", 9)]);
    assert_eq!(of(&mut session, "(import \"more/o\")"), [named("other.remora", 14)]);
    std::fs::remove_dir_all(&folder).unwrap();
}
