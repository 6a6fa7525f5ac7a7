//! Arrays at run time: a shape and a flat, row-major buffer of atoms of one kind.
//!
//! Buffers are shared: taking a cell of an array or referring to a variable copies nothing, and a scalar
//! holds its atom in place.

use crate::code::{ILam, Lam, TLam};
use crate::env::{Env, IndexVal};
use crate::error::{Fault, R};
use crate::prims::ArrayPrim;
use half::f16;
use remc_base::ops::ScalarOp;
use remc_base::{AtomTy, BaseTy, Scalar, Trap};
use smallvec::SmallVec;
use std::rc::Rc;

pub(crate) type Dims = SmallVec<[usize; 4]>;

/// The most atoms of an array: a size past it is reported, not tried.
pub(crate) const MOST_ATOMS: usize = 1 << 28;

#[derive(Clone)]
pub(crate) struct Array {
    pub shape: Dims,
    pub data: Data,
}

#[derive(Clone)]
pub(crate) enum Buf<T> {
    One(T),
    Part { all: Rc<Vec<T>>, start: usize, len: usize },
}

impl<T: Clone> Buf<T> {
    pub fn as_slice(&self) -> &[T] {
        match self {
            Buf::One(x) => std::slice::from_ref(x),
            Buf::Part { all, start, len } => &all[*start..*start + *len],
        }
    }

    fn slice(&self, from: usize, count: usize) -> Buf<T> {
        match self {
            _ if count == 1 => Buf::One(self.as_slice()[from].clone()),
            Buf::One(_) if count == 0 => Buf::from(Vec::new()),
            Buf::One(x) => Buf::One(x.clone()),
            Buf::Part { all, start, .. } => Buf::Part { all: all.clone(), start: start + from, len: count },
        }
    }
}

impl<T> From<Vec<T>> for Buf<T> {
    fn from(mut v: Vec<T>) -> Buf<T> {
        if v.len() == 1
            && let Some(x) = v.pop()
        {
            return Buf::One(x);
        }
        let len = v.len();
        Buf::Part { all: Rc::new(v), start: 0, len }
    }
}

/// A box: its witnesses and its contents.
pub(crate) struct BoxVal {
    pub indices: Vec<IndexVal>,
    pub value: Array,
}

/// A function atom.
#[derive(Clone)]
pub(crate) enum Func {
    /// A scalar primitive. The type of its operands is in their buffers.
    Scalar(ScalarOp),
    /// An array primitive and the index and type arguments it has so far.
    Array(Rc<PrimInst>),
    Lam(Rc<Closure<Lam>>),
    TLam(Rc<Closure<TLam>>),
    ILam(Rc<Closure<ILam>>),
}

pub(crate) struct PrimInst {
    pub prim: ArrayPrim,
    pub indices: Vec<IndexVal>,
    pub types: Vec<AtomTy>,
}

pub(crate) struct Closure<L> {
    pub lam: Rc<L>,
    pub env: Env,
    /// How many parameters a partial `t-app` or `i-app` has bound already.
    pub bound: usize,
}

macro_rules! define_data {
    ($($v:ident($t:ty)),*) => {
        /// A shared buffer of atoms.
        #[derive(Clone)]
        pub(crate) enum Data {
            $($v(Buf<$t>),)*
        }

        /// A buffer that is being filled.
        pub(crate) enum Builder {
            $($v(Vec<$t>),)*
        }

        impl Data {
            pub fn len(&self) -> usize {
                match self {
                    $(Data::$v(b) => b.as_slice().len(),)*
                }
            }

            pub fn slice(&self, from: usize, count: usize) -> Data {
                match self {
                    $(Data::$v(b) => Data::$v(b.slice(from, count)),)*
                }
            }

            /// An empty builder of the same kind of atoms.
            pub fn builder(&self, capacity: usize) -> Builder {
                match self {
                    $(Data::$v(_) => Builder::$v(Vec::with_capacity(capacity)),)*
                }
            }

            /// The cells of `cell` atoms each at the given positions.
            pub fn gather(&self, positions: impl Iterator<Item = usize>, cell: usize) -> Data {
                match self {
                    $(Data::$v(b) => {
                        let from = b.as_slice();
                        let out: Vec<$t> = if cell == 1 {
                            positions.map(|p| from[p].clone()).collect()
                        } else {
                            let mut out = Vec::with_capacity(positions.size_hint().0.saturating_mul(cell));
                            for p in positions {
                                out.extend_from_slice(&from[p * cell..(p + 1) * cell]);
                            }
                            out
                        };
                        Data::$v(out.into())
                    })*
                }
            }
        }

        impl Builder {
            /// Appends; false if the atoms are of another kind.
            #[must_use]
            pub fn extend(&mut self, data: &Data) -> bool {
                match (self, data) {
                    $((Builder::$v(out), Data::$v(b)) => out.extend_from_slice(b.as_slice()),)*
                    _ => return false,
                }
                true
            }

            /// Overwrites the atoms from `at` on; false if the kinds differ.
            #[must_use]
            pub fn write(&mut self, at: usize, data: &Data) -> bool {
                match (self, data) {
                    $((Builder::$v(out), Data::$v(b)) => {
                        let from = b.as_slice();
                        out[at..at + from.len()].clone_from_slice(from);
                    })*
                    _ => return false,
                }
                true
            }

            /// A copy of some of the atoms so far.
            pub fn read(&self, from: usize, count: usize) -> Data {
                match self {
                    $(Builder::$v(out) => Data::$v(out[from..from + count].to_vec().into()),)*
                }
            }

            pub fn finish(self) -> Data {
                match self {
                    $(Builder::$v(out) => Data::$v(out.into()),)*
                }
            }
        }
    };
}

define_data! {
    Bool(bool), Char(char), I8(i8), I16(i16), I32(i32), I64(i64), U8(u8), U16(u16), U32(u32), U64(u64),
    F16(f16), F32(f32), F64(f64), Box(Rc<BoxVal>), Tuple(Rc<[Array]>), Func(Func)
}

macro_rules! scalar_data {
    ($($v:ident),*) => {
        impl Data {
            pub fn one(s: Scalar) -> Data {
                match s {
                    $(Scalar::$v(x) => Data::$v(Buf::One(x)),)*
                }
            }

            /// The scalar at a position; `None` if the atoms are no scalars.
            #[inline]
            pub fn scalar_at(&self, i: usize) -> Option<Scalar> {
                match self {
                    $(Data::$v(b) => b.as_slice().get(i).map(|x| Scalar::$v(*x)),)*
                    _ => None,
                }
            }

            pub fn base(&self) -> Option<BaseTy> {
                match self {
                    $(Data::$v(_) => Some(BaseTy::$v),)*
                    _ => None,
                }
            }
        }

        impl Builder {
            pub fn of_base(ty: BaseTy, capacity: usize) -> Builder {
                match ty {
                    $(BaseTy::$v => Builder::$v(Vec::with_capacity(capacity)),)*
                }
            }

            /// Appends; false if the scalar is of another type.
            #[must_use]
            #[inline]
            pub fn push(&mut self, s: Scalar) -> bool {
                match (self, s) {
                    $((Builder::$v(out), Scalar::$v(x)) => out.push(x),)*
                    _ => return false,
                }
                true
            }
        }
    };
}
scalar_data!(Bool, Char, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64);

impl Builder {
    /// A builder for atoms of a closed type.
    pub fn of_atom(ty: &AtomTy) -> R<Builder> {
        Ok(match ty {
            AtomTy::Base(b) => Builder::of_base(*b, 0),
            AtomTy::Sigma(_) => Builder::Box(Vec::new()),
            AtomTy::Tuple(_) => Builder::Tuple(Vec::new()),
            AtomTy::Fn(_) | AtomTy::Forall(_) | AtomTy::Pi(_) => Builder::Func(Vec::new()),
            AtomTy::Var(_) | AtomTy::Meta(_) | AtomTy::Quot(_) => {
                return Err(Fault::internal(format!("the type {ty} has no value")));
            }
        })
    }
}

impl Array {
    pub fn new(shape: Dims, data: Data) -> Array {
        // An axis of 0 may stand behind others whose product alone is past all numbers.
        debug_assert_eq!(shape.iter().fold(1usize, |n, d| n.wrapping_mul(*d)), data.len());
        Array { shape, data }
    }

    pub fn scalar(s: Scalar) -> Array {
        Array { shape: Dims::new(), data: Data::one(s) }
    }

    pub fn func(f: Func) -> Array {
        Array { shape: Dims::new(), data: Data::Func(Buf::One(f)) }
    }

    pub fn boxed(indices: Vec<IndexVal>, value: Array) -> Array {
        Array { shape: Dims::new(), data: Data::Box(Buf::One(Rc::new(BoxVal { indices, value }))) }
    }

    pub fn tuple(parts: Vec<Array>) -> Array {
        Array { shape: Dims::new(), data: Data::Tuple(Buf::One(parts.into())) }
    }

    pub fn ints(shape: Dims, ints: Vec<i64>) -> Array {
        Array::new(shape, Data::I64(ints.into()))
    }

    pub fn rank(&self) -> usize {
        self.shape.len()
    }

    /// The cell at a position of the frame that the first `frame_rank` axes are; `cell` is its size.
    pub fn cell(&self, frame_rank: usize, position: usize, cell: usize) -> Array {
        if frame_rank == 0 {
            return self.clone();
        }
        Array {
            shape: Dims::from_slice(&self.shape[frame_rank..]),
            data: self.data.slice(position * cell, cell),
        }
    }

    pub fn as_ints(&self) -> R<&[i64]> {
        match &self.data {
            Data::I64(b) => Ok(b.as_slice()),
            _ => Err(Fault::internal("an argument is not of type int")),
        }
    }

    pub fn as_bools(&self) -> R<&[bool]> {
        match &self.data {
            Data::Bool(b) => Ok(b.as_slice()),
            _ => Err(Fault::internal("an argument is not of type bool")),
        }
    }

    pub fn as_boxes(&self) -> R<&[Rc<BoxVal>]> {
        match &self.data {
            Data::Box(b) => Ok(b.as_slice()),
            _ => Err(Fault::internal("an argument is not a box")),
        }
    }

    pub fn as_int(&self) -> R<i64> {
        match self.as_ints()? {
            [n] => Ok(*n),
            _ => Err(Fault::internal("an argument is not a scalar")),
        }
    }

    pub fn as_bool(&self) -> R<bool> {
        match self.as_bools()? {
            [b] => Ok(*b),
            _ => Err(Fault::internal("a condition is not a scalar")),
        }
    }

    pub fn as_func(&self) -> R<&Func> {
        match &self.data {
            Data::Func(b) if b.as_slice().len() == 1 => Ok(&b.as_slice()[0]),
            _ => Err(Fault::internal("what is applied is not one function")),
        }
    }
}

/// The number of atoms of a shape, if an array of it may be allocated.
pub(crate) fn size(shape: &[usize]) -> R<usize> {
    // A zero anywhere makes the array empty whatever the others are.
    if shape.contains(&0) {
        return Ok(0);
    }
    let product = shape.iter().try_fold(1usize, |acc, d| acc.checked_mul(*d));
    match product {
        Some(n) if n <= MOST_ATOMS => Ok(n),
        _ => {
            let trap =
                Trap::TooLarge { rank: shape.len(), by: "interpreter".into(), most: MOST_ATOMS as u64 };
            Err(Fault::trap(trap, &[&sizes(shape)]))
        }
    }
}

/// A shape as an operand of a [`Trap`].
pub(crate) fn sizes(shape: &[usize]) -> SmallVec<[i64; 4]> {
    shape.iter().map(|n| *n as i64).collect()
}

/// Collects the results of a function over a frame: all of one shape, which the first one decides.
pub(crate) struct Collector {
    parts: Option<(Dims, Builder)>,
    count: usize,
}

impl Collector {
    pub fn new(count: usize) -> Collector {
        Collector { parts: None, count }
    }

    pub fn push(&mut self, a: &Array) -> R<()> {
        if self.parts.is_none() {
            let whole = size(&[self.count, size(&a.shape)?])?;
            self.parts = Some((a.shape.clone(), a.data.builder(whole)));
        }
        let Some((shape, builder)) = &mut self.parts else { return Ok(()) };
        if *shape != a.shape {
            return Err(Fault::internal(format!(
                "results of shape {shape:?} and {:?} in one frame",
                a.shape
            )));
        }
        if builder.extend(&a.data) {
            Ok(())
        } else {
            Err(Fault::internal("results of different types in one frame"))
        }
    }

    /// The array of shape `frame ++` the results' shape; `None` if there was no result.
    pub fn finish(self, frame: &[usize]) -> Option<Array> {
        let (cell, builder) = self.parts?;
        let shape = frame.iter().chain(&cell).copied().collect();
        Some(Array::new(shape, builder.finish()))
    }
}
