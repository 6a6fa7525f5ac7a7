//! The state of a loop that is an array of a changing number of items, held in a vector with room for more.
//!
//! The array is the part of the room from its head on. Appending writes into the room, in front of the head or behind the
//! last item; leaving out items moves the head or the end, and nothing else; what reads the array reads that part.

use super::chain::Grown;
use crate::ir::*;
use remc_base::Prov;
use remc_base::ops::{ScalarOp, zero};
use rustc_hash::FxHashMap;

/// Where in its room an array begins.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Heads {
    /// At the beginning.
    First,
    /// Where it has to, to end where the room does: behind so many items.
    ToEnd(Atom),
    /// At a number that is a state of its own; at first at the beginning.
    Moving,
    /// The same, but at first in the middle of a room for so many.
    Middle(Atom),
}

/// A vector with room for the elements of all items, of this type, so many for each. Places
/// one after the other in a vector are known as such.
struct Room<'g> {
    ty: Ty,
    item: Atom,
    heads: Heads,
    grown: &'g Grown,
    /// Numbers of items that are to be places in the room, each of the array that is held by that variable.
    places: &'g [(Var, Var)],
    /// For each variable that holds the array: the room with as much of it.
    holds: FxHashMap<Var, Held>,
    /// The room as it was written last: one that is made anew is written into it.
    last: Var,
}

#[derive(Clone, Copy)]
struct Held {
    room: Var,
    head: Atom,
}

/// The room that an array gets.
pub(super) struct Wanted<'g> {
    pub grown: &'g Grown,
    /// For how many items.
    pub most: Atom,
    pub heads: Heads,
    /// Numbers of items that are to be places in the room, each of the array that is held by that variable.
    pub places: &'g [(Var, Var)],
    /// Whether the array is a part of the room in the end, or all of it.
    pub partly: bool,
}

/// Writes statements of a loop whose arrays have rooms.
pub(super) struct Fill<'p> {
    pub p: &'p mut Program,
    pub out: Vec<Stmt>,
    pub prov: Prov,
}

impl Fill<'_> {
    pub fn push(&mut self, pat: Vec<Var>, exp: Exp) {
        self.out.push(Stmt { pat, exp, prov: self.prov });
    }

    pub fn op(&mut self, op: ScalarOp, a: Atom, b: Atom) -> Atom {
        match (op, a.as_int(), b.as_int()) {
            (ScalarOp::Mul, Some(1), _) | (ScalarOp::Add, Some(0), _) => return b,
            (ScalarOp::Mul, _, Some(1)) | (ScalarOp::Add | ScalarOp::Sub, _, Some(0)) => return a,
            (ScalarOp::Mul, Some(0), _) | (ScalarOp::Mul, _, Some(0)) => return Atom::int(0),
            _ => {}
        }
        let is_bool = matches!(op, ScalarOp::Le | ScalarOp::Lt | ScalarOp::Ge | ScalarOp::And);
        let ty = if is_bool { Ty::scalar(remc_base::BaseTy::Bool) } else { Ty::int() };
        let v = self.p.fresh("n", ty);
        self.push(vec![v], Exp::Op(op, vec![a, b]));
        v.into()
    }

    /// A loop whose arrays have room, with what comes before it and after it.
    pub fn rooms(&mut self, mut s: Stmt, all: &[Wanted<'_>]) {
        let mut parts = Vec::new();
        for wanted in all {
            let slot = wanted.grown.slot;
            let array = s.pat[slot];
            let ty = self.p.ty(array).clone();
            let item = ty.dims[1..].iter().fold(Atom::int(1), |n, d| self.op(ScalarOp::Mul, n, *d));
            let size = self.op(ScalarOp::Mul, wanted.most, item);
            let vector = Ty { base: ty.base, dims: vec![size] };
            let (Exp::For { state, .. } | Exp::While { state, .. }) = &s.exp else { continue };
            let Some(start) = state[slot].1.as_var() else { continue };
            let mut room = Room {
                ty: vector,
                item,
                heads: wanted.heads,
                grown: wanted.grown,
                places: wanted.places,
                holds: FxHashMap::default(),
                last: array,
            };
            let from = self.started(&room, start);
            let held = self.in_loop(&mut s, slot, from, &mut room);
            if !wanted.partly && ty.rank() == 1 {
                // It is the room.
                s.pat[slot] = array;
                continue;
            }
            room.holds.insert(array, held);
            parts.push((array, room, wanted.partly));
        }
        self.out.push(s);
        for (array, room, partly) in parts {
            let dims = self.p.ty(array).dims.clone();
            let Held { room: vector, .. } = room.holds[&array];
            if partly {
                self.part(&room, array);
            } else {
                self.push(vec![array], Exp::View { view: View::Reshape { dims }, array: vector });
            }
        }
    }

    /// A loop with the room in the place of the array that is its state there; it begins with that room. What it ends with.
    fn in_loop(&mut self, s: &mut Stmt, slot: usize, from: Held, room: &mut Room<'_>) -> Held {
        let (before, moving) = (room.last, room.is_moving());
        let mut held = Held { room: self.p.fresh("room", room.ty.clone()), ..from };
        if let Exp::For { state, body, .. } | Exp::While { state, body, .. } = &mut s.exp {
            let array = std::mem::replace(&mut state[slot], (held.room, from.room.into())).0;
            if moving {
                let head = self.p.fresh("head", Ty::int());
                state.push((head, from.head));
                held.head = head.into();
            }
            room.holds.insert(array, held);
            room.last = held.room;
            *body = self.filled(std::mem::take(body), room, &[array], Some(slot)).0;
            if let Exp::While { cond, .. } = &mut s.exp {
                room.last = held.room;
                // The part that it reads is one of its own.
                let read = self.p.vars.push(self.p.vars[array].clone());
                cond.substitute(&FxHashMap::from_iter([(array, read.into())]));
                room.holds.insert(read, held);
                *cond = self.filled(std::mem::take(cond), room, &[read], None).0;
            }
        }
        room.last = before;
        self.binds(s, slot, room, from.head)
    }

    /// Has a statement bind the room in the place of the array, and where that begins if it is not at this item.
    fn binds(&mut self, s: &mut Stmt, slot: usize, room: &Room<'_>, mut head: Atom) -> Held {
        let new = self.p.fresh("room", room.ty.clone());
        s.pat[slot] = new;
        if room.is_moving() {
            let v = self.p.fresh("head", Ty::int());
            s.pat.push(v);
            head = v.into();
        }
        Held { room: new, head }
    }

    /// Room in which there is an array already.
    fn started(&mut self, room: &Room<'_>, start: Var) -> Held {
        let zeros = self.p.fresh("zeros", room.ty.clone());
        let axes = vec![Axis { var: self.p.fresh("i", Ty::int()), size: room.ty.dims[0] }];
        let body = Body { stmts: Vec::new(), results: vec![Atom::Const(zero(room.ty.base))] };
        self.push(vec![zeros], Exp::Map { axes, body });
        self.again(room, zeros, start)
    }

    /// The room with these items alone.
    fn again(&mut self, room: &Room<'_>, into: Var, items: Var) -> Held {
        let n = self.p.ty(items).dims[0];
        let head = match room.heads {
            Heads::First | Heads::Moving => Atom::int(0),
            Heads::ToEnd(most) => self.op(ScalarOp::Sub, most, n),
            Heads::Middle(most) => {
                let free = self.op(ScalarOp::Sub, most, n);
                self.op(ScalarOp::Quotient, free, Atom::int(2))
            }
        };
        let room = if n == Atom::int(0) { into } else { self.written(room, into, head, items) };
        Held { room, head }
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
        let at = self.op(ScalarOp::Add, place, axis.var.into());
        let x = self.p.fresh("x", Ty::scalar(of.base));
        self.push(vec![x], Exp::Index { array: items, at: vec![axis.var.into()] });
        let stmts = std::mem::replace(&mut self.out, before);
        let body = Body { stmts, results: vec![at, x.into()] };
        let new = self.p.fresh("room", room.ty.clone());
        self.push(vec![new], Exp::Scatter { dests: vec![into], axis, body, combine: None });
        new
    }

    /// A body in which the array is held by rooms, these variables of it from outside; it gives one in that slot, and where
    /// the array begins in it.
    fn filled(
        &mut self,
        body: Body,
        room: &mut Room<'_>,
        outside: &[Var],
        slot: Option<usize>,
    ) -> (Body, Atom) {
        let (before, last) = (std::mem::take(&mut self.out), room.last);
        outside.iter().for_each(|v| self.part(room, *v));
        for s in body.stmts {
            self.stmt(s, room);
        }
        let (mut results, mut head) = (body.results, Atom::int(0));
        if let Some(slot) = slot
            && let Some(v) = results.get(slot).and_then(|a| a.as_var())
        {
            let held = self.held(room, v);
            (results[slot], head) = (held.room.into(), held.head);
            if room.is_moving() {
                results.push(held.head);
            }
        }
        room.last = last;
        let stmts = std::mem::replace(&mut self.out, before);
        (Body { stmts, results }, head)
    }

    /// The room that holds a variable of the chain: if none does, its few items are what is in it from now on.
    fn held(&mut self, room: &mut Room<'_>, v: Var) -> Held {
        if let Some(held) = room.holds.get(&v) {
            return *held;
        }
        let held = self.again(room, room.last, v);
        room.last = held.room;
        held
    }

    fn stmt(&mut self, mut s: Stmt, room: &mut Room<'_>) {
        if let [v] = s.pat[..]
            && let Some((_, array)) = room.places.iter().find(|(place, _)| *place == v)
            && let Some(held) = room.holds.get(array).copied()
        {
            let n = self.p.fresh("n", Ty::int());
            self.out.push(Stmt { pat: vec![n], ..s });
            self.prov = s.prov;
            return self.push(vec![v], Exp::Op(ScalarOp::Add, vec![held.head, n.into()]));
        }
        let held: Vec<usize> = (0..s.pat.len()).filter(|k| room.grown.chain.contains(&s.pat[*k])).collect();
        let [slot] = held[..] else {
            self.out.push(s);
            return;
        };
        let v = s.pat[slot];
        self.prov = s.prov;
        let new = match s.exp {
            Exp::Atom(Atom::Var(a)) => self.held(room, a),
            Exp::View { view: View::Append { with }, array }
                if room.grown.joined.get(&with) == Some(&array) =>
            {
                Held { room: self.held(room, with).room, ..self.held(room, array) }
            }
            Exp::View { view: View::Append { with }, array } if room.grown.chain.contains(&array) => {
                let from = self.held(room, array);
                let head = self.head(room, array, from);
                let place = self.op(ScalarOp::Add, head, self.p.ty(array).dims[0]);
                Held { room: self.written(room, from.room, place, with), ..from }
            }
            Exp::View { view: View::Append { with }, array } => {
                let from = self.held(room, with);
                let before = self.p.ty(array).dims[0];
                let head = self.head(room, with, from);
                let head = self.op(ScalarOp::Sub, head, before);
                Held { room: self.written(room, from.room, head, array), head }
            }
            Exp::View { view: View::Slice { start, .. }, array } => {
                let from = self.held(room, array);
                Held { head: self.op(ScalarOp::Add, from.head, start[0]), ..from }
            }
            Exp::Scatter { dests, axis, mut body, combine } => {
                let from = self.held(room, dests[0]);
                self.shifted(&mut body, from.head);
                let new = self.p.fresh("room", room.ty.clone());
                self.push(vec![new], Exp::Scatter { dests: vec![from.room], axis, body, combine });
                Held { room: new, ..from }
            }
            Exp::If { then, otherwise, cond } => {
                let (then, head) = self.filled(then, room, &[], Some(slot));
                let (otherwise, _) = self.filled(otherwise, room, &[], Some(slot));
                s.exp = Exp::If { cond, then, otherwise };
                let held = self.binds(&mut s, slot, room, head);
                self.out.push(s);
                held
            }
            Exp::For { ref state, .. } | Exp::While { ref state, .. } => {
                let Some(start) = state[slot].1.as_var() else { return self.out.push(s) };
                let from = match room.grown.joined.get(&v).copied() {
                    None => self.held(room, start),
                    Some(behind) => {
                        let before = self.held(room, behind);
                        let head = self.head(room, behind, before);
                        Held { head: self.op(ScalarOp::Add, head, self.p.ty(behind).dims[0]), ..before }
                    }
                };
                let held = self.in_loop(&mut s, slot, from, room);
                self.out.push(s);
                held
            }
            // A few items with which the array may begin again.
            _ => return self.out.push(s),
        };
        room.last = new.room;
        room.holds.insert(v, new);
        self.part(room, v);
    }

    /// Has the items of a scatter go to places so many later; those that go nowhere stay there.
    fn shifted(&mut self, body: &mut Body, head: Atom) {
        if head == Atom::int(0) {
            return;
        }
        let before = std::mem::replace(&mut self.out, std::mem::take(&mut body.stmts));
        let at = body.results[0];
        let there = self.op(ScalarOp::Ge, at, Atom::int(0));
        let place = self.op(ScalarOp::Add, head, at);
        let v = self.p.fresh("place", Ty::int());
        self.push(vec![v], Exp::Op(ScalarOp::Select, vec![there, place, Atom::int(-1)]));
        body.results[0] = v.into();
        body.stmts = std::mem::replace(&mut self.out, before);
    }

    /// At which item of its room a variable of the array begins.
    fn head(&mut self, room: &Room<'_>, v: Var, held: Held) -> Atom {
        match room.heads {
            Heads::ToEnd(most) => self.op(ScalarOp::Sub, most, self.p.ty(v).dims[0]),
            Heads::First | Heads::Moving | Heads::Middle(_) => held.head,
        }
    }

    /// Binds a variable that holds the array to the part of its room that there is so far.
    fn part(&mut self, room: &Room<'_>, v: Var) {
        let Some(held) = room.holds.get(&v).copied() else { return };
        let dims = self.p.ty(v).dims.clone();
        let first = self.head(room, v, held);
        let start = vec![self.op(ScalarOp::Mul, first, room.item)];
        let size = self.op(ScalarOp::Mul, dims[0], room.item);
        let (array, view) = (held.room, View::Slice { start, dims: vec![size] });
        if dims.len() == 1 {
            return self.push(vec![v], Exp::View { view, array });
        }
        let elements = self.p.fresh("elements", Ty { base: room.ty.base, dims: vec![size] });
        self.push(vec![elements], Exp::View { view, array });
        self.push(vec![v], Exp::View { view: View::Reshape { dims }, array: elements });
    }
}

impl Room<'_> {
    fn is_moving(&self) -> bool {
        matches!(self.heads, Heads::Moving | Heads::Middle(_))
    }
}
