//! `remc lsp` as an editor starts it: over pipes, with the devices behind its lenses. What the server answers beside that is
//! tested in `tools/lsp`.

use lsp_server::{Message, Notification, Request};
use serde_json::{Value, json};
use std::io::{BufReader, BufWriter};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

struct Server {
    child: Child,
    stdin: Option<BufWriter<ChildStdin>>,
    stdout: BufReader<ChildStdout>,
    next: i32,
    /// The edits that it has asked the client to make.
    edits: Vec<Value>,
}

impl Server {
    fn new(arguments: &[&str]) -> Server {
        let mut child = Command::new(env!("CARGO_BIN_EXE_remc"))
            .arg("lsp")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("remc");
        let stdin = child.stdin.take().map(BufWriter::new);
        let stdout = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut server = Server { child, stdin, stdout, next: 0, edits: Vec::new() };
        let options = json!({ "showsResults": true });
        server.ask("initialize", json!({ "capabilities": {}, "initializationOptions": options })).unwrap();
        server.notify("initialized", json!({}));
        server
    }

    fn write(&mut self, message: Message) {
        message.write(self.stdin.as_mut().expect("a pipe")).expect("a server");
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.write(Notification { method: method.to_owned(), params }.into());
    }

    fn ask(&mut self, method: &str, params: Value) -> Result<Value, String> {
        self.next += 1;
        self.write(Request { id: self.next.into(), method: method.to_owned(), params }.into());
        loop {
            match Message::read(&mut self.stdout).expect("a message").expect("an answer") {
                Message::Response(r) if r.id == self.next.into() => {
                    return r.response_result.map_err(|e| e.message);
                }
                Message::Request(r) if r.method == "workspace/applyEdit" => self.edits.push(r.params),
                _ => {}
            }
        }
    }

    fn open(&mut self, path: &Path, text: &str) -> String {
        let uri = format!("file://{}", path.display());
        let item = json!({ "uri": uri, "languageId": "remora", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": item }));
        uri
    }

    fn command(&mut self, command: &str, arguments: Value) -> Result<Value, String> {
        self.ask("workspace/executeCommand", json!({ "command": command, "arguments": arguments }))
    }

    /// The value of a definition, or what is said in its place.
    fn run(&mut self, uri: &str, name: &str) -> String {
        let ran = self.command("remc.run", json!([uri, name])).unwrap_or_else(|said| json!({ "text": said }));
        ran["text"].as_str().unwrap_or_else(|| panic!("{ran}")).to_owned()
    }

    fn end(mut self) {
        self.ask("shutdown", Value::Null).unwrap();
        self.notify("exit", Value::Null);
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

/// It is read from the editor, though no such file was ever saved; so is what it imports.
#[test]
fn lenses_run_what_the_editor_has() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::new(&["--stdio"]);
    server.open(&folder.path().join("lib.remora"), "(define (twice [x 0]) (* x 2))");
    let text = "\
(import \"lib.remora\")

; Scales.
; (scaled 3 [1 2 3]) ⇒ [3 6 9]
(entry (scaled [k int] [xs [int n]]) (* k xs))

(entry (plain) (twice 21))
(iota [2 3])
(iota [3000])
(index-item [1 2 3] [5])
(entry (without [x int]) x)
";
    let uri = server.open(&folder.path().join("main.remora"), text);
    assert_eq!(server.run(&uri, "scaled"), "[3 6 9]", "with the inputs of its comment");
    assert_eq!(server.run(&uri, "plain"), "42");
    assert_eq!(server.run(&uri, "#expr0"), "[[0 1 2] [3 4 5]]");
    let long = server.run(&uri, "#expr1");
    assert!(long.starts_with("[0 1 2 ") && long.ends_with(" 999 …]"), "{long}");
    let stopped = server.run(&uri, "#expr2");
    assert!(stopped.contains("main.remora:10:1: error[R0001]"), "{stopped}");
    assert!(server.run(&uri, "without").contains("takes inputs"));
    // The library changes and is not saved.
    let lib = format!("file://{}", folder.path().join("lib.remora").display());
    let change = json!({ "textDocument": { "uri": lib, "version": 2 }, "contentChanges": [{ "text": "(define (twice [x 0]) (* x 3))" }] });
    server.notify("textDocument/didChange", change);
    assert_eq!(server.run(&uri, "plain"), "63");
    let explained = server.command("remc.explainPerformance", json!([uri, "scaled"])).unwrap();
    assert!(explained["text"].as_str().unwrap().contains("scaled"), "{explained}");
    server.end();
}

#[test]
fn claims_are_compared_with_values() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::new(&[]);
    let text = "\
; (next 1) ⇒ 2
; (next [1 2]) ⇒ [2 4]
(define (next x) (+ x 1))
(iota [4])                ; ⇒ [0 1 …]
(index-item [1 2 3] [5])  ; ⇒ error R0001
(+ [1 2] [1 2 3])         ; ⇒ error E0301
(next #t)                 ; ⇒ 2
(iota [300])              ; ⇒
";
    let uri = server.open(&folder.path().join("main.remora"), text);
    let found = server.command("remc.checkValues", json!([uri])).unwrap();
    assert_eq!(found["text"], "4 hold, 3 do not", "{found}");
    let filled = server.command("remc.fillValue", json!([uri, "(iota [300])", 0])).unwrap();
    assert!(filled["text"].as_str().unwrap().ends_with(" 199 …]"), "{filled}");
    server.ask("textDocument/documentSymbol", json!({ "textDocument": { "uri": uri } })).unwrap();
    let edit = &server.edits[0]["edit"]["changes"][uri.as_str()][0];
    assert!(edit["newText"].as_str().unwrap().starts_with(" [0 1 2 3 "), "{edit}");
    server.end();
}

/// What is not compiled is interpreted in a process of its own.
#[test]
fn what_is_not_compiled_is_interpreted() {
    let folder = tempfile::tempdir().unwrap();
    let mut server = Server::new(&[]);
    let grown = "((iterate (sum (index-item [1 2 3] (iota [2]))) (λ ([f (→ (int) int)]) (λ ([y int]) (f (+ y one)))) add1) 10)";
    let text = &format!("(import \"lib.remora\")\n(entry (grown) {grown})\n{grown}\n(+ 1 2)\n");
    std::fs::write(folder.path().join("lib.remora"), "(define one 1)").unwrap();
    let uri = server.open(&folder.path().join("main.remora"), text);
    assert_eq!(server.run(&uri, "grown"), "14");
    assert_eq!(server.run(&uri, "#expr0"), "14");
    // It sees files alone.
    server.open(&folder.path().join("lib.remora"), "(define one 2)");
    let said = server.run(&uri, "grown");
    assert!(said.contains("lib.remora` as a file: save it"), "{said}");
    std::fs::write(folder.path().join("lib.remora"), "(define one 2)").unwrap();
    assert_eq!(server.run(&uri, "grown"), "17");
    server.end();
}

/// Without a word, it ends, as the protocol wants it.
#[test]
fn it_ends_when_the_editor_is_gone() {
    let mut server = Server::new(&[]);
    server.stdin = None;
    assert_eq!(server.child.wait().unwrap().code(), Some(1));
}
