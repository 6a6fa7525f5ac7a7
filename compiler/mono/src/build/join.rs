//! Values that go through a statement: taken apart into atoms, and put together again from its results.

use crate::build::emit::Scope;
use crate::build::function::tables_of;
use crate::build::opaque::{Differing, is_known};
use crate::build::ragged::Contents;
use crate::build::ragged::Leaving;
use crate::build::ragged::holds_boxes;
use crate::build::val::Val;
use crate::build::{Build, R, bug, env};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::*;
use std::rc::Rc;

impl<'a> Build<'a> {
    /// The atoms of a value, in the order of [`Build::results`].
    pub fn flatten(&mut self, v: &Val<'a>, out: &mut Vec<Atom>) -> R<()> {
        match v {
            Val::Base(a) => out.push(*a),
            Val::Tuple { fields, .. } => fields.iter().try_for_each(|f| self.flatten(f, out))?,
            Val::Box(b) => {
                for w in &b.witnesses {
                    match w {
                        Index::Dim(d) => out.push(self.size(d)?),
                        Index::Shape(s) if is_known(s) => out.extend(self.sizes(s)?),
                        Index::Shape(s) => {
                            out.push(self.rank(s)?);
                            out.extend(self.sizes(s)?);
                            out.push(self.dims_vector(s)?);
                        }
                    }
                }
                if let AtomTy::Sigma(q) = &b.ty {
                    let mut subst = Subst::new();
                    q.params.iter().zip(&b.witnesses).for_each(|(p, w)| subst.bind_index(p, w.clone()));
                    for d in computed_sizes(q) {
                        out.push(self.size(&subst.dim(&d))?);
                    }
                }
                self.flatten(&b.contents, out)?;
            }
            Val::Ragged(r) => r.atoms(self, out),
            Val::Boxes { .. } => return bug("boxes that are not stored flat"),
            Val::Fns { fields, .. } => fields.iter().try_for_each(|f| self.flatten(f, out))?,
        }
        Ok(())
    }

    pub fn atoms(&mut self, v: &Val<'a>) -> R<Vec<Atom>> {
        let mut out = Vec::new();
        self.flatten(v, &mut out)?;
        Ok(out)
    }

    /// New variables for a value of the closed type `ty` with `frame` in front; `like` says what the type
    /// leaves open: the ranks of boxes, and the functions.
    pub fn results(
        &mut self,
        name: &str,
        like: &Val<'a>,
        ty: &ArrTy,
        frame: &[Atom],
        out: &mut Vec<Var>,
    ) -> R<Val<'a>> {
        let over = |own: Vec<Atom>| -> Vec<Atom> { frame.iter().copied().chain(own).collect() };
        Ok(match (like, &ty.atom) {
            (Val::Base(_), AtomTy::Base(b)) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let v = self.fresh(name, Ty { base: *b, dims });
                out.push(v);
                Val::Base(Atom::Var(v))
            }
            (Val::Tuple { fields, .. }, AtomTy::Tuple(q)) if fields.len() == q.fields.len() => {
                let frame = over(self.sizes_of_type(&ty.shape)?);
                let fields = fields
                    .iter()
                    .zip(&q.fields)
                    .map(|(v, (_, t))| self.results(name, v, t, &frame, out))
                    .collect::<R<Vec<_>>>()?;
                Val::Tuple { frame, fields: fields.into() }
            }
            (Val::Box(b), AtomTy::Sigma(q)) if b.witnesses.len() == q.params.len() => {
                if !frame.is_empty() || !ty.shape.is_scalar() {
                    return bug("one box in the place of many");
                }
                let mut subst = Subst::new();
                let mut witnesses = Vec::with_capacity(b.witnesses.len());
                for (p, w) in q.params.iter().zip(&b.witnesses) {
                    let mut size = |this: &mut Self| {
                        let v = this.fresh_size(p.name.as_str());
                        out.push(v);
                        v
                    };
                    let mut dim = |this: &mut Self| Dim::rigid(env::ivar(size(this)));
                    let w = match w {
                        Index::Dim(_) => Index::Dim(dim(self)),
                        Index::Shape(s) if is_known(s) => {
                            Index::Shape(Shape::of_dims(s.items().iter().map(|_| dim(self))))
                        }
                        Index::Shape(_) => {
                            let (rank, n) = (size(self), size(self));
                            let ty = Ty { base: BaseTy::I64, dims: vec![rank.into()] };
                            let dims = self.fresh(p.name.as_str(), ty);
                            out.push(dims);
                            Index::Shape(self.opaque_shape(dims.into(), n.into())?)
                        }
                    };
                    subst.bind_index(p, w.clone());
                    witnesses.push(w);
                }
                for d in computed_sizes(q) {
                    let v = self.fresh_size("size");
                    out.push(v);
                    self.is_size(&subst.dim(&d), v);
                }
                let contents = self.results(name, &b.contents, &subst.arr(&q.body), &[], out)?;
                Val::boxed(ty.atom.clone(), witnesses, contents)
            }
            (Val::Ragged(r), AtomTy::Sigma(_)) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                Val::Ragged(Rc::new(self.like_ragged(name, r, &ty.atom, dims, out)?))
            }
            (Val::Fns { table, fields, .. }, _) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let fields = fields
                    .iter()
                    .zip(table.types())
                    .map(|(v, t)| self.results(name, v, &t, &dims, out))
                    .collect::<R<Vec<_>>>()?;
                Val::Fns { dims, table: table.clone(), fields: fields.into() }
            }
            _ => return bug(format!("a value that is not of its type {ty}")),
        })
    }

    /// A map over `frame` whose body gives a value of the closed type `ty`.
    pub fn map(
        &mut self,
        name: &str,
        frame: &[Atom],
        ty: &ArrTy,
        f: impl FnOnce(&mut Self, &[Atom]) -> R<Val<'a>>,
    ) -> R<Val<'a>> {
        if frame.is_empty() {
            return f(self, &[]);
        }
        if holds_boxes(&ty.atom) {
            return self.map_boxes(name, (frame, Contents::Shared), ty, f);
        }
        let first = self.program.vars.len();
        let axes = self.open_axes(frame);
        let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let value = f(self, &at)?;
        let value = self.leave(value, first)?;
        if has_boxes(&value) {
            // Functions whose holes are filled by boxes.
            return self.join_over(name, (frame, axes, Contents::Shared), ty, value);
        }
        let results = self.atoms(&value)?;
        let stmts = self.close().stmts;
        let mut pat = Vec::new();
        let whole = self.results(name, &value, ty, frame, &mut pat)?;
        if !pat.is_empty() || stmts.iter().any(|s| s.exp.can_stop()) {
            self.emit(pat, Exp::Map { axes, body: Body { stmts, results } })?;
        }
        Ok(whole)
    }

    /// The value of one branch or the other; `ty` is its closed type.
    pub fn choose(
        &mut self,
        cond: Atom,
        ty: &ArrTy,
        then: impl FnOnce(&mut Self) -> R<Val<'a>>,
        otherwise: impl FnOnce(&mut Self) -> R<Val<'a>>,
    ) -> R<Val<'a>> {
        match cond {
            Atom::Const(Scalar::Bool(true)) => return then(self),
            Atom::Const(_) => return otherwise(self),
            Atom::Var(_) => {}
        }
        let first = self.program.vars.len();
        self.open();
        let a = then(self)?;
        let a = self.stored_flat(a, ty)?;
        let a = self.leave(a, first)?;
        let mut left = self.close();
        self.open();
        let b = otherwise(self)?;
        let b = self.stored_flat(b, ty)?;
        let b = self.leave(b, first)?;
        let mut right = self.close();
        let mut differing = Differing::default();
        self.differing(&a, &b, &mut differing)?;
        let (a, b) = match differing.any() {
            true => {
                let made = |this: &mut Self, v: &Val<'a>, which: &[bool]| {
                    let v = this.made_opaque(v, ty, &mut which.iter())?;
                    this.leave(v, first)
                };
                (
                    self.within(&mut left, |this| made(this, &a, &differing.first))?,
                    self.within(&mut right, |this| made(this, &b, &differing.second))?,
                )
            }
            false => (a, b),
        };
        let (mut a, mut b) = self.align(a, b, &mut left, &mut right)?;
        if self.loops > 0 {
            a = self.within(&mut left, |this| this.fit(a, first, Leaving::Round))?;
            b = self.within(&mut right, |this| this.fit(b, first, Leaving::Round))?;
        }
        let then = self.finish(left, &a)?;
        let otherwise = self.finish(right, &b)?;
        let mut pat = Vec::new();
        let whole = self.results("r", &a, ty, &[], &mut pat)?;
        let exp = Exp::If { cond, then, otherwise };
        if !pat.is_empty() || exp.can_stop() {
            self.emit(pat, exp)?;
        }
        Ok(whole)
    }

    fn finish(&mut self, scope: Scope<'a>, v: &Val<'a>) -> R<Body> {
        self.reopen(scope);
        let results = self.atoms(v)?;
        Ok(Body { stmts: self.close().stmts, results })
    }

    /// Gives the functions at one place of the values of two branches one table.
    fn align(
        &mut self,
        a: Val<'a>,
        b: Val<'a>,
        left: &mut Scope<'a>,
        right: &mut Scope<'a>,
    ) -> R<(Val<'a>, Val<'a>)> {
        let (xs, ys) = (tables_of(&a), tables_of(&b));
        if xs.len() != ys.len() {
            return bug("the branches give values of different types");
        }
        if xs.iter().zip(&ys).all(|(x, y)| Rc::ptr_eq(x, y)) {
            return Ok((a, b));
        }
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (x, y) in xs.into_iter().zip(ys) {
            let (table, plans) = self.one_table(&[x, y])?;
            let mut plans = plans.into_iter();
            first.extend(plans.next().map(|p| (table.clone(), p)));
            second.extend(plans.next().map(|p| (table, p)));
        }
        let a = self.within(left, |this| this.retabled(&a, &mut first.iter()))?;
        let b = self.within(right, |this| this.retabled(&b, &mut second.iter()))?;
        Ok((a, b))
    }
}

/// Whether boxes are among what a value is made of; its type does not say so of what fills the holes of functions.
pub(crate) fn has_boxes(v: &Val) -> bool {
    match v {
        Val::Base(_) => false,
        Val::Box(_) | Val::Boxes { .. } | Val::Ragged(_) => true,
        Val::Tuple { fields, .. } | Val::Fns { fields, .. } => fields.iter().any(has_boxes),
    }
}

/// The sizes in the type of a box's contents that are computed from what it hides, as `(+ n 1)` of `n`. They
/// are results beside the witnesses, since a type of Mono has variables and constants alone as sizes, and
/// nothing can be computed between two results of one statement.
fn computed_sizes(q: &SigmaTy) -> Vec<Dim> {
    let mut out = Vec::new();
    sizes_within(&q.body, &q.params, &mut Vec::new(), &mut out);
    out
}

fn sizes_within(ty: &ArrTy, params: &[IVar], inner: &mut Vec<IVar>, out: &mut Vec<Dim>) {
    for item in ty.shape.items() {
        let ShapeItem::Dim(d) = item else { continue };
        let of = |all: &[IVar]| {
            d.vars().any(|v| match v {
                DimVar::Rigid(v)
                | DimVar::RankOf(ShapeVar::Rigid(v))
                | DimVar::SizeOf(ShapeVar::Rigid(v)) => all.contains(v),
                _ => false,
            })
        };
        if of(params) && !of(inner) && !matches!(d.as_var(), Some(DimVar::Rigid(_))) && !out.contains(d) {
            out.push(d.clone());
        }
    }
    match &ty.atom {
        AtomTy::Tuple(q) => q.fields.iter().for_each(|(_, t)| sizes_within(t, params, inner, out)),
        AtomTy::Sigma(q) => {
            let mark = inner.len();
            inner.extend(q.params.iter().cloned());
            sizes_within(&q.body, params, inner, out);
            inner.truncate(mark);
        }
        _ => {}
    }
}
