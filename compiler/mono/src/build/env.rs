//! Environments: what the variables of a definition stand for.
//!
//! An index variable stands for a polynomial over variables of Mono. Such a variable is written as an
//! index variable of its own, whose number is past those of all definitions ([`ivar`]), so that the
//! arithmetic of `remc_base::dim` and its substitution serve here too; a closed type is one that mentions
//! no others (but for its own binders).

use crate::build::val::Val;
use crate::ir::Var;
use remc_base::*;
use std::rc::Rc;

/// Where the numbers of variables of Mono begin among those of index variables.
const FIRST: u32 = 0xc000_0000;

/// A size variable of Mono as an index variable.
pub(crate) fn ivar(v: Var) -> IVar {
    IVar::dim(FIRST | v.0, format!("%{}", v.0))
}

/// The other way.
pub(crate) fn var_of(d: &DimVar) -> Option<Var> {
    match d {
        DimVar::Rigid(v) if v.id >= FIRST => Some(Var(v.id & !FIRST)),
        _ => None,
    }
}

/// The newest variable of Mono that a dim mentions.
pub(crate) fn newest(d: &Dim) -> Option<Var> {
    d.vars().filter_map(var_of).max()
}

pub(crate) fn newest_in(i: &Index) -> Option<Var> {
    match i {
        Index::Dim(d) => newest(d),
        Index::Shape(s) => newest_in_shape(s),
    }
}

fn newest_in_shape(s: &Shape) -> Option<Var> {
    s.items().iter().filter_map(|i| if let ShapeItem::Dim(d) = i { newest(d) } else { None }).max()
}

fn newest_in_array(t: &ArrTy) -> Option<Var> {
    newest_in_shape(&t.shape).max(newest_in_type(&t.atom))
}

fn newest_in_type(t: &AtomTy) -> Option<Var> {
    match t {
        AtomTy::Base(_) | AtomTy::Var(_) | AtomTy::Meta(_) => None,
        AtomTy::Fn(f) => f.params.iter().chain([&f.ret]).filter_map(newest_in_array).max(),
        AtomTy::Forall(q) => newest_in_array(&q.body),
        AtomTy::Pi(q) => newest_in_array(&q.body),
        AtomTy::Sigma(q) => newest_in_array(&q.body),
        AtomTy::Tuple(q) => q.fields.iter().filter_map(|(_, t)| newest_in_array(t)).max(),
        AtomTy::Quot(q) => newest_in_type(q),
    }
}

struct Link<'a> {
    var: VarId,
    value: Val<'a>,
    next: Option<Rc<Link<'a>>>,
}

impl Drop for Link<'_> {
    /// A long list is taken apart without recursion.
    fn drop(&mut self) {
        let mut next = self.next.take();
        while let Some(mut link) = next.and_then(Rc::into_inner) {
            next = link.next.take();
        }
    }
}

/// What the variables in scope stand for. A clone shares what it was cloned from.
#[derive(Clone)]
pub(crate) struct Env<'a> {
    values: Option<Rc<Link<'a>>>,
    subst: Rc<Subst>,
    /// The newest variable of Mono among the indices bound.
    newest: Option<Var>,
}

impl<'a> Env<'a> {
    pub fn empty() -> Env<'a> {
        Env { values: None, subst: Rc::default(), newest: None }
    }

    pub fn bind(&mut self, var: VarId, value: Val<'a>) {
        let next = self.values.take();
        self.values = Some(Rc::new(Link { var, value, next }));
    }

    pub fn get(&self, var: VarId) -> Option<&Val<'a>> {
        let mut at = self.values.as_deref();
        while let Some(link) = at {
            if link.var == var {
                return Some(&link.value);
            }
            at = link.next.as_deref();
        }
        None
    }

    pub fn bind_index(&mut self, v: &IVar, i: Index) {
        self.newest = self.newest.max(newest_in(&i));
        Rc::make_mut(&mut self.subst).bind_index(v, i);
    }

    /// `arg` is closed.
    pub fn bind_type(&mut self, p: &TParam, arg: TyArg) {
        self.newest = self.newest.max(match &arg {
            TyArg::Atom(t) => newest_in_type(t),
            TyArg::Array(t) => newest_in_array(t),
        });
        let subst = Rc::make_mut(&mut self.subst);
        match (arg, &p.shape) {
            (TyArg::Atom(t), Some(s)) => {
                subst.bind_type(&p.var, t);
                subst.bind_shape(s, Shape::scalar());
            }
            (TyArg::Array(t), Some(s)) => {
                subst.bind_type(&p.var, t.atom);
                subst.bind_shape(s, t.shape);
            }
            (arg, None) => subst.bind_tparam(p, arg),
        }
    }

    pub fn newest_index(&self) -> Option<Var> {
        self.newest
    }

    pub fn dim(&self, d: &Dim) -> Dim {
        self.subst.dim(d)
    }

    pub fn shape(&self, s: &Shape) -> Shape {
        self.subst.shape(s)
    }

    pub fn index(&self, i: &Index) -> Index {
        self.subst.index(i)
    }

    pub fn atom(&self, t: &AtomTy) -> AtomTy {
        self.subst.atom(t)
    }

    pub fn arr(&self, t: &ArrTy) -> ArrTy {
        self.subst.arr(t)
    }
}
