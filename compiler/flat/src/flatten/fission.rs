//! Loop distribution (fission): what the iterations of a loop of the host do without waiting for each other becomes a map
//! before the loop.
//!
//! ```text
//! (for (i %k) ((%acc 0.0))                    (let (%ss) (map ((i %k))
//!   (let (%n) (index %ns i))                    (let (%n) (index %ns i)) (let (%s) (reduce j %n …)) (give %s)))
//!   (let (%s) (reduce j %n …))         ⟶      (for (i %k) ((%acc 0.0))
//!   (let (%t) (op + … %acc %s))                 (let (%s) (index %ss i))
//!   (give %t))                                  (let (%t) (op + … %acc %s)) (give %t))
//! ```
//!
//! A reduction that does not depend on the state would be launched once for each iteration. All of them together are one
//! map, and what is left is often the work of one thread. What may stop the program comes with them if it does not depend
//! on the state either, and nothing else may; otherwise only what comes before all that may stop it is done before the loop.

use super::Flattener;
use super::host::Stmts;
use crate::ir::Axis;
use remc_mono::ir::*;
use rustc_hash::FxHashSet;

/// The loop as a map and a loop, if it reduces something large that does not depend on its state.
pub(super) fn fission(
    f: &mut Flattener,
    s: &Stmt,
    axis: Axis,
    state: &[(Var, Atom)],
    body: &Body,
) -> Option<Vec<Stmt>> {
    // What does not wait for the state.
    let mut waits: FxHashSet<Var> = state.iter().map(|(v, _)| *v).collect();
    let mut free: Vec<bool> = Vec::new();
    for s in &body.stmts {
        let waiting = alone(s).free_vars().iter().any(|v| waits.contains(v));
        waits.extend(s.pat.iter().filter(|_| waiting));
        free.push(!waiting);
    }
    // Only what comes before all that may stop the program, if not all of that comes along.
    let stops = |s: &Stmt| s.exp.can_stop();
    if body.stmts.iter().zip(&free).any(|(s, free)| stops(s) && !free) {
        let first = body.stmts.iter().position(stops)?;
        free[first..].fill(false);
    }
    let is_reduced = |s: &Stmt| f.is_wide(&alone(s)) && s.pat.iter().all(|v| f.p.ty(*v).is_scalar());
    let gone: Vec<bool> =
        body.stmts.iter().zip(&free).map(|(s, free)| *free && (stops(s) || is_reduced(s))).collect();
    let those = |which: &[bool], wanted: bool| {
        let stmts = body.stmts.iter().zip(which).filter(move |(_, is)| **is == wanted);
        stmts.map(|(s, _)| s.clone()).collect::<Vec<_>>()
    };
    let moved = those(&gone, true);
    if !moved.iter().any(is_reduced) {
        return None;
    }

    // What the loop reads of it.
    let mut made = Stmts::new(f, s.prov);
    let rest = made.live(Body { stmts: those(&gone, false), results: body.results.clone() });
    let mut used: FxHashSet<Var> = FxHashSet::default();
    rest.for_each_use(&mut |a| used.extend(a.as_var()));
    used.extend(rest.binders().iter().flat_map(|v| &made.f.p.ty(*v).dims).filter_map(|d| d.as_var()));
    let given: Vec<Var> = moved.iter().flat_map(|s| &s.pat).copied().filter(|v| used.contains(v)).collect();
    if !given.iter().all(|v| made.f.p.ty(*v).is_scalar()) {
        return None;
    }

    let results = given.iter().map(|v| Atom::Var(*v)).collect();
    let early = made.live(Body { stmts: those(&free, true), results });
    let i = made.like(axis.var);
    let early = made.instance(&early, &[(axis.var, i.into())]);
    let arrays: Vec<Var> = given.iter().map(|v| made.over(*v, axis.size)).collect();
    made.push(arrays.clone(), Exp::Map { axes: vec![Axis { var: i, size: axis.size }], body: early });
    let mut stmts = made.take();

    let read = |(v, array): (&Var, &Var)| {
        let exp = Exp::Index { array: *array, at: vec![axis.var.into()] };
        Stmt { pat: vec![*v], exp, prov: s.prov }
    };
    let mut body = Body { stmts: given.iter().zip(&arrays).map(read).collect(), results: rest.results };
    body.stmts.extend(rest.stmts);
    stmts.push(Stmt { exp: Exp::For { axis, state: state.to_vec(), body }, ..s.clone() });
    Some(stmts)
}

fn alone(s: &Stmt) -> Body {
    Body { stmts: vec![s.clone()], results: Vec::new() }
}
