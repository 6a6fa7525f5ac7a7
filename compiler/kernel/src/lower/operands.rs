//! Arrays are transposed that the points of many rows would read across their rows ([`remc_flat::across`]).

use super::plan::Plan;
use remc_flat::across::{Across, across, reduction};
use remc_mono::ir as mono;

/// A leaf that reads transposed arrays.
pub(super) struct Transposed {
    /// Each transposed array, and what it is of.
    pub arrays: Vec<(mono::Var, Across)>,
    pub leaf: mono::Body,
}

impl Plan {
    /// The leaf of a space with the arrays transposed that it reads across their rows; if then it reads nothing across rows,
    /// and runs in lanes.
    pub(super) fn transposed(&mut self, space: &[mono::Axis], leaf: &mono::Body) -> Option<Transposed> {
        let (_, axis) = reduction(leaf)?;
        let mut transposed = Transposed { arrays: Vec::new(), leaf: leaf.clone() };
        let inner = transposed.leaf.stmts.iter_mut().flat_map(|s| s.exp.bodies_mut().into_iter().take(1));
        for s in inner.flat_map(|b| &mut b.stmts) {
            let Some(read) = across(&self.flat.vars, space, axis, &s.exp) else { continue };
            let mono::Exp::Index { array, at } = &mut s.exp else { continue };
            if self.place(*array).is_err() {
                continue;
            }
            *at = read.order.iter().filter_map(|k| at.get(*k).copied()).collect();
            let known = transposed.arrays.iter().find(|(_, r)| *r == read).map(|(v, _)| *v);
            *array = known.unwrap_or_else(|| {
                let mono::Ty { base, dims } = self.flat.vars[*array].ty.clone();
                let dims = read.order.iter().map(|k| dims[*k]).collect();
                let v = self.fresh("transposed", mono::Ty { base, dims });
                transposed.arrays.push((v, read));
                v
            });
        }
        let shape = self.shape(&transposed.leaf, space.last()?.var);
        (!transposed.arrays.is_empty() && shape.pays() && shape.inner.strided == 0).then_some(transposed)
    }
}
