//! Values, the variables that stand for them, and why there is no value.

use crate::syntax::{Exp, Pat};
use remc_base::{BaseTy, Scalar};
use std::rc::Rc;

/// A value. The elements of an array are in row-major order, and are no arrays.
#[derive(Clone, Debug)]
pub enum Value {
    Scalar(Scalar),
    Array { shape: Vec<usize>, data: Rc<Vec<Value>> },
    Tuple(Rc<Vec<Value>>),
    Function(Function),
}

/// A function of this text or of the prelude, and the arguments that it has already.
#[derive(Clone, Debug)]
pub struct Function {
    pub(crate) body: Code,
    pub(crate) given: Vec<Value>,
}

#[derive(Clone, Debug)]
pub(crate) enum Code {
    Prelude(String),
    Section(String),
    Global(usize),
    Lambda(Rc<(Vec<Pat>, Exp)>, Scope),
}

/// Why there is no value.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// The program stops: an assertion, or what Futhark itself checks.
    Stop(String),
    /// The program has no meaning.
    Undefined(String),
}

pub type E<T> = Result<T, Fault>;

/// The program relies on what has no meaning.
pub fn undefined<T>(message: impl Into<String>) -> E<T> {
    Err(Fault::Undefined(message.into()))
}

/// The program stops there.
pub fn stop<T>(line: usize, message: impl std::fmt::Display) -> E<T> {
    Err(Fault::Stop(format!("line {line}: {message}")))
}

/// The variables in scope, the last first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope(Option<Rc<(String, Value, Scope)>>);

impl Scope {
    pub fn with(&self, name: &str, value: Value) -> Scope {
        Scope(Some(Rc::new((name.to_owned(), value, self.clone()))))
    }

    pub fn find(&self, name: &str) -> Option<&Value> {
        let mut at = self;
        while let Some(node) = &at.0 {
            if node.0 == name {
                return Some(&node.1);
            }
            at = &node.2;
        }
        None
    }
}

impl Value {
    pub fn int(n: i64) -> Value {
        Value::Scalar(Scalar::I64(n))
    }

    pub fn shape(&self) -> &[usize] {
        match self {
            Value::Array { shape, .. } => shape,
            _ => &[],
        }
    }
}

/// A size or index.
pub fn int(v: &Value) -> E<i64> {
    match v {
        Value::Scalar(Scalar::I64(n)) => Ok(*n),
        v => undefined(format!("{v:?} is no i64")),
    }
}

/// A truth value.
pub fn bool(v: &Value) -> E<bool> {
    match v {
        Value::Scalar(Scalar::Bool(b)) => Ok(*b),
        v => undefined(format!("{v:?} is no bool")),
    }
}

/// The shape and elements of an array.
pub fn array(v: &Value) -> E<(&[usize], &Rc<Vec<Value>>)> {
    match v {
        Value::Array { shape, data } => Ok((shape, data)),
        v => undefined(format!("{v:?} is no array")),
    }
}

/// The items along the first axis.
pub fn items(v: &Value) -> E<Vec<Value>> {
    let (shape, data) = array(v)?;
    if shape.len() == 1 {
        return Ok(data.to_vec());
    }
    let cell: usize = shape[1..].iter().product();
    Ok((0..shape[0])
        .map(|k| Value::Array {
            shape: shape[1..].to_vec(),
            data: Rc::new(data[k * cell..(k + 1) * cell].to_vec()),
        })
        .collect())
}

/// A base type by its name.
pub fn base(name: &str) -> Option<BaseTy> {
    BaseTy::from_name(name)
}

/// A function without arguments yet.
pub(crate) fn function(body: Code) -> Value {
    Value::Function(Function { body, given: Vec::new() })
}
