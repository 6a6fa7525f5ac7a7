//! Lenses and commands: what of a document can be run, and running it.

use super::{Analysis, Asked};
use crate::outbox::{Answer, Refusal};
use crate::runs::{CHECK, COMMANDS, ELEMENTS, EXPLAIN, FILL, Program, RUN, RUN_LIMIT, Then, What};
use gen_lsp_types as lsp;
use remc_driver::names::DefKind;
use remc_driver::queries::check;
use remc_driver::{Def, SourceFile};
use remc_ide::LensKind;
use serde_json::{Value, json};

impl Analysis {
    pub(super) fn lenses(&mut self, params: lsp::CodeLensParams) -> Answer<Option<Vec<lsp::CodeLens>>> {
        let uri = params.text_document.uri;
        let file = self.document(&uri)?.file;
        let lenses = self.ide().lenses(file);
        let examples = self.examples(&uri.0);
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

    /// Runs a command; the request is answered when it is done.
    pub(super) fn execute(&mut self, id: Asked<'_>, params: lsp::ExecuteCommandParams) -> Answer<()> {
        let arguments = params.arguments.unwrap_or_default();
        let text = |nth: usize| arguments.get(nth).and_then(Value::as_str);
        let command = params.command.as_str();
        if !COMMANDS.contains(&command) {
            return Err(Refusal::of_parameters(format!("there is no command `{command}`")));
        }
        let Some(uri) = text(0) else {
            return Err(Refusal::of_parameters(format!("`{command}` takes the arguments [uri, name]")));
        };
        let document = self.document(&lsp::Uri(uri.to_owned()))?;
        let file = document.file;
        match command {
            CHECK => return self.search(uri, Some(id.clone())),
            FILL => {
                let nth = arguments.get(2).and_then(Value::as_u64).unwrap_or(0);
                let Some(source) = text(1) else {
                    return Err(Refusal::of_parameters(format!(
                        "`{command}` takes the arguments [uri, expression]"
                    )));
                };
                return self.fill(id, uri, source, nth as usize);
            }
            _ => {}
        }
        let def = self.chosen(file, text(1))?;
        let name = def.name(&self.session.db).to_string();
        let (mut what, mut called) = (What::Definition(name.clone()), shown(&name));
        let then = match command {
            RUN => {
                if let Some(example) = self.example_of(uri, def)? {
                    called = shortened(&example);
                    what = What::Expression(example);
                }
                Then::Show
            }
            _ => Then::Explain,
        };
        let program = self.program(uri, what)?;
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
    fn example_of(&self, uri: &str, def: Def<'_>) -> Answer<Option<String>> {
        let db = &self.session.db;
        let name = def.name(db).as_str();
        let takes = |d: &remc_typed::ir::Definition| d.entry.as_ref().is_some_and(|e| !e.params.is_empty());
        if !check(db, def).definition.as_ref().is_some_and(|d| takes(d)) {
            return Ok(None);
        }
        match self.examples(uri).into_iter().find(|(of, _)| of == name) {
            Some((_, example)) => Ok(Some(example)),
            None => Err(Refusal::failed(format!(
                "`{name}` takes inputs: write an example of its use into the comment above it, such as `; ({name} …) ⇒ …`"
            ))),
        }
    }

    /// A document as it is now, and what of it is run.
    pub(super) fn program(&self, uri: &str, what: What) -> Answer<Program> {
        let document = self.document(&lsp::Uri(uri.to_owned()))?;
        let others = self.documents.values().filter(|d| d.file != document.file);
        let buffers = others.filter_map(|d| Some((d.path.clone()?, d.text.as_str().into()))).collect();
        let nameless = || {
            let folder = self.client.folders.first().cloned().unwrap_or_default();
            folder.join(crate::uri::shown(uri).replace(['/', ':'], "_"))
        };
        Ok(Program {
            path: document.path.clone().unwrap_or_else(nameless),
            text: document.text.as_str().into(),
            buffers,
            what,
            limit: RUN_LIMIT,
            elements: ELEMENTS,
        })
    }
}

/// What people call a definition.
fn shown(name: &str) -> String {
    match name.strip_prefix("#expr") {
        Some(_) => "the expression".to_owned(),
        None => name.to_owned(),
    }
}

/// A text of one line that is not too long for a title.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST {
        return line;
    }
    line.chars().take(MOST - 1).chain(['…']).collect()
}
