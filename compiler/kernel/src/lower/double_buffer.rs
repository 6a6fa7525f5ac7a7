//! Double buffering: states of loops that each iteration makes anew, of what the one before has made, in two halves of
//! memory that are written in turn.
//!
//! ```text
//! (for seq %k (upto 0 %n)                    (for seq %k (upto 0 %n)
//!   … (store %new (%i) %x)                     (let %p (op % %k 2)) (let %q (op - 1 %p))
//!   … (store %state (%i) (load %new %i)))  ⟶   … (load %state %p …) … (store %state (%q %i) %x))
//! ```
//!
//! An iteration reads what the one before has left in one half, and makes its own in the other, where it would copy it from
//! else. A state that an iteration changes where it is, as a scatter does, has one place ([`super::in_place`]); so has one
//! that is small enough for registers.

use super::L;
use super::Place;
use super::build::Emit;
use super::leaf::Leaf;
use super::schedule::few_elements;
use crate::ir::*;
use crate::schedule::Field;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;

/// The memory of a loop's state.
#[derive(Clone, Debug)]
pub(crate) enum StateMemory {
    Single(Place),
    /// An array of two such states, of which each iteration reads one and writes the other.
    Double(Place),
}

/// Which half an iteration reads, and which it writes.
#[derive(Clone, Copy)]
pub(crate) struct Halves {
    pub from: Atom,
    pub into: Atom,
}

impl StateMemory {
    pub fn from(&self, halves: Halves) -> Place {
        match self {
            StateMemory::Single(p) => p.clone(),
            StateMemory::Double(p) => p.cell(&[halves.from]),
        }
    }

    pub fn into(&self, halves: Halves) -> Place {
        match self {
            StateMemory::Single(p) => p.clone(),
            StateMemory::Double(p) => p.cell(&[halves.into]),
        }
    }
}

impl Leaf<'_> {
    /// Memory for two states like `v`, if the body of its loop makes each next one of it anew: of `param`, as result `k`.
    pub fn double_buffer(
        &mut self,
        v: mono::Var,
        param: mono::Var,
        body: &mono::Body,
        k: usize,
    ) -> L<Option<Place>> {
        let Some(made) = made_anew(body, param, k) else { return Ok(None) };
        if self.plan.flat.vars[made].ty.is_scalar() || self.of_group().is_some() {
            return Ok(None);
        }
        let dims = self.plan_dims(v)?;
        if few_elements(&dims, self.number(Field::Private)).is_some() {
            return Ok(None);
        }
        let mono::VarInfo { name, ty } = self.plan.flat.vars[v].clone();
        let two: Vec<Atom> = std::iter::once(Atom::int(2)).chain(dims).collect();
        Ok(Some(self.part(name.as_str(), ty.base, &two)?))
    }

    /// The halves of iteration `i`, if any of these states has halves.
    pub fn halves_of<'h>(&mut self, homes: impl IntoIterator<Item = &'h StateMemory>, i: Atom) -> L<Halves> {
        if !homes.into_iter().any(|h| matches!(h, StateMemory::Double(_))) {
            return Ok(Halves { from: Atom::int(0), into: Atom::int(0) });
        }
        let from = self.int(ScalarOp::Modulo, i, Atom::int(2))?;
        let into = self.int(ScalarOp::Sub, Atom::int(1), from)?;
        Ok(Halves { from, into })
    }

    /// The last of a state, which a loop leaves for `v`: where that is wanted, if it is wanted anywhere.
    pub fn last_of_state(&mut self, v: mono::Var, home: &StateMemory, last: Halves) -> L<Place> {
        let from = home.from(last);
        let wanted = matches!(home, StateMemory::Double(_)).then(|| self.dests.remove(&v)).flatten();
        let Some(to) = wanted else { return Ok(from) };
        let dims = self.dims(v)?;
        self.copy(&dims, &from, &to)?;
        Ok(to)
    }

    /// What a body makes of its double-buffered states goes into the halves of the next ones.
    pub fn make_in_halves<'h>(
        &mut self,
        body: &mono::Body,
        homes: impl IntoIterator<Item = Option<&'h StateMemory>>,
        halves: Halves,
    ) {
        for (r, home) in body.results.iter().zip(homes) {
            if let (Some(v), Some(home @ StateMemory::Double(_))) = (r.as_var(), home) {
                self.dests.insert(v, home.into(halves));
            }
        }
    }
}

/// The array that a body makes anew as the next of a state, at result `k`, from this one.
fn made_anew(body: &mono::Body, param: mono::Var, k: usize) -> Option<mono::Var> {
    let r = body.results.get(k)?.as_var()?;
    let once = body.results.iter().filter(|a| a.as_var() == Some(r)).count() == 1;
    let maker = body.stmts.iter().find(|s| s.pat.contains(&r))?;
    let anew = maker.exp.makes_arrays() && body.handed_on(r.into()) != Some(param);
    // What nothing is read of, an iteration may overwrite at once.
    let mut read = false;
    body.for_each_use(&mut |a| read |= a == param.into());
    (once && anew && read).then_some(r)
}
