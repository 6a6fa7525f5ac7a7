//! Matrices and long rows of numbers: which spaces align them.
//!
//! ```text
//! [[1 0 -1]            [[  1  0 -1]      numbers end, or have their points, in one column
//!  [20 0 -2.5]          [ 20  0 -2.5]
//!  [300 0 -1]]          [300  0 -1]]
//! ```
//!
//! A matrix is a `[…]` whose elements are `[…]` of the same structure, on a line each. Numbers alone, in `[…]` or after the
//! dims of an `array`, are a table if all their lines have as many, but for the last. Where such a table, or a row, does not
//! fit, its lines are cut anew, as wide as they fit. Any other `[…]` on several lines that the author has aligned by hand,
//! what has spaces before it begins or ends where something on another line does, keeps its spaces.

use crate::WIDTH;
use crate::forms::Form;
use crate::tree::{Elem, Kind, List, Tok, Tree};
use std::collections::HashMap;

/// What alignment adds, by token.
pub(crate) struct Aligned {
    pads: Vec<u32>,
    breaks: Vec<bool>,
}

impl Aligned {
    pub fn of(tokens: usize) -> Aligned {
        Aligned { pads: vec![0; tokens], breaks: vec![false; tokens] }
    }

    /// Spaces beside the one that parts tokens.
    pub fn pad(&self, t: usize) -> usize {
        self.pads.get(t).copied().unwrap_or(0) as usize
    }

    pub fn breaks(&self, t: usize) -> bool {
        self.breaks.get(t).copied().unwrap_or(false)
    }
}

/// What has been found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    Nothing,
    /// A line for each element.
    Matrix,
    /// The line breaks are decided, too.
    Table,
}

/// Aligns a list that takes several lines and begins at `column`.
pub(crate) fn align(tree: &Tree<'_>, list: &List, column: usize, spreads: bool, out: &mut Aligned) -> Found {
    match list.state.form {
        Form::Data if list.square && list.elems > 1 => {
            let all: Vec<&Elem> = tree.elems_of(list).collect();
            if table(tree, list, &all, column + 1, out) {
                return Found::Table;
            }
            if matrix(tree, &all, column + 1, spreads, out) {
                return Found::Matrix;
            }
            if list.multi {
                by_hand(tree, list, &all, column, out);
            }
            Found::Nothing
        }
        Form::Array if list.elems > 3 => {
            let all: Vec<&Elem> = tree.elems_of(list).skip(2).collect();
            if table(tree, list, &all, column + 2, out) { Found::Table } else { Found::Nothing }
        }
        _ => Found::Nothing,
    }
}

/// How wide a number is before its point, and from there on.
fn halves(text: &str) -> (u32, u32) {
    let all = text.chars().count();
    let before = text.chars().position(|c| c == '.').unwrap_or(all);
    (before as u32, (all - before) as u32)
}

#[derive(Clone, Copy, Default)]
struct Column {
    /// Something in it is a number.
    numbers: bool,
    before: u32,
    after: u32,
    widest: u32,
}

impl Column {
    fn add(&mut self, tree: &Tree<'_>, tok: &Tok) {
        let (before, after) = halves(tree.text_of(tok));
        self.numbers |= tok.number;
        self.before = self.before.max(before);
        self.after = self.after.max(after);
        self.widest = self.widest.max(tok.width);
    }

    fn width(&self) -> u32 {
        if self.numbers { self.before + self.after } else { self.widest }
    }

    /// Spaces before and behind a token in it.
    fn pads(&self, tree: &Tree<'_>, tok: &Tok) -> (u32, u32) {
        if !self.numbers {
            return (0, self.widest - tok.width);
        }
        let (before, after) = halves(tree.text_of(tok));
        (self.before - before, self.after - after)
    }
}

fn matrix(tree: &Tree<'_>, rows: &[&Elem], column: usize, spreads: bool, out: &mut Aligned) -> bool {
    let Some((first, others)) = rows.split_first() else { return false };
    let is_row = |e: &&Elem| {
        let open = &tree.toks[e.first as usize];
        let square = open.kind == Kind::Open(remc_syntax::token::Bracket::Square);
        square && !e.multi && e.end - e.first == first.end - first.first && e.rule.counts
    };
    // The author has begun a line, or there is no room behind the row before.
    let on_own = |(before, e): (&&Elem, &&Elem)| {
        let first = &tree.toks[e.first as usize];
        let comments: u32 = tree.comments_of(first).iter().map(|c| c.width + 1).sum();
        let width = before.width + comments + 1 + e.width + tree.closers[e.end as usize];
        spreads || tree.is_broken(first) || column + width as usize > WIDTH
    };
    if !rows.iter().all(is_row) || !rows.iter().zip(others).all(on_own) {
        return false;
    }
    fn tokens<'a>(tree: &'a Tree<'_>, e: &Elem) -> &'a [Tok] {
        &tree.toks[e.first as usize..e.end as usize]
    }
    let atom = |t: &&Tok| t.kind == Kind::Atom;
    let plain = |a: &Tok| matches!(a.kind, Kind::Atom | Kind::Close | Kind::Open(_)) && a.comments.is_empty();
    let same = |e: &&&Elem| {
        // Whether the row is broken by the author has been asked; comments before it are not in it.
        let pairs = tokens(tree, e).iter().zip(tokens(tree, first));
        pairs.enumerate().all(|(i, (a, b))| a.kind == b.kind && (i == 0 || plain(a)))
    };
    let data = tokens(tree, first)
        .iter()
        .all(|t| !matches!(t.kind, Kind::Open(b) if b != remc_syntax::token::Bracket::Square));
    if !data || !rows.iter().all(|e| same(&e)) {
        return false;
    }
    let mut columns = vec![Column::default(); tokens(tree, first).iter().filter(atom).count()];
    for row in rows {
        for (column, tok) in columns.iter_mut().zip(tokens(tree, row).iter().filter(atom)) {
            column.add(tree, tok);
        }
    }
    let others: u32 = first.width - tokens(tree, first).iter().filter(atom).map(|t| t.width).sum::<u32>();
    let width = others + columns.iter().map(Column::width).sum::<u32>();
    let closers = rows.last().map_or(0, |e| tree.closers[e.end as usize]);
    if column + (width + closers) as usize > WIDTH {
        return false;
    }
    for row in rows {
        let mut columns = columns.iter();
        let mut left = 0;
        for (t, tok) in tokens(tree, row).iter().enumerate() {
            let pad = &mut out.pads[row.first as usize + t];
            match tok.kind {
                Kind::Atom => {
                    let Some(column) = columns.next() else { break };
                    let (before, after) = column.pads(tree, tok);
                    *pad = std::mem::take(&mut left) + before;
                    left = after;
                }
                Kind::Open(_) => *pad = std::mem::take(&mut left),
                _ => {}
            }
        }
    }
    true
}

/// Keeps the spaces of a list whose elements are on one line each, if they align something.
fn by_hand(tree: &Tree<'_>, list: &List, all: &[&Elem], column: usize, out: &mut Aligned) {
    if all.iter().any(|e| e.multi || !e.rule.counts) {
        return;
    }
    let (open, close) = (list.open as usize, list.close as usize);
    let Some(base) = tree.toks.get(open).map(|t| t.column + 1) else { return };
    // Of each line: where its tokens begin and end, and what is added to their spaces.
    let mut lines: Vec<Vec<(u32, u32, u32)>> = vec![];
    let mut pads = vec![];
    for t in open + 1..close {
        let (before, tok) = (&tree.toks[t - 1], &tree.toks[t]);
        if !tok.comments.is_empty() || tok.column < base {
            return;
        }
        let begins = before.line < tok.line;
        // A line end or space before a closing bracket does not stay, nor a line end within what is glued together.
        if begins && tok.elem.is_none() {
            return;
        }
        let from = if begins { base } else { before.column + before.width };
        let within = matches!(before.kind, Kind::Open(_)) || begins;
        // `{ | 3}`, but `{|}`
        let empty = within && tree.toks.get(t + 1).is_some_and(|next| next.kind == Kind::Close);
        let spaced = if tok.kind == Kind::Bar { !empty } else { tok.elem.is_some() && !within };
        let usual = u32::from(spaced);
        let Some(pad) = (tok.column - from).checked_sub(usual) else { return };
        if pad > 0 && tok.kind == Kind::Close {
            return;
        }
        if begins || lines.is_empty() {
            lines.push(vec![]);
        }
        if let Some(line) = lines.last_mut() {
            line.push((tok.column, tok.column + tok.width, pad));
        }
        pads.push(pad);
    }
    let closers = tree.closers.get(close).copied().unwrap_or(0);
    // Where tokens begin (and end): on which line, if it is one.
    let mut edges: HashMap<(bool, u32), Option<usize>> = HashMap::new();
    for (i, line) in lines.iter().enumerate() {
        for edge in line.iter().flat_map(|(start, end, _)| [(false, *start), (true, *end)]) {
            edges.entry(edge).and_modify(|at| *at = at.filter(|at| *at == i)).or_insert(Some(i));
        }
    }
    let meets =
        |start: u32, end: u32| [(false, start), (true, end)].iter().any(|e| edges.get(e) == Some(&None));
    let fits = |(i, line): (usize, &Vec<(u32, u32, u32)>)| {
        let behind = if i + 1 == lines.len() { closers } else { 0 };
        line.last().is_none_or(|(_, end, _)| column + 1 + (end - base + behind) as usize <= WIDTH)
    };
    if !lines.iter().enumerate().all(fits) {
        return;
    }
    let mut padded = false;
    for (start, end, pad) in lines.iter().flatten() {
        padded |= *pad > 0;
        if *pad > 0 && !meets(*start, *end) {
            return;
        }
    }
    if padded {
        out.pads[open + 1..close].copy_from_slice(&pads);
    }
}

fn table(tree: &Tree<'_>, list: &List, all: &[&Elem], column: usize, out: &mut Aligned) -> bool {
    let tok = |e: &&Elem| &tree.toks[e.first as usize];
    let number = |e: &&Elem| e.atom && tok(e).number && tok(e).comments.is_empty() && e.rule.counts;
    let Some((_, others)) = all.split_first() else { return false };
    if others.is_empty() || !all.iter().all(number) {
        return false;
    }
    let closers = tree.closers.get(list.close as usize).copied().unwrap_or(0) as usize;
    let room = WIDTH.saturating_sub(column);
    // The author's lines.
    let mut lines: Vec<usize> = vec![1];
    for e in others {
        match lines.last_mut() {
            Some(n) if tok(e).breaks == 0 => *n += 1,
            _ => lines.push(1),
        }
    }
    let long = lines[0];
    let fits = |per_line: usize| {
        let columns = columns_of(tree, all, per_line);
        let width: u32 = columns.iter().map(|c| c.width() + 1).sum::<u32>() - 1;
        width as usize + closers <= room
    };
    let even =
        lines.len() > 1 && lines.iter().rev().skip(1).all(|n| *n == long) && lines.last() <= Some(&long);
    let per_line = if even && fits(long) {
        long
    } else {
        let mut rest = all;
        let apart = lines.iter().all(|n| {
            let (line, behind) = rest.split_at(*n);
            rest = behind;
            let width: usize = line.iter().map(|e| e.width as usize + 1).sum();
            width - 1 + if behind.is_empty() { closers } else { 0 } <= room
        });
        if list.multi && apart && !even {
            return false;
        }
        let mut whole = Column::default();
        all.iter().for_each(|e| whole.add(tree, tok(e)));
        let most = (room.saturating_sub(closers) + 1) / (whole.width() as usize + 1);
        most.clamp(1, all.len() - 1)
    };
    let columns = columns_of(tree, all, per_line);
    let mut left = 0;
    for (i, e) in all.iter().enumerate() {
        let (before, after) = columns[i % per_line].pads(tree, tok(e));
        let t = e.first as usize;
        if i % per_line == 0 {
            left = 0;
        }
        out.breaks[t] = i % per_line == 0 && i > 0 || i == 0 && list.state.form == Form::Array;
        out.pads[t] = left + before;
        left = after;
    }
    true
}

fn columns_of(tree: &Tree<'_>, all: &[&Elem], per_line: usize) -> Vec<Column> {
    let mut columns = vec![Column::default(); per_line.min(all.len())];
    for (i, e) in all.iter().enumerate() {
        columns[i % per_line].add(tree, &tree.toks[e.first as usize]);
    }
    columns
}
