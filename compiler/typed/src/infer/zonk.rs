//! Zonking: replacing solved existentials by their solutions, all the way down.

use super::solver::{Solution, Solver};
use remc_base::*;
use std::sync::Arc;

impl Solver {
    pub fn zonk_dim(&self, d: &Dim) -> Dim {
        d.substitute(&mut |v| match v {
            DimVar::Meta(m) => self.solved_dim(*m),
            DimVar::RankOf(ShapeVar::Meta(m)) => Some(self.solved_shape(*m)?.rank()),
            DimVar::SizeOf(ShapeVar::Meta(m)) => Some(self.solved_shape(*m)?.size()),
            _ => None,
        })
    }

    pub fn zonk_shape(&self, s: &Shape) -> Shape {
        let mut out = Vec::with_capacity(s.0.len());
        for item in &s.0 {
            match item {
                ShapeItem::Dim(d) => out.push(ShapeItem::Dim(self.zonk_dim(d))),
                ShapeItem::Var(ShapeVar::Meta(m)) => match self.solved_shape(*m) {
                    Some(s) => out.extend(s.0),
                    None => out.push(item.clone()),
                },
                ShapeItem::Var(_) => out.push(item.clone()),
            }
        }
        Shape(out)
    }

    /// What the existential stands for, all the way down. It is kept in place of the solution it was
    /// found by, as a union-find structure halves its paths: chains of solutions are as long as programs,
    /// and would be walked each time.
    fn solved_dim(&self, m: MetaId) -> Option<Dim> {
        let found = match &*self.meta(m).solution.borrow() {
            Some(Solution::Dim(d)) => d.clone(),
            _ => return None,
        };
        if !found.vars().any(|v| self.is_solved(v)) {
            return Some(found);
        }
        let whole = self.zonk_dim(&found);
        self.meta(m).solution.replace(Some(Solution::Dim(whole.clone())));
        Some(whole)
    }

    fn solved_shape(&self, m: MetaId) -> Option<Shape> {
        let found = match &*self.meta(m).solution.borrow() {
            Some(Solution::Shape(s)) => s.clone(),
            _ => return None,
        };
        let open = |i: &ShapeItem| match i {
            ShapeItem::Dim(d) => d.vars().any(|v| self.is_solved(v)),
            ShapeItem::Var(ShapeVar::Meta(n)) => self.meta(*n).is_solved(),
            ShapeItem::Var(_) => false,
        };
        if !found.items().iter().any(open) {
            return Some(found);
        }
        let whole = self.zonk_shape(&found);
        self.meta(m).solution.replace(Some(Solution::Shape(whole.clone())));
        Some(whole)
    }

    fn is_solved(&self, v: &DimVar) -> bool {
        match v {
            DimVar::Meta(m) | DimVar::RankOf(ShapeVar::Meta(m)) | DimVar::SizeOf(ShapeVar::Meta(m)) => {
                self.meta(*m).is_solved()
            }
            _ => false,
        }
    }

    pub fn zonk_atom(&self, t: &AtomTy) -> AtomTy {
        match t {
            AtomTy::Base(_) | AtomTy::Var(_) => t.clone(),
            AtomTy::Meta(m) => {
                let found = match &*self.meta(*m).solution.borrow() {
                    Some(Solution::Atom(t)) => t.clone(),
                    _ => return t.clone(),
                };
                let whole = self.zonk_atom(&found);
                // Of a chain, as with dims; other solutions are shared, and new ones would not be.
                if matches!(found, AtomTy::Meta(_)) {
                    self.meta(*m).solution.replace(Some(Solution::Atom(whole.clone())));
                }
                whole
            }
            AtomTy::Fn(f) => AtomTy::func(f.params.iter().map(|p| self.zonk(p)).collect(), self.zonk(&f.ret)),
            AtomTy::Forall(q) => {
                AtomTy::Forall(Arc::new(ForallTy { params: q.params.clone(), body: self.zonk(&q.body) }))
            }
            AtomTy::Pi(q) => {
                AtomTy::Pi(Arc::new(PiTy { params: q.params.clone(), body: self.zonk(&q.body) }))
            }
            AtomTy::Sigma(q) => AtomTy::sigma(q.params.clone(), self.zonk(&q.body)),
            AtomTy::Tuple(q) => {
                AtomTy::tuple(q.fields.iter().map(|(l, t)| (l.clone(), self.zonk(t))).collect())
            }
            AtomTy::Quot(q) => {
                let t = self.zonk_atom(q);
                if self.class_of(&t).is_some_and(|c| c.implies(Class::Frac)) { t } else { AtomTy::quot(t) }
            }
        }
    }

    pub fn zonk(&self, t: &ArrTy) -> ArrTy {
        ArrTy { atom: self.zonk_atom(&t.atom), shape: self.zonk_shape(&t.shape) }
    }

    pub fn zonk_index(&self, i: &Index) -> Index {
        match i {
            Index::Dim(d) => Index::Dim(self.zonk_dim(d)),
            Index::Shape(s) => Index::Shape(self.zonk_shape(s)),
        }
    }

    /// Whether a type, with its solutions, stays within the limits of [`TYPE_LIMIT`]; looks no further
    /// than that, so it is safe on types that double at each step.
    pub fn is_small(&self, t: &ArrTy) -> bool {
        let mut budget = TYPE_LIMIT;
        self.spend(t, &mut budget)
    }

    fn spend(&self, t: &ArrTy, budget: &mut usize) -> bool {
        self.spend_shape(&t.shape, budget) && self.spend_atom(&t.atom, budget)
    }

    fn spend_shape(&self, s: &Shape, budget: &mut usize) -> bool {
        s.items().iter().all(|i| match i {
            ShapeItem::Dim(d) => self.zonk_dim(d).is_small() && take(budget),
            ShapeItem::Var(ShapeVar::Meta(m)) => match &*self.meta(*m).solution.borrow() {
                Some(Solution::Shape(s)) => take(budget) && self.spend_shape(s, budget),
                _ => take(budget),
            },
            ShapeItem::Var(_) => take(budget),
        })
    }

    fn spend_atom(&self, t: &AtomTy, budget: &mut usize) -> bool {
        take(budget)
            && match t {
                AtomTy::Base(_) | AtomTy::Var(_) => true,
                AtomTy::Meta(m) => match &*self.meta(*m).solution.borrow() {
                    Some(Solution::Atom(t)) => self.spend_atom(t, budget),
                    _ => true,
                },
                AtomTy::Fn(f) => f.params.iter().chain([&f.ret]).all(|p| self.spend(p, budget)),
                AtomTy::Forall(q) => self.spend(&q.body, budget),
                AtomTy::Pi(q) => self.spend(&q.body, budget),
                AtomTy::Sigma(q) => self.spend(&q.body, budget),
                AtomTy::Tuple(q) => q.fields.iter().all(|(_, t)| self.spend(t, budget)),
                AtomTy::Quot(q) => self.spend_atom(q, budget),
            }
    }
}

/// How many parts a type may have: far more than a person writes or reads.
const TYPE_LIMIT: usize = 2000;

fn take(budget: &mut usize) -> bool {
    *budget = budget.saturating_sub(1);
    *budget > 0
}
