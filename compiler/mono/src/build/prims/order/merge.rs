//! A sort by comparisons: merging.
//!
//! A loop over rows of 1, 2, 4, … positions, in each of whose rounds all pairs of rows become one. A round works on strips of
//! the result, side by side. Where a strip begins in both rows is found by halving (Odeh, Green, Mwassi, Shmueli and Birk,
//! "Merge Path", 2012), so that a round compares little more often than there are items, and the sort n log n times.
//!
//! ```text
//! (grade/by f xs)  ⟶  (while ((w 1) (order 0 1 2 …)) (< w n)
//!                       lefts  = (map ((c strips)) … how much of the first row comes before strip c …)
//!                       passed = (map ((c strips)) (scan (o 32) … how much of it then comes before place o …))
//!                       (give (* 2 w) (map ((o n)) (index order … what passed on from place o …))))
//! ```

use super::{BOOL, choose, until};
use crate::build::val::Val;
use crate::build::{Build, R};
use crate::ir::Atom;
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::*;

/// So many places of the result are merged one after the other. The interpreter has the same strips.
const STRIP: i64 = 32;

/// Whether the first position, which came before the second so far, stays before it.
pub type Stays<'f, 'a> = &'f mut dyn FnMut(&mut Build<'a>, Atom, Atom) -> R<Atom>;

/// The positions below `n` in a stable order.
pub fn merge_sort<'a>(b: &mut Build<'a>, n: Atom, stays: Stays<'_, 'a>) -> R<Val<'a>> {
    let whole = Ty { base: BaseTy::I64, dims: vec![n] };
    let start = b.tabulate("order", BaseTy::I64, &[n], Vec::new(), |_, at| Ok(at[0]))?;
    let most = b.op(ScalarOp::Add, &[n, Atom::int(STRIP - 1)])?;
    let strips = b.op(ScalarOp::Quotient, &[most, Atom::int(STRIP)])?;
    b.natural.extend(strips.as_var());
    let (width, order) = (b.fresh("width", Ty::int()), b.fresh("order", whole.clone()));
    b.open();
    let more = b.op(ScalarOp::Lt, &[width.into(), n])?;
    let cond = Body { stmts: b.close().stmts, results: vec![more] };
    b.open();
    let round = Round { n, strips, width: width.into(), order: order.into() };
    let merged = round.merged(b, stays)?;
    let twice = b.op(ScalarOp::Add, &[width.into(), width.into()])?;
    let body = Body { stmts: b.close().stmts, results: vec![twice, merged] };
    let after = vec![b.fresh("width", Ty::int()), b.fresh("order", whole)];
    let sorted = Atom::Var(after[1]);
    b.emit(after, Exp::While { state: vec![(width, Atom::int(1)), (order, start)], cond, body })?;
    Ok(Val::Base(sorted))
}

/// A round: rows of `width` positions in `order` are merged in pairs.
struct Round {
    n: Atom,
    strips: Atom,
    width: Atom,
    order: Atom,
}

/// A pair of rows: where the first begins and ends, and where the second ends.
#[derive(Clone, Copy)]
struct Pair {
    start: Atom,
    middle: Atom,
    end: Atom,
}

impl Round {
    /// The pair that has place `o`.
    fn pair<'a>(&self, b: &mut Build<'a>, o: Atom) -> R<Pair> {
        let two = b.op(ScalarOp::Add, &[self.width, self.width])?;
        let mask = b.op(ScalarOp::Negate, &[two])?;
        let start = b.op(ScalarOp::BitAnd, &[o, mask])?;
        let middle = b.op(ScalarOp::Add, &[start, self.width])?;
        let middle = b.op(ScalarOp::Min2, &[middle, self.n])?;
        let end = b.op(ScalarOp::Add, &[start, two])?;
        let end = b.op(ScalarOp::Min2, &[end, self.n])?;
        Ok(Pair { start, middle, end })
    }

    fn per_strip<'a>(
        &self,
        b: &mut Build<'a>,
        name: &str,
        cell: Vec<Atom>,
        f: impl FnOnce(&mut Build<'a>, Atom, Atom) -> R<Atom>,
    ) -> R<Atom> {
        b.tabulate(name, BaseTy::I64, &[self.strips], cell, |b, at| {
            let place = b.op(ScalarOp::Mul, &[at[0], Atom::int(STRIP)])?;
            f(b, at[0], place)
        })
    }

    fn merged<'a>(&self, b: &mut Build<'a>, stays: Stays<'_, 'a>) -> R<Atom> {
        let lefts = self.lefts(b, stays)?;
        let strip = vec![Atom::int(STRIP)];
        let passed =
            self.per_strip(b, "passed", strip, |b, c, place| self.strip(b, lefts, (c, place), stays))?;
        b.tabulate("order", BaseTy::I64, &[self.n], Vec::new(), |b, at| {
            let o = at[0];
            let Pair { start, middle, .. } = self.pair(b, o)?;
            let c = b.op(ScalarOp::Quotient, &[o, Atom::int(STRIP)])?;
            let j = b.op(ScalarOp::BitAnd, &[o, Atom::int(STRIP - 1)])?;
            // How much of the first row has passed before this place, and after it.
            let at_first = b.index(lefts, &[c])?;
            let last = b.op(ScalarOp::Sub, &[j, Atom::int(1)])?;
            let last = b.op(ScalarOp::Max2, &[last, Atom::int(0)])?;
            let before = b.index(passed, &[c, last])?;
            let first = b.op(ScalarOp::Eq, &[j, Atom::int(0)])?;
            let before = b.op(ScalarOp::Select, &[first, at_first, before])?;
            let begins = b.op(ScalarOp::Eq, &[o, start])?;
            let before = b.op(ScalarOp::Select, &[begins, start, before])?;
            let after = b.index(passed, &[c, j])?;
            let right = b.op(ScalarOp::Add, &[middle, o])?;
            let right = b.op(ScalarOp::Sub, &[right, before])?;
            let is_left = b.op(ScalarOp::Ne, &[after, before])?;
            let from = b.op(ScalarOp::Select, &[is_left, before, right])?;
            b.index(self.order, &[from])
        })
    }

    /// Where each strip begins in the first row of its pair. Where an order contradicts itself, what is found is moved
    /// so that no strip begins before the one that precedes it, in either row.
    fn lefts<'a>(&self, b: &mut Build<'a>, stays: Stays<'_, 'a>) -> R<Atom> {
        let found = self.per_strip(b, "left", Vec::new(), |b, _, place| self.halved(b, place, stays))?;
        let max = |b: &mut Build<'a>, xs| {
            b.scan_ints("left", self.strips, ScalarOp::Max2, ScanKind::Inclusive, self.strips, xs)
        };
        // In one row and in the other: the sum of both is that of the place and the start of the pair.
        let other = |b: &mut Build<'a>, lefts: Atom| {
            self.per_strip(b, "left", Vec::new(), |b, c, place| {
                let Pair { start, .. } = self.pair(b, place)?;
                let sum = b.op(ScalarOp::Add, &[place, start])?;
                let left = b.index(lefts, &[c])?;
                b.op(ScalarOp::Sub, &[sum, left])
            })
        };
        let found = max(b, found)?;
        let rights = other(b, found)?;
        let rights = max(b, rights)?;
        other(b, rights)
    }

    /// Where a strip begins in the first row.
    fn halved<'a>(&self, b: &mut Build<'a>, place: Atom, stays: Stays<'_, 'a>) -> R<Atom> {
        let Pair { start, middle, end } = self.pair(b, place)?;
        let done = b.op(ScalarOp::Sub, &[place, start])?;
        let second = b.op(ScalarOp::Sub, &[end, middle])?;
        let low = b.op(ScalarOp::Sub, &[done, second])?;
        let low = b.op(ScalarOp::Max2, &[low, Atom::int(0)])?;
        let first = b.op(ScalarOp::Sub, &[middle, start])?;
        let high = b.op(ScalarOp::Min2, &[done, first])?;
        let [low, _] = until(
            b,
            [low, high],
            |b, [low, high]| b.op(ScalarOp::Lt, &[low, high]),
            |b, [low, high]| {
                let sum = b.op(ScalarOp::Add, &[low, high])?;
                let half = b.op(ScalarOp::Quotient, &[sum, Atom::int(2)])?;
                let more = b.op(ScalarOp::Add, &[half, Atom::int(1)])?;
                let left = b.op(ScalarOp::Add, &[start, half])?;
                let right = b.op(ScalarOp::Add, &[middle, done])?;
                let right = b.op(ScalarOp::Sub, &[right, more])?;
                let (x, y) = (b.index(self.order, &[left])?, b.index(self.order, &[right])?);
                let stays = stays(b, x, y)?;
                Ok([
                    b.op(ScalarOp::Select, &[stays, more, low])?,
                    b.op(ScalarOp::Select, &[stays, high, half])?,
                ])
            },
        )?;
        b.op(ScalarOp::Add, &[start, low])
    }

    /// How much of the first row has passed after each place of a strip.
    fn strip<'a>(
        &self,
        b: &mut Build<'a>,
        lefts: Atom,
        (c, place): (Atom, Atom),
        stays: Stays<'_, 'a>,
    ) -> R<Atom> {
        // It stops where the next one of the same pair begins.
        let next = b.op(ScalarOp::Add, &[place, Atom::int(STRIP)])?;
        let two = b.op(ScalarOp::Add, &[self.width, self.width])?;
        let mask = b.op(ScalarOp::Sub, &[two, Atom::int(1)])?;
        let into = b.op(ScalarOp::BitAnd, &[next, mask])?;
        let into = b.op(ScalarOp::Ne, &[into, Atom::int(0)])?;
        let goes_on = b.op(ScalarOp::Lt, &[next, self.n])?;
        let shared = b.op(ScalarOp::And, &[goes_on, into])?;
        let last = b.op(ScalarOp::Sub, &[self.strips, Atom::int(1)])?;
        let following = b.op(ScalarOp::Add, &[c, Atom::int(1)])?;
        let following = b.op(ScalarOp::Min2, &[following, last])?;
        let following = b.index(lefts, &[following])?;
        let first = b.index(lefts, &[c])?;

        let axes = b.open_axes(&[Atom::int(STRIP)]);
        let o = b.op(ScalarOp::Add, &[place, Atom::Var(axes[0].var)])?;
        let body = Body { stmts: b.close().stmts, results: vec![o] };
        let params = vec![b.fresh("left", Ty::int()), b.fresh("o", Ty::int())];
        let (left, o) = (Atom::Var(params[0]), Atom::Var(params[1]));
        b.open();
        let Pair { start, middle, end } = self.pair(b, o)?;
        let begins = b.op(ScalarOp::Eq, &[o, start])?;
        let left = b.op(ScalarOp::Select, &[begins, start, left])?;
        let right = b.op(ScalarOp::Add, &[middle, o])?;
        let right = b.op(ScalarOp::Sub, &[right, left])?;
        let left_end = b.op(ScalarOp::Select, &[shared, following, middle])?;
        let right_end = b.op(ScalarOp::Add, &[middle, next])?;
        let right_end = b.op(ScalarOp::Sub, &[right_end, following])?;
        let right_end = b.op(ScalarOp::Select, &[shared, right_end, end])?;
        let some_left = b.op(ScalarOp::Lt, &[left, left_end])?;
        let some_right = b.op(ScalarOp::Lt, &[right, right_end])?;
        let inside = b.op(ScalarOp::Lt, &[o, self.n])?;
        let both = b.all(&[inside, some_left, some_right])?;
        let takes_left = choose(
            b,
            both,
            &BOOL,
            |b| {
                let (x, y) = (b.index(self.order, &[left])?, b.index(self.order, &[right])?);
                stays(b, x, y)
            },
            |_| Ok(some_left),
        )?;
        let more = b.op(ScalarOp::Add, &[left, Atom::int(1)])?;
        let passed = b.op(ScalarOp::Select, &[takes_left, more, left])?;
        let lambda = Lambda { params, body: Body { stmts: b.close().stmts, results: vec![passed] } };
        let op = Combine { lambda, start: Some(vec![first]), assoc: false, alone: false };
        let ty = Ty { base: BaseTy::I64, dims: vec![Atom::int(STRIP)] };
        b.bind("passed", ty, Exp::Scan { kind: ScanKind::Inclusive, axis: axes[0], body, op })
    }
}
