//! A round that changes part of an array changes it where it is.
//!
//! ```text
//! (for (%k %n) ((%a %start))                          (for (%k %n) ((%a %start))
//!   (let (%b) (map ((%i %n) (%j %m))                    (let (%col) (map ((%i %n)) … (index %a %i %k) …))
//!     (let (%f) (index %a %i %k))                       (let (%row) (map ((%j %m)) … (index %a %k %j) …))
//!     (let (%p) (index %a %k %j))              ⟶        (let (%from) (op + %k 1)) (let (%count) (op - %n %from)) …
//!     (let (%x) (index %a %i %j))                       (let (%b) (scatter (%q %count) (%a)
//!     (let (%c) (op > %i %k)) …                           (let (%i) (op + %q %from))
//!     (let (%y) (op select %c %new %x))                   (let (%r) (map ((%j %m)) … (index %a %i %j) … (give %y)))
//!     (give %y)))                                         (give %i %r)))
//!   (give %b))                                          (give %b))
//! ```
//!
//! A step of an elimination, of all shortest paths, of a decomposition makes each element of what is there, and of a row and a
//! column of it. These are computed first, and then nothing reads an element but what takes its place. Which elements stay as
//! they are is often a matter of where they are: conditions that a number of a row is below or above another are bounds, and
//! beyond them nobody goes. So this is done where the array is a round's own, and nothing mentions it afterwards.

use crate::ir::*;
use remc_base::ops::{ScalarOp, zero};
use remc_base::{BaseTy, Prov, Scalar};
use rustc_hash::{FxHashMap, FxHashSet};

/// The statements that a map becomes which makes an array of one of these, none of which is mentioned afterwards.
pub(super) fn renewed(
    p: &mut Program,
    s: &Stmt,
    dying: &FxHashSet<Var>,
    known: &[Axis],
) -> Option<Vec<Stmt>> {
    let (Exp::Map { axes, body }, [y]) = (&s.exp, &s.pat[..]) else { return None };
    let (axes, body) = elements(axes.clone(), body.clone());
    let plain = body.stmts.iter().all(|s| s.exp.bodies().is_empty() && !s.exp.can_stop() && s.pat.len() == 1);
    let ([result], true) = (&body.results[..], plain && p.ty(*y).rank() == axes.len()) else { return None };
    let own: Vec<Atom> = axes.iter().map(|a| a.var.into()).collect();
    let array = body.stmts.iter().find_map(|s| match &s.exp {
        Exp::Index { array, at } if *at == own && dying.contains(array) && p.ty(*array) == p.ty(*y) => {
            Some(*array)
        }
        _ => None,
    })?;
    let bounds = Bounds { body: &body, array, own: &own };
    let thin = bounds.thin_reads()?;
    let changed = bounds.of_change(*result);
    let first = |kind: Kind| changed.iter().flatten().find(|b| b.kind == kind).copied();
    let (least, below) = (first(Kind::Least), first(Kind::Below));
    if thin.is_empty() && least.is_none() && below.is_none() {
        return None;
    }
    let (result, prov) = (*result, s.prov);
    let mut made = Made { p, out: Vec::new(), prov, below: known };
    let read = thin.into_iter().map(|read| made.read_first(&axes, array, read)).collect();
    let (from, count) = made.range(axes[0].size, least, below);
    let exp = made.scatter(array, (&axes, body, result), &read, (from, count));
    made.out.push(Stmt { pat: vec![*y], exp, prov });
    Some(made.out)
}

/// The axes and the body of a map that makes elements, where its items are made by a map at the end.
fn elements(mut axes: Vec<Axis>, mut body: Body) -> (Vec<Axis>, Body) {
    loop {
        match (body.stmts.pop(), &body.results[..]) {
            (Some(Stmt { pat, exp: Exp::Map { axes: more, body: inner }, .. }), [r])
                if pat[..].iter().map(|v| Atom::Var(*v)).eq([*r]) =>
            {
                axes.extend(more);
                body.stmts.extend(inner.stmts);
                body.results = inner.results;
            }
            (last, _) => {
                body.stmts.extend(last);
                return (axes, body);
            }
        }
    }
}

/// A bound of the first index of the elements that change: the number that it is at least, or below.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Bound {
    kind: Kind,
    of: Atom,
    more: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Least,
    Below,
}

/// What is known of the body of a map that makes an array of another.
struct Bounds<'b> {
    body: &'b Body,
    array: Var,
    /// The index of the element that is made.
    own: &'b [Atom],
}

/// A read of the array at indices that are axes' or the same for all elements, not all axes' among them.
pub(super) struct Thin {
    /// Which statement it is.
    pub at: usize,
    pub index: Vec<Atom>,
}

impl Bounds<'_> {
    fn def(&self, a: Atom) -> Option<&Exp> {
        let v = a.as_var()?;
        self.body.stmts.iter().find(|s| s.pat[..] == [v]).map(|s| &s.exp)
    }

    fn is_outside(&self, a: Atom) -> bool {
        !self.own.contains(&a)
            && a.as_var().is_none_or(|v| !self.body.stmts.iter().any(|s| s.pat.contains(&v)))
    }

    /// The reads of the array but those of the element itself, if all are such.
    fn thin_reads(&self) -> Option<Vec<Thin>> {
        let mut thin = Vec::new();
        for (k, s) in self.body.stmts.iter().enumerate() {
            match &s.exp {
                Exp::Index { array, at } if *array == self.array => {
                    let known = |a: &Atom| self.own.contains(a) || self.is_outside(*a);
                    let misses = self.own.iter().any(|a| !at.contains(a));
                    if at[..] == *self.own {
                        continue;
                    }
                    if at.len() != self.own.len() || !misses || !at.iter().all(known) {
                        return None;
                    }
                    thin.push(Thin { at: k, index: at.clone() });
                }
                exp if exp.mentions(|v| v == self.array) => return None,
                _ => {}
            }
        }
        Some(thin)
    }

    /// Bounds within which the first index is where this is another than the element that was there; none if it never is.
    fn of_change(&self, a: Atom) -> Option<Vec<Bound>> {
        match self.def(a) {
            Some(Exp::Index { array, at }) if *array == self.array && at[..] == *self.own => None,
            Some(Exp::Atom(a)) => self.of_change(*a),
            Some(Exp::Op(ScalarOp::Select, args)) => {
                let branch = |cond: Vec<Bound>, a: Atom| self.of_change(a).map(|all| [cond, all].concat());
                let then = branch(self.holds(args[0]), args[1]);
                let otherwise = branch(self.fails(args[0]), args[2]);
                match (then, otherwise) {
                    (Some(a), Some(b)) => Some(both(a, &b)),
                    (a, b) => a.or(b),
                }
            }
            _ => Some(Vec::new()),
        }
    }

    /// What a condition says of the first index where it holds.
    fn holds(&self, cond: Atom) -> Vec<Bound> {
        let Some(Exp::Op(op, args)) = self.def(cond) else { return Vec::new() };
        match (op, &args[..]) {
            (ScalarOp::And, [a, b]) => [self.holds(*a), self.holds(*b)].concat(),
            (ScalarOp::Or, [a, b]) => both(self.holds(*a), &self.holds(*b)),
            (ScalarOp::Not, [a]) => self.fails(*a),
            (ScalarOp::Lt, [a, b]) => self.below(*a, *b, 0),
            (ScalarOp::Le, [a, b]) => self.below(*a, *b, 1),
            (ScalarOp::Gt, [a, b]) => self.below(*b, *a, 0),
            (ScalarOp::Ge, [a, b]) => self.below(*b, *a, 1),
            (ScalarOp::Eq, [a, b]) => [self.below(*a, *b, 1), self.below(*b, *a, 1)].concat(),
            (ScalarOp::Ne, [a, b]) => self.differs(*a, *b),
            _ => Vec::new(),
        }
    }

    /// And where it does not.
    fn fails(&self, cond: Atom) -> Vec<Bound> {
        let Some(Exp::Op(op, args)) = self.def(cond) else { return Vec::new() };
        match (op, &args[..]) {
            (ScalarOp::Or, [a, b]) => [self.fails(*a), self.fails(*b)].concat(),
            (ScalarOp::And, [a, b]) => both(self.fails(*a), &self.fails(*b)),
            (ScalarOp::Not, [a]) => self.holds(*a),
            (ScalarOp::Lt, [a, b]) => self.below(*b, *a, 1),
            (ScalarOp::Le, [a, b]) => self.below(*b, *a, 0),
            (ScalarOp::Gt, [a, b]) => self.below(*a, *b, 1),
            (ScalarOp::Ge, [a, b]) => self.below(*a, *b, 0),
            (ScalarOp::Ne, [a, b]) => [self.below(*a, *b, 1), self.below(*b, *a, 1)].concat(),
            (ScalarOp::Eq, [a, b]) => self.differs(*a, *b),
            _ => Vec::new(),
        }
    }

    /// What it says that `a` is below `b` and so much, of which one may be the first index.
    fn below(&self, a: Atom, b: Atom, more: i64) -> Vec<Bound> {
        let i = self.own[0];
        if a == i && self.is_outside(b) {
            vec![Bound { kind: Kind::Below, of: b, more }]
        } else if b == i && self.is_outside(a) {
            vec![Bound { kind: Kind::Least, of: a, more: 1 - more }]
        } else {
            Vec::new()
        }
    }

    /// What it says that a choice is another than a number, which it is on one of the ways: that is not gone then.
    fn differs(&self, a: Atom, b: Atom) -> Vec<Bound> {
        let one = |chosen: Atom, number: Atom| {
            let Some(Exp::Op(ScalarOp::Select, args)) = self.def(chosen) else { return Vec::new() };
            let is_it = |a: Atom| match (a, number) {
                (Atom::Const(a), Atom::Const(b)) => a == b && !is_nan(a),
                _ => false,
            };
            match (is_it(args[1]), is_it(args[2])) {
                (true, false) => self.fails(args[0]),
                (false, true) => self.holds(args[0]),
                _ => Vec::new(),
            }
        };
        [one(a, b), one(b, a)].concat()
    }
}

fn is_nan(s: Scalar) -> bool {
    s.as_float().is_some_and(f64::is_nan)
}

/// The bounds that are among both.
fn both(a: Vec<Bound>, b: &[Bound]) -> Vec<Bound> {
    a.into_iter().filter(|x| b.contains(x)).collect()
}

/// The statements that are made.
pub(super) struct Made<'p> {
    pub p: &'p mut Program,
    pub out: Vec<Stmt>,
    pub prov: Prov,
    /// Numbers that are known to be below a size.
    pub below: &'p [Axis],
}

impl Made<'_> {
    pub fn push(&mut self, name: &str, ty: Ty, exp: Exp) -> Var {
        let v = self.p.fresh(name, ty);
        self.out.push(Stmt { pat: vec![v], exp, prov: self.prov });
        v
    }

    fn op(&mut self, op: ScalarOp, a: Atom, b: Atom) -> Atom {
        match (op, a.as_int(), b.as_int()) {
            (ScalarOp::Add, _, Some(0)) | (ScalarOp::Max2, Some(0), Some(0)) => a,
            (ScalarOp::Sub, _, Some(0)) => a,
            _ => self.push("n", Ty::int(), Exp::Op(op, vec![a, b])).into(),
        }
    }

    /// What is read of a row or a column, as an array of its own; which statement reads it then, and how.
    pub fn read_first(&mut self, axes: &[Axis], array: Var, read: Thin) -> (usize, Exp) {
        let base = self.p.ty(array).base;
        let along: Vec<Axis> = axes.iter().filter(|a| read.index.contains(&a.var.into())).copied().collect();
        let fresh: Vec<Axis> =
            along.iter().map(|a| Axis { var: self.p.fresh("i", Ty::int()), size: a.size }).collect();
        let renamed = |a: &Atom| {
            let k = along.iter().position(|x| *a == x.var.into());
            k.map_or(*a, |k| fresh[k].var.into())
        };
        let at: Vec<Atom> = read.index.iter().map(renamed).collect();
        let line = self.line(array, fresh, at, base);
        let exp = match along.is_empty() {
            true => Exp::Atom(line.into()),
            false => Exp::Index { array: line, at: along.iter().map(|a| a.var.into()).collect() },
        };
        (read.at, exp)
    }

    /// The elements at these indices, along axes among them; 0 where there is none: who reads them may never come to that.
    pub fn line(&mut self, array: Var, axes: Vec<Axis>, at: Vec<Atom>, base: BaseTy) -> Var {
        let dims = self.p.ty(array).dims.clone();
        let before = std::mem::take(&mut self.out);
        let mut there: Option<Atom> = None;
        for (a, n) in at.iter().zip(&dims) {
            if axes.iter().chain(self.below).any(|x| *a == x.var.into() && x.size == *n) {
                continue;
            }
            for (op, bound) in [(ScalarOp::Ge, Atom::int(0)), (ScalarOp::Lt, *n)] {
                let cond = self.push("t", Ty::scalar(BaseTy::Bool), Exp::Op(op, vec![*a, bound])).into();
                there = Some(match there {
                    None => cond,
                    Some(all) => {
                        let both = Exp::Op(ScalarOp::And, vec![all, cond]);
                        self.push("t", Ty::scalar(BaseTy::Bool), both).into()
                    }
                });
            }
        }
        let prov = self.prov;
        let read = |p: &mut Program| {
            let x = p.fresh("x", Ty::scalar(base));
            (x, Stmt { pat: vec![x], exp: Exp::Index { array, at: at.clone() }, prov })
        };
        let (x, stmt) = read(self.p);
        let given = match there {
            None => {
                self.out.push(stmt);
                x
            }
            Some(cond) => {
                let then = Body { stmts: vec![stmt], results: vec![x.into()] };
                let otherwise = Body { stmts: Vec::new(), results: vec![Atom::Const(zero(base))] };
                self.push("x", Ty::scalar(base), Exp::If { cond, then, otherwise })
            }
        };
        let stmts = std::mem::replace(&mut self.out, before);
        if axes.is_empty() {
            self.out.extend(stmts);
            return given;
        }
        let ty = Ty { base, dims: axes.iter().map(|a| a.size).collect() };
        let body = Body { stmts, results: vec![given.into()] };
        self.push("line", ty, Exp::Map { axes, body })
    }

    /// From which row on there are changes, and in how many.
    fn range(&mut self, size: Atom, least: Option<Bound>, below: Option<Bound>) -> (Atom, Atom) {
        let end = |this: &mut Self, b: Option<Bound>, none: Atom| match b {
            None => none,
            Some(b) => {
                // No more than the size before something is added: sums wrap.
                let most = this.op(ScalarOp::Sub, size, Atom::int(b.more));
                let n = this.op(ScalarOp::Min2, b.of, most);
                let n = this.op(ScalarOp::Add, n, Atom::int(b.more));
                this.op(ScalarOp::Max2, n, Atom::int(0))
            }
        };
        let from = end(self, least, Atom::int(0));
        let to = end(self, below, size);
        let count = self.op(ScalarOp::Sub, to, from);
        let may_be_none = least.is_some() && below.is_some();
        let count = if may_be_none { self.op(ScalarOp::Max2, count, Atom::int(0)) } else { count };
        (from, count)
    }

    /// The scatter of the rows that change, from one on so many.
    fn scatter(
        &mut self,
        array: Var,
        (axes, mut body, result): (&[Axis], Body, Atom),
        read: &FxHashMap<usize, Exp>,
        (from, count): (Atom, Atom),
    ) -> Exp {
        for (k, s) in body.stmts.iter_mut().enumerate() {
            if let Some(exp) = read.get(&k) {
                s.exp = exp.clone();
            }
        }
        let axis = Axis { var: self.p.fresh("q", Ty::int()), size: count };
        let (first, inner) = (axes[0].var, axes[1..].to_vec());
        let exp = Exp::Op(ScalarOp::Add, vec![axis.var.into(), from]);
        let mut stmts = vec![Stmt { pat: vec![first], exp, prov: self.prov }];
        let given = match inner.is_empty() {
            true => {
                stmts.extend(body.stmts);
                result
            }
            false => {
                let base = self.p.atom_ty(result).base;
                let dims = inner.iter().map(|a| a.size).collect();
                let row = self.p.fresh("row", Ty { base, dims });
                let body = Body { stmts: body.stmts, results: vec![result] };
                stmts.push(Stmt { pat: vec![row], exp: Exp::Map { axes: inner, body }, prov: self.prov });
                row.into()
            }
        };
        let body = Body { stmts, results: vec![first.into(), given] };
        Exp::Scatter { dests: vec![array], axis, body, combine: None }
    }
}
