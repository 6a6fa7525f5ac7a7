//! What an expression of Explicit is while a program is built: atoms of Mono, and what has no atoms.

use crate::build::env::{Env, ivar};
use crate::build::prims::Prim;
use crate::build::ragged::Ragged;
use crate::ir::{Atom, Var};
use remc_base::ops::ScalarOp;
use remc_base::{ArrTy, AtomTy, Dim, GlobalId, Index, Subst};
use remc_explicit::ir::Expr;
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

    /// The type of the hole whose variable is `v`, if it is one of these: its sizes as the variables of holes
    /// and what is in scope where the function is.
    pub fn dims_of(&self, v: Var) -> Option<Vec<Dim>> {
        let at = self.all.iter().position(|h| h.var == v)?;
        let (params, body) = match &self.ty {
            AtomTy::Sigma(q) => (&q.params[..], &q.body.atom),
            other => (&[][..], other),
        };
        let (AtomTy::Tuple(q), Some(field)) = (body, at.checked_sub(params.len())) else {
            return Some(Vec::new());
        };
        let mut subst = Subst::new();
        params.iter().zip(self.all.iter()).for_each(|(p, h)| subst.bind_dim(p, Dim::rigid(ivar(h.var))));
        Some(q.fields.get(field).and_then(|(_, t)| subst.shape(&t.shape).dims()).unwrap_or_default())
    }
}
