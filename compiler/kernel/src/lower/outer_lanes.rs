//! Outer-loop vectorisation: points that run in lanes though each has loops and arrays of its own.
//!
//! A row that is solved by a scan, or folded by an operator that no lanes can combine, waits for each of its elements. But
//! several rows wait no longer than one. A **strip** is as many points as there are lanes; what a point keeps in memory
//! has a last axis more, of the strip's lanes, so that the same element of all of them is a vector:
//!
//! ```text
//! (for seq %i (tile %b 64 %n) ()                           (for seq %s (tile %b 4 %strips) ()
//!   (for seq %j (upto 0 %m) (…)                              (let %first (op * %s 16))
//!     (store %t (%worker %j) %x) …)                          (for (lanes 16) %i (tile %s 16 %n) ()
//!   …)                                                         (let %lane (op - %i %first))
//!                                                              (for seq %j (upto 0 %m) (…)
//!                                                                (store %t (%worker %j %lane) %x) …) …))
//! ```
//!
//! Lanes go together, so sizes must be the same for all, and what stands in branches that they take, or loops that they leave,
//! each for itself must be such as can run for some of them alone ([`Shape::uniform`], [`crate::predicate`]). What is loaded or
//! stored across rows is so one lane after the other, no slower than row after row; but for rows that are long and lie a
//! power of two apart, which no cache keeps side by side: hence `strip.bytes`, half of a core's own cache of 1 MiB. Rows that
//! wait for each element lose more by that than by any cache, up to `strip.along`.
//!
//! | the innermost loop of a point | its points run |
//! | --- | --- |
//! | waits for itself: a scan, a fold, a `for` | side by side |
//! | may run in lanes, and reads nothing across rows then | side by side |
//! | may run in lanes, in rounds of a loop that waits for itself | side by side up to `row.rounds` elements |
//! | may run in lanes | side by side where it is shorter than a vector, else one after the other, it in lanes |
//!
//! Points that read neighbours in each row, and nothing across rows, as those of the columns of a matrix do, would read across
//! rows one after the other: they run side by side however long the columns are, as far as what they keep themselves takes no
//! more than `strip.along`. Of a row they then take several vectors at a time (`strip.vectors`), where there are points for
//! many of these (`strip.wide`): the more that is read and written in one stretch, the better, but what each point keeps, and
//! what a function takes to compute, is wanted in registers for all of them.
//!
//! Of points inside points, the innermost run side by side: they need least memory.

use super::build::Emit;
use super::leaf::{Inner, Leaf, Strip};
use super::plan::Plan;
use super::schedule::{self, Shape, few_elements, lane_ops};
use super::{L, Place};
use crate::ir::{Atom, How, Range};
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_mono::ir as mono;
use rustc_hash::FxHashMap;

/// How the points of an axis run in lanes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct OuterLanes {
    pub width: u32,
    /// In how many lanes they run where there are points for all of these many times.
    pub wide: u32,
    /// Whether they make arrays.
    pub arrays: bool,
    /// Whether that is so for short rows alone, of which long ones run in lanes themselves.
    pub short: bool,
    /// Only if this holds, which the plan knows.
    pub cond: Option<Atom>,
}

/// The loop that a body spends its time in.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Innermost {
    /// How many loops it is in, with itself.
    depth: usize,
    /// Whether each iteration waits for the one before; else they may run in lanes.
    waits: bool,
    /// Whether it is run again and again, each time on what the time before has made.
    rounds: bool,
    size: mono::Atom,
}

impl Innermost {
    /// Of two loops the one inside more; of loops as deep as each other, one that waits takes longer.
    fn max(a: Innermost, b: Innermost) -> Innermost {
        if (b.depth, b.waits) > (a.depth, a.waits) { b } else { a }
    }
}

impl Plan {
    fn innermost(&self, body: &mono::Body) -> Option<Innermost> {
        body.stmts.iter().filter_map(|s| self.loop_of(&s.exp)).reduce(Innermost::max)
    }

    fn loop_of(&self, exp: &mono::Exp) -> Option<Innermost> {
        use mono::Exp as E;
        let inside = exp.bodies().into_iter().filter_map(|b| self.innermost(b)).reduce(Innermost::max);
        let (depth, size, in_lanes) = match exp {
            E::Map { axes, body } => {
                let last = axes.last()?;
                (axes.len(), last.size, self.shape(body, last.var).pays())
            }
            E::Reduce { axis, body, op } => {
                let lanes = self.shape(body, axis.var).reduced_in_lanes(|f| self.number(f));
                (1, axis.size, self.is_combined_in_lanes(op) && lanes.is_some())
            }
            E::Scan { axis, body, op, .. } => {
                let lanes = self.shape(body, axis.var).in_lanes(|f| self.number(f));
                (1, axis.size, self.is_combined_in_lanes(op) && lanes.is_some())
            }
            E::For { axis, .. } => (1, axis.size, false),
            _ => return inside,
        };
        // So few iterations are written out.
        if size.as_int().is_some_and(|n| n <= self.number(Field::Private)) {
            return inside.map(|l| Innermost { rounds: l.rounds || !in_lanes, ..l });
        }
        Some(match inside {
            Some(l) => Innermost { depth: l.depth + depth, rounds: l.rounds || !in_lanes, ..l },
            None => Innermost { depth, waits: !in_lanes, rounds: false, size },
        })
    }

    pub(super) fn is_combined_in_lanes(&self, op: &mono::Combine) -> bool {
        let count = op.lambda.body.results.len().min(op.lambda.params.len());
        let accs: Vec<&mono::Ty> = op.lambda.params[..count].iter().map(|v| &self.flat.vars[*v].ty).collect();
        let tys: Vec<BaseTy> = accs.iter().map(|t| t.base).collect();
        accs.iter().all(|t| t.is_scalar()) && lane_ops(op, &tys).is_some()
    }

    /// Whether points of a map inside may run side by side, and wait for loops inside of them.
    fn has_points_inside(&self, body: &mono::Body) -> bool {
        body.stmts.iter().any(|s| {
            let here = match &s.exp {
                mono::Exp::Map { axes, body } => axes.last().is_some_and(|last| {
                    last.size.as_int().is_none_or(|n| n > self.number(Field::Private))
                        && self.shape(body, last.var).uniform
                        && self.innermost(body).is_some_and(|l| l.waits)
                }),
                _ => false,
            };
            here || s.exp.bodies().into_iter().any(|b| self.has_points_inside(b))
        })
    }
}

/// The arrays that a body makes, those of loops inside too, and how scalars that may be their sizes are computed.
#[derive(Default)]
struct Made {
    arrays: Vec<mono::Var>,
    sizes: FxHashMap<mono::Var, mono::Exp>,
}

impl Made {
    fn body(&mut self, plan: &Plan, body: &mono::Body) {
        for s in &body.stmts {
            let scalar = |v: &mono::Var| plan.flat.vars[*v].ty.is_scalar();
            match (&s.exp, s.pat.as_slice()) {
                (mono::Exp::Index { .. }, _) => {}
                (mono::Exp::Op(..) | mono::Exp::Atom(_), [v]) if scalar(v) => {
                    self.sizes.insert(*v, s.exp.clone());
                }
                _ => self.arrays.extend(s.pat.iter().filter(|v| !scalar(v))),
            }
            if let mono::Exp::Reduce { op, .. } | mono::Exp::Scan { op, .. } = &s.exp {
                self.arrays.extend(op.lambda.params.iter().filter(|v| !scalar(v)));
            }
            s.exp.bodies().into_iter().for_each(|b| self.body(plan, b));
        }
    }
}

impl Plan {
    /// How the points of an axis run in lanes, if they may: each is a `body`. `sizes` are those that the leaf around
    /// has made.
    pub fn outer_lanes(
        &mut self,
        body: &mono::Body,
        var: mono::Var,
        sizes: &FxHashMap<mono::Var, mono::Exp>,
    ) -> L<Option<OuterLanes>> {
        self.outer_lanes_with_copies(body, var, sizes, 0)
    }

    /// … where so many reads across rows are those of copies that the points begin with ([`super::copied`]).
    pub fn outer_lanes_with_copies(
        &mut self,
        body: &mono::Body,
        var: mono::Var,
        sizes: &FxHashMap<mono::Var, mono::Exp>,
        copies: usize,
    ) -> L<Option<OuterLanes>> {
        let shape = self.shape(body, var);
        if !shape.uniform || shape.lanes && !shape.loops || self.has_points_inside(body) {
            return Ok(None);
        }
        // What a condition takes is emitted only if there is one.
        self.blocks.open();
        let found = self.outer_lanes_where(body, &shape, sizes, copies)?;
        let stmts = self.blocks.close();
        if found.is_some_and(|b| b.cond.is_some()) {
            stmts.into_iter().for_each(|s| self.blocks.push(s));
        }
        Ok(found)
    }

    fn outer_lanes_where(
        &mut self,
        body: &mono::Body,
        shape: &Shape,
        sizes: &FxHashMap<mono::Var, mono::Exp>,
        copies: usize,
    ) -> L<Option<OuterLanes>> {
        let mut made = Made { sizes: sizes.clone(), ..Made::default() };
        made.body(self, body);
        let width = schedule::lanes(shape.widest, 1);
        if self.bytes_on_stack(&made).saturating_mul(width.into()) > self.number(Field::StripStack) {
            return Ok(None);
        }
        let mut cond = None;
        let array = |a: &mono::Atom| a.as_var().is_some_and(|v| !self.flat.vars[v].ty.is_scalar());
        let strided = shape.inner.strided + shape.reads.strided;
        // One after the other they would read across rows.
        let along = shape.inner.contiguous > 0 && strided == 0;
        let across = strided > copies || !along && body.results.iter().any(array);
        let innermost = self.innermost(body);
        let waits = matches!(innermost, Some(Innermost { waits: true, .. }));
        let (arrays, limit) = match along {
            true => (
                made.arrays.iter().filter(|v| !body.results.contains(&(**v).into())).copied().collect(),
                Field::StripAlong,
            ),
            // One after the other, all would wait for each element.
            false if waits => (made.arrays.clone(), Field::StripAlong),
            false => (made.arrays.clone(), Field::StripBytes),
        };
        let Some(mut bytes) = self.bytes_of(&arrays, &made.sizes)? else { return Ok(None) };
        if (across || copies > 0)
            && let Some(l) = innermost
        {
            let Some(n) = self.known(l.size, &made.sizes)? else { return Ok(None) };
            let short = self.number(Field::Short);
            let most = match (across, l) {
                (true, Innermost { waits: true, .. }) => {
                    // The rows that are read are side by side in the cache, too.
                    let row = self.capped(n, i64::from(shape.widest))?;
                    bytes = self.int(ScalarOp::Add, bytes, row)?;
                    None
                }
                (false, Innermost { waits: true, .. }) => None,
                // What a round has just stored the next one waits for, if it is not longer than that takes.
                (true, Innermost { rounds: true, .. }) => Some(self.number(Field::Rounds)),
                (true, _) => Some(short.min(width.into())),
                // Of rows side by side a multiple of that is reduced at once, each being read once for all.
                (false, _) if self.shares_reads(body) => None,
                // A copied row that fills all vectors in which it would be reduced is faster by itself.
                (false, _) => Some(i64::from(schedule::lanes(shape.widest, self.number(Field::Reduced))) + 1),
            };
            if let Some(most) = most {
                cond = Some(self.int(ScalarOp::Lt, n, Atom::int(most))?);
            }
        }
        let fits = self.int(ScalarOp::Le, bytes, Atom::int(self.number(limit) / i64::from(width)))?;
        let short = cond.is_some();
        let cond = match cond {
            Some(short) => self.int(ScalarOp::And, short, fits)?,
            None => fits,
        };
        // More of a row at a time, and most where nothing has to be kept but what is given.
        let most = self.number(Field::StripVectors);
        let vectors = match (arrays.is_empty(), shape.functions) {
            _ if !along => 1,
            (true, 0) => most,
            (false, 0) => (most / 2).max(1),
            _ => (most / 4).max(1),
        };
        let wide = schedule::lanes(shape.widest, vectors);
        let found = |cond| OuterLanes { width, wide, arrays: !made.arrays.is_empty(), short, cond };
        Ok(match cond {
            Atom::Const(Scalar::Bool(false)) => None,
            Atom::Const(_) => Some(found(None)),
            cond => Some(found(Some(cond))),
        })
    }

    /// Whether a body reduces what reductions of scalars make: machine code has several of these at once, in lanes.
    fn shares_reads(&self, body: &mono::Body) -> bool {
        let scalars = |s: &mono::Stmt| s.pat.iter().all(|v| self.flat.vars[*v].ty.is_scalar());
        let long = |e: &mono::Exp| {
            matches!(e, mono::Exp::Reduce { axis, .. }
                if axis.size.as_int().is_none_or(|n| n > self.number(Field::Private)))
        };
        let inside = |b: &mono::Body| {
            let straight = |s: &mono::Stmt| s.exp.bodies().is_empty() && !s.exp.can_stop();
            b.stmts.iter().all(|s| scalars(s) && (straight(s) || long(&s.exp) && !s.exp.can_stop()))
                && b.stmts.iter().any(|s| long(&s.exp))
        };
        body.stmts
            .iter()
            .any(|s| matches!(&s.exp, mono::Exp::Reduce { body, .. } if scalars(s) && inside(body)))
    }

    /// More bytes are of no interest.
    fn most_bytes(&self) -> Atom {
        Atom::int(self.number(Field::StripBytes).max(self.number(Field::StripAlong)))
    }

    /// So many bytes for each of `n`, but no more than are of interest.
    fn capped(&mut self, n: Atom, bytes: i64) -> L<Atom> {
        let n = self.int(ScalarOp::Max2, n, Atom::int(0))?;
        let n = self.int(ScalarOp::Min2, n, self.most_bytes())?;
        self.int(ScalarOp::Mul, n, Atom::int(bytes))
    }

    /// How many bytes these arrays have, or more than are of interest; `None` if their sizes are not known before the
    /// launch.
    fn bytes_of(&mut self, arrays: &[mono::Var], sizes: &FxHashMap<mono::Var, mono::Exp>) -> L<Option<Atom>> {
        let mut all = Atom::int(0);
        for v in arrays {
            let ty = self.flat.vars[*v].ty.clone();
            let mut bytes = Atom::int(i64::from(ty.base.bits().max(8) / 8));
            for d in &ty.dims {
                let Some(n) = self.known(*d, sizes)? else { return Ok(None) };
                let n = self.capped(n, 1)?;
                bytes = self.int(ScalarOp::Mul, bytes, n)?;
                bytes = self.int(ScalarOp::Min2, bytes, self.most_bytes())?;
            }
            all = self.int(ScalarOp::Add, all, bytes)?;
        }
        Ok(Some(all))
    }

    /// How many bytes those of them have that are small enough for the stack.
    fn bytes_on_stack(&self, made: &Made) -> i64 {
        let small = made.arrays.iter().filter_map(|v| {
            let ty = &self.flat.vars[*v].ty;
            Some(few_elements(&ty.dims, self.number(Field::Private))? * i64::from(ty.base.bits().max(8) / 8))
        });
        small.fold(0, i64::saturating_add)
    }

    /// A size that the plan can compute: one of its own, or a sum or product of such.
    fn known(&mut self, a: mono::Atom, sizes: &FxHashMap<mono::Var, mono::Exp>) -> L<Option<Atom>> {
        let Some(v) = a.as_var() else { return Ok(Some(a)) };
        if let Ok(a) = self.atom(a) {
            return Ok(Some(a));
        }
        match sizes.get(&v).cloned() {
            Some(mono::Exp::Atom(a)) => self.known(a, sizes),
            Some(mono::Exp::Op(op, args)) if never_fails(op) => {
                let mut known = Vec::new();
                for a in args {
                    let Some(a) = self.known(a, sizes)? else { return Ok(None) };
                    known.push(a);
                }
                Ok(Some(self.op(op, &known)?))
            }
            _ => Ok(None),
        }
    }
}

/// Whether an operator of sizes gives something for all operands: the plan computes it before what the leaf checks.
fn never_fails(op: ScalarOp) -> bool {
    use ScalarOp::*;
    matches!(op, Add | Sub | Mul | Min2 | Max2)
}

impl Leaf<'_> {
    /// Loops over strips of `width` points below `n`, in so many lanes; `body` is a point. The width is a size of the plan:
    /// that of a vector, or 1 where the plan finds rows too long.
    pub fn in_strips(
        &mut self,
        name: &str,
        strips: Range,
        (lanes, width, n): (u32, Atom, Atom),
        body: &mut dyn FnMut(&mut Self, Atom) -> L<()>,
    ) -> L<()> {
        let size = self.outer(width);
        self.each(How::Seq, "strip", strips, |l, strip| {
            let first = l.int(ScalarOp::Mul, strip, size)?;
            let points = Range::Tile { index: strip, size, limit: n };
            l.each(How::Lanes(lanes), name, points, |l, i| {
                let lane = l.int(ScalarOp::Sub, i, first)?;
                let around = (l.strip.replace(Strip { lane, width }), l.inner);
                l.inner = Inner::Serial;
                let done = body(l, i);
                (l.strip, l.inner) = around;
                done
            })
        })
    }

    /// Memory of a part of a scratch buffer: of a worker, and there of a lane.
    pub fn part(&mut self, name: &str, base: BaseTy, dims: &[Atom]) -> L<Place> {
        let strip = self.strip;
        let mut dims = dims.to_vec();
        if let Some(s) = strip {
            dims.push(s.width);
        }
        let outer = self.plan.scratch(name, base, &dims)?;
        let buffer = self.kernel.import(&mut self.plan.out, outer);
        let prefix = vec![Atom::Var(self.kernel.worker)];
        Ok(Place { prefix, lane: strip.map(|s| s.lane), ..Place::whole(buffer) })
    }
}
