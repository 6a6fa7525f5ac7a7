//! What is compiled again after an edit, and what is kept.

use remc_driver::compile::{Compiled, Field, Kind, Options, Stop, Tuning};
use remc_driver::{Database, Session, SourceFile};
use std::path::Path;
use std::sync::Arc;

const TEXT: &str = "\
; a comment
(define (scale [x 0]) (* x 2.0))
(define (shift [x 0]) (+ x 1.0))
(define unused 5)
(entry (scaled [xs [float n]]) (sum (scale xs)))
(entry (shifted [xs [float n]]) (sum (shift xs)))
";

/// What stands behind Explicit, in its order.
const STAGES: [&str; 6] = ["definitions", "mono", "flat", "numbered", "kernels", "reached"];

struct Editor {
    session: Session,
    file: SourceFile,
}

impl Editor {
    fn new() -> Editor {
        let mut session = Session::new(Database::new(true));
        let file = session.load_text("test.remora", Path::new(""), TEXT.to_owned());
        Editor { session, file }
    }

    fn compiled(&self, entry: &str, options: Options<'_>) -> Arc<Compiled> {
        let entries = self.session.entries(self.file);
        let target = *entries.iter().find(|d| d.name(&self.session.db).as_str() == entry).expect("an entry");
        match self.session.compile(self.file, &[target], &[], options) {
            Ok(Stop::Kernel(compiled)) => compiled,
            other => panic!("{other:?}"),
        }
    }

    /// Compiles both entries for the processor.
    fn both(&self) -> [Arc<Compiled>; 2] {
        ["scaled", "shifted"].map(|entry| self.compiled(entry, Options::default()))
    }

    fn edit(&mut self, from: &str, to: &str) {
        let text = self.session.source(self.file.module(&self.session.db)).unwrap().1;
        assert!(text.contains(from), "{from} is not in\n{text}");
        let text = text.replace(from, to);
        self.session.set_text(self.file, text);
    }

    /// The queries that ran since the last call: those that read and check, and those behind.
    fn ran(&self) -> (Vec<String>, Vec<String>) {
        let all = self.session.db.take_executed();
        let name = |key: &String| key.split('(').next().unwrap_or(key).to_owned();
        all.iter().map(name).partition(|query| !STAGES.contains(&query.as_str()))
    }
}

/// A session in which both entries are compiled, and what was compiled.
fn session() -> (Editor, [Arc<Compiled>; 2]) {
    let editor = Editor::new();
    let both = editor.both();
    let (_, behind) = editor.ran();
    let count = |stage| behind.iter().filter(|q| *q == stage).count();
    assert_eq!(STAGES.map(count), [2; STAGES.len()], "{behind:?}");
    (editor, both)
}

#[test]
fn what_did_not_change_is_not_compiled_again() {
    let (mut editor, before) = session();
    editor.both();
    assert_eq!(editor.ran(), (vec![], vec![]), "nothing was edited");
    editor.edit("; a comment", "; a longer comment\n\n; and another\n");
    let after = editor.both();
    assert_eq!(editor.ran(), (vec!["parse".to_owned()], vec![]), "a comment is read and no more");
    assert!(before.iter().zip(&after).all(|(a, b)| Arc::ptr_eq(a, b)));
}

#[test]
fn an_unrelated_definition_compiles_nothing() {
    let (mut editor, _) = session();
    editor.edit("(define unused 5)", "(define unused (iota [5]))");
    editor.both();
    let (front, behind) = editor.ran();
    assert!(!front.iter().any(|q| q == "check" || q == "explicit"), "nobody asked for it: {front:?}");
    assert_eq!(behind, Vec::<String>::new());
    // One more, or one less, is looked for by name; what was found is what it was.
    editor.edit("(define unused (iota [5]))", "(define other 6) (define more 7)");
    editor.both();
    let (_, behind) = editor.ran();
    assert!(behind.iter().all(|q| q == "reached"), "{behind:?}");
}

#[test]
fn a_body_compiles_the_entries_that_use_it() {
    let (mut editor, before) = session();
    editor.edit("(* x 2.0)", "(* x 3.0)");
    let after = editor.both();
    let (front, mut behind) = editor.ran();
    assert_eq!(front.iter().filter(|q| *q == "check").count(), 1, "{front:?}");
    assert_eq!(front.iter().filter(|q| *q == "explicit").count(), 1, "{front:?}");
    behind.sort();
    assert_eq!(behind, ["definitions", "flat", "kernels", "mono", "numbered", "reached"]);
    assert!(!Arc::ptr_eq(&before[0], &after[0]) && before[0] != after[0]);
    assert!(Arc::ptr_eq(&before[1], &after[1]));
    // And back again.
    editor.edit("(* x 3.0)", "(* x 2.0)");
    assert_eq!(editor.both()[0], before[0]);
}

#[test]
fn an_edit_without_a_consequence_stops_where_it_has_none() {
    let (mut editor, _) = session();
    // What is never used is gone after Mono.
    editor.edit("(sum (scale xs))", "(let ((spare (+ 1 2))) (sum (scale xs)))");
    let first = editor.both();
    editor.ran();
    editor.edit("(+ 1 2)", "(* 3 4)");
    let second = editor.both();
    let (_, behind) = editor.ran();
    assert!(behind.contains(&"mono".to_owned()), "{behind:?}");
    let code = |c: &Compiled| c.kept.get_or_make(|| Ok::<_, ()>(7u8)).map(|n| Arc::as_ptr(&n) as usize);
    assert!(!behind.contains(&"kernels".to_owned()), "{behind:?}");
    assert_eq!(code(&first[0]), code(&second[0]), "its machine code is kept");
}

#[test]
fn another_tuning_or_target_starts_where_it_is_read() {
    let (editor, _) = session();
    let ran = |options: Options<'_>| {
        editor.compiled("scaled", options);
        editor.ran().1
    };
    let grain = Tuning::default().with(&[(Kind::Field(Field::named("grain").unwrap()), 4096)]);
    assert_eq!(ran(Options { tuning: grain, ..Options::default() }), ["kernels", "numbered"]);
    assert_eq!(
        ran(Options { tuning: Tuning::gpu(), ..Options::default() }),
        ["flat", "kernels", "numbered"].map(str::to_owned).to_vec()
    );
    assert_eq!(ran(Options { size_limit: Some(5000), ..Options::default() }).len(), 6, "another unit");
    assert_eq!(ran(Options::default()), Vec::<String>::new());
}

/// Whoever watches sees each pass, whatever is known already.
#[test]
fn a_watched_compilation_runs_its_passes() {
    let (editor, both) = session();
    let mut passes = Vec::new();
    let mut watch =
        |number: usize, _: remc_driver::pipeline::Stage, _: &dyn Fn() -> String| passes.push(number);
    let options = Options { watch: Some(&mut watch), ..Options::default() };
    assert_eq!(editor.compiled("scaled", options), both[0]);
    assert_eq!(passes.first(), Some(&3));
    assert!(passes.is_sorted() && passes.len() > 10, "{passes:?}");
}

/// A result goes with the next, and those of many units by age.
#[test]
fn old_results_go() {
    let (mut editor, _) = session();
    let compile = |editor: &mut Editor, from: usize, to: usize| {
        for n in from..to {
            editor.edit(&format!("(* x {n}.0)"), &format!("(* x {}.0)", n + 1));
            editor.compiled("scaled", Options::default());
            editor.session.db.take_executed();
        }
    };
    let weak = Arc::downgrade(&editor.compiled("scaled", Options::default()).program);
    compile(&mut editor, 2, 12);
    assert!(weak.upgrade().is_none(), "what one result replaces is dropped");
    // Of units, each of which has a result of its own, the oldest have none any more.
    let olds: Vec<_> = (0..200)
        .map(|k| {
            let options = Options { size_limit: Some(10_000 + k), ..Options::default() };
            Arc::downgrade(&editor.compiled("scaled", options).program)
        })
        .collect();
    compile(&mut editor, 12, 16);
    let left = olds.iter().filter(|w| w.upgrade().is_some()).count();
    assert!(left <= 64, "{left} of 200 are still there");
}
