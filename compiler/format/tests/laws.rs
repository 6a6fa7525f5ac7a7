//! What holds of every text: formatting keeps the program and the comments, and formatting twice is formatting once.

mod support;

use proptest::prelude::*;
use remc_base::{Diagnostic, ModuleId};
use remc_format::{
    apply, format, format_forms, format_markdown, format_range, new_line, reindent, same_program,
};
use remc_syntax::{parse, tokens};
use support::{of_repository, on_large_stack};

/// The laws, of a text; gives what formatting makes of it.
fn check(text: &str) -> Option<String> {
    check_edits(text);
    let before = parse(ModuleId(0), text, true);
    let new = match format(text) {
        Ok(new) => new,
        Err(diagnostics) => {
            assert!(diagnostics.iter().any(Diagnostic::is_error));
            return None;
        }
    };
    let after = parse(ModuleId(0), &new, true);
    let items = |p: &remc_syntax::Parsed| p.items.iter().map(|i| i.item.clone()).collect::<Vec<_>>();
    assert!(
        !after.diagnostics.iter().any(Diagnostic::is_error),
        "{text}\n=>\n{new}\n{:?}",
        after.diagnostics
    );
    assert_eq!(items(&before), items(&after), "{text}\n=>\n{new}");
    assert!(same_program(text, &new), "{text}\n=>\n{new}");
    let again = format(&new).unwrap();
    assert_eq!(new, again, "not stable:\n{text}\n=>\n{new}\n=>\n{again}");
    assert!(new.is_empty() || new == "\u{feff}" || new.ends_with('\n'));
    assert!(!new.contains("\n\n\n\n") || text.contains("\n\n\n"), "empty lines: {new}");
    Some(new)
}

/// What the editor asks for does no harm to any text.
fn check_edits(text: &str) {
    let solid = |t: &str| {
        let mut all: Vec<char> = t.chars().filter(|c| !c.is_whitespace()).collect();
        all.sort_unstable();
        all
    };
    let edits = format_forms(text);
    let new = apply(text, &edits);
    assert_eq!(solid(text), solid(&new), "{text}\n=>\n{new}");
    if let Ok(whole) = format(text) {
        assert_eq!(whole, new, "the edits of {text:?}");
    }
    let at: Vec<usize> = (0..=text.len()).filter(|i| text.is_char_boundary(*i)).collect();
    for i in at.iter().step_by(1 + at.len() / 3) {
        let part = format_range(text, *i..*i);
        assert!(part.iter().all(|e| edits.contains(e)));
        new_line(text, *i);
        let indented = apply(text, &reindent(text, *i));
        assert_eq!(solid(text), solid(&indented));
    }
    if let Some(close) = text.rfind(')') {
        let indented = apply(text, &reindent(text, close + 1));
        assert_eq!(solid(text), solid(&indented));
    }
}

#[test]
fn every_program_of_the_repository() {
    on_large_stack(|| {
        let all = of_repository("remora");
        assert!(all.len() > 800);
        let mut formatted = 0;
        for path in all {
            if let Ok(text) = std::fs::read_to_string(&path) {
                formatted += usize::from(check(&text).is_some());
            }
        }
        assert!(formatted > 700);
    });
}

#[test]
fn every_page_of_the_repository() {
    on_large_stack(|| {
        let all = of_repository("md");
        let mut blocks = 0;
        for path in all {
            let text = std::fs::read_to_string(&path).unwrap();
            let new = format_markdown(&text);
            assert_eq!(format_markdown(&new.text).text, new.text, "{}", path.display());
            let mut inside = None;
            for line in text.lines() {
                match (&mut inside, line) {
                    (None, "```remora") => inside = Some(String::new()),
                    (Some(block), "```") => {
                        check(block);
                        blocks += 1;
                        inside = None;
                    }
                    (Some(block), line) => *block += &format!("{line}\n"),
                    _ => {}
                }
            }
        }
        assert!(blocks > 400);
    });
}

/// Every form, for texts in which all that stands between tokens is anything.
const FORMS: &[&str] = &[
    "(define (f{(t num) | n @s} [x [t n @s]] y) : [t @s] (define z (+ x 1)) (reduce + (* z y)))",
    "(define table [[1 -20 3.25] [400 5 -6.5] [7 8 9]])",
    "(define long [1 22 333 4444 55555 6 77 888 9999 10 111 1212 13131 14 15.5 16 17 18 19 20 21 22 23 24 25 26 27 28])",
    "(define-type Rows (Σ (n) [(Tuple int [char n]) n 3]))",
    "(import \"other.remora\")",
    "(entry (main [xs [f32 n m]] [ys [int k]] [threshold-of-what-counts float]) (values (sum xs) ys n m k))",
    "(primitive (g{t u | d-1 @c (= d d-1)} [op (→ ([t @c] [t @c]) [t @c])] [xs [t (+ d-1 1) @c]]) : [t @c])",
    "(let ((x 1) (y 2 [1 2]) ((h a b) : int (* a b)) (z : int 3)) (let* ((w (h x z)) (v (+ w 1))) (h v w)))",
    "(let-values (((q r) (divided 7 4)) (([a 0] b) (values [1 2] 10))) (+ q r a b))",
    "(cond ((= i 0) [0 (max2 0 (- j 1))]) ((= j 0) (define k 2) [(- i 1) k]) (else [(- i 1) (- j 1)]))",
    "(if (and (< count limit) (<= (dot z z) 4)) (box ((n 3)) [int n] [1 2 3]) (box (append v [1 2 3 4 5 6])))",
    "(loop ((i 0) (s [0 0])) while (< i 5) do (define next (+ i 1)) (values next (+ s i)))",
    "(unbox (boxes (n m) [int n m] [2] ((1 2) [[1 2]]) ((2 1) [[3] [4]])) (v n m) (+ (sum (ravel v)) n m))",
    "(lift [k (sum [1 2])] (lift-int (j -3) (reshape [k] (iota [(+ k j)]))))",
    "(record (name \"al\\\"bert ; no comment\") (age 3) (flags [#t #f #\\; #\\( #\\space]))",
    "(with (record (a 1) (b 2)) (a (field (record (c 3)) c)) (b \"two\nlines\"))",
    "(~(1 1)append{int | 3 4 []} ((λ ([x int] [y all]) : int (+ x y)) 1 2) ~(0 1)(fn (a) (* a a)) ~[2]f)",
    "((Tλ ((t num) @u) (Iλ (n @s) (λ ([x [t n @s]] [f (∀ (t) (Π (n) (→ ([t n]) t)))]) (f x)))) 1)",
    "(array [2 3] 1 2 3 40 50 60) (frame [2] [1 2] [3 4]) (array [0 3] int) f{|} iota{ | [2 3]} g{int |}",
    "(: (cast u8 300) (A int (shape 3 4))) (t-app f int) (i-app f 3 [2]) (proj 0 (values 1 2)) (reify-shape @s)",
    "(values (dot [1 2 3] [4 5 6]) (as-shape [(rank @s)] at) (reify-dimension n) (** 2 10) #t nan -inf 1_000u8)",
    "(fold (λ ([elt c] [acc k]) (append acc [elt elt elt])) (array [0] int) (iota [(length a-very-long-name)]))",
    "1 + 2",
];

/// A comment that goes on below: it begins in the same column.
const CONTINUED: &str = " ; one\n; two\n";

/// What may stand between two tokens.
const GAPS: &[&str] = &[
    " ",
    " ",
    " ",
    " ",
    " ",
    " ",
    "\n",
    "\n",
    "\n\n",
    "\n\n\n",
    "   ",
    "\t",
    "\r\n",
    "\n        ",
    " ; comment\n",
    "  ; ⇒ [1 2]\n",
    CONTINUED,
    "\n; own line\n",
    "\n\n  ;; another\n\n",
    " #| block |# ",
    "\n#| on its\n   own |#\n",
    " #;(a [b]) ",
    "\n#; x\n",
    " #;#;a b ",
    " #| one |# ; two\n",
];

fn column(text: &str) -> usize {
    text.lines().next_back().filter(|_| !text.ends_with('\n')).map_or(0, |line| line.chars().count())
}

/// The tokens of forms, with gaps between them that `choose` chooses; what is glued stays so.
fn spaced(forms: &[usize], gaps: &[usize], usual: usize) -> String {
    let mut out = String::new();
    let mut gaps = gaps.iter().cycle();
    for form in forms {
        let text = FORMS[*form];
        let all = tokens(text);
        for token in &all.tokens {
            if token.start as usize == text.len() {
                break;
            }
            let inside = all.trivia_of(token);
            let gap = *gaps.next().unwrap();
            let gap = if gap >= usual { " " } else { GAPS[gap] };
            let below = format!(" ; one\n{}; two\n", " ".repeat(column(&out) + 1));
            let gap = if gap == CONTINUED { below.as_str() } else { gap };
            match inside.is_empty() {
                // Where nothing stood something may, but for what has to be glued.
                true if token.start > 0
                    && !out.ends_with(['~', ' '])
                    && !text[token.start as usize..].starts_with('{') =>
                {
                    let before = text.as_bytes()[token.start as usize - 1];
                    let free =
                        matches!(before, b'(' | b'[') || text[token.start as usize..].starts_with([')', ']']);
                    if free && gap != " " {
                        out.push_str(gap);
                    }
                }
                true => {}
                false => out.push_str(gap),
            }
            out.push_str(&text[token.start as usize..token.end as usize]);
        }
        out.push('\n');
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 250, failure_persistence: None, ..ProptestConfig::default() })]

    /// Anything between the tokens: often, or mostly single spaces.
    #[test]
    fn anything_between_tokens(
        forms in proptest::collection::vec(0..FORMS.len(), 1..4),
        gaps in proptest::collection::vec(0..GAPS.len() * 8, 1..200),
        usual in prop_oneof![Just(GAPS.len()), Just(GAPS.len() * 8)],
    ) {
        let gaps: Vec<usize> = if usual == GAPS.len() { gaps } else { gaps.iter().map(|g| g % GAPS.len()).collect() };
        let text = spaced(&forms, &gaps, usual);
        on_large_stack(move || check(&text));
    }

    /// Forms within forms, on one line, deeper and deeper.
    #[test]
    fn forms_within_forms(parts in proptest::collection::vec(0..FORMS.len(), 1..12), around in 0..6usize) {
        let wraps = ["(f x _ y)", "(let ((a _)) a)", "(λ (x) _)", "[[1 2] _]", "(if c _ _)", "(g{int | 3} _)"];
        let mut text = String::from("z");
        for part in parts {
            let form = FORMS[part];
            let inner = if form.starts_with("(define") || form.starts_with("(entry") { "1" } else { form };
            text = wraps[(part + around) % wraps.len()].replacen('_', &text, 1).replace('_', inner);
        }
        on_large_stack(move || check(&text));
    }

    #[test]
    fn any_text(text in "\\PC*") {
        on_large_stack(move || check(&text));
    }

    #[test]
    fn brackets_and_words(words in proptest::collection::vec(
        proptest::sample::select(&["(", ")", "[", "]", "f{", "}", "|", "~(", "#;", "\"", "; c\n", "\n", "\n(", " ", "define", "let",
            "x", "1", ":", "λ", "cond", "loop", "box", "#|", "|#", "\u{feff}", ",", "\r\n"][..]), 0..60)
    ) {
        on_large_stack(move || check(&words.concat()));
    }
}

#[test]
fn depth_takes_no_stack() {
    // Within what the reader takes, and far beyond it for what an editor asks.
    on_large_stack(|| {
        check(&format!("{}1{}", "(add1 ".repeat(900), ")".repeat(900)));
        check(&format!("{}1{}", "[".repeat(990), "]".repeat(990)));
    });
    let deep = format!("{}1{}", "(f\n".repeat(100_000), ")".repeat(100_000));
    assert_eq!(apply(&deep, &format_forms(&deep)), format!("{deep}\n"));
    let deep = "(f ".repeat(100_000);
    assert_eq!(new_line(&deep, deep.len()), Some(300_000 - 1));
    assert!(reindent(&format!("{deep}1{}", ")".repeat(100_000)), 400_001).is_empty());
}

#[test]
fn time_is_linear() {
    let line = "(define (f [x 1]) (let ((y (+ x 1)))\n (values [[1 2]\n[30 4]] (g y ; one\n ) y)))\n";
    let text = line.repeat(20_000);
    let start = std::time::Instant::now();
    on_large_stack(move || format(&text).unwrap());
    assert!(start.elapsed().as_secs() < 60);
}
