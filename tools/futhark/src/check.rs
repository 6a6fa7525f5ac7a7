//! The rules: scopes, types with sizes, and what may still be used.
//!
//! - A name is bound before it is used; a program has no two definitions of one name.
//! - Types are inferred; a literal without a suffix is of the type that its use wants, else `i32` or `f64`.
//! - Sizes are compared as [`crate::types`] says. What a function gives must not have a size that is known only
//!   inside of it: an array of arrays of different lengths is none. Beyond a `let` such a size is unknown.
//! - What is *consumed* (the destination of `scatter` or `with`) is not used again, nor anything that may be a part
//!   of it; what was not made here (a parameter without a star, a variable outside of a function or loop) is not
//!   consumed.

mod scopes;

use crate::prelude::{PRELUDE, qualified};
use crate::syntax::*;
use crate::types::*;
use std::collections::{BTreeSet, HashMap, HashSet};

/// A type with variables that are new at each use.
#[derive(Clone)]
struct Scheme {
    sizes: Vec<usize>,
    types: Vec<String>,
    /// Lengths that are unknown at each use.
    unknowns: Vec<usize>,
    ty: Ty,
}

#[derive(Clone)]
enum Entry {
    Global(Scheme),
    Local { id: usize, ty: Ty, size: Size },
}

/// What may be a part of a value: the variables that it aliases.
type Aliases = BTreeSet<usize>;

struct Value {
    ty: Ty,
    aliases: Aliases,
}

/// What is known of a variable.
struct Var {
    name: String,
    aliases: Aliases,
    consumable: bool,
}

/// A program that keeps the rules, with the type of each application.
pub struct Checked {
    pub defs: Vec<Def>,
    pub types: HashMap<usize, Ty>,
}

struct Checker {
    u: Unifier,
    scope: HashMap<String, Vec<Entry>>,
    vars: Vec<Var>,
    consumed: HashSet<usize>,
    /// Variables below this number are outside of the function or loop that is being checked.
    outside: usize,
    types: HashMap<usize, Ty>,
    rigid: HashSet<String>,
}

/// Reads and checks a program.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(text: &str) -> S<Checked> {
    let defs = crate::parse::parse(text)?;
    let mut c = Checker {
        u: Unifier::default(),
        scope: HashMap::new(),
        vars: Vec::new(),
        consumed: HashSet::new(),
        outside: 0,
        types: HashMap::new(),
        rigid: HashSet::new(),
    };
    for (name, signature) in PRELUDE {
        let scheme = c.prelude(signature)?;
        c.scope.insert((*name).to_owned(), vec![Entry::Global(scheme)]);
    }
    let mut names = HashSet::new();
    for d in &defs {
        if !names.insert(d.name.clone()) {
            return wrong(d.line, format!("`{}` is defined twice", d.name));
        }
        c.def(d)?;
    }
    crate::harmless::check(&defs)?;
    c.u.settle();
    let types = c.types.iter().map(|(id, t)| (*id, c.u.ty(t))).collect();
    Ok(Checked { defs, types })
}

impl Checker {
    fn prelude(&mut self, signature: &str) -> S<Scheme> {
        let (mut sizes, types, ty) = crate::parse::signature(signature)?;
        sizes.extend(["size".to_owned(), "unknown".to_owned()]);
        let ids: Vec<usize> = sizes.iter().map(|s| self.bind(s, Ty::I64, Aliases::new(), false)).collect();
        self.rigid.extend(types.iter().cloned());
        let ty = self.ty(&ty, 0)?;
        for s in &sizes {
            self.unbind(s);
        }
        let (sizes, unknowns) = ids.split_at(ids.len() - 1);
        Ok(Scheme { sizes: sizes.to_vec(), types, unknowns: unknowns.to_vec(), ty })
    }

    // ---- scopes ----

    fn bind(&mut self, name: &str, ty: Ty, aliases: Aliases, consumable: bool) -> usize {
        let id = self.vars.len();
        self.bind_as(name, ty, aliases, consumable, Size::Name(id, name.to_owned()))
    }

    fn bind_as(&mut self, name: &str, ty: Ty, aliases: Aliases, consumable: bool, size: Size) -> usize {
        let id = self.vars.len();
        self.vars.push(Var { name: name.to_owned(), aliases, consumable });
        self.scope.entry(name.to_owned()).or_default().push(Entry::Local { id, ty, size });
        id
    }

    fn unbind(&mut self, name: &str) {
        if let Some(all) = self.scope.get_mut(name) {
            all.pop();
        }
    }

    fn find(&self, line: usize, name: &str) -> S<Entry> {
        match self.scope.get(name).and_then(|all| all.last()) {
            Some(e) => Ok(e.clone()),
            None => wrong(line, format!("there is no `{name}` here")),
        }
    }

    fn instance(&mut self, s: &Scheme) -> Ty {
        let sizes: HashMap<usize, Size> = s.sizes.iter().map(|k| (*k, self.u.open_size())).collect();
        let types: HashMap<&String, Ty> = s.types.iter().map(|t| (t, self.u.open(Class::Any))).collect();
        let unknowns: HashMap<usize, Size> = s.unknowns.iter().map(|k| (*k, self.u.unknown())).collect();
        let mut size = |n: &Size| match n {
            Size::Name(k, _) => sizes.get(k).or(unknowns.get(k)).cloned(),
            _ => None,
        };
        let mut ty = |t: &Ty| match t {
            Ty::Rigid(name) => types.get(name).cloned(),
            _ => None,
        };
        // A named parameter is the size that is open for it.
        fn names(t: Ty, sizes: &HashMap<usize, Size>) -> Ty {
            match t {
                Ty::Fun { param, result, named, consumes, fresh } => {
                    let named = named.map(|k| match sizes.get(&k) {
                        Some(Size::Open(j)) => *j,
                        _ => k,
                    });
                    Ty::Fun { param, result: Box::new(names(*result, sizes)), named, consumes, fresh }
                }
                t => t,
            }
        }
        names(replaced(&s.ty, &mut size, &mut ty), &sizes)
    }

    // ---- types ----

    fn ty(&mut self, t: &Type, line: usize) -> S<Ty> {
        Ok(match t {
            Type::Name(n) => match PRIMS.iter().find(|p| *p == n) {
                Some(p) => Ty::Prim(p),
                None if self.rigid.contains(n) => Ty::Rigid(n.clone()),
                None => return wrong(line, format!("there is no type `{n}`")),
            },
            Type::Array(size, t) => {
                let size = match size {
                    None => self.u.unknown(),
                    Some(e) => {
                        let ty = self.exp(e)?.ty;
                        self.equal(line, &ty, &Ty::I64, "a size")?;
                        self.size(e)
                    }
                };
                Ty::Array(size, Box::new(self.ty(t, line)?))
            }
            Type::Tuple(all) => Ty::Tuple(all.iter().map(|t| self.ty(t, line)).collect::<S<_>>()?),
            Type::Fun(name, param, result) => {
                let consumes = matches!(**param, Type::Unique(_));
                let fresh = matches!(**result, Type::Unique(_));
                let param = Box::new(self.ty(param, line)?);
                let named = match name {
                    Some(n) => match self.find(line, n)? {
                        Entry::Local { id, .. } => Some(id),
                        Entry::Global(_) => None,
                    },
                    None => None,
                };
                Ty::Fun { param, result: Box::new(self.ty(result, line)?), named, consumes, fresh }
            }
            Type::Unique(t) => self.ty(t, line)?,
        })
    }

    /// An expression as a size: what is more than arithmetic of variables is unknown.
    fn size(&mut self, e: &Exp) -> Size {
        match &e.kind {
            Kind::Int(n, _) => i64::try_from(*n).map_or_else(|_| self.u.unknown(), Size::Literal),
            Kind::Name(n) => match self.find(e.line, n) {
                Ok(Entry::Local { size, .. }) => size,
                _ => self.u.unknown(),
            },
            Kind::Binary(op, a, b) if matches!(op.as_str(), "+" | "-" | "*") => {
                let (a, b) = (self.size(a), self.size(b));
                Size::Op(op.clone(), Box::new(a), Box::new(b))
            }
            _ => self.u.unknown(),
        }
    }

    fn equal(&mut self, line: usize, have: &Ty, want: &Ty, what: &str) -> S<()> {
        if self.u.same(have, want) {
            return Ok(());
        }
        wrong(line, format!("{what} is of type {}, not {}", self.u.ty(have), self.u.ty(want)))
    }

    // ---- definitions ----

    fn def(&mut self, d: &Def) -> S<()> {
        let mut sizes = Vec::new();
        for s in &d.sizes {
            sizes.push(self.bind(s, Ty::I64, Aliases::new(), false));
        }
        self.rigid = d.types.iter().cloned().collect();
        let mut bound: Vec<String> = d.sizes.clone();
        let mut params = Vec::new();
        for p in &d.params {
            let t = self.pattern_type(p, d.line)?;
            let unique = matches!(p, Pat::Typed(_, Type::Unique(_)));
            let named = match p {
                Pat::Typed(inner, _) if t == Ty::I64 => match &**inner {
                    Pat::Name(_) => Some(self.vars.len()),
                    _ => None,
                },
                _ => None,
            };
            self.bind_pattern(p, &t, &Aliases::new(), unique, d.line, &mut bound)?;
            params.push((t, named, unique));
        }
        if d.entry && (!d.types.is_empty() || params.iter().any(|p| matches!(p.0, Ty::Fun { .. }))) {
            return wrong(d.line, "an entry has no parameters that are functions or types");
        }
        let mark = self.u.mark();
        let value = self.exp(&d.body)?;
        let fresh = matches!(d.result, Some(Type::Unique(_)));
        let result = match &d.result {
            Some(t) => {
                let want = self.ty(t, d.line)?;
                // What has no size in the head may have any.
                let mut open = HashMap::new();
                let loose = replaced(
                    &want,
                    &mut |n| match n {
                        Size::Unknown(k) if *k > mark => {
                            Some(open.entry(*k).or_insert_with(|| self.u.open_size()).clone())
                        }
                        _ => None,
                    },
                    &mut |_| None,
                );
                self.equal(d.line, &value.ty, &loose, &format!("what `{}` gives", d.name))?;
                want
            }
            None => self.u.ty(&value.ty),
        };
        if fresh && value.aliases.iter().any(|a| !self.vars[*a].consumable) {
            return wrong(d.line, format!("what `{}` gives is not its own", d.name));
        }
        let unknowns: Vec<usize> = {
            let mut all = Vec::new();
            sizes_in(&result, &mut |n| {
                if let Size::Unknown(k) = n {
                    all.push(*k);
                }
            });
            all
        };
        // An unknown length is a new one at each use: it becomes a variable of the scheme.
        let mut fresh_ids = Vec::new();
        let mut of = HashMap::new();
        for k in unknowns {
            let id = self.vars.len();
            self.vars.push(Var { name: "?".into(), aliases: Aliases::new(), consumable: false });
            of.insert(k, id);
            fresh_ids.push(id);
        }
        let result = replaced(
            &result,
            &mut |n| match n {
                Size::Unknown(k) => of.get(k).map(|id| Size::Name(*id, "?".into())),
                _ => None,
            },
            &mut |_| None,
        );
        let last = params.len();
        let ty = params.iter().enumerate().rev().fold(result, |result, (k, (t, named, unique))| Ty::Fun {
            param: Box::new(self.u.ty(t)),
            result: Box::new(result),
            named: *named,
            consumes: *unique,
            fresh: fresh && k + 1 == last,
        });
        sizes.extend(params.iter().filter_map(|p| p.1));
        for name in bound.iter().rev() {
            self.unbind(name);
        }
        self.rigid.clear();
        let scheme = Scheme { sizes, types: d.types.clone(), unknowns: fresh_ids, ty };
        self.scope.entry(d.name.clone()).or_default().push(Entry::Global(scheme));
        Ok(())
    }

    // ---- patterns ----

    fn pattern_type(&mut self, p: &Pat, line: usize) -> S<Ty> {
        Ok(match p {
            Pat::Wild | Pat::Name(_) => self.u.open(Class::Any),
            Pat::Typed(inner, t) => {
                let t = self.ty(t, line)?;
                let own = self.pattern_type(inner, line)?;
                self.equal(line, &own, &t, "a pattern")?;
                t
            }
            Pat::Tuple(parts) => {
                Ty::Tuple(parts.iter().map(|p| self.pattern_type(p, line)).collect::<S<_>>()?)
            }
        })
    }

    /// Binds the names of a pattern to the parts of a value.
    fn bind_pattern(
        &mut self,
        p: &Pat,
        t: &Ty,
        aliases: &Aliases,
        consumable: bool,
        line: usize,
        bound: &mut Vec<String>,
    ) -> S<()> {
        match p {
            Pat::Wild => Ok(()),
            Pat::Name(n) => {
                let aliases = if self.is_scalar(t) { Aliases::new() } else { aliases.clone() };
                self.bind(n, t.clone(), aliases, consumable);
                bound.push(n.clone());
                Ok(())
            }
            Pat::Typed(inner, _) => self.bind_pattern(inner, t, aliases, consumable, line, bound),
            Pat::Tuple(parts) => match self.u.ty(t) {
                Ty::Tuple(types) if types.len() == parts.len() => {
                    for (p, t) in parts.iter().zip(&types) {
                        self.bind_pattern(p, t, aliases, consumable, line, bound)?;
                    }
                    Ok(())
                }
                t => wrong(line, format!("a pattern of {} parts for {t}", parts.len())),
            },
        }
    }

    fn is_scalar(&self, t: &Ty) -> bool {
        matches!(self.u.ty(t), Ty::Prim(_))
    }

    // ---- consuming ----

    fn consume(&mut self, line: usize, aliases: &Aliases) -> S<()> {
        for a in aliases {
            let v = &self.vars[*a];
            if !v.consumable {
                return wrong(line, format!("`{}` may not be written over: it is not one's own", v.name));
            }
            if *a < self.outside {
                return wrong(line, format!("`{}` is written over in a function or loop inside", v.name));
            }
        }
        self.consumed.extend(aliases);
        Ok(())
    }

    // ---- expressions ----

    fn exp(&mut self, e: &Exp) -> S<Value> {
        let line = e.line;
        let plain = |ty: Ty| Ok(Value { ty, aliases: Aliases::new() });
        match &e.kind {
            Kind::Name(n) => self.name(line, n),
            Kind::Int(n, suffix) => {
                let ty = match suffix {
                    Some(s) => self.ty(&Type::Name(s.clone()), line)?,
                    None => self.u.open(Class::Number),
                };
                self.types.insert(e.id, ty.clone());
                if let (Ty::Prim("i64"), true) = (&ty, *n > i128::from(i64::MAX)) {
                    return wrong(line, format!("{n} is no i64"));
                }
                plain(ty)
            }
            Kind::Float(_, suffix) => {
                let ty = match suffix {
                    Some(s) => self.ty(&Type::Name(s.clone()), line)?,
                    None => self.u.open(Class::Float),
                };
                self.types.insert(e.id, ty.clone());
                plain(ty)
            }
            Kind::Section(op) => {
                let t = self.u.open(Class::Any);
                let result = self.operator(line, op, &t)?;
                plain(Ty::function(t.clone(), Ty::function(t, result)))
            }
            Kind::Unary(op, a) => {
                let v = self.exp(a)?;
                let boolean = *op == '!' && self.u.ty(&v.ty) == Ty::BOOL;
                if !boolean && !self.u.require(&v.ty, Class::Number) {
                    return wrong(line, format!("`{op}` of {}", self.u.ty(&v.ty)));
                }
                plain(v.ty)
            }
            Kind::Binary(op, a, b) if op == "++" => {
                let (a, b) = (self.exp(a)?, self.exp(b)?);
                let t = self.u.open(Class::Any);
                let (n, m) = (self.u.open_size(), self.u.open_size());
                let array = |n: &Size| Ty::Array(n.clone(), Box::new(t.clone()));
                self.equal(line, &a.ty, &array(&n), "the left side of `++`")?;
                self.equal(line, &b.ty, &array(&m), "the right side of `++`")?;
                plain(Ty::Array(Size::Op("+".into(), Box::new(n), Box::new(m)), Box::new(t)))
            }
            Kind::Binary(op, a, b) => {
                let (a, b) = (self.exp(a)?, self.exp(b)?);
                let result = self.operator(line, op, &a.ty)?;
                self.equal(line, &b.ty, &a.ty, &format!("the right side of `{op}`"))?;
                plain(result)
            }
            Kind::Apply(f, args) => self.apply(e, f, args),
            Kind::If(c, a, b) => {
                let c = self.exp(c)?;
                self.equal(line, &c.ty, &Ty::BOOL, "a condition")?;
                let before = self.consumed.clone();
                let a = self.exp(a)?;
                let after = std::mem::replace(&mut self.consumed, before);
                let b = self.exp(b)?;
                self.consumed.extend(after);
                // What a branch writes over is not what the other one gives, where both are of one variable.
                let aliases =
                    a.aliases.union(&b.aliases).filter(|v| !self.consumed.contains(v)).copied().collect();
                match self.u.join(&a.ty, &b.ty) {
                    Some(ty) => Ok(Value { ty, aliases }),
                    None => {
                        let (a, b) = (self.u.ty(&a.ty), self.u.ty(&b.ty));
                        wrong(line, format!("the branches are of types {a} and {b}"))
                    }
                }
            }
            Kind::Lambda(params, body) => {
                let (types, result) = self.function(params, None, body, line)?;
                plain(types.into_iter().rev().fold(result, |r, t| Ty::function(t, r)))
            }
            Kind::LetFun { name, params, result, value, body } => {
                let (types, result) = self.function(params, result.as_ref(), value, line)?;
                let ty = types.into_iter().rev().fold(result, |r, t| Ty::function(t, r));
                self.bind(name, ty, Aliases::new(), false);
                let v = self.exp(body)?;
                self.unbind(name);
                Ok(v)
            }
            Kind::Let { sizes, pat, value, body } => self.binding(line, sizes, pat, value, body),
            Kind::Loop { pat, start, form, body } => self.repeat(line, pat, (start, form, body)),
            Kind::Index(array, places) => {
                let a = self.exp(array)?;
                self.types.insert(array.id, a.ty.clone());
                let ty = self.indexed(line, &a.ty, places)?;
                let aliases = if self.is_scalar(&ty) { Aliases::new() } else { a.aliases };
                Ok(Value { ty, aliases })
            }
            Kind::Tuple(parts) => {
                let (mut types, mut aliases) = (Vec::new(), Aliases::new());
                for p in parts {
                    let v = self.exp(p)?;
                    types.push(v.ty);
                    aliases.extend(v.aliases);
                }
                Ok(Value { ty: Ty::Tuple(types), aliases })
            }
            Kind::Array(parts) => {
                let Some((first, rest)) = parts.split_first() else {
                    return wrong(line, "an empty array does not say what it is of");
                };
                let first = self.exp(first)?;
                for p in rest {
                    let v = self.exp(p)?;
                    self.equal(p.line, &v.ty, &first.ty, "an element")?;
                }
                plain(Ty::Array(Size::Literal(parts.len() as i64), Box::new(first.ty)))
            }
            Kind::Coerce(a, t) => {
                let v = self.exp(a)?;
                let ty = self.ty(t, line)?;
                if !self.u.same_elements(&v.ty, &ty) {
                    return wrong(line, format!("{} cannot become {ty}", self.u.ty(&v.ty)));
                }
                self.types.insert(e.id, ty.clone());
                Ok(Value { ty, aliases: v.aliases })
            }
            Kind::Ascribe(a, t) => {
                let v = self.exp(a)?;
                let ty = self.ty(t, line)?;
                self.equal(line, &v.ty, &ty, "what has a type written")?;
                Ok(v)
            }
            Kind::With(a, places, value) => {
                let a = self.exp(a)?;
                let value = self.exp(value)?;
                let cell = self.indexed(line, &a.ty, places)?;
                let slices = places.iter().any(|p| matches!(p, Place::Slice(..)));
                let fits = if slices {
                    self.u.same_elements(&value.ty, &cell)
                } else {
                    self.u.same(&value.ty, &cell)
                };
                if !fits {
                    let (v, c) = (self.u.ty(&value.ty), self.u.ty(&cell));
                    return wrong(line, format!("{v} is written where {c} is"));
                }
                if !a.aliases.is_disjoint(&value.aliases) {
                    return wrong(line, "what is written is a part of what it is written into");
                }
                self.consume(line, &a.aliases)?;
                plain(a.ty)
            }
        }
    }

    fn name(&mut self, line: usize, n: &str) -> S<Value> {
        let plain = |ty: Ty| Ok(Value { ty, aliases: Aliases::new() });
        if n == "true" || n == "false" {
            return plain(Ty::BOOL);
        }
        if let Some((module, name)) = n.split_once('.') {
            let known = PRIMS.contains(&module).then(|| qualified(module, name)).flatten();
            let Some(signature) = known else { return wrong(line, format!("there is no `{n}`")) };
            let scheme = self.prelude(&signature)?;
            return plain(scheme.ty);
        }
        match self.find(line, n)? {
            Entry::Global(s) => plain(self.instance(&s)),
            Entry::Local { id, ty, .. } => {
                let aliases: Aliases = std::iter::once(id).chain(self.vars[id].aliases.clone()).collect();
                if let Some(gone) = aliases.iter().find(|a| self.consumed.contains(a)) {
                    let gone = &self.vars[*gone].name;
                    return wrong(line, format!("`{n}` is used after `{gone}` was written over"));
                }
                let aliases = if self.is_scalar(&ty) { Aliases::new() } else { aliases };
                Ok(Value { ty, aliases })
            }
        }
    }

    /// The type that an operator gives for operands of this type.
    fn operator(&mut self, line: usize, op: &str, t: &Ty) -> S<Ty> {
        let class = match op {
            "&&" | "||" => {
                self.equal(line, t, &Ty::BOOL, &format!("an operand of `{op}`"))?;
                return Ok(Ty::BOOL);
            }
            "==" | "!=" => Class::Any,
            "&" | "|" | "^" | "<<" | ">>" => Class::Integer,
            _ => Class::Number,
        };
        if !self.u.require(t, class) || matches!(self.u.ty(t), Ty::Array(..) | Ty::Fun { .. }) {
            return wrong(line, format!("`{op}` of {}", self.u.ty(t)));
        }
        Ok(if matches!(op, "==" | "!=" | "<" | "<=" | ">" | ">=") { Ty::BOOL } else { t.clone() })
    }

    fn apply(&mut self, e: &Exp, f: &Exp, args: &[Exp]) -> S<Value> {
        let line = e.line;
        let f = self.exp(f)?;
        let mut ty = self.u.ty(&f.ty);
        let mut aliases = Aliases::new();
        // Functions last: by then the types of their parameters are known.
        let mut late: Vec<(Ty, &Exp)> = Vec::new();
        let mut own = false;
        for (k, a) in args.iter().enumerate() {
            if let Ty::Open(_) = ty {
                let (p, r) = (self.u.open(Class::Any), self.u.open(Class::Any));
                let open = Ty::function(p, r);
                self.equal(line, &ty, &open, "what is applied")?;
                ty = self.u.ty(&open);
            }
            let Ty::Fun { param, result, named, consumes, fresh } = ty.clone() else {
                return wrong(line, format!("an argument too many, number {}, for {ty}", k + 1));
            };
            if matches!(a.kind, Kind::Lambda(..)) {
                late.push((*param, a));
            } else {
                let v = self.exp(a)?;
                self.equal(a.line, &v.ty, &param, &format!("argument {}", k + 1))?;
                if let Some(open) = named {
                    let size = self.size(a);
                    if !self.u.same_size(&Size::Open(open), &size) {
                        return wrong(line, "a size that is given twice");
                    }
                }
                if consumes {
                    self.consume(a.line, &v.aliases)?;
                } else {
                    aliases.extend(v.aliases);
                }
            }
            own = fresh;
            ty = self.u.ty(&result);
        }
        for (param, a) in late {
            let v = self.lambda_for(a, &param)?;
            self.equal(a.line, &v, &param, "a function")?;
        }
        let ty = self.u.ty(&ty);
        if own || self.is_scalar(&ty) {
            aliases.clear();
        }
        self.types.insert(e.id, ty.clone());
        Ok(Value { ty, aliases })
    }
}
