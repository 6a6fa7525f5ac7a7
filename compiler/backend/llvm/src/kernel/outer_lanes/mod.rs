//! Outer-loop vectorisation: the loop over short rows in lanes, one row in each.
//!
//! A row of one to three elements is worth no vector, and no loop: what is around each costs more than what is in it. So
//! where eight rows one after the other are short, each is a lane, and all of what is done along them runs once for the
//! eight, as long as the longest of them takes (with branches and loops under masks as in Karrenberg and Hack,
//! "Whole-function vectorization", 2011):
//!
//! ```text
//! for i { for (lanes) j < n[i] { s += xs[at[i] + j] };  for (lanes) j < n[i] { ys[at[i] + j] = xs[at[i] + j] / s } }
//!
//! for i by 8: most = the greatest of n[i], … n[i + 7];  if most > 7: one row after the other, as above
//!             for j < most: on = j < n[i, …];  s += xs[at[i, …] + j] where on
//!             for j < most: on = j < n[i, …];  ys[at[i, …] + j] = xs[at[i, …] + j] / s where on
//! ```
//!
//! A row's result does not depend on its neighbours, to the bit: what alone would be added up in lanes is kept and combined
//! in the same tree ([`Trees`]), and at most seven elements are less than any vector that would scan them. What is stored is
//! a row's alone and read by none, so that the rows can begin again, one after the other, where one turns out to be long or
//! a check fails: the message is that of the first. [`can`] says which loops may run so.

mod can;

pub(super) use can::OuterLanes;

use super::Fun;
use super::counted::{Loop, Sum, Values};
use super::pieces::{Piece, Pieces, piece};
use crate::error::EmitError;
use crate::values::Value;
use inkwell::IntPredicate;
use inkwell::basic_block::BasicBlock;
use inkwell::values::{IntValue, PointerValue};
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;
use remc_kernel::ir::{Atom, BufferTy, Carried, Range, Stmt, Var};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// So many rows are a vector.
const ROWS: u32 = super::tail::FIRST;
/// The most elements of a short row.
const MOST: u32 = ROWS - 1;

/// What is known while rows run side by side.
pub(super) struct Lanes<'ctx> {
    /// Where they run one after the other instead.
    apart: BasicBlock<'ctx>,
    known: Rc<OuterLanes>,
    /// Memory for the scratch rows of each of them, on the stack.
    scratch: Rc<FxHashMap<Var, PointerValue<'ctx>>>,
}

/// The elements of the sums of a loop, a vector for each place of a row.
struct Trees<'ctx> {
    sums: Vec<Sum>,
    /// The same with what counts as nothing.
    plain: Vec<Sum>,
    places: Vec<PointerValue<'ctx>>,
}

impl<'ctx> Fun<'_, 'ctx> {
    /// A loop over rows, those that are short in lanes.
    pub fn rows_in_lanes(&mut self, l: &Loop<'_, 'ctx>, known: OuterLanes) -> Result<(), EmitError> {
        let mut scratch = FxHashMap::default();
        for (v, extents) in &known.scratch {
            let Some(ty) = self.buffer_ty(*v) else { return Err(self.unbound(*v)) };
            scratch.insert(*v, self.stack(ty.base, extents.iter().product::<u32>() * ROWS)?);
        }
        let (known, scratch) = (Rc::new(known), Rc::new(scratch));
        self.counted(l.from, l.to, ROWS, Values::new(), &mut |f, i, _| {
            let end = f.e.builder.build_int_nsw_add(i, f.i64(ROWS.into()), "")?;
            let (together, apart, join) = (f.append(), f.append(), f.append());
            let whole = f.e.icmp(IntPredicate::SLE, end.into(), l.to.into())?;
            f.branch(whole, together, apart)?;

            f.position(together);
            let varying = f.lane_varying.clone();
            f.lane_varying.extend(&known.varying);
            f.private.extend(scratch.keys());
            f.lanes = Some(ROWS);
            f.outer_lanes = Some(Lanes { apart, known: known.clone(), scratch: scratch.clone() });
            f.env.insert(l.var, Pieces::from_elem(Piece::Linear { base: i.into(), stride: 1 }, 1));
            f.block(l.body)?;
            (f.outer_lanes, f.lanes) = (None, None);
            f.private.retain(|v| !scratch.contains_key(v));
            f.lane_varying.clone_from(&varying);
            f.jump(join)?;

            f.position(apart);
            let to = super::int(f.e.intrinsic("llvm.smin", &[], &[end.into(), l.to.into()])?)?;
            f.one_by_one(&Loop { from: i, to, ..*l }, Values::new())?;
            f.lane_varying = varying;
            f.jump(join)?;
            f.position(join);
            Ok(Values::new())
        })?;
        Ok(())
    }

    /// A loop inside of rows that run side by side.
    pub fn for_in_rows(
        &mut self,
        (var, range): (Var, &Range),
        carried: &[Carried],
        body: &[Stmt],
        next: &[Atom],
    ) -> Result<(), EmitError> {
        let Range::Upto { from, to } = *range else {
            return Err(EmitError::Program("a tile of a row".into()));
        };
        let (from, to) = (piece(&self.atom(from)?, 0)?, piece(&self.atom(to)?, 0)?);
        let trees = self.outer_lanes.as_ref().is_some_and(|b| b.known.trees.contains(&var));
        // What depends on a place of a row counts as the row's, though all lanes are at one place: it has to be short, too.
        let along = trees || self.lane_varying.contains(&var);
        if let (Piece::Uniform(from), Piece::Uniform(to), false) = (from, to, along) {
            let (from, to) = (super::int(from)?, super::int(to)?);
            let inits: Vec<Atom> = carried.iter().map(|c| c.init).collect();
            let init = self.carry(carried, &inits)?;
            return self
                .serial(&Loop { var, from, to, ragged: false, asks: false, carried, body, next }, init);
        }
        let count = self.e.sub(self.vector(to)?, self.vector(from)?)?;
        let (count, most) = self.rounds_of(count)?;
        self.unless_apart(self.e.icmp(IntPredicate::SLE, most.into(), self.i64(MOST.into()).into())?)?;

        let inits: Vec<Atom> = carried.iter().map(|c| c.init).collect();
        let init = self.carry(carried, &inits)?;
        let trees = if trees { Some(self.trees(carried)?) } else { None };
        let start = if trees.is_some() { Values::new() } else { init.clone() };
        let params = self.params(carried);
        let used = self.used(carried);
        let results =
            self.rounds_of_lanes((var, from), (count, most), (start, &used), &mut |f, (k, on), state| {
                let nothing = trees.as_ref().map(|t| f.neutral(&t.sums, ROWS));
                f.bind_carried(params.iter().copied(), nothing.as_deref().unwrap_or(state));
                f.block(body)?;
                let made = f.carry(carried, next)?;
                let Some(trees) = &trees else { return Ok(made) };
                f.keep_places(trees, k, on, &made)?;
                Ok(Values::new())
            })?;
        let results = match &trees {
            Some(trees) => self.combined_places(trees, &init)?,
            None => results,
        };
        self.bind_carried(self.results(carried).into_iter(), &results);
        Ok(())
    }

    /// Goes on if `cond` holds, else with one row after the other.
    pub fn unless_apart(&mut self, cond: Value<'ctx>) -> Result<(), EmitError> {
        let Some(apart) = self.outer_lanes.as_ref().map(|b| b.apart) else {
            return Err(EmitError::WrongValue("no rows side by side"));
        };
        let next = self.append();
        self.branch(cond, next, apart)?;
        self.position(next);
        Ok(())
    }

    // ---- sums in a tree ----

    fn trees(&mut self, carried: &[Carried]) -> Result<Trees<'ctx>, EmitError> {
        let Some(sums) = self.sums(carried) else { return Err(EmitError::WrongValue("no sums")) };
        let plain: Vec<Sum> =
            sums.iter().zip(carried).map(|(s, c)| super::tail::plain_zero(*s, c.init)).collect();
        let mut places = Vec::new();
        for (sum, nothing) in plain.iter().zip(self.neutral(&plain, ROWS)) {
            let memory = self.stack(sum.1, MOST * ROWS)?;
            for k in 0..MOST {
                let at = self.e.element(sum.1, memory, self.i64((k * ROWS).into()))?;
                nothing.iter().try_for_each(|v| self.e.store(sum.1, *v, at))?;
            }
            places.push(memory);
        }
        Ok(Trees { sums, plain, places })
    }

    /// Keeps what place `k` of each row adds.
    fn keep_places(
        &mut self,
        trees: &Trees<'ctx>,
        k: IntValue<'ctx>,
        on: Value<'ctx>,
        made: &Values<'ctx>,
    ) -> Result<(), EmitError> {
        let nothing = self.neutral(&trees.plain, ROWS);
        for ((sum, memory), (made, nothing)) in
            trees.sums.iter().zip(&trees.places).zip(made.iter().flatten().zip(nothing.iter().flatten()))
        {
            let kept = self.e.select(on, *made, *nothing)?;
            let at = self.e.builder.build_int_nsw_mul(k, self.i64(ROWS.into()), "")?;
            self.e.store(sum.1, kept, self.e.element(sum.1, *memory, at)?)?;
        }
        Ok(())
    }

    /// The places of a row combined as the lanes of a vector are: after what the sum starts from, which is in the first,
    /// halves with halves.
    fn combined_places(&self, trees: &Trees<'ctx>, init: &Values<'ctx>) -> Result<Values<'ctx>, EmitError> {
        let nothing = self.neutral(&trees.plain, ROWS);
        let mut all = Values::new();
        for (((op, ty, _), memory), (init, nothing)) in
            trees.sums.iter().zip(&trees.places).zip(init.iter().flatten().zip(nothing.iter().flatten()))
        {
            let mut places = Vec::new();
            for k in 0..ROWS {
                let start = if k == 0 { *init } else { *nothing };
                let kept = match k < MOST {
                    true => {
                        let at = self.e.element(*ty, *memory, self.i64((k * ROWS).into()))?;
                        self.e.load(*ty, Some(ROWS), at)?
                    }
                    false => *nothing,
                };
                places.push(self.e.op(*op, &[*ty, *ty], &[start, kept])?);
            }
            while places.len() > 1 {
                let high = places.split_off(places.len() / 2);
                let pairs = places.iter().zip(&high);
                places = pairs
                    .map(|(a, b)| self.e.op(*op, &[*ty, *ty], &[*a, *b]))
                    .collect::<Result<_, EmitError>>()?;
            }
            all.push(places);
        }
        Ok(all)
    }

    // ---- what each row has for itself ----

    /// A buffer of which each row has its own part, how its elements lie there, and the indices in it.
    pub fn private_part(
        &self,
        buffer: Var,
        at: &[Pieces<'ctx>],
    ) -> Result<(BufferTy, PointerValue<'ctx>, Vec<Pieces<'ctx>>), EmitError> {
        let (mut ty, base) = self.buffer(buffer)?;
        let part = self
            .outer_lanes
            .as_ref()
            .and_then(|b| Some((*b.scratch.get(&buffer)?, b.known.scratch.get(&buffer)?)));
        let Some((memory, extents)) = part else { return Ok((ty, base, at.to_vec())) };
        // The first axis is the workers'.
        let dims = std::mem::take(&mut ty.dims);
        let mut inside = Vec::new();
        for ((index, dim), extent) in at.iter().zip(dims).skip(1).zip(extents) {
            // What is read is there; what no lane reads may be anywhere.
            let within = |v| self.e.and(v, self.e.int_like(v, i64::from(ROWS) - 1)?);
            inside.push(match (piece(index, 0)?, can::extent(&dim) == ROWS) {
                (Piece::Uniform(v), true) => super::pieces::uniform(within(v)?),
                (p, true) => Pieces::from_elem(Piece::Vector(within(self.vector(p)?)?), 1),
                (p, false) => Pieces::from_elem(p, 1),
            });
            ty.dims.push(Atom::int(i64::from(*extent)));
        }
        Ok((ty, memory, inside))
    }

    /// Before a store into scratch memory: goes on if each row's part has the place.
    pub fn has_room(&mut self, buffer: Var, atoms: &[Atom]) -> Result<(), EmitError> {
        let Some(rows) = &self.outer_lanes else { return Ok(()) };
        if !rows.scratch.contains_key(&buffer) {
            return Ok(());
        }
        let dims = self.buffer_ty(buffer).map_or(&[][..], |t| &t.dims[..]);
        let known = |a: &Atom| match a {
            Atom::Var(v) => rows.known.places.contains(v),
            Atom::Const(_) => a.as_int().is_some_and(|n| n < i64::from(ROWS)),
        };
        let places = atoms.iter().zip(dims).skip(1).filter(|(a, d)| can::extent(d) == ROWS && !known(a));
        let places: Vec<Atom> = places.map(|(a, _)| *a).collect();
        for a in places {
            let all = self.vector(piece(&self.atom(a)?, 0)?)?;
            let inside = self.e.icmp(IntPredicate::ULT, all, self.e.int_like(all, ROWS.into())?)?;
            let inside = match self.mask {
                Some(mask) => mask.or_off(&self.e, inside)?,
                None => inside,
            };
            let inside = self.e.intrinsic("llvm.vector.reduce.and", &[], &[inside])?;
            self.unless_apart(inside)?;
        }
        Ok(())
    }

    /// The operands of a division of integers, whose divisor is one in lanes that are off.
    pub fn divisible(&self, op: ScalarOp, tys: &[BaseTy], args: &mut [Piece<'ctx>]) -> Result<(), EmitError> {
        if let (ScalarOp::Quotient | ScalarOp::Modulo, Some(mask), true, [_, divisor]) =
            (op, self.mask, self.outer_lanes.is_some(), args)
            && tys.iter().all(|t| t.is_integer())
            && !matches!(divisor, Piece::Uniform(_))
        {
            let all = self.vector(*divisor)?;
            *divisor = Piece::Vector(self.e.select(mask.lanes, all, self.e.int_like(all, 1)?)?);
        }
        Ok(())
    }
}
