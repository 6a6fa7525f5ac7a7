//! Shapes that the language of shapes cannot write: the order of axes of `transpose/axes`.
//!
//! ```text
//! (transpose/axes xs [2 0 1])      xs : [t a b c @rest]      result : [t c a b @rest]
//! ```
//!
//! The library's definition takes the shape of the result as an index of its own, `@permuted`, and means
//! something for any. Here that index is solved: an order that is known, the numbers 0 … r-1 in some order,
//! splits the array's shape into r dims, and the result has them in that order.

use super::instance::Operator;
use super::*;
use crate::codes;
use crate::ir::ExprKind;

impl Checker<'_> {
    /// Solves the shape of the result, if the operator is `transpose/axes`.
    pub(super) fn permuted_axes(&mut self, op: &Operator, node: NodeId) -> Check<()> {
        if self.in_prelude(op).is_none_or(|name| name.as_str() != "transpose/axes") {
            return Ok(());
        }
        let [Index::Shape(axes), Index::Shape(permuted), Index::Shape(order), ..] = index_arguments(&op.expr)
        else {
            return Ok(());
        };
        let known: Option<Vec<i128>> =
            self.s.zonk_shape(order).dims().and_then(|ds| ds.iter().map(Dim::as_constant).collect());
        let Some(known) = known else {
            return self.fail(
                Diagnostic::error(
                    codes::NOT_AN_INDEX,
                    "`transpose/axes` needs an order of axes that is known",
                )
                .primary(Loc::Node(node), "the shape of the result depends on the order")
                .help("write the order as a vector of numbers: (transpose/axes xs [2 0 1])"),
            );
        };
        let rank = known.len();
        let mut sorted = known.clone();
        sorted.sort_unstable();
        if !sorted.iter().copied().eq(0..rank as i128) {
            let shown = known.iter().map(i128::to_string).collect::<Vec<_>>().join(" ");
            let all = (0..rank).map(|k| k.to_string()).collect::<Vec<_>>().join(" ");
            return self.fail(
                Diagnostic::error(codes::INSTANCE, format!("[{shown}] is no order of {rank} axes"))
                    .primary(Loc::Node(node), "the order is its second argument")
                    .help(format!("an order has each of the numbers {all} once: axis k of the result is the axis of the array that stands at place k")),
            );
        }
        let dims: Vec<Dim> = (0..rank).map(|_| self.s.fresh_dim(node, None)).collect();
        let moved: Vec<Dim> = known.iter().map(|&k| dims[k as usize].clone()).collect();
        for (index, dims) in [(axes, dims), (permuted, moved)] {
            if let Err(e) = self.s.unify_shape(index, &Shape::of_dims(dims)) {
                return self.index_mismatch(op, e, node);
            }
        }
        Ok(())
    }
}

/// The index arguments of an instance.
fn index_arguments(e: &Expr) -> &[Index] {
    match &*e.kind {
        ExprKind::IApp { args, .. } => args,
        ExprKind::TApp { func, .. } => index_arguments(func),
        ExprKind::Check { body, .. } => index_arguments(body),
        _ => &[],
    }
}
