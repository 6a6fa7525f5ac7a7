//! From Kernel to one LLVM module: a function for each kernel and one for the plan.
//!
//! ```text
//! (kernel "scale" (grid (%b nb)) … (for (lanes 16) %i (tile %b 16384 %n) () …))
//!
//! define void @k0(ptr %args, i64 %lo, i64 %hi, i64 %worker, ptr %error)   for each block of lo … hi:
//!   for i by 16: <16 x T>;  for i by 1: what is left                        the loop in lanes
//! define i32 @remc_entry(ptr %ctx, ptr %params, ptr %results)             allocates, launches
//! ```
//!
//! [`crate::abi`] says what these functions are given. Statements are emitted by one emitter, [`Fun`], for
//! kernels and plan; they differ in how memory is made and in how a failed check is told.
//!
//! | module | what it emits |
//! | --- | --- |
//! | `pieces` | values: of one iteration, of the lanes of a vector, of jammed iterations |
//! | `vary` | nothing: it finds what depends on the variable of a parallel loop |
//! | `counted` | nothing: a loop that counts, as the modules below are given it |
//! | `stmt` | `let`, `if`, `while`, `check` |
//! | `loops` | `for`, one iteration after the other, in lanes, jammed, unrolled |
//! | `jam` | several iterations at once |
//! | `uniformity` | bodies for vectors that are uniform in what happens at the edges of arrays, and for the others |
//! | `overlap` | loops in lanes that are split where lanes would disagree, and whose last vector takes some iterations again |
//! | `predicate` | branches that lanes take each for itself |
//! | `diverge` | loops that lanes leave one by one |
//! | `interleave` | loads and stores of short rows that lie side by side |
//! | `constants` | many stores of constants, as one copy |
//! | `chain` | values that blocks hand on to one another |
//! | `keep` | `for` that keeps some of its items, in lanes |
//! | `outer_lanes` | `for` over rows, the short ones in lanes, one row in each: outer-loop vectorisation |
//! | `rows` | `for` that reduces a row in each iteration, several short rows at once |
//! | `scan` | `for` whose carried values are scanned in lanes |
//! | `tail` | what is left of a reduction in lanes, in one vector with a mask |
//! | `memory` | addresses, loads, stores |
//! | `private` | arrays that each lane has for itself |
//! | `prefetch` | memory that is asked for before it is needed |
//! | `transpose` | loads and stores of blocks that are transposed in registers |
//! | `plan` | the entry: allocation, launches, sorts, results |

mod chain;
mod constants;
mod counted;
mod diverge;
mod interleave;
mod jam;
mod keep;
mod loops;
mod memory;
mod outer_lanes;
mod overlap;
mod pieces;
mod plan;
mod predicate;
mod prefetch;
mod private;
mod rows;
mod scan;
mod stmt;
mod tail;
mod transpose;
mod uniformity;
mod vary;

use crate::abi::{self, Interface};
use crate::error::EmitError;
use crate::jit::{self, Host, Pipeline};
use crate::scalar::Emit;
use crate::values::Value;
use inkwell::AddressSpace;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::types::{BasicMetadataTypeEnum, BasicTypeEnum, IntType};
use inkwell::values::{BasicValueEnum, FunctionValue, IntValue, PointerValue};
use memory::Scope;
use pieces::{Pieces, uniform};
use remc_base::{BaseTy, Trap};
use remc_kernel::contract;
use remc_kernel::ir::{Atom, BufferTy, Kernel, Program, Stmt, StmtKind, Ty, Var};
use remc_kernel::parts::Parts;
use remc_kernel::schedule::Schedule;
use remc_kernel::uniformity::Uniformity;
use rustc_hash::{FxHashMap, FxHashSet};

/// The machine code of a program.
#[derive(Clone, PartialEq, Debug)]
pub struct Compiled {
    /// An object file; see [`crate::abi`] for what it defines and needs.
    pub object: Vec<u8>,
    pub interface: Interface,
}

/// Compiles a program.
///
/// # Errors
/// If the program breaks an invariant of Kernel, or LLVM refuses what was made of it.
pub fn compile(p: &Program, host: &Host, pipeline: Pipeline) -> Result<Compiled, EmitError> {
    let object = compile_part(p, host, pipeline, &Parts::whole(p), 0)?;
    Ok(Compiled { object, interface: abi::interface(p) })
}

/// The object of one part of a program: its kernels, and for part 0 the plan. The plan launches the kernels of other
/// parts by their numbers alone, and the runtime has to know where their code is.
///
/// # Errors
/// As [`compile`].
pub fn compile_part(
    p: &Program,
    host: &Host,
    pipeline: Pipeline,
    parts: &Parts,
    part: usize,
) -> Result<Vec<u8>, EmitError> {
    let context = Context::create();
    let pipeline = if parts.is_plan_alone(part) { Pipeline::Plain } else { pipeline };
    jit::object(&module(&context, p, host, parts, part)?, host, pipeline)
}

/// The assembly text of a program.
///
/// # Errors
/// As [`compile`].
pub fn assembly(p: &Program, host: &Host, pipeline: Pipeline) -> Result<String, EmitError> {
    let context = Context::create();
    jit::assembly(&module(&context, p, host, &Parts::whole(p), 0)?, host, pipeline)
}

/// The LLVM text of a program, as emitted, or after a pipeline of LLVM's passes.
///
/// # Errors
/// As [`compile`].
pub fn llvm_ir(p: &Program, host: &Host, pipeline: Option<Pipeline>) -> Result<String, EmitError> {
    let context = Context::create();
    let module = module(&context, p, host, &Parts::whole(p), 0)?;
    if let Some(pipeline) = pipeline {
        jit::optimise(&module, &jit::machine(host)?, pipeline)?;
    }
    Ok(module.print_to_string().to_string())
}

fn module<'ctx>(
    context: &'ctx Context,
    p: &Program,
    host: &Host,
    parts: &Parts,
    part: usize,
) -> Result<Module<'ctx>, EmitError> {
    let module = context.create_module("remora");
    jit::set_target(&module, &jit::machine(host)?);
    let builder = context.create_builder();
    let e = Emit::new(context, &module, &builder, host.fma);
    let traps = remc_kernel::traps::numbers(&remc_kernel::traps::traps(p));
    let common = Common { e, p, host, traps: &traps };
    for (id, k) in p.kernels.iter().filter(|(id, _)| parts.of(*id) == part) {
        kernel(common, &abi::kernel_symbol(id.0), k)?;
    }
    if part == 0 {
        plan::entry(common)?;
    }
    Ok(module)
}

/// What all functions of a module share.
#[derive(Clone, Copy)]
struct Common<'a, 'ctx> {
    e: Emit<'a, 'ctx>,
    p: &'a Program,
    host: &'a Host,
    traps: &'a FxHashMap<Trap, u32>,
}

/// Whom a function tells of a failed check.
#[derive(Clone, Copy)]
enum Side<'ctx> {
    Kernel { error: Value<'ctx>, block: Value<'ctx> },
    Plan { ctx: Value<'ctx> },
}

/// A function under construction.
struct Fun<'a, 'ctx> {
    e: Emit<'a, 'ctx>,
    p: &'a Program,
    host: &'a Host,
    traps: &'a FxHashMap<Trap, u32>,
    function: FunctionValue<'ctx>,
    /// The first block: memory on the stack is made here.
    entry: BasicBlock<'ctx>,
    side: Side<'ctx>,
    /// Scalars; and buffers, by their addresses.
    env: FxHashMap<Var, Pieces<'ctx>>,
    /// What the function is given.
    params: FxHashSet<Var>,
    /// The number of lanes of the loop around, and the variables that differ from lane to lane.
    lanes: Option<u32>,
    lane_varying: FxHashSet<Var>,
    /// The private buffers, of which each lane has one for itself.
    private: FxHashSet<Var>,
    /// The lanes whose iterations there are, where not all are.
    mask: Option<tail::Mask<'ctx>>,
    /// What is known while short rows run side by side.
    outer_lanes: Option<outer_lanes::Lanes<'ctx>>,
    /// What the function is of, if it is no plan.
    kernel: Option<&'a Kernel>,
    /// What is uniform, in the part of a loop where lanes agree.
    uniformity: Uniformity,
    /// Whether what comes after the consecutive elements that are loaded is prefetched, and where indices come from.
    prefetches: bool,
    origins: prefetch::Origins,
    /// How many iterations of the loop around are jammed, and the variables that differ.
    jam: usize,
    /// The numbers of the kernel.
    schedule: Schedule,
    jam_varying: FxHashSet<Var>,
    /// Those that grow by one from iteration to iteration.
    jam_linear: FxHashSet<Var>,
    /// Whether the loop around writes whole cache lines that it does not read: the jammed loop of a
    /// transposition, a scan, or one along rows of which the lanes around have a piece.
    writes_lines: bool,
    /// Whether there are stores past the caches.
    streams: bool,
    /// Sums that take in a product, and the products that are left out therefore.
    fused: contract::Fused,
    scopes: FxHashMap<Var, Scope<'ctx>>,
    /// Memory for the arguments of calls.
    slots: Option<(PointerValue<'ctx>, usize)>,
    /// Where a plan returns that has stopped.
    stopped: Option<BasicBlock<'ctx>>,
}

impl<'a, 'ctx> Fun<'a, 'ctx> {
    /// A function with its first two blocks, positioned at the end of the second.
    fn new(c: Common<'a, 'ctx>, function: FunctionValue<'ctx>, side: Side<'ctx>) -> Result<Self, EmitError> {
        let entry = c.e.context.append_basic_block(function, "entry");
        let start = c.e.context.append_basic_block(function, "start");
        c.e.builder.position_at_end(entry);
        c.e.builder.build_unconditional_branch(start)?;
        c.e.builder.position_at_end(start);
        Ok(Fun {
            e: c.e,
            p: c.p,
            host: c.host,
            traps: c.traps,
            function,
            entry,
            side,
            env: FxHashMap::default(),
            params: FxHashSet::default(),
            lanes: None,
            lane_varying: FxHashSet::default(),
            private: FxHashSet::default(),
            mask: None,
            outer_lanes: None,
            kernel: None,
            uniformity: Uniformity::default(),
            prefetches: false,
            origins: prefetch::Origins::default(),
            jam: 1,
            schedule: Schedule::default(),
            jam_varying: FxHashSet::default(),
            jam_linear: FxHashSet::default(),
            writes_lines: false,
            streams: false,
            fused: contract::Fused::default(),
            scopes: FxHashMap::default(),
            slots: None,
            stopped: None,
        })
    }

    fn i64(&self, n: i64) -> IntValue<'ctx> {
        self.e.context.i64_type().const_int(n as u64, true)
    }

    fn i32(&self, n: u32) -> IntValue<'ctx> {
        self.e.context.i32_type().const_int(u64::from(n), false)
    }

    /// The integers of so many bits.
    fn int_ty(&self, bits: u32) -> Result<IntType<'ctx>, EmitError> {
        let wrong = EmitError::WrongValue("bits");
        let bits = std::num::NonZeroU32::new(bits).ok_or(wrong)?;
        self.e.context.custom_width_int_type(bits).map_err(|_| EmitError::WrongValue("bits"))
    }

    fn append(&self) -> BasicBlock<'ctx> {
        self.e.context.append_basic_block(self.function, "")
    }

    fn position(&self, b: BasicBlock<'ctx>) {
        self.e.builder.position_at_end(b);
    }

    /// Where the builder stands.
    fn here(&self) -> Result<BasicBlock<'ctx>, EmitError> {
        self.e.builder.get_insert_block().ok_or(EmitError::WrongValue("no block"))
    }

    fn jump(&self, to: BasicBlock<'ctx>) -> Result<(), EmitError> {
        self.e.builder.build_unconditional_branch(to)?;
        Ok(())
    }

    fn branch(
        &self,
        cond: Value<'ctx>,
        yes: BasicBlock<'ctx>,
        no: BasicBlock<'ctx>,
    ) -> Result<(), EmitError> {
        let BasicValueEnum::IntValue(cond) = cond else { return Err(EmitError::WrongValue("condition")) };
        self.e.builder.build_conditional_branch(cond, yes, no)?;
        Ok(())
    }

    // ---- atoms ----

    fn atom(&self, a: Atom) -> Result<Pieces<'ctx>, EmitError> {
        match a {
            Atom::Const(c) => Ok(uniform(self.e.constant(c, None))),
            Atom::Var(v) => self.env.get(&v).cloned().ok_or_else(|| self.unbound(v)),
        }
    }

    fn unbound(&self, v: Var) -> EmitError {
        EmitError::Program(format!("{v:?} is not in scope"))
    }

    /// A scalar that neither lanes nor jammed iterations change.
    fn scalar(&self, a: Atom) -> Result<Value<'ctx>, EmitError> {
        match self.atom(a)?.as_slice() {
            [p] => self.scalar_of(*p),
            _ => Err(EmitError::Program("a value that varies where it must not".into())),
        }
    }

    /// A size or index that does not vary.
    fn size(&self, a: Atom) -> Result<IntValue<'ctx>, EmitError> {
        int(self.scalar(a)?)
    }

    fn ty(&self, a: Atom) -> Result<BaseTy, EmitError> {
        scalar_ty(self.p, a).ok_or_else(|| EmitError::Program(format!("{a:?} is no scalar")))
    }

    /// The type of a buffer; `None` if the variable is none.
    fn buffer_ty(&self, v: Var) -> Option<&'a BufferTy> {
        match &self.p.vars.get(v)?.ty {
            Ty::Buffer(b) => Some(b),
            Ty::Scalar(_) => None,
        }
    }

    fn bind(&mut self, v: Var, value: Value<'ctx>) {
        self.env.insert(v, uniform(value));
    }

    // ---- slots ----

    /// A scalar as the 64 bits of a slot.
    fn to_slot(&self, ty: BaseTy, v: Value<'ctx>) -> Result<Value<'ctx>, EmitError> {
        let i64t: BasicTypeEnum<'ctx> = self.e.context.i64_type().into();
        let v = match v {
            BasicValueEnum::FloatValue(_) => self.e.bitcast(v, self.int_ty(ty.bits())?.into())?,
            v => v,
        };
        match v {
            BasicValueEnum::PointerValue(p) => {
                Ok(self.e.builder.build_ptr_to_int(p, self.e.context.i64_type(), "")?.into())
            }
            v if v.get_type() == i64t => Ok(v),
            v if ty.is_signed() => self.e.sext(v, i64t),
            v => self.e.zext(v, i64t),
        }
    }

    /// The scalar of a type in a slot.
    fn scalar_from_slot(&self, ty: BaseTy, v: Value<'ctx>) -> Result<Value<'ctx>, EmitError> {
        let target = self.e.llvm_ty(ty, None);
        match target {
            BasicTypeEnum::IntType(t) if t.get_bit_width() == 64 => Ok(v),
            BasicTypeEnum::IntType(_) => self.e.trunc(v, target),
            BasicTypeEnum::FloatType(t) if t.get_bit_width() == 64 => self.e.bitcast(v, target),
            _ => {
                let bits = self.e.trunc(v, self.int_ty(ty.bits())?.into())?;
                self.e.bitcast(bits, target)
            }
        }
    }

    /// Binds variables to what the slots of an array hold.
    fn load_slots(&mut self, from: PointerValue<'ctx>, vars: &[Var]) -> Result<(), EmitError> {
        for (k, v) in vars.iter().enumerate() {
            let at = self.e.element(BaseTy::I64, from, self.i64(k as i64))?;
            let value = match self.p.vars.get(*v).map(|i| &i.ty) {
                Some(Ty::Scalar(b)) => {
                    let bits = self.e.load(BaseTy::I64, None, at)?;
                    self.scalar_from_slot(*b, bits)?
                }
                Some(Ty::Buffer(_)) => {
                    let ptr = self.e.context.ptr_type(AddressSpace::default());
                    self.e.builder.build_load(ptr, at, "")?
                }
                None => return Err(self.unbound(*v)),
            };
            self.bind(*v, value);
        }
        Ok(())
    }

    /// Memory on the stack for that many elements, made once for each call of the function.
    fn stack(&self, ty: BaseTy, elements: u32) -> Result<PointerValue<'ctx>, EmitError> {
        let builder = self.e.context.create_builder();
        match self.entry.get_first_instruction() {
            Some(i) => builder.position_before(&i),
            None => builder.position_at_end(self.entry),
        }
        let memory = self.e.memory_ty(ty, None);
        let array = match memory {
            BasicTypeEnum::IntType(t) => t.array_type(elements),
            BasicTypeEnum::FloatType(t) => t.array_type(elements),
            _ => return Err(EmitError::WrongValue("stack")),
        };
        Ok(builder.build_alloca(array, "")?)
    }

    /// Writes slots for a call. The memory is used again by the next call.
    fn slots(&mut self, values: &[Value<'ctx>]) -> Result<PointerValue<'ctx>, EmitError> {
        let memory = match self.slots {
            Some((p, n)) if n >= values.len() => p,
            _ => {
                let n = values.len().max(remc_base::trap::MOST_VALUES);
                let p = self.stack(BaseTy::I64, n as u32)?;
                self.slots = Some((p, n));
                p
            }
        };
        for (k, v) in values.iter().enumerate() {
            let at = self.e.element(BaseTy::I64, memory, self.i64(k as i64))?;
            self.e.store(BaseTy::I64, *v, at)?;
        }
        Ok(memory)
    }

    // ---- the runtime ----

    /// The declaration of one of the runtime's functions.
    fn runtime(
        &self,
        name: &str,
        result: Option<BasicTypeEnum<'ctx>>,
        args: &[Value<'ctx>],
    ) -> FunctionValue<'ctx> {
        if let Some(f) = self.e.module.get_function(name) {
            return f;
        }
        let args: Vec<BasicMetadataTypeEnum<'ctx>> = args.iter().map(|a| a.get_type().into()).collect();
        let ty = match result {
            Some(t) => inkwell::types::BasicType::fn_type(&t, &args, false),
            None => self.e.context.void_type().fn_type(&args, false),
        };
        let f = self.e.module.add_function(name, ty, None);
        let rare = [abi::FAIL, abi::STOP].contains(&name);
        for a in ["nounwind", "cold"].iter().take(1 + usize::from(rare)) {
            let kind = Attribute::get_named_enum_kind_id(a);
            f.add_attribute(AttributeLoc::Function, self.e.context.create_enum_attribute(kind, 0));
        }
        f
    }

    /// Calls one of the runtime's functions that gives nothing.
    fn call(&self, name: &str, args: &[Value<'ctx>]) -> Result<(), EmitError> {
        let f = self.runtime(name, None, args);
        let args: Vec<_> = args.iter().map(|a| (*a).into()).collect();
        self.e.builder.build_direct_call(f, &args, "")?;
        Ok(())
    }

    /// Calls one that gives a value.
    fn call_for(
        &self,
        name: &str,
        result: BasicTypeEnum<'ctx>,
        args: &[Value<'ctx>],
    ) -> Result<Value<'ctx>, EmitError> {
        let f = self.runtime(name, Some(result), args);
        let args: Vec<_> = args.iter().map(|a| (*a).into()).collect();
        match self.e.builder.build_direct_call(f, &args, "")?.try_as_basic_value() {
            inkwell::values::ValueKind::Basic(v) => Ok(v),
            inkwell::values::ValueKind::Instruction(_) => Err(EmitError::WrongValue("call")),
        }
    }
}

/// The type of a scalar; `None` if the atom is none.
fn scalar_ty(p: &Program, a: Atom) -> Option<BaseTy> {
    match a {
        Atom::Const(c) => Some(c.ty()),
        Atom::Var(v) => match p.vars.get(v)?.ty {
            Ty::Scalar(b) => Some(b),
            Ty::Buffer(_) => None,
        },
    }
}

fn int(v: Value<'_>) -> Result<IntValue<'_>, EmitError> {
    match v {
        BasicValueEnum::IntValue(v) => Ok(v),
        _ => Err(EmitError::WrongValue("an integer")),
    }
}

fn pointer(v: Value<'_>) -> Result<PointerValue<'_>, EmitError> {
    match v {
        BasicValueEnum::PointerValue(v) => Ok(v),
        _ => Err(EmitError::WrongValue("an address")),
    }
}

/// The parameters of a function.
fn parameters<'ctx, const N: usize>(f: FunctionValue<'ctx>) -> Result<[Value<'ctx>; N], EmitError> {
    f.get_params().try_into().map_err(|_| EmitError::WrongValue("parameters"))
}

/// Gives a function an attribute, or one of its parameters.
fn attribute(c: &Context, f: FunctionValue<'_>, at: AttributeLoc, name: &str) {
    let kind = Attribute::get_named_enum_kind_id(name);
    f.add_attribute(at, c.create_enum_attribute(kind, 0));
}

/// So many statements take longer to compile well than to run: scalars that become an array, as a rule.
const LONG: usize = 256;

/// How many statements there are, if none of them is a loop.
fn straight(body: &[Stmt]) -> Option<usize> {
    body.iter()
        .map(|s| match &s.kind {
            StmtKind::For { .. } | StmtKind::While { .. } => None,
            kind => kind.blocks().into_iter().try_fold(1, |n, b| Some(n + straight(b)?)),
        })
        .sum()
}

/// The function of a kernel: a loop over its blocks.
fn kernel<'a>(c: Common<'a, '_>, name: &str, k: &'a Kernel) -> Result<(), EmitError> {
    let context = c.e.context;
    let (ptr, i64t) = (context.ptr_type(AddressSpace::default()), context.i64_type());
    let ty =
        context.void_type().fn_type(&[ptr.into(), i64t.into(), i64t.into(), i64t.into(), ptr.into()], false);
    let function = c.e.module.add_function(name, ty, None);
    attribute(context, function, AttributeLoc::Function, "nounwind");
    attribute(context, function, AttributeLoc::Param(0), "noalias");
    attribute(context, function, AttributeLoc::Param(0), "readonly");
    // What runs once a launch need not be good, and LLVM takes the square of its length for a long block.
    if k.grid.is_empty() && straight(&k.body).is_some_and(|n| n > LONG) {
        for a in ["noinline", "optnone"] {
            attribute(context, function, AttributeLoc::Function, a);
        }
    }
    let [args, lo, hi, worker, error] = parameters(function)?;
    let mut f = Fun::new(c, function, Side::Kernel { error, block: lo })?;
    f.schedule = k.schedule;
    f.load_slots(pointer(args)?, &k.params)?;
    f.params.extend(&k.params);
    f.bind(k.worker, worker);
    f.kernel = Some(k);
    f.fused = contract::fused(c.p, &k.body);
    f.make_scopes(name, &k.params);
    f.counted(int(lo)?, int(hi)?, 1, Vec::new(), &mut |f, block, _| {
        f.side = Side::Kernel { error, block: block.into() };
        f.grid(k, block.into())?;
        f.block(&k.body)?;
        Ok(Vec::new())
    })?;
    if f.streams {
        f.fence()?;
    }
    f.e.builder.build_return(None)?;
    Ok(())
}

impl<'ctx> Fun<'_, 'ctx> {
    /// Binds the grid's variables to the point that a block is.
    fn grid(&mut self, k: &Kernel, block: Value<'ctx>) -> Result<(), EmitError> {
        let mut rest = block;
        for (i, (v, size)) in k.grid.iter().enumerate().rev() {
            if i == 0 {
                self.bind(*v, rest);
                break;
            }
            let size = self.scalar(*size)?;
            let index = self.e.urem(rest, size)?;
            rest = self.e.udiv(rest, size)?;
            self.bind(*v, index);
        }
        Ok(())
    }
}
