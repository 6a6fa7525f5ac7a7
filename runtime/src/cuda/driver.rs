//! The driver, as far as the cuda device uses it: a trait, and CUDA's own driver behind it.
//!
//! The trait is there so that all else can be tested on a machine without a GPU. It says nothing that the
//! driver's own documentation does not say better: addresses are the GPU's, calls run in the order in which
//! they are made (one stream, the default one), copies have happened when they return, a launch has not.
//!
//! `libcuda` belongs to the driver of the machine and is loaded when the device is asked for, through
//! `cudarc`, whose functions panic where the library, or one of them, is missing; so both are made sure of
//! first, the functions by the version.

use super::arch::Arch;
use super::missing::{Missing, RELEASE};
use cudarc::driver::sys;
use std::ffi::{CStr, c_int, c_void};
use std::fmt;
use std::mem::MaybeUninit;
use std::sync::Arc;

/// A call of the driver that failed: most often the GPU's own report of an earlier launch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DriverError {
    pub call: &'static str,
    pub why: String,
}

impl fmt::Display for DriverError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the GPU's driver says: {} ({})", self.why, self.call)
    }
}

impl std::error::Error for DriverError {}

pub type Outcome<T> = Result<T, DriverError>;

/// How many blocks there are, threads in a block, and bytes of shared memory for each block beside those that
/// the kernel has by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Extent {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    pub shared: u32,
}

/// The calls of a driver. Modules and functions are numbers that it gave.
pub trait Driver: Send + Sync {
    /// `None` where there is not so much memory.
    fn allocate(&self, bytes: usize) -> Option<u64>;

    /// # Safety
    /// `address` came from `allocate`, was not released, and is used no more.
    unsafe fn release(&self, address: u64);

    /// # Safety
    /// There is memory for so many bytes at `to`.
    unsafe fn write(&self, to: u64, from: &[u8]) -> Outcome<()>;

    /// Waits for all launches.
    ///
    /// # Safety
    /// There are so many bytes at `from`.
    unsafe fn read(&self, from: u64, to: &mut [u8]) -> Outcome<()>;

    /// # Safety
    /// There is memory for so many bytes at `to`.
    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Outcome<()>;

    fn load(&self, cubin: &[u8]) -> Outcome<u64>;

    /// # Safety
    /// The module was loaded, was not unloaded, and its functions are used no more.
    unsafe fn unload(&self, module: u64);

    /// # Safety
    /// The module is loaded.
    unsafe fn function(&self, module: u64, name: &CStr) -> Outcome<u64>;

    /// Lets a function ask for so many bytes of shared memory in a launch; without this for 48 KiB.
    ///
    /// # Safety
    /// The function's module is loaded.
    unsafe fn allow_shared(&self, function: u64, bytes: u32) -> Outcome<()>;

    /// Each of `parameters` holds the value of one, in its low bytes.
    ///
    /// # Safety
    /// The function's module is loaded, it has so many parameters, and with their values it only touches
    /// memory that is its own.
    unsafe fn launch(&self, function: u64, extent: Extent, parameters: &[u64]) -> Outcome<()>;

    /// Waits until all launches are over.
    fn wait(&self) -> Outcome<()>;
}

/// What a GPU is and has.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gpu {
    pub name: String,
    pub arch: Arch,
    pub multiprocessors: u32,
    pub threads_per_multiprocessor: u32,
    /// Bytes that a block may have at most.
    pub shared_per_block: u32,
    pub cache_bytes: u64,
    /// Bytes of memory, and how many of them nobody used when it was asked.
    pub memory: u64,
    pub free: u64,
    /// The release of CUDA that the driver knows.
    pub driver: (u32, u32),
}

/// CUDA's driver and one GPU's context.
pub struct Libcuda {
    context: sys::CUcontext,
    device: sys::CUdevice,
}

// SAFETY: a context may be used by any thread that makes it current, as `current` does before each call.
unsafe impl Send for Libcuda {}
// SAFETY: as above; the driver locks what its calls share.
unsafe impl Sync for Libcuda {}

fn check(call: &'static str, code: sys::CUresult) -> Outcome<()> {
    if code == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut text = std::ptr::null();
    // SAFETY: `text` is a place for a pointer; a string that is given is constant and ends with a NUL.
    let why = unsafe {
        match sys::cuGetErrorString(code, &mut text) {
            sys::CUresult::CUDA_SUCCESS if !text.is_null() => {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
            _ => format!("{code:?}"),
        }
    };
    Err(DriverError { call, why })
}

/// Whether `libcuda` is there. `cudarc` looks for it by the same names.
fn is_present() -> bool {
    // SAFETY: the library may be loaded at any time.
    unsafe { sys::is_culib_present() }
}

impl Libcuda {
    /// Starts the driver and takes a GPU, by its number; 0 is the first one.
    pub fn open(number: u32) -> Result<(Arc<Libcuda>, Gpu), Missing> {
        if !is_present() {
            return Err(Missing::Driver);
        }
        let fails = |e: DriverError| Missing::DriverFails(e.why);
        let mut version: c_int = 0;
        // SAFETY: the library is there; `version` is a number.
        check("cuDriverGetVersion", unsafe { sys::cuDriverGetVersion(&mut version) }).map_err(fails)?;
        let version = version.unsigned_abs();
        let driver = (version / 1000, version % 1000 / 10);
        if driver < RELEASE {
            return Err(Missing::DriverTooOld { supports: driver });
        }
        // SAFETY: the library is there. From here on it has all functions of the release.
        match unsafe { sys::cuInit(0) } {
            sys::CUresult::CUDA_ERROR_NO_DEVICE => return Err(Missing::Gpu),
            code => check("cuInit", code).map_err(fails)?,
        }
        if number as usize >= Libcuda::count() {
            return Err(Missing::Gpu);
        }
        let mut device: sys::CUdevice = 0;
        // SAFETY: the driver has started, and there is a GPU of this number.
        check("cuDeviceGet", unsafe { sys::cuDeviceGet(&mut device, number as c_int) }).map_err(fails)?;
        let mut gpu = Gpu::of(device, driver).map_err(fails)?;
        if gpu.arch < Arch::OLDEST {
            return Err(Missing::GpuTooOld { name: gpu.name, arch: gpu.arch });
        }
        let mut context = std::ptr::null_mut();
        // SAFETY: the device is one of the driver's.
        check("cuDevicePrimaryCtxRetain", unsafe { sys::cuDevicePrimaryCtxRetain(&mut context, device) })
            .map_err(fails)?;
        let opened = Arc::new(Libcuda { context, device });
        let (mut free, mut total) = (0, 0);
        opened.current().map_err(fails)?;
        // SAFETY: the context is current; both are numbers.
        check("cuMemGetInfo", unsafe { sys::cuMemGetInfo_v2(&mut free, &mut total) }).map_err(fails)?;
        (gpu.free, gpu.memory) = (free as u64, total as u64);
        Ok((opened, gpu))
    }

    /// How many GPUs there are.
    fn count() -> usize {
        let mut n: c_int = 0;
        // SAFETY: the library is there, and `n` is a number.
        match check("cuDeviceGetCount", unsafe { sys::cuDeviceGetCount(&mut n) }) {
            Ok(()) => usize::try_from(n).unwrap_or(0),
            Err(_) => 0,
        }
    }

    /// Makes the context that of this thread.
    fn current(&self) -> Outcome<()> {
        // SAFETY: the context lives as long as `self`.
        check("cuCtxSetCurrent", unsafe { sys::cuCtxSetCurrent(self.context) })
    }
}

impl Drop for Libcuda {
    fn drop(&mut self) {
        // SAFETY: the context was retained once; what was made in it has gone before, as it holds on to this.
        let _ = unsafe { sys::cuDevicePrimaryCtxRelease_v2(self.device) };
    }
}

impl Gpu {
    fn of(device: sys::CUdevice, driver: (u32, u32)) -> Outcome<Gpu> {
        use sys::CUdevice_attribute::*;
        let attribute = |which: sys::CUdevice_attribute| {
            let mut n: c_int = 0;
            // SAFETY: the device is one of the driver's, and `n` is a number.
            check("cuDeviceGetAttribute", unsafe { sys::cuDeviceGetAttribute(&mut n, which, device) })?;
            Ok(n.unsigned_abs())
        };
        let mut name = [0 as std::ffi::c_char; 256];
        // SAFETY: there is room for as many bytes as it is told, a NUL among them.
        let named = unsafe { sys::cuDeviceGetName(name.as_mut_ptr(), name.len() as c_int - 1, device) };
        check("cuDeviceGetName", named)?;
        // SAFETY: the last byte, which it was not told of, is a NUL.
        let name = unsafe { CStr::from_ptr(name.as_ptr()) }.to_string_lossy().into_owned();
        let major = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        Ok(Gpu {
            name,
            arch: Arch(10 * major + minor),
            multiprocessors: attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)?,
            threads_per_multiprocessor: attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR)?,
            shared_per_block: attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)?,
            cache_bytes: u64::from(attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)?),
            memory: 0,
            free: 0,
            driver,
        })
    }
}

impl Driver for Libcuda {
    fn allocate(&self, bytes: usize) -> Option<u64> {
        self.current().ok()?;
        let mut address = 0;
        // SAFETY: the context is current; `address` is a place for an address.
        check("cuMemAlloc", unsafe { sys::cuMemAlloc_v2(&mut address, bytes.max(1)) }).ok()?;
        Some(address)
    }

    unsafe fn release(&self, address: u64) {
        // Where this fails, the GPU is lost and its memory with it.
        if self.current().is_ok() {
            // SAFETY: the caller's promise.
            let _ = unsafe { sys::cuMemFree_v2(address) };
        }
    }

    unsafe fn write(&self, to: u64, from: &[u8]) -> Outcome<()> {
        self.current()?;
        // SAFETY: the caller's promise, and `from` has as many bytes.
        check("cuMemcpyHtoD", unsafe { sys::cuMemcpyHtoD_v2(to, from.as_ptr().cast(), from.len()) })
    }

    unsafe fn read(&self, from: u64, to: &mut [u8]) -> Outcome<()> {
        self.current()?;
        // SAFETY: the caller's promise, and `to` has as many bytes.
        check("cuMemcpyDtoH", unsafe { sys::cuMemcpyDtoH_v2(to.as_mut_ptr().cast(), from, to.len()) })
    }

    unsafe fn fill(&self, to: u64, byte: u8, bytes: usize) -> Outcome<()> {
        self.current()?;
        // SAFETY: the caller's promise.
        check("cuMemsetD8", unsafe { sys::cuMemsetD8_v2(to, byte, bytes) })
    }

    fn load(&self, cubin: &[u8]) -> Outcome<u64> {
        self.current()?;
        let mut module = MaybeUninit::uninit();
        // SAFETY: a cubin is an ELF file, which says itself how long it is.
        let code = unsafe { sys::cuModuleLoadData(module.as_mut_ptr(), cubin.as_ptr().cast()) };
        check("cuModuleLoadData", code)?;
        // SAFETY: it was loaded.
        Ok(unsafe { module.assume_init() } as u64)
    }

    unsafe fn unload(&self, module: u64) {
        // Its kernels may still run.
        if self.wait().is_ok() {
            // SAFETY: the caller's promise.
            let _ = unsafe { sys::cuModuleUnload(module as sys::CUmodule) };
        }
    }

    unsafe fn function(&self, module: u64, name: &CStr) -> Outcome<u64> {
        self.current()?;
        let mut function = MaybeUninit::uninit();
        // SAFETY: the caller's promise; the name ends with a NUL.
        let code = unsafe {
            sys::cuModuleGetFunction(function.as_mut_ptr(), module as sys::CUmodule, name.as_ptr())
        };
        check("cuModuleGetFunction", code)?;
        // SAFETY: it was found.
        Ok(unsafe { function.assume_init() } as u64)
    }

    unsafe fn allow_shared(&self, function: u64, bytes: u32) -> Outcome<()> {
        self.current()?;
        let which = sys::CUfunction_attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let bytes = c_int::try_from(bytes).unwrap_or(c_int::MAX);
        // SAFETY: the caller's promise.
        let code = unsafe { sys::cuFuncSetAttribute(function as sys::CUfunction, which, bytes) };
        check("cuFuncSetAttribute", code)
    }

    unsafe fn launch(&self, function: u64, extent: Extent, parameters: &[u64]) -> Outcome<()> {
        self.current()?;
        let Extent { grid, block, shared } = extent;
        // The driver knows the type of each parameter and reads as many bytes: the low ones of a slot.
        let mut pointers: Vec<*mut c_void> =
            parameters.iter().map(|p| std::ptr::from_ref(p).cast_mut().cast()).collect();
        // SAFETY: the caller's promise; the driver has copied the parameters when it returns, and writes none.
        let code = unsafe {
            sys::cuLaunchKernel(
                function as sys::CUfunction,
                grid[0],
                grid[1],
                grid[2],
                block[0],
                block[1],
                block[2],
                shared,
                std::ptr::null_mut(),
                pointers.as_mut_ptr(),
                std::ptr::null_mut(),
            )
        };
        check("cuLaunchKernel", code)
    }

    fn wait(&self) -> Outcome<()> {
        self.current()?;
        // SAFETY: the context is current.
        check("cuCtxSynchronize", unsafe { sys::cuCtxSynchronize() })
    }
}
