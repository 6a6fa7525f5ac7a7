//! Filters of the same points, which read the same elements, are one: a partition.
//!
//! ```text
//! (let (n a) (filter (i m) (leaf xs[i] < p)))          (let (n a k b)
//! (let (t) (host (op + n 1)))                    ⟶       (filter (i m) (leaf xs[i] < p) (j m) (leaf xs[j] > p)))
//! (let (k b) (filter (j m) (leaf xs[j] > p)))          (let (t) (host (op + n 1)))
//! ```
//!
//! One kernel then looks at each tile for all of them, while its elements are near, and the host knows how many each
//! of them keeps before any is written. So `append`s of what they keep are made in place ([`crate::appends`]), which
//! the rounds of a quicksort are.
//!
//! A later filter comes to the first one: so it needs nothing that is made in between, nothing in between may stop the
//! program, and neither may it, so that the first failure stays the first. Each filter takes memory for all points
//! while it runs, at the worst: [`MOST`] run together.

use crate::ir::*;
use remc_mono::ir as mono;
use rustc_hash::FxHashSet;

/// How many filters are one at most.
const MOST: usize = 4;

/// Joins the filters of each body.
pub(super) fn partitions(table: &mono::Program, body: &mut Body) {
    for s in &mut body.stmts {
        s.exp.bodies_mut().into_iter().for_each(|b| partitions(table, b));
    }
    let mut k = 0;
    while k < body.stmts.len() {
        join(table, &mut body.stmts, k);
        k += 1;
    }
}

/// Takes later filters into the one at `k`, if there is one.
fn join(table: &mono::Program, stmts: &mut Vec<Stmt>, k: usize) {
    let Exp::Filters(parts) = &stmts[k].exp else { return };
    let mut parts = parts.clone();
    let elements: FxHashSet<Var> = parts.iter().flat_map(elements_of).collect();
    let mut late: FxHashSet<Var> = stmts[k].pat.iter().copied().collect();
    let mut at = k + 1;
    while at < stmts.len() && parts.len() < MOST {
        let s = &stmts[at];
        match one_filter(&s.exp) {
            Some(filter)
                if filter.axis.size == parts[0].axis.size
                    && !filter.body.can_stop()
                    && elements_of(filter).iter().any(|v| elements.contains(v))
                    && !needs(table, s, &late) =>
            {
                parts.push(filter.clone());
                let joined = stmts.remove(at);
                late.extend(&joined.pat);
                stmts[k].pat.extend(joined.pat);
            }
            _ if stops(&s.exp) => break,
            _ => {
                late.extend(&s.pat);
                at += 1;
            }
        }
    }
    stmts[k].exp = Exp::Filters(parts);
}

fn one_filter(e: &Exp) -> Option<&Filter> {
    match e {
        Exp::Filters(parts) if parts.len() == 1 => parts.first(),
        _ => None,
    }
}

/// The arrays of which a filter reads the elements at its own point.
fn elements_of(filter: &Filter) -> Vec<Var> {
    let mut arrays = Vec::new();
    let point = filter.axis.var.into();
    filter.body.for_each_stmt(&mut |s| match &s.exp {
        mono::Exp::Index { array, at } if at.first() == Some(&point) => arrays.push(*array),
        _ => {}
    });
    arrays
}

/// Whether a statement needs one of these variables, for the types of what it makes too.
fn needs(table: &mono::Program, s: &Stmt, late: &FxHashSet<Var>) -> bool {
    let mut found = false;
    let mut look = |a: Atom| found |= a.as_var().is_some_and(|v| late.contains(&v));
    s.exp.for_each_use(&mut look);
    s.pat.iter().flat_map(|v| &table.vars[*v].ty.dims).for_each(|d| look(*d));
    found
}

/// Whether anything in an expression may stop the program.
fn stops(e: &Exp) -> bool {
    let here = match e {
        Exp::Host(h) => h.can_stop(),
        _ => e.leaves().into_iter().any(mono::Body::can_stop),
    };
    here || e.bodies().into_iter().any(|b| b.stmts.iter().any(|s| stops(&s.exp)))
}
