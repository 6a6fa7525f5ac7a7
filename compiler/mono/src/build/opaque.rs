//! Opaque shapes: those whose number of axes is known only when the program runs.
//!
//! An array of Mono has as many axes as its type says. So the axes of an opaque shape are stored as one, as long as
//! all elements are; beside it there is the vector of its dims, whose length is the rank. A type says of a hidden
//! `@s` nothing but its name, so that nearly all that is done with an array of such a shape needs its size alone;
//! what looks inside (`index`, `rotate`, …) takes the vector: see [`super::prims`].
//!
//! ```text
//! (unbox (iota dims) (a @s) (sum (ravel a)))     dims : [int k], and k is known only when the program runs
//!   ⟶  (let (%n) (for j k ((p 1)) … (give (* p %dims[j]))))       the size of @s
//!      (let (%a) (map ((%i %n)) (give %i)))                        [int @s], stored as [int %n]
//!      (let (%t) (reduce %i %n … + 0))
//! ```
//!
//! In indices and types an opaque shape is a shape variable with the number of that vector ([`svar`]). What a box
//! hides is a shape of known dims or one opaque shape, never a mixture. Where boxes meet that hide shapes of
//! different ranks, in an array, in a branch or in a loop, known dims are made opaque ([`Build::made_opaque`]) and
//! the contents are stored in the other way ([`Build::restored`]).

use crate::build::env::{dims_var_of, svar};
use crate::build::ragged::Ragged;
use crate::build::val::{Fun, Restored, Table, Val};
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Axis, Body, Exp, Ty, Var, View};
use remc_base::ops::ScalarOp;
use remc_base::trap::Len;
use remc_base::*;
use rustc_hash::FxHashMap;
use std::borrow::Cow;
use std::rc::Rc;

/// The sizes of opaque shapes, by the vectors of their dims.
pub(crate) type Sizes = FxHashMap<Var, Atom>;

/// Which shapes of two values have to be made opaque, of the one and of the other.
#[derive(Default)]
pub(crate) struct Differing {
    pub first: Vec<bool>,
    pub second: Vec<bool>,
}

impl Differing {
    /// Two shapes at one place, by their ranks if these are known.
    pub fn meet(&mut self, a: Option<usize>, b: Option<usize>) {
        self.first.push(a.is_some() && a != b);
        self.second.push(b.is_some() && a != b);
    }

    pub fn any(&self) -> bool {
        self.first.contains(&true) || self.second.contains(&true)
    }
}

/// No message shows more numbers of a shape.
const MOST_SHOWN: usize = 12;

/// A dim with the rank and size of an opaque shape as what they are in the program. `rank` gives the length of a
/// vector, `number` what an atom stands for.
pub(crate) fn plain<'d>(
    d: &'d Dim,
    sizes: &Sizes,
    rank: &dyn Fn(Var) -> Atom,
    number: &dyn Fn(Atom) -> Dim,
) -> Cow<'d, Dim> {
    let known = |v: &DimVar| match v {
        DimVar::RankOf(s) => dims_var_of(s).map(|v| number(rank(v))),
        DimVar::SizeOf(s) => dims_var_of(s).and_then(|v| sizes.get(&v)).map(|n| number(*n)),
        _ => None,
    };
    match d.vars().any(|v| matches!(v, DimVar::RankOf(_) | DimVar::SizeOf(_))) {
        true => Cow::Owned(d.substitute(&mut |v| known(v))),
        false => Cow::Borrowed(d),
    }
}

/// Whether the number of axes is known.
pub(crate) fn is_known(s: &Shape) -> bool {
    s.items().iter().all(|i| matches!(i, ShapeItem::Dim(_)))
}

impl<'a> Build<'a> {
    /// A closed dim without the ranks and sizes of opaque shapes.
    pub fn plain<'d>(&self, d: &'d Dim) -> Cow<'d, Dim> {
        plain(d, &self.opaque, &|v| self.rank_of_dims(v), &|a| self.dim_of(a))
    }

    fn rank_of_dims(&self, dims: Var) -> Atom {
        self.program.ty(dims).dims.first().copied().unwrap_or(Atom::int(0))
    }

    /// The shape of the dims in a vector, which are not negative; `size` is their product.
    pub fn opaque_shape(&mut self, dims: Atom, size: Atom) -> R<Shape> {
        let Atom::Var(dims) = dims else { return bug("a vector of dims that is none") };
        if let Atom::Var(n) = size {
            self.natural.insert(n);
        }
        if let Atom::Var(rank) = self.rank_of_dims(dims) {
            self.natural.insert(rank);
        }
        self.opaque.insert(dims, size);
        Ok(Shape::rigid(svar(dims)))
    }

    /// A closed shape as one opaque shape.
    pub fn as_opaque(&mut self, s: &Shape) -> R<Shape> {
        if let [ShapeItem::Var(_)] = s.items() {
            return Ok(s.clone());
        }
        let sizes = self.sizes(s)?;
        let (dims, size) = (self.dims_vector(s)?, self.product(&sizes)?);
        self.opaque_shape(dims, size)
    }

    /// The number of axes of a closed shape.
    pub fn rank(&mut self, s: &Shape) -> R<Atom> {
        self.size(&s.rank())
    }

    /// The dims of a closed shape as a vector.
    pub fn dims_vector(&mut self, s: &Shape) -> R<Atom> {
        let mut parts = Vec::new();
        let mut known = Vec::new();
        for item in s.items() {
            match item {
                ShapeItem::Dim(d) => known.push(self.size(d)?),
                ShapeItem::Var(v) => {
                    let Some(dims) = dims_var_of(v) else { return bug(format!("the shape {s} is open")) };
                    if !known.is_empty() {
                        parts.push(self.ints("shape", std::mem::take(&mut known))?);
                    }
                    parts.push(dims.into());
                }
            }
        }
        if !known.is_empty() || parts.is_empty() {
            parts.push(self.ints("shape", known)?);
        }
        let mut all = parts[0];
        for part in &parts[1..] {
            all = self.append_ints(all, *part)?;
        }
        Ok(all)
    }

    fn ints(&mut self, name: &str, elems: Vec<Atom>) -> R<Atom> {
        self.literal(name, BaseTy::I64, vec![Atom::int(elems.len() as i64)], elems)
    }

    fn append_ints(&mut self, x: Atom, y: Atom) -> R<Atom> {
        let Atom::Var(with) = y else { return bug("append of a scalar") };
        let total = self.op(ScalarOp::Add, &[self.dims_of_atom(x)[0], self.dims_of_atom(y)[0]])?;
        self.view(View::Append { with }, x, Ty { base: BaseTy::I64, dims: vec![total] })
    }

    /// What a message shows of a vector of ints, as an operand of its trap.
    pub fn counted(&mut self, xs: Atom) -> R<Vec<Atom>> {
        let rank = self.dims_of_atom(xs)[0];
        let padding = self.ints("shown", vec![Atom::int(0); MOST_SHOWN])?;
        let padded = self.append_ints(xs, padding)?;
        let mut all = vec![rank];
        for k in 0..MOST_SHOWN {
            all.push(self.index(padded, &[Atom::int(k as i64)])?);
        }
        Ok(all)
    }

    /// A closed shape as an operand of a trap, and how long it is.
    pub fn shown(&mut self, s: &Shape) -> R<(Len, Vec<Atom>)> {
        if is_known(s) {
            let sizes = self.sizes(s)?;
            return Ok((sizes.len().into(), sizes));
        }
        let dims = self.dims_vector(s)?;
        Ok((Len::Unknown, self.counted(dims)?))
    }

    // ---- loops over the axes of a shape -----------------------------------------------------------------

    /// A loop over the numbers from 0 up to `n`, whose state is scalars: the body gives the next one.
    pub fn each<const K: usize>(
        &mut self,
        n: Atom,
        start: [Atom; K],
        body: impl FnOnce(&mut Self, Atom, [Atom; K]) -> R<[Atom; K]>,
    ) -> R<[Atom; K]> {
        let state = start.map(|a| {
            let ty = Ty::scalar(self.base_of(a));
            (self.fresh("p", ty), a)
        });
        let axis: Axis = self.open_axes(&[n])[0];
        let next = body(self, axis.var.into(), state.map(|(v, _)| v.into()))?;
        let body = Body { stmts: self.close().stmts, results: next.to_vec() };
        let after = start.map(|a| {
            let ty = Ty::scalar(self.base_of(a));
            self.fresh("p", ty)
        });
        self.emit(after.to_vec(), Exp::For { axis, state: state.to_vec(), body })?;
        Ok(after.map(Atom::Var))
    }

    /// The product of the numbers in a vector, none of which is negative; the greatest `int` where it is more, of
    /// which there is no array.
    pub fn product_of(&mut self, dims: Atom) -> R<Atom> {
        let n = self.dims_of_atom(dims)[0];
        let [size] = self.each(n, [Atom::int(1)], |b, j, [p]| {
            let d = b.index(dims, &[j])?;
            let (x, y) = (b.cast(BaseTy::F64, p)?, b.cast(BaseTy::F64, d)?);
            let magnitude = b.op(ScalarOp::Mul, &[x, y])?;
            let product = b.op(ScalarOp::Mul, &[p, d])?;
            // One that has wrapped is off by 2^64, or more.
            let wrapped = b.cast(BaseTy::F64, product)?;
            let off = b.op(ScalarOp::Sub, &[magnitude, wrapped])?;
            let off = b.op(ScalarOp::Abs, &[off])?;
            let fits = b.op(ScalarOp::Lt, &[off, Atom::Const(Scalar::F64((1u64 << 60) as f64))])?;
            Ok([b.op(ScalarOp::Select, &[fits, product, Atom::int(i64::MAX)])?])
        })?;
        Ok(size)
    }

    /// The first number in a vector that is negative, or else one that is not.
    pub fn negative_in(&mut self, xs: Atom) -> R<Atom> {
        let n = self.dims_of_atom(xs)[0];
        let [found] = self.each(n, [Atom::int(0)], |b, j, [found]| {
            let x = b.index(xs, &[j])?;
            let have = b.op(ScalarOp::Lt, &[found, Atom::int(0)])?;
            Ok([b.op(ScalarOp::Select, &[have, found, x])?])
        })?;
        Ok(found)
    }

    /// How far it is, in elements, from one place on each axis to the next.
    pub fn strides(&mut self, dims: Atom) -> R<Atom> {
        let n = self.dims_of_atom(dims)[0];
        self.tabulate("stride", BaseTy::I64, &[n], Vec::new(), |b, at| {
            let [stride] = b.each(n, [Atom::int(1)], |b, k, [p]| {
                let d = b.index(dims, &[k])?;
                let product = b.op(ScalarOp::Mul, &[p, d])?;
                let behind = b.op(ScalarOp::Lt, &[at[0], k])?;
                Ok([b.op(ScalarOp::Select, &[behind, product, p])?])
            })?;
            Ok(stride)
        })
    }

    /// Whether two vectors are of one length and have the same numbers.
    pub fn same_numbers(&mut self, xs: Atom, ys: Atom) -> R<Atom> {
        let (m, n) = (self.dims_of_atom(xs)[0], self.dims_of_atom(ys)[0]);
        let alike = self.equal(m, n)?;
        let both = self.op(ScalarOp::Min2, &[m, n])?;
        let [same] = self.each(both, [alike], |b, j, [same]| {
            let (x, y) = (b.index(xs, &[j])?, b.index(ys, &[j])?);
            let equal = b.op(ScalarOp::Eq, &[x, y])?;
            Ok([b.op(ScalarOp::And, &[same, equal])?])
        })?;
        Ok(same)
    }

    // ---- where shapes of different ranks meet -----------------------------------------------------------

    /// For each shape that boxes in two values hide, in the order of [`Build::made_opaque`], whether the one and the
    /// other has to be made opaque so that both are stored alike.
    pub fn differing(&self, a: &Val<'a>, b: &Val<'a>, out: &mut Differing) -> R<()> {
        match (a, b) {
            (Val::Base(_), Val::Base(_)) | (Val::Fns { .. }, Val::Fns { .. }) => Ok(()),
            (Val::Tuple { fields: xs, .. }, Val::Tuple { fields: ys, .. }) if xs.len() == ys.len() => {
                xs.iter().zip(ys.iter()).try_for_each(|(x, y)| self.differing(x, y, out))
            }
            (Val::Box(x), Val::Box(y)) if x.witnesses.len() == y.witnesses.len() => {
                for w in x.witnesses.iter().zip(&y.witnesses) {
                    if let (Index::Shape(v), Index::Shape(w)) = w {
                        let rank = |s: &Shape| is_known(s).then(|| s.items().len());
                        out.meet(rank(v), rank(w));
                    }
                }
                self.differing(&x.contents, &y.contents, out)
            }
            (Val::Ragged(x), Val::Ragged(y)) => x.differing(y, out),
            _ => bug("values of different types meet"),
        }
    }

    /// A value of the closed type `ty`, its arrays of boxes stored flat, with the shapes that `which` says opaque.
    pub fn made_opaque(
        &mut self,
        v: &Val<'a>,
        ty: &ArrTy,
        which: &mut std::slice::Iter<'_, bool>,
    ) -> R<Val<'a>> {
        Ok(match (v, &ty.atom) {
            (Val::Tuple { frame, fields }, AtomTy::Tuple(q)) => {
                let fields = fields.iter().zip(&q.fields);
                let fields = fields.map(|(f, (_, t))| self.made_opaque(f, &t.lifted(&ty.shape), which));
                let fields = fields.collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: frame.clone(), fields: fields.into() }
            }
            (Val::Box(b), AtomTy::Sigma(q)) => {
                let (mut old, mut new) = (Subst::new(), Subst::new());
                let mut witnesses = Vec::with_capacity(b.witnesses.len());
                for (p, w) in q.params.iter().zip(&b.witnesses) {
                    old.bind_index(p, w.clone());
                    let w = match w {
                        Index::Shape(s) if which.next().is_some_and(|made| *made) => {
                            Index::Shape(self.as_opaque(s)?)
                        }
                        w => w.clone(),
                    };
                    new.bind_index(p, w.clone());
                    witnesses.push(w);
                }
                let to = new.arr(&q.body);
                let contents = self.restored(&b.contents, &old.arr(&q.body), &to)?;
                let contents = self.made_opaque(&contents, &to, which)?;
                Val::boxed(b.ty.clone(), witnesses, contents)
            }
            (Val::Ragged(r), _) => Val::Ragged(Rc::new(self.ragged_opaque(r, which)?)),
            _ => v.clone(),
        })
    }

    /// A value of the closed type `from` as one of the type `to`, which differs in how shapes are written alone.
    pub fn restored(&mut self, v: &Val<'a>, from: &ArrTy, to: &ArrTy) -> R<Val<'a>> {
        if from == to {
            return Ok(v.clone());
        }
        let dims = self.sizes_of_type(&to.shape)?;
        Ok(match (v, &from.atom, &to.atom) {
            (Val::Base(a), ..) if self.dims_of_atom(*a).is_empty() => self.replicate(v, &dims)?,
            (Val::Base(a), ..) => Val::Base(self.shaped(*a, &dims)?),
            (Val::Tuple { fields, .. }, AtomTy::Tuple(p), AtomTy::Tuple(q)) => {
                let mut out = Vec::with_capacity(fields.len());
                for (f, ((_, s), (_, t))) in fields.iter().zip(p.fields.iter().zip(&q.fields)) {
                    out.push(self.restored(f, &s.lifted(&from.shape), &t.lifted(&to.shape))?);
                }
                Val::Tuple { frame: dims, fields: out.into() }
            }
            (Val::Box(b), AtomTy::Sigma(p), AtomTy::Sigma(q)) => {
                let (mut old, mut new) = (Subst::new(), Subst::new());
                for ((p, q), w) in p.params.iter().zip(&q.params).zip(&b.witnesses) {
                    old.bind_index(p, w.clone());
                    new.bind_index(q, w.clone());
                }
                let contents = self.restored(&b.contents, &old.arr(&p.body), &new.arr(&q.body))?;
                let one = Val::boxed(to.atom.clone(), b.witnesses.clone(), contents);
                self.replicate(&one, &dims)?
            }
            (Val::Boxes { .. } | Val::Ragged(_), ..) => {
                let r = self.ragged(v, &from.atom)?;
                if dims.is_empty() {
                    let first = vec![Atom::int(0); r.frame.len()];
                    let r = Ragged { ty: to.atom.clone(), ..r };
                    return self.ragged_cell(&r, &first);
                }
                let r = self.reframed(&r, dims.clone(), &mut |b, a| b.shaped(a, &dims))?;
                Val::Ragged(Rc::new(Ragged { ty: to.atom.clone(), ..r }))
            }
            (Val::Fns { table, fields, .. }, ..) => {
                let types = table.types();
                let mut out = Vec::with_capacity(fields.len());
                for (f, t) in fields.iter().zip(&types) {
                    out.push(self.restored(f, &t.lifted(&from.shape), &t.lifted(&to.shape))?);
                }
                let table = match from.atom == to.atom {
                    true => table.clone(),
                    false => restored_codes(table, &from.atom, &to.atom),
                };
                Val::Fns { dims, table, fields: out.into() }
            }
            _ => return bug(format!("a value that is not of its type {from}")),
        })
    }
}

/// The functions of a table as functions of another type.
fn restored_codes<'a>(table: &Table<'a>, from: &AtomTy, to: &AtomTy) -> Rc<Table<'a>> {
    let codes = table.codes.iter().map(|c| {
        let mut c = c.clone();
        if !matches!(c.fun, Fun::None) {
            let restored = Restored { fun: c.fun, from: from.clone(), to: to.clone() };
            c.fun = Fun::Restored(Rc::new(restored));
        }
        c
    });
    Rc::new(Table { codes: codes.collect() })
}
