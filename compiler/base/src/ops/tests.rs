use super::*;
use ScalarOp::*;
use half::f16;
use std::cmp::Ordering;

fn int(n: i64) -> Scalar {
    Scalar::I64(n)
}
fn fl(x: f64) -> Scalar {
    Scalar::F64(x)
}
fn ap(op: ScalarOp, args: &[Scalar]) -> Scalar {
    apply(op, args).unwrap_or_else(|e| panic!("{op} {args:?}: {e}"))
}
fn bits(s: Scalar) -> u64 {
    s.as_float().unwrap().to_bits()
}

/// A value of every base type, and enough different ones to reach the edges.
fn samples(ty: BaseTy) -> Vec<Scalar> {
    if let Some((lo, hi)) = ty.integer_range() {
        return [lo, lo + 1, -1, 0, 1, 2, 7, hi]
            .into_iter()
            .filter(|n| *n >= lo)
            .filter_map(|n| Scalar::from_integer(ty, n))
            .collect();
    }
    match ty {
        BaseTy::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        BaseTy::Char => vec![Scalar::Char('a'), Scalar::Char('λ')],
        _ => [0.0, -0.0, 1.5, -2.5, 1e300, f64::INFINITY, f64::NEG_INFINITY, f64::NAN]
            .into_iter()
            .filter_map(|x| Scalar::from_float(ty, x))
            .collect(),
    }
}

#[test]
fn rows_are_in_the_order_of_the_operators() {
    for (i, row) in TABLE.iter().enumerate() {
        assert_eq!(row.op as usize, i);
        assert_eq!(ScalarOp::from_name(row.name), Some(row.op));
    }
}

#[test]
fn every_operator_gives_its_result_type_for_all_its_operand_types() {
    for row in TABLE {
        for t in BaseTy::ALL {
            for u in BaseTy::ALL {
                let tys: Vec<BaseTy> = row
                    .operands
                    .iter()
                    .map(|o| match o {
                        Operand::T => t,
                        Operand::U => u,
                        Operand::Base(b) => *b,
                    })
                    .collect();
                let expected = row.op.result_ty(&tys);
                let columns: Vec<Vec<Scalar>> = tys.iter().map(|t| samples(*t)).collect();
                let total: usize = columns.iter().map(Vec::len).product();
                for mut i in 0..total {
                    let mut args = Vec::new();
                    for c in &columns {
                        args.push(c[i % c.len()]);
                        i /= c.len();
                    }
                    match (apply(row.op, &args), expected) {
                        (Ok(s), Some(b)) => assert_eq!(s.ty(), b, "{} {args:?}", row.op),
                        (Ok(s), None) => panic!("{} {args:?} gave {s:?}", row.op),
                        (Err(OpError::WrongOperands), None) => {}
                        (Err(OpError::WrongOperands), Some(_)) => panic!("{} {args:?}", row.op),
                        (Err(e), Some(_)) => assert!(row.can_fail, "{} {args:?}: {e}", row.op),
                        // Division by zero is seen before the types are.
                        (Err(_), None) => {}
                    }
                }
            }
        }
    }
}

#[test]
fn integers_wrap() {
    assert_eq!(ap(Add, &[int(i64::MAX), int(1)]), int(i64::MIN));
    assert_eq!(ap(Sub, &[Scalar::U8(0), Scalar::U8(1)]), Scalar::U8(255));
    assert_eq!(ap(Mul, &[Scalar::I16(300), Scalar::I16(300)]), Scalar::I16(90000i32 as i16));
    assert_eq!(ap(Negate, &[int(i64::MIN)]), int(i64::MIN));
    assert_eq!(ap(Negate, &[Scalar::U8(1)]), Scalar::U8(255));
    assert_eq!(ap(Abs, &[Scalar::I8(-128)]), Scalar::I8(-128));
    assert_eq!(ap(Abs, &[Scalar::I8(-5)]), Scalar::I8(5));
}

#[test]
fn division_rounds_toward_minus_infinity() {
    for x in -7..=7i64 {
        for y in (-3..=3i64).filter(|y| *y != 0) {
            let q = (x as f64 / y as f64).floor() as i64;
            assert_eq!(ap(Quotient, &[int(x), int(y)]), int(q));
            assert_eq!(ap(Modulo, &[int(x), int(y)]), int(x - y * q));
            let (fx, fy) = (fl(x as f64), fl(y as f64));
            assert_eq!(ap(Quotient, &[fx, fy]), fl(q as f64), "{x} {y}");
            assert_eq!(ap(Modulo, &[fx, fy]), fl((x - y * q) as f64), "{x} {y}");
        }
    }
    assert_eq!(ap(Quotient, &[int(i64::MIN), int(-1)]), int(i64::MIN));
    assert_eq!(ap(Modulo, &[int(i64::MIN), int(-1)]), int(0));
    assert_eq!(ap(Quotient, &[Scalar::U8(250), Scalar::U8(7)]), Scalar::U8(35));
    for op in [Quotient, Modulo] {
        assert_eq!(apply(op, &[int(1), int(0)]), Err(OpError::DivisionByZero));
        assert_eq!(apply(op, &[Scalar::U32(0), Scalar::U32(0)]), Err(OpError::DivisionByZero));
    }
    // As Python's 1 // 0.1 and 1 % 0.1.
    assert_eq!(ap(Quotient, &[fl(1.0), fl(0.1)]), fl(9.0));
    assert_eq!(ap(Modulo, &[fl(1.0), fl(0.1)]), fl(0.09999999999999995));
    assert_eq!(ap(Quotient, &[fl(1.0), fl(0.0)]), fl(f64::INFINITY));
    assert!(ap(Modulo, &[fl(1.0), fl(0.0)]).as_float().unwrap().is_nan());
}

#[test]
fn true_division_of_integers_is_a_float() {
    assert_eq!(ap(Div, &[int(1), int(2)]), fl(0.5));
    assert_eq!(ap(Div, &[Scalar::U8(1), Scalar::U8(0)]), fl(f64::INFINITY));
    assert!(ap(Div, &[int(0), int(0)]).as_float().unwrap().is_nan());
    assert_eq!(ap(Div, &[Scalar::F32(1.0), Scalar::F32(3.0)]), Scalar::F32(1.0 / 3.0));
}

#[test]
fn powers() {
    assert_eq!(ap(Expt, &[int(3), int(4)]), int(81));
    assert_eq!(ap(Expt, &[int(0), int(0)]), int(1));
    assert_eq!(ap(Expt, &[int(2), int(64)]), int(0));
    assert_eq!(ap(Expt, &[Scalar::I8(-2), Scalar::U16(7)]), Scalar::I8(-128));
    assert_eq!(ap(Expt, &[int(3), fl(2.0)]), int(9));
    assert_eq!(ap(Expt, &[int(9), fl(0.5)]), int(3));
    assert_eq!(apply(Expt, &[int(2), int(-1)]), Err(OpError::NegativeExponent));
    assert_eq!(apply(Expt, &[int(2), fl(-0.5)]), Err(OpError::NegativeExponent));
    assert_eq!(ap(Expt, &[fl(2.0), int(-2)]), fl(0.25));
    assert_eq!(ap(Expt, &[fl(1.1), int(2)]), fl(1.1 * 1.1));
    assert_eq!(ap(Expt, &[fl(-1.0), int(i64::MAX)]), fl(-1.0));
    assert_eq!(ap(Expt, &[fl(2.0), fl(0.5)]), fl(2f64.sqrt()));
    assert_eq!(ap(Expt, &[Scalar::F32(10.0), int(38)]), Scalar::F32(1e38));
}

#[test]
fn nan_propagates_through_min_and_max() {
    for op in [Min2, Max2] {
        for (x, y) in [(f64::NAN, 1.0), (1.0, f64::NAN)] {
            assert!(ap(op, &[fl(x), fl(y)]).as_float().unwrap().is_nan());
            let (x, y) = (f16::from_f64(x), f16::from_f64(y));
            assert!(ap(op, &[Scalar::F16(x), Scalar::F16(y)]).as_float().unwrap().is_nan());
        }
    }
    for (x, y) in [(0.0, -0.0), (-0.0, 0.0)] {
        assert_eq!(bits(ap(Min2, &[fl(x), fl(y)])), (-0.0f64).to_bits());
        assert_eq!(bits(ap(Max2, &[fl(x), fl(y)])), 0.0f64.to_bits());
    }
}

#[test]
fn rounding_is_half_to_even_and_keeps_integers() {
    for (x, r) in [(0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-1.5, -2.0), (2.6, 3.0)] {
        assert_eq!(bits(ap(Round, &[fl(x)])), f64::to_bits(r));
    }
    assert_eq!(ap(Floor, &[fl(-1.5)]), fl(-2.0));
    assert_eq!(ap(Ceiling, &[Scalar::F32(1.25)]), Scalar::F32(2.0));
    assert_eq!(ap(Truncate, &[fl(-1.5)]), fl(-1.0));
    for op in [Floor, Ceiling, Round, Truncate] {
        assert_eq!(ap(op, &[int(i64::MAX)]), int(i64::MAX));
    }
}

#[test]
fn comparisons_are_ieee() {
    let nan = fl(f64::NAN);
    for op in [Eq, Lt, Le, Gt, Ge] {
        assert_eq!(ap(op, &[nan, nan]), Scalar::Bool(false));
    }
    assert_eq!(ap(Ne, &[nan, nan]), Scalar::Bool(true));
    assert_eq!(ap(Eq, &[fl(0.0), fl(-0.0)]), Scalar::Bool(true));
    assert_eq!(ap(Lt, &[Scalar::U64(1), Scalar::U64(u64::MAX)]), Scalar::Bool(true));
    assert_eq!(ap(Eq, &[Scalar::Char('a'), Scalar::Char('a')]), Scalar::Bool(true));
    assert_eq!(ap(CharLt, &[Scalar::Char('a'), Scalar::Char('b')]), Scalar::Bool(true));
}

#[test]
fn shifts_past_the_width() {
    assert_eq!(ap(Shl, &[int(1), int(63)]), int(i64::MIN));
    assert_eq!(ap(Shl, &[int(1), int(64)]), int(0));
    assert_eq!(ap(Shl, &[int(1), int(-1)]), int(0));
    assert_eq!(ap(Shr, &[int(-8), int(1)]), int(-4));
    assert_eq!(ap(Shr, &[int(-8), int(64)]), int(-1));
    assert_eq!(ap(Shr, &[int(8), int(1 << 40)]), int(0));
    assert_eq!(ap(Shr, &[int(-8), int(-1)]), int(-1));
    assert_eq!(ap(Shr, &[Scalar::U8(255), Scalar::U8(4)]), Scalar::U8(15));
    assert_eq!(ap(Shr, &[Scalar::U8(255), Scalar::U8(8)]), Scalar::U8(0));
    assert_eq!(ap(Shl, &[Scalar::I8(1), Scalar::I8(8)]), Scalar::I8(0));
}

#[test]
fn bits_and_signs() {
    assert_eq!(ap(Popcount, &[Scalar::I8(-1)]), Scalar::I8(8));
    assert_eq!(ap(Popcount, &[int(-1)]), int(64));
    assert_eq!(ap(BitNot, &[Scalar::U8(1)]), Scalar::U8(254));
    assert_eq!(ap(BitXor, &[int(6), int(3)]), int(5));
    assert_eq!(ap(Sign, &[int(-3)]), int(-1));
    assert_eq!(ap(Sign, &[Scalar::U8(3)]), Scalar::U8(1));
    assert_eq!(ap(Sign, &[fl(-3.0)]), fl(-1.0));
    assert_eq!(bits(ap(Sign, &[fl(-0.0)])), 0);
    assert_eq!(ap(Gcd, &[int(-12), int(18)]), int(6));
    assert_eq!(ap(Gcd, &[int(0), int(0)]), int(0));
    assert_eq!(ap(Gcd, &[int(i64::MIN), int(0)]), int(i64::MIN));
}

#[test]
fn narrow_floats_round_once() {
    let third = f16::from_f64(1.0 / 3.0);
    let one = f16::ONE;
    let three = f16::from_f32(3.0);
    assert_eq!(ap(Div, &[Scalar::F16(one), Scalar::F16(three)]), Scalar::F16(third));
    // 1 + 2^-11 lies halfway between 1 and the next f16; a little more rounds up, and is rounded once.
    let half = 1.0 + 2f64.powi(-11);
    for (x, r) in [(half, one), (half + 2f64.powi(-50), f16::from_bits(0x3c01)), (half - 2f64.powi(-50), one)]
    {
        assert_eq!(cast(fl(x), BaseTy::F16), Ok(Scalar::F16(r)));
        assert_eq!(cast(fl(-x), BaseTy::F16), Ok(Scalar::F16(-r)));
    }
    assert_eq!(cast(Scalar::F32(1.000_488_4), BaseTy::F16), Ok(Scalar::F16(f16::from_bits(0x3c01))));
    assert_eq!(ap(Exp, &[Scalar::F32(1.0)]), Scalar::F32(std::f64::consts::E as f32));
    assert_eq!(ap(Sqrt, &[int(9)]), fl(3.0));
    assert_eq!(ap(Log, &[Scalar::I8(0)]), fl(f64::NEG_INFINITY));
    assert_eq!(ap(Atan2, &[int(1), int(0)]), fl(std::f64::consts::FRAC_PI_2));
}

#[test]
fn casts() {
    use BaseTy::*;
    assert_eq!(cast(int(300), U8), Ok(Scalar::U8(44)));
    assert_eq!(cast(int(-1), U64), Ok(Scalar::U64(u64::MAX)));
    assert_eq!(cast(fl(-1.9), I64), Ok(int(-1)));
    assert_eq!(cast(fl(1e30), I32), Ok(Scalar::I32(i32::MAX)));
    assert_eq!(cast(fl(-5.0), U8), Ok(Scalar::U8(0)));
    assert_eq!(cast(fl(f64::NAN), I64), Ok(int(0)));
    assert_eq!(cast(fl(1e10), F16), Ok(Scalar::F16(f16::INFINITY)));
    assert_eq!(cast(Scalar::Bool(true), F32), Ok(Scalar::F32(1.0)));
    assert_eq!(cast(fl(0.5), Bool), Ok(Scalar::Bool(true)));
    assert_eq!(cast(Scalar::Char('A'), I64), Ok(int(65)));
    assert_eq!(cast(int(955), Char), Ok(Scalar::Char('λ')));
    assert_eq!(cast(int(0xd800), Char), Err(OpError::NotAChar(0xd800)));
    assert_eq!(cast(int(-1), Char), Err(OpError::NotAChar(-1)));
    assert_eq!(apply(IntToChar, &[int(0x110000)]), Err(OpError::NotAChar(0x110000)));
    assert_eq!(apply(FloatToInt, &[fl(f64::NEG_INFINITY)]), Ok(int(i64::MIN)));
    for from in BaseTy::ALL {
        for to in BaseTy::ALL {
            for x in samples(from) {
                match cast(x, to) {
                    Ok(y) => assert_eq!(y.ty(), to),
                    Err(e) => assert!(to == Char && matches!(e, OpError::NotAChar(_))),
                }
            }
        }
    }
}

#[test]
fn the_order_of_sort_is_total() {
    let nan = fl(f64::NAN);
    assert_eq!(total_cmp(nan, nan), Ordering::Equal);
    assert_eq!(total_cmp(fl(f64::INFINITY), nan), Ordering::Less);
    assert_eq!(total_cmp(nan, fl(0.0)), Ordering::Greater);
    assert_eq!(total_cmp(fl(-0.0), fl(0.0)), Ordering::Equal);
    for ty in BaseTy::ALL {
        let s = samples(ty);
        for a in &s {
            for b in &s {
                assert_eq!(total_cmp(*a, *b), total_cmp(*b, *a).reverse());
            }
        }
    }
}

#[test]
fn kernels_agree_with_apply() {
    for row in TABLE {
        for ty in BaseTy::ALL {
            let Some(kernel) = binary_kernel(row.op, ty) else { continue };
            for x in samples(ty) {
                for y in samples(ty) {
                    let got = match (kernel, x, y) {
                        (BinaryKernel::I64(f), Scalar::I64(x), Scalar::I64(y)) => Scalar::I64(f(x, y)),
                        (BinaryKernel::I64Bool(f), Scalar::I64(x), Scalar::I64(y)) => Scalar::Bool(f(x, y)),
                        (BinaryKernel::F32(f), Scalar::F32(x), Scalar::F32(y)) => Scalar::F32(f(x, y)),
                        (BinaryKernel::F32Bool(f), Scalar::F32(x), Scalar::F32(y)) => Scalar::Bool(f(x, y)),
                        (BinaryKernel::F64(f), Scalar::F64(x), Scalar::F64(y)) => Scalar::F64(f(x, y)),
                        (BinaryKernel::F64Bool(f), Scalar::F64(x), Scalar::F64(y)) => Scalar::Bool(f(x, y)),
                        _ => panic!("{} at {ty}: the kernel has another type", row.op),
                    };
                    // Compared as text, so that NaN equals NaN and the sign of zero counts.
                    assert_eq!(
                        format!("{got:?}"),
                        format!("{:?}", ap(row.op, &[x, y])),
                        "{} {x:?} {y:?}",
                        row.op
                    );
                }
            }
        }
    }
}
