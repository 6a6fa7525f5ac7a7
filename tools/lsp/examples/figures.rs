//! What an editor's session on a project of 1,000 lines costs: how long a client waits for each answer, and how much memory
//! the server has after many edits.
//!
//! ```text
//! cargo run --release -p remc-lsp --example figures                                  the server in this process
//! cargo run --release -p remc-lsp --example figures -- target/release/remc           `remc lsp`, over its pipes; runs too
//! … --edits 10000
//! ```
//!
//! An edit is a letter that is typed into a definition somewhere in the project, or taken back. What is then asked is about
//! the place where it was typed, as editors do. Each time is that from the moment before the client writes to the moment
//! after it has read. Beside it is how long the server's threads have run meanwhile: on a machine that does other things at
//! the same time, that alone says what an answer costs.

use lsp_server::{Connection, Message, Notification, Request};
use remc_lsp::{Failed, Program, Runner, Tools};
use serde_json::{Value, json};
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

const FILES: usize = 5;
/// Copies of [`PART`] in a file; five files of these are 1,000 lines.
const PARTS: usize = 7;

/// `@` is the number of the part, `<` that of the one before it.
const PART: &str = "\
; ---- part @ ----

; The items with a share of their sum.
; (shared-@ [1.0 2.0 3.0] 0.5) ⇒ [4.0 5.0 6.0]
(define (shared-@ [v [float n]] [share float])
  (let ((total (sum v)))
    (+ v (* total share))))

; Each row without its mean.
(define (centred-@ [m [float r c]])
  (let ((mean (λ ([row [float c]]) (/ (sum row) (int->float (length row))))))
    (- m (mean m))))

(define-type Range-@ (Record (low float) (high float)))

; How far the items of both are from each other, at most.
(define (distance-@ [a 1] [b 1])
  (reduce/zero max2 0.0 (abs (- (shared-< a 0.1) b))))

; How many of the items so far are above a limit.
(define (counted-@ [limit float] [v [float n]])
  (let ((above (select (> v limit) 1 0)))
    (iscan + above)))

(define table-@ [[1.0 2.0 3.0] [4.0 5.0 6.0]])

; (run-@ [1.0 2.0] 2.0) ⇒ 2.5
(entry (run-@ [xs [float n]] [k float])
  (distance-@ (shared-< xs k) (shared-@ (reverse xs) 2.0)))
";

/// Where letters are typed: behind one of these.
const PLACES: [&str; 5] = ["total share", "sum row", "shared-", "select (> v limit", "[1.0 2.0 3.0] [4.0"];

fn project() -> Vec<(String, String)> {
    let mut part = 0;
    let mut file = |nth: usize| {
        let mut text = format!("; File {nth} of the project.\n");
        if nth > 1 {
            text.push_str(&format!("(import \"file-{}.remora\")\n", nth - 1));
        }
        for _ in 0..PARTS {
            let before = if part == 0 { 0 } else { part - 1 };
            text.push('\n');
            text.push_str(&PART.replace('@', &part.to_string()).replace('<', &before.to_string()));
            part += 1;
        }
        text.push_str(&format!("\n(centred-{} table-{})\n", part - 1, part - 1));
        (format!("file-{nth}.remora"), text)
    };
    (1..=FILES).map(&mut file).collect()
}

/// Nothing runs where no program is named.
struct Nothing;

impl Runner for Nothing {
    fn run(&mut self, _: &Program, _: &AtomicBool) -> Result<String, Failed> {
        Err(Failed::Cancelled)
    }

    fn explain(&mut self, _: &Program, _: &AtomicBool) -> Result<String, Failed> {
        Err(Failed::Cancelled)
    }
}

fn main() {
    let mut edits = 10_000;
    let mut program = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--edits" => edits = arguments.next().and_then(|n| n.parse().ok()).unwrap_or(edits),
            _ => program = Some(argument),
        }
    }
    let folder = tempfile::tempdir().expect("a folder");
    let files = project();
    let lines: usize = files.iter().map(|(_, text)| text.lines().count()).sum();
    for (name, text) in &files {
        std::fs::write(folder.path().join(name), text).expect("a file");
    }
    let (connection, child) = match &program {
        Some(program) => over_pipes(program),
        None => (in_memory(), None),
    };
    let process = child.as_ref().map_or(std::process::id(), Child::id);
    println!("{lines} lines in {FILES} files, {}", program.as_deref().unwrap_or("in memory"));
    let mut session = Session::new(connection, process, folder.path(), &files);
    session.first();
    session.type_everywhere(edits.min(1000));
    session.pushed(100);
    if program.is_some() {
        session.run();
    }
    session.print();
    println!("memory  {:>7.1} MB at the beginning", megabytes(process));
    session.type_only(edits);
    println!("memory  {:>7.1} MB after {edits} more edits", megabytes(process));
    session.end();
    if let Some(mut child) = child {
        let ended = child.wait().expect("an end");
        assert!(ended.success(), "{ended}");
    }
}

fn in_memory() -> Connection {
    let (server, client) = Connection::memory();
    let tools = Tools { runner: Box::new(Nothing), explanation: |_| None, version: "0" };
    std::thread::spawn(move || remc_lsp::serve(&server, tools));
    client
}

fn over_pipes(program: &str) -> (Connection, Option<Child>) {
    let mut child = Command::new(program)
        .arg("lsp")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{program}: {e}"));
    let (stdin, stdout) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
    let (sender, to_write) = crossbeam_channel::unbounded::<Message>();
    let (read, receiver) = crossbeam_channel::unbounded::<Message>();
    std::thread::spawn(move || {
        let mut stdin = BufWriter::new(stdin);
        to_write.iter().all(|message| message.write(&mut stdin).is_ok())
    });
    std::thread::spawn(move || {
        let mut stdout = BufReader::new(stdout);
        while let Ok(Some(message)) = Message::read(&mut stdout) {
            if read.send(message).is_err() {
                break;
            }
        }
    });
    (Connection { sender, receiver }, Some(child))
}

/// What a process has in memory.
fn megabytes(process: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse::<f64>().unwrap_or(f64::NAN) / 1024.0
}

/// How long the threads of a process have run.
fn ran(process: u32) -> Duration {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let of = |task: std::fs::DirEntry| -> Option<u64> {
        let text = std::fs::read_to_string(task.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse().ok()
    };
    Duration::from_nanos(tasks.filter_map(of).sum())
}

struct Document {
    uri: String,
    text: String,
    version: i32,
}

struct Session {
    connection: Connection,
    documents: Vec<Document>,
    next: i32,
    seed: u64,
    process: u32,
    /// Of each kind of answer, how long the client waited, and how long the server ran.
    times: Vec<(&'static str, Vec<Duration>, Vec<Duration>)>,
}

impl Session {
    fn new(connection: Connection, process: u32, folder: &Path, files: &[(String, String)]) -> Session {
        let document = |(name, text): &(String, String)| Document {
            uri: format!("file://{}", folder.join(name).display()),
            text: text.clone(),
            version: 1,
        };
        let documents = files.iter().map(document).collect();
        let mut session =
            Session { connection, documents, next: 0, seed: 0x9e37_79b9, process, times: Vec::new() };
        let folders = json!([{ "uri": format!("file://{}", folder.display()), "name": "project" }]);
        session.ask("initialize", json!({ "capabilities": capabilities(), "workspaceFolders": folders, "initializationOptions": { "showsResults": true } }));
        session.notify("initialized", json!({}));
        for d in 0..session.documents.len() {
            let Document { uri, text, .. } = &session.documents[d];
            let item = json!({ "uri": uri, "languageId": "remora", "version": 1, "text": text });
            session.notify("textDocument/didOpen", json!({ "textDocument": item }));
        }
        session
    }

    fn below(&mut self, n: usize) -> usize {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        (self.seed % n as u64) as usize
    }

    fn notify(&mut self, method: &str, params: Value) {
        let notification = Notification { method: method.to_owned(), params };
        self.connection.sender.send(notification.into()).expect("a server");
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let request = Request { id: self.next.into(), method: method.to_owned(), params };
        self.connection.sender.send(request.into()).expect("a server");
        loop {
            if let Message::Response(answer) = self.connection.receiver.recv().expect("an answer")
                && answer.id == self.next.into()
            {
                return answer.response_result.unwrap_or_else(|e| panic!("{method}: {}", e.message));
            }
        }
    }

    fn time<T>(&mut self, what: &'static str, of: impl FnOnce(&mut Session) -> T) -> T {
        let (ran_before, start) = (ran(self.process), Instant::now());
        let result = of(self);
        let (waited, worked) = (start.elapsed(), ran(self.process).saturating_sub(ran_before));
        match self.times.iter_mut().find(|(kind, ..)| *kind == what) {
            Some((_, all, work)) => {
                all.push(waited);
                work.push(worked);
            }
            None => self.times.push((what, vec![waited], vec![worked])),
        }
        result
    }

    fn diagnostics(&mut self, d: usize) -> Value {
        let uri = self.documents[d].uri.clone();
        self.ask("textDocument/diagnostic", json!({ "textDocument": { "uri": uri } }))
    }

    /// The answers to whoever has just opened the project.
    fn first(&mut self) {
        for d in (0..self.documents.len()).rev() {
            let found = self.time("diagnostics of a file that is opened", |s| s.diagnostics(d));
            assert_eq!(found["items"], json!([]), "the project is in order");
        }
    }

    /// A place where somebody types: the document and the byte.
    fn place(&mut self) -> (usize, usize) {
        let d = self.below(self.documents.len());
        let place = PLACES[self.below(PLACES.len())];
        let all: Vec<usize> = self.documents[d].text.match_indices(place).map(|(at, _)| at).collect();
        (d, all[self.below(all.len())] + place.len())
    }

    fn replace(&mut self, d: usize, at: usize, length: usize, new: &str) {
        let document = &mut self.documents[d];
        document.version += 1;
        let range =
            json!({ "start": position(&document.text, at), "end": position(&document.text, at + length) });
        document.text.replace_range(at..at + length, new);
        let params = json!({
            "textDocument": { "uri": document.uri, "version": document.version },
            "contentChanges": [{ "range": range, "text": new }],
        });
        self.notify("textDocument/didChange", params);
    }

    /// A letter is typed, and taken back; after each, what editors ask is asked.
    fn type_everywhere(&mut self, edits: usize) {
        for edit in 0..edits / 2 {
            let (d, at) = self.place();
            let letter = ["x", "1", " ", "("][edit % 4];
            self.time("an edit to its diagnostics", |s| {
                s.replace(d, at, 0, letter);
                s.diagnostics(d)
            });
            self.asked(d, at + 1);
            self.time("an edit to its diagnostics", |s| {
                s.replace(d, at, 1, "");
                s.diagnostics(d)
            });
            self.asked(d, at);
        }
    }

    fn asked(&mut self, d: usize, at: usize) {
        let Document { uri, text, .. } = &self.documents[d];
        let (document, here) = (json!({ "uri": uri }), position(text, at));
        let line = here["line"].as_u64().unwrap_or(0);
        let line_at = |line: u64| json!({ "line": line, "character": 0 });
        let screen = json!({ "start": line_at(line.saturating_sub(25)), "end": line_at(line + 25) });
        let of_place = json!({ "textDocument": document, "position": here });
        self.time("hover", |s| s.ask("textDocument/hover", of_place.clone()));
        self.time("completion", |s| s.ask("textDocument/completion", of_place.clone()));
        self.time("signature help", |s| s.ask("textDocument/signatureHelp", of_place.clone()));
        self.time("definition", |s| s.ask("textDocument/definition", of_place.clone()));
        self.time("highlights", |s| s.ask("textDocument/documentHighlight", of_place.clone()));
        let of_screen = json!({ "textDocument": document, "range": screen });
        self.time("inlay hints of a screen", |s| s.ask("textDocument/inlayHint", of_screen.clone()));
        let of_document = json!({ "textDocument": document });
        self.time("semantic tokens", |s| s.ask("textDocument/semanticTokens/full", of_document.clone()));
        self.time("symbols", |s| s.ask("textDocument/documentSymbol", of_document.clone()));
        self.time("code lenses", |s| s.ask("textDocument/codeLens", of_document.clone()));
        let actions = json!({ "textDocument": document, "range": { "start": here, "end": here }, "context": { "diagnostics": [] } });
        self.time("code actions", |s| s.ask("textDocument/codeAction", actions));
        let mut references = of_place;
        references["context"] = json!({ "includeDeclaration": true });
        self.time("references", |s| s.ask("textDocument/references", references));
    }

    /// The signature of a definition of the first file changes, on which all others depend through others.
    fn pushed(&mut self, edits: usize) {
        let last = self.documents.len() - 1;
        for _ in 0..edits {
            let part = self.below(PARTS);
            let name = format!("(shared-{part} [v [float n]]");
            let at = self.documents[0].text.find(&name).expect("the definition") + name.len() - 9;

            self.time("a type changes, to the diagnostics of all files", |s| {
                s.replace(0, at, 5, "int");
                (0..=last).for_each(|d| drop(s.diagnostics(d)));
            });
            self.time("a type changes, to the diagnostics of all files", |s| {
                s.replace(0, at, 3, "float");
                (0..=last).for_each(|d| drop(s.diagnostics(d)));
            });
        }
    }

    /// Nothing but edits and their diagnostics.
    fn type_only(&mut self, edits: usize) {
        for _ in 0..edits / 2 {
            let (d, at) = self.place();
            self.replace(d, at, 0, "x");
            self.diagnostics(d);
            self.replace(d, at, 1, "");
            self.diagnostics(d);
        }
    }

    /// An entry is run, while definitions change that it does not reach, and that it does.
    fn run(&mut self) {
        let last = self.documents.len() - 1;
        let entry = FILES * PARTS - 1;
        let uri = self.documents[last].uri.clone();
        let run = |s: &mut Session, what| {
            let arguments = json!([uri, format!("run-{entry}")]);
            let ran = s.time(what, |s| {
                s.ask("workspace/executeCommand", json!({ "command": "remc.run", "arguments": arguments }))
            });
            assert_eq!(ran.get("failed"), None, "{ran}");
        };
        run(self, "the first run of an entry");
        for _ in 0..20 {
            let other = format!("(define table-{}", entry - 1);
            let at = self.documents[last].text.find(&other).expect("a definition") + other.len() + 3;
            self.replace(last, at, 1, "7");
            run(self, "a run after an edit that it does not reach");
            self.replace(last, at, 1, "1");
            run(self, "a run after an edit that it does not reach");
        }
        for n in 0..5 {
            let mine = format!("(shared-{entry} (reverse xs) ");
            let at = self.documents[last].text.find(&mine).expect("the entry") + mine.len();
            self.replace(last, at, 1, &(n + 3).to_string());
            run(self, "a run after an edit of its own");
        }
    }

    fn print(&mut self) {
        println!("{:^29} {:^20}", "waited", "of that, work");
        println!(
            "{:>8} {:>10} {:>9}  {:>8} {:>11} {:>6}",
            "median", "95 %", "worst", "median", "worst", "times"
        );
        for (what, waited, worked) in &mut self.times {
            waited.sort();
            worked.sort();
            let at = |all: &[Duration], share: f64| {
                all[((all.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3
            };
            let (median, most, worst) = (at(waited, 0.5), at(waited, 0.95), at(waited, 1.0));
            let (work, worst_work) = (at(worked, 0.5), at(worked, 1.0));
            println!(
                "{median:>5.2} ms {most:>7.2} ms {worst:>6.2} ms {work:>6.2} ms {worst_work:>8.2} ms {:>6}  {what}",
                waited.len()
            );
        }
    }

    fn end(mut self) {
        self.ask("shutdown", Value::Null);
        self.notify("exit", Value::Null);
    }
}

fn capabilities() -> Value {
    json!({
        "general": { "positionEncodings": ["utf-8"] },
        "textDocument": {
            "diagnostic": {},
            "hover": { "contentFormat": ["markdown"] },
            "completion": { "completionItem": {
                "snippetSupport": true,
                "resolveSupport": { "properties": ["documentation"] },
            } },
        },
    })
}

/// A position in bytes.
fn position(text: &str, at: usize) -> Value {
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|b| **b == b'\n').count();
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    json!({ "line": line, "character": at - start })
}
