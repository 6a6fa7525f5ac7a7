//! `asin`, `acos`, `atan`, `atan2` and `erf`, the same for scalars and vectors.
//!
//! `f32` is computed in `f64` and rounded once, with shorter polynomials. The polynomials are those of the least greatest error
//! (found by Remez' exchange in 60 digits).
//!
//! ## `asin`, `acos`
//! Up to 1/2, `asin x = x + x z A(z)` for `z = x^2`. Beyond, it is `pi/2 - 2 asin s` for `s = sqrt z`, `z = (1 - |x|)/2`, which are
//! in the same range: `z` is exact, and of `s` is known what it is rounded by. `acos x` is `pi/2 - asin x`, so from 1/2 on
//! `2 asin s`, and `pi` less that on the other side (as in W. Kahan and K. C. Ng's libm).
//!
//! ## `atan2`
//! The angle of `(b, a)`, both without their signs, is that of one of five directions and a rest: 0, those whose tangent is
//! 1/2, 1 and 3/2, and the vertical. The tangent of the rest, `t`, is a quotient of sums of `a` and `b`, of which the upper is
//! exact where it is small; it is at most 7/16. (The directions are those of W. Kahan and K. C. Ng's libm.) Then
//! `atan t = t + t^3 S(t^2)`, and the direction's angle is a sum of two numbers. Signs say the quadrant. `atan x` is the angle
//! of `(1, x)`.
//!
//! ## `erf`
//! Below 1 it is `x + x Q(x^2)`: as `Q` is small, it hardly counts what it is rounded by. From there on it is `1 - erfc x`, and
//! `erfc x = exp(-x^2) G(q)` with `q = (x - 2) / (x + 2)`, which is below 0.16: an error of a few units in its last place is
//! less than one in that of the result. From 6 on the nearest number is 1.

use super::Emit;
use crate::error::EmitError;
use crate::values::{Emitted, Value, lanes};
use inkwell::{FloatPredicate, IntPredicate};
use remc_base::ops::ScalarOp;
use remc_base::scalar::BaseTy;

/// `A`, from the highest power down.
const ARC: [f64; 13] = [
    0.028757851367421566,
    -0.014851887071247204,
    0.01740087944269402,
    0.005457506718640358,
    0.01032281435018578,
    0.011479177415184906,
    0.013971212973552933,
    0.017352392720869973,
    0.02237217294214989,
    0.030381944138531247,
    0.04464285714635543,
    0.07499999999998433,
    0.16666666666666669,
];
const SHORT_ARC: [f64; 7] = [
    0.030974540371355073,
    0.010574415516912909,
    0.023611817008891752,
    0.030269138728589183,
    0.04464766388813485,
    0.07499992404401838,
    0.16666666686085643,
];

/// `S`, from the highest power down.
const ANGLE: [f64; 11] = [
    -0.01760442087308934,
    0.037879988817307676,
    -0.05036172350714743,
    0.05848227247277464,
    -0.06663307751498834,
    0.07692093120248181,
    -0.09090900491833302,
    0.11111110909297305,
    -0.14285714283279516,
    0.1999999999998853,
    -0.33333333333333326,
];
const SHORT_ANGLE: [f64; 5] = [
    -0.06233413894838124,
    0.10675140296677332,
    -0.14257385790909385,
    0.19999345881682323,
    -0.33333330907002123,
];

/// Up to `limit · b`, `t = (p a + q b) / (r a + s b)`, beside an angle in two parts.
struct Direction {
    limit: f64,
    upper: [f64; 2],
    lower: [f64; 2],
    angle: [f64; 2],
}

const VERTICAL: Direction = Direction {
    limit: f64::INFINITY,
    upper: [0.0, -1.0],
    lower: [1.0, 0.0],
    angle: [std::f64::consts::FRAC_PI_2, 6.123233995736766e-17],
};
const DIRECTIONS: [Direction; 4] = [
    Direction {
        limit: 2.4375,
        upper: [1.0, -1.5],
        lower: [1.5, 1.0],
        angle: [0.982793723247329, 1.3903311031230998e-17],
    },
    Direction {
        limit: 1.1875,
        upper: [1.0, -1.0],
        lower: [1.0, 1.0],
        angle: [std::f64::consts::FRAC_PI_4, 3.061616997868383e-17],
    },
    Direction {
        limit: 0.6875,
        upper: [2.0, -1.0],
        lower: [1.0, 2.0],
        angle: [0.4636476090008061, 2.2698777452961687e-17],
    },
    Direction { limit: 0.4375, upper: [1.0, 0.0], lower: [0.0, 1.0], angle: [0.0, 0.0] },
];
/// `pi` less the nearest number.
const PI_REST: f64 = 1.2246467991473532e-16;

/// `Q`.
const NEAR: [f64; 13] = [
    5.960697205826077e-11,
    -1.137496199969511e-09,
    1.4660330123057758e-08,
    -1.6350396394040655e-07,
    1.646100849000331e-06,
    -1.4925595772663568e-05,
    0.00012055331132962833,
    -0.0008548326981425329,
    0.0052239776248284185,
    -0.02686617064507787,
    0.11283791670954885,
    -0.3761263890318375,
    0.1283791670955126,
];
const SHORT_NEAR: [f64; 8] = [
    -9.68006149286483e-06,
    0.00011270516527071267,
    -0.0008484707298924999,
    0.0052210745682206555,
    -0.026865445700655036,
    0.11283782744932719,
    -0.37612638483657584,
    0.12837916706316616,
];
/// `G`.
const FAR: [f64; 13] = [
    -1.2644266850338308e-05,
    -2.661166625231669e-05,
    2.762313135712777e-05,
    0.00017428847812005224,
    4.353616668924977e-05,
    -0.0009819764786276543,
    -0.0008471425906360488,
    0.006997461785627731,
    0.0037328923985385514,
    -0.07897858101641535,
    0.24165819424246882,
    -0.4271858474139568,
    0.25539567631050575,
];
const SHORT_FAR: [f64; 7] = [
    0.00010385521091353486,
    0.007316465039085262,
    0.0037672454400051506,
    -0.07898137332510527,
    0.24165745906191916,
    -0.42718587503232275,
    0.2553956768267243,
];

impl<'ctx> Emit<'_, 'ctx> {
    /// Calls the function of `args`, each an `f32` or `f64` or a vector of them; it is made on its first use.
    pub(super) fn special(&self, op: ScalarOp, ty: BaseTy, args: &[Value<'ctx>]) -> Emitted<'ctx> {
        let wrong = || EmitError::WrongValue("a special function");
        let x = *args.first().ok_or_else(wrong)?;
        let width = lanes(x).map(|n| format!(".{n}")).unwrap_or_default();
        let fused = if self.fma { "" } else { ".unfused" };
        let name = format!("remc.{}.{ty}{width}{fused}", op.info().name);
        let tys: Vec<_> = args.iter().map(|a| a.get_type()).collect();
        let f = self.helper(&name, x.get_type(), &tys, |e, f| {
            let wide = f
                .get_params()
                .into_iter()
                .map(|x| e.cast(ty, BaseTy::F64, x))
                .collect::<Result<Vec<Value<'ctx>>, _>>()?;
            let short = ty == BaseTy::F32;
            let y = match (op, &wide[..]) {
                (ScalarOp::Erf, [x]) => e.erf(*x, short)?,
                (ScalarOp::Asin | ScalarOp::Acos, [x]) => e.arc(op, *x, short)?,
                (ScalarOp::Atan, [x]) => {
                    let angle = e.angle(e.magnitude(*x)?, e.float_like(*x, 1.0)?, short)?;
                    e.intrinsic("llvm.copysign", &[], &[angle, *x])?
                }
                (ScalarOp::Atan2, [y, x]) => e.atan2(*y, *x, short)?,
                _ => return Err(wrong()),
            };
            let y = e.cast(BaseTy::F64, ty, y)?;
            e.builder.build_return(Some(&y))?;
            Ok(())
        })?;
        self.call(f, args)
    }

    /// `asin` or `acos`.
    fn arc(&self, op: ScalarOp, x: Value<'ctx>, short: bool) -> Emitted<'ctx> {
        let constant = |c: f64| self.float_like(x, c);
        let size = self.magnitude(x)?;
        // Of what is no number neither holds, and its root is none.
        let near = self.fcmp(FloatPredicate::OLE, size, constant(0.5)?)?;
        let rest = self.fmul(self.fsub(constant(1.0)?, size)?, constant(0.5)?)?;
        let z = self.select(near, self.fmul(x, x)?, rest)?;
        let root = self.intrinsic("llvm.sqrt", &[], &[rest])?;
        let lost = self.intrinsic("llvm.fma", &[], &[self.fneg(root)?, root, rest])?;
        let twice = self.fadd(root, root)?;
        let zero = constant(0.0)?;
        let lost = self.fdiv(lost, self.select(near, constant(1.0)?, twice)?)?;
        // The root of nothing is exact.
        let none = self.fcmp(FloatPredicate::OEQ, root, zero)?;
        let lost = self.select(none, zero, lost)?;
        let series = match short {
            true => self.polynomial(z, SHORT_ARC)?,
            false => self.polynomial(z, ARC)?,
        };
        let more = self.fmul(z, series)?;
        // asin x = x + small, 2 asin s = 2 s + large
        let small = self.fmul(x, more)?;
        let large = self.multiply_add(twice, more, self.fadd(lost, lost)?)?;
        let (right, right_rest) = (constant(VERTICAL.angle[0])?, constant(VERTICAL.angle[1])?);
        if op == ScalarOp::Asin {
            let most = self.fsub(right, twice)?;
            let right_rest = self.fadd(right_rest, self.fsub(self.fsub(right, most)?, twice)?)?;
            let beyond = self.fsub(most, self.fsub(large, right_rest)?)?;
            let beyond = self.intrinsic("llvm.copysign", &[], &[beyond, x])?;
            return self.select(near, self.fadd(x, small)?, beyond);
        }
        let middle = self.fsub(right, self.fadd(x, self.fsub(small, right_rest)?)?)?;
        let first = self.fadd(twice, large)?;
        let (straight, straight_rest) = (constant(std::f64::consts::PI)?, constant(PI_REST)?);
        let last = self.fsub(straight, self.fadd(twice, self.fsub(large, straight_rest)?)?)?;
        let negative = self.fcmp(FloatPredicate::OLT, x, zero)?;
        self.select(near, middle, self.select(negative, last, first)?)
    }

    fn atan2(&self, y: Value<'ctx>, x: Value<'ctx>, short: bool) -> Emitted<'ctx> {
        let constant = |c: f64| self.float_like(x, c);
        let (mut a, mut b) = (self.magnitude(y)?, self.magnitude(x)?);
        // Of two that are infinite the direction is that of equal ones, and sums of two that are large would be infinite.
        let infinite = |v| self.fcmp(FloatPredicate::OEQ, v, constant(f64::INFINITY)?);
        let both = self.and(infinite(a)?, infinite(b)?)?;
        (a, b) = (self.select(both, constant(1.0)?, a)?, self.select(both, constant(1.0)?, b)?);
        let large = |v| self.fcmp(FloatPredicate::OGT, v, constant(f64::powi(2.0, 1000))?);
        let scale =
            self.select(self.or(large(a)?, large(b)?)?, constant(f64::powi(2.0, -64))?, constant(1.0)?)?;
        (a, b) = (self.fmul(a, scale)?, self.fmul(b, scale)?);
        let angle = self.angle(a, b, short)?;
        let i64t = self.context.i64_type().into();
        let bits = self.bitcast(x, i64t)?;
        let backwards = self.icmp(IntPredicate::SLT, bits, self.int_like(bits, 0)?)?;
        let rest = self.fsub(angle, constant(PI_REST)?)?;
        let other = self.fsub(constant(std::f64::consts::PI)?, rest)?;
        let angle = self.select(backwards, other, angle)?;
        self.intrinsic("llvm.copysign", &[], &[angle, y])
    }

    /// The angle of the direction of `(b, a)`, neither negative.
    fn angle(&self, a: Value<'ctx>, b: Value<'ctx>, short: bool) -> Emitted<'ctx> {
        let constant = |c: f64| self.float_like(a, c);
        let all = |d: &Direction| -> Result<[Value<'ctx>; 4], EmitError> {
            let sum = |[p, q]: [f64; 2]| {
                let first = self.fmul(constant(p)?, a)?;
                match q {
                    0.0 => Ok(first),
                    _ if p == 0.0 => self.fmul(constant(q)?, b),
                    _ => self.multiply_add(constant(q)?, b, first),
                }
            };
            Ok([sum(d.upper)?, sum(d.lower)?, constant(d.angle[0])?, constant(d.angle[1])?])
        };
        let mut chosen = all(&VERTICAL)?;
        for d in &DIRECTIONS {
            let up_to = self.fcmp(FloatPredicate::OLE, a, self.fmul(constant(d.limit)?, b)?)?;
            for (old, new) in chosen.iter_mut().zip(all(d)?) {
                *old = self.select(up_to, new, *old)?;
            }
        }
        let [upper, lower, direction, rest] = chosen;
        // Both are nothing.
        let none = self.fcmp(FloatPredicate::OEQ, lower, constant(0.0)?)?;
        let lower = self.select(none, constant(1.0)?, lower)?;
        let t = self.fdiv(upper, lower)?;
        let square = self.fmul(t, t)?;
        let series = match short {
            true => self.polynomial(square, SHORT_ANGLE)?,
            false => self.polynomial(square, ANGLE)?,
        };
        let rest = self.multiply_add(self.fmul(t, square)?, series, rest)?;
        self.fadd(direction, self.fadd(t, rest)?)
    }

    fn erf(&self, x: Value<'ctx>, short: bool) -> Emitted<'ctx> {
        let constant = |c: f64| self.float_like(x, c);
        let size = self.magnitude(x)?;
        let near = self.fcmp(FloatPredicate::OLT, size, constant(1.0)?)?;
        // A NaN is not above, so it stays.
        let most = constant(6.0)?;
        let size = self.select(self.fcmp(FloatPredicate::OGT, size, most)?, most, size)?;
        let square = self.fmul(size, size)?;
        let (q, quotient) = {
            let two = constant(2.0)?;
            let quotient = self.fdiv(self.fsub(size, two)?, self.fadd(size, two)?)?;
            match short {
                true => (self.polynomial(square, SHORT_NEAR)?, quotient),
                false => (self.polynomial(square, NEAR)?, quotient),
            }
        };
        let small = self.multiply_add(x, q, x)?;
        let mut format = self.format(BaseTy::F64);
        if short {
            format.exp_degree = 9;
        }
        // exp(-36) is a normal number, and so are all powers of two on the way.
        let (p, bits) = self.exp_less_one(&format, self.fneg(square)?, None)?;
        let power = self.power_of_two(&format, bits)?;
        let exp = self.multiply_add(p, power, power)?;
        let g = match short {
            true => self.polynomial(quotient, SHORT_FAR)?,
            false => self.polynomial(quotient, FAR)?,
        };
        let large = self.fsub(constant(1.0)?, self.fmul(exp, g)?)?;
        let large = self.intrinsic("llvm.copysign", &[], &[large, x])?;
        self.select(near, small, large)
    }
}
