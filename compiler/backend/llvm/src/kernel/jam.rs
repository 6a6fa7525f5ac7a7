//! Loops of which several iterations run at once, and share the loops inside.
//!
//! A `jam k` loop of the program does so by itself. In a loop in lanes, a loop that reduces what a loop inside of it makes
//! does, too: alone, an inner loop is one chain of operations, each of which waits for the one before. A processor's two
//! multipliers give a result in four cycles, so eight vectors (`lanes.accumulators`) keep them busy.
//!
//! ```text
//! for j in 0..m carrying top {                  for j in 0..m by 4 carrying top {
//!   for k in 0..d carrying s { s += … j … }  ⟶    for k in 0..d carrying s₀ s₁ s₂ s₃ { s₀ += … j …; s₁ += … j + 1 …; … }
//!   top = max(top, s)                             top = max(max(max(max(top, s₀), s₁), s₂), s₃)
//! }                                             }                                             then one by one
//! ```
//!
//! What depends on what the loop carries runs for one iteration after the other, so that each value is made as it was: the
//! nearest of some points, sums of functions of distances, the greatest products of rows. What loads for all of them, as the
//! coordinates of the points in the lanes, is loaded once.

use super::Fun;
use super::counted::{Loop, Values};
use super::pieces::{Piece, Pieces, piece};
use super::vary::{self, Known};
use crate::error::EmitError;
use remc_kernel::ir::{Exp, How, Stmt, StmtKind, Var};
use remc_kernel::schedule::Field;
use rustc_hash::FxHashSet;
use smallvec::smallvec;

/// The iterations that run at once inside of lanes, and what of a body they do together.
struct Jam<'l> {
    iterations: u32,
    together: Vec<&'l Stmt>,
    in_order: Vec<&'l Stmt>,
    varying: FxHashSet<Var>,
}

impl<'ctx> Fun<'_, 'ctx> {
    pub fn jammed(&mut self, k: u32, l: &Loop<'_, 'ctx>) -> Result<(), EmitError> {
        let end = self.whole_steps((l.from, l.to), k)?;
        self.jam = k as usize;
        self.writes_lines = false;
        self.counted(l.from, end, k, Vec::new(), &mut |f, i, _| {
            let pieces = f.iterations(i, k)?;
            f.env.insert(l.var, pieces);
            f.block(l.body)?;
            Ok(Vec::new())
        })?;
        self.jam = 1;
        self.serial(&Loop { from: end, ..*l }, Vec::new())
    }

    /// So many iterations from `i` on.
    fn iterations(&self, i: inkwell::values::IntValue<'ctx>, k: u32) -> Result<Pieces<'ctx>, EmitError> {
        let one = |t| {
            let i = self.e.builder.build_int_nsw_add(i, self.i64(i64::from(t)), "")?;
            Ok(Piece::Uniform(i.into()))
        };
        (0..k).map(one).collect()
    }

    /// Runs a loop inside of lanes several iterations at once, if it is one that profits; says whether it did.
    pub fn jam_in_lanes(&mut self, l: &Loop<'_, 'ctx>) -> Result<bool, EmitError> {
        let Some(Jam { iterations: k, together, in_order, varying }) = self.can_jam(l) else {
            return Ok(false);
        };
        let inits: Vec<_> = l.carried.iter().map(|c| c.init).collect();
        let init = self.carry(l.carried, &inits)?;
        let end = self.whole_steps((l.from, l.to), k)?;
        let own: Vec<Var> = varying.iter().copied().collect();
        self.jam_varying.extend(varying);
        let state = self.counted(l.from, end, k, init, &mut |f, i, carried| {
            f.jam = k as usize;
            let pieces = f.iterations(i, k)?;
            f.env.insert(l.var, pieces);
            together.iter().try_for_each(|s| f.stmt(s))?;
            f.jam = 1;
            let all: Vec<(Var, Pieces<'ctx>)> =
                own.iter().filter_map(|v| Some((*v, f.env.get(v)?.clone()))).collect();
            let mut state: Values<'ctx> = carried.to_vec();
            for t in 0..k as usize {
                for (v, pieces) in &all {
                    f.env.insert(*v, smallvec![piece(pieces, t)?]);
                }
                f.bind_carried(f.params(l.carried).into_iter(), &state);
                in_order.iter().try_for_each(|s| f.stmt(s))?;
                state = f.carry(l.carried, l.next)?;
            }
            Ok(state)
        })?;
        self.serial(&Loop { from: end, ..*l }, state)?;
        Ok(true)
    }

    fn can_jam<'l>(&self, l: &Loop<'l, 'ctx>) -> Option<Jam<'l>> {
        let lanes = self.lanes?;
        let native = self.native(l.carried, l.body);
        if self.jam > 1
            || self.mask.is_some()
            || self.outer_lanes.is_some()
            || l.carried.is_empty()
            || lanes < native
        {
            return None;
        }
        let accumulators = lanes / native * super::loops::inner_carried(l.body).max(1);
        let iterations = self.schedule[Field::Accumulators] as u32 / accumulators;
        let mut carried: FxHashSet<Var> = l.carried.iter().map(|c| c.param).collect();
        let (mut together, mut in_order) = (Vec::new(), Vec::new());
        for s in l.body {
            if depends(s, &carried) {
                match &s.kind {
                    StmtKind::Let { var, .. } => carried.extend([*var]),
                    StmtKind::If { results, .. } => carried.extend(results.iter().map(|c| c.var)),
                    _ => return None,
                }
                in_order.push(s);
            } else {
                together.push(s);
            }
        }
        let reduces = |s: &&Stmt| matches!(&s.kind, StmtKind::For { how: How::Seq, carried, .. } if !carried.is_empty());
        let fine = iterations > 1
            && together.iter().any(reduces)
            && together.iter().all(|s| only_computes(s, true))
            && in_order.iter().all(|s| only_computes(s, false));
        let varying =
            vary::varying(l.var, [], together.iter().copied(), &Known::default()).filter(|_| fine)?;
        Some(Jam { iterations, together, in_order, varying })
    }
}

/// Whether a statement mentions one of these variables.
fn depends(s: &Stmt, on: &FxHashSet<Var>) -> bool {
    let mut found = false;
    remc_kernel::memory::mentions(&s.kind, &mut |v| found |= on.contains(&v));
    found
}

/// Whether a statement writes nothing and cannot stop, and with loops or branches is of the kind that is asked for.
fn only_computes(s: &Stmt, loops: bool) -> bool {
    match &s.kind {
        StmtKind::Let { exp, .. } => !matches!(exp, Exp::Workers | Exp::Test(_)),
        StmtKind::For { body, .. } => loops && body.iter().all(|s| only_computes(s, loops)),
        StmtKind::If { then, otherwise, .. } => {
            !loops && then.iter().chain(otherwise).all(|s| only_computes(s, loops))
        }
        _ => false,
    }
}
