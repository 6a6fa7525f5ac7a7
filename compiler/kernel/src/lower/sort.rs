//! The sort of a row by the thread that has it.
//!
//! ```text
//! (let (%order) (grade (%i %n) … (give %k)))
//!
//! (for seq %i (upto 0 %n) () … (store %keys (0 %i) %k) (store %order (0 %i) %i))
//! runs of 8, each by insertion
//! (while ((%p 0) (%w 8)) (op < %w %n) … two runs of %w after the other become one, from half %p into the other half …)
//! ```
//!
//! A merge sort from the bottom up, on a GPU; a processor has vectors and caches for others (`digits`). Keys go along with
//! the numbers of their items, if these are wanted, so that both are read in order, and what is taken in a merge is selected:
//! there is no branch to guess wrong. An item comes before the one on its left only where its key is less, so the sort is
//! stable, and its order that of all devices.
//!
//! The order is [`remc_base::ops::total_cmp`]: what is no number comes last, and zeros are equal.

use super::build::{Emit, upto};
use super::leaf::{Inner, Leaf};
use super::{Bound, L, Place, wrong};
use crate::ir::*;
use remc_base::BaseTy;
use remc_base::ops::{ScalarOp, zero};
use remc_mono::ir as mono;

/// So many items are sorted by insertion.
const RUN: i64 = 8;

/// What a sort works on: of each, two arrays side by side.
pub(super) struct Table {
    pub bases: Vec<BaseTy>,
    keys: Vec<Place>,
    /// The numbers of the items, where they are wanted.
    order: Option<Place>,
}

impl Table {
    /// All columns of one of the halves.
    pub fn half(&self, p: Atom) -> Vec<Place> {
        self.keys.iter().chain(&self.order).map(|c| c.cell(&[p])).collect()
    }

    /// Whether numbers of items are wanted.
    pub fn is_numbered(&self) -> bool {
        self.order.is_some()
    }

    /// The row of no item.
    pub fn nothing(&self) -> Vec<Atom> {
        let keys = self.bases.iter().map(|b| Atom::Const(zero(*b)));
        keys.chain(self.is_numbered().then_some(Atom::int(-1))).collect()
    }

    /// What the sort gives, which is in one of the halves.
    pub fn given(&self, p: Atom) -> L<Place> {
        match self.order.as_ref().or(self.keys.first()) {
            Some(column) => Ok(column.cell(&[p])),
            None => wrong("a sort without keys"),
        }
    }
}

impl Leaf<'_> {
    /// The stable permutation that sorts the items of an axis by their keys, or the keys in that order.
    pub fn grade(&mut self, pat: &[mono::Var], axis: mono::Axis, body: &mono::Body, gives: Gives) -> L<()> {
        let v = Leaf::one(pat)?;
        let table = self.table(axis, body, gives)?;
        let half = match self.selected.get(&v).cloned() {
            Some(few) => self.select_or(&table, &few, (axis, body), |l| l.sort_all(&table, axis, body))?,
            None => self.sort_all(&table, axis, body)?,
        };
        self.env.insert(v, Bound::Array(table.given(half)?));
        Ok(())
    }

    /// Sorts all items of an axis; in which half of the table they are.
    fn sort_all(&mut self, table: &Table, axis: mono::Axis, body: &mono::Body) -> L<Atom> {
        let n = self.atom(axis.size)?;
        let first = table.half(Atom::int(0));
        let wide = match self.lanes_of_map(body, axis.var) {
            Some(width) if self.inner == Inner::Lanes => How::Lanes(width),
            _ => How::Seq,
        };
        let inner = std::mem::replace(&mut self.inner, Inner::Serial);
        self.each(wide, "i", upto(n), |l, i| {
            l.set(axis.var, i);
            let mut row = l.scalars(body)?;
            row.extend(table.order.is_some().then_some(i));
            l.store_row(&first, i, &row);
            Ok(())
        })?;
        self.inner = inner;
        if inner == Inner::Lanes {
            let most = self.most_items(axis)?;
            return self.sort_row(table, n, most);
        }
        self.runs(table, n)?;
        self.merges(table, n)
    }

    /// How many items there are at most, as the plan knows it.
    fn most_items(&mut self, axis: mono::Axis) -> L<Atom> {
        let most = self.plan_size(axis.size)?;
        self.plan.op(ScalarOp::Max2, &[most, Atom::int(0)])
    }

    fn table(&mut self, axis: mono::Axis, body: &mono::Body, gives: Gives) -> L<Table> {
        let most = self.most_items(axis)?;
        let dims = [Atom::int(2), most];
        let base = |a: &mono::Atom| match a {
            mono::Atom::Const(c) => c.ty(),
            mono::Atom::Var(v) => self.plan.flat.vars[*v].ty.base,
        };
        let bases: Vec<BaseTy> = body.results.iter().map(base).collect();
        let keys = bases.iter().map(|base| self.part("keys", *base, &dims)).collect::<L<Vec<_>>>()?;
        let order = match gives {
            Gives::Places => Some(self.part("order", BaseTy::I64, &dims)?),
            Gives::Keys => None,
        };
        Ok(Table { bases, keys, order })
    }

    pub fn load_row(&mut self, columns: &[Place], i: Atom) -> L<Vec<Atom>> {
        columns.iter().map(|c| self.load(c, &[i])).collect()
    }

    pub fn store_row(&mut self, columns: &[Place], i: Atom, row: &[Atom]) {
        for (c, x) in columns.iter().zip(row) {
            self.store(c, &[i], *x);
        }
    }

    /// Sorts each run of [`RUN`] items of the first half.
    fn runs(&mut self, table: &Table, n: Atom) -> L<()> {
        let size = Atom::int(RUN);
        let count = self.tiles(n, size)?;
        let columns = table.half(Atom::int(0));
        self.each(How::Seq, "run", upto(count), |l, run| {
            let first = l.int(ScalarOp::Mul, run, size)?;
            l.each(How::Seq, "i", Range::Tile { index: run, size, limit: n }, |l, i| {
                let row = l.load_row(&columns, i)?;
                let to = l.repeat(
                    &[i],
                    |l, at| {
                        let more = l.int(ScalarOp::Gt, at[0], first)?;
                        let before = l.int(ScalarOp::Sub, at[0], Atom::int(1))?;
                        // Also where there is none before, something is read.
                        let before = l.int(ScalarOp::Max2, before, first)?;
                        let other = l.load_row(&columns, before)?;
                        let less = l.less(&table.bases, &row, &other)?;
                        l.int(ScalarOp::And, more, less)
                    },
                    |l, at| {
                        let before = l.int(ScalarOp::Sub, at[0], Atom::int(1))?;
                        let moved = l.load_row(&columns, before)?;
                        l.store_row(&columns, at[0], &moved);
                        Ok(vec![before])
                    },
                )?;
                l.store_row(&columns, to[0], &row);
                Ok(())
            })
        })
    }

    /// Merges neighbouring runs until there is one; in which half it is.
    fn merges(&mut self, table: &Table, n: Atom) -> L<Atom> {
        let done = self.repeat(
            &[Atom::int(0), Atom::int(RUN)],
            |l, s| l.int(ScalarOp::Lt, s[1], n),
            |l, s| {
                let (from, width) = (s[0], s[1]);
                let into = l.int(ScalarOp::Sub, Atom::int(1), from)?;
                let pair = l.int(ScalarOp::Mul, width, Atom::int(2))?;
                let count = l.tiles(n, pair)?;
                let halves = [table.half(from), table.half(into)];
                l.each(How::Seq, "pair", upto(count), |l, g| {
                    let first = l.int(ScalarOp::Mul, g, pair)?;
                    let [middle, end] = [width, pair].map(|w| {
                        let to = l.int(ScalarOp::Add, first, w)?;
                        l.int(ScalarOp::Min2, to, n)
                    });
                    l.merge(&table.bases, &halves, (first, middle?, end?))
                })?;
                Ok(vec![into, pair])
            },
        )?;
        Ok(done[0])
    }

    /// Merges two runs, one behind the other, into the same place of the other half.
    fn merge(
        &mut self,
        bases: &[BaseTy],
        [from, into]: &[Vec<Place>; 2],
        (first, middle, end): (Atom, Atom, Atom),
    ) -> L<()> {
        let one = Atom::int(1);
        let [last_left, last_right] = [middle, end].map(|n| self.int(ScalarOp::Sub, n, one));
        let (last_left, last_right) = (last_left?, last_right?);
        let range = Range::Upto { from: first, to: end };
        self.carry(How::Seq, range, &[(first, None), (middle, None)], |l, k, at| {
            // A run that is through is not read beyond its end.
            let left = l.int(ScalarOp::Min2, at[0], last_left)?;
            let right = l.int(ScalarOp::Min2, at[1], last_right)?;
            let (a, b) = (l.load_row(from, left)?, l.load_row(from, right)?);
            let less = l.less(bases, &b, &a)?;
            l.take_lesser(less, (&a, &b), at, (middle, end), into, k)
        })?;
        Ok(())
    }

    /// A step of a merge of two runs that have come to `at` and end at `middle` and `end`: the row of the right one goes to
    /// place `k` if it is less, or if the left one is through. Where the runs are next.
    pub fn take_lesser(
        &mut self,
        less: Atom,
        (a, b): (&[Atom], &[Atom]),
        at: &[Atom],
        (middle, end): (Atom, Atom),
        into: &[Place],
        k: Atom,
    ) -> L<Vec<Atom>> {
        let none_left = self.int(ScalarOp::Ge, at[0], middle)?;
        let some_right = self.int(ScalarOp::Lt, at[1], end)?;
        let goes = self.int(ScalarOp::Or, none_left, less)?;
        let goes = self.int(ScalarOp::And, goes, some_right)?;
        let row = a.iter().zip(b).map(|(a, b)| self.op(ScalarOp::Select, &[goes, *b, *a]));
        let row = row.collect::<L<Vec<_>>>()?;
        self.store_row(into, k, &row);
        let [next_left, next_right] = [at[0], at[1]].map(|i| self.int(ScalarOp::Add, i, Atom::int(1)));
        Ok(vec![
            self.op(ScalarOp::Select, &[goes, at[0], next_left?])?,
            self.op(ScalarOp::Select, &[goes, next_right?, at[1]])?,
        ])
    }

    /// Whether one row of keys comes before another one.
    pub fn less(&mut self, bases: &[BaseTy], a: &[Atom], b: &[Atom]) -> L<Atom> {
        let ([base, bases @ ..], [x, a @ ..], [y, b @ ..]) = (bases, a, b) else {
            return wrong("a sort without keys");
        };
        let less = self.key_less(*base, *x, *y)?;
        if bases.is_empty() {
            return Ok(less);
        }
        let greater = self.key_less(*base, *y, *x)?;
        let rest = self.less(bases, a, b)?;
        let not_greater = self.op(ScalarOp::Not, &[greater])?;
        let rest = self.int(ScalarOp::And, not_greater, rest)?;
        self.int(ScalarOp::Or, less, rest)
    }

    pub fn key_less(&mut self, base: BaseTy, x: Atom, y: Atom) -> L<Atom> {
        match base {
            BaseTy::Bool => {
                let no = self.op(ScalarOp::Not, &[x])?;
                self.int(ScalarOp::And, no, y)
            }
            BaseTy::Char => self.int(ScalarOp::CharLt, x, y),
            _ if base.is_float() => {
                let less = self.int(ScalarOp::Lt, x, y)?;
                let [x, y] = [x, y].map(|x| self.int(ScalarOp::Eq, x, x));
                let y = self.op(ScalarOp::Not, &[y?])?;
                let last = self.int(ScalarOp::And, x?, y)?;
                self.int(ScalarOp::Or, less, last)
            }
            _ => self.int(ScalarOp::Lt, x, y),
        }
    }
}
