//! Rows whose numbers of items are known only when they are made: allocated to an upper bound, then compacted.

use super::{Rows, begin};
use crate::flatten::host::Stmts;
use crate::flatten::{F, Flattener, NEVER};
use crate::ir;
use remc_base::ops::ScalarOp;
use remc_mono::ir::*;
use remc_mono::legal::Most;

/// The parts that a join binds of a row: how many elements there are in all, where those of each point begin, and they.
const PARTS: usize = 3;

/// A row that was made in memory of the bound's size.
struct Made<'p> {
    /// What the join binds of it.
    part: &'p [Var],
    /// Its own number of items, then the dims of one.
    dims: Vec<Atom>,
    /// Where the memory of each point begins, and all of it.
    starts: Var,
    room: Var,
}

/// Rows of which some are made in memory for the most items that they may have, and compacted.
pub(super) fn rows(
    f: &mut Flattener,
    mut rows: Rows,
    maps: &[Var],
    joined: &[Var],
    out: &mut Vec<ir::Stmt>,
) -> F<()> {
    let mut made = Stmts::new(f, rows.prov);
    let axis = rows.axis;
    let rooms = std::mem::take(&mut rows.own.rooms);
    let given = rows.body.results.split_off(rows.regular);
    let mut all = maps.to_vec();
    // How many items each point has, for each such number.
    let mut counts: Vec<(Atom, Var)> = rows.body.results.iter().copied().zip(maps.iter().copied()).collect();
    for (row, _) in given.iter().zip(&rooms).filter(|(_, most)| most.is_some()) {
        let count = made.f.p.atom_ty(*row).dims[0];
        if !counts.iter().any(|(of, _)| *of == count) {
            let items = made.vector("items", axis.size);
            counts.push((count, items));
            all.push(items);
            rows.body.results.push(count);
        }
    }
    rows.regular = rows.body.results.len();

    let (mut known, mut bounds): (Vec<_>, Vec<(Most, Atom)>) = (Vec::new(), Vec::new());
    let (mut starts, mut copied) = (Vec::new(), Vec::new());
    for ((part, row), most) in joined.chunks(PARTS).zip(&given).zip(rooms) {
        let ty = made.f.p.atom_ty(*row);
        let Some(most) = most else {
            begin(&mut made, axis, &rows.own, ty.dims, (part[0], part[1]), &mut known);
            starts.push(part[1]);
            all.push(part[2]);
            continue;
        };
        let bound = match bounds.iter().find(|(of, _)| *of == most) {
            Some((_, bound)) => *bound,
            None => {
                let (stmts, bound) = made.aside(|made| {
                    let mut size = bound(made, &most);
                    if matches!(most, Most::Op(..)) {
                        let share = share(made, axis.size);
                        size = made.op(ScalarOp::Min2, size, share);
                    }
                    (made.take(), size)
                });
                rows.own.slice.extend(stmts);
                bounds.push((most, bound));
                bound
            }
        };
        let dims = [&[bound], &ty.dims[1..]].concat();
        let (total, from) = (made.int("total"), made.vector("from", axis.size));
        begin(&mut made, axis, &rows.own, dims, (total, from), &mut known);
        let room = made.f.p.fresh("room", Ty { base: ty.base, dims: vec![total.into()] });
        starts.push(from);
        all.push(room);
        copied.push(Made { part, dims: ty.dims, starts: from, room });
    }
    rows.body.results.extend(given);
    let long = if rows.body.can_stop() { NEVER } else { made.f.thresholds.row_long };
    let stmts = made.take();
    f.stmts(&stmts, out)?;
    rows.one_by_one(f, all, starts, long, out)?;

    let join = compaction(f, &rows, &copied, &counts);
    f.stmts(&[join], out)
}

/// What each row may have at most, so that the sum of all bounds is a number, if of more elements than there is memory for:
/// a branch that is not taken may have said any size, which no check has looked at.
fn share(made: &mut Stmts<'_>, rows: Atom) -> Atom {
    let rows = made.op(ScalarOp::Max2, rows, Atom::int(1));
    made.op(ScalarOp::Quotient, Atom::int(1 << 62), rows)
}

/// A bound as a number, by statements that are made for it.
fn bound(made: &mut Stmts<'_>, most: &Most) -> Atom {
    match most {
        Most::Size(size) => *size,
        Most::Op(op, args) => {
            let args: Vec<Atom> = args.iter().map(|m| bound(made, m)).collect();
            made.op(*op, args[0], args[1])
        }
    }
}

/// The compaction: the join of the items that the rows have.
fn compaction(f: &mut Flattener, rows: &Rows, copied: &[Made<'_>], counts: &[(Atom, Var)]) -> Stmt {
    let mut made = Stmts::new(f, rows.prov);
    let i = made.int("i");
    let (mut sizes, mut results): (Vec<(Atom, Atom)>, Vec<Atom>) = (Vec::new(), Vec::new());
    for row in copied {
        let count = row.dims[0];
        let size = match sizes.iter().find(|(of, _)| *of == count) {
            Some((_, size)) => *size,
            None => {
                let items = counts.iter().find(|(of, _)| *of == count).map(|(_, items)| *items);
                let size = items.map_or(count, |items| made.element(items, vec![i.into()]));
                sizes.push((count, size));
                size
            }
        };
        let start = made.element(row.starts, vec![i.into()]);
        let dims = [&[size], &row.dims[1..]].concat();
        let axes: Vec<Axis> = dims.iter().map(|d| Axis { var: made.int("j"), size: *d }).collect();
        let body = made.aside(|made| {
            let place = axes[1..].iter().fold(Atom::Var(axes[0].var), |at, axis| {
                let rows = made.op(ScalarOp::Mul, at, axis.size);
                made.op(ScalarOp::Add, rows, axis.var.into())
            });
            let at = made.op(ScalarOp::Add, start, place);
            let x = made.element(row.room, vec![at]);
            Body { stmts: made.take(), results: vec![x] }
        });
        let base = made.f.p.ty(row.room).base;
        let items = made.f.p.fresh("row", Ty { base, dims });
        made.push(vec![items], Exp::Map { axes, body });
        results.push(items.into());
    }
    let body = Body { stmts: made.take(), results };
    let axis = Axis { var: i, size: rows.axis.size };
    let pat = copied.iter().flat_map(|row| row.part).copied().collect();
    Stmt { pat, exp: Exp::Join { axis, regular: 0, body }, prov: rows.prov }
}
