//! Edits of Kernel programs: the first statement, in the order of execution, for which an edit says that it has
//! applied.

use remc_base::ops::ScalarOp;
use remc_base::{BaseTy, Scalar};
use remc_kernel::ir::*;

/// What an edit is given: the program's variables, and the block that the statement is in.
pub type Edit<'f> = &'f mut dyn FnMut(&mut Variables<'_>, &mut Vec<Stmt>, usize) -> bool;

/// The variables of a program, to which an edit may add.
pub struct Variables<'p>(&'p mut remc_base::IdVec<Var, VarInfo>);

impl Variables<'_> {
    pub fn space(&self, buffer: Var) -> Option<Space> {
        match &self.0[buffer].ty {
            Ty::Buffer(b) => Some(b.space),
            Ty::Scalar(_) => None,
        }
    }

    /// A statement that makes `a` and a number, and its variable.
    pub fn plus(&mut self, a: Atom, n: i64, like: &Stmt) -> (Stmt, Atom) {
        let ty = Ty::Scalar(BaseTy::I64);
        let var = self.0.push(VarInfo { name: remc_base::Name::new("mutant"), ty });
        let exp = Exp::Op(ScalarOp::Add, vec![a, Atom::int(n)]);
        (Stmt { kind: StmtKind::Let { var, exp }, prov: like.prov }, Atom::Var(var))
    }
}

/// Edits the kernels named so, one after the other, until the edit applies.
pub fn kernel(p: &mut Program, name: &str, edit: Edit<'_>) -> bool {
    let vars = &mut Variables(&mut p.vars);
    let ids: Vec<KernelId> = p
        .kernels
        .iter()
        .filter(|(_, k)| k.name.as_str() == name && k.threads.is_some())
        .map(|(id, _)| id)
        .collect();
    ids.into_iter().any(|id| block(vars, &mut p.kernels[id].body, edit))
}

fn block(vars: &mut Variables<'_>, stmts: &mut Vec<Stmt>, edit: Edit<'_>) -> bool {
    for at in 0..stmts.len() {
        if edit(vars, stmts, at) {
            return true;
        }
        let inside = match &mut stmts[at].kind {
            StmtKind::For { body, .. } | StmtKind::Chain { body, .. } | StmtKind::Collective { body, .. } => {
                block(vars, body, edit)
            }
            StmtKind::While { cond, body, .. } => block(vars, cond, edit) || block(vars, body, edit),
            StmtKind::If { then, otherwise, .. } => block(vars, then, edit) || block(vars, otherwise, edit),
            _ => false,
        };
        if inside {
            return true;
        }
    }
    false
}

/// Counts down to the `n`-th time that something is seen, from 0.
pub fn nth(n: usize, mut seen: impl FnMut(&StmtKind) -> bool) -> impl FnMut(&StmtKind) -> bool {
    let mut left = n;
    move |s| {
        let hit = seen(s);
        let now = hit && left == 0;
        left -= usize::from(hit && left > 0);
        now
    }
}

pub fn is_barrier(s: &StmtKind) -> bool {
    matches!(s, StmtKind::Barrier)
}

pub fn is_share(s: &StmtKind) -> bool {
    matches!(s, StmtKind::For { range: Range::Share { .. }, .. })
}

pub fn is_tile(s: &StmtKind) -> bool {
    matches!(s, StmtKind::For { range: Range::Tile { .. }, .. })
}

/// Drops the `n`-th barrier.
pub fn drop_barrier(p: &mut Program, name: &str, n: usize) -> bool {
    let mut wanted = nth(n, is_barrier);
    kernel(p, name, &mut |_, stmts, at| {
        let hit = wanted(&stmts[at].kind);
        if hit {
            stmts.remove(at);
        }
        hit
    })
}

/// Changes the range of the `n`-th loop of a kind.
pub fn range(
    p: &mut Program,
    name: &str,
    (kind, n): (fn(&StmtKind) -> bool, usize),
    change: impl Fn(Range) -> Range,
) -> bool {
    let mut wanted = nth(n, kind);
    kernel(p, name, &mut |_, stmts, at| {
        if !wanted(&stmts[at].kind) {
            return false;
        }
        let StmtKind::For { range, .. } = &mut stmts[at].kind else { return false };
        *range = change(*range);
        true
    })
}

/// The whole tile, instead of a thread's share of it.
pub fn whole(r: Range) -> Range {
    match r {
        Range::Share { index, size, limit, .. } => Range::Tile { index, size, limit },
        r => r,
    }
}

/// Tiles of another size.
pub fn resized(r: Range, by: i64) -> Range {
    let other = |a: Atom| a.as_int().map_or(a, |n| Atom::int(n + by));
    match r {
        Range::Share { thread, threads, index, size, limit } => {
            Range::Share { thread, threads, index, size: other(size), limit }
        }
        Range::Tile { index, size, limit } => Range::Tile { index, size: other(size), limit },
        r => r,
    }
}

/// Tiles that are all full.
pub fn unlimited(r: Range) -> Range {
    let far = Atom::int(1 << 40);
    match r {
        Range::Share { thread, threads, index, size, .. } => {
            Range::Share { thread, threads, index, size, limit: far }
        }
        Range::Tile { index, size, .. } => Range::Tile { index, size, limit: far },
        r => r,
    }
}

/// Every `n`-th iteration, where there are other numbers of threads.
pub fn stepped(r: Range, n: i64) -> Range {
    match r {
        Range::Share { thread, index, size, limit, .. } => {
            Range::Share { thread, threads: Atom::int(n), index, size, limit }
        }
        r => r,
    }
}

/// Shifts the last index of the `n`-th store to a space.
pub fn shift_store(p: &mut Program, name: &str, space: Space, n: usize) -> bool {
    let mut left = n;
    kernel(p, name, &mut |vars, stmts, at| {
        let StmtKind::Store { buffer, at: index, .. } = &stmts[at].kind else { return false };
        let Some(last) = index.last().copied().filter(|_| vars.space(*buffer) == Some(space)) else {
            return false;
        };
        if left > 0 {
            left -= 1;
            return false;
        }
        let (made, shifted) = vars.plus(last, 1, &stmts[at]);
        if let StmtKind::Store { at: index, .. } = &mut stmts[at].kind {
            index.pop();
            index.push(shifted);
        }
        stmts.insert(at, made);
        true
    })
}

/// Shifts the last index of the first load from a space.
pub fn shift_load(p: &mut Program, name: &str, space: Space) -> bool {
    kernel(p, name, &mut |vars, stmts, at| {
        let StmtKind::Let { exp: Exp::Load { buffer, at: index }, .. } = &stmts[at].kind else {
            return false;
        };
        let Some(last) = index.last().copied().filter(|_| vars.space(*buffer) == Some(space)) else {
            return false;
        };
        let (made, shifted) = vars.plus(last, 1, &stmts[at]);
        if let StmtKind::Let { exp: Exp::Load { at: index, .. }, .. } = &mut stmts[at].kind {
            index.pop();
            index.push(shifted);
        }
        stmts.insert(at, made);
        true
    })
}

/// Changes the first collective.
pub fn collective(p: &mut Program, name: &str, change: impl Fn(&mut Atom, &mut Vec<Joined>)) -> bool {
    kernel(p, name, &mut |_, stmts, at| {
        let StmtKind::Collective { count, joined, .. } = &mut stmts[at].kind else { return false };
        change(count, joined);
        true
    })
}

/// One thread less, or more, takes part in the first collective.
pub fn miscount(p: &mut Program, name: &str, by: i64) -> bool {
    kernel(p, name, &mut |vars, stmts, at| {
        let StmtKind::Collective { count, .. } = &stmts[at].kind else { return false };
        let (made, other) = vars.plus(*count, by, &stmts[at]);
        if let StmtKind::Collective { count, .. } = &mut stmts[at].kind {
            *count = other;
        }
        stmts.insert(at, made);
        true
    })
}

/// Changes the links of the chain; `items` are those of the collective before it.
pub fn chain(p: &mut Program, name: &str, change: impl Fn(&mut Vec<Link>, &[Atom])) -> bool {
    let mut items = Vec::new();
    kernel(p, name, &mut |_, stmts, at| match &mut stmts[at].kind {
        StmtKind::Collective { joined, .. } => {
            items = joined.iter().map(|j| j.item).collect();
            false
        }
        StmtKind::Chain { links, .. } => {
            change(links, &items);
            true
        }
        _ => false,
    })
}

/// The `n`-th condition on a block that stores to a space is always true.
pub fn unguarded(p: &mut Program, name: &str, stores: Space, n: usize) -> bool {
    let mut left = n;
    kernel(p, name, &mut |vars, stmts, at| {
        let StmtKind::If { cond, then, .. } = &mut stmts[at].kind else { return false };
        let guards = then
            .iter()
            .any(|s| matches!(s.kind, StmtKind::Store { buffer, .. } if vars.space(buffer) == Some(stores)));
        if guards && left == 0 {
            *cond = Atom::Const(Scalar::Bool(true));
            return true;
        }
        left -= usize::from(guards);
        false
    })
}
