//! Bars: over positions and ranges, or beside names.

use super::{Frame, HEIGHT, LABEL, Page, WIDTH};
use crate::axis::{Axis, said};
use crate::colour::{GRID, INK, SOFT, of_line};
use crate::figure::{Bars, BarsOf};
use crate::font;
use crate::numbers::count;
use crate::scene::Anchor;
use crate::thin;

/// So many bars stand side by side; of more, each stands for some.
const MOST: usize = 600;
/// So many bars have their number above them.
const NUMBERED: usize = 12;
/// So many names have a line each.
const NAMED: usize = 200;

pub fn draw(page: &mut Page, bars: &Bars) {
    match &bars.of {
        BarsOf::Names(names) => named(page, bars, names),
        _ => side_by_side(page, bars),
    }
    page.scene.description = format!("{} bars", count(bars.values.len()));
}

fn side_by_side(page: &mut Page, bars: &Bars) {
    let n = bars.values.len();
    let values = thin::bars(&bars.values, MOST);
    let each = n.div_ceil(values.len().max(1));
    // Bars begin at 0.
    let numbers = || values.iter().copied().filter(|x| x.is_finite()).chain([0.0]);
    let y = Axis::new(numbers(), (1.0, 0.0));
    let numbered = n <= NUMBERED;
    let room = if numbered { 0.08 } else { 0.03 };
    let (below, above) = (numbers().any(|x| x < 0.0), numbers().any(|x| x > 0.0));
    let mut y = match (below, above) {
        (false, false) => Axis::new([0.0, 1.0], (1.0, 0.0)),
        _ => y,
    };
    let length = y.high * room - y.low * room;
    if above || !below {
        y.high += length;
    }
    if below {
        y.low -= length;
    }
    let up = y.labels(8, false);
    let frame = Frame::new(page.top(), &up, (false, bars.up.is_some()));
    let y = y.between(frame.y());
    let (x, ticks) = match &bars.of {
        BarsOf::Ranges(edges) => {
            let x = Axis::new(edges.iter().copied(), frame.x());
            let ticks = x.labels(9, false);
            (x, ticks)
        }
        _ => {
            let x = Axis::new([-0.5, n as f64 - 0.5], frame.x());
            let ticks =
                if n <= 20 { (0..n).map(|i| (i as f64, i.to_string())).collect() } else { x.labels(9, true) };
            (x, ticks)
        }
    };
    page.up(&y, &up, &frame, bars.up.as_deref());
    for (at, label) in ticks {
        page.line(vec![(x.at(at), frame.bottom), (x.at(at), frame.bottom + 4.0)], GRID, 1.0);
        page.text((x.at(at), frame.bottom + 18.0), label, Anchor::Middle, SOFT);
    }
    let gap = if values.len() > 150 || matches!(bars.of, BarsOf::Ranges(_)) { 0.04 } else { 0.18 };
    for (k, value) in values.iter().enumerate() {
        let (from, to) = match &bars.of {
            BarsOf::Ranges(edges) => (edges[k], edges[k + 1]),
            _ => ((k * each) as f64 - 0.5, ((k + 1) * each).min(n) as f64 - 0.5),
        };
        let (left, right) = (x.at(from), x.at(to));
        let inset = (right - left) * gap / 2.0;
        if !value.is_finite() {
            page.text(((left + right) / 2.0, y.at(0.0) - 5.0), "gap", Anchor::Middle, SOFT);
            continue;
        }
        let (low, high) = (y.at(value.min(0.0)), y.at(value.max(0.0)));
        page.rect(left + inset, high, right - left - 2.0 * inset, low - high, of_line(0, 1));
        if numbered && !matches!(bars.of, BarsOf::Ranges(_)) {
            let at = if *value < 0.0 { low + LABEL + 2.0 } else { high - 5.0 };
            page.text(((left + right) / 2.0, at), said(*value), Anchor::Middle, INK);
        }
    }
    page.line(vec![(frame.left, y.at(0.0)), (frame.right, y.at(0.0))], INK, 1.2);
    if each > 1 {
        page.note(format!("each bar stands for {each} numbers: the one farthest from 0"));
    }
}

/// A line for each name.
fn named(page: &mut Page, bars: &Bars, names: &[String]) {
    let shown = names.len().min(NAMED);
    let values = &bars.values[..shown];
    let size = LABEL;
    let widest =
        names[..shown].iter().map(|n| font::width(n, size) * font::SLACK).fold(20.0, f64::max).min(240.0);
    let row = (380.0 / shown as f64).clamp(17.0, 34.0);
    let top = page.top();
    let frame = Frame { left: 24.0 + widest, right: WIDTH - 70.0, top, bottom: top + row * shown as f64 };
    let x = Axis::new(values.iter().copied().filter(|x| x.is_finite()).chain([0.0]), frame.x());
    page.across(&x, &x.labels(7, false), &frame, bars.up.as_deref());
    for (k, (name, value)) in names.iter().zip(values).enumerate() {
        let middle = frame.top + row * (k as f64 + 0.5);
        let base = middle + size * 0.35;
        page.text((frame.left - 8.0, base), font::cut(name, size, widest + 8.0), Anchor::End, INK);
        if !value.is_finite() {
            page.text((x.at(0.0) + 6.0, base), "gap", Anchor::Start, SOFT);
            continue;
        }
        let (from, to) = (x.at(value.min(0.0)), x.at(value.max(0.0)));
        page.rect(from, middle - row * 0.36, to - from, row * 0.72, of_line(0, 1));
        page.text((to + 6.0, base), said(*value), Anchor::Start, INK);
    }
    page.line(vec![(x.at(0.0), frame.top), (x.at(0.0), frame.bottom)], INK, 1.2);
    let below = frame.bottom + if bars.up.is_some() { 52.0 } else { 32.0 };
    page.bottom = if shown * 17 < 340 { below } else { below.max(HEIGHT) };
    if shown < names.len() {
        page.note(format!("the first {shown} of {}", count(names.len())));
    }
}
