//! What an expression of Explicit is while a program is built: atoms of Mono, and what has no atoms.

use crate::build::env::Env;
use crate::build::prims::Prim;
use crate::build::ragged::Ragged;
use crate::ir::Atom;
use remc_base::ops::ScalarOp;
use remc_base::{AtomTy, GlobalId, Index};
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
    /// An array of functions: `tags`, ints of shape `dims`, say which of the table each is; without tags
    /// all are the first.
    Fns { dims: Vec<Atom>, tags: Option<Atom>, table: Rc<[Fun<'a>]> },
}

pub(crate) struct Boxed<'a> {
    /// The closed type of the box, a Σ.
    pub ty: AtomTy,
    pub witnesses: Vec<Index>,
    pub contents: Val<'a>,
}

#[derive(Clone)]
pub(crate) enum Fun<'a> {
    Op(ScalarOp),
    Prim(Rc<Instance>),
    /// A λ, Tλ or Iλ.
    Closure(Rc<Closure<'a>>),
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
        Val::Fns { dims: Vec::new(), tags: None, table: Rc::from([f]) }
    }

    pub fn tuple(fields: Vec<Val<'a>>) -> Val<'a> {
        Val::Tuple { frame: Vec::new(), fields: fields.into() }
    }

    pub fn boxed(ty: AtomTy, witnesses: Vec<Index>, contents: Val<'a>) -> Val<'a> {
        Val::Box(Rc::new(Boxed { ty, witnesses, contents }))
    }
}

impl Fun<'_> {
    /// Whether the two surely are one function.
    pub fn same(&self, other: &Fun) -> bool {
        match (self, other) {
            (Fun::Op(a), Fun::Op(b)) => a == b,
            (Fun::Prim(a), Fun::Prim(b)) => a == b,
            (Fun::Closure(a), Fun::Closure(b)) => std::ptr::addr_eq(Rc::as_ptr(a), Rc::as_ptr(b)),
            _ => false,
        }
    }
}
