//! What changes texts: renaming, and what is offered to be done.

use super::Analysis;
use crate::convert;
use crate::outbox::{Answer, Refusal};
use gen_lsp_types as lsp;
use remc_base::{Diagnostic, Span};
use remc_ide::ActionKind;

impl Analysis {
    pub(super) fn can_rename(
        &mut self,
        params: lsp::PrepareRenameParams,
    ) -> Answer<Option<lsp::PrepareRenameResult>> {
        let at = self.at(&params.text_document_position_params)?;
        let span = self.ide().can_rename(at.file, at.offset).map_err(Refusal::failed)?;
        let name =
            self.session.source(span.module).and_then(|(_, t)| t.get(span.start as usize..span.end as usize));
        let placeholder = name.unwrap_or_default().to_owned();
        let range = self.places().range(span);
        let answer = lsp::PrepareRenamePlaceholder { range, placeholder };
        Ok(Some(lsp::PrepareRenameResult::PrepareRenamePlaceholder(answer)))
    }

    pub(super) fn rename(&mut self, params: lsp::RenameParams) -> Answer<Option<lsp::WorkspaceEdit>> {
        let at = self.at(&params.text_document_position_params)?;
        while !self.unread.is_empty() {
            self.read_one();
        }
        let edits = self.ide().rename(at.file, at.offset, &params.new_name).map_err(Refusal::failed)?;
        Ok(Some(convert::workspace_edit(&edits, &self.places(), self.client.versioned_edits)))
    }

    pub(super) fn actions(
        &mut self,
        params: lsp::CodeActionParams,
    ) -> Answer<Option<Vec<lsp::CodeActionResponse>>> {
        let document = self.document(&params.text_document.uri)?;
        let (file, range) = (document.file, document.text.offsets(params.range, self.client.encoding));
        let module = file.module(&self.session.db);
        let found = self.ide().actions(file, range.clone());
        let places = self.places();
        let wanted = |kind: &lsp::CodeActionKind| {
            let kind: String = kind.clone().into();
            params.context.only.as_ref().is_none_or(|only| {
                let wants = |want: &lsp::CodeActionKind| {
                    let want: String = want.clone().into();
                    want.is_empty() || kind == want || kind.starts_with(&format!("{want}."))
                };
                only.iter().any(wants)
            })
        };
        let mut actions = Vec::new();
        for action in &found {
            let kind = match action.kind {
                ActionKind::QuickFix => lsp::CodeActionKind::QuickFix,
                ActionKind::Rewrite => lsp::CodeActionKind::RefactorRewrite,
            };
            if !wanted(&kind) {
                continue;
            }
            let fixes = |d: &Diagnostic<Span>| {
                let d = convert::diagnostic(d, module, &places, self.client.related, None);
                // The client knows it by what it was told.
                let told = params.context.diagnostics.iter().find(|t| t.range == d.range && t.code == d.code);
                told.cloned().unwrap_or(d)
            };
            actions.push(lsp::CodeActionResponse::CodeAction(lsp::CodeAction {
                title: action.title.clone(),
                kind: Some(kind),
                diagnostics: action.fixes.as_ref().map(|d| vec![fixes(d)]),
                is_preferred: action.preferred.then_some(true),
                edit: Some(convert::workspace_edit(&action.edits, &places, self.client.versioned_edits)),
                ..Default::default()
            }));
        }
        let of_claims = self.claim_actions(&params.text_document.uri, range, &params.context.diagnostics);
        actions.extend(
            of_claims
                .into_iter()
                .filter(|a| a.kind.as_ref().is_none_or(wanted))
                .map(lsp::CodeActionResponse::CodeAction),
        );
        Ok(Some(actions))
    }
}
