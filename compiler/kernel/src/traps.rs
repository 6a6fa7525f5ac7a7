//! The checks of a program, numbered: what compiled code tells when one fails.

use crate::ir::{Program, Stmt, StmtKind};
use remc_base::Trap;
use rustc_hash::{FxHashMap, FxHashSet};

/// The traps of a program, each once, by their numbers: in the order of the text, kernels, then the plan.
pub fn traps(p: &Program) -> Vec<Trap> {
    let mut found = Found::default();
    p.kernels.iter().for_each(|(_, k)| found.block(&k.body));
    found.block(&p.plan);
    found.all
}

/// The numbers of traps that [`traps`] gave.
pub fn numbers(traps: &[Trap]) -> FxHashMap<Trap, u32> {
    traps.iter().cloned().zip(0..).collect()
}

#[derive(Default)]
struct Found {
    all: Vec<Trap>,
    known: FxHashSet<Trap>,
}

impl Found {
    fn block(&mut self, block: &[Stmt]) {
        for s in block {
            if let StmtKind::Check { trap, .. } = &s.kind
                && self.known.insert(trap.clone())
            {
                self.all.push(trap.clone());
            }
            s.kind.blocks().into_iter().for_each(|b| self.block(b));
        }
    }
}
