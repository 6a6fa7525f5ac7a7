//! Scenes as PNG.

use crate::colour::Rgb;
use crate::font;
use crate::scene::{Anchor, Scene, Shape};
use tiny_skia::{
    Color, FillRule, FilterQuality, LineCap, LineJoin, Paint, Path, PathBuilder, Pixmap, PixmapPaint, Rect,
    Stroke, Transform,
};
use ttf_parser::OutlineBuilder;

/// Pixels of each unit: a picture is printed and shown on screens of many pixels.
const SCALE: f32 = 2.0;

/// The bytes of a PNG file.
///
/// # Errors
/// There is no memory for it.
pub fn png(scene: &Scene) -> Result<Vec<u8>, String> {
    let pixels = |length: f64| (length as f32 * SCALE).ceil().max(1.0) as u32;
    let mut canvas = Pixmap::new(pixels(scene.width), pixels(scene.height)).ok_or_else(no_room)?;
    canvas.fill(Color::WHITE);
    for shape in &scene.shapes {
        draw(&mut canvas, shape)?;
    }
    canvas.encode_png().map_err(|e| e.to_string())
}

/// An image of cells, a pixel each, as PNG.
///
/// # Errors
/// There is no memory for it.
pub fn cells(columns: usize, cells: &[Rgb]) -> Result<Vec<u8>, String> {
    pixmap(columns, cells)?.encode_png().map_err(|e| e.to_string())
}

fn no_room() -> String {
    "there is no memory for the picture".to_owned()
}

fn pixmap(columns: usize, cells: &[Rgb]) -> Result<Pixmap, String> {
    let rows = cells.len() / columns.max(1);
    let mut image = Pixmap::new(columns as u32, rows as u32).ok_or_else(no_room)?;
    for (pixel, [r, g, b]) in image.data_mut().chunks_exact_mut(4).zip(cells) {
        pixel.copy_from_slice(&[*r, *g, *b, 255]);
    }
    Ok(image)
}

fn draw(canvas: &mut Pixmap, shape: &Shape) -> Result<(), String> {
    let to_pixels = Transform::from_scale(SCALE, SCALE);
    match shape {
        Shape::Rect { at, fill } => {
            let rect = Rect::from_xywh(at.x as f32, at.y as f32, at.width as f32, at.height as f32);
            if let Some(rect) = rect {
                canvas.fill_rect(rect, &paint(*fill), to_pixels, None);
            }
        }
        Shape::Line { points, stroke, width } => {
            let mut path = PathBuilder::new();
            for (i, (x, y)) in points.iter().enumerate() {
                match i {
                    0 => path.move_to(*x as f32, *y as f32),
                    _ => path.line_to(*x as f32, *y as f32),
                }
            }
            let stroke_of = Stroke {
                width: *width as f32,
                line_cap: LineCap::Round,
                line_join: LineJoin::Round,
                ..Stroke::default()
            };
            if let Some(path) = path.finish() {
                canvas.stroke_path(&path, &paint(*stroke), &stroke_of, to_pixels, None);
            }
        }
        Shape::Dots { points, radius, fill } => {
            for (x, y) in points {
                if let Some(circle) = PathBuilder::from_circle(*x as f32, *y as f32, *radius as f32) {
                    canvas.fill_path(&circle, &paint(*fill), FillRule::Winding, to_pixels, None);
                }
            }
        }
        Shape::Text { x, y, text, size, anchor, turned, fill } => {
            let start = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -font::width(text, *size) / 2.0,
                Anchor::End => -font::width(text, *size),
            };
            let turn = Transform::from_rotate(if *turned { -90.0 } else { 0.0 });
            let at = turn.post_translate(*x as f32, *y as f32).post_concat(to_pixels);
            if let Some(path) = outline(text, *size, start) {
                canvas.fill_path(&path, &paint(*fill), FillRule::Winding, at, None);
                // The font is a light one; at small sizes, on paper, it needs some weight.
                let weight = Stroke { width: 0.025 * *size as f32, ..Stroke::default() };
                canvas.stroke_path(&path, &paint(*fill), &weight, at, None);
            }
        }
        Shape::Cells { at, columns, cells } => {
            let image = pixmap(*columns, cells)?;
            let (across, down) =
                (at.width as f32 / image.width() as f32, at.height as f32 / image.height() as f32);
            // Larger cells have sharp edges; smaller ones than a pixel are mixed.
            let quality = match across * SCALE < 1.0 || down * SCALE < 1.0 {
                true => FilterQuality::Bilinear,
                false => FilterQuality::Nearest,
            };
            let place = Transform::from_scale(across, down).post_translate(at.x as f32, at.y as f32);
            let paint = PixmapPaint { quality, ..PixmapPaint::default() };
            canvas.draw_pixmap(0, 0, image.as_ref(), &paint, place.post_concat(to_pixels), None);
        }
    }
    Ok(())
}

fn paint([r, g, b]: Rgb) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    paint.set_color_rgba8(r, g, b, 255);
    paint
}

/// The outlines of a text's letters, the first beginning at `x`.
fn outline(text: &str, size: f64, mut x: f64) -> Option<Path> {
    let mut path = PathBuilder::new();
    for glyph in text.chars().filter_map(font::glyph) {
        let unit = (glyph.unit * size) as f32;
        let mut letter = Letter { path: &mut path, x: x as f32, unit };
        glyph.face.outline_glyph(glyph.id, &mut letter);
        x += glyph.advance * size;
    }
    path.finish()
}

/// A letter of which the font says the outline, upwards.
struct Letter<'a> {
    path: &'a mut PathBuilder,
    x: f32,
    unit: f32,
}

impl Letter<'_> {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.unit, -y * self.unit)
    }
}

impl OutlineBuilder for Letter<'_> {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
