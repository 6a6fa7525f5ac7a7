use super::*;
use remc_base::{Code, Diagnostic};

struct One(String);

impl Sources for One {
    fn source(&self, _: ModuleId) -> Option<(&str, &str)> {
        Some(("a.remora", &self.0))
    }
}

fn at(start: usize, end: usize) -> Span {
    Span::new(ModuleId(0), start, end)
}

fn show(text: &str, d: Diagnostic<Span>, style: Style) -> String {
    render(&One(text.into()), &[d], style, false)
}

const C: Code = Code("E0301");

#[test]
fn shapes_are_aligned() {
    let c = ShapeComparison {
        left: ("argument 1".into(), vec!["2".into(), "n".into()]),
        right: ("the other argument".into(), vec!["2".into(), "(+ n 1)".into()]),
        axis: Some(1),
    };
    assert_eq!(
        shape_rows(&c),
        ["argument 1           [2 n]", "the other argument   [2 (+ n 1)]", "                        ^^^^^^^"]
    );
}

#[test]
fn rich_points_at_the_text() {
    let d = Diagnostic::error(C, "frames disagree")
        .primary(at(3, 8), "frame [2]")
        .secondary(at(9, 16), "frame [3]")
        .help("a help");
    let text = show("(+ [1 2] [1 2 3])\n", d, Style::Rich);
    assert!(text.contains("[E0301] Error: frames disagree"), "{text}");
    assert!(text.contains("a.remora:1:4"), "{text}");
    assert!(text.contains("frame [3]") && text.contains("Help: a help"), "{text}");
    assert!(text.ends_with("for more: remc explain E0301\n"), "{text}");
}

#[test]
fn short_is_one_line() {
    let d = Diagnostic::error(C, "frames disagree").primary(at(4, 5), "x");
    assert_eq!(show("\n\n\n\nab", d, Style::Short), "a.remora:5:1: error[E0301]: frames disagree\n");
}

#[test]
fn json_is_one_line() {
    let d = Diagnostic::error(C, "m").primary(at(3, 4), "x");
    let text = show("λ\nab", d, Style::Json);
    let v: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(v["spans"][0]["line"], 2);
    assert_eq!(v["spans"][0]["column"], 1);
    assert_eq!(text.lines().count(), 1);
}

/// Every kind of span in every kind of text: no panic, and no line too long for a terminal.
#[test]
fn hostile_spans_and_texts() {
    let texts = [
        "".to_owned(),
        "\n".into(),
        "\r\n\r\n".into(),
        "a\tb\u{7f}\u{1b}[31m\u{2028}c\u{85}d\u{feff}\n".into(),
        "λλλ\nµµ\r\nx".into(),
        "[".repeat(100_000),
        format!("{}\n{}", "(λ ".repeat(9_000), ")".repeat(9_000)),
        "宽宽宽 e\u{301}\n".into(),
    ];
    for text in &texts {
        let n = text.len();
        for (s, e) in
            [(0, 0), (0, 1), (0, n), (n, n), (n / 2, n / 2), (n / 2, n), (1, 3), (n + 5, n + 9), (3, 1)]
        {
            for style in [Style::Rich, Style::Short, Style::Json] {
                let d = Diagnostic::error(C, "m").primary(at(s, e), "here").secondary(at(0, n), "whole");
                let out = show(text, d, style);
                if style != Style::Json {
                    assert!(out.lines().all(|l| l.chars().count() < 400), "{out}");
                }
                assert!(!out.chars().any(|c| remc_base::is_hidden(c) && c != '\n'), "{out:?}");
            }
        }
    }
}

/// What comes from elsewhere is escaped wherever it stands; what remc says itself may have several lines.
#[test]
fn what_would_not_be_seen() {
    struct Evil;
    impl Sources for Evil {
        fn source(&self, _: ModuleId) -> Option<(&str, &str)> {
            Some(("a\u{202e}\n.remora", "(f \"\u{202e}\u{1b}[2J\" x)"))
        }
    }
    let d = Diagnostic::error(C, "no file \"x\u{1b}[31m\n[E0001] Error: y\"")
        .primary(at(13, 14), "a\rb")
        .note("one\u{7f}\ntwo\u{200f}")
        .help("h\u{9b}");
    let rich = render(&Evil, std::slice::from_ref(&d), Style::Rich, false);
    for part in [
        "[E0301] Error: no file \"x\\u{1b}[31m\\n[E0001] Error: y\"\n",
        "[ a\\u{202e}\\n.remora:1:12 ]",
        "(f \"\\u{202e}\\u{1b}[2J\" x)",
        "a\\rb",
        "one\\u{7f}",
        "two\\u{200f}",
        "h\\u{9b}",
    ] {
        assert!(rich.contains(part), "{part}\n{rich}");
    }
    let short = render(&Evil, std::slice::from_ref(&d), Style::Short, false);
    assert!(short.starts_with("a\\u{202e}\\n.remora:1:12: error[E0301]: no file"), "{short}");
    assert_eq!(short.lines().count(), 1);
    let json = render(&Evil, &[d], Style::Json, false);
    assert!(json.trim_end().chars().all(|c| !remc_base::is_hidden(c)), "{json}");
    let v: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(v["message"], "no file \"x\u{1b}[31m\n[E0001] Error: y\"");
    assert_eq!(v["notes"][0], "one\u{7f}\ntwo\u{200f}");
}

#[test]
fn a_cut_line_keeps_its_column() {
    let text = format!("{}x{}", " ".repeat(1000), " ".repeat(1000));
    let d = Diagnostic::error(C, "m").primary(at(1000, 1001), "here");
    assert!(show(&text, d.clone(), Style::Rich).contains("a.remora:1:1001"));
    assert!(show(&text, d, Style::Short).contains("a.remora:1:1001"));
}

#[test]
fn without_a_span() {
    let d = Diagnostic::error(C, "no entry").help("write\none").note("a note");
    assert_eq!(
        show("", d, Style::Rich),
        "[E0301] Error: no entry\n  Help: write\n        one\n  Note: a note\nfor more: remc explain E0301\n"
    );
}

#[test]
fn labels_of_one_file_share_an_excerpt() {
    let text = "λλλ\n\n(define a 1)\n(define b 2)\n(define a 3)\n";
    let (first, second) = (text.find("a 1").unwrap(), text.find("a 3").unwrap());
    let d = Diagnostic::error(C, "twice")
        .primary(at(second, second + 1), "again")
        .secondary(at(first, first + 1), "first");
    let shown = show(text, d, Style::Rich);
    assert_eq!(shown.matches("a.remora").count(), 1, "{shown}");
    assert!(shown.contains("a.remora:5:9"), "{shown}");
    assert!(shown.contains(" 3 │ (define a 1)") && shown.contains(" 5 │ (define a 3)"), "{shown}");
}

#[test]
fn colours_are_those_of_the_terminal() {
    let d = Diagnostic::error(C, "m").primary(at(1, 2), "x").note("a note").help("a help");
    let text = render(&One("(+ 1 2)\n".into()), &[d], Style::Rich, true);
    // What is no part of a label, and titles: nothing that is light whatever is behind it.
    for part in ["\x1b[39m(", "\x1b[32mHelp", "\x1b[32mNote"] {
        assert!(text.contains(part), "no {part:?} in {text:?}");
    }
    assert!(!text.contains("38;5;249") && !text.contains("38;5;115"), "{text:?}");
}
