//! Functions in the state of a loop.
//!
//! The functions of a state are those of one table, in every round. Which these are, is found by going round: the
//! first guess is what the state starts with; what a round gives is merged into it, and the round is built again,
//! until it gives nothing new.
//!
//! ```text
//! (loop ((f add1) …) … (if c (λ (x) (+ i x)) f))
//!   1st  {add1}                       gives (λ (x) (+ _ x)), i  and  add1
//!   2nd  {add1, (λ (x) (+ _ x))}      gives no others
//! ```
//!
//! The shapes that boxes of a state hide are of one rank in every round, or opaque; that is found in the same way.
//!
//! A function that is made from the one before it, as `(λ (x) (g (f x)))` of `f`, gives others without end: its
//! size is that of the number of rounds, and Mono has no data of that kind.

use super::merge::{Retabled, tables_of};
use crate::build::val::{Table, Val};
use crate::build::{Build, R, bug, limit};
use crate::limits::Construct;
use remc_base::ArrTy;
use std::rc::Rc;

/// What a round of a loop came to.
pub(crate) enum Round<'a, T> {
    Done(T),
    /// The state has more functions than the round began with: how these are among those.
    Again(Vec<Retabled<'a>>),
    /// The state hides shapes of other ranks than the round began with: which of them become opaque.
    Opaque(Vec<bool>),
}

/// After as many rounds in which functions were put into functions, one more is not tried.
const MOST_DEEPER: usize = 4;

/// After as many rounds nothing more is tried.
const MOST_ROUNDS: usize = 64;

impl<'a, T> Round<'a, T> {
    /// The round is not done.
    pub fn again<U>(self) -> R<Round<'a, U>> {
        match self {
            Round::Done(_) => bug("a round that is done"),
            Round::Again(plans) => Ok(Round::Again(plans)),
            Round::Opaque(which) => Ok(Round::Opaque(which)),
        }
    }
}

impl<'a> Build<'a> {
    /// Builds a loop that begins with `start`, of the given types: `round` builds it with a start whose functions
    /// have some table. None if the functions grow from round to round.
    pub fn rounds<T>(
        &mut self,
        start: Vec<Val<'a>>,
        types: &[ArrTy],
        mut round: impl FnMut(&mut Self, &[Val<'a>]) -> R<Round<'a, T>>,
    ) -> R<Option<T>> {
        let mut start = start;
        let (mut deepest, mut deeper) = (self.depth_of(&start)?, 0);
        for _ in 0..MOST_ROUNDS {
            let open = self.scopes.len();
            self.loops += 1;
            let done = round(self, &start);
            self.loops -= 1;
            let plans = match done? {
                Round::Done(t) => return Ok(Some(t)),
                Round::Again(plans) => plans,
                Round::Opaque(which) => {
                    self.scopes.truncate(open);
                    let mut which = which.iter();
                    for (v, ty) in start.iter_mut().zip(types) {
                        *v = self.made_opaque(v, ty, &mut which)?;
                    }
                    continue;
                }
            };
            self.scopes.truncate(open);
            let mut plans = plans.iter();
            let mut next = Vec::with_capacity(start.len());
            for (v, ty) in start.iter().zip(types) {
                let v = self.retabled(v, &mut plans)?;
                next.push(self.stored_flat(v, ty)?);
            }
            start = next;
            let depth = self.depth_of(&start)?;
            deeper = if depth > deepest { deeper + 1 } else { 0 };
            deepest = deepest.max(depth);
            if deeper == MOST_DEEPER {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// The loop is refused.
    pub fn grows<T>(&self) -> R<T> {
        limit(self, Construct::Recursion, "each round makes a function from that of the round before")
    }

    fn depth_of(&mut self, all: &[Val<'a>]) -> R<usize> {
        let mut depth = 0;
        for table in all.iter().flat_map(tables_of) {
            for c in &table.codes {
                depth = depth.max(self.taken(&c.fun)?.depth);
            }
        }
        Ok(depth)
    }

    /// What a round gives as what the next begins with, if it has no other functions.
    pub fn settled(&mut self, before: &[Val<'a>], next: Vec<Val<'a>>) -> R<Round<'a, Vec<Val<'a>>>> {
        let had: Vec<Rc<Table>> = before.iter().flat_map(tables_of).collect();
        let has: Vec<Rc<Table>> = next.iter().flat_map(tables_of).collect();
        if had.len() != has.len() {
            return bug("a loop whose state changes its type");
        }
        let (mut again, mut on, mut same) = (Vec::new(), Vec::new(), true);
        for (x, y) in had.iter().zip(&has) {
            let (table, plans) = self.one_table(&[x.clone(), y.clone()])?;
            let [first, second] = <[_; 2]>::try_from(plans).map_err(|_| two_plans())?;
            same &= self.is_same(x, &table, &first);
            again.push((table, first));
            on.push((x.clone(), second));
        }
        if !same {
            return Ok(Round::Again(again));
        }
        let mut on = on.iter();
        let next = next.iter().map(|v| self.retabled(v, &mut on)).collect::<R<Vec<_>>>()?;
        Ok(Round::Done(next))
    }
}

fn two_plans() -> Box<crate::limits::BuildError> {
    Box::new(crate::limits::BuildError::Bug("two tables without two plans".into()))
}
