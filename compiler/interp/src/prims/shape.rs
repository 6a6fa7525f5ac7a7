//! Primitives that make and rearrange arrays.

use super::{Call, for_each_index, joined, strides};
use crate::array::{size, sizes};
use crate::error::{Fault, R};
use crate::value::{Array, Builder, Dims};
use remc_base::{BaseTy, Trap};

pub(super) fn iota(c: &Call) -> R<Array> {
    let shape = c.shape(0)?;
    let n = size(shape)?;
    Ok(Array::ints(Dims::from_slice(shape), (0..n as i64).collect()))
}

pub(super) fn replicate(c: &Call) -> R<Array> {
    let (outer, x) = (c.shape(0)?, c.arg(0)?);
    let shape = joined(outer, &x.shape);
    size(&shape)?;
    let (count, cell) = (size(outer)?, size(&x.shape)?);
    // Copying an empty cell however often is nothing.
    let count = if cell == 0 { 0 } else { count };
    Ok(Array::new(shape, x.data.gather(std::iter::repeat_n(0, count), cell)))
}

pub(super) fn reshape(c: &Call) -> R<Array> {
    let (to, xs) = (c.shape(1)?, c.arg(0)?);
    let n = size(to)?;
    if n != xs.data.len() {
        let trap = Trap::Reshape { from: xs.rank().into(), to: to.len().into() };
        let m = xs.data.len();
        return Err(Fault::trap(trap, &[&sizes(&xs.shape), &[m as i64], &sizes(to), &[n as i64]]));
    }
    Ok(Array::new(Dims::from_slice(to), xs.data.clone()))
}

pub(super) fn with_shape(c: &Call) -> R<Array> {
    let (like, xs) = (c.arg(0)?, c.arg(1)?);
    let (n, m) = (like.data.len(), xs.data.len());
    if n > 0 && m == 0 {
        return Err(Fault::trap(Trap::WithShape { rank: like.rank().into() }, &[&sizes(&like.shape)]));
    }
    Ok(Array::new(like.shape.clone(), xs.data.gather((0..n).map(|i| i % m), 1)))
}

pub(super) fn append(c: &Call) -> R<Array> {
    let (n, xs, _) = c.items(0)?;
    let (m, ys, _) = c.items(1)?;
    if xs.shape[1..] != ys.shape[1..] {
        return Err(Fault::internal("append of items of different shapes"));
    }
    let total = n.checked_add(m).filter(|t| i64::try_from(*t).is_ok());
    let total = total.ok_or_else(|| Fault::trap(Trap::Append, &[]))?;
    let shape = joined(&[total], &xs.shape[1..]);
    let mut out = xs.data.builder(size(&shape)?);
    if !(out.extend(&xs.data) && out.extend(&ys.data)) {
        return Err(Fault::internal("append of items of different types"));
    }
    Ok(Array::new(shape, out.finish()))
}

pub(super) fn reverse(c: &Call) -> R<Array> {
    let (n, xs, item) = c.items(0)?;
    Ok(Array::new(xs.shape.clone(), xs.data.gather((0..n).rev(), item)))
}

pub(super) fn collect(c: &Call) -> R<Array> {
    Ok(c.arg(0)?.clone())
}

/// How many items a stream has that the program makes: pieces cannot be seen.
pub(super) fn streamed(c: &Call) -> R<Array> {
    Ok(c.arg(0)?.clone())
}

pub(super) fn recursion_depth(c: &Call) -> R<Array> {
    match (c.arg(0)?.as_ints()?.first(), c.arg(1)?.as_ints()?.first()) {
        (Some(n), Some(most)) if n > most => Err(Fault::trap(Trap::Deep, &[&[*most]])),
        _ => Ok(c.arg(0)?.clone()),
    }
}

pub(super) fn rotate(c: &Call) -> R<Array> {
    let (xs, amounts) = (c.arg(0)?, c.arg(1)?.as_ints()?);
    let axes = amounts.len();
    if axes > xs.rank() {
        return Err(Fault::internal("rotate of more axes than there are"));
    }
    let (frame, cell) = (&xs.shape[..axes], size(&xs.shape[axes..])?);
    let steps = strides(frame);
    let mut from = Vec::with_capacity(size(frame)?);
    for_each_index(frame, |at| {
        let mut p = 0;
        for axis in 0..axes {
            let n = frame[axis] as i128;
            p += (at[axis] as i128 + amounts[axis] as i128).rem_euclid(n) as usize * steps[axis];
        }
        from.push(p);
        Ok(())
    })?;
    Ok(Array::new(xs.shape.clone(), xs.data.gather(from.into_iter(), cell)))
}

pub(super) fn transpose(c: &Call) -> R<Array> {
    let m = c.arg(0)?;
    let [a, b, ..] = m.shape[..] else { return Err(Fault::internal("transpose of a vector")) };
    let cell = size(&m.shape[2..])?;
    let shape = joined(&[b, a], &m.shape[2..]);
    // One of many axes may be empty: then there is nothing to move, however long the others are.
    let count = if m.data.len() == 0 { 0 } else { a * b };
    Ok(Array::new(shape, m.data.gather((0..count).map(|p| (p % a) * b + p / a), cell)))
}

pub(super) fn indices_of(c: &Call) -> R<Array> {
    let shape = &c.arg(0)?.shape;
    let whole = joined(shape, &[shape.len()]);
    let mut out = Builder::of_base(BaseTy::I64, size(&whole)?);
    let Builder::I64(ints) = &mut out else { return Err(Fault::internal("int is not i64")) };
    for_each_index(shape, |at| {
        ints.extend(at.iter().map(|i| *i as i64));
        Ok(())
    })?;
    Ok(Array::new(whole, out.finish()))
}
