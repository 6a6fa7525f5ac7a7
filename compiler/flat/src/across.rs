//! Which arrays the points of many rows read across their rows: on a processor they are transposed first.
//!
//! ```text
//! (seg-map grid ((%i n) (%j m))                             (let (%t l m) (view (permute 1 0) %b))
//!   (reduce (%k l)                                          (seg-map grid ((%i n) (%j m))
//!     (let (%x) (index %a %i %k))                    ⇒        (reduce (%k l)
//!     (let (%y) (index %b %j %k)) …))                             … (let (%y) (index %t %k %j)) …))
//! ```
//!
//! A product with a transposed matrix, or the distances of all pairs of rows. Element by element each point could only
//! reduce along its own row, and would load two elements for each operation. Transposed, the points of a row are lanes and
//! several rows share what is loaded. To transpose the array takes as long as a few rows of points do, and lanes have to have
//! points: so it is done where there are [`ROWS`] at least, of [`COLUMNS`] at least.
//!
//! This only says which arrays these are; lowering transposes them, and the cost model tells.

use crate::ir::*;
use remc_base::IdVec;
use remc_mono::ir as mono;

/// So many rows of points read what is transposed for them.
pub const ROWS: i64 = 64;
/// So many points has each of those rows.
pub const COLUMNS: i64 = 16;

/// An array that is read across its rows.
#[derive(Clone, PartialEq, Debug)]
pub struct Across {
    pub array: Var,
    /// The axes of the array in the order that points read them in: two are exchanged.
    pub order: Vec<usize>,
}

/// The reduction of a leaf that has that one loop.
pub fn reduction(leaf: &mono::Body) -> Option<(&mono::Body, Axis)> {
    let mut loops = leaf.stmts.iter().filter(|s| !s.exp.bodies().is_empty());
    match (loops.next().map(|s| &s.exp), loops.next()) {
        (Some(mono::Exp::Reduce { axis, body, .. }), None) => Some((body, *axis)),
        _ => None,
    }
}

/// The array of an element that the reduction along `axis` reads, if it is one from outside the leaf and the last axis of the
/// space goes across its rows, which are the same for the axis before.
pub fn across(vars: &IdVec<Var, VarInfo>, space: &[Axis], axis: Axis, exp: &mono::Exp) -> Option<Across> {
    let ([.., first, last], mono::Exp::Index { array, at }) = (space, exp) else { return None };
    let places = |v: Var| at.iter().filter(|a| **a == v.into()).count();
    let along = at.len() == vars[*array].ty.rank() && at.last() == Some(&axis.var.into());
    let once = places(axis.var) == 1 && places(last.var) == 1 && places(first.var) == 0;
    let k = at.iter().position(|a| *a == last.var.into()).filter(|_| along && once)?;
    let mut order: Vec<usize> = (0..at.len()).collect();
    order.swap(k, at.len() - 1);
    Some(Across { array: *array, order })
}
