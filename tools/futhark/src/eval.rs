//! What a checked program gives: every function is applied, every array is there in full.
//!
//! Where Futhark leaves something undefined (a shift past the width, a float past the limits of an integer type, two
//! writes of one `scatter` to one place) a run is an error here: a text that relies on it is wrong.

use crate::builtin::{arity, binary, positions, qualified, scalar, shaped};
use crate::check::Checked;
use crate::syntax::*;
use crate::types::{Size, Ty};
use crate::value::*;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use std::rc::Rc;

/// The range of each axis that is indexed, and whether the axis stays.
type Ranges = (Vec<(usize, usize)>, Vec<bool>);

/// Calls an entry.
///
/// # Errors
/// A program that stops, or relies on what is undefined.
pub fn run(program: &Checked, entry: &str, args: Vec<Value>) -> Result<Value, Fault> {
    let Some(at) = program.defs.iter().position(|d| d.entry && d.name == entry) else {
        return undefined(format!("there is no entry `{entry}`"));
    };
    if program.defs[at].params.len() != args.len() {
        return undefined(format!("`{entry}` takes {} arguments", program.defs[at].params.len()));
    }
    Run { program }.call(at, args)
}

pub(crate) struct Run<'p> {
    pub(crate) program: &'p Checked,
}

impl Run<'_> {
    fn call(&self, at: usize, args: Vec<Value>) -> E<Value> {
        let d = &self.program.defs[at];
        let mut scope = Scope::default();
        for (p, a) in d.params.iter().zip(&args) {
            scope = self.bind(p, a.clone(), scope, d.line)?;
        }
        // The sizes of the parameters, by the lengths of the arguments.
        for (p, a) in d.params.iter().zip(&args) {
            if let Pat::Typed(_, t) = p {
                scope = self.measure(t, a, &d.sizes, scope, d.line)?;
            }
        }
        self.exp(&d.body, &scope)
    }

    /// The size parameters that a type names, from a value of it; a size that is known has to be that.
    fn measure(&self, t: &Type, v: &Value, names: &[String], mut scope: Scope, line: usize) -> E<Scope> {
        let (mut t, mut axis) = (t, 0);
        loop {
            match t {
                Type::Unique(inner) => t = inner,
                Type::Array(size, inner) => {
                    let Some(n) = v.shape().get(axis) else { return undefined("an array of fewer axes") };
                    match size.as_ref().map(|e| &e.kind) {
                        Some(Kind::Name(s)) if names.contains(s) && scope.find(s).is_none() => {
                            scope = scope.with(s, Value::int(*n as i64));
                        }
                        Some(_) => {
                            let Some(e) = size else { continue };
                            let want = int(&self.exp(e, &scope)?)?;
                            // What has no items has lost the rest of its shape where no type says it.
                            if want != *n as i64 && v.shape().iter().all(|n| *n > 0) {
                                return stop(line, format!("a size is {n}, not {want}"));
                            }
                        }
                        None => {}
                    }
                    axis += 1;
                    t = inner;
                }
                _ => return Ok(scope),
            }
        }
    }

    pub(crate) fn bind(&self, p: &Pat, v: Value, scope: Scope, line: usize) -> E<Scope> {
        match p {
            Pat::Wild => Ok(scope),
            Pat::Name(n) => Ok(scope.with(n, v)),
            Pat::Typed(inner, _) => self.bind(inner, v, scope, line),
            Pat::Tuple(parts) => match &v {
                Value::Tuple(values) if values.len() == parts.len() => parts
                    .iter()
                    .zip(values.iter())
                    .try_fold(scope, |s, (p, v)| self.bind(p, v.clone(), s, line)),
                v => undefined(format!("line {line}: {v:?} is no tuple of {}", parts.len())),
            },
        }
    }

    /// A size of a type, if the scope has what it is made of.
    pub(crate) fn known(&self, n: &Size, scope: &Scope) -> Option<usize> {
        match n {
            Size::Literal(n) => usize::try_from(*n).ok(),
            Size::Name(_, name) => usize::try_from(int(scope.find(name)?).ok()?).ok(),
            Size::Op(op, a, b) => {
                let (a, b) = (self.known(a, scope)?, self.known(b, scope)?);
                match op.as_str() {
                    "+" => a.checked_add(b),
                    "-" => a.checked_sub(b),
                    _ => a.checked_mul(b),
                }
            }
            Size::Unknown(_) | Size::Open(_) => None,
        }
    }

    /// Items as an array; where there is none, of the shape that the type says.
    fn collect(&self, all: Vec<Value>, ty: Option<&Ty>, scope: &Scope) -> E<Value> {
        let mut shape = vec![all.len()];
        let Some(first) = all.first() else {
            let mut t = match ty {
                Some(Ty::Array(_, inner)) => &**inner,
                _ => &Ty::BOOL,
            };
            while let Ty::Array(n, inner) = t {
                shape.push(self.known(n, scope).unwrap_or(0));
                t = inner;
            }
            return Ok(Value::Array { shape, data: Rc::default() });
        };
        let cell = first.shape().to_vec();
        shape.extend(&cell);
        if !matches!(first, Value::Array { .. }) {
            return Ok(Value::Array { shape, data: Rc::new(all) });
        }
        let mut flat = Vec::new();
        for v in &all {
            let (own, data) = array(v)?;
            if own != cell {
                return stop(0, format!("an irregular array: items of shapes {cell:?} and {own:?}"));
            }
            flat.extend(data.iter().cloned());
        }
        Ok(Value::Array { shape, data: Rc::new(flat) })
    }

    pub(crate) fn exp(&self, e: &Exp, scope: &Scope) -> E<Value> {
        let line = e.line;
        match &e.kind {
            Kind::Name(n) => self.name(n, scope),
            Kind::Int(n, suffix) => {
                let t = self.literal_type(e, suffix)?;
                let x = match t.is_float() {
                    true => Scalar::from_float(t, *n as f64),
                    false => Scalar::from_integer(t, *n),
                };
                x.map_or_else(|| undefined("a number"), |x| Ok(Value::Scalar(x)))
            }
            Kind::Float(x, suffix) => {
                let t = self.literal_type(e, suffix)?;
                Scalar::from_float(t, *x).map_or_else(|| undefined("a number"), |x| Ok(Value::Scalar(x)))
            }
            Kind::Section(op) => Ok(function(Code::Section(op.clone()))),
            Kind::Lambda(params, body) => {
                Ok(function(Code::Lambda(Rc::new((params.clone(), (**body).clone())), scope.clone())))
            }
            Kind::LetFun { name, params, value, body, .. } => {
                let f = Code::Lambda(Rc::new((params.clone(), (**value).clone())), scope.clone());
                self.exp(body, &scope.with(name, function(f)))
            }
            Kind::Unary(op, a) => {
                let Value::Scalar(x) = self.exp(a, scope)? else { return undefined("an operand") };
                let op = match (op, x) {
                    ('-', _) => ScalarOp::Negate,
                    (_, Scalar::Bool(_)) => ScalarOp::Not,
                    _ => ScalarOp::BitNot,
                };
                scalar(op, &[x])
            }
            Kind::Binary(op, a, b) => {
                let a = self.exp(a, scope)?;
                match (op.as_str(), &a) {
                    ("&&", Value::Scalar(Scalar::Bool(false))) => return Ok(a),
                    ("||", Value::Scalar(Scalar::Bool(true))) => return Ok(a),
                    _ => {}
                }
                binary(op, &a, &self.exp(b, scope)?, line)
            }
            Kind::Apply(f, args) => {
                if let Kind::Name(n) = &f.kind
                    && n == "assert"
                    && let [c, v] = args.as_slice()
                {
                    if !bool(&self.exp(c, scope)?)? {
                        return stop(line, "an assertion does not hold");
                    }
                    return self.exp(v, scope);
                }
                let f = self.exp(f, scope)?;
                let args = args.iter().map(|a| self.exp(a, scope)).collect::<E<Vec<_>>>()?;
                self.apply(&f, args, self.program.types.get(&e.id), scope, line)
            }
            Kind::If(c, a, b) => {
                let c = bool(&self.exp(c, scope)?)?;
                self.exp(if c { a } else { b }, scope)
            }
            Kind::Let { sizes, pat, value, body } => {
                let v = self.exp(value, scope)?;
                let mut inner = scope.clone();
                if let Pat::Typed(_, t) = pat {
                    inner = self.measure(t, &v, sizes, inner, line)?;
                }
                if let (Pat::Tuple(parts), Value::Tuple(values)) = (pat, &v) {
                    for (p, v) in parts.iter().zip(values.iter()) {
                        if let Pat::Typed(_, t) = p {
                            inner = self.measure(t, v, sizes, inner, line)?;
                        }
                    }
                }
                let inner = self.bind(pat, v, inner, line)?;
                self.exp(body, &inner)
            }
            Kind::Loop { pat, start, form, body } => {
                let mut state = self.exp(start, scope)?;
                let most = match form {
                    Form::For(_, n) => Some(self.exp(n, scope)?),
                    Form::While(_) => None,
                };
                let mut k = 0i128;
                loop {
                    let mut inner = scope.clone();
                    let typed = match (pat, &state) {
                        (Pat::Tuple(parts), Value::Tuple(values)) => {
                            parts.iter().zip(values.iter()).collect()
                        }
                        (p, v) => vec![(p, v)],
                    };
                    for (p, v) in typed {
                        if let Pat::Typed(_, t) = p {
                            inner = self.measure(t, v, &[], inner, line)?;
                        }
                    }
                    inner = self.bind(pat, state.clone(), inner, line)?;
                    match (form, &most) {
                        (Form::For(i, _), Some(n)) => {
                            // The index is of the type of its bound.
                            let Value::Scalar(n) = n else { return undefined("a bound") };
                            if n.as_integer().is_none_or(|n| k >= n) {
                                return Ok(state);
                            }
                            let Some(k) = Scalar::from_integer(n.ty(), k) else {
                                return undefined("an index");
                            };
                            inner = inner.with(i, Value::Scalar(k));
                        }
                        (Form::While(c), _) => {
                            if !bool(&self.exp(c, &inner)?)? {
                                return Ok(state);
                            }
                        }
                        _ => return undefined("a loop without an end"),
                    }
                    state = self.exp(body, &inner)?;
                    k += 1;
                }
            }
            Kind::Index(a, places) => {
                let a = self.exp(a, scope)?;
                let (ranges, keep) = self.ranges(&a, places, scope, line)?;
                let (shape, data) = array(&a)?;
                let at = positions(shape, &ranges);
                let kept: Vec<usize> = ranges
                    .iter()
                    .zip(&keep)
                    .filter(|(_, k)| **k)
                    .map(|(r, _)| r.1 - r.0)
                    .chain(shape[ranges.len()..].iter().copied())
                    .collect();
                if kept.is_empty() {
                    return Ok(data[at[0]].clone());
                }
                let data = at.into_iter().map(|k| data[k].clone()).collect();
                Ok(Value::Array { shape: kept, data: Rc::new(data) })
            }
            Kind::With(a, places, value) => {
                let mut a = self.exp(a, scope)?;
                let value = self.exp(value, scope)?;
                let (ranges, _) = self.ranges(&a, places, scope, line)?;
                let Value::Array { shape, data } = &mut a else { return undefined("no array is written") };
                let at = positions(shape, &ranges);
                let data = Rc::make_mut(data);
                match &value {
                    Value::Array { data: new, .. } if new.len() == at.len() => {
                        at.into_iter().zip(new.iter()).for_each(|(k, x)| data[k] = x.clone());
                    }
                    Value::Array { .. } => return stop(line, "another number of elements is written"),
                    x => at.into_iter().for_each(|k| data[k] = x.clone()),
                }
                Ok(a)
            }
            Kind::Tuple(parts) => {
                Ok(Value::Tuple(Rc::new(parts.iter().map(|p| self.exp(p, scope)).collect::<E<_>>()?)))
            }
            Kind::Array(parts) => {
                let all = parts.iter().map(|p| self.exp(p, scope)).collect::<E<Vec<_>>>()?;
                self.collect(all, None, scope)
            }
            Kind::Ascribe(a, _) => self.exp(a, scope),
            Kind::Coerce(a, t) => {
                let v = self.exp(a, scope)?;
                let (own, data) = array(&v)?;
                let mut wanted = Vec::new();
                let mut t = t;
                while let Type::Array(size, inner) = t {
                    wanted.push(match size {
                        Some(e) => usize::try_from(int(&self.exp(e, scope)?)?).unwrap_or(usize::MAX),
                        None => own.get(wanted.len()).copied().unwrap_or(0),
                    });
                    t = inner;
                }
                // What has no items has lost the rest of its shape where no type says it.
                let lost = own.contains(&0) && wanted.contains(&0);
                if own != wanted && !lost {
                    return stop(line, format!("an array of shape {own:?} is not {wanted:?}"));
                }
                Ok(Value::Array { shape: wanted, data: data.clone() })
            }
        }
    }

    fn literal_type(&self, e: &Exp, suffix: &Option<String>) -> E<BaseTy> {
        let name = match (suffix, self.program.types.get(&e.id)) {
            (Some(s), _) => s.as_str(),
            (None, Some(Ty::Prim(p))) => p,
            _ => return undefined("a literal of no type"),
        };
        base(name).map_or_else(|| undefined("a literal of no type"), Ok)
    }

    fn name(&self, n: &str, scope: &Scope) -> E<Value> {
        if let Some(v) = scope.find(n) {
            return Ok(v.clone());
        }
        if n == "true" || n == "false" {
            return Ok(Value::Scalar(Scalar::Bool(n == "true")));
        }
        if let Some((module, name)) = n.split_once('.')
            && let Some(t) = base(module)
        {
            let float = |x: f64| Scalar::from_float(t, x);
            let range = t.integer_range();
            let constant = match (name, range) {
                ("inf", _) => float(f64::INFINITY),
                ("nan", _) => float(f64::NAN),
                ("lowest", Some((least, _))) => Scalar::from_integer(t, least),
                ("highest", Some((_, most))) => Scalar::from_integer(t, most),
                _ => None,
            };
            return Ok(match constant {
                Some(x) => Value::Scalar(x),
                None => function(Code::Prelude(n.to_owned())),
            });
        }
        match self.program.defs.iter().position(|d| d.name == n) {
            Some(k) if self.program.defs[k].params.is_empty() => self.call(k, Vec::new()),
            Some(k) => Ok(function(Code::Global(k))),
            None => Ok(function(Code::Prelude(n.to_owned()))),
        }
    }

    fn apply(&self, f: &Value, args: Vec<Value>, ty: Option<&Ty>, scope: &Scope, line: usize) -> E<Value> {
        let Value::Function(f) = f else { return undefined(format!("line {line}: no function is applied")) };
        let wanted = match &f.body {
            Code::Prelude(n) => arity(n),
            Code::Section(_) => 2,
            Code::Global(k) => self.program.defs[*k].params.len(),
            Code::Lambda(f, _) => f.0.len(),
        };
        let mut all = f.given.clone();
        all.extend(args);
        if all.len() < wanted {
            return Ok(Value::Function(Function { body: f.body.clone(), given: all }));
        }
        let more = all.split_off(wanted);
        let value = match &f.body {
            Code::Prelude(n) => self.prelude(n, all, ty, scope, line)?,
            Code::Section(op) => binary(op, &all[0], &all[1], line)?,
            Code::Global(k) => self.call(*k, all)?,
            Code::Lambda(f, scope) => {
                let mut inner = scope.clone();
                for (p, a) in f.0.iter().zip(all) {
                    inner = self.bind(p, a, inner, line)?;
                }
                self.exp(&f.1, &inner)?
            }
        };
        if more.is_empty() { Ok(value) } else { self.apply(&value, more, ty, scope, line) }
    }

    /// A function of elements of which there are none.
    fn never_applied(&self, f: &Value) -> E<()> {
        let Value::Function(Function { body: Code::Lambda(f, scope), given }) = f else { return Ok(()) };
        if !given.is_empty() {
            return Ok(());
        }
        let names = f.0.iter().flat_map(Pat::names).map(str::to_owned).collect();
        self.taken_out(&f.1, scope, &names)
    }

    /// The range of each axis that is indexed, and whether the axis stays.
    fn ranges(&self, a: &Value, places: &[Place], scope: &Scope, line: usize) -> E<Ranges> {
        let shape = array(a)?.0.to_vec();
        let (mut ranges, mut keep) = (Vec::new(), Vec::new());
        for (p, n) in places.iter().zip(&shape) {
            let (from, to, stays) = match p {
                Place::At(x) => {
                    let k = int(&self.exp(x, scope)?)?;
                    (k, k.saturating_add(1), false)
                }
                Place::Slice(x, y) => (int(&self.exp(x, scope)?)?, int(&self.exp(y, scope)?)?, true),
            };
            if from < 0 || to < from || to > *n as i64 {
                return stop(line, format!("the index {from}:{to} is outside of {shape:?}"));
            }
            ranges.push((from as usize, to as usize));
            keep.push(stays);
        }
        Ok((ranges, keep))
    }

    fn prelude(&self, n: &str, args: Vec<Value>, ty: Option<&Ty>, scope: &Scope, line: usize) -> E<Value> {
        if let Some((module, name)) = n.split_once('.') {
            return qualified(module, name, &args, line);
        }
        let apply = |f: &Value, args: Vec<Value>| self.apply(f, args, None, scope, line);
        let size = |v: &Value| match usize::try_from(int(v)?) {
            Ok(n) if n <= 1 << 26 => Ok(n),
            _ => stop(line, format!("{v:?} is no size")),
        };
        let tuple = |parts: Vec<Value>| Value::Tuple(Rc::new(parts));
        match n {
            "map" | "map2" | "map3" | "map4" | "map5" | "zip" | "zip3" | "zip4" | "zip5" => {
                let zips = n.starts_with("zip");
                let columns = args[usize::from(!zips)..].iter().map(items).collect::<E<Vec<_>>>()?;
                let count = columns[0].len();
                if columns.iter().any(|c| c.len() != count) {
                    return stop(line, format!("`{n}` of arrays of different lengths"));
                }
                if count == 0 && !zips {
                    self.never_applied(&args[0])?;
                }
                let mut all = Vec::with_capacity(count);
                for k in 0..count {
                    let row: Vec<Value> = columns.iter().map(|c| c[k].clone()).collect();
                    all.push(if zips { tuple(row) } else { apply(&args[0], row)? });
                }
                self.collect(all, ty, scope)
            }
            "unzip" | "unzip3" | "unzip4" | "unzip5" => {
                let count = n.trim_start_matches("unzip").parse().unwrap_or(2);
                let mut columns = vec![Vec::new(); count];
                for row in array(&args[0])?.1.iter() {
                    let Value::Tuple(parts) = row else { return undefined("no tuples are unzipped") };
                    columns.iter_mut().zip(parts.iter()).for_each(|(c, v)| c.push(v.clone()));
                }
                let types = match ty {
                    Some(Ty::Tuple(all)) => all.iter().map(Some).collect(),
                    _ => vec![None; count],
                };
                let columns = columns.into_iter().zip(types);
                Ok(tuple(columns.map(|(c, t)| self.collect(c, t, scope)).collect::<E<_>>()?))
            }
            "reduce" => {
                let mut acc = args[1].clone();
                for x in items(&args[2])? {
                    acc = apply(&args[0], vec![acc, x])?;
                }
                Ok(acc)
            }
            "scan" => {
                let mut acc = args[1].clone();
                let mut all = Vec::new();
                for x in items(&args[2])? {
                    acc = apply(&args[0], vec![acc, x])?;
                    all.push(acc.clone());
                }
                self.collect(all, ty, scope)
            }
            "filter" => {
                let mut all = Vec::new();
                if items(&args[1])?.is_empty() {
                    self.never_applied(&args[0])?;
                }
                for x in items(&args[1])? {
                    if bool(&apply(&args[0], vec![x.clone()])?)? {
                        all.push(x);
                    }
                }
                self.collect(all, ty, scope)
            }
            "scatter" => {
                let (places, values) = (items(&args[1])?, items(&args[2])?);
                let mut all = items(&args[0])?;
                let mut written: Vec<Option<String>> = vec![None; all.len()];
                for (p, v) in places.iter().zip(values) {
                    let Some(k) = usize::try_from(int(p)?).ok().filter(|k| *k < all.len()) else { continue };
                    let text = Some(format!("{v:?}"));
                    if written[k].as_ref().is_some_and(|w| Some(w) != text.as_ref()) {
                        return undefined(format!("line {line}: two values are written to place {k}"));
                    }
                    written[k] = text;
                    all[k] = v;
                }
                self.collect(all, ty, scope)
            }
            "reduce_by_index" => {
                let mut all = items(&args[0])?;
                for (p, v) in items(&args[3])?.iter().zip(items(&args[4])?) {
                    let Some(k) = usize::try_from(int(p)?).ok().filter(|k| *k < all.len()) else { continue };
                    all[k] = apply(&args[1], vec![all[k].clone(), v])?;
                }
                self.collect(all, ty, scope)
            }
            "iota" => {
                let all = (0..size(&args[0])?).map(|k| Value::int(k as i64)).collect();
                self.collect(all, ty, scope)
            }
            "replicate" => {
                let n = size(&args[0])?;
                let mut shape = vec![n];
                let data: Vec<Value> = match &args[1] {
                    Value::Array { shape: cell, data } => {
                        shape.extend(cell);
                        (0..n).flat_map(|_| data.iter().cloned()).collect()
                    }
                    x => vec![x.clone(); n],
                };
                Ok(Value::Array { shape, data: Rc::new(data) })
            }
            "copy" => Ok(args[0].clone()),
            "length" => Ok(Value::int(array(&args[0])?.0[0] as i64)),
            "reverse" => {
                let (shape, _) = array(&args[0])?;
                let mut all = items(&args[0])?;
                all.reverse();
                if all.is_empty() {
                    Ok(args[0].clone())
                } else {
                    self.collect(all, ty, scope).map(|v| shaped(v, shape))
                }
            }
            "rotate" => {
                let (shape, _) = array(&args[1])?;
                let mut all = items(&args[1])?;
                if all.is_empty() {
                    return Ok(args[1].clone());
                }
                let by = int(&args[0])?.rem_euclid(all.len() as i64) as usize;
                all.rotate_left(by);
                self.collect(all, ty, scope).map(|v| shaped(v, shape))
            }
            "transpose" => {
                let (shape, data) = array(&args[0])?;
                let (n, m) = (shape[0], shape[1]);
                let cell: usize = shape[2..].iter().product();
                let mut all = Vec::with_capacity(data.len());
                for j in 0..m {
                    for i in 0..n {
                        all.extend(data[(i * m + j) * cell..(i * m + j + 1) * cell].iter().cloned());
                    }
                }
                let mut to = vec![m, n];
                to.extend(&shape[2..]);
                Ok(Value::Array { shape: to, data: Rc::new(all) })
            }
            "flatten" | "flatten_3d" | "flatten_4d" => {
                let axes = match n {
                    "flatten" => 2,
                    "flatten_3d" => 3,
                    _ => 4,
                };
                let (shape, data) = array(&args[0])?;
                let mut to = vec![shape[..axes].iter().product()];
                to.extend(&shape[axes..]);
                Ok(Value::Array { shape: to, data: data.clone() })
            }
            "unflatten" | "unflatten_3d" | "unflatten_4d" => {
                let (shape, data) = array(&args[0])?;
                let mut to = Vec::new();
                let mut t = ty;
                let axes = n.trim_start_matches("unflatten_").trim_end_matches('d').parse().unwrap_or(2);
                for _ in 0..axes {
                    let Some(Ty::Array(n, inner)) = t else { return undefined("a shape of no type") };
                    let Some(n) = self.known(n, scope) else { return undefined("an unknown shape") };
                    to.push(n);
                    t = Some(inner);
                }
                to.extend(&shape[1..]);
                Ok(Value::Array { shape: to, data: data.clone() })
            }
            "and" | "or" => {
                let all = items(&args[0])?;
                let mut found = n == "and";
                for v in &all {
                    found = if n == "and" { found & bool(v)? } else { found | bool(v)? };
                }
                Ok(Value::Scalar(Scalar::Bool(found)))
            }
            _ => undefined(format!("line {line}: `{n}` is not known")),
        }
    }
}
