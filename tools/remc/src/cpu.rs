//! The cpu device: kernels become machine code, and a run of it a value.
//!
//! What a run may not need is compiled when it turns out to: the versions that the sizes do not choose, say. See
//! [`remc_kernel::parts`].

use crate::boundary::{self, B, Pushed, Results, Streaming, assemble, leaves};
use crate::device::{Ran, explain};
use crate::inputs::Streams;
use crate::report::{Failure, Outcome};
use remc_base::{IVar, IndexValue, Name, Scalar, Value};
use remc_driver::compile::Compiled;
use remc_driver::pipeline::Stage;
use remc_driver::{Db, InternalBug, Session};
use remc_interp::RuntimeError;
use remc_kernel::interface::{Interface, Slot, interface};
use remc_kernel::ir::{Atom, KernelId, Program, Space, Ty};
use remc_kernel::parts::{Parts, parts};
use remc_llvm::{EmitError, Host, Loaded, Pipeline};
use remc_runtime::cpu::{
    Cpu, CpuOptions, EntryFn, Finished, Input, KernelFn, Kernels, Limit, Size, Stopped, Touched,
};
use remc_runtime::stream::Channels;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// How much stack a thread that compiles has, in bytes: LLVM goes down into what it compiles.
const STACK: usize = 64 << 20;

/// A program's machine code: the plan's group loaded, the others as they are needed.
pub struct Code {
    program: Arc<Program>,
    interface: Interface,
    host: Host,
    pipeline: Pipeline,
    parts: Parts,
    /// What was found in the cache goes there; `None` if the code is not kept.
    cache: Option<crate::cache::Entry>,
    /// By group.
    loaded: Vec<OnceLock<Loaded>>,
    touched: Vec<Vec<Touched>>,
}

fn bug(stage: Stage, message: impl std::fmt::Display) -> Failure {
    Failure::Bug(InternalBug { stage: stage.info().name, message: message.to_string() })
}

/// The end where there is no code.
fn no_code(stage: Stage, e: remc_llvm::EmitError) -> Failure {
    if e == remc_llvm::EmitError::NoMemory {
        crate::exhausted::end(None);
    }
    bug(stage, e)
}

/// The code of a program, which is made once and stays with it.
pub fn kept(session: &Session, kernels: &Compiled) -> Outcome<Arc<Code>> {
    kernels.kept.get_or_make(|| load(session, kernels.program.clone()))
}

/// Compiles the plan, and the kernels that it launches whatever happens, for this processor, or takes their code from
/// the cache.
pub fn load(session: &Session, program: Arc<Program>) -> Outcome<Code> {
    let parts = parts(&program);
    let cache = crate::cache::Entry::of(&program, &crate::native::host()?);
    Code::new(session, program, Pipeline::default(), parts, Some(cache))
}

/// The same without the cache: what is tried once need not be kept.
pub fn fresh(session: &Session, program: Arc<Program>) -> Outcome<Code> {
    let parts = parts(&program);
    Code::new(session, program, Pipeline::default(), parts, None)
}

/// Compiles all of a program for this processor, whatever the cache holds.
pub fn build(session: &Session, program: Arc<Program>, pipeline: Pipeline) -> Outcome<Code> {
    let parts = Parts::whole(&program);
    Code::new(session, program, pipeline, parts, None)
}

impl Code {
    fn new(
        session: &Session,
        program: Arc<Program>,
        pipeline: Pipeline,
        parts: Parts,
        cache: Option<crate::cache::Entry>,
    ) -> Outcome<Code> {
        let loaded = (0..parts.groups()).map(|_| OnceLock::new()).collect();
        let (interface, host) = (interface(&program), crate::native::host()?);
        let touched = touched(&program);
        let code = Code { program, interface, host, pipeline, parts, cache, loaded, touched };
        code.group(session, 0).map_err(|e| no_code(Stage::Codegen, e))?;
        Ok(code)
    }

    /// A group of the program's parts, compiled now if it has not been before.
    fn group(&self, session: &Session, group: usize) -> Result<&Loaded, EmitError> {
        let place = self.loaded.get(group).ok_or_else(|| EmitError::Program(format!("no group {group}")))?;
        if let Some(loaded) = place.get() {
            return Ok(loaded);
        }
        let _timed = session.db.timings().enter(Stage::Codegen);
        let symbols = remc_runtime::cpu::symbols();
        let parts = self.parts.in_group(group);
        let kept =
            self.cache.as_ref().and_then(|c| parts.clone().map(|p| c.get(p)).collect::<Option<Vec<_>>>());
        // What the cache holds may be of a build that went wrong; then it is made anew. An object is linked when a
        // name of it is looked up, and only that says whether it can be.
        if let Some(objects) = kept
            && let Ok(loaded) = Loaded::new(&objects, &symbols)
            && self.names(parts.clone()).all(|name| loaded.lookup(&name).is_ok())
        {
            return Ok(place.get_or_init(|| loaded));
        }
        let objects = self.compile(parts.clone())?;
        if let Some(cache) = &self.cache {
            parts.zip(&objects).for_each(|(part, object)| cache.put(part, object));
            cache.warn(session);
        }
        let loaded = Loaded::new(&objects, &symbols)?;
        Ok(place.get_or_init(|| loaded))
    }

    /// The names of the functions of some parts.
    fn names(&self, parts: Range<usize>) -> impl Iterator<Item = String> {
        let plan = parts.contains(&0).then(|| remc_llvm::abi::ENTRY.to_owned());
        let kernels = self.program.kernels.iter().map(|(id, _)| id);
        let here = kernels.filter(move |id| parts.contains(&self.parts.of(*id)));
        plan.into_iter().chain(here.map(|id| remc_llvm::abi::kernel_symbol(id.0)))
    }

    /// The objects of some parts, compiled side by side on the processors that there are.
    fn compile(&self, parts: Range<usize>) -> Result<Vec<Vec<u8>>, EmitError> {
        let (first, count) = (parts.start, parts.len());
        let (p, host, pipeline, parts) = (&self.program, &self.host, self.pipeline, &self.parts);
        let next = AtomicUsize::new(0);
        let work = || {
            let mut made = Vec::new();
            loop {
                let nth = next.fetch_add(1, Ordering::Relaxed);
                if nth >= count {
                    return made;
                }
                made.push((nth, remc_llvm::compile_part(p, host, pipeline, parts, first + nth)));
            }
        };
        let threads = std::thread::available_parallelism().map_or(1, |n| n.get()).min(count);
        let mut made = std::thread::scope(|scope| {
            let start = |_| std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).ok();
            // Where no thread can be started, this one does all of it.
            let others: Vec<_> = (1..threads).filter_map(start).collect();
            let mut made = work();
            for other in others {
                made.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
            }
            made
        });
        made.sort_by_key(|(nth, _)| *nth);
        made.into_iter().map(|(_, object)| object).collect()
    }

    /// The code of a kernel.
    fn kernel(&self, session: &Session, kernel: u32) -> Result<KernelFn, EmitError> {
        let group = self.group(session, self.parts.group(KernelId(kernel)))?;
        let address = group.lookup(&remc_llvm::abi::kernel_symbol(kernel))?;
        // SAFETY: the address is that of a kernel's function, and `self` keeps its code.
        #[expect(unsafe_code, reason = "an address becomes the function that it is")]
        Ok(unsafe { std::mem::transmute::<usize, KernelFn>(address) })
    }
}

/// The device, with so many threads and bytes of memory.
pub fn device(threads: Option<u16>, memory_limit: Option<u64>) -> Cpu {
    let threads = threads.map_or(CpuOptions::default().threads, usize::from);
    Cpu::new(CpuOptions { threads, memory_limit })
}

/// A program's arguments in the device's memory.
pub struct Bound {
    slots: Vec<u64>,
    /// The memory that slots mention.
    buffers: Vec<Input>,
    channels: Option<RefCell<Channels>>,
}

/// Puts arguments into the device's memory, each array as a whole, where it is not there twice.
pub fn bind(
    session: &Session,
    code: &Code,
    cpu: &Cpu,
    indices: &[IndexValue],
    arguments: Vec<Value>,
    streaming: Streaming,
) -> Outcome<Result<Bound, RuntimeError>> {
    let wrong = |message: String| bug(Stage::Execute, message);
    if let Some(stopped) = read_twice(session, &code.program, &streaming.inputs) {
        return Ok(Err(stopped));
    }
    let channels = boundary::channels(&code.program, &arguments, streaming).map_err(wrong)?;
    let mut flat = Vec::new();
    for (input, value) in code.program.inputs.iter().zip(arguments) {
        leaves(input, Cow::Owned(value), &mut flat).map_err(wrong)?;
    }
    let mut slots = boundary::sizes(&code.program, indices, &flat).map_err(wrong)?;
    let mut buffers = Vec::new();
    if slots.len() + flat.len() != code.interface.params.len() {
        return Err(wrong("another number of parameters".into()));
    }
    for (slot, value) in code.interface.params[slots.len()..].iter().zip(flat) {
        match slot {
            Slot::Scalar(_) => slots.push(boundary::bits(&value).map_err(wrong)?),
            Slot::Buffer { .. } => match cpu.take(value) {
                Ok(input) => {
                    slots.push(input.slot());
                    buffers.push(input);
                }
                Err(stopped) => {
                    return explain(session, &code.program, &code.interface.traps, stopped).map(Err);
                }
            },
        }
    }
    Ok(Ok(Bound { slots, buffers, channels: channels.map(RefCell::new) }))
}

/// Why a stream that is read once cannot be what the program needs: before anything of it has been read.
fn read_twice(session: &Session, p: &Program, streams: &Streams) -> Option<RuntimeError> {
    for (k, items) in streams {
        let Some((channel, c)) = p.channels.iter().enumerate().find(|(_, c)| c.input == Some(*k)) else {
            continue;
        };
        let passes = p.passes(channel);
        let (false, Some(again)) = (items.rewinds(), passes.get(1)) else { continue };
        let trace = if p.provs.contains(*again) { p.provs.trace(*again) } else { Vec::new() };
        let user = trace.iter().find(|(g, _)| g.module >= session.first_user_module());
        return Some(RuntimeError {
            code: crate::codes::STREAM,
            message: format!(
                "the stream `{}` is a pipe, which is read once, and this needs it again from its first item on",
                c.name
            ),
            help: vec![format!(
                "write it to a file, which can be read twice; or keep all of it in memory: `(collect {})`",
                c.name
            )],
            at: user.or(trace.first()).cloned(),
            trace: trace.into(),
        });
    }
    None
}

/// Runs the plan once. `thresholds` are values in place of the program's own, by their numbers.
pub fn once(
    session: &Session,
    code: &Code,
    cpu: &Cpu,
    bound: &Bound,
    thresholds: Option<&[i64]>,
) -> Outcome<Result<Finished, RuntimeError>> {
    match within(session, code, cpu, bound, (thresholds, None))? {
        Ok(finished) => Ok(Ok(finished)),
        Err(Ended::Stopped(e)) => Ok(Err(e)),
        Err(Ended::Over) => Err(bug(Stage::Execute, "a run without a limit was ended")),
    }
}

/// Why a run has no result.
pub enum Ended {
    /// The program stopped.
    Stopped(RuntimeError),
    /// By its limit.
    Over,
}

/// Runs the plan once, and no longer than a limit says.
pub fn within(
    session: &Session,
    code: &Code,
    cpu: &Cpu,
    bound: &Bound,
    (thresholds, limit): (Option<&[i64]>, Option<Limit<'_>>),
) -> Outcome<Result<Finished, Ended>> {
    debug_assert!(bound.buffers.len() <= bound.slots.len());
    let plan = code.group(session, 0).map_err(|e| no_code(Stage::Codegen, e))?;
    let address = plan.lookup(remc_llvm::abi::ENTRY).map_err(|e| no_code(Stage::Execute, e))?;
    // SAFETY: the address is that of the entry's function in code that is loaded for as long as `code` is.
    #[expect(unsafe_code, reason = "an address becomes the function that it is")]
    let entry: EntryFn = unsafe { std::mem::transmute::<usize, EntryFn>(address) };
    let results = code.interface.results.iter().map(|s| s.result_slots()).sum();
    let late = |kernel| code.kernel(session, kernel).map_err(|e| e.to_string());
    let channels = bound.channels.as_ref();
    channels.into_iter().for_each(|c| c.borrow_mut().restart());
    let kernels = Kernels { touched: &code.touched, late: Some(&late), thresholds, limit, channels };
    // SAFETY: the slots are those of the interface of this very program, the buffers live on, and so does
    // `code`, which gives the kernels.
    #[expect(unsafe_code, reason = "compiled code is called")]
    let finished = unsafe { cpu.run(entry, &bound.slots, results, kernels) };
    match finished {
        Ok(finished) => Ok(Ok(finished)),
        Err(Stopped::Ended) => Ok(Err(Ended::Over)),
        Err(stopped) => {
            let stopped = explain(session, &code.program, &code.interface.traps, stopped)?;
            Ok(Err(Ended::Stopped(stopped)))
        }
    }
}

/// Runs a program once with these values of thresholds, by their numbers ([`thresholds`]).
pub fn run_under(
    session: &Session,
    code: &Code,
    cpu: &Cpu,
    (signature, indices): (&[IVar], &[IndexValue]),
    arguments: Vec<Value>,
    thresholds: &[i64],
) -> Outcome<Result<Value, RuntimeError>> {
    let bound = match bind(session, code, cpu, indices, arguments, Streaming::default())? {
        Ok(bound) => bound,
        Err(stopped) => return Ok(Err(stopped)),
    };
    Ok(match once(session, code, cpu, &bound, Some(thresholds))? {
        Ok(finished) => Ok(value(code, &finished, &bound, signature, indices)?),
        Err(stopped) => Err(stopped),
    })
}

/// What a run has given.
pub fn value(
    code: &Code,
    finished: &Finished,
    bound: &Bound,
    signature: &[IVar],
    indices: &[IndexValue],
) -> Outcome<Value> {
    let pushed = Pushed { program: &code.program, channels: bound.channels.as_ref() };
    let given = Given { finished, interface: &code.interface, pushed };
    assemble(&code.program.output, &given, &boundary::closing(signature, indices))
        .map_err(|message| bug(Stage::Execute, message))
}

/// Runs a program on its arguments, some number of times. `signature` are the entry's indices.
pub fn run(
    session: &Session,
    code: &Code,
    cpu: &Cpu,
    (signature, indices): (&[IVar], &[IndexValue]),
    (arguments, streaming): (Vec<Value>, Streaming),
    repeat: u32,
) -> Outcome<Result<Ran, RuntimeError>> {
    let _timed = session.db.timings().enter(Stage::Execute);
    let wrong = |message: String| bug(Stage::Execute, message);
    let bound = match bind(session, code, cpu, indices, arguments, streaming)? {
        Ok(bound) => bound,
        Err(stopped) => return Ok(Err(stopped)),
    };
    let mut runs = Vec::new();
    let mut last = None;
    for _ in 0..repeat {
        // The results of one run are gone before the next, which takes their memory.
        drop(last.take());
        match once(session, code, cpu, &bound, None)? {
            Ok(finished) => {
                runs.push(finished.stats.time);
                last = Some(finished);
            }
            Err(stopped) => return Ok(Err(stopped)),
        }
    }
    let Some(finished) = last else { return Err(wrong("no run".into())) };
    let value = match bound.channels.as_ref().is_some_and(|c| c.borrow().writes()) {
        true => None,
        false => Some(value(code, &finished, &bound, signature, indices)?),
    };
    Ok(Ok(Ran { value, runs, stats: finished.stats.clone() }))
}

/// Of each kernel, the buffers that it reads and writes.
fn touched(p: &Program) -> Vec<Vec<Touched>> {
    let written = remc_kernel::race::written(p);
    let of = |(id, k): (remc_kernel::ir::KernelId, &remc_kernel::ir::Kernel)| {
        let read = remc_kernel::memory::read(&k.body);
        let buffer = |v: &remc_kernel::ir::Var| match p.ty(*v) {
            Ty::Buffer(b) if b.space == Space::Global => {
                let times = u64::from(read.contains(v)) + u64::from(written[id.0 as usize].contains(v));
                let dim = |d: &Atom| match d {
                    Atom::Const(c) => Size::Const(c.to_bits64() as u64),
                    Atom::Var(v) => {
                        k.params.iter().position(|x| x == v).map_or(Size::Const(1), Size::Argument)
                    }
                };
                let element_bytes = u64::from(b.base.bits() / 8);
                Some(Touched { element_bytes, times, dims: b.dims.iter().map(dim).collect() })
            }
            _ => None,
        };
        k.params.iter().filter_map(buffer).collect()
    };
    p.kernels.iter().map(of).collect()
}

/// The operator of each kernel, by its number; empty where it is of none alone.
pub fn operators(code: &Code) -> impl Iterator<Item = &str> {
    code.program.kernels.iter().map(|(_, k)| k.site.as_str())
}

/// The thresholds of the plan and their values, by their numbers.
pub fn thresholds(code: &Code) -> &[(Name, i64)] {
    &code.interface.thresholds
}

/// The names of the kernels, in the order of the statistics.
pub fn kernels(code: &Code) -> impl Iterator<Item = &str> {
    code.interface.kernels.iter().map(|k| k.name.as_str())
}

/// The slots of a finished run.
struct Given<'a> {
    finished: &'a Finished,
    interface: &'a Interface,
    pushed: Pushed<'a>,
}

impl Given<'_> {
    fn slot(&self, position: usize) -> B<(usize, Slot)> {
        let slots = &self.interface.results;
        let Some(slot) = slots.get(position) else { return Err("a result that is not given".into()) };
        Ok((slots[..position].iter().map(|s| s.result_slots()).sum(), *slot))
    }
}

impl Results for Given<'_> {
    fn is_scalar(&self, position: usize) -> bool {
        !self.pushed.is_it(position) && matches!(self.slot(position), Ok((_, Slot::Scalar(_))))
    }

    fn scalar(&self, position: usize) -> B<Scalar> {
        match self.slot(position)? {
            (at, Slot::Scalar(ty)) => self.finished.scalar(at, ty).ok_or("a result of no value".into()),
            _ => Err("an array where a scalar is wanted".into()),
        }
    }

    fn array(&self, position: usize) -> B<Value> {
        if let Some(pushed) = self.pushed.array(position) {
            return pushed;
        }
        match self.slot(position)? {
            (at, Slot::Buffer { base, rank }) => {
                self.finished.array(at, base, rank).ok_or("a result of no buffer".into())
            }
            _ => Err("a scalar where an array is wanted".into()),
        }
    }
}
