//! The program around an entry: its parameters, and how its results make up the value.

use crate::build::env::{Env, ivar};
use crate::build::opaque::is_known;
use crate::build::val::{Fun, Val};
use crate::build::{Build, Cx, R, bug};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::*;
use remc_explicit::ir::{EntrySignature, ExprKind};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// The inputs so far.
#[derive(Default)]
struct Inputs {
    arrays: Vec<Var>,
    /// The lengths of axes that are parameters, by what the types say of them.
    lengths: FxHashMap<Dim, Var>,
}

impl<'a> Build<'a> {
    pub fn entry(&mut self, name: &GlobalId, ranks: &[usize], given: &[GlobalId]) -> R<()> {
        let Some((name, d)) = self.defs.get_key_value(name) else {
            return bug(format!("{name} has no definition"));
        };
        let cx = Cx { def: name, caller: None };
        self.at = self.program.provs.add(name.clone(), d.body.node, None);
        let here = self.at;
        self.given(given)?;
        let mut value = self.eval(&d.body, &Env::empty(), cx)?;
        let mut ty = &d.ty;
        if let Some(sig) = &d.entry {
            let (indices, args) = self.parameters(sig, ranks)?;
            value = self.enter(value, indices, args, cx)?;
            ty = &sig.ret;
        }
        self.at = here;
        let mut results = Vec::new();
        self.program.output = self.output(&value, ty, &mut results)?;
        self.program.body = Body { stmts: self.close().stmts, results };
        Ok(())
    }

    /// Definitions whose values are inputs are known in all bodies.
    fn given(&mut self, given: &[GlobalId]) -> R<()> {
        let mut inputs = Inputs::default();
        for g in given {
            let Some(d) = self.defs.get(g) else {
                return bug(format!("{g} is given and not needed"));
            };
            let (value, input) = self.input(g.name.as_str(), &d.ty, &[], &mut inputs)?;
            self.program.inputs.push(input);
            self.scope().globals.insert(g.clone(), value);
        }
        self.take(inputs);
        Ok(())
    }

    fn parameters(&mut self, sig: &EntrySignature, ranks: &[usize]) -> R<(Vec<Index>, Vec<Val<'a>>)> {
        let mut env = Env::empty();
        let mut ranks = ranks.iter();
        let mut indices = Vec::with_capacity(sig.indices.len());
        for v in &sig.indices {
            let i = match v.sort {
                Sort::Dim => Index::Dim(Dim::rigid(ivar(self.size_parameter(v.name.as_str())))),
                Sort::Shape => {
                    let Some(rank) = ranks.next() else {
                        return bug(format!("the rank of {v} is not given"));
                    };
                    let dims: Vec<Dim> = (0..*rank)
                        .map(|k| {
                            let name = format!("{}{k}", v.name.as_str().trim_start_matches('@'));
                            Dim::rigid(ivar(self.size_parameter(&name)))
                        })
                        .collect();
                    Index::Shape(Shape::of_dims(dims))
                }
            };
            env.bind_index(v, i.clone());
            indices.push(i);
        }
        let mut args = Vec::with_capacity(sig.params.len());
        let mut inputs = Inputs::default();
        for (k, (name, ty)) in sig.params.iter().enumerate() {
            let ty = env.arr(ty);
            let (value, mut input) = self.input(name.as_str(), &ty, &[], &mut inputs)?;
            if sig.streams.contains(&k) {
                let size = match ty.shape.items().first() {
                    Some(ShapeItem::Dim(d)) => self.size(d)?.as_var(),
                    _ => None,
                };
                let Some(size) = size else { return bug("a stream of a length that is no index") };
                input = Input::Stream { size, items: Box::new(input) };
            }
            args.push(value);
            self.program.inputs.push(input);
        }
        self.take(inputs);
        Ok((indices, args))
    }

    /// The arrays of inputs are parameters, behind the sizes that they have.
    fn take(&mut self, inputs: Inputs) {
        // An axis that is alone, or beside others that surely have places, has as many places as there are in memory.
        let (mut small, mut all) = (FxHashSet::default(), FxHashSet::default());
        for v in &inputs.arrays {
            let dims = &self.program.ty(*v).dims;
            for d in dims.iter().filter_map(|d| d.as_var()) {
                all.insert(d);
                let there = |e: &Atom| *e == Atom::Var(d) || e.as_int().is_some_and(|n| n > 0);
                if dims.iter().all(there) {
                    small.insert(d);
                }
            }
        }
        self.vast.extend(all.into_iter().filter(|d| !small.contains(d)));
        self.program.params.extend(inputs.arrays);
    }

    pub fn size_parameter(&mut self, name: &str) -> Var {
        let v = self.fresh_size(name);
        self.program.params.push(v);
        v
    }

    /// A dim of an input as a size of the program. One that is more than an index, such as `(+ n 1)`, is a
    /// parameter of its own, behind those of the indices: the caller gives the length that the array has, and
    /// the program checks that it is what the type says.
    fn size_of_input(&mut self, name: &str, axis: usize, d: &Dim, all: &mut Inputs) -> R<Atom> {
        if d.as_constant().is_some() || d.as_var().is_some() {
            return self.size(d);
        }
        if let Some(v) = all.lengths.get(d) {
            return Ok(Atom::Var(*v));
        }
        let v = self.size_parameter(&format!("{name}.{axis}"));
        self.check_fits(d, || d.to_string())?;
        let says = self.size(d)?;
        let agree = self.equal(Atom::Var(v), says)?;
        let trap = Trap::Unequal {
            why: format!("the input `{name}` says").into(),
            left: format!("the length of its axis {axis}").into(),
            right: d.to_string().into(),
        };
        self.check(trap, agree, &[&[Atom::Var(v)], &[says]])?;
        all.lengths.insert(d.clone(), v);
        self.is_size(d, v);
        Ok(Atom::Var(v))
    }

    fn input(&mut self, name: &str, ty: &ArrTy, frame: &[Atom], all: &mut Inputs) -> R<(Val<'a>, Input)> {
        let own = self.dims(&ty.shape)?;
        let mut dims = frame.to_vec();
        for (axis, d) in own.iter().enumerate() {
            dims.push(self.size_of_input(name, axis, d, all)?);
        }
        match &ty.atom {
            AtomTy::Base(b) => {
                let v = self.fresh(name, Ty { base: *b, dims });
                all.arrays.push(v);
                Ok((Val::Base(Atom::Var(v)), Input::Array(v)))
            }
            AtomTy::Tuple(q) => {
                let (mut values, mut inputs) = (Vec::new(), Vec::new());
                for (i, (label, t)) in q.fields.iter().enumerate() {
                    let field = match label {
                        Some(l) => format!("{name}.{l}"),
                        None => format!("{name}.{i}"),
                    };
                    let (v, input) = self.input(&field, t, &dims, all)?;
                    values.push(v);
                    inputs.push((label.clone(), input));
                }
                Ok((Val::Tuple { frame: dims, fields: values.into() }, Input::Tuple(inputs)))
            }
            AtomTy::Sigma(_) => {
                let (boxes, input) = self.boxes_input(name, &ty.atom, &dims, &mut all.arrays)?;
                let value = match dims.is_empty() {
                    true => self.only_box(&boxes)?,
                    false => Val::Ragged(Rc::new(boxes)),
                };
                Ok((value, input))
            }
            // The checker refuses an input that is or holds a function.
            _ => bug(format!("the input `{name}` is of the open type {ty}")),
        }
    }

    /// Applies the entry itself. That is no call in the program, so it is in no trace.
    fn enter(&mut self, f: Val<'a>, indices: Vec<Index>, args: Vec<Val<'a>>, cx: Cx<'a>) -> R<Val<'a>> {
        let mut f = f;
        let mut indices = &indices[..];
        loop {
            let closure = match &f {
                Val::Fns { dims, table, .. } if dims.is_empty() && !table.tagged() => {
                    match &table.codes[0].fun {
                        Fun::Closure(c) if table.codes[0].holes.is_none() => c.clone(),
                        _ if args.is_empty() => return Ok(f),
                        _ => {
                            let ty = ArrTy::scalar(AtomTy::INT);
                            return self.call(&f, args, &ty);
                        }
                    }
                }
                _ if args.is_empty() => return Ok(f),
                _ => return bug("an entry that is no function"),
            };
            let mut env = closure.env.clone();
            let cx = Cx { def: closure.def, ..cx };
            match &*closure.lambda.kind {
                ExprKind::ILam { params, body } => {
                    let Some((now, rest)) = indices.split_at_checked(params.len()) else {
                        return bug("an entry with fewer indices than it binds");
                    };
                    params.iter().zip(now).for_each(|(p, i)| env.bind_index(p, i.clone()));
                    indices = rest;
                    f = self.eval(body, &env, cx)?;
                }
                ExprKind::Lam { params, body } if params.len() == args.len() && indices.is_empty() => {
                    for (p, a) in params.iter().zip(args) {
                        env.bind(p.var, a);
                    }
                    return self.eval(body, &env, cx);
                }
                _ if args.is_empty() => return Ok(f),
                _ => return bug("an entry that is applied to another number of arguments"),
            }
        }
    }

    /// `ty` is the result's type as the entry's signature has it, in the entry's own indices.
    fn output(&mut self, v: &Val<'a>, ty: &ArrTy, results: &mut Vec<Atom>) -> R<Output> {
        let mut place = |a: Atom| {
            results.push(a);
            results.len() - 1
        };
        match (v, &ty.atom) {
            (Val::Base(a), _) => Ok(Output::Array(place(*a))),
            (Val::Tuple { frame, fields }, AtomTy::Tuple(q)) if fields.len() == q.fields.len() => {
                let frame = frame.iter().map(|a| place(*a)).collect();
                let fields = fields
                    .iter()
                    .zip(&q.fields)
                    .map(|(f, (label, t))| Ok((label.clone(), self.output(f, t, results)?)))
                    .collect::<R<Vec<_>>>()?;
                Ok(Output::Tuple { frame, fields })
            }
            (Val::Box(b), AtomTy::Sigma(q)) => {
                let mut witnesses = Vec::with_capacity(b.witnesses.len());
                for w in &b.witnesses {
                    witnesses.push(match w {
                        Index::Dim(d) => {
                            results.push(self.size(d)?);
                            Witness::Dim(results.len() - 1)
                        }
                        Index::Shape(s) if !is_known(s) => {
                            results.push(self.dims_vector(s)?);
                            Witness::Vector(results.len() - 1)
                        }
                        Index::Shape(s) => {
                            let first = results.len();
                            results.extend(self.sizes(s)?);
                            Witness::Shape((first..results.len()).collect())
                        }
                    });
                }
                let contents = Box::new(self.output(&b.contents, &q.body, results)?);
                Ok(Output::Box { ty: ty.atom.clone(), witnesses, contents })
            }
            (Val::Boxes { .. } | Val::Ragged(_), t) => {
                let r = self.ragged(v, t)?;
                self.boxes_output(&r, t, results)
            }
            (Val::Fns { dims, .. }, t) => {
                let frame = dims.iter().map(|a| place(*a)).collect();
                Ok(Output::Functions { frame, ty: t.clone() })
            }
            _ => bug(format!("a result that is not of its type {ty}")),
        }
    }
}
