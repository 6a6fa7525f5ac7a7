//! The cpu device: runs a compiled entry on a pool of threads.
//!
//! Who compiled the entry is not known here: it is an address. What compiled code and this device agree on is the ABI, which
//! [`remc_kernel::abi`] describes. Of it this device gives the functions `remc_…`; see [`symbols`].
//!
//! A buffer is an array as [`crate::bytes`] lays it out. Buffers that the device gives out begin at a multiple of
//! [`ALIGNMENT`] bytes. Where a launch names no code for its kernel, it is what [`Kernels::late`] gives, and
//! [`Kernels::thresholds`] may have other values of thresholds than the program. What a stopped run has left is freed here.

#![allow(unsafe_code)]

mod boundary;
mod error;
mod memory;
mod pool;
mod sort;
mod stats;

#[cfg(test)]
mod tests;

pub use crate::heap::Usage;
pub use crate::stop::Stopped;
pub use boundary::{Input, read_buffer};
pub use error::{Error, remc_await, remc_fail, remc_pass};
pub use memory::ALIGNMENT;
pub use pool::MOST_THREADS;
pub use stats::{KernelStats, Size, Stats, Touched};

use crate::heap::OutOfMemory;
use crate::stream::items::Layout;
use crate::stream::{Channels, Pushed, Take};
use error::read_values;
use memory::{Buffer, Memory};
use pool::Pool;
use remc_base::{BaseTy, Scalar, Value};
use remc_kernel::abi;
use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// What the device is called in messages.
pub const DEVICE: &str = "cpu device";

pub type KernelFn = unsafe extern "C" fn(*const u64, u64, u64, u64, *mut Error);
pub type EntryFn = unsafe extern "C" fn(*mut Context, *const u64, *mut u64) -> i32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuOptions {
    /// Threads that run kernels, the calling one among them.
    pub threads: usize,
    /// How many bytes of buffers there may be at a time; by default what the machine has.
    pub memory_limit: Option<u64>,
}

impl Default for CpuOptions {
    /// A thread for each processor.
    fn default() -> CpuOptions {
        CpuOptions {
            threads: std::thread::available_parallelism().map_or(1, |n| n.get()),
            memory_limit: None,
        }
    }
}

/// The device. Its threads and its memory serve one run after the other.
pub struct Cpu {
    pool: Pool,
    memory: Memory,
    /// Held during a run.
    run: Mutex<()>,
}

/// What a run leaves: its results, and the buffers among them.
pub struct Finished {
    pub slots: Vec<u64>,
    pub stats: Stats,
    buffers: HashMap<usize, Buffer>,
    lent: HashMap<usize, Lent>,
}

/// A piece of a stream where it was read, as a buffer of the plan's: the channel, and the bytes.
type Lent = (usize, Vec<u8>);

/// A run, as its plan sees it: nothing but a pointer to hand back.
pub struct Context<'a> {
    cpu: &'a Cpu,
    buffers: HashMap<usize, Buffer>,
    lent: HashMap<usize, Lent>,
    stopped: Option<Stopped>,
    stats: Stats,
    kernels: Kernels<'a>,
    /// What `kernels.late` has given, and how long that took in all.
    found: HashMap<u32, KernelFn>,
    waited: Duration,
    start: Instant,
}

/// Where the code of a kernel is, by its number; or why there is none.
pub type Late<'a> = dyn Fn(u32) -> Result<KernelFn, String> + 'a;

/// What a run has to know of the kernels of its program.
#[derive(Clone, Copy)]
pub struct Kernels<'a> {
    /// Of each kernel the buffers that it reads and writes, for the statistics.
    pub touched: &'a [Vec<Touched>],
    /// Is asked at the first launch of a kernel that the plan knows by its number alone; `None` where the plan knows
    /// the code of all. How long it takes does not count as time of the run.
    pub late: Option<&'a Late<'a>>,
    /// Values of thresholds, by their numbers, in place of the program's own; then the sizes that are compared with them
    /// are kept, too ([`Stats::tested`]).
    pub thresholds: Option<&'a [i64]>,
    /// What ends the run before it is done.
    pub limit: Option<Limit<'a>>,
    /// The channels of a program that streams.
    pub channels: Option<&'a RefCell<Channels>>,
}

/// What ends a run before it is done ([`Stopped::Ended`]): when so much of its time has passed, or somebody says so. It is
/// looked at between launches, and in a launch between blocks; a block that has begun is waited for.
#[derive(Clone, Copy)]
pub struct Limit<'a> {
    pub time: Duration,
    pub ended: Option<&'a AtomicBool>,
}

impl Limit<'_> {
    /// Whether a run that has taken so long is to end.
    pub fn is_over(&self, spent: Duration) -> bool {
        spent >= self.time || self.ended.is_some_and(|ended| ended.load(Relaxed))
    }
}

/// In so many parts the blocks of a call are run where there is a limit, so that it is looked at.
const PARTS: u64 = 256;

/// The callbacks, for who links compiled code: names and addresses.
pub fn symbols() -> Vec<(&'static str, usize)> {
    vec![
        (abi::FAIL, remc_fail as *const () as usize),
        (abi::AWAIT, remc_await as *const () as usize),
        (abi::PASS, remc_pass as *const () as usize),
        (abi::ALLOC, remc_alloc as *const () as usize),
        (abi::FREE, remc_free as *const () as usize),
        (abi::LAUNCH, remc_launch as *const () as usize),
        (abi::STOP, remc_stop as *const () as usize),
        (abi::SORT, remc_sort as *const () as usize),
        (abi::SORT_KEYS, remc_sort_keys as *const () as usize),
        (abi::PULL, remc_pull as *const () as usize),
        (abi::PUSH, remc_push as *const () as usize),
        (abi::WORKERS, remc_workers as *const () as usize),
        (abi::THRESHOLD, remc_threshold as *const () as usize),
    ]
}

impl Cpu {
    pub fn new(options: CpuOptions) -> Cpu {
        Cpu {
            pool: Pool::new(options.threads),
            memory: memory::new(options.memory_limit),
            run: Mutex::new(()),
        }
    }

    /// How many threads run kernels.
    pub fn workers(&self) -> usize {
        self.pool.workers()
    }

    /// What is in use now, and was at most in the last run.
    pub fn memory(&self) -> Usage {
        self.memory.usage()
    }

    /// Copies an array of base type into the device's memory.
    pub fn input(&self, value: &Value) -> Result<Input, Stopped> {
        Ok(Input::write(self.buffer_for(value)?, value))
    }

    /// … and gives its own memory back as it is copied, so that a large array is not there twice.
    pub fn take(&self, value: Value) -> Result<Input, Stopped> {
        Ok(Input::take(self.buffer_for(&value)?, value))
    }

    /// Memory for an array.
    fn buffer_for(&self, value: &Value) -> Result<Buffer, Stopped> {
        let ty = boundary::base(value).ok_or(Stopped::Unexplained)?;
        let bytes = value.data.len().checked_mul(ty.bits() as usize / 8);
        let buffer = bytes.ok_or_else(|| self.memory.never()).and_then(|n| self.memory.buffer(n));
        buffer.map_err(|why| {
            let shape: Vec<i64> = value.shape.iter().map(|n| *n as i64).collect();
            too_large(None, &shape, u64::from(ty.bits() / 8), why)
        })
    }

    /// Runs an entry on the slots of its parameters. One run at a time: another call waits.
    ///
    /// # Safety
    /// `entry` is compiled code that keeps to the ABI above, takes so many parameters, each a scalar or
    /// the address of a buffer that lives until the call returns, and writes so many results; its kernels
    /// have the arguments that `kernels` mentions. What `kernels.late` gives is the code of that kernel, and stays
    /// until the call returns.
    pub unsafe fn run(
        &self,
        entry: EntryFn,
        params: &[u64],
        result_slots: usize,
        kernels: Kernels<'_>,
    ) -> Result<Finished, Stopped> {
        let _one = self.run.lock().unwrap_or_else(PoisonError::into_inner);
        self.memory.restart_counting();
        let stats =
            Stats { kernels: vec![KernelStats::default(); kernels.touched.len()], ..Stats::default() };
        let mut context = Context {
            cpu: self,
            buffers: HashMap::new(),
            lent: HashMap::new(),
            stopped: None,
            stats,
            kernels,
            found: HashMap::new(),
            waited: Duration::ZERO,
            start: Instant::now(),
        };
        let mut slots = vec![0; result_slots];
        context.start = Instant::now();
        // SAFETY: the caller's promise; the context outlives the call. The lifetime is of no concern to
        // compiled code.
        let status = unsafe {
            entry((&raw mut context).cast::<Context<'static>>(), params.as_ptr(), slots.as_mut_ptr())
        };
        let Context { buffers, lent, stopped, mut stats, waited, start, .. } = context;
        stats.time = start.elapsed().saturating_sub(waited);
        let usage = self.memory.usage();
        stats.peak_bytes = usage.peak;
        stats.allocations = usage.allocations;
        stats.reused = usage.reused;
        match (status, stopped) {
            (0, None) => Ok(Finished { slots, stats, buffers, lent }),
            (_, Some(stopped)) => Err(stopped),
            (_, None) => Err(Stopped::Unexplained),
        }
    }
}

impl Finished {
    /// A scalar result; `None` where there is no such slot, or its bits are no `char`.
    pub fn scalar(&self, slot: usize, ty: BaseTy) -> Option<Scalar> {
        Scalar::from_bits64(ty, *self.slots.get(slot)? as i64)
    }

    /// A copy of an array among the results, whose dims are in the slots after its own; `None` where the
    /// slots hold no buffer of this run, or one too small.
    pub fn array(&self, slot: usize, ty: BaseTy, rank: usize) -> Option<Value> {
        let dims = self.slots.get(slot.checked_add(1)?..)?.get(..rank)?;
        let dims: Option<Vec<usize>> = dims.iter().map(|n| usize::try_from(*n).ok()).collect();
        self.array_of_shape(slot, ty, &dims?)
    }

    /// A copy of an array among the results; `None` where the slot holds no buffer of this run, or one
    /// too small.
    pub fn array_of_shape(&self, slot: usize, ty: BaseTy, dims: &[usize]) -> Option<Value> {
        let address = *self.slots.get(slot)?;
        let address = usize::try_from(address).ok()?;
        let (start, room) = match (self.buffers.get(&address), self.lent.get(&address)) {
            (Some(buffer), _) => (buffer.address().cast_const(), buffer.bytes()),
            (None, Some((_, bytes))) => (bytes.as_ptr(), bytes.len()),
            (None, None) => return None,
        };
        let count = dims
            .iter()
            .try_fold(1usize, |n, d| n.checked_mul(*d))
            .filter(|n| n.checked_mul(ty.bits() as usize / 8).is_some_and(|bytes| bytes <= room));
        count?;
        // SAFETY: the buffer is this large, and the run that has filled it is over.
        Some(unsafe { read_buffer(start, ty, dims) })
    }
}

impl Context<'_> {
    /// Records why the run stops; the first reason counts.
    fn stop(&mut self, why: Stopped) {
        self.stopped.get_or_insert(why);
    }

    fn allocate(&mut self, prov: u32, element_bytes: u64, dims: &[u64]) -> *mut u8 {
        let elements =
            if dims.contains(&0) { Some(0) } else { dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d)) };
        let bytes = elements.and_then(|n| usize::try_from(n.checked_mul(element_bytes)?).ok());
        let memory = &self.cpu.memory;
        match bytes.ok_or_else(|| memory.never()).and_then(|n| memory.buffer(n)) {
            Ok(buffer) => {
                let address = buffer.address();
                self.buffers.insert(address as usize, buffer);
                address
            }
            Err(why) => {
                let shape: Vec<i64> = dims.iter().map(|n| *n as i64).collect();
                self.stop(too_large(Some(prov), &shape, element_bytes, why));
                std::ptr::null_mut()
            }
        }
    }

    /// Items of a channel, in buffers of the plan's: how many, and of each array how many items or elements it has, and
    /// where they are.
    fn pull(&mut self, prov: u32, channel: u32, at: u64, take: Take) -> Option<Vec<u64>> {
        let channels = self.kernels.channels?;
        if self.is_over() {
            return None;
        }
        let pulled = channels.borrow_mut().pull(channel as usize, at, take);
        let layout = channels.borrow().layout(channel as usize);
        let piece = match pulled {
            Ok(piece) => piece,
            Err(why) => {
                self.stop(Stopped::Stream { why, prov });
                return None;
            }
        };
        let mut words = vec![piece.count as u64];
        let reads = channels.borrow().reads(channel as usize);
        for (bytes, l) in piece.arrays.into_iter().zip(layout) {
            let many = match l.starts {
                Some(_) => bytes.len().checked_div(l.bytes()).unwrap_or(0),
                None => piece.count,
            };
            // Where an input was read the plan may read it, too; a buffer has an address, also one of nothing.
            let address = match reads && !bytes.is_empty() {
                true => {
                    let address = bytes.as_ptr().cast_mut();
                    self.lent.insert(address as usize, (channel as usize, bytes));
                    address
                }
                false => self.copied(prov, &l, many, &bytes)?,
            };
            words.extend([many as u64, address as u64]);
        }
        Some(words)
    }

    /// Items in a buffer of the plan's.
    fn copied(&mut self, prov: u32, l: &Layout, many: usize, bytes: &[u8]) -> Option<*mut u8> {
        let dims: Vec<u64> = std::iter::once(many).chain(l.item.iter().copied()).map(|n| n as u64).collect();
        let address = self.allocate(prov, u64::from(l.base.bits() / 8), &dims);
        if address.is_null() {
            return None;
        }
        // SAFETY: the buffer is new, and of as many bytes as so many items have.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address, bytes.len()) };
        Some(address)
    }

    /// Takes back a buffer of the plan's.
    fn free(&mut self, address: usize) {
        if let Some((channel, bytes)) = self.lent.remove(&address) {
            if let Some(channels) = self.kernels.channels {
                channels.borrow_mut().take_back(channel, bytes);
            }
            return;
        }
        self.buffers.remove(&address);
    }

    /// # Safety
    /// `words` are those of so many arrays.
    unsafe fn push(&mut self, prov: u32, channel: u32, mut words: *const u64) -> i32 {
        let Some(channels) = self.kernels.channels else { return 1 };
        let mut channels = channels.borrow_mut();
        let mut shapes = Vec::new();
        for _ in 0..channels.arrays(channel as usize) {
            // SAFETY: the caller's promise.
            let (address, base, dims) = unsafe {
                let rank = *words.add(2);
                let dims = slice(words.add(3), rank).iter().map(|n| *n as usize).collect::<Vec<_>>();
                let first = (*words as *const u8, *words.add(1) as usize, dims);
                words = words.add(3 + rank as usize);
                first
            };
            shapes.push((address, BaseTy::ALL.get(base).copied().unwrap_or(BaseTy::U8), dims));
        }
        let part = |(address, base, dims): &'_ (*const u8, BaseTy, Vec<usize>)| {
            let bytes = dims.iter().product::<usize>() * (base.bits() as usize / 8);
            // SAFETY: the caller's promise: there are as many elements.
            let bytes =
                unsafe { if bytes == 0 { &[][..] } else { std::slice::from_raw_parts(*address, bytes) } };
            (*base, bytes)
        };
        let parts: Vec<(BaseTy, &[u8])> = shapes.iter().map(part).collect();
        let all: Vec<Pushed<'_>> = parts
            .iter()
            .zip(&shapes)
            .map(|((base, bytes), (_, _, dims))| Pushed { base: *base, dims, bytes })
            .collect();
        let pushed = channels.push(channel as usize, &all);
        drop(channels);
        match pushed {
            Ok(()) => 0,
            Err(why) => {
                self.stop(Stopped::Stream { why, prov });
                1
            }
        }
    }

    /// The code of a kernel that the plan knows by its number alone.
    fn late(&mut self, kernel: u32) -> Option<KernelFn> {
        if let Some(f) = self.found.get(&kernel) {
            return Some(*f);
        }
        let start = Instant::now();
        let found = match self.kernels.late {
            Some(late) => late(kernel),
            None => Err(format!("there is no code of kernel {kernel}")),
        };
        self.waited += start.elapsed();
        match found {
            Ok(f) => {
                self.found.insert(kernel, f);
                Some(f)
            }
            Err(why) => {
                self.stop(Stopped::Broken(why));
                None
            }
        }
    }

    /// # Safety
    /// `f` is a kernel that takes `args`; without it, number `kernel` is.
    unsafe fn launch(
        &mut self,
        kernel: u32,
        f: Option<KernelFn>,
        args: *const u64,
        blocks: u64,
        each: i64,
    ) -> i32 {
        let Some(f) = f.or_else(|| self.late(kernel)) else { return 1 };
        if self.is_over() {
            return 1;
        }
        let start = Instant::now();
        let mut error = Error::default();
        let shared = Shared { args, error: &raw mut error };
        let run = |lo, hi, worker: usize| {
            // SAFETY: the caller's promise. All calls return before `run` does, so that `error` is alive;
            // it is shared, and only looked at through shared references.
            unsafe {
                f(shared.args(), lo, hi, worker as u64, shared.error());
                !(*shared.error()).has_failed_below(hi)
            }
        };
        match self.kernels.limit {
            None => self.cpu.pool.run(blocks, each, &run),
            Some(limit) => {
                let (from, waited) = (self.start, self.waited);
                self.cpu.pool.run(blocks, each, &|lo, hi, worker| {
                    let part = ((hi - lo) / PARTS).max(1);
                    let goes_on = |lo| {
                        let goes_on = run(lo, hi.min(lo + part), worker);
                        if goes_on && limit.is_over(from.elapsed().saturating_sub(waited)) {
                            // SAFETY: as above.
                            unsafe { (*shared.error()).end() };
                            return false;
                        }
                        goes_on
                    };
                    (lo..hi).step_by(part as usize).all(goes_on)
                });
            }
        }
        let ended = error.is_ended();
        if let Some(stats) = self.stats.kernels.get_mut(kernel as usize) {
            stats.add(blocks, start.elapsed());
            // SAFETY: the caller's promise; the kernel has as many arguments as its buffers mention.
            let argument = |i: usize| unsafe { *args.add(i) };
            let touched = self.kernels.touched.get(kernel as usize).map(Vec::as_slice).unwrap_or_default();
            let bytes = touched.iter().map(|t| t.bytes(argument));
            stats.bytes = bytes.fold(stats.bytes, u64::saturating_add);
        }
        match error.into_failure() {
            // Not all of its blocks may have run.
            None if ended => {
                self.stop(Stopped::Ended);
                1
            }
            None => 0,
            Some(failure) => {
                self.stop(failure.into());
                1
            }
        }
    }

    /// Whether a limit has been reached, which stops the run.
    fn is_over(&mut self) -> bool {
        let spent = || self.start.elapsed().saturating_sub(self.waited);
        let over = self.kernels.limit.is_some_and(|limit| limit.is_over(spent()));
        if over {
            self.stop(Stopped::Ended);
        }
        over
    }

    /// # Safety
    /// As of [`sort::grade`].
    unsafe fn sort(&mut self, keys: &[sort::Key], out: &mut [i64]) -> i32 {
        let start = Instant::now();
        // SAFETY: the caller's promise.
        let sorted = unsafe { sort::grade(&self.cpu.pool, &self.cpu.memory, keys, out) };
        self.sorted(sorted, out.len(), 16, start)
    }

    /// # Safety
    /// As of [`sort::sort_keys`].
    unsafe fn sort_keys(&mut self, ty: BaseTy, keys: (*const u8, usize), out: *mut u8, at: &[i64]) -> i32 {
        let start = Instant::now();
        // SAFETY: the caller's promise.
        let sorted = unsafe { sort::sort_keys(&self.cpu.pool, &self.cpu.memory, ty, keys, out, at) };
        self.sorted(sorted, keys.1, u64::from(ty.bits()).div_ceil(8), start)
    }

    fn sorted(&mut self, done: Result<(), OutOfMemory>, n: usize, bytes: u64, start: Instant) -> i32 {
        self.stats.sorts.add(n as u64, start.elapsed());
        match done {
            Ok(()) => 0,
            Err(why) => {
                self.stop(too_large(None, &[n as i64], bytes, why));
                1
            }
        }
    }
}

/// What the threads of a launch share.
struct Shared {
    args: *const u64,
    error: *mut Error,
}

// SAFETY: `args` are only read, and an `Error` is `Sync`.
unsafe impl Sync for Shared {}

impl Shared {
    fn args(&self) -> *const u64 {
        self.args
    }

    fn error(&self) -> *mut Error {
        self.error
    }
}

fn too_large(prov: Option<u32>, shape: &[i64], element_bytes: u64, why: OutOfMemory) -> Stopped {
    Stopped::too_large(DEVICE, prov, shape, element_bytes, why.most)
}

/// The array at an address that compiled code gave.
///
/// # Safety
/// There are `n` elements at `address`, unless `n` is 0.
unsafe fn slice<'a, T>(address: *const T, n: u64) -> &'a [T] {
    if n == 0 || address.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(address, n as usize) }
}

/// # Safety
/// `context` is what the plan was given, and `dims` are `rank` numbers.
pub unsafe extern "C" fn remc_alloc(
    context: *mut Context,
    prov: u32,
    element_bytes: u64,
    rank: u32,
    dims: *const u64,
) -> *mut u8 {
    // SAFETY: the caller's promise; a plan runs on one thread.
    unsafe { (*context).allocate(prov, element_bytes, slice(dims, rank.into())) }
}

/// # Safety
/// `context` is what the plan was given, and nobody uses the buffer any more.
pub unsafe extern "C" fn remc_free(context: *mut Context, buffer: *mut u8) {
    // SAFETY: the caller's promise. An address that is no buffer's is ignored.
    unsafe { (*context).free(buffer as usize) };
}

/// # Safety
/// `context` is what the plan was given, and `f` is a kernel that takes `args`; if it is null, kernel number `kernel`
/// does.
pub unsafe extern "C" fn remc_launch(
    context: *mut Context,
    kernel: u32,
    f: Option<KernelFn>,
    args: *const u64,
    _nargs: u64,
    blocks: u64,
    each: i64,
) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { (*context).launch(kernel, f, args, blocks, each) }
}

/// # Safety
/// `context` is what the plan was given, and `values` are `n` numbers.
pub unsafe extern "C" fn remc_stop(context: *mut Context, trap: u32, prov: u32, n: u32, values: *const i64) {
    // SAFETY: the caller's promise.
    unsafe {
        let values = read_values(n, values);
        (*context).stop(Stopped::Trap { trap, prov, values });
    }
}

/// # Safety
/// `context` is what the plan was given, `keys` are so many keys of `n` items, and `out` has room for `n`
/// numbers.
pub unsafe extern "C" fn remc_sort(
    context: *mut Context,
    nkeys: u32,
    keys: *const u64,
    n: u64,
    out: *mut i64,
) -> i32 {
    // SAFETY: the caller's promise.
    let words = unsafe { slice(keys, u64::from(nkeys) * 3) };
    let mut read = Vec::with_capacity(nkeys as usize);
    for key in words.chunks_exact(3) {
        let [address, ty, elements] = [key[0], key[1], key[2]].map(|word| word as usize);
        let Some(ty) = BaseTy::ALL.get(ty).copied() else {
            // SAFETY: the caller's promise.
            unsafe { (*context).stop(Stopped::Unexplained) };
            return 1;
        };
        read.push(sort::Key { address: address as *const u8, ty, elements });
    }
    if n == 0 {
        return 0;
    }
    // SAFETY: the caller's promise.
    unsafe { (*context).sort(&read, std::slice::from_raw_parts_mut(out, n as usize)) }
}

/// # Safety
/// `context` is what the plan was given, there are `n` elements of the type at `keys`, `out` has room for as many, and there are
/// so many places.
pub unsafe extern "C" fn remc_sort_keys(
    context: *mut Context,
    ty: u32,
    keys: *const u8,
    n: u64,
    out: *mut u8,
    nplaces: u32,
    places: *const i64,
) -> i32 {
    let Some(ty) = BaseTy::ALL.get(ty as usize).copied() else {
        // SAFETY: the caller's promise.
        unsafe { (*context).stop(Stopped::Unexplained) };
        return 1;
    };
    // SAFETY: the caller's promise.
    let at = unsafe { slice(places, u64::from(nplaces)) };
    // SAFETY: the caller's promise.
    if n == 0 { 0 } else { unsafe { (*context).sort_keys(ty, (keys, n as usize), out, at) } }
}

/// # Safety
/// `context` is what the plan was given, and `out` has room for a word, and two for each array of the channel.
pub unsafe extern "C" fn remc_pull(
    context: *mut Context,
    prov: u32,
    channel: u32,
    at: u64,
    take: u32,
    n: i64,
    out: *mut u64,
) -> i32 {
    // SAFETY: the caller's promise.
    let Some(words) = (unsafe { (*context).pull(prov, channel, at, Take::of_words(take, n)) }) else {
        return 1;
    };
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(words.as_ptr(), out, words.len()) };
    0
}

/// # Safety
/// `context` is what the plan was given, and `words` are those of each array of the channel.
pub unsafe extern "C" fn remc_push(context: *mut Context, prov: u32, channel: u32, words: *const u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { (*context).push(prov, channel, words) }
}

/// # Safety
/// `context` is what the plan was given.
pub unsafe extern "C" fn remc_workers(context: *mut Context) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { (*context).cpu.workers() as u64 }
}

/// # Safety
/// `context` is what the plan was given.
pub unsafe extern "C" fn remc_threshold(context: *mut Context, n: u32, value: i64, size: i64) -> i64 {
    // SAFETY: the caller's promise.
    let context = unsafe { &mut *context };
    let Some(values) = context.kernels.thresholds else { return value };
    context.stats.tested.push((n, size));
    values.get(n as usize).copied().unwrap_or(value)
}
