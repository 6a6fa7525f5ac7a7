//! The process's allocator, which counts: what grows with a program or an input, and cannot ask a
//! [`crate::budget::Budget`] first, is stopped here.
//!
//! Syntax trees, what the compiler makes of them and the interpreter's arrays come from the process's allocator, whose
//! callers have no answer to "no": a vector that cannot grow aborts the process. So the end comes before that. Past a
//! limit, or where the system gives nothing, the process says one sentence and leaves with the exit code that
//! [`on_exhaustion`] was given. At the limit there is memory left to say it with; where the system is at its end, a
//! reserve is given back first. A library that is not ours may meet that end before this allocator does: LLVM throws or
//! aborts, and the unwinder aborts where it cannot start. So an abort is asked for its cause ([`aborted`]), and is such
//! an end where the system has nothing more to give.
//!
//! Each thread counts for itself and adds what it has to the sum from time to time, so that threads do not wait for
//! each other. The blocks of devices are not counted: [`crate::heap`] has a limit of its own.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};

/// The allocator of a program that has limits: its `#[global_allocator]`.
pub struct Counted;

/// How many bytes a thread counts before it tells the others.
const BATCH: i64 = 32 << 10;
/// What is given back where the system has nothing left, to write the message with.
const RESERVE: usize = 1 << 20;

static LIVE: AtomicI64 = AtomicI64::new(0);
static PEAK: AtomicI64 = AtomicI64::new(0);
static LIMIT: AtomicI64 = AtomicI64::new(i64::MAX);
static KEPT: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static EXHAUSTED: OnceLock<fn(Option<u64>)> = OnceLock::new();

/// Whether a thread is saying that there is no more memory.
static ENDING: AtomicBool = AtomicBool::new(false);

thread_local! {
    static UNTOLD: Cell<i64> = const { Cell::new(0) };
    /// Whether it is this one.
    static ENDS: Cell<bool> = const { Cell::new(false) };
}

/// Counts so many bytes more or fewer; `false` past the limit.
fn count(bytes: i64) -> bool {
    let told = UNTOLD.try_with(|untold| {
        let n = untold.get() + bytes;
        let told = if n.abs() < BATCH { 0 } else { n };
        untold.set(n - told);
        told
    });
    // A thread that ends counts no more.
    let told = told.unwrap_or(bytes);
    if told == 0 {
        return true;
    }
    let live = LIVE.fetch_add(told, Ordering::Relaxed) + told;
    if told > 0 {
        PEAK.fetch_max(live, Ordering::Relaxed);
    }
    told < 0 || live <= LIMIT.load(Ordering::Relaxed)
}

/// The end, as the program has said that it is to come; `None` where the system has no more.
#[cold]
fn exhausted(limit: Option<u64>) {
    // Once: what the message takes is allowed, and what other threads take until then.
    let before = LIMIT.swap(i64::MAX, Ordering::SeqCst);
    let kept = KEPT.swap(std::ptr::null_mut(), Ordering::SeqCst);
    if !kept.is_null() {
        // SAFETY: `on_exhaustion` took it with this layout, and the swap gives it to one thread alone.
        unsafe { System.dealloc(kept, reserve()) };
    }
    if (before != i64::MAX || limit.is_none())
        && let Some(end) = EXHAUSTED.get()
    {
        if ENDING.swap(true, Ordering::SeqCst) {
            wait_for_the_end();
        }
        let _ = ENDS.try_with(|ends| ends.set(true));
        end(limit);
    }
}

/// What a thread does that asks for memory when there is none and the process is about to leave.
fn wait_for_the_end() -> ! {
    if ENDS.try_with(Cell::get).unwrap_or(true) {
        leave("Error: there is not even the memory to say for what there is none\n", 70);
    }
    loop {
        // SAFETY: it waits for a signal.
        unsafe { libc::pause() };
    }
}

/// What has to be left that an abort is not for want of memory: far more than a library of ours asks for at once, since
/// what was thrown for want of memory has freed some on its way.
const ENOUGH: usize = 256 << 20;

/// What is done at an abort: where the system gives no more, that was the cause.
extern "C" fn aborted(_signal: libc::c_int) {
    // SAFETY: it takes addresses that nobody has, touches none of them, and gives them back.
    let given = unsafe {
        let at = libc::mmap(
            std::ptr::null_mut(),
            ENOUGH,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
            -1,
            0,
        );
        at != libc::MAP_FAILED && libc::munmap(at, ENOUGH) == 0
    };
    if !given {
        exhausted(None);
    }
}

fn over() {
    let limit = LIMIT.load(Ordering::SeqCst);
    if limit != i64::MAX {
        exhausted(Some(SAID.load(Ordering::Relaxed)));
    }
}

/// The limit as it was said, for the message.
static SAID: AtomicU64 = AtomicU64::new(u64::MAX);

fn reserve() -> Layout {
    Layout::new::<[u8; RESERVE]>()
}

// SAFETY: all is the system's allocator's; what is done beside allocates only where the process ends.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !count(layout.size() as i64) {
            over();
        }
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc(layout) };
        if block.is_null() {
            exhausted(None);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !count(layout.size() as i64) {
            over();
        }
        // SAFETY: the caller's promise.
        let block = unsafe { System.alloc_zeroed(layout) };
        if block.is_null() {
            exhausted(None);
        }
        block
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if !count(size as i64 - layout.size() as i64) {
            over();
        }
        // SAFETY: the caller's promise.
        let block = unsafe { System.realloc(block, layout, size) };
        if block.is_null() {
            exhausted(None);
        }
        block
    }
}

/// What is done when there is no memory; it is to leave the process by [`leave`]. The limit is `None` where the system
/// has no more.
pub fn on_exhaustion(end: fn(limit: Option<u64>)) {
    if EXHAUSTED.set(end).is_ok() {
        // SAFETY: the layout is not of size 0.
        KEPT.store(unsafe { System.alloc(reserve()) }, Ordering::SeqCst);
        // SAFETY: a handler that returns leaves the abort to go on.
        unsafe { libc::signal(libc::SIGABRT, aborted as extern "C" fn(libc::c_int) as libc::sighandler_t) };
    }
}

/// A limit that holds until it is dropped.
pub struct Limited {
    before: (i64, u64),
}

/// From here on at most so many bytes more may be allocated and not freed, with some for the work itself: the limit of
/// which a message speaks. A limit inside another one is never larger than that.
pub fn limit(bytes: u64) -> Limited {
    let before = (LIMIT.load(Ordering::SeqCst), SAID.load(Ordering::SeqCst));
    let live = LIVE.load(Ordering::SeqCst);
    let most = live.saturating_add(i64::try_from(bytes).unwrap_or(i64::MAX)).saturating_add(WORK);
    if most < before.0 {
        LIMIT.store(most, Ordering::SeqCst);
        SAID.store(bytes, Ordering::SeqCst);
    }
    Limited { before }
}

/// What the work on data may take beside the data.
const WORK: i64 = 16 << 20;

impl Drop for Limited {
    fn drop(&mut self) {
        LIMIT.store(self.before.0, Ordering::SeqCst);
        SAID.store(self.before.1, Ordering::SeqCst);
    }
}

/// How many bytes are allocated, as far as threads have told.
pub fn live() -> u64 {
    LIVE.load(Ordering::Relaxed).max(0) as u64
}

/// The most that was allocated since this was last asked.
pub fn peak() -> u64 {
    PEAK.swap(LIVE.load(Ordering::Relaxed), Ordering::Relaxed).max(0) as u64
}

/// Says a sentence on standard error and ends the process at once: nothing is unwound, and no lock is waited for.
pub fn leave(text: &str, code: u8) -> ! {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: the bytes are there; 2 is standard error.
        let n = unsafe { libc::write(2, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(n) {
            Ok(n) if n > 0 => rest = &rest[n.min(rest.len())..],
            // Nobody is there to be told.
            _ => break,
        }
    }
    // SAFETY: it ends the process.
    unsafe { libc::_exit(i32::from(code)) }
}
