//! Choice and ragged data.

use super::{Call, joined};
use crate::array::size;
use crate::error::{Fault, R};
use crate::value::{Array, BoxVal, Buf, Data, IndexVal};
use remc_base::{LONGEST, Trap};
use smallvec::smallvec;
use std::rc::Rc;

/// The items at the given positions, in a box that hides how many there are.
fn boxed(xs: &Array, item: usize, positions: Vec<usize>) -> R<Array> {
    let shape = joined(&[positions.len()], &xs.shape[1..]);
    size(&shape)?;
    let k = positions.len() as i64;
    let items = Array::new(shape, xs.data.gather(positions.into_iter(), item));
    Ok(Array::boxed(vec![IndexVal::Dim(k)], items))
}

pub(super) fn filter(c: &Call) -> R<Array> {
    let (keep, (_, xs, item)) = (c.arg(0)?.as_bools()?, c.items(1)?);
    boxed(xs, item, keep.iter().enumerate().filter(|(_, k)| **k).map(|(i, _)| i).collect())
}

pub(super) fn replicate_counts(c: &Call) -> R<Array> {
    let (counts, (_, xs, item)) = (c.arg(0)?.as_ints()?, c.items(1)?);
    let mut positions = Vec::new();
    for (i, n) in counts.iter().enumerate() {
        let Ok(n) = usize::try_from(*n) else {
            return Err(Fault::trap(Trap::NegativeCount, &[&[*n], &[i as i64]]));
        };
        let total = positions.len().saturating_add(n);
        size(&[total, item.max(1)])?;
        positions.extend(std::iter::repeat_n(i, n));
    }
    boxed(xs, item, positions)
}

pub(super) fn split(c: &Call) -> R<Array> {
    let ((n, xs, item), lengths) = (c.items(0)?, c.arg(1)?.as_ints()?);
    if let Some(i) = lengths.iter().position(|m| *m < 0) {
        return Err(Fault::trap(Trap::NegativeLength, &[&[lengths[i]], &[i as i64]]));
    }
    if let Some(m) = lengths.iter().find(|m| **m > LONGEST) {
        return Err(Fault::trap(Trap::of_row(1), &[&[*m]]));
    }
    let total = lengths.iter().fold(0i64, |total, m| total.saturating_add(*m));
    if total != n as i64 {
        return Err(Fault::trap(Trap::Split, &[&[total], &[n as i64]]));
    }
    let mut start = 0;
    let boxes: Vec<Rc<BoxVal>> = lengths
        .iter()
        .map(|m| {
            let count = *m as usize;
            let data = xs.data.slice(start * item, count * item);
            start += count;
            let value = Array::new(joined(&[count], &xs.shape[1..]), data);
            Rc::new(BoxVal { indices: vec![IndexVal::Dim(*m)], value })
        })
        .collect();
    Ok(Array::new(smallvec![lengths.len()], Data::Box(Buf::from(boxes))))
}

pub(super) fn concat(c: &Call) -> R<Array> {
    let boxes = c.arg(0)?.as_boxes()?;
    let cell = c.shape(1)?;
    let items = boxes.iter().map(|b| b.value.shape.first().copied().unwrap_or(0));
    let total = items.fold(0usize, usize::saturating_add);
    if total > LONGEST as usize {
        return Err(Fault::trap(Trap::of_row(1), &[&[total.try_into().unwrap_or(i64::MAX)]]));
    }
    let shape = joined(&[total], cell);
    let mut out = match (boxes.first(), c.p.types.first()) {
        (Some(b), _) => b.value.data.builder(size(&shape)?),
        (None, Some(t)) => crate::value::Builder::of_atom(t)?,
        (None, None) => return Err(Fault::internal("concat without its type argument")),
    };
    for b in boxes {
        if !out.extend(&b.value.data) {
            return Err(Fault::internal("concat of boxes of different types"));
        }
    }
    Ok(Array::boxed(vec![IndexVal::Dim(total as i64)], Array::new(shape, out.finish())))
}

pub(super) fn segments(c: &Call) -> R<Array> {
    let boxes = c.arg(0)?.as_boxes()?;
    let lengths = boxes.iter().map(|b| b.value.shape.first().copied().unwrap_or(0) as i64).collect();
    Ok(Array::ints(smallvec![boxes.len()], lengths))
}
