//! The sort of a plan: the stable permutation that puts items in order.
//!
//! Every element is encoded as an unsigned number whose order is that of [`remc_base::ops::total_cmp`],
//! and as many leading elements of an item as fit are packed into one word beside the item's index. Where
//! that is all of the item, as for one key of any base type, runs are sorted by digits (LSD radix sort,
//! which is stable; a digit that all items share is skipped). Longer items are compared by that word, and
//! by the rest of their elements where it says nothing.
//!
//! With several workers each sorts a run, and runs are merged in pairs, each merge cut into pieces along
//! its output ("Merge Path", Green, Odeh and Birk, 2012). There is one stable permutation, so the number
//! of workers does not show.

#![allow(unsafe_code)]

use super::memory::{Buffer, Memory};
use super::pool::Pool;
use crate::heap::OutOfMemory;
use half::f16;
use remc_base::BaseTy;
use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

/// A key of all items: `n` times `elements` elements of a base type, in the memory format.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    pub address: *const u8,
    pub ty: BaseTy,
    /// How many elements each item has.
    pub elements: usize,
}

// SAFETY: the memory behind a key is only read while it is sorted by.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

/// Fewer items are sorted by the calling thread.
const PARALLEL: usize = 1 << 14;
/// Fewer items are sorted by comparison.
const DIGITS: usize = 192;
const DIGIT: u32 = 8;

/// Writes the stable permutation that sorts `out.len()` items by `keys`, compared in turn.
///
/// # Safety
/// Each key's address holds so many elements of its type for that many items, and they are not written
/// meanwhile.
pub unsafe fn grade(pool: &Pool, memory: &Memory, keys: &[Key], out: &mut [i64]) -> Result<(), OutOfMemory> {
    let order = Order::of(keys);
    if order.bits <= 32 && out.len() <= u32::MAX as usize {
        sort::<Narrow>(pool, memory, &order, out)
    } else {
        sort::<Wide>(pool, memory, &order, out)
    }
}

/// An item as it is sorted: the packed leading elements, and where it was.
trait Item: Copy + Send + Sync {
    fn new(word: u64, index: usize) -> Self;
    fn word(self) -> u64;
    fn index(self) -> usize;
}

/// A word of at most 32 bits above an index of as many.
#[derive(Clone, Copy)]
struct Narrow(u64);

#[derive(Clone, Copy)]
struct Wide {
    word: u64,
    index: u64,
}

impl Item for Narrow {
    fn new(word: u64, index: usize) -> Narrow {
        Narrow(word << 32 | index as u64)
    }

    fn word(self) -> u64 {
        self.0 >> 32
    }

    fn index(self) -> usize {
        self.0 as u32 as usize
    }
}

impl Item for Wide {
    fn new(word: u64, index: usize) -> Wide {
        Wide { word, index: index as u64 }
    }

    fn word(self) -> u64 {
        self.word
    }

    fn index(self) -> usize {
        self.index as usize
    }
}

/// The order of items.
struct Order {
    /// The elements in the word, the most significant first: of which key, which one.
    packed: Vec<(Key, usize)>,
    /// How many low bits of the word are used.
    bits: u32,
    /// What is left of the keys: of each from which element on.
    rest: Vec<(Key, usize)>,
}

/// How many bits an encoded element takes.
fn bits(ty: BaseTy) -> u32 {
    if ty == BaseTy::Bool { 1 } else { ty.bits() }
}

impl Order {
    fn of(keys: &[Key]) -> Order {
        let mut order = Order { packed: Vec::new(), bits: 0, rest: Vec::new() };
        for key in keys {
            let mut taken = 0;
            while order.rest.is_empty() && taken < key.elements && order.bits + bits(key.ty) <= 64 {
                order.packed.push((*key, taken));
                order.bits += bits(key.ty);
                taken += 1;
            }
            if taken < key.elements {
                order.rest.push((*key, taken));
            }
        }
        order
    }

    fn word(&self, item: usize) -> u64 {
        self.packed.iter().fold(0, |word, (key, k)| {
            // A shift by 64 replaces the whole word, which is still empty then.
            word.checked_shl(bits(key.ty)).unwrap_or(0) | key.encoded(item, *k)
        })
    }

    fn compare<T: Item>(&self, a: T, b: T) -> Ordering {
        a.word().cmp(&b.word()).then_with(|| self.compare_rest(a.index(), b.index()))
    }

    fn compare_rest(&self, a: usize, b: usize) -> Ordering {
        let elements = self.rest.iter().flat_map(|(key, from)| (*from..key.elements).map(move |k| (key, k)));
        elements
            .map(|(key, k)| key.encoded(a, k).cmp(&key.encoded(b, k)))
            .find(|o| o.is_ne())
            .unwrap_or(Ordering::Equal)
    }
}

impl Key {
    /// Element `k` of an item as a number of `bits(ty)` bits, in the order of `total_cmp`: signed numbers
    /// count from the least on; of floats, those below zero are turned round, both zeros are one, and
    /// every NaN is the same number above all others.
    fn encoded(&self, item: usize, k: usize) -> u64 {
        let at = item * self.elements + k;
        macro_rules! read {
            ($t:ty) => {
                // SAFETY: `grade`'s caller promises so many elements.
                unsafe { self.address.cast::<$t>().add(at).read() }
            };
        }
        match self.ty {
            BaseTy::Bool => u64::from(read!(u8) != 0),
            BaseTy::U8 => read!(u8).into(),
            BaseTy::U16 => read!(u16).into(),
            BaseTy::U32 | BaseTy::Char => read!(u32).into(),
            BaseTy::U64 => read!(u64),
            BaseTy::I8 => (read!(u8) ^ 1 << 7).into(),
            BaseTy::I16 => (read!(u16) ^ 1 << 15).into(),
            BaseTy::I32 => (read!(u32) ^ 1 << 31).into(),
            BaseTy::I64 => read!(u64) ^ 1 << 63,
            BaseTy::F16 => {
                let x: f16 = read!(f16);
                float(x.to_bits().into(), 16, x.is_nan(), x == f16::ZERO)
            }
            BaseTy::F32 => {
                let x: f32 = read!(f32);
                float(x.to_bits().into(), 32, x.is_nan(), x == 0.0)
            }
            BaseTy::F64 => {
                let x: f64 = read!(f64);
                float(x.to_bits(), 64, x.is_nan(), x == 0.0)
            }
        }
    }
}

fn float(bits: u64, width: u32, nan: bool, zero: bool) -> u64 {
    let all = u64::MAX >> (64 - width);
    let sign = 1 << (width - 1);
    if nan {
        all
    } else if zero {
        sign
    } else if bits & sign == 0 {
        bits | sign
    } else {
        bits ^ all
    }
}

fn sort<T: Item>(pool: &Pool, memory: &Memory, order: &Order, out: &mut [i64]) -> Result<(), OutOfMemory> {
    let n = out.len();
    if n == 0 {
        return Ok(());
    }
    let bytes = n.checked_mul(size_of::<T>()).ok_or_else(|| memory.never())?;
    let (mut items, mut spare) = (memory.buffer(bytes)?, memory.buffer(bytes)?);
    let workers = if n < PARALLEL { 1 } else { pool.workers() };
    let run = n.div_ceil(workers);
    let (mut items, mut spare) = {
        let (items, spare) = (unwritten::<T>(&mut items, n), unwritten::<T>(&mut spare, n));
        let parts = items.chunks_mut(run).zip(spare.chunks_mut(run)).enumerate().collect();
        each(pool, parts, |(k, (items, spare))| {
            for (i, (item, spare)) in items.iter_mut().zip(spare.iter_mut()).enumerate() {
                let at = k * run + i;
                spare.write(*item.write(T::new(order.word(at), at)));
            }
            // SAFETY: both have just been written.
            let (items, spare) = unsafe { (written(items), written(spare)) };
            sort_run(order, items, spare);
        });
        // SAFETY: the parts are all of both, and each has been written.
        unsafe { (written(items), written(spare)) }
    };
    let mut sorted = run;
    while sorted < n {
        merge_pairs(pool, order, items, spare, sorted);
        std::mem::swap(&mut items, &mut spare);
        sorted = sorted.saturating_mul(2);
    }
    let parts = out.chunks_mut(run).zip(items.chunks(run)).collect();
    each(pool, parts, |(out, items): (&mut [i64], &[T])| {
        for (out, item) in out.iter_mut().zip(items) {
            *out = item.index() as i64;
        }
    });
    Ok(())
}

/// The first `n` places of a buffer.
fn unwritten<T: Item>(buffer: &mut Buffer, n: usize) -> &mut [MaybeUninit<T>] {
    let n = n.min(buffer.bytes() / size_of::<T>());
    // SAFETY: the buffer is borrowed for as long, is aligned for any type of this module, and has room.
    unsafe { std::slice::from_raw_parts_mut(buffer.address().cast(), n) }
}

/// # Safety
/// All items have been written.
unsafe fn written<T: Item>(items: &mut [MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: `MaybeUninit<T>` has the layout of `T`, and the caller promises the rest.
    unsafe { &mut *(items as *mut [MaybeUninit<T>] as *mut [T]) }
}

/// Does each task once, on any worker.
fn each<T: Send>(pool: &Pool, tasks: Vec<T>, act: impl Fn(T) + Sync) {
    let tasks: Vec<_> = tasks.into_iter().map(|t| Mutex::new(Some(t))).collect();
    pool.run(tasks.len() as u64, 0, &|lo, hi, _| {
        for task in tasks.get(lo as usize..hi as usize).unwrap_or_default() {
            let task = task.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(task) = task {
                act(task);
            }
        }
        true
    });
}

/// Sorts items that are in the order of their indices.
fn sort_run<T: Item>(order: &Order, items: &mut [T], spare: &mut [T]) {
    if items.len() < DIGITS || !order.rest.is_empty() {
        // No two items are equal with the index, so that no order is lost.
        items.sort_unstable_by(|a, b| order.compare(*a, *b).then(a.index().cmp(&b.index())));
        return;
    }
    const VALUES: usize = 1 << DIGIT;
    let digits = order.bits.div_ceil(DIGIT) as usize;
    let mut counts = vec![[0usize; VALUES]; digits];
    for item in items.iter() {
        let mut word = item.word();
        for counts in &mut counts {
            counts[word as usize % VALUES] += 1;
            word >>= DIGIT;
        }
    }
    let (mut from, mut to) = (&mut *items, &mut *spare);
    let mut moved = false;
    for (d, counts) in counts.iter_mut().enumerate() {
        if counts.contains(&from.len()) {
            continue;
        }
        let mut start = 0;
        for count in counts.iter_mut() {
            start += std::mem::replace(count, start);
        }
        for item in from.iter() {
            let place = &mut counts[(item.word() >> (d as u32 * DIGIT)) as usize % VALUES];
            to[*place] = *item;
            *place += 1;
        }
        std::mem::swap(&mut from, &mut to);
        moved = !moved;
    }
    if moved {
        items.copy_from_slice(spare);
    }
}

/// Merges the first sorted run of `run` items with the second, the third with the fourth, and so on.
fn merge_pairs<T: Item>(pool: &Pool, order: &Order, items: &[T], out: &mut [T], run: usize) {
    let piece = (items.len() / (pool.workers() * 4)).max(PARALLEL / 4);
    let mut tasks = Vec::new();
    for (pair, out) in items.chunks(run.saturating_mul(2)).zip(out.chunks_mut(run.saturating_mul(2))) {
        let (a, b) = pair.split_at(run.min(pair.len()));
        for (k, out) in out.chunks_mut(piece).enumerate() {
            tasks.push((a, b, k * piece, out));
        }
    }
    each(pool, tasks, |(a, b, from, out)| {
        let (i, j) = (split(order, a, b, from), split(order, a, b, from + out.len()));
        merge(order, &a[i..j], &b[from - i..from + out.len() - j], out);
    });
}

/// How many of the first `k` items of the merge of `a` and `b` are from `a`.
fn split<T: Item>(order: &Order, a: &[T], b: &[T], k: usize) -> usize {
    let (mut lo, mut hi) = (k.saturating_sub(b.len()), k.min(a.len()));
    while lo < hi {
        let mid = lo + (hi - lo) / 2;
        if order.compare(a[mid], b[k - mid - 1]).is_le() {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    lo
}

fn merge<T: Item>(order: &Order, a: &[T], b: &[T], out: &mut [T]) {
    let (mut i, mut j) = (0, 0);
    for out in out {
        let left = match (a.get(i), b.get(j)) {
            (Some(a), Some(b)) => order.compare(*a, *b).is_le(),
            (left, _) => left.is_some(),
        };
        *out = if left { a[i] } else { b[j] };
        (i, j) = (i + usize::from(left), j + usize::from(!left));
    }
}
