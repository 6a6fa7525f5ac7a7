//! Pictures of values.
//!
//! ```text
//! Value ── figure ──► Figure ──┬─ draw ──► Scene ──┬─ svg ──► text
//!          what it shows       │           shapes  └─ png ──► bytes
//!                              └─ terminal ──► characters
//! ```
//!
//! | a value | its picture |
//! | --- | --- |
//! | a vector | a line over positions; bars, if it is short or counts something |
//! | `(values xs ys)`, `(record (x …) (y …))`, an array of pairs, `[t n 2]` | points, joined where the x's ascend |
//! | more vectors, an array of boxes of vectors | a line each, with a legend; over the first, if that is called `x` or `t` |
//! | names and numbers | bars with names |
//! | a matrix | a heat map; an image, if its numbers are grey levels from 0 to 255 |
//! | `[t n m 3]` | an image in colour |
//!
//! What a value shows can be asked for, too ([`Kind`]). A value that has no picture is refused with a sentence. Numbers
//! that are not finite are gaps, and the picture says how many there are; of more points than a picture has pixels, the
//! extremes of each pixel are drawn ([`thin`]).

mod axis;
mod colour;
mod draw;
mod figure;
mod font;
mod histogram;
mod numbers;
mod png;
mod scene;
mod svg;
mod terminal;
mod thin;

#[cfg(test)]
mod tests;

pub use figure::{Figure, Kind, figure};
pub use terminal::{Colours, Screen};

use std::path::Path;

/// A format of files with pictures.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Svg,
    Png,
}

impl Format {
    /// The format that a file's name stands for.
    pub fn of_name(path: &Path) -> Option<Format> {
        match path.extension()?.to_string_lossy().to_ascii_lowercase().as_str() {
            "svg" => Some(Format::Svg),
            "png" => Some(Format::Png),
            _ => None,
        }
    }
}

impl Figure {
    /// The picture as the content of a file.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn file(&self, format: Format) -> Result<Vec<u8>, String> {
        let scene = draw::draw(self);
        match format {
            Format::Svg => Ok(svg::svg(&scene)?.into_bytes()),
            Format::Png => png::png(&scene),
        }
    }

    /// The picture in characters.
    pub fn terminal(&self, screen: Screen) -> String {
        terminal::terminal(self, screen)
    }
}
