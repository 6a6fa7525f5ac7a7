//! What a value shows.

use crate::histogram::histogram;
use crate::numbers::{are_whole, count, numbers, opened, range, shape, texts};
use remc_base::value::Data;
use remc_base::{AtomTy, BaseTy, Value};

/// What is drawn of a value, where that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Line,
    Bars,
    Scatter,
    Heat,
    Image,
    Histogram,
}

/// What a picture shows.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    pub title: String,
    pub(crate) what: What,
    /// What is said below: of gaps, of what is left out.
    pub(crate) notes: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum What {
    Plane(Plane),
    Bars(Bars),
    Heat(Heat),
    Image(Image),
}

/// Points, joined to lines or not.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Plane {
    pub lines: Vec<Line>,
    /// What the axes show.
    pub across: Option<String>,
    pub up: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Line {
    pub name: Option<String>,
    /// Of each point; `None` where they are positions from 0.
    pub x: Option<Vec<f64>>,
    pub y: Vec<f64>,
    pub joined: bool,
}

impl Line {
    pub fn x_at(&self, i: usize) -> f64 {
        self.x.as_ref().map_or(i as f64, |x| x[i])
    }

    /// The points, in parts without a gap.
    pub fn points(&self) -> impl Iterator<Item = Option<(f64, f64)>> {
        self.y.iter().enumerate().map(|(i, y)| {
            let x = self.x_at(i);
            (x.is_finite() && y.is_finite()).then_some((x, *y))
        })
    }
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Bars {
    pub values: Vec<f64>,
    pub of: BarsOf,
    pub up: Option<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) enum BarsOf {
    Positions,
    Names(Vec<String>),
    /// Ranges between edges, one more than there are bars.
    Ranges(Vec<f64>),
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Heat {
    pub rows: usize,
    pub columns: usize,
    pub cells: Vec<f64>,
    pub flags: bool,
}

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Image {
    pub rows: usize,
    pub columns: usize,
    pub pixels: Vec<[u8; 3]>,
}

/// Up to so many numbers are bars.
const FEW: usize = 12;
/// … and counts.
const COUNTS: usize = 64;
/// An image has at least so many rows and columns, unless its type says that it is one.
const IMAGE: usize = 16;

/// What a value shows, under a title.
///
/// # Errors
/// It shows nothing, or not that: a sentence that says why.
pub fn figure(value: &Value, asked: Option<Kind>, title: &str) -> Result<Figure, String> {
    let value = opened(value);
    let what = what(&value, asked)?;
    let mut figure = Figure { title: title.to_owned(), what, notes: Vec::new() };
    figure.count_gaps()?;
    Ok(figure)
}

impl Figure {
    /// Notes how many numbers are not finite; where all are, there is no picture.
    fn count_gaps(&mut self) -> Result<(), String> {
        let (mut gaps, mut all) = (0, 0);
        match &self.what {
            What::Plane(plane) => plane.lines.iter().for_each(|line| {
                all += line.y.len();
                gaps += line.points().filter(Option::is_none).count();
            }),
            What::Bars(bars) => {
                all = bars.values.len();
                gaps = bars.values.iter().filter(|x| !x.is_finite()).count();
            }
            What::Heat(heat) => {
                all = heat.cells.len();
                gaps = heat.cells.iter().filter(|x| !x.is_finite()).count();
            }
            What::Image(_) => {}
        }
        if gaps == all && all > 0 {
            return Err(match all {
                1 => "its only number is not finite: there is nothing to draw".to_owned(),
                n => format!("none of its {} numbers is finite: there is nothing to draw", count(n)),
            });
        }
        if gaps > 0 {
            let verb = if gaps == 1 { "is a gap" } else { "are gaps" };
            self.notes.push(format!("{} of {} {verb}: nan or infinite", count(gaps), count(all)));
        }
        Ok(())
    }
}

fn what(value: &Value, asked: Option<Kind>) -> Result<What, String> {
    match &value.data {
        Data::Tuple(_) => of_parts(value, asked),
        Data::Box(_) => ragged(value, asked),
        Data::Function(_) => Err("functions have no picture".to_owned()),
        Data::Char(_) => Err("it is text, which has no picture: numbers have".to_owned()),
        _ => of_numbers(value, asked),
    }
}

/// An array of numbers or booleans.
fn of_numbers(value: &Value, asked: Option<Kind>) -> Result<What, String> {
    let all = numbers(value).unwrap_or_default();
    if value.shape.is_empty() {
        return Err("it is one number: a vector or a matrix has a picture".to_owned());
    }
    if all.is_empty() {
        return Err(format!("it is empty, of shape {}: there is nothing to draw", shape(&value.shape)));
    }
    if asked == Some(Kind::Histogram) {
        return of_histogram(&all, are_whole(value));
    }
    match *value.shape.as_slice() {
        [_] => of_vector(all, value, asked),
        [rows, columns] => of_matrix(all, (rows, columns), value, asked),
        [rows, columns, channels @ (3 | 4)] if matches!(asked, None | Some(Kind::Image)) => {
            colours(&all, (rows, columns, channels), are_whole(value)).map(What::Image)
        }
        _ => Err(format!(
            "an array of {} axes, {}, has no picture: choose a matrix of it, or an image, [rows columns 3]",
            value.shape.len(),
            shape(&value.shape)
        )),
    }
}

fn of_vector(all: Vec<f64>, value: &Value, asked: Option<Kind>) -> Result<What, String> {
    let counts = are_whole(value) && all.len() <= COUNTS && all.iter().all(|x| *x >= 0.0);
    let kind = asked.unwrap_or(match (2..=FEW).contains(&all.len()) || counts && all.len() > 1 {
        true => Kind::Bars,
        false => Kind::Line,
    });
    match kind {
        Kind::Bars => Ok(What::Bars(Bars { values: all, of: BarsOf::Positions, up: None })),
        Kind::Line | Kind::Scatter => Ok(lines(vec![(None, all)], kind == Kind::Line)),
        Kind::Heat => {
            let flags = value.data.base() == Some(BaseTy::Bool);
            Ok(What::Heat(Heat { rows: 1, columns: all.len(), cells: all, flags }))
        }
        Kind::Histogram | Kind::Image => Err(not_so("a vector", "an image is a matrix, or [rows columns 3]")),
    }
}

fn of_matrix(
    all: Vec<f64>,
    (rows, columns): (usize, usize),
    value: &Value,
    asked: Option<Kind>,
) -> Result<What, String> {
    let base = value.data.base();
    let flags = base == Some(BaseTy::Bool);
    let levels = || are_whole(value) && !flags && all.iter().all(|x| (0.0..=255.0).contains(x));
    let is_image = base == Some(BaseTy::U8) || rows >= IMAGE && columns >= IMAGE && levels();
    let kind = asked.unwrap_or(match () {
        () if columns == 2 && rows > 2 && !flags => Kind::Scatter,
        () if is_image => Kind::Image,
        () => Kind::Heat,
    });
    let column = |k: usize| all.iter().skip(k).step_by(columns).copied().collect::<Vec<f64>>();
    let rows_of =
        || (0..rows).map(|i| (Some(format!("row {i}")), all[i * columns..(i + 1) * columns].to_vec()));
    match kind {
        Kind::Heat => Ok(What::Heat(Heat { rows, columns, cells: all, flags })),
        Kind::Image => grey(&all, (rows, columns), are_whole(value)).map(What::Image),
        Kind::Scatter if columns == 2 => Ok(points(column(0), column(1), (None, None), asked)),
        Kind::Scatter => Err(not_so("a matrix", "points are two columns, or `(values xs ys)`")),
        Kind::Line => Ok(lines(rows_of().collect(), true)),
        Kind::Bars | Kind::Histogram => Err(not_so("a matrix", "bars are of a vector")),
    }
}

fn not_so(what: &str, why: &str) -> String {
    format!("{what} cannot be drawn so: {why}")
}

fn of_histogram(all: &[f64], whole: bool) -> Result<What, String> {
    if !all.iter().any(|x| x.is_finite()) {
        return Err("none of its numbers is finite: there is nothing to count".to_owned());
    }
    let (edges, values) = histogram(all, whole);
    Ok(What::Bars(Bars { values, of: BarsOf::Ranges(edges), up: Some("how many".to_owned()) }))
}

/// A line for each vector.
fn lines(all: Vec<(Option<String>, Vec<f64>)>, joined: bool) -> What {
    let lines = all.into_iter().map(|(name, y)| Line { name, x: None, y, joined }).collect();
    What::Plane(Plane { lines, across: None, up: None })
}

/// Points by their x's and y's. Where the x's ascend they are the graph of a function, and joined.
fn points(
    x: Vec<f64>,
    y: Vec<f64>,
    (across, up): (Option<String>, Option<String>),
    asked: Option<Kind>,
) -> What {
    let joined = match asked {
        Some(Kind::Scatter) => false,
        Some(_) => true,
        None => x.len() > 1 && x.windows(2).all(|w| w[0] < w[1]),
    };
    What::Plane(Plane { lines: vec![Line { name: None, x: Some(x), y, joined }], across, up })
}

/// A tuple or record, or an array of them.
fn of_parts(value: &Value, asked: Option<Kind>) -> Result<What, String> {
    let (names, parts) = columns(value)?;
    let empty = parts.iter().any(|p| p.data.is_empty());
    if empty && parts.iter().all(|p| p.data.is_empty()) {
        return Err("it is empty: there is nothing to draw".to_owned());
    }
    let parts: Vec<Value> = parts.iter().map(opened).collect();
    // Names and a number of each.
    if let [labels, of] = parts.as_slice()
        && let (Some(labels), Some(values)) = (texts(labels), numbers(of))
        && of.shape.len() == 1
        && labels.len() == values.len()
    {
        return Ok(What::Bars(Bars { values, of: BarsOf::Names(labels), up: names[1].clone() }));
    }
    let mut vectors = Vec::new();
    for (name, part) in names.iter().zip(&parts) {
        match (numbers(part), part.shape.len()) {
            (Some(all), 1) => vectors.push((name.clone(), all)),
            _ => {
                let name =
                    name.as_ref().map_or_else(|| "a part of it".to_owned(), |n| format!("its part `{n}`"));
                return Err(format!(
                    "{name} is no vector of numbers: a picture of several things has vectors"
                ));
            }
        }
    }
    if asked == Some(Kind::Histogram) {
        return match vectors.as_slice() {
            [(_, one)] => of_histogram(one, are_whole(&parts[0])),
            _ => Err(not_so("several vectors", "a histogram is of one")),
        };
    }
    if matches!(asked, Some(Kind::Heat | Kind::Image | Kind::Bars)) && vectors.len() > 1 {
        return Err(not_so("several vectors", "they are lines, or the x's and y's of points"));
    }
    let named = |name: &Option<String>| {
        name.as_deref().is_some_and(|n| matches!(n.to_ascii_lowercase().as_str(), "x" | "t" | "time"))
    };
    let over_first = vectors.len() > 1
        && vectors.iter().all(|(_, v)| v.len() == vectors[0].1.len())
        && (vectors.len() == 2 && asked != Some(Kind::Line) || named(&vectors[0].0));
    if !over_first {
        if asked == Some(Kind::Scatter) && vectors.len() == 2 {
            return Err(format!(
                "points have as many x's as y's, and these are {} and {}",
                count(vectors[0].1.len()),
                count(vectors[1].1.len())
            ));
        }
        let unnamed = vectors.iter().all(|(name, _)| name.is_none()) && vectors.len() > 1;
        let name = |(i, (name, v)): (usize, (Option<String>, Vec<f64>))| match unnamed {
            true => (Some(format!("part {i}")), v),
            false => (name, v),
        };
        let all = vectors.into_iter().enumerate().map(name).collect();
        return Ok(lines(all, asked != Some(Kind::Scatter)));
    }
    let mut vectors = vectors.into_iter();
    let (across, x) = vectors.next().unwrap_or_default();
    if vectors.len() == 1 {
        let (up, y) = vectors.next().unwrap_or_default();
        return Ok(points(x, y, (across, up), asked));
    }
    let ascend = x.windows(2).all(|w| w[0] < w[1]);
    let joined = if asked.is_none() { ascend } else { asked == Some(Kind::Line) };
    let line = |(name, y)| Line { name, x: Some(x.clone()), y, joined };
    let lines = vectors.map(line).collect();
    Ok(What::Plane(Plane { lines, across, up: None }))
}

/// The fields of a tuple, each an array; of an array of tuples of scalars, the array of each field.
fn columns(value: &Value) -> Result<(Vec<Option<String>>, Vec<Value>), String> {
    let AtomTy::Tuple(ty) = &value.atom else { return Err("it has no parts".to_owned()) };
    let names = ty.fields.iter().map(|(label, _)| label.as_ref().map(ToString::to_string)).collect();
    let Data::Tuple(tuples) = &value.data else { return Err("it has no parts".to_owned()) };
    if value.shape.is_empty() {
        return Ok((names, tuples.first().map(|t| t.to_vec()).unwrap_or_default()));
    }
    if value.shape.len() > 1 {
        return Err(format!(
            "an array of {} axes of tuples has no picture: a vector of them has",
            value.shape.len()
        ));
    }
    let part = |(k, (_, ty)): (usize, &(_, remc_base::ArrTy))| {
        let mut data = Data::of_atom(&ty.atom);
        for tuple in tuples {
            let part = tuple.get(k).filter(|v| v.shape.is_empty())?;
            if !data.append(part.data.clone()) {
                return None;
            }
        }
        Some(Value { atom: ty.atom.clone(), shape: vec![tuples.len()], data })
    };
    match ty.fields.iter().enumerate().map(part).collect() {
        Some(parts) => Ok((names, parts)),
        None => {
            Err("its tuples have arrays in them: a picture has tuples of numbers, or of vectors".to_owned())
        }
    }
}

/// An array of boxes: a line for each.
fn ragged(value: &Value, asked: Option<Kind>) -> Result<What, String> {
    let Data::Box(boxes) = &value.data else { return Err("it has no parts".to_owned()) };
    if boxes.is_empty() {
        return Err("it is empty: there is nothing to draw".to_owned());
    }
    let mut all = Vec::new();
    for (i, row) in boxes.iter().enumerate() {
        let row = opened(&row.value);
        match (numbers(&row), row.shape.len()) {
            (Some(row), 1) => all.push((Some(format!("row {i}")), row)),
            _ => return Err("its boxes are no vectors of numbers: of boxes, those have a picture".to_owned()),
        }
    }
    if all.iter().all(|(_, row)| row.is_empty()) {
        return Err("all of its boxes are empty: there is nothing to draw".to_owned());
    }
    match asked {
        None | Some(Kind::Line | Kind::Scatter) => Ok(lines(all, asked != Some(Kind::Scatter))),
        Some(Kind::Histogram) => {
            let all: Vec<f64> = all.into_iter().flat_map(|(_, row)| row).collect();
            let whole = boxes.iter().all(|b| are_whole(&opened(&b.value)));
            of_histogram(&all, whole)
        }
        Some(_) => Err(not_so("an array of boxes", "each box is a line")),
    }
}

fn grey(all: &[f64], (rows, columns): (usize, usize), whole: bool) -> Result<Image, String> {
    let level = levels(all, whole)?;
    Ok(Image { rows, columns, pixels: all.iter().map(|x| [level(*x); 3]).collect() })
}

fn colours(
    all: &[f64],
    (rows, columns, channels): (usize, usize, usize),
    whole: bool,
) -> Result<Image, String> {
    let level = levels(all, whole)?;
    let pixel = |c: &[f64]| {
        // What is transparent shows white paper.
        let covers = c.get(3).map_or(1.0, |a| f64::from(level(*a)) / 255.0);
        std::array::from_fn(|i| (f64::from(level(c[i])) * covers + 255.0 * (1.0 - covers)).round() as u8)
    };
    Ok(Image { rows, columns, pixels: all.chunks_exact(channels).map(pixel).collect() })
}

/// How bright numbers are: from 0 to 255, or floats from 0 to 1.
fn levels(all: &[f64], whole: bool) -> Result<impl Fn(f64) -> u8, String> {
    let (low, high) = range(all.iter().copied()).unwrap_or((0.0, 0.0));
    let slack = 1e-6;
    if low < -slack || high > 255.0 + slack {
        return Err(format!(
            "an image has numbers from 0 to 255, or floats from 0 to 1, and these are from {} to {}",
            crate::axis::said(low),
            crate::axis::said(high)
        ));
    }
    let times = if !whole && high <= 1.0 + slack { 255.0 } else { 1.0 };
    Ok(move |x: f64| (x * times).round().clamp(0.0, 255.0) as u8)
}
