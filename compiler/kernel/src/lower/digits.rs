//! How a processor's thread sorts a row: short ones by ranks, others by digits.
//!
//! ```text
//! (for (lanes 16) %i (upto 0 %n) ()                  how many are less: all items of a vector at once
//!   (for seq %j (upto 0 %n) ((%r 0)) … (op < (load %numbers %j) %x) …) (store %ranks (%i) %r))
//! (for seq %i (upto 0 %n) () … (store %into ((op + %rank (load %taken %rank))) %key))
//!
//! (for seq %i (upto 0 %n) () … (update of (%counts 0 %digit), (%counts 1 %digit), …))
//! (for seq %d (upto 0 4) ((%half 0)) (prefixes of %counts %d) (for seq %i … (store %into (%place) %key)))
//! ```
//!
//! Keys are compared as integers in their order ([`remc_base::ops::total_cmp`]): the bits of a float, those below zero
//! turned round; both zeros are 0, and what is no number comes last. The rank of an item is how many are less, which has no
//! branch, and costs a row of `n` items `n / w` vector operations an item; those of one rank follow one another as they came.
//! From some length on that is more than a stable sort by digits, the last digit of the last key first (LSD radix sort,
//! Knuth, The art of computer programming 3, 5.2.5), which moves items once for each byte of their keys, but not for bytes
//! that all have in common. Both are stable; so the order is that of all devices.

use super::build::{Emit, upto};
use super::leaf::Leaf;
use super::schedule;
use super::sort::Table;
use super::{L, Place, wrong};
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::{ScalarOp, zero};
use remc_base::{BaseTy, Scalar};

/// The values of a digit, a byte of a key.
const VALUES: i64 = 256;

/// The bytes of a key.
fn bytes(base: BaseTy) -> i64 {
    i64::from(base.bits().div_ceil(8))
}

/// The signed integers of a key's width.
fn number_ty(base: BaseTy) -> BaseTy {
    match bytes(base) {
        1 => BaseTy::I8,
        2 => BaseTy::I16,
        4 => BaseTy::I32,
        _ => BaseTy::I64,
    }
}

/// A number of a type of integers.
fn integer(ty: BaseTy, n: i64) -> Atom {
    Atom::Const(Scalar::from_bits64(ty, n).unwrap_or(zero(ty)))
}

impl Leaf<'_> {
    /// Sorts the items of the first half of a table; in which half they are.
    pub fn sort_row(&mut self, table: &Table, n: Atom, most: Atom) -> L<Atom> {
        let least = self.most_ranked(table);
        if most.as_int().is_some_and(|most| most <= least) {
            return self.ranks(table, n, most);
        }
        let few = self.int(ScalarOp::Le, n, Atom::int(least))?;
        let half = self.choose(
            few,
            |l| Ok(vec![l.ranks(table, n, Atom::int(least))?]),
            |l| Ok(vec![l.by_digits(table, n)?]),
        )?;
        half.first().copied().map_or_else(|| wrong("no half"), Ok)
    }

    /// How many items are sorted by their ranks at most.
    pub fn most_ranked(&self, table: &Table) -> i64 {
        let each = self.number(Field::Ranked);
        table.bases.iter().map(|b| bytes(*b)).sum::<i64>().saturating_mul(each).max(1)
    }

    /// Moves items to their ranks, at most so many of them.
    fn ranks(&mut self, table: &Table, n: Atom, most: Atom) -> L<Atom> {
        let (first, second) = (table.half(Atom::int(0)), table.half(Atom::int(1)));
        let tys: Vec<BaseTy> = table.bases.iter().map(|b| number_ty(*b)).collect();
        let numbers = tys.iter().map(|ty| self.part("numbers", *ty, &[most])).collect::<L<Vec<Place>>>()?;
        let widest = tys.iter().map(|ty| ty.bits() / 8).max().unwrap_or(8);
        // A rank is as wide as what is compared, where that can be.
        let rank_ty = if widest <= 4 { BaseTy::I32 } else { BaseTy::I64 };
        let ranks = self.part("ranks", rank_ty, &[most])?;
        let taken = self.part("taken", BaseTy::I64, &[most])?;
        let wide = How::Lanes(schedule::lanes(widest.max(4), 2));
        self.each(wide, "i", upto(n), |l, i| {
            for ((base, key), number) in table.bases.iter().zip(&first).zip(&numbers) {
                let x = l.load(key, &[i])?;
                let x = l.number_of(*base, x)?;
                l.store(number, &[i], x);
            }
            l.store(&taken, &[i], Atom::int(0));
            Ok(())
        })?;
        self.each(wide, "i", upto(n), |l, i| {
            let x = l.load_row(&numbers, i)?;
            let (none, one) = (integer(rank_ty, 0), integer(rank_ty, 1));
            let rank = l.carry(How::Seq, upto(n), &[(none, None)], |l, j, rank| {
                let y = l.load_row(&numbers, j)?;
                let less = l.less(&tys, &y, &x)?;
                let one = l.op(ScalarOp::Select, &[less, one, none])?;
                Ok(vec![l.int(ScalarOp::Add, rank[0], one)?])
            })?;
            l.store(&ranks, &[i], rank[0]);
            Ok(())
        })?;
        self.each(How::Seq, "i", upto(n), |l, i| {
            let rank = l.load(&ranks, &[i])?;
            let rank = l.bind("rank", BaseTy::I64, Exp::Cast(BaseTy::I64, rank));
            let before = l.load(&taken, &[rank])?;
            let after = l.int(ScalarOp::Add, before, Atom::int(1))?;
            l.store(&taken, &[rank], after);
            let to = l.int(ScalarOp::Add, rank, before)?;
            let row = l.load_row(&first, i)?;
            l.store_row(&second, to, &row);
            Ok(())
        })?;
        Ok(Atom::int(1))
    }

    /// Sorts items by the bytes of their keys, the last of the last key first.
    fn by_digits(&mut self, table: &Table, n: Atom) -> L<Atom> {
        let passes: i64 = table.bases.iter().map(|b| bytes(*b)).sum();
        let dims = [Atom::int(passes), Atom::int(VALUES)];
        let counts = self.part("counts", BaseTy::I64, &dims)?;
        self.each_of_last(&dims, How::Lanes(schedule::lanes(8, 1)), &mut |l, at| {
            l.store(&counts, at, Atom::int(0));
            Ok(())
        })?;
        let first = table.half(Atom::int(0));
        self.each(How::Seq, "i", upto(n), |l, i| {
            let mut pass = 0;
            for (base, key) in table.bases.iter().zip(&first).rev() {
                let x = l.load(key, &[i])?;
                let x = l.unsigned_of(*base, x)?;
                for d in 0..bytes(*base) {
                    let at = [Atom::int(pass), l.digit(x, Atom::int(d))?];
                    let count = l.load(&counts, &at)?;
                    let count = l.int(ScalarOp::Add, count, Atom::int(1))?;
                    l.store(&counts, &at, count);
                    pass += 1;
                }
            }
            Ok(())
        })?;
        let (mut half, mut done) = (Atom::int(0), 0);
        for (k, base) in table.bases.iter().enumerate().rev() {
            let digits = upto(Atom::int(bytes(*base)));
            let state = self.carry(How::Seq, digits, &[(half, None)], |l, d, half| {
                let pass = l.int(ScalarOp::Add, d, Atom::int(done))?;
                let places = counts.cell(&[pass]);
                Ok(vec![l.by_digit(table, (k, d), &places, n, half[0])?])
            })?;
            half = state[0];
            done += bytes(*base);
        }
        Ok(half)
    }

    /// Moves items from one half to the other in the order of a digit of a key, if they differ in it. `places` has how often
    /// each value is there.
    fn by_digit(
        &mut self,
        table: &Table,
        (k, d): (usize, Atom),
        places: &Place,
        n: Atom,
        half: Atom,
    ) -> L<Atom> {
        let from = table.half(half);
        let digit = |l: &mut Self, i: Atom| {
            let x = l.load(&from[k], &[i])?;
            let x = l.unsigned_of(table.bases[k], x)?;
            l.digit(x, d)
        };
        let value = digit(self, Atom::int(0))?;
        let same = self.load(places, &[value])?;
        let same = self.int(ScalarOp::Eq, same, n)?;
        let half = self.choose(
            same,
            |_| Ok(vec![half]),
            |l| {
                let other = l.int(ScalarOp::Sub, Atom::int(1), half)?;
                let into = table.half(other);
                l.carry(How::Seq, upto(Atom::int(VALUES)), &[(Atom::int(0), None)], |l, value, start| {
                    let count = l.load(places, &[value])?;
                    l.store(places, &[value], start[0]);
                    Ok(vec![l.int(ScalarOp::Add, start[0], count)?])
                })?;
                l.each(How::Seq, "i", upto(n), |l, i| {
                    let value = digit(l, i)?;
                    let place = l.load(places, &[value])?;
                    let next = l.int(ScalarOp::Add, place, Atom::int(1))?;
                    l.store(places, &[value], next);
                    let row = l.load_row(&from, i)?;
                    l.store_row(&into, place, &row);
                    Ok(())
                })?;
                Ok(vec![other])
            },
        )?;
        half.first().copied().map_or_else(|| wrong("no half"), Ok)
    }

    /// A digit of an unsigned number, counted from the last.
    fn digit(&mut self, x: Atom, d: Atom) -> L<Atom> {
        let by = match d.as_int() {
            Some(d) => integer(BaseTy::U64, 8 * d),
            None => {
                let by = self.int(ScalarOp::Mul, d, Atom::int(8))?;
                self.bind("by", BaseTy::U64, Exp::Cast(BaseTy::U64, by))
            }
        };
        let x = self.int(ScalarOp::Shr, x, by)?;
        let x = self.int(ScalarOp::BitAnd, x, integer(BaseTy::U64, VALUES - 1))?;
        Ok(self.bind("digit", BaseTy::I64, Exp::Cast(BaseTy::I64, x)))
    }

    /// A key as an unsigned number, from 0 on in its width.
    fn unsigned_of(&mut self, base: BaseTy, x: Atom) -> L<Atom> {
        let x = self.number_of(base, x)?;
        let x = self.bind("x", BaseTy::U64, Exp::Cast(BaseTy::U64, x));
        let half = integer(BaseTy::U64, 1 << (8 * bytes(base) - 1));
        self.int(ScalarOp::Add, x, half)
    }

    /// A key as a signed number in the order of a sort, and of its width.
    fn number_of(&mut self, base: BaseTy, x: Atom) -> L<Atom> {
        let ty = number_ty(base);
        let unused = 64 - 8 * bytes(base);
        let (least, most) = (integer(ty, i64::MIN >> unused), integer(ty, i64::MAX >> unused));
        match base {
            _ if base == ty => Ok(x),
            BaseTy::Bool => self.op(ScalarOp::Select, &[x, integer(ty, 1), integer(ty, 0)]),
            BaseTy::Char => {
                let x = self.op(ScalarOp::CharToInt, &[x])?;
                Ok(self.bind("x", ty, Exp::Cast(ty, x)))
            }
            _ if base.is_float() => {
                let bits = self.bind("bits", ty, Exp::Bits(x));
                let sign = self.int(ScalarOp::Shr, bits, integer(ty, 8 * bytes(base) - 1))?;
                let turned = self.int(ScalarOp::BitAnd, sign, most)?;
                let number = self.int(ScalarOp::BitXor, bits, turned)?;
                let none = zero(base);
                let is_zero = self.int(ScalarOp::Eq, x, Atom::Const(none))?;
                let number = self.op(ScalarOp::Select, &[is_zero, integer(ty, 0), number])?;
                let is_none = self.int(ScalarOp::Ne, x, x)?;
                self.op(ScalarOp::Select, &[is_none, most, number])
            }
            _ => {
                let x = self.bind("x", ty, Exp::Cast(ty, x));
                self.int(ScalarOp::BitXor, x, least)
            }
        }
    }
}
