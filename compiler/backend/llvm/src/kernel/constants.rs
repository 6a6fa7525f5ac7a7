//! Many constants that are stored one after the other: the elements of a literal.
//!
//! ```text
//! (store %a (0) 0.5)                 @literal = private constant [1000 x i64] […]
//! (store %a (1) 1.5)           ⇒     call void @llvm.memcpy(%a, @literal, 8000)
//! …
//! ```
//!
//! A store for each would be much code; and where the constants are floats, LLVM looks for each of them among all that
//! the function has, so that the time to compile them grows with the square of their number.

use super::Fun;
use crate::error::EmitError;
use inkwell::module::Linkage;
use remc_base::BaseTy;
use remc_kernel::ir::{Atom, Stmt, StmtKind, Var};

/// Fewer are stored one by one: vectors of them are stored at once.
const MANY: usize = 64;

impl Fun<'_, '_> {
    /// How many of the statements, from the first on, store constants one after the other into a buffer; 0 if not many.
    pub fn constants(&self, block: &[Stmt]) -> usize {
        if self.mask.is_some() || self.lanes.is_some() {
            return 0;
        }
        let Some((buffer, first)) = block.first().and_then(|s| self.constant_store(s)) else { return 0 };
        let follows = |(k, s): &(usize, &Stmt)| {
            let place = i64::try_from(*k).ok().and_then(|k| first.checked_add(k));
            self.constant_store(s).is_some_and(|(b, at)| b == buffer && Some(at) == place)
        };
        let n = block.iter().enumerate().take_while(follows).count();
        if n < MANY { 0 } else { n }
    }

    /// The buffer and the number of the element, if the statement stores a constant at a constant index.
    fn constant_store(&self, s: &Stmt) -> Option<(Var, i64)> {
        let StmtKind::Store { buffer, at, value: Atom::Const(_) } = &s.kind else { return None };
        if self.private.contains(buffer) {
            return None;
        }
        let dims = &self.buffer_ty(*buffer)?.dims;
        let place = at.iter().zip(dims).enumerate().try_fold(0i64, |place, (k, (i, d))| {
            let d = if k == 0 { 1 } else { d.as_int()? };
            place.checked_mul(d)?.checked_add(i.as_int()?)
        })?;
        (at.len() == dims.len()).then_some((*buffer, place))
    }

    /// The statements of [`Fun::constants`] as one copy.
    pub fn store_constants(&mut self, stores: &[Stmt]) -> Result<(), EmitError> {
        let Some((buffer, first)) = stores.first().and_then(|s| self.constant_store(s)) else {
            return Ok(());
        };
        let (ty, base) = self.buffer(buffer)?;
        let bits = if ty.base == BaseTy::Bool { 8 } else { ty.base.bits() };
        let element = match bits {
            8 => self.e.context.i8_type(),
            16 => self.e.context.i16_type(),
            32 => self.e.context.i32_type(),
            _ => self.e.context.i64_type(),
        };
        let bits_of = |s: &Stmt| match s.kind {
            StmtKind::Store { value: Atom::Const(x), .. } => x.to_bits64().cast_unsigned(),
            _ => 0,
        };
        let values: Vec<_> = stores.iter().map(|s| element.const_int(bits_of(s), false)).collect();
        let array = element.const_array(&values);
        let global = self.e.module.add_global(array.get_type(), None, "literal");
        global.set_initializer(&array);
        global.set_constant(true);
        global.set_linkage(Linkage::Private);
        let bytes = bits / 8;
        global.set_alignment(bytes);
        let to = self.e.element(ty.base, base, self.i64(first))?;
        let size = self.i64(i64::from(bytes) * stores.len() as i64);
        self.e.builder.build_memcpy(to, bytes, global.as_pointer_value(), bytes, size)?;
        Ok(())
    }
}
