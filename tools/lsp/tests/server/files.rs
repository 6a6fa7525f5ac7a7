//! Documents and files: what is open, what is on the disk, and what of that others see.

use crate::client::{Client, messages};
use serde_json::{Value, json};
use std::path::Path;

fn uri(path: &Path) -> String {
    format!("file://{}", path.display())
}

fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::Builder::new().prefix("lsp-test").tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

const USER: &str = "(import \"lib.remora\")\n(inc 1)\n";
const LIB: &str = "(define (inc x) (+ x 1))\n";

#[test]
fn changes_are_applied_one_after_the_other() {
    let mut client = Client::new(json!({}));
    let uri = "untitled:a";
    client.open(uri, "(define 𝄞λ 1)\r\n(+ 𝄞λ y)\r\n");
    assert!(client.told(uri)[0].contains("`y`"));
    let range = |l0: u32, c0: u32, l1: u32, c1: u32| json!({ "start": { "line": l0, "character": c0 }, "end": { "line": l1, "character": c1 } });
    // `y` becomes `z𝄞`, then `z𝄞` becomes `𝄞λ`, in 16-bit units.
    client.change(
        uri,
        2,
        json!([
            { "range": range(1, 7, 1, 8), "text": "z𝄞" },
            { "range": range(1, 7, 1, 8), "text": "" },
            { "range": range(1, 9, 1, 9), "text": "λ" },
        ]),
    );
    assert_eq!(client.told(uri), [""; 0]);
    // Lines are joined and parted.
    client.change(
        uri,
        3,
        json!([{ "range": range(0, 13, 1, 0), "text": "\n\n" }, { "range": range(2, 0, 2, 1), "text": "" }]),
    );
    assert_eq!(client.told(uri).len(), 1, "a bracket too few");
    client.close(uri);
    assert_eq!(client.told(uri), [""; 0]);
}

#[test]
fn importers_see_texts_that_are_not_saved() {
    let folder = folder(&[("user.remora", USER), ("lib.remora", LIB)]);
    let (user, lib) = (uri(&folder.path().join("user.remora")), uri(&folder.path().join("lib.remora")));
    let mut client = Client::new(json!({}));
    client.open(&user, USER);
    assert_eq!(client.told(&user), [""; 0]);
    client.open(&lib, LIB);
    assert_eq!(client.told(&lib), [""; 0]);
    client.replace(&lib, 2, "(define (dec x) (- x 1))\n");
    let found = client.told(&user);
    assert!(found.len() == 1 && found[0].contains("`inc`"), "{found:?}");
    // Closed without being saved, it is that of the disk.
    client.close(&lib);
    assert_eq!(client.told(&user), [""; 0]);
}

#[test]
fn files_that_change_on_the_disk_are_read_again() {
    let folder = folder(&[("user.remora", USER)]);
    let (user, lib) = (folder.path().join("user.remora"), folder.path().join("lib.remora"));
    let mut client = Client::new(json!({}));
    client.open(&uri(&user), USER);
    let found = client.told(&uri(&user));
    assert!(found[0].starts_with("cannot import \"lib.remora\""), "{found:?}");
    let changed = |client: &mut Client, path: &Path, kind: u32| {
        client.notify(
            "workspace/didChangeWatchedFiles",
            json!({ "changes": [{ "uri": uri(path), "type": kind }] }),
        );
    };
    std::fs::write(&lib, LIB).unwrap();
    changed(&mut client, &lib, 1);
    assert_eq!(client.told(&uri(&user)), [""; 0]);
    std::fs::write(&lib, [0xff]).unwrap();
    changed(&mut client, &lib, 2);
    let found = client.told(&uri(&user));
    assert!(found[0].contains("is not UTF-8"), "{found:?}");
    std::fs::remove_file(&lib).unwrap();
    changed(&mut client, &lib, 3);
    assert!(client.told(&uri(&user))[0].contains("no such file"));
}

#[test]
fn a_client_that_asks_is_told_of_changes_and_asks_again() {
    let folder = folder(&[("user.remora", USER)]);
    let (user, lib) = (uri(&folder.path().join("user.remora")), folder.path().join("lib.remora"));
    let mut client = Client::new(json!({
        "textDocument": { "diagnostic": {} },
        "workspace": {
            "diagnostics": { "refreshSupport": true },
            "inlayHint": { "refreshSupport": true },
            "semanticTokens": { "refreshSupport": true },
            "codeLens": { "refreshSupport": true },
            "didChangeWatchedFiles": { "dynamicRegistration": true },
        },
    }));
    assert_eq!(client.capabilities["diagnosticProvider"]["interFileDependencies"], true);
    let registered = client.said("client/registerCapability");
    assert_eq!(registered["registrations"][0]["method"], "workspace/didChangeWatchedFiles");
    assert_eq!(
        registered["registrations"][0]["registerOptions"]["watchers"][0]["globPattern"],
        "**/*.remora"
    );
    client.open(&user, USER);
    let params = json!({ "textDocument": { "uri": user } });
    let first = client.request("textDocument/diagnostic", params.clone());
    assert_eq!(
        (first["kind"].as_str(), messages(&first["items"]).len()),
        (Some("full"), 2),
        "the import, and a name"
    );
    let mut again = params.clone();
    again["previousResultId"] = first["resultId"].clone();
    assert_eq!(client.request("textDocument/diagnostic", again.clone())["kind"], "unchanged");
    std::fs::write(&lib, LIB).unwrap();
    client.notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": uri(&lib), "type": 1 }] }));
    for what in ["diagnostic", "inlayHint", "semanticTokens", "codeLens"] {
        client.said(&format!("workspace/{what}/refresh"));
    }
    assert_eq!(client.request("textDocument/diagnostic", again)["items"], json!([]));
}

#[test]
fn the_folders_of_the_workspace_are_searched() {
    let one = folder(&[
        ("a/lib.remora", LIB),
        (".hidden/no.remora", "(define hidden 1)"),
        ("odd.remora", "(define ("),
    ]);
    let two = folder(&[("other.remora", "(define (other x) x)")]);
    let name = |path: &Path| json!({ "uri": uri(path), "name": "folder" });
    let params = json!({ "capabilities": {}, "workspaceFolders": [name(one.path())] });
    let mut client = Client::start(params);
    let found = |client: &mut Client, query: &str| -> Vec<String> {
        let found = client.request("workspace/symbol", json!({ "query": query }));
        let all = found.as_array().unwrap().iter();
        all.map(|s| format!("{} {}", s["name"].as_str().unwrap(), s["location"]["uri"].as_str().unwrap()))
            .collect()
    };
    assert_eq!(found(&mut client, "inc"), [format!("inc {}", uri(&one.path().join("a/lib.remora")))]);
    assert_eq!(found(&mut client, "hidden"), [""; 0]);
    assert_eq!(found(&mut client, "other"), [""; 0]);
    let event = json!({ "added": [name(two.path())], "removed": [] });
    client.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    assert_eq!(found(&mut client, "other"), [format!("other {}", uri(&two.path().join("other.remora")))]);
    // A file that is new.
    let new = two.path().join("new.remora");
    std::fs::write(&new, "(define (newcomer x) x)").unwrap();
    client.notify("workspace/didChangeWatchedFiles", json!({ "changes": [{ "uri": uri(&new), "type": 1 }] }));
    assert_eq!(found(&mut client, "newcomer").len(), 1);
}

#[test]
fn diagnostics_have_their_places_code_and_page() {
    let capabilities = json!({ "textDocument": { "publishDiagnostics": { "relatedInformation": true } } });
    let mut client = Client::new(capabilities);
    let uri = "untitled:a";
    client.open(uri, "(define x 1)\n(define x 2)\n");
    let found = client.told_diagnostics(uri);
    let d = &found[0];
    assert_eq!(
        (d["code"].as_str(), d["severity"].as_u64(), d["source"].as_str()),
        (Some("E0201"), Some(1), Some("remc"))
    );
    assert_eq!(
        d["message"],
        "`x` is defined twice\ndefined again here\nhelp: give one of the two another name"
    );
    assert_eq!(
        d["range"],
        json!({ "start": { "line": 1, "character": 8 }, "end": { "line": 1, "character": 9 } })
    );
    let related = &d["relatedInformation"][0];
    assert_eq!(
        (related["message"].as_str(), related["location"]["uri"].as_str()),
        (Some("first defined here"), Some(uri))
    );
    assert_eq!(related["location"]["range"]["start"], json!({ "line": 0, "character": 8 }));
    let page = d["codeDescription"]["href"].as_str().unwrap().strip_prefix("file://").unwrap();
    assert_eq!(std::fs::read_to_string(page).unwrap(), "# E0201\n");
    // Shapes are side by side.
    client.replace(uri, 2, "(+ [1 2 3] [1 2])\n");
    let found = client.told_diagnostics(uri);
    assert!(found[0]["message"].as_str().unwrap().contains('^'), "{found}");
    let mut plain = Client::new(json!({}));
    plain.open(uri, "(define x 1)\n(define x 2)\n");
    assert_eq!(plain.told_diagnostics(uri)[0].get("relatedInformation"), None::<&Value>);
}
