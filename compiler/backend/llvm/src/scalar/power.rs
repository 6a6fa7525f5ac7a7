//! Powers whose exponent is no integer, in lanes as for one number.
//!
//! `x^c = exp (c log x)`. What is lost of the logarithm is multiplied by all of `c log x`, which goes up to 710: so for `f64`
//! it is a sum of two numbers, `hi + lo`, of some 64 bits that are right:
//!
//! - with `x = 2^k m`, `m` between `sqrt 1/2` and `sqrt 2`, `f = m - 1` and `s = f / (2 + f)`, it is
//!   `k ln 2 + 2s (1 + s^2/3 + s^4 (1/5 + s^2/7 + …))`. `s`, `s^2`, a third of that and their products are such sums, each
//!   low part from a fused multiplication (T. J. Dekker, A floating-point technique for extending the available precision,
//!   1971); what follows is small enough for one number.
//! - the low part of `c (hi + lo)` is added where the exponential's own argument has been reduced.
//!
//! For `f32` and `f16` the logarithm and the exponential of `f64` are more than enough.

use super::Emit;
use super::real::Format;
use crate::error::EmitError;
use crate::values::{Emitted, Value};
use inkwell::FloatPredicate;
use remc_base::ops::ScalarOp;
use remc_base::scalar::BaseTy;

/// A third, in two parts.
const THIRD: (f64, f64) = (1.0 / 3.0, 1.850_371_707_708_594e-17);
/// Terms of the series after that of `s^2`.
const TERMS: u32 = 11;
/// Beyond this an exponential is 0 or infinite, whatever is added.
const FAR: f64 = 1000.0;

/// A sum of two numbers, of which the second is what the first is rounded by.
type Two<'ctx> = (Value<'ctx>, Value<'ctx>);

impl<'ctx> Emit<'_, 'ctx> {
    /// `x^c` in `f64`, for a finite `c` that is no integer; `exact` as a double should be, else as a single.
    pub(super) fn power(&self, exact: bool, x: Value<'ctx>, c: Value<'ctx>) -> Emitted<'ctx> {
        let f = self.format(BaseTy::F64);
        let constant = |c: f64| self.float_like(x, c);
        let (zero, infinity) = (constant(0.0)?, constant(f64::INFINITY)?);
        let a = self.intrinsic("llvm.fabs", &[], &[x])?;
        let power = if exact {
            let log = self.long_log(&f, a)?;
            let (t, low) = self.product(log.0, c)?;
            let low = self.multiply_add(c, log.1, low)?;
            self.long_exp(&f, t, low)?
        } else {
            let log = self.log(ScalarOp::Log, &f, a)?;
            self.exp(&f, self.fmul(c, log)?)?
        };
        let grows = self.fcmp(FloatPredicate::OGT, c, zero)?;
        let at_zero = self.select(grows, zero, infinity)?;
        let at_infinity = self.select(grows, infinity, zero)?;
        let power = self.select(self.fcmp(FloatPredicate::OEQ, a, zero)?, at_zero, power)?;
        let power = self.select(self.fcmp(FloatPredicate::OEQ, a, infinity)?, at_infinity, power)?;
        // There is none of a negative number; a NaN is neither and has to stay.
        let finite = self.fcmp(FloatPredicate::ULT, a, infinity)?;
        let negative = self.fcmp(FloatPredicate::ULT, x, zero)?;
        self.select(self.and(finite, negative)?, constant(f64::NAN)?, power)
    }

    /// `a b` as a sum of two.
    fn product(&self, a: Value<'ctx>, b: Value<'ctx>) -> Result<Two<'ctx>, EmitError> {
        let p = self.fmul(a, b)?;
        let lost = self.intrinsic("llvm.fma", &[], &[a, b, self.fneg(p)?])?;
        Ok((p, lost))
    }

    /// `a + b` as a sum of two, for `a` that is no smaller than `b`, or zero.
    fn sum(&self, a: Value<'ctx>, b: Value<'ctx>) -> Result<Two<'ctx>, EmitError> {
        let s = self.fadd(a, b)?;
        Ok((s, self.fadd(self.fsub(a, s)?, b)?))
    }

    /// The logarithm of a positive number.
    fn long_log(&self, f: &Format<'ctx>, x: Value<'ctx>) -> Result<Two<'ctx>, EmitError> {
        let constant = |c: f64| self.float_like(x, c);
        let (k, m) = self.exponent_and_rest(f, x)?;
        let (one, two) = (constant(1.0)?, constant(2.0)?);
        let fr = self.fsub(m, one)?;
        // s = fr / d
        let d = self.sum(two, fr)?;
        let inverse = self.fdiv(one, d.0)?;
        let s = self.fmul(fr, inverse)?;
        let left = self.intrinsic("llvm.fma", &[], &[self.fneg(s)?, d.0, fr])?;
        let left = self.fsub(left, self.fmul(s, d.1)?)?;
        let s = (s, self.fmul(left, inverse)?);
        // z = s^2
        let (z, lost) = self.product(s.0, s.0)?;
        let z = (z, self.multiply_add(self.fmul(two, s.0)?, s.1, lost)?);
        // q = z / 3 + z^2 (1/5 + z/7 + …)
        let (third, rest) = (constant(THIRD.0)?, constant(THIRD.1)?);
        let (p, lost) = self.product(z.0, third)?;
        let lost = self.multiply_add(z.0, rest, lost)?;
        let lost = self.multiply_add(z.1, third, lost)?;
        let series = self.polynomial(z.0, (2..2 + TERMS).rev().map(|i| 1.0 / f64::from(2 * i + 1)))?;
        let (q, more) = self.sum(p, self.fmul(self.fmul(z.0, z.0)?, series)?)?;
        let q = (q, self.fadd(more, lost)?);
        // log m = 2 s + 2 s q
        let s = (self.fmul(two, s.0)?, self.fmul(two, s.1)?);
        let (b, lost) = self.product(s.0, q.0)?;
        let lost = self.multiply_add(s.0, q.1, lost)?;
        let lost = self.multiply_add(s.1, q.0, lost)?;
        let (log, more) = self.sum(s.0, b)?;
        let low = self.fadd(self.fadd(more, lost)?, s.1)?;
        // … + k ln 2, of which the first part is exact.
        let (high, more) = self.sum(self.fmul(k, constant(f.ln2.0)?)?, log)?;
        let low = self.multiply_add(k, constant(f.ln2.1)?, low)?;
        self.sum(high, self.fadd(more, low)?)
    }

    /// `exp (x + low)`.
    fn long_exp(&self, f: &Format<'ctx>, x: Value<'ctx>, low: Value<'ctx>) -> Emitted<'ctx> {
        // What a product that is out of range is rounded by is nothing.
        let near = self.intrinsic("llvm.fabs", &[], &[x])?;
        let near = self.fcmp(FloatPredicate::OLT, near, self.float_like(x, FAR)?)?;
        let low = self.select(near, low, self.float_like(x, 0.0)?)?;
        self.exp_of_sum(f, x, Some(low))
    }
}
