//! What the client can do, as it says when it starts the server.

use crate::text::Encoding;
use crate::uri;
use serde_json::Value;
use std::path::PathBuf;

/// What of the client's abilities makes a difference. Whatever is not said, or not understood, it cannot do.
#[derive(Clone, Debug)]
pub struct Client {
    pub encoding: Encoding,
    /// It asks for diagnostics, and is told no others.
    pub pulls: bool,
    pub refreshes_diagnostics: bool,
    pub refreshes_hints: bool,
    pub refreshes_tokens: bool,
    pub refreshes_lenses: bool,
    pub related: bool,
    pub snippets: bool,
    /// It asks for the documentation of a completion when it shows that.
    pub resolves_documentation: bool,
    pub markdown: bool,
    pub symbols_nest: bool,
    pub versioned_edits: bool,
    pub progress: bool,
    pub shows_documents: bool,
    pub watches_files: bool,
    /// It shows what lenses give, and need not be shown it.
    pub shows_results: bool,
    /// When a document is saved, the values that its comments claim are compared.
    pub checks_values: bool,
    pub folders: Vec<PathBuf>,
}

impl Client {
    /// From the parameters of `initialize`.
    pub fn new(params: &Value) -> Client {
        let can = |path: &str| params.pointer(&format!("/capabilities/{path}")) == Some(&Value::Bool(true));
        let list = |path: &str| -> Vec<&str> {
            let list = params.pointer(&format!("/capabilities/{path}")).and_then(Value::as_array);
            list.into_iter().flatten().filter_map(Value::as_str).collect()
        };
        let has = |path: &str| params.pointer(&format!("/capabilities/{path}")).is_some_and(Value::is_object);
        let contains = |path: &str, word: &str| list(path).contains(&word);
        Client {
            encoding: Encoding::of_offered(&list("general/positionEncodings")),
            pulls: has("textDocument/diagnostic"),
            refreshes_diagnostics: can("workspace/diagnostics/refreshSupport"),
            refreshes_hints: can("workspace/inlayHint/refreshSupport"),
            refreshes_tokens: can("workspace/semanticTokens/refreshSupport"),
            refreshes_lenses: can("workspace/codeLens/refreshSupport"),
            related: can("textDocument/publishDiagnostics/relatedInformation")
                || can("textDocument/diagnostic/relatedInformation"),
            snippets: can("textDocument/completion/completionItem/snippetSupport"),
            resolves_documentation: contains(
                "textDocument/completion/completionItem/resolveSupport/properties",
                "documentation",
            ),
            markdown: contains("textDocument/hover/contentFormat", "markdown"),
            symbols_nest: can("textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            versioned_edits: can("workspace/workspaceEdit/documentChanges"),
            progress: can("window/workDoneProgress"),
            shows_documents: can("window/showDocument/support"),
            watches_files: can("workspace/didChangeWatchedFiles/dynamicRegistration"),
            shows_results: params.pointer("/initializationOptions/showsResults") == Some(&Value::Bool(true)),
            checks_values: params.pointer("/initializationOptions/checksValues") != Some(&Value::Bool(false)),
            folders: folders(params),
        }
    }
}

/// The folders of the workspace, or the one of a client that knows no more than one.
fn folders(params: &Value) -> Vec<PathBuf> {
    let several = params.pointer("/workspaceFolders").and_then(Value::as_array);
    let mut uris: Vec<&str> = several.into_iter().flatten().filter_map(|f| f.get("uri")?.as_str()).collect();
    if uris.is_empty() {
        uris.extend(params.pointer("/rootUri").and_then(Value::as_str));
    }
    uris.into_iter().filter_map(uri::path).collect()
}
