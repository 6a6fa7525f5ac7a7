//! Bars of blocks: a line for each of a few, columns for many.

use super::{Screen, coloured, cut, right};
use crate::axis::{Axis, said};
use crate::colour::of_line;
use crate::figure::{Bars, BarsOf};
use crate::thin;
use unicode_width::UnicodeWidthStr;

/// So many bars have a line each.
const LINES: usize = 24;

pub fn draw(bars: &Bars, screen: Screen) -> String {
    let n = bars.values.len();
    let label = |i: usize| match &bars.of {
        BarsOf::Positions => i.to_string(),
        BarsOf::Names(names) => cut(&remc_base::visible(&names[i]), 30),
        BarsOf::Ranges(edges) => format!("{} … {}", said(edges[i]), said(edges[i + 1])),
    };
    let named = matches!(bars.of, BarsOf::Names(_));
    if n <= LINES || named {
        let shown = n.min(200);
        let labels = (0..shown).map(label).collect();
        let more = if shown < n { format!("… {} more\n", n - shown) } else { String::new() };
        return lines(&bars.values[..shown], labels, bars.up.as_deref(), screen) + &more;
    }
    let edges = match &bars.of {
        BarsOf::Ranges(edges) => (edges[0], edges[edges.len() - 1]),
        _ => (-0.5, n as f64 - 0.5),
    };
    columns(&bars.values, edges, !matches!(bars.of, BarsOf::Ranges(_)), screen)
}

/// `name ┃█████▌ 5.5`
fn lines(values: &[f64], labels: Vec<String>, up: Option<&str>, screen: Screen) -> String {
    let numbers: Vec<String> =
        values.iter().map(|x| if x.is_finite() { said(*x) } else { "gap".into() }).collect();
    let left = labels.iter().map(|l| l.width()).max().unwrap_or(0);
    let number = numbers.iter().map(|l| l.width()).max().unwrap_or(0);
    let negative = values.iter().any(|x| *x < 0.0);
    let room = screen.width.saturating_sub(left + number + 4).clamp(8, 100);
    // Bars to the left of 0 have half of the room.
    let (before, after) = if negative { (room / 2, room / 2) } else { (0, room) };
    let most = values.iter().filter(|x| x.is_finite()).fold(0.0, |most: f64, x| most.max(x.abs()));
    let eighths = |x: f64, room: usize| match most > 0.0 && x.is_finite() {
        true => (x.abs() / most * (room * 8) as f64).round() as usize,
        false => 0,
    };
    let mut out = String::new();
    if let Some(up) = up {
        out.push_str(&format!("{}{}\n", " ".repeat(left + 2 + before), cut(&remc_base::visible(up), room)));
    }
    let colour = Some(of_line(0, 1));
    for ((x, label), number) in values.iter().zip(&labels).zip(&numbers) {
        let parts = eighths(*x, if *x < 0.0 { before } else { after });
        let bar = bar(parts);
        let line = if *x < 0.0 {
            // Blocks grow from the left: to the left of 0 whole characters alone.
            let full = "█".repeat(parts.div_ceil(8).min(before));
            let shown = coloured(&full, colour, None, screen.colours);
            format!("{}{shown}┃ {number}", " ".repeat(before - full.width()))
        } else {
            let shown = if bar.is_empty() { bar } else { coloured(&bar, colour, None, screen.colours) };
            format!("{}┃{shown} {number}", " ".repeat(before))
        };
        out.push_str(&format!("{} {line}\n", right(label, left)));
    }
    out
}

/// A bar of so many eighths of a character.
fn bar(eighths: usize) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    "█".repeat(eighths / 8) + PARTS[eighths % 8]
}

/// Columns of characters, above and below 0.
fn columns(values: &[f64], edges: (f64, f64), whole: bool, screen: Screen) -> String {
    let height = screen.height.saturating_sub(4).clamp(4, 30);
    let y = Axis::new(values.iter().copied().filter(|x| x.is_finite()).chain([0.0]), (height as f64, 0.0));
    let up = y.labels((height / 3).clamp(2, 6), false);
    let left = up.iter().map(|(_, label)| label.width()).max().unwrap_or(0);
    let most = screen.width.saturating_sub(left + 2).max(10);
    let values = thin::bars(values, most);
    let each = (most / values.len()).clamp(1, 4);
    let width = values.len() * each;
    let rows: Vec<(usize, &String)> =
        up.iter().map(|(v, label)| ((y.at(*v) as usize).min(height - 1), label)).collect();
    let zero = y.at(0.0);
    let mut out = String::new();
    for row in 0..height {
        let label = rows.iter().find(|(at, _)| *at == row).map(|(_, label)| label.as_str());
        out.push_str(&right(label.unwrap_or_default(), left));
        out.push_str(if label.is_some() { " ┤" } else { " │" });
        let mut line = String::new();
        for x in &values {
            let (top, bottom) = (row as f64, row as f64 + 1.0);
            let end = if x.is_finite() { y.at(*x) } else { zero };
            let part = |from: f64, to: f64| {
                ((to.min(bottom) - from.max(top)).clamp(0.0, 1.0) * 8.0).round() as usize
            };
            const UP: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
            let sign = match end <= zero {
                true => UP[part(end, zero)],
                // There are but two blocks that hang.
                false => [' ', ' ', '▀', '▀', '▀', '▀', '█', '█', '█'][part(zero, end)],
            };
            // A column of its own has a gap beside it.
            line.extend(std::iter::repeat_n(sign, each.saturating_sub(usize::from(each > 1))));
            line.extend((each > 1).then_some(' '));
        }
        let line = line.trim_end();
        if !line.is_empty() {
            out.push_str(&coloured(line, Some(of_line(0, 1)), None, screen.colours));
        }
        out.push('\n');
    }
    let x = Axis::new([edges.0, edges.1], (0.0, (width * 2) as f64));
    out + &super::plane::below(&x, width, left, whole)
}
