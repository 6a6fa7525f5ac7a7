//! What Tab offers: names, forms, commands, files.

use super::commands::{COMMANDS, word};
use super::desk::Desk;
use super::highlight::code;
use crate::args::{Device, Ir, PlotKind};
use clap::ValueEnum;
use reedline::{Completer, CompletionResult, Span, Suggestion};
use remc_ide::{Completion, CompletionKind};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// As many as anybody looks at.
const MOST: usize = 60;

/// Signs by the names that editors know them by.
const SIGNS: [(&str, &str); 6] =
    [("\\lambda", "λ"), ("\\to", "→"), ("\\forall", "∀"), ("\\Pi", "Π"), ("\\Sigma", "Σ"), ("\\=>", "⇒")];

pub struct Completions {
    desk: Arc<Mutex<Desk>>,
}

impl Completions {
    pub fn new(desk: Arc<Mutex<Desk>>) -> Completions {
        Completions { desk }
    }

    fn program(&self, line: &str, at: usize, cursor: usize) -> Vec<Suggestion> {
        // Nothing is offered rather than that the session ends.
        let found = catch_unwind(AssertUnwindSafe(|| {
            let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
            desk.completions(&line[at..], cursor - at)
        }));
        self.desk.clear_poison();
        let found = found.unwrap_or_default().into_iter().take(MOST);
        found.map(|(range, c)| suggestion(at + range.start..at + range.end, c)).collect()
    }
}

impl Completer for Completions {
    fn complete(&mut self, line: &str, cursor: usize) -> CompletionResult {
        let before = line.get(..cursor).unwrap_or(line);
        let start = last_word(before);
        let last = &before[start..];
        let words = |all: Vec<(String, String)>| -> Vec<Suggestion> {
            let fits = all.into_iter().filter(|(value, _)| value.starts_with(last) && value != last);
            fits.map(|(value, about)| plain(start..cursor, value, about)).collect()
        };
        let values = |all: Vec<String>| all.into_iter().map(|v| (v, String::new())).collect();
        if let Some(at) = before.rfind('\\').filter(|at| !before[*at..].contains(char::is_whitespace)) {
            let fits = SIGNS.iter().filter(|(name, _)| name.starts_with(&before[at..]));
            let found: Vec<_> = fits.map(|(name, sign)| signed(at..cursor, sign, name)).collect();
            return CompletionResult::fresh(found);
        }
        let (command, _) = word(before);
        let found = match command.strip_prefix(':') {
            Some(_) if start == 0 => {
                words(COMMANDS.iter().map(|c| (format!(":{}", c.name), c.does.to_owned())).collect())
            }
            Some(name) => {
                let first = word(before).1.len() == last.len();
                let is = |full: &str| full.starts_with(name) && !name.is_empty();
                match () {
                    () if is("load") || is("save") => files(before, code(before), true),
                    () if is("run") && last.contains('=') => {
                        let value = start + last.find('=').map_or(0, |at| at + 1);
                        files(before, value, false)
                    }
                    () if is("ir") && first => words(values(names::<Ir>())),
                    () if is("device") => words(values(names::<Device>())),
                    () if is("help") => {
                        words(COMMANDS.iter().map(|c| (c.name.to_owned(), c.does.to_owned())).collect())
                    }
                    () if is("plot") && first => {
                        let mut found = words(values(names::<PlotKind>()));
                        found.extend(self.program(line, start, cursor));
                        found
                    }
                    () => {
                        let at = if is("ir") || is("plot") || is("doc") || is("forget") || is("run") {
                            start_of(before, code(before))
                        } else {
                            code(before)
                        };
                        self.program(line, at, cursor)
                    }
                }
            }
            None => self.program(line, 0, cursor),
        };
        CompletionResult::fresh(found)
    }
}

/// Where the program begins behind the words of a command: at the first bracket, or else with the last word.
fn start_of(before: &str, from: usize) -> usize {
    let bracket = before[from..].find(['(', '[', '"']).map(|at| from + at);
    bracket.unwrap_or_else(|| last_word(before).max(from))
}

/// Where the last word begins: behind the last space, however many bytes that has.
fn last_word(text: &str) -> usize {
    text.len() - text.rsplit(char::is_whitespace).next().unwrap_or_default().len()
}

/// The words that an option of the command line takes.
fn names<T: ValueEnum>() -> Vec<String> {
    T::value_variants()
        .iter()
        .filter_map(|v| v.to_possible_value())
        .filter(|v| !v.is_hide_set())
        .map(|v| v.get_name().to_owned())
        .collect()
}

fn suggestion(range: Range<usize>, c: Completion) -> Suggestion {
    // Of a form with places to fill in, what it is called is enough here.
    let value = if c.kind == CompletionKind::Form || c.snippet { c.label } else { c.edit.text };
    let mut about = c.detail;
    let text = c.documentation.split("```").nth(2).unwrap_or_default().trim();
    if let Some(paragraph) = text.split("\n\n").next().filter(|p| !p.is_empty()) {
        about = format!("{about} — {paragraph}");
    }
    plain(range, value, about)
}

fn plain(range: Range<usize>, value: String, about: String) -> Suggestion {
    let description = Some(about).filter(|about| !about.is_empty());
    Suggestion {
        value,
        description,
        span: Span::new(range.start, range.end.max(range.start)),
        ..Suggestion::default()
    }
}

fn signed(range: Range<usize>, sign: &str, name: &str) -> Suggestion {
    let display_override = Some(format!("{sign}  {name}"));
    Suggestion { display_override, ..plain(range, sign.to_owned(), String::new()) }
}

/// The files that a path may go on with: programs alone, or any, and folders.
fn files(before: &str, from: usize, programs: bool) -> Vec<Suggestion> {
    let typed = &before[from..];
    let (folder, name) = typed.rsplit_once('/').map_or(("", typed), |(f, n)| (&typed[..=f.len()], n));
    let looked = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    let mut found: Vec<String> = Vec::new();
    for entry in std::fs::read_dir(looked).into_iter().flatten().flatten() {
        let Ok(file) = entry.file_name().into_string() else { continue };
        let is_folder = entry.path().is_dir();
        if file.starts_with(name)
            && (is_folder || !programs || file.ends_with(".remora"))
            && file.starts_with('.') == name.starts_with('.')
        {
            found.push(format!("{folder}{file}{}", if is_folder { "/" } else { "" }));
        }
    }
    found.sort();
    found.truncate(MOST);
    found.into_iter().map(|value| plain(from..before.len(), value, String::new())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::desk::Desk;
    use remc_driver::Session;

    fn offered(line: &str) -> Vec<String> {
        let desk = Arc::new(Mutex::new(Desk::new(Session::default())));
        let found = Completions::new(desk).complete(line, line.len());
        let value = |s: &Suggestion| format!("{}{}", &line[..s.span.start], s.value);
        found.suggestions().iter().map(value).collect()
    }

    #[test]
    fn names_commands_and_signs() {
        assert_eq!(offered("(transpos"), ["(transpose", "(transpose/axes"]);
        assert_eq!(offered(":type (transpos")[0], ":type (transpose");
        assert_eq!(offered(":lo"), [":load"]);
        assert_eq!(offered(":ir mo"), [":ir mono"]);
        assert_eq!(offered(":ir mono (transpos")[0], ":ir mono (transpose");
        assert_eq!(offered(":plot hea")[0], ":plot heat");
        assert_eq!(offered(":doc transpos")[0], ":doc transpose");
        assert_eq!(offered(":device in"), [":device interp"]);
        assert_eq!(offered("(\\lam"), ["(λ"]);
        assert_eq!(offered(":help qu"), [":help quit"]);
    }

    #[test]
    fn any_text_can_be_completed() {
        let odd = [
            "",
            " ",
            "\u{a0}",
            "(\u{a0}\\",
            ":\u{2003}x",
            ":ir\u{a0}",
            ":plot \u{a0}\u{301}",
            ":load /\u{a0}é",
            "λ",
            "\"é",
            "#|",
            "[(",
            ":doc",
            ": ",
            "f{int |",
            "~(",
            ":load \"",
            "; \\",
        ];
        for line in odd {
            let whole = offered(line);
            assert!(whole.len() <= MOST + 10, "{line}");
        }
    }
}
