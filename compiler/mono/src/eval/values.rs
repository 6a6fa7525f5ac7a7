//! Between the values of the language and the arrays of a program.

use super::{Array, Fault, R, bug};
use crate::ir::{Atom, *};
use remc_base::value::{Atom as Item, BoxValue, Data};
use remc_base::*;
use std::sync::Arc;

/// The parameters for the values of an entry's indices and its arguments.
pub fn arguments(p: &Program, indices: &[IndexValue], args: &[Value]) -> Result<Vec<Array>, Fault> {
    let mut out = Vec::new();
    for i in indices {
        match i {
            IndexValue::Dim(n) => out.push(Array::int(*n)),
            IndexValue::Shape(s) => out.extend(s.iter().map(|n| Array::int(*n as i64))),
        }
    }
    let mut taken = Vec::new();
    for (input, a) in p.inputs.iter().zip(args) {
        crate::input::arrays(input, std::borrow::Cow::Borrowed(a), &mut taken).or_else(bug)?;
    }
    let leaves = taken.into_iter().map(array).collect::<R<Vec<_>>>()?;
    let Some(count) = p.params.len().checked_sub(leaves.len()) else {
        return bug("a program with fewer parameters");
    };
    let (sizes, arrays) = p.params.split_at(count);
    // Behind the indices: the lengths of axes of which an index is only a part.
    for v in sizes.get(out.len()..).unwrap_or_default() {
        let length = arrays.iter().zip(&leaves).find_map(|(array, a)| {
            p.ty(*array).dims.iter().position(|d| *d == Atom::Var(*v)).map(|k| a.dims[k])
        });
        match length {
            Some(n) => out.push(Array::int(n as i64)),
            // That of a stream, which is pulled.
            None if !p.channels.is_empty() => out.push(Array::int(0)),
            None => return bug("a size that is no length of an input"),
        }
    }
    out.extend(leaves);
    Ok(out)
}

/// An array of scalars, as the evaluator has it.
///
/// # Errors
/// A value that is none.
pub fn array(v: Value) -> Result<Array, Fault> {
    let scalar = |a| match a {
        Item::Scalar(s) => Ok(s),
        _ => bug("an argument that is no array of scalars"),
    };
    let data = v.atoms().map(scalar).collect::<R<Vec<_>>>()?;
    let AtomTy::Base(base) = v.atom else { return bug("an argument that is no array of scalars") };
    Ok(Array { base, dims: v.shape, data: data.into() })
}

/// The value that the results of a program make up. `indices` are the entry's, which the types of boxes
/// mention.
pub fn value(output: &Output, results: &[Array], indices: &Subst) -> Result<Value, Fault> {
    assemble(output, results, indices, 0, 0)
}

fn size_at(results: &[Array], i: usize) -> R<usize> {
    let n = results.get(i).and_then(|a| a.data.first()).and_then(|s| s.as_integer());
    n.and_then(|n| usize::try_from(n).ok()).map_or_else(|| bug("a size that is none"), Ok)
}

/// The part at position `at` of the first `rank` axes.
fn assemble(output: &Output, results: &[Array], subst: &Subst, rank: usize, at: usize) -> R<Value> {
    match output {
        Output::Array(i) => {
            let Some(a) = results.get(*i) else { return bug("a result that is not there") };
            let shape = a.dims[rank..].to_vec();
            let n: usize = shape.iter().product();
            let scalars = a.data[at * n..(at + 1) * n].iter().copied();
            Ok(Value::of_scalars(a.base, shape, scalars))
        }
        Output::Tuple { frame, fields } => {
            let dims = frame.iter().map(|i| size_at(results, *i)).collect::<R<Vec<_>>>()?;
            let shape = dims[rank..].to_vec();
            let n: usize = shape.iter().product();
            let mut atoms = Vec::with_capacity(n);
            let mut types = None;
            for k in 0..n {
                let parts = fields
                    .iter()
                    .map(|(_, f)| assemble(f, results, subst, dims.len(), at * n + k))
                    .collect::<R<Vec<_>>>()?;
                let arr = |v: &Value| ArrTy::new(v.atom.clone(), Shape::of_sizes(&v.shape));
                types.get_or_insert_with(|| parts.iter().map(arr).collect::<Vec<_>>());
                atoms.push(Item::Tuple(parts.into()));
            }
            let types = types
                .unwrap_or_else(|| fields.iter().map(|(_, f)| empty_type(f, results, dims.len())).collect());
            let fields = fields.iter().map(|(l, _)| l.clone()).zip(types).collect();
            let value = Value::of_atoms(AtomTy::tuple(fields), shape, atoms);
            value.map_or_else(|| bug("tuples that are none"), Ok)
        }
        Output::Box { ty, witnesses, contents } => {
            let ty = subst.atom(ty);
            let AtomTy::Sigma(q) = &ty else { return bug("a box of another type") };
            let mut inner = subst.clone();
            let mut indices = Vec::new();
            for (p, w) in q.params.iter().zip(witnesses) {
                let w = match w {
                    Witness::Dim(i) => IndexValue::Dim(size_at(results, *i)? as i64),
                    Witness::Shape(s) => {
                        IndexValue::Shape(s.iter().map(|i| size_at(results, *i)).collect::<R<_>>()?)
                    }
                    Witness::Vector(i) => {
                        let Some(dims) = results.get(*i) else { return bug("a shape that is not there") };
                        let dim = |s: &Scalar| s.as_integer().and_then(|n| usize::try_from(n).ok());
                        match dims.data.iter().map(dim).collect() {
                            Some(dims) => IndexValue::Shape(dims),
                            None => return bug("a shape that is none"),
                        }
                    }
                    Witness::Vectors { .. } => return bug("the shapes of many boxes in one box"),
                };
                match &w {
                    IndexValue::Dim(n) => inner.bind_dim(p, Dim::from(*n)),
                    IndexValue::Shape(s) => inner.bind_shape(p, Shape::of_sizes(s)),
                }
                indices.push(w);
            }
            let value = assemble(contents, results, &inner, 0, 0)?;
            let value = crate::output::shaped(value, &inner.arr(&q.body)).or_else(bug)?;
            let data = Data::Box(vec![Arc::new(BoxValue { indices, value })]);
            Ok(Value { atom: ty, shape: Vec::new(), data })
        }
        Output::Boxes { .. } => {
            let result = |i: usize| match results.get(i) {
                Some(a) => Ok(Value::of_scalars(a.base, a.dims.clone(), a.data.iter().copied())),
                None => Err("a result that is not there".to_owned()),
            };
            let mut all = crate::output::boxes(output, &result, subst).or_else(bug)?;
            all.shape.drain(..rank);
            let n: usize = all.shape.iter().product();
            all.data = all.data.gather(at * n..(at + 1) * n);
            Ok(all)
        }
        Output::Functions { frame, ty } => {
            let dims = frame.iter().map(|i| size_at(results, *i)).collect::<R<Vec<_>>>()?;
            Ok(crate::output::functions(subst.atom(ty), dims[rank..].to_vec()))
        }
        Output::Part { .. } | Output::Parts { .. } => bug("contents without boxes"),
    }
}

/// The type of a field of no tuples.
fn empty_type(output: &Output, results: &[Array], rank: usize) -> ArrTy {
    match output {
        Output::Array(i) => match results.get(*i) {
            Some(a) => ArrTy::new(AtomTy::Base(a.base), Shape::of_sizes(&a.dims[rank..])),
            None => ArrTy::scalar(AtomTy::INT),
        },
        Output::Tuple { frame, fields } => {
            let dims: Vec<usize> = frame.iter().filter_map(|i| size_at(results, *i).ok()).collect();
            let fields =
                fields.iter().map(|(l, f)| (l.clone(), empty_type(f, results, dims.len()))).collect();
            ArrTy::new(AtomTy::tuple(fields), Shape::of_sizes(&dims[rank..]))
        }
        Output::Box { ty, .. } => ArrTy::scalar(ty.clone()),
        Output::Boxes { frame, ty, .. } | Output::Functions { frame, ty } => {
            let dims: Vec<usize> = frame.iter().filter_map(|i| size_at(results, *i).ok()).collect();
            ArrTy::new(ty.clone(), Shape::of_sizes(&dims[rank..]))
        }
        Output::Part { .. } | Output::Parts { .. } => ArrTy::scalar(AtomTy::INT),
    }
}
