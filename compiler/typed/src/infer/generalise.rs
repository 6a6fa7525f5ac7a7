//! What stays open after all rules for shapes ([`super::decide`]): a function becomes polymorphic in what its type
//! leaves open, and everything else takes its default.

pub(super) use super::metas::{metas_of, metas_of_shape};
use super::solver::{Constraint, MetaKind, Solution};
use super::*;
use crate::codes;
use crate::ir::ExprKind;
use remc_syntax::ast::{self, ExprKind as A};
use std::sync::Arc;

/// What a definition is quantified over.
pub(super) struct Binders {
    pub ivars: Vec<IVar>,
    pub tparams: Vec<TParam>,
    /// Whether the program binds all of it itself.
    pub written: bool,
}

impl Checker<'_> {
    /// Tries postponed constraints; the first failure is reported.
    pub(super) fn settle_or_report(&mut self) -> Check<()> {
        match self.s.settle() {
            Ok(()) => Ok(()),
            Err((node, e)) => {
                // Of several parts that a use needs, one message is enough.
                self.s.pending.retain(|p| p.node != node || !matches!(p.constraint, Constraint::Part { .. }));
                self.mismatch(e, node)
            }
        }
    }

    /// Existentials that a postponed constraint ties to one from outside are not generalised: what decides that
    /// one decides them. In `(λ (x) (let (((g y) (append [1] (* x [5 9])))) …))`, so many items as are appended
    /// are 2 whether `x` is a number or a vector of two, and not any number of them.
    pub(super) fn sink_tied(&mut self, depth: u32) {
        loop {
            let mut sunk = false;
            for i in 0..self.s.pending.len() {
                let shape = |s: &Shape| ArrTy::new(AtomTy::INT, s.clone());
                let sides = match &self.s.pending[i].constraint {
                    Constraint::Dims(a, b) => vec![shape(&Shape::of_dims([a.clone(), b.clone()]))],
                    Constraint::Shapes(a, b) => vec![shape(a), shape(b)],
                    Constraint::Join { frames, result } => frames.iter().chain([result]).map(shape).collect(),
                    Constraint::Quot(a, b) => vec![ArrTy::scalar(a.clone()), ArrTy::scalar(b.clone())],
                    // The type of a part is that of its accessor: see `sink_parts`.
                    Constraint::Part { .. } => continue,
                };
                let mut tied = Vec::new();
                sides.iter().for_each(|t| metas_of(&self.s.zonk(t), &mut tied));
                let Some(least) = tied.iter().map(|m| self.s.meta(*m).depth).min().filter(|d| *d < depth)
                else {
                    continue;
                };
                for m in tied {
                    sunk |= self.s.meta(m).depth > least;
                    self.s.meta_mut(m).depth = least;
                }
            }
            if !sunk {
                return;
            }
        }
    }

    /// Whether the expression is a bracket of functions that are written or named, such as
    /// `[square abs]`: it is evaluated once for all the types that they have, as a single one is.
    pub(super) fn is_array_of_functions(&self, e: &ast::Expr) -> bool {
        match &*e.kind {
            A::Bracket(es) | A::Array { elems: es, .. } => {
                !es.is_empty() && es.iter().all(|e| self.is_function(e))
            }
            _ => false,
        }
    }

    fn is_function(&self, e: &ast::Expr) -> bool {
        match &*e.kind {
            A::Lam { .. } | A::TLam { .. } | A::ILam { .. } | A::Rerank { .. } => true,
            A::TApp { func, .. } | A::IApp { func, .. } => self.is_function(func),
            A::Var(name) => self.names_function(name),
            _ => self.is_array_of_functions(e),
        }
    }

    /// Whether the expression is an array of functions, in brackets or by its name.
    pub(super) fn holds_functions(&self, e: &ast::Expr) -> bool {
        let A::Var(name) = &*e.kind else { return self.is_array_of_functions(e) };
        self.type_of_name(name).is_some_and(|ty| {
            let body = instance(&ty);
            matches!(body.atom, AtomTy::Fn(_)) && !body.shape.is_scalar() && body.shape.dims().is_some()
        })
    }

    fn names_function(&self, name: &Name) -> bool {
        let is_val = || match self.env.value(name) {
            Some(crate::scheme::Resolved::Value { scheme, .. }) => !scheme.vals.is_empty(),
            _ => false,
        };
        let ty = self.type_of_name(name);
        ty.is_some_and(|ty| {
            matches!(instance(&ty).atom, AtomTy::Fn(_)) || self.find_value(name).is_none() && is_val()
        })
    }

    /// The type of a local value or a definition, with its binders.
    fn type_of_name(&self, name: &Name) -> Option<ArrTy> {
        match self.find_value(name) {
            Some(Binding::Local(v)) => Some(self.s.zonk(&self.local(*v).local.ty)),
            Some(_) => None,
            None if self.find_index(name).is_some() => None,
            None => match self.env.value(name) {
                Some(crate::scheme::Resolved::Value { scheme, .. }) => Some(scheme.ty.clone()),
                _ => None,
            },
        }
    }

    /// A syntactic function, with or without binders of its own, at its generalised type.
    pub(super) fn infer_polymorphic(&mut self, e: &ast::Expr, expected: Option<&ArrTy>) -> Check<Typed> {
        let mark = self.scope.len();
        let saved = self.param_implicit;
        let mut ivars = Vec::new();
        let mut tparams = Vec::new();
        let mut inner = e;
        loop {
            match &*inner.kind {
                A::ILam { params, body } => {
                    ivars.extend(self.bind_iparams(params, self.s.depth + 1));
                    inner = body;
                }
                A::TLam { params, body } => {
                    let bound = self.bind_tparams(params);
                    for p in &bound {
                        self.s.tvar_depth.insert(p.var.id, self.s.depth + 1);
                    }
                    tparams.extend(bound);
                    inner = body;
                }
                _ => break,
            }
        }
        if !(ivars.is_empty() && tparams.is_empty()) {
            self.param_implicit = Implicit::No;
        }
        self.s.depth += 1;
        let depth = self.s.depth;
        self.defining = matches!(&*inner.kind, A::Lam { .. });
        let result = self.behind_barrier(|c| Ok(c.infer(inner, expected)?.expr)).and_then(|t| {
            self.sink_parts();
            self.decide_but_results(depth)?;
            self.sink_tied(depth);
            Ok(t)
        });
        self.s.depth -= 1;
        self.param_implicit = saved;
        self.scope.truncate(mark);
        let t = result?;
        let function = matches!(&*t.kind, ExprKind::Lam { .. })
            || (matches!(&*inner.kind, A::Var(_) | A::TApp { .. } | A::IApp { .. })
                || self.is_array_of_functions(inner))
                && matches!(self.s.zonk_atom(&t.ty.atom), AtomTy::Fn(_));
        let written = !(ivars.is_empty() && tparams.is_empty());
        self.generalise(t, Binders { ivars, tparams, written }, function, depth, e.id)
    }

    /// Quantifies over the existentials of the type that are at least as deep as `depth`.
    pub(super) fn generalise(
        &mut self,
        e: Expr,
        mut binders: Binders,
        function: bool,
        depth: u32,
        node: NodeId,
    ) -> Check<Typed> {
        let (mut e, mut parts) = (e, Vec::new());
        if function {
            if !binders.written {
                (e, parts) = self.abstract_parts(e, depth, node);
            } else {
                // Written binders bind every type variable: numbers take their defaults.
                self.default_numbers(depth)?;
            }
            self.small(&e.ty, node)?;
            let ty = self.s.zonk(&e.ty);
            let mut metas = Vec::new();
            metas_of(&ty, &mut metas);
            self.quantify(metas, depth, &mut binders);
            self.settle_or_report()?;
        }
        let Binders { ivars, tparams, .. } = binders;
        if !tparams.is_empty() {
            let ty = ArrTy::scalar(AtomTy::Forall(Arc::new(ForallTy {
                params: tparams.clone(),
                body: self.s.zonk(&e.ty),
            })));
            e = Expr::new(ExprKind::TLam { params: tparams, body: e }, ty, node);
        }
        if !ivars.is_empty() {
            let ty =
                ArrTy::scalar(AtomTy::Pi(Arc::new(PiTy { params: ivars.clone(), body: self.s.zonk(&e.ty) })));
            e = Expr::new(ExprKind::ILam { params: ivars, body: e }, ty, node);
        }
        Ok(Typed { parts, ..Typed::new(e) })
    }

    /// Binders for those of the existentials that are open and at least as deep as `depth`.
    pub(super) fn quantify(&mut self, mut metas: Vec<MetaId>, depth: u32, binders: &mut Binders) {
        metas.retain(|m| self.s.meta(*m).depth >= depth && !self.s.meta(*m).is_solved());
        if metas.is_empty() {
            return;
        }
        let mut taken =
            Taken { names: binders.ivars.iter().map(|v| v.name.clone()).collect(), ..Taken::default() };
        let named = self.named_by_hand(&taken);
        for m in metas {
            let meta = self.s.meta(m).clone();
            if meta.is_solved() {
                continue;
            }
            match meta.kind {
                MetaKind::Dim => {
                    let name = match named.get(&m) {
                        Some(name) => name.to_string(),
                        None => self.free_name(meta.name.as_ref(), &["n", "m", "k", "l", "d"], &mut taken),
                    };
                    let v = self.s.fresh_ivar(Sort::Dim, &name, 0);
                    self.s.decide(m, Solution::Dim(Dim::rigid(v.clone())));
                    binders.ivars.push(v);
                }
                MetaKind::Shape { pad, .. } => {
                    let hint = if pad { Some(Name::new("@item-pad")) } else { meta.name.clone() };
                    let name = self.free_name(hint.as_ref(), &["@s", "@c", "@p"], &mut taken);
                    let v = self.s.fresh_ivar(Sort::Shape, &name, 0);
                    self.s.decide(m, Solution::Shape(Shape::rigid(v.clone())));
                    binders.ivars.push(v);
                }
                MetaKind::Atom { class, .. } => {
                    let name = self.free_name(meta.name.as_ref(), &["t", "u", "v", "w"], &mut taken);
                    let var = TVar { id: self.s.fresh_id(), name: Name::new(name) };
                    self.s.tvar_class.insert(var.id, class);
                    self.s.decide(m, Solution::Atom(AtomTy::Var(var.clone())));
                    binders.tparams.push(TParam { var, shape: None, class });
                }
            }
        }
    }

    /// Literals at least this deep that nothing decided take their defaults.
    fn default_numbers(&mut self, depth: u32) -> Check<()> {
        for m in self.s.open_atoms() {
            let meta = self.s.meta(m);
            if !meta.is_solved()
                && meta.depth >= depth
                && let MetaKind::Atom { default: Some(b), .. } = meta.kind
            {
                self.s.decide(m, Solution::Atom(AtomTy::Base(b)));
            }
        }
        self.settle_or_report()
    }

    /// Literals and other atom types that nothing decided take their defaults.
    pub(super) fn default_literals(&mut self) -> Check<()> {
        for m in self.s.open_atoms() {
            let meta = self.s.meta(m);
            if meta.is_solved() {
                continue;
            }
            if let MetaKind::Atom { class, default } = meta.kind {
                let base = default.or(match class {
                    Some(Class::Frac) => Some(BaseTy::F64),
                    Some(_) => Some(BaseTy::I64),
                    None => None,
                });
                if let Some(b) = base {
                    self.s.decide(m, Solution::Atom(AtomTy::Base(b)));
                }
            }
        }
        self.settle_or_report()
    }

    /// Constraints that nothing could decide are errors.
    pub(super) fn nothing_pending(&mut self) -> Check<()> {
        let Some(p) = self.s.pending.first().cloned() else { return Ok(()) };
        match p.constraint {
            Constraint::Join { .. } | Constraint::Shapes(..) => self.ambiguous_rank(p.node, &[]),
            Constraint::Dims(a, b) => {
                let (a, b) = (self.show_dim(&a), self.show_dim(&b));
                self.fail(
                    Diagnostic::error(
                        codes::AMBIGUOUS_RANK,
                        format!("nothing decides the sizes here: {a} has to equal {b}"),
                    )
                    .primary(Loc::Node(p.node), "sizes stay unknown")
                    .help("give the sizes with an explicit instance f{… | …} or a type annotation"),
                )
            }
            Constraint::Part { part, .. } => self.part_of_anything(&part.to_string(), p.node),
            Constraint::Quot(a, b) => {
                let (a, b) = (self.show_atom(&a), self.show_atom(&b));
                self.fail(
                    Diagnostic::error(
                        codes::AMBIGUOUS_TYPE,
                        format!("nothing decides the type here: {b} is the quotient type of {a}"),
                    )
                    .primary(Loc::Node(p.node), "the type stays unknown")
                    .help("annotate it: (: e float)"),
                )
            }
        }
    }

    /// What a person called the sizes that are still unknown: each by its first name, and no two by one.
    fn named_by_hand(&mut self, taken: &Taken) -> FxHashMap<MetaId, Name> {
        let mut named: FxHashMap<MetaId, Name> = FxHashMap::default();
        let mut names: FxHashSet<Name> = FxHashSet::default();
        for (m, name) in self.named_sizes.unknown(&self.s) {
            let free = !taken.names.contains(&name) && !self.is_in_scope(&name) && !names.contains(&name);
            if !named.contains_key(&m) && free {
                names.insert(name.clone());
                named.insert(m, name);
            }
        }
        named
    }

    fn is_in_scope(&self, name: &Name) -> bool {
        [Space::Values, Space::Indices, Space::Types]
            .into_iter()
            .any(|s| self.scope.contains(&(s, name.clone())))
    }

    /// The name wished for, else the first of the list that is free.
    fn free_name(&self, hint: Option<&Name>, list: &[&str], taken: &mut Taken) -> String {
        let hint = hint.map(Name::as_str);
        let base = hint.unwrap_or(list[0]);
        // Padding keeps its name: it is known by it.
        let list = if base.starts_with("@item-pad") { &[] } else { list };
        let free = |n: &str, taken: &Taken| {
            let name = Name::new(n);
            !taken.names.contains(&name) && !self.is_in_scope(&name) && !self.named_sizes.has(&name)
        };
        let given = hint.into_iter().chain(list.iter().copied()).find(|n| free(n, taken)).map(String::from);
        let name = given.unwrap_or_else(|| {
            let mut last = taken.last.get(base).copied().unwrap_or(0);
            let name = loop {
                last += 1;
                let name = format!("{base}{last}");
                if free(&name, taken) {
                    break name;
                }
            };
            taken.last.insert(base.to_string(), last);
            name
        });
        taken.names.insert(Name::new(&name));
        name
    }

    /// Requires an expression to have a type.
    pub(super) fn expect(&mut self, e: &Expr, want: &ArrTy, at: NodeId) -> Check<()> {
        self.s.node = Some(e.node);
        match self.s.unify(want, &e.ty) {
            Ok(()) => Ok(()),
            Err(m) => self.annotated(m, e, want, at),
        }
    }
}

/// The names that a definition's binders have so far.
#[derive(Default)]
struct Taken {
    names: FxHashSet<Name>,
    /// The last number behind each base.
    last: FxHashMap<String, usize>,
}

/// What stands under the binders of a type.
fn instance(t: &ArrTy) -> &ArrTy {
    match &t.atom {
        AtomTy::Pi(q) => instance(&q.body),
        AtomTy::Forall(q) => instance(&q.body),
        _ => t,
    }
}
