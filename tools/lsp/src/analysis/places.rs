//! Where spans are, as the client says it.

use super::Analysis;
use crate::text::Text;
use crate::uri;
use gen_lsp_types as lsp;
use remc_base::{ModuleId, Span};
use remc_driver::SourceFile;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Spans of all files as ranges and locations. The lines of a file that is not open are counted once.
pub struct Places<'a> {
    analysis: &'a Analysis,
    texts: RefCell<HashMap<ModuleId, Rc<Text>>>,
}

impl<'a> Places<'a> {
    pub fn new(analysis: &'a Analysis) -> Places<'a> {
        Places { analysis, texts: RefCell::default() }
    }

    pub fn range(&self, span: Span) -> lsp::Range {
        let encoding = self.analysis.client.encoding;
        match self.open(span.module) {
            Some((_, document)) => document.text.range(span.start, span.end, encoding),
            None => self.text(span.module).range(span.start, span.end, encoding),
        }
    }

    pub fn position(&self, module: ModuleId, offset: u32) -> lsp::Position {
        self.range(Span { module, start: offset, end: offset }).start
    }

    pub fn location(&self, span: Span) -> Option<lsp::Location> {
        let uri = lsp::Uri(self.uri(self.analysis.session.file(span.module)?)?);
        Some(lsp::Location { uri, range: self.range(span) })
    }

    /// The version of a document that is open.
    pub fn version(&self, uri: &str) -> Option<i32> {
        self.analysis.documents.get(uri).map(|d| d.version)
    }

    /// What the client calls a file: as it did when it opened it, else by its path.
    pub fn uri(&self, file: SourceFile) -> Option<String> {
        let Analysis { session, pages, nameless, .. } = self.analysis;
        if let Some((uri, _)) = self.open(file.module(&session.db)) {
            return Some(uri.clone());
        }
        if let Some(path) = session.path_of(file) {
            return Some(uri::uri(path));
        }
        if file.prelude(&session.db) {
            let page = pages.write(file.path(&session.db), file.text(&session.db))?;
            return Some(uri::uri(&page));
        }
        nameless.iter().find(|(_, f)| **f == file).map(|(uri, _)| uri.clone())
    }

    fn open(&self, module: ModuleId) -> Option<(&'a String, &'a super::Document)> {
        let file = self.analysis.session.file(module)?;
        self.analysis.documents.iter().find(|(_, d)| d.file == file)
    }

    fn text(&self, module: ModuleId) -> Rc<Text> {
        let read = || {
            let text = self.analysis.session.source(module).map(|(_, text)| text.to_owned());
            Rc::new(Text::new(text.unwrap_or_default()))
        };
        self.texts.borrow_mut().entry(module).or_insert_with(read).clone()
    }
}
