//! The address of an element.
//!
//! Beside `jit` the only place with `unsafe` code, a single call: inkwell marks address arithmetic unsafe,
//! because a wrong index makes the *compiled* program wrong. (Through integers it would be safe to write,
//! but LLVM could no longer tell which arrays an address may belong to.)
#![allow(unsafe_code)]

use crate::error::EmitError;
use crate::scalar::Emit;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{IntValue, PointerValue};
use remc_base::scalar::BaseTy;

impl<'ctx> Emit<'_, 'ctx> {
    /// The address of element `index` (an `i64`) of an array of `ty` that begins at `base`. The element
    /// must lie in the array or one past its end: LLVM is told so.
    pub fn element(
        &self,
        ty: BaseTy,
        base: PointerValue<'ctx>,
        index: IntValue<'ctx>,
    ) -> Result<PointerValue<'ctx>, EmitError> {
        let memory = self.memory_ty(ty, None);
        // SAFETY: the element type is a sized scalar and there is one index into it, which is the form
        // that the instruction needs; nothing is read or written here. What the index means is the caller's
        // contract about the code that it builds.
        let address = unsafe {
            match memory {
                BasicTypeEnum::FloatType(t) => self.builder.build_in_bounds_gep(t, base, &[index], ""),
                BasicTypeEnum::IntType(t) => self.builder.build_in_bounds_gep(t, base, &[index], ""),
                _ => return Err(EmitError::WrongValue("element")),
            }
        };
        Ok(address?)
    }
}
