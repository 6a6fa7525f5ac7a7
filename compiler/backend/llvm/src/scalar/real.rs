//! The functions into the reals: `sqrt`, `exp`, `log`, `sin`, …
//!
//! Integers are converted to `f64` first, and `f16` is computed in `f32`. `sqrt` is an instruction and
//! exact. `exp`, `log` and `log2` are computed by the code below, and the others in `circular.rs` and `special.rs`, the same for
//! scalars and vectors, so that a value does not depend on the lane or the rest of a loop that it came to. [`super::ulp_bound`] says how far the results may be from the
//! interpreter's.
//!
//! ## `exp`
//! With `n` the integer nearest to `x / ln 2` and `r = x - n ln 2`, so that `|r| <= ln 2 / 2`,
//! `exp x = 2^n exp r`. `ln 2` is subtracted in two parts, the first of which has so few bits that its
//! product with `n` is exact (Cody and Waite). `exp r` is its Taylor polynomial, of a degree whose
//! remainder is well below the last place. `2^n` is multiplied on in two halves, because `2^n` itself may
//! be out of range where the result is not (and for subnormal results).
//!
//! ## `log`
//! With `x = 2^k m` and `m` between `sqrt 1/2` and `sqrt 2`, `log x = k ln 2 + log m`. For `f = m - 1` and
//! `s = f / (2 + f)`, `log m = 2 artanh s = 2s + s (2/3 s^2 + 2/5 s^4 + …)`. Because `2s = f - s f` and
//! `s f = f^2/2 - s f^2/2`, this is `f - (f^2/2 - s (f^2/2 + R))` for the bracket `R` above: the exact `f`
//! with a small correction. (The arrangement is that of W. Kahan and K. C. Ng's libm.)
//!
//! ## `log2`
//! `k + log m / ln 2`, exact for powers of two. `log m` is `hi + lo`, of which `hi` has half of the bits of a number, and
//! `1 / ln 2` is a sum of two as well, so the product of the first parts is exact; it is added to `k` with what that is
//! rounded by (as in FreeBSD's msun).

use super::Emit;
use crate::error::EmitError;
use crate::values::{Emitted, Value};
use inkwell::FloatPredicate;
use inkwell::types::{BasicTypeEnum, FloatType, IntType};
use remc_base::ops::ScalarOp;
use remc_base::scalar::BaseTy;

/// What the code needs to know about a float format.
pub(super) struct Format<'ctx> {
    float: FloatType<'ctx>,
    int: IntType<'ctx>,
    /// Bits of the stored mantissa, and the exponent's bias.
    mantissa: u32,
    bias: i64,
    /// `ln 2` in two parts; the first has enough trailing zeros that its product with an exponent is exact.
    pub(super) ln2: (f64, f64),
    /// `1 / ln 2` in two parts, the first of few bits; and which bits of a number are half of it.
    log2_e: (f64, f64),
    first_half: i64,
    /// Adding this number leaves an integer in the low bits of the mantissa.
    pub(super) shifter: f64,
    /// Outside of this range `exp` is 0 or infinite; inside, the exponent is in reach of two halves.
    exp_range: (f64, f64),
    /// The degree of the Taylor polynomial of `exp`.
    pub(super) exp_degree: u32,
    /// Terms of the series of `artanh`.
    log_terms: u32,
    /// The bits of the float nearest to `sqrt 1/2`, and the least normal number.
    sqrt_half: i64,
    least_normal: f64,
    /// A power of two that makes subnormal numbers normal.
    scale: u32,
}

impl<'ctx> Emit<'_, 'ctx> {
    pub(super) fn real(&self, op: ScalarOp, ty: BaseTy, args: &[Value<'ctx>]) -> Emitted<'ctx> {
        let working = match ty {
            BaseTy::F16 | BaseTy::F32 => BaseTy::F32,
            _ => BaseTy::F64,
        };
        let args = args.iter().map(|a| self.cast(ty, working, *a)).collect::<Result<Vec<_>, _>>()?;
        let wrong = || EmitError::WrongOperands { op, tys: vec![ty] };
        let x = *args.first().ok_or_else(wrong)?;
        let result = match op {
            ScalarOp::Sqrt => self.intrinsic("llvm.sqrt", &[], &[x])?,
            ScalarOp::Exp => self.exp(&self.format(working), x)?,
            ScalarOp::Log | ScalarOp::Log2 => self.log(op, &self.format(working), x)?,
            ScalarOp::Sin
            | ScalarOp::Cos
            | ScalarOp::Tan
            | ScalarOp::Sinh
            | ScalarOp::Cosh
            | ScalarOp::Tanh => self.circular(op, working, x)?,
            ScalarOp::Asin | ScalarOp::Acos | ScalarOp::Atan | ScalarOp::Atan2 | ScalarOp::Erf => {
                self.special(op, working, &args)?
            }
            _ => return Err(wrong()),
        };
        if ty.is_integer() { Ok(result) } else { self.cast(working, ty, result) }
    }

    pub(super) fn format(&self, ty: BaseTy) -> Format<'ctx> {
        let c = self.context;
        match ty {
            BaseTy::F32 => Format {
                float: c.f32_type(),
                int: c.i32_type(),
                mantissa: 23,
                bias: 127,
                ln2: (0.693_359_375, -2.121_944_400_546_905_8e-4),
                log2_e: (f32::from_bits(0x3fb8_b000) as f64, f32::from_bits(0xb938_9ad4) as f64),
                first_half: 0xffff_f000,
                shifter: 1.5 * f64::powi(2.0, 23),
                exp_range: (-104.0, 89.0),
                exp_degree: 7,
                log_terms: 4,
                sqrt_half: 0x3f35_04f3,
                least_normal: f32::MIN_POSITIVE as f64,
                scale: 25,
            },
            _ => Format {
                float: c.f64_type(),
                int: c.i64_type(),
                mantissa: 52,
                bias: 1023,
                ln2: (f64::from_bits(0x3fe6_2e42_fee0_0000), f64::from_bits(0x3dea_39ef_3579_3c76)),
                log2_e: (f64::from_bits(0x3ff7_1547_6520_0000), f64::from_bits(0x3de7_05fc_2eef_a200)),
                first_half: -1 << 32,
                shifter: 1.5 * f64::powi(2.0, 52),
                exp_range: (-746.0, 710.0),
                exp_degree: 13,
                log_terms: 9,
                sqrt_half: 0x3fe6_a09e_667f_3bcd,
                least_normal: f64::MIN_POSITIVE,
                scale: 54,
            },
        }
    }

    /// `a * b + c`, fused where the machine can.
    pub(super) fn multiply_add(&self, a: Value<'ctx>, b: Value<'ctx>, c: Value<'ctx>) -> Emitted<'ctx> {
        if self.fma { self.intrinsic("llvm.fma", &[], &[a, b, c]) } else { self.fadd(self.fmul(a, b)?, c) }
    }

    /// A polynomial by Horner's rule, the coefficients from the highest power down.
    pub(super) fn polynomial(
        &self,
        x: Value<'ctx>,
        coefficients: impl IntoIterator<Item = f64>,
    ) -> Emitted<'ctx> {
        let mut sum: Option<Value<'ctx>> = None;
        for c in coefficients {
            let c = self.float_like(x, c)?;
            sum = Some(match sum {
                None => c,
                Some(s) => self.multiply_add(s, x, c)?,
            });
        }
        sum.ok_or(EmitError::WrongValue("polynomial"))
    }

    pub(super) fn exp(&self, f: &Format<'ctx>, x: Value<'ctx>) -> Emitted<'ctx> {
        self.exp_of_sum(f, x, None)
    }

    /// The exponential of a number, or of one and what that is rounded by.
    pub(super) fn exp_of_sum(
        &self,
        f: &Format<'ctx>,
        x: Value<'ctx>,
        low: Option<Value<'ctx>>,
    ) -> Emitted<'ctx> {
        let constant = |c: f64| self.float_like(x, c);
        // A NaN is neither below nor above, so it stays and reaches the result through r.
        let (least, greatest) = (constant(f.exp_range.0)?, constant(f.exp_range.1)?);
        let x = self.select(self.fcmp(FloatPredicate::OLT, x, least)?, least, x)?;
        let x = self.select(self.fcmp(FloatPredicate::OGT, x, greatest)?, greatest, x)?;

        let (p, bits) = self.exp_less_one(f, x, low)?;
        let p = self.fadd(p, constant(1.0)?)?;

        let half = self.ashr(bits, self.int_like(bits, 1)?)?;
        let rest = self.sub(bits, half)?;
        self.fmul(self.fmul(p, self.power_of_two(f, half)?)?, self.power_of_two(f, rest)?)
    }

    /// `2^n`, where that is a normal number.
    pub(super) fn power_of_two(&self, f: &Format<'ctx>, n: Value<'ctx>) -> Emitted<'ctx> {
        let biased = self.add(n, self.int_like(n, f.bias)?)?;
        self.bitcast(self.shl(biased, self.int_like(n, f.mantissa as i64)?)?, f.float.into())
    }

    /// `exp r - 1` for `exp (x + low) = 2^n exp r`, and the integer `n`.
    pub(super) fn exp_less_one(
        &self,
        f: &Format<'ctx>,
        x: Value<'ctx>,
        low: Option<Value<'ctx>>,
    ) -> Result<(Value<'ctx>, Value<'ctx>), EmitError> {
        let constant = |c: f64| self.float_like(x, c);
        let shifter = constant(f.shifter)?;
        let shifted = self.multiply_add(x, constant(std::f64::consts::LOG2_E)?, shifter)?;
        let n = self.fsub(shifted, shifter)?;
        let r = self.multiply_add(n, constant(-f.ln2.0)?, x)?;
        let r = self.multiply_add(n, constant(-f.ln2.1)?, r)?;

        // exp r = 1 + (r + r^2 q), q = 1/2! + r/3! + …
        let q = self.polynomial(r, (2..=f.exp_degree).rev().map(|k| 1.0 / factorial(k)))?;
        let square = self.fmul(r, r)?;
        let p = self.multiply_add(square, q, r)?;
        let p = match low {
            None => p,
            // exp r exp low = exp r + low exp r
            Some(low) => self.fadd(self.multiply_add(square, q, self.multiply_add(low, p, low)?)?, r)?,
        };
        let int = f.int.into();
        let bits = self.sub(self.bitcast(shifted, int)?, self.bitcast(shifter, int)?)?;
        Ok((p, bits))
    }

    /// The `k` and the `m` between `sqrt 1/2` and `sqrt 2` of a positive number `2^k m`.
    pub(super) fn exponent_and_rest(
        &self,
        f: &Format<'ctx>,
        x: Value<'ctx>,
    ) -> Result<(Value<'ctx>, Value<'ctx>), EmitError> {
        let constant = |c: f64| self.float_like(x, c);
        let (float, int): (BasicTypeEnum<'ctx>, BasicTypeEnum<'ctx>) = (f.float.into(), f.int.into());
        let small = self.fcmp(FloatPredicate::OLT, x, constant(f.least_normal)?)?;
        let scaled = self.fmul(x, constant(f64::powi(2.0, f.scale as i32))?)?;
        let normal = self.select(small, scaled, x)?;

        let bits = self.bitcast(normal, int)?;
        let width = self.int_like(bits, f.mantissa as i64)?;
        let k = self.ashr(self.sub(bits, self.int_like(bits, f.sqrt_half)?)?, width)?;
        let m = self.bitcast(self.sub(bits, self.shl(k, width)?)?, float)?;
        let unscaled = self.sub(k, self.int_like(k, f.scale as i64)?)?;
        let k = self.select(small, unscaled, k)?;
        // The exponent is small; 32 bits convert fast on every machine.
        let i32t = self.context.i32_type();
        let k = if f.int == i32t { k } else { self.trunc(k, i32t.into())? };
        Ok((self.sitofp(k, float)?, m))
    }

    /// `log` or `log2`.
    pub(super) fn log(&self, op: ScalarOp, f: &Format<'ctx>, x: Value<'ctx>) -> Emitted<'ctx> {
        let constant = |c: f64| self.float_like(x, c);
        let int: BasicTypeEnum<'ctx> = f.int.into();
        let (k, m) = self.exponent_and_rest(f, x)?;
        let float: BasicTypeEnum<'ctx> = f.float.into();

        let one = constant(1.0)?;
        let fr = self.fsub(m, one)?;
        let s = self.fdiv(fr, self.fadd(fr, constant(2.0)?)?)?;
        let z = self.fmul(s, s)?;
        let series = self.polynomial(z, (1..=f.log_terms).rev().map(|i| 2.0 / (2 * i + 1) as f64))?;
        let tail = self.fmul(z, series)?;
        let half_square = self.fmul(constant(0.5)?, self.fmul(fr, fr)?)?;
        let bracket = self.fadd(half_square, tail)?;
        let result = if op == ScalarOp::Log2 {
            let hi = self.bitcast(self.fsub(fr, half_square)?, int)?;
            let hi = self.bitcast(self.and(hi, self.int_like(hi, f.first_half)?)?, float)?;
            let lo = self.fsub(self.fsub(fr, hi)?, half_square)?;
            let lo = self.multiply_add(s, bracket, lo)?;
            let (first, second) = (constant(f.log2_e.0)?, constant(f.log2_e.1)?);
            let large = self.fmul(hi, first)?;
            let small = self.multiply_add(lo, first, self.fmul(self.fadd(lo, hi)?, second)?)?;
            let sum = self.fadd(k, large)?;
            let lost = self.fadd(self.fsub(k, sum)?, large)?;
            self.fadd(self.fadd(small, lost)?, sum)?
        } else {
            let correction = self.multiply_add(s, bracket, self.fmul(k, constant(f.ln2.1)?)?)?;
            let low = self.fsub(self.fsub(half_square, correction)?, fr)?;
            self.fsub(self.fmul(k, constant(f.ln2.0)?)?, low)?
        };

        // The edges: infinity and NaN stay, 0 gives minus infinity, the negative have no logarithm.
        let zero = constant(0.0)?;
        let finite = self.fcmp(FloatPredicate::OLT, x, constant(f64::INFINITY)?)?;
        let result = self.select(finite, result, x)?;
        let is_zero = self.fcmp(FloatPredicate::OEQ, x, zero)?;
        let result = self.select(is_zero, constant(f64::NEG_INFINITY)?, result)?;
        let negative = self.fcmp(FloatPredicate::OLT, x, zero)?;
        self.select(negative, constant(f64::NAN)?, result)
    }
}

pub(super) fn factorial(k: u32) -> f64 {
    (1..=k).map(f64::from).product()
}

/// The C library's name of a function.
pub(super) fn library_name(op: ScalarOp, ty: BaseTy) -> Option<&'static str> {
    let single = ty == BaseTy::F32;
    Some(match op {
        ScalarOp::Sin if single => "sinf",
        ScalarOp::Sin => "sin",
        ScalarOp::Cos if single => "cosf",
        ScalarOp::Cos => "cos",
        ScalarOp::Tan if single => "tanf",
        ScalarOp::Tan => "tan",
        _ => return None,
    })
}
