//! `sin`, `cos`, `tan`, `sinh`, `cosh` and `tanh`, the same for scalars and vectors.
//!
//! `f32` is computed in `f64` and rounded once, with shorter polynomials.
//!
//! ## `sin`, `cos`, `tan`
//! With `n` the integer nearest to `x / (pi/2)` and `r = x - n pi/2`, so that `|r| <= pi/4`, the function of `x` is plus or
//! minus the sine or the cosine of `r` (or their quotient), as the last two bits of `n` say. `pi/2` is subtracted in
//! three parts (Cody and Waite). With fused multiplication and addition these are of 53 bits: `x` less `n` times the first is
//! a multiple of the last bits of both and no more than 1, so exact, and what a product with the second is rounded by
//! is another one. Without it the products of `n` with the first two are exact, as these have 33 bits and `n` has 20.
//! Of the second difference what it is rounded by is kept: so `r` is a sum of two numbers, with
//! some 40 bits more than one has. Sine and cosine of `r` are their Taylor polynomials, arranged as in W. Kahan and K. C. Ng's
//! libm so that the second number counts.
//!
//! Larger numbers would need more of `pi`; the C library does them, in a branch that is not taken where no lane has one.
//!
//! ## `tanh`
//! With `e = exp 2|x| - 1`, it is `e / (e + 2)`, with the sign of `x`. `e` is `2^n p + (2^n - 1)` for `p = exp r - 1` with
//! `n` and `r` as for `exp`; where `n` is 0, it is as good as `p`. From 22 on, the nearest number is 1.
//!
//! ## `sinh`, `cosh`
//! With `h = exp |x| / 2`, which is finite where the results are, they are `h - 1/4h`, with the sign of `x`, and `h + 1/4h`. Below 1
//! the difference would leave little of `sinh`; there it is its Taylor polynomial.

use super::Emit;
use super::real::{factorial, library_name};
use crate::error::EmitError;
use crate::values::{Emitted, Value, element, lanes};
use inkwell::values::BasicValueEnum;
use inkwell::{FloatPredicate, IntPredicate};
use remc_base::ops::ScalarOp;
use remc_base::scalar::BaseTy;

/// `pi/2` in three parts, the first two of 33 bits; and its other part as one number where that is enough.
const PARTS: [u64; 3] = [0x3ff9_21fb_5440_0000, 0x3dd0_b461_1a60_0000, 0x3ba3_198a_2e03_7073];
const OTHER_PART: u64 = 0x3dd0_b461_1a62_6331;
/// From here on, `n` has more than 20 bits.
const LARGE: f64 = 1048576.0;
/// `pi/2` in three parts of 53 bits, where products are added unrounded: `n` may have as many bits as count here, 31.
const FUSED_PARTS: [u64; 3] = [0x3ff9_21fb_5444_2d18, 0x3c91_a626_3314_5c07, 0xb91f_1976_b7ed_8fbc];
const FUSED_LARGE: f64 = 2147483648.0;

/// What is left of a number without multiples of `pi/2`, as the sum of two; and the bits of a multiple's number.
struct Reduced<'ctx> {
    r: Value<'ctx>,
    /// The second, where it makes a difference.
    low: Option<Value<'ctx>>,
    n: Value<'ctx>,
}

impl<'ctx> Emit<'_, 'ctx> {
    /// Calls the function of `x`, an `f32` or `f64` or a vector of them; it is made on its first use.
    pub(super) fn circular(&self, op: ScalarOp, ty: BaseTy, x: Value<'ctx>) -> Emitted<'ctx> {
        let width = lanes(x).map(|n| format!(".{n}")).unwrap_or_default();
        let fused = if self.fma { "" } else { ".unfused" };
        let name = format!("remc.{}.{ty}{width}{fused}", op.info().name);
        let f = self.helper(&name, x.get_type(), &[x.get_type()], |e, f| {
            let [x] = f.get_params()[..] else { return Err(EmitError::WrongValue("circular")) };
            let wide = e.cast(ty, BaseTy::F64, x)?;
            let short = ty == BaseTy::F32;
            if let ScalarOp::Sinh | ScalarOp::Cosh | ScalarOp::Tanh = op {
                let y = match op {
                    ScalarOp::Tanh => e.tanh(wide, short)?,
                    _ => e.half_of_exponentials(op, wide, short)?,
                };
                let y = e.cast(BaseTy::F64, ty, y)?;
                e.builder.build_return(Some(&y))?;
                return Ok(());
            }
            let y = e.cast(BaseTy::F64, ty, e.of_the_angle(op, wide, short)?)?;
            let large = if e.fma { FUSED_LARGE } else { LARGE };
            let small = e.fcmp(FloatPredicate::OLT, e.magnitude(wide)?, e.float_like(wide, large)?)?;
            let all = match lanes(x) {
                Some(_) => e.intrinsic("llvm.vector.reduce.and", &[], &[small])?,
                None => small,
            };
            let [fine, large] = [(); 2].map(|()| e.context.append_basic_block(f, ""));
            let BasicValueEnum::IntValue(all) = all else { return Err(EmitError::WrongValue("circular")) };
            e.builder.build_conditional_branch(all, fine, large)?;
            e.builder.position_at_end(fine);
            e.builder.build_return(Some(&y))?;
            e.builder.position_at_end(large);
            let name = library_name(op, ty).ok_or(EmitError::WrongValue("circular"))?;
            let library = e.library(name, element(x), 1);
            let other = e.per_lane(&[x], element(x), |a| e.call(library, a))?;
            let y = e.select(small, y, other)?;
            e.builder.build_return(Some(&y))?;
            Ok(())
        })?;
        self.call(f, &[x])
    }

    pub(super) fn magnitude(&self, x: Value<'ctx>) -> Emitted<'ctx> {
        self.intrinsic("llvm.fabs", &[], &[x])
    }

    /// A number of less than [`LARGE`], or [`FUSED_LARGE`], without multiples of `pi/2`.
    fn reduced(&self, x: Value<'ctx>, short: bool) -> Result<Reduced<'ctx>, EmitError> {
        let constant = |c: f64| self.float_like(x, c);
        let parts = if self.fma { FUSED_PARTS } else { PARTS };
        let part = |k: usize| self.float_like(x, -f64::from_bits(parts[k]));
        let shifter = constant(self.format(BaseTy::F64).shifter)?;
        let shifted = self.multiply_add(x, constant(std::f64::consts::FRAC_2_PI)?, shifter)?;
        let n = self.fsub(shifted, shifter)?;
        let bits = self.bitcast(shifted, self.context.i64_type().into())?;
        let first = self.multiply_add(n, part(0)?, x)?;
        if short {
            let other = if self.fma { parts[1] } else { OTHER_PART };
            let r = self.multiply_add(n, constant(-f64::from_bits(other))?, first)?;
            return Ok(Reduced { r, low: None, n: bits });
        }
        // The second difference with what it is rounded by (Knuth's sum of two).
        let second = self.fmul(n, part(1)?)?;
        let high = self.fadd(first, second)?;
        let back = self.fsub(high, first)?;
        let lost = self.fadd(self.fsub(first, self.fsub(high, back)?)?, self.fsub(second, back)?)?;
        let lost = match self.fma {
            // … and what the product is.
            true => self.fadd(lost, self.multiply_add(n, part(1)?, self.fneg(second)?)?)?,
            false => lost,
        };
        let rest = self.multiply_add(n, part(2)?, lost)?;
        let r = self.fadd(high, rest)?;
        let low = self.fadd(self.fsub(high, r)?, rest)?;
        Ok(Reduced { r, low: Some(low), n: bits })
    }

    /// `sin`, `cos` or `tan` of a number that [`Emit::reduced`] takes.
    fn of_the_angle(&self, op: ScalarOp, x: Value<'ctx>, short: bool) -> Emitted<'ctx> {
        let of = self.reduced(x, short)?;
        let (sin, cos) = (self.sin_of(&of, short)?, self.cos_of(&of, short)?);
        let bit = |n: Value<'ctx>, k: i64| {
            let one = self.and(n, self.int_like(n, k)?)?;
            self.icmp(IntPredicate::NE, one, self.int_like(n, 0)?)
        };
        let odd = bit(of.n, 1)?;
        let (result, negative) = match op {
            ScalarOp::Cos => {
                let next = self.add(of.n, self.int_like(of.n, 1)?)?;
                (self.select(odd, sin, cos)?, bit(next, 2)?)
            }
            ScalarOp::Sin => (self.select(odd, cos, sin)?, bit(of.n, 2)?),
            _ => {
                let (above, below) = (self.select(odd, cos, sin)?, self.select(odd, sin, cos)?);
                (self.fdiv(above, below)?, odd)
            }
        };
        let result = self.select(negative, self.fneg(result)?, result)?;
        if op == ScalarOp::Cos {
            return Ok(result);
        }
        // Zero keeps its sign.
        let zero = self.fcmp(FloatPredicate::OEQ, x, self.float_like(x, 0.0)?)?;
        self.select(zero, x, result)
    }

    /// `r + (low (1 - r^2/2) + r^3 (-1/3! + r^2/5! - …))`.
    fn sin_of(&self, of: &Reduced<'ctx>, short: bool) -> Emitted<'ctx> {
        let r = of.r;
        let square = self.fmul(r, r)?;
        let last = if short { 5 } else { 8 };
        let series = self.polynomial(square, (1..=last).rev().map(|k| term(2 * k + 1, k)))?;
        let cube = self.fmul(square, r)?;
        let Some(low) = of.low else { return self.multiply_add(cube, series, r) };
        let half = self.fmul(square, self.float_like(r, -0.5)?)?;
        let low = self.multiply_add(low, half, low)?;
        self.fadd(r, self.multiply_add(cube, series, low)?)
    }

    /// `1 - r^2/2 + (r^4 (1/4! - r^2/6! + …) - r low)`, with what `1 - r^2/2` is rounded by.
    fn cos_of(&self, of: &Reduced<'ctx>, short: bool) -> Emitted<'ctx> {
        let r = of.r;
        let one = self.float_like(r, 1.0)?;
        let square = self.fmul(r, r)?;
        let half = self.fmul(square, self.float_like(r, 0.5)?)?;
        let last = if short { 5 } else { 8 };
        let series = self.polynomial(square, (2..=last).rev().map(|k| term(2 * k, k)))?;
        let fourth = self.fmul(square, square)?;
        let most = self.fsub(one, half)?;
        let Some(low) = of.low else { return self.multiply_add(fourth, series, most) };
        let lost = self.fsub(self.fsub(one, most)?, half)?;
        let rest = self.fsub(lost, self.fmul(r, low)?)?;
        self.fadd(most, self.multiply_add(fourth, series, rest)?)
    }

    fn tanh(&self, x: Value<'ctx>, short: bool) -> Emitted<'ctx> {
        let constant = |c: f64| self.float_like(x, c);
        let size = self.magnitude(x)?;
        // A NaN is not above, so it stays.
        let most = constant(22.0)?;
        let size = self.select(self.fcmp(FloatPredicate::OGT, size, most)?, most, size)?;
        let y = self.fadd(size, size)?;
        let mut format = self.format(BaseTy::F64);
        if short {
            format.exp_degree = 9;
        }
        let (p, bits) = self.exp_less_one(&format, y, None)?;
        let power = self.power_of_two(&format, bits)?;
        let e = self.multiply_add(p, power, self.fsub(power, constant(1.0)?)?)?;
        let result = self.fdiv(e, self.fadd(e, constant(2.0)?)?)?;
        self.intrinsic("llvm.copysign", &[], &[result, x])
    }

    /// `sinh` or `cosh`.
    fn half_of_exponentials(&self, op: ScalarOp, x: Value<'ctx>, short: bool) -> Emitted<'ctx> {
        let constant = |c: f64| self.float_like(x, c);
        let size = self.magnitude(x)?;
        // From here on both are infinite. A NaN is not above, so it stays.
        let most = constant(711.0)?;
        let bounded = self.select(self.fcmp(FloatPredicate::OGT, size, most)?, most, size)?;
        let mut format = self.format(BaseTy::F64);
        if short {
            format.exp_degree = 9;
        }
        let (p, n) = self.exp_less_one(&format, bounded, None)?;
        let n = self.sub(n, self.int_like(n, 1)?)?;
        let first = self.ashr(n, self.int_like(n, 1)?)?;
        let rest = self.sub(n, first)?;
        let p = self.fadd(p, constant(1.0)?)?;
        let half = self.fmul(p, self.power_of_two(&format, first)?)?;
        let half = self.fmul(half, self.power_of_two(&format, rest)?)?;
        let other = self.fdiv(constant(0.25)?, half)?;
        if op == ScalarOp::Cosh {
            return self.fadd(half, other);
        }
        let large = self.fsub(half, other)?;
        let square = self.fmul(size, size)?;
        let last = if short { 5 } else { 9 };
        let series = self.polynomial(square, (1..=last).rev().map(|k| 1.0 / factorial(2 * k + 1)))?;
        let small = self.multiply_add(self.fmul(square, size)?, series, size)?;
        let near = self.fcmp(FloatPredicate::OLT, size, constant(1.0)?)?;
        let size = self.select(near, small, large)?;
        self.intrinsic("llvm.copysign", &[], &[size, x])
    }
}

/// `±1/n!`, for the `k`th term of a series whose signs alternate.
fn term(n: u32, k: u32) -> f64 {
    let sign = if k.is_multiple_of(2) { 1.0 } else { -1.0 };
    sign / factorial(n)
}
