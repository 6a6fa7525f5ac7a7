//! What is left of a reduction in lanes when no whole vector is left.
//!
//! Short rows are all that is left: of a row of five elements, four lanes would take four and a loop the
//! fifth; a loop of one at a time runs a number of times that no processor guesses, which costs more than
//! the row. So the last iterations are one vector, of which the lanes past the end load nothing and count
//! as the operator's neutral element:
//!
//! ```text
//! for i in start..to { acc += xs[i] }    ⟶    mask = start + [0 1 2 …] < to
//!                                             acc += fold(select(mask, xs[start..] where mask, -0.0))
//! ```
//!
//! That is done for bodies that only load and compute ([`Fun::can_mask`]): nothing in them stops or is
//! written, and what the other lanes compute is dropped. Where each lane loads its own element of
//! consecutive ones, it runs even if no iteration is left, without a branch; other loads are of the first
//! iteration's element in the lanes past the end, and so there has to be one.

use super::Fun;
use super::loops::{Loop, Sums, Values};
use super::pieces::{Piece, Pieces};
use crate::error::EmitError;
use crate::values::{Value, element_bytes};
use inkwell::types::BasicTypeEnum;
use inkwell::values::{IntValue, PointerValue};
use inkwell::{IntPredicate, types::VectorType};
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_kernel::ir::{Atom, Carried, Exp, Stmt, StmtKind, Var};

/// Processors mask lanes of so many bits, in vectors of at least so many.
const LANE_BITS: u32 = 32;
const VECTOR_BITS: u32 = 256;

/// The registers of a ragged row's last vector, and the most statements that are worth running in all of them.
pub(super) const REGISTERS: u32 = 4;
const MOST_STATEMENTS: usize = 8;

impl<'ctx> Fun<'_, 'ctx> {
    /// Whether the last vector may have several registers, of which most have nothing to do.
    pub fn is_cheap_masked(&self, var: Var, carried: &[Carried], body: &[Stmt]) -> bool {
        body.len() <= MOST_STATEMENTS && self.can_mask(carried, body) && self.is_consecutive(var, body)
    }

    /// Whether the last iterations of a loop with this body can be one vector.
    pub fn can_mask(&self, carried: &[Carried], body: &[Stmt]) -> bool {
        let wide = |v: Var| self.buffer_ty(v).is_some_and(|t| t.base.bits() >= LANE_BITS);
        let fits = |s: &Stmt| match &s.kind {
            StmtKind::Let { exp: Exp::Load { buffer, .. }, .. } => wide(*buffer),
            StmtKind::Let { exp: Exp::Op(op, _), .. } => is_instruction(*op),
            StmtKind::Let { exp: Exp::Atom(_) | Exp::Cast(..), .. } => true,
            _ => false,
        };
        self.host.vector_bits >= VECTOR_BITS && self.jam == 1 && !carried.is_empty() && body.iter().all(fits)
    }

    /// The iterations of a loop, at most `w`, combined with what there is: the first `first` of them, and the others
    /// if there are others.
    pub fn masked(
        &mut self,
        (first, w): (u32, u32),
        l: &Loop<'_, 'ctx>,
        sums: &Sums,
        so_far: &Values<'ctx>,
    ) -> Result<(), EmitError> {
        let mut results = if self.is_consecutive(l.var, l.body) {
            self.masked_vector(first, l, sums, so_far)?
        } else {
            self.if_any(l.from, l.to, so_far.clone(), &mut |f| f.masked_vector(first, l, sums, so_far))?
        };
        if w > first {
            let from = self.e.builder.build_int_nsw_add(l.from, self.i64(first.into()), "")?;
            let others = Loop { from, ..*l };
            let so_far = results.clone();
            results =
                self.if_any(from, l.to, results, &mut |f| f.masked_vector(w, &others, sums, &so_far))?;
        }
        self.bind_carried(self.results(l.carried).into_iter(), &results);
        Ok(())
    }

    fn masked_vector(
        &mut self,
        w: u32,
        l: &Loop<'_, 'ctx>,
        sums: &Sums,
        so_far: &Values<'ctx>,
    ) -> Result<Values<'ctx>, EmitError> {
        let lanes: Vec<IntValue<'ctx>> = (0..i64::from(w)).map(|k| self.i64(k)).collect();
        let left = self.e.splat(self.e.sub(l.to.into(), l.from.into())?, w)?;
        let mask = self.e.icmp(IntPredicate::SLT, VectorType::const_vector(&lanes).into(), left)?;
        let neutral: Values<'ctx> =
            sums.iter().map(|(_, _, zero)| vec![self.e.constant(*zero, Some(w))]).collect();
        self.lanes = Some(w);
        self.mask = Some(mask);
        self.env.insert(l.var, Pieces::from_elem(Piece::Linear { base: l.from.into(), stride: 1 }, 1));
        self.bind_carried(self.params(l.carried).into_iter(), &neutral);
        self.block(l.body)?;
        let made = self.carry(l.carried, l.next)?;
        self.lanes = None;
        self.mask = None;
        let kept = made.iter().flatten().zip(neutral.iter().flatten());
        let kept = kept.map(|(a, zero)| Ok(vec![self.e.select(mask, *a, *zero)?]));
        let kept = self.folded(kept.collect::<Result<_, EmitError>>()?, sums, 1)?;
        let both = so_far.iter().flatten().zip(kept.iter().flatten()).zip(sums);
        both.map(|((a, b), (op, ty, _))| Ok(vec![self.e.op(*op, &[*ty, *ty], &[*a, *b])?])).collect()
    }

    /// Whether every load is of consecutive elements, one for each iteration.
    fn is_consecutive(&self, var: Var, body: &[Stmt]) -> bool {
        let mut linear = vec![var];
        let same = |a: &Atom| !a.as_var().is_some_and(|v| self.lane_varying.contains(&v));
        body.iter().all(|s| {
            let StmtKind::Let { var, exp } = &s.kind else { return false };
            let grows = |a: &Atom| a.as_var().is_some_and(|v| linear.contains(&v));
            match exp {
                Exp::Op(ScalarOp::Add, args) if args.iter().any(grows) && args.iter().any(same) => {
                    linear.push(*var);
                    true
                }
                Exp::Load { at, .. } => {
                    at.split_last().is_some_and(|(last, outer)| grows(last) && outer.iter().all(same))
                }
                _ => true,
            }
        })
    }

    /// Loads in the lanes of the mask alone; elsewhere there is a zero, or any element of the others.
    pub fn load_masked(
        &mut self,
        buffer: Var,
        at: &[Pieces<'ctx>],
        mask: Value<'ctx>,
    ) -> Result<Pieces<'ctx>, EmitError> {
        use super::memory::{Offset, Stride};
        let (ty, base) = self.buffer(buffer)?;
        let one = match self.offset(&ty, at, 0)? {
            Offset::Uniform(i) => Piece::Uniform(self.read(buffer, ty.base, base, i, None)?),
            Offset::Strided(i, Stride::Constant(1)) => {
                Piece::Vector(self.masked_load(buffer, ty.base, base, i, mask)?)
            }
            // The first lane is always there: the lanes that are not read its element.
            offset => {
                let all = self.offsets(&offset)?;
                let first = self.offset_of_lane(&offset, 0)?;
                let first = self.vector(Piece::Uniform(first.into()))?;
                let safe = Offset::Vector(self.e.select(mask, all, first)?);
                Piece::Vector(self.gather(buffer, ty.base, base, &safe)?)
            }
        };
        Ok(Pieces::from_elem(one, 1))
    }

    fn masked_load(
        &self,
        buffer: Var,
        ty: BaseTy,
        base: PointerValue<'ctx>,
        index: IntValue<'ctx>,
        mask: Value<'ctx>,
    ) -> Result<Value<'ctx>, EmitError> {
        let memory = self.e.memory_ty(ty, self.lanes);
        let BasicTypeEnum::VectorType(vector) = memory else {
            return Err(EmitError::WrongValue("masked load"));
        };
        let at = self.e.element(ty, base, index)?;
        let align = self.i32(element_bytes(memory));
        let args: [Value<'ctx>; 4] = [at.into(), align.into(), mask, vector.const_zero().into()];
        let v = self.e.intrinsic("llvm.masked.load", &[memory], &args)?;
        self.loaded(buffer, ty, v)
    }
}

/// Whether the operator is an instruction or a few, for a vector as for a scalar.
fn is_instruction(op: ScalarOp) -> bool {
    use ScalarOp::*;
    matches!(
        op,
        Add | Sub
            | Mul
            | Min2
            | Max2
            | Negate
            | Abs
            | Sign
            | Div
            | Sqrt
            | Eq
            | Ne
            | Lt
            | Le
            | Gt
            | Ge
            | And
            | Or
            | Xor
            | Not
            | Select
            | BitAnd
            | BitOr
            | BitXor
            | BitNot
            | IntToFloat
            | BoolToInt
            | IntToBool
    )
}
