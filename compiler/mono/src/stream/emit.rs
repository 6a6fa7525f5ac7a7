//! Statements in the making.

use crate::ir::*;
use crate::walk::Copier;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Prov};
use rustc_hash::FxHashMap;

/// A body in the making.
pub(super) struct Emit<'p> {
    pub p: &'p mut Program,
    pub stmts: Vec<Stmt>,
    pub prov: Prov,
}

impl<'p> Emit<'p> {
    pub fn new(p: &'p mut Program, prov: Prov) -> Emit<'p> {
        Emit { p, stmts: Vec::new(), prov }
    }

    pub fn push(&mut self, pat: Vec<Var>, exp: Exp) {
        self.stmts.push(Stmt { pat, exp, prov: self.prov });
    }

    pub fn let_(&mut self, name: &str, ty: Ty, exp: Exp) -> Atom {
        let v = self.p.fresh(name, ty);
        self.push(vec![v], exp);
        Atom::Var(v)
    }

    pub fn op(&mut self, name: &str, op: ScalarOp, args: &[Atom]) -> Atom {
        let types: Vec<BaseTy> = args.iter().map(|a| self.p.atom_ty(*a).base).collect();
        let base = op.result_ty(&types).unwrap_or(BaseTy::I64);
        self.let_(name, Ty::scalar(base), Exp::Op(op, args.to_vec()))
    }

    /// What `inside` emits, as a body of its own.
    pub fn body(&mut self, inside: impl FnOnce(&mut Emit<'_>) -> Vec<Atom>) -> Body {
        let outer = std::mem::take(&mut self.stmts);
        let results = inside(self);
        Body { stmts: std::mem::replace(&mut self.stmts, outer), results }
    }

    /// Variables of these types; sizes among them are those of their own.
    pub fn fresh_like(&mut self, vars: &[Var], axes: &[Atom]) -> Vec<Var> {
        let mut with = FxHashMap::default();
        let mut new = Vec::with_capacity(vars.len());
        for v in vars {
            let VarInfo { name, ty, .. } = self.p.vars[*v].clone();
            let own = |d: &Atom| d.as_var().and_then(|d| with.get(&d)).copied().unwrap_or(*d);
            let ty = Ty { base: ty.base, dims: ty.dims.iter().map(own).collect() };
            let fresh = self.p.fresh(name.as_str(), ty.over(axes));
            with.insert(*v, Atom::Var(fresh));
            new.push(fresh);
        }
        new
    }

    /// A variable like an array of another number of items.
    pub fn resized(&mut self, array: Var, items: Atom) -> Var {
        let mut info = self.p.vars[array].clone();
        info.ty.dims.first_mut().into_iter().for_each(|d| *d = items);
        self.p.vars.push(info)
    }

    /// The same array by another name of its number of items.
    pub fn reshaped(&mut self, array: Var, items: Atom) -> Var {
        let view = self.resized(array, items);
        let dims = self.p.vars[view].ty.dims.clone();
        self.push(vec![view], Exp::View { view: View::Reshape { dims }, array });
        view
    }

    /// A branch that gives values of the types of `like`.
    pub fn branch(
        &mut self,
        cond: Atom,
        like: &[Var],
        then: impl FnOnce(&mut Emit<'_>) -> Vec<Atom>,
        otherwise: impl FnOnce(&mut Emit<'_>) -> Vec<Atom>,
    ) -> Vec<Atom> {
        let (then, otherwise) = (self.body(then), self.body(otherwise));
        let pat = self.fresh_like(like, &[]);
        self.push(pat.clone(), Exp::If { cond, then, otherwise });
        pat.into_iter().map(Atom::Var).collect()
    }

    /// The statements of a body, with binders of their own and some variables replaced; what it gives.
    pub fn copy(&mut self, body: &Body, with: &FxHashMap<Var, Atom>) -> Vec<Atom> {
        let mut c = Copier { program: self.p, with: with.clone() };
        let b = c.body(body);
        self.stmts.extend(b.stmts);
        b.results
    }

    /// An element, or a cell, of an array at places; the array itself at none.
    pub fn at(&mut self, array: Atom, at: &[Atom]) -> Atom {
        match array.as_var() {
            Some(v) if !at.is_empty() => {
                let info = self.p.vars[v].clone();
                self.let_(
                    info.name.as_str(),
                    info.ty.cell(at.len()),
                    Exp::Index { array: v, at: at.to_vec() },
                )
            }
            _ => array,
        }
    }
}
