//! The typing rules, one for each kind of expression.
//!
//! `Γ ⊢ e : τ` is read with the scope of the node; premises about a body inside a binder's scope are
//! checked where that scope is left, or hold because the body's own annotation was verified there.

use super::types::{Broken, Walk};
use super::{Rule, Scope, Verifier, ensure};
use crate::ir::*;
use remc_base::*;
use std::sync::Arc;

impl<'s> Verifier<'s> {
    pub(super) fn finish(&self, e: &Expr) -> Result<(), Broken> {
        self.normal(&e.ty)?;
        match &*e.kind {
            ExprKind::Var(v) => self.variable(*v, &e.ty),
            ExprKind::Global(g) => self.global(g, &e.ty),
            ExprKind::Lit(lit) => self.literal(*lit, &e.ty),
            ExprKind::Frame { dims, elems } => {
                let elems: Vec<_> = elems.iter().map(|e| &e.ty).collect();
                self.frame(dims, &elems, &e.ty)
            }
            ExprKind::Lam { params, body } => {
                let params = params.iter().map(|l| l.ty.clone()).collect();
                let found = ArrTy::scalar(AtomTy::func(params, body.ty.clone()));
                self.same(Rule::Lam, "the λ", &found, &e.ty)
            }
            ExprKind::TLam { params, body } => {
                let q = ForallTy { params: params.clone(), body: body.ty.clone() };
                self.same(Rule::TLam, "the Tλ", &ArrTy::scalar(AtomTy::Forall(Arc::new(q))), &e.ty)
            }
            ExprKind::ILam { params, body } => {
                let q = PiTy { params: params.clone(), body: body.ty.clone() };
                self.same(Rule::ILam, "the Iλ", &ArrTy::scalar(AtomTy::Pi(Arc::new(q))), &e.ty)
            }
            ExprKind::App { func, args, frame } => self.application(func, args, frame, &e.ty),
            ExprKind::TApp { func, args } => self.type_application(&func.ty, args, &e.ty),
            ExprKind::IApp { func, args } => self.index_application(&func.ty, args, &e.ty),
            ExprKind::Let { local, value, body } => {
                self.same(Rule::Let, "the value", &value.ty, &local.ty)?;
                self.same(Rule::Let, "the body", &body.ty, &e.ty)
            }
            ExprKind::If { cond, then, otherwise } => {
                self.same(Rule::If, "the condition", &cond.ty, &ArrTy::base(BaseTy::Bool))?;
                self.same(Rule::If, "the first branch", &then.ty, &e.ty)?;
                self.same(Rule::If, "the second branch", &otherwise.ty, &e.ty)
            }
            ExprKind::Box { witnesses, value } => self.boxed(witnesses, &value.ty, &e.ty),
            ExprKind::Unbox { boxes, indices, body, .. } => {
                self.mentions_none(Rule::Unbox, indices, &body.ty)?;
                let found = body.ty.lifted(&boxes.ty.shape);
                self.same(Rule::Unbox, "the result", &found, &e.ty)
            }
            ExprKind::Lift { kind, indices, value, body } => {
                self.lifted(*kind, indices, &value.ty)?;
                self.mentions_none(Rule::Lift, indices, &body.ty)?;
                self.same(Rule::Lift, "the body", &body.ty, &e.ty)
            }
            // Compared where the scope of the fact ends.
            ExprKind::Check { .. } => Ok(()),
            ExprKind::ReifyDim(d) => self.reified_dim(d, &e.ty),
            ExprKind::ReifyShape(s) => self.reified_shape(s, &e.ty),
            ExprKind::Tuple(parts) => {
                let parts: Vec<_> = parts.iter().map(|p| &p.ty).collect();
                self.tuple(&parts, &e.ty)
            }
            ExprKind::Field { tuple, position } => self.field(&tuple.ty, *position, &e.ty),
            ExprKind::Cast(from) => self.cast(&from.ty, &e.ty),
            ExprKind::AsShape(from) => {
                let found = ArrTy::new(from.ty.atom.clone(), e.ty.shape.clone());
                self.same(Rule::AsShape, "the result", &found, &e.ty)
            }
            ExprKind::Loop { locals, cond, body } => {
                let locals: Vec<_> = locals.iter().map(|(l, value)| (l, &value.ty)).collect();
                self.looped(&locals, &cond.ty, &body.ty, &e.ty)
            }
        }
    }

    /// The definition's type is closed and its body's; an entry's signature is that type too.
    pub(super) fn definition(&self, def: &Definition) -> Result<(), Broken> {
        // Without indices the Iλ may be left out, in the type and in the term.
        let (under, bare) = match &*def.body.kind {
            ExprKind::ILam { body, .. } => (&*body.kind, false),
            other => (other, true),
        };
        let function = matches!(under, ExprKind::Lam { .. }).then_some(bare);
        self.definition_types(&def.ty, &def.body.ty, def.entry.as_ref(), function)
    }

    /// The same, from what the body is: `function` says of a λ whether it stands without an Iλ.
    pub fn definition_types(
        &self,
        ty: &ArrTy,
        body: &ArrTy,
        entry: Option<&EntrySignature>,
        function: Option<bool>,
    ) -> Result<(), Broken> {
        self.same(Rule::Definition, "the body", body, ty)?;
        let Some(entry) = entry else { return Ok(()) };
        let Some(bare) = function else {
            return Err((Rule::Entry, "an entry's body is not a function".to_owned()));
        };
        let params = entry.params.iter().map(|(_, t)| t.clone()).collect();
        let function = ArrTy::scalar(AtomTy::func(params, entry.ret.clone()));
        let wanted = match bare && entry.indices.is_empty() {
            true => function,
            false => {
                let q = PiTy { params: entry.indices.clone(), body: function };
                ArrTy::scalar(AtomTy::Pi(Arc::new(q)))
            }
        };
        self.same(Rule::Entry, "the definition", ty, &wanted)
    }

    // ---- the rules of forms that later IRs share, from the types of their parts ----

    pub fn variable(&self, v: VarId, ty: &ArrTy) -> Result<(), Broken> {
        match self.declared(v) {
            Some(declared) => self.same(Rule::Var, "the variable", declared, ty),
            None => Err((Rule::Var, format!("{v:?} is not in scope"))),
        }
    }

    pub fn global(&self, g: &GlobalId, ty: &ArrTy) -> Result<(), Broken> {
        let Some(declared) = self.globals.ty(g) else {
            return Err((Rule::Global, format!("{g} is not defined")));
        };
        // A global's type is closed: its variables have nothing to do with the scope here.
        let closed = Scope::default();
        let declared = Walk::new(&closed).arr(&declared).map_err(|(_, m)| (Rule::Global, m))?;
        let ty = self.normal(ty)?;
        ensure(declared == ty, Rule::Global, || format!("{g} has type {declared}, not {ty}"))
    }

    fn is_scalar_of(&self, class: Class, t: &ArrTy) -> bool {
        t.shape.is_scalar() && Walk::new(&self.scope).in_class(&t.atom, class)
    }

    pub fn literal(&self, lit: Lit, ty: &ArrTy) -> Result<(), Broken> {
        let fits = match (lit, &ty.atom) {
            (Lit::Scalar(s), AtomTy::Base(b)) => ty.shape.is_scalar() && s.ty() == *b,
            (Lit::Scalar(_), _) => false,
            (Lit::Int(n), AtomTy::Base(b)) => {
                ty.shape.is_scalar()
                    && match b.integer_range() {
                        Some((least, most)) => (least..=most).contains(&n),
                        None => {
                            let value = Scalar::from_integer(*b, n).and_then(Scalar::as_float);
                            value.is_some_and(f64::is_finite)
                        }
                    }
            }
            (Lit::Int(_), _) => self.is_scalar_of(Class::Num, ty),
            (Lit::Float(_), _) => self.is_scalar_of(Class::Frac, ty),
        };
        ensure(fits, Rule::Lit, || format!("{lit:?} is not a value of {ty}"))
    }

    /// `e : τ` for each, as many as the product of the dims, gives `[τ dims]`; without an element some
    /// dim is 0.
    pub fn frame(&self, dims: &[Dim], elems: &[&ArrTy], ty: &ArrTy) -> Result<(), Broken> {
        let ty = self.normal(ty)?;
        let walk = Walk::new(&self.scope);
        let mut count = Some(1u128);
        let mut empty = false;
        let mut sizes = Vec::with_capacity(dims.len());
        for d in dims {
            let normal = walk.dim(d)?;
            self.natural(d)?;
            empty |= normal == Dim::zero();
            let size = normal.as_constant().and_then(|c| u128::try_from(c).ok());
            count = count.zip(size).and_then(|(n, c)| n.checked_mul(c));
            sizes.push(normal);
        }
        let sizes = Shape::of_dims(sizes);
        let Some(first) = elems.first() else {
            ensure(empty, Rule::Frame, || format!("no element in a frame of {sizes}"))?;
            return ensure(ty.shape.strip_prefix(&sizes).is_some(), Rule::Frame, || {
                format!("an empty frame of {sizes} has type {ty}")
            });
        };
        ensure(count == Some(elems.len() as u128), Rule::Frame, || {
            format!("{} elements in a frame of {sizes}", elems.len())
        })?;
        for e in &elems[1..] {
            self.same(Rule::Frame, "an element", e, first)?;
        }
        let found = self.normal(first)?.lifted(&sizes);
        ensure(found == ty, Rule::Frame, || format!("the frame has type {found}, not {ty}"))
    }

    fn application(&self, func: &Expr, args: &[Arg], frame: &Shape, ty: &ArrTy) -> Result<(), Broken> {
        let walk = Walk::new(&self.scope);
        let f = self.normal(&func.ty)?;
        let AtomTy::Fn(q) = &f.atom else {
            return Err((Rule::App, format!("{f} is applied, which is not a function")));
        };
        same_length(Rule::App, "arguments", args.len(), q.params.len())?;
        let frame = walk.shape(frame)?;
        let prefix = |part: &Shape| {
            ensure(frame.strip_prefix(part).is_some(), Rule::App, || {
                format!("frame {part} is no prefix of the principal frame {frame}")
            })
        };
        prefix(&f.shape)?;
        let mut principal = f.shape == frame;
        for (a, cell) in args.iter().zip(&q.params) {
            let part = walk.shape(&a.frame)?;
            prefix(&part)?;
            principal |= part == frame;
            self.matches(Rule::App, "an argument", cell.lifted(&part), &a.expr.ty)?;
        }
        ensure(principal, Rule::App, || format!("the principal frame {frame} is none of the frames"))?;
        self.matches(Rule::App, "the result", q.ret.lifted(&frame), ty)
    }

    pub fn type_application(&self, func: &ArrTy, args: &[TyArg], ty: &ArrTy) -> Result<(), Broken> {
        let AtomTy::Forall(q) = &func.atom else {
            return Err((Rule::TApp, format!("{func} is applied to types")));
        };
        same_length(Rule::TApp, "type arguments", args.len(), q.params.len())?;
        let mut body = Walk::new(&self.scope);
        for (p, a) in q.params.iter().zip(args) {
            let mut walk = Walk::new(&self.scope);
            // The atom is given as it was written: it is brought to normal form where it is put.
            let (given, atom) = match a {
                TyArg::Atom(t) => (a.clone(), t),
                TyArg::Array(t) => (TyArg::Array(ArrTy::new(t.atom.clone(), walk.shape(&t.shape)?)), &t.atom),
            };
            walk.atom(atom)?;
            let kind = matches!(a, TyArg::Array(_)) == p.shape.is_some();
            ensure(kind, Rule::TApp, || format!("type argument {a} is not of the kind of {p}"))?;
            if let Some(class) = p.class {
                ensure(walk.in_class(atom, class), Rule::Class, || format!("{a} is not in {class}"))?;
            }
            body.give_type(p, &given);
        }
        let frame = self.shape(&func.shape)?;
        self.matches(Rule::TApp, "the instance", body.arr(&q.body)?.lifted(&frame), ty)
    }

    pub fn index_application(&self, func: &ArrTy, args: &[Index], ty: &ArrTy) -> Result<(), Broken> {
        let AtomTy::Pi(q) = &func.atom else {
            return Err((Rule::IApp, format!("{func} is applied to indices")));
        };
        let shape = self.shape(&func.shape)?;
        let found = self.instance(Rule::IApp, &q.params, args, &q.body)?.lifted(&shape);
        self.matches(Rule::IApp, "the instance", found, ty)
    }

    pub fn boxed(&self, witnesses: &[Index], value: &ArrTy, ty: &ArrTy) -> Result<(), Broken> {
        let AtomTy::Sigma(q) = &ty.atom else {
            return Err((Rule::Box, format!("a box of type {ty}")));
        };
        ensure(ty.shape.is_scalar(), Rule::Box, || format!("a box of shape {}", ty.shape))?;
        let inside = self.instance(Rule::Box, &q.params, witnesses, &q.body)?;
        self.matches(Rule::Box, "the contents", inside, value)
    }

    pub fn reified_dim(&self, d: &Dim, ty: &ArrTy) -> Result<(), Broken> {
        Walk::new(&self.scope).dim(d)?;
        ensure(self.is_scalar_of(Class::Num, ty), Rule::ReifyDim, || {
            format!("a dim as {ty}, which is not a numeric scalar")
        })
    }

    pub fn reified_shape(&self, s: &Shape, ty: &ArrTy) -> Result<(), Broken> {
        let found = ArrTy::new(ty.atom.clone(), Shape::of_dims([self.shape(s)?.rank()]));
        let integers = Walk::new(&self.scope).in_class(&ty.atom, Class::Int);
        ensure(integers, Rule::ReifyShape, || format!("a shape as {ty}"))?;
        self.same(Rule::ReifyShape, "the shape", &found, ty)
    }

    pub fn tuple(&self, parts: &[&ArrTy], ty: &ArrTy) -> Result<(), Broken> {
        let (AtomTy::Tuple(q), true) = (&ty.atom, ty.shape.is_scalar()) else {
            return Err((Rule::Tuple, format!("a tuple of type {ty}")));
        };
        same_length(Rule::Tuple, "parts", parts.len(), q.fields.len())?;
        let mut fields = parts.iter().zip(&q.fields);
        fields.try_for_each(|(p, (_, t))| self.same(Rule::Tuple, "a part", p, t))
    }

    pub fn field(&self, tuple: &ArrTy, position: usize, ty: &ArrTy) -> Result<(), Broken> {
        let AtomTy::Tuple(q) = &tuple.atom else {
            return Err((Rule::Field, format!("a field of {tuple}")));
        };
        let Some((_, t)) = q.fields.get(position) else {
            return Err((Rule::Field, format!("no field {position} in {tuple}")));
        };
        self.same(Rule::Field, "the field", &t.lifted(&tuple.shape), ty)
    }

    pub fn cast(&self, from: &ArrTy, ty: &ArrTy) -> Result<(), Broken> {
        let numeric = |t: &AtomTy| Walk::new(&self.scope).in_class(t, Class::Num);
        let castable = |t: &AtomTy| matches!(t, AtomTy::Base(_)) || numeric(t);
        ensure(castable(&ty.atom), Rule::Cast, || format!("a cast to {ty}"))?;
        let castable = castable(&from.atom);
        ensure(castable, Rule::Cast, || format!("a cast of {from}"))?;
        let found = ArrTy::new(ty.atom.clone(), from.shape.clone());
        self.same(Rule::Cast, "the result", &found, ty)
    }

    /// Each variable comes with the type of its first value.
    pub fn looped(
        &self,
        locals: &[(&Local, &ArrTy)],
        cond: &ArrTy,
        body: &ArrTy,
        ty: &ArrTy,
    ) -> Result<(), Broken> {
        for (l, value) in locals {
            self.same(Rule::Loop, "a first value", value, &l.ty)?;
        }
        let state = match locals {
            [(l, _)] => l.ty.clone(),
            all => {
                let fields = all.iter().map(|(l, _)| (None, l.ty.clone())).collect();
                ArrTy::scalar(AtomTy::tuple(fields))
            }
        };
        self.same(Rule::Loop, "the condition", cond, &ArrTy::base(BaseTy::Bool))?;
        self.same(Rule::Loop, "the next state", body, &state)?;
        self.same(Rule::Loop, "the state", &state, ty)
    }

    /// The body of a Π or Σ at `args`, which are checked against the parameters.
    fn instance(&self, rule: Rule, params: &[IVar], args: &[Index], body: &ArrTy) -> Result<ArrTy, Broken> {
        same_length(rule, "indices", args.len(), params.len())?;
        let walk = Walk::new(&self.scope);
        let mut inside = Walk::new(&self.scope);
        for (p, a) in params.iter().zip(args) {
            ensure(p.sort == a.sort(), rule, || format!("index {a} is not of the sort of {p}"))?;
            let normal = match a {
                Index::Dim(d) => {
                    let normal = walk.dim(d)?;
                    if p.natural {
                        self.natural(d)?;
                    }
                    Index::Dim(normal)
                }
                Index::Shape(s) => {
                    let normal = walk.shape(s)?;
                    for item in s.items() {
                        if let ShapeItem::Dim(d) = item {
                            self.natural(d)?;
                        }
                    }
                    Index::Shape(normal)
                }
            };
            inside.give_index(p, &normal);
        }
        inside.arr(body)
    }

    /// `d ≥ 0` by its form, by the checks in scope, or because a value in scope has such a dim.
    fn natural(&self, d: &Dim) -> Result<(), Broken> {
        if self.scope.facts.is_natural(d) {
            return Ok(());
        }
        let shapes = self.scope.vars.values().flat_map(|t| t.shape.items());
        let mut dims: Vec<Dim> = shapes
            .filter_map(|item| match item {
                ShapeItem::Dim(d) if !d.is_never_negative() => Some(d.clone()),
                _ => None,
            })
            .collect();
        dims.sort();
        dims.dedup();
        ensure(self.scope.facts.is_natural_given(d, &dims), Rule::Natural, || {
            format!("nothing in scope says that {d} is not negative")
        })
    }

    /// In the scope of an `unbox`: its variable is the Σ's body at the opened indices.
    pub fn opened(&self, boxes: &ArrTy, indices: &[IVar], local: &Local) -> Result<(), Broken> {
        let AtomTy::Sigma(q) = &boxes.atom else {
            return Err((Rule::Unbox, format!("{boxes} is opened, which is no box")));
        };
        let natural = |i: &IVar| i.natural;
        ensure(indices.iter().map(natural).eq(q.params.iter().map(natural)), Rule::Unbox, || {
            "the opened indices are not those of the box".to_owned()
        })?;
        let opened: Vec<Index> = indices.iter().cloned().map(Index::from).collect();
        let inside = self.instance(Rule::Unbox, &q.params, &opened, &q.body)?;
        self.matches(Rule::Unbox, "the contents", inside, &local.ty)
    }

    /// What is opened, and the indices it gives.
    pub fn lifted(&self, kind: LiftKind, indices: &[IVar], value: &ArrTy) -> Result<(), Broken> {
        let ty = self.normal(value)?;
        let sorts = |sort, natural| indices.iter().all(|v| v.sort == sort && v.natural == natural);
        let one = indices.len() == 1;
        let vector = |len: Dim| ty.shape == Shape::of_dims([len]);
        let fits = ty.atom == AtomTy::INT
            && match kind {
                LiftKind::Natural => one && sorts(Sort::Dim, true) && ty.shape.is_scalar(),
                LiftKind::Integer => one && sorts(Sort::Dim, false) && ty.shape.is_scalar(),
                LiftKind::Dims => sorts(Sort::Dim, false) && vector(Dim::from(indices.len() as i64)),
                LiftKind::Shape => {
                    one && sorts(Sort::Shape, true) && ty.shape.dims().is_some_and(|d| d.len() == 1)
                }
            };
        ensure(fits, Rule::Lift, || format!("{ty} is opened as {indices:?} ({kind:?})"))
    }

    /// The body's type makes sense outside of the indices' scope.
    pub fn mentions_none(&self, rule: Rule, indices: &[IVar], body: &ArrTy) -> Result<(), Broken> {
        match self.normal(body) {
            Err((Rule::Scope, _)) => {
                Err((rule, format!("the body's type {body} mentions one of {indices:?}")))
            }
            other => other.map(drop),
        }
    }
}

fn same_length(rule: Rule, what: &str, found: usize, wanted: usize) -> Result<(), Broken> {
    ensure(found == wanted, rule, || format!("{found} {what} where {wanted} are wanted"))
}
