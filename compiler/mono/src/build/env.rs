//! Environments: what the variables of a definition stand for.
//!
//! An index variable stands for a polynomial over variables of Mono. Such a variable is written as an
//! index variable of its own, whose number is past those of all definitions ([`ivar`]), so that the
//! arithmetic of `remc_base::dim` and its substitution serve here too; a closed type is one that mentions
//! no others (but for its own binders). A shape whose number of axes is known only when the program runs is
//! written alike, as a shape variable with the number of the vector of its dims ([`svar`], [`super::opaque`]).

use crate::build::val::Val;
use crate::ir::Var;
use remc_base::*;
use rpds::RedBlackTreeMap;
use std::rc::Rc;

pub(crate) use crate::build::val::Env;

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

/// A vector of dims as a shape variable.
pub(crate) fn svar(dims: Var) -> IVar {
    IVar::shape(FIRST | dims.0, format!("@%{}", dims.0))
}

/// The other way.
pub(crate) fn dims_var_of(v: &ShapeVar) -> Option<Var> {
    match v {
        ShapeVar::Rigid(v) if v.id >= FIRST => Some(Var(v.id & !FIRST)),
        _ => None,
    }
}

impl<'a> Env<'a> {
    pub fn empty() -> Env<'a> {
        Env { values: RedBlackTreeMap::new(), subst: Rc::default() }
    }

    pub fn bind(&mut self, var: VarId, value: Val<'a>) {
        self.values.insert_mut(var, value);
    }

    pub fn get(&self, var: VarId) -> Option<&Val<'a>> {
        self.values.get(&var)
    }

    pub fn bind_index(&mut self, v: &IVar, i: Index) {
        Rc::make_mut(&mut self.subst).bind_index(v, i);
    }

    /// `arg` is closed.
    pub fn bind_type(&mut self, p: &TParam, arg: TyArg) {
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

    /// `t` is closed.
    pub fn bind_atom(&mut self, v: &TVar, t: AtomTy) {
        Rc::make_mut(&mut self.subst).bind_type(v, t);
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
