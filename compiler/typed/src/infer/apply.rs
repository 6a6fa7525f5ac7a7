//! Application: instances, frames, cells.
//!
//! In this order (language reference, "Inference"): the operator's type; the arguments that are no
//! functions, whose atom types flow into the operator; function-typed arguments, which fix cell shapes;
//! arguments whose cell has a known rank, which split into frame and cell; last the smallest-frame rule:
//! every argument whose cell still holds an unknown shape is one cell. Then the frames are joined.

use super::instance::Operator;
use super::polymorphic::is_polymorphic;
use super::*;
use crate::ir::{Arg, ExprKind, Fact};
use remc_syntax::ast;

/// An argument: still to be inferred, or inferred already.
pub(super) enum Source<'a> {
    Ast(&'a ast::Expr),
    Done(Typed),
}

impl Source<'_> {
    pub(super) fn node(&self) -> NodeId {
        match self {
            Source::Ast(e) => e.id,
            Source::Done(t) => t.expr.node,
        }
    }
}

/// An ordinary argument in the course of an application.
pub(super) struct Slot {
    pub param: ArrTy,
    pub arg: Option<Typed>,
    pub frame: Shape,
    pub node: NodeId,
    /// Position among all the arguments, from 0.
    pub position: usize,
    /// Whether the frame is decided.
    pub done: bool,
}

impl Checker<'_> {
    pub(super) fn infer_app(&mut self, node: NodeId, func: &ast::Expr, args: &[ast::Expr]) -> Check<Typed> {
        let reported = self.diagnostics.len();
        let result = self.infer_app_form(node, func, args);
        if result.is_err() {
            self.remedy(reported, node, func, args);
        }
        result
    }

    fn infer_app_form(&mut self, node: NodeId, func: &ast::Expr, args: &[ast::Expr]) -> Check<Typed> {
        let reranked = matches!(&*func.kind, ast::ExprKind::Rerank { .. });
        if !reranked && self.is_grouped(func, args.len()) {
            return self.apply_grouped(node, func, None, args.iter().map(Source::Ast).collect());
        }
        match &*func.kind {
            ast::ExprKind::Rerank { ranks, func: inner } => {
                return self.apply_reranked(node, ranks, inner, args);
            }
            ast::ExprKind::Lam { params, ret, body } if params.len() == args.len() => {
                return self.apply_lambda(node, params, ret.as_ref(), body, args);
            }
            _ => {}
        }
        self.in_own_scope(|c| c.apply_in_scope(node, func, args))
    }

    pub(super) fn in_own_scope(&mut self, f: impl FnOnce(&mut Self) -> Check<Typed>) -> Check<Typed> {
        self.s.depth += 1;
        let result = f(self);
        self.s.depth -= 1;
        let t = result?;
        self.leave(t)
    }

    /// Types that double at each step are stopped before they fill the memory.
    pub(super) fn small(&mut self, t: &ArrTy, node: NodeId) -> Check<()> {
        if self.s.is_small(t) {
            return Ok(());
        }
        self.fail(
            Diagnostic::error(crate::codes::TYPE_TOO_LARGE, "the type of this is too large")
                .primary(Loc::Node(node), "has thousands of parts, or a size that is a huge polynomial")
                .help("put the parts of nested tuples into arrays, or pass them one by one"),
        )
    }

    /// Existentials of a finished application's type belong to the enclosing scope.
    pub(super) fn leave(&mut self, t: Typed) -> Check<Typed> {
        self.small(&t.expr.ty, t.expr.node)?;
        let ty = self.s.zonk(&t.expr.ty);
        let depth = self.s.depth;
        if let Err(e) = self.s.sink(&ty, depth) {
            return self.mismatch(e, t.expr.node);
        }
        Ok(t)
    }

    fn apply_in_scope(&mut self, node: NodeId, func: &ast::Expr, args: &[ast::Expr]) -> Check<Typed> {
        let head = match self.head(func, Some(args)) {
            Ok(h) => h,
            Err(e) => {
                // Mistakes in the arguments are independent of the one in the operator, unless it is a form
                // of another language.
                let form =
                    matches!(&*func.kind, ast::ExprKind::Var(n) if errors::elsewhere(n.as_str()).is_some());
                for a in args.iter().filter(|_| !form) {
                    let _ = self.infer(a, None);
                }
                return Err(e);
            }
        };
        let op = match head {
            Some(head) => self.instantiate(head)?,
            None => {
                let t = self.demanding(false, |c| c.infer(func, None))?;
                self.operator(t)?
            }
        };
        let mut op = op;
        if let ast::ExprKind::Var(name) = &*func.kind {
            op.name = name.to_string();
        }
        let taken = self.taken(func, args);
        let args = args[taken..].iter().map(Source::Ast).collect();
        self.apply(op, args, node)
    }

    /// Applies an operator; what has to be opened for it is opened around the application.
    pub(super) fn apply(&mut self, op: Operator, args: Vec<Source>, node: NodeId) -> Check<Typed> {
        self.openings.push(Vec::new());
        let result = self.apply_inner(op, args, node);
        let openings = self.openings.pop().unwrap_or_default();
        let mut t = result?;
        if !openings.is_empty() {
            t.known = None;
            t.expr = self.close_openings(openings, t.expr)?;
        }
        Ok(t)
    }

    fn apply_inner(&mut self, op: Operator, args: Vec<Source>, node: NodeId) -> Check<Typed> {
        let demand = std::mem::replace(&mut self.demand, false);
        let arithmetic = self.is_index_arithmetic(&op);
        let result = self.apply_slots(op, args, node, demand && arithmetic);
        self.demand = demand;
        result
    }

    /// The name of an operator that is the prelude's, and not a program's own of that name.
    pub(super) fn in_prelude<'o>(&self, op: &'o Operator) -> Option<&'o Name> {
        let g = op.global.as_ref()?;
        let theirs = self.env.prelude(&g.name)?;
        matches!(theirs, crate::scheme::Resolved::Value { global, .. } if global == *g).then_some(&g.name)
    }

    /// `+`, `-` and `*` of the prelude on known numbers are known.
    fn is_index_arithmetic(&self, op: &Operator) -> bool {
        self.in_prelude(op).is_some_and(|name| matches!(name.as_str(), "+" | "-" | "*"))
    }

    fn apply_slots(&mut self, op: Operator, args: Vec<Source>, node: NodeId, demand: bool) -> Check<Typed> {
        let left_out = op.explicit && args.len() == self.arity(&op) - op.vals.len();
        let use_vals = !op.vals.is_empty() && !left_out;
        let mut args = args;
        let op_ty = self.s.zonk(&op.expr.ty);
        let (params, ret, op_frame) = match &op_ty.atom {
            AtomTy::Fn(f) => (f.params.clone(), f.ret.clone(), op_ty.shape.clone()),
            // A function of `Val` parameters alone is its result.
            _ if use_vals => (Vec::new(), op_ty.clone(), Shape::scalar()),
            AtomTy::Meta(_) => {
                let done = self.infer_all(args, false)?;
                let params: Vec<_> = done.iter().map(|t| t.expr.ty.clone()).collect();
                let atom = self.s.fresh_atom(None, node);
                let shape = self.s.fresh_result_shape(node);
                let ret = ArrTy::new(atom, shape);
                let want = ArrTy::scalar(AtomTy::func(params.clone(), ret.clone()));
                if let Err(e) = self.s.unify(&op.expr.ty, &want) {
                    return self.mismatch(e, op.node);
                }
                args = done.into_iter().map(Source::Done).collect();
                (params, ret, Shape::scalar())
            }
            _ if self.scalar_box(&op.expr).is_some() => {
                let opened = self.open_box(op.expr.clone());
                return self.apply_slots(Operator { expr: opened, ..op }, args, node, demand);
            }
            _ => return self.not_a_function(&op, &op_ty),
        };
        let total = params.len() + if use_vals { op.vals.len() } else { 0 };
        if args.len() != total {
            return self.wrong_count(&op, total, args.len(), node);
        }

        // Split the arguments into `Val` ones and ordinary ones.
        let mut slots: Vec<Slot> = Vec::new();
        let mut sources: Vec<Option<Source>> = Vec::new();
        let mut vals: Vec<(Index, Source, usize)> = Vec::new();
        let mut params = params.into_iter();
        for (position, source) in args.into_iter().enumerate() {
            if use_vals && let Some((_, index)) = op.vals.iter().find(|(at, _)| *at == position) {
                vals.push((index.clone(), source, position));
                continue;
            }
            let Some(param) = params.next() else { break };
            let node = source.node();
            slots.push(Slot { param, arg: None, frame: Shape::scalar(), node, position, done: false });
            sources.push(Some(source));
        }

        // 1. Arguments that are no functions; their atom types flow into the operator.
        let mut failed = false;
        for (slot, source) in slots.iter_mut().zip(&mut sources) {
            // An array of functions is data, like any array.
            let atom = self.s.zonk_atom(&slot.param.atom);
            let function = (matches!(atom, AtomTy::Fn(_)) || is_polymorphic(&atom))
                && self.s.zonk_shape(&slot.param.shape).is_scalar();
            if function && matches!(source, Some(Source::Ast(_))) {
                continue;
            }
            let Some(source) = source.take() else { continue };
            match self.source(source, Some(&slot.param), demand) {
                Ok(t) => slot.arg = Some(t),
                Err(Reported) => failed = true,
            }
        }
        if failed {
            for source in sources.into_iter().flatten() {
                if let Source::Ast(e) = source
                    && !matches!(&*e.kind, ast::ExprKind::Lam { .. })
                {
                    let _ = self.infer(e, None);
                }
            }
            return Err(Reported);
        }
        // A `Val` argument over a frame: apply per cell.
        let mut indices = Vec::new();
        let mut lifted = false;
        let mut done_vals = Vec::new();
        for (index, source, position) in vals {
            let rank = self.rank_wanted(&index, &op, &slots);
            let (found, t) = self.val_argument(&index, rank, source, &op)?;
            lifted |= found.is_none();
            indices.push((index, found));
            done_vals.push((position, t));
        }
        if lifted {
            return self.apply_vals_over_frame(op, slots, sources, done_vals, node);
        }
        for (want, found) in indices {
            let Some(found) = found else { continue };
            let found = self.whole_axes(&op, &slots, found);
            let fits = match (&want, &found) {
                (Index::Dim(p), Index::Dim(q)) => self.s.unify_dim(p, q),
                (Index::Shape(p), Index::Shape(q)) => self.s.unify_shape(p, q),
                _ => Ok(()),
            };
            if let Err(e) = fits {
                return self.index_mismatch(&op, e, node);
            }
        }
        self.permuted_axes(&op, node)?;
        for i in 0..slots.len() {
            self.flow_atom(&mut slots, i, &op)?;
        }

        self.goes_on_with_boxes(&slots, &sources);

        // 2. Function-typed arguments fix cell shapes.
        let mut grows = None;
        for (slot, source) in slots.iter_mut().zip(&mut sources) {
            let Some(Source::Ast(e)) = source.take() else { continue };
            if is_polymorphic(&self.s.zonk_atom(&slot.param.atom)) {
                match self.infer(e, Some(&slot.param)) {
                    Ok(t) => slot.arg = Some(t),
                    Err(Reported) => failed = true,
                }
                continue;
            }
            match self.function_argument(e, &slot.param.clone(), &op, slot.position) {
                Ok((t, frame)) => {
                    if errors::goes_on(&op.name) && !typed(e) && self.only_empty(&slot.param) {
                        grows = Some((t.expr.node, slot.position));
                    }
                    slot.arg = Some(t);
                    slot.frame = frame;
                    slot.done = true;
                }
                Err(Reported) => failed = true,
            }
        }
        if failed {
            return Err(Reported);
        }
        let reported = self.diagnostics.len();
        let grows = grows.map(|(lambda, position)| (lambda, position, op.clone()));
        let result = self.cells_and_frame(op, slots, op_frame, ret, node);
        if let (Err(Reported), Some((lambda, position, op))) = (&result, grows) {
            // What does not fit is not empty: the function is to blame.
            self.diagnostics.truncate(reported);
            return self.result_grows(lambda, &op, position);
        }
        result
    }

    /// The rest of an application, when what its functions decide is decided.
    fn cells_and_frame(
        &mut self,
        op: Operator,
        mut slots: Vec<Slot>,
        op_frame: Shape,
        ret: ArrTy,
        node: NodeId,
    ) -> Check<Typed> {
        // 3. Cells of known rank, as long as there are any; 4. the smallest frame for all the rest.
        loop {
            let mut progress = false;
            for i in 0..slots.len() {
                if !slots[i].done && !self.is_open(&slots[i].param.shape) {
                    self.split(&mut slots, i, &op, false)?;
                    slots[i].done = true;
                    progress = true;
                }
            }
            if !progress {
                break;
            }
        }
        for i in 0..slots.len() {
            if !slots[i].done {
                self.split(&mut slots, i, &op, true)?;
            }
        }
        self.finish_application(op, slots, op_frame, ret, node)
    }

    /// Whether a function takes only empty arrays, by its type alone.
    fn only_empty(&self, f: &ArrTy) -> bool {
        let ty = self.s.zonk(f);
        let empty = |t: &ArrTy| {
            let mut dims = t.shape.items().iter();
            dims.any(|i| matches!(i, ShapeItem::Dim(d) if d.as_constant() == Some(0)))
        };
        ty.as_fn().is_some_and(|f| empty(&f.ret) && f.params.iter().any(empty))
    }

    /// Whether the shape still holds an unknown shape.
    pub(super) fn is_open(&self, s: &Shape) -> bool {
        !self.unsolved_in(s).is_empty()
    }

    fn arity(&self, op: &Operator) -> usize {
        let n = match self.s.zonk_atom(&op.expr.ty.atom) {
            AtomTy::Fn(f) => f.params.len(),
            _ => 0,
        };
        n + op.vals.len()
    }

    pub(super) fn source(&mut self, s: Source, expected: Option<&ArrTy>, demand: bool) -> Check<Typed> {
        match s {
            Source::Ast(e) => self.demanding(demand, |c| c.infer(e, expected)),
            Source::Done(t) => Ok(t),
        }
    }

    fn infer_all(&mut self, args: Vec<Source>, demand: bool) -> Check<Vec<Typed>> {
        let results: Vec<_> = args.into_iter().map(|a| self.source(a, None, demand)).collect();
        results.into_iter().collect()
    }

    /// Whether it is `subarray` or one of its kin, which take an array, a start and a shape.
    fn takes_part(&self, op: &Operator) -> bool {
        self.in_prelude(op).is_some_and(|name| name.as_str().starts_with("subarray"))
    }

    /// How many sizes a vector of sizes needs, where the operator or its other arguments say it. The shape of a part
    /// has a size for each number of the start, and both one for each axis if the start's length is not known either.
    fn rank_wanted(&self, want: &Index, op: &Operator, slots: &[Slot]) -> Option<usize> {
        let Index::Shape(want) = want else { return None };
        if let Some(dims) = self.s.zonk_shape(want).dims() {
            return Some(dims.len());
        }
        let [xs, start, ..] = slots else { return None };
        let dims = |slot: &Slot| self.s.zonk_shape(&slot.arg.as_ref()?.expr.ty.shape).dims();
        if !self.takes_part(op) {
            return None;
        }
        match (dims(start)?.as_slice(), dims(xs)) {
            ([length], axes) => match (length.as_constant(), length.as_var()) {
                (Some(length), _) => usize::try_from(length).ok(),
                (None, Some(DimVar::Meta(_))) => Some(axes?.len()),
                _ => None,
            },
            _ => None,
        }
    }

    /// `(subarray a [1 0 2] [2])`: the axes that the shape does not name run to their end.
    fn whole_axes(&self, op: &Operator, slots: &[Slot], found: Index) -> Index {
        let (Index::Shape(given), [xs, start, ..]) = (&found, slots) else { return found };
        let subarray = self.takes_part(op);
        let starts = match start.arg.as_ref().map(|t| &t.known) {
            Some(Some(Index::Shape(s))) => self.s.zonk_shape(s).dims(),
            _ => None,
        };
        let sizes = xs.arg.as_ref().and_then(|t| self.s.zonk_shape(&t.expr.ty.shape).dims());
        let (true, Some(starts), Some(sizes)) = (subarray, starts, sizes) else { return found };
        let mut shape = given.clone();
        for (size, start) in sizes.iter().zip(&starts).skip(given.items().len()) {
            shape.0.push(ShapeItem::Dim(size.sub(start)));
        }
        Index::Shape(shape)
    }

    /// What a λ that ends in `(box …)` goes on from is a box, where the argument for that is one, as in
    /// `(fold (λ (x b) (box (append b [x]))) (box [0]) xs)`: so it is not opened.
    fn goes_on_with_boxes(&mut self, slots: &[Slot], sources: &[Option<Source>]) {
        for (function, source) in slots.iter().zip(sources) {
            let Some(Source::Ast(e)) = source else { continue };
            let (ast::ExprKind::Lam { body, .. }, AtomTy::Fn(f)) =
                (&*e.kind, self.s.zonk_atom(&function.param.atom))
            else {
                continue;
            };
            if !matches!(&*body.end().kind, ast::ExprKind::BoxInfer(_) | ast::ExprKind::Box { .. }) {
                continue;
            }
            let same = |slot: &&Slot| self.s.zonk(&slot.param) == self.s.zonk(&f.ret);
            if let Some(arg) = slots.iter().find(same).and_then(|slot| slot.arg.as_ref())
                && self.scalar_box(&arg.expr).is_some()
            {
                let ty = arg.expr.ty.clone();
                let _ = self.s.unify(&f.ret, &ty);
            }
        }
    }

    /// Whether a scalar box fits the parameter as it is. One of an array of boxes does not where such an array is
    /// wanted. Where a box may be a scalar or have the frame of a parameter without annotation, the first is meant if
    /// it hides more than the parameter's boxes do: `(define (f text) (segments (words text)))` is of one text.
    fn box_fits(&self, param: &ArrTy, arg: &Expr) -> bool {
        let param = self.s.zonk(param);
        let ty = self.s.zonk(&arg.ty);
        let of_boxes = |b: &SigmaTy| matches!(b.body.atom, AtomTy::Sigma(_)) && !b.body.shape.is_scalar();
        match (&param.atom, &ty.atom) {
            (AtomTy::Sigma(_), AtomTy::Sigma(b)) if of_boxes(b) => {
                let deeper = box_depth(&ty.atom) > box_depth(&param.atom);
                match param.shape.least_rank() {
                    // A function of one box of numbers is one of each of the boxes.
                    0 => !deeper || matches!(innermost(&param.atom), AtomTy::Meta(_) | AtomTy::Var(_)),
                    _ => !ty.shape.is_scalar() && !deeper,
                }
            }
            (AtomTy::Sigma(_), _) => true,
            (AtomTy::Meta(_), _) => self.s.class_of(&param.atom).is_none() && param.shape.is_scalar(),
            _ => false,
        }
    }

    /// The atom type of an argument and its parameter are one, except of a scalar box that will open.
    fn flow_atom(&mut self, slots: &mut [Slot], i: usize, op: &Operator) -> Check<()> {
        let Slot { param, arg, .. } = &slots[i];
        let Some(arg) = arg.as_ref().map(|t| &t.expr) else { return Ok(()) };
        if !self.box_fits(param, arg) {
            self.single_box(arg);
        }
        if let Some(b) = self.scalar_box(arg) {
            // Of what is in the box, boxes are known already: a λ that is given them takes them as they are.
            let inner = ArrTy::scalar(b.body.atom.clone());
            let boxes = matches!(inner.atom, AtomTy::Sigma(_)) && !self.box_fits(param, arg);
            if boxes && !b.params.iter().any(|v| super::open::mentions(&inner, v)) {
                let _ = self.s.unify_atom(&param.atom, &inner.atom);
            }
            return Ok(());
        }
        let (have, want) = (arg.ty.atom.clone(), param.atom.clone());
        self.s.node = Some(slots[i].node);
        match self.s.unify_atom(&want, &have) {
            Ok(()) => Ok(()),
            Err(e) => self.argument_atom(e, slots, i, op),
        }
    }

    /// Splits an argument's shape into its frame and the parameter's cell.
    fn split(&mut self, slots: &mut [Slot], i: usize, op: &Operator, smallest: bool) -> Check<()> {
        let param = slots[i].param.clone();
        let opens = |t: &mut Typed| self.scalar_box(&t.expr).is_some() && !self.box_fits(&param, &t.expr);
        if let Some(t) = slots[i].arg.take_if(opens) {
            slots[i].arg = Some(Typed::new(self.open_box(t.expr)));
        }
        let Some(arg) = &slots[i].arg else { return Ok(()) };
        let have = arg.expr.ty.clone();
        self.s.node = Some(slots[i].node);
        if let Err(e) = self.s.unify_atom(&param.atom, &have.atom) {
            return self.argument_atom(e, slots, i, op);
        }
        let shape = self.s.zonk_shape(&have.shape);
        let result = if smallest {
            self.s.unify_shape(&shape, &param.shape)
        } else {
            let bare: Vec<bool> = (shape.items().iter())
                .filter_map(|i| match i {
                    ShapeItem::Var(ShapeVar::Meta(m)) => Some(self.s.meta(*m)),
                    _ => None,
                })
                .filter(|m| matches!(m.kind, solver::MetaKind::Shape { bare: true, .. }))
                .map(|m| m.result)
                .collect();
            let frame = if !bare.is_empty() && bare.iter().all(|result| *result) {
                self.s.fresh_result_shape(slots[i].node)
            } else {
                self.s.fresh_shape(!bare.is_empty(), false, slots[i].node, None)
            };
            slots[i].frame = frame.clone();
            self.s.unify_shape(&shape, &frame.concat(&param.shape))
        };
        match result {
            Ok(()) => Ok(()),
            Err(e) => self.argument_shape(e, slots, i, op, smallest),
        }
    }

    fn finish_application(
        &mut self,
        op: Operator,
        slots: Vec<Slot>,
        op_frame: Shape,
        ret: ArrTy,
        node: NodeId,
    ) -> Check<Typed> {
        let given = slots.iter().filter_map(|s| Some((&s.param, &s.arg.as_ref()?.expr, &s.frame)));
        self.note_frames(&op.expr, given, node);
        let frame = self.join_frames(&op, &op_frame, &slots, node)?;
        self.settle_or_report()?;
        let depth = self.s.depth;
        self.decide_pads(depth)?;
        self.equal_sizes(&op.expr)?;
        let scalar = self.s.zonk_shape(&frame).is_scalar();
        let known = self.known_result(&op, &slots, scalar);
        if scalar
            && op.known.is_some()
            && let Some(k) = &known
        {
            // The value itself stands for the call: sizes are never computed from data.
            let value = self.reified(self.s.zonk_index(k), node);
            return Ok(self.with_checked_sizes(&op.expr, value));
        }
        let ty = ret.lifted(&frame);
        if slots.is_empty() && !matches!(self.s.zonk_atom(&op.expr.ty.atom), AtomTy::Fn(_)) {
            let counts = self.counts(&op);
            return Ok(if counts {
                Typed::new(self.converted(op.expr))
            } else {
                Typed { known, ..Typed::new(op.expr) }
            });
        }
        let args =
            slots.into_iter().filter_map(|s| Some(Arg { expr: s.arg?.expr, frame: s.frame })).collect();
        let counts = self.counts(&op);
        let expr = Expr::new(ExprKind::App { func: op.expr, args, frame }, ty, node);
        Ok(if counts { Typed::new(self.converted(expr)) } else { Typed { known, ..Typed::new(expr) } })
    }

    /// Whether it is `iota` or one of its kin.
    pub(super) fn counts(&self, op: &Operator) -> bool {
        self.in_prelude(op).is_some_and(|name| matches!(name.as_str(), "iota" | "iota/w"))
    }

    /// Ints that are counted where they stand, as numbers of the type that the context wants, as a literal is: no digit
    /// of a person's data is lost. Where they stay ints, [`super::finish`] takes the conversion out.
    pub(super) fn converted(&mut self, ints: Expr) -> Expr {
        let atom = self.s.fresh_number(Class::Num, BaseTy::I64, ints.node);
        let ty = ArrTy::new(atom, ints.ty.shape.clone());
        let node = ints.node;
        Expr::new(ExprKind::Cast(ints), ty, node)
    }

    /// The value of a call that stands for it, such as `(length e)`, where nothing evaluates `e`. So nothing checks that
    /// the sizes of `e`, which the instance of the function has, are none below 0, unless it is done here.
    fn with_checked_sizes(&self, func: &Expr, value: Typed) -> Typed {
        let Typed { mut expr, known, parts } = value;
        let mut at = func;
        let mut args: Vec<&Index> = Vec::new();
        while let ExprKind::IApp { func, .. }
        | ExprKind::TApp { func, .. }
        | ExprKind::Check { body: func, .. } = &*at.kind
        {
            if let ExprKind::IApp { args: more, .. } = &*at.kind {
                args.extend(more);
            }
            at = func;
        }
        let dims = args.into_iter().flat_map(|i| match self.s.zonk_index(i) {
            Index::Dim(d) => vec![d],
            Index::Shape(s) => s.known_dims().cloned().collect(),
        });
        for d in dims.filter(|d| !d.is_never_negative()) {
            let (ty, node) = (expr.ty.clone(), expr.node);
            let (fact, why) = (Fact::NonNegative(d), "a size would be negative".into());
            expr = Expr::new(ExprKind::Check { fact, why, body: expr }, ty, node);
        }
        Typed { expr, known, parts }
    }

    /// Reports a size that has to equal another one and does not, where both are numbers already.
    fn equal_sizes(&mut self, e: &Expr) -> Check<()> {
        match &*e.kind {
            ExprKind::Check { fact: Fact::Equal(p, q), why, body } => {
                let (p, q) = (self.s.zonk_dim(p), self.s.zonk_dim(q));
                if p.as_constant().is_some() && q.as_constant().is_some() && p != q {
                    return self.unequal_sizes(&p, &q, why, e.node);
                }
                self.equal_sizes(body)
            }
            _ => Ok(()),
        }
    }

    /// The value of an application as an index: what a function with a `Val` result says, and arithmetic
    /// on known numbers. Known sizes are added, subtracted and multiplied axis by axis:
    /// `(- (shape image) (shape mask))`.
    fn known_result(&self, op: &Operator, slots: &[Slot], scalar: bool) -> Option<Index> {
        if let Some(k) = &op.known {
            return scalar.then(|| k.clone());
        }
        if !self.is_index_arithmetic(op) {
            return None;
        }
        let [a, b] = slots else { return None };
        let (a, b) = (a.arg.as_ref()?.known.as_ref()?, b.arg.as_ref()?.known.as_ref()?);
        let name = op.global.as_ref()?.name.as_str();
        let combine = |p: &Dim, q: &Dim| {
            let d = match name {
                "+" => p.add(q),
                "-" => p.sub(q),
                _ => p.mul(q),
            };
            d.is_small().then_some(d)
        };
        let axes = |s: &Shape| self.s.zonk_shape(s).dims();
        let (ps, qs) = match (a, b) {
            (Index::Dim(p), Index::Dim(q)) => return combine(p, q).map(Index::Dim),
            (Index::Shape(s), Index::Dim(q)) => {
                let ps = axes(s)?;
                let qs = vec![q.clone(); ps.len()];
                (ps, qs)
            }
            (Index::Dim(p), Index::Shape(s)) => {
                let qs = axes(s)?;
                (vec![p.clone(); qs.len()], qs)
            }
            (Index::Shape(s), Index::Shape(t)) => (axes(s)?, axes(t)?),
        };
        if ps.len() != qs.len() {
            return None;
        }
        let dims: Option<Vec<Dim>> = ps.iter().zip(&qs).map(|(p, q)| combine(p, q)).collect();
        Some(Index::Shape(Shape::of_dims(dims?)))
    }

    pub(super) fn join_frames(
        &mut self,
        op: &Operator,
        op_frame: &Shape,
        slots: &[Slot],
        node: NodeId,
    ) -> Check<Shape> {
        let mut frames: Vec<Shape> = vec![op_frame.clone()];
        frames.extend(slots.iter().map(|s| s.frame.clone()));
        let open: Vec<_> = frames.iter().map(|f| self.s.zonk_shape(f)).filter(|f| !f.is_scalar()).collect();
        match open.as_slice() {
            [] => return Ok(Shape::scalar()),
            [one] => return Ok(one.clone()),
            _ => {}
        }
        let result = self.s.fresh_shape(false, false, node, None);
        self.s.node = Some(node);
        match self.s.join(frames, result.clone()) {
            Ok(()) => Ok(self.s.zonk_shape(&result)),
            Err(e) => self.frames_disagree(e, op, op_frame, slots, node),
        }
    }
}

/// An atom type, what is in it if it is a box, what is in that, and so on.
fn boxes_in(atom: &AtomTy) -> impl Iterator<Item = &AtomTy> {
    std::iter::successors(Some(atom), |t| match t {
        AtomTy::Sigma(b) => Some(&b.body.atom),
        _ => None,
    })
}

/// How many boxes an atom type has one in the other.
fn box_depth(atom: &AtomTy) -> usize {
    boxes_in(atom).count()
}

fn innermost(atom: &AtomTy) -> &AtomTy {
    boxes_in(atom).last().unwrap_or(atom)
}

/// A λ whose parameters have written types: what they say is meant.
fn typed(e: &ast::Expr) -> bool {
    let ast::ExprKind::Lam { params, .. } = &*e.kind else { return false };
    params.iter().any(|p| matches!(p.ann, ast::Annotation::Type(_)))
}
