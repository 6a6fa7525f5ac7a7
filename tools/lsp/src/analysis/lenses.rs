//! Lenses and commands: what of a document can be run, and running it.

use super::{Analysis, Asked};
use crate::outbox::{Answer, Refusal};
use crate::runs::{EXPLAIN, FILL, Program, RUN, Then};
use crate::text::difference;
use gen_lsp_types as lsp;
use remc_driver::names::DefKind;
use remc_driver::queries::check;
use remc_driver::{Def, SourceFile};
use remc_ide::LensKind;
use serde_json::{Value, json};
use std::ops::Range;

impl Analysis {
    pub(super) fn lenses(&mut self, params: lsp::CodeLensParams) -> Answer<Option<Vec<lsp::CodeLens>>> {
        let uri = params.text_document.uri;
        let file = self.document(&uri)?.file;
        let lenses = self.ide().lenses(file);
        let examples = self.examples(file);
        let places = self.places();
        let lens = |l: &remc_ide::Lens| {
            let (command, mut title) = match l.kind {
                LensKind::Run => (RUN, "Run".to_owned()),
                LensKind::Explain => (EXPLAIN, "Explain performance".to_owned()),
            };
            if l.kind == LensKind::Run
                && let Some((_, example)) = examples.iter().find(|(name, _)| *name == l.name.as_str())
            {
                title = format!("Run {}", shortened(example));
            }
            lsp::CodeLens {
                range: places.range(l.span),
                command: Some(lsp::Command {
                    title,
                    tooltip: None,
                    command: command.to_owned(),
                    arguments: Some(vec![json!(uri.0), json!(l.name.as_str())]),
                }),
                data: None,
            }
        };
        Ok(Some(lenses.iter().map(lens).collect()))
    }

    /// The first example above each entry, whether it has a value yet or not.
    fn examples(&self, file: SourceFile) -> Vec<(String, String)> {
        let db = &self.session.db;
        let entries = self.session.entries(file).into_iter();
        let first = |def: Def<'_>| {
            let comment = def.doc(db).as_deref()?;
            let source = comment.lines().find_map(|line| Some(example(line)?.0.trim().to_owned()))?;
            Some((def.name(db).to_string(), source))
        };
        entries.filter_map(first).collect()
    }

    /// Runs a command; the request is answered when it is done.
    pub(super) fn execute(&mut self, id: Asked<'_>, params: lsp::ExecuteCommandParams) -> Answer<()> {
        let arguments = params.arguments.unwrap_or_default();
        let text = |nth: usize| arguments.get(nth).and_then(Value::as_str);
        let command = params.command.as_str();
        if !matches!(command, RUN | EXPLAIN | FILL) {
            return Err(Refusal::of_parameters(format!("there is no command `{command}`")));
        }
        let Some(uri) = text(0) else {
            return Err(Refusal::of_parameters(format!("`{command}` takes the arguments [uri, name]")));
        };
        let document = self.document(&lsp::Uri(uri.to_owned()))?;
        let file = document.file;
        let def = self.chosen(file, text(1))?;
        let name = def.name(&self.session.db).to_string();
        let (mut expression, mut called) = (None, shown(&name));
        let then = match command {
            RUN => {
                expression = self.example_of(file, def)?;
                called = expression.as_deref().map_or(called, shortened);
                Then::Show
            }
            EXPLAIN => Then::Explain,
            _ => {
                let Some(source) = text(2) else {
                    return Err(Refusal::of_parameters(format!("`{command}` takes [uri, name, expression]")));
                };
                expression = Some(source.to_owned());
                called = shortened(source);
                self.filler(uri, source)?
            }
        };
        let program = self.program(uri, name, expression)?;
        self.runs.start(id.clone(), program, called, then);
        Ok(())
    }

    /// What a command names: a definition, or else the last expression, or else the only entry.
    fn chosen(&self, file: SourceFile, name: Option<&str>) -> Answer<Def<'_>> {
        let db = &self.session.db;
        let can_run = |d: &Def<'_>| matches!(d.kind(db), DefKind::Entry | DefKind::Expr | DefKind::Value);
        match name {
            Some(name) => {
                let named =
                    self.session.defs(file).iter().find(|d| can_run(d) && d.name(db).as_str() == name);
                named
                    .copied()
                    .ok_or_else(|| Refusal::failed(format!("there is no `{}` any more", shown(name))))
            }
            None => match (self.session.value(file), self.session.entries(file).as_slice()) {
                (Some(value), _) => Ok(value),
                (None, [one]) => Ok(*one),
                (None, []) => Err(Refusal::failed(
                    "there is nothing to run: the file has neither an expression nor an entry",
                )),
                (None, _) => Err(Refusal::failed("the file has several entries: say which")),
            },
        }
    }

    /// The expression that stands for an entry with inputs: the example above it.
    fn example_of(&self, file: SourceFile, def: Def<'_>) -> Answer<Option<String>> {
        let db = &self.session.db;
        let name = def.name(db).as_str();
        let takes = |d: &remc_typed::ir::Definition| d.entry.as_ref().is_some_and(|e| !e.params.is_empty());
        if !check(db, def).definition.as_ref().is_some_and(|d| takes(d)) {
            return Ok(None);
        }
        match self.examples(file).into_iter().find(|(of, _)| of == name) {
            Some((_, example)) => Ok(Some(example)),
            None => Err(Refusal::failed(format!(
                "`{name}` takes inputs: write an example of its use into the comment above it, such as `; ({name} …) ⇒ …`"
            ))),
        }
    }

    fn program(&self, uri: &str, name: String, expression: Option<String>) -> Answer<Program> {
        let document = self.document(&lsp::Uri(uri.to_owned()))?;
        let others = self.documents.values().filter(|d| d.file != document.file);
        let buffers = others.filter_map(|d| Some((d.path.clone()?, d.text.as_str().to_owned()))).collect();
        let nameless = || {
            let folder = self.client.folders.first().cloned().unwrap_or_default();
            folder.join(crate::uri::shown(uri).replace(['/', ':'], "_"))
        };
        Ok(Program {
            path: document.path.clone().unwrap_or_else(nameless),
            text: document.text.as_str().to_owned(),
            buffers,
            name,
            expression,
        })
    }

    /// Offers to write the values of examples in comments: of those in the range.
    pub(super) fn example_actions(&self, uri: &lsp::Uri, range: Range<u32>) -> Vec<lsp::CodeActionResponse> {
        let Some(document) = self.documents.get(&uri.0) else { return Vec::new() };
        let text = document.text.as_str();
        let mut actions = Vec::new();
        for example in examples_in(text).filter(|e| e.line.start <= range.end && range.start <= e.line.end) {
            let Some(def) = self.defined_below(document.file, example.line.end) else { continue };
            let title = match example.value.trim() {
                "" => "Fill in the value",
                _ => "Fill in the value again",
            };
            actions.push(lsp::CodeActionResponse::CodeAction(lsp::CodeAction {
                title: format!("{title} of {}", shortened(example.source)),
                kind: Some(lsp::CodeActionKind::RefactorRewrite),
                command: Some(lsp::Command {
                    title: title.to_owned(),
                    tooltip: None,
                    command: FILL.to_owned(),
                    arguments: Some(vec![json!(uri.0), json!(def), json!(example.source)]),
                }),
                ..Default::default()
            }));
        }
        actions
    }

    /// The name of the first form that begins behind a place.
    fn defined_below(&self, file: SourceFile, offset: u32) -> Option<String> {
        let below = self.session.defs(file).iter().find(|d| self.session.item_span(**d).start >= offset)?;
        Some(below.name(&self.session.db).to_string())
    }

    /// The edit that writes a value behind the arrow of an example, for when it is known.
    fn filler(&self, uri: &str, source: &str) -> Answer<Then> {
        let document = self.document(&lsp::Uri(uri.to_owned()))?;
        let text = document.text.clone();
        let Some(example) = examples_in(text.as_str()).find(|e| e.source == source) else {
            return Err(Refusal::failed("the example is not there any more"));
        };
        let (at, end) = (example.arrow_end, example.line.end);
        let (uri, version, encoding) = (lsp::Uri(uri.to_owned()), document.version, self.client.encoding);
        let versioned = self.client.versioned_edits;
        Ok(Then::Fill(Box::new(move |value| {
            // A comment's example is of one line.
            let value = value.split_whitespace().fold(String::new(), |line, word| line + " " + word);
            let old = &text.as_str()[at as usize..end as usize];
            let (from, to, new) = difference(old, &value);
            let range = text.range(at + from, at + to, encoding);
            let edits = vec![lsp::TextEdit { range, new_text: new.to_owned() }];
            if !versioned {
                let changes = [(uri, edits)].into_iter().collect();
                return lsp::WorkspaceEdit { changes: Some(changes), ..Default::default() };
            }
            let text_document = lsp::OptionalVersionedTextDocumentIdentifier {
                version: Some(version),
                text_document_identifier: lsp::TextDocumentIdentifier { uri },
            };
            let edits = edits.into_iter().map(lsp::Edit::TextEdit).collect();
            let change =
                lsp::DocumentChange::TextDocumentEdit(lsp::TextDocumentEdit { text_document, edits });
            lsp::WorkspaceEdit { document_changes: Some(vec![change]), ..Default::default() }
        })))
    }
}

/// An example in a comment: `; (f 1) ⇒ 2`.
struct Example<'t> {
    /// Without the end of the line.
    line: Range<u32>,
    source: &'t str,
    value: &'t str,
    /// Where the arrow ends.
    arrow_end: u32,
}

fn examples_in(text: &str) -> impl Iterator<Item = Example<'_>> {
    let mut start = 0;
    text.split_inclusive('\n').filter_map(move |line| {
        let at = start;
        start += line.len();
        let inside = line.trim_end_matches(['\n', '\r']);
        let comment = inside.trim_start().strip_prefix(';')?.trim_start_matches(';');
        let (source, value) = example(comment)?;
        let arrow_end = at + inside.len() - value.len();
        Some(Example {
            line: at as u32..(at + inside.len()) as u32,
            source: source.trim(),
            value,
            arrow_end: arrow_end as u32,
        })
    })
}

/// What a line of a comment has before and behind its arrow.
fn example(line: &str) -> Option<(&str, &str)> {
    let parts = line.split_once(" ⇒").or_else(|| line.split_once(" =>"))?;
    (!parts.0.trim().is_empty()).then_some(parts)
}

/// What people call a definition.
fn shown(name: &str) -> String {
    match name.strip_prefix("#expr") {
        Some(_) => "the expression".to_owned(),
        None => name.to_owned(),
    }
}

/// A text of one line that is not too long for a title.
fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST {
        return line;
    }
    line.chars().take(MOST - 1).chain(['…']).collect()
}
