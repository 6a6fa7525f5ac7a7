//! Load balancing by row length: ragged rows in two bins, the very long ones apart.
//!
//! ```text
//! (map ((i k))                         (let (%m %long) (filter (i k) … (give (>= %n 262144) i)))
//!   (let (%n) (index %ns i))           (let (%short) (seg-map grid ((i k)) … (if (>= %n 262144) 0 …)))
//!   …                            ⟶     (let (%rs) (serial-map ((g %m))
//!   (let (%s) (reduce j %n …))           (let (%i) (index %long g)) …
//!   (give %s))                           (let (%s) (seg-red grid () (j %n) …)) (give %s)))
//!                                      (scatter (%short) ((g %m)) (index %long g) (index %rs g))
//! ```
//!
//! A map whose points each reduce a row of a size that only they know has one thread for each row. That is
//! balanced as long as no row is much of the whole: threads take a few rows at a time. A row of at least
//! `row.long` elements is worth all threads, so such rows come one after the other, each with all of the
//! device; there are at most `elements / row.long` of them. To have all threads at one row takes some microseconds, so
//! shorter ones lose more by it than they gain. To know which are long costs one more read of the sizes, unless they are
//! added up in tiles, whose sums tell (`tiles/large.rs`).
//!
//! The sizes have to be known without doing any of the row's work, and without a check that may stop the
//! program, since what finds the long rows runs before everything else.
//!
//! What comes after a row may stop the program too, and of several points that do the first is told. So there, all
//! points do that in their order, and the sums of long rows are what comes first:
//!
//! ```text
//! (let (%ss) (serial-map ((g %m)) … (seg-red grid () (j %n) …) …))
//! (seg-map grid ((i k)) … (let (%s) (if (>= %n 262144) (index %ss <of %i>) (reduce j %n …)))
//!   (check …) (give …))
//! ```
//!
//! A long row may stop it as well, at one of its elements: then it is asked whether it would ([`ask`]), and one that would
//! is reduced where the others are. Only a row that stops inside of something other than a reduction, or in one of several
//! axes, is told after the short ones.

mod ask;

use super::{F, Flattener, host::Stmts, ragged, seg};
use crate::ir::{Axis, SegKind};
use crate::legal::{Size, Sizes};
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, LONGEST, Prov, Scalar};
use remc_mono::ir::*;
use remc_mono::legal::{OwnSizes, group_reduces};
use rustc_hash::FxHashSet;
use std::ops::Range;

/// How the sizes of a map's rows are found.
pub(super) struct Rows {
    /// The statements of the body that make them.
    slice: Vec<Stmt>,
    sizes: Vec<Var>,
    /// The statements of the body up to the last row, from the first row on.
    reduced: Range<usize>,
}

/// The rows that the points of a map reduce, if the first axis alone decides their sizes.
pub(super) fn rows(f: &Flattener, axes: &[Axis], body: &Body) -> Option<Rows> {
    let (first, rest) = axes.split_first()?;
    let binders: Vec<Var> = axes.iter().map(|a| a.var).collect();
    let mut known = Sizes::inside(&binders, &[body]);
    let mut sizes: Vec<Var> = Vec::new();
    let mut before: usize = 0;
    let mut reduced: Option<Range<usize>> = None;
    for (k, s) in body.stmts.iter().enumerate() {
        known.learn(s);
        let own = Body { stmts: vec![s.clone()], results: Vec::new() };
        own.for_each_stmt(&mut |s| {
            if let Exp::Reduce { axis, op, .. } = &s.exp
                && op.assoc
                && let Some(v) = axis.size.as_var()
                && known.of(axis.size) != Some(Size::Known)
                && body.stmts[..k].iter().any(|s| s.pat.contains(&v))
            {
                reduced = Some(reduced.as_ref().map_or(k, |r| r.start)..k + 1);
                if !sizes.contains(&v) {
                    sizes.push(v);
                    before = k;
                }
            }
        });
    }
    let reduced = reduced?;
    if body.stmts[..before].iter().any(|s| matches!(s.exp, Exp::Check { .. })) {
        return None;
    }
    // What they are made of, from the last statement to the first.
    let others: FxHashSet<Var> = rest.iter().map(|a| a.var).collect();
    let mut wanted: FxHashSet<Var> = sizes.iter().copied().collect();
    let mut slice = Vec::new();
    for s in body.stmts[..before].iter().rev() {
        if !s.pat.iter().any(|v| wanted.contains(v)) {
            continue;
        }
        let scalar = s.pat.iter().all(|v| f.p.ty(*v).is_scalar());
        if !scalar || !matches!(s.exp, Exp::Atom(_) | Exp::Op(..) | Exp::Cast(..) | Exp::Index { .. }) {
            return None;
        }
        s.exp.for_each_operand(&mut |a| wanted.extend(a.as_var()));
        slice.push(s.clone());
    }
    slice.reverse();
    let decided = wanted.contains(&first.var) && wanted.is_disjoint(&others);
    decided.then_some(Rows { slice, sizes, reduced })
}

/// The map with its long rows apart, into `out`.
pub(super) fn apart(
    f: &mut Flattener,
    pat: &[Var],
    axes: &[Axis],
    body: &Body,
    rows: &Rows,
    prov: Prov,
    out: &mut Vec<crate::ir::Stmt>,
) -> F<()> {
    let first = axes[0];
    if f.thresholds.row_groups.is_some() && axes.len() == 1 && group_reduces(&f.p.vars, body) {
        let own = OwnSizes { sizes: rows.sizes.clone(), slice: rows.slice.clone(), rooms: Vec::new() };
        return ragged::reduced(f, pat, first, own, body, prov, out);
    }
    let mut made = Stmts::new(f, prov);
    let count = made.int("long");
    let which = made.vector("which", count.into());
    let mut long = Long { first, rest: &axes[1..], rows, count, which, least: 0, prov };
    let sums = if body.can_stop() { long.sums(f, body) } else { None };
    long.least = long.least(f, sums.as_ref().map_or(body, |s| &s.row));

    // Which rows are long.
    let mut made = Stmts::new(f, prov);
    let i = made.int("i");
    let (cond, mut keep) = is_long(&mut made, &long, i);
    keep.results = vec![cond, i.into()];
    let axis = Axis { var: i, size: first.size };
    made.push(vec![count, which], Exp::Filter { axis, body: keep });
    let filter = made.take();
    f.stmts(&filter, out)?;
    match sums {
        Some(sums) => long.before_all(f, pat, body, &sums, out),
        None => long.after_others(f, pat, body, out),
    }
}

/// The long rows of a map.
struct Long<'b> {
    first: Axis,
    rest: &'b [Axis],
    rows: &'b Rows,
    count: Var,
    which: Var,
    /// How many elements they have at least.
    least: i64,
    prov: Prov,
}

/// What rows come to.
struct Sums {
    /// What is read of it afterwards.
    sums: Vec<Var>,
    /// What makes that of a long row.
    row: Body,
    /// Whether it ends in whether the row would not have stopped the program.
    asks: bool,
}

impl Long<'_> {
    fn axes(&self) -> Vec<Axis> {
        std::iter::once(self.first).chain(self.rest.iter().copied()).collect()
    }

    /// From how many elements on a row is worth to be apart: fewer where a block may reduce it, which does nothing but that.
    fn least(&self, f: &Flattener, row: &Body) -> i64 {
        let long = f.thresholds.row_long;
        let scalar = |v: &Var| f.p.ty(*v).is_scalar();
        let plain = |b: &Body| {
            let mut plain = true;
            b.for_each_stmt(&mut |s| plain &= s.pat.iter().all(scalar) && !s.pat.is_empty());
            plain
        };
        let of_block = self.rest.is_empty() && numbers(f, row, &plain);
        f.thresholds.row_groups.filter(|_| of_block).map_or(long, |groups| groups.block.min(long))
    }

    /// What the statements that reduce rows give the others, and of a row whether it would not stop the program.
    fn sums(&self, f: &mut Flattener, body: &Body) -> Option<Sums> {
        let Range { start, end } = self.rows.reduced;
        let (upto, after) = body.stmts.split_at(end);
        let mut used: FxHashSet<Var> = FxHashSet::default();
        let rest = Body { stmts: after.to_vec(), results: body.results.clone() };
        rest.for_each_use(&mut |a| used.extend(a.as_var()));
        let made = upto[start..].iter().flat_map(|s| s.pat.iter().copied());
        let sums: Vec<Var> = made.filter(|v| used.contains(v)).collect();
        let mut row = Body { stmts: upto.to_vec(), results: sums.iter().map(|v| Atom::Var(*v)).collect() };
        let asks = row.can_stop();
        if asks {
            row = ask::asked(&mut Stmts::new(f, self.prov), &row).filter(|_| self.rest.is_empty())?;
        }
        let scalars = sums.iter().all(|v| f.p.ty(*v).is_scalar());
        scalars.then_some(Sums { sums, row, asks })
    }

    /// Each long row with all of the device; an array for each result of `body`, with an item for each row.
    fn reduced(
        &self,
        f: &mut Flattener,
        body: &Body,
        like: &[Ty],
        out: &mut Vec<crate::ir::Stmt>,
    ) -> F<Vec<Var>> {
        let mut made = Stmts::new(f, self.prov);
        let (g, at) = (made.int("g"), made.int("i"));
        made.push(vec![at], Exp::Index { array: self.which, at: vec![g.into()] });
        let own = |a: &Axis, made: &mut Stmts<'_>| Axis { var: made.like(a.var), size: a.size };
        let rest: Vec<Axis> = self.rest.iter().map(|a| own(a, &mut made)).collect();
        let here = self.rest.iter().zip(&rest).map(|(a, own)| (a.var, own.var.into()));
        let here: Vec<(Var, Atom)> = here.chain([(self.first.var, at.into())]).collect();
        let row = made.instance(body, &here);
        let results = if rest.is_empty() {
            made.splice(row)
        } else {
            let cells: Vec<Var> = like.iter().map(|ty| made.f.p.fresh("r", ty.clone())).collect();
            made.push(cells.clone(), Exp::Map { axes: rest, body: row });
            cells.into_iter().map(Atom::Var).collect()
        };
        let row = Body { stmts: made.take(), results };
        let over = |ty: &Ty| ty.over(&[self.count.into()]);
        let long: Vec<Var> = like.iter().map(|ty| f.p.fresh("long", over(ty))).collect();
        let axes = vec![Axis { var: g, size: self.count.into() }];
        let exp = crate::ir::Exp::SerialMap { axes, body: f.body(&row)? };
        out.push(crate::ir::Stmt { pat: long.clone(), exp, prov: self.prov });
        Ok(long)
    }

    /// The long rows, and then all points: what comes after a row is done in their order.
    fn before_all(
        &self,
        f: &mut Flattener,
        pat: &[Var],
        body: &Body,
        Sums { sums, row, asks }: &Sums,
        out: &mut Vec<crate::ir::Stmt>,
    ) -> F<()> {
        let Range { start, end } = self.rows.reduced;
        let sizes: Vec<Atom> = self.rest.iter().map(|a| a.size).collect();
        let tys = sums.iter().map(|v| f.p.ty(*v).over(&sizes));
        let tys: Vec<Ty> = tys.chain(asks.then_some(Ty::scalar(BaseTy::Bool))).collect();
        let long = self.reduced(f, row, &tys, out)?;
        let (long, fine) = long.split_at(sums.len());

        let mut made = Stmts::new(f, self.prov);
        let (cond, known) = is_long(&mut made, self, self.first.var);
        let place = self.place(&mut made);
        let at = |place| std::iter::once(place).chain(self.rest.iter().map(|a| a.var.into())).collect();
        let fine = match fine {
            [array] => made.element(*array, at(place)),
            _ => Atom::Const(Scalar::Bool(true)),
        };
        let then = Body { stmts: made.take(), results: vec![place, fine] };
        let otherwise =
            Body { stmts: Vec::new(), results: vec![Atom::int(0), Atom::Const(Scalar::Bool(false))] };
        let place = made.int("place");
        let fine = made.f.p.fresh("fine", Ty::scalar(BaseTy::Bool));
        made.push(vec![place, fine], Exp::If { cond, then, otherwise });
        let found = made.take();

        let results = long.iter().map(|array| made.element(*array, at(place.into()))).collect();
        let then = Body { stmts: made.take(), results };
        let results = sums.iter().map(|v| Atom::Var(*v)).collect();
        let otherwise = made.instance(&Body { stmts: body.stmts[start..end].to_vec(), results }, &[]);
        made.push(sums.to_vec(), Exp::If { cond: fine.into(), then, otherwise });
        let reduced = made.take();

        let stmts = [&known.stmts[..], &body.stmts[..start], &found, &reduced, &body.stmts[end..]].concat();
        let body = Body { stmts, results: body.results.clone() };
        let exp = seg(self.axes(), SegKind::Map, body);
        out.push(crate::ir::Stmt { pat: pat.to_vec(), exp, prov: self.prov });
        Ok(())
    }

    /// Which of the long rows this is, which is one: by bisection.
    fn place(&self, made: &mut Stmts<'_>) -> Atom {
        let [k, low, high] = ["k", "low", "high"].map(|name| made.int(name));
        let body = made.aside(|made| {
            let both = made.op(ScalarOp::Add, low.into(), high.into());
            let middle = made.op(ScalarOp::Quotient, both, Atom::int(2));
            let x = made.element(self.which, vec![middle]);
            let cond = made.op_of("c", BaseTy::Bool, ScalarOp::Le, &[x, self.first.var.into()]);
            let results = [[middle, low.into()], [high.into(), middle]].map(|[then, otherwise]| {
                made.op_of("n", BaseTy::I64, ScalarOp::Select, &[cond, then, otherwise])
            });
            Body { stmts: made.take(), results: results.to_vec() }
        });
        let state = vec![(low, Atom::int(0)), (high, self.count.into())];
        let axis = Axis { var: k, size: Atom::int(LONGEST.ilog2().into()) };
        let [place, end] = ["place", "end"].map(|name| made.int(name));
        made.push(vec![place, end], Exp::For { axis, state, body });
        place.into()
    }

    /// The others, then the long rows, and these where they belong.
    fn after_others(
        &self,
        f: &mut Flattener,
        pat: &[Var],
        body: &Body,
        out: &mut Vec<crate::ir::Stmt>,
    ) -> F<()> {
        let Long { prov, which, .. } = *self;
        let short = f.like(pat);
        let whole = Exp::Map { axes: self.axes(), body: body.clone() };
        let copy = f.copy(&super::one(short, whole, prov));
        for s in copy.stmts {
            let Exp::Map { axes, body } = s.exp else { continue };
            let mut made = Stmts::new(f, prov);
            let (cond, mut guarded) = is_long(&mut made, self, axes[0].var);
            let cells: Vec<Var> = s.pat.iter().map(|v| made.cell(*v, axes.len())).collect();
            let zeros: Vec<Atom> = cells.iter().map(|v| made.zero(*v)).collect();
            let zeros = Body { stmts: made.take(), results: zeros };
            guarded.results = cells.iter().map(|v| Atom::Var(*v)).collect();
            let exp = Exp::If { cond, then: zeros, otherwise: body };
            guarded.stmts.push(Stmt { pat: cells, exp, prov });
            out.push(crate::ir::Stmt { pat: s.pat, exp: seg(axes, SegKind::Map, guarded), prov });
        }
        let short: Vec<Var> = copy.results.iter().filter_map(|a| a.as_var()).collect();
        let like: Vec<Ty> = pat.iter().map(|v| f.p.ty(*v).cell(1)).collect();
        let long = self.reduced(f, body, &like, out)?;
        let mut made = Stmts::new(f, prov);
        let g = made.int("g");
        let mut written = Vec::new();
        for array in std::iter::once(which).chain(long) {
            let x = made.cell(array, 1);
            made.push(vec![x], Exp::Index { array, at: vec![g.into()] });
            written.push(x.into());
        }
        let body = Body { stmts: made.take(), results: written };
        let axis = Axis { var: g, size: self.count.into() };
        made.push(pat.to_vec(), Exp::Scatter { dests: short, axis, body, combine: None });
        let scatter = made.take();
        f.stmts(&scatter, out)
    }
}

/// Whether a row's statements compute numbers, or reduce to numbers what is `plain`.
fn numbers(f: &Flattener, row: &Body, plain: &impl Fn(&Body) -> bool) -> bool {
    let scalar = |v: &Var| f.p.ty(*v).is_scalar();
    row.results.iter().all(|a| a.as_var().is_none_or(|v| scalar(&v)))
        && row.stmts.iter().all(|s| {
            s.pat.iter().all(scalar)
                && match &s.exp {
                    Exp::Atom(_) | Exp::Op(..) | Exp::Cast(..) | Exp::Index { .. } => true,
                    Exp::Reduce { op, body, .. } => op.assoc && plain(body) && plain(&op.lambda.body),
                    Exp::If { then, otherwise, .. } => {
                        numbers(f, then, plain) && numbers(f, otherwise, plain)
                    }
                    _ => false,
                }
        })
}

/// Statements that say whether the row of `point` is long, without a result yet; the answer.
fn is_long(made: &mut Stmts<'_>, of: &Long<'_>, point: Var) -> (Atom, Body) {
    let rows = of.rows;
    let results = rows.sizes.iter().map(|v| Atom::Var(*v)).collect();
    let slice = Body { stmts: rows.slice.clone(), results };
    let slice = made.instance(&slice, &[(of.first.var, point.into())]);
    let sizes = made.splice(slice);
    let size = sizes.into_iter().reduce(|a, b| made.op(ScalarOp::Max2, a, b)).unwrap_or(Atom::int(0));
    let long = Atom::int(of.least);
    let cond = made.op_of("c", BaseTy::Bool, ScalarOp::Ge, &[size, long]);
    (cond, Body { stmts: made.take(), results: Vec::new() })
}
