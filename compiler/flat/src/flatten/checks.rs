//! The checks of points run in the kernel that runs these points next.
//!
//! ```text
//! (seg-map grid ((i n))                          (seg-scan grid full () (j n)
//!   (let (%k) (index %ks %i))                      (let (%k) (index %ks %j))
//!   (let (%c) (op >= %k 0))                        (let (%c) (op >= %k 0))
//!   (check (negative-count) %c %k %i)              (check (negative-count) %c %k %j)
//!   (give))                                 ⟶      (let (%x) (index %ks %j)) (give %x) …)
//! (seg-scan grid full () (j n)
//!   (let (%x) (index %ks %j)) (give %x) …)
//! ```
//!
//! A map without results is there for its checks. What they look at is read again by what comes next, as a rule, so
//! one pass over memory does for both. That is right where the next kernel goes over the same points and stops at
//! nothing itself, so that of several points that stop the same one is told; and where nothing but arithmetic on the
//! host stands between. Now a point runs before the checks of others: so it may read its own elements alone, which
//! need no check. And it is straight-line code, as the checks are, so that both run in lanes.

use crate::ir::*;
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

/// Takes maps without results into what runs over their points next.
pub(super) fn checks(body: &mut Body) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(checks);
    }
    let mut gone = vec![false; body.stmts.len()];
    for (k, gone) in gone.iter_mut().enumerate() {
        let (before, after) = body.stmts.split_at_mut(k + 1);
        let s = &before[k];
        *gone = is_for_checks(s)
            && after
                .iter_mut()
                .find(|next| !is_arithmetic(&next.exp))
                .is_some_and(|next| takes(&mut next.exp, s));
    }
    let mut gone = gone.into_iter();
    body.stmts.retain(|_| gone.next() != Some(true));
}

/// Whether this is a map without results, of straight-line code.
fn is_for_checks(s: &Stmt) -> bool {
    let Exp::Seg(Seg { level: Level::Grid, space, kind: SegKind::Map, body, .. }) = &s.exp else {
        return false;
    };
    let looks = |s: &mono::Stmt| matches!(s.exp, mono::Exp::Check { .. } | mono::Exp::Index { .. });
    s.pat.is_empty() && !space.is_empty() && body.stmts.iter().all(|s| looks(s) || computes(s))
}

fn is_arithmetic(e: &Exp) -> bool {
    matches!(e, Exp::Host(mono::Exp::Atom(_) | mono::Exp::Op(..) | mono::Exp::Cast(..)))
}

/// Puts the checks of a map for them at the front of each point of another operator, if they can be there.
fn takes(into: &mut Exp, s: &Stmt) -> bool {
    let Exp::Seg(Seg { space, body, .. }) = &s.exp else { return false };
    let own: Vec<Axis> = match into {
        Exp::Seg(Seg { level: Level::Grid, space, kind: SegKind::Map, .. }) => space.clone(),
        Exp::Seg(Seg { space, kind: SegKind::Red { axis, .. } | SegKind::Scan { axis, .. }, .. }) => {
            space.iter().chain([&*axis]).copied().collect()
        }
        Exp::Filters(parts) if parts.len() == 1 => vec![parts[0].axis],
        _ => return false,
    };
    let same = own.len() == space.len() && own.iter().zip(space).all(|(a, b)| a.size == b.size);
    let here: FxHashMap<Var, Atom> = space.iter().zip(&own).map(|(a, b)| (a.var, Atom::Var(b.var))).collect();
    let is_own = |a: &Atom| own.iter().any(|axis| *a == Atom::Var(axis.var));
    let reads_own = |s: &mono::Stmt| match &s.exp {
        mono::Exp::Index { at, .. } => at.iter().all(is_own),
        _ => computes(s),
    };
    if !same || !into.leaves().iter().all(|b| b.stmts.iter().all(reads_own)) {
        return false;
    }
    let leaf = match into {
        Exp::Seg(Seg { body: leaf, .. }) => leaf,
        Exp::Filters(parts) if parts.len() == 1 => &mut parts[0].body,
        _ => return false,
    };
    let mut checks = body.clone();
    checks.substitute(&here);
    leaf.stmts.splice(0..0, checks.stmts);
    true
}

fn computes(s: &mono::Stmt) -> bool {
    matches!(s.exp, mono::Exp::Op(..) | mono::Exp::Cast(..) | mono::Exp::Atom(_))
}
