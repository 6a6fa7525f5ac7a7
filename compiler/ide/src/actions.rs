//! What is offered for a part of the text: what mends an error, and what is inferred, written down.

use crate::hints::hints;
use crate::{Action, ActionKind, Edit, Ide};
use remc_base::{Diagnostic, Fix, Span};
use remc_driver::SourceFile;
use remc_driver::render::fix_text;
use std::ops::Range;

pub fn actions(ide: &Ide<'_>, file: SourceFile, range: Range<u32>) -> Vec<Action> {
    let mut found = Vec::new();
    let meets = |s: &Span| s.start <= range.end && range.start <= s.end;
    for d in ide.diagnostics(file) {
        if !d.labels.iter().any(|l| l.primary && meets(&l.loc)) {
            continue;
        }
        let preferred = d.fixes.len() == 1;
        for fix in &d.fixes {
            found.push(mended(ide, &d, fix, preferred));
        }
    }
    // Only what is asked for: the hints of a whole file are no list to choose from.
    for hint in hints(ide, file, range.start.saturating_sub(1)..range.end.saturating_add(2)) {
        if !hint.edits.is_empty() {
            found.push(Action {
                title: format!("write the type `{}`", hint.label.trim_start_matches(": ")),
                kind: ActionKind::Rewrite,
                edits: hint.edits,
                fixes: None,
                preferred: false,
            });
        }
    }
    found
}

fn mended(ide: &Ide<'_>, d: &Diagnostic<Span>, fix: &Fix<Span>, preferred: bool) -> Action {
    let text = fix_text(ide.session, fix);
    Action {
        title: fix.title.clone(),
        kind: ActionKind::QuickFix,
        edits: vec![Edit { span: fix.at, text }],
        fixes: Some(d.clone()),
        preferred,
    }
}
