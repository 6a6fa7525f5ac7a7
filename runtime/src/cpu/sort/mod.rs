//! The sort of a plan: the stable permutation that puts items in order.
//!
//! Every element is encoded as an unsigned number whose order is that of [`remc_base::ops::total_cmp`], and elements
//! are packed into words in as few bits as their range takes: the numbers of rows and what is in them fit one as a
//! rule. What is moved about is 64 bits: the item's index in as few bits as the number of items takes, and as much of
//! its word as there is room for.
//!
//! ```text
//! word    elements of the item, at most 64 bits
//! item    the word's leading bits │ index
//! ```
//!
//! Items are sorted by those bits, digit for digit ([`buckets`]). What ties is sorted by the bits of its word that had no room,
//! what ties by its whole word by its next word, in the same way; what is left of items of many elements is compared. Items that
//! are in the order of their first key already, as the rows of ragged data are, are sorted by the other keys among those
//! that share it.
//!
//! There is one stable permutation, so the number of workers does not show.

#![allow(unsafe_code)]

mod buckets;
mod keys;
mod order;

use super::memory::{Buffer, Memory};
use super::pool::Pool;
use crate::heap::OutOfMemory;
use buckets::{Bucket, COUNTED, EACH_VALUE, Shared, VALUES, places_of_all, sort_by_all};
pub use keys::sort_keys;
pub use order::Key;
use order::{Item, Order, TOGETHER};
use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::sync::{Mutex, PoisonError};

/// Fewer items are sorted by the calling thread.
const PARALLEL: usize = 1 << 14;
/// Fewer items that tie are sorted by comparison.
const FEW: usize = 192;

/// Writes the stable permutation that sorts `out.len()` items by `keys`, compared in turn.
///
/// # Safety
/// Each key's address holds so many elements of its type for that many items, and they are not written
/// meanwhile.
pub unsafe fn grade(pool: &Pool, memory: &Memory, keys: &[Key], out: &mut [i64]) -> Result<(), OutOfMemory> {
    if let Some((groups, keys)) = Groups::of(pool, keys, out.len()) {
        return sort_groups(pool, memory, &groups, &Order::of(pool, keys, out.len()), out);
    }
    sort(pool, memory, &Order::of(pool, keys, out.len()), out)
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
        let (mut buffer, mut before) = ([0; TOGETHER], 0);
        for from in (0..n).step_by(TOGETHER) {
            let elements = &mut buffer[..TOGETHER.min(n - from)];
            key.encode(0, from, elements);
            for (at, x) in (from..).zip(&*elements) {
                match std::mem::replace(&mut before, *x).cmp(x) {
                    Ordering::Greater => return None,
                    Ordering::Less if at > 0 => {}
                    _ => continue,
                }
                if at - start > n.div_ceil(pool.workers()) {
                    return None;
                }
                start = at;
                if cuts.last().is_some_and(|cut| at - cut >= piece) {
                    cuts.push(at);
                }
            }
        }
        cuts.push(n);
        (n - start <= n.div_ceil(pool.workers())).then_some((Groups { key: *key, cuts }, rest))
    }

    /// How many of some items that follow one another share the key of the first, number `at`.
    fn first(&self, at: usize, items: usize) -> usize {
        let key = self.key.encoded(at, 0);
        let shares = |k: usize| self.key.encoded(at + k, 0) == key;
        let mut reach = 1;
        while reach < items && shares(reach) {
            reach *= 2;
        }
        let (mut lo, mut hi) = (reach / 2, reach.min(items));
        while hi - lo > 1 {
            let mid = lo + (hi - lo) / 2;
            if shares(mid) { lo = mid } else { hi = mid }
        }
        hi
    }
}

/// Sorts the items of each group by a word and what is behind it.
fn sort_groups(
    pool: &Pool,
    memory: &Memory,
    groups: &Groups,
    order: &Order,
    out: &mut [i64],
) -> Result<(), OutOfMemory> {
    let n = out.len();
    let bytes = n.checked_mul(size_of::<Item>()).ok_or_else(|| memory.never())?;
    let mut items = memory.buffer(bytes)?;
    let (mut items, mut room) = (unwritten(&mut items, n), as_items(out));
    let mut parts = Vec::new();
    for cut in groups.cuts.windows(2) {
        let (a, b);
        (a, items) = items.split_at_mut(cut[1] - cut[0]);
        (b, room) = room.split_at_mut(cut[1] - cut[0]);
        parts.push((cut[0], a, b));
    }
    each(pool, parts, |(from, items, mut room)| {
        let mut items = filled(order, from, items);
        let (mut at, mut counts) = (from, [0; VALUES]);
        while !items.is_empty() {
            let (group, others) = items.split_at_mut(groups.first(at, items.len()));
            let (beside, more) = room.split_at_mut(group.len());
            at += group.len();
            sort_bucket(order, Stage::default(), Bucket::new(group, beside, order.index_bits()), &mut counts);
            (items, room) = (others, more);
        }
    });
    Ok(())
}

/// Sorts all items.
fn sort(pool: &Pool, memory: &Memory, order: &Order, out: &mut [i64]) -> Result<(), OutOfMemory> {
    let n = out.len();
    if n == 0 || by_counting(pool, order, out) {
        return Ok(());
    }
    let bytes = n.checked_mul(size_of::<Item>()).ok_or_else(|| memory.never())?;
    let mut items = memory.buffer(bytes)?;
    let items = unwritten(&mut items, n);
    let part = n.div_ceil(if n < PARALLEL { 1 } else { pool.workers() });
    let parts = items.chunks_mut(part).enumerate().collect();
    each(pool, parts, |(k, items)| {
        filled(order, k * part, items);
    });
    // SAFETY: the parts are all of them, and each has been written.
    let items = unsafe { written(items) };
    let whole = Bucket::new(items, as_items(out), order.index_bits());
    sort_by_all(pool, whole, &[], &|sorted: &mut [Item], room: &mut [Item]| {
        settle(order, Stage::default(), sorted, room);
    });
    Ok(())
}

/// Sorts items of a small range, as the keys of groups are, by counting those of each value and writing the number of each item
/// where it belongs (counting sort). Whether they are such.
fn by_counting(pool: &Pool, order: &Order, out: &mut [i64]) -> bool {
    let n = out.len();
    let workers = if n < PARALLEL { 1 } else { pool.workers() };
    let few = |bits: &u32| *bits <= COUNTED && (workers * EACH_VALUE) << bits <= n;
    let Some(bits) = order.only_bits().filter(few) else { return false };
    let part = n.div_ceil(workers);
    let mut counts = vec![vec![0usize; 1 << bits]; n.div_ceil(part)];
    // What is done to the value of each item of a part.
    let for_part = |k: usize, act: &mut dyn FnMut(usize, &[u64])| {
        let mut words = [0; TOGETHER];
        let end = n.min((k + 1) * part);
        for from in (k * part..end).step_by(TOGETHER) {
            let words = &mut words[..TOGETHER.min(end - from)];
            order.first_words(from, words);
            act(from, words);
        }
    };
    each(pool, counts.iter_mut().enumerate().collect(), |(k, counts): (usize, &mut Vec<usize>)| {
        for_part(k, &mut |_, words| words.iter().for_each(|x| counts[*x as usize] += 1));
    });
    let places = places_of_all(&mut counts);
    debug_assert_eq!(places.last(), Some(&n));
    let room = Shared(out.as_mut_ptr());
    each(pool, counts.iter_mut().enumerate().collect(), |(k, places): (usize, &mut Vec<usize>)| {
        for_part(k, &mut |from, words| {
            for (x, index) in words.iter().zip(from..) {
                // SAFETY: as many items of each value, and of those before, were counted.
                unsafe { room.write(&mut places[*x as usize], index as i64) };
            }
        });
    });
    true
}

/// Room for items where their numbers are wanted: both are words.
fn as_items(out: &mut [i64]) -> &mut [Item] {
    // SAFETY: words of one size and alignment, of which all patterns are numbers.
    unsafe { std::slice::from_raw_parts_mut(out.as_mut_ptr().cast(), out.len()) }
}

/// The first `n` places of a buffer.
fn unwritten<T>(buffer: &mut Buffer, n: usize) -> &mut [MaybeUninit<T>] {
    let n = n.min(buffer.bytes() / size_of::<T>());
    // SAFETY: the buffer is borrowed for as long, is aligned for any type of this module, and has room.
    unsafe { std::slice::from_raw_parts_mut(buffer.address().cast(), n) }
}

/// # Safety
/// All items have been written.
unsafe fn written<T>(items: &mut [MaybeUninit<T>]) -> &mut [T] {
    // SAFETY: `MaybeUninit` has the layout of what it may be, and the caller promises the rest.
    unsafe { &mut *(items as *mut [MaybeUninit<T>] as *mut [T]) }
}

/// All items from one on, in the order they have.
fn filled<'a>(order: &Order, from: usize, items: &'a mut [MaybeUninit<Item>]) -> &'a mut [Item] {
    order.items(from, items);
    // SAFETY: they have just been written.
    unsafe { written(items) }
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

/// What items are sorted by: the leading bits of a word, or those that had no room beside the index.
#[derive(Clone, Copy, Default)]
struct Stage {
    word: usize,
    low: bool,
}

impl Stage {
    /// What those are sorted by that tie, if anything is left.
    fn next(self, order: &Order) -> Option<Stage> {
        let Stage { word, low } = self;
        match low {
            false if order.low(word) > 0 => Some(Stage { word, low: true }),
            _ if order.goes_on(word) => Some(Stage { word: word + 1, low: false }),
            _ => None,
        }
    }

    /// The item of an index, if what it is sorted by fits beside that.
    fn item(self, order: &Order, index: usize) -> Option<Item> {
        let Stage { word, low } = self;
        match low {
            // Of items without number the low bits have no room beside the index.
            true => (order.low(word) <= order.leading(word))
                .then(|| order.item(order.beside_lead(word, index), index)),
            false => order.item_by(word, index),
        }
    }
}

/// Sorts a bucket by a stage, and what ties by those after it; in the end they are the numbers of items.
fn sort_bucket(order: &Order, stage: Stage, bucket: Bucket<'_, Item>, counts: &mut [usize; VALUES]) {
    bucket.sort(counts, &[], &|sorted, room| settle(order, stage, sorted, room));
}

/// Sorts what ties among items that are in order by a stage, and makes them the numbers of items. There is as much room.
fn settle(order: &Order, stage: Stage, items: &mut [Item], mut room: &mut [Item]) {
    let next = stage.next(order);
    let Some(next) = next else {
        items.iter_mut().for_each(|item| *item = order.index(*item) as Item);
        return;
    };
    for tied in items.chunk_by_mut(|a, b| order.lead(*a) == order.lead(*b)) {
        let beside;
        (beside, room) = room.split_at_mut(tied.len());
        let fits = tied.len() >= FEW && next.item(order, order.index(tied[0])).is_some();
        if !fits {
            tied.iter_mut().for_each(|item| *item = order.index(*item) as Item);
            if tied.len() > 1 {
                tied.sort_by(|a, b| order.compare_from(next.word, *a as usize, *b as usize));
            }
            continue;
        }
        for item in tied.iter_mut() {
            *item = next.item(order, order.index(*item)).unwrap_or(*item);
        }
        let bucket = Bucket::new(tied, beside, order.index_bits()).back();
        sort_bucket(order, next, bucket, &mut [0; VALUES]);
    }
}
