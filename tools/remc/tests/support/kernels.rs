//! Programs compiled for a GPU in this process, as `remc run --device cuda` and `emulated` do it.

use remc_base::{IVar, IndexValue, Value};
pub use remc_driver::compile::Tuning;
use remc_driver::compile::{Options, Stop};
use remc_driver::{Session, SourceFile};
use remc_interp::solve_indices;
use remc_kernel::ir::Program;
use std::path::Path;
use std::sync::Arc;

/// The stack of a thread that compiles.
pub const STACK: usize = 1 << 28;

/// A program's kernels, and what they are run on.
#[allow(dead_code, reason = "each test program uses a part of it")]
pub struct Kernels {
    pub program: Arc<Program>,
    pub signature: Vec<IVar>,
    pub indices: Vec<IndexValue>,
    pub arguments: Vec<Value>,
}

/// Compiles the entry of this name, or else what a run would choose, for inputs by name.
pub fn compile(
    session: &mut Session,
    text: &str,
    entry: Option<&str>,
    inputs: &[(String, String)],
    tuning: Tuning,
) -> Result<Kernels, String> {
    let file = session.load_text("program.remora", Path::new(""), text.to_owned());
    if let Some(d) = session.diagnostics(file).iter().find(|d| d.is_error()) {
        return Err(format!("{}: {}", d.code, d.message));
    }
    of_file(session, file, (entry, inputs), tuning)
}

fn of_file(
    session: &Session,
    file: SourceFile,
    (entry, inputs): (Option<&str>, &[(String, String)]),
    tuning: Tuning,
) -> Result<Kernels, String> {
    let entries = session.entries(file);
    let target = match entry {
        Some(name) => entries.iter().find(|d| d.name(&session.db).as_str() == name).copied(),
        None => session.value(file).or(entries.first().copied()),
    };
    let target = target.ok_or("there is nothing to compile")?;
    let linked = session.link(file, &[target]);
    let global = target.global(&session.db);
    let definition = linked.get(&global).ok_or("no definition")?;
    let (mut signature, mut indices, mut arguments) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(sig) = &definition.entry {
        arguments =
            remc::inputs::read_all(&global.name, sig, inputs, &remc_runtime::budget::Budget::of(None))
                .map_err(|f| format!("an input: {f:?}"))?;
        indices = solve_indices(sig, &arguments).map_err(|m| format!("an input: {m:?}"))?;
        signature = sig.indices.clone();
    }
    let options = Options { tuning, ..Options::default() };
    let ranks = remc::boundary::ranks(&indices);
    match session.compile(file, &[target], &ranks, options) {
        Ok(Stop::Kernel(k)) => Ok(Kernels { program: k.program.clone(), signature, indices, arguments }),
        Ok(_) => Err("the pipeline ended early".into()),
        Err(e) => Err(format!("{e:?}")),
    }
}
