//! Shapes: the free monoid over dims and shape variables.

use crate::dim::Dim;
use crate::ids::MetaId;
use crate::name::IVar;
use crate::var::{DimVar, ShapeVar};
use std::fmt;

/// One factor of a shape.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShapeItem {
    Dim(Dim),
    Var(ShapeVar),
}

/// A sequence of dims and shape variables. Two shapes are equal for all values of their variables
/// exactly when they are equal as data.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Shape(pub Vec<ShapeItem>);

impl Shape {
    /// The shape of a scalar.
    pub fn scalar() -> Shape {
        Shape(Vec::new())
    }

    pub fn of_dims(dims: impl IntoIterator<Item = Dim>) -> Shape {
        Shape(dims.into_iter().map(ShapeItem::Dim).collect())
    }

    pub fn of_sizes(sizes: &[usize]) -> Shape {
        Shape::of_dims(sizes.iter().map(|&n| Dim::constant(n as i128)))
    }

    pub fn rigid(v: IVar) -> Shape {
        Shape(vec![ShapeItem::Var(ShapeVar::Rigid(v))])
    }

    pub fn meta(m: MetaId) -> Shape {
        Shape(vec![ShapeItem::Var(ShapeVar::Meta(m))])
    }

    pub fn is_scalar(&self) -> bool {
        self.0.is_empty()
    }

    pub fn items(&self) -> &[ShapeItem] {
        &self.0
    }

    /// `self ++ other`.
    pub fn concat(&self, other: &Shape) -> Shape {
        Shape(self.0.iter().chain(&other.0).cloned().collect())
    }

    /// The dims, if the rank is known (no shape variable).
    pub fn dims(&self) -> Option<Vec<Dim>> {
        self.0
            .iter()
            .map(|i| match i {
                ShapeItem::Dim(d) => Some(d.clone()),
                ShapeItem::Var(_) => None,
            })
            .collect()
    }

    /// The sizes, if every dim is a known natural.
    pub fn sizes(&self) -> Option<Vec<u64>> {
        self.dims()?.iter().map(|d| d.as_constant().and_then(|c| u64::try_from(c).ok())).collect()
    }

    /// The dims between the shape variables.
    pub fn known_dims(&self) -> impl Iterator<Item = &Dim> {
        self.0.iter().filter_map(|i| match i {
            ShapeItem::Dim(d) => Some(d),
            ShapeItem::Var(_) => None,
        })
    }

    /// How many dims are certain, not counting shape variables.
    pub fn least_rank(&self) -> usize {
        self.known_dims().count()
    }

    /// The number of dims, symbolically: a constant when the rank is known.
    pub fn rank(&self) -> Dim {
        self.0.iter().fold(Dim::zero(), |acc, i| {
            acc.add(&match i {
                ShapeItem::Dim(_) => Dim::constant(1),
                ShapeItem::Var(v) => Dim::var(DimVar::RankOf(v.clone())),
            })
        })
    }

    /// The number of atoms, symbolically: the product of the dims.
    pub fn size(&self) -> Dim {
        self.0.iter().fold(Dim::constant(1), |acc, i| {
            acc.mul(&match i {
                ShapeItem::Dim(d) => d.clone(),
                ShapeItem::Var(v) => Dim::var(DimVar::SizeOf(v.clone())),
            })
        })
    }

    /// The rest of `self` after `prefix`, if `prefix` is one as data.
    pub fn strip_prefix(&self, prefix: &Shape) -> Option<Shape> {
        self.0.strip_prefix(prefix.0.as_slice()).map(|rest| Shape(rest.to_vec()))
    }
}

impl fmt::Display for ShapeItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ShapeItem::Dim(d) => d.fmt(f),
            ShapeItem::Var(v) => v.fmt(f),
        }
    }
}

impl fmt::Debug for ShapeItem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Prints as a splicing bracket: `[2 n @s]`.
impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, item) in self.0.iter().enumerate() {
            if i > 0 {
                f.write_str(" ")?;
            }
            item.fmt(f)?;
        }
        f.write_str("]")
    }
}

impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
