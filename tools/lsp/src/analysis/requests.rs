//! Each request, and what answers it.

use super::{Analysis, Asked, Later, now, read};
use crate::convert;
use crate::outbox::{Answer, Refusal};
use gen_lsp_types as lsp;
use lsp::Request;
use lsp_server::ErrorCode;
use remc_base::Span;
use remc_driver::SourceFile;
use remc_ide::Ide;
use serde_json::Value;

/// A place of a document that is open.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub file: SourceFile,
    pub offset: u32,
}

impl Analysis {
    /// Answers a request; `None` if somebody else does, later.
    pub(super) fn route(&mut self, id: Asked<'_>, method: &str, params: Value) -> Later<Answer<Value>> {
        /// The method's own parameters and result: what `of` takes and gives.
        macro_rules! answer {
            ($request:ty, $of:expr) => {{
                debug_assert_eq!(String::from(<$request>::METHOD), method);
                let of: fn(
                    &mut Analysis,
                    <$request as Request>::Params,
                ) -> Answer<<$request as Request>::Result> = $of;
                now(read(params).and_then(|params| of(self, params)))
            }};
        }
        match method {
            "textDocument/hover" => answer!(lsp::HoverRequest, Analysis::hover),
            "textDocument/definition" => answer!(lsp::DefinitionRequest, Analysis::definition),
            "textDocument/references" => answer!(lsp::ReferencesRequest, Analysis::references),
            "textDocument/documentHighlight" => answer!(lsp::DocumentHighlightRequest, Analysis::highlights),
            "textDocument/prepareRename" => answer!(lsp::PrepareRenameRequest, Analysis::can_rename),
            "textDocument/rename" => answer!(lsp::RenameRequest, Analysis::rename),
            "textDocument/completion" => answer!(lsp::CompletionRequest, Analysis::completions),
            "completionItem/resolve" => answer!(lsp::CompletionResolveRequest, Analysis::resolved),
            "textDocument/signatureHelp" => answer!(lsp::SignatureHelpRequest, Analysis::signature),
            "textDocument/inlayHint" => answer!(lsp::InlayHintRequest, Analysis::hints),
            "textDocument/documentSymbol" => answer!(lsp::DocumentSymbolRequest, Analysis::symbols),
            "workspace/symbol" => answer!(lsp::WorkspaceSymbolRequest, Analysis::workspace_symbols),
            "textDocument/foldingRange" => answer!(lsp::FoldingRangeRequest, Analysis::folds),
            "textDocument/selectionRange" => answer!(lsp::SelectionRangeRequest, Analysis::selections),
            "textDocument/semanticTokens/full" => answer!(lsp::SemanticTokensRequest, Analysis::tokens),
            "textDocument/semanticTokens/full/delta" => {
                answer!(lsp::SemanticTokensDeltaRequest, Analysis::tokens_delta)
            }
            "textDocument/semanticTokens/range" => {
                answer!(lsp::SemanticTokensRangeRequest, Analysis::tokens_of_range)
            }
            "textDocument/formatting" => answer!(lsp::DocumentFormattingRequest, Analysis::format),
            "textDocument/rangeFormatting" => {
                answer!(lsp::DocumentRangeFormattingRequest, Analysis::format_range)
            }
            "textDocument/rangesFormatting" => {
                answer!(lsp::DocumentRangesFormattingRequest, Analysis::format_ranges)
            }
            "textDocument/onTypeFormatting" => {
                answer!(lsp::DocumentOnTypeFormattingRequest, Analysis::format_typed)
            }
            "textDocument/codeAction" => answer!(lsp::CodeActionRequest, Analysis::actions),
            "textDocument/codeLens" => answer!(lsp::CodeLensRequest, Analysis::lenses),
            "textDocument/diagnostic" => answer!(lsp::DocumentDiagnosticRequest, Analysis::pulled),
            "workspace/executeCommand" => match read(params).and_then(|params| self.execute(id, params)) {
                Ok(()) => None,
                Err(refusal) => Some(Err(refusal)),
            },
            _ => {
                let said = format!("remc has no `{method}`");
                Some(Err(Refusal::new(ErrorCode::MethodNotFound, said)))
            }
        }
    }

    pub(super) fn ide(&self) -> Ide<'_> {
        Ide::new(&self.session)
    }

    pub(super) fn at(&self, params: &lsp::TextDocumentPositionParams) -> Answer<Place> {
        let document = self.document(&params.text_document.uri)?;
        let offset = document.text.offset(params.position, self.client.encoding);
        Ok(Place { file: document.file, offset })
    }

    /// Asks about a place; where there is no answer because the form at hand is wrong, about that place in its last good
    /// version.
    fn ask<T>(
        &mut self,
        uri: &lsp::Uri,
        at: Place,
        of: impl Fn(&Ide<'_>, SourceFile, u32) -> Option<T>,
        back: impl Fn(&Analysis, T) -> Option<T>,
    ) -> Option<T> {
        let now = of(&self.ide(), at.file, at.offset);
        now.or_else(|| self.ask_good(uri, at, of, back))
    }

    /// … about its last good version first, where the form is wrong: of what has types only that knows all.
    fn ask_types<T>(
        &mut self,
        uri: &lsp::Uri,
        at: Place,
        of: impl Fn(&Ide<'_>, SourceFile, u32) -> Option<T>,
        back: impl Fn(&Analysis, T) -> Option<T>,
    ) -> Option<T> {
        self.ask_good(uri, at, &of, back).or_else(|| of(&self.ide(), at.file, at.offset))
    }

    fn ask_good<T>(
        &mut self,
        uri: &lsp::Uri,
        at: Place,
        of: impl Fn(&Ide<'_>, SourceFile, u32) -> Option<T>,
        back: impl Fn(&Analysis, T) -> Option<T>,
    ) -> Option<T> {
        if !self.is_wrong_at(at.file, at.offset) {
            return None;
        }
        let offset = self.documents.get(&uri.0)?.good.to_good(at.offset)?;
        let good = self.good_file(&uri.0)?;
        let answer = of(&self.ide(), good, offset)?;
        back(self, answer)
    }

    /// The last good version of a document, as a file.
    pub(super) fn good_file(&mut self, uri: &str) -> Option<SourceFile> {
        let document = self.documents.get(uri)?;
        let (file, text) = (document.file, document.good.text().to_owned());
        Some(match self.good.get(&file).copied() {
            Some(good) => {
                self.session.set_text(good, text);
                good
            }
            None => {
                let good = self.session.aside(file, text);
                self.good.insert(file, good);
                good
            }
        })
    }

    /// Where a span of a last good version is now; spans of other files are where they are.
    pub(super) fn part_now(&self, span: Span) -> Option<Span> {
        let of_good = self.session.file(span.module)?;
        let Some((file, _)) = self.good.iter().find(|(_, good)| **good == of_good) else { return Some(span) };
        let document = self.documents.values().find(|d| d.file == *file)?;
        let part = document.good.part_to_now(span.start..span.end)?;
        Some(Span { module: file.module(&self.session.db), start: part.start, end: part.end })
    }

    fn hover(&mut self, params: lsp::HoverParams) -> Answer<Option<lsp::Hover>> {
        let params = params.text_document_position_params;
        let at = self.at(&params)?;
        let here = at.file.module(&self.session.db);
        let found = self.ask_types(
            &params.text_document.uri,
            at,
            |ide, file, offset| ide.hover(file, offset).map(|h| (h.text, Some(h.span))),
            |all, (text, span)| Some((text, span.and_then(|s| all.part_now(s)))),
        );
        Ok(found.map(|(text, span)| {
            let range = span.filter(|s| s.module == here).map(|s| self.places().range(s));
            let content = match self.client.markdown {
                true => convert::markdown(text),
                false => lsp::MarkupContent { kind: lsp::MarkupKind::PlainText, value: text },
            };
            lsp::Hover { contents: lsp::Contents::MarkupContent(content), range }
        }))
    }

    fn definition(&mut self, params: lsp::DefinitionParams) -> Answer<Option<lsp::DefinitionResponse>> {
        let params = params.text_document_position_params;
        let at = self.at(&params)?;
        let found = self.ask(
            &params.text_document.uri,
            at,
            |ide, file, offset| Some(ide.definition(file, offset)).filter(|all| !all.is_empty()),
            |all, spans| Some(spans.into_iter().filter_map(|s| all.part_now(s)).collect()),
        );
        let locations = found.map(|spans| convert::locations(&spans, &self.places()));
        Ok(locations
            .filter(|l| !l.is_empty())
            .map(|l| lsp::DefinitionResponse::Definition(lsp::Definition::LocationList(l))))
    }

    fn references(&mut self, params: lsp::ReferenceParams) -> Answer<Option<Vec<lsp::Location>>> {
        let at = self.at(&params.text_document_position_params)?;
        // Files that have not been read yet may mention it too.
        while !self.unread.is_empty() {
            self.read_one();
        }
        let found = self.ide().references(at.file, at.offset, params.context.include_declaration);
        Ok(Some(convert::locations(&found, &self.places())))
    }

    fn highlights(
        &mut self,
        params: lsp::DocumentHighlightParams,
    ) -> Answer<Option<Vec<lsp::DocumentHighlight>>> {
        let params = params.text_document_position_params;
        let at = self.at(&params)?;
        let found = self.ask(
            &params.text_document.uri,
            at,
            |ide, file, offset| Some(ide.highlights(file, offset)).filter(|all| !all.is_empty()),
            |all, spans| {
                Some(spans.into_iter().filter_map(|(s, written)| Some((all.part_now(s)?, written))).collect())
            },
        );
        let places = self.places();
        let highlight = |(span, written): (Span, bool)| lsp::DocumentHighlight {
            range: places.range(span),
            kind: Some(if written {
                lsp::DocumentHighlightKind::Write
            } else {
                lsp::DocumentHighlightKind::Read
            }),
        };
        Ok(Some(found.unwrap_or_default().into_iter().map(highlight).collect()))
    }

    fn completions(&mut self, params: lsp::CompletionParams) -> Answer<Option<lsp::CompletionResponse>> {
        let at = self.at(&params.text_document_position_params)?;
        let found = self.ide().completions(at.file, at.offset);
        self.serial += 1;
        self.completions = (self.serial, found);
        let places = self.places();
        let documented = !self.client.resolves_documentation;
        let item = |(nth, c)| {
            let mut item = convert::completion(c, nth, &places, self.client.snippets, documented);
            if !documented {
                item.data = Some(serde_json::json!([self.serial, nth]));
            }
            item
        };
        let items = self.completions.1.iter().enumerate().map(item).collect();
        let list = lsp::CompletionList { is_incomplete: false, items, ..Default::default() };
        Ok(Some(lsp::CompletionResponse::CompletionList(list)))
    }

    fn resolved(&mut self, mut item: lsp::CompletionItem) -> Answer<lsp::CompletionItem> {
        let data: Option<(u64, usize)> = item.data.clone().and_then(|d| serde_json::from_value(d).ok());
        // Of those that have been given since, nothing is known any more.
        if let Some((serial, nth)) = data
            && serial == self.completions.0
            && let Some(c) = self.completions.1.get(nth)
            && !c.documentation.is_empty()
        {
            item.documentation =
                Some(lsp::Documentation::MarkupContent(convert::markdown(c.documentation.clone())));
        }
        Ok(item)
    }

    fn signature(&mut self, params: lsp::SignatureHelpParams) -> Answer<Option<lsp::SignatureHelp>> {
        let params = params.text_document_position_params;
        let at = self.at(&params)?;
        let found = self.ask_types(
            &params.text_document.uri,
            at,
            |ide, file, offset| ide.signature(file, offset),
            |_, s| Some(s),
        );
        // Columns of labels are counted as those of texts.
        let encoding = self.client.encoding;
        Ok(found.map(|s| {
            let column = |byte: usize| encoding.columns(s.label.get(..byte).unwrap_or(&s.label));
            let parameter = |(nth, part): (usize, &std::ops::Range<usize>)| lsp::ParameterInformation {
                label: lsp::ParameterInformationLabel::Tuple((column(part.start), column(part.end))),
                documentation: s.types.get(nth).map(|ty| lsp::Documentation::String(ty.clone())),
            };
            let documentation = (!s.documentation.is_empty())
                .then(|| lsp::Documentation::MarkupContent(convert::markdown(s.documentation.clone())));
            let active = Some(lsp::ActiveParameter::Int(s.active as u32));
            let signature = lsp::SignatureInformation {
                label: s.label.clone(),
                documentation,
                parameters: Some(s.parameters.iter().enumerate().map(parameter).collect()),
                active_parameter: active,
            };
            lsp::SignatureHelp {
                signatures: vec![signature],
                active_signature: Some(0),
                active_parameter: active,
            }
        }))
    }

    fn hints(&mut self, params: lsp::InlayHintParams) -> Answer<Option<Vec<lsp::InlayHint>>> {
        let document = self.document(&params.text_document.uri)?;
        let range = document.text.offsets(params.range, self.client.encoding);
        let file = document.file;
        let module = file.module(&self.session.db);
        let mut hints = self.ide().hints(file, range.clone());
        hints.extend(self.good_hints(&params.text_document.uri.0, &range));
        hints.sort_by_key(|h| h.offset);
        let places = self.places();
        let edit =
            |e: &remc_ide::Edit| lsp::TextEdit { range: places.range(e.span), new_text: e.text.clone() };
        let hint = |h: &remc_ide::Hint| lsp::InlayHint {
            position: places.position(module, h.offset),
            label: lsp::Label::String(h.label.clone()),
            kind: Some(lsp::InlayHintKind::Type),
            text_edits: (!h.edits.is_empty()).then(|| h.edits.iter().map(edit).collect()),
            tooltip: (!h.tooltip.is_empty())
                .then(|| lsp::Tooltip::MarkupContent(convert::markdown(h.tooltip.clone()))),
            padding_left: None,
            padding_right: None,
            data: None,
        };
        Ok(Some(hints.iter().map(hint).collect()))
    }

    /// The hints of forms that are wrong now, from when they were right, where they have not been edited since.
    fn good_hints(&mut self, uri: &str, range: &std::ops::Range<u32>) -> Vec<remc_ide::Hint> {
        let Some(document) = self.documents.get(uri) else { return Vec::new() };
        let file = document.file;
        let wrong = self.wrong_forms(file);
        let wrong: Vec<Span> =
            wrong.into_iter().filter(|s| s.start <= range.end && range.start <= s.end).collect();
        if wrong.is_empty() {
            return Vec::new();
        }
        let Some(good) = self.good_file(uri) else { return Vec::new() };
        let Some(document) = self.documents.get(uri) else { return Vec::new() };
        // No more of it is checked than is asked for.
        let were = wrong.iter().filter_map(|s| document.good.forms_of(s.start..s.end));
        let mut hints: Vec<remc_ide::Hint> = were.flat_map(|forms| self.ide().hints(good, forms)).collect();
        hints.dedup();
        let is_wrong = |at: u32| wrong.iter().any(|s| s.start <= at && at <= s.end);
        let now = |mut hint: remc_ide::Hint| {
            hint.offset = document.good.to_now(hint.offset).filter(|at| is_wrong(*at))?;
            let edits = hint
                .edits
                .iter()
                .map(|e| Some(remc_ide::Edit { span: self.part_now(e.span)?, text: e.text.clone() }));
            hint.edits = edits.collect::<Option<Vec<_>>>().unwrap_or_default();
            Some(hint)
        };
        hints.into_iter().filter_map(now).filter(|h| range.contains(&h.offset)).collect()
    }

    #[expect(deprecated, reason = "clients without nesting know nothing else")]
    fn symbols(&mut self, params: lsp::DocumentSymbolParams) -> Answer<Option<lsp::DocumentSymbolResponse>> {
        let file = self.document(&params.text_document.uri)?.file;
        let symbols = self.ide().symbols(file);
        let places = self.places();
        if self.client.symbols_nest {
            let symbol = |s: &remc_ide::Symbol| lsp::DocumentSymbol {
                name: s.name.clone(),
                detail: (!s.detail.is_empty()).then(|| s.detail.clone()),
                kind: convert::symbol_kind(s.kind),
                tags: None,
                deprecated: None,
                range: places.range(s.span),
                selection_range: places.range(s.name_span),
                children: None,
            };
            let all = symbols.iter().map(symbol).collect();
            return Ok(Some(lsp::DocumentSymbolResponse::DocumentSymbolList(all)));
        }
        let symbol = |s: &remc_ide::Symbol| {
            Some(lsp::SymbolInformation {
                deprecated: None,
                location: places.location(s.span)?,
                base_symbol_information: lsp::BaseSymbolInformation {
                    name: s.name.clone(),
                    kind: convert::symbol_kind(s.kind),
                    tags: None,
                    container_name: None,
                },
            })
        };
        let all = symbols.iter().filter_map(symbol).collect();
        Ok(Some(lsp::DocumentSymbolResponse::SymbolInformationList(all)))
    }

    fn workspace_symbols(
        &mut self,
        params: lsp::WorkspaceSymbolParams,
    ) -> Answer<Option<lsp::WorkspaceSymbolResponse>> {
        while !self.unread.is_empty() {
            self.read_one();
        }
        let symbols = self.ide().workspace_symbols(&params.query);
        let places = self.places();
        let symbol = |s: &remc_ide::Symbol| {
            Some(lsp::WorkspaceSymbol {
                location: lsp::WorkspaceSymbolLocation::Location(places.location(s.name_span)?),
                data: None,
                base_symbol_information: lsp::BaseSymbolInformation {
                    name: s.name.clone(),
                    kind: convert::symbol_kind(s.kind),
                    tags: None,
                    container_name: (!s.detail.is_empty()).then(|| s.detail.clone()),
                },
            })
        };
        let all = symbols.iter().filter_map(symbol).collect();
        Ok(Some(lsp::WorkspaceSymbolResponse::WorkspaceSymbolList(all)))
    }

    fn folds(&mut self, params: lsp::FoldingRangeParams) -> Answer<Option<Vec<lsp::FoldingRange>>> {
        let file = self.document(&params.text_document.uri)?.file;
        let folds = self.ide().folds(file);
        let places = self.places();
        let fold = |f: &remc_ide::Fold| {
            let range = places.range(f.span);
            (range.start.line < range.end.line).then(|| lsp::FoldingRange {
                start_line: range.start.line,
                start_character: Some(range.start.character),
                end_line: range.end.line,
                end_character: Some(range.end.character),
                kind: convert::fold_kind(f.kind),
                collapsed_text: None,
            })
        };
        Ok(Some(folds.iter().filter_map(fold).collect()))
    }

    fn selections(&mut self, params: lsp::SelectionRangeParams) -> Answer<Option<Vec<lsp::SelectionRange>>> {
        let document = self.document(&params.text_document.uri)?;
        let file = document.file;
        let offsets: Vec<u32> =
            params.positions.iter().map(|p| document.text.offset(*p, self.client.encoding)).collect();
        let places = self.places();
        let of = |offset: &u32| {
            let spans = self.ide().selection(file, *offset);
            let outside_in = spans.iter().rev().map(|s| places.range(*s));
            let nested = outside_in.fold(None, |parent: Option<Box<lsp::SelectionRange>>, range| {
                Some(Box::new(lsp::SelectionRange { range, parent }))
            });
            let nothing = || {
                let at = places.position(file.module(&self.session.db), *offset);
                Box::new(lsp::SelectionRange { range: lsp::Range { start: at, end: at }, parent: None })
            };
            *nested.unwrap_or_else(nothing)
        };
        Ok(Some(offsets.iter().map(of).collect()))
    }
}
