//! Every operator at every type, compiled and compared with the table's own meaning.
//!
//! All instances (an operator or cast at its operand types, for scalars and for vectors, and those with
//! polynomials of their own without fused multiply-add too) are functions of one module, compiled once. Each
//! is a loop over columns of operands in memory, so that loads and stores are tested as well. Operands for
//! which the operator fails are among them: the code must not trap, and must say that it failed.
//!
//! Calling compiled code is unsafe; the one `unsafe` block is in [`Compiled::run`].
#![allow(unsafe_code)]

use half::f16;
use inkwell::AddressSpace;
use inkwell::context::Context;
use inkwell::module::Module;
use inkwell::values::{BasicValueEnum, FunctionValue, PointerValue};
use remc_base::ops::{OpError, Operand, ScalarOp, TABLE, apply, cast};
use remc_base::scalar::{BaseTy, Scalar};
use remc_llvm::{Emit, EmitError, Host, Loaded, Pipeline, inkwell, jit, ulp_bound, ulp_distance};
use std::collections::BTreeMap;

const LANES: u32 = 8;

/// What one compiled function computes.
#[derive(Clone, Debug)]
enum Code {
    Op(ScalarOp, Vec<BaseTy>),
    Cast(BaseTy, BaseTy),
    /// `expt` by a constant exponent.
    Power(BaseTy, Scalar),
}

#[derive(Clone, Debug)]
struct Instance {
    code: Code,
    lanes: Option<u32>,
    fma: bool,
}

impl Instance {
    fn operands(&self) -> Vec<BaseTy> {
        match &self.code {
            Code::Op(_, tys) => tys.clone(),
            Code::Cast(from, _) => vec![*from],
            Code::Power(ty, _) => vec![*ty],
        }
    }

    fn result(&self) -> BaseTy {
        match &self.code {
            Code::Op(op, tys) => op.result_ty(tys).unwrap(),
            Code::Cast(_, to) => *to,
            Code::Power(ty, _) => *ty,
        }
    }

    fn expected(&self, args: &[Scalar]) -> Result<Scalar, OpError> {
        match &self.code {
            Code::Op(op, _) => apply(*op, args),
            Code::Cast(_, to) => cast(args[0], *to),
            Code::Power(_, e) => apply(ScalarOp::Expt, &[args[0], *e]),
        }
    }

    /// How many random operands to try: many where the result is approximate, and a tenth of that in a plain run.
    fn random_rows(&self) -> usize {
        let many = match self.operands()[..] {
            [t] if t.is_float() && self.uses_fma() => 100_000,
            [t] if t.is_float() => 10_000,
            _ => 1_000,
        };
        if remc_sample::everything() { many } else { many / 10 }
    }

    /// Whether the code depends on [`Emit::fma`].
    fn uses_fma(&self) -> bool {
        matches!(self.code, Code::Op(op, _) if remc_kernel::ir::is_transcendental(op))
    }

    fn bound(&self) -> u64 {
        match &self.code {
            Code::Op(op, tys) => ulp_bound(*op, tys),
            _ => 0,
        }
    }
}

/// The operand types of a row, for every choice of its type variables.
fn instances_of(op: ScalarOp) -> Vec<Vec<BaseTy>> {
    let operands = op.info().operands;
    let choices = |o: Operand| if operands.contains(&o) { BaseTy::ALL.to_vec() } else { vec![BaseTy::Bool] };
    let mut all = Vec::new();
    for t in choices(Operand::T) {
        for u in choices(Operand::U) {
            let tys: Vec<BaseTy> = operands
                .iter()
                .map(|o| match o {
                    Operand::T => t,
                    Operand::U => u,
                    Operand::Base(b) => *b,
                })
                .collect();
            if op.result_ty(&tys).is_some() {
                all.push(tys);
            }
        }
    }
    all
}

fn instances() -> Vec<Instance> {
    let mut all = Vec::new();
    let mut add = |code: Code| {
        for (lanes, fma) in [(None, true), (Some(LANES), true), (Some(LANES), false)] {
            let instance = Instance { code: code.clone(), lanes, fma };
            if fma || instance.uses_fma() {
                all.push(instance);
            }
        }
    };
    for row in TABLE {
        instances_of(row.op).into_iter().for_each(|tys| add(Code::Op(row.op, tys)));
    }
    for from in BaseTy::ALL {
        BaseTy::ALL.into_iter().for_each(|to| add(Code::Cast(from, to)));
    }
    for e in
        [Scalar::I64(0), Scalar::I64(1), Scalar::I64(2), Scalar::U8(3), Scalar::F32(7.0), Scalar::I64(-2)]
    {
        for ty in [BaseTy::I16, BaseTy::I64, BaseTy::F16, BaseTy::F32, BaseTy::F64] {
            add(Code::Power(ty, e));
        }
    }
    all
}

/// `void f(i64 n, ptr a, ptr b, ptr c, ptr out, ptr failed)`
fn build<'c>(
    context: &'c Context,
    module: &Module<'c>,
    name: &str,
    instance: &Instance,
) -> Result<(), EmitError> {
    let builder = context.create_builder();
    let (i64t, ptr) = (context.i64_type(), context.ptr_type(AddressSpace::default()));
    let mut parameters = vec![i64t.into()];
    parameters.extend([inkwell::types::BasicMetadataTypeEnum::from(ptr); 5]);
    let f = module.add_function(name, context.void_type().fn_type(&parameters, false), None);
    let entry = context.append_basic_block(f, "entry");
    let body = context.append_basic_block(f, "body");
    let done = context.append_basic_block(f, "done");
    builder.position_at_end(entry);
    builder.build_unconditional_branch(body)?;
    builder.position_at_end(body);
    let i = builder.build_phi(i64t, "i")?;
    let emit = Emit::new(context, module, &builder, instance.fma);

    let index = i.as_basic_value().into_int_value();
    let pointer = |n: u32| pointer_parameter(f, n);
    let at = |n: u32, ty: BaseTy| emit.element(ty, pointer(n), index);
    let tys = instance.operands();
    let args = tys
        .iter()
        .enumerate()
        .map(|(k, ty)| emit.load(*ty, instance.lanes, at(k as u32 + 1, *ty)?))
        .collect::<Result<Vec<_>, EmitError>>()?;
    let (value, failure) = match &instance.code {
        Code::Op(op, tys) => (emit.op(*op, tys, &args)?, emit.failure(*op, tys, &args)?),
        Code::Cast(from, to) => (emit.cast(*from, *to, args[0])?, emit.cast_failure(*from, *to, args[0])?),
        Code::Power(ty, e) => {
            let operands = [args[0], emit.constant(*e, instance.lanes)];
            let tys = [*ty, e.ty()];
            (emit.op(ScalarOp::Expt, &tys, &operands)?, emit.failure(ScalarOp::Expt, &tys, &operands)?)
        }
    };
    emit.store(instance.result(), value, at(4, instance.result())?)?;
    let failure = match failure {
        Some(f) => f,
        None => emit.constant(Scalar::Bool(false), instance.lanes),
    };
    emit.store(BaseTy::Bool, failure, at(5, BaseTy::Bool)?)?;

    let step = i64t.const_int(u64::from(instance.lanes.unwrap_or(1)), false);
    let next = builder.build_int_add(index, step, "")?;
    let n = f.get_nth_param(0).unwrap().into_int_value();
    let again = builder.build_int_compare(inkwell::IntPredicate::ULT, next, n, "")?;
    builder.build_conditional_branch(again, body, done)?;
    i.add_incoming(&[(&i64t.const_zero(), entry), (&next, body)]);
    builder.position_at_end(done);
    builder.build_return(None)?;
    Ok(())
}

fn pointer_parameter<'c>(f: FunctionValue<'c>, n: u32) -> PointerValue<'c> {
    match f.get_nth_param(n) {
        Some(BasicValueEnum::PointerValue(p)) => p,
        _ => panic!("parameter {n}"),
    }
}

struct Compiled {
    loaded: Loaded,
}

impl Compiled {
    /// Runs a function on columns of operands: results, and which of them failed.
    fn run(&self, name: &str, instance: &Instance, columns: &[Vec<Scalar>]) -> (Vec<Scalar>, Vec<bool>) {
        let n = columns[0].len();
        assert!(n > 0 && n.is_multiple_of(LANES as usize));
        let inputs: Vec<Vec<u8>> =
            columns.iter().map(|c| c.iter().flat_map(|s| bytes(*s)).collect()).collect();
        let size = instance.result().bits() as usize / 8;
        let (mut out, mut failed) = (vec![0u8; n * size], vec![2u8; n]);
        let at = |k: usize| inputs.get(k).map_or(std::ptr::null(), |v| v.as_ptr());
        let address = self.loaded.lookup(name).unwrap();
        type Function = extern "C" fn(i64, *const u8, *const u8, *const u8, *mut u8, *mut u8);
        // SAFETY: `build` gave the function this signature; it reads n operands from each column it has
        // and writes n results, for which the buffers have room. The code lives as long as `loaded`.
        unsafe {
            let f: Function = std::mem::transmute(address);
            f(n as i64, at(0), at(1), at(2), out.as_mut_ptr(), failed.as_mut_ptr());
        }
        let results = (0..n).map(|i| scalar(instance.result(), &out[i * size..][..size])).collect();
        assert!(failed.iter().all(|b| *b < 2), "{instance:?}: a bool in memory is 0 or 1");
        (results, failed.iter().map(|b| *b == 1).collect())
    }
}

fn bytes(s: Scalar) -> Vec<u8> {
    match s {
        Scalar::Bool(b) => vec![b as u8],
        Scalar::Char(c) => (c as u32).to_ne_bytes().to_vec(),
        Scalar::F16(x) => x.to_bits().to_ne_bytes().to_vec(),
        Scalar::F32(x) => x.to_ne_bytes().to_vec(),
        Scalar::F64(x) => x.to_ne_bytes().to_vec(),
        _ => s.as_integer().unwrap().to_le_bytes()[..s.ty().bits() as usize / 8].to_vec(),
    }
}

/// A value from memory; a `char` that is none becomes a replacement character.
fn scalar(ty: BaseTy, bytes: &[u8]) -> Scalar {
    let mut wide = [0u8; 8];
    wide[..bytes.len()].copy_from_slice(bytes);
    let n = u64::from_le_bytes(wide);
    match ty {
        BaseTy::Bool => Scalar::Bool(n != 0),
        BaseTy::Char => Scalar::Char(char::from_u32(n as u32).unwrap_or(char::REPLACEMENT_CHARACTER)),
        BaseTy::F16 => Scalar::F16(f16::from_bits(n as u16)),
        BaseTy::F32 => Scalar::F32(f32::from_bits(n as u32)),
        BaseTy::F64 => Scalar::F64(f64::from_bits(n)),
        _ => Scalar::from_integer(ty, n as i128).unwrap(),
    }
}

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn scalar(&mut self, ty: BaseTy) -> Scalar {
        let n = self.next();
        let small = self.next();
        match ty {
            BaseTy::Bool => Scalar::Bool(n & 1 == 1),
            BaseTy::Char => Scalar::Char(char::from_u32((n % 0x110000) as u32).unwrap_or('x')),
            // Half of them any bits, half of moderate size.
            BaseTy::F16 if small & 1 == 0 => Scalar::F16(f16::from_bits(n as u16)),
            BaseTy::F32 if small & 1 == 0 => Scalar::F32(f32::from_bits(n as u32)),
            BaseTy::F64 if small & 1 == 0 => Scalar::F64(f64::from_bits(n)),
            t if t.is_float() => {
                let x = (n >> 11) as f64 / (1u64 << 53) as f64 - 0.5;
                Scalar::from_float(ty, x * [2.0, 20.0, 200.0, 1500.0, 4e6][(small >> 1) as usize % 5])
                    .unwrap()
            }
            _ => Scalar::from_integer(ty, (n as i64 >> (small % 64)) as i128).unwrap(),
        }
    }
}

/// The values of a type where something happens.
fn edges(ty: BaseTy) -> Vec<Scalar> {
    if let Some((lo, hi)) = ty.integer_range() {
        let bits = i128::from(ty.bits());
        let all = [
            lo,
            lo + 1,
            -8,
            -3,
            -2,
            -1,
            0,
            1,
            2,
            3,
            6,
            7,
            bits - 1,
            bits,
            65,
            100,
            0xd7ff,
            0xd800,
            0xdfff,
            0xe000,
            0xfffd,
            0x10ffff,
            0x110000,
            65519,
            65520,
            1 << 24,
            (1 << 24) + 1,
            (1 << 53) + 1,
            hi - 1,
            hi,
        ];
        return all
            .into_iter()
            .filter(|n| (lo..=hi).contains(n))
            .filter_map(|n| Scalar::from_integer(ty, n))
            .collect();
    }
    match ty {
        BaseTy::Bool => vec![Scalar::Bool(false), Scalar::Bool(true)],
        BaseTy::Char => {
            ['\0', 'a', 'b', 'λ', '\u{d7ff}', '\u{e000}', '\u{10ffff}'].map(Scalar::Char).to_vec()
        }
        _ => {
            let mut all = vec![f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
            let (tiny, least, most) = match ty {
                BaseTy::F16 => (2f64.powi(-24), 2f64.powi(-14), 65504.0),
                BaseTy::F32 => (f32::from_bits(1) as f64, f32::MIN_POSITIVE as f64, f32::MAX as f64),
                _ => (f64::from_bits(1), f64::MIN_POSITIVE, f64::MAX),
            };
            let half = 1.0 + 2f64.powi(-11);
            for x in [
                0.0,
                tiny,
                3.0 * tiny,
                least,
                most,
                1.0,
                0.5,
                1.5,
                2.0,
                2.5,
                3.0,
                10.0,
                0.1,
                0.3,
                0.7,
                std::f64::consts::FRAC_1_SQRT_2,
                std::f64::consts::PI,
                std::f64::consts::FRAC_PI_2,
                7.0 * std::f64::consts::FRAC_PI_2,
                12345.0 * std::f64::consts::PI,
                600000.0 * std::f64::consts::FRAC_PI_2,
                1234567.0 * std::f64::consts::FRAC_PI_2,
                987654321.0 * std::f64::consts::PI,
                1e9,
                2147483647.5,
                std::f64::consts::FRAC_PI_4,
                1048575.9,
                1048576.0,
                20.0,
                22.1,
                88.7,
                89.0,
                103.9,
                127.5,
                255.5,
                709.7,
                745.1,
                1e10,
                2147483648.0,
                4294967296.0,
                9.3e18,
                1.9e19,
                32768.5,
                65519.9,
                65520.0,
                1114111.0,
                55296.0,
                8388609.5,
                half,
                half + 2f64.powi(-30),
                half + 2f64.powi(-20),
                half - 2f64.powi(-40),
                1e300,
                1e-300,
                1e31,
                6e-8,
                3e-8,
                2.99e-8,
            ] {
                all.extend([x, -x]);
            }
            all.into_iter().filter_map(|x| Scalar::from_float(ty, x)).collect()
        }
    }
}

/// Columns of operands: all combinations of edges, then random ones, a multiple of the lanes in all.
fn columns(tys: &[BaseTy], more: usize, random: &mut Random) -> Vec<Vec<Scalar>> {
    let edges: Vec<Vec<Scalar>> = tys.iter().map(|t| edges(*t)).collect();
    // Three operands (`select`) need no combinations.
    let total = if tys.len() < 3 { edges.iter().map(Vec::len).product() } else { 64 };
    let mut columns = vec![Vec::new(); tys.len()];
    for row in 0..total {
        let mut rest = row;
        for (column, edge) in columns.iter_mut().zip(&edges) {
            column.push(edge[rest % edge.len()]);
            rest /= edge.len();
        }
    }
    let n = (total + more).next_multiple_of(LANES as usize);
    for (column, ty) in columns.iter_mut().zip(tys) {
        column.resize_with(n, || random.scalar(*ty));
    }
    columns
}

#[test]
fn compiled_operators_agree_with_the_table() {
    compare(&jit::host(), Pipeline::Explicit);
}

#[test]
fn so_do_operators_in_loops_that_llvm_vectorised() {
    compare(&jit::host(), Pipeline::Full);
}

/// Processors without half floats, rounding instructions or masks take other instructions.
#[test]
#[cfg(target_arch = "x86_64")]
fn so_do_operators_on_older_processors() {
    let older = |cpu: &str| Host { cpu: cpu.into(), features: String::new(), vector_bits: 128, fma: false };
    compare(&older("x86-64"), Pipeline::Explicit);
    if jit::host().vector_bits >= 256 {
        compare(&older("x86-64-v3"), Pipeline::Explicit);
    }
}

fn compare(host: &Host, pipeline: Pipeline) {
    let context = Context::create();
    let module = context.create_module("operators");
    let mut all = instances();
    all.retain(|i| host.fma || !i.fma || i.lanes.is_none() || !i.uses_fma());
    for (i, instance) in all.iter().enumerate() {
        build(&context, &module, &format!("f{i}"), instance).unwrap_or_else(|e| panic!("{instance:?}: {e}"));
    }
    let start = std::time::Instant::now();
    let object = jit::object(&module, host, pipeline).unwrap();
    println!("{} {} functions, {} bytes of object, {:?}", host.cpu, all.len(), object.len(), start.elapsed());
    let compiled = Compiled { loaded: Loaded::new(&[&object], &[]).unwrap() };

    let mut random = Random(1);
    let mut wrong: Vec<String> = Vec::new();
    let mut greatest: BTreeMap<String, u64> = BTreeMap::new();
    for (i, instance) in all.iter().enumerate() {
        let columns = columns(&instance.operands(), instance.random_rows(), &mut random);
        let (results, failed) = compiled.run(&format!("f{i}"), instance, &columns);
        let mut shown = 0;
        for (row, (result, failed)) in results.into_iter().zip(failed).enumerate() {
            let args: Vec<Scalar> = columns.iter().map(|c| c[row]).collect();
            let expected = instance.expected(&args);
            let d = match expected {
                Ok(e) if !failed => ulp_distance(e, result),
                Ok(_) => None,
                Err(_) if failed => Some(0),
                Err(_) => None,
            };
            if let (Code::Op(op, tys), Some(d)) = (&instance.code, d)
                && d > 0
            {
                let key =
                    format!("{op} {}{}", tys[0], if instance.lanes.is_some() { ", vector" } else { "" });
                let g = greatest.entry(key).or_default();
                *g = d.max(*g);
            }
            if d.is_none_or(|d| d > instance.bound()) && shown < 3 {
                shown += 1;
                wrong.push(format!("{instance:?} {args:?}: {result:?} failed {failed}, not {expected:?}"));
            }
        }
    }
    for (what, ulp) in greatest {
        println!("{what}: {ulp} ulp");
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong[..wrong.len().min(40)].join("\n"));
}
