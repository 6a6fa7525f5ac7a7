//! Types as source: what is printed here reads back as what it was.

use crate::ShapeItem;
use crate::binders;
use crate::types::*;
use crate::var::ShapeVar;
use std::fmt;

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
        if let (AtomTy::Var(v), [ShapeItem::Var(ShapeVar::Rigid(s))]) = (&self.atom, self.shape.items())
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
