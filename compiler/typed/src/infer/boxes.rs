//! Written boxes: `box`, `boxes`, `unbox`.

use super::*;
use crate::codes;
use crate::ir::ExprKind;
use remc_syntax::ast;

impl Checker<'_> {
    pub(super) fn infer_box(
        &mut self,
        node: NodeId,
        witnesses: &[(ast::Ident, ast::IndexExpr)],
        ty: &ast::TypeExpr,
        value: &ast::Expr,
    ) -> Check<Typed> {
        let given: Vec<Index> = witnesses.iter().map(|(_, i)| self.index(i)).collect::<Check<_>>()?;
        let mark = self.scope.len();
        let params: Vec<_> = witnesses.iter().map(|(n, _)| self.bind_index_name(&n.name, 0)).collect();
        let body = self.array_type(ty);
        self.scope.truncate(mark);
        let sigma = SigmaTy { params, body: body? };
        let nodes: Vec<_> = witnesses.iter().map(|(n, i)| (n.id, i.id)).collect();
        self.boxed(node, &sigma, given, value, &nodes)
    }

    fn boxed(
        &mut self,
        node: NodeId,
        sigma: &SigmaTy,
        witnesses: Vec<Index>,
        value: &ast::Expr,
        nodes: &[(NodeId, NodeId)],
    ) -> Check<Typed> {
        let mut s = Subst::new();
        for ((p, w), at) in sigma.params.iter().zip(&witnesses).zip(nodes) {
            if p.sort != w.sort() {
                return self.fail(
                    Diagnostic::error(
                        codes::WITNESS,
                        format!("the witness of `{}` has the wrong sort", p.name),
                    )
                    .primary(Loc::Node(at.1), format!("is `{w}`"))
                    .help("a plain name hides a dim, an at-name a shape in brackets"),
                );
            }
            s.bind_index(p, w.clone());
        }
        let want = s.arr(&sigma.body);
        let t = self.infer(value, Some(&want))?;
        let t = self.unboxed_for(t, &want);
        self.s.node = Some(value.id);
        if let Err(e) = self.s.unify(&want, &t.expr.ty) {
            return self.wrong_witness(e, &want, &t.expr, nodes);
        }
        let ty = ArrTy::scalar(AtomTy::sigma(sigma.params.clone(), sigma.body.clone()));
        Ok(Typed::new(Expr::new(ExprKind::Box { witnesses, value: t.expr }, ty, node)))
    }

    /// `(box e)`: as the context says, else every dim is hidden, or the length alone where the item has no type otherwise
    /// (`(loop ((rows (box [m]))) … (box (append rows [m])))`). A single box stays what it is: `(box (iota1 n))`
    /// hides the length. A box of one is written with its type, as `(box () τ e)`.
    pub(super) fn infer_box_by_context(
        &mut self,
        node: NodeId,
        value: &ast::Expr,
        expected: Option<&ArrTy>,
    ) -> Check<Typed> {
        let expected = expected.map(|t| self.s.zonk(t));
        // Boxes in the box may be written as rows.
        let rows = match expected.as_ref().map(|t| &t.atom) {
            Some(AtomTy::Sigma(sigma)) if matches!(sigma.body.atom, AtomTy::Sigma(_)) => {
                Some(sigma.body.clone())
            }
            _ => None,
        };
        let t = self.infer(value, rows.as_ref())?;
        self.single_box(&t.expr);
        if let Some(ArrTy { atom: AtomTy::Sigma(sigma), shape }) = &expected
            && shape.least_rank() == 0
        {
            let mut s = Subst::new();
            let witnesses: Vec<Index> = sigma
                .params
                .iter()
                .map(|p| {
                    let w = match p.sort {
                        Sort::Dim => Index::Dim(self.s.fresh_dim(node, Some(p.name.clone()))),
                        Sort::Shape => {
                            Index::Shape(self.s.fresh_shape(false, false, node, Some(p.name.clone())))
                        }
                    };
                    s.bind_index(p, w.clone());
                    w
                })
                .collect();
            let want = s.arr(&sigma.body);
            self.s.node = Some(value.id);
            // What is such a box already, since it opens something: `(box (append xs (iota1 n)))`.
            let ty = self.s.zonk(&t.expr.ty);
            if ty.shape.is_scalar()
                && matches!(&ty.atom, AtomTy::Sigma(own) if own.params.len() == sigma.params.len())
                && !matches!(want.atom, AtomTy::Sigma(_))
                && self.s.unify(&ArrTy::scalar(AtomTy::Sigma(sigma.clone())), &ty).is_ok()
            {
                return Ok(t);
            }
            if let Err(e) = self.s.unify(&want, &t.expr.ty) {
                return self.wrong_witness(e, &want, &t.expr, &[]);
            }
            let ty = ArrTy::scalar(AtomTy::Sigma(sigma.clone()));
            return Ok(Typed::new(Expr::new(ExprKind::Box { witnesses, value: t.expr }, ty, node)));
        }
        if self.scalar_box(&t.expr).is_some() {
            return Ok(t);
        }
        let shape = self.s.zonk_shape(&t.expr.ty.shape);
        if self.is_undecided(&shape) {
            return self.fail(
                Diagnostic::error(codes::BOX_CONTEXT, "nothing says which dims this box hides")
                    .primary(Loc::Node(node), "the rank of the contents is not known")
                    .help("write the rank of the parameter, [xs 1] or [xs all], or the witnesses: (box ((n 3)) [int n] e)"),
            );
        }
        if shape.least_rank() == 0 && !shape.is_scalar() {
            return Ok(self.box_shape(t.expr, shape, node));
        }
        let several = shape.items().len() > 1 && matches!(shape.items()[0], ShapeItem::Dim(_));
        self.hides_more |= several;
        let count = if self.hides_length && several { 1 } else { shape.items().len() };
        self.box_dims(t.expr, count, node)
    }

    /// A box that hides the shape of an array of which no dim is known.
    fn box_shape(&mut self, value: Expr, shape: Shape, node: NodeId) -> Typed {
        let hidden = self.s.fresh_ivar(Sort::Shape, "@s", 0);
        let body = ArrTy::new(self.s.zonk(&value.ty).atom, Shape::rigid(hidden.clone()));
        let sigma = AtomTy::sigma(vec![hidden], body);
        let witnesses = vec![Index::Shape(shape)];
        Typed::new(Expr::new(ExprKind::Box { witnesses, value }, ArrTy::scalar(sigma), node))
    }

    /// A box that hides the dims among the first `count` items of an array's shape.
    pub(super) fn box_dims(&mut self, value: Expr, count: usize, node: NodeId) -> Check<Typed> {
        let ty = self.s.zonk(&value.ty);
        let mut params = Vec::new();
        let mut witnesses = Vec::new();
        let mut items = Vec::new();
        for (i, item) in ty.shape.items().iter().enumerate() {
            match item {
                ShapeItem::Dim(d) if i < count => {
                    let p = self.s.fresh_ivar(Sort::Dim, &super::open::another("n", &params), 0);
                    witnesses.push(Index::Dim(d.clone()));
                    items.push(ShapeItem::Dim(Dim::rigid(p.clone())));
                    params.push(p);
                }
                other => items.push(other.clone()),
            }
        }
        let sigma = AtomTy::sigma(params, ArrTy::new(ty.atom.clone(), Shape(items)));
        Ok(Typed::new(Expr::new(ExprKind::Box { witnesses, value }, ArrTy::scalar(sigma), node)))
    }

    pub(super) fn infer_boxes(
        &mut self,
        node: NodeId,
        params: &[ast::Ident],
        ty: &ast::TypeExpr,
        dims: &[ast::IndexExpr],
        rows: &[(Vec<ast::IndexExpr>, ast::Expr)],
    ) -> Check<Typed> {
        let dims = self.shape_of(dims)?;
        let count = dims.sizes().and_then(|s| s.iter().try_fold(1u64, |a, b| a.checked_mul(*b)));
        if count != Some(rows.len() as u64) {
            return self.fail(
                Diagnostic::error(codes::SIZES, format!("the dims {dims} do not match {} rows", rows.len()))
                    .primary(Loc::Node(node), format!("{} rows", rows.len())),
            );
        }
        let mark = self.scope.len();
        let vars: Vec<_> = params.iter().map(|n| self.bind_index_name(&n.name, 0)).collect();
        let body = self.array_type(ty);
        self.scope.truncate(mark);
        let sigma = SigmaTy { params: vars, body: body? };
        let mut elems = Vec::new();
        let mut failed = false;
        for (witnesses, value) in rows {
            if witnesses.len() != sigma.params.len() {
                return self.fail(
                    Diagnostic::error(
                        codes::WITNESS,
                        format!("{} witnesses for {} hidden indices", witnesses.len(), sigma.params.len()),
                    )
                    .primary(Loc::Node(value.id), "the witnesses of this row")
                    .help("one witness for each index of the boxes form"),
                );
            }
            let given: Vec<Index> = witnesses.iter().map(|i| self.index(i)).collect::<Check<_>>()?;
            let nodes: Vec<_> = witnesses.iter().map(|i| (i.id, i.id)).collect();
            match self.boxed(value.id, &sigma, given, value, &nodes) {
                Ok(t) => elems.push(t.expr),
                Err(Reported) => failed = true,
            }
        }
        if failed {
            return Err(Reported);
        }
        let ty = ArrTy::new(AtomTy::sigma(sigma.params, sigma.body), dims.clone());
        let dims = dims.dims().unwrap_or_default();
        Ok(Typed::new(Expr::new(ExprKind::Frame { dims, elems }, ty, node)))
    }
}
