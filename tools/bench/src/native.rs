//! A compiled C kernel: the one place where this crate leaves safe Rust.
//!
//! The three functions of a kernel are stated in `peers/peer.h`. A library stays loaded to the end of the
//! process, as its OpenMP threads do.

#![allow(unsafe_code)]

use libloading::Library;
use std::ffi::{c_int, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::time::{Duration, Instant};

type Threads = unsafe extern "C" fn(c_int);
type Alloc = unsafe extern "C" fn(i64) -> *mut c_void;
type Run = unsafe extern "C" fn(*const i64, *const *mut c_void, *const *mut c_void);

unsafe extern "C" {
    fn free(p: *mut c_void);
}

/// A loaded kernel.
#[derive(Clone, Copy)]
pub struct Kernel {
    alloc: Alloc,
    run: Run,
}

/// Memory of a kernel's own making, all zero at first.
pub struct Buffer {
    start: NonNull<u8>,
    bytes: usize,
}

impl Kernel {
    /// Loads a library that was compiled from `peers/` and lets it use so many threads.
    pub fn load(path: &Path, threads: u16) -> Result<Kernel, String> {
        let describe = |e: libloading::Error| format!("{}: {e}", path.display());
        // SAFETY: the bench compiled this library from its own sources; loading it runs no code but that of
        // the OpenMP library.
        let library = unsafe { Library::new(path) }.map_err(describe)?;
        // SAFETY: `peer.h` declares the functions with these types.
        let (set_threads, alloc, run) = unsafe {
            (
                *library.get::<Threads>(b"peer_threads\0").map_err(describe)?,
                *library.get::<Alloc>(b"peer_alloc\0").map_err(describe)?,
                *library.get::<Run>(b"peer_run\0").map_err(describe)?,
            )
        };
        // The functions are good for as long as the library is loaded: for ever.
        std::mem::forget(library);
        // SAFETY: any positive number of threads will do.
        unsafe { set_threads(threads.into()) };
        Ok(Kernel { alloc, run })
    }

    pub fn buffer(&self, bytes: usize) -> Result<Buffer, String> {
        let wanted = i64::try_from(bytes).map_err(|_| "too large".to_string())?;
        // SAFETY: the function takes any size, and gives that many zeroed bytes or null.
        let start = unsafe { (self.alloc)(wanted) };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) => Ok(Buffer { start, bytes }),
            None => Err(format!("no memory for {bytes} bytes")),
        }
    }

    /// One call, timed. Sizes and buffers must be those that the kernel's header states; the rows of
    /// [`crate::cases`] are what keeps that promise, which nothing here can check.
    pub fn run(&self, sizes: &[i64], inputs: &[Buffer], output: &mut Buffer) -> Duration {
        let inputs: Vec<*mut c_void> = inputs.iter().map(|b| b.start.as_ptr().cast()).collect();
        let outputs = [output.start.as_ptr().cast::<c_void>()];
        let start = Instant::now();
        // SAFETY: the kernels read the inputs and write the output within the sizes that the row gives, for
        // which the buffers were made; they keep no pointer.
        unsafe { (self.run)(sizes.as_ptr(), inputs.as_ptr(), outputs.as_ptr()) };
        start.elapsed()
    }
}

impl Buffer {
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: `start` has that many initialised bytes, which live as long as `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.bytes) }
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else has them.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: it came from `aligned_alloc` and is freed once.
        unsafe { free(self.start.as_ptr().cast()) }
    }
}
