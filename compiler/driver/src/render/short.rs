//! The short style: `file:line:column: error[E0301]: message`, by codespan-reporting.

use super::Sources;
use super::excerpt::{excerpt, line_column};
use codespan_reporting::diagnostic::{Diagnostic as Report, Label, Severity as Level};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term::{self, Config, DisplayStyle};
use remc_base::{Diagnostic, Severity, Span, visible};

pub fn render(sources: &dyn Sources, d: &Diagnostic<Span>, out: &mut String) {
    let level = match d.severity {
        Severity::Error => Level::Error,
        Severity::Warning => Level::Warning,
        Severity::Note => Level::Note,
    };
    let config = Config { display_style: DisplayStyle::Short, ..Config::default() };
    let message = d.message.lines().collect::<Vec<_>>().join(" ");
    let report = Report::new(level).with_code(d.code.0).with_message(message);
    let at = d.labels.iter().find(|l| l.primary).or(d.labels.first()).map(|l| l.loc);
    let shown = match at.and_then(|span| Some((span, sources.source(span.module)?))) {
        Some((span, (path, text))) => {
            let path = &*visible(path);
            // A file's worth of lines is not needed for one position.
            let excerpt = excerpt(text, &[span]);
            let file = SimpleFile::new(path, excerpt.text.as_str());
            let range = excerpt.ranges[0].clone();
            let (line, column) = line_column(text, span.start as usize);
            let (shown_line, shown_column) = line_column(&excerpt.text, range.start);
            term::emit_into_string(&config, &file, &report.with_labels(vec![Label::primary((), range)])).map(
                |s| {
                    s.replacen(
                        &format!("{path}:{shown_line}:{shown_column}:"),
                        &format!("{path}:{line}:{column}:"),
                        1,
                    )
                },
            )
        }
        None => term::emit_into_string(&config, &SimpleFile::new("", ""), &report),
    };
    match shown {
        Ok(text) => out.push_str(&text),
        Err(_) => out.push_str(&format!("{}: {}\n", d.code, d.message)),
    }
}
