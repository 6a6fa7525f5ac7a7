//! What one application becomes, in the text that the pass's header shows, and what no text may do.

use remc_explicit::lower::explicitize;
use remc_explicit::parse::parse_program;
use remc_explicit::print::print_definition;

/// The nodes of the definition of Typed with this body, lowered.
fn lowered(body: &str) -> String {
    let text = format!("(typed 1 (definition 3 \"it\" (type int) (types) (nodes {body})))");
    let def = remc_typed::parse::parse_program(&text).unwrap_or_else(|e| panic!("{e}\n{text}")).remove(0);
    let after = print_definition(&explicitize(&def));
    let nodes = after.split_once("(nodes\n").expect("nodes").1;
    nodes.strip_suffix("))").expect("the end").lines().map(|l| l.trim_end().to_owned() + "\n").collect()
}

#[test]
fn a_short_argument_is_replicated_between_its_frame_and_its_cell() {
    let found = lowered(
        "(1 (arr int 2 3) (app (2 3) (2 (-> ((arr int 4) (arr int 5)) int) (global 0 \"f\"))
           ((3 (arr int 2 3 4) (var %m.1)) (2 3)) ((4 (arr int 2 5) (var %v.2)) (2))))",
    );
    let expected = "    (e0 1 (arr int 2 3) (map (2 3) (((%x.3 (arr int 4)) (3 (arr int 2 3 4) (var %.1))) \
((%x.4 (arr int 5)) e1)) e2))
      (e1 1 (arr int 2 3 5) (replicate (3) (2) (4 (arr int 2 5) (var %.2))))
      (e2 1 int (call (2 (-> ((arr int 4) (arr int 5)) int) (global 0 \"f\")) (1 (arr int 4) (var %x.3)) \
(1 (arr int 5) (var %x.4))))
";
    assert_eq!(found, expected);
}

#[test]
fn a_computed_function_is_computed_once_and_first() {
    let found = lowered(
        "(1 (arr int 2) (app (2) (2 (-> (int) int) (if (3 bool (var %c.1)) (4 (-> (int) int) (var %f.2))
           (5 (-> (int) int) (var %g.3)))) ((6 (arr int 2) (var %x.4)) (2))))",
    );
    let expected = "    (e0 1 (arr int 2) (let (%f.5 (-> (int) int)) e1 e2))
      (e1 2 (-> (int) int) (if (3 bool (var %.1)) (4 (-> (int) int) (var %.2)) (5 (-> (int) int) (var %.3))))
    (e2 1 (arr int 2) (map (2) (((%x.6 int) (6 (arr int 2) (var %.4)))) e3))
      (e3 1 int (call (1 (-> (int) int) (var %f.5)) (1 int (var %x.6))))
";
    assert_eq!(found, expected);
}

#[test]
fn an_array_of_functions_is_an_operand() {
    let found = lowered(
        "(1 (arr int 2 3) (app (2 3) (2 (arr (-> (int) int) 2) (var %fs.0)) ((6 (arr int 2 3) (var %x.4)) (2 3))))",
    );
    assert!(found.contains("(map (2 3) (((%f.5 (-> (int) int)) e1) ((%x.6 int) (6 (arr int 2 3)"), "{found}");
    assert!(found.contains("(replicate (3) (2) (2 (arr (-> (int) int) 2) (var %.0)))"), "{found}");
}

#[test]
fn a_scalar_frame_is_a_call() {
    let found = lowered("(1 int (app () (2 (-> (int) int) (global 0 \"f\")) ((3 int (int 1)) ())))");
    assert_eq!(found.trim(), "(e0 1 int (call (2 (-> (int) int) (global 0 \"f\")) (3 int (int 1))))");
}

/// Terms that are well-formed text and no more: nothing panics, whatever the types say.
#[test]
fn ill_typed_terms_are_lowered_to_something() {
    for body in [
        "(1 int (app (2 3) (2 int (int 1)) ((3 int (var %x.4294967295)) (2))))",
        "(1 int (app (2 3) (2 (arr int 4 5 6) (int 1)) ((3 int (var %x.4294967294)) (2 3 4 5))))",
        "(1 int (field 3 (2 (arr int 4) (var %x.4294967295))))",
        "(1 int (unbox (2 (arr int 4) (int 1)) ($n.1) (%x.1 int) (3 int (int 1))))",
        "(1 int (t-app (2 (arr int 4) (int 1)) (atom int)))",
    ] {
        assert!(lowered(body).contains("(map"), "{body}");
    }
}

#[test]
fn malformed_text_is_an_error_with_its_line() {
    let text = |body: &str| format!("(explicit 1 (definition 3 \"it\" (type int) (types) (nodes {body})))");
    assert!(parse_program(&text("(0 int (int 1))")).is_ok());
    let texts = [
        String::new(),
        "(explicit 1".to_owned(),
        "(explicit 2)".to_owned(),
        "(typed 1)".to_owned(),
        text(""),
        text("(0 int (app () (1 int (int 1))))"),
        text("(0 int (call))"),
        text("(0 int (map (2) (1 int (int 1))))"),
        text("(0 int (map (2) ((%x.1 int)) (1 int (int 1))))"),
        text("(0 int (map (2) (((%x.1 int) (1 int (int 1))))))"),
        text("(0 int (map (2) (((%x.1 int) (1 int (int 1)) 3)) (1 int (int 1))))"),
        text("(0 int (replicate (2) (1 int (int 1))))"),
        text("(0 int (replicate 2 () (1 int (int 1))))"),
        text("(e0 0 int (cast e0))"),
        text("(e0 0 int (tuple e1 e1)) (e1 0 int (int 1))"),
        text("(e0 0 int (int 1)) (e1 0 int (int 1))"),
        text("(0 int (int 1)) (entry)").replace("(entry))", ") (entry () () int) 4"),
    ];
    for text in texts {
        let e = parse_program(&text).expect_err(&text);
        assert!(e.offset <= text.len() && e.line == 1 && !e.message.is_empty(), "{text}: {e}");
    }
    assert_eq!(parse_program("(explicit 1\n\n(definition 0 \"x\"\n  (type what)))").unwrap_err().line, 3);
}
