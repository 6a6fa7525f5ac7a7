//! Maps whose body gives boxes: a `join` of what each iteration gives.
//!
//! ```text
//! (map i 3 … (give (box ((n nᵢ)) [int n] xsᵢ)))
//!   ⟶  (let (ns total starts data) (join i 3 1 … (give nᵢ xsᵢ)))     1: nᵢ is regular, xsᵢ is joined
//! ```
//!
//! What has one size for all iterations, such as a witness, is *regular* and collected as a map would; the
//! contents are *joined*, one after the other, with the start of each iteration's. Where the body gives
//! an array of boxes as the contents of a box, its witnesses and starts are joined as well; starts are
//! counted within an iteration, and so move by where that iteration's data begin ([`Build::rebased`]).
//!
//! Data that are there before the map, those of boxes which the body arranges in another way, stay where they
//! are: all iterations share them, and give their starts alone.
//!
//! ```text
//! (map i 9 … (reverse rᵢ))    starts sᵢ [3], data d of all rows
//!   ⟶  (let (starts) (map i 9 … (give (reverse sᵢ))))                 data d
//! ```

use super::{Contents, Leaving, Part, Ragged, Stored, WitnessArrays, is_before, sigma};
use crate::build::opaque::is_known;
use crate::build::val::{Boxed, Val};
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Axis, Body, Exp, Ty};
use remc_base::ids::Id;
use remc_base::ops::ScalarOp;
use remc_base::*;
use std::rc::Rc;

impl<'a> Build<'a> {
    /// A map over `frame` whose body gives a value of the closed type `ty`, which holds boxes.
    pub fn map_boxes(
        &mut self,
        name: &str,
        (frame, contents): (&[Atom], Contents),
        ty: &ArrTy,
        f: impl FnOnce(&mut Self, &[Atom]) -> R<Val<'a>>,
    ) -> R<Val<'a>> {
        let n = self.product(frame)?;
        let first = self.program.vars.len();
        let axis = self.open_axes(&[n])[0];
        let at = self.unravelled(axis.var.into(), frame)?;
        let value = f(self, &at)?;
        let value = self.leave(value, first)?;
        self.join_over(name, (frame, vec![axis], contents), ty, value)
    }

    /// The end of such a map: `value` is what its body gives, which is open, over `axes` that are those of the frame
    /// or one of all its positions.
    pub fn join_over(
        &mut self,
        name: &str,
        (frame, axes, contents): (&[Atom], Vec<Axis>, Contents),
        ty: &ArrTy,
        value: Val<'a>,
    ) -> R<Val<'a>> {
        let Some(first) = axes.first().map(|a| a.var.index()) else { return bug("a map over no axis") };
        let value = self.stored_flat(value, ty)?;
        let value = self.fit(value, first, Leaving::Map)?;
        let value = if contents == Contents::Shared { self.in_place(value, first)? } else { value };
        let mut given = Given { first, all: Vec::new() };
        self.body_results(&value, false, &mut given)?;
        let given = given.all;
        let regular = given.iter().filter(|(_, joined)| !joined).count();
        let results = |joined| given.iter().filter(move |(_, j)| *j == joined).map(|(a, _)| *a);
        let results = results(false).chain(results(true)).collect();
        let mut stmts = self.close().stmts;
        let n = self.product(frame)?;
        let axis = match axes[..] {
            [axis] => axis,
            _ => {
                let axis = self.open_axes(&[n])[0];
                let at = self.unravelled(axis.var.into(), frame)?;
                for (a, i) in axes.iter().zip(at) {
                    self.emit(vec![a.var], Exp::Atom(i))?;
                }
                stmts.splice(0..0, self.close().stmts);
                axis
            }
        };
        let body = Body { stmts, results };

        // Outside of the body: the dims of what is regular come with its type.
        let mut dims = Vec::new();
        self.regular_dims(&value, ty, first, &mut dims)?;
        let mut dims = dims.into_iter();
        let (mut maps, mut joins, mut made) = (Vec::new(), Vec::new(), Vec::new());
        for (a, joined) in given {
            let base = self.base_of(a);
            if joined {
                let total = self.fresh_size("total");
                let starts = self.fresh("starts", Ty { base: BaseTy::I64, dims: vec![n] });
                let data = self.fresh(name, Ty { base, dims: vec![Atom::Var(total)] });
                joins.extend([total, starts, data]);
                made.push(JoinResult::Joined {
                    total: total.into(),
                    starts: starts.into(),
                    data: data.into(),
                });
            } else {
                let Some(own) = dims.next() else { return bug("a regular result without a type") };
                let v = self.fresh(name, Ty { base, dims: std::iter::once(n).chain(own).collect() });
                maps.push(v);
                made.push(JoinResult::Regular(v.into()));
            }
        }
        let exp = match joins.is_empty() {
            true => Exp::Map { axes: vec![axis], body },
            false => Exp::Join { axis, regular, body },
        };
        maps.extend(joins);
        self.emit(maps, exp)?;
        let mut results = JoinResults { frame, count: n, first, untaken: made.into_iter() };
        self.collected(&value, ty, &mut results)
    }

    /// The indices of a position in row-major order.
    fn unravelled(&mut self, position: Atom, frame: &[Atom]) -> R<Vec<Atom>> {
        let mut at = Vec::with_capacity(frame.len());
        let mut rest = position;
        for (k, n) in frame.iter().enumerate().rev() {
            if k == 0 {
                at.push(rest);
            } else {
                at.push(self.op(ScalarOp::Modulo, &[rest, *n])?);
                rest = self.op(ScalarOp::Quotient, &[rest, *n])?;
            }
        }
        at.reverse();
        Ok(at)
    }

    /// The dims of what is regular in a value, in the order in which it is given.
    fn regular_dims(&mut self, v: &Val<'a>, ty: &ArrTy, first: usize, out: &mut Vec<Vec<Atom>>) -> R<()> {
        match (v, &ty.atom) {
            (Val::Tuple { fields, .. }, AtomTy::Tuple(q)) => {
                for (f, (_, t)) in fields.iter().zip(&q.fields) {
                    self.regular_dims(f, &t.lifted(&ty.shape), first, out)?;
                }
            }
            (Val::Box(b), _) => scalars_in(b, out),
            (Val::Ragged(r), _) => {
                let dims = self.sizes_of_type(&ty.shape)?;
                let mut arrays = Given { first, all: Vec::new() };
                self.body_results_of_boxes(r, false, &mut arrays)?;
                out.extend(arrays.all.iter().filter(|(_, joined)| !joined).map(|_| dims.clone()));
            }
            (Val::Fns { table, fields, .. }, _) => {
                for (f, t) in fields.iter().zip(table.types()) {
                    self.regular_dims(f, &t.lifted(&ty.shape), first, out)?;
                }
            }
            _ => out.push(self.sizes_of_type(&ty.shape)?),
        }
        Ok(())
    }

    /// What the body gives, and whether it is joined.
    fn body_results(&mut self, v: &Val<'a>, joined: bool, out: &mut Given) -> R<()> {
        match v {
            Val::Base(a) => {
                let a = match joined && self.dims_of_atom(*a).is_empty() {
                    true => self.literal("x", self.base_of(*a), vec![Atom::int(1)], vec![*a])?,
                    false => *a,
                };
                out.push(a, joined);
            }
            Val::Tuple { fields, .. } | Val::Fns { fields, .. } => {
                fields.iter().try_for_each(|f| self.body_results(f, joined, out))?;
            }
            Val::Box(b) => {
                for w in &b.witnesses {
                    match w {
                        Index::Dim(d) => out.push(self.size(d)?, false),
                        Index::Shape(s) if is_known(s) => {
                            self.sizes(s)?.into_iter().for_each(|a| out.push(a, false));
                        }
                        Index::Shape(s) => {
                            out.push(self.rank(s)?, false);
                            self.sizes(s)?.into_iter().for_each(|a| out.push(a, false));
                            out.push(self.dims_vector(s)?, true);
                        }
                    }
                }
                self.body_results(&b.contents, true, out)?;
            }
            Val::Ragged(r) => self.body_results_of_boxes(r, joined, out)?,
            Val::Boxes { .. } => return bug("boxes that are not stored flat"),
        }
        Ok(())
    }

    fn body_results_of_boxes(&mut self, r: &Ragged<'a>, joined: bool, out: &mut Given) -> R<()> {
        for w in &r.witnesses {
            w.numbers().into_iter().for_each(|a| out.push(a, joined));
            if let Some(dims) = w.dims() {
                out.push_stored(dims, joined);
            }
        }
        self.body_results_of_part(&r.contents, joined, out)
    }

    fn body_results_of_part(&mut self, p: &Part<'a>, joined: bool, out: &mut Given) -> R<()> {
        match p {
            Part::Base { data, starts } => out.push_stored(Stored { data: *data, starts: *starts }, joined),
            Part::Tuple(parts) | Part::Fns { fields: parts, .. } => {
                parts.iter().try_for_each(|p| self.body_results_of_part(p, joined, out))?;
            }
            Part::Box(r) => self.body_results_of_boxes(r, joined, out)?,
            Part::Boxes { starts, inner } => {
                out.push(*starts, joined);
                if !self.are_before(inner, out.first) {
                    self.body_results_of_boxes(inner, true, out)?;
                }
            }
        }
        Ok(())
    }

    /// The value of a map from what its join gives, which is there now.
    fn collected(&mut self, v: &Val<'a>, ty: &ArrTy, results: &mut JoinResults<'_>) -> R<Val<'a>> {
        let over = |own: Vec<Atom>| -> Vec<Atom> { results.frame.iter().copied().chain(own).collect() };
        Ok(match (v, &ty.atom) {
            (Val::Base(_), _) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let a = results.regular()?;
                Val::Base(self.shaped(a, &dims)?)
            }
            (Val::Tuple { fields, .. }, AtomTy::Tuple(q)) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let fields = fields
                    .iter()
                    .zip(&q.fields)
                    .map(|(f, (_, t))| self.collected(f, &t.lifted(&ty.shape), results))
                    .collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: dims, fields: fields.into() }
            }
            (Val::Box(b), t) => Val::Ragged(Rc::new(self.collected_box(b, t, results)?)),
            (Val::Ragged(r), t) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let r = self.collected_boxes(r, Some(&dims), t, results)?;
                Val::Ragged(Rc::new(r))
            }
            (Val::Fns { table, fields, .. }, _) => {
                let dims = over(self.sizes_of_type(&ty.shape)?);
                let types = table.types();
                let fields = fields
                    .iter()
                    .zip(&types)
                    .map(|(f, t)| self.collected(f, &t.lifted(&ty.shape), results))
                    .collect::<R<Vec<_>>>()?;
                Val::Fns { dims, table: table.clone(), fields: fields.into() }
            }
            _ => return bug(format!("a value that is not of its type {ty}")),
        })
    }

    /// The boxes, one from each iteration.
    fn collected_box(&mut self, b: &Boxed<'a>, ty: &AtomTy, results: &mut JoinResults<'_>) -> R<Ragged<'a>> {
        let frame = results.frame.to_vec();
        let mut witnesses = Vec::with_capacity(b.witnesses.len());
        for w in &b.witnesses {
            let number = |b: &mut Self, results: &mut JoinResults<'_>| {
                let a = results.regular()?;
                b.shaped(a, &frame)
            };
            witnesses.push(match w {
                Index::Dim(_) => WitnessArrays::Dim(number(self, results)?),
                Index::Shape(s) if is_known(s) => {
                    let all = s.items().iter().map(|_| number(self, results));
                    WitnessArrays::Shape(all.collect::<R<Vec<_>>>()?)
                }
                Index::Shape(_) => {
                    let (ranks, sizes) = (number(self, results)?, number(self, results)?);
                    let (_, starts, data) = results.joined()?;
                    let dims = Stored { data, starts: self.shaped(starts, &frame)? };
                    WitnessArrays::Opaque { ranks, sizes, dims }
                }
            });
        }
        let q = sigma(ty)?;
        let contents = self.collected_contents(&b.contents, &q.body.atom, results)?;
        Ok(Ragged { frame, ty: ty.clone(), witnesses, contents })
    }

    /// The contents of boxes, one from each iteration.
    fn collected_contents(&mut self, v: &Val<'a>, ty: &AtomTy, results: &mut JoinResults<'_>) -> R<Part<'a>> {
        Ok(match (v, ty) {
            (Val::Base(_), _) => {
                let (_, starts, data) = results.joined()?;
                Part::Base { data, starts: self.shaped(starts, results.frame)? }
            }
            (Val::Tuple { fields, .. }, AtomTy::Tuple(q)) => {
                let fields = fields.iter().zip(&q.fields);
                let parts = fields.map(|(f, (_, t))| self.collected_contents(f, &t.atom, results));
                Part::Tuple(parts.collect::<R<Vec<_>>>()?)
            }
            (Val::Box(b), t) => Part::Box(Rc::new(self.collected_box(b, t, results)?)),
            (Val::Ragged(r), t) => {
                // What is joined first of the boxes says where those of each iteration start.
                let Some(JoinResult::Joined { starts, .. }) = results.untaken.as_slice().first() else {
                    return bug("arrays of boxes of which nothing is joined");
                };
                let starts = self.shaped(*starts, results.frame)?;
                let inner = self.collected_boxes(r, None, t, results)?;
                Part::Boxes { starts, inner: Rc::new(inner) }
            }
            (Val::Fns { table, fields, .. }, _) => {
                let types = table.types();
                let parts = fields.iter().zip(&types);
                let parts = parts.map(|(f, t)| self.collected_contents(f, &t.atom, results));
                Part::Fns { table: table.clone(), fields: parts.collect::<R<Vec<_>>>()? }
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
        results: &mut JoinResults<'_>,
    ) -> R<Ragged<'a>> {
        let mut total = None;
        let mut array = |b: &mut Self, results: &mut JoinResults<'_>| match dims {
            Some(dims) => {
                let a = results.regular()?;
                b.shaped(a, dims)
            }
            None => {
                let (n, _, data) = results.joined()?;
                total.get_or_insert(n);
                b.shaped(data, &[total.unwrap_or(n)])
            }
        };
        let mut witnesses = Vec::with_capacity(r.witnesses.len());
        for w in &r.witnesses {
            let numbers = w.numbers().iter().map(|_| array(self, results)).collect::<R<Vec<_>>>()?;
            let stored = match w.dims() {
                Some(own) => Some(self.collected_data(own, dims, results)?),
                None => None,
            };
            witnesses.push(w.with(numbers, stored)?);
        }
        let contents = self.collected_parts(&r.contents, dims, results)?;
        let frame = match (dims, total) {
            (Some(dims), _) => dims.to_vec(),
            (None, Some(n)) => vec![n],
            (None, None) => return bug("boxes that hide nothing"),
        };
        Ok(Ragged { frame, ty: ty.clone(), witnesses, contents })
    }

    fn collected_parts(
        &mut self,
        p: &Part<'a>,
        dims: Option<&[Atom]>,
        results: &mut JoinResults<'_>,
    ) -> R<Part<'a>> {
        Ok(match p {
            Part::Base { data, starts } => {
                let own = Stored { data: *data, starts: *starts };
                let Stored { data, starts } = self.collected_data(own, dims, results)?;
                Part::Base { data, starts }
            }
            Part::Fns { table, fields } => {
                let fields = fields.iter().map(|p| self.collected_parts(p, dims, results));
                Part::Fns { table: table.clone(), fields: fields.collect::<R<Vec<_>>>()? }
            }
            Part::Tuple(parts) => Part::Tuple(
                parts.iter().map(|p| self.collected_parts(p, dims, results)).collect::<R<Vec<_>>>()?,
            ),
            Part::Box(r) => Part::Box(Rc::new(self.collected_boxes(r, dims, &r.ty.clone(), results)?)),
            Part::Boxes { inner, .. } => {
                let own = results.starts_of_boxes(dims.is_some())?;
                if self.are_before(inner, results.first) {
                    return Ok(Part::Boxes { starts: self.unmoved(own, dims)?, inner: inner.clone() });
                }
                let Some(JoinResult::Joined { starts: bases, .. }) = results.untaken.as_slice().first()
                else {
                    return bug("arrays of boxes of which nothing is joined");
                };
                let bases = *bases;
                let starts = self.rebased(own, bases, dims, results)?;
                let inner = self.collected_boxes(inner, None, &inner.ty.clone(), results)?;
                Part::Boxes { starts, inner: Rc::new(inner) }
            }
        })
    }

    /// The elements of arrays of boxes, of which each iteration gives `s`, and where those of each box start.
    fn collected_data(
        &mut self,
        s: Stored,
        dims: Option<&[Atom]>,
        results: &mut JoinResults<'_>,
    ) -> R<Stored> {
        let own = results.starts_of_boxes(dims.is_some())?;
        if is_before(s.data, results.first) {
            return Ok(Stored { data: s.data, starts: self.unmoved(own, dims)? });
        }
        let (_, bases, data) = results.joined()?;
        Ok(Stored { data, starts: self.rebased(own, bases, dims, results)? })
    }

    /// Starts in data that all iterations share.
    fn unmoved(&mut self, own: JoinResult, dims: Option<&[Atom]>) -> R<Atom> {
        match (own, dims) {
            (JoinResult::Regular(own), Some(dims)) => self.shaped(own, dims),
            (JoinResult::Joined { data, .. }, None) => Ok(data),
            _ => bug("starts of boxes that are neither regular nor joined"),
        }
    }

    /// Starts that are counted within each iteration, counted from the start of all: `bases` are where the
    /// iterations' own begin.
    fn rebased(
        &mut self,
        own: JoinResult,
        bases: Atom,
        dims: Option<&[Atom]>,
        results: &JoinResults<'_>,
    ) -> R<Atom> {
        match (own, dims) {
            (JoinResult::Regular(own), Some(dims)) => {
                let own = self.shaped(own, dims)?;
                let bases = self.shaped(bases, results.frame)?;
                let k = results.frame.len();
                self.tabulate("starts", BaseTy::I64, dims, Vec::new(), |b, at| {
                    let (base, start) = (b.index(bases, &at[..k])?, b.index(own, at)?);
                    b.sum(base, start)
                })
            }
            (JoinResult::Joined { total, starts, data }, _) => {
                let axis = self.open_axes(&[results.count])[0];
                let i = Atom::Var(axis.var);
                let from = self.index(starts, &[i])?;
                let base = self.index(bases, &[i])?;
                let next = self.sum(i, Atom::int(1))?;
                let last = self.op(ScalarOp::Eq, &[next, results.count])?;
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
                let parts = self.fresh("starts", Ty { base: BaseTy::I64, dims: vec![results.count] });
                let all = self.fresh("starts", Ty { base: BaseTy::I64, dims: vec![Atom::Var(size)] });
                self.emit(vec![size, parts, all], Exp::Join { axis, regular: 0, body })?;
                // As many as there were.
                self.shaped(Atom::Var(all), &[total])
            }
            _ => bug("starts of boxes that are neither regular nor joined"),
        }
    }
}

/// The sizes that boxes in boxes give: one of each from each iteration.
fn scalars_in(b: &Boxed, out: &mut Vec<Vec<Atom>>) {
    for w in &b.witnesses {
        let count = match w {
            Index::Dim(_) => 1,
            Index::Shape(s) if is_known(s) => s.items().len(),
            // Its rank and its size.
            Index::Shape(_) => 2,
        };
        out.extend((0..count).map(|_| Vec::new()));
    }
    let mut contents = vec![&b.contents];
    while let Some(v) = contents.pop() {
        match v {
            Val::Box(b) => scalars_in(b, out),
            Val::Tuple { fields, .. } | Val::Fns { fields, .. } => contents.extend(fields.iter().rev()),
            _ => {}
        }
    }
}

/// What the body of a map gives.
struct Given {
    /// Variables before this one are bound outside of the body.
    first: usize,
    /// Each result, and whether it is joined.
    all: Vec<(Atom, bool)>,
}

impl Given {
    fn push(&mut self, a: Atom, joined: bool) {
        self.all.push((a, joined));
    }

    /// Data that are there before the body are no result of it.
    fn push_stored(&mut self, s: Stored, joined: bool) {
        self.push(s.starts, joined);
        if !is_before(s.data, self.first) {
            self.push(s.data, true);
        }
    }
}

/// What a join gives of one result of its body.
#[derive(Clone, Copy)]
enum JoinResult {
    Regular(Atom),
    Joined { total: Atom, starts: Atom, data: Atom },
}

/// What a join gives, as far as nobody has taken it.
struct JoinResults<'m> {
    frame: &'m [Atom],
    /// The number of iterations.
    count: Atom,
    /// Variables before this one are bound outside of the body.
    first: usize,
    untaken: std::vec::IntoIter<JoinResult>,
}

impl JoinResults<'_> {
    fn regular(&mut self) -> R<Atom> {
        match self.untaken.next() {
            Some(JoinResult::Regular(a)) => Ok(a),
            _ => bug("a join with fewer regular results"),
        }
    }

    fn joined(&mut self) -> R<(Atom, Atom, Atom)> {
        match self.untaken.next() {
            Some(JoinResult::Joined { total, starts, data }) => Ok((total, starts, data)),
            _ => bug("a join with fewer joined results"),
        }
    }

    /// The starts of boxes, which are regular where their number is.
    fn starts_of_boxes(&mut self, regular: bool) -> R<JoinResult> {
        match self.untaken.next() {
            Some(g) if matches!(g, JoinResult::Regular(_)) == regular => Ok(g),
            _ => bug("a join without the starts of boxes"),
        }
    }
}
