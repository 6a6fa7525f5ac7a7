//! Serial combinations of arrays, and loops: the work of one thread, or rounds that run in parallel one after the other.
//!
//! ```text
//! (reduce (%i %k) … (serial ((%acc float %n) …)      if n ≥ par.inner: (for (%i %k) (((%acc float %n) …))
//!   (let (%new float %n) (map ((%j %n)) …))                               (let (%new float %n) (seg-map …))
//!   (give %new)))                                                          (give %new))
//!                                                    otherwise: (seg-map grid () (leaf (reduce …)))
//! ```
//!
//! A round is worth a launch if it makes as many elements as an iteration of a loop inside a nest has to. As a loop
//! of the host it has what those have: memory that is written where it is, and all threads.
//! A round that only changes some items of the arrays that it carries is worth none (`sequential`), but for the rows that it
//! reduces beside that, if their sizes are known before the loop. Of a loop all counts that its rounds go through: rows of a
//! few hundred items, a step of a simulation of a few bodies, are a thread's, which needs no launch for each. On a processor,
//! that is. And the more often threads have to wait for each other in a round, the larger it has to be: measured with two
//! threads, a map of 4,000 items is worth them, and a reduction with a map of what it gives takes 30,000.

use super::distribution::points_of;
use super::*;
use rustc_hash::FxHashSet;

/// So many operations of a point are what a threshold counts as one.
const OPERATIONS: usize = 8;

/// Adds a serial combination that one thread may do; `accs` are its accumulators.
pub(super) fn rounds(
    f: &mut Flattener,
    s: &mono::Stmt,
    fold: Fold<'_>,
    accs: &[Var],
    out: &mut Vec<Stmt>,
) -> F<()> {
    let op = &fold.op.lambda.body;
    let dims = |v: &Var| f.p.vars[*v].ty.dims.clone();
    let mut arrays: Vec<Vec<Atom>> = accs.iter().map(dims).filter(|dims| !dims.is_empty()).collect();
    if fold.scan.is_none() && f.is_sequential_fold(accs, op) {
        arrays = reduced(&fold.op.lambda);
    }
    arrays.retain(|dims| !is_small(dims));
    let least = f.thresholds.of_round(launches(f, op));
    match worth(f, &arrays, f.is_wide(op), least) {
        Version::Outer => {
            let exp = f.point(s);
            out.push(Stmt { pat: s.pat.clone(), exp, prov: s.prov });
            Ok(())
        }
        Version::Inner => {
            let stmts = host::fold_as_loop(f, s, &fold)?;
            f.stmts(&stmts, out)
        }
        Version::Both => both(f, s, (&arrays, least), out, |f, s, out| {
            let stmts = host::fold_as_loop(f, s, &fold)?;
            f.stmts(&stmts, out)
        }),
    }
}

/// Adds a loop, if it may be one thread's; says whether it did.
pub(super) fn looped(f: &mut Flattener, s: &mono::Stmt, out: &mut Vec<Stmt>) -> F<bool> {
    let one = mono::Body { stmts: vec![s.clone()], results: Vec::new() };
    let inside: FxHashSet<Var> = one.binders().into_iter().collect();
    let mut sizes = Vec::new();
    let known = s.exp.bodies().into_iter().all(|b| gone_through(f, b, &[], &inside, &mut sizes));
    // One thread of many waits for memory longer than a launch takes.
    let many = f.thresholds.row_groups.is_some();
    if many || !known || !f.is_leaf(&[], &[&one]) {
        return Ok(false);
    }
    let mut sizes = widest(sizes);
    let rounds = s.exp.bodies().into_iter().flat_map(|b| &b.stmts);
    let weight = rounds.map(|s| heaviest(&s.exp)).max().unwrap_or(0) / OPERATIONS;
    if weight > 1 {
        sizes.iter_mut().for_each(|all| all.push(Atom::int(weight as i64)));
    }
    let bodies = s.exp.bodies();
    let least =
        f.thresholds.of_round(bodies.into_iter().map(|b| launches(f, b)).fold(0, i64::saturating_add));
    match worth(f, &sizes, true, least) {
        Version::Outer => {
            let exp = f.point(s);
            out.push(Stmt { pat: s.pat.clone(), exp, prov: s.prov });
        }
        Version::Inner => return Ok(false),
        Version::Both => both(f, s, (&sizes, least), out, |f, s, out| {
            let exp = f.host_loop(s)?;
            out.push(Stmt { pat: s.pat.clone(), exp, prov: s.prov });
            Ok(())
        })?,
    }
    Ok(true)
}

/// Notes how many points each iteration of a body has, in those around it that run in parallel; whether that is known
/// outside of these variables.
fn gone_through(
    f: &Flattener,
    body: &mono::Body,
    around: &[Atom],
    inside: &FxHashSet<Var>,
    out: &mut Vec<Vec<Atom>>,
) -> bool {
    body.stmts.iter().all(|s| {
        let own: Vec<Atom> = match &s.exp {
            mono::Exp::For { .. } | mono::Exp::While { .. } => Vec::new(),
            mono::Exp::View { .. } => s.pat.first().map(|v| f.p.vars[*v].ty.dims.clone()).unwrap_or_default(),
            // Of a run, how many items there are may be the round's: no more than the array has.
            mono::Exp::Scatter { dests, axis, .. }
                if axis.size.as_var().is_some_and(|n| inside.contains(&n)) && run(f, &s.exp).is_some() =>
            {
                dests.first().and_then(|d| f.p.vars[*d].ty.dims.first()).into_iter().copied().collect()
            }
            exp => exp.axes().iter().map(|a| a.size).collect(),
        };
        if own.iter().any(|n| n.as_var().is_some_and(|v| inside.contains(&v))) {
            return false;
        }
        let all = [around, &own].concat();
        if !is_small(&all) {
            out.push(all.clone());
        }
        s.exp.bodies().into_iter().all(|b| gone_through(f, b, &all, inside, out))
    })
}

/// The items of a scatter, if they are a run.
fn run(f: &Flattener, exp: &mono::Exp) -> Option<Run> {
    let mono::Exp::Scatter { dests, axis, body, combine: None } = exp else { return None };
    Run::of(&f.p.vars, dests, *axis, body)
}

/// How many times all threads are woken and waited for in a round that is parallel: for a map once; for a reduction to combine
/// what they have reduced, and to read that; for a scan to hand on what comes before each.
fn launches(f: &Flattener, round: &mono::Body) -> i64 {
    let of = |s: &mono::Stmt| match &s.exp {
        mono::Exp::View { .. } => 0,
        mono::Exp::Map { .. } => 1,
        exp @ mono::Exp::Scatter { .. } if run(f, exp).is_some() => 1,
        mono::Exp::Scan { .. } => 3,
        mono::Exp::If { then, otherwise, .. } => launches(f, then).max(launches(f, otherwise)),
        mono::Exp::For { .. } | mono::Exp::While { .. } => {
            s.exp.bodies().into_iter().map(|b| launches(f, b)).fold(0, i64::saturating_add)
        }
        exp if exp.bodies().is_empty() => 0,
        _ => 4,
    };
    round.stmts.iter().map(of).fold(0, i64::saturating_add)
}

/// The most statements that an iteration has, without those inside. Those of a scan do not count: threads that share one
/// go through it twice.
fn heaviest(exp: &mono::Exp) -> usize {
    let own = |b: &mono::Body| if matches!(exp, mono::Exp::Scan { .. }) { 0 } else { b.stmts.len() };
    let of = |b: &mono::Body| b.stmts.iter().map(|s| heaviest(&s.exp)).fold(own(b), usize::max);
    exp.bodies().into_iter().map(of).max().unwrap_or(0)
}

/// Of products of sizes those that are no part of another.
fn widest(mut all: Vec<Vec<Atom>>) -> Vec<Vec<Atom>> {
    all.sort_by_key(|p| std::cmp::Reverse(p.len()));
    let mut widest: Vec<Vec<Atom>> = Vec::new();
    for product in all {
        let count = |of: &[Atom], n: &Atom| of.iter().filter(|a| *a == n).count();
        let is_part = |of: &Vec<Atom>| product.iter().all(|n| count(&product, n) <= count(of, n));
        if !widest.iter().any(is_part) {
            widest.push(product);
        }
    }
    widest
}

/// A serial combination in both versions: rounds if one of these arrays is large.
fn both(
    f: &mut Flattener,
    s: &mono::Stmt,
    (arrays, least): (&[Vec<Atom>], i64),
    out: &mut Vec<Stmt>,
    as_loop: impl FnOnce(&mut Flattener, &mono::Stmt, &mut Vec<Stmt>) -> F<()>,
) -> F<()> {
    f.versions += 1;
    f.nest_versions += 1;
    let mut tests = Vec::new();
    for dims in arrays {
        let size = points_of(f, dims, s.prov, out);
        let test = f.test(size, Compare::AtLeast, Threshold::ParInner);
        tests.push(Test { value: least, ..test });
    }
    let (looped, alone) = (f.like(&s.pat), f.like(&s.pat));
    let of = |pat: &[Var]| mono::Stmt { pat: pat.to_vec(), ..s.clone() };
    let mut then = Vec::new();
    as_loop(f, &of(&looped), &mut then)?;
    let exp = f.point(&of(&alone));
    let otherwise = vec![Stmt { pat: alone.clone(), exp, prov: s.prov }];
    let body = |stmts, pat: Vec<Var>| Body { stmts, results: pat.into_iter().map(Atom::Var).collect() };
    let exp =
        Exp::Branch { guard: Guard { tests }, then: body(then, looped), otherwise: body(otherwise, alone) };
    out.push(Stmt { pat: s.pat.clone(), exp, prov: s.prov });
    Ok(())
}

/// The sizes of the rows that an operator reduces, as far as they are known outside of it.
fn reduced(op: &Lambda) -> Vec<Vec<Atom>> {
    let inside: Vec<Var> = op.body.binders().into_iter().chain(op.params.iter().copied()).collect();
    let mut sizes = Vec::new();
    op.body.for_each_stmt(&mut |s| {
        if let mono::Exp::Reduce { axis, .. } = &s.exp
            && axis.size.as_var().is_none_or(|v| !inside.contains(&v))
        {
            sizes.push(vec![axis.size]);
        }
    });
    sizes
}

/// Whether it is one thread's ([`Version::Outer`]), rounds ([`Version::Inner`]), or to be seen from its sizes.
/// They are compared with `least`.
fn worth(f: &Flattener, arrays: &[Vec<Atom>], wide: bool, least: i64) -> Version {
    let sizes: Option<Vec<i64>> = arrays.iter().map(|dims| constant_product(dims)).collect();
    match sizes {
        _ if arrays.is_empty() || !wide || least == NEVER => Version::Outer,
        _ if least <= ALWAYS => Version::Inner,
        Some(sizes) if sizes.iter().any(|n| *n >= least) => Version::Inner,
        Some(_) => Version::Outer,
        None if f.versions >= MOST_IN_ALL || f.nest_versions + 1 >= MOST_VERSIONS => Version::Outer,
        None => Version::Both,
    }
}
