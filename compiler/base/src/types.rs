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

use crate::binders;
use crate::dim::Dim;
use crate::ids::MetaId;
use crate::name::{IVar, Name, Sort, TVar};
use crate::scalar::{BaseTy, Class};
use crate::shape::Shape;
use crate::subst::Subst;
use std::fmt;
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

impl SigmaTy {
    /// The Σ with the names that values print with, whatever the program called its indices: `n m k l` for
    /// dims and `@s @c @p` for shapes, outer boxes first. `count` is how many have a name already.
    pub fn named_for_values(&self, count: &mut usize) -> SigmaTy {
        let mut s = Subst::new();
        let mut params = Vec::with_capacity(self.params.len());
        for p in &self.params {
            let names: &[&str] =
                if p.sort == Sort::Dim { &["n", "m", "k", "l"] } else { &["@s", "@c", "@p"] };
            let mut name = names[*count % names.len()].to_string();
            if *count >= names.len() {
                name.push_str(&(*count / names.len()).to_string());
            }
            *count += 1;
            let fresh = IVar { name: Name::new(name), ..p.clone() };
            s.bind_index(p, fresh.clone().into());
            params.push(fresh);
        }
        let mut body = s.arr(&self.body);
        if let AtomTy::Sigma(inner) = &body.atom {
            let inner = inner.named_for_values(count);
            body.atom = AtomTy::sigma(inner.params, inner.body);
        }
        SigmaTy { params, body }
    }
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

fn separated<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            f.write_str(" ")?;
        }
        item.fmt(f)?;
    }
    Ok(())
}

impl fmt::Display for TParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.class {
            Some(class) => write!(f, "({} {class})", self.var),
            None => self.var.fmt(f),
        }
    }
}

/// Prints as source; variables by their names, which no binder captures.
impl fmt::Display for AtomTy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AtomTy::Base(b) => b.fmt(f),
            AtomTy::Var(v) => v.fmt(f),
            AtomTy::Meta(m) => write!(f, "?{}", m.0),
            AtomTy::Fn(t) => {
                f.write_str("(→ (")?;
                separated(f, &t.params)?;
                write!(f, ") {})", t.ret)
            }
            AtomTy::Forall(t) => {
                let (params, body) = binders::of_types(&t.params, &t.body);
                f.write_str("(∀ (")?;
                separated(f, &params)?;
                write!(f, ") {body})")
            }
            AtomTy::Pi(t) => {
                let (params, body) = binders::of_indices(&t.params, &t.body);
                f.write_str("(Π (")?;
                separated(f, &params)?;
                write!(f, ") {body})")
            }
            AtomTy::Sigma(t) => {
                let (params, body) = binders::of_indices(&t.params, &t.body);
                f.write_str("(Σ (")?;
                separated(f, &params)?;
                write!(f, ") {body})")
            }
            AtomTy::Tuple(t) => {
                let record = !t.fields.is_empty() && t.fields.iter().all(|(l, _)| l.is_some());
                f.write_str(if record { "(Record" } else { "(Tuple" })?;
                for (label, ty) in &t.fields {
                    match label {
                        Some(l) => write!(f, " ({l} {ty})")?,
                        None => write!(f, " {ty}")?,
                    }
                }
                f.write_str(")")
            }
            AtomTy::Quot(t) => write!(f, "(Quot {t})"),
        }
    }
}

/// Prints `int` for a scalar, `[int 2 n]` for an array, `@t` for an array-kinded variable.
impl fmt::Display for ArrTy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.shape.is_scalar() {
            return self.atom.fmt(f);
        }
        if let (AtomTy::Var(v), [crate::ShapeItem::Var(crate::ShapeVar::Rigid(s))]) =
            (&self.atom, self.shape.items())
            && v.name.is_at()
            && v.name == s.name
        {
            return v.fmt(f);
        }
        write!(f, "[{}", self.atom)?;
        for item in self.shape.items() {
            write!(f, " {item}")?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Index::Dim(d) => d.fmt(f),
            Index::Shape(s) => s.fmt(f),
        }
    }
}

impl fmt::Display for TyArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TyArg::Atom(t) => t.fmt(f),
            TyArg::Array(t) => t.fmt(f),
        }
    }
}

macro_rules! debug_as_display {
    ($($t:ty),*) => {$(
        impl fmt::Debug for $t {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
    )*};
}
debug_as_display!(ArrTy, AtomTy, Index, TyArg);
