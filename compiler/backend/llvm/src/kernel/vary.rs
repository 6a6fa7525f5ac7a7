//! What depends on the variable of a parallel loop.
//!
//! A loop in lanes or a jammed one gives each variable that depends on its own variable several values at
//! once. Which ones do has to be known before the body is emitted: a loop inside needs vectors for the
//! values it carries from the start. Here too is decided whether the body can run that way at all: where a
//! condition or the rounds of a loop inside depend on the variable and what is inside cannot run for some lanes alone, or
//! memory would be needed for each iteration that is not private, the loop is emitted one iteration after the other, which
//! is always right.

use remc_kernel::ir::{Atom, Carried, Exp, How, Range, Stmt, StmtKind, Var};
use remc_kernel::predicate::can_predicate;
use rustc_hash::FxHashSet;

/// What else is known of the iterations of a loop.
#[derive(Default)]
pub(super) struct Known<'k> {
    /// The conditions of which all of them say the same.
    pub branches: Option<&'k FxHashSet<Var>>,
    /// The buffers that each of them has for itself.
    pub private: FxHashSet<Var>,
    /// Whether those that take one branch and those that take the other may run together ([`super::predicate`]).
    pub predicate: bool,
}

/// The variables bound in the body of a loop over `var` that depend on it, if several iterations can run
/// at once.
pub(super) fn varying<'p>(
    var: Var,
    carried: impl IntoIterator<Item = Var>,
    body: impl IntoIterator<Item = &'p Stmt> + Clone,
    known: &Known<'_>,
) -> Option<FxHashSet<Var>> {
    let mut v = Varying { set: FxHashSet::from_iter([var]), known, ok: true, grew: true };
    v.set.extend(carried);
    // A carried value of a loop inside may vary from its second iteration on.
    while v.grew && v.ok {
        v.grew = false;
        v.block(body.clone());
    }
    v.ok.then_some(v.set)
}

/// The private buffers that a block makes, those of loops inside too.
pub(super) fn private(block: &[Stmt]) -> FxHashSet<Var> {
    let mut all = FxHashSet::default();
    for s in block {
        if let StmtKind::Alloc { buffer } = &s.kind {
            all.insert(*buffer);
        }
        s.kind.blocks().into_iter().for_each(|b| all.extend(private(b)));
    }
    all
}

struct Varying<'b> {
    set: FxHashSet<Var>,
    known: &'b Known<'b>,
    ok: bool,
    grew: bool,
}

impl Varying<'_> {
    fn is_mostly_uniform(&self, cond: &Atom) -> bool {
        cond.as_var().zip(self.known.branches).is_some_and(|(c, all)| all.contains(&c))
    }

    fn is_private(&self, buffer: Var) -> bool {
        self.known.private.contains(&buffer)
    }

    fn atom(&self, a: &Atom) -> bool {
        matches!(a, Atom::Var(v) if self.set.contains(v))
    }

    fn any(&self, atoms: &[Atom]) -> bool {
        atoms.iter().any(|a| self.atom(a))
    }

    fn add(&mut self, v: Var) {
        self.grew |= self.set.insert(v);
    }

    fn block<'p>(&mut self, block: impl IntoIterator<Item = &'p Stmt>) {
        for s in block {
            self.stmt(&s.kind);
        }
    }

    fn stmt(&mut self, s: &StmtKind) {
        match s {
            StmtKind::Let { var, exp } => {
                let varies = match exp {
                    Exp::Atom(a) | Exp::Cast(_, a) | Exp::Bits(a) => self.atom(a),
                    Exp::Op(_, args) => self.any(args),
                    Exp::Load { buffer, at } => self.is_private(*buffer) || self.any(at),
                    Exp::Workers | Exp::Test(_) => false,
                };
                if varies {
                    self.add(*var);
                }
            }
            // A place that all iterations share is written in their order.
            StmtKind::Store { buffer, at, .. } => self.ok &= self.is_private(*buffer) || self.any(at),
            StmtKind::Alloc { buffer } => self.ok &= self.is_private(*buffer),
            StmtKind::For { how, var, range, carried, body, next } => {
                // Lanes that are done keep what they have (`super::diverge`).
                let apart = self.any(&range.atoms());
                let one_by_one = *how == How::Seq;
                self.ok &= !apart || one_by_one && self.known.predicate && can_predicate(body);
                match range {
                    Range::Upto { from, .. } if self.atom(from) => self.add(*var),
                    Range::Upto { .. } => {}
                    Range::Tile { .. } | Range::Share { .. } => self.ok &= !apart,
                }
                self.carried(carried, next, apart);
                self.block(body);
            }
            StmtKind::While { carried, cond, test, body, next } => {
                let apart = self.atom(test);
                self.ok &= !apart || self.known.predicate && can_predicate(cond) && can_predicate(body);
                self.carried(carried, next, apart);
                self.block(cond);
                self.block(body);
                // What is carried may make it differ.
                self.grew |= !apart && self.atom(test);
            }
            StmtKind::If { cond, then, otherwise, results } => {
                let together = !self.atom(cond) || self.is_mostly_uniform(cond);
                self.ok &=
                    together || self.known.predicate && can_predicate(then) && can_predicate(otherwise);
                self.block(then);
                self.block(otherwise);
                for c in results {
                    if !together || self.atom(&c.then) || self.atom(&c.otherwise) {
                        self.add(c.var);
                    }
                }
            }
            StmtKind::Check { .. } => {}
            _ => self.ok = false,
        }
    }
}

impl Varying<'_> {
    /// What a loop carries, from which lanes may come apart.
    fn carried(&mut self, carried: &[Carried], next: &[Atom], apart: bool) {
        for (c, next) in carried.iter().zip(next) {
            if apart || self.atom(&c.init) || self.atom(next) {
                self.add(c.param);
                self.add(c.result);
            }
        }
    }
}

/// Whether there is a loop that several iterations of a loop around it would share.
pub(super) fn has_loop(block: &[Stmt]) -> bool {
    block.iter().any(|s| {
        let own = matches!(&s.kind, StmtKind::For { .. } | StmtKind::While { .. });
        own || s.kind.blocks().into_iter().any(|b| has_loop(b))
    })
}
