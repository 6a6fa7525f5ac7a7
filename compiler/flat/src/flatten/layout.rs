//! Arrays lie in memory the way those who make them and those who read them go through them.
//!
//! A function that is applied to columns makes columns: they follow one another in its result, so that each is written at
//! places far apart from its neighbour's, and who goes along the rows reads them so. If both sides gain, the axes follow one
//! another in memory in another order ([`Seg::orders`]), and what exchanged them has nothing left to do:
//!
//! ```text
//! (let (%a %k %n) (seg-map grid ((%i %k))                 (let (%a %n %k) (seg-map grid ((%i %k)) (axes (1 0))
//!   (scan (%j %n) (index %m %j %i) …)))                     (scan (%j %n) (index %m %j %i) …)))
//! (let (%b) (seg-map grid ((%p %n) (%q %k))      ⇒        (let (%b) (seg-map grid ((%p %n) (%q %k))
//!   … (index %a %q %p) …))                                  … (index %a %p %q) …))
//! (let (%c) (view (permute 1 0) %a))                      (let (%c) %a)
//! ```
//!
//! **Who makes it** gains if its points, which run side by side along the last axis of the space, read neighbours, and nothing
//! along another axis. **Who reads it** gains by the axis that its innermost loop goes along. More have to gain than to
//! lose. Whole, or as a state, nobody may want the array but by a view that exchanges axes.
//!
//! Of an array that is made in versions each makes it so. What cannot exchanges them afterwards.
//!
//! The same choice for whole programs is that of index functions in Futhark's memory (Munksgaard et al., *Memory
//! Optimizations in an Array Language*, SC 2022). Here an operator alone knows of it: everybody else sees an array of other dims.

use crate::ir::*;
use remc_base::Prov;
use remc_mono::ir as mono;
use rustc_hash::{FxHashMap, FxHashSet};

/// Looks through the statements of a body of the host, and of those inside it.
pub(super) fn layouts(table: &mut mono::Program, body: &mut Body) {
    for k in 0..body.stmts.len() {
        body.stmts[k].exp.bodies_mut().into_iter().for_each(|b| layouts(table, b));
        for result in 0..body.stmts[k].pat.len() {
            let v = body.stmts[k].pat[result];
            let rank = table.ty(v).rank();
            let Some(last) = made_along(table, &body.stmts[k], result).filter(|last| last + 1 < rank) else {
                continue;
            };
            let Some(order) = Readers::of(table, body, k, v).and_then(|r| r.order(rank, last)) else {
                continue;
            };
            make(table, &mut body.stmts[k], result, &order);
            let rest = body.stmts.iter_mut().skip(k + 1);
            rest.for_each(|s| read(table, s, v, &order));
        }
    }
}

/// The axes but one in order, then that one.
fn with_last(rank: usize, last: usize) -> Vec<usize> {
    (0..rank).filter(|k| *k != last).chain([last]).collect()
}

fn inverse(order: &[usize]) -> Vec<usize> {
    (0..order.len()).filter_map(|k| order.iter().position(|o| *o == k)).collect()
}

// ---- who makes it ----

/// The axis of a result whose neighbours a statement makes side by side, if it could do that in any order.
fn made_along(table: &mono::Program, s: &Stmt, result: usize) -> Option<usize> {
    match &s.exp {
        Exp::Seg(Seg { level: Level::Grid, space, kind: SegKind::Map, orders, body })
            if orders.is_empty() =>
        {
            let last = space.last()?;
            let mut reads = Reads::new(table, space);
            reads.body(body);
            let along = |axis: &Axis| reads.along.iter().filter(|v| **v == Some(axis.var)).count();
            let cell = table.ty(s.pat[result]).rank() > space.len();
            let axis = match cell {
                true => Some(last).filter(|a| along(a) > 0 && along(a) == reads.along.len()),
                // The points of such a space may be in any order.
                false => space.iter().find(|a| 2 * along(a) > reads.along.len()),
            }?;
            (cell || s.pat.len() == 1).then(|| space.iter().position(|a| a.var == axis.var))?
        }
        // The version for many points.
        Exp::Branch { then, .. } => {
            let (k, r) = bound(then, result)?;
            made_along(table, &then.stmts[k], r)
        }
        _ => None,
    }
}

/// The statement of a body that binds a result of it, which is no other result, and read by nobody inside.
fn bound(b: &Body, result: usize) -> Option<(usize, usize)> {
    let v = b.results.get(result)?.as_var()?;
    let mut uses = 0;
    b.for_each_use(&mut |a| uses += usize::from(a == v.into()));
    let at = |s: &Stmt| s.pat.iter().position(|p| *p == v);
    let k = b.stmts.iter().position(|s| at(s).is_some()).filter(|_| uses == 1)?;
    Some((k, at(&b.stmts[k])?))
}

/// Has a statement make a result in that order of its axes.
fn make(table: &mut mono::Program, s: &mut Stmt, result: usize, order: &[usize]) {
    let v = s.pat[result];
    let Ty { base, dims } = table.ty(v).clone();
    let exchanged = |dims: &[Atom]| -> Vec<Atom> { order.iter().map(|k| dims[*k]).collect() };
    match &mut s.exp {
        // Points that give a number are in another order themselves.
        Exp::Seg(Seg { space, kind: SegKind::Map | SegKind::Red { .. }, .. })
            if s.pat.len() == 1 && dims.len() == space.len() =>
        {
            *space = order.iter().map(|k| space[*k]).collect();
        }
        Exp::Seg(seg) => {
            seg.orders.resize(s.pat.len(), Vec::new());
            seg.orders[result] = order.to_vec();
        }
        Exp::Branch { then, otherwise, .. } => {
            for b in [then, otherwise] {
                match bound(b, result) {
                    Some((k, r)) if makes(&b.stmts[k]) => make(table, &mut b.stmts[k], r, order),
                    _ => afterwards(table, b, result, order, s.prov),
                }
            }
        }
        _ => return,
    }
    table.vars[v].ty = Ty { base, dims: exchanged(&dims) };
}

/// Whether a statement can make a result so that its axes are in another order.
fn makes(s: &Stmt) -> bool {
    match &s.exp {
        // The results of a reduction have the axes of the space alone, which is one for all of them.
        Exp::Seg(Seg { level: Level::Grid, kind: SegKind::Red { .. }, .. }) => s.pat.len() == 1,
        Exp::Seg(seg) => seg.level == Level::Grid && !seg.space.is_empty(),
        Exp::Branch { .. } => true,
        _ => false,
    }
}

/// Exchanges the axes of a result of a version that is made in order.
fn afterwards(table: &mut mono::Program, b: &mut Body, result: usize, order: &[usize], prov: Prov) {
    let Some(array) = b.results[result].as_var() else { return };
    let mono::VarInfo { name, ty } = table.vars[array].clone();
    let dims = order.iter().map(|k| ty.dims[*k]).collect();
    let v = table.fresh(name.as_str(), Ty { base: ty.base, dims });
    let view = View::Permute { perm: order.to_vec() };
    b.stmts.push(Stmt { pat: vec![v], exp: Exp::Host(mono::Exp::View { view, array }), prov });
    b.results[result] = v.into();
}

// ---- who reads it ----

/// What leaves read, by the loop that goes along the last index of it.
struct Reads<'t> {
    table: &'t mono::Program,
    /// Loops under way, the innermost last, and how many of them are the space's.
    loops: Vec<Var>,
    points: usize,
    /// Numbers that are a loop's but for what is added.
    linear: FxHashMap<Var, Var>,
    /// Numbers that depend on loops in another way, or on others as well.
    mixed: FxHashSet<Var>,
    /// Arrays made inside, and what cells are of which array, from which indices on.
    own: FxHashSet<Var>,
    cells: FxHashMap<Var, (Var, Vec<Atom>)>,
    /// For each read from outside that depends on several loops the loop of its last index, if that is one.
    along: Vec<Option<Var>>,
    /// The array that is looked for; where the innermost loop is among the indices of each read of it, unless several loops are
    /// that may go along it; whether it is wanted as a whole.
    of: Option<Var>,
    places: Vec<Option<usize>>,
    whole: bool,
}

impl<'t> Reads<'t> {
    fn new(table: &'t mono::Program, space: &[Axis]) -> Reads<'t> {
        let loops: Vec<Var> = space.iter().map(|a| a.var).collect();
        Reads {
            table,
            points: loops.len(),
            linear: loops.iter().map(|v| (*v, *v)).collect(),
            loops,
            mixed: FxHashSet::default(),
            own: FxHashSet::default(),
            cells: FxHashMap::default(),
            along: Vec::new(),
            of: None,
            places: Vec::new(),
            whole: false,
        }
    }

    fn loop_of(&self, a: Atom) -> Option<Var> {
        self.linear.get(&a.as_var()?).copied()
    }

    fn is_of(&self, a: Atom) -> bool {
        a.as_var().is_some_and(|v| {
            Some(v) == self.of || self.cells.get(&v).is_some_and(|(array, _)| Some(*array) == self.of)
        })
    }

    fn body(&mut self, b: &mono::Body) {
        for s in &b.stmts {
            self.stmt(s);
        }
        self.whole |= b.results.iter().any(|a| self.is_of(*a));
    }

    fn stmt(&mut self, s: &mono::Stmt) {
        match (&s.exp, s.pat.as_slice()) {
            (mono::Exp::Index { array, at }, [v]) => {
                let (array, mut all) = self.cells.get(array).cloned().unwrap_or((*array, Vec::new()));
                all.extend(at);
                match self.table.ty(*v).is_scalar() {
                    true => self.read(array, &all),
                    false => drop(self.cells.insert(*v, (array, all))),
                }
                return;
            }
            (mono::Exp::Op(op, args), [v]) => self.computed(*v, *op, args),
            _ => self.own.extend(s.pat.iter().filter(|v| !self.table.ty(**v).is_scalar())),
        }
        let mut whole = false;
        s.exp.for_each_operand(&mut |a| whole |= self.is_of(a));
        self.whole |= whole;
        let loops = self.loops.len();
        s.exp.axes().iter().for_each(|axis| self.enter(axis));
        s.exp.bodies().into_iter().for_each(|b| self.body(b));
        self.loops.truncate(loops);
    }

    fn enter(&mut self, axis: &Axis) {
        self.loops.push(axis.var);
        self.linear.insert(axis.var, axis.var);
    }

    fn computed(&mut self, v: Var, op: remc_base::ops::ScalarOp, args: &[Atom]) {
        use remc_base::ops::ScalarOp::{Add, Max2, Min2, Select, Sub};
        let of = match (op, args) {
            (Add | Min2 | Max2, [a, b]) => match (self.loop_of(*a), self.loop_of(*b)) {
                (Some(l), None) | (None, Some(l)) => Some(l),
                _ => None,
            },
            (Sub, [a, b]) => self.loop_of(*a).filter(|_| self.loop_of(*b).is_none()),
            // An index that wraps round is consecutive but for that place.
            (Select, [_, a, b]) => self.loop_of(*a).filter(|l| self.loop_of(*b) == Some(*l)),
            _ => None,
        };
        let (mut depends, mut others) = (false, false);
        for a in args.iter().filter_map(|a| a.as_var()) {
            depends |= self.linear.contains_key(&a);
            others |= self.mixed.contains(&a);
        }
        if others || depends && of.is_none() {
            self.mixed.insert(v);
        }
        self.linear.extend(of.map(|l| (v, l)));
    }

    fn read(&mut self, array: Var, at: &[Atom]) {
        let loops: Vec<Option<Var>> = at.iter().map(|a| self.loop_of(*a)).collect();
        // What depends on one loop alone is read in any order as well.
        let last = at.last().and_then(|a| a.as_var());
        let reshaped = last.is_some_and(|v| self.linear.contains_key(&v) && self.mixed.contains(&v));
        if !self.own.contains(&array) && (reshaped || loops.iter().flatten().count() > 1) {
            self.along.push(loops.last().copied().flatten());
        }
        if Some(array) == self.of {
            let place = |l: &Var| loops.iter().position(|of| *of == Some(*l));
            let inner = self.loops.iter().rev().find(|l| place(l).is_some());
            // A loop of a point goes along this axis or that one: points run side by side, or its iterations do.
            let point = self.loops[..self.points].last();
            let either = point != inner && point.is_some_and(|p| place(p).is_some());
            self.places.push(inner.and_then(place).filter(|_| !either));
        }
    }
}

/// Those who read an array: how many by each of its axes, and how those exchange axes who want it as a whole.
#[derive(Default)]
struct Readers {
    along: Vec<usize>,
    views: Vec<Vec<usize>>,
    any: bool,
}

impl Readers {
    /// Those of an array that a statement of a body binds, if none wants it as it is.
    fn of(table: &mono::Program, body: &Body, at: usize, v: Var) -> Option<Readers> {
        let mut all = Readers::default();
        all.body(table, &body.stmts[at + 1..], v)?;
        (all.any && !body.results.contains(&v.into())).then_some(all)
    }

    fn body(&mut self, table: &mono::Program, stmts: &[Stmt], v: Var) -> Option<()> {
        for s in stmts {
            if let Exp::Host(e) = &s.exp {
                let mut mentioned = false;
                e.for_each_operand(&mut |a| mentioned |= a == v.into());
                match e {
                    _ if !mentioned => {}
                    mono::Exp::View { view: View::Permute { perm }, array } if *array == v => {
                        self.views.push(perm.clone());
                    }
                    mono::Exp::Index { array, .. } if *array == v && table.ty(s.pat[0]).is_scalar() => {}
                    _ => return None,
                }
                self.any |= mentioned;
                continue;
            }
            let mut whole = false;
            s.exp.for_each_operand(&mut |a| whole |= a == v.into());
            let mut inner = None;
            let space: Vec<Axis> = match &s.exp {
                Exp::Seg(Seg { space, kind, .. }) => {
                    if let SegKind::Red { axis, .. } | SegKind::Scan { axis, .. } = kind {
                        inner = Some(axis);
                    }
                    space.clone()
                }
                Exp::Scatter { axis, .. } | Exp::Grade { axis, .. } => vec![*axis],
                Exp::Filters(parts) => parts.iter().map(|part| part.axis).collect(),
                Exp::Rows(rows) => vec![rows.axis],
                _ => Vec::new(),
            };
            let mut reads = Reads { of: Some(v), ..Reads::new(table, &space) };
            inner.into_iter().for_each(|axis| reads.enter(axis));
            s.exp.leaves().into_iter().for_each(|b| reads.body(b));
            self.any |= !reads.places.is_empty();
            self.along.extend(reads.places.into_iter().flatten());
            for b in s.exp.bodies() {
                whole |= b.results.contains(&v.into());
                self.body(table, &b.stmts, v)?;
            }
            if whole || reads.whole {
                return None;
            }
        }
        Some(())
    }

    /// The order that serves them, where the array is made along one of its axes.
    fn order(self, rank: usize, made: usize) -> Option<Vec<usize>> {
        let lasts: Vec<usize> = self.views.iter().filter_map(|p| p.last().copied()).collect();
        let all = || self.along.iter().chain(&lasts);
        let gain = all().filter(|k| **k == made).count();
        let lose = all().count() - gain;
        let view = self.views.into_iter().find(|p| p.last() == Some(&made));
        (gain >= lose).then(|| view.unwrap_or_else(|| with_last(rank, made)))
    }
}

/// Has a statement read an array whose axes are in this order.
fn read(table: &mono::Program, s: &mut Stmt, v: Var, order: &[usize]) {
    if let Exp::Host(e) = &mut s.exp {
        match e {
            mono::Exp::View { view: View::Permute { perm }, array } if *array == v => {
                let to = inverse(order);
                let now: Vec<usize> = perm.iter().map(|k| to[*k]).collect();
                *e = match now.is_sorted() {
                    true => mono::Exp::Atom(v.into()),
                    false => mono::Exp::View { view: View::Permute { perm: now }, array: v },
                };
            }
            mono::Exp::Index { array, at } if *array == v => *at = order.iter().map(|k| at[*k]).collect(),
            _ => {}
        }
        return;
    }
    let mut cells = FxHashMap::from_iter([(v, Vec::new())]);
    s.exp.leaves_mut().into_iter().for_each(|b| read_in(table, b, &mut cells, order));
    s.exp.bodies_mut().into_iter().for_each(|b| b.stmts.iter_mut().for_each(|s| read(table, s, v, order)));
    if is_copy(table, s, v) {
        s.exp = Exp::Host(mono::Exp::Atom(v.into()));
    }
}

/// … and a body of a leaf, where some variables are cells of the array: elements are read from the array itself.
fn read_in(
    table: &mono::Program,
    b: &mut mono::Body,
    cells: &mut FxHashMap<Var, Vec<Atom>>,
    order: &[usize],
) {
    let whole = cells.iter().find_map(|(v, at)| at.is_empty().then_some(*v));
    let mut gone = FxHashSet::default();
    for s in &mut b.stmts {
        if let (mono::Exp::Index { array, at }, Some(whole)) = (&mut s.exp, whole)
            && let Some(first) = cells.get(array)
        {
            let all: Vec<Atom> = first.iter().chain(&*at).copied().collect();
            if table.ty(s.pat[0]).is_scalar() {
                (*array, *at) = (whole, order.iter().map(|k| all[*k]).collect());
            } else {
                cells.insert(s.pat[0], all);
                gone.insert(s.pat[0]);
            }
            continue;
        }
        s.exp.bodies_mut().into_iter().for_each(|b| read_in(table, b, cells, order));
    }
    b.stmts.retain(|s| s.pat.first().is_none_or(|v| !gone.contains(v)));
}

/// Whether a statement is a map that gives all elements of an array, each at its place, and no more.
fn is_copy(table: &mono::Program, s: &Stmt, of: Var) -> bool {
    let Exp::Seg(Seg { space, kind: SegKind::Map, orders, body, .. }) = &s.exp else { return false };
    let ([made], [read], [result]) = (&s.pat[..], &body.stmts[..], &body.results[..]) else { return false };
    let place: Vec<Atom> = space.iter().map(|a| a.var.into()).collect();
    orders.is_empty()
        && matches!(&read.exp, mono::Exp::Index { array, at } if *array == of && *at == place)
        && table.ty(*made) == table.ty(of)
        && read.pat.first().map(|v| Atom::Var(*v)) == Some(*result)
}
