//! Vectors of boxes as plain arrays: what is in all boxes, one after the other, and where each begins.
//!
//! ```text
//! [[1 2] [] [3]] as (Σ (k) [int k])        data = [1 2 3]        offsets = [0 2 2 3]
//! ```
//!
//! Box `i` is `data[offsets[i]:offsets[i + 1]]`, as in Arrow's and awkward-array's lists and in the row pointers of a
//! sparse matrix. Items may be rows, `(Σ (k) [float k 3])`; of boxes within boxes `data` is two arrays again,
//! `data.data` and `data.offsets`. In an archive of several values each array has the name of its value in front:
//! `rows.data` and `rows.offsets`.

use super::{DataError, fit_numpy};
use crate::budget::Room;
use crate::npy;
use remc_base::value::{BoxValue, Data};
use remc_base::{ArrTy, AtomTy, BaseTy, DimVar, IndexValue, Scalar, Value};
use std::sync::Arc;

/// What is in a box whose one hidden size is the first of its contents; `None` of other types.
pub fn contents(atom: &AtomTy) -> Option<&ArrTy> {
    let AtomTy::Sigma(sigma) = atom else { return None };
    let [hidden] = sigma.params.as_slice() else { return None };
    let dims = sigma.body.shape.dims()?;
    let (first, item) = dims.split_first()?;
    let is_hidden = |v: &DimVar| *v == DimVar::Rigid(hidden.clone());
    let plain = first.as_var().is_some_and(is_hidden)
        && item.iter().all(|d| d.as_constant().is_some() || d.as_var().is_some_and(|v| !is_hidden(v)));
    let held = matches!(sigma.body.atom, AtomTy::Base(ty) if npy::numpy_name(ty).is_some())
        || item.is_empty() && contents(&sigma.body.atom).is_some();
    (plain && held).then_some(&sigma.body)
}

/// The arrays that a vector of boxes is, with their names after `prefix`; `None` of other values.
pub fn parts(prefix: &str, value: &Value) -> Option<Vec<(String, Value)>> {
    let (inner, [count]) = (contents(&value.atom)?, value.shape.as_slice()) else { return None };
    let Data::Box(boxes) = &value.data else { return None };
    let mut offsets = Vec::with_capacity(count + 1);
    let mut data = Data::of_atom(&inner.atom);
    let known = |d: &remc_base::Dim| d.as_constant().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let mut shape: Vec<usize> = inner.shape.dims()?.iter().map(known).collect();
    let mut total = 0;
    offsets.push(Scalar::I64(0));
    for (k, b) in boxes.iter().enumerate() {
        total += b.value.shape.first()?;
        // Items of a size that a box around them hides may differ: then they are no array's.
        if k > 0 && b.value.shape.get(1..) != shape.get(1..) {
            return None;
        }
        shape.clone_from(&b.value.shape);
        offsets.push(Scalar::I64(i64::try_from(total).ok()?));
        data.append(b.value.data.clone()).then_some(())?;
    }
    *shape.first_mut()? = total;
    let all = Value { atom: inner.atom.clone(), shape, data };
    let offsets = Value::of_scalars(BaseTy::I64, vec![offsets.len()], offsets);
    let mut parts = match inner.atom {
        AtomTy::Base(_) => vec![(format!("{prefix}data"), all)],
        _ => self::parts(&format!("{prefix}data."), &all)?,
    };
    parts.push((format!("{prefix}offsets"), offsets));
    Some(parts)
}

/// The vector of boxes whose arrays have `prefix` before their names. `member` reads an array of the archive.
pub fn read(
    prefix: &str,
    wanted: &AtomTy,
    room: &mut Room<'_>,
    member: &mut dyn FnMut(&str, &mut Room<'_>) -> Result<Value, DataError>,
) -> Result<Value, DataError> {
    let Some(inner) = contents(wanted) else {
        return Err(DataError::Unreadable("it has no boxes".into()));
    };
    let (name, data) = (format!("{prefix}offsets"), format!("{prefix}data"));
    let offsets = member(&name, room)?;
    let all = match inner.atom {
        AtomTy::Base(_) => {
            let value = member(&data, room)?;
            let (shape, rank) = (value.shape.clone(), inner.shape.items().len());
            if value.atom == inner.atom && shape.len() != rank {
                return Err(DataError::Unreadable(format!(
                    "its array `{data}` has {} axes, and what is in a box has {rank}",
                    shape.len()
                )));
            }
            fit_numpy(value, &data, &ArrTy { atom: inner.atom.clone(), shape: inner.shape.clone() })?
        }
        _ => read(&format!("{data}."), &inner.atom, room, member)?,
    };
    let there = all.shape.first().copied().unwrap_or(0);
    let item: usize = all.shape.iter().skip(1).product();
    let ends = ends(&offsets, &name, &data, there)?;
    let mut boxes = Vec::new();
    for w in ends.windows(2) {
        let (from, to) = (w[0], w[1]);
        let bytes = (to - from) * item * all.data.atom_size() + size_of::<BoxValue>() + 48;
        room.take(bytes as u64).and_then(|()| room.grow(&mut boxes, 1)).map_err(DataError::TooMuch)?;
        let mut shape = all.shape.clone();
        shape[0] = to - from;
        let data = all.data.gather(from * item..to * item);
        let value = Value { atom: all.atom.clone(), shape, data };
        boxes.push(Arc::new(BoxValue { indices: vec![IndexValue::Dim((to - from) as i64)], value }));
    }
    Ok(Value { atom: wanted.clone(), shape: vec![boxes.len()], data: Data::Box(boxes) })
}

/// Where boxes begin, and at last where the last one ends: numbers that never fall, within what there is.
fn ends(offsets: &Value, name: &str, data: &str, there: usize) -> Result<Vec<usize>, DataError> {
    let wrong = |what: String| Err(DataError::Unreadable(format!("its array `{name}` {what}")));
    let [count] = offsets.shape[..] else { return wrong("is no vector".into()) };
    if count == 0 {
        return wrong("is empty: it has one number more than there are boxes".into());
    }
    let mut ends: Vec<usize> = Vec::with_capacity(count);
    for (k, atom) in offsets.data.iter().enumerate() {
        let number = match atom {
            remc_base::value::Atom::Scalar(scalar) => scalar.as_integer(),
            _ => None,
        };
        let Some(number) = number else { return wrong("has no integers".into()) };
        let end = usize::try_from(number).ok().filter(|n| *n <= there);
        let Some(end) = end else {
            return wrong(format!("has {number} at {k}, and `{data}` has {there} items"));
        };
        if let Some(last) = ends.last().filter(|last| **last > end) {
            return wrong(format!(
                "has {number} at {k}, after {last}: box {} would end before it begins",
                k - 1
            ));
        }
        ends.push(end);
    }
    Ok(ends)
}
