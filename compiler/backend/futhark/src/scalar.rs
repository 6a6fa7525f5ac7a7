//! Scalar operators, casts and constants.
//!
//! Futhark's integers wrap, its `/` and `%` round down, and its comparisons are IEEE's: most operators are printed
//! as they are. The others are functions of [`crate::helpers`]: a division that may be by 0 where nobody looks at
//! the result (Futhark would stop there), shifts past the width, minima of what is not a number, conversions of
//! floats past the limits of an integer type. A `char` is its code point, a `u32`.

use crate::helpers::Helpers;
use crate::tree::Tree;
use crate::types::type_name;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};

/// A constant, exactly. An `i64` says so; [`bare`] takes that away where it is known anyway.
pub fn constant(c: Scalar) -> Tree {
    let name = type_name(c.ty());
    match (c, c.as_integer(), c.as_float()) {
        (Scalar::Bool(b), ..) => Tree::name(b.to_string()),
        (Scalar::Char(c), ..) => Tree::name(format!("{}u32", c as u32)),
        (_, Some(n), _) if c.ty().integer_range().is_some_and(|(least, _)| least == n && n < 0) => {
            Tree::name(format!("{name}.lowest"))
        }
        (_, Some(n), _) if n < 0 => Tree::unary('-', Tree::name(format!("{}{name}", -n))),
        (_, Some(n), _) => Tree::name(format!("{n}{name}")),
        (_, _, Some(x)) if x.is_nan() => Tree::name(format!("{name}.nan")),
        (_, _, Some(x)) => {
            let size = Tree::name(if x.is_infinite() { format!("{name}.inf") } else { decimal(c) });
            if x.is_sign_negative() { Tree::unary('-', size) } else { size }
        }
        _ => Tree::name(name),
    }
}

/// The shortest decimal that reads back, without a sign; floats are `f64` unless they say something else.
fn decimal(c: Scalar) -> String {
    match c {
        Scalar::F16(x) => format!("{:?}f16", f32::from(x).abs()),
        Scalar::F32(x) => format!("{:?}f32", x.abs()),
        other => format!("{:?}", other.as_float().unwrap_or(0.0).abs()),
    }
}

/// A number of type `i64` where nothing else can be.
pub fn bare(t: Tree) -> Tree {
    match t {
        Tree::Name(text) => match text.strip_suffix("i64") {
            Some(digits) if digits.bytes().all(|b| b.is_ascii_digit()) && !digits.is_empty() => {
                Tree::name(digits)
            }
            _ => Tree::Name(text),
        },
        Tree::Unary('-', a) => Tree::unary('-', bare(*a)),
        other => other,
    }
}

pub fn is_literal(t: &Tree) -> bool {
    match t {
        Tree::Name(text) => text.starts_with(|c: char| c.is_ascii_digit()),
        Tree::Unary('-', a) => is_literal(a),
        _ => false,
    }
}

/// An operator between its operands; a literal beside something else has its type.
pub fn infix(op: &'static str, a: Tree, b: Tree) -> Tree {
    let (known_a, known_b) = (is_literal(&a), is_literal(&b));
    let a = if known_b { a } else { bare(a) };
    let b = if known_a { b } else { bare(b) };
    // `x + -3` is `x - 3`, and an integer and 0 the integer.
    match (op, b) {
        ("+", Tree::Name(zero)) if zero == "0" && !known_a => a,
        ("+", Tree::Unary('-', n)) if is_literal(&n) => Tree::infix("-", a, *n),
        ("-", Tree::Unary('-', n)) if is_literal(&n) => Tree::infix("+", a, *n),
        (_, b) => Tree::infix(op, a, b),
    }
}

/// The sign that an operator has at every type that it is used at.
fn sign(op: ScalarOp, ty: BaseTy) -> Option<&'static str> {
    use ScalarOp::*;
    Some(match op {
        Add => "+",
        Sub => "-",
        Mul => "*",
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

/// The function of a type's module that an operator is.
fn function(op: ScalarOp, ty: BaseTy) -> Option<&'static str> {
    use ScalarOp::*;
    Some(match op {
        Min2 if ty.is_integer() => "min",
        Max2 if ty.is_integer() => "max",
        Abs => "abs",
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
        Ceiling => "ceil",
        Round => "round",
        Truncate => "trunc",
        _ => return None,
    })
}

/// The helper that an operator is.
fn helper(op: ScalarOp) -> Option<&'static str> {
    use ScalarOp::*;
    Some(match op {
        Quotient => "quotient",
        Modulo => "modulo",
        Min2 => "min2",
        Max2 => "max2",
        Sign => "sign",
        Gcd => "gcd",
        Shl => "shl",
        Shr => "shr",
        _ => return None,
    })
}

/// An operator on operands of these types; `None` if it has no meaning at them. `constants` are those among
/// the operands: division and shifts by a good constant need no helper.
pub fn apply(
    h: &mut Helpers,
    op: ScalarOp,
    tys: &[BaseTy],
    mut args: Vec<Tree>,
    constants: &[Option<Scalar>],
) -> Option<Tree> {
    use ScalarOp::*;
    let result = op.result_ty(tys)?;
    let ty = *tys.last()?;
    let second = constants.get(1).copied().flatten().and_then(Scalar::as_integer);
    match op {
        Select => {
            let [c, a, b] = <[Tree; 3]>::try_from(args).ok()?;
            return Some(Tree::choice(c, a, b));
        }
        Not | BitNot => return Some(Tree::unary('!', args.pop()?)),
        Negate if ty.is_float() || ty.is_signed() => return Some(Tree::unary('-', args.pop()?)),
        Negate => return Some(infix("-", constant(Scalar::from_integer(ty, 0)?), args.pop()?)),
        CharToInt | IntToFloat | BoolToInt | IntToBool | FloatToInt | IntToChar => {
            return cast(h, ty, result, args.pop()?);
        }
        Abs if !ty.is_float() && !ty.is_signed() => return args.pop(),
        Floor | Ceiling | Round | Truncate if ty.is_integer() => return args.pop(),
        Popcount => {
            let count = Tree::call(format!("{}.popc", type_name(ty)), args);
            return Some(match ty {
                BaseTy::I32 => count,
                _ => Tree::call(format!("{}.i32", type_name(ty)), vec![count]),
            });
        }
        Expt => return expt(h, *tys.first()?, ty, args),
        // Functions into the reals, and the quotient of integers.
        Div | Sqrt | Exp | Log | Log2 | Sin | Cos | Tan | Asin | Acos | Atan | Atan2 | Sinh | Cosh | Tanh
        | Erf
            if ty.is_integer() =>
        {
            let reals = args.into_iter().map(|a| cast(h, ty, BaseTy::F64, a)).collect::<Option<Vec<_>>>()?;
            let tys = vec![BaseTy::F64; reals.len()];
            return apply(h, op, &tys, reals, &[]);
        }
        // A fraction of a half is rounded once.
        Quotient | Modulo if ty == BaseTy::F16 => {
            let wide = args.into_iter().map(|a| cast(h, ty, BaseTy::F32, a)).collect::<Option<Vec<_>>>()?;
            let quotient = apply(h, op, &[BaseTy::F32; 2], wide, &[])?;
            return cast(h, BaseTy::F32, ty, quotient);
        }
        _ => {}
    }
    if let [a, b] = args.as_slice() {
        let sure = match op {
            Quotient if ty.is_integer() && second.is_some_and(|n| n != 0 && n != -1) => Some("/"),
            Modulo if ty.is_integer() && second.is_some_and(|n| n != 0 && n != -1) => Some("%"),
            Shl if second.is_some_and(|n| (0..i128::from(ty.bits())).contains(&n)) => Some("<<"),
            Shr if second.is_some_and(|n| (0..i128::from(ty.bits())).contains(&n)) => Some(">>"),
            _ => sign(op, ty),
        };
        if let Some(sign) = sure {
            return Some(infix(sign, a.clone(), b.clone()));
        }
    }
    match function(op, ty) {
        Some(f) => Some(Tree::call(format!("{}.{f}", type_name(ty)), args)),
        None => Some(Tree::call(h.named(helper(op)?, Some(ty)), args)),
    }
}

/// The operator as a function of two arguments, as `reduce` takes it.
pub fn section(h: &mut Helpers, op: ScalarOp, ty: BaseTy) -> Option<Tree> {
    if let Some(sign) = sign(op, ty) {
        return Some(Tree::name(format!("({sign})")));
    }
    match function(op, ty) {
        Some(f) => Some(Tree::name(format!("{}.{f}", type_name(ty)))),
        None => Some(Tree::name(h.named(helper(op)?, Some(ty)))),
    }
}

fn expt(h: &mut Helpers, base: BaseTy, exponent: BaseTy, args: Vec<Tree>) -> Option<Tree> {
    let [x, y] = <[Tree; 2]>::try_from(args).ok()?;
    if base.is_integer() && exponent.is_integer() {
        // A negative exponent has been refused.
        let y = cast(h, exponent, BaseTy::U64, y)?;
        return Some(Tree::call(h.named("power", Some(base)), vec![x, y]));
    }
    if base.is_integer() {
        let y = cast(h, exponent, BaseTy::F64, y)?;
        h.named("saturate", Some(base));
        return Some(Tree::call(h.named("real_power", Some(base)), vec![x, y]));
    }
    let wide = cast(h, base, BaseTy::F64, x)?;
    let power = if exponent.is_float() {
        let y = cast(h, exponent, BaseTy::F64, y)?;
        Tree::call(h.named("real_power", Some(BaseTy::F64)), vec![wide, y])
    } else {
        let name = type_name(exponent);
        let (negative, size) = match exponent.is_signed() {
            true => {
                let opposite = infix("-", constant(Scalar::from_integer(exponent, 0)?), y.clone());
                let negative = infix("<", y.clone(), constant(Scalar::from_integer(exponent, 0)?));
                (negative.clone(), Tree::choice(negative, opposite, y))
            }
            false => (Tree::name("false"), y),
        };
        let size = Tree::call(format!("u64.{name}"), vec![size]);
        Tree::call(h.named("power", Some(BaseTy::F64)), vec![wide, negative, size])
    };
    cast(h, BaseTy::F64, base, power)
}

/// A conversion; `None` if there is none.
pub fn cast(h: &mut Helpers, from: BaseTy, to: BaseTy, a: Tree) -> Option<Tree> {
    if type_name(from) == type_name(to) {
        return Some(a);
    }
    let plain = |a: Tree| Tree::call(format!("{}.{}", type_name(to), type_name(from)), vec![a]);
    Some(match (from, to) {
        (BaseTy::Bool, BaseTy::F16) => Tree::choice(a, Tree::name("1.0f16"), Tree::name("0.0f16")),
        (_, BaseTy::Bool) if from.is_float() => infix("!=", a, constant(Scalar::from_float(from, 0.0)?)),
        (_, BaseTy::Bool) => {
            let zero = match from {
                BaseTy::Char => Tree::name("0u32"),
                _ => constant(Scalar::from_integer(from, 0)?),
            };
            infix("!=", a, zero)
        }
        // What is no code point has been refused.
        (_, BaseTy::Char) if from.is_float() => {
            let whole = cast(h, from, BaseTy::I64, a)?;
            return cast(h, BaseTy::I64, to, whole);
        }
        (_, t) if from.is_float() && t.is_integer() => {
            let wide = cast(h, from, BaseTy::F64, a)?;
            Tree::call(h.named("saturate", Some(to)), vec![wide])
        }
        _ => plain(a),
    })
}
