//! Loops along an axis that was two: `(ravel m)` of a matrix that is never made has elements that ask for their row and
//! their column, by a division each.
//!
//! ```text
//! (for %p (upto 0 %n) (%acc)                     (for %i (upto 0 %rows) (%acc)
//!   (let %i (op quotient %p %m))           ⟶      (for %j (upto 0 %m) (%acc)
//!   (let %j (op % %p %m))                             …))
//!   …)
//! ```
//!
//! Where nothing but these two asks for the place, two loops know both without a division, in the same order. The inner
//! one may run in lanes. Reductions go so, and filters, which keep items behind those of the rows before. A range that
//! begins or ends inside a row has a shorter first or last row.
//!
//! A program may also divide by a number that is no size. Where that is not positive, each place is a row of its own, and
//! its row and column are computed as the program says.

use super::build::Emit;
use super::leaf::Leaf;
use super::{L, wrong};
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;

/// A body along an axis that was two.
pub(crate) struct Nested {
    /// The indices of the outer and of the inner axis, as far as they are asked for.
    pub outer: Option<mono::Var>,
    pub inner: Option<mono::Var>,
    /// The size of the inner axis.
    pub size: mono::Atom,
    /// What is left of the body.
    pub rest: mono::Body,
}

impl Nested {
    /// What a body is, if it asks where it is on its axis by quotient and remainder alone, of one size that is the same
    /// all along.
    pub fn of(body: &mono::Body, index: mono::Var) -> Option<Nested> {
        let (mut outer, mut inner, mut size) = (None, None, None);
        let mut rest = Vec::new();
        for s in &body.stmts {
            let part = match (&s.exp, s.pat.as_slice()) {
                (mono::Exp::Op(ScalarOp::Quotient, args), [v]) => Some((args, *v, &mut outer)),
                (mono::Exp::Op(ScalarOp::Modulo, args), [v]) => Some((args, *v, &mut inner)),
                _ => None,
            };
            match part {
                Some((args, v, to)) if args[0] == mono::Atom::Var(index) && to.is_none() => {
                    if *size.get_or_insert(args[1]) != args[1] {
                        return None;
                    }
                    *to = Some(v);
                }
                _ => rest.push(s.clone()),
            }
        }
        let size = size.filter(|n| n.as_int().is_none_or(|n| n > 0))?;
        let made_here = size.as_var().is_some_and(|v| body.stmts.iter().any(|s| s.pat.contains(&v)));
        let rest = mono::Body { stmts: rest, results: body.results.clone() };
        let mut elsewhere = size == mono::Atom::Var(index);
        rest.for_each_use(&mut |a| elsewhere |= a == mono::Atom::Var(index));
        (!made_here && !elsewhere).then_some(Nested { outer, inner, size, rest })
    }

    /// The number of a row as the body computed it, of which sizes may be made.
    pub fn number(&self, index: mono::Var) -> mono::Exp {
        mono::Exp::Op(ScalarOp::Quotient, vec![mono::Atom::Var(index), self.size])
    }
}

/// The rows that a range is taken apart into.
pub(crate) struct Rows {
    /// What is divided by, and how many places a row has: as many, if that is positive.
    by: Atom,
    size: Atom,
    positive: Atom,
    from: Atom,
    to: Atom,
}

/// One of them.
pub(crate) struct InRow {
    /// The quotient of its places.
    pub outer: Atom,
    /// Their remainders.
    pub inner: Range,
}

impl Leaf<'_> {
    /// The rows of a range along an axis that was two, and their numbers.
    pub fn rows_of(&mut self, nested: &Nested, range: Range) -> L<Option<(Rows, Range)>> {
        let (from, to) = match range {
            Range::Upto { from, to } => (from, to),
            Range::Tile { index, size, limit } => {
                let from = self.int(ScalarOp::Mul, index, size)?;
                let end = self.int(ScalarOp::Add, from, size)?;
                (from, self.int(ScalarOp::Min2, end, limit)?)
            }
            Range::Share { .. } => return Ok(None),
        };
        let by = self.atom(nested.size)?;
        let positive = self.int(ScalarOp::Gt, by, Atom::int(0))?;
        let size = match positive {
            Atom::Const(_) => by,
            positive => self.op(ScalarOp::Select, &[positive, by, Atom::int(1)])?,
        };
        let first = self.int(ScalarOp::Quotient, from, size)?;
        let end = self.tiles(to, size)?;
        Ok(Some((Rows { by, size, positive, from, to }, Range::Upto { from: first, to: end })))
    }

    /// What of a row is in the range.
    pub fn row_of(&mut self, rows: &Rows, row: Atom) -> L<InRow> {
        let start = self.int(ScalarOp::Mul, row, rows.size)?;
        let from = match rows.from.as_int() {
            Some(0) => Atom::int(0),
            _ => {
                let from = self.int(ScalarOp::Sub, rows.from, start)?;
                self.int(ScalarOp::Max2, from, Atom::int(0))?
            }
        };
        let left = self.int(ScalarOp::Sub, rows.to, start)?;
        let to = self.int(ScalarOp::Min2, left, rows.size)?;
        if let Atom::Const(_) = rows.positive {
            return Ok(InRow { outer: row, inner: Range::Upto { from, to } });
        }
        let of_place = self.choose(
            rows.positive,
            |_| Ok(vec![row, Atom::int(0)]),
            |l| {
                let outer = l.int(ScalarOp::Quotient, row, rows.by)?;
                Ok(vec![outer, l.int(ScalarOp::Modulo, row, rows.by)?])
            },
        )?;
        let [outer, inner] = of_place[..] else { return wrong("a row and a column") };
        let [from, to] = [from, to].map(|k| self.int(ScalarOp::Add, k, inner));
        Ok(InRow { outer, inner: Range::Upto { from: from?, to: to? } })
    }
}
