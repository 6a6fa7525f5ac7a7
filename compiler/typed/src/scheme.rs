//! What one definition tells the others: its generalised type and how it is applied.

use remc_base::*;
use std::fmt;
use std::sync::Arc;

/// The interface of a top-level definition or primitive. Equal schemes mean that nothing that uses
/// the definition needs to be checked again, so a scheme holds no positions.
#[derive(Clone, PartialEq, Debug)]
pub struct Scheme {
    /// The closed type in Typed, without `Val` parameters; Π outside ∀.
    pub ty: ArrTy,
    /// Parameters of type `(Val i)`: their position among the parameters as written, ascending, and
    /// the index, over the Π variables of `ty`.
    pub vals: Vec<(usize, Index)>,
    /// Equalities over the Π variables that an application must satisfy.
    pub constraints: Vec<(Dim, Dim)>,
    /// The indices that an explicit index application gives: a Π variable each, or an index that the
    /// others decide.
    pub explicit: Vec<ExplicitIndex>,
    /// The value as a dim or shape, where it is known: of a value definition, or of the result of a
    /// function (over its Π variables) whose result type is `(Val i)`.
    pub known: Option<Index>,
    /// Whether uses of the known number take the type that their context wants: it is a number without a
    /// written type.
    pub adapts: bool,
    /// Parameter names, for messages.
    pub params: Vec<Name>,
    /// Of a function that takes parts of tuples of any type: `ty` is that of a function of the functions
    /// that take these out, which gives the function itself.
    pub parts: Vec<Part>,
    /// The positions of the Π variables that the value does not depend on.
    pub idle: Vec<usize>,
}

/// A component of a tuple, or a field of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Part {
    Position(u64),
    Label(Name),
}

impl Part {
    /// The position of the component, if the type is known and has it.
    pub fn position_in(&self, t: &AtomTy) -> Option<usize> {
        let AtomTy::Tuple(t) = t else { return None };
        match self {
            Part::Position(k) => usize::try_from(*k).ok().filter(|k| *k < t.fields.len()),
            Part::Label(l) => t.fields.iter().position(|(label, _)| label.as_ref() == Some(l)),
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Part::Position(k) => write!(f, "{k}"),
            Part::Label(l) => write!(f, "{l}"),
        }
    }
}

#[derive(Clone, PartialEq, Debug)]
pub enum ExplicitIndex {
    /// The Π variable at this position.
    Param(usize),
    /// Must equal this dim, over the Π variables.
    Derived(Name, Dim),
}

/// A `define-type`, expanded where it is used.
#[derive(Clone, PartialEq, Debug)]
pub struct TypeAlias {
    pub ty: ArrTy,
}

/// What a name means at top level.
#[derive(Clone, Debug)]
pub enum Resolved {
    Value {
        global: GlobalId,
        scheme: Arc<Scheme>,
    },
    /// The definition is wrong and has been reported; uses of it are not reported again.
    Failed(GlobalId),
    /// The definition uses itself, directly or through others (in the order of the calls).
    Recursive(Vec<GlobalId>),
}

/// The top-level names that an item sees: its module's definitions and imports, then the prelude.
pub trait Environment {
    fn value(&self, name: &Name) -> Option<Resolved>;
    fn type_alias(&self, name: &Name) -> Option<Result<Arc<TypeAlias>, ()>>;
    /// The prelude's definition of a name even where the program shadows it: what sugar and messages
    /// refer to.
    fn prelude(&self, name: &Name) -> Option<Resolved>;
    /// Every visible name, in order, for suggestions.
    fn names(&self) -> Arc<Vec<Name>>;
}

/// Names of the prelude with several uses, and the definitions of the others: which one an application
/// means is told by its arguments. `replicate` with two repeats items; the others have one count for each
/// axis, and as many axes as the vector of counts, where it is written out, has numbers. `sort` and `grade`
/// may take an order first: one of [`ORDERS`], or any function of two items.
pub const USES: &[(&str, &[&str])] = &[
    ("replicate", &["replicate/counts"]),
    ("take", &["take/2", "take/3"]),
    ("drop", &["drop/2", "drop/3"]),
    ("take-right", &["take-right/2", "take-right/3"]),
    ("drop-right", &["drop-right/2", "drop-right/3"]),
    ("tile", &["tile/2"]),
    ("sort", &["sort/down", "sort/by"]),
    ("grade", &["grade/down", "grade/by"]),
];

/// Names of the prelude that are the order of `sort` itself, of items of any type, where an order is taken; and
/// whether they go down.
pub const ORDERS: &[(&str, bool)] = &[
    ("<", false),
    ("<=", false),
    (">", true),
    (">=", true),
    ("<.", false),
    ("<=.", false),
    (">.", true),
    (">=.", true),
    ("char<?", false),
    ("lex<", false),
    ("lex>", true),
];

/// Functions of the prelude of two arguments that take more, grouped from the left: all are associative.
pub const GROUPED: &[&str] = &[
    "+", "*", "+.", "*.", "and", "or", "xor", "max2", "min2", "gcd", "bit-and", "bit-or", "bit-xor", "append",
];
