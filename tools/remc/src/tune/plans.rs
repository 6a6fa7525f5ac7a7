//! Devices that launch kernels from a plan which is executed here, as the tuner drives them: a GPU, and the interpreter of
//! kernels, whose clock counts what its statements cost.
//!
//! The second is for tests of the tuner, on machines without a GPU: it runs what a GPU would, with the same thresholds and
//! schedules, and takes the same time in every run.

use super::device::{How, Once, Runs};
use crate::cpu::Ended;
use crate::gpu::{self, Gpu, Loaded};
use crate::report::{Failure, Outcome};
use remc_base::{IndexValue, Name, Value};
use remc_driver::compile::Tuning;
use remc_driver::pipeline::Stage;
use remc_driver::{InternalBug, Session};
use remc_interp::RuntimeError;
use remc_kernel::ir::Program;
use remc_kernel::traps::traps;
use remc_runtime::cuda::{Buffer, Cuda};
use remc_runtime::plan;
use remc_runtime::plan::interpret::{Interpreter, Memory};
use remc_runtime::plan::watched::{Clocked, Watched};
use remc_runtime::stop::Stopped;
use remc_tune::schedules::Spent;
use rustc_hash::FxHashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// A GPU.
pub struct OnGpu(Cuda);

impl OnGpu {
    pub fn new(memory: Option<u64>) -> Outcome<OnGpu> {
        Ok(OnGpu(gpu::open(memory, "`--device cpu` tunes for this machine's processor")?))
    }
}

impl Runs for OnGpu {
    type Code = (Arc<Program>, Loaded);
    type Bound = gpu::Bound<Buffer>;

    fn machine(&self) -> String {
        self.0.device.gpu.name.clone()
    }

    fn workers(&self) -> usize {
        self.0.device.gpu.multiprocessors as usize
    }

    fn bandwidth(&self) -> Option<f64> {
        None
    }

    fn tuning(&self) -> Tuning {
        Tuning::gpu()
    }

    fn load(&self, session: &Session, program: Arc<Program>, _kept: bool) -> Outcome<(Arc<Program>, Loaded)> {
        let loaded = gpu::load(session, &program, &self.0)?;
        Ok((program, loaded))
    }

    fn bind(
        &self,
        session: &Session,
        (program, _): &(Arc<Program>, Loaded),
        indices: &[IndexValue],
        arguments: Vec<Value>,
    ) -> Outcome<Result<gpu::Bound<Buffer>, RuntimeError>> {
        gpu::bind(session, program, indices, &arguments, |value| self.0.device.upload(value))
    }

    fn once(
        &self,
        session: &Session,
        (program, loaded): &(Arc<Program>, Loaded),
        bound: &gpu::Bound<Buffer>,
        how: How<'_>,
    ) -> Outcome<Result<Once, Ended>> {
        let device = &self.0.device;
        if let Err(failed) = device.clear_error() {
            return explained(session, program, failed.into());
        }
        let mut gpu = Gpu { device, loaded, began: Instant::now() };
        run(session, program, &mut gpu, bound, how)
    }
}

/// The interpreter of kernels.
pub struct Interpreted;

impl Runs for Interpreted {
    type Code = Arc<Program>;
    type Bound = gpu::Bound<Rc<Memory>>;

    fn machine(&self) -> String {
        "the interpreter of kernels, by a count of their statements".to_owned()
    }

    fn workers(&self) -> usize {
        16
    }

    fn bandwidth(&self) -> Option<f64> {
        None
    }

    fn tuning(&self) -> Tuning {
        Tuning::gpu()
    }

    fn load(&self, _: &Session, program: Arc<Program>, _kept: bool) -> Outcome<Arc<Program>> {
        Ok(program)
    }

    fn bind(
        &self,
        session: &Session,
        program: &Arc<Program>,
        indices: &[IndexValue],
        arguments: Vec<Value>,
    ) -> Outcome<Result<gpu::Bound<Rc<Memory>>, RuntimeError>> {
        let upload = |value: &Value| Memory::of(value).map(Rc::new).ok_or(Stopped::Unexplained);
        gpu::bind(session, program, indices, &arguments, upload)
    }

    fn once(
        &self,
        session: &Session,
        program: &Arc<Program>,
        bound: &gpu::Bound<Rc<Memory>>,
        how: How<'_>,
    ) -> Outcome<Result<Once, Ended>> {
        run(session, program, &mut Interpreter::new(program, false), bound, how)
    }
}

/// Runs a plan on a machine.
fn run<M: Clocked>(
    session: &Session,
    program: &Program,
    machine: &mut M,
    bound: &gpu::Bound<M::Buffer>,
    how: How<'_>,
) -> Outcome<Result<Once, Ended>> {
    let none = FxHashMap::<Name, i64>::default();
    let (given, kernels) = match how.under {
        Some(given) => (given, None),
        None => (&none, Some(program.kernels.len())),
    };
    let mut watched = Watched::new(machine, given, kernels, how.limit);
    let arguments = bound.arguments();
    let timed = watched.now().and_then(|start| {
        // What it gives is freed behind the clock.
        let given = plan::run(program, &mut watched, &arguments)?;
        let end = watched.now()?;
        drop(given);
        Ok(end - start)
    });
    let seconds = match timed {
        Ok(seconds) => seconds,
        Err(stopped) => return explained(session, program, stopped),
    };
    let mut once = Once { seconds, tested: watched.tested, ..Once::default() };
    for ((_, k), took) in program.kernels.iter().zip(watched.took.unwrap_or_default()) {
        let (launches, blocks) = (took.launches, took.blocks);
        once.add(k.site.as_str(), Spent { seconds: took.seconds, launches, blocks, bytes: 0 });
    }
    Ok(Ok(once))
}

fn explained<T>(session: &Session, program: &Program, stopped: Stopped) -> Outcome<Result<T, Ended>> {
    match stopped {
        Stopped::Ended => Ok(Err(Ended::Over)),
        // A version that the device cannot run is no version.
        Stopped::Device(message) => {
            Err(Failure::Bug(InternalBug { stage: Stage::Execute.info().name, message }))
        }
        stopped => {
            let why = crate::device::explain(session, program, &traps(program), stopped)?;
            Ok(Err(Ended::Stopped(why)))
        }
    }
}
