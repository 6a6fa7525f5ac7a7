//! Values at the boundary of a program: what an entry takes and what a program gives.

use crate::scalar::{BaseTy, Scalar};
use crate::types::AtomTy;
use std::sync::Arc;

/// An array: an atom type without free variables, the sizes of the axes, and as many atoms as their
/// product, in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    pub atom: AtomTy,
    pub shape: Vec<usize>,
    pub atoms: Vec<Atom>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Atom {
    Scalar(Scalar),
    Box(Arc<BoxValue>),
    /// A tuple or record; the labels are in the atom type.
    Tuple(Arc<[Value]>),
    /// A function, which only the device that made it can apply.
    Function,
}

/// A box: the witnesses of the Σ's indices, and the contents.
#[derive(Clone, PartialEq, Debug)]
pub struct BoxValue {
    pub indices: Vec<IndexValue>,
    pub value: Value,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum IndexValue {
    Dim(i64),
    Shape(Vec<usize>),
}

impl Value {
    pub fn scalar(s: Scalar) -> Value {
        Value { atom: AtomTy::Base(s.ty()), shape: Vec::new(), atoms: vec![Atom::Scalar(s)] }
    }

    /// An array of base type; the number of scalars must be the product of the shape.
    pub fn of_scalars(ty: BaseTy, shape: Vec<usize>, scalars: impl IntoIterator<Item = Scalar>) -> Value {
        let atoms: Vec<_> = scalars.into_iter().map(Atom::Scalar).collect();
        debug_assert_eq!(atoms.len(), shape.iter().product::<usize>());
        Value { atom: AtomTy::Base(ty), shape, atoms }
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }
}
