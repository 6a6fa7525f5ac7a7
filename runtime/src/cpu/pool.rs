//! A fixed pool of threads that runs the blocks of one launch at a time.
//!
//! The calling thread is worker 0. Each worker has a *share*, consecutive blocks that it claims in chunks, in ascending
//! order, and then helps with what is left of the others' (affinity scheduling; Markatos and LeBlanc, 1992). So a program that
//! goes over the same arrays again and again, step by step, finds them in the caches of the cores that wrote them. Blocks
//! that wait for those below them come from one counter, in ascending order. Which worker runs which chunk is left to
//! chance in the end, so nothing that a program computes may depend on it.
//!
//! A launch costs about a microsecond, because nobody waits for a thread that is late: a worker *joins* a
//! launch while it is open, the caller closes it when no block is left to claim, and waits only for those
//! that joined. One word holds all of that:
//!
//! ```text
//! state = epoch (32 bits) | open (1) | quit (1) | joined (16)
//! ```
//!
//! Idle workers spin for some 50 µs, the time between two launches of a plan and then some, and park after
//! that. Where there are more threads than processors they park at once.

#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread::{self, JoinHandle, Thread};

const JOINED: u64 = (1 << 16) - 1;
const OPEN: u64 = 1 << 16;
const QUIT: u64 = 1 << 17;
const EPOCH: u32 = 32;

/// More threads than any machine that this runs on has processors.
pub const MOST_THREADS: usize = 1024;

/// How often a thread looks at the state before it parks; one look is some 50 ns.
const SPINS: u32 = 1000;

/// How many chunks a worker gets, if all are equally fast. More balance the load better.
const CHUNKS_PER_WORKER: u64 = 16;

/// What a launch does with the blocks from `lo` up to `hi` on a worker; `false` if no blocks above `hi`
/// need to run.
type Work<'a> = dyn Fn(u64, u64, usize) -> bool + Sync + 'a;

pub struct Pool {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
    /// Held during a launch: there is one at a time.
    launch: Mutex<()>,
}

/// On a cache line of its own: each is written by other threads, at other times, than its neighbours.
#[repr(align(128))]
struct Alone<T>(T);

struct Shared {
    state: Alone<AtomicU64>,
    /// The next block that nobody has claimed: of all of them the first one, where they are claimed in order; else of each
    /// share.
    next: Vec<Alone<AtomicU64>>,
    /// No blocks from here on need to run.
    end: Alone<AtomicU64>,
    job: UnsafeCell<Job>,
    /// The workers but the first.
    sleepers: Vec<Sleeper>,
    /// Whether the caller has parked, or is about to, to wait for those that joined.
    waiting: AtomicBool,
    caller: Mutex<Option<Thread>>,
    spins: u32,
}

// SAFETY: all fields but `job` are `Sync`. `job` is written by the caller of `Pool::run` alone, who holds
// `launch`, while the launch is closed and nobody has joined it, and read by workers that have joined.
unsafe impl Sync for Shared {}
// SAFETY: as above; the pointer in `job` is followed only between joining and leaving.
unsafe impl Send for Shared {}

#[derive(Default)]
#[repr(align(128))]
struct Sleeper {
    asleep: AtomicBool,
    thread: OnceLock<Thread>,
}

#[derive(Clone, Copy)]
struct Job {
    work: *const Work<'static>,
    blocks: u64,
    chunk: u64,
    /// How many there are; 1 where blocks are claimed in order.
    shares: u64,
    /// Those from this one on leave the work to the others.
    workers: u64,
}

impl Job {
    /// The first block of a share; that of the one after the last is the end.
    fn start(&self, share: u64) -> u64 {
        self.blocks / self.shares * share + share.min(self.blocks % self.shares)
    }
}

impl Pool {
    /// A pool of `threads` workers, the calling thread among them; fewer if the system gives fewer.
    pub fn new(threads: usize) -> Pool {
        let threads = threads.clamp(1, MOST_THREADS);
        let enough = thread::available_parallelism().is_ok_and(|n| n.get() >= threads);
        let nothing: &Work<'static> = &|_, _, _| false;
        let shared = Arc::new(Shared {
            state: Alone(AtomicU64::new(0)),
            next: (0..threads).map(|_| Alone(AtomicU64::new(0))).collect(),
            end: Alone(AtomicU64::new(0)),
            job: UnsafeCell::new(Job { work: nothing, blocks: 0, chunk: 1, shares: 1, workers: 1 }),
            sleepers: (1..threads).map(|_| Sleeper::default()).collect(),
            waiting: AtomicBool::new(false),
            caller: Mutex::new(None),
            spins: if enough { SPINS } else { 0 },
        });
        let mut pool = Pool { shared, threads: Vec::new(), launch: Mutex::new(()) };
        for id in 1..threads {
            let shared = pool.shared.clone();
            let spawned = thread::Builder::new()
                .name(format!("remc-worker-{id}"))
                .spawn(move || Shared::serve(&shared, id));
            match spawned {
                Ok(handle) => {
                    let _ = pool.shared.sleepers[id - 1].thread.set(handle.thread().clone());
                    pool.threads.push(handle);
                }
                // Those that started do all the work.
                Err(_) => break,
            }
        }
        pool
    }

    /// How many workers there are.
    pub fn workers(&self) -> usize {
        self.threads.len() + 1
    }

    /// Runs `work` on all blocks below `blocks`, or on all below the first one after which it says stop.
    /// Returns when all calls have returned. A call gets at most `each` blocks, and all are claimed
    /// in ascending order; if `each` is negative, so many workers run that each has a share of at least `-each`; 0 leaves it
    /// to the pool.
    pub fn run(&self, blocks: u64, each: i64, work: &Work<'_>) {
        if blocks == 0 {
            return;
        }
        let least = each.saturating_neg().max(1) as u64;
        if blocks < 2 * least || self.threads.is_empty() {
            work(0, blocks, 0);
            return;
        }
        let _one = self.launch.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = &*self.shared;
        let chunk = (blocks / (self.workers() as u64 * CHUNKS_PER_WORKER)).max(1);
        let chunk = if each > 0 { chunk.min(each as u64) } else { chunk };
        // SAFETY: only the lifetime changes. The pointer is followed by threads that have joined this
        // launch, and `Launch::drop` returns only when none is left, also if `work` panics here.
        let work = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        let chunks = blocks.div_ceil(chunk);
        let workers = self.workers() as u64;
        let shares = if each > 0 { 1 } else { chunks.min(blocks / least).min(workers) };
        let workers = if each < 0 { shares } else { workers };
        let job = Job { work, blocks, chunk, shares, workers };
        // SAFETY: the launch is closed, nobody has joined, and `launch` is held: nobody else looks.
        unsafe { *shared.job.get() = job };
        shared.end.0.store(blocks, Ordering::Relaxed);
        for (k, next) in (0..shares).zip(&shared.next) {
            next.0.store(job.start(k), Ordering::Relaxed);
        }
        let epoch = (shared.state.0.load(Ordering::Relaxed) >> EPOCH).wrapping_add(1);
        shared.state.0.store(epoch << EPOCH | OPEN, Ordering::SeqCst);
        let launch = Launch(shared);
        for sleeper in shared
            .sleepers
            .iter()
            .take(usize::try_from((chunks - 1).min(job.workers - 1)).unwrap_or(usize::MAX))
        {
            if sleeper.asleep.load(Ordering::SeqCst)
                && sleeper.asleep.swap(false, Ordering::SeqCst)
                && let Some(thread) = sleeper.thread.get()
            {
                thread.unpark();
            }
        }
        shared.work(job, 0);
        drop(launch);
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.shared.state.0.fetch_or(QUIT, Ordering::SeqCst);
        for handle in self.threads.drain(..) {
            handle.thread().unpark();
            // A worker that panicked has said so.
            let _ = handle.join();
        }
    }
}

/// An open launch; dropping it closes it and waits for those that joined.
struct Launch<'a>(&'a Shared);

impl Drop for Launch<'_> {
    fn drop(&mut self) {
        let shared = self.0;
        let joined = |state: u64| state & JOINED != 0;
        if !joined(shared.state.0.fetch_and(!OPEN, Ordering::AcqRel)) {
            return;
        }
        for _ in 0..shared.spins {
            if !joined(shared.state.0.load(Ordering::Acquire)) {
                return;
            }
            std::hint::spin_loop();
        }
        *shared.caller.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread::current());
        shared.waiting.store(true, Ordering::SeqCst);
        while joined(shared.state.0.load(Ordering::SeqCst)) {
            thread::park();
        }
        shared.waiting.store(false, Ordering::SeqCst);
    }
}

/// A worker that has joined; dropping it leaves.
struct Joined<'a>(&'a Shared);

impl Drop for Joined<'_> {
    fn drop(&mut self) {
        let shared = self.0;
        let before = shared.state.0.fetch_sub(1, Ordering::SeqCst);
        let last = before & JOINED == 1 && before & OPEN == 0;
        if last && shared.waiting.load(Ordering::SeqCst) {
            let caller = shared.caller.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(caller) = caller {
                caller.unpark();
            }
        }
    }
}

impl Shared {
    /// The life of worker `id`, which is not 0.
    fn serve(&self, id: usize) {
        let mut seen = 0;
        while self.join(&self.sleepers[id - 1], &mut seen) {
            let joined = Joined(self);
            // SAFETY: the launch is joined, so the job is not written until `joined` is dropped.
            let job = unsafe { *self.job.get() };
            self.work(job, id);
            drop(joined);
        }
    }

    /// Waits for an open launch other than `seen` and joins it; `false` when the pool quits.
    fn join(&self, me: &Sleeper, seen: &mut u64) -> bool {
        let mut spins = 0;
        loop {
            let state = self.state.0.load(Ordering::Acquire);
            if state & QUIT != 0 {
                return false;
            }
            if state & OPEN != 0 && state >> EPOCH != *seen {
                let joined =
                    self.state.0.compare_exchange_weak(state, state + 1, Ordering::AcqRel, Ordering::Relaxed);
                if joined.is_ok() {
                    *seen = state >> EPOCH;
                    return true;
                }
            } else if spins < self.spins {
                spins += 1;
                std::hint::spin_loop();
            } else {
                // Either the caller sees that this worker sleeps, or this worker sees the launch.
                me.asleep.store(true, Ordering::SeqCst);
                let state = self.state.0.load(Ordering::SeqCst);
                if state & QUIT == 0 && (state & OPEN == 0 || state >> EPOCH == *seen) {
                    thread::park();
                }
                me.asleep.store(false, Ordering::SeqCst);
                spins = 0;
            }
        }
    }

    /// Claims and runs chunks until none is left: of the worker's own share first, then of those after it.
    fn work(&self, job: Job, worker: usize) {
        // SAFETY: `worker` has joined the launch, or is its caller; `work` outlives the launch.
        let work = unsafe { &*job.work };
        if worker as u64 >= job.workers {
            return;
        }
        for k in 0..job.shares {
            let share = (worker as u64 + k) % job.shares;
            let (next, end) = (&self.next[share as usize].0, job.start(share + 1));
            while next.load(Ordering::Relaxed) < end {
                let lo = next.fetch_add(job.chunk, Ordering::Relaxed);
                // What is above is not needed; what is below is, in whatever share.
                if lo >= end.min(self.end.0.load(Ordering::Relaxed)) {
                    break;
                }
                let hi = lo.saturating_add(job.chunk).min(end);
                if !work(lo, hi, worker) {
                    self.end.0.fetch_min(hi, Ordering::Relaxed);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn each_block_runs_once_whatever_the_shares() {
        for threads in [1, 2, 3, 8] {
            let pool = Pool::new(threads);
            for blocks in [1, 2, 3, 7, 64, 1000] {
                for each in [0, 1, 3, -1, -4, -64, i64::MIN] {
                    let ran: Vec<AtomicUsize> = (0..blocks).map(|_| AtomicUsize::new(0)).collect();
                    // Each worker, by its first call, and the longest call.
                    let (workers, longest) = (AtomicU64::new(0), AtomicU64::new(0));
                    pool.run(blocks, each, &|lo, hi, worker| {
                        assert!(worker < threads && lo < hi);
                        (lo..hi).for_each(|b| _ = ran[b as usize].fetch_add(1, Ordering::Relaxed));
                        workers.fetch_or(1 << worker, Ordering::Relaxed);
                        longest.fetch_max(hi - lo, Ordering::Relaxed);
                        true
                    });
                    assert!(ran.iter().all(|n| n.load(Ordering::Relaxed) == 1), "{threads} {blocks} {each}");
                    let workers = u64::from(workers.into_inner().count_ones());
                    if each > 0 && threads > 1 && blocks > 1 {
                        assert!(longest.into_inner() <= each as u64);
                    }
                    if each < 0 {
                        assert!(workers <= (blocks / each.unsigned_abs()).max(1), "{blocks} {each}");
                    }
                }
            }
        }
    }

    /// A thread that spins sees the launch, and leaves it to those who have a share.
    #[test]
    fn who_has_no_share_leaves_the_work() {
        let pool = Pool::new(4);
        let ran = AtomicUsize::new(0);
        let count: &Work<'_> = &|lo, hi, _| {
            ran.fetch_add((hi - lo) as usize, Ordering::Relaxed);
            true
        };
        // SAFETY: only the lifetime changes, and the job is done before `ran` ends.
        let work = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(count) };
        let job = Job { work, blocks: 10, chunk: 1, shares: 2, workers: 2 };
        pool.shared.end.0.store(10, Ordering::Relaxed);
        (0..2).for_each(|k| pool.shared.next[k].0.store(job.start(k as u64), Ordering::Relaxed));
        pool.shared.work(job, 2);
        assert_eq!(ran.load(Ordering::Relaxed), 0);
        pool.shared.work(job, 1);
        assert_eq!(ran.load(Ordering::Relaxed), 10);
    }

    #[test]
    fn all_blocks_below_the_first_that_fails_run() {
        let pool = Pool::new(4);
        for fails in [0, 1, 250, 251, 600, 999] {
            for each in [0, 1, -8] {
                let ran: Vec<AtomicUsize> = (0..1000).map(|_| AtomicUsize::new(0)).collect();
                pool.run(1000, each, &|lo, hi, _| {
                    (lo..hi).for_each(|b| _ = ran[b as usize].fetch_add(1, Ordering::Relaxed));
                    !(lo..hi).any(|b| b >= fails)
                });
                assert!(
                    ran[..=fails as usize].iter().all(|n| n.load(Ordering::Relaxed) == 1),
                    "{fails} {each}"
                );
            }
        }
    }
}
