//! Types: atom types, and array types over them.
//!
//! ```text
//! τ  (array)  ::= t σ                                  an atom type and a shape
//! t  (atom)   ::= base | a | (→ (τ …) τ) | (∀ (a …) τ) | (Π (i …) τ) | (Σ (i …) τ)
//!               | (Tuple τ …) | (Record (l τ) …) | (Quot t)
//! ```
//!
//! An array-kinded type variable `@t` is a pair of an atom-type variable and a shape variable that are
//! bound together (see [`TParam::shape`]), so every array type has the one form [`ArrTy`].

use crate::dim::Dim;
use crate::ids::MetaId;
use crate::name::{IVar, Name, Sort, TVar};
use crate::scalar::{BaseTy, Class};
use crate::shape::Shape;
use std::sync::Arc;

/// An array type: `[atom shape…]`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ArrTy {
    pub atom: AtomTy,
    pub shape: Shape,
}

/// The type of an array's elements.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum AtomTy {
    Base(BaseTy),
    Var(TVar),
    /// An existential of inference; absent from checked programs.
    Meta(MetaId),
    Fn(Arc<FnTy>),
    Forall(Arc<ForallTy>),
    Pi(Arc<PiTy>),
    /// A box: a value whose shape mentions hidden indices.
    Sigma(Arc<SigmaTy>),
    Tuple(Arc<TupleTy>),
    /// The result of `/` and `sqrt` on `t`: `float` if `t` is an integer type, `t` itself if it is a
    /// float type. Present only over a variable or existential; see [`AtomTy::quot`].
    Quot(Arc<AtomTy>),
}

/// `(→ (params…) ret)`; a parameter's shape is the function's cell for that argument.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct FnTy {
    pub params: Vec<ArrTy>,
    pub ret: ArrTy,
}

/// A type parameter of ∀ or Tλ.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct TParam {
    pub var: TVar,
    /// For an array-kinded parameter `@t`: the shape variable that is bound with `var`.
    pub shape: Option<IVar>,
    pub class: Option<Class>,
}

/// `(∀ (params…) body)`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ForallTy {
    pub params: Vec<TParam>,
    pub body: ArrTy,
}

/// `(Π (params…) body)`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct PiTy {
    pub params: Vec<IVar>,
    pub body: ArrTy,
}

/// `(Σ (params…) body)`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SigmaTy {
    pub params: Vec<IVar>,
    pub body: ArrTy,
}

/// A tuple, or a record when every field has a label.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct TupleTy {
    pub fields: Vec<(Option<Name>, ArrTy)>,
}

/// An index argument.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Index {
    Dim(Dim),
    Shape(Shape),
}

/// A type argument, of the kind its parameter has.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum TyArg {
    Atom(AtomTy),
    Array(ArrTy),
}

impl ArrTy {
    pub fn new(atom: AtomTy, shape: Shape) -> ArrTy {
        ArrTy { atom, shape }
    }

    pub fn scalar(atom: AtomTy) -> ArrTy {
        ArrTy { atom, shape: Shape::scalar() }
    }

    pub fn base(b: BaseTy) -> ArrTy {
        ArrTy::scalar(AtomTy::Base(b))
    }

    /// The type of `frame` many of these.
    pub fn lifted(&self, frame: &Shape) -> ArrTy {
        ArrTy { atom: self.atom.clone(), shape: frame.concat(&self.shape) }
    }

    /// The function type, if this is a scalar function.
    pub fn as_fn(&self) -> Option<&Arc<FnTy>> {
        match &self.atom {
            AtomTy::Fn(f) if self.shape.is_scalar() => Some(f),
            _ => None,
        }
    }
}

impl AtomTy {
    pub const INT: AtomTy = AtomTy::Base(BaseTy::I64);
    pub const FLOAT: AtomTy = AtomTy::Base(BaseTy::F64);
    pub const BOOL: AtomTy = AtomTy::Base(BaseTy::Bool);
    pub const CHAR: AtomTy = AtomTy::Base(BaseTy::Char);

    pub fn func(params: Vec<ArrTy>, ret: ArrTy) -> AtomTy {
        AtomTy::Fn(Arc::new(FnTy { params, ret }))
    }

    pub fn sigma(params: Vec<IVar>, body: ArrTy) -> AtomTy {
        AtomTy::Sigma(Arc::new(SigmaTy { params, body }))
    }

    pub fn tuple(fields: Vec<(Option<Name>, ArrTy)>) -> AtomTy {
        AtomTy::Tuple(Arc::new(TupleTy { fields }))
    }

    /// `(Quot t)` in normal form: computed where `t` is known.
    pub fn quot(t: AtomTy) -> AtomTy {
        match &t {
            AtomTy::Base(b) if b.is_integer() => AtomTy::FLOAT,
            AtomTy::Base(b) if b.is_float() => t,
            // Quot always is of class frac, and Quot of a frac type is the type itself.
            AtomTy::Quot(_) => t,
            _ => AtomTy::Quot(Arc::new(t)),
        }
    }
}

impl Index {
    pub fn sort(&self) -> Sort {
        match self {
            Index::Dim(_) => Sort::Dim,
            Index::Shape(_) => Sort::Shape,
        }
    }
}

impl From<IVar> for Index {
    fn from(v: IVar) -> Index {
        match v.sort {
            Sort::Dim => Index::Dim(Dim::rigid(v)),
            Sort::Shape => Index::Shape(Shape::rigid(v)),
        }
    }
}
