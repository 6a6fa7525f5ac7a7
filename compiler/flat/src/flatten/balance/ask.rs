//! Rows that stop nothing, and say whether they would have.
//!
//! ```text
//! (let (%s) (reduce (j %n)          (let (%s %all) (reduce (t %tiles)
//!   (let (%c) …)                      (let (%ok) (reduce (j %size) (let (%c) …) (give %c) and))
//!   (check (index 1 1) %c)      ⟶     (let (%r) (if %ok
//!   …                                   (then (let (%r) (reduce (j %size) (let (%c) …) … (give %x) +))
//!   (give %x) +))                             (give %r))
//! … (give %s)                           (else (give 0))))
//!                                     (give %r %ok) (+ and)))
//!                                   … (give %s %all)
//! ```
//!
//! What may stop the program is left out where its check fails, and so is what comes after it. A row's elements are looked
//! at twice, first for their checks alone and then without them, both in lanes. Where a block is one thread, that is done a
//! tile of a row at a time, which a cache holds in between.

use super::super::host::Stmts;
use remc_base::ops::{ScalarOp, neutral, zero};
use remc_base::{BaseTy, Scalar};
use remc_mono::ir::*;

/// The elements of a tile. A few arrays of as many numbers are what a core's first cache holds.
const TILE: i64 = 1024;

const TRUE: Atom = Atom::Const(Scalar::Bool(true));

/// A copy of a body that stops nothing, with one more result: whether the body would not have stopped the program
/// either. If it would, the other results do not matter. None if what may stop is inside something other than reductions,
/// or if a result is no scalar.
pub(super) fn asked(made: &mut Stmts<'_>, body: &Body) -> Option<Body> {
    let asked = made.aside(|made| rest(made, &body.stmts, &body.results))?;
    Some(made.instance(&asked, &[]))
}

/// [`asked`] of the last statements of a body, no copy of them.
fn rest(made: &mut Stmts<'_>, stmts: &[Stmt], results: &[Atom]) -> Option<Body> {
    let Some(k) = stmts.iter().position(|s| s.exp.can_stop()) else {
        let results = results.iter().copied().chain([TRUE]).collect();
        return Some(made.needed(Body { stmts: stmts.to_vec(), results }));
    };
    made.splice(Body { stmts: stmts[..k].to_vec(), results: Vec::new() });
    let cond = match &stmts[k].exp {
        Exp::Check { cond, .. } => *cond,
        Exp::Reduce { axis, body, op } if op.assoc && !op.lambda.body.can_stop() => {
            reduced(made, &stmts[k].pat, (*axis, body, op))?
        }
        _ => return None,
    };
    let after = made.aside(|made| rest(made, &stmts[k + 1..], results))?;
    let mut results =
        if after.stmts.iter().all(is_total) { made.splice(after) } else { guarded(made, cond, after)? };
    let all = results.last_mut()?;
    if *all == TRUE {
        *all = cond;
    } else {
        *all = made.op_of("ok", BaseTy::Bool, ScalarOp::And, &[cond, *all]);
    }
    let body = Body { stmts: made.take(), results };
    Some(made.needed(body))
}

/// What a body gives, where it may be done; zeros where not.
fn guarded(made: &mut Stmts<'_>, cond: Atom, then: Body) -> Option<Vec<Atom>> {
    let tys: Vec<Ty> = then.results.iter().map(|a| made.f.p.atom_ty(*a)).collect();
    if !tys.iter().all(Ty::is_scalar) {
        return None;
    }
    let zeros = tys.iter().map(|ty| Atom::Const(zero(ty.base))).collect();
    let otherwise = Body { stmts: Vec::new(), results: zeros };
    let pat: Vec<Var> = tys.into_iter().map(|ty| made.f.p.fresh("r", ty)).collect();
    let given = pat.iter().map(|v| Atom::Var(*v)).collect();
    made.push(pat, Exp::If { cond, then, otherwise });
    Some(given)
}

/// Reduces a row into `pat`; whether it would not have stopped the program. By its tiles, where a block is one thread.
fn reduced(made: &mut Stmts<'_>, pat: &[Var], row: (Axis, &Body, &Combine)) -> Option<Atom> {
    let (axis, _, op) = row;
    if made.f.thresholds.row_tile.is_none() {
        let (sums, ok) = in_two(made, pat, row, axis.size, None)?;
        for (v, sum) in pat.iter().zip(sums) {
            made.push(vec![*v], Exp::Atom(sum));
        }
        return Some(ok);
    }
    let end = made.op(ScalarOp::Add, axis.size, Atom::int(TILE - 1));
    let tiles = made.op(ScalarOp::Quotient, end, Atom::int(TILE));
    let t = made.int("t");
    let tile = made.aside(|made| {
        let from = made.op(ScalarOp::Mul, t.into(), Atom::int(TILE));
        let left = made.op(ScalarOp::Sub, axis.size, from);
        let size = made.op(ScalarOp::Min2, left, Atom::int(TILE));
        let (mut results, ok) = in_two(made, pat, row, size, Some(from))?;
        results.push(ok);
        Some(Body { stmts: made.take(), results })
    })?;
    let body = made.instance(&tile, &[]);
    let op = conjunction(made, Some(op));
    let all = made.f.p.fresh("ok", Ty::scalar(BaseTy::Bool));
    let pat = pat.iter().copied().chain([all]).collect();
    made.push(pat, Exp::Reduce { axis: Axis { var: t, size: tiles }, body, op });
    Some(all.into())
}

/// Reduces so many elements of a row, from one on: first their checks, whose result is the second, and then the others
/// like `pat`.
fn in_two(
    made: &mut Stmts<'_>,
    pat: &[Var],
    (axis, body, op): (Axis, &Body, &Combine),
    size: Atom,
    from: Option<Atom>,
) -> Option<(Vec<Atom>, Atom)> {
    let own = |made: &mut Stmts<'_>, elements: &Body, op: Combine| {
        let j = made.int("j");
        let body = made.aside(|made| {
            let i = from.map_or(j.into(), |from| made.op(ScalarOp::Add, from, j.into()));
            let elements = made.instance(elements, &[(axis.var, i)]);
            let results = made.splice(elements);
            Body { stmts: made.take(), results }
        });
        Exp::Reduce { axis: Axis { var: j, size }, body, op }
    };
    let checks = made.aside(|made| rest(made, &body.stmts, &[]))?;
    let all = conjunction(made, None);
    let asks = own(made, &checks, all);
    let ok = made.f.p.fresh("ok", Ty::scalar(BaseTy::Bool));
    made.push(vec![ok], asks);
    let mut plain = body.clone();
    unchecked(&mut plain);
    let part = Combine {
        start: if from.is_some() { nothing(made, pat, op) } else { op.start.clone() },
        ..op.clone()
    };
    let sum = own(made, &plain, part);
    let sums: Vec<Var> = pat.iter().map(|v| made.like(*v)).collect();
    let results = sums.iter().map(|v| Atom::Var(*v)).collect();
    let then = made.aside(|made| {
        made.push(sums, sum);
        Body { stmts: made.take(), results }
    });
    Some((guarded(made, ok.into(), then)?, ok.into()))
}

/// What a tile of a row starts from: the row has its start already, which need not be one that changes nothing. A tile
/// has at least one element, so one without a start will do.
fn nothing(made: &Stmts<'_>, pat: &[Var], op: &Combine) -> Option<Vec<Atom>> {
    let tys = pat.iter().map(|v| made.f.p.ty(*v).base);
    op.component_ops()?.into_iter().zip(tys).map(|(op, ty)| Some(Atom::Const(neutral(op, ty)?))).collect()
}

/// The operator that says whether all are true, beside another if there is one.
fn conjunction(made: &mut Stmts<'_>, beside: Option<&Combine>) -> Combine {
    let [a, b] = ["acc", "x"].map(|name| made.f.p.fresh(name, Ty::scalar(BaseTy::Bool)));
    let (mut params, mut start) = (Vec::new(), Some(vec![TRUE]));
    let mut results = Vec::new();
    let body = made.aside(|made| {
        if let Some(op) = beside {
            start = op.start.clone().map(|s| [s, vec![TRUE]].concat());
            params = op.lambda.params.iter().map(|v| made.like(*v)).collect();
            let own: Vec<(Var, Atom)> =
                op.lambda.params.iter().copied().zip(params.iter().map(|v| Atom::Var(*v))).collect();
            let combined = made.instance(&op.lambda.body, &own);
            results = made.splice(combined);
        }
        results.push(made.op_of("ok", BaseTy::Bool, ScalarOp::And, &[a.into(), b.into()]));
        Body { stmts: made.take(), results }
    });
    params.insert(params.len() / 2, a);
    params.push(b);
    Combine { lambda: Lambda { params, body }, start, assoc: true, alone: false }
}

/// Whether a statement may be done where a check before it would have stopped the program.
fn is_total(s: &Stmt) -> bool {
    match &s.exp {
        Exp::Atom(_) => true,
        Exp::Op(op, _) => !op.info().can_fail,
        _ => false,
    }
}

/// Leaves the checks out.
fn unchecked(body: &mut Body) {
    body.stmts.retain(|s| !matches!(s.exp, Exp::Check { .. }));
    body.stmts.iter_mut().flat_map(|s| s.exp.bodies_mut()).for_each(unchecked);
}
