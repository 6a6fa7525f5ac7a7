//! What every room of the compiler shares: ids, names, spans, the theory of dims and shapes, types,
//! scalar values with the one table of scalar operators, the one table of run-time stops, provenance, and
//! diagnostics as plain data.
//!
//! Nothing here knows a syntax tree or an intermediate language. The theory of indices lives in
//! [`dim`] and [`shape`] (integer polynomials; the free monoid over dims) over the variables of [`var`], the types
//! over it in [`types`].

mod binders;
pub mod diag;
pub mod dim;
pub mod ids;
pub mod name;
pub mod ops;
pub mod pass;
mod print;
pub mod prov;
pub mod scalar;
pub mod scope;
pub mod sexp;
pub mod shape;
pub mod span;
pub mod spelling;
pub mod subst;
pub mod trap;
pub mod types;
pub mod value;
pub mod var;
pub mod visible;

pub use binders::free_indices;
pub use diag::{Code, Diagnostic, Fix, Label, Loc, Piece, Severity, ShapeComparison};
pub use dim::Dim;
pub use ids::{IdVec, MetaId, NodeId};
pub use name::{GlobalId, IVar, ModuleId, Name, Sort, TVar, VarId};
pub use prov::{Place, Prov, Provenance};
pub use scalar::{BaseTy, Class, Scalar};
pub use scope::Scope;
pub use shape::{Shape, ShapeItem};
pub use span::Span;
pub use subst::Subst;
pub use trap::{LONGEST, Stop, Trap};
pub use types::{ArrTy, AtomTy, FnTy, ForallTy, Index, PiTy, SigmaTy, TParam, TupleTy, TyArg};
pub use value::{Atom, BoxValue, IndexValue, Value};
pub use var::{DimVar, ShapeVar};
pub use visible::{is_hidden, visible, visible_lines};
