//! Items of a scatter that any threads of a GPU combine with what is there, at once.
//!
//! ```text
//! (kernel "update" … (alloc (%own shared u32 8192)) … (barrier)
//!   (for seq %i (share …) () … (update + %own (%at) 1)) (barrier)
//!   (for seq %k (share …) () (let %count (load %own %k)) (update + %to (%k) %count)))
//! ```

use super::super::build::Emit;
use super::super::plan::Plan;
use super::super::{L, Place, wrong};
use super::Scatter;
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_mono::ir as mono;

impl Plan {
    /// Any threads update what is there.
    pub(super) fn update_by_threads(&mut self, s: &Scatter<'_>, ops: &[ScalarOp], outs: &[Place]) -> L<()> {
        let cells = self.cells_apart(s);
        if let ([dest], [op], [out]) = (s.dests, ops, outs)
            && self.flat.vars[*dest].ty.rank() == 1
            && let Some(copy) = self.shared_copy(s, *dest, *op)
        {
            // As many items to a block as its copy has elements at least.
            let size = self.flat.vars[*dest].ty.dims[0];
            let size = self.atom(size)?;
            let fits = self.int(ScalarOp::Le, size, Atom::int(copy.room))?;
            return self.either(
                fits,
                |p| p.update_copies(s, *op, &copy, size, out),
                |p| p.update_items(s, ops, &cells, outs),
            );
        }
        self.update_items(s, ops, &cells, outs)
    }

    /// A thread for each item, and each of its numbers.
    fn update_items(
        &mut self,
        s: &Scatter<'_>,
        ops: &[ScalarOp],
        cells: &[mono::Axis],
        outs: &[Place],
    ) -> L<()> {
        let space: Vec<mono::Axis> = std::iter::once(s.axis).chain(cells.iter().copied()).collect();
        self.each_point("update", &space, |l, at| {
            let outs = l.import_all(outs);
            let [item, cell @ ..] = at else { return wrong("no item") };
            l.put_item(s, *item, cell, |l, k, to, value| {
                l.emit(StmtKind::Update { op: ops[k], buffer: outs[k].buffer, at: to.to_vec(), value });
                Ok(())
            })
        })
    }

    /// How a block may have a copy of the destination in shared memory.
    fn shared_copy(&self, s: &Scatter<'_>, dest: mono::Var, op: ScalarOp) -> Option<SharedCopy> {
        let base = self.flat.vars[dest].ty.base;
        // Ones are counted in words of the size that shared memory adds at once.
        let counted = match s.body.results.get(1)? {
            mono::Atom::Const(c) => (op == ScalarOp::Add && *c == one(base)?).then_some(BaseTy::U32),
            mono::Atom::Var(_) => None,
        };
        let base = counted.unwrap_or(base);
        let neutral = neutral(op, base)?;
        Some(SharedCopy { base, neutral, room: self.number(Field::Shared) / i64::from(base.bits() / 8) })
    }

    /// Each block updates a copy of its own in shared memory; then its threads update what is there by that.
    fn update_copies(
        &mut self,
        s: &Scatter<'_>,
        op: ScalarOp,
        copy: &SharedCopy,
        size: Atom,
        out: &Place,
    ) -> L<()> {
        let n = self.atom(s.axis.size)?;
        let mut tiles = self.tiles_of_segments(&[], n)?;
        let least = self.tiles(size, self.size(Field::Threads))?;
        let least = self.int(ScalarOp::Mul, least, self.size(Field::Threads))?;
        tiles.size = self.int(ScalarOp::Max2, tiles.size, least)?;
        tiles.count = self.tiles(n, tiles.size)?;
        self.kernel("update", |l| {
            let out = l.import_place(out);
            let size = l.outer(size);
            let thread = l.threads_of_block();
            let (_, tile) = l.segments(&[], s.axis, tiles)?;
            let Range::Tile { index, size: of_tile, limit } = tile else { return wrong("no tile") };
            let threads = l.count();
            let own = l.shared(copy.base, vec![Atom::int(copy.room)]);
            let all = Range::Share { thread, threads, index: Atom::int(0), size, limit: size };
            l.each(How::Seq, "k", all, |l, k| {
                l.store(&own, &[k], Atom::Const(copy.neutral));
                Ok(())
            })?;
            l.emit(StmtKind::Barrier);
            let range = Range::Share { thread, threads, index, size: of_tile, limit };
            l.each(How::Seq, "i", range, |l, i| {
                l.put_item(s, i, &[], |l, _, to, value| {
                    let value = match value {
                        Atom::Const(_) if copy.base == BaseTy::U32 => Atom::Const(Scalar::U32(1)),
                        _ => value,
                    };
                    l.emit(StmtKind::Update { op, buffer: own.buffer, at: to.to_vec(), value });
                    Ok(())
                })
            })?;
            l.emit(StmtKind::Barrier);
            let base = l.program().buffer_ty(out.buffer).map(|t| t.base);
            let Some(base) = base else { return wrong("an update of a scalar") };
            l.each(How::Seq, "k", all, |l, k| {
                let value = l.load(&own, &[k])?;
                let value = match base == copy.base {
                    true => value,
                    false => l.bind("count", base, Exp::Cast(base, value)),
                };
                l.emit(StmtKind::Update { op, buffer: out.buffer, at: vec![k], value });
                Ok(())
            })
        })
    }
}

/// A copy of a destination in a block's shared memory.
struct SharedCopy {
    base: BaseTy,
    neutral: Scalar,
    /// The elements that there is room for.
    room: i64,
}

/// The one of an integer type.
fn one(base: BaseTy) -> Option<Scalar> {
    base.is_integer().then(|| remc_base::ops::cast(Scalar::I64(1), base).ok()).flatten()
}
