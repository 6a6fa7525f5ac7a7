//! Loops that reduce a row in each iteration: that a body has this form, and its parts.
//!
//! ```text
//! (for seq %i … ((%at %end %start))
//!   (let %n (load %lengths %i)) (let %next (op + %at %n))                 before
//!   (let %long (op >= %n 262144))
//!   (if %long (then)                                                      a condition
//!     (else
//!       (for (lanes 64) %j (upto 0 %n) ((%s %t 0.0 +)) …)                 the row
//!       (let %m (op / %t %w)))                                            after
//!     ((%r 0.0 %m)))
//!   (store %ys (%i) %r)                                                   after
//!   (next %next))
//! ```
//!
//! What comes before a row depends on no other row's sum, and what comes after it is not read by the loop. So several
//! rows can be reduced at once, as long as all of them are: first what comes before each of them, then the rows, and
//! what comes after them in lanes, one for each row. Nothing is checked, so it makes no difference to errors.

use crate::ir::*;
use crate::memory::mentions;
use rustc_hash::FxHashSet;

/// A loop that reduces a row in each iteration.
pub struct Rows<'p> {
    /// What comes before the reduction; it loads and computes.
    pub before: Vec<&'p Stmt>,
    /// The conditions in which there is a reduction, each with what it has to be, and how many statements of `before`
    /// come before it.
    pub conds: Vec<(usize, Atom, bool)>,
    /// The reduction, a loop in lanes.
    pub row: &'p StmtKind,
    pub after: Vec<After<'p>>,
}

/// What comes after a reduction.
#[derive(Clone, Copy)]
pub enum After<'p> {
    /// It loads, computes or stores.
    Stmt(&'p Stmt),
    /// A result of a condition's branches.
    Is(Var, Atom),
}

/// The parts of a loop over `body`, if it is one that reduces rows.
pub fn rows<'p>(body: &'p [Stmt], next: &[Atom]) -> Option<Rows<'p>> {
    let mut before = Vec::new();
    let mut conds = Vec::new();
    let (row, after) = parts(body, &mut before, &mut conds)?;
    let rows = Rows { before, conds, row, after };
    (rows.is_apart(next) && rows.writes_alone()).then_some(rows)
}

fn is_let(s: &Stmt) -> bool {
    matches!(s.kind, StmtKind::Let { .. })
}

/// The reduction in a block and what comes after it there.
fn parts<'p>(
    block: &'p [Stmt],
    before: &mut Vec<&'p Stmt>,
    conds: &mut Vec<(usize, Atom, bool)>,
) -> Option<(&'p StmtKind, Vec<After<'p>>)> {
    let at = block.iter().position(|s| !is_let(s))?;
    before.extend(&block[..at]);
    let rest = &block[at + 1..];
    if !rest.iter().all(|s| is_let(s) || matches!(s.kind, StmtKind::Store { .. })) {
        return None;
    }
    let (row, mut after) = match &block[at].kind {
        row @ StmtKind::For { how: How::Lanes(_), carried, body, .. }
            if !carried.is_empty() && body.iter().all(is_let) =>
        {
            (row, Vec::new())
        }
        StmtKind::If { cond, then, otherwise, results } => {
            let (side, inside, other) = match otherwise.iter().all(is_let) {
                true => (true, then, otherwise),
                false => (false, otherwise, then),
            };
            if !other.iter().all(is_let) {
                return None;
            }
            conds.push((before.len(), *cond, side));
            let (row, mut after) = parts(inside, before, conds)?;
            after.extend(results.iter().map(|c| After::Is(c.var, if side { c.then } else { c.otherwise })));
            (row, after)
        }
        _ => return None,
    };
    after.extend(rest.iter().map(After::Stmt));
    Some((row, after))
}

impl Rows<'_> {
    /// What the reductions make, and what is made of that.
    pub fn late(&self) -> FxHashSet<Var> {
        let mut late = FxHashSet::default();
        if let StmtKind::For { carried, .. } = self.row {
            late.extend(carried.iter().map(|c| c.result));
        }
        for a in &self.after {
            match a {
                After::Is(v, _) => late.extend([*v]),
                After::Stmt(s) => late.extend(match &s.kind {
                    StmtKind::Let { var, .. } => Some(*var),
                    _ => None,
                }),
            }
        }
        late
    }

    /// The statements after the reduction.
    pub fn stmts_after(&self) -> impl Iterator<Item = &Stmt> + Clone {
        self.after.iter().filter_map(|a| match a {
            After::Stmt(s) => Some(*s),
            After::Is(..) => None,
        })
    }

    /// Whether the next iteration waits for no reduction.
    fn is_apart(&self, next: &[Atom]) -> bool {
        let late = self.late();
        !next.iter().any(|a| a.as_var().is_some_and(|v| late.contains(&v)))
    }

    /// Whether each buffer that is written is written by one statement and read by none.
    fn writes_alone(&self) -> bool {
        let written: Vec<Var> = self
            .stmts_after()
            .filter_map(|s| match &s.kind {
                StmtKind::Store { buffer, .. } => Some(*buffer),
                _ => None,
            })
            .collect();
        let mut mentioned = Vec::new();
        let all = self.before.iter().copied().chain(self.stmts_after()).map(|s| &s.kind).chain([self.row]);
        all.for_each(|kind| mentions(kind, &mut |v| mentioned.push(v)));
        written.iter().all(|w| mentioned.iter().filter(|v| *v == w).count() == 1)
    }
}
