//! The syntax of the part of Futhark that is checked here.
//!
//! ```text
//! program ::= def …
//! def     ::= ("def" | "entry") x ("[" x "]" | "'" x) … pat … (":" t)? "=" e
//! pat     ::= "_" | x | "(" pat ":" t ")" | "(" pat "," pat … ")"
//! t       ::= "*" t | "[" e? "]" t | x | "(" t "," t … ")" | t "->" t
//! e       ::= "let" ("[" x "]") … pat "=" e "in"? e | "let" x pat … (":" t)? "=" e "in"? e
//!           | "if" e "then" e "else" e | "\" pat … "->" e
//!           | "loop" pat "=" e ("for" x "<" e | "while" e) "do" e
//!           | "#[" "opaque" "]" e
//!           | infix (":>" t | ":" t | "with" "[" e … "]" "=" e)?
//! infix   ::= infix op infix | "-" infix | "!" infix | atom atom …
//! atom    ::= x | x "." x | number | "(" e "," … ")" | "(" op ")" | "[" e "," … "]" | atom "[" place "," … "]"
//! place   ::= e | e ":" e
//! ```
//!
//! Operators bind as the language reference says: application first, then unary operators, `**`, `* / %`, `+ -`
//! and `++`, shifts, the bitwise ones, comparisons, `&&`, `||`, and `:>` last. A bracket is an index only where no
//! space stands before it.

/// An expression; `id` is its number in the program, for what is said of it elsewhere.
#[derive(Clone, Debug)]
pub struct Exp {
    pub id: usize,
    pub line: usize,
    pub kind: Kind,
}

#[derive(Clone, Debug)]
pub enum Kind {
    Name(String),
    Int(i128, Option<String>),
    Float(f64, Option<String>),
    Section(String),
    Apply(Box<Exp>, Vec<Exp>),
    Unary(char, Box<Exp>),
    Binary(String, Box<Exp>, Box<Exp>),
    If(Box<Exp>, Box<Exp>, Box<Exp>),
    Lambda(Vec<Pat>, Box<Exp>),
    Let { sizes: Vec<String>, pat: Pat, value: Box<Exp>, body: Box<Exp> },
    LetFun { name: String, params: Vec<Pat>, result: Option<Type>, value: Box<Exp>, body: Box<Exp> },
    Loop { pat: Pat, start: Box<Exp>, form: Form, body: Box<Exp> },
    Index(Box<Exp>, Vec<Place>),
    Tuple(Vec<Exp>),
    Array(Vec<Exp>),
    Coerce(Box<Exp>, Type),
    Ascribe(Box<Exp>, Type),
    With(Box<Exp>, Vec<Place>, Box<Exp>),
}

impl Exp {
    /// The expressions that it is made of, those of sizes in types left out.
    pub fn parts(&self) -> Vec<&Exp> {
        fn places(all: &[Place]) -> Vec<&Exp> {
            fn one(p: &Place) -> Vec<&Exp> {
                match p {
                    Place::At(x) => vec![x],
                    Place::Slice(x, y) => vec![x, y],
                }
            }
            all.iter().flat_map(one).collect()
        }
        match &self.kind {
            Kind::Name(_) | Kind::Int(..) | Kind::Float(..) | Kind::Section(_) => Vec::new(),
            Kind::Apply(f, args) => std::iter::once(&**f).chain(args).collect(),
            Kind::Unary(_, a) | Kind::Lambda(_, a) | Kind::Coerce(a, _) | Kind::Ascribe(a, _) => vec![a],
            Kind::Binary(_, a, b) => vec![a, b],
            Kind::If(a, b, c) => vec![a, b, c],
            Kind::Let { value, body, .. } | Kind::LetFun { value, body, .. } => vec![value, body],
            Kind::Loop { start, form, body, .. } => match form {
                Form::For(_, n) => vec![start, n, body],
                Form::While(c) => vec![start, c, body],
            },
            Kind::Index(a, at) => std::iter::once(&**a).chain(places(at)).collect(),
            Kind::With(a, at, b) => std::iter::once(&**a).chain(places(at)).chain([&**b]).collect(),
            Kind::Tuple(all) | Kind::Array(all) => all.iter().collect(),
        }
    }

    /// Whether a name that `f` accepts is mentioned, a part of a type included.
    pub fn mentions(&self, f: &dyn Fn(&str) -> bool) -> bool {
        fn in_type(t: &Type, f: &dyn Fn(&str) -> bool) -> bool {
            match t {
                Type::Name(_) => false,
                Type::Array(size, t) => size.as_ref().is_some_and(|e| e.mentions(f)) || in_type(t, f),
                Type::Tuple(all) => all.iter().any(|t| in_type(t, f)),
                Type::Fun(_, a, b) => in_type(a, f) || in_type(b, f),
                Type::Unique(t) => in_type(t, f),
            }
        }
        let own = match &self.kind {
            Kind::Name(n) => f(n),
            Kind::Coerce(_, t) | Kind::Ascribe(_, t) => in_type(t, f),
            _ => false,
        };
        own || self.parts().into_iter().any(|e| e.mentions(f))
    }
}

impl Pat {
    /// The names that it binds.
    pub fn names(&self) -> Vec<&str> {
        match self {
            Pat::Wild => Vec::new(),
            Pat::Name(n) => vec![n],
            Pat::Typed(p, _) => p.names(),
            Pat::Tuple(all) => all.iter().flat_map(Pat::names).collect(),
        }
    }
}

#[derive(Clone, Debug)]
pub enum Form {
    For(String, Box<Exp>),
    While(Box<Exp>),
}

#[derive(Clone, Debug)]
pub enum Place {
    At(Exp),
    Slice(Exp, Exp),
}

#[derive(Clone, Debug)]
pub enum Pat {
    Wild,
    Name(String),
    Typed(Box<Pat>, Type),
    Tuple(Vec<Pat>),
}

#[derive(Clone, Debug)]
pub enum Type {
    Name(String),
    /// Without a size, any.
    Array(Option<Box<Exp>>, Box<Type>),
    Tuple(Vec<Type>),
    /// The parameter may have a name, which is a size.
    Fun(Option<String>, Box<Type>, Box<Type>),
    Unique(Box<Type>),
}

#[derive(Clone, Debug)]
pub struct Def {
    pub entry: bool,
    pub name: String,
    pub sizes: Vec<String>,
    pub types: Vec<String>,
    pub params: Vec<Pat>,
    pub result: Option<Type>,
    pub body: Exp,
    pub line: usize,
}

/// What is wrong with a text.
#[derive(Clone, PartialEq, Debug)]
pub struct Wrong {
    pub line: usize,
    pub message: String,
}

impl std::fmt::Display for Wrong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

pub type S<T> = Result<T, Wrong>;

pub fn wrong<T>(line: usize, message: impl Into<String>) -> S<T> {
    Err(Wrong { line, message: message.into() })
}
