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
//! enters only if it is strictly before what is kept. Items are asked in tiles, all of one in lanes, whether any enters:
//! once a row has been read for a while, few tiles have one. Up to four items, if no more are known to be wanted, are kept in
//! registers, and what enters is selected there without a branch.

use super::build::{Emit, upto};
use super::leaf::{Inner, Leaf};
use super::plan::{Plan, sum_of};
use super::sort::Table;
use super::{L, Place, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

/// At most so many items are kept in registers.
const IN_REGISTERS: i64 = 4;

/// Which places of an order are read.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    places: Places,
    /// The keys of items by their numbers from the end, if they ask for nothing else: keys of a row that is backwards.
    backwards: Option<mono::Body>,
}

#[derive(Clone, Copy, PartialEq, Debug)]
struct Places {
    /// The last ones, `n - 1 - k`, in place of the first, `k`.
    last: bool,
    /// For each `k` below this.
    count: mono::Atom,
}

/// The items that are selected from.
struct Items<'b> {
    size: Atom,
    index: mono::Var,
    /// The keys of an item, by its number, or by its number from the end.
    keys: &'b mono::Body,
    from_end: bool,
}

/// The places at which the order of an axis, made of these keys, is read in a body that makes it, if they are the first or
/// the last ones.
pub(crate) fn selected(
    plan: &Plan,
    b: &mono::Body,
    order: mono::Var,
    (axis, keys): (mono::Axis, &mono::Body),
) -> Option<Selected> {
    let mut reads = Reads::of(plan, order, axis.size);
    reads.body(b);
    let places = reads.found.filter(|_| !reads.other)?;
    Some(Selected { places, backwards: places.last.then(|| reads.backwards(keys, axis.var)).flatten() })
}

struct Reads<'p> {
    plan: &'p Plan,
    order: mono::Var,
    size: mono::Atom,
    found: Option<Places>,
    /// It is used in another way, too.
    other: bool,
    loops: Vec<mono::Axis>,
    /// The numbers of the body that are others with a constant added, and those that are the last place less a number.
    sums: FxHashMap<mono::Var, (mono::Atom, i64)>,
    offsets: FxHashMap<mono::Var, mono::Atom>,
}

impl<'p> Reads<'p> {
    fn of(plan: &'p Plan, order: mono::Var, size: mono::Atom) -> Reads<'p> {
        let (sums, offsets) = Default::default();
        Reads { plan, order, size, found: None, other: false, loops: Vec::new(), sums, offsets }
    }

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
        self.sums.extend(sum_of(op, args).map(|sum| (v, sum)));
        if let (ScalarOp::Sub, [last, k]) = (op, args)
            && self.is_last(*last)
        {
            self.offsets.insert(v, *k);
        }
    }

    /// A number as another one and a constant.
    fn as_sum(&self, a: mono::Atom) -> (Option<mono::Var>, i64) {
        match a.as_var().and_then(|v| self.sums.get(&v)) {
            Some((b, k)) => {
                let (of, rest) = self.as_sum(*b);
                (of, rest.wrapping_add(*k))
            }
            None => self.plan.as_sum(a),
        }
    }

    /// Whether a number is that of the last place.
    fn is_last(&self, a: mono::Atom) -> bool {
        let (of, k) = self.as_sum(self.size);
        self.as_sum(a) == (of, k.wrapping_sub(1))
    }

    /// The keys by the number of an item from the end, where they ask for that number alone.
    fn backwards(&self, keys: &mono::Body, index: mono::Var) -> Option<mono::Body> {
        let mut keys = keys.clone();
        let mut numbers = FxHashMap::default();
        keys.stmts.retain(|s| {
            let from_end = matches!(&s.exp, mono::Exp::Op(ScalarOp::Sub, args)
                if args[1] == index.into() && self.is_last(args[0]));
            numbers.extend(s.pat.first().filter(|_| from_end).map(|v| (*v, index.into())));
            !from_end
        });
        let mut others = false;
        keys.for_each_use(&mut |a| others |= a == index.into());
        keys.substitute(&numbers);
        (!numbers.is_empty() && !others).then_some(keys)
    }

    fn read(&mut self, at: &[mono::Atom]) {
        let [at] = at else {
            self.other = true;
            return;
        };
        let (last, k) = match at.as_var().and_then(|v| self.offsets.get(&v)) {
            Some(k) => (true, *k),
            None if self.is_last(*at) => (true, mono::Atom::int(0)),
            None => (false, *at),
        };
        let count = match k.as_int() {
            Some(k) => k.checked_add(1).map(mono::Atom::int),
            None => self.loops.iter().find(|l| k == l.var.into()).map(|l| l.size),
        };
        let here = count.map(|count| Places { last, count });
        // Of several places that are constants, as where a loop is written out, the furthest decides.
        let both = match (self.found, here) {
            (None, here) => here,
            (Some(a), Some(b)) if a == b => here,
            (Some(a), Some(b)) if a.last == b.last => {
                let further = a.count.as_int().zip(b.count.as_int()).map(|(a, b)| mono::Atom::int(a.max(b)));
                further.map(|count| Places { last, count })
            }
            _ => None,
        };
        self.other |= both.is_none();
        self.found = both;
    }
}

/// What is known of the items that are kept.
#[derive(Clone, Copy, PartialEq)]
enum Slots {
    /// So many have items, and the others are free.
    Has(Atom),
    Full,
    /// All slots have items, whose one key is a number, as that of the item that comes is.
    Numbers,
}

/// In which order items are wanted.
struct Order<'a> {
    items: &'a Items<'a>,
    bases: &'a [BaseTy],
    last: bool,
    /// The number of the last item.
    end: Atom,
    /// Where the numbers of items belong, or their keys.
    to: Place,
    /// Whether it is the numbers.
    numbered: bool,
}

impl<'a> Order<'a> {
    fn new(l: &mut Leaf<'_>, table: &'a Table, last: bool, items: &'a Items<'a>) -> L<Order<'a>> {
        let end = l.int(ScalarOp::Sub, items.size, Atom::int(1))?;
        Ok(Order {
            items,
            bases: &table.bases,
            last,
            end,
            to: table.given(Atom::int(0))?,
            numbered: table.is_numbered(),
        })
    }

    /// The number of the item that is read as number `i`, and where it belongs as number `i` of those that are wanted.
    fn number(&self, l: &mut Leaf<'_>, i: Atom) -> L<Atom> {
        if self.last { l.int(ScalarOp::Sub, self.end, i) } else { Ok(i) }
    }

    /// The keys of the item that is read as number `i`, and its number if that is wanted.
    fn with_number(&self, l: &mut Leaf<'_>, i: Atom, row: &mut Vec<Atom>) -> L<()> {
        if self.numbered {
            row.push(self.number(l, i)?);
        }
        Ok(())
    }

    /// Whether an item comes before another one, strictly.
    fn before(&self, l: &mut Leaf<'_>, row: &[Atom], other: &[Atom]) -> L<Atom> {
        match self.last {
            true => l.less(self.bases, other, row),
            false => l.less(self.bases, row, other),
        }
    }

    /// What is kept after an item, by slots of keys and number: it goes before the first slot that it comes before, or that
    /// is free; that one and those behind go one further.
    fn enter(&self, l: &mut Leaf<'_>, row: &[Atom], state: &[Atom], slots: Slots) -> L<Vec<Atom>> {
        let mut next = Vec::new();
        let mut previous: Option<(Atom, &[Atom])> = None;
        for (k, slot) in state.chunks(row.len()).enumerate() {
            let mut goes = match slots {
                Slots::Numbers => self.before_number(l, row[0], slot[0])?,
                Slots::Full | Slots::Has(_) => self.before(l, row, slot)?,
            };
            if let Slots::Has(items) = slots {
                let free = l.int(ScalarOp::Ge, Atom::int(k as i64), items)?;
                goes = l.int(ScalarOp::Or, free, goes)?;
            }
            for (k, kept) in slot.iter().enumerate() {
                let new = match previous {
                    Some((went, other)) => l.op(ScalarOp::Select, &[went, other[k], row[k]])?,
                    None => row[k],
                };
                // As the greater of two it waits for nothing but itself; of equal keys either will do.
                let goes = match (slots, k) {
                    (Slots::Numbers, 0) => self.before_number(l, new, *kept)?,
                    _ => goes,
                };
                next.push(l.op(ScalarOp::Select, &[goes, new, *kept])?);
            }
            previous = Some((goes, slot));
        }
        Ok(next)
    }

    /// Whether the one key of an item comes before another one, neither of which is a float that is no number.
    fn before_number(&self, l: &mut Leaf<'_>, key: Atom, other: Atom) -> L<Atom> {
        let (a, b) = if self.last { (other, key) } else { (key, other) };
        match self.bases {
            [base] if !base.is_float() => l.key_less(*base, a, b),
            _ => l.int(ScalarOp::Lt, a, b),
        }
    }

    /// Whether an item has one key, a float, which may be no number.
    fn may_be_no_number(&self) -> bool {
        matches!(self.bases, [base] if base.is_float())
    }

    /// The keys of the item that is read as number `i`.
    fn keys(&self, l: &mut Leaf<'_>, i: Atom) -> L<Vec<Atom>> {
        let at = if self.items.from_end { i } else { self.number(l, i)? };
        l.set(self.items.index, at);
        l.scalars(self.items.keys)
    }
}

impl Leaf<'_> {
    /// Sorts what is read of an order where that is little, all of it where it is not; in which half of the table it is.
    pub fn select_or(
        &mut self,
        table: &Table,
        selected: &Selected,
        (axis, body): (mono::Axis, &mono::Body),
        sort: impl FnOnce(&mut Self) -> L<Atom>,
    ) -> L<Atom> {
        let Places { last, count } = selected.places;
        let (size, count) = (self.atom(axis.size)?, self.atom(count)?);
        let count = self.int(ScalarOp::Min2, count, size)?;
        let most = self.number(Field::Selected);
        let slots = self.most(selected.places.count).filter(|k| *k <= IN_REGISTERS.min(most));
        let mut few = self.int(ScalarOp::Le, count, Atom::int(most))?;
        if self.inner == Inner::Lanes {
            // A short row is sorted by ranks sooner than searched.
            let each = Atom::int(self.number(Field::SelectEach));
            let short = self.int(ScalarOp::Mul, count, each)?;
            let short = self.int(ScalarOp::Min2, short, Atom::int(self.most_ranked(table)))?;
            let long = self.int(ScalarOp::Gt, size, short)?;
            few = self.int(ScalarOp::And, few, long)?;
        }
        let backwards = selected.backwards.as_ref();
        let from_end = backwards.is_some();
        let items = Items { size, index: axis.var, keys: backwards.unwrap_or(body), from_end };
        match slots {
            // Nothing is read.
            Some(..=0) => return Ok(Atom::int(0)),
            Some(slots) => {
                self.select_in_registers(table, last, (count, slots), &items)?;
                return Ok(Atom::int(0));
            }
            None => {}
        }
        let half = self.choose(
            few,
            |l| {
                l.select(table, last, count, &items)?;
                Ok(vec![Atom::int(0)])
            },
            |l| Ok(vec![sort(l)?]),
        )?;
        half.first().copied().map_or_else(|| wrong("no half"), Ok)
    }

    /// A number that a size is not above, as far as it follows from how the leaf makes it.
    fn most(&self, a: mono::Atom) -> Option<i64> {
        if let Some(n) = a.as_int() {
            return Some(n);
        }
        match self.sizes.get(&a.as_var()?)? {
            mono::Exp::Atom(a) => self.most(*a),
            mono::Exp::Op(ScalarOp::Min2, args) => args.iter().filter_map(|a| self.most(*a)).min(),
            mono::Exp::Op(ScalarOp::Select, args) => Some(self.most(args[1])?.max(self.most(args[2])?)),
            _ => None,
        }
    }

    /// Goes through items from the first of these numbers up to the other one, in tiles: those of one in order where one of
    /// them may enter, since the state is not full, or the item comes before the worst that it keeps. `worst` says whether
    /// it is full, and what is the worst; `enter` is the state after an item, which it may be told is a number, as all that is
    /// kept is. What the state is in the end.
    fn through_tiles(
        &mut self,
        order: &Order<'_>,
        (first, all): (Atom, Atom),
        state: &[Atom],
        worst: impl FnOnce(&mut Self, &[Atom]) -> L<(Atom, Vec<Atom>)>,
        enter: impl Fn(&mut Self, Vec<Atom>, &[Atom], bool) -> L<Vec<Atom>>,
    ) -> L<Vec<Atom>> {
        let items = order.items;
        let width = self.lanes_of_reduction(items.keys, items.index);
        let plain = items.from_end || !order.last;
        let how = match width.filter(|_| plain && self.inner == Inner::Lanes) {
            Some(width) => How::Lanes(width),
            None => How::Seq,
        };
        let size = Atom::int(self.number(Field::SelectTile));
        let left = self.int(ScalarOp::Sub, all, first)?;
        let tiles = self.tiles(left, size)?;
        let init: Vec<_> = state.iter().map(|a| (*a, None)).collect();
        self.carry(How::Seq, upto(tiles), &init, |l, tile, state| {
            let from = l.int(ScalarOp::Mul, tile, size)?;
            let from = l.int(ScalarOp::Add, from, first)?;
            let to = l.int(ScalarOp::Add, from, size)?;
            let range = Range::Upto { from, to: l.int(ScalarOp::Min2, to, all)? };
            let (full, worst) = worst(l, state)?;
            let doubts = order.may_be_no_number();
            let no = (Atom::Const(Scalar::Bool(false)), Some(ScalarOp::Or));
            let asked = |l: &mut Self| {
                let init = if doubts { vec![no, no] } else { vec![no] };
                let inner = std::mem::replace(&mut l.inner, Inner::Serial);
                let any = l.carry(how, range, &init, |l, i, any| {
                    let row = order.keys(l, i)?;
                    let enters = order.before(l, &row, &worst)?;
                    let mut next = vec![l.int(ScalarOp::Or, any[0], enters)?];
                    if doubts {
                        let none = l.int(ScalarOp::Ne, row[0], row[0])?;
                        next.push(l.int(ScalarOp::Or, any[1], none)?);
                    }
                    Ok(next)
                });
                l.inner = inner;
                any
            };
            let all_enter = vec![Atom::Const(Scalar::Bool(true)); 1 + usize::from(doubts)];
            let asked = match full {
                Atom::Const(_) => asked(l)?,
                full => l.choose(full, asked, |_| Ok(all_enter))?,
            };
            let each = |l: &mut Self, plain: bool| {
                let init: Vec<_> = state.iter().map(|a| (*a, None)).collect();
                l.carry(How::Seq, range, &init, |l, i, state| {
                    let mut row = order.keys(l, i)?;
                    order.with_number(l, i, &mut row)?;
                    enter(l, row, state, plain)
                })
            };
            l.choose(
                asked[0],
                |l| {
                    let Some(none) = asked.get(1).copied() else { return each(l, order.bases.len() == 1) };
                    let unordered = l.int(ScalarOp::Ne, worst[0], worst[0])?;
                    let doubtful = l.int(ScalarOp::Or, none, unordered)?;
                    l.choose(doubtful, |l| each(l, false), |l| each(l, true))
                },
                |_| Ok(state.to_vec()),
            )
        })
    }

    /// Keeps the items that come first, or last, in registers, `slots` of them; then the numbers of the first `count`, or
    /// their keys, are put where an order has them.
    fn select_in_registers(
        &mut self,
        table: &Table,
        last: bool,
        (count, slots): (Atom, i64),
        items: &Items<'_>,
    ) -> L<()> {
        let order = Order::new(self, table, last, items)?;
        let none = table.nothing();
        let columns = none.len();
        let init = none.repeat(slots as usize);
        let some = self.int(ScalarOp::Gt, count, Atom::int(0))?;
        let all = self.op(ScalarOp::Select, &[some, items.size, Atom::int(0)])?;
        // The first items find slots that are free; from then on there is none.
        let first = self.int(ScalarOp::Min2, all, Atom::int(slots))?;
        let init: Vec<_> = init.into_iter().map(|a| (a, None)).collect();
        let full = self.carry(How::Seq, upto(first), &init, |l, i, state| {
            let mut row = order.keys(l, i)?;
            order.with_number(l, i, &mut row)?;
            order.enter(l, &row, state, Slots::Has(i))
        })?;
        let yes = Atom::Const(Scalar::Bool(true));
        let kept = self.through_tiles(
            &order,
            (first, all),
            &full,
            |_, state| {
                let Some(worst) = state.rchunks(columns).next() else { return wrong("nothing is kept") };
                Ok((yes, worst.to_vec()))
            },
            |l, row, state, plain| {
                order.enter(l, &row, state, if plain { Slots::Numbers } else { Slots::Full })
            },
        )?;
        for (k, slot) in kept.chunks(columns).enumerate() {
            let k = Atom::int(k as i64);
            let wanted = self.int(ScalarOp::Lt, k, count)?;
            self.blocks.open();
            let to = order.number(self, k)?;
            self.store(&order.to, &[to], slot[columns - 1]);
            let then = self.blocks.close();
            self.emit(StmtKind::If { cond: wanted, then, otherwise: Vec::new(), results: Vec::new() });
        }
        Ok(())
    }

    /// Keeps the `count` items that come first, or last, in the second half of a table, sorted; then their numbers, or
    /// keys, are put into the first half where an order has them.
    fn select(&mut self, table: &Table, last: bool, count: Atom, items: &Items<'_>) -> L<()> {
        let order = Order::new(self, table, last, items)?;
        let kept = table.half(Atom::int(1));
        let Some(given) = kept.last() else { return wrong("no order") };
        let worst = self.int(ScalarOp::Sub, count, Atom::int(1))?;
        let some = self.int(ScalarOp::Gt, count, Atom::int(0))?;
        let all = self.op(ScalarOp::Select, &[some, items.size, Atom::int(0)])?;
        self.through_tiles(
            &order,
            (Atom::int(0), all),
            &[Atom::int(0)],
            |l, have| {
                // Where there is none, what is in its place is asked nothing.
                let place = l.int(ScalarOp::Min2, have[0], worst)?;
                let full = l.int(ScalarOp::Ge, have[0], count)?;
                let other = l.choose(full, |l| l.load_row(&kept, place), |_| Ok(table.nothing()))?;
                Ok((full, other))
            },
            |l, row, have, _| Ok(vec![l.insert(&kept, (have[0], count, worst), &row, &order)?]),
        )?;
        self.each(How::Seq, "k", upto(count), |l, k| {
            let x = l.load(given, &[k])?;
            let to = order.number(l, k)?;
            l.store(&order.to, &[to], x);
            Ok(())
        })
    }

    /// Inserts an item into `have` that are kept, of at most `count`, if it comes before the worst of them or there is room;
    /// how many there are then.
    fn insert(
        &mut self,
        kept: &[Place],
        (have, count, worst): (Atom, Atom, Atom),
        row: &[Atom],
        order: &Order<'_>,
    ) -> L<Atom> {
        let one = Atom::int(1);
        let full = self.int(ScalarOp::Ge, have, count)?;
        let enters = self.choose(
            full,
            |l| {
                let other = l.load_row(kept, worst)?;
                Ok(vec![order.before(l, row, &other)?])
            },
            |_| Ok(vec![Atom::Const(Scalar::Bool(true))]),
        )?;
        let first = self.int(ScalarOp::Min2, have, worst)?;
        self.blocks.open();
        // The place where it may go is there to be read, whatever else is.
        self.store_row(kept, first, row);
        let to = self.repeat(
            &[first],
            |l, at| {
                let more = l.int(ScalarOp::Gt, at[0], Atom::int(0))?;
                let other = l.int(ScalarOp::Sub, at[0], one)?;
                let other = l.int(ScalarOp::Max2, other, Atom::int(0))?;
                let other = l.load_row(kept, other)?;
                let goes = order.before(l, row, &other)?;
                l.int(ScalarOp::And, more, goes)
            },
            |l, at| {
                let other = l.int(ScalarOp::Sub, at[0], one)?;
                let moved = l.load_row(kept, other)?;
                l.store_row(kept, at[0], &moved);
                Ok(vec![other])
            },
        )?;
        self.store_row(kept, to[0], row);
        let then = self.blocks.close();
        self.emit(StmtKind::If { cond: enters[0], then, otherwise: Vec::new(), results: Vec::new() });
        let more = self.int(ScalarOp::Add, have, one)?;
        self.int(ScalarOp::Min2, more, count)
    }
}
