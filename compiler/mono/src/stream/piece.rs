//! The loop of a pass: pieces of a stream pulled one after the other, what is made of each, and what is left at the end.

use super::emit::Emit;
use super::fold::{Fold, Piece, TRUE, apply, is_exact, lambda, nothing};
use super::levels::{Sink, What};
use super::*;
use crate::walk::Copier;
use remc_base::BaseTy;
use remc_base::ops::ScalarOp;

/// The most items of a tile, and how many elements they have together at most.
const TILE: i64 = 1024;
const TILE_ELEMENTS: i64 = 1 << 18;

/// State of a loop: the variable in the body, what it is at first, and what binds its last value.
struct State {
    vars: Vec<Var>,
    first: Vec<Atom>,
    last: Vec<Var>,
}

/// What a loop carries.
enum Carried {
    Fold(Fold),
    /// The last prefix of the scan that is this definition.
    Scan(usize),
    /// How many items of an axis there were; of a stream's own that is the loop's place.
    Count(usize),
}

impl Streamer<'_> {
    /// Emits a loop along the stream of the axis `root`, for what it leaves behind.
    pub fn pass(&mut self, root: usize, sinks: Vec<Sink>, out: &mut Vec<Stmt>) -> S {
        if let Some(first) = sinks.first() {
            self.prov = first.prov;
        }
        let defs = self.wanted(&sinks);
        let folds: Vec<Fold> = sinks
            .iter()
            .filter_map(|s| match &s.what {
                What::Fold(f) => Some(self.fold_at_end(f)),
                _ => None,
            })
            .collect();
        let used = self.used(&defs, &folds, &sinks);
        let channels: Vec<usize> = (0..self.sources.len())
            .filter(|k| {
                let s = &self.sources[*k];
                s.axis == root && s.arrays.iter().any(|v| used.contains(v))
            })
            .collect();
        // A length alone is that of any of the channels.
        let channels = match channels.is_empty() {
            true => self.sources.iter().position(|s| s.axis == root).into_iter().collect(),
            false => channels,
        };

        // What goes from piece to piece.
        let mut carried: Vec<Carried> = Vec::new();
        for k in &defs {
            let axes = (0..self.axes.len()).filter(|a| self.axes[*a].made_by == Some(*k));
            carried.extend(axes.map(Carried::Count));
            if matches!(self.defs[*k].exp, Exp::Scan { .. }) {
                carried.push(Carried::Scan(*k));
            }
        }
        let tiled = folds.iter().any(|f| f.is_tiled(root));
        carried.extend(folds.into_iter().map(Carried::Fold));

        let at_end: Vec<Stmt> = defs
            .iter()
            .map(|k| {
                let mut s = self.defs[*k].clone();
                self.values_at_end(&mut s.exp);
                s
            })
            .collect();
        let mut made = std::mem::take(out);
        let mut e = Emit::new(self.p, self.prov);
        e.stmts = std::mem::take(&mut made);
        let tile = if tiled { Some(tile_of(&mut e, &self.sources[channels[0]])) } else { None };
        let mut states = Vec::new();
        for c in &carried {
            states.push(match c {
                Carried::Count(_) => State {
                    vars: vec![e.p.fresh("before", Ty::int())],
                    first: vec![Atom::int(0)],
                    last: vec![e.p.fresh("length", Ty::int())],
                },
                Carried::Scan(k) => {
                    let (vars, first) = first_prefix(&mut e, &at_end[defs.iter().position(|d| d == k).unwrap_or(0)].exp);
                    let last = e.fresh_like(&vars, &[]);
                    State { vars, first, last }
                }
                Carried::Fold(f) => {
                    let first = f.first(&mut e);
                    State { vars: e.fresh_like(&f.pat, &[]), first, last: f.pat.clone() }
                }
            });
        }

        // The body.
        let (at, going) = (e.p.fresh("at", Ty::int()), e.p.fresh("going", Ty::scalar(BaseTy::Bool)));
        let mut piece = Piece {
            with: FxHashMap::default(),
            at: FxHashMap::default(),
            along: self.along.clone(),
            root,
            tile,
        };
        let outer = std::mem::take(&mut e.stmts);
        let mut count: Option<Atom> = None;
        for k in &channels {
            let source = &self.sources[*k];
            let take = match count {
                None => Take::Multiple(tile.unwrap_or(Atom::int(1))),
                // Where one stream has ended another one has to have, too.
                Some(n) => Take::Exactly(e.op("wanted", ScalarOp::Max2, &[n, Atom::int(1)])),
            };
            let n = e.p.fresh("items", Ty::int());
            let mut pat = vec![n];
            for v in &source.arrays {
                let mut info = e.p.vars[*v].clone();
                if let Some(d) = info.ty.dims.first_mut() {
                    *d = n.into();
                }
                let part = e.p.vars.push(info);
                piece.with.insert(*v, part.into());
                pat.push(part);
            }
            e.push(pat, Exp::Pull { channel: source.channel, at: at.into(), take });
            match count {
                None => count = Some(n.into()),
                Some(first) => {
                    let same = e.op("same", ScalarOp::Eq, &[first, n.into()]);
                    let name = |k: &usize| e.p.channels[self.sources[*k].channel].name.to_string();
                    let trap = remc_base::Trap::Unequal {
                        why: "streams of one length are".into(),
                        left: format!("the length of the next piece of `{}`", name(&channels[0])).into(),
                        right: format!("that of `{}`", name(k)).into(),
                    };
                    e.push(Vec::new(), Exp::Check { trap, cond: same, values: vec![first, n.into()] });
                    // From here on they are one.
                    for v in &source.arrays {
                        if let Some(Atom::Var(part)) = piece.with.get(v).copied() {
                            let mut info = e.p.vars[part].clone();
                            let dims = std::iter::once(first).chain(info.ty.dims[1..].iter().copied()).collect::<Vec<_>>();
                            info.ty.dims = dims.clone();
                            let same = e.p.vars.push(info);
                            e.push(vec![same], Exp::View { view: View::Reshape { dims }, array: part });
                            piece.with.insert(*v, same.into());
                        }
                    }
                }
            }
        }
        let count = count.unwrap_or(Atom::int(0));
        piece.with.insert(self.axes[root].size, count);
        piece.at.insert(root, (at.into(), count));
        for (c, s) in carried.iter().zip(&states) {
            if let Carried::Count(axis) = c {
                piece.at.insert(*axis, (s.vars[0].into(), Atom::int(0)));
            }
        }
        let mut scanned: FxHashMap<usize, Vec<Atom>> = FxHashMap::default();
        for (k, def) in defs.iter().zip(&at_end) {
            e.prov = def.prov;
            let state = carried.iter().position(|c| matches!(c, Carried::Scan(d) if d == k));
            let axis = def.exp.axes().iter().find_map(|a| a.size.as_var()).and_then(|v| self.axis_of.get(&v));
            match (state, axis) {
                (Some(place), Some(axis)) => {
                    let exact = is_exact(&def.exp, e.p);
                    let next = scan(&mut e, &mut piece, def, *axis, &states[place], exact);
                    scanned.insert(*k, next);
                }
                _ => {
                    let places: Vec<(usize, usize)> = def
                        .exp
                        .axes()
                        .iter()
                        .enumerate()
                        .filter_map(|(n, a)| Some((n, *self.axis_of.get(&a.size.as_var()?)?)))
                        .collect();
                    copied(&mut e, &mut piece, def, &places);
                }
            }
            for (axis, a) in self.axes.iter().enumerate().filter(|(_, a)| a.made_by == Some(*k)) {
                let n = piece.with.get(&a.size).copied().unwrap_or(Atom::int(0));
                if let Some(at) = piece.at.get_mut(&axis) {
                    at.1 = n;
                }
            }
        }
        let more = e.op("more", ScalarOp::Gt, &[count, Atom::int(0)]);
        let next_at = e.op("next", ScalarOp::Add, &[at.into(), count]);
        let mut results = vec![next_at, more];
        for (c, s) in carried.iter().zip(&states) {
            match c {
                Carried::Count(axis) => {
                    let (before, n) = piece.at.get(axis).copied().unwrap_or((Atom::int(0), Atom::int(0)));
                    results.push(e.op("before", ScalarOp::Add, &[before, n]));
                }
                Carried::Scan(k) => results.extend(scanned.remove(k).unwrap_or_default()),
                Carried::Fold(f) => {
                    let state: Vec<Atom> = s.vars.iter().map(|v| Atom::Var(*v)).collect();
                    results.extend(f.piece(&mut e, &piece, &state));
                }
            }
        }
        for s in &sinks {
            let What::Push { channel, array } = s.what else { continue };
            e.prov = s.prov;
            let part = piece.with.get(&array).and_then(|a| a.as_var());
            // Where the elements of a row begin is said for the whole stream.
            let part = part.map(|v| absolute(&mut e, &piece, array, v, &self.starts, &self.along));
            e.push(Vec::new(), Exp::Push { channel, arrays: part.into_iter().collect() });
        }
        let body = Body { stmts: std::mem::replace(&mut e.stmts, outer), results };

        let (length, done) = (e.p.fresh("length", Ty::int()), e.p.fresh("done", Ty::scalar(BaseTy::Bool)));
        let mut state = vec![(at, Atom::int(0)), (going, TRUE)];
        let mut pat = vec![length, done];
        for s in &states {
            state.extend(s.vars.iter().copied().zip(s.first.iter().copied()));
            pat.extend(&s.last);
        }
        let cond = Body { stmts: Vec::new(), results: vec![going.into()] };
        e.push(pat, Exp::While { state, cond, body });
        *out = e.stmts;
        self.ended(root, length);
        for (c, s) in carried.iter().zip(&states) {
            if let Carried::Count(axis) = c {
                self.ended(*axis, s.last[0]);
            }
        }
        Ok(())
    }

    /// An axis has been gone along to its end: this is how long it is.
    fn ended(&mut self, axis: usize, length: Var) {
        let size = self.axes[axis].size;
        self.ends.entry(size).or_insert(length.into());
        self.axis_of.insert(length, axis);
    }

    /// A fold that mentions what is known by now.
    fn fold_at_end(&mut self, f: &Fold) -> Fold {
        let mut f = f.clone();
        self.values_at_end(&mut f.inner);
        f.before.iter_mut().for_each(|s| self.values_at_end(&mut s.exp));
        for v in &f.pat {
            let ends = &self.ends;
            let end = |a: &Atom| a.as_var().and_then(|v| ends.get(&v)).copied().unwrap_or(*a);
            self.p.vars[*v].ty.dims = self.p.vars[*v].ty.dims.iter().map(end).collect();
        }
        f
    }

    /// The definitions that sinks want, in order.
    fn wanted(&self, sinks: &[Sink]) -> Vec<usize> {
        let mut open: Vec<usize> = Vec::new();
        let made = |v: Var, open: &mut Vec<usize>| open.extend(self.def_of.get(&v));
        for s in sinks {
            match &s.what {
                What::Fold(f) => fold_uses(f, &mut |v| made(v, &mut open)),
                What::Push { array, .. } => made(*array, &mut open),
                What::Count(axis) => open.extend(self.axes[*axis].made_by),
                What::Checks(k) => open.push(*k),
            }
        }
        let mut all = std::collections::BTreeSet::new();
        while let Some(k) = open.pop() {
            if all.insert(k) {
                stmt_uses(self.p, &self.defs[k], &mut |v| {
                    made(v, &mut open);
                    // The size of an axis is made with it.
                    open.extend(self.axis_of.get(&v).and_then(|a| self.axes[*a].made_by));
                });
            }
        }
        all.into_iter().collect()
    }

    /// The variables that definitions and sinks mention.
    fn used(&self, defs: &[usize], folds: &[Fold], sinks: &[Sink]) -> FxHashSet<Var> {
        let mut used = FxHashSet::default();
        defs.iter().for_each(|k| stmt_uses(self.p, &self.defs[*k], &mut |v| {
            used.insert(v);
        }));
        folds.iter().for_each(|f| fold_uses(f, &mut |v| {
            used.insert(v);
        }));
        for s in sinks {
            if let What::Push { array, .. } = s.what {
                used.insert(array);
            }
        }
        used
    }
}

fn exp_uses(exp: &Exp, f: &mut impl FnMut(Var)) {
    let mut each = |a: Atom| a.as_var().into_iter().for_each(&mut *f);
    exp.for_each_operand(&mut each);
    exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut each));
}

fn stmt_uses(p: &Program, s: &Stmt, f: &mut impl FnMut(Var)) {
    exp_uses(&s.exp, f);
    s.pat.iter().flat_map(|v| &p.vars[*v].ty.dims).filter_map(|d| d.as_var()).for_each(f);
}

fn fold_uses(fold: &Fold, f: &mut impl FnMut(Var)) {
    exp_uses(&fold.inner, f);
    fold.before.iter().for_each(|s| exp_uses(&s.exp, f));
}

/// How many items a tile has: fewer where they are large.
fn tile_of(e: &mut Emit<'_>, source: &SourceInput) -> Atom {
    let mut most = Atom::int(1);
    for v in &source.arrays {
        let dims = e.p.vars[*v].ty.dims.clone();
        let mut elements = Atom::int(1);
        for d in dims.iter().skip(1) {
            elements = e.op("elements", ScalarOp::Mul, &[elements, *d]);
        }
        most = e.op("most", ScalarOp::Max2, &[most, elements]);
    }
    let tile = e.op("tile", ScalarOp::Quotient, &[Atom::int(TILE_ELEMENTS), most]);
    let tile = e.op("tile", ScalarOp::Min2, &[tile, Atom::int(TILE)]);
    e.op("tile", ScalarOp::Max2, &[tile, Atom::int(1)])
}

/// A statement along a stream over a piece: `places` are its own axes that are streamed.
fn copied(e: &mut Emit<'_>, piece: &mut Piece, def: &Stmt, places: &[(usize, usize)]) {
    let mut s = def.clone();
    let mut with = piece.with.clone();
    let mut before = Vec::new();
    for (n, axis) in places {
        let index = s.exp.axes()[*n].var;
        let Some((at, _)) = piece.at.get(axis).copied() else { continue };
        // In the body the index is the place in the piece where that reads an array along the stream.
        let (item, place) = (e.p.fresh("i", Ty::int()), e.p.fresh("at", Ty::int()));
        for b in s.exp.bodies_mut() {
            let (local, own) = piece.local(e, b, index);
            *b = local;
            with.insert(own, place.into());
        }
        let sum = Exp::Op(ScalarOp::Add, vec![at, place.into()]);
        before.push(Stmt { pat: vec![item], exp: sum, prov: def.prov });
        with.insert(index, item.into());
        set_axis(&mut s.exp, *n, place);
    }
    let mut c = Copier { program: e.p, with };
    let mut operand = |a: &mut Atom| *a = c.atom(*a);
    s.exp.for_each_operand_mut(&mut operand);
    // The places in the piece are new already.
    let own: FxHashSet<Var> = before.iter().filter_map(|s| match &s.exp {
        Exp::Op(_, args) => args[1].as_var(),
        _ => None,
    }).collect();
    for v in s.exp.inner_binders_mut() {
        if !own.contains(v) {
            let mut info = c.program.vars[*v].clone();
            for d in &mut info.ty.dims {
                *d = c.atom(*d);
            }
            let new = c.program.vars.push(info);
            c.with.insert(*v, new.into());
            *v = new;
        }
    }
    for (k, b) in s.exp.bodies_mut().into_iter().enumerate() {
        *b = c.body(b);
        // The first body is that of the items.
        if k == 0 {
            b.stmts.splice(0..0, before.drain(..));
        }
    }
    for v in &mut s.pat {
        let mut info = c.program.vars[*v].clone();
        for d in &mut info.ty.dims {
            *d = c.atom(*d);
        }
        let new = c.program.vars.push(info);
        c.with.insert(*v, new.into());
        piece.with.insert(*v, new.into());
        *v = new;
    }
    e.stmts.push(s);
}

fn set_axis(exp: &mut Exp, n: usize, var: Var) {
    match exp {
        Exp::Map { axes, .. } => axes[n].var = var,
        Exp::Reduce { axis, .. }
        | Exp::Scan { axis, .. }
        | Exp::Filter { axis, .. }
        | Exp::Join { axis, .. }
        | Exp::Grade { axis, .. }
        | Exp::Scatter { axis, .. }
        | Exp::For { axis, .. } => axis.var = var,
        _ => {}
    }
}

/// The variables of a scan's last prefix, and what it is before the first item. Without a start nothing is.
fn first_prefix(e: &mut Emit<'_>, exp: &Exp) -> (Vec<Var>, Vec<Atom>) {
    let Exp::Scan { op, .. } = exp else { return (Vec::new(), Vec::new()) };
    let count = op.lambda.body.results.len();
    let vars = e.fresh_like(&op.lambda.params[..count], &[]);
    let first = match &op.start {
        Some(start) => start.clone(),
        None => vars.iter().map(|v| nothing(e, *v)).collect(),
    };
    (vars, first)
}

/// A scan over a piece, from the last prefix of the piece before; what is the last one now.
fn scan(
    e: &mut Emit<'_>,
    piece: &mut Piece,
    def: &Stmt,
    axis: usize,
    state: &State,
    exact: bool,
) -> Vec<Atom> {
    let Exp::Scan { kind, axis: own, body, op } = &def.exp else { return Vec::new() };
    let Some((before, count)) = piece.at.get(&axis).copied() else { return Vec::new() };
    let (body, place) = piece.local(e, body, own.var);
    let with = piece.with.clone();
    let element = |e: &mut Emit<'_>, k: Var| {
        let mut with = with.clone();
        let i = e.op("i", ScalarOp::Add, &[before, k.into()]);
        with.insert(own.var, i);
        with.insert(place, k.into());
        e.copy(&body, &with)
    };
    let now: Vec<Atom> = state.vars.iter().map(|v| Atom::Var(*v)).collect();
    let over = |e: &mut Emit<'_>, n: Atom| -> Vec<Var> {
        let vars = e.fresh_like(&state.vars, &[n]);
        for (v, d) in vars.iter().zip(&def.pat) {
            e.p.vars[*v].name = e.p.vars[*d].name.clone();
        }
        vars
    };
    let scan_of = |e: &mut Emit<'_>, kind: ScanKind, n: Atom, start: Option<Vec<Atom>>| -> Vec<Var> {
        let k = e.p.fresh("k", Ty::int());
        let body = e.body(|e| element(e, k));
        let lambda = lambda(e, &op.lambda, &with);
        let pat = over(e, n);
        // What rounds would depend on where a piece ends if parts of it were put together.
        let op = Combine { lambda, start, assoc: op.assoc && exact, alone: false };
        e.push(pat.clone(), Exp::Scan { kind, axis: Axis { var: k, size: count }, body, op });
        pat
    };
    let last = |e: &mut Emit<'_>, all: &[Var], at: Atom| -> Vec<Atom> {
        all.iter().map(|v| e.at((*v).into(), &[at])).collect()
    };
    let any = e.op("any", ScalarOp::Gt, &[count, Atom::int(0)]);
    let (prefixes, next) = match (kind, &op.start) {
        (ScanKind::Exclusive | ScanKind::Full, _) => {
            let n = e.op("ends", ScalarOp::Add, &[count, Atom::int(1)]);
            let all = scan_of(e, ScanKind::Full, n, Some(now));
            let next = last(e, &all, count);
            let prefixes = over(e, count);
            for (to, from) in prefixes.iter().zip(&all) {
                let view = View::Slice { start: vec![Atom::int(0)], dims: vec![count] };
                e.push(vec![*to], Exp::View { view, array: *from });
            }
            (prefixes, next)
        }
        (ScanKind::Inclusive, Some(_)) => {
            let all = scan_of(e, ScanKind::Inclusive, count, Some(now.clone()));
            let next = after(e, any, &state.vars, &all, count, &now);
            (all, next)
        }
        (ScanKind::Inclusive, None) if exact => {
            let some = e.op("some", ScalarOp::Gt, &[before, Atom::int(0)]);
            let then = e.body(|e| scan_of(e, ScanKind::Inclusive, count, Some(now.clone())).into_iter().map(Atom::Var).collect());
            let otherwise = e.body(|e| scan_of(e, ScanKind::Inclusive, count, None).into_iter().map(Atom::Var).collect());
            let all = over(e, count);
            e.push(all.clone(), Exp::If { cond: some, then, otherwise });
            let next = after(e, any, &state.vars, &all, count, &now);
            (all, next)
        }
        (ScanKind::Inclusive, None) => {
            // Whether there is anything before is one more accumulator.
            let some = e.op("some", ScalarOp::Gt, &[before, Atom::int(0)]);
            let k = e.p.fresh("k", Ty::int());
            let body = e.body(|e| element(e, k));
            let items = &op.lambda.params[state.vars.len()..];
            let (accs, elems) = (e.fresh_like(&state.vars, &[]), e.fresh_like(items, &[]));
            let flag = e.p.fresh("some", Ty::scalar(BaseTy::Bool));
            let inside = e.body(|e| {
                let of = |vars: &[Var]| vars.iter().map(|v| Atom::Var(*v)).collect::<Vec<_>>();
                let (a, b) = (of(&accs), of(&elems));
                let mut next = e.branch(flag.into(), &accs, |e| apply(e, op, &with, &a, &b), |_| b.clone());
                next.push(TRUE);
                next
            });
            let params = accs.iter().chain([&flag]).chain(&elems).copied().collect();
            let lambda = Lambda { params, body: inside };
            let start = Some(now.iter().copied().chain([some]).collect());
            let all = over(e, count);
            let flags = e.p.fresh("some", Ty::scalar(BaseTy::Bool).over(&[count]));
            let pat = all.iter().copied().chain([flags]).collect();
            let (kind, axis) = (ScanKind::Inclusive, Axis { var: k, size: count });
            e.push(pat, Exp::Scan { kind, axis, body, op: Combine { lambda, start, assoc: false, alone: false } });
            let next = after(e, any, &state.vars, &all, count, &now);
            (all, next)
        }
    };
    for (d, v) in def.pat.iter().zip(prefixes) {
        piece.with.insert(*d, v.into());
    }
    next
}

/// The last of prefixes, or what was before where there are none.
fn after(e: &mut Emit<'_>, any: Atom, like: &[Var], all: &[Var], count: Atom, now: &[Atom]) -> Vec<Atom> {
    let all = all.to_vec();
    e.branch(
        any,
        like,
        |e| {
            let at = e.op("last", ScalarOp::Sub, &[count, Atom::int(1)]);
            all.iter().map(|v| e.at((*v).into(), &[at])).collect()
        },
        |_| now.to_vec(),
    )
}

/// An array of a piece as it is in the whole stream: where the elements of its items begin is said from the beginning.
fn absolute(e: &mut Emit<'_>, piece: &Piece, array: Var, part: Var, starts: &FxHashMap<Var, Var>, along: &FxHashMap<Var, Along>) -> Var {
    let Some((data, _)) = starts.iter().find(|(_, s)| **s == array) else { return part };
    let Some((before, _)) = along.get(data).and_then(|a| piece.at.get(&a.axis)) else { return part };
    let Some(count) = e.p.vars[part].ty.dims.first().copied() else { return part };
    let i = e.p.fresh("i", Ty::int());
    let body = e.body(|e| {
        let own = e.at(part.into(), &[i.into()]);
        vec![e.op("start", ScalarOp::Add, &[own, *before])]
    });
    let all = e.p.fresh("starts", Ty::int().over(&[count]));
    e.push(vec![all], Exp::Map { axes: vec![Axis { var: i, size: count }], body });
    all
}
