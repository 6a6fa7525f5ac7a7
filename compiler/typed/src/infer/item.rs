//! One top-level item, from its Ast to its scheme and definition.

use super::generalise::Binders;
use super::polymorphic::is_written_function;
use super::solver::Role;
use super::values::is_sizes;
use super::*;
use crate::check::Checked;
use crate::codes;
use crate::ir::{Definition, EntrySignature, ExprKind};
use crate::recursion;
use crate::scheme::{ExplicitIndex, Scheme, TypeAlias};
use remc_syntax::ast::{self, Annotation, ExprKind as A, Item, ItemKind, PrimitiveIndex, TypeKind};
use std::sync::Arc;

/// Checks `item`, which is the definition `global` of its module. One that calls itself is checked as a loop.
pub fn check_item(env: &dyn Environment, item: &Item, global: &GlobalId) -> Checked {
    let mut c = Checker::new(env);
    match recursion::as_loop(item, &|| c.decides()) {
        None => check_with(env, item, None, global),
        Some(Err(refused)) => {
            c.not_a_loop(&refused);
            Checked { diagnostics: c.diagnostics, ..Checked::default() }
        }
        Some(Ok(looped)) => {
            let checked = check_with(env, item, Some(&looped), global);
            // Parameters of which nothing tells the rank are scalars, as the least there is.
            let open = |d: &Diagnostic<Loc>| d.code == codes::AMBIGUOUS_RANK;
            if checked.diagnostics.iter().any(open) {
                let scalars = check_with(env, item, Some(&looped.of_scalars()), global);
                if scalars.has_type() {
                    return scalars;
                }
            }
            checked
        }
    }
}

/// Checks it with boxes that hide all that they can, and if it has no type then, with boxes that hide lengths alone.
fn check_with(
    env: &dyn Environment,
    item: &Item,
    looped: Option<&recursion::Loop>,
    global: &GlobalId,
) -> Checked {
    let mut c = Checker::new(env);
    let checked = check_as(&mut c, item, looped, global);
    if c.hides_more && !checked.has_type() {
        let mut c = Checker { hides_length: true, ..Checker::new(env) };
        let lengths = check_as(&mut c, item, looped, global);
        if lengths.has_type() {
            return lengths;
        }
    }
    checked
}

fn check_as(
    c: &mut Checker<'_>,
    item: &Item,
    looped: Option<&recursion::Loop>,
    global: &GlobalId,
) -> Checked {
    let mut checked = Checked::default();
    c.looped.extend(looped.map(|l| l.of.clone()));
    let looped = looped.map(|l| &l.value);
    let result: Check<()> = match &item.kind {
        ItemKind::Define { ty, value, .. } => {
            c.define(global, ty.as_ref(), looped.unwrap_or(value), &mut checked)
        }
        ItemKind::Entry { value, .. } => c.entry(global, looped.unwrap_or(value), &mut checked),
        ItemKind::Expr(e) => c.define_value(global, None, e, &mut checked),
        ItemKind::DefineType { ty, .. } => c.alias(ty, &mut checked),
        ItemKind::Primitive { tparams, iparams, params, ret, .. } => {
            c.primitive(tparams, iparams, params, ret, &mut checked)
        }
        ItemKind::Import { .. } | ItemKind::Error => Ok(()),
    };
    if result.is_err() {
        checked.definition = None;
    }
    checked.diagnostics = std::mem::take(&mut c.diagnostics);
    if !checked.has_type() {
        checked.definition = None;
        if result.is_err() {
            checked.scheme = None;
        }
    }
    checked
}

impl Checker<'_> {
    fn alias(&mut self, ty: &ast::TypeExpr, out: &mut Checked) -> Check<()> {
        self.param_implicit = Implicit::No;
        let ty = self.array_type(ty)?;
        self.small(&ty, NodeId(0))?;
        let ty = subst::canonical(&self.finish_ty(&ty, NodeId(0)));
        out.alias = Some(Arc::new(TypeAlias { ty }));
        Ok(())
    }

    fn define(
        &mut self,
        global: &GlobalId,
        ty: Option<&ast::TypeExpr>,
        value: &ast::Expr,
        out: &mut Checked,
    ) -> Check<()> {
        if let Some(f) = self.val_function(value) {
            return self.define_with_vals(global, value, f, out);
        }
        self.define_value(global, ty, value, out)
    }

    fn define_value(
        &mut self,
        global: &GlobalId,
        ty: Option<&ast::TypeExpr>,
        value: &ast::Expr,
        out: &mut Checked,
    ) -> Check<()> {
        let want = match ty {
            Some(t) => Some((self.array_type(t)?, t.id)),
            None => None,
        };
        let function = is_written_function(value) || self.is_array_of_functions(value);
        let t = if function && want.is_none() {
            self.infer_polymorphic(value, None)?
        } else {
            let depth = self.s.depth;
            let mut known = None;
            let expr = self.behind_barrier(|c| {
                Ok(c.opening(|c| {
                    let t = match &want {
                        Some((ty, at)) => c.infer_as(value, ty, *at)?,
                        None => c.infer(value, None)?,
                    };
                    known = t.known.clone();
                    Ok(t)
                })?
                .expr)
            })?;
            self.decide_all(depth)?;
            Typed { known, ..Typed::new(expr) }
        };
        self.complete(global, t, out)
    }

    /// Defaults, the finished term and the scheme.
    fn complete(&mut self, global: &GlobalId, t: Typed, out: &mut Checked) -> Check<()> {
        self.decide_all(0)?;
        let open = matches!(self.s.zonk_atom(&t.expr.ty.atom), AtomTy::Meta(_));
        self.default_literals()?;
        self.decide_all(0)?;
        self.nothing_pending()?;
        self.small(&t.expr.ty, t.expr.node)?;
        let known = t.known.as_ref().map(|k| self.s.zonk_index(k)).filter(closed_index);
        self.report_undecided(&t.expr);
        let body = self.finish(t.expr);
        self.lint(&body);
        let ty = subst::canonical(&body.ty);
        let arity = match &ty.atom {
            AtomTy::Pi(q) => q.params.len(),
            _ => 0,
        };
        let params = param_names(&body, !t.parts.is_empty());
        let known = if arity == 0 { known } else { None };
        let adapts = open && known.as_ref().is_some_and(is_sizes);
        out.scheme = Some(Arc::new(Scheme {
            ty: ty.clone(),
            vals: Vec::new(),
            constraints: Vec::new(),
            explicit: (0..arity).map(ExplicitIndex::Param).collect(),
            known,
            adapts,
            params,
            parts: t.parts,
            idle: super::undecided::idle(&body),
        }));
        out.definition = Some(Arc::new(Definition { name: global.clone(), ty, body, entry: None }));
        Ok(())
    }

    fn entry(&mut self, global: &GlobalId, value: &ast::Expr, out: &mut Checked) -> Check<()> {
        self.param_implicit = Implicit::Entry;
        let inner = match &*value.kind {
            A::ILam { params, body } => {
                let vars = self.bind_iparams(params, 0);
                self.entry_indices.extend(vars);
                body
            }
            _ => value,
        };
        let A::Lam { params, ret, body } = &*inner.kind else {
            return self.fail(
                Diagnostic::error(codes::ENTRY_TYPE, "an entry is a function of typed parameters")
                    .primary(Loc::Node(value.id), "not a plain function"),
            );
        };
        // A parameter without a name is reported by the reader.
        if params.iter().any(|p| p.name.as_str().contains(' ')) {
            return Err(Reported);
        }
        for p in params {
            let shown = match &p.ann {
                Annotation::Type(_) => continue,
                Annotation::None => p.name.to_string(),
                Annotation::Rank(r) => format!("[{} {r}]", p.name),
                Annotation::All => format!("[{} all]", p.name),
            };
            return self.fail(
                Diagnostic::error(
                    codes::ENTRY_TYPE,
                    format!("the entry's parameter `{}` has no type", p.name),
                )
                .primary(Loc::Node(p.id), format!("`{shown}` does not say what data to read"))
                .help(format!("write its type, such as [{} [float n]] or [{0} int]", p.name)),
            );
        }
        let is_stream = |p: &ast::Param| matches!(&p.ann, Annotation::Type(t) if matches!(&*t.kind, TypeKind::Stream { .. }));
        let mut streams: Vec<usize> = (0..params.len()).filter(|k| is_stream(&params[*k])).collect();
        let t = self.infer_lambda(inner.id, params, ret.as_ref(), body, None)?;
        if let AtomTy::Fn(f) = self.s.zonk_atom(&t.expr.ty.atom) {
            for (p, ty) in params.iter().zip(&f.params) {
                self.is_data(p, ty)?;
            }
            self.keep_step(params, &f.params, &mut streams)?;
        }
        let t = self.wrap_indices(t, value.id);
        self.complete(global, t, out)?;
        // A function that is the value of a program is a value as any other.
        if let Some(definition) = out.definition.as_mut().and_then(Arc::get_mut) {
            definition.entry = entry_signature(&definition.body, streams);
        }
        Ok(())
    }

    /// An array along the length of a stream goes along it, and so is a stream, too. Nobody knows that length before the
    /// end: no other size of an input is said by it.
    fn keep_step(&mut self, params: &[ast::Param], types: &[ArrTy], streams: &mut Vec<usize>) -> Check<()> {
        let first = |ty: &ArrTy| match ty.shape.items().first()? {
            ShapeItem::Dim(d) => match d.as_var()? {
                DimVar::Rigid(v) => Some(v.clone()),
                _ => None,
            },
            ShapeItem::Var(_) => None,
        };
        let lengths: Vec<(IVar, usize)> =
            streams.iter().filter_map(|k| Some((first(types.get(*k)?)?, *k))).collect();
        for (k, (p, ty)) in params.iter().zip(types).enumerate() {
            for (length, of) in &lengths {
                let mut rest = ty.clone();
                if first(ty).as_ref() == Some(length) {
                    rest.shape = Shape(ty.shape.items()[1..].to_vec());
                    if !streams.contains(&k) {
                        streams.push(k);
                    }
                }
                if super::open::mentions(&rest, length) {
                    let stream = &params[*of].name;
                    return self.fail(
                        Diagnostic::error(
                            codes::STREAM_TYPE,
                            format!("the length of the stream `{stream}` is a size of `{}`", p.name),
                        )
                        .primary(Loc::Node(p.id), format!("`{length}` is known when `{stream}` has ended"))
                        .note("an input may be as long as a stream along its first axis, and then keeps step with it")
                        .help(format!(
                            "give this size a name of its own; or let `{stream}` be an array: `[{stream} {}]`",
                            types[*of]
                        )),
                    );
                }
            }
        }
        streams.sort_unstable();
        Ok(())
    }

    /// An input comes from a file or a literal: nothing in it is a function.
    fn is_data(&mut self, p: &ast::Param, ty: &ArrTy) -> Check<()> {
        if !holds_functions(ty) {
            return Ok(());
        }
        let what = match (&ty.atom, ty.shape.is_scalar()) {
            (AtomTy::Fn(_) | AtomTy::Forall(_) | AtomTy::Pi(_), true) => "is a function",
            _ => "holds functions",
        };
        self.fail(
            Diagnostic::error(
                codes::ENTRY_FUNCTION,
                format!("the entry's parameter `{}` {what}, which no data can be", p.name),
            )
            .primary(Loc::Node(p.id), format!("this has the type {ty}"))
            .help("take a number, and let it choose: ((index [sin cos] [k]) x)"),
        )
    }

    fn wrap_indices(&mut self, t: Typed, node: NodeId) -> Typed {
        let indices = std::mem::take(&mut self.entry_indices);
        if indices.is_empty() {
            return t;
        }
        let ty = ArrTy::scalar(AtomTy::Pi(Arc::new(PiTy {
            params: indices.clone(),
            body: self.s.zonk(&t.expr.ty),
        })));
        Typed::new(Expr::new(ExprKind::ILam { params: indices, body: t.expr }, ty, node))
    }

    /// Whether a function definition has `Val` parameters or a `Val` result.
    fn val_function<'a>(&self, value: &'a ast::Expr) -> Option<ValFunction<'a>> {
        let mut f = ValFunction { iparams: &[], tparams: &[], params: &[], ret: None, body: value };
        loop {
            match &*f.body.kind {
                A::ILam { params, body } => (f.iparams, f.body) = (params, body),
                A::TLam { params, body } => (f.tparams, f.body) = (params, body),
                A::Lam { params, ret, body } => {
                    (f.params, f.ret, f.body) = (params, ret.as_ref(), body);
                    break;
                }
                _ => return None,
            }
        }
        let is_val = |t: &ast::TypeExpr| matches!(&*t.kind, TypeKind::Val(_));
        let any = f.params.iter().any(|p| matches!(&p.ann, Annotation::Type(t) if is_val(t)))
            || f.ret.is_some_and(is_val);
        any.then_some(f)
    }

    /// A definition with `Val` parameters: they are index variables in the body, not variables. Where it binds nothing
    /// itself it is polymorphic in what it leaves open, as any function is, and in what its `Val` parameters name.
    fn define_with_vals(
        &mut self,
        global: &GlobalId,
        value: &ast::Expr,
        f: ValFunction,
        out: &mut Checked,
    ) -> Check<()> {
        let written = !(f.iparams.is_empty() && f.tparams.is_empty());
        let mark = self.scope.len();
        self.param_implicit = if written { Implicit::No } else { Implicit::Flexible };
        let (ivars, tparams) = (self.bind_iparams(f.iparams, 0), self.bind_tparams(f.tparams));
        let mut binders = Binders { ivars, tparams, written };
        self.s.depth += 1;
        let depth = self.s.depth;
        let outside = std::mem::replace(&mut self.implicit, self.param_implicit);
        let split = self.in_role(Role::Named, |c| c.split_vals(f.params));
        self.implicit = outside;
        let (params, vals) = split?;
        for ((_, index), name) in vals.iter().zip(f.params.iter().filter(|p| is_val_param(p))) {
            self.bind(&name.name, Binding::Index(index.clone()));
        }
        if !written {
            // The result is in terms of what the parameters' types name.
            for p in &params {
                if let Annotation::Type(t) = &p.ann {
                    self.in_role(Role::Named, |c| c.param_array_type(t))?;
                }
            }
        }
        let known = match f.ret.map(|t| &*t.kind) {
            Some(TypeKind::Val(i)) => Some(self.index(i)?),
            _ => None,
        };
        let ret = if known.is_some() { None } else { f.ret };
        let body = if params.is_empty() {
            let want = match ret {
                Some(t) => Some((self.array_type(t)?, t.id)),
                None => None,
            };
            self.behind_barrier(|c| {
                let t = c.infer(f.body, want.as_ref().map(|w| &w.0))?;
                if let Some((ty, at)) = &want {
                    c.expect(&t.expr, ty, *at)?;
                }
                Ok(t.expr)
            })?
        } else {
            self.infer_lambda(value.id, &params, ret, f.body, None)?.expr
        };
        if let (Some(_), ExprKind::Lam { body: inner, .. }) = (&known, &*body.kind) {
            let atom = inner.ty.atom.clone();
            if let Err(e) = self.s.unify_atom(&AtomTy::INT, &atom) {
                return self.mismatch(e, inner.node);
            }
        }
        if written {
            self.decide_all(depth)?;
        } else {
            self.sink_parts();
            self.decide_but_results(depth)?;
            self.sink_tied(depth);
        }
        self.s.depth -= 1;
        self.scope.truncate(mark);
        let named = vals.iter().map(|(_, i)| self.unknown_in(i)).collect::<Vec<_>>().concat();
        self.quantify(named, depth, &mut binders);
        let t = self.generalise(body, binders, true, depth, value.id)?;
        let own = match &*t.expr.kind {
            ExprKind::ILam { params, .. } => params.clone(),
            _ => Vec::new(),
        };
        let vals: Vec<_> = vals.into_iter().map(|(at, i)| (at, self.s.zonk_index(&i))).collect();
        let known = known.map(|k| self.s.zonk_index(&k));
        self.complete(global, t, out)?;
        if let Some(scheme) = &out.scheme {
            let s = to_canonical(&own, &scheme.ty);
            let scheme = Scheme {
                vals: vals.iter().map(|(at, i)| (*at, s.index(i))).collect(),
                known: known.map(|k| s.index(&k)),
                adapts: false,
                params: f.params.iter().map(|p| p.name.clone()).collect(),
                ..(**scheme).clone()
            };
            out.scheme = Some(Arc::new(scheme));
        }
        Ok(())
    }

    /// The ordinary parameters, and the position and index of each `Val` one.
    fn split_vals(&mut self, params: &[ast::Param]) -> Check<SplitParams> {
        let mut ordinary = Vec::new();
        let mut vals = Vec::new();
        for (at, p) in params.iter().enumerate() {
            match &p.ann {
                Annotation::Type(t) if matches!(&*t.kind, TypeKind::Val(_)) => {
                    let TypeKind::Val(i) = &*t.kind else { continue };
                    vals.push((at, self.index(i)?));
                }
                _ => ordinary.push(p.clone()),
            }
        }
        Ok((ordinary, vals))
    }

    fn primitive(
        &mut self,
        tparams: &[ast::TypeParam],
        iparams: &[PrimitiveIndex],
        params: &[ast::Param],
        ret: &ast::TypeExpr,
        out: &mut Checked,
    ) -> Check<()> {
        self.param_implicit = Implicit::No;
        let mut own = Vec::new();
        let mut explicit = Vec::new();
        let mut constraints = Vec::new();
        for p in iparams {
            if let PrimitiveIndex::Param(p) = p {
                explicit.push(ExplicitIndex::Param(own.len()));
                own.push(self.bind_index_name(&p.name, 0));
            }
        }
        for p in iparams {
            let PrimitiveIndex::Equal(a, b) = p else { continue };
            if let ast::IndexKind::Name(name) = &*a.kind
                && self.find_index(name).is_none()
            {
                let d = self.dim(b)?;
                explicit.push(ExplicitIndex::Derived(name.clone(), d.clone()));
                self.bind(name, Binding::Index(Index::Dim(d)));
            } else {
                constraints.push((self.dim(a)?, self.dim(b)?));
            }
        }
        let type_params = self.bind_tparams(tparams);
        let (ordinary, vals) = self.split_vals(params)?;
        let mut types = Vec::new();
        for p in &ordinary {
            let Annotation::Type(t) = &p.ann else { return Err(Reported) };
            types.push(self.array_type(t)?);
        }
        let ret = self.array_type(ret)?;
        let mut ty = if types.is_empty() { ret } else { ArrTy::scalar(AtomTy::func(types, ret)) };
        if !type_params.is_empty() {
            ty = ArrTy::scalar(AtomTy::Forall(Arc::new(ForallTy { params: type_params, body: ty })));
        }
        if !own.is_empty() {
            ty = ArrTy::scalar(AtomTy::Pi(Arc::new(PiTy { params: own.clone(), body: ty })));
        }
        let ty = subst::canonical(&ty);
        let s = to_canonical(&own, &ty);
        out.scheme = Some(Arc::new(Scheme {
            vals: vals.iter().map(|(at, i)| (*at, s.index(i))).collect(),
            constraints: constraints.iter().map(|(p, q)| (s.dim(p), s.dim(q))).collect(),
            explicit: explicit
                .into_iter()
                .map(|e| match e {
                    ExplicitIndex::Derived(n, d) => ExplicitIndex::Derived(n, s.dim(&d)),
                    e => e,
                })
                .collect(),
            known: None,
            adapts: false,
            params: params.iter().map(|p| p.name.clone()).collect(),
            parts: Vec::new(),
            idle: Vec::new(),
            ty,
        }));
        Ok(())
    }
}

/// Ordinary parameters, and position and index of the `Val` ones.
type SplitParams = (Vec<ast::Param>, Vec<(usize, Index)>);

/// A function definition taken apart.
struct ValFunction<'a> {
    iparams: &'a [ast::IndexParam],
    tparams: &'a [ast::TypeParam],
    params: &'a [ast::Param],
    ret: Option<&'a ast::TypeExpr>,
    body: &'a ast::Expr,
}

fn is_val_param(p: &ast::Param) -> bool {
    matches!(&p.ann, Annotation::Type(t) if matches!(&*t.kind, TypeKind::Val(_)))
}

/// From a definition's own Π variables to those of its canonical type.
fn to_canonical(own: &[IVar], ty: &ArrTy) -> Subst {
    let mut s = Subst::new();
    if let AtomTy::Pi(q) = &ty.atom {
        for (v, p) in own.iter().zip(&q.params) {
            s.bind_index(v, p.clone().into());
        }
    }
    s
}

fn closed_index(i: &Index) -> bool {
    match i {
        Index::Dim(d) => d.as_constant().is_some(),
        Index::Shape(s) => s.sizes().is_some(),
    }
}

/// The names of the parameters of a function, behind those that it gets for parts of tuples.
fn param_names(e: &Expr, parts: bool) -> Vec<Name> {
    match &*e.kind {
        ExprKind::ILam { body, .. } | ExprKind::TLam { body, .. } => param_names(body, parts),
        ExprKind::Lam { body, .. } if parts => param_names(body, false),
        ExprKind::Lam { params, .. } => params.iter().map(|p| p.name.clone()).collect(),
        _ => Vec::new(),
    }
}

/// The interface of a function whose types are concrete up to sizes: what can be called with data.
fn holds_functions(ty: &ArrTy) -> bool {
    match &ty.atom {
        AtomTy::Fn(_) | AtomTy::Forall(_) | AtomTy::Pi(_) => true,
        AtomTy::Sigma(q) => holds_functions(&q.body),
        AtomTy::Tuple(q) => q.fields.iter().any(|(_, t)| holds_functions(t)),
        AtomTy::Base(_) | AtomTy::Var(_) | AtomTy::Meta(_) | AtomTy::Quot(_) => false,
    }
}

fn entry_signature(e: &Expr, streams: Vec<usize>) -> Option<EntrySignature> {
    let (indices, lam) = match &*e.kind {
        ExprKind::ILam { params, body } => (params.clone(), body),
        _ => (Vec::new(), e),
    };
    let ExprKind::Lam { params, body } = &*lam.kind else { return None };
    Some(EntrySignature {
        indices,
        params: params.iter().map(|p| (p.name.clone(), p.ty.clone())).collect(),
        streams,
        ret: body.ty.clone(),
    })
}
