//! What blocks hand on to one another.
//!
//! ```text
//! if b = 0 then before = init
//! else remc_await(error, block, &state[… b - 1]); before = kept[… b - 1]
//! kept[… b] = next(before, item); remc_pass(&state[… b])
//! ```
//!
//! The runtime waits and tells, so that a thread which has no processor is waited for as well as one that
//! is slow, and so that nobody waits for a block that will never come because a check has failed.

use super::pieces::uniform;
use super::{Fun, Side};
use crate::abi;
use crate::error::EmitError;
use crate::values::Value;
use inkwell::IntPredicate;
use inkwell::values::{IntValue, PointerValue};
use remc_base::BaseTy;
use remc_kernel::ir::{Atom, Link, Stmt, Var};

impl<'ctx> Fun<'_, 'ctx> {
    pub fn chain(
        &mut self,
        state: Var,
        at: &[Atom],
        links: &[Link],
        body: &[Stmt],
        next: &[Atom],
    ) -> Result<(), EmitError> {
        let (Side::Kernel { error, block }, Some((last, outer))) = (self.side, at.split_last()) else {
            return Err(EmitError::Program("a chain without a grid".into()));
        };
        let mut here: Vec<IntValue<'ctx>> = outer.iter().map(|a| self.size(*a)).collect::<Result<_, _>>()?;
        let mut previous = here.clone();
        let b = self.size(*last)?;
        here.push(b);
        previous.push(self.e.builder.build_int_sub(b, self.i64(1), "")?);
        let inits = links.iter().map(|l| self.scalar(l.init)).collect::<Result<Vec<_>, _>>()?;
        let (start, wait, read, join) = (self.here()?, self.append(), self.append(), self.append());
        let first = self.e.icmp(IntPredicate::EQ, b.into(), self.i64(0).into())?;
        self.branch(first, join, wait)?;

        self.position(wait);
        let (_, flag) = self.place(state, &previous)?;
        let i32t = self.e.context.i32_type();
        let stopped = self.call_for(abi::AWAIT, i32t.into(), &[error, block, flag.into()])?;
        let stopped = self.e.icmp(IntPredicate::NE, stopped, self.e.int_like(stopped, 0)?)?;
        let give_up = self.append();
        self.branch(stopped, give_up, read)?;
        self.position(give_up);
        self.e.builder.build_return(None)?;

        self.position(read);
        let mut given = Vec::new();
        for l in links {
            let (ty, from) = self.place(l.kept, &previous)?;
            given.push(self.e.load(ty, None, from)?);
        }
        self.jump(join)?;

        self.position(join);
        for ((l, init), given) in links.iter().zip(&inits).zip(&given) {
            let phi = self.e.builder.build_phi(init.get_type(), "")?;
            phi.add_incoming(&[(init, start), (given, read)]);
            self.bind(l.before, phi.as_basic_value());
        }
        for l in links {
            let item: Value<'ctx> = self.scalar(l.item)?;
            self.env.insert(l.x, uniform(item));
        }
        self.block(body)?;
        let next = next.iter().map(|a| self.scalar(*a)).collect::<Result<Vec<_>, _>>()?;
        for (l, value) in links.iter().zip(next) {
            let (ty, to) = self.place(l.kept, &here)?;
            self.e.store(ty, value, to)?;
        }
        let (_, flag) = self.place(state, &here)?;
        self.call(abi::PASS, &[flag.into()])
    }

    /// The address of an element.
    fn place(&self, buffer: Var, at: &[IntValue<'ctx>]) -> Result<(BaseTy, PointerValue<'ctx>), EmitError> {
        let (ty, base) = self.buffer(buffer)?;
        let mut index = self.i64(0);
        for (i, d) in at.iter().zip(&ty.dims) {
            let row = self.e.builder.build_int_mul(index, self.size(*d)?, "")?;
            index = self.e.builder.build_int_add(row, *i, "")?;
        }
        Ok((ty.base, self.e.element(ty.base, base, index)?))
    }
}
