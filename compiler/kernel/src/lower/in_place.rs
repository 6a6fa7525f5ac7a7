//! In-place updates: arrays of a leaf that are changed where they are.
//!
//! ```text
//! (while ((%i 0) (%v %xs)) …                    %v lives in memory that each iteration overwrites
//!   (let (%w) (if %c                            (if %c (then (store %v (%i) %x)) (else))
//!     (then (let (%u) (scatter (%k 1) (%v) (give %i %x))) (give %u))
//!     (else (give %v))))
//!   (give %j %w))
//! ```
//!
//! A body **owns** the arrays that it makes, and the states and accumulators of the loop that it is the body of; a branch
//! owns what its `if` could have taken. What is owned may be **taken**, by what gives an array like it: a scatter writes
//! into its destination, a loop or a reduction goes on with what it starts from, an `if` gives what one of its branches
//! hands on. The array itself is not there any more then, so nothing may mention it, or a cell of it, afterwards. What is
//! not owned is copied. What a kernel that is one loop starts from is the plan's to own, which hands it over.

use super::leaf::{Leaf, Scope};
use super::plan::Plan;
use super::select::selected;
use super::{Bound, L, Place};
use crate::ir::*;
use remc_mono::ir as mono;
use rustc_hash::FxHashSet;

/// The next content of an array: of the type of `like`, from one place to another.
pub(crate) struct Move {
    pub like: mono::Var,
    pub from: Bound,
    pub to: Place,
}

impl Plan {
    /// A leaf that is one loop or reduction alone, with arrays to start from that are the plan's to overwrite, and where
    /// these are: each is the memory of what the loop leaves of it. `None` of other leaves.
    pub fn in_place(&mut self, leaf: &mono::Body) -> L<Option<(mono::Body, Vec<Option<Place>>)>> {
        let [s] = leaf.stmts.as_slice() else { return Ok(None) };
        let starts: Vec<mono::Atom> = match &s.exp {
            mono::Exp::For { state, .. } | mono::Exp::While { state, .. } => {
                state.iter().map(|s| s.1).collect()
            }
            mono::Exp::Reduce { op, .. } => op.start.clone().unwrap_or_default(),
            _ => return Ok(None),
        };
        if !leaf.results.iter().all(|r| r.as_var().is_some_and(|v| s.pat.contains(&v))) {
            return Ok(None);
        }
        // What the loop itself reads again is not its state's to overwrite.
        let mut moved = FxHashSet::default();
        s.exp.bodies().into_iter().for_each(|b| moved.extend(self.roots_of(b)));
        let mut leaf = leaf.clone();
        let mut homes = vec![None; leaf.results.len()];
        for (k, (v, start)) in s.pat.iter().zip(starts).enumerate() {
            let given: Vec<usize> =
                (0..homes.len()).filter(|j| leaf.results[*j] == mono::Atom::Var(*v)).collect();
            let vars = &self.flat.vars;
            let like = start.as_var().filter(|a| vars[*a].ty == vars[*v].ty && !vars[*v].ty.is_scalar());
            let ([j], Some(first)) = (given.as_slice(), like) else { continue };
            let Atom::Var(buffer) = self.owned(start, &mut moved)? else { continue };
            let mono::VarInfo { name, ty } = self.flat.vars[first].clone();
            let own = self.fresh(name.as_str(), ty);
            self.set(own, Bound::Array(Place::whole(buffer)));
            homes[*j] = Some(Place::whole(buffer));
            let of = match &mut leaf.stmts[0].exp {
                mono::Exp::For { state, .. } | mono::Exp::While { state, .. } => {
                    state.get_mut(k).map(|s| &mut s.1)
                }
                mono::Exp::Reduce { op, .. } => op.start.as_mut().and_then(|s| s.get_mut(k)),
                _ => None,
            };
            if let Some(of) = of {
                *of = mono::Atom::Var(own);
            }
        }
        Ok(Some((leaf, homes)))
    }
}

impl Leaf<'_> {
    /// The statements of a body that owns these arrays; its results.
    pub fn body_of(&mut self, b: &mono::Body, owned: impl IntoIterator<Item = mono::Var>) -> L<Vec<Bound>> {
        let last = b.stmts.iter().any(|s| self.may_take(s)).then(|| b.last_uses());
        if last.is_some() {
            // A body may be lowered more than once: what it bound before does not mention anything now.
            for v in b.binders() {
                self.env.remove(&v);
            }
        }
        for s in &b.stmts {
            if let (mono::Exp::Grade { axis, body, .. }, [order]) = (&s.exp, &s.pat[..]) {
                self.selected.extend(selected(self.plan, b, *order, (*axis, body)).map(|few| (*order, few)));
            }
        }
        let arrays = owned.into_iter().filter(|v| self.is_array(*v)).collect();
        self.scopes.push(Scope { owned: arrays, last, now: 0 });
        let done = self.stmts(b);
        self.scopes.pop();
        done?;
        b.results.iter().map(|a| self.value(*a)).collect()
    }

    fn stmts(&mut self, b: &mono::Body) -> L<()> {
        let mut k = 0;
        while let Some(s) = b.stmts.get(k) {
            let together = self.scans_in_one(b, k)?.max(1);
            self.scope().now = k + together - 1;
            if together == 1 {
                self.stmt(s)?;
            }
            for s in b.stmts[k..k + together].iter().filter(|s| s.exp.makes_arrays()) {
                let is_made = |v: &mono::Var| self.is_array(*v) && self.env.contains_key(v);
                let made: Vec<mono::Var> = s.pat.iter().copied().filter(is_made).collect();
                self.scope().owned.extend(made);
            }
            k += together;
        }
        Ok(())
    }

    fn scope(&mut self) -> &mut Scope {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let k = self.scopes.len() - 1;
        &mut self.scopes[k]
    }

    pub fn is_array(&self, v: mono::Var) -> bool {
        !self.plan.flat.vars[v].ty.is_scalar()
    }

    /// Whether a statement may take what the body around it owns, in a branch too.
    fn may_take(&self, s: &mono::Stmt) -> bool {
        use mono::Exp as E;
        match &s.exp {
            E::If { then, otherwise, .. } => {
                s.pat.iter().any(|v| self.is_array(*v))
                    || then.stmts.iter().chain(&otherwise.stmts).any(|s| self.may_take(s))
            }
            E::For { .. } | E::While { .. } | E::Reduce { .. } | E::Scan { .. } | E::Scatter { .. } => {
                s.pat.iter().any(|v| self.is_array(*v))
            }
            _ => false,
        }
    }

    /// The memory of an array that the innermost body owns and that nothing mentions after the statement under way, nor
    /// `inside` of it. Who takes it gives an array of the type of `like`.
    pub fn take(&mut self, v: mono::Var, like: mono::Var, inside: &[&mono::Body]) -> Option<Place> {
        let place = self.ends_here(v, inside)?;
        let vars = &self.plan.flat.vars;
        if vars[v].ty != vars[like].ty {
            return None;
        }
        self.scope().owned.remove(&v);
        self.dests.remove(&like);
        Some(place)
    }

    /// What [`Leaf::take`] would take.
    fn ends_here(&self, v: mono::Var, inside: &[&mono::Body]) -> Option<Place> {
        let scope = self.scopes.last()?;
        let last = scope.last.as_ref().filter(|_| scope.owned.contains(&v))?;
        let Some(Bound::Array(place)) = self.env.get(&v) else { return None };
        let is_of = |u: &mono::Var| match self.env.get(u) {
            Some(Bound::Array(p)) => p.buffer == place.buffer,
            _ => false,
        };
        let later = last.iter().any(|(u, at)| *at > scope.now && is_of(u));
        let mentioned = later || inside.iter().any(|b| b.free_vars().iter().any(&is_of));
        (!mentioned).then(|| place.clone())
    }

    /// What the innermost body owns and nothing mentions after the statement under way: what branches of it own.
    pub fn dying(&self) -> Vec<mono::Var> {
        let owned = self.scopes.last().map(|s| &s.owned);
        owned.into_iter().flatten().copied().filter(|v| self.ends_here(*v, &[]).is_some()).collect()
    }

    /// Memory for each array that an `if` gives: that of one which a branch hands on, if there is such.
    pub fn taken_by_branches(
        &mut self,
        pat: &[mono::Var],
        branches: [&mono::Body; 2],
    ) -> L<Vec<Option<Place>>> {
        let arrays = pat.iter().enumerate().map(|(k, v)| {
            if !self.is_array(*v) {
                return Ok(None);
            }
            let handed = branches.iter().filter_map(|b| b.handed_on(*b.results.get(k)?));
            // A branch that mentions it does so before it gives something else.
            let taken = handed.collect::<Vec<_>>().into_iter().find_map(|from| self.take(from, *v, &[]));
            taken.map_or_else(|| self.memory(*v), Ok).map(Some)
        });
        arrays.collect()
    }

    /// Copies what is not where it is to be; all of it as if at once.
    pub fn settle(&mut self, moves: Vec<Move>) -> L<()> {
        let mut moves: Vec<Move> =
            moves.into_iter().filter(|m| m.from != Bound::Array(m.to.clone())).collect();
        let written: Vec<Var> = moves.iter().map(|m| m.to.buffer).collect();
        for m in &mut moves {
            if let Bound::Array(from) = &m.from
                && written.contains(&from.buffer)
            {
                let (from, kept) = (m.from.clone(), self.scratch(m.like)?);
                self.copy_value(m.like, &from, &kept)?;
                m.from = Bound::Array(kept);
            }
        }
        moves.iter().try_for_each(|m| self.copy_value(m.like, &m.from, &m.to))
    }
}
