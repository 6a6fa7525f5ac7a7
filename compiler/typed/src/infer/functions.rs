//! λ, functions as arguments, and the η-expansion that fits a function to a wanted type.

use super::apply::Source;
use super::instance::Operator;
use super::polymorphic::is_polymorphic;
use super::solver::Role;
use super::*;
use crate::ir::ExprKind;
use remc_syntax::ast::{self, Annotation};
use std::sync::Arc;

impl Checker<'_> {
    pub(super) fn infer_lambda(
        &mut self,
        node: NodeId,
        params: &[ast::Param],
        ret: Option<&ast::TypeExpr>,
        body: &ast::Expr,
        expected: Option<&FnTy>,
    ) -> Check<Typed> {
        let role = if std::mem::take(&mut self.defining) { Role::Named } else { Role::Parameter };
        self.deeper(|c| {
            let (vars, ret) = c.in_role(role, |c| {
                let mut vars = Vec::new();
                for (i, p) in params.iter().enumerate() {
                    let want = expected.and_then(|f| f.params.get(i)).cloned();
                    vars.push(c.parameter(p, want)?);
                }
                // The result type's variables scope over the body.
                let ret = match ret {
                    Some(t) => Some((c.param_array_type(t)?, t.id)),
                    None => None,
                };
                Ok((vars, ret))
            })?;
            // Functions inside of an entry have no data to read their sizes from: they are for all sizes.
            if c.param_implicit == Implicit::Entry {
                c.param_implicit = Implicit::Flexible;
            }
            let hint = ret.as_ref().map(|r| r.0.clone()).or(expected.map(|f| f.ret.clone()));
            c.lambda_of(vars, node, |c, _| c.infer(body, hint.as_ref())).and_then(|t| {
                if let (Some((ty, at)), ExprKind::Lam { body, .. }) = (&ret, &*t.expr.kind) {
                    c.expect(body, ty, *at)?;
                }
                Ok(t)
            })
        })
    }

    /// The variable of a parameter, brought into scope.
    fn parameter(&mut self, p: &ast::Param, want: Option<ArrTy>) -> Check<VarId> {
        let ty = self.param_type(p, want)?;
        let unranked = p.ann == Annotation::None && self.is_bare(&ty.shape);
        self.sizes_from_parameter(&p.name, &ty, p.id);
        let var = self.new_local(&p.name, ty, None);
        let local = &mut self.locals[var.0 as usize];
        local.bound = matches!(p.ann, Annotation::Type(_)).then_some(Loc::Node(p.id));
        local.unranked = unranked;
        local.lifts = vec![var];
        self.bind_local(&p.name, var);
        Ok(var)
    }

    /// Runs `f` with sizes that are named in types in this role.
    pub(super) fn in_role<T>(&mut self, role: Role, f: impl FnOnce(&mut Self) -> T) -> T {
        let outside = std::mem::replace(&mut self.size_role, role);
        let result = f(self);
        self.size_role = outside;
        result
    }

    fn param_type(&mut self, p: &ast::Param, want: Option<ArrTy>) -> Check<ArrTy> {
        let ty = match (&p.ann, want) {
            (Annotation::None, Some(want)) => {
                self.mark_bare(&want.shape);
                return Ok(want);
            }
            (Annotation::All, Some(want)) => return Ok(want),
            (Annotation::None, None) => {
                let atom = self.s.fresh_atom(None, p.id);
                ArrTy::new(
                    atom,
                    self.s.fresh_shape(true, false, p.id, Some(Name::new(format!("@{}", p.name)))),
                )
            }
            (Annotation::All, None) => {
                let atom = self.s.fresh_atom(None, p.id);
                ArrTy::new(
                    atom,
                    self.s.fresh_whole_shape(Role::Parameter, p.id, Name::new(format!("@{}", p.name))),
                )
            }
            (Annotation::Rank(r), want) => {
                let atom = self.s.fresh_atom(None, p.id);
                let dims: Vec<_> = (0..*r).map(|_| self.s.fresh_size(Role::Parameter, p.id, None)).collect();
                let ty = ArrTy::new(atom, Shape::of_dims(dims));
                if let Some(want) = want {
                    let _ = self.s.unify_atom(&ty.atom, &want.atom);
                    self.match_rank(&ty.shape, &want.shape);
                }
                ty
            }
            (Annotation::Type(t), want) => {
                let ty = match &*t.kind {
                    ast::TypeKind::Stream { item, length } => {
                        self.stream_type(&p.name, t, item, length.as_ref())?
                    }
                    _ => self.param_array_type(t)?,
                };
                if let Some(want) = want {
                    self.match_rank(&ty.shape, &want.shape);
                }
                ty
            }
        };
        Ok(ty)
    }

    /// Equates a parameter's shape with the wanted one, unless their ranks are known to differ (the
    /// function is then fitted by η-expansion).
    fn match_rank(&mut self, have: &Shape, want: &Shape) {
        let want = self.s.zonk_shape(want);
        let same = want.dims().is_none_or(|d| d.len() == have.items().len());
        if same {
            let _ = self.s.unify_shape(have, &want);
        }
    }

    /// A parameter without annotation takes the least rank its uses allow.
    fn mark_bare(&mut self, s: &Shape) {
        if let [ShapeItem::Var(ShapeVar::Meta(m))] = self.s.zonk_shape(s).items()
            && let solver::MetaKind::Shape { bare, .. } = &mut self.s.meta_mut(*m).kind
        {
            *bare = true;
        }
    }

    /// Checks an argument against a function-typed parameter. Gives the argument and its frame.
    pub(super) fn function_argument(
        &mut self,
        e: &ast::Expr,
        param: &ArrTy,
        op: &Operator,
        position: usize,
    ) -> Check<(Typed, Shape)> {
        let AtomTy::Fn(want) = self.s.zonk_atom(&param.atom) else {
            let t = self.infer(e, Some(param))?;
            return Ok((t, Shape::scalar()));
        };
        let t = self.demanding(false, |c| match &*e.kind {
            ast::ExprKind::Lam { params, ret, body } if params.len() == want.params.len() => {
                c.infer_lambda(e.id, params, ret.as_ref(), body, Some(&want))
            }
            _ => c.infer(e, None),
        })?;
        self.fit_function(t, &want, e.id, Some((op, position)))
    }

    /// Whether some size is another one but where both are 0, as `(* 2 n)` and `n`.
    fn differs_by_factor(&self, a: &Shape, b: &Shape) -> bool {
        let (a, b) = (self.s.zonk_shape(a), self.s.zonk_shape(b));
        a.known_dims().zip(b.known_dims()).any(|(p, q)| {
            let diff = p.sub(q);
            diff.constant_term() == 0 && diff.as_constant().is_none()
        })
    }

    /// Makes a function of the wanted type of `t`, by η-expansion if its cells have other ranks.
    pub(super) fn fit_function(
        &mut self,
        t: Typed,
        want: &Arc<FnTy>,
        node: NodeId,
        context: Option<(&Operator, usize)>,
    ) -> Check<(Typed, Shape)> {
        let t = match is_polymorphic(&self.s.zonk_atom(&t.expr.ty.atom)) {
            true => Typed::new(self.operator(t)?.expr),
            false => t,
        };
        let ty = self.s.zonk(&t.expr.ty);
        let have = match &ty.atom {
            AtomTy::Fn(f) => f.clone(),
            AtomTy::Meta(_) => {
                if let Err(e) = self.s.unify_atom(&ty.atom, &AtomTy::Fn(want.clone())) {
                    return self.mismatch(e, node);
                }
                return Ok((t, ty.shape));
            }
            _ => return self.function_wanted(&ty, want, node, context),
        };
        if have.params.len() != want.params.len() {
            return self.function_arity(&have, want, node, context);
        }
        let ranks_differ = ty.shape.is_scalar()
            && have.params.iter().zip(&want.params).any(|(h, w)| {
                let (h, w) = (self.s.zonk_shape(&h.shape), self.s.zonk_shape(&w.shape));
                match (h.dims(), w.dims()) {
                    (Some(h), Some(w)) => h.len() != w.len(),
                    // A cell of certain dims where a rigid shape is wanted.
                    (Some(h), None) => {
                        let rigid = w.items().iter().any(|i| matches!(i, ShapeItem::Var(ShapeVar::Rigid(_))));
                        let flexible =
                            w.items().iter().any(|i| matches!(i, ShapeItem::Var(ShapeVar::Meta(_))));
                        rigid && (!flexible || h.len() < w.least_rank() + 1)
                    }
                    _ => false,
                }
            });
        if !ranks_differ {
            self.s.node = Some(node);
            for (h, w) in have.params.iter().zip(&want.params) {
                if let Err(e) = self.s.unify(h, w) {
                    return self.function_mismatch(e, &have, want, node, context);
                }
            }
            if let Err(e) = self.s.unify(&have.ret, &want.ret) {
                if let Some((op, position)) = context
                    && errors::goes_on(&op.name)
                    && self.differs_by_factor(&have.ret.shape, &want.ret.shape)
                {
                    return self.result_grows(t.expr.node, op, position);
                }
                return self.function_mismatch(e, &have, want, node, context);
            }
            return Ok((t, ty.shape));
        }
        let expanded = self.deeper(|c| {
            let vars: Vec<_> =
                want.params.iter().map(|p| c.new_local(&Name::new("x"), p.clone(), None)).collect();
            c.lambda_of(vars, node, |c, vars| {
                let sources = vars.iter().map(|v| Source::Done(c.var(*v, node))).collect();
                c.deeper(|c| c.apply(Operator::plain(t.expr), sources, node))
            })
        })?;
        if let AtomTy::Fn(f) = &expanded.expr.ty.atom.clone()
            && let Err(e) = self.s.unify(&f.ret, &want.ret)
        {
            return self.function_mismatch(e, &have, want, node, context);
        }
        Ok((expanded, Shape::scalar()))
    }
}
