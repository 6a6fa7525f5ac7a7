//! Software prefetching: memory that is asked for before it is needed.
//!
//! Processors that see one load after the other go up in memory fetch what comes next. Some do not watch masked loads
//! (AMD's Zen 3 among them), and short rows are loaded by nothing else; and all start anew where short rows and long ones
//! take turns. But rows mostly follow one another, so each asks for what the next ones load: so far ahead that it has
//! come when it is their turn.
//!
//! Rows that are picked by an index from memory come in any order, and what is behind them is mostly not what comes next.
//!
//! ```text
//! (let %s (load %starts %i))                                           follows: row i + 1 is likely to be next to it
//! (let %p (load %perm %i)) (let %s (load %starts %p))                  does not
//! ```

use super::Fun;
use crate::error::EmitError;
use inkwell::intrinsics::Intrinsic;
use inkwell::values::{IntValue, PointerValue};
use remc_base::BaseTy;
use remc_kernel::ir::{Atom, Exp, Var};
use remc_kernel::schedule::Field;
use rustc_hash::FxHashSet;

/// What comes from memory at once, in bytes.
pub(super) const LINE: u32 = 64;

/// Which scalars come from memory, and which of them from where a loaded one says.
#[derive(Default)]
pub(super) struct Origins {
    loaded: FxHashSet<Var>,
    picked: FxHashSet<Var>,
}

impl Origins {
    /// Notes where the value of a variable comes from.
    pub fn note(&mut self, var: Var, exp: &Exp) {
        let among = |set: &FxHashSet<Var>, all: &[Atom]| {
            all.iter().any(|a| a.as_var().is_some_and(|v| set.contains(&v)))
        };
        let (loaded, picked) = match exp {
            Exp::Load { at, .. } => (true, among(&self.loaded, at)),
            Exp::Op(_, args) => (among(&self.loaded, args), among(&self.picked, args)),
            _ => (false, false),
        };
        if loaded {
            self.loaded.insert(var);
        }
        if picked {
            self.picked.insert(var);
        }
    }

    /// Whether what is loaded at these indices is likely to follow what was loaded before it.
    pub fn follows(&self, at: &[Atom]) -> bool {
        !at.iter().any(|a| a.as_var().is_some_and(|v| self.picked.contains(&v)))
    }
}

impl<'ctx> Fun<'_, 'ctx> {
    /// Prefetches what comes after the elements of all lanes from `i` on.
    pub fn prefetch(&self, ty: BaseTy, base: PointerValue<'ctx>, i: IntValue<'ctx>) -> Result<(), EmitError> {
        let bits = ty.bits().max(8);
        // Each line is asked for once; of a masked vector, which is mostly shorter, the first one.
        let lanes = if self.mask.is_some() { 1 } else { self.lanes.unwrap_or(1) };
        for k in (0..lanes).step_by((LINE * 8 / bits) as usize) {
            let at = self.e.builder.build_int_nsw_add(i, self.i64(k.into()), "")?;
            self.prefetch_line(self.e.element(ty, base, at)?)?;
        }
        Ok(())
    }

    /// Prefetches the line `ahead` of an address (the schedule's field), be it there or not.
    fn prefetch_line(&self, at: PointerValue<'ctx>) -> Result<(), EmitError> {
        let name = "llvm.prefetch";
        let f = Intrinsic::find(name)
            .and_then(|i| i.get_declaration(self.e.module, &[at.get_type().into()]))
            .ok_or(EmitError::NoIntrinsic(name))?;
        let there = self.e.builder.build_ptr_to_int(at, self.i64(0).get_type(), "")?;
        let there = self.e.builder.build_int_add(there, self.i64(self.schedule[Field::Ahead]), "")?;
        let there = self.e.builder.build_int_to_ptr(there, at.get_type(), "")?;
        // To read data that will be needed in all caches.
        let [read, near, data] = [0, 3, 1].map(|k| self.i32(k).into());
        self.e.builder.build_direct_call(f, &[there.into(), read, near, data], "")?;
        Ok(())
    }
}
