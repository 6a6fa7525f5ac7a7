//! `remc repl`: the prompt.

use super::{Device, bytes};
use std::path::PathBuf;

#[derive(clap::Args, Clone, Debug)]
pub struct Repl {
    /// A program whose definitions are loaded first
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// What computes values [default: the cpu device, and the interpreter for what is not compiled]
    #[arg(long, value_enum, value_name = "DEVICE")]
    pub device: Option<Device>,
    /// How many threads the cpu device uses [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// The most memory that data may take at a time, such as 512M or 2G [default: what the machine or device has]
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    pub memory_limit: Option<u64>,
    /// Where what is typed is kept for the next time, or `off` [default: REMC_HISTORY, or ~/.local/state/remc/history]
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Write what is read as well, as a terminal shows what is typed: of a file, that makes a transcript
    #[arg(long)]
    pub echo: bool,
    /// Compute what a prompt asks for, which is at the other end of standard input
    #[arg(long, hide = true, conflicts_with_all = ["file", "device", "threads", "memory_limit", "history"])]
    pub worker: bool,
}
