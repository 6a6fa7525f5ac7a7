//! The other side of the interface: a runtime that runs the blocks of a launch one after the other.
//!
//! It checks what a runtime may rely on: that what is freed was allocated and is freed once, and that a
//! program that finishes has freed all but its results.
#![allow(unsafe_code)]

use remc_base::ops::total_cmp;
use remc_base::{BaseTy, Scalar, Trap};
use remc_kernel::ir::Program;
use remc_kernel::parse::parse_program;
use remc_llvm::jit::Host;
use remc_llvm::{Compiled, Loaded, Pipeline, Slot, abi, compile, jit};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::c_void;

/// A failed check.
#[derive(Clone, PartialEq, Debug)]
pub struct Stopped {
    pub block: Option<u64>,
    pub trap: Trap,
    pub prov: u32,
    pub values: Vec<i64>,
}

#[derive(Clone, PartialEq, Debug)]
pub enum Arg {
    Scalar(Scalar),
    Array(Vec<Scalar>),
}

/// A result: dims and elements; a scalar has no dims.
#[derive(Clone, PartialEq, Debug)]
pub struct Out {
    pub dims: Vec<usize>,
    pub elements: Vec<Scalar>,
}

pub fn int(n: i64) -> Arg {
    Arg::Scalar(Scalar::I64(n))
}

pub fn ints(v: impl IntoIterator<Item = i64>) -> Arg {
    Arg::Array(v.into_iter().map(Scalar::I64).collect())
}

pub fn floats(v: impl IntoIterator<Item = f32>) -> Arg {
    Arg::Array(v.into_iter().map(Scalar::F32).collect())
}

/// The block, the trap, the place, the values.
type Report = (Option<u64>, u32, u32, Vec<i64>);

#[derive(Default)]
struct Ctx {
    buffers: RefCell<HashMap<usize, Vec<u64>>>,
    stopped: RefCell<Option<Report>>,
    order: RefCell<Vec<u32>>,
    /// Allocations of more elements stop.
    most: u64,
}

type Kernel = extern "C" fn(*const u64, u64, u64, u64, *mut c_void);

extern "C" fn fail(ctx: *mut c_void, block: u64, trap: u32, prov: u32, n: u32, values: *const i64) {
    // SAFETY: the pointer that `launch` gave the kernel, and `n` values as the interface says.
    let (ctx, values) = unsafe { (&*ctx.cast::<Ctx>(), std::slice::from_raw_parts(values, n as usize)) };
    ctx.stopped.borrow_mut().get_or_insert((Some(block), trap, prov, values.to_vec()));
}

extern "C" fn stop(ctx: *mut c_void, trap: u32, prov: u32, n: u32, values: *const i64) {
    // SAFETY: as in `fail`.
    let (ctx, values) = unsafe { (&*ctx.cast::<Ctx>(), std::slice::from_raw_parts(values, n as usize)) };
    ctx.stopped.borrow_mut().get_or_insert((None, trap, prov, values.to_vec()));
}

extern "C" fn alloc(ctx: *mut c_void, _prov: u32, bytes: u64, rank: u32, dims: *const u64) -> *mut c_void {
    // SAFETY: as in `fail`.
    let (ctx, dims) = unsafe { (&*ctx.cast::<Ctx>(), std::slice::from_raw_parts(dims, rank as usize)) };
    let elements = dims.iter().try_fold(1u64, |n, d| n.checked_mul(*d)).filter(|n| *n <= ctx.most);
    let Some(elements) = elements else { return std::ptr::null_mut() };
    let mut memory = vec![0xa5a5_a5a5_a5a5_a5a5u64; (elements * bytes) as usize / 8 + 2 + LINE];
    let line = aligned(&memory);
    let at = memory[line..].as_mut_ptr();
    ctx.buffers.borrow_mut().insert(at as usize, memory);
    at.cast()
}

extern "C" fn free(ctx: *mut c_void, buffer: *mut c_void) {
    // SAFETY: as in `fail`.
    let ctx = unsafe { &*ctx.cast::<Ctx>() };
    assert!(ctx.buffers.borrow_mut().remove(&(buffer as usize)).is_some(), "freed what is not allocated");
}

extern "C" fn launch(
    ctx: *mut c_void,
    kernel: u32,
    f: Kernel,
    args: *const u64,
    nargs: u64,
    blocks: u64,
) -> i32 {
    // SAFETY: as in `fail`.
    let (c, args) = unsafe { (&*ctx.cast::<Ctx>(), std::slice::from_raw_parts(args, nargs as usize)) };
    assert!(blocks > 0);
    c.order.borrow_mut().push(kernel);
    // Blocks run in any order, and alone or together.
    let args = args.to_vec();
    let half = blocks / 2;
    f(args.as_ptr(), half, blocks, 1, ctx);
    f(args.as_ptr(), 0, half, 0, ctx);
    i32::from(c.stopped.borrow().is_some())
}

extern "C" fn sort(_: *mut c_void, nkeys: u32, keys: *const u64, n: u64, out: *mut i64) -> i32 {
    // SAFETY: three slots for each key, and room for n numbers, as the interface says.
    let keys = unsafe { std::slice::from_raw_parts(keys, 3 * nkeys as usize) };
    let columns: Vec<(Vec<Scalar>, usize)> = keys
        .chunks(3)
        .map(|k| {
            let (ty, width) = (BaseTy::ALL[k[1] as usize], k[2] as usize);
            (read(ty, k[0], width * n as usize), width)
        })
        .collect();
    let mut order: Vec<i64> = (0..n as i64).collect();
    order.sort_by(|a, b| {
        let item = |c: &(Vec<Scalar>, usize), i: i64| c.0[i as usize * c.1..][..c.1].to_vec();
        let mut pairs = columns.iter().flat_map(|c| item(c, *a).into_iter().zip(item(c, *b)));
        pairs
            .find_map(|(x, y)| Some(total_cmp(x, y)).filter(|o| o.is_ne()))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    // SAFETY: as above.
    unsafe { std::slice::from_raw_parts_mut(out, n as usize) }.copy_from_slice(&order);
    0
}

extern "C" fn sort_keys(
    _: *mut c_void,
    ty: u32,
    keys: u64,
    n: u64,
    out: *mut u8,
    count: u32,
    at: *const i64,
) -> i32 {
    let ty = BaseTy::ALL[ty as usize];
    let mut sorted = read(ty, keys, n as usize);
    sorted.sort_by(|x, y| total_cmp(*x, *y));
    let bytes = (ty.bits() / 8).max(1) as usize;
    // SAFETY: so many places, as the interface says.
    let at = if count == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(at, count as usize) } };
    for (i, x) in sorted.into_iter().enumerate().filter(|(i, _)| at.is_empty() || at.contains(&(*i as i64))) {
        let bits = (x.to_bits64() as u64).to_le_bytes();
        // SAFETY: room for n elements, as the interface says.
        unsafe { out.add(i * bytes).copy_from_nonoverlapping(bits.as_ptr(), bytes) };
    }
    0
}

extern "C" fn workers(_: *mut c_void) -> u64 {
    2
}

fn bytes(ty: BaseTy) -> usize {
    if ty == BaseTy::Bool { 1 } else { ty.bits() as usize / 8 }
}

fn read(ty: BaseTy, at: u64, n: usize) -> Vec<Scalar> {
    let size = bytes(ty);
    (0..n)
        .map(|i| {
            let mut bits = [0u8; 8];
            // SAFETY: the buffer has n elements of this type.
            let from = unsafe { std::slice::from_raw_parts((at as usize + i * size) as *const u8, size) };
            bits[..size].copy_from_slice(from);
            Scalar::from_bits64(ty, i64::from_le_bytes(bits)).expect("a char")
        })
        .collect()
}

/// Words of a cache line, of which memory begins a new one.
const LINE: usize = 8;

/// Where in these words a cache line begins.
fn aligned(memory: &[u64]) -> usize {
    (memory.as_ptr() as usize / 8).wrapping_neg() % LINE
}

/// What is behind the elements: no index of anything, so that reading it as one is seen.
const BEHIND: u8 = 0x7f;

/// The elements, where a cache line begins in the words.
fn store(v: &[Scalar]) -> Vec<u64> {
    let mut all = Vec::new();
    for x in v {
        all.extend_from_slice(&x.to_bits64().to_le_bytes()[..bytes(x.ty())]);
    }
    all.resize(all.len().div_ceil(8) * 8 + 8, BEHIND);
    let words = all.len() / 8;
    let mut memory = vec![u64::from_le_bytes([BEHIND; 8]); words + LINE];
    let at = aligned(&memory);
    for (to, c) in memory[at..].iter_mut().zip(all.chunks(8)) {
        *to = u64::from_le_bytes(c.try_into().expect("eight"));
    }
    memory
}

/// Processors of every width of vectors: for texts, as not all of them can run here.
pub fn processors() -> [Host; 3] {
    jit::WIDTHS.map(Host::of_width)
}

/// Those of them whose code runs here.
pub fn hosts() -> Vec<Host> {
    processors().into_iter().filter(|h| h.vector_bits <= jit::host().vector_bits).collect()
}

/// A program, compiled and loaded.
pub struct Machine {
    code: Compiled,
    loaded: Loaded,
}

/// What a run gives, and which kernels ran.
pub type Run = Result<Vec<Out>, Option<Stopped>>;

impl Machine {
    pub fn new(p: &Program) -> Machine {
        Machine::with(p, Pipeline::default())
    }

    pub fn with(p: &Program, pipeline: Pipeline) -> Machine {
        Machine::on(&jit::host(), p, pipeline)
    }

    /// For a processor that is this one, or one with less.
    pub fn on(host: &Host, p: &Program, pipeline: Pipeline) -> Machine {
        let code = compile(p, host, pipeline)
            .unwrap_or_else(|e| panic!("{e}\n{}", remc_llvm::llvm_ir(p, host, None).unwrap_or_default()));
        let symbols = [
            (abi::FAIL, fail as *const () as usize),
            (abi::STOP, stop as *const () as usize),
            (abi::ALLOC, alloc as *const () as usize),
            (abi::FREE, free as *const () as usize),
            (abi::LAUNCH, launch as *const () as usize),
            (abi::SORT, sort as *const () as usize),
            (abi::SORT_KEYS, sort_keys as *const () as usize),
            (abi::WORKERS, workers as *const () as usize),
        ];
        let loaded = Loaded::new(&[&code.object], &symbols).expect("loads");
        Machine { code, loaded }
    }

    pub fn run(&self, args: &[Arg]) -> Run {
        let memory: Vec<Vec<u64>> = args
            .iter()
            .map(|a| match a {
                Arg::Scalar(_) => Vec::new(),
                Arg::Array(v) => store(v),
            })
            .collect();
        let params: Vec<u64> = args
            .iter()
            .zip(&memory)
            .map(|(a, m)| match a {
                Arg::Scalar(s) => s.to_bits64() as u64,
                Arg::Array(_) => m[aligned(m)..].as_ptr() as u64,
            })
            .collect();
        assert_eq!(params.len(), self.code.interface.params.len());
        let ctx = Ctx { most: 1 << 28, ..Ctx::default() };
        let slots: usize = self.code.interface.results.iter().map(|r| r.result_slots()).sum();
        let mut results = vec![0u64; slots.max(1)];
        let entry = self.loaded.lookup(abi::ENTRY).expect("an entry");
        // SAFETY: the signature that the interface says; the context and the slots outlive the call.
        let code = unsafe {
            let entry: extern "C" fn(*const Ctx, *const u64, *mut u64) -> i32 = std::mem::transmute(entry);
            entry(&ctx, params.as_ptr(), results.as_mut_ptr())
        };
        if code != 0 {
            return Err(ctx.stopped.take().map(|(block, trap, prov, values)| Stopped {
                block,
                trap: self.code.interface.traps[trap as usize].clone(),
                prov,
                values,
            }));
        }
        assert!(ctx.stopped.borrow().is_none(), "finished after a failure");
        let mut slots = results.into_iter();
        let mut owned = 0;
        let mut next = || slots.next().expect("a slot");
        let mut outs = Vec::new();
        for r in &self.code.interface.results {
            outs.push(match *r {
                Slot::Scalar(ty) => Out {
                    dims: Vec::new(),
                    elements: vec![Scalar::from_bits64(ty, next() as i64).expect("a scalar")],
                },
                Slot::Buffer { base, rank } => {
                    let at = next();
                    let dims: Vec<usize> = (0..rank).map(|_| next() as usize).collect();
                    owned += 1;
                    assert!(ctx.buffers.borrow().contains_key(&(at as usize)), "a result that is not owned");
                    Out { elements: read(base, at, dims.iter().product()), dims }
                }
            });
        }
        assert_eq!(ctx.buffers.borrow().len(), owned, "memory that is not freed");
        outs.iter()
            .all(|o| o.elements.len() == o.dims.iter().product::<usize>())
            .then_some(Ok(outs))
            .expect("results of their dims")
    }
}

/// The text with an id for each variable, in the order of their first mention.
fn numbered(text: &str) -> String {
    let mut ids: HashMap<&str, usize> = HashMap::new();
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        let end =
            rest[at + 1..].find(|c: char| !c.is_ascii_alphanumeric()).map_or(rest.len(), |n| at + 1 + n);
        let name = &rest[at..end];
        out += &rest[..end];
        rest = &rest[end..];
        if name.len() > 1 {
            let next = ids.len();
            out += &format!(".{}", ids.entry(name).or_insert(next));
        }
    }
    out + rest
}

/// A program of these parameters, kernels and this plan, `stmt … (give a …)`.
pub fn program(params: &str, kernels: &str, plan: &str) -> Program {
    let text = numbered(&format!(
        "(kernel 1 (name \"main\") (provs (p0 \"main\" 2 4) (p1 \"f\" 0 2 p0)) (types)
           (params {params}) (inputs) (output (tuple ())) {kernels} (plan {plan}))"
    ));
    let p = parse_program(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    remc_kernel::race::check(&p).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
    p
}

/// Kernel number `n` of these parameters.
pub fn kernel(n: u32, grid: &str, worker: &str, params: &str, body: &str) -> String {
    format!("(k{n} \"k\" (from p0) (grid {grid}) (worker {worker}) (params {params}) (body {body}))")
}

/// Runs a program once.
pub fn run(p: &Program, args: &[Arg]) -> Run {
    Machine::new(p).run(args)
}
