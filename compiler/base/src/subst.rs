//! Substitution of index and type variables, and the renaming of bound variables.
//!
//! Invariant: binders are unique within one definition, so substitution need not rename to avoid
//! capture; a type that comes from another definition is [`freshen`]ed first.

use crate::dim::Dim;
use crate::name::{IVar, Sort, TVar};
use crate::shape::{Shape, ShapeItem};
use crate::types::*;
use crate::var::{DimVar, ShapeVar};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A finite map from rigid variables (by id) to what replaces them.
#[derive(Clone, Default, Debug)]
pub struct Subst {
    dims: BTreeMap<u32, Dim>,
    shapes: BTreeMap<u32, Shape>,
    types: BTreeMap<u32, AtomTy>,
}

impl Subst {
    pub fn new() -> Subst {
        Subst::default()
    }

    pub fn is_empty(&self) -> bool {
        self.dims.is_empty() && self.shapes.is_empty() && self.types.is_empty()
    }

    pub fn bind_dim(&mut self, v: &IVar, d: Dim) {
        debug_assert_eq!(v.sort, Sort::Dim);
        self.dims.insert(v.id, d);
    }

    pub fn bind_shape(&mut self, v: &IVar, s: Shape) {
        debug_assert_eq!(v.sort, Sort::Shape);
        self.shapes.insert(v.id, s);
    }

    /// Binds an index variable; the sorts must agree.
    pub fn bind_index(&mut self, v: &IVar, i: Index) {
        match i {
            Index::Dim(d) => self.bind_dim(v, d),
            Index::Shape(s) => self.bind_shape(v, s),
        }
    }

    pub fn bind_type(&mut self, v: &TVar, t: AtomTy) {
        self.types.insert(v.id, t);
    }

    /// Binds a type parameter; an array-kinded one binds its atom and its shape.
    pub fn bind_tparam(&mut self, p: &TParam, arg: TyArg) {
        match (arg, &p.shape) {
            (TyArg::Atom(t), _) => self.bind_type(&p.var, t),
            (TyArg::Array(t), Some(s)) => {
                self.bind_type(&p.var, t.atom);
                self.bind_shape(s, t.shape);
            }
            (TyArg::Array(t), None) => self.bind_type(&p.var, t.atom),
        }
    }

    pub fn dim(&self, d: &Dim) -> Dim {
        if self.dims.is_empty() && self.shapes.is_empty() {
            return d.clone();
        }
        d.substitute(&mut |v| match v {
            DimVar::Rigid(r) => self.dims.get(&r.id).cloned(),
            DimVar::RankOf(ShapeVar::Rigid(r)) => self.shapes.get(&r.id).map(Shape::rank),
            DimVar::SizeOf(ShapeVar::Rigid(r)) => self.shapes.get(&r.id).map(Shape::size),
            _ => None,
        })
    }

    pub fn shape(&self, s: &Shape) -> Shape {
        let mut out = Vec::with_capacity(s.0.len());
        for item in &s.0 {
            match item {
                ShapeItem::Dim(d) => out.push(ShapeItem::Dim(self.dim(d))),
                ShapeItem::Var(ShapeVar::Rigid(v)) => match self.shapes.get(&v.id) {
                    Some(r) => out.extend(r.0.iter().cloned()),
                    None => out.push(item.clone()),
                },
                ShapeItem::Var(ShapeVar::Meta(_)) => out.push(item.clone()),
            }
        }
        Shape(out)
    }

    pub fn index(&self, i: &Index) -> Index {
        match i {
            Index::Dim(d) => Index::Dim(self.dim(d)),
            Index::Shape(s) => Index::Shape(self.shape(s)),
        }
    }

    pub fn ty_arg(&self, a: &TyArg) -> TyArg {
        match a {
            TyArg::Atom(t) => TyArg::Atom(self.atom(t)),
            TyArg::Array(t) => TyArg::Array(self.arr(t)),
        }
    }

    pub fn arr(&self, t: &ArrTy) -> ArrTy {
        ArrTy { atom: self.atom(&t.atom), shape: self.shape(&t.shape) }
    }

    pub fn atom(&self, t: &AtomTy) -> AtomTy {
        if self.is_empty() {
            return t.clone();
        }
        match t {
            AtomTy::Base(_) | AtomTy::Meta(_) => t.clone(),
            AtomTy::Var(v) => self.types.get(&v.id).cloned().unwrap_or_else(|| t.clone()),
            AtomTy::Fn(f) => AtomTy::Fn(Arc::new(FnTy {
                params: f.params.iter().map(|p| self.arr(p)).collect(),
                ret: self.arr(&f.ret),
            })),
            AtomTy::Forall(q) => {
                AtomTy::Forall(Arc::new(ForallTy { params: q.params.clone(), body: self.arr(&q.body) }))
            }
            AtomTy::Pi(q) => AtomTy::Pi(Arc::new(PiTy { params: q.params.clone(), body: self.arr(&q.body) })),
            AtomTy::Sigma(q) => {
                AtomTy::Sigma(Arc::new(SigmaTy { params: q.params.clone(), body: self.arr(&q.body) }))
            }
            AtomTy::Tuple(q) => AtomTy::Tuple(Arc::new(TupleTy {
                fields: q.fields.iter().map(|(l, t)| (l.clone(), self.arr(t))).collect(),
            })),
            AtomTy::Quot(q) => AtomTy::quot(self.atom(q)),
        }
    }
}

/// Renames every bound variable of `t` by `next`, which gives new ids. They may be ids that `t` itself has for bound
/// variables: what is inside a binder is renamed once, by all the binders around it.
pub fn freshen(t: &ArrTy, next: &mut dyn FnMut() -> u32) -> ArrTy {
    freshen_in(t, &Subst::new(), next)
}

/// The same inside binders, whose new names `outer` has.
fn freshen_in(t: &ArrTy, outer: &Subst, next: &mut dyn FnMut() -> u32) -> ArrTy {
    ArrTy { atom: freshen_atom(&t.atom, outer, next), shape: outer.shape(&t.shape) }
}

fn freshen_ivars(params: &[IVar], s: &mut Subst, next: &mut dyn FnMut() -> u32) -> Vec<IVar> {
    params
        .iter()
        .map(|p| {
            let fresh = IVar { id: next(), ..p.clone() };
            s.bind_index(p, fresh.clone().into());
            fresh
        })
        .collect()
}

fn freshen_atom(t: &AtomTy, outer: &Subst, next: &mut dyn FnMut() -> u32) -> AtomTy {
    match t {
        AtomTy::Base(_) | AtomTy::Meta(_) | AtomTy::Var(_) => outer.atom(t),
        AtomTy::Fn(f) => {
            let params = f.params.iter().map(|p| freshen_in(p, outer, next)).collect();
            AtomTy::func(params, freshen_in(&f.ret, outer, next))
        }
        AtomTy::Forall(q) => {
            let mut s = outer.clone();
            let params = q
                .params
                .iter()
                .map(|p| {
                    let var = TVar { id: next(), ..p.var.clone() };
                    s.bind_type(&p.var, AtomTy::Var(var.clone()));
                    let shape = p.shape.as_ref().map(|v| {
                        let fresh = IVar { id: next(), ..v.clone() };
                        s.bind_shape(v, Shape::rigid(fresh.clone()));
                        fresh
                    });
                    TParam { var, shape, class: p.class }
                })
                .collect();
            AtomTy::Forall(Arc::new(ForallTy { params, body: freshen_in(&q.body, &s, next) }))
        }
        AtomTy::Pi(q) => {
            let mut s = outer.clone();
            let params = freshen_ivars(&q.params, &mut s, next);
            AtomTy::Pi(Arc::new(PiTy { params, body: freshen_in(&q.body, &s, next) }))
        }
        AtomTy::Sigma(q) => {
            let mut s = outer.clone();
            let params = freshen_ivars(&q.params, &mut s, next);
            AtomTy::Sigma(Arc::new(SigmaTy { params, body: freshen_in(&q.body, &s, next) }))
        }
        AtomTy::Tuple(q) => {
            AtomTy::tuple(q.fields.iter().map(|(l, t)| (l.clone(), freshen_in(t, outer, next))).collect())
        }
        AtomTy::Quot(q) => AtomTy::quot(freshen_atom(q, outer, next)),
    }
}

/// Renumbers the bound variables of a closed type from 0 in order of appearance, so that two
/// α-equivalent types are equal as data.
pub fn canonical(t: &ArrTy) -> ArrTy {
    // Ids far away first, so that an old id is never mistaken for a new one.
    let mut far = 1u32 << 31;
    let moved = freshen(t, &mut || {
        far += 1;
        far
    });
    let mut id = 0;
    freshen(&moved, &mut || {
        id += 1;
        id - 1
    })
}

/// α-equivalence of types whose free variables are shared.
pub fn alpha_eq(a: &ArrTy, b: &ArrTy) -> bool {
    if a == b {
        return true;
    }
    let renumber = |t: &ArrTy| {
        let mut far = 1u32 << 30;
        freshen(t, &mut || {
            far += 1;
            far
        })
    };
    renumber(a) == renumber(b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;

    /// `(Π (k) (→ ([int k]) (Σ (n) [int n k])))` with the ids 0 and 1.
    #[test]
    fn new_ids_may_be_those_of_inner_binders() {
        let var = |id: u32, name: &str| IVar { id, sort: Sort::Dim, name: Name::new(name), natural: true };
        let (k, n) = (var(0, "k"), var(1, "n"));
        let of = |dims: Vec<&IVar>| {
            ArrTy::new(AtomTy::INT, Shape::of_dims(dims.into_iter().map(|v| Dim::rigid(v.clone()))))
        };
        let boxed = ArrTy::scalar(AtomTy::sigma(vec![n.clone()], of(vec![&n, &k])));
        let function = ArrTy::scalar(AtomTy::func(vec![of(vec![&k])], boxed));
        let ty = ArrTy::scalar(AtomTy::Pi(Arc::new(PiTy { params: vec![k], body: function })));
        for first in 0..3 {
            let mut id = first;
            let renamed = freshen(&ty, &mut || {
                id += 1;
                id - 1
            });
            assert!(alpha_eq(&ty, &renamed), "from {first}: {renamed}");
        }
    }
}
