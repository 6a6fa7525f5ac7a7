//! The rich style: source lines with arrows, by ariadne.

use super::excerpt::{Excerpt, excerpt, line_column};
use super::{Sources, shape_rows};
use ariadne::{Color, Config, IndexType, Label, Report, ReportKind, Source};
use remc_base::{Diagnostic, ModuleId, Severity, Span, visible};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

pub fn render(sources: &dyn Sources, d: &Diagnostic<Span>, color: bool, out: &mut String) {
    let mut modules: Vec<ModuleId> = d.labels.iter().map(|l| l.loc.module).collect();
    modules.sort();
    modules.dedup();
    let mut files = Files::default();
    // The range of each label within its excerpt.
    let mut ranges = vec![0..0; d.labels.len()];
    for module in modules {
        let Some((path, text)) = sources.source(module) else { continue };
        let of: Vec<usize> = (0..d.labels.len()).filter(|i| d.labels[*i].loc.module == module).collect();
        let spans: Vec<Span> = of.iter().map(|i| d.labels[*i].loc).collect();
        let Excerpt { text: lines, first_line, ranges: moved } = excerpt(text, &spans);
        for (i, r) in of.iter().zip(moved) {
            // Ariadne's margin counts from the first line it is given: the lines before are there, empty.
            ranges[*i] = r.start + first_line..r.end + first_line;
        }
        files.0.insert(module, (visible(path).into_owned(), Source::from("\n".repeat(first_line) + &lines)));
    }

    let (kind, main) = match d.severity {
        Severity::Error => (ReportKind::Error, Color::Red),
        Severity::Warning => (ReportKind::Warning, Color::Yellow),
        Severity::Note => (ReportKind::Advice, Color::Cyan),
    };
    let primary =
        d.labels.iter().position(|l| l.primary).or(if d.labels.is_empty() { None } else { Some(0) });
    let Some(primary) = primary.filter(|p| files.0.contains_key(&d.labels[*p].loc.module)) else {
        return plain(d, out);
    };
    let at = (d.labels[primary].loc.module, ranges[primary].clone());
    let mut report = Report::build(kind, at.clone())
        .with_config(Config::new().with_color(color).with_index_type(IndexType::Byte))
        .with_code(d.code)
        .with_message(&d.message);
    // One excerpt a file, the primary label's first: ariadne begins a new one where the last line of a
    // label lies above the label's before it.
    let mut order: Vec<usize> =
        (0..d.labels.len()).filter(|i| files.0.contains_key(&d.labels[*i].loc.module)).collect();
    order.sort_by_key(|i| {
        let module = d.labels[*i].loc.module;
        (module != at.0, module, files.last_line(module, &ranges[*i]), ranges[*i].start)
    });
    for &i in &order {
        let label = &d.labels[i];
        report.add_label(
            Label::new((label.loc.module, ranges[i].clone()))
                .with_message(&label.text)
                .with_color(if label.primary { main } else { Color::Blue })
                .with_priority(if label.primary { 1 } else { 0 }),
        );
    }
    if let Some(shapes) = &d.shapes {
        report.add_note(shape_rows(shapes).join("\n"));
    }
    for note in &d.notes {
        report.add_note(note);
    }
    for help in &d.help {
        report.add_help(help);
    }
    let mut buffer = vec![];
    if report.finish().write(&mut files, &mut buffer).is_err() {
        return plain(d, out);
    }
    let mut text = String::from_utf8_lossy(&buffer).into_owned();
    // The place that heads each excerpt.
    let mut heads: Vec<Span> = vec![d.labels[primary].loc];
    for i in order {
        if heads.iter().all(|h| h.module != d.labels[i].loc.module) {
            heads.push(d.labels[i].loc);
        }
    }
    let mut from = 0;
    for head in heads {
        if let Some((path, whole)) = sources.source(head.module) {
            from = correct(&mut text, from, &visible(path), line_column(whole, head.start as usize));
        }
    }
    for (of_dark, own) in READABLE {
        text = text.replace(of_dark, own);
    }
    for line in text.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
}

/// Ariadne's own colours are for dark terminals: source lines are light grey, titles of help and notes mint. The terminal's
/// colours can be read on what it has behind them.
const READABLE: [(&str, &str); 2] = [("\x1b[38;5;249m", "\x1b[39m"), ("\x1b[38;5;115m", "\x1b[32m")];

/// Puts the right line and column into the head of the next excerpt of `path`; gives where to go on.
/// Ariadne counts columns in the excerpt, where a cut line has moved, and those of secondary files in
/// characters of the whole text.
fn correct(text: &mut String, from: usize, path: &str, (line, column): (usize, usize)) -> usize {
    let title = format!(" {path}:");
    let Some(start) = text[from..].find(&title).map(|i| from + i + title.len()) else { return from };
    let is_place = |c: char| c.is_ascii_digit() || c == ':' || c == '?';
    let end = text[start..].find(|c| !is_place(c)).map_or(text.len(), |i| start + i);
    text.replace_range(start..end, &format!("{line}:{column}"));
    start
}

/// A message that points nowhere.
fn plain(d: &Diagnostic<Span>, out: &mut String) {
    let kind = match d.severity {
        Severity::Error => "Error",
        Severity::Warning => "Warning",
        Severity::Note => "Advice",
    };
    out.push_str(&format!("[{}] {kind}: {}\n", d.code, d.message));
    let mut item = |title: &str, text: &str| {
        for (i, line) in text.lines().enumerate() {
            let lead = if i == 0 { format!("{title}: ") } else { " ".repeat(title.len() + 2) };
            out.push_str(format!("  {lead}{line}").trim_end());
            out.push('\n');
        }
    };
    for help in &d.help {
        item("Help", help);
    }
    if let Some(shapes) = &d.shapes {
        item("Note", &shape_rows(shapes).join("\n"));
    }
    for note in &d.notes {
        item("Note", note);
    }
}

/// The excerpts by module.
#[derive(Default)]
struct Files(BTreeMap<ModuleId, (String, Source<String>)>);

impl Files {
    /// The line on which a label ends.
    fn last_line(&self, module: ModuleId, range: &Range<usize>) -> usize {
        let last = range.end.saturating_sub(1).max(range.start);
        self.0.get(&module).map_or(0, |(_, source)| line_column(source.text(), last).0)
    }
}

impl ariadne::Cache<ModuleId> for &mut Files {
    type Storage = String;

    fn fetch(&mut self, id: &ModuleId) -> Result<&Source<String>, impl fmt::Debug> {
        self.0.get(id).map(|(_, s)| s).ok_or("no such module")
    }

    fn display<'a>(&self, id: &'a ModuleId) -> Option<impl fmt::Display + 'a> {
        self.0.get(id).map(|(path, _)| path.clone())
    }
}
