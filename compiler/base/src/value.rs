//! Values at the boundary of a program: what an entry takes and what a program gives.

use crate::scalar::{BaseTy, Scalar};
use crate::types::AtomTy;
use half::f16;
use std::collections::TryReserveError;
use std::sync::Arc;

/// An array: an atom type without free variables, the sizes of the axes, and as many atoms as their
/// product, in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    pub atom: AtomTy,
    pub shape: Vec<usize>,
    pub data: Data,
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

macro_rules! define_data {
    ($($v:ident($t:ty)),*) => {
        /// The atoms of an array, all of one kind. Scalars lie side by side, as a file or a device has
        /// them: an array of 2²⁶ numbers is as large as those numbers.
        #[derive(Clone, PartialEq, Debug)]
        pub enum Data {
            $($v(Vec<$t>),)*
            Box(Vec<Arc<BoxValue>>),
            Tuple(Vec<Arc<[Value]>>),
            /// How many functions.
            Function(usize),
        }

        impl Data {
            /// No scalars yet, with room for some.
            pub fn of_base(ty: BaseTy, capacity: usize) -> Data {
                match ty {
                    $(BaseTy::$v => Data::$v(Vec::with_capacity(capacity)),)*
                }
            }

            /// Room for so many atoms more and no others, or that there is no such amount of memory.
            pub fn try_reserve_exact(&mut self, additional: usize) -> Result<(), TryReserveError> {
                match self {
                    $(Data::$v(v) => v.try_reserve_exact(additional),)*
                    Data::Box(v) => v.try_reserve_exact(additional),
                    Data::Tuple(v) => v.try_reserve_exact(additional),
                    Data::Function(_) => Ok(()),
                }
            }

            /// How many atoms there is room for.
            pub fn capacity(&self) -> usize {
                match self {
                    $(Data::$v(v) => v.capacity(),)*
                    Data::Box(v) => v.capacity(),
                    Data::Tuple(v) => v.capacity(),
                    Data::Function(_) => usize::MAX,
                }
            }

            /// How many bytes an atom takes in the array itself: of a box or tuple, where it is.
            pub fn atom_size(&self) -> usize {
                match self {
                    $(Data::$v(_) => size_of::<$t>(),)*
                    Data::Box(_) => size_of::<Arc<BoxValue>>(),
                    Data::Tuple(_) => size_of::<Arc<[Value]>>(),
                    Data::Function(_) => 0,
                }
            }

            /// The base type of the atoms, if they are scalars.
            pub fn base(&self) -> Option<BaseTy> {
                match self {
                    $(Data::$v(_) => Some(BaseTy::$v),)*
                    Data::Box(_) | Data::Tuple(_) | Data::Function(_) => None,
                }
            }

            pub fn len(&self) -> usize {
                match self {
                    $(Data::$v(v) => v.len(),)*
                    Data::Box(v) => v.len(),
                    Data::Tuple(v) => v.len(),
                    Data::Function(n) => *n,
                }
            }

            pub fn get(&self, i: usize) -> Option<Atom> {
                match self {
                    $(Data::$v(v) => v.get(i).map(|x| Atom::Scalar(Scalar::$v(*x))),)*
                    Data::Box(v) => v.get(i).cloned().map(Atom::Box),
                    Data::Tuple(v) => v.get(i).cloned().map(Atom::Tuple),
                    Data::Function(n) => (i < *n).then_some(Atom::Function),
                }
            }

            /// Appends; false, and nothing done, if the atom is of another kind.
            #[must_use]
            pub fn push(&mut self, atom: Atom) -> bool {
                match (self, atom) {
                    $((Data::$v(v), Atom::Scalar(Scalar::$v(x))) => v.push(x),)*
                    (Data::Box(v), Atom::Box(x)) => v.push(x),
                    (Data::Tuple(v), Atom::Tuple(x)) => v.push(x),
                    (Data::Function(n), Atom::Function) => *n += 1,
                    _ => return false,
                }
                true
            }

            /// Appends all; false, and nothing done, if the atoms are of another kind.
            #[must_use]
            pub fn append(&mut self, other: Data) -> bool {
                match (self, other) {
                    $((Data::$v(v), Data::$v(x)) => v.extend(x),)*
                    (Data::Box(v), Data::Box(x)) => v.extend(x),
                    (Data::Tuple(v), Data::Tuple(x)) => v.extend(x),
                    (Data::Function(n), Data::Function(m)) => *n += m,
                    _ => return false,
                }
                true
            }

            /// The atoms at these positions, in this order; those outside are left out.
            pub fn gather(&self, positions: impl Iterator<Item = usize>) -> Data {
                match self {
                    $(Data::$v(v) => Data::$v(positions.filter_map(|i| v.get(i).copied()).collect()),)*
                    Data::Box(v) => Data::Box(positions.filter_map(|i| v.get(i).cloned()).collect()),
                    Data::Tuple(v) => Data::Tuple(positions.filter_map(|i| v.get(i).cloned()).collect()),
                    Data::Function(n) => Data::Function(positions.filter(|i| i < n).count()),
                }
            }
        }

        $(
            impl From<Vec<$t>> for Data {
                fn from(v: Vec<$t>) -> Data {
                    Data::$v(v)
                }
            }
        )*
    };
}

define_data! {
    Bool(bool), Char(char), I8(i8), I16(i16), I32(i32), I64(i64), U8(u8), U16(u16), U32(u32), U64(u64),
    F16(f16), F32(f32), F64(f64)
}

impl Data {
    /// No atoms yet, of the kind that a closed atom type has.
    pub fn of_atom(atom: &AtomTy) -> Data {
        match atom {
            AtomTy::Base(ty) => Data::of_base(*ty, 0),
            AtomTy::Sigma(_) => Data::Box(Vec::new()),
            AtomTy::Tuple(_) => Data::Tuple(Vec::new()),
            _ => Data::Function(0),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = Atom> {
        (0..self.len()).map(|i| self.get(i).unwrap_or(Atom::Function))
    }
}

impl Value {
    pub fn scalar(s: Scalar) -> Value {
        let mut data = Data::of_base(s.ty(), 1);
        let _ = data.push(Atom::Scalar(s));
        Value { atom: AtomTy::Base(s.ty()), shape: Vec::new(), data }
    }

    /// An array of base type; the number of scalars must be the product of the shape, and all must be of
    /// this type.
    pub fn of_scalars(ty: BaseTy, shape: Vec<usize>, scalars: impl IntoIterator<Item = Scalar>) -> Value {
        let scalars = scalars.into_iter();
        let mut data = Data::of_base(ty, scalars.size_hint().0);
        for s in scalars {
            let fits = data.push(Atom::Scalar(s));
            debug_assert!(fits, "{s:?} is no {ty}");
        }
        debug_assert_eq!(data.len(), shape.iter().product::<usize>());
        Value { atom: AtomTy::Base(ty), shape, data }
    }

    /// An array of atoms; `None` if one is not of the kind that the type has.
    pub fn of_atoms(atom: AtomTy, shape: Vec<usize>, atoms: impl IntoIterator<Item = Atom>) -> Option<Value> {
        let mut data = Data::of_atom(&atom);
        atoms.into_iter().all(|a| data.push(a)).then_some(Value { atom, shape, data })
    }

    /// The atoms in row-major order.
    pub fn atoms(&self) -> impl ExactSizeIterator<Item = Atom> {
        self.data.iter()
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }
}
