//! One statement of a body over all iterations, where it makes or reads arrays of sizes of its own.

use super::space::{Points, Space};
use super::{Distributor, Level, Lifted, Ragged};
use crate::ir::*;
use crate::walk::Copier;
use remc_base::ops::{ScalarOp, zero};
use remc_base::{BaseTy, Scalar};
use rustc_hash::FxHashSet;

impl Distributor<'_> {
    /// Lifts what a statement binds; `inside` are the variables bound in the body.
    pub(super) fn lift(&mut self, level: &mut Level, s: &Stmt, inside: &FxHashSet<Var>) {
        let sizes = |this: &Self, v: Var| this.has_dims_of(v, inside);
        match &s.exp {
            Exp::Map { axes, body } => {
                let arrays = self.ragged_map(level, axes, body);
                for (v, r) in s.pat.iter().zip(arrays) {
                    level.lifted.insert(*v, Lifted::Ragged(r));
                }
            }
            Exp::Scan { kind, axis, body, op } if self.scans_scalars(s, op) => {
                self.ragged_scan(level, s, *kind, axis, body, op);
            }
            Exp::Filter { axis, body } if s.pat[1..].iter().all(|v| !self.has_dims_past(*v, 1, inside)) => {
                self.ragged_filter(level, s, axis, body);
            }
            Exp::Grade { axis, body, gives: Gives::Places } if self.grades_alike(body, inside) => {
                self.ragged_grade(level, s, axis, body);
            }
            Exp::Scatter { dests, axis, body, combine }
                if combine.as_ref().is_none_or(|l| !self.is_irregular(&l.body, l.params.clone()))
                    && dests.iter().all(|d| !self.has_dims_past(*d, 1, inside)) =>
            {
                self.ragged_scatter(level, s, dests, axis, body, combine.as_ref());
            }
            Exp::Join { axis, regular, body } => self.ragged_join(level, s, axis, *regular, body),
            Exp::View { view, array } => self.ragged_view(level, s, view, *array),
            Exp::Atom(Atom::Var(x)) if sizes(self, s.pat[0]) => match level.lifted.get(x).cloned() {
                Some(l) => {
                    level.lifted.insert(s.pat[0], l);
                }
                None => self.alone(level, s, inside),
            },
            Exp::Index { .. } | Exp::Literal { .. } => self.ragged_copy(level, s),
            Exp::If { cond, then, otherwise } => self.branch(level, s, *cond, then, otherwise, inside),
            _ => self.alone(level, s, inside),
        }
    }

    /// Whether the dims of an array, past the first few, mention a variable of the body.
    pub(super) fn has_dims_past(&self, v: Var, k: usize, inside: &FxHashSet<Var>) -> bool {
        let dims = self.p.ty(v).dims.get(k..).unwrap_or_default();
        dims.iter().any(|d| d.as_var().is_some_and(|d| inside.contains(&d)))
    }

    /// A statement that nothing is known of: one iteration after the other, which the host runs.
    pub(super) fn alone(&mut self, level: &mut Level, s: &Stmt, inside: &FxHashSet<Var>) {
        let (ragged, regular): (Vec<Var>, Vec<Var>) =
            s.pat.iter().partition(|v| self.has_dims_of(**v, inside));
        let results = regular.iter().chain(&ragged).map(|v| Atom::Var(*v)).collect();
        let body = Body { stmts: vec![s.clone()], results };
        let i = self.int("i");
        let (mut stmts, copy) = self.at(level, i.into(), &body, &[]);
        let mut pat = Vec::new();
        for a in &copy.results[..regular.len()] {
            let ty = self.p.atom_ty(*a).over(&[level.count]);
            pat.push(self.p.fresh("a", ty));
        }
        for (v, array) in regular.iter().zip(&pat) {
            level.lifted.insert(*v, Lifted::Regular(*array));
        }
        for v in &ragged {
            let parts = self.joined(*v, level.count);
            let r = Ragged { data: parts[2], starts: parts[1], is_compact: true };
            level.lifted.insert(*v, Lifted::Ragged(r));
            pat.extend(parts);
        }
        let outer = std::mem::take(&mut self.out);
        std::mem::swap(&mut self.out, &mut stmts);
        let results = copy.results;
        let body = Body { stmts: std::mem::replace(&mut self.out, outer), results };
        let axis = Axis { var: i, size: level.count };
        self.push(pat, Exp::Join { axis, regular: regular.len(), body });
    }

    /// Variables for what a join gives of an array like this.
    fn joined(&mut self, like: Var, count: Atom) -> [Var; 3] {
        let base = self.p.ty(like).base;
        let total = self.int("total");
        let starts = self.p.fresh("starts", Ty { base: BaseTy::I64, dims: vec![count] });
        let data = self.p.fresh("data", Ty { base, dims: vec![total.into()] });
        [total, starts, data]
    }

    /// A map of the body over axes of sizes of their own: over the space of its points.
    ///
    /// Axes behind them that are of one size for all take no part in the space: one point of it is for all of theirs,
    /// so that `[n]` and `[n 3]` have one space, and the place of an element of a row of `[n 3]` is found by that of
    /// its item.
    pub(super) fn ragged_map(&mut self, level: &mut Level, axes: &[Axis], body: &Body) -> Vec<Ragged> {
        let dims: Vec<Atom> = axes.iter().map(|a| a.size).collect();
        let is_own = |d: &Atom| d.as_var().is_some_and(|v| level.lifted.contains_key(&v));
        let (front, cell) = dims.split_at(dims.iter().rposition(is_own).map_or(dims.len(), |k| k + 1));
        let items = self.space(level, front);
        let (points, size) = self.with_cells(level.count, items.points, cell);
        let point = self.int("q");
        let inner = self.body_of(|this| {
            let (item, in_cell) = match cell {
                [] => (point.into(), None),
                _ => {
                    let item = this.op(ScalarOp::Quotient, point.into(), size);
                    (item, Some(this.op(ScalarOp::Modulo, point.into(), size)))
                }
            };
            let (s, place) = this.place(&items, item);
            // The indices of the point, by the sizes of its own iteration.
            let sizes = Body { stmts: Vec::new(), results: dims.clone() };
            let (stmts, sizes) = this.at(level, s, &sizes, &[]);
            this.out.extend(stmts);
            let own: Vec<Axis> =
                sizes.results.iter().map(|size| Axis { var: this.int("i"), size: *size }).collect();
            let (outer, inner) = own.split_at(front.len());
            this.unravel(place, outer);
            if let Some(in_cell) = in_cell {
                this.unravel(in_cell, inner);
            }
            let with: Vec<(Var, Atom)> = axes.iter().zip(&own).map(|(a, o)| (a.var, o.var.into())).collect();
            let (stmts, copy) = this.at(level, s, body, &with);
            this.out.extend(stmts);
            copy.results
        });
        let bound: FxHashSet<Var> = inner.binders().into_iter().chain([point]).collect();
        let types: Vec<Ty> = inner.results.iter().map(|a| self.p.atom_ty(*a)).collect();
        let own = |ty: &Ty| ty.dims.iter().any(|d| d.as_var().is_some_and(|d| bound.contains(&d)));
        let axis = Axis { var: point, size: points.total };
        if types.iter().any(own) {
            return self.ragged_rows(points, axis, inner, &types);
        }
        let pat: Vec<Var> = types.iter().map(|t| self.p.fresh("data", t.over(&[points.total]))).collect();
        let exp = Exp::Map { axes: vec![axis], body: inner };
        self.stmt(Stmt { pat: pat.clone(), exp, prov: self.prov });
        pat.into_iter().map(|v| self.cells(points, level.count, v)).collect()
    }

    /// The elements of cells, one at each of the points of `count` iterations, and how many each has.
    fn with_cells(&mut self, count: Atom, points: Points, cell: &[Atom]) -> (Points, Atom) {
        let size = self.product(cell);
        if cell.is_empty() {
            return (points, size);
        }
        let starts = self.ints("starts", count, |this, i| {
            let start = this.read(points.starts, i);
            this.op(ScalarOp::Mul, start, size)
        });
        (Points { starts, total: self.op(ScalarOp::Mul, points.total, size) }, size)
    }

    /// The array of the cells of all points, as arrays of the iterations.
    fn cells(&mut self, points: Points, count: Atom, array: Var) -> Ragged {
        let Ty { base, dims } = self.p.ty(array).clone();
        let (Points { starts, total }, _) = self.with_cells(count, points, &dims[1..]);
        if dims.len() == 1 {
            return Ragged { data: array, starts, is_compact: true };
        }
        let data = self.p.fresh("data", Ty { base, dims: vec![total] });
        self.push(vec![data], Exp::View { view: View::Reshape { dims: vec![total] }, array });
        Ragged { data, starts, is_compact: true }
    }

    /// A map whose body gives arrays of sizes of their own at each point: a join over the space.
    fn ragged_rows(&mut self, points: Points, axis: Axis, body: Body, types: &[Ty]) -> Vec<Ragged> {
        let mut pat = Vec::new();
        let results = body.results.iter().zip(types).map(|(a, ty)| match ty.is_scalar() {
            true => (*a, true),
            false => (*a, false),
        });
        let (scalars, rows): (Vec<_>, Vec<_>) = results.enumerate().partition(|(_, (_, scalar))| *scalar);
        let mut made: Vec<Option<Ragged>> = vec![None; types.len()];
        for (k, _) in &scalars {
            let v = self.p.fresh("data", types[*k].over(&[axis.size]));
            made[*k] = Some(Ragged { data: v, starts: points.starts, is_compact: true });
            pat.push(v);
        }
        let mut joins = Vec::new();
        for (k, (a, _)) in &rows {
            let Some(v) = a.as_var() else { continue };
            let parts = self.joined(v, axis.size);
            pat.extend(parts);
            joins.push((*k, parts));
        }
        let order = scalars.iter().chain(&rows).map(|(_, (a, _))| *a).collect();
        let body = Body { stmts: body.stmts, results: order };
        let exp = Exp::Join { axis, regular: scalars.len(), body };
        self.stmt(Stmt { pat, exp, prov: self.prov });
        for (k, [total, starts, data]) in joins {
            let starts = self.starts_of(points, starts, total);
            made[k] = Some(Ragged { data, starts, is_compact: true });
        }
        made.into_iter().flatten().collect()
    }

    /// Where the elements of each iteration start, if `starts` say so of each point of a space.
    fn starts_of(&mut self, points: Points, starts: Var, total: Var) -> Var {
        let n = self.p.ty(points.starts).dims[0];
        self.ints("starts", n, |this, i| {
            let first = this.read(points.starts, i);
            this.start_at(starts, first, points.total, total)
        })
    }

    /// Element `at` of the starts of `points` points, the number of all elements past the last.
    fn start_at(&mut self, starts: Var, at: Atom, points: Atom, total: Var) -> Atom {
        let there = self.op(ScalarOp::Lt, at, points);
        let then = self.body_of(|this| vec![this.read(starts, at)]);
        let otherwise = Body { stmts: Vec::new(), results: vec![total.into()] };
        let start = self.int("start");
        self.push(vec![start], Exp::If { cond: there, then, otherwise });
        start.into()
    }

    /// Whether a scan is one of scalars by an associative operator that a flag can guard.
    fn scans_scalars(&self, s: &Stmt, op: &Combine) -> bool {
        let scalars = op.lambda.params.iter().all(|v| self.p.ty(*v).is_scalar());
        op.assoc && scalars && op.lambda.params.len() == 2 * s.pat.len()
    }

    /// A scan in each iteration: one scan of elements with a flag where an iteration begins, which keeps
    /// what comes before out.
    ///
    /// Nothing is after the last element of an exclusive scan, so it is not an element here: only its checks are made.
    fn ragged_scan(
        &mut self,
        level: &mut Level,
        s: &Stmt,
        kind: ScanKind,
        axis: &Axis,
        body: &Body,
        op: &Combine,
    ) {
        if kind == ScanKind::Exclusive && body.can_stop() {
            self.ragged_map(level, &[*axis], &Body { stmts: body.stmts.clone(), results: Vec::new() });
        }
        let dims = vec![self.p.ty(s.pat[0]).dims[0]];
        let space = self.space(level, &dims);
        let point = self.int("q");
        let types: Vec<Ty> = op.lambda.params[..s.pat.len()].iter().map(|v| self.p.ty(*v).clone()).collect();
        let elements = self.body_of(|this| {
            let (it, j) = this.place(&space, point.into());
            let first = this.op(ScalarOp::Eq, j, Atom::int(0));
            let own = |this: &mut Self, j: Atom| {
                let (stmts, copy) = this.at(level, it, body, &[(axis.var, j)]);
                this.out.extend(stmts);
                copy.results
            };
            let starts = |this: &mut Self| {
                let all = op.start.clone().unwrap_or_default();
                let (stmts, copy) = this.at(level, it, &Body { stmts: Vec::new(), results: all }, &[]);
                this.out.extend(stmts);
                copy.results
            };
            let values = match (kind, &op.start) {
                (ScanKind::Inclusive, None) => own(this, j),
                (ScanKind::Inclusive, Some(_)) => {
                    let values = own(this, j);
                    let then = this.body_of(|this| {
                        let mut args: Vec<(Var, Atom)> =
                            op.lambda.params.iter().copied().zip(starts(this)).collect();
                        args.extend(op.lambda.params[types.len()..].iter().copied().zip(values.clone()));
                        let (stmts, copy) = this.at(level, it, &op.lambda.body, &args);
                        this.out.extend(stmts);
                        copy.results
                    });
                    this.either(first, then, Body { stmts: Vec::new(), results: values }, &types)
                }
                (ScanKind::Exclusive | ScanKind::Full, _) => {
                    let then = this.body_of(starts);
                    let otherwise = this.body_of(|this| {
                        let before = this.op(ScalarOp::Sub, j, Atom::int(1));
                        own(this, before)
                    });
                    this.either(first, then, otherwise, &types)
                }
            };
            std::iter::once(first).chain(values).collect()
        });

        // (f, a) ⊕ (g, b) = (f ∨ g, if g then b else a ⊕ b)
        let flag = Ty::scalar(BaseTy::Bool);
        let all: Vec<Ty> = std::iter::once(flag).chain(types.iter().cloned()).collect();
        let accs: Vec<Var> = all.iter().map(|t| self.p.fresh("acc", t.clone())).collect();
        let elems: Vec<Var> = all.iter().map(|t| self.p.fresh("x", t.clone())).collect();
        let combined = self.body_of(|this| {
            let any = this.op(ScalarOp::Or, accs[0].into(), elems[0].into());
            let otherwise = this.body_of(|this| {
                let params = op.lambda.params.iter().copied();
                let args: Vec<(Var, Atom)> =
                    params.zip(accs[1..].iter().chain(&elems[1..]).map(|v| Atom::Var(*v))).collect();
                let copy = Copier::instance(this.p, &op.lambda.body, &args);
                this.out.extend(copy.stmts);
                copy.results
            });
            let then =
                Body { stmts: Vec::new(), results: elems[1..].iter().map(|v| Atom::Var(*v)).collect() };
            let values = this.either(elems[0].into(), then, otherwise, &types);
            std::iter::once(any).chain(values).collect()
        });
        let params = accs.into_iter().chain(elems).collect();
        let start = all.iter().map(|t| Atom::Const(zero(t.base))).collect();
        let combine = Combine {
            lambda: Lambda { params, body: combined },
            start: Some(start),
            assoc: true,
            alone: false,
        };
        let pat: Vec<Var> = all.iter().map(|t| self.p.fresh("data", t.over(&[space.points.total]))).collect();
        let axis = Axis { var: point, size: space.points.total };
        let exp = Exp::Scan { kind: ScanKind::Inclusive, axis, body: elements, op: combine };
        self.push(pat.clone(), exp);
        for (v, data) in s.pat.iter().zip(&pat[1..]) {
            let r = Ragged { data: *data, starts: space.points.starts, is_compact: true };
            level.lifted.insert(*v, Lifted::Ragged(r));
        }
    }

    /// The values of one body or the other: by selection where both may run.
    fn either(&mut self, cond: Atom, then: Body, otherwise: Body, types: &[Ty]) -> Vec<Atom> {
        let simple = |b: &Body| b.stmts.iter().all(|s| matches!(s.exp, Exp::Op(..) | Exp::Cast(..)));
        let pat: Vec<Var> = types.iter().map(|t| self.p.fresh("r", t.clone())).collect();
        if simple(&then) && simple(&otherwise) {
            let (yes, no) = (then.results, otherwise.results);
            self.out.extend(then.stmts);
            self.out.extend(otherwise.stmts);
            for (v, (yes, no)) in pat.iter().zip(yes.into_iter().zip(no)) {
                self.push(vec![*v], Exp::Op(ScalarOp::Select, vec![cond, yes, no]));
            }
        } else {
            self.push(pat.clone(), Exp::If { cond, then, otherwise });
        }
        pat.into_iter().map(Atom::Var).collect()
    }

    /// A filter in each iteration: one of all elements, and how many each iteration keeps.
    fn ragged_filter(&mut self, level: &mut Level, s: &Stmt, axis: &Axis, body: &Body) {
        let Some((count, arrays)) = s.pat.split_first() else { return };
        let space = self.space(level, &[axis.size]);
        // Whether to keep each element, for the counts and for the filter itself.
        let flags = Body { stmts: body.stmts.clone(), results: body.results[..1].to_vec() };
        let table = space.each.map(|size| self.flags_of_equal(level, Axis { size, ..*axis }, &flags));
        let keep = match table {
            Some(table) => {
                let dims = vec![space.points.total];
                let keep = self.p.fresh("keep", Ty { base: BaseTy::Bool, dims: dims.clone() });
                self.push(vec![keep], Exp::View { view: View::Reshape { dims }, array: table });
                keep
            }
            None => self.ragged_map(level, &[*axis], &flags).remove(0).data,
        };
        let counts = {
            let i = self.int("i");
            let inner = self.body_of(|this| {
                let (stmts, size) =
                    this.at(level, i.into(), &Body { stmts: Vec::new(), results: vec![axis.size] }, &[]);
                this.out.extend(stmts);
                let start = this.read(space.points.starts, i.into());
                let j = this.int("j");
                let ones = this.body_of(|this| {
                    let kept = match table {
                        Some(table) => {
                            let row = this.read(table, i.into());
                            row.as_var().map_or(row, |row| this.read(row, j.into()))
                        }
                        None => {
                            let at = this.op(ScalarOp::Add, start, j.into());
                            this.read(keep, at)
                        }
                    };
                    let one = this.int("one");
                    this.push(vec![one], Exp::Cast(BaseTy::I64, kept));
                    vec![one.into()]
                });
                let op = this.combine(ScalarOp::Add);
                let kept = this.int("kept");
                let axis = Axis { var: j, size: size.results[0] };
                this.push(vec![kept], Exp::Reduce { axis, body: ones, op });
                vec![kept.into()]
            });
            let v = self.p.fresh("kept", Ty { base: BaseTy::I64, dims: vec![level.count] });
            let axes = vec![Axis { var: i, size: level.count }];
            self.push(vec![v], Exp::Map { axes, body: inner });
            v
        };
        level.lifted.insert(*count, Lifted::Regular(counts));
        if arrays.is_empty() {
            return;
        }
        let point = self.int("q");
        let values = Body { stmts: body.stmts.clone(), results: body.results[1..].to_vec() };
        let inner = self.body_of(|this| {
            let (it, j) = this.place(&space, point.into());
            let kept = this.read(keep, point.into());
            let (stmts, copy) = this.at(level, it, &values, &[(axis.var, j)]);
            this.out.extend(stmts);
            std::iter::once(kept).chain(copy.results).collect()
        });
        let total = self.int("total");
        let mut pat = vec![total];
        for v in arrays {
            let ty = self.p.ty(*v).cell(1).over(&[total.into()]);
            pat.push(self.p.fresh("data", ty));
        }
        let over = Axis { var: point, size: space.points.total };
        self.stmt(Stmt { pat: pat.clone(), exp: Exp::Filter { axis: over, body: inner }, prov: self.prov });
        let starts =
            self.running(ScanKind::Exclusive, ScalarOp::Add, level.count, level.count, counts, "starts");
        let kept = Points { starts, total: total.into() };
        for (v, data) in arrays.iter().zip(&pat[1..]) {
            let r = self.cells(kept, level.count, *data);
            level.lifted.insert(*v, Lifted::Ragged(r));
        }
    }

    /// Whether to keep each element of iterations that have as many of them: a row for each iteration.
    fn flags_of_equal(&mut self, level: &Level, axis: Axis, flags: &Body) -> Var {
        let (i, j) = (self.int("i"), self.int("j"));
        let body = self.body_of(|this| {
            let (stmts, copy) = this.at(level, i.into(), flags, &[(axis.var, j.into())]);
            this.out.extend(stmts);
            copy.results
        });
        let table = self.p.fresh("keep", Ty { base: BaseTy::Bool, dims: vec![level.count, axis.size] });
        let axes = vec![Axis { var: i, size: level.count }, Axis { var: j, ..axis }];
        self.stmt(Stmt { pat: vec![table], exp: Exp::Map { axes, body }, prov: self.prov });
        table
    }

    /// A sort in each iteration: one of all elements, by the iteration first.
    fn ragged_grade(&mut self, level: &mut Level, s: &Stmt, axis: &Axis, body: &Body) {
        let space = self.space(level, &[axis.size]);
        // The keys are made once, not at each comparison.
        let types: Vec<Ty> = body.results.iter().map(|a| self.p.atom_ty(*a)).collect();
        let keys = self.ragged_map(level, &[*axis], body);
        let point = self.int("q");
        let inner = self.body_of(|this| {
            let it = this.read(space.segment, point.into());
            let mut all = vec![it];
            for (r, ty) in keys.iter().zip(&types) {
                let key = match ty.is_scalar() {
                    true => this.read(r.data, point.into()),
                    false => {
                        let size = this.product(&ty.dims);
                        let start = this.op(ScalarOp::Mul, point.into(), size);
                        let part = this.p.fresh("key", Ty { base: ty.base, dims: vec![size] });
                        let view = View::Slice { start: vec![start], dims: vec![size] };
                        this.push(vec![part], Exp::View { view, array: r.data });
                        part.into()
                    }
                };
                all.push(key);
            }
            all
        });
        let order = self.p.fresh("order", Ty { base: BaseTy::I64, dims: vec![space.points.total] });
        let axis = Axis { var: point, size: space.points.total };
        self.push(vec![order], Exp::Grade { axis, body: inner, gives: Gives::Places });
        let data = self.ints("order", space.points.total, |this, q| {
            let at = this.read(order, q);
            let (_, start) = this.start_of(&space, q);
            this.op(ScalarOp::Sub, at, start)
        });
        let r = Ragged { data, starts: space.points.starts, is_compact: true };
        level.lifted.insert(s.pat[0], Lifted::Ragged(r));
    }

    /// Whether the keys of a sort are of one size for all iterations.
    fn grades_alike(&self, body: &Body, inside: &FxHashSet<Var>) -> bool {
        let own: FxHashSet<Var> = body.binders().into_iter().collect();
        let mut keys = body.results.iter().filter_map(|a| a.as_var());
        keys.all(|v| !self.has_dims_of(v, inside) && !self.has_dims_of(v, &own))
    }

    fn start_of(&mut self, space: &Space, point: Atom) -> (Atom, Atom) {
        let it = self.read(space.segment, point);
        (it, self.read(space.points.starts, it))
    }

    /// A scatter in each iteration: one into a copy of all arrays, in whose items the iterations are one
    /// after the other.
    fn ragged_scatter(
        &mut self,
        level: &mut Level,
        s: &Stmt,
        dests: &[Var],
        axis: &Axis,
        body: &Body,
        combine: Option<&Lambda>,
    ) {
        let items = self.p.ty(dests[0]).dims[0];
        let rows = self.space(level, &[items]);
        let mut copies = Vec::with_capacity(dests.len());
        for d in dests {
            let ty = self.p.ty(*d).clone();
            let j = self.int("j");
            let item = self.p.fresh("item", ty.cell(1));
            let stmts = vec![Stmt {
                pat: vec![item],
                exp: Exp::Index { array: *d, at: vec![j.into()] },
                prov: self.prov,
            }];
            let copy = Body { stmts, results: vec![item.into()] };
            let r = self.ragged_map(level, &[Axis { var: j, size: items }], &copy).remove(0);
            let whole = ty.cell(1).over(&[rows.points.total]);
            let Atom::Var(v) = self.reshaped(r.data, &whole) else { continue };
            copies.push(v);
        }
        let writes = self.space(level, &[axis.size]);
        let point = self.int("q");
        let inner = self.body_of(|this| {
            let (it, j) = this.place(&writes, point.into());
            let (stmts, copy) = this.at(level, it, body, &[(axis.var, j)]);
            this.out.extend(stmts);
            let first = this.read(rows.points.starts, it);
            let at = copy.results[0];
            let there = this.op(ScalarOp::Ge, at, Atom::int(0));
            let place = this.op(ScalarOp::Add, first, at);
            let chosen = this.int("place");
            this.push(vec![chosen], Exp::Op(ScalarOp::Select, vec![there, place, Atom::int(-1)]));
            std::iter::once(chosen.into()).chain(copy.results[1..].iter().copied()).collect()
        });
        let combine = combine.map(|l| {
            let mut c = Copier::new(self.p);
            let params = l.params.iter().map(|v| {
                let info = c.program.vars[*v].clone();
                let new = c.program.vars.push(info);
                c.with.insert(*v, new.into());
                new
            });
            let params = params.collect();
            Lambda { params, body: c.body(&l.body) }
        });
        let pat: Vec<Var> = copies
            .iter()
            .map(|v| {
                let ty = self.p.ty(*v).clone();
                self.p.fresh("data", ty)
            })
            .collect();
        let over = Axis { var: point, size: writes.points.total };
        let exp = Exp::Scatter { dests: copies, axis: over, body: inner, combine };
        self.stmt(Stmt { pat: pat.clone(), exp, prov: self.prov });
        for (v, data) in s.pat.iter().zip(pat) {
            let r = self.cells(rows.points, level.count, data);
            level.lifted.insert(*v, Lifted::Ragged(r));
        }
    }

    /// A join in each iteration: one over the space of all points.
    fn ragged_join(&mut self, level: &mut Level, s: &Stmt, axis: &Axis, regular: usize, body: &Body) {
        let space = self.space(level, &[axis.size]);
        let point = self.int("q");
        let inner = self.body_of(|this| {
            let (it, j) = this.place(&space, point.into());
            let (stmts, copy) = this.at(level, it, body, &[(axis.var, j)]);
            this.out.extend(stmts);
            copy.results
        });
        let (maps, joins) = s.pat.split_at(regular);
        let bound: FxHashSet<Var> = inner.binders().into_iter().chain([point]).collect();
        let own = |this: &Self, a: &Atom| {
            this.p.atom_ty(*a).dims.iter().any(|d| d.as_var().is_some_and(|d| bound.contains(&d)))
        };
        // What is of one size in all iterations of a point's own join is of its own size over all points.
        let given = maps.iter().copied().zip(inner.results.iter().copied());
        let (rows, kept): (Vec<_>, Vec<_>) = given.partition(|(_, a)| own(self, a));
        let mut pat: Vec<Var> = Vec::new();
        for (_, a) in &kept {
            let ty = self.p.atom_ty(*a).over(&[space.points.total]);
            pat.push(self.p.fresh("data", ty));
        }
        let made = pat.clone();
        let (mut of_rows, mut all) = (Vec::new(), Vec::new());
        for (v, _) in &rows {
            let parts = self.joined(*v, space.points.total);
            pat.extend(parts);
            of_rows.push(parts);
        }
        for part in joins.chunks(3) {
            let parts = self.joined(part[2], space.points.total);
            pat.extend(parts);
            all.push(parts);
        }
        let over = Axis { var: point, size: space.points.total };
        let rest = inner.results.iter().skip(regular).copied();
        let results = kept.iter().chain(&rows).map(|(_, a)| *a).chain(rest).collect();
        let inner = Body { stmts: inner.stmts, results };
        self.stmt(Stmt {
            pat,
            exp: Exp::Join { axis: over, regular: kept.len(), body: inner },
            prov: self.prov,
        });
        for ((v, _), data) in kept.iter().zip(made) {
            let r = self.cells(space.points, level.count, data);
            level.lifted.insert(*v, Lifted::Ragged(r));
        }
        for ((v, _), [total, starts, data]) in rows.iter().zip(of_rows) {
            let starts = self.starts_of(space.points, starts, total);
            level.lifted.insert(*v, Lifted::Ragged(Ragged { data, starts, is_compact: true }));
        }
        for (part, [total, starts, data]) in joins.chunks(3).zip(all) {
            // The elements of an iteration are those of its points; its own starts count from the first.
            let firsts = self.starts_of(space.points, starts, total);
            let n = level.count;
            let totals = self.ints("total", n, |this, i| {
                let first = this.read(firsts, i);
                let next = this.op(ScalarOp::Add, i, Atom::int(1));
                let end = this.start_at(firsts, next, n, total);
                this.op(ScalarOp::Sub, end, first)
            });
            let own = self.ints("starts", space.points.total, |this, q| {
                let start = this.read(starts, q);
                let it = this.read(space.segment, q);
                let first = this.read(firsts, it);
                this.op(ScalarOp::Sub, start, first)
            });
            level.lifted.insert(part[0], Lifted::Regular(totals));
            let r = Ragged { data: own, starts: space.points.starts, is_compact: true };
            level.lifted.insert(part[1], Lifted::Ragged(r));
            let r = Ragged { data, starts: firsts, is_compact: true };
            level.lifted.insert(part[2], Lifted::Ragged(r));
        }
    }

    /// Another arrangement: of elements that lie together only where they begin is another.
    fn ragged_view(&mut self, level: &mut Level, s: &Stmt, view: &View, array: Var) {
        let whole = self.p.ty(array).rank() == 1;
        let source = match level.lifted.get(&array) {
            Some(Lifted::Ragged(r)) => Some((r.data, Some(r.starts))),
            None if whole => Some((array, None)),
            _ => None,
        };
        match (view, source) {
            (View::Reshape { .. }, Some((data, Some(starts)))) => {
                let is_compact = matches!(level.lifted.get(&array), Some(Lifted::Ragged(r)) if r.is_compact);
                level.lifted.insert(s.pat[0], Lifted::Ragged(Ragged { data, starts, is_compact }));
            }
            (View::Slice { start, .. }, Some((data, starts))) if whole => {
                let start = start[0];
                let begins = Body { stmts: Vec::new(), results: vec![start] };
                let begins = self.over_points(level, &begins)[0];
                let starts = match starts {
                    None => begins,
                    Some(starts) => self.ints("starts", level.count, |this, i| {
                        let (a, b) = (this.read(starts, i), this.read(begins, i));
                        this.op(ScalarOp::Add, a, b)
                    }),
                };
                let r = Ragged { data, starts, is_compact: false };
                level.lifted.insert(s.pat[0], Lifted::Ragged(r));
            }
            _ => self.ragged_copy(level, s),
        }
    }

    /// What binds one array, element by element.
    fn ragged_copy(&mut self, level: &mut Level, s: &Stmt) {
        let v = s.pat[0];
        let Ty { base, dims } = self.p.ty(v).clone();
        let axes: Vec<Axis> = dims.iter().map(|d| Axis { var: self.int("j"), size: *d }).collect();
        let x = self.p.fresh("x", Ty::scalar(base));
        let at = axes.iter().map(|a| a.var.into()).collect();
        let read = Stmt { pat: vec![x], exp: Exp::Index { array: v, at }, prov: s.prov };
        let body = Body { stmts: vec![s.clone(), read], results: vec![x.into()] };
        let r = self.ragged_map(level, &axes, &body).remove(0);
        level.lifted.insert(v, Lifted::Ragged(r));
    }
}

/// The constant of a condition that is known.
pub(super) fn constant(a: Atom) -> Option<bool> {
    match a {
        Atom::Const(Scalar::Bool(b)) => Some(b),
        _ => None,
    }
}
