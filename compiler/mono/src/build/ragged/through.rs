//! Arrays of boxes through a statement, a branch or a loop: new variables for what it binds; and their
//! headers alone, for a statement that only moves boxes about.
//!
//! The headers of boxes are the arrays of their frame's shape, witnesses and starts. They are numbers of
//! one shape for every box, so that what chooses or orders items works on them as on a tuple; the data stay
//! where they are.

use super::{Part, Ragged, Stored};
use crate::build::join::has_boxes;
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Ty, Var};
use remc_base::*;
use std::rc::Rc;

impl<'a> Build<'a> {
    /// New variables for an array, of shape `frame`, of boxes like those of another, of the closed type `ty`, in
    /// the order of [`Ragged::atoms`].
    pub fn like_ragged(
        &mut self,
        name: &str,
        r: &Ragged<'a>,
        ty: &AtomTy,
        frame: Vec<Atom>,
        out: &mut Vec<Var>,
    ) -> R<Ragged<'a>> {
        let mut r = r.clone();
        r.ty = ty.clone();
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
            let numbers = w.numbers().into_iter().map(|_| {
                let v = self.fresh("n", Ty { base: BaseTy::I64, dims: frame.clone() });
                out.push(v);
                Atom::Var(v)
            });
            let numbers = numbers.collect();
            let dims = w.dims().map(|s| self.like_data("dims", s.data, &frame, out));
            witnesses.push(w.with(numbers, dims)?);
        }
        let contents = self.like_part(name, &r.contents, &frame, out)?;
        Ok(Ragged { frame, ty: r.ty.clone(), witnesses, contents })
    }

    fn like_data(&mut self, name: &str, data: Atom, frame: &[Atom], out: &mut Vec<Var>) -> Stored {
        let total = self.fresh_size("total");
        let starts = self.fresh("starts", Ty { base: BaseTy::I64, dims: frame.to_vec() });
        let base = self.base_of(data);
        let v = self.fresh(name, Ty { base, dims: vec![Atom::Var(total)] });
        out.extend([total, starts, v]);
        Stored { data: Atom::Var(v), starts: Atom::Var(starts) }
    }

    fn like_part(&mut self, name: &str, p: &Part<'a>, frame: &[Atom], out: &mut Vec<Var>) -> R<Part<'a>> {
        Ok(match p {
            Part::Base { data, .. } => {
                let Stored { data, starts } = self.like_data(name, *data, frame, out);
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
            Part::Fns { table, fields } => {
                let fields = fields.iter().map(|p| self.like_part(name, p, frame, out));
                Part::Fns { table: table.clone(), fields: fields.collect::<R<Vec<_>>>()? }
            }
        })
    }

    /// A value with the numbers that say what the boxes of its arrays are in the place of these, and its
    /// type: what is enough to choose boxes, and to put them into another order.
    pub fn headers(&mut self, v: &Val<'a>, ty: &ArrTy) -> R<(Val<'a>, ArrTy)> {
        Ok(match (v, &ty.atom) {
            (Val::Tuple { frame, fields }, AtomTy::Tuple(q)) if fields.iter().any(has_boxes) => {
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
            (Val::Fns { dims, table, fields }, _) if fields.iter().any(has_boxes) => {
                let fields = Val::Tuple { frame: dims.clone(), fields: fields.clone() };
                let types = table.types().into_iter().map(|t| (None, t)).collect();
                return self.headers(&fields, &ArrTy::new(AtomTy::tuple(types), ty.shape.clone()));
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
            (Val::Tuple { frame, fields: all }, Val::Fns { table, fields, .. }, _) => {
                let mut values = Vec::with_capacity(all.len());
                for ((h, f), t) in all.iter().zip(fields.iter()).zip(table.types()) {
                    values.push(self.with_headers(h.clone(), f, &t)?);
                }
                Val::Fns { dims: frame, table: table.clone(), fields: values.into() }
            }
            (Val::Tuple { frame, fields }, Val::Box(_) | Val::Boxes { .. } | Val::Ragged(_), t) => {
                let r = self.ragged(like, t)?;
                let mut all = fields.iter();
                let mut next = |_: &mut Self, _: Atom| match all.next() {
                    Some(Val::Base(a)) => Ok(*a),
                    _ => bug("boxes with fewer numbers"),
                };
                let r = self.reframed(&r, frame.clone(), &mut next)?;
                if frame.is_empty() { self.only_box(&r)? } else { Val::Ragged(Rc::new(r)) }
            }
            (h, ..) => h,
        })
    }
}
