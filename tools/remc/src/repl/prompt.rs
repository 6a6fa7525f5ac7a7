//! One input after the other: definitions stay, values are shown.

use super::commands;
use super::desk::{Candidate, Desk, SHOWN};
use super::kept::is_kept;
use super::request::{Request, Screen, What};
use super::worker::{Ended, Worker};
use super::workspace::{Kind, Origin, Piece};
use crate::args::{Device, Repl};
use crate::codes;
use crate::commands::new_session;
use crate::report::{Failure, Outcome, Reporter, fail, on_terminal, to_stderr, to_stdout, usage};
use clap::ValueEnum;
use remc_base::visible;
use remc_driver::Def;
use remc_driver::names::{DefKind, Namespace, lookup};
use remc_driver::queries::{check, scheme};
use remc_ide::types::{arguments, parameters};
use remc_runtime::temporary::{every_interruption, interruption};
use remc_syntax::token::{Token, TokenKind};
use std::io::IsTerminal;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub struct Prompt {
    /// Shared with the editor of lines.
    pub desk: Arc<Mutex<Desk>>,
    pub reporter: Reporter,
    worker: Worker,
    pub device: Option<Device>,
    options: Vec<String>,
    /// The expression that commands are about where they name none.
    pub last: Option<String>,
    /// The file that `:load` has loaded.
    pub loaded: Option<PathBuf>,
    /// The files that `:save` has written.
    pub saved: Vec<PathBuf>,
}

/// What is defined under a name.
pub struct Named {
    /// `f : (→ (int) int)`
    pub said: String,
    pub is_function: bool,
}

/// Whether there is more to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    More,
    Quit,
}

impl Prompt {
    pub fn new(args: &Repl, reporter: &Reporter, typed: bool) -> Outcome<Prompt> {
        let mut options = Vec::new();
        options.extend(args.threads.map(|n| format!("--threads={n}")));
        options.extend(args.memory_limit.map(|n| format!("--memory-limit={n}")));
        // Whoever types may press Ctrl-C as often as they like; a script can be ended by it.
        let interrupted = if typed { every_interruption() } else { interruption() };
        Ok(Prompt {
            desk: Arc::new(Mutex::new(Desk::new(new_session()))),
            reporter: reporter.clone(),
            worker: Worker::new(interrupted, reporter.style),
            device: args.device,
            options,
            last: None,
            loaded: None,
            saved: Vec::new(),
        })
    }

    /// Starts what computes values, so that it is there for the first.
    pub fn start(&mut self) -> Outcome {
        self.worker.start()
    }

    pub fn desk(&self) -> MutexGuard<'_, Desk> {
        // Whoever held it has been dealt with, see `input`.
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does what an input says.
    pub fn input(&mut self, text: &str) -> Outcome<Next> {
        let done = catch_unwind(AssertUnwindSafe(|| match text.trim_start().strip_prefix(':') {
            Some(command) => self.command(command),
            None => self.evaluate(text).map(|()| Next::More),
        }));
        done.unwrap_or_else(|_| {
            // A mistake of the compiler: what was defined is checked in another session.
            let workspace = std::mem::take(&mut self.desk().workspace);
            let mut desk = Desk::new(new_session());
            desk.workspace = workspace;
            *self.desk() = desk;
            self.desk.clear_poison();
            Err(crate::panicked())
        })
    }

    /// Definitions and expressions.
    fn evaluate(&mut self, text: &str) -> Outcome {
        // A function by itself is no expression of the language; what it is can be said.
        if let Some(named) = self.named(text)?.filter(|n| n.is_function) {
            return to_stdout(&format!("{}\n", named.said));
        }
        let candidate = self.desk().check(&typed(text));
        if candidate.new_pieces().is_empty() {
            return Ok(());
        }
        self.show_found(&candidate)?;
        self.define(&candidate);
        self.keep(&candidate)?;
        let expressions: Vec<&Piece> =
            candidate.new_pieces().iter().filter(|p| p.kind == Kind::Expression).collect();
        for (nth, piece) in expressions.iter().enumerate() {
            self.last = Some(expression_of(piece));
            if let Some(ty) = self.function(nth, &candidate)? {
                to_stdout(&format!("{ty}\n"))?;
            } else {
                self.compute(&candidate, What::Value { nth }, self.run_options())?;
            }
        }
        Ok(())
    }

    /// What a text that is a name is; a definition that does not check ends it with the reason.
    pub fn named(&mut self, text: &str) -> Outcome<Option<Named>> {
        let tokens = remc_syntax::tokens(text).tokens;
        let [Token { kind: TokenKind::Name(name), .. }, Token { kind: TokenKind::End, .. }] =
            tokens.as_slice()
        else {
            return Ok(None);
        };
        let candidate = self.desk().checked(Vec::new());
        let desk = self.desk();
        let db = &desk.session.db;
        let of = |space| lookup(db, desk.program, space, name.clone());
        let Some(def) = of(Namespace::Values).or_else(|| of(Namespace::Types)) else { return Ok(None) };
        let Some(said) = desk.described(def) else {
            self.reporter
                .placed(candidate.places.clone())
                .show(&desk.session, &desk.errors_under(def, &candidate));
            return Err(Failure::Program);
        };
        let is_function = scheme(db, def).as_ref().is_some_and(|s| arguments(s).is_some());
        Ok(Some(Named { said, is_function }))
    }

    /// Shows what is said of the new input; an error ends it.
    pub fn show_found(&self, candidate: &Candidate) -> Outcome {
        let reporter = self.reporter.placed(candidate.places.clone());
        if !candidate.found.is_empty() {
            let desk = self.desk();
            reporter.show(&desk.session, &commands::found(&desk, candidate));
        }
        if candidate.is_right() { Ok(()) } else { Err(Failure::Program) }
    }

    /// Keeps the definitions, and says their types.
    pub fn define(&mut self, candidate: &Candidate) {
        let mut desk = self.desk();
        let worse = desk.accept(candidate);
        let mut said = String::new();
        for def in desk.new_defs(candidate) {
            if def.kind(&desk.session.db) != DefKind::Expr
                && let Some(line) = desk.described(def)
            {
                said.push_str(&format!("{line}\n"));
            }
        }
        if !worse.is_empty() {
            let names: Vec<String> = worse.iter().map(|n| format!("`{}`", visible(n))).collect();
            let (verb, it) = if names.len() == 1 { ("does", "it") } else { ("do", "they") };
            said.push_str(&format!(
                "{} {verb} not check with that any more, and cannot be used until {it} {verb}: `:type {}` says why\n",
                names.join(", "),
                visible(&worse[0])
            ));
        }
        to_stderr(&said);
    }

    /// Lets the worker compute what has been defined and is a value.
    fn keep(&mut self, candidate: &Candidate) -> Outcome {
        let names: Vec<String> = {
            let desk = self.desk();
            let is_new =
                |d: &Def<'_>| is_kept(&desk.session, *d) && desk.errors_under(*d, candidate).is_empty();
            let new = desk.new_defs(candidate).into_iter().filter(is_new);
            new.map(|d| d.name(&desk.session.db).to_string()).collect()
        };
        if names.is_empty() {
            return Ok(());
        }
        self.compute(candidate, What::Define { names }, self.run_options())
    }

    /// The type of an expression that is a function: there is nothing to compute.
    pub fn function(&self, nth: usize, candidate: &Candidate) -> Outcome<Option<String>> {
        let desk = self.desk();
        let db = &desk.session.db;
        let all = desk.session.expressions(desk.program);
        let Some(def) = all.get(nth).copied() else { return Ok(None) };
        let definition = check(db, def).definition.clone();
        let broken = desk.errors_under(def, candidate);
        if !broken.is_empty() || definition.is_none() {
            self.reporter.placed(candidate.places.clone()).show(&desk.session, &broken);
            to_stderr("this needs what does not check; define it anew, or `:forget` it\n");
            return Err(Failure::Program);
        }
        Ok(definition.filter(|d| parameters(&d.ty).is_some()).and_then(|_| desk.described(def)))
    }

    /// Lets the worker compute.
    pub fn compute(&mut self, candidate: &Candidate, what: What, options: Vec<String>) -> Outcome {
        let text = candidate.workspace.text();
        let places = candidate.places.to_json();
        let request = Request { text, places, what, options, screen: screen() };
        let ended = self.worker.ask(&request)?;
        if !matches!(ended, Ended::Code(_)) && on_terminal() {
            // What it was at stands in this line, perhaps.
            to_stderr("\r\x1b[K");
        }
        match ended {
            Ended::Code(0) => Ok(()),
            Ended::Code(1) => Err(Failure::Program),
            Ended::Code(2) => Err(Failure::Refused),
            Ended::Code(_) => Err(Failure::Stopped),
            Ended::Interrupted => {
                to_stderr("interrupted\n");
                Err(Failure::Stopped)
            }
            Ended::Died(status) => {
                // It has said why, unless something outside has ended it.
                if status.code().is_none() {
                    to_stderr(&format!("the run was ended: {status}\n"));
                }
                Err(Failure::Stopped)
            }
        }
    }

    pub fn run_options(&self) -> Vec<String> {
        let device = self.device.and_then(|d| d.to_possible_value());
        let device = device.map(|d| format!("--device={}", d.get_name()));
        // Threads are of the cpu device.
        let fits = |o: &&String| self.device != Some(Device::Interp) || !o.starts_with("--threads");
        self.options.iter().filter(fits).cloned().chain(device).collect()
    }

    /// The workspace with an expression that a command is about, or with the last.
    pub fn about(&mut self, command: &str, text: &str) -> Outcome<Candidate> {
        let text = match (text.trim(), &self.last) {
            ("", None) => {
                return fail(
                    usage(
                        codes::PROMPT,
                        format!("`:{command}` is about an expression, and there is none yet"),
                    )
                    .help(format!("write one behind it: `:{command} (iota [3])`")),
                );
            }
            ("", Some(last)) => last.clone(),
            (text, _) => text.to_owned(),
        };
        let candidate = self.desk().check(&typed(&text));
        let other = candidate.new_pieces().iter().find(|p| !matches!(p.kind, Kind::Expression | Kind::Wrong));
        if other.is_some() || candidate.new_pieces().len() > 1 {
            return fail(
                usage(codes::PROMPT, format!("`:{command}` is about one expression"))
                    .help("definitions are written without a command before them"),
            );
        }
        self.show_found(&candidate)?;
        self.last = Some(text);
        Ok(candidate)
    }
}

/// A text that was typed.
pub fn typed(text: &str) -> Arc<Origin> {
    Arc::new(Origin { shown: SHOWN.to_owned(), text: text.to_owned(), folder: PathBuf::new() })
}

/// An expression without the comments around it.
fn expression_of(piece: &Piece) -> String {
    let parsed = remc_syntax::parse(remc_base::ModuleId(0), &piece.text, false);
    let span = parsed.items.first().and_then(|i| i.map.item);
    let text = span.and_then(|s| piece.text.get(s.start as usize..s.end as usize));
    text.unwrap_or(&piece.text).to_owned()
}

/// The terminal that values go to; without one, what a page of text has.
fn screen() -> Screen {
    let size = if std::io::stdout().is_terminal() { terminal_size::terminal_size() } else { None };
    let (width, height) = size.map_or((100, 40), |(w, h)| (usize::from(w.0), usize::from(h.0)));
    Screen { width, height, colours: colours() }
}

/// How many bits a colour has on the terminal.
pub fn colours() -> u8 {
    let is = |name: &str, has: &[&str]| {
        std::env::var(name).is_ok_and(|value| has.iter().any(|h| value.contains(h)))
    };
    let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    match () {
        () if refused || !std::io::stdout().is_terminal() || !on_terminal() => 0,
        () if is("COLORTERM", &["truecolor", "24bit"]) => 24,
        () => 8,
    }
}
