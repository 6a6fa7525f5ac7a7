//! The checks of a few places stand before the arrays that are made there.
//!
//! ```text
//! (let (%a 4 %h %w) (map ((%k 4))               (let () (map ((%l 4))
//!   (let (%d) (index %offsets %k))                (let (%d) (index %offsets %l))
//!   (let (%ok) (op <= %d %most))                  (let (%ok) (op <= %d %most))
//!   (let () (check %ok …))                        (let () (check %ok …)) (give)))
//!   (let (%r) (map ((%i %h) (%j %w)) …))    ⟶   (let (%a 4 %h %w) (map ((%k 4))
//!   (give %r)))                                   (let (%d) (index %offsets %k))
//!                                                 (let (%r) (map ((%i %h) (%j %w)) …)) (give %r)))
//! ```
//!
//! Four parts of an image, each at its offset, are then a map over all axes, and the sum of them needs none of the four. What
//! is computed for the checks is so again for the elements, which is nothing beside these if there are only a few places.

use super::super::unroll::{TRIPS, small};
use crate::ir::*;
use crate::walk::Copier;

/// A map over a few places that makes an array in each after its checks, as the checks and a map without them.
pub(super) fn apart(p: &mut Program, s: &Stmt) -> Option<Vec<Stmt>> {
    let Exp::Map { axes, body } = &s.exp else { return None };
    small(axes.iter().map(|a| a.size), TRIPS)?;
    let (last, before) = body.stmts.split_last()?;
    let is_check = |s: &Stmt| matches!(s.exp, Exp::Check { .. });
    let scalar = |s: &Stmt| {
        let one = s.pat.iter().all(|v| p.ty(*v).is_scalar());
        is_check(s) || one && matches!(s.exp, Exp::Op(..) | Exp::Cast(..) | Exp::Atom(_) | Exp::Index { .. })
    };
    let given = last.pat.iter().map(|v| Atom::Var(*v)).eq(body.results.iter().copied());
    let makes = matches!(last.exp, Exp::Map { .. }) && !last.exp.can_stop() && given;
    if !makes || !before.iter().any(is_check) || !before.iter().all(scalar) {
        return None;
    }
    let checks = Exp::Map { axes: axes.clone(), body: Body { stmts: before.to_vec(), results: Vec::new() } };
    let checks = Stmt { pat: Vec::new(), exp: checks, prov: s.prov };
    let checks = Copier::new(p).body(&Body { stmts: vec![checks], results: Vec::new() });
    let mut without = s.clone();
    without.exp.bodies_mut().into_iter().for_each(|b| b.stmts.retain(|s| !is_check(s)));
    Some(checks.stmts.into_iter().chain([without]).collect())
}
