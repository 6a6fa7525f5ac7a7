//! The arrays that an argument consists of: a program takes arrays of base type alone.
//!
//! ```text
//! [(values 1 2.5) (values 3 4.5)]                  ⟶  [1 3]   [2.5 4.5]
//! (boxes (n) [int n] [3] ((2) [7 8]) ((0) …) ((3) [4 5 6]))
//!                                                  ⟶  witness n [2 0 3]   starts [0 2 2]   data [7 8 4 5 6]
//! ```
//!
//! It is the other way of [`crate::output`].

use crate::ir::{Input, InputWitness};
use remc_base::value::{Atom, BoxValue, Data, IndexValue};
use remc_base::{ArrTy, AtomTy, Value};
use std::borrow::Cow;
use std::sync::Arc;

type Taken<T> = Result<T, String>;

/// Appends the arrays of an argument, in the order of the input's variables. An array that is given is not copied.
///
/// # Errors
/// A value that is not of the input's type: a mistake of the compiler, which has checked it.
pub fn arrays(input: &Input, value: Cow<'_, Value>, to: &mut Vec<Value>) -> Taken<()> {
    match input {
        Input::Array(_) => {
            to.push(value.into_owned());
            Ok(())
        }
        Input::Tuple(fields) => fields
            .iter()
            .enumerate()
            .try_for_each(|(k, (_, field))| arrays(field, Cow::Owned(component(&value, k)?), to)),
        Input::Boxes { witnesses, contents } => {
            boxes((witnesses, contents), &value.atom, &all_boxes(&value.data)?, &value.shape, to)
        }
        Input::Part { .. } | Input::Parts { .. } => Err("contents without boxes".into()),
        Input::Stream { items, .. } => arrays(items, value, to),
        // What it holds is pulled.
        Input::Channel { .. } => Ok(()),
    }
}

/// Component `k` of each tuple of an array: the array's shape, then the component's.
fn component(value: &Value, k: usize) -> Taken<Value> {
    let AtomTy::Tuple(q) = &value.atom else { return Err("an argument that is no tuple".into()) };
    let Some((_, ty)) = q.fields.get(k) else { return Err("a tuple with fewer fields".into()) };
    let mut data = Data::of_atom(&ty.atom);
    let mut cell: Option<Vec<usize>> =
        ty.shape.sizes().map(|dims| dims.iter().map(|n| *n as usize).collect());
    for atom in value.data.iter() {
        let Atom::Tuple(parts) = atom else { return Err("an array of tuples of other atoms".into()) };
        let Some(part) = parts.get(k) else { return Err("a tuple with fewer parts".into()) };
        cell = Some(part.shape.clone());
        if !data.append(part.data.clone()) {
            return Err("tuples of different types in one array".into());
        }
    }
    let mut shape = value.shape.clone();
    shape.extend(cell.unwrap_or_default());
    Ok(Value { atom: ty.atom.clone(), shape, data })
}

fn all_boxes(data: &Data) -> Taken<Vec<Arc<BoxValue>>> {
    match data {
        Data::Box(all) => Ok(all.clone()),
        _ => Err("an argument that is no box".into()),
    }
}

/// Numbers, one for each box of a frame.
fn numbers(frame: &[usize], data: Vec<i64>) -> Value {
    Value { atom: AtomTy::INT, shape: frame.to_vec(), data: Data::I64(data) }
}

/// The arrays of boxes of the type `ty` in a frame.
fn boxes(
    (witnesses, contents): (&[InputWitness], &Input),
    ty: &AtomTy,
    all: &[Arc<BoxValue>],
    frame: &[usize],
    to: &mut Vec<Value>,
) -> Taken<()> {
    let AtomTy::Sigma(q) = ty else { return Err("a box of another type".into()) };
    for (k, w) in witnesses.iter().enumerate() {
        if let InputWitness::Shape { .. } = w {
            let (mut ranks, mut starts, mut dims) = (Vec::new(), Vec::new(), Vec::new());
            for b in all {
                let Some(IndexValue::Shape(s)) = b.indices.get(k) else {
                    return Err("a box whose index is no shape".to_owned());
                };
                ranks.push(s.len() as i64);
                starts.push(dims.len() as i64);
                dims.extend(s.iter().map(|n| *n as i64));
            }
            let total = dims.len();
            to.extend([numbers(frame, ranks), numbers(frame, starts), numbers(&[total], dims)]);
            continue;
        }
        let column = all.iter().map(|b| match b.indices.get(k) {
            Some(IndexValue::Dim(n)) => Ok(*n),
            _ => Err("a box whose index is no size".to_owned()),
        });
        to.push(numbers(frame, column.collect::<Taken<_>>()?));
    }
    let values: Vec<Value> = all.iter().map(|b| b.value.clone()).collect();
    parts(contents, &q.body, values, frame, to)
}

/// The arrays of the contents of boxes: `all` are those of each, of a type like `ty`.
fn parts(input: &Input, ty: &ArrTy, all: Vec<Value>, frame: &[usize], to: &mut Vec<Value>) -> Taken<()> {
    let starts = || {
        let mut total = 0;
        let each = all.iter().map(|v| {
            let start = total;
            total += v.data.len() as i64;
            start
        });
        numbers(frame, each.collect())
    };
    match (input, &ty.atom) {
        (Input::Part { .. }, atom) => {
            to.push(starts());
            let mut data = Data::of_atom(atom);
            for v in all {
                if !data.append(v.data) {
                    return Err(format!("contents that are not of type {atom}"));
                }
            }
            to.push(Value { atom: atom.clone(), shape: vec![data.len()], data });
        }
        (Input::Tuple(fields), AtomTy::Tuple(q)) => {
            for (k, ((_, field), (_, t))) in fields.iter().zip(&q.fields).enumerate() {
                let column = all.iter().map(|v| component(v, k)).collect::<Taken<Vec<_>>>()?;
                parts(field, t, column, frame, to)?;
            }
        }
        (Input::Boxes { witnesses, contents }, atom) => {
            let one = |v: &Value| match all_boxes(&v.data)?.as_slice() {
                [one] => Ok(one.clone()),
                _ => Err("a box that holds several".to_owned()),
            };
            let inner = all.iter().map(one).collect::<Taken<Vec<_>>>()?;
            boxes((witnesses, contents), atom, &inner, frame, to)?;
        }
        (Input::Parts { boxes: inner, .. }, atom) => {
            let Input::Boxes { witnesses, contents } = &**inner else {
                return Err("boxes in boxes that are none".into());
            };
            to.push(starts());
            let mut line = Vec::new();
            for v in &all {
                line.extend(all_boxes(&v.data)?);
            }
            boxes((witnesses, contents), atom, &line, &[line.len()], to)?;
        }
        (_, atom) => return Err(format!("contents that are not of type {atom}")),
    }
    Ok(())
}
