//! The values of results that are arrays of boxes: from the vectors that hold them ([`Output::Boxes`]) to
//! boxes one by one.

use crate::ir::{Output, Witness};
use remc_base::value::{BoxValue, Data, IndexValue};
use remc_base::{ArrTy, AtomTy, Dim, Scalar, Shape, Subst, Value};
use std::sync::Arc;

type Fetched<T> = Result<T, String>;

/// The array of boxes that `output` describes. `result` gives a result of the program by its position, and
/// `closing` what the indices stand for that the types of the boxes mention.
///
/// # Errors
/// Results that are not what `output` says of them: a mistake of the compiler.
pub fn boxes(output: &Output, result: &dyn Fn(usize) -> Fetched<Value>, closing: &Subst) -> Fetched<Value> {
    let Output::Boxes { frame, ty, witnesses, contents } = output else {
        return Err("an array of boxes that is none".into());
    };
    let shape = frame.iter().map(|at| number(&result(*at)?, 0)).collect::<Fetched<Vec<usize>>>()?;
    let reader = Reader::new(ty, witnesses, contents, result)?;
    let ty = closing.atom(ty);
    let count = shape.iter().product();
    let all = (0..count).map(|k| reader.one(k, &ty, closing).map(Arc::new)).collect::<Fetched<Vec<_>>>()?;
    Ok(Value { atom: ty, shape, data: Data::Box(all) })
}

fn number(v: &Value, at: usize) -> Fetched<usize> {
    match v.data.get(at) {
        Some(remc_base::value::Atom::Scalar(Scalar::I64(n))) => {
            usize::try_from(n).map_err(|_| format!("a size of {n}"))
        }
        _ => Err("a size that is none".into()),
    }
}

/// The arrays that hold boxes.
struct Reader {
    witnesses: Vec<Sizes>,
    contents: Part,
}

enum Sizes {
    Dim(Value),
    Shape(Vec<Value>),
    Vectors { ranks: Value, starts: Value, dims: Value },
}

enum Part {
    Base { starts: Value, data: Value },
    Functions,
    Tuple(Vec<Part>),
    Box(Box<Reader>),
    Boxes { starts: Value, boxes: Box<Reader> },
}

impl Reader {
    fn new(
        ty: &AtomTy,
        witnesses: &[Witness],
        contents: &Output,
        result: &dyn Fn(usize) -> Fetched<Value>,
    ) -> Fetched<Reader> {
        let AtomTy::Sigma(q) = ty else { return Err("a box of another type".into()) };
        let witnesses = witnesses
            .iter()
            .map(|w| match w {
                Witness::Dim(at) => Ok(Sizes::Dim(result(*at)?)),
                Witness::Shape(all) => {
                    Ok(Sizes::Shape(all.iter().map(|at| result(*at)).collect::<Fetched<Vec<_>>>()?))
                }
                Witness::Vectors { ranks, starts, dims } => Ok(Sizes::Vectors {
                    ranks: result(*ranks)?,
                    starts: result(*starts)?,
                    dims: result(*dims)?,
                }),
                Witness::Vector(_) => Err("the shape of one box in an array of boxes".into()),
            })
            .collect::<Fetched<Vec<_>>>()?;
        Ok(Reader { witnesses, contents: Part::new(&q.body.atom, contents, result)? })
    }

    /// Box number `k`.
    fn one(&self, k: usize, ty: &AtomTy, closing: &Subst) -> Fetched<BoxValue> {
        let AtomTy::Sigma(q) = ty else { return Err("a box of another type".into()) };
        let mut inside = closing.clone();
        let mut indices = Vec::with_capacity(self.witnesses.len());
        for (p, w) in q.params.iter().zip(&self.witnesses) {
            indices.push(match w {
                Sizes::Dim(all) => {
                    let n = number(all, k)? as i64;
                    inside.bind_dim(p, Dim::from(n));
                    IndexValue::Dim(n)
                }
                Sizes::Shape(axes) => {
                    let dims = axes.iter().map(|all| number(all, k)).collect::<Fetched<Vec<_>>>()?;
                    inside.bind_shape(p, Shape::of_sizes(&dims));
                    IndexValue::Shape(dims)
                }
                Sizes::Vectors { ranks, starts, dims } => {
                    let (rank, start) = (number(ranks, k)?, number(starts, k)?);
                    let dims = (start..start + rank).map(|i| number(dims, i)).collect::<Fetched<Vec<_>>>()?;
                    inside.bind_shape(p, Shape::of_sizes(&dims));
                    IndexValue::Shape(dims)
                }
            });
        }
        let value = self.contents.value(k, &inside.arr(&q.body), &[], &inside)?;
        Ok(BoxValue { indices, value })
    }
}

impl Part {
    fn new(ty: &AtomTy, contents: &Output, result: &dyn Fn(usize) -> Fetched<Value>) -> Fetched<Part> {
        Ok(match (contents, ty) {
            (Output::Part { starts, data }, _) => {
                Part::Base { starts: result(*starts)?, data: result(*data)? }
            }
            (Output::Functions { .. }, _) => Part::Functions,
            (Output::Tuple { fields, .. }, AtomTy::Tuple(q)) => {
                let fields = fields.iter().zip(&q.fields);
                let parts = fields.map(|((_, f), (_, t))| Part::new(&t.atom, f, result));
                Part::Tuple(parts.collect::<Fetched<Vec<_>>>()?)
            }
            (Output::Boxes { ty, witnesses, contents, .. }, _) => {
                Part::Box(Box::new(Reader::new(ty, witnesses, contents, result)?))
            }
            (Output::Parts { starts, boxes }, _) => {
                let Output::Boxes { ty, witnesses, contents, .. } = &**boxes else {
                    return Err("boxes in boxes that are none".into());
                };
                let boxes = Box::new(Reader::new(ty, witnesses, contents, result)?);
                Part::Boxes { starts: result(*starts)?, boxes }
            }
            _ => return Err("contents of another type".into()),
        })
    }

    /// The contents of box number `k`, of the closed type `ty` with `outer` in front.
    fn value(&self, k: usize, ty: &ArrTy, outer: &[usize], closing: &Subst) -> Fetched<Value> {
        let Some(own) = ty.shape.sizes() else { return Err(format!("contents of the open type {ty}")) };
        let shape: Vec<usize> = outer.iter().copied().chain(own.into_iter().map(|n| n as usize)).collect();
        let count: usize = shape.iter().product();
        match (self, &ty.atom) {
            (Part::Base { starts, data }, _) => {
                let start = if count == 0 { 0 } else { number(starts, k)? };
                let data = data.data.gather(start..start + count);
                Ok(Value { atom: ty.atom.clone(), shape, data })
            }
            (Part::Functions, _) => Ok(functions(ty.atom.clone(), shape)),
            (Part::Tuple(parts), AtomTy::Tuple(q)) => {
                let fields = parts.iter().zip(&q.fields);
                let columns =
                    fields.map(|(p, (label, t))| Ok((label.clone(), p.value(k, t, &shape, closing)?)));
                let columns = columns.collect::<Fetched<Vec<_>>>()?;
                tuples(shape, &columns)
            }
            (Part::Box(reader), t) => {
                let one = reader.one(k, t, closing)?;
                Ok(Value { atom: ty.atom.clone(), shape, data: Data::Box(vec![Arc::new(one)]) })
            }
            (Part::Boxes { starts, boxes }, t) => {
                let start = if count == 0 { 0 } else { number(starts, k)? };
                let all = (start..start + count).map(|k| boxes.one(k, t, closing).map(Arc::new));
                let all = all.collect::<Fetched<Vec<_>>>()?;
                Ok(Value { atom: ty.atom.clone(), shape, data: Data::Box(all) })
            }
            _ => Err(format!("contents that are not of type {ty}")),
        }
    }
}

/// The contents of a box in the shape that their closed type says: what is stored with the axes of a shape as one
/// has them one by one again.
///
/// # Errors
/// Contents that are not of the type: a mistake of the compiler.
pub fn shaped(value: Value, ty: &ArrTy) -> Fetched<Value> {
    let Some(sizes) = ty.shape.sizes() else { return Err(format!("contents of the open type {ty}")) };
    let shape: Vec<usize> = sizes.into_iter().map(|n| n as usize).collect();
    let data = match (value.data, &ty.atom) {
        (Data::Tuple(all), AtomTy::Tuple(q)) => {
            let one = |parts: Arc<[Value]>| {
                let parts = parts.iter().zip(&q.fields).map(|(v, (_, t))| shaped(v.clone(), t));
                Ok(parts.collect::<Fetched<Vec<_>>>()?.into())
            };
            Data::Tuple(all.into_iter().map(one).collect::<Fetched<Vec<_>>>()?)
        }
        (data, _) => data,
    };
    let atom = match &value.atom {
        AtomTy::Tuple(_) => ty.atom.clone(),
        _ => value.atom,
    };
    Ok(Value { atom, shape, data })
}

/// An array of functions of a closed type.
pub fn functions(ty: AtomTy, shape: Vec<usize>) -> Value {
    let count = shape.iter().product();
    Value { atom: ty, shape, data: Data::Function(count) }
}

/// An array of tuples from one array for each field, all with the frame in front.
///
/// # Errors
/// None today; fields of other shapes are a mistake of the compiler.
pub fn tuples(frame: Vec<usize>, parts: &[(Option<remc_base::Name>, Value)]) -> Fetched<Value> {
    let count: usize = frame.iter().product();
    let cells: Vec<Vec<usize>> =
        parts.iter().map(|(_, v)| v.shape[frame.len().min(v.shape.len())..].to_vec()).collect();
    let fields = parts
        .iter()
        .zip(&cells)
        .map(|((label, v), cell)| (label.clone(), ArrTy::new(v.atom.clone(), Shape::of_sizes(cell))))
        .collect();
    let mut all: Vec<Arc<[Value]>> = Vec::with_capacity(count);
    for i in 0..count {
        let one = parts.iter().zip(&cells).map(|((_, v), cell)| {
            let n: usize = cell.iter().product();
            Value { atom: v.atom.clone(), shape: cell.clone(), data: v.data.gather(i * n..(i + 1) * n) }
        });
        all.push(one.collect());
    }
    Ok(Value { atom: AtomTy::tuple(fields), shape: frame, data: Data::Tuple(all) })
}
