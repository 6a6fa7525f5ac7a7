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
//! the space. That pays where few points have much to do each, which two thresholds tell. Where there are `par.loop`
//! points, which is enough for all threads, the state of each stays in the cache of one of them. And where an iteration
//! is less than `par.inner` elements, all points taken together, launching it takes longer than the work:
//!
//! ```text
//! (let (%all) (op * %n %m))
//! (branch (or (>= %n "par.loop" 16) (< %all "par.inner" 4096)) the map as it is, the loop of maps)
//! ```
//!
//! What the map of one iteration becomes is decided anew: its loops are interchanged again, what is parallel in it is
//! distributed, in versions of its own.

use super::distribution::{Distribution, points_of};
use super::loops::{Loop, as_loop, same};
use super::{ALWAYS, F, Flattener, Threshold};
use crate::ir::{Axis, Body, Compare, Exp, Stmt, Test};
use remc_base::Prov;
use remc_mono::ir as mono;
use remc_mono::ir::{Atom, Var};

/// The test that the iterations of the loops in a map over points of these `sizes` are small; they are `widest`. `None`
/// if that is not asked: they are large enough whatever they are, or no size of theirs is known before the loop.
pub(super) fn small(
    f: &mut Flattener,
    sizes: &[Atom],
    widest: &[Atom],
    body: &mono::Body,
    prov: Prov,
    out: &mut Vec<Stmt>,
) -> Option<Test> {
    // Those that only the body knows do not count: the iterations are larger than what is counted, if anything.
    let inside = body.binders();
    let known = widest.iter().filter(|a| a.as_var().is_none_or(|v| !inside.contains(&v)));
    let all: Vec<Atom> = sizes.iter().chain(known).copied().collect();
    if f.thresholds.par_inner <= ALWAYS || all.len() == sizes.len() {
        return None;
    }
    let all = points_of(f, &all, prov, out);
    Some(f.test(all, Compare::Below, Threshold::ParInner))
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
    // The other version has the loop's own variable.
    let name = d.f.p.vars[axis.var].name.clone();
    let round = d.f.p.fresh(name.as_str(), mono::Ty::int());
    stmts.push(same(axis.var, Atom::Var(round), prov));
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
    let exp = Exp::For { axis: Axis { var: round, size }, state, body };
    d.out.push(Stmt { pat, exp, prov });
    Ok(())
}
