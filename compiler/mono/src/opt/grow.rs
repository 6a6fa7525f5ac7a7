//! Arrays that grow in a loop: how long they get is counted first, and then each item is written where it belongs.
//!
//! ```text
//! (let (%n %path)                                 (let (%most) (while ((%k %a) (%m 1)) … (give %k' (+ %m 1))))
//!   (while ((%k %a) (%n' 1) (%p %start))          (let (%zeros) (map ((i %most)) (give 0)))
//!     …                                     ⟶     (let (%room) (scatter (i 1) (%zeros) (give i %start[i])))
//!     (let (%t) (op + %n' 1))                     (let (… %path)
//!     (let (%q) (view (append %x) %p))              (while ((%k %a) (%n' 1) (%r %room))
//!     (give %k' %t %q)))                              …
//!                                                     (let (%w) (scatter (j 1) (%r) (give (+ %n' j) %x[j])))
//!                                                     (give %k' %t %w)))
//! ```
//!
//! An array that is longer in each round is copied in each round, so that `n` items cost the time of `n²`, and whoever does
//! a row with such a loop does not know what memory it takes. If nothing that decides how many items there will be, and which
//! checks fail, reads the array, then the loop without it says so. That runs twice then: so where it is not part of a row,
//! its rounds have to be of scalars, and of a few items of other arrays. What reads the array on the way reads the part of
//! it that there is. The second loop has no checks: all of them have held in the first.
//!
//! An array grows by an `append`, behind it or in front of it, on a condition or in a loop inside the loop.

use super::dce;
use crate::ir::*;
use crate::walk::Copier;
use remc_base::Prov;
use remc_base::ops::{ScalarOp, zero};
use remc_base::pass::PassInfo;
use rustc_hash::{FxHashMap, FxHashSet};

pub const PASS: PassInfo = PassInfo {
    name: "grow",
    from: "mono",
    to: "mono",
    summary: "counts how long an array gets in a loop before it is made",
};

/// Counts first where arrays grow.
pub fn grow(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    in_body(p, &mut body, Around::default());
    p.body = body;
}

/// What a body is part of.
#[derive(Clone, Copy, Default)]
struct Around {
    /// A row of several, or an element.
    row: bool,
    /// A round of a loop, of that row if it is part of one.
    round: bool,
}

/// Those of a body.
fn in_body(p: &mut Program, body: &mut Body, around: Around) {
    if !appends(body) {
        return;
    }
    let mut stmts = Vec::with_capacity(body.stmts.len());
    for s in std::mem::take(&mut body.stmts) {
        let first = stmts.len();
        match counted(p, &s, around) {
            Some(made) => stmts.extend(made),
            None => stmts.push(s),
        }
        for s in &mut stmts[first..] {
            let inside = match &s.exp {
                Exp::If { .. } => around,
                Exp::For { .. } | Exp::While { .. } => Around { round: true, ..around },
                _ => Around { row: true, round: false },
            };
            s.exp.bodies_mut().into_iter().for_each(|b| in_body(p, b, inside));
        }
    }
    body.stmts = stmts;
}

fn appends(body: &Body) -> bool {
    let mut found = false;
    body.for_each_stmt(&mut |s| found |= matches!(s.exp, Exp::View { view: View::Append { .. }, .. }));
    found
}

/// At which end of an array items are added.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Back,
    Front,
}

/// A state of a loop that grows.
struct Grown {
    /// Which one it is, and which other is its number of items.
    slot: usize,
    size: usize,
    end: End,
    /// The variables that hold it in the body as it grows.
    chain: FxHashSet<Var>,
}

/// What a loop becomes in which arrays grow.
fn counted(p: &mut Program, s: &Stmt, around: Around) -> Option<Vec<Stmt>> {
    let (Exp::For { state, body, .. } | Exp::While { state, body, .. }) = &s.exp else { return None };
    if !appends(body) {
        return None;
    }
    let inside: FxHashSet<Var> = s.exp.inner_binders().into_iter().chain(body.binders()).collect();
    let mut all: Vec<Grown> = (0..state.len()).filter_map(|k| grown(p, s, k, &inside)).collect();
    let sizes = |all: &[Grown]| all.iter().map(|g| s.pat[g.size]).collect::<Vec<Var>>();
    // What is left of the loop if only these sizes are wanted.
    let count = loop {
        if all.is_empty() {
            return None;
        }
        let results = sizes(&all).into_iter().map(Atom::Var).collect();
        let mut alone = Program { body: Body { stmts: vec![s.clone()], results }, ..p.clone() };
        dce::dce(&mut alone);
        let count = alone.body;
        let needed: FxHashSet<Var> =
            count.stmts.iter().flat_map(|s| &s.pat).filter(|v| !p.ty(**v).is_scalar()).copied().collect();
        let before = all.len();
        all.retain(|g| !needed.contains(&s.pat[g.slot]));
        if all.len() == before {
            break count;
        }
    };
    let (mut light, mut channels) = (true, false);
    count.for_each_stmt(&mut |s| {
        light &= is_light(p, s);
        channels |= matches!(s.exp, Exp::Pull { .. } | Exp::Push { .. });
    });
    // Arrays that both loops change are copied for the first one: in each round of a loop around it, that is too often.
    let changed = count.stmts.iter().flat_map(|s| &s.pat).any(|v| !p.ty(*v).is_scalar());
    if channels || !(around.row || light) || (around.round && changed) {
        return None;
    }
    let mut fill = Fill { p, out: Vec::new(), prov: s.prov };
    let most = fill.most(&count);
    Some(fill.all(s, &all, &most))
}

/// Iterations up to which a statement is as cheap as one of scalars, or nearly.
const FEW: i64 = 8;

/// Whether a statement of a round, without those in it, is done in no time: of scalars, or changing a few items of an array.
fn is_light(p: &Program, s: &Stmt) -> bool {
    match &s.exp {
        Exp::Atom(_) | Exp::Op(..) | Exp::Cast(..) | Exp::Index { .. } | Exp::Check { .. } => true,
        Exp::If { .. } | Exp::For { .. } | Exp::While { .. } => true,
        Exp::Scatter { axis, .. } => axis.size.as_int().is_some_and(|n| n <= FEW),
        Exp::Literal { elems, .. } => elems.len() as i64 <= FEW,
        exp => {
            let few = |n: &Atom| n.as_int().is_some_and(|n| n <= FEW);
            let arrays = s.pat.iter().flat_map(|v| &p.ty(*v).dims);
            exp.axes().iter().map(|a| &a.size).chain(arrays).all(few)
        }
    }
}

/// How a state of a loop grows, if it does.
fn grown(p: &Program, s: &Stmt, slot: usize, inside: &FxHashSet<Var>) -> Option<Grown> {
    let (Exp::For { state, body, .. } | Exp::While { state, body, .. }) = &s.exp else { return None };
    let (first, rest) = p.ty(s.pat[slot]).dims.split_first()?;
    let size = s.pat.iter().position(|v| Atom::Var(*v) == *first)?;
    // An item is of a size that is known before the loop.
    let known = |d: &Atom| d.as_var().is_none_or(|v| !inside.contains(&v) && !s.pat.contains(&v));
    let array = state[slot].0;
    let same =
        p.ty(array).dims.split_first().is_some_and(|(n, items)| *n == state[size].0.into() && items == rest);
    if !same || !rest.iter().all(known) {
        return None;
    }
    if let Exp::While { cond, .. } = &s.exp
        && cond.free_vars().contains(&array)
    {
        return None;
    }
    let mut chain = Chain { end: None, vars: FxHashSet::from_iter([array]), defs: FxHashMap::default() };
    body.for_each_stmt(&mut |s| chain.defs.extend(s.pat.iter().enumerate().map(|(k, v)| (*v, (s, k)))));
    chain.comes_from(*body.results.get(slot)?)?;
    Some(Grown { slot, size, end: chain.end?, chain: chain.vars })
}

/// The variables that hold an array as it grows.
struct Chain<'b> {
    end: Option<End>,
    vars: FxHashSet<Var>,
    /// What binds each variable of the loop's body, and as which of its results.
    defs: FxHashMap<Var, (&'b Stmt, usize)>,
}

impl Chain<'_> {
    /// Adds those that a variable is made of.
    fn comes_from(&mut self, a: Atom) -> Option<()> {
        let v = a.as_var()?;
        if self.vars.contains(&v) {
            return Some(());
        }
        let (s, slot) = *self.defs.get(&v)?;
        match &s.exp {
            Exp::Atom(a) => self.comes_from(*a)?,
            Exp::View { view: View::Append { with }, array } => {
                self.appended(*array, End::Back).or_else(|| self.appended(*with, End::Front))?;
            }
            Exp::If { then, otherwise, .. } => {
                self.comes_from(*then.results.get(slot)?)?;
                self.comes_from(*otherwise.results.get(slot)?)?;
            }
            Exp::For { state, body, .. } | Exp::While { state, body, .. } => {
                let (array, start) = state[slot];
                self.comes_from(start)?;
                if matches!(&s.exp, Exp::While { cond, .. } if cond.free_vars().contains(&array)) {
                    return None;
                }
                self.vars.insert(array);
                self.comes_from(*body.results.get(slot)?)?;
            }
            _ => return None,
        }
        // One of two results that hold it might be changed, and the other read then.
        let alone = s.pat.iter().all(|v| !self.vars.contains(v));
        self.vars.insert(v);
        alone.then_some(())
    }

    /// The same of an array to which items are added there, if others are not added at the other end.
    fn appended(&mut self, v: Var, end: End) -> Option<()> {
        let before = (self.vars.clone(), self.end);
        let fits = self.comes_from(v.into()).filter(|()| *self.end.get_or_insert(end) == end);
        if fits.is_none() {
            (self.vars, self.end) = before;
        }
        fits
    }
}

/// The second loop, in the making.
struct Fill<'p> {
    p: &'p mut Program,
    out: Vec<Stmt>,
    prov: Prov,
}

/// A vector with room for the elements of all items, of this type, so many for each, and at which end they are added. Places
/// one after the other in a vector are known as such.
struct Room<'g> {
    ty: Ty,
    item: Atom,
    /// How many items there are in the end.
    most: Atom,
    end: End,
    chain: &'g FxHashSet<Var>,
    /// For each variable that holds the array: the room with as much of it.
    holds: FxHashMap<Var, Var>,
}

impl Fill<'_> {
    fn push(&mut self, pat: Vec<Var>, exp: Exp) {
        self.out.push(Stmt { pat, exp, prov: self.prov });
    }

    fn op(&mut self, op: ScalarOp, a: Atom, b: Atom) -> Atom {
        match (op, a.as_int(), b.as_int()) {
            (ScalarOp::Mul, Some(1), _) => return b,
            (ScalarOp::Mul, _, Some(1)) => return a,
            (ScalarOp::Mul, Some(0), _) | (ScalarOp::Mul, _, Some(0)) => return Atom::int(0),
            _ => {}
        }
        let v = self.p.fresh("n", Ty::int());
        self.push(vec![v], Exp::Op(op, vec![a, b]));
        v.into()
    }

    /// Counts; the most items that each array gets.
    fn most(&mut self, count: &Body) -> Vec<Atom> {
        if let Some(most) = self.steady(count) {
            return most;
        }
        let count = Copier::new(self.p).body(count);
        self.out.extend(count.stmts);
        count.results
    }

    /// The same of a loop of so many rounds in each of which one array grows by as much.
    fn steady(&mut self, count: &Body) -> Option<Vec<Atom>> {
        let [Stmt { pat, exp: Exp::For { axis, state, body }, .. }] = &count.stmts[..] else { return None };
        let ([n], [(before, start)], [Stmt { pat: next, exp: Exp::Op(ScalarOp::Add, args), .. }]) =
            (&pat[..], &state[..], &body.stmts[..])
        else {
            return None;
        };
        let step = match args[..] {
            [a, step] | [step, a] if a == (*before).into() => step.as_int().filter(|n| *n >= 0)?,
            _ => return None,
        };
        let whole =
            body.results[..] == [Atom::Var(next[0])] && count.results.iter().all(|r| *r == (*n).into());
        if !whole {
            return None;
        }
        let more = self.op(ScalarOp::Mul, axis.size, Atom::int(step));
        let most = self.op(ScalarOp::Add, *start, more);
        Some(vec![most; count.results.len()])
    }

    /// The loop in which each array has room for what it gets, and what comes before it.
    fn all(mut self, s: &Stmt, all: &[Grown], most: &[Atom]) -> Vec<Stmt> {
        let mut s = s.clone();
        let (mut sizes, mut whole): (Vec<Stmt>, FxHashSet<usize>) = (Vec::new(), FxHashSet::default());
        for (g, most) in all.iter().zip(most) {
            // The number of items as it was counted: the dims of the array say that.
            if whole.insert(g.size) {
                let last = self.p.fresh("last", Ty::int());
                let n = std::mem::replace(&mut s.pat[g.size], last);
                sizes.push(Stmt { pat: vec![n], exp: Exp::Atom(*most), prov: s.prov });
            }
        }
        self.out.extend(sizes);
        let mut shaped = Vec::new();
        for (g, most) in all.iter().zip(most) {
            let mut ty = self.p.ty(s.pat[g.slot]).clone();
            ty.dims[0] = *most;
            let item = ty.dims[1..].iter().fold(Atom::int(1), |n, d| self.op(ScalarOp::Mul, n, *d));
            let all = self.op(ScalarOp::Mul, *most, item);
            let (vector, most) = (Ty { base: ty.base, dims: vec![all] }, *most);
            let mut room =
                Room { ty: vector, item, most, end: g.end, chain: &g.chain, holds: FxHashMap::default() };
            let (Exp::For { state, body, .. } | Exp::While { state, body, .. }) = &mut s.exp else {
                continue;
            };
            let (array, start) = state[g.slot];
            let Some(start) = start.as_var() else { continue };
            let from = self.started(&room, start);
            let holds = self.p.fresh("room", room.ty.clone());
            room.holds.insert(array, holds);
            state[g.slot] = (holds, from.into());
            self.p.vars[s.pat[g.slot]].ty = ty.clone();
            if ty.rank() > 1 {
                let filled = self.p.fresh("room", room.ty.clone());
                let array = std::mem::replace(&mut s.pat[g.slot], filled);
                let view = View::Reshape { dims: ty.dims };
                shaped.push(Stmt { pat: vec![array], exp: Exp::View { view, array: filled }, prov: s.prov });
            }
            *body = self.filled(std::mem::take(body), &mut room, &[array], g.slot);
        }
        if let Exp::For { body, .. } | Exp::While { body, .. } = &mut s.exp {
            unchecked(body);
        }
        if let Exp::While { cond, .. } = &mut s.exp {
            unchecked(cond);
        }
        self.out.push(s);
        self.out.extend(shaped);
        self.out
    }

    /// Room in which there is an array already.
    fn started(&mut self, room: &Room<'_>, start: Var) -> Var {
        let zeros = self.p.fresh("zeros", room.ty.clone());
        let axes = vec![Axis { var: self.p.fresh("i", Ty::int()), size: room.ty.dims[0] }];
        let body = Body { stmts: Vec::new(), results: vec![Atom::Const(zero(room.ty.base))] };
        self.push(vec![zeros], Exp::Map { axes, body });
        let items = self.p.ty(start).dims[0];
        if items == Atom::int(0) {
            return zeros;
        }
        let place = match room.end {
            End::Back => Atom::int(0),
            End::Front => self.op(ScalarOp::Sub, room.most, items),
        };
        self.written(room, zeros, place, start)
    }

    /// The room with the items of an array in it, from that place on.
    fn written(&mut self, room: &Room<'_>, into: Var, place: Atom, mut items: Var) -> Var {
        let of = self.p.ty(items).clone();
        let place = self.op(ScalarOp::Mul, place, room.item);
        let size = self.op(ScalarOp::Mul, of.dims[0], room.item);
        if of.rank() > 1 {
            let elements = self.p.fresh("elements", Ty { base: of.base, dims: vec![size] });
            let view = View::Reshape { dims: vec![size] };
            self.push(vec![elements], Exp::View { view, array: items });
            items = elements;
        }
        let axis = Axis { var: self.p.fresh("j", Ty::int()), size };
        let before = std::mem::take(&mut self.out);
        let at = match place.as_int() {
            Some(0) => axis.var.into(),
            _ => self.op(ScalarOp::Add, place, axis.var.into()),
        };
        let x = self.p.fresh("x", Ty::scalar(of.base));
        self.push(vec![x], Exp::Index { array: items, at: vec![axis.var.into()] });
        let stmts = std::mem::replace(&mut self.out, before);
        let body = Body { stmts, results: vec![at, x.into()] };
        let new = self.p.fresh("room", room.ty.clone());
        self.push(vec![new], Exp::Scatter { dests: vec![into], axis, body, combine: None });
        new
    }

    /// A body in which the array is held by rooms, these variables of it from outside; it gives one in that slot.
    fn filled(&mut self, body: Body, room: &mut Room<'_>, outside: &[Var], slot: usize) -> Body {
        let before = std::mem::take(&mut self.out);
        outside.iter().for_each(|v| self.part(room, *v));
        for s in body.stmts {
            self.stmt(s, room);
        }
        let stmts = std::mem::replace(&mut self.out, before);
        let mut results = body.results;
        let held = results.get(slot).and_then(|a| a.as_var()).and_then(|v| room.holds.get(&v));
        if let (Some(held), Some(result)) = (held, results.get_mut(slot)) {
            *result = (*held).into();
        }
        Body { stmts, results }
    }

    fn stmt(&mut self, mut s: Stmt, room: &mut Room<'_>) {
        let held: Vec<usize> = (0..s.pat.len()).filter(|k| room.chain.contains(&s.pat[*k])).collect();
        let [slot] = held[..] else {
            self.out.push(s);
            return;
        };
        let v = s.pat[slot];
        self.prov = s.prov;
        let new = match s.exp {
            Exp::Atom(a) => a.as_var().and_then(|a| room.holds.get(&a)).copied(),
            Exp::View { view: View::Append { with }, array } => {
                let (of, items) = if room.end == End::Back { (array, with) } else { (with, array) };
                let place = match room.end {
                    End::Back => self.p.ty(of).dims[0],
                    End::Front => self.op(ScalarOp::Sub, room.most, self.p.ty(v).dims[0]),
                };
                room.holds.get(&of).copied().map(|into| self.written(room, into, place, items))
            }
            Exp::If { then, otherwise, cond } => {
                let then = self.filled(then, room, &[], slot);
                let otherwise = self.filled(otherwise, room, &[], slot);
                let new = self.p.fresh("room", room.ty.clone());
                s.pat[slot] = new;
                self.out.push(Stmt { exp: Exp::If { cond, then, otherwise }, ..s });
                Some(new)
            }
            mut exp @ (Exp::For { .. } | Exp::While { .. }) => {
                if let Exp::For { state, body, .. } | Exp::While { state, body, .. } = &mut exp {
                    let (array, start) = state[slot];
                    let from = start.as_var().and_then(|a| room.holds.get(&a)).copied();
                    let holds = self.p.fresh("room", room.ty.clone());
                    room.holds.insert(array, holds);
                    state[slot] = (holds, from.map_or(start, Atom::Var));
                    *body = self.filled(std::mem::take(body), room, &[array], slot);
                }
                let new = self.p.fresh("room", room.ty.clone());
                s.pat[slot] = new;
                self.out.push(Stmt { exp, ..s });
                Some(new)
            }
            exp => {
                self.out.push(Stmt { exp, ..s });
                None
            }
        };
        if let Some(new) = new {
            room.holds.insert(v, new);
            self.part(room, v);
        }
    }

    /// Binds a variable that holds the array to the part of its room that there is so far.
    fn part(&mut self, room: &Room<'_>, v: Var) {
        let Some(array) = room.holds.get(&v).copied() else { return };
        let dims = self.p.ty(v).dims.clone();
        let first = match room.end {
            End::Back => Atom::int(0),
            End::Front => self.op(ScalarOp::Sub, room.most, dims[0]),
        };
        let start = vec![self.op(ScalarOp::Mul, first, room.item)];
        let size = self.op(ScalarOp::Mul, dims[0], room.item);
        let view = View::Slice { start, dims: vec![size] };
        if dims.len() == 1 {
            return self.push(vec![v], Exp::View { view, array });
        }
        let elements = self.p.fresh("elements", Ty { base: room.ty.base, dims: vec![size] });
        self.push(vec![elements], Exp::View { view, array });
        self.push(vec![v], Exp::View { view: View::Reshape { dims }, array: elements });
    }
}

/// Leaves out the checks of a body, all of which have held before.
fn unchecked(body: &mut Body) {
    body.stmts.retain(|s| !matches!(s.exp, Exp::Check { .. }));
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(unchecked);
    }
}

#[cfg(test)]
mod tests;
