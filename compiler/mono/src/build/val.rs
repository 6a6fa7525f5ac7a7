//! What an expression of Explicit is while a program is built: atoms of Mono, and what has no atoms.
//!
//! A function has the environment where it was made, which has values, and what is stored flat may be functions: so
//! environments ([`super::env`]) and arrays of boxes ([`super::ragged`]) are here as data.

use crate::build::prim::Prim;
use crate::ir::{Atom, Var};
use remc_base::ops::ScalarOp;
use remc_base::{ArrTy, AtomTy, GlobalId, Index, Subst, VarId};
use remc_explicit::ir::Expr;
use rpds::RedBlackTreeMap;
use std::rc::Rc;

/// A value of the program under construction. Dims in indices and types are polynomials over variables
/// of Mono, see [`Env`].
#[derive(Clone)]
pub(crate) enum Val<'a> {
    /// An array of base type.
    Base(Atom),
    /// An array, of shape `frame`, of tuples: each field has the frame in front.
    Tuple { frame: Vec<Atom>, fields: Rc<[Val<'a>]> },
    /// One box.
    Box(Rc<Boxed<'a>>),
    /// An array of boxes that are all known one by one; `ty` is their closed type.
    Boxes { dims: Vec<usize>, ty: AtomTy, elems: Rc<[Val<'a>]> },
    /// An array of boxes that is stored flat.
    Ragged(Rc<Ragged<'a>>),
    /// An array, of shape `dims`, of functions: the static part, and arrays with the dims in front, as
    /// [`Table::types`] says. See [`crate::build::function`].
    Fns { dims: Vec<Atom>, table: Rc<Table<'a>>, fields: Rc<[Val<'a>]> },
}

pub(crate) struct Boxed<'a> {
    /// The closed type of the box, a Σ.
    pub ty: AtomTy,
    pub witnesses: Vec<Index>,
    pub contents: Val<'a>,
}

/// The functions that an array of functions may hold, at least one.
pub(crate) struct Table<'a> {
    pub codes: Vec<Code<'a>>,
}

/// A function but for what fills its holes.
#[derive(Clone)]
pub(crate) struct Code<'a> {
    /// Mentions the variables of the holes in the place of what fills them.
    pub fun: Fun<'a>,
    /// None if there are none.
    pub holes: Option<Rc<Holes>>,
}

/// What a function mentions that each function of an array has for itself.
pub(crate) struct Holes {
    /// Those that are sizes of others come first.
    pub all: Rc<[Hole]>,
    /// The closed type of what fills them: a tuple of all, or a Σ of the sizes with a tuple of the others.
    pub ty: AtomTy,
}

#[derive(Clone, Copy)]
pub(crate) struct Hole {
    /// Stands for what fills the hole; bound by no statement.
    pub var: Var,
    /// It is an int that is never negative.
    pub natural: bool,
    /// It is an int that the program chose to be a size.
    pub chosen: bool,
}

#[derive(Clone)]
pub(crate) enum Fun<'a> {
    /// The function of an array that has no elements: nothing is ever applied.
    None,
    Op(ScalarOp),
    Prim(Rc<Instance>),
    /// A λ, Tλ or Iλ.
    Closure(Rc<Closure<'a>>),
    /// A function of arrays that are stored in another way.
    Restored(Rc<Restored<'a>>),
}

/// A function of the closed type `from` in the place of one of the type `to`, which differs in how shapes are
/// written alone: see [`crate::build::opaque`].
pub(crate) struct Restored<'a> {
    pub fun: Fun<'a>,
    pub from: AtomTy,
    pub to: AtomTy,
}

/// A primitive with the type and index arguments that it has so far.
#[derive(Clone, PartialEq)]
pub(crate) struct Instance {
    pub prim: Prim,
    pub types: Vec<AtomTy>,
    pub indices: Vec<Index>,
}

pub(crate) struct Closure<'a> {
    pub def: &'a GlobalId,
    pub lambda: &'a Expr,
    pub env: Env<'a>,
    /// How many of the parameters of a Tλ or Iλ are bound in `env` already.
    pub bound: usize,
}

/// What the variables in scope stand for. A clone shares what it was cloned from: a tree, of which binding a
/// variable copies one path.
#[derive(Clone)]
pub(crate) struct Env<'a> {
    pub values: RedBlackTreeMap<VarId, Val<'a>>,
    pub subst: Rc<Subst>,
}

/// An array of boxes.
#[derive(Clone)]
pub(crate) struct Ragged<'a> {
    pub frame: Vec<Atom>,
    /// The closed type of the boxes, a Σ.
    pub ty: AtomTy,
    /// Of each index that the boxes hide, its value in each box: arrays of ints of the frame's shape.
    pub witnesses: Vec<WitnessArrays>,
    pub contents: Part<'a>,
}

#[derive(Clone)]
pub(crate) enum WitnessArrays {
    Dim(Atom),
    /// Of each axis.
    Shape(Vec<Atom>),
    /// Of opaque shapes: their ranks and sizes, and their dims, stored as contents are.
    Opaque {
        ranks: Atom,
        sizes: Atom,
        dims: Stored,
    },
}

/// Vectors of elements, one for each box: those of each begin at its start in `data`.
#[derive(Clone, Copy)]
pub(crate) struct Stored {
    pub data: Atom,
    pub starts: Atom,
}

/// The contents of all boxes. `starts` are arrays of ints of the frame's shape.
#[derive(Clone)]
pub(crate) enum Part<'a> {
    /// The elements of each begin at its start in a vector of elements.
    Base {
        data: Atom,
        starts: Atom,
    },
    Tuple(Vec<Part<'a>>),
    /// One box in each box; of the same frame.
    Box(Rc<Ragged<'a>>),
    /// An array of boxes in each box: those from its start on of an array of boxes with one axis.
    Boxes {
        starts: Atom,
        inner: Rc<Ragged<'a>>,
    },
    /// Functions; the parts are the fields, as [`Table::types`] says.
    Fns {
        table: Rc<Table<'a>>,
        fields: Vec<Part<'a>>,
    },
}

impl<'a> Val<'a> {
    pub fn function(f: Fun<'a>) -> Val<'a> {
        Val::functions(f, Vec::new())
    }

    /// The one function at every position of `dims`.
    pub fn functions(f: Fun<'a>, dims: Vec<Atom>) -> Val<'a> {
        let table = Table { codes: vec![Code { fun: f, holes: None }] };
        Val::Fns { dims, table: Rc::new(table), fields: Rc::from([]) }
    }

    pub fn tuple(fields: Vec<Val<'a>>) -> Val<'a> {
        Val::Tuple { frame: Vec::new(), fields: fields.into() }
    }

    pub fn boxed(ty: AtomTy, witnesses: Vec<Index>, contents: Val<'a>) -> Val<'a> {
        Val::Box(Rc::new(Boxed { ty, witnesses, contents }))
    }
}

impl Table<'_> {
    /// Whether the first field says which of the codes a function is.
    pub fn tagged(&self) -> bool {
        self.codes.len() > 1
    }

    /// The type of each field of one function: its tag, if there are several codes; then for each code with
    /// holes what fills them, which means nothing where the function is of another code.
    pub fn types(&self) -> Vec<ArrTy> {
        let tag = self.tagged().then(|| ArrTy::scalar(AtomTy::INT));
        let holes = self.codes.iter().filter_map(|c| c.holes.as_ref());
        tag.into_iter().chain(holes.map(|h| ArrTy::scalar(h.ty.clone()))).collect()
    }

    /// Which field fills the holes of a code, if it has any.
    pub fn field_of(&self, code: usize) -> Option<usize> {
        self.codes[code].holes.as_ref()?;
        let before = self.codes[..code].iter().filter(|c| c.holes.is_some()).count();
        Some(usize::from(self.tagged()) + before)
    }
}

impl Holes {
    /// How many of the holes are sizes of others.
    pub fn witnesses(&self) -> usize {
        if let AtomTy::Sigma(q) = &self.ty { q.params.len() } else { 0 }
    }
}
