//! Names and literals as expressions.

use super::instance::Operator;
use super::*;
use crate::ir::{ExprKind, Lit};
use remc_syntax::ast;

/// A number, or a vector of numbers that may all be sizes.
pub(super) fn is_sizes(known: &Index) -> bool {
    match known {
        Index::Dim(_) => true,
        Index::Shape(s) => s.dims().is_some_and(|ds| ds.iter().all(Dim::is_never_negative)),
    }
}

impl Checker<'_> {
    /// A name as an expression: a variable, a dim's value, or an instance of a definition.
    pub(super) fn infer_name(&mut self, e: &ast::Expr, name: &Name) -> Check<Typed> {
        match self.find_value(name).cloned() {
            Some(Binding::Local(var)) => {
                if !matches!(self.local(var).local.ty.atom, AtomTy::Pi(_) | AtomTy::Forall(_)) {
                    return self.use_local(var, e.id);
                }
            }
            Some(Binding::Failed) => return Err(Reported),
            _ => {
                if let Some(index) = self.find_index(name) {
                    return Ok(self.reified(index, e.id));
                }
            }
        }
        self.infer_instance(e)
    }

    /// `f`, `f{…}`, `t-app`, `i-app` as a value.
    pub(super) fn infer_instance(&mut self, e: &ast::Expr) -> Check<Typed> {
        let Some(head) = self.head(e, None)? else {
            let ast::ExprKind::Var(name) = &*e.kind else { return Err(Reported) };
            return self.infer_name(e, name);
        };
        let op = self.instantiate(head)?;
        self.operator_value(op)
    }

    /// An operator as a value: a `Val` parameter becomes an ordinary one, opened inside.
    pub(super) fn operator_value(&mut self, op: Operator) -> Check<Typed> {
        if !op.vals.is_empty() && !op.explicit {
            return self.eta_expand_vals(op);
        }
        let is_fn = matches!(op.expr.ty.atom, AtomTy::Fn(_));
        if !is_fn && let Some(known) = op.known.clone() {
            return Ok(if op.adapts && self.may_copy(&known) {
                self.reified(known, op.node)
            } else {
                Typed { known: Some(known), ..Typed::new(op.expr) }
            });
        }
        if !is_fn
            && self.demand
            && op.expr.ty.shape.is_scalar()
            && self.s.zonk_atom(&op.expr.ty.atom) == AtomTy::INT
            && let ExprKind::Global(g) = &*op.expr.kind
        {
            let var = self.global_local(g.clone(), &op.expr);
            return self.use_local(var, op.node);
        }
        if !is_fn && self.counts(&op) {
            return Ok(Typed::new(self.converted(op.expr)));
        }
        Ok(Typed::new(op.expr))
    }

    /// Whether numbers may still be copied to where they are used. Past that, the uses of a vector have one type.
    fn may_copy(&mut self, known: &Index) -> bool {
        let numbers = match known {
            Index::Dim(_) => 0,
            Index::Shape(s) => s.items().len(),
        };
        match self.copies.checked_sub(numbers) {
            Some(left) => {
                self.copies = left;
                true
            }
            None => false,
        }
    }

    /// An index as a number (or a vector of numbers) of whatever type its context wants.
    pub(super) fn reified(&mut self, index: Index, node: NodeId) -> Typed {
        let atom = self.s.fresh_number(Class::Num, BaseTy::I64, node);
        let expr = match &index {
            Index::Dim(d) => Expr::new(ExprKind::ReifyDim(d.clone()), ArrTy::scalar(atom), node),
            Index::Shape(s) => {
                let _ = self.s.require(&atom, Class::Int);
                let ty = ArrTy::new(atom, Shape::of_dims([s.rank()]));
                Expr::new(ExprKind::ReifyShape(s.clone()), ty, node)
            }
        };
        Typed { known: Some(index), ..Typed::new(expr) }
    }

    /// Numbers, as a vector of whatever type its context wants.
    fn reified_vector(&mut self, dims: &[Dim], node: NodeId) -> Typed {
        let atom = self.s.fresh_number(Class::Num, BaseTy::I64, node);
        let number = |d: &Dim| match d.as_constant() {
            Some(n) => ExprKind::Lit(Lit::Int(n)),
            None => ExprKind::ReifyDim(d.clone()),
        };
        let elems = dims.iter().map(|d| Expr::new(number(d), ArrTy::scalar(atom.clone()), node)).collect();
        let length = Dim::constant(dims.len() as i128);
        let ty = ArrTy::new(atom, Shape::of_dims([length.clone()]));
        let expr = Expr::new(ExprKind::Frame { dims: vec![length], elems }, ty, node);
        Typed { known: Some(Index::Shape(Shape::of_dims(dims.to_vec()))), ..Typed::new(expr) }
    }

    pub(super) fn use_local(&mut self, var: VarId, node: NodeId) -> Check<Typed> {
        let lv = self.local(var).clone();
        if lv.adapts
            && let Some(known) = &lv.known
            && self.may_copy(known)
        {
            let known = self.s.zonk_index(known);
            return Ok(match &known {
                Index::Shape(s) if let Some(dims) = s.dims() => self.reified_vector(&dims, node),
                _ => self.reified(known, node),
            });
        }
        let mut known = lv.known.clone();
        if known.is_none() && self.demand {
            let ty = self.s.zonk(&lv.local.ty);
            let int = match &ty.atom {
                AtomTy::Base(b) => *b == BaseTy::I64,
                // A number that nothing has decided yet, used as a size: an int.
                AtomTy::Meta(_) if self.s.class_of(&ty.atom) != Some(Class::Frac) => true,
                _ => false,
            };
            let scalar = ty.shape.is_scalar() || self.is_open_rank(&ty.shape);
            if int && scalar && self.s.unify(&ty, &ArrTy::base(BaseTy::I64)).is_ok() {
                known = Some(Index::Dim(Dim::rigid(self.lift_local(var))));
            }
        }
        Ok(Typed { known, ..Typed::new(Expr::var(&lv.local, node)) })
    }

    /// Whether it is the shape of a parameter without annotation, or what is left of one when some of its axes are
    /// known, as `(sum x)` has it: the least rank that fits is meant.
    pub(super) fn is_open_rank(&self, s: &Shape) -> bool {
        let [item @ ShapeItem::Var(ShapeVar::Meta(_))] = s.items() else { return false };
        let part = |l: &LocalVar| l.unranked && self.s.zonk_shape(&l.local.ty.shape).items().contains(item);
        self.is_bare(s) || self.locals.iter().any(part)
    }

    pub(super) fn is_bare(&self, s: &Shape) -> bool {
        matches!(s.items(), [ShapeItem::Var(ShapeVar::Meta(m))]
            if matches!(self.s.meta(*m).kind, solver::MetaKind::Shape { bare: true, .. }))
    }

    pub(super) fn infer_int(&mut self, value: i128, suffix: Option<BaseTy>, node: NodeId) -> Typed {
        let atom = match suffix {
            Some(b) => AtomTy::Base(b),
            None => {
                let default = if value > i64::MAX as i128 { BaseTy::U64 } else { BaseTy::I64 };
                self.s.fresh_number(Class::Num, default, node)
            }
        };
        let expr = Expr::new(ExprKind::Lit(Lit::Int(value)), ArrTy::scalar(atom), node);
        Typed { known: Some(Index::Dim(Dim::constant(value))), ..Typed::new(expr) }
    }

    pub(super) fn infer_float(&mut self, bits: u64, suffix: Option<BaseTy>, node: NodeId) -> Typed {
        let atom = match suffix {
            Some(b) => AtomTy::Base(b),
            None => self.s.fresh_number(Class::Frac, BaseTy::F64, node),
        };
        Typed::new(Expr::new(ExprKind::Lit(Lit::Float(bits)), ArrTy::scalar(atom), node))
    }

    pub(super) fn scalar_literal(&mut self, s: Scalar, node: NodeId) -> Typed {
        Typed::new(Expr::new(ExprKind::Lit(Lit::Scalar(s)), ArrTy::base(s.ty()), node))
    }

    pub(super) fn infer_string(&mut self, text: &str, node: NodeId) -> Typed {
        let elems: Vec<_> = text.chars().map(|c| self.scalar_literal(Scalar::Char(c), node).expr).collect();
        let n = Dim::constant(elems.len() as i128);
        let ty = ArrTy::new(AtomTy::CHAR, Shape::of_dims([n.clone()]));
        Typed::new(Expr::new(ExprKind::Frame { dims: vec![n], elems }, ty, node))
    }
}
