//! Accumulators and states of a few elements, known in number, as a scalar each.
//!
//! The sum of points of the plane, `(reduce … (λ (%a %b) (map ((%k 2)) …)))`, before its λ is unrolled:
//!
//! ```text
//! (let (%s0 %s1) (reduce %i %n … (let (%e0) (index %e 0)) (let (%e1) (index %e 1)) (give %e0 %e1)
//!                  (λ (%a0 %a1 %b0 %b1)
//!                    (let (%a) (literal (2) %a0 %a1)) (let (%b) (literal (2) %b0 %b1))
//!                    … (let (%c0) (index %c 0)) (let (%c1) (index %c 1)) (give %c0 %c1))
//!                  (0. 0.)))
//! (let (%s) (literal (2) %s0 %s1))
//! ```
//!
//! That is always right, and good if the literals vanish: if the λ reads the arrays only at indices that
//! unrolling makes known, and makes its results by small maps.

use super::super::unroll::{indices, small};
use crate::ir::*;
use remc_base::Prov;
use rustc_hash::FxHashSet;

/// Of arrays of more elements no scalars are made, and iterations of more rounds or statements are not written out for them:
/// all of them are in registers, all the time.
const ELEMENTS: i64 = 16;
const TRIPS: i64 = 8;
const STATEMENTS: i64 = 256;

/// The statement with scalars for the small arrays that it iterates over, if that is good.
pub(super) fn split(p: &mut Program, s: &Stmt) -> Option<Vec<Stmt>> {
    let mut stmts = Vec::new();
    match &s.exp {
        Exp::Reduce { axis, body, op } => {
            let (accs, body, op) = combine(p, body, op, s.prov, &mut stmts)?;
            around(p, s, &accs, Exp::Reduce { axis: *axis, body, op }, stmts)
        }
        Exp::Scan { kind, axis, body, op } => {
            let (accs, body, op) = combine(p, body, op, s.prov, &mut stmts)?;
            around(p, s, &accs, Exp::Scan { kind: *kind, axis: *axis, body, op }, stmts)
        }
        Exp::For { axis, state, body } => {
            let (vars, starts): (Vec<Var>, Vec<Atom>) = state.iter().copied().unzip();
            if !vanish(p, body, &vars, &vars) {
                return None;
            }
            let split = vars.iter().copied().filter(|v| is_small(p, *v)).collect();
            let starts = parts(p, &starts, &vars, &split, s.prov, &mut stmts);
            let (params, body) = take_apart(p, body, &vars, &split, s.prov);
            let state = params.into_iter().zip(starts).collect();
            around(p, s, &vars, Exp::For { axis: *axis, state, body }, stmts)
        }
        _ => None,
    }
}

fn is_small(p: &Program, v: Var) -> bool {
    let ty = p.ty(v);
    !ty.is_scalar() && small(ty.dims.iter().copied(), ELEMENTS).is_some()
}

/// The accumulators of a reduction; its body and operator, on scalars. Reads of the start go to `before`.
fn combine(
    p: &mut Program,
    body: &Body,
    op: &Combine,
    prov: Prov,
    before: &mut Vec<Stmt>,
) -> Option<(Vec<Var>, Body, Combine)> {
    let Lambda { params, body: lambda } = &op.lambda;
    let (accs, elems) = params.split_at_checked(lambda.results.len())?;
    if elems.len() != body.results.len() || !vanish(p, lambda, accs, accs) {
        return None;
    }
    let reads_known = |v: &Var| is_small(p, *v) && vanish(p, lambda, std::slice::from_ref(v), &[]);
    let split: FxHashSet<Var> = accs
        .iter()
        .copied()
        .filter(|v| is_small(p, *v))
        .chain(elems.iter().copied().filter(reads_known))
        .collect();
    // What is combined associatively has the type of the elements, and keeps it.
    if op.assoc && accs.iter().zip(elems).any(|(a, e)| split.contains(a) != split.contains(e)) {
        return None;
    }
    let mut inner = body.clone();
    inner.results = parts(p, &body.results, elems, &split, prov, &mut inner.stmts);
    let start = op.start.as_ref().map(|start| parts(p, start, accs, &split, prov, before));
    let (params, lambda) = take_apart(p, lambda, params, &split, prov);
    let lambda = Lambda { params, body: lambda };
    Some((accs.to_vec(), inner, Combine { lambda, start, assoc: op.assoc, alone: op.alone }))
}

/// Whether literals for `arrays`, few elements in all, vanish when the body is unrolled, and reads of its
/// results do, which are of the types of `states`.
fn vanish(p: &Program, body: &Body, arrays: &[Var], states: &[Var]) -> bool {
    let total = arrays.iter().try_fold(0, |n, v| Some(n + small(p.ty(*v).dims.iter().copied(), ELEMENTS)?));
    let any = arrays.iter().any(|v| is_small(p, *v));
    if !any || total.is_none_or(|n| n > ELEMENTS) {
        return false;
    }
    let mut known: FxHashSet<Var> = FxHashSet::default();
    let mut statements = 0i64;
    body.for_each_stmt(&mut |s| {
        statements += 1;
        match &s.exp {
            Exp::Map { axes, .. } if small(axes.iter().map(|x| x.size), ELEMENTS).is_some() => {
                known.extend(axes.iter().map(|x| x.var));
            }
            Exp::Reduce { axis, .. } | Exp::For { axis, .. } if small([axis.size], TRIPS).is_some() => {
                known.insert(axis.var);
            }
            _ => {}
        }
    });
    let is_array = |a: Atom| a.as_var().is_some_and(|v| arrays.contains(&v) && !p.ty(v).is_scalar());
    let mut uses = body.results.iter().filter(|a| is_array(**a)).count();
    let mut all = 0;
    body.for_each_use(&mut |a| all += usize::from(is_array(a)));
    body.for_each_stmt(&mut |s| {
        if let Exp::Index { array, at } = &s.exp {
            let full = at.len() == p.ty(*array).rank();
            let is_known = at.iter().all(|a| a.as_var().is_none_or(|v| known.contains(&v)));
            uses += usize::from(is_array(Atom::Var(*array)) && full && is_known);
        }
    });
    let made = |(r, state): (&Atom, &Var)| {
        p.ty(*state).is_scalar()
            || is_array(*r)
            || body.stmts.iter().any(|s| {
                s.pat.iter().any(|v| Atom::Var(*v) == *r)
                    && match &s.exp {
                        Exp::Map { axes, .. } => small(axes.iter().map(|x| x.size), ELEMENTS).is_some(),
                        Exp::Literal { .. } => true,
                        _ => false,
                    }
            })
    };
    statements * ELEMENTS.min(total.unwrap_or(0)) <= STATEMENTS
        && uses == all
        && body.results.iter().zip(states).all(made)
}

/// For each array, a scalar for each element if the variable that it is for is split; else itself.
fn parts(
    p: &mut Program,
    arrays: &[Atom],
    of: &[Var],
    split: &FxHashSet<Var>,
    prov: Prov,
    stmts: &mut Vec<Stmt>,
) -> Vec<Atom> {
    let mut all = Vec::new();
    for (a, of) in arrays.iter().zip(of) {
        match a {
            Atom::Var(array) if split.contains(of) => {
                for at in indices(&p.ty(*of).dims.clone()) {
                    let e = scalar_like(p, *of, &[]);
                    stmts.push(Stmt { pat: vec![e], exp: Exp::Index { array: *array, at }, prov });
                    all.push(Atom::Var(e));
                }
            }
            _ => all.push(*a),
        }
    }
    all
}

fn scalar_like(p: &mut Program, v: Var, lead: &[Atom]) -> Var {
    let VarInfo { name, ty } = p.vars[v].clone();
    p.fresh(name.as_str(), Ty { base: ty.base, dims: lead.to_vec() })
}

/// The parameters with scalars for those that are split; the body, which makes literals of them first
/// and scalars of its results, of the types of the first parameters, last.
fn take_apart(
    p: &mut Program,
    body: &Body,
    params: &[Var],
    split: &FxHashSet<Var>,
    prov: Prov,
) -> (Vec<Var>, Body) {
    let mut new = Vec::new();
    let mut stmts = Vec::new();
    for v in params {
        if !split.contains(v) {
            new.push(*v);
            continue;
        }
        let dims = p.ty(*v).dims.clone();
        let scalars: Vec<Var> = indices(&dims).iter().map(|_| scalar_like(p, *v, &[])).collect();
        let elems = scalars.iter().map(|v| Atom::Var(*v)).collect();
        stmts.push(Stmt { pat: vec![*v], exp: Exp::Literal { dims, elems }, prov });
        new.extend(scalars);
    }
    stmts.extend(body.stmts.iter().cloned());
    let results = parts(p, &body.results, params, split, prov, &mut stmts);
    (new, Body { stmts, results })
}

/// The iteration on scalars, and the arrays that it bound, made of what it binds now. A scan's results
/// have an axis in front.
fn around(p: &mut Program, s: &Stmt, accs: &[Var], exp: Exp, mut stmts: Vec<Stmt>) -> Option<Vec<Stmt>> {
    let lead = usize::from(matches!(exp, Exp::Scan { .. }));
    let mut pat = Vec::new();
    let mut after = Vec::new();
    for (v, acc) in s.pat.iter().zip(accs) {
        if !is_small(p, *acc) {
            pat.push(*v);
            continue;
        }
        let lead: Vec<Atom> = p.ty(*v).dims.get(..lead)?.to_vec();
        let dims = p.ty(*acc).dims.clone();
        let scalars: Vec<Var> = indices(&dims).iter().map(|_| scalar_like(p, *v, &lead)).collect();
        let exp = match lead.as_slice() {
            [] => Exp::Literal { dims, elems: scalars.iter().map(|v| Atom::Var(*v)).collect() },
            axis => {
                let i = p.fresh("i", Ty::int());
                let mut body = Body::default();
                let mut elems = Vec::new();
                for array in &scalars {
                    let e = scalar_like(p, *acc, &[]);
                    let exp = Exp::Index { array: *array, at: vec![Atom::Var(i)] };
                    body.stmts.push(Stmt { pat: vec![e], exp, prov: s.prov });
                    elems.push(Atom::Var(e));
                }
                let cell = p.fresh("cell", Ty { base: p.ty(*acc).base, dims: dims.clone() });
                body.stmts.push(Stmt { pat: vec![cell], exp: Exp::Literal { dims, elems }, prov: s.prov });
                body.results.push(Atom::Var(cell));
                Exp::Map { axes: axis.iter().map(|n| Axis { var: i, size: *n }).collect(), body }
            }
        };
        after.push(Stmt { pat: vec![*v], exp, prov: s.prov });
        pat.extend(scalars);
    }
    stmts.push(Stmt { pat, exp, prov: s.prov });
    stmts.extend(after);
    Some(stmts)
}
