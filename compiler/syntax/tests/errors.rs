//! What is wrong in a text, and where it is said to be wrong.

mod support;
use remc_base::ModuleId;
use remc_syntax::{MAX_NESTING, codes, parse};
use std::time::{Duration, Instant};
use support::*;

/// Each text gives exactly these errors: code, and text under the primary label.
fn table(rows: &[(&str, &[(&str, &str)])]) {
    for (text, wanted) in rows {
        let found = errors(text);
        let found: Vec<_> = found.iter().map(|(c, s)| (c.as_str(), s.as_str())).collect();
        assert_eq!(found, *wanted, "reading {text}");
        for d in read(text).diagnostics {
            assert!(!d.help.is_empty(), "{text}: no help for {}", d.code);
            assert!(d.labels.iter().filter(|l| l.primary).count() == 1);
        }
    }
}

#[test]
fn brackets() {
    table(&[
        (")", &[("E0101", ")")]),
        ("(f x)))", &[("E0101", "))")]),
        ("(f x", &[("E0102", "(")]),
        ("(define (f x)\n  (+ x [1 2))\n\n(define y 2)", &[("E0102", "[")]),
        ("[1 2)", &[("E0103", ")")]),
        ("(f [1 2) x)", &[("E0103", ")")]),
        ("(f [1 2 x)", &[("E0102", "[")]),
        ("(f (g x) y]", &[("E0103", "]")]),
        ("f{int | 3)", &[("E0103", ")")]),
        ("(f x]\n(define y 1]\n(define z 1)", &[("E0103", "]"), ("E0103", "]")]),
        ("()", &[("E0122", "()")]),
    ]);
}

#[test]
fn a_mismatch_names_both_brackets() {
    let parsed = read("(f [1 2) x)");
    let d = &parsed.diagnostics[0];
    assert_eq!(d.message, "`[` is closed by `)`");
    assert_eq!(d.labels.len(), 2);
    assert_eq!(item(&parsed.items[0].item), "(app f (bracket 1 2) x)");
}

#[test]
fn one_forgotten_bracket_costs_one_form() {
    let parsed = read("(define (f x)\n  (let ((y 1) (+ x y))\n(define z (if 1))\n(f z)");
    let found: Vec<_> = parsed.diagnostics.iter().map(|d| d.code.0).collect();
    assert_eq!(found, ["E0102", "E0114"]);
    let items: Vec<_> = parsed.items.iter().map(|i| item(&i.item)).collect();
    assert_eq!(items, ["(define f ERROR)", "(define z ERROR)", "(app f z)"]);
}

#[test]
fn left_aligned_code_is_fine() {
    assert_eq!(show("(define (f x)\n(+ x 1))"), "(define f (λ (x) (app + x 1)))");
}

#[test]
fn independent_mistakes_are_all_found() {
    let text = r#"
(define (f x) (if x 1))
(define (g x) (+ x 12ab4 1.2.3))
(define h [1 2))
(define (k if) "\q")
(array [2 3] 1 2)
(λ () 1)
(+ 1 2
(f 1 {int | 2})
(cond (a 1))
"#;
    let codes: Vec<_> = errors(text).into_iter().map(|e| e.0).collect();
    assert_eq!(
        codes,
        ["E0114", "E0109", "E0103", "E0116", "E0106", "E0119", "E0118", "E0102", "E0112", "E0125"]
    );
}

#[test]
fn text() {
    table(&[
        ("[1, 2, 3]", &[("E0105", ",")]),
        ("#foo", &[("E0105", "#foo")]),
        ("a\u{202e}b", &[("E0105", "\u{202e}")]),
        ("a \0\0 b", &[("E0105", "\0\0")]),
        ("\"ab\\qc\"", &[("E0106", "\\q")]),
        ("\"\\x41\"", &[("E0106", "\\x")]),
        ("\"\\u{110000}\"", &[("E0106", "\\u")]),
        ("#\\foo", &[("E0106", "#\\foo")]),
        ("#\\xd800", &[("E0106", "#\\xd800")]),
        ("#\\", &[("E0106", "#\\")]),
        ("(f \"abc)\n(g 1)", &[("E0102", "("), ("E0107", "\"")]),
        ("1 #| #| |#", &[("E0108", "#|")]),
        ("1.2.3", &[("E0109", "1.2.3")]),
        ("1-2", &[("E0109", "1-2")]),
        ("1/2", &[("E0109", "1/2")]),
        ("0xfg", &[("E0109", "0xfg")]),
        ("0x", &[("E0109", "0x")]),
        ("1__0", &[("E0109", "1__0")]),
        ("1_", &[("E0109", "1_")]),
        ("7i33", &[("E0109", "7i33")]),
        ("2.0f", &[("E0109", "2.0f")]),
        ("1.5i32", &[("E0109", "1.5i32")]),
        ("1e", &[("E0109", "1e")]),
        ("1.e", &[("E0109", "1.e")]),
        ("300u8", &[("E0110", "300u8")]),
        ("-1u8", &[("E0110", "-1u8")]),
        ("18446744073709551616", &[("E0110", "18446744073709551616")]),
        ("-9223372036854775809", &[("E0110", "-9223372036854775809")]),
        ("1e400", &[("E0110", "1e400")]),
        ("1e39f32", &[("E0110", "1e39f32")]),
        ("70000f16", &[("E0110", "70000f16")]),
    ]);
}

#[test]
fn braces_and_prefixes() {
    table(&[
        ("f{int}", &[("E0111", "{int}")]),
        ("f{int | 3 | 4}", &[("E0111", "{int | 3 | 4}")]),
        ("(f {int | 3})", &[("E0112", "{int | 3}")]),
        ("({int | 3} f)", &[("E0112", "{int | 3}")]),
        ("(f | g)", &[("E0112", "|")]),
        ("(f ~(0 1))", &[("E0121", "~(0 1)")]),
        ("(f |)", &[("E0112", "|")]),
        ("(f #;)", &[("E0121", "#;")]),
        ("~(x)f", &[("E0129", "x")]),
        ("~()f", &[("E0129", "f")]),
        ("(λ ([x -1]) x)", &[("E0129", "-1")]),
        ("(λ ([x 1.5]) x)", &[("E0129", "1.5")]),
        ("(λ ([x 99999]) x)", &[("E0129", "99999")]),
    ]);
}

#[test]
fn forms() {
    table(&[
        ("(if a b)", &[("E0114", "(if a b)")]),
        ("(if a b c d)", &[("E0114", "d")]),
        ("(let (x 1) x)", &[("E0114", "(x 1)")]),
        ("(let ((x)) x)", &[("E0114", "(x)")]),
        ("(let loop ((x 1)) x)", &[("E0114", "loop")]),
        ("(λ x x)", &[("E0114", "x")]),
        ("(λ ((x : int)) x)", &[("E0114", ":")]),
        ("(λ (1) x)", &[("E0114", "1")]),
        ("(define x)", &[("E0114", "(define x)")]),
        ("(define x 1 2)", &[("E0114", "2")]),
        ("(define)", &[("E0114", "(define)")]),
        ("(define (f x))", &[("E0114", "(define (f x))")]),
        ("(import a)", &[("E0114", "a")]),
        ("(box 1 2)", &[("E0114", "(box 1 2)")]),
        ("(boxes (n) [int n] [2] ((1 2) x))", &[("E0114", "(1 2)")]),
        ("(proj x y)", &[("E0114", "x")]),
        ("(loop ((x 1)) until x do y)", &[("E0114", "until")]),
        ("(f if)", &[("E0115", "if")]),
        ("(f (→ (int) int))", &[("E0115", "(→ (int) int)")]),
        ("(define let 1)", &[("E0116", "let")]),
        ("(λ (λ) 1)", &[("E0116", "λ")]),
        ("(unbox b (if n) 1)", &[("E0116", "if")]),
        ("(f (define x 1))", &[("E0117", "(define x 1)")]),
        ("(f (import \"x\"))", &[("E0117", "(import \"x\")")]),
        ("(define (f) 1)", &[("E0118", "f")]),
        ("(λ () 1)", &[("E0118", "()")]),
        ("(f)", &[("E0118", "(f)")]),
        ("(: x (→ () int))", &[("E0118", "()")]),
        ("(array [2 3] 1 2 3)", &[("E0119", "1 2 3")]),
        ("(array [1])", &[("E0119", "(array [1])")]),
        ("(array [0] 1 2)", &[("E0119", "1 2")]),
        ("(array [0] 1)", &[("E0119", "1")]),
        ("(array [n] 1 2)", &[("E0119", "1 2")]),
        ("(array [9999999999 9999999999] 1)", &[("E0119", "1")]),
        ("(define (f x) (g x) (define y 1) y)", &[("E0120", "(g x)")]),
        ("(define (f x) (define y 1))", &[("E0130", "(define y 1)")]),
        ("(cond (a 1) (b 2))", &[("E0125", "(b 2)")]),
        ("(cond)", &[("E0125", "(cond)")]),
        ("(cond (else 1) (a 2) (else 3))", &[("E0114", "(else 1)")]),
        ("(primitive (f [x int]) : int)", &[("E0126", "(primitive (f [x int]) : int)")]),
        ("(λ (x y x) x)", &[("E0127", "x")]),
        ("(let ((x 1) (x 2)) x)", &[("E0127", "x")]),
        ("(record (a 1) (a 2))", &[("E0127", "a")]),
    ]);
}

#[test]
fn types_and_indices() {
    table(&[
        ("(: x 3)", &[("E0123", "3")]),
        ("(: x [2 int])", &[("E0123", "2")]),
        ("(: x (int 3))", &[("E0123", "(int 3)")]),
        ("(: x (→ int int))", &[("E0123", "(→ int int)")]),
        ("(: x (→ (int) int int))", &[("E0123", "(→ (int) int int)")]),
        ("(: x (∀ ((t nom)) t))", &[("E0123", "nom")]),
        ("(: x if)", &[("E0123", "if")]),
        ("(: x [])", &[("E0113", "[]")]),
        ("(: x [int -1])", &[("E0124", "-1")]),
        ("(: x [int 2i8])", &[("E0124", "2i8")]),
        ("(: x [int (- n)])", &[("E0124", "(- n)")]),
        ("(: x [int (/ n 2)])", &[("E0124", "(/ n 2)")]),
        ("(: x [int \"a\"])", &[("E0124", "\"a\"")]),
        ("(: x (Π ((s Shape)) t))", &[("E0124", "(s Shape)")]),
    ]);
}

#[test]
fn the_form_is_shown() {
    let d = &read("(if a b)").diagnostics[0];
    assert_eq!(d.help, ["the form is `(if condition then else)`"]);
    let d = &read("(array [2 3] 1 2 3)").diagnostics[0];
    assert_eq!(d.message, "`array` of shape [2 3] has 6 elements, not 3");
    let d = &read("1-2").diagnostics[0];
    assert_eq!(d.help, ["an operator comes first: `(- 1 2)`"]);
}

#[test]
fn deep_nesting_is_one_error_at_once() {
    on_large_stack(|| {
        let fits = format!("{}x{}", "[".repeat(MAX_NESTING), "]".repeat(MAX_NESTING));
        assert!(read(&fits).diagnostics.is_empty());
        for text in [
            "[".repeat(1_000_000),
            "(".repeat(1_000_000),
            "f{".repeat(500_000),
            "~(0)".repeat(250_000) + "f",
            "#;".repeat(500_000),
            "f".to_string() + &"{int|}".repeat(160_000),
            "[([".repeat(1000) + &"])]".repeat(1000),
        ] {
            let start = Instant::now();
            let parsed = read(&text);
            assert!(start.elapsed() < Duration::from_secs(5));
            let codes: Vec<_> = parsed.diagnostics.iter().map(|d| d.code).collect();
            assert_eq!(codes, [codes::TOO_DEEP], "{}", &text[..20]);
        }
        // Long, but not deep.
        let flat = "(f ~(0)g{int|} #;x [1])\n".repeat(2000);
        assert!(read(&flat).diagnostics.is_empty());
        let long_cond = format!("(cond {} (else 1))", "(a 1)".repeat(100_000));
        let codes: Vec<_> = read(&long_cond).diagnostics.iter().map(|d| d.code).collect();
        assert_eq!(codes, [codes::TOO_DEEP]);
    });
}

#[test]
fn time_is_linear_in_bad_text() {
    on_large_stack(|| {
        for piece in [
            ")",
            ",",
            "\0 ",
            "\"",
            "\"\\\n",
            "\"\\x",
            "#|",
            "|#",
            "#\\",
            "(\n",
            "(]\n",
            "(f\n(g [)\n",
            "~",
            "|",
            "f {",
            "{|}",
            "1.2.3 ",
            "#;)",
            "]\n[\n",
            "(define (f x)\n",
            "(if\n)",
        ] {
            let text = piece.repeat(300_000 / piece.len());
            let start = Instant::now();
            let parsed = read(&text);
            assert!(start.elapsed() < Duration::from_secs(120), "{piece:?}: {:?}", start.elapsed());
            assert!(parsed.diagnostics.len() <= 101);
        }
    });
}

#[test]
fn many_errors_are_cut_short() {
    let parsed = read(&"(if)\n".repeat(5000));
    assert_eq!(parsed.diagnostics.len(), 101);
    let last = parsed.diagnostics.last().unwrap();
    assert_eq!(last.code, codes::TOO_MANY);
    assert_eq!(last.message, "4900 more errors in this file are not shown");
    assert_eq!(parsed.items.len(), 5000);
}

#[test]
fn decoding() {
    assert_eq!(remc_syntax::decode("λ".as_bytes().to_vec()).as_deref(), Ok("λ"));
    assert_eq!(remc_syntax::decode(vec![b'a', b'b', 0xff, b'c']), Err(2));
}

#[test]
fn primitives_belong_to_the_prelude() {
    assert!(parse(ModuleId(0), "(primitive (f [x int]) : int)", true).diagnostics.is_empty());
}

/// Every code has its page, and every page a program that causes the code.
#[test]
fn every_code_has_a_page() {
    let folder = format!("{}/../../testsuite/diagnostics", env!("CARGO_MANIFEST_DIR"));
    for code in codes::ALL {
        let page = std::fs::read_to_string(format!("{folder}/{code}.md"))
            .unwrap_or_else(|e| panic!("the page of {code}: {e}"));
        assert!(page.starts_with(&format!("# {code}: ")), "{code}");
        for program in page.split("```remora\n").skip(1) {
            let program = program.split("```").next().unwrap();
            let found = errors(program);
            let wanted = code.to_string();
            assert!(found.iter().any(|e| e.0 == wanted), "the program of {code} gives {found:?}");
        }
    }
}
