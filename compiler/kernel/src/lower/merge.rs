//! `grade`: the order of an array, on a processor by the runtime, on a GPU by all threads.
//!
//! ```text
//! (kernel "runs" …)        each thread sorts a few neighbours in registers
//! (while ((%from 0) (%w 8)) (op < %w %n) (launch merge …) (next (op - 1 %from) (op * %w 2)))
//! ```
//!
//! Keys go along with the numbers of their items, in one of two halves. A thread sorts its run by a network of
//! comparisons (Batcher, Sorting networks and their applications, 1968); numbers make them different, so that the sort is
//! stable. Then runs are merged, two and two, from one half into the other. Of a merge each thread makes a few neighbours
//! of the result: how many of those before them come from the left run it finds by binary search along the diagonal of the
//! merge path (Odeh, Green, Mwassi, Shmueli and Birk, Merge path: parallel merging made simple, 2012). So all threads have
//! as much to do whatever the data, and what they write is theirs alone.
//!
//! The order is [`remc_base::ops::total_cmp`]: what is no number comes last, and zeros are equal.

use super::build::Emit;
use super::leaf::Leaf;
use super::plan::Plan;
use super::{Bound, L, Place, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::{ScalarOp, zero};
use remc_base::{BaseTy, Scalar};
use remc_flat::ir as flat;
use remc_mono::ir as mono;

/// The columns that are sorted: the keys in turn, and the numbers of the items. Each has two halves. Keys that are arrays stay
/// where they are, and are found by the numbers.
struct Columns {
    bases: Vec<BaseTy>,
    places: Vec<Place>,
    /// The keys that stay, and the dims of their items.
    items: Vec<(Place, Vec<Atom>)>,
    /// How many items a thread sorts by itself, and makes of a merge.
    each: i64,
}

/// … as a kernel knows them.
struct Rows {
    /// Those of a row that are compared.
    keys: Vec<BaseTy>,
    items: Vec<(Place, Vec<Atom>)>,
}

/// A pair of runs that becomes one: where the left one begins, where it ends, and where the right one does.
struct Pair {
    first: Atom,
    middle: Atom,
    end: Atom,
}

/// Sorted items.
pub(crate) struct Sorted {
    /// Their keys, and their numbers: each in two halves, of which one is sorted.
    pub keys: Vec<Place>,
    pub order: Place,
    pub half: Atom,
}

impl Plan {
    pub fn grade(&mut self, pat: &[mono::Var], axis: mono::Axis, body: &mono::Body, gives: Gives) -> L<()> {
        self.grade_at(pat, axis, body, gives, &[])
    }

    /// … of which only the items at these places are wanted, if any are given.
    pub fn grade_at(
        &mut self,
        pat: &[mono::Var],
        axis: mono::Axis,
        body: &mono::Body,
        gives: Gives,
        at: &[mono::Atom],
    ) -> L<()> {
        let [v] = pat else { return wrong("a sort with several results") };
        let keys = match self.is_stored(axis, body) {
            Some(key) => vec![key],
            None => self.stored_keys(axis, body)?,
        };
        let out = self.alloc_for(*v)?;
        if self.threads {
            let n = self.atom(axis.size)?;
            self.sort_by_threads(&keys, n, gives, &out)?;
        } else {
            let keys = keys.iter().map(|k| k.buffer).collect();
            let at = at.iter().map(|a| self.atom(*a)).collect::<L<_>>()?;
            self.emit(StmtKind::Sort { keys, out: out.buffer, gives, at });
        }
        self.set(*v, Bound::Array(out));
        Ok(())
    }

    /// The places of a sorted vector that the host reads one by one, if nobody reads others; they are known before it is
    /// sorted. The runtime sorts no more than the neighbours of these.
    pub fn few_places(&self, b: &flat::Body, k: usize) -> Option<Vec<mono::Atom>> {
        let flat::Stmt { pat, exp: flat::Exp::Grade { gives: Gives::Keys, .. }, .. } = &b.stmts[k] else {
            return None;
        };
        let v = *pat.first().filter(|_| !self.threads)?;
        let mut places = Vec::new();
        for s in &b.stmts[k + 1..] {
            let mut mentioned = false;
            s.exp.for_each_use(&mut |a| mentioned |= a == v.into());
            match &s.exp {
                _ if !mentioned => {}
                flat::Exp::Host(mono::Exp::Index { array, at }) if *array == v => match at[..] {
                    [at] if self.atom(at).is_ok() => places.push(at),
                    _ => return None,
                },
                _ => return None,
            }
        }
        (!places.is_empty() && !b.results.contains(&v.into())).then_some(places)
    }

    /// Where the one key of all items is, if it is what an array has.
    fn is_stored(&self, axis: mono::Axis, body: &mono::Body) -> Option<Place> {
        let ([s], [key]) = (&body.stmts[..], &body.results[..]) else { return None };
        let mono::Exp::Index { array, at } = &s.exp else { return None };
        let vars = &self.flat.vars;
        let is_it = s.pat.first().map(|v| mono::Atom::Var(*v)) == Some(*key) && at[..] == [axis.var.into()];
        let n = self.atom(axis.size).ok()?;
        // Not a part of memory for more.
        let is_whole = |p: &Place| {
            let ty = self.out.buffer_ty(p.buffer);
            *p == Place::whole(p.buffer)
                && !self.slices.contains(&p.buffer)
                && ty.is_some_and(|ty| ty.dims.first() == Some(&n))
        };
        let all = vars[*array].ty.dims.first() == Some(&axis.size);
        self.place(*array).ok().filter(|p| is_it && all && is_whole(p))
    }

    fn stored_keys(&mut self, axis: mono::Axis, body: &mono::Body) -> L<Vec<Place>> {
        let keys: Vec<mono::Var> = body
            .results
            .iter()
            .map(|r| {
                let cell = match r {
                    mono::Atom::Var(k) => self.flat.vars[*k].ty.clone(),
                    mono::Atom::Const(c) => mono::Ty::scalar(c.ty()),
                };
                self.fresh("key", cell.over(&[axis.size]))
            })
            .collect();
        self.seg_map(&keys, &[axis], body)?;
        keys.iter().map(|k| self.place(*k)).collect()
    }

    /// Fills `out` with the stable permutation that sorts `n` items by their keys, which are compared in turn, or with the
    /// keys in that order.
    fn sort_by_threads(&mut self, keys: &[Place], n: Atom, gives: Gives, out: &Place) -> L<()> {
        let sorted = self.sorted_by_threads(keys, n)?;
        let given = match gives {
            Gives::Places => Some(&sorted.order),
            Gives::Keys => sorted.keys.first(),
        };
        let Some(given) = given else { return wrong("a sort without keys") };
        self.each_thread("order", (n, None), |l, i| {
            let (given, out, half) = (l.import_place(given), l.import_place(out), l.outer(sorted.half));
            let x = l.load(&given, &[half, i])?;
            l.store(&out, &[i], x);
            Ok(())
        })
    }

    /// Sorts `n` items by their keys, which are compared in turn; the sort is stable.
    pub fn sorted_by_threads(&mut self, keys: &[Place], n: Atom) -> L<Sorted> {
        let mut columns = Columns { bases: Vec::new(), places: Vec::new(), items: Vec::new(), each: 1 };
        let mut tys = Vec::new();
        for key in keys {
            let Some(ty) = self.out.buffer_ty(key.buffer) else { return wrong("a scalar key") };
            tys.push(ty.clone());
        }
        if tys.iter().all(|t| t.dims.len() == 1) {
            columns.bases = tys.iter().map(|t| t.base).collect();
            // As many as there are registers for.
            let bytes: u32 = tys.iter().map(|t| t.base.bits() / 8).sum::<u32>() + BaseTy::I64.bits() / 8;
            let room = (self.number(Field::SortBytes) / i64::from(bytes)).max(1);
            columns.each = self.number(Field::SortItems).min(1 << room.ilog2());
        } else {
            columns.items = keys.iter().cloned().zip(tys.into_iter().map(|t| t.dims[1..].to_vec())).collect();
        }
        columns.bases.push(BaseTy::I64);
        for base in &columns.bases {
            let ty = BufferTy { base: *base, dims: vec![Atom::int(2), n], space: Space::Global };
            columns.places.push(Place::whole(self.alloc("sorted", ty)));
        }
        let each = columns.each;
        let threads = self.tiles(n, Atom::int(each))?;
        let blocks = self.tiles(threads, self.size(Field::Threads))?;
        // Keys that stay where they are are not read for the first runs, of an item each.
        let keys = if columns.items.is_empty() { keys } else { &[] };
        self.runs_by_threads(keys, &columns, n, (threads, blocks))?;
        let done = self.repeat(
            &[Atom::int(0), Atom::int(each)],
            |p, s| p.int(ScalarOp::Lt, s[1], n),
            |p, s| {
                p.merge_by_threads(&columns, n, (s[0], s[1]), (threads, blocks))?;
                let into = p.int(ScalarOp::Sub, Atom::int(1), s[0])?;
                Ok(vec![into, p.int(ScalarOp::Mul, s[1], Atom::int(2))?])
            },
        )?;
        let Some(order) = columns.places.pop() else { return wrong("a sort without numbers") };
        Ok(Sorted { keys: columns.places, order, half: done[0] })
    }

    /// A kernel with a thread for each of so many points; how many blocks that are, where it is known.
    pub fn each_thread(
        &mut self,
        name: &str,
        (points, blocks): (Atom, Option<Atom>),
        body: impl FnOnce(&mut Leaf<'_>, Atom) -> L<()>,
    ) -> L<()> {
        let size = self.size(Field::Threads);
        let blocks = match blocks {
            Some(blocks) => blocks,
            None => self.tiles(points, size)?,
        };
        self.kernel(name, |l| {
            let thread = l.threads_of_block();
            let index = l.grid_axis("b", blocks);
            let limit = l.outer(points);
            let range = Range::Share { thread, threads: size, index, size, limit };
            l.each(How::Seq, "p", range, body)
        })
    }

    /// The first runs, in the first half.
    fn runs_by_threads(
        &mut self,
        keys: &[Place],
        columns: &Columns,
        n: Atom,
        (threads, blocks): (Atom, Atom),
    ) -> L<()> {
        let each = columns.each;
        self.each_thread("runs", (threads, Some(blocks)), |l, p| {
            let (keys, places, n) = (l.import_all(keys), l.import_all(&columns.places), l.outer(n));
            let first = l.int(ScalarOp::Mul, p, Atom::int(each))?;
            // What is past the end comes last.
            let bases: Vec<BaseTy> =
                std::iter::once(BaseTy::Bool).chain(columns.bases.iter().copied()).collect();
            let mut rows = Vec::new();
            for k in 0..each {
                let i = l.int(ScalarOp::Add, first, Atom::int(k))?;
                let past = l.int(ScalarOp::Ge, i, n)?;
                let row = l.choose(
                    past,
                    |_| Ok(columns.bases.iter().map(|b| Atom::Const(zero(*b))).collect()),
                    |l| {
                        let mut row = l.load_row(&keys, i)?;
                        row.push(i);
                        Ok(row)
                    },
                )?;
                rows.push(std::iter::once(past).chain(row).collect::<Vec<Atom>>());
            }
            for (i, j) in network(each as usize) {
                let swap = l.less(&bases, &rows[j], &rows[i])?;
                let pairs: Vec<(Atom, Atom)> = rows[i].iter().copied().zip(rows[j].iter().copied()).collect();
                for (k, (a, b)) in pairs.into_iter().enumerate() {
                    rows[i][k] = l.op(ScalarOp::Select, &[swap, b, a])?;
                    rows[j][k] = l.op(ScalarOp::Select, &[swap, a, b])?;
                }
            }
            let half: Vec<Place> = places.iter().map(|c| c.cell(&[Atom::int(0)])).collect();
            for (k, row) in (0..each).zip(&rows) {
                let i = l.int(ScalarOp::Add, first, Atom::int(k))?;
                let cond = l.int(ScalarOp::Lt, i, n)?;
                l.blocks.open();
                l.store_row(&half, i, &row[1..]);
                let then = l.blocks.close();
                l.emit(StmtKind::If { cond, then, otherwise: Vec::new(), results: Vec::new() });
            }
            Ok(())
        })
    }

    /// Merges the runs of so many items in one half into the other one.
    fn merge_by_threads(
        &mut self,
        columns: &Columns,
        n: Atom,
        (from, width): (Atom, Atom),
        (threads, blocks): (Atom, Atom),
    ) -> L<()> {
        let each = Atom::int(columns.each);
        self.each_thread("merge", (threads, Some(blocks)), |l, p| {
            let (places, n) = (l.import_all(&columns.places), l.outer(n));
            let rows = l.rows_of_columns(columns);
            let (from, width) = (l.outer(from), l.outer(width));
            let into = l.int(ScalarOp::Sub, Atom::int(1), from)?;
            let [from, into] =
                [from, into].map(|half| places.iter().map(|c| c.cell(&[half])).collect::<Vec<Place>>());
            let start = l.int(ScalarOp::Mul, p, each)?;
            let both = l.int(ScalarOp::Mul, width, Atom::int(2))?;
            let pair = l.int(ScalarOp::Quotient, start, both)?;
            let first = l.int(ScalarOp::Mul, pair, both)?;
            let middle = l.int(ScalarOp::Add, first, width)?;
            let middle = l.int(ScalarOp::Min2, middle, n)?;
            let end = l.int(ScalarOp::Add, first, both)?;
            let end = l.int(ScalarOp::Min2, end, n)?;
            let pair = Pair { first, middle, end };
            let left = l.left_before(&rows, &from, &pair, start)?;
            let ahead = l.int(ScalarOp::Sub, start, first)?;
            let taken = l.int(ScalarOp::Sub, left, first)?;
            let right = l.int(ScalarOp::Sub, ahead, taken)?;
            let right = l.int(ScalarOp::Add, middle, right)?;
            let range = Range::Tile { index: p, size: each, limit: n };
            l.merge_range(&rows, &[from, into], &pair, range, [left, right])
        })
    }
}

impl Rows {
    /// Which columns of a row are compared: the keys, or the number, by which they are found.
    fn compared(&self) -> std::ops::Range<usize> {
        0..self.keys.len().max(1)
    }
}

impl Leaf<'_> {
    fn rows_of_columns(&mut self, columns: &Columns) -> Rows {
        let items = &columns.items;
        let keys =
            if items.is_empty() { columns.bases[..columns.bases.len() - 1].to_vec() } else { Vec::new() };
        let items = items
            .iter()
            .map(|(p, dims)| (self.import_place(p), dims.iter().map(|d| self.outer(*d)).collect()))
            .collect();
        Rows { keys, items }
    }

    /// Whether a row comes before another one, by its keys alone.
    fn row_less(&mut self, rows: &Rows, a: &[Atom], b: &[Atom]) -> L<Atom> {
        if rows.items.is_empty() {
            return self.less(&rows.keys, a, b);
        }
        self.item_less(&rows.items, a[0], b[0])
    }

    /// Whether item `i` comes before item `j`, by keys of which some are arrays, which are compared in row-major order.
    fn item_less(&mut self, keys: &[(Place, Vec<Atom>)], i: Atom, j: Atom) -> L<Atom> {
        let [(key, dims), rest @ ..] = keys else { return Ok(Atom::Const(Scalar::Bool(false))) };
        let Some(base) = self.program().buffer_ty(key.buffer).map(|t| t.base) else {
            return wrong("a scalar key");
        };
        let (no, yes) = (Atom::Const(Scalar::Bool(false)), Atom::Const(Scalar::Bool(true)));
        let total = self.product(dims)?;
        let found = self.repeat(
            &[Atom::int(0), no, yes],
            |l, s| {
                let more = l.int(ScalarOp::Lt, s[0], total)?;
                l.int(ScalarOp::And, more, s[2])
            },
            |l, s| {
                let vars: Vec<Var> = dims.iter().map(|_| l.program().scalar("c", BaseTy::I64)).collect();
                if !vars.is_empty() {
                    l.emit(StmtKind::Points { vars: vars.clone(), index: s[0], dims: dims.clone() });
                }
                let cell: Vec<Atom> = vars.into_iter().map(Atom::Var).collect();
                let [x, y] = [i, j].map(|i| l.load(&key.cell(&[i]), &cell));
                let (x, y) = (x?, y?);
                let [less, greater] = [(x, y), (y, x)].map(|(x, y)| l.key_less(base, x, y));
                let less = less?;
                let either = l.int(ScalarOp::Or, less, greater?)?;
                let equal = l.op(ScalarOp::Not, &[either])?;
                let next = l.int(ScalarOp::Add, s[0], Atom::int(1))?;
                Ok(vec![next, less, equal])
            },
        )?;
        if rest.is_empty() {
            return Ok(found[1]);
        }
        let equal = found[2];
        let less = self.choose(equal, |l| Ok(vec![l.item_less(rest, i, j)?]), |_| Ok(vec![found[1]]))?;
        Ok(less[0])
    }

    /// Where the left run is when the merge of a pair has come to place `at`.
    fn left_before(&mut self, rows: &Rows, from: &[Place], pair: &Pair, at: Atom) -> L<Atom> {
        let compared = rows.compared();
        let ahead = self.int(ScalarOp::Sub, at, pair.first)?;
        let lefts = self.int(ScalarOp::Sub, pair.middle, pair.first)?;
        let rights = self.int(ScalarOp::Sub, pair.end, pair.middle)?;
        let least = self.int(ScalarOp::Sub, ahead, rights)?;
        let least = self.int(ScalarOp::Max2, least, Atom::int(0))?;
        let most = self.int(ScalarOp::Min2, ahead, lefts)?;
        let found = self.repeat(
            &[least, most],
            |l, s| l.int(ScalarOp::Lt, s[0], s[1]),
            |l, s| {
                let sum = l.int(ScalarOp::Add, s[0], s[1])?;
                let half = l.int(ScalarOp::Quotient, sum, Atom::int(2))?;
                let left = l.int(ScalarOp::Add, pair.first, half)?;
                let other = l.int(ScalarOp::Sub, ahead, half)?;
                let other = l.int(ScalarOp::Sub, other, Atom::int(1))?;
                let right = l.int(ScalarOp::Add, pair.middle, other)?;
                let (a, b) =
                    (l.load_row(&from[compared.clone()], left)?, l.load_row(&from[compared.clone()], right)?);
                // The left one is taken first unless the right one is less.
                let less = l.row_less(rows, &b, &a)?;
                let next = l.int(ScalarOp::Add, half, Atom::int(1))?;
                Ok(vec![
                    l.op(ScalarOp::Select, &[less, s[0], next])?,
                    l.op(ScalarOp::Select, &[less, half, s[1]])?,
                ])
            },
        )?;
        self.int(ScalarOp::Add, pair.first, found[0])
    }

    /// Makes the places of a range of the merge of a pair, of which the runs have come to `at`.
    fn merge_range(
        &mut self,
        rows: &Rows,
        [from, into]: &[Vec<Place>; 2],
        pair: &Pair,
        range: Range,
        at: [Atom; 2],
    ) -> L<()> {
        let (one, compared) = (Atom::int(1), rows.compared());
        let last_left = self.int(ScalarOp::Sub, pair.middle, one)?;
        let last_right = self.int(ScalarOp::Sub, pair.end, one)?;
        self.carry(How::Seq, range, &at.map(|a| (a, None)), |l, k, at| {
            // A run that is through is not read beyond its end.
            let left = l.int(ScalarOp::Min2, at[0], last_left)?;
            let right = l.int(ScalarOp::Min2, at[1], last_right)?;
            let (a, b) = (l.load_row(from, left)?, l.load_row(from, right)?);
            let less = l.row_less(rows, &b[compared.clone()], &a[compared.clone()])?;
            l.take_lesser(less, (&a, &b), at, (pair.middle, pair.end), into, k)
        })?;
        Ok(())
    }
}

/// The comparisons that sort `n` items, a power of two: odd-even merges.
fn network(n: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut run = 1;
    while run < n {
        let mut gap = run;
        while gap >= 1 {
            for first in ((gap % run)..(n - gap)).step_by(2 * gap) {
                for i in first..(first + gap).min(n - gap) {
                    if i / (2 * run) == (i + gap) / (2 * run) {
                        found.push((i, i + gap));
                    }
                }
            }
            gap /= 2;
        }
        run *= 2;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::network;

    /// It is enough that a network sorts zeros and ones.
    #[test]
    fn networks_sort() {
        for n in [1, 2, 4, 8, 16] {
            for bits in 0..1u32 << n {
                let mut items: Vec<bool> = (0..n).map(|k| bits >> k & 1 == 1).collect();
                for (i, j) in network(n) {
                    if items[i] && !items[j] {
                        items.swap(i, j);
                    }
                }
                assert!(items.is_sorted(), "{n} items, {bits:b}");
            }
        }
    }
}
