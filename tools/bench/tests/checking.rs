//! The files that `--checking` measures are right programs, and what it measures is linear for a reason: how many
//! queries run grows with the file, and after an edit only those run that depend on what was edited.

use remc_bench::checking::{definitions, measure};
use remc_driver::{Database, Session, SourceFile};
use std::path::Path;

/// A session that has checked the text and logs what it does next.
fn checked(text: String) -> (Session, SourceFile, usize) {
    let mut session = Session::new(Database::new(true));
    let file = session.load_text("definitions.remora", Path::new(""), text);
    let said = session.diagnostics(file);
    assert!(said.is_empty(), "{said:?}");
    let queries = session.db.take_executed().len();
    (session, file, queries)
}

/// The checker recurses as deep as programs are nested, for which a thread of a test is too small.
fn with_a_large_stack(work: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(256 << 20).spawn(work).expect("a thread");
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn generated_files_check_and_verify() {
    with_a_large_stack(|| {
        let (session, file, _) = checked(definitions::file(600));
        let program = session.link(file, &session.value_defs(file));
        if let Err(bug) = session.verify(&program, file) {
            panic!("{}", bug.message);
        }
        let shown = remc_driver::show::show_types(&session, file);
        let (again, file, _) = checked(shown.clone());
        assert_eq!(remc_driver::show::show_types(&again, file), shown);
    });
}

#[test]
fn queries_grow_with_the_file() {
    with_a_large_stack(|| {
        let [prelude, small, large] = [0, 300, 1200].map(|n| checked(definitions::file(n)).2);
        let (small, large) = (small - prelude, large - prelude);
        // A longer file begins with the shorter, and has names of its own to look up.
        assert!(large <= 4 * small + small / 5, "{small} queries for 300 definitions, {large} for 1200");
    });
}

#[test]
fn an_edit_of_one_definition_checks_that_definition() {
    with_a_large_stack(|| {
        let mut forms = definitions::forms(measure::definitions_of(1000));
        assert!(forms.concat().lines().count() >= 1000);
        let (mut session, file, _) = checked(forms.concat());
        let mut edits = 0;
        for i in 0..forms.len() {
            let Some(edited) = definitions::edited(&forms[i]) else { continue };
            forms[i] = edited;
            session.set_text(file, forms.concat());
            assert!(session.diagnostics(file).is_empty());
            let ran: Vec<String> = session.db.take_executed();
            let ran: Vec<&str> = ran.iter().map(|q| q.split('(').next().unwrap_or(q)).collect();
            // Its scheme is asked for where something uses it, and is what it was: no user is checked again.
            let alone = ran.strip_suffix(&["scheme"]).unwrap_or(&ran);
            assert_eq!(alone, ["parse", "refs", "check"], "after an edit of\n{}", forms[i]);
            edits += 1;
        }
        assert!(edits > 50, "only {edits} edits");
    });
}

#[test]
fn an_edit_that_changes_a_type_checks_the_users_too() {
    with_a_large_stack(|| {
        let text = "(define (f [x 0]) (+ x 1))\n(define (g [x 0]) (f x))\n(define (h [x 0]) (g x))\n";
        let text = text.to_owned() + &definitions::file(200);
        let (mut session, file, _) = checked(text.clone());
        session.set_text(file, text.replace("(+ x 1)", "(+ x 1.5)"));
        assert!(session.diagnostics(file).is_empty());
        let ran = session.db.take_executed();
        let checks = ran.iter().filter(|q| q.starts_with("check(")).count();
        assert_eq!(checks, 3, "{ran:?}");
    });
}
