//! What a program of Mono means: the evaluator that tests compare passes with.
//!
//! It is as plain as can be: a body is run statement by statement, an iteration is a loop, every array
//! is there in full. It knows no fusion and no parallelism, and checks on the way what the grammar
//! promises: that arrays have the dims of their types, and that indices are in bounds.

use crate::ir::{Atom, *};
use remc_base::ids::Id;
use remc_base::ops::{self, total_cmp};
use remc_base::value::{Atom as Item, BoxValue, Data};
use remc_base::*;
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;

/// An array of base type, its elements in row-major order.
#[derive(Clone, PartialEq, Debug)]
pub struct Array {
    pub base: BaseTy,
    pub dims: Vec<usize>,
    pub data: Rc<Vec<Scalar>>,
}

/// Why a program has no value.
#[derive(Clone, PartialEq, Debug)]
pub enum Fault {
    /// A check that failed, with its values.
    Stop { trap: Trap, values: Vec<i64>, trace: Vec<(GlobalId, NodeId)> },
    /// The program breaks a rule of Mono.
    Bug(String),
}

type R<T> = Result<T, Fault>;

/// The most elements of an array.
const MOST: usize = 1 << 28;
/// The items of a channel that has any number.
const ENDLESS: usize = 1 << 40;

/// Runs a program; `params` are the values of its parameters, in their order.
///
/// # Errors
/// A check that fails, or a program that breaks the rules.
pub fn run(p: &Program, params: &[Array]) -> Result<Vec<Array>, Fault> {
    run_watched(p, params, &mut |_, _| {})
}

/// Runs a program; `watch` is told of each binding of a variable, as often as there is one.
///
/// # Errors
/// As of [`run`].
pub fn run_watched(
    p: &Program,
    params: &[Array],
    watch: &mut dyn FnMut(Var, &Array),
) -> Result<Vec<Array>, Fault> {
    run_channels(p, params, &mut Channels::default(), watch)
}

/// What is in the channels of a program: all items of each array of each, those of the inputs from the beginning; and how
/// many items a pull takes at most where that is left to who runs the program, 0 for all.
#[derive(Clone, Default, Debug)]
pub struct Channels {
    pub items: Vec<Vec<Array>>,
    pub chunk: usize,
}

/// As [`run_watched`], of a program with channels.
///
/// # Errors
/// As of [`run`].
pub fn run_channels(
    p: &Program,
    params: &[Array],
    channels: &mut Channels,
    watch: &mut dyn FnMut(Var, &Array),
) -> Result<Vec<Array>, Fault> {
    for c in p.channels.iter().skip(channels.items.len()) {
        let none = |a: &ChannelArray| Array { base: a.base, dims: vec![0; a.rank + 1], data: Rc::default() };
        channels.items.push(c.arrays.iter().map(none).collect());
    }
    let mut e = Eval { p, vars: vec![None; p.vars.len()], channels: &mut *channels, watch };
    if params.len() != p.params.len() {
        return bug("another number of parameters");
    }
    for (v, a) in p.params.iter().zip(params) {
        e.bind(*v, a.clone())?;
    }
    let mut results = e.body(&p.body)?;
    for (c, items) in p.channels.iter().zip(&channels.items) {
        if let (Some(at), [array]) = (c.output, &items[..]) {
            results[at] = array.clone();
        }
    }
    Ok(results)
}

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
    let leaves = taken.into_iter().map(|v| {
        let scalar = |a| match a {
            Item::Scalar(s) => Ok(s),
            _ => bug("an argument that is no array of scalars"),
        };
        let data = v.atoms().map(scalar).collect::<R<Vec<_>>>()?;
        let AtomTy::Base(base) = v.atom else { return bug("an argument that is no array of scalars") };
        Ok(Array { base, dims: v.shape, data: data.into() })
    });
    let leaves = leaves.collect::<R<Vec<_>>>()?;
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

impl Array {
    pub fn scalar(s: Scalar) -> Array {
        Array { base: s.ty(), dims: Vec::new(), data: Rc::new(vec![s]) }
    }

    pub fn int(n: i64) -> Array {
        Array::scalar(Scalar::I64(n))
    }

    fn cell(&self, at: &[usize]) -> R<Array> {
        let dims = self.dims.get(at.len()..).map(<[usize]>::to_vec);
        let Some(dims) = dims else { return bug("an index of more axes than there are") };
        let mut position = 0;
        for (i, n) in at.iter().zip(&self.dims) {
            if i >= n {
                return bug(format!("the index {at:?} is out of bounds of {:?}", self.dims));
            }
            position = position * n + i;
        }
        let n: usize = dims.iter().product();
        Ok(Array {
            base: self.base,
            dims,
            data: Rc::new(self.data[position * n..(position + 1) * n].to_vec()),
        })
    }
}

fn bug<T>(message: impl Into<String>) -> R<T> {
    Err(Fault::Bug(message.into()))
}

struct Eval<'p, 'w> {
    p: &'p Program,
    vars: Vec<Option<Array>>,
    channels: &'w mut Channels,
    watch: &'w mut dyn FnMut(Var, &Array),
}

/// The results of iterations, one after the other.
struct Collected(Vec<Vec<Scalar>>);

impl Collected {
    fn new(n: usize) -> Collected {
        Collected(vec![Vec::new(); n])
    }

    fn push(&mut self, values: &[Array]) {
        for (column, a) in self.0.iter_mut().zip(values) {
            column.extend(a.data.iter().copied());
        }
    }
}

impl Eval<'_, '_> {
    fn atom(&self, a: Atom) -> R<Array> {
        match a {
            Atom::Const(c) => Ok(Array::scalar(c)),
            Atom::Var(v) => match &self.vars[v.index()] {
                Some(a) => Ok(a.clone()),
                None => bug(format!("{v:?} is used before it is bound")),
            },
        }
    }

    fn atoms(&self, atoms: &[Atom]) -> R<Vec<Array>> {
        atoms.iter().map(|a| self.atom(*a)).collect()
    }

    fn scalar(&self, a: Atom) -> R<Scalar> {
        let a = self.atom(a)?;
        match (&a.dims[..], a.data.first()) {
            ([], Some(s)) => Ok(*s),
            _ => bug("a scalar was expected"),
        }
    }

    fn int(&self, a: Atom) -> R<i64> {
        match self.scalar(a)? {
            Scalar::I64(n) => Ok(n),
            s => bug(format!("{s:?} is no int")),
        }
    }

    fn ints(&self, atoms: &[Atom]) -> R<Vec<i64>> {
        atoms.iter().map(|a| self.int(*a)).collect()
    }

    /// A negative size is behind a check that is sure to fail, if anything runs; there is nothing of that size.
    fn size(&self, a: Atom) -> R<usize> {
        let n = self.int(a)?.max(0);
        match usize::try_from(n) {
            Ok(n) if n <= MOST => Ok(n),
            _ => bug(format!("the size {n}")),
        }
    }

    /// Indices of an item: none is negative.
    fn place(&self, at: &[Atom]) -> R<Vec<usize>> {
        let index = |n: i64| usize::try_from(n).or_else(|_| bug(format!("the index {n}")));
        self.ints(at)?.into_iter().map(index).collect()
    }

    fn sizes(&self, atoms: &[Atom]) -> R<Vec<usize>> {
        atoms.iter().map(|a| self.size(*a)).collect()
    }

    fn bool(&self, a: Atom) -> R<bool> {
        match self.scalar(a)? {
            Scalar::Bool(b) => Ok(b),
            s => bug(format!("{s:?} is no bool")),
        }
    }

    fn bind(&mut self, v: Var, a: Array) -> R<()> {
        let ty = self.p.ty(v);
        let dims = self.sizes(&ty.dims)?;
        if a.base != ty.base || a.dims != dims || a.data.len() != dims.iter().product::<usize>() {
            let (n, have) = (a.data.len(), (a.base, &a.dims));
            return bug(format!("{v:?} is {have:?} with {n} elements, not {:?} {dims:?}", ty.base));
        }
        (self.watch)(v, &a);
        self.vars[v.index()] = Some(a);
        Ok(())
    }

    fn bind_all(&mut self, vars: &[Var], values: Vec<Array>) -> R<()> {
        if vars.len() != values.len() {
            return bug(format!("{} values for {} variables", values.len(), vars.len()));
        }
        vars.iter().zip(values).try_for_each(|(v, a)| self.bind(*v, a))
    }

    /// Binds arrays of the types of `vars` made of these elements.
    fn bind_collected(&mut self, vars: &[Var], all: Collected) -> R<()> {
        for (v, data) in vars.iter().zip(all.0) {
            let ty = self.p.ty(*v);
            let dims = self.sizes(&ty.dims)?;
            self.bind(*v, Array { base: ty.base, dims, data: data.into() })?;
        }
        Ok(())
    }

    fn body(&mut self, b: &Body) -> R<Vec<Array>> {
        for s in &b.stmts {
            self.stmt(s)?;
        }
        self.atoms(&b.results)
    }

    fn apply(&mut self, f: &Lambda, args: Vec<Array>) -> R<Vec<Array>> {
        self.bind_all(&f.params, args)?;
        self.body(&f.body)
    }

    fn step(&mut self, axis: &Axis, i: usize, body: &Body) -> R<Vec<Array>> {
        self.bind(axis.var, Array::int(i as i64))?;
        self.body(body)
    }

    fn stmt(&mut self, s: &Stmt) -> R<()> {
        match &s.exp {
            Exp::Check { trap, cond, values } => {
                if self.bool(*cond)? {
                    return Ok(());
                }
                let values =
                    values.iter().map(|a| Ok(self.scalar(*a)?.to_bits64())).collect::<R<Vec<_>>>()?;
                if values.len() != trap.values() {
                    return bug(format!("{} values for {trap:?}", values.len()));
                }
                Err(Fault::Stop { trap: trap.clone(), values, trace: self.p.provs.trace(s.prov) })
            }
            Exp::Map { axes, body } => {
                let sizes = axes.iter().map(|a| self.size(a.size)).collect::<R<Vec<_>>>()?;
                let mut all = Collected::new(s.pat.len());
                for position in 0..sizes.iter().product() {
                    let mut rest = position;
                    for (axis, n) in axes.iter().zip(&sizes).rev() {
                        self.bind(axis.var, Array::int((rest % n) as i64))?;
                        rest /= n;
                    }
                    let results = self.body(body)?;
                    all.push(&results);
                }
                self.bind_collected(&s.pat, all)
            }
            Exp::Scan { kind, axis, body, op } => {
                let n = self.size(axis.size)?;
                let mut acc = op.start.as_ref().map(|a| self.atoms(a)).transpose()?;
                let mut all = Collected::new(s.pat.len());
                let before = *kind != ScanKind::Inclusive;
                for i in 0..n {
                    if before && let Some(acc) = &acc {
                        all.push(acc);
                    }
                    acc = Some(self.combine(axis, i, body, op, acc)?);
                    if !before && let Some(acc) = &acc {
                        all.push(acc);
                    }
                }
                if *kind == ScanKind::Full
                    && let Some(acc) = &acc
                {
                    all.push(acc);
                }
                self.bind_collected(&s.pat, all)
            }
            Exp::Filter { axis, body } => {
                let n = self.size(axis.size)?;
                let mut all = Collected::new(s.pat.len() - 1);
                let mut kept = 0;
                for i in 0..n {
                    let results = self.step(axis, i, body)?;
                    if results[0].data[0] == Scalar::Bool(true) {
                        kept += 1;
                        all.push(&results[1..]);
                    }
                }
                self.bind(s.pat[0], Array::int(kept))?;
                self.bind_collected(&s.pat[1..], all)
            }
            Exp::Join { axis, regular, body } => {
                let n = self.size(axis.size)?;
                let joined = body.results.len() - regular;
                let mut all = Collected::new(*regular);
                let mut starts = vec![Vec::new(); joined];
                let mut data: Vec<Vec<Scalar>> = vec![Vec::new(); joined];
                for i in 0..n {
                    let results = self.step(axis, i, body)?;
                    all.push(&results[..*regular]);
                    for (k, r) in results[*regular..].iter().enumerate() {
                        starts[k].push(Scalar::I64(data[k].len() as i64));
                        data[k].extend(r.data.iter());
                    }
                }
                let (maps, rest) = s.pat.split_at(*regular);
                self.bind_collected(maps, all)?;
                for ((vars, starts), data) in rest.chunks(3).zip(starts).zip(data) {
                    let base = self.p.ty(vars[2]).base;
                    let total = data.len();
                    self.bind(vars[0], Array::int(total as i64))?;
                    self.bind(vars[1], Array { base: BaseTy::I64, dims: vec![n], data: starts.into() })?;
                    self.bind(vars[2], Array { base, dims: vec![total], data: data.into() })?;
                }
                Ok(())
            }
            Exp::Pull { channel, at, take } => {
                let at = self.size(*at)?;
                let Some(arrays) = self.channels.items.get(*channel) else {
                    return bug("a channel that is not there");
                };
                let endless = self.p.channels.get(*channel).is_some_and(Channel::is_endless);
                let there = arrays.first().map_or(0, |a| a.dims[0]);
                let left = if endless { ENDLESS } else { there.saturating_sub(at) };
                let chunk = if self.channels.chunk == 0 { left } else { self.channels.chunk };
                let wanted = match take {
                    Take::Multiple(n) if endless => chunk.saturating_mul(self.size(*n)?.max(1)),
                    Take::Multiple(n) => chunk.next_multiple_of(self.size(*n)?.max(1)),
                    Take::Exactly(n) => self.size(*n)?,
                    Take::All => left,
                };
                let n = wanted.min(left);
                let mut values = vec![Array::int(n as i64)];
                // Of each array where its part begins and ends.
                let mut parts: Vec<(usize, usize)> = Vec::new();
                for (k, a) in arrays.iter().enumerate() {
                    let starts = self.p.channels[*channel].arrays[k].starts;
                    let (from, to) = match starts.map(|s| (&arrays[s], parts[s])) {
                        None => (at, at + n),
                        Some((starts, (from, to))) => {
                            let begin = |i: usize| match starts.data.get(i) {
                                Some(Scalar::I64(at)) => *at as usize,
                                _ => a.dims[0],
                            };
                            (begin(from), begin(to))
                        }
                    };
                    parts.push((from, to));
                    let item: usize = a.dims[1..].iter().product();
                    let dims = std::iter::once(to - from).chain(a.dims[1..].iter().copied()).collect();
                    let mut data = a.data[from * item..to * item].to_vec();
                    let is_starts = self.p.channels[*channel].arrays.iter().any(|b| b.starts == Some(k));
                    if is_starts && let Some(Scalar::I64(first)) = data.first().copied() {
                        for s in &mut data {
                            if let Scalar::I64(at) = s {
                                *at -= first;
                            }
                        }
                    }
                    if starts.is_some() {
                        values.push(Array::int((to - from) as i64));
                    }
                    values.push(Array { base: a.base, dims, data: data.into() });
                }
                self.bind_all(&s.pat, values)
            }
            Exp::Push { channel, arrays } => {
                let pieces = arrays.iter().map(|v| self.atom((*v).into())).collect::<R<Vec<_>>>()?;
                let Some(all) = self.channels.items.get_mut(*channel) else {
                    return bug("a channel that is not there");
                };
                for (to, piece) in all.iter_mut().zip(pieces) {
                    let n = to.dims[0] + piece.dims[0];
                    to.dims = std::iter::once(n).chain(piece.dims[1..].iter().copied()).collect();
                    Rc::make_mut(&mut to.data).extend(piece.data.iter());
                }
                Ok(())
            }
            exp => {
                let values = self.exp(exp, &s.pat)?;
                self.bind_all(&s.pat, values)
            }
        }
    }

    fn combine(
        &mut self,
        axis: &Axis,
        i: usize,
        body: &Body,
        op: &Combine,
        acc: Option<Vec<Array>>,
    ) -> R<Vec<Array>> {
        let elem = self.step(axis, i, body)?;
        match acc {
            None => Ok(elem),
            Some(acc) => self.apply(&op.lambda, acc.into_iter().chain(elem).collect()),
        }
    }

    fn exp(&mut self, exp: &Exp, pat: &[Var]) -> R<Vec<Array>> {
        Ok(vec![match exp {
            Exp::Atom(a) => self.atom(*a)?,
            Exp::Op(op, args) => {
                let args = args.iter().map(|a| self.scalar(*a)).collect::<R<Vec<_>>>()?;
                let tys: Vec<BaseTy> = args.iter().map(|a| a.ty()).collect();
                let Some(ty) = op.result_ty(&tys) else { return bug(format!("{op} of {tys:?}")) };
                Array::scalar(ops::apply(*op, &args).unwrap_or(ops::zero(ty)))
            }
            Exp::Cast(to, a) => Array::scalar(ops::cast(self.scalar(*a)?, *to).unwrap_or(ops::zero(*to))),
            Exp::Literal { dims, elems } => {
                let data = elems.iter().map(|a| self.scalar(*a)).collect::<R<Vec<_>>>()?;
                Array { base: self.p.ty(pat[0]).base, dims: self.sizes(dims)?, data: data.into() }
            }
            Exp::Index { array, at } => self.atom((*array).into())?.cell(&self.place(at)?)?,
            Exp::If { cond, then, otherwise } => {
                let branch = if self.bool(*cond)? { then } else { otherwise };
                return self.body(branch);
            }
            Exp::For { axis, state, body } => {
                let n = self.size(axis.size)?;
                let (vars, start): (Vec<Var>, Vec<Atom>) = state.iter().copied().unzip();
                let mut now = self.atoms(&start)?;
                for i in 0..n {
                    self.bind_all(&vars, now)?;
                    now = self.step(axis, i, body)?;
                }
                return Ok(now);
            }
            Exp::While { state, cond, body } => {
                let (vars, start): (Vec<Var>, Vec<Atom>) = state.iter().copied().unzip();
                let mut now = self.atoms(&start)?;
                loop {
                    self.bind_all(&vars, now)?;
                    let go_on = self.body(cond)?;
                    if go_on[0].data[0] != Scalar::Bool(true) {
                        break;
                    }
                    now = self.body(body)?;
                }
                let vars: Vec<Atom> = vars.into_iter().map(Atom::Var).collect();
                return self.atoms(&vars);
            }
            Exp::Reduce { axis, body, op } => {
                let n = self.size(axis.size)?;
                let mut acc = op.start.as_ref().map(|a| self.atoms(a)).transpose()?;
                for i in 0..n {
                    acc = Some(self.combine(axis, i, body, op, acc)?);
                }
                return acc.map_or_else(|| bug("a reduction of nothing, without a start"), Ok);
            }
            Exp::Scatter { dests, axis, body, combine } => {
                let n = self.size(axis.size)?;
                let mut out = dests.iter().map(|d| self.atom((*d).into())).collect::<R<Vec<_>>>()?;
                for i in 0..n {
                    let mut results = self.step(axis, i, body)?;
                    let item = results.split_off(1);
                    let Some(Scalar::I64(at)) = results[0].data.first().copied() else {
                        return bug("a place that is no int");
                    };
                    let Ok(at) = usize::try_from(at) else { continue };
                    let old = out.iter().map(|d| d.cell(&[at])).collect::<R<Vec<_>>>()?;
                    let item = match combine {
                        Some(f) => self.apply(f, old.into_iter().chain(item).collect())?,
                        None => item,
                    };
                    for (d, x) in out.iter_mut().zip(item) {
                        let n = x.data.len();
                        Rc::make_mut(&mut d.data)[at * n..(at + 1) * n].copy_from_slice(&x.data);
                    }
                }
                return Ok(out);
            }
            Exp::Grade { axis, body, gives } => {
                let n = self.size(axis.size)?;
                let keys = (0..n).map(|i| self.step(axis, i, body)).collect::<R<Vec<_>>>()?;
                let mut order: Vec<usize> = (0..n).collect();
                order.sort_by(|a, b| {
                    let pairs = keys[*a].iter().zip(&keys[*b]);
                    pairs
                        .flat_map(|(x, y)| x.data.iter().zip(y.data.iter()))
                        .map(|(x, y)| total_cmp(*x, *y))
                        .find(|o| o.is_ne())
                        .unwrap_or(Ordering::Equal)
                });
                let element = |i: usize| match (gives, keys[i].first()) {
                    (Gives::Keys, Some(key)) => key.data.first().copied(),
                    _ => Some(Scalar::I64(i as i64)),
                };
                let data = order.into_iter().filter_map(element).collect::<Vec<_>>();
                Array { base: self.p.ty(pat[0]).base, dims: vec![n], data: data.into() }
            }
            Exp::View { view, array } => self.view(view, *array, pat)?,
            Exp::Map { .. }
            | Exp::Scan { .. }
            | Exp::Filter { .. }
            | Exp::Join { .. }
            | Exp::Pull { .. }
            | Exp::Push { .. }
            | Exp::Check { .. } => return bug("a statement that binds by itself"),
        }])
    }

    fn view(&self, view: &View, array: Var, pat: &[Var]) -> R<Array> {
        let a = self.atom(array.into())?;
        let ty = self.p.ty(pat[0]);
        let dims = self.sizes(&ty.dims)?;
        let count: usize = dims.iter().product();
        let with = match view {
            View::Append { with } => Some(self.atom((*with).into())?),
            _ => None,
        };
        let first = a.dims.first().copied().unwrap_or(0);
        let (start, amounts) = match view {
            View::Slice { start, .. } | View::Wrap { start, .. } => (self.ints(start)?, vec![]),
            View::Rotate { amounts } => (vec![], self.ints(amounts)?),
            _ => (vec![], vec![]),
        };
        let element = |a: &Array, at: &[usize]| -> R<Scalar> { Ok(a.cell(at)?.data[0]) };
        let mut data = Vec::with_capacity(count);
        for position in 0..count {
            let mut at = vec![0; dims.len()];
            let mut rest = position;
            for (i, n) in at.iter_mut().zip(&dims).rev() {
                *i = rest % n;
                rest /= n;
            }
            let moved = |at: &mut [usize], by: &[i64], wraps: bool| -> R<()> {
                for ((i, by), n) in at.iter_mut().zip(by).zip(&a.dims) {
                    let to = *i as i128 + *by as i128;
                    let to = if wraps && *n > 0 { to.rem_euclid(*n as i128) } else { to };
                    *i = usize::try_from(to).map_or_else(|_| bug("a part out of bounds"), Ok)?;
                }
                Ok(())
            };
            data.push(match view {
                View::Reshape { .. } if a.data.len() == count => a.data[position],
                View::Reshape { .. } => {
                    return bug(format!("a reshape of {:?} to {dims:?}", a.dims));
                }
                View::Permute { perm } => {
                    let mut from = vec![0; a.dims.len()];
                    for (k, p) in perm.iter().enumerate() {
                        from[*p] = at[k];
                    }
                    element(&a, &from)?
                }
                View::Reverse => {
                    at[0] = first - 1 - at[0];
                    element(&a, &at)?
                }
                View::Rotate { .. } => {
                    moved(&mut at, &amounts, true)?;
                    element(&a, &at)?
                }
                View::Append { .. } => match &with {
                    Some(with) if at[0] >= first => {
                        at[0] -= first;
                        element(with, &at)?
                    }
                    _ => element(&a, &at)?,
                },
                View::Slice { .. } => {
                    moved(&mut at, &start, false)?;
                    element(&a, &at)?
                }
                View::Wrap { .. } => {
                    moved(&mut at, &start, true)?;
                    element(&a, &at)?
                }
                View::Cycle { .. } => {
                    let n = a.data.len();
                    if n == 0 {
                        return bug("a cycle of nothing");
                    }
                    a.data[position % n]
                }
                View::Replicate { dims } => element(&a, &at[dims.len()..])?,
            });
        }
        Ok(Array { base: a.base, dims, data: data.into() })
    }
}
