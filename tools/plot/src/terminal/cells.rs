//! Heat maps and images: a character shows two cells, one above the other; without colours, a darker sign is more.

use super::{Colours, Screen, coloured};
use crate::axis::said;
use crate::colour::{Rgb, Scale, of_number};
use crate::draw::grid::{scale, smaller};
use crate::figure::{Heat, Image};
use crate::thin;

/// From nothing to much, of equal steps in how dark they are.
const SIGNS: [char; 10] = [' ', '.', ':', '-', '=', '+', '*', '#', '%', '@'];

pub fn heat(heat: &Heat, screen: Screen) -> String {
    let (of, bounds) = scale(heat);
    let (cells, rows, columns, each) =
        thin::grid(&heat.cells, (heat.rows, heat.columns), most(screen, heat.rows, heat.columns));
    let mut out = match screen.colours {
        Colours::None => signs(&cells, columns, bounds, screen),
        colours => {
            let cells: Vec<Rgb> = cells.iter().map(|x| of_number(of, *x, bounds)).collect();
            blocks(&cells, (rows, columns), screen, colours)
        }
    };
    if of == Scale::Flags {
        out.push_str(if screen.colours == Colours::None { "@ is #t\n" } else { "dark is #t\n" });
    } else {
        out.push_str(&key(of, bounds, screen.colours));
    }
    if each > 1 {
        out.push_str(&format!("(each cell is the mean of {each} × {each} numbers)\n"));
    }
    out
}

pub fn image(image: &Image, screen: Screen) -> String {
    let (rows, columns, cells) = smaller(image, most(screen, image.rows, image.columns));
    match screen.colours {
        Colours::None => {
            // Paper is white and signs are black: what is dark has more of them.
            let dark = |p: &Rgb| {
                255.0 - (0.299 * f64::from(p[0]) + 0.587 * f64::from(p[1]) + 0.114 * f64::from(p[2]))
            };
            let cells: Vec<f64> = cells.iter().map(dark).collect();
            signs(&cells, columns, (0.0, 255.0), screen)
        }
        colours => blocks(&cells, (rows, columns), screen, colours),
    }
}

/// How many rows or columns of cells there is room for, so that they stay squares.
fn most(screen: Screen, rows: usize, columns: usize) -> usize {
    let (across, down) = match screen.colours {
        // A character is twice as high as it is wide: a sign is written twice.
        Colours::None => (screen.width / 2, screen.height.saturating_sub(3)),
        _ => (screen.width, screen.height.saturating_sub(3) * 2),
    };
    // Blocks are squares, of a side that serves both.
    let each = rows.div_ceil(down.max(1)).max(columns.div_ceil(across.max(1))).max(1);
    rows.max(columns).div_ceil(each)
}

fn signs(cells: &[f64], columns: usize, (low, high): (f64, f64), screen: Screen) -> String {
    let sign = |x: f64| match high > low {
        _ if !x.is_finite() => '?',
        true => {
            let part = crate::axis::part(x, (low, high)).clamp(0.0, 1.0);
            SIGNS[(part * (SIGNS.len() - 1) as f64).round() as usize]
        }
        false => SIGNS[SIGNS.len() / 2],
    };
    let twice = columns * 2 <= screen.width;
    let mut out = String::new();
    for row in cells.chunks(columns.max(1)) {
        let line: String =
            row.iter().flat_map(|x| std::iter::repeat_n(sign(*x), 1 + usize::from(twice))).collect();
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Half blocks: the upper cell in front, the lower one behind. Few cells are enlarged.
fn blocks(cells: &[Rgb], (rows, columns): (usize, usize), screen: Screen, colours: Colours) -> String {
    let side =
        (screen.width / columns.max(1)).min(screen.height.saturating_sub(3) * 2 / rows.max(1)).clamp(1, 6);
    let at = |row: usize, column: usize| cells.get(row / side * columns + column / side).copied();
    let mut out = String::new();
    for row in (0..rows * side).step_by(2) {
        for column in 0..columns * side {
            let lower = if row + 1 < rows * side { at(row + 1, column) } else { None };
            out.push_str(&coloured("▀", at(row, column), lower, colours));
        }
        out.push('\n');
    }
    out
}

/// The range of numbers and its colours or signs.
fn key(of: Scale, (low, high): (f64, f64), colours: Colours) -> String {
    if low == high {
        return format!("all are {}\n", said(low));
    }
    let shown: String = match colours {
        Colours::None => SIGNS.iter().collect(),
        colours => (0..20)
            .map(|i| {
                let part = f64::from(i) / 19.0;
                coloured(
                    "█",
                    Some(of_number(of, low + (high * part - low * part), (low, high))),
                    None,
                    colours,
                )
            })
            .collect(),
    };
    format!("{} [{shown}] {}\n", said(low), said(high))
}
