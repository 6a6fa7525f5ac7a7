//! LLVM code for the scalar operators, for one value or for every lane of a vector.
//!
//! What an operator means is said in [`remc_base::ops`]; here it is said in LLVM's instructions, with
//! care where those leave an edge undefined (division, shifts, conversions). The code never traps and has
//! no undefined behaviour for any operands: where the operator fails, [`Emit::failure`] is the condition
//! to check first, and the value is unspecified.
//!
//! | base type | in registers | in memory |
//! | --- | --- | --- |
//! | `bool` | `i1` | `i8`, 0 or 1 |
//! | `char` | `i32`, a Unicode scalar value | `i32` |
//! | integers | `iN`; the sign is in the operator | `iN` |
//! | `f16` | `half`, computed in `float`, compared in integers | `half` |
//! | `f32`, `f64` | `float`, `double` | the same |
//!
//! A vector `<W x T>` is computed lane by lane with the same code. What LLVM has no vector instruction for
//! (`gcd`, `expt` by a variable, `asin`, …) is taken apart, called and put together again; `exp`, `sin` and some others
//! have code of their own in `real.rs`, `circular.rs`, `special.rs` and, powers of a known fraction, `power.rs`. How far the functions into the reals may be from the
//! interpreter's is said by [`ulp_bound`].

mod cast;
mod circular;
mod expt;
mod float;
mod half;
mod int;
mod power;
mod real;
mod special;
#[cfg(test)]
mod tests;
mod ulp;

use crate::error::EmitError;
use crate::values::{Emitted, Value, element_bytes, splat_constant, widen};
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{FunctionValue, PointerValue};
use inkwell::{FloatPredicate, IntPredicate};
use remc_base::ops::{Operand, ScalarOp};
use remc_base::scalar::{BaseTy, Scalar};

pub use crate::values::Emit;
pub use ulp::{ulp_bound, ulp_distance};

impl<'ctx> Emit<'_, 'ctx> {
    /// The type of a value in registers: a scalar, or a vector if `lanes` is given.
    pub fn llvm_ty(&self, ty: BaseTy, lanes: Option<u32>) -> BasicTypeEnum<'ctx> {
        let c = self.context;
        let scalar: BasicTypeEnum<'ctx> = match ty {
            BaseTy::Bool => c.bool_type().into(),
            BaseTy::I8 | BaseTy::U8 => c.i8_type().into(),
            BaseTy::I16 | BaseTy::U16 => c.i16_type().into(),
            BaseTy::I32 | BaseTy::U32 | BaseTy::Char => c.i32_type().into(),
            BaseTy::I64 | BaseTy::U64 => c.i64_type().into(),
            BaseTy::F16 => c.f16_type().into(),
            BaseTy::F32 => c.f32_type().into(),
            BaseTy::F64 => c.f64_type().into(),
        };
        widen(scalar, lanes)
    }

    /// The type of a value in memory, where a `bool` is a byte.
    pub fn memory_ty(&self, ty: BaseTy, lanes: Option<u32>) -> BasicTypeEnum<'ctx> {
        self.llvm_ty(if ty == BaseTy::Bool { BaseTy::U8 } else { ty }, lanes)
    }

    /// A constant, in every lane.
    pub fn constant(&self, x: Scalar, lanes: Option<u32>) -> Value<'ctx> {
        let ty = self.llvm_ty(x.ty(), None);
        let bits = match x {
            Scalar::Bool(b) => b as u64,
            Scalar::Char(c) => c as u64,
            _ => x.as_integer().unwrap_or(0) as u64,
        };
        let scalar: Value<'ctx> = match ty {
            BasicTypeEnum::IntType(t) => t.const_int(bits, false).into(),
            BasicTypeEnum::FloatType(t) => t.const_float(x.as_float().unwrap_or(0.0)).into(),
            other => other.const_zero(),
        };
        match lanes {
            Some(w) => splat_constant(scalar, w),
            None => scalar,
        }
    }

    /// The value in every lane of a vector.
    pub fn splat(&self, v: Value<'ctx>, lanes: u32) -> Emitted<'ctx> {
        let BasicTypeEnum::VectorType(ty) = widen(v.get_type(), Some(lanes)) else {
            return Err(EmitError::WrongValue("splat"));
        };
        let zero = self.context.i32_type().const_zero();
        let one = self.builder.build_insert_element(ty.get_poison(), v, zero, "")?;
        let mask = self.context.i32_type().vec_type(lanes).const_zero();
        Ok(self.builder.build_shuffle_vector(one, ty.get_poison(), mask, "")?.into())
    }

    /// Loads a value, or consecutive values as a vector; the pointer need only be aligned to one value.
    pub fn load(&self, ty: BaseTy, lanes: Option<u32>, from: PointerValue<'ctx>) -> Emitted<'ctx> {
        let memory = self.memory_ty(ty, lanes);
        let v = self.builder.build_load(memory, from, "")?;
        if let Some(i) = inkwell::values::BasicValue::as_instruction_value(&v) {
            i.set_alignment(element_bytes(memory)).map_err(|_| EmitError::WrongValue("load"))?;
        }
        self.from_memory(ty, v)
    }

    /// Stores a value, or a vector as consecutive values.
    pub fn store(&self, ty: BaseTy, v: Value<'ctx>, to: PointerValue<'ctx>) -> Result<(), EmitError> {
        let v = self.to_memory(ty, v)?;
        let i = self.builder.build_store(to, v)?;
        i.set_alignment(element_bytes(v.get_type())).map_err(|_| EmitError::WrongValue("store"))
    }

    /// From the form in memory to the form in registers.
    pub fn from_memory(&self, ty: BaseTy, v: Value<'ctx>) -> Emitted<'ctx> {
        match ty {
            BaseTy::Bool => self.icmp(IntPredicate::NE, v, self.int_like(v, 0)?),
            _ => Ok(v),
        }
    }

    /// From the form in registers to the form in memory.
    pub fn to_memory(&self, ty: BaseTy, v: Value<'ctx>) -> Emitted<'ctx> {
        match ty {
            BaseTy::Bool => self.zext(v, self.context.i8_type().into()),
            _ => Ok(v),
        }
    }

    /// Applies an operator. All operands have the same number of lanes (a `select` may have a scalar
    /// condition); they are of the given types.
    ///
    /// # Errors
    /// If the operator has no meaning at these types; a bug of the caller.
    pub fn op(&self, op: ScalarOp, tys: &[BaseTy], args: &[Value<'ctx>]) -> Emitted<'ctx> {
        if op.result_ty(tys).is_none() || tys.len() != args.len() {
            return Err(EmitError::WrongOperands { op, tys: tys.to_vec() });
        }
        let plain = Emit { reassoc: false, ..*self };
        let this = match op {
            ScalarOp::Add | ScalarOp::Mul | ScalarOp::Min2 | ScalarOp::Max2 => self,
            _ => &plain,
        };
        match (tys, args) {
            (&[ty], &[x]) => this.unary(op, ty, x),
            (&[ty, exponent_ty], &[x, y]) if op == ScalarOp::Expt => this.expt(ty, exponent_ty, x, y),
            (&[ty, _], &[x, y]) => this.binary(op, ty, x, y),
            (&[_, _, _], &[c, x, y]) if op == ScalarOp::Select => this.select(c, x, y),
            _ => Err(EmitError::WrongOperands { op, tys: tys.to_vec() }),
        }
    }

    fn unary(&self, op: ScalarOp, ty: BaseTy, x: Value<'ctx>) -> Emitted<'ctx> {
        use ScalarOp::*;
        match op {
            Sign if ty == BaseTy::F16 => self.sign_of_half(x),
            Negate | Abs | Sign | Floor | Ceiling | Round | Truncate => {
                if ty.is_float() {
                    self.through_f32(ty, &[x], |a| self.float_unary(op, a[0]))
                } else {
                    self.int_unary(op, ty, x)
                }
            }
            Sqrt | Exp | Log | Log2 | Sin | Cos | Tan | Asin | Acos | Atan | Sinh | Cosh | Tanh | Erf => {
                self.real(op, ty, &[x])
            }
            Not | BitNot => self.xor(x, self.int_like(x, -1)?),
            Popcount => self.intrinsic("llvm.ctpop", &[], &[x]),
            CharToInt => self.zext(x, self.context.i64_type().into()),
            IntToChar => self.cast(BaseTy::I64, BaseTy::Char, x),
            IntToFloat => self.cast(BaseTy::I64, BaseTy::F64, x),
            FloatToInt => self.cast(BaseTy::F64, BaseTy::I64, x),
            IntToBool => self.cast(BaseTy::I64, BaseTy::Bool, x),
            BoolToInt => self.cast(BaseTy::Bool, BaseTy::I64, x),
            _ => Err(EmitError::WrongOperands { op, tys: vec![ty] }),
        }
    }

    fn binary(&self, op: ScalarOp, ty: BaseTy, x: Value<'ctx>, y: Value<'ctx>) -> Emitted<'ctx> {
        use ScalarOp::*;
        match op {
            Eq | Ne | Lt | Le | Gt | Ge => self.compare(op, ty, x, y),
            CharEq => self.icmp(IntPredicate::EQ, x, y),
            CharLt => self.icmp(IntPredicate::ULT, x, y),
            And | BitAnd => self.and(x, y),
            Or | BitOr => self.or(x, y),
            Xor | BitXor => self.xor(x, y),
            Atan2 => self.real(op, ty, &[x, y]),
            Div if ty.is_integer() => {
                let (x, y) = (self.cast(ty, BaseTy::F64, x)?, self.cast(ty, BaseTy::F64, y)?);
                self.fdiv(x, y)
            }
            Min2 | Max2 if ty == BaseTy::F16 => self.least_or_greatest_half(op, x, y),
            _ if ty.is_float() => self.through_f32(ty, &[x, y], |a| self.float_binary(op, a[0], a[1])),
            _ => self.int_binary(op, ty, x, y),
        }
    }

    fn compare(&self, op: ScalarOp, ty: BaseTy, x: Value<'ctx>, y: Value<'ctx>) -> Emitted<'ctx> {
        if ty == BaseTy::F16 {
            return self.compare_halves(op, x, y);
        }
        if ty.is_float() {
            let p = match op {
                ScalarOp::Eq => FloatPredicate::OEQ,
                ScalarOp::Ne => FloatPredicate::UNE,
                ScalarOp::Lt => FloatPredicate::OLT,
                ScalarOp::Le => FloatPredicate::OLE,
                ScalarOp::Gt => FloatPredicate::OGT,
                _ => FloatPredicate::OGE,
            };
            return self.fcmp(p, x, y);
        }
        let signed = ty.is_signed();
        let p = match op {
            ScalarOp::Eq => IntPredicate::EQ,
            ScalarOp::Ne => IntPredicate::NE,
            ScalarOp::Lt if signed => IntPredicate::SLT,
            ScalarOp::Lt => IntPredicate::ULT,
            ScalarOp::Le if signed => IntPredicate::SLE,
            ScalarOp::Le => IntPredicate::ULE,
            ScalarOp::Gt if signed => IntPredicate::SGT,
            ScalarOp::Gt => IntPredicate::UGT,
            _ if signed => IntPredicate::SGE,
            _ => IntPredicate::UGE,
        };
        self.icmp(p, x, y)
    }

    /// The condition (an `i1`, or one for each lane) under which the operator has no value; `None` where
    /// it has one for all operands of these types.
    pub fn failure(
        &self,
        op: ScalarOp,
        tys: &[BaseTy],
        args: &[Value<'ctx>],
    ) -> Result<Option<Value<'ctx>>, EmitError> {
        if op.result_ty(tys).is_none() || tys.len() != args.len() {
            return Err(EmitError::WrongOperands { op, tys: tys.to_vec() });
        }
        Ok(match (op, tys, args) {
            (ScalarOp::Quotient | ScalarOp::Modulo, &[ty, _], &[_, d]) if ty.is_integer() => {
                Some(self.icmp(IntPredicate::EQ, d, self.int_like(d, 0)?)?)
            }
            (ScalarOp::Expt, &[base, exponent], &[_, e]) if base.is_integer() => {
                if exponent.is_float() {
                    Some(self.compare(ScalarOp::Lt, exponent, e, self.float_like(e, 0.0)?)?)
                } else if exponent.is_signed() {
                    Some(self.icmp(IntPredicate::SLT, e, self.int_like(e, 0)?)?)
                } else {
                    None
                }
            }
            (ScalarOp::IntToChar, _, &[x]) => self.cast_failure(BaseTy::I64, BaseTy::Char, x)?,
            _ => {
                debug_assert!(
                    !op.info().can_fail || !op.info().operands.contains(&Operand::Base(BaseTy::I64))
                );
                None
            }
        })
    }

    /// Computes a float operator in `f32` if its type is `f16`, else in its own type.
    fn through_f32(
        &self,
        ty: BaseTy,
        args: &[Value<'ctx>],
        f: impl FnOnce(&[Value<'ctx>]) -> Emitted<'ctx>,
    ) -> Emitted<'ctx> {
        if ty != BaseTy::F16 {
            return f(args);
        }
        let args = args.iter().map(|x| self.widened(ty, *x)).collect::<Result<Vec<_>, _>>()?;
        self.fptrunc(f(&args)?, self.context.f16_type().into())
    }

    /// An `f16` as the `f32` of the same value; others unchanged.
    fn widened(&self, ty: BaseTy, x: Value<'ctx>) -> Emitted<'ctx> {
        match ty {
            BaseTy::F16 => self.fpext(x, self.context.f32_type().into()),
            _ => Ok(x),
        }
    }

    /// A function of the C library on floats, without side effects.
    fn library(&self, name: &str, float: BasicTypeEnum<'ctx>, arguments: usize) -> FunctionValue<'ctx> {
        if let Some(f) = self.module.get_function(name) {
            return f;
        }
        let ty = inkwell::types::BasicType::fn_type(&float, &vec![float.into(); arguments], false);
        let f = self.module.add_function(name, ty, None);
        self.pure(f);
        f
    }

    /// Marks a function that reads and writes no memory, returns, and does not unwind.
    fn pure(&self, f: FunctionValue<'ctx>) {
        // `memory(none)` is the attribute's value 0.
        for name in ["nounwind", "willreturn", "memory", "nosync", "nofree", "speculatable"] {
            let kind = Attribute::get_named_enum_kind_id(name);
            f.add_attribute(AttributeLoc::Function, self.context.create_enum_attribute(kind, 0));
        }
    }

    /// The helper function of a name, which `body` writes on its first use.
    pub(crate) fn helper(
        &self,
        name: &str,
        result: BasicTypeEnum<'ctx>,
        parameters: &[BasicTypeEnum<'ctx>],
        body: impl FnOnce(&Emit<'_, 'ctx>, FunctionValue<'ctx>) -> Result<(), EmitError>,
    ) -> Result<FunctionValue<'ctx>, EmitError> {
        if let Some(f) = self.module.get_function(name) {
            return Ok(f);
        }
        let parameters: Vec<_> = parameters.iter().map(|t| (*t).into()).collect();
        let ty = inkwell::types::BasicType::fn_type(&result, &parameters, false);
        let f = self.module.add_function(name, ty, Some(inkwell::module::Linkage::Internal));
        self.pure(f);
        let builder = self.context.create_builder();
        builder.position_at_end(self.context.append_basic_block(f, ""));
        body(&Emit { builder: &builder, reassoc: false, ..*self }, f)?;
        Ok(f)
    }

    /// An operator on scalars, by a call of a function that is made for it: for code whose length counts, not its time.
    pub fn op_called(&self, op: ScalarOp, tys: &[BaseTy], args: &[Value<'ctx>]) -> Emitted<'ctx> {
        let Some(result) = op.result_ty(tys) else {
            return Err(EmitError::WrongOperands { op, tys: tys.to_vec() });
        };
        let name =
            tys.iter().fold(format!("remc.called.{}", op.info().name), |name, ty| format!("{name}.{ty}"));
        let parameters: Vec<_> = args.iter().map(Value::get_type).collect();
        let f = self.helper(&name, self.llvm_ty(result, None), &parameters, |e, f| {
            let value = e.op(op, tys, &f.get_params())?;
            e.builder.build_return(Some(&value))?;
            Ok(())
        })?;
        self.call(f, args)
    }

    /// Calls a function that gives a value.
    pub(crate) fn call(&self, f: FunctionValue<'ctx>, args: &[Value<'ctx>]) -> Emitted<'ctx> {
        let args: Vec<_> = args.iter().map(|a| (*a).into()).collect();
        match self.builder.build_direct_call(f, &args, "")?.try_as_basic_value() {
            inkwell::values::ValueKind::Basic(v) => Ok(v),
            inkwell::values::ValueKind::Instruction(_) => Err(EmitError::WrongValue("call")),
        }
    }
}
