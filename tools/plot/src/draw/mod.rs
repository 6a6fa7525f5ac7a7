//! Figures as scenes: where axes, marks and words are.

mod bars;
pub(crate) mod grid;
mod plane;

use crate::axis::Axis;
use crate::colour::{GRID, INK, Rgb, SOFT};
use crate::figure::{Figure, What};
use crate::font;
use crate::scene::{Anchor, Rect, Scene, Shape};

/// The size of pictures with axes.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 440.0;
/// The sizes of text.
const TITLE: f64 = 15.0;
const LABEL: f64 = 12.5;
const NOTE: f64 = 11.5;

pub fn draw(figure: &Figure) -> Scene {
    let mut page = Page::new(figure);
    match &figure.what {
        What::Plane(plane) => plane::draw(&mut page, plane),
        What::Bars(bars) => bars::draw(&mut page, bars),
        What::Heat(heat) => grid::heat(&mut page, heat),
        What::Image(image) => grid::image(&mut page, image),
    }
    page.finish()
}

/// A scene that is being made. The title is above the frame, notes are below it.
pub(crate) struct Page {
    scene: Scene,
    /// What is below everything that is drawn so far.
    bottom: f64,
    notes: Vec<String>,
}

impl Page {
    fn new(figure: &Figure) -> Page {
        let scene = Scene {
            width: WIDTH,
            height: HEIGHT,
            title: figure.title.clone(),
            description: String::new(),
            shapes: Vec::new(),
        };
        Page { scene, bottom: HEIGHT, notes: figure.notes.clone() }
    }

    /// Where the frame can begin, below the title.
    fn top(&self) -> f64 {
        if self.scene.title.is_empty() { 18.0 } else { 42.0 }
    }

    fn rect(&mut self, x: f64, y: f64, width: f64, height: f64, fill: Rgb) {
        self.scene.shapes.push(Shape::Rect { at: Rect { x, y, width, height }, fill });
    }

    fn line(&mut self, points: Vec<(f64, f64)>, stroke: Rgb, width: f64) {
        self.scene.shapes.push(Shape::Line { points, stroke, width });
    }

    fn text(&mut self, (x, y): (f64, f64), text: impl Into<String>, anchor: Anchor, fill: Rgb) {
        let text = text.into();
        self.scene.shapes.push(Shape::Text { x, y, text, size: LABEL, anchor, turned: false, fill });
    }

    /// A text that is read from below.
    fn turned(&mut self, (x, y): (f64, f64), text: &str, most: f64) {
        let text = font::cut(text, LABEL, most);
        let (size, anchor, fill) = (LABEL, Anchor::Middle, INK);
        self.scene.shapes.push(Shape::Text { x, y, text, size, anchor, turned: true, fill });
    }

    /// Ticks below a frame, with lines across it, and what the axis shows.
    fn across(&mut self, axis: &Axis, ticks: &[(f64, String)], frame: &Frame, name: Option<&str>) {
        for (x, label) in ticks {
            let at = axis.at(*x);
            self.line(vec![(at, frame.top), (at, frame.bottom)], GRID, 1.0);
            self.text((at, frame.bottom + 18.0), label.clone(), Anchor::Middle, SOFT);
        }
        if let Some(name) = name {
            let name = font::cut(name, LABEL, frame.right - frame.left);
            self.text(((frame.left + frame.right) / 2.0, frame.bottom + 38.0), name, Anchor::Middle, INK);
        }
    }

    /// Ticks to the left of a frame.
    fn up(&mut self, axis: &Axis, ticks: &[(f64, String)], frame: &Frame, name: Option<&str>) {
        for (y, label) in ticks {
            let at = axis.at(*y);
            self.line(vec![(frame.left, at), (frame.right, at)], GRID, 1.0);
            self.text((frame.left - 8.0, at + LABEL * 0.35), label.clone(), Anchor::End, SOFT);
        }
        if let Some(name) = name {
            self.turned((16.0, (frame.top + frame.bottom) / 2.0), name, frame.bottom - frame.top);
        }
    }

    /// The left and the lower edge of a frame.
    fn edges(&mut self, f: &Frame) {
        self.line(vec![(f.left, f.top), (f.left, f.bottom), (f.right, f.bottom)], INK, 1.2);
    }

    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }

    fn finish(mut self) -> Scene {
        let (title, most) = (self.scene.title.clone(), self.scene.width - 32.0);
        let mut text = |y: f64, text: &str, size: f64, fill: Rgb| {
            let text = font::cut(text, size, most);
            let (anchor, turned) = (Anchor::Start, false);
            self.scene.shapes.push(Shape::Text { x: 16.0, y, text, size, anchor, turned, fill });
        };
        text(25.0, &title, TITLE, INK);
        let mut y = self.bottom;
        for note in &self.notes {
            y += 4.0 + NOTE;
            text(y - 4.0, note, NOTE, SOFT);
        }
        self.scene.height = y + if self.notes.is_empty() { 0.0 } else { 8.0 };
        let said = self.notes.join("; ");
        let parted = if said.is_empty() || self.scene.description.is_empty() { "" } else { "; " };
        self.scene.description = format!("{}{parted}{said}", self.scene.description);
        self.scene
    }
}

/// The part of a picture that its axes enclose.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    /// As large as it can be beside these labels and names.
    fn new(top: f64, up: &[(f64, String)], names: (bool, bool)) -> Frame {
        let labels = up.iter().map(|(_, text)| font::width(text, LABEL) * font::SLACK).fold(24.0, f64::max);
        let left = 16.0 + labels.min(260.0) + 8.0 + if names.1 { 20.0 } else { 0.0 };
        Frame { left, right: WIDTH - 24.0, top, bottom: HEIGHT - if names.0 { 54.0 } else { 34.0 } }
    }

    fn x(&self) -> (f64, f64) {
        (self.left, self.right)
    }

    fn y(&self) -> (f64, f64) {
        (self.bottom, self.top)
    }
}
