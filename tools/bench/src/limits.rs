//! What this machine gives at most, measured with `peers/limits.c` under the conditions of the row: as many
//! threads, and as many bytes, so that a row which fits a cache is compared with that cache. The shares that
//! follow are of medians in the best that was seen.

use crate::cases::{Dtype, Floor};
use crate::native::Kernel;
use crate::peers::Compiler;
use std::collections::HashMap;
use std::time::Duration;

/// The kinds of work that `limits.c` knows, by their number there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Work {
    Read = 0,
    Copy = 1,
    FlopF32 = 2,
    FlopF64 = 3,
}

pub struct Limits {
    kernel: Result<Kernel, String>,
    threads: u16,
    /// Units (bytes or operations) in a second, by the bytes that are moved.
    known: HashMap<(Work, usize), f64>,
}

impl Limits {
    pub fn new(compiler: &Result<Compiler, String>, threads: u16) -> Limits {
        let kernel = compiler
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|c| Kernel::load(&c.library("limits")?, threads));
        Limits { kernel, threads, known: HashMap::new() }
    }

    /// The least time that the machine would need for this, if it is known.
    pub fn least(&mut self, floor: Floor) -> Option<Duration> {
        let (work, units, bytes) = match floor {
            Floor::Read(bytes) => (Work::Read, bytes as f64, bytes),
            Floor::Copy(bytes) => (Work::Copy, bytes as f64, bytes),
            Floor::Flop(count, Dtype::F32) => (Work::FlopF32, count, 0),
            Floor::Flop(count, Dtype::F64) => (Work::FlopF64, count, 0),
            Floor::Flop(_, Dtype::I64 | Dtype::U8) | Floor::Unknown => return None,
        };
        let rate = self.rate(work, bytes).ok()?;
        Duration::try_from_secs_f64(units / rate).ok()
    }

    /// In GB or billions of operations a second: reading, copying (both directions counted), f32, f64.
    pub fn summary(&mut self, bytes: usize) -> Result<[f64; 4], String> {
        Ok([
            self.rate(Work::Read, bytes)? / 1e9,
            self.rate(Work::Copy, 2 * bytes)? / 1e9,
            self.rate(Work::FlopF32, 0)? / 1e9,
            self.rate(Work::FlopF64, 0)? / 1e9,
        ])
    }

    fn rate(&mut self, work: Work, bytes: usize) -> Result<f64, String> {
        if let Some(rate) = self.known.get(&(work, bytes)) {
            return Ok(*rate);
        }
        let kernel = self.kernel.as_ref().map_err(Clone::clone)?;
        // How many floats come in and go out, and the count that `limits.c` takes.
        let steps = 2_000_000;
        let (read, written, count, units) = match work {
            Work::Read => (bytes / 4, 1, bytes / 4, (bytes / 4 * 4) as f64),
            Work::Copy => (bytes / 8, bytes / 8, bytes / 8, (bytes / 8 * 8) as f64),
            Work::FlopF32 => (1, 1, steps, 2.0 * 16.0 * 8.0 * steps as f64 * f64::from(self.threads)),
            Work::FlopF64 => (1, 1, steps, 2.0 * 8.0 * 8.0 * steps as f64 * f64::from(self.threads)),
        };
        let inputs = [kernel.buffer(4 * read.max(1))?];
        let mut output = kernel.buffer(4 * written.max(1))?;
        let sizes = [work as i64, count as i64];
        // A limit is what the machine can do, not what it does while others use it: the best of many.
        let time = (0..25).map(|_| kernel.run(&sizes, &inputs, &mut output)).min();
        let time = time.ok_or("nothing was timed")?;
        let rate = units / time.as_secs_f64().max(1e-9);
        self.known.insert((work, bytes), rate);
        Ok(rate)
    }
}
