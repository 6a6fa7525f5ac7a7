//! The library's documentation is its test: each example in a comment of `prelude/*.remora` gives the
//! value that stands behind its arrow.

use remc_driver::render::{Style, render};
use remc_driver::{Database, Session};
use remc_interp::Interp;
use remc_runtime::text;
use std::path::Path;

/// Lines `; expression ⇒ value`.
fn examples(source: &str) -> Vec<(&str, &str)> {
    let lines = source.lines().filter_map(|l| l.strip_prefix("; "));
    lines.filter_map(|l| l.split_once(" ⇒ ")).map(|(e, v)| (e.trim(), v.trim())).collect()
}

fn evaluate(session: &mut Session, program: &str) -> Result<String, String> {
    let file = session.load_text("example", Path::new("."), program.to_owned());
    let errors = session.diagnostics(file);
    if !errors.is_empty() {
        return Err(render(session, &errors, Style::Short, false));
    }
    let value = session.value(file).ok_or("no value")?;
    let linked = session.link(file, &[value]);
    session.verify(&linked, file).map_err(|bug| bug.message)?;
    let interp = Interp::new(&linked, session.first_user_module());
    let value = interp.eval_definition(&value.global(&session.db)).map_err(|e| e.message)?;
    Ok(text::print(&value))
}

#[test]
fn every_example_has_its_value() {
    let mut session = Session::new(Database::default());
    let sources: Vec<String> = session.prelude().iter().map(|f| f.text(&session.db).to_owned()).collect();
    let mut wrong = vec![];
    let mut count = 0;
    for (example, wanted) in sources.iter().flat_map(|s| examples(s)) {
        count += 1;
        match evaluate(&mut session, example) {
            Ok(found) if found == wanted => {}
            Ok(found) => wrong.push(format!("{example}\n  wanted {wanted}\n  found  {found}")),
            Err(e) => wrong.push(format!("{example}\n  wanted {wanted}\n  error: {e}")),
        }
    }
    assert!(count > 100, "{count} examples");
    assert!(wrong.is_empty(), "{} of {count} examples are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A sentence, then at least one example, directly above each definition.
#[test]
fn every_definition_is_documented() {
    let session = Session::new(Database::default());
    for file in session.prelude().iter().filter(|f| f.path(&session.db).ends_with("library.remora")) {
        let lines: Vec<&str> = file.text(&session.db).lines().collect();
        for (i, line) in lines.iter().enumerate().filter(|(_, l)| l.starts_with("(define ")) {
            let above = lines[..i].iter().rev().take_while(|l| l.starts_with("; "));
            let doc: Vec<&str> = above.copied().collect();
            assert!(doc.first().is_some_and(|l| l.contains(" ⇒ ")), "no example: {line}");
            let sentence = doc.iter().find(|l| !l.contains(" ⇒ "));
            assert!(sentence.is_some_and(|s| s.ends_with('.')), "no sentence: {line}");
        }
    }
}
