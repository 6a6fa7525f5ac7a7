//! Values written: in which formats a value can be, and its bytes.

use super::elements::opened;
use super::{Format, arrow, csv, futhark, json, npz, plain, raw};
use crate::npy;
use crate::text::{self, Style};
use remc_base::Value;
use std::fmt;
use std::io::{self, Write};

/// The value as a format takes it: where types are not told, without a box around it.
fn as_told(value: &Value, format: Format) -> &Value {
    match format {
        Format::Remora | Format::Json => value,
        _ => opened(value),
    }
}

/// What a format cannot hold of a value, as the end of a sentence: "cannot hold …".
pub fn refusal(value: &Value, format: Format) -> Option<String> {
    let value = as_told(value, format);
    let told = |ok: bool| (!ok).then(|| value.atom.to_string());
    match format {
        Format::Remora => None,
        Format::Json => (!json::can_write(value)).then(|| "functions".to_owned()),
        Format::Npy => told(npy::can_write(value)),
        Format::Npz => told(npz::parts(value).is_some()),
        Format::Futhark => told(futhark::can_write(value)),
        Format::Raw => told(npy::can_write(value)),
        Format::Csv | Format::Tsv if value.shape.len() > 2 => {
            Some(format!("an array of {} axes: a table has two", value.shape.len()))
        }
        Format::Csv | Format::Tsv => told(csv::can_write(value)),
        Format::Text if value.shape.len() > 2 => {
            Some(format!("an array of {} axes: a text has lines", value.shape.len()))
        }
        Format::Text => told(plain::can_write(value)),
        Format::Arrow | Format::ArrowStream => arrow::write::refusal(value),
    }
}

/// Whether a format is a text for people, in which digits may be left out.
pub fn is_text(format: Format) -> bool {
    matches!(format, Format::Remora | Format::Json | Format::Csv | Format::Tsv | Format::Text)
}

/// Writes a value that the format does not refuse.
pub fn write(value: &Value, format: Format, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let precision = style.precision;
    let value = as_told(value, format);
    match format {
        Format::Remora => lines(out, |out| text::write_value(value, style, out)),
        Format::Json => lines(out, |out| json::write(value, precision, out)),
        Format::Npy => npy::write(value, out),
        Format::Npz => npz::write(&npz::parts(value).ok_or(io::ErrorKind::InvalidInput)?, out),
        Format::Csv => csv::write(value, ',', precision, out),
        Format::Tsv => csv::write(value, '\t', precision, out),
        Format::Futhark => futhark::write(value, out),
        Format::Raw => raw::write(value, out),
        Format::Text => plain::write(value, precision, out),
        Format::Arrow => arrow::write::file(value, out),
        Format::ArrowStream => arrow::write::stream(value, out),
    }
}

/// Text, and the end of its line.
fn lines(out: &mut dyn Write, text: impl FnOnce(&mut dyn fmt::Write) -> fmt::Result) -> io::Result<()> {
    let mut to = Bytes { out, failed: None };
    match (text(&mut to), to.failed) {
        (Ok(()), _) => writeln!(out),
        (Err(_), Some(e)) => Err(e),
        (Err(_), None) => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Text as bytes; what went wrong is kept, as text cannot say it.
struct Bytes<'a> {
    out: &'a mut dyn Write,
    failed: Option<io::Error>,
}

impl fmt::Write for Bytes<'_> {
    fn write_str(&mut self, s: &str) -> fmt::Result {
        self.out.write_all(s.as_bytes()).map_err(|e| {
            self.failed = Some(e);
            fmt::Error
        })
    }
}
