//! What comments claim of values, `; ⇒ 3`: compared with what there is, when a document is saved and when the client asks,
//! and written by an action.
//!
//! What was found out is known for as long as the claim and what it speaks of stay as they are: like what is found when a
//! program is built, it is that of the text as it was then.

use super::lenses::shortened;
use super::{Analysis, Asked};
use crate::convert;
use crate::outbox::{Answer, Refusal};
use crate::runs::{CHECK, CHECK_LIMIT, Check, FILL, Program, Then, Ticket, What};
use crate::text::difference;
use gen_lsp_types as lsp;
use lsp::MessageType;
use lsp_server::RequestId;
use remc_driver::claims::{Claim, Found, Subject, Wanted, claims, rewritten, uncommented};
use remc_driver::names::DefKind;
use serde_json::json;
use std::ops::Range;

/// What is known of a claim.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// What it speaks of, as it is written.
    of: String,
    wanted: Wanted,
    found: Found,
}

/// The values of a document's claims, while they are looked for.
pub struct Search {
    pub ticket: Ticket,
    /// Who waits for the answer.
    pub asked: Option<RequestId>,
}

/// A claim that is known not to hold.
pub struct Wrong {
    pub diagnostic: lsp::Diagnostic,
    title: String,
    edit: lsp::WorkspaceEdit,
}

impl Analysis {
    /// A document has been saved.
    pub(super) fn saved(&mut self, uri: &str) {
        if self.client.checks_values
            && let Err(refusal) = self.search(uri, None)
        {
            self.outbox.log(MessageType::Warning, refusal.message);
        }
    }

    /// Finds out which claims of a document hold; whoever asked is told how many do.
    pub(super) fn search(&mut self, uri: &str, asked: Option<RequestId>) -> Answer<()> {
        let waiting = asked.clone();
        let all = self.claims_of(uri);
        let document = self.document(&lsp::Uri(uri.to_owned()))?;
        let text = uncommented(document.text.as_str(), &all);
        let program = Program { text: text.into(), limit: CHECK_LIMIT, ..self.program(uri, What::Form(0))? };
        let places: Vec<Range<usize>> = self.form_places(uri);
        let mut programs = Vec::new();
        let mut claimed = Vec::new();
        for claim in &all {
            let Some(at) = subject(claim, &places) else { continue };
            let form = What::Form(at.start as u32);
            let of = document.text.as_str()[at].to_owned();
            // As much as the claim speaks of, and a little more to see that there is more.
            let elements = claim.wanted.said().len() + SPARE;
            programs.push(Program { what: form, elements, ..program.clone() });
            claimed.push((of, claim.wanted.clone()));
        }
        let (queue, about) = (self.queue.clone(), uri.to_owned());
        let then = move |found: Vec<Option<Found>>| {
            let known = claimed.into_iter().zip(found);
            let known = known.filter_map(|((of, wanted), found)| Some(Known { of, wanted, found: found? }));
            let known: Vec<Known> = known.collect();
            queue.push(crate::queue::Job::Then(Box::new(move |all| all.found(&about, known, asked))));
        };
        let ticket = Ticket::default();
        let asked = waiting;
        let check = Check { programs, then: Box::new(then), ticket: ticket.clone() };
        let Some(document) = self.documents.get_mut(uri) else { return Ok(()) };
        if let Some(older) = document.search.replace(Search { ticket, asked }) {
            older.ticket.cancel();
            if let Some(id) = older.asked {
                self.outbox.answer(&id, Err(Refusal::outdated("")));
            }
        }
        self.runs.check(check);
        Ok(())
    }

    /// What has been found out.
    fn found(&mut self, uri: &str, known: Vec<Known>, asked: Option<RequestId>) {
        let wrong = known.iter().filter(|k| !k.wanted.holds(&k.found)).count();
        let right = known.len() - wrong;
        if let Some(document) = self.documents.get_mut(uri) {
            let is_new = document.known != known;
            document.known = known;
            document.search = None;
            if is_new {
                self.doubt(uri);
                if self.client.pulls && self.client.refreshes_diagnostics {
                    self.outbox.ask::<lsp::DiagnosticRefreshRequest>(());
                }
            }
        }
        if let Some(id) = asked {
            let holds = if right == 1 { "holds" } else { "hold" };
            let text = match wrong {
                0 => format!("{right} {holds}"),
                n => format!("{right} {holds}, {n} {} not", if n == 1 { "does" } else { "do" }),
            };
            let kind = if wrong == 0 { MessageType::Info } else { MessageType::Warning };
            self.outbox.show(kind, text.clone());
            self.outbox.answer(&id, Ok(json!({ "text": text, "right": right, "wrong": wrong })));
        }
    }

    /// The claims of a document that are known not to hold.
    pub(super) fn wrong_claims(&self, uri: &str) -> Vec<Wrong> {
        let Some(document) = self.documents.get(uri).filter(|d| !d.known.is_empty()) else {
            return Vec::new();
        };
        let text = document.text.as_str();
        let places = self.form_places(uri);
        let mut all = Vec::new();
        for claim in self.claims_of(uri) {
            let Some(at) = subject(&claim, &places) else { continue };
            let of = &text[at];
            let known = document.known.iter().find(|k| k.of == *of && k.wanted == claim.wanted);
            let Some(known) = known.filter(|k| !k.wanted.holds(&k.found)) else { continue };
            all.push(self.wrong(uri, &claim, of, &known.found));
        }
        all
    }

    fn wrong(&self, uri: &str, claim: &Claim, of: &str, found: &Found) -> Wrong {
        let text = &self.documents[uri].text;
        let (value, said) = match found {
            Found::Value(value) => (Some(value.clone()), value.clone()),
            Found::Nothing => (None, "no value: it is a definition".to_owned()),
            Found::Error { codes, message } => {
                let code = codes.iter().find(|c| !c.is_empty());
                (code.map(|c| format!("error {c}")), message.clone())
            }
        };
        let is_open = claim.wanted == Wanted::Open;
        let message = match is_open {
            true => format!("`{}` is {}", shortened(of), shortened(&said)),
            false => format!(
                "`{}` is not what the comment says\nwanted: {}\nfound: {}",
                shortened(of),
                claim.wanted.said(),
                said
            ),
        };
        let end = if claim.at.is_empty() { claim.comment.clone() } else { claim.at.clone() };
        let range = text.range(end.start as u32, end.end as u32, self.client.encoding);
        let edit = value.as_ref().map(|value| self.written(uri, claim, value));
        Wrong {
            title: format!("Write the value: {}", shortened(&value.unwrap_or_default())),
            edit: edit.unwrap_or_default(),
            diagnostic: lsp::Diagnostic {
                range,
                severity: Some(match is_open {
                    true => lsp::DiagnosticSeverity::Information,
                    false => lsp::DiagnosticSeverity::Warning,
                }),
                source: Some("remc".to_owned()),
                message: lsp::Message::String(message),
                ..Default::default()
            },
        }
    }

    /// The edit that writes a value behind the arrow of a claim.
    fn written(&self, uri: &str, claim: &Claim, value: &str) -> lsp::WorkspaceEdit {
        let document = &self.documents[uri];
        let old = document.text.as_str();
        let new = rewritten(old, &[(claim, value.to_owned())]);
        let (start, end, middle) = difference(old, &new);
        let module = document.file.module(&self.session.db);
        let span = remc_base::Span { module, start, end };
        let edit = remc_ide::Edit { span, text: middle.to_owned() };
        convert::workspace_edit(&[edit], &self.places(), self.client.versioned_edits)
    }

    /// What is offered for the claims in a part of the text.
    pub(super) fn claim_actions(
        &self,
        uri: &lsp::Uri,
        range: Range<u32>,
        told: &[lsp::Diagnostic],
    ) -> Vec<lsp::CodeAction> {
        let all = self.claims_of(&uri.0);
        let places = self.form_places(&uri.0);
        let Some(text) = self.documents.get(&uri.0).map(|d| d.text.as_str()) else { return Vec::new() };
        let mut actions = Vec::new();
        let touched = |part: &Range<usize>| part.start as u32 <= range.end && range.start <= part.end as u32;
        for claim in all.iter().filter(|claim| touched(&claim.comment)) {
            let Some(at) = subject(claim, &places) else { continue };
            let of = &text[at.clone()];
            let known = self.documents[&uri.0].known.iter().find(|k| k.of == *of && k.wanted == claim.wanted);
            if let Some(known) = known
                && !known.wanted.holds(&known.found)
            {
                let wrong = self.wrong(&uri.0, claim, of, &known.found);
                if wrong.edit != lsp::WorkspaceEdit::default() {
                    let is_it = |d: &&lsp::Diagnostic| {
                        d.range == wrong.diagnostic.range && d.message == wrong.diagnostic.message
                    };
                    let fixes = told.iter().find(is_it).cloned().unwrap_or(wrong.diagnostic);
                    actions.push(lsp::CodeAction {
                        title: wrong.title,
                        kind: Some(lsp::CodeActionKind::QuickFix),
                        diagnostics: Some(vec![fixes]),
                        is_preferred: Some(true),
                        edit: Some(wrong.edit),
                        ..Default::default()
                    });
                    continue;
                }
            }
            let nth = all
                .iter()
                .take_while(|c| *c != claim)
                .filter(|c| subject(c, &places).is_some_and(|other| text[other] == *of));
            let title = format!("Write the value of {}", shortened(of));
            actions.push(lsp::CodeAction {
                title: title.clone(),
                kind: Some(lsp::CodeActionKind::RefactorRewrite),
                command: Some(lsp::Command {
                    title,
                    tooltip: None,
                    command: FILL.to_owned(),
                    arguments: Some(vec![json!(uri.0), json!(of), json!(nth.count())]),
                }),
                ..Default::default()
            });
        }
        if !all.is_empty() {
            let title = "Compare the values that comments claim".to_owned();
            actions.push(lsp::CodeAction {
                title: title.clone(),
                kind: Some(lsp::CodeActionKind::Custom("source.checkValues".into())),
                command: Some(lsp::Command {
                    title,
                    tooltip: None,
                    command: CHECK.to_owned(),
                    arguments: Some(vec![json!(uri.0)]),
                }),
                ..Default::default()
            });
        }
        actions
    }

    /// Runs what a claim speaks of, and writes its value behind the arrow, wherever that is by then.
    pub(super) fn fill(&mut self, id: Asked<'_>, uri: &str, source: &str, nth: usize) -> Answer<()> {
        let gone = || Refusal::failed(format!("there is no comment about `{}` any more", shortened(source)));
        let (_, at) = self.claim_about(uri, source, nth).ok_or_else(gone)?;
        let text = uncommented(self.document(&lsp::Uri(uri.to_owned()))?.text.as_str(), &self.claims_of(uri));
        let program = self.program(uri, What::Form(at.start as u32))?;
        let program = Program { text: text.into(), elements: FILLED, ..program };
        let (queue, about, of) = (self.queue.clone(), uri.to_owned(), source.to_owned());
        let write = move |value: String| {
            queue.push(crate::queue::Job::Then(Box::new(move |all| {
                let Some((claim, _)) = all.claim_about(&about, &of, nth) else { return };
                all.outbox.ask::<lsp::ApplyWorkspaceEditRequest>(lsp::ApplyWorkspaceEditParams {
                    label: Some("Write the value".to_owned()),
                    edit: all.written(&about, &claim, &value),
                    ..Default::default()
                });
            })));
        };
        self.runs.start(id.clone(), program, shortened(source), Then::Fill(Box::new(write)));
        Ok(())
    }

    /// Of the claims about what is written so, the one with this number.
    fn claim_about(&self, uri: &str, source: &str, nth: usize) -> Option<(Claim, Range<usize>)> {
        let text = self.documents.get(uri)?.text.as_str();
        let places = self.form_places(uri);
        let about = self.claims_of(uri).into_iter().filter_map(|c| {
            let at = subject(&c, &places)?;
            (text[at.clone()] == *source).then_some((c, at))
        });
        about.into_iter().nth(nth)
    }

    /// The first example above each entry that has a value, known or not.
    pub(super) fn examples(&self, uri: &str) -> Vec<(String, String)> {
        let Some(document) = self.documents.get(uri) else { return Vec::new() };
        let (text, db) = (document.text.as_str(), &self.session.db);
        let (defs, places) = (self.session.defs(document.file), self.form_places(uri));
        let mut found: Vec<(String, String)> = Vec::new();
        for claim in self.claims_of(uri) {
            let (Subject::Example(at), Wanted::Value(_) | Wanted::Open) = (&claim.of, &claim.wanted) else {
                continue;
            };
            let below = places.partition_point(|p| p.start < claim.comment.end);
            let Some(def) = defs.get(below).filter(|d| d.kind(db) == DefKind::Entry) else { continue };
            let name = def.name(db).as_str();
            if found.last().is_none_or(|(last, _)| last != name) {
                found.push((name.to_owned(), text[at.clone()].to_owned()));
            }
        }
        found
    }

    fn claims_of(&self, uri: &str) -> Vec<Claim> {
        let Some(document) = self.documents.get(uri) else { return Vec::new() };
        let text = document.text.as_str();
        // Most texts have none, and are not read.
        if !text.contains('⇒') && !text.contains("=>") {
            return Vec::new();
        }
        let defs = self.session.defs(document.file);
        let defines = |k: usize| {
            let kind = defs.get(k).map(|d| d.kind(&self.session.db));
            matches!(kind, Some(DefKind::Value | DefKind::Entry | DefKind::Type))
        };
        claims(text, &self.form_places(uri), defines)
    }

    /// Where the forms of a document are.
    fn form_places(&self, uri: &str) -> Vec<Range<usize>> {
        let Some(document) = self.documents.get(uri) else { return Vec::new() };
        let span = |d: &remc_driver::Def<'_>| self.session.item_span(*d);
        let spans = self.session.defs(document.file).iter().map(span);
        spans.map(|s| s.start as usize..s.end as usize).collect()
    }
}

/// So many more elements than a claim has letters are computed, and so many are written.
const SPARE: usize = 20;
const FILLED: usize = 200;

/// Where what a claim speaks of is.
fn subject(claim: &Claim, places: &[Range<usize>]) -> Option<Range<usize>> {
    match &claim.of {
        Subject::Form(k) => places.get(*k).cloned(),
        Subject::Example(at) => Some(at.clone()),
        Subject::Nothing => None,
    }
}
