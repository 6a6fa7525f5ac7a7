//! CUDA C++ as text: `remc compile --emit cuda`.

use crate::report::{Failure, Outcome};
use remc_base::Prov;
use remc_driver::{InternalBug, Session};
use remc_kernel::ir::Program;

/// The program on its own.
pub fn emit(session: &Session, p: &Program) -> Outcome<Vec<u8>> {
    let text = remc_cuda::program(p, &|prov| place(session, p, prov));
    let bug = |e: remc_cuda::Error| Failure::Bug(InternalBug { stage: "codegen", message: e.to_string() });
    text.map(String::into_bytes).map_err(bug)
}

/// The kernels alone.
pub fn kernels(session: &Session, p: &Program) -> Outcome<String> {
    let text = remc_cuda::kernels(p, &|prov| place(session, p, prov));
    text.map_err(|e| Failure::Bug(InternalBug { stage: "codegen", message: e.to_string() }))
}

/// Where a statement comes from, in the user's own text.
fn place(session: &Session, p: &Program, prov: Prov) -> Option<String> {
    let trace = p.provs.contains(prov).then(|| p.provs.trace(prov))?;
    let (global, node) = trace.iter().find(|(g, _)| g.module >= session.first_user_module())?;
    let span = session.node_span(global, *node)?;
    let (_, text) = session.source(span.module)?;
    let line = 1 + text.get(..span.start as usize)?.matches('\n').count();
    Some(format!("`{}`, line {line}", global.name))
}
