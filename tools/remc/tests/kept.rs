//! Machine code that is kept in a session, and what is told of a run of it after the text has moved.
#![cfg(feature = "llvm")]

use remc_base::{BaseTy, GlobalId, NodeId, Scalar, Value};
use remc_driver::compile::{Options, Stop};
use remc_driver::pipeline::Stage;
use remc_driver::{Database, Db, Session, SourceFile};
use std::path::Path;

const TEXT: &str = "\
(define (third xs) (index-item xs [7]))
(entry (main [xs [int n]]) (third xs))
(entry (other [xs [int n]]) (sum xs))
";

/// Runs an entry on numbers, on the cpu device: its value, or the line of the text where it stopped.
fn run(session: &Session, file: SourceFile, entry: &str, numbers: &[i64]) -> Result<Value, usize> {
    let entries = session.entries(file);
    let target = *entries.iter().find(|d| d.name(&session.db).as_str() == entry).expect("an entry");
    let Ok(Stop::Kernel(compiled)) = session.compile(file, &[target], &[], Options::default()) else {
        panic!("it is not compiled")
    };
    let code = remc::cpu::kept(session, &compiled).unwrap_or_else(|e| panic!("{e:?}"));
    let program = session.link(file, &[target]);
    let signature = program.get(&target.global(&session.db)).and_then(|d| d.entry.clone()).expect("an entry");
    let scalars = numbers.iter().map(|n| Scalar::I64(*n));
    let arguments = vec![Value::of_scalars(BaseTy::I64, vec![numbers.len()], scalars)];
    let indices = remc_interp::solve_indices(&signature, &arguments).expect("it fits");
    let cpu = remc::cpu::device(Some(1), None);
    let ran = remc::cpu::run(
        session,
        &code,
        &cpu,
        (&signature.indices, &indices),
        (arguments, remc::boundary::Streaming::default()),
        1,
    );
    match ran.unwrap_or_else(|e| panic!("{e:?}")) {
        Ok(ran) => Ok(ran.value.expect("a value")),
        Err(stopped) => {
            let line = |at: &(GlobalId, NodeId)| {
                let span = session.node_span(&at.0, at.1)?;
                let (_, text) = session.source(span.module)?;
                (span.module == file.module(&session.db))
                    .then(|| text[..span.start as usize].matches('\n').count() + 1)
            };
            let places = stopped.at.iter().chain(&stopped.trace);
            Err(places.filter_map(line).next().expect("a place in the program"))
        }
    }
}

fn generated(session: &Session) -> usize {
    let report = session.db.timings().report();
    report.iter().find(|(stage, ..)| *stage == Stage::Codegen).map_or(0, |(_, count, _)| *count)
}

#[test]
fn a_comment_moves_what_is_told_and_makes_no_code() {
    let mut session = Session::new(Database::new(true));
    let file = session.load_text("test.remora", Path::new(""), TEXT.to_owned());
    let ten: Vec<i64> = (0..10).collect();
    assert!(run(&session, file, "main", &ten).is_ok());
    assert!(run(&session, file, "other", &ten).is_ok());
    assert_eq!(run(&session, file, "main", &ten[..3]), Err(1));
    let made = generated(&session);
    session.set_text(file, format!("; one\n; two\n; three\n{TEXT}"));
    session.db.take_executed();
    assert_eq!(run(&session, file, "main", &ten[..3]), Err(4), "the line is that of the text as it is now");
    assert!(run(&session, file, "main", &ten).is_ok());
    assert_eq!(generated(&session), made, "no code was made for a comment");
    let executed = session.db.take_executed();
    assert!(!executed.iter().any(|q| q.starts_with("mono") || q.starts_with("kernels")), "{executed:?}");
    // A body makes the code of the entries that it is in, and of no other.
    session.set_text(file, TEXT.replace("[7]", "[8]"));
    assert!(run(&session, file, "other", &ten).is_ok());
    assert_eq!(generated(&session), made);
    assert!(run(&session, file, "main", &ten).is_ok());
    assert!(generated(&session) > made);
}
