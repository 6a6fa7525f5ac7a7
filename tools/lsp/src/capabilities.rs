//! What the server can do, as it says to the client.

use crate::client::Client;
use crate::runs::COMMANDS;
use crate::tokens::{MODIFIERS, TYPES};
use serde_json::{Value, json};

/// The result of `initialize`.
pub fn initialize_result(client: &Client, version: &str) -> Value {
    let mut capabilities = json!({
        "positionEncoding": client.encoding.kind(),
        "textDocumentSync": { "openClose": true, "change": 2, "save": { "includeText": false } },
        "completionProvider": {
            "triggerCharacters": ["(", "[", "{", "\"", "/", "."],
            "resolveProvider": true,
        },
        "hoverProvider": true,
        "signatureHelpProvider": { "triggerCharacters": ["(", " "], "retriggerCharacters": [")", "]"] },
        "definitionProvider": true,
        "referencesProvider": true,
        "documentHighlightProvider": true,
        "documentSymbolProvider": true,
        "workspaceSymbolProvider": true,
        "codeActionProvider": { "codeActionKinds": ["quickfix", "refactor.rewrite", "source.checkValues"] },
        "codeLensProvider": { "resolveProvider": false },
        "documentFormattingProvider": true,
        "documentRangeFormattingProvider": { "rangesSupport": true },
        "documentOnTypeFormattingProvider": { "firstTriggerCharacter": ")", "moreTriggerCharacter": ["]", "\n"] },
        "renameProvider": { "prepareProvider": true },
        "foldingRangeProvider": true,
        "selectionRangeProvider": true,
        "inlayHintProvider": true,
        "semanticTokensProvider": {
            "legend": { "tokenTypes": TYPES, "tokenModifiers": MODIFIERS },
            "range": true,
            "full": { "delta": true },
        },
        "executeCommandProvider": { "commands": COMMANDS },
        "workspace": { "workspaceFolders": { "supported": true, "changeNotifications": true } },
    });
    if client.pulls {
        capabilities["diagnosticProvider"] =
            json!({ "identifier": "remc", "interFileDependencies": true, "workspaceDiagnostics": false });
    }
    json!({ "capabilities": capabilities, "serverInfo": { "name": "remc", "version": version } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_what_the_protocol_knows() {
        let params = json!({ "capabilities": { "textDocument": { "diagnostic": {} } } });
        let said = initialize_result(&Client::new(&params), "1");
        let read: gen_lsp_types::InitializeResult = serde_json::from_value(said.clone()).unwrap();
        let mut back = serde_json::to_value(read).unwrap();
        // Nothing of it was left out.
        let capabilities = back["capabilities"].as_object_mut().unwrap();
        capabilities.retain(|_, v| !v.is_null());
        assert_eq!(back, said);
    }
}
