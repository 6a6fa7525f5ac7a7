//! A GPU at work: its memory, modules of compiled kernels, launches.
//!
//! All goes through one [`Driver`], in the order of the calls. So a buffer that is dropped may be given out
//! again at once, though kernels that use it may still run: whatever is done to its memory then comes after
//! them.

use super::driver::{Driver, DriverError, Extent, Gpu, Outcome};
use super::error;
use crate::bytes;
use crate::heap::{self, OutOfMemory, Source, Usage};
use crate::stop::{Failure, Stopped};
use remc_base::{BaseTy, Scalar, Value};
use std::ffi::CString;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// What the device is called in messages.
pub const DEVICE: &str = "cuda device";
/// What every buffer is aligned to: more than any access of a warp needs.
pub const ALIGNMENT: usize = 256;
/// The pages of a GPU's memory.
const PAGE: usize = 2 << 20;
/// A launch may ask for so much shared memory without saying so before.
const SHARED: u32 = 48 << 10;

/// A GPU's memory, as [`crate::heap`] asks for it.
pub struct GpuMemory(Arc<dyn Driver>);

/// A block of a GPU's memory.
pub struct Block {
    driver: Arc<dyn Driver>,
    address: u64,
}

impl Drop for Block {
    fn drop(&mut self) {
        // SAFETY: the block owns its memory, and whoever used it is done with it.
        unsafe { self.driver.release(self.address) };
    }
}

impl Source for GpuMemory {
    type Block = Block;

    /// Eight classes to an octave, and whole pages from eight of them on.
    fn class(&self, bytes: usize) -> Option<usize> {
        let step = match bytes {
            0..2048 => ALIGNMENT,
            _ => (1 << (bytes.ilog2() - 3)).min(PAGE),
        };
        bytes.max(1).checked_next_multiple_of(step).filter(|n| *n <= isize::MAX as usize)
    }

    fn block(&self, capacity: usize) -> Option<Block> {
        Some(Block { driver: self.0.clone(), address: self.0.allocate(capacity)? })
    }
}

/// A piece of the GPU's memory, which goes back when it is dropped.
pub struct Buffer(heap::Buffer<GpuMemory>);

impl Buffer {
    /// Where it is, for the parameters of kernels.
    pub fn address(&self) -> u64 {
        self.0.block().map_or(0, |b| b.address)
    }

    /// How many bytes were asked for.
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

/// A GPU with its memory and an error slot.
pub struct Device {
    pub gpu: Gpu,
    driver: Arc<dyn Driver>,
    memory: heap::Memory<GpuMemory>,
    error: Buffer,
}

/// Compiled kernels on the GPU. They go when the module and all its kernels have been dropped.
#[derive(Clone)]
pub struct Module(Arc<Loaded>);

struct Loaded {
    driver: Arc<dyn Driver>,
    handle: u64,
}

impl Drop for Loaded {
    fn drop(&mut self) {
        // SAFETY: it was loaded, and whoever has one of its functions holds on to it.
        unsafe { self.driver.unload(self.handle) };
    }
}

/// A kernel that can be launched.
pub struct Kernel {
    module: Module,
    function: u64,
    /// How much shared memory launches may ask for by now.
    shared: AtomicU32,
}

impl Module {
    /// The kernel of this name, as it stands in the text: `extern "C"`.
    pub fn kernel(&self, name: &str) -> Outcome<Kernel> {
        let wrong =
            || DriverError { call: "cuModuleGetFunction", why: format!("no kernel is named {name:?}") };
        let symbol = CString::new(name).map_err(|_| wrong())?;
        // SAFETY: the module is loaded while `self` is there.
        let function = unsafe { self.0.driver.function(self.0.handle, &symbol) };
        let function =
            function.map_err(|e| DriverError { why: format!("{} (the kernel {name:?})", e.why), ..e })?;
        Ok(Kernel { module: self.clone(), function, shared: AtomicU32::new(SHARED) })
    }
}

/// Whether bytes are a whole ELF file, as a cubin is: the driver reads as far as the file says that it goes.
fn is_whole(cubin: &[u8]) -> bool {
    let number = |at: usize, n: usize| {
        let mut word = [0; 8];
        word.get_mut(..n)?.copy_from_slice(cubin.get(at..at + n)?);
        usize::try_from(u64::from_le_bytes(word)).ok()
    };
    // The tables of segments and of sections: where, the size of an entry, how many.
    let end = |at: usize, size: usize, count: usize| {
        number(at, 8)?.checked_add(number(size, 2)?.checked_mul(number(count, 2)?)?)
    };
    let fits = |e: Option<usize>| e.is_some_and(|e| e <= cubin.len());
    cubin.starts_with(b"\x7fELF\x02\x01") && fits(end(0x20, 0x36, 0x38)) && fits(end(0x28, 0x3a, 0x3c))
}

impl Device {
    /// A device of which at most `limit` bytes are in use at a time, by default all that are free now.
    pub fn new(driver: Arc<dyn Driver>, gpu: Gpu, limit: Option<u64>) -> Result<Device, DriverError> {
        let memory = heap::Memory::new(GpuMemory(driver.clone()), limit.unwrap_or(gpu.free));
        // The slot is no part of what a program uses.
        let slots = heap::Memory::new(GpuMemory(driver.clone()), error::BYTES as u64);
        let error = slots.buffer(error::BYTES).map(Buffer).map_err(|_| DriverError {
            call: "cuMemAlloc",
            why: "there is no memory left on the GPU".into(),
        })?;
        let device = Device { gpu, driver, memory, error };
        device.clear_error()?;
        Ok(device)
    }

    /// What is in use now, and was at most since counting was restarted.
    pub fn memory(&self) -> Usage {
        self.memory.usage()
    }

    pub fn restart_counting(&self) {
        self.memory.restart_counting();
    }

    // ---- memory ----

    /// Memory of unspecified contents.
    pub fn buffer(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        self.memory.buffer(bytes).map(Buffer)
    }

    /// Memory for an array of this shape; a negative dim is one past 63 bits. `prov` is where it is asked for.
    pub fn array(&self, prov: Option<u32>, base: BaseTy, dims: &[i64]) -> Result<Buffer, Stopped> {
        let element = u64::from(base.bits() / 8);
        heap::size_of(dims, element)
            .ok_or_else(|| self.memory.never())
            .and_then(|n| self.buffer(n))
            .map_err(|why| Stopped::too_large(DEVICE, prov, dims, element, why.most))
    }

    /// Copies an array of base type into the GPU's memory.
    pub fn upload(&self, value: &Value) -> Result<Buffer, Stopped> {
        let (Some(bytes), Some(base)) = (bytes::of(value), value.data.base()) else {
            return Err(Stopped::Unexplained);
        };
        let shape: Vec<i64> = value.shape.iter().map(|n| *n as i64).collect();
        let buffer = self.array(None, base, &shape)?;
        if !bytes.is_empty() {
            // SAFETY: the buffer has room for the array.
            unsafe { self.driver.write(buffer.address(), bytes) }?;
        }
        Ok(buffer)
    }

    /// A copy of an array, when all launches are over; `None` if the buffer is too small for it.
    pub fn download(&self, buffer: &Buffer, base: BaseTy, dims: &[usize]) -> Outcome<Option<Value>> {
        let bytes = dims.iter().try_fold(base.bits() as usize / 8, |n, d| n.checked_mul(*d));
        if !dims.contains(&0) && bytes.is_none_or(|n| n > buffer.bytes()) {
            return Ok(None);
        }
        let filled = bytes::array(base, dims, |to| match to.is_empty() {
            true => Ok(()),
            // SAFETY: the buffer is this large.
            false => unsafe { self.driver.read(buffer.address(), to) },
        });
        filled.map(Some)
    }

    /// One element, when all launches are over; `None` if the buffer has no such element.
    pub fn load(&self, buffer: &Buffer, base: BaseTy, index: usize) -> Outcome<Option<Scalar>> {
        let Some(at) = place(buffer, base, index) else { return Ok(None) };
        let value = bytes::array(base, &[], |to| {
            // SAFETY: the element is in the buffer.
            unsafe { self.driver.read(buffer.address() + at, to) }
        })?;
        Ok(match value.data.get(0) {
            Some(remc_base::Atom::Scalar(s)) => Some(s),
            _ => None,
        })
    }

    /// Writes one element; says whether the buffer has it.
    pub fn store(&self, buffer: &Buffer, index: usize, value: Scalar) -> Outcome<bool> {
        let base = value.ty();
        let Some(at) = place(buffer, base, index) else { return Ok(false) };
        let bytes = value.to_bits64().to_le_bytes();
        // SAFETY: the element is in the buffer.
        unsafe { self.driver.write(buffer.address() + at, &bytes[..base.bits() as usize / 8]) }?;
        Ok(true)
    }

    /// Sets every byte of a buffer.
    pub fn fill(&self, buffer: &Buffer, byte: u8) -> Outcome<()> {
        match buffer.bytes() {
            0 => Ok(()),
            // SAFETY: the buffer has so many bytes.
            n => unsafe { self.driver.fill(buffer.address(), byte, n) },
        }
    }

    // ---- kernels ----

    /// Loads compiled kernels of the GPU's architecture.
    pub fn module(&self, cubin: &[u8]) -> Outcome<Module> {
        if !is_whole(cubin) {
            return Err(DriverError { call: "cuModuleLoadData", why: "the cubin is damaged".into() });
        }
        let handle = self.driver.load(cubin)?;
        Ok(Module(Arc::new(Loaded { driver: self.driver.clone(), handle })))
    }

    /// Starts a kernel, and returns while it runs; what goes wrong in it is told by a later call. Each
    /// parameter is a slot: an address, or a scalar as [`Scalar::to_bits64`], of which the kernel takes as
    /// many low bytes as its own type has.
    ///
    /// # Safety
    /// The kernel has as many parameters, and with these values it only touches memory of buffers that are
    /// alive, or are dropped only after the launch.
    pub unsafe fn launch(&self, kernel: &Kernel, extent: Extent, parameters: &[u64]) -> Outcome<()> {
        if extent.shared > kernel.shared.load(Ordering::Relaxed) {
            // SAFETY: the kernel holds on to its module.
            unsafe { kernel.module.0.driver.allow_shared(kernel.function, extent.shared) }?;
            kernel.shared.fetch_max(extent.shared, Ordering::Relaxed);
        }
        // SAFETY: the caller's promise; the kernel holds on to its module.
        unsafe { self.driver.launch(kernel.function, extent, parameters) }
    }

    /// Waits until all launches are over.
    pub fn wait(&self) -> Outcome<()> {
        self.driver.wait()
    }

    // ---- the error slot ----

    /// Where the error slot is, for the parameters of kernels.
    pub fn error_slot(&self) -> u64 {
        self.error.address()
    }

    /// Forgets what has failed: before a run.
    pub fn clear_error(&self) -> Outcome<()> {
        // SAFETY: the slot is longer than its beginning.
        unsafe { self.driver.write(self.error.address(), &error::clear()) }
    }

    /// Which check has failed, if one has, when all launches are over.
    pub fn failure(&self) -> Outcome<Option<Failure>> {
        let mut block = [0; 8];
        // SAFETY: the slot begins with 8 bytes.
        unsafe { self.driver.read(self.error.address(), &mut block) }?;
        if u64::from_le_bytes(block) == error::NONE {
            return Ok(None);
        }
        let mut slot = [0; error::BYTES];
        // SAFETY: the slot has so many bytes.
        unsafe { self.driver.read(self.error.address(), &mut slot) }?;
        Ok(error::read(&slot))
    }
}

/// Where an element is in a buffer, in bytes; `None` if it is not in it.
fn place(buffer: &Buffer, base: BaseTy, index: usize) -> Option<u64> {
    let size = base.bits() as usize / 8;
    let at = index.checked_mul(size)?;
    (at.checked_add(size)? <= buffer.bytes()).then_some(at as u64)
}

impl From<DriverError> for Stopped {
    fn from(e: DriverError) -> Stopped {
        Stopped::Device(e.to_string())
    }
}
