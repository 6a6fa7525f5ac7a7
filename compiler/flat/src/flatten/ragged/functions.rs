//! Functions of what belongs to a row, for all rows in lanes, before the rows.
//!
//! ```text
//! (join ((i k)) 0                                   (let (%ys k) (map ((i k)) (give (expt (index %xs i) 0.45))))
//!   (let (%y) (expt (index %xs i) 0.45))     ⟶      (join ((i k)) 0
//!   (let (%row) (map ((j %n)) … %y …)) …)             (let (%y) (index %ys i)) …)
//! ```
//!
//! A task goes through its rows one after the other, and what it computes once for a row it computes for one number. That
//! of a vector of rows takes as long, where it is an exponential or the like.

use super::Stmts;
use remc_base::ops::{ScalarOp, is_transcendental};
use remc_mono::ir::*;
use remc_mono::legal::is_straight_line;

/// Takes the functions out of a row's body that read nothing but elements of the row's own number.
pub(super) fn apart(made: &mut Stmts<'_>, axis: Axis, row: &mut Body) {
    let mut found: Vec<(usize, Var)> = Vec::new();
    for (k, s) in row.stmts.iter().enumerate() {
        let ([v], true) = (s.pat.as_slice(), is_function(&s.exp)) else { continue };
        let needed = made.needed(Body { stmts: row.stmts[..=k].to_vec(), results: vec![Atom::Var(*v)] });
        if needed.stmts.iter().all(|s| is_of_row(made, axis, s)) {
            found.push((k, *v));
        }
    }
    if found.is_empty() {
        return;
    }
    let results = found.iter().map(|(_, v)| Atom::Var(*v)).collect();
    let body = made.needed(Body { stmts: row.stmts.clone(), results });
    let i = made.int("i");
    let body = made.instance(&body, &[(axis.var, i.into())]);
    let arrays: Vec<Var> = found.iter().map(|(_, v)| made.over(*v, axis.size)).collect();
    made.push(arrays.clone(), Exp::Map { axes: vec![Axis { var: i, size: axis.size }], body });
    for ((k, _), array) in found.iter().zip(arrays) {
        row.stmts[*k].exp = Exp::Index { array, at: vec![axis.var.into()] };
    }
    *row = made.live(std::mem::take(row));
}

/// Whether a vector of it takes about as long as one.
fn is_function(exp: &Exp) -> bool {
    let Exp::Op(op, args) = exp else { return false };
    let fraction = |a: &Atom| match a {
        Atom::Const(c) => c.as_float().is_some_and(|x| x.is_finite() && x != x.trunc()),
        Atom::Var(_) => false,
    };
    is_transcendental(*op) || *op == ScalarOp::Expt && args.get(1).is_some_and(fraction)
}

/// Whether a statement may run for all rows before any: it stops nothing, and what it reads is there.
fn is_of_row(made: &Stmts<'_>, axis: Axis, s: &Stmt) -> bool {
    let there = match &s.exp {
        Exp::Index { array, at } => {
            at[..] == [axis.var.into()] && made.f.p.vars[*array].ty.dims.first() == Some(&axis.size)
        }
        _ => true,
    };
    there && !s.exp.can_stop() && s.exp.bodies().is_empty() && is_straight_line(&made.f.p.vars, s)
}
