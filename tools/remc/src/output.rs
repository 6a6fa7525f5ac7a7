//! Where the value of a program goes, and in which format: `--output`, `--format`, `--precision` and
//! `--max-elements`.
//!
//! What contradicts itself is said before the program runs, so that no hour of computing is for nothing.

use crate::args::{OutputFormat, Run};
use crate::codes;
use crate::commands::{cannot_write, may_write};
use crate::report::{Outcome, fail, stream_to_stdout, usage};
use clap::ValueEnum;
use remc_base::Value;
use remc_runtime::data::{Format, output};
use remc_runtime::files::{self, Protected};
use remc_runtime::text::Style;
use std::path::Path;

/// How a value is printed or written.
pub struct Output<'a> {
    to: Option<&'a Path>,
    format: Format,
    style: Style,
}

impl Output<'_> {
    /// What the command line asks for. `protected` is what cannot be the output.
    pub fn new<'a>(args: &'a Run, protected: &Protected) -> Outcome<Output<'a>> {
        let to = args.output.as_deref();
        let format = match args.format {
            Some(format) => of(format),
            None => to.and_then(Format::of_name).unwrap_or(Format::Remora),
        };
        if args.precision.is_some() && !output::is_text(format) {
            return fail(
                usage(
                    codes::OUTPUT_FORMAT,
                    format!("--precision is of text, and the format is {}", name(format)),
                )
                .help("binary formats keep every digit: leave out --precision"),
            );
        }
        let max_elements = args.max_elements.filter(|_| to.is_none());
        if max_elements.is_some() && format != Format::Remora {
            return fail(
                usage(
                    codes::OUTPUT_FORMAT,
                    format!("--max-elements is for people, and the format is {}", name(format)),
                )
                .help("what other programs read is never cut: leave out --max-elements"),
            );
        }
        if let Some(path) = to {
            may_write(path, protected)?;
        }
        let style = Style {
            precision: args.precision.map(usize::from),
            max_elements: max_elements.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        };
        Ok(Output { to, format, style })
    }

    /// Whether people read it: Remora on standard output, where several values are one below the other.
    pub fn is_for_people(&self) -> bool {
        self.to.is_none() && self.format == Format::Remora
    }

    /// Prints or writes the value.
    pub fn write(&self, value: &Value) -> Outcome {
        if let Some(what) = output::refusal(value, self.format) {
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
            Some(path) => {
                files::write_atomically(path, |out| output::write(value, self.format, self.style, out))
                    .map_err(|e| cannot_write(path, &e))
            }
            None => stream_to_stdout(|out| output::write(value, self.format, self.style, out)),
        }
    }
}

fn of(format: OutputFormat) -> Format {
    match format {
        OutputFormat::Remora => Format::Remora,
        OutputFormat::Json => Format::Json,
        OutputFormat::Npy => Format::Npy,
        OutputFormat::Npz => Format::Npz,
        OutputFormat::Csv => Format::Csv,
        OutputFormat::Tsv => Format::Tsv,
        OutputFormat::Futhark => Format::Futhark,
        OutputFormat::Raw => Format::Raw,
    }
}

/// The format as the command line calls it.
fn name(format: Format) -> String {
    let of_it = OutputFormat::value_variants().iter().find(|f| of(**f) == format);
    of_it.and_then(OutputFormat::to_possible_value).map(|v| v.get_name().to_owned()).unwrap_or_default()
}
