//! The ABI of processors: how compiled code and the runtime call each other. This is its one description.
//!
//! All values travel in 8-byte **slots**: a scalar as [`remc_base::Scalar::to_bits64`] says (signed integers
//! sign-extended, all else zero-extended), a buffer as its address, a size as an `i64`. Buffers are row-major and dense; a
//! `bool` is a byte, 0 or 1. The object of a program defines
//!
//! ```text
//! void k<N>(const u64 *args, u64 lo, u64 hi, u64 worker, void *error);
//!     runs the blocks of kernel N from lo on, below hi; a block's number counts the points of the grid, the last axis
//!     fastest. args has one slot for each parameter of the kernel. worker is below remc_workers().
//!     Kernels of one launch run at the same time on several threads, with disjoint blocks; a call with
//!     lower blocks begins before one with higher ones. When checks of several blocks fail, that of the lowest counts:
//!     blocks below it still run, those above need not. So what is reported is the same for any number of threads.
//! i32 remc_entry(void *ctx, const u64 *params, u64 *results);
//!     runs the plan. params has one slot for each parameter of the program (sizes come first); buffers among them are
//!     borrowed, neither freed nor written. 0 means finished; then results holds for each result a slot if it is a
//!     scalar, else the buffer's address followed by its dims. Those buffers are the caller's from then on. Anything
//!     else means stopped: the runtime knows why, for it was told.
//! ```
//!
//! and calls, in the runtime,
//!
//! ```text
//! void  remc_fail(void *error, u64 block, u32 trap, u32 prov, u32 n, const i64 *values);
//!     a check of a kernel has failed, in that block; the kernel returns at once after it.
//! i32   remc_await(void *error, u64 block, i64 *state);
//!     returns when another block has passed on what belongs to this state, 0 before the launch; nonzero
//!     if that will not be, because a check has failed below this block: the kernel returns at once.
//! void  remc_pass(i64 *state);
//!     lets the one go on that awaits it, which then sees what this thread has written.
//! void  remc_stop(void *ctx, u32 trap, u32 prov, u32 n, const i64 *values);
//!     a check of the plan has failed; the plan returns 1 at once after it.
//! void *remc_alloc(void *ctx, u32 prov, u64 element_bytes, u32 rank, const u64 *dims);
//!     memory for a buffer, aligned to 64 bytes, of unspecified contents; null means stopped (too large, and reported).
//! void  remc_free(void *ctx, void *buffer);
//!     takes it back.
//! i32   remc_launch(void *ctx, u32 kernel, kernel *f, const u64 *args, u64 nargs, u64 blocks, i64 each);
//!     runs blocks 0 … blocks; nonzero means stopped. blocks is never 0. One call of f gets at most
//!     `each` blocks, begun in ascending order; if it is negative, so many threads run that each has at least
//!     `-each`; 0 asks for nothing. f is null where the kernel is in another part of the
//!     program, which the runtime then compiles or has compiled (see [`crate::parts`]); in a whole
//!     program, as `--emit object` gives it, it never is.
//! i32   remc_sort(void *ctx, u32 nkeys, const u64 *keys, u64 n, i64 *out);
//!     keys has three slots for each key: its address, the index of its base type in BaseTy::ALL, and the
//!     number of elements of an item. Fills out with the stable permutation that sorts the n items by the keys in turn;
//!     nonzero means stopped.
//! i32   remc_sort_keys(void *ctx, u32 type, const void *keys, u64 n, void *out, u32 nplaces, const i64 *places);
//!     fills out with the n elements of keys in order, of the base type of this index; equal ones stay in the order they
//!     have. If there are places, only what is at these is certain. nonzero means stopped.
//! i32   remc_pull(void *ctx, u32 prov, u32 channel, u64 at, u32 take, i64 n, u64 *out);
//!     the items of a channel from number `at` on: a multiple of n of them if take is 0, n if it is 1, all if it is 2, and
//!     fewer where there are no more. Fills out with how many there are, and for each of the channel's arrays how many
//!     items or elements it has and the address of a buffer of these, which is the plan's from then on; nonzero means
//!     stopped.
//! i32   remc_push(void *ctx, u32 prov, u32 channel, const u64 *words);
//!     appends items to a channel. words has for each of its arrays the address, the index of the base type in BaseTy::ALL,
//!     the rank and as many dims; nonzero means stopped.
//! u64   remc_workers(void *ctx);
//!     how many blocks run at the same time at most.
//! i64   remc_threshold(void *ctx, u32 n, i64 value, i64 size);
//!     the value of threshold number n, by which a version is chosen for this size: `value`, unless the
//!     run was told another one. What the program gives does not depend on it.
//! ```
//!
//! After a call that says "stopped" the plan returns at once. It frees nothing then: all memory of a run belongs to the runtime.
//! `trap` is an index into
//! [`Interface::traps`], `prov` the number of a place in the program's provenance. A grid whose number of
//! blocks is past 64 bits stops as an allocation of the grid's shape would.

pub use crate::interface::{Interface, KernelInfo, Slot, interface};

/// The name of the plan's function.
pub const ENTRY: &str = "remc_entry";
pub const FAIL: &str = "remc_fail";
pub const AWAIT: &str = "remc_await";
pub const PASS: &str = "remc_pass";
pub const STOP: &str = "remc_stop";
pub const ALLOC: &str = "remc_alloc";
pub const FREE: &str = "remc_free";
pub const LAUNCH: &str = "remc_launch";
pub const SORT: &str = "remc_sort";
pub const SORT_KEYS: &str = "remc_sort_keys";
pub const PULL: &str = "remc_pull";
pub const PUSH: &str = "remc_push";
pub const WORKERS: &str = "remc_workers";
pub const THRESHOLD: &str = "remc_threshold";

/// The name of the function of kernel number `n`.
pub fn kernel_symbol(n: u32) -> String {
    format!("k{n}")
}
