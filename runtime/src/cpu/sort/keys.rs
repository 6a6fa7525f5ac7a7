//! The sort of numbers for themselves, where nobody asks where they were.
//!
//! Elements become unsigned numbers in the order of [`remc_base::ops::total_cmp`], are sorted as such by their digits, and
//! become elements again. Which of two equal numbers comes first does not show then, but for zeros, which are equal and
//! of two signs, and what is no number, which has many patterns: where there are some of these, they are written once more,
//! in the order they had.
//!
//! They are sorted by their digits ([`super::buckets`]).

use super::super::memory::Memory;
use super::super::pool::Pool;
use super::buckets::{Bucket, Number, sort_by_all};
use super::{PARALLEL, each, unwritten, written};
use crate::heap::OutOfMemory;
use remc_base::BaseTy;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Writes `n` elements of a type in the order of the sort of all devices. If only those at some places are wanted, the others are
/// no certain ones.
///
/// # Safety
/// There are `n` elements at `keys`, which are not written meanwhile, and is room for `n` at `out`, aligned for them.
pub unsafe fn sort_keys(
    pool: &Pool,
    memory: &Memory,
    ty: BaseTy,
    (keys, n): (*const u8, usize),
    out: *mut u8,
    at: &[i64],
) -> Result<(), OutOfMemory> {
    macro_rules! sort {
        ($encoding:ident, $bits:ty) => {{
            // SAFETY: the caller's promise.
            let (keys, out) = unsafe {
                (
                    std::slice::from_raw_parts(keys.cast::<$bits>(), n),
                    std::slice::from_raw_parts_mut(out.cast(), n),
                )
            };
            sort::<$encoding<$bits>>(pool, memory, keys, out, at)
        }};
    }
    match ty {
        BaseTy::Bool | BaseTy::U8 => sort!(Unsigned, u8),
        BaseTy::U16 => sort!(Unsigned, u16),
        BaseTy::U32 | BaseTy::Char => sort!(Unsigned, u32),
        BaseTy::U64 => sort!(Unsigned, u64),
        BaseTy::I8 => sort!(Signed, u8),
        BaseTy::I16 => sort!(Signed, u16),
        BaseTy::I32 => sort!(Signed, u32),
        BaseTy::I64 => sort!(Signed, u64),
        BaseTy::F16 => sort!(Float, u16),
        BaseTy::F32 => sort!(Float, u32),
        BaseTy::F64 => sort!(Float, u64),
    }
}

/// The bits of a number of some width, as a float has them.
trait Pattern: Number + std::ops::BitXor<Output = Self> + std::ops::BitOr<Output = Self> {
    const SIGN: Self;
    /// The pattern of the float of this width that is infinite.
    const INFINITY: Self;
    /// All bits as the first one.
    fn sign_mask(self) -> Self;
    fn magnitude(self) -> Self;
}

macro_rules! pattern {
    ($t:ty, $signed:ty, $infinity:expr) => {
        impl Pattern for $t {
            const SIGN: $t = 1 << (<$t>::BITS - 1);
            const INFINITY: $t = $infinity;
            fn sign_mask(self) -> $t {
                (self as $signed >> (<$t>::BITS - 1)) as $t
            }
            fn magnitude(self) -> $t {
                self & !Self::SIGN
            }
        }
    };
}

pattern!(u8, i8, u8::MAX);
pattern!(u16, i16, 0x7c00);
pattern!(u32, i32, 0x7f80_0000);
pattern!(u64, i64, 0x7ff0 << 48);

/// How elements are numbers.
trait Encoding {
    type Bits: Pattern;
    fn encode(bits: Self::Bits) -> Self::Bits;
    fn decode(number: Self::Bits) -> Self::Bits;
    /// Whether the element is not what its number says: it shares that with others.
    fn is_odd(_: Self::Bits) -> bool {
        false
    }
}

struct Unsigned<T>(PhantomData<T>);
struct Signed<T>(PhantomData<T>);
struct Float<T>(PhantomData<T>);

impl<T: Pattern> Encoding for Unsigned<T> {
    type Bits = T;
    fn encode(bits: T) -> T {
        bits
    }
    fn decode(number: T) -> T {
        number
    }
}

impl<T: Pattern> Encoding for Signed<T> {
    type Bits = T;
    fn encode(bits: T) -> T {
        bits ^ T::SIGN
    }
    fn decode(number: T) -> T {
        number ^ T::SIGN
    }
}

impl<T: Pattern> Encoding for Float<T> {
    type Bits = T;
    fn encode(bits: T) -> T {
        let magnitude = bits.magnitude();
        let turned = bits ^ (bits.sign_mask() | T::SIGN);
        let number = if magnitude == T::ZERO { T::SIGN } else { turned };
        if magnitude > T::INFINITY { T::ALL } else { number }
    }
    fn decode(number: T) -> T {
        number ^ ((number ^ T::ALL).sign_mask() | T::SIGN)
    }
    fn is_odd(bits: T) -> bool {
        bits == T::SIGN || bits.magnitude() > T::INFINITY
    }
}

fn sort<E: Encoding>(
    pool: &Pool,
    memory: &Memory,
    keys: &[E::Bits],
    out: &mut [E::Bits],
    at: &[i64],
) -> Result<(), OutOfMemory> {
    let n = keys.len();
    let bytes = n.checked_mul(size_of::<E::Bits>()).ok_or_else(|| memory.never())?;
    let mut room = memory.buffer(bytes)?;
    let numbers = unwritten(&mut room, n);
    let workers = if n < PARALLEL { 1 } else { pool.workers() };
    let part = n.div_ceil(workers).max(1);
    let odd = AtomicBool::new(false);
    let parts = numbers.chunks_mut(part).zip(keys.chunks(part)).collect();
    each(pool, parts, |(numbers, keys): (&mut [_], &[E::Bits])| {
        let mut any = false;
        for (number, bits) in numbers.iter_mut().zip(keys) {
            number.write(E::encode(*bits));
            any |= E::is_odd(*bits);
        }
        if any {
            odd.store(true, Relaxed);
        }
    });
    // SAFETY: the parts are all of them, and each has been written.
    let numbers = unsafe { written(numbers) };
    // What shares a number with others is written once more, for which all have to be in order.
    let at = if odd.load(Relaxed) { &[] } else { at };
    let whole = Bucket::new(numbers, out, 0);
    sort_by_all(pool, whole, at, &|sorted: &mut [E::Bits], _| {
        sorted.iter_mut().for_each(|x| *x = E::decode(*x));
    });
    if odd.into_inner() {
        in_their_order::<E>(keys, out);
    }
    Ok(())
}

/// Writes those that share a number with others once more, in the order they have.
fn in_their_order<E: Encoding>(keys: &[E::Bits], out: &mut [E::Bits]) {
    for number in [E::Bits::SIGN, E::Bits::ALL] {
        let first = out.partition_point(|x| E::encode(*x) < number);
        let those = keys.iter().filter(|x| E::encode(**x) == number);
        out[first..].iter_mut().zip(those).for_each(|(to, x)| *to = *x);
    }
}
