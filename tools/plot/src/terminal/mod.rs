//! Figures in characters: dots of braille for lines and points, blocks for bars, half blocks for cells.
//!
//! Without colours, several lines have a letter each instead, and cells characters from light to dark.

mod bars;
mod cells;
mod plane;

use crate::colour::Rgb;
use crate::figure::{Figure, What};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// The part of a terminal that a picture may fill.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Screen {
    pub width: usize,
    pub height: usize,
    pub colours: Colours,
}

/// Which colours a terminal has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Colours {
    None,
    /// The 256 of xterm.
    Some,
    All,
}

/// The lines of a picture, each with its end.
pub fn terminal(figure: &Figure, screen: Screen) -> String {
    let screen = Screen { width: screen.width.clamp(30, 400), height: screen.height.clamp(6, 200), ..screen };
    let mut out = String::new();
    if !figure.title.is_empty() {
        out.push_str(&cut(&remc_base::visible(&figure.title), screen.width));
        out.push('\n');
    }
    out.push_str(&match &figure.what {
        What::Plane(plane) => plane::draw(plane, screen),
        What::Bars(bars) => bars::draw(bars, screen),
        What::Heat(heat) => cells::heat(heat, screen),
        What::Image(image) => cells::image(image, screen),
    });
    for note in &figure.notes {
        out.push_str(&format!("({note})\n"));
    }
    out
}

/// A text in a colour, and one behind it.
fn coloured(text: &str, front: Option<Rgb>, back: Option<Rgb>, colours: Colours) -> String {
    let code = |ground: u8, rgb: Rgb| match colours {
        Colours::None => String::new(),
        Colours::Some => format!("\x1b[{ground}8;5;{}m", nearest(rgb)),
        Colours::All => format!("\x1b[{ground}8;2;{};{};{}m", rgb[0], rgb[1], rgb[2]),
    };
    let codes: String = front.map(|c| code(3, c)).into_iter().chain(back.map(|c| code(4, c))).collect();
    if codes.is_empty() { text.to_owned() } else { format!("{codes}{text}\x1b[0m") }
}

/// The nearest of xterm's 256 colours: of its cube, or of its greys.
fn nearest(rgb: Rgb) -> u8 {
    const LEVELS: [i32; 6] = [0, 95, 135, 175, 215, 255];
    let level = |x: u8| (0..6).min_by_key(|i| (LEVELS[*i] - i32::from(x)).abs()).unwrap_or(0);
    let cube = rgb.map(level);
    let mean = rgb.iter().map(|x| i32::from(*x)).sum::<i32>() / 3;
    let grey = ((mean - 8 + 5) / 10).clamp(0, 23);
    let far = |other: [i32; 3]| -> i32 { (0..3).map(|i| (other[i] - i32::from(rgb[i])).pow(2)).sum() };
    if far([8 + 10 * grey; 3]) < far(cube.map(|i| LEVELS[i])) {
        return 232 + grey as u8;
    }
    (16 + 36 * cube[0] + 6 * cube[1] + cube[2]) as u8
}

/// A text that takes no more columns than that.
fn cut(text: &str, most: usize) -> String {
    if text.width() <= most {
        return text.to_owned();
    }
    let mut left = most.saturating_sub(1);
    let mut out = String::new();
    for c in text.chars() {
        let width = c.width().unwrap_or(0);
        if width > left {
            break;
        }
        left -= width;
        out.push(c);
    }
    out + "…"
}

/// With spaces before it, so that it ends at a column.
fn right(text: &str, width: usize) -> String {
    " ".repeat(width.saturating_sub(text.width())) + text
}
