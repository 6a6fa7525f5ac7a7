//! A check of sizes runs before the arrays that it does not ask about are made.
//!
//! ```text
//! (let (%a %n %m) (map …))                  (let (%left) (op - 9223372036854775807 %k))
//! (let (%b %k %m) (map …))                  (let (%ok) (op <= %n %left))
//! (let (%left) (op - 9223372036854775807 %k))      ⇒      (let () (check %ok …))
//! (let (%ok) (op <= %n %left))              (let (%a %n %m) (map …))
//! (let () (check %ok …))                    (let (%b %k %m) (map …))
//! (let (%c) (view (append %b) %a))          (let (%c) (view (append %b) %a))
//! ```
//!
//! A program that has to stop does so before its work, and nothing stands between arrays and what is made of them: an
//! append's parts are made in its result only where the program cannot stop between.
//!
//! A check moves up to behind the last thing before it that can stop, or that binds what it asks about, and takes with it
//! the scalars that are computed for it. So it is the same check that stops a program, and what is told of it is the same.
//! Where it would pass no array it stays, and so does one inside an iteration whose points may run side by side: there it
//! is a part of the work on the points that stand next to it.

use crate::ir::*;
use remc_base::pass::PassInfo;
use rustc_hash::FxHashMap;

pub const PASS: PassInfo = PassInfo {
    name: "early",
    from: "mono",
    to: "mono",
    summary: "checks sizes before arrays are made that the check does not ask about",
};

pub fn early(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    walk(&mut body);
    p.body = body;
}

/// A scalar that is computed of others, and so can be computed as soon as they are there.
struct Computed {
    at: usize,
    /// The first place where it could be.
    from: usize,
}

fn walk(body: &mut Body) {
    for s in &mut body.stmts {
        if let Exp::If { .. } | Exp::For { .. } | Exp::While { .. } = s.exp {
            s.exp.bodies_mut().into_iter().for_each(walk);
        }
    }
    if !body.stmts.iter().any(|s| matches!(s.exp, Exp::Check { .. })) {
        return;
    }
    // Before which statement each one comes; what has moved comes before the one that was there.
    let mut places: Vec<(usize, bool)> = (0..body.stmts.len()).map(|k| (k, true)).collect();
    let mut known: FxHashMap<Var, usize> = FxHashMap::default();
    let mut computed: FxHashMap<Var, Computed> = FxHashMap::default();
    // The place behind the last statement that can stop, and that of the first array behind it.
    let mut since = 0;
    let mut arrays: Vec<usize> = Vec::new();
    for (k, s) in body.stmts.iter().enumerate() {
        let from = |known: &FxHashMap<Var, usize>, computed: &FxHashMap<Var, Computed>| {
            let mut from = 0;
            s.exp.for_each_operand(&mut |a| {
                let Some(v) = a.as_var() else { return };
                let there = computed.get(&v).map(|c| c.from).or(known.get(&v).copied());
                from = from.max(there.unwrap_or(0));
            });
            from
        };
        match &s.exp {
            Exp::Op(..) | Exp::Cast(..) => {
                let from = from(&known, &computed);
                computed.extend(s.pat.iter().map(|v| (*v, Computed { at: k, from })));
                continue;
            }
            Exp::Check { .. } => {
                let to = from(&known, &computed).max(since);
                let passes = arrays.last().is_some_and(|last| *last >= to);
                since = if passes { to } else { k + 1 };
                if passes {
                    places[k] = (to, false);
                    bring(&body.stmts, k, to, &computed, &mut places);
                }
            }
            e => {
                since = if e.can_stop() { k + 1 } else { since };
                arrays.extend(e.makes_arrays().then_some(k));
            }
        }
        known.extend(s.pat.iter().map(|v| (*v, k + 1)));
    }
    let mut moved: Vec<_> = places.into_iter().zip(std::mem::take(&mut body.stmts)).collect();
    moved.sort_by_key(|(place, _)| *place);
    body.stmts = moved.into_iter().map(|(_, s)| s).collect();
}

/// Moves what is computed for statement `k` there, too.
fn bring(
    stmts: &[Stmt],
    k: usize,
    to: usize,
    computed: &FxHashMap<Var, Computed>,
    places: &mut [(usize, bool)],
) {
    let mut open = vec![k];
    while let Some(k) = open.pop() {
        stmts[k].exp.for_each_operand(&mut |a| {
            let Some(c) = a.as_var().and_then(|v| computed.get(&v)) else { return };
            if places[c.at] > (to, false) {
                places[c.at] = (to, false);
                open.push(c.at);
            }
        });
    }
}
