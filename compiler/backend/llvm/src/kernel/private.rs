//! Lane-private arrays: private memory that each lane has for itself.
//!
//! A small array that the body of a loop in lanes makes is another one in each lane. They lie side by side, so that the
//! same element of all of them is a vector, and one that is always used at constant indices lives in registers:
//!
//! ```text
//! (alloc (%m private float 2 2)) … (store %m (0 1) %x)        m: 4 vectors; x is the second of them
//! ```
//!
//! Where lanes want different ones of a few elements (`lanes.few`), each is chosen from all of them, which is no more than to
//! find each lane's: so memory that is at constant indices else stays in registers.
//!
//! Lanes for which there is no iteration have memory like the others, and what they leave there nobody sees: they need
//! no mask, but for indices that differ, which are nonsense in them. Only those that are off for a while, in the branch of
//! others or in rounds of loops that they are done with, keep what they have.

use super::Fun;
use super::memory::Offset;
use super::pieces::{Piece, Pieces, piece};
use super::tail::Which;
use crate::error::EmitError;
use crate::values::Value;
use inkwell::IntPredicate;
use inkwell::values::IntValue;
use remc_kernel::ir::{BufferTy, Var};
use remc_kernel::schedule::Field;

impl<'ctx> Fun<'_, 'ctx> {
    pub fn load_private(&mut self, buffer: Var, at: &[Pieces<'ctx>]) -> Result<Pieces<'ctx>, EmitError> {
        let (ty, base, at) = self.private_part(buffer, at)?;
        if let Some((first, others)) = self.few_places(&ty, &at)?.as_deref().and_then(<[_]>::split_first) {
            let of = |i: &IntValue<'ctx>| self.read(buffer, ty.base, base, self.first_of(*i)?, self.lanes);
            let mut v = of(&first.1)?;
            for (here, i) in others {
                v = self.e.select(*here, of(i)?, v)?;
            }
            return Ok(Pieces::from_elem(Piece::Vector(v), 1));
        }
        let v = match self.offset(&ty, &at, 0)? {
            Offset::Uniform(i) => self.read(buffer, ty.base, base, self.first_of(i)?, self.lanes)?,
            offset => self.gather(buffer, ty.base, base, &Offset::Vector(self.private_offsets(&offset)?))?,
        };
        Ok(Pieces::from_elem(Piece::Vector(v), 1))
    }

    pub fn store_private(
        &mut self,
        buffer: Var,
        at: &[Pieces<'ctx>],
        value: &Pieces<'ctx>,
    ) -> Result<(), EmitError> {
        let (ty, base, at) = self.private_part(buffer, at)?;
        let mut v = self.vector(piece(value, 0)?)?;
        let others = self.mask.filter(|m| matches!(m.which, Which::Any));
        if let Some(places) = self.few_places(&ty, &at)? {
            for (here, i) in places {
                let here = match others {
                    Some(mask) => self.e.and(here, mask.lanes)?,
                    None => here,
                };
                let i = self.first_of(i)?;
                let before = self.read(buffer, ty.base, base, i, self.lanes)?;
                self.write(buffer, ty.base, base, i, self.e.select(here, v, before)?)?;
            }
            return Ok(());
        }
        match (self.offset(&ty, &at, 0)?, others) {
            (Offset::Uniform(i), _) => {
                let first = self.first_of(i)?;
                if let Some(mask) = others {
                    let before = self.read(buffer, ty.base, base, first, self.lanes)?;
                    v = self.e.select(mask.lanes, v, before)?;
                }
                self.write(buffer, ty.base, base, first, v)
            }
            (offset, Some(mask)) => {
                let all = Offset::Vector(self.private_offsets(&offset)?);
                self.store_anywhere(buffer, (ty.base, base), &all, Piece::Vector(v), mask)
            }
            (offset, None) => {
                let all = Offset::Vector(self.private_offsets(&offset)?);
                for lane in 0..self.lanes.unwrap_or(1) {
                    let x = self.lane(Piece::Vector(v), self.i64(i64::from(lane)).into())?;
                    self.write(buffer, ty.base, base, self.offset_of_lane(&all, lane)?, x)?;
                }
                Ok(())
            }
        }
    }

    /// The elements that indices which differ between lanes may mean, if these are few: for each the lanes that mean it,
    /// and its number.
    fn few_places(
        &self,
        ty: &BufferTy,
        at: &[Pieces<'ctx>],
    ) -> Result<Option<Vec<(Value<'ctx>, IntValue<'ctx>)>>, EmitError> {
        let (b, mut all) = (self.e.builder, vec![(None, self.i64(0))]);
        let most = self.schedule[Field::FewPlaces] as usize;
        for (index, dim) in at.iter().zip(&ty.dims) {
            let index = piece(index, 0)?;
            let n = dim.as_int().and_then(|n| usize::try_from(n).ok());
            let Some(n) = n.filter(|n| matches!(index, Piece::Uniform(_)) || n * all.len() <= most) else {
                return Ok(None);
            };
            let (dim, mut longer) = (self.size(*dim)?, Vec::new());
            for (here, i) in all {
                let first: IntValue<'ctx> = b.build_int_nsw_mul(i, dim, "")?;
                if let Piece::Uniform(k) = index {
                    longer.push((here, b.build_int_nsw_add(first, super::int(k)?, "")?));
                    continue;
                }
                for k in 0..n {
                    let k = self.i64(k as i64);
                    let same = self.e.icmp(
                        IntPredicate::EQ,
                        self.vector(index)?,
                        self.vector(Piece::Uniform(k.into()))?,
                    )?;
                    let here = match here {
                        Some(here) => self.e.and(here, same)?,
                        None => same,
                    };
                    longer.push((Some(here), b.build_int_nsw_add(first, k, "")?));
                }
            }
            all = longer;
        }
        Ok(all.into_iter().map(|(here, i)| Some((here?, i))).collect())
    }

    /// Where the first lane has element `i`.
    fn first_of(&self, i: IntValue<'ctx>) -> Result<IntValue<'ctx>, EmitError> {
        let lanes = self.i64(i64::from(self.lanes.unwrap_or(1)));
        Ok(self.e.builder.build_int_nsw_mul(i, lanes, "")?)
    }

    /// Where each lane has the element that it wants.
    fn private_offsets(&self, offset: &Offset<'ctx>) -> Result<Value<'ctx>, EmitError> {
        let lanes = self.lanes.unwrap_or(1);
        let mut at = self.offsets(offset)?;
        if let Some(mask) = self.mask {
            at = mask.or_zero(&self.e, at)?;
        }
        let rows = self.e.mul(at, self.e.splat(self.i64(lanes.into()).into(), lanes)?)?;
        self.e.add(rows, self.vector(Piece::Linear { base: self.i64(0).into(), stride: 1 })?)
    }
}
