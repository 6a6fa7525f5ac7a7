//! How a map could be taken apart: what becomes of each statement of its body, and what that gains.
//!
//! A statement is an operator over the map's space, a loop that changes places with the map, what each point does
//! serially, or so cheap that each reader does it again. The iterations of a loop are asked the same question, so what
//! there is to gain is known through all loops.

use super::loops::{Loop, as_loop};
use super::{Flattener, Threshold, is_small, loops, shared};
use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_mono::ir as mono;
use rustc_hash::{FxHashMap, FxHashSet};

/// So many operators and reads may each reader do again.
const RECOMPUTED: usize = 8;

/// What becomes of a statement of the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// Each reader does it again.
    Cheap,
    /// Done serially at each point, together with its neighbours.
    Point,
    /// An operator of its own, over the space and its axes.
    Parallel,
    /// A loop of the host, around the map of what it does at each point.
    Loop,
}

impl Kind {
    /// Whether the statement becomes statements of its own, apart from its neighbours.
    pub fn is_apart(self) -> bool {
        matches!(self, Kind::Parallel | Kind::Loop)
    }
}

/// How a map is distributed.
pub(super) struct Split {
    pub kinds: Vec<Kind>,
    /// The sizes that the host computes, in order.
    pub hoisted: Vec<Var>,
    /// Nothing is stored: the map and the one inside it become one.
    pub merges: bool,
    /// A loop changes places with the map.
    pub loops: bool,
    /// The sizes of the piece that has the most axes of its own, in an iteration of such a loop if there is one.
    pub widest: Vec<Atom>,
    /// Points side by side read elements side by side, rows of them: a thread has many.
    pub columns: bool,
    /// The sizes, known outside, of the largest of the products of what all points share (`shared`), if there is one.
    pub product: Option<Vec<Atom>>,
}

impl Split {
    /// What is compared with sizes, to choose between the map as it is and its pieces.
    pub fn threshold(&self) -> Threshold {
        match self.product {
            Some(_) => Threshold::ParStored,
            None if self.loops => Threshold::ParLoop,
            None => Threshold::ParOuter,
        }
    }

    /// The sizes that count for that, of a space of these `sizes`.
    pub fn counted(&self, sizes: &[Atom]) -> Vec<Atom> {
        sizes.iter().chain(self.product.iter().flatten()).copied().collect()
    }
}

/// How the map of these axes can be distributed, if that gains anything: more to do in parallel, or, where
/// `must`, any pieces that are not the whole.
pub(super) fn split(f: &Flattener, axes: &[Axis], body: &mono::Body, must: bool) -> Option<Split> {
    let mut inside: FxHashSet<Var> = body.binders().into_iter().collect();
    inside.extend(axes.iter().map(|a| a.var));
    let outside = |a: &Atom| a.as_var().is_none_or(|v| !inside.contains(&v));
    let mut costs: FxHashMap<Var, usize> = FxHashMap::default();
    let mut sizes: FxHashSet<Var> = FxHashSet::default();
    let mut kinds = Vec::new();
    let (mut widest, mut in_loops) = (Vec::new(), Vec::new());
    let mut product: Option<Vec<Atom>> = None;
    for (k, s) in body.stmts.iter().enumerate() {
        let is_size = |a: &Atom| outside(a) || a.as_var().is_some_and(|v| sizes.contains(&v));
        if let (mono::Exp::Op(_, args), [v]) = (&s.exp, s.pat.as_slice())
            && args.iter().all(is_size)
        {
            sizes.insert(*v);
        }
        let is_size = |a: &Atom| outside(a) || a.as_var().is_some_and(|v| sizes.contains(&v));
        let storable = s.pat.iter().all(|v| f.p.ty(*v).dims.iter().all(is_size));
        let cost = recomputing(s, &costs);
        let looped = || widest_of_loop(f, axes, &body.stmts[..k], s, &is_size, must);
        let kind = match cost {
            Some(cost) if cost <= RECOMPUTED || !storable => {
                costs.extend(s.pat.iter().map(|v| (*v, cost)));
                Kind::Cheap
            }
            _ if storable && is_parallel(f, s, &outside, &is_size, must) => {
                wider(&mut widest, sizes_of(&s.exp));
                if let Some(sizes) = shared::product(s, &outside) {
                    wider(product.get_or_insert_default(), sizes.into_iter().filter(outside).collect());
                }
                Kind::Parallel
            }
            _ => match looped().filter(|_| storable) {
                Some(sizes) => {
                    wider(&mut in_loops, sizes);
                    Kind::Loop
                }
                None => Kind::Point,
            },
        };
        kinds.push(kind);
    }
    if !kinds.iter().any(|k| k.is_apart()) {
        return None;
    }
    // What stays serial is legal, and what another piece reads has a size to be stored with.
    let of = |kind: Kind| body.stmts.iter().zip(&kinds).filter(move |(_, k)| **k == kind).map(|(s, _)| s);
    let serial = body.stmts.iter().zip(&kinds).filter(|(_, k)| !k.is_apart());
    let apart = body.stmts.iter().zip(&kinds).filter(|(_, k)| k.is_apart()).map(|(s, _)| s);
    let serial = mono::Body { stmts: serial.map(|(s, _)| s.clone()).collect(), results: Vec::new() };
    let binders: Vec<Var> = axes.iter().map(|a| a.var).chain(apart.flat_map(|s| s.pat.clone())).collect();
    if !f.is_leaf(&binders, &[&serial]) {
        return None;
    }
    let is_size = |a: &Atom| outside(a) || a.as_var().is_some_and(|v| sizes.contains(&v));
    let unstorable = of(Kind::Point).flat_map(|s| &s.pat).any(|v| !f.p.ty(*v).dims.iter().all(is_size));
    if unstorable {
        return None;
    }
    let merges = !kinds.iter().any(|k| matches!(k, Kind::Point | Kind::Loop))
        && of(Kind::Parallel).count() == 1
        && of(Kind::Parallel).all(|s| matches!(s.exp, mono::Exp::Map { .. }) && same(&s.pat, &body.results));
    let hoisted = hoisted(f, body, &kinds, &sizes);
    let loops = kinds.contains(&Kind::Loop);
    let widest = if loops { in_loops } else { widest };
    // What rows of points read in common several of them read at once.
    let columns = axes.len() == 1 && are_columns(axes[0], of(Kind::Parallel));
    Some(Split { kinds, hoisted, merges, loops, widest, columns, product })
}

/// Whether what these statements reduce is, at the points of an axis, side by side: some of it, and nothing across rows.
fn are_columns<'s>(last: Axis, stmts: impl Iterator<Item = &'s mono::Stmt>) -> bool {
    let (mut along, mut across) = (false, false);
    for s in stmts {
        // A scan that is taken apart goes through memory twice.
        if !matches!(s.exp, mono::Exp::Reduce { .. }) {
            return false;
        }
        s.exp.bodies().into_iter().for_each(|b| {
            b.for_each_stmt(&mut |s| {
                let mono::Exp::Index { at, .. } = &s.exp else { return };
                let [outer @ .., inner] = at.as_slice() else { return };
                along |= *inner == last.var.into();
                across |= outer.contains(&last.var.into());
            });
        });
    }
    along && !across
}

/// Of the statement, in the body of a map over `axes` after the statements `before`, the sizes of the widest piece of
/// an iteration; `None` if it is no loop whose iterations can be distributed.
fn widest_of_loop(
    f: &Flattener,
    axes: &[Axis],
    before: &[mono::Stmt],
    s: &mono::Stmt,
    is_size: &impl Fn(&Atom) -> bool,
    must: bool,
) -> Option<Vec<Atom>> {
    let Loop { axis, state, body } = as_loop(s)?;
    let sized = |v: &Var| f.p.ty(*v).dims.iter().all(is_size);
    if !f.is_wide(&body) || !is_size(&axis.size) || !state.iter().all(|(v, _)| sized(v)) {
        return None;
    }
    // What differs from point to point is bound inside the map, by what does not matter here.
    let inside = before.iter().flat_map(|s| &s.pat).filter(|v| !is_size(&Atom::Var(**v)));
    let inside = inside.chain(state.iter().map(|(v, _)| v));
    let mut stmts: Vec<mono::Stmt> = inside.map(|v| loops::same(*v, Atom::int(0), s.prov)).collect();
    stmts.extend(body.stmts);
    Some(split(f, axes, &mono::Body { stmts, results: body.results }, must)?.widest)
}

/// The sizes of an operator's own axes.
fn sizes_of(e: &mono::Exp) -> Vec<Atom> {
    match e {
        mono::Exp::Map { axes, .. } => axes.iter().map(|a| a.size).collect(),
        mono::Exp::Reduce { axis, .. } | mono::Exp::Scan { axis, .. } => vec![axis.size],
        _ => Vec::new(),
    }
}

fn wider(widest: &mut Vec<Atom>, other: Vec<Atom>) {
    if other.len() > widest.len() {
        *widest = other;
    }
}

/// Whether a body gives just these variables.
fn same(pat: &[Var], results: &[Atom]) -> bool {
    pat.len() == results.len() && pat.iter().zip(results).all(|(v, a)| *a == Atom::Var(*v))
}

/// The number of operators that making these values again takes, where that is all there is to it.
fn recomputing(s: &mono::Stmt, costs: &FxHashMap<Var, usize>) -> Option<usize> {
    use ScalarOp as O;
    let own = match &s.exp {
        mono::Exp::Atom(_) => 0,
        mono::Exp::Cast(..) | mono::Exp::Index { .. } => 1,
        mono::Exp::Op(op, _) => match op {
            O::Expt
            | O::Exp
            | O::Log
            | O::Log2
            | O::Sin
            | O::Cos
            | O::Tan
            | O::Asin
            | O::Acos
            | O::Atan
            | O::Atan2
            | O::Sinh
            | O::Cosh
            | O::Tanh
            | O::Erf
            | O::Gcd => return None,
            _ => 1,
        },
        _ => return None,
    };
    let mut cost = own;
    s.exp.for_each_operand(&mut |a| cost += a.as_var().and_then(|v| costs.get(&v)).copied().unwrap_or(0));
    Some(cost)
}

/// Whether the statement may become an operator over the space and its own axes, and should.
fn is_parallel(
    f: &Flattener,
    s: &mono::Stmt,
    outside: &impl Fn(&Atom) -> bool,
    is_size: &impl Fn(&Atom) -> bool,
    must: bool,
) -> bool {
    match &s.exp {
        mono::Exp::Map { axes, body } => {
            let sizes: Vec<Atom> = axes.iter().map(|a| a.size).collect();
            let worth = !is_small(&sizes) || f.is_wide(body);
            let legal = f.is_leaf(&axes.iter().map(|a| a.var).collect::<Vec<_>>(), &[body]);
            sizes.iter().all(is_size) && (worth || must && !legal)
        }
        mono::Exp::Reduce { axis, body, op } | mono::Exp::Scan { axis, body, op, .. } => {
            let lambda = &op.lambda;
            let own: FxHashSet<Var> = lambda.params.iter().copied().collect();
            let free = lambda.body.free_vars();
            op.assoc
                && !op.alone
                && !is_small(&[axis.size])
                && is_size(&axis.size)
                && op.start.iter().flatten().all(outside)
                && free.iter().all(|v| own.contains(v) || outside(&Atom::Var(*v)))
                && lambda.params.iter().all(|v| f.p.ty(*v).is_scalar())
                && f.is_leaf(&lambda.params, &[&lambda.body])
                && f.is_leaf(&[axis.var], &[body])
                && makes_sizes_of(f, body, is_size)
        }
        _ => false,
    }
}

/// Whether the arrays that a body makes are of sizes bound in it, or of such that `is_size` holds of: what it makes for
/// each item has its memory from outside of the space as well.
fn makes_sizes_of(f: &Flattener, body: &mono::Body, is_size: &impl Fn(&Atom) -> bool) -> bool {
    let own: FxHashSet<Var> = body.binders().into_iter().collect();
    let mut known = true;
    body.for_each_stmt(&mut |s| {
        let mut dims = s.pat.iter().filter(|_| s.exp.makes_arrays()).flat_map(|v| &f.p.ty(*v).dims);
        known &= dims.all(|d| d.as_var().is_some_and(|v| own.contains(&v)) || is_size(d));
    });
    known
}

/// Those of the sizes that pieces need to be known outside, and what they are made of.
fn hoisted(f: &Flattener, body: &mono::Body, kinds: &[Kind], sizes: &FxHashSet<Var>) -> Vec<Var> {
    let mut wanted: FxHashSet<Var> = FxHashSet::default();
    let mut want = |a: Atom| wanted.extend(a.as_var().filter(|v| sizes.contains(v)));
    for (s, kind) in body.stmts.iter().zip(kinds) {
        if *kind != Kind::Cheap {
            s.pat.iter().flat_map(|v| &f.p.ty(*v).dims).for_each(|d| want(*d));
        }
        match &s.exp {
            mono::Exp::Map { axes, .. } => axes.iter().for_each(|a| want(a.size)),
            mono::Exp::Reduce { axis, .. } | mono::Exp::Scan { axis, .. } => want(axis.size),
            mono::Exp::For { axis, .. } => want(axis.size),
            _ => {}
        }
    }
    let mut found = Vec::new();
    for s in body.stmts.iter().rev() {
        if let [v] = s.pat.as_slice()
            && wanted.contains(v)
        {
            found.push(*v);
            s.exp.for_each_operand(&mut |a| wanted.extend(a.as_var().filter(|v| sizes.contains(v))));
        }
    }
    found.reverse();
    found
}
