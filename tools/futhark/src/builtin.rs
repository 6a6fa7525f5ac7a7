//! What operators and the functions of scalars give.

use crate::value::{E, Value, array, base, stop, undefined};
use remc_base::ops::{self, ScalarOp};
use remc_base::{BaseTy, Scalar};
use std::rc::Rc;

/// The same elements in another shape.
pub fn shaped(v: Value, to: &[usize]) -> Value {
    match v {
        Value::Array { data, .. } => Value::Array { shape: to.to_vec(), data },
        v => v,
    }
}

/// How many arguments a function of the prelude takes.
pub fn arity(n: &str) -> usize {
    match n {
        "map" => 2,
        "map2" | "reduce" | "scan" | "scatter" | "zip3" => 3,
        "map3" | "zip4" => 4,
        "map4" | "reduce_by_index" | "zip5" => 5,
        "map5" => 6,
        "filter" | "replicate" | "rotate" | "zip" => 2,
        _ => match n.split_once('.') {
            Some((_, "min" | "max" | "atan2")) => 2,
            _ => 1,
        },
    }
}

/// The places of the elements in these ranges of the leading axes.
pub fn positions(shape: &[usize], ranges: &[(usize, usize)]) -> Vec<usize> {
    let mut all = vec![0];
    for (k, n) in shape.iter().enumerate() {
        let (from, to) = ranges.get(k).copied().unwrap_or((0, *n));
        all = all.into_iter().flat_map(|p| (from..to).map(move |i| p * n + i)).collect();
    }
    all
}

/// An operator of the table.
pub fn scalar(op: ScalarOp, args: &[Scalar]) -> E<Value> {
    match ops::apply(op, args) {
        Ok(x) => Ok(Value::Scalar(x)),
        Err(e) => undefined(format!("{op} of {args:?}: {e}")),
    }
}

/// An infix operator.
pub fn binary(op: &str, a: &Value, b: &Value, line: usize) -> E<Value> {
    if op == "++" {
        let ((first, x), (second, y)) = (array(a)?, array(b)?);
        let mut shape = if first[0] == 0 { second.to_vec() } else { first.to_vec() };
        shape[0] = first[0] + second[0];
        return Ok(Value::Array { shape, data: Rc::new(x.iter().chain(y.iter()).cloned().collect()) });
    }
    let (Value::Scalar(x), Value::Scalar(y)) = (a, b) else {
        return undefined(format!("line {line}: `{op}`"));
    };
    let (x, y) = (*x, *y);
    let ty = x.ty();
    let integers = x.as_integer().zip(y.as_integer());
    let name = match op {
        "+" => ScalarOp::Add,
        "-" => ScalarOp::Sub,
        "*" => ScalarOp::Mul,
        "/" | "%" => {
            if let Some((a, b)) = integers {
                if b == 0 {
                    return stop(line, "a division by zero");
                }
                if b == -1 && ty.integer_range().is_some_and(|(least, _)| a == least) {
                    return undefined(format!("line {line}: the least number by -1"));
                }
                if op == "/" { ScalarOp::Quotient } else { ScalarOp::Modulo }
            } else if op == "/" {
                ScalarOp::Div
            } else {
                // The remainder of floats has the sign of the first.
                let (Some(a), Some(b)) = (x.as_float(), y.as_float()) else { return undefined("`%`") };
                return Scalar::from_float(ty, a % b)
                    .map_or_else(|| undefined("`%`"), |x| Ok(Value::Scalar(x)));
            }
        }
        "**" => return scalar(ScalarOp::Expt, &[x, y]),
        "==" => ScalarOp::Eq,
        "!=" => ScalarOp::Ne,
        "<" => ScalarOp::Lt,
        "<=" => ScalarOp::Le,
        ">" => ScalarOp::Gt,
        ">=" => ScalarOp::Ge,
        "&&" => ScalarOp::And,
        "||" => ScalarOp::Or,
        "&" => ScalarOp::BitAnd,
        "|" => ScalarOp::BitOr,
        "^" => ScalarOp::BitXor,
        "<<" | ">>" => {
            if integers.is_none_or(|(_, b)| b < 0 || b >= i128::from(ty.bits())) {
                return undefined(format!("line {line}: a shift by {y:?}"));
            }
            if op == "<<" { ScalarOp::Shl } else { ScalarOp::Shr }
        }
        _ => return undefined(format!("line {line}: the operator `{op}`")),
    };
    scalar(name, &[x, y])
}

/// A function of a base type's module.
pub fn qualified(module: &str, name: &str, args: &[Value], line: usize) -> E<Value> {
    let scalars: Vec<Scalar> = args
        .iter()
        .map(|a| match a {
            Value::Scalar(x) => Ok(*x),
            a => undefined(format!("line {line}: `{module}.{name}` of {a:?}")),
        })
        .collect::<E<_>>()?;
    let (Some(t), Some(x)) = (base(module), scalars.first().copied()) else { return undefined("a module") };
    if base(name).is_some() {
        if let (Some(f), Some((least, most))) = (x.as_float(), t.integer_range())
            && !(f.trunc() >= least as f64 && f.trunc() < most as f64 + 1.0)
        {
            return undefined(format!("line {line}: {f} as {module}"));
        }
        return ops::cast(x, t).map(Value::Scalar).or_else(|e| undefined(e.to_string()));
    }
    let op = match name {
        "abs" => ScalarOp::Abs,
        "min" if t.is_integer() => ScalarOp::Min2,
        "max" if t.is_integer() => ScalarOp::Max2,
        "popc" => {
            let count = scalar(ScalarOp::Popcount, &scalars)?;
            let Value::Scalar(count) = count else { return Ok(count) };
            return ops::cast(count, BaseTy::I32).map(Value::Scalar).or_else(|e| undefined(e.to_string()));
        }
        "isnan" => return Ok(Value::Scalar(Scalar::Bool(x.as_float().is_some_and(f64::is_nan)))),
        "sqrt" => ScalarOp::Sqrt,
        "exp" => ScalarOp::Exp,
        "log" => ScalarOp::Log,
        "log2" => ScalarOp::Log2,
        "sin" => ScalarOp::Sin,
        "cos" => ScalarOp::Cos,
        "tan" => ScalarOp::Tan,
        "asin" => ScalarOp::Asin,
        "acos" => ScalarOp::Acos,
        "atan" => ScalarOp::Atan,
        "atan2" => ScalarOp::Atan2,
        "sinh" => ScalarOp::Sinh,
        "cosh" => ScalarOp::Cosh,
        "tanh" => ScalarOp::Tanh,
        "erf" => ScalarOp::Erf,
        "floor" => ScalarOp::Floor,
        "ceil" => ScalarOp::Ceiling,
        "round" => ScalarOp::Round,
        "trunc" => ScalarOp::Truncate,
        _ => return undefined(format!("line {line}: `{module}.{name}`")),
    };
    scalar(op, &scalars)
}
