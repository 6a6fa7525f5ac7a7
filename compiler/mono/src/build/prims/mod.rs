//! The array primitives of `prelude/arrays.remora`.
//!
//! Each takes whole cells: the arguments as the primitive's type says, without the `Val` parameters,
//! which are among its index arguments. What they check, in which order and with which values, is what
//! the interpreter checks.

mod choice;
mod fold;
mod halves;
mod order;
mod parts;
mod shape;
mod unranked;

use crate::build::opaque::is_known;
use crate::build::prim::{Prim, for_each_primitive};
use crate::build::val::{Instance, Val};
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use remc_base::*;

pub(crate) use fold::close_round;

macro_rules! calls {
    ($($name:literal $prim:ident $module:ident :: $function:ident;)*) => {
        /// Applies a primitive to cells.
        pub(super) fn call<'a>(b: &mut Build<'a>, p: &Instance, args: Vec<Val<'a>>) -> R<Val<'a>> {
            let call = Call { p, args };
            match p.prim {
                $(Prim::$prim => $module::$function(b, &call),)*
            }
        }
    };
}
for_each_primitive!(calls);

/// A primitive, its instance and its arguments.
struct Call<'c, 'a> {
    p: &'c Instance,
    args: Vec<Val<'a>>,
}

impl<'a> Call<'_, 'a> {
    fn name(&self) -> &'static str {
        self.p.prim.name()
    }

    fn arg(&self, i: usize) -> R<&Val<'a>> {
        match self.args.get(i) {
            Some(v) => Ok(v),
            None => bug(format!("{} applied to too few arguments", self.name())),
        }
    }

    fn base(&self, i: usize) -> R<Atom> {
        match self.arg(i)? {
            Val::Base(a) => Ok(*a),
            _ => bug(format!("{}: an argument is not of base type", self.name())),
        }
    }

    fn ty(&self, i: usize) -> R<&AtomTy> {
        match self.p.types.get(i) {
            Some(t) => Ok(t),
            None => bug(format!("{} without its type arguments", self.name())),
        }
    }

    fn shape(&self, i: usize) -> R<&Shape> {
        match self.p.indices.get(i) {
            Some(Index::Shape(s)) => Ok(s),
            _ => bug(format!("{} without its index arguments", self.name())),
        }
    }

    fn dim(&self, i: usize) -> R<&Dim> {
        match self.p.indices.get(i) {
            Some(Index::Dim(d)) => Ok(d),
            _ => bug(format!("{} without its index arguments", self.name())),
        }
    }

    /// The type of an array of the primitive's type argument `t`.
    fn array(&self, t: usize, shapes: &[&Shape]) -> R<ArrTy> {
        let shape = shapes.iter().fold(Shape::scalar(), |a, b| a.concat(b));
        Ok(ArrTy::new(self.ty(t)?.clone(), shape))
    }

    /// Whether the number of axes is known of the shapes that are the index arguments from the first on, `n` many.
    fn is_ranked(&self, n: usize) -> bool {
        self.p.indices.iter().take(n).all(|i| match i {
            Index::Shape(s) => is_known(s),
            Index::Dim(_) => true,
        })
    }

    /// The number of items of argument `i`.
    fn count(&self, b: &Build<'a>, i: usize) -> R<Atom> {
        match b.dims_of(self.arg(i)?).first() {
            Some(n) => Ok(*n),
            None => bug(format!("{} of a scalar", self.name())),
        }
    }
}
