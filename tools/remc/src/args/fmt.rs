//! What `remc fmt` is told.

use std::path::PathBuf;

#[derive(clap::Args, Clone, Debug)]
pub struct Fmt {
    /// Programs, pages of Markdown (.md), and folders, of which all .remora files are meant [default: this folder]
    #[arg(value_name = "FILE|DIR")]
    pub paths: Vec<PathBuf>,
    /// Write nothing, say which files are not formatted, with the beginning of what would change, and exit with 1 if any
    #[arg(long)]
    pub check: bool,
    /// Write nothing, and print all that would change
    #[arg(long)]
    pub diff: bool,
    /// Read a program from standard input and print it formatted
    #[arg(long, conflicts_with = "paths")]
    pub stdin: bool,
}
