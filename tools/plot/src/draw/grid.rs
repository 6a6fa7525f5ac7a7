//! Heat maps and images: cells of colours.

use super::{LABEL, Page, WIDTH};
use crate::axis::Axis;
use crate::colour::{INK, Rgb, SOFT, Scale, of_number};
use crate::figure::{Heat, Image};
use crate::font;
use crate::numbers::{count, range};
use crate::scene::{Anchor, Rect, Shape};
use crate::thin;

/// So many rows or columns are cells of their own; of more, blocks are.
const CELLS: usize = 1400;
/// So few have their numbers in them.
const NUMBERED: usize = 12;

pub fn heat(page: &mut Page, heat: &Heat) {
    let (cells, rows, columns, each) = thin::grid(&heat.cells, (heat.rows, heat.columns), CELLS);
    let bounds = range(cells.iter().copied()).unwrap_or((0.0, 1.0));
    let (scale, bounds) = of_range(heat, bounds);
    let legend = if heat.flags { 0.0 } else { 92.0 };
    let labels = font::width(&count(heat.rows.saturating_sub(1)), LABEL).max(14.0);
    let at = place((rows, columns), page.top() + 20.0, (24.0 + labels, WIDTH - 24.0 - legend));
    let colours = cells.iter().map(|x| of_number(scale, *x, bounds)).collect();
    page.scene.shapes.push(Shape::Cells { at, columns, cells: colours });
    outline(page, at);
    let axis = |n: usize, from: f64, length: f64| Axis::new([-0.5, n as f64 - 0.5], (from, from + length));
    let (x, y) = (axis(heat.columns, at.x, at.width), axis(heat.rows, at.y, at.height));
    let ticks = |axis: &Axis, n: usize, room: f64| {
        let most = (room / 34.0).clamp(1.0, 10.0) as usize;
        if n <= most { (0..n).map(|i| i as f64).collect() } else { axis.ticks(most, true) }
    };
    // Rows and columns are counted as text is read: from the upper left corner.
    for column in ticks(&x, heat.columns, at.width) {
        page.text((x.at(column), at.y - 6.0), format!("{column}"), Anchor::Middle, SOFT);
    }
    for row in ticks(&y, heat.rows, at.height) {
        page.text((at.x - 7.0, y.at(row) + LABEL * 0.35), format!("{row}"), Anchor::End, SOFT);
    }
    let (across, down) = (at.width / columns as f64, at.height / rows as f64);
    if rows <= NUMBERED && columns <= NUMBERED && !heat.flags && down >= 18.0 {
        let said: Vec<String> = cells.iter().map(|x| in_cell(*x)).collect();
        if said.iter().all(|text| font::width(text, LABEL) * font::SLACK + 6.0 < across) {
            for (i, text) in said.into_iter().enumerate() {
                let (row, column) = ((i / columns) as f64, (i % columns) as f64);
                let middle = (x.at(column), y.at(row) + LABEL * 0.35);
                let [r, g, b] = of_number(scale, cells[i], bounds).map(f64::from);
                let light = 0.299 * r + 0.587 * g + 0.114 * b > 140.0;
                page.text(middle, text, Anchor::Middle, if light { INK } else { [255; 3] });
            }
        }
    }
    page.bottom = at.y + at.height + 18.0;
    if !heat.flags {
        key(page, scale, bounds, at);
    }
    if each > 1 {
        page.note(format!("each cell is the mean of {each} × {each} numbers"));
    }
    if heat.flags {
        page.note("black is #t");
    }
    page.scene.description =
        format!("a heat map of {} rows and {} columns", count(heat.rows), count(heat.columns));
}

/// Which colours numbers have, and of which range: on both sides of 0 alike.
fn of_range(heat: &Heat, (low, high): (f64, f64)) -> (Scale, (f64, f64)) {
    match (heat.flags, low < 0.0 && high > 0.0) {
        (true, _) => (Scale::Flags, (0.0, 1.0)),
        (false, true) => (Scale::Diverging, (-high.max(-low), high.max(-low))),
        (false, false) => (Scale::Sequential, (low, high)),
    }
}

/// As the terminal shows it: the scale of a heat map, and the range.
pub fn scale(heat: &Heat) -> (Scale, (f64, f64)) {
    of_range(heat, range(heat.cells.iter().copied()).unwrap_or((0.0, 1.0)))
}

fn in_cell(x: f64) -> String {
    if x.is_finite() { crate::axis::said(x) } else { "gap".to_owned() }
}

/// The colours beside a heat map, with numbers.
fn key(page: &mut Page, scale: Scale, (low, high): (f64, f64), beside: Rect) {
    const STEPS: usize = 120;
    let height = beside.height.max(60.0);
    let at = Rect { x: beside.x + beside.width + 18.0, y: beside.y, width: 14.0, height };
    page.bottom = page.bottom.max(at.y + at.height + 18.0);
    if low == high {
        page.rect(at.x, at.y, at.width, 14.0, of_number(scale, low, (low, high)));
        page.text((at.x + 20.0, at.y + LABEL), crate::axis::said(low), Anchor::Start, SOFT);
        return;
    }
    let of = |i: usize| {
        let part = 1.0 - i as f64 / (STEPS - 1) as f64;
        of_number(scale, low + (high * part - low * part), (low, high))
    };
    let cells: Vec<Rgb> = (0..STEPS).map(of).collect();
    page.scene.shapes.push(Shape::Cells { at, columns: 1, cells });
    outline(page, at);
    let axis = Axis::new([low, high], (at.y + at.height, at.y));
    let labels = axis.labels((height / 40.0).clamp(2.0, 8.0) as usize, false);
    let ends = || [low, high].map(|x| (x, crate::axis::said(x))).to_vec();
    for (x, label) in if labels.len() < 2 { ends() } else { labels } {
        let y = axis.at(x);
        page.line(vec![(at.x + at.width, y), (at.x + at.width + 4.0, y)], SOFT, 1.0);
        page.text((at.x + at.width + 8.0, y + LABEL * 0.35), label, Anchor::Start, SOFT);
    }
}

pub fn image(page: &mut Page, image: &Image) {
    let (rows, columns, cells) = smaller(image, CELLS);
    let at = place((rows, columns), page.top(), (16.0, WIDTH - 16.0));
    page.scene.shapes.push(Shape::Cells { at, columns, cells });
    page.bottom = at.y + at.height + 16.0;
    if rows != image.rows || columns != image.columns {
        page.note(format!(
            "an image of {} × {} pixels, made smaller",
            count(image.rows),
            count(image.columns)
        ));
    }
    page.scene.description =
        format!("an image of {} rows and {} columns", count(image.rows), count(image.columns));
}

/// An image of at most so many rows and columns: the means of blocks.
pub fn smaller(image: &Image, most: usize) -> (usize, usize, Vec<Rgb>) {
    let of = |k: usize| -> Vec<f64> { image.pixels.iter().map(|p| f64::from(p[k])).collect() };
    if image.rows.max(image.columns) <= most {
        return (image.rows, image.columns, image.pixels.clone());
    }
    let [(red, rows, columns, _), (green, ..), (blue, ..)] =
        [0, 1, 2].map(|k| thin::grid(&of(k), (image.rows, image.columns), most));
    let level = |x: f64| x.round().clamp(0.0, 255.0) as u8;
    let cells = (0..red.len()).map(|i| [level(red[i]), level(green[i]), level(blue[i])]).collect();
    (rows, columns, cells)
}

/// Where cells are: squares, unless they would be too thin to see.
fn place((rows, columns): (usize, usize), top: f64, (left, right): (f64, f64)) -> Rect {
    const HIGH: f64 = 480.0;
    const THIN: f64 = 60.0;
    let (width, n, m) = (right - left, rows as f64, columns as f64);
    let side = (width / m).min(HIGH / n).min(56.0);
    let length = |cells: f64, most: f64| (side * cells).max(THIN).min(most);
    Rect { x: left, y: top, width: length(m, width), height: length(n, HIGH) }
}

fn outline(page: &mut Page, at: Rect) {
    let (left, right, top, bottom) = (at.x, at.x + at.width, at.y, at.y + at.height);
    let around = vec![(left, top), (right, top), (right, bottom), (left, bottom), (left, top)];
    page.line(around, SOFT, 0.8);
}
