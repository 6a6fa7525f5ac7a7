//! Depth: how far inside a variable is bound, and what may so mention it.
//!
//! Every binder whose variable may be hidden (an opened box, a lifted integer, a Tλ) has a depth, and so
//! has each existential: that of the scope that made it. One that a type from further out mentions
//! *sinks* to that scope's depth. Solving an existential by a variable that is bound deeper would let the
//! variable out of its scope, which is [`Mismatch::Escape`].

use super::solver::{Mismatch, Solver, Unify};
use remc_base::*;

impl Solver {
    fn ivar_too_deep(&self, v: &IVar, depth: u32) -> bool {
        self.ivar_depth.get(&v.id).is_some_and(|d| *d > depth)
    }

    /// Lowers the existentials of a dim to `depth`; fails on a rigid variable that is bound deeper.
    pub(super) fn sink_dim(&mut self, d: &Dim, depth: u32) -> Unify {
        for v in d.vars().cloned().collect::<Vec<_>>() {
            match v {
                DimVar::Rigid(v)
                | DimVar::RankOf(ShapeVar::Rigid(v))
                | DimVar::SizeOf(ShapeVar::Rigid(v)) => {
                    if self.ivar_too_deep(&v, depth) {
                        return Err(Mismatch::Escape(v));
                    }
                }
                DimVar::Meta(m) | DimVar::RankOf(ShapeVar::Meta(m)) | DimVar::SizeOf(ShapeVar::Meta(m)) => {
                    let meta = self.meta_mut(m);
                    meta.depth = meta.depth.min(depth);
                }
            }
        }
        Ok(())
    }

    pub(super) fn sink_shape(&mut self, s: &Shape, depth: u32) -> Unify {
        for item in &s.0 {
            match item {
                ShapeItem::Dim(d) => self.sink_dim(d, depth)?,
                ShapeItem::Var(ShapeVar::Rigid(v)) => {
                    if self.ivar_too_deep(v, depth) {
                        return Err(Mismatch::Escape(v.clone()));
                    }
                }
                ShapeItem::Var(ShapeVar::Meta(m)) => {
                    let meta = self.meta_mut(*m);
                    meta.depth = meta.depth.min(depth);
                }
            }
        }
        Ok(())
    }

    /// The body of a type that binds variables: these cannot leave it.
    fn sink_under<'v>(
        &mut self,
        bound: impl IntoIterator<Item = &'v IVar>,
        body: &ArrTy,
        depth: u32,
    ) -> Unify {
        let depths: Vec<_> = bound.into_iter().map(|v| (v.id, self.ivar_depth.remove(&v.id))).collect();
        let result = self.sink(body, depth);
        for (id, d) in depths {
            d.map(|d| self.ivar_depth.insert(id, d));
        }
        result
    }

    /// Lowers every existential of a zonked type, and fails on a variable that is bound deeper.
    pub fn sink_atom(&mut self, t: &AtomTy, depth: u32) -> Unify {
        match t {
            AtomTy::Base(_) => Ok(()),
            AtomTy::Var(v) => match self.tvar_depth.get(&v.id) {
                Some(d) if *d > depth => Err(Mismatch::Escape(IVar::dim(v.id, v.name.as_str()))),
                _ => Ok(()),
            },
            AtomTy::Meta(m) => {
                let meta = self.meta_mut(*m);
                meta.depth = meta.depth.min(depth);
                Ok(())
            }
            AtomTy::Fn(f) => {
                for p in &f.params {
                    self.sink(p, depth)?;
                }
                self.sink(&f.ret, depth)
            }
            AtomTy::Forall(q) => {
                let types: Vec<_> =
                    q.params.iter().map(|p| (p.var.id, self.tvar_depth.remove(&p.var.id))).collect();
                let shapes = q.params.iter().filter_map(|p| p.shape.as_ref());
                let result = self.sink_under(shapes, &q.body, depth);
                for (id, d) in types {
                    d.map(|d| self.tvar_depth.insert(id, d));
                }
                result
            }
            AtomTy::Pi(q) => self.sink_under(&q.params, &q.body, depth),
            AtomTy::Sigma(q) => self.sink_under(&q.params, &q.body, depth),
            AtomTy::Tuple(q) => q.fields.iter().try_for_each(|(_, t)| self.sink(t, depth)),
            AtomTy::Quot(q) => self.sink_atom(q, depth),
        }
    }

    pub fn sink(&mut self, t: &ArrTy, depth: u32) -> Unify {
        self.sink_atom(&t.atom, depth)?;
        self.sink_shape(&t.shape, depth)
    }

    /// A rigid variable of the dim that is bound deeper than `depth`.
    pub(super) fn escaping(&self, d: &Dim, depth: u32) -> Option<IVar> {
        d.vars().find_map(|v| match v {
            DimVar::Rigid(v) | DimVar::RankOf(ShapeVar::Rigid(v)) | DimVar::SizeOf(ShapeVar::Rigid(v)) => {
                self.ivar_too_deep(v, depth).then(|| v.clone())
            }
            _ => None,
        })
    }
}
