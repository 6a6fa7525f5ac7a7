//! The cuda device: runs kernels on an NVIDIA GPU.
//!
//! | file | holds |
//! | --- | --- |
//! | [`missing`] | what the machine lacks, in a sentence |
//! | [`nvrtc`] | the compiler: CUDA C++ to a cubin |
//! | [`resources`] | what a kernel takes: registers, spills, shared memory |
//! | [`kernels`] | cubins, compiled or found on disk |
//! | [`driver`] | the GPU's driver, and the trait behind which it is |
//! | [`device`] | memory, modules, launches, the error slot's host side |
//! | [`error`] | the error slot |
//!
//! Both libraries that this needs, the driver and NVRTC, are looked for when a device is asked for; remc is
//! built and linked without them, and says in a sentence what is missing.
//!
//! # A kernel
//!
//! An `extern "C" __global__` function. Values lie in the GPU's memory as [`crate::bytes`] says, buffers
//! begin at multiples of 256 bytes. A parameter is a scalar of base type, by value, or a pointer: what a launch
//! is given is a slot for each, 8 bytes, of which the driver hands on as many low ones as the parameter has.
//! How many threads, blocks and how much shared memory is the launch's. Checks that fail are recorded in the
//! error slot, whose address is a parameter like any other.

#![allow(unsafe_code)]

pub mod arch;
pub mod device;
pub mod driver;
pub mod error;
pub mod kernels;
pub mod missing;
pub mod nvrtc;
pub mod resources;

#[cfg(test)]
mod tests;

pub use arch::Arch;
pub use device::{Buffer, DEVICE, Device, Kernel, Module};
pub use driver::{DriverError, Extent, Gpu};
pub use kernels::Kernels;
pub use missing::Missing;
pub use nvrtc::{CompileError, Compiler, Cubin};
pub use resources::Resources;

use crate::cache::Cache;
use std::path::PathBuf;

#[derive(Clone, Debug, Default)]
pub struct CudaOptions {
    /// Which GPU, by the driver's number.
    pub gpu: u32,
    /// How many bytes of buffers there may be at a time; by default what is free on the GPU.
    pub memory_limit: Option<u64>,
    /// Where CUDA's toolkit is; by default it is looked for.
    pub toolkit: Option<PathBuf>,
}

/// The device: a GPU, and a compiler for it.
pub struct Cuda {
    pub device: Device,
    pub kernels: Kernels,
}

impl Cuda {
    /// Takes a GPU and finds a compiler for it; says what is missing if something is.
    pub fn new(options: &CudaOptions) -> Result<Cuda, Missing> {
        let (driver, gpu) = driver::Libcuda::open(options.gpu)?;
        let compiler = Compiler::find(options.toolkit.as_deref())?;
        let device = Device::new(driver, gpu, options.memory_limit);
        let device = device.map_err(|e| Missing::DriverFails(e.why))?;
        Ok(Cuda { device, kernels: Kernels { compiler, cache: Cache::from_environment() } })
    }

    /// Compiles a text for the GPU, or finds its cubin; `name` is what messages call it.
    pub fn compile(&self, source: &str, name: &str) -> Result<Cubin, CompileError> {
        self.kernels.compile(source, name, self.device.gpu.arch)
    }

    /// Compiles a text for the GPU, whatever the cache holds, and keeps that.
    pub fn compile_anew(&self, source: &str, name: &str) -> Result<Cubin, CompileError> {
        self.kernels.compile_anew(source, name, self.device.gpu.arch)
    }
}
