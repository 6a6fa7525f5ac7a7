//! Primitives that take parts of arrays and write into them.

use super::Call;
use crate::build::emit::{FALSE, TRUE};
use crate::build::function::Round;
use crate::build::join::has_boxes;
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::{ScalarOp, zero};
use remc_base::*;

/// The elements of the vector that is argument `i`.
fn vector<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>, i: usize, n: usize) -> R<Vec<Atom>> {
    if n == 0 { Ok(Vec::new()) } else { b.elements(c.base(i)?, n) }
}

pub(super) fn index<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    if !c.is_ranked(1) {
        return super::unranked::index(b, c);
    }
    let xs = c.arg(0)?;
    let axes = c.shape(0)?.items().len();
    let at = vector(b, c, 1, axes)?;
    let (rank, shape) = b.shown(&c.shape(0)?.concat(c.shape(1)?))?;
    let dims = b.dims_of(xs);
    let conds = at.iter().zip(&dims).map(|(i, n)| b.in_range(*i, *n)).collect::<R<Vec<_>>>()?;
    let cond = b.all(&conds)?;
    b.check(Trap::Index { axes: axes.into(), rank }, cond, &[&at, &shape])?;
    if cond == FALSE {
        // Never reached.
        return b.empty(&c.array(0, &[c.shape(1)?])?);
    }
    b.cell(xs, &at)
}

pub(super) fn subvector<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    let n = c.count(b, 0)?;
    let out_dim = c.dim(1)?;
    b.check_natural(out_dim, || "of subvector".into())?;
    let out = b.size(out_dim)?;
    let start = c.base(1)?;
    let cond = fits(b, start, out, n)?;
    b.check(Trap::Subvector, cond, &[&[out], &[start], &[n]])?;
    slice(b, c, &[start], &[out])
}

/// Whether `start` is natural and `start + out` at most `n`, for sizes `out` and `n`, without overflow.
fn fits<'a>(b: &mut Build<'a>, start: Atom, out: Atom, n: Atom) -> R<Atom> {
    let low = b.at_least_zero(start)?;
    let room = b.dim_of(n).sub(&b.dim_of(out)).sub(&b.dim_of(start));
    let high = if b.never_negative(&room) {
        TRUE
    } else {
        let last = b.dim_of(n).sub(&b.dim_of(out));
        let last = b.size(&last)?;
        b.op(ScalarOp::Le, &[start, last])?
    };
    b.op(ScalarOp::And, &[low, high])
}

fn slice<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>, start: &[Atom], out: &[Atom]) -> R<Val<'a>> {
    let xs = c.arg(0)?;
    let frame = b.dims_of(xs);
    if start.is_empty() || (start.iter().all(|s| *s == Atom::int(0)) && out == &frame[..out.len()]) {
        return Ok(xs.clone());
    }
    if let Val::Boxes { dims, ty, elems } = xs
        && let ([s], [n]) = (start, out)
        && let (Some(s), Some(n)) = (s.as_int(), n.as_int())
        && let (Ok(s), Ok(n)) = (usize::try_from(s), usize::try_from(n))
        && s.checked_add(n).is_some_and(|end| end <= dims[0])
    {
        let size: usize = dims[1..].iter().product();
        let dims = std::iter::once(n).chain(dims[1..].iter().copied()).collect();
        return Ok(Val::Boxes { dims, ty: ty.clone(), elems: elems[s * size..(s + n) * size].into() });
    }
    b.rearrange(xs, start.len(), out, &mut |_| View::Slice { start: start.to_vec(), dims: out.to_vec() })
}

pub(super) fn subarray<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    if !c.is_ranked(2) {
        return super::unranked::subarray(b, c);
    }
    let axes = c.shape(0)?.items().len();
    let start = vector(b, c, 1, axes)?;
    let out = b.sizes(c.shape(1)?)?;
    let dims = b.dims_of(c.arg(0)?);
    let mut conds = Vec::with_capacity(axes);
    for ((s, o), n) in start.iter().zip(&out).zip(&dims) {
        conds.push(fits(b, *s, *o, *n)?);
    }
    let cond = b.all(&conds)?;
    let (rank, shape) = b.shown(&c.shape(0)?.concat(c.shape(2)?))?;
    b.check(Trap::Subarray { axes: axes.into(), rank }, cond, &[&out, &start, &shape])?;
    slice(b, c, &start, &out)
}

pub(super) fn subarray_wrap<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    if !c.is_ranked(2) {
        return super::unranked::subarray_wrap(b, c);
    }
    let axes = c.shape(0)?.items().len();
    if axes == 0 {
        return Ok(c.arg(0)?.clone());
    }
    let start = vector(b, c, 1, axes)?;
    let out = b.sizes(c.shape(1)?)?;
    let dims = b.dims_of(c.arg(0)?);
    let some = dims[..axes].iter().map(|n| b.less(Atom::int(0), *n)).collect::<R<Vec<_>>>()?;
    let some = b.all(&some)?;
    let mut cond = some;
    if some != TRUE {
        // A part without elements asks for none.
        for n in &out {
            let none = b.equal(*n, Atom::int(0))?;
            cond = b.op(ScalarOp::Or, &[cond, none])?;
        }
    }
    let (rank, shape) = b.shown(&c.shape(0)?.concat(c.shape(2)?))?;
    b.check(Trap::Wrap { rank }, cond, &[&shape])?;
    b.rearrange(c.arg(0)?, axes, &out, &mut |_| View::Wrap { start: start.clone(), dims: out.clone() })
}

pub(super) fn subarray_fill<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    if !c.is_ranked(2) {
        return super::unranked::subarray_fill(b, c);
    }
    let axes = c.shape(0)?.items().len();
    let start = vector(b, c, 1, axes)?;
    let out = b.sizes(c.shape(1)?)?;
    let (xs, fill) = (c.arg(0)?, c.arg(2)?);
    let shape = b.dims_of(xs);
    let ty = c.array(0, &[c.shape(2)?])?;
    b.map("a", &out, &ty, |b, at| {
        let mut from = Vec::with_capacity(axes);
        let mut conds = Vec::with_capacity(axes);
        for ((s, i), n) in start.iter().zip(at).zip(&shape) {
            let i = b.op(ScalarOp::Add, &[*s, *i])?;
            conds.push(b.in_range(i, *n)?);
            from.push(i);
        }
        let inside = b.all(&conds)?;
        b.choose(inside, &ty, |b| b.cell(xs, &from), |_| Ok(fill.clone()))
    })
}

/// An array of zeros: numbers 0, `#f`, `#\nul`, tuples of zeros.
fn zeros<'a>(b: &mut Build<'a>, like: &Val<'a>, ty: &ArrTy, frame: &[Atom]) -> R<Val<'a>> {
    let dims: Vec<Atom> = frame.iter().copied().chain(b.sizes(&ty.shape)?).collect();
    Ok(match (like, &ty.atom) {
        (Val::Base(_), AtomTy::Base(base)) => {
            let zero = Atom::Const(zero(*base));
            Val::Base(b.tabulate("zeros", *base, &dims, Vec::new(), |_, _| Ok(zero))?)
        }
        (Val::Tuple { fields, .. }, AtomTy::Tuple(q)) if fields.len() == q.fields.len() => {
            let fields = fields
                .iter()
                .zip(&q.fields)
                .map(|(v, (_, t))| zeros(b, v, t, &dims))
                .collect::<R<Vec<_>>>()?;
            Val::Tuple { frame: dims, fields: fields.into() }
        }
        (Val::Fns { .. } | Val::Box(_) | Val::Boxes { .. } | Val::Ragged(_), _) => {
            if let Some(function) = needs_zero(&ty.atom) {
                no_zero(b, &function, &dims)?;
            }
            let dims = dims.iter().map(|n| b.dim_of(*n)).collect::<Vec<_>>();
            b.empty(&ArrTy::new(ty.atom.clone(), Shape::of_dims(dims)))?
        }
        _ => return bug("zeros of another type"),
    })
}

/// Stops the program if there are functions of the type in an array of zeros.
fn no_zero<'a>(b: &mut Build<'a>, ty: &AtomTy, dims: &[Atom]) -> R<()> {
    let mut none = crate::build::emit::FALSE;
    for n in dims {
        let no_places = b.equal(*n, Atom::int(0))?;
        none = b.op(ScalarOp::Or, &[none, no_places])?;
    }
    b.check(Trap::NoZero { ty: ty.to_string().into() }, none, &[])
}

/// The type of the functions that a zero of a type consists of: itself, or of what an empty box holds, which has
/// no axis.
fn needs_zero(ty: &AtomTy) -> Option<AtomTy> {
    match ty {
        AtomTy::Fn(_) | AtomTy::Forall(_) | AtomTy::Pi(_) => Some(ty.clone()),
        AtomTy::Sigma(q) => {
            let mut zeros = Subst::new();
            q.params.iter().for_each(|p| match p.sort {
                Sort::Dim => zeros.bind_dim(p, Dim::zero()),
                Sort::Shape => zeros.bind_shape(p, Shape::of_sizes(&[0])),
            });
            let body = zeros.arr(&q.body);
            let none = body.shape.sizes().is_some_and(|n| n.contains(&0));
            if none { None } else { needs_zero(&body.atom) }
        }
        AtomTy::Tuple(q) => q.fields.iter().find_map(|(_, t)| needs_zero(&t.atom)),
        AtomTy::Base(_) | AtomTy::Var(_) | AtomTy::Meta(_) | AtomTy::Quot(_) => None,
    }
}

pub(super) fn scatter<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    b.check_natural(c.dim(1)?, || "of scatter".into())?;
    let out = b.size(c.dim(1)?)?;
    let dest = zeros(b, c.arg(0)?, &c.array(0, &[c.shape(2)?])?, &[out])?;
    write(b, c, &dest, 1, 0, None)
}

pub(super) fn scatter_into<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    write(b, c, c.arg(0)?, 1, 2, None)
}

pub(super) fn scatter_combine<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>) -> R<Val<'a>> {
    write(b, c, c.arg(1)?, 2, 3, Some(0))
}

/// The item that an operator gives of two, at each position of the pad.
fn combined<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>, op: usize, old: &Val<'a>, new: &Val<'a>) -> R<Val<'a>> {
    let cell = c.array(0, &[c.shape(2)?])?;
    let pad = b.sizes(c.shape(3)?)?;
    b.map("a", &pad, &cell, |b, at| {
        let args = vec![b.cell(old, at)?, b.cell(new, at)?];
        b.call(c.arg(op)?, args, &cell)
    })
}

/// Writes the items of argument `xs` to the places of argument `at` of `dest`, an array of items.
fn write<'a>(
    b: &mut Build<'a>,
    c: &Call<'_, 'a>,
    dest: &Val<'a>,
    at: usize,
    xs: usize,
    combine: Option<usize>,
) -> R<Val<'a>> {
    let ty = match combine {
        Some(_) => c.array(0, &[c.shape(3)?, c.shape(2)?])?,
        None => c.array(0, &[c.shape(2)?])?,
    };
    let (mut dest, mut xs) = (dest.clone(), c.arg(xs)?.clone());
    if !has_boxes(&dest) && !has_boxes(&xs) {
        [dest, xs] = one_table(b, dest, xs)?;
        if !has_boxes(&dest) && !has_boxes(&xs) {
            return write_items(b, c, (&dest, &xs), &ty, at, combine);
        }
    }
    let (dest, xs) = (&dest, &xs);
    if combine.is_some() {
        return combine_boxes(b, c, (dest, xs), &ty, at);
    }
    // The contents of both arrays are kept, one after the other; only what says where they are is written.
    let sizes = [dest, xs].map(|v| b.dims_of(v).first().copied());
    let [Some(m), Some(n)] = sizes else { return bug("scatter into a scalar") };
    let total = b.dim_of(m).add(&b.dim_of(n));
    b.check_fits(&total, || "of both arrays".into())?;
    let total = b.size(&total)?;
    let all = super::shape::join(b, dest, xs, total)?;
    let (headers, header_ty) = b.headers(&all, &ty)?;
    let part = |b: &mut Build<'a>, start: Atom, size: Atom| {
        b.rearrange(&headers, 1, &[size], &mut |_| View::Slice { start: vec![start], dims: vec![size] })
    };
    let dest = part(b, Atom::int(0), m)?;
    let xs = part(b, m, n)?;
    let written = write_items(b, c, (&dest, &xs), &header_ty, at, None)?;
    b.with_headers(written, &all, &ty)
}

/// Both, with the functions of both in one table.
fn one_table<'a>(b: &mut Build<'a>, x: Val<'a>, y: Val<'a>) -> R<[Val<'a>; 2]> {
    match <[Val; 2]>::try_from(b.with_one_table(vec![x, y])?) {
        Ok(both) => Ok(both),
        Err(_) => bug("two values that are not two"),
    }
}

/// How many places there are in a destination.
fn places<'a>(b: &Build<'a>, dest: &Val<'a>) -> R<Atom> {
    match b.dims_of(dest).first() {
        Some(m) => Ok(*m),
        None => bug("scatter into a scalar"),
    }
}

/// The place of item `i` among `m`, or a negative number for none.
fn place<'a>(b: &mut Build<'a>, c: &Call<'_, 'a>, at: usize, i: Atom, m: Atom) -> R<Atom> {
    let place = b.index(c.base(at)?, &[i])?;
    let low = b.less(place, m)?;
    b.check(Trap::Scatter { prim: c.name().into() }, low, &[&[place], &[m]])?;
    Ok(place)
}

/// The items one after the other, each combined with what is at its place: a loop whose state is the whole array,
/// since an item may change its size.
fn combine_boxes<'a>(
    b: &mut Build<'a>,
    c: &Call<'_, 'a>,
    (dest, xs): (&Val<'a>, &Val<'a>),
    ty: &ArrTy,
    at: usize,
) -> R<Val<'a>> {
    let (n, m) = (c.count(b, at)?, places(b, dest)?);
    let whole = ty.lifted(&Shape::of_dims([b.dim_of(m)]));
    super::fold::counted(b, "a", n, vec![(dest.clone(), whole.clone())], |b, i, state| {
        let place = place(b, c, at, i, m)?;
        let kept = b.at_least_zero(place)?;
        let next = b.choose(
            kept,
            &whole,
            |b| {
                let (old, new) = (b.cell(&state[0], &[place])?, b.cell(xs, &[i])?);
                let item = combined(b, c, 0, &old, &new)?;
                b.map("a", &[m], ty, |b, at| {
                    let here = b.equal(at[0], place)?;
                    b.choose(here, ty, |_| Ok(item.clone()), |b| b.cell(&state[0], at))
                })
            },
            |_| Ok(state[0].clone()),
        )?;
        Ok(vec![next])
    })
    .and_then(|mut all| all.pop().map_or_else(|| bug("a loop without a state"), Ok))
}

/// The same of items without boxes, of the type `ty`.
fn write_items<'a>(
    b: &mut Build<'a>,
    c: &Call<'_, 'a>,
    (dest, xs): (&Val<'a>, &Val<'a>),
    ty: &ArrTy,
    at: usize,
    combine: Option<usize>,
) -> R<Val<'a>> {
    let (n, m) = (c.count(b, at)?, places(b, dest)?);
    let axes = b.open_axes(&[n]);
    let i = Atom::Var(axes[0].var);
    let place = place(b, c, at, i, m)?;
    let item = b.cell(xs, &[i])?;
    let mut results = vec![place];
    b.flatten(&item, &mut results)?;
    let body = Body { stmts: b.close().stmts, results };

    let combine = match combine {
        None => None,
        Some(op) => {
            let first = b.program.vars.len();
            let mut params = Vec::new();
            let old = b.results("old", &item, ty, &[], &mut params)?;
            let new = b.results("new", &item, ty, &[], &mut params)?;
            b.open();
            let next = combined(b, c, op, &old, &new)?;
            let next = b.leave(next, first)?;
            match b.settled(std::slice::from_ref(&item), vec![next])? {
                Round::Done(next) if !next.iter().any(has_boxes) => {
                    let results = b.atoms(&next[0])?;
                    Some(Lambda { params, body: Body { stmts: b.close().stmts, results } })
                }
                _ => {
                    // Functions of which more are made on the way: one after the other.
                    b.close();
                    return combine_boxes(b, c, (dest, xs), ty, at);
                }
            }
        }
    };
    let mut dests = Vec::new();
    for a in b.atoms(dest)? {
        match a {
            Atom::Var(v) => dests.push(v),
            Atom::Const(_) => return bug("scatter into a scalar"),
        }
    }
    let mut pat = Vec::new();
    let whole = b.results("a", dest, ty, &[m], &mut pat)?;
    b.emit(pat, Exp::Scatter { dests, axis: axes[0], body, combine })?;
    Ok(whole)
}
