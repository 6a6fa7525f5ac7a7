//! Places that the threads of a block share out by counting: what the rounds of a filter write.
//!
//! ```text
//! (for seq %r … ((%base %kept 0))
//!   (let %one (op select %c 1 0))
//!   (collective scan 256 ((%x %y %one %before %all)) (let %q (op + %x %y)) (next %q))
//!   (let %at (op + %base %before)) (if %c (then (store %part (%b %at) %x)) …)
//!   (let %more (op + %base %all)) (next %more))
//! ```
//!
//! `%before` counts the threads before this one for which `%c` holds. So no two threads for which it holds have the same,
//! and neither the same sum with a number that all threads of the block have in common. Of several conditions of a thread
//! those before are added as well. In another round it may be the same; between two rounds is the collective, where the
//! threads meet.

use crate::counts::{Counts, counts};
use crate::ir::*;
use remc_base::ops::ScalarOp;
use rustc_hash::{FxHashMap, FxHashSet};

/// A place that a thread has where a condition holds: the sum of the number before it, of a number in common, and of as
/// many of its own conditions as hold before.
#[derive(Clone, Copy)]
struct At {
    before: Var,
    common: Option<Atom>,
    own: usize,
}

/// What is known of a kernel's counts.
pub(super) struct Kept {
    counts: Counts,
    places: FxHashMap<Var, At>,
}

impl Kept {
    pub fn of(kernel: &Kernel) -> Kept {
        let mut kept = Kept { counts: counts(kernel), places: FxHashMap::default() };
        if !kept.counts.before.is_empty() {
            kept.block(&kernel.body, &Common::of(kernel));
        }
        kept
    }

    /// The number before a thread and the one in common that a place is made of, if the place is the thread's own where
    /// `given` holds.
    pub fn place(&self, v: Var, given: &[Var]) -> Option<(Var, Option<Atom>)> {
        let at = self.at(v)?;
        let cond = self.counts.before.get(&at.before)?.get(at.own)?;
        given.contains(cond).then_some((at.before, at.common))
    }

    fn at(&self, v: Var) -> Option<At> {
        let first = || self.counts.before.contains_key(&v).then_some(At { before: v, common: None, own: 0 });
        self.places.get(&v).copied().or_else(first)
    }

    fn block(&mut self, block: &[Stmt], common: &Common) {
        for s in block {
            if let StmtKind::Let { var, exp: Exp::Op(ScalarOp::Add, args) } = &s.kind
                && let [a, b] = args[..]
                && let Some(at) = self.sum(a, b, common).or_else(|| self.sum(b, a, common))
            {
                self.places.insert(*var, at);
            }
            s.kind.blocks().into_iter().for_each(|b| self.block(b, common));
        }
    }

    /// The place that is the sum of another one and of something.
    fn sum(&self, place: Atom, other: Atom, common: &Common) -> Option<At> {
        let at = self.at(place.as_var()?)?;
        if common.has(other) {
            return at.common.is_none().then_some(At { common: Some(other), ..at });
        }
        let own = self.counts.own.get(&other.as_var()?)?;
        let first = self.counts.before.get(&at.before)?.starts_with(own);
        (first && at.own == 0).then_some(At { own: own.len(), ..at })
    }
}

/// The numbers that all threads of a block have in common, as far as can be seen.
struct Common {
    vars: FxHashSet<Var>,
}

impl Common {
    fn of(kernel: &Kernel) -> Common {
        let vars = kernel.params.iter().copied().chain(kernel.grid.iter().map(|(v, _)| *v)).collect();
        let mut common = Common { vars };
        common.block(&kernel.body);
        common
    }

    fn has(&self, a: Atom) -> bool {
        a.as_var().is_none_or(|v| self.vars.contains(&v))
    }

    fn block(&mut self, block: &[Stmt]) {
        for s in block {
            match &s.kind {
                StmtKind::Let { var, exp } => {
                    let same = match exp {
                        Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a) => self.has(*a),
                        Exp::Op(_, args) => args.iter().all(|a| self.has(*a)),
                        Exp::Load { .. } | Exp::Workers | Exp::Test(_) => false,
                    };
                    if same {
                        self.vars.insert(*var);
                    }
                }
                StmtKind::Collective { joined, .. } => self.vars.extend(joined.iter().map(|j| j.total)),
                StmtKind::For { var, range: Range::Upto { from, to }, carried, body, next, .. } => {
                    if self.has(*from) && self.has(*to) {
                        self.vars.insert(*var);
                        self.rounds(carried, body, next);
                    } else {
                        self.block(body);
                    }
                }
                kind => kind.blocks().into_iter().for_each(|b| self.block(b)),
            }
        }
    }

    /// A loop that all threads go through alike: what it carries is in common as long as what it begins with and what
    /// each round makes of it are.
    fn rounds(&mut self, carried: &[Carried], body: &[Stmt], next: &[Atom]) {
        let mut same: Vec<bool> = carried.iter().map(|c| self.has(c.init)).collect();
        loop {
            let before = self.vars.clone();
            let params = carried.iter().zip(&same).filter(|(_, same)| **same);
            self.vars.extend(params.map(|(c, _)| c.param));
            self.block(body);
            let still: Vec<bool> = same.iter().zip(next).map(|(same, n)| *same && self.has(*n)).collect();
            if still == same {
                let results = carried.iter().zip(&same).filter(|(_, same)| **same);
                self.vars.extend(results.map(|(c, _)| c.result));
                return;
            }
            (self.vars, same) = (before, still);
        }
    }
}
