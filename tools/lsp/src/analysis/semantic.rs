//! Semantic tokens: all, some, or what has changed of them.

use super::Analysis;
use crate::outbox::Answer;
use crate::tokens::{delta, encode};
use gen_lsp_types as lsp;
use remc_base::Span;
use remc_driver::SourceFile;
use remc_ide::Token;
use rustc_hash::FxHashMap;
use std::ops::Range;

impl Analysis {
    pub(super) fn tokens(
        &mut self,
        params: lsp::SemanticTokensParams,
    ) -> Answer<Option<lsp::SemanticTokens>> {
        let uri = params.text_document.uri;
        let data = self.encoded(&uri, None)?;
        let id = self.keep(&uri.0, data.clone());
        Ok(Some(lsp::SemanticTokens { result_id: Some(id), data }))
    }

    pub(super) fn tokens_delta(
        &mut self,
        params: lsp::SemanticTokensDeltaParams,
    ) -> Answer<Option<lsp::SemanticTokensDeltaResponse>> {
        let uri = params.text_document.uri;
        let data = self.encoded(&uri, None)?;
        let old = self.document(&uri)?.tokens.clone();
        let id = self.keep(&uri.0, data.clone());
        Ok(Some(if old.0 > 0 && old.0.to_string() == params.previous_result_id {
            let edits = delta(&old.1, &data);
            lsp::SemanticTokensDeltaResponse::SemanticTokensDelta(lsp::SemanticTokensDelta {
                result_id: Some(id),
                edits,
            })
        } else {
            lsp::SemanticTokensDeltaResponse::SemanticTokens(lsp::SemanticTokens {
                result_id: Some(id),
                data,
            })
        }))
    }

    pub(super) fn tokens_of_range(
        &mut self,
        params: lsp::SemanticTokensRangeParams,
    ) -> Answer<Option<lsp::SemanticTokens>> {
        let uri = params.text_document.uri;
        let range = self.document(&uri)?.text.offsets(params.range, self.client.encoding);
        let data = self.encoded(&uri, Some(range))?;
        Ok(Some(lsp::SemanticTokens { result_id: None, data }))
    }

    fn encoded(&mut self, uri: &lsp::Uri, range: Option<Range<u32>>) -> Answer<Vec<lsp::SemanticToken>> {
        let file = self.document(uri)?.file;
        let mut tokens = self.ide().tokens(file, range);
        self.improve(&uri.0, file, &mut tokens);
        tokens.sort_by_key(|t| t.span.start);
        Ok(encode(&tokens, &self.document(uri)?.text, self.client.encoding))
    }

    /// In forms that are wrong now, names are what they were when they were right.
    fn improve(&mut self, uri: &str, file: SourceFile, tokens: &mut [Token]) {
        let wrong = self.wrong_forms(file);
        let is_wrong = |t: &Token| wrong.iter().any(|s| s.start <= t.span.start && t.span.end <= s.end);
        if !tokens.iter().any(is_wrong) {
            return;
        }
        let Some(good) = self.good_file(uri) else { return };
        let Some(document) = self.documents.get(uri) else { return };
        let forms = wrong.iter().filter_map(|s| document.good.forms_of(s.start..s.end));
        let were: FxHashMap<Span, Token> = forms
            .flat_map(|forms| self.ide().tokens(good, Some(forms)))
            .filter_map(|t| Some((self.part_now(t.span)?, t)))
            .collect();
        for token in tokens.iter_mut().filter(|t| is_wrong(t)) {
            if let Some(was) = were.get(&token.span) {
                *token = Token { span: token.span, ..was.clone() };
            }
        }
    }

    fn keep(&mut self, uri: &str, data: Vec<lsp::SemanticToken>) -> String {
        self.serial += 1;
        if let Some(document) = self.documents.get_mut(uri) {
            document.tokens = (self.serial, data);
        }
        self.serial.to_string()
    }
}
