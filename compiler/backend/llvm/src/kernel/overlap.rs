//! The last vector of a loop in lanes, and those at the edges of arrays, take some iterations once more.
//!
//! ```text
//! for (lanes 8) i in 0..19 { ys[i] = f xs[i] }     i = 0 … 7, 8 … 15, 11 … 18           none is left over
//!
//! for (lanes 8) i in 0..19 {                       i = 0 by itself: its left neighbour is at the other end
//!     j = select (i < 1) (i + 18) (i - 1)          i = 1 … 8, 9 … 16, 11 … 18
//!     ys[i] = xs[j] + xs[i] }
//! ```
//!
//! Iterations that write what depends on nothing that the loop writes may run twice. So a vector ends where the range does,
//! and nothing is left over. Where lanes have to agree on comparisons ([`super::uniformity`]), the range is split at the places
//! where one of these changes (index set splitting): each part whose indices grow by one, and that fills a vector, is vectors
//! of which nobody has to be asked; the others, at the edges of arrays, run one by one. A range that is shorter than a vector
//! has the narrower loops ([`super::loops`]).

use super::Fun;
use super::counted::{Loop, Values};
use super::stmt::close;
use crate::error::EmitError;
use inkwell::IntPredicate;
use inkwell::values::IntValue;
use remc_kernel::ir::{Exp, Stmt, StmtKind, Var};
use remc_kernel::uniformity::Uniformity;
use rustc_hash::FxHashSet;

/// What a block reads, and what it writes, of memory that was there before it.
#[derive(Default)]
struct Touched {
    made: FxHashSet<Var>,
    read: FxHashSet<Var>,
    written: FxHashSet<Var>,
    /// Whether it does something else with memory.
    other: bool,
}

impl Touched {
    fn block(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            match &s.kind {
                StmtKind::Let { exp: Exp::Load { buffer, .. }, .. } => {
                    self.read.insert(*buffer);
                }
                StmtKind::Store { buffer, .. } => {
                    self.written.insert(*buffer);
                }
                StmtKind::Alloc { buffer } => {
                    self.made.insert(*buffer);
                }
                StmtKind::Let { .. }
                | StmtKind::Check { .. }
                | StmtKind::If { .. }
                | StmtKind::For { .. }
                | StmtKind::While { .. } => {}
                _ => self.other = true,
            }
            s.kind.blocks().into_iter().for_each(|b| self.block(b));
        }
    }
}

impl<'ctx> Fun<'_, 'ctx> {
    /// Whether iterations of a loop may run twice.
    pub fn can_overlap(&self, l: &Loop<'_, 'ctx>) -> bool {
        let mut t = Touched::default();
        t.block(l.body);
        let apart = t.written.iter().all(|v| t.made.contains(v) || !t.read.contains(v));
        l.carried.is_empty() && !l.ragged && !t.other && apart
    }

    /// A loop that may run some iterations twice, in the first of these lanes that its range fills, or one by one.
    pub fn lanes_that_overlap(&mut self, widths: &[u32], l: &Loop<'_, 'ctx>) -> Result<(), EmitError> {
        let [w, fewer @ ..] = widths else { return self.serial(l, Values::new()) };
        let n = self.count((l.from, l.to))?;
        let enough = self.e.icmp(IntPredicate::SGE, n.into(), self.i64(i64::from(*w)).into())?;
        let (yes, no, join) = (self.append(), self.append(), self.append());
        self.branch(enough, yes, no)?;
        self.position(yes);
        let uniformity = self.uniformity_of(l);
        self.overlapping(*w, l, &uniformity)?;
        self.jump(join)?;
        self.position(no);
        self.lanes_that_overlap(fewer, l)?;
        self.jump(join)?;
        self.position(join);
        Ok(())
    }

    /// A loop of so many lanes over a range of at least as many iterations.
    fn overlapping(&mut self, w: u32, l: &Loop<'_, 'ctx>, uniformity: &Uniformity) -> Result<(), EmitError> {
        if uniformity.is_empty() {
            return self.vectors(w, l, uniformity);
        }
        let (before, head, inside) = (self.here()?, self.append(), self.append());
        let (together, alone, latch, after) = (self.append(), self.append(), self.append(), self.append());
        self.jump(head)?;
        self.position(head);
        let index = self.phis(&[vec![l.from.into()]], before)?;
        let from = super::int(index[0][0].as_basic_value())?;
        let more = self.e.icmp(IntPredicate::SLT, from.into(), l.to.into())?;
        self.branch(more, inside, after)?;
        self.position(inside);
        let (run, held) = self.run(l.var, uniformity, from)?;
        let left = self.e.builder.build_int_nsw_sub(l.to, from, "")?;
        let n = self.least(left, run)?;
        let to = self.e.builder.build_int_nsw_add(from, n, "")?;
        let enough = self.e.icmp(IntPredicate::SGE, n.into(), self.i64(i64::from(w)).into())?;
        self.branch(self.e.and(enough, held)?, together, alone)?;
        let run = Loop { from, to, ..*l };
        self.position(together);
        self.vectors(w, &run, uniformity)?;
        self.jump(latch)?;
        self.position(alone);
        self.serial(&run, Values::new())?;
        self.jump(latch)?;
        self.position(latch);
        close(&index, &[vec![to.into()]], latch)?;
        self.jump(head)?;
        self.position(after);
        Ok(())
    }

    /// Vectors of lanes that agree, of which the last ends where the range does.
    fn vectors(&mut self, w: u32, l: &Loop<'_, 'ctx>, uniformity: &Uniformity) -> Result<(), EmitError> {
        let last = self.e.builder.build_int_nsw_sub(l.to, self.i64(i64::from(w)), "")?;
        self.counted(l.from, l.to, w, Values::new(), &mut |f, i, _| {
            let start = f.least(i, last)?;
            f.lanes = Some(w);
            f.together(l.var, uniformity, start, &mut |f| f.block(l.body))?;
            f.lanes = None;
            Ok(Values::new())
        })?;
        Ok(())
    }

    fn least(&self, a: IntValue<'ctx>, b: IntValue<'ctx>) -> Result<IntValue<'ctx>, EmitError> {
        super::int(self.e.intrinsic("llvm.smin", &[], &[a.into(), b.into()])?)
    }
}
