//! A client of the server, in memory: it asks, it listens, and it fails if something was said that nobody claimed.

use lsp_server::{Connection, Message, Notification, Request, RequestId, Response};
use remc_lsp::{Failed, Problem, Program, Runner, Served, Tools, What};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Longer than anything takes on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Client {
    connection: Connection,
    server: Option<JoinHandle<Served>>,
    next: i32,
    /// What the server has said of its own accord, and nobody has claimed.
    unclaimed: Vec<Message>,
    /// Methods that are of no interest.
    ignored: Vec<&'static str>,
    pub capabilities: Value,
}

/// Says what it was given, in place of running it; a form it can add up.
pub struct Echo;

impl Runner for Echo {
    fn run(&mut self, p: &Program, stop: &AtomicBool) -> Result<String, Failed> {
        let what = match &p.what {
            What::Definition(name) => name.clone(),
            What::Expression(source) => source.clone(),
            What::Form(at) => {
                let form = &p.text[*at as usize..];
                form[..form.find(')').map_or(form.len(), |end| end + 1)].to_owned()
            }
        };
        if what.contains("forever") {
            while !stop.load(Ordering::Relaxed) {
                std::thread::sleep(Duration::from_millis(1));
            }
            return Err(Failed::Cancelled);
        }
        if what.contains("stops") {
            return Err(Failed::Problems(vec![Problem {
                text: "it stopped\n".to_owned(),
                code: "R0001".into(),
            }]));
        }
        if what.contains("late") {
            return Err(Failed::Over(format!("ended after {} seconds", p.limit.as_secs())));
        }
        if what.contains("panics") {
            panic!("the runner is wrong");
        }
        if let What::Form(_) = p.what {
            let numbers = what.split([' ', '(', ')']).filter_map(|word| word.parse::<i64>().ok());
            return Ok(numbers.sum::<i64>().to_string());
        }
        let buffers: Vec<String> =
            p.buffers.iter().map(|(path, text)| format!(" {}: {text}", path.display())).collect();
        Ok(format!("{what} of {} bytes{}", p.text.len(), buffers.concat()))
    }

    fn explain(&mut self, p: &Program, _: &AtomicBool) -> Result<String, Failed> {
        match &p.what {
            What::Definition(name) => Ok(format!("{name} costs nothing")),
            _ => Err(Failed::Problems(vec![])),
        }
    }
}

impl Client {
    /// A client that can do this, and the server that it talks to.
    pub fn new(capabilities: Value) -> Client {
        Client::start(json!({ "capabilities": capabilities }))
    }

    pub fn start(params: Value) -> Client {
        let mut client = Client::silent();
        let result = client.request("initialize", params);
        client.capabilities = result["capabilities"].clone();
        client.notify("initialized", json!({}));
        client
    }

    /// One that has said nothing yet.
    pub fn silent() -> Client {
        let (server, connection) = Connection::memory();
        let explanation = |code: &str| Some(format!("# {code}\n"));
        let work =
            move || remc_lsp::serve(&server, Tools { runner: Box::new(Echo), explanation, version: "0" });
        let server = Some(std::thread::spawn(work));
        Client {
            connection,
            server,
            next: 0,
            unclaimed: Vec::new(),
            ignored: vec!["$/progress", "window/workDoneProgress/create"],
            capabilities: Value::Null,
        }
    }

    /// What this method says is of no interest.
    pub fn ignore(mut self, method: &'static str) -> Client {
        self.ignored.push(method);
        self
    }

    /// Asks, and waits for the result.
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, params).unwrap_or_else(|(code, said)| panic!("{method}: {code} {said}"))
    }

    /// Asks, and waits for the result or for the code and sentence of an error.
    pub fn ask(&mut self, method: &str, params: Value) -> Result<Value, (i32, String)> {
        let id = self.send(method, params);
        self.answer(&id)
    }

    pub fn send(&mut self, method: &str, params: Value) -> RequestId {
        self.next += 1;
        let id = RequestId::from(self.next);
        let request = Request { id: id.clone(), method: method.to_owned(), params };
        self.connection.sender.send(request.into()).expect("a server");
        id
    }

    /// The answer to what was sent.
    pub fn answer(&mut self, id: &RequestId) -> Result<Value, (i32, String)> {
        let is_it = |m: &Message| matches!(m, Message::Response(r) if r.id == *id);
        match self.claim(is_it) {
            Message::Response(r) => r.response_result.map_err(|e| (e.code, e.message)),
            _ => unreachable!(),
        }
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let notification = Notification { method: method.to_owned(), params };
        self.connection.sender.send(notification.into()).expect("a server");
    }

    /// What the server says or asks by this method, next.
    pub fn said(&mut self, method: &str) -> Value {
        let message = self.claim(|m| match m {
            Message::Notification(n) => n.method == method,
            Message::Request(r) => r.method == method,
            Message::Response(_) => false,
        });
        match message {
            Message::Notification(n) => n.params,
            Message::Request(r) => {
                self.connection.sender.send(Response::new_ok(r.id, Value::Null).into()).expect("a server");
                r.params
            }
            Message::Response(_) => unreachable!(),
        }
    }

    fn claim(&mut self, is_it: impl Fn(&Message) -> bool) -> Message {
        if let Some(at) = self.unclaimed.iter().position(&is_it) {
            return self.unclaimed.remove(at);
        }
        loop {
            let message =
                self.connection.receiver.recv_timeout(PATIENCE).unwrap_or_else(|e| {
                    panic!("the server says nothing ({e}); unclaimed: {:?}", self.unclaimed)
                });
            let method = match &message {
                Message::Notification(n) => n.method.as_str(),
                Message::Request(r) => r.method.as_str(),
                Message::Response(_) => "",
            };
            if is_it(&message) {
                return message;
            }
            if !self.ignored.contains(&method) {
                self.unclaimed.push(message);
            }
        }
    }

    pub fn open(&mut self, uri: &str, text: &str) {
        let document = json!({ "uri": uri, "languageId": "remora", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    /// Replaces the whole text.
    pub fn replace(&mut self, uri: &str, version: i32, text: &str) {
        self.change(uri, version, json!([{ "text": text }]));
    }

    pub fn change(&mut self, uri: &str, version: i32, changes: Value) {
        let document = json!({ "uri": uri, "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    pub fn close(&mut self, uri: &str) {
        self.notify("textDocument/didClose", json!({ "textDocument": { "uri": uri } }));
    }

    /// The messages of the diagnostics of a document, as they are told next.
    pub fn told(&mut self, uri: &str) -> Vec<String> {
        messages(&self.told_diagnostics(uri))
    }

    pub fn told_diagnostics(&mut self, uri: &str) -> Value {
        let message = self.claim(|m| match m {
            Message::Notification(n) => {
                n.method == "textDocument/publishDiagnostics" && n.params["uri"] == uri
            }
            _ => false,
        });
        match message {
            Message::Notification(n) => n.params["diagnostics"].clone(),
            _ => unreachable!(),
        }
    }

    /// Asks for the diagnostics of a document.
    pub fn pull(&mut self, uri: &str) -> Value {
        let report = self.request("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }));
        report["items"].clone()
    }

    /// Asks something about a place of a document.
    pub fn at(&mut self, method: &str, uri: &str, at: Value) -> Value {
        self.request(method, json!({ "textDocument": { "uri": uri }, "position": at }))
    }

    /// Asks something about a document.
    pub fn of(&mut self, method: &str, uri: &str) -> Value {
        self.request(method, json!({ "textDocument": { "uri": uri } }))
    }

    pub fn shutdown(&mut self) {
        self.request("shutdown", Value::Null);
        self.notify("exit", Value::Null);
        let served = self.server.take().expect("a server").join().expect("a server without a panic");
        assert_eq!(served, Served::Orderly);
    }

    /// Ends without a word.
    pub fn served(mut self) -> Served {
        let server = self.server.take().expect("a server");
        self.unclaimed.clear();
        let (_, nobody) = crossbeam_channel::unbounded();
        self.connection.receiver = nobody;
        let (gone, _) = crossbeam_channel::unbounded();
        self.connection.sender = gone;
        server.join().expect("a server without a panic")
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if self.server.is_some() {
            self.shutdown();
        }
        let ignored = |m: &Message| match m {
            Message::Notification(n) => self.ignored.contains(&n.method.as_str()),
            Message::Request(r) => self.ignored.contains(&r.method.as_str()),
            Message::Response(_) => false,
        };
        let rest: Vec<Message> = self.connection.receiver.try_iter().filter(|m| !ignored(m)).collect();
        assert!(self.unclaimed.is_empty() && rest.is_empty(), "unclaimed: {:?} {rest:?}", self.unclaimed);
    }
}

pub fn messages(diagnostics: &Value) -> Vec<String> {
    let all = diagnostics.as_array().into_iter().flatten();
    let first =
        |d: &Value| d["message"].as_str().unwrap_or_default().lines().next().unwrap_or_default().to_owned();
    all.map(first).collect()
}

/// Where a part of a text begins, in 16-bit units.
pub fn place(text: &str, part: &str) -> Value {
    let at = text.find(part).unwrap_or_else(|| panic!("`{part}` is not in\n{text}"));
    position(text, at)
}

pub fn position(text: &str, at: usize) -> Value {
    let before = &text[..at];
    let line = before.matches('\n').count();
    let column = before.rsplit('\n').next().unwrap_or_default().encode_utf16().count();
    json!({ "line": line, "character": column })
}

/// The whole text, or more.
pub fn whole() -> Value {
    json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 1_000_000, "character": 0 } })
}

/// A text after edits of the protocol, none of which overlap, in 16-bit units.
pub fn edited(text: &str, edits: &Value) -> String {
    let offset = |p: &Value| {
        let line: usize =
            text.split_inclusive('\n').take(p["line"].as_u64().unwrap_or(0) as usize).map(str::len).sum();
        let mut column = p["character"].as_u64().unwrap_or(0) as usize;
        let mut at = line;
        for c in text[line..].chars() {
            if column == 0 {
                break;
            }
            column -= c.len_utf16();
            at += c.len_utf8();
        }
        at
    };
    let mut all: Vec<(usize, usize, String)> = edits
        .as_array()
        .into_iter()
        .flatten()
        .map(|e| {
            let text = e["newText"].as_str().unwrap_or_default().to_owned();
            (offset(&e["range"]["start"]), offset(&e["range"]["end"]), text)
        })
        .collect();
    all.sort();
    let mut out = text.to_owned();
    for (start, end, new) in all.into_iter().rev() {
        out.replace_range(start..end, &new);
    }
    out
}

impl Client {
    /// What is said of progress, next, whether it is of interest or not.
    pub fn progress(&mut self) -> Value {
        self.ignored.retain(|method| *method != "$/progress");
        let said = self.said("$/progress");
        self.ignored.push("$/progress");
        said
    }
}
