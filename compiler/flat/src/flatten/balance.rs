//! Rows of sizes of their own, the very long ones apart.
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

use super::{F, Flattener, host::Stmts, seg};
use crate::ir::{Axis, SegKind};
use crate::legal::{Size, Sizes};
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Prov};
use remc_mono::ir::*;
use rustc_hash::FxHashSet;

/// How the sizes of a map's rows are found.
pub(super) struct Rows {
    /// The statements of the body that make them.
    slice: Vec<Stmt>,
    sizes: Vec<Var>,
}

/// The rows that the points of a map reduce, if the first axis alone decides their sizes.
pub(super) fn rows(f: &Flattener, axes: &[Axis], body: &Body) -> Option<Rows> {
    let (first, rest) = axes.split_first()?;
    let binders: Vec<Var> = axes.iter().map(|a| a.var).collect();
    let mut known = Sizes::inside(&binders, &[body]);
    let mut sizes: Vec<Var> = Vec::new();
    let mut before: usize = 0;
    for (k, s) in body.stmts.iter().enumerate() {
        known.learn(s);
        let own = Body { stmts: vec![s.clone()], results: Vec::new() };
        own.for_each_stmt(&mut |s| {
            if let Exp::Reduce { axis, op, .. } = &s.exp
                && op.assoc
                && let Some(v) = axis.size.as_var()
                && known.of(axis.size) != Some(Size::Known)
                && !sizes.contains(&v)
                && body.stmts[..k].iter().any(|s| s.pat.contains(&v))
            {
                sizes.push(v);
                before = k;
            }
        });
    }
    if sizes.is_empty() || body.stmts[..before].iter().any(|s| matches!(s.exp, Exp::Check { .. })) {
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
    decided.then_some(Rows { slice, sizes })
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
    let (first, rest) = (axes[0], &axes[1..]);
    let mut made = Stmts::new(f, prov);

    // Which rows are long.
    let i = made.int("i");
    let (cond, mut keep) = is_long(&mut made, rows, first.var, i);
    keep.results = vec![cond, i.into()];
    let count = made.int("long");
    let which = made.vector("which", count.into());
    let axis = Axis { var: i, size: first.size };
    made.push(vec![count, which], Exp::Filter { axis, body: keep });
    let filter = made.take();
    f.stmts(&filter, out)?;

    // The others.
    let short = f.like(pat);
    let whole = Exp::Map { axes: axes.to_vec(), body: body.clone() };
    let copy = f.copy(&super::one(short.clone(), whole, prov));
    for s in copy.stmts {
        let Exp::Map { axes, body } = s.exp else { continue };
        let mut made = Stmts::new(f, prov);
        let (cond, mut guarded) = is_long(&mut made, rows, first.var, axes[0].var);
        let cells: Vec<Var> = s.pat.iter().map(|v| made.cell(*v, axes.len())).collect();
        let zeros: Vec<Atom> = cells.iter().map(|v| made.zero(*v)).collect();
        let zeros = Body { stmts: made.take(), results: zeros };
        guarded.results = cells.iter().map(|v| Atom::Var(*v)).collect();
        let exp = Exp::If { cond, then: zeros, otherwise: body };
        guarded.stmts.push(Stmt { pat: cells, exp, prov });
        out.push(crate::ir::Stmt { pat: s.pat, exp: seg(axes, SegKind::Map, guarded), prov });
    }

    // Each long row with all of the device, and all of them where they belong.
    let short: Vec<Var> = copy.results.iter().filter_map(|a| a.as_var()).collect();
    let mut made = Stmts::new(f, prov);
    let (g, at) = (made.int("g"), made.int("i"));
    made.push(vec![at], Exp::Index { array: which, at: vec![g.into()] });
    let row = made.instance(body, &[(first.var, at.into())]);
    let results = if rest.is_empty() {
        made.splice(row)
    } else {
        let cells: Vec<Var> = pat.iter().map(|v| made.cell(*v, 1)).collect();
        made.push(cells.clone(), Exp::Map { axes: rest.to_vec(), body: row });
        cells.into_iter().map(Atom::Var).collect()
    };
    let row = Body { stmts: made.take(), results };
    let over = |f: &mut Flattener, v: &Var| {
        let ty = f.p.ty(*v).cell(1).over(&[count.into()]);
        f.p.fresh("long", ty)
    };
    let long: Vec<Var> = pat.iter().map(|v| over(f, v)).collect();
    let axes = vec![Axis { var: g, size: count.into() }];
    let exp = crate::ir::Exp::SerialMap { axes, body: f.body(&row)? };
    out.push(crate::ir::Stmt { pat: long.clone(), exp, prov });
    let mut made = Stmts::new(f, prov);
    let g = made.int("g");
    let mut written = Vec::new();
    for array in std::iter::once(which).chain(long) {
        let x = made.cell(array, 1);
        made.push(vec![x], Exp::Index { array, at: vec![g.into()] });
        written.push(x.into());
    }
    let body = Body { stmts: made.take(), results: written };
    let axis = Axis { var: g, size: count.into() };
    made.push(pat.to_vec(), Exp::Scatter { dests: short, axis, body, combine: None });
    let scatter = made.take();
    f.stmts(&scatter, out)
}

/// Statements that say whether the row of `point` is long, without a result yet; the answer.
fn is_long(made: &mut Stmts<'_>, rows: &Rows, axis: Var, point: Var) -> (Atom, Body) {
    let results = rows.sizes.iter().map(|v| Atom::Var(*v)).collect();
    let slice = Body { stmts: rows.slice.clone(), results };
    let slice = made.instance(&slice, &[(axis, point.into())]);
    let sizes = made.splice(slice);
    let size = sizes.into_iter().reduce(|a, b| made.op(ScalarOp::Max2, a, b)).unwrap_or(Atom::int(0));
    let long = Atom::int(made.f.thresholds.row_long);
    let cond = made.op_of("c", BaseTy::Bool, ScalarOp::Ge, &[size, long]);
    (cond, Body { stmts: made.take(), results: Vec::new() })
}
