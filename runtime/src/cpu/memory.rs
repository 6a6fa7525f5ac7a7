//! The blocks of the device's memory, which [`crate::heap`] gives out and keeps for reuse.
//!
//! A buffer of up to a few MiB comes from the process's allocator, rounded up to a size class (eight to
//! an octave, so that at most an eighth is lost); a larger one is mapped on its own, at a boundary of huge
//! pages, with the advice to use them. Memory is never touched here: the worker that first writes a page
//! gets it near itself.

#![allow(unsafe_code)]

use crate::heap::{self, Source};
use std::alloc::Layout;
use std::ptr::NonNull;

/// What every buffer is aligned to: a cache line, and the widest vector.
pub const ALIGNMENT: usize = 64;
const HUGE_PAGE: usize = 2 << 20;
/// From which size on blocks are mapped.
const MAPPED: usize = 4 << 20;

/// The memory of this process, as [`crate::heap`] asks for it.
pub struct Process;

pub type Memory = heap::Memory<Process>;
/// A piece of the device's memory, 64-byte aligned, which goes back when it is dropped.
pub type Buffer = heap::Buffer<Process>;

/// At most `limit` bytes are alive at a time, by default what the machine can give.
pub fn new(limit: Option<u64>) -> Memory {
    Memory::new(Process, limit.unwrap_or_else(crate::budget::available))
}

/// Memory of its own, `capacity` bytes; the elements are unspecified.
#[derive(Debug)]
pub struct Block {
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

impl Source for Process {
    type Block = Block;

    fn class(&self, bytes: usize) -> Option<usize> {
        class(bytes)
    }

    fn block(&self, capacity: usize) -> Option<Block> {
        Block::new(capacity)
    }
}

impl Buffer {
    pub fn address(&self) -> *mut u8 {
        // Null only while it is dropped.
        self.block().map_or(std::ptr::null_mut(), |b| b.start.as_ptr())
    }
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
        let memory = new(None);
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
        assert!(new(Some(u64::MAX)).buffer(usize::MAX).is_err());
        assert!(new(Some(u64::MAX)).buffer(1 << 60).is_err(), "the system refuses");
    }
}
