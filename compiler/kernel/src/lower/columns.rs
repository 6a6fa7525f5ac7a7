//! Columns that are reduced rows at a time, each with its accumulator in memory that a cache keeps.
//!
//! ```text
//! (for (lanes 32) %j (tile %c 64 %n)               (for (lanes 32) %j (tile %c 1024 %n)
//!   (for seq %i (upto 0 %rows) ((%acc 0 +))           (store %sums (%w (op - %j %first)) 0))
//!     (let %x (load %m %i %j))                 ⇒    (for seq %g (upto 0 (op quotient %rows 4))
//!     (next (op + %acc %x)))                           (for (lanes 32) %j (tile %c 1024 %n)
//!   (store %a (%j) %acc))                                (let %s (load %sums %w …)) … + 4 rows … (store %sums …)))
//!                                                   (for (lanes 32) %j … (store %a (%j) (load %sums …)))
//! ```
//!
//! A few vectors of columns, with accumulators in registers, read a short piece of each row: another page of memory each,
//! and no more of it than a few cache lines, which no hardware fetches ahead. Of a block of many columns whole stretches of
//! memory are read. What each column combines, and in which order, is the same.
//!
//! That pays where there are more columns than registers' worth, and more rows than it takes to make up for accumulators that
//! go through the cache.

use super::build::Emit;
use super::grid::Tiles;
use super::leaf::Leaf;
use super::plan::Plan;
use super::schedule::{self, lane_ops};
use super::{L, Place, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;

/// A column's reduction, and what is computed before it, which is computed again each time that its accumulator is loaded,
/// and after it.
pub(crate) struct Columns<'b> {
    before: mono::Body,
    pat: &'b [mono::Var],
    axis: mono::Axis,
    body: &'b mono::Body,
    op: &'b mono::Combine,
    after: mono::Body,
}

/// Which of its rows a reduction takes, and what it starts from; from the first of the rows, which there are then, if nothing.
#[derive(Clone, Copy)]
pub(crate) struct RowsOf<'b> {
    pub from: Atom,
    pub to: Atom,
    pub start: Option<&'b [mono::Atom]>,
}

fn is_straight(s: &mono::Stmt) -> bool {
    s.exp.bodies().is_empty() && !s.exp.can_stop()
}

impl<'b> Columns<'b> {
    /// A leaf that reduces a row and does nothing else that takes long.
    pub fn of(plan: &Plan, leaf: &'b mono::Body) -> Option<Columns<'b>> {
        let k = leaf.stmts.iter().position(|s| matches!(s.exp, mono::Exp::Reduce { .. }))?;
        let (before, after) = (&leaf.stmts[..k], &leaf.stmts[k + 1..]);
        let mono::Exp::Reduce { axis, body, op } = &leaf.stmts[k].exp else { return None };
        let scalar = |v: &mono::Var| plan.flat.vars[*v].ty.is_scalar();
        let straight =
            |stmts: &[mono::Stmt]| stmts.iter().all(|s| is_straight(s) && s.pat.iter().all(scalar));
        let fits = [before, after, &body.stmts, &op.lambda.body.stmts].into_iter().all(straight)
            && leaf.stmts[k].pat.iter().chain(&op.lambda.params).all(scalar)
            && leaf.results.iter().filter_map(|a| a.as_var()).all(|v| scalar(&v));
        fits.then(|| Columns {
            before: mono::Body { stmts: before.to_vec(), results: Vec::new() },
            pat: &leaf.stmts[k].pat,
            axis: *axis,
            body,
            op,
            after: mono::Body { stmts: after.to_vec(), results: leaf.results.clone() },
        })
    }

    /// The elements of a tile, of which the tile's result is made.
    pub fn of_tile(
        plan: &Plan,
        axis: mono::Axis,
        leaf: &'b mono::Body,
        op: &'b mono::Combine,
    ) -> Option<Columns<'b>> {
        let scalar = |v: &mono::Var| plan.flat.vars[*v].ty.is_scalar();
        let straight = |b: &mono::Body| b.stmts.iter().all(|s| is_straight(s) && s.pat.iter().all(scalar));
        let params = &op.lambda.params;
        let fits = straight(leaf) && straight(&op.lambda.body) && params.iter().all(scalar);
        fits.then(|| Columns {
            before: mono::Body::default(),
            pat: params.get(..op.lambda.body.results.len()).unwrap_or_default(),
            axis,
            body: leaf,
            op,
            after: mono::Body::default(),
        })
    }

    /// How many rows there are, where that is known before the launch.
    pub fn rows(&self, plan: &Plan) -> Option<Atom> {
        plan.atom(self.axis.size).ok()
    }
}

impl Plan {
    /// Whether so many columns of so many rows are worth blocks.
    pub fn are_blocks_worth(&mut self, columns: Atom, rows: Atom) -> L<Atom> {
        let wide = self.int(ScalarOp::Ge, columns, self.size(Field::BlockedColumns))?;
        let fewest = 4 * self.number(Field::ColumnRows);
        let long = self.int(ScalarOp::Ge, rows, Atom::int(fewest))?;
        self.op(ScalarOp::And, &[wide, long])
    }

    /// The blocks of an axis of columns.
    pub fn column_blocks(&mut self, n: Atom) -> L<Tiles> {
        let size = self.size(Field::ColumnBlock);
        Ok(Tiles { size, count: self.tiles(n, size)? })
    }
}

/// What is left to do with a column and its results.
pub(crate) type Done<'f, 'l> = &'f mut dyn FnMut(&mut Leaf<'l>, Atom, &[Atom]) -> L<()>;

impl<'l> Leaf<'l> {
    /// The columns of a tile of `last`: each is reduced, and `done` does what is left with the results.
    pub fn columns(
        &mut self,
        c: &Columns<'_>,
        (last, block): (mono::Axis, Range),
        rows: RowsOf<'_>,
        done: Done<'_, 'l>,
    ) -> L<()> {
        let Range::Tile { index, size, .. } = block else { return wrong("no block of columns") };
        let tys: Vec<BaseTy> = c.pat.iter().map(|v| self.plan.flat.vars[*v].ty.base).collect();
        let mut sums = Vec::new();
        for base in &tys {
            sums.push(self.part("sums", *base, &[size])?);
        }
        let leaf = self.plan.shape(c.body, last.var);
        let width = schedule::lanes(leaf.widest, self.number(Field::ColumnVectors));
        let first = self.int(ScalarOp::Mul, index, size)?;
        let each = |l: &mut Self, body: &mut dyn FnMut(&mut Self, Atom, Atom) -> L<()>| {
            l.each(How::Lanes(width), "j", block, |l, j| {
                l.set(last.var, j);
                l.body(&c.before)?;
                let place = l.int(ScalarOp::Sub, j, first)?;
                body(l, j, place)
            })
        };
        let put = |l: &mut Self, place: Atom, values: &[Atom]| {
            sums.iter().zip(values).for_each(|(to, v)| l.store(to, &[place], *v));
        };
        let taken = |l: &mut Self, place: Atom| -> L<Vec<Atom>> {
            sums.iter().map(|s| l.load(s, &[place])).collect()
        };
        let neutral = || {
            let ops = lane_ops(c.op, &tys)?;
            Some(ops.into_iter().map(|(_, neutral)| mono::Atom::Const(neutral)).collect::<Vec<_>>())
        };
        let start = rows.start.map(<[_]>::to_vec).or_else(neutral);
        let from = match &start {
            Some(_) => rows.from,
            None => self.int(ScalarOp::Add, rows.from, Atom::int(1))?,
        };
        each(self, &mut |l, _, place| {
            let values = match &start {
                Some(start) => l.atoms(start)?,
                None => {
                    l.set(c.axis.var, rows.from);
                    l.scalars(c.body)?
                }
            };
            put(l, place, &values);
            Ok(())
        })?;
        // So many rows for each way of an accumulator through the cache.
        let at_once = self.number(Field::ColumnRows);
        let left = self.int(ScalarOp::Sub, rows.to, from)?;
        let groups = self.int(ScalarOp::Quotient, left, Atom::int(at_once))?;
        // Of whole rows one is read after the other: they are one stretch of memory.
        let limit = self.atom(last.size)?;
        let whole = self.int(ScalarOp::Le, limit, size)?;
        let groups = self.op(ScalarOp::Select, &[whole, Atom::int(0), groups])?;
        let step = |l: &mut Self, row: Atom, accs: &[Atom]| {
            l.set(c.axis.var, row);
            let elems = l.body(c.body)?;
            l.combine(c.op, accs, elems)
        };
        self.each(How::Seq, "g", Range::Upto { from: Atom::int(0), to: groups }, |l, g| {
            let before = l.int(ScalarOp::Mul, g, Atom::int(at_once))?;
            let row = l.int(ScalarOp::Add, from, before)?;
            each(l, &mut |l, _, place| {
                let mut accs = taken(l, place)?;
                for k in 0..at_once {
                    let row = l.int(ScalarOp::Add, row, Atom::int(k))?;
                    accs = step(l, row, &accs)?;
                }
                put(l, place, &accs);
                Ok(())
            })
        })?;
        let done_before = self.int(ScalarOp::Mul, groups, Atom::int(at_once))?;
        let rest = self.int(ScalarOp::Add, from, done_before)?;
        self.each(How::Seq, "i", Range::Upto { from: rest, to: rows.to }, |l, row| {
            each(l, &mut |l, _, place| {
                let accs = taken(l, place)?;
                let next = step(l, row, &accs)?;
                put(l, place, &next);
                Ok(())
            })
        })?;
        each(self, &mut |l, j, place| {
            let accs = taken(l, place)?;
            done(l, j, &accs)
        })
    }

    /// … of a leaf, whose results are stored in cells of `outs`, at `at` and the column.
    pub fn columns_into(
        &mut self,
        c: &Columns<'_>,
        last: (mono::Axis, Range),
        outs: &[Place],
        at: &[Atom],
    ) -> L<()> {
        let to = self.atom(c.axis.size)?;
        let rows = RowsOf { from: Atom::int(0), to, start: c.op.start.as_deref() };
        self.columns(c, last, rows, &mut |l, j, accs| {
            for (v, a) in c.pat.iter().zip(accs) {
                l.set(*v, *a);
            }
            let cells: Vec<Place> = outs.iter().map(|o| o.cell(&[at, &[j]].concat())).collect();
            l.body_into(&c.after, &cells)
        })
    }
}
