//! The device's memory: blocks by size class, kept for reuse.
//!
//! A buffer of up to a few MiB comes from the process's allocator, rounded up to a size class (eight to
//! an octave, so that at most an eighth is lost); a larger one is mapped on its own, at a boundary of huge
//! pages, with the advice to use them. Memory is never touched here: the worker that first writes a page
//! gets it near itself.
//!
//! A freed block is kept and given out again, to a buffer that fills at least four fifths of it, within
//! the run and in later runs. What is kept is bounded by what is in use: see [`Heap::make_room`].

#![allow(unsafe_code)]

use std::alloc::Layout;
use std::collections::BTreeMap;
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What every buffer is aligned to: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;
const HUGE_PAGE: usize = 2 << 20;
/// From which size on blocks are mapped.
const MAPPED: usize = 4 << 20;
/// What is kept for reuse even where nothing is in use.
const ALWAYS_KEPT: usize = 64 << 20;

/// Memory of its own, `capacity` bytes; the elements are unspecified.
#[derive(Debug)]
struct Block {
    start: NonNull<u8>,
    capacity: usize,
}

// SAFETY: a block owns its memory and knows nothing of threads.
unsafe impl Send for Block {}
// SAFETY: a shared block gives out its address and nothing else.
unsafe impl Sync for Block {}

/// The capacity of a block for `bytes`; `None` past what can be addressed.
fn class(bytes: usize) -> Option<usize> {
    let step = match bytes {
        0..512 => ALIGNMENT,
        MAPPED.. => 1 << 16,
        // An eighth of the greatest power of two that is not above.
        _ => 1 << (bytes.ilog2() - 3),
    };
    bytes.max(1).checked_next_multiple_of(step).filter(|n| *n <= isize::MAX as usize - HUGE_PAGE)
}

impl Block {
    fn layout(capacity: usize) -> Option<Layout> {
        Layout::from_size_align(capacity, ALIGNMENT).ok()
    }

    fn new(capacity: usize) -> Option<Block> {
        let start = if capacity >= MAPPED { map(capacity) } else { allocate(capacity) };
        start.map(|start| Block { start, capacity })
    }
}

fn allocate(capacity: usize) -> Option<NonNull<u8>> {
    let layout = Block::layout(capacity).filter(|l| l.size() > 0)?;
    // SAFETY: the layout is not of size 0.
    NonNull::new(unsafe { std::alloc::alloc(layout) })
}

/// Pages of their own from a huge page's boundary on.
fn map(capacity: usize) -> Option<NonNull<u8>> {
    // One huge page more, to find a boundary in; what lies around is given back.
    let length = capacity.checked_add(HUGE_PAGE)?;
    // SAFETY: a private anonymous mapping at an address of the system's choice touches nothing else.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            length,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if mapped == libc::MAP_FAILED {
        return None;
    }
    let before = mapped.cast::<u8>().align_offset(HUGE_PAGE).min(HUGE_PAGE);
    let after = HUGE_PAGE - before;
    // SAFETY: `before + capacity + after` is the length of the mapping, and all are multiples of the size
    // of a page: `capacity` is a class of `MAPPED` bytes and more, `mapped` begins at a page.
    unsafe {
        let start = mapped.cast::<u8>().add(before);
        if before > 0 {
            libc::munmap(mapped, before);
        }
        if after > 0 {
            libc::munmap(start.add(capacity).cast(), after);
        }
        // Without huge pages it works as well.
        #[cfg(target_os = "linux")]
        libc::madvise(start.cast(), capacity, libc::MADV_HUGEPAGE);
        NonNull::new(start)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if self.capacity >= MAPPED {
            // SAFETY: `map` made these pages, and the block owns them.
            unsafe { libc::munmap(self.start.as_ptr().cast(), self.capacity) };
        } else if let Some(layout) = Block::layout(self.capacity) {
            // SAFETY: `allocate` made the block with this layout.
            unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) };
        }
    }
}

/// Why there is no buffer: more than so many bytes are not given out at a time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutOfMemory {
    pub most: u64,
}

/// The memory of a device, shared by its runs and what they leave.
#[derive(Clone)]
pub struct Memory(Arc<Mutex<Heap>>);

struct Heap {
    limit: u64,
    /// By capacity.
    kept: BTreeMap<usize, Vec<Block>>,
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

/// A piece of the device's memory, 64-byte aligned, which goes back when it is dropped.
pub struct Buffer {
    /// Only taken when dropped.
    block: Option<Block>,
    bytes: usize,
    memory: Memory,
}

impl Memory {
    /// At most `limit` bytes are alive at a time, by default what the machine has.
    pub fn new(limit: Option<u64>) -> Memory {
        Memory(Arc::new(Mutex::new(Heap {
            limit: limit.unwrap_or_else(of_the_machine),
            kept: BTreeMap::new(),
            kept_bytes: 0,
            live: 0,
            peak: 0,
            allocations: 0,
            reused: 0,
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Heap> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn buffer(&self, bytes: usize) -> Result<Buffer, OutOfMemory> {
        let block = self.lock().take(bytes)?;
        Ok(Buffer { block: Some(block), bytes, memory: self.clone() })
    }

    /// Why a buffer of more bytes than there are addresses is not given out.
    pub fn never(&self) -> OutOfMemory {
        OutOfMemory { most: self.lock().limit }
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

impl Heap {
    fn take(&mut self, bytes: usize) -> Result<Block, OutOfMemory> {
        let too_large = OutOfMemory { most: self.limit };
        let live = self.live.checked_add(bytes as u64).filter(|n| *n <= self.limit).ok_or(too_large)?;
        let capacity = class(bytes).ok_or(too_large)?;
        let fits = self.kept.range(capacity..=capacity + capacity / 4).next().map(|(n, _)| *n);
        let block = match fits.and_then(|n| self.take_kept(n)) {
            Some(block) => {
                self.reused += 1;
                block
            }
            None => {
                self.make_room(capacity);
                let fresh = Block::new(capacity).or_else(|| {
                    // What is kept may be what is missing.
                    self.release_all();
                    Block::new(capacity)
                });
                fresh.ok_or(too_large)?
            }
        };
        self.allocations += 1;
        self.live = live;
        self.peak = self.peak.max(live);
        Ok(block)
    }

    fn take_kept(&mut self, capacity: usize) -> Option<Block> {
        let blocks = self.kept.get_mut(&capacity)?;
        let block = blocks.pop();
        if blocks.is_empty() {
            self.kept.remove(&capacity);
        }
        self.kept_bytes -= block.as_ref().map_or(0, |b| b.capacity);
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

    fn give_back(&mut self, block: Block, bytes: usize) {
        self.live = self.live.saturating_sub(bytes as u64);
        self.kept_bytes += block.capacity;
        self.kept.entry(block.capacity).or_default().push(block);
    }
}

impl Buffer {
    pub fn address(&self) -> *mut u8 {
        // Dangling only while it is dropped.
        self.block.as_ref().map_or(std::ptr::null_mut(), |b| b.start.as_ptr())
    }

    /// How many bytes were asked for.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.memory.lock().give_back(block, self.bytes);
        }
    }
}

/// The machine's memory in bytes, or the part of it that this process's group is given: past that the
/// system would end the process instead of refusing.
fn of_the_machine() -> u64 {
    // SAFETY: `sysconf` only reads.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    let machine = match (u64::try_from(pages), u64::try_from(size)) {
        (Ok(pages), Ok(size)) => pages.saturating_mul(size),
        _ => u64::MAX,
    };
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let group = group.and_then(|text| text.trim().parse().ok());
    machine.min(group.unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes() {
        assert_eq!(class(0), Some(64));
        assert_eq!(class(65), Some(128));
        assert_eq!(class(usize::MAX), None);
        for bytes in (1..20_000).chain([(4 << 20) - 1, 4 << 20, (4 << 20) + 1, 1 << 40]) {
            let n = class(bytes).unwrap();
            assert!(n >= bytes && n.is_multiple_of(ALIGNMENT), "{bytes} {n}");
            assert!(bytes < 512 || n - bytes <= bytes / 8 + 1, "{bytes} {n}");
            assert!(n < MAPPED || n.is_multiple_of(4096), "{bytes} {n}");
        }
    }

    #[test]
    fn buffers_are_aligned_and_reused() {
        let memory = Memory::new(None);
        for bytes in [0, 1, 1000, 5 << 20] {
            let buffer = memory.buffer(bytes).unwrap();
            let address = buffer.address();
            assert_eq!(address as usize % ALIGNMENT, 0);
            assert!(bytes < MAPPED || (address as usize).is_multiple_of(HUGE_PAGE));
            // SAFETY: the buffer has so many bytes.
            unsafe { std::ptr::write_bytes(address, 7, bytes) };
            drop(buffer);
            assert_eq!(memory.buffer(bytes).unwrap().address(), address);
        }
        let usage = memory.usage();
        assert_eq!((usage.allocations, usage.live, usage.peak), (8, 0, 5 << 20));
        assert!(usage.reused >= 4);
    }

    #[test]
    fn limits() {
        let memory = Memory::new(Some(1000));
        let first = memory.buffer(600).unwrap();
        assert_eq!(memory.buffer(600).err(), Some(OutOfMemory { most: 1000 }));
        drop(first);
        assert!(memory.buffer(600).is_ok());
        assert!(Memory::new(Some(u64::MAX)).buffer(usize::MAX).is_err());
        assert!(Memory::new(Some(u64::MAX)).buffer(1 << 60).is_err(), "the system refuses");
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let memory = Memory::new(None);
        for mib in (8..400).step_by(7) {
            drop(memory.buffer(mib << 20).unwrap());
            assert!(memory.usage().kept <= ALWAYS_KEPT + (mib << 21), "{mib}");
        }
    }
}
