//! Options of `remc run` for people who would rather look: pictures and tables.

use clap::ValueEnum;
use std::path::PathBuf;

#[derive(clap::Args, Clone, Default, Debug)]
pub struct Picture {
    /// Draw the value, that of the last expression, instead of printing it: an .svg or a .png
    ///
    /// A vector is a line, or bars if it is short; `(values xs ys)`, a record of two vectors or a matrix of two columns are
    /// points; several vectors a line each; a matrix is a heat map, and an image if it has whole numbers from 0 to 255; so is
    /// [rows columns 3]. --output and --format print or write the value, too.
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// What --plot draws, where the value could be drawn in several ways
    #[arg(long, value_enum, value_name = "KIND", requires = "plot")]
    pub plot_as: Option<PlotKind>,
    /// Show at most N rows of each table, with `--format table` [default: on a terminal what fits there, else all]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub rows: Option<u64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum PlotKind {
    /// A line for each vector, or for each row of a matrix
    Line,
    /// A bar for each number
    Bars,
    /// Points that are not joined
    Scatter,
    /// A heat map: a colour for each number
    Heat,
    /// Grey levels or colours
    Image,
    /// How many numbers are in each of some ranges
    Histogram,
}
