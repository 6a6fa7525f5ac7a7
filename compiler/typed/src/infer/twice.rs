//! Boxes in a box, of which their number is hidden too, are opened twice.
//!
//! `(filter flags (split xs lengths))` is one box: it hides how many rows there are, and each row is a box that hides its
//! length. `(unbox … (row n) body)` opens the outer one, so that `row` is all rows and `n` their number, which is seldom
//! what was meant, and nothing in types says so: `n` alone, or `(reverse row)`, means something either way. So the body
//! has to show that it takes the contents for boxes: it opens them, gives them to a function of boxes, or has their number
//! as a size, in a type or an explicit application, as a program has that writes everything out. What it does with them as
//! with any array needs no `unbox`, since a single box opens by itself.

use super::*;
use crate::codes;
use crate::ir::ExprKind;
use remc_base::subst::alpha_eq;
use remc_syntax::ast;
use rustc_hash::FxHashSet;
use std::sync::Arc;

impl Checker<'_> {
    /// Refuses an `unbox` of one box of boxes whose body does not take them for boxes. `var` are its contents.
    pub(super) fn opens_twice(
        &mut self,
        (boxes, value, indices): (&ast::Expr, &ast::Ident, &[ast::Ident]),
        sigma: &SigmaTy,
        frame: &Shape,
        (var, opened, body): (VarId, &[IVar], &Expr),
    ) -> Check<()> {
        let contents = self.s.zonk(&sigma.body);
        let hides_number = sigma.params.iter().any(|p| mentions(&contents.shape, p));
        if !frame.is_scalar() || !matches!(contents.atom, AtomTy::Sigma(_)) || !hides_number {
            return Ok(());
        }
        if opened.iter().any(|v| self.written.contains(&v.id)) {
            return Ok(());
        }
        let mut uses = Uses {
            checker: self,
            atom: contents.atom,
            boxes: FxHashSet::from_iter([var]),
            inside: FxHashSet::default(),
            opens: false,
        };
        uses.visit(body);
        if uses.opens {
            return Ok(());
        }
        let AtomTy::Sigma(inner) = uses.atom else { return Ok(()) };
        // The names that were meant for the inner boxes, if there are as many; and others for the outer one.
        let meant: Vec<&str> = indices.iter().map(|i| i.name.as_str()).collect();
        let named: Vec<&str> = inner.params.iter().map(|p| p.name.as_str()).collect();
        let is_at = |names: &[&str]| names.iter().map(|n| n.starts_with('@')).collect::<Vec<_>>();
        let names = if is_at(&meant) == is_at(&named) { &meant } else { &named };
        let is_bs = value.name.as_str() == "bs" || names.contains(&"bs");
        let all = if is_bs { "all" } else { "bs" };
        let taken = |name: &str| names.iter().any(|n| n.trim_start_matches('@') == name);
        let mut free = ["k", "l", "m", "i", "j"].into_iter().filter(|n| !taken(n));
        let mut outer = |p: &IVar| {
            format!("{}{}", if p.sort == Sort::Shape { "@" } else { "" }, free.next().unwrap_or("d"))
        };
        let outer: Vec<String> = sigma.params.iter().map(&mut outer).collect();
        let (outer, names, x) = (outer.join(" "), names.join(" "), &value.name);
        let ty = self.s.zonk(&ArrTy::scalar(AtomTy::Sigma(Arc::new(sigma.clone()))));
        let shown = self.show(&ty);
        self.fail(
            Diagnostic::error(
                codes::OPENED_ONCE,
                format!("`{x}` is all of the boxes in a box: to open them takes a second `unbox`"),
            )
            .primary(Loc::Node(value.id), format!("is an array of boxes, and `{}` its size", meant.join(" ")))
            .secondary(Loc::Node(boxes.id), format!("one box, of type `{shown}`"))
            .help(format!("open both: `(unbox … ({all} {outer}) (unbox {all} ({x} {names}) …))`"))
            .help("for the boxes as an array, leave out the `unbox`: one box opens by itself, and `(length …)` is their number"),
        )
    }
}

/// How a body takes boxes of one type.
struct Uses<'c, 'e> {
    checker: &'c Checker<'e>,
    atom: AtomTy,
    /// The variables that stand for such boxes.
    boxes: FxHashSet<VarId>,
    /// The variables that the body binds.
    inside: FxHashSet<VarId>,
    /// Whether it takes them for boxes.
    opens: bool,
}

impl Uses<'_, '_> {
    /// Whether an expression has some of the boxes.
    fn visit(&mut self, e: &Expr) -> bool {
        if self.opens {
            return false;
        }
        let has = match &*e.kind {
            ExprKind::Var(v) => return self.boxes.contains(v),
            ExprKind::Let { local, value, body } => {
                if self.visit(value) {
                    self.boxes.insert(local.var);
                }
                self.inside.insert(local.var);
                self.visit(body)
            }
            // A function that is given such boxes: which ones is not followed.
            ExprKind::Lam { params, body } => {
                for p in params {
                    self.inside.insert(p.var);
                    if self.is_of_boxes(&p.ty) {
                        self.boxes.insert(p.var);
                    }
                }
                self.visit(body)
            }
            ExprKind::Unbox { boxes, local, body, .. } => {
                if self.visit(boxes) {
                    self.opens |= self.is_boxes(&boxes.ty);
                    self.boxes.insert(local.var);
                }
                self.visit(body)
            }
            ExprKind::Loop { locals, cond, body } => {
                for (local, value) in locals {
                    if self.visit(value) {
                        self.boxes.insert(local.var);
                    }
                }
                let has = self.visit(cond);
                self.visit(body) || has
            }
            ExprKind::App { func, args, .. } => {
                let mut has = self.visit(func);
                let given: Vec<bool> = args.iter().map(|a| self.visit(&a.expr)).collect();
                if given.contains(&true) {
                    has = true;
                    let takes = self.takes_boxes(func);
                    self.opens |= given.iter().zip(takes).any(|(given, takes)| *given && takes)
                        || args.iter().any(|a| self.takes_boxes(&a.expr).contains(&true));
                }
                has
            }
            // All of them: each may open some.
            _ => e.children().into_iter().filter(|child| self.visit(child)).count() > 0,
        };
        has && self.is_of_boxes(&e.ty)
    }

    fn is_boxes(&self, ty: &ArrTy) -> bool {
        let atom = self.checker.s.zonk_atom(&ty.atom);
        alpha_eq(&ArrTy::scalar(atom), &ArrTy::scalar(self.atom.clone()))
    }

    /// Whether a value of the type may have such boxes in it.
    fn is_of_boxes(&self, ty: &ArrTy) -> bool {
        self.is_boxes(ty)
            || match self.checker.s.zonk_atom(&ty.atom) {
                AtomTy::Tuple(t) => t.fields.iter().any(|(_, field)| self.is_of_boxes(field)),
                AtomTy::Sigma(q) => self.is_of_boxes(&q.body),
                _ => false,
            }
    }

    /// Of a function with a name, which parameters are boxes whatever it is applied to. One that is bound in the body is
    /// looked into instead.
    fn takes_boxes(&self, func: &Expr) -> Vec<bool> {
        let mut head = func;
        while let ExprKind::IApp { func, .. } | ExprKind::TApp { func, .. } = &*head.kind {
            head = func;
        }
        match &*head.kind {
            ExprKind::Global(_) => {}
            ExprKind::Var(v) if !self.inside.contains(v) => {}
            _ => return Vec::new(),
        }
        let mut ty = self.checker.s.zonk_atom(&head.ty.atom);
        loop {
            ty = match &ty {
                AtomTy::Forall(q) => q.body.atom.clone(),
                AtomTy::Pi(q) => q.body.atom.clone(),
                AtomTy::Fn(f) => {
                    return f.params.iter().map(|p| matches!(p.atom, AtomTy::Sigma(_))).collect();
                }
                _ => return Vec::new(),
            };
        }
    }
}

/// Whether a shape depends on an index.
fn mentions(shape: &Shape, index: &IVar) -> bool {
    shape.items().iter().any(|item| match item {
        ShapeItem::Var(ShapeVar::Rigid(v)) => v == index,
        ShapeItem::Var(ShapeVar::Meta(_)) => false,
        ShapeItem::Dim(d) => d.vars().any(|v| match v {
            DimVar::Rigid(v) | DimVar::RankOf(ShapeVar::Rigid(v)) | DimVar::SizeOf(ShapeVar::Rigid(v)) => {
                v == index
            }
            _ => false,
        }),
    })
}
