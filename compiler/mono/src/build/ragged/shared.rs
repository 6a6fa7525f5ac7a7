//! Boxes that a map takes from data that are there before it.
//!
//! Who picks rows, or a part of each, puts boxes around elements that follow one another in a vector already. Such boxes
//! need no data of their own: where their contents start is enough.
//!
//! ```text
//! (map i k … (box (subarray d [sᵢ] [nᵢ])))    a join would find each element's box, and copy it
//!   ⟶  witness (map i k … nᵢ)    starts (map i k … sᵢ)    data d
//! ```
//!
//! Here such a box becomes an array of boxes without axes, which says where it starts; [`super::join`] then does
//! what it does for all boxes whose data are there before. Arrays of boxes in boxes, and shapes whose number of axes
//! differs from box to box, are joined.

use super::is_before;
use super::{Part, Ragged, WitnessArrays};
use crate::build::opaque::is_known;
use crate::build::val::{Boxed, Val};
use crate::build::{Build, R};
use crate::ir::{Atom, Exp, Stmt, View};
use remc_base::Index;
use std::rc::Rc;

impl<'a> Build<'a> {
    /// The value that the open body gives, with boxes that say where they start if all of their contents lie in data
    /// from before the variable `first`.
    pub(super) fn in_place(&mut self, v: Val<'a>, first: usize) -> R<Val<'a>> {
        Ok(match &v {
            Val::Tuple { frame, fields } => {
                let fields = fields.iter().map(|f| self.in_place(f.clone(), first));
                Val::Tuple { frame: frame.clone(), fields: fields.collect::<R<Vec<_>>>()?.into() }
            }
            Val::Box(b) => match self.box_in_place(b, first)? {
                Some(r) => Val::Ragged(Rc::new(r)),
                None => v,
            },
            _ => v,
        })
    }

    fn box_in_place(&mut self, b: &Boxed<'a>, first: usize) -> R<Option<Ragged<'a>>> {
        let known = |w: &Index| matches!(w, Index::Dim(_)) || matches!(w, Index::Shape(s) if is_known(s));
        if !b.witnesses.iter().all(known) {
            return Ok(None);
        }
        let Some(contents) = self.part_in_place(&b.contents, first)? else { return Ok(None) };
        let mut witnesses = Vec::with_capacity(b.witnesses.len());
        for w in &b.witnesses {
            witnesses.push(match w {
                Index::Dim(d) => WitnessArrays::Dim(self.size(d)?),
                Index::Shape(s) => WitnessArrays::Shape(self.sizes(s)?),
            });
        }
        Ok(Some(Ragged { frame: Vec::new(), ty: b.ty.clone(), witnesses, contents }))
    }

    fn part_in_place(&mut self, v: &Val<'a>, first: usize) -> R<Option<Part<'a>>> {
        Ok(match v {
            Val::Base(a) => self.place(*a, first)?.map(|(data, starts)| Part::Base { data, starts }),
            Val::Tuple { fields, .. } => {
                let parts = fields.iter().map(|f| self.part_in_place(f, first));
                parts.collect::<R<Option<Vec<_>>>>()?.map(Part::Tuple)
            }
            Val::Fns { table, fields, .. } => {
                let parts = fields.iter().map(|f| self.part_in_place(f, first));
                let parts = parts.collect::<R<Option<Vec<_>>>>()?;
                parts.map(|fields| Part::Fns { table: table.clone(), fields })
            }
            Val::Box(b) => self.box_in_place(b, first)?.map(|r| Part::Box(Rc::new(r))),
            Val::Ragged(_) | Val::Boxes { .. } => None,
        })
    }

    /// The vector from before `first` in which all elements of an array follow one another, and where the first is.
    fn place(&mut self, mut a: Atom, first: usize) -> R<Option<(Atom, Atom)>> {
        let mut starts = Vec::new();
        while !is_before(a, first) {
            let defines = |s: &&Stmt| a.as_var().is_some_and(|v| s.pat[..] == [v]);
            let stmt = self.scopes.last().and_then(|s| s.stmts.iter().rev().find(defines));
            a = match stmt.map(|s| &s.exp) {
                Some(Exp::Atom(b)) => *b,
                Some(Exp::View { view: View::Reshape { .. }, array }) => (*array).into(),
                Some(Exp::View { view: View::Slice { start, .. }, array })
                    if self.program.ty(*array).rank() == 1 =>
                {
                    starts.extend_from_slice(start);
                    (*array).into()
                }
                Some(Exp::Index { array, at }) if self.program.ty(*array).rank() == 1 => {
                    starts.extend_from_slice(at);
                    (*array).into()
                }
                _ => return Ok(None),
            };
        }
        if self.dims_of_atom(a).len() != 1 {
            return Ok(None);
        }
        let start = starts.into_iter().try_fold(Atom::int(0), |s, more| self.sum(s, more))?;
        Ok(Some((a, start)))
    }
}
