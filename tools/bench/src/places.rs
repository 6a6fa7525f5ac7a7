//! Where files are found and kept.

use std::path::{Path, PathBuf};

/// The bench's own sources: programs and peers.
pub fn sources() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program of a row; its text is read where it is written.
pub fn program(name: &str) -> PathBuf {
    match name {
        "digits" => sources().join("../../examples/digits.remora"),
        _ => sources().join("programs").join(format!("{name}.remora")),
    }
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
