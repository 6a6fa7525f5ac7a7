//! What a run cost: what `--timings` shows.

use std::time::Duration;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// By the kernel's number in the program.
    pub kernels: Vec<KernelStats>,
    /// Sorts, and the items of all of them.
    pub sorts: KernelStats,
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
}

impl KernelStats {
    pub(super) fn add(&mut self, blocks: u64, time: Duration) {
        self.launches += 1;
        self.blocks = self.blocks.saturating_add(blocks);
        self.time += time;
    }
}

impl Stats {
    /// All time in kernels and sorts; what is left of `time` is the plan's own.
    pub fn kernel_time(&self) -> Duration {
        self.kernels.iter().chain([&self.sorts]).map(|k| k.time).sum()
    }
}
