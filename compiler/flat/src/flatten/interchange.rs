//! A loop inside a map becomes a loop of maps, where an iteration has more to do in parallel than the map.
//!
//! ```text
//! (map ((i n))                                (let (%as) (seg-map grid ((i n) (j m)) 0.0))
//!   (let (%a) (map ((j m)) 0.0))              (let (%ys) (for t k ((%xs %as))
//!   (let (%y) (for t k ((%x %a))                (let (%zs) (seg-map grid ((i n) (j m)) … (index %xs i j) …))
//!     (let (%z) (map ((j m)) … %x …))           (give %zs)))
//!     (give %z)))
//!   (give %y))
//! ```
//!
//! All points do as many iterations, so they can do each of them together: the state of the loop is an array over
//! the space. That pays where few points have much to do each; where there are points for all threads, one thread's
//! state stays in its cache, and `par.loop` chooses.
//!
//! What the map of one iteration becomes is decided anew: its loops are interchanged again, what is parallel in it is
//! distributed, in versions of its own.

use super::distribute::{Distribution, split};
use super::{F, Flattener};
use crate::ir::{Axis, Body, Exp, Stmt};
use remc_mono::ir as mono;
use remc_mono::ir::{Atom, Var};

/// A loop, or a reduction in the form of one: its state, and a body that gives the next.
struct Loop {
    axis: Axis,
    state: Vec<(Var, Atom)>,
    body: mono::Body,
}

/// The loop that a statement is.
fn as_loop(s: &mono::Stmt) -> Option<Loop> {
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

fn same(v: Var, a: Atom, prov: remc_base::Prov) -> mono::Stmt {
    mono::Stmt { pat: vec![v], exp: mono::Exp::Atom(a), prov }
}

/// Whether the statement, in the body of a map over `axes` after the statements `before`, is a loop whose iterations
/// can be distributed.
pub(super) fn is_worth_it(
    f: &Flattener,
    axes: &[Axis],
    before: &[mono::Stmt],
    s: &mono::Stmt,
    is_size: &impl Fn(&Atom) -> bool,
    must: bool,
) -> bool {
    let Some(Loop { axis, state, body }) = as_loop(s) else { return false };
    let sized = |v: &Var| f.p.ty(*v).dims.iter().all(is_size);
    if !f.is_wide(&body) || !is_size(&axis.size) || !state.iter().all(|(v, _)| sized(v)) {
        return false;
    }
    // What differs from point to point is bound inside the map, by what does not matter here.
    let inside = before.iter().flat_map(|s| &s.pat).filter(|v| !is_size(&Atom::Var(**v)));
    let inside = inside.chain(state.iter().map(|(v, _)| v));
    let mut stmts: Vec<mono::Stmt> = inside.map(|v| same(*v, Atom::int(0), s.prov)).collect();
    stmts.extend(body.stmts);
    split(f, axes, &mono::Body { stmts, results: body.results }, must).is_some()
}

/// The loop that is statement `k` of the map, around the map of what it does.
pub(super) fn looped(d: &mut Distribution<'_, '_>, k: usize) -> F<()> {
    let s = &d.nest.body.stmts[k];
    let Some(Loop { axis, state, body }) = as_loop(s) else { return super::wrong("no loop") };
    let prov = s.prov;
    let at: Vec<Atom> = d.nest.axes.iter().map(|a| Atom::Var(a.var)).collect();

    // The first state: what has been stored already, or a map of its own.
    let stored = |d: &Distribution<'_, '_>, a: &Atom| a.as_var().and_then(|v| d.stored.get(&v).copied());
    let mut starts: Vec<Var> = Vec::new();
    let (mut made, mut results) = (Vec::new(), Vec::new());
    for (v, a) in &state {
        starts.push(match stored(d, a) {
            Some(array) => array,
            None => {
                let array = d.over_space(*v);
                made.push(array);
                results.push(*a);
                array
            }
        });
    }
    if !made.is_empty() {
        let wanted = results.iter().filter_map(|a| a.as_var()).collect();
        let stmts = d.needed(k, 0..0, wanted)?;
        let (axes, body) = d.copy(stmts, results)?;
        d.f.map(&made, &axes, &body, prov, d.out)?;
    }

    // One iteration: a map that reads the state and gives the next.
    let states: Vec<Var> = state.iter().map(|(v, _)| d.over_space(*v)).collect();
    let mut stmts = d.needed(k, 0..0, d.uses(s))?;
    for ((v, _), array) in state.iter().zip(&states) {
        let exp = mono::Exp::Index { array: *array, at: at.clone() };
        stmts.push(mono::Stmt { pat: vec![*v], exp, prov });
    }
    stmts.extend(body.stmts);
    let (axes, body) = d.copy(stmts, body.results)?;
    let next: Vec<Var> = state.iter().map(|(v, _)| d.over_space(*v)).collect();
    let mut iteration = Vec::new();
    d.f.few.push(axes.iter().map(|a| a.size).collect());
    d.f.map(&next, &axes, &body, prov, &mut iteration)?;
    d.f.few.pop();

    let pat: Vec<Var> = s.pat.iter().map(|v| d.store(*v)).collect();
    let size = d.outside(axis.size);
    let state = states.into_iter().zip(starts.into_iter().map(Atom::Var)).collect();
    let results = next.into_iter().map(Atom::Var).collect();
    let body = Body { stmts: iteration, results };
    let exp = Exp::For { axis: Axis { var: axis.var, size }, state, body };
    d.out.push(Stmt { pat, exp, prov });
    Ok(())
}
