//! Operators of the integer types.

use super::Emit;
use crate::error::EmitError;
use crate::values::{Emitted, Value, element, lanes, uniform_constant};
use inkwell::IntPredicate;
use inkwell::types::BasicTypeEnum;
use inkwell::values::BasicValueEnum;
use remc_base::ops::ScalarOp;
use remc_base::scalar::BaseTy;

/// The double whose bits count in ones from it on, and back: 1.5 · 2^52.
const SHIFTER: f64 = 6_755_399_441_055_744.0;

impl<'ctx> Emit<'_, 'ctx> {
    pub(super) fn int_unary(&self, op: ScalarOp, ty: BaseTy, x: Value<'ctx>) -> Emitted<'ctx> {
        let zero = self.int_like(x, 0)?;
        match op {
            ScalarOp::Negate => self.sub(zero, x),
            ScalarOp::Abs => self.absolute(ty, x),
            ScalarOp::Sign => {
                let positive =
                    self.icmp(if ty.is_signed() { IntPredicate::SGT } else { IntPredicate::UGT }, x, zero)?;
                let positive = self.zext(positive, element(x))?;
                if !ty.is_signed() {
                    return Ok(positive);
                }
                // The sign bit in every place is -1 or 0.
                let negative = self.ashr(x, self.int_like(x, ty.bits() as i64 - 1)?)?;
                self.or(negative, positive)
            }
            ScalarOp::Floor | ScalarOp::Ceiling | ScalarOp::Round | ScalarOp::Truncate => Ok(x),
            _ => Err(EmitError::WrongOperands { op, tys: vec![ty] }),
        }
    }

    pub(super) fn int_binary(
        &self,
        op: ScalarOp,
        ty: BaseTy,
        x: Value<'ctx>,
        y: Value<'ctx>,
    ) -> Emitted<'ctx> {
        let signed = ty.is_signed();
        match op {
            ScalarOp::Add => self.add(x, y),
            ScalarOp::Sub => self.sub(x, y),
            ScalarOp::Mul => self.mul(x, y),
            ScalarOp::Quotient => Ok(self.floor_division(ty, x, y)?.0),
            ScalarOp::Modulo => Ok(self.floor_division(ty, x, y)?.1),
            ScalarOp::Min2 => self.intrinsic(if signed { "llvm.smin" } else { "llvm.umin" }, &[], &[x, y]),
            ScalarOp::Max2 => self.intrinsic(if signed { "llvm.smax" } else { "llvm.umax" }, &[], &[x, y]),
            ScalarOp::Gcd => {
                let (x, y) = (self.absolute(ty, x)?, self.absolute(ty, y)?);
                self.per_lane(&[x, y], element(x), |a| self.gcd(a[0], a[1]))
            }
            ScalarOp::Shl => {
                let inside = self.icmp(IntPredicate::ULT, y, self.int_like(y, ty.bits() as i64)?)?;
                self.select(inside, self.shl(x, y)?, self.int_like(x, 0)?)
            }
            ScalarOp::Shr if signed => {
                // Past the width, the greatest shift leaves only copies of the sign.
                let y = self.intrinsic("llvm.umin", &[], &[y, self.int_like(y, ty.bits() as i64 - 1)?])?;
                self.ashr(x, y)
            }
            ScalarOp::Shr => {
                let inside = self.icmp(IntPredicate::ULT, y, self.int_like(y, ty.bits() as i64)?)?;
                self.select(inside, self.lshr(x, y)?, self.int_like(x, 0)?)
            }
            _ => Err(EmitError::WrongOperands { op, tys: vec![ty, ty] }),
        }
    }

    /// The absolute value, wrapping: as an unsigned number it is exact.
    fn absolute(&self, ty: BaseTy, x: Value<'ctx>) -> Emitted<'ctx> {
        if !ty.is_signed() {
            return Ok(x);
        }
        let minus = self.sub(self.int_like(x, 0)?, x)?;
        let negative = self.icmp(IntPredicate::SLT, x, self.int_like(x, 0)?)?;
        self.select(negative, minus, x)
    }

    /// Quotient and remainder, rounded toward minus infinity.
    ///
    /// LLVM leaves a zero divisor and MIN / -1 undefined. Both are divided by 1 instead: the first may
    /// give anything, and the quotient by -1 is the (wrapping) negation.
    fn floor_division(
        &self,
        ty: BaseTy,
        x: Value<'ctx>,
        d: Value<'ctx>,
    ) -> Result<(Value<'ctx>, Value<'ctx>), EmitError> {
        let (zero, one) = (self.int_like(d, 0)?, self.int_like(d, 1)?);
        let is_zero = self.icmp(IntPredicate::EQ, d, zero)?;
        if !ty.is_signed() {
            let safe = self.select(is_zero, one, d)?;
            let q = self.truncated_division(ty, x, safe)?;
            let r = self.sub(x, self.mul(q, safe)?)?;
            return Ok((q, r));
        }
        let is_minus_one = self.icmp(IntPredicate::EQ, d, self.int_like(d, -1)?)?;
        let safe = self.select(self.or(is_zero, is_minus_one)?, one, d)?;
        let q = self.truncated_division(ty, x, safe)?;
        let r = self.sub(x, self.mul(q, safe)?)?;
        // Truncation rounded the wrong way if something is left that has not the divisor's sign.
        let inexact = self.icmp(IntPredicate::NE, r, zero)?;
        let differ = self.icmp(IntPredicate::SLT, self.xor(r, safe)?, zero)?;
        let adjust = self.and(inexact, differ)?;
        let q = self.add(q, self.sext(adjust, element(q))?)?;
        let r = self.add(r, self.select(adjust, safe, zero)?)?;
        let q = self.select(is_minus_one, self.sub(zero, x)?, q)?;
        Ok((q, r))
    }

    /// Division toward zero by a divisor that is neither 0 nor -1.
    ///
    /// No vector unit divides integers, but doubles hold 32-bit numbers exactly, and the quotient of two
    /// of them is never so near to the next integer that rounding would reach it. A constant divisor is
    /// left to LLVM, which multiplies instead; numbers of 64 bits are mostly small enough ([`Self::divided_as_doubles`]).
    fn truncated_division(&self, ty: BaseTy, x: Value<'ctx>, d: Value<'ctx>) -> Emitted<'ctx> {
        let signed = ty.is_signed();
        // By a power of two is a shift.
        let shifts = |n: Value<'ctx>| {
            let BasicValueEnum::IntValue(n) = n else { return false };
            n.get_sign_extended_constant().is_some_and(|n| n.unsigned_abs().is_power_of_two())
        };
        if lanes(x).is_some() && ty.bits() == 64 && !uniform_constant(d).is_some_and(shifts) {
            return self.divided_as_doubles(ty, x, d);
        }
        if lanes(x).is_some() && ty.bits() <= 32 && uniform_constant(d).is_none() {
            let (double, t) = (self.context.f64_type().into(), element(x));
            return if signed {
                let q = self.fdiv(self.sitofp(x, double)?, self.sitofp(d, double)?)?;
                self.fptosi(q, t)
            } else {
                let q = self.fdiv(self.uitofp(x, double)?, self.uitofp(d, double)?)?;
                self.fptoui(q, t)
            };
        }
        if signed { self.sdiv(x, d) } else { self.udiv(x, d) }
    }

    /// Vectors of numbers of 64 bits, divided toward zero by what is neither 0 nor -1.
    ///
    /// Where the magnitude of all of them is below 2^51, each is a double exactly: that of which the bits are those of
    /// 1.5 · 2^52 with the number added to them, less 1.5 · 2^52. A quotient that is no integer differs from the nearest one
    /// by 1/d at least, and from its double by less than a quarter of that. So it is rounded toward zero, and is an integer
    /// again by its bits in the sum with 1.5 · 2^52. Where a number is larger, the lanes are divided one by one.
    fn divided_as_doubles(&self, ty: BaseTy, x: Value<'ctx>, d: Value<'ctx>) -> Emitted<'ctx> {
        let Some(width) = lanes(x) else { return Err(EmitError::WrongValue("a vector")) };
        let f =
            self.helper(&format!("remc.divide.{ty}.{width}"), x.get_type(), &[x.get_type(); 2], |e, f| {
                let [x, d] = f.get_params()[..] else { return Err(EmitError::WrongValue("divide")) };
                let wide = e.float_like(e.bitcast(x, e.context.f64_type().into())?, SHIFTER)?;
                let offset = e.bitcast(wide, element(x))?;
                // Of signed numbers, those below zero come before the others once they are moved.
                let (least, count) = if ty.is_signed() { (1 << 51, 1 << 52) } else { (0, 1 << 51) };
                let small = |n: Value<'ctx>| {
                    let moved = e.add(n, e.int_like(n, least)?)?;
                    e.icmp(IntPredicate::ULT, moved, e.int_like(n, count)?)
                };
                let all = e.intrinsic("llvm.vector.reduce.and", &[], &[e.and(small(x)?, small(d)?)?])?;
                let [fine, large] = [(); 2].map(|()| e.context.append_basic_block(f, ""));
                let BasicValueEnum::IntValue(all) = all else { return Err(EmitError::WrongValue("divide")) };
                e.builder.build_conditional_branch(all, fine, large)?;
                e.builder.position_at_end(fine);
                let double = |n: Value<'ctx>| {
                    let moved = e.bitcast(e.add(n, offset)?, e.context.f64_type().into())?;
                    e.fsub(moved, wide)
                };
                let q = e.fdiv(double(x)?, double(d)?)?;
                let q = e.fadd(e.intrinsic("llvm.trunc", &[], &[q])?, wide)?;
                let q = e.sub(e.bitcast(q, element(x))?, offset)?;
                e.builder.build_return(Some(&q))?;
                e.builder.position_at_end(large);
                let q = if ty.is_signed() { e.sdiv(x, d)? } else { e.udiv(x, d)? };
                e.builder.build_return(Some(&q))?;
                Ok(())
            })?;
        self.call(f, &[x, d])
    }

    /// Euclid's algorithm on unsigned numbers.
    fn gcd(&self, x: Value<'ctx>, y: Value<'ctx>) -> Emitted<'ctx> {
        let BasicTypeEnum::IntType(ty) = x.get_type() else { return Err(EmitError::WrongValue("gcd")) };
        let name = format!("remc.gcd.{}", ty.get_bit_width());
        let f = self.helper(&name, ty.into(), &[ty.into(), ty.into()], |e, f| {
            let entry = e.builder.get_insert_block().ok_or(EmitError::WrongValue("gcd"))?;
            let (head, body, done) = (
                e.context.append_basic_block(f, ""),
                e.context.append_basic_block(f, ""),
                e.context.append_basic_block(f, ""),
            );
            let (Some(x), Some(y)) = (f.get_nth_param(0), f.get_nth_param(1)) else {
                return Err(EmitError::WrongValue("gcd"));
            };
            e.builder.build_unconditional_branch(head)?;
            e.builder.position_at_end(head);
            let (a, b) = (e.builder.build_phi(ty, "")?, e.builder.build_phi(ty, "")?);
            let (av, bv) = (a.as_basic_value(), b.as_basic_value());
            let BasicValueEnum::IntValue(end) = e.icmp(IntPredicate::EQ, bv, ty.const_zero().into())? else {
                return Err(EmitError::WrongValue("gcd"));
            };
            e.builder.build_conditional_branch(end, done, body)?;
            e.builder.position_at_end(body);
            let rest = e.urem(av, bv)?;
            e.builder.build_unconditional_branch(head)?;
            a.add_incoming(&[(&x, entry), (&bv, body)]);
            b.add_incoming(&[(&y, entry), (&rest, body)]);
            e.builder.position_at_end(done);
            e.builder.build_return(Some(&av))?;
            Ok(())
        })?;
        self.call(f, &[x, y])
    }
}
