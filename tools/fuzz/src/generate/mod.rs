//! Well-typed programs made at random, and printed with more or fewer of their annotations.
//!
//! A program is built from its type: [`build`] is asked for an expression of a type and answers with a
//! literal, a variable, or a construct whose parts it asks for in turn. So every expression's type is
//! known without a checker, and the checker's answer, and the shape of the value, are compared with it.
//!
//! ```text
//! program ::= (define (f p …) e) … e
//! e ::= literal | x | (f e …) | (prim [op] e …) | ((λ (p …) e) e …) | ([op …] e e) | (~(r r)op e e)
//!     | [e …] | (let ((x e)) e) | (let (((f p …) e)) e) | (if e e e) | (: e τ)
//!     | (unbox boxes (x n) e) | (let-values (((x y) (values e e))) e)
//! ```
//!
//! Dims are 0 to 4, or a variable that an `unbox` opened. Every rank-polymorphic construct is used in a
//! way that leaves no choice, so that the meaning is the same in each grain of annotation.

mod build;
mod print;
pub mod shrink;

use std::fmt;

pub use print::{Annotations, Grain};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Atom {
    Int,
    Float,
    Bool,
    I32,
}

impl Atom {
    pub const ALL: [Atom; 4] = [Atom::Int, Atom::Float, Atom::Bool, Atom::I32];

    pub fn is_number(self) -> bool {
        self != Atom::Bool
    }

    pub fn name(self) -> &'static str {
        match self {
            Atom::Int => "int",
            Atom::Float => "float",
            Atom::Bool => "bool",
            Atom::I32 => "i32",
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Dim {
    Known(usize),
    /// Opened by an `unbox`.
    Var(String),
}

impl fmt::Display for Dim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Dim::Known(n) => write!(f, "{n}"),
            Dim::Var(v) => f.write_str(v),
        }
    }
}

pub type Dims = Vec<Dim>;

pub fn known(dims: &[usize]) -> Dims {
    dims.iter().map(|n| Dim::Known(*n)).collect()
}

/// The sizes, unless a dim is a variable.
pub fn sizes(dims: &[Dim]) -> Option<Vec<usize>> {
    dims.iter()
        .map(|d| match d {
            Dim::Known(n) => Some(*n),
            Dim::Var(_) => None,
        })
        .collect()
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ty {
    pub atom: Atom,
    pub dims: Dims,
}

impl Ty {
    pub fn new(atom: Atom, dims: impl Into<Dims>) -> Ty {
        Ty { atom, dims: dims.into() }
    }

    pub fn scalar(atom: Atom) -> Ty {
        Ty { atom, dims: vec![] }
    }

    pub fn rank(&self) -> usize {
        self.dims.len()
    }

    /// The type with `frame` in front.
    pub fn framed(&self, frame: &[Dim]) -> Ty {
        Ty { atom: self.atom, dims: [frame, &self.dims].concat() }
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

#[derive(Clone, PartialEq, Debug)]
pub struct Expr {
    pub ty: Ty,
    pub kind: Kind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Kind {
    /// As many numbers as the type's shape has places; how they are read is the atom type's.
    Literal(Vec<i64>),
    Var(String),
    App {
        func: Func,
        /// A function argument that comes first, as `reduce` has.
        op: Option<Func>,
        /// Text of an argument before and after the others: a shape or size, which must stay as it is.
        before: Option<String>,
        args: Vec<Expr>,
        after: Option<String>,
    },
    /// `[e …]`
    Bracket(Vec<Expr>),
    Let {
        name: String,
        value: Box<Expr>,
        body: Box<Expr>,
    },
    LetFn {
        name: String,
        fun: Box<Lambda>,
        body: Box<Expr>,
    },
    If {
        cond: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Annot(Box<Expr>),
    Unbox {
        boxes: Box<Boxes>,
        name: String,
        dim: String,
        body: Box<Expr>,
    },
    LetValues {
        names: [String; 2],
        values: [Box<Expr>; 2],
        body: Box<Expr>,
    },
}

/// What is opened by an `unbox`.
#[derive(Clone, PartialEq, Debug)]
pub enum Boxes {
    /// `(filter flags xs)`, with items of the given cell.
    Filter { flags: Expr, xs: Expr },
    /// A vector of boxed vectors of different lengths.
    Rows { atom: Atom, rows: Vec<Expr> },
}

#[derive(Clone, PartialEq, Debug)]
pub struct Lambda {
    pub params: Vec<Param>,
    pub body: Expr,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Param {
    pub name: String,
    pub ty: Ty,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Func {
    /// A name of the prelude with its instance; no types and no indices: it is monomorphic.
    Prim(&'static str, Instance),
    /// `~(r r)f`
    Rerank([usize; 2], &'static str, Instance),
    /// `[f g …]`
    Several(Vec<&'static str>, Instance),
    Lambda(Box<Lambda>),
    /// A definition, or a function bound by `let`.
    Named(String),
}

/// The types and indices of a prelude function, as an explicit application gives them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Instance {
    pub types: Vec<Atom>,
    pub indices: Vec<Ix>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ix {
    Dim(Dim),
    Shape(Dims),
}

#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    pub defs: Vec<(String, Lambda)>,
    pub body: Expr,
}

impl Program {
    pub fn ty(&self) -> &Ty {
        &self.body.ty
    }

    pub fn text(&self, grain: Grain) -> String {
        self.text_with(&Annotations::all(grain))
    }

    pub fn text_with(&self, annotations: &Annotations) -> String {
        unmarked(&print::program(self, annotations).0)
    }

    /// In how many places there can be an annotation.
    pub fn places(&self) -> usize {
        print::program(self, &Annotations::all(Grain::Explicit)).1
    }

    /// The explicit text with the `k`-th of the dims on which its shapes depend made larger by one; as
    /// many such texts as there are.
    pub fn wrong_texts(&self) -> Vec<String> {
        let marked = print::program(self, &Annotations::all(Grain::Explicit)).0;
        let at: Vec<usize> = marked.match_indices(print::CRITICAL).map(|(i, _)| i).collect();
        at.into_iter().map(|i| unmarked(&with_number(&marked, i, 1))).collect()
    }

    /// The text with something of a shape changed, most often so that it is wrong: an array literal without one
    /// of its items, a rank or a dim that is greater or less by one.
    pub fn doubtful_texts(&self, annotations: &Annotations) -> Vec<String> {
        let marked = print::program(self, annotations).0;
        let mut out = vec![];
        for (i, c) in marked.char_indices() {
            match c {
                print::CRITICAL | print::RANK => {
                    out.push(with_number(&marked, i, 1));
                    if !marked[i + 1..].starts_with('0') {
                        out.push(with_number(&marked, i, -1));
                    }
                }
                print::ITEM => out.push(without_item(&marked, i)),
                _ => {}
            }
        }
        out.iter().map(|text| unmarked(text)).collect()
    }
}

fn unmarked(text: &str) -> String {
    text.replace(print::MARKS, "")
}

/// The marked text with `by` added to the number after the mark at byte `at`.
fn with_number(marked: &str, at: usize, by: i64) -> String {
    let (before, tail) = (&marked[..at], &marked[at + 1..]);
    let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
    let n = tail[..digits].parse::<i64>().unwrap_or(0) + by;
    format!("{before}{n}{}", &tail[digits..])
}

/// The marked text without the item that begins at byte `at`.
fn without_item(marked: &str, at: usize) -> String {
    let mut open = 0;
    for (i, c) in marked[at..].char_indices() {
        match c {
            print::ITEM => open += 1,
            print::ITEM_END => open -= 1,
            _ => continue,
        }
        if open == 0 {
            return [&marked[..at], &marked[at + i..]].concat();
        }
    }
    marked.to_owned()
}

/// The program of a seed, of about `size` expressions.
pub fn program(seed: u64, size: usize) -> Program {
    build::program(seed, size)
}

impl Expr {
    pub fn new(ty: Ty, kind: Kind) -> Expr {
        Expr { ty, kind }
    }

    pub fn var(name: &str, ty: &Ty) -> Expr {
        Expr::new(ty.clone(), Kind::Var(name.to_owned()))
    }

    /// A literal of zeros.
    pub fn zeros(ty: &Ty) -> Option<Expr> {
        let n = sizes(&ty.dims)?.iter().product();
        Some(Expr::new(ty.clone(), Kind::Literal(vec![0; n])))
    }

    pub fn app(ty: Ty, func: Func, args: Vec<Expr>) -> Expr {
        Expr::new(ty, Kind::App { func, op: None, before: None, args, after: None })
    }

    pub fn children_mut(&mut self) -> Vec<&mut Expr> {
        fn of_func(f: &mut Func) -> Option<&mut Expr> {
            match f {
                Func::Lambda(l) => Some(&mut l.body),
                _ => None,
            }
        }
        match &mut self.kind {
            Kind::Literal(_) | Kind::Var(_) => vec![],
            Kind::App { func, op, args, .. } => {
                of_func(func).into_iter().chain(op.as_mut().and_then(of_func)).chain(args).collect()
            }
            Kind::Bracket(es) => es.iter_mut().collect(),
            Kind::Let { value, body, .. } => vec![value, body],
            Kind::LetFn { fun, body, .. } => vec![&mut fun.body, body],
            Kind::If { cond, then, otherwise } => vec![cond, then, otherwise],
            Kind::Annot(e) => vec![e],
            Kind::Unbox { boxes, body, .. } => match &mut **boxes {
                Boxes::Filter { flags, xs } => vec![flags, xs, body],
                Boxes::Rows { rows, .. } => rows.iter_mut().chain([&mut **body]).collect(),
            },
            Kind::LetValues { values: [a, b], body, .. } => vec![a, b, body],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_program() {
        for seed in 0..50 {
            assert_eq!(program(seed, 20), program(seed, 20));
        }
    }

    #[test]
    fn every_construct_occurs() {
        let text: String = (0..400).map(|s| program(s, 24).text(Grain::Explicit)).collect();
        for part in [
            "(reduce{",
            "(reduce/zero{",
            "(iscan{",
            "(iscan/zero{",
            "(scan/zero{",
            "(fold{",
            "(append{",
            "(reverse{",
            "(transpose{",
            "(rotate{",
            "(filter{",
            "(unbox ",
            "(boxes ",
            "(iota ",
            "(index{",
            "(length{",
            "(select{",
            "(if ",
            "(let ",
            "(let-values ",
            "(λ ",
            "((λ ",
            "(define (",
            "~(",
            "(array [0",
            "i32",
            "#t",
        ] {
            assert!(text.contains(part), "{part} does not occur");
        }
    }

    #[test]
    fn grains_differ_in_annotations_alone() {
        for seed in 0..50 {
            let p = program(seed, 20);
            assert!(!p.text(Grain::Bare).contains('\u{1}'));
            assert!(p.text(Grain::Bare).len() <= p.text(Grain::Ranks).len());
            assert!(p.text(Grain::Ranks).len() <= p.text(Grain::Explicit).len());
            assert!(shrink::well_scoped(&p), "{}", p.text(Grain::Explicit));
        }
    }
}
