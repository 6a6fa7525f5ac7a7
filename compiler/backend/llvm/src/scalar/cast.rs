//! Conversions between the base types.

use super::Emit;
use crate::error::EmitError;
use crate::values::{Emitted, Value, like};
use inkwell::types::BasicTypeEnum;
use inkwell::{FloatPredicate, IntPredicate};
use remc_base::scalar::BaseTy;

impl<'ctx> Emit<'_, 'ctx> {
    /// Converts a scalar or each lane, as [`remc_base::ops::cast`] says. What is no Unicode scalar value
    /// becomes an unspecified `char`; [`Emit::cast_failure`] tells.
    pub fn cast(&self, from: BaseTy, to: BaseTy, v: Value<'ctx>) -> Emitted<'ctx> {
        let target = self.llvm_ty(to, None);
        let signed = from.is_signed();
        match to {
            _ if from == to => Ok(v),
            BaseTy::Bool if from.is_float() => {
                let v = self.widened(from, v)?;
                self.fcmp(FloatPredicate::UNE, v, self.float_like(v, 0.0)?)
            }
            BaseTy::Bool => self.icmp(IntPredicate::NE, v, self.int_like(v, 0)?),
            BaseTy::Char if from.is_float() => {
                let n = self.cast(from, BaseTy::I64, v)?;
                self.trunc(n, target)
            }
            _ if from.is_float() && to.is_float() => self.float_to_float(from, to, v),
            _ if from.is_float() => {
                let v = self.widened(from, v)?;
                let name = if to.is_signed() { "llvm.fptosi.sat" } else { "llvm.fptoui.sat" };
                self.intrinsic(name, &[like(v, target)], &[v])
            }
            // An integer beyond the reach of f32's exact ones is an infinity as f16.
            BaseTy::F16 => {
                let x = self.cast(from, BaseTy::F32, v)?;
                self.fptrunc(x, target)
            }
            BaseTy::F32 | BaseTy::F64 if signed => self.sitofp(v, target),
            BaseTy::F32 | BaseTy::F64 => self.uitofp(v, target),
            _ => self.resize(v, self.width(from), self.width(to), signed, target),
        }
    }

    /// The condition under which [`Emit::cast`] has no value: a number that is no `char`.
    pub fn cast_failure(
        &self,
        from: BaseTy,
        to: BaseTy,
        v: Value<'ctx>,
    ) -> Result<Option<Value<'ctx>>, EmitError> {
        if to != BaseTy::Char || matches!(from, BaseTy::Char | BaseTy::Bool | BaseTy::U8) {
            return Ok(None);
        }
        let n = if from == BaseTy::U64 { v } else { self.cast(from, BaseTy::I64, v)? };
        // As unsigned numbers, the negative ones are large.
        let large = self.icmp(IntPredicate::UGT, n, self.int_like(n, 0x10ffff)?)?;
        let surrogate =
            self.icmp(IntPredicate::ULT, self.sub(n, self.int_like(n, 0xd800)?)?, self.int_like(n, 0x800)?)?;
        Ok(Some(self.or(large, surrogate)?))
    }

    /// The width in registers.
    fn width(&self, ty: BaseTy) -> u32 {
        if ty == BaseTy::Bool { 1 } else { ty.bits() }
    }

    fn resize(
        &self,
        v: Value<'ctx>,
        from: u32,
        to: u32,
        signed: bool,
        ty: BasicTypeEnum<'ctx>,
    ) -> Emitted<'ctx> {
        match from.cmp(&to) {
            std::cmp::Ordering::Less if signed => self.sext(v, ty),
            std::cmp::Ordering::Less => self.zext(v, ty),
            std::cmp::Ordering::Equal => Ok(v),
            std::cmp::Ordering::Greater => self.trunc(v, ty),
        }
    }

    pub(super) fn float_to_float(&self, from: BaseTy, to: BaseTy, v: Value<'ctx>) -> Emitted<'ctx> {
        let target = self.llvm_ty(to, None);
        if from.bits() < to.bits() {
            return self.fpext(v, target);
        }
        if (from, to) != (BaseTy::F64, BaseTy::F16) {
            return self.fptrunc(v, target);
        }
        // Few processors go from f64 to f16, and through f32 it would be rounded twice. Rounding to odd in
        // between (toward zero, then the last bit set where anything was lost) keeps the second right.
        let (i32t, f32t, f64t) = (self.context.i32_type(), self.context.f32_type(), self.context.f64_type());
        let near = self.fptrunc(v, f32t.into())?;
        let back = self.fpext(near, f64t.into())?;
        let inexact = self.fcmp(FloatPredicate::ONE, back, v)?;
        let (a, b) = (self.intrinsic("llvm.fabs", &[], &[back])?, self.intrinsic("llvm.fabs", &[], &[v])?);
        let away = self.fcmp(FloatPredicate::OGT, a, b)?;
        let bits = self.bitcast(near, i32t.into())?;
        let odd = self.sub(bits, self.zext(away, i32t.into())?)?;
        let odd = self.or(odd, self.int_like(odd, 1)?)?;
        let rounded = self.select(inexact, self.bitcast(odd, f32t.into())?, near)?;
        self.fptrunc(rounded, target)
    }
}
