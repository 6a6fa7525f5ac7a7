//! Choice and ragged data.

use super::Call;
use crate::build::array::{MOST_UNROLLED, static_sizes};
use crate::build::env::ivar;
use crate::build::ragged::Contents;
use crate::build::ragged::{Ragged, WitnessArrays};
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::*;
use std::rc::Rc;

pub(super) fn filter<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let (keep, n) = (c.base(0)?, c.count(b, 0)?);
    let item_ty = c.array(0, &[c.shape(1)?])?;
    // Of boxes only the numbers are kept that say where they are.
    let (items, ty) = b.headers(c.arg(1)?, &item_ty)?;
    let axes = b.open_axes(&[n]);
    let at = [Atom::Var(axes[0].var)];
    let flag = b.index(keep, &at)?;
    let item = b.cell(&items, &at)?;
    let mut results = vec![flag];
    b.flatten(&item, &mut results)?;
    let body = Body { stmts: b.close().stmts, results };
    let count = b.fresh_size("n");
    let mut pat = vec![count];
    let kept = b.results("kept", &item, &ty, &[Atom::Var(count)], &mut pat)?;
    b.emit(pat, Exp::Filter { axis: axes[0], body })?;
    let kept = b.with_headers(kept, c.arg(1)?, &item_ty)?;
    vector_box(b, Dim::rigid(ivar(count)), &item_ty, kept)
}

/// Item `i` as often as its count says: rows of copies, one after the other.
pub(super) fn replicate_counts<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let (counts, n, xs) = (c.base(0)?, c.count(b, 0)?, c.arg(1)?);
    let item_ty = c.array(0, &[c.shape(1)?])?;
    let ty = b.sigma("m", |d| item_ty.lifted(&Shape::of_dims([d])));
    let rows = b.map_boxes("copies", (&[n], Contents::InOrder), &ArrTy::scalar(ty.clone()), |b, at| {
        let count = b.index(counts, at)?;
        let natural = b.at_least_zero(count)?;
        b.check(Trap::NegativeCount, natural, &[&[count], at])?;
        b.check_room(&[count])?;
        let d = b.dim_of(count);
        b.assume_natural(d.clone());
        let item = b.cell(xs, at)?;
        let row = b.map("copies", &[count], &item_ty, |_, _| Ok(item.clone()))?;
        Ok(Val::boxed(ty.clone(), vec![Index::Dim(d)], row))
    })?;
    let Val::Ragged(rows) = rows else { return bug("a map of boxes that gives none") };
    let (d, all) = b.whole_contents(&rows, &item_ty)?;
    vector_box(b, d, &item_ty, all)
}

/// The boxes, if they are known one by one.
fn boxes<'a>(c: &Call<'_, 'a>) -> R<Vec<Val<'a>>> {
    match c.arg(0)? {
        Val::Boxes { elems, .. } => elems
            .iter()
            .map(|v| if let Val::Box(x) = v { Ok(x.contents.clone()) } else { bug("no box") })
            .collect(),
        _ => bug(format!("{} of what is no array of boxes", c.name())),
    }
}

pub(super) fn split<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let (xs, k, n) = (c.arg(0)?, c.count(b, 1)?, c.count(b, 0)?);
    let item = c.array(0, &[c.shape(2)?])?;
    let ty = b.sigma("m", |d| item.lifted(&Shape::of_dims([d])));
    let Some(&[k]) = static_sizes(&[k]).as_deref().filter(|k| k[0] <= MOST_UNROLLED) else {
        return split_at_run_time(b, c, k, n, ty);
    };
    let lengths = b.elements(c.base(1)?, k)?;
    for (i, m) in lengths.iter().enumerate() {
        let cond = b.at_least_zero(*m)?;
        b.check(Trap::NegativeLength, cond, &[&[*m], &[Atom::int(i as i64)]])?;
        b.check_room(&[*m])?;
        let d = b.dim_of(*m);
        b.assume_natural(d);
    }
    let total = lengths.iter().fold(Dim::zero(), |t, m| t.add(&b.dim_of(*m)));
    let total = b.size(&total)?;
    let cond = b.equal(total, n)?;
    b.check(Trap::Split, cond, &[&[total], &[n]])?;
    let mut start = Dim::zero();
    let mut all = Vec::with_capacity(k);
    for m in lengths {
        let from = b.size(&start)?;
        let part = b.rearrange(xs, 1, &[m], &mut |_| View::Slice { start: vec![from], dims: vec![m] })?;
        let d = b.dim_of(m);
        start = start.add(&d);
        all.push(Val::boxed(ty.clone(), vec![Index::Dim(d)], part));
    }
    Ok(Val::Boxes { dims: vec![k], ty, elems: all.into() })
}

/// Parts whose number is known when the program runs: the items stay where they are.
fn split_at_run_time<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>, k: Atom, n: Atom, ty: AtomTy) -> R<Val<'a>> {
    let given = c.base(1)?;
    let lengths = b.tabulate("length", BaseTy::I64, &[k], Vec::new(), |b, at| {
        let m = b.index(given, at)?;
        let natural = b.at_least_zero(m)?;
        b.check(Trap::NegativeLength, natural, &[&[m], at])?;
        b.check_room(&[m])?;
        Ok(m)
    })?;
    let more = b.dim_of(k).add(&Dim::constant(1));
    let more = b.size(&more)?;
    let starts = b.scan_ints("start", k, ScalarOp::Add, ScanKind::Full, more, lengths)?;
    let total = b.index(starts, &[k])?;
    let cond = b.equal(total, n)?;
    b.check(Trap::Split, cond, &[&[total], &[n]])?;
    let starts = b.view(
        View::Slice { start: vec![Atom::int(0)], dims: vec![k] },
        starts,
        Ty { base: BaseTy::I64, dims: vec![k] },
    )?;
    let contents = b.cut_into_boxes(c.arg(0)?, 1, starts, k)?;
    let witnesses = vec![WitnessArrays::Dim(lengths)];
    Ok(Val::Ragged(Rc::new(Ragged { frame: vec![k], ty, witnesses, contents })))
}

/// A vector of items of the type `item` in a box.
fn vector_box<'a>(b: &mut Build<'a>, n: Dim, item: &ArrTy, items: Val<'a>) -> R<Val<'a>> {
    let ty = b.sigma("n", |d| item.lifted(&Shape::of_dims([d])));
    Ok(Val::boxed(ty, vec![Index::Dim(n)], items))
}

pub(super) fn concat<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    if let Val::Ragged(r) = c.arg(0)? {
        let ty = r.ty.clone();
        let (k, r) = (r.frame[0], r.clone());
        // Copied in the order of the boxes, the contents are one after the other.
        let all =
            b.map_boxes("all", (&[k], Contents::InOrder), &ArrTy::scalar(ty), |b, at| b.ragged_cell(&r, at))?;
        let Val::Ragged(all) = all else { return bug("a map of boxes that gives none") };
        let (d, all) = b.whole_contents(&all, &c.array(0, &[c.shape(1)?])?)?;
        return vector_box(b, d, &c.array(0, &[c.shape(1)?])?, all);
    }
    let parts = boxes(c)?;
    let mut total = Dim::zero();
    let mut all: Option<Val> = None;
    for part in parts {
        let Some(n) = b.dims_of(&part).first().copied() else { return bug("concat of a scalar") };
        total = total.add(&b.dim_of(n));
        all = Some(match all {
            None => part,
            Some(before) => {
                let n = b.size(&total)?;
                super::shape::join(b, &before, &part, n)?
            }
        });
    }
    let all = match all {
        Some(v) => v,
        None => {
            let ty = c.array(0, &[&Shape::of_sizes(&[0]), c.shape(1)?])?;
            b.empty(&ty)?
        }
    };
    vector_box(b, total, &c.array(0, &[c.shape(1)?])?, all)
}

pub(super) fn segments<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    if let Val::Ragged(r) = c.arg(0)? {
        return match r.witnesses.first() {
            Some(WitnessArrays::Dim(a)) => Ok(Val::Base(*a)),
            _ => bug("segments of boxes that hide no dim"),
        };
    }
    let parts = boxes(c)?;
    let lengths: Vec<Atom> =
        parts.iter().map(|p| b.dims_of(p).first().copied().unwrap_or(Atom::int(0))).collect();
    let k = Atom::int(lengths.len() as i64);
    Ok(Val::Base(b.literal("lengths", BaseTy::I64, vec![k], lengths)?))
}
