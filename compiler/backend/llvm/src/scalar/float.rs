//! Operators of `f32` and `f64` (and of `f16` in `f32`) that are exact or rounded once. What compares `f16` is in `half`.

use super::Emit;
use crate::error::EmitError;
use crate::values::{Emitted, Value};
use inkwell::FloatPredicate;
use remc_base::ops::ScalarOp;

impl<'ctx> Emit<'_, 'ctx> {
    pub(super) fn float_unary(&self, op: ScalarOp, x: Value<'ctx>) -> Emitted<'ctx> {
        match op {
            ScalarOp::Negate => self.fneg(x),
            ScalarOp::Abs => self.intrinsic("llvm.fabs", &[], &[x]),
            ScalarOp::Floor => self.intrinsic("llvm.floor", &[], &[x]),
            ScalarOp::Ceiling => self.intrinsic("llvm.ceil", &[], &[x]),
            ScalarOp::Truncate => self.intrinsic("llvm.trunc", &[], &[x]),
            ScalarOp::Round => self.intrinsic("llvm.roundeven", &[], &[x]),
            ScalarOp::Sign => {
                let zero = self.float_like(x, 0.0)?;
                let positive = self.fcmp(FloatPredicate::OGT, x, zero)?;
                let negative = self.fcmp(FloatPredicate::OLT, x, zero)?;
                let nan = self.fcmp(FloatPredicate::UNO, x, x)?;
                let s = self.select(negative, self.float_like(x, -1.0)?, zero)?;
                let s = self.select(positive, self.float_like(x, 1.0)?, s)?;
                self.select(nan, x, s)
            }
            _ => Err(EmitError::WrongOperands { op, tys: vec![] }),
        }
    }

    pub(super) fn float_binary(&self, op: ScalarOp, x: Value<'ctx>, y: Value<'ctx>) -> Emitted<'ctx> {
        match op {
            ScalarOp::Add => self.fadd(x, y),
            ScalarOp::Sub => self.fsub(x, y),
            ScalarOp::Mul => self.fmul(x, y),
            ScalarOp::Div => self.fdiv(x, y),
            // NaN wins and -0.0 is less than 0.0, as the table says.
            ScalarOp::Min2 => self.flags(self.intrinsic("llvm.minimum", &[], &[x, y])?),
            ScalarOp::Max2 => self.flags(self.intrinsic("llvm.maximum", &[], &[x, y])?),
            ScalarOp::Modulo => self.float_modulo(x, y),
            ScalarOp::Quotient => self.float_quotient(x, y),
            _ => Err(EmitError::WrongOperands { op, tys: vec![] }),
        }
    }

    /// `fmod`, which is exact, moved into the divisor's sign.
    fn float_modulo(&self, x: Value<'ctx>, d: Value<'ctx>) -> Emitted<'ctx> {
        let zero = self.float_like(x, 0.0)?;
        let r = self.frem(x, d)?;
        let r_negative = self.fcmp(FloatPredicate::OLT, r, zero)?;
        let d_negative = self.fcmp(FloatPredicate::OLT, d, zero)?;
        let differ = self.xor(r_negative, d_negative)?;
        let moved = self.select(differ, self.fadd(r, d)?, r)?;
        let is_zero = self.fcmp(FloatPredicate::OEQ, r, zero)?;
        self.select(is_zero, self.intrinsic("llvm.copysign", &[], &[zero, d])?, moved)
    }

    /// `(x - fmod(x, d)) / d`, less 1 where the remainder moves into the divisor's sign, rounded to the nearest integral
    /// value, a zero with the sign of `x / d`.
    fn float_quotient(&self, x: Value<'ctx>, d: Value<'ctx>) -> Emitted<'ctx> {
        let (zero, one) = (self.float_like(x, 0.0)?, self.float_like(x, 1.0)?);
        let plain = self.fdiv(x, d)?;
        let r = self.frem(x, d)?;
        let r_negative = self.fcmp(FloatPredicate::OLT, r, zero)?;
        let d_negative = self.fcmp(FloatPredicate::OLT, d, zero)?;
        let differ = self.xor(r_negative, d_negative)?;
        let exact = self.fcmp(FloatPredicate::OEQ, r, zero)?;
        let q = self.fdiv(self.fsub(x, r)?, d)?;
        let moved = self.select(differ, self.fsub(q, one)?, q)?;
        let q = self.select(exact, q, moved)?;
        let f = self.intrinsic("llvm.floor", &[], &[q])?;
        let up = self.fcmp(FloatPredicate::OGT, self.fsub(q, f)?, self.float_like(x, 0.5)?)?;
        let rounded = self.select(up, self.fadd(f, one)?, f)?;
        let q_zero = self.fcmp(FloatPredicate::OEQ, q, zero)?;
        let signed = self.intrinsic("llvm.copysign", &[], &[zero, plain])?;
        let rounded = self.select(q_zero, signed, rounded)?;
        self.select(self.fcmp(FloatPredicate::OEQ, d, zero)?, plain, rounded)
    }
}
