//! Copies of views: each element of the result is read from where the view says.
//!
//! What a consumer could index through never gets here; this is a view that is wanted as a whole.

use super::build::{Emit, upto};
use super::leaf::Leaf;
use super::{L, Place, wrong};
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;

impl Leaf<'_> {
    /// Stores in `to` the view of `array`, an array at `from`, that `v` is bound to.
    pub fn view(
        &mut self,
        v: mono::Var,
        view: &mono::View,
        array: mono::Var,
        from: &Place,
        to: &Place,
    ) -> L<()> {
        let dims = self.dims(v)?;
        let source = self.dims(array)?;
        if let mono::View::Append { with } = view {
            let other = self.place(*with)?;
            let more = self.dims(*with)?;
            self.copy(&source, from, to)?;
            let Some(n) = source.first().copied() else { return wrong("append to a scalar") };
            return self.each_of(&more, &mut |l, at| {
                let x = l.load(&other, at)?;
                let first = l.int(ScalarOp::Add, at[0], n)?;
                let mut there = vec![first];
                there.extend(&at[1..]);
                l.store(to, &there, x);
                Ok(())
            });
        }
        self.each_of(&dims, &mut |l, at| {
            let there = l.view_index(view, &source, &dims, at)?;
            let x = l.load(from, &there)?;
            l.store(to, at, x);
            Ok(())
        })
    }

    /// Where element `at` of a view is in its source.
    pub fn view_index(
        &mut self,
        view: &mono::View,
        source: &[Atom],
        dims: &[Atom],
        at: &[Atom],
    ) -> L<Vec<Atom>> {
        use ScalarOp::{Add, Modulo, Sub};
        Ok(match view {
            mono::View::Reshape { .. } => {
                let linear = self.linear(dims, at)?;
                self.unflatten(source, linear)?
            }
            mono::View::Permute { perm } => {
                let mut there = vec![Atom::int(0); perm.len()];
                for (a, k) in at.iter().zip(perm) {
                    there[*k] = *a;
                }
                there
            }
            mono::View::Reverse => {
                let [n, ..] = source else { return wrong("the reverse of a scalar") };
                let last = self.int(Sub, *n, Atom::int(1))?;
                let first = self.int(Sub, last, at[0])?;
                std::iter::once(first).chain(at[1..].iter().copied()).collect()
            }
            mono::View::Rotate { amounts } => {
                let amounts = self.atoms(amounts)?;
                let mut there = at.to_vec();
                for ((a, by), n) in there.iter_mut().zip(amounts).zip(source) {
                    // The amount is brought into range first: a sum could overflow.
                    let by = self.int(Modulo, by, *n)?;
                    let sum = self.int(Add, *a, by)?;
                    *a = self.int(Modulo, sum, *n)?;
                }
                there
            }
            mono::View::Slice { start, .. } => {
                let start = self.atoms(start)?;
                let mut there = at.to_vec();
                for (a, s) in there.iter_mut().zip(start) {
                    *a = self.int(Add, *a, s)?;
                }
                there
            }
            mono::View::Wrap { start, .. } => {
                let start = self.atoms(start)?;
                let mut there = at.to_vec();
                for ((a, s), n) in there.iter_mut().zip(start).zip(source) {
                    let (a0, s) = (self.int(Modulo, *a, *n)?, self.int(Modulo, s, *n)?);
                    let sum = self.int(Add, a0, s)?;
                    *a = self.int(Modulo, sum, *n)?;
                }
                there
            }
            mono::View::Cycle { .. } => {
                let linear = self.linear(dims, at)?;
                let size = self.product(source)?;
                let linear = self.int(Modulo, linear, size)?;
                self.unflatten(source, linear)?
            }
            mono::View::Replicate { dims } => at[dims.len()..].to_vec(),
            mono::View::Append { .. } => return wrong("append has two sources"),
        })
    }

    /// The row-major number of a position.
    fn linear(&mut self, dims: &[Atom], at: &[Atom]) -> L<Atom> {
        let mut all = Atom::int(0);
        for (n, a) in dims.iter().zip(at) {
            let scaled = self.int(ScalarOp::Mul, all, *n)?;
            all = self.int(ScalarOp::Add, scaled, *a)?;
        }
        Ok(all)
    }

    /// The position with a row-major number; only called where there is an element.
    fn unflatten(&mut self, dims: &[Atom], linear: Atom) -> L<Vec<Atom>> {
        let mut rest = linear;
        let mut at = vec![Atom::int(0); dims.len()];
        for k in (0..dims.len()).rev() {
            if k == 0 {
                at[0] = rest;
            } else {
                at[k] = self.int(ScalarOp::Modulo, rest, dims[k])?;
                rest = self.int(ScalarOp::Quotient, rest, dims[k])?;
            }
        }
        Ok(at)
    }

    /// Copies part of a range of the first axis of a view; for launches that share a copy.
    pub fn view_tile(
        &mut self,
        view: &mono::View,
        source: &[Atom],
        dims: &[Atom],
        range: Range,
        from: &Place,
        to: &Place,
    ) -> L<()> {
        self.each(How::Seq, "i", range, |l, i| {
            let mut at = vec![i];
            l.view_rest(view, source, dims, from, to, &mut at)
        })
    }

    fn view_rest(
        &mut self,
        view: &mono::View,
        source: &[Atom],
        dims: &[Atom],
        from: &Place,
        to: &Place,
        at: &mut Vec<Atom>,
    ) -> L<()> {
        if at.len() == dims.len() {
            let there = self.view_index(view, source, dims, at)?;
            let x = self.load(from, &there)?;
            self.store(to, at, x);
            return Ok(());
        }
        let n = dims[at.len()];
        self.each(How::Seq, "i", upto(n), |l, i| {
            at.push(i);
            let done = l.view_rest(view, source, dims, from, to, at);
            at.pop();
            done
        })
    }
}
