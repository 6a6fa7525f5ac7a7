//! Sums of `f16`: what `+` itself combines is added in `f32`, and rounded to `f16` where it is given.
//!
//! ```text
//! (reduce + xs)   ⟶  (reduce i n (let (x) (index xs i)) (let (w) (cast f32 x)) (give w) (λ (a b) (op + a b)) …)
//!                    (cast f16 …)
//! ```

use super::Call;
use crate::build::val::{Fun, Val};
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::*;

/// Whether a function is `+`.
pub(super) fn is_sum(f: &Val<'_>) -> bool {
    match f {
        Val::Fns { dims, table, .. } if dims.is_empty() => {
            matches!(table.codes.as_slice(), [one] if matches!(one.fun, Fun::Op(ScalarOp::Add)))
        }
        _ => false,
    }
}

/// An array of numbers as one of another type, element by element.
pub(super) fn converted<'a>(b: &mut Build<'a>, v: &Val<'a>, to: BaseTy) -> R<Val<'a>> {
    let Val::Base(a) = v else { return bug("numbers of no base type") };
    let dims = b.dims_of_atom(*a);
    let one = |b: &mut Build<'a>, at: &[Atom]| {
        let x = b.index(*a, at)?;
        b.cast(to, x)
    };
    Ok(Val::Base(b.tabulate("x", to, &dims, Vec::new(), one)?))
}

/// The mean of a vector of floats: the sum, from 0 on, by the number of items; of halves it is rounded at the end.
pub(super) fn mean<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let xs = c.base(0)?;
    let own = b.base_of(xs);
    let wide = if own == BaseTy::F16 { BaseTy::F32 } else { own };
    let n = c.count(b, 0)?;
    let axes = b.open_axes(&[n]);
    let x = b.index(xs, &[Atom::Var(axes[0].var)])?;
    let x = b.cast(wide, x)?;
    let body = Body { stmts: b.close().stmts, results: vec![x] };
    let params = vec![b.fresh("acc", Ty::scalar(wide)), b.fresh("x", Ty::scalar(wide))];
    b.open();
    let next = b.op(ScalarOp::Add, &[Atom::Var(params[0]), Atom::Var(params[1])])?;
    let lambda = Lambda { params, body: Body { stmts: b.close().stmts, results: vec![next] } };
    let start = Some(vec![Atom::Const(ops::zero(wide))]);
    let op = Combine { lambda, start, assoc: true, alone: false };
    let total = b.bind("a", Ty::scalar(wide), Exp::Reduce { axis: axes[0], body, op })?;
    let count = b.cast(wide, n)?;
    let mean = b.op(ScalarOp::Div, &[total, count])?;
    Ok(Val::Base(b.cast(own, mean)?))
}
