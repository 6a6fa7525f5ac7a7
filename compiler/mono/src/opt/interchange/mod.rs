//! Reductions, scans and loops of arrays become reductions, scans and loops of scalars.
//!
//! The sum of the rows of a matrix combines arrays element by element: the operator's λ is a map. With the
//! iterations interchanged each element is a sum of its own, which needs no array for the state:
//!
//! ```text
//! (let (%s) (reduce %i %n (let (%r) (index %m %i)) (give %r)
//!             (λ (%a %b) (let (%c) (map ((%k %d)) (let (%x) (index %a %k)) (let (%y) (index %b %k))
//!                                     (let (%z) (op + %x %y)) (give %z))) (give %c))
//!             (%zeros)))
//!
//! (let (%s) (map ((%k %d))
//!             (let (%e) (index %zeros %k))
//!             (let (%t) (reduce %i %n (let (%r) (index %m %i)) (let (%q) (index %r %k)) (give %q)
//!                         (λ (%x %y) (let (%z) (op + %x %y)) (give %z)) (%e)))
//!             (give %t)))
//! ```
//!
//! So a product of matrices, which the program writes as a sum of outer products, becomes a map over rows
//! and columns of scalar products. What the body does besides making the elements is then done for each
//! of them, so it must be trivial.
//!
//! Arrays of few elements, known in number, become a scalar each instead, in one reduction ([`scalars`]):
//! what their elements share, such as the distance between two bodies, is then computed once.
//!
//! Checks go out of a map over a few places ([`apart`]).
//!
//! A scan gives its results in the other order, and a map puts them back: `(index %t %k %i)` for all `%i`
//! and `%k`. A loop whose next state is a map over the last state's elements, each for itself, becomes a
//! map of loops.

mod apart;
mod scalars;
#[cfg(test)]
mod tests;

use super::fuse::{cost, tidy};
use crate::ir::*;
use remc_base::Prov;
use remc_base::pass::PassInfo;
use rustc_hash::{FxHashMap, FxHashSet};

pub const PASS: PassInfo = PassInfo {
    name: "interchange",
    from: "mono",
    to: "mono",
    summary: "makes iterations over scalars of those over arrays, element by element",
};

/// Interchanges iterations with the maps in their operators.
pub fn interchange(p: &mut Program) {
    tidy::tidy(p);
    let body = std::mem::take(&mut p.body);
    let mut x = Interchange { p };
    let body = x.body(body);
    p.body = body;
    tidy::tidy(p);
}

struct Interchange<'p> {
    p: &'p mut Program,
}

impl Interchange<'_> {
    fn body(&mut self, body: Body) -> Body {
        let mut stmts = Vec::with_capacity(body.stmts.len());
        for mut s in body.stmts {
            for b in s.exp.bodies_mut() {
                *b = self.body(std::mem::take(b));
            }
            let made = apart::apart(self.p, &s);
            match made.or_else(|| scalars::split(self.p, &s)).or_else(|| swap(self.p, &s)) {
                Some(new) => {
                    stmts.extend(new);
                }
                None => stmts.push(s),
            }
        }
        Body { stmts, results: body.results }
    }
}

/// A map that makes each of its elements from the elements of `arrays` at the same place.
struct Elementwise<'a> {
    axes: &'a [Axis],
    stmts: &'a [Stmt],
    results: Vec<Atom>,
}

/// `body` as a map of this kind, if it is one. The arrays but for the first `states` may be of another size than the
/// map: they are read at each of its places only if the map does so.
fn elementwise<'a>(p: &Program, body: &'a Body, arrays: &[Var], states: usize) -> Option<Elementwise<'a>> {
    let [Stmt { pat, exp: Exp::Map { axes, body: inner }, .. }] = body.stmts.as_slice() else { return None };
    let place = |r: &Atom| pat.iter().position(|v| Atom::Var(*v) == *r);
    let results: Vec<Atom> =
        body.results.iter().map(|r| inner.results.get(place(r)?).copied()).collect::<Option<_>>()?;
    let scalars = results.iter().all(|a| p.atom_ty(*a).is_scalar());
    let of_rank = arrays.iter().all(|v| p.ty(*v).rank() == axes.len());
    let at: Vec<Atom> = axes.iter().map(|x| Atom::Var(x.var)).collect();
    if body.can_stop() || results.is_empty() || !scalars || !of_rank {
        return None;
    }
    // Each use of an array is a read at the place of the element.
    let mut uses = 0;
    inner.for_each_use(&mut |a| uses += usize::from(a.as_var().is_some_and(|v| arrays.contains(&v))));
    let mut reads = 0;
    inner.for_each_stmt(&mut |s| {
        if let Exp::Index { array, at: i } = &s.exp {
            reads += usize::from(arrays.contains(array) && *i == at);
        }
    });
    let is_read = |v: &Var| {
        let sizes = axes.iter().map(|x| x.size);
        let reads = |s: &Stmt| matches!(&s.exp, Exp::Index { array, at: i } if array == v && *i == at);
        p.ty(*v).dims.iter().copied().eq(sizes) || inner.stmts.iter().any(reads)
    };
    (uses == reads && arrays.iter().skip(states).all(is_read)).then_some(Elementwise {
        axes,
        stmts: &inner.stmts,
        results,
    })
}

impl Elementwise<'_> {
    /// The body of one element, the elements of the arrays being scalars now.
    fn body(&self, with: &FxHashMap<Var, Var>) -> Body {
        let mut body = Body { stmts: self.stmts.to_vec(), results: self.results.clone() };
        read_scalars(&mut body, with);
        body
    }
}

fn read_scalars(body: &mut Body, with: &FxHashMap<Var, Var>) {
    for s in &mut body.stmts {
        if let Exp::Index { array, .. } = &s.exp
            && let Some(scalar) = with.get(array)
        {
            s.exp = Exp::Atom(Atom::Var(*scalar));
        }
        for b in s.exp.bodies_mut() {
            read_scalars(b, with);
        }
    }
}

/// A scalar for each array: an element of it.
fn elements(p: &mut Program, arrays: &[Var]) -> FxHashMap<Var, Var> {
    arrays
        .iter()
        .map(|v| {
            let VarInfo { name, ty } = p.vars[*v].clone();
            (*v, p.fresh(name.as_str(), Ty::scalar(ty.base)))
        })
        .collect()
}

/// The statements that read the element at `at` of arrays, and the elements; scalars stay.
fn read_all(p: &mut Program, arrays: &[Atom], at: &[Atom], prov: Prov, stmts: &mut Vec<Stmt>) -> Vec<Atom> {
    let mut read = |a: Atom| match a {
        Atom::Var(array) if !p.ty(array).is_scalar() => {
            let VarInfo { name, ty } = p.vars[array].clone();
            let e = p.fresh(name.as_str(), Ty::scalar(ty.base));
            stmts.push(Stmt { pat: vec![e], exp: Exp::Index { array, at: at.to_vec() }, prov });
            Atom::Var(e)
        }
        _ => a,
    };
    arrays.iter().map(|a| read(*a)).collect()
}

/// The statement with the map of its operator around it.
fn swap(p: &mut Program, s: &Stmt) -> Option<Vec<Stmt>> {
    match &s.exp {
        Exp::Reduce { axis, body, op } => swap_reduce(p, s, None, *axis, body, op),
        Exp::Scan { kind, axis, body, op } => swap_reduce(p, s, Some(*kind), *axis, body, op),
        Exp::For { axis, state, body } => swap_loop(p, s, *axis, state, body),
        _ => None,
    }
}

/// The map around, its sizes being those that the results have where they are bound.
fn map_around(
    p: &mut Program,
    s: &Stmt,
    axes: &[Axis],
    lead: &[Atom],
    inner: impl FnOnce(Vec<Var>) -> Exp,
    mut before: Vec<Stmt>,
) -> Option<(Exp, Vec<Axis>)> {
    let first = p.ty(*s.pat.first()?).dims.get(lead.len()..)?.to_vec();
    if first.len() != axes.len() {
        return None;
    }
    let axes: Vec<Axis> = axes.iter().zip(first).map(|(x, size)| Axis { var: x.var, size }).collect();
    let pat: Vec<Var> = s
        .pat
        .iter()
        .map(|v| {
            let VarInfo { name, ty } = p.vars[*v].clone();
            p.fresh(name.as_str(), Ty { base: ty.base, dims: lead.to_vec() })
        })
        .collect();
    let results = pat.iter().map(|v| Atom::Var(*v)).collect();
    before.push(Stmt { pat: pat.clone(), exp: inner(pat), prov: s.prov });
    Some((Exp::Map { axes: axes.clone(), body: Body { stmts: before, results } }, axes))
}

fn swap_reduce(
    p: &mut Program,
    s: &Stmt,
    scan: Option<ScanKind>,
    axis: Axis,
    body: &Body,
    op: &Combine,
) -> Option<Vec<Stmt>> {
    let accs = op.lambda.body.results.len();
    let (acc_vars, elem_vars) = op.lambda.params.split_at_checked(accs)?;
    let arrays: Vec<Var> = op.lambda.params.iter().copied().filter(|v| !p.ty(*v).is_scalar()).collect();
    if acc_vars.iter().any(|v| !arrays.contains(v))
        || elem_vars.len() != body.results.len()
        || body.can_stop()
    {
        return None;
    }
    let e = elementwise(p, &op.lambda.body, &arrays, accs)?;
    if !remainder(p, body, e.axes.len()).is_trivial() {
        return None;
    }
    let lead: Vec<Atom> = match scan {
        None => Vec::new(),
        Some(_) => p.ty(*s.pat.first()?).dims.first().copied().into_iter().collect(),
    };
    if p.ty(*s.pat.first()?).rank() != lead.len() + e.axes.len() {
        return None;
    }
    let at: Vec<Atom> = e.axes.iter().map(|x| Atom::Var(x.var)).collect();
    let with = elements(p, &arrays);
    let mut before = Vec::new();
    let start = op.start.as_ref().map(|start| read_all(p, start, &at, s.prov, &mut before));
    let mut inner = body.clone();
    inner.results = read_all(p, &body.results, &at, s.prov, &mut inner.stmts);
    let params = op.lambda.params.iter().map(|v| with.get(v).copied().unwrap_or(*v)).collect();
    let lambda = Lambda { params, body: e.body(&with) };
    let op = Combine { lambda, start, assoc: op.assoc, alone: op.alone };
    let make = |_| match scan {
        None => Exp::Reduce { axis, body: inner, op },
        Some(kind) => Exp::Scan { kind, axis, body: inner, op },
    };
    let (exp, axes) = map_around(p, s, e.axes, &lead, make, before)?;
    let Some(n) = lead.first().copied() else {
        return Some(vec![Stmt { pat: s.pat.clone(), exp, prov: s.prov }]);
    };
    // The scanned axis is the last now, and is put in front again.
    let turned: Vec<Var> = s
        .pat
        .iter()
        .map(|v| {
            let VarInfo { name, ty } = p.vars[*v].clone();
            let dims = axes.iter().map(|x| x.size).chain([n]).collect();
            p.fresh(name.as_str(), Ty { base: ty.base, dims })
        })
        .collect();
    let first = Axis { var: p.fresh("i", Ty::int()), size: n };
    let rest: Vec<Axis> = axes.iter().map(|x| Axis { var: p.fresh("j", Ty::int()), size: x.size }).collect();
    let at: Vec<Atom> = rest.iter().chain([&first]).map(|x| Atom::Var(x.var)).collect();
    let mut back = Body::default();
    let arrays: Vec<Atom> = turned.iter().map(|v| Atom::Var(*v)).collect();
    back.results = read_all(p, &arrays, &at, s.prov, &mut back.stmts);
    let axes = [first].into_iter().chain(rest).collect();
    Some(vec![
        Stmt { pat: turned, exp, prov: s.prov },
        Stmt { pat: s.pat.clone(), exp: Exp::Map { axes, body: back }, prov: s.prov },
    ])
}

/// What a body costs besides the maps over `rank` axes that make its results: the statements that would
/// be evaluated for each element.
fn remainder(p: &Program, body: &Body, rank: usize) -> cost::Cost {
    let results: FxHashSet<Var> = body.results.iter().filter_map(|a| a.as_var()).collect();
    let makes = |s: &Stmt| {
        matches!(&s.exp, Exp::Map { axes, .. } if axes.len() == rank)
            && s.pat.iter().all(|v| results.contains(v))
            && is_only_given(body, &s.pat)
    };
    cost::stmts(p, body, |s| !makes(s))
}

/// Whether the variables are used as results of the body alone.
fn is_only_given(body: &Body, vars: &[Var]) -> bool {
    let mut uses = 0usize;
    body.for_each_use(&mut |a| uses += usize::from(a.as_var().is_some_and(|v| vars.contains(&v))));
    let given = body.results.iter().filter(|a| a.as_var().is_some_and(|v| vars.contains(&v)));
    uses == given.count()
}

fn swap_loop(p: &mut Program, s: &Stmt, axis: Axis, state: &[(Var, Atom)], body: &Body) -> Option<Vec<Stmt>> {
    let arrays: Vec<Var> = state.iter().map(|x| x.0).collect();
    let e = elementwise(p, body, &arrays, arrays.len())?;
    if p.ty(*s.pat.first()?).rank() != e.axes.len() {
        return None;
    }
    let at: Vec<Atom> = e.axes.iter().map(|x| Atom::Var(x.var)).collect();
    let with = elements(p, &arrays);
    let mut before = Vec::new();
    let starts: Vec<Atom> = state.iter().map(|x| x.1).collect();
    let starts = read_all(p, &starts, &at, s.prov, &mut before);
    let vars = arrays.iter().map(|v| with.get(v).copied().unwrap_or(*v));
    let state = vars.zip(starts).collect();
    let inner = Exp::For { axis, state, body: e.body(&with) };
    let (exp, _) = map_around(p, s, e.axes, &[], |_| inner, before)?;
    Some(vec![Stmt { pat: s.pat.clone(), exp, prov: s.prov }])
}
