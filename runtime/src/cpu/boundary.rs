//! Arrays in and out of the device's memory.

#![allow(unsafe_code)]

use super::memory::Buffer;
use remc_base::value::Data;
use remc_base::{AtomTy, BaseTy, Value};

/// An argument in the device's memory.
pub struct Input(Buffer);

impl Input {
    /// What to give as a parameter; valid while the input lives.
    pub fn slot(&self) -> u64 {
        self.0.address() as u64
    }

    /// Copies the array into a buffer, of at least its size.
    pub(super) fn write(buffer: Buffer, value: &Value) -> Input {
        // `base` has made sure that there are some.
        let bytes = crate::bytes::of(value).unwrap_or_default();
        debug_assert!(bytes.len() <= buffer.bytes());
        // SAFETY: the buffer is of at least the array's size and no other memory.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.address(), bytes.len()) };
        Input(buffer)
    }

    /// Copies the array into a buffer, of at least its size, and gives its pages back as it goes.
    pub(super) fn take(buffer: Buffer, value: Value) -> Input {
        let bytes = crate::bytes::of(&value).unwrap_or_default();
        let (from, len) = (bytes.as_ptr().cast_mut(), bytes.len());
        debug_assert!(len <= buffer.bytes());
        for start in (0..len).step_by(PART) {
            let part = PART.min(len - start);
            // SAFETY: both lie in their memory, the buffer is no part of the array, and nobody else has the array, whose
            // elements, numbers, truth values or characters, may all be 0. It is only dropped after this.
            unsafe {
                std::ptr::copy_nonoverlapping(from.add(start), buffer.address().add(start), part);
                if len > PART {
                    give_back(from.add(start), part);
                }
            }
        }
        drop(value);
        Input(buffer)
    }
}

/// How much of an array is copied before what was copied is given back.
const PART: usize = 16 << 20;

/// Gives the whole pages of some memory back to the system, which are 0 from then on.
///
/// # Safety
/// The memory is the caller's alone, anonymous, and zeros are values of what it holds.
unsafe fn give_back(start: *mut u8, bytes: usize) {
    #[cfg(target_os = "linux")]
    {
        const PAGE: usize = 1 << 16;
        let before = start.align_offset(PAGE).min(bytes);
        let whole = (bytes - before) / PAGE * PAGE;
        // SAFETY: the pages lie in the caller's memory. That it is not done is no harm.
        unsafe { libc::madvise(start.add(before).cast(), whole, libc::MADV_DONTNEED) };
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (start, bytes);
}

/// The base type of an array's elements, if they are of one.
pub(super) fn base(value: &Value) -> Option<BaseTy> {
    value.data.base()
}

/// A copy of the array at an address.
///
/// # Safety
/// There are as many elements of type `ty`, in the memory format, as the product of `dims`; where that is
/// 0 the address does not matter.
pub unsafe fn read_buffer(address: *const u8, ty: BaseTy, dims: &[usize]) -> Value {
    let n = dims.iter().product();
    macro_rules! copy {
        ($t:ty) => {
            if n == 0 {
                Vec::new()
            } else {
                // SAFETY: the caller's promise.
                unsafe { std::slice::from_raw_parts(address.cast::<$t>(), n) }.to_vec()
            }
        };
    }
    let data = match ty {
        // Not every byte is a `bool`, and not every number a `char`; compiled code is not trusted so far.
        BaseTy::Bool => Data::Bool(copy!(u8).into_iter().map(|b| b != 0).collect()),
        BaseTy::Char => {
            let chars =
                copy!(u32).into_iter().map(|c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER));
            Data::Char(chars.collect())
        }
        BaseTy::I8 => Data::I8(copy!(i8)),
        BaseTy::I16 => Data::I16(copy!(i16)),
        BaseTy::I32 => Data::I32(copy!(i32)),
        BaseTy::I64 => Data::I64(copy!(i64)),
        BaseTy::U8 => Data::U8(copy!(u8)),
        BaseTy::U16 => Data::U16(copy!(u16)),
        BaseTy::U32 => Data::U32(copy!(u32)),
        BaseTy::U64 => Data::U64(copy!(u64)),
        BaseTy::F16 => Data::F16(copy!(half::f16)),
        BaseTy::F32 => Data::F32(copy!(f32)),
        BaseTy::F64 => Data::F64(copy!(f64)),
    };
    Value { atom: AtomTy::Base(ty), shape: dims.to_vec(), data }
}
