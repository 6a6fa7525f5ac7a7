//! Typed functions for the operators that whole arrays are made of.
//!
//! [`super::apply`] decides operator and type for each scalar; an interpreter that maps one operator over
//! a million scalars decides once, here. A test holds each kernel to what `apply` says.

use super::ScalarOp;
use super::apply::Float;
use crate::scalar::BaseTy;

/// A binary operator at one type, infallible.
#[derive(Clone, Copy)]
pub enum BinaryKernel {
    I64(fn(i64, i64) -> i64),
    I64Bool(fn(i64, i64) -> bool),
    F32(fn(f32, f32) -> f32),
    F32Bool(fn(f32, f32) -> bool),
    F64(fn(f64, f64) -> f64),
    F64Bool(fn(f64, f64) -> bool),
}

/// The kernel of an operator on two operands of type `ty`, for the most common operators and types.
pub fn binary_kernel(op: ScalarOp, ty: BaseTy) -> Option<BinaryKernel> {
    use BinaryKernel::*;
    use ScalarOp::*;
    Some(match (ty, op) {
        (BaseTy::I64, Add) => I64(i64::wrapping_add),
        (BaseTy::I64, Sub) => I64(i64::wrapping_sub),
        (BaseTy::I64, Mul) => I64(i64::wrapping_mul),
        (BaseTy::I64, Min2) => I64(|x, y| x.min(y)),
        (BaseTy::I64, Max2) => I64(|x, y| x.max(y)),
        (BaseTy::I64, Eq) => I64Bool(|x, y| x == y),
        (BaseTy::I64, Lt) => I64Bool(|x, y| x < y),
        (BaseTy::I64, Le) => I64Bool(|x, y| x <= y),
        (BaseTy::I64, Gt) => I64Bool(|x, y| x > y),
        (BaseTy::I64, Ge) => I64Bool(|x, y| x >= y),
        (BaseTy::F32, Add) => F32(|x, y| x + y),
        (BaseTy::F32, Sub) => F32(|x, y| x - y),
        (BaseTy::F32, Mul) => F32(|x, y| x * y),
        (BaseTy::F32, Div) => F32(|x, y| x / y),
        (BaseTy::F32, Min2) => F32(Float::least),
        (BaseTy::F32, Max2) => F32(Float::greatest),
        (BaseTy::F32, Lt) => F32Bool(|x, y| x < y),
        (BaseTy::F32, Le) => F32Bool(|x, y| x <= y),
        (BaseTy::F32, Gt) => F32Bool(|x, y| x > y),
        (BaseTy::F32, Ge) => F32Bool(|x, y| x >= y),
        (BaseTy::F64, Add) => F64(|x, y| x + y),
        (BaseTy::F64, Sub) => F64(|x, y| x - y),
        (BaseTy::F64, Mul) => F64(|x, y| x * y),
        (BaseTy::F64, Div) => F64(|x, y| x / y),
        (BaseTy::F64, Min2) => F64(Float::least),
        (BaseTy::F64, Max2) => F64(Float::greatest),
        (BaseTy::F64, Eq) => F64Bool(|x, y| x == y),
        (BaseTy::F64, Lt) => F64Bool(|x, y| x < y),
        (BaseTy::F64, Le) => F64Bool(|x, y| x <= y),
        (BaseTy::F64, Gt) => F64Bool(|x, y| x > y),
        (BaseTy::F64, Ge) => F64Bool(|x, y| x >= y),
        _ => return None,
    })
}
