//! Lenses, commands, and what is done with what they give.

use crate::client::Client;
use lsp_server::ErrorCode;
use serde_json::{Value, json};

const URI: &str = "file:///tmp/remc-lsp-no-such-folder/program.remora";
const TEXT: &str = "\
; Scales.
; (scaled 2 [1 2 3]) ⇒
(entry (scaled [k int] [xs [int n]]) (* k xs))

(entry (plain) 5)

(entry (silent [x int]) x)

(+ 1 2)
";

fn client(options: Value) -> Client {
    let capabilities = json!({ "window": { "workDoneProgress": true } });
    let params = json!({ "capabilities": capabilities, "initializationOptions": options });
    let mut client = Client::start(params);
    client.open(URI, TEXT);
    assert_eq!(client.told(URI), [""; 0]);
    client
}

fn run(client: &mut Client, command: &str, arguments: Value) -> Result<Value, (i32, String)> {
    client.ask("workspace/executeCommand", json!({ "command": command, "arguments": arguments }))
}

#[test]
fn lenses_run_and_explain() {
    let mut client = client(json!({ "showsResults": true }));
    let lenses = client.of("textDocument/codeLens", URI);
    let titles: Vec<(&str, &str, u64)> = lenses
        .as_array()
        .unwrap()
        .iter()
        .map(|l| {
            let command = &l["command"];
            (
                command["title"].as_str().unwrap(),
                command["arguments"][1].as_str().unwrap(),
                l["range"]["start"]["line"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        titles,
        [
            ("Run (scaled 2 [1 2 3])", "scaled", 2),
            ("Explain performance", "scaled", 2),
            ("Run", "plain", 4),
            ("Explain performance", "plain", 4),
            ("Run", "silent", 6),
            ("Explain performance", "silent", 6),
            ("Run", "#expr0", 8),
            ("Explain performance", "#expr0", 8),
        ]
    );
    let length = TEXT.len();
    for lens in lenses.as_array().unwrap() {
        let command = lens["command"]["command"].as_str().unwrap();
        let ran = run(&mut client, command, lens["command"]["arguments"].clone());
        let title =
            (lens["command"]["title"].as_str().unwrap(), lens["command"]["arguments"][1].as_str().unwrap());
        match title {
            (_, "silent") if command == "remc.run" => {
                let (code, said) = ran.unwrap_err();
                assert_eq!(code, ErrorCode::RequestFailed as i32);
                assert!(said.starts_with("`silent` takes inputs: write an example"), "{said}");
            }
            ("Explain performance", name) => {
                assert_eq!(ran.unwrap()["text"], format!("{name} costs nothing"))
            }
            (_, "scaled") => {
                assert_eq!(ran.unwrap()["text"], format!("(scaled 2 [1 2 3]) of {length} bytes"))
            }
            (_, name) => assert_eq!(ran.unwrap()["text"], format!("{name} of {length} bytes")),
        }
    }
    // The text as it is now, and those of others that are open.
    client.open("file:///tmp/remc-lsp-no-such-folder/other.remora", "(define o 1)");
    assert_eq!(client.told("file:///tmp/remc-lsp-no-such-folder/other.remora"), [""; 0]);
    client.replace(URI, 2, "(entry (plain) 5)");
    let ran = run(&mut client, "remc.run", json!([URI])).unwrap();
    assert_eq!(ran["text"], "plain of 17 bytes /tmp/remc-lsp-no-such-folder/other.remora: (define o 1)");
    let (_, said) = run(&mut client, "remc.run", json!([URI, "gone"])).unwrap_err();
    assert_eq!(said, "there is no `gone` any more");
    assert_eq!(run(&mut client, "remc.other", json!([])).unwrap_err().0, ErrorCode::InvalidParams as i32);
    assert_eq!(run(&mut client, "remc.run", json!([])).unwrap_err().0, ErrorCode::InvalidParams as i32);
    assert!(run(&mut client, "remc.run", json!(["untitled:x"])).unwrap_err().1.contains("is not open"));
}

#[test]
fn results_are_shown_where_the_client_does_not() {
    let mut client = client(Value::Null);
    run(&mut client, "remc.run", json!([URI, "plain"])).unwrap();
    let shown = client.said("window/showMessage");
    assert_eq!(
        (shown["type"].as_u64(), shown["message"].as_str()),
        (Some(3), Some(&*format!("plain ⇒ plain of {} bytes", TEXT.len())))
    );
    client.replace(URI, 2, "(entry (stops) 5)");
    let ran = run(&mut client, "remc.run", json!([URI, "stops"])).unwrap();
    assert_eq!(ran, json!({ "failed": true, "text": "it stopped", "codes": ["R0001"] }));
    assert_eq!(client.said("window/showMessage"), json!({ "type": 1, "message": "it stopped" }));
}

#[test]
fn what_runs_can_be_cancelled_and_goes_wrong_alone() {
    let mut client = client(json!({ "showsResults": true })).ignore("textDocument/publishDiagnostics");
    client.replace(URI, 2, "(entry (forever) 5) (entry (panics) 6) (entry (plain) 7)");
    let params = |name: &str| json!({ "command": "remc.run", "arguments": [URI, name] });
    let forever = client.send("workspace/executeCommand", params("forever"));
    // The texts are there meanwhile.
    client.of("textDocument/documentSymbol", URI);
    client.notify("$/cancelRequest", json!({ "id": forever }));
    assert_eq!(client.answer(&forever).unwrap_err().0, ErrorCode::RequestCanceled as i32);
    // By its progress.
    let mut other = Client::start(json!({ "capabilities": { "window": { "workDoneProgress": true } } }));
    other = other.ignore("textDocument/publishDiagnostics");
    other.open(URI, "(entry (forever) 5)");
    let forever = other.send("workspace/executeCommand", params("forever"));
    let begun = loop {
        let progress = other.progress();
        if progress["value"]["kind"] == "begin" {
            break progress;
        }
    };
    assert_eq!(
        (begun["value"]["cancellable"].as_bool(), begun["value"]["title"].as_str()),
        (Some(true), Some("forever"))
    );
    other.notify("window/workDoneProgress/cancel", json!({ "token": begun["token"] }));
    assert_eq!(other.answer(&forever).unwrap_err().0, ErrorCode::RequestCanceled as i32);
    // A mistake of remc's.
    let (code, said) = run(&mut client, "remc.run", json!([URI, "panics"])).unwrap_err();
    assert_eq!(code, ErrorCode::InternalError as i32);
    assert!(said.contains("the runner is wrong"), "{said}");
    client.said("window/logMessage");
    assert!(run(&mut client, "remc.run", json!([URI, "plain"])).is_ok());
}

/// Of a program that took too long, the sentence is shown.
#[test]
fn a_run_has_a_limit() {
    let mut client = client(json!({ "showsResults": true }));
    client.replace(URI, 2, "(entry (late) 5)");
    let ran = run(&mut client, "remc.run", json!([URI, "late"])).unwrap();
    assert_eq!(ran, json!({ "failed": true, "text": "ended after 60 seconds", "codes": [] }));
}
