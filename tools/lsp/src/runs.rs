//! What a lens runs: on a thread of its own, with limits, until it is done or nobody wants it any more.

use crate::client::Client;
use crate::outbox::{Outbox, Refusal};
use crate::pages::Pages;
use crate::{server, uri};
use crossbeam_channel::{Receiver, Sender};
use gen_lsp_types::{
    MessageType, ProgressNotification, ProgressParams, ProgressToken, ShowDocumentParams,
    ShowDocumentRequest, Uri, WorkDoneProgressCreateParams, WorkDoneProgressCreateRequest,
};
use lsp_server::{ErrorCode, RequestId};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The commands, as lenses and clients call them, with the arguments `[uri, name]`.
pub const COMMANDS: [&str; 3] = [RUN, EXPLAIN, FILL];
pub const RUN: &str = "remc.run";
pub const EXPLAIN: &str = "remc.explainPerformance";
/// Writes the value of an example behind its arrow: `[uri, name, expression]`.
pub const FILL: &str = "remc.fillExample";

/// A program as the editor has it, and what of it is run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Where it is, for messages and its imports. There need be no such file.
    pub path: PathBuf,
    pub text: String,
    /// The other files that are open, with their texts.
    pub buffers: Vec<(PathBuf, String)>,
    /// The definition: an entry, or an expression under its generated name.
    pub name: String,
    /// An expression that is run instead, and sees what the program defines.
    pub expression: Option<String>,
}

/// A sentence about a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Problem {
    /// As it is shown: place, code, message and help.
    pub text: String,
    pub code: &'static str,
}

/// Why there is no value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failed {
    /// The program is wrong, stopped, or took more than it may.
    Problems(Vec<Problem>),
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
    /// The edit that writes it into the source, made of it.
    Fill(Box<dyn FnOnce(&str) -> gen_lsp_types::WorkspaceEdit + Send>),
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

/// Runs that wait or run, by the token of their progress, and what ends them.
type Stops = Arc<Mutex<HashMap<String, (RequestId, Arc<AtomicBool>)>>>;

/// The way to the thread that runs.
pub struct Runs {
    sender: Sender<Run>,
    stops: Stops,
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
        Runs { sender, stops, outbox, client, next: Mutex::new(0) }
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
        if let Err(e) = self.sender.send(Run { id, program, then, called, token, stop }) {
            self.outbox.answer(&e.0.id, Err(Refusal::failed("no thread could be started to run it")));
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
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most lines and characters of a value that is shown as a message; a longer one becomes a page.
const SHORT: (usize, usize) = (12, 600);

struct Worker {
    runner: Box<dyn Runner>,
    client: Client,
    outbox: Arc<Outbox>,
    pages: Arc<Pages>,
    stops: Stops,
}

impl Worker {
    fn work(mut self, receiver: &Receiver<Run>) {
        for run in receiver {
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
            Err(Failed::Problems(problems)) => {
                let text = problems.iter().map(|p| p.text.trim_end()).collect::<Vec<_>>().join("\n");
                if !self.client.shows_results {
                    self.outbox.show(MessageType::Error, text.clone());
                }
                let codes: Vec<&str> = problems.iter().map(|p| p.code).collect();
                return Ok(json!({ "failed": true, "text": text, "codes": codes }));
            }
        };
        // Whoever cancelled does not want to see it.
        if !self.outbox.is_pending(&run.id) {
            return Err(Refusal::canceled());
        }
        match run.then {
            Then::Fill(edit) => {
                let params = gen_lsp_types::ApplyWorkspaceEditParams {
                    label: Some("Fill in the value".to_owned()),
                    edit: edit(value.trim_end()),
                    ..Default::default()
                };
                self.outbox.ask::<gen_lsp_types::ApplyWorkspaceEditRequest>(params);
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
