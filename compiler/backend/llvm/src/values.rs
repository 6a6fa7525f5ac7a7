//! Instructions on a value that is one scalar or a vector of lanes.
//!
//! LLVM's arithmetic is the same for `T` and `<W x T>`, but inkwell gives them different Rust types. Here
//! both are a [`BasicValueEnum`], the constants that an instruction needs are made to fit the other
//! operand, and a mixture is an error. The methods belong to [`Emit`], and their names are LLVM's.

use crate::error::EmitError;
use inkwell::builder::Builder;
use inkwell::context::Context;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::types::{BasicType, BasicTypeEnum, VectorType};
use inkwell::values::{BasicMetadataValueEnum, BasicValue, BasicValueEnum, FastMathFlags, ValueKind};
use inkwell::{FloatPredicate, IntPredicate};

/// Emits instructions at the builder's position.
///
/// Helper functions (loops such as `gcd`) are added to the module when first needed, so that no operator
/// needs more than straight-line code where it stands.
#[derive(Clone, Copy)]
pub struct Emit<'a, 'ctx> {
    pub context: &'ctx Context,
    pub module: &'a Module<'ctx>,
    pub builder: &'a Builder<'ctx>,
    /// Whether the machine has a fused multiply-add. Where it has none, LLVM would call a slow function.
    pub fma: bool,
    /// Whether float `+ * min2 max2` may be reassociated: set only for the combining operator of a
    /// reduction or scan, by `Emit { reassoc: true, ..emit }`.
    pub reassoc: bool,
}

impl<'a, 'ctx> Emit<'a, 'ctx> {
    pub fn new(
        context: &'ctx Context,
        module: &'a Module<'ctx>,
        builder: &'a Builder<'ctx>,
        fma: bool,
    ) -> Self {
        Emit { context, module, builder, fma, reassoc: false }
    }
}

pub(crate) type Value<'ctx> = BasicValueEnum<'ctx>;
pub(crate) type Emitted<'ctx> = Result<BasicValueEnum<'ctx>, EmitError>;

/// The number of lanes of a vector; `None` for a scalar.
pub(crate) fn lanes(v: Value<'_>) -> Option<u32> {
    match v {
        BasicValueEnum::VectorValue(v) => Some(v.get_type().get_size()),
        _ => None,
    }
}

/// The type of one lane.
pub(crate) fn element<'ctx>(v: Value<'ctx>) -> BasicTypeEnum<'ctx> {
    match v.get_type() {
        BasicTypeEnum::VectorType(t) => t.get_element_type(),
        t => t,
    }
}

/// A type with as many lanes as the value.
pub(crate) fn like<'ctx>(v: Value<'ctx>, element: BasicTypeEnum<'ctx>) -> BasicTypeEnum<'ctx> {
    match (lanes(v), element) {
        (Some(w), BasicTypeEnum::IntType(t)) => t.vec_type(w).into(),
        (Some(w), BasicTypeEnum::FloatType(t)) => t.vec_type(w).into(),
        _ => element,
    }
}

/// An integer instruction with two operands, on scalars or vectors.
macro_rules! int2 {
    ($($name:ident $build:ident;)*) => {$(
        pub(crate) fn $name(&self, a: Value<'ctx>, b: Value<'ctx>) -> Emitted<'ctx> {
            Ok(match (a, b) {
                (BasicValueEnum::IntValue(a), BasicValueEnum::IntValue(b)) => self.builder.$build(a, b, "")?.into(),
                (BasicValueEnum::VectorValue(a), BasicValueEnum::VectorValue(b)) => {
                    self.builder.$build(a, b, "")?.into()
                }
                _ => return Err(EmitError::WrongValue(stringify!($name))),
            })
        }
    )*};
}

/// A float instruction with two operands; `reassoc` where the emitter allows it.
macro_rules! float2 {
    ($($name:ident $build:ident;)*) => {$(
        pub(crate) fn $name(&self, a: Value<'ctx>, b: Value<'ctx>) -> Emitted<'ctx> {
            let v = match (a, b) {
                (BasicValueEnum::FloatValue(a), BasicValueEnum::FloatValue(b)) => {
                    self.builder.$build(a, b, "")?.into()
                }
                (BasicValueEnum::VectorValue(a), BasicValueEnum::VectorValue(b)) => {
                    self.builder.$build(a, b, "")?.into()
                }
                _ => return Err(EmitError::WrongValue(stringify!($name))),
            };
            self.flags(v)
        }
    )*};
}

/// A conversion to a type of the same number of lanes.
macro_rules! convert {
    ($($name:ident $build:ident $from:ident $to:ident;)*) => {$(
        pub(crate) fn $name(&self, v: Value<'ctx>, to: BasicTypeEnum<'ctx>) -> Emitted<'ctx> {
            Ok(match (v, like(v, to)) {
                (BasicValueEnum::$from(v), BasicTypeEnum::$to(t)) => self.builder.$build(v, t, "")?.into(),
                (BasicValueEnum::VectorValue(v), BasicTypeEnum::VectorType(t)) => {
                    self.builder.$build(v, t, "")?.into()
                }
                _ => return Err(EmitError::WrongValue(stringify!($name))),
            })
        }
    )*};
}

impl<'ctx> Emit<'_, 'ctx> {
    int2! {
        add build_int_add;
        sub build_int_sub;
        mul build_int_mul;
        sdiv build_int_signed_div;
        udiv build_int_unsigned_div;
        urem build_int_unsigned_rem;
        and build_and;
        or build_or;
        xor build_xor;
        shl build_left_shift;
    }

    float2! {
        fadd build_float_add;
        fsub build_float_sub;
        fmul build_float_mul;
        fdiv build_float_div;
        frem build_float_rem;
    }

    convert! {
        trunc build_int_truncate IntValue IntType;
        zext build_int_z_extend IntValue IntType;
        sext build_int_s_extend IntValue IntType;
        fptrunc build_float_trunc FloatValue FloatType;
        fpext build_float_ext FloatValue FloatType;
        sitofp build_signed_int_to_float IntValue FloatType;
        uitofp build_unsigned_int_to_float IntValue FloatType;
        fptosi build_float_to_signed_int FloatValue IntType;
        fptoui build_float_to_unsigned_int FloatValue IntType;
    }

    pub(crate) fn lshr(&self, a: Value<'ctx>, b: Value<'ctx>) -> Emitted<'ctx> {
        self.shift_right(a, b, false)
    }

    pub(crate) fn ashr(&self, a: Value<'ctx>, b: Value<'ctx>) -> Emitted<'ctx> {
        self.shift_right(a, b, true)
    }

    fn shift_right(&self, a: Value<'ctx>, b: Value<'ctx>, signed: bool) -> Emitted<'ctx> {
        Ok(match (a, b) {
            (BasicValueEnum::IntValue(a), BasicValueEnum::IntValue(b)) => {
                self.builder.build_right_shift(a, b, signed, "")?.into()
            }
            (BasicValueEnum::VectorValue(a), BasicValueEnum::VectorValue(b)) => {
                self.builder.build_right_shift(a, b, signed, "")?.into()
            }
            _ => return Err(EmitError::WrongValue("shift")),
        })
    }

    pub(crate) fn fneg(&self, v: Value<'ctx>) -> Emitted<'ctx> {
        Ok(match v {
            BasicValueEnum::FloatValue(v) => self.builder.build_float_neg(v, "")?.into(),
            BasicValueEnum::VectorValue(v) => self.builder.build_float_neg(v, "")?.into(),
            _ => return Err(EmitError::WrongValue("fneg")),
        })
    }

    /// Reinterprets the bits of each lane.
    pub(crate) fn bitcast(&self, v: Value<'ctx>, to: BasicTypeEnum<'ctx>) -> Emitted<'ctx> {
        Ok(self.builder.build_bit_cast(v, like(v, to), "")?)
    }

    pub(crate) fn icmp(&self, p: IntPredicate, a: Value<'ctx>, b: Value<'ctx>) -> Emitted<'ctx> {
        Ok(match (a, b) {
            (BasicValueEnum::IntValue(a), BasicValueEnum::IntValue(b)) => {
                self.builder.build_int_compare(p, a, b, "")?.into()
            }
            (BasicValueEnum::VectorValue(a), BasicValueEnum::VectorValue(b)) => {
                self.builder.build_int_compare(p, a, b, "")?.into()
            }
            _ => return Err(EmitError::WrongValue("icmp")),
        })
    }

    pub(crate) fn fcmp(&self, p: FloatPredicate, a: Value<'ctx>, b: Value<'ctx>) -> Emitted<'ctx> {
        Ok(match (a, b) {
            (BasicValueEnum::FloatValue(a), BasicValueEnum::FloatValue(b)) => {
                self.builder.build_float_compare(p, a, b, "")?.into()
            }
            (BasicValueEnum::VectorValue(a), BasicValueEnum::VectorValue(b)) => {
                self.builder.build_float_compare(p, a, b, "")?.into()
            }
            _ => return Err(EmitError::WrongValue("fcmp")),
        })
    }

    /// `c ? a : b`, lane by lane if `c` is a vector.
    pub(crate) fn select(&self, c: Value<'ctx>, a: Value<'ctx>, b: Value<'ctx>) -> Emitted<'ctx> {
        if a.get_type() != b.get_type() {
            return Err(EmitError::WrongValue("select"));
        }
        Ok(match c {
            BasicValueEnum::IntValue(c) => self.builder.build_select(c, a, b, "")?,
            BasicValueEnum::VectorValue(c) if lanes(a) == Some(c.get_type().get_size()) => {
                self.builder.build_select(c, a, b, "")?
            }
            _ => return Err(EmitError::WrongValue("select")),
        })
    }

    /// Calls an intrinsic that is overloaded at the type of its first argument, and at `more`.
    pub(crate) fn intrinsic(
        &self,
        name: &'static str,
        more: &[BasicTypeEnum<'ctx>],
        args: &[Value<'ctx>],
    ) -> Emitted<'ctx> {
        let first = args.first().ok_or(EmitError::NoIntrinsic(name))?.get_type();
        let mut tys = more.to_vec();
        tys.push(first);
        let f = Intrinsic::find(name)
            .and_then(|i| i.get_declaration(self.module, &tys))
            .ok_or(EmitError::NoIntrinsic(name))?;
        let args: Vec<BasicMetadataValueEnum<'ctx>> = args.iter().map(|a| (*a).into()).collect();
        let call = self.builder.build_direct_call(f, &args, "")?;
        match call.try_as_basic_value() {
            ValueKind::Basic(v) => Ok(v),
            ValueKind::Instruction(_) => Err(EmitError::NoIntrinsic(name)),
        }
    }

    /// An integer constant of the value's type, in every lane; `n` is taken modulo the width.
    pub(crate) fn int_like(&self, v: Value<'ctx>, n: i64) -> Emitted<'ctx> {
        match element(v) {
            BasicTypeEnum::IntType(t) => Ok(self.splat_like(v, t.const_int(n as u64, true).into())),
            _ => Err(EmitError::WrongValue("integer constant")),
        }
    }

    /// A float constant of the value's type, in every lane.
    pub(crate) fn float_like(&self, v: Value<'ctx>, x: f64) -> Emitted<'ctx> {
        match element(v) {
            BasicTypeEnum::FloatType(t) => Ok(self.splat_like(v, t.const_float(x).into())),
            _ => Err(EmitError::WrongValue("float constant")),
        }
    }

    /// A constant in as many lanes as the value has.
    pub(crate) fn splat_like(&self, v: Value<'ctx>, constant: Value<'ctx>) -> Value<'ctx> {
        match lanes(v) {
            Some(w) => splat_constant(constant, w),
            None => constant,
        }
    }

    /// Calls `f` for each lane, on the lane of each argument; once for scalars.
    pub(crate) fn per_lane(
        &self,
        args: &[Value<'ctx>],
        result: BasicTypeEnum<'ctx>,
        f: impl Fn(&[Value<'ctx>]) -> Emitted<'ctx>,
    ) -> Emitted<'ctx> {
        let Some(w) = args.first().and_then(|a| lanes(*a)) else { return f(args) };
        let BasicTypeEnum::VectorType(ty) = like(args[0], result) else {
            return Err(EmitError::WrongValue("lane"));
        };
        let mut all = ty.get_poison();
        for lane in 0..w {
            let index = self.context.i32_type().const_int(lane as u64, false);
            let lane_args: Vec<Value<'ctx>> = args
                .iter()
                .map(|a| match a {
                    BasicValueEnum::VectorValue(v) => {
                        Ok(self.builder.build_extract_element(*v, index, "")?)
                    }
                    other => Ok(*other),
                })
                .collect::<Result<_, EmitError>>()?;
            all = self.builder.build_insert_element(all, f(&lane_args)?, index, "")?;
        }
        Ok(all.into())
    }

    /// Gives a float instruction the `reassoc` flag if this emitter allows it.
    pub(crate) fn flags(&self, v: Value<'ctx>) -> Emitted<'ctx> {
        if self.reassoc
            && let Some(i) = v.as_instruction_value()
            && i.can_use_fast_math_flags()
        {
            i.set_fast_math_flags(FastMathFlags::AllowReassoc)
                .map_err(|_| EmitError::WrongValue("reassoc"))?;
        }
        Ok(v)
    }
}

/// A constant vector with the same scalar in every lane.
pub(crate) fn splat_constant<'ctx>(constant: Value<'ctx>, lanes: u32) -> Value<'ctx> {
    let w = lanes as usize;
    match constant {
        BasicValueEnum::IntValue(v) => VectorType::const_vector(&vec![v; w]).into(),
        BasicValueEnum::FloatValue(v) => VectorType::const_vector(&vec![v; w]).into(),
        other => other,
    }
}

/// The lanes' common constant, if the value is a constant with the same integer or float in every lane.
pub(crate) fn uniform_constant<'ctx>(v: Value<'ctx>) -> Option<Value<'ctx>> {
    match v {
        BasicValueEnum::IntValue(i) if i.is_const() => Some(v),
        BasicValueEnum::FloatValue(x) if x.is_const() => Some(v),
        BasicValueEnum::VectorValue(c) if c.is_null() => Some(element(v).const_zero()),
        BasicValueEnum::VectorValue(c) if c.is_constant_data_vector() => {
            let first = c.get_element_as_constant(0);
            let same = (1..c.get_type().get_size()).all(|i| c.get_element_as_constant(i) == first);
            same.then_some(first)
        }
        _ => None,
    }
}

/// The size of a type's lane in bytes, which is how loads and stores of vectors are aligned.
pub(crate) fn element_bytes(t: BasicTypeEnum<'_>) -> u32 {
    match t {
        BasicTypeEnum::VectorType(v) => element_bytes(v.get_element_type()),
        BasicTypeEnum::IntType(i) => i.get_bit_width().div_ceil(8),
        BasicTypeEnum::FloatType(x) => x.get_bit_width() / 8,
        _ => 1,
    }
    .max(1)
}

/// The type of `w` lanes of a scalar type, or the scalar type itself.
pub(crate) fn widen<'ctx>(t: BasicTypeEnum<'ctx>, w: Option<u32>) -> BasicTypeEnum<'ctx> {
    match (w, t) {
        (Some(w), BasicTypeEnum::IntType(t)) => t.vec_type(w).as_basic_type_enum(),
        (Some(w), BasicTypeEnum::FloatType(t)) => t.vec_type(w).as_basic_type_enum(),
        _ => t,
    }
}
