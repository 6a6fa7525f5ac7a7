//! What comments claim of values: compared when the document is saved, and written by an action.

use crate::client::{Client, edited, place, position};
use serde_json::{Value, json};

const URI: &str = "file:///tmp/remc-lsp-no-such-folder/program.remora";
/// The runner of these tests adds up what stands in a form.
const TEXT: &str = "\
; λ𝄞: the sum.
; (sum2 1 2) ⇒ 4
(define (sum2 x y) (+ x y))

(+ 1 2)   ; ⇒ 3
(+ 2 2)   ; ⇒ 5
(+ 3 4)   ; ⇒
(stops)   ; ⇒ error R0001
(late)    ; ⇒ 9
(define x 1) ; no claim
";

fn client(params: Value) -> Client {
    let mut client =
        Client::start(params).ignore("textDocument/publishDiagnostics").ignore("window/showMessage");
    client.open(URI, TEXT);
    client
}

fn silent() -> Client {
    client(
        json!({ "capabilities": { "textDocument": { "diagnostic": {} } }, "initializationOptions": { "showsResults": true } }),
    )
}

fn check(client: &mut Client) -> Value {
    client.request("workspace/executeCommand", json!({ "command": "remc.checkValues", "arguments": [URI] }))
}

/// What is said of claims: the part of the text, how severe it is, and the sentence.
fn of_claims(client: &mut Client) -> Vec<(Value, u64, String)> {
    let found = client.pull(URI);
    let all = found.as_array().unwrap().iter().filter(|d| d.get("code").is_none());
    all.map(|d| {
        let said = d["message"].as_str().unwrap().to_owned();
        (d["range"]["start"].clone(), d["severity"].as_u64().unwrap(), said)
    })
    .collect()
}

fn actions(client: &mut Client, text: &str, at: &str, diagnostics: Value) -> Vec<Value> {
    let at = place(text, at);
    let context = json!({ "diagnostics": diagnostics });
    let params =
        json!({ "textDocument": { "uri": URI }, "range": { "start": at, "end": at }, "context": context });
    let actions = client.request("textDocument/codeAction", params);
    actions.as_array().unwrap().iter().filter(|a| a["kind"] != "source.checkValues").cloned().collect()
}

#[test]
fn claims_are_compared() {
    let mut client = silent();
    assert_eq!(of_claims(&mut client), [], "nothing is known before anybody asks");
    let said = check(&mut client);
    assert_eq!(
        said,
        json!({ "text": "2 hold, 3 do not", "right": 2, "wrong": 3 }),
        "of one that took too long nothing is known"
    );
    let found = of_claims(&mut client);
    let wrong = [
        (place(TEXT, "4\n"), 2, "`(sum2 1 2)` is not what the comment says\nwanted: 4\nfound: 3"),
        (place(TEXT, "5\n"), 2, "`(+ 2 2)` is not what the comment says\nwanted: 5\nfound: 4"),
        (place(TEXT, "; ⇒\n"), 3, "`(+ 3 4)` is 7"),
    ];
    assert_eq!(found, wrong.map(|(at, severity, said)| (at, severity, said.to_owned())));
    // It stays known of those claims that stay as they are, wherever they move.
    let text = format!("\n{}", TEXT.replace("(+ 2 2)", "(+ 2 3)").replace("⇒ 4", "⇒ 3"));
    client.replace(URI, 2, &text);
    let found = of_claims(&mut client);
    assert_eq!(found.iter().map(|f| f.2.as_str()).collect::<Vec<_>>(), ["`(+ 3 4)` is 7"]);
    assert_eq!(found[0].0, place(&text, "; ⇒\n"));
    assert_eq!(check(&mut client)["right"], 4);
}

#[test]
fn values_are_written_by_quick_fixes() {
    let mut client = silent();
    check(&mut client);
    let found = client.pull(URI);
    let fix = |client: &mut Client, at: &str| {
        let mut all = actions(client, TEXT, at, found.clone());
        assert_eq!(all.len(), 1, "{all:?}");
        all.remove(0)
    };
    let five = fix(&mut client, "⇒ 5");
    assert_eq!(
        (five["title"].as_str(), five["kind"].as_str()),
        (Some("Write the value: 4"), Some("quickfix"))
    );
    assert_eq!(
        five["diagnostics"][0],
        found.as_array().unwrap().iter().find(|d| d["range"]["start"] == place(TEXT, "5\n")).unwrap().clone()
    );
    let after = edited(TEXT, &five["edit"]["changes"][URI]);
    assert_eq!(after, TEXT.replace("⇒ 5", "⇒ 4"));
    let open = fix(&mut client, "⇒\n");
    assert_eq!(edited(TEXT, &open["edit"]["changes"][URI]), TEXT.replace("⇒\n", "⇒ 7\n"));
    let example = fix(&mut client, "(sum2 1 2)");
    assert_eq!(edited(TEXT, &example["edit"]["changes"][URI]), TEXT.replace("⇒ 4", "⇒ 3"));
    // One that holds can be written all the same.
    assert_eq!(fix(&mut client, "⇒ 3")["title"], "Write the value of (+ 1 2)");
}

/// Before anything is known, a value is computed and then written, where the claim is by then.
#[test]
fn values_are_computed_and_written() {
    let mut client = silent();
    let twice = format!("(+ 1 2) ; ⇒\n{TEXT}");
    client.replace(URI, 2, &twice);
    let fill = |client: &mut Client, text: &str, at: &str| {
        let action = actions(client, text, at, json!([])).remove(0);
        let ran = client.request("workspace/executeCommand", action["command"].clone());
        assert_eq!(ran["text"], "3");
        let edit = client.said("workspace/applyEdit");
        edited(text, &edit["edit"]["changes"][URI])
    };
    assert_eq!(fill(&mut client, &twice, "⇒ 3"), twice, "the second of two that are alike");
    assert_eq!(fill(&mut client, &twice, "⇒\n; λ"), twice.replace("⇒\n; λ", "⇒ 3\n; λ"));
    let stops = json!({ "command": "remc.fillValue", "arguments": [URI, "(stops)", 0] });
    let ran = client.request("workspace/executeCommand", stops);
    assert_eq!(
        ran,
        json!({ "failed": true, "text": "it stopped", "codes": ["R0001"] }),
        "and nothing is written"
    );
    // The claim has gone, or was never there.
    let gone = json!({ "command": "remc.fillValue", "arguments": [URI, "(+ 9 9)"] });
    let (_, said) = client.ask("workspace/executeCommand", gone).unwrap_err();
    assert_eq!(said, "there is no comment about `(+ 9 9)` any more");
}

#[test]
fn a_document_that_is_saved_is_compared() {
    let refreshes = json!({ "textDocument": { "diagnostic": {} }, "workspace": { "diagnostics": { "refreshSupport": true } } });
    let mut client = client(json!({ "capabilities": refreshes }));
    client.notify("textDocument/didSave", json!({ "textDocument": { "uri": URI } }));
    client.said("workspace/diagnostic/refresh");
    assert_eq!(of_claims(&mut client).len(), 3);
    // A client that is told is told.
    let mut told = Client::new(json!({}));
    told.open(URI, "(+ 1 1) ; ⇒ 3\n");
    assert_eq!(told.told(URI), [""; 0]);
    told.notify("textDocument/didSave", json!({ "textDocument": { "uri": URI } }));
    assert_eq!(told.told(URI), ["`(+ 1 1)` is not what the comment says"]);
    told.replace(URI, 2, "(+ 1 1) ; ⇒ 2\n");
    assert_eq!(told.told(URI), [""; 0]);
    // Whoever does not want it is not.
    let mut without =
        Client::start(json!({ "capabilities": {}, "initializationOptions": { "checksValues": false } }));
    without.open(URI, "(+ 1 1) ; ⇒ 3\n");
    assert_eq!(without.told(URI), [""; 0]);
    without.notify("textDocument/didSave", json!({ "textDocument": { "uri": URI } }));
    without.of("textDocument/documentSymbol", URI);
}

/// Somebody waits for what a lens runs: a check makes way for it, and is done afterwards.
#[test]
fn a_check_makes_way() {
    let mut client = silent();
    let forever = "(define (forever [x 0]) x)\n(forever 1) ; ⇒ 1\n(+ 1 2) ; ⇒ 4\n(entry (plain) 5)\n";
    client.replace(URI, 2, forever);
    let never =
        client.send("workspace/executeCommand", json!({ "command": "remc.checkValues", "arguments": [URI] }));
    for _ in 0..3 {
        let ran = client.request(
            "workspace/executeCommand",
            json!({ "command": "remc.run", "arguments": [URI, "plain"] }),
        );
        assert!(ran["text"].as_str().unwrap().starts_with("plain of"), "{ran}");
    }
    // The next search takes its place, and the end of the document ends that.
    client.replace(URI, 3, &forever.replace("(forever 1) ; ⇒ 1\n", ""));
    assert_eq!(check(&mut client)["wrong"], 1);
    assert!(client.answer(&never).is_err());
    let at = position(forever, 0);
    assert_ne!(client.at("textDocument/hover", URI, at), Value::Bool(true));
    client.close(URI);
}
