//! Private memory that each lane has for itself.
//!
//! A small array that the body of a loop in lanes makes is another one in each lane. They lie side by side, so that the
//! same element of all of them is a vector, and one that is always used at constant indices lives in registers:
//!
//! ```text
//! (alloc (%m private float 2 2)) … (store %m (0 1) %x)        m: 4 vectors; x is the second of them
//! ```
//!
//! Lanes for which there is no iteration have memory like the others, and what they leave there nobody sees: they need
//! no mask, but for indices that differ, which are nonsense in them. Only rows side by side ([`super::beside`]) keep what they
//! have while others go on.

use super::Fun;
use super::memory::Offset;
use super::pieces::{Piece, Pieces, piece};
use crate::error::EmitError;
use crate::values::Value;
use inkwell::values::IntValue;
use remc_kernel::ir::Var;

impl<'ctx> Fun<'_, 'ctx> {
    pub fn load_own(&mut self, buffer: Var, at: &[Pieces<'ctx>]) -> Result<Pieces<'ctx>, EmitError> {
        let (ty, base, at) = self.own_part(buffer, at)?;
        let v = match self.offset(&ty, &at, 0)? {
            Offset::Uniform(i) => self.read(buffer, ty.base, base, self.first_of(i)?, self.lanes)?,
            offset => self.gather(buffer, ty.base, base, &Offset::Vector(self.own_offsets(&offset)?))?,
        };
        Ok(Pieces::from_elem(Piece::Vector(v), 1))
    }

    pub fn store_own(
        &mut self,
        buffer: Var,
        at: &[Pieces<'ctx>],
        value: &Pieces<'ctx>,
    ) -> Result<(), EmitError> {
        let (ty, base, at) = self.own_part(buffer, at)?;
        let mut v = self.vector(piece(value, 0)?)?;
        // Rows that are side by side keep what they have while others go on.
        let others = self.mask.filter(|_| self.beside.is_some());
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
                let all = Offset::Vector(self.own_offsets(&offset)?);
                self.store_anywhere(buffer, (ty.base, base), &all, Piece::Vector(v), mask)
            }
            (offset, None) => {
                let all = Offset::Vector(self.own_offsets(&offset)?);
                for lane in 0..self.lanes.unwrap_or(1) {
                    let x = self.lane(Piece::Vector(v), self.i64(i64::from(lane)).into())?;
                    self.write(buffer, ty.base, base, self.offset_of_lane(&all, lane)?, x)?;
                }
                Ok(())
            }
        }
    }

    /// Where the first lane has element `i`.
    fn first_of(&self, i: IntValue<'ctx>) -> Result<IntValue<'ctx>, EmitError> {
        let lanes = self.i64(i64::from(self.lanes.unwrap_or(1)));
        Ok(self.e.builder.build_int_nsw_mul(i, lanes, "")?)
    }

    /// Where each lane has the element that it wants.
    fn own_offsets(&self, offset: &Offset<'ctx>) -> Result<Value<'ctx>, EmitError> {
        let lanes = self.lanes.unwrap_or(1);
        let mut at = self.offsets(offset)?;
        if let Some(mask) = self.mask {
            at = mask.or_zero(&self.e, at)?;
        }
        let rows = self.e.mul(at, self.e.splat(self.i64(lanes.into()).into(), lanes)?)?;
        self.e.add(rows, self.vector(Piece::Linear { base: self.i64(0).into(), stride: 1 })?)
    }
}
