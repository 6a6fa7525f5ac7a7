//! Operators over spaces become kernels.
//!
//! | operator | kernels |
//! | --- | --- |
//! | `seg-map` | one: a grid of tiles of the first and the last axis of the space |
//! | `seg-red` | the partial results of tiles of the axis; a map of serial reductions over those |
//! | `seg-scan` | one, in which blocks hand on what the tiles before combine to, or load it where it is known |
//!
//! The other operators have files of their own: [`super::filter`], [`super::scatter`], [`super::merge`].
//!
//! Partial results are combined in the order of their tiles, and tiles depend on sizes alone: the result
//! is the same for any number of threads.

use super::build::{Emit, upto};
use super::columns::Columns;
use super::grid::Tiles;
use super::leaf::{Inner, Leaf};
use super::operands::Transposed;
use super::plan::Plan;
use super::scan::Scan;
use super::schedule::{self, Cost};
use super::{Bound, L, Place, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_flat::across::{Across, reduction};
use remc_flat::ir as flat;
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

/// How the points of a space run.
#[derive(Clone, Copy, PartialEq)]
enum Points {
    /// One by one; reductions inside may run in lanes.
    Serial,
    /// In lanes along the last axis. A contraction has a loop inside; jammed, it shares what it reads
    /// between several points of the axis before.
    Lanes { width: u32, jam: bool, contraction: bool },
    /// In lanes along the last axis, a row of all of a block at a time ([`super::columns`]).
    Columns,
    /// In lanes along the last axis, each with arrays of its own.
    Strips { width: u32 },
    /// In square blocks that are transposed in registers.
    Transposed,
}

impl Points {
    fn lanes(p: &Plan, leaf: &mono::Body, last: &mono::Axis, outer: &[mono::Axis]) -> Points {
        let shape = p.shape(leaf, last.var);
        // Reads across rows come element by element: more lanes would be more code and no faster.
        if shape.inner.strided > 0 {
            let width = schedule::lanes(shape.widest, 1);
            return Points::Lanes { width, jam: false, contraction: true };
        }
        let jam = shape.loops
            && !shape.branches
            && outer.last().is_some_and(|a| {
                let s = p.shape(leaf, a.var);
                s.lanes && !s.branches && s.inner.shared > 0
            });
        // A jammed loop reads several vectors of a row at once.
        let width = if jam {
            schedule::lanes(shape.widest, p.number(Field::Jammed))
        } else {
            shape.lanes_of_points(|f| p.number(f))
        };
        Points::Lanes { width, jam, contraction: shape.loops }
    }
}

impl Plan {
    pub fn seg(&mut self, pat: &[mono::Var], seg: &flat::Seg) -> L<()> {
        match &seg.kind {
            flat::SegKind::Map if self.threads && seg.level == flat::Level::Block => {
                self.seg_of_groups(pat, &seg.space, &seg.body)
            }
            flat::SegKind::Map => self.map_by(pat, &seg.space, &seg.orders, &seg.body, |p, outs, leaf| {
                p.fill("map", outs, &seg.space, leaf)
            }),
            flat::SegKind::Red { axis, op } => self.seg_red(pat, &seg.space, *axis, op, &seg.body),
            flat::SegKind::Scan { axis, kind, op, epilogue, known } => {
                let scan =
                    Scan { index: axis.var, kind: *kind, op, leaf: &seg.body, epilogue: epilogue.as_ref() };
                match known {
                    // For threads side by side the places in between would have to be scanned as well.
                    Some(known) if !self.threads => self.seg_scan_of_tiles(pat, axis.size, scan, known),
                    _ => self.seg_scan(pat, &seg.space, axis.size, scan, &seg.orders),
                }
            }
        }
    }

    // ---- maps ----

    pub fn seg_map(&mut self, pat: &[mono::Var], space: &[mono::Axis], leaf: &mono::Body) -> L<()> {
        self.map_by(pat, space, &[], leaf, |p, outs, leaf| p.fill("map", outs, space, leaf))
    }

    /// A map whose results `fill` stores, their axes in these orders.
    pub fn map_by(
        &mut self,
        pat: &[mono::Var],
        space: &[mono::Axis],
        orders: &[Vec<usize>],
        leaf: &mono::Body,
        fill: impl FnOnce(&mut Self, &[Place], &mono::Body) -> L<()>,
    ) -> L<()> {
        let alone = if space.is_empty() { self.in_place(leaf)? } else { None };
        let (leaf, homes) = match &alone {
            Some((leaf, homes)) => (leaf, homes.as_slice()),
            None => (leaf, [].as_slice()),
        };
        let (outs, deferred) = self.alloc_results(pat, space.len(), orders, leaf, homes)?;
        fill(self, &outs, leaf)?;
        self.bind_outs(pat, outs)?;
        self.check_deferred(&deferred, space)
    }

    /// What a kernel has made; a scalar is read by the host.
    pub fn bind_outs(&mut self, pat: &[mono::Var], outs: Vec<Place>) -> L<()> {
        for (v, out) in pat.iter().zip(outs) {
            let value = match self.flat.vars[*v].ty.is_scalar() {
                true => Bound::Scalar(self.load(&out, &[])?),
                false => Bound::Array(out.made()),
            };
            self.set(*v, value);
        }
        Ok(())
    }

    pub fn cost(&self, leaf: &mono::Body) -> Cost {
        schedule::cost(leaf, &mut |a| self.atom(a).ok())
    }

    pub fn shape(&self, leaf: &mono::Body, var: mono::Var) -> schedule::Shape {
        schedule::shape(leaf, var, self.number(Field::Interleaved), &|v| self.flat.vars[v].ty.clone())
    }

    /// Evaluates the leaf at every point of the space, into cells of `outs`.
    pub fn fill(&mut self, name: &str, outs: &[Place], space: &[mono::Axis], leaf: &mono::Body) -> L<()> {
        if self.threads && !space.is_empty() {
            return self.fill_by_threads(name, outs, space, leaf);
        }
        let Some((last, _)) = space.split_last() else {
            return self.kernel(name, |l| {
                l.inner = Inner::Lanes;
                let outs = l.import_all(outs);
                l.body_into(leaf, &outs)
            });
        };
        if let Some(lanes) = self.lanes_of_points(space, leaf) {
            let blocks = self.blocks_of_columns(last, leaf, lanes)?;
            return self.fill_if(name, outs, space, leaf, Some(blocks), (Points::Columns, lanes));
        }
        if let Some(copied) = self.copied(space, leaf)
            && let Some(b) = self.copied_outer_lanes(&copied, last.var)?
        {
            let strips = Points::Strips { width: b.width };
            return self.either(
                b.cond.unwrap_or(Atom::Const(Scalar::Bool(true))),
                |p| p.fill_with(name, outs, space, &copied.leaf, strips),
                |p| p.fill_uncopied(name, outs, space, leaf),
            );
        }
        self.fill_uncopied(name, outs, space, leaf)
    }

    /// How points run in lanes, if that pays.
    fn lanes_of_points(&self, space: &[mono::Axis], leaf: &mono::Body) -> Option<Points> {
        let (last, outer) = space.split_last()?;
        self.shape(leaf, last.var).pays().then(|| Points::lanes(self, leaf, last, outer))
    }

    /// A short reduction for each point: what is left to do of a longer one.
    pub fn fill_short(
        &mut self,
        name: &str,
        outs: &[Place],
        space: &[mono::Axis],
        leaf: &mono::Body,
    ) -> L<()> {
        match self.lanes_of_points(space, leaf).filter(|_| !self.threads) {
            Some(lanes) => self.fill_with(name, outs, space, leaf, lanes),
            None => self.fill(name, outs, space, leaf),
        }
    }

    /// Whether points that run in lanes are columns that are reduced a row of them at a time.
    fn blocks_of_columns(&mut self, last: &mono::Axis, leaf: &mono::Body, lanes: Points) -> L<Atom> {
        let rows = Columns::of(self, leaf).and_then(|c| c.rows(self));
        let short = self.shape(leaf, last.var).ops <= self.number(Field::LongBody);
        match rows {
            Some(rows)
                if short
                    && self.has_columns(last, leaf)
                    && !matches!(lanes, Points::Lanes { jam: true, .. }) =>
            {
                let n = self.atom(last.size)?;
                self.are_blocks_worth(n, rows)
            }
            _ => Ok(Atom::Const(Scalar::Bool(false))),
        }
    }

    /// The points of a space, whose rows nobody copies.
    fn fill_uncopied(
        &mut self,
        name: &str,
        outs: &[Place],
        space: &[mono::Axis],
        leaf: &mono::Body,
    ) -> L<()> {
        let Some((last, outer)) = space.split_last() else { return wrong("no axis") };
        let shape = self.shape(leaf, last.var);
        let inner = self.strided_reduction(leaf, &shape);
        if self.is_transposition(leaf, &shape, outer) {
            return self.fill_with(name, outs, space, leaf, Points::Transposed);
        }
        let Some(n) = inner else {
            return self.fill_in_outer_lanes(name, outs, space, leaf);
        };
        let Some(transposed) = self.transposed(space, leaf) else {
            return self.fill_along(name, outs, space, leaf, n);
        };
        let mut enough = Atom::Const(Scalar::Bool(true));
        for (a, least) in
            outer.last().into_iter().chain([last]).zip([Field::AcrossRows, Field::AcrossColumns])
        {
            let size = self.atom(a.size)?;
            let test = self.int(ScalarOp::Ge, size, self.size(least))?;
            if test == Atom::Const(Scalar::Bool(false)) {
                return self.fill_along(name, outs, space, leaf, n);
            }
            enough = self.op(ScalarOp::And, &[enough, test])?;
        }
        self.either(
            enough,
            |p| p.fill_transposed(name, outs, space, transposed),
            |p| p.fill_along(name, outs, space, leaf, n),
        )
    }

    /// Points with loops or arrays of their own: side by side where that pays.
    fn fill_in_outer_lanes(
        &mut self,
        name: &str,
        outs: &[Place],
        space: &[mono::Axis],
        leaf: &mono::Body,
    ) -> L<()> {
        let Some((last, outer)) = space.split_last() else { return wrong("no axis") };
        let Some(b) = self.outer_lanes(leaf, last.var, &FxHashMap::default())? else {
            return self.fill_with(name, outs, space, leaf, Points::Serial);
        };
        if !b.arrays {
            let lanes = Points::lanes(self, leaf, last, outer);
            return self.fill_if(name, outs, space, leaf, b.cond, (lanes, Points::Serial));
        }
        let n = self.atom(last.size)?;
        let [wide, narrow] = [b.wide, b.width].map(|width| Points::Strips { width });
        self.either(
            b.cond.unwrap_or(Atom::Const(Scalar::Bool(true))),
            |p| {
                let enough = i64::from(b.wide) * p.number(Field::StripsEach);
                let many = p.int(ScalarOp::Ge, n, Atom::int(enough))?;
                let many = if b.wide > b.width { many } else { Atom::Const(Scalar::Bool(false)) };
                p.fill_if(name, outs, space, leaf, Some(many), (wide, narrow))
            },
            |p| p.fill_with(name, outs, space, leaf, Points::Serial),
        )
    }

    /// Points that reduce a row of length `n` each: in lanes along the row if it is long, else many rows at once.
    fn fill_along(
        &mut self,
        name: &str,
        outs: &[Place],
        space: &[mono::Axis],
        leaf: &mono::Body,
        n: Atom,
    ) -> L<()> {
        let Some((last, outer)) = space.split_last() else { return wrong("no axis") };
        let shape = self.shape(leaf, last.var);
        let long = self.int(ScalarOp::Ge, n, Atom::int(self.short_row(leaf, &shape)))?;
        let lanes = Points::lanes(self, leaf, last, outer);
        self.fill_if(name, outs, space, leaf, Some(long), (Points::Serial, lanes))
    }

    fn fill_transposed(
        &mut self,
        name: &str,
        outs: &[Place],
        space: &[mono::Axis],
        transposed: Transposed,
    ) -> L<()> {
        for (v, Across { array, order }) in transposed.arrays {
            self.view_copy(v, &mono::View::Permute { perm: order }, array)?;
        }
        self.fill(name, outs, space, &transposed.leaf)
    }

    /// One kernel, or one of two by a condition.
    fn fill_if(
        &mut self,
        name: &str,
        outs: &[Place],
        space: &[mono::Axis],
        leaf: &mono::Body,
        cond: Option<Atom>,
        (then, otherwise): (Points, Points),
    ) -> L<()> {
        let Some(cond) = cond else { return self.fill_with(name, outs, space, leaf, then) };
        self.either(
            cond,
            |p| p.fill_with(name, outs, space, leaf, then),
            |p| p.fill_with(name, outs, space, leaf, otherwise),
        )
    }

    /// What either of two makes, as a condition says; the one alone where it is known.
    pub fn either(
        &mut self,
        cond: Atom,
        then: impl FnOnce(&mut Self) -> L<()>,
        otherwise: impl FnOnce(&mut Self) -> L<()>,
    ) -> L<()> {
        match cond {
            Atom::Const(Scalar::Bool(true)) => return then(self),
            Atom::Const(_) => return otherwise(self),
            Atom::Var(_) => {}
        }
        self.blocks.open();
        then(self)?;
        let then = self.blocks.close();
        self.blocks.open();
        otherwise(self)?;
        let otherwise = self.blocks.close();
        self.emit(StmtKind::If { cond, then, otherwise, results: Vec::new() });
        Ok(())
    }

    /// The length of the one reduction in a leaf that could run in lanes of its space, but reads across
    /// its arrays then. One that waits for what it carries cannot run in lanes along its rows.
    pub fn strided_reduction(&self, leaf: &mono::Body, shape: &schedule::Shape) -> Option<Atom> {
        let waits =
            |s: &mono::Stmt| matches!(&s.exp, mono::Exp::Reduce { op, .. } if !self.is_combined_in_lanes(op));
        let (_, axis) = reduction(leaf).filter(|_| shape.lanes && !leaf.stmts.iter().any(waits))?;
        self.atom(axis.size).ok()
    }

    /// How long the row of such a reduction has to be to run in lanes along the row: a vector, if an operator combines
    /// one number, since a row that fills none costs as much, and more for what takes longer to combine.
    fn short_row(&self, leaf: &mono::Body, shape: &schedule::Shape) -> i64 {
        let simple = |s: &mono::Stmt| match &s.exp {
            mono::Exp::Reduce { op, .. } => op.component_ops().is_some_and(|ops| ops.len() == 1),
            _ => true,
        };
        match leaf.stmts.iter().all(simple) {
            true => i64::from(schedule::lanes(shape.widest, 1)).min(self.number(Field::Short)),
            false => self.number(Field::Short),
        }
    }

    /// Whether a leaf only moves elements, along the other of two axes.
    pub fn is_transposition(&self, leaf: &mono::Body, shape: &schedule::Shape, outer: &[mono::Axis]) -> bool {
        let [first] = outer else { return false };
        let r = &shape.reads;
        let across = shape.lanes && !shape.loops && !shape.branches && r.strided > 0 && r.contiguous == 0;
        across && {
            let other = self.shape(leaf, first.var);
            other.reads.contiguous > 0 && other.reads.strided == 0
        }
    }

    /// One kernel for the points of a space.
    fn fill_with(
        &mut self,
        name: &str,
        outs: &[Place],
        space: &[mono::Axis],
        leaf: &mono::Body,
        how: Points,
    ) -> L<()> {
        let Some((last, outer)) = space.split_last() else { return wrong("no axis") };
        let cost = self.cost(leaf);
        let mut points = schedule::points(self, &cost)?;
        // As many vectors of narrow elements as of wide ones.
        if let Points::Lanes { .. } = how {
            let more = schedule::lanes(self.shape(leaf, last.var).widest, 1) / schedule::lanes(8, 1);
            points = self.int(ScalarOp::Mul, points, Atom::int(i64::from(more)))?;
        }
        let n = self.atom(last.size)?;
        let wide = match how {
            Points::Serial => points,
            Points::Lanes { .. } => schedule::round(self, points, Field::Round)?,
            Points::Strips { width } => schedule::round_to(self, points, width.into())?,
            Points::Columns => self.size(Field::ColumnBlock),
            Points::Transposed => self.size(Field::Transposed),
        };
        let tile = match how {
            // So many strips.
            Points::Strips { width } => {
                let all = self.tiles(n, Atom::int(width.into()))?;
                let size = self.int(ScalarOp::Quotient, wide, Atom::int(width.into()))?;
                Tiles { size, count: self.tiles(all, size)? }
            }
            _ => Tiles { size: wide, count: self.tiles(n, wide)? },
        };
        let rows = self.row_tiles(outer, how, points, n, wide)?;
        let (lanes, jam) = match how {
            Points::Serial | Points::Strips { .. } | Points::Columns => (How::Seq, How::Seq),
            Points::Lanes { width, jam: false, .. } => (How::Lanes(width), How::Seq),
            Points::Lanes { width, jam: true, .. } => {
                (How::Lanes(width), How::Jam(self.number(Field::Jam) as u32))
            }
            Points::Transposed => {
                // A truth value is a bit in registers, and hundreds of vectors of bits to be exchanged take seconds to compile.
                let bits = leaf
                    .results
                    .iter()
                    .filter_map(|a| a.as_var())
                    .any(|v| self.flat.vars[v].ty.base == BaseTy::Bool);
                let widest = self.shape(leaf, last.var).widest;
                let width = schedule::lanes(if bits { widest.max(2) } else { widest }, 1);
                (How::Lanes(width), How::Jam(width))
            }
        };
        self.kernel(name, |l| {
            l.inner = if how == Points::Serial { Inner::Lanes } else { Inner::Serial };
            let outs = l.import_all(outs);
            let last_tile = l.grid_axis("b", tile.count);
            let first_tile = rows.map(|r| l.grid_axis("r", r.count));
            // Blocks that follow one another share what they read: the columns of a product, the pages of
            // what is transposed.
            let shares = matches!(how, Points::Transposed | Points::Lanes { contraction: true, .. });
            if !shares {
                l.kernel.grid.reverse();
            }
            let mut loops: Vec<(mono::Axis, How, Range)> = Vec::new();
            for (k, a) in outer.iter().enumerate() {
                let n = l.atom(a.size)?;
                let range = match (k, rows, first_tile) {
                    (0, Some(r), Some(index)) => {
                        let size = l.outer(r.size);
                        Range::Tile { index, size, limit: n }
                    }
                    _ => upto(n),
                };
                loops.push((*a, if k + 1 == outer.len() { jam } else { How::Seq }, range));
            }
            let n = l.atom(last.size)?;
            let size = l.outer(tile.size);
            let mut point = |l: &mut Leaf<'_>, at: &[Atom]| {
                let cells: Vec<Place> = outs.iter().map(|o| o.cell(at)).collect();
                l.body_into(leaf, &cells)
            };
            if how == Points::Columns {
                let Some(columns) = Columns::of(l.plan, leaf) else { return wrong("no columns") };
                let block = Range::Tile { index: last_tile, size, limit: n };
                return l.point_loops(&loops, &mut Vec::new(), &mut |l, at| {
                    l.columns_into(&columns, (*last, block), &outs, at)
                });
            }
            if let Points::Strips { width } = how {
                let all = Atom::int(width.into());
                let limit = l.tiles(n, all)?;
                let strips = Range::Tile { index: last_tile, size, limit };
                let name = l.plan.flat.vars[last.var].name.clone();
                return l.point_loops(&loops, &mut Vec::new(), &mut |l, at| {
                    l.in_strips(name.as_str(), strips, (width, all, n), &mut |l, i| {
                        l.set(last.var, i);
                        point(l, &[at, &[i]].concat())
                    })
                });
            }
            loops.push((*last, lanes, Range::Tile { index: last_tile, size, limit: n }));
            l.point_loops(&loops, &mut Vec::new(), &mut point)
        })
    }

    /// The tiles of the first axis: as many rows as make up the points of a block.
    fn row_tiles(
        &mut self,
        outer: &[mono::Axis],
        how: Points,
        points: Atom,
        n: Atom,
        wide: Atom,
    ) -> L<Option<Tiles>> {
        let [first, mid @ ..] = outer else { return Ok(None) };
        if how == Points::Transposed {
            let size = Atom::int(self.number(Field::Transposed) / 2);
            let n = self.atom(first.size)?;
            return Ok(Some(Tiles { size, count: self.tiles(n, size)? }));
        }
        let mut row = self.int(ScalarOp::Min2, n, wide)?;
        for a in mid {
            let n = self.atom(a.size)?;
            let n = self.int(ScalarOp::Min2, n, Atom::int(self.grain()))?;
            row = self.int(ScalarOp::Mul, row, n)?;
        }
        row = self.int(ScalarOp::Max2, row, Atom::int(1))?;
        let mut size = self.int(ScalarOp::Quotient, points, row)?;
        let least = match how {
            Points::Lanes { jam: true, .. } if mid.is_empty() => self.number(Field::Jam),
            _ => 1,
        };
        size = self.int(ScalarOp::Max2, size, Atom::int(least))?;
        let n = self.atom(first.size)?;
        Ok(Some(Tiles { size, count: self.tiles(n, size)? }))
    }

    /// A view whose indices are those of the array, moved and shifted, as the map that it is: maps have
    /// better schedules than views.
    fn as_map(
        &mut self,
        v: mono::Var,
        view: &mono::View,
        array: mono::Var,
    ) -> Option<(Vec<mono::Axis>, mono::Body)> {
        let (source, dims) = (self.flat.vars[array].ty.clone(), self.flat.vars[v].ty.dims.clone());
        let axes: Vec<mono::Axis> = dims
            .iter()
            .map(|size| mono::Axis { var: self.fresh("i", mono::Ty::int()), size: *size })
            .collect();
        let mut at: Vec<mono::Atom> = axes.iter().map(|a| mono::Atom::Var(a.var)).collect();
        let mut stmts = Vec::new();
        match view {
            mono::View::Permute { perm } => {
                let moved = at.clone();
                for (a, k) in moved.iter().zip(perm) {
                    *at.get_mut(*k)? = *a;
                }
            }
            mono::View::Replicate { dims } => {
                at.drain(..dims.len());
            }
            mono::View::Slice { start, .. } => {
                for (a, s) in at.iter_mut().zip(start) {
                    let sum = self.fresh("i", mono::Ty::int());
                    let exp = mono::Exp::Op(ScalarOp::Add, vec![*a, *s]);
                    stmts.push(mono::Stmt { pat: vec![sum], exp, prov: self.prov });
                    *a = mono::Atom::Var(sum);
                }
            }
            _ => return None,
        }
        let x = self.fresh("x", mono::Ty::scalar(source.base));
        let exp = mono::Exp::Index { array, at };
        stmts.push(mono::Stmt { pat: vec![x], exp, prov: self.prov });
        Some((axes, mono::Body { stmts, results: vec![mono::Atom::Var(x)] }))
    }

    /// A copy of a view of an array that is wanted as a whole.
    pub fn view_copy(&mut self, v: mono::Var, view: &mono::View, array: mono::Var) -> L<()> {
        if let Some((axes, leaf)) = self.as_map(v, view, array) {
            return self.seg_map(&[v], &axes, &leaf);
        }
        let out = self.alloc_for(v)?;
        let (source, dims) = (self.dims(array)?, self.dims(v)?);
        let from = self.place(array)?;
        let row = Cost { ops: 8, sizes: dims[1.min(dims.len())..].to_vec() };
        let points = schedule::points(self, &row)?;
        let tiles = match dims.first() {
            Some(n) => Some(Tiles { size: points, count: self.tiles(*n, points)? }),
            None => None,
        };
        let view = view.clone();
        self.kernel("view", |l| {
            let (from, to) = (l.import_place(&from), l.import_place(&out));
            let source: Vec<Atom> = source.iter().map(|a| l.outer(*a)).collect();
            let dims: Vec<Atom> = dims.iter().map(|a| l.outer(*a)).collect();
            match (tiles, dims.first()) {
                (Some(t), Some(n)) => {
                    let index = l.grid_axis("b", t.count);
                    let range = Range::Tile { index, size: l.outer(t.size), limit: *n };
                    l.view_tile(&view, &source, &dims, range, &from, &to)
                }
                _ => l.view(v, &view, array, &from, &to),
            }
        })?;
        self.set(v, Bound::Array(out));
        Ok(())
    }
}

impl Leaf<'_> {
    /// The kernel's name for a size of the plan.
    pub fn outer(&mut self, a: Atom) -> Atom {
        self.kernel.import_atom(&mut self.plan.out, a)
    }

    pub fn import_place(&mut self, p: &Place) -> Place {
        self.kernel.import_place(&mut self.plan.out, p)
    }

    pub fn import_all(&mut self, places: &[Place]) -> Vec<Place> {
        places.iter().map(|p| self.import_place(p)).collect()
    }

    /// A new axis of the grid, of this many blocks.
    pub fn grid_axis(&mut self, name: &str, count: Atom) -> Atom {
        let count = self.outer(count);
        let var = self.plan.out.scalar(name, BaseTy::I64);
        self.kernel.grid.push((var, count));
        Atom::Var(var)
    }

    /// A grid over the points of a space and the tiles of an axis: where this block is, and its tile.
    pub fn segments(
        &mut self,
        space: &[mono::Axis],
        axis: mono::Axis,
        tiles: Tiles,
    ) -> L<(Vec<Atom>, Range)> {
        let mut at = Vec::new();
        for a in space {
            let n = self.plan.atom(a.size)?;
            let i = self.grid_axis("i", n);
            self.set(a.var, i);
            at.push(i);
        }
        let index = self.grid_axis("b", tiles.count);
        let limit = self.atom(axis.size)?;
        Ok((at, Range::Tile { index, size: self.outer(tiles.size), limit }))
    }

    fn point_loops(
        &mut self,
        loops: &[(mono::Axis, How, Range)],
        at: &mut Vec<Atom>,
        point: &mut dyn FnMut(&mut Self, &[Atom]) -> L<()>,
    ) -> L<()> {
        let [(axis, how, range), rest @ ..] = loops else { return point(self, at) };
        let name = self.plan.flat.vars[axis.var].name.clone();
        self.each(*how, name.as_str(), *range, |l, i| {
            l.set(axis.var, i);
            at.push(i);
            let done = l.point_loops(rest, at, point);
            at.pop();
            done
        })
    }
}
