//! The last step: existentials out, checks in.
//!
//! Before: a term whose types still mention (solved) existentials. After: a closed term. An index
//! argument or witness that is not provably natural is wrapped in a `check` here, where everything is
//! known that ever will be; sizes that have to agree are compared, and checked at run time if they stay
//! open. A literal is compared with the range of its type.
//!
//! Sizes that nothing decided, and that nothing depends on, are 0, and shapes empty; [`super::undecided`]
//! has reported all others.

use super::*;
use crate::codes;
use crate::ir::{ExprKind, Fact, Lit, Local};
use std::sync::Arc;

impl Checker<'_> {
    /// The finished term; errors that only show now are reported.
    pub(super) fn finish(&mut self, e: Expr) -> Expr {
        let ty = self.finish_ty(&e.ty, e.node);
        let node = e.node;
        if let ExprKind::App { func, args, .. } = &*e.kind
            && let ([tuple], Some(position)) = (args.as_slice(), self.accessed(func))
        {
            let tuple = self.finish(tuple.expr.clone());
            return Expr::new(ExprKind::Field { tuple, position }, ty, node);
        }
        let mut checks: Vec<(Dim, String)> = Vec::new();
        let kind = match *e.kind {
            ExprKind::Var(v) => match self.finished_accessor(v, node) {
                Some(Expr { kind, .. }) if !matches!(*kind, ExprKind::Var(_)) => {
                    return self.finish(Expr { kind, ty, node });
                }
                Some(Expr { kind, .. }) => *kind,
                None => ExprKind::Var(v),
            },
            ExprKind::Global(g) => ExprKind::Global(g),
            ExprKind::Lit(l) => ExprKind::Lit(self.finish_literal(l, &ty, node)),
            ExprKind::Frame { dims, elems } => ExprKind::Frame {
                dims: dims.iter().map(|d| self.s.zonk_dim(d)).collect(),
                elems: elems.into_iter().map(|e| self.finish(e)).collect(),
            },
            ExprKind::Lam { params, body } => ExprKind::Lam {
                params: params.into_iter().map(|p| self.finish_local(p, node)).collect(),
                body: self.finish(body),
            },
            ExprKind::TLam { params, body } => ExprKind::TLam { params, body: self.finish(body) },
            ExprKind::ILam { params, body } => ExprKind::ILam { params, body: self.finish(body) },
            ExprKind::App { func, args, frame } => ExprKind::App {
                func: self.finish(func),
                args: args
                    .into_iter()
                    .map(|a| ir::Arg { frame: self.finish_shape(&a.frame), expr: self.finish(a.expr) })
                    .collect(),
                frame: self.finish_shape(&frame),
            },
            ExprKind::TApp { func, args } => ExprKind::TApp {
                args: args
                    .iter()
                    .map(|a| match a {
                        TyArg::Atom(t) => TyArg::Atom(self.finish_ty(&ArrTy::scalar(t.clone()), node).atom),
                        TyArg::Array(t) => TyArg::Array(self.finish_ty(t, node)),
                    })
                    .collect(),
                func: self.finish(func),
            },
            ExprKind::IApp { func, args } => {
                let name = self.name_of(&func);
                let params = match &func.ty.atom {
                    AtomTy::Pi(q) => q.params.clone(),
                    _ => Vec::new(),
                };
                let args: Vec<Index> = args.iter().map(|a| self.finish_index(a)).collect();
                for (i, a) in args.iter().enumerate() {
                    let what = params.get(i).map_or("an index", |p| p.name.as_str()).to_string();
                    self.natural(
                        a,
                        &mut checks,
                        |d| {
                            if d.terms().iter().any(|(_, c)| *c < 0) {
                                format!("`{name}` needs more items than there are")
                            } else {
                                format!("`{name}` needs a size `{what}` that is not negative")
                            }
                        },
                        node,
                    );
                }
                ExprKind::IApp { func: self.finish(func), args }
            }
            ExprKind::Let { local, value, body } => ExprKind::Let {
                local: self.finish_local(local, node),
                value: self.finish(value),
                body: self.finish(body),
            },
            ExprKind::If { cond, then, otherwise } => ExprKind::If {
                cond: self.finish(cond),
                then: self.finish(then),
                otherwise: self.finish(otherwise),
            },
            ExprKind::Box { witnesses, value } => {
                let witnesses: Vec<Index> = witnesses.iter().map(|w| self.finish_index(w)).collect();
                for w in &witnesses {
                    self.natural(w, &mut checks, |_| "a size would be negative".into(), node);
                }
                ExprKind::Box { witnesses, value: self.finish(value) }
            }
            ExprKind::Unbox { boxes, indices, local, body } => ExprKind::Unbox {
                boxes: self.finish(boxes),
                indices,
                local: self.finish_local(local, node),
                body: self.finish(body),
            },
            ExprKind::Lift { kind, indices, value, body } => {
                ExprKind::Lift { kind, indices, value: self.finish(value), body: self.finish(body) }
            }
            ExprKind::Check { fact, why, body } => {
                let fact = match fact {
                    Fact::NonNegative(d) => Fact::NonNegative(self.finish_dim(&d)),
                    Fact::Equal(p, q) => Fact::Equal(self.finish_dim(&p), self.finish_dim(&q)),
                };
                let body = self.finish(body);
                let trivial = match &fact {
                    Fact::NonNegative(d) => d.is_never_negative(),
                    Fact::Equal(p, q) => {
                        let diff = p.sub(q);
                        if let Some(c) = diff.as_constant()
                            && c != 0
                        {
                            let _ = self.unequal_sizes::<()>(p, q, &why, node);
                        }
                        diff == Dim::zero()
                    }
                };
                if trivial {
                    return body;
                }
                ExprKind::Check { fact, why, body }
            }
            ExprKind::ReifyDim(d) => {
                let d = self.finish_dim(&d);
                self.finish_literal(Lit::Int(d.as_constant().unwrap_or(0)), &ty, node);
                ExprKind::ReifyDim(d)
            }
            ExprKind::ReifyShape(s) => ExprKind::ReifyShape(self.finish_shape(&s)),
            ExprKind::Tuple(es) => ExprKind::Tuple(es.into_iter().map(|e| self.finish(e)).collect()),
            ExprKind::Field { tuple, position } => ExprKind::Field { tuple: self.finish(tuple), position },
            // What `converted` wrote. Where ints are wanted it goes; a program's own cast has a node of its own.
            ExprKind::Cast(e) if e.node == node => {
                let e = self.finish(e);
                if e.ty.atom == ty.atom {
                    return e;
                }
                if let Some(count) = e.ty.shape.size().as_constant() {
                    self.finish_literal(Lit::Int((count - 1).max(0)), &ty, node);
                }
                ExprKind::Cast(e)
            }
            ExprKind::Cast(e) => ExprKind::Cast(self.finish(e)),
            ExprKind::AsShape(e) => ExprKind::AsShape(self.finish(e)),
            ExprKind::Loop { locals, cond, body } => ExprKind::Loop {
                locals: locals
                    .into_iter()
                    .map(|(l, e)| (self.finish_local(l, node), self.finish(e)))
                    .collect(),
                cond: self.finish(cond),
                body: self.finish(body),
            },
        };
        let mut out = Expr::new(kind, ty.clone(), node);
        for (d, why) in checks {
            let why: Arc<str> = why.into();
            out = Expr::new(ExprKind::Check { fact: Fact::NonNegative(d), why, body: out }, ty.clone(), node);
        }
        out
    }

    fn finish_local(&mut self, l: Local, node: NodeId) -> Local {
        Local { ty: self.finish_ty(&l.ty, node), ..l }
    }

    /// Collects the dims that have to be checked.
    fn natural(
        &mut self,
        i: &Index,
        checks: &mut Vec<(Dim, String)>,
        why: impl Fn(&Dim) -> String,
        node: NodeId,
    ) {
        let dims: Vec<Dim> = match i {
            Index::Dim(d) => vec![d.clone()],
            Index::Shape(s) => s.known_dims().cloned().collect(),
        };
        for d in dims {
            if d.is_never_negative() || checks.iter().any(|(c, _)| *c == d) {
                continue;
            }
            if let Some(c) = d.as_constant() {
                self.diagnostics.push(
                    Diagnostic::error(codes::NEGATIVE_DIM, format!("{}: it would be {c}", why(&d)))
                        .primary(Loc::Node(node), "a negative size"),
                );
                continue;
            }
            let text = why(&d);
            checks.push((d, text));
        }
    }

    /// Dims that nothing decided and nothing depends on are 0, shapes empty.
    pub(super) fn finish_dim(&self, d: &Dim) -> Dim {
        self.s.zonk_dim(d).substitute(&mut |v| match v {
            DimVar::Meta(_) | DimVar::RankOf(ShapeVar::Meta(_)) => Some(Dim::zero()),
            DimVar::SizeOf(ShapeVar::Meta(_)) => Some(Dim::constant(1)),
            _ => None,
        })
    }

    fn finish_shape(&self, s: &Shape) -> Shape {
        Shape(
            self.s
                .zonk_shape(s)
                .0
                .into_iter()
                .filter_map(|i| match i {
                    ShapeItem::Dim(d) => Some(ShapeItem::Dim(self.finish_dim(&d))),
                    ShapeItem::Var(ShapeVar::Meta(_)) => None,
                    v => Some(v),
                })
                .collect(),
        )
    }

    fn finish_index(&self, i: &Index) -> Index {
        match i {
            Index::Dim(d) => Index::Dim(self.finish_dim(d)),
            Index::Shape(s) => Index::Shape(self.finish_shape(s)),
        }
    }

    pub(super) fn finish_ty(&mut self, t: &ArrTy, node: NodeId) -> ArrTy {
        let t = self.s.zonk(t);
        self.closed(&t, node)
    }

    fn closed(&mut self, t: &ArrTy, node: NodeId) -> ArrTy {
        ArrTy { atom: self.closed_atom(&t.atom, node), shape: self.finish_shape(&t.shape) }
    }

    fn closed_atom(&mut self, t: &AtomTy, node: NodeId) -> AtomTy {
        match t {
            AtomTy::Base(_) | AtomTy::Var(_) => t.clone(),
            // It stood in the type before.
            AtomTy::Meta(m) if self.s.meta(*m).is_solved() => AtomTy::INT,
            AtomTy::Meta(m) => {
                let origin = self.s.meta(*m).origin;
                self.s.decide(*m, solver::Solution::Atom(AtomTy::INT));
                self.diagnostics.push(if self.empties.contains(&origin) {
                    Diagnostic::error(codes::AMBIGUOUS_TYPE, "nothing decides the type of `[]`")
                        .primary(Loc::Node(origin), "an array of what?")
                        .help("write (array [0] int) for an empty vector of `int`")
                } else {
                    Diagnostic::error(codes::AMBIGUOUS_TYPE, "nothing decides the type of this")
                        .primary(Loc::Node(origin), "its element type stays unknown")
                        .help("annotate it, as in (: e [int 3]), or give the instance: f{int | …}")
                });
                AtomTy::INT
            }
            AtomTy::Fn(f) => {
                let params = f.params.iter().map(|p| self.closed(p, node)).collect();
                AtomTy::func(params, self.closed(&f.ret, node))
            }
            AtomTy::Forall(q) => {
                let body = self.closed(&q.body, node);
                AtomTy::Forall(Arc::new(ForallTy { params: q.params.clone(), body }))
            }
            AtomTy::Pi(q) => {
                let body = self.closed(&q.body, node);
                AtomTy::Pi(Arc::new(PiTy { params: q.params.clone(), body }))
            }
            AtomTy::Sigma(q) => {
                let body = self.closed(&q.body, node);
                AtomTy::sigma(q.params.clone(), body)
            }
            AtomTy::Tuple(q) => {
                AtomTy::tuple(q.fields.iter().map(|(l, t)| (l.clone(), self.closed(t, node))).collect())
            }
            AtomTy::Quot(q) => {
                let q = self.closed_atom(q, node);
                self.s.zonk_atom(&AtomTy::Quot(Arc::new(q)))
            }
        }
    }

    fn finish_literal(&mut self, l: Lit, ty: &ArrTy, node: NodeId) -> Lit {
        if let (Lit::Int(n), AtomTy::Base(b)) = (l, &ty.atom)
            && let Some((lo, hi)) = b.integer_range()
            && !(lo..=hi).contains(&n)
        {
            self.diagnostics.push(
                Diagnostic::error(codes::LITERAL_RANGE, format!("{n} does not fit `{b}`"))
                    .primary(Loc::Node(node), format!("`{b}` holds {lo} to {hi}"))
                    .help(match n {
                        n if n > i64::MAX.into() => {
                            "`u64` holds it: give it or its neighbours the suffix `u64`"
                        }
                        _ => "use a wider type, for instance by a suffix such as `i64` on one operand",
                    }),
            );
        }
        l
    }
}
