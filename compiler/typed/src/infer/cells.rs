//! Applications over cells that are given: λ in operator position, rerank, `let` with a rank, `Val`
//! arguments over a frame, η-expansion. Each becomes a λ of the cells, applied.

use super::apply::{Slot, Source};
use super::instance::Operator;
use super::polymorphic::is_polymorphic;
use super::*;
use crate::codes;
use crate::ir::{Arg, ExprKind, LiftKind};
use remc_syntax::ast::{self, Annotation, Rank};

/// An argument cut into cells of type `cell` over `frame`.
pub(super) struct Cut {
    name: Name,
    arg: Typed,
    cell: ArrTy,
    frame: Shape,
}

/// What makes a size of a number with a fraction.
const ROUND: &str = "say how to round: (float->int (round e)) or (float->int (floor e))";

impl Checker<'_> {
    /// `((λ (x …) body) arg …)`: the arguments come first and flow into the parameters.
    pub(super) fn apply_lambda(
        &mut self,
        node: NodeId,
        params: &[ast::Param],
        ret: Option<&ast::TypeExpr>,
        body: &ast::Expr,
        args: &[ast::Expr],
    ) -> Check<Typed> {
        let done: Vec<_> = args.iter().map(|a| self.demanding(false, |c| c.infer(a, None))).collect();
        let done: Vec<Typed> = done.into_iter().collect::<Check<_>>()?;
        self.openings.push(Vec::new());
        let result = self.deeper(|c| {
            let mut cuts = Vec::new();
            for (p, arg) in params.iter().zip(done) {
                cuts.push(c.cut_by_annotation(p, arg)?);
            }
            c.over_cells(cuts, node, |c, _| c.infer(body, None), ret)
        });
        let openings = self.openings.pop().unwrap_or_default();
        let mut t = result?;
        t.expr = self.close_openings(openings, t.expr)?;
        self.leave(t)
    }

    pub(super) fn cut_by_annotation(&mut self, p: &ast::Param, arg: Typed) -> Check<Cut> {
        match &p.ann {
            Annotation::None | Annotation::All => {
                Ok(Cut { name: p.name.clone(), cell: arg.expr.ty.clone(), arg, frame: Shape::scalar() })
            }
            Annotation::Rank(r) => self.cut_at_rank(&p.name, arg, *r, p.id),
            Annotation::Type(t) => {
                let cell = match &*t.kind {
                    ast::TypeKind::Stream { item, length } => {
                        self.stream_type(&p.name, t, item, length.as_ref())?
                    }
                    _ => self.param_array_type(t)?,
                };
                let mut arg = arg;
                if self.scalar_box(&arg.expr).is_some() && !matches!(cell.atom, AtomTy::Sigma(_)) {
                    arg = Typed::new(self.open_box(arg.expr));
                }
                let node = arg.expr.node;
                self.s.node = Some(node);
                if let Err(e) = self.s.unify_atom(&cell.atom, &arg.expr.ty.atom) {
                    return self.annotation_mismatch(e, node, p.id);
                }
                // A cell of any shape is the whole argument.
                let frame = match self.is_open(&cell.shape) {
                    true => Shape::scalar(),
                    false => self.s.fresh_shape(true, false, node, None),
                };
                let shape = arg.expr.ty.shape.clone();
                if let Err(e) = self.s.unify_shape(&shape, &frame.concat(&cell.shape)) {
                    return self.annotation_mismatch(e, node, p.id);
                }
                Ok(Cut { name: p.name.clone(), arg, cell, frame: self.s.zonk_shape(&frame) })
            }
        }
    }

    pub(super) fn cut_at_rank(&mut self, name: &Name, mut arg: Typed, rank: u32, at: NodeId) -> Check<Cut> {
        if self.scalar_box(&arg.expr).is_some() && rank > 0 {
            arg = Typed::new(self.open_box(arg.expr));
        }
        let node = arg.expr.node;
        let dims: Vec<_> = (0..rank).map(|_| self.s.fresh_dim(node, None)).collect();
        let cell = Shape::of_dims(dims);
        let frame = self.s.fresh_shape(true, false, node, None);
        let shape = arg.expr.ty.shape.clone();
        self.s.node = Some(node);
        if self.s.unify_shape(&shape, &frame.concat(&cell)).is_err() {
            let shown = self.show(&arg.expr.ty);
            let have = self.s.zonk_shape(&shape).least_rank();
            return self.fail_application(
                Diagnostic::error(
                    codes::RANK_TOO_SMALL,
                    format!("a cell of rank {rank} is wanted, but the argument has rank {have}"),
                )
                .primary(Loc::Node(node), format!("has type `{shown}`"))
                .secondary(Loc::Node(at), format!("cells of rank {rank} are asked for here"))
                .help(format!("ask for rank {have} or less, or `all`")),
            );
        }
        let cell = ArrTy::new(arg.expr.ty.atom.clone(), self.s.zonk_shape(&cell));
        Ok(Cut { name: name.clone(), arg, cell, frame: self.s.zonk_shape(&frame) })
    }

    /// A λ of the cells, applied over the frames. The caller has entered a scope.
    pub(super) fn over_cells(
        &mut self,
        cuts: Vec<Cut>,
        node: NodeId,
        build: impl FnOnce(&mut Self, Vec<VarId>) -> Check<Typed>,
        ret: Option<&ast::TypeExpr>,
    ) -> Check<Typed> {
        let mut vars = Vec::new();
        for cut in &cuts {
            let whole = self.s.zonk_shape(&cut.frame).is_scalar();
            let known = if whole { cut.arg.known.clone() } else { None };
            let var = self.new_local(&cut.name, cut.cell.clone(), known);
            let from = self.lifts_of(&cut.arg.expr);
            // Whole, it is a name for the argument, and consumed where it is used; a cell with axes is taken here.
            if !whole && !self.s.zonk_shape(&cut.cell.shape).is_scalar() {
                self.consume(cut.arg.expr.node, &from);
            }
            self.locals[var.0 as usize].lifts = from;
            self.bind_local(&cut.name.clone(), var);
            vars.push(var);
        }
        let inner = vars.clone();
        let body = self.behind_barrier(|c| {
            let t = c.demanding(false, |c| build(c, inner.clone()))?;
            let mut body = c.hide(&inner, t.expr)?;
            for v in inner.iter().rev() {
                body = c.close_local(*v, body)?;
            }
            if let Some(t) = ret {
                let ty = c.param_array_type(t)?;
                c.expect(&body, &ty, t.id)?;
            }
            Ok(body)
        })?;
        let mut lifts = self.lifts_of(&body);
        for (cut, var) in cuts.iter().zip(&vars) {
            if !self.s.zonk_shape(&cut.frame).is_scalar() {
                consumed::extend(&mut lifts, &self.local(*var).lifts);
            }
        }
        self.note_lifts(node, lifts);
        let params: Vec<_> = vars.iter().map(|v| self.local(*v).local.clone()).collect();
        let fn_ty = AtomTy::func(params.iter().map(|p| p.ty.clone()).collect(), body.ty.clone());
        let ret_ty = body.ty.clone();
        let lam = Expr::new(ExprKind::Lam { params, body }, ArrTy::scalar(fn_ty), node);
        let op = Operator::plain(lam.clone());
        let slots: Vec<_> = cuts
            .into_iter()
            .enumerate()
            .map(|(position, c)| Slot {
                param: c.cell,
                node: c.arg.expr.node,
                arg: Some(c.arg),
                frame: c.frame,
                position,
                done: true,
            })
            .collect();
        let frame = self.join_frames(&op, &Shape::scalar(), &slots, node)?;
        self.settle_or_report()?;
        let ty = ret_ty.lifted(&frame);
        let args =
            slots.into_iter().filter_map(|s| Some(Arg { expr: s.arg?.expr, frame: s.frame })).collect();
        Ok(Typed::new(Expr::new(ExprKind::App { func: lam, args, frame }, ty, node)))
    }

    /// `(~(r …)f arg …)`: like a λ with parameters of these ranks; functions and whole arguments are
    /// passed as they stand. The λ is built even where it has no frame, so that the term does not depend on
    /// how much is known when the application is met.
    pub(super) fn apply_reranked(
        &mut self,
        node: NodeId,
        ranks: &[Rank],
        func: &ast::Expr,
        whole: &[ast::Expr],
    ) -> Check<Typed> {
        let args = whole;
        if ranks.len() != args.len() {
            return self.fail_application(
                Diagnostic::error(
                    codes::ARGUMENT_COUNT,
                    format!("the rerank has {} ranks, but there are {} arguments", ranks.len(), args.len()),
                )
                .primary(Loc::Node(node), "one rank for each argument")
                .help("write a rank for each argument, functions included (they have rank 0)"),
            );
        }
        let grouped = self.is_grouped(func, args.len());
        let taken = self.taken(func, args);
        let (ranks, args) = (&ranks[taken..], &args[taken..]);
        self.openings.push(Vec::new());
        let result = self.deeper(|c| {
            let op = match c.head(func, Some(whole))? {
                Some(h) => c.instantiate(h)?,
                None => {
                    let t = c.infer(func, None)?;
                    c.operator(t)?
                }
            };
            let fn_params = match c.s.zonk_atom(&op.expr.ty.atom) {
                AtomTy::Fn(f) => f.params.clone(),
                _ => Vec::new(),
            };
            // A function argument is passed on as it stands, to be checked against its parameter.
            let mut ordinary = fn_params.iter();
            let mut plan = Vec::new();
            for (i, rank) in ranks.iter().enumerate() {
                let is_val = op.vals.iter().any(|(at, _)| *at == i);
                let param = if is_val { None } else { ordinary.next() };
                let param = param.map(|p| c.s.zonk_atom(&p.atom));
                let function =
                    param.as_ref().is_some_and(|p| matches!(p, AtomTy::Fn(_)) || is_polymorphic(p));
                // A rank asks for cells of what is in a box, unless the operator takes boxes.
                let opens = !matches!(param, Some(AtomTy::Sigma(_)));
                plan.push((function, is_val, opens, *rank));
            }
            let mut cuts = Vec::new();
            let mut sources: Vec<Result<&ast::Expr, usize>> = Vec::new();
            for ((function, is_val, opens, rank), arg) in plan.into_iter().zip(args) {
                // An array of them is data, each of whose cells is one.
                if function && !(rank == Rank::Of(0) && c.holds_functions(arg)) {
                    sources.push(Ok(arg));
                    continue;
                }
                let mut t = c.demanding(is_val, |c| c.infer(arg, None))?;
                if opens && rank != Rank::All {
                    c.single_box(&t.expr);
                }
                if opens && rank == Rank::Of(0) && c.scalar_box(&t.expr).is_some() {
                    t = Typed::new(c.open_box(t.expr));
                }
                let cut = match rank {
                    Rank::All => {
                        Cut { name: Name::new("x"), cell: t.expr.ty.clone(), arg: t, frame: Shape::scalar() }
                    }
                    Rank::Of(r) => c.cut_at_rank(&Name::new("x"), t, r, node)?,
                };
                sources.push(Err(cuts.len()));
                cuts.push(cut);
            }
            // Functions alone have no cells.
            if cuts.is_empty() {
                let sources = sources.into_iter().flatten().map(Source::Ast).collect();
                return c.deeper(|c| {
                    c.raise(&op);
                    c.apply(op, sources, node)
                });
            }
            // Mistakes in the cells are shown at the arguments that they are of.
            let nodes: Vec<NodeId> = cuts.iter().map(|c| c.arg.expr.node).collect();
            c.over_cells(
                cuts,
                node,
                |c, vars| {
                    let sources = sources
                        .into_iter()
                        .map(|s| match s {
                            Ok(e) => Source::Ast(e),
                            Err(i) => Source::Done(c.var(vars[i], nodes[i])),
                        })
                        .collect();
                    c.deeper(|c| {
                        c.raise(&op);
                        match grouped {
                            true => c.apply_grouped(node, func, Some(op), sources),
                            false => c.apply(op, sources, node),
                        }
                    })
                },
                None,
            )
        });
        let openings = self.openings.pop().unwrap_or_default();
        let mut t = result?;
        if !openings.is_empty() {
            t.known = None;
            t.expr = self.close_openings(openings, t.expr)?;
        }
        self.leave(t)
    }

    pub(super) fn var(&mut self, v: VarId, node: NodeId) -> Typed {
        let lv = self.local(v);
        Typed { known: lv.known.clone(), ..Typed::new(Expr::var(&lv.local, node)) }
    }

    /// `~(r …)f` as a value: the λ it abbreviates.
    pub(super) fn rerank_value(&mut self, node: NodeId, ranks: &[Rank], func: &ast::Expr) -> Check<Typed> {
        self.deeper(|c| {
            let vars: Vec<_> = ranks
                .iter()
                .map(|r| {
                    let atom = c.s.fresh_atom(None, node);
                    let shape = match r {
                        Rank::All => c.s.fresh_shape(false, false, node, None),
                        Rank::Of(r) => {
                            Shape::of_dims((0..*r).map(|_| c.s.fresh_dim(node, None)).collect::<Vec<_>>())
                        }
                    };
                    c.new_local(&Name::new("x"), ArrTy::new(atom, shape), None)
                })
                .collect();
            let op = match c.head(func, None)? {
                Some(h) => c.instantiate(h)?,
                None => {
                    let t = c.infer(func, None)?;
                    c.operator(t)?
                }
            };
            // Functions among the parameters have the type the operator says.
            if let AtomTy::Fn(f) = c.s.zonk_atom(&op.expr.ty.atom)
                && f.params.len() == vars.len()
            {
                for (v, p) in vars.iter().zip(&f.params) {
                    let (local, p) = (c.local(*v).local.ty.clone(), c.s.zonk(p));
                    let function = matches!(p.atom, AtomTy::Fn(_)) || is_polymorphic(&p.atom);
                    if function && local.shape.is_scalar() {
                        let _ = c.s.unify(&local, &p);
                    }
                }
            }
            c.lambda_of(vars, node, |c, vars| {
                let sources = vars.iter().map(|v| Source::Done(c.var(*v, node))).collect();
                c.deeper(|c| {
                    c.raise(&op);
                    c.apply(op, sources, node)
                })
            })
        })
    }

    /// The λ of variables that are made already.
    pub(super) fn lambda_of(
        &mut self,
        vars: Vec<VarId>,
        node: NodeId,
        build: impl FnOnce(&mut Self, &[VarId]) -> Check<Typed>,
    ) -> Check<Typed> {
        // The parameters' types belong to the outside: a size that is opened inside is deeper.
        self.s.depth += 1;
        for v in &vars {
            self.locals[v.0 as usize].depth = self.s.depth;
        }
        let body = self.behind_barrier(|c| {
            let body = c.demanding(false, |c| build(c, &vars))?.expr;
            let mut body = c.hide(&vars, body)?;
            for v in vars.iter().rev() {
                body = c.close_local(*v, body)?;
            }
            Ok(body)
        });
        self.s.depth -= 1;
        let body = self.leave(Typed::new(body?))?.expr;
        let params: Vec<_> = vars.iter().map(|v| self.local(*v).local.clone()).collect();
        let ty = AtomTy::func(params.iter().map(|p| p.ty.clone()).collect(), body.ty.clone());
        Ok(Typed::new(Expr::new(ExprKind::Lam { params, body }, ArrTy::scalar(ty), node)))
    }

    /// A function with `Val` parameters as a value: they become `int` parameters, opened inside.
    pub(super) fn eta_expand_vals(&mut self, op: Operator) -> Check<Typed> {
        let node = op.node;
        self.deeper(|c| {
            let ordinary = match c.s.zonk_atom(&op.expr.ty.atom) {
                AtomTy::Fn(f) => f.params.clone(),
                _ => Vec::new(),
            };
            let mut ordinary = ordinary.into_iter();
            let total = ordinary.len() + op.vals.len();
            let vars: Vec<_> = (0..total)
                .map(|i| {
                    let ty = match op.vals.iter().find(|(at, _)| *at == i) {
                        Some((_, Index::Dim(_))) => ArrTy::base(BaseTy::I64),
                        Some((_, Index::Shape(s))) => {
                            let rank = c.s.zonk_shape(s);
                            let n = match rank.dims() {
                                Some(d) => Dim::constant(d.len() as i128),
                                None => c.s.fresh_dim(node, None),
                            };
                            ArrTy::new(AtomTy::INT, Shape::of_dims([n]))
                        }
                        // The parameter's own sizes: what the instance inside needs of them is checked.
                        None => {
                            let p = ordinary.next().unwrap_or(ArrTy::base(BaseTy::I64));
                            let shape = c.s.zonk_shape(&p.shape);
                            let items = shape.items().iter().flat_map(|i| match i {
                                ShapeItem::Dim(_) => vec![ShapeItem::Dim(c.s.fresh_dim(node, None))],
                                ShapeItem::Var(_) => c.s.fresh_shape(false, false, node, None).0,
                            });
                            let items = items.collect();
                            ArrTy::new(p.atom, Shape(items))
                        }
                    };
                    let name = op.params.get(i).cloned().unwrap_or(Name::new("x"));
                    c.new_local(&name, ty, None)
                })
                .collect();
            c.lambda_of(vars, node, |c, vars| {
                let sources = vars.iter().map(|v| Source::Done(c.var(*v, node))).collect();
                c.deeper(|c| {
                    c.raise(&op);
                    c.apply(op, sources, node)
                })
            })
        })
    }

    /// The index that a `Val` argument stands for; `None` if the argument has a frame. A vector whose length nothing
    /// says has `rank` sizes.
    pub(super) fn val_argument(
        &mut self,
        want: &Index,
        rank: Option<usize>,
        source: Source,
        op: &Operator,
    ) -> Check<(Option<Index>, Typed)> {
        let node = source.node();
        if let (Index::Shape(_), Source::Ast(e)) = (want, &source)
            && let ast::ExprKind::Bracket(items) = &*e.kind
            && let Some(shape) = self.shape_bracket(items, op)?
        {
            let t = self.reified(Index::Shape(shape.clone()), node);
            return Ok((Some(Index::Shape(shape)), t));
        }
        let mut t = match source {
            Source::Ast(e) => self.demanding(matches!(want, Index::Dim(_)), |c| c.infer(e, None))?,
            Source::Done(t) => self.demanded(t)?,
        };
        if self.scalar_box(&t.expr).is_some() {
            t = Typed::new(self.open_box(t.expr));
        }
        if self.s.unify_atom(&AtomTy::INT, &t.expr.ty.atom).is_err() {
            let shown = self.show(&t.expr.ty);
            return self.fail_application(
                Diagnostic::error(
                    codes::NOT_AN_INDEX,
                    format!("`{}` takes an int here, to be a size", op.name),
                )
                .primary(Loc::Node(node), format!("has type `{shown}`"))
                .help(match self.s.zonk_atom(&t.expr.ty.atom) {
                    AtomTy::Meta(_) => ROUND,
                    AtomTy::Base(b) if b.is_float() => ROUND,
                    AtomTy::Base(b) if b.is_in(Class::Int) => "convert it: (cast int e)",
                    _ => "a size is a number of items: an int",
                }),
            );
        }
        let mut shape = self.s.zonk_shape(&t.expr.ty.shape);
        if self.is_open_rank(&shape) {
            // The least rank that fits: a vector of sizes, or a single one.
            let least = match want {
                Index::Shape(_) => Shape::of_dims([self.s.fresh_dim(node, None)]),
                Index::Dim(_) => Shape::scalar(),
            };
            let _ = self.s.unify_shape(&shape, &least);
            shape = self.s.zonk_shape(&shape);
        }
        match (want, &t.known) {
            (Index::Dim(_), Some(Index::Dim(_))) | (Index::Shape(_), Some(Index::Shape(_))) => {
                return Ok((t.known.clone(), t));
            }
            _ => {}
        }
        match want {
            Index::Dim(_) if shape.is_scalar() => {
                let w = self.lift_here(LiftKind::Natural, 1, t.expr.clone());
                Ok((Some(Index::Dim(Dim::rigid(w[0].clone()))), t))
            }
            Index::Shape(_) if shape.items().len() == 1 => {
                let ShapeItem::Dim(n) = &shape.items()[0] else { return Ok((None, t)) };
                let mut n = n.clone();
                if let (Some(rank), Some(DimVar::Meta(_))) = (rank, n.as_var()) {
                    let _ = self.s.unify_dim(&n, &Dim::constant(rank as i128));
                    n = self.s.zonk_dim(&n);
                }
                let count = n.as_constant().and_then(|c| usize::try_from(c).ok()).filter(|c| *c <= 64);
                let found = match count {
                    Some(r) => {
                        let ws = self.lift_here(LiftKind::Dims, r, t.expr.clone());
                        Shape::of_dims(ws.into_iter().map(Dim::rigid))
                    }
                    None => Shape::rigid(self.lift_here(LiftKind::Shape, 1, t.expr.clone())[0].clone()),
                };
                Ok((Some(Index::Shape(found)), t))
            }
            Index::Shape(_) if shape.is_scalar() => self.fail_application(
                Diagnostic::error(
                    codes::NOT_AN_INDEX,
                    format!("`{}` takes a vector of sizes here, one for each axis", op.name),
                )
                .primary(Loc::Node(node), "a single number")
                .help("write it in brackets, as a vector of one size; where a rerank passes it on, give it the rank 1"),
            ),
            _ => Ok((None, t)),
        }
    }

    /// An inferred variable under demand: its index, if it is a run-time int.
    fn demanded(&mut self, t: Typed) -> Check<Typed> {
        match (&*t.expr.kind, &t.known) {
            (ExprKind::Var(v), None) => {
                let (v, node) = (*v, t.expr.node);
                self.demanding(true, |c| c.use_local(v, node))
            }
            _ => Ok(t),
        }
    }

    /// `[2 n @s (length xs)]` as a shape: every element is a number; `None` for a bracket of brackets.
    fn shape_bracket(&mut self, items: &[ast::Expr], op: &Operator) -> Check<Option<Shape>> {
        if items.iter().any(|i| matches!(&*i.kind, ast::ExprKind::Bracket(_))) {
            return Ok(None);
        }
        let mut shape = Shape::scalar();
        for item in items {
            if let ast::ExprKind::Var(name) = &*item.kind
                && name.is_at()
            {
                match self.find_index(name) {
                    Some(Index::Shape(s)) => shape.0.extend(s.0),
                    _ => return self.unknown_name(name, item.id),
                }
                continue;
            }
            let dim = Index::Dim(Dim::zero());
            match self.val_argument(&dim, None, Source::Ast(item), op)? {
                (Some(Index::Dim(d)), _) => {
                    if let Some(c) = d.as_constant()
                        && c < 0
                    {
                        return self.fail(
                            Diagnostic::error(
                                codes::NEGATIVE_DIM,
                                format!("a size of {c}; no array has a negative number of items"),
                            )
                            .primary(Loc::Node(item.id), "negative"),
                        );
                    }
                    shape.0.push(ShapeItem::Dim(d));
                }
                (Some(Index::Shape(s)), _) => shape.0.extend(s.0),
                (None, _) => return Ok(None),
            }
        }
        Ok(Some(shape))
    }

    /// A `Val` argument is an array of sizes: apply for each, giving boxes.
    pub(super) fn apply_vals_over_frame(
        &mut self,
        op: Operator,
        slots: Vec<Slot>,
        sources: Vec<Option<Source>>,
        vals: Vec<(usize, Typed)>,
        node: NodeId,
    ) -> Check<Typed> {
        let total = slots.len() + vals.len();
        let mut cuts: Vec<(usize, Cut)> = Vec::new();
        let mut functions: Vec<(usize, &ast::Expr)> = Vec::new();
        for (slot, source) in slots.into_iter().zip(sources) {
            match (slot.arg, source) {
                (Some(arg), _) => {
                    let name = Name::new("x");
                    // As without the frame: what the operator takes of any shape is one cell, whole.
                    let rank = self.s.zonk_shape(&slot.param.shape).dims().map(|dims| dims.len() as u32);
                    let axes = self.s.zonk_shape(&arg.expr.ty.shape).dims().map(|dims| dims.len() as u32);
                    let cut = match rank {
                        Some(rank) if axes > Some(rank) => self.cut_at_rank(&name, arg, rank, node)?,
                        _ => Cut { name, cell: arg.expr.ty.clone(), arg, frame: Shape::scalar() },
                    };
                    cuts.push((slot.position, cut));
                }
                (None, Some(Source::Ast(e))) if self.holds_functions(e) => {
                    let arg = self.infer(e, None)?;
                    cuts.push((slot.position, self.cut_at_rank(&Name::new("x"), arg, 0, node)?));
                }
                (None, Some(Source::Ast(e))) => functions.push((slot.position, e)),
                _ => return Err(Reported),
            }
        }
        for (position, arg) in vals {
            let rank = match op.vals.iter().find(|(at, _)| *at == position) {
                Some((_, Index::Shape(_))) => 1,
                _ => 0,
            };
            let name = op.params.get(position).cloned().unwrap_or(Name::new("n"));
            cuts.push((position, self.cut_at_rank(&name, arg, rank, node)?));
        }
        let positions: Vec<usize> = cuts.iter().map(|(p, _)| *p).collect();
        let cuts: Vec<Cut> = cuts.into_iter().map(|(_, c)| c).collect();
        let nodes: Vec<NodeId> = cuts.iter().map(|c| c.arg.expr.node).collect();
        self.deeper(|c| {
            c.over_cells(
                cuts,
                node,
                |c, vars| {
                    let mut sources: Vec<Source> = Vec::new();
                    for i in 0..total {
                        if let Some((_, e)) = functions.iter().find(|(p, _)| *p == i) {
                            sources.push(Source::Ast(e));
                        } else if let Some(k) = positions.iter().position(|p| *p == i) {
                            sources.push(Source::Done(c.var(vars[k], nodes[k])));
                        }
                    }
                    c.deeper(|c| {
                        c.raise(&op);
                        c.apply(op, sources, node)
                    })
                },
                None,
            )
        })
    }
}
