//! Types in a normal form in which α-equivalent types are equal as data.
//!
//! A bound variable becomes its level: its id is [`LEVELS`] plus the number of variables bound around
//! it (shifted by the sort, so that a dim and a shape never agree). The same walk substitutes for the
//! variables of an opened ∀, Π or Σ without capture, rewrites dims by the equations in scope, and
//! rejects what no type of a finished program contains: existentials, variables out of scope or used at
//! another sort than their binder's, a binder that hides a variable in scope (which
//! [`remc_base::subst`] relies on), `Quot` of what is not a numeric variable.

use super::{Rule, Scope};
use remc_base::*;
use rustc_hash::FxHashMap;
use std::sync::Arc;

/// Ids from here on are the verifier's own.
pub(super) const LEVELS: u32 = 1 << 29;

/// The rule that is broken, and how.
pub type Broken = (Rule, String);

enum TypeBinding {
    Level(TVar, Option<Class>),
    Is(AtomTy),
}

enum IndexBinding {
    Level(IVar),
    Is(Index),
}

/// A walk over one type; `types` and `indices` are the variables bound around the place reached.
pub(super) struct Walk<'a, 's> {
    scope: &'a Scope<'s>,
    level: u32,
    types: FxHashMap<u32, TypeBinding>,
    indices: FxHashMap<u32, IndexBinding>,
}

impl<'a, 's> Walk<'a, 's> {
    pub fn new(scope: &'a Scope<'s>) -> Self {
        Walk { scope, level: 0, types: FxHashMap::default(), indices: FxHashMap::default() }
    }

    /// Replaces `v` by `i`, of the same sort and in normal form, in what is walked next.
    pub fn give_index(&mut self, v: &IVar, i: &Index) {
        self.indices.insert(v.id, IndexBinding::Is(i.clone()));
    }

    /// Replaces the parameter by the argument, of the same kind; its shape is in normal form.
    pub fn give_type(&mut self, p: &TParam, a: &TyArg) {
        match (a, &p.shape) {
            (TyArg::Array(t), Some(s)) => {
                self.types.insert(p.var.id, TypeBinding::Is(t.atom.clone()));
                self.indices.insert(s.id, IndexBinding::Is(Index::Shape(t.shape.clone())));
            }
            (TyArg::Atom(t), _) => {
                self.types.insert(p.var.id, TypeBinding::Is(t.clone()));
            }
            (TyArg::Array(t), None) => {
                self.types.insert(p.var.id, TypeBinding::Is(t.atom.clone()));
            }
        }
    }

    pub fn arr(&mut self, t: &ArrTy) -> Result<ArrTy, Broken> {
        Ok(ArrTy { atom: self.atom(&t.atom)?, shape: self.shape(&t.shape)? })
    }

    pub fn atom(&mut self, t: &AtomTy) -> Result<AtomTy, Broken> {
        Ok(match t {
            AtomTy::Base(_) => t.clone(),
            AtomTy::Meta(m) => return Err((Rule::Existential, format!("{m:?} is not solved"))),
            AtomTy::Var(v) => match self.types.get(&v.id) {
                Some(TypeBinding::Level(level, _)) => AtomTy::Var(level.clone()),
                Some(TypeBinding::Is(t)) => {
                    let t = t.clone();
                    self.outside(|w| w.atom(&t))?
                }
                None if self.scope.types.contains_key(&v.id) => t.clone(),
                None => return Err((Rule::Scope, format!("type variable {v:?} is not in scope"))),
            },
            AtomTy::Fn(f) => {
                let params = f.params.iter().map(|p| self.arr(p)).collect::<Result<_, _>>()?;
                AtomTy::func(params, self.arr(&f.ret)?)
            }
            AtomTy::Forall(q) => {
                let level = self.level;
                let mut hidden = Vec::new();
                let mut params = Vec::with_capacity(q.params.len());
                for p in &q.params {
                    let var = TVar { id: self.next_level(0), ..p.var.clone() };
                    if self.scope.types.contains_key(&p.var.id) || self.types.contains_key(&p.var.id) {
                        return Err(rebound(&p.var));
                    }
                    self.types.insert(p.var.id, TypeBinding::Level(var.clone(), p.class));
                    let shape = match &p.shape {
                        Some(s) => Some(self.bind(s)?),
                        None => None,
                    };
                    hidden.push(p);
                    params.push(TParam { var, shape, class: p.class });
                }
                let body = self.arr(&q.body)?;
                for p in hidden {
                    self.types.remove(&p.var.id);
                    if let Some(s) = &p.shape {
                        self.indices.remove(&s.id);
                    }
                }
                self.level = level;
                AtomTy::Forall(Arc::new(ForallTy { params, body }))
            }
            AtomTy::Pi(q) => {
                let (params, body) = self.quantified(&q.params, &q.body)?;
                AtomTy::Pi(Arc::new(PiTy { params, body }))
            }
            AtomTy::Sigma(q) => {
                let (params, body) = self.quantified(&q.params, &q.body)?;
                AtomTy::sigma(params, body)
            }
            AtomTy::Tuple(q) => {
                let field = |(l, t): &(Option<Name>, ArrTy)| Ok((l.clone(), self.arr(t)?));
                AtomTy::tuple(q.fields.iter().map(field).collect::<Result<_, Broken>>()?)
            }
            AtomTy::Quot(q) => {
                let AtomTy::Var(_) = **q else {
                    return Err((Rule::WellFormed, format!("{t} is not in normal form")));
                };
                if !self.in_class(q, Class::Num) {
                    return Err((Rule::WellFormed, format!("{t} is over a type that is not numeric")));
                }
                // The quotient type of a float type is the type itself.
                if self.in_class(q, Class::Frac) { self.atom(q)? } else { AtomTy::quot(self.atom(q)?) }
            }
        })
    }

    /// Walks something from outside the binders passed so far.
    fn outside<T>(&mut self, f: impl FnOnce(&mut Self) -> T) -> T {
        let types = std::mem::take(&mut self.types);
        let indices = std::mem::take(&mut self.indices);
        let out = f(self);
        (self.types, self.indices) = (types, indices);
        out
    }

    fn next_level(&mut self, tag: u32) -> u32 {
        self.level += 1;
        LEVELS + 4 * self.level + tag
    }

    fn bind(&mut self, v: &IVar) -> Result<IVar, Broken> {
        if self.scope.indices.contains_key(&v.id) || self.indices.contains_key(&v.id) {
            return Err(rebound(v));
        }
        let tag = 2 * u32::from(v.sort == Sort::Shape) + u32::from(v.natural);
        let level = IVar { id: self.next_level(tag), ..v.clone() };
        self.indices.insert(v.id, IndexBinding::Level(level.clone()));
        Ok(level)
    }

    fn quantified(&mut self, params: &[IVar], body: &ArrTy) -> Result<(Vec<IVar>, ArrTy), Broken> {
        let level = self.level;
        let new = params.iter().map(|p| self.bind(p)).collect::<Result<_, _>>()?;
        let body = self.arr(body)?;
        for p in params {
            self.indices.remove(&p.id);
        }
        self.level = level;
        Ok((new, body))
    }

    /// What stands for `v`, which is used at sort `sort`.
    fn index_var(&self, v: &IVar, sort: Sort) -> Result<Index, Broken> {
        let same = |b: &IVar| v.sort == b.sort && v.natural == b.natural && sort == b.sort;
        let (found, fits) = match self.indices.get(&v.id) {
            Some(IndexBinding::Level(b)) => (Index::from(b.clone()), same(b)),
            Some(IndexBinding::Is(i)) => (i.clone(), i.sort() == sort && v.sort == sort),
            None => match self.scope.indices.get(&v.id) {
                Some(b) => (Index::from((*b).clone()), same(b)),
                None => return Err((Rule::Scope, format!("index variable {v:?} is not in scope"))),
            },
        };
        match fits {
            true => Ok(found),
            false => Err((Rule::WellFormed, format!("{v:?} is used at another sort than its binder's"))),
        }
    }

    fn shape_var(&self, v: &ShapeVar) -> Result<Shape, Broken> {
        match v {
            ShapeVar::Meta(_) => Err((Rule::Existential, format!("{v} is not solved"))),
            ShapeVar::Rigid(v) => match self.index_var(v, Sort::Shape)? {
                Index::Shape(s) => Ok(s),
                Index::Dim(_) => Err((Rule::WellFormed, format!("{v:?} is not a shape"))),
            },
        }
    }

    pub fn dim(&self, d: &Dim) -> Result<Dim, Broken> {
        let mut broken = None;
        let out = d.substitute(&mut |v| {
            let value = match v {
                DimVar::Meta(_) => Err((Rule::Existential, format!("{v} is not solved"))),
                DimVar::RankOf(s) => self.shape_var(s).map(|s| s.rank()),
                DimVar::SizeOf(s) => self.shape_var(s).map(|s| s.size()),
                DimVar::Rigid(v) => match self.index_var(v, Sort::Dim) {
                    Ok(Index::Dim(d)) => Ok(d),
                    Ok(Index::Shape(_)) => Err((Rule::WellFormed, format!("{v:?} is not a dim"))),
                    Err(e) => Err(e),
                },
            };
            value.map_err(|e| broken = Some(e)).ok()
        });
        match broken {
            Some(e) => Err(e),
            None => Ok(self.scope.facts.reduce(&out)),
        }
    }

    pub fn shape(&self, s: &Shape) -> Result<Shape, Broken> {
        let mut out = Vec::with_capacity(s.0.len());
        for item in &s.0 {
            match item {
                ShapeItem::Dim(d) => out.push(ShapeItem::Dim(self.dim(d)?)),
                ShapeItem::Var(v) => out.extend(self.shape_var(v)?.0),
            }
        }
        Ok(Shape(out))
    }

    /// Whether every type that `t` stands for is in `class`.
    pub fn in_class(&self, t: &AtomTy, class: Class) -> bool {
        match t {
            AtomTy::Base(b) => b.is_in(class),
            AtomTy::Var(v) => match self.types.get(&v.id) {
                Some(TypeBinding::Level(_, c)) => c.is_some_and(|c| c.implies(class)),
                Some(TypeBinding::Is(t)) => Walk::new(self.scope).in_class(t, class),
                None => self.scope.types.get(&v.id).copied().flatten().is_some_and(|c| c.implies(class)),
            },
            AtomTy::Quot(_) => Class::Frac.implies(class),
            // Tuples and boxes are ordered by their parts.
            AtomTy::Tuple(q) if class == Class::Ord => {
                q.fields.iter().all(|(_, field)| self.in_class(&field.atom, class))
            }
            AtomTy::Sigma(q) if class == Class::Ord => self.in_class(&q.body.atom, class),
            _ => false,
        }
    }
}

fn rebound(v: &dyn std::fmt::Debug) -> Broken {
    (Rule::Binder, format!("a type binds {v:?}, which is in scope already"))
}
