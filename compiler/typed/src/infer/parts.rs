//! Parts of tuples and records whose type is not known: `(define (swap p) (values (proj 1 p) (proj 0 p)))`.
//!
//! A function that only takes parts works on every tuple that has them. What it needs is a [`Row`]: "the
//! type `t` has a part 0, which is a `u`". A row whose `t` becomes a tuple is solved by its component.
//! One that is open where a function is generalised is generalised too: the function takes, before its
//! own parameters, one function for each part, which takes it out, and every use gives them.
//!
//! ```text
//! (define (swap p) …)      ⇒  (define (swap{t u v | …} [part-1 (→ (t) u)] [part-0 (→ (t) v)])
//!                               (λ ([p t]) (values (part-1 p) (part-0 p))))
//! (swap (values 1 #t))     ⇒  ((swap{…} (λ ([x (Tuple int bool)]) (proj 1 x)) (λ … (proj 0 x)))
//!                               (values 1 #t))
//! ```
//!
//! This is the passing of dictionaries that implements type classes (Wadler and Blott, 1989), for the
//! rows of Gaster and Jones (1996) without extension. So nothing after the checker knows of rows, and
//! inlining leaves nothing of the functions. Two rows of one type and part have one type. Tuples are not
//! guessed: a type that nothing decides in a value is an error.

use super::*;
use crate::codes;
use crate::ir::{Arg, ExprKind};
use crate::scheme::Part;
use std::sync::Arc;

/// A part of a type, and the variable that stands for the function that takes it out.
#[derive(Clone)]
pub(super) struct Row {
    tuple: AtomTy,
    part: Part,
    accessor: VarId,
}

impl Checker<'_> {
    /// The part of a value whose type is still open; `tuple` has an existential for its atom type.
    pub(super) fn open_part(&mut self, tuple: Expr, part: Part, node: NodeId) -> Check<Typed> {
        let ty = self.s.zonk(&tuple.ty);
        let known = self.rows.iter().find(|r| r.part == part && self.s.zonk_atom(&r.tuple) == ty.atom);
        let (func, ret) = match known.map(|r| self.local(r.accessor).local.clone()) {
            Some(local) => {
                let Some(f) = local.ty.as_fn().cloned() else { return Err(Reported) };
                (Expr::var(&local, node), f.ret.clone())
            }
            None => {
                let ret = ArrTy::new(self.s.fresh_atom(None, node), self.s.fresh_result_shape(node));
                (self.accessor(&ty.atom, part, &ret, node)?, ret)
            }
        };
        let frame = ty.shape.clone();
        let args = vec![Arg { expr: tuple, frame: frame.clone() }];
        let ty = ret.lifted(&frame);
        Ok(Typed::new(Expr::new(ExprKind::App { func, args, frame }, ty, node)))
    }

    /// The function that takes the part out of a `tuple`: a variable until the type is known.
    fn accessor(&mut self, tuple: &AtomTy, part: Part, ret: &ArrTy, node: NodeId) -> Check<Expr> {
        let ty = ArrTy::scalar(AtomTy::func(vec![ArrTy::scalar(tuple.clone())], ret.clone()));
        let accessor = self.new_local(&Name::new(format!("part-{part}")), ty, None);
        self.rows.push(Row { tuple: tuple.clone(), part: part.clone(), accessor });
        self.s.node = Some(node);
        match self.s.has_part(tuple, part, ret) {
            Ok(()) => Ok(Expr::var(&self.local(accessor).local, node)),
            Err(e) => self.mismatch(e, node),
        }
    }

    /// A function that was generalised over parts, at this use: given the functions that take them out.
    pub(super) fn with_accessors(&mut self, func: Expr, parts: &[Part], node: NodeId) -> Check<Expr> {
        let ty = self.s.zonk(&func.ty);
        let Some(f) = ty.as_fn().filter(|_| !parts.is_empty()) else { return Ok(func) };
        let mut args = Vec::new();
        for (p, part) in f.params.iter().zip(parts) {
            let Some([tuple]) = p.as_fn().map(|a| a.params.as_slice()) else { return Err(Reported) };
            let ret = p.as_fn().map_or(p, |a| &a.ret);
            let expr = self.accessor(&tuple.atom, part.clone(), ret, node)?;
            args.push(Arg { expr, frame: Shape::scalar() });
        }
        let frame = Shape::scalar();
        Ok(Expr::new(ExprKind::App { func, args, frame }, f.ret.clone(), node))
    }

    /// The parts of a type from outside of a function are from there too.
    pub(super) fn sink_parts(&mut self) {
        for i in 0..self.rows.len() {
            let (tuple, accessor) = (self.rows[i].tuple.clone(), self.rows[i].accessor);
            if let AtomTy::Meta(m) = self.s.zonk_atom(&tuple) {
                let (depth, ty) = (self.s.meta(m).depth, self.s.zonk(&self.local(accessor).local.ty));
                let _ = self.s.sink(&ty, depth);
            }
        }
    }

    /// A function that is about to be generalised, over the parts of the types that it will be generalised
    /// over.
    pub(super) fn abstract_parts(&mut self, e: Expr, depth: u32, node: NodeId) -> (Expr, Vec<Part>) {
        let mut chosen: Vec<Row> = Vec::new();
        let mut metas = Vec::new();
        super::metas::metas_of(&self.s.zonk(&e.ty), &mut metas);
        loop {
            let next = self.rows.iter().find(|r| {
                let tuple = self.s.zonk_atom(&r.tuple);
                let AtomTy::Meta(m) = &tuple else { return false };
                self.s.meta(*m).depth >= depth
                    && metas.contains(m)
                    && !chosen.iter().any(|c| c.part == r.part && self.s.zonk_atom(&c.tuple) == tuple)
            });
            let Some(row) = next.cloned() else { break };
            super::metas::metas_of(&self.s.zonk(&self.local(row.accessor).local.ty), &mut metas);
            chosen.push(row);
        }
        if chosen.is_empty() {
            return (e, Vec::new());
        }
        let tuples: Vec<AtomTy> = chosen.iter().map(|r| self.s.zonk_atom(&r.tuple)).collect();
        self.s.forget_parts(&tuples);
        let params: Vec<_> = chosen.iter().map(|r| self.local(r.accessor).local.clone()).collect();
        let ty = AtomTy::func(params.iter().map(|p| self.s.zonk(&p.ty)).collect(), self.s.zonk(&e.ty));
        let e = Expr::new(ExprKind::Lam { params, body: e }, ArrTy::scalar(ty), node);
        (e, chosen.into_iter().map(|r| r.part).collect())
    }

    /// What stands for an accessor in the finished term: the component, where the type is known now, else
    /// the parameter for it. `None` if the variable is no accessor.
    pub(super) fn finished_accessor(&mut self, v: VarId, node: NodeId) -> Option<Expr> {
        let row = self.rows.iter().find(|r| r.accessor == v)?.clone();
        let tuple = self.s.zonk_atom(&row.tuple);
        if let Some(position) = row.part.position_in(&tuple) {
            let ty = self.s.zonk(&self.local(v).local.ty);
            let ret = ty.as_fn().map(|f| f.ret.clone())?;
            let x = self.new_local(&Name::new("x"), ArrTy::scalar(tuple), None);
            let x = self.local(x).local.clone();
            let body = Expr::new(ExprKind::Field { tuple: Expr::var(&x, node), position }, ret, node);
            return Some(Expr::new(ExprKind::Lam { params: vec![x], body }, ty, node));
        }
        let first = self.rows.iter().find(|r| r.part == row.part && self.s.zonk_atom(&r.tuple) == tuple)?;
        Some(Expr::var(&self.local(first.accessor).local, node))
    }

    /// The position of the component that applying the variable takes out, where that is known.
    pub(super) fn accessed(&self, func: &Expr) -> Option<usize> {
        let ExprKind::Var(v) = &*func.kind else { return None };
        let row = self.rows.iter().find(|r| r.accessor == *v)?;
        row.part.position_in(&self.s.zonk_atom(&row.tuple))
    }

    /// A part of something that has none, or not this one.
    pub(super) fn no_part<T>(&mut self, ty: &ArrTy, part: &str, node: NodeId) -> Check<T> {
        let shown = self.show(ty);
        let labels: Vec<&Name> = match &ty.atom {
            AtomTy::Tuple(t) => t.fields.iter().filter_map(|(l, _)| l.as_ref()).collect(),
            _ => Vec::new(),
        };
        let d = Diagnostic::error(codes::COMPONENT, format!("there is no component `{part}` here"))
            .primary(Loc::Node(node), format!("has type `{shown}`"));
        self.fail(match (&ty.atom, labels.as_slice()) {
            (AtomTy::Tuple(_), []) => d.help("the components of a tuple are counted from 0: (proj 0 e)"),
            (AtomTy::Tuple(_), labels) => {
                let labels: Vec<String> = labels.iter().map(|l| format!("`{l}`")).collect();
                d.help(format!("the record has the fields {}", labels.join(", ")))
            }
            _ => d.help("components are those of (values …), fields those of (record …)"),
        })
    }

    /// A part of something of which nothing is known.
    pub(super) fn part_of_anything<T>(&mut self, part: &str, node: NodeId) -> Check<T> {
        self.fail(
            Diagnostic::error(codes::COMPONENT, format!("what `{part}` is a part of is not known here"))
                .primary(Loc::Node(node), "a value of any type so far")
                .help("write its type, [r (Record (x float) (y float))]; or take the parts out where the whole is made, and pass them on"),
        )
    }

    /// `(let-values (((a b) e)) …)` says how many parts `e` has.
    pub(super) fn whole_of(&mut self, ty: ArrTy, count: usize, node: NodeId) -> ArrTy {
        if !matches!(ty.atom, AtomTy::Meta(_)) || self.s.class_of(&ty.atom).is_some() {
            return ty;
        }
        let part =
            |c: &mut Self| (None, ArrTy::new(c.s.fresh_atom(None, node), c.s.fresh_result_shape(node)));
        let atom = AtomTy::tuple((0..count).map(|_| part(self)).collect());
        let _ = self.s.unify_atom(&ty.atom, &atom);
        self.s.zonk(&ty)
    }
}

impl solver::Solver {
    /// Requires a part of a type.
    pub(super) fn has_part(
        &mut self,
        tuple: &AtomTy,
        part: Part,
        ty: &ArrTy,
    ) -> Result<(), solver::Mismatch> {
        let constraint = solver::Constraint::Part { tuple: tuple.clone(), part, ty: Arc::new(ty.clone()) };
        match self.step_part(&constraint)? {
            solver::Step::Done => Ok(()),
            solver::Step::Stuck => {
                self.postpone(constraint);
                Ok(())
            }
        }
    }

    pub(super) fn step_part(
        &mut self,
        constraint: &solver::Constraint,
    ) -> Result<solver::Step, solver::Mismatch> {
        let solver::Constraint::Part { tuple, part, ty } = constraint else { return Ok(solver::Step::Stuck) };
        let tuple = self.zonk_atom(tuple);
        if let Some(position) = part.position_in(&tuple)
            && let AtomTy::Tuple(q) = &tuple
        {
            let field = q.fields[position].1.clone();
            self.unify(ty, &field)?;
            return Ok(solver::Step::Done);
        }
        if !matches!(tuple, AtomTy::Meta(_)) || self.class_of(&tuple).is_some() {
            return Err(solver::Mismatch::NoPart(tuple, part.clone()));
        }
        // Another need of the same part of the same type.
        let same = self.pending.iter().find_map(|p| match &p.constraint {
            solver::Constraint::Part { tuple: t, part: q, ty: u }
                if q == part && !Arc::ptr_eq(u, ty) && self.zonk_atom(t) == tuple =>
            {
                Some(u.clone())
            }
            _ => None,
        });
        match same {
            Some(other) => {
                self.unify(ty, &other)?;
                Ok(solver::Step::Done)
            }
            None => Ok(solver::Step::Stuck),
        }
    }

    /// Drops the needs of parts of these types.
    pub(super) fn forget_parts(&mut self, tuples: &[AtomTy]) {
        let pending = std::mem::take(&mut self.pending);
        self.pending = pending
            .into_iter()
            .filter(|p| match &p.constraint {
                solver::Constraint::Part { tuple, .. } => !tuples.contains(&self.zonk_atom(tuple)),
                _ => true,
            })
            .collect();
    }
}
