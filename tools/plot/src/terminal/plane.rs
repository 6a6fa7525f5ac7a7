//! Lines and points as dots of braille, eight in a character.

use super::{Colours, Screen, coloured, cut, right};
use crate::axis::Axis;
use crate::colour::{Rgb, TOLD_APART, of_line};
use crate::figure::Plane;
use crate::thin;
use unicode_width::UnicodeWidthStr;

/// The letters of lines where there are no colours.
const LETTERS: [char; 8] = ['*', '+', 'o', 'x', '#', '@', '%', '&'];

pub fn draw(plane: &Plane, screen: Screen) -> String {
    let finite = || plane.lines.iter().flat_map(|l| l.points().flatten());
    let many = plane.lines.len();
    let lettered = screen.colours == Colours::None && many > 1;
    // Lines of the axis, of names and of the title.
    let height = screen.height.saturating_sub(4).clamp(3, 40);
    let y = Axis::new(finite().map(|p| p.1), (1.0, 0.0)).padded(0.02);
    let up = y.labels((height / 3).clamp(2, 6), false);
    let left = up.iter().map(|(_, label)| label.width()).max().unwrap_or(0);
    let width = screen.width.saturating_sub(left + 2).max(10);
    let mut canvas = Canvas::new(width, height);
    let y = y.between((canvas.down() - 1.0, 0.0));
    let x = Axis::new(finite().map(|p| p.0), (0.0, canvas.across() - 1.0));
    for (k, line) in plane.lines.iter().enumerate() {
        let mark = Mark { colour: of_line(k, many), letter: lettered.then_some(LETTERS[k % LETTERS.len()]) };
        let parts: Vec<Option<(f64, f64)>> =
            line.points().map(|p| p.map(|(px, py)| (x.at(px), y.at(py)))).collect();
        for part in parts.split(Option::is_none) {
            let part: Vec<(f64, f64)> = part.iter().copied().flatten().collect();
            let ascends = part.windows(2).all(|w| w[0].0 <= w[1].0);
            let part = if ascends && line.joined { thin::line(&part, 1.0) } else { part };
            match part.as_slice() {
                [one] => canvas.dot(*one, mark),
                _ if line.joined => part.windows(2).for_each(|w| canvas.line(w[0], w[1], mark)),
                _ => part.iter().for_each(|p| canvas.dot(*p, mark)),
            }
        }
    }
    let mut out = String::new();
    if (2..=TOLD_APART).contains(&many) || lettered && many > 1 {
        let key = |(k, line): (usize, &crate::figure::Line)| {
            let sign = if lettered { LETTERS[k % LETTERS.len()] } else { '■' };
            let name = cut(&remc_base::visible(line.name.as_deref().unwrap_or("line")), 30);
            coloured(&sign.to_string(), Some(of_line(k, many)), None, screen.colours) + " " + &name
        };
        let keys: Vec<String> = plane.lines.iter().enumerate().take(LETTERS.len()).map(key).collect();
        let more = if many > keys.len() { "  …" } else { "" };
        out.push_str(&format!("{}{more}\n", keys.join("  ")));
    }
    if let Some(name) = &plane.up {
        out.push_str(&format!("{}\n", cut(&remc_base::visible(name), screen.width)));
    }
    let rows: Vec<(usize, &String)> =
        up.iter().map(|(v, label)| ((y.at(*v) / 4.0) as usize, label)).collect();
    for row in 0..height {
        let label = rows.iter().find(|(at, _)| *at == row).map(|(_, label)| label.as_str());
        let edge = if label.is_some() { '┤' } else { '│' };
        out.push_str(&right(label.unwrap_or_default(), left));
        out.push(' ');
        out.push(edge);
        out.push_str(canvas.row(row, screen.colours).trim_end());
        out.push('\n');
    }
    let whole = plane.lines.iter().all(|l| l.x.is_none());
    out.push_str(&below(&x, width, left, whole));
    if let Some(name) = &plane.across {
        let name = cut(&remc_base::visible(name), width);
        let indent = left + 2 + (width - name.width()) / 2;
        out.push_str(&format!("{}{name}\n", " ".repeat(indent)));
    }
    out
}

/// The axis below: its line with ticks, and their numbers.
pub fn below(x: &Axis, width: usize, left: usize, whole: bool) -> String {
    let mut line: Vec<char> = vec!['─'; width];
    let mut numbers = vec![' '; width + 12];
    let mut free = 0;
    for (at, label) in x.labels((width / 12).clamp(1, 8), whole) {
        let column = (x.at(at) / 2.0).round().clamp(0.0, (width - 1) as f64) as usize;
        let from = column.saturating_sub(label.width() / 2);
        if from < free {
            continue;
        }
        line[column] = '┬';
        for (k, c) in label.chars().enumerate() {
            if let Some(place) = numbers.get_mut(from + k) {
                *place = c;
            }
        }
        free = from + label.width() + 1;
    }
    let indent = " ".repeat(left + 1);
    let line: String = line.into_iter().collect();
    let numbers: String = numbers.into_iter().collect();
    format!("{indent}└{line}\n{indent} {}\n", numbers.trim_end())
}

#[derive(Clone, Copy)]
struct Mark {
    colour: Rgb,
    letter: Option<char>,
}

/// Characters of two by four dots.
struct Canvas {
    width: usize,
    height: usize,
    dots: Vec<u8>,
    marks: Vec<Option<Mark>>,
}

impl Canvas {
    fn new(width: usize, height: usize) -> Canvas {
        Canvas { width, height, dots: vec![0; width * height], marks: vec![None; width * height] }
    }

    fn across(&self) -> f64 {
        (self.width * 2) as f64
    }

    fn down(&self) -> f64 {
        (self.height * 4) as f64
    }

    fn dot(&mut self, (x, y): (f64, f64), mark: Mark) {
        let place = |x: f64, most: usize| x.round().clamp(0.0, (most - 1) as f64) as usize;
        let (x, y) = (place(x, self.width * 2), place(y, self.height * 4));
        // The order of Unicode's braille: the lowest row came later.
        const BITS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
        let cell = y / 4 * self.width + x / 2;
        self.dots[cell] |= BITS[y % 4][x % 2];
        self.marks[cell] = Some(mark);
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), mark: Mark) {
        let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().clamp(1.0, 10_000.0);
        for i in 0..=steps as usize {
            let part = i as f64 / steps;
            self.dot((from.0 + (to.0 - from.0) * part, from.1 + (to.1 - from.1) * part), mark);
        }
    }

    fn row(&self, row: usize, colours: Colours) -> String {
        let mut out = String::new();
        for cell in row * self.width..(row + 1) * self.width {
            match self.marks[cell] {
                None => out.push(' '),
                Some(mark) => {
                    let dots = char::from_u32(0x2800 + u32::from(self.dots[cell])).unwrap_or(' ');
                    let sign = mark.letter.unwrap_or(dots);
                    out.push_str(&coloured(&sign.to_string(), Some(mark.colour), None, colours));
                }
            }
        }
        out
    }
}
