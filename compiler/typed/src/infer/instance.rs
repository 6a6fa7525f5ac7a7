//! Polymorphic values and their instances.
//!
//! A [`Head`] is a value at its ∀/Π type with the explicit arguments written so far; instantiation
//! fills the rest with existentials. An [`Operator`] is the instance.

use super::polymorphic::is_polymorphic;
use super::*;
use crate::codes;
use crate::ir::{ExprKind, Fact};
use crate::scheme::{ExplicitIndex, Part, Resolved, Scheme};
use remc_syntax::ast;
use std::sync::Arc;

/// A polymorphic value with explicit arguments.
pub(super) struct Head {
    expr: Expr,
    scheme: Option<(GlobalId, Arc<Scheme>)>,
    indices: Vec<(Index, NodeId)>,
    types: Vec<(TyArg, NodeId)>,
    /// Whether an explicit index application was written.
    explicit: bool,
    /// What the instance takes first: see [`super::parts`].
    parts: Vec<Part>,
    node: NodeId,
}

/// An instance, ready to be applied.
#[derive(Clone)]
pub(super) struct Operator {
    pub expr: Expr,
    /// `Val` parameters by position among all parameters, with their index.
    pub vals: Vec<(usize, Index)>,
    /// The result's value, for a function whose result is `(Val i)`.
    pub known: Option<Index>,
    /// Whether a known number takes the type of its context.
    pub adapts: bool,
    pub global: Option<GlobalId>,
    pub name: String,
    pub params: Vec<Name>,
    pub explicit: bool,
    pub node: NodeId,
}

impl Operator {
    /// An expression that is no polymorphic name.
    pub fn plain(expr: Expr) -> Operator {
        let node = expr.node;
        let mut head = &expr;
        while let ExprKind::IApp { func, .. } | ExprKind::TApp { func, .. } = &*head.kind {
            head = func;
        }
        let name = match &*head.kind {
            ExprKind::Global(g) => g.name.to_string(),
            _ => "the function".into(),
        };
        Operator {
            expr,
            vals: Vec::new(),
            known: None,
            adapts: false,
            global: None,
            name,
            params: Vec::new(),
            explicit: false,
            node,
        }
    }
}

impl Checker<'_> {
    /// The head of `f`, `f{…}`, `(t-app f …)`, `(i-app f …)` where `f` is a name that stands for
    /// something polymorphic; `None` for anything else.
    pub(super) fn head(&mut self, e: &ast::Expr, args: Option<&[ast::Expr]>) -> Check<Option<Head>> {
        match &*e.kind {
            ast::ExprKind::Var(name) => self.named_head(name, e.id, args),
            ast::ExprKind::IApp { func, args: indices } => {
                let mut head = self.polymorphic_head(func, args, "index")?;
                for i in indices {
                    let index = self.index(i)?;
                    head.indices.push((index, i.id));
                }
                head.explicit = true;
                Ok(Some(head))
            }
            ast::ExprKind::TApp { func, args: types } => {
                let mut head = self.polymorphic_head(func, args, "type")?;
                for t in types {
                    let ty = self.array_type(t)?;
                    head.types.push((TyArg::Array(ty), t.id));
                }
                Ok(Some(head))
            }
            _ => Ok(None),
        }
    }

    /// An expression that is applied: one of a polymorphic type, such as a Tλ, is instantiated.
    pub(super) fn operator(&mut self, t: Typed) -> Check<Operator> {
        let Typed { expr, .. } = t;
        if !is_polymorphic(&self.s.zonk_atom(&expr.ty.atom)) {
            return Ok(Operator::plain(expr));
        }
        let (ty, node) = (self.s.zonk(&expr.ty), expr.node);
        let expr = Expr { ty, ..expr };
        self.instantiate(Head {
            expr,
            scheme: None,
            indices: vec![],
            types: vec![],
            explicit: false,
            parts: vec![],
            node,
        })
    }

    /// The head of what gets explicit arguments: a name, or any expression of polymorphic type.
    fn polymorphic_head(&mut self, func: &ast::Expr, args: Option<&[ast::Expr]>, what: &str) -> Check<Head> {
        if let Some(head) = self.head(func, args)? {
            return Ok(head);
        }
        let t = self.infer(func, None)?;
        let ty = self.s.zonk(&t.expr.ty);
        if is_polymorphic(&ty.atom) {
            return Ok(Head {
                node: func.id,
                expr: Expr { ty, ..t.expr },
                scheme: None,
                indices: vec![],
                types: vec![],
                explicit: false,
                parts: vec![],
            });
        }
        let shown = self.show(&t.expr.ty);
        self.fail(
            Diagnostic::error(
                codes::INSTANCE,
                format!("this takes no {what} arguments: its type is `{shown}`"),
            )
            .primary(Loc::Node(func.id), format!("not polymorphic, so no {what} application")),
        )
    }

    fn named_head(&mut self, name: &Name, node: NodeId, args: Option<&[ast::Expr]>) -> Check<Option<Head>> {
        let plain = |expr: Expr, parts: Vec<Part>| Head {
            expr,
            scheme: None,
            indices: Vec::new(),
            types: Vec::new(),
            explicit: false,
            parts,
            node,
        };
        match self.find_value(name).cloned() {
            Some(Binding::Local(var)) => {
                let (local, parts) = (self.local(var).local.clone(), self.local(var).parts.clone());
                let polymorphic = matches!(local.ty.atom, AtomTy::Pi(_) | AtomTy::Forall(_));
                return Ok(polymorphic.then(|| plain(Expr::var(&local, node), parts)));
            }
            Some(Binding::Failed) => return Err(Reported),
            _ => {}
        }
        if self.find_index(name).is_some() {
            return Ok(None);
        }
        let other = args.and_then(|args| self.use_of(name, args));
        let resolved = match other.and_then(|(other, _)| self.env.prelude(&other)) {
            Some(found) => Some(found),
            None => self.env.value(name),
        };
        match resolved {
            Some(Resolved::Value { global, scheme }) => Ok(Some(self.global_head(global, scheme, node))),
            Some(Resolved::Failed(_)) => Err(Reported),
            Some(Resolved::Recursive(cycle)) => self.recursion(&cycle, node),
            None => self.unknown_name(name, node),
        }
    }

    fn global_head(&mut self, global: GlobalId, scheme: Arc<Scheme>, node: NodeId) -> Head {
        let s = &mut self.s;
        let ty = subst::freshen(&scheme.ty, &mut || s.fresh_id());
        let expr = Expr::new(ExprKind::Global(global.clone()), ty, node);
        Head {
            expr,
            parts: scheme.parts.clone(),
            scheme: Some((global, scheme)),
            indices: Vec::new(),
            types: Vec::new(),
            explicit: false,
            node,
        }
    }

    /// Fills what the head leaves open with existentials.
    pub(super) fn instantiate(&mut self, head: Head) -> Check<Operator> {
        let Head { mut expr, scheme, indices, types, mut explicit, parts, node } = head;
        let name = scheme.as_ref().map_or_else(
            || match &*expr.kind {
                ExprKind::Var(v) => self.local(*v).local.name.to_string(),
                _ => "the function".into(),
            },
            |(g, _)| g.name.to_string(),
        );
        let mut given = indices.into_iter().peekable();
        let mut given_types = types.into_iter().peekable();
        // The substitution for the scheme's own Π variables, by its own ids.
        let mut of_scheme = Subst::new();
        let mut first_pi = true;
        let mut checks: Vec<(Dim, Dim)> = Vec::new();
        loop {
            match expr.ty.atom.clone() {
                AtomTy::Pi(pi) => {
                    let mut s = Subst::new();
                    let mut args = Vec::new();
                    let derived = match &scheme {
                        Some((_, sc)) if first_pi => sc.explicit.clone(),
                        _ => (0..pi.params.len()).map(ExplicitIndex::Param).collect(),
                    };
                    let mut written: Vec<Option<Index>> = vec![None; pi.params.len()];
                    let mut equal: Vec<(Dim, Index, NodeId)> = Vec::new();
                    for slot in &derived {
                        let Some((index, at)) = given.next() else { break };
                        match slot {
                            ExplicitIndex::Param(i) => {
                                let p = &pi.params[*i];
                                // `(i-app iota 1)` says of which vectors it is a function.
                                explicit &= index.sort() == p.sort;
                                written[*i] = Some(self.fit_sort(index, p, (at, node), &name, &scheme)?);
                            }
                            ExplicitIndex::Derived(_, d) => equal.push((d.clone(), index, at)),
                        }
                    }
                    for (i, p) in pi.params.iter().enumerate() {
                        let arg = match written[i].take() {
                            Some(i) => i,
                            None if p.sort == Sort::Dim => {
                                Index::Dim(self.s.fresh_dim(node, Some(p.name.clone())))
                            }
                            None => {
                                let pad = p.name.as_str().starts_with("@item-pad");
                                Index::Shape(self.s.fresh_shape(false, pad, node, Some(p.name.clone())))
                            }
                        };
                        s.bind_index(p, arg.clone());
                        args.push(arg);
                    }
                    if first_pi && let Some((_, sc)) = &scheme {
                        if let AtomTy::Pi(own) = &sc.ty.atom {
                            for (p, a) in own.params.iter().zip(&args) {
                                of_scheme.bind_index(p, a.clone());
                            }
                        }
                        for (p, q) in &sc.constraints {
                            // Numbers of items are compared when all is known; ranks decide shapes.
                            let sizes = p.vars().chain(q.vars()).any(|v| matches!(v, DimVar::SizeOf(_)));
                            let (p, q) = (of_scheme.dim(p), of_scheme.dim(q));
                            if !sizes && let Err(e) = self.s.unify_dim(&p, &q) {
                                return self.sizes_differ(&name, e, node);
                            }
                            checks.push((p, q));
                        }
                        for (d, index, at) in equal {
                            let want = of_scheme.dim(&d);
                            let Index::Dim(have) = index else {
                                return self.fail(
                                    Diagnostic::error(
                                        codes::INSTANCE,
                                        "a single dim is wanted here, not a shape",
                                    )
                                    .primary(Loc::Node(at), "a shape"),
                                );
                            };
                            if self.s.unify_dim(&want, &have).is_err() {
                                let want = self.show_dim(&want);
                                return self.fail(
                                    Diagnostic::error(
                                        codes::INSTANCE,
                                        format!("this index has to be {want}, which the others decide"),
                                    )
                                    .primary(Loc::Node(at), format!("is {have}")),
                                );
                            }
                        }
                        first_pi = false;
                    }
                    let ty = s.arr(&pi.body).lifted(&expr.ty.shape);
                    expr = Expr::new(ExprKind::IApp { func: expr, args }, ty, node);
                }
                AtomTy::Forall(q) => {
                    let mut s = Subst::new();
                    let mut args = Vec::new();
                    for p in &q.params {
                        let arg = match given_types.next() {
                            Some((TyArg::Array(t), at)) => self.fit_kind(t, p, at, &name)?,
                            Some((t, _)) => t,
                            None => {
                                let atom = self.s.fresh_atom(p.class, node);
                                match &p.shape {
                                    None => TyArg::Atom(atom),
                                    Some(v) => {
                                        let shape =
                                            self.s.fresh_shape(false, false, node, Some(v.name.clone()));
                                        TyArg::Array(ArrTy::new(atom, shape))
                                    }
                                }
                            }
                        };
                        s.bind_tparam(p, arg.clone());
                        args.push(arg);
                    }
                    let ty = s.arr(&q.body).lifted(&expr.ty.shape);
                    expr = Expr::new(ExprKind::TApp { func: expr, args }, ty, node);
                }
                _ => break,
            }
        }
        let spare =
            given.next().map(|(_, at)| (at, "index")).or(given_types.next().map(|(_, at)| (at, "type")));
        if let Some((at, what)) = spare {
            return self.fail(
                Diagnostic::error(codes::INSTANCE, format!("`{name}` takes fewer {what} arguments"))
                    .primary(Loc::Node(at), format!("one {what} argument too many"))
                    .note(match &scheme {
                        Some((_, s)) => format!("its type is `{}`", s.ty),
                        None => String::from("its type has no such binder left"),
                    }),
            );
        }
        expr = self.with_accessors(expr, &parts, node)?;
        for (p, q) in checks {
            let ty = expr.ty.clone();
            let why: Arc<str> = format!("`{name}` needs sizes that agree").into();
            expr = Expr::new(ExprKind::Check { fact: Fact::Equal(p, q), why, body: expr }, ty, node);
        }
        let adapts = scheme.as_ref().is_some_and(|(_, s)| s.adapts);
        let (vals, known, params, global) = match scheme {
            Some((g, s)) => (
                s.vals.iter().map(|(at, i)| (*at, of_scheme.index(i))).collect(),
                s.known.as_ref().map(|k| of_scheme.index(k)),
                s.params.clone(),
                Some(g),
            ),
            None => (Vec::new(), None, Vec::new(), None),
        };
        Ok(Operator { expr, vals, known, adapts, global, name, params, explicit, node })
    }

    fn fit_sort(
        &mut self,
        index: Index,
        p: &IVar,
        (at, head): (NodeId, NodeId),
        name: &str,
        scheme: &Option<(GlobalId, Arc<Scheme>)>,
    ) -> Check<Index> {
        match (&index, p.sort) {
            (Index::Dim(_), Sort::Dim) | (Index::Shape(_), Sort::Shape) => Ok(index),
            // `(i-app iota r)`: the function of a vector of that length.
            (Index::Dim(d), Sort::Shape)
                if scheme.as_ref().is_some_and(|(_, s)| !s.vals.is_empty())
                    && d.as_constant().is_some_and(|c| (0..=64).contains(&c)) =>
            {
                let r = d.as_constant().unwrap_or(0);
                Ok(Index::Shape(Shape::of_dims(
                    (0..r).map(|_| self.s.fresh_dim(head, None)).collect::<Vec<_>>(),
                )))
            }
            _ => {
                let (want, have) = match p.sort {
                    Sort::Dim => ("a single dim", "a shape"),
                    Sort::Shape => ("a shape", "a single dim"),
                };
                self.fail(
                    Diagnostic::error(codes::INSTANCE, format!("`{name}` takes {want} for `{}`", p.name))
                        .primary(Loc::Node(at), format!("{have}: `{index}`"))
                        .help(match p.sort {
                            Sort::Shape => format!("write `[{index}]`"),
                            Sort::Dim => "write the dim without brackets".to_string(),
                        }),
                )
            }
        }
    }

    fn fit_kind(&mut self, t: ArrTy, p: &TParam, at: NodeId, name: &str) -> Check<TyArg> {
        if p.shape.is_some() {
            return Ok(TyArg::Array(t));
        }
        if !t.shape.is_scalar() {
            let shown = self.show(&t);
            return self.fail(
                Diagnostic::error(
                    codes::INSTANCE,
                    format!("`{name}` takes an atom type for `{}`", p.var.name),
                )
                .primary(Loc::Node(at), format!("an array type: `{shown}`"))
                .help("write the type of the elements alone; shapes are index arguments"),
            );
        }
        if let Some(c) = p.class
            && self.s.require(&t.atom, c).is_err()
        {
            return self.class_error(&t.atom, c, at, Some(name));
        }
        Ok(TyArg::Atom(t.atom))
    }
}
