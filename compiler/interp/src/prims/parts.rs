//! Primitives that take parts of arrays and write into them.

use super::{Call, for_each_index, joined, strides};
use crate::array::{size, sizes};
use crate::error::{Fault, R};
use crate::value::{Array, Builder, Data, Dims, IndexVal};
use remc_base::ops::zero;
use remc_base::{AtomTy, Sort, Trap};
use smallvec::smallvec;
use std::rc::Rc;

pub(super) fn index(c: &Call) -> R<Array> {
    let (xs, at) = (c.arg(0)?, c.arg(1)?.as_ints()?);
    if at.len() > xs.rank() {
        return Err(Fault::internal("an index of more axes than there are"));
    }
    let frame = &xs.shape[..at.len()];
    let mut position = 0;
    for (i, n) in at.iter().zip(frame) {
        match usize::try_from(*i) {
            Ok(i) if i < *n => position = position * n + i,
            _ => return Err(out_of_range(at, &xs.shape)),
        }
    }
    let cell = size(&xs.shape[at.len()..])?;
    Ok(xs.cell(at.len(), position, cell))
}

fn out_of_range(at: &[i64], shape: &[usize]) -> Box<Fault> {
    Fault::trap(Trap::Index { axes: at.len().into(), rank: shape.len().into() }, &[at, &sizes(shape)])
}

pub(super) fn subvector(c: &Call) -> R<Array> {
    let (n, xs, item) = c.items(0)?;
    let (out, start) = (c.dim(1)?, c.arg(1)?.as_int()?);
    match usize::try_from(start) {
        Ok(s) if s.checked_add(out).is_some_and(|end| end <= n) => {
            Ok(Array::new(joined(&[out], &xs.shape[1..]), xs.data.slice(s * item, out * item)))
        }
        _ => Err(Fault::trap(Trap::Subvector, &[&[out as i64], &[start], &[n as i64]])),
    }
}

/// A window of `out` at `start` over the leading axes of `xs`: the position of each cell of the result.
fn window(
    c: &Call,
    mut place: impl FnMut(usize, i128, usize) -> R<Option<usize>>,
) -> R<(Vec<Option<usize>>, Dims, usize)> {
    let (xs, start, out) = (c.arg(0)?, c.arg(1)?.as_ints()?, c.shape(1)?);
    let axes = start.len();
    if axes > xs.rank() || out.len() != axes {
        return Err(Fault::internal(format!("{} of more axes than there are", c.name())));
    }
    let frame = &xs.shape[..axes];
    let shape = joined(out, &xs.shape[axes..]);
    size(&shape)?;
    let steps = strides(frame);
    let mut from = Vec::with_capacity(size(out)?);
    for_each_index(out, |at| {
        let mut p = Some(0);
        for axis in 0..axes {
            let i = start[axis] as i128 + at[axis] as i128;
            let i = place(axis, i, frame[axis])?;
            p = p.zip(i).map(|(p, i)| p + i * steps[axis]);
        }
        from.push(p);
        Ok(())
    })?;
    Ok((from, shape, size(&xs.shape[axes..])?))
}

pub(super) fn subarray(c: &Call) -> R<Array> {
    let (xs, start, out) = (c.arg(0)?, c.arg(1)?.as_ints()?, c.shape(1)?);
    let fits = start.iter().zip(out).zip(&xs.shape).all(|((s, o), n)| {
        usize::try_from(*s).ok().and_then(|s| s.checked_add(*o)).is_some_and(|end| end <= *n)
    });
    if !fits {
        let trap = Trap::Subarray { axes: start.len().into(), rank: xs.rank().into() };
        return Err(Fault::trap(trap, &[&sizes(out), start, &sizes(&xs.shape)]));
    }
    let (from, shape, cell) = window(c, |_, i, _| Ok(usize::try_from(i).ok()))?;
    Ok(Array::new(shape, xs.data.gather(from.into_iter().flatten(), cell)))
}

pub(super) fn subarray_wrap(c: &Call) -> R<Array> {
    let xs = c.arg(0)?;
    let (from, shape, cell) = window(c, |_, i, n| match n {
        0 => Err(Fault::trap(Trap::Wrap { rank: xs.rank().into() }, &[&sizes(&xs.shape)])),
        n => Ok(Some(i.rem_euclid(n as i128) as usize)),
    })?;
    Ok(Array::new(shape, xs.data.gather(from.into_iter().flatten(), cell)))
}

pub(super) fn subarray_fill(c: &Call) -> R<Array> {
    let (xs, fill) = (c.arg(0)?, c.arg(2)?);
    let (from, shape, cell) = window(c, |_, i, n| Ok(usize::try_from(i).ok().filter(|i| *i < n)))?;
    // The cells of the array, then the filling one.
    let cells = xs.data.len().checked_div(cell).unwrap_or(0);
    let mut all = xs.data.builder(xs.data.len() + cell);
    if !(all.extend(&xs.data) && all.extend(&fill.data)) {
        return Err(Fault::internal("subarray/fill with a cell of another type"));
    }
    let count = if cell == 0 { 0 } else { from.len() };
    let from = from.into_iter().take(count).map(|p| p.unwrap_or(cells));
    Ok(Array::new(shape, all.finish().gather(from, cell)))
}

/// A cell of zeros of a closed type: numbers 0, `#f`, `#\nul`, empty boxes, tuples of zeros.
fn zeros(ty: &AtomTy, count: usize) -> R<Data> {
    if count == 0 {
        return Ok(Builder::of_atom(ty)?.finish());
    }
    let one = match ty {
        AtomTy::Base(b) => Data::one(zero(*b)),
        AtomTy::Tuple(q) => {
            let parts = q
                .fields
                .iter()
                .map(|(_, t)| {
                    let shape = crate::value::Env::empty().shape(&t.shape)?;
                    let n = size(&shape)?;
                    Ok(Array::new(shape, zeros(&t.atom, n)?))
                })
                .collect::<R<Vec<_>>>()?;
            Array::tuple(parts).data
        }
        AtomTy::Sigma(q) => {
            let mut env = crate::value::Env::empty();
            let mut indices = Vec::new();
            for v in &q.params {
                let i = match v.sort {
                    Sort::Dim => IndexVal::Dim(0),
                    Sort::Shape => IndexVal::Shape(Rc::from([0usize])),
                };
                env.bind_index(v, i.clone())?;
                indices.push(i);
            }
            let shape = env.shape(&q.body.shape)?;
            let n = size(&shape)?;
            let data = zeros(&env.atom(&q.body.atom)?, n)?;
            Array::boxed(indices, Array::new(shape, data)).data
        }
        _ => return Err(Fault::trap(Trap::NoZero { ty: ty.to_string().into() }, &[])),
    };
    Ok(one.gather(std::iter::repeat_n(0, count), 1))
}

pub(super) fn scatter(c: &Call) -> R<Array> {
    let (values, out) = (c.arg(0)?, c.dim(1)?);
    let shape = joined(&[out], &values.shape[1.min(values.rank())..]);
    let n = size(&shape)?;
    let ty = match (c.p.types.first(), values.data.base()) {
        (_, Some(b)) => AtomTy::Base(b),
        (Some(t), None) => t.clone(),
        (None, None) => return Err(Fault::internal("scatter without its type argument")),
    };
    let dest = Array::new(shape, zeros(&ty, n)?);
    write(c, &dest, c.arg(1)?.as_ints()?, values, None)
}

pub(super) fn scatter_into(c: &Call) -> R<Array> {
    write(c, c.arg(0)?, c.arg(1)?.as_ints()?, c.arg(2)?, None)
}

pub(super) fn scatter_combine(c: &Call) -> R<Array> {
    write(c, c.arg(1)?, c.arg(2)?.as_ints()?, c.arg(3)?, Some((c.arg(0)?, c.shape(3)?)))
}

/// Writes the items of `values` in order: negative places are dropped, places past the end stop the
/// program. An operator combines them with what is there, at each position of a pad.
fn write(
    c: &Call,
    dest: &Array,
    at: &[i64],
    values: &Array,
    combine: Option<(&Array, &[usize])>,
) -> R<Array> {
    let n = dest.shape.first().copied().unwrap_or(0);
    let cell = size(&dest.shape[1.min(dest.rank())..])?;
    if values.shape.first() != Some(&at.len()) {
        return Err(Fault::internal(format!("{} with another number of indices", c.name())));
    }
    let mut out = dest.data.builder(dest.data.len());
    let mut good = out.extend(&dest.data);
    let item_shape = Dims::from_slice(&values.shape[1..]);
    for (k, i) in at.iter().enumerate() {
        let Ok(i) = usize::try_from(*i) else { continue };
        if i >= n {
            let trap = Trap::Scatter { prim: c.name().into() };
            return Err(Fault::trap(trap, &[&[i as i64], &[n as i64]]));
        }
        let mut item = values.cell(1, k, cell);
        if let Some((op, pad)) = combine {
            let old = Array::new(item_shape.clone(), out.read(i * cell, cell));
            let like = item.clone();
            item = c.apply.call_padded(op.as_func()?, smallvec![old, item], pad, &like)?;
        }
        good &= item.data.len() == cell && out.write(i * cell, &item.data);
    }
    if !good {
        return Err(Fault::internal(format!("{} with items of another type", c.name())));
    }
    Ok(Array::new(dest.shape.clone(), out.finish()))
}
