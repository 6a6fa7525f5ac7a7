//! Distribution of a map over its body: each piece becomes an operator over the map's space, and what one
//! piece makes for a later one is stored, an array over the space.
//!
//! ```text
//! (map ((i n))                                 (let (%ss) (seg-red grid ((i n)) (j m) … +))
//!   (let (%s) (reduce j m … +))                (let (%ts) (seg-map grid ((i n))
//!   (let (%t) (op / %s %m))                      (let (%s) (index %ss i)) (let (%t) (op / %s %m)) (give %t)))
//!   (let (%ys) (map ((j m)) … %t …))           (let (%ys) (seg-map grid ((i n) (j m))
//!   (give %ys))                                  (let (%t) (index %ts i)) …))
//! ```
//!
//! A few scalar operators are done again by each reader rather than stored. A size that does not depend on
//! the point is computed by the host, once. Checks keep their place: what stands before a piece has run at
//! every point before the piece starts.

use super::distribution::{Distribution, Nest};
use super::split::{Kind, Split};
use super::{F, Flattener, interchange};
use crate::ir::Stmt;

/// Replaces the map by its pieces.
pub(super) fn distribute(f: &mut Flattener, nest: Nest<'_>, split: Split, out: &mut Vec<Stmt>) -> F<()> {
    let mut d = Distribution::new(f, nest, split.kinds, out);
    d.hoist(&split.hoisted);
    let rest = d.name_results();
    let mut start = 0;
    for k in 0..d.nest.body.stmts.len() {
        if d.kinds[k].is_apart() {
            d.points(start..k, &[])?;
            match d.kinds[k] {
                Kind::Loop => interchange::looped(&mut d, k)?,
                _ => d.parallel(k)?,
            }
            start = k + 1;
        }
    }
    d.points(start..d.nest.body.stmts.len(), &rest)
}
