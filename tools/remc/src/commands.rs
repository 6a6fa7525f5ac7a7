//! `remc check`, `remc compile` and `remc opt`, and what they share with `remc run`.

use crate::args::{Check, Compile, Ir, Opt, Source};
use crate::codes;
use crate::report::{Failure, Outcome, Reporter, fail, to_stderr, to_stdout, usage};
use remc_base::{ArrTy, GlobalId};
use remc_driver::pipeline::{STAGES, Timings};
use remc_driver::session::{self, LoadError};
use remc_driver::{Db, Def, Session, SourceFile};
use remc_typed::ir::Definition;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The session's clock, for the report of a panic.
static CLOCK: OnceLock<Timings> = OnceLock::new();

/// The stage that is running.
pub fn current_stage() -> &'static str {
    CLOCK.get().and_then(Timings::current).map_or("driver", |s| s.info().name)
}

pub fn new_session() -> Session {
    let session = Session::default();
    // A process has one session; a second one's stages would go unnamed.
    let _ = CLOCK.set(session.db.timings().clone());
    session
}

/// Loads the program that the command line names.
pub fn load(session: &mut Session, source: &Source) -> Outcome<SourceFile> {
    let loaded = match (&source.expression, &source.file) {
        (Some(text), _) => Ok(session.load_text("<expression>", Path::new(""), text.clone())),
        (None, Some(path)) if path.as_os_str() == "-" => {
            stdin().map(|text| session.load_text("<stdin>", Path::new(""), text))
        }
        (None, Some(path)) => session.load(path),
        (None, None) => return fail(usage(codes::UNREADABLE, "no program was given")),
    };
    loaded.or_else(unreadable)
}

fn unreadable<T>(e: LoadError) -> Outcome<T> {
    let (LoadError::Unreadable { path, .. } | LoadError::NotUtf8 { path, .. }) = &e;
    fail(usage(codes::UNREADABLE, format!("cannot read `{path}`: {}", e.reason())))
}

fn stdin() -> Result<String, LoadError> {
    let mut bytes = vec![];
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|e| LoadError::Unreadable { path: "<stdin>".into(), reason: session::describe(&e) })?;
    session::decode("<stdin>", bytes)
}

/// Prints how long each stage took.
pub fn show_timings(session: &Session) {
    let mut text = String::new();
    for (stage, count, time) in session.db.timings().report() {
        text.push_str(&format!(
            "{:<8} {:>6}×  {:>10.3} ms\n",
            stage.info().name,
            count,
            time.as_secs_f64() * 1e3
        ));
    }
    to_stderr(&text);
}

pub fn check(args: &Check, reporter: &Reporter) -> Outcome {
    let mut session = new_session();
    let file = load(&mut session, &args.source)?;
    reporter.check(&session, &session.diagnostics(file))?;
    let roots = session.value_defs(file);
    session.verify(&session.link(file, &roots), file)?;
    if args.show.is_some() {
        to_stdout(&remc_driver::show::show_types(&session, file))?;
    }
    if args.timings {
        show_timings(&session);
    }
    Ok(())
}

pub fn compile(args: &Compile, reporter: &Reporter) -> Outcome {
    let mut session = new_session();
    let file = load(&mut session, &args.source)?;
    reporter.check(&session, &session.diagnostics(file))?;
    let roots: Vec<Def> = session.value_defs(file);
    let program = session.link(file, &roots);
    session.verify(&program, file)?;
    let text = match args.emit {
        Ir::Typed => remc_typed::print::print_program(&program.order),
    };
    match &args.output {
        None => to_stdout(&text),
        Some(path) => remc_runtime::files::write_atomically(path, |out| out.write_all(text.as_bytes()))
            .map_err(|e| cannot_write(path, &e)),
    }
}

pub fn cannot_write(path: &Path, e: &std::io::Error) -> Failure {
    Failure::Usage(Box::new(usage(
        codes::OUTPUT,
        format!("cannot write `{}`: {}", path.display(), session::describe_write(e)),
    )))
}

pub fn opt(args: &Opt) -> Outcome {
    if args.list {
        let list: String = STAGES
            .iter()
            .map(|(_, i)| format!("{:<8} {:>6} → {:<6} {}\n", i.name, i.from, i.to, i.summary))
            .collect();
        return to_stdout(&list);
    }
    let Some(path) = &args.file else { return fail(usage(codes::UNREADABLE, "no file was given")) };
    let text = if path.as_os_str() == "-" { stdin() } else { session::read(path) }.or_else(unreadable)?;
    let session = new_session();
    let wrong = |what: String| {
        fail(usage(
            codes::BAD_IR,
            format!("`{}` is no program of the language `typed`: {what}", path.display()),
        ))
    };
    let program = match remc_typed::parse::parse_program(&text) {
        Ok(program) => program,
        Err(e) => return wrong(e.to_string()),
    };
    let globals =
        Known { session: &session, own: program.iter().map(|d| (d.name.clone(), d.ty.clone())).collect() };
    for definition in &program {
        if let Err(e) = remc_typed::verify::verify(definition, &globals) {
            return wrong(format!("`{}`: {e}", definition.name));
        }
    }
    let program: Vec<Arc<Definition>> = program.into_iter().map(Arc::new).collect();
    to_stdout(&remc_typed::print::print_program(&program))
}

/// The types of a program's own definitions, then of the prelude.
struct Known<'a> {
    session: &'a Session,
    own: HashMap<GlobalId, ArrTy>,
}

impl remc_typed::verify::Globals for Known<'_> {
    fn ty(&self, global: &GlobalId) -> Option<ArrTy> {
        self.own.get(global).cloned().or_else(|| self.session.prelude_type(global))
    }
}
