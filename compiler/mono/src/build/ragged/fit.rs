//! Boxes that leave a body, with no more data than is theirs.
//!
//! Who rearranges boxes leaves the data where they are, and they may be more than the boxes reach. That costs nothing
//! until such data are copied, or kept, again and again:
//!
//! ```text
//! (map i 1000 … (if c (reverse rᵢ) sᵢ))     a join would copy the data of all rows a thousand times
//! (iterate k … (take 3 (append a a)))       the data are twice as many after each round
//! ```
//!
//! So boxes are copied one by one, as a map of them does, where their data
//!
//! * are those of an [`View::Append`] made in this branch or round of a loop, since all of both arrays are appended;
//! * may be there before the map whose body gives them, and be all that is there, while not known to be so: those of
//!   an `if` or of a loop. What surely is there before is shared by all iterations, see [`super::join`].
//!
//! Data that a join, a literal or the like makes hold what was asked for; so the data of a state never hold
//! more than the state that the loop began with and what one round makes.

use super::{Contents, Leaving, Part, Ragged, is_before};
use crate::build::val::Val;
use crate::build::{Build, R, bug};
use crate::ir::{Atom, Exp, Stmt, View};
use remc_base::ArrTy;
use remc_base::ids::Id;

/// Where data come from, on any way.
#[derive(Clone, Copy, Default)]
struct Origins {
    /// An append in the body.
    appended: bool,
    /// Before the body.
    before: bool,
}

impl<'a> Build<'a> {
    /// The value, which the open body gives and which is stored flat, with boxes that have no data but theirs.
    /// Variables before `first` are bound outside of the body.
    pub fn fit(&mut self, v: Val<'a>, first: usize, leaving: Leaving) -> R<Val<'a>> {
        Ok(match &v {
            Val::Base(_) => v,
            Val::Tuple { frame, fields } => {
                let fields = fields.iter().map(|f| self.fit(f.clone(), first, leaving));
                Val::Tuple { frame: frame.clone(), fields: fields.collect::<R<Vec<_>>>()?.into() }
            }
            Val::Fns { dims, table, fields } => {
                let fields = fields.iter().map(|f| self.fit(f.clone(), first, leaving));
                let fields = fields.collect::<R<Vec<_>>>()?.into();
                Val::Fns { dims: dims.clone(), table: table.clone(), fields }
            }
            Val::Box(b) => {
                let contents = self.fit(b.contents.clone(), first, leaving)?;
                Val::boxed(b.ty.clone(), b.witnesses.clone(), contents)
            }
            Val::Ragged(r) => {
                let mut atoms = Vec::new();
                r.whole(&mut atoms);
                let stmts: &[Stmt] = self.scopes.last().map_or(&[], |s| &s.stmts);
                let unfit = |a: &Atom| {
                    if is_before(*a, first) {
                        return false;
                    }
                    let mut from = Origins::default();
                    origins(*a, first, &mut vec![stmts], &mut from);
                    from.appended || (from.before && leaving == Leaving::Map)
                };
                if atoms.iter().any(unfit) { self.copied(r)? } else { v }
            }
            Val::Boxes { .. } => return bug("boxes that are not stored flat"),
        })
    }

    /// The same boxes, their data copied one after the other.
    fn copied(&mut self, r: &Ragged<'a>) -> R<Val<'a>> {
        let ty = ArrTy::scalar(r.ty.clone());
        self.map_boxes("data", (&r.frame, Contents::InOrder), &ty, |b, at| {
            let one = b.ragged_cell(r, at)?;
            b.contents_copied(&one)
        })
    }

    fn contents_copied(&mut self, v: &Val<'a>) -> R<Val<'a>> {
        Ok(match v {
            Val::Base(_) => v.clone(),
            Val::Tuple { frame, fields } => {
                let fields = fields.iter().map(|f| self.contents_copied(f)).collect::<R<Vec<_>>>()?;
                Val::Tuple { frame: frame.clone(), fields: fields.into() }
            }
            Val::Fns { dims, table, fields } => {
                let fields = fields.iter().map(|f| self.contents_copied(f)).collect::<R<Vec<_>>>()?;
                Val::Fns { dims: dims.clone(), table: table.clone(), fields: fields.into() }
            }
            Val::Box(b) => {
                let contents = self.contents_copied(&b.contents)?;
                Val::boxed(b.ty.clone(), b.witnesses.clone(), contents)
            }
            Val::Ragged(r) => self.copied(r)?,
            Val::Boxes { .. } => return bug("boxes in boxes that are not stored flat"),
        })
    }

    /// Whether all of an array of boxes is there before the variable `first`.
    pub fn are_before(&self, r: &Ragged<'a>, first: usize) -> bool {
        let mut atoms = Vec::new();
        r.atoms(self, &mut atoms);
        atoms.iter().all(|a| is_before(*a, first))
    }
}

impl<'a> Ragged<'a> {
    /// The arrays that a rearrangement of the boxes leaves as they are.
    fn whole(&self, out: &mut Vec<Atom>) {
        out.extend(self.witnesses.iter().filter_map(|w| Some(w.dims()?.data)));
        self.contents.whole(out);
    }
}

impl<'a> Part<'a> {
    fn whole(&self, out: &mut Vec<Atom>) {
        match self {
            Part::Base { data, .. } => out.push(*data),
            Part::Tuple(parts) | Part::Fns { fields: parts, .. } => parts.iter().for_each(|p| p.whole(out)),
            Part::Box(r) => r.whole(out),
            Part::Boxes { inner, .. } => {
                out.extend(inner.witnesses.iter().flat_map(|w| w.numbers()));
                inner.whole(out);
            }
        }
    }
}

/// Adds where `a` comes from. `bodies` are the statements of the bodies that are entered, from the outermost in.
fn origins(a: Atom, first: usize, bodies: &mut Vec<&[Stmt]>, out: &mut Origins) {
    let Some(v) = a.as_var() else { return };
    if v.index() < first {
        out.before = true;
        return;
    }
    let defines = |s: &&Stmt| s.pat.contains(&v);
    let Some((depth, stmt)) =
        (0..bodies.len()).rev().find_map(|d| Some((d, bodies[d].iter().rev().find(defines)?)))
    else {
        // A parameter of the body, or of a loop in it: what that begins with is looked at.
        return;
    };
    let at = stmt.pat.iter().position(|p| *p == v).unwrap_or(0);
    let inner = bodies.split_off(depth + 1);
    match &stmt.exp {
        Exp::Atom(b) => origins(*b, first, bodies, out),
        Exp::View { view: View::Append { .. }, .. } => out.appended = true,
        Exp::If { then, otherwise, .. } => {
            for body in [then, otherwise] {
                bodies.push(&body.stmts);
                origins(body.results[at], first, bodies, out);
                bodies.pop();
            }
        }
        Exp::For { state, body, .. } | Exp::While { state, body, .. } => {
            origins(state[at].1, first, bodies, out);
            bodies.push(&body.stmts);
            origins(body.results[at], first, bodies, out);
            bodies.pop();
        }
        _ => {}
    }
    bodies.extend(inner);
}
