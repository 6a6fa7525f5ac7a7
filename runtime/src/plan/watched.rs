//! A machine under observation: which sizes are compared with which thresholds, whose values can be others, and what
//! each kernel takes.
//!
//! ```text
//! (test >= %n "main/par.outer/rows:1" 512)     the value that is given for the name, or else 512; (name, n) is noted
//! (launch k0 …)                                the clock before and after it, if launches are timed apart
//! ```

use super::{Argument, Done, Machine, SortKey};
use crate::cpu::Limit;
use crate::stop::Stopped;
use remc_base::{BaseTy, Name, Prov, Scalar};
use remc_kernel::ir::{Gives, KernelId, Test};
use rustc_hash::FxHashMap;
use std::time::Duration;

/// A machine that has a clock.
pub trait Clocked: Machine {
    /// Seconds since some time, once all that was asked for has been done.
    ///
    /// # Errors
    /// The device.
    fn now(&mut self) -> Done<f64>;
}

/// What the launches of a kernel took.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Took {
    pub seconds: f64,
    pub launches: u64,
    pub blocks: u64,
}

/// The machine.
pub struct Watched<'m, M> {
    machine: &'m mut M,
    /// Values in place of the program's own.
    given: &'m FxHashMap<Name, i64>,
    /// Which thresholds were compared with which sizes, in this order.
    pub tested: Vec<(Name, i64)>,
    /// By kernel; `None` if launches are not timed, each of which would wait for the one before.
    pub took: Option<Vec<Took>>,
    /// What ends the run between two launches, and when it began.
    limit: Option<Limit<'m>>,
    began: Option<f64>,
}

impl<'m, M> Watched<'m, M> {
    /// `kernels` is how many kernels there are, if their launches are timed.
    pub fn new(
        machine: &'m mut M,
        given: &'m FxHashMap<Name, i64>,
        kernels: Option<usize>,
        limit: Option<Limit<'m>>,
    ) -> Watched<'m, M> {
        let took = kernels.map(|n| vec![Took::default(); n]);
        Watched { machine, given, tested: Vec::new(), took, limit, began: None }
    }
}

impl<M: Clocked> Watched<'_, M> {
    /// Ends the run if its limit says so. Where there is one, each launch waits for the one before.
    fn within(&mut self) -> Done {
        let Some(limit) = self.limit else { return Ok(()) };
        let now = self.machine.now()?;
        let spent = Duration::try_from_secs_f64(now - *self.began.get_or_insert(now)).unwrap_or_default();
        if limit.is_over(spent) { Err(Stopped::Ended) } else { Ok(()) }
    }
}

impl<M: Clocked> Clocked for Watched<'_, M> {
    fn now(&mut self) -> Done<f64> {
        self.machine.now()
    }
}

impl<M: Clocked> Machine for Watched<'_, M> {
    type Buffer = M::Buffer;

    fn alloc(&mut self, prov: Prov, base: BaseTy, dims: &[i64]) -> Done<M::Buffer> {
        self.machine.alloc(prov, base, dims)
    }

    fn free(&mut self, buffer: M::Buffer) {
        self.machine.free(buffer);
    }

    fn load(&mut self, buffer: &M::Buffer, base: BaseTy, index: usize) -> Done<Scalar> {
        self.machine.load(buffer, base, index)
    }

    fn store(&mut self, buffer: &M::Buffer, index: usize, value: Scalar) -> Done {
        self.machine.store(buffer, index, value)
    }

    fn launch(&mut self, kernel: KernelId, grid: &[i64], args: &[Argument<'_, M::Buffer>]) -> Done {
        self.within()?;
        let Some(took) = self.took.as_mut().and_then(|all| all.get_mut(kernel.0 as usize)) else {
            return self.machine.launch(kernel, grid, args);
        };
        let before = self.machine.now()?;
        self.machine.launch(kernel, grid, args)?;
        took.seconds += self.machine.now()? - before;
        took.launches += 1;
        took.blocks += grid.iter().map(|n| *n as u64).product::<u64>();
        Ok(())
    }

    fn sort(&mut self, keys: &[SortKey<'_, M::Buffer>], items: usize, gives: Gives, out: &M::Buffer) -> Done {
        self.machine.sort(keys, items, gives, out)
    }

    fn workers(&self) -> u64 {
        self.machine.workers()
    }

    fn test(&mut self, test: &Test, size: i64) -> bool {
        self.tested.push((test.threshold.clone(), size));
        match self.given.get(&test.threshold) {
            Some(value) => Test { value: *value, ..test.clone() }.holds(size),
            None => test.holds(size),
        }
    }
}
