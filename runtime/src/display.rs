//! Values as a prompt shows them: Remora text in lines, for people.
//!
//! ```text
//! [[ 0.5       1.0]                        a matrix, its columns aligned
//!  [10.0  0.333333]]
//! [0 1 2 3 … 997 998 999]  ; [1000] of int what is large: its first and last items, and its shape
//! (record (x [1 2])                        parts below each other, where one line has no room for them
//!         (y "text"))
//! ```
//!
//! A scalar has all its digits; floats in arrays have up to six behind the point. What has not been cut reads back as it
//! stands.

use crate::table::{Wide, picked};
use crate::text;
use remc_base::value::Data;
use remc_base::{Atom, AtomTy, IndexValue, SigmaTy, Value};
use unicode_width::UnicodeWidthStr;

/// How much room there is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Characters in a line.
    pub width: usize,
    /// Lines for one array.
    pub lines: usize,
}

/// Digits behind the point of floats in arrays.
const DIGITS: usize = 6;
/// A long vector has so many lines at most before it is cut.
const FEW: usize = 6;
/// So many items are shown at the end of what is cut.
const TAIL: usize = 3;
const ELLIPSIS: &str = "…";

/// The lines of a value, each with its end.
pub fn display(value: &Value, room: Room) -> String {
    let room = Room { width: room.width.max(20), lines: room.lines.max(4) };
    let mut out = String::new();
    for Line { text, said } in block(value, room).0 {
        out.push_str(text.trim_end());
        if let Some(said) = said {
            out.push_str(&format!("  ; {said}"));
        }
        out.push('\n');
    }
    out
}

/// A line, and what is said of it in a comment behind it.
#[derive(Clone, Default)]
struct Line {
    text: String,
    said: Option<String>,
}

/// Lines that belong together.
struct Block(Vec<Line>);

impl Block {
    fn of(text: impl Into<String>) -> Block {
        Block(vec![Line { text: text.into(), said: None }])
    }

    /// What it is, if that is one line without a comment.
    fn line(&self) -> Option<&str> {
        match self.0.as_slice() {
            [Line { text, said: None }] => Some(text),
            _ => None,
        }
    }

    /// The same with a text before it, below which it is indented, and one behind it.
    fn within(mut self, before: &str, after: &str) -> Block {
        let indent = " ".repeat(before.width());
        for (k, line) in self.0.iter_mut().enumerate() {
            line.text.insert_str(0, if k == 0 { before } else { &indent });
        }
        if let Some(last) = self.0.last_mut() {
            last.text.push_str(after);
        }
        self
    }

    fn said(mut self, what: Option<String>) -> Block {
        if let Some(last) = self.0.last_mut() {
            last.said = what.or(last.said.take());
        }
        self
    }
}

fn block(value: &Value, room: Room) -> Block {
    match (&value.data, &value.atom, value.shape.as_slice()) {
        (data, _, dims) if !dims.is_empty() && data.is_empty() => Block::of(text::print(value)),
        (Data::Tuple(tuples), ty, dims) => {
            let one = |at: usize, room: Room| tuple(ty, tuples.get(at).map_or(&[][..], |t| &t[..]), room);
            match dims {
                [] => one(0, room),
                _ => items(value, room, &one),
            }
        }
        (Data::Box(boxes), AtomTy::Sigma(sigma), dims) => {
            let sigma = sigma.named_for_values(&mut 0);
            let one = |at: usize, room: Room| match boxes.get(at) {
                Some(b) if dims.is_empty() => boxed(&sigma, &b.indices, &b.value, room),
                Some(b) => {
                    let indices: Vec<String> = b.indices.iter().map(index).collect();
                    let before = format!("(({}) ", indices.join(" "));
                    block(&b.value, inside(room, before.width() + 1)).within(&before, ")")
                }
                None => Block::of(ELLIPSIS),
            };
            if dims.is_empty() {
                return one(0, room);
            }
            let params: Vec<String> = sigma.params.iter().map(ToString::to_string).collect();
            let head = format!("(boxes ({}) {} {}", params.join(" "), sigma.body, shape(dims));
            rows(value, room, (&head, ")"), &one)
        }
        (_, _, []) => Block::of(text::print(value)),
        (Data::Char(_), _, [_]) => string(value, 0, room),
        (Data::Char(_), _, [.., n]) => {
            let outer = &value.shape[..value.shape.len() - 1];
            let texts = Value { atom: value.atom.clone(), shape: outer.to_vec(), data: Data::Function(0) };
            items(&texts, room, &|at, room| string(value, at * n, room)).said_if_cut(value)
        }
        _ => numbers(value, room),
    }
}

impl Block {
    /// The shape of the value that it is, in place of that of its rows.
    fn said_if_cut(self, value: &Value) -> Block {
        let cut = self.0.last().is_some_and(|l| l.said.is_some());
        self.said(cut.then(|| said(value)))
    }
}

/// `[1000] of int`
fn said(value: &Value) -> String {
    let atom = match &value.atom {
        AtomTy::Sigma(sigma) => {
            let named = sigma.named_for_values(&mut 0);
            AtomTy::sigma(named.params, named.body).to_string()
        }
        atom => atom.to_string(),
    };
    format!("{} of {atom}", shape(&value.shape))
}

fn shape(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    format!("[{}]", dims.join(" "))
}

fn inside(room: Room, taken: usize) -> Room {
    Room { width: room.width.saturating_sub(taken).max(20), ..room }
}

/// The room of each of several items below each other.
fn share(room: Room, items: usize) -> Room {
    Room { lines: (room.lines / items.max(1)).max(1), ..room }
}

fn index(i: &IndexValue) -> String {
    match i {
        IndexValue::Dim(n) => n.to_string(),
        IndexValue::Shape(dims) => {
            let dims: Vec<String> = dims.iter().map(ToString::to_string).collect();
            format!("[{}]", dims.join(" "))
        }
    }
}

/// `(box ((n 3)) [int n] [1 2 3])`
fn boxed(sigma: &SigmaTy, indices: &[IndexValue], value: &Value, room: Room) -> Block {
    let bound = sigma.params.iter().zip(indices).map(|(p, i)| format!("({p} {})", index(i)));
    let head = format!("(box ({}) {} ", bound.collect::<Vec<_>>().join(" "), sigma.body);
    let inner = block(value, inside(room, head.width() + 1));
    if inner.0.len() == 1 {
        return inner.within(&head, ")");
    }
    let mut lines = vec![Line { text: head, said: None }];
    lines.extend(block(value, inside(room, 3)).within("  ", ")").0);
    Block(lines)
}

/// A tuple or record: on one line, or each part on its own.
fn tuple(ty: &AtomTy, parts: &[Value], room: Room) -> Block {
    let AtomTy::Tuple(ty) = ty else { return Block::of(ELLIPSIS) };
    let record = !ty.fields.is_empty() && ty.fields.iter().all(|(label, _)| label.is_some());
    let head = if record { "(record" } else { "(values" };
    let part = |(k, value): (usize, &Value)| match ty.fields.get(k).and_then(|(label, _)| label.as_ref()) {
        Some(label) if record => {
            let before = format!("({label} ");
            block(value, inside(room, head.len() + 2 + before.width())).within(&before, ")")
        }
        _ => block(value, inside(room, head.len() + 2)),
    };
    let blocks: Vec<Block> = parts.iter().enumerate().map(part).collect();
    if let Some(line) = on_one_line(&blocks, (head, ")"), " ", room) {
        return line;
    }
    below(blocks, &format!("{head} "), ")")
}

/// Blocks on one line, if it has room for them.
fn on_one_line(blocks: &[Block], (before, after): (&str, &str), first: &str, room: Room) -> Option<Block> {
    let mut line = before.to_owned();
    for (k, block) in blocks.iter().enumerate() {
        line.push_str(if k == 0 { first } else { " " });
        line.push_str(block.line()?);
    }
    line.push_str(after);
    (line.width() <= room.width).then(|| Block::of(line))
}

/// Blocks below each other, all indented as the first is.
fn below(blocks: Vec<Block>, before: &str, after: &str) -> Block {
    let indent = " ".repeat(before.width());
    let last = blocks.len().saturating_sub(1);
    let one = |(k, block): (usize, Block)| {
        block.within(if k == 0 { before } else { &indent }, if k == last { after } else { "" }).0
    };
    Block(blocks.into_iter().enumerate().flat_map(one).collect())
}

type Item<'a> = &'a dyn Fn(usize, Room) -> Block;

/// The items of an array of what is no number, by their positions, in brackets as its axes say.
fn items(value: &Value, room: Room, item: Item<'_>) -> Block {
    fn axis(dims: &[usize], at: usize, room: Room, most: usize, item: Item<'_>, cut: &mut bool) -> Block {
        let Some((n, rest)) = dims.split_first() else { return item(at, room) };
        let size: usize = rest.iter().product();
        let picked = picked(*n, Some(most));
        *cut |= picked.contains(&None);
        let inner = share(inside(room, 2), picked.len());
        let mut blocks = Vec::new();
        for k in picked {
            blocks.push(match k {
                Some(k) => axis(rest, at + k * size, inner, most, item, cut),
                None => Block::of(ELLIPSIS),
            });
        }
        let brackets = ("[", "]");
        on_one_line(&blocks, brackets, "", room).unwrap_or_else(|| below(blocks, brackets.0, brackets.1))
    }
    let mut cut = false;
    let block = axis(&value.shape, 0, room, room.lines, item, &mut cut);
    block.said(cut.then(|| said(value)))
}

/// The items of an array below a head, whatever its axes are.
fn rows(value: &Value, room: Room, (head, after): (&str, &str), item: Item<'_>) -> Block {
    let count = value.shape.iter().product();
    let picked = picked(count, Some(room.lines));
    let cut = picked.contains(&None);
    let inner = share(inside(room, 2), picked.len());
    let one = |k: &Option<usize>| k.map_or_else(|| Block::of(ELLIPSIS), |k| item(k, inner));
    let blocks: Vec<Block> = picked.iter().map(one).collect();
    if let Some(line) = on_one_line(&blocks, (head, after), " ", room) {
        return line.said(cut.then(|| said(value)));
    }
    let mut lines = vec![Line { text: head.to_owned(), said: None }];
    lines.extend(below(blocks, " ", after).0);
    Block(lines).said(cut.then(|| said(value)))
}

/// A text that begins at an element of an array of characters, as much of it as its line has room for.
fn string(value: &Value, at: usize, room: Room) -> Block {
    let length = value.shape.last().copied().unwrap_or_default();
    let of = |n: usize| {
        let data = value.data.gather(at..at + n);
        text::print(&Value { atom: value.atom.clone(), shape: vec![n], data })
    };
    // A text of several lines of the screen is no less readable than one.
    let most = room.width * FEW;
    if length <= most {
        return Block::of(of(length));
    }
    let whole = Value { atom: value.atom.clone(), shape: vec![length], data: Data::Function(0) };
    Block::of(of(most) + ELLIPSIS).said(Some(said(&whole)))
}

/// An array of scalars: the columns of its rows aligned, without the rows and columns that there is no room for.
fn numbers(value: &Value, room: Room) -> Block {
    let Some((columns, outer)) = value.shape.split_last() else { return Block::of(text::print(value)) };
    let cell = |at: usize| {
        let mut out = String::new();
        match value.data.get(at) {
            // Writing to a string does not fail.
            Some(Atom::Scalar(s)) => _ = text::scalar(s, Some(DIGITS), &mut out),
            _ => out.push_str("#<function>"),
        }
        out
    };
    if outer.is_empty() {
        return vector(value, *columns, room, &cell);
    }
    let width = room.width.saturating_sub(2 * outer.len() + 1);
    let tall = |most: usize| -> usize {
        // Between the items of each axis but the last two there are empty lines.
        outer.iter().rev().enumerate().fold(1, |inner: usize, (k, n)| {
            let shown = (*n).min(most.saturating_add(usize::from(*n > most)));
            shown.saturating_mul(inner).saturating_add(if k == 0 { 0 } else { k * shown.saturating_sub(1) })
        })
    };
    let most =
        [usize::MAX, 20, 14, 10, 8, 6, 5, 4, 3].into_iter().find(|m| tall(*m) <= room.lines).unwrap_or(2);
    let mut cut = false;
    let starts = starts(outer, *columns, most, &mut cut);
    // How wide a column is, is known from the rows that are shown.
    let wide = |column: usize| {
        let mut wide = Wide::default();
        for start in starts.iter().filter_map(|(start, _)| *start) {
            wide.add(&cell(start + column));
        }
        wide
    };
    // Columns from the left as far as there is room, with some from the right.
    let (mut head, mut taken) = (Vec::new(), 0);
    while head.len() < *columns {
        let next = wide(head.len());
        taken += next.width() + 1;
        if taken > width + 1 {
            break;
        }
        head.push(next);
    }
    let mut tail = Vec::new();
    if head.len() < *columns {
        cut = true;
        let mut right = ELLIPSIS.width() + 1;
        for k in (columns.saturating_sub(TAIL)..*columns).rev() {
            let next = wide(k);
            if right + next.width() + 1 > width / 2 {
                break;
            }
            right += next.width() + 1;
            tail.push((k, next));
        }
        tail.reverse();
        let mut left: usize = head.iter().map(|w| w.width() + 1).sum();
        while left + right > width && head.len() > 1 {
            left -= head.pop().map_or(0, |w| w.width() + 1);
        }
    }
    let depth = outer.len();
    let mut lines: Vec<Line> = Vec::new();
    for (k, (start, opened)) in starts.iter().enumerate() {
        let Some(start) = start else {
            lines.push(Line { text: format!("{}{ELLIPSIS}", " ".repeat(*opened)), said: None });
            continue;
        };
        if k > 0 {
            lines.extend((*opened..depth).map(|_| Line::default()));
        }
        let mut cells: Vec<String> = head.iter().enumerate().map(|(k, w)| w.pad(&cell(start + k))).collect();
        if head.len() < *columns {
            cells.push(ELLIPSIS.to_owned());
        }
        cells.extend(tail.iter().map(|(k, w)| w.pad(&cell(start + k))));
        // It closes what the next one does not stand in.
        let next = starts.get(k + 1).map_or(0, |(_, opened)| *opened);
        let (open, closed) = ("[".repeat(depth + 1 - opened), "]".repeat(depth + 1 - next));
        let text = format!("{}{open}{}{closed}", " ".repeat(*opened), cells.join(" "));
        lines.push(Line { text, said: None });
    }
    Block(lines).said(cut.then(|| said(value)))
}

/// Where the rows begin that are shown, in order, and how many brackets are open before each already; `None` stands for the
/// items of an axis that are not shown.
fn starts(outer: &[usize], columns: usize, most: usize, cut: &mut bool) -> Vec<(Option<usize>, usize)> {
    fn axis(
        (dims, depth): (&[usize], usize),
        (at, opened): (usize, usize),
        columns: usize,
        most: usize,
        out: &mut Vec<(Option<usize>, usize)>,
    ) {
        let Some((n, rest)) = dims.split_first() else {
            out.push((Some(at), opened));
            return;
        };
        let size = rest.iter().product::<usize>() * columns;
        for (i, k) in picked(*n, Some(most)).into_iter().enumerate() {
            // The first item stands behind the brackets that it opens.
            let opened = if i == 0 { opened } else { depth + 1 };
            match k {
                Some(k) => axis((rest, depth + 1), (at + k * size, opened), columns, most, out),
                None => out.push((None, depth + 1)),
            }
        }
    }
    let mut out = Vec::new();
    axis((outer, 0), (0, 0), columns, most, &mut out);
    *cut |= out.iter().any(|(start, _)| start.is_none());
    out
}

/// A vector: on a line, or on a few, or its first and last items.
fn vector(value: &Value, n: usize, room: Room, cell: &dyn Fn(usize) -> String) -> Block {
    // More cannot be shown anyway.
    let some = n <= room.width * FEW;
    if some {
        let cells: Vec<String> = (0..n).map(cell).collect();
        if cells.iter().map(|c| c.width() + 1).sum::<usize>() < room.width + 1 {
            return Block::of(format!("[{}]", cells.join(" ")));
        }
        let mut wide = Wide::default();
        cells.iter().for_each(|c| wide.add(c));
        let columns = (room.width.saturating_sub(2) / (wide.width() + 1)).max(1);
        if n.div_ceil(columns) <= FEW.min(room.lines) {
            let row = |row: &[String]| row.iter().map(|c| wide.pad(c)).collect::<Vec<_>>().join(" ");
            return below(cells.chunks(columns).map(|c| Block::of(row(c))).collect(), "[", "]");
        }
    }
    let tail: Vec<String> = (n - TAIL..n).map(cell).collect();
    let said = said(value);
    let behind = tail.iter().map(|c| c.width() + 1).sum::<usize>() + said.width();
    let mut left = room.width.saturating_sub(behind + 8);
    let mut line = String::from("[");
    for k in 0..n - TAIL {
        let next = cell(k);
        if k > 0 && next.width() + 1 > left {
            break;
        }
        left = left.saturating_sub(next.width() + 1);
        line.push_str(&next);
        line.push(' ');
    }
    line.push_str(&format!("{ELLIPSIS} {}]", tail.join(" ")));
    Block::of(line).said(Some(said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use remc_base::{ArrTy, BaseTy, BoxValue, Dim, IVar, Name, Scalar, Shape};

    const ROOM: Room = Room { width: 40, lines: 8 };

    fn ints(shape: &[usize], of: impl IntoIterator<Item = i64>) -> Value {
        Value::of_scalars(BaseTy::I64, shape.to_vec(), of.into_iter().map(Scalar::I64))
    }

    fn floats(shape: &[usize], of: &[f64]) -> Value {
        Value::of_scalars(BaseTy::F64, shape.to_vec(), of.iter().map(|x| Scalar::F64(*x)))
    }

    fn chars(shape: &[usize], text: &str) -> Value {
        Value::of_scalars(BaseTy::Char, shape.to_vec(), text.chars().map(Scalar::Char))
    }

    #[track_caller]
    fn shows(value: &Value, lines: &[&str]) {
        let text = display(value, ROOM);
        assert_eq!(text.lines().collect::<Vec<_>>(), lines, "\n{text}");
    }

    #[test]
    fn what_fits_is_shown_whole() {
        shows(&ints(&[], [5]), &["5"]);
        shows(&floats(&[], &[1.0 / 3.0]), &["0.3333333333333333"]);
        shows(&floats(&[2], &[1.0 / 3.0, 2.0]), &["[0.333333 2.0]"]);
        shows(&ints(&[0, 3], []), &["(array [0 3] int)"]);
        shows(&ints(&[2, 2], [1, 20, 300, 4]), &["[[  1 20]", " [300  4]]"]);
        shows(
            &floats(&[2, 2], &[0.5, 10.25, 100.125, f64::NAN]),
            &["[[  0.5    10.25]", " [100.125 nan   ]]"],
        );
        shows(&ints(&[1, 1, 1], [7]), &["[[[7]]]"]);
        shows(&chars(&[3], "a\"b"), &["\"a\\\"b\""]);
        shows(&chars(&[2, 3], "heysup"), &["[\"hey\" \"sup\"]"]);
    }

    #[test]
    fn between_matrices_is_an_empty_line() {
        shows(&ints(&[2, 2, 2], 1..9), &["[[[1 2]", "  [3 4]]", "", " [[5 6]", "  [7 8]]]"]);
    }

    #[test]
    fn long_vectors_have_several_lines_or_are_cut() {
        shows(
            &ints(&[20], (0..20).map(|n| n * 10)),
            &["[  0  10  20  30  40  50  60  70  80", "  90 100 110 120 130 140 150 160 170", " 180 190]"],
        );
        shows(&ints(&[1000], 0..1000), &["[0 1 2 … 997 998 999]  ; [1000] of int"]);
    }

    #[test]
    fn large_matrices_are_cut_and_say_their_shape() {
        shows(
            &ints(&[100, 3], 0..300),
            &[
                "[[  0   1   2]",
                " [  3   4   5]",
                " [  6   7   8]",
                " …",
                " [291 292 293]",
                " [294 295 296]",
                " [297 298 299]]  ; [100 3] of int",
            ],
        );
        shows(
            &ints(&[2, 100], 0..200),
            &[
                "[[  0   1   2   3   4 …  97  98  99]",
                " [100 101 102 103 104 … 197 198 199]]  ; [2 100] of int",
            ],
        );
        let lines = display(&ints(&[50, 50, 50], 0..125_000), ROOM);
        assert!(lines.lines().count() <= 12 && lines.ends_with("]]]  ; [50 50 50] of int\n"), "{lines}");
    }

    #[test]
    fn parts_and_boxes() {
        let fields = |labels: [Option<&str>; 2]| {
            AtomTy::tuple(labels.iter().map(|l| (l.map(Name::new), ArrTy::scalar(AtomTy::INT))).collect())
        };
        let of = |ty, shape, atoms: Vec<Atom>| Value::of_atoms(ty, shape, atoms).unwrap();
        let tuple = |x: Value, y: Value| Atom::Tuple(std::sync::Arc::from([x, y]));
        let small =
            of(fields([Some("x"), Some("y")]), vec![], vec![tuple(ints(&[], [1]), ints(&[2], [5, 6]))]);
        shows(&small, &["(record (x 1) (y [5 6]))"]);
        let large = of(fields([None, None]), vec![], vec![tuple(ints(&[500], 0..500), ints(&[2, 2], 1..5))]);
        shows(&large, &["(values [0 … 497 498 499]  ; [500] of int", "        [[1 2]", "         [3 4]])"]);
        let n = IVar::dim(0, "n");
        let ragged = AtomTy::sigma(vec![n.clone()], ArrTy::new(AtomTy::INT, Shape::of_dims([Dim::rigid(n)])));
        let boxed = |n: i64| {
            Atom::Box(std::sync::Arc::new(BoxValue {
                indices: vec![IndexValue::Dim(n)],
                value: ints(&[n as usize], 0..n),
            }))
        };
        shows(&of(ragged.clone(), vec![], vec![boxed(2)]), &["(box ((n 2)) [int n] [0 1])"]);
        shows(
            &of(ragged.clone(), vec![2], vec![boxed(2), boxed(1)]),
            &["(boxes (n) [int n] [2]", " ((2) [0 1])", " ((1) [0]))"],
        );
        let many = of(ragged, vec![30], (0..30).map(boxed).collect());
        let text = display(&many, ROOM);
        assert!(text.ends_with("]))  ; [30] of (Σ (n) [int n])\n") && text.contains("\n …\n"), "{text}");
        assert_eq!(text.lines().count(), 10, "{text}");
    }

    #[test]
    fn long_texts_are_cut() {
        let text = display(&chars(&[1000], &"x".repeat(1000)), ROOM);
        assert!(text.ends_with("x\"…  ; [1000] of char\n") && text.len() < 300, "{text}");
    }
}
