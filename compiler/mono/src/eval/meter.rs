//! What a run costs on an ideal machine: work, depth, and space with one processor and with any number of them.
//!
//! The model is that of Madsen (*A streaming model for nested data parallelism*, 2013), which has these four of every
//! value `v` and of every way to compute it:
//!
//! | | is | one after the other | side by side, `k` items |
//! | --- | --- | --- | --- |
//! | `W` | operations, and elements that are written | added | added |
//! | `D` | steps, where all that can be done side by side is | added | the longest, and one |
//! | `M` | elements there at once, items one after the other | the most | the most |
//! | `N` | elements there at once, all items together | the most | added |
//!
//! So `P` processors need about `W/P + D·log P` steps, and space for `min(P·M, N)` elements. An array that is bound is
//! there as a whole up to its last use, as it is in memory; what is only made where it is read is an item's own. Scalars
//! that no loop is around take no step of their own.

use super::{Array, Eval, R};
use crate::ir::*;
use remc_base::ids::Id;
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;

/// Work, depth and space; see [the model](self).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Cost {
    /// Operations, and elements written.
    pub work: u64,
    /// Steps, with processors for everything.
    pub depth: u64,
    /// The most elements that are there at once, with one processor.
    pub one: u64,
    /// The same with processors for everything.
    pub all: u64,
}

impl Cost {
    /// So many operations of a step that is counted elsewhere.
    pub(super) fn work(n: usize) -> Cost {
        Cost { work: n as u64, ..Cost::default() }
    }

    /// The cost of items that are computed side by side.
    pub(super) fn beside(items: &[Cost]) -> Cost {
        let mut sum = items.iter().fold(Cost::default(), |sum, item| Cost {
            work: sum.work.saturating_add(item.work),
            depth: sum.depth.max(item.depth),
            one: sum.one.max(item.one),
            all: sum.all.saturating_add(item.all),
        });
        sum.depth += 1;
        sum
    }

    /// The cost of items that are computed one after the other, each at least a step.
    pub(super) fn behind(items: &[Cost]) -> Cost {
        let step = |item: &Cost| Cost { depth: item.depth + 1, ..*item };
        items.iter().fold(Cost::default(), |sum, item| sum.then(step(item)))
    }

    /// One thing, and then another.
    pub(super) fn then(self, next: Cost) -> Cost {
        Cost {
            work: self.work.saturating_add(next.work),
            depth: self.depth.saturating_add(next.depth),
            one: self.one.max(next.one),
            all: self.all.max(next.all),
        }
    }
}

/// What has been counted since the innermost scope began, and what is there now.
#[derive(Clone, Copy, Default)]
struct Scope {
    cost: Cost,
    live: u64,
}

impl Scope {
    fn spend(&mut self, c: Cost) {
        self.cost.work = self.cost.work.saturating_add(c.work);
        self.cost.depth = self.cost.depth.saturating_add(c.depth);
        self.cost.one = self.cost.one.max(self.live.saturating_add(c.one));
        self.cost.all = self.cost.all.max(self.live.saturating_add(c.all));
    }

    fn hold(&mut self, elements: u64) {
        self.live = self.live.saturating_add(elements);
        self.spend(Cost::default());
    }
}

/// Which of a body's own variables are there for the last time in each of its statements, and which of them are others by
/// another name.
#[derive(Default)]
struct Ends {
    last: Vec<Vec<Var>>,
    names: FxHashSet<Var>,
}

impl Ends {
    fn of(b: &Body) -> Ends {
        let mut same: FxHashMap<Var, Var> = FxHashMap::default();
        for s in &b.stmts {
            if let (Exp::Atom(Atom::Var(of)) | Exp::View { view: View::Reshape { .. }, array: of }, [v]) =
                (&s.exp, &s.pat[..])
            {
                same.insert(*v, same.get(of).copied().unwrap_or(*of));
            }
        }
        let mut at: FxHashMap<Var, usize> = FxHashMap::default();
        let mut use_at = |v: Var, k: usize| {
            at.insert(same.get(&v).copied().unwrap_or(v), k);
        };
        for (k, s) in b.stmts.iter().enumerate() {
            s.pat.iter().for_each(|v| use_at(*v, k));
            s.exp.for_each_mention(&mut |a| {
                if let Atom::Var(v) = a {
                    use_at(v, k);
                }
            });
        }
        // What the body gives is there up to its end.
        b.results.iter().filter_map(|a| a.as_var()).for_each(|v| use_at(v, usize::MAX));
        let mut last = vec![Vec::new(); b.stmts.len()];
        for v in b.stmts.iter().flat_map(|s| &s.pat).filter(|v| !same.contains_key(v)) {
            if let Some(of) = at.get(v).and_then(|k| last.get_mut(*k)) {
                of.push(*v);
            }
        }
        Ends { last, names: same.into_keys().collect() }
    }
}

/// Counts while a program is evaluated.
#[derive(Default)]
pub(super) struct Meter {
    scope: Scope,
    ends: FxHashMap<*const Body, Rc<Ends>>,
}

impl Meter {
    pub(super) fn cost(&self) -> Cost {
        self.scope.cost
    }
}

fn elements(a: &Array) -> u64 {
    a.data.len() as u64
}

impl Eval<'_, '_> {
    /// Adds what something costs that comes after what has been counted.
    pub(super) fn spend(&mut self, c: Cost) {
        if let Some(m) = &mut self.meter {
            m.scope.spend(c);
        }
    }

    /// Counts values as there to the end of the scope.
    pub(super) fn hold(&mut self, values: &[Array]) {
        if let Some(m) = &mut self.meter {
            m.scope.hold(values.iter().map(elements).sum());
        }
    }

    /// What something gives, and costs by itself; without a meter it costs nothing.
    pub(super) fn apart<T>(&mut self, f: impl FnOnce(&mut Self) -> R<T>) -> R<(T, Cost)> {
        let outer = self.meter.as_mut().map(|m| std::mem::take(&mut m.scope));
        let given = f(self)?;
        let inner = self.meter.as_mut().zip(outer).map(|(m, outer)| std::mem::replace(&mut m.scope, outer));
        Ok((given, inner.unwrap_or_default().cost))
    }

    /// A statement of a body has run: what it has bound is there, and what nobody mentions any more is gone.
    pub(super) fn settle(&mut self, b: &Body, k: usize) {
        let Some(m) = &mut self.meter else { return };
        let ends = m.ends.entry(std::ptr::from_ref(b)).or_insert_with(|| Rc::new(Ends::of(b))).clone();
        let size = |v: &Var| self.vars[v.index()].as_ref().map_or(0, elements);
        for v in b.stmts[k].pat.iter().filter(|v| !ends.names.contains(v)) {
            if !self.p.ty(*v).is_scalar() {
                m.scope.spend(Cost { work: size(v), ..Cost::default() });
            }
            m.scope.hold(size(v));
        }
        let gone: u64 = ends.last[k].iter().map(size).sum();
        m.scope.live = m.scope.live.saturating_sub(gone);
    }
}
