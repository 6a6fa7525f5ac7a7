//! The editor's answers as messages of the protocol.

use crate::analysis::Places;
use gen_lsp_types as lsp;
use remc_base::{Diagnostic, Severity, Span};
use remc_driver::render::shape_rows;
use remc_ide::{Completion, CompletionKind, FoldKind, SymbolKind};
use std::collections::BTreeMap;

/// A diagnostic of a file, as one text with its notes, and its other places beside it.
pub fn diagnostic(
    d: &Diagnostic<Span>,
    module: remc_base::ModuleId,
    places: &Places<'_>,
    related: bool,
    page: Option<String>,
) -> lsp::Diagnostic {
    let here = |l: &&remc_base::Label<Span>| l.loc.module == module;
    let primary = d.labels.iter().filter(here).find(|l| l.primary).or_else(|| d.labels.iter().find(here));
    let mut message = d.message.clone();
    let mut line = |text: &str| {
        message.push('\n');
        message.push_str(text);
    };
    if let Some(label) = primary.filter(|l| !l.text.is_empty()) {
        line(&label.text);
    }
    if let Some(shapes) = &d.shapes {
        shape_rows(shapes).iter().for_each(|row| line(row));
    }
    d.notes.iter().for_each(|note| line(&format!("note: {note}")));
    d.help.iter().for_each(|help| line(&format!("help: {help}")));
    let others = d.labels.iter().filter(|l| !primary.is_some_and(|p| std::ptr::eq(p, *l)));
    let information = |l: &remc_base::Label<Span>| {
        let location = places.location(l.loc)?;
        let message = if l.text.is_empty() { d.message.clone() } else { l.text.clone() };
        Some(lsp::DiagnosticRelatedInformation { location, message })
    };
    let others: Vec<_> = others.filter_map(information).collect();
    lsp::Diagnostic {
        range: primary.map(|l| places.range(l.loc)).unwrap_or_default(),
        severity: Some(match d.severity {
            Severity::Error => lsp::DiagnosticSeverity::Error,
            Severity::Warning => lsp::DiagnosticSeverity::Warning,
            Severity::Note => lsp::DiagnosticSeverity::Information,
        }),
        code: Some(lsp::Code::String(d.code.0.to_owned())),
        code_description: page.map(|href| lsp::CodeDescription { href: lsp::Uri(href) }),
        source: Some("remc".to_owned()),
        message: lsp::Message::String(message),
        related_information: (related && !others.is_empty()).then_some(others),
        ..Default::default()
    }
}

pub fn markdown(text: String) -> lsp::MarkupContent {
    lsp::MarkupContent { kind: lsp::MarkupKind::Markdown, value: text }
}

/// Where a definition is.
pub fn locations(spans: &[Span], places: &Places<'_>) -> Vec<lsp::Location> {
    spans.iter().filter_map(|s| places.location(*s)).collect()
}

/// Edits of several files.
pub fn workspace_edit(edits: &[remc_ide::Edit], places: &Places<'_>, versioned: bool) -> lsp::WorkspaceEdit {
    let mut by_file: BTreeMap<String, (Option<i32>, Vec<lsp::TextEdit>)> = BTreeMap::new();
    for edit in edits {
        let Some(location) = places.location(edit.span) else { continue };
        let version = places.version(&location.uri.0);
        let (_, all) = by_file.entry(location.uri.0).or_insert((version, Vec::new()));
        all.push(lsp::TextEdit { range: location.range, new_text: edit.text.clone() });
    }
    if !versioned {
        let changes = by_file.into_iter().map(|(uri, (_, edits))| (lsp::Uri(uri), edits)).collect();
        return lsp::WorkspaceEdit { changes: Some(changes), ..Default::default() };
    }
    let change = |(uri, (version, edits)): (String, (Option<i32>, Vec<lsp::TextEdit>))| {
        let text_document_identifier = lsp::TextDocumentIdentifier { uri: lsp::Uri(uri) };
        lsp::DocumentChange::TextDocumentEdit(lsp::TextDocumentEdit {
            text_document: lsp::OptionalVersionedTextDocumentIdentifier { version, text_document_identifier },
            edits: edits.into_iter().map(lsp::Edit::TextEdit).collect(),
        })
    };
    let changes = by_file.into_iter().map(change).collect();
    lsp::WorkspaceEdit { document_changes: Some(changes), ..Default::default() }
}

/// A completion; `nth` is its place among the others, best first.
pub fn completion(
    c: &Completion,
    nth: usize,
    places: &Places<'_>,
    snippets: bool,
    documented: bool,
) -> lsp::CompletionItem {
    let is_snippet = c.snippet && snippets;
    let new_text = if c.snippet && !snippets { without_places(&c.edit.text) } else { c.edit.text.clone() };
    let documentation = (documented && !c.documentation.is_empty())
        .then(|| lsp::Documentation::MarkupContent(markdown(c.documentation.clone())));
    lsp::CompletionItem {
        label: c.label.clone(),
        kind: Some(match c.kind {
            CompletionKind::Local => lsp::CompletionItemKind::Variable,
            CompletionKind::Size => lsp::CompletionItemKind::TypeParameter,
            CompletionKind::Function => lsp::CompletionItemKind::Function,
            CompletionKind::Value => lsp::CompletionItemKind::Constant,
            CompletionKind::Entry => lsp::CompletionItemKind::Method,
            CompletionKind::Type => lsp::CompletionItemKind::Class,
            CompletionKind::Field => lsp::CompletionItemKind::Field,
            CompletionKind::Form => lsp::CompletionItemKind::Keyword,
            CompletionKind::File => lsp::CompletionItemKind::File,
        }),
        detail: (!c.detail.is_empty()).then(|| c.detail.clone()),
        documentation,
        preselect: (nth == 0).then_some(true),
        sort_text: Some(format!("{nth:05}")),
        insert_text_format: Some(match is_snippet {
            true => lsp::InsertTextFormat::Snippet,
            false => lsp::InsertTextFormat::PlainText,
        }),
        text_edit: Some(lsp::CompletionItemTextEdit::TextEdit(lsp::TextEdit {
            range: places.range(c.edit.span),
            new_text,
        })),
        ..Default::default()
    }
}

/// A snippet as the text that stands there before anything is filled in: `${1:x}` is `x`, `$0` nothing.
fn without_places(snippet: &str) -> String {
    let mut out = String::new();
    let mut chars = snippet.chars().peekable();
    // The braces of places that are open.
    let mut open = 0;
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            '$' if chars.peek() == Some(&'{') => {
                chars.next();
                while chars.next_if(char::is_ascii_digit).is_some() {}
                chars.next_if_eq(&':');
                open += 1;
            }
            '$' => while chars.next_if(char::is_ascii_digit).is_some() {},
            '}' if open > 0 => open -= 1,
            c => out.push(c),
        }
    }
    out
}

pub fn symbol_kind(kind: SymbolKind) -> lsp::SymbolKind {
    match kind {
        SymbolKind::Function => lsp::SymbolKind::Function,
        SymbolKind::Value => lsp::SymbolKind::Constant,
        SymbolKind::Entry => lsp::SymbolKind::Method,
        SymbolKind::Type => lsp::SymbolKind::Class,
        SymbolKind::Import => lsp::SymbolKind::Module,
        SymbolKind::Expression => lsp::SymbolKind::Event,
    }
}

pub fn fold_kind(kind: FoldKind) -> Option<lsp::FoldingRangeKind> {
    match kind {
        FoldKind::Comment => Some(lsp::FoldingRangeKind::Comment),
        FoldKind::Imports => Some(lsp::FoldingRangeKind::Imports),
        FoldKind::Form => None,
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn snippets_for_clients_without_them() {
        let is = |snippet: &str, text: &str| assert_eq!(super::without_places(snippet), text);
        is("(define (${1:f} ${2:x}) $0)", "(define (f x) )");
        is("f\\{t\\}${3}", "f{t}");
        is("(let ((${1:a {b}} 1)) $2)", "(let ((a {b}} 1)) )".replace("}}", "}").as_str());
    }
}
