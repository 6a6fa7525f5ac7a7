//! Deferred size checks: memory of a size that is checked inside the kernel, and behind it.
//!
//! A row that makes an array of `k` elements checks first that `k` is not negative. Where all rows have the same `k`,
//! the array of all rows is allocated before any of them checks. So for a negative `k` there is memory for no element,
//! in which the kernel stops at its check and not the allocation:
//!
//! ```text
//! (let (%c) (op max2 %k 0))  (alloc (%a.1 global int %m %c))  (launch k0 (%m %k %a.1))
//! (let (%ok) (op >= %k 0))  (let (%none) (op <= %m 0))  (let (%fine) (op or %ok %none))
//! (check (too-small …) %fine %k)  (alias (%a global int %m %k) %a.1)
//! ```
//!
//! The check behind the kernel fails where there are rows and none has checked `k`: it has wrapped past 63 bits.

use super::build::Emit;
use super::plan::Plan;
use super::{Bound, L, Place};
use crate::ir::*;
use remc_base::Trap;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;

/// The results of a map that are allocated smaller than they are, and the sizes whose checks are deferred: each with
/// the least that it may be taken for.
pub(crate) struct DeferredSizes {
    results: Vec<mono::Var>,
    sizes: Vec<(mono::Var, Atom)>,
}

impl Plan {
    /// Memory for the results of a map over a space of `outer` axes.
    pub fn alloc_results(
        &mut self,
        pat: &[mono::Var],
        outer: usize,
        orders: &[Vec<usize>],
        leaf: &mono::Body,
        homes: &[Option<Place>],
    ) -> L<(Vec<Place>, DeferredSizes)> {
        let mut deferred = DeferredSizes { results: Vec::new(), sizes: Vec::new() };
        let mut outs = Vec::with_capacity(pat.len());
        let stops = leaf.can_stop();
        for (k, v) in pat.iter().enumerate() {
            if let Some(Some(home)) = homes.get(k) {
                outs.push(home.clone());
                continue;
            }
            let dims = self.flat.vars[*v].ty.dims.clone();
            let order = orders.get(k).cloned().unwrap_or_default();
            let is_cell = |k: usize| order.get(k).copied().unwrap_or(k) >= outer;
            let cell = dims.iter().enumerate().filter(|(k, _)| is_cell(*k)).filter_map(|(_, d)| d.as_var());
            let unchecked: Vec<mono::Var> = cell.filter(|d| stops && !self.is_size(*d)).collect();
            if unchecked.is_empty() {
                let out = self.alloc_for(*v)?;
                outs.push(Place { order, ..out });
                continue;
            }
            for d in unchecked {
                if deferred.sizes.iter().all(|(v, _)| *v != d) {
                    let size = self.atom(d.into())?;
                    let least = self.int(ScalarOp::Max2, size, Atom::int(0))?;
                    deferred.sizes.push((d, least));
                }
            }
            let least = |d: &mono::Atom| {
                deferred.sizes.iter().find(|(v, _)| mono::Atom::Var(*v) == *d).map(|(_, least)| *least)
            };
            let sizes = dims.iter().enumerate().map(|(k, d)| match least(d).filter(|_| is_cell(k)) {
                Some(least) => Ok(least),
                None => self.atom(*d),
            });
            let dims = sizes.collect::<L<Vec<_>>>()?;
            let mono::VarInfo { name, ty } = self.flat.vars[*v].clone();
            let ty = BufferTy { base: ty.base, dims, space: Space::Global };
            outs.push(Place { order, ..Place::whole(self.alloc(name.as_str(), ty)) });
            deferred.results.push(*v);
        }
        Ok((outs, deferred))
    }

    /// Checks the sizes whose checks were deferred, once the kernel has run, and gives its results their types.
    pub fn check_deferred(&mut self, deferred: &DeferredSizes, space: &[mono::Axis]) -> L<()> {
        for (v, _) in &deferred.sizes {
            let size = self.atom((*v).into())?;
            let mut cond = self.int(ScalarOp::Ge, size, Atom::int(0))?;
            for axis in space {
                let n = self.atom(axis.size)?;
                let none = self.int(ScalarOp::Le, n, Atom::int(0))?;
                cond = self.int(ScalarOp::Or, cond, none)?;
            }
            let dim = self.flat.vars[*v].name.as_str().into();
            let trap = Trap::TooSmall { why: "a size would be negative".into(), dim };
            self.check(&trap, cond, &[size]);
        }
        for v in &deferred.results {
            let place = self.place(*v)?;
            let alias = self.alias(*v, place.buffer)?;
            self.set(*v, Bound::Array(alias));
        }
        Ok(())
    }
}
