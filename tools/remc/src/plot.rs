//! Pictures of values: `--plot`, and where the terminal draws one.

use crate::args::{Picture, PlotKind};
use crate::codes;
use crate::commands::{cannot_write, may_write};
use crate::report::{Outcome, fail, usage};
use remc_base::{Value, visible};
use remc_driver::{Def, Session};
use remc_plot::{Figure, Format, Kind};
use remc_runtime::files::{self, Protected};
use std::path::Path;

/// A picture that is wanted.
pub struct Plot<'a> {
    to: &'a Path,
    format: Format,
    kind: Option<Kind>,
    title: String,
}

impl<'a> Plot<'a> {
    /// What the command line asks for. `protected` is what cannot be overwritten.
    pub fn new(args: &'a Picture, title: String, protected: &Protected) -> Outcome<Option<Plot<'a>>> {
        let Some(to) = &args.plot else { return Ok(None) };
        let format = format(to)?;
        may_write(to, protected)?;
        Ok(Some(Plot { to, format, kind: args.plot_as.map(kind), title }))
    }

    pub fn write(&self, value: &Value) -> Outcome {
        let figure = figure(value, self.kind, &self.title)?;
        save(&figure, self.format, self.to)
    }
}

/// The format of a picture, by its name.
pub fn format(to: &Path) -> Outcome<Format> {
    match Format::of_name(to) {
        Some(format) => Ok(format),
        None => fail(
            usage(codes::PLOT, format!("cannot draw `{}`: a picture is an .svg or a .png", to.display()))
                .help("name a file that ends in one of these"),
        ),
    }
}

/// What a value shows; why it shows nothing is told with what would help.
pub fn figure(value: &Value, kind: Option<Kind>, title: &str) -> Outcome<Figure> {
    remc_plot::figure(value, kind, title).or_else(|why| {
        let d = usage(codes::PLOT, format!("cannot draw the value: {why}"));
        fail(match kind {
            Some(_) => d.help("without `--plot-as`, what can be drawn of it is chosen"),
            None => d.help("`--format table` shows every value"),
        })
    })
}

/// Writes a picture, all of it or nothing.
pub fn save(figure: &Figure, format: Format, to: &Path) -> Outcome {
    let bytes = figure
        .file(format)
        .or_else(|why| fail(usage(codes::PLOT, format!("cannot draw the value: {why}"))))?;
    files::write_atomically(to, |out| out.write_all(&bytes)).map_err(|e| cannot_write(to, &e))
}

pub fn kind(kind: PlotKind) -> Kind {
    match kind {
        PlotKind::Line => Kind::Line,
        PlotKind::Bars => Kind::Bars,
        PlotKind::Scatter => Kind::Scatter,
        PlotKind::Heat => Kind::Heat,
        PlotKind::Image => Kind::Image,
        PlotKind::Histogram => Kind::Histogram,
    }
}

/// What a picture of a definition is called: an expression itself, on one line, or an entry's name.
pub fn title(session: &Session, def: Def<'_>) -> String {
    let span = session.item_span(def);
    let text =
        session.source(span.module).and_then(|(_, text)| text.get(span.start as usize..span.end as usize));
    match def.kind(&session.db) {
        remc_driver::names::DefKind::Expr => {
            let text: Vec<&str> = text.unwrap_or_default().split_whitespace().collect();
            visible(&text.join(" ")).into_owned()
        }
        _ => def.name(&session.db).to_string(),
    }
}
