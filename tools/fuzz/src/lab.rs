//! One text through the reader and the checker, with everything that must hold whatever the text.

use crate::mutate;
use crate::rng::Rng;
use remc_base::{ArrTy, Diagnostic, GlobalId, ModuleId, Span};
use remc_driver::render::{Style, render};
use remc_driver::{Database, LinkedProgram, Session, SourceFile};
use remc_typed::{parse, print, verify};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Mutex, Once};

/// What a text turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// No UTF-8.
    NotText,
    Rejected,
    Accepted,
}

/// Something that no text may cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    pub kind: FaultKind,
    pub message: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FaultKind {
    Panic,
    /// A message points outside its text, or says nothing.
    Message,
    /// Neither a definition nor an error came out.
    Silence,
    /// The verifier refuses what the checker accepted.
    Verifier,
    /// The text of Typed does not read back as itself.
    RoundTrip,
    /// After an edit the session says something else than a new one.
    Incremental,
    /// A well-typed program is rejected.
    Rejected,
    /// A text that the checker rejects, where it may.
    Refused,
    /// An ill-typed program is accepted.
    Accepted,
    /// The type or the value has not the shape that it must have.
    Type,
    /// The interpreter found an ill-typed term.
    Interpreter,
    /// Without annotations a program means something else.
    Erasure,
    /// What `--show types` prints means something else.
    ShownTypes,
    /// A stage past the checker made a mistake, or its verifier says so.
    Compiler,
    /// Compiled code gives another value than the interpreter, or stops otherwise.
    Differs,
    /// Another number of threads gives another value.
    Threads,
    /// Formatting a text does more than lay it out, or does it otherwise the second time.
    Layout,
    /// A data file, a folder or an interruption did harm.
    Environment,
}

impl Fault {
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Fault {
        Fault { kind, message: message.into() }
    }

    /// What faults with one cause have in common: the message without the numbers and names in it.
    pub fn signature(&self) -> String {
        let mut out = format!("{:?}: ", self.kind);
        let mut quoted = false;
        for c in self.message.chars() {
            match c {
                '`' => quoted = !quoted,
                _ if quoted => {}
                '0'..='9' if self.kind != FaultKind::Panic => {}
                // A panic's line number tells causes apart, so digits stay up to its message.
                '\n' => break,
                _ => out.push(c),
            }
        }
        out
    }
}

impl Fault {
    /// The signature without what the values of a program decide.
    pub fn cause(&self) -> String {
        match self.kind {
            // A stop tells itself from another value, and from another stop.
            FaultKind::Differs => self
                .message
                .split([':', '\n'])
                .find(|s| !s.starts_with("result"))
                .unwrap_or_default()
                .chars()
                .filter(|c| !c.is_ascii_digit())
                .collect(),
            _ => self.signature(),
        }
    }
}

static LAST_PANIC: Mutex<Option<String>> = Mutex::new(None);

/// Keeps panics for the report instead of printing them.
pub fn hush_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|info| {
            if let Ok(mut last) = LAST_PANIC.lock() {
                *last = Some(info.to_string());
            }
        }));
    });
}

/// Runs `f`; a panic is a fault.
pub fn guarded<T>(f: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|payload| {
        let told = LAST_PANIC.lock().ok().and_then(|mut m| m.take());
        let said = || payload.downcast_ref::<&str>().map(|s| (*s).to_owned());
        let text = told.or_else(said).unwrap_or_else(|| "a panic".to_owned());
        Err(Fault::new(FaultKind::Panic, text))
    })
}

/// The path that texts are given; it names no file.
const SHOWN: &str = "fuzz.remora";

/// Edits that a session sees before it is replaced, so that what it remembers stays bounded.
const EDITS: usize = 300;

/// A session that sees one text after another, as an editor's does.
#[derive(Default)]
pub struct Lab {
    current: Option<(Session, SourceFile, usize)>,
}

impl Lab {
    /// Puts the text through everything. `extra` seeds what is done at random: comparing with a new
    /// session, changing the text of the checked program.
    pub fn examine(&mut self, bytes: &[u8], extra: u64) -> Result<Verdict, Fault> {
        // A session is given up while a text is being examined, so that none survives a panic.
        let current = self.current.take();
        let (verdict, current) = guarded(|| examine(current, bytes, extra))?;
        self.current = current;
        Ok(verdict)
    }
}

type Current = Option<(Session, SourceFile, usize)>;

fn examine(current: Current, bytes: &[u8], extra: u64) -> Result<(Verdict, Current), Fault> {
    let Ok(text) = remc_driver::session::decode(SHOWN, bytes.to_vec()) else {
        return Ok((Verdict::NotText, current));
    };
    let (session, file, edits) = match current {
        Some((mut session, file, edits)) if edits < EDITS => {
            session.set_text(file, text.clone());
            (session, file, edits + 1)
        }
        _ => {
            let mut session = Session::new(Database::default());
            let file = session.load_text(SHOWN, Path::new(""), text.clone());
            (session, file, 0)
        }
    };
    let mut rng = Rng::new(extra);
    let messages = said(&session, file)?;
    if edits > 0 && rng.one_in(16) {
        let mut fresh = Session::default();
        let alone = fresh.load_text(SHOWN, Path::new(""), text.clone());
        let again = said(&fresh, alone)?;
        if again != messages {
            return Err(Fault::new(
                FaultKind::Incremental,
                format!("other messages after an edit:\n{messages}\nand in a new session:\n{again}"),
            ));
        }
    }
    // The prelude's reader knows more forms.
    if rng.one_in(8) {
        remc_syntax::parse(ModuleId(0), &text, true);
        remc_syntax::tokens(&text);
    }
    crate::layout::laws(&text, &mut rng)?;
    if session.diagnostics(file).iter().any(Diagnostic::is_error) {
        return Ok((Verdict::Rejected, Some((session, file, edits))));
    }
    let program = elaborated(&session, file)?;
    let typed = print::print_program(&program.order);
    read_back(&program, &typed)?;
    remc_driver::show::show_types(&session, file);
    if typed.len() < 1 << 16 && rng.one_in(4) {
        break_typed(&session, &program, &mutate::typed_text(&mut rng, &typed));
    }
    Ok((Verdict::Accepted, Some((session, file, edits))))
}

/// What is said about the text, in the short form; all forms are made.
fn said(session: &Session, file: SourceFile) -> Result<String, Fault> {
    let diagnostics = session.diagnostics(file);
    for d in &diagnostics {
        sound_message(session, d)?;
    }
    for style in [Style::Rich, Style::Json] {
        render(session, &diagnostics, style, style == Style::Rich);
    }
    Ok(render(session, &diagnostics, Style::Short, false))
}

/// A message says something and points at characters that are there.
fn sound_message(session: &Session, d: &Diagnostic<Span>) -> Result<(), Fault> {
    let wrong =
        |what: String| Err(Fault::new(FaultKind::Message, format!("{}: {what}: {}", d.code, d.message)));
    if d.message.trim().is_empty() {
        return wrong("no message".into());
    }
    for label in &d.labels {
        let Some((_, text)) = session.source(label.loc.module) else {
            return wrong("a label in no module".into());
        };
        if text.get(label.loc.range()).is_none() {
            return wrong(format!("a label at {:?} of {} bytes", label.loc.range(), text.len()));
        }
    }
    Ok(())
}

/// The verified program of a text without errors; each definition of the text must have come out.
pub fn elaborated(session: &Session, file: SourceFile) -> Result<LinkedProgram, Fault> {
    let roots = session.value_defs(file);
    let program = session.link(file, &roots);
    for def in &roots {
        let global = def.global(&session.db);
        if program.get(&global).is_none() && !program.has_primitive(&global) {
            return Err(Fault::new(
                FaultKind::Silence,
                format!("`{global}` has neither an error nor a definition"),
            ));
        }
    }
    session.verify(&program, file).map_err(|bug| Fault::new(FaultKind::Verifier, bug.message))?;
    Ok(program)
}

fn read_back(program: &LinkedProgram, typed: &str) -> Result<(), Fault> {
    let fault = |message: String| Fault::new(FaultKind::RoundTrip, message);
    let back = parse::parse_program(typed).map_err(|e| fault(e.to_string()))?;
    match back.iter().zip(&program.order).find(|(a, b)| *a != &***b) {
        Some((_, d)) => Err(fault(format!("`{}` reads back as another definition", d.name))),
        None if back.len() != program.order.len() => Err(fault("definitions are lost".into())),
        None => Ok(()),
    }
}

/// The reader and the verifier of Typed on a text that is nearly one of its programs.
fn break_typed(session: &Session, program: &LinkedProgram, text: &str) {
    struct Known<'a>(&'a Session, &'a LinkedProgram);
    impl verify::Globals for Known<'_> {
        fn ty(&self, global: &GlobalId) -> Option<ArrTy> {
            match self.1.get(global) {
                Some(d) => Some(d.ty.clone()),
                None => self.0.prelude_type(global),
            }
        }
    }
    if let Ok(definitions) = parse::parse_program(text) {
        for d in &definitions {
            // Either answer is right: a change may keep a program well-typed.
            let _ = verify::verify(d, &Known(session, program));
        }
    }
}
