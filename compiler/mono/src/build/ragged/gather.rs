//! Boxes that are known one by one, as an array of boxes stored flat; and arrays of boxes, one appended to
//! another.
//!
//! ```text
//! (box ((n 2)) … [7 8]), (box ((n 1)) … [4])  ⟶  witness n [2 1]   starts [0 2]   data [7 8 4]
//! append to that  witness n [3]  starts [0]  data [1 2 3]
//!                                             ⟶  witness n [2 1 3]  starts [0 2 3]  data [7 8 4 1 2 3]
//! ```
//!
//! The starts of what is appended move by as much as there is before it.

use super::{Part, Ragged, Stored, WitnessArrays, sigma};
use crate::build::join::has_boxes;
use crate::build::opaque::{Differing, is_known};
use crate::build::val::{Fun, Val};
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Ty, View};
use remc_base::*;
use std::rc::Rc;

impl<'a> Build<'a> {
    /// The value with its arrays of boxes stored flat; `ty` is its closed type.
    pub fn stored_flat(&mut self, v: Val<'a>, ty: &ArrTy) -> R<Val<'a>> {
        Ok(match (v, &ty.atom) {
            (Val::Tuple { frame, fields }, AtomTy::Tuple(q)) if fields.iter().any(has_boxes) => {
                let fields = fields
                    .iter()
                    .zip(&q.fields)
                    .map(|(f, (_, t))| self.stored_flat(f.clone(), &t.lifted(&ty.shape)))
                    .collect::<R<Vec<_>>>()?;
                Val::Tuple { frame, fields: fields.into() }
            }
            (Val::Box(b), AtomTy::Sigma(q)) => {
                let mut subst = Subst::new();
                q.params.iter().zip(&b.witnesses).for_each(|(p, w)| subst.bind_index(p, w.clone()));
                let contents = self.stored_flat(b.contents.clone(), &subst.arr(&q.body))?;
                Val::boxed(b.ty.clone(), b.witnesses.clone(), contents)
            }
            (v @ Val::Boxes { .. }, t) => Val::Ragged(Rc::new(self.ragged(&v, t)?)),
            (Val::Fns { dims, table, fields }, _) => {
                let types = table.types();
                let fields = fields
                    .iter()
                    .zip(&types)
                    .map(|(f, t)| self.stored_flat(f.clone(), &t.lifted(&ty.shape)))
                    .collect::<R<Vec<_>>>()?;
                Val::Fns { dims, table, fields: fields.into() }
            }
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
        let opaque = ranks_differ(q, boxes);
        let mut contents = Vec::with_capacity(boxes.len());
        let mut columns: Vec<Vec<Index>> = vec![Vec::new(); q.params.len()];
        for v in boxes {
            let Val::Box(b) = v else { return bug("an array of boxes with something else in it") };
            let (mut old, mut new) = (Subst::new(), Subst::new());
            for (k, (p, w)) in q.params.iter().zip(&b.witnesses).enumerate() {
                old.bind_index(p, w.clone());
                let w = match w {
                    Index::Shape(s) if opaque[k] => Index::Shape(self.as_opaque(s)?),
                    w => w.clone(),
                };
                new.bind_index(p, w.clone());
                columns[k].push(w);
            }
            let ty = new.arr(&q.body);
            contents.push((self.restored(&b.contents, &old.arr(&q.body), &ty)?, ty));
        }
        let mut witnesses = Vec::with_capacity(columns.len());
        for (k, (p, column)) in q.params.iter().zip(&columns).enumerate() {
            witnesses.push(match opaque[k] {
                true => self.opaque_column(column, &frame)?,
                false => self.column(p, column, &frame)?,
            });
        }
        let contents = if contents.is_empty() {
            self.no_contents(&q.body, &frame)?
        } else {
            self.gathered_part(contents, &frame)?
        };
        Ok(Ragged { frame, ty: ty.clone(), witnesses, contents })
    }

    /// What boxes hide of an index, all dims known.
    fn column(&mut self, p: &IVar, all: &[Index], frame: &[Atom]) -> R<WitnessArrays> {
        let mut sizes = Vec::with_capacity(all.len());
        for w in all {
            sizes.push(match w {
                Index::Dim(d) => vec![self.size(d)?],
                Index::Shape(s) => self.sizes(s)?,
            });
        }
        let rank = sizes.first().map_or(1, Vec::len);
        let mut arrays = Vec::with_capacity(rank);
        for k in 0..rank {
            let column = sizes.iter().map(|w| w[k]).collect();
            arrays.push(self.literal(p.name.as_str(), BaseTy::I64, frame.to_vec(), column)?);
        }
        Ok(match p.sort {
            Sort::Dim => WitnessArrays::Dim(arrays[0]),
            Sort::Shape => WitnessArrays::Shape(arrays),
        })
    }

    /// The opaque shapes that boxes hide.
    fn opaque_column(&mut self, all: &[Index], frame: &[Atom]) -> R<WitnessArrays> {
        let (mut ranks, mut sizes, mut vectors) = (Vec::new(), Vec::new(), Vec::new());
        for w in all {
            let Index::Shape(s) = w else { return bug("a dim in the place of a shape") };
            ranks.push(self.rank(s)?);
            sizes.extend(self.sizes(s)?);
            vectors.push(self.dims_vector(s)?);
        }
        let ranks = self.literal("rank", BaseTy::I64, frame.to_vec(), ranks)?;
        let sizes = self.literal("size", BaseTy::I64, frame.to_vec(), sizes)?;
        let (data, starts) = self.appended(&vectors, frame)?;
        Ok(WitnessArrays::Opaque { ranks, sizes, dims: Stored { data, starts } })
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
            _ => {
                let Val::Fns { table, .. } = Val::function(Fun::None) else { return bug("no function") };
                Part::Fns { table, fields: Vec::new() }
            }
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
                let (values, types): (Vec<Val>, Vec<ArrTy>) = all.into_iter().unzip();
                let values = self.with_one_table(values)?;
                let Val::Fns { table, .. } = &values[0] else { return bug("no function") };
                let mut fields = Vec::new();
                for (k, t) in table.types().iter().enumerate() {
                    let column = values.iter().zip(&types).map(|(v, ty)| match v {
                        Val::Fns { fields, .. } if k < fields.len() => {
                            Ok((fields[k].clone(), t.lifted(&ty.shape)))
                        }
                        _ => bug("boxes with contents of different types"),
                    });
                    let column = column.collect::<R<Vec<_>>>()?;
                    fields.push(self.gathered_part(column, frame)?);
                }
                Part::Fns { table: table.clone(), fields }
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
        let mut differing = Differing::default();
        x.differing(y, &mut differing)?;
        // Before functions of both are in one table: those whose types mention what is opaque are others.
        let (x, y) = match differing.any() {
            true => (
                self.ragged_opaque(x, &mut differing.first.iter())?,
                self.ragged_opaque(y, &mut differing.second.iter())?,
            ),
            false => (x.clone(), y.clone()),
        };
        let both = vec![Val::Ragged(Rc::new(x)), Val::Ragged(Rc::new(y))];
        match &self.with_one_table(both)?[..] {
            [Val::Ragged(x), Val::Ragged(y)] => self.append_alike(x, y, total),
            _ => bug("arrays of boxes that are none"),
        }
    }

    /// The same, if the functions at one place of both are of one table, and both hide shapes in one way.
    fn append_alike(&mut self, x: &Ragged<'a>, y: &Ragged<'a>, total: Atom) -> R<Ragged<'a>> {
        let mut frame = x.frame.clone();
        frame[0] = total;
        let mut witnesses = Vec::with_capacity(x.witnesses.len());
        for (v, w) in x.witnesses.iter().zip(&y.witnesses) {
            let numbers = v.numbers().into_iter().zip(w.numbers());
            let numbers = numbers.map(|(a, b)| self.append_line(a, b, total)).collect::<R<Vec<_>>>()?;
            let dims = match (v.dims(), w.dims()) {
                (Some(a), Some(b)) => Some(self.append_data(a, b, total, &y.frame)?),
                _ => None,
            };
            witnesses.push(v.with(numbers, dims)?);
        }
        let contents = self.append_part(&x.contents, &y.contents, total, &y.frame)?;
        Ok(Ragged { frame, ty: x.ty.clone(), witnesses, contents })
    }

    fn append_part(&mut self, x: &Part<'a>, y: &Part<'a>, total: Atom, frame: &[Atom]) -> R<Part<'a>> {
        Ok(match (x, y) {
            (Part::Base { data, starts }, Part::Base { data: data2, starts: starts2 }) => {
                let x = Stored { data: *data, starts: *starts };
                let y = Stored { data: *data2, starts: *starts2 };
                let Stored { data, starts } = self.append_data(x, y, total, frame)?;
                Part::Base { data, starts }
            }
            (Part::Tuple(xs), Part::Tuple(ys)) if xs.len() == ys.len() => {
                let all = xs.iter().zip(ys).map(|(x, y)| self.append_part(x, y, total, frame));
                Part::Tuple(all.collect::<R<Vec<_>>>()?)
            }
            (Part::Box(x), Part::Box(y)) => Part::Box(Rc::new(self.append_alike(x, y, total)?)),
            (Part::Boxes { starts, inner }, Part::Boxes { starts: starts2, inner: inner2 }) => {
                let by = inner.frame[0];
                let count = self.sum(by, inner2.frame[0])?;
                let inner = self.append_alike(inner, inner2, count)?;
                let shifted = self.shifted(*starts2, by, frame)?;
                let starts = self.append_line(*starts, shifted, total)?;
                Part::Boxes { starts, inner: Rc::new(inner) }
            }
            (Part::Fns { table, fields: xs }, Part::Fns { fields: ys, .. }) if xs.len() == ys.len() => {
                let all = xs.iter().zip(ys).map(|(x, y)| self.append_part(x, y, total, frame));
                Part::Fns { table: table.clone(), fields: all.collect::<R<Vec<_>>>()? }
            }
            _ => return bug("append of boxes of different types"),
        })
    }

    fn append_data(&mut self, x: Stored, y: Stored, total: Atom, frame: &[Atom]) -> R<Stored> {
        let by = self.dims_of_atom(x.data)[0];
        let count = self.sum(by, self.dims_of_atom(y.data)[0])?;
        let data = self.append_line(x.data, y.data, count)?;
        let shifted = self.shifted(y.starts, by, frame)?;
        Ok(Stored { data, starts: self.append_line(x.starts, shifted, total)? })
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
}

/// For each index that boxes hide, whether its shapes are of different ranks, or of ranks that are not known.
fn ranks_differ(q: &SigmaTy, boxes: &[Val]) -> Vec<bool> {
    let shapes = |k: usize| {
        boxes.iter().filter_map(move |v| match v {
            Val::Box(b) => match b.witnesses.get(k) {
                Some(Index::Shape(s)) => Some(s.clone()),
                _ => None,
            },
            _ => None,
        })
    };
    let differ = |k: usize| {
        let rank = shapes(k).next().map(|s| s.items().len());
        shapes(k).any(|s| !is_known(&s) || Some(s.items().len()) != rank)
    };
    (0..q.params.len()).map(differ).collect()
}
