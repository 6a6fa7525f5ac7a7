//! Formatting: of a text, of parts of it, and while it is typed.

use super::Analysis;
use crate::outbox::Answer;
use gen_lsp_types as lsp;

impl Analysis {
    pub(super) fn format(
        &mut self,
        params: lsp::DocumentFormattingParams,
    ) -> Answer<Option<Vec<lsp::TextEdit>>> {
        self.layout(&params.text_document.uri, remc_format::format_forms)
    }

    pub(super) fn format_range(
        &mut self,
        params: lsp::DocumentRangeFormattingParams,
    ) -> Answer<Option<Vec<lsp::TextEdit>>> {
        let range =
            self.document(&params.text_document.uri)?.text.offsets(params.range, self.client.encoding);
        let range = range.start as usize..range.end as usize;
        self.layout(&params.text_document.uri, |text| remc_format::format_range(text, range))
    }

    pub(super) fn format_ranges(
        &mut self,
        params: lsp::DocumentRangesFormattingParams,
    ) -> Answer<Option<Vec<lsp::TextEdit>>> {
        let text = &self.document(&params.text_document.uri)?.text;
        let mut ranges: Vec<_> =
            params.ranges.iter().map(|r| text.offsets(*r, self.client.encoding)).collect();
        ranges.sort_by_key(|r| r.start);
        self.layout(&params.text_document.uri, |text| {
            let mut edits: Vec<remc_format::Edit> = Vec::new();
            for range in ranges {
                let more = remc_format::format_range(text, range.start as usize..range.end as usize);
                // Two ranges may touch one form.
                let end = edits.last().map_or(0, |e| e.range.end);
                edits.extend(more.into_iter().filter(|e| edits_after(e, end)));
            }
            edits.dedup();
            edits
        })
    }

    /// On a bracket that closes, the form is indented; on a new line, that line.
    pub(super) fn format_typed(
        &mut self,
        params: lsp::DocumentOnTypeFormattingParams,
    ) -> Answer<Option<Vec<lsp::TextEdit>>> {
        let document = self.document(&params.text_document.uri)?;
        let offset = document.text.offset(params.position, self.client.encoding) as usize;
        let is_line = params.ch == "\n";
        self.layout(&params.text_document.uri, |text| {
            if !is_line {
                return remc_format::reindent(text, offset);
            }
            let start = text[..offset].rfind('\n').map_or(0, |i| i + 1);
            let is_blank = |c: char| c == ' ' || c == '\t';
            let end = start + text[start..].find(|c| !is_blank(c)).unwrap_or(text.len() - start);
            // The line was broken before its end.
            let broken = start.saturating_sub(1);
            let broken = if text[..broken].ends_with('\r') { broken - 1 } else { broken };
            match remc_format::new_line(text, broken) {
                Some(column) if start > 0 && text[start..end] != " ".repeat(column) => {
                    vec![remc_format::Edit { range: start..end, new: " ".repeat(column) }]
                }
                _ => Vec::new(),
            }
        })
    }

    fn layout(
        &self,
        uri: &lsp::Uri,
        of: impl FnOnce(&str) -> Vec<remc_format::Edit>,
    ) -> Answer<Option<Vec<lsp::TextEdit>>> {
        let document = self.document(uri)?;
        let text = &document.text;
        let edit = |e: remc_format::Edit| lsp::TextEdit {
            range: text.range(e.range.start as u32, e.range.end as u32, self.client.encoding),
            new_text: e.new,
        };
        Ok(Some(of(text.as_str()).into_iter().map(edit).collect()))
    }
}

fn edits_after(edit: &remc_format::Edit, end: usize) -> bool {
    edit.range.start >= end
}
