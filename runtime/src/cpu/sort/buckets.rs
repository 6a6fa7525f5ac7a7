//! Buckets: numbers in order by their digits, the most significant first.
//!
//! Items are parted by the eight most significant bits in which they differ: those of each value are a bucket, which is
//! sorted in the same way by the bits that are left (MSD radix sort); from the last digit on where these are few, by
//! comparison where the items are. A bucket of more than a thread's share is parted by all threads: each counts its part of
//! the items, and moves them behind those of lesser buckets and of parts before. Any other is one thread's, in its cache.
//! Of a bucket that has half of the items or more the range is looked for anew: numbers close together beside one that is
//! far off cost one pass more, no further one for each digit that they share.
//!
//! Of numbers of a small range, as keys of groups are, all values are counted at once, and each item is moved where it
//! belongs (counting sort).
//!
//! Numbers that share all bits but some of the last keep the order they have: so those may be what an item is known by, if
//! they grow from item to item.
//!
//! Where only some places are wanted, buckets that have none of them stay as they are (selection by radix).
//!
//! Memory that is written at 256 places in turn is asked for ahead of each: a processor's stores wait for their lines one
//! after the other, which is twice as slow.

use super::super::pool::Pool;
use super::{PARALLEL, each};
use std::sync::{Mutex, PoisonError};

/// Bits of a digit.
const DIGIT: u32 = 8;
pub(super) const VALUES: usize = 1 << DIGIT;
/// So many digits at most are sorted from the last one on, in buckets of so many items at least for each.
const DIGITS: u32 = 2;
const EACH: usize = 128;
/// Fewer items are sorted by comparison, and buckets of half as many are small enough.
const FEW: usize = 64;
/// How far ahead of what is written its memory is asked for, in bytes.
const AHEAD: usize = 128;
/// Numbers that differ in so many bits at most are counted by their values, if there are so many items for each value and
/// thread.
pub(super) const COUNTED: u32 = 16;
pub(super) const EACH_VALUE: usize = 2;
/// So many items at least are a task.
const TASK: usize = 1 << 14;

/// An unsigned number.
pub(super) trait Number: Copy + Ord + Send + Sync {
    const ALL: Self;
    const ZERO: Self;
    fn less(self, other: Self) -> u64;
    fn plus(self, other: u64) -> Self;
    /// The number without so many of its last bits.
    fn without(self, bits: u32) -> Self;
}

macro_rules! number {
    ($($t:ty)*) => {$(
        impl Number for $t {
            const ALL: $t = <$t>::MAX;
            const ZERO: $t = 0;
            fn less(self, other: $t) -> u64 {
                self.wrapping_sub(other) as u64
            }
            fn plus(self, other: u64) -> $t {
                self.wrapping_add(other as $t)
            }
            fn without(self, bits: u32) -> $t {
                self & <$t>::MAX.checked_shl(bits).unwrap_or(0)
            }
        }
    )*};
}

number!(u8 u16 u32 u64);

/// The range of some numbers: the least of them, or less, and in how many bits they differ less that. The last bits do not
/// count, but are among those.
#[derive(Clone, Copy)]
pub(super) struct Range<N> {
    pub least: N,
    pub bits: u32,
    pub last: u32,
}

impl<N: Number> Range<N> {
    /// The least and the greatest of some numbers.
    fn ends(items: &[N]) -> [N; 2] {
        items.iter().fold([N::ALL, N::ZERO], |[least, most], x| [least.min(*x), most.max(*x)])
    }

    fn between([least, most]: [N; 2], last: u32) -> Range<N> {
        let least = least.without(last);
        let bits = if least < most { u64::BITS - most.less(least).leading_zeros() } else { 0 };
        Range { least, bits, last }
    }

    fn of(items: &[N], last: u32) -> Range<N> {
        Range::between(Range::ends(items), last)
    }

    /// How many bits count.
    fn counting(self) -> u32 {
        self.bits.saturating_sub(self.last)
    }

    fn of_all(pool: &Pool, items: &[N], part: usize, last: u32) -> Range<N> {
        let all = Mutex::new([N::ALL, N::ZERO]);
        each(pool, items.chunks(part).collect(), |items: &[N]| {
            let [least, most] = Range::ends(items);
            let mut all = all.lock().unwrap_or_else(PoisonError::into_inner);
            *all = [all[0].min(least), all[1].max(most)];
        });
        Range::between(all.into_inner().unwrap_or_else(PoisonError::into_inner), last)
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
        First { range, left: range.bits.saturating_sub(most).max(range.last) }
    }

    /// All bits that count.
    fn whole(range: Range<N>) -> First<N> {
        First { range, left: range.last.min(range.bits) }
    }

    fn values(self) -> usize {
        1 << (self.range.bits - self.left)
    }

    fn digit(self, x: N) -> usize {
        (x.less(self.range.least) >> self.left) as usize
    }

    /// The range of each value.
    fn ranges(self) -> impl Iterator<Item = Range<N>> {
        let Range { least, last, .. } = self.range;
        let of = move |k: u64| Range { least: least.plus(k << self.left), bits: self.left, last };
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
        let room = Shared(room);
        for x in items {
            // SAFETY: the caller's promise.
            unsafe { room.write(&mut places[self.digit(*x)], *x) };
        }
    }
}

/// Has a cache fetch what will be written. The address may be any.
fn ask_for<N>(at: *mut N) {
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

/// The first places of the values in each part, of which there are so many each; where those of each value end in all.
pub(super) fn places_of_all(counts: &mut [Vec<usize>]) -> Vec<usize> {
    let values = counts.first().map_or(0, Vec::len);
    let mut start = 0;
    let mut end = |value: usize| {
        for counts in &mut *counts {
            start += std::mem::replace(&mut counts[value], start);
        }
        start
    };
    (0..values).map(&mut end).collect()
}

/// Items that are sorted by themselves, and as much room beside them. In the end they are in the room, or back where
/// they are now.
pub(super) struct Bucket<'a, N> {
    items: &'a mut [N],
    room: &'a mut [N],
    back: bool,
    /// How many of the last bits do not count.
    last: u32,
    /// Their range, if that is known.
    range: Option<Range<N>>,
    /// How many items come before them in all.
    start: usize,
}

/// Where all items of a part go, written by one thread each.
pub(super) struct Shared<N>(pub *mut N);

impl<N> Shared<N> {
    /// Writes the next item at a place, which goes on.
    ///
    /// # Safety
    /// It is one of those that are there, and no other thread knows of it.
    pub unsafe fn write(&self, place: &mut usize, x: N) {
        // SAFETY: the caller's promise.
        unsafe {
            let to = self.0.add(*place);
            ask_for(to.wrapping_byte_add(AHEAD));
            to.write(x);
        }
        *place += 1;
    }
}

// SAFETY: each thread writes places of its own.
unsafe impl<N: Send> Sync for Shared<N> {}

/// Sorts the items of a bucket by all threads; of some places, if any are given, these alone for certain. `done` gets what is in
/// order, a bucket at a time, and as much room.
pub(super) fn sort_by_all<N: Number>(
    pool: &Pool,
    whole: Bucket<'_, N>,
    at: &[i64],
    done: &(impl Fn(&mut [N], &mut [N]) + Sync),
) {
    let n = whole.items.len();
    let workers = if n < PARALLEL { 1 } else { pool.workers() };
    let part = n.div_ceil(workers).max(1);
    if n >= PARALLEL {
        let range = Range::of_all(pool, whole.items, part, whole.last);
        if range.counting() <= COUNTED && (workers * EACH_VALUE) << range.counting() <= n {
            return whole.count_by_all(pool, part, range, done);
        }
    }
    let mut buckets = vec![whole];
    let (mut tasks, mut task, mut tasked) = (Vec::new(), Vec::new(), 0);
    let large = if workers == 1 { usize::MAX } else { (n / (4 * workers)).max(PARALLEL) };
    while let Some(bucket) = buckets.pop() {
        if !bucket.is_wanted(at) {
            continue;
        }
        if bucket.items.len() > large {
            let range = Range::of_all(pool, bucket.items, part, bucket.last);
            if range.counting() > 0 {
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
            bucket.sort(&mut counts, at, done);
        }
    });
}

impl<'a, N: Number> Bucket<'a, N> {
    /// Items that are sorted into the room by all of their bits but the last ones.
    pub fn new(items: &'a mut [N], room: &'a mut [N], last: u32) -> Bucket<'a, N> {
        Bucket { items, room, back: false, last, range: None, start: 0 }
    }

    /// … where they are.
    pub fn back(self) -> Bucket<'a, N> {
        Bucket { back: true, ..self }
    }

    /// The buckets of the first digit, made by all threads.
    fn part_by_all(mut self, pool: &Pool, workers: usize, range: Range<N>) -> Vec<Bucket<'a, N>> {
        let first = First::of(range, DIGIT);
        let ends = self.move_by_all(pool, self.items.len().div_ceil(workers), first);
        self.parts(&ends, first.ranges())
    }

    /// Sorts by all bits at once, by all threads.
    fn count_by_all(
        mut self,
        pool: &Pool,
        part: usize,
        range: Range<N>,
        done: &(impl Fn(&mut [N], &mut [N]) + Sync),
    ) {
        let ends = self.move_by_all(pool, part, First::whole(range));
        let n = self.items.len();
        let (mut items, mut room, mut from, mut tasks) = (self.room, self.items, 0, Vec::new());
        // What shares a value is one task's.
        for end in ends {
            if end > from && (end - from >= part || end == n) {
                let (a, b);
                (a, items) = items.split_at_mut(end - from);
                (b, room) = room.split_at_mut(end - from);
                tasks.push((a, b));
                from = end;
            }
        }
        each(pool, tasks, |(sorted, room): (&mut [N], &mut [N])| done(sorted, room));
    }

    /// Moves the items to the room, in the order of a digit, by all threads, each of which has parts of so many; where those
    /// of each value end.
    fn move_by_all(&mut self, pool: &Pool, part: usize, first: First<N>) -> Vec<usize> {
        let values = first.values();
        let mut counts = vec![vec![0usize; values]; self.items.len().div_ceil(part)];
        let parts = self.items.chunks(part).zip(&mut counts).collect();
        each(pool, parts, |(items, counts): (&[N], &mut Vec<usize>)| first.count(items, counts));
        let ends = places_of_all(&mut counts);
        let room = Shared(self.room.as_mut_ptr());
        let parts = self.items.chunks(part).zip(&mut counts).collect();
        each(pool, parts, |(items, places): (&[N], &mut Vec<usize>)| {
            let room = &room;
            // SAFETY: so many items of each value, and of those before, were counted in the same items, and in those of
            // the parts before.
            unsafe { first.scatter(items, places, room.0) };
        });
        ends
    }

    /// The buckets that end at these places, which have been moved to the room.
    fn parts(self, ends: &[usize], ranges: impl IntoIterator<Item = Range<N>>) -> Vec<Bucket<'a, N>> {
        let (most, last) = (self.items.len() / 2, self.last);
        let (mut items, mut room, mut start, before) = (self.room, self.items, 0, self.start);
        let mut parts = Vec::new();
        for (&end, range) in ends.iter().zip(ranges) {
            let (a, b);
            (a, items) = items.split_at_mut(end - start);
            (b, room) = room.split_at_mut(end - start);
            if !a.is_empty() {
                let range = (a.len() <= most).then_some(range);
                let start = before + start;
                parts.push(Bucket { items: a, room: b, back: !self.back, last, range, start });
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
    pub fn sort(self, counts: &mut [usize; VALUES], at: &[i64], done: &impl Fn(&mut [N], &mut [N])) {
        if self.items.len() < FEW {
            self.items.sort_unstable();
            return self.end(done);
        }
        let range = self.range.unwrap_or_else(|| Range::of(self.items, self.last));
        let digits = range.counting().div_ceil(DIGIT);
        let pays = digits <= 1 || digits <= DIGITS && self.items.len() >= digits as usize * EACH;
        match digits {
            0 => self.end(done),
            _ if pays && u32::try_from(self.items.len()).is_ok() => self.by_digits(range, digits, done),
            _ => self.part(range, counts, at, done),
        }
    }

    /// Leaves items that are in order where they belong.
    fn end(self, done: &impl Fn(&mut [N], &mut [N])) {
        if self.back {
            return done(self.items, self.room);
        }
        self.room.copy_from_slice(self.items);
        done(self.room, self.items);
    }

    /// Sorts by the digits from the last on.
    fn by_digits(self, range: Range<N>, digits: u32, done: &impl Fn(&mut [N], &mut [N])) {
        let Range { least, last, .. } = range;
        let mut counts = [[0u32; VALUES]; DIGITS as usize];
        let counts = &mut counts[..digits as usize];
        for x in &*self.items {
            let mut left = x.less(least) >> last;
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
                let place = &mut places[(x.less(least) >> (last + d as u32 * DIGIT)) as usize % VALUES];
                room[*place as usize] = *x;
                *place += 1;
            }
            std::mem::swap(&mut items, &mut room);
            back = !back;
        }
        Bucket { items, room, back, last, range: None, start: self.start }.end(done);
    }

    /// Sorts the buckets of the first digit.
    fn part(
        self,
        range: Range<N>,
        counts: &mut [usize; VALUES],
        at: &[i64],
        done: &impl Fn(&mut [N], &mut [N]),
    ) {
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
