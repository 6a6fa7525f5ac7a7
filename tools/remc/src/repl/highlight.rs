//! The colours of the line that is typed: what names mean, and the bracket that belongs to the one at the cursor.

use super::commands::word;
use super::desk::Desk;
use nu_ansi_term::{Color, Style};
use reedline::{Highlighter, StyledText};
use remc_ide::TokenKind;
use remc_syntax::token::TokenKind as T;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

pub struct Colours {
    desk: Arc<Mutex<Desk>>,
}

impl Colours {
    pub fn new(desk: Arc<Mutex<Desk>>) -> Colours {
        Colours { desk }
    }
}

impl Highlighter for Colours {
    fn highlight(&self, line: &str, cursor: usize) -> StyledText {
        let mut styled = StyledText::new();
        styled.push((Style::new(), line.to_owned()));
        let at = code(line);
        if at > 0 {
            let (name, _) = word(line);
            styled.style_range(0, name.len(), Style::new().fg(Color::Purple).bold());
        }
        // A line without colours is better than none.
        let tokens = catch_unwind(AssertUnwindSafe(|| {
            let mut desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner);
            desk.tokens(&line[at..])
        }));
        self.desk.clear_poison();
        for (range, token) in tokens.unwrap_or_default() {
            styled.style_range(at + range.start, at + range.end, style(token.kind, token.declaration));
        }
        for bracket in pair(line, cursor).into_iter().flatten() {
            styled.style_range(bracket.start, bracket.end, Style::new().fg(Color::Yellow).bold().underline());
        }
        styled
    }
}

/// Where the program begins in a line: behind a command.
pub fn code(line: &str) -> usize {
    if !line.starts_with(':') {
        return 0;
    }
    let command = line.find(char::is_whitespace).unwrap_or(line.len());
    line.len() - line[command..].trim_start().len()
}

fn style(kind: TokenKind, declaration: bool) -> Style {
    let style = match kind {
        TokenKind::Keyword => Style::new().fg(Color::Purple),
        TokenKind::Function => Style::new().fg(Color::Blue),
        TokenKind::Parameter | TokenKind::Variable => Style::new(),
        TokenKind::Type | TokenKind::TypeParameter => Style::new().fg(Color::Cyan),
        TokenKind::Property => Style::new().fg(Color::Cyan),
        TokenKind::String => Style::new().fg(Color::Green),
        TokenKind::Number => Style::new().fg(Color::Yellow),
        TokenKind::Operator => Style::new().fg(Color::Purple),
        TokenKind::Comment => Style::new().fg(Color::DarkGray).italic(),
    };
    if declaration { style.bold() } else { style }
}

/// The bracket before or at the cursor, and the one that it belongs to.
fn pair(line: &str, cursor: usize) -> Option<[Range<usize>; 2]> {
    let tokens = remc_syntax::tokens(line).tokens;
    let brackets: Vec<(bool, Range<usize>)> = tokens
        .iter()
        .filter_map(|t| match t.kind {
            T::Open(_) => Some((true, t.start as usize..t.end as usize)),
            T::Close(_) => Some((false, t.start as usize..t.end as usize)),
            _ => None,
        })
        .collect();
    let before = brackets.iter().position(|(open, r)| !open && r.end == cursor);
    let here = before.or_else(|| brackets.iter().position(|(open, r)| *open && r.start == cursor))?;
    let is_open = brackets[here].0;
    let mut depth = 0i64;
    let mut others: Box<dyn Iterator<Item = usize>> =
        if is_open { Box::new(here..brackets.len()) } else { Box::new((0..=here).rev()) };
    let other = others.find(|k| {
        depth += if brackets[*k].0 == is_open { 1 } else { -1 };
        depth == 0
    })?;
    Some([brackets[here].1.clone(), brackets[other].1.clone()])
}

#[cfg(test)]
mod tests {
    use super::{code, pair};

    #[test]
    fn brackets_belong_together() {
        let of = |line: &str, cursor| pair(line, cursor).map(|[a, b]| (a.start, b.start));
        assert_eq!(of("(f [1] (g))", 11), Some((10, 0)));
        assert_eq!(of("(f [1] (g))", 3), Some((3, 5)));
        assert_eq!(of("(f [1] (g))", 6), Some((5, 3)));
        assert_eq!(of("(f \")\"", 6), None);
        assert_eq!(of("(f", 0), None);
        assert_eq!(of("", 0), None);
    }

    #[test]
    fn programs_stand_behind_commands() {
        assert_eq!((code("(f)"), code(":type (f) "), code(":type"), code(":t  x")), (0, 6, 5, 4));
    }
}
