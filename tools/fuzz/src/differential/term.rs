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

/// Dims between brackets.
pub fn bracket(dims: &[Dim]) -> String {
    let dims: Vec<String> = dims.iter().map(Dim::to_string).collect();
    format!("[{}]", dims.join(" "))
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ty {
    pub atom: BaseTy,
    pub dims: Vec<Dim>,
}

impl Ty {
    pub fn new(atom: BaseTy, dims: impl Into<Vec<Dim>>) -> Ty {
        Ty { atom, dims: dims.into() }
    }

    pub fn scalar(atom: BaseTy) -> Ty {
        Ty::new(atom, [])
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    pub fn with_atom(&self, atom: BaseTy) -> Ty {
        Ty::new(atom, self.dims.clone())
    }

    /// With an axis in front.
    pub fn of(&self, d: &Dim) -> Ty {
        Ty::new(self.atom, [&[d.clone()][..], &self.dims].concat())
    }

    pub fn framed(&self, frame: &[Dim]) -> Ty {
        Ty::new(self.atom, [frame, &self.dims].concat())
    }

    /// Without the first axis.
    pub fn item(&self) -> Ty {
        Ty::new(self.atom, self.dims.get(1..).unwrap_or_default())
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.dims.is_empty() {
            return f.write_str(self.atom.name());
        }
        write!(f, "[{}", self.atom.name())?;
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
