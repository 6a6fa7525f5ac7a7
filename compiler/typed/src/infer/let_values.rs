//! `let-values`: names for the parts of tuples.
//!
//! ```text
//! (let-values (((x y) a) ((z) b)) body)  ⇒  (let ((v a)) (let ((w b)) (let* ((x (proj 0 v)) (y (proj 1 v)) (z (proj 0 w))) body)))
//! ```
//!
//! A box of a tuple opens. All tuples are outside of all names. Where a name has a rank or a type, the body runs for each cell, as that of
//! a λ with these parameters.

use super::*;
use crate::codes;
use crate::ir::ExprKind;
use remc_syntax::ast::{self, Annotation};

impl Checker<'_> {
    pub(super) fn infer_let_values(
        &mut self,
        node: NodeId,
        bindings: &[(Vec<ast::Param>, ast::Expr)],
        body: &ast::Expr,
        expected: Option<&ArrTy>,
    ) -> Check<Typed> {
        self.in_own_scope(|c| {
            c.openings.push(Vec::new());
            let result = c.named_parts(node, bindings, body, expected);
            let openings = c.openings.pop().unwrap_or_default();
            let t = result?;
            match openings.is_empty() {
                true => Ok(t),
                false => Ok(Typed::new(c.close_openings(openings, t.expr)?)),
            }
        })
    }

    /// … where boxes of tuples are open.
    fn named_parts(
        &mut self,
        node: NodeId,
        bindings: &[(Vec<ast::Param>, ast::Expr)],
        body: &ast::Expr,
        expected: Option<&ArrTy>,
    ) -> Check<Typed> {
        let wholes: Vec<_> = bindings.iter().map(|(params, value)| self.several(params, value)).collect();
        let wholes: Vec<Expr> = wholes.into_iter().collect::<Check<_>>()?;
        // Each tuple once, then one variable for each component.
        self.deeper(|c| {
            let mut vars = Vec::new();
            let mut parts = Vec::new();
            for ((params, _), whole) in bindings.iter().zip(&wholes) {
                let AtomTy::Tuple(tuple) = &whole.ty.atom else { return Err(Reported) };
                let var = c.new_local(&Name::new("values"), whole.ty.clone(), None);
                c.locals[var.0 as usize].lifts = c.lifts_of(whole);
                for (position, (p, (_, field))) in params.iter().zip(&tuple.fields).enumerate() {
                    let tuple = c.var(var, node).expr;
                    let ty = field.lifted(&whole.ty.shape);
                    let part = Expr::new(ExprKind::Field { tuple, position }, ty, p.id);
                    parts.push((p, Typed::new(part)));
                }
                vars.push(var);
            }
            let ranked = |p: &ast::Param| matches!(p.ann, Annotation::Rank(_) | Annotation::Type(_));
            let mut inner = if parts.iter().any(|(p, _)| ranked(p)) {
                let mut cuts = Vec::new();
                for (p, t) in parts {
                    cuts.push(c.cut_by_annotation(p, t)?);
                }
                c.over_cells(cuts, node, |c, _| c.infer(body, expected), None)?.expr
            } else {
                let mut done = Vec::new();
                for (p, t) in parts {
                    c.bind_value(&p.name, Ok(t), &mut done);
                }
                let inner = c.infer(body, expected)?.expr;
                c.within(done, inner, node)?
            };
            for (var, value) in vars.into_iter().zip(wholes).rev() {
                let local = c.local(var).local.clone();
                let ty = inner.ty.clone();
                inner = Expr::new(ExprKind::Let { local, value, body: inner }, ty, node);
            }
            Ok(Typed::new(inner))
        })
        .and_then(|t| self.leave(t))
    }

    /// The value that names are given to one by one.
    fn several(&mut self, params: &[ast::Param], value: &ast::Expr) -> Check<Expr> {
        let mut t = self.infer(value, None)?;
        // A function that opened a box has boxed its values again, all in one.
        if self.scalar_box(&t.expr).is_some_and(|b| matches!(b.body.atom, AtomTy::Tuple(_))) {
            t = Typed::new(self.open_box(t.expr));
        }
        let ty = self.s.zonk(&t.expr.ty);
        let ty = self.whole_of(ty, params.len(), value.id);
        let AtomTy::Tuple(tuple) = &ty.atom else {
            let shown = self.show(&ty);
            return self.fail(
                Diagnostic::error(codes::COMPONENT, "let-values needs several values")
                    .primary(Loc::Node(value.id), format!("has type `{shown}`"))
                    .help("write (values …), or use let for a single value"),
            );
        };
        if tuple.fields.len() != params.len() {
            return self.fail(
                Diagnostic::error(
                    codes::COMPONENT,
                    format!("{} names for {} values", params.len(), tuple.fields.len()),
                )
                .primary(Loc::Node(value.id), format!("gives {} values", tuple.fields.len())),
            );
        }
        Ok(Expr { ty, ..t.expr })
    }
}
