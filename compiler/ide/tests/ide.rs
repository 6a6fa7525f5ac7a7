//! The editor's questions, asked of small texts. A `¦` in a text is the place that is asked about.

use remc_base::Span;
use remc_driver::{Session, SourceFile};
use remc_ide::*;
use std::path::Path;

/// A session with one text, and the place in it.
struct Asked {
    session: Session,
    file: SourceFile,
    text: String,
    at: u32,
}

fn asked(marked: &str) -> Asked {
    let at = marked.find('¦').unwrap_or(0) as u32;
    let text = marked.replacen('¦', "", 1);
    let mut session = Session::default();
    let file = session.load_text("test.remora", Path::new(""), text.clone());
    Asked { session, file, text, at }
}

impl Asked {
    fn ide(&self) -> Ide<'_> {
        Ide::new(&self.session)
    }

    fn slice(&self, span: Span) -> &str {
        &self.text[span.start as usize..span.end as usize]
    }

    fn hover(&self) -> String {
        self.ide().hover(self.file, self.at).map(|h| h.text).unwrap_or_default()
    }

    /// The text after edits.
    fn after(&self, edits: &[Edit]) -> String {
        let mut edits = edits.to_vec();
        edits.sort_by_key(|e| std::cmp::Reverse((e.span.start, e.span.end)));
        let mut text = self.text.clone();
        for e in edits {
            text.replace_range(e.span.start as usize..e.span.end as usize, &e.text);
        }
        text
    }

    /// Where spans are, as line:column from 1 and the text.
    fn places(&self, spans: impl IntoIterator<Item = Span>) -> Vec<String> {
        let place = |s: Span| {
            let before = &self.text[..s.start as usize];
            let line = before.matches('\n').count() + 1;
            let column = before.len() - before.rfind('\n').map_or(0, |n| n + 1) + 1;
            format!("{line}:{column} {}", self.slice(s))
        };
        spans.into_iter().map(place).collect()
    }
}

#[test]
fn hover_tells_types_frames_and_documentation() {
    let first = "; Twice as much.\n; (twice 2) ⇒ 4\n(define (twice x) (* x 2))\n";
    let of = |rest: &str| asked(&format!("{first}{rest}")).hover();
    let twice = of("(tw¦ice [1 2])");
    assert!(twice.contains("(twice x) : (∀ ((t num)) (→ (t) t))"), "{twice}");
    assert!(twice.contains("Twice as much."), "{twice}");
    assert!(twice.contains("(twice 2)  ; ⇒ 4"), "{twice}");
    assert!(twice.contains("here `(→ (int) int)`"), "{twice}");
    // The application, on its parenthesis.
    let applied = of("¦(twice [1 2 3])");
    assert!(applied.contains("[int 3]") && applied.contains("the frame `[3]`"), "{applied}");
    assert!(of("(λ ([x¦s [float n]]) (sum xs))").contains("xs : [float n]"));
    assert!(of("(define (f [xs [float n]]) (+ n¦ (length xs)))").contains("a size of `f`"));
    assert!(of("(define k 12) (twice k¦)").contains("k : int = 12"));
    assert!(of("(l¦et ((y 1)) y)").contains("(let ((x e) …) e)"));
    assert!(of("(define (f [x i3¦2]) x)").contains("whole numbers of 32 bits"));
    // A definition that does not check still says what is bound where.
    assert!(of("(define (f [x 1] y) (+ x¦ undefined))").contains("a parameter of `f`"));
    assert_eq!(of("; a comm¦ent\n"), "");
    assert_eq!(asked("¦").hover(), "");
}

#[test]
fn definitions_and_references() {
    let a = asked("(define k 2)\n(define (f x) (* x k))\n(define (g x) (let ((x (+ x 1))) (f x¦)))\n(f k)\n");
    assert_eq!(a.places(a.ide().definition(a.file, a.at)), ["3:22 x"]);
    assert_eq!(a.places(a.ide().references(a.file, a.at, true)), ["3:22 x", "3:37 x"]);
    let of = |what: &str, declaration| {
        let at = a.text.find(what).unwrap() as u32;
        a.places(a.ide().references(a.file, at, declaration))
    };
    assert_eq!(of("k 2", true), ["1:9 k", "2:20 k", "4:4 k"]);
    assert_eq!(of("k 2", false), ["2:20 k", "4:4 k"]);
    assert_eq!(of("f x) (*", true), ["2:10 f", "3:35 f", "4:2 f"]);
    // The parameter is not what the let binds.
    assert_eq!(of("x) (let", true), ["3:12 x", "3:27 x"]);
    let library = a.ide().definition(a.file, a.text.find("* x").unwrap() as u32);
    assert!(a.session.source(library[0].module).unwrap().0.starts_with("prelude/"), "{library:?}");
    // Types bind what they mention.
    let t = asked("(define (f [xs [t n]] [ys [t n]]) (append xs ys))");
    let uses = |what: &str| {
        let at = t.text.find(what).unwrap() as u32 + 1;
        t.places(t.ide().references(t.file, at, true))
    };
    assert_eq!(uses("[t n]"), ["1:17 t", "1:28 t"]);
    assert_eq!(uses(" n]"), ["1:19 n", "1:30 n"]);
    let highlights = t.ide().highlights(t.file, t.text.find("xs").unwrap() as u32);
    assert_eq!(highlights.iter().map(|(_, b)| *b).collect::<Vec<_>>(), [true, false]);
}

#[test]
fn rename_keeps_what_names_mean() {
    let renamed = |text: &str, new: &str| {
        let a = asked(text);
        a.ide().rename(a.file, a.at, new).map(|edits| a.after(&edits))
    };
    assert_eq!(
        renamed("(define k¦ 2)\n(define (f x) (* x k))\n(let ((k 3)) (+ k (f 1)))", "factor").unwrap(),
        "(define factor 2)\n(define (f x) (* x factor))\n(let ((k 3)) (+ k (f 1)))"
    );
    assert_eq!(
        renamed("(define (f [x¦ 1] [y 1]) (+ x y))", "xs").unwrap(),
        "(define (f [xs 1] [y 1]) (+ xs y))"
    );
    assert_eq!(
        renamed("(define (f [xs [float n¦]] [ys [float n]]) (reify-dimension n))", "rows").unwrap(),
        "(define (f [xs [float rows]] [ys [float rows]]) (reify-dimension rows))"
    );
    // Captured: by a binder inside, and by this one.
    let captured = |text: &str, new: &str| renamed(text, new).unwrap_err();
    assert!(captured("(define (f x¦) (let ((y 1)) (+ x y)))", "y").contains("something else"));
    assert!(captured("(define k 1) (define (f x¦) (+ x k))", "k").contains("something else"));
    assert!(captured("(define k¦ 1) (define (f x) (+ x k))", "x").contains("something else"));
    assert!(captured("(define k¦ 1) (define j 2)", "j").contains("defined already"));
    assert!(captured("(define k¦ 1)", "sum").contains("defined already, by the language"));
    assert!(captured("(define k¦ 1)", "let").contains("a form of the language"));
    assert!(captured("(define k¦ 1)", "a b").contains("no name"));
    assert!(captured("(define k¦ 1)", "12").contains("no name"));
    assert!(captured("(define k¦ 1)", "").contains("no name"));
    assert!(captured("(define (f [xs [float n¦]]) xs)", "@n").contains("a shape's"));
    assert!(captured("(su¦m [1])", "total").contains("defined by the language"));
    assert!(captured("(define (f [x in¦t]) x)", "whole").contains("a type of the language"));
}

/// A quarter of the programs of the suite.
fn programs() -> Vec<std::path::PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testsuite/programs");
    let all = std::fs::read_dir(folder).unwrap().flatten().map(|e| e.path());
    let mut all: Vec<_> = all.filter(|p| p.extension().is_some_and(|e| e == "remora")).collect();
    all.sort();
    all.into_iter().step_by(4).collect()
}

#[test]
fn every_binder_of_the_suite_can_be_renamed() {
    let mut renamed = 0;
    for path in programs() {
        let mut session = Session::default();
        let Ok(file) = session.load(&path) else { continue };
        let text = session.source(file.module(&session.db)).unwrap().1.to_owned();
        if text.len() > 1500 || session.diagnostics(file).iter().any(|d| d.is_error()) {
            continue;
        }
        let ide = Ide::new(&session);
        // Each name where it is bound, told by its colour.
        for token in ide.tokens(file, None).iter().filter(|t| t.declaration && t.kind != TokenKind::Property)
        {
            let at = &text[token.span.start as usize..token.span.end as usize];
            let new = if at.starts_with('@') { "@renamed" } else { "renamed" };
            let edits = ide
                .rename(file, token.span.start, new)
                .unwrap_or_else(|e| panic!("{}: `{at}` at {}: {e}", path.display(), token.span.start));
            assert!(!edits.is_empty());
            renamed += 1;
        }
    }
    assert!(renamed > 300, "{renamed}");
}

#[test]
fn outline_folds_and_selections() {
    let a = asked(
        "; one\n; two\n(import \"a\")\n(import \"b\")\n(define-type P [float 2])\n(define (f x)\n  (let ((y x))\n    y))\n(entry (main [n int]) n)\n(define k 1)\n(f¦ 2)\n",
    );
    let symbols: Vec<(String, SymbolKind)> =
        a.ide().symbols(a.file).into_iter().map(|s| (s.name, s.kind)).collect();
    let named = |n: &str, k| (n.to_owned(), k);
    assert_eq!(
        symbols,
        [
            named("a", SymbolKind::Import),
            named("b", SymbolKind::Import),
            named("P", SymbolKind::Type),
            named("f", SymbolKind::Function),
            named("main", SymbolKind::Entry),
            named("k", SymbolKind::Value),
            named("(f 2)", SymbolKind::Expression),
        ]
    );
    let folds: Vec<(String, FoldKind)> = {
        let short = |s: Span| a.slice(s).lines().next().unwrap_or_default().to_owned();
        a.ide().folds(a.file).into_iter().map(|f| (short(f.span), f.kind)).collect()
    };
    assert_eq!(
        folds,
        [
            named_fold("; one", FoldKind::Comment),
            named_fold("(import \"a\")", FoldKind::Imports),
            named_fold("(define (f x)", FoldKind::Form),
            named_fold("(let ((y x))", FoldKind::Form),
        ]
    );
    let selected: Vec<String> =
        a.ide().selection(a.file, a.at).into_iter().take(3).map(|s| a.slice(s).to_owned()).collect();
    assert_eq!(selected, ["f", "f 2", "(f 2)"]);
    let lenses: Vec<String> =
        a.ide().lenses(a.file).into_iter().map(|l| format!("{} {:?}", l.name, l.kind)).collect();
    assert_eq!(lenses, ["main Run", "main Explain", "#expr0 Run", "#expr0 Explain"]);
    let found: Vec<String> = a.ide().workspace_symbols("mn").into_iter().map(|s| s.name).collect();
    assert_eq!(found, ["main"]);
}

fn named_fold(text: &str, kind: FoldKind) -> (String, FoldKind) {
    (text.to_owned(), kind)
}

#[test]
fn colours() {
    let a = asked("; c\n(define (f [x [float n]]) : [float n] (+ x \"s\" 1.5)) (f k)");
    let colours: Vec<String> = a
        .ide()
        .tokens(a.file, None)
        .into_iter()
        .map(|t| {
            let marks = [(t.declaration, "!"), (t.prelude, "p")];
            let marks: String = marks.iter().filter(|(on, _)| *on).map(|(_, m)| *m).collect();
            format!("{} {:?}{marks}", a.slice(t.span), t.kind)
        })
        .collect();
    assert_eq!(
        colours,
        [
            "; c Comment",
            "define Keyword",
            "f Function!",
            "x Parameter!",
            "float Typep",
            "n TypeParameter!",
            ": Operator",
            "float Typep",
            "n TypeParameter",
            "+ Functionp",
            "x Parameter",
            "\"s\" String",
            "1.5 Number",
            "f Function",
            "k Variable",
        ]
    );
    let plain: Vec<TokenKind> = highlight("(f x) ; c").into_iter().map(|(_, k)| k).collect();
    assert_eq!(plain, [TokenKind::Function, TokenKind::Variable, TokenKind::Comment]);
    // A comment of several lines is a piece for each.
    assert_eq!(highlight("#| a\n b |#").len(), 2);
}

#[test]
fn the_function_around_a_place() {
    let of = |text: &str| {
        let a = asked(text);
        a.ide()
            .signature(a.file, a.at)
            .map(|s| (s.label.clone(), s.label[s.parameters[s.active].clone()].to_owned()))
    };
    let some = |label: &str, at: &str| Some((label.to_owned(), at.to_owned()));
    let f = "(define (f first second) (+ first second))\n";
    assert_eq!(of(&format!("{f}(f ¦)")), some("(f first second)", "first"));
    assert_eq!(of(&format!("{f}(f 1 ¦)")), some("(f first second)", "second"));
    assert_eq!(of(&format!("{f}(f [1 2¦] 3)")), some("(f first second)", "first"));
    assert_eq!(of(&format!("{f}(f (f 1 2) ¦")), some("(f first second)", "second"), "half written");
    assert_eq!(of(&format!("{f}(~(0 1)f 1 2¦)")), some("(f first second)", "second"));
    assert_eq!(of(&format!("{f}(let ((x ¦")), None);
    assert_eq!(of("(take1 ¦"), some("(take1 xs count)", "xs"));
    assert_eq!(of("(let (((g x) (* x 2))) (g ¦1))"), some("(g x1)", "x1"));
    assert_eq!(of("¦"), None);
    let a = asked("(take1 ¦");
    let s = a.ide().signature(a.file, a.at).unwrap();
    assert!(s.documentation.contains("→") && s.types.len() == 2, "{s:?}");
}

#[test]
fn hints_say_what_is_inferred_and_write_it() {
    let a = asked(
        "(define (f [x 1] k) (let ((y (* x (: k float)))) (+ y 1.5)))\n(define m [[1.0 2.0] [3.0 4.0]])\n(~(1 0)f m 2.0)\n",
    );
    let hints = a.ide().hints(a.file, 0..a.text.len() as u32);
    let shown: Vec<String> = hints
        .iter()
        .map(|h| {
            format!("{}{}", &a.text[..h.offset as usize].rsplit('\n').next().unwrap_or_default(), h.label)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "(define (f [x 1: [float n]",
            "(define (f [x 1] k: float",
            "(define (f [x 1] k): [float n]",
            "(define (f [x 1] k) (let ((y: [float n]",
            "(~(1 0)fover [2]",
        ]
    );
    let edits: Vec<Edit> = hints.iter().flat_map(|h| h.edits.clone()).collect();
    let after = a.after(&edits);
    assert!(after.starts_with("(define (f [x [float n]] [k float]) : [float n] (let"), "{after}");
    let b = asked(&after);
    assert_eq!(b.ide().diagnostics(b.file), []);
    // A size's name that something else has is not written.
    let c = asked("(define n 5)\n(define (f [x 1]) (+ (* x (: 1.0 float)) (int->float n)))\n");
    let hints = c.ide().hints(c.file, 0..c.text.len() as u32);
    assert!(hints.iter().any(|h| h.label == ": [float n]"));
    assert!(hints.iter().all(|h| h.edits.is_empty()), "{hints:?}");
}

/// The types that hints write are those that are inferred: the program means the same with all of them.
#[test]
fn hints_of_the_suite_can_be_written() {
    let mut written = 0;
    for path in programs() {
        let mut session = Session::default();
        let Ok(file) = session.load(&path) else { continue };
        let text = session.source(file.module(&session.db)).unwrap().1.to_owned();
        if text.len() > 1500 || session.diagnostics(file).iter().any(|d| d.is_error()) {
            continue;
        }
        let ide = Ide::new(&session);
        let mut edits: Vec<Edit> =
            ide.hints(file, 0..text.len() as u32).into_iter().flat_map(|h| h.edits).collect();
        if edits.is_empty() {
            continue;
        }
        written += edits.len();
        edits.sort_by_key(|e| std::cmp::Reverse((e.span.start, e.span.end)));
        let types = |session: &Session, file| -> Vec<String> {
            let symbols = Ide::new(session).symbols(file);
            symbols
                .into_iter()
                .map(|s| format!("{} {}", s.name, s.detail))
                .filter(|s| !s.starts_with('('))
                .collect()
        };
        let before = types(&session, file);
        let mut after = text.clone();
        for e in edits {
            after.replace_range(e.span.start as usize..e.span.end as usize, &e.text);
        }
        session.set_text(file, after.clone());
        let wrong: Vec<String> =
            session.diagnostics(file).into_iter().filter(|d| d.is_error()).map(|d| d.message).collect();
        assert!(wrong.is_empty(), "{}: {wrong:?}\n{after}", path.display());
        assert_eq!(types(&session, file).len(), before.len(), "{}", path.display());
    }
    assert!(written > 40, "{written}");
}

#[test]
fn fixes_mend_what_is_wrong() {
    let fixed = |text: &str| {
        let a = asked(text);
        let actions = a.ide().actions(a.file, 0..a.text.len() as u32);
        let fix = actions.iter().find(|x| x.kind == ActionKind::QuickFix);
        let fix = fix.unwrap_or_else(|| panic!("{text}: {:?}", a.ide().diagnostics(a.file)));
        assert!(fix.fixes.is_some());
        let after = a.after(&fix.edits);
        let b = asked(&after);
        assert_eq!(b.ide().diagnostics(b.file), [], "{after}");
        after
    };
    assert_eq!(
        fixed("(define table [[1 2 3] [4 5 6]])\n(- table [1 2 3])"),
        "(define table [[1 2 3] [4 5 6]])\n(~(1 1)- table [1 2 3])"
    );
    assert_eq!(fixed("(define length-of 3)\n(+ lenght-of 1)"), "(define length-of 3)\n(+ length-of 1)");
    assert_eq!(fixed("(take1 3 [1 2 3 4])"), "(take1 [1 2 3 4] 3)");
    assert_eq!(
        fixed("(define a [[1 2 3] [4 5 6]])\n(m*m a  ; the same twice\n     a)"),
        "(define a [[1 2 3] [4 5 6]])\n(m*m a (transpose a))"
    );
    assert_eq!(fixed("(define (f [x flaot]) (+ x 1.0))"), "(define (f [x float]) (+ x 1.0))");
    assert_eq!(fixed("(: 3 integer)"), "(: 3 int)");
}
