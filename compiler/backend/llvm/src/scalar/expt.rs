//! `expt`: repeated squaring for integral exponents, a logarithm and an exponential for others (`power.rs`).
//!
//! The power of a float base is computed in `f64` and rounded once, with the multiplications of the table
//! in their order, so that an integral exponent gives the same bits everywhere. A small constant exponent
//! becomes these multiplications in line, and a constant that is no integer the functions (both in vectors, too). So do floats in
//! lanes of which none is an integer; any other exponent calls a helper for each lane.

use super::Emit;
use crate::error::EmitError;
use crate::values::{Emitted, Value, element, lanes, uniform_constant};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, FunctionValue};
use inkwell::{FloatPredicate, IntPredicate};
use remc_base::scalar::BaseTy;

/// The largest constant exponent that is multiplied out in line: at most 12 multiplications.
const INLINE_EXPONENT: u64 = 64;

/// Integral floats below this are exponents for repeated squaring; larger ones are left to `pow`.
const LARGEST_INTEGRAL: f64 = 1e30;

impl<'ctx> Emit<'_, 'ctx> {
    pub(super) fn expt(
        &self,
        ty: BaseTy,
        exponent_ty: BaseTy,
        x: Value<'ctx>,
        e: Value<'ctx>,
    ) -> Emitted<'ctx> {
        let working = if ty.is_float() { BaseTy::F64 } else { ty };
        let base = self.cast(ty, working, x)?;
        let power = match constant_exponent(exponent_ty, e) {
            Some(n) if n.unsigned_abs() <= INLINE_EXPONENT && (n >= 0 || ty.is_float()) => {
                self.constant_power(base, n)?
            }
            None if exponent_ty.is_float() && ty.is_float() && is_fraction(e) => {
                self.power(ty == BaseTy::F64, base, self.cast(exponent_ty, BaseTy::F64, e)?)?
            }
            _ => {
                let wide = match exponent_ty {
                    t if t.is_float() => BaseTy::F64,
                    t if t.is_signed() => BaseTy::I64,
                    _ => BaseTy::U64,
                };
                let e = self.cast(exponent_ty, wide, e)?;
                match lanes(base) {
                    Some(_) if ty.is_float() && wide == BaseTy::F64 => {
                        self.powers(ty == BaseTy::F64, base, e)?
                    }
                    _ => self.power_by_lane(working, wide, base, e)?,
                }
            }
        };
        self.cast(working, ty, power)
    }

    fn power_by_lane(&self, base: BaseTy, exponent: BaseTy, x: Value<'ctx>, e: Value<'ctx>) -> Emitted<'ctx> {
        let f = self.power_helper(base, exponent)?;
        self.per_lane(&[x, e], element(x), |a| self.call(f, a))
    }

    /// The powers of lanes of `f64`, together if no exponent is an integer; as [`Emit::power`] is exact.
    fn powers(&self, exact: bool, x: Value<'ctx>, e: Value<'ctx>) -> Emitted<'ctx> {
        let width = lanes(x).unwrap_or(1);
        let short = if exact { "" } else { ".short" };
        let name = format!("remc.powers.{width}{short}");
        let f = self.helper(&name, x.get_type(), &[x.get_type(), e.get_type()], |this, f| {
            let wrong = EmitError::WrongValue("expt");
            let [x, e] = f.get_params()[..] else { return Err(wrong) };
            let size = this.intrinsic("llvm.fabs", &[], &[e])?;
            let reachable = this.fcmp(FloatPredicate::OLT, size, this.float_like(e, LARGEST_INTEGRAL)?)?;
            let whole = this.intrinsic("llvm.trunc", &[], &[e])?;
            let fractions = this.and(reachable, this.fcmp(FloatPredicate::UNE, e, whole)?)?;
            let all = this.intrinsic("llvm.vector.reduce.and", &[], &[fractions])?;
            let BasicValueEnum::IntValue(all) = all else { return Err(wrong) };
            let [together, apart] = [(); 2].map(|()| this.context.append_basic_block(f, ""));
            this.builder.build_conditional_branch(all, together, apart)?;
            this.builder.position_at_end(together);
            this.builder.build_return(Some(&this.power(exact, x, e)?))?;
            this.builder.position_at_end(apart);
            let power = this.power_by_lane(BaseTy::F64, BaseTy::F64, x, e)?;
            this.builder.build_return(Some(&power))?;
            Ok(())
        })?;
        self.call(f, &[x, e])
    }

    fn times(&self, a: Value<'ctx>, b: Value<'ctx>) -> Emitted<'ctx> {
        match element(a) {
            BasicTypeEnum::FloatType(_) => self.fmul(a, b),
            _ => self.mul(a, b),
        }
    }

    fn constant_power(&self, base: Value<'ctx>, exponent: i64) -> Emitted<'ctx> {
        let mut result: Option<Value<'ctx>> = None;
        let (mut square, mut n) = (base, exponent.unsigned_abs());
        while n > 0 {
            if n & 1 == 1 {
                result = Some(match result {
                    Some(r) => self.times(r, square)?,
                    None => square,
                });
            }
            n >>= 1;
            if n > 0 {
                square = self.times(square, square)?;
            }
        }
        match (result, element(base)) {
            (None, BasicTypeEnum::FloatType(_)) => self.float_like(base, 1.0),
            (None, _) => self.int_like(base, 1),
            (Some(r), _) if exponent < 0 => self.fdiv(self.float_like(base, 1.0)?, r),
            (Some(r), _) => Ok(r),
        }
    }

    /// A function from a base (an integer or `f64`) and an exponent (`i64`, `u64` or `f64`) to the power.
    fn power_helper(&self, base: BaseTy, exponent: BaseTy) -> Result<FunctionValue<'ctx>, EmitError> {
        let name = format!("remc.expt.{base}.{exponent}");
        let (base_ty, exponent_ty) = (self.llvm_ty(base, None), self.llvm_ty(exponent, None));
        self.helper(&name, base_ty, &[base_ty, exponent_ty], |e, f| {
            let (Some(x), Some(n)) = (f.get_nth_param(0), f.get_nth_param(1)) else {
                return Err(EmitError::WrongValue("expt"));
            };
            if exponent.is_float() {
                e.float_exponent(f, base, x, n)
            } else {
                e.int_exponent(f, base, exponent, x, n)
            }
        })
    }

    fn int_exponent(
        &self,
        f: FunctionValue<'ctx>,
        base: BaseTy,
        exponent: BaseTy,
        x: Value<'ctx>,
        n: Value<'ctx>,
    ) -> Result<(), EmitError> {
        let zero = self.int_like(n, 0)?;
        let negative = self.icmp(IntPredicate::SLT, n, zero)?;
        let magnitude = match exponent.is_signed() {
            true => self.select(negative, self.sub(zero, n)?, n)?,
            false => n,
        };
        let power = self.squaring(f, x, magnitude, |e, n| {
            let odd = e.icmp(IntPredicate::NE, e.and(n, e.int_like(n, 1)?)?, e.int_like(n, 0)?)?;
            let rest = e.lshr(n, e.int_like(n, 1)?)?;
            Ok((odd, rest, e.icmp(IntPredicate::NE, rest, e.int_like(n, 0)?)?))
        })?;
        let power = match base.is_float() && exponent.is_signed() {
            true => self.select(negative, self.fdiv(self.float_like(x, 1.0)?, power)?, power)?,
            false => power,
        };
        self.builder.build_return(Some(&power))?;
        Ok(())
    }

    fn float_exponent(
        &self,
        f: FunctionValue<'ctx>,
        base: BaseTy,
        x: Value<'ctx>,
        n: Value<'ctx>,
    ) -> Result<(), EmitError> {
        let (integral, other) =
            (self.context.append_basic_block(f, ""), self.context.append_basic_block(f, ""));
        let zero = self.float_like(n, 0.0)?;
        let magnitude = self.intrinsic("llvm.fabs", &[], &[n])?;
        let whole = self.fcmp(FloatPredicate::OEQ, n, self.intrinsic("llvm.trunc", &[], &[n])?)?;
        let reachable = self.fcmp(FloatPredicate::OLT, magnitude, self.float_like(n, LARGEST_INTEGRAL)?)?;
        let BasicValueEnum::IntValue(is_integral) = self.and(whole, reachable)? else {
            return Err(EmitError::WrongValue("expt"));
        };
        self.builder.build_conditional_branch(is_integral, integral, other)?;

        self.builder.position_at_end(integral);
        let power = self.squaring(f, x, magnitude, |e, n| {
            // Halving is exact, so the bits of an integral double can be read off one by one.
            let half = e.fmul(n, e.float_like(n, 0.5)?)?;
            let rest = e.intrinsic("llvm.trunc", &[], &[half])?;
            let odd = e.fcmp(FloatPredicate::UNE, half, rest)?;
            Ok((odd, rest, e.fcmp(FloatPredicate::UNE, rest, e.float_like(n, 0.0)?)?))
        })?;
        let power = if base.is_float() {
            let negative = self.fcmp(FloatPredicate::OLT, n, zero)?;
            self.select(negative, self.fdiv(self.float_like(x, 1.0)?, power)?, power)?
        } else {
            power
        };
        self.builder.build_return(Some(&power))?;

        self.builder.position_at_end(other);
        let (fraction, beyond) =
            (self.context.append_basic_block(f, ""), self.context.append_basic_block(f, ""));
        let BasicValueEnum::IntValue(is_fraction) = reachable else {
            return Err(EmitError::WrongValue("expt"));
        };
        self.builder.build_conditional_branch(is_fraction, fraction, beyond)?;
        self.builder.position_at_end(fraction);
        let power = self.power(true, self.cast(base, BaseTy::F64, x)?, n)?;
        self.builder.build_return(Some(&self.cast(BaseTy::F64, base, power)?))?;

        self.builder.position_at_end(beyond);
        let pow = self.library("pow", self.context.f64_type().into(), 2);
        let x = self.cast(base, BaseTy::F64, x)?;
        let power = self.cast(BaseTy::F64, base, self.call(pow, &[x, n])?)?;
        self.builder.build_return(Some(&power))?;
        Ok(())
    }

    /// The loop of repeated squaring. `step` gives whether a remaining exponent is odd, its half rounded
    /// down, and whether that is not zero yet. The builder ends in the block after the loop.
    fn squaring(
        &self,
        f: FunctionValue<'ctx>,
        x: Value<'ctx>,
        exponent: Value<'ctx>,
        step: impl FnOnce(&Self, Value<'ctx>) -> Result<(Value<'ctx>, Value<'ctx>, Value<'ctx>), EmitError>,
    ) -> Emitted<'ctx> {
        let entry = self.builder.get_insert_block().ok_or(EmitError::WrongValue("expt"))?;
        let (head, done) = (self.context.append_basic_block(f, ""), self.context.append_basic_block(f, ""));
        let one = match x.get_type() {
            BasicTypeEnum::FloatType(_) => self.float_like(x, 1.0)?,
            _ => self.int_like(x, 1)?,
        };
        self.builder.build_unconditional_branch(head)?;
        self.builder.position_at_end(head);
        let result = self.builder.build_phi(x.get_type(), "")?;
        let square = self.builder.build_phi(x.get_type(), "")?;
        let left = self.builder.build_phi(exponent.get_type(), "")?;
        let (odd, rest, BasicValueEnum::IntValue(again)) = step(self, left.as_basic_value())? else {
            return Err(EmitError::WrongValue("expt"));
        };
        let product = self.times(result.as_basic_value(), square.as_basic_value())?;
        let next = self.select(odd, product, result.as_basic_value())?;
        let squared = self.times(square.as_basic_value(), square.as_basic_value())?;
        self.builder.build_conditional_branch(again, head, done)?;
        result.add_incoming(&[(&one, entry), (&next, head)]);
        square.add_incoming(&[(&x, entry), (&squared, head)]);
        left.add_incoming(&[(&exponent, entry), (&rest, head)]);
        self.builder.position_at_end(done);
        Ok(next)
    }
}

/// Whether the exponent is the same number in every lane, and no integer.
fn is_fraction(e: Value<'_>) -> bool {
    match uniform_constant(e) {
        Some(BasicValueEnum::FloatValue(x)) => {
            x.get_constant().is_some_and(|(x, _)| x.is_finite() && x != x.trunc())
        }
        _ => false,
    }
}

/// The exponent, if it is the same integral constant in every lane.
fn constant_exponent(ty: BaseTy, e: Value<'_>) -> Option<i64> {
    match uniform_constant(e)? {
        BasicValueEnum::IntValue(n) if ty.is_signed() => n.get_sign_extended_constant(),
        BasicValueEnum::IntValue(n) => n.get_zero_extended_constant().and_then(|n| i64::try_from(n).ok()),
        BasicValueEnum::FloatValue(x) => {
            let (x, _) = x.get_constant()?;
            (x == x.trunc() && x.abs() <= INLINE_EXPONENT as f64).then_some(x as i64)
        }
        _ => None,
    }
}
