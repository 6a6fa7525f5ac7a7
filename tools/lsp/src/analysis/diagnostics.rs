//! What is wrong with a document, told as it changes or when the client asks.

use super::Analysis;
use crate::convert;
use crate::good::Form;
use crate::outbox::Answer;
use crate::uri;
use gen_lsp_types as lsp;
use remc_base::{Diagnostic, Span};
use remc_driver::names::{DefKind, parse};
use remc_driver::queries::check;
use remc_driver::{Def, SourceFile};
use remc_ide::Ide;
use std::hash::{DefaultHasher, Hash, Hasher};

impl Analysis {
    /// Tells the client what is wrong with a document, unless it knows.
    pub(super) fn tell_diagnostics(&mut self, uri: &str) {
        if !self.documents.contains_key(uri) {
            return;
        }
        let found = self.diagnostics(uri);
        let Some(document) = self.documents.get_mut(uri) else { return };
        if document.told.as_ref() == Some(&found) {
            return;
        }
        document.told = Some(found.clone());
        self.outbox.notify::<lsp::PublishDiagnosticsNotification>(lsp::PublishDiagnosticsParams {
            uri: lsp::Uri(uri.to_owned()),
            version: Some(document.version),
            diagnostics: found,
        });
    }

    /// The answer to a client that asks for them.
    pub(super) fn pulled(
        &mut self,
        params: lsp::DocumentDiagnosticParams,
    ) -> Answer<lsp::DocumentDiagnosticReport> {
        let uri = params.text_document.uri;
        self.document(&uri)?;
        let items = self.diagnostics(&uri.0);
        let mut hasher = DefaultHasher::new();
        items.hash(&mut hasher);
        let id = format!("{:016x}", hasher.finish());
        if params.previous_result_id.as_ref() == Some(&id) {
            return Ok(lsp::DocumentDiagnosticReport::RelatedUnchangedDocumentDiagnosticReport(
                lsp::RelatedUnchangedDocumentDiagnosticReport {
                    related_documents: None,
                    unchanged_document_diagnostic_report: lsp::UnchangedDocumentDiagnosticReport {
                        result_id: id,
                    },
                },
            ));
        }
        Ok(lsp::DocumentDiagnosticReport::RelatedFullDocumentDiagnosticReport(
            lsp::RelatedFullDocumentDiagnosticReport {
                related_documents: None,
                full_document_diagnostic_report: lsp::FullDocumentDiagnosticReport {
                    result_id: Some(id),
                    items,
                },
            },
        ))
    }

    /// What is wrong with a document now; the forms that are right become its last good ones.
    fn diagnostics(&mut self, uri: &str) -> Vec<lsp::Diagnostic> {
        let Some(file) = self.documents.get(uri).map(|d| d.file) else { return Vec::new() };
        let module = file.module(&self.session.db);
        let found = Ide::new(&self.session).diagnostics(file);
        let forms = self.forms(file);
        let places = self.places();
        let mut converted: Vec<lsp::Diagnostic> = found
            .iter()
            .map(|d| convert::diagnostic(d, module, &places, self.client.related, self.page(d)))
            .collect();
        converted.extend(self.wrong_claims(uri).into_iter().map(|wrong| wrong.diagnostic));
        if let Some(document) = self.documents.get_mut(uri) {
            document.good.renew(document.text.as_str(), &forms);
        }
        converted
    }

    /// The forms of a file, in the order of the text; those are wrong that do not parse or do not check.
    fn forms(&self, file: SourceFile) -> Vec<Form> {
        let db = &self.session.db;
        let mut misread: Vec<u32> = parse(db, file).diagnostics(db).iter().filter_map(error_at).collect();
        misread.sort_unstable();
        let is_misread = |span: Span| {
            misread.get(misread.partition_point(|at| *at < span.start)).is_some_and(|at| *at <= span.end)
        };
        let does_not_check = |def: Def<'_>| {
            def.kind(db) == DefKind::Error || check(db, def).diagnostics.iter().any(Diagnostic::is_error)
        };
        let form = |def: &Def<'_>| {
            let span = self.session.item_span(*def);
            Form { span: span.start..span.end, wrong: is_misread(span) || does_not_check(*def) }
        };
        self.session.defs(file).iter().map(form).collect()
    }

    /// Where the forms of a file are that are wrong.
    pub(super) fn wrong_forms(&self, file: SourceFile) -> Vec<Span> {
        let module = file.module(&self.session.db);
        let wrong = self.forms(file).into_iter().filter(|form| form.wrong);
        wrong.map(|form| Span { module, start: form.span.start, end: form.span.end }).collect()
    }

    /// Whether the form at a place is wrong; what is in no form may be what is left of one.
    pub(super) fn is_wrong_at(&self, file: SourceFile, offset: u32) -> bool {
        let forms = self.forms(file);
        let at = forms.iter().find(|form| form.span.start <= offset && offset <= form.span.end);
        at.is_none_or(|form| form.wrong)
    }

    /// The page about the code of a diagnostic.
    fn page(&self, d: &Diagnostic<Span>) -> Option<String> {
        let text = (self.explanation)(d.code.0)?;
        Some(uri::uri(&self.pages.write(&format!("{}.md", d.code.0), &text)?))
    }
}

/// Where an error is.
fn error_at(d: &Diagnostic<Span>) -> Option<u32> {
    let label = d.labels.iter().find(|l| l.primary).or(d.labels.first())?;
    d.is_error().then_some(label.loc.start)
}
