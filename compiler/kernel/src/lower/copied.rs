//! Rows of points that a leaf reads again and again, from copies that lanes read side by side.
//!
//! The distances of a point to a few centres read its row once for each of them. Points in lanes would read across rows,
//! one element after the other, each time; so each begins with a copy of its row, and what points keep in memory lies side
//! by side ([`super::outer_lanes`]):
//!
//! ```text
//! (seg-map grid ((%i n))                          (seg-map grid ((%i n))
//!   (reduce (%c k)                                  (let (%row d) (map ((%j d)) (index %a %i %j)))
//!     (reduce (%j d)                        ⟶       (reduce (%c k)
//!       (let %x (index %a %i %j)) …) …))              (reduce (%j d) (let %x (index %row %j)) …) …))
//! ```
//!
//! Reading an element is safe wherever the loops that count its indices go: they are those of the array's own axes.

use super::build::Emit;
use super::plan::Plan;
use super::{L, outer_lanes::OuterLanes};
use crate::ir::Atom;
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_base::{Prov, Scalar};
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

/// A leaf that reads copies of rows.
pub(super) struct Copied {
    pub leaf: mono::Body,
    /// How many rows a point copies.
    copies: usize,
    /// How often each of them is read.
    rounds: Atom,
}

/// A row of a point: of which array, where, the axis of the array that is its own, and the loop that reads it.
struct Row {
    array: mono::Var,
    at: Vec<mono::Atom>,
    axis: usize,
    index: mono::Var,
    rounds: Atom,
    prov: Prov,
}

impl Plan {
    /// The leaf with copies of the rows that its points, along the last axis of the space, read more than once.
    pub(super) fn copied(&mut self, space: &[mono::Axis], leaf: &mono::Body) -> Option<Copied> {
        let mut found = Vec::new();
        self.rows_read(space, leaf, &mut Vec::new(), &mut found);
        let rounds = found.first()?.rounds;
        let mut leaf = leaf.clone();
        let mut copies: Vec<(mono::Var, Vec<mono::Atom>, mono::Var)> = Vec::new();
        let mut before = Vec::new();
        let mut reads: Vec<Reading> = Vec::new();
        for Row { array, at, axis, index, prov, .. } in found {
            let mut place = at.clone();
            place[axis] = mono::Atom::int(0);
            let known = copies.iter().find(|(a, p, _)| (*a, p) == (array, &place)).map(|(.., row)| *row);
            let row = known.unwrap_or_else(|| {
                let mono::Ty { base, dims } = self.flat.vars[array].ty.clone();
                let j = self.fresh("j", mono::Ty::int());
                let x = self.fresh("x", mono::Ty::scalar(base));
                let row = self.fresh("row", mono::Ty { base, dims: vec![dims[axis]] });
                let mut from = place.clone();
                from[axis] = j.into();
                let read = mono::Stmt { pat: vec![x], exp: mono::Exp::Index { array, at: from }, prov };
                let body = mono::Body { stmts: vec![read], results: vec![x.into()] };
                let axes = vec![mono::Axis { var: j, size: dims[axis] }];
                before.push(mono::Stmt { pat: vec![row], exp: mono::Exp::Map { axes, body }, prov });
                copies.push((array, place, row));
                row
            });
            reads.push(Reading { array, at, row, index });
        }
        read_from(&mut leaf, &reads);
        let copies = copies.len();
        leaf.stmts.splice(0..0, before);
        Some(Copied { leaf, copies, rounds })
    }

    /// The reads of such rows in a body, which `loops` are around.
    fn rows_read(
        &self,
        space: &[mono::Axis],
        body: &mono::Body,
        loops: &mut Vec<mono::Axis>,
        found: &mut Vec<Row>,
    ) {
        for s in &body.stmts {
            if let mono::Exp::Index { array, at } = &s.exp {
                found.extend(self.row_read(space, (*array, at), loops, s.prov));
            }
            let axes = s.exp.axes();
            loops.extend(axes);
            s.exp.bodies().into_iter().for_each(|b| self.rows_read(space, b, loops, found));
            loops.truncate(loops.len() - axes.len());
        }
    }

    fn row_read(
        &self,
        space: &[mono::Axis],
        (array, at): (mono::Var, &[mono::Atom]),
        loops: &[mono::Axis],
        prov: Prov,
    ) -> Option<Row> {
        let (point, _) = space.split_last()?;
        self.place(array).ok()?;
        let dims = &self.flat.vars[array].ty.dims;
        // What is beside in memory for the points needs no copy.
        if at.len() != dims.len() || at.last() == Some(&point.var.into()) {
            return None;
        }
        let mut own = None;
        let mut of_point = 0;
        for (k, (a, dim)) in at.iter().zip(dims).enumerate() {
            let axis = |x: &&mono::Axis| mono::Atom::Var(x.var) == *a;
            if let Some(inner) = loops.iter().find(axis) {
                if inner.size != *dim || own.replace((k, inner)).is_some() {
                    return None;
                }
            } else if let Some(around) = space.iter().find(axis) {
                if around.size != *dim {
                    return None;
                }
                of_point += usize::from(around.var == point.var);
            } else if a.as_int().zip(dim.as_int()).is_none_or(|(k, n)| k >= n) {
                // Some other number, of which nobody knows that it is a place.
                return None;
            }
        }
        let (axis, inner) = own.filter(|_| of_point == 1)?;
        self.atom(inner.size).ok()?;
        let others = loops.iter().filter(|l| l.var != inner.var);
        let rounds = others.filter_map(|l| self.atom(l.size).ok()).next_back()?;
        Some(Row { array, at: at.to_vec(), axis, index: inner.var, rounds, prov })
    }

    /// How the points of a leaf with copies run side by side, if they may: where each copy is read often enough.
    pub(super) fn copied_outer_lanes(&mut self, copied: &Copied, last: mono::Var) -> L<Option<OuterLanes>> {
        let outer = self.outer_lanes_with_copies(&copied.leaf, last, &FxHashMap::default(), copied.copies)?;
        let Some(b) = outer.filter(|b| b.arrays) else { return Ok(None) };
        let often = self.int(ScalarOp::Ge, copied.rounds, self.size(Field::StripReads))?;
        let cond = match (b.cond, often) {
            (Some(c), Atom::Var(_)) => self.op(ScalarOp::And, &[c, often])?,
            (Some(c), Atom::Const(Scalar::Bool(true))) => c,
            (_, often) => often,
        };
        Ok(match cond {
            Atom::Const(Scalar::Bool(false)) => None,
            Atom::Const(_) => Some(OuterLanes { cond: None, ..b }),
            cond => Some(OuterLanes { cond: Some(cond), ..b }),
        })
    }
}

/// An element of an array that is one of a copied row.
struct Reading {
    array: mono::Var,
    at: Vec<mono::Atom>,
    row: mono::Var,
    index: mono::Var,
}

/// Replaces the reads of rows by those of their copies.
fn read_from(body: &mut mono::Body, reads: &[Reading]) {
    for s in &mut body.stmts {
        if let mono::Exp::Index { array, at } = &mut s.exp
            && let Some(r) = reads.iter().find(|r| r.array == *array && r.at == *at)
        {
            (*array, *at) = (r.row, vec![r.index.into()]);
        }
        s.exp.bodies_mut().into_iter().for_each(|b| read_from(b, reads));
    }
}
