//! `remc run`.

use crate::args::Run;
use crate::codes;
use crate::commands::{cannot_write, load, new_session, show_timings};
use crate::inputs;
use crate::report::{Failure, Outcome, Reporter, fail, to_stdout, usage};
use remc_base::{Diagnostic, Span, Value};
use remc_driver::pipeline::{STAGES, Stage};
use remc_driver::{Db, Def, InternalBug, LinkedProgram, Session, SourceFile};
use remc_interp::{Interp, RuntimeError, solve_indices};
use remc_runtime::{files, npy, text};
use std::path::Path;

pub fn run(args: &Run, reporter: &Reporter) -> Outcome {
    let mut session = new_session();
    let file = load(&mut session, &args.source)?;
    reporter.check(&session, &session.diagnostics(file))?;
    let target = choose(&session, file, args)?;
    let program = session.link(file, &[target]);
    session.verify(&program, file)?;
    if let Some(folder) = &args.dump_dir {
        dump(folder, &program)?;
    }
    let value = evaluate(&session, &program, target, args, reporter)?;
    match &args.output {
        Some(path) => write_output(path, &value)?,
        None => to_stdout(&format!("{}\n", text::print(&value)))?,
    }
    if args.timings {
        show_timings(&session);
    }
    Ok(())
}

/// What is run: the entry that was named, else the last expression, else the only entry.
fn choose<'s>(session: &'s Session, file: SourceFile, args: &Run) -> Outcome<Def<'s>> {
    let entries = session.entries(file);
    let names: Vec<String> = entries.iter().map(|d| format!("`{}`", d.name(&session.db))).collect();
    let listed = match names.as_slice() {
        [] => "the file has no entries".to_owned(),
        [one] => format!("the file's only entry is {one}"),
        all => format!("the file's entries are {}", all.join(", ")),
    };
    if let Some(name) = &args.entry {
        return match entries.iter().find(|d| d.name(&session.db).as_str() == name) {
            Some(entry) => Ok(*entry),
            None => fail(usage(codes::UNKNOWN_ENTRY, format!("there is no entry `{name}`")).help(listed)),
        };
    }
    if let Some(value) = session.value(file) {
        return match args.inputs.first() {
            None => Ok(value),
            Some((name, _)) => fail(
                usage(
                    codes::SUPERFLUOUS_INPUT,
                    format!("the input `{name}` is not used: the file's value is its last expression"),
                )
                .help(if entries.is_empty() {
                    listed
                } else {
                    format!("name an entry with --entry; {listed}")
                }),
            ),
        };
    }
    match entries.as_slice() {
        [one] => Ok(*one),
        [] => fail(
            usage(
                codes::NOTHING_TO_RUN,
                "there is nothing to run: the file has neither an expression nor an entry",
            )
            .help("a file's value is its last expression; `remc check` checks a file without one"),
        ),
        _ => fail(
            usage(codes::CHOOSE_ENTRY, "the file has several entries")
                .help(format!("choose one with --entry; {listed}")),
        ),
    }
}

fn evaluate(
    session: &Session,
    program: &LinkedProgram,
    target: Def<'_>,
    args: &Run,
    reporter: &Reporter,
) -> Outcome<Value> {
    let global = target.global(&session.db);
    let Some(definition) = program.get(&global) else {
        return Err(bug(format!("`{global}` was checked and has no definition")));
    };
    let interp = Interp::new(program, session.first_user_module());
    let result = match &definition.entry {
        None => {
            let _timed = session.db.timings().enter(Stage::Run);
            interp.eval_definition(&global)
        }
        Some(sig) => {
            let arguments = inputs::read_all(&global.name, sig, &args.inputs)?;
            let indices = match solve_indices(sig, &arguments) {
                Ok(indices) => indices,
                Err(m) => {
                    let d = match &m.param {
                        Some(name) => inputs::mismatch(name, &m.wanted, &m.found),
                        None => {
                            usage(codes::INPUT_MISMATCH, format!("wanted {}, found {}", m.wanted, m.found))
                        }
                    };
                    return fail(d.note(m.reason));
                }
            };
            let _timed = session.db.timings().enter(Stage::Run);
            interp.call_entry(definition, &indices, arguments)
        }
    };
    result.map_err(|e| {
        if e.code == remc_interp::codes::INTERNAL {
            return bug(e.message);
        }
        reporter.show(session, &[stopped(session, &e)]);
        Failure::Stopped
    })
}

fn bug(message: String) -> Failure {
    Failure::Bug(InternalBug { stage: Stage::Run.info().name, message })
}

/// A run-time error as a diagnostic: where it happened, and from where that was called.
fn stopped(session: &Session, e: &RuntimeError) -> Diagnostic<Span> {
    let mut d = Diagnostic::error(e.code, &e.message);
    let span = |at: &(remc_base::GlobalId, remc_base::NodeId)| session.node_span(&at.0, at.1);
    let place = e.at.as_ref().and_then(span);
    if let Some(span) = place {
        d = d.primary(span, "the program stopped here");
    }
    // The calls that led there, in the program itself; those that enclose the place add nothing.
    let mut shown = place;
    let mut calls = 0;
    for call in e.trace.iter().filter(|(g, _)| g.module >= session.first_user_module()) {
        let Some(at) = span(call) else { continue };
        let encloses =
            |inner: Span| at.module == inner.module && at.start <= inner.start && inner.end <= at.end;
        if calls < 4 && !shown.is_some_and(encloses) {
            d = d.secondary(at, format!("called from here, in `{}`", call.0));
            calls += 1;
        }
        shown = Some(at);
    }
    e.help.iter().fold(d, |d, help| d.help(help))
}

fn write_output(path: &Path, value: &Value) -> Outcome {
    let as_npy = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("npy"));
    if as_npy && !npy::can_write(value) {
        return fail(
            usage(
                codes::OUTPUT,
                format!("cannot write `{}`: an .npy file cannot hold {}", path.display(), value.atom),
            )
            .help("another file name is written as text"),
        );
    }
    files::write_atomically(path, |out| {
        if as_npy { npy::write(value, out) } else { writeln!(out, "{}", text::print(value)) }
    })
    .map_err(|e| cannot_write(path, &e))
}

/// Writes the program after each stage that has a text form.
fn dump(folder: &Path, program: &LinkedProgram) -> Outcome {
    std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
    for (i, (stage, info)) in STAGES.iter().enumerate() {
        if *stage == Stage::Check {
            let path = folder.join(format!("{}-{}.{}", i + 1, info.name, info.to));
            let text = remc_typed::print::print_program(&program.order);
            files::write_atomically(&path, |out| out.write_all(text.as_bytes()))
                .map_err(|e| cannot_write(&path, &e))?;
        }
    }
    Ok(())
}
