//! What well-formed text is read as.

mod support;
use remc_base::ModuleId;
use remc_syntax::parse;
use support::*;

fn table(rows: &[(&str, &str)]) {
    for (text, wanted) in rows {
        assert_eq!(show(text), *wanted, "reading {text}");
    }
}

#[test]
fn numbers() {
    table(&[
        ("42", "42"),
        ("-7", "-7"),
        ("+5", "5"),
        ("0x1f", "31"),
        ("-0x80i8", "-128:i8"),
        ("0xffffffffffffffff", "18446744073709551615"),
        ("-9223372036854775808", "-9223372036854775808"),
        ("1_000_000", "1000000"),
        ("42i32", "42:i32"),
        ("7u8", "7:u8"),
        ("1i64", "1:int"),
        ("1.", "1.0"),
        ("1.5", "1.5"),
        (".5", "0.5"),
        ("-.5", "-0.5"),
        ("1e3", "1000.0"),
        ("6.02e23", "6.02e23"),
        ("1e-7", "1e-7"),
        ("1_0.2_5", "10.25"),
        ("1.5f32", "1.5:f32"),
        ("0.1f32", "0.10000000149011612:f32"),
        ("1f32", "1.0:f32"),
        ("0.1f16", "0.0999755859375:f16"),
        ("2f64", "2.0:float"),
        ("inf", "inf"),
        ("-inf", "-inf"),
        ("nan", "NaN"),
        ("-0.0", "-0.0"),
    ]);
}

#[test]
fn identifiers() {
    for name in [
        "-",
        "+",
        "-.",
        "+.",
        "1+",
        "1-",
        "d-1",
        "v*m",
        "int->float",
        "char=?",
        "reduce/zero",
        "x'",
        "a#b",
        "é",
        "変数",
        "2d-conv",
        "-x",
        "...",
        "1st",
        "a~",
        "e",
        "inf?",
        "x:",
    ] {
        assert_eq!(show(name), name);
    }
    // Normalisation form C.
    assert_eq!(show("e\u{301}"), "é");
}

#[test]
fn characters_and_strings() {
    table(&[
        (r"#\a", "'a'"),
        (r"#\space", "' '"),
        (r"#\newline", r"'\n'"),
        (r"#\tab", r"'\t'"),
        (r"#\nul", r"'\0'"),
        (r"#\(", "'('"),
        (r"[#\( #\)]", "(bracket '(' ')')"),
        (r"#\x3bb", "'λ'"),
        (r"#\λ", "'λ'"),
        (r"#\x", "'x'"),
        (r"#\;", "';'"),
        ("#\\e\u{301}", "'é'"),
        (r#""a\n\t\"\\""#, r#""a\n\t\"\\""#),
        (r#""\u{3bb}\x3bb;""#, r#""λλ""#),
        ("\"two\nlines\"", r#""two\nlines""#),
        ("\"two\r\nlines\"", r#""two\nlines""#),
        ("\"one \\\n   line\"", r#""one line""#),
        ("\"\"", r#""""#),
        ("[#t #f true false]", "(bracket true false true false)"),
    ]);
}

#[test]
fn comments() {
    table(&[
        ("; nothing", ""),
        ("(f #| a #| nested |# b |# x) ; end", "(app f x)"),
        ("(f #;(g y) x #;z)", "(app f x)"),
        ("(f #;#;a b x)", "(app f x)"),
        ("#;(define x 1) 2", "2"),
        ("#!/usr/bin/env remc\n1", "1"),
        ("\u{feff}1", "1"),
        ("(~(0) #;a f x)", "(app (rerank (0) f) x)"),
    ]);
}

#[test]
fn spellings_of_one_form() {
    for texts in [
        &["(λ (x) x)", "(fn (x) x)", "(lambda (x) x)"][..],
        &["(Tλ (t) x)", "(t-fn (t) x)"],
        &["(Iλ (n) x)", "(i-fn (n) x)"],
        &["(: x (→ (int) int))", "(: x (-> (int) int))"],
        &["(: x (∀ (t) t))", "(: x (Forall (t) t))", "(: x (∀ ((t Atom)) t))"],
        &["(: x (Π (n) t))", "(: x (Pi (n) t))", "(: x (Π ((n Dim)) t))"],
        &["(: x (Σ (@n) t))", "(: x (Sigma (@n) t))", "(: x (Σ ((@n Shape)) t))"],
        &["~(0 1)f", "~[0 1]f", "~(0 1) f"],
        &["f{int | 3}", "(t-app (i-app f 3) int)"],
        &["(let ((x 1)) x)", "(let ([x 1]) x)"],
        &["(λ ([x int]) x)", "(λ ((x int)) x)"],
        &["(: x (A t (shape 2 3)))", "(: x (Arr t [2 3]))"],
    ] {
        for text in texts {
            assert_eq!(show(text), show(texts[0]), "{text}");
        }
    }
}

#[test]
fn braces_and_reranks() {
    table(&[
        ("f{int | 9 [] []}", "(t-app (i-app f 9 (shape) (shape)) int)"),
        ("f{int |}", "(t-app f int)"),
        ("iota{ | @s}", "(i-app iota @s)"),
        ("f{ | }", "f"),
        ("f{|}", "f"),
        ("(f x){int|}", "(t-app (app f x) int)"),
        ("f{int|}{|3}", "(i-app (t-app f int) 3)"),
        ("~(0 all)f{int|}", "(rerank (0 all) (t-app f int))"),
        ("(~(1 1)append m1 m2)", "(app (rerank (1 1) append) m1 m2)"),
        ("(~(1 1) append m1 m2)", "(app (rerank (1 1) append) m1 m2)"),
        ("(~(0)~(1)f x)", "(app (rerank (0) (rerank (1) f)) x)"),
        ("(~(0 1)(λ (x y) x) a b)", "(app (rerank (0 1) (λ (x y) x)) a b)"),
    ]);
}

#[test]
fn arrays() {
    table(&[
        ("[1 2]", "(bracket 1 2)"),
        ("(array [2 2] 1 2 3 4)", "(array [2, 2] 1 2 3 4)"),
        ("(array [] 17)", "(array [] 17)"),
        ("(array [1] x)", "(array [1] x)"),
        ("(frame [2] [1 2] [3 4])", "(array [2] (bracket 1 2) (bracket 3 4))"),
        ("(array [0 3] int)", "(empty (0 3) int)"),
        ("(frame [n] [int 3])", "(empty (n) (arr int 3))"),
        ("(array [n 0] (→ (int) int))", "(empty (n 0) (→ (int) int))"),
        ("(array [0 @s] t)", "(empty (0 @s) t)"),
    ]);
}

#[test]
fn definitions() {
    table(&[
        ("(define x 1)", "(define x 1)"),
        ("(define x : [int 2] [1 2])", "(define x : (arr int 2) (bracket 1 2))"),
        ("(define (f x [y 2] [z all]) x)", "(define f (λ (x (y 2) (z all)) x))"),
        ("(define (f [x [int]]) : int x)", "(define f (λ ((x : (arr int))) : int x))"),
        (
            "(define (f{t | n} [x [t n]]) (reify-dimension n))",
            "(define f (Iλ (n) (Tλ (t) (λ ((x : (arr t n))) (reify-dimension n)))))",
        ),
        ("(define (f{(t num) |} [x t]) x)", "(define f (Tλ ((t num)) (λ ((x : t)) x)))"),
        ("(define (f{| n @s} [x n]) x)", "(define f (Iλ (n @s) (λ ((x : n)) x)))"),
        ("(define (f{| n}) n)", "(define f (Iλ (n) n))"),
        ("(define (f{t | n}) : int n)", "(define f (Iλ (n) (Tλ (t) (: n int))))"),
        (
            "(define (f x) (define y 1) (define (g z) (+ z y)) (g x))",
            "(define f (λ (x) (let* ((y 1) (g (λ (z) (app + z y)))) (app g x))))",
        ),
        ("(define (f x) (define y : int 1) y)", "(define f (λ (x) (let* ((y (: 1 int))) y)))"),
        ("(entry (main) 1)", "(entry main (λ () 1))"),
        ("(entry (main [xs [f32 n m]]) : float 1.)", "(entry main (λ ((xs : (arr f32 n m))) : float 1.0))"),
        ("(define-type P (Record (x float) (if int)))", "(define-type P (record (x float) (if int)))"),
        ("(import \"a.remora\")", "(import \"a.remora\")"),
        ("(define (f _ _) 1)", "(define f (λ (_ _) 1))"),
        ("(define all 1)", "(define all 1)"),
    ]);
}

#[test]
fn forms() {
    table(&[
        ("(λ (x) : int x)", "(λ (x) : int x)"),
        ("(λ (x) (define y x) y)", "(λ (x) (let* ((y x)) y))"),
        ("(let ((x 1) (y 2)) x)", "(let ((x 1) (y 2)) x)"),
        ("(let* ((x 1) (x 2)) x)", "(let* ((x 1) (x 2)) x)"),
        (
            "(let ((x 1 a) (y all b) (z [int 2] c) (w : int d)) x)",
            "(let (((x 1) a) ((y all) b) ((z : (arr int 2)) c) (w (: d int))) x)",
        ),
        ("(let (((f x) (+ x 1))) f)", "(let ((f (λ (x) (app + x 1)))) f)"),
        ("(let (((f{t|} [x t]) : t x)) f)", "(let ((f (Tλ (t) (λ ((x : t)) : t x)))) f)"),
        ("(cond (a 1) (b 2) (else 3))", "(if a 1 (if b 2 3))"),
        ("(cond [a 1] [else 3])", "(if a 1 3)"),
        ("(cond (else 3))", "3"),
        ("(box ((n 3)) [int n] [1 2 3])", "(box ((n 3)) (arr int n) (bracket 1 2 3))"),
        ("(box x)", "(box x)"),
        (
            "(boxes (n) [int n] [2] ((1) [5]) ((2) [6 7]))",
            "(boxes (n) (arr int n) (2) ((1) (bracket 5)) ((2) (bracket 6 7)))",
        ),
        ("(boxes (n) [int n] [0])", "(boxes (n) (arr int n) (0))"),
        ("(unbox e (v n @s) v)", "(unbox e v (n @s) v)"),
        ("(lift [d e] d)", "(lift d e d)"),
        ("(lift-int [d e] d)", "(lift-int d e d)"),
        ("(let-values (((x [y 1]) e)) x)", "(let-values (x (y 1)) e x)"),
        ("(proj 0 (values 1 2))", "(proj 0 (values 1 2))"),
        ("(field (with (record (x 1)) (x 2)) x)", "(field (with (record (x 1)) (x 2)) x)"),
        ("(reify-shape (++ @s [2]))", "(reify-shape (shape @s (shape 2)))"),
        ("(as-shape [n (* 2 n) (- n 1)] x)", "(as-shape (n (* 2 n) (- n 1)) x)"),
        (
            "(as-shape [(+ 1 (length y)) (rank @s)] x)",
            "(as-shape ((+ 1 (value (app length y))) (rank @s)) x)",
        ),
        ("(as-shape (shape y) x)", "(as-shape ((value (app shape y))) x)"),
        ("(as-shape (shape 2 3) x)", "(as-shape ((shape 2 3)) x)"),
        ("(cast f32 x)", "(cast f32 x)"),
        (
            "(loop ((i 0) (x 1)) while (< i 3) do (values (+ i 1) x))",
            "(loop ((i 0) (x 1)) (app < i 3) (values (app + i 1) x))",
        ),
        ("(while p f x)", "(app while p f x)"),
        ("(: x (Tuple int [float 2]))", "(: x (tuple int (arr float 2)))"),
        ("(: x (∀ ((t num) @u) (Quot t)))", "(: x (∀ ((t num) @u) (quot t)))"),
        ("(λ ([x (Val n)]) x)", "(λ ((x : (val n))) x)"),
    ]);
}

#[test]
fn doc_comments() {
    let doc = |text: &str| read(text).items.last().unwrap().doc.clone();
    assert_eq!(doc("; one\n;; two\n(define x 1)").as_deref(), Some("one\ntwo"));
    assert_eq!(doc("; away\n\n; near\n(define x 1)").as_deref(), Some("near"));
    assert_eq!(doc("; away\n\n(define x 1)"), None);
    assert_eq!(doc("(define y 1) ; of y\n(define x 1)"), None);
    assert_eq!(doc("(define y 1) ; of y\n; of x\r\n(define x 1)").as_deref(), Some("of x"));
    assert_eq!(doc("#| block\n   two |#\n(define x 1)").as_deref(), Some("block\n  two"));
    assert_eq!(doc("#!remc\n(define x 1)"), None);
}

#[test]
fn the_prelude_reads() {
    for name in ["scalars", "arrays", "library"] {
        let path = format!("{}/../../prelude/{name}.remora", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let parsed = parse(ModuleId(0), &text, true);
        assert!(parsed.diagnostics.is_empty(), "{:#?}", parsed.diagnostics);
        assert!(parsed.items.len() > 20);
    }
    let text = "(primitive (f{t | @s @c (= l (rank @s))} [xs [t @s @c]] [at [int (rank @s)]]) : [t @c])";
    let parsed = parse(ModuleId(0), text, true);
    assert_eq!(
        item(&parsed.items[0].item),
        "(primitive f (t) (@s @c (= l (rank @s))) ((xs : (arr t @s @c)) (at : (arr int (rank @s)))) (arr t @c))"
    );
}

#[test]
fn spans_point_at_the_text() {
    let text = "; c\n(define (f x)\n  (+ x 1))  (g \"λ\")";
    let parsed = read(text);
    let at = |item: usize, node: u32| {
        let span = parsed.items[item].map.span(remc_base::NodeId(node)).unwrap();
        &text[span.range()]
    };
    assert_eq!(at(0, 0), "(define (f x)\n  (+ x 1))");
    assert_eq!(at(0, 1), "f");
    assert_eq!(at(1, 0), "(g \"λ\")");
    assert_eq!(at(1, 3), "\"λ\"");
}

/// A tenth of this in an optimised build; the bound is for a slow and busy machine.
#[test]
fn a_megabyte_takes_no_time() {
    let unit = "; doc\n(define (f{t | n} [x [t n]] [y 2]) : [t n]\n  (let ((z (+ x 1.5)) (w \"text\"))\n    (f z [1 2 3 x])))\n";
    let text = unit.repeat(1_000_000 / unit.len());
    let start = std::time::Instant::now();
    let parsed = read(&text);
    assert!(start.elapsed() < std::time::Duration::from_secs(5));
    assert!(parsed.diagnostics.is_empty());
    assert_eq!(parsed.items[0].item, parsed.items[1].item);
}

#[test]
fn the_deepest_text_fits_an_ordinary_stack() {
    let deep = |open: &str, close: &str| format!("{}x{}", open.repeat(990), close.repeat(990));
    for text in [
        deep("[", "]"),
        deep("(f ", ")"),
        deep("(if a b ", ")"),
        deep("(let ((y 1)) (define z 2) ", ")"),
        format!("(: y {})", "(→ (int) ".repeat(990) + "x" + &")".repeat(990)),
        "~(0)".repeat(990) + "f",
        "f".to_string() + &"{int | 3}".repeat(990),
    ] {
        let parsed = std::thread::Builder::new().stack_size(8 << 20).spawn(move || read(&text)).unwrap();
        assert!(parsed.join().unwrap().diagnostics.is_empty());
    }
}
