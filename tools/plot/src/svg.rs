//! Scenes as SVG.

use crate::png;
use crate::scene::{Anchor, Rect, Scene, Shape};
use base64::Engine;
use std::fmt::Write;

/// Cells up to this number are rectangles; more of them are an image.
const RECTANGLES: usize = 2_500;

/// The text of an SVG file.
///
/// # Errors
/// There is no memory for an image in it.
pub fn svg(scene: &Scene) -> Result<String, String> {
    let (width, height) = (px(scene.width), px(scene.height));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         role=\"img\" font-family=\"Ubuntu, 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif\">\n<title>{}</title>\n\
         <desc>{}</desc>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
        escaped(&scene.title),
        escaped(&scene.description)
    );
    for shape in &scene.shapes {
        // Writing to a string does not fail.
        let _ = match shape {
            Shape::Rect { at, fill } => writeln!(out, "<rect {} fill=\"{}\"/>", place(at), hex(*fill)),
            Shape::Line { points, stroke, width } => {
                let points: Vec<String> =
                    points.iter().map(|(x, y)| format!("{},{}", px(*x), px(*y))).collect();
                writeln!(
                    out,
                    "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\" stroke-linejoin=\"round\" \
                     stroke-linecap=\"round\"/>",
                    points.join(" "),
                    hex(*stroke),
                    px(*width)
                )
            }
            // A line without a length has round ends, and is the shortest way to write a dot.
            Shape::Dots { points, radius, fill } => {
                let points: String =
                    points.iter().map(|(x, y)| format!("M{} {}h0", px(*x), px(*y))).collect();
                writeln!(
                    out,
                    "<path d=\"{points}\" stroke=\"{}\" stroke-width=\"{}\" stroke-linecap=\"round\"/>",
                    hex(*fill),
                    px(radius * 2.0)
                )
            }
            Shape::Text { x, y, text, size, anchor, turned, fill } => {
                let (x, y) = (px(*x), px(*y));
                let anchor = match anchor {
                    Anchor::Start => "start",
                    Anchor::Middle => "middle",
                    Anchor::End => "end",
                };
                let turned =
                    if *turned { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
                writeln!(
                    out,
                    "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\" fill=\"{}\" \
                     xml:space=\"preserve\"{turned}>{}</text>",
                    px(*size),
                    hex(*fill),
                    escaped(text)
                )
            }
            Shape::Cells { at, columns, cells } if cells.len() <= RECTANGLES => {
                let rows = cells.len() / (*columns).max(1);
                let (across, down) = (at.width / *columns as f64, at.height / rows as f64);
                let _ = writeln!(out, "<g shape-rendering=\"crispEdges\">");
                for (i, fill) in cells.iter().enumerate() {
                    let (x, y) = ((i % columns) as f64 * across, (i / columns) as f64 * down);
                    let at = Rect { x: at.x + x, y: at.y + y, width: across, height: down };
                    let _ = writeln!(out, "<rect {} fill=\"{}\"/>", place(&at), hex(*fill));
                }
                writeln!(out, "</g>")
            }
            Shape::Cells { at, columns, cells } => {
                let image = base64::engine::general_purpose::STANDARD.encode(png::cells(*columns, cells)?);
                writeln!(
                    out,
                    "<image {} preserveAspectRatio=\"none\" style=\"image-rendering:pixelated\" \
                     href=\"data:image/png;base64,{image}\"/>",
                    place(at)
                )
            }
        };
    }
    out.push_str("</svg>\n");
    Ok(out)
}

fn place(at: &Rect) -> String {
    format!("x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"", px(at.x), px(at.y), px(at.width), px(at.height))
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// A length, with two digits behind the point at most.
fn px(x: f64) -> String {
    let text = format!("{x:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Text between tags; what a terminal would act on, and XML does not allow, is said.
fn escaped(text: &str) -> String {
    let text = remc_base::visible(text);
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
