//! Where files are found and kept.

use std::path::{Path, PathBuf};

/// The bench's own sources: programs and peers.
pub fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program of a row; its text is read where it is written. A name of several parts says in which folder that is.
pub fn program(name: &str) -> PathBuf {
    match name {
        "digits" => sources().join("../../examples/digits.remora"),
        _ => source("programs", name, "remora"),
    }
}

/// The C kernel of a row.
pub fn kernel(name: &str) -> PathBuf {
    source("peers", name, "c")
}

fn source(folder: &str, name: &str, ending: &str) -> PathBuf {
    let folder = if name.contains('/') { sources().to_owned() } else { sources().join(folder) };
    folder.join(format!("{name}.{ending}"))
}

/// A data file of the examples.
pub fn example_data(name: &str) -> PathBuf {
    sources().join("../../examples/data").join(name)
}

/// The folder that is used unless one is named: beside the folder of this program, in cargo's target folder.
pub fn default_cache() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.parent()?.join("bench"))
}

/// A program beside this one.
pub fn beside(name: &str) -> Option<PathBuf> {
    let path = std::env::current_exe().ok()?.parent()?.join(name);
    path.is_file().then_some(path)
}
