//! What counts as a loop of the host: a loop, and a reduction that is no operator over a space of its own.

use crate::ir::Axis;
use remc_base::Prov;
use remc_mono::ir as mono;
use remc_mono::ir::{Atom, Var};

/// A loop, or a reduction in the form of one: its state, and a body that gives the next.
pub(super) struct Loop {
    pub axis: Axis,
    pub state: Vec<(Var, Atom)>,
    pub body: mono::Body,
}

/// The loop that a statement is.
pub(super) fn as_loop(s: &mono::Stmt) -> Option<Loop> {
    match &s.exp {
        mono::Exp::For { axis, state, body } => {
            Some(Loop { axis: *axis, state: state.clone(), body: body.clone() })
        }
        mono::Exp::Reduce { axis, body: elements, op } => {
            let start = op.start.as_ref()?;
            let (accs, params) = op.lambda.params.split_at_checked(start.len())?;
            let mut stmts = elements.stmts.clone();
            stmts.extend(params.iter().zip(&elements.results).map(|(v, a)| same(*v, *a, s.prov)));
            stmts.extend(op.lambda.body.stmts.iter().cloned());
            let body = mono::Body { stmts, results: op.lambda.body.results.clone() };
            let state = accs.iter().copied().zip(start.iter().copied()).collect();
            Some(Loop { axis: *axis, state, body })
        }
        _ => None,
    }
}

/// The statement that binds a variable to what is known already.
pub(super) fn same(v: Var, a: Atom, prov: Prov) -> mono::Stmt {
    mono::Stmt { pat: vec![v], exp: mono::Exp::Atom(a), prov }
}
