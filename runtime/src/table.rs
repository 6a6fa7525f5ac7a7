//! Values as aligned tables, for people.
//!
//! ```text
//! [1.5 20 -0.25]         [[1 20] [300 4]]       (record (x [1 2]) (y [0.5 10.25]))
//!
//! 0   1.5                     0   1                x   y
//! 1  20.0                0    1  20             0  1   0.5
//! 2  -0.25               1  300   4             1  2  10.25
//! ```
//!
//! Numbers stand with their points below each other. Before each row is its position. What has more rows than may be
//! shown has its first and its last ones, what is wider than the screen its first columns, and then its shape is said
//! below. An array of more than two axes is one table after the other, each under its position; a tuple whose parts are
//! no columns of one length, one under the name of each.

use crate::text::{self, Style};
use remc_base::value::Data;
use remc_base::{Atom, AtomTy, Value};
use std::fmt::Write as _;
use std::io::{self, Write};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// How much of a table is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// At most so many rows of each table, and so many tables of one value.
    pub rows: Option<usize>,
    /// At most so many characters in a line.
    pub width: Option<usize>,
    /// Floats have at most so many digits behind the point.
    pub precision: Option<usize>,
}

/// Digits behind the point, where nothing is said of them.
const DIGITS: usize = 6;
/// Between columns.
const GAP: &str = "  ";
/// In a cell that is no scalar, as a box, at most so many elements.
const ELEMENTS: usize = 8;

/// Writes a value as tables.
pub fn write(value: &Value, limits: Limits, out: &mut dyn Write) -> io::Result<()> {
    let mut cut = false;
    part(value, limits, "", &mut cut, out)?;
    if cut {
        writeln!(out, "{}", shape_said(value))?;
    }
    Ok(())
}

/// `… of shape [1000 3], of float`
fn shape_said(value: &Value) -> String {
    match value.shape.is_empty() {
        true => format!("… of {}", value.atom),
        false => format!("… {} of {}", shape(&value.shape), value.atom),
    }
}

fn shape(dims: &[usize]) -> String {
    let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
    format!("[{}]", dims.join(" "))
}

/// One of the tables of a value; `name` is what it is called there.
fn part(value: &Value, limits: Limits, name: &str, cut: &mut bool, out: &mut dyn Write) -> io::Result<()> {
    if let (Data::Box(boxes), []) = (&value.data, value.shape.as_slice())
        && let [one] = boxes.as_slice()
    {
        return part(&one.value, limits, name, cut, out);
    }
    if let (Data::Tuple(tuples), []) = (&value.data, value.shape.as_slice())
        && let [one] = tuples.as_slice()
        && columns(value).is_none()
    {
        return sections(&value.atom, one, limits, name, cut, out);
    }
    match value.shape.as_slice() {
        // No brackets are as clear as these.
        dims if !dims.is_empty() && value.data.is_empty() => writeln!(out, "{}", text::print(value)),
        [] if columns(value).is_none() => writeln!(out, "{}", cell(value, 0, limits)),
        [_] if matches!(value.data, Data::Char(_)) => writeln!(out, "{}", lines(value).join("")),
        [_, _] if matches!(value.data, Data::Char(_)) => {
            lines(value).iter().try_for_each(|line| writeln!(out, "{line}"))
        }
        [rest @ .., _, _] if !rest.is_empty() && !matches!(value.data, Data::Tuple(_)) => {
            tables(value, limits, name, cut, out)
        }
        _ => match columns(value) {
            Some(sheet) => sheet.write(limits, cut, out),
            None => writeln!(out, "{}", text::print(value)),
        },
    }
}

/// The parts of a tuple under their names.
fn sections(
    ty: &AtomTy,
    parts: &[Value],
    limits: Limits,
    name: &str,
    cut: &mut bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (k, value) in parts.iter().enumerate() {
        let label = label(ty, k).unwrap_or_else(|| k.to_string());
        let label = if name.is_empty() { label } else { format!("{name}.{label}") };
        if k > 0 {
            writeln!(out)?;
        }
        writeln!(out, "{label}:")?;
        part(value, limits, &label, cut, out)?;
    }
    Ok(())
}

fn label(ty: &AtomTy, k: usize) -> Option<String> {
    let AtomTy::Tuple(ty) = ty else { return None };
    ty.fields.get(k)?.0.as_ref().map(ToString::to_string)
}

/// An array of more than two axes: its matrices, each under its position.
fn tables(value: &Value, limits: Limits, name: &str, cut: &mut bool, out: &mut dyn Write) -> io::Result<()> {
    let split = value.shape.len() - 2;
    let (outer, inner) = value.shape.split_at(split);
    let (count, size) = (outer.iter().product::<usize>(), inner.iter().product::<usize>());
    let picked = picked(count, limits.rows);
    for (k, at) in picked.iter().enumerate() {
        if k > 0 {
            writeln!(out)?;
        }
        let Some(at) = at else {
            *cut = true;
            writeln!(out, "⋮")?;
            continue;
        };
        // The position in each of the outer axes.
        let mut rest = *at;
        let mut position: Vec<usize> = outer.iter().rev().map(|n| (rest % n, rest /= n).0).collect();
        position.reverse();
        writeln!(out, "{name}{}", shape(&position))?;
        let data = value.data.gather(at * size..(at + 1) * size);
        let matrix = Value { atom: value.atom.clone(), shape: inner.to_vec(), data };
        part(&matrix, limits, name, cut, out)?;
    }
    Ok(())
}

/// The positions of at most so many rows, with `None` where some are left out.
pub(crate) fn picked(count: usize, most: Option<usize>) -> Vec<Option<usize>> {
    match most.map(|most| most.max(1)) {
        Some(most) if count > most => {
            let tail = most / 2;
            let head = most - tail;
            (0..head).map(Some).chain([None]).chain((count - tail..count).map(Some)).collect()
        }
        _ => (0..count).map(Some).collect(),
    }
}

/// The text of a column's cell, by its row.
type Cells<'a> = Box<dyn Fn(usize, Limits) -> String + 'a>;

/// What a column is called, and its cells.
type Column<'a> = (String, Cells<'a>);

/// Columns with names or positions.
struct Sheet<'a> {
    rows: usize,
    named: bool,
    columns: Vec<Column<'a>>,
}

/// The columns of a vector, a matrix, an array of boxes or tuples, or of a tuple of columns.
fn columns(value: &Value) -> Option<Sheet<'_>> {
    match (&value.data, value.shape.as_slice()) {
        (Data::Tuple(tuples), []) => {
            let parts: &[Value] = tuples.first()?;
            let rows = *parts.first()?.shape.first()?;
            let mut all = Vec::new();
            for (k, part) in parts.iter().enumerate() {
                if part.shape.first() != Some(&rows) {
                    return None;
                }
                let name = label(&value.atom, k).unwrap_or_else(|| k.to_string());
                all.extend(under(name, part)?);
            }
            Some(Sheet { rows, named: true, columns: all })
        }
        (Data::Tuple(tuples), [rows]) => {
            let fields = tuples.first()?.len();
            let column = |k: usize| {
                let name = label(&value.atom, k).unwrap_or_else(|| k.to_string());
                let of = move |row: usize, limits: Limits| {
                    tuples[row].get(k).map(|part| inline(part, limits)).unwrap_or_default()
                };
                (name, Box::new(of) as Cells<'_>)
            };
            Some(Sheet { rows: *rows, named: true, columns: (0..fields).map(column).collect() })
        }
        (Data::Box(boxes), [rows]) => {
            let vector = |b: &std::sync::Arc<remc_base::BoxValue>| b.value.shape.len() == 1;
            let plain = boxes.iter().all(|b| vector(b) && !matches!(b.value.data, Data::Char(_)));
            let widest = boxes.iter().map(|b| b.value.data.len()).max().filter(|n| plain && *n > 0);
            let Some(widest) = widest else {
                let of = move |row: usize, limits: Limits| inline(&boxes[row].value, limits);
                return Some(Sheet {
                    rows: *rows,
                    named: false,
                    columns: vec![(String::new(), Box::new(of))],
                });
            };
            let column = |k: usize| {
                let of = move |row: usize, limits: Limits| match boxes[row].value.data.len() > k {
                    true => cell(&boxes[row].value, k, limits),
                    false => String::new(),
                };
                (k.to_string(), Box::new(of) as Cells<'_>)
            };
            Some(Sheet { rows: *rows, named: true, columns: (0..widest).map(column).collect() })
        }
        (_, [rows]) => Some(Sheet { rows: *rows, named: false, columns: under(String::new(), value)? }),
        (_, [rows, _]) => Some(Sheet { rows: *rows, named: true, columns: under(String::new(), value)? }),
        _ => None,
    }
}

/// The columns that a part is: one of a vector, each of a matrix, texts of a matrix of characters.
fn under(name: String, value: &Value) -> Option<Vec<Column<'_>>> {
    let cells = move |row, limits| cell(value, row, limits);
    match value.shape.as_slice() {
        [_] => Some(vec![(name, Box::new(cells))]),
        [_, _] if matches!(value.data, Data::Char(_)) => {
            let all = lines(value);
            Some(vec![(name, Box::new(move |row, _| all[row].clone()))])
        }
        [_, n] => {
            let column = |k: usize| {
                let name = if name.is_empty() { k.to_string() } else { format!("{name}.{k}") };
                let of = move |row: usize, limits: Limits| cell(value, row * n + k, limits);
                (name, Box::new(of) as Cells<'_>)
            };
            Some((0..*n).map(column).collect())
        }
        _ => None,
    }
}

impl Sheet<'_> {
    fn write(&self, limits: Limits, cut: &mut bool, out: &mut dyn Write) -> io::Result<()> {
        let picked = picked(self.rows, limits.rows);
        *cut |= picked.contains(&None);
        let numbers = self.rows.saturating_sub(1).to_string().len();
        let mut left = limits.width.map_or(usize::MAX, |width| width.saturating_sub(numbers + 3));
        let mut shown = Vec::new();
        for (name, of) in &self.columns {
            let mut wide = Wide::default();
            for row in picked.iter().copied().flatten() {
                wide.add(&of(row, limits));
            }
            if self.named {
                wide.least = visible(name).width();
            }
            let takes = wide.width() + GAP.len();
            if takes > left && !shown.is_empty() {
                *cut = true;
                break;
            }
            left = left.saturating_sub(takes);
            shown.push((visible(name), of, wide));
        }
        let more = if shown.len() < self.columns.len() { "  …" } else { "" };
        if self.named {
            let mut line = " ".repeat(numbers);
            for (name, _, wide) in &shown {
                // A name stands over its numbers, and begins where texts begin.
                let pad = " ".repeat(wide.width() - name.width());
                let _ = if wide.text {
                    write!(line, "{GAP}{name}{pad}")
                } else {
                    write!(line, "{GAP}{pad}{name}")
                };
            }
            writeln!(out, "{}", (line + more).trim_end())?;
        }
        for row in picked {
            let Some(row) = row else {
                writeln!(out, "{}⋮", " ".repeat(numbers - 1))?;
                continue;
            };
            let mut line = format!("{row:>numbers$}");
            for (_, of, wide) in &shown {
                line.push_str(GAP);
                line.push_str(&wide.pad(&of(row, limits)));
            }
            line.push_str(more);
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// How wide the cells of a column are, before and from the point of a number on.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Wide {
    before: usize,
    after: usize,
    /// Of a name above them.
    least: usize,
    /// Some are no numbers: all begin at the left.
    text: bool,
}

impl Wide {
    pub(crate) fn add(&mut self, cell: &str) {
        let (before, after) = parts(cell);
        self.before = self.before.max(before.width());
        self.after = self.after.max(after.width());
        self.text |= !cell.is_empty() && !is_number(cell);
    }

    pub(crate) fn width(&self) -> usize {
        (self.before + self.after).max(self.least)
    }

    pub(crate) fn pad(&self, cell: &str) -> String {
        let width = self.width();
        if self.text {
            return cell.to_owned() + &" ".repeat(width.saturating_sub(cell.width()));
        }
        let (before, after) = parts(cell);
        let right = " ".repeat(self.after - after.width());
        let text = format!("{before}{after}{right}");
        " ".repeat(width.saturating_sub(text.width())) + &text
    }
}

/// What is before the point or exponent of a number, and the rest.
fn parts(cell: &str) -> (&str, &str) {
    match cell.find(['.', 'e']).filter(|_| is_number(cell)) {
        Some(at) => cell.split_at(at),
        None => (cell, ""),
    }
}

fn is_number(cell: &str) -> bool {
    matches!(cell, "nan" | "inf" | "-inf" | "#t" | "#f")
        || cell.strip_prefix('-').unwrap_or(cell).starts_with(|c: char| c.is_ascii_digit())
}

/// An element as text.
fn cell(value: &Value, at: usize, limits: Limits) -> String {
    match value.data.get(at) {
        Some(Atom::Scalar(s)) => {
            let mut out = String::new();
            // Writing to a string does not fail.
            let _ = text::scalar(s, Some(limits.precision.unwrap_or(DIGITS)), &mut out);
            out
        }
        Some(Atom::Box(b)) => inline(&b.value, limits),
        Some(_) => inline(
            &Value { atom: value.atom.clone(), shape: Vec::new(), data: value.data.gather([at].into_iter()) },
            limits,
        ),
        None => String::new(),
    }
}

/// A value in one cell: a text without quotes, else as Remora, of which not all is shown.
fn inline(value: &Value, limits: Limits) -> String {
    match (&value.data, value.shape.len()) {
        (Data::Char(_), 1) => lines(value).join(""),
        _ => {
            let precision = Some(limits.precision.unwrap_or(DIGITS));
            let style = Style { precision, max_elements: Some(ELEMENTS) };
            let mut out = String::new();
            let _ = text::write_value(value, style, &mut out);
            out
        }
    }
}

/// The rows of an array of characters, without spaces at their ends; what a terminal would act on is said.
fn lines(value: &Value) -> Vec<String> {
    let Data::Char(chars) = &value.data else { return Vec::new() };
    let length = value.shape.last().copied().unwrap_or(1).max(1);
    chars.chunks(length).map(|line| visible(line.iter().collect::<String>().trim_end())).collect()
}

fn visible(text: &str) -> String {
    let seen = remc_base::visible(text);
    seen.chars().filter(|c| c.width().is_some()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use remc_base::{ArrTy, BaseTy, BoxValue, IndexValue, Name, Scalar, Shape};
    use std::sync::Arc;

    const ALL: Limits = Limits { rows: None, width: None, precision: None };

    fn floats(shape: &[usize], of: &[f64]) -> Value {
        Value::of_scalars(BaseTy::F64, shape.to_vec(), of.iter().map(|x| Scalar::F64(*x)))
    }

    fn ints(shape: &[usize], of: impl IntoIterator<Item = i64>) -> Value {
        Value::of_scalars(BaseTy::I64, shape.to_vec(), of.into_iter().map(Scalar::I64))
    }

    fn chars(shape: &[usize], text: &str) -> Value {
        Value::of_scalars(BaseTy::Char, shape.to_vec(), text.chars().map(Scalar::Char))
    }

    fn record(fields: Vec<(&str, Value)>) -> Value {
        let of = |v: &Value| ArrTy::new(v.atom.clone(), Shape::of_sizes(&v.shape));
        let ty = fields.iter().map(|(l, v)| (Some(Name::new(l)), of(v))).collect();
        let parts: Vec<Value> = fields.into_iter().map(|(_, v)| v).collect();
        Value::of_atoms(AtomTy::tuple(ty), vec![], [Atom::Tuple(Arc::from(parts))]).unwrap()
    }

    #[track_caller]
    fn shows(value: &Value, limits: Limits, lines: &[&str]) {
        let mut out = Vec::new();
        write(value, limits, &mut out).unwrap();
        let found = String::from_utf8(out).unwrap();
        assert_eq!(found.lines().collect::<Vec<_>>(), lines, "\n{found}");
    }

    #[test]
    fn points_are_below_each_other() {
        let v = floats(&[6], &[1.5, 20.0, -0.25, f64::NAN, 1e-7, 1.0 / 3.0]);
        let lines = ["0    1.5", "1   20.0", "2   -0.25", "3  nan", "4    1e-7", "5    0.333333"];
        shows(&v, ALL, &lines);
        shows(&ints(&[], [7]), ALL, &["7"]);
        shows(&floats(&[2], &[1.0 / 3.0, 2.0]), Limits { precision: Some(2), ..ALL }, &["0  0.33", "1  2.0"]);
    }

    #[test]
    fn matrices_are_grids() {
        shows(&ints(&[2, 2], [1, 20, 300, 4]), ALL, &["     0   1", "0    1  20", "1  300   4"]);
        shows(&ints(&[0, 3], []), ALL, &["(array [0 3] int)"]);
        shows(&chars(&[2, 3], "ab cde"), ALL, &["ab", "cde"]);
        shows(&chars(&[3], "hey"), ALL, &["hey"]);
        shows(&ints(&[2, 1, 2], 1..5), ALL, &["[0]", "   0  1", "0  1  2", "", "[1]", "   0  1", "0  3  4"]);
    }

    #[test]
    fn what_is_left_out_is_said() {
        let rows = Limits { rows: Some(3), ..ALL };
        shows(&ints(&[100], 0..100), rows, &[" 0   0", " 1   1", " ⋮", "99  99", "… [100] of int"]);
        shows(
            &ints(&[2, 30], 0..60),
            Limits { width: Some(20), ..ALL },
            &["    0   1   2   3  …", "0   0   1   2   3  …", "1  30  31  32  33  …", "… [2 30] of int"],
        );
    }

    #[test]
    fn records_are_columns_with_names() {
        let r = record(vec![("x", ints(&[2], [1, 2])), ("level", floats(&[2], &[0.5, 10.25]))]);
        shows(&r, ALL, &["   x  level", "0  1   0.5", "1  2  10.25"]);
        let named = record(vec![("who", chars(&[2, 3], "al eve")), ("age", ints(&[2], [7, 40]))]);
        shows(&named, ALL, &["   who  age", "0  al     7", "1  eve   40"]);
        // Of other lengths: one below the other.
        let other = record(vec![("x", ints(&[2], [1, 2])), ("n", ints(&[], [5]))]);
        shows(&other, ALL, &["x:", "0  1", "1  2", "", "n:", "5"]);
        // An array of records.
        let AtomTy::Tuple(_) = &r.atom else { panic!() };
        let one = |k: i64| Atom::Tuple(Arc::from([ints(&[], [k]), ints(&[], [k * k])]));
        let ty = AtomTy::tuple(vec![
            (Some(Name::new("k")), ArrTy::scalar(AtomTy::INT)),
            (Some(Name::new("square")), ArrTy::scalar(AtomTy::INT)),
        ]);
        let v = Value::of_atoms(ty, vec![2], [one(3), one(10)]).unwrap();
        shows(&v, ALL, &["    k  square", "0   3       9", "1  10     100"]);
    }

    #[test]
    fn ragged_rows_end_where_they_end() {
        let row = |of: &[i64]| {
            let value = ints(&[of.len()], of.iter().copied());
            Atom::Box(Arc::new(BoxValue { indices: vec![IndexValue::Dim(of.len() as i64)], value }))
        };
        let n = remc_base::IVar::dim(0, "n");
        let body = ArrTy::new(AtomTy::INT, Shape::of_dims([remc_base::Dim::rigid(n.clone())]));
        let ty = AtomTy::sigma(vec![n], body);
        let v = Value::of_atoms(ty.clone(), vec![3], [row(&[1, 20]), row(&[]), row(&[3])]).unwrap();
        shows(&v, ALL, &["   0   1", "0  1  20", "1", "2  3"]);
        let one = Value::of_atoms(ty, vec![], [row(&[1, 20])]).unwrap();
        shows(&one, ALL, &["0   1", "1  20"]);
    }

    #[test]
    fn what_a_terminal_acts_on_is_said() {
        shows(&chars(&[3], "a\u{1b}b"), ALL, &["a\\u{1b}b"]);
    }
}
