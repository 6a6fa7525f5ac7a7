//! Lanes that take different branches.
//!
//! ```text
//! (if %c (then (let %x (load %xs %i)) …) (else …))
//!
//! mask = c;      if any lane is on: the one branch, in which lanes that are off load nothing and stop at no check
//! mask = not c;  if any lane is on: the other
//! results: of each lane those of its own branch
//! ```
//!
//! A vector takes the time of both branches where its lanes differ, which is less than that of one lane after the other,
//! and of one where they do not. [`remc_kernel::predicate`] says what may stand in such a branch.

use super::Fun;
use super::pieces::{Piece, Pieces};
use super::tail::{Mask, Which};
use crate::error::EmitError;
use crate::values::Value;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_kernel::ir::{Atom, Choice, Stmt};

impl<'ctx> Fun<'_, 'ctx> {
    /// A branch for the lanes in which `cond` holds, and another one for the others.
    pub fn predicated(
        &mut self,
        cond: Value<'ctx>,
        [then, otherwise]: [&[Stmt]; 2],
        results: &[Choice],
    ) -> Result<(), EmitError> {
        let around = self.mask;
        let yes = match around {
            Some(mask) => self.e.and(mask.lanes, cond)?,
            None => cond,
        };
        let off = self.e.op(ScalarOp::Not, &[BaseTy::Bool], &[cond])?;
        let no = match around {
            Some(mask) => self.e.and(mask.lanes, off)?,
            None => off,
        };
        let atoms = |of: fn(&Choice) -> Atom| results.iter().map(of).collect::<Vec<_>>();
        let a = self.side(yes, then, &atoms(|c| c.then))?;
        let b = self.side(no, otherwise, &atoms(|c| c.otherwise))?;
        for (c, (a, b)) in results.iter().zip(a.into_iter().zip(b)) {
            let v = self.e.select(cond, a, b)?;
            self.env.insert(c.var, Pieces::from_elem(Piece::Vector(v), 1));
        }
        Ok(())
    }

    /// One of the branches, if a lane takes it; vectors of what it gives.
    fn side(
        &mut self,
        on: Value<'ctx>,
        block: &[Stmt],
        gives: &[Atom],
    ) -> Result<Vec<Value<'ctx>>, EmitError> {
        let vectors = |f: &Self| -> Result<Vec<Value<'ctx>>, EmitError> {
            gives.iter().map(|a| Ok(f.shaped(&f.atom(*a)?, 1, true)?[0])).collect()
        };
        if block.is_empty() {
            return vectors(self);
        }
        let any = self.e.intrinsic("llvm.vector.reduce.or", &[], &[on])?;
        let (before, run, join) = (self.here()?, self.append(), self.append());
        self.branch(any, run, join)?;
        self.position(run);
        let around = self.mask.replace(Mask { lanes: on, which: Which::Any });
        let done = self.block(block);
        self.mask = around;
        done?;
        let made = vectors(self)?;
        let end = self.here()?;
        self.jump(join)?;
        self.position(join);
        made.into_iter()
            .map(|v| {
                let phi = self.e.builder.build_phi(v.get_type(), "")?;
                phi.add_incoming(&[(&v, end), (&v.get_type().const_zero(), before)]);
                Ok(phi.as_basic_value())
            })
            .collect()
    }
}
