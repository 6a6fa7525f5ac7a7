//! Functions at a polymorphic type that is written: `(: (λ ([x 0]) x) (∀ (t) (→ (t) t)))`.
//!
//! Where a ∀ or Π type is wanted (an annotation, a parameter of such a type, the type of a definition),
//! its binders become variables that stand for any type and any size, as those of a definition that
//! writes its own binders, and the function is checked against what stands under them:
//!
//! ```text
//! (: (λ ([x 0]) x) (∀ (t) (→ (t) t)))     ⇒     (Tλ (t) (λ ([x t]) x))
//! ```
//!
//! The variables are bound deeper than everything outside, so a function that needs to know which type
//! or size it gets does not check. Polymorphism of higher rank is never guessed: without a written type a
//! parameter is a function of one type.

use super::*;
use crate::ir::ExprKind;
use remc_syntax::ast::{self, ExprKind as A};
use std::sync::Arc;

/// The binders of a polymorphic type, from the outside in.
enum Binders {
    Indices(Vec<IVar>),
    Types(Vec<TParam>),
}

/// Whether a type has binders.
pub(super) fn is_polymorphic(t: &AtomTy) -> bool {
    matches!(t, AtomTy::Pi(_) | AtomTy::Forall(_))
}

/// Whether the expression is written as a function, or as an instance of one: what is evaluated once for
/// all the types it may have.
pub(super) fn is_written_function(e: &ast::Expr) -> bool {
    matches!(
        &*e.kind,
        A::Lam { .. }
            | A::TLam { .. }
            | A::ILam { .. }
            | A::Rerank { .. }
            | A::Var(_)
            | A::TApp { .. }
            | A::IApp { .. }
    )
}

impl Checker<'_> {
    /// A function that is written where the polymorphic type `want` is wanted.
    pub(super) fn infer_at_polymorphic(&mut self, e: &ast::Expr, want: &ArrTy) -> Check<Typed> {
        if matches!(&*e.kind, A::TLam { .. } | A::ILam { .. }) {
            let t = self.infer_polymorphic(e, None)?;
            return if same_binders(&t.expr.ty, want) {
                Ok(t)
            } else {
                self.abstracted(e.id, want, Given::Done(t))
            };
        }
        self.abstracted(e.id, want, Given::Written(e))
    }

    /// The function under the binders of `want`.
    fn abstracted(&mut self, node: NodeId, want: &ArrTy, given: Given) -> Check<Typed> {
        let names = self.scope.len();
        self.s.depth += 1;
        let depth = self.s.depth;
        let (binders, body) = self.rigid_body(want, depth);
        let result = self
            .behind_barrier(|c| {
                let t = match given {
                    Given::Written(ast) => match (&*ast.kind, body.as_fn()) {
                        (A::Lam { params, ret, body }, Some(f)) if params.len() == f.params.len() => {
                            c.infer_lambda(ast.id, params, ret.as_ref(), body, Some(f))?
                        }
                        _ => c.infer(ast, None)?,
                    },
                    Given::Done(t) => {
                        let op = c.operator(t)?;
                        Typed::new(op.expr)
                    }
                };
                match (body.as_fn(), &c.s.zonk_atom(&t.expr.ty.atom)) {
                    (Some(f), AtomTy::Fn(_)) => Ok(c.fit_function(t, f, node, None)?.0.expr),
                    _ => {
                        c.expect(&t.expr, &body, node)?;
                        Ok(t.expr)
                    }
                }
            })
            .and_then(|e| {
                self.decide_all(depth)?;
                Ok(e)
            });
        self.s.depth -= 1;
        self.scope.truncate(names);
        let mut e = result?;
        for b in binders.into_iter().rev() {
            let body = self.s.zonk(&e.ty);
            e = match b {
                Binders::Indices(params) => {
                    let ty = AtomTy::Pi(Arc::new(PiTy { params: params.clone(), body }));
                    Expr::new(ExprKind::ILam { params, body: e }, ArrTy::scalar(ty), node)
                }
                Binders::Types(params) => {
                    let ty = AtomTy::Forall(Arc::new(ForallTy { params: params.clone(), body }));
                    Expr::new(ExprKind::TLam { params, body: e }, ArrTy::scalar(ty), node)
                }
            };
        }
        self.leave(Typed::new(e))
    }

    /// What stands under the binders of a type, over variables that are bound at `depth`.
    fn rigid_body(&mut self, want: &ArrTy, depth: u32) -> (Vec<Binders>, ArrTy) {
        let mut binders = Vec::new();
        let mut body = self.s.zonk(want);
        loop {
            let mut s = Subst::new();
            match body.atom.clone() {
                AtomTy::Pi(q) if body.shape.is_scalar() => {
                    let mut params = Vec::new();
                    for p in &q.params {
                        let v = self.s.fresh_ivar(p.sort, p.name.as_str(), depth);
                        s.bind_index(p, v.clone().into());
                        params.push(v);
                    }
                    binders.push(Binders::Indices(params));
                    body = s.arr(&q.body);
                }
                AtomTy::Forall(q) if body.shape.is_scalar() => {
                    let mut params = Vec::new();
                    for p in &q.params {
                        let var = TVar { id: self.s.fresh_id(), name: p.var.name.clone() };
                        self.s.tvar_class.insert(var.id, p.class);
                        self.s.tvar_depth.insert(var.id, depth);
                        let shape =
                            p.shape.as_ref().map(|v| self.s.fresh_ivar(Sort::Shape, v.name.as_str(), depth));
                        let atom = AtomTy::Var(var.clone());
                        let arg = match &shape {
                            Some(v) => TyArg::Array(ArrTy::new(atom, Shape::rigid(v.clone()))),
                            None => TyArg::Atom(atom),
                        };
                        s.bind_tparam(p, arg);
                        params.push(TParam { var, shape, class: p.class });
                    }
                    binders.push(Binders::Types(params));
                    body = s.arr(&q.body);
                }
                _ => return (binders, body),
            }
        }
    }
}

/// What is to get the type: an expression, or one that was inferred at a type of its own.
enum Given<'a> {
    Written(&'a ast::Expr),
    Done(Typed),
}

/// Whether two types begin with the same binders, so that they can be equal as they are.
fn same_binders(a: &ArrTy, b: &ArrTy) -> bool {
    match (&a.atom, &b.atom) {
        (AtomTy::Pi(p), AtomTy::Pi(q)) => {
            solver::same_sorts(&p.params, &q.params) && same_binders(&p.body, &q.body)
        }
        (AtomTy::Forall(p), AtomTy::Forall(q)) => {
            p.params.len() == q.params.len()
                && p.params
                    .iter()
                    .zip(&q.params)
                    .all(|(x, y)| x.class == y.class && x.shape.is_some() == y.shape.is_some())
                && same_binders(&p.body, &q.body)
        }
        (a, b) => !is_polymorphic(a) && !is_polymorphic(b),
    }
}
