//! Machine code as text and as a file: `remc compile --emit llvm|asm|object|header`.

use crate::args::Ir;
use crate::codes;
use crate::report::{Failure, Outcome, fail, usage};
use remc_driver::InternalBug;
use remc_kernel::ir::Program;
use remc_llvm::Pipeline;
use remc_llvm::jit::{self, Host};

/// The processor that code is made for.
pub fn host() -> Outcome<Host> {
    match std::env::var_os(jit::VECTOR_BITS).filter(|bits| !bits.is_empty()) {
        Some(bits) if !jit::WIDTHS.iter().any(|w| bits == w.to_string().as_str()) => {
            let (name, bits) = (jit::VECTOR_BITS, bits.to_string_lossy());
            let message = format!("{name} is `{bits}`, and vector registers have 128, 256 or 512 bits");
            fail(usage(codes::DEVICE, message))
        }
        _ => Ok(jit::host()),
    }
}

/// What was asked for, for this processor.
pub fn emit(program: &Program, what: Ir) -> Outcome<Vec<u8>> {
    let host = host()?;
    let pipeline = Pipeline::default();
    let made = match what {
        Ir::Llvm => remc_llvm::llvm_ir(program, &host, None).map(String::into_bytes),
        Ir::Asm => remc_llvm::assembly(program, &host, pipeline).map(String::into_bytes),
        _ => remc_llvm::compile(program, &host, pipeline).map(|c| c.object),
    };
    made.map_err(|e| Failure::Bug(InternalBug { stage: "codegen", message: e.to_string() }))
}
