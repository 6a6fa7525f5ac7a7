//! The variables of dims and shapes: rigid ones, which a binder of the program has, and existentials of inference.
//!
//! A shape whose variable is not known yet has a number of dims and a product of them all the same. A dim mentions
//! them as variables of its own, `(rank @s)` and `(size @s)`, so the variables of both are below both.

use crate::ids::MetaId;
use crate::name::IVar;
use std::fmt;

/// A shape variable: rigid (`@s` of a Π, Σ or Iλ) or an existential of inference.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ShapeVar {
    Rigid(IVar),
    Meta(MetaId),
}

/// An indeterminate of a dim polynomial.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DimVar {
    Rigid(IVar),
    Meta(MetaId),
    /// The number of dims of a shape variable.
    RankOf(ShapeVar),
    /// The product of the dims of a shape variable.
    SizeOf(ShapeVar),
}

impl DimVar {
    /// Whether the indeterminate ranges over the naturals (an opened run-time `int` does not).
    pub fn is_natural(&self) -> bool {
        match self {
            DimVar::Rigid(v) => v.natural,
            _ => true,
        }
    }
}

impl fmt::Display for ShapeVar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeVar::Rigid(v) => v.fmt(f),
            ShapeVar::Meta(m) => write!(f, "?@{}", m.0),
        }
    }
}

impl fmt::Display for DimVar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DimVar::Rigid(v) => v.fmt(f),
            DimVar::Meta(m) => write!(f, "?{}", m.0),
            DimVar::RankOf(s) => write!(f, "(rank {s})"),
            DimVar::SizeOf(s) => write!(f, "(size {s})"),
        }
    }
}
