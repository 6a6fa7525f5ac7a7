//! An index of a view is an index of the array that it arranges.
//!
//! ```text
//! (let (%t) (view (permute (1 0)) %xss))
//! (let (%r) (map ((%i %m) (%j %n))                 (let (%r) (map ((%i %m) (%j %n))
//!   (let (%x) (index %t %i %j)) …                    (let (%x) (index %xss %j %i)) …
//!
//! (let (%v) (view (rotate (%k)) %xs))              (let (%k1) (op % %k %n))
//! … (let (%x) (index %v %i))                       … (let (%a) (op + %i %k1)) (let (%w) (op >= %a %n))
//!                                                    (let (%b) (op - %a %n)) (let (%c) (op select %w %b %a))
//!                                                    (let (%x) (index %xs %c))
//! ```
//!
//! Views are index functions, and an index of a view of a view is the composition of both; nothing is
//! copied. A view whose elements nobody needs one by one (a result, the array that a scatter writes into)
//! stays, and is copied when the program runs; views of views are composed there too.
//!
//! Divisions are avoided where they can be. What a reshape leaves alone, common dims in front and behind,
//! takes no part in its arithmetic. A reshape goes through the `map` that computes its array ([`through`]), and
//! where a division would remain, the array stays reshaped unless it
//! is computed by a `map` that fusion may bring here: in memory both are the same; a rotation is brought into its range once and then subtracts where it
//! wraps round; an axis of size 1 has the index 0. An element of `append` is an `if`, since only one of
//! the two indices is in bounds. Appends of appends are a tree of them, which doubles where an array is appended to
//! itself: one of more than [`MOST_PARTS`] arrays stays, and is read where it is in memory.
//!
//! A result, or the next state of a loop, that is put together of arrays of one shape is made by a map ([`stacks`]).
//!
//! A cell of a view (fewer indices than axes) is a cell of the array where cells stay whole, else a `map`
//! over the rest of the axes.

mod stacks;
mod through;

use super::facts::{Facts, Mark};
use super::hoist::is_cheap;
use crate::ir::*;
use remc_base::ids::Id;
use remc_base::ops::ScalarOp;
use remc_base::pass::PassInfo;
use remc_base::{BaseTy, Prov};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use through::Made;

pub const PASS: PassInfo = PassInfo {
    name: "views",
    from: "mono",
    to: "mono",
    summary: "turns indices of views into arithmetic on indices",
};

/// An element of an append of at most so many arrays, counted as often as they stand in it, is found by a tree of
/// branches.
const MOST_PARTS: usize = 16;

pub fn views(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    let facts = Facts::new(p);
    let mut uses = vec![0usize; p.vars.len()];
    body.for_each_use(&mut |a| {
        if let Atom::Var(v) = a
            && let Some(n) = uses.get_mut(v.index())
        {
            *n += 1;
        }
    });
    let mut reshaped = FxHashSet::default();
    body.for_each_stmt(&mut |s| {
        if let Exp::View { view: View::Reshape { .. }, array } = &s.exp {
            reshaped.insert(*array);
        }
    });
    let (views, parts, computed, made, cells) = Default::default();
    let streams = crate::stream::streams(p);
    let mut v = Views { p, facts, views, parts, computed, reshaped, made, cells, uses, depth: 0, streams };
    v.body(&mut body);
    if !streams {
        stacks::made(v.p, &mut body);
    }
    v.results_by_element(&mut body);
    p.body = body;
}

struct Views<'p> {
    p: &'p mut Program,
    facts: Facts,
    /// The views in scope: what they are of, and which.
    views: FxHashMap<Var, Rc<(View, Var)>>,
    /// How many arrays a view has one after the other, if more than one.
    parts: FxHashMap<Var, usize>,
    /// The arrays whose elements need not be in memory: views, and results of maps that fusion may bring
    /// to their one use, or, where that is said here, to any number of uses.
    computed: FxHashMap<Var, bool>,
    /// The arrays that are reshaped somewhere, and how maps make those of them that they make.
    reshaped: FxHashSet<Var>,
    made: FxHashMap<Var, Rc<Made>>,
    /// Those that are cells.
    cells: FxHashMap<Var, (Var, Vec<Atom>)>,
    /// How often each variable was used at the start.
    uses: Vec<usize>,
    /// How many bodies there are around.
    depth: usize,
    /// Whether there are streams whose pieces are still to be made.
    streams: bool,
}

impl Views<'_> {
    fn body(&mut self, body: &mut Body) {
        let mark: Mark = self.facts.mark();
        self.body_of(body, |_| {});
        self.facts.rollback(mark);
    }

    fn body_of(&mut self, body: &mut Body, facts: impl FnOnce(&mut Facts)) {
        facts(&mut self.facts);
        self.depth += 1;
        let mut out = Vec::with_capacity(body.stmts.len());
        for s in std::mem::take(&mut body.stmts) {
            self.stmt(s, &mut out);
        }
        body.stmts = out;
        self.depth -= 1;
    }

    fn stmt(&mut self, mut s: Stmt, out: &mut Vec<Stmt>) {
        match (&mut s.exp, &s.pat[..]) {
            (Exp::Index { array, at }, [v]) if self.views.contains_key(array) => {
                let (v, array, at) = (*v, *array, std::mem::take(at));
                self.index(v, array, at, s.prov, out);
                return;
            }
            (Exp::View { view, array }, [v]) => {
                while let Some((inner, source)) = self.views.get(array).map(|x| (**x).clone())
                    && let Some(both) = self.compose(view, &inner, source)
                {
                    (*view, *array) = (both, source);
                }
                if let View::Reshape { dims } = view {
                    let other = self.through(*v, *array, dims, s.prov);
                    if let Some(stmts) = other.or_else(|| self.of_whole(*v, *array, dims, s.prov)) {
                        stmts.into_iter().for_each(|s| self.push(s, out));
                        return;
                    }
                }
                let parts = self.parts_of(*array)
                    + if let View::Append { with } = view { self.parts_of(*with) } else { 0 };
                if parts > 1 {
                    self.parts.insert(*v, parts.min(MOST_PARTS + 1));
                }
                // What goes along two streams, one after the other, is taken apart where streams are.
                if !(self.streams && self.depth == 1 && matches!(view, View::Append { .. })) {
                    self.views.insert(*v, Rc::new((view.clone(), *array)));
                }
            }
            (exp, _) => {
                let cond = match exp {
                    Exp::If { cond, .. } => Some(*cond),
                    _ => None,
                };
                let axes: Vec<Axis> = match exp {
                    Exp::For { axis, .. }
                    | Exp::Reduce { axis, .. }
                    | Exp::Scan { axis, .. }
                    | Exp::Scatter { axis, .. }
                    | Exp::Filter { axis, .. }
                    | Exp::Grade { axis, .. }
                    | Exp::Join { axis, .. } => vec![*axis],
                    Exp::Map { axes, .. } => axes.clone(),
                    _ => Vec::new(),
                };
                for (k, b) in exp.bodies_mut().into_iter().enumerate() {
                    let mark = self.facts.mark();
                    self.body_of(b, |f| match cond {
                        Some(c) => f.assume(c, k == 0),
                        // An operator's body has no index variable, but may as well know its bounds.
                        None => axes.iter().for_each(|a| f.axis(a)),
                    });
                    self.facts.rollback(mark);
                }
                match exp {
                    Exp::For { body, .. } | Exp::While { body, .. } => stacks::made(self.p, body),
                    Exp::Reduce { op, .. } if !op.assoc => stacks::made(self.p, &mut op.lambda.body),
                    Exp::Map { axes, body } => self.result_by_element(axes, body),
                    Exp::Join { axis, regular, body } => self.rows_by_element(axis, *regular, body),
                    _ => {}
                }
            }
        }
        self.push(s, out);
    }

    /// What a map gives is copied into its array: a view element by element, as a map (and then both maps
    /// are one nest).
    fn result_by_element(&mut self, axes: &[Axis], body: &mut Body) {
        let [Atom::Var(r)] = body.results[..] else { return };
        if let Some(view) = body.stmts.iter().rev().find(|s| s.pat == [r])
            && arranges(&view.exp)
        {
            let prov = view.prov;
            let mark = self.facts.mark();
            axes.iter().for_each(|a| self.facts.axis(a));
            body.results = vec![self.by_element(r, prov, &mut body.stmts)];
            self.facts.rollback(mark);
        }
    }

    /// A row that a join gives is copied to where it belongs: a view element by element, as a map, which fusion may make
    /// of what the view is of. What is reshaped is copied as it is.
    fn rows_by_element(&mut self, axis: &Axis, regular: usize, body: &mut Body) {
        let mark = self.facts.mark();
        self.facts.axis(axis);
        for k in regular..body.results.len() {
            let Some(r) = body.results[k].as_var() else { continue };
            let is_kept =
                |exp: &Exp| matches!(exp, Exp::View { view: View::Reshape { .. } | View::Append { .. }, .. });
            let view = body.stmts.iter().find(|s| s.pat == [r] && arranges(&s.exp) && !is_kept(&s.exp));
            if let Some(prov) = view.map(|s| s.prov) {
                body.results[k] = self.by_element(r, prov, &mut body.stmts);
            }
        }
        self.facts.rollback(mark);
    }

    /// What the program gives is copied once: a view of a view as a map, since it cannot be one view. An array after
    /// another is copied there as it is.
    fn results_by_element(&mut self, body: &mut Body) {
        let mut results = std::mem::take(&mut body.results);
        for r in &mut results {
            let Some(v) = r.as_var() else { continue };
            let appends = |exp: &Exp| matches!(exp, Exp::View { view: View::Append { .. }, .. });
            let view =
                |v: Var| body.stmts.iter().find(|s| s.pat == [v] && arranges(&s.exp) && !appends(&s.exp));
            let Some(Stmt { exp: Exp::View { view: arranged, array }, prov, .. }) = view(v) else { continue };
            // Of what a map computes for nothing else, or of an order, only a part may be wanted.
            let makes = |exp: &Exp| matches!(exp, Exp::Map { .. } | Exp::Grade { .. });
            let computed = body.stmts.iter().any(|s| s.pat == [*array] && makes(&s.exp));
            let part = matches!(arranged, View::Slice { .. }) && self.uses.get(array.index()) == Some(&1);
            if view(*array).is_some() || part && computed {
                let prov = *prov;
                *r = self.by_element(v, prov, &mut body.stmts);
            }
        }
        body.results = results;
    }

    /// A copy of an array, of its elements one by one.
    fn by_element(&mut self, array: Var, prov: Prov, out: &mut Vec<Stmt>) -> Atom {
        let (name, ty) = (self.p.vars[array].name.clone(), self.p.ty(array).clone());
        let copy = self.p.fresh(name.as_str(), ty.clone());
        self.cell(copy, array, Vec::new(), ty.dims, prov, out);
        copy.into()
    }

    fn push(&mut self, s: Stmt, out: &mut Vec<Stmt>) {
        let anywhere = match &s.exp {
            Exp::View { .. } => Some(true),
            Exp::Map { body, .. } => Some(is_cheap(&body.stmts)),
            _ => None,
        };
        if let Some(anywhere) = anywhere {
            self.computed.extend(s.pat.iter().map(|v| (*v, anywhere)));
        }
        self.made.extend(Made::of(&s, &self.reshaped));
        if let (Exp::Index { array, at }, [v]) = (&s.exp, &s.pat[..])
            && self.reshaped.contains(v)
        {
            self.cells.insert(*v, (*array, at.clone()));
        }
        self.facts.bind(self.p, &s);
        out.push(s);
    }

    /// `outer` of `inner` of `source` as one view of it.
    fn compose(&self, outer: &View, inner: &View, source: Var) -> Option<View> {
        Some(match (outer, inner) {
            (View::Reshape { dims }, View::Reshape { .. }) => View::Reshape { dims: dims.clone() },
            (View::Permute { perm: p }, View::Permute { perm: q }) => {
                View::Permute { perm: p.iter().map(|k| q.get(*k).copied()).collect::<Option<_>>()? }
            }
            (View::Reverse, View::Reverse) => View::Permute { perm: (0..self.p.ty(source).rank()).collect() },
            (View::Replicate { dims: a }, View::Replicate { dims: b }) => {
                View::Replicate { dims: a.iter().chain(b).copied().collect() }
            }
            _ => return None,
        })
    }

    /// `v` as an element or a cell of a view.
    fn index(&mut self, v: Var, array: Var, at: Vec<Atom>, prov: Prov, out: &mut Vec<Stmt>) {
        let Some(known) = self.views.get(&array).cloned() else {
            self.push(Stmt { pat: vec![v], exp: Exp::Index { array, at }, prov }, out);
            return;
        };
        let (view, source) = &*known;
        let to = self.p.ty(array).dims.clone();
        let from = self.p.ty(*source).dims.clone();
        if let View::Append { with } = view
            && at.len() == to.len()
        {
            self.append(v, (array, *source, *with), at, prov, out);
            return;
        }
        if let View::Reshape { .. } = view
            && !self.is_fusible(*source, array)
            && self.divides(&from, &to, &at)
        {
            self.push(Stmt { pat: vec![v], exp: Exp::Index { array, at }, prov }, out);
            return;
        }
        let mut e = Emit { v: self, prov, out };
        let found = match view {
            View::Permute { perm } => permuted(perm, &at),
            View::Reverse => (!at.is_empty()).then(|| {
                let last = e.op(ScalarOp::Sub, from[0], Atom::int(1));
                let mut at = at.clone();
                at[0] = e.op(ScalarOp::Sub, last, at[0]);
                at
            }),
            View::Rotate { amounts } => (at.len() >= amounts.len()).then(|| {
                let mut at = at.clone();
                for (k, amount) in amounts.iter().enumerate() {
                    let amount = e.in_range(*amount, from[k]);
                    at[k] = e.wrapped_sum(at[k], amount, from[k]);
                }
                at
            }),
            View::Slice { start, .. } => (at.len() >= start.len()).then(|| {
                let mut at = at.clone();
                for (k, s) in start.iter().enumerate() {
                    at[k] = e.op(ScalarOp::Add, at[k], *s);
                }
                at
            }),
            View::Wrap { start, .. } => (at.len() >= start.len()).then(|| {
                let mut at = at.clone();
                for (k, s) in start.iter().enumerate() {
                    let once = e.v.facts.compare(ScalarOp::Le, to[k], from[k]) == Some(true);
                    let start = e.in_range(*s, from[k]);
                    at[k] = if once {
                        e.wrapped_sum(at[k], start, from[k])
                    } else {
                        let i = e.in_range(at[k], from[k]);
                        e.wrapped_sum(i, start, from[k])
                    };
                }
                at
            }),
            View::Replicate { dims } => at.get(dims.len()..).map(<[Atom]>::to_vec),
            View::Reshape { .. } => e.reshaped(&from, &to, &at),
            View::Cycle { .. } => e.cycled(&from, &to, &at),
            View::Append { .. } => None,
        };
        match found {
            // What is found is of a view, perhaps.
            Some(at) if at.is_empty() => {
                self.push(Stmt { pat: vec![v], exp: Exp::Atom(Atom::Var(*source)), prov }, out);
            }
            Some(at) => self.index(v, *source, at, prov, out),
            // In memory as it is wanted.
            None if matches!(view, View::Reshape { .. }) && !self.is_fusible(*source, array) => {
                self.push(Stmt { pat: vec![v], exp: Exp::Index { array, at }, prov }, out);
            }
            None => self.cell(v, array, at, to, prov, out),
        }
    }

    /// Whether fusion may compute the elements of `array` where those of a view of it are used.
    fn is_fusible(&self, array: Var, view: Var) -> bool {
        let once = |v: Var| self.uses.get(v.index()).is_none_or(|n| *n <= 1);
        self.computed.get(&array).is_some_and(|anywhere| *anywhere || once(array) && once(view))
    }

    /// Whether an index of a reshaped array needs a division.
    fn divides(&self, from: &[Atom], to: &[Atom], at: &[Atom]) -> bool {
        let cell = &to[at.len().min(to.len())..];
        let (from, to) = (&from[..from.len().saturating_sub(cell.len())], &to[..at.len().min(to.len())]);
        let long = |dims: &[Atom]| dims.iter().copied().filter(|d| d.as_int() != Some(1)).collect::<Vec<_>>();
        let (from, to) = (long(from), long(to));
        let (front, back) = common(&self.facts, &from, &to);
        from.len() - front - back > 1
    }

    /// A cell, element by element.
    fn cell(
        &mut self,
        v: Var,
        array: Var,
        mut at: Vec<Atom>,
        dims: Vec<Atom>,
        prov: Prov,
        out: &mut Vec<Stmt>,
    ) {
        let ty = Ty::scalar(self.p.ty(v).base);
        let mut axes = Vec::new();
        for size in &dims[at.len().min(dims.len())..] {
            axes.push(Axis { var: self.p.fresh("i", Ty::int()), size: *size });
        }
        if axes.is_empty() {
            self.push(Stmt { pat: vec![v], exp: Exp::Index { array, at }, prov }, out);
            return;
        }
        at.extend(axes.iter().map(|a| Atom::Var(a.var)));
        let element = self.p.fresh("x", ty);
        let mark = self.facts.mark();
        axes.iter().for_each(|a| self.facts.axis(a));
        let mut stmts = Vec::new();
        self.index(element, array, at, prov, &mut stmts);
        self.facts.rollback(mark);
        let body = Body { stmts, results: vec![Atom::Var(element)] };
        self.push(Stmt { pat: vec![v], exp: Exp::Map { axes, body }, prov }, out);
    }

    fn parts_of(&self, array: Var) -> usize {
        self.parts.get(&array).copied().unwrap_or(1)
    }

    /// An element of two arrays, one after the other.
    fn append(
        &mut self,
        v: Var,
        (whole, first, second): (Var, Var, Var),
        at: Vec<Atom>,
        prov: Prov,
        out: &mut Vec<Stmt>,
    ) {
        let n = self.p.ty(first).dims[0];
        match self.facts.compare(ScalarOp::Lt, at[0], n) {
            Some(true) => return self.index(v, first, at, prov, out),
            Some(false) => {
                let at = Emit { v: self, prov, out }.less(&at, n);
                return self.index(v, second, at, prov, out);
            }
            None => {}
        }
        if self.parts_of(whole) > MOST_PARTS {
            self.push(Stmt { pat: vec![v], exp: Exp::Index { array: whole, at }, prov }, out);
            return;
        }
        let cond = Emit { v: self, prov, out }.compare(ScalarOp::Lt, at[0], n);
        let branch = |this: &mut Self, holds: bool| {
            let mark = this.facts.mark();
            this.facts.assume(cond, holds);
            let mut stmts = Vec::new();
            let x = this.p.fresh("x", this.p.ty(v).clone());
            if holds {
                this.index(x, first, at.clone(), prov, &mut stmts);
            } else {
                let at = Emit { v: this, prov, out: &mut stmts }.less(&at, n);
                this.index(x, second, at, prov, &mut stmts);
            }
            this.facts.rollback(mark);
            Body { stmts, results: vec![Atom::Var(x)] }
        };
        let (then, otherwise) = (branch(self, true), branch(self, false));
        self.push(Stmt { pat: vec![v], exp: Exp::If { cond, then, otherwise }, prov }, out);
    }
}

/// Whether an expression puts elements elsewhere, each at a place that is found without a division.
fn arranges(exp: &Exp) -> bool {
    matches!(exp, Exp::View { view, .. } if !matches!(view, View::Reshape { .. } | View::Cycle { .. }))
}

/// The indices of an array, from those of its permutation; of a cell, if it is a whole cell of the array.
fn permuted(perm: &[usize], at: &[Atom]) -> Option<Vec<Atom>> {
    let in_order = perm.iter().enumerate().skip(at.len()).all(|(k, p)| k == *p);
    if !in_order {
        return None;
    }
    let mut found = at.to_vec();
    for (k, a) in at.iter().enumerate() {
        *found.get_mut(*perm.get(k)?)? = *a;
    }
    Some(found)
}

/// How many dims two shapes have in common in front, and how many more behind.
fn common(facts: &Facts, a: &[Atom], b: &[Atom]) -> (usize, usize) {
    let front = a.iter().zip(b).take_while(|(a, b)| facts.same(**a, **b)).count();
    let (a, b) = (a[front..].iter().rev(), b[front..].iter().rev());
    (front, a.zip(b).take_while(|(a, b)| facts.same(**a, **b)).count())
}

/// Adds the statements of index arithmetic; what is known already needs none.
struct Emit<'a, 'p> {
    v: &'a mut Views<'p>,
    prov: Prov,
    out: &'a mut Vec<Stmt>,
}

impl Emit<'_, '_> {
    fn op(&mut self, op: ScalarOp, a: Atom, b: Atom) -> Atom {
        use ScalarOp::*;
        let folded = match (op, a.as_int(), b.as_int()) {
            (Add, Some(a), Some(b)) => Some(Atom::int(a.wrapping_add(b))),
            (Sub, Some(a), Some(b)) => Some(Atom::int(a.wrapping_sub(b))),
            (Mul, Some(a), Some(b)) => Some(Atom::int(a.wrapping_mul(b))),
            (Mul, Some(0), _) | (Mul, _, Some(0)) | (Modulo, _, Some(1)) => Some(Atom::int(0)),
            (Add, Some(0), _) | (Mul, Some(1), _) => Some(b),
            (Add | Sub, _, Some(0)) | (Mul | Quotient, _, Some(1)) => Some(a),
            _ => None,
        };
        folded.unwrap_or_else(|| self.bind("i", Ty::int(), op, vec![a, b]))
    }

    fn compare(&mut self, op: ScalarOp, a: Atom, b: Atom) -> Atom {
        self.bind("c", Ty::scalar(BaseTy::Bool), op, vec![a, b])
    }

    fn bind(&mut self, name: &str, ty: Ty, op: ScalarOp, args: Vec<Atom>) -> Atom {
        let v = self.v.p.fresh(name, ty);
        let exp = Exp::Op(op, args);
        self.v.push(Stmt { pat: vec![v], exp, prov: self.prov }, self.out);
        Atom::Var(v)
    }

    fn less(&mut self, at: &[Atom], n: Atom) -> Vec<Atom> {
        let mut at = at.to_vec();
        at[0] = self.op(ScalarOp::Sub, at[0], n);
        at
    }

    /// `a mod n`.
    fn in_range(&mut self, a: Atom, n: Atom) -> Atom {
        if self.v.facts.in_bounds(a, n) { a } else { self.op(ScalarOp::Modulo, a, n) }
    }

    /// `(a + b) mod n` of two that are below `n`.
    fn wrapped_sum(&mut self, a: Atom, b: Atom, n: Atom) -> Atom {
        let sum = self.op(ScalarOp::Add, a, b);
        if self.v.facts.in_bounds(sum, n) {
            return sum;
        }
        let wraps = self.compare(ScalarOp::Ge, sum, n);
        let less = self.op(ScalarOp::Sub, sum, n);
        self.bind("i", Ty::int(), ScalarOp::Select, vec![wraps, less, sum])
    }

    /// The position in row-major order.
    fn linear(&mut self, dims: &[Atom], at: &[Atom]) -> Atom {
        let mut all = dims.iter().zip(at);
        let Some((_, first)) = all.next() else { return Atom::int(0) };
        all.fold(*first, |i, (d, a)| {
            let i = self.op(ScalarOp::Mul, i, *d);
            self.op(ScalarOp::Add, i, *a)
        })
    }

    /// The indices of a position in row-major order.
    fn delinear(&mut self, dims: &[Atom], mut i: Atom) -> Vec<Atom> {
        let mut at = Vec::new();
        // The outermost index needs no remainder: axes of size 1 in front have the index 0.
        let outer = dims.iter().position(|d| d.as_int() != Some(1)).unwrap_or(dims.len());
        for (k, d) in dims.iter().enumerate().rev() {
            match k.cmp(&outer) {
                std::cmp::Ordering::Less => at.push(Atom::int(0)),
                std::cmp::Ordering::Equal => at.push(i),
                std::cmp::Ordering::Greater => {
                    at.push(self.op(ScalarOp::Modulo, i, *d));
                    i = self.op(ScalarOp::Quotient, i, *d);
                }
            }
        }
        at.reverse();
        at
    }

    /// The indices of a reshaped array; of a cell, if it is a whole cell of the array.
    fn reshaped(&mut self, from: &[Atom], to: &[Atom], at: &[Atom]) -> Option<Vec<Atom>> {
        let rest = &to[at.len().min(to.len())..];
        let items = from.len().checked_sub(rest.len())?;
        let (from, kept) = from.split_at(items);
        if !self.v.facts.same_dims(kept, rest) {
            return None;
        }
        // An axis of size 1 has the index 0, and says nothing.
        let (mut dims, mut indices) = (Vec::new(), Vec::new());
        for (d, a) in to.iter().zip(at).filter(|(d, _)| d.as_int() != Some(1)) {
            dims.push(*d);
            indices.push(*a);
        }
        let inner: Vec<Atom> = from.iter().copied().filter(|d| d.as_int() != Some(1)).collect();
        let (front, back) = common(&self.v.facts, &inner, &dims);
        let to_back = dims.len() - back;
        let i = self.linear(&dims[front..to_back], &indices[front..to_back]);
        let middle = self.delinear(&inner[front..inner.len() - back], i);
        let mut found = indices[..front].iter().chain(&middle).chain(&indices[to_back..]);
        let zero = Atom::int(0);
        let index = |d: &Atom| if d.as_int() == Some(1) { Some(zero) } else { found.next().copied() };
        from.iter().map(index).collect()
    }

    /// The same of elements that are taken again and again.
    fn cycled(&mut self, from: &[Atom], to: &[Atom], at: &[Atom]) -> Option<Vec<Atom>> {
        let rest = &to[at.len().min(to.len())..];
        let items = from.len().checked_sub(rest.len())?;
        let (from, kept) = from.split_at(items);
        if !self.v.facts.same_dims(kept, rest) {
            return None;
        }
        let to = &to[..at.len()];
        // Whole items are repeated where all dims but the first are the same.
        let back = from.len().saturating_sub(1).min(to.len().saturating_sub(1));
        let (from_back, to_back) = (&from[from.len() - back..], &to[to.len() - back..]);
        let back = if self.v.facts.same_dims(from_back, to_back) { back } else { 0 };
        let (inner_from, inner_to) = (&from[..from.len() - back], &to[..to.len() - back]);
        let i = self.linear(inner_to, &at[..at.len() - back]);
        let total = inner_from.iter().fold(Atom::int(1), |n, d| self.op(ScalarOp::Mul, n, *d));
        let i = self.in_range(i, total);
        let middle = self.delinear(inner_from, i);
        Some([&middle, &at[at.len() - back..]].concat())
    }
}
