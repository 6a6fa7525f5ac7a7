//! Vectors that are uniform in the conditions of a body ([`remc_kernel::uniformity`]), and the others.
//!
//! ```text
//! for (lanes 16) i { j = select (i + 1 ≥ n) (i + 1 - n) (i + 1);  ys[i] = xs[j] }
//!
//! for i by 16: if 16 ≤ how many of i + 1 ≥ n say the same
//!              then: one condition, j … j + 15, a load of consecutive elements
//!              else: the same with a condition for each lane, and a gather; or, where there are branches, lane by lane;
//!                    of a reduction or a scan, each branch for the lanes that take it
//! ```

use super::Fun;
use super::counted::{Loop, Values};
use super::pieces::{Piece, Pieces, piece};
use super::stmt::{close, values_of};
use crate::error::EmitError;
use crate::values::Value;
use inkwell::IntPredicate;
use inkwell::values::IntValue;
use remc_base::ops::ScalarOp;
use remc_kernel::ir::{Atom, Exp, Stmt, StmtKind, Var};
use remc_kernel::predicate::can_predicate;
use remc_kernel::uniformity::{Uniformity, uniformity};
use rustc_hash::FxHashSet;

impl<'a, 'ctx> Fun<'a, 'ctx> {
    /// What is to be asked of the lanes of a loop. Jammed iterations may each have another answer: nothing of them.
    /// Lanes that disagree on a branch run one by one, which accumulators in lanes cannot; those take both branches, if
    /// these can be masked.
    pub fn uniformity_of(&self, l: &Loop<'_, 'ctx>) -> Uniformity {
        if self.jam > 1 {
            return Uniformity::default();
        }
        let mut found = uniformity(self.p, l.var, l.carried, l.body);
        if found.is_late || !l.carried.is_empty() && !can_mask(l.body, &found.branches) {
            found.branches.clear();
        }
        found
    }

    /// What `emit` makes of a vector of `w` lanes from number `i` on, and what is done instead where they do not agree.
    pub fn where_uniform(
        &mut self,
        l: &Loop<'_, 'ctx>,
        uniformity: &Uniformity,
        (i, w): (IntValue<'ctx>, u32),
        emit: &mut dyn FnMut(&mut Self) -> Result<Values<'ctx>, EmitError>,
    ) -> Result<Values<'ctx>, EmitError> {
        let vector = Pieces::from_elem(Piece::Linear { base: i.into(), stride: 1 }, 1);
        if uniformity.is_empty() {
            self.env.insert(l.var, vector);
            return emit(self);
        }
        let (run, held) = self.run(l.var, uniformity, i)?;
        let enough = self.e.icmp(IntPredicate::SGE, run.into(), self.i64(i64::from(w)).into())?;
        let all = self.e.and(enough, held)?;
        let (yes, no, join) = (self.append(), self.append(), self.append());
        self.branch(all, yes, no)?;
        self.position(yes);
        let together = self.together(l.var, uniformity, i, emit)?;
        let end = self.here()?;
        self.jump(join)?;
        self.position(no);
        let apart = if uniformity.branches.is_empty() || !l.carried.is_empty() {
            self.env.insert(l.var, vector);
            emit(self)?
        } else {
            let to = self.e.builder.build_int_nsw_add(i, self.i64(i64::from(w)), "")?;
            let lanes = self.lanes.take();
            self.serial(&Loop { from: i, to, ..*l }, Values::new())?;
            self.lanes = lanes;
            Values::new()
        };
        let other_end = self.here()?;
        self.jump(join)?;
        self.position(join);
        let phis = self.phis(&together, end)?;
        close(&phis, &apart, other_end)?;
        Ok(values_of(&phis))
    }

    /// What `emit` makes of a vector from number `i` on, of lanes that agree.
    pub fn together<T>(
        &mut self,
        var: Var,
        uniformity: &Uniformity,
        i: IntValue<'ctx>,
        emit: &mut dyn FnMut(&mut Self) -> Result<T, EmitError>,
    ) -> Result<T, EmitError> {
        self.env.insert(var, Pieces::from_elem(Piece::Linear { base: i.into(), stride: 1 }, 1));
        let before = std::mem::replace(&mut self.uniformity, uniformity.clone());
        let made = emit(self);
        self.uniformity = before;
        made
    }

    /// From iteration `i` on, how many say the same in all that lanes have to agree on; and whether their indices are the
    /// operands that grow.
    pub fn run(
        &mut self,
        var: Var,
        uniformity: &Uniformity,
        i: IntValue<'ctx>,
    ) -> Result<(IntValue<'ctx>, Value<'ctx>), EmitError> {
        use ScalarOp::{Ge, Gt, Le, Lt, Max2, Min2};
        let lanes = self.lanes.take();
        self.bind(var, i.into());
        self.block(&uniformity.slice)?;
        let most: Value<'ctx> = self.i64(i64::MAX).into();
        let mut run = most;
        let mut held: Value<'ctx> = self.e.context.bool_type().const_all_ones().into();
        for s in &uniformity.slice {
            let StmtKind::Let { var, exp: Exp::Op(op, args) } = &s.kind else { continue };
            let clamp = uniformity.clamps.get(var);
            let Some(grows) = clamp.or(uniformity.grows.get(var)) else { continue };
            let [a, b] = args.as_slice() else { continue };
            let other = if a == grows { b } else { a };
            let (x, y) = (self.scalar(*grows)?, self.scalar(*other)?);
            // What is said changes where it reaches the other operand, or passes it; and where it starts again from the least.
            let passes = match op {
                Min2 => true,
                Max2 => false,
                Gt | Le => a == grows,
                Ge | Lt => a != grows,
                _ => continue,
            };
            let before = if passes { IntPredicate::SLE } else { IntPredicate::SLT };
            let is_before = self.e.icmp(before, x, y)?;
            let left = self.e.intrinsic("llvm.ssub.sat", &[], &[y, x])?;
            let one: Value<'ctx> = self.i64(i64::from(passes)).into();
            let to_other = self.e.intrinsic("llvm.sadd.sat", &[], &[left, one])?;
            let left = self.e.intrinsic("llvm.ssub.sat", &[], &[most, x])?;
            let to_least = self.e.intrinsic("llvm.sadd.sat", &[], &[left, self.i64(1).into()])?;
            let same = self.e.select(is_before, to_other, to_least)?;
            run = self.e.intrinsic("llvm.smin", &[], &[run, same])?;
            if clamp.is_some() {
                let is = if passes { is_before } else { self.e.icmp(IntPredicate::SGE, x, y)? };
                held = self.e.and(held, is)?;
            }
        }
        self.lanes = lanes;
        Ok((super::int(run)?, held))
    }

    /// What an operator gives in a vector whose lanes agree, if that is known without the others.
    pub fn uniform_value(
        &self,
        var: Var,
        op: ScalarOp,
        args: &[Atom],
    ) -> Result<Option<Pieces<'ctx>>, EmitError> {
        if let Some(operand) = self.uniformity.clamps.get(&var) {
            return self.atom(*operand).map(Some);
        }
        if !self.uniformity.conds.contains(&var) {
            return Ok(None);
        }
        let tys = args.iter().map(|a| self.ty(*a)).collect::<Result<Vec<_>, _>>()?;
        let first = |a: &Atom| match piece(&self.atom(*a)?, 0)? {
            Piece::Uniform(v) | Piece::Linear { base: v, .. } => Ok(v),
            Piece::Vector(_) => Err(EmitError::WrongValue("lanes that agree")),
        };
        let args = args.iter().map(first).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(super::pieces::uniform(self.e.op(op, &tys, &args)?)))
    }
}

/// Whether all branches of a block on these conditions can run under masks.
fn can_mask(block: &[Stmt], conds: &FxHashSet<Var>) -> bool {
    block.iter().all(|s| {
        let own = match &s.kind {
            StmtKind::If { cond: Atom::Var(c), then, otherwise, .. } if conds.contains(c) => {
                can_predicate(then) && can_predicate(otherwise)
            }
            _ => true,
        };
        own && s.kind.blocks().into_iter().all(|b| can_mask(b, conds))
    })
}
