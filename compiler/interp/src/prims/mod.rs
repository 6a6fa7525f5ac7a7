//! The array primitives of `prelude/arrays.remora`.
//!
//! Each takes whole cells: the arguments as the primitive's type says, without the `Val` parameters, which
//! are among its index arguments. Most move cells about: they compute which cell of the argument each cell
//! of the result is, and [`crate::array::Data::gather`] does the rest.

mod choice;
mod fold;
mod halves;
mod order;
mod parts;
mod shape;

use crate::array::{Array, Dims, PrimInst};
use crate::env::IndexVal;
use crate::error::{Fault, R};
use crate::eval::{Args, Interp};

macro_rules! primitives {
    ($($name:literal $prim:ident $module:ident :: $function:ident;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub(crate) enum ArrayPrim {
            $($prim,)*
        }

        impl ArrayPrim {
            #[cfg(test)]
            pub const NAMES: &'static [&'static str] = &[$($name),*];

            pub fn from_name(name: &str) -> Option<ArrayPrim> {
                match name {
                    $($name => Some(ArrayPrim::$prim),)*
                    _ => None,
                }
            }

            pub fn name(self) -> &'static str {
                match self {
                    $(ArrayPrim::$prim => $name,)*
                }
            }
        }

        /// Applies a primitive to cells.
        pub(crate) fn call(interp: &Interp, p: &PrimInst, args: Args) -> R<Array> {
            let call = Call { interp, p, args };
            match p.prim {
                $(ArrayPrim::$prim => $module::$function(&call),)*
            }
        }
    };
}

primitives! {
    "reduce" Reduce fold::reduce;
    "reduce/zero" ReduceZero fold::reduce_zero;
    "iscan" Iscan fold::iscan;
    "iscan/zero" IscanZero fold::iscan_zero;
    "scan/zero" ScanZero fold::scan_zero;
    "open-scan/zero" OpenScanZero fold::open_scan_zero;
    "fold" Fold fold::fold;
    "trace" Trace fold::trace;
    "mean/float" MeanFloat halves::mean;
    "iterate" Iterate fold::iterate;
    "while" While fold::while_;
    "iota" Iota shape::iota;
    "replicate" Replicate shape::replicate;
    "reshape" Reshape shape::reshape;
    "with-shape" WithShape shape::with_shape;
    "append" Append shape::append;
    "reverse" Reverse shape::reverse;
    "rotate" Rotate shape::rotate;
    "transpose" Transpose shape::transpose;
    "indices-of" IndicesOf shape::indices_of;
    "index" Index parts::index;
    "subvector" Subvector parts::subvector;
    "subarray" Subarray parts::subarray;
    "subarray/wrap" SubarrayWrap parts::subarray_wrap;
    "subarray/fill" SubarrayFill parts::subarray_fill;
    "scatter" Scatter parts::scatter;
    "scatter/into" ScatterInto parts::scatter_into;
    "scatter/combine" ScatterCombine parts::scatter_combine;
    "filter" Filter choice::filter;
    "replicate/counts" ReplicateCounts choice::replicate_counts;
    "grade" Grade order::grade;
    "grade/by" GradeBy order::grade_by;
    "before?" Before order::before;
    "split" Split choice::split;
    "concat" Concat choice::concat;
    "segments" Segments choice::segments;
}

/// A primitive, its instance and its arguments.
struct Call<'a, 'p> {
    interp: &'a Interp<'p>,
    p: &'a PrimInst,
    args: Args,
}

impl Call<'_, '_> {
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
