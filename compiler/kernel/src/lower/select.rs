//! The few items of a row that come first, or last, without a sort of all.
//!
//! Where a row's order is read at its first places alone, or at its last ones, as for the three greatest items, the thread
//! that has the row keeps that many: the best so far, sorted. Most items are worse than the worst of them, which is one
//! comparison that a processor guesses.
//!
//! ```text
//! (let (%order) (grade (%i %n) … (give %k)))      (for seq %i (upto 0 %n) ((%c 0)) …
//! … (map ((%i 3)) (index %order %i) …)       ⟶      (if (before %k (load %keys (1 (- %m 1)))) … insert …) …)
//! ```
//!
//! From the end items are taken in the other order: of equal ones the later is greater, so that in both directions an item
//! enters only if it is strictly before what is kept.

use super::build::{Emit, upto};
use super::leaf::Leaf;
use super::sort::Table;
use super::{L, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;

/// Which places of an order are read.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Selected {
    /// The last ones, `n - 1 - k`, in place of the first, `k`.
    last: bool,
    /// For each `k` below this.
    count: mono::Atom,
}

/// The places at which the order of an axis is read in a body that makes it, if they are the first or the last ones.
pub(crate) fn selected(b: &mono::Body, order: mono::Var, size: mono::Atom) -> Option<Selected> {
    let mut reads = Reads { order, size, found: None, other: false, loops: Vec::new(), offsets: Vec::new() };
    reads.body(b);
    reads.found.filter(|_| !reads.other)
}

struct Reads {
    order: mono::Var,
    size: mono::Atom,
    found: Option<Selected>,
    /// It is used in another way, too.
    other: bool,
    loops: Vec<mono::Axis>,
    /// Scalars that are the last place less a number: of which number. Without a number, the last place itself.
    offsets: Vec<(mono::Var, Option<mono::Atom>)>,
}

impl Reads {
    fn body(&mut self, b: &mono::Body) {
        for s in &b.stmts {
            if let (mono::Exp::Op(op, args), [v]) = (&s.exp, &s.pat[..]) {
                self.offset(*v, *op, args);
            }
            match &s.exp {
                mono::Exp::Index { array, at } if *array == self.order => self.read(at),
                e => e.for_each_operand(&mut |a| self.other |= a == mono::Atom::Var(self.order)),
            }
            let axes = s.exp.axes();
            self.loops.extend(axes);
            s.exp.bodies().into_iter().for_each(|b| self.body(b));
            self.loops.truncate(self.loops.len() - axes.len());
        }
        self.other |= b.results.contains(&mono::Atom::Var(self.order));
    }

    fn offset(&mut self, v: mono::Var, op: ScalarOp, args: &[mono::Atom]) {
        let is_last = |a: mono::Atom| self.offsets.iter().any(|(v, k)| a == (*v).into() && k.is_none());
        match (op, args) {
            (ScalarOp::Add, [n, k]) if *n == self.size && k.as_int() == Some(-1) => {
                self.offsets.push((v, None));
            }
            (ScalarOp::Sub, [n, k]) if *n == self.size && k.as_int() == Some(1) => {
                self.offsets.push((v, None));
            }
            (ScalarOp::Sub, [last, k]) if is_last(*last) => self.offsets.push((v, Some(*k))),
            _ => {}
        }
    }

    fn read(&mut self, at: &[mono::Atom]) {
        let [at] = at else {
            self.other = true;
            return;
        };
        let offset = self.offsets.iter().find(|(v, _)| *at == (*v).into());
        let (last, k) = match offset {
            Some((_, k)) => (true, k.unwrap_or(mono::Atom::int(0))),
            None => (false, *at),
        };
        let count = match k.as_int() {
            Some(k) => k.checked_add(1).map(mono::Atom::int),
            None => self.loops.iter().find(|l| k == l.var.into()).map(|l| l.size),
        };
        let here = count.map(|count| Selected { last, count });
        self.found = self.found.or(here);
        // Of two places that are constants the further one would do; it is rare.
        self.other |= here.is_none() || self.found != here;
    }
}

impl Leaf<'_> {
    /// Sorts what is read of an order where that is little, all of it where it is not; in which half of the table it is.
    pub fn select_or(
        &mut self,
        table: &Table,
        selected: Selected,
        (axis, body): (mono::Axis, &mono::Body),
        sort: impl FnOnce(&mut Self) -> L<Atom>,
    ) -> L<Atom> {
        let (n, count) = (self.atom(axis.size)?, self.atom(selected.count)?);
        let count = self.int(ScalarOp::Min2, count, n)?;
        let few = self.int(ScalarOp::Le, count, Atom::int(self.number(Field::Selected)))?;
        let half = self.choose(
            few,
            |l| {
                l.select(table, selected.last, (n, count), (axis.var, body))?;
                Ok(vec![Atom::int(0)])
            },
            |l| Ok(vec![sort(l)?]),
        )?;
        half.first().copied().map_or_else(|| wrong("no half"), Ok)
    }

    /// Keeps the `count` items that come first, or last, in the second half of a table, sorted; then their numbers are put
    /// into the first half where an order has them.
    fn select(
        &mut self,
        table: &Table,
        last: bool,
        (n, count): (Atom, Atom),
        (index, body): (mono::Var, &mono::Body),
    ) -> L<()> {
        let one = Atom::int(1);
        let (kept, order) = (table.half(one), table.half(Atom::int(0)));
        let Some(order) = order.last() else { return wrong("no order") };
        let end = self.int(ScalarOp::Sub, n, one)?;
        let worst = self.int(ScalarOp::Sub, count, one)?;
        let some = self.int(ScalarOp::Gt, count, Atom::int(0))?;
        let all = self.op(ScalarOp::Select, &[some, n, Atom::int(0)])?;
        let place = |l: &mut Self, k: Atom| if last { l.int(ScalarOp::Sub, end, k) } else { Ok(k) };
        self.carry(How::Seq, upto(all), &[(Atom::int(0), None)], |l, i, have| {
            let have = have[0];
            let i = place(l, i)?;
            l.set(index, i);
            let mut row = l.scalars(body)?;
            row.push(i);
            let before = |l: &mut Self, other: &[Atom]| match last {
                true => l.less(&table.bases, other, &row),
                false => l.less(&table.bases, &row, other),
            };
            let full = l.int(ScalarOp::Ge, have, count)?;
            let enters = l.choose(
                full,
                |l| {
                    let other = l.load_row(&kept, worst)?;
                    Ok(vec![before(l, &other)?])
                },
                |_| Ok(vec![Atom::Const(remc_base::Scalar::Bool(true))]),
            )?;
            let first = l.int(ScalarOp::Min2, have, worst)?;
            l.blocks.open();
            // The place where it may go is there to be read, whatever else is.
            l.store_row(&kept, first, &row);
            let to = l.repeat(
                &[first],
                |l, at| {
                    let more = l.int(ScalarOp::Gt, at[0], Atom::int(0))?;
                    let other = l.int(ScalarOp::Sub, at[0], one)?;
                    let other = l.int(ScalarOp::Max2, other, Atom::int(0))?;
                    let other = l.load_row(&kept, other)?;
                    let goes = before(l, &other)?;
                    l.int(ScalarOp::And, more, goes)
                },
                |l, at| {
                    let other = l.int(ScalarOp::Sub, at[0], one)?;
                    let moved = l.load_row(&kept, other)?;
                    l.store_row(&kept, at[0], &moved);
                    Ok(vec![other])
                },
            )?;
            l.store_row(&kept, to[0], &row);
            let then = l.blocks.close();
            l.emit(StmtKind::If { cond: enters[0], then, otherwise: Vec::new(), results: Vec::new() });
            let more = l.int(ScalarOp::Add, have, one)?;
            Ok(vec![l.int(ScalarOp::Min2, more, count)?])
        })?;
        let Some(numbers) = kept.last() else { return wrong("no order") };
        self.each(How::Seq, "k", upto(count), |l, k| {
            let x = l.load(numbers, &[k])?;
            let to = place(l, k)?;
            l.store(order, &[to], x);
            Ok(())
        })
    }
}
