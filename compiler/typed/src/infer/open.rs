//! Boxes and run-time integers that open by themselves.
//!
//! A scalar box that is wanted as an array is opened; an `int` that is wanted as a size is lifted. A
//! variable is opened once, around the whole scope of its binding, so that all its uses agree on one
//! witness; a top-level name once per λ, branch or definition that uses it; any other expression around
//! the application that needs it. Opening a value that is there cannot fail, so nothing moves across a
//! branch. Where the scope ends, a result that still mentions the witness is boxed again.

use super::solver::Constraint;
use super::*;
use crate::ir::{ExprKind, LiftKind};

/// What a box hides of sizes in which an index is not alone, as `(+ d 1)`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hiding {
    /// Them: `(Σ (n) [int n])`.
    Sizes,
    /// The index: `(Σ (d) [int (+ d 1)])`.
    Names,
}

impl Checker<'_> {
    /// The index that stands for an int variable.
    pub(super) fn lift_local(&mut self, var: VarId) -> IVar {
        let lv = self.local(var).clone();
        if let Some(w) = lv.lifted {
            return w;
        }
        let mut w = self.s.fresh_ivar(Sort::Dim, lv.local.name.as_str(), lv.depth);
        w.natural = false;
        if let Some(at) = lv.bound {
            self.comes_from(&w, at, "is this int");
        }
        self.locals[var.0 as usize].lifted = Some(w.clone());
        w
    }

    /// A variable that stands for a top-level value in the innermost scope for openings.
    pub(super) fn global_local(&mut self, g: GlobalId, expr: &Expr) -> VarId {
        let depth_of_barrier = self.s.depth;
        if let Some(b) = self.barriers.last()
            && let Some((_, v, _)) = b.globals.iter().find(|(h, _, _)| *h == g)
        {
            return *v;
        }
        let var = self.new_local(&g.name, expr.ty.clone(), None);
        self.locals[var.0 as usize].bound = Some(Loc::Global(g.clone()));
        // Bound around the barrier's body, whose depth is at most the current one.
        self.locals[var.0 as usize].depth = self.barrier_depths().min(depth_of_barrier);
        if let Some(b) = self.barriers.last_mut() {
            b.globals.push((g, var, expr.clone()));
        }
        var
    }

    fn barrier_depths(&self) -> u32 {
        self.barrier_depth.last().copied().unwrap_or(0)
    }

    pub(super) fn close_barrier(&mut self, barrier: Barrier, mut body: Expr) -> Check<Expr> {
        let vars: Vec<VarId> = barrier.globals.iter().map(|(_, v, _)| *v).collect();
        body = self.hide(&vars, body)?;
        for (_, var, value) in barrier.globals.into_iter().rev() {
            body = self.close_local(var, body)?;
            let local = self.local(var).local.clone();
            let (ty, node) = (body.ty.clone(), body.node);
            body = Expr::new(ExprKind::Let { local, value, body }, ty, node);
        }
        Ok(body)
    }

    /// Whether the expression is a single box.
    pub(super) fn scalar_box(&self, e: &Expr) -> Option<std::sync::Arc<SigmaTy>> {
        match self.s.zonk(&e.ty) {
            ArrTy { atom: AtomTy::Sigma(s), shape } if shape.is_scalar() => Some(s),
            _ => None,
        }
    }

    /// Boxes over the frame of a parameter without annotation are one box where an array is wanted: the
    /// least rank allows that. `(define (f x) (sum (filter (> x 0) x)))` is a function of vectors, and so is
    /// `(define (f t x) (sum (filter (> x t) x)))`.
    pub(super) fn single_box(&mut self, e: &Expr) {
        let ty = self.s.zonk(&e.ty);
        if matches!(ty.atom, AtomTy::Sigma(_)) && (self.is_bare(&ty.shape) || self.may_be_empty(&ty.shape)) {
            self.s.node = Some(e.node);
            let _ = self.s.unify_shape(&ty.shape, &Shape::scalar());
        }
    }

    /// Whether a shape that nothing decided is a part of what open frames join to, none of which has to be longer
    /// than what is known of that.
    fn may_be_empty(&self, shape: &Shape) -> bool {
        let [ShapeItem::Var(ShapeVar::Meta(m))] = shape.items() else { return false };
        self.s.pending.iter().any(|p| {
            let Constraint::Join { frames, result } = &p.constraint else { return false };
            let result = self.s.zonk_shape(result);
            let frames: Vec<Shape> = frames.iter().map(|f| self.s.zonk_shape(f)).collect();
            let certain = frames.iter().map(Shape::least_rank).max().unwrap_or(0);
            let is_part = |s: &Shape| s.items().contains(&ShapeItem::Var(ShapeVar::Meta(*m)));
            is_part(&result) && !frames.iter().any(is_part) && certain <= result.least_rank()
        })
    }

    /// The contents of a scalar box (of boxes, all the way down).
    pub(super) fn open_box(&mut self, e: Expr) -> Expr {
        let mut e = e;
        while let Some(sigma) = self.scalar_box(&e) {
            let node = e.node;
            let inner = match &*e.kind {
                ExprKind::Var(v) => self.open_local(*v, &sigma),
                ExprKind::Global(g) => {
                    let v = self.global_local(g.clone(), &e);
                    self.open_local(v, &sigma)
                }
                _ => {
                    let depth = self.s.depth;
                    // The box itself is outside of what it opens: nothing of it may depend on that.
                    let ty = self.s.zonk(&e.ty);
                    let _ = self.s.sink(&ty, depth.saturating_sub(1));
                    let (indices, local) = self.opened_local(&Name::new("contents"), &sigma, depth);
                    self.hidden_in(&indices, Loc::Node(e.node));
                    if let Some(o) = self.openings.last_mut() {
                        o.push(Opening::Unbox { boxes: e, indices, local });
                    }
                    local
                }
            };
            e = Expr::var(&self.local(inner).local.clone(), node);
        }
        e
    }

    fn open_local(&mut self, var: VarId, sigma: &SigmaTy) -> VarId {
        let lv = self.local(var).clone();
        if let Some((_, inner)) = lv.opened {
            return inner;
        }
        let opened = self.opened_local(&lv.local.name, sigma, lv.depth);
        let inner = opened.1;
        if let Some(at) = lv.bound {
            self.hidden_in(&opened.0, at);
        }
        self.locals[var.0 as usize].opened = Some(opened);
        inner
    }

    fn opened_local(&mut self, name: &Name, sigma: &SigmaTy, depth: u32) -> (Vec<IVar>, VarId) {
        let mut s = Subst::new();
        let indices: Vec<_> = sigma
            .params
            .iter()
            .map(|p| {
                let w = self.s.fresh_ivar(p.sort, p.name.as_str(), depth);
                s.bind_index(p, w.clone().into());
                w
            })
            .collect();
        let var = self.new_local(name, s.arr(&sigma.body), None);
        self.locals[var.0 as usize].depth = depth;
        (indices, var)
    }

    /// Makes the existentials of an operator belong to the current scope: it is applied only here.
    pub(super) fn raise(&mut self, op: &super::instance::Operator) {
        let depth = self.s.depth;
        let mut metas = Vec::new();
        let mut e = &op.expr;
        loop {
            super::metas::metas_of(&self.s.zonk(&e.ty), &mut metas);
            e = match &*e.kind {
                ExprKind::TApp { func, .. } => func,
                ExprKind::IApp { func, args } => {
                    args.iter().for_each(|a| metas.extend(self.unknown_in(a)));
                    func
                }
                ExprKind::App { func, .. } => func,
                ExprKind::Check { body, .. } => body,
                _ => break,
            };
        }
        for m in metas {
            let meta = self.s.meta(m);
            // Only what this application made; what its arguments share stays where it is.
            if meta.origin == op.node && meta.depth + 3 >= depth {
                self.s.meta_mut(m).depth = depth;
            }
        }
    }

    /// Opens a run-time integer at the application in progress.
    pub(super) fn lift_here(&mut self, kind: LiftKind, count: usize, value: Expr) -> Vec<IVar> {
        let depth = self.s.depth;
        let ty = self.s.zonk(&value.ty);
        let _ = self.s.sink(&ty, depth.saturating_sub(1));
        let indices: Vec<_> = (0..count)
            .map(|_| {
                let sort = if kind == LiftKind::Shape { Sort::Shape } else { Sort::Dim };
                let mut w = self.s.fresh_ivar(sort, if sort == Sort::Dim { "n" } else { "@s" }, depth);
                w.natural = matches!(kind, LiftKind::Natural | LiftKind::Shape);
                self.comes_from(&w, Loc::Node(value.node), "is this number");
                w
            })
            .collect();
        if let Some(o) = self.openings.last_mut() {
            o.push(Opening::Lift { kind, indices: indices.clone(), value });
        }
        indices
    }

    /// Wraps an application in what was opened for it.
    pub(super) fn close_openings(&mut self, openings: Vec<Opening>, mut body: Expr) -> Check<Expr> {
        let mut all = Vec::new();
        for o in &openings {
            match o {
                Opening::Unbox { indices, local, .. } => {
                    all.extend(indices.iter().cloned());
                    self.indices_of_local(*local, &mut all);
                }
                Opening::Lift { indices, .. } => all.extend(indices.iter().cloned()),
            }
        }
        body = self.rebox(body, &all)?;
        for o in openings.into_iter().rev() {
            let node = body.node;
            body = match o {
                Opening::Unbox { boxes, indices, local } => {
                    body = self.close_local(local, body)?;
                    let local = self.local(local).local.clone();
                    let ty = body.ty.clone();
                    Expr::new(ExprKind::Unbox { boxes, indices, local, body }, ty, node)
                }
                Opening::Lift { kind, indices, value } => {
                    let ty = body.ty.clone();
                    Expr::new(ExprKind::Lift { kind, indices, value, body }, ty, node)
                }
            };
        }
        Ok(body)
    }

    /// The indices that stand for parts of a variable.
    fn indices_of_local(&self, var: VarId, out: &mut Vec<IVar>) {
        let lv = self.local(var);
        out.extend(lv.lifted.iter().cloned());
        if let Some((indices, inner)) = &lv.opened {
            out.extend(indices.iter().cloned());
            self.indices_of_local(*inner, out);
        }
    }

    /// Whether an index mentions what stands for parts of the variables.
    pub(super) fn mentions_parts(&self, i: &Index, vars: &[VarId]) -> bool {
        let mut all = Vec::new();
        vars.iter().for_each(|v| self.indices_of_local(*v, &mut all));
        let shape = match i {
            Index::Dim(d) => Shape::of_dims([d.clone()]),
            Index::Shape(s) => s.clone(),
        };
        let ty = ArrTy::new(AtomTy::INT, shape);
        all.iter().any(|v| mentions(&ty, v))
    }

    /// Boxes what the scopes of several variables hide, all at once, before they end one by one.
    pub(super) fn hide(&mut self, vars: &[VarId], body: Expr) -> Check<Expr> {
        let mut all = Vec::new();
        vars.iter().for_each(|v| self.indices_of_local(*v, &mut all));
        if all.is_empty() { Ok(body) } else { self.rebox(body, &all) }
    }

    /// Ends the scope of a variable: what was opened of it wraps the body, which mentions none of it
    /// any more.
    pub(super) fn close_local(&mut self, var: VarId, body: Expr) -> Check<Expr> {
        let mut body = self.hide(&[var], body)?;
        let lv = self.local(var).clone();
        let node = body.node;
        if let Some((indices, inner)) = lv.opened {
            body = self.close_local(inner, body)?;
            let ty = body.ty.clone();
            let local = self.local(inner).local.clone();
            let boxes = Expr::var(&lv.local, node);
            body = Expr::new(ExprKind::Unbox { boxes, indices, local, body }, ty, node);
        }
        if let Some(w) = lv.lifted {
            let ty = body.ty.clone();
            let value = Expr::var(&lv.local, node);
            body = Expr::new(
                ExprKind::Lift { kind: LiftKind::Integer, indices: vec![w], value, body },
                ty,
                node,
            );
        }
        Ok(body)
    }

    /// Ends one part of the scope of several variables: what is opened of them in the next part is opened anew.
    pub(super) fn close_part(&mut self, vars: &[VarId], body: Expr) -> Check<Expr> {
        let mut body = self.hide(vars, body)?;
        for v in vars.iter().rev() {
            body = self.close_local(*v, body)?;
            let local = &mut self.locals[v.0 as usize];
            (local.opened, local.lifted) = (None, None);
        }
        Ok(body)
    }

    /// Boxes a result that mentions any of the indices, which go out of scope.
    pub(super) fn rebox(&mut self, e: Expr, indices: &[IVar]) -> Check<Expr> {
        self.rebox_as(e, indices, Hiding::Sizes)
    }

    /// The same of an index that a person named: the box hides that very index.
    pub(super) fn rebox_by_name(&mut self, e: Expr, indices: &[IVar]) -> Check<Expr> {
        self.rebox_as(e, indices, Hiding::Names)
    }

    fn rebox_as(&mut self, mut e: Expr, indices: &[IVar], hiding: Hiding) -> Check<Expr> {
        self.settle_or_report()?;
        let mut ty = self.s.zonk(&e.ty);
        if ty.shape.items().iter().any(|i| matches!(i, ShapeItem::Var(ShapeVar::Meta(_)))) {
            self.decide_bare_beside(indices)?;
            let depth = self.s.depth;
            self.decide_stuck(depth)?;
            ty = self.s.zonk(&e.ty);
        }
        let mut hidden: Vec<_> = indices.iter().filter(|v| mentions(&ty, v)).cloned().collect();
        if hidden.is_empty() {
            return Ok(Expr { ty, ..e });
        }
        // What was boxed again before is hidden by one box with what is hidden now.
        if self.is_reboxed(&ty) && may_widen(&e) {
            return self.widen(e, &hidden);
        }
        // The components of `(values …)` are boxed one by one.
        match *e.kind {
            ExprKind::Tuple(parts) => {
                let parts: Vec<Expr> =
                    parts.into_iter().map(|p| self.rebox_as(p, &hidden, hiding)).collect::<Check<_>>()?;
                let AtomTy::Tuple(old) = &ty.atom else { return Err(Reported) };
                let labels = old.fields.iter().map(|(l, _)| l.clone());
                let atom = AtomTy::tuple(labels.zip(parts.iter().map(|p| p.ty.clone())).collect());
                return Ok(Expr::new(ExprKind::Tuple(parts), ArrTy::scalar(atom), e.node));
            }
            ExprKind::Let { local, value, body } if matches!(ty.atom, AtomTy::Tuple(_)) => {
                let body = self.rebox_as(body, &hidden, hiding)?;
                let ty = body.ty.clone();
                return Ok(Expr::new(ExprKind::Let { local, value, body }, ty, e.node));
            }
            kind => e.kind = Box::new(kind),
        }
        // A hidden index that is a dim by itself is hidden by name; else the sizes that mention it are
        // hidden as they are: what is left of `[int (+ n m)]` is `(Σ (k) [int k])`.
        let mut dims = Vec::new();
        dims_of(&ty, &mut dims);
        hidden.sort_by_key(|v| dims.iter().position(|d| dim_mentions(d, v)));
        let mut params: Vec<IVar> = Vec::new();
        let mut witnesses: Vec<Index> = Vec::new();
        let mut replaced: Vec<(Dim, Dim)> = Vec::new();
        let mut s = Subst::new();
        for v in hidden {
            let of_v: Vec<Dim> = dims.iter().filter(|d| dim_mentions(d, &v)).cloned().collect();
            let whole = v.sort == Sort::Shape
                || hiding == Hiding::Names && of_v.iter().all(Dim::is_never_negative)
                || of_v.is_empty()
                || deep_mention(&ty, &v)
                || of_v.iter().any(|d| d.as_var() == Some(&DimVar::Rigid(v.clone())));
            if whole {
                let p = self.s.fresh_ivar(v.sort, &another(v.name.as_str(), &params), 0);
                s.bind_index(&v, p.clone().into());
                params.push(p);
                witnesses.push(Index::from(v));
            } else {
                for d in of_v {
                    if !replaced.iter().any(|(old, _)| *old == d) {
                        let p = self.s.fresh_ivar(Sort::Dim, &another(v.name.as_str(), &params), 0);
                        replaced.push((d.clone(), Dim::rigid(p.clone())));
                        params.push(p);
                        witnesses.push(Index::Dim(d));
                    }
                }
            }
        }
        self.reboxed.extend(params.iter().map(|p| p.id));
        let hidden_ty = s.arr(&replace_dims(&ty, &replaced));
        let sigma = AtomTy::sigma(params, hidden_ty);
        let node = e.node;
        let value = Expr { ty, ..e };
        Ok(Expr::new(ExprKind::Box { witnesses, value }, ArrTy::scalar(sigma), node))
    }

    /// Whether a type is that of one box that no program wrote.
    fn is_reboxed(&self, ty: &ArrTy) -> bool {
        matches!(&ty.atom, AtomTy::Sigma(s) if ty.shape.is_scalar() && s.params.iter().all(|p| self.reboxed.contains(&p.id)))
    }

    /// Hides more indices by the box that an expression ends in.
    fn widen(&mut self, mut e: Expr, more: &[IVar]) -> Check<Expr> {
        match &mut *e.kind {
            ExprKind::Lift { body, .. } | ExprKind::Unbox { body, .. } | ExprKind::Let { body, .. } => {
                *body = self.widen(body.clone(), more)?;
                e.ty = body.ty.clone();
                Ok(e)
            }
            ExprKind::Box { witnesses, value } => {
                let mut all = more.to_vec();
                witnesses.iter().for_each(|w| rigid_of(self.s.zonk_index(w), &mut all));
                self.rebox(value.clone(), &all)
            }
            _ => Ok(e),
        }
    }
}

/// Whether an expression ends in a box, past what is opened for it.
fn may_widen(e: &Expr) -> bool {
    match &*e.kind {
        ExprKind::Box { .. } => true,
        ExprKind::Lift { body, .. } | ExprKind::Let { body, .. } => may_widen(body),
        ExprKind::Unbox { boxes, body, .. } => boxes.ty.shape.is_scalar() && may_widen(body),
        _ => false,
    }
}

/// The variables that an index mentions.
fn rigid_of(i: Index, out: &mut Vec<IVar>) {
    let shape = match i {
        Index::Dim(d) => Shape::of_dims([d]),
        Index::Shape(s) => s,
    };
    let mut found: Vec<&ShapeVar> = Vec::new();
    for item in shape.items() {
        match item {
            ShapeItem::Var(v) => found.push(v),
            ShapeItem::Dim(d) => d.vars().for_each(|v| match v {
                DimVar::Rigid(w) if !out.contains(w) => out.push(w.clone()),
                DimVar::RankOf(v) | DimVar::SizeOf(v) => found.push(v),
                _ => {}
            }),
        }
    }
    for v in found {
        if let ShapeVar::Rigid(w) = v
            && !out.contains(w)
        {
            out.push(w.clone());
        }
    }
}

/// A name like this that none of the indices has, which one box hides.
pub(super) fn another(name: &str, taken: &[IVar]) -> String {
    let free = |n: &String| !taken.iter().any(|v| v.name.as_str() == n);
    let usual = if name.starts_with('@') { &[][..] } else { &["n", "m", "k", "l"][..] };
    let given = std::iter::once(name).chain(usual.iter().copied()).map(String::from);
    given.chain((2..).map(|i| format!("{name}{i}"))).find(free).unwrap_or_default()
}

/// Whether a function type or box inside the type mentions the variable.
fn deep_mention(t: &ArrTy, v: &IVar) -> bool {
    match &t.atom {
        AtomTy::Tuple(q) => q.fields.iter().any(|(_, t)| deep_mention(t, v)),
        a => mentions_in_atom(a, v),
    }
}

fn dim_mentions(d: &Dim, v: &IVar) -> bool {
    d.vars().any(|x| match x {
        DimVar::Rigid(w) | DimVar::RankOf(ShapeVar::Rigid(w)) | DimVar::SizeOf(ShapeVar::Rigid(w)) => w == v,
        _ => false,
    })
}

/// The dims of a type's shapes, outside of functions and inner binders.
fn dims_of(t: &ArrTy, out: &mut Vec<Dim>) {
    out.extend(t.shape.known_dims().cloned());
    if let AtomTy::Tuple(q) = &t.atom {
        q.fields.iter().for_each(|(_, t)| dims_of(t, out));
    }
}

fn replace_dims(t: &ArrTy, replaced: &[(Dim, Dim)]) -> ArrTy {
    let item = |i: &ShapeItem| match i {
        ShapeItem::Dim(d) => {
            ShapeItem::Dim(replaced.iter().find(|(old, _)| old == d).map_or(d, |(_, new)| new).clone())
        }
        v => v.clone(),
    };
    let atom = match &t.atom {
        AtomTy::Tuple(q) => {
            AtomTy::tuple(q.fields.iter().map(|(l, t)| (l.clone(), replace_dims(t, replaced))).collect())
        }
        a => a.clone(),
    };
    ArrTy::new(atom, Shape(t.shape.items().iter().map(item).collect()))
}

/// Whether the type mentions the index variable free.
pub(super) fn mentions(t: &ArrTy, v: &IVar) -> bool {
    t.shape.items().iter().any(|i| match i {
        ShapeItem::Dim(d) => dim_mentions(d, v),
        ShapeItem::Var(ShapeVar::Rigid(w)) => w == v,
        ShapeItem::Var(_) => false,
    }) || mentions_in_atom(&t.atom, v)
}

fn mentions_in_atom(t: &AtomTy, v: &IVar) -> bool {
    match t {
        AtomTy::Base(_) | AtomTy::Var(_) | AtomTy::Meta(_) => false,
        AtomTy::Fn(f) => f.params.iter().chain([&f.ret]).any(|p| mentions(p, v)),
        AtomTy::Forall(q) => mentions(&q.body, v),
        AtomTy::Pi(q) => mentions(&q.body, v),
        AtomTy::Sigma(q) => mentions(&q.body, v),
        AtomTy::Tuple(q) => q.fields.iter().any(|(_, t)| mentions(t, v)),
        AtomTy::Quot(q) => mentions_in_atom(q, v),
    }
}
