//! Branches that lanes may take each for itself, and loops that they may leave one by one.
//!
//! ```text
//! (if %c (then (let %x (load %xs (%j)))) (else) …)      %c differs between lanes, and %j is a place where it holds
//! (while (…) (cond … (test %c)) (do …))
//! ```
//!
//! A vector runs both branches, each for the lanes that take it (*predication*), and goes round as long as one of its lanes
//! does: the others load and store nothing there, stop at no check, and what they compute nobody sees. So a branch may be
//! anything that computes from what there is, in memory too that an iteration has for itself.

use crate::ir::*;
use remc_base::ops::ScalarOp;

/// Whether a branch, or the body of a loop, may run for some lanes of a vector.
pub fn can_predicate(block: &[Stmt]) -> bool {
    block.iter().all(|s| match &s.kind {
        StmtKind::Let { exp, .. } => match exp {
            Exp::Op(ScalarOp::Quotient | ScalarOp::Modulo, args) => {
                // The lanes that are off may have a divisor that is none.
                matches!(args[1], Atom::Const(c) if c.as_integer().is_some_and(|n| n > 0))
            }
            Exp::Op(op, _) => !matches!(op, ScalarOp::Gcd | ScalarOp::IntToChar),
            Exp::Atom(_) | Exp::Cast(..) | Exp::Bits(_) | Exp::Load { .. } => true,
            Exp::Workers | Exp::Test(_) => false,
        },
        StmtKind::Check { .. } | StmtKind::Store { .. } | StmtKind::Alloc { .. } => true,
        StmtKind::For { body, .. } => can_predicate(body),
        StmtKind::While { cond, body, .. } => can_predicate(cond) && can_predicate(body),
        StmtKind::If { then, otherwise, .. } => can_predicate(then) && can_predicate(otherwise),
        _ => false,
    })
}
