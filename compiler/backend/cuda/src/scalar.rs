//! Scalar operators, casts and constants as expressions of C++.
//!
//! What C++ means by an operator is what the language means for most types: those are printed infix. The
//! others are functions of the text's prelude, in the namespace `remc`: integers that wrap (a signed
//! overflow has no meaning in C++, and narrow types are computed with as `int`), products of floats (which
//! the compiler might otherwise fuse into a sum), minima, quotients, powers.

use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};

/// What a base type is called.
pub fn type_name(t: BaseTy) -> &'static str {
    t.stored_name()
}

/// A constant, exactly.
pub fn constant(c: Scalar) -> String {
    match c {
        Scalar::Bool(b) => b.to_string(),
        Scalar::Char(c) => format!("{}u", c as u32),
        Scalar::I64(i64::MIN) => "(i64)0x8000000000000000ull".to_owned(),
        Scalar::I64(n) => n.to_string(),
        Scalar::I32(i32::MIN) => "(i32)0x80000000u".to_owned(),
        Scalar::I8(n) => format!("(i8){n}"),
        Scalar::I16(n) => format!("(i16){n}"),
        Scalar::I32(n) => n.to_string(),
        Scalar::U8(n) => format!("(u8){n}"),
        Scalar::U16(n) => format!("(u16){n}"),
        Scalar::U32(n) => format!("{n}u"),
        Scalar::U64(n) => format!("{n}ull"),
        Scalar::F16(x) => format!("remc::f16_bits({})", x.to_bits()),
        Scalar::F32(x) => float(
            f64::from(x),
            "f",
            || format!("remc::f32_bits(0x{:08x}u)", x.to_bits()),
            || {
                // The shortest text that is this `f32` and no other.
                format!("{x:?}")
            },
        ),
        Scalar::F64(x) => {
            float(x, "", || format!("remc::f64_bits(0x{:016x}ull)", x.to_bits()), || format!("{x:?}"))
        }
    }
}

fn float(x: f64, suffix: &str, bits: impl Fn() -> String, text: impl Fn() -> String) -> String {
    if x.is_finite() { text() + suffix } else { bits() }
}

/// An index or size, which stands where an `i64` is wanted anyway.
fn infix(op: ScalarOp, ty: BaseTy) -> Option<&'static str> {
    use BaseTy::*;
    use ScalarOp::*;
    Some(match op {
        Add | Sub if ty.is_float() || matches!(ty, U32 | U64 | U8 | U16 | I8 | I16) => {
            if op == Add {
                "+"
            } else {
                "-"
            }
        }
        Mul if matches!(ty, U32 | U64 | U8 | I8 | I16) => "*",
        Div if ty.is_float() => "/",
        Eq | CharEq => "==",
        Ne | Xor => "!=",
        Lt | CharLt => "<",
        Le => "<=",
        Gt => ">",
        Ge => ">=",
        And => "&&",
        Or => "||",
        BitAnd => "&",
        BitOr => "|",
        BitXor => "^",
        _ => return None,
    })
}

/// The function of the prelude that an operator is.
fn function(op: ScalarOp) -> Option<&'static str> {
    use ScalarOp::*;
    Some(match op {
        Add => "add",
        Sub => "sub",
        Mul => "mul",
        Quotient => "quotient",
        Modulo => "modulo",
        Min2 => "min2",
        Max2 => "max2",
        Negate => "negate",
        Abs => "abs",
        Sign => "sign",
        Gcd => "gcd",
        Sqrt => "sqrt",
        Exp => "exp",
        Log => "log",
        Log2 => "log2",
        Sin => "sin",
        Cos => "cos",
        Tan => "tan",
        Asin => "asin",
        Acos => "acos",
        Atan => "atan",
        Atan2 => "atan2",
        Sinh => "sinh",
        Cosh => "cosh",
        Tanh => "tanh",
        Erf => "erf",
        Floor => "floor",
        Ceiling => "ceiling",
        Round => "round",
        Truncate => "truncate",
        Shl => "shl",
        Shr => "shr",
        Popcount => "popcount",
        _ => return None,
    })
}

/// An operator applied to the texts of its operands, which are of these types; `None` if it has no meaning
/// at them.
pub fn apply(op: ScalarOp, tys: &[BaseTy], args: &[String]) -> Option<String> {
    use ScalarOp::*;
    let result = op.result_ty(tys)?;
    let ty = *tys.last()?;
    match (op, tys, args) {
        (Select, _, [c, a, b]) => {
            return Some(format!("{c} ? {} : {}", argument(a, ty), argument(b, ty)));
        }
        (Not, _, [a]) => return Some(format!("!{a}")),
        (BitNot, _, [a]) => return Some(format!("~{a}")),
        (CharToInt | IntToFloat | BoolToInt | IntToBool | FloatToInt | IntToChar, &[from], [a]) => {
            return cast(from, result, a);
        }
        (Expt, &[base, exponent], [a, b]) => return Some(expt(base, exponent, a, b)),
        // Functions into the reals, and the quotient of integers.
        (
            Div | Sqrt | Exp | Log | Log2 | Sin | Cos | Tan | Asin | Acos | Atan | Atan2 | Sinh | Cosh | Tanh
            | Erf,
            _,
            _,
        ) if ty.is_integer() => {
            let reals: Vec<String> = args.iter().map(|a| format!("(f64){a}")).collect();
            return apply(op, &vec![BaseTy::F64; reals.len()], &reals);
        }
        (Floor | Ceiling | Round | Truncate, _, [a]) if ty.is_integer() => return Some(a.clone()),
        _ => {}
    }
    // Halves are computed with as `f32`, and compared so.
    if ty == BaseTy::F16 {
        let wide: Vec<String> = args.iter().map(|a| format!("remc::wide({a})")).collect();
        let text = apply(op, &vec![BaseTy::F32; wide.len()], &wide)?;
        return Some(if result == BaseTy::F16 { format!("remc::narrow({text})") } else { text });
    }
    if op == Negate && ty.is_float() {
        return Some(format!("-{}", args.first()?));
    }
    if let (Some(sign), [a, b]) = (infix(op, ty), args) {
        // Numbers alone would make an `int`, and it may be an operand of a function.
        let (a, b) = if result == BaseTy::Bool {
            (a.clone(), b.clone())
        } else {
            (argument(a, tys[0]), argument(b, tys[1]))
        };
        return Some(format!("{a} {sign} {b}"));
    }
    // The functions are overloaded: a number has to say that it is an `i64`.
    let args: Vec<String> = args.iter().zip(tys).map(|(a, t)| argument(a, *t)).collect();
    Some(format!("remc::{}({})", function(op)?, args.join(", ")))
}

/// An operand of what may be an operand of a function itself: those are overloaded, and know an `i64` from an
/// `int`.
fn argument(text: &str, ty: BaseTy) -> String {
    match ty == BaseTy::I64 && text.parse::<i64>().is_ok() {
        true => format!("{text}ll"),
        false => text.to_owned(),
    }
}

fn expt(base: BaseTy, exponent: BaseTy, a: &str, b: &str) -> String {
    let as_f64 = |t: BaseTy, x: &str| match t {
        BaseTy::F16 => format!("(f64)remc::wide({x})"),
        BaseTy::F64 => x.to_owned(),
        _ => format!("(f64){x}"),
    };
    match (base.is_integer(), exponent.is_integer()) {
        // A negative exponent has been refused.
        (true, true) => format!("remc::power({}, (u64){b})", argument(a, base)),
        (true, false) => {
            let e = as_f64(exponent, b);
            let t = type_name(base);
            format!(
                "{e} == ::trunc({e}) && {e} < 1e18 ? remc::power({a}, (u64)({e})) : \
                 remc::saturated<{t}>(::pow((f64){a}, {e}))"
            )
        }
        (false, _) => {
            let power = format!("remc::power({}, {})", as_f64(base, a), as_f64(exponent, b));
            match base {
                BaseTy::F16 => format!("remc::narrow({power})"),
                BaseTy::F32 => format!("(f32){power}"),
                _ => power,
            }
        }
    }
}

/// A conversion; `None` if there is none.
pub fn cast(from: BaseTy, to: BaseTy, a: &str) -> Option<String> {
    if from == to {
        return Some(a.to_owned());
    }
    let name = type_name(to);
    Some(match (from, to) {
        (BaseTy::F16, BaseTy::Bool) => format!("remc::wide({a}) != 0"),
        (_, BaseTy::Bool) => format!("{a} != 0"),
        (BaseTy::F16, _) => return cast(BaseTy::F32, to, &format!("remc::wide({a})")),
        (BaseTy::F64, BaseTy::F16) => format!("remc::narrow({a})"),
        (BaseTy::F32, BaseTy::F16) => format!("remc::narrow({a})"),
        // Once rounded to f64 a large integer may round another way to a half; past 2^53 it is infinite.
        (_, BaseTy::F16) => format!("remc::narrow((f64){a})"),
        (BaseTy::F32 | BaseTy::F64, BaseTy::Char) => format!("(u32)remc::saturated<i64>({a})"),
        (BaseTy::F32 | BaseTy::F64, t) if t.is_integer() => format!("remc::saturated<{name}>({a})"),
        _ => format!("({name}){a}"),
    })
}
