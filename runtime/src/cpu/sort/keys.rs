//! The sort of numbers for themselves, where nobody asks where they were.
//!
//! Elements become unsigned numbers in the order of [`remc_base::ops::total_cmp`], are sorted as such by their digits, and
//! become elements again. Which of two equal numbers comes first does not show then, but for zeros, which are equal and
//! of two signs, and what is no number, which has many patterns: where there are some of these, they are written once more,
//! in the order they had.
//!
//! Items are parted by the eight most significant bits in which they differ: those of each value are a bucket, which is
//! sorted in the same way by the bits that are left (MSD radix sort); from the last digit on where these are few, by
//! comparison where the items are. A bucket of more than a thread's share is parted by all threads: each counts its part of
//! the items, and moves them behind those of lesser buckets and of parts before. Any other is one thread's, in its cache.
//! Of a bucket that has half of the items or more the range is looked for anew: numbers close together beside one that is
//! far off cost one pass more, no further one for each digit that they share.
//!
//! Where only some places are wanted, buckets that have none of them stay as they are (selection by radix).
//!
//! Memory that is written at 256 places in turn is asked for ahead of each: a processor's stores wait for their lines one
//! after the other, which is twice as slow.

use super::super::memory::Memory;
use super::super::pool::Pool;
use super::{PARALLEL, each, unwritten, written};
use crate::heap::OutOfMemory;
use remc_base::BaseTy;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Bits of a digit.
const DIGIT: u32 = 8;
const VALUES: usize = 1 << DIGIT;
/// So many digits at most are sorted from the last one on, in buckets of so many items at least for each.
const DIGITS: u32 = 2;
const EACH: usize = 128;
/// Fewer items are sorted by comparison, and buckets of half as many are small enough.
const FEW: usize = 64;
/// How far ahead of what is written its memory is asked for, in bytes.
pub(super) const AHEAD: usize = 128;
/// So many items at least are a task.
const TASK: usize = 1 << 14;

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

/// An unsigned number.
trait Number:
    Copy + Ord + Send + Sync + std::ops::BitXor<Output = Self> + std::ops::BitOr<Output = Self>
{
    const SIGN: Self;
    const ALL: Self;
    /// The pattern of the float of this width that is infinite.
    const INFINITY: Self;
    const ZERO: Self;
    fn less(self, other: Self) -> u64;
    fn plus(self, other: u64) -> Self;
    /// All bits as the first one.
    fn sign_mask(self) -> Self;
    fn magnitude(self) -> Self;
}

macro_rules! number {
    ($t:ty, $signed:ty, $infinity:expr) => {
        impl Number for $t {
            const SIGN: $t = 1 << (<$t>::BITS - 1);
            const ALL: $t = <$t>::MAX;
            const INFINITY: $t = $infinity;
            const ZERO: $t = 0;
            fn less(self, other: $t) -> u64 {
                self.wrapping_sub(other) as u64
            }
            fn plus(self, other: u64) -> $t {
                self.wrapping_add(other as $t)
            }
            fn sign_mask(self) -> $t {
                (self as $signed >> (<$t>::BITS - 1)) as $t
            }
            fn magnitude(self) -> $t {
                self & !Self::SIGN
            }
        }
    };
}

number!(u8, i8, u8::MAX);
number!(u16, i16, 0x7c00);
number!(u32, i32, 0x7f80_0000);
number!(u64, i64, 0x7ff0 << 48);

/// How elements are numbers.
trait Encoding {
    type Bits: Number;
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

impl<T: Number> Encoding for Unsigned<T> {
    type Bits = T;
    fn encode(bits: T) -> T {
        bits
    }
    fn decode(number: T) -> T {
        number
    }
}

impl<T: Number> Encoding for Signed<T> {
    type Bits = T;
    fn encode(bits: T) -> T {
        bits ^ T::SIGN
    }
    fn decode(number: T) -> T {
        number ^ T::SIGN
    }
}

impl<T: Number> Encoding for Float<T> {
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
    let whole = Bucket { items: numbers, room: out, back: false, range: None, start: 0 };
    let mut buckets = vec![whole];
    let (mut tasks, mut task, mut tasked) = (Vec::new(), Vec::new(), 0);
    let large = if workers == 1 { usize::MAX } else { (n / (4 * workers)).max(PARALLEL) };
    while let Some(bucket) = buckets.pop() {
        if !bucket.is_wanted(at) {
            continue;
        }
        if bucket.items.len() > large {
            let range = Range::of_all(pool, bucket.items, part);
            if range.bits > 0 {
                buckets.extend(bucket.part_by_all(pool, workers, range));
                continue;
            }
        }
        tasked += bucket.items.len();
        task.push(bucket);
        if tasked >= TASK {
            tasks.push(std::mem::take(&mut task));
            tasked = 0;
        }
    }
    tasks.push(task);
    // The largest begin first.
    tasks.sort_by_key(|task| std::cmp::Reverse(task.iter().map(|b| b.items.len()).sum::<usize>()));
    each(pool, tasks, |task| {
        let mut counts = [0; VALUES];
        for bucket in task {
            bucket.sort(&mut counts, at, &|sorted| sorted.iter_mut().for_each(|x| *x = E::decode(*x)));
        }
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

/// The range of some numbers: the least of them, or less, and in how many bits they differ less that.
#[derive(Clone, Copy)]
struct Range<N> {
    least: N,
    bits: u32,
}

impl<N: Number> Range<N> {
    /// The least and the greatest of some numbers.
    fn ends(items: &[N]) -> [N; 2] {
        items.iter().fold([N::ALL, N::ZERO], |[least, most], x| [least.min(*x), most.max(*x)])
    }

    fn between([least, most]: [N; 2]) -> Range<N> {
        let bits = if least < most { u64::BITS - most.less(least).leading_zeros() } else { 0 };
        Range { least, bits }
    }

    fn of(items: &[N]) -> Range<N> {
        Range::between(Range::ends(items))
    }

    fn of_all(pool: &Pool, items: &[N], part: usize) -> Range<N> {
        let all = Mutex::new([N::ALL, N::ZERO]);
        each(pool, items.chunks(part).collect(), |items: &[N]| {
            let [least, most] = Range::ends(items);
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            *all = [all[0].min(least), all[1].max(most)];
        });
        Range::between(all.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The first digit of numbers of a range, at most so many bits of it.
#[derive(Clone, Copy)]
struct First<N> {
    range: Range<N>,
    /// How many bits are behind the digit.
    left: u32,
}

impl<N: Number> First<N> {
    fn of(range: Range<N>, most: u32) -> First<N> {
        First { range, left: range.bits.saturating_sub(most) }
    }

    fn values(self) -> usize {
        1 << (self.range.bits - self.left)
    }

    fn digit(self, x: N) -> usize {
        (x.less(self.range.least) >> self.left) as usize % VALUES
    }

    /// The range of each value.
    fn ranges(self) -> impl Iterator<Item = Range<N>> {
        let of = move |k: u64| Range { least: self.range.least.plus(k << self.left), bits: self.left };
        (0..self.values() as u64).map(of)
    }

    fn count(self, items: &[N], counts: &mut [usize]) {
        for x in items {
            counts[self.digit(*x)] += 1;
        }
    }

    /// Moves items to the places of their values, which go on from item to item.
    ///
    /// # Safety
    /// Each place is one of the room for as many items as have the value, of which nothing else knows.
    unsafe fn scatter(self, items: &[N], places: &mut [usize], room: *mut N) {
        for x in items {
            let place = &mut places[self.digit(*x)];
            // SAFETY: the caller's promise.
            unsafe {
                let to = room.add(*place);
                ask_for(to.wrapping_byte_add(AHEAD));
                to.write(*x);
            }
            *place += 1;
        }
    }
}

/// Has a cache fetch what will be written. The address may be any.
pub(super) fn ask_for<N>(at: *mut N) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: it changes nothing and cannot fail.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(at as *const i8);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = at;
}

/// The first places of the values, of which there are so many each.
fn places(counts: &mut [usize]) {
    let mut start = 0;
    for place in counts {
        start += std::mem::replace(place, start);
    }
}

/// Items that are sorted by themselves, and as much room beside them. In the end they are in the room, or back where
/// they are now.
struct Bucket<'a, N> {
    items: &'a mut [N],
    room: &'a mut [N],
    back: bool,
    /// Their range, if that is known.
    range: Option<Range<N>>,
    /// How many items come before them in all.
    start: usize,
}

/// Where all items of a part go, written by one thread each.
struct Shared<N>(*mut N);

// SAFETY: each thread writes places of its own.
unsafe impl<N: Send> Sync for Shared<N> {}

impl<'a, N: Number> Bucket<'a, N> {
    /// The buckets of the first digit, made by all threads.
    fn part_by_all(self, pool: &Pool, workers: usize, range: Range<N>) -> Vec<Bucket<'a, N>> {
        let first = First::of(range, DIGIT);
        let part = self.items.len().div_ceil(workers);
        let mut counts = vec![[0usize; VALUES]; self.items.len().div_ceil(part)];
        let parts = self.items.chunks(part).zip(&mut counts).collect();
        each(pool, parts, |(items, counts): (&[N], &mut [usize; VALUES])| first.count(items, counts));
        let (mut ends, mut start) = ([0; VALUES], 0);
        for (value, end) in ends.iter_mut().enumerate() {
            for counts in &mut counts {
                start += std::mem::replace(&mut counts[value], start);
            }
            *end = start;
        }
        let room = Shared(self.room.as_mut_ptr());
        let parts = self.items.chunks(part).zip(&mut counts).collect();
        each(pool, parts, |(items, places): (&[N], &mut [usize; VALUES])| {
            let room = &room;
            // SAFETY: so many items of each value, and of those before, were counted in the same items, and in those of
            // the parts before.
            unsafe { first.scatter(items, places, room.0) };
        });
        self.parts(&ends, first.ranges())
    }

    /// The buckets that end at these places, which have been moved to the room.
    fn parts(self, ends: &[usize], ranges: impl IntoIterator<Item = Range<N>>) -> Vec<Bucket<'a, N>> {
        let most = self.items.len() / 2;
        let (mut items, mut room, mut start, before) = (self.room, self.items, 0, self.start);
        let mut parts = Vec::new();
        for (&end, range) in ends.iter().zip(ranges) {
            let (a, b);
            (a, items) = items.split_at_mut(end - start);
            (b, room) = room.split_at_mut(end - start);
            if !a.is_empty() {
                let range = (a.len() <= most).then_some(range);
                parts.push(Bucket { items: a, room: b, back: !self.back, range, start: before + start });
            }
            start = end;
        }
        parts
    }

    /// Whether one of these places is among those of the items, or none is given.
    fn is_wanted(&self, at: &[i64]) -> bool {
        let places = self.start as i64..(self.start + self.items.len()) as i64;
        at.is_empty() || at.iter().any(|i| places.contains(i))
    }

    /// Puts the items in order, in the room or, if so, where they were, and has something done to them a bucket at a time;
    /// if places are given, where these are. There are counts for each value of a digit.
    fn sort(self, counts: &mut [usize; VALUES], at: &[i64], done: &impl Fn(&mut [N])) {
        if self.items.len() < FEW {
            self.items.sort_unstable();
            return self.end(done);
        }
        let range = self.range.unwrap_or_else(|| Range::of(self.items));
        let digits = range.bits.div_ceil(DIGIT);
        let pays = digits <= 1 || digits <= DIGITS && self.items.len() >= digits as usize * EACH;
        match digits {
            0 => self.end(done),
            _ if pays && u32::try_from(self.items.len()).is_ok() => self.by_digits(range.least, digits, done),
            _ => self.part(range, counts, at, done),
        }
    }

    /// Leaves items that are in order where they belong.
    fn end(self, done: &impl Fn(&mut [N])) {
        if self.back {
            return done(self.items);
        }
        self.room.copy_from_slice(self.items);
        done(self.room);
    }

    /// Sorts by the digits from the last on.
    fn by_digits(self, least: N, digits: u32, done: &impl Fn(&mut [N])) {
        let mut counts = [[0u32; VALUES]; DIGITS as usize];
        let counts = &mut counts[..digits as usize];
        for x in &*self.items {
            let mut left = x.less(least);
            for counts in &mut *counts {
                counts[left as usize % VALUES] += 1;
                left >>= DIGIT;
            }
        }
        let Bucket { mut items, mut room, mut back, .. } = self;
        for (d, places) in counts.iter_mut().enumerate() {
            let mut start = 0;
            for place in places.iter_mut() {
                start += std::mem::replace(place, start);
            }
            for x in &*items {
                let place = &mut places[(x.less(least) >> (d as u32 * DIGIT)) as usize % VALUES];
                room[*place as usize] = *x;
                *place += 1;
            }
            std::mem::swap(&mut items, &mut room);
            back = !back;
        }
        Bucket { items, room, back, range: None, start: self.start }.end(done);
    }

    /// Sorts the buckets of the first digit.
    fn part(self, range: Range<N>, counts: &mut [usize; VALUES], at: &[i64], done: &impl Fn(&mut [N])) {
        let first = First::of(range, (self.items.len() / (FEW / 2)).ilog2().min(DIGIT));
        let values = &mut counts[..first.values()];
        values.fill(0);
        first.count(self.items, values);
        places(values);
        // SAFETY: as many places follow one another as there are items of each value, in all as many as items.
        unsafe { first.scatter(self.items, values, self.room.as_mut_ptr()) };
        for bucket in self.parts(values, first.ranges()).into_iter().filter(|b| b.is_wanted(at)) {
            bucket.sort(counts, at, done);
        }
    }
}
