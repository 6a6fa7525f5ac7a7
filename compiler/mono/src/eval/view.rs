//! Views, element by element.

use super::{Array, Eval, R, bug};
use crate::ir::*;
use remc_base::Scalar;

impl Eval<'_, '_> {
    pub(super) fn view(&self, view: &View, array: Var, pat: &[Var]) -> R<Array> {
        let a = self.atom(array.into())?;
        let ty = self.p.ty(pat[0]);
        let dims = self.sizes(&ty.dims)?;
        let count: usize = dims.iter().product();
        let with = match view {
            View::Append { with } => Some(self.atom((*with).into())?),
            _ => None,
        };
        let first = a.dims.first().copied().unwrap_or(0);
        let (start, amounts) = match view {
            View::Slice { start, .. } | View::Wrap { start, .. } => (self.ints(start)?, vec![]),
            View::Rotate { amounts } => (vec![], self.ints(amounts)?),
            _ => (vec![], vec![]),
        };
        let element = |a: &Array, at: &[usize]| -> R<Scalar> { Ok(a.cell(at)?.data[0]) };
        let mut data = Vec::with_capacity(count);
        for position in 0..count {
            let mut at = vec![0; dims.len()];
            let mut rest = position;
            for (i, n) in at.iter_mut().zip(&dims).rev() {
                *i = rest % n;
                rest /= n;
            }
            let moved = |at: &mut [usize], by: &[i64], wraps: bool| -> R<()> {
                for ((i, by), n) in at.iter_mut().zip(by).zip(&a.dims) {
                    let to = *i as i128 + *by as i128;
                    let to = if wraps && *n > 0 { to.rem_euclid(*n as i128) } else { to };
                    *i = usize::try_from(to).map_or_else(|_| bug("a part out of bounds"), Ok)?;
                }
                Ok(())
            };
            data.push(match view {
                View::Reshape { .. } if a.data.len() == count => a.data[position],
                View::Reshape { .. } => {
                    return bug(format!("a reshape of {:?} to {dims:?}", a.dims));
                }
                View::Permute { perm } => {
                    let mut from = vec![0; a.dims.len()];
                    for (k, p) in perm.iter().enumerate() {
                        from[*p] = at[k];
                    }
                    element(&a, &from)?
                }
                View::Reverse => {
                    at[0] = first - 1 - at[0];
                    element(&a, &at)?
                }
                View::Rotate { .. } => {
                    moved(&mut at, &amounts, true)?;
                    element(&a, &at)?
                }
                View::Append { .. } => match &with {
                    Some(with) if at[0] >= first => {
                        at[0] -= first;
                        element(with, &at)?
                    }
                    _ => element(&a, &at)?,
                },
                View::Slice { .. } => {
                    moved(&mut at, &start, false)?;
                    element(&a, &at)?
                }
                View::Wrap { .. } => {
                    moved(&mut at, &start, true)?;
                    element(&a, &at)?
                }
                View::Cycle { .. } => {
                    let n = a.data.len();
                    if n == 0 {
                        return bug("a cycle of nothing");
                    }
                    a.data[position % n]
                }
                View::Replicate { dims } => element(&a, &at[dims.len()..])?,
            });
        }
        Ok(Array { base: a.base, dims, data: data.into() })
    }
}
