//! The part of a file that a message shows, made safe to print.
//!
//! A terminal message shows whole lines; a line may be a megabyte long and hold control characters.
//! An excerpt keeps the lines from the first label to the last, cuts each long one to a window around
//! its labels, and escapes what a terminal would act on. Labels are moved along.

use remc_base::{Span, visible};
use std::ops::Range;

/// The widest line shown, in characters as they are shown.
const WIDEST: usize = 160;
/// How much of a long line is shown before its first label.
const LEAD: usize = 40;

/// Lines of one file, ready to be shown.
pub struct Excerpt {
    pub text: String,
    /// How many lines of the file come before.
    pub first_line: usize,
    /// The labels' byte ranges in `text`, in the order given.
    pub ranges: Vec<Range<usize>>,
}

/// One line of the excerpt: where it is in the file, and which part of it is kept.
struct Line {
    /// In the file, without its end.
    full: Range<usize>,
    kept: Range<usize>,
    /// Where the line starts in the excerpt, and where what is kept of it does (after an ellipsis).
    start: usize,
    kept_start: usize,
    kept_len: usize,
}

/// The excerpt of `text` that shows `spans`.
pub fn excerpt(text: &str, spans: &[Span]) -> Excerpt {
    let spans: Vec<Range<usize>> = spans.iter().map(|s| clamp(text, s.range())).collect();
    let from = spans.iter().map(|r| r.start).min().unwrap_or(0);
    let to = spans.iter().map(|r| r.end).max().unwrap_or(0);
    let start = text[..from].rfind('\n').map_or(0, |i| i + 1);
    let end = text[to..].find('\n').map_or(text.len(), |i| to + i);
    let first_line = text[..start].bytes().filter(|b| *b == b'\n').count();

    let mut out = String::new();
    let mut lines: Vec<Line> = vec![];
    let mut at = start;
    for piece in text[start..end].split('\n') {
        let full = at..at + piece.strip_suffix('\r').unwrap_or(piece).len();
        at += piece.len() + 1;
        let kept = window(text, &full, &spans);
        let line_start = out.len();
        if kept.start > full.start {
            out.push('…');
        }
        let kept_start = out.len();
        for c in text[kept.clone()].chars() {
            out.push_str(&shown(c));
        }
        let kept_len = out.len() - kept_start;
        if kept.end < full.end {
            out.push('…');
        }
        out.push('\n');
        lines.push(Line { full, kept, start: line_start, kept_start, kept_len });
    }
    let place = |offset: usize| {
        let i = lines.partition_point(|l| l.full.start <= offset).saturating_sub(1);
        let line = &lines[i];
        if offset < line.kept.start {
            line.start
        } else if offset >= line.kept.end {
            line.kept_start + line.kept_len
        } else {
            line.kept_start + text[line.kept.start..offset].chars().map(|c| shown(c).len()).sum::<usize>()
        }
    };
    let ranges = spans
        .iter()
        .map(|r| {
            let start = place(r.start);
            let end = place(r.end).max(start);
            // A label of no width would not be drawn: it gets one character, where there is one.
            if start == end {
                let next = out[start..].chars().next().filter(|c| *c != '\n').map_or(0, char::len_utf8);
                start..start + next
            } else {
                start..end
            }
        })
        .collect();
    Excerpt { text: out, first_line, ranges }
}

/// A range within the text, on character boundaries.
fn clamp(text: &str, r: Range<usize>) -> Range<usize> {
    let floor = |mut i: usize| {
        i = i.min(text.len());
        while !text.is_char_boundary(i) {
            i -= 1;
        }
        i
    };
    let start = floor(r.start);
    start..floor(r.end).max(start)
}

/// The part of a line that is shown.
fn window(text: &str, line: &Range<usize>, spans: &[Range<usize>]) -> Range<usize> {
    // What fits from a place on, in bytes.
    let fitting = |start: usize| {
        let mut width = 0;
        let fits = |c: &char| {
            width += shown(*c).chars().count();
            width <= WIDEST
        };
        text[start..line.end].chars().take_while(fits).map(char::len_utf8).sum::<usize>()
    };
    if fitting(line.start) == line.len() {
        return line.clone();
    }
    let first =
        spans.iter().flat_map(|r| [r.start, r.end]).filter(|i| line.contains(i)).min().unwrap_or(line.start);
    let back: usize = text[line.start..first].chars().rev().take(LEAD).map(char::len_utf8).sum();
    let start = first - back;
    start..start + fitting(start)
}

/// A character as a terminal may safely show it, one column wide where it can be.
fn shown(c: char) -> String {
    let mut bytes = [0; 4];
    match c {
        '\t' => " ".into(),
        c => visible(c.encode_utf8(&mut bytes)).into_owned(),
    }
}

/// Line and column of a byte offset, both from 1; columns count characters.
pub fn line_column(text: &str, offset: usize) -> (usize, usize) {
    let at = clamp(text, offset..offset).start;
    let line_start = text[..at].rfind('\n').map_or(0, |i| i + 1);
    let line = text[..at].bytes().filter(|b| *b == b'\n').count() + 1;
    (line, text[line_start..at].chars().count() + 1)
}
