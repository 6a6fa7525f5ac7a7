//! The letters of pictures: outlines and widths, from fonts that are part of the program, so that a picture is the same
//! on every machine.

use std::sync::OnceLock;
use ttf_parser::{Face, GlyphId};

/// How much wider the font may be that an SVG is shown with, where it is shown.
pub const SLACK: f64 = 1.25;

/// The fonts, the first with a letter being the one that is taken.
fn faces() -> &'static [Face<'static>] {
    static FACES: OnceLock<Vec<Face<'static>>> = OnceLock::new();
    FACES.get_or_init(|| {
        [epaint_default_fonts::UBUNTU_LIGHT, epaint_default_fonts::HACK_REGULAR]
            .into_iter()
            .filter_map(|bytes| Face::parse(bytes, 0).ok())
            .collect()
    })
}

/// A letter: its font, its outline there, and how far the next one is, in parts of the font's size.
pub struct Glyph {
    pub face: &'static Face<'static>,
    pub id: GlyphId,
    pub advance: f64,
    /// What a unit of the outline is, in parts of the font's size.
    pub unit: f64,
}

pub fn glyph(c: char) -> Option<Glyph> {
    let found = |c: char| faces().iter().find_map(|face| Some((face, face.glyph_index(c)?)));
    // Of a letter that no font has, that there is one.
    let (face, id) = found(c).or_else(|| found('\u{fffd}')).or_else(|| found('?'))?;
    let unit = 1.0 / f64::from(face.units_per_em());
    let advance = f64::from(face.glyph_hor_advance(id).unwrap_or(face.units_per_em() / 2)) * unit;
    Some(Glyph { face, id, advance, unit })
}

/// How wide a text is.
pub fn width(text: &str, size: f64) -> f64 {
    text.chars().filter_map(glyph).map(|g| g.advance).sum::<f64>() * size
}

/// A text that is no wider than that, with an ellipsis for what is cut.
pub fn cut(text: &str, size: f64, most: f64) -> String {
    let most = most / SLACK;
    if width(text, size) <= most {
        return text.to_owned();
    }
    let mut out = String::new();
    let mut left = most - width("…", size);
    for c in text.chars() {
        left -= glyph(c).map_or(0.0, |g| g.advance) * size;
        if left < 0.0 {
            break;
        }
        out.push(c);
    }
    format!("{}…", out.trim_end())
}
