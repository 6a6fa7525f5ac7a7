//! What a program of Mono means: the evaluator that tests compare passes with.
//!
//! It is as plain as can be: a body is run statement by statement, an iteration is a loop, every array
//! is there in full. It knows no fusion and no parallelism, and checks on the way what the grammar
//! promises: that arrays have the dims of their types, and that indices are in bounds.
//!
//! It can count on the way what the program costs on an ideal machine: see [`meter`].

pub mod meter;
mod values;
mod view;

use crate::ir::{Atom, *};
use meter::{Cost, Meter};
use remc_base::ids::Id;
use remc_base::ops::{self, total_cmp};
use remc_base::*;
use std::cmp::Ordering;
use std::rc::Rc;
pub use values::{arguments, array, value};

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
    /// It takes more steps than it may.
    Long,
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

/// Runs a program without parameters for so many steps at most: bindings, and elements that are bound.
///
/// # Errors
/// As of [`run`], and a run that takes more steps.
pub fn run_within(p: &Program, steps: usize) -> Result<Vec<Array>, Fault> {
    let run = Run { channels: &mut Channels::default(), watch: &mut |_, _| {}, meter: None, steps };
    run_metered(p, &[], run).map(|(results, _)| results)
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
    run_metered(p, params, Run { channels, watch, meter: None, steps: usize::MAX })
        .map(|(results, _)| results)
}

/// As [`run_channels`], with what the run costs. Arrays that are given are there up to the end.
///
/// # Errors
/// As of [`run`].
pub fn measure(p: &Program, params: &[Array], channels: &mut Channels) -> Result<(Vec<Array>, Cost), Fault> {
    let meter = Some(Meter::default());
    run_metered(p, params, Run { channels, watch: &mut |_, _| {}, meter, steps: usize::MAX })
}

/// How a program is run.
struct Run<'w> {
    channels: &'w mut Channels,
    watch: &'w mut dyn FnMut(Var, &Array),
    meter: Option<Meter>,
    steps: usize,
}

fn run_metered(p: &Program, params: &[Array], run: Run<'_>) -> Result<(Vec<Array>, Cost), Fault> {
    let Run { channels, watch, meter, steps } = run;
    for c in p.channels.iter().skip(channels.items.len()) {
        let none = |a: &ChannelArray| Array { base: a.base, dims: vec![0; a.rank + 1], data: Rc::default() };
        channels.items.push(c.arrays.iter().map(none).collect());
    }
    let mut e = Eval { p, vars: vec![None; p.vars.len()], channels: &mut *channels, watch, meter, steps };
    if params.len() != p.params.len() {
        return bug("another number of parameters");
    }
    for (v, a) in p.params.iter().zip(params) {
        e.bind(*v, a.clone())?;
    }
    e.hold(params);
    let mut results = e.body(&p.body)?;
    let cost = e.meter.map(|m| m.cost()).unwrap_or_default();
    for (c, items) in p.channels.iter().zip(&channels.items) {
        if let (Some(at), [array]) = (c.output, &items[..]) {
            results[at] = array.clone();
        }
    }
    Ok((results, cost))
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
    meter: Option<Meter>,
    /// How many steps are left.
    steps: usize,
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
        self.spend_steps(a.data.len() + 1)?;
        (self.watch)(v, &a);
        self.vars[v.index()] = Some(a);
        Ok(())
    }

    fn spend_steps(&mut self, n: usize) -> R<()> {
        self.steps = self.steps.checked_sub(n).ok_or(Fault::Long)?;
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
        self.spend_steps(1)?;
        for (k, s) in b.stmts.iter().enumerate() {
            self.stmt(s)?;
            self.settle(b, k);
        }
        self.atoms(&b.results)
    }

    fn apply(&mut self, f: &Lambda, args: Vec<Array>) -> R<Vec<Array>> {
        self.hold(&args);
        self.bind_all(&f.params, args)?;
        self.body(&f.body)
    }

    fn step(&mut self, axis: &Axis, i: usize, body: &Body) -> R<Vec<Array>> {
        self.bind(axis.var, Array::int(i as i64))?;
        self.hold(&[Array::int(i as i64)]);
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
                let (mut all, mut costs) = (Collected::new(s.pat.len()), Vec::new());
                for position in 0..sizes.iter().product() {
                    let mut rest = position;
                    for (axis, n) in axes.iter().zip(&sizes).rev() {
                        self.bind(axis.var, Array::int((rest % n) as i64))?;
                        rest /= n;
                    }
                    let (results, cost) = self.apart(|e| {
                        e.hold(&[Array::int(position as i64)]);
                        e.body(body)
                    })?;
                    costs.push(cost);
                    all.push(&results);
                }
                self.spend(Cost::beside(&costs));
                self.bind_collected(&s.pat, all)
            }
            Exp::Scan { kind, axis, body, op } => {
                let n = self.size(axis.size)?;
                let mut acc = op.start.as_ref().map(|a| self.atoms(a)).transpose()?;
                let (mut all, mut costs) = (Collected::new(s.pat.len()), Vec::new());
                let before = *kind != ScanKind::Inclusive;
                for i in 0..n {
                    if before && let Some(acc) = &acc {
                        all.push(acc);
                    }
                    let (next, cost) = self.apart(|e| e.combine(axis, i, body, op, acc))?;
                    costs.push(cost);
                    acc = Some(next);
                    if !before && let Some(acc) = &acc {
                        all.push(acc);
                    }
                }
                if *kind == ScanKind::Full
                    && let Some(acc) = &acc
                {
                    all.push(acc);
                }
                self.spend(combined(op, &costs));
                self.bind_collected(&s.pat, all)
            }
            Exp::Filter { axis, body } => {
                let n = self.size(axis.size)?;
                let (mut all, mut costs) = (Collected::new(s.pat.len() - 1), Vec::new());
                let mut kept = 0;
                for i in 0..n {
                    let (results, cost) = self.apart(|e| e.step(axis, i, body))?;
                    costs.push(cost);
                    if results[0].data[0] == Scalar::Bool(true) {
                        kept += 1;
                        all.push(&results[1..]);
                    }
                }
                self.spend(Cost::beside(&costs));
                self.bind(s.pat[0], Array::int(kept))?;
                self.bind_collected(&s.pat[1..], all)
            }
            Exp::Join { axis, regular, body } => {
                let n = self.size(axis.size)?;
                let joined = body.results.len() - regular;
                let mut all = Collected::new(*regular);
                let mut starts = vec![Vec::new(); joined];
                let mut data: Vec<Vec<Scalar>> = vec![Vec::new(); joined];
                let mut costs = Vec::new();
                for i in 0..n {
                    let (results, cost) = self.apart(|e| e.step(axis, i, body))?;
                    costs.push(cost);
                    all.push(&results[..*regular]);
                    for (k, r) in results[*regular..].iter().enumerate() {
                        starts[k].push(Scalar::I64(data[k].len() as i64));
                        data[k].extend(r.data.iter());
                    }
                }
                self.spend(Cost::beside(&costs));
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
                self.spend(Cost::beside(&[]));
                self.bind_all(&s.pat, values)
            }
            Exp::Push { channel, arrays } => {
                let pieces = arrays.iter().map(|v| self.atom((*v).into())).collect::<R<Vec<_>>>()?;
                let Some(all) = self.channels.items.get_mut(*channel) else {
                    return bug("a channel that is not there");
                };
                let mut pushed = 0;
                for (to, piece) in all.iter_mut().zip(pieces) {
                    pushed += piece.data.len();
                    let n = to.dims[0] + piece.dims[0];
                    to.dims = std::iter::once(n).chain(piece.dims[1..].iter().copied()).collect();
                    Rc::make_mut(&mut to.data).extend(piece.data.iter());
                }
                self.spend(Cost::beside(&[Cost::work(pushed)]));
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
                self.spend(Cost::work(1));
                let args = args.iter().map(|a| self.scalar(*a)).collect::<R<Vec<_>>>()?;
                let tys: Vec<BaseTy> = args.iter().map(|a| a.ty()).collect();
                let Some(ty) = op.result_ty(&tys) else { return bug(format!("{op} of {tys:?}")) };
                Array::scalar(ops::apply(*op, &args).unwrap_or(ops::zero(ty)))
            }
            Exp::Cast(to, a) => {
                self.spend(Cost::work(1));
                Array::scalar(ops::cast(self.scalar(*a)?, *to).unwrap_or(ops::zero(*to)))
            }
            Exp::Literal { dims, elems } => {
                let data = elems.iter().map(|a| self.scalar(*a)).collect::<R<Vec<_>>>()?;
                Array { base: self.p.ty(pat[0]).base, dims: self.sizes(dims)?, data: data.into() }
            }
            Exp::Index { array, at } => {
                self.spend(Cost::work(1));
                self.atom((*array).into())?.cell(&self.place(at)?)?
            }
            Exp::If { cond, then, otherwise } => {
                let branch = if self.bool(*cond)? { then } else { otherwise };
                let (given, cost) = self.apart(|e| e.body(branch))?;
                self.spend(cost);
                return Ok(given);
            }
            Exp::For { axis, state, body } => {
                let n = self.size(axis.size)?;
                let (vars, start): (Vec<Var>, Vec<Atom>) = state.iter().copied().unzip();
                let mut now = self.atoms(&start)?;
                for i in 0..n {
                    let (next, cost) = self.apart(|e| {
                        e.hold(&now);
                        e.bind_all(&vars, now)?;
                        e.step(axis, i, body)
                    })?;
                    self.spend(Cost::behind(&[cost]));
                    now = next;
                }
                return Ok(now);
            }
            Exp::While { state, cond, body } => {
                let (vars, start): (Vec<Var>, Vec<Atom>) = state.iter().copied().unzip();
                let mut now = self.atoms(&start)?;
                loop {
                    let (next, cost) = self.apart(|e| {
                        e.hold(&now);
                        e.bind_all(&vars, now)?;
                        let go_on = e.body(cond)?;
                        let goes_on = go_on[0].data[0] == Scalar::Bool(true);
                        goes_on.then(|| e.body(body)).transpose()
                    })?;
                    self.spend(Cost::behind(&[cost]));
                    match next {
                        Some(next) => now = next,
                        None => break,
                    }
                }
                let vars: Vec<Atom> = vars.into_iter().map(Atom::Var).collect();
                return self.atoms(&vars);
            }
            Exp::Reduce { axis, body, op } => {
                let n = self.size(axis.size)?;
                let mut acc = op.start.as_ref().map(|a| self.atoms(a)).transpose()?;
                let mut costs = Vec::new();
                for i in 0..n {
                    let (next, cost) = self.apart(|e| e.combine(axis, i, body, op, acc))?;
                    costs.push(cost);
                    acc = Some(next);
                }
                self.spend(combined(op, &costs));
                return acc.map_or_else(|| bug("a reduction of nothing, without a start"), Ok);
            }
            Exp::Scatter { dests, axis, body, combine } => {
                let n = self.size(axis.size)?;
                let mut out = dests.iter().map(|d| self.atom((*d).into())).collect::<R<Vec<_>>>()?;
                let mut costs = Vec::new();
                for i in 0..n {
                    let (mut results, mut cost) = self.apart(|e| e.step(axis, i, body))?;
                    let item = results.split_off(1);
                    let Some(Scalar::I64(at)) = results[0].data.first().copied() else {
                        return bug("a place that is no int");
                    };
                    let Ok(at) = usize::try_from(at) else { continue };
                    let old = out.iter().map(|d| d.cell(&[at])).collect::<R<Vec<_>>>()?;
                    let item = match combine {
                        Some(f) => {
                            let args = old.into_iter().chain(item).collect();
                            let (item, more) = self.apart(|e| e.apply(f, args))?;
                            cost = cost.then(more);
                            item
                        }
                        None => item,
                    };
                    costs.push(cost);
                    for (d, x) in out.iter_mut().zip(item) {
                        let n = x.data.len();
                        Rc::make_mut(&mut d.data)[at * n..(at + 1) * n].copy_from_slice(&x.data);
                    }
                }
                self.spend(Cost::beside(&costs));
                return Ok(out);
            }
            Exp::Grade { axis, body, gives } => {
                let n = self.size(axis.size)?;
                let keys = (0..n).map(|i| self.apart(|e| e.step(axis, i, body)));
                let (keys, costs): (Vec<_>, Vec<_>) = keys.collect::<R<Vec<_>>>()?.into_iter().unzip();
                self.spend(Cost::beside(&costs));
                self.spend(Cost::work(n * n.max(1).next_power_of_two().ilog2() as usize));
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
            Exp::View { view, array } => {
                if !matches!(view, View::Reshape { .. }) {
                    self.spend(Cost::beside(&[]));
                }
                let dims = self.sizes(&self.p.ty(pat[0]).dims)?;
                let elements = dims.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
                if elements.is_none_or(|n| n > self.steps) {
                    return Err(Fault::Long);
                }
                self.view(view, *array, pat)?
            }
            Exp::Map { .. }
            | Exp::Scan { .. }
            | Exp::Filter { .. }
            | Exp::Join { .. }
            | Exp::Pull { .. }
            | Exp::Push { .. }
            | Exp::Check { .. } => return bug("a statement that binds by itself"),
        }])
    }
}

/// What a reduction or scan costs, by its items: side by side, where it may be grouped in any way.
fn combined(op: &Combine, items: &[Cost]) -> Cost {
    if op.assoc { Cost::beside(items) } else { Cost::behind(items) }
}
