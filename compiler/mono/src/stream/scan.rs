//! Scans along a stream: each piece's, from the last prefix of the piece before.
//!
//! ```text
//! (let (%y) (scan inclusive (%i %n) … %x … + from 0))       in the loop, with the last prefix %s
//!                                                   ⟶      (let (%y) (scan inclusive (%k %c) … %x … + from %s))
//!                                                           (let (%s') (if (> %c 0) (index %y (- %c 1)) %s))
//! ```
//!
//! One whose operator rounds is serial: in which grouping its prefixes are combined must not depend on where pieces end.
//! Without a start, whether there is anything before is one more accumulator. A scan may be inside of a map over axes that
//! are no stream's, such as the running sums of columns; then there is a last prefix for each point.

use super::emit::Emit;
use super::fold::{Fold, Piece, TRUE, apply, fresh_in, lambda};
use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;

/// A scan over a piece, from the last prefix of the piece before; what is the last one now.
pub(super) fn scan(e: &mut Emit<'_>, piece: &mut Piece, scan: &Fold, state: &[Var]) -> Vec<Atom> {
    let Exp::Scan { kind, axis: own, body, op } = &scan.inner else { return Vec::new() };
    let Some((before, count)) = piece.at.get(&scan.along).copied() else { return Vec::new() };
    let (body, place) = piece.local(e, body, own.var, scan.along);
    let now: Vec<Atom> = state.iter().map(|v| Atom::Var(*v)).collect();
    let rank = scan.outer.len();
    // The prefixes of all points; those of one are behind the outer axes.
    let over = |e: &mut Emit<'_>, n: Atom, outer: bool| -> Vec<Var> {
        let infos: Vec<VarInfo> = state.iter().map(|v| e.p.vars[*v].clone()).collect();
        let infos = infos.into_iter().zip(&scan.pat).map(|(mut info, named)| {
            info.ty.dims.insert(rank, n);
            if !outer {
                info.ty.dims.drain(..rank);
            }
            info.name = e.p.vars[*named].name.clone();
            info
        });
        infos.collect::<Vec<_>>().into_iter().map(|info| e.p.vars.push(info)).collect()
    };
    let with = piece.with(scan.along);
    let some = e.op("some", ScalarOp::Gt, &[before, Atom::int(0)]);
    let ends = match kind {
        ScanKind::Inclusive => count,
        ScanKind::Exclusive | ScanKind::Full => e.op("ends", ScalarOp::Add, &[count, Atom::int(1)]),
    };
    let like = over(e, ends, true);
    let all = scan.points_over(e, &with, (&[], &[]), &like, |e, with, at, _| {
        let now: Vec<Atom> = now.iter().map(|s| e.at(*s, at)).collect();
        let element = |e: &mut Emit<'_>, k: Var| {
            let mut with = with.clone();
            let i = e.op("i", ScalarOp::Add, &[before, k.into()]);
            with.insert(own.var, i);
            with.insert(place, k.into());
            e.copy(&body, &with)
        };
        // What rounds would depend on where a piece ends if parts of it were put together.
        let assoc = op.assoc && scan.exact;
        let plain = |e: &mut Emit<'_>, start: Option<Vec<Atom>>| -> Vec<Atom> {
            let k = e.p.fresh("k", Ty::int());
            let body = e.body(|e| element(e, k));
            let combine = Combine { lambda: lambda(e, &op.lambda, with), start, assoc, alone: false };
            let pat = over(e, ends, false);
            let kind = if *kind == ScanKind::Inclusive { *kind } else { ScanKind::Full };
            e.push(pat.clone(), Exp::Scan { kind, axis: Axis { var: k, size: count }, body, op: combine });
            pat.into_iter().map(Atom::Var).collect()
        };
        if op.start.is_some() {
            return plain(e, Some(now));
        }
        if assoc {
            let like = over(e, ends, false);
            return e.branch(some, &like, |e| plain(e, Some(now.clone())), |e| plain(e, None));
        }
        // Whether there is anything before is one more accumulator.
        let k = e.p.fresh("k", Ty::int());
        let body = e.body(|e| element(e, k));
        let (accs, items) = op.lambda.params.split_at(op.lambda.body.results.len());
        let (accs, items) = (fresh_in(e, accs, with), fresh_in(e, items, with));
        let flag = e.p.fresh("some", Ty::scalar(BaseTy::Bool));
        let inside = e.body(|e| {
            let of = |vars: &[Var]| vars.iter().map(|v| Atom::Var(*v)).collect::<Vec<_>>();
            let (a, b) = (of(&accs), of(&items));
            let mut next = e.branch(flag.into(), &accs, |e| apply(e, op, with, &a, &b), |_| b.clone());
            next.push(TRUE);
            next
        });
        let params = accs.iter().chain([&flag]).chain(&items).copied().collect();
        let lambda = Lambda { params, body: inside };
        let start = Some(now.into_iter().chain([some]).collect());
        let pat = over(e, count, false);
        let flags = e.p.fresh("some", Ty::scalar(BaseTy::Bool).over(&[count]));
        let all = pat.iter().copied().chain([flags]).collect();
        let (kind, axis) = (ScanKind::Inclusive, Axis { var: k, size: count });
        e.push(
            all,
            Exp::Scan { kind, axis, body, op: Combine { lambda, start, assoc: false, alone: false } },
        );
        pat.into_iter().map(Atom::Var).collect()
    });
    let last = |e: &mut Emit<'_>, at: Atom| {
        scan.points_over(e, &with, (&[], &[]), state, |e, _, outer, _| {
            let places: Vec<Atom> = outer.iter().copied().chain([at]).collect();
            all.iter().map(|a| e.at(*a, &places)).collect()
        })
    };
    let (prefixes, next) = match kind {
        ScanKind::Inclusive => {
            let any = e.op("any", ScalarOp::Gt, &[count, Atom::int(0)]);
            let next = e.branch(
                any,
                state,
                |e| {
                    let at = e.op("last", ScalarOp::Sub, &[count, Atom::int(1)]);
                    last(e, at)
                },
                |_| now.clone(),
            );
            (all, next)
        }
        ScanKind::Exclusive | ScanKind::Full => {
            let next = last(e, count);
            let firsts = over(e, count, true);
            for (to, from) in firsts.iter().zip(&all) {
                let Some(from) = from.as_var() else { continue };
                let dims = e.p.vars[*to].ty.dims[..=rank].to_vec();
                let view = View::Slice { start: vec![Atom::int(0); rank + 1], dims };
                e.push(vec![*to], Exp::View { view, array: from });
            }
            (firsts.into_iter().map(Atom::Var).collect(), next)
        }
    };
    for (d, a) in scan.pat.iter().zip(prefixes) {
        piece.with.insert(*d, a);
    }
    next
}
