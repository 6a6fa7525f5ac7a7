//! What all threads of a block have in common, whichever statement each of them is at.
//!
//! ```text
//! (let %i (load %which %g)) (let %s (load %starts %i))        in common, where the kernel writes neither
//! (for seq %r (upto 0 %n) ((%acc %kept 0)) (let %k (op + %s %r)) …)    %s, but not %r, %acc and %k: rounds may differ
//! (collective 32 ((%x %y %mine %all)) …)                        %all, but not in a loop
//! ```
//!
//! [`super::kept`] asks less: what is the same in one round of a loop in which the threads meet.

use super::stores;
use crate::ir::*;
use rustc_hash::FxHashSet;

/// What a block's threads have in common: what the kernel is given, where the block is in the grid, what is read there of
/// memory that the kernel does not write, and what is computed of that. What differs from one iteration of a loop to the
/// next is not among it: threads need not be in the same one.
pub(super) fn of_block(kernel: &Kernel) -> FxHashSet<Var> {
    let mut found: FxHashSet<Var> = kernel.params.iter().copied().collect();
    found.extend(kernel.grid.iter().map(|(v, _)| *v));
    let mut written = FxHashSet::default();
    stores(&kernel.body, &mut written);
    in_common(&kernel.body, false, &written, &mut found);
    found
}

/// Adds what all threads of a block have in common that is bound in these statements, to what they have from before.
fn in_common(block: &[Stmt], in_loop: bool, written: &FxHashSet<Var>, found: &mut FxHashSet<Var>) {
    for s in block {
        let has = |a: &Atom| a.as_var().is_none_or(|v| found.contains(&v));
        match &s.kind {
            StmtKind::Let { var, exp } => {
                let same = match exp {
                    Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a) => has(a),
                    Exp::Op(_, args) => args.iter().all(has),
                    Exp::Load { buffer, at } => !written.contains(buffer) && at.iter().all(has),
                    Exp::Workers | Exp::Test(_) => false,
                };
                if same {
                    found.insert(*var);
                }
            }
            StmtKind::Collective { joined, .. } if !in_loop => found.extend(joined.iter().map(|j| j.total)),
            StmtKind::If { cond, then, otherwise, results } => {
                let same = has(cond);
                in_common(then, in_loop, written, found);
                in_common(otherwise, in_loop, written, found);
                for c in results.iter().filter(|_| same) {
                    if [c.then, c.otherwise].iter().all(|a| a.as_var().is_none_or(|v| found.contains(&v))) {
                        found.insert(c.var);
                    }
                }
            }
            StmtKind::For { body, .. } => in_common(body, true, written, found),
            StmtKind::While { cond, body, .. } => {
                in_common(cond, true, written, found);
                in_common(body, true, written, found);
            }
            _ => {}
        }
    }
}
