//! Rows of sizes of their own: a task for each, all of it where a cache holds it.
//!
//! ```text
//! (join ((i k)) 0                               (let (%starts) (seg-scan grid full (i k) (index %ns i) +))
//!   (let (%n) (index %ns i))                    (let (%m %long) (filter (i k) … (give (>= %n 262144) i)))
//!   (let (%s) (reduce (j %n) …))         ⟶      (let (%short) (rows (i k) 0 (%starts) (leaf
//!   (let (%row) (map ((j %n)) …))                 (let (%c) (op >= %n 262144))
//!   (give %row))                                  (let (%n') (op min2 (select %c 0 %n) 262144))
//!                                                 (if %c … (let (%s) (reduce (j %n') …)) … (give %row)))))
//!                                               (let (%all) (for (g %m) ((%to %short))
//!                                                 (let (%i) (index %long g)) … (seg-red grid (j %n) …) …
//!                                                 (scatter (j %n) (%to) (give (+ %s j) (index %row j)))))
//! ```
//!
//! A point of such a map goes through its row as often as its body says, and what the body makes on the way is of the
//! row's size. If a leaf does all that, what it reads comes from memory once, and what it gives goes there once; other
//! arrays are scratch. The leaf needs an upper bound of its sizes for that. A row that has as many elements as `row.long`
//! is worth all threads anyway, so it comes afterwards with all of the device ([`super::balance`] does the same where rows are
//! reduced), and the others have fewer.
//!
//! Where threads run side by side, tasks of very different lengths would wait for each other, and each would read its row
//! by itself, far from its neighbours'. So there a row of some length is a group's, whose threads do all of it together;
//! each class of lengths is a launch, over the rows that are of it:
//!
//! ```text
//! (let (%m %which) (filter (i k) … (give (and (>= %n 32) (< %n 1024)) i)))         for a warp
//! (let (%m' %which') (filter (i k) … (give (and (>= %n 1024) (< %n 262144)) i)))   for a block
//! (let (%a) (rows grid (%i %k) 0 (%starts) (leaf … (if (>= %n 32) nothing else the row))))      a thread each
//! (let (%b) (rows warp (%i %m) (of %which (%a)) 0 (%starts) (leaf … the row …) (scratch (%starts %total))))
//! (let (%c) (rows block (%i %m') (of %which' (%b)) …))
//! ```
//!
//! What such a row makes on the way is in memory that has room for those of all rows, so its size needs no bound; which
//! rows can be done so [`group_sizes`] says.
//!
//! How many items a row has may be known only when it is made, as of those that a filter keeps. If there is a bound of it
//! that is known before, each row is made in memory for so many, and all are compacted then ([`bounded`]):
//!
//! ```text
//! (join ((i k)) 0                               (let (%from) (seg-scan grid full (i k) (index %ns i) +))
//!   (let (%n) (index %ns i))                    (let (%ms %room) (rows (i k) 1 (%from) (leaf
//!   (let (%m %kept) (filter (j %n) …))    ⟶       (let (%m %kept) (filter (j %n) …)) (give %m %kept))))
//!   (give %kept))                               (join ((i k)) 0
//!                                                 (let (%m) (index %ms i)) (let (%s) (index %from i))
//!                                                 (let (%row) (map ((j %m)) (index %room (+ %s j))))
//!                                                 (give %row))
//! ```
//!
//! Rows that wait for themselves are asked first whether they are of one size ([`equal`]).
//!
//! Where rows begin is known before any is made: their sizes are straight-line code ([`own_sizes`]). Checks that are, too,
//! come before all rows, those of the sizes among them; where others would have to come before the sizes, rows are not
//! apart. Where a row may still stop the program, a long one is a task as the others are: of several that stop it, the
//! first is told.

mod bounded;
mod equal;
mod functions;

use super::{F, Flattener, NEVER, host::Stmts};
use crate::ir::{self, Level, Points, Scratch};
use remc_base::ops::{ScalarOp, zero};
use remc_base::{BaseTy, Prov};
use remc_mono::ir::*;
use remc_mono::legal::{OwnSizes, group_sizes, is_straight_line, own_sizes, sorts};
use remc_mono::opt::RowsAre;
use remc_mono::walk::{Copier, retype};
use rustc_hash::FxHashMap;

/// A row that is sorted is long at this part of the length at which others are.
const SORTED: i64 = 16;

/// The running sums of a vector of lengths, one more than these.
#[derive(Clone, Copy)]
pub(super) struct Ends {
    lengths: Var,
    size: Atom,
    ends: Var,
}

impl Ends {
    /// Those that a statement makes.
    pub fn of(s: &Stmt) -> Option<Ends> {
        let (Exp::Scan { kind: ScanKind::Full, axis, body, op }, [ends]) = (&s.exp, &s.pat[..]) else {
            return None;
        };
        let ([Stmt { pat, exp: Exp::Index { array, at }, .. }], [r]) = (&body.stmts[..], &body.results[..])
        else {
            return None;
        };
        let sum = op.start.as_deref() == Some(&[Atom::int(0)])
            && op.component_ops().is_some_and(|ops| ops == [ScalarOp::Add]);
        let whole = at[..] == [Atom::Var(axis.var)] && pat.first().map(|v| Atom::Var(*v)) == Some(*r);
        (sum && whole).then_some(Ends { lengths: *array, size: axis.size, ends: *ends })
    }
}

/// A map or join over rows of sizes of their own, into `out`; says whether it is one that a leaf can do.
pub(super) fn rows(
    f: &mut Flattener,
    pat: &[Var],
    (axis, regular, body): (Axis, usize, &Body),
    prov: Prov,
    out: &mut Vec<ir::Stmt>,
) -> F<bool> {
    let own = match f.thresholds.rows() {
        RowsAre::Distributed => None,
        RowsAre::Tasks => own_sizes(&f.p.vars, &axis, regular, body),
        RowsAre::Groups => group_sizes(&f.p.vars, &axis, regular, body),
    };
    let Some(own) = own else { return Ok(false) };
    let (checks, mut rest) = checks_apart(f, body, prov);
    if !guarded(&own, &rest) {
        return Ok(false);
    }
    let (maps, joined) = pat.split_at(regular.min(pat.len()));
    let mut made = Stmts::new(f, prov);
    if !checks.stmts.is_empty() {
        let i = made.int("i");
        let body = made.instance(&checks, &[(axis.var, i.into())]);
        made.push(Vec::new(), Exp::Map { axes: vec![Axis { var: i, size: axis.size }], body });
    }
    if made.f.thresholds.rows() == RowsAre::Tasks {
        functions::apart(&mut made, axis, &mut rest);
    }
    let mut known = Vec::new();
    if own.rooms.iter().any(Option::is_some) {
        let row = Rows { axis, regular, own, scratch: Vec::new(), body: rest, prov };
        let stmts = made.take();
        f.stmts(&stmts, out)?;
        bounded::rows(f, row, maps, joined, out)?;
        return Ok(true);
    }
    let starts = starts(&mut made, axis, &own, &rest, regular, joined, &mut known);
    let scratch = match made.f.thresholds.row_groups {
        Some(_) => scratch(&mut made, axis, &own, &rest, &mut known),
        None => Vec::new(),
    };
    let rows = Rows { axis, regular, own, scratch, body: rest, prov };
    // Of several rows that stop the program the first is told, which rows that come afterwards would not know of.
    let long = if rows.body.can_stop() { NEVER } else { made.f.thresholds.row_long };
    let stmts = made.take();
    f.stmts(&stmts, out)?;

    let data: Vec<Var> = joined.chunks(3).map(|part| part[2]).collect();
    let all: Vec<Var> = maps.iter().chain(&data).copied().collect();
    // No lanes sort, and a group has more threads than lanes.
    if !equal::waits(&rows.body) || sorts(&rows.body) || f.thresholds.row_groups.is_some() {
        rows.one_by_one(f, all, starts, long, out)?;
        return Ok(true);
    }
    let equal = rows.equal(f, f.thresholds.row_long, out)?;
    let then = rows.of_one_size(f, &equal, &all)?;
    let others = f.like(&all);
    let mut stmts = Vec::new();
    rows.one_by_one(f, others.clone(), starts, long, &mut stmts)?;
    let results = others.into_iter().map(Atom::Var).collect();
    let exp = ir::Exp::If { cond: equal.cond, then, otherwise: ir::Body { stmts, results } };
    out.push(ir::Stmt { pat: all, exp, prov });
    Ok(true)
}

/// The checks of a body that straight-line code decides, with that code; and the body without them.
fn checks_apart(f: &mut Flattener, body: &Body, prov: Prov) -> (Body, Body) {
    let made = Stmts::new(f, prov);
    let straight = |s: &Stmt| is_straight_line(&made.f.p.vars, s);
    let mut apart: Vec<usize> = Vec::new();
    for (k, s) in body.stmts.iter().enumerate().filter(|(_, s)| matches!(s.exp, Exp::Check { .. })) {
        let mut results = Vec::new();
        s.exp.for_each_operand(&mut |a| results.push(a));
        let needed = made.needed(Body { stmts: body.stmts[..k].to_vec(), results });
        if needed.stmts.iter().all(straight) {
            apart.push(k);
        }
    }
    let is_check = |s: &Stmt| matches!(s.exp, Exp::Check { .. });
    let code = body.stmts.iter().enumerate();
    let code =
        code.filter(|(k, s)| straight(s) && (!is_check(s) || apart.contains(k))).map(|(_, s)| s.clone());
    let checks = made.live(Body { stmts: code.collect(), results: Vec::new() });
    let rest = body.stmts.iter().enumerate().filter(|(k, _)| !apart.contains(k)).map(|(_, s)| s.clone());
    (checks, Body { stmts: rest.collect(), results: body.results.clone() })
}

/// The map that makes a result of a row, a vector, taken out of its body: if it does straight-line code, and nobody else
/// reads what it gives.
fn last_map(f: &Flattener, row: &mut Body, k: usize) -> Option<(Axis, Body)> {
    let r = row.results[k].as_var().filter(|v| f.p.ty(*v).rank() == 1)?;
    let at = row.stmts.iter().position(|s| s.pat == [r])?;
    let Exp::Map { axes, body } = &row.stmts[at].exp else { return None };
    let ([axis], true) = (axes.as_slice(), body.stmts.iter().all(|s| s.exp.bodies().is_empty())) else {
        return None;
    };
    let mut uses = 0;
    row.for_each_use(&mut |a| uses += usize::from(a == r.into()));
    if uses != 1 {
        return None;
    }
    let made = (*axis, body.clone());
    row.stmts.remove(at);
    Some(made)
}

/// Whether the elements that sizes are computed from are there, as far as checks in a row would find out.
fn guarded(own: &OwnSizes, row: &Body) -> bool {
    let reads = |s: &Stmt| {
        matches!(s.exp, Exp::Index { .. } | Exp::If { .. }) && own.slice.iter().any(|o| o.pat == s.pat)
    };
    let last = row.stmts.iter().rposition(reads).unwrap_or(0);
    !row.stmts[..last].iter().any(|s| s.exp.can_stop())
}

/// Binds, for each result that is joined, how many elements there are in all and where those of each point begin; the
/// vectors that say the latter.
fn starts(
    made: &mut Stmts<'_>,
    axis: Axis,
    own: &OwnSizes,
    body: &Body,
    regular: usize,
    joined: &[Var],
    known: &mut Vec<(Vec<Atom>, Var, Var)>,
) -> Vec<Var> {
    let mut all = Vec::new();
    for (part, r) in joined.chunks(3).zip(&body.results[regular..]) {
        let dims = made.f.p.atom_ty(*r).dims;
        begin(made, axis, own, dims, (part[0], part[1]), known);
        all.push(part[1]);
    }
    all
}

/// Binds how many elements arrays of these dims have in all, and where those of each point begin.
fn begin(
    made: &mut Stmts<'_>,
    axis: Axis,
    own: &OwnSizes,
    dims: Vec<Atom>,
    (total, starts): (Var, Var),
    known: &mut Vec<(Vec<Atom>, Var, Var)>,
) {
    if let Some((_, all, first)) = known.iter().find(|(d, ..)| *d == dims) {
        let (all, first) = (*all, *first);
        made.push(vec![total], Exp::Atom(all.into()));
        made.push(vec![starts], Exp::Atom(first.into()));
        return;
    }
    let ends = ends_known(made.f, axis, own, &dims).unwrap_or_else(|| ends_of(made, axis, own, &dims));
    made.push(vec![total], Exp::Index { array: ends, at: vec![axis.size] });
    let view = View::Slice { start: vec![Atom::int(0)], dims: vec![axis.size] };
    made.push(vec![starts], Exp::View { view, array: ends });
    known.push((dims, total, starts));
}

/// Room for the arrays that a row makes beside those that it gives: for each size of them.
fn scratch(
    made: &mut Stmts<'_>,
    axis: Axis,
    own: &OwnSizes,
    body: &Body,
    known: &mut Vec<(Vec<Atom>, Var, Var)>,
) -> Vec<(Var, Scratch)> {
    let mut all = Vec::new();
    for size in &own.sizes {
        let dims = vec![Atom::Var(*size)];
        let of_size = |v: &Var| made.f.p.ty(*v).dims == dims;
        let mut makes = false;
        body.for_each_stmt(&mut |s| makes |= s.exp.makes_arrays() && s.pat.iter().any(of_size));
        if !makes {
            continue;
        }
        if !known.iter().any(|(d, ..)| *d == dims) {
            let total = made.int("total");
            let starts = made.vector("starts", axis.size);
            begin(made, axis, own, dims.clone(), (total, starts), known);
        }
        if let Some((_, total, starts)) = known.iter().find(|(d, ..)| *d == dims) {
            all.push((*size, Scratch { starts: *starts, total: (*total).into() }));
        }
    }
    all
}

/// A map over rows that are reduced alone, of which those that are long enough are a group's or the device's.
pub(super) fn reduced(
    f: &mut Flattener,
    pat: &[Var],
    axis: Axis,
    own: OwnSizes,
    body: &Body,
    prov: Prov,
    out: &mut Vec<ir::Stmt>,
) -> F<()> {
    let rows = Rows { axis, regular: pat.len(), own, scratch: Vec::new(), body: body.clone(), prov };
    let long = f.thresholds.row_long;
    rows.one_by_one(f, pat.to_vec(), Vec::new(), long, out)
}

/// Where rows of these dims end, if that has been computed of the vector of their lengths.
fn ends_known(f: &Flattener, axis: Axis, own: &OwnSizes, dims: &[Atom]) -> Option<Var> {
    let [length] = dims else { return None };
    let makes = |s: &&Stmt| s.pat.iter().any(|v| Atom::Var(*v) == *length);
    let Exp::Index { array, at } = &own.slice.iter().find(makes)?.exp else { return None };
    let whole = at[..] == [Atom::Var(axis.var)];
    let found = f.ends.iter().find(|e| whole && e.lengths == *array && e.size == axis.size);
    found.map(|e| e.ends)
}

/// The running sums of the numbers of elements of rows.
fn ends_of(made: &mut Stmts<'_>, axis: Axis, own: &OwnSizes, dims: &[Atom]) -> Var {
    let i = made.int("i");
    let counts = made.aside(|made| {
        let count = dims.iter().copied().reduce(|a, b| made.op(ScalarOp::Mul, a, b));
        // A check that is still to come may find that it is negative.
        let count = made.op(ScalarOp::Max2, count.unwrap_or(Atom::int(1)), Atom::int(0));
        let product = made.take();
        let stmts = own.slice.iter().cloned().chain(product).collect();
        let body = Body { stmts, results: vec![count] };
        made.instance(&body, &[(axis.var, i.into())])
    });
    let [a, b] = ["acc", "x"].map(|name| made.int(name));
    let sum = made.aside(|made| {
        let results = vec![made.op(ScalarOp::Add, a.into(), b.into())];
        Body { stmts: made.take(), results }
    });
    let op = Combine {
        lambda: Lambda { params: vec![a, b], body: sum },
        start: Some(vec![Atom::int(0)]),
        assoc: true,
        alone: false,
    };
    let more = made.op(ScalarOp::Add, axis.size, Atom::int(1));
    let ends = made.vector("starts", more);
    let over = Axis { var: i, size: axis.size };
    made.push(vec![ends], Exp::Scan { kind: ScanKind::Full, axis: over, body: counts, op });
    ends
}

/// The rows of a map or join.
struct Rows {
    axis: Axis,
    regular: usize,
    own: OwnSizes,
    /// Where a group does a row: room for the arrays of each of these sizes.
    scratch: Vec<(Var, Scratch)>,
    body: Body,
    prov: Prov,
}

/// Rows of so many elements, and fewer than so many, are such a group's.
struct Class {
    level: Level,
    least: i64,
    below: i64,
}

impl Rows {
    /// The groups that rows shorter than `long` are for.
    fn classes(&self, f: &Flattener, long: i64) -> Vec<Class> {
        let Some(groups) = f.thresholds.row_groups else { return Vec::new() };
        let block = groups.block.min(long);
        let warp = Class { level: Level::Warp, least: groups.warp.min(block), below: block };
        let block = Class { level: Level::Block, least: block, below: long };
        [warp, block].into_iter().filter(|c| c.least < c.below).collect()
    }

    /// Each row by itself, those of a size from `long` on afterwards.
    fn one_by_one(
        &self,
        f: &mut Flattener,
        all: Vec<Var>,
        starts: Vec<Var>,
        long: i64,
        out: &mut Vec<ir::Stmt>,
    ) -> F<()> {
        if long == NEVER {
            let most = self.greatest(f, out)?;
            let leaf = self.leaf(f, most, false);
            out.push(self.stmt(all, starts, leaf));
            return Ok(());
        }
        // Sorting takes so many rounds more over a row.
        let long = if sorts(&self.body) { (long / SORTED).max(1) } else { long };
        if f.thresholds.row_groups.is_none() && self.are_of_one_size() {
            return self.alike(f, all, starts, long, out);
        }
        let classes = self.classes(f, long);
        let mut groups = Vec::new();
        for class in &classes {
            groups.push(self.which(f, class.least, Some(class.below), out)?);
        }
        let (count, which) = self.which(f, long, None, out)?;
        let first = classes.first().map_or(long, |class| class.least);
        let leaf = self.leaf(f, Atom::int(first), true);
        let mut short: Vec<Var> = f.like(&all);
        let parts = starts.clone();
        let g = f.p.fresh("g", Ty::int());
        out.push(self.stmt(short.clone(), starts.clone(), leaf));
        for (class, (count, which)) in classes.iter().zip(groups) {
            let more = f.like(&all);
            let points = Points { which, into: std::mem::replace(&mut short, more.clone()) };
            out.push(self.of_groups(f, more, class.level, count, points, starts.clone()));
        }
        let (state, body) = self.long(f, Some(which), g, &all, &short, &parts);
        // One after the other, as they stand: of each all that is parallel.
        let exp = ir::Exp::For { axis: Axis { var: g, size: count.into() }, state, body: f.body(&body)? };
        out.push(ir::Stmt { pat: all, exp, prov: self.prov });
        Ok(())
    }

    /// Whether no size depends on the point.
    fn are_of_one_size(&self) -> bool {
        let results = self.own.sizes.iter().map(|v| Atom::Var(*v)).collect();
        let mut depends = false;
        let sizes = Body { stmts: self.own.slice.clone(), results };
        sizes.for_each_use(&mut |a| depends |= a == Atom::Var(self.axis.var));
        !depends
    }

    /// Rows of one size: all of them by themselves, or all of them one after the other.
    fn alike(
        &self,
        f: &mut Flattener,
        all: Vec<Var>,
        starts: Vec<Var>,
        long: i64,
        out: &mut Vec<ir::Stmt>,
    ) -> F<()> {
        let mut made = Stmts::new(f, self.prov);
        let (most, sizes) = self.sizes(&mut made, self.axis.var);
        let cond = made.op_of("c", BaseTy::Bool, ScalarOp::Ge, &[most, Atom::int(long)]);
        let stmts = made.take();
        if sizes.is_empty() {
            // They are known, and a few.
            let leaf = self.leaf(f, most, false);
            out.push(self.stmt(all, starts, leaf));
            return Ok(());
        }
        f.stmts(&stmts, out)?;
        let Atom::Var(cond) = cond else { return Ok(()) };
        let others = f.like(&all);
        let leaf = self.leaf(f, most, false);
        let alone = self.stmt(others.clone(), starts.clone(), leaf);
        let mut made = Stmts::new(f, self.prov);
        let nothing: Vec<Var> = all.iter().map(|v| made.zeros(*v)).collect();
        let stmts = made.take();
        let mut then = Vec::new();
        f.stmts(&stmts, &mut then)?;
        let g = f.p.fresh("g", Ty::int());
        let (state, body) = self.long(f, None, g, &all, &nothing, &starts);
        let exp = ir::Exp::For { axis: Axis { var: g, size: self.axis.size }, state, body: f.body(&body)? };
        let each = f.like(&all);
        then.push(ir::Stmt { pat: each.clone(), exp, prov: self.prov });
        let body =
            |stmts, pat: Vec<Var>| ir::Body { stmts, results: pat.into_iter().map(Atom::Var).collect() };
        let (then, otherwise) = (body(then, each), body(vec![alone], others));
        out.push(ir::Stmt {
            pat: all,
            exp: ir::Exp::If { cond: cond.into(), then, otherwise },
            prov: self.prov,
        });
        Ok(())
    }

    fn stmt(&self, pat: Vec<Var>, starts: Vec<Var>, (i, body): (Var, Body)) -> ir::Stmt {
        let axis = Axis { var: i, size: self.axis.size };
        let exp = match starts.is_empty() && self.scratch.is_empty() && !sorts(&body) {
            true => super::seg(vec![axis], ir::SegKind::Map, body),
            false => {
                let (level, regular) = (Level::Grid, self.regular);
                ir::Exp::Rows(ir::Rows { level, axis, of: None, regular, starts, scratch: Vec::new(), body })
            }
        };
        ir::Stmt { pat, exp, prov: self.prov }
    }

    /// Some rows, a group's each.
    fn of_groups(
        &self,
        f: &mut Flattener,
        pat: Vec<Var>,
        level: Level,
        count: Var,
        points: Points,
        starts: Vec<Var>,
    ) -> ir::Stmt {
        let mut made = Stmts::new(f, self.prov);
        let i = made.int("i");
        let sizes = self.scratch.iter().map(|(size, _)| Atom::Var(*size));
        let results = self.body.results.iter().copied().chain(sizes).collect();
        let row = Body { stmts: self.body.stmts.clone(), results };
        let body = made.instance(&row, &[(self.axis.var, i.into())]);
        let axis = Axis { var: i, size: count.into() };
        let scratch = self.scratch.iter().map(|(_, s)| *s).collect();
        let (of, regular) = (Some(points), self.regular);
        let exp = ir::Exp::Rows(ir::Rows { level, axis, of, regular, starts, scratch, body });
        ir::Stmt { pat, exp, prov: self.prov }
    }

    /// The greatest of the sizes of point `i`, by statements that are made for it; each of them.
    fn sizes(&self, made: &mut Stmts<'_>, i: Var) -> (Atom, Vec<Atom>) {
        let results = self.own.sizes.iter().map(|v| Atom::Var(*v)).collect();
        let slice = Body { stmts: self.own.slice.clone(), results };
        let slice = made.instance(&slice, &[(self.axis.var, i.into())]);
        let sizes = made.splice(slice);
        let most = sizes.iter().copied().reduce(|a, b| made.op(ScalarOp::Max2, a, b));
        (most.unwrap_or(Atom::int(0)), sizes)
    }

    /// What operators, each from its start, combine numbers to that points give: statistics of the sizes of all rows.
    fn over_all(
        &self,
        f: &mut Flattener,
        ops: &[(ScalarOp, &str, i64)],
        numbers: impl FnOnce(&mut Stmts<'_>, Var) -> Vec<Atom>,
        out: &mut Vec<ir::Stmt>,
    ) -> F<Vec<Atom>> {
        let mut made = Stmts::new(f, self.prov);
        let i = made.int("i");
        let body = made.aside(|made| {
            let results = numbers(made, i);
            Body { stmts: made.take(), results }
        });
        let [accs, elements] =
            ["acc", "x"].map(|name| ops.iter().map(|_| made.int(name)).collect::<Vec<_>>());
        let combined = made.aside(|made| {
            let pairs = ops.iter().zip(accs.iter().zip(&elements));
            let results = pairs.map(|((op, ..), (a, x))| made.op(*op, (*a).into(), (*x).into())).collect();
            Body { stmts: made.take(), results }
        });
        let lambda = Lambda { params: [accs, elements].concat(), body: combined };
        let start = Some(ops.iter().map(|(.., start)| Atom::int(*start)).collect());
        let op = Combine { lambda, start, assoc: true, alone: false };
        let found: Vec<Var> = ops.iter().map(|(_, name, _)| made.int(name)).collect();
        made.push(found.clone(), Exp::Reduce { axis: Axis { var: i, size: self.axis.size }, body, op });
        let stmts = made.take();
        f.stmts(&stmts, out)?;
        Ok(found.into_iter().map(Atom::Var).collect())
    }

    /// The greatest size of any point.
    fn greatest(&self, f: &mut Flattener, out: &mut Vec<ir::Stmt>) -> F<Atom> {
        let most =
            self.over_all(f, &[(ScalarOp::Max2, "most", 0)], |made, i| vec![self.sizes(made, i).0], out)?;
        Ok(most.first().copied().unwrap_or(Atom::int(0)))
    }

    /// The body of point `i`, with these for its sizes.
    fn with_sizes(&self, f: &mut Flattener, i: Var, sizes: &[Atom]) -> Body {
        let mut copier = Copier::new(&mut f.p);
        copier.with.insert(self.axis.var, i.into());
        let mut row = copier.body(&self.body);
        let copies = self.own.sizes.iter().map(|v| copier.with.get(v).and_then(|a| a.as_var()));
        let with: FxHashMap<Var, Atom> = copies.zip(sizes).filter_map(|(v, n)| Some((v?, *n))).collect();
        row.substitute(&with);
        let binders = row.binders();
        retype(&mut f.p, &binders, &with);
        row
    }

    /// How many rows have so many elements, and not as many as that, and which.
    fn which(
        &self,
        f: &mut Flattener,
        least: i64,
        below: Option<i64>,
        out: &mut Vec<ir::Stmt>,
    ) -> F<(Var, Var)> {
        let mut made = Stmts::new(f, self.prov);
        let i = made.int("i");
        let body = made.aside(|made| {
            let (most, _) = self.sizes(made, i);
            let mut cond = made.op_of("c", BaseTy::Bool, ScalarOp::Ge, &[most, Atom::int(least)]);
            if let Some(below) = below {
                let less = made.op_of("c", BaseTy::Bool, ScalarOp::Lt, &[most, Atom::int(below)]);
                cond = made.op_of("c", BaseTy::Bool, ScalarOp::And, &[cond, less]);
            }
            Body { stmts: made.take(), results: vec![cond, i.into()] }
        });
        let count = made.int("long");
        let which = made.vector("which", count.into());
        let axis = Axis { var: i, size: self.axis.size };
        made.push(vec![count, which], Exp::Filter { axis, body });
        let stmts = made.take();
        f.stmts(&stmts, out)?;
        Ok((count, which))
    }

    /// The leaf of a point, in which no size is above `most`; with `apart` that of a point whose row is short, which makes
    /// nothing of another.
    fn leaf(&self, f: &mut Flattener, most: Atom, apart: bool) -> (Var, Body) {
        let mut made = Stmts::new(f, self.prov);
        let i = made.int("i");
        let (greatest, sizes) = self.sizes(&mut made, i);
        let cond = apart.then(|| made.op_of("c", BaseTy::Bool, ScalarOp::Ge, &[greatest, most]));
        let bounded: Vec<Atom> = sizes
            .into_iter()
            .map(|n| {
                let n = match cond {
                    Some(c) => made.op_of("n", BaseTy::I64, ScalarOp::Select, &[c, Atom::int(0), n]),
                    None => n,
                };
                made.op(ScalarOp::Min2, n, most)
            })
            .collect();
        let row = self.with_sizes(made.f, i, &bounded);
        let Some(cond) = cond else {
            let results = made.splice(row);
            return (i, Body { stmts: made.take(), results });
        };
        let tys: Vec<Ty> = row.results.iter().map(|a| made.f.p.atom_ty(*a)).collect();
        let given: Vec<Var> = tys.iter().map(|ty| made.f.p.fresh("r", ty.clone())).collect();
        // Of rows whose sizes are known only when they are made, these are among what is given: none where nothing is made.
        let inside = row.binders();
        let own = row.results.iter().zip(&given).filter_map(|(a, v)| Some((a.as_var()?, Atom::Var(*v))));
        let sizes = |v: Var| inside.contains(&v) && tys.iter().any(|ty| ty.dims.contains(&v.into()));
        let own: FxHashMap<Var, Atom> = own.filter(|(v, _)| sizes(*v)).collect();
        let empty: Vec<Var> = match own.is_empty() {
            true => given.clone(),
            false => tys.iter().map(|ty| made.f.p.fresh("none", ty.clone())).collect(),
        };
        retype(&mut made.f.p, &given, &own);
        retype(&mut made.f.p, &empty, &own.keys().map(|v| (*v, Atom::int(0))).collect());
        let nothing = made.aside(|made| {
            let results = empty.iter().zip(&tys).map(|(v, ty)| match ty.is_scalar() {
                true => Atom::Const(zero(ty.base)),
                false => made.zero(*v),
            });
            let results = results.collect();
            Body { stmts: made.take(), results }
        });
        let results = given.iter().map(|v| Atom::Var(*v)).collect();
        made.push(given, Exp::If { cond, then: nothing, otherwise: row });
        (i, Body { stmts: made.take(), results })
    }

    /// What long rows, or all of them, go into, one after the other, from what the others gave; and how each does.
    fn long(
        &self,
        f: &mut Flattener,
        which: Option<Var>,
        g: Var,
        pat: &[Var],
        short: &[Var],
        starts: &[Var],
    ) -> (Vec<(Var, Atom)>, Body) {
        let mut made = Stmts::new(f, self.prov);
        let state: Vec<(Var, Atom)> =
            pat.iter().zip(short).map(|(v, s)| (made.like(*v), Atom::Var(*s))).collect();
        let body = made.aside(|made| {
            let i = match which {
                Some(which) => made.element(which, vec![g.into()]),
                None => g.into(),
            };
            let mut row = made.instance(&self.body, &[(self.axis.var, i)]);
            let last: Vec<Option<(Axis, Body)>> =
                (self.regular..row.results.len()).map(|k| last_map(made.f, &mut row, k)).collect();
            let results = made.splice(row);
            let (cells, rows) = results.split_at(self.regular);
            let accs: Vec<Atom> = state.iter().map(|(v, _)| Atom::Var(*v)).collect();
            let mut next = made.write_all(&pat[..self.regular], &accs[..self.regular], i, cells);
            let joined = pat[self.regular..].iter().zip(&accs[self.regular..]);
            for ((((v, acc), r), starts), map) in joined.zip(rows).zip(starts).zip(last) {
                let (Some(acc), Some(array)) = (acc.as_var(), r.as_var()) else { continue };
                let start = made.element(*starts, vec![i]);
                let new = made.like(*v);
                let written = match map {
                    Some((axis, elements)) => made.made_from(axis, elements, start, acc),
                    None => made.written_from(array, start, acc),
                };
                made.push(vec![new], written);
                next.push(Atom::Var(new));
            }
            Body { stmts: made.take(), results: next }
        });
        (state, body)
    }
}
