//! Loops that lanes leave one by one.
//!
//! ```text
//! (while ((%x.1 %x.2 %x)) (cond … (test %c)) (do … (next %y)))          %c differs between lanes
//!
//! on = the lanes that are there;  x = start
//! loop { on = on and c where on;  if no lane is on: break;  x = y where on, x where not }
//! ```
//!
//! The lanes go round together, as often as the one that goes round most: those that are done keep what they have, load and
//! store nothing and stop at no check (outer-loop vectorisation with divergent loops, as in Karrenberg and Hack, "Whole-function
//! vectorization", 2011). A loop along an axis whose bounds differ is one more case, with a count of its rounds for each lane.
//! What may stand in such a loop is what may stand in a branch that lanes take each for itself ([`remc_kernel::predicate`]).

use super::Fun;
use super::counted::Values;
use super::pieces::{Piece, Pieces, piece};
use super::stmt::values_of;
use super::tail::{Mask, Which};
use crate::error::EmitError;
use crate::values::Value;
use inkwell::IntPredicate;
use inkwell::values::{BasicValueEnum, IntValue};
use remc_kernel::ir::{Atom, Carried, Range, Stmt, Var};
use remc_kernel::memory::mentions;
use rustc_hash::FxHashSet;

/// What is done in a round, given its number, the lanes that are on and what the loop carries; it gives the next values.
type Round<'f, 'a, 'ctx> = &'f mut dyn FnMut(
    &mut Fun<'a, 'ctx>,
    (IntValue<'ctx>, Value<'ctx>),
    &Values<'ctx>,
) -> Result<Values<'ctx>, EmitError>;

impl<'a, 'ctx> Fun<'a, 'ctx> {
    /// A `while` whose test differs between lanes.
    pub fn while_apart(
        &mut self,
        carried: &[Carried],
        (cond, test): (&[Stmt], Atom),
        body: &[Stmt],
        next: &[Atom],
    ) -> Result<(), EmitError> {
        let around = self.mask;
        let used = self.used(carried);
        let there = self.lanes_there()?;
        let inits: Vec<Atom> = carried.iter().map(|c| c.init).collect();
        let mut init = self.carry(carried, &inits)?;
        init.push(vec![there]);
        let (before, head, inside, after) = (self.here()?, self.append(), self.append(), self.append());
        self.jump(head)?;
        self.position(head);
        let phis = self.phis(&init, before)?;
        let mut state = values_of(&phis);
        let on = one(state.pop())?;
        self.mask = Some(Mask { lanes: on, which: Which::Any });
        self.bind_carried(self.params(carried).into_iter(), &state);
        self.block(cond)?;
        // What lanes that are off say is nothing at all.
        let goes_on = self.vector(piece(&self.atom(test)?, 0)?)?;
        let on = self.e.select(on, goes_on, on)?;
        let any = self.e.intrinsic("llvm.vector.reduce.or", &[], &[on])?;
        self.branch(any, inside, after)?;

        self.position(inside);
        self.mask = Some(Mask { lanes: on, which: Which::Any });
        self.block(body)?;
        let made = self.carry(carried, next)?;
        let mut kept = self.where_on(on, made, &state, &used)?;
        kept.push(vec![on]);
        super::stmt::close(&phis, &kept, self.here()?)?;
        self.jump(head)?;

        self.position(after);
        self.mask = around;
        self.bind_carried(self.results(carried).into_iter(), &state);
        Ok(())
    }

    /// A loop along an axis whose bounds differ between lanes.
    pub fn for_apart(
        &mut self,
        (var, range): (Var, &Range),
        carried: &[Carried],
        body: &[Stmt],
        next: &[Atom],
    ) -> Result<(), EmitError> {
        let Range::Upto { from, to } = *range else {
            return Err(EmitError::Program("a tile that differs between lanes".into()));
        };
        let (from, to) = (piece(&self.atom(from)?, 0)?, piece(&self.atom(to)?, 0)?);
        let count = self.e.sub(self.vector(to)?, self.vector(from)?)?;
        let (count, most) = self.rounds_of(count)?;
        let inits: Vec<Atom> = carried.iter().map(|c| c.init).collect();
        let init = self.carry(carried, &inits)?;
        let (params, used) = (self.params(carried), self.used(carried));
        let results =
            self.rounds_of_lanes((var, from), (count, most), (init, &used), &mut |f, _, state| {
                f.bind_carried(params.iter().copied(), state);
                f.block(body)?;
                f.carry(carried, next)
            })?;
        self.bind_carried(self.results(carried).into_iter(), &results);
        Ok(())
    }

    /// How often each lane goes round, those that are off never, and how often the one does that does so most.
    pub fn rounds_of(&mut self, count: Value<'ctx>) -> Result<(Value<'ctx>, IntValue<'ctx>), EmitError> {
        let count = match self.mask {
            Some(mask) => mask.or_zero(&self.e, count)?,
            None => count,
        };
        let most = super::int(self.e.intrinsic("llvm.vector.reduce.smax", &[], &[count])?)?;
        Ok((count, most))
    }

    /// Goes round as often as `most`, each lane `count` times; `var` counts from `from`. What is carried is kept in lanes that
    /// are done.
    pub fn rounds_of_lanes(
        &mut self,
        (var, from): (Var, Piece<'ctx>),
        (count, most): (Value<'ctx>, IntValue<'ctx>),
        (init, used): (Values<'ctx>, &[bool]),
        round: Round<'_, 'a, 'ctx>,
    ) -> Result<Values<'ctx>, EmitError> {
        self.counted(self.i64(0), most, 1, init, &mut |f, k, state| {
            let on = f.e.icmp(IntPredicate::SGT, count, f.vector(Piece::Uniform(k.into()))?)?;
            let around = f.mask.replace(Mask { lanes: on, which: Which::Any });
            let place = match from {
                Piece::Uniform(from) => Piece::Uniform(f.e.add(from, k.into())?),
                from => Piece::Vector(f.e.add(f.vector(from)?, f.vector(Piece::Uniform(k.into()))?)?),
            };
            f.env.insert(var, Pieces::from_elem(place, 1));
            let state = state.to_vec();
            let made = round(f, (k, on), &state)?;
            f.mask = around;
            f.where_on(on, made, &state, used)
        })
    }

    /// The lanes for which there is an iteration.
    fn lanes_there(&self) -> Result<Value<'ctx>, EmitError> {
        match self.mask {
            Some(mask) => Ok(mask.lanes),
            None => self.e.splat(self.e.context.bool_type().const_all_ones().into(), self.lanes.unwrap_or(1)),
        }
    }

    /// Of lanes that are on what is made, of the others what was there, if it is used.
    fn where_on(
        &self,
        on: Value<'ctx>,
        made: Values<'ctx>,
        before: &Values<'ctx>,
        used: &[bool],
    ) -> Result<Values<'ctx>, EmitError> {
        let each = made.into_iter().zip(before).zip(used);
        each.map(|((made, before), used)| match used {
            true => made.iter().zip(before).map(|(m, s)| self.e.select(on, *m, *s)).collect(),
            false => Ok(made),
        })
        .collect()
    }

    /// Which of the values that a loop carries are wanted when it is done. The others need not be kept in lanes that are off,
    /// and do not have to wait to know which these are.
    pub fn used(&self, carried: &[Carried]) -> Vec<bool> {
        let Some(kernel) = self.kernel else { return vec![true; carried.len()] };
        let mut mentioned = FxHashSet::default();
        let mut note = |v: Var| _ = mentioned.insert(v);
        kernel.body.iter().for_each(|s| mentions(&s.kind, &mut note));
        carried.iter().map(|c| mentioned.contains(&c.result)).collect()
    }
}

fn one<'ctx>(v: Option<Vec<Value<'ctx>>>) -> Result<Value<'ctx>, EmitError> {
    match v.as_deref() {
        Some([v @ BasicValueEnum::VectorValue(_)]) => Ok(*v),
        _ => Err(EmitError::WrongValue("lanes")),
    }
}
