//! Arrays of boxes, stored flat.
//!
//! ```text
//! (boxes (n) [int n] [3] ((2) [7 8]) ((0) …) ((3) [4 5 6]))
//!   ⟶  witness n  [2 0 3]      starts  [0 2 2]      data  [7 8 4 5 6]
//! ```
//!
//! The frame's arrays, the witnesses and where the contents of each box start, are arranged like any
//! other arrays; the data stay where they are, and may be shared. Contents that are arrays of boxes
//! themselves start at a box of an inner array of boxes, which has all of them in one axis.
//!
//! A map whose body gives boxes is a `join`: what has one size for all is collected, the contents are put
//! one after the other. So the data of a map are in the order of its boxes; those of a rearranged array
//! need not be.

use crate::build::val::{Boxed, Fun, Val};
use crate::build::{Build, R, bug, limit};
use crate::ir::Atom;
use crate::ir::*;
use crate::limits::Construct;
use remc_base::ids::Id;
use remc_base::ops::ScalarOp;
use remc_base::*;
use std::rc::Rc;

/// An array of boxes.
#[derive(Clone)]
pub(crate) struct Ragged<'a> {
    pub frame: Vec<Atom>,
    /// The closed type of the boxes, a Σ.
    pub ty: AtomTy,
    /// Of each index that the boxes hide, its value in each box: arrays of ints of the frame's shape.
    pub witnesses: Vec<Lengths>,
    pub contents: Part<'a>,
}

#[derive(Clone)]
pub(crate) enum Lengths {
    Dim(Atom),
    /// Of each axis.
    Shape(Vec<Atom>),
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
    Fns {
        /// As for `Base`, if there are several functions.
        tags: Option<(Atom, Atom)>,
        table: Rc<[Fun<'a>]>,
    },
}

type Leaf<'f, 'a> = &'f mut dyn FnMut(&mut Build<'a>, Atom) -> R<Atom>;

impl Lengths {
    pub fn atoms(&self) -> &[Atom] {
        match self {
            Lengths::Dim(a) => std::slice::from_ref(a),
            Lengths::Shape(all) => all,
        }
    }

    fn map(&self, f: impl FnMut(&Atom) -> R<Atom>) -> R<Lengths> {
        let all = self.atoms().iter().map(f).collect::<R<Vec<_>>>()?;
        Ok(match self {
            Lengths::Dim(_) => Lengths::Dim(all[0]),
            Lengths::Shape(_) => Lengths::Shape(all),
        })
    }
}

/// Whether values of the type are boxes or tuples that hold some.
pub(crate) fn holds_boxes(t: &AtomTy) -> bool {
    match t {
        AtomTy::Sigma(_) => true,
        AtomTy::Tuple(q) => q.fields.iter().any(|(_, t)| holds_boxes(&t.atom)),
        _ => false,
    }
}

fn sigma(ty: &AtomTy) -> R<&SigmaTy> {
    match ty {
        AtomTy::Sigma(q) => Ok(q),
        other => bug(format!("a box of type {other}")),
    }
}

impl<'a> Ragged<'a> {
    /// All atoms, in the order of [`Build::like_ragged`].
    pub fn atoms(&self, b: &Build<'a>, out: &mut Vec<Atom>) {
        self.witnesses.iter().for_each(|w| out.extend(w.atoms()));
        self.contents.atoms(b, out);
    }

    /// Whether it mentions a variable of Mono with a number from `first` on.
    pub fn mentions(&self, first: usize) -> bool {
        let new = |a: &Atom| a.as_var().is_some_and(|v| v.index() >= first);
        let mut any = self.frame.iter().chain(self.witnesses.iter().flat_map(Lengths::atoms)).any(new);
        self.contents.mentions(&mut |a| any |= new(a));
        self.tables(&mut |f| any |= super::capture::mentions_since(f, first));
        any
    }

    /// The functions in the boxes.
    pub fn tables(&self, f: &mut dyn FnMut(&Fun<'a>)) {
        self.contents.tables(f);
    }
}

impl<'a> Part<'a> {
    fn atoms(&self, b: &Build<'a>, out: &mut Vec<Atom>) {
        let mut leaf = |data: Atom, starts: Atom| {
            out.extend(b.dims_of_atom(data));
            out.extend([starts, data]);
        };
        match self {
            Part::Base { data, starts } => leaf(*data, *starts),
            Part::Tuple(parts) => parts.iter().for_each(|p| p.atoms(b, out)),
            Part::Box(r) => r.atoms(b, out),
            Part::Boxes { starts, inner } => {
                out.extend(&inner.frame);
                out.push(*starts);
                inner.atoms(b, out);
            }
            Part::Fns { tags, .. } => tags.iter().for_each(|(data, starts)| leaf(*data, *starts)),
        }
    }

    fn mentions(&self, f: &mut dyn FnMut(&Atom)) {
        match self {
            Part::Base { data, starts } | Part::Fns { tags: Some((data, starts)), .. } => {
                f(data);
                f(starts);
            }
            Part::Fns { tags: None, .. } => {}
            Part::Tuple(parts) => parts.iter().for_each(|p| p.mentions(f)),
            Part::Box(r) => {
                r.witnesses.iter().flat_map(Lengths::atoms).for_each(&mut *f);
                r.contents.mentions(f);
            }
            Part::Boxes { starts, inner } => {
                f(starts);
                inner.frame.iter().chain(inner.witnesses.iter().flat_map(Lengths::atoms)).for_each(&mut *f);
                inner.contents.mentions(f);
            }
        }
    }

    fn tables(&self, f: &mut dyn FnMut(&Fun<'a>)) {
        match self {
            Part::Base { .. } => {}
            Part::Tuple(parts) => parts.iter().for_each(|p| p.tables(f)),
            Part::Box(r) | Part::Boxes { inner: r, .. } => r.contents.tables(f),
            Part::Fns { table, .. } => table.iter().for_each(f),
        }
    }
}

impl<'a> Build<'a> {
    // ---- parts of arrays of boxes -----------------------------------------------------------------------

    /// The same boxes in another frame: `f` rearranges each array of the frame's shape.
    pub fn reframed(&mut self, r: &Ragged<'a>, frame: Vec<Atom>, f: Leaf<'_, 'a>) -> R<Ragged<'a>> {
        let witnesses = r.witnesses.iter().map(|w| w.map(|a| f(self, *a))).collect::<R<Vec<_>>>()?;
        let contents = self.reframed_part(&r.contents, &frame, f)?;
        Ok(Ragged { frame, ty: r.ty.clone(), witnesses, contents })
    }

    fn reframed_part(&mut self, p: &Part<'a>, frame: &[Atom], f: Leaf<'_, 'a>) -> R<Part<'a>> {
        Ok(match p {
            Part::Base { data, starts } => Part::Base { data: *data, starts: f(self, *starts)? },
            Part::Tuple(parts) => {
                Part::Tuple(parts.iter().map(|p| self.reframed_part(p, frame, f)).collect::<R<Vec<_>>>()?)
            }
            Part::Box(r) => Part::Box(Rc::new(self.reframed(r, frame.to_vec(), f)?)),
            Part::Boxes { starts, inner } => Part::Boxes { starts: f(self, *starts)?, inner: inner.clone() },
            Part::Fns { tags, table } => Part::Fns {
                tags: tags.map(|(data, starts)| R::Ok((data, f(self, starts)?))).transpose()?,
                table: table.clone(),
            },
        })
    }

    /// The boxes at the given indices, which are in bounds: an array of fewer axes, or one box.
    pub fn ragged_cell(&mut self, r: &Ragged<'a>, at: &[Atom]) -> R<Val<'a>> {
        let Some(frame) = r.frame.get(at.len()..) else { return bug("a cell of more axes than there are") };
        let cell = self.reframed(r, frame.to_vec(), &mut |b, a| b.index(a, at))?;
        if frame.is_empty() { self.one_box(&cell) } else { Ok(Val::Ragged(Rc::new(cell))) }
    }

    /// The box that is the whole array.
    fn one_box(&mut self, r: &Ragged<'a>) -> R<Val<'a>> {
        let q = sigma(&r.ty)?;
        let mut subst = Subst::new();
        let mut witnesses = Vec::with_capacity(q.params.len());
        for (p, w) in q.params.iter().zip(&r.witnesses) {
            w.atoms().iter().filter_map(|a| a.as_var()).for_each(|v| {
                self.natural.insert(v);
            });
            let mut dims = w.atoms().iter().map(|a| self.dim_of(*a));
            let i = match w {
                Lengths::Dim(_) => Index::Dim(dims.next().unwrap_or(Dim::zero())),
                Lengths::Shape(_) => Index::Shape(Shape::of_dims(dims)),
            };
            subst.bind_index(p, i.clone());
            witnesses.push(i);
        }
        let contents = self.contents_of(&r.contents, &subst.arr(&q.body), &[])?;
        Ok(Val::boxed(r.ty.clone(), witnesses, contents))
    }

    /// The contents of the one box of a frame without axes, of the closed type `ty` with `outer` in front.
    fn contents_of(&mut self, p: &Part<'a>, ty: &ArrTy, outer: &[Atom]) -> R<Val<'a>> {
        let own = self.sizes_of_type(&ty.shape)?;
        let dims: Vec<Atom> = outer.iter().copied().chain(own).collect();
        Ok(match (p, &ty.atom) {
            (Part::Base { data, starts }, _) => Val::Base(self.elements_from(*data, *starts, &dims)?),
            (Part::Tuple(parts), AtomTy::Tuple(q)) => {
                let fields = parts
                    .iter()
                    .zip(&q.fields)
                    .map(|(p, (_, t))| self.contents_of(p, t, &dims))
                    .collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: dims, fields: fields.into() }
            }
            (Part::Box(r), _) => self.one_box(r)?,
            (Part::Boxes { starts, inner }, _) => {
                let r = self.reframed(inner, dims.clone(), &mut |b, a| b.elements_from(a, *starts, &dims))?;
                Val::Ragged(Rc::new(r))
            }
            (Part::Fns { tags, table }, _) => {
                let tags = tags.map(|(data, starts)| self.elements_from(data, starts, &dims)).transpose()?;
                Val::Fns { dims, tags, table: table.clone() }
            }
            _ => return bug(format!("contents that are not of type {ty}")),
        })
    }

    /// The elements of an array of these dims, from `start` on in a vector.
    fn elements_from(&mut self, data: Atom, start: Atom, dims: &[Atom]) -> R<Atom> {
        if dims.is_empty() {
            return self.index(data, &[start]);
        }
        let base = self.base_of(data);
        let count = self.product(dims)?;
        let view = View::Slice { start: vec![start], dims: vec![count] };
        let part = self.view(view, data, Ty { base, dims: vec![count] })?;
        self.shaped(part, dims)
    }

    /// The elements of an array in another shape of as many.
    fn shaped(&mut self, a: Atom, dims: &[Atom]) -> R<Atom> {
        if self.dims_of_atom(a) == dims {
            return Ok(a);
        }
        if dims.is_empty() {
            let first = vec![Atom::int(0); self.dims_of_atom(a).len()];
            return self.index(a, &first);
        }
        let base = self.base_of(a);
        self.view(View::Reshape { dims: dims.to_vec() }, a, Ty { base, dims: dims.to_vec() })
    }

    pub fn product(&mut self, dims: &[Atom]) -> R<Atom> {
        dims.iter().try_fold(Atom::int(1), |n, d| self.op(ScalarOp::Mul, &[n, *d]))
    }

    fn sum(&mut self, a: Atom, b: Atom) -> R<Atom> {
        self.op(ScalarOp::Add, &[a, b])
    }

    // ---- from boxes that are known one by one -----------------------------------------------------------

    /// The value with its arrays of boxes stored flat; `ty` is its closed type.
    pub fn settled(&mut self, v: Val<'a>, ty: &ArrTy) -> R<Val<'a>> {
        Ok(match (v, &ty.atom) {
            (Val::Tuple { frame, fields }, AtomTy::Tuple(q)) if holds_boxes(&ty.atom) => {
                let fields = fields
                    .iter()
                    .zip(&q.fields)
                    .map(|(f, (_, t))| self.settled(f.clone(), &t.lifted(&ty.shape)))
                    .collect::<R<Vec<_>>>()?;
                Val::Tuple { frame, fields: fields.into() }
            }
            (Val::Box(b), AtomTy::Sigma(q)) => {
                let mut subst = Subst::new();
                q.params.iter().zip(&b.witnesses).for_each(|(p, w)| subst.bind_index(p, w.clone()));
                let contents = self.settled(b.contents.clone(), &subst.arr(&q.body))?;
                Val::boxed(b.ty.clone(), b.witnesses.clone(), contents)
            }
            (v @ Val::Boxes { .. }, t) => Val::Ragged(Rc::new(self.ragged(&v, t)?)),
            (v, _) => v,
        })
    }

    /// One box, or an array of boxes, as an array stored flat; `ty` is the closed type of the boxes.
    pub fn ragged(&mut self, v: &Val<'a>, ty: &AtomTy) -> R<Ragged<'a>> {
        match v {
            Val::Ragged(r) => Ok((**r).clone()),
            Val::Box(_) => {
                let one = self.gathered(std::slice::from_ref(v), ty)?;
                self.reframed(&one, Vec::new(), &mut |b, a| b.index(a, &[Atom::int(0)]))
            }
            Val::Boxes { dims, elems, .. } => {
                let all = self.gathered(elems, ty)?;
                let frame: Vec<Atom> = dims.iter().map(|n| Atom::int(*n as i64)).collect();
                self.reframed(&all, frame.clone(), &mut |b, a| b.shaped(a, &frame))
            }
            _ => bug("an array of boxes that is none"),
        }
    }

    /// Boxes in a frame of one axis.
    fn gathered(&mut self, boxes: &[Val<'a>], ty: &AtomTy) -> R<Ragged<'a>> {
        let q = sigma(ty)?;
        let frame = vec![Atom::int(boxes.len() as i64)];
        let mut contents = Vec::with_capacity(boxes.len());
        let mut sizes: Vec<Vec<Vec<Atom>>> = vec![Vec::new(); q.params.len()];
        for v in boxes {
            let Val::Box(b) = v else { return bug("an array of boxes with something else in it") };
            let mut subst = Subst::new();
            for ((p, w), all) in q.params.iter().zip(&b.witnesses).zip(&mut sizes) {
                subst.bind_index(p, w.clone());
                all.push(match w {
                    Index::Dim(d) => vec![self.size(d)?],
                    Index::Shape(s) => self.sizes(s)?,
                });
            }
            contents.push((b.contents.clone(), subst.arr(&q.body)));
        }
        let mut witnesses = Vec::with_capacity(sizes.len());
        for (p, all) in q.params.iter().zip(sizes) {
            let rank = all.first().map_or(1, Vec::len);
            if all.iter().any(|w| w.len() != rank) {
                let message = "the boxes of an array hold arrays of different numbers of axes";
                return limit(self, Construct::UnknownRank, message);
            }
            let mut arrays = Vec::with_capacity(rank);
            for k in 0..rank {
                let column = all.iter().map(|w| w[k]).collect();
                arrays.push(self.literal(p.name.as_str(), BaseTy::I64, frame.clone(), column)?);
            }
            witnesses.push(match p.sort {
                Sort::Dim => Lengths::Dim(arrays[0]),
                Sort::Shape => Lengths::Shape(arrays),
            });
        }
        let contents = if contents.is_empty() {
            self.no_contents(&q.body, &frame)?
        } else {
            self.gathered_part(contents, &frame)?
        };
        Ok(Ragged { frame, ty: ty.clone(), witnesses, contents })
    }

    /// The contents of no boxes.
    fn no_contents(&mut self, ty: &ArrTy, frame: &[Atom]) -> R<Part<'a>> {
        let zero = || vec![Atom::int(0)];
        Ok(match &ty.atom {
            AtomTy::Base(b) => Part::Base {
                data: self.literal("data", *b, zero(), Vec::new())?,
                starts: self.literal("starts", BaseTy::I64, frame.to_vec(), Vec::new())?,
            },
            AtomTy::Tuple(q) => {
                Part::Tuple(q.fields.iter().map(|(_, t)| self.no_contents(t, frame)).collect::<R<Vec<_>>>()?)
            }
            AtomTy::Sigma(_) => Part::Boxes {
                starts: self.literal("starts", BaseTy::I64, frame.to_vec(), Vec::new())?,
                inner: Rc::new(self.gathered(&[], &ty.atom)?),
            },
            _ => Part::Fns { tags: None, table: Rc::from([Fun::Op(ScalarOp::Not)]) },
        })
    }

    fn gathered_part(&mut self, all: Vec<(Val<'a>, ArrTy)>, frame: &[Atom]) -> R<Part<'a>> {
        Ok(match &all[0].0 {
            Val::Base(_) => {
                let mut arrays = Vec::with_capacity(all.len());
                for (v, _) in &all {
                    let Val::Base(a) = v else { return bug("boxes with contents of different types") };
                    arrays.push(*a);
                }
                let (data, starts) = self.appended(&arrays, frame)?;
                Part::Base { data, starts }
            }
            Val::Tuple { fields, .. } => {
                let mut parts = Vec::with_capacity(fields.len());
                for k in 0..fields.len() {
                    let column = all.iter().map(|(v, ty)| match (v, &ty.atom) {
                        (Val::Tuple { fields, .. }, AtomTy::Tuple(q)) if k < fields.len() => {
                            Ok((fields[k].clone(), q.fields[k].1.lifted(&ty.shape)))
                        }
                        _ => bug("boxes with contents of different types"),
                    });
                    let column = column.collect::<R<Vec<_>>>()?;
                    parts.push(self.gathered_part(column, frame)?);
                }
                Part::Tuple(parts)
            }
            Val::Box(_) => {
                let boxes: Vec<Val> = all.iter().map(|(v, _)| v.clone()).collect();
                Part::Box(Rc::new(self.gathered(&boxes, &all[0].1.atom)?))
            }
            Val::Boxes { .. } | Val::Ragged(_) => {
                let mut inner: Option<Ragged> = None;
                let mut starts = Vec::with_capacity(all.len());
                let mut total = Atom::int(0);
                for (v, ty) in &all {
                    let r = self.ragged(v, &ty.atom)?;
                    let count = self.product(&r.frame)?;
                    let line = vec![count];
                    let r = self.reframed(&r, line.clone(), &mut |b, a| b.shaped(a, &line))?;
                    starts.push(total);
                    total = self.sum(total, count)?;
                    inner = Some(match inner {
                        None => r,
                        Some(before) => self.append_ragged(&before, &r, total)?,
                    });
                }
                let starts = self.literal("starts", BaseTy::I64, frame.to_vec(), starts)?;
                let Some(inner) = inner else { return bug("no boxes") };
                Part::Boxes { starts, inner: Rc::new(inner) }
            }
            Val::Fns { .. } => {
                let mut table: Vec<Fun<'a>> = Vec::new();
                let mut arrays = Vec::with_capacity(all.len());
                for (v, _) in &all {
                    let Val::Fns { dims, tags, table: part } = v else {
                        return bug("boxes with contents of different types");
                    };
                    arrays.push(self.shifted_tags(dims, *tags, table.len())?);
                    table.extend(part.iter().cloned());
                }
                let (data, starts) = self.appended(&arrays, frame)?;
                Part::Fns { tags: Some((data, starts)), table: table.into() }
            }
        })
    }

    /// The elements of all arrays in one vector, and where those of each start.
    fn appended(&mut self, arrays: &[Atom], frame: &[Atom]) -> R<(Atom, Atom)> {
        let (mut data, mut total) = (None, Atom::int(0));
        let mut starts = Vec::with_capacity(arrays.len());
        for a in arrays {
            let base = self.base_of(*a);
            let dims = self.dims_of_atom(*a);
            let line = match dims.is_empty() {
                true => self.literal("x", base, vec![Atom::int(1)], vec![*a])?,
                false => {
                    let count = self.product(&dims)?;
                    self.shaped(*a, &[count])?
                }
            };
            starts.push(total);
            let count = self.dims_of_atom(line)[0];
            total = self.sum(total, count)?;
            data = Some(match data {
                None => line,
                Some(before) => self.append_line(before, line, total)?,
            });
        }
        let Some(data) = data else { return bug("nothing to append") };
        Ok((data, self.literal("starts", BaseTy::I64, frame.to_vec(), starts)?))
    }

    fn append_line(&mut self, before: Atom, after: Atom, total: Atom) -> R<Atom> {
        let Atom::Var(with) = after else { return bug("append of a scalar") };
        let Ty { base, mut dims } = self.program.ty(with).clone();
        dims[0] = total;
        self.view(View::Append { with }, before, Ty { base, dims })
    }

    /// The boxes of one array and then those of another, `total` many along the first axis.
    pub fn append_ragged(&mut self, x: &Ragged<'a>, y: &Ragged<'a>, total: Atom) -> R<Ragged<'a>> {
        let mut frame = x.frame.clone();
        frame[0] = total;
        let mut witnesses = Vec::with_capacity(x.witnesses.len());
        for (v, w) in x.witnesses.iter().zip(&y.witnesses) {
            if v.atoms().len() != w.atoms().len() {
                let message = "the boxes of an array hold arrays of different numbers of axes";
                return limit(self, Construct::UnknownRank, message);
            }
            let mut ys = w.atoms().iter();
            witnesses.push(v.map(|a| self.append_line(*a, *ys.next().unwrap_or(a), total))?);
        }
        let contents = self.append_part(&x.contents, &y.contents, total, &y.frame)?;
        Ok(Ragged { frame, ty: x.ty.clone(), witnesses, contents })
    }

    fn append_part(&mut self, x: &Part<'a>, y: &Part<'a>, total: Atom, frame: &[Atom]) -> R<Part<'a>> {
        Ok(match (x, y) {
            (Part::Base { data, starts }, Part::Base { data: data2, starts: starts2 }) => {
                let (data, starts) = self.append_data((*data, *starts), (*data2, *starts2), total, frame)?;
                Part::Base { data, starts }
            }
            (Part::Tuple(xs), Part::Tuple(ys)) if xs.len() == ys.len() => {
                let all = xs.iter().zip(ys).map(|(x, y)| self.append_part(x, y, total, frame));
                Part::Tuple(all.collect::<R<Vec<_>>>()?)
            }
            (Part::Box(x), Part::Box(y)) => Part::Box(Rc::new(self.append_ragged(x, y, total)?)),
            (Part::Boxes { starts, inner }, Part::Boxes { starts: starts2, inner: inner2 }) => {
                let by = inner.frame[0];
                let count = self.sum(by, inner2.frame[0])?;
                let inner = self.append_ragged(inner, inner2, count)?;
                let shifted = self.shifted(*starts2, by, frame)?;
                let starts = self.append_line(*starts, shifted, total)?;
                Part::Boxes { starts, inner: Rc::new(inner) }
            }
            (Part::Fns { tags, table: f }, Part::Fns { tags: tags2, table: g }) => {
                let same = f.len() == g.len() && f.iter().zip(g.iter()).all(|(f, g)| f.same(g));
                match (tags, tags2) {
                    (None, None) if same => Part::Fns { tags: None, table: f.clone() },
                    (Some(s), Some(t)) if same => {
                        let tags = self.append_data(*s, *t, total, frame)?;
                        Part::Fns { tags: Some(tags), table: f.clone() }
                    }
                    _ => return self.no_boxes("boxes of different functions are put into one array"),
                }
            }
            _ => return bug("append of boxes of different types"),
        })
    }

    fn append_data(
        &mut self,
        (data, starts): (Atom, Atom),
        (data2, starts2): (Atom, Atom),
        total: Atom,
        frame: &[Atom],
    ) -> R<(Atom, Atom)> {
        let by = self.dims_of_atom(data)[0];
        let count = self.sum(by, self.dims_of_atom(data2)[0])?;
        let data = self.append_line(data, data2, count)?;
        let shifted = self.shifted(starts2, by, frame)?;
        Ok((data, self.append_line(starts, shifted, total)?))
    }

    fn shifted(&mut self, starts: Atom, by: Atom, frame: &[Atom]) -> R<Atom> {
        self.tabulate("starts", BaseTy::I64, frame, Vec::new(), |b, at| {
            let start = b.index(starts, at)?;
            b.sum(start, by)
        })
    }

    /// The arrays of boxes of the positions of a frame, as one array of the dims `whole`.
    pub fn collect_ragged(&mut self, all: Vec<Val<'a>>, ty: &AtomTy, whole: Vec<Atom>) -> R<Ragged<'a>> {
        let mut joined: Option<Ragged> = None;
        let mut total = Atom::int(0);
        for v in &all {
            let r = self.ragged(v, ty)?;
            let count = self.product(&r.frame)?;
            let line = vec![count];
            let r = self.reframed(&r, line.clone(), &mut |b, a| b.shaped(a, &line))?;
            total = self.sum(total, count)?;
            joined = Some(match joined {
                None => r,
                Some(before) => self.append_ragged(&before, &r, total)?,
            });
        }
        let Some(r) = joined else { return bug("nothing to collect") };
        self.reframed(&r, whole.clone(), &mut |b, a| b.shaped(a, &whole))
    }

    /// A value with the numbers that say what the boxes of its arrays are in the place of these, and its
    /// type: what is enough to choose boxes, and to put them into another order.
    pub fn headers(&mut self, v: &Val<'a>, ty: &ArrTy) -> R<(Val<'a>, ArrTy)> {
        Ok(match (v, &ty.atom) {
            (Val::Tuple { frame, fields }, AtomTy::Tuple(q)) if holds_boxes(&ty.atom) => {
                let (mut values, mut types) = (Vec::new(), Vec::new());
                for (f, (label, t)) in fields.iter().zip(&q.fields) {
                    let (f, t) = self.headers(f, t)?;
                    values.push(f);
                    types.push((label.clone(), t));
                }
                let frame = frame.clone();
                let ty = ArrTy::new(AtomTy::tuple(types), ty.shape.clone());
                (Val::Tuple { frame, fields: values.into() }, ty)
            }
            (Val::Box(_) | Val::Boxes { .. } | Val::Ragged(_), t) => {
                let r = self.ragged(v, t)?;
                let mut arrays = Vec::new();
                let mut keep = |_: &mut Self, a: Atom| {
                    arrays.push(Val::Base(a));
                    Ok(a)
                };
                self.reframed(&r, r.frame.clone(), &mut keep)?;
                let fields = arrays.iter().map(|_| (None, ArrTy::scalar(AtomTy::INT))).collect();
                let ty = ArrTy::new(AtomTy::tuple(fields), ty.shape.clone());
                (Val::Tuple { frame: r.frame.clone(), fields: arrays.into() }, ty)
            }
            _ => (v.clone(), ty.clone()),
        })
    }

    /// The other way: `like` is what the headers were made of.
    pub fn with_headers(&mut self, h: Val<'a>, like: &Val<'a>, ty: &ArrTy) -> R<Val<'a>> {
        Ok(match (h, like, &ty.atom) {
            (Val::Tuple { frame, fields: all }, Val::Tuple { fields, .. }, AtomTy::Tuple(q)) => {
                let mut values = Vec::with_capacity(all.len());
                for ((h, f), (_, t)) in all.iter().zip(fields.iter()).zip(&q.fields) {
                    values.push(self.with_headers(h.clone(), f, t)?);
                }
                Val::Tuple { frame, fields: values.into() }
            }
            (Val::Tuple { frame, fields }, Val::Box(_) | Val::Boxes { .. } | Val::Ragged(_), t) => {
                let r = self.ragged(like, t)?;
                let mut all = fields.iter();
                let mut next = |_: &mut Self, _: Atom| match all.next() {
                    Some(Val::Base(a)) => Ok(*a),
                    _ => bug("boxes with fewer numbers"),
                };
                let r = self.reframed(&r, frame.clone(), &mut next)?;
                if frame.is_empty() { self.one_box(&r)? } else { Val::Ragged(Rc::new(r)) }
            }
            (h, ..) => h,
        })
    }

    /// How an array of boxes is a result of the program.
    pub fn boxes_output(&mut self, r: &Ragged<'a>, results: &mut Vec<Atom>) -> Output {
        let frame = place_all(&r.frame, results);
        let witnesses = r.witnesses.iter().map(|w| match w {
            Lengths::Dim(a) => Witness::Dim(place(*a, results)),
            Lengths::Shape(all) => Witness::Shape(place_all(all, results)),
        });
        let witnesses = witnesses.collect();
        let contents = Box::new(self.part_output(&r.contents, &r.ty, results));
        Output::Boxes { frame, ty: r.ty.clone(), witnesses, contents }
    }

    fn part_output(&mut self, p: &Part<'a>, ty: &AtomTy, results: &mut Vec<Atom>) -> Output {
        match p {
            Part::Base { data, starts } | Part::Fns { tags: Some((data, starts)), .. } => {
                Output::Part { starts: place(*starts, results), data: place(*data, results) }
            }
            Part::Tuple(parts) => {
                let labels = match ty {
                    AtomTy::Sigma(q) => labels(&q.body.atom),
                    t => labels(t),
                };
                let fields = parts.iter().enumerate().map(|(k, p)| {
                    let (label, t) = labels.get(k).cloned().unwrap_or((None, AtomTy::INT));
                    (label, self.part_output(p, &t, results))
                });
                let fields = fields.collect();
                Output::Tuple { frame: Vec::new(), fields }
            }
            Part::Box(r) => self.boxes_output(r, results),
            Part::Boxes { starts, inner } => {
                let starts = place(*starts, results);
                Output::Parts { starts, boxes: Box::new(self.boxes_output(inner, results)) }
            }
            // Functions are not results: the limitation has been reported before.
            Part::Fns { tags: None, .. } => Output::Tuple { frame: Vec::new(), fields: Vec::new() },
        }
    }

    // ---- from and to vectors ------------------------------------------------------------------------------

    /// The running sums, or maxima, of a vector of ints, `size` many.
    pub fn sums(
        &mut self,
        name: &str,
        n: Atom,
        op: ScalarOp,
        kind: ScanKind,
        size: Atom,
        xs: Atom,
    ) -> R<Atom> {
        let axes = self.open_axes(&[n]);
        let x = self.index(xs, &[Atom::Var(axes[0].var)])?;
        let body = Body { stmts: self.close().stmts, results: vec![x] };
        let params = vec![self.fresh("acc", Ty::int()), self.fresh("x", Ty::int())];
        self.open();
        let sum = self.op(op, &[Atom::Var(params[0]), Atom::Var(params[1])])?;
        let lambda = Lambda { params, body: Body { stmts: self.close().stmts, results: vec![sum] } };
        let op = Combine { lambda, start: Some(vec![Atom::int(0)]), assoc: true };
        let ty = Ty { base: BaseTy::I64, dims: vec![size] };
        self.bind(name, ty, Exp::Scan { kind, axis: axes[0], body, op })
    }

    /// The items of an array, of which the first `axes` axes are one of the frame, as the contents of `k`
    /// boxes that start at the given items.
    pub fn cut(&mut self, v: &Val<'a>, axes: usize, starts: Atom, k: Atom) -> R<Part<'a>> {
        let scaled = |b: &mut Self, dims: &[Atom]| {
            let item = b.product(dims)?;
            if item == Atom::int(1) {
                return Ok(starts);
            }
            b.tabulate("starts", BaseTy::I64, &[k], Vec::new(), |b, at| {
                let start = b.index(starts, at)?;
                b.op(ScalarOp::Mul, &[start, item])
            })
        };
        let dims = self.dims_of(v);
        let Some(rest) = dims.get(axes..) else { return bug("a vector of no axis") };
        Ok(match v {
            Val::Base(a) => {
                let count = self.product(&dims)?;
                let data = self.shaped(*a, &[count])?;
                Part::Base { data, starts: scaled(self, rest)? }
            }
            Val::Tuple { fields, .. } => {
                let parts = fields.iter().map(|f| self.cut(f, axes, starts, k));
                Part::Tuple(parts.collect::<R<Vec<_>>>()?)
            }
            Val::Fns { tags, table, .. } => {
                let tags = match tags {
                    None => None,
                    Some(a) => {
                        let count = self.product(&dims)?;
                        Some((self.shaped(*a, &[count])?, scaled(self, rest)?))
                    }
                };
                Part::Fns { tags, table: table.clone() }
            }
            Val::Box(_) => return bug("one box as a vector"),
            Val::Boxes { ty, .. } => {
                let r = Val::Ragged(Rc::new(self.ragged(v, ty)?));
                self.cut(&r, axes, starts, k)?
            }
            Val::Ragged(r) => {
                let starts = scaled(self, rest)?;
                let count = self.product(&dims)?;
                let line = vec![count];
                let inner = self.reframed(r, line.clone(), &mut |b, a| b.shaped(a, &line))?;
                Part::Boxes { starts, inner: Rc::new(inner) }
            }
        })
    }

    /// All contents of boxes that are one after the other, as one array of items of the type `item`; and
    /// how many items there are.
    pub fn whole_contents(&mut self, r: &Ragged<'a>, item: &ArrTy) -> R<(Dim, Val<'a>)> {
        let [Lengths::Dim(lengths)] = r.witnesses[..] else { return bug("boxes of other indices") };
        let [k] = r.frame[..] else { return bug("boxes in other frames") };
        let more = self.dim_of(k).add(&Dim::constant(1));
        let more = self.size(&more)?;
        let sums = self.sums("start", k, ScalarOp::Add, ScanKind::Full, more, lengths)?;
        let n = self.index(sums, &[k])?;
        if let Atom::Var(v) = n {
            self.natural.insert(v);
        }
        let n = self.dim_of(n);
        let ty = item.lifted(&Shape::of_dims([n.clone()]));
        let whole = self.contents_from_start(&r.contents, &ty, &[])?;
        Ok((n, whole))
    }

    fn contents_from_start(&mut self, p: &Part<'a>, ty: &ArrTy, outer: &[Atom]) -> R<Val<'a>> {
        let own = self.sizes_of_type(&ty.shape)?;
        let dims: Vec<Atom> = outer.iter().copied().chain(own).collect();
        Ok(match (p, &ty.atom) {
            (Part::Base { data, .. }, _) => Val::Base(self.shaped(*data, &dims)?),
            (Part::Tuple(parts), AtomTy::Tuple(q)) => {
                let fields = parts.iter().zip(&q.fields);
                let fields = fields.map(|(p, (_, t))| self.contents_from_start(p, t, &dims));
                let fields = fields.collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: dims, fields: fields.into() }
            }
            (Part::Boxes { inner, .. }, _) => {
                let r = self.reframed(inner, dims.clone(), &mut |b, a| b.shaped(a, &dims))?;
                Val::Ragged(Rc::new(r))
            }
            (Part::Fns { tags, table }, _) => {
                let tags = tags.map(|(data, _)| self.shaped(data, &dims)).transpose()?;
                Val::Fns { dims, tags, table: table.clone() }
            }
            _ => return bug(format!("contents that are not of type {ty}")),
        })
    }

    // ---- through a statement ------------------------------------------------------------------------------

    /// New variables for an array of boxes like another, of the closed type `ty`, in the order of
    /// [`Ragged::atoms`].
    pub fn like_ragged(
        &mut self,
        name: &str,
        r: &Ragged<'a>,
        ty: &ArrTy,
        out: &mut Vec<Var>,
    ) -> R<Ragged<'a>> {
        let frame = self.sizes_of_type(&ty.shape)?;
        let mut r = r.clone();
        r.ty = ty.atom.clone();
        self.like_frame(name, &r, frame, out)
    }

    fn like_frame(
        &mut self,
        name: &str,
        r: &Ragged<'a>,
        frame: Vec<Atom>,
        out: &mut Vec<Var>,
    ) -> R<Ragged<'a>> {
        let mut witnesses = Vec::with_capacity(r.witnesses.len());
        for w in &r.witnesses {
            witnesses.push(w.map(|_| {
                let v = self.fresh("n", Ty { base: BaseTy::I64, dims: frame.clone() });
                out.push(v);
                Ok(Atom::Var(v))
            })?);
        }
        let contents = self.like_part(name, &r.contents, &frame, out)?;
        Ok(Ragged { frame, ty: r.ty.clone(), witnesses, contents })
    }

    fn like_part(&mut self, name: &str, p: &Part<'a>, frame: &[Atom], out: &mut Vec<Var>) -> R<Part<'a>> {
        let data = |b: &mut Self, data: Atom, out: &mut Vec<Var>| {
            let total = b.fresh_size("total");
            let starts = b.fresh("starts", Ty { base: BaseTy::I64, dims: frame.to_vec() });
            let base = b.base_of(data);
            let v = b.fresh(name, Ty { base, dims: vec![Atom::Var(total)] });
            out.extend([total, starts, v]);
            (Atom::Var(v), Atom::Var(starts))
        };
        Ok(match p {
            Part::Base { data: d, .. } => {
                let (data, starts) = data(self, *d, out);
                Part::Base { data, starts }
            }
            Part::Tuple(parts) => {
                Part::Tuple(parts.iter().map(|p| self.like_part(name, p, frame, out)).collect::<R<Vec<_>>>()?)
            }
            Part::Box(r) => Part::Box(Rc::new(self.like_frame(name, r, frame.to_vec(), out)?)),
            Part::Boxes { inner, .. } => {
                let total = self.fresh_size("total");
                let starts = self.fresh("starts", Ty { base: BaseTy::I64, dims: frame.to_vec() });
                out.extend([total, starts]);
                let inner = self.like_frame(name, inner, vec![Atom::Var(total)], out)?;
                Part::Boxes { starts: Atom::Var(starts), inner: Rc::new(inner) }
            }
            Part::Fns { tags, table } => {
                let tags = tags.map(|(d, _)| data(self, d, out));
                Part::Fns { tags, table: table.clone() }
            }
        })
    }

    /// Whether two arrays of boxes are of one structure.
    pub fn alike(&self, x: &Ragged<'a>, y: &Ragged<'a>) -> bool {
        let ranks = |r: &Ragged| r.witnesses.iter().map(|w| w.atoms().len()).collect::<Vec<_>>();
        ranks(x) == ranks(y) && self.alike_parts(&x.contents, &y.contents)
    }

    fn alike_parts(&self, x: &Part<'a>, y: &Part<'a>) -> bool {
        match (x, y) {
            (Part::Base { .. }, Part::Base { .. }) => true,
            (Part::Tuple(xs), Part::Tuple(ys)) => {
                xs.len() == ys.len() && xs.iter().zip(ys).all(|(x, y)| self.alike_parts(x, y))
            }
            (Part::Box(x), Part::Box(y)) => self.alike(x, y),
            (Part::Boxes { inner: x, .. }, Part::Boxes { inner: y, .. }) => self.alike(x, y),
            (Part::Fns { tags: s, table: f }, Part::Fns { tags: t, table: g }) => {
                s.is_some() == t.is_some()
                    && f.len() == g.len()
                    && f.iter().zip(g.iter()).all(|(f, g)| f.same(g))
            }
            _ => false,
        }
    }

    // ---- maps -----------------------------------------------------------------------------------------------

    /// A map over `frame` whose body gives a value of the closed type `ty`, which holds boxes.
    pub fn map_boxes(
        &mut self,
        name: &str,
        frame: &[Atom],
        ty: &ArrTy,
        f: impl FnOnce(&mut Self, &[Atom]) -> R<Val<'a>>,
    ) -> R<Val<'a>> {
        let n = self.product(frame)?;
        let first = self.program.vars.len();
        let axis = self.open_axes(&[n])[0];
        let mut at = Vec::with_capacity(frame.len());
        let mut rest = Atom::Var(axis.var);
        for (k, n) in frame.iter().enumerate().rev() {
            if k == 0 {
                at.push(rest);
            } else {
                at.push(self.op(ScalarOp::Modulo, &[rest, *n])?);
                rest = self.op(ScalarOp::Quotient, &[rest, *n])?;
            }
        }
        at.reverse();
        let value = f(self, &at)?;
        self.may_leave(&value, first)?;
        let value = self.settled(value, ty)?;
        let mut given = Vec::new();
        self.given(&value, false, &mut given)?;
        let regular = given.iter().filter(|(_, joined)| !joined).count();
        let results = |joined| given.iter().filter(move |(_, j)| *j == joined).map(|(a, _)| *a);
        let results = results(false).chain(results(true)).collect();
        let body = Body { stmts: self.close().stmts, results };

        // Outside of the body: the dims of what is regular come with its type.
        let mut dims = Vec::new();
        self.regular_dims(&value, ty, &mut dims)?;
        let mut dims = dims.into_iter();
        let (mut maps, mut joins, mut made) = (Vec::new(), Vec::new(), Vec::new());
        for (a, joined) in given {
            let base = self.base_of(a);
            if joined {
                let total = self.fresh_size("total");
                let starts = self.fresh("starts", Ty { base: BaseTy::I64, dims: vec![n] });
                let data = self.fresh(name, Ty { base, dims: vec![Atom::Var(total)] });
                joins.extend([total, starts, data]);
                made.push(Given::Joined { total: total.into(), starts: starts.into(), data: data.into() });
            } else {
                let Some(own) = dims.next() else { return bug("a regular result without a type") };
                let v = self.fresh(name, Ty { base, dims: std::iter::once(n).chain(own).collect() });
                maps.push(v);
                made.push(Given::Regular(v.into()));
            }
        }
        maps.extend(joins);
        self.emit(maps, Exp::Join { axis, regular, body })?;
        let mut rest = Rest { frame, count: n, given: made.into_iter() };
        self.collected(&value, ty, &mut rest)
    }

    /// The dims of what is regular in a value, in the order in which it is given.
    fn regular_dims(&mut self, v: &Val<'a>, ty: &ArrTy, out: &mut Vec<Vec<Atom>>) -> R<()> {
        match (v, &ty.atom) {
            (Val::Tuple { fields, .. }, AtomTy::Tuple(q)) => {
                for (f, (_, t)) in fields.iter().zip(&q.fields) {
                    self.regular_dims(f, &t.lifted(&ty.shape), out)?;
                }
            }
            (Val::Box(b), _) => scalars_in(b, out),
            (Val::Ragged(r), _) => {
                let dims = self.sizes_of_type(&ty.shape)?;
                let mut arrays = Vec::new();
                self.given_boxes(r, false, &mut arrays)?;
                out.extend(arrays.iter().filter(|(_, joined)| !joined).map(|_| dims.clone()));
            }
            (Val::Fns { tags: None, .. }, _) => {}
            _ => out.push(self.sizes_of_type(&ty.shape)?),
        }
        Ok(())
    }

    /// What the body gives, and whether it is joined.
    fn given(&mut self, v: &Val<'a>, joined: bool, out: &mut Vec<(Atom, bool)>) -> R<()> {
        match v {
            Val::Base(a) => {
                let a = match joined && self.dims_of_atom(*a).is_empty() {
                    true => self.literal("x", self.base_of(*a), vec![Atom::int(1)], vec![*a])?,
                    false => *a,
                };
                out.push((a, joined));
            }
            Val::Tuple { fields, .. } => fields.iter().try_for_each(|f| self.given(f, joined, out))?,
            Val::Box(b) => {
                for w in &b.witnesses {
                    match w {
                        Index::Dim(d) => out.push((self.size(d)?, false)),
                        Index::Shape(s) => out.extend(self.sizes(s)?.into_iter().map(|a| (a, false))),
                    }
                }
                self.given(&b.contents, true, out)?;
            }
            Val::Ragged(r) => self.given_boxes(r, joined, out)?,
            Val::Boxes { .. } => return bug("boxes that are not stored flat"),
            Val::Fns { dims, tags, .. } => {
                if let Some(t) = tags {
                    let t = match joined && dims.is_empty() {
                        true => self.literal("f", BaseTy::I64, vec![Atom::int(1)], vec![*t])?,
                        false => *t,
                    };
                    out.push((t, joined));
                }
            }
        }
        Ok(())
    }

    fn given_boxes(&mut self, r: &Ragged<'a>, joined: bool, out: &mut Vec<(Atom, bool)>) -> R<()> {
        out.extend(r.witnesses.iter().flat_map(Lengths::atoms).map(|a| (*a, joined)));
        self.given_part(&r.contents, joined, out)
    }

    fn given_part(&mut self, p: &Part<'a>, joined: bool, out: &mut Vec<(Atom, bool)>) -> R<()> {
        match p {
            Part::Base { data, starts } | Part::Fns { tags: Some((data, starts)), .. } => {
                out.extend([(*starts, joined), (*data, true)]);
            }
            Part::Tuple(parts) => parts.iter().try_for_each(|p| self.given_part(p, joined, out))?,
            Part::Box(r) => self.given_boxes(r, joined, out)?,
            Part::Boxes { starts, inner } => {
                out.push((*starts, joined));
                self.given_boxes(inner, true, out)?;
            }
            Part::Fns { tags: None, .. } => {}
        }
        Ok(())
    }

    /// The value of a map from what its join gives, which is there now.
    fn collected(&mut self, v: &Val<'a>, ty: &ArrTy, rest: &mut Rest<'_>) -> R<Val<'a>> {
        let over = |own: Vec<Atom>| -> Vec<Atom> { rest.frame.iter().copied().chain(own).collect() };
        Ok(match (v, &ty.atom) {
            (Val::Base(_), _) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let a = rest.regular()?;
                Val::Base(self.shaped(a, &dims)?)
            }
            (Val::Tuple { fields, .. }, AtomTy::Tuple(q)) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let fields = fields
                    .iter()
                    .zip(&q.fields)
                    .map(|(f, (_, t))| self.collected(f, &t.lifted(&ty.shape), rest))
                    .collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: dims, fields: fields.into() }
            }
            (Val::Box(b), t) => Val::Ragged(Rc::new(self.collected_box(b, t, rest)?)),
            (Val::Ragged(r), t) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let r = self.collected_boxes(r, Some(&dims), t, rest)?;
                Val::Ragged(Rc::new(r))
            }
            (Val::Fns { tags, table, .. }, _) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let tags = match tags {
                    None => None,
                    Some(_) => {
                        let a = rest.regular()?;
                        Some(self.shaped(a, &dims)?)
                    }
                };
                Val::Fns { dims, tags, table: table.clone() }
            }
            _ => return bug(format!("a value that is not of its type {ty}")),
        })
    }

    /// The boxes, one from each iteration.
    fn collected_box(&mut self, b: &Boxed<'a>, ty: &AtomTy, rest: &mut Rest<'_>) -> R<Ragged<'a>> {
        let frame = rest.frame.to_vec();
        let mut witnesses = Vec::with_capacity(b.witnesses.len());
        for w in &b.witnesses {
            let like = match w {
                Index::Dim(_) => Lengths::Dim(Atom::int(0)),
                Index::Shape(s) => Lengths::Shape(vec![Atom::int(0); s.items().len()]),
            };
            witnesses.push(like.map(|_| {
                let a = rest.regular()?;
                self.shaped(a, &frame)
            })?);
        }
        let q = sigma(ty)?;
        let contents = self.collected_contents(&b.contents, &q.body.atom, rest)?;
        Ok(Ragged { frame, ty: ty.clone(), witnesses, contents })
    }

    /// The contents of boxes, one from each iteration.
    fn collected_contents(&mut self, v: &Val<'a>, ty: &AtomTy, rest: &mut Rest<'_>) -> R<Part<'a>> {
        Ok(match (v, ty) {
            (Val::Base(_), _) => {
                let (_, starts, data) = rest.joined()?;
                Part::Base { data, starts: self.shaped(starts, rest.frame)? }
            }
            (Val::Tuple { fields, .. }, AtomTy::Tuple(q)) => {
                let fields = fields.iter().zip(&q.fields);
                let parts = fields.map(|(f, (_, t))| self.collected_contents(f, &t.atom, rest));
                Part::Tuple(parts.collect::<R<Vec<_>>>()?)
            }
            (Val::Box(b), t) => Part::Box(Rc::new(self.collected_box(b, t, rest)?)),
            (Val::Ragged(r), t) => {
                // What is joined first of the boxes says where those of each iteration start.
                let Some(Given::Joined { starts, .. }) = rest.given.as_slice().first() else {
                    return bug("arrays of boxes of which nothing is joined");
                };
                let starts = self.shaped(*starts, rest.frame)?;
                let inner = self.collected_boxes(r, None, t, rest)?;
                Part::Boxes { starts, inner: Rc::new(inner) }
            }
            (Val::Fns { tags, table, .. }, _) => {
                let tags = match tags {
                    None => None,
                    Some(_) => {
                        let (_, starts, data) = rest.joined()?;
                        Some((data, self.shaped(starts, rest.frame)?))
                    }
                };
                Part::Fns { tags, table: table.clone() }
            }
            _ => return bug(format!("contents that are not of type {ty}")),
        })
    }

    /// The boxes of all iterations: of the given dims, or of sizes of their own, then in one axis.
    fn collected_boxes(
        &mut self,
        r: &Ragged<'a>,
        dims: Option<&[Atom]>,
        ty: &AtomTy,
        rest: &mut Rest<'_>,
    ) -> R<Ragged<'a>> {
        let mut total = None;
        let mut array = |b: &mut Self, rest: &mut Rest<'_>| match dims {
            Some(dims) => {
                let a = rest.regular()?;
                b.shaped(a, dims)
            }
            None => {
                let (n, _, data) = rest.joined()?;
                total.get_or_insert(n);
                b.shaped(data, &[total.unwrap_or(n)])
            }
        };
        let mut witnesses = Vec::with_capacity(r.witnesses.len());
        for w in &r.witnesses {
            witnesses.push(w.map(|_| array(self, rest))?);
        }
        let contents = self.collected_parts(&r.contents, dims, rest)?;
        let frame = match (dims, total) {
            (Some(dims), _) => dims.to_vec(),
            (None, Some(n)) => vec![n],
            (None, None) => return bug("boxes that hide nothing"),
        };
        Ok(Ragged { frame, ty: ty.clone(), witnesses, contents })
    }

    fn collected_parts(&mut self, p: &Part<'a>, dims: Option<&[Atom]>, rest: &mut Rest<'_>) -> R<Part<'a>> {
        Ok(match p {
            Part::Base { .. } => {
                let (data, starts) = self.collected_data(dims, rest)?;
                Part::Base { data, starts }
            }
            Part::Fns { tags, table } => {
                let tags = match tags {
                    None => None,
                    Some(_) => Some(self.collected_data(dims, rest)?),
                };
                Part::Fns { tags, table: table.clone() }
            }
            Part::Tuple(parts) => {
                Part::Tuple(parts.iter().map(|p| self.collected_parts(p, dims, rest)).collect::<R<Vec<_>>>()?)
            }
            Part::Box(r) => Part::Box(Rc::new(self.collected_boxes(r, dims, &r.ty.clone(), rest)?)),
            Part::Boxes { inner, .. } => {
                let own = rest.own(dims.is_some())?;
                let Some(Given::Joined { starts: bases, .. }) = rest.given.as_slice().first() else {
                    return bug("arrays of boxes of which nothing is joined");
                };
                let bases = *bases;
                let starts = self.rebased(own, bases, dims, rest)?;
                let inner = self.collected_boxes(inner, None, &inner.ty.clone(), rest)?;
                Part::Boxes { starts, inner: Rc::new(inner) }
            }
        })
    }

    /// The elements of arrays of boxes, and where those of each box start.
    fn collected_data(&mut self, dims: Option<&[Atom]>, rest: &mut Rest<'_>) -> R<(Atom, Atom)> {
        let own = rest.own(dims.is_some())?;
        let (_, bases, data) = rest.joined()?;
        Ok((data, self.rebased(own, bases, dims, rest)?))
    }

    /// Starts that are counted within each iteration, counted from the start of all: `bases` are where the
    /// iterations' own begin.
    fn rebased(&mut self, own: Given, bases: Atom, dims: Option<&[Atom]>, rest: &Rest<'_>) -> R<Atom> {
        match (own, dims) {
            (Given::Regular(own), Some(dims)) => {
                let own = self.shaped(own, dims)?;
                let bases = self.shaped(bases, rest.frame)?;
                let k = rest.frame.len();
                self.tabulate("starts", BaseTy::I64, dims, Vec::new(), |b, at| {
                    let (base, start) = (b.index(bases, &at[..k])?, b.index(own, at)?);
                    b.sum(base, start)
                })
            }
            (Given::Joined { total, starts, data }, _) => {
                let axis = self.open_axes(&[rest.count])[0];
                let i = Atom::Var(axis.var);
                let from = self.index(starts, &[i])?;
                let base = self.index(bases, &[i])?;
                let next = self.sum(i, Atom::int(1))?;
                let last = self.op(ScalarOp::Eq, &[next, rest.count])?;
                let end = self.op(ScalarOp::Min2, &[next, i])?;
                let end = self.op(ScalarOp::Select, &[last, end, next])?;
                let end = self.index(starts, &[end])?;
                let end = self.op(ScalarOp::Select, &[last, total, end])?;
                let count = self.op(ScalarOp::Sub, &[end, from])?;
                if let Atom::Var(v) = count {
                    self.natural.insert(v);
                }
                let moved = self.tabulate("starts", BaseTy::I64, &[count], Vec::new(), |b, at| {
                    let place = b.sum(from, at[0])?;
                    let start = b.index(data, &[place])?;
                    b.sum(base, start)
                })?;
                let body = Body { stmts: self.close().stmts, results: vec![moved] };
                let size = self.fresh_size("total");
                let parts = self.fresh("starts", Ty { base: BaseTy::I64, dims: vec![rest.count] });
                let all = self.fresh("starts", Ty { base: BaseTy::I64, dims: vec![Atom::Var(size)] });
                self.emit(vec![size, parts, all], Exp::Join { axis, regular: 0, body })?;
                // As many as there were.
                self.shaped(Atom::Var(all), &[total])
            }
            _ => bug("starts of boxes that are neither regular nor joined"),
        }
    }
}

fn place(a: Atom, results: &mut Vec<Atom>) -> usize {
    results.push(a);
    results.len() - 1
}

fn place_all(all: &[Atom], results: &mut Vec<Atom>) -> Vec<usize> {
    all.iter().map(|a| place(*a, results)).collect()
}

/// The fields of a tuple: their labels, and the types of their atoms.
fn labels(t: &AtomTy) -> Vec<(Option<Name>, AtomTy)> {
    match t {
        AtomTy::Tuple(q) => q.fields.iter().map(|(l, t)| (l.clone(), t.atom.clone())).collect(),
        _ => Vec::new(),
    }
}

/// The sizes that boxes in boxes give: one of each from each iteration.
fn scalars_in(b: &Boxed, out: &mut Vec<Vec<Atom>>) {
    for w in &b.witnesses {
        let count = if let Index::Shape(s) = w { s.items().len() } else { 1 };
        out.extend((0..count).map(|_| Vec::new()));
    }
    let mut contents = vec![&b.contents];
    while let Some(v) = contents.pop() {
        match v {
            Val::Box(b) => scalars_in(b, out),
            Val::Tuple { fields, .. } => contents.extend(fields.iter().rev()),
            _ => {}
        }
    }
}

/// What a join gives of one result of its body.
#[derive(Clone, Copy)]
enum Given {
    Regular(Atom),
    Joined { total: Atom, starts: Atom, data: Atom },
}

/// What a join gives, as far as nobody has taken it.
struct Rest<'m> {
    frame: &'m [Atom],
    /// The number of iterations.
    count: Atom,
    given: std::vec::IntoIter<Given>,
}

impl Rest<'_> {
    fn regular(&mut self) -> R<Atom> {
        match self.given.next() {
            Some(Given::Regular(a)) => Ok(a),
            _ => bug("a join with fewer regular results"),
        }
    }

    fn joined(&mut self) -> R<(Atom, Atom, Atom)> {
        match self.given.next() {
            Some(Given::Joined { total, starts, data }) => Ok((total, starts, data)),
            _ => bug("a join with fewer joined results"),
        }
    }

    /// The starts of boxes, which are regular where their number is.
    fn own(&mut self, regular: bool) -> R<Given> {
        match self.given.next() {
            Some(g) if matches!(g, Given::Regular(_)) == regular => Ok(g),
            _ => bug("a join without the starts of boxes"),
        }
    }
}
