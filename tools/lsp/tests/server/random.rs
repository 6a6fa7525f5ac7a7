//! Random edits: nothing brings the server down, and what it says is what a server says that sees the text for the first
//! time.

use crate::client::Client;
use serde_json::{Value, json};

/// `REMC_LSP_EDITS` asks for more.
const EDITS: usize = 3000;

/// Numbers that are the same every time (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}

const LIB: &str = "\
; ---- a library ----

; Scales.
; (scale [1 2]) ⇒ [2 4]
(define (scale [x 0]) (* x 2))
(define (shift [x 0]) (+ x 1))
(define-type Pair (Record (a int) (b float)))
(define (rows [m [float n k]]) (sum m))
(define λ𝄞 [1 2 3])
";
const MAIN: &str = "\
(import \"lib.remora\")
(define (both [x 0]) (scale (shift x)))
(entry (main [xs [int n]] [k int]) (+ (both xs) k))
(let ((y (iota [3])) (s \"αβ\")) (reduce + (both y))) ; ⇒ 5
";
const PIECES: [&str; 40] = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    "((",
    "))",
    " ",
    "\n",
    "\r\n",
    "; ",
    "\"",
    "λ",
    "𝄞",
    "é",
    "|",
    "~(1)",
    "#|",
    "|#",
    "define",
    "entry",
    "(define (f x) x)",
    "(let ((a 1)) a)",
    "import",
    "\"lib.remora\"",
    "int",
    "float",
    "scale",
    "shift",
    "both",
    "1",
    "2.5",
    "[1 2 3]",
    "[[1 2] [3 4]]",
    "(+ 1 2)",
    "(map (λ (x) x) [1])",
    "sum",
    "x",
    "\u{202e}",
];

/// The byte at or before a place that begins a character.
fn floor(text: &str, mut at: usize) -> usize {
    at = at.min(text.len());
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// A position in bytes, which may be within a character or behind the end of its line.
fn position(text: &str, at: usize) -> Value {
    let before = &text.as_bytes()[..at];
    let line = before.iter().filter(|b| **b == b'\n').count();
    let start = before.iter().rposition(|b| *b == b'\n').map_or(0, |i| i + 1);
    json!({ "line": line, "character": at - start })
}

/// Where that position is taken to be: a character's start, the end of a line without its `\r\n`.
fn taken(text: &str, at: usize) -> usize {
    let at = floor(text, at);
    if text[at..].starts_with('\n') && text[..at].ends_with('\r') { at - 1 } else { at }
}

#[test]
fn random_edits() {
    let edits = std::env::var("REMC_LSP_EDITS").ok().and_then(|n| n.parse().ok()).unwrap_or(EDITS);
    let folder = tempfile::tempdir().unwrap();
    let paths = ["main.remora", "lib.remora"].map(|name| folder.path().join(name));
    let uris = paths.each_ref().map(|p| format!("file://{}", p.display()));
    let originals = [MAIN, LIB];
    let mut texts = originals.map(str::to_owned);
    for (path, text) in paths.iter().zip(&texts) {
        std::fs::write(path, text).unwrap();
    }
    let capabilities =
        json!({ "general": { "positionEncodings": ["utf-8"] }, "textDocument": { "diagnostic": {} } });
    let start = || Client::new(capabilities.clone());
    let mut client = start();
    for (uri, text) in uris.iter().zip(&texts) {
        client.open(uri, text);
    }
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut version = 1;
    for edit in 1..=edits {
        let which = numbers.below(5).min(1);
        let (text, uri) = (&mut texts[which], &uris[which]);
        let mut changes = Vec::new();
        for _ in 0..=numbers.below(3) {
            // From time to time all is well again.
            if numbers.below(40) == 0 || text.len() > 4000 {
                originals[which].clone_into(text);
                changes.push(json!({ "text": text.as_str() }));
                continue;
            }
            let start = numbers.below(text.len() + 1);
            let length = if numbers.below(2) == 0 { 0 } else { numbers.below(12) };
            let end = (start + length).min(text.len());
            let new = *numbers.pick(&PIECES);
            let range = json!({ "start": position(text, start), "end": position(text, end) });
            changes.push(json!({ "range": range, "text": new }));
            let (start, end) = (taken(text, start), taken(text, end));
            text.replace_range(start.min(end)..end.max(start), new);
        }
        version += 1;
        client.change(uri, version, Value::Array(changes));
        let at = numbers.below(text.len() + 1);
        ask(&mut client, &mut numbers, uri, position(text, at), position(text, at.saturating_sub(300)));
        if edit % 100 == 0 {
            let mut cold = start();
            for (uri, text) in uris.iter().zip(&texts).rev() {
                cold.open(uri, text);
            }
            for uri in &uris {
                assert_eq!(
                    found(&mut client, uri),
                    found(&mut cold, uri),
                    "after {edit} edits of\n{}\n----\n{}",
                    texts[0],
                    texts[1]
                );
            }
        }
    }
}

/// The diagnostics of a document, but for where the pages about them are.
fn found(client: &mut Client, uri: &str) -> Value {
    let mut found = client.pull(uri);
    for d in found.as_array_mut().into_iter().flatten() {
        d.as_object_mut().map(|d| d.remove("codeDescription"));
    }
    found
}

/// Asks one thing; whatever it is, the answer is no mistake of the server's.
fn ask(client: &mut Client, numbers: &mut Numbers, uri: &str, at: Value, before: Value) {
    let document = json!({ "uri": uri });
    let range = json!({ "start": before, "end": at });
    let of_place =
        ["hover", "definition", "documentHighlight", "prepareRename", "completion", "signatureHelp"];
    let of_document = ["documentSymbol", "foldingRange", "codeLens", "semanticTokens/full", "diagnostic"];
    let (method, params) = match numbers.below(16) {
        n @ 0..=5 => (of_place[n], json!({ "textDocument": document, "position": at })),
        n @ 6..=10 => (of_document[n - 6], json!({ "textDocument": document })),
        11 => ("inlayHint", json!({ "textDocument": document, "range": range })),
        12 => ("semanticTokens/range", json!({ "textDocument": document, "range": range })),
        13 => (
            "codeAction",
            json!({ "textDocument": document, "range": range, "context": { "diagnostics": [] } }),
        ),
        14 => ("selectionRange", json!({ "textDocument": document, "positions": [at] })),
        _ => {
            let options = json!({ "tabSize": 2, "insertSpaces": true });
            (
                "onTypeFormatting",
                json!({ "textDocument": document, "position": at, "ch": ")", "options": options }),
            )
        }
    };
    let answer = client.ask(&format!("textDocument/{method}"), params);
    if let Err((code, said)) = answer {
        assert_eq!(code, lsp_server::ErrorCode::RequestFailed as i32, "{method}: {said}");
    }
}
