//! `remc new`, `remc test` and `remc watch`: a project of one's own.

use super::Device;
use std::path::PathBuf;

#[derive(clap::Args, Clone, Debug)]
pub struct New {
    /// The folder, which must not be there yet; its last part names the program
    #[arg(value_name = "NAME")]
    pub path: PathBuf,
}

#[derive(clap::Args, Clone, Debug)]
pub struct Test {
    /// Programs, and folders with programs in them, at any depth [default: the current folder]
    #[arg(value_name = "DIR|FILE")]
    pub paths: Vec<PathBuf>,
    /// Only what has this in the path of its file, its text or the name of its definition
    #[arg(long, value_name = "TEXT")]
    pub filter: Option<String>,
    /// Write what was found in place of what was expected, in comments and .out files; nothing else changes
    ///
    /// A value is not replaced by an error. What stands behind `; ⇒` alone is filled in.
    #[arg(long)]
    pub update: bool,
    /// What runs the programs
    #[arg(long, value_enum, value_name = "DEVICE", default_value = "interp")]
    pub device: Device,
}

#[derive(clap::Args, Clone, Debug)]
pub struct Watch {
    /// The program's file
    pub file: PathBuf,
    /// Check it, and do not run it
    #[arg(long)]
    pub check: bool,
    /// Options of `remc run`, as they are written there
    #[arg(last = true, value_name = "OPTION")]
    pub options: Vec<String>,
}
