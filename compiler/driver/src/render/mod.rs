//! Diagnostics shown: rich for a person, short for logs and golden files, JSON for programs.
//!
//! All three show the same data. Rendering only reads: what is shown is decided where the diagnostic
//! is made. Characters that a terminal would act on, or that would not be seen, are escaped here, whatever text they came
//! with: a message and a label are one line each, notes and helps may have several.

mod excerpt;
mod json;
mod rich;
mod short;

pub use excerpt::line_column;
pub use json::fix_text;
use remc_base::{Diagnostic, ModuleId, ShapeComparison, Span, visible, visible_lines};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Style {
    /// The source lines, with arrows and notes (ariadne).
    #[default]
    Rich,
    /// One line per message (codespan-reporting).
    Short,
    /// One JSON object per line.
    Json,
}

/// Where the texts that spans point into come from.
pub trait Sources {
    /// A module's path, as it is shown, and its text.
    fn source(&self, module: ModuleId) -> Option<(&str, &str)>;
}

impl Sources for crate::Session {
    fn source(&self, module: ModuleId) -> Option<(&str, &str)> {
        crate::Session::source(self, module)
    }
}

/// Renders diagnostics, each followed by a line end, and at the end where to read more.
pub fn render(sources: &dyn Sources, diagnostics: &[Diagnostic<Span>], style: Style, color: bool) -> String {
    let mut out = String::new();
    for d in diagnostics {
        let seen = made_visible(d);
        match style {
            Style::Rich => rich::render(sources, &seen, color, &mut out),
            Style::Short => short::render(sources, &seen, &mut out),
            Style::Json => json::render(sources, d, &mut out),
        }
    }
    if style == Style::Rich
        && let Some(first) = diagnostics.iter().find(|d| d.is_error()).or(diagnostics.first())
    {
        out.push_str(&format!("for more: remc explain {}\n", first.code));
    }
    out
}

/// A diagnostic whose texts can be shown.
fn made_visible(d: &Diagnostic<Span>) -> Diagnostic<Span> {
    let mut d = d.clone();
    d.message = visible(&d.message).into_owned();
    for label in &mut d.labels {
        label.text = visible(&label.text).into_owned();
    }
    for text in d.notes.iter_mut().chain(&mut d.help) {
        *text = visible_lines(text).into_owned();
    }
    d
}

/// Two shapes as aligned rows, with the disagreeing axis marked below:
///
/// ```text
/// the frame of argument 1   [2 3]
/// the frame of argument 2   [2 4]
///                              ^
/// ```
pub fn shape_rows(c: &ShapeComparison) -> Vec<String> {
    let width = |s: &str| s.chars().count();
    let title = width(&c.left.0).max(width(&c.right.0));
    let columns = c.left.1.len().max(c.right.1.len());
    let column = |i: usize| {
        let of = |dims: &[String]| dims.get(i).map_or(0, |d| width(d));
        of(&c.left.1).max(of(&c.right.1)).max(1)
    };
    let row = |(name, dims): &(String, Vec<String>)| {
        let mut line = format!("{name}{}   [", " ".repeat(title - width(name)));
        for (i, d) in dims.iter().enumerate() {
            if i > 0 {
                line.push(' ');
            }
            line.push_str(d);
            // The last dim needs no room after it.
            if i + 1 < dims.len() {
                line.push_str(&" ".repeat(column(i) - width(d)));
            }
        }
        line.push(']');
        line
    };
    let mut rows = vec![row(&c.left), row(&c.right)];
    if let Some(axis) = c.axis.filter(|a| *a < columns) {
        let before: usize = (0..axis).map(|i| column(i) + 1).sum();
        rows.push(format!("{}{}", " ".repeat(title + 4 + before), "^".repeat(column(axis))));
    }
    rows
}

#[cfg(test)]
mod tests;
