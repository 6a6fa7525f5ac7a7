//! Formatting in an editor: as few changes as do it, of a range, in a text that may be half-written.
//!
//! A form with a mistake in it stays as it is; others are formatted. Changes are of white space alone where they can be, so
//! that cursors and marks stay where they were.

use crate::layout::layout;
use crate::tree::{Kind, Tree, tree};
use remc_base::ModuleId;
use remc_syntax::token::{Bracket, Token, TokenKind};
use std::ops::Range;

/// A change of a text: bytes, and what replaces them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    pub range: Range<usize>,
    pub new: String,
}

/// The changes that format all forms without mistakes, in order.
pub fn format_forms(text: &str) -> Vec<Edit> {
    format_range(text, 0..text.len())
}

/// … those of the forms that a range of bytes touches; the space before them is theirs.
pub fn format_range(text: &str, range: Range<usize>) -> Vec<Edit> {
    let tree = tree(text, &broken(text));
    let mut out = vec![];
    for unit in units(&tree) {
        if unit.old.start <= range.end && range.start <= unit.old.end {
            changes(&text[unit.old.clone()], &unit.new, unit.old.start, &mut out);
        }
    }
    out
}

/// The text after changes that are in order and do not overlap.
pub fn apply(text: &str, edits: &[Edit]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(&text[at..edit.range.start]);
        out.push_str(&edit.new);
        at = edit.range.end;
    }
    out + &text[at..]
}

/// Forms that can be replaced without others, with the space before them.
struct Unit {
    old: Range<usize>,
    new: String,
}

fn units(tree: &Tree<'_>) -> Vec<Unit> {
    let (new, marks) = layout(tree).join_marked();
    let ends = tree.elems_of(&tree.lists[0]).map(|e| tree.toks[e.end as usize - 1].end as usize);
    let mut out = vec![];
    let (mut from, mut new_from) = (0, 0);
    for (end, mark) in ends.zip(marks).chain([(tree.text.len(), new.len())]) {
        // A comment that has moved behind the last bracket is before the next form now.
        let (old, new) = (&tree.text[from..end], &new[new_from..mark]);
        if sum(old) == sum(new) {
            out.push(Unit { old: from..end, new: new.to_owned() });
            (from, new_from) = (end, mark);
        }
    }
    out
}

/// The same for texts of the same characters but for white space, in any order.
fn sum(text: &str) -> (usize, u64) {
    let solid = text.chars().filter(|c| !c.is_whitespace());
    solid.fold((0, 0), |(n, all), c| (n + 1, all + u64::from(u32::from(c))))
}

/// The changes of white space that make one text of the other; if that is not all, one change of what differs.
fn changes(old: &str, new: &str, offset: usize, out: &mut Vec<Edit>) {
    let before = out.len();
    let (mut a, mut b) = (0, 0);
    loop {
        let space = |text: &str| text.len() - text.trim_start().len();
        let (i, j) = (space(&old[a..]), space(&new[b..]));
        if old[a..a + i] != new[b..b + j] {
            out.push(Edit { range: offset + a..offset + a + i, new: new[b..b + j].to_owned() });
        }
        (a, b) = (a + i, b + j);
        let solid = |text: &str| text.find(char::is_whitespace).unwrap_or(text.len());
        let (i, j) = (solid(&old[a..]), solid(&new[b..]));
        let common = old[a..a + i].bytes().zip(new[b..b + j].bytes()).take_while(|(a, b)| a == b).count();
        if common == 0 {
            break;
        }
        // Space may have come into what had none, or gone.
        let common = (0..=common).rev().find(|n| old.is_char_boundary(a + n)).unwrap_or(0);
        (a, b) = (a + common, b + common);
        if common == 0 {
            break;
        }
    }
    if a == old.len() && b == new.len() {
        return;
    }
    out.truncate(before);
    let start = old.bytes().zip(new.bytes()).take_while(|(a, b)| a == b).count();
    let start = (0..=start).rev().find(|n| old.is_char_boundary(*n) && new.is_char_boundary(*n)).unwrap_or(0);
    let (a, b) = (&old[start..], &new[start..]);
    let end = a.bytes().rev().zip(b.bytes().rev()).take_while(|(a, b)| a == b).count();
    let fits = |n: &usize| a.is_char_boundary(a.len() - n) && b.is_char_boundary(b.len() - n);
    let end = (0..=end).rev().find(fits).unwrap_or(0);
    out.push(Edit { range: offset + start..offset + old.len() - end, new: b[..b.len() - end].to_owned() });
}

/// The forms at the top in which something is wrong, as ranges of bytes from token to token.
fn broken(text: &str) -> Vec<Range<u32>> {
    let all = remc_syntax::tokens(text);
    let tokens = all.tokens.as_slice();
    let parsed = remc_syntax::parse(ModuleId(0), text, true);
    let mut errors: Vec<Range<u32>> = parsed
        .diagnostics
        .iter()
        .filter(|d| d.is_error())
        .flat_map(|d| d.labels.iter().filter(|l| l.primary))
        .map(|l| l.loc.start..l.loc.end)
        .collect();
    errors.sort_by_key(|r| (r.start, r.end));
    let mut fates = vec![Fate::Unknown; tokens.len()];
    let mut out = vec![];
    let mut at = 0;
    let mut first_error = 0;
    while at < tokens.len() && tokens[at].kind != TokenKind::End {
        let (end, mut wrong) = segment(text, tokens, at, &mut fates);
        let (start, stop) = (tokens[at].start, tokens[end - 1].end);
        while errors.get(first_error).is_some_and(|e| e.end < start) {
            first_error += 1;
        }
        let meets = |e: &Range<u32>| {
            e.start < stop && e.end > start || e.is_empty() && (start..=stop).contains(&e.start)
        };
        wrong |= errors[first_error..].iter().take_while(|e| e.start <= stop).any(meets);
        wrong |= tokens[at..end].iter().any(|t| matches!(t.kind, TokenKind::Error | TokenKind::Unknown));
        if wrong {
            out.push(start..stop);
        }
        at = end;
    }
    out
}

#[derive(Clone, Copy, PartialEq)]
enum Fate {
    Unknown,
    ClosedBy(u32),
    Broken,
}

/// What begins at a token of the top: the token behind it, and whether its brackets do not match. That ends before the
/// next bracket in column 0, as it does for the reader.
fn segment(text: &str, tokens: &[Token], at: usize, fates: &mut [Fate]) -> (usize, bool) {
    match tokens[at].kind {
        TokenKind::Open(_) => {}
        TokenKind::Close(_) | TokenKind::Bar => return (at + 1, true),
        _ => return (at + 1, false),
    }
    if fates[at] == Fate::Unknown {
        let mut open: Vec<(usize, Bracket)> = vec![];
        for (i, token) in tokens.iter().enumerate().skip(at) {
            match token.kind {
                TokenKind::Open(b) => open.push((i, b)),
                TokenKind::Close(b) => match open.pop() {
                    Some((from, a)) if a == b => fates[from] = Fate::ClosedBy(i as u32),
                    Some((from, _)) => {
                        fates[from] = Fate::Broken;
                        break;
                    }
                    None => break,
                },
                _ => {}
            }
            if open.is_empty() {
                break;
            }
        }
        open.iter().for_each(|(i, _)| fates[*i] = Fate::Broken);
    }
    if let Fate::ClosedBy(close) = fates[at] {
        return (close as usize + 1, false);
    }
    let begins_line = |t: &Token| {
        matches!(t.kind, TokenKind::Open(Bracket::Round | Bracket::Square))
            && (t.start == 0 || text.as_bytes()[t.start as usize - 1] == b'\n')
    };
    let next = (at + 1..tokens.len()).find(|i| begins_line(&tokens[*i]) || tokens[*i].kind == TokenKind::End);
    (next.unwrap_or(tokens.len()), true)
}

/// The innermost bracket that is open where a text ends, or the text itself.
pub(crate) fn innermost(tree: &Tree<'_>) -> usize {
    let end = tree.toks.iter().position(|t| t.kind == Kind::End).map_or(0, |e| e + 1);
    tree.lists.iter().rposition(|l| l.close as usize >= end).unwrap_or(0)
}
