//! Arrays of base type as bytes, in the memory format that all devices share.
//!
//! Row-major, elements little-endian as on the host: `bool` is a byte, 0 or 1; `char` is a `u32`, a Unicode
//! scalar value; `f16` is its 16 bits. These are Rust's own formats of these types, so an array is looked at
//! as bytes where it lies.

#![allow(unsafe_code)]

use half::f16;
use remc_base::value::Data;
use remc_base::{AtomTy, BaseTy, Value};

/// Types without padding.
///
/// # Safety
/// Every byte of a value is initialised.
unsafe trait Bytes: Copy {}

/// Types of which every bit pattern is a value, too.
///
/// # Safety
/// Any bytes are a value of the type.
unsafe trait AnyBytes: Bytes {}

macro_rules! any_bytes {
    ($($t:ty),*) => {
        $(
            // SAFETY: a number without padding.
            unsafe impl Bytes for $t {}
            // SAFETY: every bit pattern is a number.
            unsafe impl AnyBytes for $t {}
        )*
    };
}

any_bytes!(i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64);
// SAFETY: a byte, 0 or 1.
unsafe impl Bytes for bool {}
// SAFETY: a `u32`.
unsafe impl Bytes for char {}

fn view<T: Bytes>(values: &[T]) -> &[u8] {
    // SAFETY: the slice's own memory, all of it initialised; a byte has no alignment.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

fn view_mut<T: AnyBytes>(values: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `view`; and whatever is written is a value.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), size_of_val(values)) }
}

/// The elements of an array; `None` if they are not of base type.
pub fn of(value: &Value) -> Option<&[u8]> {
    Some(match &value.data {
        Data::Bool(v) => view(v),
        Data::Char(v) => view(v),
        Data::I8(v) => view(v),
        Data::I16(v) => view(v),
        Data::I32(v) => view(v),
        Data::I64(v) => view(v),
        Data::U8(v) => view(v),
        Data::U16(v) => view(v),
        Data::U32(v) => view(v),
        Data::U64(v) => view(v),
        Data::F16(v) => view(v),
        Data::F32(v) => view(v),
        Data::F64(v) => view(v),
        Data::Box(_) | Data::Tuple(_) | Data::Function(_) => return None,
    })
}

/// Asks for huge pages where much memory is written for the first time: clearing and mapping small ones takes longer than a
/// file's bytes take to come. Where the system has none nothing changes.
pub fn in_huge_pages(bytes: &mut [u8]) {
    const LEAST: usize = 4 << 20;
    const PAGE: usize = 4096;
    let start = bytes.as_mut_ptr().align_offset(PAGE);
    if bytes.len() < LEAST || start >= PAGE {
        return;
    }
    let pages = &mut bytes[start..];
    // SAFETY: whole pages of the slice's own memory, whose content does not change.
    #[cfg(target_os = "linux")]
    unsafe {
        libc::madvise(pages.as_mut_ptr().cast(), pages.len() / PAGE * PAGE, libc::MADV_HUGEPAGE);
    }
}

/// An array whose elements `fill` writes, all of them, as bytes that are 0 before. What is no `bool` counts
/// as true, and what is no `char` becomes the replacement character: compiled code is not trusted so far.
pub fn array<E>(
    ty: BaseTy,
    dims: &[usize],
    fill: impl FnOnce(&mut [u8]) -> Result<(), E>,
) -> Result<Value, E> {
    let n = dims.iter().product();
    macro_rules! filled {
        ($zero:expr) => {{
            let mut elements = vec![$zero; n];
            fill(view_mut(&mut elements))?;
            elements
        }};
    }
    let data = match ty {
        BaseTy::Bool => Data::Bool(filled!(0u8).into_iter().map(|b| b != 0).collect()),
        BaseTy::Char => {
            let code = |c| char::from_u32(c).unwrap_or(char::REPLACEMENT_CHARACTER);
            Data::Char(filled!(0u32).into_iter().map(code).collect())
        }
        BaseTy::I8 => Data::I8(filled!(0)),
        BaseTy::I16 => Data::I16(filled!(0)),
        BaseTy::I32 => Data::I32(filled!(0)),
        BaseTy::I64 => Data::I64(filled!(0)),
        BaseTy::U8 => Data::U8(filled!(0)),
        BaseTy::U16 => Data::U16(filled!(0)),
        BaseTy::U32 => Data::U32(filled!(0)),
        BaseTy::U64 => Data::U64(filled!(0)),
        BaseTy::F16 => Data::F16(filled!(f16::ZERO)),
        BaseTy::F32 => Data::F32(filled!(0.0)),
        BaseTy::F64 => Data::F64(filled!(0.0)),
    };
    Ok(Value { atom: AtomTy::Base(ty), shape: dims.to_vec(), data })
}

#[cfg(test)]
mod tests {
    use super::*;
    use remc_base::Scalar;

    #[test]
    fn there_and_back() {
        for ty in BaseTy::ALL {
            let n = |i: i64| {
                Scalar::from_bits64(ty, if ty == BaseTy::Bool { i % 2 } else { i }).expect("small numbers")
            };
            let value = Value::of_scalars(ty, vec![2, 3], (0..6).map(n));
            let bytes = of(&value).unwrap().to_vec();
            assert_eq!(bytes.len(), 6 * ty.bits() as usize / 8, "{ty}");
            let back: Result<Value, ()> = array(ty, &[2, 3], |to| {
                to.copy_from_slice(&bytes);
                Ok(())
            });
            assert_eq!(back, Ok(value));
            assert_eq!(array(ty, &[4], |_| Err("why")), Err("why"));
        }
        let wrong = |ty, byte| {
            array(ty, &[1], |to| {
                to.fill(byte);
                Ok::<(), ()>(())
            })
        };
        assert_eq!(wrong(BaseTy::Bool, 7).unwrap().data, Data::Bool(vec![true]));
        assert_eq!(wrong(BaseTy::Char, 255).unwrap().data, Data::Char(vec!['\u{fffd}']));
    }
}
