//! CUDA C++ as text: `remc compile --emit cuda`, a program of its own with a header and a manifest beside it.

use crate::codes;
use crate::commands::{cannot_write, write};
use crate::report::{Failure, Outcome, fail, usage};
use remc_base::{Prov, Provenance, visible};
use remc_cuda::{About, Product};
use remc_driver::{InternalBug, Session};
use remc_kernel::ir::Program;
use remc_typed::ir::EntrySignature;
use std::io::Read;
use std::path::{Path, PathBuf};

fn bug(e: remc_cuda::Error) -> Failure {
    Failure::Bug(InternalBug { stage: "codegen", message: e.to_string() })
}

/// The kernels and the plan alone, for the emulated device.
pub fn plan(session: &Session, p: &Program) -> Outcome<String> {
    remc_cuda::plan(p, &|prov| comment(session, p, prov)).map_err(bug)
}

/// The kernels alone, for a compiler in this process.
pub fn kernels(session: &Session, p: &Program) -> Outcome<String> {
    remc_cuda::kernels(p, &|prov| comment(session, p, prov)).map_err(bug)
}

/// The program on its own, its header and its manifest. `ranks` are those of the entry's shapes.
pub fn product(
    session: &Session,
    p: &Program,
    entry: Option<&EntrySignature>,
    ranks: &[usize],
) -> Outcome<Product> {
    let about = About {
        places: &|prov| comment(session, p, prov),
        at: &|prov| place(session, p, prov),
        indices: entry.map_or(&[], |e| &e.indices),
        ranks,
        params: entry.map_or(&[], |e| &e.params),
        version: env!("CARGO_PKG_VERSION"),
    };
    remc_cuda::product(p, &about).map_err(bug)
}

/// Writes the program; beside a file `NAME.cu` also `NAME.h` and `NAME.json`.
pub fn write_all(to: &Option<PathBuf>, product: &Product) -> Outcome {
    let beside = |ending: &str| to.as_ref().map(|path| path.with_extension(ending));
    let all = match to.as_ref().and_then(|path| path.extension()) {
        Some(ending) if ending == "cu" => vec![
            (beside("h"), &product.header, "/* The entry `"),
            (beside("json"), &product.manifest, "{\"remc\": "),
        ],
        _ => Vec::new(),
    };
    for (path, _, begins) in &all {
        if let Some(path) = path {
            is_ours(path, begins)?;
        }
    }
    write(to, product.source.as_bytes())?;
    for (path, text, _) in all {
        write(&path, text.as_bytes())?;
    }
    Ok(())
}

/// Nobody asked for the files beside the output by name: what somebody else has written there is not lost.
fn is_ours(path: &Path, begins: &str) -> Outcome {
    let mut file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(cannot_write(path, &e)),
    };
    let mut start = vec![0; begins.len()];
    if file.read_exact(&mut start).is_ok() && start == begins.as_bytes() {
        return Ok(());
    }
    let there = format!("`{}` would be written too, and is there: remc has not made it", path.display());
    fail(usage(codes::OUTPUT, there).help("choose another name for the output, or move that file away"))
}

/// Where a statement comes from, in the user's own text.
fn comment(session: &Session, p: &Program, prov: Prov) -> Option<String> {
    place_in_text(session, &p.provs, prov)
}

/// The definition and line of the user's own text that a place of a program comes from.
pub fn place_in_text(session: &Session, provs: &Provenance, prov: Prov) -> Option<String> {
    let trace = provs.contains(prov).then(|| provs.trace(prov))?;
    let (global, node) = trace.iter().find(|(g, _)| g.module >= session.first_user_module())?;
    let span = session.node_span(global, *node)?;
    let (_, text) = session.source(span.module)?;
    let line = 1 + text.get(..span.start as usize)?.matches('\n').count();
    Some(format!("`{}`, line {line}", global.name))
}

/// Where a program that stops there has stopped, as `--diagnostics short` says it.
fn place(session: &Session, p: &Program, prov: Prov) -> Option<String> {
    let trace = p.provs.contains(prov).then(|| p.provs.trace(prov))?;
    let user = trace.iter().find(|(g, _)| g.module >= session.first_user_module());
    let (global, node) = user.or(trace.first())?;
    let span = session.node_span(global, *node)?;
    let (path, text) = session.source(span.module)?;
    let (line, column) = remc_driver::render::line_column(text, span.start as usize);
    Some(format!("{}:{line}:{column}", visible(path)))
}
