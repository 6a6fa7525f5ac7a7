//! Values that go through a statement: taken apart into atoms, and put together again from its results.

use crate::build::emit::Scope;
use crate::build::ragged::holds_boxes;
use crate::build::val::{Fun, Val};
use crate::build::{Build, R, bug, env, limit};
use crate::ir::Atom;
use crate::ir::*;
use crate::limits::Construct;
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
                        Index::Shape(s) => out.extend(self.sizes(s)?),
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
            Val::Fns { tags, .. } => out.extend(*tags),
        }
        Ok(())
    }

    pub fn atoms(&mut self, v: &Val<'a>) -> R<Vec<Atom>> {
        let mut out = Vec::new();
        self.flatten(v, &mut out)?;
        Ok(out)
    }

    pub fn no_boxes<T>(&mut self, message: &str) -> R<T> {
        limit(self, Construct::ArrayOfBoxes, message)
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
                    return self.no_boxes("the prefixes of a scan hold boxes");
                }
                let mut subst = Subst::new();
                let mut witnesses = Vec::with_capacity(b.witnesses.len());
                for (p, w) in q.params.iter().zip(&b.witnesses) {
                    let mut size = |this: &mut Self| {
                        let v = this.fresh_size(p.name.as_str());
                        out.push(v);
                        Dim::rigid(env::ivar(v))
                    };
                    let w = match w {
                        Index::Dim(_) => Index::Dim(size(self)),
                        Index::Shape(s) => Index::Shape(Shape::of_dims(s.items().iter().map(|_| size(self)))),
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
                if !frame.is_empty() {
                    return self.no_boxes("the prefixes of a scan hold boxes");
                }
                Val::Ragged(Rc::new(self.like_ragged(name, r, ty, out)?))
            }
            (Val::Fns { tags, table, .. }, _) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let tags = tags.map(|_| {
                    let v = self.fresh("f", Ty { base: BaseTy::I64, dims: dims.clone() });
                    out.push(v);
                    Atom::Var(v)
                });
                Val::Fns { dims, tags, table: table.clone() }
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
            return self.map_boxes(name, frame, ty, f);
        }
        let first = self.program.vars.len();
        let axes = self.open_axes(frame);
        let at: Vec<Atom> = axes.iter().map(|a| Atom::Var(a.var)).collect();
        let value = f(self, &at)?;
        self.may_leave(&value, first)?;
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
        self.may_leave(&a, first)?;
        let mut left = self.close();
        self.open();
        let b = otherwise(self)?;
        let b = self.stored_flat(b, ty)?;
        self.may_leave(&b, first)?;
        let mut right = self.close();
        let (a, b) = self.align(a, b, &mut left, &mut right)?;
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

    /// Gives the values of two branches one structure: the functions of both are in one table.
    fn align(
        &mut self,
        a: Val<'a>,
        b: Val<'a>,
        left: &mut Scope<'a>,
        right: &mut Scope<'a>,
    ) -> R<(Val<'a>, Val<'a>)> {
        Ok(match (a, b) {
            (Val::Base(a), Val::Base(b)) => (Val::Base(a), Val::Base(b)),
            (Val::Tuple { frame, fields: xs }, Val::Tuple { frame: other, fields: ys })
                if xs.len() == ys.len() =>
            {
                let (mut out, mut out2) = (Vec::new(), Vec::new());
                for (x, y) in xs.iter().zip(ys.iter()) {
                    let (x, y) = self.align(x.clone(), y.clone(), left, right)?;
                    out.push(x);
                    out2.push(y);
                }
                let (xs, ys) = (out.into(), out2.into());
                (Val::Tuple { frame, fields: xs }, Val::Tuple { frame: other, fields: ys })
            }
            (Val::Box(x), Val::Box(y)) if x.witnesses.len() == y.witnesses.len() => {
                let rank = |i: &Index| if let Index::Shape(s) = i { s.items().len() } else { 1 };
                if x.witnesses.iter().zip(&y.witnesses).any(|(a, b)| rank(a) != rank(b)) {
                    let message = "the branches give boxes of different numbers of axes";
                    return limit(self, Construct::UnknownRank, message);
                }
                let (a, b) = self.align(x.contents.clone(), y.contents.clone(), left, right)?;
                let (x_ty, y_ty) = (x.ty.clone(), y.ty.clone());
                (Val::boxed(x_ty, x.witnesses.clone(), a), Val::boxed(y_ty, y.witnesses.clone(), b))
            }
            (Val::Fns { dims, tags: s, table: f }, Val::Fns { dims: dims2, tags: t, table: g }) => {
                if s.is_none() && t.is_none() && f[0].same(&g[0]) {
                    return Ok((
                        Val::Fns { dims, tags: None, table: f.clone() },
                        Val::Fns { dims: dims2, tags: None, table: f },
                    ));
                }
                let table: Rc<[Fun<'a>]> = f.iter().chain(g.iter()).cloned().collect();
                let s = self.within(left, |this| this.shifted_tags(&dims, s, 0))?;
                let t = self.within(right, |this| this.shifted_tags(&dims2, t, f.len()))?;
                (
                    Val::Fns { dims, tags: Some(s), table: table.clone() },
                    Val::Fns { dims: dims2, tags: Some(t), table },
                )
            }
            (Val::Ragged(x), Val::Ragged(y)) => {
                if !self.alike(&x, &y) {
                    return self
                        .no_boxes("the branches give boxes of different functions or numbers of axes");
                }
                (Val::Ragged(x), Val::Ragged(y))
            }
            _ => return bug("the branches give values of different types"),
        })
    }

    fn within<T>(&mut self, scope: &mut Scope<'a>, f: impl FnOnce(&mut Self) -> R<T>) -> R<T> {
        self.reopen(std::mem::take(scope));
        let result = f(self);
        *scope = self.close();
        result
    }

    /// The tags of functions whose table comes after `by` others.
    pub fn shifted_tags(&mut self, dims: &[Atom], tags: Option<Atom>, by: usize) -> R<Atom> {
        let by = Atom::int(by as i64);
        match tags {
            Some(t) if by == Atom::int(0) => Ok(t),
            _ => self.tabulate("f", BaseTy::I64, dims, Vec::new(), |this, at| match tags {
                Some(t) => {
                    let t = this.index(t, at)?;
                    this.op(remc_base::ops::ScalarOp::Add, &[t, by])
                }
                None => Ok(by),
            }),
        }
    }

    /// Functions that leave a body must not mention what is computed in it; `first` is the number of the
    /// first variable made there.
    pub fn may_leave(&mut self, v: &Val<'a>, first: usize) -> R<()> {
        match v {
            Val::Base(_) => Ok(()),
            Val::Tuple { fields, .. } => fields.iter().try_for_each(|f| self.may_leave(f, first)),
            Val::Box(b) => self.may_leave(&b.contents, first),
            Val::Boxes { elems, .. } => elems.iter().try_for_each(|f| self.may_leave(f, first)),
            Val::Ragged(r) => {
                let mut all = Vec::new();
                r.tables(&mut |f| all.push(f.clone()));
                self.functions_may_leave(&all, first)
            }
            Val::Fns { table, .. } => self.functions_may_leave(table, first),
        }
    }

    fn functions_may_leave(&mut self, table: &[Fun<'a>], first: usize) -> R<()> {
        if table.iter().any(|f| super::capture::mentions_since(f, first)) {
            let message = "this gives a function that mentions what is computed here";
            return limit(self, Construct::ComputedFunction, message);
        }
        Ok(())
    }

    /// Whether two values are of one structure, so that a loop can go round with them.
    pub fn goes_round(&mut self, before: &Val<'a>, after: &Val<'a>) -> R<()> {
        match (before, after) {
            (Val::Base(_), Val::Base(_)) => Ok(()),
            (Val::Tuple { fields: xs, .. }, Val::Tuple { fields: ys, .. }) if xs.len() == ys.len() => {
                xs.iter().zip(ys.iter()).try_for_each(|(x, y)| self.goes_round(x, y))
            }
            (Val::Box(x), Val::Box(y)) if x.witnesses.len() == y.witnesses.len() => {
                for (a, b) in x.witnesses.iter().zip(&y.witnesses) {
                    if let (Index::Shape(a), Index::Shape(b)) = (a, b)
                        && a.items().len() != b.items().len()
                    {
                        let message = "the number of axes changes from one round of a loop to the next";
                        return limit(self, Construct::UnknownRank, message);
                    }
                }
                self.goes_round(&x.contents, &y.contents)
            }
            (Val::Fns { tags: s, table: f, .. }, Val::Fns { tags: t, table: g, .. }) => {
                let same = f.len() == g.len() && f.iter().zip(g.iter()).all(|(a, b)| a.same(b));
                if same && s.is_some() == t.is_some() {
                    return Ok(());
                }
                let message = "a function changes from one round of a loop to the next";
                limit(self, Construct::ComputedFunction, message)
            }
            (Val::Ragged(x), Val::Ragged(y)) => match self.alike(x, y) {
                true => Ok(()),
                false => self.no_boxes("the boxes of a loop change the number of their axes"),
            },
            _ => bug("a loop whose state changes its type"),
        }
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
