//! Where the value of a program goes, and in which format: `--output`, `--format`, `--precision`, `--rows` and
//! `--max-elements`.
//!
//! What contradicts itself is said before the program runs, so that no hour of computing is for nothing.

use crate::args::{OutputFormat, Run};
use crate::codes;
use crate::commands::{cannot_write, destination, may_write};
use crate::report::{Outcome, fail, stream_to_stdout, usage};
use clap::ValueEnum;
use remc_base::{BaseTy, Value};
use remc_runtime::data::{Format, gzip, output};
use remc_runtime::files::{self, Protected};
use remc_runtime::stream::written::{Shared, To, Written, can_write};
use remc_runtime::table::{self, Limits};
use remc_runtime::text::Style;
use std::cell::Cell;
use std::io::IsTerminal;
use std::path::Path;

/// How a value is printed or written.
pub struct Output<'a> {
    to: Option<&'a Path>,
    format: How,
    style: Style,
    /// Tables on standard output are parted by empty lines.
    printed: Cell<bool>,
}

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// So that remc or other programs read it.
    Format(Format),
    Table(Limits),
}

impl Output<'_> {
    /// What the command line asks for. `protected` is what cannot be the output.
    pub fn new<'a>(args: &'a Run, protected: &Protected) -> Outcome<Output<'a>> {
        let to = destination(&args.output);
        let format = match args.format {
            Some(OutputFormat::Arrow) => How::Format(arrow(to)),
            Some(format) => of(format).map_or_else(|| How::Table(limits(args)), How::Format),
            None => How::Format(to.and_then(Format::of_file).unwrap_or(Format::Remora)),
        };
        if args.picture.rows.is_some() && !matches!(format, How::Table(_)) {
            return fail(
                usage(
                    codes::OUTPUT_FORMAT,
                    format!("--rows is of tables, and the format is {}", name(format)),
                )
                .help("`--format table` prints one"),
            );
        }
        if args.precision.is_some() && !matches!(format, How::Table(_)) && !is_text(format) {
            return fail(
                usage(
                    codes::OUTPUT_FORMAT,
                    format!("--precision is of text, and the format is {}", name(format)),
                )
                .help("binary formats keep every digit: leave out --precision"),
            );
        }
        let max_elements = args.max_elements.filter(|_| to.is_none());
        if max_elements.is_some() && format != How::Format(Format::Remora) {
            return fail(
                usage(
                    codes::OUTPUT_FORMAT,
                    format!("--max-elements is for people, and the format is {}", name(format)),
                )
                .help(match format {
                    How::Table(_) => "a table is cut by --rows",
                    How::Format(_) => "what other programs read is never cut: leave out --max-elements",
                }),
            );
        }
        if let Some(path) = to {
            may_write(path, protected)?;
        }
        let style = Style {
            precision: args.precision.map(usize::from),
            max_elements: max_elements.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        };
        Ok(Output { to, format, style, printed: Cell::default() })
    }

    /// Whether people read it: Remora or tables on standard output, where several values are one below the other.
    pub fn is_for_people(&self) -> bool {
        self.to.is_none() && matches!(self.format, How::Table(_) | How::Format(Format::Remora))
    }

    /// Prints or writes the value.
    pub fn write(&self, value: &Value) -> Outcome {
        let format = match self.format {
            How::Format(format) => format,
            How::Table(limits) => return self.table(value, limits),
        };
        if let Some(what) = output::refusal(value, format) {
            let whose = match self.to {
                Some(path) => format!("cannot write `{}`", path.display()),
                None => "cannot print the value".to_owned(),
            };
            let format = name(self.format);
            let d = usage(codes::OUTPUT, format!("{whose}: the format {format} cannot hold {what}"));
            return fail(d.help(
                "Remora text holds every value: a file's name that ends in .rd, or `--format remora`",
            ));
        }
        match self.to {
            Some(path) => files::write_atomically(path, |out| {
                gzip::packed(path, out, |out| output::write(value, format, self.style, out))
            })
            .map_err(|e| cannot_write(path, &e)),
            None => stream_to_stdout(|out| output::write(value, format, self.style, out)),
        }
    }

    /// A result of these elements, whose items have `rank` axes, that is written as its items come, if it can be. `boxed`
    /// says that its length is part of its value.
    pub fn growing(&self, base: BaseTy, rank: usize, boxed: bool) -> Outcome<Option<Shared>> {
        let How::Format(format) = self.format else { return Ok(None) };
        let told = boxed && matches!(format, Format::Remora | Format::Json);
        let packed = self.to.is_some_and(|path| gzip::unzipped(path).is_some());
        if told || packed || self.style.max_elements.is_some() {
            return Ok(None);
        }
        let to = match self.to {
            Some(path) => match files::Growing::new(path) {
                Ok(file) => To::File(file),
                Err(e) => return Err(cannot_write(path, &e)),
            },
            None => To::Out(Box::new(std::io::BufWriter::with_capacity(1 << 16, std::io::stdout()))),
        };
        let seeks = matches!(&to, To::File(f) if f.seeks());
        Ok(can_write(format, base, rank, seeks).then(|| Shared::new(Written::new(to, format, self.style))))
    }

    /// Ends such a result.
    pub fn finish(&self, written: &Shared) -> Outcome {
        let Some(written) = written.take() else { return Ok(()) };
        let ended = written.finish();
        match (ended, self.to) {
            (Ok(()), _) => Ok(()),
            (Err(e), Some(path)) => Err(cannot_write(path, &e)),
            (Err(e), None) => stream_to_stdout(|_| Err(e)),
        }
    }

    fn table(&self, value: &Value, limits: Limits) -> Outcome {
        match self.to {
            Some(path) => files::write_atomically(path, |out| table::write(value, limits, out))
                .map_err(|e| cannot_write(path, &e)),
            None => stream_to_stdout(|out| {
                if self.printed.replace(true) {
                    writeln!(out)?;
                }
                table::write(value, limits, out)
            }),
        }
    }
}

/// How much of a table is shown: all, unless it goes to a terminal.
fn limits(args: &Run) -> Limits {
    let on_screen = destination(&args.output).is_none() && std::io::stdout().is_terminal();
    let size = on_screen.then(terminal_size::terminal_size).flatten();
    let (width, height) = size.map(|(w, h)| (usize::from(w.0), usize::from(h.0))).unzip();
    let rows = args.picture.rows.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    // The names, the shape and the next prompt are on the screen, too.
    let fits = height.map(|lines| lines.saturating_sub(4).max(4));
    Limits { rows: rows.or(fits), width, precision: args.precision.map(usize::from) }
}

fn is_text(format: How) -> bool {
    matches!(format, How::Format(format) if output::is_text(format))
}

/// The format that others read; none of a table.
fn of(format: OutputFormat) -> Option<Format> {
    Some(match format {
        OutputFormat::Remora => Format::Remora,
        OutputFormat::Json => Format::Json,
        OutputFormat::Npy => Format::Npy,
        OutputFormat::Npz => Format::Npz,
        OutputFormat::Arrow => Format::Arrow,
        OutputFormat::Csv => Format::Csv,
        OutputFormat::Tsv => Format::Tsv,
        OutputFormat::Futhark => Format::Futhark,
        OutputFormat::Raw => Format::Raw,
        OutputFormat::Text => Format::Text,
        OutputFormat::Table => return None,
    })
}

/// What Arrow's format is there: a stream on standard output and in a file of such a name, else a file.
fn arrow(to: Option<&Path>) -> Format {
    match to {
        Some(path) if Format::of_file(path) != Some(Format::ArrowStream) => Format::Arrow,
        _ => Format::ArrowStream,
    }
}

/// The format as the command line calls it.
fn name(format: How) -> String {
    let is_it = |f: &&OutputFormat| match format {
        How::Format(Format::ArrowStream) => **f == OutputFormat::Arrow,
        How::Format(format) => of(**f) == Some(format),
        How::Table(_) => of(**f).is_none(),
    };
    let of_it = OutputFormat::value_variants().iter().find(is_it);
    of_it.and_then(OutputFormat::to_possible_value).map(|v| v.get_name().to_owned()).unwrap_or_default()
}
