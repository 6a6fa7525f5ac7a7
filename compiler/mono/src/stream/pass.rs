//! The loop of a pass: pieces of a stream pulled one after the other, what is made of each, and what is left at the end.
//!
//! ```text
//! (while ((%at 0) (%going true) (state …)) (cond %going)
//!   pull the next piece                                       [`Round::pull`]
//!   each definition that is wanted, over the piece            [`Round::define`]
//!   the state after it                                        [`Round::next`]
//!   what goes out                                             [`Round::push`]
//!   (give (+ %at items) (> items 0) state …))
//! ```
//!
//! The last round has a piece of no items, in which nothing changes.

use super::copied::copied;
use super::emit::Emit;
use super::fold::{Fold, Piece, TRUE};
use super::levels::{Group, Sink, What};
use super::pick::Pick;
use super::scan::scan;
use super::window::{Tail, placed};
use super::*;
use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Trap};
use std::collections::BTreeSet;

/// The most items of a tile, and how many elements they have together at most.
const TILE: i64 = 1024;
const TILE_ELEMENTS: i64 = 1 << 18;

/// The most items of a first piece of which nobody knows how many elements each has.
const FEW: i64 = 16;

/// What a pass does.
struct Pass {
    root: usize,
    /// The sources that it pulls, by their numbers; at least one.
    sources: Vec<usize>,
    defs: Vec<Def>,
    /// Arrays that go to channels.
    pushes: Vec<(usize, Var, Prov)>,
    carried: Vec<Carried>,
    tiled: bool,
}

/// A definition that is wanted, with what is known at ends by now; the scan that it is.
struct Def {
    number: usize,
    stmt: Stmt,
    scan: Option<Fold>,
}

/// What a loop carries.
enum Carried {
    Fold(Fold),
    /// The last prefix of the scan that is this definition.
    Scan(usize, Fold),
    /// How many items of an axis there were; of a stream's own that is the loop's place.
    Count(usize),
    /// The last items of an array.
    Tail(Tail),
}

/// State of a loop: the variables in the body, what they are at first, and what binds their last values.
struct State {
    vars: Vec<Var>,
    first: Vec<Atom>,
    last: Vec<Var>,
}

impl Carried {
    fn state(&self, e: &mut Emit<'_>) -> State {
        match self {
            Carried::Count(_) => State {
                vars: vec![e.p.fresh("before", Ty::int())],
                first: vec![Atom::int(0)],
                last: vec![e.p.fresh("length", Ty::int())],
            },
            Carried::Scan(_, scan) => {
                let (vars, first) = (scan.state(e), scan.first(e));
                let last = e.fresh_like(&vars, &[]);
                State { vars, first, last }
            }
            Carried::Tail(t) => {
                let first = vec![Atom::int(0), t.first(e)];
                let kept = e.p.fresh("kept", Ty::int());
                let last = vec![kept, e.resized(t.items, kept.into())];
                State { vars: vec![t.count, t.items], first, last }
            }
            Carried::Fold(f) => {
                let first = f.first(e);
                State { vars: e.fresh_like(&f.pat, &[]), first, last: f.pat.clone() }
            }
        }
    }
}

/// A stream whose items the program makes: how many these are, and how many elements one has at most.
#[derive(Clone, Copy)]
struct Made {
    items: Atom,
    elements: Atom,
}

/// The body of a loop in the making.
struct Round<'a> {
    t: &'a Tables,
    sources: &'a [SourceInput],
    aliases: &'a [(Var, usize)],
    e: Emit<'a>,
    piece: Piece,
    /// How many items were before.
    at: Var,
    /// Of a stream that the program makes.
    made: Option<Made>,
    /// What the scans of it leave for the next round.
    prefixes: FxHashMap<usize, Vec<Atom>>,
}

impl Streamer<'_> {
    /// Emits a loop along the stream of the axis `root`, for what it leaves behind.
    ///
    /// `more` are sources that it pulls although it wants nothing of them.
    pub fn pass(&mut self, root: usize, sinks: &[Sink], more: &[usize], out: &mut Vec<Stmt>) {
        if let Some(first) = sinks.first() {
            self.prov = first.prov;
        }
        let pass = self.gathered(root, sinks, more);
        let first = pass.sources[0];
        let items = self.end(self.t.axes[root].size.into());
        let mut e = Emit::new(self.p, self.prov);
        e.stmts = std::mem::take(out);
        let source = &self.sources[first];
        let known: FxHashSet<Var> = e.stmts.iter().flat_map(|s| s.pat.iter().copied()).collect();
        let made = source.arrays.is_empty().then(|| elements_of(&mut e, &self.t, root, &known));
        let tile = match (pass.tiled, made) {
            (false, _) => None,
            (true, Some(elements)) => Some(tile_of(&mut e, elements)),
            (true, None) => {
                let elements = elements_read(&mut e, source);
                Some(tile_of(&mut e, elements))
            }
        };
        let made = made.map(|elements| Made { elements, items });
        let states: Vec<State> = pass.carried.iter().map(|c| c.state(&mut e)).collect();
        let (at, going) = (e.p.fresh("at", Ty::int()), e.p.fresh("going", Ty::scalar(BaseTy::Bool)));
        let before = std::mem::take(&mut e.stmts);
        let piece = Piece::new(self.t.along.clone(), root, tile);
        let (t, sources, aliases) = (&self.t, &self.sources[..], &self.aliases[..]);
        let mut round = Round { t, sources, aliases, e, piece, at, made, prefixes: FxHashMap::default() };
        let count = round.pull(&pass, &states);
        for def in &pass.defs {
            round.define(&pass, &states, def);
        }
        let more = round.e.op("more", ScalarOp::Gt, &[count, Atom::int(0)]);
        let next = round.e.op("next", ScalarOp::Add, &[at.into(), count]);
        let mut results = vec![next, more];
        for (c, s) in pass.carried.iter().zip(&states) {
            results.extend(round.next(&pass, c, s));
        }
        for push in &pass.pushes {
            round.push(*push);
        }
        let mut e = round.e;
        let body = Body { stmts: std::mem::replace(&mut e.stmts, before), results };

        let (length, done) = (e.p.fresh("length", Ty::int()), e.p.fresh("done", Ty::scalar(BaseTy::Bool)));
        let mut state = vec![(at, Atom::int(0)), (going, TRUE)];
        let mut pat = vec![length, done];
        for s in &states {
            state.extend(s.vars.iter().copied().zip(s.first.iter().copied()));
            pat.extend(&s.last);
        }
        let cond = Body { stmts: Vec::new(), results: vec![going.into()] };
        e.push(pat, Exp::While { state, cond, body });
        match self.ends.get(&self.t.axes[root].size).copied() {
            None => drop(self.measured.insert(root, first)),
            Some(known) => {
                let other = self.measured.get(&root).copied().unwrap_or(first);
                if other != first {
                    let name = |k: usize| e.p.channels[self.sources[k].channel].name.to_string();
                    let names = [name(other), name(first)];
                    same(&mut e, names, "", [known, length.into()], [known, length.into()]);
                }
            }
        }
        *out = e.stmts;
        self.ended(root, length);
        for (c, s) in pass.carried.iter().zip(&states) {
            if let Carried::Count(axis) = c {
                self.ended(*axis, s.last[0]);
            }
        }
    }

    /// What there is to do for sinks.
    fn gathered(&mut self, root: usize, sinks: &[Sink], more: &[usize]) -> Pass {
        let wanted = self.wanted(sinks, Some(root));
        let mut folds = Vec::new();
        let mut pushes = Vec::new();
        for s in sinks {
            match &s.what {
                What::Fold(f) => folds.push(self.fold_at_end(f)),
                What::Push { channel, array } => pushes.push((*channel, *array, s.prov)),
                What::Count(_) | What::Checks(_) => {}
            }
        }
        let used = self.used(&wanted, &folds, &pushes);
        let along = |s: &SourceInput| s.axis == root;
        let read = |s: &SourceInput| along(s) && s.arrays.iter().any(|v| used.contains(v));
        let mut sources: Vec<usize> = (0..self.sources.len()).filter(|k| read(&self.sources[*k])).collect();
        sources.extend(more);
        // A length alone is that of any of them.
        if sources.is_empty() {
            sources.extend(self.sources.iter().position(along));
        }
        let mut carried = Vec::new();
        let mut defs = Vec::new();
        for number in wanted {
            let mut stmt = self.defs[number].clone();
            self.values_at_end(&mut stmt.exp);
            let axes = (0..self.t.axes.len()).filter(|a| self.t.axes[*a].made_by == Some(number));
            carried.extend(axes.map(Carried::Count));
            let scan = Fold::scan(self, &stmt);
            carried.extend(scan.clone().map(|scan| Carried::Scan(number, scan)));
            defs.push(Def { number, stmt, scan });
        }
        for k in &sources {
            let ragged: BTreeSet<usize> =
                self.sources[*k].axes.iter().copied().filter(|a| *a != root).collect();
            carried.extend(ragged.into_iter().map(Carried::Count));
        }
        let stmts: Vec<&Stmt> = defs.iter().map(|d| &d.stmt).collect();
        for tail in self.tails(&stmts, &folds) {
            let dim = self.t.along.get(&tail.0).map_or(0, |a| a.dim);
            carried.push(Carried::Tail(Tail::new(&mut self.emit(), dim, tail)));
        }
        let tiled = folds.iter().any(|f| f.is_tiled(root));
        carried.extend(folds.into_iter().map(Carried::Fold));
        Pass { root, sources, defs, pushes, carried, tiled }
    }

    /// The sources of which no sink wants anything.
    pub fn idle(&self, groups: &[Group]) -> Vec<usize> {
        let mut used = FxHashSet::default();
        for g in groups {
            let folds = g
                .sinks
                .iter()
                .filter_map(|s| if let What::Fold(f) = &s.what { Some(f.clone()) } else { None });
            let pushes = g.sinks.iter().filter_map(|s| match s.what {
                What::Push { channel, array } => Some((channel, array, s.prov)),
                _ => None,
            });
            used.extend(self.used(
                &self.wanted(&g.sinks, None),
                &folds.collect::<Vec<_>>(),
                &pushes.collect::<Vec<_>>(),
            ));
        }
        (0..self.sources.len())
            .filter(|k| self.sources[*k].arrays.iter().all(|v| !used.contains(v)))
            .collect()
    }

    /// An axis has been gone along to its end: this is how long it is.
    fn ended(&mut self, axis: usize, length: Var) {
        let size = self.t.axes[axis].size;
        self.ends.entry(size).or_insert(length.into());
        // Streams that have as many items as this one had.
        self.ends.values_mut().filter(|n| **n == size.into()).for_each(|n| *n = length.into());
        self.t.axis_of.insert(length, axis);
    }

    /// A fold that mentions what is known by now.
    fn fold_at_end(&mut self, f: &Fold) -> Fold {
        let mut f = f.clone();
        self.values_at_end(&mut f.inner);
        if let Some(Pick::At(place)) = &mut f.pick {
            *place = self.end(*place);
        }
        f.before.iter_mut().for_each(|s| self.values_at_end(&mut s.exp));
        for v in &f.pat {
            let ends = &self.ends;
            let end = |a: &Atom| a.as_var().and_then(|v| ends.get(&v)).copied().unwrap_or(*a);
            self.p.vars[*v].ty.dims = self.p.vars[*v].ty.dims.iter().map(end).collect();
        }
        f
    }

    /// The definitions that sinks want, in order; those of a pass along a root, which knows how long other streams were.
    fn wanted(&self, sinks: &[Sink], root: Option<usize>) -> Vec<usize> {
        let mut open: Vec<usize> = Vec::new();
        // How long an axis of another root is was known before.
        let axis = |v: Var| self.t.axis_of.get(&v).map(|a| &self.t.axes[*a]);
        let known = |v: Var| axis(v).is_some_and(|a| root.is_some_and(|root| a.root != root));
        let made = |v: Var, open: &mut Vec<usize>| open.extend(self.def_of.get(&v).filter(|_| !known(v)));
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
                    open.extend(axis(v).filter(|_| !known(v)).and_then(|a| a.made_by));
                });
            }
        }
        all.into_iter().collect()
    }

    /// The variables that definitions, folds and what is pushed mention.
    fn used(&self, defs: &[usize], folds: &[Fold], pushes: &[(usize, Var, Prov)]) -> FxHashSet<Var> {
        let mut used: FxHashSet<Var> = pushes.iter().map(|(_, array, _)| *array).collect();
        let mut see = |v: Var| _ = used.insert(v);
        defs.iter().for_each(|k| stmt_uses(self.p, &self.defs[*k], &mut see));
        folds.iter().for_each(|f| fold_uses(f, &mut see));
        used
    }
}

impl Round<'_> {
    /// Pulls the next items of each source; how many they are.
    fn pull(&mut self, pass: &Pass, states: &[State]) -> Atom {
        let mut count: Option<Atom> = None;
        let mut elements: FxHashMap<usize, Atom> = FxHashMap::default();
        for k in &pass.sources {
            let source = &self.sources[*k];
            if let Some(made) = self.made {
                let counts = pass.carried.iter().zip(states).filter(|(c, _)| matches!(c, Carried::Count(_)));
                let ragged: Vec<Var> = counts.map(|(_, s)| s.vars[0]).collect();
                count = Some(self.make(source.channel, made, &ragged));
                break;
            }
            let take = match count {
                None => Take::Multiple(self.piece.tile.unwrap_or(Atom::int(1))),
                // Where one stream has ended another one has to have, too.
                Some(n) => Take::Exactly(self.e.op("wanted", ScalarOp::Max2, &[n, Atom::int(1)])),
            };
            let n = self.e.p.fresh("items", Ty::int());
            let mut pat = vec![n];
            let mut parts = Vec::new();
            for (v, axis) in source.arrays.iter().zip(&source.axes) {
                let mut many = n;
                if *axis != pass.root {
                    many = self.e.p.fresh("elements", Ty::int());
                    pat.push(many);
                }
                let part = self.e.resized(*v, many.into());
                pat.push(part);
                parts.push((*v, *axis, part, Atom::Var(many)));
            }
            self.e.push(pat, Exp::Pull { channel: source.channel, at: self.at.into(), take });
            let first = *count.get_or_insert(n.into());
            if first != Atom::Var(n) {
                self.same(pass, *k, first, n.into());
            }
            for (v, axis, part, many) in parts {
                // Arrays along one axis have as many elements: from here on by one name.
                let size = match axis == pass.root {
                    true => first,
                    false => *elements.entry(axis).or_insert(many),
                };
                let part = if size == many { part } else { self.e.reshaped(part, size) };
                self.piece.with.insert(v, part.into());
            }
        }
        let count = count.unwrap_or(Atom::int(0));
        self.piece.with.insert(self.t.axes[pass.root].size, count);
        self.piece.at.insert(pass.root, (self.at.into(), count));
        for (c, s) in pass.carried.iter().zip(states) {
            if let Carried::Count(axis) = c {
                let many = elements.get(axis).copied();
                self.piece.with.extend(many.map(|n| (self.t.axes[*axis].size, n)));
                self.piece.at.insert(*axis, (s.vars[0].into(), many.unwrap_or(Atom::int(0))));
            }
        }
        self.name_aliases();
        count
    }

    /// How many items of a stream that the program makes are the next piece. The channel is asked for a number of elements,
    /// since what those are is known here alone: of items that are of any size, as many as those so far had on average, of which
    /// `ragged` says how many there were of each kind.
    fn make(&mut self, channel: usize, made: Made, ragged: &[Var]) -> Atom {
        let (tile, at) = (self.piece.tile, self.at);
        let e = &mut self.e;
        let many = e.p.fresh("elements", Ty::int());
        let take = Take::Multiple(made.elements);
        e.push(vec![many], Exp::Pull { channel, at: at.into(), take });
        let mut each = made.elements;
        if !ragged.is_empty() {
            let before = e.op("before", ScalarOp::Max2, &[at.into(), Atom::int(1)]);
            for count in ragged {
                let mean = e.op("mean", ScalarOp::Quotient, &[(*count).into(), before]);
                each = e.op("each", ScalarOp::Max2, &[each, mean]);
            }
        }
        let mut items = e.op("items", ScalarOp::Quotient, &[many.into(), each]);
        if !ragged.is_empty() {
            // Nobody knows before the first ones; there is an item at least.
            let first = e.op("first", ScalarOp::Eq, &[at.into(), Atom::int(0)]);
            let few = e.op("few", ScalarOp::Min2, &[items, Atom::int(FEW)]);
            items = e.op("items", ScalarOp::Select, &[first, few, items]);
            items = e.op("items", ScalarOp::Max2, &[items, Atom::int(1)]);
        }
        if let Some(tile) = tile {
            let tiles = e.op("tiles", ScalarOp::Quotient, &[items, tile]);
            let tiles = e.op("tiles", ScalarOp::Max2, &[tiles, Atom::int(1)]);
            items = e.op("items", ScalarOp::Mul, &[tiles, tile]);
        }
        let left = e.op("left", ScalarOp::Sub, &[made.items, at.into()]);
        e.op("items", ScalarOp::Min2, &[items, left])
    }

    /// Stops where another stream of one length has another number of items: it is told how many there are of each, up to
    /// the first that the shorter one lacks.
    fn same(&mut self, pass: &Pass, other: usize, first: Atom, n: Atom) {
        let e = &mut self.e;
        let least = e.op("least", ScalarOp::Min2, &[first, n]);
        let most = e.op("most", ScalarOp::Add, &[least, Atom::int(1)]);
        let of = [first, n].map(|n| {
            let n = e.op("items", ScalarOp::Min2, &[n, most]);
            e.op("items", ScalarOp::Add, &[self.at.into(), n])
        });
        let name = |k: usize| e.p.channels[self.sources[k].channel].name.to_string();
        let names = [name(pass.sources[0]), name(other)];
        same(e, names, "at the place where one ends ", [first, n], of);
    }

    /// Other names of sizes that are known.
    fn name_aliases(&mut self) {
        for (alias, axis) in self.aliases {
            if let Some(n) = self.piece.with.get(&self.t.axes[*axis].size).copied() {
                self.piece.with.insert(*alias, n);
            }
        }
    }

    /// A definition over the piece.
    fn define(&mut self, pass: &Pass, states: &[State], def: &Def) {
        let (t, e, piece) = (self.t, &mut self.e, &mut self.piece);
        e.prov = def.stmt.prov;
        for axis in t.axes_of(&def.stmt, def.scan.as_ref()) {
            t.open(e, piece, &pass.carried, axis);
        }
        let is_it = |c: &Carried| matches!(c, Carried::Scan(number, _) if *number == def.number);
        match (&def.scan, pass.carried.iter().position(is_it)) {
            (Some(own), Some(place)) => {
                let next = scan(e, piece, own, &states[place].vars);
                self.prefixes.insert(def.number, next);
            }
            _ => {
                let axes = def.stmt.exp.axes().iter().enumerate();
                let own: Vec<(usize, usize)> =
                    axes.filter_map(|(n, a)| Some((n, t.streamed(a.size)?))).collect();
                let short = match &def.stmt.exp {
                    Exp::View { view: View::Slice { start, dims }, array } => {
                        t.along.get(array).and_then(|a| t.window_slice(a.axis, start, dims))
                    }
                    _ => None,
                };
                t.elements(e, piece, &def.stmt);
                copied(e, piece, &def.stmt, &own, short);
            }
        }
        self.name_aliases();
        for (axis, a) in t.axes.iter().enumerate().filter(|(_, a)| a.made_by == Some(def.number)) {
            let n = self.piece.with.get(&a.size).copied().unwrap_or(Atom::int(0));
            if let Some(at) = self.piece.at.get_mut(&axis) {
                at.1 = n;
            }
        }
    }

    /// The state after the piece.
    fn next(&mut self, pass: &Pass, carried: &Carried, state: &State) -> Vec<Atom> {
        let (t, e, piece) = (self.t, &mut self.e, &mut self.piece);
        match carried {
            Carried::Count(axis) => {
                let (before, n) = piece.at.get(axis).copied().unwrap_or((Atom::int(0), Atom::int(0)));
                vec![e.op("before", ScalarOp::Add, &[before, n])]
            }
            Carried::Scan(number, _) => self.prefixes.remove(number).unwrap_or_default(),
            Carried::Tail(tail) => {
                let of = t.along[&tail.array].axis;
                let known = piece.there.get(&tail.array).copied();
                let there = known.or_else(|| tail.there(e, piece, of));
                there.map(|there| tail.next(e, there).to_vec()).unwrap_or_default()
            }
            Carried::Fold(f) => {
                t.open(e, piece, &pass.carried, f.along);
                let state: Vec<Atom> = state.vars.iter().map(|v| Atom::Var(*v)).collect();
                f.piece(e, piece, &state)
            }
        }
    }

    /// An array of the piece goes to a channel.
    fn push(&mut self, (channel, array, prov): (usize, Var, Prov)) {
        self.e.prov = prov;
        let Some(part) = self.piece.with.get(&array).and_then(|a| a.as_var()) else { return };
        let arrays = vec![self.absolute(array, part)];
        self.e.push(Vec::new(), Exp::Push { channel, arrays });
    }

    /// An array of the piece as it is in the whole stream: where the elements of its items begin is said from the beginning.
    fn absolute(&mut self, array: Var, part: Var) -> Var {
        let along = self.t.places.get(&array).and_then(|data| self.t.along.get(data));
        let Some((before, _)) = along.and_then(|a| self.piece.at.get(&a.axis)).copied() else { return part };
        let e = &mut self.e;
        let Some(count) = e.p.vars[part].ty.dims.first().copied() else { return part };
        let i = e.p.fresh("i", Ty::int());
        let body = e.body(|e| {
            let own = e.at(part.into(), &[i.into()]);
            vec![e.op("start", ScalarOp::Add, &[own, before])]
        });
        let all = e.p.fresh("starts", Ty::int().over(&[count]));
        e.push(vec![all], Exp::Map { axes: vec![Axis { var: i, size: count }], body });
        all
    }
}

impl Tables {
    /// The streamed axes that a definition goes along.
    fn axes_of(&self, def: &Stmt, scan: Option<&Fold>) -> Vec<usize> {
        let own = def.exp.axes().iter().filter_map(|a| self.streamed(a.size));
        let viewed = match &def.exp {
            Exp::View { array, .. } => vec![array, &def.pat[0]],
            _ => Vec::new(),
        };
        let viewed = viewed.into_iter().filter_map(|v| self.along.get(v)).map(|a| a.axis);
        own.chain(scan.map(|s| s.along)).chain(viewed).collect()
    }

    /// How many elements the items of a piece have, where a statement makes one vector of all.
    fn elements(&self, e: &mut Emit<'_>, piece: &mut Piece, def: &Stmt) {
        let Exp::View { view: View::Reshape { dims }, array } = &def.exp else { return };
        let (Some(new), Some(old)) = (self.along.get(&def.pat[0]), self.along.get(array)) else { return };
        let (Some(all), Some((_, count))) = (dims[0].as_var(), piece.at.get(&old.axis).copied()) else {
            return;
        };
        if new.axis != old.axis {
            let item = e.p.vars[*array].ty.dims[1..].to_vec();
            let many = item.iter().fold(count, |n, d| e.op("elements", ScalarOp::Mul, &[n, *d]));
            piece.with.insert(all, many);
        }
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
                && let Some(there) = t.there(e, piece, longer)
            {
                piece.there.insert(t.array, there);
                piece.ahead.insert(t.array, there.array.into());
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

/// Stops where two streams that keep step have different numbers of items, with how many there are `of` each.
fn same(e: &mut Emit<'_>, [a, b]: [String; 2], place: &str, items: [Atom; 2], of: [Atom; 2]) {
    let why = format!("`{a}` and `{b}` are streams of one length").into();
    let left = format!("{place}the number of items of `{a}`").into();
    let right = format!("that of `{b}`").into();
    let cond = e.op("same", ScalarOp::Eq, &items);
    let trap = Trap::Unequal { why, left, right };
    e.push(Vec::new(), Exp::Check { trap, cond, values: of.to_vec() });
}

fn exp_uses(exp: &Exp, f: &mut impl FnMut(Var)) {
    exp.for_each_mention(&mut |a| a.as_var().into_iter().for_each(&mut *f));
}

fn stmt_uses(p: &Program, s: &Stmt, f: &mut impl FnMut(Var)) {
    exp_uses(&s.exp, f);
    s.pat.iter().flat_map(|v| &p.vars[*v].ty.dims).filter_map(|d| d.as_var()).for_each(f);
}

fn fold_uses(fold: &Fold, f: &mut impl FnMut(Var)) {
    exp_uses(&fold.inner, f);
    fold.before.iter().for_each(|s| exp_uses(&s.exp, f));
}

/// The most elements that an item of a stream has, of the arrays that are read for it.
fn elements_read(e: &mut Emit<'_>, source: &SourceInput) -> Atom {
    let items: Vec<Vec<Atom>> = source.arrays.iter().map(|v| e.p.vars[*v].ty.dims[1..].to_vec()).collect();
    most_elements(e, &items)
}

/// The same of a stream that the program makes, of the arrays along it, as far as it is known before what sizes they have.
fn elements_of(e: &mut Emit<'_>, t: &Tables, root: usize, known: &FxHashSet<Var>) -> Atom {
    let is_known = |d: &Atom| d.as_var().is_none_or(|v| known.contains(&v) || e.p.params.contains(&v));
    let mut items: Vec<Vec<Atom>> = Vec::new();
    for (v, along) in t.along.iter().filter(|(_, a)| a.axis == root) {
        let mut dims = e.p.vars[*v].ty.dims.clone();
        dims.remove(along.dim);
        if !dims.is_empty() && dims.iter().all(is_known) && !items.contains(&dims) {
            items.push(dims);
        }
    }
    items.sort_by_key(|dims| dims.iter().map(|d| (d.as_int(), d.as_var())).collect::<Vec<_>>());
    most_elements(e, &items)
}

fn most_elements(e: &mut Emit<'_>, items: &[Vec<Atom>]) -> Atom {
    let mut most = Atom::int(1);
    for dims in items {
        let elements = dims.iter().fold(Atom::int(1), |n, d| match n.as_int() {
            Some(1) => *d,
            _ => e.op("elements", ScalarOp::Mul, &[n, *d]),
        });
        if elements.as_int() != Some(1) {
            most = e.op("most", ScalarOp::Max2, &[most, elements]);
        }
    }
    most
}

/// How many items a tile has: fewer where they have many elements.
fn tile_of(e: &mut Emit<'_>, elements: Atom) -> Atom {
    let tile = e.op("tile", ScalarOp::Quotient, &[Atom::int(TILE_ELEMENTS), elements]);
    let tile = e.op("tile", ScalarOp::Min2, &[tile, Atom::int(TILE)]);
    e.op("tile", ScalarOp::Max2, &[tile, Atom::int(1)])
}
