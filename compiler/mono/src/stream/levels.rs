//! Which statement is in which pass.
//!
//! A statement that goes along a stream is a *definition*, done in each pass that wants what it makes, or a *sink*, which
//! leaves something behind at the stream's end. Everything else is *whole*. The level of a statement is the number of
//! passes that have to be over before it: that of what it mentions, and one more for what is known at an end.
//!
//! ```text
//! (let (%y) (map ((%i %n)) … %x …))           a definition, level 0
//! (let (%s) (reduce (%i %n) … %y …))          a sink of pass 0: %s is of level 1
//! (let (%m) (op / %s %n))                     whole, level 1
//! (let (%z) (map ((%i %n)) … %y … %m …))      a definition, level 1: pass 1 computes %y again
//! ```
//!
//! Whole statements of a level keep their order, and come before its loops.

use super::fold::Fold;
use super::pick::Pick;
use super::*;
use remc_base::ops::ScalarOp;

/// What a pass leaves behind.
#[derive(Clone)]
pub(super) struct Sink {
    /// The axis of the input that it goes along.
    pub root: usize,
    pub what: What,
    pub prov: Prov,
}

#[derive(Clone)]
pub(super) enum What {
    Fold(Fold),
    /// An array goes to a channel.
    Push {
        channel: usize,
        array: Var,
    },
    /// How long an axis is.
    Count(usize),
    /// A definition by its number, for its checks.
    Checks(usize),
}

/// What is of one level.
#[derive(Default)]
pub(super) struct Group {
    pub whole: Vec<Stmt>,
    pub sinks: Vec<Sink>,
}

/// Levels of a body's variables; those from outside are of level 0.
#[derive(Default)]
pub(super) struct Levels {
    of: FxHashMap<Var, usize>,
    groups: Vec<Group>,
    counted: FxHashSet<usize>,
    /// After which level a channel has all that goes to it.
    pushed: FxHashMap<usize, usize>,
}

impl Levels {
    fn group(&mut self, level: usize) -> &mut Group {
        while self.groups.len() <= level {
            self.groups.push(Group::default());
        }
        &mut self.groups[level]
    }
}

/// What a statement is.
enum Kind {
    Whole,
    /// Along an axis.
    Def(usize),
    Fold(Fold),
    Push(usize, Var),
}

impl Streamer<'_> {
    /// The statements of a body by their levels. Results that are along a stream become sizes.
    pub fn levels(&mut self, stmts: Vec<Stmt>, results: &mut [Atom], top: bool) -> S<Vec<Group>> {
        let mut l = Levels::default();
        let mut open: Vec<Stmt> = stmts;
        open.reverse();
        // A map is taken apart, and what comes of it looked at again.
        while let Some(s) = open.pop() {
            let outer = std::mem::replace(&mut self.prov, s.prov);
            let known = self.apart(&s).or_else(|| self.taken(&s));
            let known = known.or_else(|| self.picked(&s)).or_else(|| self.first_ones(&s));
            let parts = match known {
                Some(parts) => Some(parts),
                None => self.halved(&s)?,
            };
            match parts {
                Some(parts) => open.extend(parts.into_iter().rev()),
                None => {
                    let s = self.without_full(s);
                    self.place(s, &mut l)?;
                }
            }
            self.prov = outer;
        }
        for (at, r) in results.iter_mut().enumerate() {
            let Some(v) = r.as_var() else { continue };
            if self.appended.contains(v) {
                if !top {
                    return self.no(Why::Carried, self.axis_of_half(v));
                }
                let channel = self.result(v, at);
                *r = self.push_halves(v, channel, &mut l)?.unwrap_or(*r);
            }
            if let Some(along) = self.t.along.get(&v).copied() {
                let (root, level) = (self.t.axes[along.axis].root, l.of.get(&v).copied().unwrap_or(0));
                if let Some(prov) = self.def_of.get(&v).map(|k| self.defs[*k].prov) {
                    self.prov = prov;
                }
                if !top {
                    return self.no(Why::Carried, along.axis);
                }
                if along.dim != 0 {
                    return self.no(Why::Across, along.axis);
                }
                let channel = self.result(v, at);
                let what = What::Push { channel, array: v };
                l.group(level).sinks.push(Sink { root, what, prov: self.prov });
                *r = self.t.axes[along.axis].size.into();
                if self.full.contains_key(&v) {
                    *r = self.last_prefix(v, channel, &mut l)?;
                }
            }
            if let Some(v) = r.as_var() {
                self.needs_end(v, &mut l);
            }
        }
        Ok(l.groups)
    }

    /// A channel for a result, at its place among the results.
    fn result(&mut self, v: Var, at: usize) -> usize {
        let info = &self.p.vars[v];
        let arrays = vec![ChannelArray::items(info.ty.base, info.ty.rank() - 1)];
        let name = info.name.clone();
        self.p.channels.push(Channel { name, arrays, input: None, output: Some(at) });
        self.p.channels.len() - 1
    }

    /// Puts a statement where it belongs.
    pub(super) fn place(&mut self, s: Stmt, l: &mut Levels) -> S {
        if let Some((channel, n)) = begins(self.p, &s) {
            self.begin(s.pat[0], channel, n, l);
            return Ok(());
        }
        self.shorter(&s);
        let kind = self.kind(&s)?;
        let mut level = 0;
        let mut values = Vec::new();
        self.values(&s, !matches!(kind, Kind::Def(_) | Kind::Fold(_)), &mut values);
        // Which one is the last a piece knows by itself.
        if let (Kind::Fold(Fold { pick: Some(Pick::Last), .. }), Exp::Index { at, .. }) = (&kind, &s.exp) {
            values.retain(|v| at.first() != Some(&Atom::Var(*v)));
        }
        for v in values {
            let mut of = l.of.get(&v).copied().unwrap_or(0);
            if let Some(at_end) = self.needs_end(v, l) {
                of = of.max(at_end);
            }
            level = level.max(of);
        }
        // A stream that the program makes begins when it is known how many items that are.
        if let Kind::Def(axis) | Kind::Fold(Fold { along: axis, .. }) = &kind {
            let size = self.t.axes[self.t.axes[*axis].root].size;
            level = level.max(l.of.get(&size).copied().unwrap_or(0));
        }
        // What is pushed later comes behind, and what is pulled is what was pushed.
        if let Exp::Pull { channel, .. } | Exp::Push { channel, .. } = &s.exp {
            level = level.max(l.pushed.get(channel).copied().unwrap_or(0));
        }
        match kind {
            Kind::Whole => {
                if let Exp::Push { channel, .. } = &s.exp {
                    l.pushed.insert(*channel, level);
                }
                l.of.extend(s.pat.iter().map(|v| (*v, level)));
                l.group(level).whole.push(s);
            }
            Kind::Push(channel, array) => {
                let root = self.t.axes[self.t.along[&array].axis].root;
                let prov = self.prov;
                l.pushed.insert(channel, level + 1);
                l.group(level).sinks.push(Sink { root, what: What::Push { channel, array }, prov });
                if self.full.contains_key(&array) {
                    self.last_prefix(array, channel, l)?;
                }
            }
            Kind::Fold(fold) => {
                l.of.extend(s.pat.iter().map(|v| (*v, level + 1)));
                let (root, prov) = (self.t.axes[fold.along].root, self.prov);
                l.group(level).sinks.push(Sink { root, what: What::Fold(fold), prov });
            }
            Kind::Def(axis) => {
                l.of.extend(s.pat.iter().map(|v| (*v, level)));
                let (k, root, prov) = (self.defs.len(), self.t.axes[axis].root, self.prov);
                self.def_of.extend(s.pat.iter().map(|v| (*v, k)));
                if s.exp.can_stop() {
                    l.group(level).sinks.push(Sink { root, what: What::Checks(k), prov });
                }
                self.defs.push(s);
            }
        }
        Ok(())
    }

    /// A stream whose items the program makes, so many: no array is read for it, and its length is known before.
    fn begin(&mut self, size: Var, channel: usize, n: Atom, l: &mut Levels) {
        let mut level = 0;
        if let Some(v) = n.as_var() {
            level = l.of.get(&v).copied().unwrap_or(0);
            level = level.max(self.needs_end(v, l).unwrap_or(0));
        }
        l.of.insert(size, level);
        // As many items as another one has: they are made together.
        let n = self.end(n);
        let made = |s: &&SourceInput| s.arrays.is_empty() && self.end(self.t.axes[s.axis].size.into()) == n;
        if let Some(axis) = self.sources.iter().find(made).map(|s| s.axis) {
            self.t.axis_of.insert(size, axis);
            self.aliases.push((size, axis));
            self.ends.insert(size, n);
            return;
        }
        let axis = self.axis(size, None, None);
        self.ends.insert(size, n);
        self.sources.push(SourceInput { channel, axis, arrays: Vec::new(), axes: Vec::new() });
    }

    /// The level at which the size of an axis is known; it is counted then. `None` of what is no such size, or known.
    fn needs_end(&mut self, v: Var, l: &mut Levels) -> Option<usize> {
        let axis = *self.t.axis_of.get(&v)?;
        if self.ends.contains_key(&v) {
            return None;
        }
        // What another name of the size is bound to waits for it.
        if self.t.axes[axis].size != v || self.t.axes[axis].window.is_some() {
            return None;
        }
        let made = self.t.axes[axis].made_by.map(|k| self.defs[k].pat.first().and_then(|v| l.of.get(v)));
        let level = made.flatten().copied().unwrap_or(0);
        if l.counted.insert(axis) {
            let (root, prov) = (self.t.axes[axis].root, self.prov);
            l.group(level).sinks.push(Sink { root, what: What::Count(axis), prov });
        }
        Some(level + 1)
    }

    /// The variables that a statement has to have the values of: all of them, or all but sizes of axes.
    fn values(&self, s: &Stmt, sizes: bool, out: &mut Vec<Var>) {
        let axes = s.exp.axes().iter().map(|a| a.size).collect::<Vec<_>>();
        let shape = matches!(s.exp, Exp::View { .. });
        s.exp.for_each_operand(&mut |a| {
            if let Some(v) = a.as_var()
                && (sizes || !(self.t.axis_of.contains_key(&v) && (axes.contains(&a) || shape)))
            {
                out.push(v);
            }
        });
        if sizes {
            let bound = s.pat.iter().copied().chain(s.exp.inner_binders());
            out.extend(bound.flat_map(|v| self.p.vars[v].ty.dims.clone()).filter_map(|a| a.as_var()));
        }
        for b in s.exp.bodies() {
            b.stmts.iter().for_each(|s| self.values(s, sizes, out));
            out.extend(b.results.iter().filter_map(|a| a.as_var()));
        }
    }

    /// Whether a statement mentions an array of all items of a stream, which is along none: one that was collected.
    pub fn mentions_whole(&self, s: &Stmt) -> bool {
        let mut any = false;
        let mut look = |a: Atom| {
            let Some(v) = a.as_var() else { return };
            let dims = &self.p.vars[v].ty.dims;
            any |= self.collected.contains(&v) || dims.iter().any(|d| self.streamed(*d).is_some());
        };
        s.exp.for_each_operand(&mut look);
        s.exp.bodies().into_iter().for_each(|b| {
            b.free_vars().into_iter().for_each(|v| look(v.into()));
        });
        any
    }

    /// Whether a statement mentions an array along a stream.
    pub fn is_along(&self, s: &Stmt) -> bool {
        s.exp.mentions(|v| self.t.along.contains_key(&v))
    }

    /// The streamed axis of that size.
    pub fn streamed(&self, size: Atom) -> Option<usize> {
        self.t.streamed(size)
    }

    /// A map over other axes, in which something is reduced along a stream, as the reductions by themselves and the rest.
    fn apart(&mut self, s: &Stmt) -> Option<Vec<Stmt>> {
        let Exp::Map { axes, body } = &s.exp else { return None };
        if let Some(parts) = self.given(s, axes, body) {
            return Some(parts);
        }
        let goes = |size: Atom| self.streamed(size).is_some() || self.is_appended(size);
        let folds = |s: &Stmt| match &s.exp {
            Exp::Reduce { axis, .. } | Exp::For { axis, .. } | Exp::Scan { axis, .. } => goes(axis.size),
            _ => false,
        };
        let is_one =
            body.gives_last().is_some_and(folds) && body.stmts.iter().filter(|s| folds(s)).count() == 1;
        if axes.iter().any(|a| goes(a.size)) || is_one {
            return None;
        }
        let at = body.stmts.iter().position(folds)?;
        let (before, fold) = (&body.stmts[..at], &body.stmts[at]);
        let dims: Vec<Atom> = axes.iter().map(|a| a.size).collect();
        let mut e = self.emit();
        let arrays = e.fresh_like(&fold.pat, &dims);
        let alone = Body {
            stmts: before.iter().chain([fold]).cloned().collect(),
            results: fold.pat.iter().map(|v| Atom::Var(*v)).collect(),
        };
        let mut c = crate::walk::Copier::new(e.p);
        let mut own = axes.clone();
        for a in &mut own {
            let v = c.program.fresh(c.program.vars[a.var].name.clone().as_str(), Ty::int());
            c.with.insert(a.var, v.into());
            a.var = v;
        }
        let alone = c.body(&alone);
        let first = Stmt { pat: arrays.clone(), exp: Exp::Map { axes: own, body: alone }, prov: fold.prov };
        let mut rest = body.clone();
        let points: Vec<Atom> = axes.iter().map(|a| a.var.into()).collect();
        // What is along the stream at a point is read where it is, and not as an array of the point's own.
        super::append::reads(&mut rest, &mut |array, at| {
            if let Some(k) = fold.pat.iter().position(|v| v == array) {
                *array = arrays[k];
                at.splice(0..0, points.iter().copied());
            }
        });
        let mut used = FxHashSet::default();
        rest.for_each_use(&mut |a| used.extend(a.as_var()));
        let reads = fold.pat.iter().zip(&arrays).filter(|(v, _)| used.contains(v)).map(|(v, array)| Stmt {
            pat: vec![*v],
            exp: Exp::Index { array: *array, at: points.clone() },
            prov: fold.prov,
        });
        rest.stmts.splice(at..=at, reads);
        let exp = Exp::Map { axes: axes.clone(), body: rest };
        Some(vec![first, Stmt { pat: s.pat.clone(), exp, prov: s.prov }])
    }

    /// A map over other axes that gives, at each of its points, what an array along a stream has there: that array, and the
    /// map of what else it gives.
    fn given(&self, s: &Stmt, axes: &[Axis], body: &Body) -> Option<Vec<Stmt>> {
        let points: Vec<Atom> = axes.iter().map(|a| a.var.into()).collect();
        // All of the array, which is all that there is of it.
        let is_it = |array: &Var, at: &[Atom]| {
            let dims = &self.p.vars[*array].ty.dims;
            at == points
                && axes.iter().zip(dims).all(|(a, d)| a.size == *d)
                && self.t.along.contains_key(array)
                && !self.full.contains_key(array)
        };
        let array = |r: &Atom| {
            body.stmts.iter().find_map(|s| match &s.exp {
                Exp::Index { array, at } if s.pat.first().map(|v| Atom::Var(*v)) == Some(*r) => {
                    is_it(array, at).then_some(*array)
                }
                _ => None,
            })
        };
        let arrays: Vec<Option<Var>> = body.results.iter().map(array).collect();
        if arrays.iter().all(Option::is_none) || body.can_stop() {
            return None;
        }
        let (mut parts, mut pat, mut rest) = (Vec::new(), Vec::new(), body.clone());
        rest.results.clear();
        for ((v, r), array) in s.pat.iter().zip(&body.results).zip(arrays) {
            match array {
                Some(array) => {
                    parts.push(Stmt { pat: vec![*v], exp: Exp::Atom(array.into()), prov: s.prov });
                }
                None => {
                    pat.push(*v);
                    rest.results.push(*r);
                }
            }
        }
        if !pat.is_empty() {
            let mut used = FxHashSet::default();
            rest.for_each_use(&mut |a| used.extend(a.as_var()));
            rest.stmts
                .retain(|s| !matches!(s.exp, Exp::Index { .. }) || s.pat.iter().any(|v| used.contains(v)));
            parts.push(Stmt { pat, exp: Exp::Map { axes: axes.to_vec(), body: rest }, prov: s.prov });
        }
        Some(parts)
    }

    fn kind(&mut self, s: &Stmt) -> S<Kind> {
        let along = |v: &Var| self.t.along.get(v).copied();
        match &s.exp {
            Exp::Pull { .. } => {
                self.collected.extend(s.pat.iter().skip(1));
                return Ok(Kind::Whole);
            }
            Exp::Push { channel, arrays } => {
                let [array] = arrays[..] else { return Ok(Kind::Whole) };
                return match along(&array) {
                    Some(a) if a.dim != 0 => self.no(Why::Across, a.axis),
                    Some(_) => Ok(Kind::Push(*channel, array)),
                    None => Ok(Kind::Whole),
                };
            }
            Exp::Atom(Atom::Var(v)) => {
                let Some(a) = along(v) else { return Ok(Kind::Whole) };
                self.t.along.extend(s.pat.iter().map(|v| (*v, a)));
                if let (Some(starts), [new]) = (self.t.starts.get(v).copied(), &s.pat[..]) {
                    self.t.starts.insert(*new, starts);
                }
                self.same_places(*v, &s.pat);
                if let (Some(scan), [new]) = (self.full.get(v).cloned(), &s.pat[..]) {
                    self.full.insert(*new, scan);
                }
                return Ok(Kind::Def(a.axis));
            }
            Exp::Index { array, at } => {
                let Some(a) = along(array) else { return Ok(Kind::Whole) };
                if let Some(fold) = Fold::of(self, s) {
                    return Ok(Kind::Fold(fold));
                }
                if a.dim < at.len() {
                    return self.no(Why::Elsewhere, a.axis);
                }
                let cell = Along { dim: a.dim - at.len(), ..a };
                self.t.along.extend(s.pat.iter().map(|v| (*v, cell)));
                self.same_places(*array, &s.pat);
                return Ok(Kind::Def(a.axis));
            }
            Exp::View { view, array } => return self.view(s, view, *array),
            _ if !self.is_along(s) && self.mentions_whole(s) => return Ok(Kind::Whole),
            _ => {}
        }
        if let Some(fold) = Fold::of(self, s) {
            self.reads(s, fold.along)?;
            self.no_places(&s.exp, fold.along)?;
            return Ok(Kind::Fold(fold));
        }
        if let Some(scan) = Fold::scan(self, s) {
            self.reads(s, scan.along)?;
            self.no_places(&s.exp, scan.along)?;
            if let Exp::Scan { kind: ScanKind::Full, .. } = scan.inner {
                return self.no(Why::Whole, scan.along);
            }
            let along = Along { axis: scan.along, dim: scan.outer.len() };
            self.t.along.extend(s.pat.iter().map(|v| (*v, along)));
            return Ok(Kind::Def(scan.along));
        }
        let own: Vec<(usize, usize)> =
            s.exp.axes().iter().enumerate().filter_map(|(k, a)| Some((k, self.streamed(a.size)?))).collect();
        match (&s.exp, &own[..]) {
            (Exp::If { .. } | Exp::For { .. } | Exp::While { .. }, _) => {
                let mut carried = None;
                s.exp.for_each_operand(&mut |a| carried = carried.or(a.as_var().and_then(|v| along(&v))));
                match carried {
                    Some(a) => self.no(Why::Carried, a.axis),
                    None => Ok(Kind::Whole),
                }
            }
            (_, []) => {
                let (mut any, mut full) = (None, false);
                let mut look = |a: Atom| {
                    any = any.or(a.as_var().and_then(|v| along(&v)));
                    full |= a.as_var().is_some_and(|v| self.full.contains_key(&v));
                };
                s.exp.for_each_operand(&mut look);
                s.exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut look));
                let Some(a) = any else { return Ok(Kind::Whole) };
                let scans = |s: &Stmt| match &s.exp {
                    Exp::Scan { axis, .. } => self.streamed(axis.size).is_some(),
                    _ => false,
                };
                let mut inside = false;
                s.exp.bodies().into_iter().for_each(|b| b.for_each_stmt(&mut |s| inside |= scans(s)));
                self.no(
                    if full {
                        Why::Longer
                    } else if inside {
                        Why::Inside
                    } else {
                        Why::Whole
                    },
                    a.axis,
                )
            }
            (Exp::Grade { .. }, [(_, axis), ..]) => self.no(Why::Sorts, *axis),
            (Exp::Map { body, .. }, [(dim, axis)]) => {
                let (dim, axis) = (*dim, *axis);
                self.reads(s, axis)?;
                self.made_places(body, axis, &s.pat)?;
                self.t.along.extend(s.pat.iter().map(|v| (*v, Along { axis, dim })));
                Ok(Kind::Def(axis))
            }
            (Exp::Filter { body, .. }, [(_, axis)]) => {
                let axis = *axis;
                self.reads(s, axis)?;
                // The first result says whether the others are kept, and the first variable how many are.
                self.made_places(body, axis, &s.pat)?;
                let kept = self.axis(s.pat[0], Some(self.t.axes[axis].root), Some(self.defs.len()));
                self.t.along.extend(s.pat[1..].iter().map(|v| (*v, Along { axis: kept, dim: 0 })));
                Ok(Kind::Def(axis))
            }
            (Exp::Join { regular, .. }, [(_, axis)]) => {
                let axis = *axis;
                self.reads(s, axis)?;
                let (maps, joined) = s.pat.split_at(*regular);
                if let Exp::Join { body, .. } = &s.exp {
                    self.made_places(body, axis, maps)?;
                }
                self.t.along.extend(maps.iter().map(|v| (*v, Along { axis, dim: 0 })));
                for part in joined.chunks(3) {
                    let all = self.axis(part[0], Some(self.t.axes[axis].root), Some(self.defs.len()));
                    self.t.along.insert(part[1], Along { axis, dim: 0 });
                    self.t.along.insert(part[2], Along { axis: all, dim: 0 });
                    self.t.starts.insert(part[2], part[1]);
                    self.t.places.insert(part[1], part[2]);
                }
                if let Exp::Join { body, .. } = &s.exp {
                    let (counts, made) = body.results.split_at(*regular);
                    for (r, part) in made.iter().zip(joined.chunks(3)) {
                        let Some(v) = r.as_var() else { continue };
                        for (n, known) in counts.iter().zip(maps) {
                            if self.p.vars[v].ty.dims[..] == [*n] {
                                let all = self.t.axis_of[&part[0]];
                                self.lengths.insert(*known, all);
                            }
                        }
                    }
                }
                Ok(Kind::Def(axis))
            }
            (_, [(_, axis), ..]) => self.no(Why::Whole, *axis),
        }
    }

    /// Arrays of the same places as another one.
    fn same_places(&mut self, array: Var, pat: &[Var]) {
        if let Some(data) = self.t.places.get(&array).copied() {
            self.t.places.extend(pat.iter().map(|v| (*v, data)));
        }
    }

    /// Those of the arrays that a body makes which are of places; what it makes otherwise is none.
    fn made_places(&mut self, body: &Body, axis: usize, pat: &[Var]) -> S {
        for (k, data) in self.places(body, axis)?.into_iter().enumerate() {
            match (pat.get(k), data) {
                (Some(v), Some(data)) => drop(self.t.places.insert(*v, data)),
                (None, Some(_)) => return self.no(Why::Places, axis),
                (_, None) => {}
            }
        }
        Ok(())
    }

    /// A view of an array along a stream, or one that repeats something along it.
    fn view(&mut self, s: &Stmt, view: &View, array: Var) -> S<Kind> {
        let mut others = Vec::new();
        view.operands()
            .iter()
            .for_each(|a| others.extend(a.as_var().and_then(|v| self.t.along.get(&v).copied())));
        let Some(a) = self.t.along.get(&array).copied() else {
            if let Some(with) = others.first() {
                return self.no(Why::Rearranges, with.axis);
            }
            let dims = &self.p.vars[s.pat[0]].ty.dims;
            let axis = dims.iter().enumerate().find_map(|(k, d)| Some((k, self.streamed(*d)?)));
            return match (view, axis) {
                (View::Replicate { .. }, Some((dim, axis))) => {
                    self.t.along.insert(s.pat[0], Along { axis, dim });
                    Ok(Kind::Def(axis))
                }
                _ => Ok(Kind::Whole),
            };
        };
        let size = Atom::Var(self.t.axes[a.axis].size);
        let is_whole =
            |start: &[Atom], dims: &[Atom], k: usize| start[k].as_int() == Some(0) && dims[k] == size;
        match view {
            View::Slice { start, dims } if self.t.window_slice(a.axis, start, dims).is_some() => {}
            View::Slice { start, dims } if is_whole(start, dims, 0) => {}
            _ if self.full.contains_key(&array) => return self.no(Why::Longer, a.axis),
            _ => {}
        }
        let along = match view {
            View::Permute { perm } => perm.iter().position(|p| *p == a.dim),
            View::Replicate { dims } => Some(a.dim + dims.len()),
            View::Reshape { dims }
                if a.dim == 0 && dims.first().is_some_and(|d| self.streamed(*d) == Some(a.axis)) =>
            {
                Some(0)
            }
            // The elements of all items as a vector, whose length is an axis of its own.
            View::Reshape { dims } if a.dim == 0 && dims.len() == 1 && self.is_new(dims[0]) => {
                let axis = dims[0]
                    .as_var()
                    .map(|v| self.axis(v, Some(self.t.axes[a.axis].root), Some(self.defs.len())));
                self.t.along.extend(axis.map(|axis| (s.pat[0], Along { axis, dim: 0 })));
                return match self.t.places.contains_key(&array) {
                    true => self.no(Why::Places, a.axis),
                    false => Ok(Kind::Def(a.axis)),
                };
            }
            View::Slice { start, dims }
                if a.dim == 0 && self.t.window_slice(a.axis, start, dims).is_some() =>
            {
                if self.t.places.contains_key(&array) {
                    return self.no(Why::Places, a.axis);
                }
                let (axis, _) = self.t.window_slice(a.axis, start, dims).unwrap_or((a.axis, 0));
                self.t.along.insert(s.pat[0], Along { axis, dim: 0 });
                return Ok(Kind::Def(axis));
            }
            View::Slice { start, dims } => {
                (a.dim >= start.len() || is_whole(start, dims, a.dim)).then_some(a.dim)
            }
            View::Reverse if a.dim > 0 => Some(a.dim),
            View::Rotate { amounts } if a.dim >= amounts.len() => Some(a.dim),
            _ => None,
        };
        let Some(dim) = along else { return self.no(Why::Rearranges, a.axis) };
        self.same_places(array, &s.pat);
        self.t.along.insert(s.pat[0], Along { axis: a.axis, dim });
        Ok(Kind::Def(a.axis))
    }

    /// Whether a size is a variable that is no axis yet.
    fn is_new(&self, size: Atom) -> bool {
        size.as_var().is_some() && self.streamed(size).is_none()
    }

    /// That each array along a stream is read at the place where the statement is, along its own axis alone.
    fn reads(&self, s: &Stmt, axis: usize) -> S {
        let mut places: FxHashMap<Var, usize> = FxHashMap::default();
        let mut found: FxHashMap<Var, &Exp> = FxHashMap::default();
        let mut sizes: FxHashMap<Var, i64> = FxHashMap::default();
        let (mut wrong, mut rows) = (None, false);
        let own = |a: &Axis| self.streamed(a.size);
        places.extend(s.exp.axes().iter().filter_map(|a| Some((a.var, own(a)?))));
        sizes.extend(s.exp.axes().iter().filter_map(|a| Some((a.var, a.size.as_int()?))));
        for b in s.exp.bodies() {
            b.for_each_stmt(&mut |inner| {
                places.extend(inner.exp.axes().iter().filter_map(|a| Some((a.var, own(a)?))));
                sizes.extend(inner.exp.axes().iter().filter_map(|a| Some((a.var, a.size.as_int()?))));
                if let [v] = inner.pat[..] {
                    found.insert(v, &inner.exp);
                }
            });
        }
        // Along the stream again for each of its items.
        if places.len() > 1 {
            wrong = Some(Why::Whole);
        }
        let begins = |a: &Atom, data: Var| {
            let Some(starts) = self.t.starts.get(&data) else { return false };
            let is_start = |a: &Atom| match a.as_var().and_then(|v| found.get(&v)) {
                Some(Exp::Index { array, .. }) => array == starts,
                _ => false,
            };
            is_start(a)
                || match a.as_var().and_then(|v| found.get(&v)) {
                    Some(Exp::Op(ScalarOp::Add, args)) => args.iter().any(is_start),
                    _ => false,
                }
        };
        let mut look = |inner: &Stmt| {
            let mut plain = true;
            if let Exp::Index { array, at } = &inner.exp
                && let Some(a) = self.t.along.get(array)
            {
                plain = false;
                let here = at.get(a.dim).is_some_and(|i| {
                    i.as_var().and_then(|v| places.get(&v)) == Some(&a.axis)
                        || begins(i, *array)
                        || places.iter().any(|(v, w)| self.t.looks_ahead(*w, a.axis, *v, *i, &found, &sizes))
                });
                let why = match at.len() > a.dim {
                    _ if self.t.axes[a.axis].root != self.t.axes[axis].root => Some(Why::OutOfStep),
                    _ if here => None,
                    true => Some(Why::Elsewhere),
                    false => Some(Why::Whole),
                };
                wrong = wrong.or(why);
            }
            if plain {
                inner.exp.for_each_operand(&mut |a| {
                    if a.as_var().is_some_and(|v| self.t.along.contains_key(&v)) {
                        wrong = wrong.or(Some(Why::Whole));
                    }
                });
            }
        };
        for b in s.exp.bodies() {
            b.for_each_stmt(&mut look);
            let mut results = |b: &Body| {
                if b.results.iter().any(|a| a.as_var().is_some_and(|v| self.t.along.contains_key(&v))) {
                    rows = true;
                }
            };
            results(b);
            b.for_each_stmt(&mut |s| s.exp.bodies().into_iter().for_each(&mut results));
        }
        if rows {
            wrong = wrong.or(Some(Why::Whole));
        }
        // Neither starts nor destinations are along a stream.
        s.exp.for_each_operand(&mut |a| {
            if a.as_var().is_some_and(|v| self.t.along.contains_key(&v)) {
                wrong = wrong.or(Some(Why::Whole));
            }
        });
        match wrong {
            Some(why) => self.no(why, axis),
            None => Ok(()),
        }
    }
}
