//! Arrays one after the other of which one is along a stream: what goes along both goes along the one, and then the other.
//!
//! ```text
//! (let (%t) (op + %n %m))
//! (let (%y) (view (append %b) %a))
//! (let (%z) (map ((%i %t)) … %y …))              (let (%za) (map ((%i %n)) … %a …))
//!                                                (let (%zb) (map ((%j %m)) (let (%i) (op + %n %j)) … %b …))
//! (let (%s) (reduce (%i %t) … %z … from 0))  ⟶   (let (%sa) (reduce (%i %n) … %za … from 0))
//!                                                (let (%s) (reduce (%j %m) … %zb … from %sa))
//! (give %z)                                      (push 0 %za) (push 0 %zb) (give %t)
//! ```
//!
//! What a reduction, scan, loop or scatter has at the end of the first array it begins the second one with, so the second
//! is gone along later. Which of them are streams, and which are there, does not matter here.

use super::emit::Emit;
use super::levels::Levels;
use super::*;
use crate::walk::Copier;
use remc_base::ops::{ScalarOp, neutral};

/// Arrays that are one after the other.
#[derive(Default)]
pub(super) struct Appended {
    arrays: FxHashMap<Var, Halves>,
    /// The sizes of their axes.
    axes: FxHashSet<Var>,
}

/// The two arrays that one consists of, and how long each is: an axis of one size may have several such places.
#[derive(Clone, Copy)]
struct Halves {
    of: [Var; 2],
    sizes: [Atom; 2],
}

/// Which part of an axis.
#[derive(Clone, Copy, PartialEq)]
enum Half {
    First,
    Second,
}

impl Appended {
    pub fn contains(&self, v: Var) -> bool {
        self.arrays.contains_key(&v)
    }
}

impl Streamer<'_> {
    /// A statement that goes along such an axis, or makes one, as statements along its parts. `None` of any other.
    ///
    /// # Errors
    /// Of one that cannot be taken apart so, why.
    pub fn halved(&mut self, s: &Stmt) -> S<Option<Vec<Stmt>>> {
        if let Some(parts) = self.appended(s) {
            return Ok(Some(parts));
        }
        let Some(array) = self.mentions_appended(s) else { return Ok(None) };
        let parts = match &s.exp {
            Exp::Atom(Atom::Var(v)) => {
                let both = self.appended.arrays[v];
                self.appended.arrays.insert(s.pat[0], both);
                Some(Vec::new())
            }
            Exp::Push { channel, arrays } if arrays.len() == 1 => {
                let both = self.appended.arrays[&array].of;
                let push =
                    |v: Var| Stmt { exp: Exp::Push { channel: *channel, arrays: vec![v] }, ..s.clone() };
                Some(both.map(push).into())
            }
            _ => self.parts(s),
        };
        match parts.or_else(|| self.behind(s, array)) {
            Some(parts) => Ok(Some(parts)),
            None => self.no(Why::Appended, self.axis_of_half(array)),
        }
    }

    /// Two arrays one after the other are kept as the two.
    fn appended(&mut self, s: &Stmt) -> Option<Vec<Stmt>> {
        let Exp::View { view: View::Append { with }, array } = s.exp else { return None };
        let both = [array, with];
        let streams =
            |v: &Var| self.appended.arrays.contains_key(v) || self.t.along.get(v).is_some_and(|a| a.dim == 0);
        if !both.iter().any(streams) || both.iter().any(|v| self.full.contains_key(v)) {
            return None;
        }
        let size = |v: Var| self.p.vars[v].ty.dims.first().copied();
        let (sizes, all) = ([size(array)?, size(with)?], size(s.pat[0])?.as_var()?);
        self.appended.axes.insert(all);
        self.appended.arrays.insert(s.pat[0], Halves { of: both, sizes });
        Some(Vec::new())
    }

    fn mentions_appended(&self, s: &Stmt) -> Option<Var> {
        let mut found = None;
        s.exp.for_each_mention(&mut |a| {
            found = found.or(a.as_var().filter(|v| self.appended.contains(*v)));
        });
        found
    }

    /// An axis of one of the arrays that an array consists of: of whose stream one can speak.
    pub fn axis_of_half(&self, array: Var) -> usize {
        let mut open = vec![array];
        while let Some(v) = open.pop() {
            match (self.t.along.get(&v), self.appended.arrays.get(&v)) {
                (Some(a), _) => return a.axis,
                (None, both) => open.extend(both.into_iter().flat_map(|h| h.of)),
            }
        }
        0
    }

    /// A result that is such an array, pushed; how many items it has.
    pub fn push_halves(&mut self, array: Var, channel: usize, l: &mut Levels) -> S<Option<Atom>> {
        let Some(both) = self.appended.arrays.get(&array).copied() else { return Ok(None) };
        for v in both.of {
            if self.push_halves(v, channel, l)?.is_none() {
                let exp = Exp::Push { channel, arrays: vec![v] };
                self.place(Stmt { pat: Vec::new(), exp, prov: self.prov }, l)?;
            }
        }
        Ok(self.p.vars[array].ty.dims.first().copied())
    }

    /// The statements along the two parts of an axis.
    fn parts(&mut self, s: &Stmt) -> Option<Vec<Stmt>> {
        // A reduction at each point of a map is one, too.
        let (outer, inner) = match &s.exp {
            Exp::Map { axes, body } if !axes.iter().any(|a| self.is_appended(a.size)) => {
                (Some((axes, body)), body.gives_last()?)
            }
            _ => (None, s),
        };
        let axis = match &inner.exp {
            Exp::Map { axes, .. } if outer.is_none() => *axes.first()?,
            Exp::Filter { axis, .. } | Exp::Scan { axis, .. } if outer.is_none() => *axis,
            Exp::Scatter { axis, .. } if outer.is_none() => *axis,
            Exp::Reduce { axis, .. } | Exp::For { axis, .. } => *axis,
            _ => return None,
        };
        let all = axis.size.as_var()?;
        self.is_appended(axis.size).then_some(())?;
        let s = &self.with_start(s)?;
        let sizes = self.appended.arrays[&self.mentions_appended(s)?].sizes;
        let [a, b] = [Half::First, Half::Second].map(|half| self.half(s, (all, sizes), half));
        let (mut a, mut b) = (a?, b?);
        Some(match &s.exp {
            Exp::Map { .. } if outer.is_none() => {
                self.are_halves(&s.pat, [&a.pat, &b.pat], sizes);
                vec![a, b]
            }
            Exp::Filter { .. } => {
                let counts = [a.pat[0].into(), b.pat[0].into()];
                self.appended.axes.insert(s.pat[0]);
                self.are_halves(&s.pat[1..], [&a.pat[1..], &b.pat[1..]], counts);
                let sum = Exp::Op(ScalarOp::Add, counts.to_vec());
                vec![a, b, Stmt { pat: vec![s.pat[0]], exp: sum, prov: s.prov }]
            }
            Exp::Scan { op, .. } => {
                // What the first part ends with.
                let accs = op.lambda.params[..op.lambda.body.results.len()].to_vec();
                let mut total = a.clone();
                if let Exp::Scan { axis, body, op, .. } = total.exp {
                    total.exp = Exp::Reduce { axis, body, op };
                }
                total.pat = self.emit().fresh_like(&accs, &[]);
                let mut c = Copier::new(self.p);
                let copy = c.body(&Body { stmts: vec![total.clone()], results: Vec::new() });
                let total = copy.stmts.into_iter().next()?;
                self.begin_with(&mut b, &total.pat);
                let (mut before, mut sizes) = (Vec::new(), sizes);
                if let Exp::Scan { kind: kind @ ScanKind::Full, .. } = &mut a.exp {
                    *kind = ScanKind::Exclusive;
                    let mut e = Emit::new(self.p, s.prov);
                    sizes[1] = e.op("prefixes", ScalarOp::Add, &[sizes[1], Atom::int(1)]);
                    before = e.stmts;
                    for (pat, size) in [(&a.pat, sizes[0]), (&b.pat, sizes[1])] {
                        pat.iter().for_each(|v| self.p.vars[*v].ty.dims[0] = size);
                    }
                }
                self.are_halves(&s.pat, [&a.pat, &b.pat], sizes);
                before.extend([a, total, b]);
                before
            }
            _ => {
                self.begin_with(&mut b, &a.pat);
                b.pat.clone_from(&s.pat);
                vec![a, b]
            }
        })
    }

    /// The two arrays that one consists of.
    pub fn halves(&self, array: Var) -> Option<[Var; 2]> {
        self.appended.arrays.get(&array).map(|h| h.of)
    }

    pub fn is_appended(&self, size: Atom) -> bool {
        size.as_var().is_some_and(|v| self.appended.axes.contains(&v))
    }

    fn are_halves(&mut self, all: &[Var], [a, b]: [&[Var]; 2], sizes: [Atom; 2]) {
        for ((v, a), b) in all.iter().zip(a).zip(b) {
            self.appended.arrays.insert(*v, Halves { of: [*a, *b], sizes });
        }
    }

    /// The statement with a start for what it reduces: what changes nothing, where it has none.
    fn with_start(&self, s: &Stmt) -> Option<Stmt> {
        let mut s = s.clone();
        let inner = match &mut s.exp {
            Exp::Map { body, axes } if !axes.iter().any(|a| self.is_appended(a.size)) => {
                &mut body.stmts.last_mut()?.exp
            }
            exp => exp,
        };
        if let Exp::Reduce { op, .. } | Exp::Scan { op, .. } = inner
            && op.start.is_none()
        {
            let accs = &op.lambda.params[..op.lambda.body.results.len()];
            let none = |(op, v): (ScalarOp, &Var)| {
                let ty = &self.p.vars[*v].ty;
                ty.is_scalar().then(|| neutral(op, ty.base).map(Atom::Const))?
            };
            let ops = op.component_ops()?;
            op.start = Some(ops.into_iter().zip(accs).map(none).collect::<Option<_>>()?);
        }
        Some(s)
    }

    /// The statement along one of two parts of the axis of size `all`, with variables of its own.
    fn half(&mut self, s: &Stmt, (all, sizes): (Var, [Atom; 2]), half: Half) -> Option<Stmt> {
        let mut c = Copier::new(self.p);
        let copy = c.body(&Body { stmts: vec![s.clone()], results: Vec::new() });
        let mut s = copy.stmts.into_iter().next()?;
        for v in &s.pat {
            let first = self.p.vars[*v].ty.dims.first_mut().filter(|d| **d == Atom::Var(all));
            first.into_iter().for_each(|d| *d = sizes[half as usize]);
        }
        let inner = match &mut s.exp {
            Exp::Map { axes, body } if axes.iter().all(|a| a.size != Atom::Var(all)) => {
                &mut body.stmts.last_mut()?.exp
            }
            exp => exp,
        };
        let place = self.p.fresh("i", Ty::int());
        let index = match inner {
            Exp::Map { axes, .. } => {
                // Along both of its axes is not along the parts.
                axes[1..].iter().all(|a| a.size != Atom::Var(all)).then_some(())?;
                axes[0].size = sizes[half as usize];
                std::mem::replace(&mut axes[0].var, place)
            }
            Exp::Reduce { axis, .. }
            | Exp::Scan { axis, .. }
            | Exp::Filter { axis, .. }
            | Exp::Scatter { axis, .. }
            | Exp::For { axis, .. } => {
                axis.size = sizes[half as usize];
                std::mem::replace(&mut axis.var, place)
            }
            _ => return None,
        };
        // The first body is that of the items.
        let body = inner.bodies_mut().into_iter().next()?;
        self.items(body, (index, place), sizes, half).then_some(())?;
        let at = match half {
            Half::First => Exp::Atom(place.into()),
            Half::Second => Exp::Op(ScalarOp::Add, vec![sizes[0], place.into()]),
        };
        let mut used = false;
        body.for_each_use(&mut |a| used |= a == Atom::Var(index));
        if used {
            body.stmts.insert(0, Stmt { pat: vec![index], exp: at, prov: s.prov });
        }
        Some(s)
    }

    /// Reads of the arrays in the place of those of what they are parts of; whether all are at the item's own place, and all
    /// have two parts of these sizes.
    fn items(&self, body: &mut Body, (index, place): (Var, Var), sizes: [Atom; 2], half: Half) -> bool {
        let mut fine = true;
        reads(body, &mut |array, at| {
            if let Some(halves) = self.appended.arrays.get(array) {
                fine &= at.first() == Some(&Atom::Var(index)) && halves.sizes == sizes;
                *array = halves.of[half as usize];
                at.iter_mut().take(1).for_each(|i| *i = place.into());
            }
        });
        fine
    }

    /// What a reduction, scan, loop or scatter begins with, at each point of a map if it is in one.
    fn begin_with(&mut self, s: &mut Stmt, first: &[Var]) {
        let prov = s.prov;
        let (mut inner, points, before) = match &mut s.exp {
            Exp::Map { axes, body } => {
                let points: Vec<Atom> = axes.iter().map(|a| a.var.into()).collect();
                let Some(last) = body.stmts.pop() else { return };
                (last, points, Some(body))
            }
            _ => (s.clone(), Vec::new(), None),
        };
        let mut reads = Vec::new();
        let values: Vec<Atom> = match points.is_empty() {
            true => first.iter().map(|v| Atom::Var(*v)).collect(),
            false => first
                .iter()
                .map(|v| {
                    let info = self.p.vars[*v].clone();
                    let x = self.p.fresh(info.name.as_str(), info.ty.cell(points.len()));
                    let exp = Exp::Index { array: *v, at: points.clone() };
                    reads.push(Stmt { pat: vec![x], exp, prov });
                    Atom::Var(x)
                })
                .collect(),
        };
        match &mut inner.exp {
            Exp::Reduce { op, .. } | Exp::Scan { op, .. } => op.start = Some(values),
            Exp::For { state, .. } => {
                state.iter_mut().zip(values).for_each(|((_, first), v)| *first = v);
            }
            Exp::Scatter { dests, .. } => *dests = first.to_vec(),
            _ => {}
        }
        match before {
            Some(body) => {
                body.stmts.extend(reads);
                body.stmts.push(inner);
            }
            None => *s = inner,
        }
    }
}

/// Each read of an array in a body and those inside.
pub(super) fn reads(body: &mut Body, f: &mut impl FnMut(&mut Var, &mut Vec<Atom>)) {
    for s in &mut body.stmts {
        if let Exp::Index { array, at } = &mut s.exp {
            f(array, at);
        }
        s.exp.bodies_mut().into_iter().for_each(|b| reads(b, f));
    }
}
