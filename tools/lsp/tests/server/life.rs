//! Beginning and end, what is asked wrongly, and what nobody wants any more.

use crate::client::{Client, messages, place, whole};
use lsp_server::{ErrorCode, RequestId};
use remc_lsp::Served;
use serde_json::{Value, json};

const URI: &str = "untitled:Untitled-1";

fn code(code: ErrorCode) -> i32 {
    code as i32
}

#[test]
fn before_the_beginning_and_after_the_end_nothing_is_answered() {
    let mut client = Client::silent();
    let refused = client.ask("textDocument/hover", json!({}));
    assert_eq!(refused.unwrap_err().0, code(ErrorCode::ServerNotInitialized));
    client.request("initialize", json!({ "capabilities": {} }));
    // Some clients say more before they say that they have begun.
    client.notify("$/setTrace", json!({ "value": "off" }));
    client.notify("initialized", json!({}));
    client.open(URI, "(+ 1 2)");
    assert_eq!(client.told(URI), [""; 0]);
    client.request("shutdown", Value::Null);
    let refused = client.ask("textDocument/hover", json!({}));
    assert_eq!(refused.unwrap_err().0, code(ErrorCode::InvalidRequest));
    assert_eq!(
        {
            client.notify("exit", Value::Null);
            client.served()
        },
        Served::Orderly
    );
}

#[test]
fn a_client_that_leaves_without_a_word_is_noticed() {
    let client = Client::new(json!({}));
    assert_eq!(client.served(), Served::Broken);
    let mut client = Client::new(json!({}));
    client.notify("exit", Value::Null);
    assert_eq!(client.served(), Served::Broken);
    assert_eq!(Client::silent().served(), Served::Broken);
}

#[test]
fn the_encoding_is_agreed() {
    let encoding = |offered: Value| {
        let client = Client::new(json!({ "general": { "positionEncodings": offered } }));
        client.capabilities["positionEncoding"].clone()
    };
    assert_eq!(encoding(json!(["utf-16", "utf-8"])), "utf-8");
    assert_eq!(encoding(json!(["utf-16"])), "utf-16");
    assert_eq!(encoding(Value::Null), "utf-16");
}

#[test]
fn what_is_asked_wrongly_is_refused_with_a_sentence() {
    let mut client = Client::new(json!({}));
    let (at, said) = client.ask("textDocument/hover", json!({ "textDocument": {} })).unwrap_err();
    assert_eq!(at, code(ErrorCode::InvalidParams), "{said}");
    let unknown = json!({ "textDocument": { "uri": "file:///nowhere.remora" }, "position": { "line": 0, "character": 0 } });
    let (at, said) = client.ask("textDocument/hover", unknown).unwrap_err();
    assert_eq!((at, said.as_str()), (code(ErrorCode::InvalidParams), "`file:///nowhere.remora` is not open"));
    let (at, said) = client.ask("textDocument/moniker", json!({})).unwrap_err();
    assert_eq!((at, said.as_str()), (code(ErrorCode::MethodNotFound), "remc has no `textDocument/moniker`"));
    // A notification has no answer; what is wrong with it is logged.
    client.notify("textDocument/didOpen", json!({ "textDocument": 5 }));
    let log = client.said("window/logMessage");
    assert!(log["message"].as_str().unwrap().starts_with("textDocument/didOpen: "), "{log}");
    client.change(URI, 2, json!([{ "text": "x" }]));
    assert!(client.said("window/logMessage")["message"].as_str().unwrap().contains("is not open"));
    client.notify("$/unknown", json!({}));
    // All goes on.
    client.open(URI, "(+ 1 x)");
    assert!(client.told(URI)[0].contains("`x`"));
}

#[test]
fn positions_that_are_nowhere_harm_nobody() {
    let mut client = Client::new(json!({}));
    let text = "(define λ𝄞 1)\r\n(+ λ𝄞 2)";
    client.open(URI, text);
    assert_eq!(client.told(URI), [""; 0]);
    for (line, character) in [(0, 9), (0, 10), (0, 999), (1, 999), (77, 0), (u32::MAX, u32::MAX)] {
        let at = json!({ "line": line, "character": character });
        for method in ["hover", "definition", "documentHighlight", "completion", "signatureHelp"] {
            client.at(&format!("textDocument/{method}"), URI, at.clone());
        }
    }
    // A change within a character, of a range that is backwards.
    let range = json!({ "start": { "line": 77, "character": 0 }, "end": { "line": 0, "character": 10 } });
    client.change(URI, 2, json!([{ "range": range, "text": ")" }]));
    assert!(!client.told(URI).is_empty());
}

#[test]
fn texts_that_are_deep_or_not_programs() {
    let mut client = Client::new(json!({}));
    for (n, text) in [
        "(".repeat(100_000),
        format!("{}1{}", "(+ 1 ".repeat(900), ")".repeat(900)),
        "[".repeat(999) + &"]".repeat(999),
        "\0\u{1}\u{feff}\u{202e}\r\r\r".to_owned(),
        "\"never closed\n#| nor this".to_owned(),
        String::new(),
        "x".repeat(1 << 20),
    ]
    .iter()
    .enumerate()
    {
        let uri = format!("untitled:{n}");
        client.open(&uri, text);
        client.told_diagnostics(&uri);
        for method in ["documentSymbol", "foldingRange", "codeLens", "semanticTokens/full"] {
            client.of(&format!("textDocument/{method}"), &uri);
        }
        client.request("textDocument/inlayHint", json!({ "textDocument": { "uri": uri }, "range": whole() }));
        client.at("textDocument/hover", &uri, json!({ "line": 0, "character": 3 }));
        client.close(&uri);
        if n != 1 && n != 5 {
            assert_eq!(client.told(&uri), [""; 0], "{n}");
        }
    }
}

#[test]
fn what_is_cancelled_is_answered_at_once() {
    let mut client = Client::new(json!({ "textDocument": { "diagnostic": {} } }));
    // Nothing of this is quick.
    let slow: String =
        (0..400).map(|i| format!("(define (f{i} [x 1]) (sort (+ x (iota [10]))))\n")).collect();
    client.open(URI, &slow);
    let params = json!({ "textDocument": { "uri": URI } });
    let ids: Vec<RequestId> =
        (0..3).map(|_| client.send("textDocument/diagnostic", params.clone())).collect();
    for id in &ids {
        client.notify("$/cancelRequest", json!({ "id": id }));
    }
    for id in &ids {
        match client.answer(id) {
            // It may have been quicker.
            Ok(_) => {}
            Err((at, _)) => assert_eq!(at, code(ErrorCode::RequestCanceled)),
        }
    }
    // One that nobody knows.
    client.notify("$/cancelRequest", json!({ "id": "nobody" }));
    assert_eq!(messages(&client.pull(URI)), [""; 0]);
}

#[test]
fn what_is_asked_of_an_older_text_is_outdated() {
    let mut client = Client::new(json!({ "textDocument": { "diagnostic": {} } }));
    let slow: String =
        (0..400).map(|i| format!("(define (f{i} [x 1]) (sort (+ x (iota [10]))))\n")).collect();
    client.open(URI, &slow);
    let params = json!({ "textDocument": { "uri": URI } });
    let pull = client.send("textDocument/diagnostic", params.clone());
    let symbols = client.send("textDocument/documentSymbol", params);
    let complete = json!({ "textDocument": { "uri": URI }, "position": place(&slow, "(sort") });
    let complete = client.send("textDocument/completion", complete);
    client.replace(URI, 2, &format!("{slow}\n(+ 1 x)"));
    if let Err((at, _)) = client.answer(&pull) {
        assert_eq!(at, code(ErrorCode::ServerCancelled));
    }
    if let Err((at, _)) = client.answer(&symbols) {
        assert_eq!(at, code(ErrorCode::ContentModified));
    }
    client.answer(&complete).expect("whoever types on still sees completions");
    let found = messages(&client.pull(URI));
    assert!(found.len() == 1 && found[0].contains("`x`"), "{found:?}");
}
