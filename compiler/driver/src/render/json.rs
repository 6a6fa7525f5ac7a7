//! The JSON style: one object per line.
//!
//! ```text
//! {"code", "severity", "message", "spans": [{"file", "line", "column", "end_line", "end_column",
//!  "start", "end", "label", "primary"}], "shapes": {"left", "right", "axis"} | null, "notes", "help"}
//! ```
//!
//! Lines and columns count from 1, columns in characters; `start` and `end` are bytes of the file.

use super::Sources;
use super::excerpt::line_column;
use remc_base::{Diagnostic, Severity, Span, is_hidden};
use serde_json::{Value, json};

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
    let severity = match d.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    };
    let object = json!({
        "code": d.code.0, "severity": severity, "message": d.message, "spans": spans,
        "shapes": shapes, "notes": d.notes, "help": d.help,
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
