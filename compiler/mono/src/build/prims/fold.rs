//! Reductions, scans, folds and iteration.

use super::Call;
use crate::build::ragged::holds_boxes;
use crate::build::val::Val;
use crate::build::{Build, R};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::*;

/// What a reduction gives.
#[derive(Clone, Copy)]
enum Form {
    Whole,
    Prefixes(ScanKind),
}

pub(super) fn reduce<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Whole, None, 1, false)
}

pub(super) fn reduce_zero<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Whole, Some(1), 2, false)
}

pub(super) fn iscan<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Prefixes(ScanKind::Inclusive), None, 1, false)
}

pub(super) fn iscan_zero<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Prefixes(ScanKind::Inclusive), Some(1), 2, false)
}

pub(super) fn scan_zero<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Prefixes(ScanKind::Full), Some(1), 2, false)
}

pub(super) fn open_scan_zero<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Prefixes(ScanKind::Exclusive), Some(1), 2, false)
}

pub(super) fn fold<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Whole, Some(1), 2, true)
}

pub(super) fn trace<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    combine(b, c, Form::Prefixes(ScanKind::Full), Some(1), 2, true)
}

/// `op, [zero,] xs`. A serial fold takes the element first, and its accumulator is of another type.
fn combine<'a>(
    b: &mut Build<'a>,
    c: &Call<'_, 'a>,
    form: Form,
    zero: Option<usize>,
    xs: usize,
    serial: bool,
) -> R<Val<'a>> {
    let (pad, cell) = (c.shape(1)?, c.shape(2)?);
    let elem_ty = c.array(0, &[pad, cell])?;
    let (acc_ty, result_ty) = if serial {
        (c.array(1, &[pad, c.shape(3)?])?, c.array(1, &[c.shape(3)?])?)
    } else {
        (elem_ty.clone(), c.array(0, &[cell])?)
    };
    let n = c.count(b, xs)?;
    let pad = b.sizes(pad)?;
    let start = match zero {
        Some(i) => Some(b.replicate(c.arg(i)?, &pad)?),
        None => {
            let some = b.less(Atom::int(0), n)?;
            b.check(Trap::Empty { prim: c.name().into() }, some, &[])?;
            None
        }
    };
    if holds_boxes(&elem_ty.atom) || holds_boxes(&acc_ty.atom) {
        if let Form::Prefixes(_) = form {
            return b.no_boxes("the prefixes of a scan hold boxes");
        }
        return fold_boxes(b, c, xs, Boxes { start, n, pad, acc_ty, result_ty, serial });
    }
    let start_atoms = start.as_ref().map(|v| b.atoms(v)).transpose()?;

    let axes = b.open_axes(&[n]);
    let elem = b.cell(c.arg(xs)?, &[Atom::Var(axes[0].var)])?;
    let results = b.atoms(&elem)?;
    let body = Body { stmts: b.close().stmts, results };

    let like = start.unwrap_or_else(|| elem.clone());
    let first = b.program.vars.len();
    let mut params = Vec::new();
    let acc = b.results("acc", &like, &acc_ty, &[], &mut params)?;
    let item = b.results("x", &elem, &elem_ty, &[], &mut params)?;
    b.open();
    let next = b.map("a", &pad, &result_ty, |b, at| {
        let (acc, item) = (b.cell(&acc, at)?, b.cell(&item, at)?);
        let args = if serial { vec![item, acc] } else { vec![acc, item] };
        b.call(c.arg(0)?, args, &result_ty)
    })?;
    b.may_leave(&next, first)?;
    b.goes_round(&like, &next)?;
    let results = b.atoms(&next)?;
    let lambda = Lambda { params, body: Body { stmts: b.close().stmts, results } };

    let op = Combine { lambda, start: start_atoms, assoc: !serial };
    let mut pat = Vec::new();
    let (axis, frame) = match form {
        Form::Whole => (axes[0], vec![]),
        Form::Prefixes(ScanKind::Full) => {
            let more = b.dim_of(n).add(&Dim::constant(1));
            (axes[0], vec![b.size(&more)?])
        }
        Form::Prefixes(_) => (axes[0], vec![n]),
    };
    let whole = b.results("a", &like, &acc_ty, &frame, &mut pat)?;
    let exp = match form {
        Form::Whole => Exp::Reduce { axis, body, op },
        Form::Prefixes(kind) => Exp::Scan { kind, axis, body, op },
    };
    b.emit(pat, exp)?;
    Ok(whole)
}

/// What a fold over boxes is made of.
struct Boxes<'a> {
    start: Option<Val<'a>>,
    n: Atom,
    pad: Vec<Atom>,
    acc_ty: ArrTy,
    result_ty: ArrTy,
    serial: bool,
}

/// A reduction or fold of boxes: a loop, since the state may change its size from one item to the next.
fn fold_boxes<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>, xs: usize, f: Boxes<'a>) -> R<Val<'a>> {
    let Boxes { start, n, pad, acc_ty, result_ty, serial } = f;
    let (start, skip) = match start {
        Some(v) => (v, 0),
        None => (b.cell(c.arg(xs)?, &[Atom::int(0)])?, 1),
    };
    let start = b.stored_flat(start, &acc_ty)?;
    let rounds = b.dim_of(n).sub(&Dim::constant(skip));
    let rounds = b.size(&rounds)?;
    let first_atoms = b.atoms(&start)?;
    let first = b.program.vars.len();
    let mut params = Vec::new();
    let acc = b.results("acc", &start, &acc_ty, &[], &mut params)?;
    let axes = b.open_axes(&[rounds]);
    let at = b.op(ScalarOp::Add, &[Atom::Var(axes[0].var), Atom::int(skip as i64)])?;
    let item = b.cell(c.arg(xs)?, &[at])?;
    let next = b.map("a", &pad, &result_ty, |b, at| {
        let (acc, item) = (b.cell(&acc, at)?, b.cell(&item, at)?);
        let args = if serial { vec![item, acc] } else { vec![acc, item] };
        b.call(c.arg(0)?, args, &result_ty)
    })?;
    let next = b.stored_flat(next, &acc_ty)?;
    let body = close_round(b, &start, &next, first)?;
    let mut pat = Vec::new();
    let whole = b.results("a", &start, &acc_ty, &[], &mut pat)?;
    let state = params.into_iter().zip(first_atoms).collect();
    b.emit(pat, Exp::For { axis: axes[0], state, body })?;
    Ok(whole)
}

pub(super) fn iterate<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let n = c.base(0)?;
    let d = b.dim_of(n);
    b.check_natural(&d, || "that counts `iterate`".into())?;
    let ty = c.array(0, &[c.shape(0)?])?;
    let x = &b.stored_flat(c.arg(2)?.clone(), &ty)?;
    let start = b.atoms(x)?;
    let first = b.program.vars.len();
    let mut params = Vec::new();
    let state = b.results("x", x, &ty, &[], &mut params)?;
    let axes = b.open_axes(&[n]);
    let next = b.call(c.arg(1)?, vec![state], &ty)?;
    let next = b.stored_flat(next, &ty)?;
    let body = close_round(b, x, &next, first)?;
    let mut pat = Vec::new();
    let whole = b.results("a", x, &ty, &[], &mut pat)?;
    let state = params.into_iter().zip(start).collect();
    b.emit(pat, Exp::For { axis: axes[0], state, body })?;
    Ok(whole)
}

pub(super) fn while_<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let ty = c.array(0, &[c.shape(0)?])?;
    let x = &b.stored_flat(c.arg(2)?.clone(), &ty)?;
    let start = b.atoms(x)?;
    let first = b.program.vars.len();
    let mut params = Vec::new();
    let state = b.results("x", x, &ty, &[], &mut params)?;
    b.open();
    let go_on = b.call(c.arg(0)?, vec![state.clone()], &ArrTy::scalar(AtomTy::BOOL))?;
    let results = b.atoms(&go_on)?;
    let cond = Body { stmts: b.close().stmts, results };
    b.open();
    let next = b.call(c.arg(1)?, vec![state], &ty)?;
    let next = b.stored_flat(next, &ty)?;
    let body = close_round(b, x, &next, first)?;
    let mut pat = Vec::new();
    let whole = b.results("a", x, &ty, &[], &mut pat)?;
    let state = params.into_iter().zip(start).collect();
    b.emit(pat, Exp::While { state, cond, body })?;
    Ok(whole)
}

fn close_round<'a>(b: &mut Build<'a>, before: &Val<'a>, next: &Val<'a>, first: usize) -> R<Body> {
    b.may_leave(next, first)?;
    b.goes_round(before, next)?;
    let results = b.atoms(next)?;
    Ok(Body { stmts: b.close().stmts, results })
}
