//! The CPU backend: LLVM code for kernels, compiled and loaded in process.
//!
//! | module | what it knows |
//! | --- | --- |
//! | [`scalar`] | what every operator of [`remc_base::ops::TABLE`] and `cast` are in LLVM, for one value or a vector of lanes |
//! | [`compile`] | from a program of Kernel to one module: kernels, and the plan that launches them |
//! | [`abi`] | how that code and the runtime call each other: the kernel room's |
//! | [`jit`] | from an LLVM module to optimised object bytes or assembly, and from object bytes to callable addresses |
//!
//! There is one path for `run`, the cache and `--emit object`: a module becomes object bytes, and object
//! bytes are what is loaded, kept or written to a file.
//!
//! `unsafe` code is in `jit`, and one call of it in `address`.

mod address;
mod error;
pub mod jit;
mod kernel;
pub mod scalar;
mod values;

pub use error::EmitError;
pub use jit::{Host, Loaded, Pipeline};
pub use kernel::{Compiled, assembly, compile, compile_part, llvm_ir};
pub use remc_kernel::abi::{self, Interface, KernelInfo, Slot, interface};
pub use scalar::{Emit, ulp_bound, ulp_distance};

/// The LLVM wrapper that this crate's interface speaks.
pub use inkwell;
