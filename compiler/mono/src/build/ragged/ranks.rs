//! Arrays of boxes that hide shapes of different ranks: those of known rank as opaque ones.
//!
//! ```text
//! axis 0 [2 3]   axis 1 [4 5]      the shapes of two boxes, both matrices
//!   ⟶  ranks [2 2]   sizes [8 15]   dims  starts [0 2]   data [2 4 3 5]
//! ```

use super::{Part, Ragged, Stored, WitnessArrays};
use crate::build::opaque::Differing;
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use remc_base::ops::ScalarOp;
use remc_base::{ArrTy, BaseTy};
use std::rc::Rc;

impl<'a> Ragged<'a> {
    /// As [`Build::differing`].
    pub fn differing(&self, other: &Ragged<'a>, out: &mut Differing) -> R<()> {
        let rank = |w: &WitnessArrays| match w {
            WitnessArrays::Shape(axes) => Some(axes.len()),
            _ => None,
        };
        for (x, y) in self.witnesses.iter().zip(&other.witnesses) {
            if !matches!(x, WitnessArrays::Dim(_)) {
                out.meet(rank(x), rank(y));
            }
        }
        self.contents.differing(&other.contents, out)
    }

    fn has_functions(&self) -> bool {
        let mut any = false;
        self.tables(&mut |_| any = true);
        any
    }
}

impl<'a> Part<'a> {
    fn differing(&self, other: &Part<'a>, out: &mut Differing) -> R<()> {
        match (self, other) {
            (Part::Base { .. }, Part::Base { .. }) | (Part::Fns { .. }, Part::Fns { .. }) => Ok(()),
            (Part::Tuple(xs), Part::Tuple(ys)) if xs.len() == ys.len() => {
                xs.iter().zip(ys).try_for_each(|(x, y)| x.differing(y, out))
            }
            (Part::Box(x), Part::Box(y)) => x.differing(y, out),
            (Part::Boxes { inner: x, .. }, Part::Boxes { inner: y, .. }) => x.differing(y, out),
            _ => bug("boxes of different types meet"),
        }
    }
}

impl<'a> Build<'a> {
    /// As [`Build::made_opaque`].
    pub fn ragged_opaque(&mut self, r: &Ragged<'a>, which: &mut std::slice::Iter<'_, bool>) -> R<Ragged<'a>> {
        if r.has_functions() && which.as_slice().contains(&true) {
            // Functions in boxes mention the dims that each box has for itself.
            let (frame, ty) = (r.frame.clone(), ArrTy::scalar(r.ty.clone()));
            let mut after = which.clone();
            let made = self.map("a", &frame, &ty, |b, at| {
                let one = b.ragged_cell(r, at)?;
                let one = b.stored_flat(one, &ty)?;
                b.made_opaque(&one, &ty, &mut after)
            })?;
            *which = after;
            return match made {
                Val::Ragged(r) => Ok((*r).clone()),
                _ => bug("an array of boxes that is none"),
            };
        }
        let mut witnesses = Vec::with_capacity(r.witnesses.len());
        for w in &r.witnesses {
            let made = !matches!(w, WitnessArrays::Dim(_)) && which.next().is_some_and(|made| *made);
            witnesses.push(match w {
                WitnessArrays::Shape(axes) if made => self.opaque_arrays(&r.frame, axes)?,
                w => w.clone(),
            });
        }
        let contents = self.part_opaque(&r.contents, which)?;
        Ok(Ragged { frame: r.frame.clone(), ty: r.ty.clone(), witnesses, contents })
    }

    fn part_opaque(&mut self, p: &Part<'a>, which: &mut std::slice::Iter<'_, bool>) -> R<Part<'a>> {
        Ok(match p {
            Part::Base { .. } | Part::Fns { .. } => p.clone(),
            Part::Tuple(parts) => {
                Part::Tuple(parts.iter().map(|p| self.part_opaque(p, which)).collect::<R<Vec<_>>>()?)
            }
            Part::Box(r) => Part::Box(Rc::new(self.ragged_opaque(r, which)?)),
            Part::Boxes { starts, inner } => {
                Part::Boxes { starts: *starts, inner: Rc::new(self.ragged_opaque(inner, which)?) }
            }
        })
    }

    /// Shapes of one known rank, given axis by axis.
    fn opaque_arrays(&mut self, frame: &[Atom], axes: &[Atom]) -> R<WitnessArrays> {
        let int = BaseTy::I64;
        let rank = Atom::int(axes.len() as i64);
        let ranks = self.tabulate("rank", int, frame, Vec::new(), |_, _| Ok(rank))?;
        let sizes = self.tabulate("size", int, frame, Vec::new(), |b, at| {
            let dims = axes.iter().map(|a| b.index(*a, at)).collect::<R<Vec<_>>>()?;
            b.product(&dims)
        })?;
        let starts = self.tabulate("starts", int, frame, Vec::new(), |b, at| {
            let mut place = Atom::int(0);
            for (i, n) in at.iter().zip(frame) {
                let before = b.op(ScalarOp::Mul, &[place, *n])?;
                place = b.sum(before, *i)?;
            }
            b.op(ScalarOp::Mul, &[place, rank])
        })?;
        let data = if axes.is_empty() {
            self.literal("dims", int, vec![Atom::int(0)], Vec::new())?
        } else {
            let all = self.tabulate("dims", int, frame, vec![rank], |b, at| {
                let dims = axes.iter().map(|a| b.index(*a, at)).collect::<R<Vec<_>>>()?;
                b.literal("dims", int, vec![rank], dims)
            })?;
            let boxes = self.product(frame)?;
            let count = self.op(ScalarOp::Mul, &[boxes, rank])?;
            self.shaped(all, &[count])?
        };
        Ok(WitnessArrays::Opaque { ranks, sizes, dims: Stored { data, starts } })
    }
}
