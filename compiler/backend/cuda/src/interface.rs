//! What a printed program takes and gives, as C sees it: sizes, then the arrays and scalars that the inputs
//! consist of; the scalars and arrays that the value consists of.
//!
//! | the entry has | C has |
//! | --- | --- |
//! | a size `n`, a shape `@s` of two axes | `n`; `s0`, `s1` |
//! | an input `xs`, an array | `xs` |
//! | an input `p`, an array of tuples, of records with a field `x` | `p_0`, `p_1`; `p_x` |
//! | a value, an array; a tuple; a record with a field `x` | `result`; `result_0`, …; `result_x` |
//! | a box that hides a size `n` | `result_n`, and its contents as `result` |
//! | a box that hides a shape `@s` of a rank known only then | `result_s`, its dims as a vector, and its contents as `result`, all axes of `@s` as one |
//! | boxes that hide such shapes | `result_s`, the dims of all, `result_s_starts`, where those of each box begin, and `result_s_ranks`, how many they are |
//! | an input `b`, boxes that hide a size `n` | `b_n`, where each box starts in the elements `b_starts`, `b`, and how many elements there are, the size `b_total` |
//! | one that hide a shape `@s` | `b_s`, `b_s_starts`, `b_s_ranks` as above, and how many dims there are, the size `b_s_total` |

use crate::Error;
use crate::names::{Names, identifier};
use remc_base::{AtomTy, BaseTy, Name, spelling};
use remc_kernel::ir::{Atom, Input, InputWitness, Output, Program, Ty, Var, Witness};
use rustc_hash::FxHashMap;

/// A dim of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    Known(i64),
    /// The size of this number.
    Given(usize),
}

/// A scalar or an array of the plan's parameters.
#[derive(Clone, PartialEq, Debug)]
pub struct Leaf {
    /// In the program, `p.x` for a field.
    pub name: String,
    /// In C.
    pub c: String,
    pub base: BaseTy,
    /// `None` of a scalar.
    pub dims: Option<Vec<Size>>,
    pub var: Var,
    /// The number of the input that it is a part of.
    pub input: usize,
}

/// A scalar or an array of the value.
#[derive(Clone, PartialEq, Debug)]
pub struct Given {
    pub name: String,
    pub c: String,
    pub base: BaseTy,
    /// `None` of a scalar.
    pub rank: Option<usize>,
    /// Its first word among the results.
    pub word: usize,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Interface {
    /// What the entry is called, `value` where the program's value is compiled.
    pub entry: String,
    /// As C spells it, another one for each entry of a text.
    pub identifier: String,
    /// The namespace of what is its own.
    pub namespace: String,
    /// Its function in C.
    pub function: String,
    /// The one that gives the manifest.
    pub manifest: String,
    /// The sizes' names, in the program and in C.
    pub sizes: Vec<(String, String)>,
    pub leaves: Vec<Leaf>,
    pub given: Vec<Given>,
    /// The first word of each result.
    pub words: Vec<usize>,
    /// How many words the results have.
    pub results: usize,
    /// Whether boxes hide shapes of a rank known only when the program runs.
    pub shapes: bool,
}

fn wrong<T>(what: &str) -> Result<T, Error> {
    Err(Error(what.to_owned()))
}

/// The interface of a program; `taken` are the identifiers of other entries.
///
/// # Errors
/// A program that the verifier should have refused.
pub fn interface(p: &Program, taken: &[String]) -> Result<Interface, Error> {
    let mut names = Names::default();
    let entry = match p.name.as_str() {
        name if name.starts_with('#') => "value".to_owned(),
        name => name.to_owned(),
    };
    let mut inputs = Vec::new();
    for (number, input) in p.inputs.iter().enumerate() {
        inputs.extend(input.vars().into_iter().map(|v| (number, v)));
    }
    let Some(count) = p.params.len().checked_sub(inputs.len()) else {
        return wrong("a program with fewer parameters than inputs");
    };
    let name = |v: Var| p.vars.get(v).map_or("v", |i| i.name.as_str()).to_owned();
    let sizes: Vec<(String, String)> =
        p.params[..count].iter().map(|v| (name(*v), names.fresh(&name(*v)))).collect();
    let number: FxHashMap<Var, usize> = p.params[..count].iter().copied().zip(0..).collect();
    let size = |a: &Atom| match a {
        Atom::Const(c) => Ok(Size::Known(c.to_bits64())),
        Atom::Var(v) => match number.get(v) {
            Some(k) => Ok(Size::Given(*k)),
            None => wrong("a dim of an input that is no size of the entry"),
        },
    };
    let mut leaves = Vec::new();
    for (input, v) in inputs {
        let (base, dims) = match p.ty(v) {
            Ty::Scalar(b) => (*b, None),
            Ty::Buffer(b) => (b.base, Some(b.dims.iter().map(size).collect::<Result<Vec<_>, _>>()?)),
        };
        leaves.push(Leaf { name: name(v), c: names.fresh(&name(v)), base, dims, var: v, input });
    }
    let (mut words, mut results) = (Vec::new(), 0);
    for a in &p.results {
        words.push(results);
        results += 1 + rank(p, *a)?.1.unwrap_or(0);
    }
    let is_taken = |name: &str| taken.iter().any(|t| t == name);
    let identifier = spelling::unused(&identifier(&entry), is_taken);
    let function = format!("remc_entry_{identifier}");
    let manifest = format!("remc_manifest_{identifier}");
    let namespace = format!("entry_{identifier}");
    let mut i = Interface {
        entry,
        identifier,
        namespace,
        function,
        manifest,
        sizes,
        leaves,
        given: Vec::new(),
        words,
        results,
        shapes: false,
    };
    let mut found = Vec::new();
    outputs(&p.output, "result", &mut found)?;
    i.shapes = p.inputs.iter().any(takes_shapes) || gives_shapes(&p.output);
    for (position, name) in found {
        let Some(a) = p.results.get(position) else { return wrong("a result that is not given") };
        let (base, rank) = rank(p, *a)?;
        let word = i.words.get(position).copied().unwrap_or(0);
        i.given.push(Given { c: names.fresh(&name), name, base, rank, word });
    }
    Ok(i)
}

/// Whether boxes hide shapes of any rank in an input.
fn takes_shapes(input: &Input) -> bool {
    match input {
        Input::Array(_) | Input::Part { .. } | Input::Channel { .. } => false,
        Input::Stream { items, .. } => takes_shapes(items),
        Input::Tuple(fields) => fields.iter().any(|(_, f)| takes_shapes(f)),
        Input::Boxes { witnesses, contents } => {
            witnesses.iter().any(|w| matches!(w, InputWitness::Shape { .. })) || takes_shapes(contents)
        }
        Input::Parts { boxes, .. } => takes_shapes(boxes),
    }
}

/// The same of a result.
fn gives_shapes(output: &Output) -> bool {
    match output {
        Output::Array(_) | Output::Part { .. } | Output::Functions { .. } => false,
        Output::Tuple { fields, .. } => fields.iter().any(|(_, f)| gives_shapes(f)),
        Output::Box { witnesses, contents, .. } | Output::Boxes { witnesses, contents, .. } => {
            let any = |w: &Witness| matches!(w, Witness::Vector(_) | Witness::Vectors { .. });
            witnesses.iter().any(any) || gives_shapes(contents)
        }
        Output::Parts { boxes, .. } => gives_shapes(boxes),
    }
}

/// A result's base type, and the rank of an array.
pub fn rank(p: &Program, a: Atom) -> Result<(BaseTy, Option<usize>), Error> {
    match a {
        Atom::Const(c) => Ok((c.ty(), None)),
        Atom::Var(v) => match p.vars.get(v).map(|i| &i.ty) {
            Some(Ty::Scalar(b)) => Ok((*b, None)),
            Some(Ty::Buffer(b)) => Ok((b.base, Some(b.dims.len()))),
            None => wrong("a result that does not exist"),
        },
    }
}

/// What a field is called.
pub fn label(of: &Option<Name>, k: usize) -> String {
    of.as_ref().map_or_else(|| k.to_string(), Name::to_string)
}

/// The results that say something: the sizes of arrays of tuples are in their fields' arrays.
fn outputs(output: &Output, name: &str, to: &mut Vec<(usize, String)>) -> Result<(), Error> {
    match output {
        Output::Array(at) => to.push((*at, name.to_owned())),
        Output::Tuple { fields, .. } => {
            for (k, (of, field)) in fields.iter().enumerate() {
                outputs(field, &format!("{name}.{}", label(of, k)), to)?;
            }
        }
        Output::Box { ty, witnesses, contents } => {
            let AtomTy::Sigma(sigma) = ty else { return wrong("a box of another type") };
            for (param, witness) in sigma.params.iter().zip(witnesses) {
                hidden(witness, &format!("{name}.{}", param.name.as_str().trim_start_matches('@')), to);
            }
            outputs(contents, name, to)?;
        }
        Output::Boxes { frame, ty, witnesses, contents } => {
            let AtomTy::Sigma(sigma) = ty else { return wrong("a box of another type") };
            to.extend(frame.iter().enumerate().map(|(k, at)| (*at, format!("{name}.length{k}"))));
            for (param, witness) in sigma.params.iter().zip(witnesses) {
                hidden(witness, &format!("{name}.{}", param.name.as_str().trim_start_matches('@')), to);
            }
            outputs(contents, name, to)?;
        }
        Output::Functions { frame, .. } => {
            to.extend(frame.iter().enumerate().map(|(k, at)| (*at, format!("{name}.length{k}"))));
        }
        Output::Part { starts, data } => {
            to.push((*starts, format!("{name}.starts")));
            to.push((*data, format!("{name}.data")));
        }
        Output::Parts { starts, boxes } => {
            to.push((*starts, format!("{name}.starts")));
            outputs(boxes, &format!("{name}.boxes"), to)?;
        }
    }
    Ok(())
}

/// The results that say what boxes hide of an index.
fn hidden(witness: &Witness, name: &str, to: &mut Vec<(usize, String)>) {
    match witness {
        Witness::Dim(at) | Witness::Vector(at) => to.push((*at, name.to_owned())),
        Witness::Shape(all) => {
            to.extend(all.iter().enumerate().map(|(k, at)| (*at, format!("{name}{k}"))));
        }
        Witness::Vectors { ranks, starts, dims } => {
            to.push((*ranks, format!("{name}.ranks")));
            to.push((*starts, format!("{name}.starts")));
            to.push((*dims, name.to_owned()));
        }
    }
}

/// A base type in C.
pub fn c_type(t: BaseTy) -> &'static str {
    match t {
        BaseTy::Bool => "bool",
        BaseTy::Char => "uint32_t",
        BaseTy::I8 => "int8_t",
        BaseTy::I16 => "int16_t",
        BaseTy::I32 => "int32_t",
        BaseTy::I64 => "int64_t",
        BaseTy::U8 => "uint8_t",
        BaseTy::U16 | BaseTy::F16 => "uint16_t",
        BaseTy::U32 => "uint32_t",
        BaseTy::U64 => "uint64_t",
        BaseTy::F32 => "float",
        BaseTy::F64 => "double",
    }
}

/// The header's name for a base type.
pub fn c_constant(t: BaseTy) -> &'static str {
    match t {
        BaseTy::Bool => "REMC_BOOL",
        BaseTy::Char => "REMC_CHAR",
        BaseTy::I8 => "REMC_I8",
        BaseTy::I16 => "REMC_I16",
        BaseTy::I32 => "REMC_I32",
        BaseTy::I64 => "REMC_I64",
        BaseTy::U8 => "REMC_U8",
        BaseTy::U16 => "REMC_U16",
        BaseTy::U32 => "REMC_U32",
        BaseTy::U64 => "REMC_U64",
        BaseTy::F16 => "REMC_F16",
        BaseTy::F32 => "REMC_F32",
        BaseTy::F64 => "REMC_F64",
    }
}
