//! Arrays at run time: how they are made, read and put together.
//!
//! Taking a cell of an array copies nothing.

use crate::error::{Fault, R};
use crate::value::*;
use remc_base::{AtomTy, Scalar, Trap};
use smallvec::SmallVec;
use std::rc::Rc;

/// The most atoms of an array: a size past it is reported, not tried.
pub(crate) const MOST_ATOMS: usize = 1 << 28;

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
