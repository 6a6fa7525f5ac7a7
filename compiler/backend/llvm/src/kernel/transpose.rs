//! Transposed accesses.
//!
//! In a jammed loop around one in lanes an access may be contiguous in the jammed iterations and strided in
//! the lanes: `(load %a %j %i)` of jammed `%i` and `%j` in lanes. The iterations' vectors are then the
//! columns of a block of memory. It is read by rows, one load for each lane instead of one for each lane
//! and iteration, and transposed in registers; a store is the same backwards.
//!
//! ```text
//! a0 a1 a2 a3    of distance 2    a0 a1 c0 c1    of distance 1    a0 b0 c0 d0
//! b0 b1 b2 b3                     b0 b1 d0 d1                     a1 b1 c1 d1
//! c0 c1 c2 c3                     a2 a3 c2 c3                     a2 b2 c2 d2
//! d0 d1 d2 d3                     b2 b3 d2 d3                     a3 b3 c3 d3
//! ```
//!
//! A step exchanges, between rows of that distance, the lanes that have the bit of the distance in one of
//! them alone (Eklundh, "A fast computer method for matrix transposing", 1972).

use super::Fun;
use super::pieces::{Piece, Pieces, piece};
use super::scan::vector;
use crate::error::EmitError;
use inkwell::values::VectorValue;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_kernel::ir::{Atom, Exp, Var};

/// The most lanes, or iterations, of a block: rows are kept in registers.
const MOST_ROWS: u32 = 16;

impl<'ctx> Fun<'_, 'ctx> {
    /// Keeps in mind the variables that grow by one from jammed iteration to iteration.
    pub fn note_linear(&mut self, var: Var, exp: &Exp) {
        if self.jam == 1 {
            return;
        }
        let linear = |a: &Atom| a.as_var().is_some_and(|v| self.jam_linear.contains(&v));
        let fixed = |a: &Atom| a.as_var().is_none_or(|v| !self.jam_varying.contains(&v));
        let yes = match exp {
            Exp::Atom(a) => linear(a),
            Exp::Op(ScalarOp::Add, args) => match args.as_slice() {
                [a, b] => linear(a) && fixed(b) || fixed(a) && linear(b),
                _ => false,
            },
            Exp::Op(ScalarOp::Sub, args) => matches!(args.as_slice(), [a, b] if linear(a) && fixed(b)),
            _ => false,
        };
        if yes {
            self.jam_linear.insert(var);
        }
    }

    /// The side of the blocks in which an access at these indices can be transposed.
    pub fn transposable(&self, ty: BaseTy, at: &[Atom], pieces: &[Pieces<'ctx>]) -> Option<u32> {
        let (w, k) = (self.lanes?, u32::try_from(self.jam).ok()?);
        let (last, rows) = pieces.split_last()?;
        let Some(Atom::Var(v)) = at.last() else { return None };
        let contiguous = self.jam_linear.contains(v)
            && last.len() == self.jam
            && last.iter().all(|p| matches!(p, Piece::Uniform(_)));
        let strided = |p: &Pieces<'ctx>| matches!(p.as_slice(), [Piece::Linear { .. }]);
        let shared = |p: &Pieces<'ctx>| matches!(p.as_slice(), [Piece::Uniform(_)]);
        let fits = k > 1
            && k.is_power_of_two()
            && w.is_power_of_two()
            && ty != BaseTy::Bool
            && contiguous
            && rows.iter().all(|p| strided(p) || shared(p))
            && rows.iter().any(strided);
        fits.then_some(k.min(w).min(MOST_ROWS))
    }

    /// The columns of blocks: a vector for each jammed iteration.
    pub fn load_transposed(
        &self,
        buffer: Var,
        at: &[Pieces<'ctx>],
        side: u32,
    ) -> Result<Pieces<'ctx>, EmitError> {
        let (ty, base) = self.buffer(buffer)?;
        let mut columns = Vec::new();
        for first in (0..self.jam).step_by(side as usize) {
            let offset = self.offset(&ty, at, first)?;
            let mut groups = Vec::new();
            for group in (0..self.lanes.unwrap_or(1)).step_by(side as usize) {
                let rows = (group..group + side)
                    .map(|lane| {
                        let i = self.offset_of_lane(&offset, lane)?;
                        vector(self.read(buffer, ty.base, base, i, Some(side))?)
                    })
                    .collect::<Result<Vec<_>, EmitError>>()?;
                groups.push(self.transposed(rows)?);
            }
            for c in 0..side as usize {
                let parts = groups.iter().map(|g| g[c]).collect();
                columns.push(Piece::Vector(self.joined(parts)?.into()));
            }
        }
        Ok(columns.into())
    }

    pub fn store_transposed(
        &self,
        buffer: Var,
        at: &[Pieces<'ctx>],
        value: &Pieces<'ctx>,
        side: u32,
    ) -> Result<(), EmitError> {
        let (ty, base) = self.buffer(buffer)?;
        for first in (0..self.jam).step_by(side as usize) {
            let offset = self.offset(&ty, at, first)?;
            for group in (0..self.lanes.unwrap_or(1)).step_by(side as usize) {
                let columns = (first..first + side as usize)
                    .map(|t| {
                        let all = vector(self.vector(piece(value, t)?)?)?;
                        self.shuffle(all, all, group..group + side)
                    })
                    .collect::<Result<Vec<_>, EmitError>>()?;
                for (r, row) in (0..).zip(self.transposed(columns)?) {
                    let i = self.offset_of_lane(&offset, group + r)?;
                    self.write(buffer, ty.base, base, i, row.into())?;
                }
            }
        }
        Ok(())
    }

    /// As many rows as each has lanes, a power of two, transposed.
    fn transposed(&self, mut rows: Vec<VectorValue<'ctx>>) -> Result<Vec<VectorValue<'ctx>>, EmitError> {
        let n = rows.len() as u32;
        let mut d = n / 2;
        while d > 0 {
            for r in (0..n).filter(|r| r & d == 0) {
                let (a, b) = (rows[r as usize], rows[(r + d) as usize]);
                let low = (0..n).map(|c| if c & d == 0 { c } else { n + c - d });
                let high = (0..n).map(|c| if c & d == 0 { c + d } else { n + c });
                rows[r as usize] = self.shuffle(a, b, low)?;
                rows[(r + d) as usize] = self.shuffle(a, b, high)?;
            }
            d /= 2;
        }
        Ok(rows)
    }
}
