//! Iterations over arrays of sizes of their own become operators over flat arrays.
//!
//! ```text
//! (join (i k) 1                                 (let (%sum) (map ((i k)) … (reduce j n …)))
//!   (let (%n) (index %ns i))                    (let (%starts …) (scan exclusive … %ns))
//!   (let (%s) (index %starts i))        ⟶       (let (%seg) …)                the box of each element
//!   (let (%sum) (reduce j %n …))                (let (%ys) (map ((q total))
//!   (let (%ys) (map ((j %n)) …))                  (let (%i) (index %seg q))
//!   (give %n %ys))                                …))                         the box's sum, the element
//! ```
//!
//! What makes or sorts an array inside a map, in a size that each iteration has for itself, cannot stay in
//! the work of one thread. Such a body is distributed: its statements are taken one after the other, each
//! over all iterations. Scalars become arrays with the map's axis in front. An array of a size of its own
//! becomes one vector of the elements of all iterations, and where those of each begin ([`Lifted`]); what
//! computes it runs over a space of as many points as there are elements in all ([`space`]). So the work
//! is balanced by elements, whatever the sizes are, and empty ones cost nothing. What is of one size for all
//! iterations stays as it is: only what a size of its own reaches is taken apart, and neighbours without
//! such sizes stay in one map, from which fusion goes on.
//!
//! | in the body | over all iterations |
//! | --- | --- |
//! | `map` | a map over the space, its body at the iteration of each point; flattened in its turn. Axes of one size for all, behind the others, are no part of the space: `[n 3]` has that of `[n]` |
//! | `scan` | one scan of elements with a flag where an iteration begins, for operators of scalars |
//! | `filter` | one filter, and how many each iteration keeps |
//! | `grade` | one sort, by the iteration first |
//! | `scatter` | one scatter into a copy of all arrays |
//! | `join` | a join over the space |
//! | `view` | the same elements where they are, if they lie together; else a map |
//! | `if` | the iterations of each branch by themselves |
//! | the rest | one iteration after the other, alone |
//!
//! Items that make such arrays, of a reduction say, are a map's before that ([`items`]).
//!
//! Blelloch, *Vector Models for Data-Parallel Computing*, 1990, is where segments and their descriptors
//! come from; that regular parts stay regular, and scalars are not spread over elements: Clifton-Everest,
//! McDonell, Chakravarty, Keller, *Streaming Irregular Arrays*, Haskell 2017.
//!
//! It runs once, when the other passes have nothing left to do: what they fuse needs no array.

mod control;
mod items;
mod ops;
mod space;

use crate::ir::*;
use crate::legal::{group_sizes, own_sizes};
use crate::opt::rounds::RowsAre;
use crate::walk::Copier;
use remc_base::Prov;
use remc_base::ops::ScalarOp;
use remc_base::pass::PassInfo;
use rustc_hash::{FxHashMap, FxHashSet};
use space::Space;

pub const PASS: PassInfo = PassInfo {
    name: "segment",
    from: "mono",
    to: "mono",
    summary: "flattens iterations over arrays of sizes of their own",
};

/// Nests deeper than this are left to the host: each level takes two more of every body.
const MOST_DEPTH: usize = 12;

/// Flattens what makes arrays of sizes that each iteration has for itself.
pub fn segment(p: &mut Program) {
    segment_for(p, RowsAre::Distributed);
}

/// The same, but for maps and joins over rows that are a task's, or a group's, of the device.
pub fn segment_for(p: &mut Program, rows: RowsAre) {
    let body = std::mem::take(&mut p.body);
    let mut f = Distributor { p, out: Vec::new(), prov: Prov(0), depth: 0, rows };
    let body = f.items_apart(body);
    f.host(&body.stmts);
    let stmts = f.out;
    p.body = Body { stmts, results: body.results };
}

/// Statements over all iterations, in the making.
struct Distributor<'p> {
    p: &'p mut Program,
    out: Vec<Stmt>,
    prov: Prov,
    depth: usize,
    rows: RowsAre,
}

/// A variable of the body of an iteration, over all iterations.
#[derive(Clone)]
enum Lifted {
    /// The number of the iteration.
    Point,
    /// A scalar, or an array of one size for all: an array with an axis of the iterations in front.
    Regular(Var),
    Ragged(Ragged),
}

/// An array of a size that each iteration has for itself.
#[derive(Clone)]
struct Ragged {
    /// The elements, in a vector.
    data: Var,
    /// Where those of each iteration begin, in row-major order.
    starts: Var,
    /// Whether the elements of the iterations are one after the other, and nothing else.
    is_compact: bool,
}

/// The iterations whose body is distributed.
struct Level {
    /// How many there are.
    count: Atom,
    lifted: FxHashMap<Var, Lifted>,
    /// The spaces of arrays, by the dims that they have in the body.
    spaces: Vec<(Vec<Atom>, Space)>,
}

impl Distributor<'_> {
    // ---- what runs on the host --------------------------------------------------------------------------

    fn host(&mut self, stmts: &[Stmt]) {
        for s in stmts {
            self.prov = s.prov;
            self.stmt(s.clone());
        }
    }

    fn nested(&mut self, body: &Body) -> Body {
        let outer = std::mem::take(&mut self.out);
        self.host(&body.stmts);
        Body { stmts: std::mem::replace(&mut self.out, outer), results: body.results.clone() }
    }

    /// A statement that runs on the host, with what it does in parallel.
    fn stmt(&mut self, mut s: Stmt) {
        match &mut s.exp {
            Exp::Map { axes, body } if matches!(axes[..], [axis] if self.stays(axis, s.pat.len(), body)) => {}
            Exp::Join { axis, regular, body } if self.stays(*axis, *regular, body) => {}
            Exp::If { then, otherwise, .. } => {
                *then = self.nested(then);
                *otherwise = self.nested(otherwise);
            }
            Exp::For { body, .. } => *body = self.nested(body),
            Exp::While { cond, body, .. } => {
                *cond = self.nested(cond);
                *body = self.nested(body);
            }
            Exp::Map { axes, body } if self.depth < MOST_DEPTH && !always_stops(body) => {
                let binders = axes.iter().map(|a| a.var).collect();
                if self.is_irregular(body, binders) {
                    let (axes, body) = (axes.clone(), body.clone());
                    return self.distribute_map(s.pat, axes, body);
                }
            }
            Exp::Join { axis, regular, body } if self.depth < MOST_DEPTH && !always_stops(body) => {
                let (axis, regular, body) = (*axis, *regular, body.clone());
                return self.distribute(s.pat, axis, regular, body);
            }
            _ => {}
        }
        self.out.push(s);
    }

    /// Whether each row of a map or join is left to be one task, or one group's.
    fn stays(&self, axis: Axis, regular: usize, body: &Body) -> bool {
        match self.rows {
            RowsAre::Distributed => false,
            RowsAre::Tasks => own_sizes(&self.p.vars, &axis, regular, body).is_some(),
            RowsAre::Groups => group_sizes(&self.p.vars, &axis, regular, body).is_some(),
        }
    }

    /// Whether a body makes an array of a size that is only known inside, sorts or joins.
    fn is_irregular(&self, body: &Body, binders: Vec<Var>) -> bool {
        let mut inside: FxHashSet<Var> = binders.into_iter().collect();
        inside.extend(body.binders());
        self.is_irregular_in(body, &inside)
    }

    /// The same where `inside` is known.
    fn is_irregular_in(&self, body: &Body, inside: &FxHashSet<Var>) -> bool {
        let mut irregular = false;
        body.for_each_stmt(&mut |s| irregular |= self.makes_irregular(s, inside));
        irregular
    }

    fn makes_irregular(&self, s: &Stmt, inside: &FxHashSet<Var>) -> bool {
        match s.exp {
            Exp::Grade { .. } | Exp::Join { .. } => true,
            // A part of an array needs no memory.
            Exp::Index { .. } | Exp::Atom(_) | Exp::View { .. } => false,
            // What a filter keeps is bounded by its axis.
            Exp::Filter { axis, .. } => axis.size.as_var().is_some_and(|v| inside.contains(&v)),
            _ => s.pat.iter().any(|v| self.has_dims_of(*v, inside)),
        }
    }

    fn has_dims_of(&self, v: Var, inside: &FxHashSet<Var>) -> bool {
        self.p.ty(v).dims.iter().any(|d| d.as_var().is_some_and(|d| inside.contains(&d)))
    }

    // ---- distribution -----------------------------------------------------------------------------------

    /// A map whose axes become one.
    fn distribute_map(&mut self, pat: Vec<Var>, axes: Vec<Axis>, body: Body) {
        if let [axis] = axes[..] {
            let regular = pat.len();
            return self.distribute(pat, axis, regular, body);
        }
        let sizes: Vec<Atom> = axes.iter().map(|a| a.size).collect();
        let count = self.product(&sizes);
        let point = self.int("i");
        let outer = std::mem::take(&mut self.out);
        self.unravel(point.into(), &axes);
        let mut stmts = std::mem::replace(&mut self.out, outer);
        stmts.extend(body.stmts);
        let body = Body { stmts, results: body.results };
        let lines: Vec<Var> = pat
            .iter()
            .map(|v| {
                let Ty { base, dims } = self.p.ty(*v).clone();
                let dims = std::iter::once(count).chain(dims[sizes.len()..].iter().copied()).collect();
                self.p.fresh("line", Ty { base, dims })
            })
            .collect();
        let (axis, regular) = (Axis { var: point, size: count }, lines.len());
        match self.stays(axis, regular, &body) {
            true => self.push(lines.clone(), Exp::Map { axes: vec![axis], body }),
            false => self.distribute(lines.clone(), axis, regular, body),
        }
        for (v, line) in pat.into_iter().zip(lines) {
            let dims = self.p.ty(v).dims.clone();
            self.push(vec![v], Exp::View { view: View::Reshape { dims }, array: line });
        }
    }

    /// Binds the variables of `axes` to the indices of a position in row-major order.
    fn unravel(&mut self, position: Atom, axes: &[Axis]) {
        let mut rest = position;
        for (k, a) in axes.iter().enumerate().rev() {
            if k == 0 {
                self.push(vec![a.var], Exp::Atom(rest));
            } else {
                self.push(vec![a.var], Exp::Op(ScalarOp::Modulo, vec![rest, a.size]));
                rest = self.op(ScalarOp::Quotient, rest, a.size);
            }
        }
    }

    /// The statements of a body over all iterations: neighbours that need no array of a size of its own in
    /// one map, the others one by one.
    fn distribute(&mut self, pat: Vec<Var>, axis: Axis, regular: usize, body: Body) {
        self.depth += 1;
        let mut level = Level { count: axis.size, lifted: FxHashMap::default(), spaces: Vec::new() };
        level.lifted.insert(axis.var, Lifted::Point);
        let mut inside: FxHashSet<Var> = body.binders().into_iter().collect();
        inside.insert(axis.var);
        let mut uses = LastUses::of(self.p, &body);
        let mut run: Vec<Stmt> = Vec::new();
        for (k, s) in body.stmts.iter().enumerate() {
            self.prov = s.prov;
            let own = Body { stmts: vec![s.clone()], results: Vec::new() };
            let ragged = s.pat.iter().any(|v| self.has_dims_of(*v, &inside));
            if !ragged && !self.is_irregular(&own, inside.iter().copied().collect()) {
                run.push(s.clone());
                continue;
            }
            self.flush(&mut level, &mut run, k, &mut uses);
            self.lift(&mut level, s, &inside);
        }
        self.flush(&mut level, &mut run, body.stmts.len(), &mut uses);
        self.give(&mut level, &pat, regular, &body.results);
        self.depth -= 1;
    }

    /// The pending statements as one map, which gives what is used from statement `next` on.
    fn flush(&mut self, level: &mut Level, run: &mut Vec<Stmt>, next: usize, uses: &mut LastUses) {
        if run.is_empty() {
            return;
        }
        let stmts = std::mem::take(run);
        let made: Vec<Var> = stmts.iter().flat_map(|s| s.pat.iter().copied()).collect();
        let given: Vec<Var> = made.into_iter().filter(|v| uses.last(*v).is_some_and(|k| k >= next)).collect();
        let can_stop = stmts.iter().any(|s| s.exp.can_stop());
        if given.is_empty() && !can_stop {
            return;
        }
        let results = given.iter().map(|v| Atom::Var(*v)).collect();
        let arrays = self.over_points(level, &Body { stmts, results });
        for (v, array) in given.into_iter().zip(arrays) {
            level.lifted.insert(v, Lifted::Regular(array));
        }
    }

    /// A map over all iterations of statements of the body; the arrays of their results.
    fn over_points(&mut self, level: &Level, body: &Body) -> Vec<Var> {
        let i = self.int("i");
        let (stmts, copy) = self.at(level, i.into(), body, &[]);
        let pat = copy.results.iter().map(|a| {
            let ty = self.p.atom_ty(*a).over(&[level.count]);
            self.p.fresh("a", ty)
        });
        let pat: Vec<Var> = pat.collect();
        let axes = vec![Axis { var: i, size: level.count }];
        self.push(pat.clone(), Exp::Map { axes, body: Body { stmts, results: copy.results.clone() } });
        pat
    }

    /// A copy of a body at iteration `point`, with `with` for some variables: the statements, those that
    /// read what the body needs before its own.
    fn at(&mut self, level: &Level, point: Atom, body: &Body, with: &[(Var, Atom)]) -> (Vec<Stmt>, Body) {
        let mut known: FxHashMap<Var, Atom> = with.iter().copied().collect();
        let outer = std::mem::take(&mut self.out);
        for v in needs(self.p, body) {
            self.enter(level, point, v, &mut known);
        }
        let mut stmts = std::mem::replace(&mut self.out, outer);
        let copy = Copier { program: self.p, with: known }.body(body);
        stmts.extend(copy.stmts);
        (stmts, Body { stmts: Vec::new(), results: copy.results })
    }

    /// Reads a variable of the body at iteration `point`, and the sizes in its type.
    fn enter(&mut self, level: &Level, point: Atom, v: Var, known: &mut FxHashMap<Var, Atom>) {
        if known.contains_key(&v) {
            return;
        }
        let Some(lifted) = level.lifted.get(&v) else { return };
        let ty = self.p.ty(v).clone();
        let mut dims = Vec::with_capacity(ty.dims.len());
        for d in &ty.dims {
            if let Atom::Var(x) = d {
                self.enter(level, point, *x, known);
            }
            dims.push(d.as_var().and_then(|x| known.get(&x).copied()).unwrap_or(*d));
        }
        let name = self.p.vars[v].name.clone();
        let ty = Ty { base: ty.base, dims };
        let a = match lifted {
            Lifted::Point => point,
            Lifted::Regular(array) => {
                let read = self.p.fresh(name.as_str(), ty);
                self.push(vec![read], Exp::Index { array: *array, at: vec![point] });
                read.into()
            }
            Lifted::Ragged(r) => {
                let start = self.int("start");
                self.push(vec![start], Exp::Index { array: r.starts, at: vec![point] });
                let size = self.product(&ty.dims);
                let part = self.p.fresh(name.as_str(), Ty { base: ty.base, dims: vec![size] });
                let view = View::Slice { start: vec![start.into()], dims: vec![size] };
                self.push(vec![part], Exp::View { view, array: r.data });
                self.reshaped(part, &ty)
            }
        };
        known.insert(v, a);
    }

    fn reshaped(&mut self, array: Var, ty: &Ty) -> Atom {
        if self.p.ty(array).dims == ty.dims {
            return array.into();
        }
        if ty.dims.is_empty() {
            let x = self.p.fresh("x", ty.clone());
            let at = vec![Atom::int(0); self.p.ty(array).rank()];
            self.push(vec![x], Exp::Index { array, at });
            return x.into();
        }
        let shaped = self.p.fresh("a", ty.clone());
        self.push(vec![shaped], Exp::View { view: View::Reshape { dims: ty.dims.clone() }, array });
        shaped.into()
    }

    // ---- results ----------------------------------------------------------------------------------------

    /// Binds the variables of the map or join to the results of its body.
    fn give(&mut self, level: &mut Level, pat: &[Var], regular: usize, results: &[Atom]) {
        let (maps, joins) = pat.split_at(regular);
        for (v, a) in maps.iter().zip(results) {
            let array = match a.as_var().and_then(|x| level.lifted.get(&x)) {
                Some(Lifted::Regular(array)) => *array,
                _ => {
                    let body = Body { stmts: Vec::new(), results: vec![*a] };
                    self.over_points(level, &body)[0]
                }
            };
            self.push(vec![*v], Exp::Atom(array.into()));
        }
        for (parts, a) in joins.chunks(3).zip(&results[regular..]) {
            let Some(x) = a.as_var() else { continue };
            let r = match level.lifted.get(&x) {
                Some(Lifted::Ragged(r)) if r.is_compact => r.clone(),
                _ => self.compacted(level, x),
            };
            let total = self.p.ty(r.data).dims[0];
            for (v, a) in parts.iter().zip([total, r.starts.into(), r.data.into()]) {
                self.push(vec![*v], Exp::Atom(a));
            }
        }
    }

    /// The elements of an array of the body, one iteration after the other.
    fn compacted(&mut self, level: &mut Level, array: Var) -> Ragged {
        let ty = self.p.ty(array).clone();
        let axes: Vec<Axis> = ty.dims.iter().map(|d| Axis { var: self.int("j"), size: *d }).collect();
        let x = self.p.fresh("x", Ty::scalar(ty.base));
        let at = axes.iter().map(|a| a.var.into()).collect();
        let stmts = vec![Stmt { pat: vec![x], exp: Exp::Index { array, at }, prov: self.prov }];
        self.ragged_map(level, &axes, &Body { stmts, results: vec![x.into()] }).remove(0)
    }

    // ---- statements -------------------------------------------------------------------------------------

    fn push(&mut self, pat: Vec<Var>, exp: Exp) {
        self.out.push(Stmt { pat, exp, prov: self.prov });
    }

    fn int(&mut self, name: &str) -> Var {
        self.p.fresh(name, Ty::int())
    }

    fn op(&mut self, op: ScalarOp, a: Atom, b: Atom) -> Atom {
        match (op, a.as_int(), b.as_int()) {
            (ScalarOp::Add, Some(0), _) | (ScalarOp::Mul, Some(1), _) => return b,
            (ScalarOp::Add, _, Some(0)) | (ScalarOp::Mul, _, Some(1)) => return a,
            _ => {}
        }
        let base = self.p.atom_ty(a).base;
        let ty = op.result_ty(&[base, base]).unwrap_or(base);
        let v = self.p.fresh("t", Ty::scalar(ty));
        self.push(vec![v], Exp::Op(op, vec![a, b]));
        v.into()
    }

    fn product(&mut self, dims: &[Atom]) -> Atom {
        dims.iter().fold(Atom::int(1), |n, d| self.op(ScalarOp::Mul, n, *d))
    }

    /// Statements made by `f`, and what it gives, as a body.
    fn body_of(&mut self, f: impl FnOnce(&mut Self) -> Vec<Atom>) -> Body {
        let outer = std::mem::take(&mut self.out);
        let results = f(self);
        Body { stmts: std::mem::replace(&mut self.out, outer), results }
    }

    /// A vector of ints, element by element.
    fn ints(&mut self, name: &str, size: Atom, f: impl FnOnce(&mut Self, Atom) -> Atom) -> Var {
        let i = self.int("i");
        let body = self.body_of(|this| vec![f(this, i.into())]);
        let v = self.p.fresh(name, Ty { base: remc_base::BaseTy::I64, dims: vec![size] });
        self.push(vec![v], Exp::Map { axes: vec![Axis { var: i, size }], body });
        v
    }

    fn read(&mut self, array: Var, at: Atom) -> Atom {
        let ty = self.p.ty(array).cell(1);
        let x = self.p.fresh("x", ty);
        self.push(vec![x], Exp::Index { array, at: vec![at] });
        x.into()
    }
}

/// Whether the first iteration stops the program. The sizes behind such a check mean nothing, and may be
/// negative or contradict each other: nothing of such a body may get out of it.
fn always_stops(body: &Body) -> bool {
    body.stmts.iter().any(|s| matches!(s.exp, Exp::Check { cond, .. } if ops::constant(cond) == Some(false)))
}

/// The variables that a body uses, in its types too, and does not bind.
fn needs(p: &Program, body: &Body) -> Vec<Var> {
    let bound: FxHashSet<Var> = body.binders().into_iter().collect();
    let mut seen = FxHashSet::default();
    let mut all = Vec::new();
    let mut add = |a: Atom| {
        if let Atom::Var(v) = a
            && !bound.contains(&v)
            && seen.insert(v)
        {
            all.push(v);
        }
    };
    body.for_each_use(&mut add);
    for v in body.binders() {
        p.ty(v).dims.iter().for_each(|d| add(*d));
    }
    all
}

/// The last statement of a body that uses each variable; the results come after all statements.
struct LastUses(FxHashMap<Var, usize>);

impl LastUses {
    fn of(p: &Program, body: &Body) -> LastUses {
        let mut last = FxHashMap::default();
        let mut all: Vec<(Vec<Var>, usize)> = Vec::new();
        for (k, s) in body.stmts.iter().enumerate() {
            let one = Body { stmts: vec![s.clone()], results: Vec::new() };
            all.push((needs(p, &one), k));
        }
        let results = body.results.iter().filter_map(|a| a.as_var()).collect();
        all.push((results, body.stmts.len()));
        for (vars, k) in all {
            let mut todo = vars;
            // What is read brings the sizes of its type with it.
            while let Some(v) = todo.pop() {
                if last.insert(v, k) != Some(k) {
                    todo.extend(p.ty(v).dims.iter().filter_map(|d| d.as_var()));
                }
            }
        }
        LastUses(last)
    }

    fn last(&self, v: Var) -> Option<usize> {
        self.0.get(&v).copied()
    }
}
