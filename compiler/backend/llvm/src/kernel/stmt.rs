//! Statements but for loops that count: `let`, `if`, `while`, `check`.

use super::pieces::{Piece, Pieces, count, piece, uniform};
use super::tail::{Mask, Which};
use super::{Fun, Side};
use crate::abi;
use crate::error::EmitError;
use crate::values::{Value, lanes};
use inkwell::basic_block::BasicBlock;
use inkwell::values::{BasicValueEnum, PhiValue};
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Prov, Trap};
use remc_kernel::ir::{Atom, Carried, Choice, Exp, Gives, Space, Stmt, StmtKind, Var};

impl<'ctx> Fun<'_, 'ctx> {
    pub fn block(&mut self, block: &[Stmt]) -> Result<(), EmitError> {
        let mut rest = block;
        while let Some((s, after)) = rest.split_first() {
            rest = match (self.constants(rest), self.interleaved(rest)?) {
                (0, 0) => {
                    self.stmt(s)?;
                    after
                }
                (0, n) => {
                    self.store_interleaved(&rest[..n])?;
                    &rest[n..]
                }
                (n, _) => {
                    self.store_constants(&rest[..n])?;
                    &rest[n..]
                }
            };
        }
        Ok(())
    }

    pub fn stmt(&mut self, s: &Stmt) -> Result<(), EmitError> {
        match &s.kind {
            StmtKind::Let { var, exp } => {
                self.origins.note(*var, exp);
                self.let_(*var, exp)
            }
            StmtKind::Store { buffer, at, value } => self.store(*buffer, at, *value),
            StmtKind::For { how, var, range, carried, body, next } => {
                self.for_(*how, *var, range, carried, body, next)
            }
            StmtKind::While { carried, cond, test, body, next } => {
                self.while_(carried, cond, *test, body, next)
            }
            StmtKind::If { cond, then, otherwise, results } => self.if_(*cond, then, otherwise, results),
            StmtKind::Chain { state, at, links, body, next } => self.chain(*state, at, links, body, next),
            StmtKind::Points { .. }
            | StmtKind::Barrier
            | StmtKind::Collective { .. }
            | StmtKind::Update { .. } => {
                Err(EmitError::Program("a statement for the threads of a block".into()))
            }
            StmtKind::Check { trap, cond, values } => self.check(trap, *cond, values, s.prov),
            StmtKind::Alloc { buffer } => match self.buffer_ty(*buffer).map(|t| t.space) {
                Some(Space::Private) => self.private(*buffer),
                _ => self.alloc(*buffer, s.prov),
            },
            StmtKind::Free { buffer } => self.free(*buffer),
            StmtKind::Alias { buffer, of } => {
                let (_, address) = self.buffer(*of)?;
                self.bind(*buffer, address.into());
                Ok(())
            }
            StmtKind::Slice { buffer, of, first } => self.slice(*buffer, *of, *first),
            StmtKind::Launch { kernel, args } => self.launch(*kernel, args, s.prov),
            StmtKind::Sort { keys, out, gives: Gives::Places, .. } => self.sort(keys, *out),
            StmtKind::Sort { keys, out, gives: Gives::Keys, at } => self.sort_keys(keys, *out, at),
            StmtKind::Pull { channel, at, take, count, elements, buffers } => {
                self.pull((*channel, *at, *take), (*count, elements, buffers), s.prov)
            }
            StmtKind::Push { channel, buffers } => self.push(*channel, buffers, s.prov),
        }
    }

    fn let_(&mut self, var: Var, exp: &Exp) -> Result<(), EmitError> {
        if self.fused.products.contains(&var) {
            return Ok(());
        }
        let value = match exp {
            Exp::Atom(a) => self.atom(*a)?,
            Exp::Op(..) if self.fused.sums.contains_key(&var) => self.multiply_add(self.fused.sums[&var])?,
            Exp::Op(op @ (ScalarOp::Quotient | ScalarOp::Modulo), args) if self.is_plan() => {
                let tys = args.iter().map(|a| self.ty(*a)).collect::<Result<Vec<_>, _>>()?;
                let args = args.iter().map(|a| self.scalar(*a)).collect::<Result<Vec<_>, _>>()?;
                uniform(self.e.op_called(*op, &tys, &args)?)
            }
            Exp::Op(op, args) => {
                if let Some(value) = self.uniform_value(var, *op, args)? {
                    self.env.insert(var, value);
                    return Ok(());
                }
                let tys = args.iter().map(|a| self.ty(*a)).collect::<Result<Vec<_>, _>>()?;
                let args = args.iter().map(|a| self.atom(*a)).collect::<Result<Vec<_>, _>>()?;
                (0..count(&args))
                    .map(|k| {
                        let mut args = args.iter().map(|a| piece(a, k)).collect::<Result<Vec<_>, _>>()?;
                        self.divisible(*op, &tys, &mut args)?;
                        self.op_piece(*op, &tys, &args)
                    })
                    .collect::<Result<_, _>>()?
            }
            Exp::Cast(to, a) => {
                let from = self.ty(*a)?;
                let pieces = self.atom(*a)?;
                pieces.iter().map(|p| self.cast_piece(from, *to, *p)).collect::<Result<_, _>>()?
            }
            Exp::Bits(a) => {
                let from = self.ty(*a)?;
                let pieces = self.atom(*a)?;
                pieces.iter().map(|p| self.bits_piece(from, *p)).collect::<Result<_, _>>()?
            }
            Exp::Load { buffer, at } => self.load(*buffer, at)?,
            Exp::Workers => self.workers()?,
            Exp::Test(t) => self.test(t)?,
        };
        self.env.insert(var, value);
        self.note_linear(var, exp);
        Ok(())
    }

    /// `x · y + acc`, rounded once where the machine can.
    fn multiply_add(&self, args: [Atom; 3]) -> Result<Pieces<'ctx>, EmitError> {
        let args = args.iter().map(|a| self.atom(*a)).collect::<Result<Vec<_>, _>>()?;
        (0..count(&args))
            .map(|k| {
                let args = args.iter().map(|a| piece(a, k)).collect::<Result<Vec<_>, _>>()?;
                let scalar = args.iter().all(|a| matches!(a, Piece::Uniform(_)));
                let values = args
                    .iter()
                    .map(|a| if scalar { self.scalar_of(*a) } else { self.vector(*a) })
                    .collect::<Result<Vec<_>, _>>()?;
                let v = self.e.intrinsic("llvm.fmuladd", &[], &values)?;
                Ok(if scalar { Piece::Uniform(v) } else { Piece::Vector(v) })
            })
            .collect()
    }

    /// A few elements of stack; in lanes as many for each ([`super::private`]).
    fn private(&mut self, buffer: Var) -> Result<(), EmitError> {
        let (ty, wrong) = (self.buffer_ty(buffer), EmitError::Program("a private buffer's dims".into()));
        let Some(ty) = ty else { return Err(wrong) };
        let elements = ty.dims.iter().try_fold(1i64, |n, d| n.checked_mul(d.as_int()?));
        let lanes = i64::from(self.lanes.unwrap_or(1));
        let elements = elements.and_then(|n| u32::try_from(n.checked_mul(lanes)?).ok());
        let Some(elements) = elements else { return Err(wrong) };
        match self.lanes {
            Some(_) => self.private.insert(buffer),
            None => self.private.remove(&buffer),
        };
        let memory = self.stack(ty.base, elements.max(1))?;
        self.bind(buffer, memory.into());
        Ok(())
    }

    fn if_(
        &mut self,
        cond: Atom,
        then: &[Stmt],
        otherwise: &[Stmt],
        results: &[Choice],
    ) -> Result<(), EmitError> {
        if let [Piece::Vector(lanes)] = self.atom(cond)?[..] {
            return self.predicated(lanes, [then, otherwise], results);
        }
        let cond = self.scalar(cond)?;
        let (yes, no, join) = (self.append(), self.append(), self.append());
        self.branch(cond, yes, no)?;
        self.position(yes);
        self.block(then)?;
        let a = results.iter().map(|c| self.atom(c.then)).collect::<Result<Vec<_>, _>>()?;
        let yes_end = self.here()?;
        self.position(no);
        self.block(otherwise)?;
        let b = results.iter().map(|c| self.atom(c.otherwise)).collect::<Result<Vec<_>, _>>()?;
        let no_end = self.here()?;
        // The form of a result is known when both values are.
        let forms: Vec<(usize, bool)> = a
            .iter()
            .zip(&b)
            .map(|(a, b)| (count([a, b]), a.iter().chain(b).any(|p| !matches!(p, Piece::Uniform(_)))))
            .collect();
        let mut ends = Vec::new();
        for (end, values) in [(yes_end, &a), (no_end, &b)] {
            self.position(end);
            let shaped = values
                .iter()
                .zip(&forms)
                .map(|(v, (n, varies))| self.shaped(v, *n, *varies))
                .collect::<Result<Vec<_>, _>>()?;
            self.jump(join)?;
            ends.push((end, shaped));
        }
        self.position(join);
        for (i, (c, (_, varies))) in results.iter().zip(forms).enumerate() {
            let (yes, no) = (&ends[0], &ends[1]);
            let mut pieces = Pieces::new();
            for (x, y) in yes.1[i].iter().zip(&no.1[i]) {
                if x.get_type() != y.get_type() {
                    return Err(EmitError::Program("branches that give different types".into()));
                }
                let phi = self.e.builder.build_phi(x.get_type(), "")?;
                phi.add_incoming(&[(x, yes.0), (y, no.0)]);
                let v = phi.as_basic_value();
                pieces.push(if varies { Piece::Vector(v) } else { Piece::Uniform(v) });
            }
            self.env.insert(c.var, pieces);
        }
        Ok(())
    }

    // ---- loops ----

    /// Whether something differs from lane to lane.
    pub fn varies(&self, a: Atom) -> bool {
        a.as_var().is_some_and(|v| self.lane_varying.contains(&v))
    }

    /// How many pieces a carried value has, and whether they are vectors.
    pub fn form(&self, param: Var) -> (usize, bool) {
        let pieces = if self.jam_varying.contains(&param) { self.jam } else { 1 };
        (pieces, self.lanes.is_some() && self.lane_varying.contains(&param))
    }

    /// Values in the form in which a loop carries them.
    pub fn carry(&self, carried: &[Carried], values: &[Atom]) -> Result<Vec<Vec<Value<'ctx>>>, EmitError> {
        if carried.len() != values.len() {
            return Err(EmitError::Program("a loop with another number of next values".into()));
        }
        carried
            .iter()
            .zip(values)
            .map(|(c, a)| {
                let (pieces, varies) = self.form(c.param);
                self.shaped(&self.atom(*a)?, pieces, varies)
            })
            .collect()
    }

    /// Binds what a loop carries.
    pub fn bind_carried(&mut self, vars: impl Iterator<Item = (Var, bool)>, values: &[Vec<Value<'ctx>>]) {
        for ((v, varies), values) in vars.zip(values) {
            let pieces =
                values.iter().map(|x| if varies { Piece::Vector(*x) } else { Piece::Uniform(*x) }).collect();
            self.env.insert(v, pieces);
        }
    }

    pub fn params(&self, carried: &[Carried]) -> Vec<(Var, bool)> {
        carried.iter().map(|c| (c.param, self.form(c.param).1)).collect()
    }

    pub fn results(&self, carried: &[Carried]) -> Vec<(Var, bool)> {
        carried.iter().map(|c| (c.result, self.form(c.param).1)).collect()
    }

    /// Phis at the builder's position for values that come from `from`.
    pub fn phis(
        &self,
        init: &[Vec<Value<'ctx>>],
        from: BasicBlock<'ctx>,
    ) -> Result<Vec<Vec<PhiValue<'ctx>>>, EmitError> {
        let phi = |v: &Value<'ctx>| {
            let phi = self.e.builder.build_phi(v.get_type(), "")?;
            phi.add_incoming(&[(v, from)]);
            Ok(phi)
        };
        init.iter().map(|vs| vs.iter().map(phi).collect()).collect()
    }

    fn while_(
        &mut self,
        carried: &[Carried],
        cond: &[Stmt],
        test: Atom,
        body: &[Stmt],
        next: &[Atom],
    ) -> Result<(), EmitError> {
        if self.lanes.is_some() && self.varies(test) {
            return self.while_apart(carried, (cond, test), body, next);
        }
        let inits: Vec<Atom> = carried.iter().map(|c| c.init).collect();
        let init = self.carry(carried, &inits)?;
        let (before, head, inside, after) = (self.here()?, self.append(), self.append(), self.append());
        self.jump(head)?;
        self.position(head);
        let phis = self.phis(&init, before)?;
        let values = values_of(&phis);
        self.bind_carried(self.params(carried).into_iter(), &values);
        self.block(cond)?;
        let test = self.scalar(test)?;
        self.branch(test, inside, after)?;
        self.position(inside);
        self.block(body)?;
        let next = self.carry(carried, next)?;
        close(&phis, &next, self.here()?)?;
        self.jump(head)?;
        self.position(after);
        self.bind_carried(self.results(carried).into_iter(), &values);
        Ok(())
    }

    // ---- checks ----

    fn check(&mut self, trap: &Trap, cond: Atom, values: &[Atom], prov: Prov) -> Result<(), EmitError> {
        if values.len() != trap.values() {
            return Err(EmitError::Program(format!("{} values for the check {trap:?}", values.len())));
        }
        let number = self.traps.get(trap).copied();
        let Some(number) = number else { return Err(EmitError::Program("an unknown check".into())) };
        let conds = self.atom(cond)?;
        let values = values
            .iter()
            .map(|a| Ok((self.ty(*a)?, self.atom(*a)?)))
            .collect::<Result<Vec<_>, EmitError>>()?;
        // Values may differ between iterations where the condition does not: the first one's are told.
        for (k, cond) in conds.iter().enumerate() {
            let cond = match *cond {
                Piece::Uniform(c) | Piece::Vector(c) => c,
                Piece::Linear { .. } => return Err(EmitError::WrongValue("condition")),
            };
            let cond = match self.mask {
                Some(mask) if lanes(cond).is_some() => mask.or_off(&self.e, cond)?,
                // What is told is told of a lane that is there.
                Some(mask @ Mask { which: Which::Any, .. }) => {
                    mask.or_off(&self.e, self.vector(Piece::Uniform(cond))?)?
                }
                _ => cond,
            };
            let all = match lanes(cond) {
                Some(_) => self.e.intrinsic("llvm.vector.reduce.and", &[], &[cond])?,
                None => cond,
            };
            if super::int(all)?.get_zero_extended_constant() == Some(1) {
                continue;
            }
            if self.outer_lanes.is_some() {
                self.unless_apart(all)?;
                continue;
            }
            let (fine, failed) = (self.append(), self.append());
            self.branch(all, fine, failed)?;
            self.position(failed);
            let lane = self.first_failed(cond)?;
            let mut slots = Vec::new();
            for (ty, v) in &values {
                let x = self.lane(piece(v, k)?, lane)?;
                slots.push(self.to_slot(*ty, x)?);
            }
            self.fail(number, prov, &slots)?;
            self.position(fine);
        }
        Ok(())
    }

    /// The number of the first lane in which a condition does not hold.
    fn first_failed(&self, cond: Value<'ctx>) -> Result<Value<'ctx>, EmitError> {
        self.first_on(self.e.op(ScalarOp::Not, &[BaseTy::Bool], &[cond])?)
    }

    /// The first lane in which a condition holds; there is one.
    fn first_on(&self, cond: Value<'ctx>) -> Result<Value<'ctx>, EmitError> {
        let BasicValueEnum::VectorValue(v) = cond else { return Ok(self.i64(0).into()) };
        let width = std::num::NonZeroU32::new(v.get_type().get_size());
        let bits = width.and_then(|w| self.e.context.custom_width_int_type(w).ok());
        let Some(bits) = bits else { return Err(EmitError::WrongValue("lanes")) };
        let mask = self.e.builder.build_bit_cast(v, bits, "")?;
        // Some lane is, so the mask is not zero.
        let not_zero = self.e.context.bool_type().const_int(1, false).into();
        let first = self.e_cttz(mask, not_zero)?;
        let i64t = self.e.context.i64_type();
        match bits.get_bit_width() {
            64 => Ok(first),
            w if w < 64 => self.e.zext(first, i64t.into()),
            _ => self.e.trunc(first, i64t.into()),
        }
    }

    fn e_cttz(&self, v: Value<'ctx>, not_zero: Value<'ctx>) -> Result<Value<'ctx>, EmitError> {
        let f = inkwell::intrinsics::Intrinsic::find("llvm.cttz")
            .and_then(|i| i.get_declaration(self.e.module, &[v.get_type()]))
            .ok_or(EmitError::NoIntrinsic("llvm.cttz"))?;
        match self.e.builder.build_direct_call(f, &[v.into(), not_zero.into()], "")?.try_as_basic_value() {
            inkwell::values::ValueKind::Basic(v) => Ok(v),
            inkwell::values::ValueKind::Instruction(_) => Err(EmitError::NoIntrinsic("llvm.cttz")),
        }
    }

    /// Tells the runtime, and returns.
    fn fail(&mut self, trap: u32, prov: Prov, values: &[Value<'ctx>]) -> Result<(), EmitError> {
        let at = self.slots(values)?;
        let rest = [
            self.i32(trap).into(),
            self.i32(prov.0).into(),
            self.i32(values.len() as u32).into(),
            Value::from(at),
        ];
        match self.side {
            Side::Kernel { error, block } => {
                self.call(abi::FAIL, &[&[error, block], &rest[..]].concat())?;
                self.e.builder.build_return(None)?;
            }
            Side::Plan { ctx } => {
                self.call(abi::STOP, &[&[ctx], &rest[..]].concat())?;
                self.stop()?;
            }
        }
        Ok(())
    }

    /// Which version a size chooses; the runtime says by what.
    fn test(&mut self, t: &remc_kernel::ir::Test) -> Result<Pieces<'ctx>, EmitError> {
        let thresholds = self.p.thresholds();
        let Some(n) = thresholds.iter().position(|(name, _)| *name == t.threshold) else {
            return Err(EmitError::Program(format!("the threshold {}", t.threshold)));
        };
        let size = self.scalar(t.size)?;
        let value = self.scalar(Atom::int(t.value))?;
        let args = [self.ctx()?, self.i32(n as u32).into(), value, size];
        let value = self.call_for(abi::THRESHOLD, self.e.llvm_ty(BaseTy::I64, None), &args)?;
        let tys = [BaseTy::I64, BaseTy::I64];
        Ok(uniform(self.e.op_called(t.compare.op(), &tys, &[size, value])?))
    }

    fn workers(&self) -> Result<Pieces<'ctx>, EmitError> {
        let ctx = self.ctx()?;
        let i64t = self.e.llvm_ty(BaseTy::I64, None);
        Ok(uniform(self.call_for(abi::WORKERS, i64t, &[ctx])?))
    }
}

pub(super) fn values_of<'ctx>(phis: &[Vec<PhiValue<'ctx>>]) -> Vec<Vec<Value<'ctx>>> {
    phis.iter().map(|ps| ps.iter().map(|p| p.as_basic_value()).collect()).collect()
}

/// Gives phis the values of the next iteration.
pub(super) fn close<'ctx>(
    phis: &[Vec<PhiValue<'ctx>>],
    next: &[Vec<Value<'ctx>>],
    from: BasicBlock<'ctx>,
) -> Result<(), EmitError> {
    for (phis, next) in phis.iter().zip(next) {
        for (phi, v) in phis.iter().zip(next) {
            if phi.as_basic_value().get_type() != v.get_type() {
                return Err(EmitError::Program("a loop whose next value has another type".into()));
            }
            phi.add_incoming(&[(v, from)]);
        }
    }
    Ok(())
}
