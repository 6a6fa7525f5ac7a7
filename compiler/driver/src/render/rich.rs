//! The rich style: source lines with arrows, by ariadne.

use super::excerpt::{Excerpt, excerpt, line_column};
use super::{Sources, shape_rows};
use ariadne::{Color, Config, IndexType, Label, Report, ReportKind, Source};
use remc_base::{Diagnostic, ModuleId, Severity, Span};
use std::collections::BTreeMap;
use std::fmt;

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
            ranges[*i] = r;
        }
        files.0.insert(module, (path.to_owned(), Source::from(lines).with_display_line_offset(first_line)));
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
    for (i, label) in d.labels.iter().enumerate() {
        if files.0.contains_key(&label.loc.module) {
            report.add_label(
                Label::new((label.loc.module, ranges[i].clone()))
                    .with_message(&label.text)
                    .with_color(if label.primary { main } else { Color::Blue })
                    .with_priority(if label.primary { 1 } else { 0 }),
            );
        }
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
    // Ariadne counts lines and columns in the excerpt; a cut line has moved.
    let shown = files.position(at.0, at.1.start);
    let span = d.labels[primary].loc;
    let real = sources.source(span.module).map(|(_, text)| line_column(text, span.start as usize));
    let mut buffer = vec![];
    if report.finish().write(&mut files, &mut buffer).is_err() {
        return plain(d, out);
    }
    let mut text = String::from_utf8_lossy(&buffer).into_owned();
    if let (Some((path, sl, sc)), Some((l, c))) = (shown, real)
        && (sl, sc) != (l, c)
    {
        text = text.replacen(&format!("{path}:{sl}:{sc} "), &format!("{path}:{l}:{c} "), 1);
    }
    for line in text.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
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
    /// Path, line and column as ariadne counts them.
    fn position(&self, module: ModuleId, offset: usize) -> Option<(String, usize, usize)> {
        let (path, source) = self.0.get(&module)?;
        let (line, column) = line_column(source.text(), offset);
        Some((path.clone(), line + source.display_line_offset(), column))
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
