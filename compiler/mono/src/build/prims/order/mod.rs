//! Order: of items of any type, and given by a function.
//!
//! Items without boxes are sorted by their elements, the keys of Mono's `grade`. [`texts`], vectors of characters or small
//! numbers in boxes, are sorted by several of these at a time, as one number. All others, and those of which a function says how they are
//! ordered, are merged ([`merge`]), by what that function or [`compare`] says of two.

mod compare;
mod merge;
mod texts;

use super::Call;
use crate::build::emit::TRUE;
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use compare::{compare, less};
use merge::merge_sort;
use remc_base::ops::ScalarOp;
use remc_base::*;

const BOOL: ArrTy = ArrTy { atom: AtomTy::BOOL, shape: Shape(Vec::new()) };
const INT: ArrTy = ArrTy { atom: AtomTy::INT, shape: Shape(Vec::new()) };

pub(super) fn grade<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let (n, item_ty) = (c.count(b, 0)?, c.array(0, &[c.shape(1)?])?);
    let xs = c.arg(0)?;
    if is_text(&item_ty) {
        return texts::grade(b, n, xs);
    }
    if !has_keys(&item_ty) {
        return merge_sort(b, n, &mut |b, x, y| {
            let (x, y) = (b.cell(xs, &[x])?, b.cell(xs, &[y])?);
            let order = compare(b, (&y, &item_ty), (&x, &item_ty))?;
            b.op(ScalarOp::Ge, &[order, Atom::int(0)])
        });
    }
    let axes = b.open_axes(&[n]);
    let item = b.cell(xs, &[Atom::Var(axes[0].var)])?;
    let mut results = b.atoms(&item)?;
    for a in &mut results {
        if b.base_of(*a) != BaseTy::Bool {
            continue;
        }
        let (flags, dims) = (*a, b.dims_of_atom(*a));
        *a = b.tabulate("key", BaseTy::I64, &dims, Vec::new(), |b, at| {
            let flag = b.index(flags, at)?;
            b.op(ScalarOp::BoolToInt, &[flag])
        })?;
    }
    let body = Body { stmts: b.close().stmts, results };
    let ty = Ty { base: BaseTy::I64, dims: vec![n] };
    Ok(Val::Base(b.bind("order", ty, Exp::Grade { axis: axes[0], body, gives: Gives::Places })?))
}

/// Whether the first different element of two items decides, field after field.
fn has_keys(item: &ArrTy) -> bool {
    match &item.atom {
        AtomTy::Base(_) => true,
        AtomTy::Tuple(q) => item.shape.is_scalar() && q.fields.iter().all(|(_, t)| has_keys(t)),
        _ => false,
    }
}

/// Whether an item is a box that hides the length of a vector of characters or small numbers, and nothing else.
fn is_text(item: &ArrTy) -> bool {
    let AtomTy::Sigma(q) = &item.atom else { return false };
    let hides = |p: &IVar| match Index::from(p.clone()) {
        Index::Dim(d) => q.body.shape == Shape::of_dims([d]),
        Index::Shape(_) => false,
    };
    let small = matches!(q.body.atom, AtomTy::Base(b) if texts::least(b).is_some());
    item.shape.is_scalar() && small && matches!(&q.params[..], [p] if hides(p))
}

pub(super) fn grade_by<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let (n, before, xs) = (c.count(b, 1)?, c.arg(0)?, c.arg(1)?);
    merge_sort(b, n, &mut |b, x, y| {
        let (x, y) = (b.cell(xs, &[x])?, b.cell(xs, &[y])?);
        let first = b.call(before, vec![x.clone(), y.clone()], &BOOL)?;
        let Val::Base(first) = first else { return bug("an order that gives no bool") };
        // One that says of equal items that each goes before the other keeps them in their order, too.
        choose(
            b,
            first,
            &BOOL,
            |_| Ok(TRUE),
            |b| match b.call(before, vec![y.clone(), x.clone()], &BOOL)? {
                Val::Base(second) => b.op(ScalarOp::Not, &[second]),
                _ => bug("an order that gives no bool"),
            },
        )
    })
}

pub(super) fn before<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let ty = c.array(0, &[c.shape(0)?])?;
    if let (Val::Base(x), Val::Base(y), true) = (c.arg(0)?, c.arg(1)?, ty.shape.is_scalar()) {
        return Ok(Val::Base(less(b, *x, *y)?));
    }
    let order = compare(b, (c.arg(0)?, &ty), (c.arg(1)?, &ty))?;
    Ok(Val::Base(b.op(ScalarOp::Lt, &[order, Atom::int(0)])?))
}

/// One of two scalars of the type `ty`.
fn choose<'a>(
    b: &mut Build<'a>,
    cond: Atom,
    ty: &ArrTy,
    then: impl FnOnce(&mut Build<'a>) -> R<Atom>,
    otherwise: impl FnOnce(&mut Build<'a>) -> R<Atom>,
) -> R<Atom> {
    match b.choose(cond, ty, |b| then(b).map(Val::Base), |b| otherwise(b).map(Val::Base))? {
        Val::Base(a) => Ok(a),
        _ => bug("a scalar that is none"),
    }
}

/// A loop over scalars, as long as `cond` holds of them.
fn until<'a, const K: usize>(
    b: &mut Build<'a>,
    start: [Atom; K],
    cond: impl FnOnce(&mut Build<'a>, [Atom; K]) -> R<Atom>,
    next: impl FnOnce(&mut Build<'a>, [Atom; K]) -> R<[Atom; K]>,
) -> R<[Atom; K]> {
    let vars = |b: &mut Build<'a>| start.map(|a| (b.fresh("p", Ty::scalar(b.base_of(a))), a));
    let state = vars(b);
    let here = state.map(|(v, _)| Atom::Var(v));
    b.open();
    let goes_on = cond(b, here)?;
    let cond = Body { stmts: b.close().stmts, results: vec![goes_on] };
    b.open();
    let after = next(b, here)?;
    let body = Body { stmts: b.close().stmts, results: after.to_vec() };
    let done = vars(b).map(|(v, _)| v);
    b.emit(done.to_vec(), Exp::While { state: state.to_vec(), cond, body })?;
    Ok(done.map(Atom::Var))
}
