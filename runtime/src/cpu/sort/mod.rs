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
//!         └─ 32 bits: by digits ─┘
//! ```
//!
//! Items are sorted by the first 32 bits of those, digit for digit from the last on (LSD radix sort, which is stable; a
//! digit that all items share is skipped). What ties is sorted by the other bits, among itself: where the first bits
//! say little, such as those of numbers close together beside one that is far off, that costs the other digits, and
//! else next to nothing. What ties by its whole word is sorted by its next word in the same way; what is left of items
//! of many elements is compared. Items that are in the order of their first key already, as the rows of ragged data
//! are, are sorted by the other keys among those that share it.
//!
//! With several workers each sorts a run, and runs are merged in pairs, each merge cut into pieces along
//! its output ("Merge Path", Green, Odeh and Birk, 2012). There is one stable permutation, so the number
//! of workers does not show.

#![allow(unsafe_code)]

mod keys;
mod order;

use super::memory::{Buffer, Memory};
use super::pool::Pool;
use crate::heap::OutOfMemory;
pub use keys::sort_keys;
pub use order::Key;
use order::{Item, Order, TOGETHER};
use std::cmp::Ordering;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Fewer items are sorted by the calling thread.
const PARALLEL: usize = 1 << 14;
/// Fewer items are sorted by comparison.
const DIGITS: usize = 192;
const DIGIT: u32 = 8;
/// By how many bits items are sorted before it is seen what ties.
const FIRST: u32 = 32;

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

fn compare(order: &Order, a: Item, b: Item) -> Ordering {
    match order.has_more(0) && order.lead(a) == order.lead(b) {
        true => order.compare_same_lead(0, order.index(a), order.index(b)),
        false => a.cmp(&b),
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
    let (mut items, mut spare) = (memory.buffer(bytes)?, memory.buffer(bytes)?);
    let (mut items, mut spare, mut out) = (unwritten(&mut items, n), unwritten(&mut spare, n), out);
    let mut parts = Vec::new();
    for cut in groups.cuts.windows(2) {
        let (a, b, c);
        (a, items) = items.split_at_mut(cut[1] - cut[0]);
        (b, spare) = spare.split_at_mut(cut[1] - cut[0]);
        (c, out) = out.split_at_mut(cut[1] - cut[0]);
        parts.push((cut[0], a, b, c));
    }
    each(pool, parts, |(from, items, spare, out)| {
        let (mut items, mut spare) = filled(order, from, items, spare);
        let mut places = out.iter_mut();
        let mut at = from;
        while !items.is_empty() {
            let (group, others) = items.split_at_mut(groups.first(at, items.len()));
            let (beside, more) = spare.split_at_mut(group.len());
            sort_run(order, 0, group, beside);
            places.by_ref().zip(&*group).for_each(|(place, item)| *place = order.index(*item) as i64);
            at += group.len();
            (items, spare) = (others, more);
        }
    });
    Ok(())
}

/// Sorts all items.
fn sort(pool: &Pool, memory: &Memory, order: &Order, out: &mut [i64]) -> Result<(), OutOfMemory> {
    let n = out.len();
    if n == 0 {
        return Ok(());
    }
    let bytes = n.checked_mul(size_of::<Item>()).ok_or_else(|| memory.never())?;
    let (mut items, mut spare) = (memory.buffer(bytes)?, memory.buffer(bytes)?);
    let workers = if n < PARALLEL { 1 } else { pool.workers() };
    let run = n.div_ceil(workers);
    let (mut items, mut spare) = {
        let (items, spare) = (unwritten(&mut items, n), unwritten(&mut spare, n));
        let parts = items.chunks_mut(run).zip(spare.chunks_mut(run)).enumerate().collect();
        each(pool, parts, |(k, (items, spare))| {
            let (items, spare) = filled(order, k * run, items, spare);
            sort_run(order, 0, items, spare);
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
    each(pool, parts, |(out, items): (&mut [i64], &[Item])| {
        for (out, item) in out.iter_mut().zip(items) {
            *out = order.index(*item) as i64;
        }
    });
    Ok(())
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

/// All items from one on, in the order they have, and as many to move them to.
fn filled<'a>(
    order: &Order,
    from: usize,
    items: &'a mut [MaybeUninit<Item>],
    spare: &'a mut [MaybeUninit<Item>],
) -> (&'a mut [Item], &'a mut [Item]) {
    order.items(from, items);
    spare.copy_from_slice(items);
    // SAFETY: both have just been written.
    unsafe { (written(items), written(spare)) }
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

/// Sorts items by a word and what comes after it; those before it are the same. `spare` is as long, or longer.
fn sort_run(order: &Order, word: usize, items: &mut [Item], spare: &mut [Item]) {
    let bits = order.leading(word);
    let left = bits.saturating_sub(FIRST);
    if items.len() < DIGITS {
        items.sort_unstable();
    } else {
        by_digits(order, items, spare, left..bits);
        if left > 0 {
            let first = |item: &Item| order.lead(*item) >> left;
            for tied in items.chunk_by_mut(|a, b| first(a) == first(b)) {
                match tied.len() {
                    1 => {}
                    n if n < DIGITS => tied.sort_unstable(),
                    _ => by_digits(order, tied, spare, 0..left),
                }
            }
        }
    }
    if order.has_more(word) {
        ties(order, items, |tied| sort_same_lead(order, word, tied, spare));
    }
}

/// Does something to items that have the same leading bits, and are more than one.
fn ties(order: &Order, items: &mut [Item], act: impl FnMut(&mut [Item])) {
    let tied = items.chunk_by_mut(|a, b| order.lead(*a) == order.lead(*b));
    tied.filter(|tied| tied.len() > 1).for_each(act);
}

/// Sorts items with the same leading bits of a word.
fn sort_same_lead(order: &Order, word: usize, items: &mut [Item], spare: &mut [Item]) {
    let low = order.low(word);
    // Of items without number the low bits have no room beside the index.
    if items.len() < DIGITS || low > order.leading(word) {
        items.sort_by(|a, b| order.compare_same_lead(word, order.index(*a), order.index(*b)));
        return;
    }
    if low == 0 {
        return sort_same_word(order, word, items, spare);
    }
    let lead = order.lead(items[0]);
    for item in items.iter_mut() {
        let index = order.index(*item);
        *item = order.item(order.beside_lead(word, index), index);
    }
    by_digits(order, items, spare, 0..low);
    if order.goes_on(word) {
        ties(order, items, |tied| sort_same_word(order, word, tied, spare));
    }
    give_back(order, lead, items);
}

/// Sorts items with the same word.
fn sort_same_word(order: &Order, word: usize, items: &mut [Item], spare: &mut [Item]) {
    let next = word + 1;
    let lead = order.lead(items[0]);
    if items.len() < DIGITS || order.item_by(next, order.index(items[0])).is_none() {
        items.sort_by(|a, b| order.compare_from(next, order.index(*a), order.index(*b)));
        return;
    }
    for item in items.iter_mut() {
        *item = order.item_by(next, order.index(*item)).unwrap_or(*item);
    }
    sort_run(order, next, items, spare);
    give_back(order, lead, items);
}

/// Gives items the leading bits that they had.
fn give_back(order: &Order, lead: u64, items: &mut [Item]) {
    items.iter_mut().for_each(|item| *item = order.item(lead, order.index(*item)));
}

/// Sorts items by some of their leading bits, those in the range counted from the last; equal ones stay in order.
fn by_digits(order: &Order, items: &mut [Item], spare: &mut [Item], bits: Range<u32>) {
    const VALUES: usize = 1 << DIGIT;
    let spare = &mut spare[..items.len()];
    let digits = bits.len().div_ceil(DIGIT as usize);
    let mask = !u64::MAX.checked_shl(bits.len() as u32).unwrap_or(0);
    let of = |item: Item| order.lead(item).checked_shr(bits.start).unwrap_or(0) & mask;
    let mut counts = vec![[0usize; VALUES]; digits];
    for item in items.iter() {
        let mut lead = of(*item);
        for counts in &mut counts {
            counts[lead as usize % VALUES] += 1;
            lead >>= DIGIT;
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
            let place = &mut counts[(of(*item) >> (d as u32 * DIGIT)) as usize % VALUES];
            keys::ask_for(to.as_mut_ptr().wrapping_add(*place).wrapping_byte_add(keys::AHEAD));
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
fn merge_pairs(pool: &Pool, order: &Order, items: &[Item], out: &mut [Item], run: usize) {
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
fn split(order: &Order, a: &[Item], b: &[Item], k: usize) -> usize {
    let (mut lo, mut hi) = (k.saturating_sub(b.len()), k.min(a.len()));
    while lo < hi {
        let mid = lo + (hi - lo) / 2;
        if compare(order, a[mid], b[k - mid - 1]).is_le() {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    lo
}

fn merge(order: &Order, a: &[Item], b: &[Item], out: &mut [Item]) {
    let (mut i, mut j) = (0, 0);
    for out in out {
        let left = match (a.get(i), b.get(j)) {
            (Some(a), Some(b)) => compare(order, *a, *b).is_le(),
            (left, _) => left.is_some(),
        };
        *out = if left { a[i] } else { b[j] };
        (i, j) = (i + usize::from(left), j + usize::from(!left));
    }
}
