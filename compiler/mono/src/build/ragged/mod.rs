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
//! A hidden shape is an array of ints for each axis, if all boxes hide shapes of one known rank. Otherwise the
//! shapes are opaque ([`super::opaque`]), and their dims are data as contents are:
//!
//! ```text
//! (boxes (@s) [int @s] [2] (([2]) [1 2]) (([2 2]) [[3 4] [5 6]]))
//!   ⟶  ranks  [1 2]   sizes  [2 4]   dims  starts [0 1], data [2 2 2]      starts  [0 2]   data  [1 2 3 4 5 6]
//! ```
//!
//! A map whose body gives boxes is a `join`: what has one size for all is collected, the contents are put
//! one after the other. Those that lie in data from before the map stay there. So the data are in the order of the
//! boxes only where that is asked for ([`Contents`]).
//!
//! | module | arrays of boxes |
//! | --- | --- |
//! | this one | what they are; cells, and boxes opened |
//! | `gather` | from boxes known one by one; appended |
//! | `join` | from maps |
//! | `fit` | with no data but theirs, where they leave a body |
//! | `shared` | from maps, in data that are there before |
//! | `vectors` | from and to vectors: `split`, `concat` |
//! | `ranks` | that hide shapes of different ranks |
//! | `through` | through statements, branches and loops |
//! | `input`, `output` | as parameters, as results |

mod fit;
mod gather;
mod input;
mod join;
mod output;
mod ranks;
mod shared;
mod through;
mod vectors;

use crate::build::val::{Table, Val};
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Ty, View};
use remc_base::ids::Id;
use remc_base::ops::ScalarOp;
use remc_base::*;
use std::rc::Rc;

pub(crate) use crate::build::val::{Part, Ragged, Stored, WitnessArrays};

/// What becomes of contents that lie in data from before a map.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contents {
    /// They stay there.
    Shared,
    /// All are copied, so that they follow one another in the order of the boxes.
    InOrder,
}

/// What the boxes leave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    /// An iteration of a map.
    Map,
    /// A round of a loop, or a branch in one.
    Round,
}

type Rearrange<'f, 'a> = &'f mut dyn FnMut(&mut Build<'a>, Atom) -> R<Atom>;

impl WitnessArrays {
    /// The arrays that have a number for each box.
    pub fn numbers(&self) -> Vec<Atom> {
        match self {
            WitnessArrays::Dim(a) => vec![*a],
            WitnessArrays::Shape(all) => all.clone(),
            WitnessArrays::Opaque { ranks, sizes, .. } => vec![*ranks, *sizes],
        }
    }

    /// The dims of opaque shapes.
    pub fn dims(&self) -> Option<Stored> {
        match self {
            WitnessArrays::Opaque { dims, .. } => Some(*dims),
            _ => None,
        }
    }

    /// The same with other arrays, as many; `dims` take the place of the dims of opaque shapes.
    pub fn with(&self, numbers: Vec<Atom>, dims: Option<Stored>) -> R<WitnessArrays> {
        Ok(match (self, &numbers[..], dims) {
            (WitnessArrays::Dim(_), [a], None) => WitnessArrays::Dim(*a),
            (WitnessArrays::Shape(_), _, None) => WitnessArrays::Shape(numbers),
            (WitnessArrays::Opaque { .. }, [ranks, sizes], Some(dims)) => {
                WitnessArrays::Opaque { ranks: *ranks, sizes: *sizes, dims }
            }
            _ => return bug("witnesses of another sort"),
        })
    }
}

/// Whether an atom is known before the variable `first`.
fn is_before(a: Atom, first: usize) -> bool {
    a.as_var().is_none_or(|v| v.index() < first)
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
        for w in &self.witnesses {
            out.extend(w.numbers());
            if let Some(Stored { data, starts }) = w.dims() {
                Part::Base { data, starts }.atoms(b, out);
            }
        }
        self.contents.atoms(b, out);
    }

    /// The tables of the functions in the boxes, from left to right.
    pub fn tables(&self, f: &mut dyn FnMut(&Rc<Table<'a>>)) {
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
            Part::Tuple(parts) | Part::Fns { fields: parts, .. } => {
                parts.iter().for_each(|p| p.atoms(b, out));
            }
            Part::Box(r) => r.atoms(b, out),
            Part::Boxes { starts, inner } => {
                out.extend(&inner.frame);
                out.push(*starts);
                inner.atoms(b, out);
            }
        }
    }

    fn tables(&self, f: &mut dyn FnMut(&Rc<Table<'a>>)) {
        match self {
            Part::Base { .. } => {}
            Part::Tuple(parts) => parts.iter().for_each(|p| p.tables(f)),
            Part::Box(r) | Part::Boxes { inner: r, .. } => r.contents.tables(f),
            Part::Fns { table, .. } => f(table),
        }
    }
}

impl<'a> Build<'a> {
    /// The same boxes in another frame: `f` rearranges each array of the frame's shape.
    pub fn reframed(&mut self, r: &Ragged<'a>, frame: Vec<Atom>, f: Rearrange<'_, 'a>) -> R<Ragged<'a>> {
        let mut witnesses = Vec::with_capacity(r.witnesses.len());
        for w in &r.witnesses {
            let numbers = w.numbers().into_iter().map(|a| f(self, a)).collect::<R<Vec<_>>>()?;
            let dims = match w.dims() {
                Some(s) => Some(Stored { starts: f(self, s.starts)?, ..s }),
                None => None,
            };
            witnesses.push(w.with(numbers, dims)?);
        }
        let contents = self.reframed_part(&r.contents, &frame, f)?;
        Ok(Ragged { frame, ty: r.ty.clone(), witnesses, contents })
    }

    fn reframed_part(&mut self, p: &Part<'a>, frame: &[Atom], f: Rearrange<'_, 'a>) -> R<Part<'a>> {
        Ok(match p {
            Part::Base { data, starts } => Part::Base { data: *data, starts: f(self, *starts)? },
            Part::Tuple(parts) => {
                Part::Tuple(parts.iter().map(|p| self.reframed_part(p, frame, f)).collect::<R<Vec<_>>>()?)
            }
            Part::Box(r) => Part::Box(Rc::new(self.reframed(r, frame.to_vec(), f)?)),
            Part::Boxes { starts, inner } => Part::Boxes { starts: f(self, *starts)?, inner: inner.clone() },
            Part::Fns { table, fields } => {
                let fields = fields.iter().map(|p| self.reframed_part(p, frame, f)).collect::<R<Vec<_>>>()?;
                Part::Fns { table: table.clone(), fields }
            }
        })
    }

    /// The boxes at the given indices, which are in bounds: an array of fewer axes, or one box.
    pub fn ragged_cell(&mut self, r: &Ragged<'a>, at: &[Atom]) -> R<Val<'a>> {
        let Some(frame) = r.frame.get(at.len()..) else { return bug("a cell of more axes than there are") };
        let cell = self.reframed(r, frame.to_vec(), &mut |b, a| b.index(a, at))?;
        if frame.is_empty() { self.only_box(&cell) } else { Ok(Val::Ragged(Rc::new(cell))) }
    }

    /// The box that is the whole array.
    pub fn only_box(&mut self, r: &Ragged<'a>) -> R<Val<'a>> {
        let q = sigma(&r.ty)?;
        let mut subst = Subst::new();
        let mut witnesses = Vec::with_capacity(q.params.len());
        for (p, w) in q.params.iter().zip(&r.witnesses) {
            let numbers = w.numbers();
            self.natural.extend(numbers.iter().filter_map(|a| a.as_var()));
            let i = match w {
                WitnessArrays::Dim(n) => Index::Dim(self.dim_of(*n)),
                WitnessArrays::Shape(_) => {
                    Index::Shape(Shape::of_dims(numbers.iter().map(|a| self.dim_of(*a))))
                }
                WitnessArrays::Opaque { ranks, sizes, dims } => {
                    let dims = self.elements_from(dims.data, dims.starts, &[*ranks])?;
                    Index::Shape(self.opaque_shape(dims, *sizes)?)
                }
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
            (Part::Box(r), t) => self.only_box(&Ragged { ty: t.clone(), ..(**r).clone() })?,
            (Part::Boxes { starts, inner }, t) => {
                let r = self.reframed(inner, dims.clone(), &mut |b, a| b.elements_from(a, *starts, &dims))?;
                Val::Ragged(Rc::new(Ragged { ty: t.clone(), ..r }))
            }
            (Part::Fns { table, fields: parts }, _) => {
                let types = table.types();
                let fields = parts.iter().zip(&types).map(|(p, t)| self.contents_of(p, t, &dims));
                let fields = fields.collect::<R<Vec<_>>>()?;
                Val::Fns { dims, table: table.clone(), fields: fields.into() }
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
    pub fn shaped(&mut self, a: Atom, dims: &[Atom]) -> R<Atom> {
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
}
