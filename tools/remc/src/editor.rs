//! What the language server runs: the entry or expression behind a lens, and what it costs.
//!
//! The runner has a session of its own, brought up to date with the texts that the editor has whenever something is run:
//! so no edit waits for a compilation, and of a program that has not changed all is there, its machine code too. Every run
//! has a limit of time and one of memory, and can be ended. What is not compiled is interpreted by a process of its own,
//! which can be ended too.

#[cfg(feature = "llvm")]
use crate::cpu;
use crate::evaluate::stopped;
use crate::report::{Failure, NoSources};
use remc_base::{Diagnostic, Span, Value};
use remc_driver::compile::{CompileError, Compiled, Options, Stop};
use remc_driver::names::DefKind;
use remc_driver::queries::check;
use remc_driver::render::{Style, render};
use remc_driver::{Def, Session, SourceFile};
use remc_lsp::{Failed, Problem, Program, Runner, What};
use remc_runtime::data::{Format, output};
use remc_runtime::text;
use std::collections::{BTreeSet, HashMap};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How many bytes the arrays of a run may take.
const MEMORY: u64 = 2 << 30;

/// Runs programs as an editor has them.
#[derive(Default)]
pub struct Editor {
    session: Session,
    /// Programs that have been run, by where they are and how they were run.
    programs: HashMap<(PathBuf, How), SourceFile>,
    /// The files whose texts are the editor's.
    open: BTreeSet<PathBuf>,
}

/// What a program is run with, so that of each a text of its own is kept.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum How {
    AsItIs,
    /// An expression behind it.
    WithExpression,
    /// Its comments' examples as expressions.
    WithExamples,
}

impl Runner for Editor {
    fn run(&mut self, program: &Program, stop: &AtomicBool) -> Result<String, Failed> {
        let (file, name) = self.load(program)?;
        self.value(program, file, &name, stop)
    }

    fn explain(&mut self, program: &Program, _: &AtomicBool) -> Result<String, Failed> {
        let (file, name) = self.load(program)?;
        let target = find(&self.session, file, &name)?;
        match crate::perf::of(&self.session, file, target) {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(e)) => Err(problem(&self.session, &crate::compile::refusal(&self.session, e))),
            Err(failure) => Err(failed(failure)),
        }
    }
}

impl Editor {
    /// Brings the session up to date with the editor's texts; the file that is run, without mistakes, and the definition.
    fn load(&mut self, program: &Program) -> Result<(SourceFile, String), Failed> {
        let open: BTreeSet<PathBuf> = program.buffers.iter().map(|(path, _)| path.clone()).collect();
        for path in self.open.difference(&open) {
            self.session.close(path);
        }
        for (path, text) in program.buffers.iter() {
            self.session.open(path, text.to_string());
        }
        self.open = open;
        self.session.refresh();
        let (how, text) = match &program.what {
            What::Definition(_) => (How::AsItIs, program.text.to_string()),
            What::Expression(expression) => {
                (How::WithExpression, format!("{}\n{expression}\n", program.text))
            }
            What::Form(_) => (How::WithExamples, program.text.to_string()),
        };
        let file = match self.programs.get(&(program.path.clone(), how)) {
            Some(file) => {
                self.session.set_text(*file, text);
                *file
            }
            None => {
                let folder = program.path.parent().unwrap_or(Path::new(""));
                let file = self.session.load_text(&program.path.display().to_string(), folder, text);
                self.programs.insert((program.path.clone(), how), file);
                file
            }
        };
        let (session, db) = (&self.session, &self.session.db);
        // What is wrong with other forms is of no interest to one.
        let form = match &program.what {
            What::Form(at) => Some(form(session, file, *at)?),
            _ => None,
        };
        let here = |d: &Diagnostic<Span>| {
            form.is_none_or(|def| {
                let span = session.item_span(def);
                let at = d.labels.iter().find(|l| l.primary).map(|l| l.loc);
                at.is_some_and(|at| at.module == span.module && (span.start..span.end).contains(&at.start))
            })
        };
        let wrong: Vec<_> =
            session.diagnostics(file).into_iter().filter(|d| d.is_error() && here(d)).collect();
        if !wrong.is_empty() {
            return Err(Failed::Problems(wrong.iter().map(|d| told(session, d)).collect()));
        }
        let name = match (&program.what, form) {
            (_, Some(def)) if def.kind(db) != DefKind::Expr => {
                return Err(said("it is a definition, which has no value to compare"));
            }
            (_, Some(def)) if check(db, def).definition.is_none() => {
                return Err(said("it uses a definition with errors"));
            }
            (_, Some(def)) => def.name(db).to_string(),
            (What::Definition(name), None) => name.clone(),
            (_, None) => session.value(file).map(|d| d.name(db).to_string()).unwrap_or_default(),
        };
        Ok((file, name))
    }

    fn value(
        &self,
        program: &Program,
        file: SourceFile,
        name: &str,
        stop: &AtomicBool,
    ) -> Result<String, Failed> {
        let session = &self.session;
        let target = find(session, file, name)?;
        session.verify(&session.link(file, &[target]), file).map_err(|bug| failed(Failure::Bug(bug)))?;
        if stop.load(Ordering::Relaxed) {
            return Err(Failed::Cancelled);
        }
        match session.compile(file, &[target], &[], Options::default()) {
            Ok(Stop::Kernel(_)) if cfg!(not(feature = "llvm")) => {
                self.interpreted(program, file, target, stop)
            }
            Ok(Stop::Kernel(kernels)) => self.compiled(program, &kernels, stop),
            Ok(_) => Err(bug("the pipeline ended early")),
            Err(CompileError::Limitation(_) | CompileError::TooLarge(_)) => {
                self.interpreted(program, file, target, stop)
            }
            Err(e) => Err(problem(session, &crate::compile::refusal(session, e))),
        }
    }

    #[cfg(not(feature = "llvm"))]
    fn compiled(&self, _: &Program, _: &Compiled, _: &AtomicBool) -> Result<String, Failed> {
        Err(bug("there is no device"))
    }

    #[cfg(feature = "llvm")]
    fn compiled(&self, program: &Program, kernels: &Compiled, stop: &AtomicBool) -> Result<String, Failed> {
        use remc_runtime::cpu::Limit;
        let session = &self.session;
        let code = cpu::kept(session, kernels).map_err(failed)?;
        let device = cpu::device(None, Some(MEMORY));
        let bound =
            match cpu::bind(session, &code, &device, &[], Vec::new(), crate::boundary::Streaming::default())
                .map_err(failed)?
            {
                Ok(bound) => bound,
                Err(e) => return Err(problem(session, &stopped(session, &e))),
            };
        let limit = Limit { time: program.limit, ended: Some(stop) };
        match cpu::within(session, &code, &device, &bound, (None, Some(limit))).map_err(failed)? {
            Ok(finished) => {
                let value = cpu::value(&code, &finished, &bound, &[], &[]).map_err(failed)?;
                shown(&value, program.elements)
            }
            Err(cpu::Ended::Over) if stop.load(Ordering::Relaxed) => Err(Failed::Cancelled),
            Err(cpu::Ended::Over) => Err(over(program.limit)),
            Err(cpu::Ended::Stopped(e)) => Err(problem(session, &stopped(session, &e))),
        }
    }

    /// The value by the interpreter, in another process: it knows no end but its own.
    fn interpreted(
        &self,
        program: &Program,
        file: SourceFile,
        target: Def<'_>,
        stop: &AtomicBool,
    ) -> Result<String, Failed> {
        let session = &self.session;
        for module in session.modules(file) {
            let unsaved = session.path_of(module).filter(|path| {
                let text = session.source(module.module(&session.db)).map(|(_, text)| text.to_owned());
                self.open.iter().any(|open| session.known(open) == Some(module))
                    && remc_driver::session::read(path).ok() != text
            });
            if let Some(path) = unsaved {
                let said =
                    format!("this is interpreted, which needs `{}` as a file: save it", path.display());
                return Err(problem(session, &Diagnostic::error(crate::codes::DEVICE, said)));
            }
        }
        let text = session.source(file.module(&session.db)).map(|(_, text)| text).unwrap_or_default();
        let entry =
            (target.kind(&session.db) == DefKind::Entry).then(|| target.name(&session.db).to_string());
        let alone = alone(session, file, target, text);
        let mut command = Command::new(std::env::current_exe().map_err(|e| bug(&e.to_string()))?);
        command.args(["--diagnostics", "short", "run", "-", "--device", "interp", "--memory-limit"]);
        command.args([MEMORY.to_string(), "--max-elements".to_owned(), program.elements.to_string()]);
        command.args(entry.iter().flat_map(|name| ["--entry", name.as_str()]));
        let folder = program.path.parent().filter(|folder| folder.is_dir());
        command.current_dir(folder.unwrap_or(Path::new(".")));
        let ran = within(command, alone, program.limit, stop)?;
        ran.map_err(|said| {
            let text = said.replace("<stdin>", &program.path.display().to_string());
            let code = code_of(&text).unwrap_or(crate::codes::DEVICE.0).to_owned();
            Failed::Problems(vec![Problem { text, code }])
        })
    }
}

/// A program in which the target is the last expression, and the only one if it is one: the others are blank, so that
/// places stay where they are.
fn alone(session: &Session, file: SourceFile, target: Def<'_>, text: &str) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for other in session.expressions(file).into_iter().filter(|d| *d != target) {
        let span = session.item_span(other);
        let inside = bytes.get_mut(span.start as usize..span.end as usize).unwrap_or_default();
        inside.iter_mut().filter(|b| **b != b'\n').for_each(|b| *b = b' ');
    }
    String::from_utf8(bytes).unwrap_or_else(|_| text.to_owned())
}

/// What a process writes, or what it says if it fails; it is ended after some time, or when it is told to.
fn within(
    mut command: Command,
    input: String,
    limit: Duration,
    stop: &AtomicBool,
) -> Result<Result<String, String>, Failed> {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().map_err(|e| bug(&format!("no process could be started: {e}")))?;
    let (stdin, mut stdout, mut stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    std::thread::scope(|scope| {
        // Whoever is ended reads no more, and writes no more.
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(input.as_bytes())));
        fn read(from: &mut Option<impl Read>) -> String {
            let mut bytes = Vec::new();
            let _ = from.as_mut().map(|from| from.read_to_end(&mut bytes));
            String::from_utf8_lossy(&bytes).into_owned()
        }
        let value = scope.spawn(move || read(&mut stdout));
        let said = scope.spawn(move || read(&mut stderr));
        let start = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Err(_) => break None,
                Ok(None) if stop.load(Ordering::Relaxed) || start.elapsed() > limit => {
                    let _ = child.kill();
                    let _ = child.wait();
                    break None;
                }
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        let (value, said) = (value.join().unwrap_or_default(), said.join().unwrap_or_default());
        match status {
            Some(status) if status.success() => Ok(Ok(value)),
            Some(_) => Ok(Err(said)),
            None if stop.load(Ordering::Relaxed) => Err(Failed::Cancelled),
            None => Err(over(limit)),
        }
    })
}

fn find<'s>(session: &'s Session, file: SourceFile, name: &str) -> Result<Def<'s>, Failed> {
    let named = session.value_defs(file).into_iter().find(|d| d.name(&session.db).as_str() == name);
    named.ok_or_else(|| {
        let said = format!("there is no `{name}` in the file");
        problem(session, &Diagnostic::error(crate::codes::UNKNOWN_ENTRY, said))
    })
}

/// The code that a message in the short style has.
fn code_of(text: &str) -> Option<&str> {
    let (_, behind) = text.split_once("error[")?;
    Some(behind.split_once(']')?.0)
}

/// The form that begins at a byte.
fn form<'s>(session: &'s Session, file: SourceFile, at: u32) -> Result<Def<'s>, Failed> {
    let found = session.defs(file).iter().find(|d| session.item_span(**d).start == at);
    found.copied().ok_or_else(|| said("it is no form of its own"))
}

fn shown(value: &Value, most: usize) -> Result<String, Failed> {
    let mut out = Vec::new();
    let style = text::Style { precision: None, max_elements: Some(most) };
    output::write(value, Format::Remora, style, &mut out).map_err(|e| bug(&e.to_string()))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}

fn over(limit: Duration) -> Failed {
    Failed::Over(format!("it was ended after {} seconds; `remc run` has no limit of time", limit.as_secs()))
}

/// A sentence that has no code.
fn said(text: &str) -> Failed {
    Failed::Problems(vec![Problem { text: text.to_owned(), code: String::new() }])
}

fn told(session: &Session, d: &Diagnostic<Span>) -> Problem {
    let mut text = render(session, std::slice::from_ref(d), Style::Short, false);
    for help in &d.help {
        text.push_str(&format!("help: {help}\n"));
    }
    Problem { text, code: d.code.0.to_owned() }
}

fn problem(session: &Session, d: &Diagnostic<Span>) -> Failed {
    Failed::Problems(vec![told(session, d)])
}

fn failed(failure: Failure) -> Failed {
    match failure {
        Failure::Usage(d) => {
            let text = render(&NoSources, std::slice::from_ref(&d), Style::Short, false);
            Failed::Problems(vec![Problem { text, code: d.code.0.to_owned() }])
        }
        Failure::Bug(b) => bug(&format!("in the stage `{}`: {}", b.stage, b.message)),
        Failure::Program | Failure::Refused | Failure::Stopped => bug("it ended without a word"),
    }
}

fn bug(message: &str) -> Failed {
    said(&format!("remc has made a mistake; your program may be right: {message}"))
}
