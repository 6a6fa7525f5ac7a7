//! Lines and points.

use super::{Frame, LABEL, Page, WIDTH};
use crate::axis::Axis;
use crate::colour::{INK, TOLD_APART, of_line};
use crate::figure::{Line, Plane};
use crate::font;
use crate::numbers::count;
use crate::scene::{Anchor, Shape};
use crate::thin;

/// So many points of a line have dots, too.
const DOTTED: usize = 40;
/// The width of a column for thinning: half a unit is a pixel.
const COLUMN: f64 = 0.5;

pub fn draw(page: &mut Page, plane: &Plane) {
    let finite = || plane.lines.iter().flat_map(|l| l.points().flatten());
    let scattered = plane.lines.iter().any(|l| !l.joined);
    let whole = plane.lines.iter().all(|l| l.x.is_none());
    let y = Axis::new(finite().map(|p| p.1), (1.0, 0.0)).padded(0.05);
    let up = y.labels(8, false);
    let legend = legend(page, &plane.lines);
    let frame = Frame::new(page.top() + legend, &up, (plane.across.is_some(), plane.up.is_some()));
    let y = y.between(frame.y());
    let x = Axis::new(finite().map(|p| p.0), frame.x()).padded(if scattered { 0.04 } else { 0.015 });
    page.across(&x, &x.labels(9, whole), &frame, plane.across.as_deref());
    page.up(&y, &up, &frame, plane.up.as_deref());
    if y.low < 0.0 && y.high > 0.0 {
        page.line(vec![(frame.left, y.at(0.0)), (frame.right, y.at(0.0))], [150, 150, 150], 1.0);
    }
    let many = plane.lines.len();
    let mut left_out = 0;
    for (k, line) in plane.lines.iter().enumerate() {
        let colour = of_line(k, many);
        let place = |(px, py): (f64, f64)| (x.at(px), y.at(py));
        let all: Vec<(f64, f64)> = line.points().flatten().map(place).collect();
        if line.joined {
            let parts: Vec<Option<(f64, f64)>> = line.points().map(|p| p.map(place)).collect();
            let mut alone = Vec::new();
            for part in parts.split(Option::is_none) {
                let part: Vec<(f64, f64)> = part.iter().copied().flatten().collect();
                match part.as_slice() {
                    [] => {}
                    [one] => alone.push(*one),
                    _ => {
                        let ascends = part.windows(2).all(|w| w[0].0 <= w[1].0);
                        let kept = if ascends { thin::line(&part, COLUMN) } else { part.clone() };
                        left_out += part.len() - kept.len();
                        page.line(kept, colour, if many > TOLD_APART { 1.2 } else { 1.8 });
                    }
                }
            }
            let dots = if all.len() <= DOTTED { all } else { thin::dots(&alone, 1.0) };
            page.scene.shapes.push(Shape::Dots { points: dots, radius: 2.6, fill: colour });
        } else {
            let radius = match all.len() {
                0..=300 => 3.2,
                301..=5000 => 2.0,
                _ => 1.0,
            };
            let kept = thin::dots(&all, radius / 2.0);
            left_out += all.len() - kept.len();
            page.scene.shapes.push(Shape::Dots { points: kept, radius, fill: colour });
        }
    }
    page.edges(&frame);
    let all = finite().count();
    if left_out > 0 {
        page.note(format!("{} points, thinned to what a picture can show", count(all)));
    }
    if many > TOLD_APART {
        page.note(format!("{} lines, from the first, dark, to the last, light", count(many)));
    }
    let what = if scattered { "points" } else { "a line" };
    page.scene.description = match many {
        1 => format!("{what}, {} numbers", count(all)),
        _ => format!("{} lines, {} numbers", count(many), count(all)),
    };
}

/// The names of lines with their colours, in rows below the title; how high that is.
fn legend(page: &mut Page, lines: &[Line]) -> f64 {
    if !(2..=TOLD_APART).contains(&lines.len()) {
        return 0.0;
    }
    let (left, most) = (16.0, 240.0);
    let mut x = left;
    let mut y = page.top() - 2.0;
    for (k, line) in lines.iter().enumerate() {
        let name = line.name.clone().unwrap_or_else(|| format!("line {k}"));
        let name = font::cut(&name, LABEL, most);
        let width = 30.0 + font::width(&name, LABEL) * font::SLACK + 20.0;
        if x > left && x + width > WIDTH - 16.0 {
            x = left;
            y += 19.0;
        }
        let colour = of_line(k, lines.len());
        let middle = y + LABEL * 0.5;
        if line.joined {
            page.line(vec![(x, middle), (x + 22.0, middle)], colour, 2.4);
        } else {
            page.scene.shapes.push(Shape::Dots {
                points: vec![(x + 11.0, middle)],
                radius: 3.6,
                fill: colour,
            });
        }
        page.text((x + 29.0, y + LABEL * 0.85), name, Anchor::Start, INK);
        x += width;
    }
    y - page.top() + 30.0
}
