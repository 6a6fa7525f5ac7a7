//! Kernels: their signatures, which block a thread runs, and what blocks hand on.
//!
//! A kernel without threads of its own is serial in each block, so that a thread of the device runs a
//! block, and [`PACKED`] of them are launched together. In the text of all kernels
//!
//! | name | is |
//! | --- | --- |
//! | `remc_blocks` | how many blocks there are |
//! | `remc_block` | the one that runs |
//! | `remc_place` | where it is in the order of the program: of several failed checks the first counts |
//! | `remc_error` | where to tell of one |
//! | `remc_ticket` | where blocks that wait for others take their numbers, so that those they wait for run |
//!
//! A launch may have fewer threads than there are blocks: each takes one after the other.

use crate::Error;
use crate::body::{Body, Printed, Side, wrong};
use crate::names::identifier;
use crate::scalar::type_name;
use remc_base::Trap;
use remc_kernel::ir::*;
use remc_kernel::{contract, memory, race};
use rustc_hash::{FxHashMap, FxHashSet};

/// How many serial blocks are threads of one block of the device.
pub const PACKED: u32 = 128;

/// What a kernel is called.
pub fn symbol(id: KernelId, k: &Kernel) -> String {
    format!("{id:?}_{}", identifier(k.name.as_str()))
}

/// How many threads a block of the device has.
pub fn threads(_k: &Kernel) -> u32 {
    PACKED
}

/// Whether a check of the kernel may fail.
pub fn has_checks(block: &[Stmt]) -> bool {
    block.iter().any(|s| {
        matches!(s.kind, StmtKind::Check { .. }) || s.kind.blocks().into_iter().any(|b| has_checks(b))
    })
}

/// Whether parts of its memory belong to one thread each, so that a launch has no more threads than parts.
pub fn has_scratch(p: &Program, k: &Kernel) -> bool {
    k.params.iter().any(|v| p.buffer_ty(*v).is_some_and(|t| t.space == Space::Scratch))
}

/// The text of a kernel; `about` says where it comes from.
pub fn print(
    p: &Program,
    id: KernelId,
    k: &Kernel,
    traps: &FxHashMap<Trap, u32>,
    written: &FxHashSet<Var>,
    about: &str,
) -> Printed<String> {
    let mut b = Body::new(p, Side::Kernel, traps, contract::fused(p, &k.body));
    b.w.line(format!("// {:?}{about}", k.name.as_str()));
    let mut params = Vec::new();
    for v in &k.params {
        let name = b.name(*v);
        params.push(match p.ty(*v) {
            Ty::Scalar(t) => format!("const {} {name}", type_name(*t)),
            Ty::Buffer(t) => {
                let constness = if written.contains(v) { "" } else { "const " };
                format!("{constness}{} *__restrict__ {name}", type_name(t.base))
            }
        });
    }
    params.push("const u64 remc_blocks".to_owned());
    params.push("remc_failure *remc_error".to_owned());
    if k.is_chained() {
        params.push("u64 *remc_ticket".to_owned());
    }
    b.w.open(format!("extern \"C\" __global__ void __launch_bounds__({})", threads(k)));
    b.w.line(format!("{}({}) {{", symbol(id, k), params.join(", ")));
    let worker = b.name(k.worker);
    if !k.is_chained() || mentioned(k, k.worker) {
        b.w.line(format!("const i64 {worker} = (i64)blockIdx.x * blockDim.x + threadIdx.x;"));
    }
    let step = "(u64)gridDim.x * blockDim.x";
    if k.is_chained() {
        b.w.open("for (u64 remc_block; (remc_block = atomicAdd(remc_ticket, (u64)1)) < remc_blocks;) {");
    } else {
        b.w.open(format!(
            "for (u64 remc_block = (u64){worker}; remc_block < remc_blocks; remc_block += {step}) {{"
        ));
    }
    if has_checks(&k.body) || k.is_chained() {
        b.w.line("const u64 remc_place = remc_block;");
    }
    grid(&mut b, k)?;
    b.block(&k.body)?;
    b.w.close("}");
    b.w.close("}");
    Ok(b.w.finish())
}

/// The point of the grid that the block is; the last axis is the fastest.
fn grid(b: &mut Body, k: &Kernel) -> Printed {
    let mut rest = "remc_block".to_owned();
    for (i, (v, size)) in k.grid.iter().enumerate().rev() {
        let name = b.name(*v);
        if i == 0 {
            b.w.line(format!("const i64 {name} = (i64)({rest});"));
            break;
        }
        let size = b.atom(*size);
        b.w.line(format!("const i64 {name} = (i64)({rest} % (u64){size});"));
        rest = format!("{rest} / (u64){size}");
    }
    Ok(())
}

impl Body<'_> {
    pub fn chain(
        &mut self,
        state: Var,
        at: &[Atom],
        links: &[Link],
        body: &[Stmt],
        next: &[Atom],
    ) -> Printed {
        let Some((Atom::Var(last), _)) = at.split_last().map(|(l, r)| (*l, r)) else {
            return wrong("a chain without a grid");
        };
        let last = self.name(last);
        let here = self.offset(state, at)?;
        let (state, here_name) = (self.name(state), self.names.fresh("here"));
        self.w.line(format!("const i64 {here_name} = {here};"));
        for l in links {
            let ty = type_name(self.ty(Atom::Var(l.before))?);
            let (name, init) = (self.name(l.before), self.atom(l.init));
            self.w.line(format!("{ty} {name} = {init};"));
        }
        self.w.open(format!("if ({last} != 0) {{"));
        self.w.line(format!("if (!remc_await(&{state}[{here_name} - 1], remc_error, remc_place)) return;"));
        for l in links {
            let (name, kept) = (self.name(l.before), self.name(l.kept));
            self.w.line(format!("{name} = remc_latest(&{kept}[{here_name} - 1]);"));
        }
        self.w.close("}");
        for l in links {
            let item = self.atom(l.item);
            self.names.alias(l.x, item);
        }
        self.block(body)?;
        for (l, a) in links.iter().zip(next) {
            let (kept, value) = (self.name(l.kept), self.atom(*a));
            self.w.line(format!("{kept}[{here_name}] = {value};"));
        }
        self.w.line(format!("remc_pass(&{state}[{here_name}]);"));
        Ok(())
    }
}

/// The buffers that each kernel writes.
pub fn written(p: &Program) -> Vec<FxHashSet<Var>> {
    race::written(p)
}

fn mentioned(k: &Kernel, v: Var) -> bool {
    let mut found = false;
    k.body.iter().for_each(|s| memory::mentions(&s.kind, &mut |m| found |= m == v));
    found
}

/// What a program has no kernel for.
pub fn missing(id: KernelId) -> Error {
    Error(format!("there is no kernel {id:?}"))
}
