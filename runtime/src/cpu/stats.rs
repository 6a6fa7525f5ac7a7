//! What a run cost: what `--timings` shows.

use std::time::Duration;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// By the kernel's number in the program.
    pub kernels: Vec<KernelStats>,
    /// Sorts, and the items of all of them.
    pub sorts: KernelStats,
    /// Which thresholds, by their numbers, were compared with which sizes, in this order; only if the run was given values
    /// of thresholds.
    pub tested: Vec<(u32, i64)>,
    /// The whole run of the plan.
    pub time: Duration,
    /// Buffers given out.
    pub allocations: u64,
    /// Those of them for which no memory was asked from the system.
    pub reused: u64,
    /// The most bytes that were alive at a time, arguments and results included.
    pub peak_bytes: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct KernelStats {
    pub launches: u64,
    /// Blocks of all launches.
    pub blocks: u64,
    pub time: Duration,
    /// The bytes of the buffers that all launches read and wrote, each buffer counted once a launch.
    pub bytes: u64,
}

/// A buffer that a kernel reads or writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Touched {
    pub element_bytes: u64,
    /// Twice, if it is read and written.
    pub times: u64,
    pub dims: Vec<Size>,
}

/// A dim: a number, or an argument of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Size {
    Const(u64),
    Argument(usize),
}

impl Touched {
    /// How many bytes that is with these arguments.
    pub(super) fn bytes(&self, argument: impl Fn(usize) -> u64) -> u64 {
        let dims = self.dims.iter().map(|d| match d {
            Size::Const(n) => *n,
            Size::Argument(i) => argument(*i),
        });
        dims.fold(self.element_bytes.saturating_mul(self.times), u64::saturating_mul)
    }
}

impl KernelStats {
    pub(super) fn add(&mut self, blocks: u64, time: Duration) {
        self.launches += 1;
        self.blocks = self.blocks.saturating_add(blocks);
        self.time += time;
    }
}

impl Stats {
    /// The bytes that all kernels read and wrote.
    pub fn bytes(&self) -> u64 {
        self.kernels.iter().fold(0, |sum, k| sum.saturating_add(k.bytes))
    }
}
