//! Values of which several exist at once.
//!
//! In a jammed loop a value is a list of **pieces**, one for each of the iterations that run at once, or a
//! single one if they share it. In a loop in lanes each piece is one of:
//!
//! | piece | what it stands for |
//! | --- | --- |
//! | `Uniform` | the same scalar in every lane |
//! | `Linear` | an integer that grows by a constant from lane to lane: the loop's variable and its kin |
//! | `Vector` | a vector register |
//!
//! What is uniform is computed once, as a scalar, and spread over the lanes where it meets a vector. An
//! index that is linear with stride 1 makes a load a load of consecutive elements.

use super::Fun;
use crate::error::EmitError;
use crate::values::Value;
use inkwell::types::{BasicTypeEnum, VectorType};
use inkwell::values::BasicValueEnum;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use smallvec::{SmallVec, smallvec};

#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Piece<'ctx> {
    Uniform(Value<'ctx>),
    Linear { base: Value<'ctx>, stride: i64 },
    Vector(Value<'ctx>),
}

/// One piece, or one for each iteration of the jammed loop around.
pub(super) type Pieces<'ctx> = SmallVec<[Piece<'ctx>; 1]>;

pub(super) fn uniform(v: Value<'_>) -> Pieces<'_> {
    smallvec![Piece::Uniform(v)]
}

/// The piece of one iteration.
pub(super) fn piece<'ctx>(v: &Pieces<'ctx>, k: usize) -> Result<Piece<'ctx>, EmitError> {
    v.get(k).or(v.first()).copied().ok_or(EmitError::WrongValue("no piece"))
}

/// The number of pieces of something made of these.
pub(super) fn count<'a, 'ctx: 'a>(vs: impl IntoIterator<Item = &'a Pieces<'ctx>>) -> usize {
    vs.into_iter().map(|v| v.len()).max().unwrap_or(1).max(1)
}

impl<'ctx> Fun<'_, 'ctx> {
    /// The lanes of a piece as a vector.
    pub fn vector(&self, p: Piece<'ctx>) -> Result<Value<'ctx>, EmitError> {
        let Some(w) = self.lanes else { return self.scalar_of(p) };
        match p {
            Piece::Vector(v) => Ok(v),
            Piece::Uniform(v) => self.e.splat(v, w),
            Piece::Linear { base, stride } => {
                let BasicTypeEnum::IntType(t) = base.get_type() else {
                    return Err(EmitError::WrongValue("linear"));
                };
                let all = self.e.splat(base, w)?;
                let steps: Vec<_> =
                    (0..i64::from(w)).map(|k| t.const_int(k.wrapping_mul(stride) as u64, true)).collect();
                self.e.add(all, VectorType::const_vector(&steps).into())
            }
        }
    }

    /// The value of a piece that is the same in all lanes.
    pub fn scalar_of(&self, p: Piece<'ctx>) -> Result<Value<'ctx>, EmitError> {
        match p {
            Piece::Uniform(v) => Ok(v),
            _ => Err(EmitError::WrongValue("a scalar that varies")),
        }
    }

    /// One lane of a piece; `lane` is an `i64`.
    pub fn lane(&self, p: Piece<'ctx>, lane: Value<'ctx>) -> Result<Value<'ctx>, EmitError> {
        match p {
            Piece::Uniform(v) => Ok(v),
            Piece::Linear { base, stride } => {
                let lane = match base.get_type() {
                    t if t == lane.get_type() => lane,
                    t => self.e.trunc(lane, t)?,
                };
                self.e.add(base, self.e.mul(lane, self.e.int_like(lane, stride)?)?)
            }
            Piece::Vector(v) => {
                let (BasicValueEnum::VectorValue(v), BasicValueEnum::IntValue(lane)) = (v, lane) else {
                    return Err(EmitError::WrongValue("lane"));
                };
                Ok(self.e.builder.build_extract_element(v, lane, "")?)
            }
        }
    }

    /// An operator on single pieces.
    pub fn op_piece(
        &self,
        op: ScalarOp,
        tys: &[BaseTy],
        args: &[Piece<'ctx>],
    ) -> Result<Piece<'ctx>, EmitError> {
        if let Some(p) = self.linear_op(op, tys, args)? {
            return Ok(p);
        }
        if args.iter().all(|a| matches!(a, Piece::Uniform(_))) {
            let args = args.iter().map(|a| self.scalar_of(*a)).collect::<Result<Vec<_>, _>>()?;
            return Ok(Piece::Uniform(self.e.op(op, tys, &args)?));
        }
        let mut lanes = Vec::new();
        for (k, a) in args.iter().enumerate() {
            lanes.push(match a {
                // A condition that all lanes share chooses whole vectors.
                Piece::Uniform(c) if op == ScalarOp::Select && k == 0 => *c,
                // The divisor of a vector may be a constant: its splat is one too.
                a => self.vector(*a)?,
            });
        }
        Ok(Piece::Vector(self.e.op(op, tys, &lanes)?))
    }

    /// Sums, differences and multiples that stay linear. Integers wrap, so this holds in every width.
    fn linear_op(
        &self,
        op: ScalarOp,
        tys: &[BaseTy],
        args: &[Piece<'ctx>],
    ) -> Result<Option<Piece<'ctx>>, EmitError> {
        use Piece::{Linear, Uniform};
        if let (ScalarOp::Select, [Uniform(c), Linear { base: a, stride }, Linear { base: b, stride: other }]) =
            (op, args)
            && stride == other
        {
            return Ok(Some(Linear { base: self.e.select(*c, *a, *b)?, stride: *stride }));
        }
        if !tys.iter().all(|t| t.is_integer()) {
            return Ok(None);
        }
        let scalar = |a, b| self.e.op(op, tys, &[a, b]);
        Ok(Some(match (op, args) {
            (ScalarOp::Add, [Linear { base, stride }, Uniform(u)]) => {
                Linear { base: scalar(*base, *u)?, stride: *stride }
            }
            (ScalarOp::Add, [Uniform(u), Linear { base, stride }]) => {
                Linear { base: scalar(*u, *base)?, stride: *stride }
            }
            (ScalarOp::Sub, [Linear { base, stride }, Uniform(u)]) => {
                Linear { base: scalar(*base, *u)?, stride: *stride }
            }
            (ScalarOp::Sub, [Uniform(u), Linear { base, stride }]) => {
                Linear { base: scalar(*u, *base)?, stride: stride.wrapping_neg() }
            }
            (ScalarOp::Add, [Linear { base: a, stride: s }, Linear { base: b, stride: t }]) => {
                Linear { base: scalar(*a, *b)?, stride: s.wrapping_add(*t) }
            }
            (ScalarOp::Mul, [Linear { base, stride }, Uniform(u)])
            | (ScalarOp::Mul, [Uniform(u), Linear { base, stride }]) => match constant(*u) {
                Some(c) => Linear { base: scalar(*base, *u)?, stride: stride.wrapping_mul(c) },
                None => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }

    /// A conversion of one piece.
    pub fn cast_piece(&self, from: BaseTy, to: BaseTy, p: Piece<'ctx>) -> Result<Piece<'ctx>, EmitError> {
        Ok(match p {
            Piece::Uniform(v) => Piece::Uniform(self.e.cast(from, to, v)?),
            Piece::Linear { base, stride } if to.is_integer() && to.bits() <= from.bits() => {
                Piece::Linear { base: self.e.cast(from, to, base)?, stride }
            }
            p => Piece::Vector(self.e.cast(from, to, self.vector(p)?)?),
        })
    }

    /// The bits of a piece of floats.
    pub fn bits_piece(&self, from: BaseTy, p: Piece<'ctx>) -> Result<Piece<'ctx>, EmitError> {
        let Some(bits) = remc_kernel::ir::bits_of(from) else { return Err(EmitError::WrongValue("bits")) };
        let bits = self.e.llvm_ty(bits, None);
        Ok(match p {
            Piece::Uniform(v) => Piece::Uniform(self.e.bitcast(v, bits)?),
            p => Piece::Vector(self.e.bitcast(self.vector(p)?, bits)?),
        })
    }

    /// The pieces in the form of a value that a loop carries: `pieces` of them, vectors if `varies`.
    pub fn shaped(
        &self,
        v: &Pieces<'ctx>,
        pieces: usize,
        varies: bool,
    ) -> Result<Vec<Value<'ctx>>, EmitError> {
        (0..pieces)
            .map(|k| {
                let p = piece(v, k)?;
                if varies { self.vector(p) } else { self.scalar_of(p) }
            })
            .collect()
    }
}

fn constant(v: Value<'_>) -> Option<i64> {
    match v {
        BasicValueEnum::IntValue(v) => v.get_sign_extended_constant(),
        _ => None,
    }
}
