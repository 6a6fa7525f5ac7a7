//! The rows of regular arrays, a group's each: all that a point does along its row, while the row is near.
//!
//! ```text
//! (map ((i n))                                  (branch (>= %n "par.group" 256)
//!   (let (%m) (reduce (j k) … max2))              (then (seg-map block ((i n)) (leaf … all of it …)))
//!   (let (%e) (map ((j k)) … (op exp …)))   ⟶     (else (seg-red grid ((i n)) (j k) … max2)
//!   (let (%s) (reduce (j k) … %e …  +))                 (seg-map grid ((i n) (j k)) … (op exp …))
//!   (let (%y) (map ((j k)) … (op / …))) …)              … each over all rows, by way of memory …))
//! ```
//!
//! Operator by operator, a row comes from memory and goes there as often as there are operators; a thread for each row would
//! read far apart from its neighbours. A warp or a block, whichever the row's size asks for when the program runs, does a row
//! together: memory is read once and written once, and a cache has the row in between. There have to be rows enough for all
//! of the device. What is one operator alone gains nothing.
//!
//! That is level 2 of incremental flattening (Henriksen, Thorøe, Henglein, Oancea, PPoPP 2019), for devices whose blocks are
//! threads side by side.

use super::distribution::{Nest, points_of};
use super::split::Split;
use super::{
    F, Flattener, MOST_IN_ALL, MOST_VERSIONS, NEVER, SMALL, Threshold, constant_product, distribute,
};
use crate::ir::*;
use remc_mono::ir as mono;
use remc_mono::legal::group_points;

/// Whether the points of a nest, which is a leaf that could be distributed, are better off as a group's each where there are
/// enough.
pub(super) fn pay(f: &Flattener, nest: &Nest<'_>, split: &Split) -> bool {
    let least = f.thresholds.par_group;
    if least == NEVER || split.merges || split.product.is_some() {
        return false;
    }
    let few = constant_product(&sizes(nest)).is_some_and(|n| n < least);
    let binders: Vec<Var> = nest.axes.iter().map(|a| a.var).collect();
    let Some(along) = group_points(&f.p.vars, &binders, nest.body) else { return false };
    let large = along.iter().filter(|n| n.as_int().is_none_or(|n| n >= SMALL)).count();
    !few && large > 1
}

fn sizes(nest: &Nest<'_>) -> Vec<Atom> {
    nest.axes.iter().map(|a| a.size).collect()
}

/// The nest with a group for each point, and as it would be else where there may be too few.
pub(super) fn versions(f: &mut Flattener, nest: &Nest<'_>, split: Split, out: &mut Vec<Stmt>) -> F<()> {
    let sizes = sizes(nest);
    let least = f.thresholds.par_group;
    let only = constant_product(&sizes).is_some_and(|n| n >= least) || least == 0;
    if only || f.versions >= MOST_IN_ALL || f.nest_versions + 1 >= MOST_VERSIONS {
        let exp = of_groups(nest.axes.to_vec(), nest.body.clone());
        out.push(Stmt { pat: nest.pat.to_vec(), exp, prov: nest.prov });
        return Ok(());
    }
    f.versions += 1;
    f.nest_versions += 1;
    let size = points_of(f, &sizes, nest.prov, out);
    let guard = Guard { tests: vec![f.test(size, Compare::AtLeast, Threshold::ParGroup)] };
    let whole = mono::Exp::Map { axes: nest.axes.to_vec(), body: nest.body.clone() };
    let copied = f.like(nest.pat);
    let copy = f.copy(&super::one(copied, whole, nest.prov));
    let mut then = Vec::new();
    for s in copy.stmts {
        if let mono::Exp::Map { axes, body } = s.exp {
            then.push(Stmt { pat: s.pat, exp: of_groups(axes, body), prov: s.prov });
        }
    }
    let then = Body { stmts: then, results: copy.results };
    let inner = f.like(nest.pat);
    let mut stmts = Vec::new();
    distribute::distribute(f, Nest { pat: &inner, ..*nest }, split, &mut stmts)?;
    let otherwise = Body { stmts, results: inner.into_iter().map(Atom::Var).collect() };
    out.push(Stmt { pat: nest.pat.to_vec(), exp: Exp::Branch { guard, then, otherwise }, prov: nest.prov });
    Ok(())
}

fn of_groups(space: Vec<Axis>, body: mono::Body) -> Exp {
    Exp::Seg(Seg { level: Level::Block, space, kind: SegKind::Map, orders: Vec::new(), body })
}
