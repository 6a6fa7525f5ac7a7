//! What a loop goes on with: its state with some items changed, as programs change arrays, so that devices that do so in
//! place are seen to.

use super::Maker;
use super::arrays::put;
use crate::differential::term::{Info, Term, Ty};
use remc_base::BaseTy;

/// The next state of a loop whose state is the variable `x`.
pub fn next(m: &mut Maker, x: &str, ty: &Ty) -> Term {
    if ty.dims.is_empty() || m.rng.one_in(2) { m.expr(ty) } else { changed(m, x, ty, 3) }
}

fn changed(m: &mut Maker, x: &str, ty: &Ty, depth: usize) -> Term {
    let same = Term::leaf(ty.clone(), Info::of(ty.atom), x);
    if depth == 0 {
        return same;
    }
    match m.rng.below(8) {
        0 => same,
        1 => m.expr(ty),
        2 | 3 => {
            let cond = m.expr(&Ty::scalar(BaseTy::Bool));
            let branches = [changed(m, x, ty, depth - 1), changed(m, x, ty, depth - 1)];
            let info = branches[0].info.or(branches[1].info);
            let [a, b] = branches;
            Term::call(ty.clone(), info, "if", vec![cond, a, b])
        }
        4 => {
            // What was there may be read after it was changed.
            let value = changed(m, x, ty, depth - 1);
            let name = m.fresh("y");
            let bound = vec![(name.clone(), ty.clone(), value.info)];
            let body = m.with(bound, |m| changed(m, &name, ty, depth - 1));
            Term::new(ty.clone(), body.info, format!("(let (({name} §)) §)"), vec![value, body])
        }
        _ => {
            let dest = changed(m, x, ty, depth - 1);
            put(m, ty, dest.clone()).unwrap_or(dest)
        }
    }
}
