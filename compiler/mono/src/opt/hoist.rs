//! Hoisting: what does not change in a loop is computed before it.
//!
//! ```text
//! (map ((%i %n))                                 (let (%a) (op * %n %m))
//!   (let (%a) (op * %n %m))                      (map ((%i %n))
//!   (let (%s) (reduce %j %m                        (let (%c) (op * %i %a))
//!     (let (%c) (op * %i %a))                      (let (%x) (index %xss %i))
//!     (let (%x) (index %xss %i))                   (let (%s) (reduce %j %m
//!     (let (%y) (index %x %j)) …                     (let (%y) (index %x %j)) …
//! ```
//!
//! Each scope has a level, the number of scopes around it. A statement goes out to the level of the
//! innermost variable that it mentions, as far as it may:
//!
//! - never out of a branch of an `if`, and what contains a check not at all; a check itself goes out of a loop that surely
//!   comes to it first;
//! - an operator or a cast of scalars goes anywhere, since it never stops the program;
//! - an index goes where it is certain to be in bounds: because of what is indexed (an index variable of an
//!   axis of the array's size), or because the loop that it leaves runs at least once and comes to the
//!   index before any check;
//! - a reshape goes anywhere if it is known to have as many elements as its array, since both are the same memory;
//! - an array goes as an index does, if it does not change and its work is worth to be shared. What it mentions inside
//!   must hold outside: its sizes are known not to be negative there, its indices are its own. A map of a
//!   few operators stays, and is fused into what uses it. A `while` stays: it may not end;
//! - what none of this allows, but is much work that is the same in each iteration, is done before the loop if that runs
//!   at all, as long as each iteration would come to it first. Checks before it that are the same, too, go with it. An
//!   array has to be of sizes that there are outside:
//!
//! ```text
//! (map ((%i %n))                                 (let (%c) (op > %n 0))
//!   (let () (check %ok …))                       (let (%s) (if %c
//!   (let (%s) (scan inclusive (%j %m) …))          (then (let () (check %ok …))
//!   …                                                    (let (%t) (scan inclusive (%j %m) …)) (give %t))
//!                                                  (else (let (%z) (map ((%k %m)) (give 0))) (give %z))))
//!                                                (map ((%i %n)) …
//! ```

use super::poly::Poly;
use crate::ir::*;
use remc_base::ids::Id;
use remc_base::ops::{self, ScalarOp};
use remc_base::pass::PassInfo;
use remc_base::{BaseTy, IdVec, Name, Scalar};
use rustc_hash::FxHashMap;

pub const PASS: PassInfo =
    PassInfo { name: "hoist", from: "mono", to: "mono", summary: "moves what does not change out of loops" };

pub fn hoist(p: &mut Program) {
    let mut body = std::mem::take(&mut p.body);
    let mut vars = IdVec::new();
    p.vars.iter().for_each(|_| {
        vars.push(Info { level: 0, size_from: NEVER, axis: None });
    });
    let mut h = Hoist {
        p,
        vars,
        scopes: Vec::new(),
        sizes: vec![Vec::new()],
        products: FxHashMap::default(),
        fresh: Vec::new(),
    };
    for v in p.params.clone() {
        h.bind(v, 0);
    }
    body = h.body(body, Scope::new(Kind::Branch));
    let fresh = h.fresh;
    fresh.into_iter().for_each(|info| {
        p.vars.push(info);
    });
    p.body = body;
}

/// No level: not known.
const NEVER: usize = usize::MAX;

/// What is known of a variable.
#[derive(Clone, Copy)]
struct Info {
    /// The level of the scope that binds it.
    level: usize,
    /// The least level from which on it is known not to be negative.
    size_from: usize,
    /// The size that it is below, if it is an index variable.
    axis: Option<Atom>,
}

#[derive(Clone, PartialEq)]
enum Kind {
    /// Runs as often as an iteration: at least once if all these sizes are greater than zero, which they are not known
    /// to be. `None` if no sizes say so.
    Loop { if_some: Option<Vec<Atom>> },
    /// Runs only if a condition holds (or is the program).
    Branch,
}

struct Scope {
    kind: Kind,
    stmts: Vec<Stmt>,
    /// Whether one of the statements can stop the program, other than these.
    stops: bool,
    /// The places of checks that are the same in each iteration, and that nothing comes before that stops.
    checks: Vec<usize>,
}

impl Scope {
    fn new(kind: Kind) -> Scope {
        Scope { kind, stmts: Vec::new(), stops: false, checks: Vec::new() }
    }
}

/// How far a statement may go.
enum Movable {
    No,
    /// Anywhere.
    Free,
    /// Where what it takes for granted holds.
    IfSafe,
}

struct Hoist<'p> {
    p: &'p Program,
    vars: IdVec<Var, Info>,
    scopes: Vec<Scope>,
    /// The variables that are known not to be negative from a level on, for each level: only until the
    /// scope of that level ends.
    sizes: Vec<Vec<Var>>,
    /// What variables are that are products.
    products: FxHashMap<Var, Poly>,
    /// Variables that the program does not have yet.
    fresh: Vec<VarInfo>,
}

impl Hoist<'_> {
    fn body(&mut self, body: Body, scope: Scope) -> Body {
        self.scopes.push(scope);
        for s in body.stmts {
            self.stmt(s);
        }
        let stmts = self.scopes.pop().map(|s| s.stmts).unwrap_or_default();
        let level = self.scopes.len();
        for v in self.sizes.get_mut(level).map(std::mem::take).unwrap_or_default() {
            if self.vars[v].size_from == level {
                self.vars[v].size_from = NEVER;
            }
        }
        Body { stmts, results: body.results }
    }

    fn bind(&mut self, v: Var, level: usize) {
        self.vars[v].level = level;
        for d in self.ty(v).dims.clone() {
            self.size(d, level);
        }
    }

    /// An atom is a size, known from this level on.
    fn size(&mut self, a: Atom, level: usize) {
        if let Atom::Var(v) = a {
            let from = &mut self.vars[v].size_from;
            if level < *from {
                *from = level;
                self.sizes[level].push(v);
            }
        }
    }

    fn stmt(&mut self, mut s: Stmt) {
        let here = self.scopes.len() - 1;
        self.enter(&mut s.exp, here + 1);
        if let (Exp::Op(ScalarOp::Mul, args), [v]) = (&s.exp, &s.pat[..])
            && let Some(product) = self.product(args)
        {
            self.products.insert(*v, product);
        }
        self.place(s, here);
    }

    /// Puts a statement of the scope of level `here` where it is to be.
    fn place(&mut self, s: Stmt, here: usize) {
        let mut to = here;
        let alike = self.keeps_elements(&s.exp);
        let movable = match s.exp {
            _ if here == 0 => Movable::No,
            // It is the same memory.
            _ if alike => Movable::Free,
            _ => movable(&s.exp),
        };
        let least = self.needs(&s, here);
        if !matches!(movable, Movable::No) {
            while to > least && self.may_leave(&s, &movable, to) {
                to -= 1;
            }
        }
        if here > 0 && matches!(s.exp, Exp::Check { .. }) {
            while to > least && self.surely_comes_first(to) {
                to -= 1;
            }
        }
        if to == here && least == here && self.pull(&s, here) {
            return self.place(s, here);
        }
        if to > least
            && let Some(sizes) = self.is_first(&s, to)
        {
            return self.place_before(s, sizes, to);
        }
        for v in &s.pat {
            // The sizes of a reshape that has gone outside are none yet: they are products, perhaps, which are
            // sure not to wrap only where the array has elements.
            match to < here && alike {
                true => self.vars[*v].level = to,
                false => self.bind(*v, to),
            }
        }
        let scope = &mut self.scopes[to];
        if !scope.stops && to > least && matches!(s.exp, Exp::Check { .. }) {
            scope.checks.push(scope.stmts.len());
        } else {
            scope.stops |= s.exp.can_stop();
        }
        scope.stmts.push(s);
    }

    /// Moves maps of a few operators out of the loop of this level, so that a statement that is much work can follow:
    /// they stay for those who read them, and it alone does.
    fn pull(&mut self, s: &Stmt, level: usize) -> bool {
        if level == 0 || !is_much(&s.exp) {
            return false;
        }
        let here = &self.scopes[level].stmts;
        let mut pulled: Vec<usize> = Vec::new();
        let mut rest: Vec<&Stmt> = vec![s];
        while let Some(next) = rest.pop() {
            let mut open = true;
            let mut need = |a: Atom| {
                let Some(v) = a.as_var().filter(|v| self.vars[*v].level == level) else { return };
                match here.iter().position(|s| s.pat.contains(&v)) {
                    Some(k) if pulled.contains(&k) => {}
                    Some(k) if is_plain(&here[k].exp) && self.is_safe(&here[k], level - 1) => {
                        pulled.push(k);
                        rest.push(&here[k]);
                    }
                    _ => open = false,
                }
            };
            next.exp.for_each_operand(&mut need);
            next.exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut need));
            next.pat.iter().flat_map(|v| &self.ty(*v).dims).for_each(|d| need(*d));
            if !open {
                return false;
            }
        }
        let leaves = self.is_first(s, level).is_some() || self.may_leave(s, &movable(&s.exp), level);
        if pulled.is_empty() || !leaves {
            return false;
        }
        pulled.sort_unstable();
        let scope = &mut self.scopes[level];
        scope.checks.iter_mut().for_each(|c| *c -= pulled.iter().filter(|k| **k < *c).count());
        let moved: Vec<Stmt> = pulled.iter().rev().map(|k| scope.stmts.remove(*k)).collect();
        moved.into_iter().rev().for_each(|s| self.place(s, level - 1));
        true
    }

    fn ty(&self, v: Var) -> &Ty {
        let k = v.index();
        match k.checked_sub(self.p.vars.len()).and_then(|k| self.fresh.get(k)) {
            Some(info) => &info.ty,
            None => self.p.ty(v),
        }
    }

    /// Whether the loop of this level runs at least once and has not come to anything yet that stops the program, or may not
    /// end.
    fn surely_comes_first(&self, level: usize) -> bool {
        let scope = &self.scopes[level];
        let runs = matches!(&scope.kind, Kind::Loop { if_some: Some(sizes) } if sizes.is_empty());
        runs && !scope.stops && scope.checks.is_empty() && scope.stmts.iter().all(|s| ends(&s.exp))
    }

    /// The sizes that say whether the loop of this level runs, if a statement that is much work is the first in it that
    /// matters, and does not change.
    fn is_first(&self, s: &Stmt, level: usize) -> Option<Vec<Atom>> {
        let scope = &self.scopes[level];
        let Kind::Loop { if_some: Some(sizes) } = &scope.kind else { return None };
        // There is an array of each of these sizes: one for no iteration at all is no more.
        let is_size = |d: &Atom| d.as_var().is_none_or(|v| self.vars[v].size_from < level);
        let closed = s.pat.iter().all(|v| self.ty(*v).dims.iter().all(is_size));
        (!scope.stops && closed && !sizes.is_empty() && is_much(&s.exp)).then(|| sizes.clone())
    }

    /// Puts a statement before the loop of this level, to be run if the loop is.
    fn place_before(&mut self, s: Stmt, sizes: Vec<Atom>, level: usize) {
        let (prov, outer) = (s.prov, level - 1);
        let mut cond = None;
        for size in sizes {
            let op = |h: &mut Self, op, args| {
                let v = h.fresh_var("some", Ty::scalar(BaseTy::Bool), level);
                h.place(Stmt { pat: vec![v], exp: Exp::Op(op, args), prov }, outer);
                Atom::Var(v)
            };
            let some = op(self, ScalarOp::Gt, vec![size, Atom::int(0)]);
            cond = Some(match cond {
                None => some,
                Some(all) => op(self, ScalarOp::And, vec![all, some]),
            });
        }
        let cond = cond.unwrap_or(Atom::Const(Scalar::Bool(true)));
        let scope = &mut self.scopes[level];
        let checks = std::mem::take(&mut scope.checks);
        let mut then: Vec<Stmt> = checks.iter().rev().map(|k| scope.stmts.remove(*k)).collect();
        then.reverse();
        let (mut results, mut zeros, mut none) = (Vec::new(), Vec::new(), Vec::new());
        let mut own = s.clone();
        for (v, inner) in s.pat.iter().zip(&mut own.pat) {
            let VarInfo { name, ty } = self.p.vars[*v].clone();
            *inner = self.fresh_var(name.as_str(), ty.clone(), level);
            results.push(Atom::Var(*inner));
            let zero = Atom::Const(ops::zero(ty.base));
            if ty.is_scalar() {
                zeros.push(zero);
                continue;
            }
            let axes =
                ty.dims.iter().map(|size| Axis { var: self.fresh_var("i", Ty::int(), level), size: *size });
            let exp =
                Exp::Map { axes: axes.collect(), body: Body { stmts: Vec::new(), results: vec![zero] } };
            let v = self.fresh_var("none", ty, level);
            none.push(Stmt { pat: vec![v], exp, prov });
            zeros.push(Atom::Var(v));
        }
        then.push(own);
        let (then, otherwise) = (Body { stmts: then, results }, Body { stmts: none, results: zeros });
        self.place(Stmt { pat: s.pat, exp: Exp::If { cond, then, otherwise }, prov }, outer);
    }

    fn fresh_var(&mut self, name: &str, ty: Ty, level: usize) -> Var {
        self.fresh.push(VarInfo { name: Name::new(name), ty });
        self.vars.push(Info { level, size_from: NEVER, axis: None })
    }

    /// The bodies inside a statement.
    fn enter(&mut self, exp: &mut Exp, level: usize) {
        if self.sizes.len() <= level {
            self.sizes.push(Vec::new());
        }
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
        for v in exp.inner_binders() {
            self.bind(v, level);
        }
        for a in &axes {
            self.size(a.size, level);
            self.size(Atom::Var(a.var), level);
            self.vars[a.var].axis = Some(a.size);
        }
        let unknown = |a: &Axis| a.size.as_int().is_none_or(|n| n <= 0);
        let sizes: Vec<Atom> = axes.iter().filter(|a| unknown(a)).map(|a| a.size).collect();
        let kinds = match exp {
            Exp::If { .. } => [Kind::Branch, Kind::Branch],
            // The condition is asked at least once.
            Exp::While { .. } => [Kind::Loop { if_some: Some(Vec::new()) }, Kind::Loop { if_some: None }],
            _ => [Kind::Loop { if_some: (!axes.is_empty()).then_some(sizes) }, Kind::Loop { if_some: None }],
        };
        for (b, kind) in exp.bodies_mut().into_iter().zip(kinds) {
            *b = self.body(std::mem::take(b), Scope::new(kind));
        }
    }

    /// The level of the innermost variable that a statement at level `here` needs.
    fn needs(&self, s: &Stmt, here: usize) -> usize {
        let mut least = 0;
        let mut need = |a: Atom| {
            if let Atom::Var(v) = a
                && self.vars[v].level <= here
            {
                least = least.max(self.vars[v].level);
            }
        };
        s.exp.for_each_operand(&mut need);
        s.exp.bodies().into_iter().for_each(|b| b.for_each_use(&mut need));
        // A dim may be a variable of the same statement, whose level is still that of no scope.
        let own = |a: &Atom| a.as_var().is_some_and(|v| s.pat.contains(&v));
        s.pat.iter().flat_map(|v| &self.ty(*v).dims).filter(|d| !own(d)).for_each(|d| need(*d));
        least
    }

    /// Whether a statement may go from this level to the one outside.
    fn may_leave(&self, s: &Stmt, movable: &Movable, from: usize) -> bool {
        let scope = &self.scopes[from];
        let Kind::Loop { if_some } = &scope.kind else { return false };
        let runs = if_some.as_ref().is_some_and(Vec::is_empty) && scope.checks.is_empty();
        match movable {
            Movable::No => false,
            Movable::Free => true,
            Movable::IfSafe => runs && !scope.stops || self.is_safe(s, from - 1),
        }
    }

    /// Whether an expression is a reshape that is known to have as many elements as its array.
    fn keeps_elements(&self, exp: &Exp) -> bool {
        let Exp::View { view: View::Reshape { dims }, array } = exp else { return false };
        self.product(dims).is_some_and(|n| self.product(&self.p.ty(*array).dims) == Some(n))
    }

    fn product(&self, atoms: &[Atom]) -> Option<Poly> {
        atoms.iter().try_fold(Poly::constant(1), |product, a| match a {
            Atom::Var(v) => match self.products.get(v) {
                Some(known) => product.times(known),
                None => product.times(&Poly::var(*v)),
            },
            Atom::Const(_) => product.times(&Poly::constant(a.as_int()?)),
        })
    }

    /// Whether what a statement takes for granted holds at a level.
    fn is_safe(&self, s: &Stmt, level: usize) -> bool {
        let size = |a: &Atom| match a {
            Atom::Var(v) => self.vars[*v].size_from <= level,
            Atom::Const(_) => true,
        };
        let within = |a: &Atom, d: &Atom| match (a, d.as_int()) {
            (Atom::Var(v), n) => self.vars[*v].axis.is_some_and(|size| {
                size == *d || size.as_int().is_some_and(|size| n.is_some_and(|n| size <= n))
            }),
            (Atom::Const(_), Some(n)) => a.as_int().is_some_and(|a| 0 <= a && a < n),
            _ => false,
        };
        // Dims inside may be sizes of the statement's own.
        let mut safe = s.pat.iter().all(|v| self.ty(*v).dims.iter().all(size));
        let mut check = |exp: &Exp| {
            safe &= match exp {
                Exp::Index { array, at } => at.iter().zip(&self.p.ty(*array).dims).all(|(a, d)| within(a, d)),
                Exp::Map { axes, .. } => axes.iter().all(|a| size(&a.size)),
                Exp::For { axis, .. } => size(&axis.size),
                Exp::Scan { axis, op, .. } | Exp::Reduce { axis, op, .. } => {
                    size(&axis.size) && (op.start.is_some() || axis.size.as_int().is_some_and(|n| n > 0))
                }
                // Of what may be another number of elements it is behind a check.
                Exp::View { view: View::Reshape { .. }, .. } => self.keeps_elements(exp),
                Exp::View { view, .. } => {
                    !matches!(view, View::Slice { .. } | View::Wrap { .. } | View::Cycle { .. })
                }
                Exp::Grade { axis, .. } => size(&axis.size),
                Exp::Scatter { .. } | Exp::Filter { .. } | Exp::Join { .. } => false,
                _ => true,
            };
        };
        check(&s.exp);
        for b in s.exp.bodies() {
            b.for_each_stmt(&mut |s| check(&s.exp));
        }
        safe
    }
}

/// Whether an expression is sure to end: it does not look for something by a `while`, nor does anything in it.
fn ends(exp: &Exp) -> bool {
    let inside = |b: &&Body| b.stmts.iter().all(|s| ends(&s.exp));
    !matches!(exp, Exp::While { .. }) && exp.bodies().iter().all(inside)
}

/// How far an expression may go, whatever it mentions.
fn movable(exp: &Exp) -> Movable {
    match exp {
        Exp::Op(..) | Exp::Cast(..) => Movable::Free,
        // A copy is for the simplifier.
        Exp::Atom(_) | Exp::Check { .. } | Exp::While { .. } | Exp::Pull { .. } | Exp::Push { .. } => {
            Movable::No
        }
        Exp::Index { .. } | Exp::Literal { .. } | Exp::View { .. } => Movable::IfSafe,
        Exp::Map { body, .. } if is_cheap(&body.stmts) => Movable::No,
        _ => {
            let mut ends = true;
            for b in exp.bodies() {
                b.for_each_stmt(&mut |s| ends &= !matches!(s.exp, Exp::While { .. }));
            }
            if ends && !exp.can_stop() { Movable::IfSafe } else { Movable::No }
        }
    }
}

/// Whether an expression is a loop whose result is rather kept than made again, of more than a few iterations.
fn is_much(exp: &Exp) -> bool {
    let long = |a: &Axis| a.size.as_int().is_none_or(|n| n > FEW);
    match exp {
        Exp::Reduce { .. }
        | Exp::Scan { .. }
        | Exp::Scatter { .. }
        | Exp::Grade { .. }
        | Exp::Filter { .. } => exp.axes().iter().any(long),
        _ => exp.bodies().into_iter().any(|b| b.stmts.iter().any(|s| is_much(&s.exp))),
    }
}

/// Whether an expression is a map that stays where it is only because it is rather made again.
fn is_plain(exp: &Exp) -> bool {
    matches!(exp, Exp::Map { body, .. } if is_cheap(&body.stmts))
}

/// How many iterations are few.
const FEW: i64 = 32;

/// How many statements are cheap.
const CHEAP: usize = 4;

/// Whether statements are rather run again for each use than their results kept.
pub(super) fn is_cheap(stmts: &[Stmt]) -> bool {
    stmts.len() <= CHEAP
        && stmts.iter().all(|s| match &s.exp {
            Exp::Op(op, _) => !is_function(*op),
            Exp::Cast(..) | Exp::Index { .. } => true,
            _ => false,
        })
}

/// Whether an operator takes many instructions.
fn is_function(op: ScalarOp) -> bool {
    use ScalarOp::*;
    matches!(
        op,
        Quotient
            | Modulo
            | Expt
            | Gcd
            | Exp
            | Log
            | Log2
            | Sin
            | Cos
            | Tan
            | Asin
            | Acos
            | Atan
            | Atan2
            | Sinh
            | Cosh
            | Tanh
            | Erf
    )
}
