//! What happens to a state of a loop from the beginning of a round to its end, if it is one array that gets longer, or
//! shorter: the variables that hold it on the way are a chain, in which items are appended, left out or overwritten.

use super::FEW;
use crate::ir::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// What a chain does.
#[derive(Clone, Default)]
pub(super) struct Does {
    /// Appends behind the array, and in front of it.
    pub back: bool,
    pub front: bool,
    /// Leaves out items: at the end, or also at the beginning.
    pub cuts: bool,
    pub cuts_front: bool,
    /// Overwrites items.
    pub writes: bool,
    /// Begins again with a few items.
    pub resets: bool,
    /// Is asked in the condition of a loop.
    pub asked: bool,
}

impl Does {
    /// Whether all that it does is append, at one end.
    pub fn only_grows(&self) -> bool {
        let else_ = self.cuts || self.cuts_front || self.writes || self.resets || self.asked;
        self.back != self.front && !else_
    }

    /// Whether the first item is elsewhere after some rounds.
    pub fn moves(&self) -> bool {
        self.front || self.cuts_front
    }
}

/// A state of a loop that gets longer or shorter.
pub(super) struct Grown {
    /// Which one it is, and which other is its number of items.
    pub slot: usize,
    pub size: usize,
    pub does: Does,
    /// The variables that hold it in the body.
    pub chain: FxHashSet<Var>,
    /// Those of them that are arrays of a few items with which it begins again, and nothing of it.
    pub fresh: FxHashSet<Var>,
    /// Arrays that loops make of nothing, and to which of these variables each is appended then: they grow where they are to
    /// be. The variables that hold them are among the others.
    pub joined: FxHashMap<Var, Var>,
}

/// How a state of a loop grows, if it does. `inside` are the variables that the loop binds.
pub(super) fn grown(p: &Program, s: &Stmt, slot: usize, inside: &FxHashSet<Var>) -> Option<Grown> {
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
    let mut chain = Chain {
        p,
        does: Does::default(),
        vars: FxHashSet::from_iter([array]),
        fresh: FxHashSet::default(),
        defs: definitions(body),
        item: rest,
    };
    chain.asked(&s.exp, array);
    chain.comes_from(*body.results.get(slot)?)?;
    let changes = chain.does.back || chain.does.front || chain.does.cuts || chain.does.resets;
    let joined = joined(p, body, &mut chain.vars, inside);
    let Chain { does, vars, fresh, .. } = chain;
    changes.then_some(Grown { slot, size, does, chain: vars, fresh, joined })
}

/// What binds each variable of a body, and as which of its results.
pub(super) fn definitions(body: &Body) -> FxHashMap<Var, (&Stmt, usize)> {
    let mut defs = FxHashMap::default();
    body.for_each_stmt(&mut |s| defs.extend(s.pat.iter().enumerate().map(|(k, v)| (*v, (s, k)))));
    defs
}

/// Finds arrays that loops of a body, or of one inside it, make of nothing and that are appended to an array of a chain right
/// after, and adds those that hold them to it.
fn joined(
    p: &Program,
    body: &Body,
    chain: &mut FxHashSet<Var>,
    inside: &FxHashSet<Var>,
) -> FxHashMap<Var, Var> {
    let mut all = FxHashMap::default();
    for (k, s) in body.stmts.iter().enumerate() {
        for b in s.exp.bodies() {
            all.extend(joined(p, b, chain, inside));
        }
        let Exp::View { view: View::Append { with }, array } = s.exp else { continue };
        if !chain.contains(&array) || !chain.contains(&s.pat[0]) || chain.contains(&with) {
            continue;
        }
        let made = |s: &Stmt| s.pat.iter().position(|v| *v == with);
        let Some((at, slot)) = body.stmts[..k].iter().enumerate().find_map(|(at, s)| Some((at, made(s)?)))
        else {
            continue;
        };
        let made = &body.stmts[at];
        let (Exp::For { state, .. } | Exp::While { state, .. }) = &made.exp else { continue };
        let nothing = state[slot].1.as_var().is_some_and(|v| p.ty(v).dims[0] == Atom::int(0));
        // What the array is of before has to be there when the loop begins, and to stay as it is until it is done.
        let holds = |s: &Stmt| s.pat.iter().any(|v| chain.contains(v));
        let late = body.stmts[at..k].iter().any(holds)
            || body.stmts[at + 1..k]
                .iter()
                .any(|s| !s.exp.bodies().is_empty() && s.exp.mentions(|v| v == with));
        if !nothing || late {
            continue;
        }
        if let Some(g) = grown(p, made, slot, inside)
            && !(g.does.front || g.does.cuts_front || g.does.resets)
        {
            chain.extend(g.chain);
            chain.insert(with);
            all.extend(g.joined);
            all.insert(with, array);
        }
    }
    all
}

/// The variables that hold an array as it grows.
struct Chain<'b> {
    p: &'b Program,
    does: Does,
    vars: FxHashSet<Var>,
    fresh: FxHashSet<Var>,
    defs: FxHashMap<Var, (&'b Stmt, usize)>,
    /// The dims of an item.
    item: &'b [Atom],
}

impl Chain<'_> {
    /// Adds those that a variable is made of.
    fn comes_from(&mut self, a: Atom) -> Option<()> {
        let v = a.as_var()?;
        if self.vars.contains(&v) {
            return Some(());
        }
        if self.begins_again(a) {
            self.does.resets = true;
            self.vars.insert(v);
            self.fresh.insert(v);
            return Some(());
        }
        let (s, slot) = *self.defs.get(&v)?;
        match &s.exp {
            Exp::Atom(a) => self.comes_from(*a)?,
            Exp::View { view: View::Append { with }, array } => {
                let (array, with) = (Atom::Var(*array), Atom::Var(*with));
                let again = self.begins_again(array);
                match self.trying(|c| c.comes_from(if again { with } else { array })) {
                    Some(()) if again => self.does.front = true,
                    Some(()) => self.does.back = true,
                    None => {
                        self.comes_from(if again { array } else { with })?;
                        *(if again { &mut self.does.back } else { &mut self.does.front }) = true;
                    }
                }
            }
            Exp::View { view: View::Slice { start, .. }, array } => {
                let [from] = start[..] else { return None };
                self.comes_from((*array).into())?;
                self.does.cuts = true;
                self.does.cuts_front |= from != Atom::int(0);
            }
            Exp::Scatter { dests, .. } => {
                let ([dest], []) = (&dests[..], self.item) else { return None };
                self.comes_from((*dest).into())?;
                self.does.writes = true;
            }
            Exp::If { then, otherwise, .. } => {
                self.comes_from(*then.results.get(slot)?)?;
                self.comes_from(*otherwise.results.get(slot)?)?;
            }
            Exp::For { state, body, .. } | Exp::While { state, body, .. } => {
                let (array, start) = state[slot];
                self.comes_from(start)?;
                self.asked(&s.exp, array);
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

    /// Whether it is an array of a few items that is not made of the chain.
    fn begins_again(&self, a: Atom) -> bool {
        let Some(v) = a.as_var() else { return false };
        let few = self.p.ty(v).dims.first().and_then(|n| n.as_int()).is_some_and(|n| n <= FEW);
        let made = |s: &Stmt| match &s.exp {
            Exp::Literal { .. } => true,
            Exp::Map { .. } => s.pat.len() == 1,
            _ => false,
        };
        few && self.defs.get(&v).is_none_or(|(s, _)| made(s))
    }

    /// Notes whether the condition of a loop asks for the array, which is this state.
    fn asked(&mut self, exp: &Exp, array: Var) {
        if let Exp::While { cond, .. } = exp {
            self.does.asked |= cond.free_vars().contains(&array);
        }
    }

    /// What it adds, or nothing.
    fn trying(&mut self, f: impl FnOnce(&mut Self) -> Option<()>) -> Option<()> {
        let before = (self.vars.clone(), self.does.clone());
        let done = f(self);
        if done.is_none() {
            (self.vars, self.does) = before;
        }
        done
    }
}
