//! `remc lsp`.

use crate::args::Lsp;
use crate::editor::Editor;
use crate::report::{Failure, Outcome};
use remc_lsp::{Served, Tools, serve_stdio};

pub fn lsp(_: &Lsp) -> Outcome {
    let tools = Tools {
        runner: Box::<Editor>::default(),
        explanation: crate::explain::page,
        version: env!("CARGO_PKG_VERSION"),
    };
    match serve_stdio(tools) {
        Served::Orderly => Ok(()),
        // As the protocol wants it.
        Served::Broken => Err(Failure::Program),
    }
}
