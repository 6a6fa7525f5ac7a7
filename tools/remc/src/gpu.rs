//! The cuda device: kernels are printed, compiled by NVRTC and launched on a GPU; the plan between them is executed
//! here.

use crate::boundary::{self, B, Results, assemble, leaves};
use crate::codes;
use crate::device::Ran;
use crate::report::{Failure, Outcome, fail, usage};
use remc_base::{BaseTy, IVar, IndexValue, Prov, Scalar, Value};
use remc_cuda::Launch;
use remc_driver::pipeline::Stage;
use remc_driver::{Db, InternalBug, Session};
use remc_interp::RuntimeError;
use remc_kernel::ir::{Gives, KernelId, Program, Ty};
use remc_kernel::traps::traps;
use remc_runtime::cpu::Stats;
use remc_runtime::cuda::{Buffer, Cubin, Cuda, CudaOptions, Device, Extent, Kernel};
use remc_runtime::plan::watched::Clocked;
use remc_runtime::plan::{self, Argument, Given, Machine, SortKey};
use remc_runtime::stop::Stopped;
use std::borrow::Cow;
use std::time::Instant;

fn bug(stage: Stage, message: impl std::fmt::Display) -> Failure {
    Failure::Bug(InternalBug { stage: stage.info().name, message: message.to_string() })
}

/// A program's kernels, loaded on a GPU.
pub struct Loaded {
    launches: Vec<Launch>,
    kernels: Vec<Kernel>,
    /// Where blocks of chained kernels take their numbers.
    ticket: Buffer,
    /// Threads that run at the same time.
    workers: u64,
}

/// Kernels that a plan launches.
pub struct Gpu<'d> {
    pub device: &'d Device,
    pub loaded: &'d Loaded,
    pub began: Instant,
}

/// The GPU and its compiler, with at most so many bytes of its memory.
pub fn open(memory_limit: Option<u64>, otherwise: &str) -> Outcome<Cuda> {
    let cuda = Cuda::new(&CudaOptions { memory_limit, ..CudaOptions::default() });
    cuda.or_else(|missing| {
        fail(usage(codes::DEVICE, format!("there is no cuda device: {missing}")).help(otherwise))
    })
}

/// Compiles a program for the GPU and runs it, some number of times, with at most so many bytes of its memory.
pub fn run(
    session: &Session,
    program: &Program,
    (signature, indices): (&[IVar], &[IndexValue]),
    arguments: &[Value],
    (repeat, memory_limit): (u32, Option<u64>),
) -> Outcome<Result<Ran, RuntimeError>> {
    let cuda = open(memory_limit, "`--device cpu` runs the program on this machine's processor")?;
    let loaded = load(session, program, &cuda)?;
    let explain = |stopped| crate::device::explain(session, program, &traps(program), stopped).map(Err);
    let _timed = session.db.timings().enter(Stage::Execute);
    let wrong = |message: String| bug(Stage::Execute, message);
    let bound = match bind(session, program, indices, arguments, |value| cuda.device.upload(value))? {
        Ok(bound) => bound,
        Err(stopped) => return Ok(Err(stopped)),
    };
    let mut gpu = Gpu { device: &cuda.device, loaded: &loaded, began: Instant::now() };
    let mut runs = Vec::new();
    let mut last = None;
    for _ in 0..repeat {
        // The results of one run are gone before the next, which takes their memory.
        drop(last.take());
        cuda.device.restart_counting();
        let start = Instant::now();
        let ran = cuda.device.clear_error().map_err(Stopped::from);
        let ran = ran.and_then(|()| plan::run(program, &mut gpu, &bound.arguments()));
        let ran = ran.and_then(|given| cuda.device.wait().map(|()| given).map_err(Stopped::from));
        match ran {
            Ok(given) => last = Some(given),
            Err(stopped) => return explain(stopped),
        }
        runs.push(start.elapsed());
    }
    let Some(given) = last else { return Err(wrong("no run".into())) };
    let given = Answer { device: &cuda.device, given };
    let value = assemble(&program.output, &given, &boundary::closing(signature, indices)).map_err(wrong)?;
    let usage = cuda.device.memory();
    let stats = Stats {
        peak_bytes: usage.peak,
        allocations: usage.allocations,
        reused: usage.reused,
        ..Stats::default()
    };
    Ok(Ok(Ran { value: Some(value), runs, stats }))
}

/// The arguments of a plan, whose arrays are in the memory of a device.
pub struct Bound<B>(Vec<Held<B>>);

enum Held<B> {
    Scalar(Scalar),
    Buffer(B),
}

impl<B> Bound<B> {
    /// As the plan takes them.
    pub fn arguments(&self) -> Vec<Argument<'_, B>> {
        let held = self.0.iter();
        held.map(|h| match h {
            Held::Scalar(scalar) => Argument::Scalar(*scalar),
            Held::Buffer(buffer) => Argument::Buffer(buffer),
        })
        .collect()
    }
}

/// Puts arguments where `upload` has arrays go.
pub fn bind<B>(
    session: &Session,
    program: &Program,
    indices: &[IndexValue],
    arguments: &[Value],
    upload: impl Fn(&Value) -> Result<B, Stopped>,
) -> Outcome<Result<Bound<B>, RuntimeError>> {
    let wrong = |message: String| bug(Stage::Execute, message);
    let mut flat = Vec::new();
    for (input, value) in program.inputs.iter().zip(arguments) {
        leaves(input, Cow::Borrowed(value), &mut flat).map_err(wrong)?;
    }
    let sizes = boundary::sizes(program, indices, &flat).map_err(wrong)?;
    if sizes.len() + flat.len() != program.params.len() {
        return Err(wrong("another number of parameters".into()));
    }
    let mut bound: Vec<_> = sizes.iter().map(|n| Held::Scalar(Scalar::I64(*n as i64))).collect();
    for (v, value) in program.params.iter().skip(sizes.len()).zip(&flat) {
        bound.push(match program.ty(*v) {
            Ty::Scalar(ty) => {
                let bits = boundary::bits(value).map_err(wrong)?;
                let scalar = Scalar::from_bits64(*ty, bits as i64).ok_or("a scalar of no value".to_owned());
                Held::Scalar(scalar.map_err(wrong)?)
            }
            Ty::Buffer(_) => match upload(value) {
                Ok(buffer) => Held::Buffer(buffer),
                Err(stopped) => {
                    return crate::device::explain(session, program, &traps(program), stopped).map(Err);
                }
            },
        });
    }
    Ok(Ok(Bound(bound)))
}

/// Prints, compiles and loads the kernels.
pub fn load(session: &Session, program: &Program, cuda: &Cuda) -> Outcome<Loaded> {
    let _timed = session.db.timings().enter(Stage::Codegen);
    let text = crate::cuda::kernels(session, program)?;
    let launches = remc_cuda::launches(program);
    let loaded = |cubin: &Cubin| {
        let module = cuda.device.module(&cubin.bytes)?;
        launches.iter().map(|l| module.kernel(&l.symbol)).collect::<Result<Vec<_>, _>>()
    };
    let cubin = cuda.compile(&text, "kernels.cu").map_err(|e| bug(Stage::Codegen, e))?;
    let kernels = loaded(&cubin).or_else(|e| {
        // What the cache holds may be of a build that went wrong; then it is made anew.
        cuda.compile_anew(&text, "kernels.cu").map_or(Err(e), |cubin| loaded(&cubin))
    });
    crate::cache::warn(session, &cuda.kernels.cache);
    let ticket = cuda.device.array(None, BaseTy::U64, &[1]);
    let gpu = &cuda.device.gpu;
    Ok(Loaded {
        launches,
        kernels: kernels.map_err(|e| bug(Stage::Codegen, e))?,
        ticket: ticket.map_err(|e| bug(Stage::Codegen, format!("{e:?}")))?,
        workers: u64::from(gpu.multiprocessors) * u64::from(gpu.threads_per_multiprocessor),
    })
}

impl Clocked for Gpu<'_> {
    fn now(&mut self) -> Result<f64, Stopped> {
        self.device.wait().map_err(Stopped::from)?;
        Ok(self.began.elapsed().as_secs_f64())
    }
}

fn broken<T>(what: &str) -> Result<T, Stopped> {
    Err(Stopped::Broken(what.to_owned()))
}

impl Machine for Gpu<'_> {
    type Buffer = Buffer;

    fn alloc(&mut self, prov: Prov, base: BaseTy, dims: &[i64]) -> Result<Buffer, Stopped> {
        self.device.array(Some(prov.0), base, dims)
    }

    fn free(&mut self, buffer: Buffer) {
        drop(buffer);
    }

    fn load(&mut self, buffer: &Buffer, base: BaseTy, index: usize) -> Result<Scalar, Stopped> {
        match self.device.load(buffer, base, index)? {
            Some(x) => Ok(x),
            None => broken("an element that is not there"),
        }
    }

    fn store(&mut self, buffer: &Buffer, index: usize, value: Scalar) -> Result<(), Stopped> {
        match self.device.store(buffer, index, value)? {
            true => Ok(()),
            false => broken("a place that is not there"),
        }
    }

    fn launch(&mut self, id: KernelId, grid: &[i64], args: &[Argument<'_, Buffer>]) -> Result<(), Stopped> {
        let (Some(how), Some(kernel)) =
            (self.loaded.launches.get(id.0 as usize), self.loaded.kernels.get(id.0 as usize))
        else {
            return broken("a kernel that is not there");
        };
        let blocks = grid.iter().try_fold(1u64, |n, d| n.checked_mul(u64::try_from(*d).ok()?));
        let Some(blocks) = blocks else { return broken("a grid without end") };
        let mut words: Vec<u64> = args
            .iter()
            .map(|a| match a {
                Argument::Scalar(s) => s.to_bits64() as u64,
                Argument::Buffer(b) => b.address(),
                Argument::Slice { buffer, base, first } => {
                    buffer.address() + (*first * (base.bits() as usize / 8)) as u64
                }
            })
            .collect();
        words.extend([blocks, self.device.error_slot()]);
        if how.chained {
            words.push(self.loaded.ticket.address());
            self.device.fill(&self.loaded.ticket, 0)?;
        }
        let extent = Extent {
            grid: [how.grid(blocks, self.loaded.workers), 1, 1],
            block: [how.threads, 1, 1],
            shared: 0,
        };
        // SAFETY: the parameters are those that the kernel was printed with, in this order; the plan keeps
        // the buffers until the launch is made, and memory is given out again in the order of the calls.
        #[expect(unsafe_code, reason = "a kernel is launched")]
        unsafe { self.device.launch(kernel, extent, &words) }?;
        if how.checks
            && let Some(failure) = self.device.failure()?
        {
            return Err(failure.into());
        }
        Ok(())
    }

    /// What a GPU sorts, its kernels do.
    fn sort(&mut self, _: &[SortKey<'_, Buffer>], _: usize, _: Gives, _: &Buffer) -> Result<(), Stopped> {
        broken("a sort by the runtime")
    }

    fn workers(&self) -> u64 {
        self.loaded.workers
    }
}

/// The results of a run.
struct Answer<'a> {
    device: &'a Device,
    given: Vec<Given<Buffer>>,
}

impl Results for Answer<'_> {
    fn is_scalar(&self, position: usize) -> bool {
        matches!(self.given.get(position), Some(Given::Scalar(_)))
    }

    fn scalar(&self, position: usize) -> B<Scalar> {
        match self.given.get(position) {
            Some(Given::Scalar(s)) => Ok(*s),
            _ => Err("no scalar where one is wanted".into()),
        }
    }

    fn array(&self, position: usize) -> B<Value> {
        let Some(Given::Buffer { buffer, base, dims }) = self.given.get(position) else {
            return Err("no array where one is wanted".into());
        };
        match self.device.download(buffer, *base, dims) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err("an array that is not there".into()),
            Err(e) => Err(e.to_string()),
        }
    }
}
