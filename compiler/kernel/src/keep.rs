//! Loops that keep some of their items: that a body has this form, and its parts.
//!
//! What is kept goes to consecutive places, in the order of the iterations, and the loop carries how many that are:
//!
//! ```text
//! (for seq %i … ((%k %r 0))
//!   (let %x (load %xs %i)) (let %c (op > %x 0)) (let %m (op + %k 1))      before
//!   (if %c (then (store %ys (%b %k) %x)) (else) ((%n %m %k)))              what is kept
//!   (next %n))
//! ```
//!
//! So several iterations can find out at once whether they keep something, and what; only the places have to wait
//! for one another. There is a place for each iteration, however many keep something, and what is behind the last
//! item kept is nobody's ([`crate::ir`] says so). So a store at place `k` of the iteration that would be the next to
//! keep something is in bounds even if it keeps nothing, and harmless: the next item that is kept overwrites it, or
//! nothing reads it.
//!
//! A loop may begin with the number that a loop around it has kept so far: of no more iterations than have a place, too.
//!
//! Where the buffer is a vector of rows, the items may go to the part of a row, which begins at a place of its own:
//!
//! ```text
//! (if %c (then (let %p (op + %start %k)) (store %ys (%p) %x)) (else) ((%n %m %k)))
//! ```
//!
//! A row that keeps items has room for each iteration, too, and of what it leaves open nothing is read.

use crate::ir::*;
use crate::memory::mentions;
use remc_base::ops::ScalarOp;

/// A loop that keeps some of its items.
pub struct Keep<'p> {
    /// What does not depend on the number kept so far; it loads and computes, and may check.
    pub before: Vec<&'p Stmt>,
    /// Whether an iteration keeps its item.
    pub cond: Atom,
    /// What is stored then, each in a buffer of its own.
    pub stores: Vec<Kept<'p>>,
}

/// A store of what is kept. Its last index is the number kept so far, from where the row begins, if it is one of several.
pub struct Kept<'p> {
    pub store: &'p Stmt,
    pub start: Option<Atom>,
}

/// The parts of a loop, if it is one that keeps items. `rows` are the vectors of rows that there are.
pub fn keep<'p>(
    carried: &[Carried],
    body: &'p [Stmt],
    next: &[Atom],
    rows: &[(Var, Var)],
) -> Option<Keep<'p>> {
    let ([c], [next]) = (carried, next) else { return None };
    let number = Atom::Var(c.param);
    let (last, body) = body.split_last()?;
    let StmtKind::If { cond, then, otherwise, results } = &last.kind else { return None };
    let [Choice { var, then: more, otherwise: same }] = results.as_slice() else { return None };
    // So many are kept by a loop around it, or none.
    let begins = c.init.as_int().is_none_or(|n| n == 0);
    if c.combine.is_some() || !begins || !otherwise.is_empty() || Atom::Var(*var) != *next || *same != number
    {
        return None;
    }
    let adds = |s: &Stmt| match &s.kind {
        StmtKind::Let { var, exp: Exp::Op(ScalarOp::Add, args) } => {
            Atom::Var(*var) == *more && **args == [number, Atom::int(1)]
        }
        _ => false,
    };
    let (sums, before): (Vec<&Stmt>, Vec<&Stmt>) = body.iter().partition(|s| adds(s));
    let counts = |v: Var| Atom::Var(v) == number || Atom::Var(v) == *more;
    let apart = |a: &Atom| !a.as_var().is_some_and(counts);
    let (mut written, mut stores): (Vec<Var>, Vec<Kept<'_>>) = (Vec::new(), Vec::new());
    // Places in rows, and where those begin.
    let mut places: Vec<(Atom, Atom)> = Vec::new();
    for s in then {
        let (buffer, at, value) = match &s.kind {
            StmtKind::Let { var, exp: Exp::Op(ScalarOp::Add, args) } => {
                let start = args.iter().find(|a| **a != number).filter(|_| args.contains(&number))?;
                if places.iter().any(|(place, _)| place == start) {
                    return None;
                }
                places.push((Atom::Var(*var), *start));
                continue;
            }
            StmtKind::Store { buffer, at, value } => (buffer, at, value),
            _ => return None,
        };
        let (last, outer) = at.split_last()?;
        let start = places.iter().find(|(place, _)| place == last).map(|(_, start)| *start);
        let in_row = start.is_some_and(|s| apart(&s)) && rows.iter().any(|(row, _)| row == buffer);
        let placed = *last == number || in_row && outer.is_empty();
        let apart = |a: &Atom| apart(a) && !places.iter().any(|(place, _)| place == a);
        if !placed || !outer.iter().chain([value]).all(apart) || written.contains(buffer) {
            return None;
        }
        written.push(*buffer);
        stores.push(Kept { store: s, start });
    }
    let alone = |s: &&Stmt| {
        let mut alone = matches!(s.kind, StmtKind::Let { .. } | StmtKind::Check { .. });
        mentions(&s.kind, &mut |v| alone &= !counts(v) && !written.contains(&v));
        alone
    };
    let is_kept = cond.as_var().is_some_and(|v| !counts(v)) && !sums.is_empty() && before.iter().all(alone);
    is_kept.then_some(Keep { before, cond: *cond, stores })
}
