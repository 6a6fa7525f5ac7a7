//! Types with sizes, and how they are made equal.
//!
//! A size is a literal, a variable in scope, an operation on such as it is written, or something *unknown* that
//! stands only for itself: the length of what `filter` gives, of a slice, of a branch whose sides differ. Two sizes
//! are equal if they are written alike; nothing is computed (`n + 1` is not `1 + n`).

use std::fmt;

#[derive(Clone, PartialEq, Debug)]
pub enum Size {
    Literal(i64),
    /// A variable of the program, by its number.
    Name(usize, String),
    Unknown(usize),
    /// To be found.
    Open(usize),
    Op(String, Box<Size>, Box<Size>),
}

#[derive(Clone, PartialEq, Debug)]
pub enum Ty {
    Prim(&'static str),
    Array(Size, Box<Ty>),
    Tuple(Vec<Ty>),
    /// The parameter may be a size of the result, by the number of its variable. A unique one is consumed.
    Fun {
        param: Box<Ty>,
        result: Box<Ty>,
        named: Option<usize>,
        consumes: bool,
        fresh: bool,
    },
    Open(usize),
    /// A type parameter of a definition.
    Rigid(String),
}

pub const PRIMS: [&str; 12] =
    ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool"];

/// What an open type may become.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Any,
    Number,
    Integer,
    Float,
}

impl Class {
    /// What is in both, if anything is.
    fn meet(self, other: Class) -> Option<Class> {
        match (self, other) {
            _ if self == other => Some(self),
            (Class::Any, c) | (c, Class::Any) => Some(c),
            (Class::Number, c) | (c, Class::Number) => Some(c),
            _ => None,
        }
    }
}

#[derive(Default)]
pub struct Unifier {
    types: Vec<(Option<Ty>, Class)>,
    sizes: Vec<Option<Size>>,
    unknowns: usize,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Literal(n) => write!(f, "{n}"),
            Size::Name(_, name) => f.write_str(name),
            Size::Unknown(k) => write!(f, "?{k}"),
            Size::Open(_) => f.write_str("_"),
            Size::Op(op, a, b) => write!(f, "({a} {op} {b})"),
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Prim(p) => f.write_str(p),
            Ty::Array(n, t) => write!(f, "[{n}]{t}"),
            Ty::Tuple(all) => {
                let all: Vec<String> = all.iter().map(Ty::to_string).collect();
                write!(f, "({})", all.join(", "))
            }
            Ty::Fun { param, result, .. } => write!(f, "({param} -> {result})"),
            Ty::Open(_) => f.write_str("_"),
            Ty::Rigid(name) => f.write_str(name),
        }
    }
}

impl Ty {
    pub const I64: Ty = Ty::Prim("i64");
    pub const BOOL: Ty = Ty::Prim("bool");

    pub fn function(param: Ty, result: Ty) -> Ty {
        let (param, result) = (Box::new(param), Box::new(result));
        Ty::Fun { param, result, named: None, consumes: false, fresh: false }
    }
}

impl Unifier {
    pub fn open(&mut self, class: Class) -> Ty {
        self.types.push((None, class));
        Ty::Open(self.types.len() - 1)
    }

    pub fn open_size(&mut self) -> Size {
        self.sizes.push(None);
        Size::Open(self.sizes.len() - 1)
    }

    pub fn unknown(&mut self) -> Size {
        self.unknowns += 1;
        Size::Unknown(self.unknowns)
    }

    /// How many unknown sizes there have been: what comes later is newer.
    pub fn mark(&self) -> usize {
        self.unknowns
    }

    pub fn size(&self, s: &Size) -> Size {
        match s {
            Size::Open(k) => match &self.sizes[*k] {
                Some(known) => self.size(known),
                None => s.clone(),
            },
            Size::Op(op, a, b) => Size::Op(op.clone(), Box::new(self.size(a)), Box::new(self.size(b))),
            _ => s.clone(),
        }
    }

    /// A type with all that is known of it.
    pub fn ty(&self, t: &Ty) -> Ty {
        match t {
            Ty::Open(k) => match &self.types[*k].0 {
                Some(known) => self.ty(known),
                None => t.clone(),
            },
            Ty::Array(n, t) => Ty::Array(self.size(n), Box::new(self.ty(t))),
            Ty::Tuple(all) => Ty::Tuple(all.iter().map(|t| self.ty(t)).collect()),
            Ty::Fun { param, result, named, consumes, fresh } => Ty::Fun {
                param: Box::new(self.ty(param)),
                result: Box::new(self.ty(result)),
                named: *named,
                consumes: *consumes,
                fresh: *fresh,
            },
            _ => t.clone(),
        }
    }

    pub fn same_size(&mut self, a: &Size, b: &Size) -> bool {
        let (a, b) = (self.size(a), self.size(b));
        match (&a, &b) {
            _ if a == b => true,
            (Size::Open(k), other) | (other, Size::Open(k)) => {
                self.sizes[*k] = Some(other.clone());
                true
            }
            (Size::Op(p, a, b), Size::Op(q, c, d)) => p == q && self.same_size(a, c) && self.same_size(b, d),
            _ => false,
        }
    }

    /// Makes two types equal, as far as that can be.
    pub fn same(&mut self, a: &Ty, b: &Ty) -> bool {
        let (a, b) = (self.ty(a), self.ty(b));
        match (&a, &b) {
            (Ty::Open(j), Ty::Open(k)) => {
                if j != k {
                    let Some(class) = self.types[*j].1.meet(self.types[*k].1) else { return false };
                    self.types[*k].1 = class;
                    self.types[*j].0 = Some(b);
                }
                true
            }
            (Ty::Open(k), t) | (t, Ty::Open(k)) => {
                let class = self.types[*k].1;
                if !fits(t, class) || self.mentions(t, *k) {
                    return false;
                }
                self.types[*k].0 = Some(t.clone());
                true
            }
            (Ty::Array(n, t), Ty::Array(m, u)) => self.same_size(n, m) && self.same(t, u),
            (Ty::Tuple(all), Ty::Tuple(others)) => {
                all.len() == others.len() && all.iter().zip(others).all(|(t, u)| self.same(t, u))
            }
            (Ty::Fun { param: p, result: r, .. }, Ty::Fun { param: q, result: s, .. }) => {
                self.same(p, q) && self.same(r, s)
            }
            _ => a == b,
        }
    }

    fn mentions(&self, t: &Ty, k: usize) -> bool {
        match self.ty(t) {
            Ty::Open(j) => j == k,
            Ty::Array(_, t) => self.mentions(&t, k),
            Ty::Tuple(all) => all.iter().any(|t| self.mentions(t, k)),
            Ty::Fun { param, result, .. } => self.mentions(&param, k) || self.mentions(&result, k),
            _ => false,
        }
    }

    /// The type of two branches: where their sizes differ, it is unknown.
    pub fn join(&mut self, a: &Ty, b: &Ty) -> Option<Ty> {
        let (a, b) = (self.ty(a), self.ty(b));
        match (&a, &b) {
            (Ty::Array(n, t), Ty::Array(m, u)) => {
                let inner = self.join(t, u)?;
                let size = if self.same_size(n, m) { n.clone() } else { self.unknown() };
                Some(Ty::Array(size, Box::new(inner)))
            }
            (Ty::Tuple(all), Ty::Tuple(others)) if all.len() == others.len() => {
                let all = all.iter().zip(others).map(|(t, u)| self.join(t, u));
                Some(Ty::Tuple(all.collect::<Option<_>>()?))
            }
            _ => self.same(&a, &b).then_some(a),
        }
    }

    /// The same type but for its sizes, as a coercion wants it.
    pub fn same_elements(&mut self, a: &Ty, b: &Ty) -> bool {
        let (a, b) = (self.ty(a), self.ty(b));
        match (&a, &b) {
            (Ty::Array(_, t), Ty::Array(_, u)) => self.same_elements(t, u),
            (Ty::Tuple(all), Ty::Tuple(others)) => {
                all.len() == others.len() && all.iter().zip(others).all(|(t, u)| self.same_elements(t, u))
            }
            _ => self.same(&a, &b),
        }
    }

    /// Literals that nothing else decides: `i32` and `f64`.
    pub fn settle(&mut self) {
        for (known, class) in &mut self.types {
            if known.is_none() {
                *known = match class {
                    Class::Any => None,
                    Class::Number | Class::Integer => Some(Ty::Prim("i32")),
                    Class::Float => Some(Ty::Prim("f64")),
                };
            }
        }
    }

    /// A type of this class, if it can be one.
    pub fn require(&mut self, t: &Ty, class: Class) -> bool {
        match self.ty(t) {
            Ty::Open(k) => {
                let met = self.types[k].1.meet(class);
                met.inspect(|met| self.types[k].1 = *met).is_some()
            }
            t => fits(&t, class),
        }
    }
}

fn fits(t: &Ty, class: Class) -> bool {
    match (class, t) {
        (Class::Any, _) => true,
        (Class::Number, Ty::Prim(p)) => *p != "bool",
        (Class::Float, Ty::Prim(p)) => p.starts_with('f'),
        (Class::Integer, Ty::Prim(p)) => p.starts_with(['i', 'u']),
        _ => false,
    }
}

/// Every size of a type.
pub fn sizes_in(t: &Ty, f: &mut impl FnMut(&Size)) {
    match t {
        Ty::Array(n, t) => {
            each(n, f);
            sizes_in(t, f);
        }
        Ty::Tuple(all) => all.iter().for_each(|t| sizes_in(t, f)),
        Ty::Fun { param, result, .. } => {
            sizes_in(param, f);
            sizes_in(result, f);
        }
        _ => {}
    }
}

fn each(n: &Size, f: &mut impl FnMut(&Size)) {
    f(n);
    if let Size::Op(_, a, b) = n {
        each(a, f);
        each(b, f);
    }
}

/// A type with other sizes, and type parameters.
pub fn replaced(
    t: &Ty,
    size: &mut impl FnMut(&Size) -> Option<Size>,
    ty: &mut impl FnMut(&Ty) -> Option<Ty>,
) -> Ty {
    if let Some(other) = ty(t) {
        return other;
    }
    match t {
        Ty::Array(n, t) => Ty::Array(replaced_size(n, size), Box::new(replaced(t, size, ty))),
        Ty::Tuple(all) => Ty::Tuple(all.iter().map(|t| replaced(t, size, ty)).collect()),
        Ty::Fun { param, result, named, consumes, fresh } => Ty::Fun {
            param: Box::new(replaced(param, size, ty)),
            result: Box::new(replaced(result, size, ty)),
            named: *named,
            consumes: *consumes,
            fresh: *fresh,
        },
        _ => t.clone(),
    }
}

fn replaced_size(n: &Size, size: &mut impl FnMut(&Size) -> Option<Size>) -> Size {
    if let Some(other) = size(n) {
        return other;
    }
    match n {
        Size::Op(op, a, b) => {
            Size::Op(op.clone(), Box::new(replaced_size(a, size)), Box::new(replaced_size(b, size)))
        }
        _ => n.clone(),
    }
}
