//! What a lens runs, and what comments claim: on a thread of its own, with limits, until it is done or nobody wants it any
//! more. Somebody waits for what a lens runs; so a check of claims makes way for it, and goes on where it was.

use crate::client::Client;
use crate::outbox::{Outbox, Refusal};
use crate::pages::Pages;
use crate::{server, uri};
use crossbeam_channel::{Receiver, Sender, TryRecvError};
use gen_lsp_types::{
    MessageType, ProgressNotification, ProgressParams, ProgressToken, ShowDocumentParams,
    ShowDocumentRequest, Uri, WorkDoneProgressCreateParams, WorkDoneProgressCreateRequest,
};
use lsp_server::{ErrorCode, RequestId};
use remc_driver::claims::Found;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The commands, as lenses and clients call them, with the arguments `[uri, name]`.
pub const COMMANDS: [&str; 4] = [RUN, EXPLAIN, FILL, CHECK];
pub const RUN: &str = "remc.run";
pub const EXPLAIN: &str = "remc.explainPerformance";
/// Writes a value behind the arrow of a comment: `[uri, expression, which of those with that expression]`.
pub const FILL: &str = "remc.fillValue";
/// Compares the values that comments claim with those that there are: `[uri]`.
pub const CHECK: &str = "remc.checkValues";

/// How long what a lens runs may take, and what a comment claims.
pub const RUN_LIMIT: Duration = Duration::from_secs(60);
pub const CHECK_LIMIT: Duration = Duration::from_secs(5);
/// So many elements of a value are shown.
pub const ELEMENTS: usize = 1000;

/// A program as the editor has it, and what of it is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Where it is, for messages and its imports. There need be no such file.
    pub path: PathBuf,
    pub text: Arc<str>,
    /// The other files that are open, with their texts.
    pub buffers: Arc<[(PathBuf, Arc<str>)]>,
    pub what: What,
    /// How long it may take.
    pub limit: Duration,
    /// So many elements of the value are wanted; an ellipsis stands for the others.
    pub elements: usize,
}

/// What of a program is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// A definition: an entry, or an expression under its generated name.
    Definition(String),
    /// An expression that sees what the program defines.
    Expression(String),
    /// The form that begins at a byte, whatever is wrong with others.
    Form(u32),
}

/// A sentence about a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// As it is shown: place, code, message and help.
    pub text: String,
    pub code: String,
}

/// Why there is no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failed {
    /// The program is wrong, or stopped.
    Problems(Vec<Problem>),
    /// It took more time than it may: a sentence.
    Over(String),
    /// It was told to end.
    Cancelled,
}

/// What runs programs: the command line's devices.
pub trait Runner: Send {
    /// The value, as text.
    ///
    /// # Errors
    /// What is wrong with the program, or why it stopped.
    fn run(&mut self, program: &Program, stop: &AtomicBool) -> Result<String, Failed>;

    /// What the program costs, as text.
    ///
    /// # Errors
    /// What is wrong with the program.
    fn explain(&mut self, program: &Program, stop: &AtomicBool) -> Result<String, Failed>;
}

/// What is done with a value.
pub enum Then {
    Show,
    Explain,
    /// It is written into the source by whoever has the texts.
    Fill(Box<dyn FnOnce(String) + Send>),
}

struct Run {
    id: RequestId,
    program: Program,
    then: Then,
    /// What people call it.
    called: String,
    token: String,
    stop: Arc<AtomicBool>,
}

/// Values that comments claim.
pub struct Check {
    /// With the forms in question as [`What::Form`].
    pub programs: Vec<Program>,
    /// Is given what there is in their place; nothing of one that took too long.
    pub then: Box<dyn FnOnce(Vec<Option<Found>>) + Send>,
    pub ticket: Ticket,
}

/// A check that waits or runs.
#[derive(Clone, Default, Debug)]
pub struct Ticket {
    /// Ends the program that runs.
    stop: Arc<AtomicBool>,
    /// Nobody wants to know any more.
    gone: Arc<AtomicBool>,
}

impl Ticket {
    pub fn cancel(&self) {
        self.gone.store(true, Ordering::Relaxed);
        self.stop.store(true, Ordering::Relaxed);
    }
}

enum Task {
    Run(Run),
    Check(Check),
}

/// Runs that wait or run, by the token of their progress, and what ends them.
type Stops = Arc<Mutex<HashMap<String, (RequestId, Arc<AtomicBool>)>>>;

/// The way to the thread that runs.
pub struct Runs {
    sender: Sender<Task>,
    stops: Stops,
    /// Those that may wait or run.
    checking: Mutex<Vec<Ticket>>,
    outbox: Arc<Outbox>,
    client: Client,
    next: Mutex<u64>,
}

impl Runs {
    pub fn new(runner: Box<dyn Runner>, client: Client, outbox: Arc<Outbox>, pages: Arc<Pages>) -> Runs {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let stops = Stops::default();
        let worker =
            Worker { runner, client: client.clone(), outbox: outbox.clone(), pages, stops: stops.clone() };
        server::start("remc-run", move || worker.work(&receiver));
        Runs { sender, stops, checking: Mutex::default(), outbox, client, next: Mutex::new(0) }
    }

    /// Runs a program; the request is answered when it is done.
    pub fn start(&self, id: RequestId, program: Program, called: String, then: Then) {
        let token = {
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            *next += 1;
            format!("remc-run-{next}")
        };
        let stop = Arc::new(AtomicBool::new(false));
        lock(&self.stops).insert(token.clone(), (id.clone(), stop.clone()));
        if self.client.progress {
            let created = ProgressToken::String(token.clone());
            self.outbox.ask::<WorkDoneProgressCreateRequest>(WorkDoneProgressCreateParams { token: created });
        }
        if self.sender.send(Task::Run(Run { id: id.clone(), program, then, called, token, stop })).is_err() {
            self.outbox.answer(&id, Err(Refusal::failed("no thread could be started to run it")));
        }
        for ticket in lock(&self.checking).iter() {
            ticket.stop.store(true, Ordering::Relaxed);
        }
    }

    /// Finds out what comments claim rightly.
    pub fn check(&self, check: Check) {
        let mut checking = lock(&self.checking);
        // Those that are done or gone are held by nobody else.
        checking.retain(|ticket| Arc::strong_count(&ticket.gone) > 1);
        checking.push(check.ticket.clone());
        // Without a thread that runs, nothing is found out.
        if let Err(e) = self.sender.send(Task::Check(check))
            && let Task::Check(check) = e.0
        {
            (check.then)(Vec::new());
        }
    }

    /// By the token of its progress.
    pub fn cancel(&self, token: &str) {
        if let Some((id, stop)) = lock(&self.stops).get(token) {
            stop.store(true, Ordering::Relaxed);
            self.outbox.answer(id, Err(Refusal::canceled()));
        }
    }

    pub fn cancel_request(&self, id: &RequestId) {
        let stops = lock(&self.stops);
        stops.values().filter(|(of, _)| of == id).for_each(|(_, stop)| stop.store(true, Ordering::Relaxed));
    }

    /// Ends all of it.
    pub fn end(&self) {
        lock(&self.stops).values().for_each(|(_, stop)| stop.store(true, Ordering::Relaxed));
        lock(&self.checking).iter().for_each(Ticket::cancel);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most lines and characters of a value that is shown as a message; a longer one becomes a page.
const SHORT: (usize, usize) = (12, 600);

/// A check, and what has been found of it.
struct Checking {
    check: Check,
    found: Vec<Option<Found>>,
}

fn joined(problems: &[Problem]) -> String {
    problems.iter().map(|p| p.text.trim_end()).collect::<Vec<_>>().join("\n")
}

struct Worker {
    runner: Box<dyn Runner>,
    client: Client,
    outbox: Arc<Outbox>,
    pages: Arc<Pages>,
    stops: Stops,
}

impl Worker {
    fn work(mut self, receiver: &Receiver<Task>) {
        let mut checks: VecDeque<Checking> = VecDeque::new();
        loop {
            let task = match checks.is_empty() {
                true => receiver.recv().map_err(|_| TryRecvError::Disconnected),
                false => receiver.try_recv(),
            };
            match task {
                Ok(Task::Run(run)) => self.answer(run),
                Ok(Task::Check(check)) => checks.push_back(Checking { check, found: Vec::new() }),
                Err(TryRecvError::Disconnected) => return,
                Err(TryRecvError::Empty) => {
                    if let Some(checking) = checks.pop_front()
                        && let Some(rest) = self.check(checking, receiver)
                    {
                        checks.push_front(rest);
                    }
                }
            }
        }
    }

    /// Runs the next program of a check; what is left of it then.
    fn check(&mut self, mut checking: Checking, receiver: &Receiver<Task>) -> Option<Checking> {
        let Ticket { stop, gone } = &checking.check.ticket;
        if gone.load(Ordering::Relaxed) {
            return None;
        }
        stop.store(false, Ordering::Relaxed);
        // Whoever waits comes first; from here on it would be told to stop.
        if !receiver.is_empty() {
            return Some(checking);
        }
        let Some(program) = checking.check.programs.get(checking.found.len()) else {
            (checking.check.then)(checking.found);
            return None;
        };
        let ran = catch_unwind(AssertUnwindSafe(|| self.runner.run(program, stop)));
        let found = match ran {
            Ok(Ok(value)) => Some(Found::Value(value.trim_end().to_owned())),
            Ok(Err(Failed::Problems(problems))) => Some(Found::Error {
                codes: problems.iter().map(|p| p.code.clone()).collect(),
                message: joined(&problems),
            }),
            // It has made way for what somebody waits for.
            Ok(Err(Failed::Cancelled)) => return Some(checking),
            Ok(Err(Failed::Over(_))) => None,
            Err(panic) => {
                let said = crate::analysis::panic_message(panic.as_ref());
                self.outbox.log(MessageType::Error, format!("remc has made a mistake: {said}"));
                None
            }
        };
        checking.found.push(found);
        Some(checking)
    }

    fn answer(&mut self, run: Run) {
        let (id, token) = (run.id.clone(), run.token.clone());
        self.progress(&token, json!({ "kind": "begin", "title": run.called, "cancellable": true }));
        let answer = catch_unwind(AssertUnwindSafe(|| self.run(run))).unwrap_or_else(|panic| {
            let said = crate::analysis::panic_message(panic.as_ref());
            self.outbox.log(MessageType::Error, format!("remc has made a mistake: {said}"));
            Err(Refusal::new(ErrorCode::InternalError, format!("remc has made a mistake: {said}")))
        });
        lock(&self.stops).remove(&token);
        self.progress(&token, json!({ "kind": "end" }));
        self.outbox.answer(&id, answer);
    }

    fn run(&mut self, run: Run) -> Result<Value, Refusal> {
        if run.stop.load(Ordering::Relaxed) {
            return Err(Refusal::canceled());
        }
        let ran = match run.then {
            Then::Explain => self.runner.explain(&run.program, &run.stop),
            Then::Show | Then::Fill(_) => self.runner.run(&run.program, &run.stop),
        };
        let value = match ran {
            Ok(value) => value,
            Err(Failed::Cancelled) => return Err(Refusal::canceled()),
            Err(Failed::Over(text)) => return Ok(self.failed(&run.then, text, &[])),
            Err(Failed::Problems(problems)) => {
                let codes: Vec<&str> = problems.iter().map(|p| p.code.as_str()).collect();
                return Ok(self.failed(&run.then, joined(&problems), &codes));
            }
        };
        // Whoever cancelled does not want to see it.
        if !self.outbox.is_pending(&run.id) {
            return Err(Refusal::canceled());
        }
        match run.then {
            Then::Fill(write) => {
                write(value.trim_end().to_owned());
                Ok(json!({ "text": value.trim_end() }))
            }
            Then::Explain => {
                self.show(&format!("performance of {}.txt", run.called), &value, "");
                Ok(json!({ "text": value.trim_end() }))
            }
            Then::Show => {
                self.show(&format!("value of {}.txt", run.called), &value, &format!("{} ⇒ ", run.called));
                Ok(json!({ "text": value.trim_end() }))
            }
        }
    }

    fn failed(&self, then: &Then, text: String, codes: &[&str]) -> Value {
        // What was to be written is no result.
        if !self.client.shows_results || matches!(then, Then::Fill(_)) {
            self.outbox.show(MessageType::Error, text.clone());
        }
        json!({ "failed": true, "text": text, "codes": codes })
    }

    /// Shows a text: a short one as a message, another as a page where the client can show pages.
    fn show(&self, name: &str, text: &str, before: &str) {
        if self.client.shows_results {
            return;
        }
        let text = text.trim_end();
        let is_short = text.lines().count() <= SHORT.0 && text.chars().count() <= SHORT.1;
        let name: String = name.chars().map(|c| if c == '/' || c.is_control() { '_' } else { c }).collect();
        if !is_short
            && self.client.shows_documents
            && let Some(path) = self.pages.write(&name, &format!("{text}\n"))
        {
            let uri = Uri(uri::uri(&path));
            self.outbox.ask::<ShowDocumentRequest>(ShowDocumentParams {
                uri,
                external: None,
                take_focus: Some(false),
                selection: None,
            });
            return;
        }
        self.outbox.show(MessageType::Info, format!("{before}{text}"));
    }

    fn progress(&self, token: &str, value: Value) {
        if self.client.progress {
            let token = ProgressToken::String(token.to_owned());
            self.outbox.notify::<ProgressNotification>(ProgressParams { token, value });
        }
    }
}
