//! Terms: text with holes, each of a known type.
//!
//! A term's template is source text in which every `§` is the place of a part. The generator and the
//! shrinker need to know types and what floats may hold, and nothing about the forms themselves.

use remc_base::BaseTy;
use std::fmt;

/// A dim of the generated program. Equal dims are written alike; the compiler equates more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dim {
    Known(usize),
    /// An index of the entry, or what an `unbox` opened.
    Var(String),
    /// `(+ d k)`, or `(- d k)` of a negative `k`.
    Plus(Box<Dim>, i64),
    /// `(+ d d)` and `(* d d)`
    Sum(Box<Dim>, Box<Dim>),
    Product(Box<Dim>, Box<Dim>),
}

impl Dim {
    pub fn plus(self, k: i64) -> Dim {
        match self {
            d if k == 0 => d,
            Dim::Known(n) => Dim::Known((n as i64 + k).max(0) as usize),
            Dim::Plus(d, j) => d.plus(j + k),
            d => Dim::Plus(Box::new(d), k),
        }
    }

    pub fn sum(a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (Dim::Known(n), d) | (d, Dim::Known(n)) => d.plus(n as i64),
            (a, b) if a.to_string() <= b.to_string() => Dim::Sum(Box::new(a), Box::new(b)),
            (a, b) => Dim::Sum(Box::new(b), Box::new(a)),
        }
    }

    pub fn product(a: Dim, b: Dim) -> Dim {
        match (a, b) {
            (Dim::Known(n), Dim::Known(m)) => Dim::Known(n * m),
            (Dim::Known(1), d) | (d, Dim::Known(1)) => d,
            (a, b) if a.to_string() <= b.to_string() => Dim::Product(Box::new(a), Box::new(b)),
            (a, b) => Dim::Product(Box::new(b), Box::new(a)),
        }
    }
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(n) => write!(f, "{n}"),
            Dim::Var(v) => f.write_str(v),
            Dim::Plus(d, k) if *k < 0 => write!(f, "(- {d} {})", -k),
            Dim::Plus(d, k) => write!(f, "(+ {d} {k})"),
            Dim::Sum(a, b) => write!(f, "(+ {a} {b})"),
            Dim::Product(a, b) => write!(f, "(* {a} {b})"),
        }
    }
}

impl Dim {
    /// The same with another dim in a variable's place.
    pub fn with(&self, name: &str, d: &Dim) -> Dim {
        match self {
            Dim::Known(n) => Dim::Known(*n),
            Dim::Var(v) if v == name => d.clone(),
            Dim::Var(_) => self.clone(),
            Dim::Plus(a, k) => a.with(name, d).plus(*k),
            Dim::Sum(a, b) => Dim::sum(a.with(name, d), b.with(name, d)),
            Dim::Product(a, b) => Dim::product(a.with(name, d), b.with(name, d)),
        }
    }

    pub fn mentions(&self, name: &str) -> bool {
        match self {
            Dim::Known(_) => false,
            Dim::Var(v) => v == name,
            Dim::Plus(d, _) => d.mentions(name),
            Dim::Sum(a, b) | Dim::Product(a, b) => a.mentions(name) || b.mentions(name),
        }
    }
}

/// Dims between brackets.
pub fn bracket(dims: &[Dim]) -> String {
    let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
    format!("[{}]", dims.join(" "))
}

/// The type of an array: of numbers, or of boxes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ty {
    /// Of boxes, what the innermost hold.
    pub atom: BaseTy,
    pub dims: Vec<Dim>,
    pub boxed: Option<Box<Sigma>>,
}

/// The type of a box: `(Σ (index …) body)`. Indices are named by how deep boxes are nested in the body, so
/// that equal types are written alike.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sigma {
    pub indices: Vec<String>,
    pub body: Ty,
}

/// What the names of hidden indices begin with; no other dim's does.
pub const HIDDEN: char = 'j';

impl Sigma {
    /// The type of the contents, their sizes having these names.
    pub fn opened(&self, dims: &[Dim]) -> Ty {
        self.indices.iter().zip(dims).fold(self.body.clone(), |ty, (i, d)| ty.with_dim(i, d))
    }

    /// The dim that the contents' first axis alone has, if that is all that is hidden.
    pub fn is_vector(&self) -> bool {
        let [index] = self.indices.as_slice() else { return false };
        let [first, rest @ ..] = self.body.dims.as_slice() else { return false };
        *first == Dim::Var(index.clone())
            && rest.iter().all(|d| !d.mentions(index))
            && self.body.boxed.as_ref().is_none_or(|s| !s.body.mentions(index))
    }
}

impl Ty {
    pub fn new(atom: BaseTy, dims: impl Into<Vec<Dim>>) -> Ty {
        Ty { atom, dims: dims.into(), boxed: None }
    }

    pub fn scalar(atom: BaseTy) -> Ty {
        Ty::new(atom, [])
    }

    /// A box of this, which hides these dim variables.
    pub fn hiding(&self, names: &[&str]) -> Ty {
        let depth = self.depth() + 1;
        let letters = ["", "a", "b"];
        let mut body = self.clone();
        let mut indices = vec![];
        for (name, letter) in names.iter().zip(letters) {
            let index = format!("{HIDDEN}{depth}{letter}");
            body = body.with_dim(name, &Dim::Var(index.clone()));
            indices.push(index);
        }
        Ty { atom: self.atom, dims: vec![], boxed: Some(Box::new(Sigma { indices, body })) }
    }

    /// How deep boxes are nested.
    fn depth(&self) -> usize {
        self.boxed.as_ref().map_or(0, |s| 1 + s.body.depth())
    }

    pub fn is_boxed(&self) -> bool {
        self.boxed.is_some()
    }

    /// The same with another dim in a variable's place.
    pub fn with_dim(&self, name: &str, d: &Dim) -> Ty {
        let boxed = self.boxed.as_ref().map(|s| {
            let Sigma { indices, body } = &**s;
            Box::new(Sigma { indices: indices.clone(), body: body.with_dim(name, d) })
        });
        Ty { atom: self.atom, dims: self.dims.iter().map(|x| x.with(name, d)).collect(), boxed }
    }

    pub fn mentions(&self, name: &str) -> bool {
        self.dims.iter().any(|d| d.mentions(name))
            || self.boxed.as_ref().is_some_and(|s| s.body.mentions(name))
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// Numbers of another type in the same shape.
    pub fn with_atom(&self, atom: BaseTy) -> Ty {
        Ty::new(atom, self.dims.clone())
    }

    /// The same elements in another shape.
    pub fn shaped(&self, dims: impl Into<Vec<Dim>>) -> Ty {
        Ty { atom: self.atom, dims: dims.into(), boxed: self.boxed.clone() }
    }

    /// With an axis in front.
    pub fn of(&self, d: &Dim) -> Ty {
        self.shaped([&[d.clone()][..], &self.dims].concat())
    }

    pub fn framed(&self, frame: &[Dim]) -> Ty {
        self.shaped([frame, &self.dims].concat())
    }

    /// Without the first axis.
    pub fn item(&self) -> Ty {
        self.shaped(self.dims.get(1..).unwrap_or_default())
    }

    /// The type of an element, as it is written.
    pub fn element(&self) -> String {
        match &self.boxed {
            None => self.atom.name().to_owned(),
            Some(s) => format!("(Σ ({}) {})", s.indices.join(" "), s.body),
        }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dims.is_empty() {
            return f.write_str(&self.element());
        }
        write!(f, "[{}", self.element())?;
        self.dims.iter().try_for_each(|d| write!(f, " {d}"))?;
        f.write_str("]")
    }
}

/// What is known of the numbers in an array, which decides how devices are compared on what is made of
/// them. `NaN` is always possible.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Info {
    /// No number has a fraction or is infinite.
    pub whole: bool,
    /// No number is greater, but for its sign.
    pub most: f64,
}

impl Info {
    pub const ANY: Info = Info { whole: false, most: f64::INFINITY };

    pub fn whole(most: f64) -> Info {
        Info { whole: true, most }
    }

    /// Of a type, whatever the number.
    pub fn of(ty: BaseTy) -> Info {
        match ty.integer_range() {
            Some((low, high)) => Info::whole((high.max(-low)) as f64),
            None if ty.is_float() => Info::ANY,
            None => Info::whole(f64::from(0x10_ffff)),
        }
    }

    /// The same after it was rounded, or wrapped, to the type.
    pub fn fit(self, ty: BaseTy) -> Info {
        if ty.is_float() {
            Info { whole: self.whole && self.most <= exact_to(ty), ..self }
        } else if self.most > Info::of(ty).most || self.most.is_nan() {
            Info::of(ty)
        } else {
            self
        }
    }

    pub fn or(self, other: Info) -> Info {
        Info { whole: self.whole && other.whole, most: self.most.max(other.most) }
    }

    /// Whether this says no less.
    pub fn within(self, other: Info) -> bool {
        self.most <= other.most && (self.whole || !other.whole)
    }
}

/// Every whole number up to this one is one of the float type.
pub fn exact_to(ty: BaseTy) -> f64 {
    match ty {
        BaseTy::F16 => 2048.0,
        BaseTy::F32 => f64::from(1 << 24),
        _ => (1u64 << 53) as f64,
    }
}

#[derive(Clone, PartialEq, Debug)]
pub struct Term {
    pub ty: Ty,
    pub info: Info,
    template: String,
    pub parts: Vec<Term>,
}

impl Term {
    pub fn new(ty: Ty, info: Info, template: impl Into<String>, parts: Vec<Term>) -> Term {
        Term { ty, info, template: template.into(), parts }
    }

    /// `(head part …)`
    pub fn call(ty: Ty, info: Info, head: &str, parts: Vec<Term>) -> Term {
        let holes = " §".repeat(parts.len());
        Term::new(ty, info, format!("({head}{holes})"), parts)
    }

    pub fn leaf(ty: Ty, info: Info, text: impl Into<String>) -> Term {
        Term::new(ty, info, text, vec![])
    }

    pub fn text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut String) {
        let mut parts = self.parts.iter();
        for (i, text) in self.template.split('§').enumerate() {
            if i > 0
                && let Some(part) = parts.next()
            {
                part.write(out);
            }
            out.push_str(text);
        }
    }

    pub fn is_leaf(&self) -> bool {
        self.parts.is_empty()
    }
}

/// A number, truth value or character as it is written.
pub fn literal(atom: BaseTy, n: i64) -> String {
    match atom {
        BaseTy::Bool => if n & 1 == 1 { "#t" } else { "#f" }.to_owned(),
        BaseTy::Char => format!("#\\{}", char::from(b'a' + n.rem_euclid(26) as u8)),
        BaseTy::I64 => n.to_string(),
        BaseTy::F64 => format!("{n}.0"),
        BaseTy::F16 | BaseTy::F32 => format!("{n}.0{}", atom.name()),
        _ => {
            let n = if atom.is_signed() { n } else { n.abs() };
            format!("{n}{}", atom.name())
        }
    }
}
