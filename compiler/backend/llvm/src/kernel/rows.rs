//! Short rows, eight at once.
//!
//! A ragged row that is reduced on its own ends in a vector whose lanes are combined, and in a few branches: what is
//! added up is the least of it where it has three elements. Of eight rows that are one vector of eight lanes each, the
//! lanes are combined all at once, and whether they are that short is one branch:
//!
//! ```text
//! if sizes[i ..] ≤ 8 for all eight    a = a₀ … a₇   …   h = h₀ … h₇            a row each, with a mask
//!                                     a₀+a₄ … a₃+a₇ e₀+e₄ … e₃+e₇   …          halves of two rows: four vectors
//!                                     a… a… b… b…   e… e… f… f…     …          again: two
//!                                     Σa Σb Σc Σd   Σe Σf Σg Σh                again
//!                                     ys[i ..] = …                             what comes after a row, in lanes
//! else if … ≤ 16 …                    the same of two vectors each
//! else                                one after the other (`super::tail`)
//! ```
//!
//! Each row's elements are combined in the order in which it would be alone, so its result does not depend on the
//! others. [`remc_kernel::rows`] says which loops may run so.

use super::Fun;
use super::counted::{Loop, Sum, Values};
use super::pieces::{Piece, Pieces};
use super::prefetch::LINE;
use super::tail::FIRST;
use super::vary::{self, Known};
use crate::error::EmitError;
use crate::values::Value;
use inkwell::IntPredicate;
use inkwell::types::VectorType;
use inkwell::values::{BasicValueEnum, IntValue};
use remc_kernel::ir::{Atom, Exp, How, Range, Stmt, StmtKind, Var};
use remc_kernel::rows::{After, Rows};
use remc_kernel::schedule::Field;
use rustc_hash::FxHashSet;

/// The rows, and the elements of a vector.
const ROWS: u32 = FIRST;
/// The statements before a row that a value needs, in lanes; and the values that it takes from iteration to iteration.
#[derive(Default)]
struct Needs {
    in_lanes: FxHashSet<Var>,
    one_by_one: FxHashSet<Var>,
}

/// What is emitted of a loop.
struct Plan<'r, 'l, 'ctx> {
    rows: &'r Rows<'l>,
    /// All of its rows' loops but for the range.
    row: Loop<'l, 'ctx>,
    /// How many vectors a row may be.
    vectors: u32,
    sums: Vec<Sum>,
    /// The size of a row.
    size: Atom,
    /// What decides whether rows are reduced at all, and whether they are short.
    conds: Needs,
    after: Needs,
}

impl<'ctx> Fun<'_, 'ctx> {
    /// Emits the loop if its rows can be reduced several at once; whether they can.
    pub fn rows(&mut self, l: &Loop<'_, 'ctx>, rows: &Rows<'_>) -> Result<bool, EmitError> {
        if self.mask.is_some() || rows.before.len() as i64 > self.schedule[Field::RowOps] {
            return Ok(false);
        }
        let Some(plan) = self.rows_at_once(l, rows)? else { return Ok(false) };
        let inits: Vec<Atom> = l.carried.iter().map(|c| c.init).collect();
        let init = self.carry(l.carried, &inits)?;
        let results = self.counted(l.from, l.to, ROWS, init, &mut |f, i, state| {
            let end = f.e.builder.build_int_nsw_add(i, f.i64(ROWS.into()), "")?;
            let (slow, join) = (f.append(), f.append());
            let unless = |f: &mut Self, cond: Value<'ctx>| {
                let next = f.append();
                f.branch(cond, next, slow)?;
                f.position(next);
                Ok::<_, EmitError>(())
            };
            let whole = f.e.icmp(IntPredicate::SLE, end.into(), l.to.into())?;
            unless(f, whole)?;
            let sizes = f.sizes_reduced(l, &plan, i, &mut |f, cond| unless(f, cond))?;
            let mut made = Vec::new();
            for vectors in 1..=plan.vectors {
                let short = f.are_short(sizes, vectors)?;
                let (here, longer) = (f.append(), if vectors < plan.vectors { f.append() } else { slow });
                f.branch(short, here, longer)?;
                f.position(here);
                made.push((f.short_rows(l, &plan, (i, vectors), state)?, f.here()?));
                f.jump(join)?;
                f.position(longer);
            }
            let to = super::int(f.e.intrinsic("llvm.smin", &[], &[end.into(), l.to.into()])?)?;
            let one_by_one = f.one_by_one(&Loop { from: i, to, ..*l }, state.to_vec())?;
            let slow_end = f.here()?;
            f.jump(join)?;

            f.position(join);
            let phis = f.phis(&one_by_one, slow_end)?;
            made.iter().try_for_each(|(values, end)| super::stmt::close(&phis, values, *end))?;
            Ok(super::stmt::values_of(&phis))
        })?;
        self.bind_carried(self.results(l.carried).into_iter(), &results);
        Ok(true)
    }

    /// What is to be emitted, if the rows are such that several can be reduced at once.
    fn rows_at_once<'r, 'l>(
        &mut self,
        l: &Loop<'_, 'ctx>,
        rows: &'r Rows<'l>,
    ) -> Result<Option<Plan<'r, 'l, 'ctx>>, EmitError> {
        let StmtKind::For { how: How::Lanes(w), var, range, carried, body, next } = rows.row else {
            return Ok(None);
        };
        let Range::Upto { from, to: size } = *range else { return Ok(None) };
        if from != Atom::int(0) || !self.is_ragged(range) {
            return Ok(None);
        }
        let params = carried.iter().flat_map(|c| [c.param, c.result]);
        let (set, sums) = (vary::varying(*var, params, body, &Known::default()), self.sums(carried));
        let (Some(set), Some(sums)) = (set, sums) else { return Ok(None) };
        self.lane_varying.extend(set);
        let (from, to) = (self.i64(0), self.i64(0));
        let row = Loop { var: *var, from, to, ragged: true, asks: true, carried, body, next };
        let w = self.widths(*w, &row).last().copied().unwrap_or(1);
        if w < ROWS || !self.is_cheap_masked(*var, carried, body) {
            return Ok(None);
        }
        let late = rows.late().into_iter().chain(l.carried.iter().map(|c| c.param));
        let stmts = rows.before.iter().copied().chain(rows.stmts_after());
        if vary::varying(l.var, late, stmts, &Known::default()).is_none() {
            return Ok(None);
        }
        // Rows that fill what one alone has for its last elements are folded in another order.
        let most = self.schedule[Field::RowVectors] as u32;
        let vectors = if w > most * ROWS { most } else { 1 };
        let conds = self.needs(l, rows, rows.conds.iter().map(|c| c.1).chain([size]));
        let after = rows.after.iter().flat_map(|a| match a {
            After::Is(_, a) => vec![*a],
            After::Stmt(s) => self.takes(s),
        });
        let after = self.needs(l, rows, after);
        Ok(conds.one_by_one.is_empty().then_some(Plan { rows, row, vectors, sums, size, conds, after }))
    }

    /// The atoms that a statement's code takes.
    fn takes(&self, s: &Stmt) -> Vec<Atom> {
        match &s.kind {
            StmtKind::Let { var, .. } if self.fused.products.contains(var) => Vec::new(),
            StmtKind::Let { var, .. } if self.fused.sums.contains_key(var) => self.fused.sums[var].to_vec(),
            StmtKind::Let { exp: Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a), .. } => vec![*a],
            StmtKind::Let { exp: Exp::Op(_, args), .. } => args.to_vec(),
            StmtKind::Let { exp: Exp::Load { at, .. }, .. } => at.to_vec(),
            StmtKind::Store { at, value, .. } => at.iter().chain([value]).copied().collect(),
            _ => Vec::new(),
        }
    }

    /// What is needed of what comes before a row for these atoms: in lanes if it does not wait for the row before.
    fn needs(&self, l: &Loop<'_, 'ctx>, rows: &Rows<'_>, atoms: impl Iterator<Item = Atom>) -> Needs {
        let mut waits: FxHashSet<Var> = l.carried.iter().map(|c| c.param).collect();
        for s in &rows.before {
            let StmtKind::Let { var, .. } = &s.kind else { continue };
            if self.takes(s).iter().any(|a| a.as_var().is_some_and(|v| waits.contains(&v))) {
                waits.insert(*var);
            }
        }
        let mut needs = Needs::default();
        let mut open: Vec<Var> = atoms.filter_map(Atom::as_var).collect();
        while let Some(v) = open.pop() {
            if waits.contains(&v) {
                needs.one_by_one.insert(v);
                continue;
            }
            let made = rows.before.iter().find(|s| matches!(&s.kind, StmtKind::Let { var, .. } if *var == v));
            if let Some(s) = made
                && needs.in_lanes.insert(v)
            {
                open.extend(self.takes(s).into_iter().filter_map(Atom::as_var));
            }
        }
        needs
    }

    /// In lanes, one for each row from `i` on.
    fn for_each_row<T>(
        &mut self,
        l: &Loop<'_, 'ctx>,
        i: IntValue<'ctx>,
        f: impl FnOnce(&mut Self) -> Result<T, EmitError>,
    ) -> Result<T, EmitError> {
        self.lanes = Some(ROWS);
        self.env.insert(l.var, Pieces::from_elem(Piece::Linear { base: i.into(), stride: 1 }, 1));
        let made = f(self);
        self.lanes = None;
        made
    }

    /// Statements before a row, those that are needed.
    fn needed(&mut self, stmts: &[&Stmt], needs: &Needs) -> Result<(), EmitError> {
        let is_needed = |s: &&&Stmt| match &s.kind {
            StmtKind::Let { var, .. } => needs.in_lanes.contains(var),
            _ => false,
        };
        stmts.iter().filter(is_needed).try_for_each(|s| self.stmt(s))
    }

    /// Branches on whether all rows from `i` on are reduced; their sizes.
    fn sizes_reduced(
        &mut self,
        l: &Loop<'_, 'ctx>,
        plan: &Plan<'_, '_, 'ctx>,
        i: IntValue<'ctx>,
        unless: &mut dyn FnMut(&mut Self, Value<'ctx>) -> Result<(), EmitError>,
    ) -> Result<Value<'ctx>, EmitError> {
        let mut done = 0;
        for (before, cond, wanted) in &plan.rows.conds {
            let all = self.for_each_row(l, i, |f| {
                f.needed(&plan.rows.before[done..*before], &plan.conds)?;
                let cond = f.vector(super::pieces::piece(&f.atom(*cond)?, 0)?)?;
                let holds = if *wanted { cond } else { f.e.xor(cond, f.e.int_like(cond, -1)?)? };
                f.e.intrinsic("llvm.vector.reduce.and", &[], &[holds])
            })?;
            unless(self, all)?;
            done = *before;
        }
        self.for_each_row(l, i, |f| {
            f.needed(&plan.rows.before[done..], &plan.conds)?;
            f.vector(super::pieces::piece(&f.atom(plan.size)?, 0)?)
        })
    }

    /// Whether rows of these sizes are all no more than so many vectors.
    fn are_short(&self, sizes: Value<'ctx>, vectors: u32) -> Result<Value<'ctx>, EmitError> {
        let most = self.e.splat(self.i64((vectors * ROWS).into()).into(), ROWS)?;
        // A size below zero is that of no row.
        let short = self.e.icmp(IntPredicate::ULE, sizes, most)?;
        self.e.intrinsic("llvm.vector.reduce.and", &[], &[short])
    }

    /// Reduces the rows from `i` on, which are all so many vectors at most; what is carried then.
    fn short_rows(
        &mut self,
        l: &Loop<'_, 'ctx>,
        plan: &Plan<'_, '_, 'ctx>,
        (i, vectors): (IntValue<'ctx>, u32),
        state: &[Vec<Value<'ctx>>],
    ) -> Result<Values<'ctx>, EmitError> {
        let mut state = state.to_vec();
        let mut made: Vec<Values<'ctx>> = Vec::new();
        let waiting: Vec<Var> = plan.after.one_by_one.iter().copied().collect();
        let mut kept: Vec<Vec<Value<'ctx>>> = vec![Vec::new(); waiting.len()];
        let row = &plan.row;
        let in_line = (LINE * 8 / ROWS / self.widest(row.body)).max(1);
        for k in 0..ROWS {
            let at = self.e.builder.build_int_nsw_add(i, self.i64(k.into()), "")?;
            self.bind(l.var, at.into());
            self.bind_carried(self.params(l.carried).into_iter(), &state);
            plan.rows.before.iter().try_for_each(|s| self.stmt(s))?;
            for (all, v) in kept.iter_mut().zip(&waiting) {
                all.push(self.scalar(Atom::Var(*v))?);
            }
            let size = self.size(plan.size)?;
            let inits = row.carried.iter().map(|c| Ok(vec![self.scalar(c.init)?]));
            let inits = inits.collect::<Result<Values<'ctx>, EmitError>>()?;
            let (plain, start) = self.starts(row, &inits, &plan.sums, ROWS)?;
            let mut acc = start;
            for v in 0..vectors {
                // So many vectors have a line of memory.
                let row = Loop { asks: (k * vectors + v) % in_line == 0, ..*row };
                let lanes = v * ROWS..(v + 1) * ROWS;
                acc = self.masked_vector((ROWS, lanes), &row, size, (&plan.sums, &plain), &acc)?;
            }
            made.push(acc);
            state = self.carry(l.carried, l.next)?;
        }
        for (j, (c, sum)) in row.carried.iter().zip(&plan.sums).enumerate() {
            let rows = made.iter().filter_map(|m| m.get(j)?.first().copied()).collect();
            let all = self.folded_rows(rows, sum)?;
            self.env.insert(c.result, Pieces::from_elem(Piece::Vector(all), 1));
        }
        for (v, all) in waiting.iter().zip(kept) {
            let all = self.gathered(&all)?;
            self.env.insert(*v, Pieces::from_elem(Piece::Vector(all), 1));
        }
        self.for_each_row(l, i, |f| {
            f.needed(&plan.rows.before, &plan.after)?;
            plan.rows.after.iter().try_for_each(|a| match a {
                After::Stmt(s) => f.stmt(s),
                After::Is(v, a) => {
                    let value = f.atom(*a)?;
                    f.env.insert(*v, value);
                    Ok(())
                }
            })
        })?;
        Ok(state)
    }

    /// Scalars, one in each lane.
    fn gathered(&self, all: &[Value<'ctx>]) -> Result<Value<'ctx>, EmitError> {
        let [first, ..] = all else { return Err(EmitError::WrongValue("no lanes")) };
        let mut v = self.e.splat(*first, ROWS)?;
        for (k, x) in all.iter().enumerate() {
            let into = super::scan::vector(v)?;
            v = self.e.builder.build_insert_element(into, *x, self.i32(k as u32), "")?.into();
        }
        Ok(v)
    }

    /// Rows of which each is a vector of as many lanes as there are rows: of each the lanes combined, halves with halves.
    fn folded_rows(&self, mut rows: Vec<Value<'ctx>>, (op, ty, _): &Sum) -> Result<Value<'ctx>, EmitError> {
        let n = rows.len() as u32;
        // How many lanes of a row are left. Registers are shuffled in halves, so rows far apart meet first.
        let mut lanes = n;
        while lanes > 1 {
            let halves = if lanes == n { 1 } else { 2 };
            let far = if lanes == n { rows.len() / 2 } else { 1 };
            let pairs = (0..rows.len()).filter(|k| k / far % 2 == 0).map(|k| (rows[k], rows[k + far]));
            let combined = pairs.map(|(a, b)| {
                let low = self.shuffled((a, b), &part_of_rows(n, lanes, halves, 0))?;
                let high = self.shuffled((a, b), &part_of_rows(n, lanes, halves, 1))?;
                self.e.op(*op, &[*ty, *ty], &[low, high])
            });
            rows = combined.collect::<Result<_, EmitError>>()?;
            lanes /= 2;
        }
        rows.first().copied().ok_or(EmitError::WrongValue("no rows"))
    }

    /// The elements of two vectors at these places.
    pub fn shuffled(
        &self,
        (a, b): (Value<'ctx>, Value<'ctx>),
        from: &[u32],
    ) -> Result<Value<'ctx>, EmitError> {
        let (BasicValueEnum::VectorValue(a), BasicValueEnum::VectorValue(b)) = (a, b) else {
            return Err(EmitError::WrongValue("a row"));
        };
        let mask: Vec<IntValue<'ctx>> = from.iter().map(|k| self.i32(*k)).collect();
        Ok(self.e.builder.build_shuffle_vector(a, b, VectorType::const_vector(&mask), "")?.into())
    }
}

/// Where the lower (`part` 0) or upper halves of rows are in two vectors of `n` lanes, `lanes` for each row: of each
/// of so many `halves` of the vectors, first those in the one and then those in the other.
fn part_of_rows(n: u32, lanes: u32, halves: u32, part: u32) -> Vec<u32> {
    let mut from = Vec::new();
    for half in 0..halves {
        for vector in 0..2 {
            for row in 0..n / lanes / halves {
                let first = vector * n + half * (n / halves) + row * lanes + part * lanes / 2;
                from.extend(first..first + lanes / 2);
            }
        }
    }
    from
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of numbers are folded as they would be alone, and end in their order.
    #[test]
    fn rows_are_folded_side_by_side() {
        let n = 8;
        let mut rows: Vec<Vec<String>> =
            (0..n).map(|r| (0..n).map(|k| format!("{r}{k}")).collect()).collect();
        let mut lanes = n;
        while lanes > 1 {
            let (halves, far) = if lanes == n { (1, rows.len() / 2) } else { (2, 1) };
            let pairs = (0..rows.len()).filter(|k| k / far % 2 == 0);
            rows = pairs
                .map(|k| {
                    let both = [&rows[k][..], &rows[k + far][..]].concat();
                    let of = |part| part_of_rows(n, lanes, halves, part);
                    let sides = of(0).into_iter().zip(of(1));
                    sides.map(|(a, b)| format!("({}+{})", both[a as usize], both[b as usize])).collect()
                })
                .collect();
            lanes /= 2;
        }
        let alone = |r: u32| {
            let quarter = |k: u32| format!("({r}{k}+{r}{})", k + 4);
            let half = |k: u32| format!("({}+{})", quarter(k), quarter(k + 2));
            format!("({}+{})", half(0), half(1))
        };
        assert_eq!(rows, [(0..n).map(alone).collect::<Vec<_>>()]);
    }
}
