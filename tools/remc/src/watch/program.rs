//! The program that is watched: what is wrong with it, and what it gives.

use crate::args::{Cli, Command, Watch};
use crate::codes;
use crate::commands::new_session;
use crate::report::{Failure, Outcome, Reporter, fail, to_stderr, usage};
use clap::Parser;
use remc_base::{Diagnostic, Severity, Span};
use remc_driver::names::DefKind;
use remc_driver::{Session, SourceFile};
use remc_runtime::data::Place;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub struct Program {
    session: Session,
    path: PathBuf,
    file: Option<SourceFile>,
    /// Data files that the options name.
    data: Vec<PathBuf>,
    /// What was wrong the last time, by what is said and not by where.
    before: Vec<Said>,
}

type Said = (Severity, String, String);

/// What a check found.
pub enum Checked {
    Right { mended: Vec<String>, time: Duration },
    Wrong { new: usize, old: usize, mended: Vec<String> },
    Unreadable(String),
}

impl Program {
    /// The options are those of a run: what is wrong with them is said now.
    pub fn new(args: &Watch) -> Outcome<Program> {
        let line =
            ["remc", "run"].into_iter().map(OsString::from).chain([args.file.clone().into_os_string()]);
        let cli = match Cli::try_parse_from(line.chain(args.options.iter().map(OsString::from))) {
            Ok(Cli { command: Command::Run(run), .. }) => run,
            Ok(_) => {
                return fail(usage(codes::WATCH, "the options behind `--` are no options of `remc run`"));
            }
            Err(e) => {
                let first =
                    e.to_string().lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
                return fail(
                    usage(
                        codes::WATCH,
                        format!("the options behind `--` are no options of `remc run`: {first}"),
                    )
                    .help("`remc run --help` lists them"),
                );
            }
        };
        let data = cli.inputs.iter().filter_map(|(_, value)| Some(Place::of(value)?.path)).collect();
        let (session, path) = (new_session(), args.file.clone());
        Ok(Program { session, path, file: None, data, before: Vec::new() })
    }

    pub fn shown(&self) -> String {
        self.path.display().to_string()
    }

    /// Everything that it is made of: itself, its imports, also those that are not there, and its data.
    pub fn files(&self) -> Vec<PathBuf> {
        let mut all = vec![self.path.clone()];
        for file in self.file.map(|f| self.session.modules(f)).unwrap_or_default() {
            let Some(path) = self.session.path_of(file) else { continue };
            all.push(path.to_owned());
            let folder = path.parent().unwrap_or(Path::new(""));
            let imports =
                self.session.defs(file).iter().filter(|d| d.kind(&self.session.db) == DefKind::Import);
            all.extend(imports.map(|d| folder.join(d.name(&self.session.db).as_str())));
        }
        all.extend(self.data.iter().cloned());
        // The numbers that it is compiled with.
        all.push(self.path.with_extension("tuning"));
        all.sort();
        all.dedup();
        all
    }

    /// Reads what has changed and says what is wrong with it, and was not before.
    pub fn check(&mut self, reporter: &Reporter) -> Checked {
        let start = Instant::now();
        self.session.refresh();
        let file = match self.session.find_or_load(&self.path) {
            Ok(file) => file,
            Err(e) => return Checked::Unreadable(e.reason()),
        };
        self.file = Some(file);
        let found = self.session.diagnostics(file);
        let said: Vec<Said> = found.iter().map(|d| self.said(d)).collect();
        let (mut new, mut old) = (Vec::new(), 0);
        let mut before = std::mem::take(&mut self.before);
        for (d, said) in found.iter().zip(&said) {
            match before.iter().position(|b| b == said) {
                Some(at) => {
                    before.swap_remove(at);
                    old += usize::from(d.is_error());
                }
                None => new.push(d.clone()),
            }
        }
        self.before = said;
        reporter.show(&self.session, &new);
        let mended: Vec<String> = before
            .into_iter()
            .filter(|(severity, ..)| *severity == Severity::Error)
            .map(|(_, code, message)| format!("[{code}] {message}"))
            .collect();
        let errors = new.iter().filter(|d| d.is_error()).count();
        match errors + old {
            0 => Checked::Right { mended, time: start.elapsed() },
            _ => Checked::Wrong { new: errors, old, mended },
        }
    }

    /// A message, and the text that it points at: an error moves with its line and stays the same.
    fn said(&self, d: &Diagnostic<Span>) -> Said {
        let at = d.labels.iter().find(|l| l.primary).map(|l| l.loc);
        let text = at.and_then(|s| self.session.source(s.module)?.1.get(s.start as usize..s.end as usize));
        let text = text.map(|t| t.split_whitespace().collect::<Vec<_>>().join(" ")).unwrap_or_default();
        let text = if text.is_empty() || text.len() > 60 { String::new() } else { format!(": {text}") };
        (d.severity, d.code.to_string(), format!("{}{text}", d.message))
    }
}

impl Checked {
    pub fn said(&self) -> String {
        let mended = |all: &[String]| all.iter().map(|m| format!("\n    mended: {m}")).collect::<String>();
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        match self {
            Checked::Right { mended: all, time } => {
                format!(": checked in {:.1} ms{}", time.as_secs_f64() * 1e3, mended(all))
            }
            Checked::Wrong { new: 0, old, mended: all } => {
                format!(": {old} error{} as before{}", plural(*old), mended(all))
            }
            Checked::Wrong { new, old: 0, mended: all } => {
                format!(": {new} error{}{}", plural(*new), mended(all))
            }
            Checked::Wrong { new, old, mended: all } => {
                format!(": {new} new error{}, {old} as before{}", plural(*new), mended(all))
            }
            Checked::Unreadable(why) => format!(" cannot be read: {why}; waiting for it"),
        }
    }
}

/// A run in a process of its own; it ends when this is dropped.
pub struct Run {
    child: Child,
    streams: Option<[JoinHandle<Vec<u8>>; 2]>,
    start: Instant,
}

/// How a run ended.
pub struct Ran {
    pub out: Vec<u8>,
    pub err: Vec<u8>,
    /// None, if a signal ended it.
    pub code: Option<i32>,
    pub time: Duration,
}

impl Run {
    pub fn start(args: &Watch) -> Outcome<Run> {
        let start = Instant::now();
        let cannot = |e: &std::io::Error| -> Failure {
            Failure::Usage(Box::new(usage(codes::WATCH, format!("the program cannot be run: {e}"))))
        };
        let remc = std::env::current_exe().map_err(|e| cannot(&e))?;
        let mut child = std::process::Command::new(remc)
            .arg("run")
            .arg(&args.file)
            .args(&args.options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|e| cannot(&e))?;
        fn read(stream: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
            std::thread::spawn(move || {
                let mut all = Vec::new();
                if let Some(mut stream) = stream {
                    // What came before an error is shown.
                    let _ = stream.read_to_end(&mut all);
                }
                all
            })
        }
        let streams = [read(child.stdout.take()), read(child.stderr.take())];
        Ok(Run { child, streams: Some(streams), start })
    }

    /// What came of it, once it has ended.
    pub fn ended(&mut self) -> Option<Ran> {
        let status = match self.child.try_wait() {
            Ok(None) => return None,
            Ok(Some(status)) => status.code(),
            Err(e) => {
                to_stderr(&format!("the run cannot be waited for: {e}\n"));
                None
            }
        };
        let [out, err] = self.streams.take()?.map(|s| s.join().unwrap_or_default());
        Some(Ran { out, err, code: status, time: self.start.elapsed() })
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        if self.streams.is_some() {
            // One that has ended meanwhile needs no more.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
