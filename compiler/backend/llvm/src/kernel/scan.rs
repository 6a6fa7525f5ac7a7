//! Scans in registers.
//!
//! Of a `scan` loop the items of `w` iterations are made in lanes. A vector is scanned in log₂ steps, each of
//! which combines every lane with the one 1, 2, 4, … before it, or with the neutral element:
//!
//! ```text
//! x        a    b     c       d            shifted by 1:   0  a   b    c
//! + that   a    ab    bc      cd           shifted by 2:   0  0   a    ab
//! + that   a    ab    abc     abcd         = scan(x); its last lane is the vector's total
//! ```
//!
//! The prefixes of the lanes are `carry + scan(x)`, and the next carry is `carry + total`: only this one
//! operator waits for the vector before. The carry is kept in all lanes of a vector of its own. What comes
//! before an iteration (the exclusive prefix) is the prefix of the lane before.
//!
//! More lanes than a register has are scanned register by register. What is left over runs one by one.

use super::Fun;
use super::counted::{Loop, Sum, Sums, Values};
use super::pieces::{Piece, Pieces, piece};
use crate::error::EmitError;
use crate::values::Value;
use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, VectorValue};
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_kernel::ir::Atom;
use remc_kernel::scan::Phases;
use remc_kernel::schedule::Field;

impl<'ctx> Fun<'_, 'ctx> {
    /// Whether an operator is worth being applied to vectors more often than to scalars.
    pub fn scannable(sums: &Sums) -> bool {
        sums.iter().all(|(op, _, _)| *op != ScalarOp::Gcd)
    }

    /// How many iterations a loop that is to be scanned `w` at a time scans at once.
    pub fn scanned_at_once(&self, w: u32, sums: &Sums) -> u32 {
        let native = |(_, ty, _): &Sum| self.host.lanes(ty.bits()).max(2);
        let least = sums.iter().map(native).min().unwrap_or(w);
        w.min(least.saturating_mul(self.schedule[Field::ScanParts] as u32))
    }

    pub fn scan(
        &mut self,
        w: u32,
        l: &Loop<'_, 'ctx>,
        sums: &Sums,
        phases: &Phases<'_>,
    ) -> Result<(), EmitError> {
        let Loop { from, to, carried, .. } = *l;
        let native = |ty: BaseTy| self.host.lanes(ty.bits()).max(2);
        let w = self.scanned_at_once(w, sums);
        let parts: Vec<u32> = sums.iter().map(|(_, ty, _)| native(*ty).min(w)).collect();
        let inits: Vec<Atom> = carried.iter().map(|c| c.init).collect();
        let init = self.carry(carried, &inits)?;
        let spread = |(vs, n): (Vec<Value<'ctx>>, &u32)| {
            vs.into_iter().map(|v| self.e.splat(v, *n)).collect::<Result<Vec<_>, _>>()
        };
        let carries = init.into_iter().zip(&parts).map(spread).collect::<Result<Vec<_>, _>>()?;
        let end = self.whole_steps((from, to), w)?;
        let uniformity = self.uniformity_of(l);
        let carries = self.counted(from, end, w, carries, &mut |f, i, carries| {
            f.lanes = Some(w);
            let all = f.where_uniform(l, &uniformity, (i, w), &mut |f| {
                f.scanned(l, sums, phases, (&parts, carries))
            })?;
            f.lanes = None;
            Ok(all)
        })?;
        let first = |vs: Vec<Value<'ctx>>| {
            vs.into_iter()
                .map(|v| self.lane(Piece::Vector(v), self.i64(0).into()))
                .collect::<Result<Vec<_>, _>>()
        };
        let rest = carries.into_iter().map(first).collect::<Result<Vec<_>, _>>()?;
        self.serial(&Loop { from: end, ..*l }, rest)
    }

    /// The iterations of a vector after these carries, scanned in parts of so many lanes; what they carry on.
    fn scanned(
        &mut self,
        l: &Loop<'_, 'ctx>,
        sums: &Sums,
        phases: &Phases<'_>,
        (parts, carries): (&[u32], &[Vec<Value<'ctx>>]),
    ) -> Result<Values<'ctx>, EmitError> {
        phases.before.iter().try_for_each(|s| self.stmt(s))?;
        let mut all = Vec::new();
        for (k, sum) in sums.iter().enumerate() {
            let items = self.atom(phases.items[k])?;
            let (mut before, mut with, mut carry) = (Pieces::new(), Pieces::new(), Vec::new());
            for (t, c) in carries[k].iter().enumerate() {
                let item = self.vector(piece(&items, t)?)?;
                let prefixes = self.prefixes(item, *c, *sum, parts[k])?;
                before.push(Piece::Vector(prefixes.exclusive));
                with.push(Piece::Vector(prefixes.inclusive));
                carry.push(prefixes.carry);
            }
            self.env.insert(l.carried[k].param, before);
            if let Some(Atom::Var(v)) = l.next.get(k) {
                self.env.insert(*v, with);
            }
            all.push(carry);
        }
        // Prefixes are written one line after the other, and past the caches where they are many.
        let around = std::mem::replace(&mut self.writes_lines, true);
        phases.after.iter().try_for_each(|s| self.stmt(s))?;
        self.writes_lines = around;
        Ok(all)
    }

    /// The prefixes of the lanes of a vector, `n` at a time, after a carry in `n` lanes.
    fn prefixes(
        &self,
        items: Value<'ctx>,
        carry: Value<'ctx>,
        (op, ty, zero): Sum,
        n: u32,
    ) -> Result<Prefixes<'ctx>, EmitError> {
        let items = vector(items)?;
        let apply = |a: VectorValue<'ctx>, b: VectorValue<'ctx>| {
            vector(self.e.op(op, &[ty, ty], &[a.into(), b.into()])?)
        };
        let zeros = vector(self.e.constant(zero, Some(n)))?;
        let mut scanned = Vec::new();
        for part in 0..items.get_type().get_size() / n {
            let mut x = self.shuffle(items, items, part * n..(part + 1) * n)?;
            let mut step = 1;
            while step < n {
                let shifted = self.shuffle(zeros, x, n - step..2 * n - step)?;
                x = apply(shifted, x)?;
                step *= 2;
            }
            scanned.push(x);
        }
        let mut totals = Vec::new();
        for x in &scanned {
            totals.push(self.shuffle(*x, *x, std::iter::repeat_n(n - 1, n as usize))?);
        }
        // What comes before each part does not wait for the carry; so there is one step from carry to carry.
        let carry = vector(carry)?;
        let mut sum: Option<VectorValue<'ctx>> = None;
        let (mut before, mut last) = (Vec::new(), carry);
        let mut inclusive = Vec::new();
        for (x, total) in scanned.into_iter().zip(totals) {
            let x = match sum {
                Some(s) => apply(s, x)?,
                None => x,
            };
            let prefix = apply(carry, x)?;
            before.push(self.shuffle(last, prefix, n - 1..2 * n - 1)?);
            inclusive.push(prefix);
            last = prefix;
            sum = Some(match sum {
                Some(s) => apply(s, total)?,
                None => total,
            });
        }
        let carry = match sum {
            Some(s) => apply(carry, s)?,
            None => carry,
        };
        Ok(Prefixes {
            exclusive: self.joined(before)?.into(),
            inclusive: self.joined(inclusive)?.into(),
            carry: carry.into(),
        })
    }

    /// Vectors of one type one after the other; a power of two of them.
    pub fn joined(&self, mut parts: Vec<VectorValue<'ctx>>) -> Result<VectorValue<'ctx>, EmitError> {
        while parts.len() > 1 {
            parts = parts
                .chunks(2)
                .map(|c| match c {
                    [a, b] => self.shuffle(*a, *b, 0..2 * a.get_type().get_size()),
                    rest => rest.first().copied().ok_or(EmitError::WrongValue("joined")),
                })
                .collect::<Result<_, _>>()?;
        }
        parts.pop().ok_or(EmitError::WrongValue("joined"))
    }

    /// Lanes of two vectors, by their numbers.
    pub fn shuffle(
        &self,
        a: VectorValue<'ctx>,
        b: VectorValue<'ctx>,
        lanes: impl IntoIterator<Item = u32>,
    ) -> Result<VectorValue<'ctx>, EmitError> {
        let mask: Vec<_> = lanes.into_iter().map(|k| self.i32(k)).collect();
        Ok(self.e.builder.build_shuffle_vector(a, b, VectorType::const_vector(&mask), "")?)
    }
}

/// Of the lanes of a vector what is before each, what is up to each, and what is up to the last, in all lanes.
struct Prefixes<'ctx> {
    exclusive: Value<'ctx>,
    inclusive: Value<'ctx>,
    carry: Value<'ctx>,
}

pub(super) fn vector(v: Value<'_>) -> Result<VectorValue<'_>, EmitError> {
    match v {
        BasicValueEnum::VectorValue(v) => Ok(v),
        _ => Err(EmitError::WrongValue("a vector")),
    }
}
