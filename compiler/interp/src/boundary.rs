//! Values in and out of the interpreter.

use crate::array::size;
use crate::error::{Fault, R};
use crate::value::{Array, BoxVal, Data, Dims, Env, IndexVal};
use remc_base::*;
use std::rc::Rc;
use std::sync::Arc;

/// An array as a value of the type `ty`, whose variables are in `env`.
pub(crate) fn to_value(a: &Array, ty: &ArrTy, env: &Env) -> R<Value> {
    let atom = env.atom(&ty.atom)?;
    macro_rules! convert {
        ($($v:ident),*) => {
            match &a.data {
                $(Data::$v(b) => value::Data::$v(b.as_slice().to_vec()),)*
                Data::Box(boxes) => value::Data::Box(boxes_to_value(boxes.as_slice(), &atom)?),
                Data::Tuple(tuples) => value::Data::Tuple(tuples_to_value(tuples.as_slice(), &atom)?),
                Data::Func(_) => value::Data::Function(a.data.len()),
            }
        };
    }
    let data = convert!(Bool, Char, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64);
    if data.base().is_some_and(|ty| atom != AtomTy::Base(ty)) {
        return Err(not_of_type(&atom));
    }
    Ok(Value { atom, shape: a.shape.to_vec(), data })
}

fn not_of_type(atom: &AtomTy) -> Box<Fault> {
    Fault::internal(format!("a value that is not of its type {atom}"))
}

fn boxes_to_value(boxes: &[Rc<BoxVal>], atom: &AtomTy) -> R<Vec<Arc<BoxValue>>> {
    let AtomTy::Sigma(q) = atom else { return Err(not_of_type(atom)) };
    let one = |b: &Rc<BoxVal>| {
        let mut inner = Env::empty();
        if q.params.len() != b.indices.len() {
            return Err(not_of_type(atom));
        }
        for (v, i) in q.params.iter().zip(&b.indices) {
            inner.bind_index(v, i.clone())?;
        }
        let value = to_value(&b.value, &q.body, &inner)?;
        Ok(Arc::new(BoxValue { indices: b.indices.iter().map(index_to_value).collect(), value }))
    };
    boxes.iter().map(one).collect()
}

fn tuples_to_value(tuples: &[Rc<[Array]>], atom: &AtomTy) -> R<Vec<Arc<[Value]>>> {
    let AtomTy::Tuple(q) = atom else { return Err(not_of_type(atom)) };
    let one = |t: &Rc<[Array]>| {
        if t.len() != q.fields.len() {
            return Err(not_of_type(atom));
        }
        let parts = t.iter().zip(&q.fields).map(|(a, (_, ty))| to_value(a, ty, &Env::empty()));
        Ok(parts.collect::<R<Vec<_>>>()?.into())
    };
    tuples.iter().map(one).collect()
}

pub(crate) fn from_value(v: &Value) -> R<Array> {
    let wrong = || Fault::internal(format!("an argument that is not of its type {}", v.atom));
    macro_rules! convert {
        ($($x:ident),*) => {
            match &v.data {
                $(value::Data::$x(b) => Data::$x(b.clone().into()),)*
                value::Data::Box(boxes) => {
                    let one = |b: &Arc<BoxValue>| {
                        let indices = b.indices.iter().map(index_from_value).collect();
                        Ok(Rc::new(BoxVal { indices, value: from_value(&b.value)? }))
                    };
                    Data::Box(boxes.iter().map(one).collect::<R<Vec<_>>>()?.into())
                }
                value::Data::Tuple(tuples) => {
                    let one = |t: &Arc<[Value]>| {
                        Ok(t.iter().map(from_value).collect::<R<Vec<_>>>()?.into())
                    };
                    Data::Tuple(tuples.iter().map(one).collect::<R<Vec<_>>>()?.into())
                }
                value::Data::Function(0) => Data::Func(Vec::new().into()),
                value::Data::Function(_) => return Err(wrong()),
            }
        };
    }
    let data = convert!(Bool, Char, I8, I16, I32, I64, U8, U16, U32, U64, F16, F32, F64);
    let fits = match &v.atom {
        AtomTy::Base(ty) => data.base() == Some(*ty),
        AtomTy::Sigma(_) => matches!(data, Data::Box(_)),
        AtomTy::Tuple(_) => matches!(data, Data::Tuple(_)),
        _ => matches!(data, Data::Func(_)),
    };
    if !fits {
        return Err(wrong());
    }
    let shape = Dims::from_slice(&v.shape);
    if size(&shape)? != v.data.len() {
        return Err(Fault::internal("an argument whose elements do not fill its shape"));
    }
    Ok(Array::new(shape, data))
}

fn index_to_value(i: &IndexVal) -> IndexValue {
    match i {
        IndexVal::Dim(n) => IndexValue::Dim(*n),
        IndexVal::Shape(s) => IndexValue::Shape(s.to_vec()),
    }
}

pub(crate) fn index_from_value(i: &IndexValue) -> IndexVal {
    match i {
        IndexValue::Dim(n) => IndexVal::Dim(*n),
        IndexValue::Shape(s) => IndexVal::Shape(Rc::from(s.as_slice())),
    }
}
