//! Listens to the client: one thread, which never waits for an answer to be found.

use crate::analysis::{Analysis, Ways};
use crate::capabilities::initialize_result;
use crate::client::Client;
use crate::outbox::{Outbox, Refusal};
use crate::pages::Pages;
use crate::queue::{Job, Next, Queue};
use crate::runs::Runs;
use crate::{Served, Tools};
use gen_lsp_types::{
    DidChangeWatchedFilesRegistrationOptions, FileSystemWatcher, GlobPattern, MessageType, Registration,
    RegistrationParams, RegistrationRequest,
};
use lsp_server::{Connection, ErrorCode, Message, RequestId, Response};
use serde_json::Value;
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Syntax trees are walked recursively, to a depth that the reader bounds; memory is used as it is touched.
const STACK: usize = 1 << 30;

/// Serves the client on standard input and output.
pub fn serve_stdio(tools: Tools) -> Served {
    let (connection, _threads) = Connection::stdio();
    // Its threads end with the process: the last answer has been read when the client says that it ends.
    serve(&connection, tools)
}

/// Serves one client until it says that it ends, or is gone.
pub fn serve(connection: &Connection, tools: Tools) -> Served {
    let Some((id, params)) = initialize(connection) else { return Served::Broken };
    let client = Client::new(&params);
    let result = initialize_result(&client, tools.version);
    let outbox = Arc::new(Outbox::new(connection.sender.clone()));
    outbox.expect(&id);
    outbox.answer(&id, Ok(result));

    let queue = Arc::new(Queue::default());
    let pages = Arc::new(Pages::default());
    let runs = Arc::new(Runs::new(tools.runner, client.clone(), outbox.clone(), pages.clone()));
    let ways = Ways { outbox: outbox.clone(), queue: queue.clone(), runs: runs.clone() };
    let analysis = Analysis::new(client.clone(), tools.explanation, pages, ways);
    let work = {
        let (queue, outbox) = (queue.clone(), outbox.clone());
        move || work(analysis, &queue, &outbox)
    };
    let Some(worker) = start("remc-lsp", work) else { return Served::Broken };

    let listener = Listener { client, outbox, queue: queue.clone(), runs: runs.clone() };
    let served = listener.listen(connection);
    queue.end();
    runs.end();
    // What still runs is of no use to anybody; it ends with the process.
    if worker.is_finished() || served == Served::Orderly {
        let _ = worker.join();
    }
    served
}

/// Waits for the client to introduce itself.
fn initialize(connection: &Connection) -> Option<(RequestId, Value)> {
    for message in &connection.receiver {
        match message {
            Message::Request(r) if r.method == "initialize" => return Some((r.id, r.params)),
            Message::Request(r) => {
                let code = ErrorCode::ServerNotInitialized as i32;
                let said = format!("`{}` comes before `initialize`", r.method);
                connection.sender.send(Response::new_err(r.id, code, said).into()).ok()?;
            }
            Message::Notification(n) if n.method == "exit" => return None,
            Message::Notification(_) | Message::Response(_) => {}
        }
    }
    None
}

/// A thread with room for deep trees, or with less where the machine does not allow so much.
pub fn start(name: &str, work: impl FnOnce() + Send + 'static) -> Option<JoinHandle<()>> {
    let work = Arc::new(std::sync::Mutex::new(Some(work)));
    [STACK, STACK / 4, STACK / 32].into_iter().find_map(|size| {
        let work = work.clone();
        let take = move || {
            let work = work.lock().ok().and_then(|mut work| work.take());
            if let Some(work) = work {
                work();
            }
        };
        Builder::new().name(name.to_owned()).stack_size(size).spawn(take).ok()
    })
}

/// The thread that has the texts.
fn work(mut analysis: Analysis, queue: &Queue, outbox: &Outbox) {
    queue.attach(analysis.token());
    loop {
        let next = queue.next(analysis.has_idle_work());
        analysis.settle();
        match next {
            Next::Job(Job::Request(request)) => {
                if outbox.is_pending(&request.id) {
                    analysis.request(request);
                }
            }
            Next::Job(Job::Notification(notification)) => {
                if analysis.notification(notification) {
                    queue.attach(analysis.token());
                }
            }
            Next::Job(Job::Then(then)) => {
                if analysis.take(then) {
                    queue.attach(analysis.token());
                }
            }
            Next::Idle => analysis.idle(),
            Next::End => return,
        }
    }
}

struct Listener {
    client: Client,
    outbox: Arc<Outbox>,
    queue: Arc<Queue>,
    runs: Arc<Runs>,
}

impl Listener {
    fn listen(&self, connection: &Connection) -> Served {
        let mut is_shut_down = false;
        for message in &connection.receiver {
            match message {
                Message::Request(request) => {
                    self.outbox.expect(&request.id);
                    match request.method.as_str() {
                        _ if is_shut_down => {
                            let refusal = Refusal::new(ErrorCode::InvalidRequest, "the server is shut down");
                            self.outbox.answer(&request.id, Err(refusal));
                        }
                        "shutdown" => {
                            is_shut_down = true;
                            self.runs.end();
                            self.outbox.answer(&request.id, Ok(Value::Null));
                        }
                        _ => self.queue.push(Job::Request(request)),
                    }
                }
                Message::Notification(n) => match n.method.as_str() {
                    "exit" => return if is_shut_down { Served::Orderly } else { Served::Broken },
                    "initialized" => self.watch(),
                    "$/cancelRequest" => self.cancel(&n.params),
                    "window/workDoneProgress/cancel" => {
                        if let Some(token) = n.params.get("token").and_then(Value::as_str) {
                            self.runs.cancel(token);
                        }
                    }
                    _ => {
                        if n.method == "textDocument/didChange"
                            && let Some(uri) = n.params.pointer("/textDocument/uri").and_then(Value::as_str)
                        {
                            self.queue.outdate(uri, &self.outbox);
                        }
                        self.queue.push(Job::Notification(n));
                    }
                },
                Message::Response(r) => {
                    if let Err(e) = r.response_result {
                        self.outbox.log(MessageType::Warning, format!("the client refused: {}", e.message));
                    }
                }
            }
        }
        // The client is gone without a word.
        Served::Broken
    }

    fn cancel(&self, params: &Value) {
        let id = match params.get("id") {
            Some(Value::Number(n)) => n.as_i64().and_then(|n| i32::try_from(n).ok()).map(RequestId::from),
            Some(Value::String(s)) => Some(RequestId::from(s.clone())),
            _ => None,
        };
        if let Some(id) = id {
            self.runs.cancel_request(&id);
            self.queue.cancel(&id, &self.outbox);
        }
    }

    /// Asks to be told of files that change.
    fn watch(&self) {
        if !self.client.watches_files {
            return;
        }
        let glob_pattern = GlobPattern::Pattern("**/*.remora".to_owned());
        let watchers = vec![FileSystemWatcher { glob_pattern, kind: None }];
        let options = DidChangeWatchedFilesRegistrationOptions { watchers };
        let registration = Registration {
            id: "remc-files".to_owned(),
            method: "workspace/didChangeWatchedFiles".to_owned(),
            register_options: serde_json::to_value(options).ok(),
        };
        self.outbox.ask::<RegistrationRequest>(RegistrationParams { registrations: vec![registration] });
    }
}
