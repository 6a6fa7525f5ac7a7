//! What an entry wants of a table: which columns make which part of the value.
//!
//! | wanted | is |
//! | --- | --- |
//! | numbers, truth values: `[float n m]`, `[float n]`, `float` | all fields; one column or line; one field |
//! | texts, as boxes `[(Σ (k) [char k]) n]` or of one length `[char n k]` | the same, of texts |
//! | `[(Record (day int) (low float)) n]`, or a tuple | one record a line, each field from the column of its name |
//! | `(Record (day [int n]) (low [float n]))`, or a tuple | the columns, each an array |

use remc_base::{ArrTy, AtomTy, BaseTy, DimVar, Name, Shape, ShapeItem, Sort, TupleTy};
use std::sync::Arc;

/// What a field of a table becomes.
#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    Scalar(BaseTy),
    /// A text of one character.
    Char,
    /// A vector of characters; all are of one length.
    Text,
    /// A text of a length of its own, in a box of this type.
    Boxed(AtomTy),
}

/// The fields of a record or tuple.
#[derive(Clone)]
pub struct Parts {
    pub tuple: Arc<TupleTy>,
    pub parts: Vec<(Option<Name>, ArrTy, Kind)>,
}

impl Parts {
    /// The labels, of a record.
    pub fn labels(&self) -> Option<Vec<&str>> {
        self.parts.iter().map(|(label, ..)| label.as_ref().map(Name::as_str)).collect()
    }
}

#[derive(Clone)]
pub enum Wanted {
    /// All fields, as one array; the number of its axes of lines and columns, if that is known.
    Array(Kind, Option<usize>),
    /// A record of each line; an axis of them, or one.
    Lines(Parts, bool),
    /// The columns, in one record.
    Columns(Parts),
}

/// What a type wants; `None` if no table holds that.
pub fn of(ty: &ArrTy) -> Option<Wanted> {
    let open = ty.shape.items().iter().any(|i| !matches!(i, ShapeItem::Dim(_)));
    let axes = ty.shape.least_rank();
    match &ty.atom {
        AtomTy::Tuple(tuple) if !open && axes <= 1 => {
            let part = |(label, ty): &(Option<Name>, ArrTy), kind: &dyn Fn(&ArrTy) -> Option<Kind>| {
                Some((label.clone(), ty.clone(), kind(ty)?))
            };
            let all = |kind: &dyn Fn(&ArrTy) -> Option<Kind>| {
                let parts: Option<Vec<_>> = tuple.fields.iter().map(|f| part(f, kind)).collect();
                parts.filter(|p| !p.is_empty()).map(|parts| Parts { tuple: tuple.clone(), parts })
            };
            match all(&kind) {
                Some(parts) => Some(Wanted::Lines(parts, axes == 1)),
                None if axes == 0 => all(&column).map(Wanted::Columns),
                None => None,
            }
        }
        AtomTy::Base(BaseTy::Char) if open || axes == 0 => {
            Some(Wanted::Array(if open { Kind::Text } else { Kind::Char }, (!open).then_some(0)))
        }
        AtomTy::Base(BaseTy::Char) => Some(Wanted::Array(Kind::Text, Some(axes - 1))),
        atom => {
            let kind = kind(&ArrTy::scalar(atom.clone()))?;
            Some(Wanted::Array(kind, (!open).then_some(axes)))
        }
    }
}

/// What a field becomes that is to be of this type.
pub fn kind(ty: &ArrTy) -> Option<Kind> {
    let axes = dims(&ty.shape)?;
    match (&ty.atom, axes) {
        (AtomTy::Base(BaseTy::Char), 0) => Some(Kind::Char),
        (AtomTy::Base(BaseTy::Char), 1) => Some(Kind::Text),
        (AtomTy::Base(ty), 0) => Some(Kind::Scalar(*ty)),
        (AtomTy::Sigma(sigma), 0) => {
            let [param] = sigma.params.as_slice() else { return None };
            let of_param = match sigma.body.shape.items() {
                [ShapeItem::Dim(d)] => matches!(d.as_var(), Some(DimVar::Rigid(v)) if v == param),
                _ => false,
            };
            let texts = param.sort == Sort::Dim && of_param && sigma.body.atom == AtomTy::CHAR;
            texts.then(|| Kind::Boxed(ty.atom.clone()))
        }
        _ => None,
    }
}

/// What the fields of a column become that is to be of this type.
fn column(ty: &ArrTy) -> Option<Kind> {
    let (_, rest) = ty.shape.items().split_first()?;
    dims(&ty.shape)?;
    kind(&ArrTy::new(ty.atom.clone(), Shape(rest.to_vec())))
}

/// The number of axes, if that is known.
fn dims(shape: &Shape) -> Option<usize> {
    shape.items().iter().all(|i| matches!(i, ShapeItem::Dim(_))).then_some(shape.items().len())
}
