//! Values in and out of the interpreter.

use crate::array::*;
use crate::env::{Env, IndexVal};
use crate::error::{Fault, R};
use remc_base::*;
use std::rc::Rc;
use std::sync::Arc;

/// An array as a value of the type `ty`, whose variables are in `env`.
pub(crate) fn to_value(a: &Array, ty: &ArrTy, env: &Env) -> R<Value> {
    let atom = env.atom(&ty.atom)?;
    let wrong = || Fault::internal(format!("a value that is not of its type {atom}"));
    let n = a.data.len();
    let mut atoms = Vec::with_capacity(n);
    match &a.data {
        Data::Box(boxes) => {
            let AtomTy::Sigma(q) = &atom else { return Err(wrong()) };
            for b in boxes.as_slice() {
                let mut inner = Env::empty();
                if q.params.len() != b.indices.len() {
                    return Err(wrong());
                }
                for (v, i) in q.params.iter().zip(&b.indices) {
                    inner.bind_index(v, i.clone())?;
                }
                let value = to_value(&b.value, &q.body, &inner)?;
                let indices = b.indices.iter().map(index_to_value).collect();
                atoms.push(Atom::Box(Arc::new(BoxValue { indices, value })));
            }
        }
        Data::Tuple(tuples) => {
            let AtomTy::Tuple(q) = &atom else { return Err(wrong()) };
            for t in tuples.as_slice() {
                if t.len() != q.fields.len() {
                    return Err(wrong());
                }
                let parts = t.iter().zip(&q.fields).map(|(a, (_, ty))| to_value(a, ty, &Env::empty()));
                atoms.push(Atom::Tuple(parts.collect::<R<Vec<_>>>()?.into()));
            }
        }
        Data::Func(_) => atoms.resize(n, Atom::Function),
        data => {
            if data.base().map(AtomTy::Base).as_ref() != Some(&atom) {
                return Err(wrong());
            }
            atoms.extend((0..n).filter_map(|i| data.scalar_at(i)).map(Atom::Scalar));
        }
    }
    Ok(Value { atom, shape: a.shape.to_vec(), atoms })
}

pub(crate) fn from_value(v: &Value) -> R<Array> {
    let mut out = Builder::of_atom(&v.atom)?;
    for atom in &v.atoms {
        let fits = match (&mut out, atom) {
            (Builder::Box(items), Atom::Box(b)) => {
                let indices = b.indices.iter().map(index_from_value).collect();
                items.push(Rc::new(BoxVal { indices, value: from_value(&b.value)? }));
                true
            }
            (Builder::Tuple(items), Atom::Tuple(parts)) => {
                let parts = parts.iter().map(from_value).collect::<R<Vec<_>>>()?;
                items.push(parts.into());
                true
            }
            (out, Atom::Scalar(s)) => out.push(*s),
            _ => false,
        };
        if !fits {
            return Err(Fault::internal(format!("an argument that is not of its type {}", v.atom)));
        }
    }
    let shape = Dims::from_slice(&v.shape);
    if size(&shape)? != v.atoms.len() {
        return Err(Fault::internal("an argument whose elements do not fill its shape"));
    }
    Ok(Array::new(shape, out.finish()))
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
