//! What holds of every text.

mod support;
use proptest::prelude::*;
use remc_base::NodeId;
use remc_syntax::{Parsed, tokens};
use support::*;

/// Pieces of programs, right and wrong, in any order.
const SOUP: &[&str] = &[
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "f{",
    "|",
    "~(",
    "~[",
    "~",
    " ",
    "\n",
    "\n(",
    "; c\n",
    "#;",
    "#|",
    "|#",
    "#\\",
    "#\\a",
    "#\\space",
    "\"",
    "\"s\"",
    "\\",
    "1",
    "-1",
    "0",
    "1.5",
    "7u8",
    "300u8",
    "x",
    "@s",
    "n",
    "λ",
    "define",
    "define-type",
    "entry",
    "import",
    "primitive",
    "array",
    "frame",
    "t-app",
    "i-app",
    "Tλ",
    "Iλ",
    "let",
    "let*",
    "let-values",
    ":",
    "if",
    "cond",
    "else",
    "box",
    "boxes",
    "unbox",
    "lift",
    "lift-int",
    "values",
    "proj",
    "record",
    "field",
    "with",
    "reify-dimension",
    "reify-shape",
    "as-shape",
    "cast",
    "loop",
    "while",
    "do",
    "→",
    "∀",
    "Π",
    "Σ",
    "A",
    "Tuple",
    "Record",
    "Val",
    "Quot",
    "int",
    "num",
    "all",
    "+",
    "-",
    "shape",
    "++",
    "=",
    "rank",
    ",",
    "#t",
    "nan",
    "é",
    "e\u{301}",
    "\u{202e}",
    "\u{feff}",
    "\r\n",
    "((x 1))",
    "((f x) x)",
    "[x 2]",
    "(x)",
    "[2]",
    "[0]",
];

/// What the parser promises of any text at all.
fn check(text: &str) -> Parsed {
    let parsed = read(text);
    let fits = |start: u32, end: u32| {
        assert!(start <= end && end as usize <= text.len(), "{start}..{end} in {text:?}");
        assert!(text.is_char_boundary(start as usize) && text.is_char_boundary(end as usize));
    };
    for d in &parsed.diagnostics {
        assert_eq!(d.labels.iter().filter(|l| l.primary).count(), 1, "{d:?}");
        assert!(!d.help.is_empty());
        d.labels.iter().for_each(|l| fits(l.loc.start, l.loc.end));
    }
    for parsed_item in &parsed.items {
        let whole = parsed_item.map.item.unwrap();
        for span in &parsed_item.map.spans {
            fits(span.start, span.end);
            assert!(whole.start <= span.start && span.end <= whole.end);
        }
        assert!(parsed_item.map.span(NodeId(0)) == Some(whole));
        // An error node has its error.
        if item(&parsed_item.item).contains("ERROR") {
            assert!(!parsed.diagnostics.is_empty(), "{text:?}");
        }
    }
    // Tokens and trivia cover the text.
    let all = tokens(text);
    let mut at = 0;
    for token in &all.tokens {
        for trivia in all.trivia_of(token) {
            assert_eq!(trivia.start, at);
            at = trivia.end;
        }
        assert_eq!(token.start, at);
        at = token.end;
        fits(token.start, token.end);
    }
    assert_eq!(at as usize, text.len());
    parsed
}

fn on_stack(text: String) {
    on_large_stack(move || check(&text));
}

/// A program, as words; any two may have space or comments between them.
const PROGRAM: &[&str] = &[
    "(",
    "define",
    "(",
    "f",
    "[",
    "x",
    "2",
    "]",
    "y",
    ")",
    "(",
    "let",
    "(",
    "(",
    "z",
    "[",
    "1",
    "2.5",
    "]",
    ")",
    ")",
    "(",
    "cond",
    "(",
    "a",
    "#t",
    ")",
    "(",
    "else",
    "\"s ; t\"",
    ")",
    ")",
    ")",
    ")",
    "(",
    "reduce",
    "#\\a",
    "(",
    "λ",
    "(",
    "p",
    ")",
    "p",
    ")",
    "(",
    "array",
    "[",
    "0",
    "]",
    "int",
    ")",
    ")",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in "\\PC*") {
        on_stack(text);
    }

    #[test]
    fn any_characters_are_read(text in proptest::collection::vec(any::<char>(), 0..60)) {
        on_stack(text.into_iter().collect());
    }

    #[test]
    fn any_tokens_are_read(words in proptest::collection::vec(proptest::sample::select(SOUP), 0..80)) {
        on_stack(words.concat());
    }

    #[test]
    fn any_words_are_read(words in proptest::collection::vec(proptest::sample::select(SOUP), 0..80)) {
        on_stack(words.join(" "));
    }

    /// One token of a good program is lost or doubled.
    #[test]
    fn a_slip_of_the_pen_is_read(at in 0..PROGRAM.len(), other in proptest::sample::select(SOUP), how in 0..3) {
        let mut words = PROGRAM.to_vec();
        match how {
            0 => { words.remove(at); }
            1 => words.insert(at, words[at]),
            _ => words[at] = other,
        }
        on_stack(words.join(" "));
    }

    #[test]
    fn spacing_and_comments_change_no_item(
        gaps in proptest::collection::vec(
            proptest::sample::select(&[" ", "\n", "  ", "\t", "; ; c (\n", "#| [ |#", "\r\n\n", "#;(a [b])"][..]),
            PROGRAM.len(),
        )
    ) {
        let plain = read(&PROGRAM.join(" "));
        let spaced: String = PROGRAM.iter().zip(&gaps).flat_map(|(w, g)| [*w, " ", g, " "]).collect();
        let spaced = check(&spaced);
        prop_assert!(spaced.diagnostics.is_empty());
        let items = |p: &Parsed| p.items.iter().map(|i| i.item.clone()).collect::<Vec<_>>();
        prop_assert_eq!(items(&plain), items(&spaced));
    }
}
