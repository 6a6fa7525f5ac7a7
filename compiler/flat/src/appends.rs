//! Where the parts of an `append` are made: in the result itself, where nothing else reads them.
//!
//! ```text
//! (let a (seg-map …))                         (let t (host (op + n m)))      the size first,
//! (let b (seg-map …))                         ⟨c of t rows⟩                   then the memory
//! (let t (host (op + n m)))            ⇒      (let a (seg-map …))            rows 0 … of c
//! (let c (host (view (append b) a)))          (let b (seg-map …))            rows n … of c
//! ```
//!
//! It is what an expert does by hand: the rows are never copied, and there is no second array. Flat has no
//! memory yet, so this only says which arrays have such a [`Home`]; lowering gives them the memory, and the
//! cost model leaves out the copies. The idea is that of short-circuiting in Futhark's memory (Munksgaard et
//! al., Memory optimizations in an array language, SC 2022), for the one operator whose result is its
//! operands.
//!
//! A part has a home
//!
//! - if the append is its only reader, and stands in the same body: so no one asks for the part by itself;
//! - if a statement makes it that writes where it is told: a parallel operator, a filter, a copy of a view, a
//!   literal, or another `append`, whose parts then go where the last one of all has them;
//! - if the size of the whole can be known before: it is a sum and product of sizes that are. A filter's own
//!   size is known before its result is written;
//! - if nothing that may stop the program lies between, which could be what makes sure that the sizes are
//!   any. The sizes of cells are constants or the inputs' own for that reason.

use crate::ir::*;
use remc_base::ops::ScalarOp;
use remc_base::{IdVec, Prov};
use remc_mono::ir as mono;
use rustc_hash::{FxHashMap, FxHashSet};

/// Where an array is made that an append reads.
#[derive(Clone, PartialEq, Debug)]
pub struct Home {
    /// The result of the append. It may have a home, too.
    pub whole: Var,
    /// The row of it that is the array's first.
    pub first: Atom,
}

/// What is made in one piece of memory: the result of an append without a home.
#[derive(Clone, PartialEq, Debug)]
pub struct Room {
    pub prov: Prov,
    /// Where there are more than two arrays one after the other, how many rows each may have. The sum of two sizes
    /// is no size where it is past 63 bits; one of more could come out as a size again, but less than one of them.
    pub rows: Vec<Atom>,
    /// What computes the sizes: some of it may stand behind the first of the arrays that is made.
    pub sizes: Vec<Stmt>,
}

/// The homes of a body's arrays.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Homes {
    pub homes: FxHashMap<Var, Home>,
    /// By the result of an append that has no home, if there is an array with one in it.
    pub rooms: FxHashMap<Var, Room>,
}

/// The homes of a body's arrays; `is_size` says which variables are sizes of the program's inputs.
pub fn homes(body: &Body, vars: &IdVec<Var, VarInfo>, is_size: &dyn Fn(Var) -> bool) -> Homes {
    let mut found = Homes::default();
    if !body.stmts.iter().any(|s| appended(&s.exp).is_some()) {
        return found;
    }
    let b = Facts::of(body, vars);
    // The result of the outermost append around, and since when there can be memory for it; the outer come first.
    let mut around: FxHashMap<Var, (Var, usize)> = FxHashMap::default();
    for (k, s) in body.stmts.iter().enumerate().rev() {
        let (Some((array, with)), [whole]) = (appended(&s.exp), s.pat.as_slice()) else { continue };
        let Some((_, cell)) = b.dims(*whole).split_first() else { continue };
        if !cell.iter().all(|d| d.as_var().is_none_or(is_size)) {
            continue;
        }
        let outer = found.homes.get(whole).and_then(|h| around.get(&h.whole)).copied();
        let (root, since) = outer.unwrap_or_else(|| (*whole, b.since(k)));
        around.insert(*whole, (root, since));
        let second = b.dims(array).first().copied().unwrap_or(Atom::int(0));
        for (part, first) in [(array, Atom::int(0)), (with, second)] {
            let here = b.made.get(&part).is_some_and(|at| *at >= since && is_told(&body.stmts[*at].exp));
            if here && b.uses.get(&part) == Some(&1) && b.dims(part).get(1..) == Some(cell) {
                found.homes.insert(part, Home { whole: *whole, first });
                found.rooms.entry(root).or_insert_with(|| b.room(k));
            }
        }
    }
    found
}

/// The two arrays of an append.
fn appended(e: &Exp) -> Option<(Var, Var)> {
    match e {
        Exp::Host(mono::Exp::View { view: View::Append { with }, array }) => Some((*array, *with)),
        _ => None,
    }
}

/// Whether the statement's arrays can be written anywhere.
fn is_told(e: &Exp) -> bool {
    match e {
        Exp::Host(mono::Exp::View { view, .. }) => !matches!(view, View::Reshape { .. }),
        Exp::Host(mono::Exp::Literal { .. }) | Exp::Seg(_) | Exp::Filters(_) => true,
        _ => false,
    }
}

/// Whether the host may stop in a statement, or where a single thread does its work.
fn may_stop(e: &Exp) -> bool {
    let here = match e {
        Exp::Host(h) => h.can_stop(),
        Exp::Seg(seg) => seg.space.is_empty() && seg.body.can_stop(),
        _ => false,
    };
    here || e.bodies().into_iter().any(|b| b.stmts.iter().any(|s| may_stop(&s.exp)))
}

/// What a size may be computed with before its turn: it has a value for all operands.
fn is_sum(e: &Exp) -> Option<&[Atom]> {
    use ScalarOp::{Add, Max2, Min2, Mul, Sub};
    match e {
        Exp::Host(mono::Exp::Op(Add | Sub | Mul | Max2 | Min2, args)) => Some(args),
        _ => None,
    }
}

struct Facts<'a> {
    body: &'a Body,
    vars: &'a IdVec<Var, VarInfo>,
    /// The statement that binds a variable.
    made: FxHashMap<Var, usize>,
    /// How often a variable is mentioned.
    uses: FxHashMap<Var, usize>,
    /// The first statement in which a variable can be known.
    known: FxHashMap<Var, usize>,
    /// For each statement the first one since which nothing can stop.
    calm: Vec<usize>,
}

impl<'a> Facts<'a> {
    fn of(body: &'a Body, vars: &'a IdVec<Var, VarInfo>) -> Facts<'a> {
        let mut uses = FxHashMap::default();
        body.for_each_use(&mut |a| {
            if let Atom::Var(v) = a {
                *uses.entry(v).or_default() += 1;
            }
        });
        let (mut made, mut known) = (FxHashMap::default(), FxHashMap::default());
        let (mut calm, mut since) = (Vec::with_capacity(body.stmts.len()), 0);
        for (k, s) in body.stmts.iter().enumerate() {
            let from = match (is_sum(&s.exp), &s.exp) {
                (Some(args), _) => args.iter().map(|a| since_when(&known, *a)).max().unwrap_or(0),
                // How many are kept is known before they are written.
                (None, Exp::Filters(_)) => k,
                (None, _) => k + 1,
            };
            calm.push(since);
            since = if may_stop(&s.exp) { k + 1 } else { since };
            made.extend(s.pat.iter().map(|v| (*v, k)));
            known.extend(s.pat.iter().map(|v| (*v, from)));
        }
        Facts { body, vars, made, uses, known, calm }
    }

    fn dims(&self, v: Var) -> &'a [Atom] {
        &self.vars[v].ty.dims
    }

    /// The arrays that the append in statement `k` has one after the other, and the results of the appends
    /// in it that nothing else reads.
    fn parts(&self, k: usize) -> (Vec<Var>, Vec<Var>) {
        let (mut parts, mut wholes, mut open) = (Vec::new(), self.body.stmts[k].pat.clone(), vec![k]);
        while let Some(k) = open.pop() {
            let Some((array, with)) = appended(&self.body.stmts[k].exp) else { continue };
            for part in [array, with] {
                let inner = self.made.get(&part).filter(|at| appended(&self.body.stmts[**at].exp).is_some());
                match inner {
                    Some(at) if self.uses.get(&part) == Some(&1) => {
                        wholes.push(part);
                        open.push(*at);
                    }
                    _ => parts.push(part),
                }
            }
        }
        (parts, wholes)
    }

    /// The sizes that the memory of the append in statement `k` is laid out by.
    fn layout(&self, k: usize) -> impl Iterator<Item = Atom> + '_ {
        let (parts, wholes) = self.parts(k);
        parts.into_iter().chain(wholes).filter_map(|v| self.dims(v).first().copied())
    }

    /// The first statement that can write to the result of the append in statement `k`.
    fn since(&self, k: usize) -> usize {
        let known = self.layout(k).map(|a| since_when(&self.known, a)).max();
        known.unwrap_or(0).max(self.calm[k])
    }

    fn room(&self, k: usize) -> Room {
        let (parts, _) = self.parts(k);
        let mut rows: Vec<Atom> = Vec::new();
        for n in parts.iter().filter(|_| parts.len() > 2).filter_map(|v| self.dims(*v).first()) {
            if !rows.contains(n) {
                rows.push(*n);
            }
        }
        let mut wanted: FxHashSet<Var> = self.layout(k).filter_map(Atom::as_var).collect();
        let mut sizes = Vec::new();
        for s in self.body.stmts[..k].iter().rev() {
            if let Some(args) = is_sum(&s.exp)
                && s.pat.iter().any(|v| wanted.contains(v))
            {
                wanted.extend(args.iter().filter_map(|a| a.as_var()));
                sizes.push(s.clone());
            }
        }
        sizes.reverse();
        Room { prov: self.body.stmts[k].prov, rows, sizes }
    }
}

fn since_when(known: &FxHashMap<Var, usize>, a: Atom) -> usize {
    a.as_var().and_then(|v| known.get(&v).copied()).unwrap_or(0)
}
