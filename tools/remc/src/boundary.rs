//! Values across the boundary of compiled code: arrays of tuples become several arrays on the way in, and
//! several arrays become one value on the way out.

use crate::inputs::Streams;
use remc_base::value::{Atom, BoxValue, Data, IndexValue};
use remc_base::{AtomTy, Dim, IVar, Scalar, Shape, Subst, Value};
use remc_kernel::ir::{Channel, Input, Program, Ty};
pub use remc_mono::input::arrays as leaves;
use remc_mono::ir::{self as mono, Output, Witness};
use remc_mono::output::{boxes, functions, shaped, tuples};
use remc_runtime::budget::available;
use remc_runtime::stream::chunk::Chunk;
use remc_runtime::stream::items::InMemory;
use remc_runtime::stream::written::Shared;
use remc_runtime::stream::{Begin, Channels};
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

/// Something that the compiler should have made impossible.
pub type B<T> = Result<T, String>;

/// What compiled code gave, by position.
pub trait Results {
    fn scalar(&self, position: usize) -> B<Scalar>;
    fn array(&self, position: usize) -> B<Value>;
    fn is_scalar(&self, position: usize) -> bool;
}

fn size(results: &dyn Results, position: usize) -> B<usize> {
    match results.scalar(position)? {
        Scalar::I64(n) => usize::try_from(n).map_err(|_| format!("a size of {n}")),
        other => Err(format!("a size of type {}", other.ty())),
    }
}

/// The sizes in a vector.
fn numbers(v: &Value) -> B<Vec<usize>> {
    let all = v.data.iter().map(|a| match a {
        Atom::Scalar(Scalar::I64(n)) => usize::try_from(n).map_err(|_| format!("a size of {n}")),
        _ => Err("a size that is none".into()),
    });
    all.collect()
}

/// The value of an entry. `closing` says what the entry's indices are, which the types of boxes mention.
pub fn assemble(output: &Output, results: &dyn Results, closing: &Subst) -> B<Value> {
    match output {
        Output::Array(p) => whole(results, *p),
        Output::Tuple { frame, fields } => {
            let frame = frame.iter().map(|p| size(results, *p)).collect::<B<Vec<_>>>()?;
            let parts = fields
                .iter()
                .map(|(label, f)| Ok((label.clone(), assemble(f, results, closing)?)))
                .collect::<B<Vec<_>>>()?;
            tuples(frame, &parts)
        }
        Output::Box { ty, witnesses, contents } => {
            let ty = closing.atom(ty);
            let AtomTy::Sigma(sigma) = &ty else { return Err("a box of another type".into()) };
            let mut inside = closing.clone();
            let mut indices = Vec::new();
            for (param, witness) in sigma.params.iter().zip(witnesses) {
                indices.push(match witness {
                    Witness::Dim(p) => match results.scalar(*p)? {
                        Scalar::I64(n) => {
                            inside.bind_dim(param, Dim::from(n));
                            IndexValue::Dim(n)
                        }
                        other => return Err(format!("a witness of type {}", other.ty())),
                    },
                    Witness::Shape(ps) => {
                        let dims = ps.iter().map(|p| size(results, *p)).collect::<B<Vec<_>>>()?;
                        inside.bind_shape(param, Shape::of_sizes(&dims));
                        IndexValue::Shape(dims)
                    }
                    Witness::Vector(p) => {
                        let dims = numbers(&whole(results, *p)?)?;
                        inside.bind_shape(param, Shape::of_sizes(&dims));
                        IndexValue::Shape(dims)
                    }
                    Witness::Vectors { .. } => return Err("the shapes of many boxes in one box".into()),
                });
            }
            let value = shaped(assemble(contents, results, &inside)?, &inside.arr(&sigma.body))?;
            let data = Data::Box(vec![Arc::new(BoxValue { indices, value })]);
            Ok(Value { atom: ty, shape: Vec::new(), data })
        }
        Output::Boxes { .. } => boxes(output, &|p| whole(results, p), closing),
        Output::Functions { frame, ty } => {
            let frame = frame.iter().map(|p| size(results, *p)).collect::<B<Vec<_>>>()?;
            Ok(functions(closing.atom(ty), frame))
        }
        Output::Part { .. } | Output::Parts { .. } => Err("contents without boxes".into()),
    }
}

/// The result at a position, a scalar or an array.
fn whole(results: &dyn Results, p: usize) -> B<Value> {
    if results.is_scalar(p) { Ok(Value::scalar(results.scalar(p)?)) } else { results.array(p) }
}

/// What the indices of an entry stand for.
pub fn closing(indices: &[IVar], values: &[IndexValue]) -> Subst {
    let mut s = Subst::new();
    for (i, v) in indices.iter().zip(values) {
        match v {
            IndexValue::Dim(n) => s.bind_dim(i, Dim::from(*n)),
            IndexValue::Shape(dims) => s.bind_shape(i, Shape::of_sizes(dims)),
        }
    }
    s
}

/// What of a run goes piece by piece.
#[derive(Default)]
pub struct Streaming {
    /// The inputs that are read so. The items of any other stream are in its argument.
    pub inputs: Streams,
    /// Where the result is written as it comes, if it is.
    pub result: Option<Shared>,
    /// How many items a piece has, as `--chunk` says; without it the run chooses.
    pub chunk: Option<u64>,
    /// The most memory that the program's data may take, if that is said.
    pub memory: Option<u64>,
}

/// The channels of a program that streams.
pub fn channels(p: &Program, arguments: &[Value], streaming: Streaming) -> B<Option<Channels>> {
    if p.channels.is_empty() {
        return Ok(None);
    }
    let Streaming { inputs, mut result, chunk, memory } = streaming;
    let mut streams: HashMap<usize, _> = inputs.into_iter().collect();
    let mut begin = |c: &Channel| {
        if let Some(result) = result.take_if(|_| c.output.is_some()) {
            return Ok(Begin::Result(Box::new(result)));
        }
        let Some(k) = c.input else {
            return Ok(Begin::Kept(c.arrays.iter().map(|a| (a.base, a.rank)).collect()));
        };
        if let Some(items) = streams.remove(&k) {
            return match items.layout().len() == c.arrays.len() {
                true => Ok(Begin::Input(items)),
                false => Err("a stream of another number of arrays".into()),
            };
        }
        let value = Cow::Borrowed(arguments.get(k).ok_or("a stream without an argument")?);
        let Some(input) = p.inputs.get(k) else { return Err("a stream of no input".into()) };
        let Input::Channel { items, .. } = input else { return Err("a stream that is none".into()) };
        let mut arrays = Vec::new();
        leaves(items, value, &mut arrays)?;
        let starts = c.arrays.iter().map(|a| a.starts).collect();
        let items = InMemory::new(arrays, starts).ok_or("a stream of no items")?;
        Ok(Begin::Input(Box::new(items)))
    };
    let all = p.channels.iter().map(&mut begin).collect::<B<_>>()?;
    Ok(Some(Channels::new(all, Chunk::new(chunk, available().min(memory.unwrap_or(u64::MAX))))))
}

/// The results that a run has pushed.
pub struct Pushed<'a> {
    pub program: &'a Program,
    pub channels: Option<&'a RefCell<Channels>>,
}

impl Pushed<'_> {
    /// Whether the result at a position is one.
    pub fn is_it(&self, position: usize) -> bool {
        self.program.channels.iter().any(|c| c.output == Some(position))
    }

    /// The array at a position, if it was pushed.
    pub fn array(&self, position: usize) -> Option<B<Value>> {
        let channel = self.program.channels.iter().position(|c| c.output == Some(position))?;
        let kept = self.channels.and_then(|all| all.borrow_mut().kept(channel));
        Some(kept.ok_or_else(|| "a result that was not kept".to_owned()))
    }
}

/// The bits of a scalar argument.
pub fn bits(value: &Value) -> B<u64> {
    match value.data.get(0) {
        Some(Atom::Scalar(s)) if value.shape.is_empty() => Ok(s.to_bits64() as u64),
        _ => Err("an array where a scalar is wanted".into()),
    }
}

/// The sizes that a program takes, in order: what the entry's indices stand for, then the lengths of axes of
/// which an index is only a part. `leaves` are the arrays that it takes, behind the sizes.
pub fn sizes(p: &Program, indices: &[IndexValue], leaves: &[Value]) -> B<Vec<u64>> {
    let mut sizes = Vec::new();
    for i in indices {
        match i {
            IndexValue::Dim(n) => sizes.push(*n as u64),
            IndexValue::Shape(dims) => sizes.extend(dims.iter().map(|n| *n as u64)),
        }
    }
    let count = p.params.len().checked_sub(leaves.len()).ok_or("a program with fewer parameters")?;
    let (lengths, arrays) = p.params.split_at(count);
    // How long the parts of a stream are its pieces say.
    let streams = p.inputs.iter().any(|i| matches!(i, Input::Channel { .. }));
    for v in lengths.get(sizes.len()..).ok_or("a program with fewer sizes than its entry")? {
        let length = arrays.iter().zip(leaves).find_map(|(array, value)| match p.ty(*array) {
            Ty::Buffer(b) => b.dims.iter().position(|d| *d == mono::Atom::Var(*v)).map(|k| value.shape[k]),
            Ty::Scalar(_) => None,
        });
        let length = length.or(streams.then_some(0));
        sizes.push(length.ok_or("a size that is no length of an input")? as u64);
    }
    Ok(sizes)
}

/// The ranks of the shapes among an entry's indices.
pub fn ranks(indices: &[IndexValue]) -> Vec<usize> {
    indices
        .iter()
        .filter_map(|i| match i {
            IndexValue::Shape(dims) => Some(dims.len()),
            IndexValue::Dim(_) => None,
        })
        .collect()
}
