//! What a picture consists of, in places from its upper left corner.

use crate::colour::Rgb;

#[derive(Clone, PartialEq, Debug)]
pub struct Scene {
    pub width: f64,
    pub height: f64,
    /// For whoever cannot see it.
    pub title: String,
    pub description: String,
    /// Later ones cover earlier ones.
    pub shapes: Vec<Shape>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Shape {
    Rect {
        at: Rect,
        fill: Rgb,
    },
    Line {
        points: Vec<(f64, f64)>,
        stroke: Rgb,
        width: f64,
    },
    Dots {
        points: Vec<(f64, f64)>,
        radius: f64,
        fill: Rgb,
    },
    Text {
        x: f64,
        y: f64,
        text: String,
        size: f64,
        anchor: Anchor,
        turned: bool,
        fill: Rgb,
    },
    /// Cells of one colour each, row by row, with sharp edges.
    Cells {
        at: Rect,
        columns: usize,
        cells: Vec<Rgb>,
    },
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rect {
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// Which part of a text is at its place.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Anchor {
    Start,
    Middle,
    End,
}
