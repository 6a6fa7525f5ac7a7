//! What is left of a loop in lanes when no whole vector is left.
//!
//! Of a reduction, short rows are all that is left: of a row of five elements, four lanes would take four and a loop the
//! fifth; a loop of one at a time runs a number of times that no processor guesses, which costs more than
//! the row. So the last iterations are one vector, of which the lanes past the end load nothing and count
//! as the operator's neutral element:
//!
//! ```text
//! for i in 0..n { acc += xs[i] }    ⟶    acc = [acc 0 0 …]                     the start, in the first lane
//!                                        if n ≥ w { whole vectors; n %= w }
//!                                        acc += xs[…] where [0 1 2 …] < n      eight lanes, or a register
//!                                        if n > 8 { acc += … }                 the others, where w is more
//!                                        acc = fold(acc)                       once, for all
//! ```
//!
//! That is done for bodies that only load, check and compute ([`Fun::can_mask`]): the
//! other lanes pass each check, and what they compute is dropped. Where each lane loads its own element of
//! consecutive ones and nothing is checked, it runs even if no iteration is left, without a branch; other loads
//! are of the first iteration's element in the lanes past the end, and so there has to be one. So there is for `exp`
//! and `log`, which take longer than a branch that is guessed wrong.
//!
//! A loop that reduces nothing but writes ([`Fun::can_mask_writes`]) ends in a vector with a mask too, if a loop inside
//! would else run for each iteration that is left, as for the few columns of a matrix that is reduced, or if its number
//! of iterations is anybody's guess: `ys[…] = …` where `[0 1 2 …] < n`.

use super::Fun;
use super::counted::{Loop, Sum, Sums, Values};
use super::pieces::{Piece, Pieces};
use crate::error::EmitError;
use crate::scalar::Emit;
use crate::values::{Value, element_bytes};
use inkwell::intrinsics::Intrinsic;
use inkwell::types::BasicTypeEnum;
use inkwell::values::{IntValue, PointerValue};
use inkwell::{AddressSpace, IntPredicate, types::VectorType};
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_kernel::ir::{Atom, Carried, Exp, Stmt, StmtKind, Var, is_transcendental};
use remc_kernel::schedule::Field;
use std::ops::Range;

/// Processors mask lanes of so many bits, in vectors of at least so many.
const LANE_BITS: u32 = 32;
const VECTOR_BITS: u32 = 256;

/// The lanes of the first vector, where there is another: whether a row has more of them is a guess. Where they are half
/// a register, a ragged row's lie in one cache line more often, and folding them is a step less.
pub(super) const FIRST: u32 = 8;

/// Which iterations of a vector run.
#[derive(Clone, Copy)]
pub(super) struct Mask<'ctx> {
    pub lanes: Value<'ctx>,
    pub which: Which<'ctx>,
}

#[derive(Clone, Copy)]
pub(super) enum Which<'ctx> {
    /// The first so many: there are no others.
    First(IntValue<'ctx>),
    /// Any of them, at least one: the others take another branch.
    Any,
}

impl<'ctx> Mask<'ctx> {
    /// Whether a condition holds or there is no iteration, lane by lane.
    pub fn or_off(&self, e: &Emit<'_, 'ctx>, cond: Value<'ctx>) -> Result<Value<'ctx>, EmitError> {
        e.select(self.lanes, cond, e.constant(Scalar::Bool(true), crate::values::lanes(cond)))
    }

    /// Integers, and zero where there is no iteration.
    pub fn or_zero(&self, e: &Emit<'_, 'ctx>, ints: Value<'ctx>) -> Result<Value<'ctx>, EmitError> {
        e.select(self.lanes, ints, e.constant(Scalar::I64(0), crate::values::lanes(ints)))
    }
}

impl<'ctx> Fun<'_, 'ctx> {
    /// Whether the last vector may have several registers, of which most have nothing to do.
    pub fn is_cheap_masked(&self, var: Var, carried: &[Carried], body: &[Stmt]) -> bool {
        body.len() as i64 <= self.schedule[Field::RaggedOps]
            && self.can_mask(carried, body)
            && self.runs_on_nothing(var, body)
    }

    /// Whether the last iterations of a loop with this body can be one vector.
    pub fn can_mask(&self, carried: &[Carried], body: &[Stmt]) -> bool {
        let straight = |s: &Stmt| !matches!(s.kind, StmtKind::For { .. } | StmtKind::Store { .. });
        self.masks() && !carried.is_empty() && body.iter().all(straight) && self.only_computes(body)
    }

    /// Whether the last iterations of a loop that carries nothing can be one vector, and are worth it.
    pub fn can_mask_writes(&self, l: &Loop<'_, 'ctx>) -> bool {
        let worth = l.ragged || super::vary::has_loop(l.body);
        self.masks() && l.carried.is_empty() && worth && self.only_computes(l.body)
    }

    /// Whether there are masks for the lanes of a vector, and one vector at a time.
    pub fn masks(&self) -> bool {
        self.host.vector_bits >= VECTOR_BITS && self.jam == 1
    }

    /// Whether a body may run for an iteration that there is not, if it loads nothing and writes nothing then.
    fn only_computes(&self, body: &[Stmt]) -> bool {
        let wide = |v: Var| self.buffer_ty(v).is_some_and(|t| t.base.bits() >= LANE_BITS);
        body.iter().all(|s| match &s.kind {
            StmtKind::Let { exp: Exp::Load { buffer, .. }, .. } | StmtKind::Store { buffer, .. } => {
                wide(*buffer)
            }
            StmtKind::Let { exp: Exp::Op(op, _), .. } => is_instruction(*op) || is_transcendental(*op),
            StmtKind::Let { exp: Exp::Atom(_) | Exp::Cast(..) | Exp::Bits(_), .. }
            | StmtKind::Check { .. } => true,
            StmtKind::For { body, .. } => self.only_computes(body),
            StmtKind::Alloc { .. } => true,
            _ => false,
        })
    }

    /// A loop in lanes that carries nothing: loops of so many lanes, then one vector with a mask.
    pub fn lanes_that_write(&mut self, widths: &[u32], l: &Loop<'_, 'ctx>) -> Result<(), EmitError> {
        let ends = self.ends(l, widths)?;
        self.whole_vectors(l, (widths, &ends), &[])?;
        let (Some(w), Some(from)) = (widths.last().copied(), ends.last().copied()) else {
            return Err(EmitError::WrongValue("no lanes"));
        };
        let left = self.count((from, l.to))?;
        self.if_any_left(left, &mut |f| {
            let lanes = f.lanes_below(left, 0..w, l)?;
            (f.lanes, f.mask) = (Some(w), Some(Mask { lanes, which: Which::First(left) }));
            f.env.insert(l.var, Pieces::from_elem(Piece::Linear { base: from.into(), stride: 1 }, 1));
            f.block(l.body)?;
            (f.lanes, f.mask) = (None, None);
            Ok(())
        })
    }

    fn if_any_left(
        &mut self,
        left: IntValue<'ctx>,
        f: &mut dyn FnMut(&mut Self) -> Result<(), EmitError>,
    ) -> Result<(), EmitError> {
        let any = self.e.icmp(IntPredicate::SGT, left.into(), self.i64(0).into())?;
        self.if_holds(any, Values::new(), &mut |g| f(g).map(|()| Values::new())).map(drop)
    }

    /// A loop in lanes with this body: loops of so many lanes, then one vector with a mask or two.
    ///
    /// What it starts from, `inits`, is in the first lane of the accumulators from the start.
    pub fn lanes_to_the_end(
        &mut self,
        widths: &[u32],
        l: &Loop<'_, 'ctx>,
        inits: &Values<'ctx>,
        sums: &Sums,
    ) -> Result<(), EmitError> {
        let w = *widths.last().ok_or(EmitError::WrongValue("no lanes"))?;
        let first = if l.ragged { FIRST } else { self.native(l.carried, l.body).max(FIRST) }.min(w);
        let (plain, start) = self.starts(l, inits, sums, first)?;
        // What fills no vector, as most rows are, is all that is left.
        let n = self.e.sub(l.to.into(), l.from.into())?;
        let many = self.e.icmp(IntPredicate::UGE, n, self.i64(w.into()).into())?;
        let few = start.iter().cloned().chain([vec![l.from.into()], vec![n]]).collect();
        let whole = &mut |f: &mut Self| {
            let ends = f.ends(l, widths)?;
            let all = f.whole_vectors(l, (widths, &ends), sums)?;
            let all = f.folded(all, sums, first)?;
            let mut all = f.combined(&start, &all, sums)?;
            let left = f.e.and(f.count((l.from, l.to))?.into(), f.i64(i64::from(w) - 1).into())?;
            all.extend([ends.last().map(|end| (*end).into()).into_iter().collect(), vec![left]]);
            Ok(all)
        };
        let mut acc = self.if_longer(l, many, few, whole)?;
        let mut last = || acc.pop().and_then(|v| v.first().copied()).ok_or(EmitError::WrongValue("no lanes"));
        let (left, from) = (super::int(last()?)?, super::int(last()?)?);
        let acc = self.masked((first, w), &Loop { from, ..*l }, left, (sums, &plain), &acc)?;
        let results = self.folded(acc, sums, 1)?;
        self.bind_carried(self.results(l.carried).into_iter(), &results);
        Ok(())
    }

    /// The accumulators of so many lanes that a loop starts from, its start in the first lane; and the sums with what is
    /// nothing where the whole is summed up, not only what an operator gives back in any case.
    pub fn starts(
        &self,
        l: &Loop<'_, 'ctx>,
        inits: &Values<'ctx>,
        sums: &Sums,
        lanes: u32,
    ) -> Result<(Vec<Sum>, Values<'ctx>), EmitError> {
        let plain: Vec<Sum> = sums.iter().zip(l.carried).map(|(sum, c)| plain_zero(*sum, c.init)).collect();
        let mut start = Values::new();
        for (init, none) in inits.iter().flatten().zip(self.neutral(&plain, lanes).iter().flatten()) {
            let none = super::scan::vector(*none)?;
            start.push(vec![self.e.builder.build_insert_element(none, *init, self.i32(0), "")?.into()]);
        }
        Ok((plain, start))
    }

    /// The last iterations of a loop, `left` of less than `w`, accumulated into vectors of `first` lanes: the first
    /// `first` of them, and the others if there are others.
    fn masked(
        &mut self,
        (first, w): (u32, u32),
        l: &Loop<'_, 'ctx>,
        left: IntValue<'ctx>,
        sums: (&Sums, &Sums),
        so_far: &Values<'ctx>,
    ) -> Result<Values<'ctx>, EmitError> {
        let mut acc = if self.runs_on_nothing(l.var, l.body) {
            self.masked_vector((first, 0..first), l, left, sums, so_far)?
        } else {
            self.if_any(self.i64(0), left, so_far.clone(), &mut |f| {
                f.masked_vector((first, 0..first), l, left, sums, so_far)
            })?
        };
        if w > first {
            let so_far = acc.clone();
            let others =
                &mut |f: &mut Self| f.masked_vector((first, first..first + w), l, left, sums, &so_far);
            let more = self.e.icmp(IntPredicate::UGT, left.into(), self.i64(first.into()).into())?;
            acc = self.if_longer(l, more, acc, others)?;
        }
        Ok(acc)
    }

    /// What `f` gives if `cond`, that there are more iterations, holds, else `without`: most ragged rows are short.
    fn if_longer(
        &mut self,
        l: &Loop<'_, 'ctx>,
        cond: Value<'ctx>,
        without: Values<'ctx>,
        f: &mut dyn FnMut(&mut Self) -> Result<Values<'ctx>, EmitError>,
    ) -> Result<Values<'ctx>, EmitError> {
        if l.ragged { self.if_seldom(cond, without, f) } else { self.if_holds(cond, without, f) }
    }

    /// One vector of these iterations, accumulated into vectors of `first` lanes.
    pub fn masked_vector(
        &mut self,
        (first, lanes): (u32, Range<u32>),
        l: &Loop<'_, 'ctx>,
        left: IntValue<'ctx>,
        (sums, plain): (&Sums, &Sums),
        so_far: &Values<'ctx>,
    ) -> Result<Values<'ctx>, EmitError> {
        let w = lanes.len() as u32;
        let from = match lanes.start {
            0 => l.from,
            k => self.e.builder.build_int_nsw_add(l.from, self.i64(k.into()), "")?,
        };
        let lanes = self.lanes_below(left, lanes, l)?;
        let neutral = self.neutral(sums, w);
        self.lanes = Some(w);
        self.mask = Some(Mask { lanes, which: Which::First(left) });
        self.prefetches = l.asks;
        self.env.insert(l.var, Pieces::from_elem(Piece::Linear { base: from.into(), stride: 1 }, 1));
        self.bind_carried(self.params(l.carried).into_iter(), &neutral);
        self.block(l.body)?;
        let made = self.carry(l.carried, l.next)?;
        self.lanes = None;
        self.mask = None;
        self.prefetches = false;
        let nothing = self.neutral(plain, w);
        let kept = made.iter().flatten().zip(nothing.iter().flatten());
        let kept = kept.map(|(a, zero)| Ok(vec![self.e.select(lanes, *a, *zero)?]));
        let kept = self.folded(kept.collect::<Result<_, EmitError>>()?, sums, first)?;
        self.combined(so_far, &kept, sums)
    }

    /// Accumulators of so many lanes in which there is nothing yet.
    pub fn neutral(&self, sums: &Sums, w: u32) -> Values<'ctx> {
        sums.iter().map(|(_, _, zero)| vec![self.e.constant(*zero, Some(w))]).collect()
    }

    /// Which of these lanes are below `left`, a small number.
    ///
    /// What is compared is as wide as what is loaded then, since a mask of another width takes more instructions to
    /// make fit than to make.
    fn lanes_below(
        &self,
        left: IntValue<'ctx>,
        lanes: Range<u32>,
        l: &Loop<'_, 'ctx>,
    ) -> Result<Value<'ctx>, EmitError> {
        let narrow = self.host.lanes(64) < self.native(l.carried, l.body);
        let int = if narrow { self.i32(0) } else { self.i64(0) }.get_type();
        let left = if narrow { self.e.builder.build_int_truncate(left, int, "")? } else { left };
        let left = self.e.splat(left.into(), lanes.len() as u32)?;
        let lanes: Vec<IntValue<'ctx>> = lanes.map(|k| int.const_int(k.into(), false)).collect();
        self.e.icmp(IntPredicate::SLT, VectorType::const_vector(&lanes).into(), left)
    }

    /// Whether one vector of the loop may run where no iteration is left, and takes less than to ask whether one is:
    /// it does nothing but load consecutive elements, and a few instructions.
    fn runs_on_nothing(&self, var: Var, body: &[Stmt]) -> bool {
        let takes_longer = |s: &Stmt| match &s.kind {
            StmtKind::Let { exp: Exp::Op(op, _), .. } => is_transcendental(*op),
            kind => matches!(kind, StmtKind::Check { .. }),
        };
        !body.iter().any(takes_longer) && self.loads_follow(var, body)
    }

    /// Whether every load is of consecutive elements, one for each iteration.
    pub fn loads_follow(&self, var: Var, body: &[Stmt]) -> bool {
        let mut linear = vec![var];
        let same = |a: &Atom| !a.as_var().is_some_and(|v| self.lane_varying.contains(&v));
        body.iter().all(|s| {
            let StmtKind::Let { var, exp } = &s.kind else { return matches!(s.kind, StmtKind::Check { .. }) };
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

    /// Loads in the lanes of the mask alone; elsewhere there is a zero, or the buffer's first element.
    pub fn load_masked(
        &mut self,
        buffer: Var,
        at: &[Pieces<'ctx>],
        (mask, prefetches): (Mask<'ctx>, bool),
    ) -> Result<Pieces<'ctx>, EmitError> {
        use super::memory::{Offset, Stride};
        let (ty, base) = self.buffer(buffer)?;
        let one = match self.offset(&ty, at, 0)? {
            Offset::Uniform(i) => Piece::Uniform(self.read(buffer, ty.base, base, i, None)?),
            Offset::Strided(i, Stride::Constant(1)) if ty.base.bits() >= LANE_BITS => {
                if prefetches {
                    self.prefetch(ty.base, base, i)?;
                }
                Piece::Vector(self.masked_load(buffer, ty.base, base, i, mask.lanes)?)
            }
            // Not every processor masks loads of narrow elements; where all lanes are on, there is nothing to mask.
            Offset::Strided(i, Stride::Constant(1)) if matches!(mask.which, Which::Any) => {
                let all_on = self.e.intrinsic("llvm.vector.reduce.and", &[], &[mask.lanes])?;
                let (whole, apart, join) = (self.append(), self.append(), self.append());
                self.branch(all_on, whole, apart)?;
                self.position(whole);
                let together = self.read(buffer, ty.base, base, i, self.lanes)?;
                let whole = self.here()?;
                self.jump(join)?;
                self.position(apart);
                let offset = Offset::Strided(i, Stride::Constant(1));
                let one_by_one = self.safe_gather(buffer, ty.base, base, (&offset, mask))?;
                let apart = self.here()?;
                self.jump(join)?;
                self.position(join);
                let phi = self.e.builder.build_phi(together.get_type(), "")?;
                phi.add_incoming(&[(&together, whole), (&one_by_one, apart)]);
                Piece::Vector(phi.as_basic_value())
            }
            offset => Piece::Vector(self.safe_gather(buffer, ty.base, base, (&offset, mask))?),
        };
        Ok(Pieces::from_elem(one, 1))
    }

    /// The elements of the lanes of the mask, in the others the buffer's first: there is one where a lane has any.
    fn safe_gather(
        &self,
        buffer: Var,
        ty: BaseTy,
        base: PointerValue<'ctx>,
        (offset, mask): (&super::memory::Offset<'ctx>, Mask<'ctx>),
    ) -> Result<Value<'ctx>, EmitError> {
        let all = self.offsets(offset)?;
        let safe = super::memory::Offset::Vector(mask.or_zero(&self.e, all)?);
        self.gather(buffer, ty, base, &safe)
    }

    /// Stores in the lanes of the mask alone.
    pub fn store_masked(
        &mut self,
        buffer: Var,
        at: &[Pieces<'ctx>],
        value: Piece<'ctx>,
        mask: Mask<'ctx>,
    ) -> Result<(), EmitError> {
        use super::memory::{Offset, Stride};
        let (ty, base) = self.buffer(buffer)?;
        let offset = self.offset(&ty, at, 0)?;
        if let Offset::Strided(i, Stride::Constant(1)) = offset {
            let v = self.e.to_memory(ty.base, self.vector(value)?)?;
            return self.masked_store(buffer, ty.base, (base, i), v, mask.lanes);
        }
        let Which::First(left) = mask.which else {
            return self.store_anywhere(buffer, (ty.base, base), &offset, value, mask);
        };
        // The lanes that there are come first.
        let done = self.append();
        for lane in 0..self.lanes.unwrap_or(1) {
            let here = self.append();
            let there = self.e.icmp(IntPredicate::SLT, self.i64(lane.into()).into(), left.into())?;
            self.branch(there, here, done)?;
            self.position(here);
            let x = self.lane(value, self.i64(lane.into()).into())?;
            self.write(buffer, ty.base, base, self.offset_of_lane(&offset, lane)?, x)?;
        }
        self.jump(done)?;
        self.position(done);
        Ok(())
    }

    /// Stores of some lanes, without a branch for each: nobody guesses which they are. The others store where nobody reads.
    pub fn store_anywhere(
        &mut self,
        buffer: Var,
        (ty, base): (BaseTy, PointerValue<'ctx>),
        offset: &super::memory::Offset<'ctx>,
        value: Piece<'ctx>,
        mask: Mask<'ctx>,
    ) -> Result<(), EmitError> {
        let (b, i64t) = (self.e.builder, self.e.context.i64_type());
        let address =
            |p: PointerValue<'ctx>| Ok::<Value<'ctx>, EmitError>(b.build_ptr_to_int(p, i64t, "")?.into());
        // As integers: where a pointer is chosen that nobody reads from, LLVM makes a branch for each lane after all.
        let nowhere = self.vector(Piece::Uniform(address(self.stack(ty, 1)?)?))?;
        let bytes = self.i64(element_bytes(self.e.memory_ty(ty, None)).into()).into();
        let steps = self.e.mul(self.offsets(offset)?, self.vector(Piece::Uniform(bytes))?)?;
        let at = self.e.add(self.vector(Piece::Uniform(address(base)?))?, steps)?;
        let at = self.e.select(mask.lanes, at, nowhere)?;
        for lane in 0..self.lanes.unwrap_or(1) {
            let n = self.i64(lane.into()).into();
            let at = super::int(self.lane(Piece::Vector(at), n)?)?;
            let at = b.build_int_to_ptr(at, self.e.context.ptr_type(AddressSpace::default()), "")?;
            let v = self.e.to_memory(ty, self.lane(value, n)?)?;
            let i = b.build_store(at, v)?;
            i.set_alignment(element_bytes(v.get_type())).map_err(|_| EmitError::WrongValue("store"))?;
            self.tag(buffer, i)?;
        }
        Ok(())
    }

    fn masked_store(
        &self,
        buffer: Var,
        ty: BaseTy,
        (base, index): (PointerValue<'ctx>, IntValue<'ctx>),
        v: Value<'ctx>,
        mask: Value<'ctx>,
    ) -> Result<(), EmitError> {
        let name = "llvm.masked.store";
        let at = self.e.element(ty, base, index)?;
        let f = Intrinsic::find(name)
            .and_then(|i| i.get_declaration(self.e.module, &[v.get_type(), at.get_type().into()]))
            .ok_or(EmitError::NoIntrinsic(name))?;
        let args = [v.into(), at.into(), self.i32(element_bytes(v.get_type())).into(), mask.into()];
        let call = self.e.builder.build_direct_call(f, &args, "")?;
        match call.try_as_basic_value().instruction() {
            Some(i) => self.tag(buffer, i),
            None => Err(EmitError::WrongValue("masked store")),
        }
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

/// A sum of floats from anything but -0.0 may count 0.0 as nothing, which is what lanes hold that load nothing.
///
/// A sum that 0.0 has a part in is never -0.0, in whatever order, and only then would it make a difference.
pub(super) fn plain_zero((op, ty, zero): Sum, init: Atom) -> Sum {
    let negative_zero = |x: f64| x == 0.0 && x.is_sign_negative();
    match init {
        Atom::Const(Scalar::F32(x)) if op == ScalarOp::Add && !negative_zero(x.into()) => {
            (op, ty, Scalar::F32(0.0))
        }
        Atom::Const(Scalar::F64(x)) if op == ScalarOp::Add && !negative_zero(x) => (op, ty, Scalar::F64(0.0)),
        _ => (op, ty, zero),
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
