//! The loop of a pass: pieces of a stream pulled one after the other, what is made of each, and what is left at the end.

use super::emit::Emit;
use super::fold::{Fold, Piece, TRUE, apply, lambda};
use super::levels::{Sink, What};
use super::window::{Tail, placed};
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
    /// The last items of an array.
    Tail(Tail),
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
            let axes = (0..self.t.axes.len()).filter(|a| self.t.axes[*a].made_by == Some(*k));
            carried.extend(axes.map(Carried::Count));
            if Fold::scan(self, &self.defs[*k]).is_some() {
                carried.push(Carried::Scan(*k));
            }
        }
        for k in &channels {
            let ragged = self.sources[*k].axes.iter().filter(|a| **a != root);
            let ragged: std::collections::BTreeSet<usize> = ragged.copied().collect();
            carried.extend(ragged.into_iter().map(Carried::Count));
        }
        let at_end: Vec<Stmt> = defs
            .iter()
            .map(|k| {
                let mut s = self.defs[*k].clone();
                self.values_at_end(&mut s.exp);
                s
            })
            .collect();
        for tail in self.tails(&at_end, &folds) {
            let mut e = self.emit();
            carried.push(Carried::Tail(Tail::new(&mut e, tail)));
        }
        let tiled = folds.iter().any(|f| f.is_tiled(root));
        carried.extend(folds.into_iter().map(Carried::Fold));

        let scans: Vec<Option<Fold>> = at_end.iter().map(|s| Fold::scan(self, s)).collect();
        let mut made = std::mem::take(out);
        let t = &self.t;
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
                Carried::Scan(k) => match defs.iter().position(|d| d == k).and_then(|n| scans[n].as_ref()) {
                    Some(scan) => {
                        let (vars, first) = (scan.state(&mut e), scan.first(&mut e));
                        let last = e.fresh_like(&vars, &[]);
                        State { vars, first, last }
                    }
                    None => State { vars: Vec::new(), first: Vec::new(), last: Vec::new() },
                },
                Carried::Tail(t) => {
                    let first = vec![Atom::int(0), t.first(&mut e)];
                    let mut info = e.p.vars[t.items].clone();
                    let kept = e.p.fresh("kept", Ty::int());
                    info.ty.dims.first_mut().into_iter().for_each(|d| *d = kept.into());
                    let last = vec![kept, e.p.vars.push(info)];
                    State { vars: vec![t.count, t.items], first, last }
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
            along: self.t.along.clone(),
            root,
            tile,
            windows: FxHashMap::default(),
            ahead: FxHashMap::default(),
            there: FxHashMap::default(),
        };
        let outer = std::mem::take(&mut e.stmts);
        let mut count: Option<Atom> = None;
        let mut elements: FxHashMap<usize, Atom> = FxHashMap::default();
        for k in &channels {
            let source = &self.sources[*k];
            let take = match count {
                None => Take::Multiple(tile.unwrap_or(Atom::int(1))),
                // Where one stream has ended another one has to have, too.
                Some(n) => Take::Exactly(e.op("wanted", ScalarOp::Max2, &[n, Atom::int(1)])),
            };
            let n = e.p.fresh("items", Ty::int());
            let mut pat = vec![n];
            let mut counts: FxHashMap<usize, Atom> = FxHashMap::default();
            let mut same = Vec::new();
            for (v, axis) in source.arrays.iter().zip(&source.axes) {
                let mut many = n;
                if *axis != root {
                    many = e.p.fresh("elements", Ty::int());
                    pat.push(many);
                }
                let mut info = e.p.vars[*v].clone();
                if let Some(d) = info.ty.dims.first_mut() {
                    *d = many.into();
                }
                let part = e.p.vars.push(info);
                piece.with.insert(*v, part.into());
                pat.push(part);
                // Arrays along one axis have as many elements.
                match counts.get(axis) {
                    Some(first) if *axis != root => same.push((*v, part, *first)),
                    _ => {
                        counts.insert(*axis, many.into());
                    }
                }
            }
            for (axis, many) in counts {
                if axis != root {
                    piece.with.insert(self.t.axes[axis].size, many);
                    elements.insert(axis, many);
                }
            }
            e.push(pat, Exp::Pull { channel: source.channel, at: at.into(), take });
            for (v, part, first) in same {
                let mut info = e.p.vars[part].clone();
                let dims = vec![first];
                info.ty.dims.clone_from(&dims);
                let view = e.p.vars.push(info);
                e.push(vec![view], Exp::View { view: View::Reshape { dims }, array: part });
                piece.with.insert(v, view.into());
            }
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
                    for (v, _) in source.arrays.iter().zip(&source.axes).filter(|(_, a)| **a == root) {
                        if let Some(Atom::Var(part)) = piece.with.get(v).copied() {
                            let mut info = e.p.vars[part].clone();
                            let dims = std::iter::once(first)
                                .chain(info.ty.dims[1..].iter().copied())
                                .collect::<Vec<_>>();
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
        piece.with.insert(self.t.axes[root].size, count);
        piece.at.insert(root, (at.into(), count));
        for (c, s) in carried.iter().zip(&states) {
            if let Carried::Count(axis) = c {
                let many = elements.get(axis).copied().unwrap_or(Atom::int(0));
                piece.at.insert(*axis, (s.vars[0].into(), many));
            }
        }
        let mut scanned: FxHashMap<usize, Vec<Atom>> = FxHashMap::default();
        for ((k, def), own) in defs.iter().zip(&at_end).zip(&scans) {
            e.prov = def.prov;
            let axes = t.axes_of(def, own.as_ref());
            axes.iter().for_each(|axis| t.open(&mut e, &mut piece, &carried, *axis));
            let state = carried.iter().position(|c| matches!(c, Carried::Scan(d) if d == k));
            match (state, own) {
                (Some(place), Some(own)) => {
                    let next = scan(&mut e, &mut piece, own, &states[place].vars);
                    scanned.insert(*k, next);
                }
                _ => {
                    let places: Vec<(usize, usize)> = def
                        .exp
                        .axes()
                        .iter()
                        .enumerate()
                        .filter_map(|(n, a)| Some((n, *self.t.axis_of.get(&a.size.as_var()?)?)))
                        .collect();
                    let short = match &def.exp {
                        Exp::View { view: View::Slice { start, dims }, array } => {
                            let along = self.t.along.get(array);
                            along.and_then(|a| t.window_slice(a.axis, start, dims))
                        }
                        _ => None,
                    };
                    copied(&mut e, &mut piece, def, &places, short);
                }
            }
            for (alias, axis) in &self.aliases {
                if let Some(n) = piece.with.get(&self.t.axes[*axis].size).copied() {
                    piece.with.insert(*alias, n);
                }
            }
            for (axis, a) in self.t.axes.iter().enumerate().filter(|(_, a)| a.made_by == Some(*k)) {
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
            let tails = piece.there.clone();
            match c {
                Carried::Count(axis) => {
                    let (before, n) = piece.at.get(axis).copied().unwrap_or((Atom::int(0), Atom::int(0)));
                    results.push(e.op("before", ScalarOp::Add, &[before, n]));
                }
                Carried::Scan(k) => results.extend(scanned.remove(k).unwrap_or_default()),
                Carried::Tail(t) => {
                    let of = self.t.along[&t.array].axis;
                    let all = match tails.get(&t.array) {
                        Some(all) => Some(*all),
                        None => t.all(&mut e, &piece, of),
                    };
                    results.extend(all.map(|all| t.next(&mut e, all)).into_iter().flatten());
                }
                Carried::Fold(f) => {
                    t.open(&mut e, &mut piece, &carried, f.along);
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
            let part = part.map(|v| absolute(&mut e, &piece, array, v, &self.t.starts, &self.t.along));
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
        let size = self.t.axes[axis].size;
        self.ends.entry(size).or_insert(length.into());
        self.t.axis_of.insert(length, axis);
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
                What::Count(axis) => open.extend(self.t.axes[*axis].made_by),
                What::Checks(k) => open.push(*k),
            }
        }
        let mut all = std::collections::BTreeSet::new();
        while let Some(k) = open.pop() {
            if all.insert(k) {
                stmt_uses(self.p, &self.defs[k], &mut |v| {
                    made(v, &mut open);
                    // The size of an axis is made with it.
                    open.extend(self.t.axis_of.get(&v).and_then(|a| self.t.axes[*a].made_by));
                });
            }
        }
        all.into_iter().collect()
    }

    /// The variables that definitions and sinks mention.
    fn used(&self, defs: &[usize], folds: &[Fold], sinks: &[Sink]) -> FxHashSet<Var> {
        let mut used = FxHashSet::default();
        defs.iter().for_each(|k| {
            stmt_uses(self.p, &self.defs[*k], &mut |v| {
                used.insert(v);
            })
        });
        folds.iter().for_each(|f| {
            fold_uses(f, &mut |v| {
                used.insert(v);
            })
        });
        for s in sinks {
            if let What::Push { array, .. } = s.what {
                used.insert(array);
            }
        }
        used
    }
}

impl Tables {
    /// The streamed axes that a definition goes along.
    fn axes_of(&self, def: &Stmt, scan: Option<&Fold>) -> Vec<usize> {
        let own = def.exp.axes().iter().filter_map(|a| self.streamed(a.size));
        let viewed = match &def.exp {
            Exp::View { .. } => def.pat.first().and_then(|v| self.along.get(v)).map(|a| a.axis),
            _ => None,
        };
        own.chain(scan.map(|s| s.along)).chain(viewed).collect()
    }

    /// Makes what is there of a shorter axis in a piece known, when a statement goes along it first.
    fn open(&self, e: &mut Emit<'_>, piece: &mut Piece, carried: &[Carried], axis: usize) {
        let Some(direct) = self.axes[axis].window else { return };
        self.open(e, piece, carried, direct.of);
        let mut known: Vec<(usize, Var)> = Vec::new();
        for c in carried {
            let Carried::Tail(t) = c else { continue };
            let Some(longer) = self.along.get(&t.array).map(|a| a.axis) else { continue };
            if self.shorter_by(axis, longer).is_none() {
                continue;
            }
            self.open(e, piece, carried, longer);
            // Of all arrays along one axis as many stay.
            if known.iter().all(|(axis, _)| *axis != longer) {
                known.push((longer, t.count));
            }
            if !piece.there.contains_key(&t.array)
                && let Some((total, all)) = t.all(e, piece, longer)
            {
                piece.there.insert(t.array, (total, all));
                piece.ahead.insert(t.array, all.into());
            }
        }
        if !piece.at.contains_key(&axis) {
            let Some((at, many)) = placed(e, piece, direct) else { return };
            piece.at.insert(axis, (at, many));
            piece.with.insert(self.axes[axis].size, many);
        }
        if let Some((at, _)) = piece.at.get(&axis).copied()
            && !piece.windows.contains_key(&axis)
        {
            let mut offs = Vec::new();
            for (longer, kept) in known {
                let Some((before, _)) = piece.at.get(&longer).copied() else { continue };
                let there = e.op("there", ScalarOp::Sub, &[before, kept.into()]);
                offs.push((longer, e.op("off", ScalarOp::Sub, &[at, there])));
            }
            piece.windows.insert(axis, offs);
        }
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
fn copied(
    e: &mut Emit<'_>,
    piece: &mut Piece,
    def: &Stmt,
    places: &[(usize, usize)],
    short: Option<(usize, i64)>,
) {
    let mut s = def.clone();
    let mut with = match (places.first().copied(), short) {
        (Some((_, axis)), _) | (None, Some((axis, _))) => piece.with(axis),
        (None, None) => piece.with.clone(),
    };
    // A slice of a shorter axis begins where that does.
    if let (Some((axis, first)), Exp::View { view: View::Slice { start, .. }, .. }) = (&short, &mut s.exp)
        && let Exp::View { array, .. } = &def.exp
        && let Some(a) = piece.along.get(array)
        && let Some((_, off)) = piece.windows.get(axis).into_iter().flatten().find(|(of, _)| a.axis == *of)
    {
        start[0] = e.op("first", ScalarOp::Add, &[*off, Atom::int(*first)]);
    }
    let mut before = Vec::new();
    for (n, axis) in places {
        let index = s.exp.axes()[*n].var;
        let Some((at, _)) = piece.at.get(axis).copied() else { continue };
        // In the body the index is the place in the piece where that reads an array along the stream.
        let (item, place) = (e.p.fresh("i", Ty::int()), e.p.fresh("at", Ty::int()));
        for b in s.exp.bodies_mut() {
            let (local, own) = piece.local(e, b, index, *axis);
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
    let own: FxHashSet<Var> = before
        .iter()
        .filter_map(|s| match &s.exp {
            Exp::Op(_, args) => args[1].as_var(),
            _ => None,
        })
        .collect();
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

/// A scan over a piece, from the last prefix of the piece before; what is the last one now.
fn scan(e: &mut Emit<'_>, piece: &mut Piece, scan: &Fold, state: &[Var]) -> Vec<Atom> {
    let Exp::Scan { kind, axis: own, body, op } = &scan.inner else { return Vec::new() };
    let Some((before, count)) = piece.at.get(&scan.along).copied() else { return Vec::new() };
    let (body, place) = piece.local(e, body, own.var, scan.along);
    let now: Vec<Atom> = state.iter().map(|v| Atom::Var(*v)).collect();
    let rank = scan.outer.len();
    // The prefixes of all points; those of one are behind the outer axes.
    let over = |e: &mut Emit<'_>, n: Atom, outer: bool| -> Vec<Var> {
        let infos: Vec<VarInfo> = state.iter().map(|v| e.p.vars[*v].clone()).collect();
        let infos = infos.into_iter().zip(&scan.pat).map(|(mut info, named)| {
            info.ty.dims.insert(rank, n);
            if !outer {
                info.ty.dims.drain(..rank);
            }
            info.name = e.p.vars[*named].name.clone();
            info
        });
        infos.collect::<Vec<_>>().into_iter().map(|info| e.p.vars.push(info)).collect()
    };
    let with = piece.with(scan.along);
    let some = e.op("some", ScalarOp::Gt, &[before, Atom::int(0)]);
    let ends = match kind {
        ScanKind::Inclusive => count,
        ScanKind::Exclusive | ScanKind::Full => e.op("ends", ScalarOp::Add, &[count, Atom::int(1)]),
    };
    let like = over(e, ends, true);
    let all = scan.points_over(e, &with, (&[], &[]), &like, |e, with, at, _| {
        let now: Vec<Atom> = now.iter().map(|s| e.at(*s, at)).collect();
        let element = |e: &mut Emit<'_>, k: Var| {
            let mut with = with.clone();
            let i = e.op("i", ScalarOp::Add, &[before, k.into()]);
            with.insert(own.var, i);
            with.insert(place, k.into());
            e.copy(&body, &with)
        };
        // What rounds would depend on where a piece ends if parts of it were put together.
        let assoc = op.assoc && scan.exact;
        let plain = |e: &mut Emit<'_>, start: Option<Vec<Atom>>| -> Vec<Atom> {
            let k = e.p.fresh("k", Ty::int());
            let body = e.body(|e| element(e, k));
            let combine = Combine { lambda: lambda(e, &op.lambda, with), start, assoc, alone: false };
            let pat = over(e, ends, false);
            let kind = if *kind == ScanKind::Inclusive { *kind } else { ScanKind::Full };
            e.push(pat.clone(), Exp::Scan { kind, axis: Axis { var: k, size: count }, body, op: combine });
            pat.into_iter().map(Atom::Var).collect()
        };
        if op.start.is_some() {
            return plain(e, Some(now));
        }
        if assoc {
            let like = over(e, ends, false);
            return e.branch(some, &like, |e| plain(e, Some(now.clone())), |e| plain(e, None));
        }
        // Whether there is anything before is one more accumulator.
        let k = e.p.fresh("k", Ty::int());
        let body = e.body(|e| element(e, k));
        let (accs, items) = op.lambda.params.split_at(op.lambda.body.results.len());
        let (accs, items) = (fresh_in(e, accs, with), fresh_in(e, items, with));
        let flag = e.p.fresh("some", Ty::scalar(BaseTy::Bool));
        let inside = e.body(|e| {
            let of = |vars: &[Var]| vars.iter().map(|v| Atom::Var(*v)).collect::<Vec<_>>();
            let (a, b) = (of(&accs), of(&items));
            let mut next = e.branch(flag.into(), &accs, |e| apply(e, op, with, &a, &b), |_| b.clone());
            next.push(TRUE);
            next
        });
        let params = accs.iter().chain([&flag]).chain(&items).copied().collect();
        let lambda = Lambda { params, body: inside };
        let start = Some(now.into_iter().chain([some]).collect());
        let pat = over(e, count, false);
        let flags = e.p.fresh("some", Ty::scalar(BaseTy::Bool).over(&[count]));
        let all = pat.iter().copied().chain([flags]).collect();
        let (kind, axis) = (ScanKind::Inclusive, Axis { var: k, size: count });
        e.push(
            all,
            Exp::Scan { kind, axis, body, op: Combine { lambda, start, assoc: false, alone: false } },
        );
        pat.into_iter().map(Atom::Var).collect()
    });
    let last = |e: &mut Emit<'_>, at: Atom| {
        scan.points_over(e, &with, (&[], &[]), state, |e, _, outer, _| {
            let places: Vec<Atom> = outer.iter().copied().chain([at]).collect();
            all.iter().map(|a| e.at(*a, &places)).collect()
        })
    };
    let (prefixes, next) = match kind {
        ScanKind::Inclusive => {
            let any = e.op("any", ScalarOp::Gt, &[count, Atom::int(0)]);
            let next = e.branch(
                any,
                state,
                |e| {
                    let at = e.op("last", ScalarOp::Sub, &[count, Atom::int(1)]);
                    last(e, at)
                },
                |_| now.clone(),
            );
            (all, next)
        }
        ScanKind::Exclusive | ScanKind::Full => {
            let next = last(e, count);
            let firsts = over(e, count, true);
            for (to, from) in firsts.iter().zip(&all) {
                let Some(from) = from.as_var() else { continue };
                let dims = e.p.vars[*to].ty.dims[..=rank].to_vec();
                let view = View::Slice { start: vec![Atom::int(0); rank + 1], dims };
                e.push(vec![*to], Exp::View { view, array: from });
            }
            (firsts.into_iter().map(Atom::Var).collect(), next)
        }
    };
    for (d, a) in scan.pat.iter().zip(prefixes) {
        piece.with.insert(*d, a);
    }
    next
}

/// Variables of these types, with sizes replaced.
fn fresh_in(e: &mut Emit<'_>, vars: &[Var], with: &FxHashMap<Var, Atom>) -> Vec<Var> {
    let end = |a: &Atom| a.as_var().and_then(|v| with.get(&v)).copied().unwrap_or(*a);
    let infos: Vec<VarInfo> = vars.iter().map(|v| e.p.vars[*v].clone()).collect();
    let fresh = |i: VarInfo| {
        let ty = Ty { base: i.ty.base, dims: i.ty.dims.iter().map(end).collect() };
        e.p.fresh(i.name.as_str(), ty)
    };
    infos.into_iter().map(fresh).collect()
}

/// An array of a piece as it is in the whole stream: where the elements of its items begin is said from the beginning.
fn absolute(
    e: &mut Emit<'_>,
    piece: &Piece,
    array: Var,
    part: Var,
    starts: &FxHashMap<Var, Var>,
    along: &FxHashMap<Var, Along>,
) -> Var {
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
