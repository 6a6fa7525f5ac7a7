//! Collectives that count: how many conditions hold in the threads before this one.
//!
//! ```text
//! (let %one (op select %c 1 0)) (let %another (op select %d 1 0)) (let %both (op + %one %another))
//! (collective scan 256 ((%x %y %both %before %all)) (let %q (op + %x %y)) (next %q))
//! ```
//!
//! A warp finds that out by a vote for each condition, without adding anything. And `%before`, where `%c` holds, and
//! `(op + %before %one)`, where `%d` does, are places that no two threads have in common; [`crate::race`] goes by that.

use crate::ir::*;
use remc_base::ops::ScalarOp;
use rustc_hash::FxHashMap;

/// What a kernel counts.
#[derive(Default)]
pub struct Counts {
    /// Of the number before a thread the conditions that are counted, those of one thread in order.
    pub before: FxHashMap<Var, Vec<Var>>,
    /// Of a number of a thread's own the conditions that it is a count of.
    pub own: FxHashMap<Var, Vec<Var>>,
}

/// The counts of a kernel.
pub fn counts(kernel: &Kernel) -> Counts {
    let mut found = Counts::default();
    if let Some((_, threads)) = kernel.threads {
        found.block(&kernel.body, i64::from(threads));
    }
    found
}

impl Counts {
    fn block(&mut self, stmts: &[Stmt], threads: i64) {
        for s in stmts {
            match &s.kind {
                StmtKind::Let { var, exp: Exp::Op(op, args) } => {
                    if let Some(conds) = self.own(*op, args) {
                        self.own.insert(*var, conds);
                    }
                }
                StmtKind::Collective { scan: true, count, joined, body, next } => {
                    if let ([j], [next]) = (&joined[..], &next[..])
                        && count.as_int() == Some(threads)
                        && is_sum(j, body, *next)
                        && let (Some(before), Some(conds)) =
                            (j.before, j.item.as_var().and_then(|v| self.own.get(&v)))
                    {
                        self.before.insert(before, conds.clone());
                    }
                }
                kind => kind.blocks().into_iter().for_each(|b| self.block(b, threads)),
            }
        }
    }

    fn own(&self, op: ScalarOp, args: &[Atom]) -> Option<Vec<Var>> {
        match (op, args) {
            (ScalarOp::Select, [Atom::Var(c), yes, no])
                if (yes.as_int(), no.as_int()) == (Some(1), Some(0)) =>
            {
                Some(vec![*c])
            }
            (ScalarOp::Add, [Atom::Var(a), Atom::Var(b)]) => {
                Some([&self.own.get(a)?[..], self.own.get(b)?].concat())
            }
            _ => None,
        }
    }
}

/// Whether a collective adds.
fn is_sum(j: &Joined, body: &[Stmt], next: Atom) -> bool {
    let [Stmt { kind: StmtKind::Let { var, exp: Exp::Op(ScalarOp::Add, args) }, .. }] = body else {
        return false;
    };
    next == Atom::Var(*var) && args[..] == [Atom::Var(j.x), Atom::Var(j.y)]
}
