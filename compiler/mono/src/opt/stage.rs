//! What a scatter writes is computed before it writes, where it is made of what is written to.
//!
//! ```text
//! (while (… (%v %xs)) …                               (while (… (%v %xs)) …
//!   (let (%w) (scatter (%k 2) (%v)                      (let (%at %new) (map ((%k 2))
//!     (let (%to) (index %there %k))                       (let (%to) (index %there %k))
//!     (let (%from) (index %here %k))                      (let (%from) (index %here %k))
//!     (let (%x) (index %v %from))                         (let (%x) (index %v %from))
//!     (give %to %x)))                                     (give %to %x)))
//!   (give … %w))                                        (let (%w) (scatter (%j 2) (%v)
//!                                                         (let (%t) (index %at %j))
//!                                                         (let (%y) (index %new %j))
//!                                                         (give %t %y)))
//!                                                       (give … %w))
//! ```
//!
//! Then nothing reads `%v` while it is written, and two items change places in the time of two items, where all of `%v`
//! would be copied. So this is done where that copy would be the only one: `%v` is made by the body that the scatter is
//! in, or a state of its loop, and nothing mentions it afterwards; its branches are part of a body. The items need memory,
//! and a size that an iteration has for itself is none that there could be memory for.
//!
//! Before that what is written over is read, where the order is open ([`late`]). Where a row is a task's, a round that
//! changes an array by a map does that where the array is, too ([`renew`], [`row`]). Columns are written as parts of rows
//! ([`columns`]).

mod columns;
mod late;
mod renew;
mod row;

use super::RowsAre;
use crate::ir::*;
use remc_base::Name;
use remc_base::pass::PassInfo;
use rustc_hash::{FxHashMap, FxHashSet};

pub const PASS: PassInfo = PassInfo {
    name: "stage",
    from: "mono",
    to: "mono",
    summary: "computes what is written before what it is made of is overwritten, and changes rows and columns where they are",
};

pub fn stage(p: &mut Program) {
    stage_for(p, RowsAre::default());
}

/// The same for devices on which rows are such.
pub fn stage_for(p: &mut Program, rows: RowsAre) {
    let mut body = std::mem::take(&mut p.body);
    late::write_late(p, &mut body);
    if rows == RowsAre::Tasks {
        columns::in_rows(p, &mut body, None);
    }
    walk(p, &mut body, FxHashSet::default(), None);
    if rows == RowsAre::Tasks {
        rounds(p, &mut body, None, &mut Vec::new());
    }
    p.body = body;
}

/// Changes arrays where they are in the rounds of the host's loops; `states` are those of the loop that a body is of, `below` the
/// numbers of rounds, each below its size.
fn rounds(p: &mut Program, body: &mut Body, states: Option<FxHashSet<Var>>, below: &mut Vec<Axis>) {
    let dying = states.clone().map(|states| body.dying(states));
    let mut stmts = Vec::with_capacity(body.stmts.len());
    for (k, mut s) in std::mem::take(&mut body.stmts).into_iter().enumerate() {
        let dying = dying.as_ref().map(|dying| &dying[k]);
        let known = below.len();
        match &mut s.exp {
            Exp::If { then, otherwise, .. } => {
                rounds(p, then, dying.cloned(), below);
                rounds(p, otherwise, dying.cloned(), below);
            }
            Exp::For { axis, state, body } => {
                below.push(*axis);
                let states = state.iter().map(|(v, _)| *v).collect();
                rounds(p, body, Some(states), below);
            }
            Exp::While { state, body, .. } => {
                let states = state.iter().map(|(v, _)| *v).collect();
                rounds(p, body, Some(states), below);
            }
            Exp::Reduce { axis, body, op } if !op.assoc => {
                let lambda = &mut op.lambda;
                let (states, items) = lambda.params.split_at(lambda.body.results.len());
                let number = |(item, given): (&Var, &Atom)| {
                    (*given == axis.var.into()).then_some(Axis { var: *item, size: axis.size })
                };
                below.extend(items.iter().zip(&body.results).filter_map(number));
                let states = states.iter().copied().collect();
                rounds(p, &mut lambda.body, Some(states), below);
            }
            _ => {}
        }
        below.truncate(known);
        let made = dying.and_then(|dying| {
            let elements = renew::renewed(p, &s, dying, below);
            elements.or_else(|| row::changed(p, &s, dying, below))
        });
        match made {
            Some(made) => stmts.extend(made),
            None => stmts.push(s),
        }
    }
    body.stmts = stmts;
}

/// Stages what is in a body that owns these arrays. `local` is what is bound inside of the outermost iteration that the
/// body is part of.
fn walk(p: &mut Program, body: &mut Body, owned: FxHashSet<Var>, local: Option<&FxHashSet<Var>>) {
    if !has_scatter(body) {
        return;
    }
    let dying = body.dying(owned);
    let mut stmts = Vec::with_capacity(body.stmts.len());
    for (mut s, dying) in std::mem::take(&mut body.stmts).into_iter().zip(dying) {
        inside(p, &mut s, &dying, local);
        stmts.extend(staged(p, &mut s, &dying, local));
        stmts.push(s);
    }
    body.stmts = stmts;
}

/// Stages what is in the bodies of a statement after which these arrays are not mentioned.
fn inside(p: &mut Program, s: &mut Stmt, dying: &FxHashSet<Var>, local: Option<&FxHashSet<Var>>) {
    let states = |state: &[(Var, Atom)]| state.iter().map(|(v, _)| *v).collect();
    match &mut s.exp {
        Exp::If { then, otherwise, .. } => {
            walk(p, then, dying.clone(), local);
            walk(p, otherwise, dying.clone(), local);
        }
        Exp::For { state, body, .. } | Exp::While { state, body, .. } => walk(p, body, states(state), local),
        exp => {
            let own = match local {
                Some(_) => None,
                None => {
                    let bodies = exp.bodies();
                    let bound = bodies.into_iter().flat_map(|b| b.binders()).chain(exp.inner_binders());
                    Some(bound.collect::<FxHashSet<Var>>())
                }
            };
            let local = local.or(own.as_ref());
            match exp {
                Exp::Reduce { body, op, .. } | Exp::Scan { body, op, .. } => {
                    walk(p, body, FxHashSet::default(), local);
                    let accs = op.lambda.params.iter().take(s.pat.len()).copied().collect();
                    walk(p, &mut op.lambda.body, accs, local);
                }
                exp => exp.bodies_mut().into_iter().for_each(|b| walk(p, b, FxHashSet::default(), local)),
            }
        }
    }
}

fn has_scatter(body: &Body) -> bool {
    let mut found = false;
    body.for_each_stmt(&mut |s| found |= matches!(s.exp, Exp::Scatter { .. }));
    found
}

/// Whether there can be memory for so many items.
fn in_memory(size: Atom, local: Option<&FxHashSet<Var>>) -> bool {
    size.as_var().is_none_or(|n| local.is_none_or(|l| !l.contains(&n)))
}

/// The map that makes what a scatter writes, which only reads that then; `None` if it is left as it is.
fn staged(
    p: &mut Program,
    s: &mut Stmt,
    dying: &FxHashSet<Var>,
    local: Option<&FxHashSet<Var>>,
) -> Option<Stmt> {
    let Exp::Scatter { dests, axis, body, combine } = &mut s.exp else { return None };
    let read = body.free_vars();
    let written: Vec<Var> = dests.iter().copied().filter(|d| read.contains(d)).collect();
    let again = |v: &Var| dests.iter().filter(|d| *d == v).count() > 1;
    let combines = combine.as_ref().map(|c| c.body.free_vars()).unwrap_or_default();
    if written.is_empty()
        || !in_memory(axis.size, local)
        || written.iter().any(|v| !dying.contains(v) || again(v) || combines.contains(v))
    {
        return None;
    }
    items_first(p, s)
}

/// The map that makes the items of a scatter, which only reads them then.
fn items_first(p: &mut Program, s: &mut Stmt) -> Option<Stmt> {
    let Exp::Scatter { dests, axis, body, .. } = &mut s.exp else { return None };
    let bound: FxHashSet<Var> = body.stmts.iter().flat_map(|s| s.pat.iter().copied()).collect();
    let made: Vec<Var> =
        body.results.iter().filter_map(|a| a.as_var()).filter(|v| bound.contains(v)).collect();
    // An item has the dims of a cell of what it is written to.
    let cells = body.results.iter().skip(1).zip(dests.iter());
    let same = cells.into_iter().all(|(a, d)| p.atom_ty(*a) == p.ty(*d).cell(1));
    if !same {
        return None;
    }
    let items = Body {
        stmts: std::mem::take(&mut body.stmts),
        results: made.iter().map(|v| Atom::Var(*v)).collect(),
    };
    let before = *axis;
    axis.var = p.vars.push(p.vars[before.var].clone());
    let mut arrays = Vec::new();
    let mut with: FxHashMap<Var, Atom> = [(before.var, Atom::Var(axis.var))].into_iter().collect();
    for v in made {
        let ty = p.ty(v).over(&[before.size]);
        let array = p.vars.push(VarInfo { name: Name::new("items"), ty });
        let item = p.vars.push(p.vars[v].clone());
        body.stmts.push(Stmt {
            pat: vec![item],
            exp: Exp::Index { array, at: vec![Atom::Var(axis.var)] },
            prov: s.prov,
        });
        arrays.push(array);
        with.insert(v, Atom::Var(item));
    }
    body.results.iter_mut().for_each(|a| {
        if let Some(new) = a.as_var().and_then(|v| with.get(&v)) {
            *a = *new;
        }
    });
    Some(Stmt { pat: arrays, exp: Exp::Map { axes: vec![before], body: items }, prov: s.prov })
}

#[cfg(test)]
mod tests;
