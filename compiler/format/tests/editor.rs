//! What an editor asks for, in texts that are being written.

use remc_format::{Edit, apply, format_forms, format_range, new_line, reindent};

fn edit(start: usize, end: usize, new: &str) -> Edit {
    Edit { range: start..end, new: new.to_owned() }
}

#[test]
fn edits_are_of_white_space_alone() {
    assert_eq!(format_forms("(f x)\n"), []);
    assert_eq!(format_forms("(f  x\ny)"), [edit(2, 4, " "), edit(5, 6, "\n   "), edit(8, 8, "\n")]);
    assert_eq!(format_forms("(f(g 1)x)\n"), [edit(2, 2, " "), edit(7, 7, " ")]);
    assert_eq!(format_forms("(f x ; one\n)\n(g 1)\n"), [edit(4, 12, ")  ; one")], "a comment moves");
}

#[test]
fn a_range_formats_the_forms_that_it_touches() {
    let text = "(f  1)\n\n\n\n(g  2)\n(h  3)\n";
    let second = text.find("2").unwrap();
    assert_eq!(apply(text, &format_range(text, second..second)), "(f  1)\n\n(g 2)\n(h  3)\n");
    let third = text.find("(h").unwrap();
    assert_eq!(apply(text, &format_range(text, second..third)), "(f  1)\n\n(g 2)\n(h 3)\n");
    assert_eq!(apply(text, &format_range(text, 0..1)), "(f 1)\n\n\n\n(g  2)\n(h  3)\n");
    assert_eq!(apply(text, &format_range(text, 0..text.len())), "(f 1)\n\n(g 2)\n(h 3)\n");
}

#[test]
fn forms_with_mistakes_stay() {
    let formatted = |text: &str| apply(text, &format_forms(text));
    // A bracket is missing; one is too many; a form is not complete; a string does not end.
    assert_eq!(formatted("(f  1\n(g  2)\n"), "(f  1\n(g 2)\n");
    assert_eq!(formatted("(f  1))\n(g  2)\n"), "(f 1) )\n(g 2)\n");
    assert_eq!(formatted("(let  x)\n(g  2)\n"), "(let  x)\n(g 2)\n");
    assert_eq!(formatted("(g  2)\n(f  \"x)\n"), "(g 2)\n(f  \"x)\n");
    assert_eq!(formatted("(f  1, 2)\n(g  2)\n(h  #)\n"), "(f  1, 2)\n(g 2)\n(h  #)\n");
}

/// The column for what is typed at the `|`, after the line is broken there.
fn column(text: &str) -> Option<usize> {
    let at = text.find('§').unwrap();
    new_line(&text.replace('§', ""), at)
}

#[test]
fn new_lines_are_indented() {
    let cases = [
        ("§", 0),
        ("(define (f x)§", 2),
        ("(define (f x)§)", 2),
        ("(define (f x§", 11),
        ("(define (f§", 10),
        ("(define x§", 2),
        ("(let ((x 1)§", 6),
        ("(let ((x 1))§", 2),
        ("(let ((x (f a§", 12),
        ("(let ((x§", 7),
        ("(λ (x y)§", 2),
        ("(values (f x)§", 8),
        ("(values§", 2),
        ("((λ (x) x)§", 1),
        ("(if c§", 4),
        ("(if c x§", 4),
        ("(cond§", 2),
        ("(cond (a b)§", 6),
        ("(cond ((= x 1)§", 7),
        ("[1 2§", 1),
        ("[[1 2]§", 1),
        ("(loop ((i 0))§", 1),
        ("(loop ((i 0)) while c§", 1),
        ("(loop ((i 0))\n while c\n do (define x 1)§", 4),
        ("(f x)\n(unbox b (v n)§\n(g", 2),
        ("(f x) ; (§", 0),
        ("  (f (g x)\n     (h y§", 8),
        ("(entry (main [xs [int n]]§", 13),
        ("(f \"a (\"§", 3),
        ("))) (f x§", 7),
    ];
    for (text, wanted) in cases {
        match text.contains(';') {
            true => assert_eq!(column(text), None, "{text}"),
            false => assert_eq!(column(text), Some(wanted), "{text}"),
        }
    }
    assert_eq!(column("(f \"a§ b\")"), None);
    assert_eq!(column("(f #| a§ |#)"), None);
    assert_eq!(column("(f x) ; a comment\n§"), Some(0));
}

#[test]
fn a_closed_form_is_indented() {
    let closed = |text: &str| {
        let at = text.find('§').unwrap();
        let text = text.replace('§', "");
        apply(&text, &reindent(&text, at))
    };
    assert_eq!(
        closed("(define (f x)\n(let ((y 1)\n(z 2))\n(+ y\nz))§"),
        "(define (f x)\n(let ((y 1)\n      (z 2))\n  (+ y\n     z))"
    );
    assert_eq!(
        closed("(define (f x)\n   (let ((y 1)\n(z 2))\n; why\n(+ y\nz)))§\n(g\nx)"),
        "(define (f x)\n  (let ((y 1)\n        (z 2))\n    ; why\n    (+ y\n       z)))\n(g\nx)"
    );
    // Only lines of the form itself; what stands behind something on its line moves with it.
    assert_eq!(closed("(f\nx)§\n  (g\ny)"), "(f\n  x)\n  (g\ny)");
    assert_eq!(closed("(f a (g\nb (h c\nd)))§"), "(f a (g\n       b (h c\n            d)))");
    assert_eq!(closed("(f \"a\n  b\"\nc)§"), "(f \"a\n  b\"\n   c)");
    // A comment that goes on below another.
    assert_eq!(closed("(f\nx ; one\n  ; two\ny)§"), "(f\n  x ; one\n    ; two\n  y)");
    assert_eq!(closed("(f x§)"), "(f x)");
    assert_eq!(closed("\t(f\n\t\tx)§"), "\t(f\n   x)");
}
