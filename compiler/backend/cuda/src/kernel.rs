//! Kernels: their signatures, which block a thread runs, and what blocks hand on.
//!
//! A kernel without threads of its own is serial in each block, so that a thread of the device runs a
//! block, and `threads.serial` of them are launched together. In the text of all kernels
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

use crate::body::{Body, Printed, Side};
use crate::fixed;
use crate::inline;
use crate::names::identifier;
use crate::scalar::type_name;
use crate::{Error, Linkage};
use remc_base::Trap;
use remc_kernel::ir::*;
use remc_kernel::schedule::Field;
use remc_kernel::{contract, counts, memory, race};
use rustc_hash::{FxHashMap, FxHashSet};

/// The threads that a multiprocessor has at the same time at most.
const OF_MULTIPROCESSOR: u32 = 2048;
/// So many values are many.
const LARGE: usize = 16;

/// What a kernel is called.
pub fn symbol(id: KernelId, k: &Kernel) -> String {
    format!("{id:?}_{}", identifier(k.name.as_str()))
}

/// How many threads a block of the device has.
pub fn threads(k: &Kernel) -> u32 {
    k.threads.map_or(k.schedule[Field::Serial] as u32, |(_, n)| n)
}

/// How many blocks of the kernel are one of the device.
pub fn packed(k: &Kernel) -> u32 {
    if k.threads.is_some() { 1 } else { threads(k) }
}

/// How many blocks a multiprocessor has room for at least. With 256 threads each has 80 registers in three blocks, 128 in
/// two. If it is not told, the assembler takes 32 for a goal, and rather spills a few.
pub fn resident(k: &Kernel) -> u32 {
    let field = if carries(&k.body) < LARGE { Field::Resident } else { Field::ResidentLarge };
    k.schedule[field].min((OF_MULTIPROCESSOR / threads(k)).into()).max(1) as u32
}

/// The most values that a loop carries.
fn carries(block: &[Stmt]) -> usize {
    let of = |s: &Stmt| {
        let own = match &s.kind {
            StmtKind::For { carried, .. } | StmtKind::While { carried, .. } => carried.len(),
            _ => 0,
        };
        s.kind.blocks().into_iter().map(|b| carries(b)).fold(own, usize::max)
    };
    block.iter().map(of).max().unwrap_or(0)
}

/// Whether the threads of a block meet in a statement, or inside of it.
pub fn meets(s: &StmtKind) -> bool {
    matches!(s, StmtKind::Barrier | StmtKind::Collective { .. } | StmtKind::Chain { .. })
        || s.blocks().into_iter().flatten().any(|s| meets(&s.kind))
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
    roles: &Roles,
    (linkage, about): (Linkage, &str),
) -> Printed<String> {
    let mut b = Body::new(p, Side::Kernel, traps, contract::fused(p, &k.body));
    b.inlinable = inline::inlinable(p, &k.body, &[]);
    b.slices = k.params.iter().copied().filter(|v| roles.slices.contains(v)).collect();
    b.w.line(format!("// {:?}{about}", k.name.as_str()));
    let mut params = Vec::new();
    for v in &k.params {
        let name = b.name(*v);
        params.push(match p.ty(*v) {
            Ty::Scalar(t) => format!("const {} {name}", type_name(*t)),
            Ty::Buffer(t) => {
                let constness = if roles.written.contains(v) { "" } else { "const " };
                format!("{constness}{} *__restrict__ {name}", type_name(t.base))
            }
        });
    }
    params.push("const u64 remc_blocks".to_owned());
    params.push("remc_failure *remc_error".to_owned());
    if k.is_chained() {
        params.push("u64 *remc_ticket".to_owned());
    }
    b.w.line(fixed::declaration(id, k));
    let linkage = if linkage == Linkage::Named { "extern \"C\" " } else { "" };
    let (threads, resident) = (fixed::name(id, k, "threads"), fixed::name(id, k, "resident"));
    b.w.open(format!("{linkage}__global__ void __launch_bounds__({threads}, {resident})"));
    b.w.line(format!("{}({}) {{", symbol(id, k), params.join(", ")));
    match k.threads {
        Some((thread, n)) => threaded(&mut b, (id, k), thread, n)?,
        None => serial(&mut b, k)?,
    }
    b.w.close("}");
    Ok(b.w.finish())
}

/// A kernel each of whose blocks is a thread's.
fn serial(b: &mut Body, k: &Kernel) -> Printed {
    let worker = b.name(k.worker);
    if !k.is_chained() || mentioned(k, k.worker) {
        b.w.line(format!("const i64 {worker} = (i64)blockIdx.x * blockDim.x + threadIdx.x;"));
    }
    if k.is_chained() {
        b.w.open("for (u64 remc_block; (remc_block = atomicAdd(remc_ticket, (u64)1)) < remc_blocks;) {");
    } else {
        let step = "(u64)gridDim.x * blockDim.x";
        b.w.open(format!(
            "for (u64 remc_block = (u64){worker}; remc_block < remc_blocks; remc_block += {step}) {{"
        ));
    }
    if has_checks(&k.body) || k.is_chained() {
        b.w.line("const u64 remc_place = remc_block;");
    }
    grid(b, k)?;
    b.block(&k.body)?;
    b.w.close("}");
    Ok(())
}

/// A kernel whose blocks have threads.
fn threaded(b: &mut Body, (id, k): (KernelId, &Kernel), thread: Var, count: u32) -> Printed {
    b.threads = Some(count);
    b.counts = counts::counts(k);
    let count = fixed::name(id, k, "threads");
    if mentioned(k, k.worker) {
        let worker = b.name(k.worker);
        b.w.line(format!("const i64 {worker} = (i64)blockIdx.x * {count} + threadIdx.x;"));
    }
    let thread = b.name(thread);
    b.w.line(format!("const i64 {thread} = threadIdx.x;"));
    let together = k.body.iter().any(|s| meets(&s.kind));
    if k.is_chained() {
        b.w.line("__shared__ u64 remc_taken;");
        b.w.open("for (;;) {");
        b.w.line("if (threadIdx.x == 0) remc_taken = atomicAdd(remc_ticket, (u64)1);");
        b.w.line("__syncthreads();");
        b.w.line("const u64 remc_block = remc_taken;");
        b.w.line("if (remc_block >= remc_blocks) break;");
    } else {
        b.w.open("for (u64 remc_block = blockIdx.x; remc_block < remc_blocks; remc_block += gridDim.x) {");
    }
    let checks = has_checks(&k.body);
    if checks || k.is_chained() {
        b.w.line(format!("const u64 remc_place = remc_block * {count} + threadIdx.x;"));
    }
    grid(b, k)?;
    b.statements(&k.body, &[])?;
    if together {
        // The next block uses the shared memory of this one.
        b.w.line("__syncthreads();");
    }
    b.w.close("}");
    Ok(())
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

/// What the kernels' parameters that are buffers are for.
pub struct Roles {
    written: FxHashSet<Var>,
    /// Given slices of buffers.
    slices: FxHashSet<Var>,
}

impl Roles {
    pub fn of(p: &Program) -> Roles {
        let written = race::written(p).into_iter().flatten().collect();
        Roles { written, slices: memory::given_slices(p) }
    }
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
