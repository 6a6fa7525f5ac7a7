//! Machine code as text and as a file: `remc compile --emit llvm|asm|object|header`.

use crate::args::Ir;
use crate::report::{Failure, Outcome};
use remc_driver::InternalBug;
use remc_kernel::ir::Program;
use remc_llvm::Pipeline;

/// What was asked for, for this processor.
pub fn emit(program: &Program, what: Ir) -> Outcome<Vec<u8>> {
    let host = remc_llvm::jit::host();
    let pipeline = Pipeline::default();
    let made = match what {
        Ir::Llvm => remc_llvm::llvm_ir(program, &host, None).map(String::into_bytes),
        Ir::Asm => remc_llvm::assembly(program, &host, pipeline).map(String::into_bytes),
        _ => remc_llvm::compile(program, &host, pipeline).map(|c| c.object),
    };
    made.map_err(|e| Failure::Bug(InternalBug { stage: "codegen", message: e.to_string() }))
}
