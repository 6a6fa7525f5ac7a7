//! A device's memory: blocks by size class, kept for reuse.
//!
//! Where blocks come from is the device's matter, a [`Source`]: the process's memory for the cpu device,
//! the GPU's for the cuda device. To ask for a block is slow there and there; so a freed block is kept and
//! given out again, to a buffer that fills at least four fifths of it, within the run and in later runs.
//! What is kept is bounded by what is in use: see [`Heap::make_room`].
//!
//! A limit holds for what is alive, counted in the bytes that were asked for: a program that stops for want
//! of memory stops at the same place whatever was kept before.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is kept for reuse even where nothing is in use.
const ALWAYS_KEPT: usize = 64 << 20;

/// Where blocks come from.
pub trait Source {
    /// Memory of its own, which goes back when it is dropped. The elements are unspecified.
    type Block;

    /// The capacity of a block for so many bytes; `None` past what can be addressed.
    fn class(&self, bytes: usize) -> Option<usize>;

    /// A block of a capacity that `class` gave.
    fn block(&self, capacity: usize) -> Option<Self::Block>;
}

/// Why there is no buffer: so many bytes are left of what may be given out at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory {
    pub most: u64,
}

/// How many bytes an array of this shape takes; `None` past what can be addressed. A negative dim is one
/// past 63 bits, and an array without elements takes none, whatever its other dims are.
pub fn size_of(dims: &[i64], element_bytes: u64) -> Option<usize> {
    if dims.contains(&0) {
        return Some(0);
    }
    let elements = dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d as u64))?;
    usize::try_from(elements.checked_mul(element_bytes)?).ok()
}

/// The memory of a device, shared by its runs and what they leave.
pub struct Memory<S: Source>(Arc<Mutex<Heap<S>>>);

impl<S: Source> Clone for Memory<S> {
    fn clone(&self) -> Memory<S> {
        Memory(self.0.clone())
    }
}

struct Heap<S: Source> {
    source: S,
    limit: u64,
    /// By capacity.
    kept: BTreeMap<usize, Vec<S::Block>>,
    kept_bytes: usize,
    live: u64,
    peak: u64,
    allocations: u64,
    reused: u64,
}

/// What has been given out, since some moment.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub live: u64,
    pub peak: u64,
    pub allocations: u64,
    pub reused: u64,
    /// Bytes of freed blocks that wait for reuse.
    pub kept: usize,
}

/// A piece of a device's memory, which goes back when it is dropped.
pub struct Buffer<S: Source> {
    /// Only taken when dropped.
    block: Option<S::Block>,
    capacity: usize,
    bytes: usize,
    memory: Memory<S>,
}

impl<S: Source> Memory<S> {
    /// At most `limit` bytes are alive at a time.
    pub fn new(source: S, limit: u64) -> Memory<S> {
        Memory(Arc::new(Mutex::new(Heap {
            source,
            limit,
            kept: BTreeMap::new(),
            kept_bytes: 0,
            live: 0,
            peak: 0,
            allocations: 0,
            reused: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Heap<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn buffer(&self, bytes: usize) -> Result<Buffer<S>, OutOfMemory> {
        let (block, capacity) = self.lock().take(bytes)?;
        Ok(Buffer { block: Some(block), capacity, bytes, memory: self.clone() })
    }

    /// Why a buffer of more bytes than there are addresses is not given out.
    pub fn never(&self) -> OutOfMemory {
        self.lock().left()
    }

    pub fn usage(&self) -> Usage {
        let heap = self.lock();
        Usage {
            live: heap.live,
            peak: heap.peak,
            allocations: heap.allocations,
            reused: heap.reused,
            kept: heap.kept_bytes,
        }
    }

    /// Forgets how much was in use before now, and how often.
    pub fn restart_counting(&self) {
        let heap = &mut *self.lock();
        (heap.peak, heap.allocations, heap.reused) = (heap.live, 0, 0);
    }
}

impl<S: Source> Heap<S> {
    fn take(&mut self, bytes: usize) -> Result<(S::Block, usize), OutOfMemory> {
        let too_large = self.left();
        let live = self.live.checked_add(bytes as u64).filter(|n| *n <= self.limit).ok_or(too_large)?;
        let capacity = self.source.class(bytes).ok_or(too_large)?;
        let most = capacity.saturating_add(capacity / 4);
        let fits = self.kept.range(capacity..=most).next().map(|(n, _)| *n);
        let taken = match fits.and_then(|n| self.take_kept(n).map(|block| (block, n))) {
            Some(block) => {
                self.reused += 1;
                block
            }
            None => {
                self.make_room(capacity);
                let fresh = self.source.block(capacity).or_else(|| {
                    // What is kept may be what is missing.
                    self.release_all();
                    self.source.block(capacity)
                });
                (fresh.ok_or(too_large)?, capacity)
            }
        };
        self.allocations += 1;
        self.live = live;
        self.peak = self.peak.max(live);
        Ok(taken)
    }

    fn left(&self) -> OutOfMemory {
        OutOfMemory { most: self.limit.saturating_sub(self.live) }
    }

    fn take_kept(&mut self, capacity: usize) -> Option<S::Block> {
        let blocks = self.kept.get_mut(&capacity)?;
        let block = blocks.pop();
        if blocks.is_empty() {
            self.kept.remove(&capacity);
        }
        self.kept_bytes -= if block.is_some() { capacity } else { 0 };
        block
    }

    /// Releases blocks, the largest first, until no more is kept than is in use, so that a program whose
    /// sizes change holds at most twice what it needs.
    fn make_room(&mut self, capacity: usize) {
        let in_use = usize::try_from(self.live).unwrap_or(usize::MAX).saturating_add(capacity);
        while self.kept_bytes > in_use.max(ALWAYS_KEPT) {
            let Some((largest, _)) = self.kept.last_key_value().map(|(n, b)| (*n, b.len())) else { return };
            drop(self.take_kept(largest));
        }
    }

    fn release_all(&mut self) {
        self.kept.clear();
        self.kept_bytes = 0;
    }

    fn give_back(&mut self, block: S::Block, capacity: usize, bytes: usize) {
        self.live = self.live.saturating_sub(bytes as u64);
        self.kept_bytes += capacity;
        self.kept.entry(capacity).or_default().push(block);
    }
}

impl<S: Source> Buffer<S> {
    /// The memory itself; there is none only while the buffer is dropped.
    pub fn block(&self) -> Option<&S::Block> {
        self.block.as_ref()
    }

    /// How many bytes were asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl<S: Source> Drop for Buffer<S> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.memory.lock().give_back(block, self.capacity, self.bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::rc::Rc;

    /// A source of so many bytes, in blocks of multiples of 100.
    struct Fake {
        left: Rc<Cell<usize>>,
    }

    struct FakeBlock {
        capacity: usize,
        left: Rc<Cell<usize>>,
    }

    impl Drop for FakeBlock {
        fn drop(&mut self) {
            self.left.set(self.left.get() + self.capacity);
        }
    }

    impl Source for Fake {
        type Block = FakeBlock;

        fn class(&self, bytes: usize) -> Option<usize> {
            bytes.max(1).checked_next_multiple_of(100)
        }

        fn block(&self, capacity: usize) -> Option<FakeBlock> {
            self.left.set(self.left.get().checked_sub(capacity)?);
            Some(FakeBlock { capacity, left: self.left.clone() })
        }
    }

    fn memory(bytes: usize, limit: u64) -> (Memory<Fake>, Rc<Cell<usize>>) {
        let left = Rc::new(Cell::new(bytes));
        (Memory::new(Fake { left: left.clone() }, limit), left)
    }

    #[test]
    fn the_limit_is_of_what_is_alive() {
        let (memory, _) = memory(1 << 30, 1000);
        let first = memory.buffer(600).unwrap();
        assert_eq!(memory.buffer(600).err(), Some(OutOfMemory { most: 400 }));
        assert!(memory.buffer(usize::MAX).is_err());
        drop(first);
        assert!(memory.buffer(1000).is_ok());
        let usage = memory.usage();
        assert_eq!((usage.live, usage.peak, usage.allocations, usage.reused), (0, 1000, 2, 0));
        memory.restart_counting();
        assert_eq!((memory.usage().peak, memory.usage().allocations), (0, 0));
    }

    #[test]
    fn blocks_are_reused_where_they_are_filled() {
        let (memory, left) = memory(1 << 30, 1 << 30);
        drop(memory.buffer(1000).unwrap());
        drop(memory.buffer(801).unwrap());
        assert_eq!(memory.usage().reused, 1, "nine tenths of it");
        drop(memory.buffer(700).unwrap());
        assert_eq!((memory.usage().reused, memory.usage().kept), (1, 1700), "too little of it");
        assert_eq!(left.get(), (1 << 30) - 1700);
    }

    #[test]
    fn what_is_kept_goes_before_memory_is_short() {
        let (memory, left) = memory(1000, 1 << 30);
        drop((memory.buffer(300).unwrap(), memory.buffer(300).unwrap()));
        assert_eq!(left.get(), 400);
        let large = memory.buffer(900).unwrap();
        assert_eq!((left.get(), memory.usage().kept), (100, 0));
        assert!(memory.buffer(200).is_err(), "the source has no more");
        drop(large);
        assert!(memory.buffer(900).is_ok());
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let (memory, _) = memory(1 << 40, u64::MAX);
        for mib in (8..400).step_by(7) {
            drop(memory.buffer(mib << 20).unwrap());
            assert!(memory.usage().kept <= ALWAYS_KEPT + (mib << 21), "{mib}");
        }
    }
}
