//! `seg-red`: partial results of tiles, and what is made of them.
//!
//! The elements of a tile are combined in lanes, or one by one; columns side by side in lanes. Where an element makes arrays
//! of its own, as many as there are lanes are made side by side, and combined when all of the tile are there.

use super::build::Emit;
use super::columns::{Columns, Done, RowsOf};
use super::grid::Tiles;
use super::leaf::{Inner, Leaf};
use super::plan::Plan;
use super::{Bound, L, Place, schedule, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

/// Whether the tiles' axis of partial results comes before those of the space or after them. Before them, the results of a
/// tile's columns lie side by side.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum TilesAre {
    First,
    Last,
}

impl TilesAre {
    /// Where the partial results of a point are, for a tile.
    fn at<A: Copy>(self, point: &[A], tile: A) -> Vec<A> {
        match self {
            TilesAre::First => [&[tile], point].concat(),
            TilesAre::Last => [point, &[tile]].concat(),
        }
    }
}

impl Plan {
    /// The tiles of an axis that is reduced or scanned.
    pub fn axis_tiles(&mut self, n: Atom, leaf: &mono::Body) -> L<Tiles> {
        let size = self.axis_tile(leaf)?;
        Ok(Tiles { size, count: self.tiles(n, size)? })
    }

    /// How many points a tile of an axis has.
    pub fn axis_tile(&mut self, leaf: &mono::Body) -> L<Atom> {
        let cost = self.cost(leaf);
        let points = schedule::points(self, &cost)?;
        schedule::round(self, points, Field::Round)
    }

    /// The tiles of rows of which the columns are reduced.
    fn tiles_of_columns(&mut self, n: Atom, leaf: &mono::Body, last: &mono::Axis) -> L<Tiles> {
        let points = self.axis_tile(leaf)?;
        let grains = self.number(Field::ColumnGrains);
        let columns = self.atom(last.size)?;
        let columns = self.int(ScalarOp::Max2, columns, self.size(Field::Round))?;
        let columns = self.int(ScalarOp::Min2, columns, self.size(Field::ColumnBlock))?;
        let all = self.int(ScalarOp::Mul, points, Atom::int(grains))?;
        let rows = self.int(ScalarOp::Quotient, all, columns)?;
        let rows = self.int(ScalarOp::Max2, rows, Atom::int(1))?;
        let size = schedule::round(self, rows, Field::Round)?;
        Ok(Tiles { size, count: self.tiles(n, size)? })
    }

    /// For each point of the space and each tile of the axis, what the tile's elements combine to: arrays of the space's
    /// sizes and the number of tiles.
    fn partials(
        &mut self,
        space: &[mono::Axis],
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
        (tiles, are): (Tiles, TilesAre),
    ) -> L<Vec<mono::Var>> {
        let (vars, outs) = self.partial_arrays(space, op, tiles, are)?;
        let tiles = (tiles, are);
        if let Some(width) = self.strips_of_reduction(axis, leaf)? {
            self.partial_strips((space, axis), op, leaf, width, tiles, &outs)?;
            return Ok(vars);
        }
        let Some((last, outer)) = space.split_last().filter(|(last, _)| self.has_columns(last, leaf)) else {
            self.partial_rows(space, axis, op, leaf, tiles, &outs)?;
            return Ok(vars);
        };
        // Columns side by side run in lanes, few of them too: one by one, each would read all of the array's memory.
        let n = self.atom(last.size)?;
        let cond = self.int(ScalarOp::Ge, n, self.size(Field::Columns))?;
        let blocks = match Columns::of_tile(self, axis, leaf, op) {
            Some(_) => self.are_blocks_worth(n, tiles.0.size)?,
            None => Atom::Const(Scalar::Bool(false)),
        };
        self.either(
            cond,
            |p| {
                p.either(
                    blocks,
                    |p| p.partial_blocks((outer, *last), axis, op, leaf, tiles, &outs),
                    |p| p.partial_columns((outer, *last), axis, op, leaf, tiles, &outs),
                )
            },
            |p| p.partial_rows(space, axis, op, leaf, tiles, &outs),
        )?;
        Ok(vars)
    }

    /// Whether the points of an axis read elements that lie side by side.
    pub fn has_columns(&self, axis: &mono::Axis, leaf: &mono::Body) -> bool {
        let s = self.shape(leaf, axis.var);
        let reads = [&s.reads, &s.inner];
        let rows = |n: fn(&schedule::Reads) -> usize| reads.into_iter().map(n).sum::<usize>();
        s.lanes && !s.branches && rows(|r| r.contiguous) > 0 && rows(|r| r.strided) == 0
    }

    /// Arrays of the space's sizes and the number of tiles, for partial results.
    pub fn partial_arrays(
        &mut self,
        space: &[mono::Axis],
        op: &mono::Combine,
        tiles: Tiles,
        are: TilesAre,
    ) -> L<(Vec<mono::Var>, Vec<Place>)> {
        let count = op.lambda.body.results.len();
        let number = self.bind_size("tiles", tiles.count);
        let mut outs = Vec::new();
        let mut vars = Vec::new();
        for p in &op.lambda.params[..count] {
            let sizes: Vec<mono::Atom> = space.iter().map(|a| a.size).collect();
            let dims = are.at(&sizes, number);
            let ty = self.flat.vars[*p].ty.over(&dims);
            let v = self.fresh("partial", ty);
            let place = self.alloc_for(v)?;
            self.set(v, Bound::Array(place.clone()));
            outs.push(place);
            vars.push(v);
        }
        Ok((vars, outs))
    }

    /// The partial results of each point by itself, in lanes along the axis where that pays.
    fn partial_rows(
        &mut self,
        space: &[mono::Axis],
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
        (tiles, are): (Tiles, TilesAre),
        outs: &[Place],
    ) -> L<()> {
        self.kernel("reduce", |l| {
            l.inner = Inner::Lanes;
            let outs = l.import_all(outs);
            let (at, tile) = l.segments(space, axis, tiles)?;
            let Range::Tile { index, .. } = tile else { return wrong("no tile") };
            let at = are.at(&at, index);
            // Every tile has an element, so none needs the start.
            let results = l.reduce_scalars(axis.var, tile, leaf, op, None)?;
            for (to, r) in outs.iter().zip(results) {
                l.store(to, &at, r);
            }
            Ok(())
        })
    }

    /// In how many lanes the items of a reduction are made, each with arrays of its own, where they are not reduced in lanes
    /// as they are.
    fn strips_of_reduction(&mut self, axis: mono::Axis, leaf: &mono::Body) -> L<Option<u32>> {
        let shape = self.shape(leaf, axis.var);
        if shape.lanes {
            return Ok(None);
        }
        let outer = self.outer_lanes(leaf, axis.var, &FxHashMap::default())?;
        Ok(outer.filter(|b| b.arrays && b.cond.is_none()).map(|b| b.width))
    }

    /// The partial results of items that are made in lanes, each with arrays of its own ([`super::outer_lanes`]): those of a tile
    /// go to memory of as many items, which is reduced then.
    fn partial_strips(
        &mut self,
        (space, axis): (&[mono::Axis], mono::Axis),
        op: &mono::Combine,
        leaf: &mono::Body,
        width: u32,
        (tiles, are): (Tiles, TilesAre),
        outs: &[Place],
    ) -> L<()> {
        let bases: Vec<BaseTy> = leaf.results.iter().map(|r| self.base_of(*r)).collect();
        self.kernel("reduce", |l| {
            let outs = l.import_all(outs);
            let (at, tile) = l.segments(space, axis, tiles)?;
            let Range::Tile { index, size, limit } = tile else { return wrong("no tile") };
            let at = are.at(&at, index);
            let first = l.int(ScalarOp::Mul, index, size)?;
            let left = l.int(ScalarOp::Sub, limit, first)?;
            let n = l.int(ScalarOp::Min2, size, left)?;
            let mut items = Vec::new();
            for base in bases {
                items.push((base, l.part("items", base, &[tiles.size])?));
            }
            l.inner = Inner::Serial;
            let strips = Range::Upto { from: Atom::int(0), to: l.tiles(n, Atom::int(width.into()))? };
            l.in_strips("k", strips, (width, Atom::int(width.into()), n), &mut |l, k| {
                let i = l.int(ScalarOp::Add, first, k)?;
                l.set(axis.var, i);
                let values = l.scalars(leaf)?;
                for ((_, to), v) in items.iter().zip(values) {
                    l.store(to, &[k], v);
                }
                Ok(())
            })?;
            l.inner = Inner::Lanes;
            let k = l.plan.fresh("k", mono::Ty::int());
            let mut made = mono::Body::default();
            for (base, place) in &items {
                let ty = mono::Ty::scalar(*base);
                let (array, x) = (l.plan.fresh("items", ty.over(&[axis.size])), l.plan.fresh("x", ty));
                l.env.insert(array, Bound::Array(place.clone()));
                let exp = mono::Exp::Index { array, at: vec![mono::Atom::Var(k)] };
                made.stmts.push(mono::Stmt { pat: vec![x], exp, prov: l.prov });
                made.results.push(mono::Atom::Var(x));
            }
            let all = Range::Upto { from: Atom::int(0), to: n };
            let results = l.reduce_scalars(k, all, &made, op, None)?;
            for (to, r) in outs.iter().zip(results) {
                l.store(to, &at, r);
            }
            Ok(())
        })
    }

    fn base_of(&self, a: mono::Atom) -> BaseTy {
        match a {
            mono::Atom::Var(v) => self.flat.vars[v].ty.base,
            mono::Atom::Const(c) => c.ty(),
        }
    }

    /// The partial results of neighbouring columns, in lanes.
    fn partial_columns(
        &mut self,
        (outer, last): (&[mono::Axis], mono::Axis),
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
        tiles: (Tiles, TilesAre),
        outs: &[Place],
    ) -> L<()> {
        let n = self.atom(last.size)?;
        let width = schedule::lanes(self.shape(leaf, last.var).widest, self.number(Field::ColumnVectors));
        let size = Atom::int(self.number(Field::Round).max(i64::from(width)));
        let columns = Tiles { size, count: self.tiles(n, size)? };
        self.columns_of_tiles((outer, last), axis, tiles, columns, outs, |l, tile, block, store| {
            l.each(How::Lanes(width), "j", block, |l, j| {
                l.set(last.var, j);
                let results = l.reduce_scalars(axis.var, tile, leaf, op, None)?;
                store(l, j, &results)
            })
        })
    }

    /// … of blocks of them, a row of a block at a time.
    fn partial_blocks(
        &mut self,
        (outer, last): (&[mono::Axis], mono::Axis),
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
        tiles: (Tiles, TilesAre),
        outs: &[Place],
    ) -> L<()> {
        let n = self.atom(last.size)?;
        let blocks = self.column_blocks(n)?;
        self.columns_of_tiles((outer, last), axis, tiles, blocks, outs, |l, tile, block, store| {
            let Range::Tile { index, size, limit } = tile else { return wrong("no tile") };
            let Some(columns) = Columns::of_tile(l.plan, axis, leaf, op) else { return wrong("no columns") };
            let from = l.int(ScalarOp::Mul, index, size)?;
            let end = l.int(ScalarOp::Add, from, size)?;
            let to = l.int(ScalarOp::Min2, end, limit)?;
            l.columns(&columns, (last, block), RowsOf { from, to, start: None }, store)
        })
    }

    /// A kernel for tiles of an axis and pieces of the columns: `body` reduces those of a piece, and has what each comes to
    /// stored.
    fn columns_of_tiles(
        &mut self,
        (outer, last): (&[mono::Axis], mono::Axis),
        axis: mono::Axis,
        (tiles, are): (Tiles, TilesAre),
        pieces: Tiles,
        outs: &[Place],
        body: impl for<'l> FnOnce(&mut Leaf<'l>, Range, Range, Done<'_, 'l>) -> L<()>,
    ) -> L<()> {
        self.kernel("reduce", |l| {
            l.inner = Inner::Serial;
            let outs = l.import_all(outs);
            let (at, tile) = l.segments(outer, axis, tiles)?;
            let Range::Tile { index, .. } = tile else { return wrong("no tile") };
            let piece = l.grid_axis("c", pieces.count);
            let limit = l.atom(last.size)?;
            let block = Range::Tile { index: piece, size: pieces.size, limit };
            body(l, tile, block, &mut |l, j, results| {
                let at = are.at(&[at.as_slice(), &[j]].concat(), index);
                outs.iter().zip(results).for_each(|(to, r)| l.store(to, &at, *r));
                Ok(())
            })
        })
    }

    /// A size of the plan as an atom of Flat.
    pub fn bind_size(&mut self, name: &str, a: Atom) -> mono::Atom {
        if a.as_int().is_some() {
            return a;
        }
        let v = self.fresh(name, mono::Ty::int());
        self.set(v, Bound::Scalar(a));
        mono::Atom::Var(v)
    }

    pub fn seg_red(
        &mut self,
        pat: &[mono::Var],
        space: &[mono::Axis],
        axis: mono::Axis,
        op: &mono::Combine,
        leaf: &mono::Body,
    ) -> L<()> {
        if self.threads {
            return self.seg_red_by_threads(pat, space, axis, op, leaf);
        }
        let n = self.atom(axis.size)?;
        let (tiles, are) = match space.split_last().filter(|(last, _)| self.has_columns(last, leaf)) {
            Some((last, _)) => (self.tiles_of_columns(n, leaf, last)?, TilesAre::First),
            None => (self.axis_tiles(n, leaf)?, TilesAre::Last),
        };
        let partials = self.partials(space, axis, op, leaf, (tiles, are))?;
        // What is left is a short reduction for each point of the space.
        let leaf = self.combination(space, &partials, (tiles.count, are), op);
        self.map_by(pat, space, &[], &leaf, |p, outs, leaf| p.fill_short("map", outs, space, leaf))
    }

    /// The partial results of a point, by the number of their tile: its variable, how many there are, and a
    /// leaf that reads them.
    pub fn partial_elements(
        &mut self,
        space: &[mono::Axis],
        partials: &[mono::Var],
        (tiles, are): (Atom, TilesAre),
    ) -> (mono::Var, mono::Atom, mono::Body) {
        let size = self.bind_size("tiles", tiles);
        let index = self.fresh("t", mono::Ty::int());
        let mut elems = mono::Body::default();
        for v in partials {
            let x = self.fresh("x", mono::Ty::scalar(self.flat.vars[*v].ty.base));
            let point: Vec<mono::Atom> = space.iter().map(|a| mono::Atom::Var(a.var)).collect();
            let at = are.at(&point, mono::Atom::Var(index));
            let exp = mono::Exp::Index { array: *v, at };
            elems.stmts.push(mono::Stmt { pat: vec![x], exp, prov: self.prov });
            elems.results.push(mono::Atom::Var(x));
        }
        (index, size, elems)
    }

    /// A leaf that combines the partial results of a point, one after the other.
    pub fn combination(
        &mut self,
        space: &[mono::Axis],
        partials: &[mono::Var],
        tiles: (Atom, TilesAre),
        op: &mono::Combine,
    ) -> mono::Body {
        let (index, size, body) = self.partial_elements(space, partials, tiles);
        let mut pat = Vec::new();
        for v in &op.lambda.params[..partials.len()] {
            let info = self.flat.vars[*v].clone();
            pat.push(self.fresh(info.name.as_str(), info.ty));
        }
        let results = pat.iter().map(|v| mono::Atom::Var(*v)).collect();
        let exp = mono::Exp::Reduce { axis: mono::Axis { var: index, size }, body, op: op.clone() };
        mono::Body { stmts: vec![mono::Stmt { pat, exp, prov: self.prov }], results }
    }
}
