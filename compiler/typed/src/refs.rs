//! The top-level names that an item mentions: the edges of the call graph.
//!
//! Found by scope alone, before any type is known, so that recursion is seen (and reported) before
//! inference could run into it. The walk errs on the side of too many names: a name counts unless a
//! binder around it has it. Index and type variables that a parameter's type mentions without a binder
//! are bound by the parameter (language reference, "Inference"), so they do not count.

use remc_base::{Name, Scope};
use remc_syntax::ast::*;

/// The free top-level names of an item, each once, in order of first mention.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct References {
    pub values: Vec<Name>,
    pub types: Vec<Name>,
}

/// The names that `item` mentions and does not bind.
pub fn references(item: &Item) -> References {
    let mut w = Walk::default();
    match &item.kind {
        ItemKind::Define { ty, value, .. } => {
            // The type's own variables scope over the value.
            if let Some(ty) = ty {
                w.ty(ty, Free::Binds);
            }
            w.expr(value);
        }
        ItemKind::Entry { value, .. } => w.expr(value),
        ItemKind::DefineType { ty, .. } => w.ty(ty, Free::Counts),
        ItemKind::Primitive { tparams, iparams, params, ret, .. } => {
            w.bind(tparams.iter().map(|p| p.name.clone()));
            for p in iparams {
                match p {
                    PrimitiveIndex::Param(p) => w.bind([p.name.clone()]),
                    PrimitiveIndex::Equal(a, b) => {
                        w.index(a, Free::Binds);
                        w.index(b, Free::Binds);
                    }
                }
            }
            w.params(params);
            w.ty(ret, Free::Binds);
        }
        ItemKind::Expr(e) => w.expr(e),
        ItemKind::Import { .. } | ItemKind::Error => {}
    }
    w.found
}

/// Whether an expression mentions a name of a value, and does not bind it.
pub fn mentions(e: &Expr, name: &Name) -> bool {
    let mut w = Walk::default();
    w.expr(e);
    w.found.values.contains(name)
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
    /// Innermost last. Values, types and indices share it: a name bound as any of them hides the rest.
    scope: Scope<Name, ()>,
    found: References,
}

impl Walk {
    fn bound(&self, name: &Name) -> bool {
        self.scope.contains(name)
    }

    fn bind(&mut self, names: impl IntoIterator<Item = Name>) {
        names.into_iter().for_each(|name| self.scope.push(name, ()));
    }

    fn value(&mut self, name: &Name) {
        if !self.bound(name) && !self.found.values.contains(name) {
            self.found.values.push(name.clone());
        }
    }

    fn scoped(&mut self, f: impl FnOnce(&mut Self)) {
        let depth = self.scope.len();
        f(self);
        self.scope.truncate(depth);
    }

    fn param(&mut self, p: &Param) {
        if let Annotation::Type(t) = &p.ann {
            self.ty(t, Free::Binds);
        }
    }

    /// Brings the parameters into scope, and what their types bind.
    fn params(&mut self, params: &[Param]) {
        for p in params {
            self.param(p);
        }
        self.bind(params.iter().map(|p| p.name.clone()));
    }

    fn exprs<'a>(&mut self, es: impl IntoIterator<Item = &'a Expr>) {
        for e in es {
            self.expr(e);
        }
    }

    fn indices<'a>(&mut self, is: impl IntoIterator<Item = &'a IndexExpr>, free: Free) {
        for i in is {
            self.index(i, free);
        }
    }

    fn expr(&mut self, e: &Expr) {
        match &*e.kind {
            ExprKind::Var(name) => self.value(name),
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
                self.expr(func);
                self.exprs(args);
            }
            ExprKind::TApp { func, args } => {
                self.expr(func);
                for t in args {
                    self.ty(t, Free::Counts);
                }
            }
            ExprKind::IApp { func, args } => {
                self.expr(func);
                self.indices(args, Free::Counts);
            }
            ExprKind::Rerank { func, .. } => self.expr(func),
            ExprKind::Lam { params, ret, body } => self.scoped(|w| {
                w.params(params);
                if let Some(t) = ret {
                    w.ty(t, Free::Binds);
                }
                w.expr(body);
            }),
            ExprKind::TLam { params, body } => self.scoped(|w| {
                w.bind(params.iter().map(|p| p.name.clone()));
                w.expr(body);
            }),
            ExprKind::ILam { params, body } => self.scoped(|w| {
                w.bind(params.iter().map(|p| p.name.clone()));
                w.expr(body);
            }),
            ExprKind::Let { bindings, sequential, body } => self.scoped(|w| {
                if !sequential {
                    w.exprs(bindings.iter().map(|b| &b.value));
                }
                for b in bindings {
                    if b.is_seen_in_value() {
                        w.bind([b.param.name.clone()]);
                    }
                    if *sequential {
                        w.expr(&b.value);
                    }
                    w.param(&b.param);
                    if *sequential {
                        w.bind([b.param.name.clone()]);
                    }
                }
                if !sequential {
                    w.bind(bindings.iter().map(|b| b.param.name.clone()));
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
                self.scoped(|w| {
                    w.bind(witnesses.iter().map(|(x, _)| x.name.clone()));
                    w.ty(ty, Free::Counts);
                });
                self.expr(value);
            }
            ExprKind::BoxInfer(e) => self.expr(e),
            ExprKind::Boxes { params, ty, dims, rows } => {
                self.indices(dims, Free::Counts);
                self.scoped(|w| {
                    w.bind(params.iter().map(|p| p.name.clone()));
                    w.ty(ty, Free::Counts);
                });
                for (witnesses, value) in rows {
                    self.indices(witnesses, Free::Counts);
                    self.expr(value);
                }
            }
            ExprKind::Unbox { opened, body } => {
                self.exprs(opened.iter().map(|o| &o.boxes));
                self.scoped(|w| {
                    for o in opened {
                        w.bind([&o.value].into_iter().chain(&o.indices).map(|i| i.name.clone()));
                    }
                    w.expr(body);
                });
            }
            ExprKind::Lift { index, value, body, .. } => {
                self.expr(value);
                self.scoped(|w| {
                    w.bind([index.name.clone()]);
                    w.expr(body);
                });
            }
            ExprKind::LetValues { bindings, body } => {
                self.exprs(bindings.iter().map(|(_, value)| value));
                self.scoped(|w| {
                    bindings.iter().for_each(|(params, _)| w.params(params));
                    w.expr(body);
                });
            }
            ExprKind::Proj { tuple, .. } => self.expr(tuple),
            ExprKind::Record(fields) => self.exprs(fields.iter().map(|(_, e)| e)),
            ExprKind::Field { record, .. } => self.expr(record),
            ExprKind::With { record, fields } => {
                self.expr(record);
                self.exprs(fields.iter().map(|(_, e)| e));
            }
            ExprKind::ReifyDim(i) | ExprKind::ReifyShape(i) => self.index(i, Free::Counts),
            ExprKind::AsShape { shape, value } => {
                self.indices(shape, Free::Counts);
                self.expr(value);
            }
            ExprKind::Loop { bindings, cond, body } => {
                self.exprs(bindings.iter().map(|b| &b.value));
                self.scoped(|w| {
                    for b in bindings {
                        w.param(&b.param);
                    }
                    w.bind(bindings.iter().map(|b| b.param.name.clone()));
                    w.expr(cond);
                    w.expr(body);
                });
            }
        }
    }

    fn ty(&mut self, t: &TypeExpr, free: Free) {
        match &*t.kind {
            TypeKind::Name(name) => {
                // A type name counts in either case: whether an unbound name of a parameter's type is
                // a variable or a `define-type` depends on what the module defines.
                if !self.bound(name) && !self.found.types.contains(name) {
                    self.found.types.push(name.clone());
                }
            }
            TypeKind::Arr { atom, shape } => {
                self.ty(atom, free);
                self.indices(shape, free);
            }
            TypeKind::Fn { params, ret } => {
                for p in params {
                    self.ty(p, free);
                }
                self.ty(ret, free);
            }
            TypeKind::Forall { params, body } => {
                self.under(params.iter().map(|p| p.name.clone()).collect(), body, free)
            }
            TypeKind::Pi { params, body } | TypeKind::Sigma { params, body } => {
                self.under(params.iter().map(|p| p.name.clone()).collect(), body, free)
            }
            TypeKind::Tuple(ts) => {
                for t in ts {
                    self.ty(t, free);
                }
            }
            TypeKind::Record(fields) => {
                for (_, t) in fields {
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
    fn under(&mut self, binders: Vec<Name>, body: &TypeExpr, free: Free) {
        let depth = self.scope.len();
        let n = binders.len();
        self.bind(binders);
        self.ty(body, free);
        self.scope.forget(depth..depth + n);
    }

    fn index(&mut self, i: &IndexExpr, free: Free) {
        match &*i.kind {
            IndexKind::Nat(_) | IndexKind::Error => {}
            IndexKind::Name(name) => match free {
                Free::Counts => self.value(name),
                Free::Binds if !self.bound(name) => self.bind([name.clone()]),
                Free::Binds => {}
            },
            IndexKind::Add(parts)
            | IndexKind::Mul(parts)
            | IndexKind::Sub(parts)
            | IndexKind::Shape(parts) => self.indices(parts, free),
            IndexKind::Rank(i) | IndexKind::Size(i) => self.index(i, free),
            IndexKind::Value(e) => self.expr(e),
        }
    }
}
