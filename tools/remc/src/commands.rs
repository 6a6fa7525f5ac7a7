//! `remc check` and `remc opt`, and what commands share: programs loaded, what of them is run, files written.

use crate::args::{Check, Opt, Source};
use crate::codes;
use crate::report::{Failure, Outcome, Reporter, bytes_to_stdout, fail, to_stderr, to_stdout, usage};
use crate::texts::Program;
use clap::ValueEnum;
use remc_driver::pipeline::{Timings, stages};
use remc_driver::session::{self, LoadError};
use remc_driver::{Db, Def, Session, SourceFile};
use remc_runtime::data::Place;
use remc_runtime::files::{self, Protected};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

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

/// What a command reads, and what runs: nothing of it is ever overwritten.
pub fn protected(session: &Session, source: &Source, inputs: &[(String, String)]) -> Protected {
    let mut protected = Protected::default();
    match &source.file {
        Some(path) if path.as_os_str() == "-" => protected.add_open(std::io::stdin(), "the program"),
        Some(path) => protected.add(path, "the program"),
        None => {}
    }
    for path in session.paths() {
        protected.add(path, "a file that the program imports");
    }
    for (name, value) in inputs {
        if let Some(place) = Place::of(value) {
            protected.add(&place.path, format!("the input `{name}`"));
        }
    }
    if let Ok(remc) = std::env::current_exe() {
        protected.add(&remc, "remc itself");
    }
    protected
}

/// Refuses what must not be written to, or cannot be, before anything is computed.
pub fn may_write(path: &Path, protected: &Protected) -> Outcome {
    match protected.find(path) {
        Some(what) => {
            let d = usage(codes::OUTPUT, format!("cannot write `{}`: it is {what}", path.display()));
            fail(d.help("what is read is never overwritten: choose another name for the output"))
        }
        None => files::can_write(path).map_err(|e| cannot_write(path, &e)),
    }
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
        .map_err(|e| LoadError::Unreadable { path: "<stdin>".into(), reason: session::describe_read(&e) })?;
    session::decode("<stdin>", bytes)
}

/// Prints how long each stage took.
pub fn show_timings(session: &Session) {
    let mut text = String::new();
    for (stage, count, time) in session.db.timings().report() {
        text.push_str(&format!(
            "{:<12} {:>6}×  {:>10.3} ms\n",
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

/// What is run: the entry that was named, else the last expression, else the only entry.
pub fn choose<'s>(
    session: &'s Session,
    file: SourceFile,
    entry: &Option<String>,
    inputs: &[(String, String)],
) -> Outcome<Def<'s>> {
    let entries = session.entries(file);
    let names: Vec<String> = entries.iter().map(|d| format!("`{}`", d.name(&session.db))).collect();
    let listed = match names.as_slice() {
        [] => "the file has no entries".to_owned(),
        [one] => format!("the file's only entry is {one}"),
        all => format!("the file's entries are {}", all.join(", ")),
    };
    if let Some(name) = entry {
        return match entries.iter().find(|d| d.name(&session.db).as_str() == name) {
            Some(entry) => Ok(*entry),
            None => fail(usage(codes::UNKNOWN_ENTRY, format!("there is no entry `{name}`")).help(listed)),
        };
    }
    if let Some(value) = session.value(file) {
        return match inputs.first() {
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

/// Writes what was asked for to a file, or to standard output.
/// The file that a command writes, if it is not to standard output: nothing is said, or `-`.
pub fn destination(output: &Option<PathBuf>) -> Option<&Path> {
    output.as_deref().filter(|path| path.as_os_str() != "-")
}

pub fn write(to: &Option<PathBuf>, bytes: &[u8]) -> Outcome {
    match destination(to) {
        None => bytes_to_stdout(bytes),
        Some(path) => {
            files::write_atomically(path, |out| out.write_all(bytes)).map_err(|e| cannot_write(path, &e))
        }
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
        let list: String = stages()
            .into_iter()
            .map(|s| s.info())
            .map(|i| format!("{:<12} {:>8} → {:<8} {}\n", i.name, i.from, i.to, i.summary))
            .collect();
        return to_stdout(&list);
    }
    let Some(path) = &args.file else { return fail(usage(codes::UNREADABLE, "no file was given")) };
    let text = if path.as_os_str() == "-" { stdin() } else { session::read(path) }.or_else(unreadable)?;
    let Some(from) = args.from else { return fail(usage(codes::BAD_IR, "no language was given")) };
    let session = new_session();
    let language = from.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default();
    let mut program = Program::read(&session, from, &text).or_else(|what| {
        fail(usage(
            codes::BAD_IR,
            format!("`{}` is no program of the language `{language}`: {what}", path.display()),
        ))
    })?;
    for name in &args.passes {
        program = program.pass(&session, name).or_else(|what| {
            let d = usage(codes::BAD_IR, format!("the pass `{name}` cannot run: {what}"));
            fail(d.help("`remc opt --list` lists the passes and what they read"))
        })?;
    }
    to_stdout(&program.print())
}
