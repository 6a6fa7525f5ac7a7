//! The plan's function, and the statements that only a plan has.
//!
//! ```text
//! (launch k9 (…) p81)        remc.points.3(n, ny, nx) ── < 0 ──► stop
//!                                      │ > 0: slots, remc_launch ── ≠ 0 ──► stop: ret 1
//! ```
//!
//! A plan runs once, and is long where nests have versions: what compiling it takes is what counts. So what it does at
//! every launch is called, and there is one place where it stops.

use super::{Common, Fun, Side, int, parameters, pointer};
use crate::abi;
use crate::error::EmitError;
use crate::scalar::Emit;
use crate::values::{Value, element_bytes};
use inkwell::attributes::AttributeLoc;
use inkwell::basic_block::BasicBlock;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{BasicValueEnum, IntValue, PointerValue};
use inkwell::{AddressSpace, IntPredicate};
use remc_base::{BaseTy, Prov};
use remc_kernel::ir::{Atom, KernelId, Take, Var};
use remc_kernel::schedule::Field;
use rustc_hash::FxHashMap;

/// Emits `remc_entry`.
pub(super) fn entry(c: Common<'_, '_>) -> Result<(), EmitError> {
    let context = c.e.context;
    let ptr = context.ptr_type(AddressSpace::default());
    let ty = context.i32_type().fn_type(&[ptr.into(), ptr.into(), ptr.into()], false);
    let function = c.e.module.add_function(abi::ENTRY, ty, None);
    // The plan is long where nests have versions, and most of its time is spent in what it calls: to compile it well
    // would take longer than that saves.
    for a in ["nounwind", "noinline", "optnone"] {
        super::attribute(context, function, AttributeLoc::Function, a);
    }
    let [ctx, params, results] = parameters(function)?;
    let mut f = Fun::new(c, function, Side::Plan { ctx })?;
    f.load_slots(pointer(params)?, &c.p.params)?;
    f.fused = remc_kernel::contract::fused(c.p, &c.p.plan);
    f.block(&c.p.plan)?;
    f.give(pointer(results)?, &c.p.results)?;
    f.e.builder.build_return(Some(&f.i32(0)))?;
    Ok(())
}

impl<'ctx> Fun<'_, 'ctx> {
    /// What the plan's runtime calls take first.
    pub fn ctx(&self) -> Result<Value<'ctx>, EmitError> {
        match self.side {
            Side::Plan { ctx } => Ok(ctx),
            Side::Kernel { .. } => Err(EmitError::Program("a statement of the plan in a kernel".into())),
        }
    }

    /// Stores the results of the program.
    fn give(&mut self, to: PointerValue<'ctx>, results: &[Atom]) -> Result<(), EmitError> {
        let mut slots = Vec::new();
        for a in results {
            match a.as_var().and_then(|v| self.buffer_ty(v).map(|t| (v, t))) {
                Some((v, ty)) => {
                    slots.push(self.to_slot(BaseTy::U64, self.scalar(Atom::Var(v))?)?);
                    for d in &ty.dims {
                        slots.push(self.scalar(*d)?);
                    }
                }
                None => slots.push(self.to_slot(self.ty(*a)?, self.scalar(*a)?)?),
            }
        }
        for (k, v) in slots.into_iter().enumerate() {
            let at = self.e.element(BaseTy::I64, to, self.i64(k as i64))?;
            self.e.store(BaseTy::I64, v, at)?;
        }
        Ok(())
    }

    /// Whether this is the plan's function.
    pub fn is_plan(&self) -> bool {
        matches!(self.side, Side::Plan { .. })
    }

    /// Ends a block in which the plan has stopped.
    pub fn stop(&mut self) -> Result<(), EmitError> {
        let to = self.stopped()?;
        self.jump(to)
    }

    fn stopped(&mut self) -> Result<BasicBlock<'ctx>, EmitError> {
        if let Some(stopped) = self.stopped {
            return Ok(stopped);
        }
        let (here, stopped) = (self.here()?, self.append());
        self.position(stopped);
        self.e.builder.build_return(Some(&self.i32(1)))?;
        self.position(here);
        self.stopped = Some(stopped);
        Ok(stopped)
    }

    /// Goes on if a call was successful, and stops if it was not.
    fn unless(&mut self, failed: Value<'ctx>) -> Result<(), EmitError> {
        let (stop, on) = (self.stopped()?, self.append());
        self.branch(failed, stop, on)?;
        self.position(on);
        Ok(())
    }

    fn unless_nonzero(&mut self, code: Value<'ctx>) -> Result<(), EmitError> {
        let stopped = self.e.icmp(IntPredicate::NE, code, self.e.int_like(code, 0)?)?;
        self.unless(stopped)
    }

    pub fn alloc(&mut self, buffer: Var, prov: Prov) -> Result<(), EmitError> {
        let Some(ty) = self.buffer_ty(buffer) else {
            return Err(EmitError::Program(format!("{buffer:?} is no buffer")));
        };
        let bytes = element_bytes(self.e.memory_ty(ty.base, None));
        let dims = ty.dims.iter().map(|d| self.scalar(*d)).collect::<Result<Vec<_>, _>>()?;
        let address = self.alloc_call(prov, bytes, &dims)?;
        let none = self.e.builder.build_is_null(pointer(address)?, "")?;
        self.unless(none.into())?;
        self.bind(buffer, address);
        Ok(())
    }

    fn alloc_call(&mut self, prov: Prov, bytes: u32, dims: &[Value<'ctx>]) -> Result<Value<'ctx>, EmitError> {
        let ctx = self.ctx()?;
        let at = self.slots(dims)?;
        let args: [Value<'ctx>; 5] = [
            ctx,
            self.i32(prov.0).into(),
            self.i64(i64::from(bytes)).into(),
            self.i32(dims.len() as u32).into(),
            at.into(),
        ];
        let ptr = self.e.context.ptr_type(AddressSpace::default());
        self.call_for(abi::ALLOC, ptr.into(), &args)
    }

    /// Where the rows of `of` from number `first` on begin.
    pub fn slice(&mut self, buffer: Var, of: Var, first: Atom) -> Result<(), EmitError> {
        let (ty, base) = self.buffer(of)?;
        let mut index = self.size(first)?;
        for d in ty.dims.iter().skip(1) {
            // Not marked as one that never wraps: an array without elements may have dims of any size.
            index = self.e.builder.build_int_mul(index, self.size(*d)?, "")?;
        }
        let address = self.e.element(ty.base, base, index)?;
        self.bind(buffer, address.into());
        Ok(())
    }

    pub fn free(&mut self, buffer: Var) -> Result<(), EmitError> {
        let ctx = self.ctx()?;
        let (_, address) = self.buffer(buffer)?;
        self.call(abi::FREE, &[ctx, address.into()])
    }

    pub fn launch(&mut self, id: KernelId, args: &[Atom], prov: Prov) -> Result<(), EmitError> {
        let ctx = self.ctx()?;
        let p = self.p;
        let Some(k) = p.kernels.get(id) else {
            return Err(EmitError::Program(format!("there is no kernel {id:?}")));
        };
        if args.len() != k.params.len() {
            return Err(EmitError::Program(format!("a launch of {id:?} with {} arguments", args.len())));
        }
        // A kernel of another part is found by its number.
        let function = match self.e.module.get_function(&abi::kernel_symbol(id.0)) {
            Some(function) => function.as_global_value().as_pointer_value(),
            None => self.e.context.ptr_type(AddressSpace::default()).const_null(),
        };
        let given: FxHashMap<Var, Atom> = k.params.iter().copied().zip(args.iter().copied()).collect();
        let mut sizes = Vec::new();
        for (_, size) in &k.grid {
            let size = match size {
                Atom::Var(v) => given.get(v).copied().ok_or_else(|| self.unbound(*v))?,
                c => *c,
            };
            sizes.push(self.size(size)?);
        }
        let blocks = self.blocks(&sizes, prov)?;
        let (run, on) = (self.append(), self.append());
        let some = self.e.icmp(IntPredicate::NE, blocks.into(), self.i64(0).into())?;
        self.branch(some, run, on)?;
        self.position(run);
        let mut slots = Vec::new();
        for a in args {
            let ty = match a.as_var().and_then(|v| self.buffer_ty(v)) {
                Some(_) => BaseTy::U64,
                _ => self.ty(*a)?,
            };
            slots.push(self.to_slot(ty, self.scalar(*a)?)?);
        }
        let at = self.slots(&slots)?;
        let each = match (k.is_chained(), k.schedule[Field::Blocks]) {
            (true, _) => 1,
            (false, 1) => 0,
            (false, least) => -least,
        };
        let call: [Value<'ctx>; 7] = [
            ctx,
            self.i32(id.0).into(),
            function.into(),
            at.into(),
            self.i64(slots.len() as i64).into(),
            blocks.into(),
            self.i64(each).into(),
        ];
        let code = self.call_for(abi::LAUNCH, self.e.context.i32_type().into(), &call)?;
        self.unless_nonzero(code)?;
        self.jump(on)?;
        self.position(on);
        Ok(())
    }

    /// The number of points of a grid: 0 if a size is 0 (or less). Where the product is past 64 bits the
    /// plan stops, as for an array of that shape.
    fn blocks(&mut self, sizes: &[IntValue<'ctx>], prov: Prov) -> Result<IntValue<'ctx>, EmitError> {
        let sizes: Vec<Value<'ctx>> = sizes.iter().map(|s| (*s).into()).collect();
        let i64t = BasicTypeEnum::from(self.e.context.i64_type());
        let name = format!("remc.points.{}", sizes.len());
        let f = self.e.helper(&name, i64t, &vec![i64t; sizes.len()], |e, f| {
            e.builder.build_return(Some(&points(e, &f.get_params())?))?;
            Ok(())
        })?;
        let blocks = int(self.e.call(f, &sizes)?)?;
        if sizes.len() > 1 {
            let over = self.e.icmp(IntPredicate::SLT, blocks.into(), self.i64(0).into())?;
            let BasicValueEnum::IntValue(over) = over else { return Err(EmitError::WrongValue("condition")) };
            let (tell, on) = (self.append(), self.append());
            self.e.builder.build_conditional_branch(over, tell, on)?;
            self.position(tell);
            self.alloc_call(prov, 1, &sizes)?;
            self.stop()?;
            self.position(on);
        }
        Ok(blocks)
    }

    pub fn sort(&mut self, keys: &[Var], out: Var) -> Result<(), EmitError> {
        let ctx = self.ctx()?;
        let mut slots = Vec::new();
        let mut items = None;
        for k in keys {
            let (ty, address) = self.buffer(*k)?;
            let Some((first, cell)) = ty.dims.split_first() else {
                return Err(EmitError::Program("a sort by a scalar".into()));
            };
            let mut elements = self.i64(1);
            for d in cell {
                elements = self.e.builder.build_int_mul(elements, self.size(*d)?, "")?;
            }
            let base = BaseTy::ALL.iter().position(|b| *b == ty.base).unwrap_or(0);
            slots.push(self.to_slot(BaseTy::U64, address.into())?);
            slots.push(self.i64(base as i64).into());
            slots.push(elements.into());
            items = Some(self.size(*first)?);
        }
        let Some(items) = items else { return Err(EmitError::Program("a sort by nothing".into())) };
        let (_, out) = self.buffer(out)?;
        let at = self.slots(&slots)?;
        let args: [Value<'ctx>; 5] =
            [ctx, self.i32(keys.len() as u32).into(), at.into(), items.into(), out.into()];
        let code = self.call_for(abi::SORT, self.e.context.i32_type().into(), &args)?;
        self.unless_nonzero(code)
    }

    /// Has the items of a vector sorted into another one, or those at some places.
    pub fn sort_keys(&mut self, keys: &[Var], out: Var, at: &[Atom]) -> Result<(), EmitError> {
        let [key] = keys else { return Err(EmitError::Program("a sort of no vector".into())) };
        let (ty, from) = self.buffer(*key)?;
        let [items] = ty.dims[..] else { return Err(EmitError::Program("a sort of no vector".into())) };
        let base = BaseTy::ALL.iter().position(|b| *b == ty.base).unwrap_or(0);
        let (_, out) = self.buffer(out)?;
        let places = at.iter().map(|a| Ok(self.size(*a)?.into())).collect::<Result<Vec<_>, EmitError>>()?;
        let places = self.slots(&places)?;
        let args: [Value<'ctx>; 7] = [
            self.ctx()?,
            self.i32(base as u32).into(),
            from.into(),
            self.size(items)?.into(),
            out.into(),
            self.i32(at.len() as u32).into(),
            places.into(),
        ];
        let code = self.call_for(abi::SORT_KEYS, self.e.context.i32_type().into(), &args)?;
        self.unless_nonzero(code)
    }
}

impl<'ctx> Fun<'_, 'ctx> {
    /// Has items of a channel put into buffers.
    pub fn pull(
        &mut self,
        (channel, at, take): (usize, Atom, Take),
        (count, elements, buffers): (Var, &[Var], &[Var]),
        prov: Prov,
    ) -> Result<(), EmitError> {
        let none = self.i64(0).into();
        let words = vec![none; 2 * buffers.len() + 1];
        let out = self.slots(&words)?;
        let (kind, n) = match take {
            Take::Multiple(n) => (0, self.size(n)?),
            Take::Exactly(n) => (1, self.size(n)?),
            Take::All => (2, self.i64(0)),
        };
        let args: [Value<'ctx>; 7] = [
            self.ctx()?,
            self.i32(prov.0).into(),
            self.i32(channel as u32).into(),
            self.size(at)?.into(),
            self.i32(kind).into(),
            n.into(),
            out.into(),
        ];
        let code = self.call_for(abi::PULL, self.e.context.i32_type().into(), &args)?;
        self.unless_nonzero(code)?;
        let word = |f: &Self, k: usize| {
            let at = f.e.element(BaseTy::I64, out, f.i64(k as i64))?;
            f.e.load(BaseTy::I64, None, at)
        };
        let items = word(self, 0)?;
        self.bind(count, items);
        let arrays = self.p.channels.get(channel).map(|c| c.arrays.as_slice()).unwrap_or_default();
        let ragged: Vec<usize> =
            (0..buffers.len()).filter(|k| arrays.get(*k).is_some_and(|a| a.starts.is_some())).collect();
        for (n, k) in elements.iter().zip(ragged) {
            let many = word(self, 2 * k + 1)?;
            self.bind(*n, many);
        }
        for (k, b) in buffers.iter().enumerate() {
            let address = word(self, 2 * k + 2)?;
            let ptr = self.e.context.ptr_type(AddressSpace::default());
            let address = self.e.builder.build_int_to_ptr(int(address)?, ptr, "")?;
            self.bind(*b, address.into());
        }
        Ok(())
    }

    /// Appends what is in buffers to a channel.
    pub fn push(&mut self, channel: usize, buffers: &[Var], prov: Prov) -> Result<(), EmitError> {
        let mut slots = Vec::new();
        for b in buffers {
            let (ty, address) = self.buffer(*b)?;
            let base = BaseTy::ALL.iter().position(|b| *b == ty.base).unwrap_or(0);
            slots.push(self.to_slot(BaseTy::U64, address.into())?);
            slots.push(self.i64(base as i64).into());
            slots.push(self.i64(ty.dims.len() as i64).into());
            for d in &ty.dims {
                slots.push(self.size(*d)?.into());
            }
        }
        let words = self.slots(&slots)?;
        let args: [Value<'ctx>; 4] =
            [self.ctx()?, self.i32(prov.0).into(), self.i32(channel as u32).into(), words.into()];
        let code = self.call_for(abi::PUSH, self.e.context.i32_type().into(), &args)?;
        self.unless_nonzero(code)
    }
}

/// The number of points of a grid of these sizes: 0 if one is 0 or less, and -1 if the product is past 63 bits.
fn points<'ctx>(e: &Emit<'_, 'ctx>, sizes: &[Value<'ctx>]) -> Result<Value<'ctx>, EmitError> {
    let int = |n: i64| Value::from(e.context.i64_type().const_int(n as u64, true));
    let no = Value::from(e.context.bool_type().const_zero());
    let (mut product, mut past, mut empty) = (int(1), no, no);
    for s in sizes {
        empty = e.or(empty, e.icmp(IntPredicate::SLE, *s, int(0))?)?;
        let divisor = e.intrinsic("llvm.umax", &[], &[*s, int(1)])?;
        let limit = e.udiv(int(i64::MAX), divisor)?;
        past = e.or(past, e.icmp(IntPredicate::UGT, product, limit)?)?;
        product = e.mul(product, *s)?;
    }
    e.select(empty, int(0), e.select(past, int(-1), product)?)
}
