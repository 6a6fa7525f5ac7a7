//! The JSON style: one object per line.
//!
//! ```text
//! {"code", "severity", "message", "spans": [{"file", "line", "column", "end_line", "end_column",
//!  "start", "end", "label", "primary"}], "shapes": {"left", "right", "axis"} | null, "notes", "help",
//!  "fixes": [{"title", "file", "start", "end", "text"}]}
//! ```
//!
//! Lines and columns count from 1, columns in characters; `start` and `end` are bytes of the file.

use super::Sources;
use super::excerpt::line_column;
use remc_base::{Diagnostic, Fix, Piece, Severity, Span, is_hidden};
use serde_json::{Value, json};

/// What a fix writes in the place of what it replaces.
pub fn fix_text(sources: &dyn Sources, fix: &Fix<Span>) -> String {
    let kept = |span: &Span| {
        let text = sources.source(span.module).map_or("", |(_, text)| text);
        text.get(span.start as usize..span.end as usize).unwrap_or_default()
    };
    let piece = |piece: &Piece<Span>| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Kept(span) => kept(span).to_owned(),
    };
    fix.by.iter().map(piece).collect()
}

pub fn render(sources: &dyn Sources, d: &Diagnostic<Span>, out: &mut String) {
    let spans: Vec<Value> = d
        .labels
        .iter()
        .filter_map(|l| {
            let (path, text) = sources.source(l.loc.module)?;
            let (line, column) = line_column(text, l.loc.start as usize);
            let (end_line, end_column) = line_column(text, l.loc.end as usize);
            Some(json!({
                "file": path, "line": line, "column": column, "end_line": end_line,
                "end_column": end_column, "start": l.loc.start, "end": l.loc.end,
                "label": l.text, "primary": l.primary,
            }))
        })
        .collect();
    let shapes = d.shapes.as_ref().map(|s| {
        json!({
            "left": { "title": s.left.0, "dims": s.left.1 },
            "right": { "title": s.right.0, "dims": s.right.1 },
            "axis": s.axis,
        })
    });
    let fixes: Vec<Value> = d
        .fixes
        .iter()
        .filter_map(|fix| {
            let (path, _) = sources.source(fix.at.module)?;
            let text = fix_text(sources, fix);
            Some(json!({
                "title": fix.title, "file": path, "start": fix.at.start, "end": fix.at.end, "text": text,
            }))
        })
        .collect();
    let severity = match d.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let object = json!({
        "code": d.code.0, "severity": severity, "message": d.message, "spans": spans,
        "shapes": shapes, "notes": d.notes, "help": d.help, "fixes": fixes,
    });
    // A program reads the same text; a terminal that it is shown on has nothing to act on.
    for c in object.to_string().chars() {
        match c {
            c if is_hidden(c) => {
                c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| out.push_str(&format!("\\u{unit:04x}")));
            }
            c => out.push(c),
        }
    }
    out.push('\n');
}
