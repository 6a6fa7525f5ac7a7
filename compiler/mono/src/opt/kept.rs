//! Reductions and filters of what a filter keeps, without the filter.
//!
//! ```text
//! (let (%k %ys) (filter (%i %n) … (give %keep %x)))
//! (let (%s) (reduce %j %k (let (%y) (index %ys %j)) … (give %e) (λ … +) (0)))
//!
//! (let (%s) (reduce %i %n … (let (%r) (if %keep (… (give %e)) (give -0.0))) (give %r) (λ … +) (0)))
//! ```
//!
//! What is dropped counts as the operator's neutral element, which changes no result, so the order of what is kept
//! stays; a second filter does not keep it either. If the number of items kept is wanted besides, it is a sum of ones.
//! The array that the filter makes is gone then, and `siblings` makes one pass of all reductions. A second filter has
//! to be all that reads the first, since nothing would make one pass of it and others. Where anything else reads what
//! is kept, the filter stays, and so it does for a reduction whose operator has no neutral element and for what asks
//! for the places of the items among those kept; nor is a chain of filters taken into one of more than
//! [`cost::HEAVIEST`].

use super::fuse::cost;
use crate::ir::*;
use crate::walk::Copier;
use remc_base::ops::{ScalarOp, neutral, zero};
use remc_base::pass::PassInfo;
use remc_base::{BaseTy, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};

pub const PASS: PassInfo = PassInfo {
    name: "kept",
    from: "mono",
    to: "mono",
    summary: "reduces or filters what a filter keeps without making it",
};

/// Takes filters into the reductions and filters that read them.
pub fn kept(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    in_body(p, &mut body);
    p.body = body;
}

fn in_body(p: &mut Program, body: &mut Body) {
    for s in &mut body.stmts {
        for b in s.exp.bodies_mut() {
            in_body(p, b);
        }
    }
    if !body.stmts.iter().any(|s| matches!(s.exp, Exp::Filter { .. })) {
        return;
    }
    let mut mentions = Mentions::default();
    for (k, s) in body.stmts.iter().enumerate() {
        mentions.add(p, k, s);
    }
    for k in 0..body.stmts.len() {
        let s = &body.stmts[k];
        let Exp::Filter { axis, body: elements } = &s.exp else { continue };
        let Some(readers) = readers(p, body, k, &mentions) else { continue };
        let weight = cost::body_weight(p, elements);
        let heaviest = readers.of_items.iter().flat_map(|at| body.stmts[*at].exp.bodies());
        if heaviest.map(|b| weight + cost::body_weight(p, b)).any(|w| w > cost::HEAVIEST) {
            continue;
        }
        let (axis, elements, count) = (*axis, elements.clone(), s.pat[0]);
        let arrays = s.pat[1..].to_vec();
        for at in &readers.of_items {
            let s = &mut body.stmts[*at];
            let Some(dropped) = dropped(p, &s.exp) else { continue };
            let (over, reads) = match &mut s.exp {
                Exp::Reduce { axis, body, op } => {
                    op.start.get_or_insert_with(|| dropped.iter().map(|n| Atom::Const(*n)).collect());
                    (axis, body)
                }
                Exp::Filter { axis, body } => (axis, body),
                _ => continue,
            };
            *reads = masked(p, s.prov, (axis, &elements), (over.var, &arrays, reads), &dropped);
            *over = axis;
            // Each of them has an axis variable of its own.
            let copy = Copier::new(p).body(&Body { stmts: vec![s.clone()], results: Vec::new() });
            if let Some(Stmt { exp, .. }) = copy.stmts.into_iter().next() {
                s.exp = exp;
            }
            mentions.add(p, *at, &body.stmts[*at]);
        }
        let prov = body.stmts[k].prov;
        body.stmts[k] = match readers.counted {
            true => number(p, prov, count, axis, &elements),
            // Nobody reads it; `dce` drops it.
            false => Stmt { pat: vec![count], exp: Exp::Atom(Atom::int(0)), prov },
        };
        mentions.add(p, k, &body.stmts[k]);
    }
}

/// The statements of a body that mention a variable, or did before they were changed.
#[derive(Default)]
struct Mentions(FxHashMap<Var, Vec<usize>>);

impl Mentions {
    fn add(&mut self, p: &Program, k: usize, s: &Stmt) {
        let mut add = |a: Atom| {
            if let Atom::Var(v) = a {
                let of = self.0.entry(v).or_default();
                if of.last() != Some(&k) {
                    of.push(k);
                }
            }
        };
        s.exp.for_each_operand(&mut add);
        s.exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut add));
        let inner = s.exp.bodies().into_iter().flat_map(Body::binders);
        for v in s.pat.iter().copied().chain(s.exp.inner_binders()).chain(inner) {
            p.ty(v).dims.iter().for_each(|d| add(*d));
        }
    }

    /// Those behind `k` that mention any of the variables, in order.
    fn after<'v>(&self, k: usize, vars: impl IntoIterator<Item = &'v Var>) -> Vec<usize> {
        let of = vars.into_iter().filter_map(|v| self.0.get(v));
        let mut all: Vec<usize> = of.flatten().copied().filter(|at| *at > k).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// What reads a filter.
struct Readers {
    /// The statements that reduce or filter what is kept.
    of_items: Vec<usize>,
    /// Whether anything else asks for the number of items.
    counted: bool,
}

/// Those of the filter at `k`, if such statements alone read its arrays.
fn readers(p: &Program, body: &Body, k: usize, mentions: &Mentions) -> Option<Readers> {
    let (count, arrays) = body.stmts[k].pat.split_first()?;
    let arrays: FxHashSet<Var> = arrays.iter().copied().collect();
    let is_array = |a: Atom| a.as_var().is_some_and(|v| arrays.contains(&v));
    let is_count = |a: Atom| a == Atom::Var(*count);
    let mut found = Readers { of_items: Vec::new(), counted: body.results.iter().any(|a| is_count(*a)) };
    if body.results.iter().any(|a| is_array(*a)) {
        return None;
    }
    for at in mentions.after(k, &body.stmts[k].pat) {
        let s = &body.stmts[at];
        if reads_items(p, s, *count, &arrays) {
            found.of_items.push(at);
            continue;
        }
        let (mut reads, mut counts) = (false, false);
        let mut see = |a: Atom| {
            reads |= is_array(a);
            counts |= is_count(a);
        };
        s.exp.for_each_operand(&mut see);
        s.exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut see));
        let inner = s.exp.bodies().into_iter().flat_map(Body::binders);
        let sized = s.pat.iter().copied().chain(s.exp.inner_binders()).chain(inner);
        let sized = sized.into_iter().any(|v| p.ty(v).dims.iter().any(|d| is_count(*d)));
        if reads || sized {
            return None;
        }
        found.counted |= counts;
    }
    let filters = found.of_items.iter().any(|at| matches!(body.stmts[*at].exp, Exp::Filter { .. }));
    if filters && (found.of_items.len() > 1 || found.counted) {
        return None;
    }
    let unread = found.of_items.is_empty();
    (!unread || found.counted).then_some(found)
}

/// Whether a statement reduces or filters what is kept and needs nothing of it but the items.
fn reads_items(p: &Program, s: &Stmt, count: Var, arrays: &FxHashSet<Var>) -> bool {
    let (axis, body, start) = match &s.exp {
        Exp::Reduce { axis, body, op } => (axis, body, op.start.as_deref()),
        Exp::Filter { axis, body } => (axis, body, None),
        _ => return false,
    };
    if axis.size != Atom::Var(count) || dropped(p, &s.exp).is_none() {
        return false;
    }
    let mut fits = true;
    let mut others = |a: Atom| {
        fits &= a.as_var().is_none_or(|v| v != count && v != axis.var && !arrays.contains(&v));
    };
    start.into_iter().flatten().for_each(|a| others(*a));
    body.results.iter().for_each(|a| others(*a));
    for s in &body.stmts {
        match &s.exp {
            Exp::Index { array, at } if arrays.contains(array) => {
                fits &= at.first() == Some(&Atom::Var(axis.var));
                at.iter().skip(1).for_each(|a| fits &= *a != Atom::Var(axis.var));
                // A part of an item is not the item.
                fits &= at.len() == 1;
                continue;
            }
            _ => {}
        }
        let mut others = |a: Atom| {
            fits &= a.as_var().is_none_or(|v| v != count && v != axis.var && !arrays.contains(&v));
        };
        s.exp.for_each_operand(&mut others);
        s.exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut others));
    }
    fits && body.binders().iter().all(|v| !p.ty(*v).dims.contains(&Atom::Var(count)))
}

/// What an item that is dropped counts as, if there is such a thing: the neutral element of each component of a
/// reduction of scalars; of a filter, that it does not keep it, and whatever is not kept.
fn dropped(p: &Program, e: &Exp) -> Option<Vec<Scalar>> {
    match e {
        Exp::Reduce { op, .. } => {
            let ops = op.component_ops()?;
            let one = |(op, v): (ScalarOp, &Var)| {
                p.ty(*v).is_scalar().then(|| neutral(op, p.ty(*v).base)).flatten()
            };
            ops.into_iter().zip(&op.lambda.params).map(one).collect()
        }
        Exp::Filter { body, .. } => {
            let one = |a: &Atom| Some(p.atom_ty(*a)).filter(Ty::is_scalar).map(|t| zero(t.base));
            body.results.iter().map(one).collect()
        }
        _ => None,
    }
}

/// The elements of a reduction or filter over the filter's axis: those of `reads` where the item is kept.
fn masked(
    p: &mut Program,
    prov: remc_base::Prov,
    (axis, elements): (Axis, &Body),
    (index, arrays, reads): (Var, &[Var], &Body),
    dropped: &[Scalar],
) -> Body {
    let mut all = Copier::instance(p, elements, &[(axis.var, axis.var.into())]);
    let (keep, items) = (all.results[0], all.results[1..].to_vec());
    let mut then = reads.clone();
    for s in &mut then.stmts {
        if let Exp::Index { array, at } = &s.exp
            && at.as_slice() == [Atom::Var(index)]
            && let Some(k) = arrays.iter().position(|v| v == array)
        {
            s.exp = Exp::Atom(items[k]);
        }
    }
    let tys: Vec<Ty> = then.results.iter().map(|a| p.atom_ty(*a)).collect();
    let chosen: Vec<Var> = tys.into_iter().map(|ty| p.fresh("x", ty)).collect();
    all.results = chosen.iter().map(|v| Atom::Var(*v)).collect();
    if then.stmts.iter().all(|s| is_harmless(&s.exp)) {
        all.stmts.extend(then.stmts);
        for ((v, x), n) in chosen.iter().zip(then.results).zip(dropped) {
            let exp = Exp::Op(ScalarOp::Select, vec![keep, x, Atom::Const(*n)]);
            all.stmts.push(Stmt { pat: vec![*v], exp, prov });
        }
        return all;
    }
    let otherwise = Body { stmts: Vec::new(), results: dropped.iter().map(|n| Atom::Const(*n)).collect() };
    all.stmts.push(Stmt { pat: chosen, exp: Exp::If { cond: keep, then, otherwise }, prov });
    all
}

/// Whether an expression may run where its value is not wanted.
fn is_harmless(e: &Exp) -> bool {
    match e {
        Exp::Atom(_) => true,
        Exp::Op(op, _) => !op.info().can_fail,
        _ => false,
    }
}

/// The number of items that a filter keeps.
fn number(p: &mut Program, prov: remc_base::Prov, count: Var, axis: Axis, elements: &Body) -> Stmt {
    let mut body = elements.clone();
    let keep = body.results[0];
    let one = p.fresh("one", Ty::int());
    body.stmts.push(Stmt { pat: vec![one], exp: Exp::Cast(BaseTy::I64, keep), prov });
    body.results = vec![one.into()];
    let params = vec![p.fresh("acc", Ty::int()), p.fresh("x", Ty::int())];
    let sum = p.fresh("t", Ty::int());
    let exp = Exp::Op(ScalarOp::Add, params.iter().map(|v| Atom::Var(*v)).collect());
    let lambda = Lambda {
        params,
        body: Body { stmts: vec![Stmt { pat: vec![sum], exp, prov }], results: vec![sum.into()] },
    };
    let op = Combine { lambda, start: Some(vec![Atom::int(0)]), assoc: true, alone: false };
    Stmt { pat: vec![count], exp: Exp::Reduce { axis, body, op }, prov }
}
