//! Products inside a map of data that all its points share.
//!
//! ```text
//! (map ((i n))                                             (let (%hs) (seg-map grid ((i n) (j h)) (reduce l d …)))
//!   (let (%h) (map ((j h)) (reduce l d (* %x[i l] %v[l j]) +)))    ⟶
//!   (let (%y) (map ((j o)) (reduce l h (* %h[l] %w[l j]) +)))      (seg-map grid ((i n) (j o)) (reduce l h …))
//!   (give %y))
//! ```
//!
//! The rows of `m*m`, one after the other, each read all of the second operand. On its own, over the rows and the columns
//! together, a product goes through squares that a cache holds, and is several times faster than a thread for each row
//! that makes one product of it and then the next. So such a map is taken apart however many points it has. Only what lies
//! between two products has to be stored then, which the map as it is never has in whole: where that is `par.stored`
//! elements, the map stays.

use super::is_small;
use remc_base::ops::ScalarOp;
use remc_mono::ir::{Atom, Body, Combine, Exp, Stmt, Var};
use rustc_hash::FxHashSet;

/// The sizes of a statement that is a product of what each point has and of a matrix that is `outside`, the same for all.
pub(super) fn product(s: &Stmt, outside: &impl Fn(&Atom) -> bool) -> Option<Vec<Atom>> {
    let Exp::Map { axes, body } = &s.exp else { return None };
    let columns: FxHashSet<Var> = axes.iter().map(|a| a.var).collect();
    body.stmts
        .iter()
        .any(|s| match &s.exp {
            Exp::Reduce { axis, body, op } if !is_small(&[axis.size]) && is_sum(op) => factors(body)
                .is_some_and(|factors| {
                    factors.into_iter().any(|a| is_shared(body, a, (axis.var, &columns), outside))
                }),
            _ => false,
        })
        .then(|| axes.iter().map(|a| a.size).collect())
}

fn is_sum(op: &Combine) -> bool {
    op.assoc && op.component_ops().is_some_and(|ops| ops == [ScalarOp::Add])
}

/// What an element of a sum is the product of.
fn factors(body: &Body) -> Option<[Atom; 2]> {
    let [result] = body.results[..] else { return None };
    match maker(body, result)? {
        Exp::Op(ScalarOp::Mul, args) => args[..].try_into().ok(),
        _ => None,
    }
}

fn maker(body: &Body, a: Atom) -> Option<&Exp> {
    let v = a.as_var()?;
    body.stmts.iter().find(|s| s.pat == [v]).map(|s| &s.exp)
}

/// Whether a factor is an element of a matrix that all points share, in the row of the sum and the column of the product.
fn is_shared(
    body: &Body,
    factor: Atom,
    (row, columns): (Var, &FxHashSet<Var>),
    outside: &impl Fn(&Atom) -> bool,
) -> bool {
    let own = |a: &Atom| a.as_var().is_some_and(|v| v == row || columns.contains(&v));
    match maker(body, factor) {
        Some(Exp::Cast(_, a)) => is_shared(body, *a, (row, columns), outside),
        Some(Exp::Index { array, at }) => {
            outside(&Atom::Var(*array))
                && at.contains(&Atom::Var(row))
                && at.iter().any(|a| a.as_var().is_some_and(|v| columns.contains(&v)))
                && at.iter().all(|a| own(a) || outside(a))
        }
        _ => false,
    }
}
