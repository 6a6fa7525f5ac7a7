//! A loop that counts, and what it carries, as all ways to run it know them.

use crate::values::Value;
use inkwell::values::IntValue;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_kernel::ir::{Atom, Carried, Stmt, Var};

/// A loop that counts from `from`, while less than `to`.
#[derive(Clone, Copy)]
pub(super) struct Loop<'l, 'ctx> {
    pub var: Var,
    pub from: IntValue<'ctx>,
    pub to: IntValue<'ctx>,
    /// Whether each run of the loop has its own number of iterations, as each ragged row has its size.
    pub ragged: bool,
    /// Whether it asks for what comes after it ([`super::prefetch`]).
    pub asks: bool,
    pub carried: &'l [Carried],
    pub body: &'l [Stmt],
    /// What the body makes of the carried values, in their order.
    pub next: &'l [Atom],
}

/// What a loop carries: of each value the pieces.
pub(super) type Values<'ctx> = Vec<Vec<Value<'ctx>>>;

/// The operator of what a loop carries, its type and neutral element; and those of all.
pub(super) type Sum = (ScalarOp, BaseTy, Scalar);
pub(super) type Sums = [Sum];
