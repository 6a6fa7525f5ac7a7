//! The error slot of a launch: which check failed, of those that did.
//!
//! Several blocks may fail, on several threads. The failure of the lowest block is the one that counts:
//! those below a block that failed all run, whoever claims them, so the lowest failure is the same for any number
//! of threads.

#![allow(unsafe_code)]

use crate::stop::Failure;
use remc_base::trap::MOST_VALUES;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};

/// What compiled code is given as `error`; it hands it on to [`remc_fail`] and looks at nothing in it.
#[derive(Default)]
pub struct Error {
    failed: AtomicBool,
    /// Whoever runs it has had enough: what is not done yet will not be.
    ended: AtomicBool,
    lowest: Mutex<Option<Failure>>,
}

impl Error {
    /// No further block need run, and none that waits for another one goes on.
    pub fn end(&self) {
        self.ended.store(true, Ordering::Relaxed);
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Whether any block has failed, or all were ended.
    pub fn has_failed(&self) -> bool {
        self.failed.load(Ordering::Relaxed)
    }

    pub fn is_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }

    fn record(&self, failure: Failure) {
        let mut lowest = self.lowest.lock().unwrap_or_else(PoisonError::into_inner);
        if lowest.as_ref().is_none_or(|l| failure.block < l.block) {
            *lowest = Some(failure);
        }
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Whether a block below this one has failed, or will not run.
    pub(super) fn has_failed_below(&self, block: u64) -> bool {
        self.ended.load(Ordering::Relaxed)
            || self.has_failed() && {
                let lowest = self.lowest.lock().unwrap_or_else(PoisonError::into_inner);
                lowest.as_ref().is_some_and(|l| l.block < block)
            }
    }

    /// The failure of the lowest block, once the launch is over.
    pub fn into_failure(self) -> Option<Failure> {
        self.lowest.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Called by a kernel whose check failed.
///
/// # Safety
/// `error` is the kernel's own, and `values` are `n` numbers.
pub unsafe extern "C" fn remc_fail(
    error: *mut Error,
    block: u64,
    trap: u32,
    prov: u32,
    n: u32,
    values: *const i64,
) {
    // SAFETY: the caller's promise.
    let (error, values) = unsafe { (&*error, read_values(n, values)) };
    error.record(Failure { block, trap, prov, values });
}

/// How often a block looks whether it may go on before it lets other threads run; a look is some 50 ns.
const LOOKS: u32 = 200;

/// Called by a block that goes on when another one has called [`remc_pass`]. Not 0 if that will not be,
/// since a block below has failed.
///
/// # Safety
/// `error` is the kernel's own, and `state` is the address of a number that is written by `remc_pass` alone.
pub unsafe extern "C" fn remc_await(error: *mut Error, block: u64, state: *mut i64) -> i32 {
    // SAFETY: the caller's promise.
    let (error, state) = unsafe { (&*error, AtomicI64::from_ptr(state)) };
    let mut looks = 0;
    while state.load(Ordering::Acquire) == 0 {
        if error.has_failed_below(block) {
            return 1;
        }
        looks += 1;
        if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
    0
}

/// Called by a block that has written what another one awaits.
///
/// # Safety
/// As of [`remc_await`].
pub unsafe extern "C" fn remc_pass(state: *mut i64) {
    // SAFETY: the caller's promise.
    unsafe { AtomicI64::from_ptr(state) }.store(1, Ordering::Release);
}

/// The values of a trap.
///
/// # Safety
/// `values` are `n` numbers; it may be null if `n` is 0.
pub(super) unsafe fn read_values(n: u32, values: *const i64) -> Vec<i64> {
    let n = (n as usize).min(MOST_VALUES);
    if n == 0 || values.is_null() {
        return Vec::new();
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(values, n) }.to_vec()
}
