//! What the iterations of a loop of the host do without waiting for each other, ahead of the loop.
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
//! on the state either, and nothing else may; otherwise only what comes before all that may stop it is done ahead.

use super::Flattener;
use super::host::Stmts;
use crate::ir::Axis;
use remc_mono::ir::*;
use rustc_hash::FxHashSet;

/// The loop as a map and a loop, if it reduces something large that does not depend on its state.
pub(super) fn ahead(
    f: &mut Flattener,
    s: &Stmt,
    axis: Axis,
    state: &[(Var, Atom)],
    body: &Body,
) -> Option<Vec<Stmt>> {
    let mut waits: FxHashSet<Var> = state.iter().map(|(v, _)| *v).collect();
    let mut free = Vec::new();
    for s in &body.stmts {
        let own = Body { stmts: vec![s.clone()], results: Vec::new() };
        let waiting = own.free_vars().iter().any(|v| waits.contains(v));
        if waiting {
            waits.extend(&s.pat);
        }
        free.push(!waiting);
    }
    let stops = |k: usize| body.stmts[k].exp.can_stop();
    let all = 0..body.stmts.len();
    let end = match all.clone().any(|k| stops(k) && !free[k]) {
        true => all.clone().find(|k| stops(*k))?,
        false => all.end,
    };
    let is_reduced = |f: &Flattener, s: &Stmt| {
        let own = Body { stmts: vec![s.clone()], results: Vec::new() };
        f.is_wide(&own) && s.pat.iter().all(|v| f.p.ty(*v).is_scalar())
    };
    let moved: Vec<bool> =
        all.clone().map(|k| k < end && free[k] && (stops(k) || is_reduced(f, &body.stmts[k]))).collect();
    if !all.clone().any(|k| moved[k] && is_reduced(f, &body.stmts[k])) {
        return None;
    }

    // What the loop reads of it.
    let of =
        |wanted: bool| all.clone().filter(|k| moved[*k] == wanted).map(|k| body.stmts[k].clone()).collect();
    let mut made = Stmts::new(f, s.prov);
    let rest = made.live(Body { stmts: of(false), results: body.results.clone() });
    let mut used: FxHashSet<Var> = FxHashSet::default();
    rest.for_each_use(&mut |a| used.extend(a.as_var()));
    used.extend(rest.binders().iter().flat_map(|v| &made.f.p.ty(*v).dims).filter_map(|d| d.as_var()));
    let gone = Body { stmts: of(true), results: Vec::new() };
    let given: Vec<Var> =
        gone.stmts.iter().flat_map(|s| &s.pat).copied().filter(|v| used.contains(v)).collect();
    if !given.iter().all(|v| made.f.p.ty(*v).is_scalar()) {
        return None;
    }

    let early = all.clone().filter(|k| *k < end && free[*k]).map(|k| body.stmts[k].clone()).collect();
    let results = given.iter().map(|v| Atom::Var(*v)).collect();
    let early = made.live(Body { stmts: early, results });
    let i = made.like(axis.var);
    let early = made.instance(&early, &[(axis.var, i.into())]);
    let arrays: Vec<Var> = given.iter().map(|v| made.over(*v, axis.size)).collect();
    let map = Exp::Map { axes: vec![Axis { var: i, size: axis.size }], body: early };
    made.push(arrays.clone(), map);
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
