//! Where the reader's errors are collected, bounded in number.

use crate::codes;
use remc_base::{Diagnostic, Span};

/// More errors than this in one file are not shown.
const SHOWN: usize = 100;
/// More than this are not even kept.
const KEPT: usize = 2000;

#[derive(Debug, Default)]
pub(crate) struct Reports {
    diagnostics: Vec<Diagnostic<Span>>,
    lost: usize,
    /// While set, reports are dropped: they would follow from an error that has been reported.
    pub muted: bool,
}

impl Reports {
    pub fn push(&mut self, diagnostic: Diagnostic<Span>) {
        if self.muted {
            return;
        }
        if self.diagnostics.len() < KEPT {
            self.diagnostics.push(diagnostic);
        } else {
            self.lost += 1;
        }
    }

    /// In the order of the text; the last one says so if some are left out.
    pub fn finish(mut self) -> Vec<Diagnostic<Span>> {
        fn at(d: &Diagnostic<Span>) -> Option<Span> {
            d.labels.iter().find(|l| l.primary).map(|l| l.loc)
        }
        self.diagnostics.sort_by_key(|d| at(d).map(|s| s.start));
        let left_out = self.diagnostics.len().saturating_sub(SHOWN) + self.lost;
        if left_out > 0 {
            let place = self.diagnostics.get(SHOWN).and_then(at);
            self.diagnostics.truncate(SHOWN);
            let mut last = Diagnostic::error(
                codes::TOO_MANY,
                format!("{left_out} more errors in this file are not shown"),
            )
            .help("mend the first ones and run again; is this a Remora program?");
            if let Some(place) = place {
                last = last.primary(place, "the first that is not shown");
            }
            self.diagnostics.push(last);
        }
        self.diagnostics
    }
}
