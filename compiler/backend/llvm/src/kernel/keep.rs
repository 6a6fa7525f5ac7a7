//! Loops that keep some of their items, in lanes.
//!
//! One iteration after the other such a loop has a branch in each that depends on the data, and a processor that
//! guesses it wrong half of the time. In lanes, what each of `w` iterations keeps is a vector, and whether it does a
//! bit of a mask:
//!
//! ```text
//! x = a b c d   mask = 1 0 1 1       ys[k ..] = a c d _      k += 3
//! ```
//!
//! Registers that are masked are compressed by an instruction. On other processors each lane in turn stores its
//! item where the next one kept goes, and counts its bit. Either writes past the last item that is kept, but not
//! past the items there are: see [`remc_kernel::keep`]. Vectors of which nothing is kept are passed over.

use super::Fun;
use super::counted::Loop;
use super::memory::Offset;
use super::pieces::{Piece, Pieces, piece, uniform};
use super::vary::{self, Known};
use crate::error::EmitError;
use crate::values::Value;
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::IntValue;
use remc_base::BaseTy;
use remc_kernel::ir::{Atom, StmtKind};
use remc_kernel::keep::{Keep, Kept};

/// Registers of that many bits have an instruction that moves the lanes of a mask to the front; lanes of at least so
/// many bits.
const COMPRESSED_BITS: u32 = 512;
const LEAST_BITS: u32 = 32;

impl<'ctx> Fun<'_, 'ctx> {
    /// Emits the loop if its body runs in lanes; whether it does.
    pub fn keep(&mut self, l: &Loop<'_, 'ctx>, keep: &Keep<'_>) -> Result<bool, EmitError> {
        let [carried] = l.carried else { return Ok(false) };
        let before = keep.before.iter().copied();
        let Some(varying) = vary::varying(l.var, [], before, &Known::default()) else { return Ok(false) };
        let varies = |a: &Atom| a.as_var().is_some_and(|v| varying.contains(&v));
        let alike = |k: &Kept<'_>| {
            let start = k.start.is_none_or(|s| !varies(&s));
            start && matches!(&k.store.kind, StmtKind::Store { at, .. } if !at.iter().any(varies))
        };
        if !varies(&keep.cond) || !keep.stores.iter().all(alike) {
            return Ok(false);
        }
        self.lane_varying.extend(varying);
        let w = self.kept_lanes(keep);
        let init = self.carry(l.carried, &[carried.init])?;
        let end = self.whole_steps((l.from, l.to), w)?;
        let kept = self.counted(l.from, end, w, init, &mut |f, i, number| {
            let number = super::int(number[0][0])?;
            f.lanes = Some(w);
            f.env.insert(l.var, Pieces::from_elem(Piece::Linear { base: i.into(), stride: 1 }, 1));
            f.bind(carried.param, number.into());
            keep.before.iter().try_for_each(|s| f.stmt(s))?;
            let mask = f.vector(piece(&f.atom(keep.cond)?, 0)?)?;
            let bits = f.e.builder.build_bit_cast(super::scan::vector(mask)?, f.int_ty(w)?, "")?;
            let bits = super::int(bits)?;
            let any = f.e.icmp(IntPredicate::NE, bits.into(), bits.get_type().const_zero().into())?;
            let (yes, join) = (f.append(), f.append());
            f.branch(any, yes, join)?;
            f.position(yes);
            keep.stores.iter().try_for_each(|k| f.store_kept(k, w, mask, number))?;
            f.jump(join)?;
            f.position(join);
            f.lanes = None;
            let bits = f.e.zext(bits.into(), f.e.context.i64_type().into())?;
            let more = f.e.intrinsic("llvm.ctpop", &[], &[bits])?;
            Ok(vec![vec![f.e.add(number.into(), more)?]])
        })?;
        self.serial(&Loop { from: end, ..*l }, kept)?;
        Ok(true)
    }

    /// As many lanes as the widest of what is kept has in a register.
    fn kept_lanes(&self, keep: &Keep<'_>) -> u32 {
        let stored = keep.stores.iter().filter_map(|k| match &k.store.kind {
            StmtKind::Store { buffer, .. } => self.buffer_ty(*buffer),
            _ => None,
        });
        let widest = stored.map(|t| t.base.bits()).fold(LEAST_BITS, u32::max);
        self.host.lanes(widest).max(2)
    }

    /// Stores the lanes of a mask one after the other.
    fn store_kept(
        &mut self,
        kept: &Kept<'_>,
        w: u32,
        mask: Value<'ctx>,
        number: IntValue<'ctx>,
    ) -> Result<(), EmitError> {
        let StmtKind::Store { buffer, at, value } = &kept.store.kind else {
            return Err(EmitError::Program("what is kept is stored".into()));
        };
        let (ty, base) = self.buffer(*buffer)?;
        let value = self.vector(piece(&self.atom(*value)?, 0)?)?;
        let mut next = Value::from(number);
        let mut at = match (kept.start, at.split_last()) {
            (Some(start), Some((_, outer))) => {
                next = self.e.add(self.scalar(start)?, next)?;
                let outer = outer.iter().map(|a| self.atom(*a)).collect::<Result<Vec<_>, _>>()?;
                [outer, vec![uniform(next)]].concat()
            }
            _ => at.iter().map(|a| self.atom(*a)).collect::<Result<Vec<_>, _>>()?,
        };
        if self.host.vector_bits == COMPRESSED_BITS && cfg!(target_arch = "x86_64") {
            let Offset::Uniform(place) = self.offset(&ty, &at, 0)? else {
                return Err(EmitError::WrongValue("place"));
            };
            let value = self.compressed(ty.base, value, w, mask)?;
            return self.write(*buffer, ty.base, base, place, value);
        }
        for k in 0..w {
            if let Some(last) = at.last_mut() {
                *last = uniform(next);
            }
            let Offset::Uniform(place) = self.offset(&ty, &at, 0)? else {
                return Err(EmitError::WrongValue("place"));
            };
            let lane: Value<'ctx> = self.i64(k.into()).into();
            self.write(*buffer, ty.base, base, place, self.lane(Piece::Vector(value), lane)?)?;
            let bit = self.lane(Piece::Vector(mask), lane)?;
            next = self.e.add(next, self.e.zext(bit, self.e.context.i64_type().into())?)?;
        }
        Ok(())
    }

    /// The lanes of a mask moved to the front.
    fn compressed(
        &self,
        ty: BaseTy,
        value: Value<'ctx>,
        w: u32,
        mask: Value<'ctx>,
    ) -> Result<Value<'ctx>, EmitError> {
        let int = |bits: u32| self.int_ty(bits).map(BasicTypeEnum::from);
        let (own, lane) = (ty.bits().max(8), COMPRESSED_BITS / w);
        let memory = self.e.to_memory(ty, value)?;
        let bits = self.e.bitcast(memory, int(own)?)?;
        let wide = if own < lane { self.e.zext(bits, int(lane)?)? } else { bits };
        let moved = self.e.intrinsic("llvm.x86.avx512.mask.compress", &[], &[wide, wide, mask])?;
        let bits = if own < lane { self.e.trunc(moved, int(own)?)? } else { moved };
        let element = self.e.memory_ty(ty, None);
        self.e.from_memory(ty, self.e.bitcast(bits, element)?)
    }
}
