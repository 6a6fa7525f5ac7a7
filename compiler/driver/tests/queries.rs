//! What runs again after an edit: the exact list of executed queries.

use remc_driver::cycles::component;
use remc_driver::names::{parse, refs};
use remc_driver::queries::{check, scheme};
use remc_driver::{Database, Session, SourceFile};
use salsa::plumbing::AsId;
use std::collections::HashMap;
use std::path::Path;

const TEXT: &str = "\
; a comment
(define a 1)
(define (f [x 0]) (+ x a))
(define (g [x 0]) (* x 2))
(f (g 3))
";

fn session() -> (Session, SourceFile) {
    let mut session = Session::new(Database::new(true));
    let file = session.load_text("test.remora", Path::new(""), TEXT.to_owned());
    session.diagnostics(file);
    session.db.take_executed();
    (session, file)
}

/// Edits the text, asks for the diagnostics, and gives the queries that ran, as `query name`.
fn after(session: &mut Session, file: SourceFile, from: &str, to: &str) -> Vec<String> {
    let text = session.source(file_module(session, file)).unwrap().1.to_owned();
    assert!(text.contains(from), "{from} is not in\n{text}");
    session.set_text(file, text.replace(from, to));
    session.diagnostics(file);
    let executed = session.db.take_executed();
    let names: HashMap<String, String> = session
        .defs(file)
        .iter()
        .map(|d| (format!("{:?}", d.as_id()), d.name(&session.db).to_string()))
        .collect();
    executed
        .into_iter()
        .map(|key| {
            let (query, id) = key.split_once('(').unwrap_or((&key, ""));
            match names.get(id.strip_suffix(')').unwrap_or(id)) {
                Some(name) if query != "parse" => format!("{query} {name}"),
                _ => query.to_owned(),
            }
        })
        .collect()
}

fn file_module(session: &Session, file: SourceFile) -> remc_base::ModuleId {
    file.module(&session.db)
}

#[test]
fn a_comment_is_parsed_and_no_more() {
    let (mut s, file) = session();
    assert_eq!(after(&mut s, file, "; a comment", "; another, longer comment\n\n"), ["parse"]);
    // Positions did move, though no query knows.
    assert_eq!(after(&mut s, file, "(f (g 3))", "(f\n   (g 3)) ; the end"), ["parse"]);
}

#[test]
fn a_body_of_the_same_type_is_checked_alone() {
    let (mut s, file) = session();
    assert_eq!(after(&mut s, file, "(* x 2)", "(* x 5)"), ["parse", "refs g", "check g", "scheme g"]);
}

#[test]
fn a_body_of_another_type_is_checked_with_its_users() {
    let (mut s, file) = session();
    let ran = after(&mut s, file, "(define a 1)", "(define a 1.5)");
    let checked: Vec<&str> = ran.iter().filter_map(|q| q.strip_prefix("check ")).collect();
    assert_eq!(checked, ["a", "f", "#expr0"], "{ran:?}");
}

#[test]
fn a_new_definition_checks_no_other() {
    let (mut s, file) = session();
    let ran = after(&mut s, file, "(define a 1)", "(define a 1) (define unused 2)");
    let checked: Vec<&str> = ran.iter().filter_map(|q| q.strip_prefix("check ")).collect();
    assert_eq!(checked, ["unused"], "{ran:?}");
}

#[test]
fn a_definition_that_shadows_the_prelude_checks_its_users() {
    let (mut s, file) = session();
    let ran = after(&mut s, file, "(define a 1)", "(define a 1) (define (* [x 0] [y 0]) (+ x y))");
    let checked: Vec<&str> = ran.iter().filter_map(|q| q.strip_prefix("check ")).collect();
    assert_eq!(checked, ["*", "g"], "{ran:?}");
}

#[test]
fn recursion_is_known_before_checking() {
    let mut s = Session::default();
    let text =
        "(define (even [n 0]) (odd n)) (define (odd [n 0]) (even n)) (define (self [n 0]) (self n)) (even 1)";
    let file = s.load_text("test.remora", Path::new(""), text.to_owned());
    let by_name =
        |name: &str| *s.defs(file).iter().find(|d| d.name(&s.db).as_str() == name).expect("a definition");
    let path = |from: &str, to: &str| {
        remc_driver::cycles::recursion(&s.db, by_name(from), by_name(to))
            .map(|p| p.iter().map(|g| g.to_string()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(path("even", "odd").as_deref(), Some("even odd even"));
    assert_eq!(path("odd", "even").as_deref(), Some("odd even odd"));
    assert_eq!(path("self", "self").as_deref(), Some("self self"));
    assert_eq!(path("#expr0", "even"), None);
    assert_eq!(component(&s.db, by_name("#expr0")), None);
    // Nor does checking run into it.
    let _ = (scheme(&s.db, by_name("even")), check(&s.db, by_name("odd")), refs(&s.db, by_name("odd")));
    assert_eq!(parse(&s.db, file).defs(&s.db).len(), 4);
}

/// The whole prelude checks, and each of its elaborations verifies.
#[test]
fn the_prelude_is_right() {
    let work = || {
        let s = Session::default();
        for &file in s.prelude() {
            let wrong: Vec<_> = s.diagnostics(file);
            let shown = remc_driver::render::render(&s, &wrong, Default::default(), false);
            assert!(wrong.is_empty(), "{shown}");
            let program = s.link(file, &s.value_defs(file));
            if let Err(bug) = s.verify(&program, file) {
                panic!("{}", bug.message);
            }
        }
    };
    std::thread::Builder::new().stack_size(1 << 28).spawn(work).unwrap().join().unwrap();
}
