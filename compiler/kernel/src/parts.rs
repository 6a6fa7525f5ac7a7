//! Which kernels are compiled together, and which of them only once they are launched.
//!
//! ```text
//! launch a                             part 0, with the plan: it always runs
//! if n ≥ 512 then launch b, launch c   part 1: compiled when b or c is launched for the first time
//!            else launch d             part 2
//! ```
//!
//! Of the versions of a nest the sizes choose one, and a program that is compiled to be run at once need not wait for
//! the others. What decides is the plan's `if`s alone, whoever wrote them: a launch in a branch may never come, and
//! where one comes, those beside it in the branch most likely come too.

use crate::ir::{KernelId, Program, Stmt, StmtKind};

/// The part of each kernel of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    of: Vec<usize>,
    count: usize,
}

/// The parts of a program.
pub fn parts(p: &Program) -> Parts {
    let mut parts = Parts { of: vec![0; p.kernels.len()], count: 1 };
    let mut seen = vec![false; p.kernels.len()];
    walk(&p.plan, &mut Some(0), &mut parts, &mut seen);
    parts
}

impl Parts {
    /// All kernels in the one part of the plan.
    pub fn whole(p: &Program) -> Parts {
        Parts { of: vec![0; p.kernels.len()], count: 1 }
    }

    /// The part of a kernel; 0 is the plan's.
    pub fn of(&self, kernel: KernelId) -> usize {
        self.of.get(kernel.0 as usize).copied().unwrap_or(0)
    }

    /// How many there are, the plan's among them.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// Walks statements of the part `here`, which gets its number when it turns out to have a kernel.
fn walk(stmts: &[Stmt], here: &mut Option<usize>, parts: &mut Parts, seen: &mut [bool]) {
    for s in stmts {
        match &s.kind {
            StmtKind::Launch { kernel, .. } => {
                let k = kernel.0 as usize;
                let number = *here.get_or_insert_with(|| {
                    parts.count += 1;
                    parts.count - 1
                });
                match (parts.of.get_mut(k), seen.get_mut(k)) {
                    // One that is launched in several places belongs to the first, unless one of them always runs.
                    (Some(of), Some(seen)) if !*seen || number == 0 => (*of, *seen) = (number, true),
                    _ => {}
                }
            }
            StmtKind::If { then, otherwise, .. } => {
                walk(then, &mut None, parts, seen);
                walk(otherwise, &mut None, parts, seen);
            }
            StmtKind::For { body, .. } => walk(body, here, parts, seen),
            StmtKind::While { cond, body, .. } => {
                walk(cond, here, parts, seen);
                walk(body, here, parts, seen);
            }
            _ => {}
        }
    }
}
