//! One arm for each form of expression.

use super::polymorphic::{is_polymorphic, is_written_function};
use super::values::is_sizes;
use super::*;
use crate::codes;
use crate::ir::{ExprKind, LiftKind};
use crate::recursion;
use crate::scheme::Resolved;
use remc_syntax::ast::{self, Annotation, ExprKind as A};

/// A vector of more numbers is data, and no shape.
const MOST_KNOWN: usize = 4096;

impl Checker<'_> {
    /// The elaborated expression. `expected` is a hint: the caller still has to compare the type.
    pub(super) fn infer(&mut self, e: &ast::Expr, expected: Option<&ArrTy>) -> Check<Typed> {
        if is_written_function(e)
            && let Some(want) = expected.map(|t| self.s.zonk(t))
            && is_polymorphic(&want.atom)
            && want.shape.is_scalar()
        {
            return self.infer_at_polymorphic(e, &want);
        }
        let opens = matches!(
            &*e.kind,
            A::Bracket(_)
                | A::Array { .. }
                | A::Annot { .. }
                | A::If { .. }
                | A::Lift { .. }
                | A::LetValues { .. }
                | A::Proj { .. }
                | A::Field { .. }
                | A::With { .. }
                | A::AsShape { .. }
                | A::Cast { .. }
        );
        if opens { self.opening(|c| c.infer_form(e, expected)) } else { self.infer_form(e, expected) }
    }

    /// Runs `f`; what it opens is opened around its result.
    pub(super) fn opening(&mut self, f: impl FnOnce(&mut Self) -> Check<Typed>) -> Check<Typed> {
        self.openings.push(Vec::new());
        self.s.depth += 1;
        let result = f(self);
        let openings = self.openings.pop().unwrap_or_default();
        let result = result.and_then(|mut t| {
            if !openings.is_empty() {
                t.known = None;
                t.expr = self.close_openings(openings, t.expr)?;
            }
            Ok(t)
        });
        self.s.depth -= 1;
        self.leave(result?)
    }

    fn infer_form(&mut self, e: &ast::Expr, expected: Option<&ArrTy>) -> Check<Typed> {
        let node = e.id;
        match &*e.kind {
            A::Var(name) => self.infer_name(e, name),
            A::TApp { .. } | A::IApp { .. } => self.infer_instance(e),
            A::Int { value, suffix } => Ok(self.infer_int(*value, *suffix, node)),
            A::Float { value, suffix } => Ok(self.infer_float(value.0, *suffix, node)),
            A::Bool(b) => Ok(self.scalar_literal(Scalar::Bool(*b), node)),
            A::Char(c) => Ok(self.scalar_literal(Scalar::Char(*c), node)),
            A::Str(s) => Ok(self.infer_string(s, node)),
            A::Bracket(es) if es.is_empty() => Ok(self.infer_empty(node, expected)),
            A::Bracket(es) => self.infer_frame(node, vec![es.len() as u64], es, expected),
            A::Array { dims, elems } => self.infer_frame(node, dims.clone(), elems, expected),
            A::EmptyArray { dims, ty } => {
                let dims = self.shape_of(dims)?;
                let elem = self.array_type(ty)?;
                let Some(list) = dims.dims() else {
                    return self.fail(
                        Diagnostic::error(codes::NOT_AN_INDEX, "an empty array is written with its dims")
                            .primary(Loc::Node(node), "the rank is not known"),
                    );
                };
                if !list.iter().any(|d| d.as_constant() == Some(0)) {
                    return self.fail(
                        Diagnostic::error(
                            codes::SIZES,
                            format!(
                                "an array of shape {dims} is not known to be empty, so it needs its elements"
                            ),
                        )
                        .primary(Loc::Node(node), "a type where the elements should be")
                        .help("write the elements, or (replicate …) to repeat one"),
                    );
                }
                let ty = elem.lifted(&dims);
                Ok(Typed::new(Expr::new(ExprKind::Frame { dims: list, elems: vec![] }, ty, node)))
            }
            A::App { func, args } => self.infer_app(node, func, args),
            A::Rerank { ranks, func } => self.rerank_value(node, ranks, func),
            A::Lam { params, ret, body } => {
                let want = expected.map(|t| self.s.zonk(t)).and_then(|t| t.as_fn().cloned());
                let want = want.filter(|f| f.params.len() == params.len());
                self.infer_lambda(node, params, ret.as_ref(), body, want.as_deref())
            }
            A::TLam { .. } | A::ILam { .. } => self.infer_polymorphic(e, None),
            A::Let { bindings, sequential, body } => {
                self.infer_let(node, bindings, *sequential, body, expected)
            }
            A::Annot { expr, ty } => {
                let want = self.array_type(ty)?;
                self.infer_as(expr, &want, ty.id)
            }
            A::If { cond, then, otherwise } => self.infer_if(node, cond, then, otherwise, expected),
            A::Box { witnesses, ty, value } => self.infer_box(node, witnesses, ty, value),
            A::BoxInfer(value) => self.infer_box_by_context(node, value, expected),
            A::Boxes { params, ty, dims, rows } => self.infer_boxes(node, params, ty, dims, rows),
            A::Unbox { opened, body } => self.infer_unbox(node, opened, body),
            A::Lift { index, value, natural, body } => {
                let t = self.demanding(false, |c| c.infer(value, None))?;
                let shaped = index.name.is_at();
                let want = if shaped {
                    let n = self.s.fresh_dim(value.id, None);
                    ArrTy::new(AtomTy::INT, Shape::of_dims([n]))
                } else {
                    ArrTy::base(BaseTy::I64)
                };
                let t = self.unboxed_for(t, &want);
                self.expect(&t.expr, &want, value.id)?;
                self.deeper(|c| {
                    let mut w = c.bind_index_name(&index.name, c.s.depth);
                    w.natural = *natural;
                    if let Some(last) = c.scope.last_mut() {
                        *last = Binding::Index(w.clone().into());
                    }
                    let body = c.behind_barrier(|c| Ok(c.infer(body, expected)?.expr))?;
                    let indices = vec![w];
                    let body = c.rebox_by_name(body, &indices)?;
                    let ty = body.ty.clone();
                    let kind = match (shaped, natural) {
                        (true, _) => LiftKind::Shape,
                        (false, true) => LiftKind::Natural,
                        (false, false) => LiftKind::Integer,
                    };
                    Ok(Typed::new(Expr::new(ExprKind::Lift { kind, indices, value: t.expr, body }, ty, node)))
                })
            }
            A::Values(es) => {
                let hints = match expected.map(|t| self.s.zonk(t)) {
                    Some(ArrTy { atom: AtomTy::Tuple(t), shape })
                        if t.fields.len() == es.len() && shape.is_scalar() =>
                    {
                        t.fields.iter().map(|(_, t)| Some(t.clone())).collect()
                    }
                    _ => vec![None; es.len()],
                };
                let parts: Vec<_> = es.iter().zip(&hints).map(|(e, t)| self.infer(e, t.as_ref())).collect();
                let parts: Vec<Expr> = parts.into_iter().map(|t| t.map(|t| t.expr)).collect::<Check<_>>()?;
                let atom = AtomTy::tuple(parts.iter().map(|p| (None, p.ty.clone())).collect());
                self.small(&ArrTy::scalar(atom.clone()), node)?;
                Ok(Typed::new(Expr::new(ExprKind::Tuple(parts), ArrTy::scalar(atom), node)))
            }
            A::Record(fields) => {
                let parts: Vec<_> = fields.iter().map(|(_, e)| self.infer(e, None)).collect();
                let parts: Vec<Expr> = parts.into_iter().map(|t| t.map(|t| t.expr)).collect::<Check<_>>()?;
                let labels = fields.iter().map(|(l, _)| Some(l.name.clone()));
                let atom = AtomTy::tuple(labels.zip(parts.iter().map(|p| p.ty.clone())).collect());
                self.small(&ArrTy::scalar(atom.clone()), node)?;
                Ok(Typed::new(Expr::new(ExprKind::Tuple(parts), ArrTy::scalar(atom), node)))
            }
            A::LetValues { bindings, body } => self.infer_let_values(node, bindings, body, expected),
            A::Proj { position, tuple } => {
                let t = self.demanding(false, |c| c.infer(tuple, None))?;
                self.component(t, node, Part::Position(*position))
            }
            A::Field { record, label } => {
                let t = self.demanding(false, |c| c.infer(record, None))?;
                self.component(t, node, Part::Label(label.name.clone()))
            }
            A::With { record, fields } => self.infer_with(node, record, fields),
            A::ReifyDim(d) => {
                let d = self.dim(d)?;
                Ok(self.reified(Index::Dim(d), node))
            }
            A::ReifyShape(s) => {
                let s = match self.index(s)? {
                    Index::Shape(s) => s,
                    Index::Dim(d) => Shape::of_dims([d]),
                };
                Ok(self.reified(Index::Shape(s), node))
            }
            A::AsShape { shape, value } => {
                let t = self.infer(value, None)?;
                let t = Typed::new(self.open_any_box(t.expr));
                let shape = self.shape_of(shape)?;
                let ty = ArrTy::new(t.expr.ty.atom.clone(), shape);
                Ok(Typed::new(Expr::new(ExprKind::AsShape(t.expr), ty, node)))
            }
            A::Cast { ty, value } => {
                let atom = self.atom_type(ty)?;
                let t = self.infer(value, None)?;
                let inner = self.open_any_box(t.expr);
                if !matches!(atom, AtomTy::Base(_)) && self.s.require(&atom, Class::Num).is_err() {
                    let shown = self.show_atom(&atom);
                    return self.fail(
                        Diagnostic::error(
                            codes::INSTANCE,
                            format!("cast converts to a base type, or one of numbers, not to `{shown}`"),
                        )
                        .primary(Loc::Node(ty.id), "neither a base type nor a variable of numbers"),
                    );
                }
                let from = self.s.zonk_atom(&inner.ty.atom);
                if !matches!(from, AtomTy::Base(_))
                    && let Err(e) = self.s.require(&from, Class::Num)
                {
                    return self.mismatch(e, inner.node);
                }
                let ty = ArrTy::new(atom, inner.ty.shape.clone());
                Ok(Typed::new(Expr::new(ExprKind::Cast(inner), ty, node)))
            }
            A::Loop { bindings, cond, body } => self.infer_loop(node, bindings, cond, body),
            A::Error => Err(Reported),
        }
    }

    /// The expression at the type that is written at `at`.
    pub(super) fn infer_as(&mut self, e: &ast::Expr, want: &ArrTy, at: NodeId) -> Check<Typed> {
        let t = self.infer(e, Some(want))?;
        let atom = self.s.zonk_atom(&t.expr.ty.atom);
        if let Some(f) = want.as_fn()
            && (matches!(atom, AtomTy::Fn(_)) || is_polymorphic(&atom))
        {
            return Ok(self.fit_function(t, f, e.id, None)?.0);
        }
        let t = self.unboxed_for(t, want);
        self.expect(&t.expr, want, at)?;
        Ok(t)
    }

    /// Opens a scalar box whose contents are wanted.
    fn open_any_box(&mut self, e: Expr) -> Expr {
        self.single_box(&e);
        if self.scalar_box(&e).is_some() { self.open_box(e) } else { e }
    }

    /// Opens a scalar box where `want` is known to be no box.
    pub(super) fn unboxed_for(&mut self, t: Typed, want: &ArrTy) -> Typed {
        let want = self.s.zonk(want);
        let wants_box = matches!(want.atom, AtomTy::Sigma(_) | AtomTy::Meta(_));
        if !wants_box {
            self.single_box(&t.expr);
        }
        if !wants_box && self.scalar_box(&t.expr).is_some() {
            return Typed::new(self.open_box(t.expr));
        }
        t
    }

    fn infer_item(&mut self, e: &ast::Expr, hint: Option<&ArrTy>, wanted: Option<&ArrTy>) -> Check<Typed> {
        match self.boxed_row(e, wanted) {
            Some(row) => self.infer(&row, hint),
            None => self.infer(e, hint),
        }
    }

    /// A written array or text as a box, where one is wanted: `[[1 2] [] [3]]` has three rows of an array of boxes.
    fn boxed_row(&mut self, e: &ast::Expr, wanted: Option<&ArrTy>) -> Option<ast::Expr> {
        let wanted = self.s.zonk(wanted?);
        let (AtomTy::Sigma(sigma), true) = (&wanted.atom, wanted.shape.is_scalar()) else { return None };
        let make = |kind| ast::Expr { id: e.id, kind: Box::new(kind) };
        let value = match &*e.kind {
            A::Bracket(es) if es.is_empty() => {
                let ty = written_type(&sigma.body.atom, e.id)?;
                // The first axis has no items, and those behind it only if they are hidden, too.
                let items = sigma.body.shape.items();
                let dims = items.iter().enumerate().map(|(k, item)| match item {
                    ShapeItem::Dim(d) => {
                        let n = d.as_constant().filter(|_| k > 0).and_then(|n| u64::try_from(n).ok());
                        Some(nat(n.unwrap_or(0), e.id))
                    }
                    _ => None,
                });
                make(A::EmptyArray { dims: dims.collect::<Option<_>>()?, ty })
            }
            A::Bracket(_) | A::Str(_) | A::Array { .. } | A::EmptyArray { .. } => e.clone(),
            _ => return None,
        };
        Some(make(A::BoxInfer(value)))
    }

    /// `[]`: no items, of which what is around tells the type; where it tells nothing else, they are scalars.
    fn infer_empty(&mut self, node: NodeId, expected: Option<&ArrTy>) -> Typed {
        let expected = expected.map(|t| self.s.zonk(t));
        let items = expected.and_then(|t| {
            let dims = t.shape.dims()?.get(1..)?.to_vec();
            Some(ArrTy::new(t.atom, Shape::of_dims(dims)))
        });
        let item = items.unwrap_or_else(|| {
            self.empties.insert(node);
            ArrTy::scalar(self.s.fresh_atom(None, node))
        });
        let none = Dim::constant(0);
        let ty = item.lifted(&Shape::of_dims([none.clone()]));
        Typed::new(Expr::new(ExprKind::Frame { dims: vec![none], elems: Vec::new() }, ty, node))
    }

    /// `[e …]`, `(array …)`, `(frame …)`: elements of one type.
    fn infer_frame(
        &mut self,
        node: NodeId,
        dims: Vec<u64>,
        es: &[ast::Expr],
        expected: Option<&ArrTy>,
    ) -> Check<Typed> {
        let elem_hint = expected.map(|t| self.s.zonk(t)).and_then(|t| {
            (t.shape.items().len() >= dims.len())
                .then(|| ArrTy::new(t.atom.clone(), Shape(t.shape.0[dims.len()..].to_vec())))
        });
        // Of what an empty row has no items, another one may tell.
        let is_empty = |e: &ast::Expr| matches!(&*e.kind, A::Bracket(es) if es.is_empty());
        let mut results: Vec<Option<Check<Typed>>> = Vec::new();
        for e in es {
            results.push((!is_empty(e)).then(|| self.infer_item(e, elem_hint.as_ref(), elem_hint.as_ref())));
        }
        let told = results.iter().flatten().flatten().next().map(|t| t.expr.ty.clone());
        let told = told.or_else(|| elem_hint.clone());
        let results: Vec<_> = es
            .iter()
            .zip(results)
            .map(|(e, r)| r.unwrap_or_else(|| self.infer_item(e, elem_hint.as_ref(), told.as_ref())))
            .collect();
        let parts: Vec<Typed> = results.into_iter().collect::<Check<_>>()?;
        let known: Option<Vec<Dim>> = parts.iter().map(|t| t.known_dim().cloned()).collect();
        let mut parts: Vec<Expr> = parts.into_iter().map(|t| t.expr).collect();
        let functions = parts.iter().any(|p| matches!(self.s.zonk_atom(&p.ty.atom), AtomTy::Fn(_)));
        let Some(first) = parts.first().map(|p| p.ty.clone()) else { return Err(Reported) };
        for i in 1..parts.len() {
            let boxed = matches!(self.s.zonk_atom(&first.atom), AtomTy::Sigma(_));
            if !boxed && self.scalar_box(&parts[i]).is_some() {
                parts[i] = self.open_box(parts[i].clone());
            }
            self.s.node = Some(parts[i].node);
            let fits = match (self.s.zonk(&first).as_fn(), functions) {
                (Some(f), true) => {
                    let t = Typed::new(parts[i].clone());
                    parts[i] = self.fit_function(t, f, parts[i].node, None)?.0.expr;
                    let shape = parts[i].ty.shape.clone();
                    self.s.unify_shape(&first.shape, &shape)
                }
                _ => self.s.unify(&first, &parts[i].ty),
            };
            if let Err(e) = fits {
                return self.ragged(e, (&parts, i), (node, es));
            }
        }
        let dims: Vec<Dim> = dims.into_iter().map(|d| Dim::constant(d as i128)).collect();
        let ty = first.lifted(&Shape::of_dims(dims.clone()));
        let known = match (dims.len(), known) {
            (1, Some(ds)) if ds.len() <= MOST_KNOWN => Some(Index::Shape(Shape::of_dims(ds))),
            (0, Some(ds)) => ds.into_iter().next().map(Index::Dim),
            _ => None,
        };
        Ok(Typed { known, ..Typed::new(Expr::new(ExprKind::Frame { dims, elems: parts }, ty, node)) })
    }

    /// The definitions of a body with those that call themselves as loops, if there are any.
    fn inner_loops(&mut self, bindings: &[ast::Binding]) -> Check<Option<Vec<ast::Binding>>> {
        let mut all = Vec::new();
        for (k, b) in bindings.iter().enumerate().filter(|(_, b)| b.is_seen_in_value()) {
            match recursion::inner_loop(b, &|| self.decides()) {
                None => {}
                Some(Ok(looped)) => {
                    self.looped.push(looped.of);
                    all.push((k, looped.value));
                }
                Some(Err(refused)) => {
                    self.not_a_loop(&refused);
                    return Err(Reported);
                }
            }
        }
        if all.is_empty() {
            return Ok(None);
        }
        let mut bindings = bindings.to_vec();
        for (k, value) in all {
            bindings[k] = ast::Binding { value, defines: false, ..bindings[k].clone() };
        }
        Ok(Some(bindings))
    }

    /// Which of `and` and `or` are those of the prelude where the definition is.
    pub(super) fn decides(&self) -> Vec<Name> {
        let of = |found: Option<Resolved>| match found {
            Some(Resolved::Value { global, .. }) => Some(global),
            _ => None,
        };
        let names = ["and", "or"].into_iter().map(Name::new);
        names
            .filter(|n| self.find_value(n).is_none() && of(self.env.value(n)) == of(self.env.prelude(n)))
            .collect()
    }

    fn infer_let(
        &mut self,
        node: NodeId,
        bindings: &[ast::Binding],
        sequential: bool,
        body: &ast::Expr,
        expected: Option<&ArrTy>,
    ) -> Check<Typed> {
        if sequential && let Some(loops) = self.inner_loops(bindings)? {
            return self.infer_let(node, &loops, sequential, body, expected);
        }
        let ranked = |b: &ast::Binding| matches!(b.param.ann, Annotation::Rank(_) | Annotation::Type(_));
        if bindings.iter().any(ranked) && !sequential {
            let params: Vec<_> = bindings.iter().map(|b| b.param.clone()).collect();
            let values: Vec<_> = bindings.iter().map(|b| b.value.clone()).collect();
            return self.apply_lambda(node, &params, None, body, &values);
        }
        if let (true, Some((first, rest))) = (sequential, bindings.split_first())
            && ranked(first)
        {
            let inner = ast::Expr {
                id: node,
                kind: Box::new(A::Let { bindings: rest.to_vec(), sequential, body: body.clone() }),
            };
            let inner = if rest.is_empty() { body.clone() } else { inner };
            return self.apply_lambda(
                node,
                std::slice::from_ref(&first.param),
                None,
                &inner,
                std::slice::from_ref(&first.value),
            );
        }
        self.deeper(|c| {
            // (the name, its variable and value, or nothing if the value is wrong)
            let mut done: Vec<(VarId, Expr)> = Vec::new();
            let mut waiting: Vec<(Name, Check<Typed>)> = Vec::new();
            let mut i = 0;
            while i < bindings.len() {
                let b = &bindings[i];
                if sequential && i > 0 && ranked(b) {
                    break;
                }
                let t = c.demanding(false, |c| c.infer_binding(&b.value));
                if sequential {
                    c.bind_value(&b.param.name, t, &mut done);
                } else {
                    waiting.push((b.param.name.clone(), t));
                }
                i += 1;
            }
            for (name, t) in waiting {
                c.bind_value(&name, t, &mut done);
            }
            let rest = &bindings[i..];
            let body = if rest.is_empty() {
                c.infer(body, expected)
            } else {
                c.infer_let(node, rest, sequential, body, expected)
            };
            let body = body?;
            let mut known = body.known.clone();
            let vars: Vec<VarId> = done.iter().map(|(v, _)| *v).collect();
            if known.as_ref().is_some_and(|k| c.mentions_parts(k, &vars)) {
                known = None;
            }
            let body = c.hide(&vars, body.expr)?;
            let body = c.within(done, body, node)?;
            Ok(Typed { known, ..Typed::new(body) })
        })
        .and_then(|t| self.leave(t))
    }

    /// `body` with the variables bound to their values.
    pub(super) fn within(&mut self, values: Vec<(VarId, Expr)>, mut body: Expr, node: NodeId) -> Check<Expr> {
        for (var, value) in values.into_iter().rev() {
            body = self.close_local(var, body)?;
            let local = self.local(var).local.clone();
            let ty = body.ty.clone();
            body = Expr::new(ExprKind::Let { local, value, body }, ty, node);
        }
        Ok(body)
    }

    pub(super) fn bind_value(&mut self, name: &Name, t: Check<Typed>, done: &mut Vec<(VarId, Expr)>) {
        match t {
            Ok(t) => {
                let ty = self.s.zonk(&t.expr.ty);
                // A number whose type is still open takes the type of each use; but the type of another variable that
                // is still open (`(let ((y x)) …)`) is not this one's to vary.
                let own = matches!(&ty.atom, AtomTy::Meta(m) if !self.s.meta(*m).of_variable);
                let adapts = own && t.known.as_ref().is_some_and(is_sizes);
                let var = self.new_local(name, ty, t.known.clone());
                self.locals[var.0 as usize].bound = Some(Loc::Node(t.expr.node));
                self.locals[var.0 as usize].adapts = adapts;
                self.locals[var.0 as usize].parts = t.parts;
                self.locals[var.0 as usize].lifts = self.lifts_of(&t.expr);
                self.bind_local(name, var);
                done.push((var, t.expr));
            }
            Err(Reported) => self.bind(name, Binding::Failed),
        }
    }

    /// The value of a `let` or local `define`; functions are generalised.
    fn infer_binding(&mut self, e: &ast::Expr) -> Check<Typed> {
        match &*e.kind {
            A::Lam { .. } | A::TLam { .. } | A::ILam { .. } | A::Rerank { .. } => {
                self.infer_polymorphic(e, None)
            }
            _ if self.is_array_of_functions(e) => self.infer_polymorphic(e, None),
            _ => self.infer(e, None),
        }
    }

    fn infer_if(
        &mut self,
        node: NodeId,
        cond: &ast::Expr,
        then: &ast::Expr,
        otherwise: &ast::Expr,
        expected: Option<&ArrTy>,
    ) -> Check<Typed> {
        let test = self.demanding(false, |c| c.infer(cond, None)).and_then(|t| {
            let test = self.open_any_box(t.expr);
            self.s.node = Some(cond.id);
            let want = ArrTy::base(BaseTy::Bool);
            match self.s.unify(&want, &test.ty) {
                Ok(()) => Ok(test),
                Err(_) => self.bad_condition(&test, cond, Some((then, otherwise))),
            }
        });
        let late = |e: &ast::Expr| matches!(&*e.kind, A::BoxInfer(_));
        let (a, b) = if late(then) && !late(otherwise) {
            let b = self.branch(otherwise, expected);
            let hint = b.as_ref().ok().map(|b| b.ty.clone());
            (self.branch(then, hint.as_ref().or(expected)), b)
        } else {
            let a = self.branch(then, expected);
            let hint = a.as_ref().ok().map(|a| a.ty.clone());
            let b = self.branch(otherwise, hint.as_ref().or(expected));
            (a, b)
        };
        let (test, a, b) = (test?, a?, b?);
        self.s.node = Some(node);
        if let Err(e) = self.s.unify(&a.ty, &b.ty) {
            return self.branches_differ(e, &a, &b, (cond, then, otherwise));
        }
        let ty = a.ty.clone();
        let t = Typed::new(Expr::new(ExprKind::If { cond: test, then: a, otherwise: b }, ty, node));
        self.leave(t)
    }

    fn branch(&mut self, e: &ast::Expr, expected: Option<&ArrTy>) -> Check<Expr> {
        self.s.branch += 1;
        let result =
            self.deeper(|c| c.demanding(false, |c| c.behind_barrier(|c| Ok(c.infer(e, expected)?.expr))));
        self.s.branch -= 1;
        result
    }

    fn component(&mut self, t: Typed, node: NodeId, part: Part) -> Check<Typed> {
        let tuple = self.open_any_box(t.expr);
        let ty = self.s.zonk(&tuple.ty);
        if let (AtomTy::Tuple(fields), Some(position)) = (&ty.atom, part.position_in(&ty.atom)) {
            let ty = fields.fields[position].1.lifted(&ty.shape);
            return Ok(Typed::new(Expr::new(ExprKind::Field { tuple, position }, ty, node)));
        }
        if matches!(ty.atom, AtomTy::Meta(_)) && self.s.class_of(&ty.atom).is_none() {
            return self.open_part(tuple, part, node);
        }
        self.no_part(&ty, &part.to_string(), tuple.node)
    }

    fn infer_with(
        &mut self,
        node: NodeId,
        record: &ast::Expr,
        fields: &[(ast::Ident, ast::Expr)],
    ) -> Check<Typed> {
        let t = self.demanding(false, |c| c.infer(record, None))?;
        let ty = self.s.zonk(&t.expr.ty);
        let AtomTy::Tuple(tuple) = &ty.atom else {
            let label = fields.first().map_or("", |f| f.0.name.as_str());
            return match &ty.atom {
                AtomTy::Meta(_) if self.s.class_of(&ty.atom).is_none() => {
                    self.part_of_anything(label, t.expr.node)
                }
                _ => self.no_part(&ty, label, t.expr.node),
            };
        };
        self.deeper(|c| {
            let var = c.new_local(&Name::new("record"), ArrTy::scalar(ty.atom.clone()), None);
            let mut parts = Vec::new();
            for (position, (_, field)) in tuple.fields.iter().enumerate() {
                let tuple = c.var(var, node).expr;
                parts.push(Expr::new(ExprKind::Field { tuple, position }, field.clone(), node));
            }
            for (label, value) in fields {
                let Some(at) = tuple.fields.iter().position(|(l, _)| l.as_ref() == Some(&label.name)) else {
                    return c.no_part(&ArrTy::scalar(ty.atom.clone()), label.name.as_str(), record.id);
                };
                parts[at] = c.infer(value, None)?.expr;
            }
            let labels = tuple.fields.iter().map(|(l, _)| l.clone());
            let atom = AtomTy::tuple(labels.zip(parts.iter().map(|p| p.ty.clone())).collect());
            let body = Expr::new(ExprKind::Tuple(parts), ArrTy::scalar(atom), node);
            let t = c.lambda_of(vec![var], node, |_, _| Ok(Typed::new(body)))?;
            Ok(t)
        })
        .and_then(|lam| {
            let op = super::instance::Operator::plain(lam.expr);
            self.apply(op, vec![super::apply::Source::Done(t)], node)
        })
    }

    fn infer_loop(
        &mut self,
        node: NodeId,
        bindings: &[ast::Binding],
        cond: &ast::Expr,
        body: &ast::Expr,
    ) -> Check<Typed> {
        let init: Vec<_> = bindings.iter().map(|b| self.infer(&b.value, None)).collect();
        let init: Vec<Expr> = init.into_iter().map(|t| t.map(|t| t.expr)).collect::<Check<_>>()?;
        self.deeper(|c| {
            let mut vars = Vec::new();
            for (b, e) in bindings.iter().zip(&init) {
                let v = c.new_local(&b.param.name, e.ty.clone(), None);
                c.locals[v.0 as usize].lifts = c.lifts_of(e);
                c.bind_local(&b.param.name, v);
                vars.push(v);
            }
            let test = c.behind_barrier(|c| Ok(c.infer(cond, None)?.expr))?;
            if c.s.unify(&ArrTy::base(BaseTy::Bool), &test.ty).is_err() {
                return c.bad_condition(&test, cond, None);
            }
            // What the condition opens of the state is its own: the body sees another state.
            let test = c.close_part(&vars, test)?;
            let state = match init.as_slice() {
                [one] => one.ty.clone(),
                many => ArrTy::scalar(AtomTy::tuple(many.iter().map(|e| (None, e.ty.clone())).collect())),
            };
            let next = c.behind_barrier(|c| Ok(c.infer(body, Some(&state))?.expr))?;
            let next = c.close_part(&vars, next)?;
            c.s.node = Some(next.node);
            if let Err(e) = c.s.unify(&state, &next.ty) {
                let names: Vec<Name> = bindings.iter().map(|b| b.param.name.clone()).collect();
                return c.state_changes(e, &names, &init, &next, body);
            }
            let locals = vars.iter().map(|v| c.local(*v).local.clone()).zip(init).collect();
            Ok(Typed::new(Expr::new(ExprKind::Loop { locals, cond: test, body: next }, state, node)))
        })
        .and_then(|t| self.leave(t))
    }
}

fn nat(n: u64, id: NodeId) -> ast::IndexExpr {
    ast::IndexExpr { id, kind: Box::new(ast::IndexKind::Nat(n)) }
}

/// A base type, or boxes of arrays of one, as a program writes it.
fn written_type(atom: &AtomTy, id: NodeId) -> Option<ast::TypeExpr> {
    let make = |kind| ast::TypeExpr { id, kind: Box::new(kind) };
    match atom {
        AtomTy::Base(base) => Some(make(ast::TypeKind::Name(Name::new(base.name())))),
        AtomTy::Sigma(sigma) => {
            let params = sigma.params.iter().map(|p| ast::IndexParam { id, name: p.name.clone() }).collect();
            let item = |item: &ShapeItem| match item {
                ShapeItem::Dim(d) => match (d.as_constant(), d.as_var()) {
                    (Some(n), _) => Some(nat(u64::try_from(n).ok()?, id)),
                    (_, Some(DimVar::Rigid(v))) => {
                        let hidden = sigma.params.iter().find(|p| p.id == v.id)?;
                        let kind = ast::IndexKind::Name(hidden.name.clone());
                        Some(ast::IndexExpr { id, kind: Box::new(kind) })
                    }
                    _ => None,
                },
                _ => None,
            };
            let shape = sigma.body.shape.items().iter().map(item).collect::<Option<_>>()?;
            let body = make(ast::TypeKind::Arr { atom: written_type(&sigma.body.atom, id)?, shape });
            Some(make(ast::TypeKind::Sigma { params, body }))
        }
        _ => None,
    }
}
