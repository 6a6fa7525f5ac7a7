//! Parameters that meet inside of what a function of arrays consumes.
//!
//! A parameter without annotation has the least rank that its uses allow. Where a definition only maps, that is no
//! choice: a function of numbers lifts, and every rank means the same. It is one inside of what a reduction, a scan or
//! any function of arrays consumes:
//!
//! ```text
//! (define (weighted-mean a w) (/ (sum (* a w)) (sum w)))
//! ```
//!
//! `w` is a vector, since `sum` takes one. `a` may be a number, by which all of the sum is multiplied, or a vector beside
//! `w`; applied to a vector, the first gives a result for each of its items, and the second one for all. So where
//! parameters whose ranks are not written meet there, and one of them may be a number or more, the program has to say
//! which it is (E0309). A parameter that meets no other one has the least rank that the consumer allows.
//!
//! What is consumed is an argument whose cells are arrays. It has its frame from parameters, by lifting alone: those of
//! `(* a (+ b 1))` are `a` and `b`, also through a name that is bound to it; that of `(* a (sum b))` is `a`, and `b`
//! is consumed itself.

use super::decide::{MOST_RANK, Ranks};
use super::solver::MetaKind;
use super::*;
use crate::ir::ExprKind;

/// Parameters whose frames an expression has, in order.
pub(super) type Lifts = Vec<VarId>;

/// Of so many parameters each is known by name; there are several for sure.
const MOST_LIFTS: usize = 16;

/// An argument that a function of arrays takes, and the parameters whose frames it has.
#[derive(Clone)]
pub(super) struct Consumed {
    node: NodeId,
    params: Lifts,
}

impl Checker<'_> {
    /// Notes what an application consumes and which frames it has, before either is decided.
    pub(super) fn note_frames<'s>(
        &mut self,
        op: &Expr,
        slots: impl Iterator<Item = (&'s ArrTy, &'s Expr, &'s Shape)>,
        node: NodeId,
    ) {
        // What a function does that is a parameter itself is not known.
        let unknown = matches!(&*op.kind, ExprKind::Var(v) if self.local(*v).lifts.contains(v));
        let mut lifts = Lifts::new();
        for (cell, arg, frame) in slots {
            let from = self.lifts_of(arg);
            if !unknown && !self.s.zonk_shape(&cell.shape).is_scalar() {
                self.consume(arg.node, &from);
            }
            if !self.s.zonk_shape(frame).is_scalar() {
                extend(&mut lifts, &from);
            }
        }
        self.note_lifts(node, lifts);
    }

    /// Notes which parameters' frames the expression of a node has.
    pub(super) fn note_lifts(&mut self, node: NodeId, lifts: Lifts) {
        if !lifts.is_empty() {
            self.lifts.insert(node, lifts);
        }
    }

    /// Notes that an argument with these parameters' frames is consumed.
    pub(super) fn consume(&mut self, node: NodeId, from: &[VarId]) {
        if from.iter().filter(|v| self.local(**v).unranked).count() > 1 {
            self.consumed.push(Consumed { node, params: from.to_vec() });
        }
    }

    /// The parameters whose frames an expression has.
    pub(super) fn lifts_of(&self, e: &Expr) -> Lifts {
        let mut found = Lifts::new();
        let mut todo = vec![e];
        while let Some(e) = todo.pop() {
            match &*e.kind {
                ExprKind::Var(v) => extend(&mut found, &self.local(*v).lifts),
                ExprKind::App { .. } => {
                    self.lifts.get(&e.node).into_iter().for_each(|from| extend(&mut found, from));
                }
                ExprKind::Let { body, .. }
                | ExprKind::Check { body, .. }
                | ExprKind::Lift { body, .. }
                | ExprKind::Unbox { body, .. } => todo.push(body),
                ExprKind::Field { tuple: e, .. } | ExprKind::Cast(e) => todo.push(e),
                ExprKind::If { then, otherwise, .. } => todo.extend([then, otherwise]),
                ExprKind::Frame { elems, .. } => {
                    todo.extend(elems.iter().filter(|e| !matches!(&*e.kind, ExprKind::Lit(_))));
                }
                ExprKind::Tuple(parts) => todo.extend(parts),
                _ => {}
            }
        }
        found
    }

    /// Where parameters that are about to become numbers may be more as well, and meet others in what is consumed: the
    /// node, and all the ranks that fit.
    pub(super) fn other_ranks(&self, ranks: &Ranks) -> Option<(NodeId, Vec<Ranks>)> {
        let mut open: Vec<MetaId> = Vec::new();
        let mut node = None;
        for c in &self.consumed {
            let shapes: Vec<Shape> = (c.params.iter().filter(|v| self.local(**v).unranked))
                .map(|v| self.s.zonk_shape(&self.local(*v).local.ty.shape))
                .collect();
            // One that is a number already for another reason meets nothing.
            if shapes.iter().filter(|s| !s.is_scalar()).count() < 2 {
                continue;
            }
            for (m, _) in ranks.iter().filter(|(_, r)| *r == 0) {
                let alone = [ShapeItem::Var(ShapeVar::Meta(*m))];
                if !open.contains(m) && self.is_bare_shape(*m) && shapes.iter().any(|s| s.items() == alone) {
                    open.push(*m);
                    node.get_or_insert(c.node);
                }
            }
        }
        let node = node?;
        let raised = |which: &[MetaId], by: usize| -> Ranks {
            ranks.iter().map(|(m, r)| (*m, if which.contains(m) { by } else { *r })).collect()
        };
        let least = |which: &[MetaId]| {
            (1..=MOST_RANK).map(|by| raised(which, by)).find(|r| self.with_ranks(r).is_some())
        };
        // What is meant most often is that all of them are arrays.
        let mut fits: Vec<Ranks> = least(&open).into_iter().collect();
        fits.push(ranks.clone());
        fits.extend(open.iter().filter_map(|m| least(&[*m])));
        fits.dedup();
        (fits.len() > 1).then_some((node, fits))
    }

    /// Whether an existential is the shape of a parameter without annotation.
    fn is_bare_shape(&self, m: MetaId) -> bool {
        let meta = self.s.meta(m);
        !meta.is_solved() && matches!(meta.kind, MetaKind::Shape { bare: true, .. })
    }
}

/// Adds parameters that are not there yet.
pub(super) fn extend(lifts: &mut Lifts, more: &[VarId]) {
    for v in more {
        if lifts.len() < MOST_LIFTS && !lifts.contains(v) {
            lifts.push(*v);
        }
    }
}
