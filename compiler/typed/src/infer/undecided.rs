//! Sizes and shapes that nothing decided.
//!
//! One is an error (E0309) wherever something may depend on it: in an instance, since
//! `subvector{t | in ?out @c}` gives as many items as `?out` says, and any function may ask for its sizes;
//! as a value; in the type of a definition, which says what others can do with it. What is left is in the
//! types of parameters and frames that no such place mentions: those of a function that is never applied,
//! or is applied to nothing that has a size. [`super::finish`] makes these 0. The dims of an empty array
//! are written, so no program needs a default for them.
//!
//! A binder that neither the type under it nor the body mentions is left alone: nothing depends on it.
//! Of several that are open, the result of a function comes first, since it is what leaves the others open:
//! in `(reduce + (subvector xs 1))` the message is about `subvector`.

use super::*;
use crate::codes;
use crate::ir::{ExprKind, Fact};
use crate::scheme::{Resolved, Scheme};
use std::sync::Arc;

/// A place where something depends on sizes that nothing decided.
enum Open<'e> {
    /// An instance of a function, one of whose sizes is that of its result alone.
    Result(&'e Expr, &'e FnTy, IVar, NodeId),
    Instance(&'e Expr, &'e [Index], Vec<IVar>, NodeId),
    Value(Index, NodeId),
}

impl Open<'_> {
    fn order(&self) -> usize {
        match self {
            Open::Result(..) => 0,
            Open::Instance(..) => 1,
            Open::Value(..) => 2,
        }
    }
}

impl Checker<'_> {
    /// Reports the sizes of a definition that nothing decided.
    pub(super) fn report_undecided(&mut self, e: &Expr) {
        let mut found: Vec<(Open, Vec<MetaId>)> = Vec::new();
        let mut todo = vec![e];
        while let Some(e) = todo.pop() {
            match &*e.kind {
                ExprKind::IApp { func, args } => found.extend(self.open_instance(func, args, e.node)),
                ExprKind::ReifyDim(d) => found.extend(self.open_value(Index::Dim(d.clone()), e.node)),
                ExprKind::ReifyShape(s) => found.extend(self.open_value(Index::Shape(s.clone()), e.node)),
                _ => {}
            }
            todo.extend(e.children().into_iter().rev());
        }
        found.sort_by_key(|(place, _)| place.order());
        for (place, unknown) in found {
            // What was reported as open is so once.
            if unknown.iter().any(|m| self.s.meta(*m).is_solved()) {
                continue;
            }
            let d = self.undecided_at(place);
            self.diagnostics.push(d);
            self.take_any(&unknown);
        }
        let mut unknown = Vec::new();
        super::metas::metas_of(&self.s.zonk(&e.ty), &mut unknown);
        unknown.retain(|m| !matches!(self.s.meta(*m).kind, solver::MetaKind::Atom { .. }));
        if !unknown.is_empty() {
            let shown = self.show(&e.ty);
            self.diagnostics.push(
                Diagnostic::error(codes::AMBIGUOUS_RANK, "nothing decides the sizes in the type of this")
                    .primary(Loc::Node(e.node), format!("has type `{shown}`"))
                    .help("write the type, with the sizes that are meant: (: e (→ ([int 3]) int))"),
            );
            self.take_any(&unknown);
        }
    }

    fn open_value(&self, i: Index, node: NodeId) -> Option<(Open<'static>, Vec<MetaId>)> {
        let unknown = self.unknown_in(&i);
        (!unknown.is_empty()).then_some((Open::Value(i, node), unknown))
    }

    fn open_instance<'e>(
        &self,
        func: &'e Expr,
        args: &'e [Index],
        node: NodeId,
    ) -> Option<(Open<'e>, Vec<MetaId>)> {
        let AtomTy::Pi(pi) = &func.ty.atom else { return None };
        let mut open: Vec<(usize, IVar)> = Vec::new();
        let mut unknown: Vec<MetaId> = Vec::new();
        for (i, (p, a)) in pi.params.iter().zip(args).enumerate() {
            let found = self.unknown_in(a);
            if !found.is_empty() {
                open.push((i, p.clone()));
                unknown.extend(found);
            }
        }
        if !open.is_empty()
            && let Some(scheme) = self.scheme_of(func)
        {
            open.retain(|(i, _)| !scheme.idle.contains(i));
        }
        let (_, first) = open.first()?;
        // A size of the result that no argument has is decided by the context alone.
        let of_result = under_binders(&func.ty).as_fn().filter(|f| {
            open.len() == 1
                && super::open::mentions(&f.ret, first)
                && !f.params.iter().any(|t| super::open::mentions(t, first))
        });
        let place = match of_result {
            Some(f) => Open::Result(func, f, first.clone(), node),
            None => Open::Instance(func, args, open.into_iter().map(|(_, p)| p).collect(), node),
        };
        Some((place, unknown))
    }

    fn undecided_at(&self, place: Open) -> Diagnostic<Loc> {
        match place {
            Open::Result(func, f, size, node) => {
                let (name, what, ret) = (self.name_of(func), kind(&size), self.show(&f.ret));
                Diagnostic::error(
                    codes::AMBIGUOUS_RANK,
                    format!("nothing decides the {what} of what `{name}` gives"),
                )
                .primary(Loc::Node(node), format!("gives `{ret}`, where `{}` may be any {what}", size.name))
                .help("write the type, with any size in place of 3: (: e [int 3])")
            }
            Open::Instance(func, args, open, node) => {
                let name = self.name_of(func);
                let listed: Vec<String> = open.iter().map(|p| format!("{} `{}`", kind(p), p.name)).collect();
                let listed = listed.join(" and the ");
                let shown = self.show(under_binders(&func.ty));
                let instance = self.example(&name, func, args);
                Diagnostic::error(codes::AMBIGUOUS_RANK, format!("nothing decides the {listed} of `{name}`"))
                    .primary(Loc::Node(node), format!("has type `{shown}`"))
                    .help(format!("write the sizes that are meant, for instance {instance}"))
            }
            Open::Value(i, node) => {
                let what = if i.sort() == Sort::Dim { "size" } else { "shape" };
                Diagnostic::error(codes::AMBIGUOUS_RANK, format!("nothing decides this {what}"))
                    .primary(Loc::Node(node), "its value is asked for")
                    .help("write the type of what has the size, with the number: [x [int 3]]")
            }
        }
    }

    /// The scheme of a top-level definition.
    fn scheme_of(&self, func: &Expr) -> Option<Arc<Scheme>> {
        let ExprKind::Global(g) = &*func.kind else { return None };
        [self.env.value(&g.name), self.env.prelude(&g.name)].into_iter().flatten().find_map(|r| match r {
            Resolved::Value { global, scheme } if global == *g => Some(scheme),
            _ => None,
        })
    }

    /// What an instance is of, as a message calls it.
    pub(super) fn name_of(&self, func: &Expr) -> String {
        match &*func.kind {
            ExprKind::Global(g) => g.name.to_string(),
            ExprKind::Var(v) => self.local(*v).local.name.to_string(),
            _ => "this".to_string(),
        }
    }

    /// An instance as a program writes it, with 1 for what is open.
    fn example(&self, name: &str, func: &Expr, args: &[Index]) -> String {
        let one = |d: &Dim| {
            self.s.zonk_dim(d).substitute(&mut |v| match v {
                DimVar::Meta(_) | DimVar::SizeOf(ShapeVar::Meta(_)) => Some(Dim::constant(1)),
                DimVar::RankOf(ShapeVar::Meta(_)) => Some(Dim::zero()),
                _ => None,
            })
        };
        let written = args.iter().map(|a| match a {
            Index::Dim(d) => self.show_dim(&one(d)),
            Index::Shape(s) => {
                let items = self.s.zonk_shape(s).0.into_iter().filter_map(|i| match i {
                    ShapeItem::Dim(d) => Some(ShapeItem::Dim(one(&d))),
                    ShapeItem::Var(ShapeVar::Meta(_)) => None,
                    v => Some(v),
                });
                self.show_shape(&Shape(items.collect()))
            }
        });
        let written: Vec<String> = written.collect();
        let head = if matches!(&*func.kind, ExprKind::Global(_) | ExprKind::Var(_)) { name } else { "f" };
        format!("{head}{{ | {}}}", written.join(" "))
    }

    /// The existentials of an index that nothing decided.
    pub(super) fn unknown_in(&self, i: &Index) -> Vec<MetaId> {
        let shape = match self.s.zonk_index(i) {
            Index::Dim(d) => Shape::of_dims([d]),
            Index::Shape(s) => s,
        };
        let mut found = Vec::new();
        super::metas::metas_of(&ArrTy::new(AtomTy::INT, shape), &mut found);
        found
    }

    fn take_any(&mut self, unknown: &[MetaId]) {
        for m in unknown {
            if !self.s.meta(*m).is_solved() {
                let any = match self.s.meta(*m).kind {
                    solver::MetaKind::Dim => solver::Solution::Dim(Dim::zero()),
                    _ => solver::Solution::Shape(Shape::scalar()),
                };
                self.s.decide(*m, any);
            }
        }
    }
}

fn kind(v: &IVar) -> &'static str {
    if v.sort == Sort::Dim { "size" } else { "shape" }
}

/// What stands under the binders of a type.
fn under_binders(t: &ArrTy) -> &ArrTy {
    match &t.atom {
        AtomTy::Pi(q) => under_binders(&q.body),
        AtomTy::Forall(q) => under_binders(&q.body),
        _ => t,
    }
}

/// The positions of the index binders of a finished definition that neither its type nor its body
/// mentions.
pub(super) fn idle(body: &Expr) -> Vec<usize> {
    let ExprKind::ILam { params, body } = &*body.kind else { return Vec::new() };
    let mut used = Used { left: params.iter().map(|v| v.id).collect() };
    used.ty(&body.ty);
    let mut todo = vec![body];
    while !used.left.is_empty()
        && let Some(e) = todo.pop()
    {
        match &*e.kind {
            ExprKind::IApp { args, .. } => args.iter().for_each(|i| used.index(i)),
            ExprKind::Box { witnesses, .. } => witnesses.iter().for_each(|i| used.index(i)),
            ExprKind::ReifyDim(d) => used.dim(d),
            ExprKind::ReifyShape(s) => used.shape(s),
            ExprKind::Check { fact: Fact::NonNegative(d), .. } => used.dim(d),
            ExprKind::Check { fact: Fact::Equal(p, q), .. } => {
                used.dim(p);
                used.dim(q);
            }
            _ => {}
        }
        used.ty(&e.ty);
        todo.extend(e.children());
    }
    params.iter().enumerate().filter(|(_, v)| used.left.contains(&v.id)).map(|(i, _)| i).collect()
}

/// The binders that no type and no index has mentioned so far.
struct Used {
    left: FxHashSet<u32>,
}

impl Used {
    fn var(&mut self, v: &IVar) {
        self.left.remove(&v.id);
    }

    fn index(&mut self, i: &Index) {
        match i {
            Index::Dim(d) => self.dim(d),
            Index::Shape(s) => self.shape(s),
        }
    }

    fn dim(&mut self, d: &Dim) {
        for v in d.vars() {
            if let DimVar::Rigid(w)
            | DimVar::RankOf(ShapeVar::Rigid(w))
            | DimVar::SizeOf(ShapeVar::Rigid(w)) = v
            {
                self.var(w);
            }
        }
    }

    fn shape(&mut self, s: &Shape) {
        for item in s.items() {
            match item {
                ShapeItem::Dim(d) => self.dim(d),
                ShapeItem::Var(ShapeVar::Rigid(w)) => self.var(w),
                ShapeItem::Var(_) => {}
            }
        }
    }

    fn ty(&mut self, t: &ArrTy) {
        self.shape(&t.shape);
        match &t.atom {
            AtomTy::Base(_) | AtomTy::Var(_) | AtomTy::Meta(_) => {}
            AtomTy::Fn(f) => f.params.iter().chain([&f.ret]).for_each(|p| self.ty(p)),
            AtomTy::Forall(q) => self.ty(&q.body),
            AtomTy::Pi(q) => self.ty(&q.body),
            AtomTy::Sigma(q) => self.ty(&q.body),
            AtomTy::Tuple(q) => q.fields.iter().for_each(|(_, t)| self.ty(t)),
            AtomTy::Quot(q) => self.ty(&ArrTy::scalar((**q).clone())),
        }
    }
}
