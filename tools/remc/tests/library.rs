//! The prelude's documentation is its test: each example in a comment of `prelude/*.remora` gives the
//! value that stands behind its arrow, and each name has sentences, examples and a group.

#[path = "support/examples.rs"]
mod examples;

use examples::run;
use remc::doc;
use remc_driver::{Database, Session};
use std::path::Path;

#[test]
fn every_example_has_its_value() {
    let mut session = Session::new(Database::default());
    let entries = doc::prelude(&session);
    let all = entries.iter().flat_map(|e| &e.examples);
    let programs: Vec<String> = all.map(|e| format!("{}\n; ⇒ {}", e.source, e.value)).collect();
    assert!(programs.len() > 250, "{} examples", programs.len());
    let mut wrong = vec![];
    for program in &programs {
        let forms = run(&mut session, Path::new("."), program);
        assert_eq!(forms.len(), 1, "an example is one expression: {program}");
        wrong.extend(forms.iter().filter_map(examples::Form::mistake));
    }
    let count = programs.len();
    assert!(wrong.is_empty(), "{} of {count} examples are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A claim that is wrong is noticed: the test above can fail.
#[test]
fn wrong_claims_are_noticed() {
    let mut session = Session::new(Database::default());
    let wrong =
        ["(+ 1 2) ; ⇒ 4", "(+ 1 #t) ; ⇒ 2", "(+ 1 #t)", "(+ 1 2) ; ⇒ error E0402", "(define x 1) ; ⇒ 1"];
    let wrong = wrong.into_iter().chain([
        "(index [1] [5]) ; ⇒ error R0002",
        "(index [1] [5])",
        "(define x (+ 1 #t))",
    ]);
    for program in wrong {
        let forms = run(&mut session, Path::new("."), program);
        assert!(forms.iter().any(|f| f.mistake().is_some()), "{program} is accepted: {forms:?}");
    }
    let right = [
        "(+ 1 2) ; ⇒ 3",
        "(+ 1 #t) ; ⇒ error E0401",
        "(define x 1) x\n; ⇒ 1",
        "(index [1] [5]) ; ⇒ error R0001",
    ];
    for program in right {
        let forms = run(&mut session, Path::new("."), program);
        assert!(forms.iter().all(|f| f.mistake().is_none()), "{program} is refused: {forms:?}");
    }
}

/// Sentences, at least one example and a group of the index, for each name of the prelude.
#[test]
fn every_name_is_documented() {
    let session = Session::new(Database::default());
    let entries = doc::prelude(&session);
    let defined: usize = session.prelude().iter().map(|f| session.defs(*f).len()).sum();
    assert_eq!(entries.len(), defined, "each definition is documented");
    let mut missing = vec![];
    for e in &entries {
        let sentence = e.paragraphs.first().is_some_and(|p| p.ends_with('.'));
        let group = doc::GROUPS.contains(&e.heading.group.as_str());
        if !sentence || e.examples.is_empty() || !group {
            missing.push((&e.name, sentence, e.examples.len(), &e.heading));
        }
    }
    assert!(missing.is_empty(), "name, whether there is a sentence, examples, heading: {missing:#?}");
    for group in doc::GROUPS {
        assert!(!doc::grouped(&entries, group).is_empty(), "`{group}` is empty");
    }
}
