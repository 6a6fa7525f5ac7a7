//! The sort of a plan: the stable permutation that puts items in order.
//!
//! Every element is encoded as an unsigned number whose order is that of [`remc_base::ops::total_cmp`], and elements
//! are packed into words, beside the item's index, in as few bits as their range takes: the numbers of rows and what is
//! in them fit one as a rule. By one word runs are sorted by digits (LSD radix sort, which is stable; a digit that all
//! items share is skipped). Items of a few words are sorted by one word after the other, the last first; longer ones
//! are compared, by their first word, and by the rest of their elements where it says nothing. Items that are in the order
//! of their first key already, as the rows of ragged data are, are sorted by the other keys among those that share it.
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

/// Items of more words are compared; no more elements are looked at.
const MOST_WORDS: usize = 3;
const MOST_PACKED: usize = 8;

/// Writes the stable permutation that sorts `out.len()` items by `keys`, compared in turn.
///
/// # Safety
/// Each key's address holds so many elements of its type for that many items, and they are not written
/// meanwhile.
pub unsafe fn grade(pool: &Pool, memory: &Memory, keys: &[Key], out: &mut [i64]) -> Result<(), OutOfMemory> {
    if let Some((groups, keys)) = Groups::of(pool, keys, out.len())
        && let [order] = Order::of(pool, keys, out.len()).as_slice()
    {
        return match order.bits <= 32 && out.len() <= u32::MAX as usize {
            true => sort_groups::<Narrow>(pool, memory, &groups, order, out),
            false => sort_groups::<Wide>(pool, memory, &groups, order, out),
        };
    }
    for (k, order) in Order::of(pool, keys, out.len()).iter().rev().enumerate() {
        if order.bits <= 32 && out.len() <= u32::MAX as usize {
            sort::<Narrow>(pool, memory, order, out, k == 0)?;
        } else {
            sort::<Wide>(pool, memory, order, out, k == 0)?;
        }
    }
    Ok(())
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

/// The order of items, as far as one word says it.
#[derive(Default)]
struct Order {
    /// The elements in the word, the most significant first.
    packed: Vec<Element>,
    /// How many low bits of the word are used.
    bits: u32,
    /// What is left of the keys: of each from which element on.
    rest: Vec<(Key, usize)>,
}

/// An element of a key, encoded, as it is in a word: less the least there is, in so many bits.
#[derive(Clone, Copy)]
struct Element {
    key: Key,
    number: usize,
    least: u64,
    bits: u32,
}

/// How many bits an encoded element takes.
fn bits(ty: BaseTy) -> u32 {
    if ty == BaseTy::Bool { 1 } else { ty.bits() }
}

impl Order {
    /// The words of `n` items, the most significant first. If one leaves a rest it is the only one.
    fn of(pool: &Pool, keys: &[Key], n: usize) -> Vec<Order> {
        let all = || keys.iter().flat_map(|key| (0..key.elements).map(move |k| (*key, k)));
        let plain = all().take(MOST_PACKED).map(|(key, _)| bits(key.ty)).sum::<u32>() <= 32;
        let mut orders = vec![Order::default()];
        let mut packed = 0;
        for (key, number) in all().take(MOST_PACKED) {
            let whole = Element { key, number, least: 0, bits: bits(key.ty) };
            let element = if plain || n < DIGITS { whole } else { whole.within_range(pool, n) };
            if orders.last().is_some_and(|o| o.bits + element.bits > 64) {
                if orders.len() == MOST_WORDS {
                    break;
                }
                orders.push(Order::default());
            }
            if let Some(order) = orders.last_mut() {
                order.packed.push(element);
                order.bits += element.bits;
                packed += 1;
            }
        }
        if all().nth(packed).is_some() {
            orders.truncate(1);
            packed = orders[0].packed.len();
            for key in keys {
                let taken = packed.min(key.elements);
                packed -= taken;
                if taken < key.elements {
                    orders[0].rest.push((*key, taken));
                }
            }
        }
        orders
    }

    fn word(&self, item: usize) -> u64 {
        self.packed.iter().fold(0, |word, e| {
            // A shift by 64 replaces the whole word, which is still empty then.
            word.checked_shl(e.bits).unwrap_or(0) | (e.key.encoded(item, e.number) - e.least)
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

impl Element {
    /// The element in as few bits as it takes in `n` items, which is at least one.
    fn within_range(self, pool: &Pool, n: usize) -> Element {
        let ends = Mutex::new((u64::MAX, 0));
        let part = n.div_ceil(if n < PARALLEL { 1 } else { pool.workers() });
        each(pool, (0..n.div_ceil(part)).collect(), |k| {
            let items = k * part..((k + 1) * part).min(n);
            let (least, most) = items.fold((u64::MAX, 0), |(least, most), item| {
                let x = self.key.encoded(item, self.number);
                (least.min(x), most.max(x))
            });
            let mut ends = ends.lock().unwrap_or_else(PoisonError::into_inner);
            *ends = (ends.0.min(least), ends.1.max(most));
        });
        let (least, most) = ends.into_inner().unwrap_or_else(PoisonError::into_inner);
        Element { least, bits: u64::BITS - (most - least).leading_zeros(), ..self }
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

/// Items in the order of a key, in groups that share it.
struct Groups {
    key: Key,
    /// Where those begin and end that one worker sorts: some groups of about as many items as the others'.
    cuts: Vec<usize>,
}

impl Groups {
    /// The groups by the first of some keys, and the other keys, if the items are in its order, and there is work for
    /// all workers.
    fn of<'k>(pool: &Pool, keys: &'k [Key], n: usize) -> Option<(Groups, &'k [Key])> {
        let (key, rest) = keys.split_first().filter(|(key, rest)| key.elements == 1 && !rest.is_empty())?;
        let piece = n.div_ceil(4 * pool.workers());
        let (mut cuts, mut start) = (vec![0], 0);
        for at in 1..n {
            match key.encoded(at - 1, 0).cmp(&key.encoded(at, 0)) {
                Ordering::Greater => return None,
                Ordering::Equal => continue,
                Ordering::Less => {}
            }
            if at - start > n.div_ceil(pool.workers()) {
                return None;
            }
            start = at;
            if cuts.last().is_some_and(|cut| at - cut >= piece) {
                cuts.push(at);
            }
        }
        cuts.push(n);
        (n - start <= n.div_ceil(pool.workers())).then_some((Groups { key: *key, cuts }, rest))
    }

    /// How many of some items that follow one another share the key of the first, number `at`.
    fn first(&self, at: usize, items: usize) -> usize {
        let key = self.key.encoded(at, 0);
        (1..items).find(|k| self.key.encoded(at + k, 0) != key).unwrap_or(items)
    }
}

/// Sorts the items of each group by a word and what is behind it.
fn sort_groups<T: Item>(
    pool: &Pool,
    memory: &Memory,
    groups: &Groups,
    order: &Order,
    out: &mut [i64],
) -> Result<(), OutOfMemory> {
    let n = out.len();
    let bytes = n.checked_mul(size_of::<T>()).ok_or_else(|| memory.never())?;
    let (mut items, mut spare) = (memory.buffer(bytes)?, memory.buffer(bytes)?);
    let (mut items, mut spare, mut out) = (unwritten::<T>(&mut items, n), unwritten::<T>(&mut spare, n), out);
    let mut parts = Vec::new();
    for cut in groups.cuts.windows(2) {
        let (a, b, c);
        (a, items) = items.split_at_mut(cut[1] - cut[0]);
        (b, spare) = spare.split_at_mut(cut[1] - cut[0]);
        (c, out) = out.split_at_mut(cut[1] - cut[0]);
        parts.push((cut[0], a, b, c));
    }
    each(pool, parts, |(from, items, spare, out)| {
        for (i, (item, spare)) in items.iter_mut().zip(spare.iter_mut()).enumerate() {
            spare.write(*item.write(T::new(order.word(from + i), from + i)));
        }
        // SAFETY: both have just been written.
        let (mut items, mut spare) = unsafe { (written(items), written(spare)) };
        let mut places = out.iter_mut();
        let mut at = from;
        while !items.is_empty() {
            let (group, others) = items.split_at_mut(groups.first(at, items.len()));
            let (beside, more) = spare.split_at_mut(group.len());
            sort_run(order, group, beside);
            places.by_ref().zip(&*group).for_each(|(place, item)| *place = item.index() as i64);
            at += group.len();
            (items, spare) = (others, more);
        }
    });
    Ok(())
}

/// Sorts items by one word: those that `out` names, in its order, or the `first` time all in the order they have.
fn sort<T: Item>(
    pool: &Pool,
    memory: &Memory,
    order: &Order,
    out: &mut [i64],
    first: bool,
) -> Result<(), OutOfMemory> {
    let n = out.len();
    if n == 0 {
        return Ok(());
    }
    let bytes = n.checked_mul(size_of::<T>()).ok_or_else(|| memory.never())?;
    let (mut items, mut spare) = (memory.buffer(bytes)?, memory.buffer(bytes)?);
    let workers = if n < PARALLEL { 1 } else { pool.workers() };
    let run = n.div_ceil(workers);
    let before = &*out;
    let (mut items, mut spare) = {
        let (items, spare) = (unwritten::<T>(&mut items, n), unwritten::<T>(&mut spare, n));
        let parts = items.chunks_mut(run).zip(spare.chunks_mut(run)).enumerate().collect();
        each(pool, parts, |(k, (items, spare))| {
            for (i, (item, spare)) in items.iter_mut().zip(spare.iter_mut()).enumerate() {
                let at = if first { k * run + i } else { before[k * run + i] as usize };
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

/// Sorts items; equal ones stay in order.
fn sort_run<T: Item>(order: &Order, items: &mut [T], spare: &mut [T]) {
    if items.len() < DIGITS || !order.rest.is_empty() {
        items.sort_by(|a, b| order.compare(*a, *b));
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
