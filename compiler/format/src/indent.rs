//! Indentation while a text is being written: of a new line, and of a form when its bracket is closed. Line breaks stay
//! where they are. The text may be wrong and end anywhere; what matters of it begins at the last bracket in column 0.

use crate::edits::{Edit, innermost};
use crate::forms::{Indent, Place};
use crate::tree::{Comment, Kind, List, tree};
use std::ops::Range;

/// In which column a line begins that is broken off at a byte of a text; none within a string or a comment.
pub fn new_line(text: &str, offset: usize) -> Option<usize> {
    let before = text.get(..offset)?;
    let before = &before[form_start(before)..];
    if is_inside(before) {
        return None;
    }
    let tree = tree(before, &[]);
    let list = &tree.lists[innermost(&tree)];
    let column = tree.toks.get(list.open as usize).map_or(0, |t| t.column as usize);
    if list.first.is_none() {
        return Some(if list.state.form == crate::forms::Form::Top { 0 } else { column + 1 });
    }
    let place = list.state.clone().next(None, false, false).place;
    let leads = tree.elems_of(list).find(|e| e.rule.leads);
    let argument = leads.map(|e| tree.toks[e.first as usize].column as usize);
    Some(indent(list, column, argument, place))
}

/// The changes that indent the lines of the form whose closing bracket ends at a byte of a text.
pub fn reindent(text: &str, offset: usize) -> Vec<Edit> {
    let Some(before) = text.get(..offset) else { return vec![] };
    // A form whose lines all begin in column 0 begins further up.
    [form_start(before), 0].iter().find_map(|start| reindent_from(before, *start)).unwrap_or_default()
}

/// … if the bracket has its partner behind `start`.
fn reindent_from(before: &str, start: usize) -> Option<Vec<Edit>> {
    let before = &before[start..];
    let tree = tree(before, &[]);
    // Behind the bracket there is the end alone.
    let close = tree.toks.len().checked_sub(2)?;
    let last = &tree.toks[close];
    if last.kind != Kind::Close || last.end as usize != before.len() {
        return None;
    }
    let form = &tree.lists[last.list as usize];
    if form.close as usize != close {
        return None;
    }
    let open = &tree.toks[form.open as usize];
    let mut frames = vec![Frame { list: last.list, column: open.column as usize, argument: None, indent: 0 }];
    // By how much what follows on the line has moved.
    let mut shift = Shift { line: open.line, by: 0 };
    let mut out = vec![];
    for (t, tok) in tree.toks.iter().enumerate().take(close + 1).skip(form.open as usize + 1) {
        let Some(frame) = frames.last_mut() else { break };
        let list = &tree.lists[frame.list as usize];
        let place = tok.elem.map(|e| tree.elems[e as usize].rule.place);
        let at = match place {
            Some(place) => indent(list, frame.column, frame.argument, place),
            None if tok.kind == Kind::Close => rest(list, frame.column, frame.argument),
            None => frame.indent,
        };
        let comments =
            tree.comments_of(tok).iter().map(|c: &Comment| (c.line, c.start, c.column, c.continues));
        let mut column = tok.column as usize;
        for (line, start, from, continues) in comments.chain([(tok.line, tok.start, tok.column, false)]) {
            if line > shift.line && is_first(before, start as usize) {
                // One that goes on with another moves with it.
                let with = if line == shift.line + 1 { shift.by } else { 0 };
                let at = if continues { (from as isize + with).max(0) as usize } else { at };
                indented(before, start as usize, at, &mut out);
                shift = Shift { line, by: at as isize - from as isize };
            }
            column = (from as isize + if line == shift.line { shift.by } else { 0 }).max(0) as usize;
        }
        if let Some(e) = tok.elem {
            frame.indent = at;
            if tree.elems[e as usize].rule.leads {
                frame.argument = Some(column);
            }
        }
        match tok.kind {
            Kind::Open(_) => {
                frames.push(Frame { list: tok.list, column, argument: None, indent: column + 1 })
            }
            Kind::Close if t < close => drop(frames.pop()),
            _ => {}
        }
    }
    for edit in &mut out {
        edit.range = edit.range.start + start..edit.range.end + start;
    }
    Some(out)
}

struct Frame {
    list: u32,
    column: usize,
    argument: Option<usize>,
    indent: usize,
}

struct Shift {
    line: u32,
    by: isize,
}

fn indent(list: &List, column: usize, argument: Option<usize>, place: Place) -> usize {
    match place {
        Place::First => column + 1,
        Place::Same => rest(list, column, argument),
        Place::May(to) | Place::Must(to) => resolve(list, column, argument, to),
    }
}

fn rest(list: &List, column: usize, argument: Option<usize>) -> usize {
    resolve(list, column, argument, list.state.rest())
}

fn resolve(list: &List, column: usize, argument: Option<usize>, to: Indent) -> usize {
    match to {
        Indent::Open(n) => column + usize::from(n),
        Indent::Argument(_) if list.hung => column + 2,
        Indent::Argument(n) => argument.unwrap_or(column + usize::from(n)),
    }
}

/// Where the form at the top begins that a text ends in: at the last bracket in column 0.
fn form_start(text: &str) -> usize {
    let line = |at: usize| text[at..].starts_with(['(', '[']);
    let mut starts = text.match_indices('\n').map(|(i, _)| i + 1).filter(|i| line(*i));
    starts.next_back().unwrap_or(0)
}

/// Whether a text ends within a string or a comment.
fn is_inside(text: &str) -> bool {
    let with = |end: &str| {
        let longer = format!("{text}{end}");
        let all = remc_syntax::tokens(&longer);
        all.tokens.last().is_some_and(|t| t.start as usize == longer.len())
            && all
                .tokens
                .iter()
                .rev()
                .nth(1)
                .is_some_and(|t| &longer[t.start as usize..t.end as usize] == end.trim_start_matches(' '))
    };
    // A name that is written behind the end is one.
    !with(" end")
}

/// Whether only space is before a byte on its line.
fn is_first(text: &str, at: usize) -> bool {
    line_start(text, at).is_some()
}

/// The beginning of the line, if only space is between.
fn line_start(text: &str, at: usize) -> Option<usize> {
    let start = text[..at].rfind('\n').map_or(0, |n| n + 1);
    text[start..at].trim().is_empty().then_some(start)
}

fn indented(text: &str, at: usize, column: usize, out: &mut Vec<Edit>) {
    let Some(start) = line_start(text, at) else { return };
    let range: Range<usize> = start..at;
    if text[range.clone()].len() != column || text[range.clone()].bytes().any(|b| b != b' ') {
        out.push(Edit { range, new: " ".repeat(column) });
    }
}
