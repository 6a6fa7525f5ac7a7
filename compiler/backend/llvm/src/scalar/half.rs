//! What compares `f16`, in integers.
//!
//! LLVM takes a comparison of halves that were widened to `float` for one of the halves themselves. Few processors
//! have that, and for vectors LLVM 19 then compares one lane after the other: ten thousand instructions for a vector of
//! 128 lanes. Integers of 16 bits are compared in lanes everywhere. Read as an integer with a sign and a magnitude, the
//! bits of a half have its order; what is above an infinity's is a NaN.

use super::Emit;
use crate::values::{Emitted, Value};
use inkwell::IntPredicate;
use remc_base::ops::ScalarOp;

const MAGNITUDE: i64 = 0x7fff;
const INFINITY: i64 = 0x7c00;
const NAN: i64 = 0x7e00;
const ONE: i64 = 0x3c00;
const MINUS_ONE: i64 = 0xbc00;

impl<'ctx> Emit<'_, 'ctx> {
    /// `=`, `<` and their like. A NaN is unequal to all, and in no order with any.
    pub(super) fn compare_halves(&self, op: ScalarOp, x: Value<'ctx>, y: Value<'ctx>) -> Emitted<'ctx> {
        let p = match op {
            ScalarOp::Eq => IntPredicate::EQ,
            ScalarOp::Ne => IntPredicate::NE,
            ScalarOp::Lt => IntPredicate::SLT,
            ScalarOp::Le => IntPredicate::SLE,
            ScalarOp::Gt => IntPredicate::SGT,
            _ => IntPredicate::SGE,
        };
        let (xb, yb) = (self.half_bits(x)?, self.half_bits(y)?);
        let holds = self.icmp(p, self.half_order(xb)?, self.half_order(yb)?)?;
        let unordered = self.or(self.half_is_nan(xb)?, self.half_is_nan(yb)?)?;
        match op {
            ScalarOp::Ne => self.or(holds, unordered),
            _ => self.and(holds, self.xor(unordered, self.int_like(unordered, -1)?)?),
        }
    }

    /// `min2` or `max2`: NaN wins, and -0.0 is less than 0.0.
    pub(super) fn least_or_greatest_half(
        &self,
        op: ScalarOp,
        x: Value<'ctx>,
        y: Value<'ctx>,
    ) -> Emitted<'ctx> {
        let name = if op == ScalarOp::Min2 { "llvm.smin" } else { "llvm.smax" };
        let (xb, yb) = (self.half_bits(x)?, self.half_bits(y)?);
        let chosen = self.intrinsic(name, &[], &[self.flipped(xb)?, self.flipped(yb)?])?;
        let nan = self.or(self.half_is_nan(xb)?, self.half_is_nan(yb)?)?;
        let bits = self.select(nan, self.int_like(xb, NAN)?, self.flipped(chosen)?)?;
        self.bitcast(bits, self.context.f16_type().into())
    }

    /// 1.0, -1.0 or 0.0; a NaN stays.
    pub(super) fn sign_of_half(&self, x: Value<'ctx>) -> Emitted<'ctx> {
        let bits = self.half_bits(x)?;
        let (order, zero) = (self.half_order(bits)?, self.int_like(bits, 0)?);
        let negative = self.icmp(IntPredicate::SLT, order, zero)?;
        let positive = self.icmp(IntPredicate::SGT, order, zero)?;
        let sign = self.select(negative, self.int_like(bits, MINUS_ONE)?, zero)?;
        let sign = self.select(positive, self.int_like(bits, ONE)?, sign)?;
        let sign = self.select(self.half_is_nan(bits)?, bits, sign)?;
        self.bitcast(sign, self.context.f16_type().into())
    }

    fn half_bits(&self, x: Value<'ctx>) -> Emitted<'ctx> {
        self.bitcast(x, self.context.i16_type().into())
    }

    fn half_is_nan(&self, bits: Value<'ctx>) -> Emitted<'ctx> {
        let magnitude = self.and(bits, self.int_like(bits, MAGNITUDE)?)?;
        self.icmp(IntPredicate::SGT, magnitude, self.int_like(bits, INFINITY)?)
    }

    /// An integer of a half's place in the order of numbers, both zeros' 0.
    fn half_order(&self, bits: Value<'ctx>) -> Emitted<'ctx> {
        let sign = self.ashr(bits, self.int_like(bits, 15)?)?;
        let magnitude = self.and(bits, self.int_like(bits, MAGNITUDE)?)?;
        self.sub(self.xor(magnitude, sign)?, sign)
    }

    /// An integer of a half's place, -0.0 before 0.0; of such an integer, the half's bits.
    fn flipped(&self, bits: Value<'ctx>) -> Emitted<'ctx> {
        let sign = self.ashr(bits, self.int_like(bits, 15)?)?;
        self.xor(bits, self.and(sign, self.int_like(bits, MAGNITUDE)?)?)
    }
}
