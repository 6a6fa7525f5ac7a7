//! A program that was printed as CUDA and compiled to a shared library: its plan is a function in it.
//!
//! Whoever compiled it, `nvcc` or a C++ compiler with the emulator, the functions are those that the printed
//! host code defines. Arrays live in the device's memory, which is this process's own when it is emulated;
//! nothing here looks at it but through the library.

#![allow(unsafe_code)]

use crate::bytes;
use crate::stop::Stopped;
use libloading::Library as Loaded;
use remc_base::{BaseTy, Value};
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;

type New = unsafe extern "C" fn() -> *mut c_void;
type Free = unsafe extern "C" fn(*mut c_void);
type Clear = unsafe extern "C" fn(*mut c_void) -> bool;
type Upload = unsafe extern "C" fn(*mut c_void, *const c_void, u64) -> *mut c_void;
type Download = unsafe extern "C" fn(*mut c_void, *mut c_void, *const c_void, u64) -> i32;
type Entry = unsafe extern "C" fn(*mut c_void, *const u64, *mut u64) -> i32;
type Why = unsafe extern "C" fn(
    *mut c_void,
    *mut u32,
    *mut u32,
    *mut u32,
    *mut i64,
    *mut u64,
    *mut *const c_char,
) -> i32;

/// What the device is called in messages.
const DEVICE: &str = "emulated device";

/// The most values that a stop has.
const MOST_VALUES: usize = 16;

/// A loaded program, with a context on its device.
pub struct Program {
    context: *mut c_void,
    free: Free,
    release: Free,
    clear: Clear,
    upload: Upload,
    download: Download,
    entry: Entry,
    why: Why,
    /// The code of the functions above.
    _library: Loaded,
}

impl Program {
    /// Loads a library.
    ///
    /// # Errors
    /// In words: it cannot be loaded, is no such library, or there is no device for it.
    ///
    /// # Safety
    /// The library is one that was printed by remc: loading it runs nothing else, and its functions have the
    /// types above.
    pub unsafe fn load(path: &Path) -> Result<Program, String> {
        // SAFETY: the caller's promise.
        let library = unsafe { Loaded::new(path) }.map_err(|e| e.to_string())?;
        macro_rules! symbol {
            ($ty:ty, $name:literal) => {
                // SAFETY: the caller's promise: the function has this type.
                *unsafe { library.get::<$ty>($name) }.map_err(|e| e.to_string())?
            };
        }
        let new = symbol!(New, "remc_context_new");
        let free = symbol!(Free, "remc_context_free");
        let release = symbol!(Free, "remc_context_release");
        let clear = symbol!(Clear, "remc_context_clear");
        let upload = symbol!(Upload, "remc_upload");
        let download = symbol!(Download, "remc_download");
        let entry = symbol!(Entry, "remc_entry");
        let why = symbol!(Why, "remc_why");
        // SAFETY: the function takes nothing.
        let context = unsafe { new() };
        if context.is_null() {
            return Err("there is no device, or it cannot be used".into());
        }
        Ok(Program { context, free, release, clear, upload, download, entry, why, _library: library })
    }

    /// Begins a run: what the last one has left is gone.
    ///
    /// # Errors
    /// The device.
    pub fn start(&mut self) -> Result<(), Stopped> {
        // SAFETY: the context is the library's own.
        unsafe {
            (self.release)(self.context);
            if (self.clear)(self.context) { Ok(()) } else { Err(self.stopped()) }
        }
    }

    /// An array in the device's memory: its address as a parameter.
    ///
    /// # Errors
    /// The device, or the array is too large for it.
    pub fn input(&mut self, value: &Value) -> Result<u64, Stopped> {
        let Some(bytes) = bytes::of(value) else { return Err(Stopped::Unexplained) };
        // SAFETY: the library copies as many bytes as there are.
        let at = unsafe { (self.upload)(self.context, bytes.as_ptr().cast(), bytes.len() as u64) };
        if at.is_null() { Err(self.stopped()) } else { Ok(at as u64) }
    }

    /// Runs the plan on its parameters, which are those of the program that was printed; its results.
    ///
    /// # Errors
    /// What has stopped it.
    ///
    /// # Safety
    /// There are as many parameters as the program has, of its types, arrays by addresses that
    /// [`Program::input`] gave since the start; and it has at most so many words of results.
    pub unsafe fn run(&mut self, params: &[u64], results: usize) -> Result<Vec<u64>, Stopped> {
        let mut words = vec![0; results];
        // SAFETY: the caller's promise.
        let status = unsafe { (self.entry)(self.context, params.as_ptr(), words.as_mut_ptr()) };
        if status == 0 { Ok(words) } else { Err(self.stopped()) }
    }

    /// A copy of an array in the device's memory.
    ///
    /// # Errors
    /// The device, as after a kernel that has gone wrong.
    ///
    /// # Safety
    /// The address is one that the last run gave, of an array of these dims and base type.
    pub unsafe fn array(&mut self, address: u64, ty: BaseTy, dims: &[usize]) -> Result<Value, Stopped> {
        let (context, download) = (self.context, self.download);
        let copied = bytes::array(ty, dims, |to| {
            // SAFETY: the caller's promise; there is room for as many bytes.
            let status = unsafe {
                download(context, to.as_mut_ptr().cast(), address as *const c_void, to.len() as u64)
            };
            if status == 0 { Ok(()) } else { Err(()) }
        });
        copied.map_err(|()| self.stopped())
    }

    fn stopped(&self) -> Stopped {
        let (mut trap, mut prov, mut count, mut element_bytes) = (0, 0, 0, 0);
        let mut values = [0; MOST_VALUES];
        let mut message = std::ptr::null();
        // SAFETY: the context is the library's own, which writes at most `MOST_VALUES` values.
        let reason = unsafe {
            (self.why)(
                self.context,
                &mut trap,
                &mut prov,
                &mut count,
                values.as_mut_ptr(),
                &mut element_bytes,
                &mut message,
            )
        };
        let values = values[..(count as usize).min(MOST_VALUES)].to_vec();
        match reason {
            1 => Stopped::Trap { trap, prov, values },
            2 => Stopped::too_large(DEVICE, Some(prov), &values, element_bytes, u64::MAX),
            _ if message.is_null() => Stopped::Device("it did not say why".into()),
            // SAFETY: the message is a C string that the context owns.
            _ => Stopped::Device(unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: the context is the library's own, and this is its last use.
        unsafe { (self.free)(self.context) }
    }
}
