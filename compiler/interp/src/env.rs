//! Environments, and the evaluation of dims, shapes and types in them.

use crate::error::{Fault, R};
use crate::list::List;
use crate::value::{Array, Dims, Env, IndexVal};
use remc_base::*;
use std::rc::Rc;
use std::sync::Arc;

impl Env {
    pub fn empty() -> Env {
        Env { values: List::new(), indices: List::new(), types: List::new() }
    }

    pub fn bind(&mut self, v: VarId, a: Array) {
        self.values.push(v, a);
    }

    pub fn bind_index(&mut self, v: &IVar, i: IndexVal) -> R<()> {
        match (v.sort, &i) {
            (Sort::Dim, IndexVal::Dim(_)) | (Sort::Shape, IndexVal::Shape(_)) => {
                self.indices.push(v.id, i);
                Ok(())
            }
            _ => Err(Fault::internal(format!("the index {v} is given a value of the other sort"))),
        }
    }

    pub fn bind_type(&mut self, p: &TParam, arg: &TyArg, from: &Env) -> R<()> {
        match (arg, &p.shape) {
            (TyArg::Atom(t), None) => self.types.push(p.var.id, from.atom(t)?),
            (TyArg::Array(t), shape) => {
                let (atom, dims) = (from.atom(&t.atom)?, from.shape(&t.shape)?);
                self.types.push(p.var.id, atom);
                if let Some(s) = shape {
                    self.indices.push(s.id, IndexVal::Shape(Rc::from(dims.as_slice())));
                }
            }
            (TyArg::Atom(t), Some(s)) => {
                self.types.push(p.var.id, from.atom(t)?);
                self.indices.push(s.id, IndexVal::Shape(Rc::from([])));
            }
        }
        Ok(())
    }

    pub fn value(&self, v: VarId) -> R<&Array> {
        self.values.get(v).ok_or_else(|| Fault::internal(format!("the variable {v:?} has no value")))
    }

    fn dim_of(&self, id: u32) -> Option<i64> {
        match self.indices.get(id)? {
            IndexVal::Dim(n) => Some(*n),
            IndexVal::Shape(_) => None,
        }
    }

    fn shape_of(&self, id: u32) -> Option<&[usize]> {
        match self.indices.get(id)? {
            IndexVal::Shape(s) => Some(s),
            IndexVal::Dim(_) => None,
        }
    }

    fn dim_var(&self, v: &DimVar) -> Option<i64> {
        match v {
            DimVar::Rigid(v) => self.dim_of(v.id),
            DimVar::RankOf(ShapeVar::Rigid(s)) => Some(self.shape_of(s.id)?.len() as i64),
            DimVar::SizeOf(ShapeVar::Rigid(s)) => self
                .shape_of(s.id)?
                .iter()
                .try_fold(1i64, |acc, d| acc.checked_mul(i64::try_from(*d).ok()?))
                // A product that overflows on the way to a zero is still zero.
                .or_else(|| self.shape_of(s.id)?.contains(&0).then_some(0)),
            _ => None,
        }
    }

    /// The value of a dim, of either sign.
    pub fn dim(&self, d: &Dim) -> R<i64> {
        if let Some(c) = d.as_constant()
            && let Ok(c) = i64::try_from(c)
        {
            return Ok(c);
        }
        d.eval(&mut |v| self.dim_var(v)).ok_or_else(|| match d.vars().find(|v| self.dim_var(v).is_none()) {
            Some(v) if !matches!(v, DimVar::SizeOf(_)) => {
                Fault::internal(format!("the index {v} has no value"))
            }
            _ => Fault::trap(Trap::Overflow { dim: d.to_string().into() }, &[]),
        })
    }

    pub fn shape(&self, s: &Shape) -> R<Dims> {
        let mut out = Dims::with_capacity(s.0.len());
        for item in &s.0 {
            match item {
                ShapeItem::Dim(d) => out.push(natural(self.dim(d)?, || d.to_string())?),
                ShapeItem::Var(ShapeVar::Rigid(v)) => {
                    let dims = self
                        .shape_of(v.id)
                        .ok_or_else(|| Fault::internal(format!("the shape {v} has no value")))?;
                    out.extend_from_slice(dims);
                }
                ShapeItem::Var(v) => {
                    return Err(Fault::internal(format!("the shape {v} was never inferred")));
                }
            }
        }
        Ok(out)
    }

    pub fn index(&self, i: &Index) -> R<IndexVal> {
        Ok(match i {
            Index::Dim(d) => IndexVal::Dim(self.dim(d)?),
            Index::Shape(s) => IndexVal::Shape(Rc::from(self.shape(s)?.as_slice())),
        })
    }

    /// The atom type with every variable in scope replaced by what it stands for.
    pub fn atom(&self, t: &AtomTy) -> R<AtomTy> {
        self.atom_under(t, &mut Vec::new())
    }

    fn arr_under(&self, t: &ArrTy, bound: &mut Vec<u32>) -> R<ArrTy> {
        let atom = self.atom_under(&t.atom, bound)?;
        let mut items = Vec::with_capacity(t.shape.0.len());
        for item in &t.shape.0 {
            match item {
                ShapeItem::Dim(d) => {
                    let mut unbound = |v: &DimVar| -> Option<Dim> {
                        let id = match v {
                            DimVar::Rigid(v)
                            | DimVar::RankOf(ShapeVar::Rigid(v))
                            | DimVar::SizeOf(ShapeVar::Rigid(v)) => v.id,
                            _ => return None,
                        };
                        if bound.contains(&id) { None } else { Some(Dim::from(self.dim_var(v)?)) }
                    };
                    items.push(ShapeItem::Dim(d.substitute(&mut unbound)));
                }
                ShapeItem::Var(ShapeVar::Rigid(v)) if !bound.contains(&v.id) => match self.shape_of(v.id) {
                    Some(dims) => items.extend(Shape::of_sizes(dims).0),
                    None => items.push(item.clone()),
                },
                _ => items.push(item.clone()),
            }
        }
        Ok(ArrTy { atom, shape: Shape(items) })
    }

    /// `bound` holds the variables that the type itself binds, which mean nothing outside it.
    fn atom_under(&self, t: &AtomTy, bound: &mut Vec<u32>) -> R<AtomTy> {
        let depth = bound.len();
        let closed = match t {
            AtomTy::Base(_) => t.clone(),
            AtomTy::Var(v) if bound.contains(&v.id) => t.clone(),
            AtomTy::Var(v) => self.types.get(v.id).cloned().unwrap_or_else(|| t.clone()),
            AtomTy::Meta(_) => return Err(Fault::internal(format!("the type {t} was never inferred"))),
            AtomTy::Fn(f) => AtomTy::Fn(Arc::new(FnTy {
                params: f.params.iter().map(|p| self.arr_under(p, bound)).collect::<R<_>>()?,
                ret: self.arr_under(&f.ret, bound)?,
            })),
            AtomTy::Forall(q) => {
                for p in &q.params {
                    bound.push(p.var.id);
                    bound.extend(p.shape.as_ref().map(|s| s.id));
                }
                let body = self.arr_under(&q.body, bound)?;
                AtomTy::Forall(Arc::new(ForallTy { params: q.params.clone(), body }))
            }
            AtomTy::Pi(q) => {
                bound.extend(q.params.iter().map(|p| p.id));
                let body = self.arr_under(&q.body, bound)?;
                AtomTy::Pi(Arc::new(PiTy { params: q.params.clone(), body }))
            }
            AtomTy::Sigma(q) => {
                bound.extend(q.params.iter().map(|p| p.id));
                let body = self.arr_under(&q.body, bound)?;
                AtomTy::Sigma(Arc::new(SigmaTy { params: q.params.clone(), body }))
            }
            AtomTy::Tuple(q) => {
                let mut fields = Vec::with_capacity(q.fields.len());
                for (label, t) in &q.fields {
                    fields.push((label.clone(), self.arr_under(t, bound)?));
                }
                AtomTy::tuple(fields)
            }
            AtomTy::Quot(q) => AtomTy::quot(self.atom_under(q, bound)?),
        };
        bound.truncate(depth);
        Ok(closed)
    }
}

/// A dim's value as a size; `what` says which dim.
pub(crate) fn natural(n: i64, what: impl Fn() -> String) -> R<usize> {
    usize::try_from(n).map_err(|_| Fault::trap(Trap::Negative { what: what().into() }, &[&[n]]))
}
