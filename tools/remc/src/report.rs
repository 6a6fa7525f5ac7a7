//! How a command ends: streams and exit codes.

use crate::args::DiagnosticStyle;
mod places;

pub use places::{Placed, Places};
use remc_base::{Code, Diagnostic, Span, visible_lines};
use remc_driver::render::{self, Sources, Style};
use remc_driver::{InternalBug, Session};
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Why a command did not do what it was asked.
#[derive(Debug)]
pub enum Failure {
    /// The program is wrong; it has been reported.
    Program,
    /// Wrong usage, or an input that cannot be read; not reported yet.
    Usage(Box<Diagnostic<Span>>),
    /// The device cannot do what was asked of it; it has been reported.
    Refused,
    /// The program stopped while it ran; it has been reported.
    Stopped,
    Bug(InternalBug),
}

impl Failure {
    pub fn exit_code(&self) -> u8 {
        match self {
            Failure::Program => 1,
            Failure::Usage(_) | Failure::Refused => 2,
            Failure::Stopped => 3,
            Failure::Bug(_) => 70,
        }
    }
}

impl From<InternalBug> for Failure {
    fn from(bug: InternalBug) -> Failure {
        Failure::Bug(bug)
    }
}

pub type Outcome<T = ()> = Result<T, Failure>;

/// Wrong usage, to be refined by [`Diagnostic`]'s notes and helps.
pub fn usage(code: Code, message: impl Into<String>) -> Diagnostic<Span> {
    Diagnostic::error(code, message)
}

pub fn fail<T>(d: Diagnostic<Span>) -> Outcome<T> {
    Err(Failure::Usage(Box::new(d)))
}

/// Where messages go, and how they look.
#[derive(Clone)]
pub struct Reporter {
    pub style: Style,
    pub color: bool,
    /// They are kept there instead of shown.
    kept: Option<Arc<Mutex<Kept>>>,
    /// Where the text was written that they are about.
    places: Option<Arc<Places>>,
}

/// Messages that are kept.
#[derive(Default, Debug)]
pub struct Kept {
    /// Of the errors.
    pub codes: Vec<String>,
    pub text: String,
}

impl Reporter {
    pub fn new(style: DiagnosticStyle) -> Reporter {
        let style = match style {
            DiagnosticStyle::Rich => Style::Rich,
            DiagnosticStyle::Short => Style::Short,
            DiagnosticStyle::Json => Style::Json,
        };
        let color = on_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
        Reporter { style, color, kept: None, places: None }
    }

    /// One that keeps what it is given.
    pub fn keeping(&self) -> Reporter {
        Reporter { color: false, kept: Some(Arc::default()), ..self.clone() }
    }

    /// One that shows what it is given where its text was written.
    pub fn placed(&self, places: Places) -> Reporter {
        Reporter { places: Some(Arc::new(places)), ..self.clone() }
    }

    /// Where the text was written that it is about, if that is several places.
    pub fn places(&self) -> Option<&Places> {
        self.places.as_deref()
    }

    /// What was kept since it was asked for the last time.
    pub fn kept(&self) -> Kept {
        let kept = self.kept.as_ref().map(|kept| kept.lock().unwrap_or_else(PoisonError::into_inner));
        kept.map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
    }

    pub fn show(&self, sources: &dyn Sources, diagnostics: &[Diagnostic<Span>]) {
        let text = match &self.places {
            None => render::render(sources, diagnostics, self.style, self.color),
            Some(places) => {
                let resolved: Vec<_> = diagnostics.iter().map(|d| places.resolve(d.clone())).collect();
                render::render(&Placed { sources, places }, &resolved, self.style, self.color)
            }
        };
        match &self.kept {
            None => to_stderr(&text),
            Some(kept) => {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                let errors = diagnostics.iter().filter(|d| d.is_error());
                kept.codes.extend(errors.map(|d| d.code.to_string()));
                kept.text.push_str(&text);
            }
        }
    }

    /// Says why a command failed, where that has not been said.
    pub fn tell(&self, failure: &Failure) {
        match failure {
            Failure::Usage(d) => self.show(&NoSources, std::slice::from_ref(d)),
            Failure::Bug(bug) => show_bug(bug),
            Failure::Program | Failure::Refused | Failure::Stopped => {}
        }
    }

    /// Shows everything wrong with a program; an error ends the command.
    pub fn check(&self, session: &Session, diagnostics: &[Diagnostic<Span>]) -> Outcome {
        self.show(session, diagnostics);
        if diagnostics.iter().any(Diagnostic::is_error) { Err(Failure::Program) } else { Ok(()) }
    }
}

/// Whether messages go to a terminal that can move its cursor.
pub fn on_terminal() -> bool {
    io::stderr().is_terminal() && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// Sources of messages that point nowhere.
pub struct NoSources;

impl Sources for NoSources {
    fn source(&self, _: remc_base::ModuleId) -> Option<(&str, &str)> {
        None
    }
}

/// Writes to standard error. Where that is closed, nobody is there to be told.
pub fn to_stderr(text: &str) {
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes values to standard output. A reader that has seen enough (`remc … | head`) is no failure.
pub fn to_stdout(text: &str) -> Outcome {
    bytes_to_stdout(text.as_bytes())
}

pub fn bytes_to_stdout(bytes: &[u8]) -> Outcome {
    stream_to_stdout(|out| out.write_all(bytes))
}

/// … as they are made.
pub fn stream_to_stdout(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Outcome {
    // Standard output itself would look for the ends of lines in all of it.
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match write(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            fail(usage(crate::codes::OUTPUT, format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// The message that asks for a report.
pub fn show_bug(bug: &InternalBug) {
    to_stderr(&format!(
        "remc has made a mistake in the stage `{}`; your program may be right.\n  {}\n\
         Please report it, with the program and this message.\n",
        bug.stage,
        visible_lines(&bug.message)
    ));
}
