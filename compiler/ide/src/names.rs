//! What each name of a definition means: where it is bound, and where that binding is seen.
//!
//! ```text
//! (define (f [x 1]) (let ((y (+ x k))) y))      f binds the definition itself      Target::Item
//!                                               x, y: a binder, and its uses       Target::Local
//!                                               +, k: of the file or the prelude   Target::Global
//! ```
//!
//! Scope alone decides, so the answer is there while a definition does not check, or is half written. Results hold nodes;
//! the bytes are found by [`name_span`] when something is shown.

use remc_base::{Name, NodeId, Scope, Span};
use remc_driver::{Db, Def};
use remc_syntax::ast::*;
use std::sync::Arc;

/// What a name stands for, as a person sees it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Sort {
    Value,
    /// A dim or a shape.
    Index,
    /// An atom type, or the type of an array.
    Type,
    /// A field of a record.
    Label,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Target {
    /// The definition itself, where its name stands in it.
    Item,
    /// The binder at this place of [`Names::binders`].
    Local(usize),
    /// A definition of the file, of an import or of the prelude.
    Global,
    /// A label means what the record's type says.
    Label,
}

/// A name where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Occurrence {
    pub node: NodeId,
    pub name: Name,
    pub sort: Sort,
    pub target: Target,
    /// Whether it is bound here.
    pub binds: bool,
}

/// What a binder says of the type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Written {
    Nothing,
    /// `[x 1]`, `[x all]`
    Rank,
    Type,
    /// A binder of sizes or types, or of what opens a box: there is no place for a type.
    Elsewhere,
}

impl Written {
    fn of(ann: &Annotation) -> Written {
        match ann {
            Annotation::None => Written::Nothing,
            Annotation::Rank(_) | Annotation::All => Written::Rank,
            Annotation::Type(_) => Written::Type,
        }
    }
}

/// What binds a name inside a definition.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Binder {
    pub node: NodeId,
    pub name: Name,
    pub sort: Sort,
    /// The function, `let` or other form that it belongs to.
    pub owner: NodeId,
    /// Whether it is a parameter of a function.
    pub parameter: bool,
    pub written: Written,
    /// The expressions and types in which it is seen; a binder further inside may hide it there.
    pub seen: Vec<NodeId>,
}

/// The names of a definition.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Names {
    /// In the order of the walk: what an expression binds before what stands in it.
    pub occurrences: Vec<Occurrence>,
    pub binders: Vec<Binder>,
    /// Applications, and the functions that they apply.
    pub calls: Vec<(NodeId, NodeId)>,
    /// Functions without a written result type, and their bodies.
    pub functions: Vec<(NodeId, NodeId)>,
    /// Whether functions write their sizes and types as binders: then no other is bound by being mentioned.
    pub explicit: bool,
}

/// The names of a definition, kept until it changes.
#[salsa::tracked]
pub fn names<'db>(db: &'db dyn Db, def: Def<'db>) -> Arc<Names> {
    Arc::new(of_item(def.item(db)))
}

/// The names of an item.
pub fn of_item(item: &Item) -> Names {
    let mut w = Walk::default();
    match &item.kind {
        ItemKind::Define { name, ty, value } => {
            w.item(name, Sort::Value);
            w.forms.push(item.id);
            if let Some(ty) = ty {
                w.ty(ty, Free::Binds);
            }
            w.expr(value);
        }
        ItemKind::Entry { name, value } => {
            w.item(name, Sort::Value);
            w.expr(value);
        }
        ItemKind::DefineType { name, ty } => {
            w.item(name, Sort::Type);
            w.ty(ty, Free::Counts);
        }
        ItemKind::Primitive { name, tparams, iparams, params, ret } => {
            w.item(name, Sort::Value);
            w.forms.push(item.id);
            w.type_params(tparams, ret.id);
            for p in iparams {
                match p {
                    PrimitiveIndex::Param(p) => w.bind(p.id, &p.name, Sort::Index, &[ret.id]),
                    PrimitiveIndex::Equal(a, b) => {
                        w.index(a, Free::Binds);
                        w.index(b, Free::Binds);
                    }
                }
            }
            w.params(params, &[ret.id]);
            w.ty(ret, Free::Binds);
        }
        ItemKind::Expr(e) => w.expr(e),
        ItemKind::Import { .. } | ItemKind::Error => {}
    }
    w.found
}

/// Where in a text the name of an occurrence stands: its node may have a type or a rank beside it.
pub fn name_span(db: &dyn Db, def: Def<'_>, node: NodeId, name: &Name) -> Option<Span> {
    let span = def.map(db).span(node)?;
    let text = def.file(db).text(db).get(span.start as usize..span.end as usize)?;
    // Nearly always the node is the name.
    if !text.contains(|c: char| c.is_whitespace() || "()[]{};|".contains(c)) {
        return Some(span);
    }
    let tokens = remc_syntax::tokens(text);
    let found = tokens
        .tokens
        .iter()
        .find(|t| matches!(&t.kind, remc_syntax::token::TokenKind::Name(n) if n == name))?;
    Some(Span { module: span.module, start: span.start + found.start, end: span.start + found.end })
}

/// What an unbound name in a type or index means.
#[derive(Clone, Copy, PartialEq)]
enum Free {
    /// A mention of a top-level name.
    Counts,
    /// A binder, as in a parameter's annotation.
    Binds,
}

#[derive(Default)]
struct Walk {
    /// The binders in scope, innermost last. Values, types and indices share it.
    scope: Scope<Name, usize>,
    /// The forms around, innermost last.
    forms: Vec<NodeId>,
    found: Names,
}

impl Walk {
    fn item(&mut self, name: &Ident, sort: Sort) {
        let (node, name) = (name.id, name.name.clone());
        self.found.occurrences.push(Occurrence { node, name, sort, target: Target::Item, binds: true });
    }

    /// Brings a name into scope that has no type beside it.
    fn bind(&mut self, node: NodeId, name: &Name, sort: Sort, seen: &[NodeId]) {
        self.bind_written(node, name, sort, seen, (false, Written::Elsewhere));
    }

    /// A parameter, or what a `let` binds.
    fn bind_param(&mut self, p: &Param, seen: &[NodeId], parameter: bool) {
        self.bind_written(p.id, &p.name, Sort::Value, seen, (parameter, Written::of(&p.ann)));
    }

    fn bind_written(
        &mut self,
        node: NodeId,
        name: &Name,
        sort: Sort,
        seen: &[NodeId],
        (parameter, written): (bool, Written),
    ) {
        let binder = self.found.binders.len();
        let owner = self.forms.last().copied().unwrap_or(node);
        let name = name.clone();
        let seen = seen.to_vec();
        self.found.binders.push(Binder { node, name: name.clone(), sort, owner, parameter, written, seen });
        self.scope.push(name.clone(), binder);
        let target = Target::Local(binder);
        self.found.occurrences.push(Occurrence { node, name, sort, target, binds: true });
    }

    fn mention(&mut self, node: NodeId, name: &Name, sort: Sort) {
        let target = self.scope.get(name).map_or(Target::Global, |binder| Target::Local(*binder));
        self.found.occurrences.push(Occurrence { node, name: name.clone(), sort, target, binds: false });
    }

    fn label(&mut self, label: &Ident, binds: bool) {
        let (node, name) = (label.id, label.name.clone());
        let target = Target::Label;
        self.found.occurrences.push(Occurrence { node, name, sort: Sort::Label, target, binds });
    }

    fn scoped(&mut self, form: NodeId, f: impl FnOnce(&mut Self)) {
        let depth = self.scope.len();
        self.forms.push(form);
        f(self);
        self.forms.pop();
        self.scope.truncate(depth);
    }

    fn type_params(&mut self, params: &[TypeParam], seen: NodeId) {
        params.iter().for_each(|p| self.bind(p.id, &p.name, Sort::Type, &[seen]));
    }

    fn index_params(&mut self, params: &[IndexParam], seen: NodeId) {
        params.iter().for_each(|p| self.bind(p.id, &p.name, Sort::Index, &[seen]));
    }

    fn annotation(&mut self, p: &Param) {
        if let Annotation::Type(t) = &p.ann {
            self.ty(t, Free::Binds);
        }
    }

    /// Brings parameters into scope, and what their types bind.
    fn params(&mut self, params: &[Param], seen: &[NodeId]) {
        params.iter().for_each(|p| self.annotation(p));
        params.iter().for_each(|p| self.bind_param(p, seen, true));
    }

    fn exprs<'a>(&mut self, es: impl IntoIterator<Item = &'a Expr>) {
        es.into_iter().for_each(|e| self.expr(e));
    }

    fn indices<'a>(&mut self, is: impl IntoIterator<Item = &'a IndexExpr>, free: Free) {
        is.into_iter().for_each(|i| self.index(i, free));
    }

    fn expr(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Var(name) => self.mention(e.id, name, Sort::Value),
            ExprKind::Int { .. }
            | ExprKind::Float { .. }
            | ExprKind::Bool(_)
            | ExprKind::Char(_)
            | ExprKind::Str(_)
            | ExprKind::Error => {}
            ExprKind::Bracket(es) | ExprKind::Array { elems: es, .. } | ExprKind::Values(es) => {
                self.exprs(es)
            }
            ExprKind::EmptyArray { dims, ty } => {
                self.indices(dims, Free::Counts);
                self.ty(ty, Free::Counts);
            }
            ExprKind::App { func, args } => {
                self.found.calls.push((e.id, func.id));
                self.expr(func);
                self.exprs(args);
            }
            ExprKind::TApp { func, args } => {
                self.expr(func);
                args.iter().for_each(|t| self.ty(t, Free::Counts));
            }
            ExprKind::IApp { func, args } => {
                self.expr(func);
                self.indices(args, Free::Counts);
            }
            ExprKind::Rerank { func, .. } => self.expr(func),
            ExprKind::Lam { params, ret, body } => self.scoped(e.id, |w| {
                if ret.is_none() {
                    w.found.functions.push((e.id, body.id));
                }
                w.params(params, &[body.id]);
                if let Some(t) = ret {
                    w.ty(t, Free::Binds);
                }
                w.expr(body);
            }),
            ExprKind::TLam { params, body } => self.scoped(e.id, |w| {
                w.found.explicit = true;
                w.type_params(params, body.id);
                w.expr(body);
            }),
            ExprKind::ILam { params, body } => self.scoped(e.id, |w| {
                w.found.explicit = true;
                w.index_params(params, body.id);
                w.expr(body);
            }),
            ExprKind::Let { bindings, sequential, body } => self.scoped(e.id, |w| {
                if !sequential {
                    w.exprs(bindings.iter().map(|b| &b.value));
                }
                for (k, b) in bindings.iter().enumerate() {
                    let own = b.is_seen_in_value();
                    if *sequential && !own {
                        w.expr(&b.value);
                    }
                    w.annotation(&b.param);
                    if *sequential {
                        let from = if own { k } else { k + 1 };
                        let seen: Vec<NodeId> =
                            bindings[from..].iter().map(|b| b.value.id).chain([body.id]).collect();
                        w.bind_param(&b.param, &seen, false);
                    }
                    if own {
                        w.expr(&b.value);
                    }
                }
                if !sequential {
                    let bind = |b: &Binding| w.bind_param(&b.param, &[body.id], false);
                    bindings.iter().for_each(bind);
                }
                w.expr(body);
            }),
            ExprKind::Annot { expr, ty } | ExprKind::Cast { ty, value: expr } => {
                self.expr(expr);
                self.ty(ty, Free::Counts);
            }
            ExprKind::If { cond, then, otherwise } => self.exprs([cond, then, otherwise]),
            ExprKind::Box { witnesses, ty, value } => {
                self.indices(witnesses.iter().map(|(_, i)| i), Free::Counts);
                self.scoped(e.id, |w| {
                    let bind = |x: &Ident| w.bind(x.id, &x.name, Sort::Index, &[ty.id]);
                    witnesses.iter().map(|(x, _)| x).for_each(bind);
                    w.ty(ty, Free::Counts);
                });
                self.expr(value);
            }
            ExprKind::BoxInfer(e) => self.expr(e),
            ExprKind::Boxes { params, ty, dims, rows } => {
                self.indices(dims, Free::Counts);
                self.scoped(e.id, |w| {
                    params.iter().for_each(|x| w.bind(x.id, &x.name, Sort::Index, &[ty.id]));
                    w.ty(ty, Free::Counts);
                });
                for (witnesses, value) in rows {
                    self.indices(witnesses, Free::Counts);
                    self.expr(value);
                }
            }
            ExprKind::Unbox { opened, body } => {
                self.exprs(opened.iter().map(|o| &o.boxes));
                self.scoped(e.id, |w| {
                    for (k, o) in opened.iter().enumerate() {
                        w.bind(o.value.id, &o.value.name, Sort::Value, &[body.id]);
                        for i in &o.indices {
                            let named = |p: &&Ident| p.name == i.name && i.name.as_str() != "_";
                            match opened[..k].iter().flat_map(|o| &o.indices).find(named) {
                                Some(_) => w.mention(i.id, &i.name, Sort::Index),
                                None => w.bind(i.id, &i.name, Sort::Index, &[body.id]),
                            }
                        }
                    }
                    w.expr(body);
                });
            }
            ExprKind::Lift { index, value, body, .. } => {
                self.expr(value);
                self.scoped(e.id, |w| {
                    w.bind(index.id, &index.name, Sort::Index, &[body.id]);
                    w.expr(body);
                });
            }
            ExprKind::LetValues { bindings, body } => {
                self.exprs(bindings.iter().map(|(_, value)| value));
                self.scoped(e.id, |w| {
                    for (params, _) in bindings {
                        params.iter().for_each(|p| w.annotation(p));
                        params.iter().for_each(|p| w.bind_param(p, &[body.id], false));
                    }
                    w.expr(body);
                });
            }
            ExprKind::Proj { tuple, .. } => self.expr(tuple),
            ExprKind::Record(fields) => {
                for (label, value) in fields {
                    self.label(label, true);
                    self.expr(value);
                }
            }
            ExprKind::Field { record, label } => {
                self.expr(record);
                self.label(label, false);
            }
            ExprKind::With { record, fields } => {
                self.expr(record);
                for (label, value) in fields {
                    self.label(label, false);
                    self.expr(value);
                }
            }
            ExprKind::ReifyDim(i) | ExprKind::ReifyShape(i) => self.index(i, Free::Counts),
            ExprKind::AsShape { shape, value } => {
                self.indices(shape, Free::Counts);
                self.expr(value);
            }
            ExprKind::Loop { bindings, cond, body } => {
                self.exprs(bindings.iter().map(|b| &b.value));
                self.scoped(e.id, |w| {
                    bindings.iter().for_each(|b| w.annotation(&b.param));
                    let seen = [cond.id, body.id];
                    let bind = |b: &Binding| w.bind_param(&b.param, &seen, false);
                    bindings.iter().for_each(bind);
                    w.expr(cond);
                    w.expr(body);
                });
            }
        }
    }

    fn ty(&mut self, t: &TypeExpr, free: Free) {
        match &*t.kind {
            // Whether an unbound name is a variable or a defined type depends on what the file defines.
            TypeKind::Name(name) => self.mention(t.id, name, Sort::Type),
            TypeKind::Arr { atom, shape } => {
                self.ty(atom, free);
                self.indices(shape, free);
            }
            TypeKind::Fn { params, ret } => {
                params.iter().for_each(|p| self.ty(p, free));
                self.ty(ret, free);
            }
            TypeKind::Forall { params, body } => self.under(t.id, params.len(), body, free, |w| {
                w.type_params(params, body.id);
            }),
            TypeKind::Pi { params, body } | TypeKind::Sigma { params, body } => {
                self.under(t.id, params.len(), body, free, |w| w.index_params(params, body.id));
            }
            TypeKind::Tuple(ts) => ts.iter().for_each(|t| self.ty(t, free)),
            TypeKind::Record(fields) => {
                for (label, t) in fields {
                    self.label(label, true);
                    self.ty(t, free);
                }
            }
            TypeKind::Quot(t) => self.ty(t, free),
            TypeKind::Val(i) => self.index(i, free),
            TypeKind::Stream { item, length } => {
                self.ty(item, free);
                length.iter().for_each(|n| self.index(n, free));
            }
            TypeKind::Error => {}
        }
    }

    /// A type under binders. What the type binds implicitly stays in scope after it.
    fn under(
        &mut self,
        form: NodeId,
        count: usize,
        body: &TypeExpr,
        free: Free,
        bind: impl FnOnce(&mut Self),
    ) {
        let depth = self.scope.len();
        self.forms.push(form);
        bind(self);
        self.ty(body, free);
        self.forms.pop();
        self.scope.forget(depth..depth + count);
    }

    fn index(&mut self, i: &IndexExpr, free: Free) {
        match &*i.kind {
            IndexKind::Nat(_) | IndexKind::Error => {}
            IndexKind::Name(name) if free == Free::Binds && !self.scope.contains(name) => {
                // It is seen in the whole of what it is an annotation of.
                let form = self.forms.last().copied().unwrap_or(i.id);
                self.bind(i.id, name, Sort::Index, &[form]);
            }
            IndexKind::Name(name) => self.mention(i.id, name, Sort::Index),
            IndexKind::Add(parts)
            | IndexKind::Mul(parts)
            | IndexKind::Sub(parts)
            | IndexKind::Shape(parts) => self.indices(parts, free),
            IndexKind::Rank(i) | IndexKind::Size(i) => self.index(i, free),
            IndexKind::Value(e) => self.expr(e),
        }
    }
}
