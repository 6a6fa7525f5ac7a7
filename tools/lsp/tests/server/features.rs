//! Each of the editor's questions, once over the protocol. What the answers are is `remc-ide`'s, and tested there.

use crate::client::{Client, edited, place, whole};
use serde_json::{Value, json};

const URI: &str = "untitled:Untitled-1";
const TEXT: &str = "\
; ---- lengths ----

; Twice as much.
; (twice 3) ⇒ 6
(define (twice [λ𝄞 0]) (* λ𝄞 2))

; The length
; of a vector.
(define (norm [v [float n]]) (sqrt (sum (* v v))))

(entry (main [xs [float n]])
  (twice
     (norm xs)))
(twice (iota [3]))
";

fn client() -> Client {
    let mut client = Client::new(json!({
        "textDocument": {
            "hover": { "contentFormat": ["markdown"] },
            "completion": { "completionItem": { "snippetSupport": true } },
            "documentSymbol": { "hierarchicalDocumentSymbolSupport": true },
        },
    }));
    client.open(URI, TEXT);
    assert_eq!(client.told(URI), [""; 0]);
    client
}

fn text_of(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value}"))
}

/// What ranges of the text hold.
fn parts(text: &str, ranges: impl Iterator<Item = Value>) -> Vec<String> {
    let removed = |range: Value| {
        let without = edited(text, &json!([{ "range": range, "newText": "" }]));
        let head = text.bytes().zip(without.bytes()).take_while(|(a, b)| a == b).count();
        let head = (0..=head).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        // Of repeated parts, any of them is the one.
        text[head..].get(..text.len() - without.len()).unwrap_or_default().to_owned()
    };
    ranges.map(removed).collect()
}

#[test]
fn hover() {
    let mut client = client();
    let found = client.at(
        "textDocument/hover",
        URI,
        place(TEXT, "(twice\n")["line"].as_u64().map(|l| json!({ "line": l, "character": 4 })).unwrap(),
    );
    assert_eq!(found["contents"]["kind"], "markdown");
    assert!(text_of(&found["contents"]["value"]).contains("Twice as much."), "{found}");
    assert_eq!(parts(TEXT, [found["range"].clone()].into_iter()), ["twice"]);
    assert_eq!(client.at("textDocument/hover", URI, json!({ "line": 1, "character": 0 })), Value::Null);
}

#[test]
fn definition_references_highlights() {
    let mut client = client();
    let used = place(TEXT, "λ𝄞 2");
    let found = client.at("textDocument/definition", URI, used.clone());
    assert_eq!(found[0]["uri"], URI);
    assert_eq!(found[0]["range"]["start"], place(TEXT, "λ𝄞 0"));
    let end = &found[0]["range"]["end"];
    assert_eq!(
        end["character"].as_u64(),
        Some(place(TEXT, "λ𝄞 0")["character"].as_u64().unwrap() + 3),
        "16-bit units"
    );
    let highlights = client.at("textDocument/documentHighlight", URI, used);
    let kinds: Vec<u64> =
        highlights.as_array().unwrap().iter().map(|h| h["kind"].as_u64().unwrap()).collect();
    assert_eq!(kinds, [3, 2], "written, then read");
    let references = |client: &mut Client, declaration: bool| {
        let params = json!({
            "textDocument": { "uri": URI },
            "position": place(TEXT, "twice [λ"),
            "context": { "includeDeclaration": declaration },
        });
        client.request("textDocument/references", params).as_array().unwrap().len()
    };
    assert_eq!((references(&mut client, false), references(&mut client, true)), (2, 3));
}

/// The prelude is a file that can be gone to, and asked about.
#[test]
fn definitions_of_the_prelude() {
    let mut client = client();
    let found = client.at("textDocument/definition", URI, place(TEXT, "iota"));
    let uri = text_of(&found[0]["uri"]).to_owned();
    let path = uri.strip_prefix("file://").unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let line = found[0]["range"]["start"]["line"].as_u64().unwrap() as usize;
    assert!(text.lines().nth(line).unwrap().contains("iota"), "{found}");
    client.open(&uri, &text);
    assert_eq!(client.told(&uri), [""; 0]);
    let found = client.at("textDocument/hover", &uri, found[0]["range"]["start"].clone());
    assert_ne!(found, Value::Null);
    // Whatever is done to the page, the prelude is what it is.
    client.replace(&uri, 2, "(define");
    assert_eq!(client.pull(&uri), json!([]));
    client.replace(URI, 2, "(iota [4])");
    client.close(&uri);
}

#[test]
fn rename() {
    let mut client = client();
    let at = place(TEXT, "twice [λ");
    let found = client.at("textDocument/prepareRename", URI, at.clone());
    assert_eq!(found["placeholder"], "twice");
    let params =
        |at: &Value, name: &str| json!({ "textDocument": { "uri": URI }, "position": at, "newName": name });
    let edit = client.request("textDocument/rename", params(&at, "double"));
    let text = edited(TEXT, &edit["changes"][URI]);
    assert!(
        text.contains("(define (double [λ𝄞 0])")
            && text.contains("(double\n")
            && text.contains("(double (iota"),
        "{text}"
    );
    // A refusal is a sentence.
    let (code, said) = client.ask("textDocument/rename", params(&at, "norm")).unwrap_err();
    assert!(code == lsp_server::ErrorCode::RequestFailed as i32 && said.contains("norm"), "{code} {said}");
    let (_, said) = client
        .ask(
            "textDocument/prepareRename",
            json!({ "textDocument": { "uri": URI }, "position": place(TEXT, "(twice (iota") }),
        )
        .unwrap_err();
    assert!(!said.is_empty());
    // With versions, for clients that want them.
    let mut versioned = Client::new(json!({ "workspace": { "workspaceEdit": { "documentChanges": true } } }));
    versioned.open(URI, TEXT);
    versioned.told(URI);
    let edit = versioned.request("textDocument/rename", params(&at, "double"));
    assert_eq!(edit["documentChanges"][0]["textDocument"], json!({ "uri": URI, "version": 1 }));
}

#[test]
fn completion() {
    let mut client = client();
    let text = TEXT.replace("(norm xs)", "(nor)");
    client.replace(URI, 2, &text);
    client.told(URI);
    let mut at = place(&text, "(nor)");
    at["character"] = json!(at["character"].as_u64().unwrap() + 4);
    let list = client.at("textDocument/completion", URI, at.clone());
    let first = &list["items"][0];
    assert_eq!((text_of(&first["label"]), first["preselect"].as_bool()), ("norm", Some(true)));
    assert!(text_of(&first["documentation"]["value"]).contains("The length of a vector."), "{first}");
    let after = edited(&text, &json!([first["textEdit"]]));
    assert!(after.contains("(norm"), "{after}");
    // The order is the server's.
    let sorts: Vec<&str> =
        list["items"].as_array().unwrap().iter().map(|i| text_of(&i["sortText"])).collect();
    assert!(sorts.is_sorted(), "{sorts:?}");
    // A client that asks for documentation later gets it later.
    let resolve = json!({ "properties": ["documentation"] });
    let mut lazy = Client::new(
        json!({ "textDocument": { "completion": { "completionItem": { "resolveSupport": resolve } } } }),
    );
    lazy.open(URI, &text);
    lazy.told(URI);
    let list = lazy.at("textDocument/completion", URI, at);
    let first = list["items"][0].clone();
    assert_eq!(first.get("documentation"), None);
    let resolved = lazy.request("completionItem/resolve", first);
    assert!(text_of(&resolved["documentation"]["value"]).contains("The length of a vector."), "{resolved}");
    assert!(
        list["items"]
            .as_array()
            .unwrap()
            .iter()
            .all(|i| i["insertTextFormat"] == 1 && !text_of(&i["textEdit"]["newText"]).contains("${"))
    );
}

#[test]
fn signature() {
    let mut client = client();
    let mut at = place(TEXT, "xs)))");
    at["character"] = json!(at["character"].as_u64().unwrap() + 1);
    let help = client.at("textDocument/signatureHelp", URI, at);
    let signature = &help["signatures"][0];
    let label = text_of(&signature["label"]);
    assert!(label.starts_with("(norm"), "{help}");
    let part = &signature["parameters"][0]["label"];
    let (from, to) = (part[0].as_u64().unwrap() as usize, part[1].as_u64().unwrap() as usize);
    assert!(label[from..to].contains('v'), "{help}");
}

#[test]
fn hints_are_written_by_a_click() {
    let mut client = client();
    let params = json!({ "textDocument": { "uri": URI }, "range": whole() });
    let hints = client.request("textDocument/inlayHint", params);
    let hints = hints.as_array().unwrap();
    assert!(!hints.is_empty());
    for hint in hints.iter().filter(|h| h.get("textEdits").is_some_and(|e| !e.is_null())) {
        let text = edited(TEXT, &hint["textEdits"]);
        let mut other = Client::new(json!({}));
        other.open(URI, &text);
        assert_eq!(other.told(URI), [""; 0], "{hint}\n{text}");
    }
}

#[test]
fn symbols_folds_and_selections() {
    let mut client = client();
    let symbols = client.of("textDocument/documentSymbol", URI);
    let names: Vec<&str> = symbols.as_array().unwrap().iter().map(|s| text_of(&s["name"])).collect();
    assert_eq!(names[..3], ["twice", "norm", "main"]);
    assert_eq!(symbols[0]["selectionRange"]["start"], place(TEXT, "twice [λ"));
    let found = client.request("workspace/symbol", json!({ "query": "nrm" }));
    assert_eq!(found[0]["name"], "norm");
    let folds = client.of("textDocument/foldingRange", URI);
    let lines = |f: &Value| (f["startLine"].as_u64().unwrap(), f["endLine"].as_u64().unwrap());
    let lines: Vec<_> = folds.as_array().unwrap().iter().map(lines).collect();
    assert!(lines.contains(&(10, 12)), "{folds}");
    assert!(folds.as_array().unwrap().iter().any(|f| f["kind"] == "comment"), "{folds}");
    let params = json!({ "textDocument": { "uri": URI }, "positions": [place(TEXT, "xs)))")] });
    let ranges = client.request("textDocument/selectionRange", params);
    let mut outwards = vec![];
    let mut at = &ranges[0];
    while !at.is_null() {
        outwards.push(at["range"].clone());
        at = &at["parent"];
    }
    let parts = parts(TEXT, outwards.into_iter());
    assert_eq!(parts[..3], ["xs", "norm xs", "(norm xs)"], "{ranges}");
    // A client that knows no nesting.
    let mut flat = Client::new(json!({}));
    flat.open(URI, TEXT);
    flat.told(URI);
    assert_eq!(flat.of("textDocument/documentSymbol", URI)[0]["location"]["uri"], URI);
}

/// Line, column, length and kind of each token.
fn tokens(data: &Value) -> Vec<[u64; 4]> {
    let numbers: Vec<u64> = data.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    let (mut line, mut column) = (0, 0);
    let mut all = vec![];
    for t in numbers.chunks(5) {
        (line, column) = if t[0] > 0 { (line + t[0], t[1]) } else { (line, column + t[1]) };
        all.push([line, column, t[2], t[3]]);
    }
    all
}

#[test]
fn semantic_tokens() {
    let mut client = client();
    let legend = client.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"].clone();
    let number = |name: &str| legend.as_array().unwrap().iter().position(|t| t == name).unwrap() as u64;
    let full = client.of("textDocument/semanticTokens/full", URI);
    let all = tokens(&full["data"]);
    let at = place(TEXT, "λ𝄞 2");
    let (line, column) = (at["line"].as_u64().unwrap(), at["character"].as_u64().unwrap());
    assert!(all.contains(&[line, column, 3, number("parameter")]), "{all:?}");
    let range = json!({ "start": { "line": 10, "character": 0 }, "end": { "line": 13, "character": 0 } });
    let some = client.request(
        "textDocument/semanticTokens/range",
        json!({ "textDocument": { "uri": URI }, "range": range }),
    );
    let some = tokens(&some["data"]);
    assert!(!some.is_empty() && some.iter().all(|t| all.contains(t)), "{some:?}");
    // What has changed of them.
    let text = TEXT.replace("(iota [3])", "(iota [3 4])");
    client.replace(URI, 2, &text);
    let params = json!({ "textDocument": { "uri": URI }, "previousResultId": full["resultId"] });
    let delta = client.request("textDocument/semanticTokens/full/delta", params);
    let mut numbers = full["data"].as_array().unwrap().clone();
    let edits = delta["edits"].as_array().unwrap_or_else(|| panic!("{delta}"));
    assert_eq!(edits.len(), 1);
    let start = edits[0]["start"].as_u64().unwrap() as usize;
    let removed = edits[0]["deleteCount"].as_u64().unwrap() as usize;
    assert!(removed < 50, "{delta}");
    numbers.splice(start..start + removed, edits[0]["data"].as_array().unwrap().clone());
    assert_eq!(Value::Array(numbers), client.of("textDocument/semanticTokens/full", URI)["data"]);
}

#[test]
fn formatting() {
    let mut client = client();
    let options = json!({ "tabSize": 2, "insertSpaces": true });
    let text = TEXT.replace("  (twice\n", "        (twice\n").replace("(twice (iota", "(twice   (iota");
    client.replace(URI, 2, &text);
    let edits = client
        .request("textDocument/formatting", json!({ "textDocument": { "uri": URI }, "options": options }));
    let whole_text = edited(&text, &edits);
    assert!(whole_text.contains("\n  (twice\n") && whole_text.contains("(twice (iota [3]))"), "{whole_text}");
    let line = place(&text, "(twice   (iota")["line"].clone();
    let range = json!({ "start": { "line": line, "character": 0 }, "end": { "line": line, "character": 3 } });
    let edits = client.request(
        "textDocument/rangeFormatting",
        json!({ "textDocument": { "uri": URI }, "range": range, "options": options }),
    );
    let part = edited(&text, &edits);
    assert!(part.contains("        (twice\n") && part.contains("(twice (iota [3]))"), "{part}");
    // On a bracket that closes.
    let at = place(&text, "(twice   (iota");
    let at = json!({ "line": at["line"].as_u64().unwrap() - 1, "character": text.lines().nth(at["line"].as_u64().unwrap() as usize - 1).unwrap().len() });
    let params = json!({ "textDocument": { "uri": URI }, "position": at, "ch": ")", "options": options });
    let edits = client.request("textDocument/onTypeFormatting", params);
    let typed = edited(&text, &edits);
    assert!(typed.contains("\n  (twice\n") && typed.contains("(twice   (iota"), "{typed}");
    // On a new line.
    let text = "(define (f x)\n(+ x 1))";
    client.replace(URI, 3, text);
    let params = json!({ "textDocument": { "uri": URI }, "position": { "line": 1, "character": 0 }, "ch": "\n", "options": options });
    let edits = client.request("textDocument/onTypeFormatting", params);
    assert_eq!(edited(text, &edits), "(define (f x)\n  (+ x 1))");
}

#[test]
fn quick_fixes() {
    let mut client = client();
    let text = TEXT.replace("(twice (iota", "(twcie (iota");
    client.replace(URI, 2, &text);
    let told = client.told_diagnostics(URI);
    let params = |only: Value| {
        let context = json!({ "diagnostics": told, "only": only });
        json!({ "textDocument": { "uri": URI }, "range": told[0]["range"], "context": context })
    };
    let actions = client.request("textDocument/codeAction", params(json!(["quickfix"])));
    let fix = &actions[0];
    assert_eq!(fix["kind"], "quickfix");
    assert_eq!(fix["diagnostics"][0], told[0], "it is that diagnostic which it mends");
    let mended = edited(&text, &fix["edit"]["changes"][URI]);
    assert_eq!(mended, TEXT);
    let none = client.request("textDocument/codeAction", params(json!(["source.organizeImports"])));
    assert_eq!(none, json!([]));
}

/// While a form is half written, what was known of it is.
#[test]
fn half_written_text_keeps_the_last_good_answers() {
    let mut client = client().ignore("textDocument/publishDiagnostics");
    let range = whole();
    let hints = |client: &mut Client| {
        let params = json!({ "textDocument": { "uri": URI }, "range": range });
        client.request("textDocument/inlayHint", params)
    };
    let before = hints(&mut client);
    let at = |text: &str, part: &str| place(text, part);
    let hover = client.at("textDocument/hover", URI, at(TEXT, "v v"));
    assert_ne!(hover, Value::Null);
    // A bracket is missing, and a name is not finished; both are typed within `norm`.
    for (n, (from, to)) in
        [("(sum (* v v))", "(sum (* v v) (red"), ("(sum (* v v))", "(sum (* v v) und)")].iter().enumerate()
    {
        let text = TEXT.replace(from, to);
        client.replace(URI, 2 * n as i32 + 2, &text);
        let now = client.at("textDocument/hover", URI, at(&text, "v v"));
        assert_eq!(now["contents"], hover["contents"], "{text}");
        let found = client.at("textDocument/definition", URI, at(&text, "v v"));
        assert_eq!(found[0]["range"]["start"], at(&text, "v [float"), "{text}");
        let now = hints(&mut client);
        let positions = |hints: &Value| -> Vec<Value> {
            hints
                .as_array()
                .unwrap()
                .iter()
                .filter(|h| h["position"]["line"] == 8)
                .map(|h| h["label"].clone())
                .collect()
        };
        assert_eq!(positions(&now).len(), positions(&before).len(), "{now}");
        // What is new has no answer.
        client.replace(URI, 2 * n as i32 + 3, TEXT);
        assert_eq!(client.at("textDocument/hover", URI, at(TEXT, "v v")), hover);
    }
}
