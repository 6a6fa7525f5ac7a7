//! Columns are written as parts of rows.
//!
//! ```text
//! (let (%t) (view (permute 1 0) %a))          (let (%at %xs) (map ((%k 2)) …))
//! (let (%s) (scatter (%k 2) (%t) …))    ⟶     (let (%u) (map ((%i %n))
//! (let (%u) (view (permute 1 0) %s))            (let (%row) (index %a %i))
//!                                               (let (%r) (scatter (%k 2) (%row)
//!                                                 (give %at[%k] %xs[%k,%i])))
//!                                               (give %r)))
//! ```
//!
//! Who changes columns of a matrix does so between two transpositions, which cost more than all else. Each row gets its
//! elements of the new columns instead, which are made first, and is changed where it is if the matrix may be ([`super::row`]).

use super::{in_memory, items_first};
use crate::ir::*;
use rustc_hash::FxHashSet;

/// Writes columns so, in a body and those in it. `local` is what is bound inside of the outermost iteration it is part of.
pub(super) fn in_rows(p: &mut Program, body: &mut Body, local: Option<&FxHashSet<Var>>) {
    for s in &mut body.stmts {
        let of_host = matches!(s.exp, Exp::If { .. } | Exp::For { .. } | Exp::While { .. })
            || matches!(&s.exp, Exp::Reduce { op, .. } if !op.assoc);
        let own: Option<FxHashSet<Var>> = (local.is_none() && !of_host).then(|| {
            let inside = s.exp.bodies().into_iter().flat_map(Body::binders);
            s.exp.inner_binders().into_iter().chain(inside).collect()
        });
        let local = local.or(own.as_ref());
        s.exp.bodies_mut().into_iter().for_each(|b| in_rows(p, b, local));
    }
    let mut k = 0;
    while k < body.stmts.len() {
        if let Some(found) = Turned::at(p, body, k, local) {
            found.replace(p, body);
        }
        k += 1;
    }
}

/// A scatter between two transpositions.
struct Turned {
    /// The statements that transpose, write and transpose back.
    from: usize,
    at: usize,
    back: usize,
}

impl Turned {
    fn at(p: &Program, body: &Body, at: usize, local: Option<&FxHashSet<Var>>) -> Option<Turned> {
        let s = &body.stmts[at];
        let (Exp::Scatter { dests, axis, body: items, combine: None }, [written]) = (&s.exp, &s.pat[..])
        else {
            return None;
        };
        let [dest] = dests[..] else { return None };
        if p.ty(dest).rank() != 2 || !in_memory(axis.size, local) {
            return None;
        }
        let from = (0..at).find(|k| body.stmts[*k].pat[..] == [dest] && turned(&body.stmts[*k]).is_some())?;
        let back = (at..body.stmts.len()).find(|k| turned(&body.stmts[*k]) == Some(*written))?;
        // Nothing else reads the matrix between the two but element by element.
        let read = |s: &Stmt, v: Var| s.exp.mentions(|u| u == v);
        let others = |k: &usize| ![from, at, back].contains(k);
        let alone = (0..body.stmts.len()).filter(others).all(|k| {
            let s = &body.stmts[k];
            !read(s, dest) && elements_only(s, *written)
        });
        let given = [dest, *written].iter().any(|v| body.results.contains(&(*v).into()));
        (alone && !given && !items.free_vars().contains(&dest)).then_some(Turned { from, at, back })
    }

    fn replace(self, p: &mut Program, body: &mut Body) {
        let Some(array) = turned(&body.stmts[self.from]) else { return };
        let (last, mut s) = (body.stmts[self.back].pat[0], body.stmts[self.at].clone());
        let written = s.pat[0];
        let Some(items) = items_first(p, &mut s) else { return };
        let made = rows(p, s, array, last);
        body.stmts.splice(self.at..=self.at, [items, made]);
        body.stmts.remove(self.back + 1);
        body.stmts.remove(self.from);
        body.stmts.iter_mut().for_each(|s| read_back(s, written, last));
    }
}

/// What a statement transposes.
fn turned(s: &Stmt) -> Option<Var> {
    match &s.exp {
        Exp::View { view: View::Permute { perm }, array } if perm[..] == [1, 0] => Some(*array),
        _ => None,
    }
}

/// Whether a statement reads only elements of a matrix.
fn elements_only(s: &Stmt, m: Var) -> bool {
    match &s.exp {
        Exp::Index { array, at } if *array == m => at.len() == 2,
        exp => {
            let mut own = false;
            exp.for_each_operand(&mut |a| own |= a == m.into());
            let given = |b: &Body| b.results.contains(&m.into());
            !own && exp.bodies().iter().all(|b| !given(b) && b.stmts.iter().all(|s| elements_only(s, m)))
        }
    }
}

/// Has elements of a matrix read from its transposition.
fn read_back(s: &mut Stmt, m: Var, turned: Var) {
    if let Exp::Index { array, at } = &mut s.exp
        && *array == m
    {
        *array = turned;
        at.reverse();
    }
    s.exp.bodies_mut().into_iter().flat_map(|b| &mut b.stmts).for_each(|s| read_back(s, m, turned));
}

/// The rows of an array, each with its elements of the columns that a scatter writes, whose items have been made.
fn rows(p: &mut Program, mut s: Stmt, array: Var, result: Var) -> Stmt {
    let Ty { base, dims } = p.ty(result).clone();
    let of_row = Ty { base, dims: vec![dims[1]] };
    let axis = Axis { var: p.fresh("i", Ty::int()), size: dims[0] };
    let (row, r, x) =
        (p.fresh("row", of_row.clone()), p.fresh("row", of_row), p.fresh("x", Ty::scalar(base)));
    if let Exp::Scatter { dests, body, .. } = &mut s.exp {
        *dests = vec![row];
        let column = body.results[1];
        let made = body.stmts.iter_mut().find(|s| s.pat.iter().any(|v| column == (*v).into()));
        match (made, column.as_var()) {
            (Some(Stmt { pat, exp: Exp::Index { at, .. }, .. }), _) => {
                *pat = vec![x];
                at.push(axis.var.into());
            }
            (_, Some(array)) => {
                let exp = Exp::Index { array, at: vec![axis.var.into()] };
                body.stmts.push(Stmt { pat: vec![x], exp, prov: s.prov });
            }
            _ => {}
        }
        body.results[1] = x.into();
    }
    let prov = s.prov;
    let stmts = vec![
        Stmt { pat: vec![row], exp: Exp::Index { array, at: vec![axis.var.into()] }, prov },
        Stmt { pat: vec![r], ..s },
    ];
    let body = Body { stmts, results: vec![r.into()] };
    Stmt { pat: vec![result], exp: Exp::Map { axes: vec![axis], body }, prov }
}
