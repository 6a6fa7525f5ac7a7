//! What is written over is read before that, where the order is open.
//!
//! ```text
//! (let (%w) (scatter (%k 1) (%v) …))                  (let (%x) (index %v %i))
//! (let (%x) (index %v %i))                            (let (%s') (op + %s %x))
//! (let (%s') (op + %s %x))                      ⟶     (let (%w) (scatter (%k 1) (%v) …))
//! (give %w %s')                                       (give %w %s')
//! ```
//!
//! `%v` would be copied in each round, since it is read after the scatter. So a scatter, or a choice between branches with one,
//! stands as late as it can: before the first statement that mentions what it makes. It stays where it is if it may stop the
//! program, or if one of those statements writes over what it reads.

use crate::ir::*;
use rustc_hash::FxHashSet;

/// Moves scatters behind the reads of what they write over, in a body and those in it.
pub(super) fn write_late(p: &Program, body: &mut Body) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| write_late(p, b));
    }
    // The last first: it makes room for those before it.
    for k in (0..body.stmts.len()).rev() {
        let written = over(&body.stmts[k].exp);
        if written.is_empty() || body.stmts[k].exp.can_stop() {
            continue;
        }
        let s = &body.stmts[k];
        let used = |t: &Stmt| t.exp.mentions(|v| s.pat.contains(&v)) || has_dims_of(p, t, &s.pat);
        let end = body.stmts[k + 1..].iter().position(used).map_or(body.stmts.len(), |n| k + 1 + n);
        let passed = &body.stmts[k + 1..end];
        let read = passed.iter().any(|t| t.exp.mentions(|v| written.contains(&v)));
        let taken: FxHashSet<Var> = passed.iter().flat_map(|t| over(&t.exp)).collect();
        if read && !s.exp.mentions(|v| taken.contains(&v)) {
            body.stmts[k..end].rotate_left(1);
        }
    }
}

/// Whether what a statement binds has one of these for a size.
fn has_dims_of(p: &Program, s: &Stmt, sizes: &[Var]) -> bool {
    let inside = s.exp.bodies().into_iter().flat_map(Body::binders);
    let mut bound = s.pat.iter().copied().chain(s.exp.inner_binders()).chain(inside);
    bound.any(|v| p.ty(v).dims.iter().any(|d| d.as_var().is_some_and(|d| sizes.contains(&d))))
}

/// The arrays that a statement may write over.
fn over(exp: &Exp) -> Vec<Var> {
    match exp {
        Exp::Scatter { dests, .. } => dests.clone(),
        Exp::If { then, otherwise, .. } => {
            let inside = [then, otherwise];
            let bound: FxHashSet<Var> = inside.iter().flat_map(|b| b.binders()).collect();
            let all = inside.iter().flat_map(|b| &b.stmts).flat_map(|s| over(&s.exp));
            all.filter(|v| !bound.contains(v)).collect()
        }
        Exp::For { state, .. } | Exp::While { state, .. } => {
            state.iter().filter_map(|(_, a)| a.as_var()).collect()
        }
        _ => Vec::new(),
    }
}
