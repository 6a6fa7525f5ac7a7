//! Arrays that grow in a loop: how long they get is counted first, and then each item is written where it belongs.
//!
//! ```text
//! (let (%n %path)                                 (let (%most) (while ((%k %a) (%m 1)) … (give %k' (+ %m 1))))
//!   (while ((%k %a) (%n' 1) (%p %start))          (let (%zeros) (map ((i %most)) (give 0)))
//!     …                                     ⟶     (let (%room) (scatter (i 1) (%zeros) (give i %start[i])))
//!     (let (%t) (op + %n' 1))                     (let (… %path)
//!     (let (%q) (view (append %x) %p))              (while ((%k %a) (%n' 1) (%r %room))
//!     (give %k' %t %q)))                              …
//!                                                     (let (%w) (scatter (j 1) (%r) (give (+ %n' j) %x[j])))
//!                                                     (give %k' %t %w)))
//! ```
//!
//! An array that is longer in each round is copied in each round, so that `n` items cost the time of `n²`, and whoever does
//! a row with such a loop does not know what memory it takes. If nothing that decides how many items there will be, and which
//! checks fail, reads the array, then the loop without it says so. That runs twice then: so where it is not part of a row,
//! its rounds have to be of scalars, and of a few items of other arrays. What reads the array on the way reads the part of
//! it that there is. The second loop has no checks: all of them have held in the first.
//!
//! An array grows by an `append`, behind it or in front of it, on a condition or in a loop inside the loop ([`chain`]). Where
//! it cannot be counted, its room doubles when it is full ([`doubled`]).

mod chain;
mod doubled;
mod room;

use super::dce;
use crate::ir::*;
use crate::walk::Copier;
use chain::{Grown, grown};
use remc_base::ops::ScalarOp;
use remc_base::pass::PassInfo;
use room::{Fill, Heads, Wanted};
use rustc_hash::FxHashSet;

pub const PASS: PassInfo = PassInfo {
    name: "grow",
    from: "mono",
    to: "mono",
    summary: "makes room for arrays that get longer in a loop",
};

/// Makes room where arrays grow.
pub fn grow(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    in_body(p, &mut body, Around::default());
    p.body = body;
}

/// What a body is part of.
#[derive(Clone, Copy, Default)]
struct Around {
    /// A row of several, or an element.
    row: bool,
    /// A round of a loop, of that row if it is part of one.
    round: bool,
}

/// Those of a body.
fn in_body(p: &mut Program, body: &mut Body, around: Around) {
    if !changes_sizes(body) {
        return;
    }
    let mut stmts = Vec::with_capacity(body.stmts.len());
    for s in std::mem::take(&mut body.stmts) {
        let first = stmts.len();
        let made = counted(p, &s, around).or_else(|| if around.row { None } else { doubled::doubled(p, &s) });
        match made {
            Some(made) => stmts.extend(made),
            None => stmts.push(s),
        }
        for s in &mut stmts[first..] {
            let inside = match &s.exp {
                Exp::If { .. } => around,
                Exp::For { .. } | Exp::While { .. } => Around { round: true, ..around },
                _ => Around { row: true, round: false },
            };
            s.exp.bodies_mut().into_iter().for_each(|b| in_body(p, b, inside));
        }
    }
    body.stmts = stmts;
}

/// Whether arrays get longer, or shorter, anywhere in a body.
fn changes_sizes(body: &Body) -> bool {
    let mut found = false;
    body.for_each_stmt(&mut |s| {
        found |= matches!(s.exp, Exp::View { view: View::Append { .. } | View::Slice { .. }, .. });
    });
    found
}

/// The states of a loop that get longer or shorter.
fn all_grown(p: &Program, s: &Stmt) -> Vec<Grown> {
    match &s.exp {
        Exp::For { state, body, .. } | Exp::While { state, body, .. } if changes_sizes(body) => {
            let inside: FxHashSet<Var> = s.exp.inner_binders().into_iter().chain(body.binders()).collect();
            let mut held: FxHashSet<Var> = FxHashSet::default();
            let mut all: Vec<Grown> = (0..state.len()).filter_map(|k| grown(p, s, k, &inside)).collect();
            // What is appended to two arrays is in the room of one of them.
            all.retain(|g| {
                let own = || g.chain.iter().filter(|v| !g.fresh.contains(v));
                let alone = own().all(|v| !held.contains(v));
                held.extend(own().copied());
                alone
            });
            all
        }
        _ => Vec::new(),
    }
}

/// What a loop becomes in which arrays grow, by as many items as can be counted beforehand.
fn counted(p: &mut Program, s: &Stmt, around: Around) -> Option<Vec<Stmt>> {
    let mut all = all_grown(p, s);
    all.retain(|g| g.does.only_grows());
    let sizes = |all: &[Grown]| all.iter().map(|g| s.pat[g.size]).collect::<Vec<Var>>();
    // What is left of the loop if only these sizes are wanted.
    let count = loop {
        if all.is_empty() {
            return None;
        }
        let results = sizes(&all).into_iter().map(Atom::Var).collect();
        let mut alone = Program { body: Body { stmts: vec![s.clone()], results }, ..p.clone() };
        dce::dce(&mut alone);
        let count = alone.body;
        let needed: FxHashSet<Var> =
            count.stmts.iter().flat_map(|s| &s.pat).filter(|v| !p.ty(**v).is_scalar()).copied().collect();
        let before = all.len();
        all.retain(|g| !needed.contains(&s.pat[g.slot]));
        if all.len() == before {
            break count;
        }
    };
    let mut light = true;
    count.for_each_stmt(&mut |s| light &= is_light(p, s));
    // Arrays that both loops change are copied for the first one: in each round of a loop around it, that is too often.
    let changed = count.stmts.iter().flat_map(|s| &s.pat).any(|v| !p.ty(*v).is_scalar());
    if has_channels(&count) || !(around.row || light) || (around.round && changed) {
        return None;
    }
    let mut fill = Fill { p, out: Vec::new(), prov: s.prov };
    let most = how_many(&mut fill, &count);
    Some(with_rooms(fill, s, &all, &most))
}

/// Whether something is read from or written to channels.
fn has_channels(body: &Body) -> bool {
    let mut found = false;
    body.for_each_stmt(&mut |s| found |= matches!(s.exp, Exp::Pull { .. } | Exp::Push { .. }));
    found
}

/// Iterations up to which a statement is as cheap as one of scalars, or nearly.
const FEW: i64 = 8;

/// Whether a statement of a round, without those in it, is done in no time: of scalars, or changing a few items of an array.
fn is_light(p: &Program, s: &Stmt) -> bool {
    match &s.exp {
        Exp::Atom(_) | Exp::Op(..) | Exp::Cast(..) | Exp::Index { .. } | Exp::Check { .. } => true,
        Exp::If { .. } | Exp::For { .. } | Exp::While { .. } => true,
        Exp::Scatter { axis, .. } => axis.size.as_int().is_some_and(|n| n <= FEW),
        Exp::Literal { elems, .. } => elems.len() as i64 <= FEW,
        exp => {
            let few = |n: &Atom| n.as_int().is_some_and(|n| n <= FEW);
            let arrays = s.pat.iter().flat_map(|v| &p.ty(*v).dims);
            exp.axes().iter().map(|a| &a.size).chain(arrays).all(few)
        }
    }
}

/// Counts; the most items that each array gets.
fn how_many(fill: &mut Fill<'_>, count: &Body) -> Vec<Atom> {
    if let Some(most) = steady(fill, count) {
        return most;
    }
    let count = Copier::new(fill.p).body(count);
    fill.out.extend(count.stmts);
    count.results
}

/// The same of a loop of so many rounds in each of which one array grows by as much.
fn steady(fill: &mut Fill<'_>, count: &Body) -> Option<Vec<Atom>> {
    let [Stmt { pat, exp: Exp::For { axis, state, body }, .. }] = &count.stmts[..] else { return None };
    let ([n], [(before, start)], [Stmt { pat: next, exp: Exp::Op(ScalarOp::Add, args), .. }]) =
        (&pat[..], &state[..], &body.stmts[..])
    else {
        return None;
    };
    let step = match args[..] {
        [a, step] | [step, a] if a == (*before).into() => step.as_int().filter(|n| *n >= 0)?,
        _ => return None,
    };
    let whole = body.results[..] == [Atom::Var(next[0])] && count.results.iter().all(|r| *r == (*n).into());
    if !whole {
        return None;
    }
    let more = fill.op(ScalarOp::Mul, axis.size, Atom::int(step));
    let most = fill.op(ScalarOp::Add, *start, more);
    Some(vec![most; count.results.len()])
}

/// The loop in which each array has room for what it gets, and what comes before it.
fn with_rooms(mut fill: Fill<'_>, s: &Stmt, all: &[Grown], most: &[Atom]) -> Vec<Stmt> {
    let mut s = s.clone();
    let mut whole: FxHashSet<usize> = FxHashSet::default();
    for (g, most) in all.iter().zip(most) {
        // The number of items as it was counted: the dims of the array say that.
        if whole.insert(g.size) {
            let last = fill.p.fresh("last", Ty::int());
            let n = std::mem::replace(&mut s.pat[g.size], last);
            fill.push(vec![n], Exp::Atom(*most));
        }
        fill.p.vars[s.pat[g.slot]].ty.dims[0] = *most;
    }
    let wanted = |(grown, most): (_, &Atom)| {
        let grown: &Grown = grown;
        let heads = if grown.does.front { Heads::ToEnd(*most) } else { Heads::First };
        Wanted { grown, most: *most, heads, places: &[], partly: false }
    };
    let wanted: Vec<Wanted<'_>> = all.iter().zip(most).map(wanted).collect();
    // All of them have held before.
    s.exp.bodies_mut().into_iter().for_each(|b| Body::drop_checks(&mut b.stmts));
    fill.rooms(s, &wanted);
    fill.out
}

#[cfg(test)]
mod tests;
