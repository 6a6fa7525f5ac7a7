//! The array primitives of `prelude/arrays.remora`.
//!
//! Each takes whole cells: the arguments as the primitive's type says, without the `Val` parameters, which
//! are among its index arguments. Most move cells about: they compute which cell of the argument each cell
//! of the result is, and [`crate::value::Data::gather`] does the rest.

mod choice;
mod fold;
mod halves;
mod order;
mod parts;
mod shape;

use crate::error::{Fault, R};
use crate::prim::{ArrayPrim, for_each_primitive};
use crate::value::{Args, Array, Dims, Func, IndexVal, PrimInst};

/// What primitives need of the evaluator: that functions are applied.
pub(crate) trait Apply {
    /// Applies one function to cells.
    fn call(&self, f: &Func, args: Args) -> R<Array>;

    /// Applies a function of `args.len()` cells at every position of the leading axes `pad` that all
    /// arguments share: what `reduce` does with `@item-pad`. `like` is an array of the result's cell type.
    fn call_padded(&self, f: &Func, args: Args, pad: &[usize], like: &Array) -> R<Array>;
}

macro_rules! calls {
    ($($name:literal $prim:ident $module:ident :: $function:ident;)*) => {
        /// Applies a primitive to cells.
        pub(crate) fn call(apply: &dyn Apply, p: &PrimInst, args: Args) -> R<Array> {
            let call = Call { apply, p, args };
            match p.prim {
                $(ArrayPrim::$prim => $module::$function(&call),)*
            }
        }
    };
}
for_each_primitive!(calls);

/// A primitive, its instance and its arguments.
struct Call<'a> {
    apply: &'a dyn Apply,
    p: &'a PrimInst,
    args: Args,
}

impl Call<'_> {
    fn name(&self) -> &'static str {
        self.p.prim.name()
    }

    fn arg(&self, i: usize) -> R<&Array> {
        self.args
            .get(i)
            .ok_or_else(|| Fault::internal(format!("{} applied to too few arguments", self.name())))
    }

    /// The shape that is the primitive's index argument `i`.
    fn shape(&self, i: usize) -> R<&[usize]> {
        match self.p.indices.get(i) {
            Some(IndexVal::Shape(s)) => Ok(s),
            _ => Err(Fault::internal(format!("{} without its index arguments", self.name()))),
        }
    }

    fn dim(&self, i: usize) -> R<usize> {
        match self.p.indices.get(i) {
            Some(IndexVal::Dim(n)) => crate::env::natural(*n, || format!("of {}", self.name())),
            _ => Err(Fault::internal(format!("{} without its index arguments", self.name()))),
        }
    }

    /// The length of the first axis of argument `i`, and the size of its items.
    fn items(&self, i: usize) -> R<(usize, &Array, usize)> {
        let xs = self.arg(i)?;
        match xs.shape.first() {
            Some(n) => Ok((*n, xs, crate::array::size(&xs.shape[1..])?)),
            None => Err(Fault::internal(format!("{} of a scalar", self.name()))),
        }
    }
}

/// `a ++ b`.
fn joined(a: &[usize], b: &[usize]) -> Dims {
    a.iter().chain(b).copied().collect()
}

/// How many cells of an axis row-major positions pass when an axis grows by one.
fn strides(shape: &[usize]) -> Dims {
    let mut out = Dims::from_elem(1, shape.len());
    for axis in (1..shape.len()).rev() {
        out[axis - 1] = out[axis].saturating_mul(shape[axis]);
    }
    out
}

/// Calls `f` with the index vector of every position of a shape, in row-major order.
fn for_each_index(shape: &[usize], mut f: impl FnMut(&[usize]) -> R<()>) -> R<()> {
    if shape.contains(&0) {
        return Ok(());
    }
    let mut at = Dims::from_elem(0, shape.len());
    loop {
        f(&at)?;
        let Some(axis) = (0..shape.len()).rev().find(|a| at[*a] + 1 < shape[*a]) else { return Ok(()) };
        at[axis] += 1;
        at[axis + 1..].fill(0);
    }
}
