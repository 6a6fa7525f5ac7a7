//! Which kernels are compiled together, and which of them only once they are launched.
//!
//! ```text
//! the plan                             part 0
//! launch a                             part 1
//! if n ≥ 512 then launch b, launch c   part 2: compiled when b or c is launched for the first time
//!            else launch d             part 3
//! ```
//!
//! Of the versions of a nest the sizes choose one, and a program that is compiled to be run at once need not wait for
//! the others. What decides is the plan's `if`s alone, whoever wrote them: a launch in a branch may never come, and
//! where one comes, those beside it in the branch most likely come too. The plan is apart since its code is run once
//! and need not be good, while all versions make it long.

use crate::ir::{KernelId, Program, Stmt, StmtKind};

/// The part of each kernel of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Parts {
    of: Vec<usize>,
    count: usize,
}

/// The parts of a program.
pub fn parts(p: &Program) -> Parts {
    let mut found = Found { of: vec![None; p.kernels.len()], count: 1 };
    found.walk(&p.plan, &mut None);
    // What is never launched is compiled by nobody, wherever it is.
    Parts { of: found.of.into_iter().map(|part| part.unwrap_or(found.count)).collect(), count: found.count }
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

    /// Whether a part is the plan and nothing else.
    pub fn is_plan_alone(&self, part: usize) -> bool {
        part == 0 && !self.of.contains(&0)
    }

    /// How many there are, the plan's among them.
    pub fn count(&self) -> usize {
        self.count
    }
}

struct Found {
    /// By kernel.
    of: Vec<Option<usize>>,
    count: usize,
}

impl Found {
    /// Walks statements of the part `here`, which gets its number when it turns out to have a kernel. A kernel that is
    /// launched in several places belongs to the first.
    fn walk(&mut self, stmts: &[Stmt], here: &mut Option<usize>) {
        for s in stmts {
            match &s.kind {
                StmtKind::Launch { kernel, .. } => {
                    if let Some(of @ None) = self.of.get_mut(kernel.0 as usize) {
                        *of = Some(*here.get_or_insert_with(|| {
                            self.count += 1;
                            self.count - 1
                        }));
                    }
                }
                StmtKind::If { then, otherwise, .. } => {
                    self.walk(then, &mut None);
                    self.walk(otherwise, &mut None);
                }
                kind => kind.blocks().into_iter().for_each(|b| self.walk(b, here)),
            }
        }
    }
}
