//! Rows of sizes of their own, each made where it belongs.
//!
//! ```text
//! (let (%ys) (rows (%i %k) 0 (%starts) (leaf … (let (%row) (map ((%j %n)) …)) (give %row))))
//!
//! (kernel … (rows (%ys %starts))
//!   (for seq %i (tile %b %size %k) ()
//!     (let %s (load %starts %i))
//!     (for (lanes 8) %j (upto 0 %n) () … (let %at (op + %s %j)) (store %ys (%at) %y))))
//! ```
//!
//! A block has a run of points and takes them one after the other; a point's leaf is like that of any map, its innermost
//! loops in lanes, but that its rows are stored from their starts on. What it makes besides is in the memory of its worker,
//! so all that a row needs is read and written once, and is in a cache in between.
//!
//! On a GPU a point is a thread's, and neighbours are neighbours' ; longer rows are a group's ([`super::group`]).

use super::build::Emit;
use super::grid::Tiles;
use super::leaf::{Inner, Leaf};
use super::plan::Plan;
use super::{L, Place, Row, schedule, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_mono::ir as mono;

impl Plan {
    /// A map whose results after the first `regular` are rows of vectors, where `starts` say.
    pub fn ragged_rows(
        &mut self,
        pat: &[mono::Var],
        axis: mono::Axis,
        regular: usize,
        starts: &[mono::Var],
        leaf: &mono::Body,
    ) -> L<()> {
        let (maps, vectors) = pat.split_at(regular.min(pat.len()));
        let (mut outs, deferred) = self.alloc_results(maps, 1, &[], leaf, &[])?;
        for v in vectors {
            outs.push(self.alloc_for(*v)?);
        }
        let starts = starts.iter().map(|v| self.place(*v)).collect::<L<Vec<Place>>>()?;
        let n = self.atom(axis.size)?;
        let size = match self.threads {
            true => self.size(Field::Threads),
            false => {
                let cost = self.cost(leaf);
                schedule::points(self, &cost)?
            }
        };
        let tile = Tiles { size, count: self.tiles(n, size)? };
        self.kernel("rows", |l| {
            let thread = l.plan.threads.then(|| l.threads_of_block());
            if thread.is_some() {
                // A thread has its row's arrays in registers, as it has what loops carry.
                let resident = l.kernel.schedule[Field::ResidentLarge];
                l.kernel.schedule.set(Field::Resident, resident);
            }
            l.inner = if thread.is_some() { Inner::Serial } else { Inner::Lanes };
            let outs = l.import_all(&outs);
            let starts = l.import_all(&starts);
            let (cells, vectors) = outs.split_at(regular.min(outs.len()));
            l.kernel.rows = vectors.iter().zip(&starts).map(|(v, s)| (v.buffer, s.buffer)).collect();
            let block = l.grid_axis("b", tile.count);
            let (size, limit) = (l.outer(tile.size), l.atom(axis.size)?);
            let name = l.plan.flat.vars[axis.var].name.clone();
            let range = match thread {
                None => Range::Tile { index: block, size, limit },
                Some(thread) => Range::Share { thread, threads: l.count(), index: block, size, limit },
            };
            l.each(How::Seq, name.as_str(), range, |l, i| {
                l.set(axis.var, i);
                let mut to: Vec<Place> = cells.iter().map(|o| o.cell(&[i])).collect();
                for ((vector, starts), r) in vectors.iter().zip(&starts).zip(&leaf.results[regular..]) {
                    to.push(l.row(vector, starts, i, *r)?);
                }
                l.body_into(leaf, &to)
            })
        })?;
        self.bind_outs(pat, outs)?;
        self.check_deferred(&deferred, &[axis])
    }
}

impl Leaf<'_> {
    /// The row of point `i`, for an array like what `r` is bound to.
    pub fn row(&mut self, vector: &Place, starts: &Place, i: Atom, r: mono::Atom) -> L<Place> {
        let Some(v) = r.as_var() else { return wrong("a row that is a number") };
        let start = self.load(starts, &[i])?;
        let dims = self.plan.flat.vars[v].ty.dims.clone();
        // How many elements there are from one item to the next, of each axis but the last.
        let inner = self.atoms(dims.get(1..).unwrap_or_default())?;
        Ok(Place { row: Some(Row { start, inner }), ..vector.clone() })
    }
}
